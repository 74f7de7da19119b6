"""What was erased is gone from every byte: index entries and row keys that could be guessed, logs, tables that were annotated late.

Beside the files the attacker has root key and keyring, with all keys that live. Before the bound the attack works; after it nothing is
found. A server that is killed meanwhile goes on, and readers of what was before do not keep it.

    erased_bytes.py [--seed S] [--people N] [--kills K]      N people with guessable diagnoses (400), K kills during a pass (6)
"""
import os
import shutil
import tempfile
import time

from harness import Check, options, rows, run_check, state_of
from support.guesser import Guesser, find

# What the documents promise for a small database.
BOUND_S = 60

SCHEMA = (
    "CREATE DATA_SUBJECT TABLE people (id TEXT PRIMARY KEY, name TEXT)",
    "CREATE TABLE visits (id INT PRIMARY KEY, person TEXT NOT NULL OWNED_BY people(id), diagnosis TEXT)",
    "CREATE INDEX visits_diagnosis ON visits (diagnosis)",
)


class ErasedBytes(Check):
    def run(self):
        self.set_up(SCHEMA)
        for case in (guessing, killed, late_annotation, other_ways, readers, stopped):
            self.tally.case(case, self)

    def fill(self, connection, name, count):
        """People of this name by numbers, each with a visit for a diagnosis of their own."""
        base = self.dice.randrange(1 << 20) << 10
        with connection.transaction():
            for number in range(count):
                connection.execute("INSERT INTO people VALUES (%s, 'somebody')", (person(name, number),))
                connection.execute("INSERT INTO visits VALUES (%s, %s, %s)", (base + number, person(name, number), diagnosis(name, number)))
        return base

    def forget(self, connection, name, count, first=0, seconds=None):
        """Forgets those of these numbers, or as many of them as are forgotten in so many seconds. The number of the next."""
        began = time.monotonic()
        for number in range(first, count):
            if seconds and time.monotonic() - began > seconds:
                return number
            connection.execute(f"GDPR FORGET people '{person(name, number)}'")
        return count

    def guesses(self, connection, name, count, base):
        """What a guesser looks for: {what: hashes}."""
        guesser = Guesser(self.server.data)
        oid = lambda name: rows(connection, "SELECT %s::regclass::oid", (name,))[0][0]
        by_person = rows(connection, """SELECT i.indexrelid FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
            WHERE i.indrelid = 'visits'::regclass AND a.attname = 'person'""")
        people, visits, diagnoses = oid("people"), oid("visits"), oid("visits_diagnosis")
        guessed = {
            "diagnoses": [guesser.tag(diagnoses, diagnosis(name, number)) for number in range(count)],
            "people": [guesser.row_key(people, person(name, number)) for number in range(count)],
            "visits": [guesser.row_key(visits, base + number) for number in range(count)],
        }
        if by_person:
            guessed["visits of people"] = [guesser.tag(by_person[0][0], person(name, number)) for number in range(count)]
        return guessed

    def found(self, guessed):
        """How many of the guesses stand in a copy of the folder."""
        with tempfile.TemporaryDirectory(prefix="dogwood-copied-") as copied:
            copy(self.server.data, copied)
            found = find(copied, [guess for guesses in guessed.values() for guess in guesses])
        return {what: sum(guess in found for guess in guesses) for what, guesses in guessed.items()}

    def gone(self, name):
        """Waits until no erasure is pending: within the bound."""
        until, pending = time.monotonic() + BOUND_S, None
        with self.server.connect() as connection:
            while time.monotonic() < until:
                pending = rows(connection, "SELECT number, pending, lag_us FROM dogwood.erasures WHERE pending IS NOT NULL")
                if not pending:
                    return True
                time.sleep(0.2)
        return self.tally.that(False, f"{name}: gone within {BOUND_S} s", pending)


def person(name, number):
    return f"{name}-{number}@example.org"


def diagnosis(name, number):
    return f"{name}: diagnosis {number}"


def copy(folder, target):
    """As somebody would who has access to the disk: some of the files go meanwhile."""
    for path, _, names in os.walk(folder):
        below = os.path.join(target, os.path.relpath(path, folder))
        os.makedirs(below, exist_ok=True)
        for name in names:
            try:
                shutil.copyfile(os.path.join(path, name), os.path.join(below, name))
            except FileNotFoundError:
                pass


def nothing_of(guessed):
    return {what: 0 for what in guessed}


