"""Canaries: nothing personal stands in clear in any file, and after FORGET nothing of a person is readable anywhere.

Random 24-character words are stored as text, as a primary key, in indexed and unique columns, in a composite key, in arrays and documents.
While the rows stand, and after erasure, the bytes of every file of the folder are searched for them. CANARY_PEOPLE (12), CANARY_SEED.
"""
import json
import os
import random
import re
import string
import tempfile
import time

from harness import Server, Tally, rows, run, state_of

PEOPLE = int(os.environ.get("CANARY_PEOPLE", "12"))
SEED = int(os.environ.get("CANARY_SEED", "20261121"))

# The log is one of the files that are searched.
EVERYTHING_LOGGED = ("--log-level", "debug", "-c", "log_min_duration_statement=0")

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id TEXT PRIMARY KEY, name TEXT, email TEXT UNIQUE, tags TEXT[], profile JSONB, raw BYTEA)",
    """CREATE TABLE letters (place TEXT, number TEXT, person TEXT NOT NULL OWNED_BY people(id), body TEXT, topic VARCHAR(40),
       PRIMARY KEY (place, number))""",
    """CREATE TABLE calls (id INT PRIMARY KEY, caller TEXT OWNED_BY people(id), callee TEXT OWNED_BY people(id), about TEXT,
       ON DEL caller ANON (caller, about), ON DEL callee ANON (callee))""",
    """CREATE TABLE remarks (id INT PRIMARY KEY, place TEXT, number TEXT, body TEXT,
       FOREIGN KEY (place, number) OWNED_BY letters(place, number))""",
    "CREATE INDEX letters_topic ON letters (topic)",
    "CREATE INDEX letters_both ON letters (topic, body)",
    "CREATE TABLE log_of_nobody (id INT PRIMARY KEY, line TEXT)",
]


def word(dice):
    return "".join(dice.choice(string.ascii_letters) for _ in range(24))


class Person:
    """One person's canaries by where they stand."""

    def __init__(self, dice):
        for place in ("key", "name", "email", "tag", "json", "raw", "place", "number", "body", "topic", "about", "remark"):
            setattr(self, place, word(dice))

    def words(self):
        return list(vars(self).items())


def forms(text):
    """The spellings in which a file could hold a word."""
    yield text.encode()
    yield text.encode().hex().encode()
    yield text.encode("utf-16-le")
    yield text.encode()[::-1]


def search(folder, people):
    """(file, what) for every canary found in any file, whole or cut to 12 characters."""
    wanted = {}
    for person in people:
        for place, text in person.words():
            for form in forms(text):
                wanted[form] = place
            wanted[text[:12].encode()] = place + " (first half)"
            wanted[text[12:].encode()] = place + " (second half)"
    found, seen = [], 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                with open(os.path.join(path, name), "rb") as file:
                    data = file.read()
                    # The log's file is made long before it is written; no form ends in more than one zero.
                    data = data[: len(data.rstrip(b"\0")) + 1]
            except OSError:
                continue
            seen += len(data)
            found += [(name, place) for form, place in wanted.items() if form in data]
            found += [(name + " (its name)", place) for form, place in wanted.items() if form in name.encode()]
    return found, seen


def insert(connection, people):
    for number, person in enumerate(people):
        with connection.transaction():
            connection.execute("INSERT INTO people VALUES (%s, %s, %s, %s, %s, %s)",
                               (person.key, person.name, person.email, [person.tag], json.dumps({"a": person.json}), person.raw.encode()))
            connection.execute("INSERT INTO letters VALUES (%s, %s, %s, %s, %s)",
                               (person.place, person.number, person.key, person.body, person.topic))
            connection.execute("INSERT INTO remarks VALUES (%s, %s, %s, %s)", (number, person.place, person.number, person.remark))
    for number, person in enumerate(people):
        other = people[(number + 1) % len(people)]
        # Literals in the text of a statement as well as parameters.
        connection.execute(f"INSERT INTO calls VALUES ({number}, '{person.key}', '{other.key}', '{person.about}')")


