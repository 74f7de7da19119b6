"""Statements that change more rows than memory is to hold: what they found, and what they leave, stands on the disk until COMMIT.

Each is made here and in PostgreSQL, and must leave the same: amid its transaction, taken back, committed. Nothing of it is left when its
last row is refused, it is cancelled, or the server is killed at each step. Rows that others have changed are looked at again, and who is
forgotten meanwhile stays so. How much memory it takes is asserted.

    changing.py [--seed S] [--rows N] [--rounds N]
"""
import threading
import time

import psycopg

from harness import beside, options, rows, run_check, state_of
from harness.compared import left_out, postgres_if_there
from support.side_files import SideFilesCheck

PEOPLE = 40
WORD = "Quorxelion"
# Of so many bytes each, so that few rows are more than memory holds.
BODY = 8000
# Owned and unowned tables alike. What a unique key says counts at the end of a statement.
COLUMNS = """id INT PRIMARY KEY, v INT NOT NULL, u INT NOT NULL UNIQUE DEFERRABLE, w INT CHECK (w < 100000000),
             g INT GENERATED ALWAYS AS (w * 2) STORED, body TEXT"""
# Of each what it is to be done with; `{table}` is plain or notes, and `{hung}` what hangs on it.
STATEMENTS = {
    "update": "UPDATE {table} SET w = w + 1",
    "index": "UPDATE {table} SET v = (v + 1) % 11, body = body || 'x' WHERE id % 5 > 0",
    "unique": "UPDATE {table} SET u = u + 1",
    "swapped": "UPDATE {table} SET u = -u",
    "joined": "UPDATE {table} SET w = h.n FROM {hung} h WHERE h.of = {table}.id",
    "view": "UPDATE {table}_seen SET w = w - 1",
    "key": "UPDATE {table} SET id = id + 500000",
    "delete": "DELETE FROM {table} WHERE id % 8 > 0",
    "all": "DELETE FROM {table}",
    "twice": "DELETE FROM {table} USING {hung} h WHERE h.of = {table}.id AND h.n > 0",
    "conflict": "INSERT INTO {table} (id, v, u, w, body{owner}) SELECT id, v, u, w, body{owner} FROM {table} ON CONFLICT (id) DO UPDATE SET w = EXCLUDED.w + 7",
    "merge": """MERGE INTO {table} t USING (SELECT id + CASE WHEN id % 3 = 0 THEN 700000 ELSE 0 END AS key, v, w, body{owner} FROM {table}) s ON t.id = s.key
                WHEN MATCHED AND s.key % 5 = 0 THEN DELETE
                WHEN MATCHED AND s.key % 7 > 0 THEN UPDATE SET w = t.w + s.w + 1, v = (t.v + 3) % 11, u = -t.u
                WHEN NOT MATCHED THEN INSERT (id, v, u, w, body{owner}) VALUES (s.key, s.v, -s.key, s.w, s.body{source})""",
    "merged": "MERGE INTO {table} t USING {hung} h ON t.id = h.of AND h.id < h.of WHEN MATCHED THEN UPDATE SET w = t.w + h.n",
    "replaced": """MERGE INTO {table} t USING (SELECT id, v, u, w, body{owner}, k FROM {table}, generate_series(0, 1) k) s ON t.id = s.id AND s.k = 0
                   WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, v, u, w, body{owner}) VALUES (s.id + 900000, s.v, s.u, s.w + 1, s.body{source})""",
}


