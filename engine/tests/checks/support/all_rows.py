"""Queries as they are and from all rows, which must be the same: while others write and people are forgotten, and amid own writes."""
import random
import time

import psycopg

from harness import Check, start_writers, state_of

# What writers that meet one another may be refused for.
REFUSED = {"23505", "23503", "DG001", "DG002", "DG003", "40001", "40P01"}


class Writer:
    """Random changes: a class of it says what a `statement` is, with its parameters."""

    FORGETS, STATEMENTS, AGAIN, PEOPLE = 0.04, 5, "", 0

    def __init__(self, dice):
        self.dice = dice

    def transaction(self, connection, forgets=True):
        """One transaction, or one FORGET; the SQLSTATE that ended it."""
        try:
            if forgets and self.dice.random() < self.FORGETS:
                person = self.dice.randrange(self.PEOPLE)
                connection.execute(f"GDPR FORGET people {person}")
                connection.execute(self.AGAIN, (person,))
                return ""
            with connection.transaction():
                for _ in range(self.dice.randrange(1, self.STATEMENTS)):
                    connection.execute(*self.statement())
            return ""
        except psycopg.Error as error:
            return error.sqlstate or "lost"


class AllRows(Check):
    """Its `compare_within` asks so many random queries both ways."""

    WRITER, TRANSACTIONS = Writer, 15
    # Of transactions that look at their own writes: how many, of how many statements, and queries after each and after what is rarer.
    OWN, OWN_TRUNCATE, OWN_ALTER = (12, 6, 12, 15), (), ""

    def compare(self, connection, when, count):
        """Random queries at one snapshot. False if it ended meanwhile."""
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try:
            return self.compare_within(connection, when, count)
        except psycopg.errors.SerializationFailure:
            # A person was forgotten meanwhile.
            return False
        finally:
            connection.execute("ROLLBACK")
            connection.execute("SET dogwood.auto_views = on")

    def writers(self, count, transactions, forgets=True):
        def write(connection, number):
            writer = self.WRITER(random.Random(f"{self.options.seed} {time.monotonic_ns()} {number}"))
            for _ in range(transactions):
                state = writer.transaction(connection, forgets)
                if state not in REFUSED and state != "":
                    self.unexpected.setdefault(state, number)

        return start_writers(self, count, write)

    def rounds(self):
        with self.server.connect() as connection:
            self.compare(connection, "at first", 150)
            compared = 0
            for number in range(self.options.count):
                threads = self.writers(3, self.TRANSACTIONS, forgets=number % 2 == 0)
                while any(thread.is_alive() for thread in threads):
                    compared += self.compare(connection, f"amid round {number}", 6)
                self.compare(connection, f"round {number}", 40)
            self.tally.that(compared > self.options.count, "comparisons amid writers", compared)

    def own_writes(self):
        transactions, statements, queries, more = self.OWN
        with self.server.connect() as connection:
            for number in range(transactions):
                writer = self.WRITER(self.dice)
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ" if number % 2 else "BEGIN")
                for _ in range(statements):
                    connection.execute("SAVEPOINT s")
                    state = state_of(connection.execute, *writer.statement())
                    if state != "" or self.dice.random() < 0.3:
                        connection.execute("ROLLBACK TO SAVEPOINT s")
                    self.compare_within(connection, "own writes", queries)
                if number % 3 == 0:
                    for statement in self.OWN_TRUNCATE:
                        connection.execute(statement)
                    self.compare_within(connection, "own TRUNCATE", more)
                if number % 4 == 1:
                    connection.execute(self.OWN_ALTER)
                    self.compare_within(connection, "own ALTER TABLE", more)
                connection.execute("ROLLBACK")
                connection.execute("SET dogwood.auto_views = on")
                self.compare(connection, "after ROLLBACK", 10)