QUERIES = [
    "SELECT * FROM people", "SELECT * FROM letters", "SELECT * FROM calls", "SELECT * FROM remarks",
    "SELECT p.id, l.* FROM people p JOIN letters l ON l.person = p.id", "SELECT topic, count(*) FROM letters GROUP BY topic",
    "SELECT * FROM letters ORDER BY topic",
]
COPIES = ["COPY people TO STDOUT", "COPY letters TO STDOUT (FORMAT csv)", "COPY (SELECT * FROM calls) TO STDOUT"]


def everything(connection):
    """All that the database shows to who may see all, as one text."""
    said = [repr(rows(connection, query)) for query in QUERIES]
    for copy in COPIES:
        with connection.cursor().copy(copy) as out:
            said.append(b"".join(bytes(part) for part in out).decode())
    return "\n".join(said)


def forget(tally, server, connection, person, others, folder):
    receipts = []
    handler = lambda notice: receipts.append(notice.message_detail)
    connection.add_notice_handler(handler)
    counts = {row[0]: row[1:] for row in rows(connection, f"GDPR FORGET people '{person.key}'")}
    connection.remove_notice_handler(handler)
    tally.that(counts.get("people") == (1, 0, 0), "the person's row is counted", counts)
    tally.that(counts.get("letters", (0,))[0] == 1 and counts.get("remarks", (0,))[0] == 1, "owned rows are counted", counts)
    said = everything(connection)
    for other in others:
        if other.key in said:
            said += repr(rows(connection, f"GDPR GET people '{other.key}'"))
    for place, text in person.words():
        tally.that(text not in said, f"after FORGET: {place} is shown by SQL, COPY or GET")
    tally.equal(state_of(connection.execute, f"GDPR GET people '{person.key}'"), "DG003", "GET of the forgotten")
    tally.equal(state_of(connection.execute, f"GDPR FORGET people '{person.key}'"), "DG003", "FORGET of the forgotten")
    for sql, value in [("SELECT * FROM people WHERE id = %s", person.key), ("SELECT * FROM people WHERE email = %s", person.email),
                       ("SELECT * FROM letters WHERE topic = %s", person.topic), ("SELECT * FROM letters WHERE person = %s", person.key),
                       ("SELECT * FROM calls WHERE caller = %s OR callee = %s", person.key)]:
        tally.equal(rows(connection, sql, (value,) * sql.count("%s")), [], "lookup after FORGET: " + sql)
    if tally.equal(len([receipt for receipt in receipts if receipt]), 1, "one receipt"):
        receipt(tally, server, receipts[-1], folder)


