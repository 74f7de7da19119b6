"""Random statements from a seed, each about one rule of meaning rather than about data: the whole row of an outer join's
empty side, which type an expression has, which query an aggregate belongs to, whose order a subquery keeps, how often what is
volatile is evaluated, where sets come out, and what a row's star stands for.

What it writes has one right answer; where rows come in an order, a remark says so.
"""

import random

BUILD = """
CREATE TABLE wa(id int PRIMARY KEY, v int, t text)
CREATE TABLE wb(a int, x int, y text)
CREATE TABLE wc(id int PRIMARY KEY, a int, z text)
INSERT INTO wa VALUES (1, 10, 'p'), (2, 20, NULL), (3, NULL, 'q'), (4, 10, NULL)
INSERT INTO wb VALUES (1, 1, 'one'), (1, NULL, NULL), (2, NULL, NULL), (NULL, NULL, NULL), (7, 2, 'seven'), (7, 2, 'seven')
INSERT INTO wc VALUES (1, 1, 'p'), (2, 1, NULL), (3, 9, 'q'), (4, 2, NULL)
CREATE VIEW wv AS SELECT id, v FROM wa ORDER BY v DESC NULLS LAST, id
CREATE SEQUENCE wq
"""
KEYS = {"wa": "id", "wb": "a", "wc": "a"}
NUMBERS = {"wa": ["id", "v"], "wb": ["a", "x"], "wc": ["id", "a"]}

# Expressions of types that can be matched, by family; what has no type of its own goes with each.
FAMILIES = [
    ["1", "NULL::int", "2::int2", "3::int8", "4.5", "1.50::numeric(5,2)", "6::float4", "7.5::float8", "8::oid", "5", "12345"],
    ["'a'::text", "'b'::varchar", "'c'::varchar(3)", "'d '::bpchar", "'e'::char(3)", "'f'::name", "'g'::varchar(5)", "NULL::text"],
    ["true", "false", "NULL::bool", "(1 < 2)"],
    ["'2020-01-02'::date", "'2020-01-02 03:04'::timestamp", "'2020-01-02 03:04+00'::timestamptz", "NULL::date"],
    ["'01:02'::time", "'1 day'::interval"],
    ["'{\"a\": 1}'::json", "'{\"a\": 1}'::jsonb", "'11111111-1111-1111-1111-111111111111'::uuid", "'\\x01'::bytea"],
    ["B'101'", "'10'::varbit", "1::bit(2)", "X'F'::bit(3)", "NULL::varbit"],
    ["'08:00:2b:01:02:03'::macaddr", "'08:00:2b:01:02:03'::macaddr8"],
    ["'1.5'::money", "2::money"],
    ["ARRAY[1, 2]", "ARRAY[1.5]", "ARRAY[1::int8]", "ARRAY[NULL::int2]"],
    ["ARRAY['a']", "ARRAY['a'::varchar]", "ARRAY['b'::text]"],
    ["ROW(1, 'x')", "ROW(1, 2)", "ROW(1.5, NULL)", "ROW(1)", "ROW(1, 2, 'z')"],
]
UNTYPED = ["NULL", "'9'", "'x'", "'t'", "NULL", "NULL"]


