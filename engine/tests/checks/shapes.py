"""Shapes of statements whose cost must grow with their rows and no faster: lists of literals, IN and EXISTS as values, joins by
order, the nearest row by an order.

Answers are PostgreSQL's over random rows with NULLs and duplicates, from one-shots and from views while rows change. Then ten runs over
2,000 rows against one over 20,000, in the server's own processor time: quadratic is a ratio of ten, and less than four passes.

    shapes.py [--seed S] [--count N] [--only ANSWERS|GROWTH]        N random tables (4)
"""
import argparse
import os
import random

from harness import Tally, state_of
from harness.compared import Dogwood, Wire, left_out, postgres_if_there

SCHEMA = """CREATE TABLE o (id INT PRIMARY KEY, k INT, x INT, y INT, w BIGINT, s TEXT, n NUMERIC);
CREATE TABLE i (id INT PRIMARY KEY, k INT, x INT, y INT, w BIGINT, s TEXT, n NUMERIC)"""

# Values of a row of o by what i holds; each may stand in the select list, under FILTER, in CASE and in WHERE.
MARKS = [
    "o.x IN (SELECT x FROM i)",
    "o.x NOT IN (SELECT x FROM i)",
    "o.x NOT IN (SELECT x FROM i WHERE x IS NOT NULL)",
    "o.x IN (SELECT id FROM i)",
    "o.id IN (SELECT x FROM i)",
    "o.x IN (SELECT x FROM i WHERE i.k = o.k)",
    "o.x NOT IN (SELECT x FROM i WHERE i.k = o.k)",
    "o.x IN (SELECT i.x + o.y FROM i WHERE i.k = o.k)",
    "o.x IN (SELECT x FROM i WHERE i.id < o.y)",
    "o.x = ANY (SELECT w FROM i)",
    "o.w IN (SELECT n FROM i)",
    "o.n IN (SELECT x FROM i)",
    "o.x + 1 IN (SELECT max(x) FROM i GROUP BY k)",
    "o.x NOT IN (SELECT x FROM i WHERE i.k = o.k ORDER BY id LIMIT 2)",
    "(SELECT max(x) FROM i WHERE i.k = o.k) IN (SELECT y FROM i)",
    "o.s IN (SELECT s FROM i)",
    "o.x IN (SELECT x FROM i WHERE false)",
    "NULL IN (SELECT x FROM i WHERE i.k = o.k)",
    "(o.x, o.y) IN (SELECT x, y FROM i)",
    "(o.x, o.y) NOT IN (SELECT x, y FROM i)",
    "(o.x, o.y) NOT IN (SELECT x, y FROM i WHERE i.k = o.k)",
    "(o.x, o.y, o.s) IN (SELECT x, y, s FROM i WHERE k IS NOT NULL)",
    "o.x < ANY (SELECT x FROM i WHERE i.k = o.k)",
    "o.x > ALL (SELECT x FROM i WHERE i.k = o.k)",
    "o.x <> ALL (SELECT x FROM i)",
    "o.x <> ALL (SELECT x FROM i WHERE i.k = o.k)",
    "(o.x, o.y) <> ALL (SELECT x, y FROM i)",
    "o.x < ANY (SELECT x FROM i)",
    "o.x <= SOME (SELECT w FROM i)",
    "o.x >= ALL (SELECT x FROM i WHERE x IS NOT NULL)",
    "o.s > ALL (SELECT s FROM i)",
    "o.n > ANY (SELECT y FROM i WHERE i.k = o.k)",
    "o.x + 1 < ALL (SELECT max(y) FROM i GROUP BY k)",
    "o.x < ALL (SELECT x FROM i WHERE i.id < o.y)",
    "o.x > ANY (SELECT x FROM i WHERE i.k = o.k ORDER BY id LIMIT 2)",
    "(SELECT max(x) FROM i WHERE i.k = o.k) > ANY (SELECT y FROM i)",
    "NULL < ANY (SELECT x FROM i)",
    "o.x < ALL (SELECT x FROM i WHERE false)",
    "o.x <> ANY (SELECT x FROM i)",
    "o.x <> ANY (SELECT x FROM i WHERE i.k = o.k)",
    "o.x = ALL (SELECT x FROM i WHERE i.k = o.k)",
    "(o.x, o.y) < ANY (SELECT x, y FROM i)",
    "(o.x, o.y) >= ALL (SELECT x, y FROM i)",
    "(o.x, o.y) > ALL (SELECT x, y FROM i WHERE i.k = o.k)",
    "(o.x, o.y, o.s) <= ANY (SELECT x, y, s FROM i WHERE k IS NOT NULL)",
    "(o.x, o.id) < ALL (SELECT x, id FROM i)",
    "(o.x, o.y) <> ANY (SELECT x, y FROM i)",
    "(o.x, o.y) = ALL (SELECT x, y FROM i WHERE i.k = o.k)",
    "EXISTS (SELECT FROM i WHERE i.x = o.x)",
    "NOT EXISTS (SELECT FROM i WHERE i.x = o.x AND i.k = o.k)",
    "EXISTS (SELECT FROM i WHERE i.x < o.x)",
    "EXISTS (SELECT FROM i WHERE i.k = o.k AND i.x > o.x AND i.y <> o.y)",
    "EXISTS (SELECT FROM i WHERE o.x BETWEEN i.x AND i.y)",
    "NOT EXISTS (SELECT FROM i WHERE i.x BETWEEN o.x AND o.y)",
    "CASE WHEN o.x > 3 THEN o.y IN (SELECT x FROM i) WHEN EXISTS (SELECT FROM i WHERE i.k = o.k) THEN o.s IN (SELECT s FROM i) END",
    "CASE WHEN o.y <> 0 THEN 12 / o.y IN (SELECT x FROM i) ELSE false END",
    "o.x IN (VALUES (1), (2), (NULL), (o.y))",
]
# The nearest row, or what lies beside.
NEAREST = [
    "(SELECT max(i.x) FROM i WHERE i.x < o.x)",
    "(SELECT min(i.x) FROM i WHERE i.x >= o.x)",
    "(SELECT min(i.id) || '-' || max(i.id) FROM i WHERE i.id > o.id AND i.id < o.w)",
    "(SELECT max(i.x) FROM i WHERE i.x < o.x AND i.k = o.k)",
    "(SELECT max(i.x) FROM i WHERE i.x < o.x AND i.y > o.y)",
    "(SELECT max(i.y) FROM i WHERE i.x < o.x)",
    "(SELECT max(i.n) FROM i WHERE i.n <= o.n)::float8",
    "(SELECT min(i.s) FROM i WHERE i.s > o.s)",
    "(SELECT max(i.w) FROM i WHERE i.w < o.x)",
    "(SELECT max(i.x + 1) FROM i WHERE i.x + 1 < o.x)",
    "(SELECT max(i.x) FROM i JOIN i j ON j.id = i.y WHERE i.x < o.x)",
    "(SELECT count(*) FROM i WHERE i.x < o.x)",
    "(SELECT sum(i.y) FROM i WHERE i.x <= o.x AND i.k = o.k)",
    "(SELECT max(i.x) - count(*) FROM i WHERE i.x < o.x)",
    "(SELECT i.id FROM i WHERE i.x <= o.x ORDER BY i.x DESC, i.id LIMIT 1)",
    "(SELECT i.id FROM i WHERE i.x >= o.x AND i.k = o.k ORDER BY i.x, i.y DESC NULLS LAST, i.id DESC LIMIT 1)",
    "(SELECT i.id FROM i WHERE i.x < o.x ORDER BY i.x DESC, i.y NULLS FIRST, i.id DESC LIMIT 1 OFFSET 2)",
    "(SELECT i.id FROM i WHERE i.id < o.id ORDER BY i.id DESC LIMIT 1)",
    "ARRAY(SELECT i.id FROM i WHERE i.x < o.x ORDER BY i.x DESC, i.id LIMIT 3)",
]
QUERIES = [
    "SELECT count(*) FILTER (WHERE {m}), count(*) FILTER (WHERE ({m}) IS NULL), sum(x) FILTER (WHERE NOT ({m})) FROM o",
    "SELECT k, count(*) FILTER (WHERE {m}) FROM o GROUP BY k",
    "SELECT id, {m} FROM o",
    "SELECT id FROM o WHERE {m}",
    "SELECT id FROM o WHERE NOT ({m})",
    "SELECT id FROM o WHERE {m} OR x IN (SELECT y FROM i)",
    "SELECT id FROM o WHERE ({m}) IS NULL AND x > 2",
    "SELECT o.id, l.v FROM o, LATERAL (SELECT {m} AS v) l",
]
JOINS = [
    "SELECT o.id, i.id FROM o JOIN i ON o.x BETWEEN i.x AND i.y",
    "SELECT o.id, i.id FROM o JOIN i ON i.x BETWEEN o.x AND o.y AND i.s <> o.s",
    "SELECT o.id, i.id FROM o JOIN i ON i.id < o.id AND i.id > o.id - 4",
    "SELECT o.id, i.id FROM o JOIN i ON i.k = o.k AND i.n >= o.n",
    "SELECT o.id, i.id FROM o LEFT JOIN i ON i.x BETWEEN o.x - 1 AND o.x + 1",
    "SELECT o.id, i.id FROM o LEFT JOIN i ON o.x BETWEEN i.x AND i.y AND i.k = o.k",
    "SELECT o.id, i.id FROM o RIGHT JOIN i ON o.w > i.x AND o.w < i.w",
    "SELECT o.id, i.id FROM o FULL JOIN i ON o.x = i.x AND o.y > i.y",
    "SELECT count(*) FROM o, i WHERE o.s < i.s",
    "SELECT o.id, i.id, j.id FROM o JOIN i ON i.id = o.x JOIN o j ON j.id BETWEEN i.x AND i.y",
    "SELECT DISTINCT o.k FROM o JOIN i ON i.x > o.x",
    "SELECT o.k, max(i.x), min(i.x) FROM o JOIN i ON i.x < o.x GROUP BY o.k",
    "SELECT r.id, i.id FROM (SELECT id, x, row_number() OVER (ORDER BY id) AS r FROM o) r JOIN i ON i.id BETWEEN r.r AND r.r + 1",
    "SELECT o.id, l.id FROM o, LATERAL (SELECT id FROM i WHERE i.x <= o.x ORDER BY i.x DESC, i.id LIMIT 2) l",
    "SELECT o.id, l.id FROM o LEFT JOIN LATERAL (SELECT id FROM i WHERE i.k = o.k AND i.x > o.x ORDER BY i.x, i.id LIMIT 1) l ON true",
    "SELECT o.id, l.x FROM o, LATERAL (SELECT i.x FROM i WHERE i.id IN (VALUES (o.x), (o.y), (3))) l",
    "SELECT o.id, l.z FROM o, LATERAL (SELECT o.x + 1 AS z WHERE o.y IN (VALUES (1), (2), (o.k))) l",
    "WITH RECURSIVE r(a) AS (SELECT 1 UNION SELECT i.id FROM r JOIN i ON i.id BETWEEN r.a AND r.a + 2) SELECT a FROM r",
]
# Shapes that grow with their rows: a query and, if it has a list, what it is made of.
GROWTH = {
    "IN as a column": "SELECT count(*) FROM (SELECT o.x IN (SELECT i.x FROM i) AS m FROM o) t WHERE m",
    "IN under FILTER": "SELECT count(*) FILTER (WHERE o.x IN (SELECT i.x FROM i)) FROM o",
    "IN or IN": "SELECT count(*) FROM o WHERE o.x IN (SELECT i.x FROM i) OR o.y IN (SELECT i.y FROM i)",
    "NOT IN of several fields": "SELECT count(*) FROM o WHERE (o.id, o.x) NOT IN (SELECT i.id, i.x FROM i WHERE i.x IS NOT NULL)",
    "different from all": "SELECT count(*) FROM o WHERE o.x <> ALL (SELECT i.x FROM i WHERE i.x IS NOT NULL)",
    "less than any": "SELECT count(*) FROM o WHERE o.x < ANY (SELECT i.x FROM i)",
    "not less than any": "SELECT count(*) FROM o WHERE NOT o.x < ANY (SELECT i.x FROM i WHERE i.x IS NOT NULL)",
    "at least all": "SELECT count(*) FROM o WHERE o.x >= ALL (SELECT i.x FROM i)",
    "less than any as a column": "SELECT count(*) FROM (SELECT o.x < ANY (SELECT i.x FROM i) AS m FROM o) t WHERE m",
    "less than any of a key": "SELECT count(*) FROM o WHERE o.x < ANY (SELECT i.x FROM i WHERE i.y = o.y)",
    "greater than all of a key": "SELECT count(*) FROM o WHERE o.x > ALL (SELECT i.x FROM i WHERE i.y = o.y)",
    "less than any of several fields": "SELECT count(*) FROM (SELECT (o.x, o.y) < ANY (SELECT i.x, i.y FROM i) AS m FROM o) t WHERE m",
    "at least all of several fields": "SELECT count(*) FROM o WHERE (o.x, o.y) >= ALL (SELECT i.x, i.y FROM i)",
    "different from any": "SELECT count(*) FROM o WHERE o.x <> ANY (SELECT i.x FROM i)",
    "equal to all": "SELECT count(*) FROM (SELECT o.x = ALL (SELECT i.x FROM i) AS m FROM o) t WHERE m",
    "a subquery in a subquery's values": "SELECT count(*) FROM o WHERE (SELECT max(x) FROM i WHERE i.y = o.y) IN (SELECT y FROM i)",
    "correlated IN as a column": "SELECT count(*) FROM (SELECT o.x IN (SELECT i.x FROM i WHERE i.y = o.y) AS m FROM o) t WHERE m",
    "EXISTS under CASE": "SELECT count(CASE WHEN EXISTS (SELECT FROM i WHERE i.x = o.x) THEN 1 END) FROM o",
    "EXISTS by order": "SELECT count(*) FROM o WHERE EXISTS (SELECT FROM i WHERE i.id < o.id)",
    "NOT EXISTS by order": "SELECT count(*) FROM o WHERE NOT EXISTS (SELECT FROM i WHERE i.id > o.id AND i.id < o.id + 3)",
    "max below": "SELECT sum((SELECT max(i.id) FROM i WHERE i.id < o.id)) FROM o",
    "the one before": "SELECT count((SELECT i.s FROM i WHERE i.id < o.id ORDER BY i.id DESC LIMIT 1)) FROM o",
    "the one before of a key": "SELECT count((SELECT i.s FROM i WHERE i.k = o.k AND i.id < o.id ORDER BY i.id DESC LIMIT 1)) FROM o",
    "BETWEEN": "SELECT count(*) FROM o JOIN i ON o.id BETWEEN i.id AND i.id + 3",
    "a band": "SELECT count(*) FROM o LEFT JOIN i ON i.id > o.id - 3 AND i.id < o.id",
    "LATERAL with IN (VALUES)": "SELECT count(*) FROM o, LATERAL (SELECT i.x FROM i WHERE i.id IN (VALUES (o.id), (o.k))) l",
}
FEW, MANY, RATIO_MAX = 2_000, 20_000, 4


