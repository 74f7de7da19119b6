"""MERGE and INSERT … RETURNING of more rows than memory is to hold, and what comes amid: an erasure of somebody whose rows they touch, DDL
of their table, a cancel, a disk that is full, kill -9.

Each statement is made once undisturbed, in a transaction that is taken back: so it is known what it leaves and what it returns. Disturbed, it
leaves all of that or nothing; what it returned before it failed is of no use, and whoever was forgotten is nowhere. Nothing half-made stands
on the disk afterwards, and the next statement works.

    large_writes.py [--seed S] [--rows N] [--rounds N]
"""
import argparse
import errno
import os
import random
import tempfile
import threading
import time

import psycopg

from harness import Tally, beside, rows, state_of
from harness.server import Server
from support.faults import FOREVER, Faults, Rule
from support.power import Power

PEOPLE = 30
WORD = "Quorxelion"
# Of so many bytes each, so that few rows are more than memory holds.
BODY = 8000
PATIENCE_S = 120
# What a writer hears whom somebody else's erasure or definition meets.
MET = ("", "40001", "40P01", "42P01", "55006")

STATEMENTS = {
    "insert": """INSERT INTO notes (id, v, body, person, other) SELECT id + 1000000, v + 1, body, coalesce(person, other), other FROM notes
                 RETURNING id, v, left(body, 20), person""",
    "conflict": """INSERT INTO notes (id, v, body, person, other) SELECT id + id % 2 * 2000000, v, body, coalesce(person, other), other FROM notes
                   ON CONFLICT (id) DO UPDATE SET v = EXCLUDED.v + 7 RETURNING id, v, left(body, 20), person""",
    "merge": """MERGE INTO notes t USING (SELECT id + id % 2 * 3000000 AS key, v, body, coalesce(person, other) AS person, other FROM notes) s ON t.id = s.key
                WHEN MATCHED AND s.key % 5 = 0 THEN DELETE
                WHEN MATCHED THEN UPDATE SET v = t.v + s.v + 1
                WHEN NOT MATCHED THEN INSERT (id, v, body, person, other) VALUES (s.key, s.v, s.body, s.person, s.other)""",
}
TOLD = "SELECT count(*), sum(id), sum(v), sum(length(body)), count(person), count(other) FROM notes"


