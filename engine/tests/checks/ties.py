"""One order: rows that ORDER BY leaves equal come in the same sequence on every path.

Each query is asked with dogwood.auto_views off, which computes it of all rows. That sequence is then compared with what other paths give:

    again        with automatic views and ordered indexes, once they are there (EXPLAIN says which path it is)
    view         CREATE MATERIALIZED VIEW of it with its rows numbered, read by the numbers
    own writes   in a transaction that has changed its tables, whose own rows lie over those that are stored
    cursor       FETCH by threes, and a subquery in FROM
    page         LIMIT and OFFSET of it, which must be that part of the sequence

Queries: every ORDER BY of corpus/*.sql, and random ones over tables that are full of ties. Rows change meanwhile.

    ties.py [--seed S] [--count N] [--only generated|corpus]        N random queries (150)
"""
import argparse
import re
import time

import psycopg

from harness import Check, Server, rows, run_check
from harness.corpus import CORPUS, ordered, statements

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT, score INT, city TEXT)",
    """CREATE TABLE posts (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY people(id), g INT, n INT, amount NUMERIC, title TEXT,
       tags TEXT[], at DATE)""",
    "CREATE TABLE votes (post INT, voter INT NOT NULL OWNED_BY people(id), v INT, PRIMARY KEY (voter, post))",
    "CREATE TABLE visits (person INT OWNED_BY people(id), n INT, place TEXT, real FLOAT8, amount NUMERIC)",
    "CREATE TABLE kinds (code TEXT PRIMARY KEY, n INT, label TEXT)",
    "CREATE TABLE loose (n INT, label TEXT, amount NUMERIC(8,2))",
    "CREATE INDEX people_score ON people (score)",
    "CREATE INDEX posts_n ON posts (n)",
    "CREATE INDEX posts_g_n ON posts (g, n)",
    "CREATE INDEX visits_n ON visits (n)",
    "CREATE INDEX kinds_n ON kinds (n)",
    "CREATE VIEW busy AS SELECT author, count(*) AS k, max(n) AS top FROM posts GROUP BY author",
    "CREATE VIEW short AS SELECT id, n, title FROM posts WHERE g < 3",
    "CREATE MATERIALIZED VIEW kept AS SELECT id, n, author, title FROM posts WHERE g > 0",
    "CREATE MATERIALIZED VIEW bare AS SELECT n, title FROM posts",
]
PEOPLE, POSTS = 40, 400
READY_WITHIN_S = 30

