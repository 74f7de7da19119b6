"""Who works at a server over a failing disk: each knows what must be stored, and looks whether it is.

A statement that is answered stands. One that is refused does not. One whose connection was lost does or does not, as a whole: who comes
back looks which.
"""
import random
import threading
import time

import psycopg

from harness import rows
from support.people import Model, Step, Steps, TABLES, held

# Answered where the disk fails: it is full, or input and output fail. An erasure ends older snapshots.
OF_THE_DISK = ("53100", "58030")
REFUSED = (*OF_THE_DISK, "40001")
# The server stops, or begins anew.
ENDING = (None, "57P01", "57P03")
# A subscription whose view is planned anew.
ANEW = "55000"
SHELF = 1000


class Surprise(Exception):
    """What must not happen."""


def is_stopped(error):
    """A statement that a server which stops has given up: nothing of it stands. Out of time is another matter: it hung."""
    return error.sqlstate == "57014" and "timeout" not in str(error)


def is_refused(error):
    return error.sqlstate in REFUSED or is_stopped(error)


class Client(threading.Thread):
    """Takes steps until it is over. What it holds for stored stands in `states`, the last of all that there were; `may` is the step
    whose answer was lost."""

    def __init__(self, life, name, steps, model):
        super().__init__(daemon=True)
        self.life, self.name, self.steps, self.states = life, name, steps, [model]
        self.may, self.forgotten, self.surprise = None, [], None
        self.acknowledged = self.refused = 0

    @property
    def model(self):
        return self.states[-1]

    def run(self):
        while not self.life.over.is_set():
            connection = self.life.connected()
            if connection is None:
                return
            try:
                self.settle(connection)
                while not self.life.over.is_set():
                    self.step(connection)
            except psycopg.Error as error:
                if error.sqlstate not in ENDING and not is_refused(error):
                    self.surprise = f"{error.sqlstate} {error}"
                    return
            except Exception as error:
                self.surprise = f"{type(error).__name__} {error}"
                return
            finally:
                connection.close()

    def settle(self, connection):
        """Which of the two is it?"""
        if self.may is None:
            return
        found = self.read(connection)
        if found == self.may.after.found():
            self.adopt(self.may)
        elif found != self.model.found():
            raise Surprise(f"after a lost answer to {self.may.kind}: {difference(found, self.model.found())} | {difference(found, self.may.after.found())}")
        self.may = None

    def adopt(self, step):
        self.states.append(step.after)
        if step.forgotten:
            self.forgotten.append((len(self.states) - 1, *step.forgotten))

    def step(self, connection):
        if self.steps.dice.random() < 0.2:
            self.look(connection)
            return
        step = self.steps.next(self.model)
        self.may = step
        try:
            step.run(connection)
        except psycopg.Error as error:
            if not is_refused(error):
                raise
            self.may = None
            self.refused += 1
            self.life.hear(error)
            if error.sqlstate in OF_THE_DISK:
                self.verify(connection)
                time.sleep(0.02)
            return
        self.adopt(step)
        self.may = None
        self.acknowledged += 1

    def look(self, connection):
        try:
            self.verify(connection)
        except psycopg.Error as error:
            if not is_refused(error):
                raise
            self.life.hear(error)

    def verify(self, connection):
        found, expected = self.read(connection), self.model.found()
        if found != expected:
            raise Surprise(f"stored is not what was answered: {difference(found, expected)}")


def difference(found, expected):
    """The first few differences of what tables hold."""
    said = []
    for name in expected.keys() | found.keys():
        left, right = found.get(name), expected.get(name)
        if left is None or right is None:
            said.append(f"{name}: {'missing' if name not in found else 'unexpected' if name not in expected else (left, right)}")
        elif left != right:
            said.append(f"{name}: missing {[row for row in right if row not in left][:3]}, unexpected {[row for row in left if row not in right][:3]}")
    return "; ".join(said) or "none"


