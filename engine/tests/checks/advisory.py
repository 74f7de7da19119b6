"""Advisory locks: counts, forms, scopes, waits of every kind, deadlocks with rows, the end of sessions, and what pg_locks shows.

Where PostgreSQL 15 is installed, the same statements are asked there and must be answered alike. Waits are looked at in pg_locks, never
by the clock.
"""
import os
import random
import socket
import threading
import time

import psycopg

from harness import Check, beside, rows, run_check, state_of
from harness.compared import left_out, postgres_if_there

LOCKS = """SELECT classid::bigint, objid::bigint, objsubid, mode, granted, waitstart IS NULL FROM pg_locks
    WHERE locktype = 'advisory' ORDER BY 1, 2, 3, 4, 5"""
WAITERS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
FORMS = ["(7)", "(-1)", "(9223372036854775807)", "(1, 2)", "(-1, -2)"]
# Two sessions in turn: (which, statement). Nothing waits.
SCRIPTS = {
    "counts": [
        (0, "SELECT pg_advisory_lock(1), pg_advisory_lock(1), pg_advisory_lock_shared(1)"), (1, "SELECT pg_try_advisory_lock(1)"),
        (0, "SELECT pg_advisory_unlock(1)"), (0, LOCKS), (0, "SELECT pg_advisory_unlock(1)"), (0, LOCKS),
        (1, "SELECT pg_try_advisory_lock(1)"), (1, "SELECT pg_try_advisory_lock_shared(1)"), (0, LOCKS),
        (0, "SELECT pg_advisory_unlock(1)"), (0, "SELECT pg_advisory_unlock_shared(1)"), (0, "SELECT pg_advisory_unlock_shared(1)"),
        (1, "SELECT pg_try_advisory_lock(1)"), (1, LOCKS), (1, "SELECT pg_advisory_unlock_all()"), (1, LOCKS),
    ],
    "forms are locks of their own": [
        (0, "SELECT pg_advisory_lock(4294967298)"), (1, "SELECT pg_try_advisory_lock(1, 2)"), (1, "SELECT pg_try_advisory_lock(4294967298)"),
        (0, LOCKS), (0, "SELECT pg_advisory_unlock(1, 2)"), (0, "SELECT pg_advisory_unlock_all()"), (1, "SELECT pg_advisory_unlock_all()"),
    ],
    "transactions": [
        (0, "BEGIN"), (0, "SELECT pg_advisory_xact_lock(5)"), (1, "SELECT pg_try_advisory_xact_lock(5)"), (0, "SELECT pg_advisory_unlock(5)"),
        (0, LOCKS), (0, "COMMIT"), (0, LOCKS), (1, "SELECT pg_try_advisory_xact_lock(5)"), (1, LOCKS),
        (0, "BEGIN"), (0, "SELECT pg_advisory_xact_lock_shared(5)"), (0, "SELECT pg_advisory_xact_lock(5)"), (0, LOCKS), (0, "ROLLBACK"),
        (1, "SELECT pg_try_advisory_xact_lock(5)"),
    ],
    "savepoints": [
        (0, "BEGIN"), (0, "SELECT pg_advisory_xact_lock(1)"), (0, "SAVEPOINT a"), (0, "SELECT pg_advisory_xact_lock(2)"),
        (0, "SELECT pg_advisory_lock(3)"), (0, "ROLLBACK TO a"), (0, LOCKS), (0, "SELECT pg_advisory_xact_lock(4)"), (0, "RELEASE a"),
        (0, LOCKS), (0, "ROLLBACK"), (0, LOCKS), (0, "SELECT pg_advisory_unlock(3)"),
    ],
    "a session and its transaction": [
        (0, "SELECT pg_advisory_lock(1)"), (0, "BEGIN"), (0, "SELECT pg_try_advisory_xact_lock(1)"), (0, "SELECT pg_advisory_unlock(1)"),
        (1, "SELECT pg_try_advisory_lock_shared(1)"), (0, "COMMIT"), (1, "SELECT pg_try_advisory_lock_shared(1)"),
        (1, "SELECT pg_advisory_unlock_shared(1)"),
    ],
    "what fails keeps": [
        (0, "BEGIN"), (0, "SELECT pg_advisory_lock(1)"), (0, "SELECT 1 / 0"), (0, "ROLLBACK"), (1, "SELECT pg_try_advisory_lock(1)"),
        (0, "SELECT pg_advisory_lock(2), 1 / 0"), (0, LOCKS), (0, "BEGIN"), (0, "DISCARD ALL"), (0, "ROLLBACK"), (0, "DISCARD ALL"), (0, LOCKS),
    ],
    "of rows": [
        (0, "SELECT pg_try_advisory_lock(g) FROM generate_series(1, 3) g"), (1, "SELECT g, pg_try_advisory_lock(g) FROM generate_series(2, 4) g"),
        (0, "SELECT pg_advisory_lock(NULL)"), (0, "SELECT pg_advisory_unlock(g) FROM generate_series(1, 4) g"),
        (1, "SELECT pg_advisory_unlock_all()"), (0, LOCKS),
        (0, "SELECT pg_advisory_lock('x')"), (0, "SELECT pg_advisory_lock(1.5)"), (0, "SELECT pg_advisory_lock(3000000000, 1)"),
        (0, "SELECT pg_advisory_lock()"),
    ],
}


