"""Inverted indexes (USING gin): what they find is what all rows give, of people's tables and of others.

Every query is asked twice in one REPEATABLE READ transaction: as it is, and with dogwood.auto_views off, which reads all rows. Rows change
meanwhile, from several connections, and persons are forgotten. Then: own writes and savepoints, changes of the schema, TRUNCATE, what no
person's erasure leaves, EXPLAIN, kill -9; and what cannot be declared.

    inverted.py [--seed S] [--count N]        N rounds (8) of random queries
"""
import time

from harness import options, rows, run_check, state_of
from support.all_rows import AllRows, Writer

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    """CREATE TABLE notes (id INT PRIMARY KEY, owner INT NOT NULL OWNED_BY people(id), tags TEXT[], numbers INT[], body TEXT, doc JSONB,
       words TSVECTOR GENERATED ALWAYS AS (to_tsvector('english', coalesce(body, ''))) STORED)""",
    "CREATE TABLE plain (tags TEXT[], numbers BIGINT[], body VARCHAR(200), doc JSONB)",
    *(f"CREATE INDEX {table}_{column} ON {table} USING gin ({column}{rest})" for table in ("notes", "plain")
      for column, rest in (("tags", ""), ("numbers", ""), ("body", " gin_trgm_ops"), ("doc", ""))),
    "CREATE INDEX notes_both ON notes USING gin (tags, doc jsonb_path_ops) WHERE id > 10",
    "CREATE INDEX notes_words ON notes USING gin (words)",
    "CREATE INDEX plain_words ON plain USING gin (to_tsvector('simple', body))",
    "CREATE INDEX notes_lower ON notes USING gin (lower(body) gin_trgm_ops)",
]
COLUMNS = ("tags", "numbers", "body", "doc")
PEOPLE, NOTES = 150, 1800
READY_WITHIN_S = 30
WORDS = ["red", "blue", "green", "Rédé", "", "a b", "100", "x%y", "dogwood", "ΟΔΟΣ", "null"]


def some(dice, values, most=4):
    return [dice.choice(values) for _ in range(dice.randrange(most))]


def document(dice, depth=0):
    shape = dice.randrange(7 if depth < 3 else 4)
    if shape == 0:
        return dice.choice(["true", "false", "null"])
    if shape == 1:
        return dice.choice(["1", "1.0", "2", "-0.5", "1e2"])
    if shape < 4:
        return '"' + dice.choice(WORDS) + '"'
    if shape == 4:
        return "[" + ", ".join(document(dice, depth + 1) for _ in range(dice.randrange(3))) + "]"
    return "{" + ", ".join(f'"{dice.choice(WORDS)}": {document(dice, depth + 1)}' for _ in range(dice.randrange(3))) + "}"


def text(dice):
    return " ".join(dice.choice(WORDS) + dice.choice(["", "s", "ing"]) for _ in range(dice.randrange(5)))


VALUES = {
    "tags": lambda dice: [None if dice.random() < 0.05 else tag for tag in some(dice, WORDS)],
    "numbers": lambda dice: some(dice, range(12)),
    "body": text,
    "doc": document,
}
CASTS = {"tags": "::text[]", "numbers": "", "body": "", "doc": "::jsonb"}


def or_null(dice, value):
    return None if dice.random() < 0.05 else value


def condition(dice, table, column):
    value = or_null(dice, VALUES[column](dice))
    if column in ("tags", "numbers"):
        kind = "::text[]" if column == "tags" else "::int[]" if table == "notes" else "::bigint[]"
        element = dice.choice(WORDS) if column == "tags" else dice.randrange(12)
        return dice.choice([
            (f"{column} @> %s{kind}", value), (f"{column} && %s{kind}", value), (f"%s{kind} <@ {column}", value),
            (f"%s = ANY ({column})", element), (f"%s{kind} && {column}", value),
        ])
    if column == "doc":
        return dice.choice([
            ("doc @> %s::jsonb", value), ("%s::jsonb <@ doc", value), ("doc ? %s", dice.choice(WORDS)),
            ("doc ?| %s::text[]", some(dice, WORDS)), ("doc ?& %s::text[]", some(dice, WORDS, 3)),
        ])
    if dice.random() < 0.4:
        query = dice.choice([" & ", " | ", " & !", " <-> ", " | !"]).join(dice.choice(["red", "green", "dogwood", "log:*", "dog:*", "100", "rédé", "ing"]) for _ in range(dice.randrange(1, 4)))
        vector = "words" if table == "notes" else "to_tsvector('simple', body)"
        return dice.choice([(f"{vector} @@ %s::tsquery", query), (f"%s::tsquery @@ {vector}", query), (f"{vector} @@ to_tsquery('english', %s)", query)])
    part = dice.choice(["red", "log", "wood", "oo", "rédé", "RED", "x\\%y", "d_g", "ΔΟΣ", "οδος", "1", ""])
    return dice.choice([
        ("body LIKE %s", f"%{part}%"), ("body ILIKE %s", f"%{part}%"), ("body LIKE %s", f"{part}%s"), ("lower(body) LIKE %s", f"%{part}%"),
        ("body LIKE %s", f"%{part}%{dice.choice(WORDS)}%"), ("body NOT LIKE %s", f"%{part}%"),
    ])


