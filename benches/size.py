"""What big statements cost, and those who work beside them, on Dogwood and on PostgreSQL 15 in turn.

    size.py [--rows N] [--only NAME,NAME] [--json FILE]

While a big statement runs, one connection inserts single rows into another table and one reads single rows of it, each again and
again. How long these take is told by percentiles, in milliseconds; how long the statement takes in seconds, and by how much the
server's memory grew at most. `idle` is the same two connections beside nothing.
"""
import argparse
import contextlib
import multiprocessing
import os
import sys
import time
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).parent / "tests/checks"))
from harness.compared import Dogwood, Postgres  # noqa: E402
from results_file import ResultsFile  # noqa: E402

OTHERS = 10_000
IDLE_SECONDS = 3
PAUSE = 0.0005
COPIED_AT_ONCE = 10_000


def others(dsn, kind, stop, found):
    """Works by itself until told to stop; how long each statement took."""
    times = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        number = 0
        while not stop.is_set():
            number += 1
            began = time.perf_counter()
            if kind == "insert":
                connection.execute("INSERT INTO other VALUES (%s, 'other')", (OTHERS + number,))
            else:
                connection.execute("SELECT name FROM other WHERE id = %s", (number * 7919 % OTHERS,)).fetchone()
            times.append(time.perf_counter() - began)
            time.sleep(PAUSE)
    found.put((kind, times))


def percentiles(times):
    times = sorted(times)
    at = lambda part: 1000 * times[min(len(times) - 1, int(part * len(times)))]  # noqa: E731
    return {"p50": at(0.5), "p999": at(0.999), "max": 1000 * times[-1], "count": len(times)}


