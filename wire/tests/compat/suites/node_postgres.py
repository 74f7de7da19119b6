"""node-postgres's own tests of its connection and its pool. No registry has them: NODE_POSTGRES_SOURCE names a clone of its repository."""
import json
import os
import pathlib
import re
import shutil
import subprocess

from job import sh

# What was published as pg 8.23.0.
KNOWN_NAMES = True
TITLE, VERSION, LIMIT = "node-postgres", "8.23.0", 900
COMMIT = "df274d1b"
SOURCE = os.environ.get("NODE_POSTGRES_SOURCE")
LEFT_OUT_BECAUSE = (None if SOURCE and shutil.which("npm") else "Node is not installed" if SOURCE
                    else "NODE_POSTGRES_SOURCE names no clone of node-postgres's repository, whose tests no registry has")
# The package itself, with what it publishes apart, and what its tests import.
PACKAGES = ["pg@" + VERSION, "async@2.6.4", "bluebird@3.7.2", "co@4.6.0", "pg-copy-streams@0.3.0"]


def package(folder):
    return folder / "run/packages/pg"


def install(folder):
    (folder / "run").mkdir(exist_ok=True)
    archive = subprocess.run(["git", "-C", pathlib.Path(SOURCE), "archive", COMMIT, "packages/pg/test", "packages/pg/lib", "packages/pg/package.json"],
                             check=True, stdout=subprocess.PIPE)
    (folder / "tests.tar").write_bytes(archive.stdout)
    sh("tar", "xf", folder / "tests.tar", "-C", folder / "run")
    (folder / "run/package.json").write_text(json.dumps({"private": True}))
    sh("npm", "install", "--silent", "--no-audit", "--no-fund", *PACKAGES, cwd=folder / "run")


def run(job):
    # Some tests ask for PostgreSQL's own limits of time, where the client sets none.
    job.statements("CREATE DATABASE test", "ALTER ROLE ALL SET statement_timeout = 0", "ALTER ROLE ALL SET idle_in_transaction_session_timeout = 0")
    for file in sorted(package(job.folder).glob("test/integration/**/*-tests.js")):
        name = str(file.relative_to(package(job.folder) / "test/integration")).removesuffix("-tests.js")
        seen = job.log.stat().st_size if job.log.exists() else 0
        ended = job.execute("node", file, f"postgres://postgres@127.0.0.1:{job.port}/test", cwd=package(job.folder), limit=60,
                            environment={"PGHOST": "127.0.0.1", "PGPORT": str(job.port), "PGUSER": "postgres", "PGDATABASE": "test"})
        read(job, name, ended, job.log.read_bytes()[seen:].decode(errors="replace"))


def read(job, name, ended, said):
    """Tells the tests that a file has said, by their names. It stops at the first that fails; one without named tests counts as one."""
    passed = re.findall(r"^  (\S.*?) .*✔$", said, re.MULTILINE)
    wrong = next(iter(re.findall(r"^(?:Message: |\w*(?:error|Error)\w*(?: \[\w+\])?: ).*", said, re.MULTILINE)), f"ended with {ended}")
    for test in re.findall(r"^  (\S.*) ✔$", said, re.MULTILINE):
        job.tell(f"{name}.{test}", "passed")
    if ended != 0:
        begun = re.findall(r"^  (\S.*?) (?:FAILED!)?$", said, re.MULTILINE)
        job.tell(f"{name}.{begun[-1]}" if begun else name, "failed", wrong)
    elif not passed:
        job.tell(name, "passed")
