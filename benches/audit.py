"""What the audit log costs: the same statements under `off`, `batched` and `strict`, in turn within one run.

    audit.py [--seconds N] [--rounds N] [--clients N,N] [--only reads,mix,shared] [--entries N] [--json FILE]

Each mode has a login of its own, to which it is set. pgbench's tables have owners: accounts are of people. Modes alternate in short
rounds. What counts is the median of the ratios to `off` within a round, so that others on the machine fall out, and beside it the
server's processor time for each statement.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).parent / "tests/checks"))
from harness.compared import Dogwood, postgres_program  # noqa: E402
from results_file import ResultsFile  # noqa: E402

ACCOUNTS, BRANCHES, TELLERS = 100_000, 10, 100
MODES = ("off", "batched", "strict")
SCHEMA = [
    "CREATE DATA_SUBJECT TABLE holders (hid INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE pgbench_branches (bid INT PRIMARY KEY, bbalance INT, filler CHAR(88))",
    "CREATE TABLE pgbench_tellers (tid INT PRIMARY KEY, bid INT, tbalance INT, filler CHAR(84))",
    "CREATE TABLE pgbench_accounts (aid INT PRIMARY KEY, bid INT, abalance INT, filler CHAR(84), holder INT NOT NULL OWNED_BY holders(hid))",
    "CREATE TABLE pgbench_history (tid INT, bid INT, aid INT NOT NULL OWNED_BY pgbench_accounts(aid), delta INT, mtime TIMESTAMP, filler CHAR(22))",
    "CREATE TABLE shared_accounts (aid INT PRIMARY KEY, abalance INT)",
    "CREATE TABLE letters (id INT PRIMARY KEY, body TEXT, holder INT NOT NULL OWNED_BY holders(hid))",
    f"INSERT INTO pgbench_branches SELECT n, 0, '' FROM generate_series(1, {BRANCHES}) AS n",
    f"INSERT INTO pgbench_tellers SELECT n, 1 + n % {BRANCHES}, 0, '' FROM generate_series(1, {TELLERS}) AS n",
    *(f"INSERT INTO holders SELECT n, 'holder ' || n FROM generate_series({first}, {first + 9_999}) AS n" for first in range(1, ACCOUNTS // 4, 10_000)),
    *(f"""INSERT INTO pgbench_accounts SELECT n, 1 + n % {BRANCHES}, 0, '', 1 + n % {ACCOUNTS // 4}
          FROM generate_series({first}, {first + 9_999}) AS n""" for first in range(1, ACCOUNTS, 10_000)),
    f"INSERT INTO shared_accounts SELECT n, 0 FROM generate_series(1, {ACCOUNTS}) AS n",
    *(sql for mode in MODES for sql in (
        f"CREATE ROLE by_{mode} LOGIN",
        f"GRANT SELECT, INSERT, UPDATE ON pgbench_branches, pgbench_tellers, pgbench_accounts, pgbench_history, shared_accounts TO by_{mode}",
        f"ALTER ROLE by_{mode} SET dogwood.audit = {mode}")),
    "ANALYZE",
]
SCRIPTS = {
    "reads": f"\\set aid random(1, {ACCOUNTS})\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n",
    "shared": f"\\set aid random(1, {ACCOUNTS})\nSELECT abalance FROM shared_accounts WHERE aid = :aid;\n",
    "mix": f"""\\set aid random(1, {ACCOUNTS})
\\set bid random(1, {BRANCHES})
\\set tid random(1, {TELLERS})
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
""",
}
# Many statements a message: the log is to grow, and nothing else is looked at.
SCRIPTS["filling"] = "\\startpipeline\n" + 50 * SCRIPTS["reads"] + "\\endpipeline\n"
GOALS = {("reads", "batched"): 0.95, ("reads", "strict"): 0.5, ("mix", "batched"): 0.95, ("mix", "strict"): 0.8,
         ("shared", "batched"): 1.0, ("shared", "strict"): 1.0}


def pgbench(server, folder, mode, script, clients, seconds):
    path = folder / f"{script}.sql"
    path.write_text(SCRIPTS[script])
    done = subprocess.run([postgres_program("pgbench"), "-h", "127.0.0.1", "-p", str(server.port), "-U", f"by_{mode}", "-M", "prepared", "-n",
                           "-c", str(clients), "-j", "2", "-T", str(seconds), "-f", str(path), "postgres"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return next(float(line.split("=")[1].split()[0]) for line in done.stdout.splitlines() if line.startswith("tps"))


def processor_s(server):
    """What the server has used so far."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def flushes(server):
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        return connection.execute("SELECT count FROM dogwood.latency WHERE stage = 'make groups durable'").fetchone()[0]


def measured(server, mode, script, clients, seconds):
    """Rate, processor time a statement (a transaction of the mix) in microseconds, and how many share a flush."""
    processor, flushed = processor_s(server), flushes(server)
    rate = pgbench(server, server.folder, mode, script, clients, seconds)
    count = rate * seconds
    return rate, 1e6 * (processor_s(server) - processor) / count, count / max(1, flushes(server) - flushed)


def compare(server, script, clients, options, results):
    """The modes by turns."""
    pgbench(server, server.folder, "off", script, clients, 2)
    rounds = []
    for turn in range(options.rounds):
        order = MODES[turn % 3:] + MODES[:turn % 3]
        rounds.append({mode: measured(server, mode, script, clients, options.seconds) for mode in order})
    for mode in MODES:
        rate, processor_us, shared = (statistics.median(one[mode][which] for one in rounds) for which in range(3))
        ratios = sorted(one[mode][0] / one["off"][0] for one in rounds)
        ratio = statistics.median(ratios)
        results.add(f"{script}, {clients} conn., {mode}", "/s", rate, ratio=ratio, ratios=ratios, processor_us=processor_us, of_a_flush=shared)
        goal = GOALS.get((script, mode), "")
        print(f"| {script} | {clients} | {mode} | {rate:,.0f} | {ratio:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) | {goal} | {processor_us:.0f} | {shared:.1f} |", flush=True)


def filled(server, entries):
    """So many entries in the log; those that are asked for are at its beginning and in its middle."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        one = lambda sql, *values: connection.execute(sql, values).fetchone()[0]
        connection.execute("INSERT INTO holders VALUES (1000000, 'rare')")
        connection.execute("INSERT INTO pgbench_accounts VALUES (1000000, 1, 0, '', 1000000)")
        connection.execute("INSERT INTO letters VALUES (1, '', 1000000)")
        connection.execute("CREATE ROLE rare LOGIN; GRANT SELECT ON pgbench_accounts, letters TO rare")
        last = lambda: one("SELECT coalesce(max(number), 0) FROM audit_between(now() - interval '3 s', 'infinity')")
        count, between = last(), []
        for goal in (entries // 2, entries):
            while count < goal:
                pgbench(server, server.folder, "batched", "filling", 8, 5)
                count = max(count, last())
            began = one("SELECT clock_timestamp()")
            with psycopg.connect(f"{server.dsn} user=rare", autocommit=True) as other:
                for _ in range(50):
                    other.execute("SELECT abalance FROM pgbench_accounts WHERE aid = 1000000").fetchall()
                    other.execute("SELECT body FROM letters WHERE id = 1").fetchall()
            between.append((began, one("SELECT clock_timestamp()")))
        return last(), between[0]


def questions(server, entries, results):
    """How long questions take among so many entries, and how fast `dogwood verify` reads them."""
    count, (began, ended) = filled(server, entries)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        ever = "'-infinity', 'infinity'"
        for name, sql, values in (("about a person", "audit_about('holders', '1000000')", ()),
                                  ("by a role, all times", f"audit_by('rare', {ever})", ()),
                                  ("by the busiest role, between two times", "audit_by('by_batched', %s, %s)", (began, ended)),
                                  ("of a table, all times", f"audit_of('letters', {ever})", ()),
                                  ("of the busiest table, between two times", "audit_of('pgbench_accounts', %s, %s)", (began, ended)),
                                  ("between two times", "audit_between(%s, %s)", (began, ended))):
            times = []
            for _ in range(21):
                start = time.perf_counter()
                number = connection.execute(f"SELECT count(*) FROM {sql}", values).fetchone()[0]
                times.append(1000 * (time.perf_counter() - start))
            results.add(name, "ms", sorted(times)[10], most=max(times), entries=count, rows=number)
            print(f"| {name} | {number:,} of {count:,} entries | {sorted(times)[10]:.2f} ms, at most {max(times):.2f} | < 10 ms |", flush=True)
    server.process.terminate()
    server.process.wait()
    data, capsule = server.folder / "data", server.folder / "capsule"
    for name, arguments in (("export-capsule", ["--data", data, capsule]), ("verify", ["--key", data / "public.key", capsule])):
        start = time.perf_counter()
        subprocess.run([server.binary, name, *map(str, arguments)], check=True, capture_output=True)
        took = time.perf_counter() - start
        results.add(name, "s", took, entries=count)
        print(f"| {name} | {capsule.stat().st_size:,} bytes, {capsule.stat().st_size / count:.1f} an entry | {count / took:,.0f} entries a second | >= 200,000 |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--clients", default="8,32")
    parser.add_argument("--only", default="reads,shared,mix")
    parser.add_argument("--entries", type=int, default=0, help="then ask questions among so many")
    parser.add_argument("--json")
    options = parser.parse_args()
    results = ResultsFile(options.json, "the audit log's modes by turns, ratios of one round")
    with Dogwood() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            for sql in SCHEMA:
                connection.execute(sql)
        print(f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors", flush=True)
        print("| what | conn. | mode | a second | of off | goal | server's processor, µs | of a flush |\n|---|---|---|---|---|---|---|---|", flush=True)
        for script in filter(None, options.only.split(",")):
            for clients in map(int, options.clients.split(",")):
                compare(server, script, clients, options, results)
        if options.entries:
            questions(server, options.entries, results)
        print(f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors", flush=True)
    results.write()


if __name__ == "__main__":
    main()
