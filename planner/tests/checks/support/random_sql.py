"""Random statements from a seed: tables with NULLs and duplicates, then queries and changes over them.

What it writes has one right answer: only total orders under LIMIT, integer and text arithmetic, no division.
"""

import random
import re

WORDS = ["a", "b", "c", "ab", "", "zz", "A"]


class Random:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tables = {}

    def chance(self, share):
        return self.random.random() < share

    def pick(self, *choices):
        return self.random.choice(choices)

    def statements(self, count):
        yield from self.build()
        for n in range(count):
            if n % 400 == 399:
                yield from self.build()
            kind = self.random.random()
            if kind < 0.60:
                yield self.query()
            elif kind < 0.70:
                yield from self.keyed()
            elif kind < 0.78:
                yield from self.view()
            else:
                yield from self.change()

    def build(self):
        for name in list(self.tables):
            yield f"DROP TABLE {name}"
        self.tables = {}
        # A table that leads to people stores hashes of its keys, another one the keys in order.
        yield "CREATE TABLE IF NOT EXISTS people(id int PRIMARY KEY)"
        yield "COMMENT ON TABLE people IS '@data_subject'"
        for index in range(4):
            name = f"r{index}"
            columns = {"id": "int"}
            for c in range(self.random.randint(2, 4)):
                columns[f"{'xyzw'[c]}"] = self.pick("int", "int", "text", "numeric", "bool", "int8")
            self.tables[name] = columns
            declared = ", ".join(f"{c} {t}" for c, t in columns.items())
            person = ", person int REFERENCES people(id)" if self.chance(0.4) else ""
            yield f"CREATE TABLE {name}({declared}{person}, PRIMARY KEY (id))"
            if self.chance(0.6):
                yield f"CREATE INDEX {name}_i ON {name}({self.random.choice(list(columns)[1:])})"
            if self.chance(0.3):
                yield f"CREATE INDEX {name}_j ON {name}({', '.join(list(columns)[1:3])})"
            if self.chance(0.5):
                several = self.random.sample(list(columns), self.random.randint(2, 3))
                # With the key in it: PostgreSQL refuses what is twice there between two rows of an UPDATE, we at its end.
                unique = self.pick("", "", "UNIQUE ") if "id" in several else ""
                yield f"CREATE {unique}INDEX {name}_k ON {name}({', '.join(several)})"
            rows = self.pick(0, 1, 5, 15, 40) if index else 30
            for key in range(rows):
                values = [str(key)] + [self.constant(t) for c, t in columns.items() if c != "id"]
                yield f"INSERT INTO {name} VALUES ({', '.join(values)})"

    def keyed(self):
        """What an index may answer: values, lists and NULLs of columns, read, changed and deleted."""
        name, columns = self.source()
        terms = []
        for column in self.random.sample(list(columns), self.random.randint(1, len(columns))):
            kind = columns[column]
            constant = lambda: f"{self.constant(kind)}::{kind}"  # noqa: B023, E731
            several = lambda: ", ".join(constant() for _ in range(self.random.randint(1, 5)))  # noqa: B023, E731
            terms.append(self.pick(
                lambda: f"{column} = {constant()}",  # noqa: B023
                lambda: f"{column} = {constant()}",  # noqa: B023
                lambda: f"{column} IS NULL",  # noqa: B023
                lambda: f"{column} IN ({several()})",  # noqa: B023
                lambda: f"{column} = ANY (ARRAY[{several()}])",  # noqa: B023
                lambda: f"({column} = {constant()} OR {column} IS NULL)",  # noqa: B023
                lambda: f"{column} >= {constant()}",  # noqa: B023
            )())
        where = " AND ".join(terms)
        yield f"SELECT * FROM {name} WHERE {where}"
        if arrays := re.findall(r"ANY \((ARRAY\[.*?\])\)", where):
            numbers = iter(range(1, len(arrays) + 1))
            given = re.sub(r"ANY \(ARRAY\[.*?\]\)", lambda _: f"ANY (${next(numbers)})", where)
            yield f"PREPARE keyed AS SELECT id FROM {name} WHERE {given}"
            yield f"EXECUTE keyed({', '.join(arrays)})"
            yield "DEALLOCATE keyed"
        column = self.random.choice([c for c in columns if c != "id"])
        match self.random.randint(0, 3):
            case 0:
                yield f"UPDATE {name} SET {column} = {self.constant(columns[column])} WHERE {where} RETURNING *"
            case 1:
                yield f"DELETE FROM {name} WHERE {where} AND id % 3 = 0 RETURNING *"
            case _:
                other, others = self.source()
                on = self.equality([("a", others)], "b", columns)
                mine = re.sub(r"\b(" + "|".join(columns) + r") (?=[=I>])", r"b.\1 ", where)
                yield f"SELECT a.id, b.id FROM {other} a JOIN {name} b ON {on} WHERE {mine}"

    def view(self):
        """A view, read before and after names change under it and are added, so that one could mean another."""
        columns = ", ".join(f"c{n}" for n in range(self.random.randint(1, 3))) if self.chance(0.3) else ""
        yield f"CREATE VIEW rv{f' ({columns})' if columns else ''} AS {self.query()}"
        yield "SELECT * FROM rv"
        yield "SELECT count(*) FROM rv v, rv w"
        name = self.random.choice(list(self.tables))
        yield f"ALTER TABLE {name} ADD COLUMN {self.pick('x', 'y', 'z', 'w', 'new')} int"
        yield "SELECT * FROM rv"
        column = self.random.choice(list(self.tables[name]))
        yield f"ALTER TABLE {name} RENAME {column} TO other"
        yield f"ALTER TABLE {name} RENAME TO another"
        yield "SELECT * FROM rv"
        yield f"ALTER TABLE another RENAME TO {name}"
        yield f"ALTER TABLE {name} RENAME other TO {column}"
        yield "SELECT * FROM rv"
        yield "DROP VIEW IF EXISTS rv"

    def constant(self, kind):
        if self.chance(0.15):
            return "NULL"
        match kind:
            case "int" | "int8":
                return str(self.random.randint(-3, 12))
            case "text":
                return f"'{self.random.choice(WORDS)}'"
            case "numeric":
                return self.pick("0", "1.5", "-2.25", "10", "7.5", "3")
            case "bool":
                return self.pick("true", "false")

    def columns(self, scope, kind):
        numbers = ("int", "int8") if kind == "int" else (kind,)
        return [f"{alias}.{c}" for alias, cs in scope for c, t in cs.items() if t in numbers]

    def value(self, scope, kind, depth=0):
        columns = self.columns(scope, kind)
        if columns and self.chance(0.65):
            return self.random.choice(columns)
        if depth > 2 or self.chance(0.4):
            constant = self.constant(kind)
            return {"int": constant + "::int", "text": constant + "::text", "numeric": constant + "::numeric",
                    "bool": constant + "::bool"}[kind]
        deeper = depth + 1
        match kind:
            case "int":
                return self.pick(
                    lambda: f"({self.value(scope, 'int', deeper)} {self.pick('+', '-', '*')} {self.value(scope, 'int', deeper)})",
                    lambda: f"coalesce({self.value(scope, 'int', deeper)}, {self.value(scope, 'int', deeper)})",
                    lambda: f"CASE WHEN {self.predicate(scope, deeper)} THEN {self.value(scope, 'int', deeper)} ELSE {self.value(scope, 'int', deeper)} END",
                    lambda: f"length({self.value(scope, 'text', deeper)})",
                    lambda: f"nullif({self.value(scope, 'int', deeper)}, {self.value(scope, 'int', deeper)})",
                    lambda: self.scalar_subquery(scope, deeper),
                )()
            case "text":
                return self.pick(
                    lambda: f"({self.value(scope, 'text', deeper)} || {self.value(scope, 'text', deeper)})",
                    lambda: f"upper({self.value(scope, 'text', deeper)})",
                    lambda: f"({self.value(scope, 'int', deeper)})::text",
                )()
            case "numeric":
                return f"({self.value(scope, 'numeric', deeper)} {self.pick('+', '-', '*')} {self.value(scope, 'numeric', deeper)})"
            case "bool":
                return f"({self.predicate(scope, deeper)})"

    def source(self):
        name = self.random.choice(list(self.tables))
        return name, self.tables[name]

    def scalar_subquery(self, scope, depth):
        name, columns = self.source()
        alias = f"s{depth}{self.random.randint(0, 99)}"
        inner = [(alias, columns)]
        where = f" WHERE {self.predicate(scope + inner, depth + 1)}" if self.chance(0.8) else ""
        match self.random.randint(0, 3):
            case 0:
                return f"(SELECT count(*) FROM {name} {alias}{where})::int"
            case 1:
                return f"(SELECT max({self.value(inner, 'int', 3)}) FROM {name} {alias}{where})"
            case 2:
                return f"(SELECT sum({self.value(inner, 'int', 3)}) FROM {name} {alias}{where})::int"
            case _:
                return f"(SELECT {self.value(inner + scope, 'int', 3)} FROM {name} {alias}{where} ORDER BY {alias}.id LIMIT 1)"

    def predicate(self, scope, depth=0):
        if depth > 3:
            return f"{self.value(scope, 'int', 3)} {self.compare()} {self.value(scope, 'int', 3)}"
        deeper = depth + 1
        return self.pick(
            lambda: f"{self.value(scope, 'int', deeper)} {self.compare()} {self.value(scope, 'int', deeper)}",
            lambda: f"{self.value(scope, 'int', deeper)} {self.compare()} {self.value(scope, 'int', deeper)}",
            lambda: f"{self.value(scope, 'text', deeper)} {self.compare()} {self.value(scope, 'text', deeper)}",
            lambda: f"{self.value(scope, 'numeric', deeper)} {self.compare()} {self.value(scope, 'numeric', deeper)}",
            lambda: f"({self.predicate(scope, deeper)} {self.pick('AND', 'OR')} {self.predicate(scope, deeper)})",
            lambda: f"({self.predicate(scope, deeper)} {self.pick('AND', 'OR')} {self.predicate(scope, deeper)})",
            lambda: f"NOT ({self.predicate(scope, deeper)})",
            lambda: f"({self.value(scope, self.pick('int', 'text', 'bool'), deeper)}) IS {self.pick('', 'NOT ')}NULL",
            lambda: f"{self.value(scope, 'int', deeper)} IS {self.pick('', 'NOT ')}DISTINCT FROM {self.value(scope, 'int', deeper)}",
            lambda: f"{self.value(scope, 'int', deeper)} {self.pick('', 'NOT ')}IN ({', '.join(self.value(scope, 'int', 3) for _ in range(self.random.randint(1, 4)))})",
            lambda: f"{self.value(scope, 'int', deeper)} BETWEEN {self.value(scope, 'int', deeper)} AND {self.value(scope, 'int', deeper)}",
            lambda: f"{self.value(scope, 'text', deeper)} LIKE '{self.pick('a%', '%b', '_', '%', 'A')}'",
            lambda: self.subquery_predicate(scope, deeper),
            lambda: self.subquery_predicate(scope, deeper),
            lambda: f"({self.value(scope, 'bool', deeper)}) IS {self.pick('TRUE', 'NOT TRUE', 'FALSE', 'UNKNOWN')}",
        )()

    def subquery_predicate(self, scope, depth):
        name, columns = self.source()
        alias = f"q{depth}{self.random.randint(0, 99)}"
        inner = [(alias, columns)]
        visible = inner + scope if self.chance(0.6) else inner
        where = f" WHERE {self.predicate(visible, depth + 1)}" if self.chance(0.8) else ""
        body = f"FROM {name} {alias}{where}"
        selected = self.value(inner, "int", 2)
        return self.pick(
            lambda: f"{self.pick('', 'NOT ')}EXISTS (SELECT 1 {body})",
            lambda: f"{self.value(scope, 'int', 2)} {self.pick('', 'NOT ')}IN (SELECT {selected} {body})",
            lambda: f"{self.value(scope, 'int', 2)} {self.compare()} {self.pick('ANY', 'ALL')} (SELECT {selected} {body})",
            lambda: f"({self.value(scope, 'int', 2)}, {self.value(scope, 'text', 2)}) {self.compare()} {self.pick('ANY', 'ALL')} "
                    f"(SELECT {selected}, {self.value(inner, 'text', 2)} {body})",
        )()

    def compare(self):
        return self.pick("=", "=", "<", ">", "<=", ">=", "<>")

    def from_clause(self):
        name, columns = self.source()
        scope, text = [("t0", columns)], f"{name} t0"
        for index in range(1, self.pick(1, 1, 2, 2, 3, 4)):
            name, columns = self.source()
            alias = f"t{index}"
            kind = self.pick("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "LATERAL", "DERIVED")
            if kind == "CROSS JOIN":
                text += f" CROSS JOIN (SELECT * FROM {name} WHERE id < 6) {alias}"
            elif kind == "LATERAL":
                where = self.predicate([("l", columns)] + scope, 2)
                text += f" {self.pick('', 'LEFT ')}JOIN LATERAL (SELECT * FROM {name} l WHERE {where} ORDER BY l.id LIMIT 3) {alias} ON true"
            elif kind == "DERIVED":
                columns = {"id": "int", "x": "int8"}
                text += (f" {self.pick('LEFT JOIN', 'JOIN')} (SELECT {self.value([('d', self.tables[name])], 'int', 2)} AS id, count(*) AS x "
                         f"FROM {name} d GROUP BY 1) {alias} ON {self.equality(scope, alias, columns)}")
            else:
                on = self.equality(scope, alias, columns)
                if kind != "FULL JOIN" and self.chance(0.5):
                    on += f" AND {self.predicate(scope + [(alias, columns)], 2)}"
                text += f" {kind} {name} {alias} ON {on}"
            scope = scope + [(alias, columns)]
        return text, scope

    def equality(self, scope, alias, columns):
        left = self.columns(scope, "int")
        right = self.columns([(alias, columns)], "int")
        return f"{self.random.choice(left)} = {self.random.choice(right)}"

    def aggregate(self, scope):
        inner = self.value(scope, "int", 2)
        distinct = self.pick("", "", "DISTINCT ")
        call = self.pick(
            "count(*)", f"count({distinct}{inner})", f"sum({distinct}{inner})", f"min({inner})", f"max({inner})",
            f"avg({distinct}{inner})", f"max({self.value(scope, 'text', 2)})", f"bool_or({self.predicate(scope, 3)})",
            f"array_agg({inner} ORDER BY {inner})", f"sum({self.value(scope, 'numeric', 2)})",
            f"string_agg({distinct}{(t := self.value(scope, 'text', 2))}, ',' ORDER BY {t})",
        )
        if self.chance(0.2):
            call += f" FILTER (WHERE {self.predicate(scope, 3)})"
        return call

    def query(self):
        text, scope = self.from_clause()
        where = f" WHERE {self.predicate(scope)}" if self.chance(0.7) else ""
        kind = self.random.random()
        if kind < 0.4:
            selected = ", ".join(self.value(scope, self.pick("int", "int", "text", "bool", "numeric")) + f" AS c{n}" for n in range(self.random.randint(1, 4)))
            sql = f"SELECT {self.pick('', '', 'DISTINCT ')}{selected} FROM {text}{where}"
            if "DISTINCT" not in sql[:16] and self.chance(0.4):
                order = ", ".join(f"{alias}.id" + self.pick("", " DESC", " NULLS FIRST") for alias, _ in scope)
                if not any(k in text for k in ("LATERAL", "FULL", "DERIVED", "RIGHT")):
                    sql += f" ORDER BY {order}" + self.limit()
            return sql
        if kind < 0.75:
            keys = [self.value(scope, self.pick("int", "text"), 2) for _ in range(self.random.randint(0, 2))]
            aggregates = [self.aggregate(scope) for _ in range(self.random.randint(1, 3))]
            selected = ", ".join(f"{s} AS c{n}" for n, s in enumerate(keys + aggregates))
            sql = f"SELECT {selected} FROM {text}{where}"
            if keys:
                sql += " GROUP BY " + self.pick("{}", "{}", "ROLLUP({})").format(", ".join(str(n + 1) for n in range(len(keys)))) if self.chance(0.0) else \
                       " GROUP BY " + ", ".join(str(n + 1) for n in range(len(keys)))
            if self.chance(0.3):
                sql += f" HAVING {self.pick('count(*) > 1', 'max(t0.id) < 9', 'sum(t0.id) IS NOT NULL')}"
            return sql
        if kind < 0.85:
            partition = self.value(scope, self.pick("int", "text"), 2)
            order = ", ".join(f"{alias}.id" for alias, _ in scope)
            if any(k in text for k in ("LEFT", "RIGHT", "FULL", "LATERAL", "DERIVED")):
                call = self.pick("count(*)", f"sum({self.value(scope, 'int', 3)})", f"max({self.value(scope, 'int', 3)})", "rank()")
            else:
                call = self.pick("row_number()", "rank()", f"lag({self.value(scope, 'int', 3)})", f"sum({self.value(scope, 'int', 3)})", f"first_value({self.value(scope, 'int', 3)})")
            return f"SELECT t0.id, {call} OVER (PARTITION BY {partition} ORDER BY {order}) AS w FROM {text}{where}"
        if kind < 0.93:
            name, columns = self.source()
            other = [("u0", columns)]
            second = f"SELECT {self.value(other, 'int')}, {self.value(other, 'text')} FROM {name} u0"
            operation = self.pick("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
            return f"SELECT {self.value(scope, 'int')} AS a, {self.value(scope, 'text')} AS b FROM {text}{where} {operation} {second}"
        name, columns = self.source()
        return (f"WITH RECURSIVE w(n, s) AS (SELECT t0.id, 0 FROM {text}{where} UNION SELECT k.id, w.s + 1 FROM {name} k "
                f"JOIN w ON {self.random.choice(self.columns([('k', columns)], 'int'))} = w.n WHERE w.s < 4), "
                f"c AS (SELECT n, count(*) AS k FROM w GROUP BY n) SELECT c.n, c.k, w.s FROM c JOIN w USING (n)")

    def limit(self):
        count = self.random.randint(0, 9)
        name, columns = self.source()
        counted = f"(SELECT count(*) FROM {name} c WHERE {self.predicate([('c', columns)], 3)})"
        return self.pick("", f" LIMIT {count}", f" LIMIT 5 OFFSET {count}", f" FETCH FIRST ({count} / 2) ROWS ONLY", f" LIMIT {counted}",
                         f" OFFSET {counted} ROWS FETCH NEXT {count} ROWS ONLY", f" FETCH FIRST {counted} ROWS WITH TIES", " LIMIT NULL OFFSET 1")

    def returning(self, scope):
        return self.pick("*", "*", f"*, {self.value(scope, 'int', 2)} AS r", f"id, {self.subquery_predicate(scope, 2)} AS r")

    def change(self):
        name, columns = self.source()
        scope = [(name, columns)]
        others = [c for c in columns if c != "id"]
        column = self.random.choice(others)
        kind = "int" if columns[column] == "int8" else columns[column]
        typed = lambda c: "int" if columns[c] == "int8" else columns[c]  # noqa: E731
        match self.random.randint(0, 7):
            case 0:
                yield f"UPDATE {name} SET {column} = {self.value(scope, kind)} WHERE {self.predicate(scope)} RETURNING {self.returning(scope)}"
            case 1:
                yield f"DELETE FROM {name} WHERE {self.predicate(scope)} AND id % 4 = {self.random.randint(0, 3)} RETURNING {self.returning(scope)}"
            case 7:
                source, other = self.source()
                set_ = self.random.sample(others, min(len(others), 2))
                inner = [("m", other)]
                values = ", ".join(self.value(inner + scope, typed(c), 2) for c in set_)
                one = self.pick(f"m.id = {name}.id", f"m.id = {self.random.randint(0, 9)}", f"m.id < {name}.id ORDER BY m.id LIMIT 1")
                assigned = self.pick(f"(SELECT {values} FROM {source} m WHERE {one})", f"ROW({', '.join(self.value(scope, typed(c), 2) for c in set_)})")
                yield f"UPDATE {name} SET ({', '.join(set_)}) = {assigned} WHERE {self.predicate(scope, 2)} RETURNING *"
            case 2:
                values = ", ".join(self.constant(t) if c != "id" else str(self.random.randint(0, 60)) for c, t in columns.items())
                yield f"INSERT INTO {name} VALUES ({values}) RETURNING {self.returning(scope)}"
            case 3:
                values = ", ".join(self.constant(t) if c != "id" else str(self.random.randint(0, 60)) for c, t in columns.items())
                both = scope + [("excluded", columns)]
                update = self.pick("NOTHING", f"UPDATE SET {column} = EXCLUDED.{column}", f"UPDATE SET {column} = {name}.{column} WHERE {self.predicate(scope, 2)}",
                                   f"UPDATE SET {column} = {self.value(both, kind, 2)} WHERE {self.predicate(both, 2)}",
                                   f"UPDATE SET ({column}) = (SELECT {self.value(both, kind, 2)} WHERE {self.predicate(both, 2)})")
                yield f"INSERT INTO {name} VALUES ({values}) ON CONFLICT (id) DO {update} RETURNING *"
            case 4:
                source, other = self.source()
                select = ", ".join("s.id + 20" if c == "id" else self.value([("s", other)], "int" if t == "int8" else t, 2) for c, t in columns.items())
                yield f"INSERT INTO {name} SELECT {select} FROM {source} s WHERE {self.predicate([('s', other)])} ON CONFLICT DO NOTHING RETURNING *"
            case 5:
                source, other = self.source()
                inner = [("f", other)]
                yield (f"UPDATE {name} SET {column} = {self.value(inner + scope, kind, 2)} FROM {source} f "
                       f"WHERE f.id = {name}.id AND {self.predicate(inner + scope, 2)} RETURNING {name}.*")
            case _:
                yield "BEGIN"
                yield f"UPDATE {name} SET {column} = {self.value(scope, kind, 2)} WHERE {self.predicate(scope, 2)}"
                yield "SAVEPOINT s"
                yield f"DELETE FROM {name} WHERE {self.predicate(scope, 2)}"
                yield f"SELECT * FROM {name} WHERE {self.predicate(scope, 2)}"
                yield self.query()
                yield "ROLLBACK TO s"
                yield f"SELECT * FROM {name}"
                yield self.pick("COMMIT", "ROLLBACK")
