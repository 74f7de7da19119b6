"""What the audit log costs: the same statements under `off`, `batched` and `strict`, in turn within one run.

    audit.py [--seconds N] [--rounds N] [--clients N,N] [--only reads,mix,shared] [--entries N] [--json FILE]

Each mode has a login of its own, to which it is set. pgbench's tables have owners: accounts are of people. Modes alternate round by
round; of the rounds counts the best.
"""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).parent / "tests/checks"))
from harness.compared import Dogwood, postgres_program  # noqa: E402

ACCOUNTS, BRANCHES, TELLERS = 100_000, 10, 100
MODES = ("off", "batched", "strict")
SCHEMA = [
    "CREATE DATA_SUBJECT TABLE holders (hid INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE pgbench_branches (bid INT PRIMARY KEY, bbalance INT, filler CHAR(88))",
    "CREATE TABLE pgbench_tellers (tid INT PRIMARY KEY, bid INT, tbalance INT, filler CHAR(84))",
    "CREATE TABLE pgbench_accounts (aid INT PRIMARY KEY, bid INT, abalance INT, filler CHAR(84), holder INT NOT NULL OWNED_BY holders(hid))",
    "CREATE TABLE pgbench_history (tid INT, bid INT, aid INT NOT NULL OWNED_BY pgbench_accounts(aid), delta INT, mtime TIMESTAMP, filler CHAR(22))",
    "CREATE TABLE shared_accounts (aid INT PRIMARY KEY, abalance INT)",
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


def questions(server, entries, seconds):
    """How long questions take among so many entries, and how fast `dogwood verify` reads them."""
    rare = "SELECT abalance FROM pgbench_accounts WHERE aid = %s"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        one = lambda sql, *values: connection.execute(sql, values).fetchone()[0]
        connection.execute("INSERT INTO holders VALUES (1000000, 'rare')")
        connection.execute("INSERT INTO pgbench_accounts VALUES (1000000, 1, 0, '', 1000000)")
        connection.execute("CREATE ROLE rare LOGIN; GRANT SELECT ON pgbench_accounts TO rare")
        began = one("SELECT clock_timestamp()")
        with psycopg.connect(f"{server.dsn} user=rare", autocommit=True) as other:
            for _ in range(50):
                other.execute(rare, (1000000,)).fetchall()
        ended = one("SELECT clock_timestamp()")
        while (count := one("SELECT coalesce(max(number), 0) FROM audit_between(now() - interval '3 s', 'infinity')")) < entries:
            pgbench(server, server.folder, "batched", "reads", 8, seconds)
        time.sleep(20)
        found = []
        for name, sql, values in (("about a person", "SELECT count(*) FROM audit_about('holders', '1000000')", ()),
                                  ("by a role, all times", "SELECT count(*) FROM audit_by('rare', '-infinity', 'infinity')", ()),
                                  ("between two times", "SELECT count(*) FROM audit_between(%s, %s)", (began, ended))):
            times = []
            for _ in range(20):
                start = time.perf_counter()
                number = one(sql, *values)
                times.append(1000 * (time.perf_counter() - start))
            found.append({"name": name, "entries": count, "rows": number, "ms": sorted(times)[10]})
            print(f"| {name} | {number} of {count:,} entries | {sorted(times)[10]:.2f} ms | < 10 ms |", flush=True)
    server.process.terminate()
    server.process.wait()
    data, capsule = server.folder / "data", server.folder / "capsule"
    for name, arguments in (("export-capsule", ["--data", data, capsule]), ("verify", ["--key", data / "public.key", capsule])):
        start = time.perf_counter()
        subprocess.run([server.binary, name, *map(str, arguments)], check=True, capture_output=True)
        took = time.perf_counter() - start
        found.append({"name": name, "entries": count, "seconds": took})
        print(f"| {name} | {capsule.stat().st_size:,} bytes, {capsule.stat().st_size / count:.1f} an entry | {count / took:,.0f} entries a second | >= 200,000 |", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--clients", default="8,32")
    parser.add_argument("--only", default="reads,shared,mix")
    parser.add_argument("--entries", type=int, default=0, help="then ask questions among so many")
    parser.add_argument("--json")
    options = parser.parse_args()
    found = []
    with Dogwood() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            for sql in SCHEMA:
                connection.execute(sql)
        print("| what | conn. | mode | a second | of off | goal |\n|---|---|---|---|---|---|", flush=True)
        for script in filter(None, options.only.split(",")):
            for clients in map(int, options.clients.split(",")):
                pgbench(server, server.folder, "off", script, clients, 2)
                rates = {mode: [] for mode in MODES}
                for turn in range(options.rounds):
                    for mode in MODES if turn % 2 == 0 else reversed(MODES):
                        rates[mode].append(pgbench(server, server.folder, mode, script, clients, options.seconds))
                for mode in MODES:
                    ratio = max(rates[mode]) / max(rates["off"])
                    found.append({"name": script, "clients": clients, "mode": mode, "rate": max(rates[mode]), "ratio": ratio, "all": rates[mode]})
                    goal = GOALS.get((script, mode), "")
                    print(f"| {script} | {clients} | {mode} | {max(rates[mode]):,.0f} | {ratio:.3f} | {goal} |", flush=True)
        if options.entries:
            found += questions(server, options.entries, 10)
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
