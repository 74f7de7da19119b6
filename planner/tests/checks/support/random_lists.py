"""Long lists of literals, which are read in a way of their own: IN of rows, casts, VALUES and ARRAY, in every place they can stand.

Each is long enough to be one run for the parser; values are few, so that most are met, and some are NULL.
"""
import random

SETUP = [
    "DROP TABLE IF EXISTS long_list, long_target",
    "CREATE TABLE long_list (id INT PRIMARY KEY, i INT, b BIGINT, k SMALLINT, n NUMERIC, f FLOAT8, s TEXT, v VARCHAR(8), c CHAR(4), d DATE, z TIMESTAMPTZ, o BOOLEAN)",
    "CREATE INDEX long_list_is ON long_list (i, s)",
    "CREATE UNIQUE INDEX long_list_bid ON long_list (b, id)",
    "CREATE TABLE long_target (i INT, n NUMERIC(6, 1), s VARCHAR(3), d DATE)",
]
COLUMNS = "ibknfsvcdzo"
ELEMENTS = 1_500
# Of a column: what its values may be written as, and types that they may be cast to.
NUMBERS = ["0", "1", "-2", "3", "70", "-70", "700"]
WRITTEN = {
    "i": (NUMBERS, ["int", "bigint", "numeric", "int2"]),
    "b": ([*NUMBERS, "3000000000"], ["bigint", "numeric(12)", "text::bigint"]),
    "k": (NUMBERS, ["int2", "int"]),
    "n": ([*NUMBERS, "0.5", "1.50", "-2.25"], ["numeric", "numeric(6,1)", "float8"]),
    "f": ([*NUMBERS, "0.5", "-2.25"], ["float8", "numeric", "double precision"]),
    "s": (["'a'", "'b '", "''", "'it''s'", "'abcd'"], ["text", "varchar", "varchar(2)", "char(3)"]),
    "v": (["'a'", "'b'", "'abcd'"], ["text", "character varying(3)"]),
    "c": (["'a'", "'b '", "'abcd'", "''"], ["text", "char(4)"]),
    "d": (["'2020-01-01'", "'2020-02-29'", "'1999-12-31'"], ["date", "timestamp"]),
    "z": (["'2020-01-01 00:00+00'", "'2020-02-29 12:00+02'"], ["timestamptz", "timestamp with time zone"]),
    "o": (["true", "false", "'t'"], ["bool", "boolean"]),
}
BROKEN = [
    "SELECT count(*) FROM long_list WHERE (s, i) IN (%s)" % ", ".join(f"({n}, {n})" for n in range(ELEMENTS)),
    "SELECT count(*) FROM long_list WHERE (s, i) IN (%s)" % ", ".join(["('a', 'x')"] * ELEMENTS),
    "SELECT count(*) FROM long_list WHERE (s, i, b) IN (%s)" % ", ".join(["('a', 1)"] * ELEMENTS),
    "SELECT count(*) FROM long_list WHERE (s, i) IN (%s)" % ", ".join(["('a', 1)"] * ELEMENTS + ["('a', 1, 2)"]),
    "SELECT count(*) FROM long_list WHERE i IN (%s)" % ", ".join(["-2147483648::int"] * ELEMENTS),
    "SELECT count(*) FROM long_list WHERE s IN (%s)" % ", ".join(["-5::text"] * ELEMENTS),
    "SELECT count(*) FROM long_list WHERE i IN (%s)" % ", ".join(["5::nonsense"] * ELEMENTS),
    "SELECT count(*) FROM long_list WHERE d IN (%s)" % ", ".join(f"'2020-01-{n % 40 + 1}'::date" for n in range(ELEMENTS)),
    "SELECT count(*) FROM long_list WHERE o IN (%s)" % ", ".join(["1::bool and true"] * ELEMENTS),
    "SELECT count(*) FROM (VALUES %s) x" % ", ".join(["('abc'::int)"] * ELEMENTS),
    "INSERT INTO long_target (s) VALUES %s" % ", ".join(["('abcdef'::text)"] * ELEMENTS),
    "INSERT INTO long_target (i) VALUES %s" % ", ".join(["('1'::text)"] * ELEMENTS),
]


