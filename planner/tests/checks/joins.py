#!/usr/bin/env python3
"""Random joins over tables with statistics: the rows are PostgreSQL's, in whatever order they are joined and whichever side is held.

    statistics    made by themselves and by ANALYZE; pg_class and pg_stats show them, and nobody's values
    erasure       after GDPR FORGET no value is known any more, and joins are as right as before
    by reference  people's rows are found by a part of a foreign key, through the table that it refers to; those with NULLs, too
    existence     EXISTS and NOT EXISTS by entries alone, of keys with NULLs and without, amid a transaction's own rows
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
    "goods": 2_000,
    "stock": 8_000,
    "lines": 24_000,
}
DEFINITIONS = """
CREATE TABLE places (id int PRIMARY KEY, name text, kind int);
CREATE {subject}TABLE people (id int PRIMARY KEY, name text, place int, born date);
CREATE TABLE visits (id int PRIMARY KEY, person int NOT NULL {owned}people(id), place int, day date, cost numeric(10, 2), mark text);
CREATE TABLE notes (person int NOT NULL {owned}people(id), number int, visit int, word text, size bigint, PRIMARY KEY (person, number));
CREATE TABLE goods (id int PRIMARY KEY, word text, size int);
CREATE TABLE stock (good int NOT NULL REFERENCES goods (id), place int NOT NULL REFERENCES places (id), PRIMARY KEY (good, place));
CREATE TABLE lines (id int PRIMARY KEY, person int NOT NULL {owned}people(id), good int, place int, amount int, FOREIGN KEY (good, place) REFERENCES stock (good, place));
CREATE INDEX visits_place ON visits (place);
CREATE INDEX notes_visit ON notes (visit);
INSERT INTO places SELECT n, 'p' || n % 7, n % 3 FROM generate_series(0, {places}) n;
INSERT INTO people SELECT n, 'name ' || n % 311, CASE WHEN n % 19 = 0 THEN NULL ELSE n * 7 % 45 END, date '1950-01-01' + n * 13 % 20000
    FROM generate_series(1, {people}) n;
INSERT INTO visits SELECT n, 1 + n * n % {people}, CASE WHEN n % 23 = 0 THEN NULL ELSE n % 45 END, date '2020-01-01' + n % 900,
    n % 500 / 4.0, CASE WHEN n % 100 = 0 THEN 'rare' WHEN n % 3 = 0 THEN NULL ELSE 'often' END FROM generate_series(1, {visits}) n;
INSERT INTO notes SELECT 1 + n % {people}, n / {people}, CASE WHEN n % 11 = 0 THEN NULL ELSE n * 3 % 30000 END, 'w' || n % 97, n % 1000
    FROM generate_series(0, {notes}) n;
INSERT INTO goods SELECT n, 'g' || n % 37, n % 100 FROM generate_series(1, {goods}) n;
INSERT INTO stock SELECT 1 + n / 4, (n / 4 * 7 + n % 4 * 11) % 40 FROM generate_series(0, {stock} - 1) n;
INSERT INTO lines SELECT n, 1 + n * 13 % {people}, CASE WHEN n % 17 = 0 THEN NULL ELSE 1 + good END, CASE WHEN n % 29 = 0 THEN NULL ELSE (good * 7 + n % 4 * 11) % 40 END,
    n % 101 FROM generate_series(1, {lines}) n, LATERAL (SELECT n * 31 % {goods} AS good) AS chosen
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
    ("lines", "goods"): ["good = id"],
    ("lines", "stock"): ["good = good AND place = place", "good = good"],
    ("lines", "people"): ["person = id"],
    ("lines", "lines"): ["good = good AND place = place"],
    ("stock", "goods"): ["good = id"],
    ("stock", "places"): ["place = id"],
}
FILTERS = {
    "people": ["{a}.born < date '1960-01-01'", "{a}.name LIKE 'name 1%'", "{a}.place IS NULL", "{a}.id % 5 = 1", "{a}.place IN (1, 2, 3)"],
    "places": ["{a}.kind = 1", "{a}.name = 'p3'", "{a}.id < 5"],
    "visits": ["{a}.mark = 'rare'", "{a}.mark IS NULL", "{a}.day BETWEEN date '2020-03-01' AND date '2020-03-20'", "{a}.cost > 100.5", "{a}.place = 7"],
    "goods": ["{a}.size = 7", "{a}.word = 'g3'", "{a}.size < 3 OR {a}.word = 'g9'", "{a}.id % 40 = 1"],
    "stock": ["{a}.place = 3", "{a}.good < 20"],
    "lines": ["{a}.amount > 95", "{a}.place IS NULL", "{a}.good IS NULL", "{a}.amount % 7 = 1"],
    "notes": ["{a}.word = 'w13'", "{a}.size BETWEEN 10 AND 30", "{a}.number = 2", "{a}.word < 'w2'", "{a}.size % 2 = 0 OR {a}.number > 1"],
}
COLUMNS = {"people": ["id", "name", "born"], "places": ["id", "name"], "visits": ["id", "day", "mark"], "notes": ["person", "number", "word"],
           "goods": ["id", "word"], "stock": ["good", "place"], "lines": ["id", "good", "place"]}
