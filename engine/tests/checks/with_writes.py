#!/usr/bin/env python3
"""WITH queries that write, where one session is not all there is: owners, other sessions, erasures, cancels, queues.

    with_writes.py
"""
import threading
import time

import psycopg

from harness import Check, rows, run_check, start_writers, state_of

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT)",
    "CREATE TABLE archive (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT)",
    "CREATE TABLE plain (id INT PRIMARY KEY, n INT NOT NULL)",
    "CREATE TABLE moved (id INT PRIMARY KEY, n INT NOT NULL)",
    "CREATE TABLE jobs (id INT PRIMARY KEY, state TEXT NOT NULL DEFAULT 'new', worker INT)",
    "CREATE MATERIALIZED VIEW totals AS SELECT person, count(*) AS n FROM archive GROUP BY person",
]
ARCHIVE = "WITH gone AS (DELETE FROM notes WHERE id <= %s RETURNING *) INSERT INTO archive SELECT * FROM gone"
MOVE = "WITH gone AS (DELETE FROM plain WHERE n < 10 RETURNING *) INSERT INTO moved SELECT * FROM gone"
TAKE = """WITH next AS (SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED),
    taken AS (UPDATE jobs SET state = 'done', worker = %s FROM next WHERE jobs.id = next.id RETURNING jobs.id)
    SELECT id FROM taken"""