class Random:
    def __init__(self, seed):
        self.dice = random.Random(seed)

    def statements(self, count):
        yield from SETUP
        for number in range(80):
            values = [self.value(column, 0.15) for column in COLUMNS]
            yield f"INSERT INTO long_list VALUES ({number}, {', '.join(values)})"
        yield from BROKEN
        for _ in range(count):
            kind = self.dice.choice([self.rows, self.rows, self.casts, self.array, self.values, self.insert, self.changed])
            yield from kind()

    def value(self, column, null=0.01):
        return "NULL" if self.dice.random() < null else self.dice.choice(WRITTEN[column][0])

    def cast(self, value, to, form=None):
        form = self.dice.choice("::::::::::cp") if form is None else form
        if form == "p" and value.startswith("'") and to in ("text", "date", "timestamp", "timestamptz"):
            return f"{to} {value}"
        return f"CAST({value} AS {to})" if form == "c" and "::" not in to else f"{value}::{to}"

    def listed(self, columns, null):
        """Rows of some columns, or their values."""
        casts = [self.dice.choice([None, None, *WRITTEN[column][1]]) for column in columns]
        forms = [self.dice.choice("::::::cp") for _ in columns]
        of = lambda column, to, form: self.value(column, null) if to is None else self.cast(self.value(column, null), to, form)  # noqa: E731
        rows = []
        for _ in range(ELEMENTS):
            row = [of(*parts) for parts in zip(columns, casts, forms)]
            rows.append(f"({', '.join(row)})" if len(row) > 1 else row[0])
        if self.dice.random() < 0.2:
            # What is no literal stands among them.
            row = [f"(SELECT {self.value(column, 0)}::{WRITTEN[column][1][0]})" for column in columns]
            rows.insert(self.dice.randrange(ELEMENTS), f"({', '.join(row)})" if len(row) > 1 else row[0])
        return ", ".join(rows)

    def condition(self):
        columns = self.dice.sample(COLUMNS, self.dice.choice([2, 2, 3]))
        left, negated = ", ".join(columns), self.dice.choice(["", "", "NOT "])
        if self.dice.random() < 0.3:
            columns, left = ["b", "i"], "b, id"
        return f"({left}) {negated}IN ({self.listed(columns, self.dice.choice([0, 0.001, 0.3]))})"

    def rows(self):
        condition = self.condition()
        yield f"SELECT id FROM long_list WHERE {condition} ORDER BY id"
        yield f"SELECT id, {condition} FROM long_list ORDER BY id"

    def casts(self):
        column = self.dice.choice(COLUMNS)
        condition = f"{column} {self.dice.choice(['', 'NOT '])}IN ({self.listed([column], self.dice.choice([0, 0.001]))})"
        yield f"SELECT id, {condition} FROM long_list ORDER BY id"

    def array(self):
        column = self.dice.choice("ibnfsd")
        made = f"ARRAY[{self.listed([column], 0.01)}]{self.dice.choice(['', '', '::text[]'])}"
        yield f"SELECT pg_typeof(x), x[1], x[500], array_length(x, 1), md5(x::text) FROM (SELECT {made} x) y"

    def values(self):
        columns = self.dice.sample("ibnfsvd", 2)
        rows = self.listed(columns, 0.01)
        if self.dice.random() < 0.3:
            first = ", ".join(self.cast(self.value(column, 0.2), WRITTEN[column][1][0], ":") for column in columns)
            rows = f"({first}), " + ", ".join(f"({self.value(columns[0])}, {self.value(columns[1])})" for _ in range(ELEMENTS))
        yield f"SELECT a, b, pg_typeof(a), pg_typeof(b), count(*) FROM (VALUES {rows}) x (a, b) GROUP BY a, b"

    def insert(self):
        yield f"INSERT INTO long_target (i, d) VALUES {self.listed(['i', 'd'], 0.01)}"
        yield f"INSERT INTO long_target (n, s) VALUES {self.listed(['n', 'v'], 0.01)}"
        yield "SELECT i, n, s, d, count(*) FROM long_target GROUP BY 1, 2, 3, 4"
        yield "DELETE FROM long_target"

    def changed(self):
        yield "BEGIN"
        yield f"UPDATE long_list SET i = i + 1 WHERE {self.condition()}"
        yield f"DELETE FROM long_list WHERE {self.condition()}"
        yield "SELECT * FROM long_list ORDER BY id"
        yield "ROLLBACK"
