"""Loading, on Dogwood and on PostgreSQL 15 in turn: `pgbench -i` by its phases, and COPY of rows of several kinds.

    loading.py [--scale 10] [--rounds 3] [--only pgbench,plain,...] [--before BINARY] [--json FILE]

A server's processor time is what its processes have taken; the client's is not in it. With `--before` an older Dogwood takes part, too.
"""
import argparse
import contextlib
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).parent / "tests/checks"))
from harness.compared import Dogwood, Postgres, postgres_program  # noqa: E402
from results_file import ResultsFile  # noqa: E402

COPIED_AT_ONCE = 10_000
TICKS = os.sysconf("SC_CLK_TCK")


def processes(first):
    """A process and all below it."""
    found = [first]
    for process in found:
        try:
            children = Path(f"/proc/{process}/task/{process}/children").read_text()
        except OSError:
            continue
        found += [int(child) for child in children.split()]
    return found


def processor(first):
    """Seconds that a server has taken, those of children that have ended, too."""
    total = 0
    for process in processes(first):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        # Of those that have ended the first one knows.
        total += sum(int(field) for field in fields[11:15])
    return total / TICKS


def memory(process):
    """The most that it has held, in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024


class Side:
    def __init__(self, name, server):
        self.name, self.server = name, server
        self.process = server.process.pid if name != "postgres" else int((server.folder / "data/postmaster.pid").read_text().split()[0])

    def connect(self):
        return psycopg.connect(self.server.dsn, autocommit=True, options="-c statement_timeout=0")

    def run(self, *statements):
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement)

    def measured(self, act):
        began, before = time.perf_counter(), processor(self.process)
        parts = act() or {}
        seconds = time.perf_counter() - began
        # What is still merged and removed behind it counts, too.
        time.sleep(0.5)
        return {"seconds": seconds, "processor": processor(self.process) - before, "memory_mb": memory(self.process), **parts}


def pgbench(side, scale):
    def act():
        done = subprocess.run([postgres_program("pgbench"), "-i", "-s", str(scale), "-q", side.server.dsn], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        total, phases = re.search(r"done in ([0-9.]+) s \((.*)\)", done.stderr).groups()
        found = {f"{name.strip()}_s": float(took) for name, took in re.findall(r"([a-z -]+?) ([0-9.]+) s", phases)}
        return {"pgbench_s": float(total), **found}
    measured = side.measured(act)
    with side.connect() as connection:
        count, least, most = connection.execute("SELECT count(*), min(aid), max(aid) FROM pgbench_accounts").fetchone()
        if (count, least, most) != (100_000 * scale, 1, 100_000 * scale):
            raise SystemExit(f"{side.name}: {count} rows from {least} to {most}")
    return measured


def copied(side, rows, line, table="big"):
    def act():
        with side.connect() as connection, connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for start in range(1, rows + 1, COPIED_AT_ONCE):
                copy.write("".join(line(number) for number in range(start, min(rows, start + COPIED_AT_ONCE - 1) + 1)))
    measured = side.measured(act)
    with side.connect() as connection:
        found = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        if found != rows:
            raise SystemExit(f"{side.name}: {found} rows")
    return measured


def scattered(number, rows):
    """Numbers in no order, each once."""
    return 1 + number * 7919 % rows


def plain(side, scale):
    side.run("DROP TABLE IF EXISTS big", "CREATE TABLE big (id INT PRIMARY KEY, owner INT, name TEXT, amount INT)")
    return copied(side, 100_000 * scale, lambda n: f"{n}\t{n % 4000}\tname of {n}\t{n % 1000}\n")


def disordered(side, scale):
    rows = 100_000 * scale
    side.run("DROP TABLE IF EXISTS big", "CREATE TABLE big (id INT PRIMARY KEY, owner INT, name TEXT, amount INT)")
    return copied(side, rows, lambda n: f"{scattered(n, rows)}\t{n % 4000}\tname of {n}\t{n % 1000}\n")


def people(side, scale):
    kind = "DATA_SUBJECT TABLE" if side.name != "postgres" else "TABLE"
    side.run("DROP TABLE IF EXISTS owned", "DROP TABLE IF EXISTS person", f"CREATE {kind} person (id INT PRIMARY KEY, name TEXT, mail TEXT)")
    return copied(side, 10_000 * scale, lambda n: f"{n}\tname of {n}\t{n}@example.org\n", "person")


def owned(side, scale, one=False):
    people(side, scale)
    rows, folk = 10_000 * scale, 10_000 * scale if one else 100 * scale
    way = "REFERENCES" if side.name == "postgres" else "OWNED_BY"
    side.run("DROP TABLE IF EXISTS owned", f"CREATE TABLE owned (id INT PRIMARY KEY, person INT NOT NULL {way} person(id), note TEXT)")
    return copied(side, rows, lambda n: f"{n}\t{1 + n * 7919 % folk}\tnote of {n}\n", "owned")


KINDS = {"pgbench": pgbench, "plain": plain, "disordered": disordered, "people": people, "owned": owned,
         "owned_one_each": lambda side, scale: owned(side, scale, True)}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=int, default=10)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--only", default=",".join(KINDS))
    options.add_argument("--before")
    options.add_argument("--json")
    options = options.parse_args()
    results = ResultsFile(options.json, "processor seconds of the server, medians of the rounds")
    with contextlib.ExitStack() as servers:
        sides = []
        if options.before:
            before = Dogwood()
            before.binary = options.before
            sides.append(Side("before", servers.enter_context(before)))
        sides.append(Side("dogwood", servers.enter_context(Dogwood())))
        sides.append(Side("postgres", servers.enter_context(Postgres(Postgres.MEASURED))))
        for kind in options.only.split(","):
            found = {side.name: [] for side in sides}
            for _ in range(options.rounds):
                for side in sides:
                    found[side.name].append(KINDS[kind](side, options.scale))
            medians = {name: {key: statistics.median(one[key] for one in rounds) for key in rounds[0]} for name, rounds in found.items()}
            for name, median in medians.items():
                print(f"{kind:16} {name:9}", "  ".join(f"{key} {value:.2f}" for key, value in median.items()), flush=True)
            for what in ("seconds", "processor"):
                beside = {"before": medians["before"][what]} if options.before else {}
                results.add(f"{kind}: {what}", "s", dogwood=medians["dogwood"][what], postgresql=medians["postgres"][what], **beside)
    results.write()


if __name__ == "__main__":
    main()
