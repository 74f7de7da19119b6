"""Definitions that write all rows of a table anew, and people who are loaded, more than memory is to hold: their rows stand on the disk until COMMIT.

Another type, a new primary key, an index on an expression and a label lay a table anew. Whose rows they are stays; nothing of it is left when
it is taken back, cancelled, refused at its last row, or the server is killed at each step. Who is forgotten meanwhile stays so.

    rewriting.py [--seed S] [--rows N] [--rounds N]
"""
import threading
import time

from harness import beside, options, rows, run_check, state_of
from support.side_files import SideFilesCheck

PEOPLE = 30
WORD = "Quorxelion"
# Of so many bytes each, so that few rows are more than memory holds.
BODY = 4000
DEFINED = {
    "type": ("ALTER TABLE {table} ALTER w TYPE text USING 'w' || w", "ALTER TABLE {table} ALTER w TYPE int USING substr(w, 2)::int"),
    "expression": ("CREATE INDEX by_length ON {table} (length(body))", "DROP INDEX by_length"),
    "key": ("ALTER TABLE {table} DROP CONSTRAINT {table}_pkey CASCADE, ADD PRIMARY KEY (id, v)",
            "ALTER TABLE {table} DROP CONSTRAINT {table}_pkey CASCADE, ADD PRIMARY KEY (id)"),
}
# A person's key does not change while others refer to it.
KINDS = [("bare", "type"), ("bare", "key"), ("plain", "type"), ("plain", "key"), ("plain", "expression"), ("notes", "type"), ("notes", "key"), ("notes", "expression"),
         ("people", "type"), ("people", "expression")]