def random_query(dice):
    table = dice.choice(["notes", "notes", "plain"])
    terms, parameters = zip(*(condition(dice, table, dice.choice(COLUMNS)) for _ in range(dice.choice([1, 1, 1, 2, 3]))))
    return f"SELECT * FROM {table} WHERE {dice.choice([' AND ', ' AND ', ' OR ']).join(terms)}", list(parameters)


class Changes(Writer):
    FORGETS, STATEMENTS, AGAIN, PEOPLE = 0.05, 4, "INSERT INTO people VALUES (%s, 'again')", PEOPLE

    def values(self):
        return [or_null(self.dice, VALUES[column](self.dice)) for column in COLUMNS]

    def statement(self):
        dice = self.dice
        column = dice.choice(COLUMNS)
        return dice.choice([
            lambda: ("INSERT INTO notes (id, owner, tags, numbers, body, doc) VALUES (%s, %s, %s, %s, %s, %s)", [dice.randrange(NOTES * 2), dice.randrange(PEOPLE), *self.values()]),
            lambda: ("INSERT INTO plain VALUES (%s, %s, %s, %s)", self.values()),
            lambda: (f"UPDATE notes SET {column} = %s WHERE id = %s", [or_null(dice, VALUES[column](dice)), dice.randrange(NOTES)]),
            lambda: ("UPDATE notes SET owner = %s, tags = tags || 'red'::text WHERE numbers @> %s::int[]", [dice.randrange(PEOPLE), some(dice, range(12), 3) + [1, 2]]),
            lambda: (f"UPDATE plain SET {column} = %s WHERE tags @> %s::text[] AND doc ? 'red'", [VALUES[column](dice), ["blue"]]),
            lambda: ("DELETE FROM plain WHERE body LIKE %s AND numbers && %s::bigint[]", ["%woods%", [3]]),
            lambda: ("DELETE FROM notes WHERE doc @> %s::jsonb AND tags && %s::text[]", ['{"red": 1}', ["green"]]),
        ])()


