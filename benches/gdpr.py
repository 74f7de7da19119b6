"""GDPRbench's own Java client, built from a checkout that the user names, against PostgreSQL 15 and Dogwood by pgjdbc.

    gdpr.py SOURCE [--records N] [--operations N] [--threads N] [--only ROLE,ROLE] [--against off|batched] [--build FOLDER] [--json FILE]

SOURCE is a checkout of GDPRbench/GDPRbench; it is copied, and stays as it is. `gdpr/client.patch` makes the copy compile, gives its
statements the conditions that the workload draws, and has it insert. People are a table of their own, and a record is its USR's.
Each role runs on what the one before has left, one server after the other. Both are durable, without TLS, with nine indexes; PostgreSQL
logs each statement, Dogwood's audit log is strict. With --against another mode of the audit log stands in the place of PostgreSQL.
Nothing that a client was told is an error counts as done: then the bench fails.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "engine/tests/checks"))
from harness.compared import Dogwood, Postgres  # noqa: E402
from results_file import ResultsFile  # noqa: E402

ROLES = {"load": None, "controller": "gdpr_controller", "customer": "gdpr_customer", "processor": "gdpr_processor", "regulator": "regulator"}
DRIVER = "org.postgresql:postgresql:42.7.4"
# A property of the client's build that stands in a comment of it.
MAVEN = ("mvn", "-q", "-B", "-DskipTests", "-Dcheckstyle.skip=true", "-Dopenjpa.jdbc.version=2.1.1")
ANNOTATED = {"PUR": "PURPOSES", "OBJ": "OBJECTIONS", "DEC": "DECISIONS", "SHR": "SHARED_WITH", "SRC": "ORIGIN", "CAT": "CATEGORY"}
COLUMNS = ("PUR", "TTL", "OBJ", "DEC", "ACL", "SHR", "SRC", "CAT", "Data")
USERS = 10_000
# What the client says of a kind of operation: how many were answered so.
ANSWERED = re.compile(r"^\[([\w-]+)\], Return=(\w+), (\d+)", re.M)


def sh(*command, folder):
    done = subprocess.run([str(part) for part in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-4000:]}")


def built(source, folder):
    """The class path of the client; made once for a patch."""
    patch, done = HERE / "gdpr/client.patch", folder / "built"
    if not (source / "src/jdbc/pom.xml").is_file():
        sys.exit(f"{source} is no checkout of GDPRbench: it has no src/jdbc/pom.xml")
    if not done.exists() or done.read_text() != patch.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git", "target"))
        sh("patch", "-p1", "-i", patch.resolve(), folder=folder)
        sh(*MAVEN, "-pl", "core,jdbc", "-am", "package", folder=folder / "src")
        sh(*MAVEN, "-pl", "core", "dependency:copy-dependencies", "-DincludeScope=runtime", folder=folder / "src")
        sh("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={DRIVER}", f"-DoutputDirectory={folder / 'driver'}", folder=folder)
        done.write_text(patch.read_text())
    jars = [*folder.glob("src/core/target/*.jar"), *folder.glob("src/jdbc/target/*.jar"), *folder.glob("src/core/target/dependency/*.jar"), *folder.glob("driver/*.jar")]
    return ":".join(map(str, jars))


class Bench:
    def __init__(self, options):
        self.options = options
        self.results = ResultsFile(options.json, f"{options.records:,} records, {options.operations:,} operations, {options.threads} threads")

    def prepare(self, server, audit):
        """The tables, and the people whom records are of. `audit`: the mode of the audit log; none of PostgreSQL."""
        ours = audit is not None
        subject, owned, annotated = ("DATA_SUBJECT ", "OWNED_BY", ANNOTATED) if ours else ("", "REFERENCES", {})
        columns = ", ".join(f"{name} VARCHAR {annotated.get(name, '')}" for name in COLUMNS)
        with psycopg.connect(server.dsn, autocommit=True) as one:
            one.execute(f"CREATE {subject}TABLE person (id VARCHAR PRIMARY KEY)")
            one.execute(f"CREATE TABLE usertable (YCSB_KEY VARCHAR PRIMARY KEY, USR VARCHAR NOT NULL {owned} person(id), {columns})")
            for name in ("USR", *COLUMNS[:-1]):
                one.execute(f"CREATE INDEX ON usertable ({name})")
            with one.cursor().copy("COPY person FROM STDIN") as copy:
                for number in range(USERS):
                    copy.write_row((f"user{number}",))
            if ours:
                one.execute(f"ALTER DATABASE dogwood SET dogwood.audit = '{audit}'")

    def client(self, server, role):
        """Runs the client for a role; operations a second, and how many were not found."""
        workload = ROLES[role] or "gdpr_controller"
        file = HERE / "gdpr/regulator" if role == "regulator" else self.folder / "src/workloads" / workload
        ours = isinstance(server, Dogwood)
        user, password, name = ("controller", server.password, "dogwood") if ours else ("postgres", "none", "postgres")
        log = ("log.query", "SELECT number FROM dogwood.audit ORDER BY number DESC") if ours else ("log.file", server.folder / "log")
        properties = {"db.driver": "org.postgresql.Driver", "db.url": f"jdbc:postgresql://127.0.0.1:{server.port}/{name}?sslmode=disable",
                      "db.user": user, "db.passwd": password, "recordcount": self.options.records, "operationcount": self.options.operations,
                      "usrcount": USERS, log[0]: log[1]}
        given = [word for key, value in properties.items() for word in ("-p", f"{key}={value}")]
        command = ["java", "-cp", self.path, "com.yahoo.ycsb.Client", "-load" if role == "load" else "-t", "-db", "com.yahoo.ycsb.db.JdbcDBClient",
                   "-P", str(file), "-threads", str(self.options.threads), *given]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder)
        said = done.stdout
        found = re.search(r"\[OVERALL\], Throughput\(ops/sec\), ([\d.]+)", said)
        wrong = {f"{kind} {state}": int(count) for kind, state, count in ANSWERED.findall(said) if state == "ERROR"}
        if done.returncode or not found or wrong:
            sys.exit(f"{role} on {'Dogwood' if ours else 'PostgreSQL'}: {wrong}\n{said[-2000:]}\n{done.stderr[-2000:]}")
        missed = sum(int(count) for _, state, count in ANSWERED.findall(said) if state in ("NOT_FOUND", "UNEXPECTED_STATE"))
        return float(found[1]), missed

    def run(self):
        self.folder = Path(self.options.build).resolve()
        self.path = built(Path(self.options.source).resolve(), self.folder)
        wanted = [role for role in ROLES if role == "load" or not self.options.only or role in self.options.only.split(",")]
        print(f"{self.options.records:,} records of {USERS:,} people, {self.options.operations:,} operations, {self.options.threads} threads; load {os.getloadavg()[0]:.1f}")
        mode = self.options.against
        other_name = f"audit {mode}" if mode else "PostgreSQL 15"
        print(f"| role | Dogwood | {other_name} | ratio | found nothing: Dogwood | {other_name} |\n|---|---:|---:|---:|---:|---:|")
        with Dogwood() as ours, Dogwood() if mode else Postgres(Postgres.MEASURED + " -c log_statement=all") as theirs:
            self.prepare(ours, "strict")
            self.prepare(theirs, mode)
            for role in wanted:
                (mine, missed), (other, lacked) = self.client(ours, role), self.client(theirs, role)
                self.results.add(role, "/s", **{"dogwood": mine, f"audit {mode}" if mode else "postgresql": other})
                print(f"| {role} | {mine:,.0f} /s | {other:,.0f} /s | {mine / other:.2f} | {missed:,} | {lacked:,} |", flush=True)
                if role == "load":
                    self.compare(ours, theirs)
            print(f"load {os.getloadavg()[0]:.1f} at the end")

    def compare(self, ours, theirs):
        """After the load both hold the same: later what is drawn differs."""
        counted = []
        for server in (ours, theirs):
            with psycopg.connect(server.dsn, autocommit=True) as one:
                counted.append(one.execute("SELECT count(*), count(DISTINCT usr), count(DISTINCT pur), min(ycsb_key), max(ycsb_key) FROM usertable").fetchone())
        if counted[0] != counted[1] or counted[0][0] != self.options.records:
            sys.exit(f"after the load: {counted[0]} against {counted[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--only", default="")
    parser.add_argument("--build", default=os.path.expanduser("~/.cache/dogwood/gdprbench"))
    parser.add_argument("--against", choices=("off", "batched"))
    parser.add_argument("--json")
    options = parser.parse_args()
    bench = Bench(options)
    bench.run()
    bench.results.write()


if __name__ == "__main__":
    main()
