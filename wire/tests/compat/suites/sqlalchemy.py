"""SQLAlchemy's own tests of a dialect: the suite that every dialect must pass, and those of PostgreSQL's."""
import re

from job import python_environment, source_archive

TITLE, VERSION, LIMIT = "SQLAlchemy, dialect suite", "2.1.9", 600
TESTS = ["test/dialect/test_suite.py"]
EXTENSIONS = ["CREATE EXTENSION IF NOT EXISTS hstore", "CREATE EXTENSION IF NOT EXISTS citext"]


def install(folder):
    python_environment(folder, f"sqlalchemy=={VERSION}", "psycopg[binary]==3.3.9", "greenlet==3.5.6", "pytest==9.2.0", "pytest-timeout==2.4.0")
    source = source_archive(folder, "sqlalchemy", VERSION)
    # It insists on two extensions, whether a test wants them or not. They are made below, where they are.
    provision = source / "lib/sqlalchemy/dialects/postgresql/provision.py"
    text, count = re.subn(r"^_extensions = \[.*?^\]", "_extensions = []", provision.read_text(), flags=re.M | re.S)
    assert count == 1, "SQLAlchemy's list of extensions is where it was"
    provision.write_text(text)


def run(job, tests=TESTS):
    job.statements("CREATE ROLE scott SUPERUSER LOGIN" if job.kind == "postgresql" else "SELECT 1", "CREATE DATABASE test")
    job.statements("CREATE SCHEMA test_schema", "CREATE SCHEMA test_schema_2", *EXTENSIONS,
                   "ALTER DATABASE test SET default_text_search_config = 'pg_catalog.english'", database="test")
    job.pytest(*tests, "--maxfail=1000000", "--dburi", f"postgresql+psycopg://scott@127.0.0.1:{job.port}/test",
               cwd=job.folder / f"sqlalchemy-{VERSION}")


def name(test):
    """A test's name has the server's version in it: `_postgresql+psycopg_15_8`."""
    return re.sub(r"_postgresql\+psycopg(_async)?(_\d+)+", "", test)