class Writer(Client):
    """People of its own, and what they own."""

    def __init__(self, life, number, seed):
        self.numbers = range(number * SHELF, number * SHELF + 300)
        super().__init__(life, f"writer {number}", Steps(random.Random(seed), self.numbers), Model())

    def read(self, connection):
        found = held(connection, TABLES)
        return {name: [row for row in table if row[0] in self.numbers] for name, table in found.items()}

    def look(self, connection):
        way = self.steps.dice.choice(["tables", "view", "index", "request"])
        if way == "tables" or not self.model.tables["people"]:
            return super().look(connection)
        try:
            getattr(self, way)(connection)
        except psycopg.Error as error:
            if not is_refused(error):
                raise
            self.life.hear(error)

    def expect(self, found, expected, what):
        if found != expected:
            raise Surprise(f"{what}: found {found}, expected {expected}")

    def view(self, connection):
        found = rows(connection, "SELECT author, notes FROM busy WHERE author BETWEEN %s AND %s", (self.numbers[0], self.numbers[-1]))
        self.expect(sorted(found), self.model.busy(), "the view")

    def index(self, connection):
        letter = self.steps.dice.choice("abcdefghij")
        found = sorted(key for key, in rows(connection, "SELECT id FROM messages WHERE subject = %s", (letter,)) if key in self.numbers)
        self.expect(found, sorted(key for key, row in self.model.tables["messages"].items() if row[3] == letter), "by the index")

    def request(self, connection):
        person = self.steps.anybody(self.model)
        found = sorted((table, row["id"]) for table, relation, _, row, *_ in rows(connection, f"GDPR GET people {person}") if relation == "owner")
        tables = self.model.tables
        owned = [("people", person)] + [("notes", key) for key, row in tables["notes"].items() if row[0] == person]
        owned += [("messages", key) for key, row in tables["messages"].items() if person in row[:2]]
        owned += [("keeps", key) for key, row in tables["keeps"].items() if row[0] == person]
        owned += [("shelves", shelf) for shelf in {row[1] for row in tables["keeps"].values() if row[0] == person}]
        self.expect(found, sorted(owned), f"GET of {person}")


class Definitions:
    """What stands in the catalog beside the schema: tables with their rows, indexes and views with None."""

    def __init__(self, names=(), added=(), count=0):
        # Each added column holds 7.
        self.names, self.added, self.count = dict(names), dict(added), count

    def found(self):
        return self.names

    def row(self, table, key, word):
        return (key, word, *[7] * self.added.get(table, 0))


