"""Definitions in transactions: sequences that ROLLBACK finds as they were, and ownership graphs that come in any order.

Only nextval and setval stand outside transactions. A graph is asked for at COMMIT, whatever it was on the way there:
random histories of definitions are accepted or refused as their end alone is. DEFINITIONS_HISTORIES (60), DEFINITIONS_SEED.
"""
import os
import random
import threading

import psycopg
from harness import Check, rows, run_check, state_of

HISTORIES = int(os.environ.get("DEFINITIONS_HISTORIES", "60"))
SEED = int(os.environ.get("DEFINITIONS_SEED", "20261123"))


class SequenceModel:
    """What a sequence is (taken back by ROLLBACK) and the file that it counts in (not). Each step is a statement and its answer."""

    def __init__(self):
        self.shape = {"start": 1, "increment": 1, "low": 1, "high": 2**63 - 1, "cycle": False}
        self.counter = {"value": 1, "called": False}
        self.saved, self.failed = None, False

    def end(self, keep):
        if self.saved and not keep:
            self.shape, self.counter = self.saved[0]
        self.saved, self.failed = None, False

    def step(self, draw):
        if self.failed and len(self.saved) > 1:
            self.failed, (self.shape, self.counter) = False, self.saved[-1]
            return "ROLLBACK TO p", "done"
        if self.failed:
            self.end(False)
            return "ROLLBACK", "done"
        kind = draw.choices(("next", "set", "change", "begin", "savepoint", "back", "end"), (8, 1, 4, 2, 1, 2, 1))[0]
        if kind == "next":
            return "SELECT nextval('s')", self.next()
        if kind == "set":
            value, called = draw.randint(self.shape["low"], min(self.shape["high"], self.shape["low"] + 50)), draw.random() < 0.5
            self.counter.update(value=value, called=called)
            return f"SELECT setval('s', {value}, {called})", value
        if kind == "change":
            return self.change(draw)
        if kind == "begin" or self.saved is None:
            statement = "BEGIN" if self.saved is None else "SAVEPOINT p"
            self.saved = (self.saved or []) + [(self.shape, self.counter)]
            return statement, "done"
        if kind == "savepoint":
            self.saved = [self.saved[0], (self.shape, self.counter)]
            return "SAVEPOINT p", "done"
        if kind == "back" and len(self.saved) > 1:
            self.shape, self.counter = self.saved[-1]
            return "ROLLBACK TO p", "done"
        keep = draw.random() < 0.5
        self.end(keep)
        return "COMMIT" if keep else "ROLLBACK", "done"

    def next(self):
        shape, counter = self.shape, self.counter
        value = counter["value"] + shape["increment"] if counter["called"] else counter["value"]
        if not shape["low"] <= value <= shape["high"]:
            if not shape["cycle"]:
                return self.fail("2200H")
            value = shape["low"] if shape["increment"] > 0 else shape["high"]
        counter.update(value=value, called=True)
        return value

    def fail(self, code):
        self.failed = self.saved is not None
        return code

    def change(self, draw):
        shape, words = dict(self.shape), []
        if draw.random() < 0.5:
            shape["increment"] = draw.choice((1, 2, 5, -1, -3))
            words.append(f"INCREMENT {shape['increment']}")
        if draw.random() < 0.3:
            shape["low"] = draw.randint(-20, 1)
            words.append(f"MINVALUE {shape['low']}")
        if draw.random() < 0.3:
            shape["high"] = draw.randint(100, 200)
            words.append(f"MAXVALUE {shape['high']}")
        if draw.random() < 0.3:
            shape["cycle"] = draw.random() < 0.5
            words.append("CYCLE" if shape["cycle"] else "NO CYCLE")
        counter = dict(self.counter)
        if draw.random() < 0.3:
            counter = {"value": draw.randint(shape["low"], 90), "called": False}
            words.append(f"RESTART {counter['value']}")
        words = words or ["CACHE 1"]
        statement = f"ALTER SEQUENCE s {' '.join(words)}"
        if not shape["low"] <= shape["start"] <= shape["high"] or not shape["low"] <= counter["value"] <= shape["high"]:
            return statement, self.fail("22023")
        self.shape, self.counter = shape, counter
        return statement, "done"