class Random:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, share):
        return self.random.random() < share

    def pick(self, *choices):
        return self.random.choice(choices)

    def statements(self, count):
        yield from BUILD.strip().split("\n")
        kinds = [self.whole_row, self.types, self.scopes, self.order, self.volatile, self.once, self.sets, self.stars]
        for _ in range(count):
            written = self.random.choice(kinds)()
            yield from [written] if isinstance(written, str) else written

    # The whole row of a relation that an outer join may have found none of.

    def item(self, names):
        """Something to join with by its columns k and w, under a name."""
        name = f"j{len(names)}"
        names.append(name)
        table = self.pick("wa", "wb", "wc")
        key, (_, number) = KEYS[table], NUMBERS[table]
        where = f" WHERE {number} IS NOT NULL" if self.chance(0.3) else ""
        return name, self.pick(
            f"(SELECT {key} AS k, {number} AS w FROM {table}{where}) {name}",
            f"(SELECT {key} AS k, NULL::int AS w FROM {table}{where}) {name}",
            f"(SELECT NULL::int AS k, {number} AS w FROM {table}{where}) {name}",
            f"{table} AS {name}({'k, w' if table == 'wb' else 'k, w' if table == 'wa' else 'u, k, w'})",
            f"(VALUES (1, NULL::int), (NULL, NULL), (2, 3)) {name}(k, w)",
        )

    def joins(self, names, depth=0):
        name, written = self.item(names)
        for _ in range(self.random.randint(1, 2)):
            kind = self.pick("LEFT", "LEFT", "RIGHT", "FULL", "INNER")
            if depth < 1 and self.chance(0.3):
                inner, parts = self.joins(names, depth + 1)
                written = f"{written} {kind} JOIN ({parts}) ON {name}.k = {inner}.k"
                continue
            other, part = self.item(names)
            more = f" AND {other}.w IS NOT NULL" if kind != "FULL" and self.chance(0.2) else ""
            written = f"{written} {kind} JOIN {part} ON {name}.k = {other}.k{more}"
            name = self.pick(name, other)
        return name, written

    def about(self, name):
        return self.pick(
            f"{name}::text", f"{name} IS NULL", f"{name} IS NOT NULL", f"{name}.* IS NULL", f"{name}.* IS NOT NULL", f"row_to_json({name})",
            f"to_jsonb({name})", f"coalesce(to_jsonb({name}), '{{}}')", f"{name}::text", f"{name} IS DISTINCT FROM NULL", f"({name}).w",
            f"ROW({name}.*) IS NULL", f"ROW({name}.*)", f"CASE WHEN {name} IS NULL THEN 'none' ELSE {name}::text END",
            f"(SELECT {name} IS NULL)", f"(SELECT to_jsonb({name}))", f"num_nulls({name}, {name}.w)", f"coalesce({name}::text, 'none')",
            f"ARRAY[{name}, {name}]::text", f"{name} = {name}", f"{name}.* = {name}.*",
        )

    def whole_row(self):
        names = []
        _, written = self.joins(names)
        shape = self.random.random()
        if shape < 0.2:
            counts = ", ".join(self.pick(f"count({n}.*)", f"count({n})", f"count({n}.w)", f"count(DISTINCT {n})") for n in names)
            return f"SELECT {counts}, count(*) FROM {written}"
        if shape < 0.4:
            key = self.random.choice(names)
            other = self.random.choice(names)
            group = self.pick(f"{key}", f"{key}.k", f"{key} IS NULL", f"to_jsonb({key})")
            what = self.pick(f"count({other})", f"count({other}.*)", f"json_agg({other}.* ORDER BY {other})::jsonb",
                             f"count(*) FILTER (WHERE {other} IS NULL)", f"array_agg({other} ORDER BY {other})::text")
            return f"SELECT ({group})::text AS g, {what} FROM {written} GROUP BY {group}"
        outputs = [self.about(self.random.choice(names)) for _ in range(self.random.randint(1, 4))]
        where = f" WHERE {self.random.choice(names)}{self.pick('', '.*')} IS {self.pick('', 'NOT ')}NULL" if self.chance(0.3) else ""
        listed = ", ".join(f"{output} AS c{n}" for n, output in enumerate(outputs))
        query = f"SELECT {listed} FROM {written}{where}"
        if shape < 0.55:
            return f"SELECT s::text, s IS NULL, c0 IS NULL FROM wa LEFT JOIN (SELECT {names[0]}.k AS kk, {listed} FROM {written}{where}) s ON s.kk = wa.id"
        if shape < 0.7:
            return f"WITH s AS ({query}) SELECT c0, count(*), count(c0) FROM (SELECT c0::text FROM s) s GROUP BY 1"
        return query

    # Which type an expression has.

    def typed(self, family):
        if self.chance(0.2):
            return self.random.choice(UNTYPED)
        return self.random.choice(family if self.chance(0.93) else self.random.choice(FAMILIES))

    def types(self):
        family = self.random.choice(FAMILIES if self.chance(0.6) else FAMILIES[:2])
        a, b, c = (self.typed(family) for _ in range(3))
        # Of two errors in one statement either may be told: a literal that would be one stands beside its own family only.
        apart = [e for e in (a, b, c) if "oid" in e or e not in family and e not in UNTYPED]
        if apart or family not in (*FAMILIES[:3], *FAMILIES[6:8]):
            a, b, c = ("NULL" if e in UNTYPED else e for e in (a, b, c))
        # Rows whose fields are of different types cannot be compared, which turns up as late as their values do.
        kind = self.pick(1, 2, 4, 5, 10) if "ROW" in a + b + c else self.random.randrange(12)
        if kind == 0:
            return f"SELECT NULLIF({a}, {b}) AS r, pg_typeof(NULLIF({a}, {b}))"
        if kind == 1:
            return f"SELECT COALESCE({a}, {b}, {c}) AS r"
        if kind == 2:
            otherwise = f" ELSE {c}" if self.chance(0.6) else ""
            return f"SELECT CASE WHEN {self.pick('true', 'false')} THEN {a} WHEN {self.pick('true', 'NULL')} THEN {b}{otherwise} END AS r"
        if kind == 3:
            return f"SELECT {self.pick('GREATEST', 'LEAST')}({a}, {b}, {c}) AS r"
        if kind == 4:
            return f"SELECT ARRAY[{a}, {b}, {c}] AS r"
        if kind == 5:
            return f"VALUES ({a}, {b}), ({b}, {c})"
        if kind == 6:
            op = self.pick("UNION ALL", "UNION ALL", "UNION", "EXCEPT ALL")
            return f"SELECT {a} AS r {op} SELECT {b} {op} SELECT {c}"
        if kind == 7:
            return f"SELECT {a} AS r UNION ALL (SELECT {b} UNION ALL SELECT {c})"
        if kind == 8:
            return f"SELECT {a} IN ({b}, {c}) AS r"
        if kind == 9:
            return f"SELECT CASE {a} WHEN {b} THEN 1 WHEN {c} THEN 2 ELSE 3 END AS r"
        if kind == 10:
            return f"SELECT x FROM (VALUES ({a}), ({b})) v(x) UNION ALL SELECT {c}"
        return f"SELECT {a} {self.pick('=', '<', '<>', 'IS DISTINCT FROM')} {b} AS r"

    # Which query an aggregate, or a column, belongs to.

    def scoped(self, scopes, depth):
        """An expression over the tables of the queries around, innermost last."""
        own = scopes[-1]
        outer = self.random.choice(scopes)
        kind = self.random.random()
        if depth > 3 or kind < 0.25:
            table = self.pick(own, outer)
            return f"{table[0]}.{self.random.choice(NUMBERS[table[1]])}"
        if kind < 0.5:
            return f"{self.pick('sum', 'max', 'count')}({self.scoped(scopes, depth + 1)})"
        if kind < 0.6:
            return f"({self.scoped(scopes, depth + 1)} + {self.scoped(scopes, depth + 1)})"
        if kind < 0.66:
            table = self.pick(own, outer)
            return f"grouping({table[0]}.{self.random.choice(NUMBERS[table[1]])})"
        if kind < 0.7:
            return f"count(*) FILTER (WHERE {self.scoped(scopes, depth + 1)} > 1)"
        if len(scopes) > 2:
            return "1"
        return f"({self.select(scopes, depth + 1, 'LIMIT 1')})"

    def select(self, scopes, depth, end=""):
        table = self.pick("wa", "wb", "wc")
        name = f"q{len(scopes)}"
        inner = [*scopes, (name, table)]
        column = f"{name}.{self.random.choice(NUMBERS[table])}"
        where = f" WHERE {self.scoped(inner, depth + 2)} > 0" if self.chance(0.25) else ""
        group = self.pick("", "", f" GROUP BY {column}", f" GROUP BY ROLLUP ({column})" if self.chance(0.5) else f" GROUP BY {column}")
        having = f" HAVING {self.scoped(inner, depth + 1)} > 0" if self.chance(0.2) else ""
        output = self.pick(self.scoped(inner, depth), column if self.chance(0.5) else self.scoped(inner, depth))
        # With LIMIT 1 there is one right row only if all are equal or in order.
        order = f" ORDER BY 1 NULLS FIRST {end}" if end else ""
        return f"SELECT {output} FROM {table} {name}{where}{group}{having}{order}"

    def scopes(self):
        return self.select([], 0)

    # Whose order a subquery keeps.

    def ordered(self, depth=0):
        """A query with columns id and v whose order PostgreSQL keeps."""
        direction = self.pick("", " DESC")
        kind = self.random.random()
        if depth > 2 or kind < 0.35:
            return self.pick(f"SELECT id, v FROM wa ORDER BY v{direction}, id DESC", f"SELECT id, v FROM wa ORDER BY id{direction}",
                             f"SELECT id, a AS v FROM wc ORDER BY z{direction}, id", "SELECT id, v FROM wv", "SELECT * FROM wv LIMIT 3")
        inner = self.ordered(depth + 1)
        return self.pick(
            f"SELECT id, v + 1 AS v FROM ({inner}) s", f"SELECT id, v FROM ({inner}) s WHERE id <> {self.random.randint(1, 4)}",
            f"SELECT * FROM ({inner}) s LIMIT {self.random.randint(1, 4)}", f"SELECT v, id FROM ({inner}) s(id, v) OFFSET 1",
            f"WITH c AS ({inner}) SELECT id, v FROM c", f"WITH c AS MATERIALIZED ({inner}) SELECT id, v FROM c WHERE v IS NOT NULL",
            f"SELECT id, row_number() OVER () AS v FROM ({inner}) s", f"SELECT id, x AS v FROM ({inner}) s, LATERAL (SELECT s.v * 2 AS x OFFSET 0) l",
            f"({inner}) UNION ALL ({self.ordered(depth + 1)})", f"SELECT * FROM (({inner}) UNION ALL ({self.ordered(depth + 1)})) u LIMIT 5",
            f"SELECT id, unnest(ARRAY[v, id]) AS v FROM ({inner}) s",
            f"SELECT id, (SELECT count(*) FROM wc WHERE wc.a = s.id) AS v FROM ({inner}) s",
        )

    def order(self):
        query = self.ordered()
        return self.pick(
            f"{query} /* in order */", f"SELECT array_agg(id), array_agg(v) FROM ({query}) s", f"SELECT string_agg(id::text, ',') FROM ({query}) s",
            f"SELECT ARRAY(SELECT id FROM ({query}) s)",
            f"SELECT (SELECT id FROM ({query}) s LIMIT 1)", f"WITH c AS ({query}) SELECT (SELECT array_agg(id) FROM c), (SELECT id FROM c OFFSET 1 LIMIT 1)",
            f"SELECT json_agg(s)::jsonb FROM ({query}) s", f"SELECT row_number() OVER () AS r, id, lag(v) OVER (), first_value(id) OVER () FROM ({query}) s /* in order */",
        )

    # How often what is volatile is evaluated.

    def bag(self):
        return self.pick(
            "wa", "wb", "(SELECT 1 FROM wb) s", "(SELECT x FROM wb EXCEPT ALL SELECT 1) s", "wa LEFT JOIN wb ON wb.a = wa.id", "wa FULL JOIN wb ON wb.a = wa.id",
            "(SELECT a FROM wb UNION SELECT id FROM wa) s", "(SELECT x FROM wb INTERSECT ALL SELECT x FROM wb) s", "(SELECT DISTINCT x FROM wb) s",
            "(SELECT 1 FROM wa a, wb b, wc c) s", "(SELECT id FROM wa WHERE id NOT IN (SELECT a FROM wc WHERE a IS NOT NULL)) s",
            "wa, LATERAL (SELECT count(*) FROM wb WHERE wb.a = wa.id) s", "wb CROSS JOIN LATERAL unnest(ARRAY[1, 1]) u", "(SELECT x FROM wb ORDER BY x LIMIT 3) s",
        )

    def volatile(self):
        bag = self.bag()
        own = self.pick("nextval('wq')", "random()", "gen_random_uuid()")
        return self.pick(
            f"SELECT count(*), count(DISTINCT k) FROM (SELECT {own} AS k FROM {bag}) t",
            f"SELECT count(*), count(DISTINCT k) FROM (SELECT {own} AS k, row_number() OVER () FROM {bag}) t",
            f"SELECT count(*), count(DISTINCT k) FROM (SELECT CASE WHEN true THEN {own} END AS k FROM {bag}) t",
            f"SELECT count(*) FROM (SELECT {own} AS k FROM {bag}) a WHERE k IS NOT NULL",
            f"WITH c AS (SELECT {own} AS k FROM {bag}) SELECT count(*) FROM c a JOIN c b USING (k)",
            f"SELECT count(*), count(DISTINCT k) FROM (SELECT {own} AS k FROM {bag} GROUP BY {own}) t",
            f"SELECT count(*), count(DISTINCT k) FROM (SELECT (SELECT {own} FROM wb WHERE wb.x = o.x LIMIT 1) AS k FROM wb o WHERE o.x = 2) t",
            f"SELECT count(*), count(DISTINCT k) FROM (SELECT s.k FROM wb o, LATERAL (SELECT {own} AS k FROM wc WHERE wc.a >= o.x) s) t",
            f"SELECT count(*), count(DISTINCT k) FROM (SELECT s.k FROM wb o, LATERAL (SELECT max({own}::text) AS k FROM wc WHERE wc.a >= o.x) s) t",
        )

    # Operands that several tests are made of.

    def tested(self, depth=0):
        """A number, made of a volatile operand that no test finds."""
        own = "nextval('wq')"
        inner = self.tested(depth + 1) if depth < 2 and self.chance(0.4) else str(self.random.randint(1, 9))
        return self.pick(
            f"CASE {own} WHEN -1 THEN 1 WHEN -2 THEN {inner} ELSE {inner} END", f"CASE {own} WHEN -1 THEN {inner} WHEN -2 THEN 5 END",
            f"CASE WHEN {own} IN (-1, -2, -3) THEN {inner} ELSE 7 END", f"CASE WHEN {own} NOT IN (-1, -2) THEN {inner} ELSE 7 END",
            f"coalesce(nullif({own}, -1)::int % 1, {inner})", f"CASE WHEN false THEN {inner} ELSE {own}::int * 0 END",
            f"coalesce({inner}, {own}::int * 0)", f"CASE WHEN ({own}, 1) < (-5, 2) THEN 1 ELSE {inner} END", f"greatest({own}::int * 0, {inner})",
        )

    def once(self):
        """A statement with such a number, and how often the sequence was asked. PostgreSQL returns a row before it computes the next."""
        number = self.tested()
        rows = self.pick("", " WHERE id < 3", " WHERE v > 10", " WHERE false")
        other = self.tested()
        yield "BEGIN"
        yield "SELECT setval('wq', 1)"
        yield self.pick(
            f"SELECT {number} AS n", f"SELECT id, {number} AS n FROM wa{rows}", f"SELECT sum({number}) FROM wa{rows}",
            f"UPDATE wa SET v = {number}{rows}", f"UPDATE wa SET v = id{rows} RETURNING id, {number} AS n", f"UPDATE wa SET v = {number}, t = {other}{rows} RETURNING v, t",
            f"INSERT INTO wa SELECT id + 10, {number} FROM wa{rows} RETURNING v", f"INSERT INTO wa VALUES (9, {number}) RETURNING v",
            f"INSERT INTO wa VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = {number} RETURNING v, {other} AS n",
            f"INSERT INTO wa VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = 3 WHERE {number} > 100 RETURNING v",
            f"DELETE FROM wa{rows} RETURNING id, {number} AS n", f"UPDATE wa SET (v, t) = (SELECT n, n FROM (SELECT {number} AS n OFFSET 0) s){rows} RETURNING v, t",
            f"UPDATE wa SET (v, t) = (SELECT n, n FROM (SELECT {number} + wa.id * 0 AS n OFFSET 0) s){rows} RETURNING v, t",
            f"UPDATE wa SET (v, t) = ROW({number}, {other}){rows} RETURNING v, t",
        )
        yield "SELECT last_value FROM wq"
        yield "ROLLBACK"

    # Where sets may stand.

    def set_call(self):
        return self.pick("generate_series(1, 2)", "generate_series(1, 0)", "unnest(ARRAY[3, 4, NULL])", "generate_series(1, 2) + 1", "abs(generate_series(-2, -1))")

    def sets(self):
        one, two = self.set_call(), self.set_call()
        part = self.pick(
            one, f"coalesce({one}, 5)", f"CASE WHEN true THEN {one} END", f"CASE {one} WHEN 1 THEN 2 END", f"nullif({one}, 1)", f"greatest({one}, 2)",
            f"(SELECT max(g) FROM (SELECT {one} AS g) s)", f"({one}) + ({two})", f"(ARRAY[{one}, 7])[1]",
        )
        return self.pick(
            f"SELECT {part} AS r", f"SELECT {part} AS r, {two} AS s", f"SELECT id, {part} AS r FROM wa", f"SELECT 1 WHERE {part} = 1", f"SELECT 1 LIMIT {part}",
            f"SELECT 1 ORDER BY {part}", f"SELECT sum({part})", f"VALUES ({part})", f"VALUES ({part}), (1)", f"SELECT * FROM (VALUES ({part})) v",
            [f"INSERT INTO wb VALUES ({part}, 90, DEFAULT) RETURNING *", "DELETE FROM wb WHERE x = 90"],
            [f"INSERT INTO wb (x, a) VALUES (90, {part}), (90, 1) RETURNING *", "DELETE FROM wb WHERE x = 90"],
            [f"INSERT INTO wb VALUES ({part}, 90, 'y') ON CONFLICT DO NOTHING RETURNING a + 1 AS b", "DELETE FROM wb WHERE x = 90"],
            f"UPDATE wa SET v = {part} WHERE id = 77", f"UPDATE wa SET v = v WHERE id = 77 RETURNING {part}", f"DELETE FROM wa WHERE id = {part} AND id = 77",
            f"SELECT count(*) FILTER (WHERE {part} = 1)", f"SELECT DISTINCT {part} AS r", f"SELECT NOT ({part} = 1) AS r", f"SELECT ({part} = 1) IS TRUE AS r",
            f"SELECT max(r) FROM (SELECT {part} AS r FROM wa) s", f"SELECT {part} AS r UNION ALL SELECT 8", f"SELECT id FROM wa WHERE id IN (SELECT {part})",
        )

    # What a row's star stands for.

    def stars(self):
        row = self.pick("(wa)", "(wa.*)", "(s.r)", "(r)", "((SELECT w FROM wc w WHERE w.id = 1))", "((SELECT w FROM wc w WHERE w.id = 77))", "(ROW(1, 2.5))",
                        "(coalesce(wa, wa))", "((ARRAY[r])[1])", "(l)")
        source = "wa, LATERAL (SELECT wa AS r) s, LATERAL (SELECT wa.id AS k, 'z'::text AS z) l"
        return self.pick(
            f"SELECT {row}.* FROM {source}", f"SELECT wa.id, {row}.*, 5 AS five FROM {source}", f"SELECT ROW({row}.*) FROM {source}", f"SELECT ROW({row}.*, 1)::text FROM {source}",
            f"SELECT count({row}.*) FROM {source}", f"SELECT (y).* FROM (SELECT DISTINCT {row}.* FROM {source}) y", f"SELECT x.* FROM {source}, LATERAL (SELECT {row}.*) x",
            f"SELECT x.* FROM {source}, LATERAL (VALUES ({row}.*)) x", f"SELECT ROW({row}.*) = ROW({row}.*) FROM {source}",
            f"INSERT INTO wa SELECT 70 + wa.id FROM wa WHERE false RETURNING (wa).*, (wa.*).id", f"UPDATE wa SET v = (wa).v WHERE (wa).id < 3 RETURNING (wa).*, (wa).t AS u",
            f"VALUES ((ROW(1, 2)).*), (3, 4)", f"SELECT {row}.nothing FROM {source}",
        )