class LargeWrites:
    def __init__(self, options, tally):
        self.options, self.tally, self.dice = options, tally, random.Random(options.seed)
        self.root = tempfile.mkdtemp(prefix="dogwood-disk-")
        self.server = Server(os.path.join(self.root, "data"))
        self.server.errors = os.path.join(self.root, "stderr")
        self.faults = Faults(self.root, Power(self.root))

    def start(self):
        self.server.start(before=self.faults.before())

    def remove(self):
        self.server.kill()
        self.faults.power.remove()

    def run(self):
        self.start()
        self.define()
        for name, text in STATEMENTS.items():
            expected = self.undisturbed(name, text)
            for number in range(self.options.rounds):
                for amid in (self.forgotten, self.defined, self.cancelled, self.full, self.killed):
                    self.tally.case(self.disturbed, amid, f"{name}: {amid.__name__} {number}", text, expected)
                    expected = self.undisturbed(name, text)
        self.tally.equal(self.server.stop(PATIENCE_S), 0, "SIGTERM at the end")
        self.tally.clean(self.server, "at the end")
        self.tally.equal(self.server.files_with(WORD), [], "nobody's word stands in clear")

    def define(self):
        with self.server.connect() as connection:
            connection.execute("ALTER DATABASE dogwood SET statement_timeout = 0")
        with self.server.connect() as connection:
            connection.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)")
            connection.execute("""CREATE TABLE notes (id INT PRIMARY KEY, v INT NOT NULL, body TEXT, person INT OWNED_BY people(id), other INT OWNED_BY people(id),
                                  CHECK (person IS NOT NULL OR other IS NOT NULL))""")
            connection.execute("CREATE INDEX ON notes (v)")
            connection.execute("CREATE MATERIALIZED VIEW sums AS SELECT v, count(*) AS n, sum(id) AS ids FROM notes GROUP BY v")
            self.fill(connection)

    def fill(self, connection):
        """As it is in the beginning, but for who is there."""
        self.next = rows(connection, "SELECT coalesce(max(id), 0) FROM people")[0][0]
        first, last = self.next + 1, self.next + PEOPLE
        connection.execute("DELETE FROM notes")
        connection.execute(f"INSERT INTO people SELECT n, '{WORD} ' || n FROM generate_series({first}, {last}) n")
        connection.execute(f"""INSERT INTO notes SELECT n, n % 9, rpad('{WORD} ' || n, {BODY}, 'b'), {first} + n % {PEOPLE}, CASE WHEN n % 3 = 0 THEN {first} + n % 7 END
                               FROM generate_series(1, {self.options.rows}) n""")

    def told(self, connection):
        """What the table holds, read in several ways, which must agree."""
        whole = rows(connection, TOLD)[0]
        by_index = [row for v in range(40) for row in rows(connection, f"SELECT {v}, count(*), sum(id) FROM notes WHERE v = {v} HAVING count(*) > 0")]
        by_scan = rows(connection, "SELECT v + 0, count(*), sum(id) FROM notes GROUP BY v + 0 ORDER BY 1")
        self.tally.equal(by_index, by_scan, "the index tells what all rows do")
        return whole

    def undisturbed(self, name, text):
        """What there is before, after, and returned."""
        with self.server.connect() as connection:
            before = self.told(connection)
            connection.execute("BEGIN")
            returned = self.returned(connection.execute(text))
            self.tally.that(any(file.endswith("-spill") for file in self.server.side_files()), f"{name}: rows are on the disk", self.server.side_files())
            after = self.told(connection)
            connection.execute("ROLLBACK")
            self.tally.equal(self.told(connection), before, f"{name}: taken back")
        return before, after, returned

    def returned(self, cursor):
        return sorted(cursor.fetchall()) if cursor.description else None

    def disturbed(self, amid, name, text, expected):
        """Begins a statement, and something amid it."""
        before, after, returned = expected
        got = []

        def write(connection):
            got.append(self.returned(connection.execute(text)))

        person = amid(name, write)
        with self.server.connect() as connection:
            found = self.told(connection)
            if person is None:
                self.tally.that(found in (before, after), f"{name}: all or nothing", f"{found}, {before} or {after}")
                self.tally.that(not got or found == after, f"{name}: what was acknowledged is there", found)
                self.tally.that(not got or got == [returned], f"{name}: what was returned")
            else:
                left = rows(connection, f"SELECT count(*) FROM notes WHERE person = {person} OR other = {person}")
                self.tally.equal(left, [(0,)], f"{name}: nothing of who was forgotten")
                self.tally.equal(rows(connection, f"SELECT count(*) FROM people WHERE id = {person}"), [(0,)], f"{name}: who was forgotten")
                # A row that another owns, too, stays; what was theirs alone is gone, of what was written as of what was there.
                ids = rows(connection, "SELECT count(*) FROM notes WHERE person IS NULL AND other IS NULL")
                self.tally.equal(ids, [(0,)], f"{name}: no row is nobody's")
            grouped = rows(connection, "SELECT v + 0, count(*), sum(id) FROM notes GROUP BY v + 0")
            self.tally.equal(sorted(rows(connection, "SELECT * FROM sums")), sorted(grouped), f"{name}: the view")
            self.fill(connection)
        self.tally.equal(self.server.side_files_left(), [], f"{name}: files are left")

    # What comes amid. Each gives who was forgotten, if anybody was.

    def forgotten(self, name, write):
        with self.server.connect() as connection, self.server.connect() as other:
            person = rows(other, f"SELECT max(id) - {self.dice.randrange(7)} FROM people")[0][0]
            outcome = beside(write, connection)
            time.sleep(self.dice.random() * 2)
            self.tally.equal(state_of(other.execute, f"GDPR FORGET people {person}"), "", f"{name}: FORGET")
            state = outcome(PATIENCE_S)
            # It may have written rows of somebody who is not there any more.
            self.tally.that(state in ("", "40001", "23503"), f"{name}: a statement that a FORGET meets", state)
        return person

    def defined(self, name, write):
        acts = ("CREATE INDEX brief ON notes (length(body))", "ALTER TABLE notes ADD COLUMN brief INT DEFAULT 3", "ALTER TABLE notes ALTER v TYPE BIGINT")
        text, back = self.dice.choice(list(zip(acts, ("DROP INDEX brief", "ALTER TABLE notes DROP COLUMN brief", "ALTER TABLE notes ALTER v TYPE INT"))))
        # A view would be in the way of a column's other type.
        with self.server.connect() as connection, self.server.connect() as other:
            outcome = beside(write, connection)
            time.sleep(self.dice.random() * 2)
            defined = state_of(other.execute, text)
            state = outcome(PATIENCE_S)
            self.tally.that(state in MET, f"{name}: a statement that {text} meets", state)
            self.tally.that(defined in ("", "40001", "0A000", "2BP01"), f"{name}: {text}", defined)
            if defined == "":
                self.tally.equal(state_of(other.execute, back), "", f"{name}: {back}")
        return None

    def cancelled(self, name, write):
        with self.server.connect() as connection:
            cancel = threading.Timer(0.05 + self.dice.random() * 2, connection.cancel)
            cancel.start()
            state = state_of(write, connection)
            cancel.join()
            self.tally.that(state in ("", "57014"), f"{name}: cancelled", state)
        return None

    def full(self, name, write):
        """From some call on there is no room for what stands beside the store."""
        self.faults.arm([Rule(["sst", "other"], ["write", "allocate", "create"], first=1 + self.dice.randrange(60), many=FOREVER, error=errno.ENOSPC)])
        try:
            with self.server.connect() as connection:
                state = state_of(write, connection)
            struck = sum(self.faults.struck())
        finally:
            self.faults.lift()
        if not self.server.alive():
            self.tally.that("full" in self.server.said() or "could not" in self.server.said(), f"{name}: why it ended", self.server.said()[-800:])
            self.server.kill()
            self.start()
            return None
        self.tally.that(state in ("53100", "58030") or state == "" and not struck, f"{name}: no room", f"{state}, struck {struck}")
        # It goes on by itself once there is room.
        until = time.monotonic() + PATIENCE_S
        with self.server.connect() as connection:
            while (state := state_of(connection.execute, "UPDATE people SET name = name")) and time.monotonic() < until:
                time.sleep(0.1)
        self.tally.equal(state, "", f"{name}: writes go on when there is room")
        return None

    def killed(self, name, write):
        wanted = self.dice.choice(("spill", "sst", "later"))

        def begin():
            try:
                with self.server.connect() as connection:
                    write(connection)
            except psycopg.Error:
                pass

        thread = threading.Thread(target=begin)
        thread.start()
        until, seen = time.monotonic() + PATIENCE_S, False
        while thread.is_alive() and time.monotonic() < until:
            there = self.server.side_files()
            seen = seen or any(file.endswith(".sst") for file in there)
            is_time = {"spill": any(file.endswith("-spill") for file in there), "sst": seen, "later": seen and not there}[wanted]
            if is_time and self.dice.random() < 0.2:
                break
        self.server.kill()
        thread.join()
        self.start()
        return None


def main():
    parser = argparse.ArgumentParser()
    for name, default in {"seed": 20261130, "rows": 2600, "rounds": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    tally = Tally()
    check = LargeWrites(parser.parse_args(), tally)
    try:
        tally.case(check.run)
    finally:
        check.remove()
    tally.end()


if __name__ == "__main__":
    main()
