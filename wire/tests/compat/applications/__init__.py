"""Applications that people use, in the order in which they run. Each module says what one of `suites` does (see there), and in `run(job)`
makes a new database, migrates, starts and uses the application, unchanged, step by step (see `application.py`).
"""
ORDER = ["django_project", "wagtail", "django_oscar", "dbt_postgres", "pretix", "prefect", "dagster", "airflow"]
