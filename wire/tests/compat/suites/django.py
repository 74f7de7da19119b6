"""Django's own tests of what reaches the database: its ORM, schema editor, migrations and introspection, and `contrib.postgres`."""
from job import python_environment, source_archive

TITLE, VERSION, LIMIT = "Django, ORM and migrations", "5.2.19", 1800
EACH = 180
MODULES = """
    aggregation aggregation_regress annotations backends basic bulk_create constraints custom_columns datetimes dates db_functions
    db_utils defer delete delete_regress distinct_on_fields expressions expressions_case expressions_window extra_regress
    filtered_relation force_insert_update foreign_object from_db_value generic_relations get_or_create indexes inspectdb introspection
    json_fields lookup m2m_and_m2o m2m_intermediary m2m_multiple m2m_recursive m2m_regress m2m_through many_to_many many_to_one
    max_lengths migrate_signals migration_test_data_persistence migrations model_fields model_indexes model_inheritance
    multiple_database null_queries one_to_one or_lookups ordering pagination postgres_tests prefetch_related queries raw_query
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
    python_environment(folder, f"django=={VERSION}", "psycopg[binary]==3.3.9", "tblib", "jinja2", "pillow", "pyyaml", "sqlparse")
    source = source_archive(folder, "django", VERSION)
    (source / "tests/compat_settings.py").write_text(SETTINGS)
    (source / "tests/compat_run.py").write_text(RUNNER)


# Django's own runner, with a result that is told at once.
RUNNER = '''"""runtests.py, whose results are told test by test, in the file that TELL_RESULTS names."""
import json
import os
import runpy
import sys
import unittest

import django.test.runner

FILE = open(os.environ["TELL_RESULTS"], "a")


def tell(test, outcome, error=None):
    message = ""
    if error is not None:
        lines = [line.strip() for line in str(error[1]).splitlines() if line.strip()]
        message = f"{error[0].__name__}: {lines[0] if lines else ''}"
    name = test.id()
    FILE.write(json.dumps({"test": name, "outcome": outcome, "message": message[:400]}) + "\\n")
    FILE.flush()


class Told(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        self.bad = False

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None and not self.bad:
            self.bad = True
            tell(test, "failed", error)

    def addError(self, test, error):
        super().addError(test, error)
        self.bad = True
        tell(test, "failed", error)

    addFailure = lambda self, test, error: (unittest.TextTestResult.addFailure(self, test, error), setattr(self, "bad", True), tell(test, "failed", error))

    def addSuccess(self, test):
        super().addSuccess(test)
        if not self.bad:
            tell(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        tell(test, "skipped")

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        tell(test, "passed")


django.test.runner.DiscoverRunner.get_resultclass = lambda self: Told
sys.argv[0] = os.path.join(os.path.dirname(__file__), "runtests.py")
runpy.run_path(sys.argv[0], run_name="__main__")
'''


def run(job):
    """Each module by itself: where the tables of one cannot be made, the others go on."""
    tests = job.folder / f"django-{VERSION}/tests"
    for module in QUICK if job.quick else dict.fromkeys(MODULES):
        job.execute(job.folder / "venv/bin/python", "compat_run.py", "--settings=compat_settings", "--parallel=1", "--noinput", module,
                    cwd=tests, environment={"COMPAT_PORT": str(job.port), "PYTHONPATH": str(tests)}, limit=EACH)
