"""kill -9 in a loop against a client-side ledger: nothing acknowledged is lost, nothing is partial, nobody forgotten comes back.

Some of the kills are power failures: of what the server had not flushed, any part is gone (support/power.py).

Each client owns a range of keys and knows what its rows must be. Before a transaction it writes down what they would be after it (the
intent), after the acknowledgement it takes that as the truth. After a kill the stored rows must equal one of the two, exactly.
CRASH_CYCLES (30), CRASH_CLIENTS (4), CRASH_SEED, CRASH_CHECK_EVERY (10), CRASH_POWER (0.5, the part of power failures) change the run.
"""
import copy
import os
import random
import threading
import time

import psycopg

from harness import Server, Tally, Refused, rows
from support.power import Power

CYCLES = int(os.environ.get("CRASH_CYCLES", "30"))
CLIENTS = int(os.environ.get("CRASH_CLIENTS", "4"))
SEED = int(os.environ.get("CRASH_SEED", "20261121"))
CHECK_EVERY = int(os.environ.get("CRASH_CHECK_EVERY", "10"))
POWER = float(os.environ.get("CRASH_POWER", "0.5"))
REOPEN_SECONDS = float(os.environ.get("CRASH_REOPEN_SECONDS", "2"))

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id TEXT PRIMARY KEY, client INT NOT NULL, name TEXT, email TEXT UNIQUE)",
    """CREATE TABLE notes (id INT PRIMARY KEY, client INT NOT NULL, person TEXT NOT NULL OWNED_BY people(id),
       body TEXT, version INT NOT NULL)""",
    """CREATE TABLE messages (id INT PRIMARY KEY, client INT NOT NULL, sender TEXT OWNED_BY people(id),
       receiver TEXT OWNED_BY people(id), body TEXT, ON DEL sender ANON (sender), ON DEL receiver ANON (receiver))""",
    "CREATE TABLE counters (client INT PRIMARY KEY, value INT NOT NULL)",
    "CREATE INDEX ON notes (version)",
]


class Ledger:
    """What one client's rows must be."""

    def __init__(self, client):
        self.client = client
        self.people = {}
        self.notes = {}
        self.messages = {}
        self.value = 0
        self.next = client * 10_000_000

    def number(self):
        self.next += 1
        return self.next

    def stored(self):
        return (self.people, self.notes, self.messages, self.value)

    def forget(self, person):
        del self.people[person]
        self.notes = {key: note for key, note in self.notes.items() if note[0] != person}
        kept = {}
        for key, (sender, receiver, body) in self.messages.items():
            sender = None if sender == person else sender
            receiver = None if receiver == person else receiver
            if sender is not None or receiver is not None:
                kept[key] = (sender, receiver, body)
        self.messages = kept


def read(connection, client):
    """What stands in the database of this client."""
    people = {i: (name, email) for i, name, email in
              rows(connection, "SELECT id, name, email FROM people WHERE client = %s", (client,))}
    notes = {i: (person, body, version) for i, person, body, version in
             rows(connection, "SELECT id, person, body, version FROM notes WHERE client = %s", (client,))}
    messages = {i: (sender, receiver, body) for i, sender, receiver, body in
                rows(connection, "SELECT id, sender, receiver, body FROM messages WHERE client = %s", (client,))}
    value = rows(connection, "SELECT value FROM counters WHERE client = %s", (client,))
    return (people, notes, messages, value[0][0] if value else None)


