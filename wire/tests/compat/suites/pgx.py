"""pgx's own tests, which are in its Go module: the connection, its pool, its types, and database/sql over it."""
import collections
import json
import re
import shutil

from job import sh

KNOWN_NAMES = True
TITLE, VERSION, LIMIT = "pgx", "5.13.0", 1200
MODULE = f"github.com/jackc/pgx/v5@v{VERSION}"
LEFT_OUT_BECAUSE = None if shutil.which("go") else "Go is not installed"
PACKAGES = [".", "./pgconn", "./pgtype", "./pgxpool", "./stdlib"]
SETUP = ["CREATE EXTENSION hstore", "CREATE EXTENSION ltree", "CREATE DOMAIN uint64 AS numeric(20,0)",
         """CREATE USER " tricky, ' } "" \\ test user " SUPERUSER PASSWORD 'secret'"""]


def install(folder):
    (folder / "empty").mkdir(exist_ok=True)
    found = json.loads(sh("go", "mod", "download", "-json", MODULE, cwd=folder / "empty"))
    sh("cp", "-r", "--no-preserve=mode", found["Dir"], folder / "run")
    # Built once, none of them run.
    sh("go", "test", "-run", "NONE", *PACKAGES, cwd=folder / "run")


def run(job):
    job.statements("CREATE DATABASE pgx_test")
    job.statements(*SETUP, database="pgx_test")
    address = f"host=127.0.0.1 port={job.port} user=postgres dbname=pgx_test sslmode=disable"
    for package in PACKAGES:
        seen = job.log.stat().st_size if job.log.exists() else 0
        job.execute("go", "test", "-json", "-count=1", "-timeout=240s", package, cwd=job.folder / "run",
                    environment={"PGX_TEST_DATABASE": address, "PGX_TEST_TCP_CONN_STRING": address}, limit=300)
        read(job, seen)


def read(job, seen):
    """Tells what `go test -json` has written to the log since `seen`."""
    said, outcomes = collections.defaultdict(list), {}
    for line in job.log.read_bytes()[seen:].decode(errors="replace").splitlines():
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        if "Test" not in event:
            continue
        # Some are named after a folder of theirs, which is another in each run.
        name = re.sub(r"/tmp/Test\w+/\d+/", "/tmp/", event["Test"])
        test = f"{event['Package'].rsplit('pgx/v5', 1)[1].lstrip('/') or 'pgx'}.{name}"
        if event["Action"] == "output":
            said[test].append(event["Output"].strip())
        elif event["Action"] in ("pass", "fail", "skip"):
            outcomes[test] = {"pass": "passed", "fail": "failed", "skip": "skipped"}[event["Action"]]
    # Of a test with parts the parts count.
    parents = {test[:end] for test in outcomes for end in range(len(test)) if test[end] == "/"}
    for test in outcomes.keys() - parents:
        job.tell(test, outcomes[test], message(said[test]) if outcomes[test] == "failed" else "")


def message(lines):
    """The first line that names an error of the server's, or else the first that a test has said."""
    for pattern in (r"SQLSTATE \w{5}", r"^(?:\w+_test\.go:\d+: |Error:)(?=.*\S)", r"panic: "):
        for line in lines:
            if re.search(pattern, line):
                return re.sub(r"^\w+_test\.go:\d+: |^Error:\s*", "", line)
    return "said nothing"
