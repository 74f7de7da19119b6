"""COPY, INSERT … SELECT and CREATE TABLE AS of more rows than memory is to hold: their rows stand on the disk until COMMIT.

Within the transaction they are read, changed and referred to as any; nothing of it is left when it is taken back, cancelled, refused at its
last row, or the server is killed. Owners are derived, and who is forgotten meanwhile stays so. Steps are told from the files in `ingest`.

    loading.py [--seed S] [--rows N] [--rounds N]
"""
import threading
import time

import psycopg

from harness import beside, options, rows, run_check, state_of
from support.side_files import SideFilesCheck

PEOPLE = 40
WORD = "Quorxelion"
# Of so many bytes each, so that few rows are more than memory holds.
BODY = 1300


class Loading(SideFilesCheck):
    def run(self):
        self.count = self.options.rows
        self.set_up([
            "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
            "CREATE TABLE rooms (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id))",
            "CREATE TABLE notes (id INT PRIMARY KEY, room INT NOT NULL OWNED_BY rooms(id), v INT, body TEXT)",
            "CREATE TABLE plain (id INT PRIMARY KEY, v INT, body TEXT)",
            "CREATE TABLE keyless (id INT, v INT, body TEXT)",
            "CREATE TABLE ordered (id INT PRIMARY KEY, v INT, body TEXT)",
            "CREATE TABLE small (id INT PRIMARY KEY, plain INT REFERENCES plain(id))",
            "CREATE INDEX ON notes (v)",
            "CREATE INDEX ON plain (v)",
            "CREATE MATERIALIZED VIEW sums AS SELECT v, count(*) AS n, sum(id) AS ids FROM plain GROUP BY v",
            "CREATE MATERIALIZED VIEW noted AS SELECT room, count(*) AS n, sum(v) AS v FROM notes GROUP BY room",
            f"INSERT INTO people SELECT n, '{WORD} ' || n FROM generate_series(1, {PEOPLE}) n",
            f"INSERT INTO rooms SELECT n, 1 + n % {PEOPLE} FROM generate_series(1, {2 * PEOPLE}) n",
            *(f"INSERT INTO {table} SELECT n, n % 10, 'before' FROM generate_series(-500, -1) n" for table in ("plain", "ordered")),
            f"INSERT INTO notes SELECT n, 1 + (n + 500) % {2 * PEOPLE}, n % 10, 'before' FROM generate_series(-500, -1) n",
        ])
        for table in ("plain", "notes", "keyless", "ordered"):
            self.tally.case(self.amid, table)
        self.tally.case(self.scattered)
        self.tally.case(self.selected)
        self.tally.case(self.defined)
        self.tally.case(self.referred)
        for table in ("plain", "notes", "ordered"):
            self.tally.case(self.refused, table)
            self.tally.case(self.cancelled, table)
            self.tally.case(self.waited_for, table)
        for number in range(self.options.rounds):
            self.tally.case(self.forgotten, number)
        for table, steps in (("plain", ("spilled", "files")), ("notes", ("half", "files", "going", "gone")), ("ordered", ("files", "going", "gone"))):
            for step in steps:
                self.tally.case(self.killed, table, step)
        self.tally.equal(self.server.files_with(WORD), [], "nobody's word stands in clear")

    def values(self, table, number):
        """A row's columns behind its key."""
        body = f"{WORD} {number} ".ljust(BODY, "b")
        return (1 + number % (2 * PEOPLE), number % 10, body) if table == "notes" else (number % 10, body)

    def copy(self, connection, table, numbers, spoil=None):
        """Copies rows of these numbers; `spoil` is a line that comes last."""
        with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for start in range(0, len(numbers), 500):
                lines = ("\t".join(map(str, (number, *self.values(table, number)))) for number in numbers[start:start + 500])
                copy.write("\n".join(lines) + "\n")
            if spoil:
                copy.write(spoil + "\n")

    def told(self, connection, table):
        """What a table holds: read in several ways, which must agree."""
        whole = rows(connection, f"SELECT count(*), coalesce(sum(id), 0), coalesce(sum(v + 0), 0) FROM {table}")[0]
        if table != "keyless":
            self.index_agrees(connection, table, "as it stands")
            ordered = [row[0] for row in rows(connection, f"SELECT id FROM {table} WHERE id BETWEEN -20 AND 400 ORDER BY id DESC LIMIT 300")]
            scanned = sorted((row[0] for row in rows(connection, f"SELECT id FROM {table} WHERE id + 0 BETWEEN -20 AND 400")), reverse=True)
            self.tally.equal(ordered, scanned[:300], f"a range of {table}")
        return whole

    def views_agree(self, connection, name):
        for view, group, what, table in (("sums", "v", "count(*), sum(id)", "plain"), ("noted", "room", "count(*), sum(v)", "notes")):
            self.view_agrees(connection, view, f"SELECT {group} + 0, {what} FROM {table} GROUP BY {group} + 0", name)

    def amid(self, table):
        """A transaction reads and changes what it has just copied."""
        count = self.count
        with self.server.connect() as connection, self.server.connect() as other:
            before = self.told(connection, table)
            connection.execute("BEGIN")
            self.copy(connection, table, range(count))
            # What is nobody's and comes in order stands there as it will be stored.
            kind = ".sst" if table in ("keyless", "ordered") else "-spill"
            self.tally.that(any(name.endswith(kind) for name in self.server.side_files()), f"{table}: rows are on the disk", self.server.side_files())
            expected = (before[0] + count, before[1] + sum(range(count)), before[2] + sum(n % 10 for n in range(count)))
            self.tally.equal(self.told(connection, table), expected, f"{table}: as copied")
            found = rows(connection, f"SELECT id, v, left(body, 20) FROM {table} WHERE id = 77")
            self.tally.equal(found, [(77, 7, f"{WORD} 77 ".ljust(BODY, "b")[:20])], f"{table}: a row")
            self.tally.equal(self.told(other, table), before, f"{table}: others see nothing of it")
            connection.execute(f"UPDATE {table} SET v = 11 WHERE id BETWEEN 0 AND 99")
            connection.execute(f"DELETE FROM {table} WHERE id BETWEEN 50 AND 149")
            self.tally.equal(rows(connection, f"SELECT count(*) FROM {table} WHERE v = 11"), [(50,)], f"{table}: changed")
            self.told(connection, table)
            connection.execute("SAVEPOINT here")
            changed = self.told(connection, table)
            connection.execute(f"INSERT INTO {table} SELECT * FROM {table} WHERE false")
            self.copy(connection, table, range(60, 70))
            self.copy(connection, table, range(count, 2 * count))
            self.tally.equal(self.told(connection, table)[0], changed[0] + count + 10, f"{table}: twice")
            connection.execute("ROLLBACK TO here")
            self.tally.equal(self.told(connection, table), changed, f"{table}: taken back")
            connection.execute("COMMIT")
            self.tally.equal(self.told(other, table), changed, f"{table}: committed")
            self.views_agree(other, f"{table} committed")
            self.no_files(table)
            if table == "notes":
                owner = rows(other, "SELECT person FROM rooms WHERE id = 3")[0][0]
                got = {row[3]["id"] for row in rows(other, f"GDPR GET people {owner}") if row[0] == "notes"}
                theirs = {row[0] for row in rows(other, f"SELECT n.id FROM notes n JOIN rooms r ON n.room = r.id WHERE r.person = {owner}")}
                self.tally.equal(got, theirs, "whose notes they are")
            other.execute(f"DELETE FROM {table} WHERE id >= 0")
            self.views_agree(other, f"{table} deleted")

    def scattered(self):
        """Rows in some order, then in none, and those between them."""
        count = self.count
        numbers = [*range(0, count, 3), *range(1, count, 3), *(n for n in range(count - 1, -1, -1) if n % 3 == 2)]
        with self.server.connect() as connection:
            before = self.told(connection, "ordered")
            for numbers in (numbers, [*range(count), *range(2 * count - 1, count - 1, -1)]):
                expected = (before[0] + len(numbers), before[1] + sum(numbers), before[2] + sum(n % 10 for n in numbers))
                self.copy(connection, "ordered", numbers)
                self.tally.equal(self.told(connection, "ordered"), expected, "scattered")
                connection.execute("BEGIN")
                self.copy(connection, "ordered", range(3 * count, 4 * count))
                connection.execute(f"DELETE FROM ordered WHERE id % 100 = 7")
                connection.execute(f"UPDATE ordered SET v = v + 1 WHERE id % 100 = 8")
                changed = self.told(connection, "ordered")
                connection.execute("COMMIT")
                self.tally.equal(self.told(connection, "ordered"), changed, "changed amid")
                connection.execute("TRUNCATE ordered")
                connection.execute("INSERT INTO ordered SELECT n, n % 10, 'before' FROM generate_series(-500, -1) n")
                self.tally.equal(self.told(connection, "ordered"), before, "emptied")
            self.no_files("scattered")

    def selected(self):
        """INSERT … SELECT and CREATE TABLE AS."""
        with self.server.connect() as connection:
            connection.execute(f"INSERT INTO plain SELECT n, n % 10, repeat('x', {BODY}) FROM generate_series(0, {self.count}) n")
            self.views_agree(connection, "INSERT … SELECT")
            connection.execute("INSERT INTO keyless SELECT id, v, body FROM plain WHERE id >= 0")
            self.tally.equal(self.told(connection, "keyless")[0], self.count + 1, "INSERT … SELECT of another table")
            connection.execute("INSERT INTO keyless SELECT * FROM keyless")
            self.tally.equal(self.told(connection, "keyless")[0], 2 * self.count + 2, "INSERT … SELECT of itself")
            connection.execute("CREATE TABLE made AS SELECT * FROM plain WHERE id >= 0")
            self.tally.equal(rows(connection, "SELECT count(*), sum(id) FROM made"), rows(connection, "SELECT count(*), sum(id) FROM plain WHERE id >= 0"), "CREATE TABLE AS")
            state = state_of(connection.execute, f"INSERT INTO plain SELECT n, 1, repeat('x', {BODY}) FROM generate_series({2 * self.count}, {self.count}, -1) n")
            self.tally.equal(state, "23505", "a key twice at the end")
            connection.execute("DROP TABLE made")
            connection.execute("TRUNCATE keyless")
            connection.execute("DELETE FROM plain WHERE id >= 0")
            self.no_files("INSERT … SELECT")

    def defined(self):
        """Definitions over rows that their transaction has just copied."""
        with self.server.connect(autocommit=False) as connection:
            connection.execute("CREATE TABLE fresh (id INT, v INT, body TEXT)")
            self.copy(connection, "fresh", range(self.count))
            connection.execute("SAVEPOINT here")
            connection.execute("CREATE INDEX ON fresh (v)")
            connection.execute("ROLLBACK TO here")
            connection.execute("ALTER TABLE fresh ADD PRIMARY KEY (id)")
            connection.execute("CREATE INDEX ON fresh (v)")
            connection.execute("ALTER TABLE fresh ADD COLUMN w INT DEFAULT 4")
            self.tally.equal(rows(connection, "SELECT count(*), sum(w) FROM fresh WHERE v = 3"), [(self.count // 10, 4 * (self.count // 10))], "defined amid")
            connection.commit()
            self.tally.equal(rows(connection, "SELECT count(*), sum(w) FROM fresh WHERE v = 3"), [(self.count // 10, 4 * (self.count // 10))], "defined")
            connection.execute("TRUNCATE fresh")
            connection.execute("ALTER TABLE fresh DROP COLUMN w")
            self.copy(connection, "fresh", range(5, self.count))
            self.tally.equal(self.told(connection, "fresh")[0], self.count - 5, "emptied and copied")
            connection.commit()
            self.tally.equal(self.told(connection, "fresh")[0], self.count - 5, "emptied and copied")
            self.copy(connection, "fresh", range(self.count, 2 * self.count))
            connection.execute("DROP TABLE fresh")
            connection.commit()
        self.no_files("definitions")

    def referred(self):
        """Rows that refer to rows on the disk, and owners by way of them."""
        with self.server.connect(autocommit=False) as connection:
            self.copy(connection, "plain", range(self.count))
            connection.execute("INSERT INTO small SELECT n, n FROM generate_series(0, 99) n")
            connection.execute("SAVEPOINT here")
            self.tally.equal(state_of(connection.execute, f"INSERT INTO small VALUES (1000, {self.count})"), "23503", "no such row")
            connection.execute("ROLLBACK TO here")
            self.tally.equal(state_of(connection.execute, "DELETE FROM plain WHERE id = 7"), "23503", "it is referred to")
            connection.execute("ROLLBACK TO here")
            connection.execute("DELETE FROM small")
            connection.execute("DELETE FROM plain WHERE id = 7")
            connection.rollback()
            connection.execute("CREATE TABLE books (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT)")
            connection.execute("CREATE TABLE pages (id INT PRIMARY KEY, book INT NOT NULL OWNED_BY books(id), body TEXT)")
            connection.commit()
            for table, of in (("books", f"1 + n % {PEOPLE}"), ("pages", "n")):
                connection.execute(f"INSERT INTO {table} SELECT n, {of}, repeat('{WORD}', {BODY // 10}) FROM generate_series(0, {self.count}) n")
            connection.commit()
            found = rows(connection, f"SELECT b.person, count(*) FROM pages p JOIN books b ON p.book = b.id GROUP BY b.person")
            self.tally.equal(len(found), PEOPLE, "everybody has pages")
            person, count = found[0]
            got = [row[0] for row in rows(connection, f"GDPR GET people {person}")]
            self.tally.equal((got.count("books"), got.count("pages")), (count, count), "whose books and pages they are")
            connection.execute("INSERT INTO pages VALUES (-1, 0, 'last')")
            self.copy_orphans(connection)
            connection.rollback()
            connection.execute("DROP TABLE pages")
            connection.execute("DROP TABLE books")
            connection.commit()
        self.no_files("references")

    def copy_orphans(self, connection):
        state = state_of(connection.execute, f"INSERT INTO pages SELECT n, n - {self.count + 1}, repeat('x', {BODY}) FROM generate_series({self.count + 1}, {2 * self.count + 2}) n")
        self.tally.equal(state, "23503", "the last refers to nothing")

    def refused(self, table):
        """The last row of many is wrong."""
        with self.server.connect() as connection:
            before = self.told(connection, table)
            rest = "\t1\t1\tx" if table == "notes" else "\t1\tx"
            for last, state, said in ((f"7{rest}", "23505", "Key (id)=(7) already exists."), (f"-1{rest}", "23505", "Key (id)=(-1) already exists."),
                                      (f"seven{rest}", "22P02", None), ("8000000", "22P04", None)):
                error = None
                try:
                    self.copy(connection, table, range(self.count), last)
                except psycopg.Error as caught:
                    error = caught
                self.tally.equal(error and error.sqlstate, state, f"{table}: {last}")
                if said and error:
                    self.tally.equal(error.diag.message_detail, said, f"{table}: {last}")
                    self.tally.that(f"COPY {table}, line" in (error.diag.context or "COPY " + table + ", line"), f"{table}: where", error.diag.context)
                self.tally.equal(self.told(connection, table), before, f"{table}: {last}")
                self.no_files(f"{table}: {last}")
            if table == "notes":
                state = state_of(self.copy, connection, table, range(self.count), "8000000\t9999\t1\tx")
                self.tally.equal(state, "23503", "the last has no room")
                self.tally.equal(self.told(connection, table), before, "the last has no room")
            self.views_agree(connection, f"{table} refused")

    def cancelled(self, table):
        with self.server.connect() as connection:
            before = self.told(connection, table)
            for _ in range(2 + self.options.rounds):
                cancel = threading.Timer(0.1 + self.dice.random() * 2.5, connection.cancel)
                cancel.start()
                state = state_of(self.copy, connection, table, range(self.count))
                cancel.join()
                self.tally.that(state in ("", "57014"), f"{table}: cancelled", state)
                if state == "":
                    connection.execute(f"DELETE FROM {table} WHERE id >= 0")
                self.tally.equal(self.told(connection, table), before, f"{table}: cancelled: all or nothing ({state})")
                self.no_files(f"{table}: cancelled")
            self.views_agree(connection, f"{table} cancelled")

    def waited_for(self, table):
        """Whoever wants a key of a row on the disk waits for its transaction."""
        values = "7, 1, 1, 'other'" if table == "notes" else "7, 1, 'other'"
        for ends, expected in (("COMMIT", "23505"), ("ROLLBACK", "")):
            with self.server.connect() as connection, self.server.connect() as other, self.server.connect() as third:
                connection.execute("BEGIN")
                self.copy(connection, table, range(self.count))
                other.execute("SET lock_timeout = '200ms'")
                self.tally.equal(state_of(other.execute, f"INSERT INTO {table} VALUES ({values})"), "55P03", f"{table}: it is waited for")
                waits = beside(third.execute, f"INSERT INTO {table} VALUES ({values})")
                time.sleep(0.3)
                self.tally.equal(state_of(other.execute, f"INSERT INTO {table} VALUES ({values.replace('7', '-9999', 1)})"), "", f"{table}: another key is free")
                connection.execute(ends)
                self.tally.equal(waits(600), expected, f"{table}: after {ends}")
                other.execute(f"DELETE FROM {table} WHERE id >= 0 OR id = -9999")

    def forgotten(self, number):
        """Somebody is forgotten while rows of theirs are copied."""
        with self.server.connect() as connection, self.server.connect() as other:
            person = rows(connection, "SELECT min(id) FROM people")[0][0]
            connection.execute(f"INSERT INTO rooms SELECT n, {person} FROM generate_series(1, {2 * PEOPLE}) n ON CONFLICT (id) DO UPDATE SET person = excluded.person")
            connection.execute(f"UPDATE rooms SET person = (SELECT max(id) FROM people) WHERE id > {PEOPLE}")
            copied = beside(self.copy, other, "notes", range(self.count))
            time.sleep(self.dice.random() * 2.5)
            state = state_of(connection.execute, f"GDPR FORGET people {person}")
            self.tally.equal(state, "", "FORGET beside COPY")
            self.tally.equal(rows(connection, f"SELECT count(*) FROM notes WHERE room <= {PEOPLE}"), [(0,)], "forgotten")
            ended = copied(600)
            self.tally.that(ended in ("", "40001", "DG002", "23503"), "a COPY that a FORGET meets", ended)
            self.tally.equal(rows(connection, f"SELECT count(*) FROM notes WHERE room <= {PEOPLE}"), [(0,)], f"forgotten ({ended})")
            self.told(connection, "notes")
            self.views_agree(connection, f"forgotten beside ({ended})")
            connection.execute("DELETE FROM notes WHERE id >= 0")
            self.no_files("a FORGET beside")
            connection.execute(f"INSERT INTO rooms SELECT n, (SELECT min(id) FROM people) FROM generate_series(1, {PEOPLE}) n")
        if number % 2:
            self.server.stop()
            self.tally.clean(self.server, "a FORGET beside")
            self.server.start()

    def killed(self, table, step):
        with self.server.connect() as connection:
            before = self.told(connection, table)
        seen = set()

        def is_time(there):
            spilled, files = any(name.endswith("-spill") for name in there), sum(name.endswith(".sst") for name in there)
            seen.update({"files"} if files else set())
            return {"spilled": spilled, "half": spilled and self.dice.random() < 0.02, "files": files > 0,
                    "going": files > 3, "gone": "files" in seen and not files}[step]

        self.kill_amid(lambda connection: self.copy(connection, table, range(self.count)), is_time, f"{table}, {step}")
        with self.server.connect() as connection:
            after = self.told(connection, table)
            self.tally.that(after == before or after[0] == before[0] + self.count, f"{table}: killed at {step}: all or nothing", (before, after))
            self.views_agree(connection, f"{table} killed at {step}")
            self.no_files(f"{table}: killed at {step}")
            connection.execute(f"DELETE FROM {table} WHERE id >= 0")
            self.tally.equal(self.told(connection, table), before, f"{table}: deleted after {step}")


if __name__ == "__main__":
    run_check(Loading(options(20261128, rows=34_000, rounds=1)))
