#!/usr/bin/env python3
"""Cancels and timeouts at random instants: what answered 57014 has changed nothing, what answered otherwise is all there.

Several connections work at once, each on rows of its own: statements of all kinds, transactions, cursors, COPY, DDL, subject requests. Each
statement may be cancelled or meet its timeout at any moment, also just as it ends. After each one its connection looks at its rows.

    cancels.py [--seed N] [--count N] [--seconds N]
"""

import argparse
import random
import threading
import time
import traceback

import psycopg

from harness import Server, Tally, rows

CONNECTIONS = 4
CANCELLED = "57014"
# Another worker's erasure ends what reads from before it.
RETRY = "40001"
SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id int PRIMARY KEY, worker int NOT NULL)",
    "CREATE TABLE notes (id int PRIMARY KEY, person int NOT NULL OWNED_BY people(id), worker int NOT NULL, mark int NOT NULL)",
    "CREATE INDEX ON notes (person)",
    "CREATE INDEX ON notes (worker)",
    "CREATE TABLE plain (worker int NOT NULL, id int NOT NULL, mark int NOT NULL, PRIMARY KEY (worker, id))",
    "CREATE MATERIALIZED VIEW totals AS SELECT worker, count(*) AS n, sum(mark) AS marks FROM notes GROUP BY worker",
]


