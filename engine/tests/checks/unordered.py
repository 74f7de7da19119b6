"""What nobody orders comes as it was written: a transaction's own rows, and those of temporary tables.

Random histories of a transaction (rows come, change and go; savepoints; others' rows below) against a list in Python, to whose end goes
what is written. The tables: with a key and without, of persons, temporary. Where PostgreSQL 15 is installed it is asked the same.

    unordered.py [--seed S] [--count N]
"""
import random

import psycopg

from harness import Check, options, rows, run_check
from harness.compared import postgres_if_there

TABLES = ["keyed", "bare", "people", "passing", "passing_keyed"]
KEYS = 40


def schema(of_dogwood):
    subject = "DATA_SUBJECT " if of_dogwood else ""
    return ["CREATE TABLE keyed (id INT PRIMARY KEY, n INT)", "CREATE TABLE bare (id INT, n INT)", f"CREATE {subject}TABLE people (id INT PRIMARY KEY, n INT)"]


OF_SESSION = ["CREATE TEMP TABLE passing (id INT, n INT)", "CREATE TEMP TABLE passing_keyed (id INT PRIMARY KEY, n INT)"]


def history(chance):
    """Statements of one transaction, each with its table, its change and its values."""
    for number in range(chance.randint(5, 25)):
        table, key = chance.choice(TABLES), chance.randrange(KEYS)
        yield chance.choice(["insert"] * 4 + ["update", "update", "delete", "savepoint", "rollback", "several"]), table, key, number


class Model:
    """Tables as lists of (id, n); what is written goes to the end."""

    def __init__(self):
        self.tables = {table: [] for table in TABLES}

    def insert(self, table, key, number):
        if any(row[0] == key for row in self.tables[table]):
            return False
        self.tables[table].append((key, number))
        return True

    def update(self, table, key, number):
        for row in [row for row in self.tables[table] if row[0] == key]:
            self.tables[table].remove(row)
            self.tables[table].append((key, number))

    def delete(self, table, key):
        self.tables[table] = [row for row in self.tables[table] if row[0] != key]

    def copy(self):
        other = Model()
        other.tables = {table: list(found) for table, found in self.tables.items()}
        return other


class Unordered(Check):
    def run(self):
        self.set_up(schema(True))
        with postgres_if_there() as postgres:
            for number in range(self.options.count):
                chance = random.Random(self.options.seed * 1000 + number)
                script = [list(history(chance)) for _ in range(3)]
                with self.server.connect() as connection:
                    self.play(connection, script, f"history {number}")
                if postgres and number < 10:
                    with psycopg.connect(postgres.dsn, autocommit=True) as connection:
                        for statement in schema(False) if number == 0 else []:
                            connection.execute(statement)
                        self.play(connection, script, f"history {number} on PostgreSQL")

    def play(self, connection, script, label):
        """Transactions one after the other: what is not temporary is taken back, so that all of it is the transaction's own."""
        for statement in OF_SESSION:
            connection.execute(statement)
        model = Model()
        for steps in script:
            connection.execute("BEGIN")
            saved = []
            for step in steps:
                self.step(connection, model, saved, step)
                model = saved.pop() if step[0] == "rollback" and saved else model
            for table in TABLES:
                self.tally.equal(rows(connection, f"SELECT id, n FROM {table}"), model.tables[table], f"{label}: {table}")
            for table in TABLES[:3]:
                connection.execute(f"DELETE FROM {table}")
                model.tables[table] = []
            connection.execute("COMMIT")
            for table in TABLES[3:]:
                self.tally.equal(rows(connection, f"SELECT id, n FROM {table}"), model.tables[table], f"{label}: {table}, committed")

    def step(self, connection, model, saved, step):
        what, table, key, number = step
        if what == "insert":
            if model.insert(table, key, number):
                connection.execute(f"INSERT INTO {table} VALUES ({key}, {number})")
        elif what == "several":
            found = [(each, number) for each in range(key + 5, key, -1) if model.insert(table, each, number)]
            if found:
                connection.execute(f"INSERT INTO {table} VALUES " + ", ".join(map(str, found)))
        elif what == "update":
            model.update(table, key, number)
            connection.execute(f"UPDATE {table} SET n = {number} WHERE id = {key}")
        elif what == "delete":
            model.delete(table, key)
            connection.execute(f"DELETE FROM {table} WHERE id = {key}")
        elif what == "savepoint":
            saved.append(model.copy())
            connection.execute(f"SAVEPOINT s{len(saved)}")
        elif saved:
            connection.execute(f"ROLLBACK TO s{len(saved)}")
            connection.execute(f"RELEASE s{len(saved)}")


if __name__ == "__main__":
    run_check(Unordered(options(1, count=40)))
