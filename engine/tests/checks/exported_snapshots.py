#!/usr/bin/env python3
"""pg_export_snapshot and SET TRANSACTION SNAPSHOT: transactions that read the same, until whoever exported ends or somebody is forgotten.

Where PostgreSQL 15 is installed, the same is asked there and must be answered alike.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import time

import psycopg

from harness import Check, rows, run_check, state_of
from harness.compared import left_out, postgres_if_there, postgres_program, postgres_there

TABLE = ["CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 10), (2, 20)"]
BEGIN = "BEGIN ISOLATION LEVEL "
EXPORT = "SELECT pg_export_snapshot()"
SUM = "SELECT sum(n), count(*) FROM t"


def said(connection, statement):
    """What it answered: rows, or SQLSTATE with the message. Names of snapshots are left out of messages."""
    try:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else cursor.statusmessage
    except psycopg.Error as error:
        return error.sqlstate, re.sub(r'"[0-9A-Fa-f-]+g?"', '"…"', error.diag.message_primary)


def importing(name):
    return f"SET TRANSACTION SNAPSHOT '{name}'"


class Steps:
    """Statements of one connection, and what was said to them."""

    def __init__(self, connect):
        self.connect, self.said, self.open = connect, [], []

    def session(self):
        self.open.append(self.connect())
        return self.open[-1]

    def ask(self, connection, *statements):
        for statement in statements:
            self.said.append(said(connection, statement))

    def exported(self, connection, level):
        connection.execute(BEGIN + level)
        return rows(connection, EXPORT)[0][0]

    def end(self):
        for connection in self.open:
            connection.close()
        return self.said


class ExportedSnapshots(Check):
    def run(self):
        self.set_up(TABLE + ["CREATE DATABASE other"])
        ours = lambda **options: self.server.connect(**options)  # noqa: E731
        with postgres_if_there() as postgres:
            theirs = None
            if postgres is None:
                left_out("the same of both")
            else:
                theirs = lambda **options: psycopg.connect(postgres.dsn, autocommit=True, **options)  # noqa: E731
                with theirs() as connection:
                    for statement in TABLE + ["CREATE DATABASE other"]:
                        connection.execute(statement)
            for told in (self.same, self.refusals, self.levels, self.ends, self.writes, self.places):
                our = told(Steps(ours))
                self.tally.that(len(our) > 0, f"{told.__name__} says something")
                if theirs:
                    for step, (one, other) in enumerate(zip(our, told(Steps(theirs)), strict=True)):
                        self.tally.equal(one, other, f"{told.__name__}, step {step}")
        for case in (self.killed, self.forgotten, self.forgotten_at_once, self.rights, self.many, self.dumps):
            self.tally.case(case)

    def same(self, steps):
        """Two see what the exporter saw, not what was written since, nor what it has written itself."""
        one, two, three, other = (steps.session() for _ in range(4))
        for level in ("REPEATABLE READ", "READ COMMITTED"):
            name = steps.exported(one, level)
            one.execute("UPDATE t SET n = n + 1000 WHERE id = 1")
            other.execute("INSERT INTO t VALUES (3, 30)")
            for importer in (two, three):
                steps.ask(importer, BEGIN + "REPEATABLE READ, READ ONLY", importing(name), SUM)
            other.execute("UPDATE t SET n = n + 1 WHERE id = 2")
            steps.ask(one, SUM, "ROLLBACK")
            # What is imported stays.
            steps.ask(two, SUM, "SHOW transaction_isolation", "SHOW transaction_read_only", "COMMIT", SUM)
            steps.ask(three, "SELECT n FROM t WHERE id = 2", "SELECT * FROM t ORDER BY id", "COMMIT")
            other.execute("DELETE FROM t WHERE id = 3")
            other.execute("UPDATE t SET n = 20 WHERE id = 2")
        # One that has imported passes it on.
        name = steps.exported(one, "REPEATABLE READ")
        other.execute("INSERT INTO t VALUES (3, 30)")
        two.execute(BEGIN + "REPEATABLE READ")
        two.execute(importing(name))
        again = rows(two, EXPORT)[0][0]
        one.execute("COMMIT")
        steps.ask(three, BEGIN + "REPEATABLE READ", importing(again), SUM, "COMMIT")
        steps.ask(two, SUM, "COMMIT")
        other.execute("DELETE FROM t WHERE id = 3")
        return steps.end()

    def refusals(self, steps):
        """Names that are none, and transactions that have begun already."""
        one, two = steps.session(), steps.session()
        name = steps.exported(one, "REPEATABLE READ")
        for wrong in ("x", "../x", "00000003-0000001B-1", name + "0", name.lower() + "g", "0" * 300):
            steps.ask(two, BEGIN + "REPEATABLE READ", importing(wrong), "ROLLBACK")
        steps.ask(two, "BEGIN", importing(name), "ROLLBACK")
        steps.ask(two, BEGIN + "REPEATABLE READ", SUM, importing(name), "ROLLBACK")
        steps.ask(two, BEGIN + "REPEATABLE READ", "SAVEPOINT s", importing(name), "ROLLBACK")
        steps.ask(two, BEGIN + "REPEATABLE READ", importing(name), importing(name), "ROLLBACK")
        steps.ask(two, BEGIN + "REPEATABLE READ", importing(name), "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "ROLLBACK")
        steps.ask(two, BEGIN + "REPEATABLE READ", "LOCK TABLE t IN ACCESS SHARE MODE", importing(name), SUM, "ROLLBACK")
        steps.ask(two, "BEGIN", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SHOW search_path", importing(name), SUM, "ROLLBACK")
        # Outside of a block.
        steps.ask(two, importing(name), "SET default_transaction_isolation = 'repeatable read'", importing(name), importing("x"), SUM)
        steps.ask(two, "SET LOCAL TRANSACTION SNAPSHOT '" + name + "'", "SET TRANSACTION SNAPSHOT x")
        steps.ask(one, "SAVEPOINT s", EXPORT, "ROLLBACK TO s", "ROLLBACK")
        return steps.end()

    def levels(self, steps):
        """What SERIALIZABLE asks, and other databases."""
        one, two = steps.session(), steps.session()
        for exporter in ("REPEATABLE READ", "SERIALIZABLE", "SERIALIZABLE, READ ONLY"):
            name = steps.exported(one, exporter)
            for importer in ("REPEATABLE READ", "SERIALIZABLE", "SERIALIZABLE, READ ONLY", "READ UNCOMMITTED"):
                steps.ask(two, BEGIN + importer, importing(name), "SELECT count(*) FROM t", "ROLLBACK")
            elsewhere = steps.connect(dbname="other")
            steps.open.append(elsewhere)
            steps.ask(elsewhere, BEGIN + "REPEATABLE READ", importing(name), "ROLLBACK")
            one.execute("ROLLBACK")
        return steps.end()

    def ends(self, steps):
        """A name ends with its transaction, however that ends."""
        two = steps.session()
        for end in ("COMMIT", "ROLLBACK", "failed", "closed", "rolled back to"):
            one = steps.session()
            one_pid = one.info.backend_pid
            name = steps.exported(one, "REPEATABLE READ")
            if end == "closed":
                one.close()
                self.until_gone(steps, one_pid)
            elif end == "failed":
                state_of(one.execute, "SELECT 1 / 0")
                one.execute("ROLLBACK")
            elif end == "rolled back to":
                one.execute("SAVEPOINT s")
                one.execute("ROLLBACK TO s")
            else:
                one.execute(end)
            steps.ask(two, BEGIN + "REPEATABLE READ", importing(name), SUM, "ROLLBACK")
        # Outside of a block it ends with its statement.
        name = rows(two, EXPORT)[0][0]
        steps.ask(two, BEGIN + "REPEATABLE READ", importing(name), "ROLLBACK")
        return steps.end()

    def until_gone(self, steps, pid):
        end = time.monotonic() + 20
        with steps.connect() as other:
            while rows(other, f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}") != [(0,)] and time.monotonic() < end:
                time.sleep(0.01)

    def writes(self, steps):
        """Who imports may write, and loses to who has written since."""
        one, two, other = (steps.session() for _ in range(3))
        name = steps.exported(one, "REPEATABLE READ")
        other.execute("UPDATE t SET n = 21 WHERE id = 2")
        steps.ask(two, BEGIN + "REPEATABLE READ", importing(name), "UPDATE t SET n = n + 1 WHERE id = 1 RETURNING n", "SELECT * FROM t ORDER BY id", "COMMIT")
        steps.ask(two, BEGIN + "REPEATABLE READ", importing(name), "SELECT * FROM t ORDER BY id", "UPDATE t SET n = n + 1 WHERE id = 2", "ROLLBACK")
        steps.ask(two, BEGIN + "REPEATABLE READ", importing(name), "INSERT INTO t VALUES (2, 0)", "ROLLBACK")
        one.execute("COMMIT")
        other.execute("UPDATE t SET n = id * 10")
        return steps.end()

    def places(self, steps):
        """Where the function may stand."""
        one, two = steps.session(), steps.session()
        steps.ask(one, "BEGIN", "PREPARE e AS SELECT pg_export_snapshot() ~ '^[0-9A-F]{8}-[0-9A-F]{8}-[0-9]+$'", "EXECUTE e")
        steps.ask(one, "SELECT count(DISTINCT pg_export_snapshot()) FROM t", "SELECT pg_export_snapshot() IS NULL, sum(n) FROM t", "COMMIT")
        one.execute("BEGIN")
        name = one.execute("WITH e AS MATERIALIZED (SELECT pg_export_snapshot() AS name) SELECT name, sum(n) FROM e, t GROUP BY name").fetchone()[0]
        steps.ask(two, BEGIN + "REPEATABLE READ", importing(name), SUM, "ROLLBACK")
        one.execute("DECLARE c CURSOR FOR SELECT pg_export_snapshot()")
        name = rows(one, "FETCH c")[0][0]
        steps.ask(two, BEGIN + "REPEATABLE READ", importing(name), SUM, "ROLLBACK")
        one.execute("ROLLBACK")
        steps.ask(one, "SELECT pronargs, provolatile, prorettype::regtype FROM pg_proc WHERE proname = 'pg_export_snapshot'")
        return steps.end()

    def killed(self):
        """The server is killed: names do not come back."""
        one = self.server.connect()
        one.execute(BEGIN + "REPEATABLE READ")
        name = rows(one, EXPORT)[0][0]
        self.server.kill()
        self.server.start()
        with self.server.connect() as two:
            two.execute(BEGIN + "REPEATABLE READ")
            self.tally.equal(state_of(two.execute, importing(name)), "22023", "a name from before")

    def people(self):
        with self.server.connect() as connection:
            for table in ("notes", "people"):
                connection.execute(f"DROP TABLE IF EXISTS {table}")
            connection.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)")
            connection.execute("CREATE TABLE notes (id INT PRIMARY KEY, who INT OWNED_BY people(id), body TEXT)")
            connection.execute("INSERT INTO people VALUES (1, 'Ada'), (2, 'Ben')")
            connection.execute("INSERT INTO notes VALUES (1, 1, 'of Ada'), (2, 2, 'of Ben')")

    def forgotten(self):
        """An erasure between: neither who has imported nor who comes later sees anything of whom it has forgotten."""
        self.people()
        exporter, before, after, third = (self.server.connect() for _ in range(4))
        exporter.execute(BEGIN + "READ COMMITTED")
        name = rows(exporter, EXPORT)[0][0]
        before.execute(BEGIN + "REPEATABLE READ")
        before.execute(importing(name))
        self.tally.equal(rows(before, "SELECT name FROM people ORDER BY id"), [("Ada",), ("Ben",)], "before")
        with self.server.connect() as officer:
            officer.execute("GDPR FORGET people 1")
        try:
            self.tally.equal(rows(before, "SELECT name FROM people"), "40001", "who had imported it sees nothing more")
        except psycopg.OperationalError as error:
            # Or its connection is closed, if the erasure had to wait for it.
            self.tally.that(error.sqlstate in ("40001", "57P01", None), "who had imported it is told", str(error))
        after.execute(BEGIN + "REPEATABLE READ")
        self.tally.equal(state_of(after.execute, importing(name)), "40001", "who comes later is told why")
        after.execute("ROLLBACK")
        # The exporter was READ COMMITTED and goes on; what it exports now is without the person.
        self.tally.equal(rows(exporter, "SELECT name FROM people"), [("Ben",)], "the exporter")
        name = rows(exporter, EXPORT)[0][0]
        third.execute(BEGIN + "REPEATABLE READ")
        third.execute(importing(name))
        self.tally.equal(rows(third, "SELECT body FROM notes"), [("of Ben",)], "exported afterwards")
        self.tally.equal(self.server.files_with("of Ada"), [], "in no file")
        for connection in (exporter, before, after, third):
            connection.close()

    def forgotten_at_once(self):
        """Importers beside erasures: each sees a person whole or is refused, and no erased person after the answer."""
        self.people()
        wrong, stop = [], threading.Event()
        forgotten = set()

        def importer():
            with self.server.connect() as exporter, self.server.connect() as reader:
                while not stop.is_set():
                    try:
                        exporter.execute(BEGIN + "REPEATABLE READ")
                        name = rows(exporter, EXPORT)[0][0]
                        gone = set(forgotten)
                        reader.execute(BEGIN + "REPEATABLE READ")
                        reader.execute(importing(name))
                        people = {id for (id,) in rows(reader, "SELECT id FROM people")}
                        notes = {who for (who,) in rows(reader, "SELECT who FROM notes")}
                        if people != notes or people & gone:
                            wrong.append((people, notes, gone))
                    except psycopg.OperationalError as error:
                        if error.sqlstate != "40001":
                            wrong.append(str(error))
                            return
                    for connection in (exporter, reader):
                        connection.execute("ROLLBACK")

        threads = [threading.Thread(target=importer, daemon=True) for _ in range(3)]
        with self.server.connect() as officer:
            for id in range(10, 30):
                officer.execute(f"INSERT INTO people VALUES ({id}, 'p')")
                officer.execute(f"INSERT INTO notes VALUES ({id}, {id}, 'n')")
            for thread in threads:
                thread.start()
            for id in range(10, 30):
                officer.execute(f"GDPR FORGET people {id}")
                forgotten.add(id)
        stop.set()
        for thread in threads:
            thread.join(30)
        self.tally.equal(wrong, [], "what importers saw beside twenty erasures")

    def rights(self):
        """A right that was taken away stays away in an older snapshot, and a person's own login exports nothing."""
        self.people()
        with self.server.connect() as owner, self.server.connect() as exporter:
            for statement in ("DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN PASSWORD 'guest word 1'", "GRANT SELECT ON t TO guest"):
                owner.execute(statement)
            exporter.execute(BEGIN + "REPEATABLE READ")
            name = rows(exporter, EXPORT)[0][0]
            guest = psycopg.connect(f"host=127.0.0.1 port={self.server.port} user=guest password='guest word 1' dbname=dogwood sslmode=disable", autocommit=True)
            guest.execute(BEGIN + "REPEATABLE READ")
            guest.execute(importing(name))
            self.tally.equal(rows(guest, "SELECT count(*) FROM t"), [(2,)], "with the right")
            guest.execute("ROLLBACK")
            owner.execute("REVOKE SELECT ON t FROM guest")
            guest.execute(BEGIN + "REPEATABLE READ")
            guest.execute(importing(name))
            self.tally.equal(state_of(guest.execute, "SELECT count(*) FROM t"), "42501", "without the right")
            guest.close()
            owner.execute("DROP ROLE guest")
            owner.execute("CREATE USER ada FOR people 1 PASSWORD 'own word 1'")
            ada = psycopg.connect(f"host=127.0.0.1 port={self.server.port} user=ada password='own word 1' dbname=dogwood sslmode=disable", autocommit=True)
            self.tally.equal(state_of(ada.execute, EXPORT), "42501", "a person's own login")
            ada.execute(BEGIN + "REPEATABLE READ")
            ada.execute(importing(name))
            self.tally.equal(rows(ada, "SELECT name FROM people"), [("Ada",)], "what a person reads in another's snapshot")
            ada.close()

    def many(self):
        """A transaction exports a thousand, no more; they go with it."""
        with self.server.connect() as one, self.server.connect() as two:
            one.execute("BEGIN")
            names = [rows(one, EXPORT)[0][0] for _ in range(1000)]
            self.tally.equal(len(set(names)), 1000, "names")
            one.execute("COMMIT")
            one.execute("BEGIN")
            rows(one, "SELECT pg_export_snapshot() FROM generate_series(1, 1000)")
            self.tally.equal(state_of(one.execute, EXPORT), "54000", "one more")
            one.execute("ROLLBACK")
            two.execute(BEGIN + "REPEATABLE READ")
            self.tally.equal(state_of(two.execute, importing(names[500])), "22023", "afterwards")

    def dumps(self):
        """pg_dump -j: all of its connections see one state, while sums move between tables."""
        if not postgres_there():
            return left_out("pg_dump -j")
        with self.server.connect() as connection:
            for table in range(8):
                connection.execute(f"CREATE TABLE part{table} (id INT PRIMARY KEY, n INT)")
                connection.execute(f"INSERT INTO part{table} SELECT g, 100 FROM generate_series(1, 500) g")
        stop = threading.Event()

        def mover():
            with self.server.connect() as connection:
                step = 0
                while not stop.is_set():
                    step += 1
                    state_of(connection.execute, "BEGIN")
                    state_of(connection.execute, f"UPDATE part{step % 8} SET n = n - 1 WHERE id = {step % 500 + 1}")
                    state_of(connection.execute, f"UPDATE part{(step + 3) % 8} SET n = n + 1 WHERE id = {step % 500 + 1}")
                    state_of(connection.execute, "COMMIT")

        thread = threading.Thread(target=mover, daemon=True)
        thread.start()
        environment = {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(self.server.port), "PGUSER": "controller",
                       "PGPASSWORD": self.server.password(), "PGSSLMODE": "disable", "PGDATABASE": "dogwood"}
        with tempfile.TemporaryDirectory() as folder:
            archive = str(pathlib.Path(folder) / "dump")
            done = subprocess.run([postgres_program("pg_dump"), "-j", "3", "-Fd", "-f", archive], env=environment, capture_output=True, text=True, timeout=120)
            stop.set()
            thread.join(30)
            if not self.tally.equal((done.returncode, done.stderr), (0, ""), "pg_dump -j 3 -Fd"):
                return
            script = subprocess.run([postgres_program("pg_restore"), "-f", "-", archive], capture_output=True, text=True, timeout=120).stdout
        copied = re.findall(r"^COPY public\.part\d .*\n((?:\d+\t\d+\n)*)", script, re.MULTILINE)
        self.tally.equal(len(copied), 8, "tables")
        self.tally.equal(sum(int(line.split("\t")[1]) for part in copied for line in part.splitlines()), 8 * 500 * 100, "the sum over all tables")


if __name__ == "__main__":
    run_check(ExportedSnapshots())
