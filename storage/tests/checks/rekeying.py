"""GDPR REKEY: another data key for one person, while the server serves. Nothing that was written is lost, the old key is gone, and
wherever it is cut off both are there or nothing is sealed under the old one.

    rekeying.py [--seed S] [--rows N] [--kills K]      N rows of the person (3000), K kills (10)
"""
import os
import shutil
import threading
import time

import psycopg

from harness import Check, options, rows, run, run_check, state_of

SCHEMA = (
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE notes (id INT PRIMARY KEY, person INT OWNED_BY people(id), with_whom INT OWNED_BY people(id), text TEXT, times INT)",
    "CREATE INDEX ON notes (text)",
    "CREATE MATERIALIZED VIEW of_people AS SELECT person, count(*) AS notes, sum(times) AS times FROM notes GROUP BY person",
    "INSERT INTO people SELECT i, 'name of ' || i FROM generate_series(1, 20) AS i",
)
PAGE, SLOT = 4096, 64


class Rekeying(Check):
    def run(self):
        self.set_up(SCHEMA)
        with self.server.connect() as one:
            one.execute("INSERT INTO notes SELECT i, 1, CASE WHEN i %% 3 = 0 THEN 2 END, 'note ' || i, 0 FROM generate_series(1, %s) AS i", (self.options.rows,))
            one.execute("INSERT INTO notes SELECT 1000000 + i, 2 + i % 10, NULL, 'other ' || i, 0 FROM generate_series(1, 200) AS i")
        self.times = 0
        for case in (refused, replaced, written_meanwhile, read_from_before, forgotten_meanwhile, cancelled, killed, backed_up):
            self.tally.case(case, self)

    def keyring(self):
        with open(os.path.join(self.server.data, "keyring"), "rb") as file:
            return file.read()

    def whole(self, name):
        """All that was written is there, by each way to it."""
        with self.server.connect() as one:
            number, shared = self.options.rows, self.options.rows // 3
            self.tally.equal(rows(one, "SELECT count(*), count(text), sum(times) FROM notes WHERE person = 1"), [(number, number, self.times)], f"{name}: rows")
            self.tally.equal(rows(one, "SELECT notes, times FROM of_people WHERE person = 1"), [(number, self.times)], f"{name}: a view")
            self.tally.equal(rows(one, "SELECT id, person FROM notes WHERE text = 'note 7'"), [(7, 1)], f"{name}: an index")
            self.tally.equal(len(rows(one, "GDPR GET people 1")), number + 1, f"{name}: GET")
            self.tally.equal(len(rows(one, "GDPR GET people 2")), shared + 21, f"{name}: GET of a joint owner")

    def changed_slots(self, before, after):
        """The slots of which both copies are others."""
        changed = set()
        for at in range(2 * PAGE, len(before), 2 * PAGE):
            for slot in range(0, PAGE, SLOT):
                copies = [before[at + copy + slot:][:SLOT] != after[at + copy + slot:][:SLOT] for copy in (0, PAGE)]
                self.tally.that(copies[0] == copies[1], "both copies of a slot are changed, or none")
                if all(copies):
                    changed.add(at + slot)
        return changed


def refused(check):
    """By whoever may not, of nobody, and where it cannot be."""
    with check.server.connect() as one:
        one.execute("CREATE ROLE clerk LOGIN")
        one.execute("GRANT SELECT ON people, notes TO clerk")
        one.execute("CREATE USER own FOR people 3")
        for user in ("clerk", "own"):
            with check.server.connect(user=user) as other:
                check.tally.equal(state_of(other.execute, "GDPR REKEY people 3"), "42501", f"by {user}")
        check.tally.equal(state_of(one.execute, "GDPR REKEY people 99"), "DG003", "of nobody")
        check.tally.equal(state_of(one.execute, "GDPR REKEY notes 1"), "42809", "of a table that is nobody's own")
        check.tally.equal(state_of(one.execute, "GDPR REKEY people"), "42601", "of no key")
        with one.transaction():
            check.tally.equal(state_of(one.execute, "GDPR REKEY people 3"), "25001", "in a transaction block")
        check.tally.equal(state_of(one.execute, "SET default_transaction_read_only = on; GDPR REKEY people 3"), "25006", "where nothing may be written")
        one.execute("SET default_transaction_read_only = off")
        one.execute("GRANT GDPR FORGET ON people TO clerk")
        with check.server.connect(user="clerk") as other:
            check.tally.equal(state_of(other.execute, "GDPR REKEY people 3"), "", "by whoever may forget the person")
        check.tally.that(rows(one, "SELECT count(*) FROM dogwood.audit WHERE operation = 'rekey' AND subject_count = 1 AND statement ILIKE 'gdpr rekey%'")[0][0] >= 1, "it stands in the audit log")


