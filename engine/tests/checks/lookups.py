"""Lookups by several columns of personal tables, NULLs and lists of values among them: an index gives what all rows give.

Every query is asked twice in one REPEATABLE READ transaction: as it is, and with each column hidden in an expression, so that all rows
are read. Rows change meanwhile, from several connections, within the transaction too, and persons are forgotten.

    lookups.py [--seed S] [--count N]        N rounds (40) of random queries
"""
import random

import psycopg

from harness import Check, options, rows, run_check, start_writers, state_of

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE posts (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY people(id))",
    """CREATE TABLE votes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), post INT, comment INT, word TEXT, weight INT)""",
    "CREATE INDEX votes_all ON votes (person, comment, post)",
    "CREATE INDEX votes_post ON votes (post)",
    "CREATE INDEX votes_words ON votes (word, comment)",
    "CREATE TABLE seats (person INT OWNED_BY people(id), hall INT, place INT, UNIQUE (hall, place))",
    "CREATE TABLE shared (a INT, b INT, c INT)",
    "CREATE INDEX shared_all ON shared (a, b)",
]
PEOPLE = 40
TABLES = {"votes": ["person", "comment", "post", "word"], "seats": ["hall", "place", "person"], "shared": ["a", "b", "c"]}
REFUSED = {"23505", "23503", "DG001", "DG003", "40001", "40P01"}


def value(dice, column):
    return {"person": lambda: dice.randrange(PEOPLE), "word": lambda: dice.choice("abcd")}.get(column, lambda: dice.randrange(12))()


def or_null(dice, found):
    return None if dice.random() < 0.35 else found


def random_query(dice):
    """The query as it is, the same with its columns hidden, and its parameters."""
    table = dice.choice(list(TABLES))
    terms, hidden, parameters = [], [], []
    for column in dice.sample(TABLES[table], dice.randrange(1, len(TABLES[table]) + 1)):
        veiled = f"({column} || '')" if column == "word" else f"({column} + 0)"
        shape = dice.random()
        if shape < 0.3:
            term = "{} IS NULL"
        elif shape < 0.6:
            term = "{} = %s"
            parameters.append(or_null(dice, value(dice, column)) if dice.random() < 0.1 else value(dice, column))
        elif shape < 0.7:
            term = "({0} = %s OR {0} IS NULL)"
            parameters.append(value(dice, column))
        elif shape < 0.9:
            count = dice.choice([2, 7, 8, 9, 24, 40])
            term = "{} IN (" + ", ".join(["%s"] * count) + ")"
            parameters += [or_null(dice, value(dice, column)) if dice.random() < 0.05 else value(dice, column) for _ in range(count)]
        else:
            term = "{} = ANY (%s)"
            parameters.append([value(dice, column) for _ in range(dice.choice([0, 1, 9, 30]))])
        terms.append(term.format(column))
        hidden.append(term.format(veiled))
    order = ", ".join(str(number) for number in range(1, 4))
    return [f"SELECT * FROM {table} WHERE {' AND '.join(found)} ORDER BY {order}" for found in (terms, hidden)], parameters


def statement(dice):
    person = dice.randrange(PEOPLE)
    vote = (dice.randrange(900), person, or_null(dice, value(dice, "post")), or_null(dice, value(dice, "comment")), or_null(dice, value(dice, "word")), 1)
    return dice.choice([
        lambda: ("INSERT INTO votes VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO UPDATE SET comment = excluded.comment, post = excluded.post", vote),
        lambda: ("INSERT INTO votes VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING", vote),
        lambda: ("UPDATE votes SET comment = NULL, weight = weight + 1 WHERE person = %s AND comment = %s", (person, value(dice, "comment"))),
        lambda: ("UPDATE votes SET comment = %s WHERE person = %s AND comment IS NULL AND post = %s", (value(dice, "comment"), person, value(dice, "post"))),
        lambda: ("DELETE FROM votes WHERE person = %s AND comment IS NULL AND post IS NULL", (person,)),
        lambda: ("INSERT INTO seats VALUES (%s, %s, %s)", (person, or_null(dice, dice.randrange(6)), or_null(dice, dice.randrange(40)))),
        lambda: ("DELETE FROM seats WHERE hall = %s AND place IS NULL", (dice.randrange(6),)),
        lambda: ("INSERT INTO shared VALUES (%s, %s, %s)", (or_null(dice, dice.randrange(12)), or_null(dice, dice.randrange(12)), person)),
        lambda: ("DELETE FROM shared WHERE a = %s AND b IS NULL", (dice.randrange(12),)),
    ])()