class DefinitionSteps:
    """Random definitions."""

    KINDS = ("table", "block", "index", "index", "view", "fill", "widen", "empty", "drop", "rotate")

    def __init__(self, dice):
        self.dice = dice

    def next(self, model):
        while True:
            after = Definitions(model.names, model.added, model.count + 1)
            kind = self.dice.choice(self.KINDS)
            statements = getattr(self, kind)(after, f"extra_{after.count}", [name for name in after.names if after.names[name] is not None])
            if statements:
                return Step(kind, [(statement,) for statement in statements], after)

    def table(self, after, name, _):
        after.names[name] = []
        return [f"CREATE TABLE {name} (id INT PRIMARY KEY, word TEXT)"]

    def block(self, after, name, _):
        index = f"extra_i{after.count}"
        after.names.update({name: [(1, "one"), (2, "two")], index: None})
        return [f"CREATE TABLE {name} (id INT PRIMARY KEY, word TEXT)", f"INSERT INTO {name} VALUES (1, 'one'), (2, 'two')", f"CREATE INDEX {index} ON {name} (word)"]

    def index(self, after, *_):
        after.names[f"extra_i{after.count}"] = None
        return [f"CREATE INDEX extra_i{after.count} ON {self.dice.choice(['notes (body)', 'messages (body)', 'people (name)'])}"]

    def view(self, after, *_):
        after.names[f"extra_v{after.count}"] = None
        return [f"CREATE MATERIALIZED VIEW extra_v{after.count} AS SELECT receiver, count(*) AS n FROM messages GROUP BY receiver"]

    def fill(self, after, _, tables):
        if not tables:
            return None
        table = self.dice.choice(tables)
        key = len(after.names[table]) + 1
        after.names[table] = [*after.names[table], after.row(table, key, "more")]
        return [f"INSERT INTO {table} (id, word) VALUES ({key}, 'more')"]

    def widen(self, after, _, tables):
        if not tables:
            return None
        table = self.dice.choice(tables)
        after.names[table] = [(*row, 7) for row in after.names[table]]
        after.added[table] = after.added.get(table, 0) + 1
        return [f"ALTER TABLE {table} ADD COLUMN c{after.count} INT DEFAULT 7"]

    def empty(self, after, _, tables):
        if not tables:
            return None
        table = self.dice.choice(tables)
        after.names[table] = [after.row(table, 1, "new")]
        return [f"TRUNCATE {table}", f"INSERT INTO {table} (id, word) VALUES (1, 'new')"]

    def rotate(self, *_):
        # No definition, and nobody else's business either: all keys go to another file.
        return ["SELECT rotate_keys()"]

    def drop(self, after, *_):
        if not after.names:
            return None
        gone = self.dice.choice(list(after.names))
        what = {"i": "INDEX", "v": "MATERIALIZED VIEW"}.get(gone[len("extra_")], "TABLE")
        del after.names[gone]
        # A table's index goes with it.
        if what == "TABLE":
            after.names.pop(gone.replace("extra_", "extra_i"), None)
        return [f"DROP {what} {gone}"]


class Definer(Client):
    """Definitions: tables, indexes and views that come and go."""

    def __init__(self, life, seed):
        super().__init__(life, "definer", DefinitionSteps(random.Random(seed)), Definitions())

    def read(self, connection):
        found = {}
        listed = "SELECT relname, relkind FROM pg_class WHERE relname LIKE 'extra%' AND relname NOT LIKE '%pkey' ORDER BY relname"
        for name, kind in rows(connection, listed):
            found[name] = sorted(rows(connection, f"SELECT * FROM {name}")) if kind in ("r", b"r") else None
            if kind in ("m", b"m"):
                rows(connection, f"SELECT * FROM {name}")
        return found

    def step(self, connection):
        super().step(connection)
        time.sleep(self.steps.dice.uniform(0, 0.05))


class Watcher(threading.Thread):
    """A live subscription, and what it was told adds up to."""

    QUERY = "SELECT author, notes FROM busy"

    def __init__(self, life):
        super().__init__(name="watcher", daemon=True)
        self.life, self.surprise, self.told = life, None, None

    def run(self):
        while not self.life.ends.is_set():
            connection = self.life.connected(autocommit=False)
            if connection is None:
                return
            try:
                self.told = {}
                connection.execute(f"DECLARE c CURSOR FOR SUBSCRIBE ({self.QUERY})")
                while not self.life.ends.is_set():
                    for _, diff, *row in connection.execute("FETCH ALL c WITH (timeout = '50ms')"):
                        if diff is not None:
                            told = self.told.get(tuple(row), 0) + diff
                            if told not in (0, 1):
                                raise Surprise(f"a row is told {told} times")
                            self.told[tuple(row)] = told
            except psycopg.Error as error:
                self.told = None
                if error.sqlstate not in (*ENDING, ANEW) and not is_refused(error):
                    self.surprise = f"subscription: {error.sqlstate} {error}"
                    return
            except Surprise as surprise:
                self.surprise = f"subscription: {surprise}"
                return
            finally:
                connection.close()

    def agrees(self, expected):
        """Whether it is told what is so, within some seconds; true as well where it was cut off."""
        until = time.monotonic() + 10
        while time.monotonic() < until and self.is_alive():
            told = self.told
            if told is not None and sorted(row for row, count in list(told.items()) if count) == expected:
                return True
            time.sleep(0.02)
        return not self.is_alive()