class Changing(SideFilesCheck):
    def run(self):
        self.count = self.options.rows
        with postgres_if_there() as self.postgres:
            if not self.postgres:
                left_out("what PostgreSQL leaves of the same statements")
            self.made_alike()
            for table in ("notes", "plain"):
                for name in STATEMENTS:
                    self.tally.case(self.changed, table, name)
            self.tally.case(self.several)
            self.tally.case(self.refused)
        for table in ("plain", "notes"):
            self.tally.case(self.waited, table)
            self.tally.case(self.locked, table)
        self.tally.case(self.owners)
        self.tally.case(self.moved)
        for table in ("plain", "notes"):
            for _ in range(self.options.rounds):
                self.tally.case(self.cancelled, table)
        for number in range(self.options.rounds):
            self.tally.case(self.forgotten, number)
        for table, name, step in (("plain", "update", "spilled"), ("plain", "merge", "spilled"), ("notes", "replaced", "files"), ("plain", "all", "files"), ("notes", "update", "half"), ("notes", "all", "gone")):
            self.tally.case(self.killed, table, name, step)
        self.tally.case(self.bounded)
        self.server.stop()
        self.tally.clean(self.server, "at the end")
        self.server.start()
        self.tally.equal(self.server.files_with(WORD), [], "nobody's word stands in clear")

    def both(self, statement, own=None):
        """Makes a statement here, and as PostgreSQL would have it there."""
        for connection in self.connections:
            connection.execute(own or statement if connection is self.connections[0] else statement)

    def connect(self):
        postgres = [psycopg.connect(self.postgres.dsn, autocommit=True)] if self.postgres else []
        self.connections = [self.server.connect(), *postgres]

    def made_alike(self):
        self.connect()
        self.both("SELECT 1", own="ALTER DATABASE dogwood SET statement_timeout = 0")
        self.both("CREATE TABLE people (id INT PRIMARY KEY, name TEXT)", own="CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)")
        self.both(f"CREATE TABLE plain ({COLUMNS})")
        self.both(f"CREATE TABLE notes ({COLUMNS}, person INT NOT NULL REFERENCES people(id), other INT REFERENCES people(id))",
                  own=f"CREATE TABLE notes ({COLUMNS}, person INT NOT NULL OWNED_BY people(id), other INT OWNED_BY people(id))")
        self.both("CREATE TABLE hung_plain (id INT PRIMARY KEY, of INT REFERENCES plain(id) ON UPDATE CASCADE ON DELETE CASCADE, n INT)")
        self.both("CREATE TABLE hung_notes (id INT PRIMARY KEY, of INT NOT NULL REFERENCES notes(id) ON UPDATE CASCADE ON DELETE CASCADE, n INT)",
                  own="CREATE TABLE hung_notes (id INT PRIMARY KEY, of INT NOT NULL OWNED_BY notes(id) ON UPDATE CASCADE ON DELETE CASCADE, n INT)")
        self.both("CREATE TABLE loose (id INT PRIMARY KEY, of INT REFERENCES plain(id) ON UPDATE CASCADE ON DELETE SET NULL)")
        for table in ("plain", "notes"):
            self.both(f"CREATE INDEX ON {table} (v)")
            self.both(f"CREATE INDEX ON hung_{table} (of)")
            self.both(f"CREATE VIEW {table}_seen AS SELECT * FROM {table} WHERE w < 50000000 WITH CHECK OPTION")
        self.fill()
        with self.server.connect() as connection:
            connection.execute("CREATE MATERIALIZED VIEW sums AS SELECT v, count(*) AS n, sum(w) AS w FROM plain GROUP BY v")
            connection.execute("CREATE MATERIALIZED VIEW noted AS SELECT person, count(*) AS n, sum(w) AS w FROM notes GROUP BY person")

    def fill(self):
        # Who was forgotten is another person then.
        self.both(f"INSERT INTO people SELECT -n, '{WORD} ' || n FROM generate_series(1, {PEOPLE}) n ON CONFLICT (id) DO NOTHING")
        for table, owner, owners in (("plain", "", ""), ("notes", ", person, other", f", -1 - n % {PEOPLE}, CASE WHEN n % 3 = 0 THEN -1 - n % 7 END")):
            self.both(f"DELETE FROM {table}")
            self.both(f"INSERT INTO {table} (id, v, u, w, body{owner}) SELECT n, n % 10, n * 10, n % 97, rpad('{WORD} ' || n, {BODY}, 'b'){owners} FROM generate_series(1, {self.count}) n")
            self.both(f"INSERT INTO hung_{table} SELECT n, 1 + n % {self.count}, n % 5 FROM generate_series(1, {2 * self.count}) n")
        self.both("DELETE FROM loose")
        self.both(f"INSERT INTO loose SELECT n, n FROM generate_series(1, {self.count // 2}) n")

    def told(self, connection):
        """What all tables hold: read in several ways, which must agree."""
        told = []
        for table in ("plain", "notes"):
            columns = "count(*), sum(id), sum(v + 0), sum(u), sum(w), sum(g), sum(length(body))"
            whole = rows(connection, f"SELECT {columns} FROM {table}")[0]
            grouped = rows(connection, f"SELECT v + 0, {columns} FROM {table} GROUP BY v + 0 ORDER BY 1")
            by_index = [(v, *rows(connection, f"SELECT {columns} FROM {table} WHERE v = {v}")[0]) for v in range(12)]
            self.tally.equal([row for row in by_index if row[1]], grouped, f"the index of {table}")
            some = rows(connection, f"SELECT id, v, u, w, g, left(body, 14) FROM {table} ORDER BY id LIMIT 5")
            for row in some:
                self.tally.equal(rows(connection, f"SELECT id, v, u, w, g, left(body, 14) FROM {table} WHERE id = {row[0]}"), [row], f"a row of {table} by its key")
                self.tally.equal(rows(connection, f"SELECT id FROM {table} WHERE u = {row[2]}"), [(row[0],)], f"a row of {table} by its value")
            hung = rows(connection, f"SELECT count(*), sum(of), sum(n), count(of) FROM hung_{table}")[0]
            told.append((whole, tuple(grouped), tuple(some), hung))
        return (*told, rows(connection, "SELECT count(*), count(of), sum(of) FROM loose")[0])

    def tell(self, name):
        """The same of both."""
        here, *there = [self.told(connection) for connection in self.connections]
        if there:
            self.tally.equal(here, there[0], f"{name}: as PostgreSQL")
        return here

    def views_agree(self, name):
        with self.server.connect() as connection:
            self.view_agrees(connection, "sums", "SELECT v + 0, count(*), sum(w) FROM plain GROUP BY v + 0", name)
            self.view_agrees(connection, "noted", "SELECT person + 0, count(*), sum(w) FROM notes GROUP BY person + 0", name)

    def owned(self, connection, person):
        """Whose notes are whose: as GET tells it and as their columns do."""
        got = [(row[0], row[3]["id"]) for row in rows(connection, f"GDPR GET people {person}")]
        theirs = rows(connection, f"SELECT id FROM notes WHERE person = {person} OR other = {person} ORDER BY id")
        self.tally.equal(sorted(number for table, number in got if table == "notes"), [row[0] for row in theirs], f"what {person} owns")
        hung = rows(connection, f"SELECT count(*) FROM hung_notes h, notes n WHERE h.of = n.id AND (n.person = {person} OR n.other = {person})")
        self.tally.equal(sum(table == "hung_notes" for table, _ in got), hung[0][0], f"what hangs on what {person} owns")

    def text(self, table, name):
        owner = ", person, other" if table == "notes" else ""
        # Where somebody was forgotten, a row is the other's.
        source = ", coalesce(s.person, s.other), s.other" if owner else ""
        return STATEMENTS[name].format(table=table, hung=f"hung_{table}", owner=owner, source=source)

    def changed(self, table, kind):
        """One statement: in a transaction that reads, writes and takes back, and committed."""
        name, text = f"{table}, {kind}", self.text(table, kind)
        before = self.tell(f"{name}: before")
        self.both("BEGIN")
        self.both("SAVEPOINT here")
        tags = [connection.execute(text).statusmessage for connection in self.connections]
        self.tally.equal(len(set(tags)), 1, f"{name}: {tags}")
        on_disk = any(file.endswith("-spill") for file in self.server.side_files())
        # A new primary key may be another row's by now: those are changed all at once, in memory.
        self.tally.that(on_disk or kind == "key", f"{name}: rows are on the disk", self.server.side_files())
        after = self.tell(f"{name}: amid")
        self.both(f"UPDATE {table} SET v = 11, w = w + 5 WHERE id % 100 = 7")
        self.both(f"DELETE FROM {table} WHERE id % 100 = 9")
        if kind in ("update", "delete"):
            self.tell(f"{name}: changed again")
        self.both("ROLLBACK TO here")
        self.tally.equal(self.tell(f"{name}: taken back"), before, f"{name}: taken back")
        self.both(text)
        self.both("COMMIT")
        self.tally.equal(self.tell(f"{name}: committed"), after, f"{name}: committed")
        self.views_agree(name)
        self.owned(self.connections[0], -3)
        if kind in ("delete", "all", "twice", "key", "merge", "replaced"):
            self.fill()
        self.no_files(name)

    def several(self):
        """Several statements over the same rows in one transaction, some of it taken back, and RETURNING."""
        self.both("BEGIN")
        for number, (table, kind) in enumerate((("notes", "update"), ("notes", "index"), ("plain", "unique"), ("notes", "swapped"), ("plain", "delete"))):
            self.both(f"SAVEPOINT s{number}")
            self.both(self.text(table, kind))
            self.tell(f"several: {number}")
        self.both("ROLLBACK TO s3")
        self.tell("several: back to the fourth")
        self.both("UPDATE notes SET w = w * 2 WHERE v < 5")
        self.both("DELETE FROM notes WHERE v = 3")
        self.both("INSERT INTO notes (id, v, u, w, body, person) SELECT -n, 3, -n * 10, n, 'x', -1 FROM generate_series(1, 200) n")
        # Keys that are free again, a few of them and many.
        self.both("DELETE FROM plain")
        self.both("INSERT INTO plain (id, v, u, w, body) SELECT n, 3, n, 1, 'again' FROM generate_series(1, 90) n")
        self.tell("several: a few again")
        self.both(f"INSERT INTO plain (id, v, u, w, body) SELECT n, n % 9, n, n % 5, repeat('x', {BODY}) FROM generate_series(91, {self.count}) n")
        self.both("INSERT INTO notes (id, v, u, w, body, person) SELECT id + 1000000, v, u + 1000000, w, body, person FROM notes WHERE id > 0")
        self.tell("several: many again")
        for text in ("UPDATE plain SET w = w + 1 RETURNING id, w, g, body", "DELETE FROM notes WHERE id % 9 > 0 RETURNING *",
                     f"INSERT INTO plain (id, v, u, w, body) SELECT -n, 3, -n, 1, repeat('y', {BODY}) FROM generate_series(1, {self.count}) n RETURNING u, body, g"):
            returned = [rows(connection, text) for connection in self.connections]
            self.tally.equal(sorted(returned[0], key=str), sorted(returned[-1], key=str), text)
            self.tally.that(len(returned[0]) > 1000, f"{text}: rows", len(returned[0]))
        self.tell("several: amid")
        self.both("COMMIT")
        self.tell("several: committed")
        self.views_agree("several")
        for person in (-1, -2, -9):
            self.owned(self.connections[0], person)
        self.fill()
        self.no_files("several")

    def refused(self):
        """What is wrong with the last of many rows."""
        last = self.count
        self.both("CREATE TABLE keeps (of INT REFERENCES plain(id))")
        self.both(f"INSERT INTO keeps VALUES ({last})")
        before = self.tell("before what is refused")
        for text in (
            f"UPDATE plain SET w = CASE id WHEN {last} THEN 100000000 ELSE w END",
            f"UPDATE plain SET u = CASE id WHEN {last} THEN 11 ELSE u + 1 END",
            f"UPDATE notes SET w = 1 / (id - {last})",
            f"UPDATE notes SET other = CASE id WHEN {last} THEN 99 ELSE other END, w = 1",
            f"UPDATE plain_seen SET w = CASE id WHEN {last} THEN 50000000 ELSE w END",
            "DELETE FROM plain",
            f"UPDATE plain SET w = CASE id WHEN {last} THEN 100000000 ELSE w END RETURNING body",
            f"MERGE INTO plain t USING (SELECT id FROM plain UNION ALL SELECT {last}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET w = 1",
            f"MERGE INTO plain t USING plain s ON t.id = s.id WHEN MATCHED THEN UPDATE SET u = CASE s.id WHEN {last} THEN 11 ELSE t.u + 1 END",
            f"MERGE INTO plain t USING plain s ON t.id = s.id AND s.id < {last} WHEN NOT MATCHED THEN INSERT (id, v, u, w) VALUES (1, 1, -1, 1) WHEN MATCHED THEN UPDATE SET w = 3",
        ):
            states = [state_of(connection.execute, text) for connection in self.connections]
            self.tally.that(states[0] and len(set(states)) == 1, text, states)
            self.tally.equal(self.tell(text), before, text)
            self.no_files(text)
        self.both("DROP TABLE keeps")

    def waited(self, table):
        """Rows that others change first are looked at again, and in one snapshot refused."""
        with self.server.connect() as connection, self.server.connect() as other:
            for level, expected in (("READ COMMITTED", ""), ("REPEATABLE READ", "40001")):
                before = rows(other, f"SELECT sum(w) FROM {table} WHERE v < 20")[0][0]
                connection.execute("BEGIN")
                connection.execute(f"UPDATE {table} SET v = 99, w = 0 WHERE id = 5")
                other.execute(f"BEGIN ISOLATION LEVEL {level}")
                rows(other, "SELECT 1")
                rows(other, f"SELECT count(*) FROM {table} WHERE id = 5")
                outcome = beside(other.execute, f"UPDATE {table} SET w = w + 1 WHERE v < 20")
                time.sleep(1)
                connection.execute("COMMIT")
                self.tally.equal(outcome(120), expected, f"{table}, {level}: a row that somebody had")
                other.execute("COMMIT" if expected == "" else "ROLLBACK")
                if expected == "":
                    self.tally.equal(rows(other, f"SELECT v, w FROM {table} WHERE id = 5"), [(99, 0)], f"{table}: it does not match any more")
                    self.tally.that(rows(other, f"SELECT sum(w) FROM {table} WHERE v < 20")[0][0] >= before, f"{table}: all others")
                connection.execute(f"UPDATE {table} SET v = 5 WHERE id = 5")
            self.no_files("waited")

    def locked(self, table):
        """Rows that were changed are locked, as strongly as PostgreSQL does it, though there are many."""
        with self.server.connect() as connection, self.server.connect() as other:
            other.execute("SET lock_timeout = '300ms'")
            for text, mode in ((f"UPDATE {table} SET w = w + 1", "KEY SHARE"), (f"DELETE FROM {table}", None)):
                connection.execute("BEGIN")
                connection.execute(text)
                for asked in ("KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"):
                    state = state_of(other.execute, f"SELECT 1 FROM {table} WHERE id = 77 FOR {asked}")
                    self.tally.equal(state, "" if asked == mode else "55P03", f"{text}: FOR {asked}")
                # The same rows once more, and more strongly.
                self.tally.equal(state_of(connection.execute, f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE id < 99 FOR UPDATE) s"), "", f"{text}: its own")
                self.tally.equal(state_of(other.execute, f"SELECT 1 FROM {table} WHERE id = 98 FOR KEY SHARE"), "55P03", f"{text}: more strongly")
                connection.execute("ROLLBACK")
                self.tally.equal(state_of(other.execute, f"SELECT 1 FROM {table} WHERE id = 77 FOR UPDATE"), "", f"{text}: free again")

    def owners(self):
        """Rows that hang on others pass to other people together with them, while they are changed themselves."""
        with self.server.connect() as connection:
            connection.execute("BEGIN")
            connection.execute("UPDATE hung_notes SET n = n + 1")
            connection.execute("UPDATE notes SET w = w + 1")
            connection.execute("UPDATE notes SET person = -2 WHERE person = -1")
            connection.execute("DELETE FROM hung_notes WHERE n = 2")
            connection.execute("COMMIT")
            for person in (-1, -2, -3):
                self.owned(connection, person)
            connection.execute(f"UPDATE notes SET person = -1 WHERE id % {PEOPLE} = 0")
        self.server.stop()
        self.tally.clean(self.server, "owners")
        self.server.start()
        self.no_files("owners")

    def moved(self):
        """Rows by way of which nobody is owned pass to other people in bulk, beside whom a person goes: whose they are, and what the receipt counts."""
        count = 4_000
        with self.server.connect() as connection:
            connection.execute("INSERT INTO people SELECT -n, 'moved' FROM generate_series(1001, 1005) n")
            connection.execute("CREATE TABLE letters (id INT PRIMARY KEY, person INT OWNED_BY people(id), other INT OWNED_BY people(id), body TEXT)")
            connection.execute(f"INSERT INTO letters SELECT n, -1001 - n % 3, CASE WHEN n % 2 = 0 THEN -1004 END, rpad('{WORD} ' || n, {BODY}, 'b') FROM generate_series(1, {count}) n")
            held = "SELECT p, count(*) FROM (SELECT person FROM letters UNION ALL SELECT other FROM letters WHERE other <> person) t(p) WHERE p IS NOT NULL GROUP BY p ORDER BY p DESC"
            refused = state_of(connection.execute, "UPDATE letters SET person = NULL")
            self.tally.equal(refused, "DG001", "no row is left without an owner, however many they are")
            connection.execute("BEGIN")
            connection.execute("UPDATE letters SET person = -1001 - id % 5, body = body || 'x'")
            connection.execute("UPDATE letters SET other = person WHERE id % 7 = 0")
            connection.execute("ROLLBACK")
            self.tally.equal(rows(connection, held), [(-1001, 1333), (-1002, 1334), (-1003, 1333), (-1004, 2000)], "taken back")
            connection.execute("BEGIN")
            connection.execute("UPDATE letters SET person = CASE WHEN person = -1001 THEN -1002 ELSE -1005 END, body = body || 'x'")
            connection.execute("DELETE FROM people WHERE id = -1001")
            connection.execute("COMMIT")
            self.tally.equal(rows(connection, held), [(-1002, 1333), (-1004, 2000), (-1005, 2667)], "they have others")
            for person in (-1002, -1003, -1004, -1005):
                got = [row[3]["id"] for row in rows(connection, f"GDPR GET people {person}") if row[0] == "letters"]
                theirs = rows(connection, f"SELECT id FROM letters WHERE person = {person} OR other = {person} ORDER BY id")
                self.tally.equal(sorted(got), [row[0] for row in theirs], f"the letters of {person}")
            receipt = rows(connection, "SELECT receipt::json -> 'tables' FROM dogwood.receipts ORDER BY number DESC LIMIT 1")[0][0]
            counts = {table["table"].rsplit(".", 1)[-1]: (table["deleted"], table["anonymized"], table["disowned"]) for table in receipt}
            self.tally.equal(counts, {"people": (1, 0, 0), "letters": (0, count, 1333)}, "the receipt counts what stood on the disk")
        self.server.stop()
        self.tally.clean(self.server, "moved")
        self.server.start()
        with self.server.connect() as connection:
            connection.execute("DROP TABLE letters")
        self.no_files("moved")

    def cancelled(self, table):
        with self.server.connect() as connection:
            merge = f"MERGE INTO {table} t USING (SELECT id FROM {table}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET w = t.w"
            for text, back in ((f"UPDATE {table} SET w = w + 1 RETURNING id, body", f"UPDATE {table} SET w = w - 1"), (f"UPDATE {table} SET u = -u", f"UPDATE {table} SET u = -u"),
                               (f"{merge} + 1", f"{merge} - 1")):
                before = self.told(connection)
                cancel = threading.Timer(0.05 + self.dice.random() * 2, connection.cancel)
                cancel.start()
                state = state_of(connection.execute, text)
                cancel.join()
                self.tally.that(state in ("", "57014"), f"{table}: cancelled", state)
                if state == "":
                    connection.execute(back)
                self.tally.equal(self.told(connection), before, f"{text}: cancelled ({state})")
                self.no_files(f"{text}: cancelled")

    def forgotten(self, number):
        """Somebody is forgotten while rows of theirs, which others own, too, are changed."""
        with self.server.connect() as connection, self.server.connect() as other:
            person = rows(connection, "SELECT max(id) FROM people WHERE id < -8")[0][0]
            changed = beside(other.execute, "UPDATE notes SET w = w + 1")
            time.sleep(self.dice.random() * 2)
            self.tally.equal(state_of(connection.execute, f"GDPR FORGET people {person}"), "", "FORGET beside many changes")
            ended = changed(600)
            self.tally.that(ended in ("", "40001"), "a statement that a FORGET meets", ended)
            self.tally.equal(rows(connection, f"SELECT count(*) FROM notes WHERE person = {person}"), [(0,)], f"forgotten ({ended})")
            self.told(connection)
            self.owned(connection, -3)
        self.no_files("a FORGET beside")
        self.views_agree("a FORGET beside")
        self.server.stop()
        self.tally.clean(self.server, f"a FORGET beside, {number}")
        self.server.start()

    def is_time(self, step):
        seen = set()

        def is_it(there):
            spilled, files = any(name.endswith("-spill") for name in there), sum(name.endswith(".sst") for name in there)
            seen.update({"files"} if files else set())
            return {"spilled": spilled, "half": spilled and self.dice.random() < 0.02, "files": files > 0, "gone": "files" in seen and not files}[step]
        return is_it

    def killed(self, table, kind, step):
        name, text = f"{table}, {kind}: killed at {step}", self.text(table, kind)
        with self.server.connect() as connection:
            before = self.told(connection)
            connection.execute("BEGIN")
            connection.execute(text)
            after = self.told(connection)
            connection.execute("ROLLBACK")
        told = self.kill_amid(lambda connection: connection.execute(text), self.is_time(step), name)
        with self.server.connect() as connection:
            found = self.told(connection)
            self.tally.that(found == after or found == before and not told, f"{name}: all or nothing", told)
            self.owned(connection, -3)
        self.views_agree(name)
        self.no_files(name)
        self.connections[0] = self.server.connect()
        self.connections[1:] = []
        if found != before:
            self.fill()

    def memory(self, act):
        """So many megabytes more than before are resident at most while something is done."""
        process = self.server.process.pid
        status = lambda name: next(int(line.split()[1]) for line in open(f"/proc/{process}/status") if line.startswith(name)) / 1024
        with open(f"/proc/{process}/clear_refs", "w") as peak:
            peak.write("5")
        before = status("VmRSS")
        act()
        return status("VmHWM") - before

    def bounded(self):
        """What is changed is not held in memory: whole, it would take 300 MB. The store's own caches, which have a bound, are told with it:
        up to 165 MB, and no more at twice these rows."""
        count, taken = 320_000, {}
        with self.server.connect() as connection:
            # What it has given away is not held against it.
            connection.execute("SET statement_memory = '192MB'")
            connection.execute("CREATE TABLE many (id INT PRIMARY KEY, owner INT, name TEXT, amount INT)")
            connection.execute(f"INSERT INTO many SELECT n, n % 1000, 'name of ' || n, n % 1000 FROM generate_series(1, {count}) n")
            for text in ("UPDATE many SET amount = amount + 1", "UPDATE many SET amount = amount + 1 RETURNING *",
                         "MERGE INTO many t USING generate_series(1, 640000, 2) s ON t.id = s WHEN MATCHED THEN UPDATE SET amount = t.amount + 1 WHEN NOT MATCHED THEN INSERT VALUES (s, 1, 'new', 1)",
                         "DELETE FROM many"):
                time.sleep(1)
                taken[text] = self.memory(lambda: connection.execute(text))
            connection.execute("CREATE TABLE theirs (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), name TEXT)")
            connection.execute(f"INSERT INTO theirs SELECT n, -2 - n % 9, 'name of ' || n FROM generate_series(1, {count}) n")
            time.sleep(1)
            taken["to others"] = self.memory(lambda: connection.execute("UPDATE theirs SET person = -2 - (id + 1) % 9"))
        print("MB: ", {text: round(megabytes) for text, megabytes in taken.items()}, flush=True)
        self.tally.that(max(taken.values()) < 224, "what is changed is not held in memory", taken)



if __name__ == "__main__":
    run_check(Changing(options(20261129, rows=2_600, rounds=1)))
