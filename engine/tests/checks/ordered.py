"""Ordered reads of personal tables, whose keys on disk are hashes: an ordered index in memory gives what all rows give.

Every query is asked twice in one REPEATABLE READ transaction: as it is, and with dogwood.auto_views off, which reads all rows and sorts
them. Rows change meanwhile, from several connections, and persons are forgotten. Then: own writes and savepoints, UPDATE and DELETE by
range, older snapshots, filling amid erasures, changes of the schema, TRUNCATE, the budget, EXPLAIN, kill -9.

    ordered.py [--seed S] [--count N]        N rounds (15) of random queries
"""
import datetime
import threading
import time

from harness import options, rows, run_check, start_writers, state_of
from support.all_rows import AllRows, Writer

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT, born DATE, score INT, city CHAR(6))",
    """CREATE TABLE records (key TEXT PRIMARY KEY, owner INT NOT NULL OWNED_BY people(id), ttl INT, amount NUMERIC(12,3), word TEXT,
       at TIMESTAMPTZ, flag BOOL, real FLOAT8)""",
    "CREATE TABLE pairs (a INT, b INT, p INT OWNED_BY people(id), q INT OWNED_BY people(id), note TEXT, PRIMARY KEY (a, b))",
    "CREATE TABLE visits (person INT OWNED_BY people(id), at INT, place TEXT)",
    "CREATE TABLE tariffs (id INT PRIMARY KEY, approver INT REFERENCES people(id), price INT)",
    "CREATE INDEX people_score ON people (score)",
    "CREATE INDEX people_city ON people (city, born)",
    "CREATE INDEX records_ttl ON records (ttl)",
    "CREATE INDEX records_word ON records (word, amount)",
    "CREATE INDEX records_at ON records (at)",
    "CREATE INDEX records_real ON records (real)",
    "CREATE INDEX pairs_note ON pairs (note, b)",
    "CREATE INDEX visits_at ON visits (at)",
    "CREATE INDEX tariffs_price ON tariffs (price)",
]

PEOPLE = 400
# Characters whose order differs between languages, which C's does not.
LETTERS = "aAbBzZ_ 0éÄß\u4e2d"
READY_WITHIN_S = 30


def word(dice):
    return "".join(dice.choice(LETTERS) for _ in range(dice.randrange(4)))


def or_null(dice, value):
    return None if dice.random() < 0.1 else value