class Side:
    """A server, and whom it serves beside the big statement."""

    def __init__(self, name, server):
        self.name, self.server = name, server
        self.connection = psycopg.connect(server.dsn, autocommit=True)
        self.run("SET statement_timeout = 0")
        self.processes = [server.process.pid] if name == "dogwood" else []

    def run(self, *statements):
        for statement in statements:
            self.connection.execute(statement)

    def fresh(self):
        self.run("DROP TABLE IF EXISTS other", "CREATE TABLE other (id INT PRIMARY KEY, name TEXT)")
        self.run(f"INSERT INTO other SELECT n, 'name' || n FROM generate_series(0, {OTHERS}) AS n")

    def peak(self):
        """The most memory since `forget_peak`, in MB, and what is held now."""
        status = Path(f"/proc/{self.processes[0]}/status").read_text()
        kb = {line.split(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith(("VmHWM", "VmRSS"))}
        return int(kb["VmHWM"]) / 1024, int(kb["VmRSS"]) / 1024

    def forget_peak(self):
        Path(f"/proc/{self.processes[0]}/clear_refs").write_text("5")
        return self.peak()[1]

    def measured(self, act):
        """Does something beside the others."""
        stop, found = multiprocessing.Event(), multiprocessing.Queue()
        beside = [multiprocessing.Process(target=others, args=(self.server.dsn, kind, stop, found)) for kind in ("insert", "select")]
        for process in beside:
            process.start()
        time.sleep(0.5)
        before = self.forget_peak() if self.processes else 0
        began = time.perf_counter()
        act()
        took = time.perf_counter() - began
        grew = self.peak()[0] - before if self.processes else None
        stop.set()
        outcome = dict(found.get() for _ in beside)
        for process in beside:
            process.join()
        return {"seconds": took, "memory_mb": grew, **{kind: percentiles(times) for kind, times in outcome.items()}}


def fill(side, rows, key="PRIMARY KEY"):
    side.run("DROP TABLE IF EXISTS big", f"CREATE TABLE big (id INT {key}, owner INT, name TEXT, amount INT)")
    copied(side, rows, rows)


def indexed(side, _rows):
    side.run("DROP TABLE IF EXISTS big", "CREATE TABLE big (id INT PRIMARY KEY, owner INT, name TEXT, amount INT)", "CREATE INDEX ON big (name)")


def copied(side, rows, owners):
    with side.connection.cursor().copy("COPY big FROM STDIN") as copy:
        for start in range(1, rows + 1, COPIED_AT_ONCE):
            ids = range(start, min(rows, start + COPIED_AT_ONCE - 1) + 1)
            copy.write("".join(f"{n}\t{1 + n * 7919 % owners}\tname of {n}\t{n % 1000}\n" for n in ids))


def people_of(rows):
    return max(1, rows // 100)


def nobody(side, rows):
    """An empty table of rows of people's; on PostgreSQL an ordinary one that refers to them."""
    people = people_of(rows)
    side.run("DROP TABLE IF EXISTS big", "DROP TABLE IF EXISTS person")
    if side.name == "dogwood":
        side.run("CREATE DATA_SUBJECT TABLE person (id INT PRIMARY KEY, name TEXT)",
                 "CREATE TABLE big (id INT PRIMARY KEY, owner INT OWNED_BY person (id), name TEXT, amount INT)")
    else:
        side.run("CREATE TABLE person (id INT PRIMARY KEY, name TEXT)",
                 "CREATE TABLE big (id INT PRIMARY KEY, owner INT REFERENCES person, name TEXT, amount INT)",
                 "CREATE INDEX ON big (owner)")
    side.run(f"INSERT INTO person SELECT n, 'person' || n FROM generate_series(1, {people}) AS n")


def owned(side, rows):
    nobody(side, rows)
    people = people_of(rows)
    step = 100_000
    for start in range(1, rows + 1, step):
        side.run(f"""INSERT INTO big SELECT n, 1 + n % {people}, 'name of ' || n, n % 1000
                     FROM generate_series({start}, {min(rows, start + step - 1)}) AS n""")


def keyless(side, rows):
    owned(side, rows)
    side.run("ALTER TABLE big DROP CONSTRAINT big_pkey")


def people_copied(side, rows):
    with side.connection.cursor().copy("COPY person FROM STDIN") as copy:
        for start in range(1, rows + 1, COPIED_AT_ONCE):
            copy.write("".join(f"{n + 1}\tperson{n}\n" for n in range(start, min(rows, start + COPIED_AT_ONCE - 1) + 1)))


def nothing(*_):
    pass


def statement(text):
    return lambda side, _rows: side.run(text)


def statement_of(text):
    """Of so many rows."""
    return lambda side, rows: side.run(text.format(rows=rows))


# Name, what is measured, on how many of the rows, what is prepared, and what is done.
MEASURED = [
    ("idle", "nothing", 1, nothing, lambda *_: time.sleep(IDLE_SECONDS)),
    ("index-small", "CREATE INDEX on a tenth", 0.1, fill, statement("CREATE INDEX big_name ON big (name)")),
    ("index", "CREATE INDEX", 1, fill, statement("CREATE INDEX big_name ON big (name)")),
    ("index-owned", "CREATE INDEX on people's rows, four tenths", 0.4, owned, statement("CREATE INDEX big_name ON big (name)")),
    ("unique", "ADD UNIQUE", 1, fill, statement("ALTER TABLE big ADD UNIQUE (name)")),
    ("key", "ADD PRIMARY KEY, four tenths", 0.4, lambda side, rows: fill(side, rows, "NOT NULL"), statement("ALTER TABLE big ADD PRIMARY KEY (id)")),
    ("key-owned", "ADD PRIMARY KEY to people's rows, four tenths", 0.4, keyless, statement("ALTER TABLE big ADD PRIMARY KEY (id)")),
    ("type", "ALTER TYPE, four tenths", 0.4, fill, statement("ALTER TABLE big ALTER amount TYPE text")),
    ("type-owned", "ALTER TYPE of people's rows, four tenths", 0.4, owned, statement("ALTER TABLE big ALTER amount TYPE text")),
    ("update", "UPDATE of four tenths", 0.4, fill, statement("UPDATE big SET amount = amount + 1")),
    ("delete", "DELETE of four tenths", 0.4, fill, statement("DELETE FROM big")),
    ("update-owned", "UPDATE of people's rows, four tenths", 0.4, owned, statement("UPDATE big SET amount = amount + 1")),
    ("delete-owned", "DELETE of people's rows, four tenths", 0.4, owned, statement("DELETE FROM big")),
    ("copy-small", "COPY of four tenths", 0.4, nothing, fill),
    ("copy", "COPY of twice the rows", 2, nothing, fill),
    ("copy-indexed", "COPY of twice the rows, with an index", 2, indexed, lambda side, rows: copied(side, rows, rows)),
    ("copy-owned-small", "COPY of people's rows, four tenths", 0.4, nobody, lambda side, rows: copied(side, rows, people_of(rows))),
    ("copy-owned", "COPY of people's rows, twice the rows", 2, nobody, lambda side, rows: copied(side, rows, people_of(rows))),
    ("copy-people", "COPY of people, four tenths", 0.4, lambda side, _: nobody(side, 0), people_copied),
    ("select", "INSERT … SELECT of twice the rows", 2, lambda side, _: fill(side, 0), statement_of(
        "INSERT INTO big SELECT n, n * 7, 'name of ' || n, n % 1000 FROM generate_series(1, {rows}) AS n")),
]


def shown(number):
    return "" if number is None else f"{number:,.0f}" if number >= 100 else f"{number:.2f}"


def record(results, title, taken):
    """What was measured of each side; without PostgreSQL one value each."""
    def add(name, unit, of):
        values = {("postgresql" if side == "postgres" else side): of(one) for side, one in taken.items() if of(one) is not None}
        if "dogwood" in values:
            results.add(name, unit, **(values if len(values) > 1 else {"value": values["dogwood"]}))

    add(title, "s", lambda one: one["seconds"])
    add(f"{title}: memory more", "MB", lambda one: one["memory_mb"])
    for kind in ("insert", "select"):
        for which in ("p50", "p999", "max"):
            add(f"{title}: others' {kind.upper()}, {which}", "ms", lambda one: one[kind][which])  # noqa: B023


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--dogwood-only", action="store_true", help="without PostgreSQL, to compare two binaries")
    parser.add_argument("--json")
    options = parser.parse_args()
    wanted = [line for line in MEASURED if not options.only or line[0] in options.only.split(",")]
    print("| beside | | s | ratio | MB more | INSERT p50 | p99.9 | max | SELECT p50 | p99.9 | max |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    results = ResultsFile(options.json, f"{options.rows:,} rows; others write and read meanwhile")
    with contextlib.ExitStack() as servers:
        sides = [Side("dogwood", servers.enter_context(Dogwood()))]
        if not options.dogwood_only:
            sides.append(Side("postgres", servers.enter_context(Postgres(Postgres.MEASURED))))
        for name, title, part, prepare, act in wanted:
            rows = int(options.rows * part)
            taken = {}
            for side in sides:
                side.fresh()
                prepare(side, rows)
                taken[side.name] = side.measured(lambda: act(side, rows))  # noqa: B023
                side.run("DROP TABLE IF EXISTS big")
            for side in taken:
                one = taken[side]
                ratio = one["seconds"] / taken["postgres"]["seconds"] if "postgres" in taken and side == "dogwood" else None
                others_of = [one[kind][which] for kind in ("insert", "select") for which in ("p50", "p999", "max")]
                numbers = [one["seconds"], ratio, one["memory_mb"], *others_of]
                print(f"| {title} ({rows:,}) | {side} | " + " | ".join(shown(number) for number in numbers) + " |", flush=True)
            record(results, f"{title} ({rows:,})", taken)
    results.write()


if __name__ == "__main__":
    main()
