"""What an application's sessions do beside reading and writing, on Dogwood and on PostgreSQL 15 in turn.

    sessions.py [--seconds N] [--rounds N] [--only NAME,NAME] [--json FILE]

Both servers run at once, each in a folder of its own, and what is measured runs on one and then the other, round by round, the first
one changing. Of the rounds counts the best. Rates are a second, times milliseconds; ratio is Dogwood's by PostgreSQL's.
"""
import argparse
import contextlib
import re
import select
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).parent / "tests/checks"))
from harness.compared import Dogwood, Postgres, postgres_program  # noqa: E402
from results_file import ResultsFile  # noqa: E402

CLIENTS, SCALE = 8, 10
TABLES, LISTENERS = 1_000, 1_000
CONNECTIONS, DESCRIBED = 200, 20
INDEXED_ROWS = 20_000
# Each keeps an index over the same rows: what an INSERT costs with it.
INDEXES = {
    "plain": "CREATE INDEX ON indexed_plain (owner)",
    "partial": "CREATE INDEX ON indexed_partial (owner) WHERE state = 'open'",
    "expression": "CREATE INDEX ON indexed_expression (lower(owner))",
}
QUERIES = {
    "plain": "SELECT count(*) FROM indexed_plain WHERE owner = %s",
    "partial": "SELECT count(*) FROM indexed_partial WHERE owner = %s AND state = 'open'",
    "expression": "SELECT count(*) FROM indexed_expression WHERE lower(owner) = %s",
}


class Side:
    """A server, what its clients are told to reach it, and what is prepared in it."""

    def __init__(self, server):
        self.server = server
        self.connection = psycopg.connect(server.dsn, autocommit=True)
        self.address = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres"]

    def program(self, name, *arguments):
        done = subprocess.run([postgres_program(name), *self.address, *arguments], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name} {' '.join(arguments)}\n{done.stderr}")
        return done.stdout

    def prepare(self):
        self.program("pgbench", "-i", "-q", "-s", str(SCALE), "postgres")
        for start in range(0, TABLES, 100):
            tables = (f"CREATE TABLE listed_{n} (id INT PRIMARY KEY, name TEXT)" for n in range(start, start + 100))
            self.connection.execute(";".join(tables))
        for name, index in INDEXES.items():
            self.connection.execute(f"CREATE TABLE indexed_{name} (id INT PRIMARY KEY, owner TEXT, state TEXT)")
            self.connection.execute(index)
            self.connection.execute(f"""INSERT INTO indexed_{name} SELECT n, 'Owner' || n % 4000, CASE n % 10 WHEN 0 THEN 'open' ELSE 'done' END
                                        FROM generate_series(1, {INDEXED_ROWS}) AS n""")
            self.connection.execute(f"ANALYZE indexed_{name}")


def pgbench(side, seconds, *arguments):
    said = side.program("pgbench", "-M", "extended", "-n", "-c", str(CLIENTS), "-j", "2", "-T", str(seconds), *arguments, "postgres")
    return float(re.search(r"tps = ([\d.]+)", said)[1])


def initialization(side, _):
    began = time.perf_counter()
    side.program("pgbench", "-i", "-q", "-s", str(SCALE), "postgres")
    return 1000 * (time.perf_counter() - began)


def temporary_tables(side, seconds):
    """A table for one transaction, as reports make them: made, filled with 100 rows, read, dropped."""
    return a_second(seconds, lambda: temporary_table(side.connection))


def temporary_table(connection):
    connection.execute("CREATE TEMPORARY TABLE picked (id INT PRIMARY KEY, name TEXT)")
    connection.execute("INSERT INTO picked SELECT n, 'name ' || n FROM generate_series(1, 100) AS n")
    assert connection.execute("SELECT sum(id) FROM picked").fetchone() == (5050,)
    connection.execute("DROP TABLE picked")


def a_second(seconds, act):
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        act()
        count += 1
    return count / (time.perf_counter() - began)


def lookups(name):
    def measure(side, seconds):
        owner = "owner17" if name == "expression" else "Owner20"
        return a_second(seconds, lambda: side.connection.execute(QUERIES[name], (owner,)).fetchone())
    return measure


