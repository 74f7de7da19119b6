"""sqlsmith, which is in Debian: random statements over the types, functions, operators and tables that it finds in a server's catalog.

It reads Dogwood's catalog and writes the statements down, so that both servers get the same. Each runs in a transaction of its own
that is rolled back. A statement passes where the server accepts it. Nothing may ever be an internal error, or cost the connection.
`SQLSMITH_MINUTES` says how long it runs: in a minute, `STATEMENTS_PER_MINUTE` on each server.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import time

from harness.compared import Dogwood, Wire
from job import sh
from smaller import smaller

MINUTES = float(os.environ.get("SQLSMITH_MINUTES") or 5)
TITLE, VERSION, LIMIT = "sqlsmith", "1.4-1", 60 * MINUTES + 900
LEFT_OUT_BECAUSE = None if shutil.which("apt-get") else "this is no Debian"
SEED = int(os.environ.get("SQLSMITH_SEED") or 15)
STATEMENTS_PER_MINUTE = 1500
# Seconds from which on a statement is named in the log.
SLOW_SECONDS = 5
# In the name of a statement over tables that only Dogwood has.
OWN = " of its own"
TABLES = [
    "CREATE TABLE person (id int PRIMARY KEY, name text NOT NULL, born date, height real, tags text[])",
    "CREATE TABLE account (id bigint PRIMARY KEY, person int REFERENCES person, balance numeric(12, 2), open boolean, since timestamptz)",
    "CREATE TABLE entry (account bigint REFERENCES account, at timestamp, amount numeric, weight double precision, note varchar(20), body jsonb)",
    "CREATE TABLE device (id uuid PRIMARY KEY, address inet, data bytea, small smallint, span interval, hour time)",
    "INSERT INTO person SELECT i, 'name ' || i, date '1970-01-01' + i * 300, i * 1.5, ARRAY['a', 'b' || i] FROM generate_series(1, 20) i",
    "INSERT INTO person VALUES (21, '', NULL, NULL, NULL)",
    "INSERT INTO account SELECT i, i % 21 + 1, i * 10.25, i % 2 = 0, timestamptz '2020-01-01 00:00+00' + i * interval '1 day' FROM generate_series(1, 30) i",
    "INSERT INTO entry SELECT i % 30 + 1, timestamp '2021-01-01' + i * interval '1 hour', i / 7.0, i / 3.0, 'note ' || i % 5, "
    "jsonb_build_object('i', i, 'list', jsonb_build_array(i, 'x', NULL)) FROM generate_series(1, 40) i",
    "INSERT INTO entry VALUES (NULL, NULL, NULL, NULL, NULL, NULL)",
    "INSERT INTO device SELECT ('00000000-0000-0000-0000-0000000000' || 10 + i)::uuid, ('10.0.0.' || i)::inet, decode('00ff' || 10 + i, 'hex'), i, "
    "i * interval '1 hour', time '00:00' + i * interval '30 minutes' FROM generate_series(1, 10) i",
    "CREATE VIEW wealth AS SELECT person.name, sum(balance) AS total, count(*) AS accounts FROM person JOIN account ON account.person = person.id GROUP BY person.name",
]


def install(folder):
    if not shutil.which("sqlsmith"):
        sh("apt-get", "install", "-y", "-qq", "--no-install-recommends", f"sqlsmith={VERSION}")


def address(port):
    return f"host=127.0.0.1 port={port} user=postgres dbname=postgres"


def run(job):
    kept = job.results.with_name("sqlsmith.statements.json")
    if job.kind == "postgresql":
        # The one file: Dogwood comes after PostgreSQL, and it is Dogwood's catalog that counts.
        with Dogwood() as server:
            job.port, port = server.port, job.port
            job.statements(*TABLES)
            job.port = port
            kept.write_text(json.dumps(statements(server.port, int(MINUTES * STATEMENTS_PER_MINUTE))))
    job.statements(*TABLES)
    if job.kind == "dogwood":
        by_itself(job)
    execute(job, json.loads(kept.read_text()))


def statements(port, count):
    """What sqlsmith makes: four of five are of tables that both servers have, the others of what Dogwood tells of itself too."""
    done = subprocess.run(["sqlsmith", f"--target={address(port)}", "--exclude-catalog", "--dry-run", f"--seed={SEED}", f"--max-queries={12 * count}"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    made = [statement.strip() for statement in done.stdout.split(";\n") if statement.strip()]
    own = [statement for statement in made if "dogwood." in statement][:count // 5]
    common = [statement for statement in made if "dogwood." not in statement][:count - len(own)]
    if len(own) + len(common) < count:
        print(f"  sqlsmith made {len(own) + len(common)} of {count} statements: {done.stderr.strip()[-500:]}", flush=True)
    return common + own


def by_itself(job):
    """sqlsmith as it comes, for a fifth of the time: it must start, and find the server alive at its end."""
    code = job.execute("timeout", "--preserve-status", "-s", "INT", str(int(12 * MINUTES)), "sqlsmith", f"--target={address(job.port)}",
                       "--exclude-catalog", f"--seed={SEED + 1}", "--verbose", limit=12 * MINUTES + 60)
    said = job.log.read_text(errors="replace")
    queries = re.findall(r"queries: (\d+)", said)
    job.tell("by itself", "passed" if queries and job.server.alive() else "failed", said[-300:])
    print(f"    sqlsmith by itself: {queries[-1] if queries else 0} statements, ended with {code}", flush=True)


def execute(job, made):
    """Runs the statements, and says of each whether the server took it."""
    wire, counts, seen = Wire(address(job.port) + " sslmode=disable"), collections.Counter(), set()
    end = time.monotonic() + LIMIT
    with job.results.open("a") as results, job.results.with_suffix(".findings.txt").open("w") as findings:
        for number, statement in enumerate(made):
            if time.monotonic() > end:
                break
            began = time.monotonic()
            answer = in_transaction(wire, statement)
            seconds = time.monotonic() - began
            grave = answer.error in ("lost", "hang") or (answer.error or "").startswith("XX")
            counts["accepted" if not answer.error else "grave" if grave else "refused"] += 1
            if grave or seconds > SLOW_SECONDS:
                findings.write(f"-- {number}: {answer.error} {answer.message}, {seconds:.1f} s\n{statement};\n")
                if kind_of(answer) not in seen and answer.error not in ("hang", None):
                    seen.add(kind_of(answer))
                    findings.write(f"-- made smaller:\n{smaller(statement, lambda other: kind_of(in_transaction(wire, other)) == kind_of(answer))};\n")
                findings.write("\n")
                findings.flush()
            message = f"{answer.error} {answer.said[0] if answer.said else answer.message}" if answer.error else ""
            results.write(json.dumps({"test": f"statement[{number}]{OWN * ('dogwood.' in statement)}", "outcome": "failed" if answer.error else "passed", "message": message[:400]}) + "\n")
    print(f"    {job.kind}: {dict(counts)}", flush=True)
    wire.close()


def in_transaction(wire, statement):
    """The answer to a statement whose effects go again."""
    wire.run("BEGIN")
    answer = wire.run(statement)
    wire.run("ROLLBACK")
    return answer


def kind_of(answer):
    """What two failures of one cause have in common."""
    return answer.error, re.sub(r"\d+|\"[^\"]*\"", "…", answer.message)


def note(postgresql, dogwood):
    """What the rate does not say."""
    common = [test for test in postgresql if not test.endswith(OWN)]
    accepted = [sum(found.get(test, ("", ""))[0] == "passed" for test in common) for found in (postgresql, dogwood)]
    internal = sum(message.startswith("XX") for _, message in dogwood.values())
    lost = sum(message.startswith(("lost", "hang")) for _, message in dogwood.values())
    return (f"of {len(common):,} statements over tables of both, PostgreSQL accepts {accepted[0]:,} and Dogwood {accepted[1]:,}. "
            f"Of all {len(dogwood):,}, {internal:,} end in an internal error of Dogwood's, and {lost:,} without an answer.")
