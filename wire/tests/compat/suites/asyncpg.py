"""asyncpg's own tests, but for those that start a PostgreSQL of their own or look at asyncpg's sources."""
import shutil

from job import python_environment, source_archive

KNOWN_NAMES = True
TITLE, VERSION, LIMIT = "asyncpg", "0.32.0", 600
LEFT_OUT = ["test__sourcecode", "test__environment", "test_scram", "test_subinterpreters"]
QUICK = ["test_execute", "test_transaction"]


def install(folder):
    python_environment(folder, f"asyncpg=={VERSION}", "pytest==9.2.0", "pytest-timeout==2.4.0", "distro")
    # The tests alone: beside the sources they would meet a package that is not compiled.
    shutil.copytree(source_archive(folder, "asyncpg", VERSION) / "tests", folder / "run/tests", dirs_exist_ok=True)


def run(job):
    chosen = [f"tests/{name}.py" for name in QUICK] if job.quick else ["tests", *(f"--ignore=tests/{name}.py" for name in LEFT_OUT)]
    job.pytest(*chosen, cwd=job.folder / "run",
               environment={"PGHOST": "127.0.0.1", "PGPORT": str(job.port), "PGUSER": "postgres", "PGDATABASE": "postgres"})
