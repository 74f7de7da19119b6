"""psycopg 3's own tests. No registry has them: PSYCOPG_SOURCE names a clone of its repository, without which the suite is left out."""
import os
import pathlib
import subprocess

from job import python_environment, sh

KNOWN_NAMES = True
TITLE, VERSION, LIMIT = "psycopg 3", "3.3.4", 900
SOURCE = os.environ.get("PSYCOPG_SOURCE")
LEFT_OUT_BECAUSE = None if SOURCE else "PSYCOPG_SOURCE names no clone of psycopg's repository, whose tests no registry has"


def install(folder):
    python_environment(folder, f"psycopg[binary]=={VERSION}", "psycopg-pool==3.3.1", "pytest==9.2.0", "pytest-timeout==2.4.0", "anyio", "pproxy",
                       "dnspython", "numpy", "shapely")
    (folder / "run").mkdir(exist_ok=True)
    archive = subprocess.run(["git", "-C", pathlib.Path(SOURCE), "archive", VERSION, "tests", "pyproject.toml"], check=True, stdout=subprocess.PIPE)
    (folder / "tests.tar").write_bytes(archive.stdout)
    sh("tar", "xf", folder / "tests.tar", "-C", folder / "run")


def run(job):
    # Left out: what looks at types with mypy, takes minutes by itself, or needs no server.
    job.pytest("tests", "--test-dsn", f"host=127.0.0.1 port={job.port} user=postgres dbname=postgres sslmode=disable",
               "-m", "not slow and not mypy and not flakey and not proxy", "--ignore=tests/pool", "--ignore=tests/crdb", "--ignore=tests/test_gevent.py",
               "--ignore=tests/test_windows.py", "--ignore=tests/test_typing.py", "-W", "default", cwd=job.folder / "run")