# Joins by a part of a foreign key of a table with conditions of its own, on columns that nothing else reads, or on what was computed of them.
FILTERED = [
    "SELECT count(*), min(l.id) FROM lines l JOIN goods g ON l.good = g.id WHERE g.size = 7 AND l.amount IN (3, 7, 11, 20)",
    "SELECT count(*), sum(l.twice) FROM (SELECT id, good, 2 * amount AS twice FROM lines WHERE amount > 3) l JOIN goods g ON l.good = g.id WHERE g.size = 7 AND l.twice < 60",
    """SELECT count(*), sum(l.id) FROM lines l, goods g WHERE (g.id = l.good AND g.word = 'g1' AND g.size < 9 AND l.amount BETWEEN 1 AND 50)
        OR (g.id = l.good AND g.word = 'g4' AND g.size < 9 AND l.amount BETWEEN 10 AND 60)""",
]
# And of others.
PARTLY = [
    "SELECT count(*), sum(l.amount), count(l.place), min(l.id), max(l.id) FROM goods g JOIN lines l ON l.good = g.id WHERE g.size = 7",
    "SELECT l.id, l.place, g.word FROM lines l, goods g WHERE l.good = g.id AND g.id IN (3, 77, 500) AND l.amount > g.size ORDER BY 1",
    "SELECT l.id, g.id FROM (SELECT id FROM goods WHERE size = 7 UNION ALL SELECT id FROM goods WHERE size = 7) g JOIN lines l ON g.id = l.good ORDER BY 1, 2 LIMIT 90",
    "SELECT g.id, l.amount FROM lines l JOIN goods g ON l.good = g.id WHERE g.word = 'g3' AND g.size = 7 AND l.place IS NULL ORDER BY 1, 2",
    "SELECT count(*) FROM lines l JOIN goods g ON l.good = g.id WHERE g.size = 7 AND l.place IS NOT NULL",
    "SELECT sum(l.amount) FROM lines l, goods g WHERE g.id = l.good AND g.size = 7 AND l.amount < (SELECT avg(m.amount) FROM lines m WHERE m.good = g.id)",
    "SELECT count(*), sum(l.amount) FROM lines l, goods g WHERE (g.id = l.good AND g.word = 'g1' AND g.size = 7 AND l.amount < 50) OR (g.id = l.good AND g.word = 'g4' AND g.size = 8)",
    "SELECT count(*) FROM lines l JOIN goods g ON l.good = g.id WHERE g.size = 7 AND g.size = 8",
    "SELECT count(*), min(s.place) FROM stock s JOIN lines l ON l.good = s.good WHERE s.good < 9",
    *FILTERED,
]
# What an index's entries say.
EXISTING = [
    "SELECT count(*), min(id) FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.person = p.id) AND p.id % 2 = 1",
    "SELECT count(*), min(id) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.id) AND p.id < 50",
    "SELECT count(*), sum(n.number) FROM notes n WHERE NOT EXISTS (SELECT 1 FROM notes m WHERE m.visit = n.visit + 1) AND n.person < 40",
    "SELECT count(*) FROM stock s WHERE NOT EXISTS (SELECT 1 FROM lines l WHERE l.good = s.good AND l.place IS NULL) AND s.good < 60",
    "SELECT count(*) FROM stock s WHERE EXISTS (SELECT 1 FROM lines l WHERE l.good = s.good AND l.place IS NULL) AND s.good < 60",
    "SELECT s.good, l.id FROM stock s LEFT JOIN lines l ON l.good = s.good AND l.place IS NULL WHERE s.good < 20 ORDER BY 1, 2",
    "SELECT count(*) FROM goods g WHERE g.id < 30 AND EXISTS (SELECT 1 FROM stock s WHERE s.good = g.id)",
    "SELECT count(*) FROM lines l WHERE l.id < 300 AND l.place NOT IN (SELECT place FROM stock WHERE good = 3)",
    "SELECT p.id, count(v.id) FROM people p LEFT JOIN visits v ON v.person = p.id AND v.mark NOT LIKE 'r%' GROUP BY p.id ORDER BY 2 DESC, 1 LIMIT 9",
    "SELECT count(*) FROM visits v WHERE v.place IN (SELECT id FROM places WHERE kind = 1 AND name = 'p3')",
]


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
        require(table in ("places", "goods", "stock") or (common is None and bounds is None), f"values of people are shown: {table}.{column}")
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


def alike(wire, other, queries, where=""):
    for sql in queries:
        found, expected = asked(wire, sql), asked(other, sql)
        require(found == expected, f"{where}{sql}: {found[:3]} here, {expected[:3]} in PostgreSQL")


