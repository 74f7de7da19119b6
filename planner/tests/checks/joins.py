#!/usr/bin/env python3
"""Random joins over tables with statistics: the rows are PostgreSQL's, in whatever order they are joined and whichever side is held.

    statistics    made by themselves and by ANALYZE; pg_class and pg_stats show them, and nobody's values
    erasure       after GDPR FORGET no value is known any more, and joins are as right as before
    joins         of two to six tables, by keys and by parts of them, inner, left, semi and anti, under groups, orders and limits

    joins.py [--seed N] [--count N] [--seconds N] [--case N]     prints how many cases ran; --case repeats one of them
"""

import argparse
import collections
import random
import sys
import time

from harness.compared import Dogwood, Postgres, Wire, left_out, postgres_there

# Large enough for statistics to count; the rows differ in how many share a value.
TABLES = {
    "people": 4_000,
    "places": 40,
    "visits": 24_000,
    "notes": 15_000,
}
DEFINITIONS = """
CREATE TABLE places (id int PRIMARY KEY, name text, kind int);
CREATE {subject}TABLE people (id int PRIMARY KEY, name text, place int, born date);
CREATE TABLE visits (id int PRIMARY KEY, person int NOT NULL {owned}people(id), place int, day date, cost numeric(10, 2), mark text);
CREATE TABLE notes (person int NOT NULL {owned}people(id), number int, visit int, word text, size bigint, PRIMARY KEY (person, number));
CREATE INDEX visits_place ON visits (place);
CREATE INDEX notes_visit ON notes (visit);
INSERT INTO places SELECT n, 'p' || n % 7, n % 3 FROM generate_series(0, {places}) n;
INSERT INTO people SELECT n, 'name ' || n % 311, CASE WHEN n % 19 = 0 THEN NULL ELSE n * 7 % 45 END, date '1950-01-01' + n * 13 % 20000
    FROM generate_series(1, {people}) n;
INSERT INTO visits SELECT n, 1 + n * n % {people}, CASE WHEN n % 23 = 0 THEN NULL ELSE n % 45 END, date '2020-01-01' + n % 900,
    n % 500 / 4.0, CASE WHEN n % 100 = 0 THEN 'rare' WHEN n % 3 = 0 THEN NULL ELSE 'often' END FROM generate_series(1, {visits}) n;
INSERT INTO notes SELECT 1 + n % {people}, n / {people}, CASE WHEN n % 11 = 0 THEN NULL ELSE n * 3 % 30000 END, 'w' || n % 97, n % 1000
    FROM generate_series(0, {notes}) n
"""
# What ties two tables: their columns.
TIES = {
    ("people", "places"): ["place = id", "place = kind"],
    ("visits", "people"): ["person = id", "place = place", "person = id AND place = place"],
    ("visits", "places"): ["place = id", "place = kind"],
    ("notes", "people"): ["person = id"],
    ("notes", "visits"): ["visit = id", "person = person AND visit = id", "visit + 1 = id"],
    ("visits", "visits"): ["person = id"],
    ("notes", "notes"): ["person = person AND number = number", "visit = visit"],
}
FILTERS = {
    "people": ["{a}.born < date '1960-01-01'", "{a}.name LIKE 'name 1%'", "{a}.place IS NULL", "{a}.id % 5 = 1", "{a}.place IN (1, 2, 3)"],
    "places": ["{a}.kind = 1", "{a}.name = 'p3'", "{a}.id < 5"],
    "visits": ["{a}.mark = 'rare'", "{a}.mark IS NULL", "{a}.day BETWEEN date '2020-03-01' AND date '2020-03-20'", "{a}.cost > 100.5", "{a}.place = 7"],
    "notes": ["{a}.word = 'w13'", "{a}.size BETWEEN 10 AND 30", "{a}.number = 2", "{a}.word < 'w2'", "{a}.size % 2 = 0 OR {a}.number > 1"],
}
COLUMNS = {"people": ["id", "name", "born"], "places": ["id", "name"], "visits": ["id", "day", "mark"], "notes": ["person", "number", "word"]}


