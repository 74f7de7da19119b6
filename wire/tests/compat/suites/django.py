"""Django's own tests of what reaches the database: its ORM, schema editor, migrations and introspection."""
import re

from job import PLUGINS, python_environment, source_archive

TITLE, VERSION, LIMIT = "Django, ORM and migrations", "5.2.19", 1800
EACH = 180
MODULES = """
    aggregation aggregation_regress annotations backends basic bulk_create constraints custom_columns datetimes dates db_functions
    db_utils defer delete delete_regress distinct_on_fields expressions expressions_case expressions_window extra_regress
    filtered_relation force_insert_update foreign_object from_db_value generic_relations get_or_create indexes inspectdb introspection
    lookup m2m_and_m2o m2m_intermediary m2m_multiple m2m_recursive m2m_regress m2m_through many_to_many many_to_one
    max_lengths migrate_signals migration_test_data_persistence migrations model_fields model_indexes model_inheritance
    multiple_database null_queries one_to_one or_lookups ordering pagination prefetch_related queries raw_query
    reserved_names reverse_lookup schema select_for_update select_related timezones transaction_hooks transactions
    update update_only_fields
""".split()
QUICK = ["basic", "lookup", "transactions"]
SETTINGS = """
import os
_at = {"ENGINE": "django.db.backends.postgresql", "HOST": "127.0.0.1", "PORT": os.environ["COMPAT_PORT"], "USER": "postgres"}
DATABASES = {"default": {**_at, "NAME": "django"}, "other": {**_at, "NAME": "django2"}}
SECRET_KEY = "compat"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
"""


def install(folder):
    python_environment(folder, f"django=={VERSION}", "psycopg[binary]==3.3.9", "psycopg-pool==3.3.1", "tblib", "jinja2", "pyyaml")
    source = source_archive(folder, "django", VERSION)
    (source / "tests/compat_settings.py").write_text(SETTINGS)


def run(job, modules=MODULES):
    """Each module by itself: where the tables of one cannot be made, the others go on."""
    tests = job.folder / f"django-{VERSION}/tests"
    for module in QUICK if job.quick else modules:
        before = len(job.read())
        job.execute(job.folder / "venv/bin/python", PLUGINS / "django_tests.py", "--settings=compat_settings", "--parallel=1", "--noinput", module,
                    cwd=tests, environment={"COMPAT_PORT": str(job.port), "PYTHONPATH": str(tests)}, limit=EACH)
        if len(job.read()) == before:
            job.tell(module, "failed", last_error(job))


def last_error(job):
    """What ended a module of which no test ran."""
    lines = re.findall(r"^(?:[\w.]+\.)?(\w+(?:Error|Exception): .*)", job.log.read_text(errors="replace"), re.M)
    return lines[-1] if lines else "no test of it ran"
