#!/usr/bin/env python3
"""What sessions see of each other and do to each other: pg_stat_activity, pg_cursors, pg_locks, cancel, terminate, transaction numbers.

Where PostgreSQL 15 is installed, the same is asked there and must be answered alike.
"""
import time

import psycopg

from harness import Check, beside, rows, run_check, state_of
from harness.compared import left_out, postgres_if_there

CURSORS = "SELECT name, statement, is_holdable, is_binary, is_scrollable, creation_time <= now() + '1 min' FROM pg_cursors ORDER BY name"
SEEN = "SELECT state, query_start IS NULL, xact_start IS NULL, wait_event_type, application_name FROM pg_stat_activity WHERE pid = %s"


class Sessions(Check):
    def run(self):
        self.set_up(["CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 0), (2, 0)"])
        with postgres_if_there() as postgres:
            theirs = None
            if postgres is None:
                left_out("the same of both")
            else:
                with psycopg.connect(postgres.dsn, autocommit=True) as connection:
                    connection.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
                    connection.execute("INSERT INTO t VALUES (1, 0), (2, 0)")
                theirs = lambda: psycopg.connect(postgres.dsn, autocommit=True)  # noqa: E731
            for told in (self.cursors, self.signals, self.activity, self.numbers, self.progress):
                ours = told(self.server.connect)
                self.tally.that(len(ours) > 0, f"{told.__name__} says something")
                if theirs:
                    for step, (our, their) in enumerate(zip(ours, told(theirs), strict=True)):
                        self.tally.equal(our, their, f"{told.__name__}, step {step}")
        for case in (self.shapes, self.survives, self.row_waits):
            self.tally.case(case)

    def cursors(self, connect):
        said = []
        with connect() as one:
            said.append(rows(one, CURSORS))
            one.execute("DECLARE held SCROLL CURSOR WITH HOLD FOR SELECT id FROM t ORDER BY id")
            one.execute("BEGIN")
            one.execute("DECLARE a NO SCROLL CURSOR FOR SELECT 1")
            one.execute("DECLARE b BINARY SCROLL CURSOR FOR SELECT 2")
            said += [rows(one, CURSORS), rows(one, "FETCH 5 held"), rows(one, "FETCH BACKWARD 1 held"), rows(one, "FETCH a")]
            one.execute("CLOSE a")
            said.append(rows(one, CURSORS))
            one.execute("COMMIT")
            said += [rows(one, CURSORS), rows(one, "FETCH ABSOLUTE 1 held")]
            one.execute("CLOSE ALL")
            said.append(rows(one, CURSORS))
        return said

    def progress(self, connect):
        """How far a COPY is."""
        question = """SELECT relid::regclass::text, datname = current_database(), command, type, bytes_processed, bytes_total, tuples_processed,
                      tuples_excluded FROM pg_stat_progress_copy WHERE pid = %s"""
        with connect() as one, connect() as two:
            with one.cursor().copy("COPY t (id, n) FROM STDIN WHERE id > 1002") as copy:
                copy.write("".join(f"{n}\t1\n" for n in range(1000, 1010)))
                time.sleep(0.5)
                said = [rows(two, question % one.info.backend_pid)]
            said += [rows(two, question % one.info.backend_pid), rows(two, "SELECT count(*) FROM t WHERE id > 1000")]
            state = state_of(one.execute, "CREATE INDEX more ON t (n)")
            said += [state, rows(two, "SELECT count(*) FROM pg_stat_progress_create_index")]
            one.execute("DROP INDEX more")
            one.execute("DELETE FROM t WHERE id > 1000")
        return said

    def until(self, connection, pid, state):
        end = time.monotonic() + 20
        while [row[0] for row in rows(connection, SEEN % pid)] != [state] and time.monotonic() < end:
            time.sleep(0.01)

    def signals(self, connect):
        said = []
        one, two = connect(), connect()
        two_pid = two.info.backend_pid
        for statement in (f"SELECT pg_cancel_backend({two_pid})", "SELECT pg_cancel_backend(2000000000)", "SELECT pg_terminate_backend(2000000000)",
                          "SELECT pg_cancel_backend(NULL)", "SELECT pg_blocking_pids(2000000000)"):
            said.append((statement.replace(str(two_pid), "two"), rows(one, statement)))
        said.append(state_of(one.execute, f"SELECT pg_terminate_backend({two_pid}, -1)"))
        said.append(rows(two, "SELECT 1"))
        outcome = beside(two.execute, "SELECT pg_sleep(60)")
        self.until(one, two_pid, "active")
        time.sleep(0.1)
        said += [rows(one, f"SELECT pg_cancel_backend({two_pid})"), outcome(), rows(two, "SELECT 2")]
        two.execute("BEGIN")
        two.execute("UPDATE t SET n = 9 WHERE id = 1")
        outcome = beside(two.execute, "SELECT pg_sleep(60)")
        self.until(one, two_pid, "active")
        time.sleep(0.1)
        said += [rows(one, f"SELECT pg_terminate_backend({two_pid}, 20000)"), outcome()]
        said.append(rows(one, f"SELECT count(*) FROM pg_stat_activity WHERE pid = {two_pid}"))
        one.execute("SET lock_timeout = '20s'")
        one.execute("UPDATE t SET n = 0 WHERE id = 1")
        three = connect()
        said += [rows(one, f"SELECT pg_terminate_backend({three.info.backend_pid}, 20000)"), state_of(three.execute, "SELECT 3")]
        said.append(state_of(one.execute, "SELECT pg_terminate_backend(pg_backend_pid())"))
        return said

    def activity(self, connect):
        said = []
        with connect() as one, connect() as two:
            pid = two.info.backend_pid

            def look():
                time.sleep(0.05)
                said.append(rows(one, SEEN % pid))
            two.execute("SET application_name = 'two'")
            look()
            two.execute("BEGIN")
            look()
            two.execute("SELECT 1")
            look()
            state_of(two.execute, "SELECT 1 / 0")
            look()
            two.execute("ROLLBACK")
            look()
            outcome = beside(two.execute, "SELECT pg_sleep(0.5)")
            time.sleep(0.2)
            said.append([row[:3] for row in rows(one, SEEN % pid)])
            said.append(outcome())
            said.append(rows(one, "SELECT state, query, usename = current_user, datname = current_database(), backend_type FROM pg_stat_activity "
                                  "WHERE pid = pg_backend_pid()"))
        return said

    def numbers(self, connect):
        said = []
        with connect() as one, connect() as two:
            said.append(rows(one, "SELECT txid_current_if_assigned(), pg_current_xact_id_if_assigned() IS NULL"))
            first = rows(one, "SELECT txid_current()")[0][0]
            second = rows(one, "SELECT txid_current()")[0][0]
            said.append(second > first > 0)
            one.execute("BEGIN")
            said.append(rows(one, "SELECT txid_current_if_assigned()"))
            own = rows(one, "SELECT txid_current()")[0][0]
            one.execute("SAVEPOINT s")
            said.append(rows(one, "SELECT txid_current_if_assigned()") == [(own,)])
            one.execute("ROLLBACK TO s")
            said.append(rows(one, "SELECT txid_current(), pg_current_xact_id()::text") == [(own, str(own))])
            said.append(rows(two, "SELECT txid_current()")[0][0] > own > second)
            one.execute("COMMIT")
            said.append(rows(one, "SELECT txid_current_if_assigned()"))
            one.execute("BEGIN")
            one.execute("UPDATE t SET n = 1 WHERE id = 2")
            said.append(rows(one, "SELECT txid_current_if_assigned() = txid_current()"))
            one.execute("ROLLBACK")
        return said

    def shapes(self):
        """Of what others run, the shape alone."""
        with self.server.connect() as one, self.server.connect() as two:
            two.execute("SELECT 'a secret' || id FROM t WHERE n = 4711")
            shown = rows(one, "SELECT query FROM pg_stat_activity WHERE pid = %s" % two.info.backend_pid)[0][0]
            self.tally.that("secret" not in shown and "4711" not in shown and "FROM t" in shown, f"the shape: {shown}")
            query = f"SELECT query FROM pg_stat_activity WHERE pid = {two.info.backend_pid} AND 'own' = 'own'"
            self.tally.equal(rows(two, query), [(query,)], "its own in full")

    def survives(self):
        """Numbers of transactions go on after a restart."""
        with self.server.connect() as one:
            before = rows(one, "SELECT txid_current()")[0][0]
        self.server.kill()
        self.server.start()
        with self.server.connect() as one:
            self.tally.that(rows(one, "SELECT txid_current()")[0][0] > before, "after a restart")

    def row_waits(self):
        """Who waits for a row is shown, by table; whom it waits for is known."""
        with self.server.connect() as one, self.server.connect() as two, self.server.connect() as three:
            one.execute("BEGIN")
            one.execute("UPDATE t SET n = 1 WHERE id = 1")
            outcome = beside(two.execute, "UPDATE t SET n = 2 WHERE id = 1")
            waiting = f"SELECT locktype, relation::regclass::text, granted FROM pg_locks WHERE pid = {two.info.backend_pid} AND NOT granted"
            end = time.monotonic() + 20
            while not rows(three, waiting) and time.monotonic() < end:
                time.sleep(0.01)
            self.tally.equal(rows(three, waiting), [("tuple", "t", False)], "pg_locks")
            self.tally.equal(rows(three, f"SELECT pg_blocking_pids({two.info.backend_pid})"), [([one.info.backend_pid],)], "pg_blocking_pids")
            waits = rows(three, f"SELECT wait_event_type, state FROM pg_stat_activity WHERE pid = {two.info.backend_pid}")
            self.tally.equal(waits, [("Lock", "active")], "pg_stat_activity")
            held = f"SELECT DISTINCT locktype, mode FROM pg_locks WHERE pid = {one.info.backend_pid} AND relation IS NOT DISTINCT FROM 't'::regclass::oid"
            self.tally.equal(rows(three, held), [("relation", "RowExclusiveLock")], "its table")
            one.execute("ROLLBACK")
            self.tally.equal(outcome(), "", "it goes on")


if __name__ == "__main__":
    run_check(Sessions())