class Rewriting(SideFilesCheck):
    def run(self):
        self.count = self.options.rows
        columns = "v INT NOT NULL, w INT, body TEXT"
        self.first, self.loads = 10 * self.count, 33 * self.count // 10
        self.set_up([
            "ALTER DATABASE dogwood SET statement_timeout = 0",
            f"CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, {columns})",
            f"CREATE TABLE notes (id INT PRIMARY KEY, {columns}, person INT NOT NULL OWNED_BY people(id), other INT OWNED_BY people(id))",
            f"CREATE TABLE plain (id INT PRIMARY KEY, {columns})",
            f"CREATE TABLE bare (id INT PRIMARY KEY, {columns})",
            *(f"CREATE INDEX ON {table} (v)" for table in ("people", "notes", "plain")),
            *(f"INSERT INTO people SELECT n, -n % 10, -n % 7, '{WORD} ' || n FROM generate_series(-{PEOPLE}, -1) n",),
        ])
        with self.server.connect() as connection:
            for table in ("plain", "notes", "people", "bare"):
                connection.execute(f"INSERT INTO {table} {self.made(table, 0, self.count - 1)}")
        for table, kind in KINDS:
            self.tally.case(self.defined, table, kind)
        self.tally.case(self.refused)
        self.tally.case(self.at_once)
        self.tally.case(self.index_before)
        self.tally.case(self.shared)
        self.tally.case(self.passed_on)
        self.tally.case(self.loaded)
        self.tally.case(self.people_refused)
        for table, kind in KINDS:
            for _ in range(self.options.rounds):
                self.tally.case(self.cancelled, table, kind)
        for number in range(self.options.rounds):
            self.tally.case(self.forgotten, number)
        for table, kind, steps in (("bare", "key", ("files", "gone")), ("plain", "type", ("spilled", "files")), ("notes", "key", ("half", "going")), ("people", "type", ("spilled", "gone"))):
            for step in steps:
                self.tally.case(self.killed, table, kind, step)
        for step in ("spilled", "gone"):
            self.tally.case(self.load_killed, step)
        self.server.stop()
        self.tally.clean(self.server, "at the end")
        self.server.start()
        self.tally.equal(self.server.files_with(WORD), [], "nobody's word stands in clear")

    def made(self, table, first, last):
        """A query for rows of these numbers."""
        owners = f", -1 - n % {PEOPLE}, -1 - n % 7" if table == "notes" else ""
        return f"SELECT n AS id, n % 10 AS v, n % 7 AS w, rpad('{WORD} ' || n, {BODY}, 'b') AS body{owners} FROM generate_series({first}, {last}) n"

    def told(self, connection, table):
        """What a table holds: read in several ways, which must agree."""
        by_index = [(v, *rows(connection, f"SELECT count(*), sum(id) FROM {table} WHERE v = {v}")[0]) for v in range(12)]
        by_scan = rows(connection, f"SELECT v + 0, count(*), sum(id) FROM {table} GROUP BY v + 0 ORDER BY 1")
        self.tally.equal([found for found in by_index if found[1]], by_scan, f"the index of {table}")
        whole = rows(connection, f"SELECT count(*), sum(id), sum(v + 0), sum(length(body)), sum(right('0' || w, 1)::int) FROM {table}")[0]
        found = rows(connection, f"SELECT id, v, left(body, 14) FROM {table} WHERE id = 77")
        self.tally.equal(found, [(77, 7, f"{WORD} 77b"[:14])] if whole[0] > PEOPLE else [], f"a row of {table}")
        short = rows(connection, f"SELECT count(*) FROM {table} WHERE length(body) = {len(WORD) + 3}")
        self.tally.equal(short, rows(connection, f"SELECT count(*) FROM {table} WHERE length(body) + 0 = {len(WORD) + 3}"), f"lengths of {table}")
        return whole

    def owned(self, connection, person):
        """Whose notes are whose: as GET tells it and as their columns do."""
        got = sorted(row[3]["id"] for row in rows(connection, f"GDPR GET people {person}") if row[0] == "notes")
        theirs = [row[0] for row in rows(connection, f"SELECT id FROM notes WHERE person = {person} OR other = {person} ORDER BY id")]
        self.tally.equal(got, theirs, f"what {person} owns")
        return theirs

    def defined(self, table, kind):
        """A definition and its opposite: in a transaction that reads, writes and takes back, and committed."""
        name = f"{table}, {kind}"
        with self.server.connect() as connection, self.server.connect() as other:
            before = self.told(connection, table)
            define, undo = (text.format(table=table) for text in DEFINED[kind])
            connection.execute("BEGIN")
            connection.execute("SAVEPOINT here")
            connection.execute(define)
            # What is nobody's, has no index, and comes in order, stands there as it will be stored.
            kind = ".sst" if table == "bare" else "-spill"
            self.tally.that(any(file.endswith(kind) for file in self.server.side_files()), f"{name}: rows are on the disk", self.server.side_files())
            self.tally.equal(self.told(connection, table), before, f"{name}: amid")
            connection.execute(f"UPDATE {table} SET v = 11 WHERE id BETWEEN 100 AND 199")
            self.tally.equal(rows(connection, f"SELECT count(*) FROM {table} WHERE v = 11"), [(100,)], f"{name}: changed")
            connection.execute("ROLLBACK TO here")
            self.tally.equal(self.told(connection, table), before, f"{name}: taken back")
            connection.execute(define)
            connection.execute("COMMIT")
            self.tally.equal(self.told(other, table), before, f"{name}: committed")
            self.owned(other, -3)
            connection.execute(f"UPDATE {table} SET v = v WHERE id = 5")
            connection.execute(undo)
            self.tally.equal(self.told(other, table), before, f"{name}: there and back")
            self.owned(other, -3)
        self.no_files(name)

    def refused(self):
        """Values that stand twice, told at the end of many rows."""
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE twice (id INT, v INT, u NUMERIC UNIQUE, body TEXT)")
            connection.execute(f"INSERT INTO twice SELECT n, n, n, repeat('x', {BODY}) FROM generate_series(1, {self.count}) n")
            connection.execute(f"INSERT INTO twice VALUES (7, -1, 7.2, 'last')")
            before = rows(connection, "SELECT count(*), sum(id), sum(v), sum(u) FROM twice")
            for text in ("ADD PRIMARY KEY (id)", "ADD PRIMARY KEY (v), ADD UNIQUE (id)", "ALTER u TYPE int", "ADD UNIQUE (id), ADD PRIMARY KEY (v)"):
                self.tally.equal(state_of(connection.execute, f"ALTER TABLE twice {text}"), "23505", text)
                self.tally.equal(rows(connection, "SELECT count(*), sum(id), sum(v), sum(u) FROM twice"), before, text)
                self.no_files(text)
            self.tally.equal(state_of(connection.execute, "CREATE UNIQUE INDEX ON twice ((id + 0))"), "23505", "an expression that repeats")
            self.tally.equal(state_of(connection.execute, "ALTER TABLE twice ALTER body TYPE int USING body::int"), "22P02", "a value that cannot be cast")
            connection.execute("DELETE FROM twice WHERE body = 'last'")
            connection.execute("ALTER TABLE twice ADD PRIMARY KEY (v), ADD UNIQUE (id), ALTER u TYPE int")
            self.tally.equal(rows(connection, "SELECT v FROM twice WHERE id = 9"), [(9,)], "unique after all")
            self.tally.equal(rows(connection, "SELECT v FROM twice WHERE u = 11"), [(11,)], "and of another type")
            self.tally.equal(state_of(connection.execute, "INSERT INTO twice VALUES (9, -9, -9, 'x')"), "23505", "it is kept unique")
            connection.execute("DROP TABLE twice")
        self.no_files("refused")

    def at_once(self):
        """Made, loaded, keyed and indexed in one transaction, as pg_restore does."""
        with self.server.connect(autocommit=False) as connection:
            connection.execute("CREATE TABLE fresh (id INT, v INT, w INT, body TEXT)")
            connection.execute("CREATE TABLE kept (id INT, v INT, w INT, body TEXT, person INT OWNED_BY people(id))")
            connection.execute(f"INSERT INTO fresh {self.made('fresh', 0, 3 * self.count)}")
            connection.execute(f"INSERT INTO kept SELECT n.*, -1 - id % {PEOPLE} FROM ({self.made('kept', 0, 3 * self.count)}) n")
            for table in ("fresh", "kept"):
                connection.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (id)")
                connection.execute(f"CREATE INDEX ON {table} (v)")
                connection.execute(f"ALTER TABLE {table} ADD COLUMN x INT DEFAULT 4, ALTER w TYPE text")
                connection.execute(f"COMMENT ON TABLE {table} IS 'loaded'")
                self.tally.equal(rows(connection, f"SELECT count(*), sum(x) FROM {table} WHERE v = 3"), [(3 * self.count // 10, 12 * self.count // 10)], f"{table}: amid")
            connection.commit()
            for table in ("fresh", "kept"):
                self.index_agrees(connection, table, "loaded at once")
            got = rows(connection, "GDPR GET people -4")
            self.tally.equal(sum(row[0] == "kept" for row in got), rows(connection, "SELECT count(*) FROM kept WHERE person = -4")[0][0], "whose they are")
            connection.execute("DROP TABLE fresh")
            connection.execute("DROP TABLE kept")
            connection.execute("CREATE DATA_SUBJECT TABLE gone (id INT PRIMARY KEY, body TEXT)")
            connection.execute(f"INSERT INTO gone SELECT n, repeat('x', {BODY}) FROM generate_series(1, 3 * {self.count}) n")
            connection.execute("INSERT INTO gone VALUES (0, 'x')")
            connection.execute("DROP TABLE gone")
            connection.commit()
        self.no_files("at once")

    def index_before(self):
        """An index that is filled beside commits, of a table that is laid anew behind it, is there after a start."""
        with self.server.connect(autocommit=False) as connection:
            connection.execute("CREATE TABLE few (id INT, v INT)")
            connection.execute("INSERT INTO few SELECT n, n % 5 FROM generate_series(1, 100) n")
            connection.commit()
            for table, text in (("few", "ADD PRIMARY KEY (id)"), ("plain", "ALTER w TYPE text")):
                connection.execute(f"CREATE INDEX {table}_before ON {table} (v)" if table == "few" else "CREATE INDEX plain_before ON plain (w)")
                connection.execute(f"ALTER TABLE {table} {text}")
                connection.commit()
        self.server.stop()
        self.tally.clean(self.server, "an index and a key")
        self.server.start()
        with self.server.connect() as connection:
            self.tally.equal(rows(connection, "SELECT count(*) FROM few WHERE v = 3"), [(20,)], "its index leads to rows")
            by_index = rows(connection, "SELECT count(*) FROM plain WHERE w = '3'")
            self.tally.equal(by_index, rows(connection, "SELECT count(*) FROM plain WHERE w || '' = '3'"), "and the other's")
            connection.execute("DROP TABLE few")
            connection.execute("DROP INDEX plain_before")
            connection.execute("ALTER TABLE plain ALTER w TYPE int USING w::int")

    def shared(self):
        """Nobody is told of rows that were laid anew, but of one that was erased amid."""
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE given (id INT NOT NULL, person INT OWNED_BY people(id), body TEXT, whom TEXT[] SHARED_WITH)")
            connection.execute(f"INSERT INTO given SELECT n, -1 - n % {PEOPLE}, repeat('x', {BODY}), ARRAY['acme'] FROM generate_series(1, {self.count}) n")
            for text in ("ADD PRIMARY KEY (id)", "ALTER body TYPE VARCHAR(9000)", "DROP CONSTRAINT given_pkey, ADD PRIMARY KEY (id, person)"):
                connection.execute(f"ALTER TABLE given {text}")
                self.tally.equal(rows(connection, "SELECT count(*) FROM dogwood.notices"), [(0,)], f"{text}: nobody is told")
            connection.execute("BEGIN")
            connection.execute("ALTER TABLE given ALTER body TYPE TEXT USING body || 'y'")
            connection.execute("DELETE FROM given WHERE id = 7")
            connection.execute("COMMIT")
            self.tally.equal(rows(connection, "SELECT count(*) FROM dogwood.notices"), [(1,)], "one was erased")
            connection.execute("DROP TABLE given")

    def passed_on(self):
        """Keys of people pass from one to another, and everybody stays who they are."""
        with self.server.connect() as connection:
            connection.execute("CREATE DATA_SUBJECT TABLE ring (id INT PRIMARY KEY, next INT NOT NULL, body TEXT)")
            connection.execute(f"INSERT INTO ring SELECT n, n % {self.count} + 1, repeat('x', {BODY}) FROM generate_series(1, {self.count}) n")
            connection.execute("ALTER TABLE ring DROP CONSTRAINT ring_pkey, ADD PRIMARY KEY (next)")
            got = rows(connection, "GDPR GET ring 5")
            self.tally.equal([(row[0], row[3]["id"], row[3]["next"]) for row in got], [("ring", 4, 5)], "who has the key now")
            connection.execute("GDPR FORGET ring 5")
            self.tally.equal(rows(connection, "SELECT count(*), sum(id) FROM ring"), [(self.count - 1, sum(range(self.count + 1)) - 4)], "and is forgotten")
            self.tally.equal(len(rows(connection, "GDPR GET ring 4")), 1, "no other is")
            connection.execute("DROP TABLE ring")

    def new_people(self):
        """The first and last number of people who are to be loaded."""
        self.first += 10 * self.count
        return self.first, self.first + self.loads - 1

    def loaded(self):
        """People are loaded; a transaction reads, changes and refers to them, and some of it is taken back."""
        first, last = self.new_people()
        load = f"INSERT INTO people {self.made('people', first, last)}"
        with self.server.connect() as connection, self.server.connect() as other:
            before = self.told(connection, "people")
            connection.execute("BEGIN")
            connection.execute("SAVEPOINT here")
            connection.execute(load)
            self.tally.that(any(file.endswith("-spill") for file in self.server.side_files()), "people are on the disk", self.server.side_files())
            self.tally.equal(self.told(connection, "people")[0], before[0] + self.loads, "as loaded")
            self.tally.equal(self.told(other, "people"), before, "others see nothing of it")
            connection.execute("ROLLBACK TO here")
            self.tally.equal(self.told(connection, "people"), before, "taken back")
            connection.execute(load)
            connection.execute(f"INSERT INTO notes SELECT -n, 1, 1, 'x', n, CASE WHEN n % 2 = 0 THEN n + 1 END FROM generate_series({first}, {first + 999}) n")
            connection.execute(f"UPDATE people SET v = 11 WHERE id BETWEEN {first} AND {first + 9}")
            connection.execute(f"UPDATE people SET id = id + {5 * self.count} WHERE id BETWEEN {last - 9} AND {last}")
            connection.execute(f"DELETE FROM people WHERE id BETWEEN {last - 19} AND {last - 10}")
            connection.execute(f"INSERT INTO notes VALUES ({-first - 5000}, 1, 1, 'x', {last + 5 * self.count}, NULL)")
            whole = self.told(connection, "people")
            self.tally.equal(whole[0], before[0] + self.loads - 10, "changed amid")
            connection.execute("COMMIT")
            self.tally.equal(self.told(other, "people"), whole, "committed")
            for person in (first, first + 1, first + 2, first + 998, last + 5 * self.count):
                self.tally.that(self.owned(other, person) != [], f"{person} owns something")
            self.tally.equal(state_of(other.execute, f"GDPR GET people {last - 15}"), "DG003", "who was deleted is nobody")
            self.tally.equal(state_of(other.execute, f"GDPR GET people {last}"), "DG003", "nor is who has another key")
            other.execute(f"GDPR FORGET people {first + 2}")
            self.tally.equal(rows(other, f"SELECT count(*) FROM notes WHERE person = {first + 2}"), [(0,)], "forgotten")
            self.tally.equal(state_of(other.execute, f"GDPR GET people {first + 2}"), "DG003", "forgotten")
            other.execute("DELETE FROM notes WHERE id < 0")
            other.execute(f"DELETE FROM people WHERE id BETWEEN {first + 50} AND {first + 99}")
            self.tally.equal(self.told(other, "people")[0], whole[0] - 51, "some are gone")
        self.no_files("loaded")
        self.server.stop()
        self.tally.clean(self.server, "people are loaded")
        self.server.start()

    def people_refused(self):
        """The last of many people stands there already; a load that is cancelled."""
        first, end = self.new_people()
        load = f"INSERT INTO people {self.made('people', first, end)}"
        with self.server.connect() as connection:
            before = self.told(connection, "people")
            for last, state in (("7, 1, 1, 'x'", "23505"), (f"{first + 3}, 1, 1, 'x'", "23505"), (f"{first - 1}, NULL, 1, 'x'", "23502")):
                self.tally.equal(state_of(connection.execute, f"{load} UNION ALL SELECT {last}"), state, f"people: {last}")
                self.tally.equal(self.told(connection, "people"), before, f"people: {last}")
                self.no_files(f"people: {last}")
            for _ in range(2):
                cancel = threading.Timer(0.1 + self.dice.random() * 2, connection.cancel)
                cancel.start()
                state = state_of(connection.execute, load)
                cancel.join()
                self.tally.that(state in ("", "57014"), "people: cancelled", state)
                after = self.told(connection, "people")
                self.tally.equal(after[0], before[0] + (self.loads if state == "" else 0), f"people: cancelled ({state})")
                if state == "":
                    before, (first, end) = after, self.new_people()
                    load = f"INSERT INTO people {self.made('people', first, end)}"
                self.no_files("people: cancelled")

    def cancelled(self, table, kind):
        name = f"{table}, {kind}: cancelled"
        define, undo = (text.format(table=table) for text in DEFINED[kind])
        with self.server.connect() as connection:
            before = self.told(connection, table)
            cancel = threading.Timer(0.05 + self.dice.random() * 1.5, connection.cancel)
            cancel.start()
            state = state_of(connection.execute, define)
            cancel.join()
            self.tally.that(state in ("", "57014"), name, state)
            if state == "":
                connection.execute(undo)
            self.tally.equal(self.told(connection, table), before, f"{name} ({state})")
            self.no_files(name)

    def forgotten(self, number):
        """Somebody is forgotten while the table with notes of theirs, which others own, too, is laid anew."""
        define, undo = (text.format(table="notes") for text in DEFINED["type"])
        with self.server.connect() as connection, self.server.connect() as other:
            person = rows(connection, f"SELECT min(id) FROM people WHERE id < 0")[0][0]
            alone = len(self.owned(connection, person))
            defined = beside(other.execute, define)
            time.sleep(self.dice.random() * 2)
            state = state_of(connection.execute, f"GDPR FORGET people {person}")
            self.tally.equal(state, "", "FORGET beside a definition")
            ended = defined(600)
            self.tally.that(ended in ("", "40001"), "a definition that a FORGET meets", ended)
            self.tally.equal(rows(connection, f"SELECT count(*) FROM notes WHERE person = {person} OR other = {person}"), [(0,)], f"forgotten ({ended})")
            self.tally.that(alone > 0, "they had notes")
            if ended == "":
                other.execute(undo)
            self.told(other, "notes")
            self.owned(other, person + 1)
        self.no_files("a FORGET beside")
        self.server.stop()
        self.tally.clean(self.server, f"a FORGET beside, {number}")
        self.server.start()

    def is_time(self, step):
        seen = set()

        def is_it(there):
            spilled, files = any(name.endswith("-spill") for name in there), sum(name.endswith(".sst") for name in there)
            seen.update({"files"} if files else set())
            return {"spilled": spilled, "half": spilled and self.dice.random() < 0.02, "files": files > 0,
                    "going": files > 3, "gone": "files" in seen and not files}[step]
        return is_it

    def killed(self, table, kind, step):
        name = f"{table}, {kind}: killed at {step}"
        define, undo = (text.format(table=table) for text in DEFINED[kind])
        with self.server.connect() as connection:
            before = self.told(connection, table)
        told = self.kill_amid(lambda connection: connection.execute(define), self.is_time(step), name)
        with self.server.connect() as connection:
            self.tally.equal(self.told(connection, table), before, name)
            self.owned(connection, -3)
            stands = state_of(connection.execute, undo) == ""
            self.tally.that(stands or not told, f"{name}: what was told stands")
            self.tally.equal(self.told(connection, table), before, f"{name}: and back")
            self.no_files(name)

    def load_killed(self, step):
        name = f"people are loaded: killed at {step}"
        first, last = self.new_people()
        with self.server.connect() as connection:
            before = self.told(connection, "people")
        text = f"INSERT INTO people {self.made('people', first, last)}"
        told = self.kill_amid(lambda connection: connection.execute(text), self.is_time(step), name)
        with self.server.connect() as connection:
            after = self.told(connection, "people")
            self.tally.that(after[0] == before[0] + self.loads or after == before and not told, f"{name}: all or nothing", (before, after, told))
            if after != before:
                self.tally.equal(len(rows(connection, f"GDPR GET people {first + 99}")), 1, f"{name}: somebody")
            self.no_files(name)


if __name__ == "__main__":
    run_check(Rewriting(options(20261129, rows=3_500, rounds=1)))