class Client(threading.Thread):
    """Runs transactions until the connection is gone."""

    def __init__(self, server, ledger, forgotten, dice):
        super().__init__(daemon=True)
        self.server, self.ledger, self.forgotten, self.dice = server, ledger, forgotten, dice
        self.intent = None
        self.forgetting = None
        self.acknowledged = 0
        self.retried = 0
        self.erased = 0
        self.surprise = None

    def run(self):
        try:
            connection = self.server.connect()
        except psycopg.Error:
            return
        try:
            while True:
                self.step(connection)
        except psycopg.Error as error:
            if error.sqlstate is not None and not error.sqlstate.startswith("57P"):
                self.surprise = f"{error.sqlstate} {error}"
        except Exception as error:
            self.surprise = repr(error)
        finally:
            connection.close()

    def step(self, connection):
        after = copy.copy(self.ledger)
        for name in ("people", "notes", "messages"):
            setattr(after, name, dict(getattr(self.ledger, name)))
        self.forgetting = None
        statements, wrapped, keep = self.choose(after)
        self.ledger.next = after.next
        self.intent = after if keep else self.ledger
        try:
            if wrapped:
                connection.execute("BEGIN")
            for sql, parameters in statements:
                connection.execute(sql, parameters)
            if wrapped:
                connection.execute("COMMIT" if keep else "ROLLBACK")
        except psycopg.Error as error:
            # Another client's FORGET ends overlapping transactions; nothing of this one may stay.
            if error.sqlstate != "40001":
                raise
            if not connection.closed:
                connection.rollback() if not connection.autocommit else connection.execute("ROLLBACK")
            self.retried += 1
            return
        self.ledger = self.intent
        self.acknowledged += 1
        if self.forgetting:
            self.erased += 1
            self.forgotten.add(self.forgetting)
            self.forgetting = None

    def choose(self, after):
        """(statements, in a block?, committed?) and the ledger changed to what holds after them."""
        dice, client = self.dice, after.client
        kind = dice.choices(["person", "note", "update", "delete", "message", "move", "block", "bulk", "rollback", "forget", "again"],
                            [6, 10, 8, 4, 8, 4, 12, 2, 4, 4, 2])[0]
        people = list(after.people)
        if len(people) < 3:
            kind = "person"
        if len(people) > 60:
            kind = "forget"
        if kind == "person":
            return [self.person(after)], False, True
        if kind == "note":
            return [self.note(after, dice.choice(people))], False, True
        if kind == "message":
            return [self.message(after, people)], False, True
        if kind == "forget":
            person = dice.choice(people)
            after.forget(person)
            self.forgetting = person
            return [("GDPR FORGET people '" + person + "'", None)], False, True
        if kind == "again":
            gone = [person for person in sorted(self.forgotten.copy()) if person.startswith(f"p{client}-")]
            if not gone:
                return [self.note(after, dice.choice(people))], False, True
            person = dice.choice(gone)
            self.forgotten.discard(person)
            after.people[person] = ("again", person + "@again")
            self.again = person
            return [("INSERT INTO people VALUES (%s, %s, %s, %s)", (person, client, "again", person + "@again"))], False, True
        if kind == "bulk":
            version = dice.randrange(1_000_000)
            after.notes = {key: (person, body, version) for key, (person, body, _) in after.notes.items()}
            return [("UPDATE notes SET version = %s WHERE client = %s", (version, client))], False, True
        if kind in ("update", "move", "delete"):
            if not after.notes:
                return [self.note(after, dice.choice(people))], False, True
            return [self.change(after, kind, people)], False, True
        # A block: several statements of several tables, the counter first or last.
        statements = []
        for _ in range(dice.randrange(2, 7)):
            people = list(after.people)
            part = dice.choice(["person", "note", "note", "message", "update", "move", "delete"])
            if part == "person":
                statements.append(self.person(after))
            elif part == "message":
                statements.append(self.message(after, people))
            elif part == "note" or not after.notes:
                statements.append(self.note(after, dice.choice(people)))
            else:
                statements.append(self.change(after, part, people))
        after.value += 1
        statements.insert(dice.choice([0, len(statements)]),
                          ("UPDATE counters SET value = value + 1 WHERE client = %s", (client,)))
        return statements, True, kind == "block"

    def person(self, after):
        key = f"p{after.client}-{after.number()}"
        after.people[key] = ("name " + key, key + "@example.org")
        return ("INSERT INTO people VALUES (%s, %s, %s, %s)", (key, after.client, *after.people[key]))

    def note(self, after, person):
        key = after.number()
        after.notes[key] = (person, "x" * self.dice.randrange(200), 0)
        return ("INSERT INTO notes VALUES (%s, %s, %s, %s, %s)", (key, after.client, *after.notes[key]))

    def message(self, after, people):
        key = after.number()
        after.messages[key] = (self.dice.choice(people), self.dice.choice(people), "hello")
        return ("INSERT INTO messages VALUES (%s, %s, %s, %s, %s)", (key, after.client, *after.messages[key]))

    def change(self, after, kind, people):
        key = self.dice.choice(list(after.notes))
        person, body, version = after.notes[key]
        if kind == "delete":
            del after.notes[key]
            return ("DELETE FROM notes WHERE id = %s", (key,))
        if kind == "move":
            after.notes[key] = (self.dice.choice(people), body, version)
            return ("UPDATE notes SET person = %s WHERE id = %s", (after.notes[key][0], key))
        after.notes[key] = (person, body + "y", version + 1)
        return ("UPDATE notes SET body = body || 'y', version = version + 1 WHERE id = %s", (key,))


def difference(found, expected):
    """The first few differences, for a failure's message."""
    said = []
    for name, left, right in zip(("people", "notes", "messages"), found, expected):
        lost = [key for key in right if key not in left]
        extra = [key for key in left if key not in right]
        changed = [(key, left[key], right[key]) for key in left if key in right and left[key] != right[key]]
        if lost or extra or changed:
            said.append(f"{name}: missing {lost[:3]}, unexpected {extra[:3]}, changed {changed[:2]}")
    if found[3] != expected[3]:
        said.append(f"counter {found[3]} instead of {expected[3]}")
    return "; ".join(said)