class Query:
    """One query over joined tables."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tables = []
        self.conditions = []

    def condition(self, left, right):
        """Columns of two tables that tie them, if any do; names are (table, alias)."""
        for one, other in ((left, right), (right, left)):
            ties = TIES.get((one[0], other[0]))
            if ties:
                sides = [tie.split(" = ") for tie in self.random.choice(ties).split(" AND ")]
                return " AND ".join(f"{one[1]}.{a} = {other[1]}.{b}" for a, b in sides)
        return None

    def filters(self, table, most=2):
        found = self.random.sample(FILTERS[table[0]], self.random.randint(0, most))
        return [f"({text.format(a=table[1])})" for text in found]

    def next_table(self, alias):
        """A table that can be tied to one that is there, and how."""
        while True:
            table = (self.random.choice(list(TABLES)), alias)
            condition = self.condition(self.random.choice(self.tables), table)
            if condition:
                return table, condition

    def text(self):
        pick = self.random.choice
        self.tables = [(pick(list(TABLES)), "t0")]
        source = f"{self.tables[0][0]} t0"
        where = self.filters(self.tables[0])
        for number in range(1, self.random.randint(2, 6)):
            table, condition = self.next_table(f"t{number}")
            kind = pick(["inner", "inner", "inner", "comma", "left", "exists", "not exists", "in", "grouped"])
            own = " AND ".join([condition, *self.filters(table, 1)])
            if kind == "inner":
                source += f" JOIN {table[0]} {table[1]} ON {own}"
                self.tables.append(table)
            elif kind == "comma":
                source += f" CROSS JOIN {table[0]} {table[1]}"
                where.append(own)
                self.tables.append(table)
            elif kind == "left":
                source += f" LEFT JOIN {table[0]} {table[1]} ON {own}"
                self.tables.append(table)
            elif kind in ("in", "grouped"):
                left, right = condition.split(" AND ")[0].split(" = ")
                inner, outer = (left, right) if f"{table[1]}." in left else (right, left)
                few = f"GROUP BY {inner} HAVING count(*) > {pick([1, 3, 9])}" if kind == "grouped" else ""
                where.append(f"{outer} IN (SELECT {inner} FROM {table[0]} {table[1]} {self.where(self.filters(table))} {few})")
            else:
                where.append(f"{kind.upper()} (SELECT 1 FROM {table[0]} {table[1]} WHERE {own})")
        # Products are bounded by what one table has.
        where.append(f"t0.{COLUMNS[self.tables[0][0]][0]} % {pick([1, 3, 11])} = 0")
        columns = [f"{alias}.{column}" for table, alias in self.tables for column in self.random.sample(COLUMNS[table], 1)]
        if pick([True, True, False]):
            return f"SELECT {columns[0]}, count(*), count({columns[-1]}), min({columns[-1]}) FROM {source} {self.where(where)} GROUP BY 1 ORDER BY 1 LIMIT 50"
        listed = ", ".join(columns)
        return f"SELECT count(*), count(DISTINCT ({listed})), max({columns[-1]}) FROM {source} {self.where(where)}"

    @staticmethod
    def where(conditions):
        return f"WHERE {' AND '.join(conditions)}" if conditions else ""


class Failed(Exception):
    """What must hold does not."""


def asked(wire, sql):
    answer = wire.run(sql)
    if answer.error:
        raise Failed(f"{sql}: {answer.error} {answer.message}")
    return [tuple(None if value is None else value.decode() for value in row) for row in answer.rows]


def require(holds, what):
    if not holds:
        raise Failed(what)


def statistics(wire):
    """What is known is shown, but for people's values."""
    asked(wire, "ANALYZE")
    rows = dict(asked(wire, "SELECT relname, reltuples FROM pg_class WHERE relname IN ('visits', 'places', 'people')"))
    require(float(rows["visits"]) == TABLES["visits"], f"reltuples of visits: {rows}")
    shown = asked(wire, "SELECT tablename, attname, n_distinct, most_common_vals, histogram_bounds FROM pg_stats")
    known = {(row[0], row[1]): row[2:] for row in shown}
    require(known["places", "kind"][0] == "3" and known["places", "kind"][1], f"values of an impersonal table: {known['places', 'kind']}")
    for (table, column), (_, common, bounds) in known.items():
        require(table == "places" or (common is None and bounds is None), f"values of people are shown: {table}.{column}")
    require(float(known["people", "id"][0]) == -1, "a key has as many values as rows")


