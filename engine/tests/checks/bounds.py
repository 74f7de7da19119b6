"""Views within bounds: of a key with many rows a view that queries earned holds the first ones only, and a view that a commit would
keep busy for long is left behind rather than waited for.

Every answer is compared with that of a session without views of its own, while rows come and go, most of them among the first. Then:
further pages, larger limits, no limit, a subscription to a query whose view has a bound, kill -9. And rows that bring millions of others.

    bounds.py [--seed S] [--count N]        N rounds (60) of changes
"""
import threading
import time
from pathlib import Path

from harness import Check, options, rows, run_check, state_of

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE posts (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY people(id), topic TEXT, score INT, hidden BOOL, body TEXT)",
]
PEOPLE, POSTS = 40, 3_000
READY_WITHIN_S = 180
# Seconds, on a machine that may have other work: of whoever writes to other tables, and of whoever writes what explodes.
OTHERS_WAIT_S, WRITER_WAITS_S = 2, 30

# Whether the order leaves nothing open, the query, and its parameters.
QUERIES = {
    "top": ("SELECT id, score, body FROM posts WHERE topic = %s ORDER BY score DESC, id LIMIT 10", 1),
    "author": ("""SELECT p.id, u.name, p.score FROM posts p JOIN people u ON u.id = p.author WHERE p.topic = %s AND NOT p.hidden
        ORDER BY p.score, p.id DESC LIMIT 5 OFFSET 3""", 1),
    "several": ("SELECT id, topic, score FROM posts WHERE topic IN (%s, %s) ORDER BY score DESC, id LIMIT 12", 2),
    "literal": ("SELECT id, score, topic FROM posts WHERE hidden = false ORDER BY score DESC, id DESC LIMIT 20", 0),
}


