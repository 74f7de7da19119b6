"""Two builds of Dogwood in turn: what a change costs a statement.

    compare.py OLD NEW [--rounds N] [--only NAME,NAME] [--audit MODE] [--json FILE]

OLD and NEW are binaries. Both serve one data set of their own; each kind of statement runs on one and then the other, round by
round, the first one changing. Of each is given, a statement, the lower quartile of the processor time of the server's threads and
of the time that the client waits, in microseconds, and NEW's ratio to OLD's. Only ratios mean something, and on a shared machine
those under a tenth do not either: for these count instructions (benches/results/method.md). The first round warms up. With --audit
the sessions of NEW have that mode, so that it can be compared with a build that had no log of statements.
"""
import argparse
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "tests/checks"))
from harness.compared import Dogwood  # noqa: E402
from results_file import ResultsFile  # noqa: E402

SCHEMA = (
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE posts (id INT PRIMARY KEY, author INT OWNED_BY people(id), title TEXT, score INT)",
    "CREATE TABLE plain (id INT PRIMARY KEY, k INT, t TEXT)",
)
PEOPLE, ROWS = 2_000, 40_000
# These stay, the first ones are forgotten.
KEPT = range(PEOPLE // 2, PEOPLE)


class Side:
    """One server and a connection to it."""

    def __init__(self, server, audit=None):
        import psycopg

        self.server = server
        if audit:
            with psycopg.connect(server.dsn, autocommit=True) as first:
                first.execute(f"ALTER DATABASE {first.info.dbname} SET dogwood.audit = {audit}")
        self.connection = psycopg.connect(server.dsn, autocommit=True)
        self.next_row, self.next_person = ROWS, 0
        for statement in SCHEMA:
            self.run(statement)
        self.copy("people", ((id, f"person {id}") for id in range(PEOPLE)))
        self.copy("posts", ((id, id % PEOPLE, f"title {id}", id % 97) for id in range(ROWS)))
        self.copy("plain", ((id, id % 500, f"text {id}") for id in range(ROWS)))
        self.run("CREATE MATERIALIZED VIEW counts AS SELECT author, count(*) AS n, sum(score) AS s FROM posts GROUP BY author")

    def run(self, statement, parameters=None, prepare=None):
        cursor = self.connection.execute(statement, parameters, prepare=prepare)
        return cursor.fetchall() if cursor.description else None

    def copy(self, table, rows):
        with self.connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def rows(self, count):
        first, self.next_row = self.next_row, self.next_row + count
        return range(first, first + count)

    def processor_ns(self):
        """Of all its threads that live."""
        spent = 0
        for task in Path(f"/proc/{self.server.process.pid}/task").iterdir():
            try:
                spent += int((task / "schedstat").read_text().split()[0])
            except FileNotFoundError:
                pass
        return spent


# Each runs some statements and says how many.

def repeated(statement, count, parameters, prepare=True):
    def work(side):
        for number in range(count):
            side.run(statement, parameters(number), prepare)
        return count

    return work


def inserted(table, count, row):
    def work(side):
        values = ", ".join("%s" for _ in row(0))
        for id in side.rows(count):
            side.run(f"INSERT INTO {table} VALUES ({values})", row(id), True)
        return count

    return work


def many_values(side):
    ids = side.rows(6_000)
    side.run("INSERT INTO plain VALUES " + ", ".join(f"({id}, {id % 500}, 'x')" for id in ids), prepare=False)
    return len(ids)


def copied(side):
    ids = side.rows(20_000)
    side.copy("plain", ((id, id % 500, "x") for id in ids))
    return len(ids)


def forgotten(side):
    count = 40
    for _ in range(count):
        side.run(f"GDPR FORGET people {side.next_person}")
        side.next_person += 1
    return count


def transactions(side):
    count = 300
    for number in range(count):
        with side.connection.transaction():
            side.run("SELECT t FROM plain WHERE id = %s FOR UPDATE", (number,), True)
            side.run("UPDATE plain SET t = %s WHERE id = %s", (f"n{number}", number), True)
    return count


def in_one_transaction(side):
    count = 2_000
    with side.connection.transaction():
        for number in range(count):
            side.run("UPDATE plain SET t = %s WHERE id = %s", (f"m{number}", number), True)
    return count


def different(template, count):
    """Another text each time, so that none earns a view."""
    def work(side):
        for number in range(count):
            side.run(template.format(number), prepare=False)
        return count

    return work


def listed_keys(side):
    for first in range(20):
        side.run(f"SELECT id FROM plain WHERE id IN ({', '.join(str(first + 3 * place) for place in range(2_000))})", prepare=False)
    return 20


def some_row(number):
    return (number * 7 % ROWS,)


def some_author(number):
    return (KEPT[number % len(KEPT)],)


WORK = {
    "point query": repeated("SELECT * FROM plain WHERE id = %s", 4_000, some_row),
    "point query of a personal row": repeated("SELECT * FROM posts WHERE id = %s", 4_000, some_row),
    "point query, simple protocol": different("SELECT * FROM plain WHERE id = {}", 2_000),
    "row of a view": repeated("SELECT author, n FROM counts WHERE author = %s", 4_000, some_author),
    "20 rows by a foreign key": repeated("SELECT id, title, score FROM posts WHERE author = %s", 1_000, some_author),
    "point query FOR UPDATE": repeated("SELECT t FROM plain WHERE id = %s FOR UPDATE", 1_000, some_row),
    "INSERT": inserted("plain", 1_000, lambda id: (id, id % 500, "x")),
    "INSERT of a personal row": inserted("posts", 1_000, lambda id: (id, KEPT[id % len(KEPT)], "x", 3)),
    "UPDATE": repeated("UPDATE plain SET t = %s WHERE id = %s", 1_000, lambda number: (f"u{number}", *some_row(number))),
    "UPDATE within a transaction": in_one_transaction,
    "transaction of three": transactions,
    "row of INSERT with 6,000 VALUES": many_values,
    "row of COPY": copied,
    "GET": repeated("GDPR GET people 1500", 200, lambda _: None, None),
    "FORGET": forgotten,
    "group of 40,000": different("SELECT k % ({} + 7), count(*), sum(id) FROM plain WHERE id < 40000 GROUP BY 1", 5),
    "join of 40,000": different("SELECT count(*) FROM posts p JOIN people u ON u.id = p.author WHERE p.score > {} AND p.id < 40000", 3),
    "order of 40,000": different("SELECT id FROM plain WHERE id < 40000 ORDER BY t, id DESC LIMIT 10{}", 3),
    "window over 40,000": different("SELECT id, row_number() OVER (PARTITION BY k ORDER BY t) FROM plain WHERE id BETWEEN {} AND 39999", 2),
    "IN of 2,000": listed_keys,
    "LIKE over 40,000": different("SELECT count(*) FROM plain WHERE id < 40000 AND t LIKE '%t {}%'", 3),
    "regular expression over 40,000": different("SELECT count(*) FROM plain WHERE id < 40000 AND t ~ '^te.t [0-9]*{}$'", 3),
}


def measured(side, work):
    """Processor and waiting time of one of them, in microseconds."""
    time.sleep(0.02)
    processor, began = side.processor_ns(), time.monotonic()
    count = work(side)
    waited = time.monotonic() - began
    # What goes on behind the answer belongs to it.
    time.sleep(0.02)
    return (side.processor_ns() - processor) / 1e3 / count, waited * 1e6 / count


def quartile(values):
    return sorted(values)[len(values) // 4]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--only", default="")
    parser.add_argument("--audit", choices=("off", "batched", "strict"))
    parser.add_argument("--json")
    options = parser.parse_args()
    wanted = [name for name in WORK if not options.only or any(part in name for part in options.only.split(","))]
    servers = []
    for binary in (options.old, options.new):
        os.environ["DOGWOOD"] = binary
        servers.append(Dogwood())
    with servers[0] as old, servers[1] as new:
        sides = {"old": Side(old), "new": Side(new, options.audit)}
        found = {}
        for round_number in range(options.rounds + 1):
            for name in wanted:
                for side in sorted(sides, reverse=round_number % 2 == 1):
                    times = measured(sides[side], WORK[name])
                    if round_number:
                        found.setdefault(name, {}).setdefault(side, []).append(times)
    results = ResultsFile(options.json, "two binaries, in turn")
    print(f"{'microseconds a statement':32} {'old, CPU':>10} {'new, CPU':>10} {'ratio':>6} {'old, wait':>10} {'new, wait':>10} {'ratio':>6}")
    for name, of in found.items():
        old, new = ([quartile([times[place] for times in of[side]]) for place in (0, 1)] for side in ("old", "new"))
        for what, before, after in zip(("processor time", "waiting"), old, new):
            results.add(f"{name}: {what}", "µs", after, before=before)
        shown = [f"{o:10.1f} {n:10.1f} {n / o:6.2f}" for o, n in zip(old, new)]
        print(f"{name:32} {shown[0]} {shown[1]}")
    results.write()


if __name__ == "__main__":
    main()