class Worker(threading.Thread):
    """Runs statements on one connection, and knows what its rows must be."""

    def __init__(self, server, number, seed, until, count):
        super().__init__(daemon=True)
        self.server, self.number, self.until, self.count = server, number, until, count
        self.dice = random.Random(f"{seed} {number}")
        self.passed, self.cancelled, self.wrong = 0, 0, []
        self.next = 1
        self.people, self.notes, self.plain = set(), {}, {}
        self.took = 0.02

    def run(self):
        try:
            with self.server.connect() as self.connection:
                while self.passed < self.count and time.monotonic() < self.until and len(self.wrong) < 3:
                    self.step()
        except Exception:
            self.wrong.append(traceback.format_exc(limit=5))

    def key(self):
        self.next += 1
        return self.number * 1_000_000 + self.next

    def step(self):
        choice = self.dice.choice([
            self.insert, self.insert, self.update, self.update, self.delete, self.forget, self.transaction, self.copy, self.create_as,
            self.index, self.read, self.read, self.request, self.cursor])
        before = (set(self.people), dict(self.notes), dict(self.plain))
        after, act = choice()
        kept = self.disturbed(act)
        self.people, self.notes, self.plain = after if kept else before
        self.look(choice.__name__, kept)

    def disturbed(self, act):
        """Runs it, and perhaps ends it early: whether it said that it was done."""
        kind = self.dice.choice(["cancel", "cancel", "timeout", "none"])
        delay = self.dice.random() ** 2 * self.took * 1.3
        timer = None
        if kind == "timeout":
            self.connection.execute(f"SET statement_timeout = {max(1, int(delay * 1000))}")
        elif kind == "cancel":
            timer = threading.Timer(delay, self.connection.cancel_safe)
            timer.start()
        began = time.monotonic()
        try:
            act()
            self.took = 0.9 * self.took + 0.1 * max(0.001, time.monotonic() - began)
            return True
        except psycopg.Error as error:
            if error.sqlstate not in (CANCELLED, RETRY):
                raise
            self.cancelled += error.sqlstate == CANCELLED
            return False
        finally:
            # A cancel may still be under way; it must not meet the next statement.
            if timer:
                timer.cancel()
                timer.join()
            while True:
                try:
                    self.connection.execute("ROLLBACK")
                    self.connection.execute("SET statement_timeout = 0")
                    self.connection.execute("SELECT pg_sleep(0.002)")
                    break
                except psycopg.Error as error:
                    if error.sqlstate != CANCELLED:
                        raise

    def look(self, name, kept):
        """Whether the stored rows are what they must be."""
        people = {key for key, in self.rows("SELECT id FROM people WHERE worker = %s", (self.number,))}
        notes = {key: (person, mark) for key, person, mark in
                 self.rows("SELECT id, person, mark FROM notes WHERE worker = %s", (self.number,))}
        plain = dict(self.rows("SELECT id, mark FROM plain WHERE worker = %s", (self.number,)))
        said = "said that it was done" if kept else "was cancelled"
        for what, found, expected in [("people", people, self.people), ("notes", notes, self.notes), ("plain", plain, self.plain)]:
            if found != expected:
                self.wrong.append(f"{name} {said}; {what} differ: {len(found)} rows, expected {len(expected)}")
                self.people, self.notes, self.plain = people, notes, plain
                return
        total = self.rows("SELECT n, marks FROM totals WHERE worker = %s", (self.number,))
        expected = [(len(notes), sum(mark for _, mark in notes.values()))] if notes else []
        if total != expected:
            self.wrong.append(f"{name} {said}; the view has {total}, expected {expected}")
        self.passed += 1

    def rows(self, sql, parameters):
        while True:
            try:
                return rows(self.connection, sql, parameters)
            except psycopg.Error as error:
                if error.sqlstate != RETRY:
                    raise

    # What may be done: the rows after it, and the doing.

    def execute(self, *statements):
        return lambda: [self.connection.execute(sql, parameters) for sql, parameters in statements]

    def insert(self):
        person, many = self.key(), self.dice.choice([1, 20, 300])
        first = self.next + 1
        self.next += many
        keys = [self.number * 1_000_000 + n for n in range(first, first + many)]
        notes = {**self.notes, **{key: (person, 1) for key in keys}}
        return (self.people | {person}, notes, self.plain), self.execute(
            ("BEGIN", None), ("INSERT INTO people VALUES (%s, %s)", (person, self.number)),
            ("INSERT INTO notes SELECT g, %s, %s, 1 FROM generate_series(%s::int, %s::int) g", (person, self.number, keys[0], keys[-1])),
            ("COMMIT", None))

    def update(self):
        notes = {key: (person, mark + 1) for key, (person, mark) in self.notes.items()}
        return (self.people, notes, self.plain), self.execute(("UPDATE notes SET mark = mark + 1 WHERE worker = %s", (self.number,)))

    def delete(self):
        rest = {key: note for key, note in self.notes.items() if key % 3}
        return (self.people, rest, self.plain), self.execute(("DELETE FROM notes WHERE worker = %s AND id %% 3 = 0", (self.number,)))

    def forget(self):
        if not self.people:
            return self.insert()
        person = self.dice.choice(sorted(self.people))
        notes = {key: note for key, note in self.notes.items() if note[0] != person}
        statement = self.dice.choice([f"GDPR FORGET people {person}", f"DELETE FROM people WHERE id = {person}"])
        if statement.startswith("DELETE"):
            return (self.people - {person}, notes, self.plain), self.execute(
                ("BEGIN", None), (f"DELETE FROM notes WHERE person = {person}", None), (statement, None), ("COMMIT", None))
        return (self.people - {person}, notes, self.plain), self.execute((statement, None))

    def transaction(self):
        plain = {**self.plain}
        statements = [("BEGIN", None)]
        for _ in range(self.dice.randint(1, 4)):
            key = self.key()
            plain[key] = 1
            statements.append(("INSERT INTO plain VALUES (%s, %s, 1)", (self.number, key)))
            statements.append(("SAVEPOINT s", None))
            statements.append(("UPDATE plain SET mark = mark + 100 WHERE worker = %s", (self.number,)))
            statements.append(("ROLLBACK TO s", None))
        statements.append(("UPDATE plain SET mark = mark + 1 WHERE worker = %s", (self.number,)))
        statements.append(("COMMIT", None))
        return (self.people, self.notes, {key: mark + 1 for key, mark in plain.items()}), self.execute(*statements)

    def copy(self):
        keys = [self.key() for _ in range(self.dice.choice([10, 1000]))]

        def act():
            with self.connection.cursor() as cursor, cursor.copy("COPY plain FROM STDIN") as into:
                for key in keys:
                    into.write_row((self.number, key, 7))
        return (self.people, self.notes, {**self.plain, **{key: 7 for key in keys}}), act

    def create_as(self):
        name = f"made_{self.key()}"

        def act():
            self.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM plain WHERE worker = {self.number}")
            found = rows(self.connection, f"SELECT count(*) FROM {name}")[0][0]
            if found != len(self.plain):
                self.wrong.append(f"{name} has {found} rows, expected {len(self.plain)}")
            self.connection.execute(f"DROP TABLE {name}")
        return (self.people, self.notes, self.plain), act

    def index(self):
        name = f"index_{self.key()}"
        return (self.people, self.notes, self.plain), self.execute(
            ("BEGIN", None), (f"CREATE INDEX {name} ON plain (mark)", None), (f"DROP INDEX {name}", None), ("COMMIT", None))

    def read(self):
        sql, expected = self.dice.choice([
            ("SELECT sum(mark) FROM plain WHERE worker = %s", lambda: sum(self.plain.values()) if self.plain else None),
            ("SELECT count(*) FROM notes a JOIN people p ON p.id = a.person WHERE a.worker = %s", lambda: len(self.notes)),
            ("SELECT count(*) FROM generate_series(1, 300000) g WHERE g %% 2 = 0 AND %s >= 0", lambda: 150000),
            ("SELECT count(DISTINCT person) FROM notes WHERE worker = %s", lambda: len({person for person, _ in self.notes.values()})),
        ])

        def act():
            found = rows(self.connection, sql, (self.number,))[0][0]
            if found != expected():
                self.wrong.append(f"{sql} gave {found}, expected {expected()}")
        return (self.people, self.notes, self.plain), act

    def request(self):
        if not self.people:
            return self.insert()
        person = self.dice.choice(sorted(self.people))

        def act():
            found = len(rows(self.connection, f"GDPR GET people {person}"))
            expected = 1 + sum(note[0] == person for note in self.notes.values())
            if found != expected:
                self.wrong.append(f"GDPR GET gave {found} rows, expected {expected}")
        return (self.people, self.notes, self.plain), act

    def cursor(self):
        def act():
            self.connection.execute("BEGIN")
            self.connection.execute(f"DECLARE k CURSOR FOR SELECT id FROM notes WHERE worker = {self.number} ORDER BY id")
            found = []
            while some := rows(self.connection, "FETCH 50 FROM k"):
                found += [key for key, in some]
            self.connection.execute("COMMIT")
            if found != sorted(self.notes):
                self.wrong.append(f"a cursor gave {len(found)} rows, expected {len(self.notes)}")
        return (self.people, self.notes, self.plain), act


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seed", type=int, default=15)
    arguments.add_argument("--count", type=int, default=150)
    arguments.add_argument("--seconds", type=float, default=25)
    options = arguments.parse_args()
    tally, server = Tally(), Server()
    try:
        server.start()
        with server.connect() as connection:
            for sql in SCHEMA:
                connection.execute(sql)
        until = time.monotonic() + options.seconds
        workers = [Worker(server, number, options.seed, until, options.count) for number in range(1, CONNECTIONS + 1)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(options.seconds + 60)
            tally.that(not worker.is_alive(), "a worker ends")
            tally.passed += worker.passed
            for wrong in worker.wrong:
                tally.that(False, f"worker {worker.number}", wrong)
        cancelled = sum(worker.cancelled for worker in workers)
        tally.that(cancelled > 0, "something was cancelled")
        if tally.that(server.alive(), "the server lives", server.said()[-2000:]):
            tally.equal(server.stop(), 0, "SIGTERM at the end")
            tally.clean(server, "at the end")
        tally.equal(server.said()[:2000], "", "the server's log is empty")
        print(f"{sum(worker.passed for worker in workers)} statements and transactions, {cancelled} of them cancelled (seed {options.seed})")
    finally:
        server.remove()
    tally.end()


if __name__ == "__main__":
    main()