def replaced(check):
    """The person's slot is overwritten, and no other; a second time the same; after a start all is read."""
    for name in ("once", "twice"):
        before = check.keyring()
        with check.server.connect() as one:
            check.tally.equal(rows(one, "GDPR REKEY people 1"), [(check.options.rows + 1,)], f"{name}: rows sealed anew")
        check.tally.equal(len(check.changed_slots(before, check.keyring())), 1, f"{name}: the old key's slot is overwritten")
        check.whole(name)
    check.tally.equal(check.server.stop(), 0, "SIGTERM")
    check.tally.clean(check.server, "after it")
    check.server.start()
    check.whole("after a start")
    with check.server.connect() as one:
        until = time.monotonic() + 60
        while time.monotonic() < until and rows(one, "SELECT 1 FROM dogwood.erasures WHERE receipt_id IS NULL AND pending IS NOT NULL"):
            time.sleep(0.5)
        check.tally.equal(rows(one, "SELECT count(*) FROM dogwood.erasures WHERE pending IS NOT NULL"), [(0,)], "what stood under the old key has left the files")


def written_meanwhile(check):
    """Rows are updated one by one and all at once while keys are replaced: no update is lost, and none comes back."""
    ends, done = threading.Event(), [0, 0]

    def writes(number):
        with check.server.connect() as other:
            while not ends.is_set():
                statement = "UPDATE notes SET times = times + 1 WHERE person = 1" + ("" if number else f" AND id = {1 + done[0] % check.options.rows}")
                state = state_of(other.execute, statement)
                if state == "":
                    done[number] += check.options.rows if number else 1
                elif state not in ("40001", "40P01"):
                    check.unexpected.setdefault("writer", state)

    threads = [threading.Thread(target=writes, args=(number,)) for number in (0, 0, 1)]
    [thread.start() for thread in threads]
    with check.server.connect() as one:
        for _ in range(5):
            check.tally.equal(state_of(one.execute, "GDPR REKEY people 1"), "", "beside writers")
            time.sleep(0.1)
        ends.set()
        [thread.join() for thread in threads]
        check.tally.equal(check.unexpected, {}, "writers")
        check.times = rows(one, "SELECT sum(times) FROM notes WHERE person = 1")[0][0]
    # Two threads count in the first place: theirs is what they have done together, or less by what they counted at once.
    check.tally.that(check.times >= done[1] + done[0] - 1 and done[0] > 0 and done[1] > 0, "no update is lost", (check.times, done))
    check.whole("beside writers")


def read_from_before(check):
    """Whoever reads from before is waited for; who does not let go is ended."""
    for waits in (True, False):
        with check.server.connect(autocommit=False) as reader, check.server.connect() as one:
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT count(*) FROM people")
            began, ended = time.monotonic(), []

            def rekeys():
                ended.append((state_of(one.execute, "GDPR REKEY people 1"), time.monotonic() - began))

            thread = threading.Thread(target=rekeys)
            thread.start()
            time.sleep(1.5)
            check.tally.equal(ended, [], "a reader from before is waited for")
            check.tally.equal(rows(reader, "SELECT count(text) FROM notes WHERE person = 1"), [(check.options.rows,)], "and reads what was")
            if waits:
                reader.commit()
            thread.join(60)
            check.tally.that(ended and ended[0][0] == "", "the key is replaced", ended)
            if not waits:
                check.tally.that(ended and ended[0][1] >= 14, "after fifteen seconds", ended)
                try:
                    state = state_of(reader.execute, "SELECT count(text) FROM notes WHERE person = 1")
                except psycopg.OperationalError:
                    state = "closed"
                check.tally.that(state in ("40001", "57P01", "closed"), "who did not let go is ended", state)
    check.whole("beside readers")


def forgotten_meanwhile(check):
    """A person who is forgotten while the key is replaced is gone, with both keys."""
    for number in range(10, 16):
        before = check.keyring()
        with check.server.connect() as one, check.server.connect() as two:
            states = []
            threads = [threading.Thread(target=lambda who, what: states.append(state_of(who.execute, f"GDPR {what} people {number}")), args=pair)
                       for pair in ((one, "REKEY"), (two, "FORGET"))]
            dice = check.dice.random() * 0.01
            threads[0].start()
            time.sleep(dice)
            threads[1].start()
            [thread.join() for thread in threads]
            check.tally.that(set(states) <= {"", "DG003", "40001"}, "at once", states)
            check.tally.equal(state_of(one.execute, f"GDPR GET people {number}"), "DG003", "the person is gone")
        time.sleep(0.5)
        gone = len(check.changed_slots(before, check.keyring()))
        check.tally.that(gone in (1, 2), "and so is each key there was", gone)
    check.tally.equal(check.server.stop(), 0, "SIGTERM")
    check.tally.clean(check.server, "beside erasures")
    check.server.start()
    check.whole("beside erasures")