class Bounds(Check):
    def run(self):
        self.set_up(SCHEMA)
        with self.server.connect() as connection:
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO people VALUES (%s, %s)", [(key, f"n{key}") for key in range(PEOPLE)])
                cursor.executemany("INSERT INTO posts VALUES (%s, %s, %s, %s, %s, %s)", [self.post(key) for key in range(POSTS)])
        for case in (self.follows, self.wider, self.subscribed, self.comes_back, self.explodes, self.explodes_while_filled, self.copies):
            self.tally.case(case)

    def post(self, key):
        # One topic has most of them, one has few.
        topic = self.dice.choices(["large", "middle", "small", "few"], [80, 15, 4, 0.3])[0]
        return (key, self.dice.randrange(PEOPLE), topic, self.dice.randrange(1_000), self.dice.random() < 0.2, "b" * self.dice.randrange(400))

    def parameters(self, count):
        return tuple(self.dice.choice(["large", "middle", "small", "few", "none"]) for _ in range(count))

    def ask(self, connection, query, parameters=()):
        return connection.execute(query, parameters, prepare=True).fetchall()

    def path(self, connection, query, parameters=()):
        text = query
        for value in parameters:
            text = text.replace("%s", f"'{value}'", 1)
        connection.execute("DEALLOCATE ALL")
        name = f"asked{abs(hash(query))}"
        kinds = f" ({', '.join(['text'] * len(parameters))})" if parameters else ""
        for number in range(len(parameters)):
            query = query.replace("%s", f"${number + 1}", 1)
        connection.execute(f"PREPARE {name}{kinds} AS {query}")
        given = f" ({', '.join(repr(value) for value in parameters)})" if parameters else ""
        lines = [line for (line,) in rows(connection, f"EXPLAIN EXECUTE {name}{given}")]
        connection.execute(f"DEALLOCATE {name}")
        return next(line for line in lines if line.startswith("Path:")), lines

    def wait_for(self, connection, query, parameters, words, what):
        until = time.monotonic() + READY_WITHIN_S
        while True:
            for _ in range(6):
                self.ask(connection, query, parameters)
            path, lines = self.path(connection, query, parameters)
            if words in path:
                return self.tally.that(True, what)
            if time.monotonic() > until:
                return self.tally.that(False, what, lines)
            time.sleep(0.05)

    def compare(self, plain, automatic, when):
        for name, (query, count) in QUERIES.items():
            parameters = self.parameters(count)
            expected, found = self.ask(plain, query, parameters), self.ask(automatic, query, parameters)
            self.tally.that(found == expected, f"{when}: {name}", f"{parameters}: found {found}, expected {expected}")

    def change(self, connection):
        """Rows come and go, most of them among the first of their topic."""
        kind = self.dice.random()
        topic = self.dice.choice(["large", "middle", "small", "few"])
        if kind < 0.35:
            count = self.dice.choice([1, 3, 10, 40])
            order = self.dice.choice(["DESC", "ASC"])
            found = rows(connection, f"SELECT id FROM posts WHERE topic = %s ORDER BY score {order} LIMIT {count}", (topic,))
            connection.execute("DELETE FROM posts WHERE id = ANY(%s)", ([key for (key,) in found],))
        elif kind < 0.6:
            connection.execute("UPDATE posts SET score = %s, hidden = NOT hidden WHERE id = %s", (self.dice.randrange(1_000), self.dice.randrange(POSTS)))
        elif kind < 0.7:
            connection.execute("UPDATE posts SET score = 1000 - score WHERE topic = %s AND score > 900", (topic,))
        else:
            for _ in range(self.dice.choice([1, 20])):
                post = self.post(self.dice.randrange(POSTS))
                connection.execute("INSERT INTO posts VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING", post)

    def follows(self):
        with self.server.connect() as connection, self.server.connect() as plain, self.server.connect() as automatic:
            plain.execute("SET dogwood.auto_views = off")
            for name, (query, count) in QUERIES.items():
                self.wait_for(automatic, query, self.parameters(count), "rows or more of each key", f"{name} earns a view of first rows")
            held = dict(rows(connection, "SELECT name, updates FROM dogwood.views"))
            self.tally.that(held and max(held.values()) < POSTS / 2, "views hold few of the rows", held)
            for number in range(self.options.count):
                self.change(connection)
                self.compare(plain, automatic, f"round {number}")
                if number == self.options.count // 2:
                    connection.execute("GDPR FORGET people 3")
                    self.compare(plain, automatic, "after an erasure")
            # The first ones go until none to spare are left: filled anew, with more to spare.
            for number in range(25):
                first = [key for (key,) in rows(connection, "SELECT id FROM posts WHERE topic = 'large' ORDER BY score DESC LIMIT 25")]
                connection.execute("DELETE FROM posts WHERE id = ANY(%s)", (first,))
                self.compare(plain, automatic, f"without the first {25 * number}")
            for name, (query, count) in QUERIES.items():
                self.wait_for(automatic, query, self.parameters(count), "rows or more of each key", f"{name} has its view again")
            self.compare(plain, automatic, "filled anew")

    def wider(self):
        """Further pages and larger limits are answered rightly, and earn a wider view."""
        with self.server.connect() as plain, self.server.connect() as automatic:
            plain.execute("SET dogwood.auto_views = off")
            query = "SELECT id, score, body FROM posts WHERE topic = %s ORDER BY score DESC, id"
            for end in ("LIMIT 10", "LIMIT 10 OFFSET 10", "LIMIT 10 OFFSET 40", "LIMIT 300", "LIMIT 10 OFFSET 900", ""):
                for topic in ("large", "middle", "few", "none"):
                    expected, found = (self.ask(connection, f"{query} {end}", (topic,)) for connection in (plain, automatic))
                    self.tally.equal(found, expected, f"{topic} {end}")
            limited = "SELECT id, score, body FROM posts WHERE topic = %s ORDER BY score DESC, id LIMIT %s::int"
            for limit in (3, 10, 100, 1_000):
                for _ in range(7):
                    expected, found = (self.ask(connection, limited, ("large", limit)) for connection in (plain, automatic))
                    self.tally.equal(found, expected, f"a LIMIT of {limit} as a parameter")
            query = "SELECT id, author, score FROM posts WHERE topic = %s ORDER BY score DESC, id"
            self.wait_for(automatic, f"{query} LIMIT 7", ("large",), "first 16 rows or more", "a narrow view")
            self.wait_for(automatic, f"{query} LIMIT 300", ("large",), "first 512 rows or more", "a wider view")
            for _ in range(6):
                self.ask(automatic, query, ("large",))
            until = time.monotonic() + READY_WITHIN_S
            while "rows or more" in self.path(automatic, query, ("large",))[0] and time.monotonic() < until:
                self.ask(automatic, query, ("large",))
                time.sleep(0.05)
            self.wait_for(automatic, query, ("large",), "automatic view", "a view of all rows")
            self.tally.equal(self.ask(automatic, query, ("large",)), self.ask(plain, query, ("large",)), "all rows of a key")
            refused = state_of(automatic.execute, "SELECT id, score, body FROM posts WHERE topic = 'large' ORDER BY score DESC, id LIMIT -1")
            self.tally.equal(refused, "2201W", "a LIMIT below none")

    def subscribed(self):
        """Whoever watches a key is told of all its rows."""
        with self.server.connect() as connection, self.server.connect() as watcher:
            query = "SELECT id, score FROM posts WHERE topic = %s"
            self.wait_for(connection, f"{query} LIMIT 8", ("large",), "rows or more of each key", "some rows of a key")
            watcher.execute("BEGIN")
            watcher.execute("DECLARE c CURSOR FOR SUBSCRIBE (SELECT id, score FROM posts WHERE topic = 'large')")
            told = []
            until = time.monotonic() + READY_WITHIN_S
            while time.monotonic() < until:
                some = watcher.execute("FETCH ALL c WITH (timeout = '1s')").fetchall()
                told += some
                if any(row[1] is None for row in some):
                    break
            shown = sorted(row[2:] for row in told if row[1] is not None)
            self.tally.equal(shown, sorted(rows(connection, query, ("large",))), "a subscription shows all rows")
            least = rows(connection, "SELECT id FROM posts WHERE topic = 'large' ORDER BY score LIMIT 1")[0][0]
            connection.execute("DELETE FROM posts WHERE id = %s", (least,))
            told = watcher.execute("FETCH ALL c WITH (timeout = '2s')").fetchall()
            self.tally.equal([(row[1], row[2]) for row in told if row[1] is not None], [(-1, least)], "and every change")
            watcher.execute("ROLLBACK")

    def comes_back(self):
        with self.server.connect() as connection:
            connection.execute("UPDATE posts SET score = score + 1 WHERE topic = 'middle'")
        self.server.kill()
        self.server.start()
        with self.server.connect() as plain, self.server.connect() as automatic:
            plain.execute("SET dogwood.auto_views = off")
            for name, (query, count) in QUERIES.items():
                self.wait_for(automatic, query, self.parameters(count), "rows or more of each key", f"{name} after a crash")
            self.compare(plain, automatic, "after a crash")

    def explodes(self):
        """One row that brings millions of others: nobody waits for it for long, and what it took is given back."""
        with self.server.connect() as connection, self.server.connect() as other:
            one = connection.execute
            one("SET dogwood.view_memory = '128MB'")
            one("SET statement_timeout = '120s'")
            one("CREATE TABLE spans (id INT PRIMARY KEY, n INT)")
            one("CREATE TABLE wide (id INT PRIMARY KEY, k INT)")
            one("CREATE INDEX wide_k ON wide (k)")
            one("CREATE TABLE narrow (id INT PRIMARY KEY, k INT)")
            one("CREATE INDEX narrow_k ON narrow (k)")
            one("CREATE TABLE beside (id INT PRIMARY KEY, n INT)")
            one("INSERT INTO wide SELECT g, g % 2 FROM generate_series(1, 20000) g")
            one("INSERT INTO narrow SELECT g, 7 FROM generate_series(1, 2000) g")
            one("CREATE MATERIALIZED VIEW m_beside AS SELECT count(*) AS n FROM beside")
            views = {
                "series": "SELECT s.id, g FROM spans s, generate_series(1, s.n) g",
                "crossed": "SELECT s.id, w.id AS w FROM spans s CROSS JOIN wide w WHERE s.n < 1000",
                "many": "SELECT w.id AS w, v.id AS v FROM narrow v JOIN wide w ON w.k = v.k",
            }
            for name, query in views.items():
                one(f"CREATE MATERIALIZED VIEW x_{name} AS {query}")
            before = self.resident(connection)
            statements = {
                "series": "INSERT INTO spans VALUES (1, 20000000)",
                "many": "UPDATE narrow SET k = 1 WHERE id < 1000",
                "crossed": "INSERT INTO spans SELECT g, 0 FROM generate_series(2, 2000) g",
            }
            for name, statement in statements.items():
                longest, done, worked = [0], threading.Event(), self.worked()

                def write():
                    key = 0
                    while not done.is_set():
                        began = time.monotonic()
                        other.execute("INSERT INTO beside VALUES (%s, 1) ON CONFLICT (id) DO UPDATE SET n = beside.n + 1", (key % 50,))
                        longest[0] = max(longest[0], time.monotonic() - began)
                        key += 1

                thread = threading.Thread(target=write)
                thread.start()
                began = time.monotonic()
                one(statement)
                took = time.monotonic() - began
                time.sleep(4)
                done.set()
                thread.join(60)
                worked = self.worked() - worked
                print(f"{name}: the commit took {took:.1f} s, others {longest[0]:.1f} s at most, the view workers {worked:.1f} s of processor time, "
                      f"resident {before} → {self.resident(connection)} MB")
                # The view may be filled anew meanwhile, on all processors that are free: what counts is who waits.
                self.tally.that(longest[0] < OTHERS_WAIT_S and took < WRITER_WAITS_S, f"writers beside what explodes: {name}", (worked, took, longest[0]))
                stage = dict(rows(connection, "SELECT name, stage FROM dogwood.views"))
                self.tally.equal(stage["m_beside"], "ready", "other views follow")
            # One that was left behind is being filled as it was: what explodes there would be told of below.
            self.settle(connection)
            one("DELETE FROM spans")
            one("UPDATE narrow SET k = 7")
            for name in views:
                one(f"REFRESH MATERIALIZED VIEW x_{name}")
            self.settle(connection)
            for name, query in views.items():
                self.tally.equal(rows(connection, f"SELECT count(*) FROM x_{name}"), rows(connection, f"SELECT count(*) FROM ({query}) q"), f"{name} comes back")
            one("DROP TABLE spans, wide, narrow CASCADE")
            self.tally.that(self.resident(connection) < before + 400, "what it took is given back", (before, self.resident(connection)))

    def explodes_while_filled(self):
        """The same from the beginning."""
        with self.server.connect() as connection, self.server.connect() as other:
            connection.execute("CREATE TABLE long (id INT PRIMARY KEY, n INT)")
            connection.execute("INSERT INTO long VALUES (1, 10), (2, 50000000), (3, 5)")
            connection.execute("CREATE MATERIALIZED VIEW x_long AS SELECT s.id, g FROM long s, generate_series(1, s.n) g WITH NO DATA")
            longest, until, worked = 0, time.monotonic() + READY_WITHIN_S, self.worked()
            while time.monotonic() < until:
                began = time.monotonic()
                other.execute("INSERT INTO beside VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET n = beside.n + 1")
                longest = max(longest, time.monotonic() - began)
                stage, message = rows(other, "SELECT stage, message FROM dogwood.views WHERE name = 'x_long'")[0]
                if stage == "failed":
                    break
            worked = self.worked() - worked
            print(f"while it is filled: others {longest:.1f} s at most, the view workers {worked:.1f} s of processor time, {message}")
            self.tally.that(stage == "failed", "a view that would be too large is given up", (stage, message))
            self.tally.that(worked < 8 and longest < OTHERS_WAIT_S, "writers beside its filling", (worked, longest))
            connection.execute("DROP TABLE long CASCADE")

    def copies(self):
        """A recursion of which each round has ten times the rows of the one before it, all alike: a view counts them until no number
        holds what they come to, a query holds them until it has no more room."""
        step = "SELECT 1 FROM w JOIN people ON people.id < 10 * w.n"
        growing = f"WITH RECURSIVE w(n) AS (SELECT 1 UNION ALL {step}) SELECT count(*) FROM w"
        grouped = f"WITH RECURSIVE w(n) AS (SELECT 1 UNION ALL {step}) SELECT n, count(*) FROM w GROUP BY n"
        once = f"WITH RECURSIVE w(n) AS (SELECT 1 UNION {step}) SELECT count(*) FROM w"
        with self.server.connect() as connection:
            connection.execute("SET dogwood.auto_views = off")
            connection.execute("SET statement_memory = '64MB'")
            for query in (growing, grouped, f"SELECT * FROM ({growing}) s WHERE count > 3"):
                self.tally.equal(state_of(connection.execute, query), "53200", f"too many copies: {query[:90]}")
            self.tally.equal(rows(connection, once), [(1,)], "UNION has each row once")
            state = state_of(connection.execute, f"CREATE MATERIALIZED VIEW copies AS {grouped}")
            self.tally.that(state in ("", "54000"), "a view of too many copies", state)
            self.tally.equal(rows(connection, "SELECT 1"), [(1,)], "the server goes on")
            if state == "":
                state = state_of(connection.execute, "SELECT * FROM copies")
                self.tally.that(state in ("53200", "54000"), "the view says so, or its query", state)
                connection.execute("DROP MATERIALIZED VIEW copies")

    def worked(self):
        """Seconds of processor time of the view workers."""
        tasks = Path(f"/proc/{self.server.process.pid}/task").iterdir()
        workers = [task for task in tasks if (task / "comm").read_text().startswith("views ")]
        self.tally.that(workers, "the server has view workers")
        return sum(int((task / "schedstat").read_text().split()[0]) for task in workers) / 1e9

    def settle(self, connection):
        """Waits until no view is being filled."""
        until = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < until:
            stages = rows(connection, "SELECT name, stage FROM dogwood.views WHERE stage NOT IN ('ready', 'failed')")
            if not stages:
                return
            time.sleep(0.05)

    def resident(self, connection):
        return rows(connection, "SELECT bytes / 1000000 FROM dogwood.memory WHERE part = 'resident set'")[0][0]


if __name__ == "__main__":
    run_check(Bounds(options(seed=20261122, count=60)))
