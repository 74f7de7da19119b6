"""Django's own tests of `contrib.postgres`. Their first migration wants eight extensions and every range."""
from suites import django

TITLE, VERSION, LIMIT = "Django, `contrib.postgres`", django.VERSION, django.LIMIT
FOLDER = "django"
install = django.install


def run(job):
    django.run(job, ["postgres_tests"])
