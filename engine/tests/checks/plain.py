"""Conditions, sums and groups over whole tables, where values stand packed, against PostgreSQL 15: random ones, over values of which some
are not plain (NULL, NaN, long, of other scales), in tables that people own and that nobody owns.

The same is asked with the columns hidden behind a function, and of a table whose last columns were added later.

    plain.py [--seed S] [--rows N] [--queries N]
"""
import psycopg

from harness import Check, options, rows, run_check
from harness.compared import left_out, postgres_if_there

COLUMNS = {
    "i": "INT", "b": "BIGINT", "n": "NUMERIC", "m": "NUMERIC(15, 2)", "d": "DATE", "t": "TEXT", "c": "CHAR(4)", "s": "TIMESTAMP", "o": "BOOLEAN",
}
VALUES = {
    "i": ["0", "1", "-1", "7", "2147483647", "-2147483648", None],
    "b": ["0", "5", "-9223372036854775808", "9223372036854775807", "9223372036854775806", None],
    "n": ["0", "0.00", "1", "1.0", "-1.50", "NaN", "Infinity", "99999999999999999999999999.5", "0.00000000000000000000000001", "9223372036854775807", "-0.07", None],
    "m": ["0.00", "0.05", "0.06", "0.07", "-12.34", "9999999999999.99", "24.00", None],
    "d": ["1992-01-01", "1998-09-02", "2026-11-30", "-infinity", "infinity", None],
    "t": ["", "a", "A", "AIR", "é", "a" * 200, None],
    "c": ["a", "a   ", "ab", None],
    "s": ["1992-01-01 00:00:00", "2026-11-30 12:00:00.5", None],
    "o": ["true", "false", None],
}
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


class Plain(Check):
    def run(self):
        with postgres_if_there() as postgres:
            if not postgres:
                left_out("what PostgreSQL answers to the same")
                return
            self.other = psycopg.connect(postgres.dsn, autocommit=True)
            self.own = self.server.connect()
            self.define()
            self.answered = self.all = 0
            for number in range(self.options.queries):
                self.tally.case(self.asked, number)
            self.own.execute("GDPR FORGET people 3")
            self.other.execute("DELETE FROM mine WHERE person = 3")
            for number in range(self.options.queries // 4):
                self.tally.case(self.asked, number)
            self.tally.that(self.answered > self.all // 2, "most are answered", f"{self.answered} of {self.all}")

    def both(self, own, other=None):
        self.own.execute(own)
        self.other.execute(other or own)

    def define(self):
        columns = ", ".join(f"{name} {of}" for name, of in COLUMNS.items())
        early = ", ".join(f"{name} {of}" for name, of in list(COLUMNS.items())[:4])
        self.both("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY)", "CREATE TABLE people (id INT PRIMARY KEY)")
        self.both("INSERT INTO people SELECT generate_series(1, 9)")
        self.both(f"CREATE TABLE nobodys (id INT PRIMARY KEY, person INT, {columns})")
        self.both(f"CREATE TABLE mine (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), {columns})",
                  f"CREATE TABLE mine (id INT PRIMARY KEY, person INT NOT NULL, {columns})")
        self.both(f"CREATE TABLE grown (id INT PRIMARY KEY, person INT, {early})")
        value = lambda name: "NULL" if (found := self.dice.choice(VALUES[name])) is None else "'" + found + "'"  # noqa: E731
        for table, names in (("nobodys", COLUMNS), ("mine", COLUMNS), ("grown", list(COLUMNS)[:4])):
            lines = [f"({n}, {1 + n % 9}, {', '.join(value(name) for name in names)})" for n in range(self.options.rows)]
            self.both(f"INSERT INTO {table} VALUES {', '.join(lines)}")
        for name in list(COLUMNS)[4:]:
            default = next(found for found in VALUES[name] if found)
            self.both(f"ALTER TABLE grown ADD COLUMN {name} {COLUMNS[name]} DEFAULT '{default}'")

    def literal(self, name):
        found = self.dice.choice([value for value in VALUES[name] if value is not None])
        return f"'{found}'::{COLUMNS[name].split('(')[0]}" if self.dice.random() < 0.95 else f"NULL::{COLUMNS[name].split('(')[0]}"

    def condition(self, depth=0):
        if depth < 2 and self.dice.random() < 0.4:
            parts = [self.condition(depth + 1) for _ in range(self.dice.randrange(2, 5))]
            return "(" + self.dice.choice([" AND ", " OR "]).join(parts) + ")"
        name = self.dice.choice(list(COLUMNS))
        kind = self.dice.random()
        if kind < 0.1:
            return f"{name} IN ({', '.join(self.literal(name) for _ in range(self.dice.randrange(2, 12)))})"
        if kind < 0.15:
            return f"left({name}::text, 9) IN ({', '.join(self.literal('t') for _ in range(6))})"
        if kind < 0.2:
            return f"{name} IS NOT NULL"
        if kind < 0.25:
            return f"{name} BETWEEN {self.literal(name)} AND {self.literal(name)}"
        if kind < 0.3:
            return f"{self.dice.choice('nm')} {self.dice.choice(COMPARISONS)} {self.dice.choice('nm')}"
        return f"{name} {self.dice.choice(COMPARISONS)} {self.literal(name)}"

    def number(self, depth=0):
        if depth < 3 and self.dice.random() < 0.6:
            return f"({self.number(depth + 1)} {self.dice.choice('+-*')} {self.number(depth + 1)})"
        return self.dice.choice(["n", "m", "m", "i::numeric", "b::numeric", "1", "0.5", "-2.25"])

    def asked(self, number):
        table = self.dice.choice(["nobodys", "mine", "grown"])
        calls = ["count(*)", *(self.dice.choice([f"sum({self.number()})", f"avg({self.number()})", "sum(i)", "sum(b)", "avg(b)", "count(t)", "count(n)", "min(t)", "max(m)",
                                                 "count(DISTINCT n)", f"sum(m) FILTER (WHERE {self.condition()})"]) for _ in range(self.dice.randrange(1, 6)))]
        keys = self.dice.sample(list(COLUMNS), self.dice.randrange(3))
        where = f" WHERE {self.condition()}" if self.dice.random() < 0.8 else ""
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        self.compare(f"SELECT {', '.join([*(f'{key}::text' for key in keys if key not in 'nc'), *(call + '::text' for call in calls)])} FROM {table}{where}{group}")
        self.compare(f"SELECT id, {', '.join(self.dice.sample(list(COLUMNS), 3))} FROM {table}{where}")
        self.compare(f"SELECT id, {self.number()} AS x FROM {table}{where}")

    def compare(self, text):
        told = []
        for connection in (self.own, self.other):
            try:
                told.append(sorted(map(str, rows(connection, text))))
            except psycopg.Error as error:
                told.append(error.sqlstate)
        self.all, self.answered = self.all + 1, self.answered + isinstance(told[1], list)
        self.tally.equal(told[0], told[1], text)


if __name__ == "__main__":
    run_check(Plain(options(20261130, rows=700, queries=250)))
