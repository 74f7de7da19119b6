#!/usr/bin/env python3
"""MERGE where one session is not all there is: owners, erasure, other sessions, a crash.

    merges.py
"""
import time

import psycopg

from harness import Check, rows, run_check, start_writers, state_of

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT)",
    "CREATE TABLE incoming (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT)",
    "CREATE TABLE counts (id INT PRIMARY KEY, n INT NOT NULL)",
]
MERGE = """MERGE INTO notes USING incoming ON notes.id = incoming.id
    WHEN MATCHED AND incoming.body IS NULL THEN DELETE
    WHEN MATCHED THEN UPDATE SET body = incoming.body, person = incoming.person
    WHEN NOT MATCHED THEN INSERT VALUES (incoming.id, incoming.person, incoming.body)"""
ADD = "MERGE INTO counts USING (SELECT %s::int AS id) s ON counts.id = s.id WHEN MATCHED THEN UPDATE SET n = n + 1"


class Merges(Check):
    def run(self):
        self.set_up(SCHEMA)
        for case in (self.owners, self.orphans, self.added, self.one_snapshot, self.killed):
            self.tally.case(case)
        self.tally.equal(self.unexpected, {}, "nothing unexpected in threads")

    def owned(self, connection, person):
        return sorted(row[0] for row in rows(connection, f"GDPR GET people {person}"))

    def owners(self):
        with self.server.connect() as connection:
            connection.execute("INSERT INTO people SELECT g, 'p' FROM generate_series(1, 3) g")
            connection.execute("INSERT INTO notes VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, 'c')")
            connection.execute("INSERT INTO incoming VALUES (1, 2, 'to two'), (2, 1, NULL), (4, 3, 'new')")
            self.tally.equal(connection.execute(MERGE).statusmessage, "MERGE 3", "tag")
            self.tally.equal(rows(connection, "SELECT * FROM notes ORDER BY id"), [(1, 2, "to two"), (3, 2, "c"), (4, 3, "new")], "merged")
            self.tally.equal(self.owned(connection, 1), ["incoming", "people"], "nothing left of the first")
            self.tally.equal(self.owned(connection, 2), ["incoming", "notes", "notes", "people"], "moved to the second")
            connection.execute("GDPR FORGET people 2")
            self.tally.equal(rows(connection, "SELECT id FROM notes"), [(4,)], "forgotten")

    def orphans(self):
        with self.server.connect() as connection:
            refused = state_of(connection.execute, "MERGE INTO notes USING (SELECT 9 AS id) s ON notes.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, 99, 'x')")
            self.tally.equal(refused, "23503", "no owner")
            self.tally.equal(rows(connection, "SELECT count(*) FROM notes WHERE id = 9"), [(0,)], "no row without an owner")

    def added(self):
        """READ COMMITTED: no change of another session is lost."""
        with self.server.connect() as connection:
            connection.execute("INSERT INTO counts SELECT g, 0 FROM generate_series(1, 3) g")

        def add(connection, number):
            for turn in range(60):
                connection.execute(ADD, (1 + turn % 3,))

        for thread in start_writers(self, 4, add):
            thread.join(60)
        with self.server.connect() as connection:
            self.tally.equal(rows(connection, "SELECT n FROM counts ORDER BY id"), [(80,)] * 3, "all are counted")

    def one_snapshot(self):
        with self.server.connect() as one, self.server.connect() as other:
            other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            rows(other, "SELECT * FROM counts")
            one.execute("UPDATE counts SET n = 0 WHERE id = 2")
            self.tally.equal(state_of(other.execute, ADD, (2,)), "40001", "changed meanwhile")
            other.execute("ROLLBACK")

    def killed(self):
        """All of a statement, or nothing."""
        with self.server.connect() as connection:
            connection.execute("UPDATE counts SET n = 0")
            connection.execute("INSERT INTO counts SELECT g, 0 FROM generate_series(4, 50) g")

        def merge(connection, number):
            try:
                while True:
                    connection.execute("MERGE INTO counts USING generate_series(1, 50) g ON counts.id = g WHEN MATCHED THEN UPDATE SET n = n + 1")
            except psycopg.OperationalError:
                pass

        threads = start_writers(self, 1, merge)
        time.sleep(0.2)
        self.server.kill()
        for thread in threads:
            thread.join(30)
        self.server.start()
        with self.server.connect() as connection:
            self.tally.equal(rows(connection, "SELECT count(*), min(n) = max(n) FROM counts"), [(50, True)], "all alike")


if __name__ == "__main__":
    run_check(Merges())
