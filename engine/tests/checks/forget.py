"""What an erasure answers is what it did: cancelled, out of time, killed; and nobody is told of the erased after its answer.

An erasure has a point of no return. Before it, an error, and everything is there; after it, its rows, and everything is gone. Both are
compared with the state at seeded instants. Subscribers are looked at for canaries; definitions and open transactions stand beside.

    forget.py [--seed S] [--rounds N]      N instants for each way to interrupt (12)
"""
import fcntl
import os
import select
import socket
import struct
import termios
import threading
import time

import psycopg

from harness import Check, options, rows, run_check, state_of
from harness.protocol import SYNC, Raw, bind, message, parse, state

SCHEMA = (
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE notes (id INT PRIMARY KEY, owner INT NOT NULL OWNED_BY people(id), body TEXT)",
    "CREATE TABLE marks (id INT PRIMARY KEY, n INT)",
)
NOTES = 60


class Forget(Check):
    def __init__(self, options):
        super().__init__(options)
        self.people = 0

    def run(self):
        self.set_up(SCHEMA)
        for case in CASES:
            self.tally.case(case, self)
        self.tally.equal(self.unexpected, {}, "beside")

    def person(self, connection, notes=NOTES):
        """A new person with notes; every value of theirs has a canary in it."""
        self.people += 1
        person = self.people
        connection.execute("INSERT INTO people VALUES (%s, %s)", (person, canary(person)))
        if notes:
            connection.execute("INSERT INTO notes SELECT %s * 100000 + i, %s, %s || i FROM generate_series(1, %s) AS i", (person, person, canary(person), notes))
        return person

    def there(self, connection, person, notes=NOTES):
        """Whether all of a person is there or nothing, receipts compared."""
        found = (rows(connection, "SELECT count(*) FROM people WHERE id = %s", (person,))[0][0], rows(connection, "SELECT count(*) FROM notes WHERE owner = %s", (person,))[0][0],
                 state_of(connection.execute, f"GDPR GET people {person}"))
        self.tally.that(found in ((1, notes, ""), (0, 0, "DG003")), "all of a person or nothing", (person, found))
        return found[0] == 1

    def agrees(self, connection, person, answer, name):
        """The answer to an erasure, against what is there."""
        there = self.there(connection, person)
        self.tally.that(answer in ("", "57014"), f"{name}: answers", answer)
        self.tally.equal(there, answer != "", f"{name}: answered {answer or 'success'}, so the person is there")

    def agrees_gone(self, connection, person):
        self.tally.equal(self.there(connection, person, 3), False, "the person is gone")

    def receipts(self, connection):
        return rows(connection, "SELECT count(*) FROM dogwood.receipts")[0][0]


def canary(person):
    return f"canary-{person}-"