# FROM, of which tables it is made, integer columns to order by, columns to show, and one to look up by.
SOURCES = [
    ("posts", "posts", ["n", "g", "at", "amount", "n % 2"], ["id", "title", "n", "amount", "at", "g"], "g = {}"),
    ("people p", "people", ["p.score", "p.city"], ["p.name", "p.city", "p.id"], "p.city = 'c{}'"),
    ("visits", "visits", ["n", "place", "real", "amount"], ["place", "n", "person", "real", "amount"], "n = {}"),
    ("kinds", "kinds", ["n", "label"], ["code", "label", "n"], "n = {}"),
    ("loose", "loose", ["n", "label"], ["label", "amount", "n"], "n = {}"),
    ("kept", "posts", ["n", "author"], ["title", "n", "id"], "n = {}"),
    ("bare", "posts", ["n", "length(title)"], ["title", "n"], "n = {}"),
    ("short", "posts", ["n", "title"], ["title", "n", "id"], "n = {}"),
    ("posts p JOIN people u ON u.id = p.author", "posts", ["p.n", "u.score", "u.city"], ["p.title", "u.name", "p.n", "u.id"], "u.score = {}"),
    ("people u LEFT JOIN posts p ON p.author = u.id AND p.g = 1", "posts", ["u.score", "p.n"], ["u.name", "p.title", "p.id"], "u.score = {}"),
    ("posts p RIGHT JOIN people u ON u.id = p.n", "posts", ["u.score", "p.g"], ["u.name", "p.title", "p.id"], "u.score = {}"),
    ("posts p FULL JOIN kinds k ON k.n = p.id", "posts", ["p.g", "k.n % 3"], ["p.title", "k.code", "p.id"], "p.g = {}"),
    ("posts p JOIN votes v ON v.post = p.id", "votes", ["v.v", "p.n"], ["p.title", "v.voter", "v.v"], "p.g = {}"),
    ("visits v JOIN people u ON u.id = v.person", "visits", ["v.n", "u.score"], ["v.place", "u.name", "v.amount"], "u.score = {}"),
    ("people u JOIN busy b ON b.author = u.id", "posts", ["b.k", "b.top", "u.score"], ["u.name", "b.k", "b.top"], "u.score = {}"),
    ("posts p, unnest(p.tags) t", "posts", ["p.n", "p.g"], ["p.title", "t", "p.id"], "p.g = {}"),
    ("people u LEFT JOIN LATERAL (SELECT title, n FROM posts WHERE author = u.id ORDER BY g DESC LIMIT 2) l ON true", "posts", ["u.score", "l.n"],
     ["u.name", "l.title"], "u.score = {}"),
    ("(SELECT n, title FROM posts WHERE g < 4 UNION ALL SELECT n, place FROM visits) x", "posts", ["x.n"], ["x.title", "x.n"], "x.n = {}"),
    ("(SELECT n FROM posts EXCEPT SELECT g FROM posts) x", "posts", ["x.n % 3"], ["x.n"], "x.n = {}"),
    ("(SELECT * FROM posts ORDER BY g LIMIT 60) x", "posts", ["x.n", "x.g"], ["x.title", "x.id", "x.amount"], "x.n = {}"),
    ("(SELECT DISTINCT n, g FROM posts) x", "posts", ["x.n", "x.g"], ["x.n", "x.g"], "x.n = {}"),
    ("(SELECT g, n % 3 AS m, count(*) AS k FROM posts GROUP BY g, n % 3) x", "posts", ["x.k", "x.m"], ["x.g", "x.k", "x.m"], "x.g = {}"),
    ("(VALUES (1, 'b'), (1, 'a'), (0, 'c'), (1, 'b')) x(n, title)", None, ["x.n"], ["x.title", "x.n"], "x.n = {}"),
]


def value(row):
    return tuple(repr(cell) for cell in row)


class Queries:
    """Random queries with ORDER BY: (text, tables, whether LIMIT may be put behind it)."""

    def __init__(self, dice):
        self.dice = dice

    def one(self):
        dice = self.dice
        source, table, by, shown, looked_up = dice.choice(SOURCES)
        keys = dice.sample(by, dice.randrange(1, min(3, len(by)) + 1))
        order = ", ".join(f"{key}{dice.choice(['', '', ' DESC', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'])}" for key in keys)
        columns = dice.sample(shown, dice.randrange(1, len(shown) + 1))
        where = f" WHERE {looked_up.format(dice.randrange(4))}" if dice.random() < 0.5 else ""
        shape = dice.randrange(12)
        form = f"SELECT {', '.join(columns)} FROM {source}{where}"
        if shape == 0:
            by_columns = ", ".join(dice.sample([str(place + 1) for place in range(len(columns))], dice.randrange(1, len(columns) + 1)))
            return f"SELECT DISTINCT {', '.join(columns)} FROM {source}{where} ORDER BY {by_columns}", table, True
        if shape == 1:
            on = keys[0]
            return f"SELECT DISTINCT ON ({on}) {', '.join(columns)} FROM {source}{where} ORDER BY {order}", table, True
        if shape == 2:
            return f"SELECT {columns[0]}, count(*) FROM {source}{where} GROUP BY {columns[0]} ORDER BY 2{dice.choice(['', ' DESC'])}", table, True
        if shape == 3:
            call = dice.choice(["row_number()", "rank()", f"lag({columns[0]})", f"first_value({columns[-1]})", "ntile(3)", "dense_rank()"])
            partition = f"PARTITION BY {by[-1]} " if dice.random() < 0.5 else ""
            return f"SELECT {', '.join(columns)}, {call} OVER ({partition}ORDER BY {order}) AS w FROM {source}{where} ORDER BY {keys[0]}", table, True
        if shape == 4:
            return f"{form} ORDER BY {order} FETCH FIRST {dice.randrange(1, 9)} ROWS WITH TIES", table, False
        if shape == 5:
            return f"WITH c AS ({form} ORDER BY {order} LIMIT {dice.randrange(3, 12)}) SELECT * FROM c", table, False
        if shape == 6:
            return f"SELECT * FROM ({form} ORDER BY {order} LIMIT {dice.randrange(3, 20)} OFFSET {dice.randrange(3)}) q ORDER BY 1", table, True
        if shape == 7:
            named = ", ".join(f"{column} AS c{place}" for place, column in enumerate(columns))
            return f"SELECT {named}, {keys[0]} IS NULL AS u FROM {source}{where} ORDER BY u, {order}", table, True
        if shape == 8:
            return f"{form} UNION ALL {form} ORDER BY 1", table, True
        return f"{form} ORDER BY {order}", table, True