def verify(tally, cycle, connection, clients, forgotten, dice):
    """Takes the ledger or the intent, whichever the database agrees with; anything else is a failure."""
    for client in clients:
        found = read(connection, client.ledger.client)
        before, after = client.ledger, client.intent or client.ledger
        if found == after.stored():
            # The unanswered transaction is durable: what it did counts from here.
            client.ledger = after
            if client.forgetting:
                forgotten.add(client.forgetting)
        elif not tally.that(found == before.stored(), f"cycle {cycle}: rows of client {before.client}",
                            "against the ledger: " + difference(found, before.stored())
                            + " | against the intent: " + difference(found, after.stored())):
            client.ledger.people, client.ledger.notes, client.ledger.messages, client.ledger.value = found
        # One that was being inserted again when the server died may stand or not.
        for person in list(client.ledger.people):
            forgotten.discard(person)
        again = getattr(client, "again", None)
        if again and again not in client.ledger.people:
            forgotten.add(again)
        tally.that(True, "ledger")
    gone = list(forgotten)
    for person in dice.sample(gone, min(len(gone), 25)):
        try:
            connection.execute("GDPR GET people '" + person + "'")
            tally.that(False, f"cycle {cycle}: a forgotten person is back", person)
        except psycopg.Error as error:
            tally.equal(error.sqlstate, "DG003", f"cycle {cycle}: GET of a forgotten person")
    for client in clients:
        if not client.ledger.people:
            continue
        person = dice.choice(list(client.ledger.people))
        found = {(table, str(row["id"])) for table, _, _, row, *_ in rows(connection, "GDPR GET people '" + person + "'")}
        expected = {("people", person)}
        expected |= {("notes", str(key)) for key, note in client.ledger.notes.items() if note[0] == person}
        expected |= {("messages", str(key)) for key, message in client.ledger.messages.items() if person in message[:2]}
        tally.equal(sorted(found ^ expected), [], f"cycle {cycle}: GET of {person}")


def main():
    tally, dice, server = Tally(), random.Random(SEED), Server()
    forgotten, clients = set(), []
    server.start()
    with server.connect() as connection:
        for statement in SCHEMA:
            connection.execute(statement)
        for client in range(1, CLIENTS + 1):
            connection.execute("INSERT INTO counters VALUES (%s, 0)", (client,))
    ledgers = [Ledger(client) for client in range(1, CLIENTS + 1)]
    acknowledged = retried = erased = failures = 0
    slowest = 0.0
    power, power_fails = Power(server.data), False
    try:
        for cycle in range(1, CYCLES + 1):
            clients = [Client(server, ledger, forgotten, random.Random(dice.random())) for ledger in ledgers]
            for client in clients:
                client.start()
            time.sleep(dice.uniform(0.05, 0.7))
            tally.that(server.alive(), f"cycle {cycle}: alive before the kill", server.said()[-800:])
            server.kill()
            for client in clients:
                client.join(30)
                tally.that(not client.is_alive(), f"cycle {cycle}: the client noticed")
                tally.that(client.surprise is None, f"cycle {cycle}: client's error", client.surprise)
                acknowledged += client.acknowledged
                retried += client.retried
                erased += client.erased
            if power_fails:
                power.fails(dice)
                failures += 1
            # Some recoveries are cut short themselves.
            while dice.random() < 0.25:
                threading.Timer(dice.uniform(0.0, 0.12), lambda process=None: server.process and server.process.kill()).start()
                try:
                    server.start(timeout=10)
                except Refused as refusal:
                    tally.that(str(refusal).strip() == "", f"cycle {cycle}: a recovery cut short", refusal)
                time.sleep(0.13)
                server.kill()
            if cycle % CHECK_EVERY == 0:
                tally.clean(server, f"cycle {cycle}")
            power_fails = dice.random() < POWER
            took = server.start(before=power.before() if power_fails else None)
            slowest = max(slowest, took)
            tally.that(took < REOPEN_SECONDS, f"cycle {cycle}: reopened in {took:.2f} s")
            with server.connect() as connection:
                verify(tally, cycle, connection, clients, forgotten, dice)
            ledgers = [client.ledger for client in clients]
        tally.equal(server.stop(), 0, "SIGTERM")
        tally.clean(server, "at the end")
        print(f"{CYCLES} kills, {failures} of them power failures, {acknowledged} acknowledged transactions, {erased} erasures, {retried} retried, "
              f"slowest reopening {slowest:.2f} s")
    except Refused as refusal:
        tally.that(False, "the server starts again", refusal)
    finally:
        power.remove()
        if tally.failed and server.root:
            print("kept:", server.root)
            server.kill()
        else:
            server.remove()
    tally.end()


if __name__ == "__main__":
    main()