def together(*functions):
    """All at once; what each gave, or the exception."""
    results = [None] * len(functions)

    def run(place, function):
        try:
            results[place] = function()
        except Exception as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=each, daemon=True) for each in enumerate(functions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


# The answer and the deed.

FORMS = {
    "simple": lambda connection, person: connection.execute(f"GDPR FORGET people {person}"),
    "extended": lambda connection, person: connection.execute("GDPR FORGET people %s", (person,), prepare=True),
    "analyzed": lambda connection, person: connection.execute(f"EXPLAIN ANALYZE GDPR FORGET people {person}"),
    "deleted": lambda connection, person: (connection.execute("BEGIN"), connection.execute("DELETE FROM notes WHERE owner = %s", (person,)),
                                           connection.execute("DELETE FROM people WHERE id = %s RETURNING name", (person,)), connection.execute("COMMIT")),
}


def too_late(check):
    """Cancelled while its answer waits for an older snapshot: too late, and the answer says so."""
    with check.server.connect() as one, check.server.connect() as idle:
        one.execute("SET dogwood.forget_wait = '1500ms'")
        for name, form in FORMS.items():
            person = check.person(one)
            idle.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            rows(idle, "SELECT count(*) FROM notes")
            before = check.receipts(one)
            watcher = check.server.connect()

            def cancel():
                until = time.monotonic() + 20
                while check.receipts(watcher) == before and time.monotonic() < until:
                    time.sleep(0.005)
                one.cancel()
                time.sleep(0.05)
                state_of(idle.execute, "ROLLBACK")

            answer, _ = together(lambda: state_of(form, one, person), cancel)
            check.agrees(one, person, answer, f"cancelled too late, {name}")
            check.tally.equal(check.receipts(one), before + 1, f"one receipt, {name}")
            watcher.close()
            if idle.closed:
                idle = check.server.connect()
        idle.close()


def in_time(check):
    """Cancelled or out of time while it waits for a row: nothing has happened."""
    with check.server.connect() as one, check.server.connect() as holder:
        one.execute("SET dogwood.forget_wait = '30s'")
        person = check.person(one)
        holder.execute("BEGIN")
        holder.execute("SELECT 1 FROM notes WHERE owner = %s FOR UPDATE", (person,))
        before = check.receipts(one)
        for name, form in FORMS.items():
            answer, _ = together(lambda: state_of(form, one, person), lambda: (time.sleep(0.15), one.cancel()))
            one.execute("ROLLBACK")
            check.agrees(one, person, answer, f"cancelled in time, {name}")
            check.tally.equal(answer, "57014", f"cancelled in time, {name}")
            one.execute("SET statement_timeout = '80ms'")
            answer = state_of(form, one, person)
            one.execute("ROLLBACK")
            one.execute("RESET statement_timeout")
            check.agrees(one, person, answer, f"out of time, {name}")
            check.tally.equal(answer, "57014", f"out of time, {name}")
        check.tally.equal(check.receipts(one), before, "no receipt")
        holder.execute("COMMIT")
        check.tally.equal(state_of(one.execute, f"GDPR FORGET people {person}"), "", "then it is done")


def any_instant(check):
    """Cancelled and out of time at any instant."""
    dice = check.dice
    with check.server.connect() as one:
        began = time.monotonic()
        one.execute(f"GDPR FORGET people {check.person(one)}")
        usual = (time.monotonic() - began) / 2
        answers = []
        for number in range(check.options.rounds):
            name, form = dice.choice(sorted(FORMS.items()))
            person, after = check.person(one), dice.random() * usual
            answer, _ = together(lambda: state_of(form, one, person), lambda: (time.sleep(after), one.cancel()))
            one.execute("ROLLBACK")
            check.agrees(one, person, answer, f"cancelled, {name}")
            answers.append(answer)
            person = check.person(one)
            one.execute(f"SET statement_timeout = {dice.randint(1, 2 + int(usual * 1000))}")
            answer = state_of(form, one, person)
            one.execute("ROLLBACK")
            one.execute("RESET statement_timeout")
            check.agrees(one, person, answer, f"out of time, {name}")


def vanished(check):
    """The client goes at any instant: all or nothing."""
    with check.server.connect() as one:
        for _ in range(check.options.rounds):
            person = check.person(one)
            gone = check.server.connect()
            gone.pgconn.send_query(f"GDPR FORGET people {person}".encode())
            time.sleep(check.dice.random() * 0.01)
            with socket.socket(fileno=os.dup(gone.pgconn.socket)) as wire:
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            gone.close()
            # Whichever it is, it stays: the next erasure waits for it, and finds what is left.
            check.tally.that(state_of(one.execute, f"GDPR FORGET people {person}") in ("", "DG003"), "the next request", person)
            check.there(one, person)


def stopped(check):
    """The server is stopped or killed at any instant: what was answered stands, and all or nothing is there."""
    for how in ("stop", "kill") * 2:
        with check.server.connect() as one:
            people = [check.person(one, 20) for _ in range(12)]
        answers = {}

        def forget():
            with check.server.connect() as connection:
                for person in people:
                    answers[person] = state_of(connection.execute, f"GDPR FORGET people {person}")
                    if connection.closed:
                        return

        thread = threading.Thread(target=forget, daemon=True)
        thread.start()
        time.sleep(0.01 + check.dice.random() * 0.05)
        check.server.stop() if how == "stop" else check.server.kill()
        thread.join(20)
        check.server.start()
        with check.server.connect() as one:
            for person in people:
                there = check.there(one, person, 20)
                answer = answers.get(person, "none")
                if answer in ("", "57014", "none"):
                    check.tally.equal(there, answer != "", f"{how}: answered {answer or 'success'}, so the person is there")


# What subscribers are told, and when.

ALL = "SELECT p.name, n.body FROM people p JOIN notes n ON n.owner = p.id"


class Told:
    """A cursor over a subscription, fetched when the check says so."""

    def __init__(self, check, query="SELECT id, name FROM people", options=""):
        self.connection = check.server.connect()
        self.connection.execute("BEGIN")
        self.connection.execute(f"DECLARE c CURSOR FOR SUBSCRIBE ({query}){options}")
        self.contents = {}

    def fetch(self, count="ALL"):
        """What is there; the state that it ends with, if it does."""
        try:
            told = self.connection.execute(f"FETCH {count} c WITH (timeout = '50ms')").fetchall()
        except psycopg.Error as error:
            return error.sqlstate or "lost"
        for _, difference, *row in told:
            if difference is not None:
                row = tuple(row)
                self.contents[row] = self.contents.get(row, 0) + difference
                if not self.contents[row]:
                    del self.contents[row]
        return told

    def close(self):
        self.connection.close()


def unread(check):
    """What waits for a cursor is told without the person; whoever had been told of the person's rows is cut, at its next FETCH."""
    tally = check.tally
    with check.server.connect() as one:
        one.execute("SET dogwood.forget_wait = '200ms'")
        stays = check.person(one, 3)
        told_of = check.person(one, 3)
        queries = ("SELECT id, name FROM people", ALL, "SELECT owner, count(*), max(body) FROM notes GROUP BY owner",
                   f"SELECT id, body FROM notes WHERE owner IN ({stays}, {stays + 1}, {stays + 2}, {stays + 3})")
        for query in queries:
            # Nothing was taken yet: the opening, too, is without the person.
            began, told = Told(check, query), Told(check, query)
            told.fetch()
            marks = Told(check, "SELECT id, n FROM marks")
            marks.fetch()
            comes_and_goes = check.person(one, 3)
            one.execute("UPDATE notes SET body = body || 'x' WHERE owner = %s", (comes_and_goes,))
            one.execute("INSERT INTO marks VALUES (%s, 0)", (comes_and_goes,))
            one.execute("UPDATE marks SET n = 1 WHERE id = %s", (comes_and_goes,))
            tally.equal(state_of(one.execute, f"GDPR FORGET people {comes_and_goes}"), "", "it is answered")
            later = check.person(one, 3)
            for cursor, name in ((began, "not begun to be read"), (told, "read before the person came")):
                got = cursor.fetch()
                tally.that(isinstance(got, list), f"goes on, {name}: {query}", got)
                tally.that(canary(comes_and_goes) not in str(got), f"nothing of the forgotten, {name}: {query}", got)
                expected = {tuple(row): 1 for row in rows(one, query)}
                tally.equal(cursor.contents, expected, f"what is left, {name}: {query}")
            got = marks.fetch()
            tally.equal([difference for _, difference, *_ in got], [1, -1, 1], "of impersonal tables every change is told")
            marks.close()
            one.execute(f"GDPR FORGET people {later}")
            for cursor in (began, told):
                if canary(later) in str(cursor.contents):
                    tally.equal(cursor.fetch(), "53400", f"cut, as it was told of the person: {query}")
                else:
                    tally.that(isinstance(cursor.fetch(), list), f"goes on, as it was not told of the person: {query}")
                cursor.close()
        cursor = Told(check)
        cursor.fetch()
        before = {row: 1 for row in cursor.contents}
        tally.equal(state_of(one.execute, f"GDPR FORGET people {told_of}"), "", "it is answered")
        tally.equal(cursor.fetch(), "53400", "cut")
        cursor.close()
        tally.that(any(canary(told_of) in str(row) for row in before), "it had been told", before)


def partly_read(check):
    """Of the first rows, those that were told and those that were not; by plain DELETE, too."""
    tally = check.tally
    with check.server.connect() as one:
        one.execute("SET dogwood.forget_wait = '200ms'")
        for statement in ("GDPR FORGET people {}", "DELETE FROM people WHERE id = {}"):
            people = [check.person(one, 0) for _ in range(12)]
            cursor = Told(check, f"SELECT id, name FROM people WHERE id IN ({', '.join(map(str, people))})")
            cursor.fetch(5)
            told = [row[0] for row in cursor.contents]
            untold = [person for person in people if person not in told]
            tally.equal(len(told), 5, "five are told")
            one.execute(statement.format(untold[0]))
            got = cursor.fetch(3)
            tally.that(isinstance(got, list) and len(got) == 3, "goes on", got)
            one.execute(statement.format(next(person for person in untold[1:] if (person, canary(person)) not in cursor.contents)))
            got = cursor.fetch()
            tally.that(isinstance(got, list) and got[-1][1] is None, "the marker comes last", got)
            tally.equal(cursor.contents, {(person, canary(person)): 1 for person in people if rows(one, "SELECT 1 FROM people WHERE id = %s", (person,))}, "what is left")
            one.execute(statement.format(told[0]))
            tally.equal(cursor.fetch(), "53400", f"cut: {statement}")
            cursor.close()


def waiting_bytes(connection):
    """What waits in a socket of this process."""
    waits = bytearray(4)
    fcntl.ioctl(connection.fileno(), termios.FIONREAD, waits)
    return int.from_bytes(waits, "little")


def copied_at_once(check):
    """Those who follow by COPY have what the erasure took before it is answered, and nothing afterwards."""
    tally, subscribers = check.tally, []
    with check.server.connect() as one:
        one.execute("SET dogwood.forget_wait = '20s'")
        for query in ("SELECT id, name FROM people", ALL) * 10:
            raw = Raw(check.server)
            raw.send(message(b"Q", f"COPY (SUBSCRIBE ({query})) TO STDOUT\0".encode()))
            until_told(raw, b"\t\\N")
            subscribers.append(raw)
        for _ in range(6):
            person = check.person(one, 3)
            one.execute("UPDATE notes SET body = body || 'y' WHERE owner = %s", (person,))
            one.execute(f"GDPR FORGET people {person}")
            for raw in subscribers:
                raw.socket.setblocking(False)
                # What was sent may take a moment from one side of the machine to the other.
                took = drained(raw.socket)
                while took.count(canary(person).encode()) % 2 and select.select([raw.socket], [], [], 0.02)[0]:
                    took += drained(raw.socket)
                tally.that(took.count(canary(person).encode()) % 2 == 0, "all is told by the answer", took[-200:])
        check.person(one, 1)
        for raw in subscribers:
            raw.close()


def until_told(raw, what):
    said = b""
    while what not in said:
        part = raw.socket.recv(1 << 16)
        if not part:
            return
        said += part


def drained(wire):
    said = b""
    while True:
        try:
            part = wire.recv(1 << 20)
        except BlockingIOError:
            return said
        except ConnectionError:
            return said
        if not part:
            return said
        said += part


def deaf(check):
    """A COPY that is not read is broken off: nothing comes after the answer but what had arrived before."""
    tally = check.tally
    with check.server.connect() as one:
        one.execute("SET dogwood.forget_wait = '300ms'")
        raw = Raw(check.server)
        person = check.person(one, 0)
        raw.send(message(b"Q", b"COPY (SUBSCRIBE (SELECT id, owner, body FROM notes)) TO STDOUT\0"))
        until_told(raw, b"\t\\N")
        for number in range(24):
            one.execute("INSERT INTO notes VALUES (%s, %s, %s || repeat('z', 1000000))", (person * 100000 + number, person, canary(person)))
        time.sleep(0.3)
        tally.equal(state_of(one.execute, f"GDPR FORGET people {person}"), "", "it is answered")
        arrived = waiting_bytes(raw.socket)
        check.person(one, 1)
        time.sleep(0.3)
        tally.equal(waiting_bytes(raw.socket), arrived, "nothing arrives after the answer")
        raw.socket.settimeout(20)
        said = 0
        try:
            while part := raw.socket.recv(1 << 20):
                said += len(part)
        except OSError:
            pass
        tally.that(said <= arrived, "and nothing later", (said, arrived))
        raw.close()


def portals(check):
    """Rows that a cursor gave to a portal which is not read to its end: the connection goes, or they were sent."""
    tally = check.tally
    with check.server.connect() as one:
        one.execute("SET dogwood.forget_wait = '200ms'")
        for declare in ("DECLARE c CURSOR FOR SELECT name FROM people ORDER BY id DESC", "DECLARE c CURSOR WITH HOLD FOR SELECT name FROM people ORDER BY id DESC",
                        "DECLARE c CURSOR FOR SUBSCRIBE (SELECT name FROM people)"):
            people = [check.person(one, 0) for _ in range(4)]
            raw = Raw(check.server)
            raw.send(message(b"Q", b"BEGIN\0"))
            raw.until(b"Z")
            raw.send(message(b"Q", declare.encode() + b"\0"))
            raw.until(b"Z")
            raw.send(parse(b"FETCH ALL FROM c"), bind([]), message(b"E", b"\0" + struct.pack("!I", 1)) + message(b"H"))
            raw.until(b"s")
            for person in people[:-1]:
                tally.equal(state_of(one.execute, f"GDPR FORGET people {person}"), "", "it is answered")
            try:
                raw.send(message(b"E", b"\0" + struct.pack("!I", 0)), SYNC)
                got = raw.until(b"Z")
            except OSError:
                got = []
            tally.that(not any(canary(person).encode() in body for person in people[:-1] for _, body in got), f"nothing of the forgotten: {declare}", got)
            tally.that(all(state(body) in ("40001", "53400") for kind, body in got if kind == b"E"), f"what it is told: {declare}", got)
            raw.close()


# Beside definitions and open transactions.

DEFINITIONS = (
    "CREATE INDEX notes_body ON notes (body)",
    "DROP INDEX notes_body",
    "CREATE UNIQUE INDEX people_name ON people (name)",
    "DROP INDEX people_name",
    "ALTER TABLE notes ADD CONSTRAINT long CHECK (length(body) > 3)",
    "ALTER TABLE notes DROP CONSTRAINT long",
    "ALTER TABLE people ADD CONSTRAINT named UNIQUE (name)",
    "ALTER TABLE people DROP CONSTRAINT named",
    "ALTER TABLE notes ADD COLUMN extra INT DEFAULT 5",
    "ALTER TABLE notes ALTER COLUMN extra TYPE TEXT",
    "ALTER TABLE notes DROP COLUMN extra",
    "ALTER TABLE letters ADD CONSTRAINT sender_there FOREIGN KEY (sender) REFERENCES people (id) ON DELETE SET NULL",
    "ALTER TABLE letters DROP CONSTRAINT sender_there",
    "ALTER TABLE letters ALTER COLUMN sender SET OWNED_BY people(id)",
    "ALTER TABLE letters ALTER COLUMN sender DROP OWNED_BY",
    "SECURITY LABEL FOR dogwood ON COLUMN letters.sender IS 'OWNED_BY people(id)'",
    "SECURITY LABEL FOR dogwood ON COLUMN letters.sender IS NULL",
    "CREATE MATERIALIZED VIEW counted AS SELECT owner, count(*) AS n FROM notes GROUP BY owner",
    "REFRESH MATERIALIZED VIEW counted",
    "DROP MATERIALIZED VIEW counted",
    "CREATE TABLE copied AS SELECT id FROM notes",
    "TRUNCATE copied",
    "DROP TABLE copied",
    "COMMENT ON TABLE notes IS 'noted'",
    "VACUUM",
    "ANALYZE notes",
    "REINDEX TABLE notes",
)


def copied_out(connection, statement):
    with connection.cursor().copy(statement) as copy:
        return list(copy.rows())


def copied_in(connection, first, person):
    with connection.cursor().copy("COPY notes (id, owner, body) FROM STDIN") as copy:
        for number in range(2500):
            copy.write_row((first + number, person, "copied"))


# What reads and writes for others beside erasures.
ORDINARY = {
    "SELECT": lambda connection, person: connection.execute("SELECT count(*), max(body) FROM notes"),
    "GET": lambda connection, person: connection.execute(f"GDPR GET people {person}"),
    "EXPORT": lambda connection, person: copied_out(connection, f"COPY (GDPR EXPORT people {person}) TO STDOUT"),
    "COPY TO": lambda connection, person: copied_out(connection, "COPY (SELECT owner, count(*) FROM notes GROUP BY owner) TO STDOUT"),
    "COPY FROM": lambda connection, person: copied_in(connection, 80000000, person),
    "INSERT SELECT": lambda connection, person: connection.execute(f"INSERT INTO notes (id, owner, body) SELECT 90000000 + i, {person}, 'n' FROM generate_series(1, 2500) AS i"),
    "UPDATE": lambda connection, person: connection.execute(f"UPDATE notes SET body = body || 'u' WHERE owner = {person}"),
    "DELETE": lambda connection, person: connection.execute(f"DELETE FROM notes WHERE owner = {person}"),
    "EXPLAIN FORGET": lambda connection, person: connection.execute(f"EXPLAIN GDPR FORGET people {person}"),
}


def definitions(check):
    """Definitions beside a stream of erasures, which go on too."""
    tally, stopping, done = check.tally, threading.Event(), [0, 0]
    with check.server.connect() as one:
        one.execute("CREATE TABLE letters (id INT PRIMARY KEY, sender INT, receiver INT NOT NULL OWNED_BY people(id), ON DEL receiver DELETE_ROW)")
        people = [[check.person(one, 0) for _ in range(250)] for _ in range(2)]
        first, last = people[0][0], people[1][-1]
        one.execute("INSERT INTO notes SELECT i + 50000000, %s + i %% %s, 'note ' || i FROM generate_series(1, 3000) AS i", (first, last - first + 1))
        stays = check.person(one, 20)
        one.execute("INSERT INTO letters SELECT i, %s, %s + (i * 7) %% %s FROM generate_series(1, 600) AS i", (stays, first, last - first + 1))

        def forget(number):
            with check.server.connect() as connection:
                connection.execute("SET statement_timeout = '120s'")
                for person in people[number]:
                    if stopping.is_set():
                        return
                    answer = state_of(connection.execute, f"GDPR FORGET people {person}")
                    done[number] += 1
                    tally.equal(answer, "", f"an erasure beside definitions, {person}")

        threads = [threading.Thread(target=forget, args=(number,), daemon=True) for number in range(2)]
        for thread in threads:
            thread.start()
        one.execute("SET statement_timeout = '120s'")
        for statement in DEFINITIONS:
            before = sum(done)
            tally.equal(state_of(one.execute, statement), "", f"beside erasures: {statement}")
            # None is starved by the other.
            until = time.monotonic() + 60
            while sum(done) == before and time.monotonic() < until and any(thread.is_alive() for thread in threads):
                time.sleep(0.002)
        for name, statement in ORDINARY.items():
            tally.equal(state_of(statement, one, stays), "", f"beside erasures: {name}")
        beside = sum(done)
        stopping.set()
        for thread in threads:
            thread.join(120)
        tally.that(beside >= len(DEFINITIONS), "erasures go on beside definitions", beside)
        one.execute("DROP TABLE letters")


def transactions(check):
    """An open transaction that has locked what is erased is ended after a moment; whoever does not stand in the way goes on."""
    tally = check.tally
    with check.server.connect() as one, check.server.connect() as fresh:
        one.execute("SET dogwood.forget_wait = '150ms'")
        tally.equal(rows(one, "SHOW dogwood.forget_wait"), [("150ms",)], "the setting")
        fresh.execute("BEGIN")
        fresh.execute("UPDATE marks SET n = n + 1")
        holds = {
            "a note": lambda open, person: open("UPDATE notes SET body = 'held' WHERE owner = %s", (person,)),
            "the person": lambda open, person: open("UPDATE people SET name = 'held' WHERE id = %s", (person,)),
            "a new note": lambda open, person: open("INSERT INTO notes VALUES (%s, %s, 'held')", (-person, person)),
            "FOR UPDATE": lambda open, person: open("SELECT * FROM notes WHERE owner = %s FOR UPDATE", (person,)),
            "FOR SHARE": lambda open, person: open("SELECT * FROM people WHERE id = %s FOR SHARE", (person,)),
            "a table": lambda open, person: open("LOCK TABLE people IN ACCESS EXCLUSIVE MODE"),
            "a savepoint": lambda open, person: (open("SAVEPOINT s"), open("DELETE FROM notes WHERE owner = %s", (person,))),
            "a definition": lambda open, person: open("CREATE INDEX held ON notes (body)"),
            "repeatable read": lambda open, person: (open("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"), open("UPDATE notes SET body = 'held' WHERE owner = %s", (person,))),
        }
        nexts = ("SELECT 1", "COMMIT", "INSERT INTO marks VALUES (-7, 1)", "SAVEPOINT t")
        for number, (name, hold) in enumerate(holds.items()):
            person = check.person(one, 3)
            with check.server.connect() as holder:
                holder.execute("BEGIN")
                hold(holder.execute, person)
                tally.equal(state_of(one.execute, f"GDPR FORGET people {person}"), "", f"an erasure does not wait for ever: {name}")
                check.agrees_gone(one, person)
                after = nexts[number % len(nexts)]
                try:
                    holder.execute(after)
                    tally.that(False, f"the transaction was ended: {name}, {after}")
                except psycopg.Error as error:
                    tally.that(error.sqlstate in ("40001", None) and (error.sqlstate is None or "data subject was forgotten" in f"{error.diag.message_hint} {error.diag.message_detail}"), f"why: {name}, {after}", f"{error.sqlstate} {error}")
                if not holder.closed:
                    state_of(holder.execute, "ROLLBACK")
                    tally.equal(rows(holder, "SELECT count(*) FROM notes WHERE body = 'held'"), [(0,)], f"nothing of it stands: {name}")
                    tally.equal(state_of(holder.execute, "SELECT 1"), "", f"its session goes on: {name}")
        tally.equal(state_of(fresh.execute, "COMMIT"), "", "who holds nothing of it goes on")
        # What stands before it in the same string is one transaction with it, whose rows it would not find.
        person = check.person(one, 1)
        behind = f"INSERT INTO notes VALUES (-77, {person}, 'not committed'); GDPR FORGET people {person}"
        tally.equal(state_of(one.execute, behind), "25001", "behind changes of its own transaction")
        tally.equal(rows(one, "SELECT count(*) FROM notes WHERE body = 'not committed'"), [(0,)], "nothing of the string stands")
        tally.equal(state_of(one.execute, f"SELECT 1; GDPR FORGET people {person}"), "", "behind a query")
        check.agrees_gone(one, person)
        # Many that wait for the same row one after the other, and do end.
        person = check.person(one, 3)
        with check.server.connect() as holder:
            holder.execute("BEGIN")
            holder.execute("UPDATE people SET name = 'held' WHERE id = %s", (person,))
            results = together(lambda: state_of(one.execute, f"GDPR FORGET people {person}"), *[lambda: later(check, person)] * 4)
            tally.that(results[0] == "" and set(results[1:]) <= {"", "40001"}, "an erasure in a queue", results)
            holder.rollback()
        check.agrees_gone(one, person)
        # EXPLAIN ends nobody's transaction.
        person = check.person(one, 3)
        with check.server.connect() as holder:
            holder.execute("BEGIN")
            holder.execute("UPDATE people SET name = 'held' WHERE id = %s", (person,))
            one.execute("SET statement_timeout = '600ms'")
            tally.equal(state_of(one.execute, f"EXPLAIN GDPR FORGET people {person}"), "57014", "EXPLAIN waits")
            one.execute("RESET statement_timeout")
            tally.equal(state_of(holder.execute, "COMMIT"), "", "and ends nobody")


def later(check, person):
    with check.server.connect() as connection:
        return state_of(connection.execute, "UPDATE people SET name = 'later' WHERE id = %s", (person,))


CASES = (too_late, in_time, any_instant, vanished, stopped, unread, partly_read, copied_at_once, deaf, portals, definitions, transactions)


if __name__ == "__main__":
    run_check(Forget(options(seed=20261123, rounds=12)))