def updates(name):
    """Every row of a batch gets another owner, so that the index changes."""
    def measure(side, seconds):
        statement = f"UPDATE indexed_{name} SET owner = 'Owner' || (id + %s) %% 4000 WHERE id BETWEEN %s AND %s"
        batch = iter(range(10**9))
        def act():
            n = next(batch)
            first = n * 100 % INDEXED_ROWS
            side.connection.execute(statement, (n, first, first + 99))
        return a_second(seconds, act)
    return measure


def described(command):
    """psql's command, without what psql itself takes to start."""
    def measure(side, _):
        def run(times):
            began = time.perf_counter()
            side.program("psql", "-X", "-q", "-d", "postgres", *["-c", command] * times)
            return time.perf_counter() - began
        once = min(run(1) for _ in range(3))
        return 1000 * (run(1 + DESCRIBED) - once) / DESCRIBED
    return measure


def connection_start(side, _):
    times = []
    for _ in range(CONNECTIONS):
        began = time.perf_counter()
        psycopg.connect(side.server.dsn).close()
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)


def notification(side, _):
    """NOTIFY until the last of many listeners has it, when all of them are idle."""
    with contextlib.ExitStack() as open_ones:
        listeners = [open_ones.enter_context(contextlib.closing(psycopg.connect(side.server.dsn, autocommit=True))) for _ in range(LISTENERS)]
        for listener in listeners:
            listener.execute("LISTEN news")
        return 1000 * min(told(side.connection, listeners) for _ in range(10))


def told(connection, listeners):
    waiting = {listener.fileno(): listener for listener in listeners}
    poll = select.epoll()
    for number in waiting:
        poll.register(number, select.EPOLLIN)
    began = time.perf_counter()
    connection.execute("NOTIFY news, 'x'")
    while waiting:
        for number, _ in poll.poll(10):
            poll.unregister(number)
            waiting.pop(number)
    took = time.perf_counter() - began
    for listener in listeners:
        assert [note.payload for note in listener.notifies(timeout=0, stop_after=1)] == ["x"]
    return took


# Name, what is measured, in what, and how.
MEASURED = [
    ("unnamed-reads", "unnamed extended SELECT by key, 8 conn.", "a second", lambda side, seconds: pgbench(side, seconds, "-S")),
    ("unnamed-tpcb", "pgbench's transactions, unnamed extended, 8 conn.", "a second", pgbench),
    ("temporary", "a temporary table made, filled, read and dropped", "a second", temporary_tables),
    *[(f"lookup-{name}", f"lookup by a {name} index", "a second", lookups(name)) for name in INDEXES],
    *[(f"update-{name}", f"UPDATE of 100 rows under a {name} index", "a second", updates(name)) for name in INDEXES],
    ("list", "`\\d` of 1,000 tables", "ms", described("\\d")),
    ("describe", "`\\d` of one of 1,000 tables", "ms", described("\\d listed_500")),
    ("connect", "connection start", "ms", connection_start),
    ("notify", "NOTIFY to the last of 1,000 listeners", "ms", notification),
    ("initialize", "`pgbench -i` at scale 10", "ms", initialization),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    results = ResultsFile(options.json, "what sessions do beside reading and writing")
    wanted = [line for line in MEASURED if not options.only or line[0] in options.only.split(",")]
    with Dogwood("--connections", "1200") as dogwood, Postgres(Postgres.MEASURED) as postgres:
        sides = [Side(dogwood), Side(postgres)]
        for side in sides:
            side.prepare()
        print("| what is measured | | Dogwood | PostgreSQL 15 | ratio |\n|---|---|---:|---:|---:|")
        for name, title, unit, measure in wanted:
            best = max if unit == "a second" else min
            taken = {0: [], 1: []}
            for turn in range(options.rounds):
                for which in (0, 1) if turn % 2 == 0 else (1, 0):
                    taken[which].append(measure(sides[which], max(1, int(options.seconds))))
            ours, theirs = best(taken[0]), best(taken[1])
            results.add(name, "/s" if unit == "a second" else unit, dogwood=ours, postgresql=theirs)
            print(f"| {title} | {unit} | {ours:,.1f} | {theirs:,.1f} | {ours / theirs:.2f} |", flush=True)
    results.write()


if __name__ == "__main__":
    main()
