"""Views that lag: nobody but those who write their tables waits for them, and nobody reads what is not so.

Views that take long for each change follow tables that several write, beside views that take nothing. Whoever was told of a commit
has to find it in every view; no statement may see two views, or a view and a table, of different times. Then, while they lag:
erasures, TRUNCATE, DDL, views that are dropped and made, subscriptions, kill -9. Times are told, and only the worst is an error.

    frontiers.py [--seed S] [--seconds N] [--rounds N]      N seconds of writing (6), N views made and dropped while one lags (12)
"""
import argparse
import random
import statistics
import threading
import time

from harness import Server, Tally, rows, run_check, state_of

# Each change of `heavy` concerns every row of it.
ROWS = 400
SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE heavy (id INT PRIMARY KEY, g INT, person INT NOT NULL OWNED_BY people(id))",
    "CREATE INDEX heavy_g ON heavy (g)",
    "CREATE TABLE light (id INT PRIMARY KEY, n INT)",
    "CREATE MATERIALIZED VIEW pairs AS SELECT count(*) AS n FROM heavy a JOIN heavy b ON a.g = b.g",
    "CREATE MATERIALIZED VIEW singles AS SELECT count(*) AS n FROM heavy",
    "CREATE MATERIALIZED VIEW people_pairs AS SELECT a.person, count(*) AS n FROM heavy a JOIN heavy b ON a.g = b.g GROUP BY a.person",
    "CREATE MATERIALIZED VIEW above AS SELECT sum(n) AS n FROM people_pairs",
    "CREATE MATERIALIZED VIEW lights AS SELECT count(*) AS n, sum(n) AS total FROM light",
]
PEOPLE = 20
READY_WITHIN_S = 120