class Lookups(Check):
    def run(self):
        self.set_up(SCHEMA)
        with self.server.connect() as connection:
            for person in range(PEOPLE):
                connection.execute("INSERT INTO people VALUES (%s, 'n')", (person,))
            for _ in range(1500):
                self.write(connection, self.dice)
        for case in (self.plans, self.uniqueness, self.rounds, self.own_writes, self.made_later, self.kill):
            self.tally.case(case)
        self.tally.equal(self.unexpected, {}, "what writers were refused for")

    def write(self, connection, dice):
        state = state_of(connection.execute, *statement(dice))
        if state and state not in REFUSED:
            self.unexpected.setdefault(state, "in a statement")

    def same(self, connection, dice, name):
        (plain, hidden), parameters = random_query(dice)
        self.tally.equal(rows(connection, plain, parameters), rows(connection, hidden, parameters), f"{name}: {plain} {parameters}")

    def plans(self):
        """Which index is used."""
        with self.server.connect() as connection:
            def plan(query):
                return "\n".join(row[0] for row in rows(connection, "EXPLAIN " + query))
            found = plan("SELECT * FROM votes WHERE person = 1 AND comment IS NULL AND post = 3")
            self.tally.that("using index votes_all" in found, "an index with a NULL in its key", found)
            found = plan("SELECT * FROM votes WHERE person = 1 AND comment IS NULL AND post IN (1, 2, 3)")
            self.tally.that("using index votes_all" in found and "post IN (1, 2, 3)" in found, "several keys with a NULL", found)
            found = plan("SELECT * FROM votes WHERE comment IS NULL AND word IS NULL")
            self.tally.that("Scan" in found, "nothing but NULLs stands in no index", found)

    def uniqueness(self):
        """NULLs are not equal to each other."""
        with self.server.connect() as connection:
            for seat in ((1, 77, None), (2, 77, None), (2, None, 77), (2, None, 77), (2, None, None)):
                self.tally.equal(state_of(connection.execute, "INSERT INTO seats VALUES (%s, %s, %s)", seat), "", f"seat {seat}")
            connection.execute("INSERT INTO seats VALUES (1, 77, 77)")
            self.tally.equal(state_of(connection.execute, "INSERT INTO seats VALUES (2, 77, 77)"), "23505", "a second seat")
            found = connection.execute("INSERT INTO seats VALUES (3, 77, NULL) ON CONFLICT (hall, place) DO NOTHING").rowcount
            self.tally.equal(found, 1, "no conflict of NULLs")
            self.tally.equal(len(rows(connection, "SELECT * FROM seats WHERE hall = 77 AND place IS NULL")), 3, "seats without a place")

    def rounds(self):
        """Beside writers and erasures."""
        stopped = []

        def body(connection, number):
            dice = random.Random(self.options.seed * 31 + number)
            while not stopped:
                self.write(connection, dice)
                if dice.random() < 0.01:
                    person = dice.randrange(PEOPLE)
                    state = state_of(connection.execute, f"GDPR FORGET people {person}")
                    if state not in REFUSED | {""}:
                        self.unexpected.setdefault(state, "in FORGET")
                    state_of(connection.execute, "INSERT INTO people VALUES (%s, 'again')", (person,))

        threads = start_writers(self, 2, body)
        try:
            with self.server.connect() as connection:
                for _ in range(self.options.count):
                    try:
                        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                        for _ in range(25):
                            self.same(connection, self.dice, "beside writers")
                    except psycopg.errors.SerializationFailure:
                        # Somebody was forgotten, whose rows the snapshot would still show.
                        pass
                    finally:
                        connection.execute("ROLLBACK")
        finally:
            stopped.append(True)
            for thread in threads:
                thread.join(20)

    def own_writes(self):
        """What the transaction itself has changed, savepoints among it."""
        with self.server.connect() as connection:
            for _ in range(self.options.count // 4):
                connection.execute("BEGIN")
                for step in range(12):
                    connection.execute("SAVEPOINT s")
                    if state_of(connection.execute, *statement(self.dice)) or self.dice.random() < 0.3:
                        connection.execute("ROLLBACK TO s")
                    self.same(connection, self.dice, f"own writes, step {step}")
                connection.execute(self.dice.choice(["COMMIT", "ROLLBACK"]))

    def made_later(self):
        """Indexes that are made on rows that are there, and made again."""
        with self.server.connect() as connection:
            connection.execute("DROP INDEX votes_all")
            for _ in range(20):
                self.same(connection, self.dice, "without the index")
            connection.execute("CREATE INDEX votes_all ON votes (comment, person, post)")
            for _ in range(50):
                self.same(connection, self.dice, "with an index made later")
            connection.execute("ALTER TABLE votes ADD COLUMN more INT")
            connection.execute("CREATE INDEX votes_more ON votes (person, more)")
            found = rows(connection, "SELECT count(*) FROM votes WHERE person = 7 AND more IS NULL")
            self.tally.equal(found, rows(connection, "SELECT count(*) FROM votes WHERE person + 0 = 7"), "a column that was added")

    def kill(self):
        """Everything stands in the indexes after kill -9."""
        self.server.kill()
        self.tally.clean(self.server, "after kill -9")
        self.server.start()
        with self.server.connect() as connection:
            for _ in range(100):
                self.same(connection, self.dice, "after kill -9")


if __name__ == "__main__":
    run_check(Lookups(options(seed=1, count=40)))