class WithWrites(Check):
    def run(self):
        self.set_up(SCHEMA)
        for case in (self.owners, self.orphans, self.parameters, self.explained, self.queue, self.committed_meanwhile, self.one_snapshot,
                     self.erased_meanwhile, self.cancelled, self.killed):
            self.tally.case(case)
        self.tally.equal(self.unexpected, {}, "nothing unexpected in threads")

    def fill(self, connection, people=3, notes=4):
        connection.execute("TRUNCATE notes, archive, plain, moved, jobs")
        connection.execute("DELETE FROM people")
        connection.execute("INSERT INTO people SELECT g, 'person ' || g FROM generate_series(1, %s) g", (people,))
        connection.execute("INSERT INTO notes SELECT g, 1 + g %% %s, 'note ' || g FROM generate_series(1, %s) g", (people, people * notes))
        connection.execute("INSERT INTO plain SELECT g, g FROM generate_series(1, 20) g")

    def owned(self, connection, person):
        found = rows(connection, f"GDPR GET people {person}")
        return sorted(row[0] for row in found)

    def owners(self):
        """Rows that are moved are their person's where they come to, and nowhere else."""
        with self.server.connect() as connection:
            self.fill(connection)
            self.tally.equal(self.owned(connection, 1), ["notes"] * 4 + ["people"], "before")
            self.tally.equal(connection.execute(ARCHIVE, (6,)).statusmessage, "INSERT 0 6", "tag")
            self.tally.equal(self.owned(connection, 1), ["archive"] * 2 + ["notes"] * 2 + ["people"], "after")
            self.tally.equal(rows(connection, "SELECT * FROM totals ORDER BY 1"), [(1, 2), (2, 2), (3, 2)], "the view follows")
            connection.execute("GDPR FORGET people 1")
            self.tally.equal(rows(connection, "SELECT count(*) FROM archive WHERE person = 1"), [(0,)], "forgotten where they came to")
            self.tally.equal(rows(connection, "SELECT * FROM totals ORDER BY 1"), [(2, 2), (3, 2)], "the view forgets")

    def orphans(self):
        """No row without an owner, in whatever order a person and what is theirs come and go."""
        with self.server.connect() as connection:
            self.fill(connection)
            connection.execute("WITH p AS (INSERT INTO people VALUES (9, 'new') RETURNING id) INSERT INTO notes SELECT 900, id, 'x' FROM p")
            connection.execute("WITH n AS (INSERT INTO notes VALUES (901, 10, 'y')) INSERT INTO people VALUES (10, 'main first')")
            self.tally.equal(self.owned(connection, 9), ["notes", "people"], "owner made in WITH")
            self.tally.equal(self.owned(connection, 10), ["notes", "people"], "owner made by the statement")
            refused = state_of(connection.execute, "WITH p AS (DELETE FROM people WHERE id = 9) INSERT INTO notes VALUES (902, 9, 'z')")
            self.tally.equal(refused, "23503", "the owner goes")
            self.tally.equal(self.owned(connection, 9), ["notes", "people"], "nothing of it was done")

    def parameters(self):
        """The extended protocol, binary results, COPY."""
        with self.server.connect() as connection:
            self.fill(connection)
            cursor = connection.cursor(binary=True)
            cursor.execute("WITH u AS (UPDATE plain SET n = n + %s WHERE id <= %s RETURNING id, n) SELECT u.n, plain.n FROM u JOIN plain USING (id) ORDER BY 1", (5, 2))
            self.tally.equal(cursor.fetchall(), [(6, 1), (7, 2)], "parameters in both")
            self.tally.equal([column.name for column in cursor.description], ["n", "n"], "described")
            with connection.cursor().copy("COPY (WITH d AS (DELETE FROM plain WHERE id <= 2 RETURNING id) SELECT id FROM d ORDER BY id) TO STDOUT") as copy:
                self.tally.equal(b"".join(copy), b"1\n2\n", "copied")
            self.tally.equal(rows(connection, "SELECT count(*) FROM plain"), [(18,)], "deleted by COPY")

    def explained(self):
        with self.server.connect() as connection:
            self.fill(connection)
            lines = [line for line, in rows(connection, "EXPLAIN " + MOVE)]
            self.tally.that(any("Delete from plain" in line for line in lines) and any("Insert into moved" in line for line in lines), "EXPLAIN", lines)
            self.tally.equal(rows(connection, "SELECT count(*) FROM plain"), [(20,)], "EXPLAIN does nothing")
            connection.execute("EXPLAIN ANALYZE " + MOVE)
            self.tally.equal(rows(connection, "SELECT count(*) FROM moved"), [(9,)], "EXPLAIN ANALYZE does it")

    def queue(self):
        """Workers empty a queue: each job once."""
        with self.server.connect() as connection:
            self.fill(connection)
            connection.execute("INSERT INTO jobs (id) SELECT generate_series(1, 60)")
        taken, lock = [], threading.Lock()

        def work(connection, number):
            while found := rows(connection, TAKE, (number,)):
                with lock:
                    taken.extend(job for job, in found)

        for thread in start_writers(self, 4, work):
            thread.join(60)
        self.tally.equal(sorted(taken), list(range(1, 61)), "each job once")

    def committed_meanwhile(self):
        """READ COMMITTED: a row that another session has changed is looked at again, and nothing is done twice."""
        with self.server.connect() as one, self.server.connect() as other:
            self.fill(one)
            one.execute("BEGIN")
            one.execute("UPDATE plain SET n = 100 WHERE id = 5")
            one.execute("UPDATE plain SET n = 3 WHERE id = 15")
            done = []
            thread = threading.Thread(target=lambda: done.append(other.execute(
                "WITH i AS (INSERT INTO jobs VALUES (1) RETURNING id), d AS (DELETE FROM plain WHERE n < 10 RETURNING *)"
                " INSERT INTO moved SELECT d.* FROM d, i").statusmessage))
            thread.start()
            time.sleep(0.3)
            one.execute("COMMIT")
            thread.join(30)
            self.tally.equal(done, ["INSERT 0 9"], "computed anew")
            self.tally.equal([id for id, in rows(one, "SELECT id FROM moved ORDER BY id")], [1, 2, 3, 4, 6, 7, 8, 9, 15], "of what is there now")
            self.tally.equal(rows(one, "SELECT count(*) FROM plain WHERE id IN (SELECT id FROM moved)"), [(0,)], "moved, not copied")

    def one_snapshot(self):
        """REPEATABLE READ: 40001 for a row that has changed, and nothing of the statement."""
        with self.server.connect() as one, self.server.connect() as other:
            self.fill(one)
            other.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            rows(other, "SELECT count(*) FROM plain")
            one.execute("UPDATE plain SET n = 4 WHERE id = 5")
            self.tally.equal(state_of(other.execute, MOVE), "40001", "changed meanwhile")
            other.execute("ROLLBACK")
            self.tally.equal(rows(one, "SELECT count(*) FROM moved"), [(0,)], "nothing was moved")

    def erased_meanwhile(self):
        """FORGET beside statements that move the person's rows back and forth: nothing of the person is left, no row without an owner."""
        with self.server.connect() as connection:
            self.fill(connection, people=6, notes=20)
        stop = threading.Event()
        there = "WITH gone AS (DELETE FROM notes WHERE id %% 3 = %s RETURNING *) INSERT INTO archive SELECT * FROM gone"
        back = "WITH gone AS (DELETE FROM archive WHERE id %% 3 = %s RETURNING *) INSERT INTO notes SELECT * FROM gone"

        def move(connection, number):
            while not stop.is_set():
                for statement in (there, back):
                    # An erasure ends what has read from before it, and waits for rows that wait for its person.
                    state = state_of(connection.execute, statement, (number,))
                    if state not in ("", "40001", "40P01"):
                        raise AssertionError(f"{state} {statement}")

        threads = start_writers(self, 3, move)
        with self.server.connect() as connection:
            for person in (1, 2, 3):
                time.sleep(0.2)
                connection.execute(f"GDPR FORGET people {person}")
                left = "SELECT (SELECT count(*) FROM notes WHERE person = %s) + (SELECT count(*) FROM archive WHERE person = %s)"
                self.tally.equal(rows(connection, left, (person, person)), [(0,)], f"nothing of person {person}")
            stop.set()
            for thread in threads:
                thread.join(60)
            kept = rows(connection, "SELECT id FROM notes UNION ALL SELECT id FROM archive ORDER BY 1")
            self.tally.equal([id for id, in kept], [id for id in range(1, 121) if 1 + id % 6 > 3], "all of the others, once")
            for person in (4, 5, 6):
                self.tally.equal(len(self.owned(connection, person)), 21, f"owned by {person}")

    def cancelled(self):
        """A cancel in the middle: nothing was done."""
        with self.server.connect() as connection:
            self.fill(connection)
            slow = MOVE.replace("WITH ", "WITH s AS (INSERT INTO jobs SELECT g FROM generate_series(100, 200000000) g), ") + " RETURNING id"
            for wait in (0.1, 0.4):
                timer = threading.Timer(wait, connection.cancel)
                timer.start()
                self.tally.equal(state_of(connection.execute, slow), "57014", "cancelled")
                timer.join()
                counts = "SELECT (SELECT count(*) FROM plain), (SELECT count(*) FROM moved), (SELECT count(*) FROM jobs)"
                self.tally.equal(rows(connection, counts), [(20, 0, 0)], "nothing was done")

    def killed(self):
        """One commit: after a crash all of a statement is there, or nothing."""
        with self.server.connect() as connection:
            self.fill(connection, people=5, notes=40)

        def move(connection, number):
            try:
                for end in range(1, 201):
                    connection.execute(ARCHIVE, (end,))
            except psycopg.OperationalError:
                pass

        threads = start_writers(self, 1, move)
        time.sleep(0.15)
        self.server.kill()
        for thread in threads:
            thread.join(30)
        self.server.start()
        with self.server.connect() as connection:
            ids = rows(connection, "SELECT id FROM notes UNION ALL SELECT id FROM archive ORDER BY 1")
            self.tally.equal([id for id, in ids], list(range(1, 201)), "each row once")
            self.tally.equal(sum(len(self.owned(connection, person)) for person in range(1, 6)), 205, "each owned")


if __name__ == "__main__":
    run_check(WithWrites())
