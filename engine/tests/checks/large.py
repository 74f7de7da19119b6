"""Large statements, whose rows come into the store as files: what they leave, who works beside them, and what ends them half-way.

A statement that writes many rows is all there or not at all, for its table, its indexes, its views and their subscriptions: when it
is cancelled, taken back, meets a FORGET, or the server is killed at each step of it. Steps are told from the files in `ingest`:
they come one by one, and go family by family once the commit stands. Nothing is left in them, and no word of a person in clear.

    large.py [--seed S] [--rows N] [--rounds N]
"""
import threading
import time

from harness import beside, options, rows, run_check, state_of
from support.side_files import SideFilesCheck

PEOPLE = 50
WORD = "Quorxelion"


class Large(SideFilesCheck):
    def run(self):
        self.count = self.options.rows
        self.set_up([
            "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
            """CREATE TABLE notes (id INT PRIMARY KEY, person INT OWNED_BY people(id), other INT OWNED_BY people(id), v INT, body TEXT,
               ON DEL person ANON (person), ON DEL other ANON (other))""",
            "CREATE TABLE plain (id INT PRIMARY KEY, v INT, body TEXT)",
            "CREATE TABLE small (id INT PRIMARY KEY, v INT)",
            "CREATE INDEX ON notes (v)",
            "CREATE INDEX ON plain (v)",
            "CREATE MATERIALIZED VIEW sums AS SELECT v, count(*) AS n, sum(id) AS ids FROM plain GROUP BY v",
            "CREATE MATERIALIZED VIEW noted AS SELECT person, count(*) AS n, sum(v) AS v FROM notes GROUP BY person",
            f"INSERT INTO people SELECT n, '{WORD} ' || n FROM generate_series(1, {PEOPLE}) n",
        ])
        self.fill()
        self.tally.case(self.each_kind)
        self.tally.case(self.taken_back)
        self.tally.case(self.emptied)
        self.tally.case(self.cancelled)
        self.tally.case(self.subscribed)
        self.tally.case(self.beside)
        for number in range(self.options.rounds):
            self.tally.case(self.forgotten, number)
        for table in ("plain", "notes"):
            for step in ("first", "some", "all", "going", "gone", "later"):
                self.tally.case(self.killed, table, step)
        self.tally.equal(self.server.files_with(WORD), [], "nobody's name stands in clear")

    def fill(self):
        with self.server.connect() as connection:
            for statement in self.filling():
                connection.execute(statement)

    def filling(self):
        return [
            "TRUNCATE plain", self.dice.choice(("DELETE FROM notes", "TRUNCATE notes")),
            f"INSERT INTO plain SELECT n, n % 10, repeat('b', 100) || n FROM generate_series(1, {self.count}) n",
            f"""INSERT INTO notes SELECT n, (SELECT min(id) FROM people) + n % 5, (SELECT max(id) FROM people) - n % 7, n % 10, '{WORD} {WORD} {WORD}' || n
                FROM generate_series(1, {self.count}) n""",
        ]

    def whole(self, connection, name):
        """Table, indexes and views tell the same. What that is."""
        told = []
        for table, view, group in (("plain", "sums", "v"), ("notes", "noted", "person")):
            scanned = rows(connection, f"SELECT count(*), sum(id), sum(v + 0) FROM {table}")[0]
            by_scan = self.index_agrees(connection, table, name)
            what = "count(*), sum(id)" if table == "plain" else "count(*), sum(v)"
            self.view_agrees(connection, view, f"SELECT {group} + 0, {what} FROM {table} GROUP BY {group} + 0", name)
            told.append((scanned, tuple(by_scan)))
        return told

    def each_kind(self):
        count = self.count
        with self.server.connect() as connection:
            for table in ("plain", "notes"):
                values = "n, 11, 'new'" if table == "plain" else "n, (SELECT min(id) FROM people), NULL, 11, 'new'"
                for statement, expected in [
                    (f"UPDATE {table} SET v = v + 1", (count, sum((n % 10) + 1 for n in range(1, count + 1)))),
                    (f"DELETE FROM {table} WHERE id % 2 = 0", (count - count // 2, None)),
                    (f"INSERT INTO {table} SELECT {values} FROM generate_series({count + 1}, {2 * count}) n", (2 * count - count // 2, None)),
                    (f"UPDATE {table} SET id = id + 1000000", (2 * count - count // 2, None)),
                    (f"DELETE FROM {table}", (0, None)),
                ]:
                    connection.execute(statement)
                    found = rows(connection, f"SELECT count(*), sum(v + 0) FROM {table}")[0]
                    self.tally.equal(found[0], expected[0], statement)
                    if expected[1] is not None:
                        self.tally.equal(found[1], expected[1], statement)
                    self.whole(connection, statement)
                    self.no_files(statement)
            connection.execute("BEGIN")
            for statement in self.filling():
                connection.execute(statement)
            connection.execute("COMMIT")
            self.whole(connection, "emptied and filled in one")
            self.tally.equal(rows(connection, "SELECT count(*) FROM plain"), [(count,)], "emptied and filled in one")

    def taken_back(self):
        with self.server.connect() as connection:
            before = self.whole(connection, "before")
            state = state_of(connection.execute, f"INSERT INTO plain SELECT n, 1, 'x' FROM generate_series({self.count + 1}, {2 * self.count}) n UNION ALL SELECT 1, 1, 'twice'")
            self.tally.equal(state, "23505", "a key twice at the end")
            connection.execute("BEGIN")
            connection.execute("UPDATE plain SET v = 0")
            connection.execute("SAVEPOINT here")
            connection.execute("UPDATE notes SET v = 0")
            connection.execute("ROLLBACK")
            self.tally.equal(self.whole(connection, "taken back"), before, "nothing of it stays")
            self.no_files("taken back")

    def emptied(self):
        """TRUNCATE of what is people's: at once, taken back or not, with rows of others under the same keys."""
        with self.server.connect() as connection:
            before, one = self.whole(connection, "before"), rows(connection, "SELECT min(id) FROM people")[0][0]
            again = f"INSERT INTO notes SELECT n, {one}, NULL, 12, 'anew' FROM generate_series(1, 100) n"
            of_one = lambda: [row[3]["id"] for row in rows(connection, f"GDPR GET people {one}") if row[0] == "notes"]
            for end in ("ROLLBACK", "ROLLBACK TO here", "COMMIT"):
                connection.execute("BEGIN")
                connection.execute("SAVEPOINT here")
                began = time.monotonic()
                connection.execute("TRUNCATE notes")
                self.tally.that(time.monotonic() - began < 1, "no row is looked at", time.monotonic() - began)
                self.tally.equal(rows(connection, "SELECT count(*) FROM notes"), [(0,)], "emptied")
                connection.execute(again)
                connection.execute("UPDATE notes SET v = v + 1 WHERE id > 50")
                self.tally.equal(rows(connection, "SELECT count(*), sum(v) FROM notes"), [(100, 1250)], "filled again")
                connection.execute(end)
                if "TO" in end:
                    connection.execute("COMMIT")
                if end != "COMMIT":
                    self.tally.equal(self.whole(connection, end), before, f"TRUNCATE, {end}")
            self.whole(connection, "TRUNCATE")
            self.tally.equal(sorted(of_one()), list(range(1, 101)), "whose they are")
            other = rows(connection, "SELECT max(id) FROM people")[0][0]
            self.tally.equal([row[0] for row in rows(connection, f"GDPR GET people {other}")], ["people"], "whose they were")
            told = rows(connection, "SELECT tables::text, may_be_more FROM dogwood.audit WHERE operation = 'truncate' ORDER BY number DESC LIMIT 1")
            self.tally.equal(told, [("{notes}", True)], "the log says of whom they may have been")
            connection.execute("TRUNCATE notes")
            self.server.kill()
            self.server.start()
        with self.server.connect() as connection:
            self.tally.equal(rows(connection, "SELECT count(*) FROM notes"), [(0,)], "killed after TRUNCATE")
            self.tally.equal([row[0] for row in rows(connection, f"GDPR GET people {one}")], ["people"], "and nobody's")
            self.whole(connection, "killed after TRUNCATE")
        self.fill()

    def cancelled(self):
        with self.server.connect() as connection:
            before = self.whole(connection, "before")
            for _ in range(6):
                cancel = threading.Timer(0.02 + self.dice.random() * 0.8, connection.cancel)
                cancel.start()
                state = state_of(connection.execute, "UPDATE notes SET v = 9 - v")
                cancel.join()
                self.tally.that(state in ("", "57014"), "cancelled", state)
                if state == "":
                    state = state_of(connection.execute, "UPDATE notes SET v = 9 - v")
                    self.tally.equal(state, "", "and back")
                self.tally.equal(self.whole(connection, "cancelled"), before, "cancelled: all or nothing")
                self.no_files("cancelled")

    def subscribed(self):
        """All of a large commit is told at one time."""
        with self.server.connect(autocommit=False) as listener, self.server.connect() as connection:
            def take():
                told = rows(listener, "FETCH ALL told WITH (timeout = '1s')")
                return [row for row in told if row[1] is not None]

            listener.execute("DECLARE told CURSOR FOR SUBSCRIBE TO sums")
            self.tally.equal(len(take()), 10, "the beginning is told")
            connection.execute("UPDATE plain SET v = v + 10")
            told, until = [], time.monotonic() + 20
            while time.monotonic() < until and len(told) < 20:
                told += take()
            self.tally.equal((len(told), len({row[0] for row in told})), (20, 1), "one commit, one time")
            connection.execute("UPDATE plain SET v = v - 10")

    def beside(self):
        """Others write to the same tables and to others while they are rewritten."""
        stop = threading.Event()
        written = []

        def write(table):
            with self.server.connect() as connection:
                number = 5_000_000
                while not stop.is_set():
                    number += 1
                    values = {"small": f"{number}, 1", "plain": f"{number}, 1, 'beside'"}[table]
                    if state_of(connection.execute, f"INSERT INTO {table} VALUES ({values})") == "":
                        written.append((table, number))

        threads = [threading.Thread(target=write, args=(table,)) for table in ("small", "plain")]
        for thread in threads:
            thread.start()
        with self.server.connect() as connection:
            for _ in range(4):
                state = state_of(connection.execute, f"UPDATE plain SET v = (v + 1) % 10 WHERE id <= {self.count}")
                self.tally.equal(state, "", "UPDATE beside others")
            stop.set()
            for thread in threads:
                thread.join()
            for table in ("small", "plain"):
                expected = sorted(number for of, number in written if of == table)
                found = [row[0] for row in rows(connection, f"SELECT id FROM {table} WHERE id > 5000000 ORDER BY id")]
                self.tally.equal(found, expected, f"what others wrote to {table}")
            self.whole(connection, "beside others")
            connection.execute("DELETE FROM plain WHERE id > 5000000")

    def forgotten(self, number):
        """Somebody is forgotten while all rows are rewritten."""
        with self.server.connect() as connection, self.server.connect() as other:
            person = rows(connection, "SELECT min(id) FROM people")[0][0]
            rewritten = beside(other.execute, "UPDATE notes SET v = (v + 1) % 10")
            time.sleep(self.dice.random() * 0.8)
            connection.execute(f"GDPR FORGET people {person}")
            self.tally.equal(rows(connection, f"SELECT count(*) FROM notes WHERE person = {person} OR other = {person}"), [(0,)], "forgotten")
            state = rewritten(600)
            self.tally.that(state in ("", "40001", "DG002"), "a statement that a FORGET meets", state)
            self.whole(connection, f"forgotten beside ({state})")
            self.no_files("a FORGET beside")
        if number % 2:
            self.server.stop()
            self.tally.clean(self.server, "a FORGET beside")
            self.server.start()
        self.fill()

    def killed(self, table, step):
        """Killed when so many files are there, or go, or have gone."""
        with self.server.connect() as connection:
            before = self.whole(connection, "before a kill")
            expected = rows(connection, f"SELECT sum((v + 1) % 10) FROM {table}")[0][0]
        most = 0

        def is_time(there):
            nonlocal most
            most = max(most, len(there))
            return {"first": len(there) > 0, "some": len(there) > 2, "all": most > 4 and self.dice.random() < 0.2,
                    "going": len(there) < most, "gone": most > 0 and not there, "later": False}[step]

        update = f"UPDATE {table} SET v = (v + 1) % 10"
        is_acknowledged = self.kill_amid(lambda connection: connection.execute(update), is_time, f"{table}, {step}", 20)
        with self.server.connect() as connection:
            after = self.whole(connection, f"killed at {step}")
            position = 0 if table == "plain" else 1
            stands = after[position][0][2] == expected and after[position][0][:2] == before[position][0][:2]
            self.tally.that(stands or after == before, f"{table}: killed at {step}: all or nothing", (before, after))
            if is_acknowledged:
                self.tally.that(stands, f"{table}: what was acknowledged stands")
            self.no_files(f"killed at {step}")
            # Newer than what came in as files, also when the next start finds that done.
            connection.execute(f"UPDATE {table} SET v = 3 WHERE id <= 20")
        self.server.kill()
        self.server.start()
        with self.server.connect() as connection:
            found = rows(connection, f"SELECT count(*) FROM {table} WHERE v = 3 AND id <= 20")
            self.tally.equal(found, [(20,)], f"{table}: what came after a kill at {step} stands")
            self.whole(connection, f"killed again after {step}")


if __name__ == "__main__":
    run_check(Large(options(20261128, rows=20_000, rounds=3)))