def cancelled(check):
    """A statement that is cancelled leaves nothing undone for good: the server goes on."""
    before = check.keyring()
    with check.server.connect() as one, check.server.connect(autocommit=False) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM people")
        one.execute("SET statement_timeout = 300")
        check.tally.equal(state_of(one.execute, "GDPR REKEY people 1"), "57014", "while a reader is waited for")
        check.tally.equal(len(check.changed_slots(before, check.keyring())), 0, "the old key is still there for the reader")
        reader.commit()
    until = time.monotonic() + 30
    while time.monotonic() < until and not check.changed_slots(before, check.keyring()):
        time.sleep(0.2)
    check.tally.equal(len(check.changed_slots(before, check.keyring())), 1, "the server has gone on")
    check.whole("cancelled")


def killed(check):
    """Killed anywhere, and beside writers: all that was answered is there, and the replacement goes on."""
    for number in range(check.options.kills):
        ends, answered = threading.Event(), [0]

        def writes():
            with check.server.connect() as other:
                while not ends.is_set():
                    if state_of(other.execute, f"UPDATE notes SET times = times + 1 WHERE id = {1 + number}") != "":
                        return
                    answered[0] += 1

        def rekeys():
            with check.server.connect() as other:
                state_of(other.execute, "GDPR REKEY people 1")

        with check.server.connect() as one:
            start = rows(one, "SELECT times FROM notes WHERE id = %s" % (1 + number))[0][0]
        threads = [threading.Thread(target=body) for body in (writes, rekeys)]

        def quiet(thread):
            try:
                thread.join()
            except Exception:
                pass

        hook, threading.excepthook = threading.excepthook, lambda _: None
        [thread.start() for thread in threads]
        time.sleep(0.02 + check.dice.random() * 0.4)
        check.server.kill()
        ends.set()
        [quiet(thread) for thread in threads]
        threading.excepthook = hook
        check.server.start()
        with check.server.connect() as one:
            found = rows(one, "SELECT times FROM notes WHERE id = %s" % (1 + number))[0][0]
            check.tally.that(start + answered[0] <= found <= start + answered[0] + 1, "no answered update is lost", (start, answered[0], found))
            check.times = rows(one, "SELECT sum(times) FROM notes WHERE person = 1")[0][0]
        check.whole(f"killed {number}")
        if number % 2:
            with check.server.connect() as one:
                check.tally.equal(state_of(one.execute, "GDPR REKEY people 1"), "", "again")
            check.whole(f"killed {number}, and again")
    check.tally.equal(check.server.stop(), 0, "SIGTERM")
    check.tally.clean(check.server, "killed")
    check.server.start()


def backed_up(check):
    """What is restored is whole, or refused by name: a state from before is opened by key backups from before alone."""
    root = check.server.root
    data, keys, old_keys, there = (os.path.join(root, name) for name in ("backups", "keys", "old-keys", "restored"))

    def back_up():
        status, said = run("backup", "--data", check.server.data, "--to", data, "--keys-to", keys)
        check.tally.equal(status, 0, f"backup: {said}")
        return next(line.split()[1] for line in said.splitlines() if line.startswith("commit"))

    def restore(keys, *more):
        shutil.rmtree(there, ignore_errors=True)
        key = os.path.join(check.server.data, "root.key")
        return run("restore", "--from", data, "--keys", keys, "--data", there, "--root-key-file", key, *more)

    first = back_up()
    shutil.copytree(keys, old_keys)
    with check.server.connect() as one:
        # A replacement alone is no commit: the state after it is that of the same number.
        one.execute("INSERT INTO people VALUES (500, 'later')")
        check.tally.equal(state_of(one.execute, "GDPR REKEY people 1"), "", "behind a backup")
    status, said = restore(keys)
    check.tally.equal(status, 0, f"the backup, by its own keys: {said}")
    back_up()
    status, said = restore(keys)
    check.tally.equal(status, 0, f"a backup from after: {said}")
    status, said = restore(keys, "--to", f"commit:{first}")
    check.tally.that(status != 0 and "replaced after that moment" in said and not os.path.exists(os.path.join(there, "keyring")),
                     "a state from before is refused by keys from after", said)
    status, said = restore(old_keys, "--to", f"commit:{first}")
    check.tally.equal(status, 0, f"and opened by keys from before: {said}")


if __name__ == "__main__":
    run_check(Rekeying(options(20261129, rows=3000, kills=10)))
