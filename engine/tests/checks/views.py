"""Maintained views: what is kept up to date equals what is computed anew, after every change.

For every definition there is a materialized view m_k and a plain one p_k; after each batch of random changes, from one connection or
several, both are read in one REPEATABLE READ transaction. Parameterised queries, which earn views of their own, are compared with a
session that has none. Then: own writes, half commits, changes of the schema, stop, kill -9.

    views.py [--seed S] [--count N]        N batches (25) for 40 definitions and as many random ones as --random (20)
"""
import random
import threading
import time
import traceback

import psycopg

from harness import Check, options, rows, run_check, start_writers, state_of
from support.views import AUTOMATIC, FIXED, SCHEMA, Writer, random_definition, seed_rows

# What a random change may be refused for: keys, owners, a person being forgotten, other writers.
REFUSED = {"23503", "23505", "23502", "DG001", "DG002", "DG003", "40001", "40P01"}
READY_WITHIN_S = 60


def printable(row):
    return tuple(None if value is None else repr(value) for value in row)


def bag(found):
    return sorted((printable(row) for row in found), key=lambda row: [(value is not None, value or "") for value in row])


def difference(found, expected):
    """Some rows too many and some missing."""
    extra, missing = list(found), []
    for row in expected:
        if row in extra:
            extra.remove(row)
        else:
            missing.append(row)
    return f"{len(extra)} rows too many {extra[:4]}, {len(missing)} missing {missing[:4]}"