def all_of(guessed):
    return {what: len(guesses) for what, guesses in guessed.items()}


def guessing(check):
    """400 of 400, then 0; of who stays all."""
    count = check.options.people
    with check.server.connect() as connection:
        base, stays = check.fill(connection, "patient", count), check.fill(connection, "other", 20)
        guessed, of_others = check.guesses(connection, "patient", count, base), check.guesses(connection, "other", 20, stays)
        # Fewer than a pass waits for.
        forgotten = check.forget(connection, "patient", count, seconds=5)
        of_forgotten = {what: guesses[:forgotten] for what, guesses in guessed.items()}
        check.tally.equal(check.found(of_forgotten), all_of(of_forgotten), f"the attack works at first, on {forgotten}")
        check.forget(connection, "patient", count, forgotten)
        check.gone("guessing")
        check.tally.equal(check.found(guessed), nothing_of(guessed), "nobody is guessed after it")
        check.tally.equal(check.found(of_others), all_of(of_others), "who stays is there")
        moments = rows(connection, """SELECT count(*), count(receipt_id), bool_and(keys_at <= indexes_at AND readers_at <= log_at AND log_at <= indexes_at AND indexes_at <= rows_at),
            bool_and(arrangements_at IS NOT NULL), bool_and(erased_at <= keys_at), bool_and(bytes > 0) FROM dogwood.erasures""")
        check.tally.equal(moments, [(count, count, True, True, True, True)], "each receipt has its moments, in their order")
        check.tally.equal(rows(connection, "SELECT count(*) FROM dogwood.erasures e JOIN dogwood.receipts r ON r.receipt_id = e.receipt_id AND r.number = e.receipt_number")[0][0],
                          count, "each is a receipt's")
        last = rows(connection, "SELECT number FROM dogwood.erasures ORDER BY number DESC LIMIT 1")
        check.tally.equal(last, [(count,)], "the last by its number")
        worst = rows(connection, "SELECT max(lag_us) / 1e6, max(bytes) FROM dogwood.erasures")[0]
        print(f"guessing: gone after {worst[0]:.1f} s at most, {worst[1]} bytes rewritten", flush=True)
        check.tally.equal(state_of(connection.execute, f"GDPR FORGET people '{person('patient', 1)}'"), "DG003", "a second FORGET")


def killed(check):
    """Killed at seeded instants before and during a pass: the next start goes on."""
    for round in range(check.options.kills):
        name = f"round{round}"
        with check.server.connect() as connection:
            base = check.fill(connection, name, 30)
            guessed = check.guesses(connection, name, 30, base)
            check.forget(connection, name, 30)
        check.tally.equal(check.found(guessed), all_of(guessed), f"killed {round}: there at first")
        # The window is 10 s, and the pass of so few takes some tens of milliseconds.
        time.sleep([0, 10 + check.dice.random() * 0.6][round % 2])
        check.server.kill()
        check.server.start()
        check.gone(f"killed {round}")
        check.tally.equal(check.found(guessed), nothing_of(guessed), f"killed {round}: nothing is found in the end")
    with check.server.connect() as connection:
        numbers = rows(connection, "SELECT count(*), max(number), count(DISTINCT receipt_number), count(rows_at) FROM dogwood.erasures")[0]
        check.tally.equal(len(set(numbers)), 1, f"erasures are numbered without gaps, and all are clean: {numbers}")


def late_annotation(check):
    """A table that was nobody's at first: keys and index entries in clear, until it is annotated."""
    with check.server.connect() as connection:
        words = [f"canary-{number:03}-{check.dice.randrange(1 << 40):x}" for number in range(200)]
        connection.execute("CREATE TABLE guests (id TEXT PRIMARY KEY, room TEXT)")
        connection.execute("CREATE INDEX guests_room ON guests (room)")
        for word in words:
            connection.execute("INSERT INTO guests VALUES (%s, %s)", (word, "room of " + word))
        connection.execute("CHECKPOINT")
        found = find(check.server.data, [word.encode() for word in words])
        check.tally.equal(len(found), len(words), "what is nobody's has its keys in clear")
        connection.execute("ALTER TABLE guests SET DATA_SUBJECT")
        check.gone("annotated late")
        found = find(check.server.data, [word.encode() for word in words])
        check.tally.equal(found, {}, "after it is annotated nothing stands in clear")
        check.tally.equal(rows(connection, "SELECT count(*), max(room) FROM guests WHERE id = %s", (words[7],)), [(1, "room of " + words[7])], "the rows are there")
        erasure = rows(connection, "SELECT receipt_id, keys_at, pending, rows_at IS NOT NULL FROM dogwood.erasures ORDER BY number DESC LIMIT 1")
        check.tally.equal(erasure, [(None, None, None, True)], "it has no receipt, and is listed")