def estimates(wire):
    """EXPLAIN says what is expected, and a role that policies bind learns nothing by values."""
    plan = " ".join(row[0] for row in asked(wire, "EXPLAIN SELECT count(*) FROM visits WHERE mark = 'rare'"))
    require("(rows=240)" in plan, f"the share of a value is known: {plan}")
    for sql in ("CREATE ROLE guest", "GRANT SELECT ON visits TO guest", "ALTER TABLE visits ENABLE ROW LEVEL SECURITY",
                "CREATE POLICY few ON visits FOR SELECT TO guest USING (id < 10)", "SET ROLE guest"):
        asked(wire, sql)
    plan = " ".join(row[0] for row in asked(wire, "EXPLAIN SELECT count(*) FROM visits WHERE mark = 'rare'"))
    require("(rows=240)" not in plan, f"whoever may not see all rows learns how many have a value: {plan}")
    seen = asked(wire, "SELECT count(*) FROM pg_stats WHERE tablename = 'people'")
    require(seen == [("0",)], "statistics of a table that may not be read are shown")
    for sql in ("RESET ROLE", "DROP POLICY few ON visits", "ALTER TABLE visits DISABLE ROW LEVEL SECURITY", "REVOKE SELECT ON visits FROM guest", "DROP ROLE guest"):
        asked(wire, sql)


def forgotten(wire):
    """No value outlives an erasure; what is expected is reckoned without."""
    asked(wire, "GDPR FORGET people(17)")
    # Until the next look of the server none is known.
    plan = " ".join(row[0] for row in asked(wire, "EXPLAIN SELECT count(*) FROM visits WHERE mark = 'rare'"))
    require("(rows=" in plan, f"sizes stay known: {plan}")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seed", type=int, default=22)
    arguments.add_argument("--count", type=int, default=150)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--case", type=int)
    options = arguments.parse_args()
    if not postgres_there():
        left_out("random joins")
        return 0
    passed, failed, slow, began = 0, 0, 0, time.monotonic()
    with Dogwood() as server, Postgres() as postgres:
        wire, other = Wire(server.dsn, patience=120), Wire(postgres.dsn, patience=120)
        for one, subject, owned in ((wire, "DATA_SUBJECT ", "OWNED_BY "), (other, "", "REFERENCES ")):
            for sql in DEFINITIONS.format(subject=subject, owned=owned, **TABLES).split(";\n"):
                asked(one, sql)
        asked(other, "ANALYZE")
        asked(wire, "SET dogwood.auto_views = off")
        for check in (statistics, estimates):
            try:
                check(wire)
                passed += 1
            except Failed as wrong:
                failed += 1
                print(f"WRONG {check.__name__}: {wrong}", flush=True)
        numbers = range(options.count) if options.case is None else [options.case]
        for number in numbers:
            if failed > 10 or time.monotonic() - began > options.seconds:
                break
            sql = Query(f"{options.seed} {number}").text()
            found, expected = wire.run(sql), other.run(sql)
            if "57014" in (found.error, expected.error):
                # No answer is no wrong one: what is too much for either is told, and may not be much.
                slow += 1
                print(f"slow, --seed {options.seed} --case {number}: {found.error} here, {expected.error} in PostgreSQL", flush=True)
                continue
            same = found.error == expected.error and collections.Counter(map(tuple, found.rows)) == collections.Counter(map(tuple, expected.rows))
            passed, failed = passed + same, failed + (not same)
            if not same:
                print(f"WRONG --seed {options.seed} --case {number}\n    {sql}\n    {found.error} {found.message} {found.rows[:3]}\n    {expected.error} {expected.rows[:3]}", flush=True)
        if slow * 20 > passed + slow:
            failed += 1
            print(f"WRONG {slow} were too slow", flush=True)
        try:
            forgotten(wire)
            passed += 1
        except Failed as wrong:
            failed += 1
            print(f"WRONG forgotten: {wrong}", flush=True)
        panics = server.log.read_text(errors="replace").count("internal error")
    print(f"{passed} passed, {failed + panics} failed (seed {options.seed})")
    return 1 if failed + panics else 0


if __name__ == "__main__":
    sys.exit(main())