class Views(Check):
    def __init__(self, options):
        super().__init__(options)
        self.definitions = {}
        self.columns = {}
        self.wrong = set()
        self.refused = []

    # Definitions.

    def define(self, connection, name, query, must=True):
        """Both views of one query, or neither."""
        try:
            connection.execute(f"CREATE VIEW p_{name} AS {query}")
        except psycopg.Error as error:
            self.tally.that(not must and error.sqlstate == "0A000", f"CREATE VIEW p_{name}", f"{error.sqlstate} {error}: {query}")
            self.refused.append((name, str(error)))
            return False
        try:
            connection.execute(f"CREATE MATERIALIZED VIEW m_{name} AS {query}")
        except psycopg.Error as error:
            connection.execute(f"DROP VIEW p_{name}")
            self.tally.that(not must and error.sqlstate == "0A000", f"CREATE MATERIALIZED VIEW m_{name}", f"{error.sqlstate} {error}: {query}")
            self.refused.append((name, str(error)))
            return False
        self.definitions[name] = query
        self.columns[name] = [column.name for column in connection.execute(f"SELECT * FROM p_{name}").description]
        return True

    def stages(self, connection):
        """Name → (stage, the whole row as text), of dogwood.views."""
        cursor = connection.execute("SELECT * FROM dogwood.views")
        names = [column.name for column in cursor.description]
        name, stage = names.index("name"), names.index("stage")
        return {row[name]: (row[stage], dict(zip(names, row))) for row in cursor.fetchall()}

    def settle(self, connection, when):
        """Waits until every materialized view can be read."""
        wanted = {f"m_{name}" for name in self.definitions}
        until = time.monotonic() + READY_WITHIN_S
        while True:
            stages = self.stages(connection)
            waiting = {name for name in wanted if name not in stages or stages[name][0] != "ready"}
            failed = {name for name in waiting if name in stages and stages[name][0] == "failed"}
            if not waiting - failed or time.monotonic() > until:
                break
            time.sleep(0.05)
        for name in sorted(waiting):
            if (name, "stage") not in self.wrong:
                self.wrong.add((name, "stage"))
                self.tally.that(False, f"{when}: {name} is not ready", f"{stages.get(name)}: {self.definitions[name[2:]]}")
        if not waiting:
            self.tally.passed += 1

    # Comparison.

    def compare(self, connection, when, names=None):
        """Maintained against computed, at one snapshot, whole and by one column."""
        connection.execute("SET dogwood.auto_views = off")
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try:
            for name in names or list(self.definitions):
                if name in self.wrong:
                    continue
                try:
                    expected = rows(connection, f"SELECT * FROM p_{name}")
                    found = rows(connection, f"SELECT * FROM m_{name}")
                    if bag(found) != bag(expected):
                        self.wrong.add(name)
                        self.tally.that(False, f"{when}: m_{name}", f"{difference(bag(found), bag(expected))}: {self.definitions[name]}")
                        continue
                    self.tally.passed += 1
                    self.compare_part(connection, when, name, expected)
                except psycopg.errors.SerializationFailure:
                    # A person was forgotten meanwhile, and the snapshot with them; what was compared stands.
                    return
                except psycopg.Error as error:
                    self.wrong.add(name)
                    self.tally.that(False, f"{when}: reading m_{name}", f"{error.sqlstate} {error}: {self.definitions[name]}")
                    connection.execute("ROLLBACK")
                    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        finally:
            connection.execute("ROLLBACK")

    def compare_part(self, connection, when, name, expected):
        column = self.dice.randrange(len(self.columns[name]))
        value = self.dice.choice(expected)[column] if expected and self.dice.random() < 0.9 else None
        if isinstance(value, (list, dict, float)):
            return
        condition = f'"{self.columns[name][column]}" ' + ("IS NULL" if value is None else "= %s")
        parameters = None if value is None else (value,)
        wanted = rows(connection, f"SELECT * FROM p_{name} WHERE {condition}", parameters)
        found = rows(connection, f"SELECT * FROM m_{name} WHERE {condition}", parameters)
        if not self.tally.that(bag(found) == bag(wanted), f"{when}: m_{name} WHERE {condition} {value!r}",
                               difference(bag(found), bag(wanted)) + ": " + self.definitions[name]):
            self.wrong.add(name)

    def compare_automatic(self, plain, automatic, when, times=2):
        """The same parameters with views of their own and without."""
        for number, (query, kinds) in enumerate(AUTOMATIC):
            if ("automatic", number) in self.wrong:
                continue
            for _ in range(times):
                parameters = [kind(self.dice) for kind in kinds]
                # As text, a parameter's type is the server's to find.
                if number % 2:
                    parameters = [str(value) if isinstance(value, int) else value for value in parameters]
                answers = []
                for connection in (plain, automatic):
                    try:
                        answers.append(rows_prepared(connection, query, parameters))
                    except psycopg.Error as error:
                        answers.append(f"{error.sqlstate} {error}")
                expected, found = answers
                if not isinstance(expected, str) and not isinstance(found, str) and "ORDER BY" not in query.rsplit(")", 1)[-1]:
                    expected, found = bag(expected), bag(found)
                if isinstance(expected, str) or not self.tally.that(found == expected, f"{when}: automatic", f"{query} {parameters}: found {found}, expected {expected}"):
                    self.wrong.add(("automatic", number))
                    if isinstance(expected, str):
                        self.tally.that(False, f"{when}: a query is refused", f"{query} {parameters}: {expected}")
                    break

    # Changes.

    def batch(self, connection, writer, transactions):
        """So many transactions of random changes; what they were refused for is counted."""
        for _ in range(transactions):
            state = writer.transaction(connection)
            if state not in REFUSED and state != "":
                self.unexpected.setdefault(state, writer.last)

    def writers(self, count, transactions):
        """Several connections at once: their commits go in groups."""
        def write(connection, number):
            self.batch(connection, Writer(random.Random(f"{self.options.seed} {self.round} {number}")), transactions)

        return start_writers(self, count, write)

    # Cases.

    def run(self):
        self.set_up(SCHEMA)
        with self.server.connect() as connection:
            seed_rows(connection, self.dice)
            for name, query in FIXED.items():
                self.define(connection, name, query)
            for number in range(self.options.random):
                self.define(connection, f"r{number}", random_definition(self.dice), must=False)
        for case in (self.rounds, self.own_writes, self.whole_commits, self.hydration_amid_writes, self.filled_together, self.endless, self.schema_changes, self.stop_and_kill):
            self.round = case.__name__
            self.tally.case(case)
        self.tally.equal(self.unexpected, {}, "changes are refused for known reasons")
        for name, why in self.refused:
            print(f"not defined: {name}: {why}")

    def rounds(self):
        with self.server.connect() as connection, self.server.connect() as plain, self.server.connect() as automatic:
            plain.execute("SET dogwood.auto_views = off")
            self.settle(connection, "at first")
            self.compare(connection, "at first")
            writer = Writer(self.dice)
            for number in range(self.options.count):
                self.round = number
                if number % 3 == 2:
                    threads = self.writers(4, 12)
                    # Amid the writers, too.
                    self.compare(connection, f"amid batch {number}", self.dice.sample(list(self.definitions), 6))
                    for thread in threads:
                        thread.join(120)
                    self.tally.that(not any(thread.is_alive() for thread in threads), f"writers of batch {number} end")
                else:
                    self.batch(connection, writer, 1 if number % 5 == 0 else 8)
                writer.refill(connection)
                if number % 4 == 3:
                    self.batch_forget(connection)
                self.compare(connection, f"batch {number}")
                self.compare_automatic(plain, automatic, f"batch {number}", times=3 if number < 4 else 2)
            self.settle(connection, "after the batches")
            stages = self.stages(connection)
            failed = {name: row for name, (stage, row) in stages.items() if stage == "failed" and not name.startswith("m_")}
            self.tally.equal(failed, {}, "no automatic view failed")
            self.tally.that(len(stages) > len(self.definitions), "queries earn views", sorted(stages))

    def batch_forget(self, connection):
        found = rows(connection, "SELECT id FROM users ORDER BY id")
        person = self.dice.choice(found)[0]
        self.tally.equal(state_of(connection.execute, f"GDPR FORGET users {person}"), "", f"GDPR FORGET users {person}")

    def own_writes(self):
        """In a transaction the views show its own changes, and nothing of them after ROLLBACK."""
        with self.server.connect() as connection, self.server.connect() as automatic:
            writer = Writer(self.dice)
            query, parameters = "SELECT count(*), sum(value) FROM votes WHERE story = %s", (3,)
            before = {name: bag(rows(connection, f"SELECT * FROM m_{name}")) for name in self.definitions if name not in self.wrong}
            for _ in range(8):
                counted = rows_prepared(automatic, query, parameters)
            for number in range(3):
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                connection.execute("INSERT INTO tags VALUES (%s, 'own', 3)", (90000 + number,))
                connection.execute("UPDATE stories SET points = points + 1 WHERE id % 2 = 0")
                connection.execute("DELETE FROM votes WHERE id % 7 = 0")
                connection.execute("INSERT INTO votes SELECT 95000 + id, id, 3, 1 FROM users")
                for name in before:
                    if self.dice.random() < 0.6:
                        self.tally.that(bag(rows(connection, f"SELECT * FROM m_{name}")) == bag(rows(connection, f"SELECT * FROM p_{name}")),
                                        f"own writes in m_{name}", self.definitions[name])
                own = rows_prepared(connection, query, parameters)
                connection.execute("ROLLBACK")
                self.tally.that(own != counted, "own writes in an automatic view", (own, counted))
                self.tally.equal(rows_prepared(automatic, query, parameters), counted, "others do not see them")
                for name, expected in before.items():
                    self.tally.that(bag(rows(connection, f"SELECT * FROM m_{name}")) == expected, f"m_{name} after ROLLBACK", self.definitions[name])
            # A statement that fails takes its changes back, and a savepoint too.
            connection.execute("BEGIN")
            connection.execute("INSERT INTO tags VALUES (96000, 'saved', 3)")
            connection.execute("SAVEPOINT s")
            connection.execute("DELETE FROM tags WHERE id < 96000")
            connection.execute("ROLLBACK TO SAVEPOINT s")
            self.tally.equal(rows(connection, "SELECT count(*) FROM m_tag_words WHERE word = 'saved'"), [(1,)], "after ROLLBACK TO SAVEPOINT")
            connection.execute("COMMIT")
            self.compare(connection, "after a savepoint")
            # An older snapshot keeps its answers while others commit.
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            first = {name: bag(rows(connection, f"SELECT * FROM m_{name}")) for name in before}
            erasures = "SELECT count(*) FROM dogwood.receipts"
            with self.server.connect() as other:
                erased = rows(other, erasures)
                self.batch(other, writer, 10)
                erased = rows(other, erasures) != erased
            try:
                for name, expected in first.items():
                    self.tally.that(bag(rows(connection, f"SELECT * FROM m_{name}")) == expected, f"m_{name} at an older snapshot", self.definitions[name])
                connection.execute("ROLLBACK")
            except psycopg.errors.SerializationFailure as error:
                # Whoever is deleted leaves no snapshot from before.
                self.tally.that(erased and "conflict with an erasure" in str(error), "an older snapshot", error)

    def whole_commits(self):
        """One statement over two views and their tables never sees half a commit; a commit that was answered is seen at once."""
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE debits (id INT PRIMARY KEY, account INT, amount INT)")
            connection.execute("CREATE TABLE credits (id INT PRIMARY KEY, account INT, amount INT)")
            self.define(connection, "debited", "SELECT sum(amount) AS total, count(*) AS n FROM debits")
            self.define(connection, "credited", "SELECT account, sum(amount) AS total, count(*) AS n FROM credits GROUP BY account")
            self.define(connection, "matched", "SELECT d.id, d.amount + c.amount AS rest FROM debits d FULL JOIN credits c ON c.id = d.id")
            self.settle(connection, "ledgers")
        stop, wrong, looked, states = threading.Event(), [], [0], []
        statement = """SELECT (SELECT total FROM m_debited), (SELECT sum(total) FROM m_credited), (SELECT sum(amount) FROM debits),
            (SELECT n FROM m_debited), (SELECT sum(n) FROM m_credited), (SELECT count(*) FROM credits),
            (SELECT count(*) FROM m_matched WHERE rest IS DISTINCT FROM 0), (SELECT count(*) FROM m_matched)"""

        def read():
            try:
                with self.server.connect() as connection:
                    while not stop.is_set():
                        found = rows(connection, statement)[0]
                        debit, credit, plain, n, m, count, unmatched, pairs = [int(value or 0) for value in found]
                        looked[0] += 1
                        if debit != -credit or debit != plain or not n == m == count == pairs or unmatched:
                            wrong.append(found)
            except Exception:
                wrong.append(traceback.format_exc(limit=3))

        def write(number):
            dice, mine = random.Random(f"{self.options.seed} ledger {number}"), []
            try:
                with self.server.connect() as connection:
                    for key in range(number * 1000, number * 1000 + 60):
                        connection.execute("BEGIN")
                        amount, account = dice.randrange(1, 50), dice.randrange(6)
                        connection.execute("INSERT INTO debits VALUES (%s, %s, %s)", (key, account, amount))
                        connection.execute("INSERT INTO credits VALUES (%s, %s, %s)", (key, account, -amount))
                        if mine and dice.random() < 0.5:
                            gone = mine.pop(dice.randrange(len(mine)))
                            connection.execute("DELETE FROM debits WHERE id = %s", (gone,))
                            connection.execute("DELETE FROM credits WHERE id = %s", (gone,))
                        if mine and dice.random() < 0.5:
                            connection.execute("UPDATE debits SET amount = amount + 5 WHERE id = %s", (mine[-1],))
                            connection.execute("UPDATE credits SET amount = amount - 5, account = %s WHERE id = %s", (account, mine[-1]))
                        if dice.random() < 0.2:
                            connection.execute("ROLLBACK")
                            continue
                        connection.execute("COMMIT")
                        mine.append(key)
                        states.append(rows(connection, "SELECT rest FROM m_matched WHERE id = %s", (key,)) == [(0,)])
            except Exception:
                wrong.append(traceback.format_exc(limit=3))

        readers = [threading.Thread(target=read, daemon=True) for _ in range(2)]
        writers = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(4)]
        for thread in readers + writers:
            thread.start()
        for thread in writers:
            thread.join(120)
        stop.set()
        for thread in readers:
            thread.join(30)
        self.tally.equal(wrong[:3], [], "two views and their tables at one commit")
        self.tally.that(looked[0] > 10, "the readers read", looked)
        self.tally.that(states and all(states), "a commit that was answered is seen in a view", f"{states.count(False)} of {len(states)} not")
        with self.server.connect() as connection:
            self.compare(connection, "after the ledgers", ["debited", "credited", "matched"])

    def hydration_amid_writes(self):
        """Views that are made while others write, from tables that take a while."""
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE large (id INT PRIMARY KEY, g INT, n INT)")
            connection.execute("INSERT INTO large SELECT i, i % 50, i % 1000 FROM generate_series(1, 20000) AS i")
            stop = threading.Event()

            def write():
                key = 100_000
                with self.server.connect() as other:
                    while not stop.is_set():
                        key += 1
                        other.execute("INSERT INTO large VALUES (%s, %s, 7)", (key, key % 60))
                        other.execute("UPDATE large SET g = g + 1, n = n - 1 WHERE id = %s", (key % 20000 + 1,))
                        other.execute("DELETE FROM large WHERE id = %s", ((key * 7) % 20000 + 1,))

            thread = threading.Thread(target=write, daemon=True)
            thread.start()
            try:
                for name, query in (("large_sum", "SELECT g, count(*) AS n, sum(n) AS s, min(n) AS least FROM large GROUP BY g"),
                                    ("large_join", "SELECT a.id, b.n FROM large a JOIN large b ON b.id = a.n"),
                                    ("large_outer", "SELECT a.id, b.id AS other FROM large a LEFT JOIN large b ON b.id = a.id + 10 WHERE a.g = 3"),
                                    ("large_top", "SELECT id, g FROM large ORDER BY n DESC, id LIMIT 20")):
                    self.define(connection, name, query)
                    self.compare(connection, "while it is filled", [name])
                self.settle(connection, "amid writes")
                self.compare(connection, "amid writes", ["large_sum", "large_join", "large_outer", "large_top"])
            finally:
                stop.set()
                thread.join(30)
            self.compare(connection, "after the writes", ["large_sum", "large_join", "large_outer", "large_top"])
            connection.execute("TRUNCATE large")
            self.compare(connection, "truncated", ["large_sum", "large_join", "large_outer", "large_top"])
            for name in ("large_sum", "large_join", "large_outer", "large_top"):
                self.definitions.pop(name)
            connection.execute("DROP TABLE large CASCADE")

    def filled_together(self):
        """Views over one table that are filled at once read it together, whoever writes, truncates or is forgotten meanwhile."""
        with self.server.connect() as connection, self.server.connect() as other:
            connection.execute("CREATE TABLE crowd (id INT PRIMARY KEY, who INT NOT NULL OWNED_BY users(id), n INT)")
            people = [person for person, in rows(connection, "SELECT id FROM users ORDER BY id LIMIT 20")]
            connection.execute("INSERT INTO crowd SELECT i, (%s::int[])[i %% %s + 1], i %% 97 FROM generate_series(1, 30000) i", (people, len(people)))
            for turn in range(6):
                names = []
                for number in range(8):
                    names.append(f"crowd_{number}")
                    query = ("SELECT id, n FROM crowd WHERE n % 8 = {}", "SELECT n, count(*) AS c FROM crowd WHERE n > {} GROUP BY n",
                             "SELECT a.id, b.n FROM crowd a JOIN crowd b ON b.id = a.n WHERE a.n % 9 = {}")[number % 3].format(number)
                    connection.execute(f"CREATE VIEW p_{names[-1]} AS {query}")
                    connection.execute(f"CREATE MATERIALIZED VIEW m_{names[-1]} AS {query} WITH NO DATA")
                    self.definitions[names[-1]] = query
                    self.columns[names[-1]] = [column.name for column in connection.execute(f"SELECT * FROM p_{names[-1]} LIMIT 0").description]
                    if turn % 2 and number % 2:
                        key = 100_000 + turn * 100 + number
                        other.execute("INSERT INTO crowd VALUES (%s, %s, 3)", (key, people[0]))
                        other.execute("UPDATE crowd SET n = n + 1 WHERE id = %s", (number * 100 + turn + 1,))
                        other.execute("DELETE FROM crowd WHERE id = %s", (number * 200 + turn + 2,))
                if turn == 2:
                    self.tally.equal(state_of(other.execute, "GDPR FORGET users " + str(people[-1])), "", "FORGET while views are filled")
                if turn == 4:
                    other.execute("TRUNCATE crowd")
                    other.execute("INSERT INTO crowd SELECT i, %s, i %% 97 FROM generate_series(1, 20000) i", (people[0],))
                if turn == 5:
                    other.execute("ALTER TABLE crowd ADD COLUMN more INT DEFAULT 4")
                self.settle(connection, f"filled together, {turn}")
                self.compare(connection, f"filled together, {turn}", names)
                for name in names:
                    connection.execute(f"DROP MATERIALIZED VIEW m_{name}")
                    connection.execute(f"DROP VIEW p_{name}")
                    self.definitions.pop(name)
            connection.execute("DROP TABLE crowd CASCADE")

    def endless(self):
        """A recursion that comes to no end: nobody waits for it for long, it is given up, and comes back."""
        with self.server.connect() as connection, self.server.connect() as other:
            one = connection.execute
            one("CREATE TABLE parts (id INT PRIMARY KEY, whole INT)")
            one("INSERT INTO parts VALUES (1, NULL), (2, 1), (3, 2), (4, 3)")
            one("CREATE TABLE aside (id INT PRIMARY KEY, n INT)")
            one("CREATE MATERIALIZED VIEW aside_sum AS SELECT count(*) AS n FROM aside")
            below = """WITH RECURSIVE below(id) AS (SELECT id FROM parts WHERE id = 2
                UNION ALL SELECT parts.id FROM below JOIN parts ON parts.whole = below.id) SELECT id FROM below"""
            one(f"CREATE MATERIALIZED VIEW below AS {below}")
            self.tally.equal(sorted(rows(connection, "SELECT id FROM below")), [(2,), (3,), (4,)], "a recursion")
            began = time.monotonic()
            one("UPDATE parts SET whole = 4 WHERE id = 2")
            self.tally.that(time.monotonic() - began < 40, "a commit waits for a view so long at most", time.monotonic() - began)
            stage, row = self.stages(connection)["below"]
            self.tally.that(stage == "failed" and "too long" in row["message"], "a view that comes to no end is given up", row)
            one("SET statement_timeout = '1s'")
            self.tally.equal(state_of(rows, connection, "SELECT id FROM below"), "57014", "who reads it computes it")
            one("UPDATE parts SET whole = 1 WHERE id = 2")
            self.tally.equal(sorted(rows(connection, "SELECT id FROM below")), [(2,), (3,), (4,)], "without the circle")
            one("SET statement_timeout = '30s'")
            one("REFRESH MATERIALIZED VIEW below")
            self.tally.equal(self.stages(connection)["below"][0], "ready", "REFRESH brings it back")
            one("UPDATE parts SET whole = 1 WHERE id = 3")
            self.tally.equal(sorted(rows(connection, "SELECT id FROM below")), [(2,)], "it follows again")
            # One that has no end from the beginning holds nobody up.
            one("SET statement_timeout = '1s'")
            for query in ("SELECT 1 UNION ALL SELECT n FROM t", "SELECT 1 UNION ALL SELECT n + 1 FROM t"):
                one(f"CREATE MATERIALIZED VIEW endless AS WITH RECURSIVE t(n) AS ({query}) SELECT count(*) AS n FROM t")
                longest = 0
                for key in range(20):
                    began = time.monotonic()
                    other.execute("INSERT INTO aside VALUES (%s, 1) ON CONFLICT (id) DO UPDATE SET n = aside.n + 1", (key,))
                    longest = max(longest, time.monotonic() - began)
                self.tally.that(longest < 8, f"writers beside an endless view: {query}", longest)
                self.tally.equal(rows(connection, "SELECT n FROM aside_sum"), [(20,)], "other views follow")
                one("SET statement_timeout = '20s'")
                self.tally.equal(state_of(one, "DROP MATERIALIZED VIEW endless"), "", "DROP of an endless view")
                one("SET statement_timeout = '1s'")
            one("RESET statement_timeout")
            one("DROP TABLE parts CASCADE")
            one("DROP TABLE aside CASCADE")

    def schema_changes(self):
        tally, writer = self.tally, Writer(self.dice)
        with self.server.connect() as connection:
            one = connection.execute
            for statement in ("ALTER TABLE stories ADD COLUMN extra INT DEFAULT 7", "CREATE INDEX ON votes (story)",
                              "CREATE INDEX stories_by ON stories (category, author)", "ALTER TABLE tags ADD COLUMN more TEXT",
                              "ALTER TABLE users ADD COLUMN nick TEXT DEFAULT 'none'"):
                tally.equal(state_of(one, statement), "", statement)
                self.batch(connection, writer, 3)
                self.compare(connection, statement)
            tally.equal(state_of(one, "DROP INDEX stories_by"), "", "DROP INDEX")
            self.batch(connection, writer, 3)
            self.settle(connection, "after changes of the schema")
            self.compare(connection, "after changes of the schema")
            one("CREATE TABLE short (id INT PRIMARY KEY, g INT, v INT)")
            one("INSERT INTO short SELECT i, i % 3, i FROM generate_series(1, 30) AS i")
            one("CREATE MATERIALIZED VIEW s1 AS SELECT g, sum(v) AS s FROM short GROUP BY g")
            one("CREATE MATERIALIZED VIEW s2 AS SELECT s1.g, s1.s, short.id FROM s1 JOIN short ON short.v = s1.s")
            one("CREATE VIEW s3 AS SELECT count(*) AS n FROM s2")
            rows(connection, "SELECT * FROM s3")
            tally.equal(state_of(one, "DROP TABLE short"), "2BP01", "DROP TABLE under views")
            tally.equal(state_of(one, "DROP MATERIALIZED VIEW s1"), "2BP01", "DROP MATERIALIZED VIEW under views")
            tally.equal(state_of(one, "ALTER TABLE short DROP COLUMN v"), "2BP01", "DROP COLUMN under views")
            one("BEGIN")
            one("INSERT INTO short VALUES (100, 1, 1000)")
            one("DROP MATERIALIZED VIEW s1 CASCADE")
            tally.equal(state_of(rows, connection, "SELECT * FROM s1"), "42P01", "a dropped view in its transaction")
            one("ROLLBACK")
            tally.equal(sorted(rows(connection, "SELECT g, s FROM s1")), [(0, 165), (1, 145), (2, 155)], "a DROP that was rolled back")
            one("INSERT INTO short VALUES (101, 1, 5)")
            tally.equal(sorted(rows(connection, "SELECT g, s FROM s1")), [(0, 165), (1, 150), (2, 155)], "the view goes on")
            one("BEGIN")
            one("CREATE MATERIALIZED VIEW s4 AS SELECT max(v) AS v FROM short")
            one("INSERT INTO short VALUES (102, 2, 500)")
            tally.equal(rows(connection, "SELECT * FROM s4"), [(500,)], "a view in the transaction that makes it")
            one("ROLLBACK")
            tally.equal(state_of(rows, connection, "SELECT * FROM s4"), "42P01", "a view that was rolled back")
            one("DROP MATERIALIZED VIEW s1 CASCADE")
            tally.equal(state_of(rows, connection, "SELECT * FROM s2"), "42P01", "a view over a dropped view")
            one("CREATE MATERIALIZED VIEW s1 AS SELECT g, count(*) AS s FROM short GROUP BY g")
            tally.equal(sorted(rows(connection, "SELECT * FROM s1")), [(0, 10), (1, 11), (2, 10)], "another view of the same name")
            # An automatic view over a table that goes and comes back.
            for _ in range(9):
                tally.equal(rows_prepared(connection, "SELECT count(*), max(v) FROM short WHERE g = %s", (1,)), [(11, 28)], "before DROP TABLE")
            one("DROP TABLE short CASCADE")
            one("CREATE TABLE short (id INT PRIMARY KEY, v TEXT, g INT)")
            one("INSERT INTO short VALUES (1, 'x', 1)")
            for _ in range(9):
                tally.equal(rows(connection, "SELECT count(*), max(v) FROM short WHERE g = 1"), [(1, "x")], "another table of the same name")
            one("ALTER TABLE short ADD COLUMN w INT")
            for number in range(9):
                one("UPDATE short SET w = %s", (number,))
                tally.equal(rows(connection, "SELECT max(w) AS m FROM short WHERE g = %s GROUP BY g", (1,)), [(number,)], "after ADD COLUMN")
            one("DROP TABLE short CASCADE")
            # Annotations move rows between people; views do not notice.
            one("CREATE TABLE notes (id INT PRIMARY KEY, who INT REFERENCES users(id), body TEXT)")
            one("INSERT INTO notes SELECT id, id, 'n' || id FROM users")
            self.define(connection, "notes", "SELECT users.city, count(*) AS n, max(notes.body) AS last FROM notes JOIN users ON users.id = notes.who GROUP BY users.city")
            self.settle(connection, "notes")
            one("ALTER TABLE notes ALTER COLUMN who SET OWNED_BY users(id)")
            self.compare(connection, "after SET OWNED_BY")
            self.batch_forget(connection)
            self.compare(connection, "FORGET after SET OWNED_BY")

    def stop_and_kill(self):
        # With other numbers of workers, as results do not depend on them.
        for how, workers in (("stop", 1), ("kill", 3), ("kill amid writes", 2), ("stop", None)):
            threads = []
            if how == "stop":
                self.tally.equal(self.server.stop(), 0, "SIGTERM")
            else:
                if how == "kill amid writes":
                    unexpected, self.unexpected = self.unexpected, {}
                    threads = self.writers(3, 200)
                    time.sleep(1)
                self.server.kill()
                for thread in threads:
                    thread.join(30)
                if threads:
                    # Their connections went with the server.
                    self.unexpected = unexpected
            self.server.start(["--view-workers", str(workers)] if workers else [])
            with self.server.connect() as connection:
                self.compare(connection, f"at once after {how}")
                self.settle(connection, f"after {how}")
                self.compare(connection, f"after {how}")
                self.batch(connection, Writer(self.dice), 8)
                self.compare(connection, f"changes after {how}")


def rows_prepared(connection, query, parameters):
    return connection.execute(query, parameters, prepare=True).fetchall()


if __name__ == "__main__":
    run_check(Views(options(seed=20261121, count=25, random=20)))