class Check:
    def __init__(self, options):
        self.options = options
        self.dice = random.Random(options.seed)
        self.tally = Tally()
        self.server = Server()
        self.next_key = ROWS

    def run(self):
        with self.server.connect() as connection:
            for statement in SCHEMA:
                connection.execute(statement)
            with connection.cursor() as cursor:
                cursor.executemany("INSERT INTO people VALUES (%s, %s)", [(key, f"n{key}") for key in range(PEOPLE)])
            connection.execute(f"INSERT INTO heavy SELECT n, 1, n % {PEOPLE} FROM generate_series(0, {ROWS - 1}) n")
        for case in (self.told, self.many, self.others, self.borne, self.subscribed, self.changed, self.tied, self.made_and_dropped, self.erased, self.truncated, self.killed, self.asked_first):
            began = time.monotonic()
            self.tally.case(case)
            print(f"{case.__name__}: {time.monotonic() - began:.1f} s", flush=True)

    def writing(self, table, count=1, pause=0.0):
        """Threads that insert one row after another until they are told to stop; what the last answered one left, and what each took."""
        return Writing(self, table, count, pause)

    def agree(self, connection, when):
        """All views in one statement, and what they are of."""
        found = rows(connection, """SELECT (SELECT n FROM pairs), (SELECT n FROM singles), (SELECT sum(n) FROM people_pairs), (SELECT n FROM above),
            (SELECT count(*) FROM heavy)""")[0]
        pairs, singles, by_person, above, counted = (int(value) for value in found)
        self.tally.that(singles == counted and pairs == counted ** 2 == by_person == above, f"{when}: one time", found)
        return counted

    def told(self):
        """Whoever was told of a commit finds it in every view; and no statement sees two times."""
        with self.writing("heavy", 3) as writing, self.server.connect() as reader:
            until = time.monotonic() + self.options.seconds
            while time.monotonic() < until:
                least = ROWS + writing.answered()
                self.tally.that(self.agree(reader, "beside writers") >= least, "what was answered is there", least)
                least = ROWS + writing.answered()
                (singles,), = rows(reader, "SELECT n FROM singles")
                self.tally.that(singles >= least, "in a view that takes nothing", (singles, least))
                least = ROWS + writing.answered()
                (pairs,), = rows(reader, "SELECT n FROM pairs")
                self.tally.that(pairs >= least ** 2 and round(pairs ** 0.5) ** 2 == pairs, "in a view that takes long", (pairs, least))
        with self.server.connect() as reader:
            self.agree(reader, "once all are through")

    def many(self):
        """Many views over one table beside many writers: what waits for them goes through them as one, but for whoever watches."""
        count, tally = 24, self.tally
        with self.server.connect() as connection, self.server.connect() as watcher:
            connection.execute("CREATE TABLE crowd (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id))")
            for number in range(count):
                connection.execute(f"CREATE MATERIALIZED VIEW crowd_{number} AS SELECT person, count(*) AS n FROM crowd WHERE id > -{number} GROUP BY person")
            connection.execute("INSERT INTO people VALUES (100, 'soon gone')")
            connection.execute("INSERT INTO crowd SELECT n, 100 FROM generate_series(1000000, 1000099) n")
            watcher.execute("BEGIN")
            watcher.execute("DECLARE c CURSOR FOR SUBSCRIBE (SELECT n FROM crowd_0 WHERE person = 1)")
            # A view of this would tie them all.
            connection.execute("SET dogwood.auto_views = off")
            every = " UNION ALL ".join(f"SELECT n FROM crowd_{number} WHERE person = 1" for number in range(count))
            with self.writing("crowd", 8) as writing:
                until, forgets = time.monotonic() + self.options.seconds / 2, True
                while time.monotonic() < until or (forgets and time.monotonic() < until + READY_WITHIN_S):
                    least = writing.answered()
                    found = rows(connection, every)
                    tally.that(len(set(found)) <= 1 and len(found) in (0, count), "many views are of one time", found)
                    tally.that((found[0][0] if found else 0) >= least, "what was answered is in all of them", (found[:1], least))
                    if forgets and least >= 10:
                        forgets = False
                        connection.execute("GDPR FORGET people 100")
                        for number in range(count):
                            tally.equal(rows(connection, f"SELECT * FROM crowd_{number} WHERE person = 100"), [], "an erasure amid many writers")
                tally.that(not forgets, "the writers were at it", writing.answered())
            (whole,), = rows(connection, "SELECT count(*) FROM crowd WHERE person = 1")
            tally.equal(set(rows(connection, every)), {(whole,)}, "many views, in the end")
            told = watcher.execute("FETCH ALL c WITH (timeout = '1s')").fetchall()
            watcher.execute("ROLLBACK")
            values = sorted((row[0], row[1], row[2]) for row in told if row[1] is not None)
            gone, came = [row for row in values if row[1] < 0], [row for row in values if row[1] > 0]
            tally.equal([row[::2] for row in gone], [(after[0], before[2]) for before, after in zip(came, came[1:])], "each change takes back the last one")
            tally.equal(came[-1][2], whole, "the last of what was told")
            groups = rows(connection, "SELECT max(groups), count(DISTINCT worker) FROM dogwood.views WHERE name LIKE 'crowd_%'")
            print(f"    {whole} commits in {groups[0][0]} groups on {groups[0][1]} workers", flush=True)
            connection.execute("DROP TABLE crowd CASCADE")

    def others(self):
        """Writers of a table that only a quick view reads, beside those of one that a slow view reads."""
        with self.writing("light") as writing:
            time.sleep(2)
        alone = writing.times
        with self.writing("heavy", 2) as slow, self.writing("light") as writing:
            time.sleep(self.options.seconds)
        beside = writing.times
        median = [statistics.median(times) * 1e3 for times in (alone, beside, slow.times)]
        worst = [max(times) * 1e3 for times in (alone, beside, slow.times)]
        print(f"light alone, light beside, heavy: medians {median[0]:.2f}, {median[1]:.2f}, {median[2]:.1f} ms, longest {worst[0]:.0f}, {worst[1]:.0f}, {worst[2]:.0f} ms")
        self.tally.that(worst[1] < 2_000, "nobody else waits", worst)
        with self.server.connect() as reader:
            (count,), = rows(reader, "SELECT n FROM lights")
            self.tally.equal(rows(reader, "SELECT count(*) FROM light"), [(count,)], "the quick view")

    def borne(self):
        """A view that may lag: its writers and readers go on meanwhile, but no erasure does, and nobody once it may not any more."""
        tally, count, stages = self.tally, 800, []
        with self.server.connect() as connection, self.server.connect() as other:
            connection.execute("CREATE TABLE piles (id INT PRIMARY KEY, g INT, person INT NOT NULL OWNED_BY people(id))")
            connection.execute("CREATE INDEX ON piles (g)")
            query = "SELECT a.person, count(*) AS n FROM piles a JOIN piles b ON a.g = b.g GROUP BY a.person"
            connection.execute(f"CREATE MATERIALIZED VIEW slow WITH (max_lag = '1h') AS {query}")
            total = "SELECT coalesce(sum(n), 0)::int FROM slow"
            stage = "SELECT stage FROM dogwood.views WHERE name = 'slow'"
            tally.equal(rows(connection, "SELECT reloptions FROM pg_class WHERE relname = 'slow'"), [(["max_lag=3600000"],)], "it is shown")

            def pile(first):
                """So many more rows, of which each meets all others; what the view says from then on."""
                connection.execute(f"INSERT INTO piles SELECT n, 1, n % {PEOPLE} FROM generate_series({first}, {first + count - 1}) n")
                stages.append(rows(other, stage)[0][0])
                return (first + count) ** 2

            whole, before = 0, {0}
            for first in (0, count):
                before, whole = before | {whole}, pile(first)
                (seen,), = rows(other, total)
                tally.that(seen in before | {whole}, "what was, or what is", (seen, whole))
            connection.execute("ALTER MATERIALIZED VIEW slow RESET (max_lag)")
            tally.equal(rows(other, total), [(whole,)], "no longer, for who reads")
            tally.equal(rows(connection, "SELECT reloptions FROM pg_class WHERE relname = 'slow'"), [(None,)], "it is not shown any more")
            whole = pile(2 * count)
            tally.equal(rows(other, total), [(whole,)], "nor for who writes")
            connection.execute("ALTER MATERIALIZED VIEW slow SET (max_lag = '1h')")
            whole = pile(3 * count)
            connection.execute("GDPR FORGET people 3")
            tally.equal(rows(other, "SELECT * FROM slow WHERE person = 3"), [], "a person who is forgotten is not in it")
            tally.equal(rows(other, "SELECT count(*) FROM piles WHERE person = 3"), [(0,)], "nor in the table")
            connection.execute("INSERT INTO people VALUES (3, 'again')")
            connection.execute("ALTER MATERIALIZED VIEW slow SET (max_lag = 0)")
            tally.equal(rows(other, "SELECT person, n FROM slow ORDER BY person"), rows(other, query + " ORDER BY 1"), "in the end")
            tally.that(set(stages[:2] + stages[3:]) == {"behind"} and stages[2] == "ready", "who was told while it lagged", stages)
            for option, code in [("'never'", "22023"), ("-1", "22023"), ("'400d'", "22023"), ("''", "22023"), ("'5 s'", ""), ("250", "")]:
                tally.equal(state_of(connection.execute, f"ALTER MATERIALIZED VIEW slow SET (max_lag = {option})"), code, f"max_lag {option}")
            tally.equal(state_of(connection.execute, "ALTER MATERIALIZED VIEW IF EXISTS nowhere SET (max_lag = 1)"), "", "of no view, if it exists")
            tally.equal(state_of(connection.execute, "ALTER MATERIALIZED VIEW nowhere SET (max_lag = 1)"), "42P01", "of no view")
            connection.execute("DROP TABLE piles CASCADE")

    def subscribed(self):
        """Each change once, in commit order, though the view lags."""
        with self.server.connect() as watcher:
            watcher.execute("BEGIN")
            watcher.execute("DECLARE c CURSOR FOR SUBSCRIBE (SELECT n FROM pairs) WITH (progress)")
            with self.writing("heavy", 2):
                time.sleep(2)
            told, until = [], time.monotonic() + READY_WITHIN_S
            quiet = 0
            while quiet < 2 and time.monotonic() < until:
                some = watcher.execute("FETCH ALL c WITH (timeout = '1s')").fetchall()
                changes = [row for row in some if row[1] is not None]
                quiet = 0 if changes else quiet + 1
                told += some
            watcher.execute("ROLLBACK")
            times = [row[0] for row in told]
            self.tally.equal(times, sorted(times), "in commit order")
            held = {}
            for _, difference, value in told:
                if difference is not None:
                    held[value] = held.get(value, 0) + difference
            held = {value: count for value, count in held.items() if count}
            (pairs,), = rows(watcher, "SELECT n FROM pairs")
            self.tally.equal(held, {pairs: 1}, "what it adds up to")

    def changed(self):
        """DDL while views lag."""
        with self.server.connect() as connection:
            with self.writing("heavy", 2, pause=0.02):
                time.sleep(0.3)
                connection.execute("ALTER TABLE light ADD COLUMN more INT DEFAULT 7")
                connection.execute("CREATE TABLE late (id INT PRIMARY KEY, g INT)")
                connection.execute("INSERT INTO late VALUES (1, 1)")
                connection.execute("CREATE MATERIALIZED VIEW joined AS SELECT count(*) AS n FROM people_pairs CROSS JOIN late")
                connection.execute("CREATE MATERIALIZED VIEW tied AS SELECT p.n AS pairs, s.n AS singles, l.n AS lights FROM pairs p, singles s, lights l")
                connection.execute("INSERT INTO late VALUES (2, 1)")
                self.tally.equal(rows(connection, "SELECT n FROM joined"), [(2 * PEOPLE,)], "a view over one that lags")
                for _ in range(20):
                    connection.execute("INSERT INTO light VALUES (%s, 1)", (self.key(),))
                    pairs, singles, lights = rows(connection, "SELECT * FROM tied")[0]
                    self.tally.that(pairs == singles ** 2, "views that have become one component", (pairs, singles))
                    self.tally.equal(rows(connection, "SELECT count(*) FROM light"), [(lights,)], "what was written")
            connection.execute("DROP MATERIALIZED VIEW tied, joined")
            connection.execute("DROP TABLE late")
            self.agree(connection, "after DDL")

    def tied(self):
        """Views of several workers that a query joins: they are kept by one from then on, unless somebody watches both."""
        with self.server.connect() as connection, self.server.connect() as watcher:
            for name in ("north", "south", "east", "west"):
                connection.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, n INT)")
                connection.execute(f"CREATE MATERIALIZED VIEW {name}_n AS SELECT count(*) AS n FROM {name}")
            watcher.execute("BEGIN")
            for name in ("east", "west"):
                watcher.execute(f"DECLARE {name} CURSOR FOR SUBSCRIBE (SELECT n FROM {name}_n)")
                watcher.execute(f"FETCH ALL {name}")
            for one, other in (("north", "south"), ("east", "west")):
                query = f"SELECT a.n, b.n FROM {one}_n a, {other}_n b"
                with self.writing(one, pause=0.002) as first, self.writing(other, pause=0.002) as second:
                    for _ in range(150):
                        least = first.answered(), second.answered()
                        found = connection.execute(query, prepare=True).fetchall()
                        self.tally.that(len(found) == 1 and found[0][0] >= least[0] and found[0][1] >= least[1], "a query over views of two workers", (found, least))
                counted = rows(connection, f"SELECT (SELECT count(*) FROM {one}), (SELECT count(*) FROM {other})")
                for _ in range(3):
                    self.tally.equal(rows(connection, query), counted, "and afterwards")
            for name in ("east", "west"):
                told = watcher.execute(f"FETCH ALL {name} WITH (timeout = '1s')").fetchall()
                (count,), = rows(connection, f"SELECT count(*) FROM {name}")
                self.tally.that(told and told[-1][-1] == count, "whoever watches is told on", (told[-1:], count))
            watcher.execute("ROLLBACK")
            connection.execute("DROP TABLE north, south, east, west CASCADE")

    def made_and_dropped(self):
        with self.server.connect() as connection:
            connection.execute(f"DELETE FROM heavy WHERE id >= {ROWS}")
        with self.server.connect() as connection, self.writing("heavy", 2, pause=0.1):
            for number in range(self.options.rounds):
                connection.execute(f"CREATE MATERIALIZED VIEW again AS SELECT a.id % 7 AS k, count(*) AS n FROM heavy a JOIN heavy b ON a.g = b.g GROUP BY 1 {'WITH NO DATA' if number % 2 else ''}")
                if number % 3 == 0:
                    (total,), = rows(connection, "SELECT sum(n) FROM again")
                    self.tally.that(round(float(total) ** 0.5) ** 2 == total, "a view made beside writers", total)
                time.sleep(self.dice.random() * 0.05)
                connection.execute("DROP MATERIALIZED VIEW again")
        with self.server.connect() as connection:
            self.agree(connection, "after views came and went")

    def erased(self):
        """An erasure is answered when it has left every view."""
        with self.server.connect() as connection:
            with self.writing("heavy", 2):
                for person in range(PEOPLE - 1, PEOPLE - 4, -1):
                    time.sleep(0.2)
                    connection.execute(f"GDPR FORGET people {person}")
                    self.tally.equal(rows(connection, f"SELECT * FROM people_pairs WHERE person = {person}"), [], "an erased person is in no view")
            self.agree(connection, "after erasures")
            # What was written is quadratic for those who compute it.
            connection.execute(f"DELETE FROM heavy WHERE id >= {ROWS}")
            stages = dict(rows(connection, "SELECT name, stage FROM dogwood.views WHERE kind = 'materialized'"))
            self.tally.that("failed" not in stages.values(), "no view has failed", stages)

    def truncated(self):
        with self.server.connect() as connection:
            with self.writing("light"), self.writing("heavy", 1):
                time.sleep(0.3)
                connection.execute("TRUNCATE light")
            (count,), = rows(connection, "SELECT n FROM lights")
            self.tally.equal(rows(connection, "SELECT count(*) FROM light"), [(count,)], "a truncated table")
            self.agree(connection, "after TRUNCATE")

    def killed(self):
        with self.writing("heavy", 2) as writing:
            time.sleep(0.7)
            least = writing.answered()
            with self.server.connect() as connection:
                before = rows(connection, "SELECT count(*) FROM heavy")[0][0]
            self.server.kill()
        self.tally.that(before >= least, "what was answered", (before, least))
        self.server.start()
        with self.server.connect() as connection:
            self.tally.that(self.agree(connection, "after a crash") >= before, "nothing is lost", before)

    def key(self):
        self.next_key += 1
        return self.next_key

    def asked_first(self):
        """After a start the view that is read is filled before the others."""
        views = 8
        server = Server()
        arguments = ["--view-workers", "1"]
        server.start(arguments)
        try:
            with server.connect() as connection:
                connection.execute("CREATE TABLE many (id INT PRIMARY KEY, g INT)")
                connection.execute("INSERT INTO many SELECT n, n % 20000 FROM generate_series(1, 60000) n")
                for number in range(views):
                    connection.execute(f"CREATE MATERIALIZED VIEW v{number} AS SELECT g, sum(id + {number}) AS n FROM many GROUP BY g")
            server.stop()
            server.start(arguments)
            with server.connect() as connection:
                asked = f"v{views - 1}"
                found = rows(connection, f"SELECT n FROM {asked} WHERE g = 1")
                self.tally.equal(found, [(60003 + 3 * (views - 1),)], "a view that is not filled yet is computed")
                ready = []
                until = time.monotonic() + READY_WITHIN_S
                while not ready and time.monotonic() < until:
                    ready = [name for name, in rows(connection, "SELECT name FROM dogwood.views WHERE stage = 'ready' AND kind = 'materialized'")]
                self.tally.that(asked in ready, "what is asked for is filled first", ready)
        finally:
            server.remove()


class Writing:
    def __init__(self, check, table, count, pause):
        self.check, self.table, self.pause = check, table, pause
        self.done, self.lock = threading.Event(), threading.Lock()
        self.times, self.written = [], 0
        self.threads = [threading.Thread(target=self.write) for _ in range(count)]

    def answered(self):
        with self.lock:
            return self.written

    def write(self):
        try:
            with self.check.server.connect() as connection:
                while not self.done.is_set():
                    with self.lock:
                        key = self.check.key()
                    began = time.monotonic()
                    if self.table == "heavy":
                        state = state_of(connection.execute, "INSERT INTO heavy VALUES (%s, 1, %s)", (key, key % (PEOPLE - 3)))
                    else:
                        state = state_of(connection.execute, f"INSERT INTO {self.table} VALUES (%s, 1)", (key,))
                    with self.lock:
                        self.written += state == ""
                        self.times.append(time.monotonic() - began)
                    time.sleep(self.pause)
        except Exception:
            # The server was killed.
            self.done.set()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        for thread in self.threads:
            thread.join()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=20261125)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--rounds", type=int, default=12)
    run_check(Check(parser.parse_args()))


if __name__ == "__main__":
    main()