def answer(connection, statement):
    """Rows, or the SQLSTATE; then what was noticed."""
    notices = []
    handler = lambda diagnostic: notices.append((diagnostic.sqlstate, diagnostic.message_primary))  # noqa: E731
    connection.add_notice_handler(handler)
    try:
        cursor = connection.execute(statement)
        return (cursor.fetchall() if cursor.description else cursor.statusmessage), notices
    except psycopg.Error as error:
        return error.sqlstate, notices
    finally:
        connection.remove_notice_handler(handler)


class Advisory(Check):
    def run(self):
        self.set_up(["CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 0), (2, 0)"])
        with postgres_if_there() as postgres:
            if postgres is None:
                left_out("the same statements to both")
            else:
                for name, script in SCRIPTS.items():
                    self.tally.case(self.compared, name, script, postgres.dsn)
                self.tally.case(self.forms, postgres.dsn)
        for case in (self.waits, self.deadlocks, self.ends, self.vanished, self.many, self.crowd, self.bounds):
            self.tally.case(case)
        self.tally.equal(self.unexpected, {}, "nothing unexpected in threads")

    def compared(self, name, script, dsn):
        pairs = [[self.server.connect(), self.server.connect()], [psycopg.connect(dsn, autocommit=True) for _ in range(2)]]
        for step, (which, statement) in enumerate(script):
            ours, theirs = (answer(pair[which], statement) for pair in pairs)
            self.tally.equal(ours, theirs, f"{name}, step {step}: {statement}")
        for pair in pairs:
            for connection in pair:
                connection.close()

    def forms(self, dsn):
        for connect in (self.server.connect, lambda: psycopg.connect(dsn, autocommit=True)):
            with connect() as connection:
                shown = []
                for form in FORMS:
                    connection.execute(f"SELECT pg_advisory_lock{form}, pg_advisory_lock_shared{form}")
                    shown.append(rows(connection, LOCKS))
                    connection.execute("SELECT pg_advisory_unlock_all()")
                if connect == self.server.connect:
                    ours = shown
        self.tally.equal(ours, shown, "what pg_locks shows of each form")

    def until_waiting(self, count):
        end = time.monotonic() + 20
        with self.server.connect() as connection:
            while rows(connection, WAITERS) != [(count,)]:
                self.tally.that(time.monotonic() < end, f"{count} wait")
                if time.monotonic() > end:
                    return
                time.sleep(0.005)

    def waits(self):
        """lock_timeout, statement_timeout, cancel; then the lock itself."""
        with self.server.connect() as one, self.server.connect() as two, self.server.connect() as three:
            one.execute("SELECT pg_advisory_lock(1)")
            two.execute("SET lock_timeout = '50ms'")
            for scope in ("", "xact_"):
                self.tally.equal(state_of(two.execute, f"SELECT pg_advisory_{scope}lock(1)"), "55P03", "lock_timeout")
            two.execute("SET lock_timeout = 0")
            two.execute("SET statement_timeout = '50ms'")
            self.tally.equal(state_of(two.execute, "SELECT pg_advisory_lock_shared(1)"), "57014", "statement_timeout")
            two.execute("SET statement_timeout = 0")
            outcome = beside(two.execute, "SELECT pg_advisory_lock(1)")
            self.until_waiting(1)
            two.cancel()
            self.tally.equal(outcome(), "57014", "cancel")
            self.tally.equal(rows(three, WAITERS), [(0,)], "nobody waits")
            outcome = beside(two.execute, "SELECT pg_advisory_lock(1)")
            self.until_waiting(1)
            pids = rows(three, f"SELECT pg_blocking_pids({two.info.backend_pid})")
            self.tally.equal(pids, [([one.info.backend_pid],)], "pg_blocking_pids")
            one.execute("SELECT pg_advisory_unlock(1)")
            self.tally.equal(outcome(), "", "once it is given back")
            two.execute("SELECT pg_advisory_unlock_all()")

    def deadlocks(self):
        """Cycles over advisory locks of sessions and transactions, and rows."""
        for first, second in [("SELECT pg_advisory_lock(1)", "SELECT pg_advisory_lock(2)"),
                              ("SELECT pg_advisory_xact_lock(1)", "SELECT pg_advisory_xact_lock(2)"),
                              ("SELECT pg_advisory_lock(1)", "UPDATE t SET n = 1 WHERE id = 1"),
                              ("SELECT pg_advisory_xact_lock(1)", "SELECT 1 FROM t WHERE id = 1 FOR UPDATE")]:
            with self.server.connect() as one, self.server.connect() as two:
                one.execute("BEGIN")
                two.execute("BEGIN")
                one.execute(first)
                two.execute(second)
                outcome = beside(one.execute, second)
                end = time.monotonic() + 20
                with self.server.connect() as three:
                    while rows(three, "SELECT count(*) FROM pg_locks WHERE NOT granted") != [(1,)] and time.monotonic() < end:
                        time.sleep(0.005)
                self.tally.equal(state_of(two.execute, first), "40P01", f"{first} against {second}")
                two.execute("ROLLBACK")
                two.execute("SELECT pg_advisory_unlock_all()")
                self.tally.equal(outcome(), "", "the other goes on")
        # A lock kept from before the transaction counts, too.
        with self.server.connect() as one, self.server.connect() as two:
            one.execute("SELECT pg_advisory_lock(1)")
            two.execute("SELECT pg_advisory_lock(2)")
            one.execute("BEGIN")
            outcome = beside(one.execute, "SELECT pg_advisory_xact_lock(2)")
            self.until_waiting(1)
            self.tally.equal(state_of(two.execute, "SELECT pg_advisory_lock(1)"), "40P01", "session against transaction")
            two.execute("SELECT pg_advisory_unlock_all()")
            self.tally.equal(outcome(), "", "the other goes on")

    def ends(self):
        """The end of a session gives back what it has, and ends its waiting."""
        with self.server.connect() as one:
            two, three = self.server.connect(), self.server.connect()
            two.execute("SELECT pg_advisory_lock(1), pg_advisory_lock_shared(2)")
            outcome = beside(one.execute, "SELECT pg_advisory_lock(1)")
            self.until_waiting(1)
            two.close()
            self.tally.equal(outcome(), "", "closed")
            # PostgreSQL's clients are ended so, too.
            three.execute("SELECT pg_advisory_lock(3)")
            self.tally.equal(rows(one, f"SELECT pg_terminate_backend({three.info.backend_pid})"), [(True,)], "pg_terminate_backend")
            self.tally.equal(state_of(one.execute, "SELECT pg_advisory_lock(3)"), "", "terminated")
            self.tally.equal(state_of(three.execute, "SELECT 1"), "57P01", "it is told")
            one.execute("SELECT pg_advisory_unlock_all()")

    def vanished(self):
        """A client that goes without a word, idle and waiting."""
        with self.server.connect() as one, self.server.connect() as keeper:
            keeper.execute("SELECT pg_advisory_lock(9)")
            for waits in (False, True):
                two = self.server.connect()
                two.execute("SELECT pg_advisory_lock(1)")
                if waits:
                    two.pgconn.send_query(b"SELECT pg_advisory_lock(9)")
                    self.until_waiting(1)
                end = socket.socket(fileno=os.dup(two.fileno()))
                end.shutdown(socket.SHUT_RDWR)
                end.close()
                one.execute("SET lock_timeout = '20s'")
                self.tally.equal(state_of(one.execute, "SELECT pg_advisory_lock(1)"), "", f"vanished, waiting: {waits}")
                one.execute("SELECT pg_advisory_unlock_all()")

    def many(self):
        """One lock as a mutex: nobody is within beside another, shared ones keep the exclusive out."""
        inside, worst, lock = [0, 0], [], threading.Lock()

        def work(number):
            try:
                dice = random.Random(number)
                with self.server.connect() as connection:
                    for _ in range(40):
                        shared = dice.random() < 0.5
                        scope = dice.choice(["", "xact_"])
                        if scope:
                            connection.execute("BEGIN")
                        connection.execute(f"SELECT pg_advisory_{scope}lock{'_shared' if shared else ''}(77)")
                        with lock:
                            inside[shared] += 1
                            if inside[0] > 1 or (inside[0] and inside[1]):
                                worst.append(tuple(inside))
                        with lock:
                            inside[shared] -= 1
                        connection.execute("COMMIT" if scope else f"SELECT pg_advisory_unlock{'_shared' if shared else ''}(77)")
            except Exception as error:
                self.unexpected.setdefault("many", repr(error))

        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            self.tally.that(not thread.is_alive(), "nobody is stuck")
        self.tally.equal(worst, [], "exclusive is alone")

    def crowd(self):
        """A leader's lock, for which many stand in line."""
        leader, waiting = self.server.connect(), [self.server.connect() for _ in range(20)]
        leader.execute("SELECT pg_advisory_lock(5)")
        outcomes = [beside(connection.execute, "SELECT pg_advisory_xact_lock(5)") for connection in waiting]
        self.until_waiting(20)
        leader.close()
        self.tally.equal([outcome() for outcome in outcomes], [""] * 20, "all come in turn")
        for connection in waiting:
            connection.close()
        with self.server.connect() as connection:
            self.tally.equal(rows(connection, LOCKS), [], "nothing is left")

    def bounds(self):
        """So many and no more; those of one who has too many are still given back."""
        with self.server.connect() as one, self.server.connect() as two:
            state = state_of(one.execute, "SELECT pg_advisory_lock(g) FROM generate_series(1, 200000) g")
            self.tally.equal(state, "53200", "one too many")
            self.tally.equal(rows(two, "SELECT pg_try_advisory_lock(1)"), [(False,)], "what it has it has")
            one.execute("SELECT pg_advisory_unlock_all()")
            self.tally.equal(rows(two, "SELECT pg_try_advisory_lock(1)"), [(True,)], "given back")


if __name__ == "__main__":
    run_check(Advisory())