def other_ways(check):
    """DELETE of a person, TRUNCATE, DROP, another type."""
    with check.server.connect() as connection:
        words = {}
        for way, end in {"truncated": "TRUNCATE truncated", "dropped": "DROP TABLE dropped", "retyped": "ALTER TABLE retyped ALTER COLUMN word TYPE INT USING 1"}.items():
            words[way] = [f"{way}-{check.dice.randrange(1 << 60):x}" for _ in range(50)]
            connection.execute(f"CREATE TABLE {way} (id INT PRIMARY KEY, word TEXT)")
            connection.execute(f"CREATE INDEX ON {way} (word)")
            for number, word in enumerate(words[way]):
                connection.execute(f"INSERT INTO {way} VALUES (%s, %s)", (number, word))
            connection.execute(end)
        base = check.fill(connection, "deleted", 20)
        guessed = check.guesses(connection, "deleted", 20, base)
        connection.execute("DELETE FROM visits WHERE person LIKE 'deleted-%'")
        connection.execute("DELETE FROM people WHERE id LIKE 'deleted-%'")
        check.tally.equal(check.found(guessed)["people"], 20, "DELETE: there at first")
        all_words = [word.encode() for some in words.values() for word in some]
        # One or another may stand across two blocks of the log.
        there = len(find(check.server.data, all_words))
        check.tally.that(there >= len(all_words) - 2, f"definitions: there at first: {there}")
        check.gone("other ways")
        check.tally.equal(check.found(guessed), nothing_of(guessed), "DELETE: nothing is found after it")
        check.tally.equal(find(check.server.data, all_words), {}, "definitions: nothing is found after it")


def readers(check):
    """Cursors, transactions and views over what was before keep nothing."""
    with check.server.connect() as connection, check.server.connect(autocommit=False) as idle, check.server.connect(autocommit=False) as cursor:
        connection.execute("CREATE MATERIALIZED VIEW by_diagnosis AS SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis")
        base = check.fill(connection, "read", 20)
        guessed = check.guesses(connection, "read", 20, base)
        connection.execute("CREATE TABLE plain (id TEXT PRIMARY KEY)")
        connection.execute("INSERT INTO plain SELECT 'plain-canary-' || i FROM generate_series(1, 1000) AS i")
        for session in (connection, idle, cursor):
            session.execute("SET idle_in_transaction_session_timeout = 0")
            session.commit()
        check.forget(connection, "read", 20)
        # Begun after the erasure, over the same files.
        idle.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        rows(idle, "SELECT count(*) FROM visits")
        cursor.execute("DECLARE c CURSOR FOR SELECT * FROM plain")
        rows(cursor, "FETCH 3 FROM c")
        check.gone("readers")
        check.tally.equal(check.found(guessed), nothing_of(guessed), "readers: nothing is found after it")
        for session in (idle, cursor):
            state = state_of(session.execute, "SELECT 1")
            check.tally.that(state in ("", "40001", "25P02", "lost"), "a reader goes on or is ended by name", state)
    with check.server.connect() as connection:
        check.tally.equal(rows(connection, "SELECT count(*) FROM by_diagnosis WHERE diagnosis LIKE 'read%'"), [(0,)], "the view is right")


def stopped(check):
    """A clean stop leaves nothing behind, without the window."""
    with check.server.connect() as connection:
        base = check.fill(connection, "last", 50)
        guessed = check.guesses(connection, "last", 50, base)
        check.forget(connection, "last", 50)
    check.tally.equal(check.server.stop(), 0, "SIGTERM")
    check.tally.equal(check.found(guessed), nothing_of(guessed), "nothing is found after a clean stop")
    check.server.start()
    with check.server.connect() as connection:
        check.tally.equal(rows(connection, "SELECT count(*) FROM dogwood.erasures WHERE pending IS NOT NULL"), [(0,)], "nothing is pending")


if __name__ == "__main__":
    run_check(ErasedBytes(options(20261127, people=400, kills=6)))