def receipt(tally, server, text, folder):
    key = os.path.join(server.data, "public.key")
    path = os.path.join(folder, "receipt")

    def verify(content, key=key):
        with open(path, "w") as file:
            file.write(content)
        return run("verify", "--key", key, path)

    status, said = verify(text)
    tally.equal(status, 0, "the receipt verifies: " + said)
    parsed = json.loads(text)
    changed = dict(parsed, time_us=parsed["time_us"] + 1)
    tally.that(verify(json.dumps(changed, separators=(",", ":")))[0] != 0, "a receipt with another time is refused")
    signature = parsed["signature"]
    flipped = ("0" if signature[0] != "0" else "1") + signature[1:]
    tally.that(verify(text.replace(signature, flipped))[0] != 0, "a receipt with a flipped signature is refused")
    fewer = dict(parsed, tables=parsed["tables"][1:])
    tally.that(verify(json.dumps(fewer, separators=(",", ":")))[0] != 0, "a receipt with a table less is refused")
    tally.that(verify(text[:len(text) // 2])[0] != 0, "half a receipt is refused")
    tally.that(verify("")[0] != 0, "an empty receipt is refused")
    other = os.path.join(folder, "other.key")
    with open(other, "w") as file:
        file.write("ab" * 32 + "\n")
    tally.that(verify(text, other)[0] != 0, "the receipt does not verify under another key")
    # Re-signed with a key of the forger's own that it carries: must prove nothing.
    resigned = dict(parsed, public_key="cd" * 32)
    tally.that(verify(json.dumps(resigned, separators=(",", ":")))[0] != 0, "a receipt that carries its own key is refused")


def other_receipt(tally, server, folder):
    """A genuine receipt of another database is refused under this one's key."""
    stranger = Server()
    try:
        stranger.start()
        with stranger.connect() as connection:
            receipts = []
            connection.add_notice_handler(lambda notice: receipts.append(notice.message_detail))
            connection.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY)")
            connection.execute("INSERT INTO people VALUES (1)")
            connection.execute("GDPR FORGET people 1")
        path = os.path.join(folder, "stranger")
        with open(path, "w") as file:
            file.write(receipts[-1])
        tally.equal(run("verify", "--key", os.path.join(stranger.data, "public.key"), path)[0], 0, "the other's receipt under its key")
        tally.that(run("verify", "--key", os.path.join(server.data, "public.key"), path)[0] != 0, "a receipt signed by another key is refused")
    finally:
        stranger.remove()


def other_ways(tally):
    """Persons who go by DELETE, TRUNCATE, DROP, or move to another key: their keys and rows go all the same."""
    server = Server()
    try:
        server.start()
        with server.connect() as connection:
            receipts = []
            connection.add_notice_handler(lambda notice: notice.message_primary.startswith("receipt") and receipts.append(notice))
            connection.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)")
            connection.execute("CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id) DEFERRABLE, body TEXT)")

            def person(key):
                connection.execute("INSERT INTO people VALUES (%s, 'name')", (key,))
                connection.execute("INSERT INTO notes VALUES (%s, %s, 'body')", (key, key))

            def gone(key, what, expected=1):
                tally.equal(len(receipts), expected, "receipts after " + what)
                receipts.clear()
                if key is not None:
                    tally.equal(state_of(connection.execute, f"GDPR GET people {key}"), "DG003", "GET after " + what)

            for key in range(1, 12):
                person(key)
            connection.execute("DELETE FROM notes WHERE person = 1")
            connection.execute("DELETE FROM people WHERE id = 1")
            gone(1, "DELETE")
            # Another person takes the key in the same transaction.
            with connection.transaction():
                connection.execute("DELETE FROM notes WHERE person = 2")
                connection.execute("DELETE FROM people WHERE id = 2")
                connection.execute("INSERT INTO people VALUES (2, 'another')")
            gone(None, "DELETE and INSERT under one key")
            tally.equal([row[0] for row in rows(connection, "GDPR GET people 2")], ["people"], "the new person has a row of their own")
            # The same, with a row that changes hands because its foreign key is looked at later.
            with connection.transaction():
                connection.execute("SET CONSTRAINTS ALL DEFERRED")
                connection.execute("DELETE FROM people WHERE id = 3")
                connection.execute("INSERT INTO people VALUES (3, 'heir')")
            gone(None, "DELETE and INSERT under a deferred reference")
            tally.equal(sorted(row[0] for row in rows(connection, "GDPR GET people 3")), ["notes", "people"], "the row has changed hands")
            with connection.transaction(force_rollback=True):
                connection.execute("DELETE FROM notes WHERE person = 4")
                connection.execute("DELETE FROM people WHERE id = 4")
            gone(None, "a DELETE rolled back", 0)
            tally.equal(sorted(row[0] for row in rows(connection, "GDPR GET people 4")), ["notes", "people"], "a person whose DELETE was rolled back")
            connection.execute("DELETE FROM notes WHERE person IN (5, 6)")
            connection.execute("UPDATE people SET id = 11 - id WHERE id IN (5, 6)")
            connection.execute("UPDATE people SET id = 50 WHERE id = 5")
            gone(5, "a new key", 0)
            tally.equal(len(rows(connection, "GDPR GET people 50")), 1, "GET under the new key")
            rows(connection, "GDPR FORGET people 50")
            gone(50, "FORGET under the new key")
            left = rows(connection, "SELECT count(*) FROM people")[0][0]
            connection.execute("TRUNCATE people, notes")
            gone(4, "TRUNCATE", left)
            for key in range(1, 4):
                person(key)
            connection.execute("DROP TABLE notes")
            connection.execute("DROP TABLE people")
            gone(None, "DROP TABLE", 3)
        tally.equal(server.stop(), 0, "SIGTERM")
        tally.clean(server, "after other ways to go")
        server.start()
        server.stop()
        tally.clean(server, "after other ways to go, opened again")
    finally:
        server.remove()


def churn(connection, dice, rounds):
    """Enough traffic of nobody's to make the store flush and rewrite files."""
    for _ in range(rounds):
        values = ",".join(f"({dice.randrange(1 << 30)}, '{'z' * 400}')" for _ in range(500))
        connection.execute(f"INSERT INTO log_of_nobody VALUES {values} ON CONFLICT DO NOTHING")


def main():
    tally, dice, server = Tally(), random.Random(SEED), Server()
    with tempfile.TemporaryDirectory(prefix="dogwood-canary-") as folder:
        try:
            server.start(EVERYTHING_LOGGED)
            with server.connect() as connection:
                for statement in SCHEMA:
                    connection.execute(statement)
                people = [Person(dice) for _ in range(PEOPLE)]
                insert(connection, people)
                # Words that live shorter: updated away, rolled back, refused, in statements that fail.
                passing = [Person(dice) for _ in range(3)]
                connection.execute("UPDATE people SET name = %s WHERE id = %s", (passing[0].name, people[0].key))
                connection.execute("UPDATE people SET name = %s WHERE id = %s", (people[0].name, people[0].key))
                with connection.transaction(force_rollback=True):
                    connection.execute("INSERT INTO people (id, name) VALUES (%s, %s)", (passing[1].key, passing[1].name))
                tally.equal(state_of(connection.execute, f"INSERT INTO people (id, name) VALUES ('{people[0].key}', '{passing[2].name}')"),
                            "23505", "a duplicate key")
                tally.equal(state_of(connection.execute, f"SELECT '{passing[2].body}'::int"), "22P02", "a word that is no number")
                state_of(connection.execute, f"SELEKT '{passing[2].topic}'")
                shown = everything(connection)
                for person in people:
                    for place in ("key", "name", "email", "tag", "json", "place", "number", "body", "topic", "about", "remark"):
                        tally.that(getattr(person, place) in shown, f"before FORGET: {place} is shown")
                churn(connection, dice, 4)
                time.sleep(0.3)
                everyone = people + passing
                found, seen = search(server.root, everyone)
                tally.equal(found, [], f"in clear while the rows stand, in {seen} bytes of a running server")
                server.stop()
                found, _ = search(server.root, everyone)
                tally.equal(found, [], "in clear after a clean stop")
            server.start(EVERYTHING_LOGGED)
            with server.connect() as connection:
                tally.equal(everything(connection) == shown, True, "the same rows after a restart")
                gone, left = people[: PEOPLE // 2], people[PEOPLE // 2:]
                for number, person in enumerate(gone):
                    forget(tally, server, connection, person, people[number + 1:], folder)
                found, _ = search(server.root, everyone)
                tally.equal(found, [], "in clear after FORGET")
                said = everything(connection)
                for person in left:
                    for place in ("key", "name", "email", "tag", "json", "place", "number", "body", "topic", "remark", "about"):
                        tally.that(getattr(person, place) in said, f"after others' FORGET: {place} of one who stays is shown")
            server.kill()
            tally.clean(server, "after kill -9")
            server.start(EVERYTHING_LOGGED)
            with server.connect() as connection:
                tally.equal(everything(connection) == said, True, "the same rows after kill -9")
                for person in gone:
                    tally.equal(state_of(connection.execute, f"GDPR GET people '{person.key}'"), "DG003", "GET after kill -9")
                    # A new person may take the free key and has nothing of the old one's.
                connection.execute("INSERT INTO people (id) VALUES (%s)", (gone[0].key,))
                tally.equal([row[0] for row in rows(connection, f"GDPR GET people '{gone[0].key}'")], ["people"], "a new person under the old key")
            other_receipt(tally, server, folder)
            tally.case(other_ways, tally)
            found, _ = search(server.root, everyone)
            tally.equal(found, [], "in clear at the end")
            tally.equal(server.stop(), 0, "SIGTERM")
            tally.clean(server, "at the end")
            said = server.said()
            tally.that("internal error" not in said and not re.search(r"^\S+ +(?:WARN|ERROR) ", said, re.MULTILINE), "nothing is wrong in the server's log", said[-2000:])
        finally:
            server.remove()
    tally.end()


if __name__ == "__main__":
    main()