def by_reference(wire, other):
    """What has NULLs in its foreign key is found, too; where nothing refers, or may not yet, all rows are read."""
    alike(wire, other, PARTLY)
    plan = " ".join(row[0] for row in asked(wire, f"EXPLAIN {PARTLY[0]}"))
    require("l.good = stock.good" in plan and "l.place IS NULL" in plan, f"not by way of what it refers to: {plan}")
    for sql in FILTERED:
        plan = " ".join(row[0] for row in asked(wire, f"EXPLAIN {sql}"))
        require("LookupJoin Inner stock" in plan and "place IS NULL" in plan, f"{sql} goes not by way of what it refers to: {plan}")
    plan = " ".join(row[0] for row in asked(wire, "EXPLAIN SELECT count(*) FROM goods g JOIN lines l ON l.good = g.id"))
    require("stock" not in plan, f"all rows are wanted: {plan}")
    for one in (wire, other):
        for sql in ("BEGIN", "INSERT INTO goods VALUES (90001, 'g3', 7)", "INSERT INTO stock VALUES (90001, 1)",
                    "INSERT INTO lines VALUES (90001, 1, 90001, 1, 5), (90002, 1, 90001, NULL, 6)", "DELETE FROM lines WHERE id % 5 = 0",
                    "UPDATE lines SET place = NULL WHERE id % 7 = 0"):
            asked(one, sql)
    alike(wire, other, PARTLY + EXISTING, "amid a transaction: ")
    for one in (wire, other):
        asked(one, "ROLLBACK")
    # Until COMMIT what is deferred may refer to nothing.
    for one in (wire, other):
        for sql in ("ALTER TABLE lines DROP CONSTRAINT lines_good_place_fkey",
                    "ALTER TABLE lines ADD CONSTRAINT later FOREIGN KEY (good, place) REFERENCES stock (good, place) DEFERRABLE INITIALLY DEFERRED",
                    "BEGIN", "INSERT INTO lines VALUES (90003, 1, 7, 39, 5)"):
            asked(one, sql)
    alike(wire, other, PARTLY, "deferred: ")
    for one in (wire, other):
        for sql in ("ROLLBACK", "ALTER TABLE lines DROP CONSTRAINT later", "INSERT INTO lines VALUES (90003, 1, 7, 39, 5)",
                    "ALTER TABLE lines ADD CONSTRAINT unchecked FOREIGN KEY (good, place) REFERENCES stock (good, place) NOT VALID"):
            asked(one, sql)
    alike(wire, other, PARTLY, "not valid: ")
    for one in (wire, other):
        for sql in ("DELETE FROM lines WHERE id = 90003", "ALTER TABLE lines VALIDATE CONSTRAINT unchecked"):
            asked(one, sql)
    alike(wire, other, PARTLY, "validated: ")


# Erasure blanks columns that are declared NOT NULL.
PARCELS = """
CREATE TABLE parcels (id int PRIMARY KEY, sender int NOT NULL OWNED_BY people(id), receiver int NOT NULL OWNED_BY people(id), good int NOT NULL, place int NOT NULL,
    FOREIGN KEY (good, place) REFERENCES stock (good, place), ON DEL sender ANON (sender, place));
INSERT INTO parcels SELECT n, 1 + n % 4000, 1 + (n + 1) % 4000, 1 + n % 2000, (n % 2000 * 7 + n % 4 * 11) % 40 FROM generate_series(1, 16000) n;
ANALYZE parcels
"""
BLANKED = "SELECT count(*), count(p.place), sum(p.id) FROM goods g JOIN parcels p ON p.good{} = g.id WHERE g.size = 17 AND g.id < 90"


def existence(wire, other):
    """Rows that are only asked for are not opened, and are there all the same; the audit log says whose they are."""
    alike(wire, other, EXISTING)
    alike(wire, other, ["SELECT count(*) FROM places p WHERE p.id IN (2, 5) AND EXISTS (SELECT 1 FROM visits v WHERE v.person = p.id)"])
    noted = asked(wire, "SELECT tables, subject_count FROM dogwood.audit WHERE operation = 'select' ORDER BY number DESC LIMIT 1")
    require(noted == [("{visits}", "2")], f"whose rows are there is noted: {noted}")


def forgotten(wire):
    """No value outlives an erasure; what is expected is reckoned without."""
    for sql in PARCELS.split(";\n"):
        asked(wire, sql)
    plan = " ".join(row[0] for row in asked(wire, f"EXPLAIN {BLANKED.format('')}"))
    require("p.place IS NULL" in plan, f"not by way of what it refers to: {plan}")
    before = asked(wire, BLANKED.format(""))
    asked(wire, "GDPR FORGET people(17)")
    asked(wire, "ANALYZE parcels")
    after, plainly = asked(wire, BLANKED.format("")), asked(wire, BLANKED.format(" + 0"))
    require(after == plainly and after[0][1] < before[0][1] and after[0][1] < after[0][0], f"what is blank is lost: {before}, then {after}, which is {plainly}")
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
        for check in (statistics, estimates, lambda wire: existence(wire, other), lambda wire: by_reference(wire, other)):
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