class Check:
    def __init__(self, options, dogwood, postgres):
        self.options, self.dogwood, self.postgres = options, dogwood, postgres
        self.dice = random.Random(options.seed)
        self.tally = Tally()

    def answers(self):
        ours, theirs = Wire(self.dogwood.dsn, 60), Wire(self.postgres.dsn, 60)
        self.both(ours, theirs, SCHEMA)
        for number in range(self.options.count):
            for table in "oi":
                self.both(ours, theirs, f"DELETE FROM {table}")
                self.both(ours, theirs, f"INSERT INTO {table} VALUES {self.random_rows(self.dice.choice([0, 3, 30, 60]))}")
            queries = [query.format(m=mark) for mark in MARKS for query in self.dice.sample(QUERIES, 3)]
            queries += [f"SELECT o.id, {nearest} FROM o" for nearest in NEAREST] + JOINS
            for query in queries:
                self.compare(ours, theirs, query, query)
            if number == 0:
                self.views(ours, theirs)

    def views(self, ours, theirs):
        """What views hold while rows change."""
        queries = [f"SELECT id, {mark} AS m FROM o" for mark in MARKS] + [f"SELECT o.id, {nearest} AS m FROM o" for nearest in NEAREST]
        queries += [f"SELECT id FROM o WHERE {mark}" for mark in self.dice.sample(MARKS, 8)]
        for number, query in enumerate(queries):
            made = ours.run(f"CREATE MATERIALIZED VIEW v{number} AS {query}")
            self.tally.that(made.error is None, "view " + query, made)
        for change in range(6):
            table, kind = self.dice.choice("oi"), self.dice.random()
            if kind < 0.4:
                free = 1_000 + 20 * change
                sql = f"INSERT INTO {table} VALUES {self.random_rows(5, free)}"
            elif kind < 0.7:
                sql = f"UPDATE {table} SET x = y, y = x, k = CASE WHEN id % 3 = 0 THEN NULL ELSE k END WHERE id % {self.dice.randrange(2, 5)} = 0"
            else:
                sql = f"DELETE FROM {table} WHERE id % {self.dice.randrange(2, 9)} = 1"
            self.both(ours, theirs, sql)
            for number, query in enumerate(queries):
                self.compare(ours, theirs, f"SELECT * FROM v{number}", query)
        for number in range(len(queries)):
            ours.run(f"DROP MATERIALIZED VIEW v{number}")

    def random_rows(self, count, first=1):
        """Few different values, so that some are equal; one in five is NULL."""
        def value(make):
            return "NULL" if self.dice.random() < 0.2 else make()

        def row(key):
            small = [value(lambda: str(self.dice.randrange(10))) for _ in range(3)]
            texts = value(lambda: "'" + self.dice.choice(["", "a", "ab", "b", "é"]) + "'")
            number = value(lambda: self.dice.choice(["1", "1.0", "1.5", "2.00", "7", "-3"]))
            return f"({key}, {', '.join(small)}, {value(lambda: str(self.dice.randrange(20)))}, {texts}, {number})"

        return ", ".join(row(first + number) for number in range(max(count, 1)))

    def both(self, ours, theirs, sql):
        for statement in sql.split(";"):
            for server in (ours, theirs):
                answer = server.run(statement)
                self.tally.that(answer.error is None, statement[:80], answer)

    def compare(self, ours, theirs, own, query):
        found, expected = ours.run(own), theirs.run(query)
        key = lambda row: tuple((value is not None, value or b"") for value in row)  # noqa: E731
        if found.error or expected.error:
            self.tally.equal(found.error, expected.error, f"{own}: {query}")
        else:
            self.tally.that(sorted(found.rows, key=key) == sorted(expected.rows, key=key), f"{own}: {query}", f"{found}, expected {expected}")

    def literals(self):
        """Long lists of rows are the rows that short ones are."""
        ours, theirs = Wire(self.dogwood.dsn, 60), Wire(self.postgres.dsn, 60)
        self.both(ours, theirs, "CREATE TABLE l (a INT, b TEXT, c NUMERIC, d BOOL, e DATE, f FLOAT8, g BIGINT DEFAULT 7)")
        kinds = [
            lambda: self.dice.choice(["1", "-2", "NULL", "2147483647"]),
            lambda: self.dice.choice(["'it''s'", "''", "NULL", "'é\n'", "'x\\n'"]),
            lambda: self.dice.choice(["1", "1.50", "-0.001", "12345678901234567890", "3000000000", "NULL"]),
            lambda: self.dice.choice(["TRUE", "false", "NULL"]),
            lambda: self.dice.choice(["'2020-02-29'", "NULL"]),
            lambda: self.dice.choice(["1", "2.5", "-7", "10000000000"]),
        ]
        for odd in (None, "1 + 1", "DEFAULT", "'5'", "4.4", "- 5", "2147483648", "'x'", "NULL::int", "$1", "1e2", "TRUE"):
            lines = [", ".join(kind() for kind in kinds) for _ in range(400)]
            if odd:
                lines[300] = ", ".join([odd] + [kind() for kind in kinds[1:]])
            text = "INSERT INTO l (a, b, c, d, e, f) VALUES\n" + ",\n".join(f"({line})" for line in lines)
            for tail in ("", " RETURNING g, c;") + (("\nRETURNING nothing",) if odd is None else ()):
                found, expected = ours.run(text + tail), theirs.run(text + tail)
                self.tally.equal((found.error, found.tag, found.rows), (expected.error, expected.tag, expected.rows), f"a list with {odd}{tail}")
        self.compare(ours, theirs, "SELECT * FROM l", "SELECT * FROM l")

    def lists(self):
        """Long lists of literals are the values that short ones are, wherever they stand."""
        ours, theirs = Wire(self.dogwood.dsn, 60), Wire(self.postgres.dsn, 60)
        columns = "id INT PRIMARY KEY, h SMALLINT, w BIGINT, n NUMERIC, f FLOAT8, r REAL, s TEXT, v VARCHAR(9), c CHAR(5), b BOOL, d DATE, t TIMESTAMP, z TIMESTAMPTZ, u UUID, j JSONB, e INT[], o OID"
        self.both(ours, theirs, f"CREATE TABLE m ({columns}); CREATE INDEX ON m (s); CREATE INDEX ON m (h, w)")
        fill = """INSERT INTO m SELECT g, g % 90, g % 50, g / 2.0, g / 4.0, g, 'k' || g, 'v' || g % 9, 'c' || g % 7, g % 2 = 0, DATE '2020-01-01' + g, '2020-01-01 12:00'::timestamp + g * interval '1 day',
            '2020-01-01 12:00+00'::timestamptz + g * interval '1 day', ('00000000-0000-0000-0000-' || lpad(g::text, 12, '0'))::uuid, to_jsonb(g), ARRAY[g, 1], g FROM generate_series(1, 300) g"""
        self.both(ours, theirs, fill)
        self.both(ours, theirs, "INSERT INTO m (id) VALUES (1000)")
        lists = {
            "integers": [str(n) for n in range(-500, 2_500, 2)],
            "bigints among them": [str(n) for n in range(2_000)] + ["5000000000"],
            "NULL among them": [str(n) for n in range(2_000)] + ["NULL"],
            "nothing but NULL": ["NULL"] * 2_000,
            "numerics": [f"{n}.50" for n in range(1_500)],
            "numerics among integers": [str(n) for n in range(1_500)] + ["1.5", "7.0"],
            "texts": [f"'k{n}'" for n in range(2_000)] + ["'v1'", "'c1'", "'it''s'", "NULL"],
            "numbers in quotes": [f"'{n}'" for n in range(2_000)],
            "quotes among integers": [str(n) for n in range(2_000)] + ["'77'", "'x'"],
            "booleans": ["TRUE", "NULL"] * 1_000,
            "booleans among integers": [str(n) for n in range(2_000)] + ["TRUE"],
            "dates": [f"'{2019 + n // 360}-{n // 30 % 12 + 1:02}-{n % 28 + 1:02}'" for n in range(1_500)],
            "times": [f"'{2019 + n // 360}-{n // 30 % 12 + 1:02}-{n % 28 + 1:02} 12:00:00+00'" for n in range(1_500)],
            "local times": [f"'{2019 + n // 360}-{n // 30 % 12 + 1:02}-{n % 28 + 1:02} 12:00:00'" for n in range(1_500)],
            "UUIDs": [f"'00000000-0000-0000-0000-{n:012}'" for n in range(500)],
            "arrays": [f"'{{{n},1}}'" for n in range(2_000)],
            "an expression among them": [str(n) for n in range(1_000)] + ["1 + 1", "id"] + [str(n) for n in range(3_000, 4_000)],
            "a cast among them": [str(n) for n in range(1_000)] + ["'5'::int"] + [str(n) for n in range(3_000, 4_000)],
            "rows": [f"({n}, 1)" for n in range(1_500)],
        }
        operands = "id h w n f r s v c b d t z u j e id+1 NULL '7' 1.5 abs(id) random()*0".split()
        for what, literals in lists.items():
            listed = ", ".join(literals)
            for operand in ["(id, id)", "(id, w)"] if what == "rows" else operands:
                conditions = [f"{operand} IN ({listed})", f"{operand} NOT IN ({listed})"]
                conditions += [] if what == "rows" else [f"{operand} = ANY (ARRAY[{listed}])", f"{operand} <> ALL (ARRAY[{listed}])"]
                for condition in conditions:
                    kind = f"{what}: {condition[:40]}"
                    query = self.dice.choice(["SELECT id FROM m WHERE {}", "SELECT id, {} FROM m", "SELECT id FROM m WHERE id < 200 AND ({}) IS NOT TRUE"]).format(condition)
                    found, expected = ours.run(query), theirs.run(query)
                    # Of what is no date it is said in different ways why.
                    why = [(answer.error or "")[:4] for answer in (found, expected)]
                    same = why[0] == why[1] and sorted(map(str, found.rows)) == sorted(map(str, expected.rows))
                    self.tally.that(same, kind, f"{query[:30]}: {found}, expected {expected}")
        ints, pairs = ", ".join(lists["integers"]), ", ".join(f"({n}, 'k{n}', NULL, {n}.5)" for n in range(800))
        for query in (
            f"SELECT * FROM (VALUES {pairs}) v (a, b, c, d)",
            f"VALUES {pairs} ORDER BY 1 DESC LIMIT 7",
            f"WITH v (a, b, c, d) AS (VALUES {pairs}) SELECT m.id, v.d FROM m JOIN v ON v.b = m.s WHERE a > 5",
            f"WITH v (a) AS MATERIALIZED (VALUES {pairs}) SELECT count(*), sum(a) FROM v",
            f"SELECT count(*) FROM m WHERE (id, s, n) IN (SELECT a, b, d FROM (VALUES {pairs}) v (a, b, c, d))",
            f"SELECT count(*) FROM m WHERE id IN (VALUES {', '.join(f'({n})' for n in range(2_000))})",
            f"SELECT 1, 'x', NULL, 3 UNION VALUES {pairs}",
            f"VALUES {pairs} UNION ALL SELECT 1, 'x', 'y', 2",
            f"SELECT * FROM (VALUES {pairs}, (1, 2)) v",
            f"SELECT * FROM (VALUES {pairs}, (now(), 2, 3, 4)) v",
            f"SELECT * FROM (VALUES {', '.join(f'({n})' for n in range(2_000))}, ('7'), (NULL)) v",
            f"SELECT * FROM (VALUES {', '.join(f'({n})' for n in range(2_000))}, ('x')) v",
            f"SELECT * FROM (VALUES {', '.join(f'({n})' for n in range(2_000))}, (1.5), (5000000000)) v",
            f"SELECT x IN ({ints}) FROM generate_series(1, 5) x GROUP BY x IN ({ints}) ORDER BY 1",
            f"SELECT CASE WHEN id IN ({ints}) THEN s END, coalesce(id NOT IN ({ints}), false) FROM m",
            f"SELECT count(*) FILTER (WHERE id IN ({ints})) FROM m HAVING max(id) NOT IN ({ints})",
            f"SELECT a.id FROM m a LEFT JOIN m b ON b.id = a.id AND b.id IN ({ints}) WHERE b.s IS NULL",
            f"SELECT array_length(ARRAY[{ints}], 1), (ARRAY[{ints}])[7], ARRAY[{ints}]::text[] = ARRAY[{ints}]::text[]",
            f"SELECT sum(x) FROM unnest(ARRAY[{ints}, 1.5]) x",
            f"SELECT pg_typeof(ARRAY[{ints}]), pg_typeof(ARRAY[{ints}, 5000000000]), pg_typeof(ARRAY[{', '.join(lists['texts'])}])",
            f"SELECT id FROM m WHERE id IN ({ints}) AND nothing",
            f"SELECT id FROM m WHERE nothing IN ({ints})",
            f"SELECT id FROM m WHERE id IN ({ints}",
            f"SELECT id FROM m WHERE id IN ({ints}) )",
            f"SELECT id FROM m WHERE id IN ({ints},)",
            f"SELECT id FROM m WHERE id IN ({ints}, 1 2)",
            f"SELECT ARRAY[{ints}, 'x']",
            f"SELECT ARRAY[{ints}, TRUE]",
            f"UPDATE m SET v = 'w' WHERE id IN ({ints}) RETURNING id",
            f"INSERT INTO m (id, s, v, n) SELECT a + 5000, b, c, d FROM (VALUES {pairs}) v (a, b, c, d) RETURNING id",
            f"DELETE FROM m WHERE id - 5000 IN ({ints}) RETURNING id",
            f"PREPARE p (int) AS SELECT id FROM m WHERE id IN ({ints}, $1) OR s IN ($2, {', '.join(lists['texts'])})",
            "EXECUTE p (7, 'k9')",
        ):
            found, expected = ours.run(query), theirs.run(query)
            same = (found.error, found.message, found.types, found.tag) == (expected.error, expected.message, expected.types, expected.tag)
            self.tally.that(same and sorted(map(str, found.rows)) == sorted(map(str, expected.rows)), query[:60], f"{found}, expected {expected}")
        made = ours.run(f"CREATE MATERIALIZED VIEW w AS SELECT id, s FROM m WHERE id IN ({ints}) AND s NOT IN ({', '.join(lists['dates'])})")
        self.tally.that(made.error is None, "a view", made)
        for change in ("UPDATE m SET s = 'k' || -id WHERE id % 3 = 0", "DELETE FROM m WHERE id % 7 = 0", "INSERT INTO m (id, s) VALUES (1200, 'x'), (1201, 'x')"):
            self.both(ours, theirs, change)
            self.compare(ours, theirs, "SELECT * FROM w", f"SELECT id, s FROM m WHERE id IN ({ints}) AND s IS NOT NULL")

    def growth(self):
        import psycopg

        with psycopg.connect(self.dogwood.dsn, autocommit=True) as connection:
            connection.execute("SET dogwood.auto_views = off")
            connection.execute("DROP TABLE IF EXISTS o, i")
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            spent = {}
            for size in (FEW, MANY):
                for table in "oi":
                    connection.execute(f"DELETE FROM {table}")
                    connection.execute(
                        f"INSERT INTO {table} SELECT g, g % {size // 20}, CASE WHEN g % 50 > 0 THEN g * 7919 % {size} END,"
                        f" g * 31 % {size}, g, 't' || g, g FROM generate_series(1, {size}) g")
                for name, query in GROWTH.items():
                    spent.setdefault(name, []).append(self.spent(connection, MANY // size, lambda: query))
                lists = {
                    "a list as a column": "SELECT count(*) FROM (SELECT x IN ({}) AS m FROM o) t WHERE m",
                    "a list of texts as a column": "SELECT count(*) FROM (SELECT s IN ('{}') AS m FROM o) t WHERE m",
                    "NOT IN a list": "SELECT count(*) FROM o WHERE x NOT IN ({})",
                    "ANY of a list": "SELECT count(*) FROM o WHERE x = ANY (ARRAY[{}])",
                    "ALL of a list": "SELECT count(*) FROM o WHERE (s <> ALL (ARRAY['{}'])) IS TRUE",
                }
                for name, query in lists.items():
                    between = "', '" if "'{}'" in query else ", "
                    listed = query.format(between.join(str(n * 3) for n in range(size)))
                    spent.setdefault(name, []).append(self.spent(connection, MANY // size, lambda: listed))
                for what, query in (("an IN", "SELECT count(*) FROM o WHERE id = 1 AND s IN ({})"), ("VALUES", "SELECT count(*) FROM (VALUES ({})) v(a)")):
                    listed = query.format(("), (" if what == "VALUES" else ", ").join(f"'t{n}'" for n in range(size)))
                    spent.setdefault(what + " of literals", []).append(self.spent(connection, MANY // size, lambda: listed))
                for lines in (", ", ",\n"):
                    name = "INSERT of a list" + (" in lines" if lines != ", " else "")
                    spent.setdefault(name, []).append(self.spent(connection, MANY // size, lambda: self.insert(connection, size, lines)))
                for name in ("INSERT", "FORGET"):
                    spent.setdefault(f"{name} of a chain", []).append(self.spent(connection, MANY // size, lambda: self.chain(connection, size, name)))
            for name, (few, many) in spent.items():
                print(f"{name}: {MANY // FEW} x {FEW:,} rows in {few:.2f} s, {MANY:,} rows in {many:.2f} s", flush=True)
                self.tally.that(few < 60 and many < RATIO_MAX * max(few, 0.05), f"{name} grows with its rows", (few, many))

    def insert(self, connection, count, lines):
        connection.execute("DROP TABLE IF EXISTS bulk")
        connection.execute("CREATE TABLE bulk (a INT PRIMARY KEY, b TEXT, c NUMERIC, d INT)")
        return "INSERT INTO bulk VALUES " + lines.join(f"({n}, 'text {n}', {n}.5, {n % 7})" for n in range(count))

    def chain(self, connection, count, what):
        """Rows that each owe their owner to the one before."""
        connection.execute("DROP TABLE IF EXISTS link, head")
        connection.execute("CREATE DATA_SUBJECT TABLE head (id INT PRIMARY KEY)")
        connection.execute("CREATE TABLE link (id INT PRIMARY KEY, head INT OWNED_BY head(id), before INT OWNED_BY link(id))")
        connection.execute("INSERT INTO head VALUES (1)")
        insert = f"INSERT INTO link SELECT g, CASE WHEN g = 1 THEN 1 END, NULLIF(g - 1, 0) FROM generate_series(1, {count}) g"
        if what == "INSERT":
            return insert
        connection.execute(insert)
        return "GDPR FORGET head 1"

    def spent(self, connection, times, make):
        """The least of three: the server's processor time for so many runs; that of one that is cut short is beyond all bounds."""
        least = None
        for _ in range(3):
            spent = 0
            for _ in range(times):
                query = make()
                before = self.processor_s()
                if state_of(connection.execute, query):
                    return float("inf")
                spent += self.processor_s() - before
            least = spent if least is None else min(least, spent)
            if least < 0.3 or times == 1 and least > 5:
                break
        return least

    def processor_s(self):
        with open(f"/proc/{self.dogwood.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--only", choices=["ANSWERS", "GROWTH"])
    options = parser.parse_args()
    with Dogwood() as dogwood, postgres_if_there() as postgres:
        check = Check(options, dogwood, postgres)
        if not postgres:
            left_out("answers over random rows")
        elif options.only != "GROWTH":
            check.tally.case(check.answers)
            check.tally.case(check.literals)
            check.tally.case(check.lists)
        if options.only != "ANSWERS":
            check.tally.case(check.growth)
        check.tally.that(dogwood.alive(), "the server lives")
    check.tally.end()


if __name__ == "__main__":
    main()