# Values of each column that is asked for.
VALUES = {
    "id": lambda dice: dice.randrange(-5, PEOPLE + 50),
    "score": lambda dice: dice.randrange(-20, 120),
    "city": lambda dice: word(dice)[:6],
    "born": lambda dice: datetime.date(1950, 1, 1) + datetime.timedelta(days=dice.randrange(200)),
    "key": lambda dice: f"k{dice.randrange(2000)}",
    "ttl": lambda dice: dice.randrange(-300, 300),
    "amount": lambda dice: dice.choice(["0", "-0.5", "1.000", "12.25", "NaN", "-999.9", str(dice.randrange(-100, 100))]),
    "word": word,
    "at": lambda dice: datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(minutes=dice.randrange(-500, 500)),
    "real": lambda dice: dice.choice([0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf"), dice.random() * 10]),
    "a": lambda dice: dice.randrange(60),
    "b": lambda dice: dice.randrange(30),
    "note": word,
    "visit": lambda dice: dice.randrange(1000),
    "price": lambda dice: dice.randrange(500),
}
# Table, its columns in an index or key, whether they tell rows apart.
ORDERS = [
    ("people", ["id"], True), ("people", ["score"], False), ("people", ["city", "born"], False), ("records", ["key"], True), ("records", ["ttl"], False),
    ("records", ["word", "amount"], False), ("records", ["at"], False), ("records", ["real"], False), ("pairs", ["a", "b"], True),
    ("pairs", ["note", "b"], False), ("visits", ["at"], False), ("tariffs", ["id"], True), ("tariffs", ["price"], False),
]


def value(dice, table, column):
    return VALUES["visit" if (table, column) == ("visits", "at") else column](dice)


def condition(dice, table, columns):
    """Equality on the first columns, perhaps, then a range on the next: (text, parameters, the columns that are fixed)."""
    terms, parameters = [], []
    fixed = 0
    if len(columns) > 1 and dice.random() < 0.6:
        terms.append(f"{columns[0]} = %s")
        parameters.append(value(dice, table, columns[0]))
        fixed = 1
    column = columns[fixed]
    shape = dice.randrange(8)
    if shape == 0:
        terms.append(f"{column} BETWEEN %s AND %s")
        parameters += sorted([value(dice, table, column), value(dice, table, column)], key=str)
    elif shape < 3:
        terms.append(f"{column} {dice.choice(['>', '>='])} %s AND {column} {dice.choice(['<', '<='])} %s")
        parameters += [value(dice, table, column), value(dice, table, column)]
    elif shape < 6:
        terms.append(f"{column} {dice.choice(['<', '<=', '>', '>='])} %s")
        parameters.append(value(dice, table, column))
    elif shape == 6 and not fixed:
        terms.append("true")
    if dice.random() < 0.15:
        terms.append({"people": "name <> 'n7'", "records": "flag", "pairs": "b %% 2 = 0", "visits": "place <> 'x'", "tariffs": "price > 10"}[table])
    return " AND ".join(terms) or "true", parameters


def random_query(dice):
    """(text, parameters, whether the answer is a sequence)."""
    table, columns, unique = dice.choice(ORDERS)
    where, parameters = condition(dice, table, columns)
    if dice.random() < 0.35:
        return f"SELECT * FROM {table} WHERE {where}", parameters, False
    descending = dice.random() < 0.5
    direction = "DESC" if descending else "ASC"
    nulls = dice.choice(["", "", "", " NULLS FIRST", " NULLS LAST"])
    order = ", ".join(f"{column} {direction}{nulls}" for column in columns)
    shown = "*" if unique else ", ".join(columns)
    limit = dice.choice([" LIMIT 1", " LIMIT 7", " LIMIT 20", " LIMIT 3 OFFSET 5", " LIMIT 0", ""])
    return f"SELECT {shown} FROM {table} WHERE {where} ORDER BY {order}{limit}", parameters, True


def printable(found):
    """Cells as text; the two zeros of floats are equal, so that either may come first."""
    return [tuple("0.0" if cell == 0 and isinstance(cell, float) else repr(cell) for cell in row) for row in found]


class Changes(Writer):
    AGAIN, PEOPLE = "INSERT INTO people VALUES (%s, 'again', NULL, 5, 'x')", PEOPLE

    def record(self):
        dice = self.dice
        return (VALUES["key"](dice), dice.randrange(PEOPLE), or_null(dice, VALUES["ttl"](dice)), or_null(dice, VALUES["amount"](dice)),
                or_null(dice, word(dice)), or_null(dice, VALUES["at"](dice)), dice.random() < 0.5, or_null(dice, VALUES["real"](dice)))

    def statement(self):
        dice = self.dice
        person = dice.randrange(PEOPLE)
        return dice.choice([
            lambda: ("INSERT INTO people VALUES (%s, %s, %s, %s, %s)", (VALUES["id"](dice), f"n{person % 9}", or_null(dice, VALUES["born"](dice)),
                                                                         or_null(dice, VALUES["score"](dice)), or_null(dice, word(dice)[:6]))),
            lambda: ("INSERT INTO records VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", self.record()),
            lambda: ("INSERT INTO records VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", self.record()),
            lambda: ("INSERT INTO pairs VALUES (%s, %s, %s, %s, %s)", (VALUES["a"](dice), VALUES["b"](dice), person, or_null(dice, dice.randrange(PEOPLE)), or_null(dice, word(dice)))),
            lambda: ("INSERT INTO visits SELECT %s, n, 'y' FROM generate_series(%s::int, %s) n", (person, person, person + 3)),
            lambda: ("INSERT INTO tariffs VALUES (%s, %s, %s)", (dice.randrange(2000), or_null(dice, person), or_null(dice, VALUES["price"](dice)))),
            lambda: ("UPDATE records SET ttl = ttl + 1, owner = %s WHERE ttl BETWEEN %s AND %s", (person, person - 200, person - 190)),
            lambda: ("UPDATE records SET word = %s, amount = amount * 2 WHERE key = %s", (or_null(dice, word(dice)), VALUES["key"](dice))),
            lambda: ("UPDATE people SET score = %s, city = %s WHERE id = %s", (or_null(dice, VALUES["score"](dice)), or_null(dice, word(dice)[:6]), person)),
            lambda: ("UPDATE pairs SET b = b + 1 WHERE a = %s AND b >= %s", (VALUES["a"](dice), 25)),
            lambda: ("UPDATE visits SET at = at + 7 WHERE at >= %s AND at < %s", (person, person + 5)),
            lambda: ("DELETE FROM records WHERE ttl <= %s", (-295,)),
            lambda: ("DELETE FROM records WHERE key >= %s AND key < %s", (f"k{person}", f"k{person}2")),
            lambda: ("DELETE FROM visits WHERE at > %s AND at <= %s", (person, person + 9)),
            lambda: ("DELETE FROM tariffs WHERE price < %s", (dice.randrange(20),)),
        ])()


class Ordered(AllRows):
    WRITER, OWN_ALTER = Changes, "ALTER TABLE records ADD COLUMN added INT DEFAULT 4"
    OWN_TRUNCATE = ("TRUNCATE visits", "INSERT INTO visits SELECT id, id * 3, 'z' FROM people WHERE id % 3 = 0")

    def run(self):
        self.set_up(SCHEMA)
        with self.server.connect() as connection:
            self.fill(connection)
        for case in (self.asked_for, self.rounds, self.read_again, self.own_writes, self.writes_by_range, self.older_snapshots, self.amid_erasures,
                     self.schema_changes, self.truncated, self.budget, self.kill):
            self.tally.case(case)
        self.tally.equal(self.unexpected, {}, "what writers were refused for")

    def fill(self, connection):
        dice, writer = self.dice, Changes(self.dice)
        with connection.transaction(), connection.cursor() as cursor:
            cursor.executemany("INSERT INTO people VALUES (%s, %s, %s, %s, %s)", [
                (number, f"n{number % 9}", or_null(dice, VALUES["born"](dice)), or_null(dice, VALUES["score"](dice)), or_null(dice, word(dice)[:6])) for number in range(PEOPLE)])
            records = {record[0]: record for record in (writer.record() for _ in range(2500))}
            cursor.executemany("INSERT INTO records VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", list(records.values()))
            pairs = {(VALUES["a"](dice), VALUES["b"](dice)) for _ in range(900)}
            cursor.executemany("INSERT INTO pairs VALUES (%s, %s, %s, %s, %s)", [
                (a, b, dice.randrange(PEOPLE), or_null(dice, dice.randrange(PEOPLE)), or_null(dice, word(dice))) for a, b in sorted(pairs)])
            cursor.executemany("INSERT INTO visits VALUES (%s, %s, %s)", [(dice.randrange(PEOPLE), or_null(dice, dice.randrange(1000)), dice.choice("xy")) for _ in range(1500)])
            cursor.executemany("INSERT INTO tariffs VALUES (%s, %s, %s)", [(number, or_null(dice, dice.randrange(PEOPLE)), or_null(dice, dice.randrange(500))) for number in range(800)])

    # The indexes.

    def ordered(self, connection):
        """The columns of each ordered index → its stage."""
        found = rows(connection, "SELECT definition, stage FROM dogwood.views WHERE kind = 'ordered index'")
        return {definition.removeprefix("ordered index on "): stage for definition, stage in found}

    def earn(self, connection, orders=None):
        """Asks for every order often enough, and waits until all are there."""
        for table, columns, _ in orders or ORDERS:
            for _ in range(6):
                connection.execute(f"SELECT 1 FROM {table} ORDER BY {', '.join(columns)} LIMIT 1")
        wanted = {f"{table} ({', '.join(columns)})" for table, columns, _ in orders or ORDERS}
        until = time.monotonic() + READY_WITHIN_S
        while True:
            stages = self.ordered(connection)
            if all(stages.get(name) == "ready" for name in wanted) or time.monotonic() > until:
                break
            time.sleep(0.02)
        self.tally.equal({name: stages.get(name) for name in wanted}, dict.fromkeys(wanted, "ready"), "ordered indexes are there")

    def asked_for(self):
        with self.server.connect() as connection:
            query = "SELECT key FROM records WHERE ttl <= 5 ORDER BY ttl LIMIT 3"
            for number in range(5):
                plan = self.plan(connection, query)
                self.tally.that(f"not yet executed 5 times within a minute: {number} of 5" in plan and "OrderedScan" in plan, "EXPLAIN before it is earned", plan)
                connection.execute(query)
            connection.execute("SET dogwood.auto_views = off")
            self.tally.that("dogwood.auto_views is off" in self.plan(connection, query), "EXPLAIN without views")
            connection.execute("RESET dogwood.auto_views")
            self.earn(connection)
            plan = self.plan(connection, query)
            self.tally.that('Ordered index: "records_ttl" in memory' in plan, "EXPLAIN once it is there", plan)
            for limited, read in [("SELECT key FROM records ORDER BY key DESC LIMIT 5", 5), ("SELECT ttl FROM records ORDER BY ttl LIMIT 4 OFFSET 2", 6)]:
                plan = self.plan(connection, limited, "EXPLAIN (ANALYZE, TIMING off)")
                self.tally.that(f"rows={read} loops=1" in plan, f"{limited} reads {read} rows", plan)
            found = rows(connection, "SELECT updates, bytes FROM dogwood.views WHERE definition = 'ordered index on records (ttl)'")[0]
            self.tally.equal(found[0], rows(connection, "SELECT count(*) FROM records")[0][0], "rows of dogwood.views")
            held = rows(connection, "SELECT bytes FROM dogwood.memory WHERE part = 'ordered indexes'")[0][0]
            self.tally.that(held >= found[1] > 0, "bytes of dogwood.memory", (held, found))

    def plan(self, connection, query, explain="EXPLAIN"):
        return "\n".join(row[0] for row in rows(connection, f"{explain} {query}"))

    # Comparison.

    def answers(self, connection, query, parameters, sequence):
        """As it is, and from all rows."""
        found = printable(rows(connection, query, parameters))
        connection.execute("SET dogwood.auto_views = off")
        expected = printable(rows(connection, query, parameters))
        connection.execute("SET dogwood.auto_views = on")
        return (found, expected) if sequence else (sorted(found), sorted(expected))

    def compare_within(self, connection, when, count):
        for _ in range(count):
            query, parameters, sequence = random_query(self.dice)
            found, expected = self.answers(connection, query, parameters, sequence)
            self.tally.that(found == expected, when, f"{query} {parameters}: {len(found)} rows {found[:5]}, expected {len(expected)} {expected[:5]}")
        return True

    # Cases.

    def writes_by_range(self):
        with self.server.connect() as connection, self.server.connect() as plain:
            for number in range(25):
                low, high = sorted((VALUES["ttl"](self.dice), VALUES["ttl"](self.dice)))
                where = f"ttl >= {low} AND ttl < {min(high, low + 40)}"
                for write in (f"UPDATE records SET ttl = ttl - 1 WHERE {where} RETURNING key, ttl", f"DELETE FROM records WHERE {where} AND flag RETURNING key, ttl"):
                    shown = "ttl - 1" if write.startswith("UPDATE") else "ttl"
                    flag = "" if write.startswith("UPDATE") else " AND flag"
                    plain.execute("SET dogwood.auto_views = off")
                    expected = sorted(rows(plain, f"SELECT key, {shown} FROM records WHERE {where}{flag}"))
                    self.tally.equal(sorted(rows(connection, write)), expected, write)
                locked = rows(connection, f"SELECT key FROM records WHERE ttl > {low} ORDER BY ttl, key LIMIT 3 FOR UPDATE SKIP LOCKED")
                self.tally.equal(locked, rows(plain, f"SELECT key FROM records WHERE ttl > {low} ORDER BY ttl, key LIMIT 3"), "FOR UPDATE in order")
            self.compare(connection, "after writes by range", 60)

    def read_again(self):
        """Whoever was told of a write reads it by an ordered index, while others write and the index is behind."""
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE counted (id INT PRIMARY KEY, owner INT NOT NULL OWNED_BY people(id), n INT)")
            connection.execute("CREATE INDEX counted_n ON counted (n)")
            connection.execute("INSERT INTO counted SELECT g, (SELECT min(id) FROM people), g FROM generate_series(0, 3999) g")
            self.earn(connection, [("counted", ["n"], False)])
            stop = time.monotonic() + 4

            def write(session, number):
                first, last, turn = 1000 * number, 1000 * number + 999, 0
                while time.monotonic() < stop:
                    turn += 1
                    wide = 150 if turn % 3 == 0 else 4
                    session.execute("UPDATE counted SET n = n + %s WHERE id BETWEEN %s AND %s", (10_000 if turn % 2 else -10_000, first, first + wide - 1))
                    state = state_of(session.execute, "DELETE FROM counted WHERE id = %s", (last - turn % 500,))
                    found = state_of(lambda: self.read_own(session, first, last, wide, turn))
                    if (state, found) != ("", ""):
                        self.unexpected.setdefault(found or state, number)
                    session.execute("UPDATE counted SET n = id WHERE id BETWEEN %s AND %s", (first, first + wide - 1))

            for thread in start_writers(self, 4, write):
                thread.join(60)
            connection.execute("DROP TABLE counted")

    def read_own(self, session, first, last, wide, turn):
        moved = 10_000 if turn % 2 else -10_000
        found = rows(session, "SELECT n FROM counted WHERE n BETWEEN %s AND %s ORDER BY n", (first + moved, first + wide - 1 + moved))
        self.tally.equal([n for n, in found], list(range(first + moved, first + wide + moved)), "what was written is read by its order")
        left = rows(session, "SELECT n FROM counted WHERE n BETWEEN %s AND %s AND n % 1 = 0".replace("% 1", "%% 1"), (last - turn % 500, last - turn % 500))
        self.tally.equal(left, [], "what was deleted is not")

    def older_snapshots(self):
        with self.server.connect() as connection:
            for _ in range(5):
                queries = [random_query(self.dice) for _ in range(25)]
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                before = [printable(rows(connection, query, parameters)) for query, parameters, _ in queries]
                for thread in self.writers(2, 8, forgets=False):
                    thread.join(60)
                for (query, parameters, sequence), expected in zip(queries, before):
                    found = printable(rows(connection, query, parameters))
                    self.tally.that(found == expected if sequence else sorted(found) == sorted(expected), "an older snapshot", f"{query} {parameters}")
                connection.execute("COMMIT")

    def amid_erasures(self):
        """An index is filled while persons are forgotten all the time: none of it begins anew."""
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE entries (id INT PRIMARY KEY, owner INT OWNED_BY people(id), n INT)")
            connection.execute("CREATE INDEX entries_n ON entries (n)")
            for start in range(0, 60_000, 20_000):
                connection.execute("INSERT INTO entries SELECT g, g %% %s, g * 7919 %% 60013 FROM generate_series(%s::int, %s) g WHERE EXISTS (SELECT 1 FROM people WHERE id = g %% %s)",
                                   (PEOPLE, start, start + 19_999, PEOPLE))
            stop, forgotten = threading.Event(), []

            def forget():
                with self.server.connect() as other:
                    for person in range(PEOPLE):
                        if stop.is_set():
                            return
                        if state_of(other.execute, f"GDPR FORGET people {person}") == "":
                            forgotten.append(person)
                            other.execute("INSERT INTO people VALUES (%s, 'again', NULL, 5, 'x')", (person,))

            thread = threading.Thread(target=forget, daemon=True)
            thread.start()
            orders = [("entries", ["n"], False), ("entries", ["id"], True)]
            try:
                for table, columns, _ in orders:
                    for _ in range(6):
                        state_of(connection.execute, f"SELECT 1 FROM {table} ORDER BY {', '.join(columns)} LIMIT 1")
                until = time.monotonic() + READY_WITHIN_S
                wanted = {"entries (n)", "entries (id)"}
                while time.monotonic() < until and {name for name, stage in self.ordered(connection).items() if stage == "ready"} & wanted != wanted:
                    time.sleep(0.02)
            finally:
                stop.set()
                thread.join(60)
            self.tally.that(len(forgotten) > 3, "persons were forgotten meanwhile", len(forgotten))
            self.tally.equal({name: self.ordered(connection).get(name) for name in wanted}, dict.fromkeys(wanted, "ready"), "filled amid erasures")
            for query, sequence in [("SELECT n FROM entries ORDER BY n LIMIT 9", True), ("SELECT * FROM entries WHERE n BETWEEN 100 AND 400", False),
                                    ("SELECT * FROM entries WHERE id >= 31000 ORDER BY id LIMIT 50", True), ("SELECT n FROM entries ORDER BY n DESC LIMIT 50", True)]:
                found, expected = self.answers(connection, query, None, sequence)
                self.tally.equal(found, expected, query)
            self.tally.equal(rows(connection, "SELECT updates FROM dogwood.views WHERE definition = 'ordered index on entries (n)'")[0][0],
                             rows(connection, "SELECT count(*) FROM entries")[0][0], "no entry of a forgotten person stays")

    def schema_changes(self):
        with self.server.connect() as connection:
            for statement, again in [
                    ("ALTER TABLE records ADD COLUMN more INT DEFAULT 3", [("records", ["ttl"], False), ("records", ["key"], True)]),
                    ("CREATE INDEX records_owner ON records (owner, ttl)", [("records", ["owner", "ttl"], False)]),
                    ("ALTER TABLE records ALTER COLUMN ttl TYPE BIGINT", [("records", ["ttl"], False)]),
                    ("DROP INDEX records_ttl", []),
                    ("CREATE INDEX records_ttl ON records (ttl)", [("records", ["ttl"], False)]),
                    ("ALTER TABLE visits RENAME COLUMN place TO spot; ALTER TABLE visits RENAME COLUMN spot TO place", [("visits", ["at"], False)]),
                    ("ALTER TABLE tariffs DROP CONSTRAINT tariffs_approver_fkey", []),
                    ("DROP TABLE entries", [])]:
                connection.execute(statement)
                self.compare(connection, statement, 25)
                if again:
                    self.earn(connection, again)
                self.compare(connection, statement + ", earned again", 25)
            self.tally.that(not any(name.startswith("entries") for name in self.ordered(connection)), "a dropped table's go", self.ordered(connection))

    def truncated(self):
        with self.server.connect() as connection:
            self.earn(connection, [("visits", ["at"], False)])
            connection.execute("BEGIN")
            connection.execute("TRUNCATE visits")
            connection.execute("INSERT INTO visits SELECT id, id %% 50, 'y' FROM people WHERE id < %s", (PEOPLE // 2,))
            connection.execute("COMMIT")
            self.compare(connection, "after TRUNCATE", 60)
            self.tally.equal(rows(connection, "SELECT updates FROM dogwood.views WHERE definition = 'ordered index on visits (at)'"),
                             rows(connection, "SELECT count(*) FROM visits"), "entries after TRUNCATE")

    def budget(self):
        with self.server.connect() as connection:
            connection.execute("""INSERT INTO records SELECT 'z' || g, (SELECT min(id) FROM people), g, g, repeat('w', 50), now(), true, g
                                  FROM generate_series(1, 2000) g""")
            self.earn(connection, [("records", ["word", "amount"], False)])
            connection.execute("SET dogwood.view_memory = '64kB'")
            connection.execute("UPDATE records SET word = 'over' WHERE ttl = 5")
            until = time.monotonic() + READY_WITHIN_S
            while "records (word, amount)" in self.ordered(connection) and time.monotonic() < until:
                time.sleep(0.05)
            self.tally.that("records (word, amount)" not in self.ordered(connection), "what exceeds the budget goes", self.ordered(connection))
            held = rows(connection, "SELECT bytes FROM dogwood.memory WHERE part = 'ordered indexes'")[0][0]
            self.tally.that(held <= 64 << 10, "what is left is within the budget", held)
            plan = self.plan(connection, "SELECT word FROM records ORDER BY word, amount LIMIT 3")
            self.tally.that("dogwood.view_memory" in plan, "EXPLAIN over the budget", plan)
            for _ in range(8):
                connection.execute("SELECT word FROM records ORDER BY word, amount LIMIT 3")
            self.compare(connection, "over the budget", 30)
            connection.execute("RESET dogwood.view_memory")
            time.sleep(1)
            self.earn(connection, [("records", ["word", "amount"], False)])
            self.compare(connection, "within the budget again", 30)

    def kill(self):
        self.server.kill()
        self.server.start()
        with self.server.connect() as connection:
            self.tally.equal(self.ordered(connection), {}, "none is there before it is asked for")
            self.compare(connection, "after kill -9", 30)
            # Since its reference to a person went, the prices stand in order on disk.
            self.earn(connection, [order for order in ORDERS if order[0] != "tariffs"])
            for thread in self.writers(2, 10):
                thread.join(60)
            self.compare(connection, "earned again after kill -9", 60)


if __name__ == "__main__":
    run_check(Ordered(options(seed=1, count=15)))