class Ties(Check):
    def __init__(self, options):
        super().__init__(options)
        self.paths = {}
        self.views = 0

    def run(self):
        if self.options.only != "corpus":
            self.tally.case(self.generated)
        if self.options.only != "generated":
            self.tally.case(self.corpora)
        if self.options.verbose:
            print(self.paths, flush=True)

    # Random queries.

    def generated(self):
        dice = self.dice
        with self.server.connect() as connection, self.server.connect() as plain:
            plain.execute("SET dogwood.auto_views = off")
            for statement in SCHEMA:
                connection.execute(statement)
            self.fill(connection)
            queries = [Queries(dice).one() for _ in range(self.options.count)]
            queries += [(text, "posts", True) for text in self.fixed()]
            pages = []
            for text, table, open_end in queries:
                if open_end:
                    skip, count = dice.randrange(0, 9), dice.randrange(1, 12)
                    pages.append((text, f"{text} LIMIT {count} OFFSET {skip}", slice(skip, skip + count), table))
            for round_number in range(2):
                for text in [text for text, _, _ in queries] + [page for _, page, _, _ in pages]:
                    for _ in range(6):
                        connection.execute(text)
                self.settle(connection)
                for text, table, _ in queries:
                    self.compare(connection, plain, text, table)
                for text, page, part, table in pages:
                    whole = self.asked(plain, text)
                    self.tally.equal(self.asked(plain, page), whole[part], f"a page of all: {page}")
                    self.compare(connection, plain, page, table, within=self.dice.random() < 0.3)
                self.change(connection)
            for path in ("automatic", "ordered index", "one-shot", "lookup", "materialized view"):
                self.tally.that(self.paths.get(path, 0) > 2, f"queries that took the path: {path}", self.paths)

    def fixed(self):
        """What random queries would come upon too seldom."""
        yield "SELECT id, title FROM posts ORDER BY n"
        yield "SELECT id, title FROM posts ORDER BY n DESC"
        yield "SELECT title FROM posts WHERE g = 2 ORDER BY n DESC"
        yield "SELECT title FROM posts ORDER BY g"
        yield "SELECT place, amount FROM visits ORDER BY n"
        yield "SELECT name FROM people ORDER BY score"
        yield "SELECT title FROM posts WHERE author = 3 ORDER BY n"
        yield "SELECT n, row_number() OVER (PARTITION BY g ORDER BY n) FROM posts WHERE g = 1 ORDER BY n"
        yield "SELECT g, array_agg(title ORDER BY n), string_agg(title, ',' ORDER BY n DESC) FROM posts GROUP BY g ORDER BY g % 2"
        yield "SELECT score, ARRAY(SELECT title FROM posts WHERE author = people.id ORDER BY n) FROM people ORDER BY score"
        yield "SELECT score, (SELECT title FROM posts WHERE author = people.id ORDER BY n DESC LIMIT 1) FROM people ORDER BY score"
        yield "SELECT title, unnest(tags) FROM posts ORDER BY n"
        yield "SELECT row_number() OVER () AS r, q.title FROM (SELECT title FROM posts ORDER BY n) q ORDER BY q.title"
        yield "SELECT x.title FROM posts x WHERE x.id IN (SELECT id FROM posts ORDER BY n LIMIT 30) ORDER BY x.g"
        yield "SELECT g, n, count(*) FROM posts GROUP BY ROLLUP (g, n) ORDER BY 3"

    def fill(self, connection):
        dice = self.dice
        with connection.transaction(), connection.cursor() as cursor:
            cursor.executemany("INSERT INTO people VALUES (%s, %s, %s, %s)", [
                (number, f"n{number % 6}", self.or_null(number % 4), f"c{number % 3}") for number in self.shuffled(PEOPLE)])
            cursor.executemany("INSERT INTO posts VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", [self.post(number) for number in self.shuffled(POSTS)])
            votes = sorted({(dice.randrange(POSTS), dice.randrange(PEOPLE)) for _ in range(300)})
            cursor.executemany("INSERT INTO votes VALUES (%s, %s, %s)", [(post, voter, dice.randrange(3)) for post, voter in votes])
            cursor.executemany("INSERT INTO visits VALUES (%s, %s, %s, %s, %s)", [
                (dice.randrange(PEOPLE), self.or_null(dice.randrange(5)), f"p{dice.randrange(3)}", dice.choice([0.0, -0.0, 1.5, None]),
                 dice.choice(["1", "1.0", "1.00", "2", None])) for _ in range(300)])
            cursor.executemany("INSERT INTO kinds VALUES (%s, %s, %s)", [(f"k{number}", self.or_null(number % 5), f"l{number % 3}") for number in self.shuffled(60)])
            cursor.executemany("INSERT INTO loose VALUES (%s, %s, %s)", [(dice.randrange(4), f"l{dice.randrange(4)}", dice.randrange(3)) for _ in range(120)])

    def post(self, number):
        dice = self.dice
        return (number, dice.randrange(PEOPLE), dice.randrange(5), self.or_null(dice.randrange(6)), dice.choice(["1", "1.0", "1.00", "2.5", None]), f"t{dice.randrange(8)}",
                dice.sample(["x", "y", "z"], dice.randrange(4)), f"2026-01-0{dice.randrange(1, 5)}")

    def or_null(self, cell):
        return None if self.dice.random() < 0.15 else cell

    def shuffled(self, count):
        return self.dice.sample(range(count), count)

    def change(self, connection):
        dice = self.dice
        for _ in range(30):
            number = dice.randrange(POSTS)
            connection.execute("UPDATE posts SET n = %s, title = %s WHERE id = %s", (dice.randrange(6), f"t{dice.randrange(8)}", number))
            connection.execute("DELETE FROM posts WHERE id = %s", (dice.randrange(POSTS),))
            connection.execute("INSERT INTO posts VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING", self.post(dice.randrange(POSTS)))
        connection.execute("UPDATE visits SET n = n + 1 WHERE n < 2")
        connection.execute("UPDATE people SET score = 1 WHERE id % 7 = 0")

    def settle(self, connection):
        """Waits until no view is being filled."""
        until, quiet = time.monotonic() + READY_WITHIN_S, 0
        while time.monotonic() < until and quiet < 3:
            stages = {stage for (stage,) in rows(connection, "SELECT stage FROM dogwood.views")}
            quiet = quiet + 1 if stages <= {"ready", "failed"} else 0
            time.sleep(0.1)

    # Comparison.

    def asked(self, connection, text):
        return [value(row) for row in rows(connection, text)]

    def compare(self, connection, plain, text, table, within=True):
        expected = self.asked(plain, text)
        plan = "\n".join(line for (line,) in rows(connection, f"EXPLAIN {text}"))
        path = re.search(r"Path: ([a-z-]+)", plan)
        path = "ordered index" if re.search(r'Ordered index: .* in memory', plan) and "not in memory" not in plan else path[1] if path else "?"
        self.paths[path] = self.paths.get(path, 0) + 1
        self.same(self.asked(connection, text), expected, f"again, {path}: {text}")
        if not within:
            return
        connection.execute("BEGIN")
        with connection.cursor("c") as cursor:
            cursor.execute(text)
            found = []
            while part := cursor.fetchmany(3):
                found += [value(row) for row in part]
        self.same(found, expected, f"cursor: {text}")
        if table:
            connection.execute(f"UPDATE {table} SET {dict(posts='g', people='score', votes='v').get(table, 'n')} = 0 WHERE false")
            connection.execute({"posts": "DELETE FROM posts WHERE id = -1", "people": "DELETE FROM people WHERE id = -1"}.get(table, f"DELETE FROM {table} WHERE false"))
            if table == "posts":
                connection.execute("INSERT INTO posts VALUES (-1, 0, 0, 0, 0, 't', '{}', NULL)")
                connection.execute("DELETE FROM posts WHERE id = -1")
        self.same(self.asked(connection, text), expected, f"own writes: {text}")
        connection.execute("ROLLBACK")
        self.same(self.asked(connection, f"SELECT * FROM ({text}) q") if self.is_named(connection, text) else expected, expected, f"subquery: {text}")
        self.numbered(connection, text, expected)

    def is_named(self, connection, text):
        names = [column.name for column in connection.execute(text).description]
        return len(set(names)) == len(names) and "?column?" not in names

    def numbered(self, connection, text, expected):
        """Whether there is a maintained view of it; its rows are compared. Views are of UTC, whatever the session's zone."""
        if "UTC" not in str(connection.execute("SHOW timezone").fetchone()[0]):
            return
        try:
            self.views += 1
            name = f"ties_of_{self.views}"
            connection.execute(f"CREATE MATERIALIZED VIEW {name} AS SELECT row_number() OVER () AS ties_n, q.* FROM ({text}) q")
        except psycopg.Error as error:
            self.paths[error.sqlstate] = self.paths.get(error.sqlstate, 0) + 1
            return
        self.paths["materialized view"] = self.paths.get("materialized view", 0) + 1
        found = [row[1:] for row in self.asked(connection, f"SELECT * FROM {name} ORDER BY ties_n")]
        self.same(found, expected, f"view: {text}")
        connection.execute(f"DROP MATERIALIZED VIEW {name}")

    def same(self, found, expected, name):
        at = next((place for place, (one, other) in enumerate(zip(found, expected)) if one != other), min(len(found), len(expected)))
        self.tally.that(found == expected, name, f"row {at} of {len(expected)}: found {found[at:at + 3]}, expected {expected[at:at + 3]}")

    # The corpora.

    def corpora(self):
        for path in sorted(CORPUS.glob("*.sql")):
            self.tally.case(self.corpus, path)

    def corpus(self, path):
        server, compared = Server(), 0
        try:
            server.start()
            with server.connect() as connection:
                for sql, data in statements(path.read_text()):
                    if re.match(r"\s*copy\b", sql, re.I):
                        self.copy(connection, sql, data)
                        continue
                    reads = re.match(r"\s*(select|with|values|table)\b", sql, re.I) and re.search(r"\border\s+by\b", sql, re.I)
                    if reads and ordered(sql) and not connection.info.transaction_status:
                        compared += self.of_corpus(connection, sql)
                    try:
                        connection.execute(sql)
                    except (psycopg.Error, UnicodeError):
                        pass
        finally:
            server.remove()
        self.paths[path.name] = compared

    def copy(self, connection, sql, data):
        try:
            with connection.cursor().copy(sql) as copy:
                if data is None:
                    list(copy)
                else:
                    copy.write(data)
        except (psycopg.Error, UnicodeError):
            pass

    def of_corpus(self, connection, sql):
        volatile = r"random|nextval|clock_|now\(|uuid|current_|pg_|information_schema|dogwood\.|setval|lastval|statement_|transaction_"
        # Queries in WITH may write.
        writes = r"\bfor\s+(no\s+key\s+)?(update|share|key)|\b(insert\s+into|update\s+\w+\s+set|delete\s+from)\b"
        if re.search(volatile, sql, re.I) or re.search(writes, sql, re.I):
            return 0
        connection.execute("SET dogwood.auto_views = off")
        try:
            expected = self.asked(connection, sql)
        except (psycopg.Error, UnicodeError, ValueError, OverflowError, NotImplementedError):
            return 0
        finally:
            connection.execute("SET dogwood.auto_views = on")
        for _ in range(6):
            self.same(self.asked(connection, sql), expected, f"again: {sql}")
        if self.is_named(connection, sql):
            self.numbered(connection, sql, expected)
        return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--only", choices=["generated", "corpus"])
    parser.add_argument("--verbose", action="store_true")
    run_check(Ties(parser.parse_args()))


if __name__ == "__main__":
    main()
