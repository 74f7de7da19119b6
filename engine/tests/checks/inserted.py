#!/usr/bin/env python3
"""`xmax` tells what was inserted from what was updated, where one session is not all there is: others who write the same rows, savepoints,
many rows, erasures, cancels, `kill -9`.

    inserted.py
"""
import threading
import time

from harness import Check, rows, run_check, start_writers, state_of

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE plain (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0)",
]
PUT = "INSERT INTO plain (id) VALUES (%s) ON CONFLICT (id) DO UPDATE SET n = plain.n + 1 RETURNING xmax::text::bigint"
MANY = """INSERT INTO plain SELECT g FROM generate_series(1, %s) g ON CONFLICT (id) DO UPDATE SET n = plain.n + 1
    RETURNING id, xmax::text::bigint, repeat('x', 100)"""


class Inserted(Check):
    def run(self):
        self.set_up(SCHEMA)
        for case in (self.numbers, self.savepoints, self.waited, self.raced, self.many, self.binary, self.erased, self.cancelled, self.killed):
            self.tally.case(case)
        self.tally.equal(self.unexpected, {}, "nothing unexpected in threads")

    def put(self, connection, key):
        return connection.execute(PUT, (key,)).fetchone()[0]

    def numbers(self):
        """Each transaction has a number of its own, which is what it is told elsewhere."""
        with self.server.connect() as connection:
            connection.execute("TRUNCATE plain")
            self.tally.equal(self.put(connection, 1), 0, "new")
            first, second = self.put(connection, 1), self.put(connection, 1)
            self.tally.that(3 <= first < second, "numbers go up", f"{first} {second}")
            with connection.transaction():
                number = self.put(connection, 1)
                self.tally.equal(rows(connection, "SELECT txid_current(), pg_current_xact_id_if_assigned()::text::bigint"), [(number, number)], "the same elsewhere")
                self.tally.equal(self.put(connection, 1), number, "and for each statement")
                self.tally.equal(self.put(connection, 2), 0, "new in a transaction")
                self.tally.equal(self.put(connection, 2), number, "its own row")

    def savepoints(self):
        """What was taken back is new again."""
        with self.server.connect() as connection:
            connection.execute("TRUNCATE plain")
            with connection.transaction():
                connection.execute("SAVEPOINT s")
                self.tally.equal(self.put(connection, 1), 0, "new")
                connection.execute("ROLLBACK TO s")
                self.tally.equal(self.put(connection, 1), 0, "new again")
                connection.execute("DELETE FROM plain")
                self.tally.equal(self.put(connection, 1), 0, "new after it was deleted")
                number = self.put(connection, 1)
                connection.execute("SAVEPOINT s")
                self.tally.equal(self.put(connection, 1), number, "a savepoint is the transaction's")
                connection.execute("ROLLBACK TO s")
                self.tally.equal(self.put(connection, 1), number, "and keeps its number")

    def waited(self):
        """Who waits for another's row learns what became of it."""
        for committed in (True, False):
            with self.server.connect() as one, self.server.connect() as other:
                one.execute("TRUNCATE plain")
                one.execute("BEGIN")
                self.put(one, 1)
                found = []
                thread = threading.Thread(target=lambda: found.append(self.put(other, 1)))
                thread.start()
                time.sleep(0.2)
                self.tally.equal(found, [], "it waits")
                one.execute("COMMIT" if committed else "ROLLBACK")
                thread.join(30)
                self.tally.that(len(found) == 1 and (found[0] != 0) == committed, f"committed: {committed}", str(found))

    def raced(self):
        """Of all who write a row at once, one has inserted it."""
        with self.server.connect() as connection:
            connection.execute("TRUNCATE plain")
        keys, found = 300, [[] for _ in range(4)]

        def write(connection, number):
            for key in range(keys):
                found[number].append(self.put(connection, key))

        for thread in start_writers(self, 4, write):
            thread.join(120)
        new = [sum(told[key] == 0 for told in found) for key in range(keys)]
        self.tally.equal(new, [1] * keys, "each row was new once")
        numbers = [number for told in found for number in told if number]
        self.tally.equal(len(numbers), len(set(numbers)), "no number twice")

    def many(self):
        """More rows than are held in memory."""
        with self.server.connect() as connection:
            connection.execute("TRUNCATE plain")
            connection.execute("INSERT INTO plain SELECT 3 * g FROM generate_series(1, 40000) g")
            found = connection.execute(MANY, (120_000,)).fetchall()
            self.tally.equal(len(found), 120_000, "rows")
            self.tally.equal([id for id, number, _ in found if (number == 0) != (id % 3 != 0)], [], "those that were there")
            self.tally.equal(len({number for _, number, _ in found}), 2, "one number")

    def binary(self):
        """The extended protocol, prepared, its type and its binary form."""
        with self.server.connect() as connection:
            connection.execute("TRUNCATE plain")
            cursor = connection.cursor(binary=True)
            for turn in range(8):
                cursor.execute("INSERT INTO plain (id) VALUES (%s) ON CONFLICT (id) DO UPDATE SET n = 1 RETURNING xmax, (xmax = 0) AS inserted", (turn // 2,), prepare=True)
                number, inserted = cursor.fetchone()
                self.tally.equal((inserted, int.from_bytes(number, "big") == 0 if isinstance(number, bytes) else int(number) == 0), (turn % 2 == 0,) * 2, "told")
                self.tally.equal([column.type_code for column in cursor.description], [28, 16], "types")

    def erased(self):
        """Who was forgotten is new when they come again."""
        put = "INSERT INTO people VALUES (1, 'canary') ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING xmax::text = '0'"
        with self.server.connect() as connection:
            self.tally.equal(rows(connection, put) + rows(connection, put), [(True,), (False,)], "new, then there")
            connection.execute("GDPR FORGET people 1")
            connection.execute("SET dogwood.suppress_forgotten = off")
            self.tally.equal(rows(connection, put), [(True,)], "new again")

    def cancelled(self):
        """A cancel in the middle: nothing was done, and the rows are new."""
        with self.server.connect() as connection:
            connection.execute("TRUNCATE plain")
            timer = threading.Timer(0.3, connection.cancel)
            timer.start()
            self.tally.equal(state_of(connection.execute, MANY, (200_000_000,)), "57014", "cancelled")
            timer.join()
            self.tally.equal(self.put(connection, 1), 0, "nothing was done")

    def killed(self):
        """After a crash no number comes again."""
        with self.server.connect() as connection:
            connection.execute("TRUNCATE plain")
            self.put(connection, 1)
            before = self.put(connection, 1)
        self.server.kill()
        self.server.start()
        with self.server.connect() as connection:
            after = self.put(connection, 1)
            self.tally.that(after > before, "a later number", f"{before} {after}")


if __name__ == "__main__":
    run_check(Inserted())