class Inverted(AllRows):
    WRITER, TRANSACTIONS, OWN = Changes, 12, (8, 5, 10, 10)
    OWN_TRUNCATE = ("TRUNCATE plain", "INSERT INTO plain SELECT tags, numbers, body, doc FROM notes WHERE id % 5 = 0")
    OWN_ALTER = "ALTER TABLE notes ADD COLUMN added INT DEFAULT 4"

    def run(self):
        self.set_up(SCHEMA)
        with self.server.connect() as connection:
            self.fill(connection)
        for case in (self.declared, self.asked_for, self.rounds, self.own_writes, self.schema_changes, self.gone, self.kill):
            self.tally.case(case)
        self.tally.equal(self.unexpected, {}, "what writers were refused for")

    def fill(self, connection):
        writer = Changes(self.dice)
        with connection.transaction(), connection.cursor() as cursor:
            cursor.executemany("INSERT INTO people VALUES (%s, 'n')", [(number,) for number in range(PEOPLE)])
            cursor.executemany("INSERT INTO notes (id, owner, tags, numbers, body, doc) VALUES (%s, %s, %s, %s, %s, %s)", [(number, self.dice.randrange(PEOPLE), *writer.values()) for number in range(NOTES)])
            cursor.executemany("INSERT INTO plain VALUES (%s, %s, %s, %s)", [writer.values() for _ in range(1200)])

    def declared(self):
        with self.server.connect() as connection:
            for wrong, state in [
                ("CREATE UNIQUE INDEX ON notes USING gin (tags)", "0A000"), ("CREATE INDEX ON notes USING gin (body)", "42704"),
                ("CREATE INDEX ON notes USING gin (id)", "42704"), ("CREATE INDEX ON notes USING gin (tags DESC)", "0A000"),
                ("CREATE INDEX ON notes USING gin (tags) INCLUDE (id)", "0A000"), ("CREATE INDEX ON notes USING gin (tags gin_trgm_ops)", "42804"),
                ("CREATE INDEX ON notes USING gin (doc no_ops)", "42704"), ("CREATE INDEX ON notes USING gist (tags)", "0A000"),
                ("CREATE INDEX ON notes USING rum (tags)", "42704"), ("CREATE UNIQUE INDEX ON notes USING brin (id)", "0A000"),
            ]:
                self.tally.equal(state_of(connection.execute, wrong), state, wrong)
            connection.execute("CREATE INDEX plain_brin ON plain USING brin (body)")
            shown = rows(connection, "SELECT indexdef FROM pg_indexes WHERE indexname IN ('notes_both', 'notes_lower', 'plain_brin') ORDER BY indexname")
            self.tally.equal([definition for definition, in shown], [
                "CREATE INDEX notes_both ON public.notes USING gin (tags, doc jsonb_path_ops) WHERE (id > 10)",
                "CREATE INDEX notes_lower ON public.notes USING gin (lower(body) gin_trgm_ops)",
                "CREATE INDEX plain_brin ON public.plain USING brin (body)",
            ], "definitions are shown")

    def earn(self, connection):
        """Asks for every index often enough, and waits until all are there."""
        asked = [f"SELECT 1 FROM {table} WHERE {condition}" for table in ("notes", "plain")
                 for condition in ("tags @> '{red}'", "numbers @> '{1}'", "body LIKE '%wood%'", "doc ? 'red'")]
        asked += ["SELECT 1 FROM notes WHERE words @@ 'dogwood'::tsquery", "SELECT 1 FROM plain WHERE to_tsvector('simple', body) @@ 'dogwood'::tsquery"]
        asked += ["SELECT 1 FROM notes WHERE lower(body) LIKE '%wood%'", "SELECT 1 FROM notes WHERE tags @> '{red}' AND doc @> '{}'"]
        until = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < until:
            for query in asked:
                connection.execute(query)
            stages = rows(connection, "SELECT definition, stage FROM dogwood.views WHERE definition LIKE 'inverted index%'")
            if len(stages) >= 11 and all(stage == "ready" for _, stage in stages):
                break
            time.sleep(0.02)
        self.tally.that(len(stages) >= 11 and all(stage == "ready" for _, stage in stages), "inverted indexes are there", stages)

    def plan(self, connection, query, explain="EXPLAIN"):
        return "\n".join(row[0] for row in rows(connection, f"{explain} {query}"))

    def asked_for(self):
        with self.server.connect() as connection:
            query = "SELECT id FROM notes WHERE tags @> '{red,blue,green}'"
            self.tally.that("InvertedScan notes using" in self.plan(connection, query), "EXPLAIN", self.plan(connection, query))
            self.earn(connection)
            plan = self.plan(connection, query, "EXPLAIN (ANALYZE, TIMING off)")
            self.tally.that("by the index in memory" in plan, "EXPLAIN ANALYZE", plan)
            self.tally.that("all rows" in self.plan(connection, "SELECT id FROM notes WHERE tags && '{red,blue,green,dogwood}'", "EXPLAIN (ANALYZE, TIMING off)"),
                            "what finds most rows is not worth it")

    def compare_within(self, connection, when, count):
        for _ in range(count):
            query, parameters = random_query(self.dice)
            found = sorted(map(repr, rows(connection, query, parameters)))
            connection.execute("SET dogwood.auto_views = off")
            expected = sorted(map(repr, rows(connection, query, parameters)))
            connection.execute("SET dogwood.auto_views = on")
            self.tally.that(found == expected, when, f"{query} {parameters}: {len(found)} rows, expected {len(expected)}")
        return True

    def schema_changes(self):
        with self.server.connect() as connection:
            for change in ("ALTER TABLE notes ADD COLUMN more INT DEFAULT 1", "DROP INDEX notes_tags", "ALTER TABLE notes RENAME COLUMN more TO less",
                           "ALTER INDEX notes_doc RENAME TO notes_documents", "CREATE INDEX notes_tags ON notes USING gin (tags)",
                           "ALTER TABLE notes DROP COLUMN less", "ALTER TABLE plain ALTER COLUMN body TYPE VARCHAR(300)", "TRUNCATE plain"):
                connection.execute(change)
                self.compare(connection, f"after {change}", 15)
            self.earn(connection)
            self.compare(connection, "once they are there again", 40)

    def gone(self):
        """A forgotten person's rows are found by nothing, at once."""
        with self.server.connect() as connection:
            connection.execute("INSERT INTO people VALUES (9000, 'gone')")
            connection.execute("INSERT INTO notes (id, owner, tags, numbers, body, doc) VALUES (90000, 9000, '{unheard}', '{777}', 'an unheard of word', '{\"unheard\": [777]}')")
            asked = ["tags @> '{unheard}'", "numbers && '{777}'", "body LIKE '%unheard%'", "doc ? 'unheard'", "doc @> '{\"unheard\": [777]}'", "words @@ 'unheard'"]
            find = lambda: [rows(connection, f"SELECT id FROM notes WHERE {condition}") for condition in asked]  # noqa: E731
            self.tally.equal(find(), [[(90000,)]] * len(asked), "before it is forgotten")
            connection.execute("GDPR FORGET people 9000")
            self.tally.equal(find(), [[]] * len(asked), "afterwards")

    def kill(self):
        self.server.kill()
        self.server.start()
        with self.server.connect() as connection:
            self.compare(connection, "after kill -9", 30)
            self.earn(connection)
            self.compare(connection, "once they are there again", 40)


if __name__ == "__main__":
    run_check(Inverted(options(seed=27, count=8)))