class Definitions(Check):
    def run(self):
        for case in (self.rolled_back, self.savepoints, self.made_anew, self.session_values, self.beside_others, self.changed_beside_others, self.columns,
                     self.sequences_at_random, self.added_columns,
                     self.after_a_crash, self.graphs_by_hand, self.graphs_at_random):
            self.tally.case(case)

    def ids(self, connection, table, count=1):
        return [rows(connection, f"INSERT INTO {table} DEFAULT VALUES RETURNING id")[0][0] for _ in range(count)]

    def rolled_back(self):
        """Each definition of a sequence, rolled back: the next rows have ids that no row has."""
        with self.server.connect() as one:
            for change, within in [
                ("TRUNCATE t RESTART IDENTITY", [1, 2]),
                ("ALTER SEQUENCE t_id_seq RESTART", [1, 2]),
                ("ALTER SEQUENCE t_id_seq RESTART WITH 100", [100, 101]),
                ("ALTER TABLE t ALTER COLUMN id RESTART WITH 50", [50, 51]),
                ("ALTER SEQUENCE t_id_seq RESTART 7 INCREMENT 3", [7, 10]),
                ("ALTER SEQUENCE t_id_seq OWNED BY NONE", None),
                ("DROP TABLE t; CREATE TABLE t (id INT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, x INT)", [1, 2]),
            ]:
                for end in ("ROLLBACK", "COMMIT"):
                    one.execute("DROP TABLE IF EXISTS t CASCADE")
                    one.execute("DROP SEQUENCE IF EXISTS t_id_seq")
                    one.execute("CREATE TABLE t (id INT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, x INT)")
                    if "OWNED BY" in change:
                        one.execute("DROP TABLE t")
                        one.execute("CREATE TABLE t (id SERIAL PRIMARY KEY, x INT)")
                    self.ids(one, "t", 3)
                    one.execute("BEGIN")
                    for statement in change.split("; "):
                        one.execute(statement)
                    if within and "TRUNCATE" not in change and "DROP" not in change:
                        one.execute("DELETE FROM t")
                    if within:
                        self.tally.equal(self.ids(one, "t", 2), within, f"{change}: inside")
                    one.execute(end)
                    after = self.ids(one, "t", 2)
                    if end == "ROLLBACK":
                        self.tally.equal(after, [4, 5], f"{change}: rolled back")
                    elif within:
                        step = within[1] - within[0]
                        self.tally.equal(after, [within[1] + step, within[1] + 2 * step], f"{change}: committed")
                    if end == "ROLLBACK" and within:
                        self.tally.equal(rows(one, "SELECT last_value, is_called FROM t_id_seq"), [(5, True)], f"{change}: last_value")
            one.execute("DROP TABLE t")

    def savepoints(self):
        with self.server.connect() as one:
            one.execute("CREATE TABLE t (id SERIAL PRIMARY KEY)")
            self.ids(one, "t", 2)
            one.execute("BEGIN")
            one.execute("SAVEPOINT s")
            one.execute("TRUNCATE t RESTART IDENTITY")
            self.tally.equal(self.ids(one, "t"), [1], "inside the savepoint")
            one.execute("SAVEPOINT r")
            one.execute("ALTER SEQUENCE t_id_seq RESTART WITH 70")
            self.tally.equal(self.ids(one, "t"), [70], "inside the second one")
            one.execute("ROLLBACK TO r")
            self.tally.equal(self.ids(one, "t"), [2], "as it was at the second")
            one.execute("ROLLBACK TO s")
            self.tally.equal(self.ids(one, "t"), [3], "as it was at the first")
            one.execute("COMMIT")
            self.tally.equal(self.ids(one, "t"), [4], "after COMMIT")
            # nextval and setval are not rolled back.
            one.execute("BEGIN")
            one.execute("SELECT nextval('t_id_seq'), nextval('t_id_seq')")
            one.execute("ROLLBACK")
            self.tally.equal(self.ids(one, "t"), [7], "nextval stands")
            one.execute("BEGIN")
            one.execute("SELECT setval('t_id_seq', 40)")
            one.execute("ROLLBACK")
            self.tally.equal(self.ids(one, "t"), [41], "setval stands")
            one.execute("DROP TABLE t")

    def made_anew(self):
        """What has the name, or the id, of one that was rolled back or dropped begins at its start."""
        with self.server.connect() as one:
            for end in ("ROLLBACK", "COMMIT"):
                for statement, after in [("CREATE SEQUENCE s", "CREATE SEQUENCE s START 5"), ("CREATE SEQUENCE s", "CREATE SEQUENCE other START 5"),
                                         ("CREATE TABLE u (id SERIAL, s INT)", "CREATE SEQUENCE s START 5")]:
                    one.execute("BEGIN")
                    one.execute(statement)
                    name = "u_id_seq" if "TABLE" in statement else "s"
                    one.execute(f"SELECT nextval('{name}') FROM generate_series(1, 300)")
                    one.execute(end)
                    if end == "COMMIT":
                        one.execute("DROP TABLE u" if "TABLE" in statement else "DROP SEQUENCE s")
                    one.execute(after)
                    name = after.split()[2]
                    self.tally.equal(rows(one, f"SELECT nextval('{name}'), (SELECT last_value FROM pg_sequences WHERE sequencename = '{name}')")[0][0],
                                     5, f"{after} after {statement} and {end}")
                    one.execute(f"DROP SEQUENCE {name}")
            one.execute("CREATE SEQUENCE s")
            one.execute("SELECT nextval('s') FROM generate_series(1, 10)")
            one.execute("BEGIN")
            one.execute("DROP SEQUENCE s")
            one.execute("CREATE SEQUENCE s")
            self.tally.equal(rows(one, "SELECT nextval('s')"), [(1,)], "dropped and made anew in one transaction")
            one.execute("ROLLBACK")
            self.tally.equal(rows(one, "SELECT nextval('s')"), [(11,)], "and rolled back")
            one.execute("DROP SEQUENCE s")

    def session_values(self):
        with self.server.connect() as one:
            one.execute("CREATE SEQUENCE s")
            self.tally.equal(state_of(one.execute, "SELECT lastval()"), "55000", "lastval before any")
            one.execute("SELECT nextval('s')")
            one.execute("BEGIN")
            one.execute("ALTER SEQUENCE s RESTART WITH 9")
            self.tally.equal(rows(one, "SELECT currval('s'), lastval()"), [(1, 1)], "a restart leaves currval")
            self.tally.equal(rows(one, "SELECT last_value FROM pg_sequences WHERE sequencename = 's'"), [(None,)], "pg_sequences before the first value")
            one.execute("SELECT nextval('s')")
            self.tally.equal(rows(one, "SELECT last_value FROM pg_sequences WHERE sequencename = 's'"), [(9,)], "pg_sequences within the transaction")
            one.execute("ROLLBACK")
            self.tally.equal(rows(one, "SELECT last_value FROM pg_sequences WHERE sequencename = 's'"), [(1,)], "pg_sequences after ROLLBACK")
            one.execute("BEGIN")
            one.execute("CREATE SEQUENCE r")
            one.execute("SELECT nextval('r')")
            one.execute("ROLLBACK")
            one.execute("CREATE SEQUENCE r")
            self.tally.equal(state_of(one.execute, "SELECT currval('r')"), "55000", "currval of one that was made anew")
            self.tally.equal(state_of(one.execute, "SELECT lastval()"), "55000", "lastval of one that is gone")
            one.execute("DROP SEQUENCE s, r")

    def beside_others(self):
        """While a restart is not committed others count by what is; whoever waited for TRUNCATE begins with it."""
        with self.server.connect() as one, self.server.connect() as two:
            one.execute("CREATE TABLE t (id SERIAL PRIMARY KEY)")
            self.ids(one, "t", 3)
            one.execute("BEGIN")
            one.execute("ALTER SEQUENCE t_id_seq RESTART")
            self.tally.equal(rows(one, "SELECT nextval('t_id_seq')"), [(1,)], "one's own")
            self.tally.equal(self.ids(two, "t", 2), [4, 5], "the other's")
            one.execute("ROLLBACK")
            self.tally.equal(self.ids(one, "t"), [6], "one's own after ROLLBACK")
            one.execute("BEGIN")
            one.execute("TRUNCATE t RESTART IDENTITY")
            result = []
            thread = threading.Thread(target=lambda: result.extend(self.ids(two, "t", 3)))
            thread.start()
            thread.join(0.1)
            self.tally.equal(self.ids(one, "t"), [1], "beside one who waits")
            one.execute("COMMIT")
            thread.join(20)
            self.tally.equal(result, [2, 3, 4], "who waited for TRUNCATE … RESTART IDENTITY")
            # Many at once: no value twice within what is committed.
            one.execute("CREATE SEQUENCE s")
            taken = []

            def take():
                with self.server.connect() as connection:
                    taken.extend(value for _ in range(20) for (value,) in rows(connection, "SELECT nextval('s') FROM generate_series(1, 25)"))

            threads = [threading.Thread(target=take) for _ in range(4)]
            for thread in threads:
                thread.start()
            for _ in range(10):
                one.execute("BEGIN")
                one.execute("ALTER SEQUENCE s RESTART")
                one.execute("SELECT nextval('s')")
                one.execute("ROLLBACK")
            for thread in threads:
                thread.join(30)
            self.tally.equal((len(taken), len(set(taken))), (2000, 2000), "values beside restarts that are rolled back")
            one.execute("DROP TABLE t")
            one.execute("DROP SEQUENCE s")

    def changed_beside_others(self):
        """A change that is committed goes on behind what others took meanwhile, who go on by it; also where it took values itself."""
        with self.server.connect() as one, self.server.connect() as two:
            for own, first in ((0, 40), (2, 40), (8, 90)):
                one.execute("CREATE SEQUENCE s")
                one.execute("SELECT setval('s', 10)")
                one.execute("BEGIN")
                one.execute("ALTER SEQUENCE s INCREMENT 10")
                self.tally.equal([rows(one, "SELECT nextval('s')")[0][0] for _ in range(own)], [20 + 10 * at for at in range(own)], "one's own")
                taken = [rows(two, "SELECT nextval('s')")[0][0] for _ in range(20)]
                self.tally.equal(taken, list(range(11, 31)), "the other's")
                one.execute("COMMIT")
                after = max([30, *(20 + 10 * at for at in range(own))]) + 10
                self.tally.equal((after <= first + 10, rows(two, "SELECT nextval('s')"), rows(one, "SELECT nextval('s')")), (True, [(after,)], [(after + 10,)]),
                                 f"after COMMIT, {own} of its own")
                one.execute("DROP SEQUENCE s")
            one.execute("CREATE SEQUENCE s")
            one.execute("BEGIN")
            one.execute("ALTER SEQUENCE s MAXVALUE 100")
            one.execute("SELECT setval('s', 50)")
            one.execute("ALTER SEQUENCE s CACHE 7")
            two.execute("SELECT nextval('s') FROM generate_series(1, 60)")
            one.execute("COMMIT")
            self.tally.equal(rows(two, "SELECT nextval('s'), (SELECT cache_size FROM pg_sequences)"), [(51, 7)], "setval within the transaction stands")
            one.execute("DROP SEQUENCE s")
            # A statement that began before goes on by the new one; no value twice, kill -9 or not.
            one.execute("CREATE SEQUENCE s")
            taken = []

            def take():
                with self.server.connect() as connection:
                    for _ in range(10):
                        taken.extend(value for (value,) in rows(connection, "SELECT nextval('s') FROM generate_series(1, 2000)"))

            threads = [threading.Thread(target=take) for _ in range(3)]
            for thread in threads:
                thread.start()
            for change in range(20):
                one.execute("BEGIN")
                one.execute(f"ALTER SEQUENCE s INCREMENT {1 + change % 3} CACHE {1 + change}")
                one.execute("COMMIT" if change % 4 else "ROLLBACK")
            for thread in threads:
                thread.join(60)
            self.tally.equal((len(taken), len(set(taken))), (60_000, 60_000), "values beside changes")
            one.execute("BEGIN")
            one.execute("ALTER SEQUENCE s INCREMENT 2")
            one.execute("COMMIT")
        self.server.kill()
        self.server.start()
        with self.server.connect() as one:
            self.tally.that(rows(one, "SELECT nextval('s')")[0][0] > max(taken), "a change that took nothing, after kill -9")
            one.execute("DROP SEQUENCE s")

    def sequences_at_random(self):
        """Random changes, values and savepoints: as a model of PostgreSQL's sequences has it, in which each change is a new file."""
        draw = random.Random(SEED + 1)
        with self.server.connect() as one:
            for number in range(HISTORIES):
                one.execute("CREATE SEQUENCE s")
                model, steps = SequenceModel(), []
                for _ in range(draw.randint(5, 40)):
                    statement, expected = model.step(draw)
                    steps.append(statement)
                    try:
                        cursor = one.execute(statement)
                        found = cursor.fetchone()[0] if statement.startswith("SELECT") else "done"
                    except psycopg.Error as error:
                        found = error.sqlstate
                    if not self.tally.equal(found, expected, f"history {number}: {statement}"):
                        break
                one.execute("ROLLBACK")
                model.end(False)
                self.tally.equal(rows(one, "SELECT last_value, is_called FROM s"), [(model.counter["value"], model.counter["called"])], f"history {number}: {steps}")
                one.execute("DROP SEQUENCE s")

    def columns(self):
        """Changes other than a restart go on with what was counted."""
        with self.server.connect() as one:
            one.execute("CREATE SEQUENCE s")
            steps = [("SELECT 1", 1), ("ALTER SEQUENCE s INCREMENT 10", 11), ("ALTER SEQUENCE s INCREMENT -1 MINVALUE -500", 10),
                     ("ALTER SEQUENCE s INCREMENT 5", 15), ("ALTER SEQUENCE s MAXVALUE 20", 20), ("ALTER SEQUENCE s CYCLE", -500),
                     ("ALTER SEQUENCE s NO CYCLE START 3 RESTART", 3), ("SELECT setval('s', 12)", 17), ("SELECT setval('s', 12, false)", 12)]
            for statement, expected in steps:
                one.execute(statement)
                self.tally.equal(rows(one, "SELECT nextval('s')"), [(expected,)], f"after {statement}")
            one.execute("DROP SEQUENCE s")

    def written(self):
        with open(f"/proc/{self.server.process.pid}/io") as counters:
            return int(next(line for line in counters if line.startswith("wchar")).split()[1])

    def added_columns(self):
        """A column with one default for all rows writes no row, and the person's requests and a crash see it."""
        tally, count = self.tally, 20_000
        with self.server.connect() as one:
            one.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)")
            one.execute("CREATE TABLE notes (id INT PRIMARY KEY, owner INT OWNED_BY people(id), body TEXT)")
            one.execute("INSERT INTO people SELECT g, 'p' || g FROM generate_series(1, 100) g")
            one.execute(f"INSERT INTO notes SELECT g, g % 100 + 1, repeat('b', 50) FROM generate_series(1, {count}) g")
            for column, rewrites in (("level INT NOT NULL DEFAULT 3", False), ("seen TIMESTAMPTZ DEFAULT now()", False), ("dice FLOAT8 DEFAULT random()", True),
                                     ("number SERIAL UNIQUE", True), ("place INT GENERATED ALWAYS AS IDENTITY (START 7)", True)):
                before = self.written()
                one.execute(f"ALTER TABLE notes ADD COLUMN {column}")
                tally.equal(self.written() - before > count * 50, rewrites, f"rows are written for {column}")
            found = rows(one, "SELECT count(*), sum(level), count(DISTINCT seen), count(DISTINCT dice) > 1000 FROM notes")
            tally.equal(found, [(count, 3 * count, 1, True)], "all rows have it")
            found = rows(one, "SELECT min(number), max(number), count(DISTINCT number), min(place), max(place), count(DISTINCT place) FROM notes")
            tally.equal(found, [(1, count, count, 7, count + 6, count)], "each has a number of its own sequence")
            seen = rows(one, "SELECT DISTINCT seen FROM notes")
            one.execute("BEGIN")
            one.execute("ALTER TABLE notes ADD COLUMN lost SERIAL")
            tally.equal(rows(one, "SELECT nextval('notes_lost_seq')"), [(count + 1,)], "the sequence goes on behind the rows")
            one.execute("ROLLBACK")
            tally.equal(state_of(one.execute, "SELECT nextval('notes_lost_seq')"), "42P01", "the sequence is rolled back")
            one.execute("BEGIN")
            one.execute("ALTER TABLE notes ADD COLUMN gone INT DEFAULT 1")
            one.execute("ROLLBACK")
            tally.equal(state_of(one.execute, "SELECT gone FROM notes"), "42703", "rolled back")
        self.server.kill()
        self.server.start()
        with self.server.connect() as one:
            tally.equal(rows(one, "SELECT count(*), sum(level) FROM notes"), [(count, 3 * count)], "after a crash")
            tally.equal(rows(one, "SELECT DISTINCT seen FROM notes"), seen, "the same moment after a crash")
            tally.equal(rows(one, "SELECT id FROM notes WHERE number = 77"), rows(one, "SELECT id FROM notes WHERE place = 83"), "the same numbers after a crash")
            told = [row for row in rows(one, "GDPR GET people 7") if "notes" in str(row)]
            tally.that(len(told) == count // 100 and all("level" in str(row) for row in told), "a person is shown it", told[:1])
            one.execute("GDPR FORGET people 7")
            tally.equal(rows(one, "SELECT count(*), sum(level) FROM notes"), [(count - count // 100, 3 * (count - count // 100))], "after an erasure")
            one.execute("UPDATE notes SET level = 4 WHERE owner = 8")
            tally.equal(rows(one, "SELECT level, count(*) FROM notes GROUP BY level ORDER BY level"),
                        [(3, count - 2 * count // 100), (4, count // 100)], "and can be changed")
            one.execute("DROP TABLE notes")
            one.execute("DROP TABLE people")

    def after_a_crash(self):
        one = self.server.connect()
        one.execute("CREATE TABLE t (id SERIAL PRIMARY KEY)")
        self.ids(one, "t", 3)
        one.execute("CREATE TABLE r (id SERIAL PRIMARY KEY)")
        self.ids(one, "r", 3)
        one.execute("TRUNCATE r RESTART IDENTITY")
        self.ids(one, "r", 2)
        one.execute("BEGIN")
        one.execute("TRUNCATE t RESTART IDENTITY")
        one.execute("CREATE TABLE lost (id SERIAL)")
        self.ids(one, "t", 2)
        self.ids(one, "lost", 2)
        self.server.kill()
        one.close()
        self.server.start()
        with self.server.connect() as one:
            self.tally.that(self.ids(one, "t")[0] > 3, "ids go on after a crash within TRUNCATE … RESTART IDENTITY")
            found = self.ids(one, "r")[0]
            self.tally.that(2 < found <= 257, "ids go on after a crash behind a restart", found)
            one.execute("CREATE TABLE lost (id SERIAL)")
            self.tally.equal(self.ids(one, "lost"), [1], "a table that was lost, made again")
            one.execute("DROP TABLE t, r, lost")

    def graphs_by_hand(self):
        with self.server.connect() as one:
            histories = {
                "an owner's table becomes a person's": (True, ["CREATE TABLE p (id INT PRIMARY KEY)", "CREATE TABLE n (id INT PRIMARY KEY, p INT OWNED_BY p(id))",
                                                               "ALTER TABLE p SET DATA_SUBJECT"]),
                "access before ownership": (True, ["CREATE TABLE tags (id INT PRIMARY KEY)", "CREATE TABLE uses (id INT PRIMARY KEY, tag INT ACCESSES tags(id), p INT)",
                                                   "CREATE DATA_SUBJECT TABLE p (id INT PRIMARY KEY)",
                                                   "ALTER TABLE uses ADD CONSTRAINT o FOREIGN KEY (p) OWNED_BY p(id)"]),
                "never": (False, ["CREATE TABLE p (id INT PRIMARY KEY)", "CREATE TABLE n (id INT PRIMARY KEY, p INT OWNED_BY p(id))"]),
                "a circle that is undone": (True, ["CREATE DATA_SUBJECT TABLE p (id INT PRIMARY KEY)", "CREATE TABLE a (id INT PRIMARY KEY, b INT, p INT OWNED_BY p(id))",
                                                   "CREATE TABLE b (id INT PRIMARY KEY, a INT OWNED_BY a(id))",
                                                   "ALTER TABLE a ADD CONSTRAINT c FOREIGN KEY (b) OWNED_BY b(id)", "ALTER TABLE a DROP CONSTRAINT c"]),
                "a circle": (False, ["CREATE DATA_SUBJECT TABLE p (id INT PRIMARY KEY)", "CREATE TABLE a (id INT PRIMARY KEY, b INT, p INT OWNED_BY p(id))",
                                     "CREATE TABLE b (id INT PRIMARY KEY, a INT OWNED_BY a(id))", "ALTER TABLE a ADD CONSTRAINT c FOREIGN KEY (b) OWNED_BY b(id)"]),
                "a person's key comes later": (True, ["CREATE DATA_SUBJECT TABLE p (id INT)", "ALTER TABLE p ADD PRIMARY KEY (id)"]),
            }
            for name, (accepted, statements) in histories.items():
                one.execute("BEGIN")
                states = [state_of(one.execute, statement) for statement in statements]
                self.tally.equal(states, [""] * len(states), f"{name}: on the way")
                state = state_of(one.execute, "COMMIT")
                self.tally.that((state == "") == accepted and state in ("", "DG004", "DG005"), f"{name}: at COMMIT", state)
                if accepted:
                    tables = rows(one, "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname IN ('p', 'n', 'a', 'b', 'tags', 'uses')")
                    one.execute("DROP TABLE " + ", ".join(table for (table,) in tables) + " CASCADE")
            one.execute("BEGIN")
            one.execute("CREATE TABLE p (id INT PRIMARY KEY)")
            one.execute("CREATE TABLE n (id INT PRIMARY KEY, p INT OWNED_BY p(id))")
            one.execute("INSERT INTO p VALUES (1)")
            self.tally.equal(state_of(one.execute, "INSERT INTO n VALUES (1, 1)"), "DG004", "no row without a place in the graph")
            one.execute("ROLLBACK")
            self.tally.equal(state_of(one.execute, "CREATE TABLE n (id INT PRIMARY KEY, p INT OWNED_BY n(id))"), "DG004", "a definition by itself")

    def graphs_at_random(self):
        """A graph in one order of definitions or another, with changes on the way: COMMIT looks at the end alone."""
        with self.server.connect() as one:
            for number in range(HISTORIES):
                self.history(one, random.Random(SEED + number), f"history {SEED + number}")

    def history(self, one, dice, name):
        tables = [f"t{place}" for place in range(dice.randint(2, 6))]
        subjects = {table for table in tables if dice.random() < 0.35}
        edges = {}
        for place in range(dice.randint(1, 7)):
            near, far = dice.choice(tables), dice.choice(tables)
            kind = dice.choices(["OWNED_BY", "OWNS", "ACCESSED_BY", "ACCESSES"], [5, 2, 2, 2])[0]
            edges[f"e{place}"] = (near, far, kind)
        # Every table by itself first: what comes after names what is there.
        columns = ", ".join(f"e{place} INT" for place in range(7))
        first = [f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns})" for table in tables]
        dice.shuffle(first)
        then = [f"ALTER TABLE {table} SET DATA_SUBJECT" for table in subjects]
        then += [f"ALTER TABLE {near} ADD CONSTRAINT {edge} FOREIGN KEY ({edge}) {kind} {far}(id)" for edge, (near, far, kind) in edges.items()]
        dice.shuffle(then)
        # And one or two that are gone again in the end.
        for place in range(dice.randint(0, 2)):
            near, far = dice.choice(tables), dice.choice(tables)
            column = f"e{place}"
            if column in edges and edges[column][0] == near:
                continue
            at = dice.randint(0, len(then))
            gone = dice.randint(at, len(then))
            then.insert(gone, f"ALTER TABLE {near} DROP CONSTRAINT x{place}")
            then.insert(at, f"ALTER TABLE {near} ADD CONSTRAINT x{place} FOREIGN KEY ({column}) OWNED_BY {far}(id)")
        if dice.random() < 0.5:
            one.execute("BEGIN")
            states = [state_of(one.execute, statement) for statement in first + then]
            self.tally.equal([state for state in states if state], [], f"{name}: on the way of {first + then}")
            found = state_of(one.execute, "COMMIT")
        else:
            found = state_of(one.execute, "; ".join(first + then))
        expected = well_formed(tables, subjects, edges.values())
        self.tally.equal(found, expected, f"{name}: {first + then}")
        left = rows(one, "SELECT count(*) FROM pg_class WHERE relname LIKE 't_' AND relkind = 'r'")[0][0]
        self.tally.equal(left, 0 if expected else len(tables), f"{name}: all or nothing")
        if not expected:
            self.tally.equal(state_of(one.execute, "DROP TABLE " + ", ".join(tables) + " CASCADE"), "", f"{name}: dropped")


def well_formed(tables, subjects, edges):
    """What SEMANTICS 2 says of a graph: "", or the refusal's code."""
    # From whose rows they are about to whose they become.
    directed = [(near, far, kind) if kind in ("OWNED_BY", "ACCESSED_BY") else (far, near, kind) for near, far, kind in edges]
    owning = [(start, end) for start, end, kind in directed if kind in ("OWNED_BY", "OWNS")]
    # Circles between different tables.
    reach = {table: {end for start, end in owning if start == table and end != table} for table in tables}
    for _ in tables:
        for table in tables:
            reach[table] |= {end for middle in list(reach[table]) for end in reach[middle]}
    if any(table in reach[table] for table in tables):
        return "DG005"

    def reaching(pairs):
        found = set(subjects)
        while True:
            more = {start for start, end in pairs if end in found} - found
            if not more:
                return found
            found |= more

    owned, any_way = reaching(owning), reaching([(start, end) for start, end, _ in directed])
    for start, end, kind in directed:
        if kind in ("OWNED_BY", "OWNS"):
            only_self = all(other == start for begin, other in owning if begin == start)
            if (only_self and start == end and start not in subjects) or end not in owned:
                return "DG004"
        elif end not in any_way:
            return "DG004"
    return ""


if __name__ == "__main__":
    run_check(Definitions())
