"""Databases: each with its own schemas, people, views and channels in the one store; who may be in one that is renamed or
dropped; and that all of this outlives kill -9.
"""
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time

import psycopg

from harness import Check, rows, run_check, state_of
from harness.server import Server

# Two applications with tables of the same names, each with people of its own.
APPLICATION = """
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT, m mood DEFAULT 'ok' CHECK (m <> 'sad'::mood));
CREATE TABLE stories (id SERIAL PRIMARY KEY, title TEXT, author INT NOT NULL OWNED_BY users(id));
CREATE VIEW titles AS SELECT s.id, s.title, public.users.name FROM public.users JOIN stories s ON s.author = public.users.id;
CREATE MATERIALIZED VIEW counted AS SELECT author, count(*) AS n FROM stories GROUP BY author;
INSERT INTO users (id, name) VALUES (1, '{0} Ada'), (2, '{0} Ben');
INSERT INTO stories (title, author) VALUES ('{0} one', 1), ('{0} two', 2);
"""
LISTED = "SELECT datname FROM pg_database ORDER BY 1"
INSIDE = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'gone'"


def said(function, *arguments):
    """SQLSTATE, message and detail of what it raises."""
    try:
        function(*arguments)
        return None
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary, error.diag.message_detail


class Databases(Check):
    def run(self):
        with self.server.connect(dbname="postgres") as one:
            self.made(one)
        for case in (self.people, self.names, self.catalogs, self.views, self.functions, self.channels, self.outlives, self.renamed,
                     self.starts, self.busy, self.dropped, self.beside, self.dumped, self.with_a_password):
            self.tally.case(case)

    def two(self):
        return self.server.connect(dbname="a"), self.server.connect(dbname="b")

    def made(self, one):
        equal = self.tally.equal
        equal(rows(one, "SELECT current_database()"), [("postgres",)], "postgres is there")
        for name in ("a", "b"):
            one.execute(f"CREATE DATABASE {name}")
        equal(said(one.execute, "CREATE DATABASE a")[:2], ("42P04", 'database "a" already exists'), "once")
        equal(rows(one, LISTED), [("a",), ("b",), ("postgres",)], "listed")
        one.execute("BEGIN")
        equal(state_of(one.execute, "CREATE DATABASE c"), "25001", "not in a block")
        one.execute("ROLLBACK")
        equal(state_of(one.execute, "CREATE DATABASE c; SELECT 1"), "25001", "nor beside others")
        for name in "ab":
            with self.server.connect(dbname=name) as own:
                equal(rows(own, "SELECT current_database(), current_catalog, count(*) FROM pg_class WHERE oid >= 16384"), [(name, name, 0)], "empty")
                own.execute(APPLICATION.format(name))

    def people(self):
        equal = self.tally.equal
        a, b = self.two()
        with a, b:
            equal({row[0] for row in rows(a, "GDPR GET users 1")}, {"users", "stories"}, "GET")
            equal([row[0] for row in rows(a, "GDPR FORGET users 1")], ["stories", "users"], "FORGET of a")
            equal(rows(a, "SELECT id FROM users"), [(2,)], "gone from a")
            equal(rows(b, "SELECT id FROM users ORDER BY 1"), [(1,), (2,)], "b keeps its own")
            receipt = rows(b, "SELECT receipt FROM dogwood.receipts")[0][0]
            self.tally.that('"a.public.users"' in receipt, "the receipt says which database", receipt)
            equal({row[1] for row in rows(b, "EXPLAIN COMPLIANCE")} <= {"users", "stories", "titles"}, True, "EXPLAIN COMPLIANCE of b alone")
            with b.cursor().copy("COPY (GDPR EXPORT users 1) TO STDOUT") as copy:
                exported = "".join(bytes(part).decode() for part in copy)
            self.tally.that("b one" in exported and "a Ada" not in exported, "EXPORT of b alone", exported[:500])
            equal(state_of(b.execute, "GDPR GET a.public.users 2"), "0A000", "of another database")

    def names(self):
        equal = self.tally.equal
        a, b = self.two()
        with a, b:
            equal(rows(a, "SELECT count(*) FROM a.public.users"), [(1,)], "three parts")
            equal(said(a.execute, "SELECT 1 FROM b.public.users")[:2],
                  ("0A000", 'cross-database references are not implemented: "b.public.users"'), "another's")
            equal(rows(a, "INSERT INTO users (id, name) VALUES (3, 'x') RETURNING m::text"), [("ok",)], "its own type and default")
            equal(state_of(a.execute, "INSERT INTO users VALUES (4, 'x', 'sad')"), "23514", "its own check")
            equal(rows(a, "INSERT INTO stories (title, author) VALUES ('x', 3) RETURNING id"), [(3,)], "its own sequence")
            equal(rows(a, "SELECT pg_get_viewdef('titles') LIKE '%a.public%'"), [(False,)], "shown as it is read here")
            equal(rows(a, "SELECT 'users'::regclass::text, 'mood'::regtype::text"), [("users", "mood")], "reg*")
            other = rows(b, "SELECT 'users'::regclass::oid")[0][0]
            equal(rows(a, "SELECT %s::oid::regclass::text" % other), [(str(other),)], "another's has no name here")
            for number in range(12):
                own = (a, b)[number % 2]
                equal(own.execute("SELECT name FROM users WHERE id = 2").fetchall(), [(f"{'ab'[number % 2]} Ben",)], "by its shape")
                equal(own.execute("SELECT name FROM users WHERE id = %s", (2,), prepare=True).fetchall(), [(f"{'ab'[number % 2]} Ben",)], "prepared")
            a.execute("SET CONSTRAINTS ALL DEFERRED")
            a.execute("CREATE SCHEMA inner_one; CREATE TABLE inner_one.here (i INT)")
            equal(state_of(b.execute, "SELECT 1 FROM inner_one.here"), "42P01", "another's schema")
            b.execute("CREATE SCHEMA inner_one")
            a.execute("DROP SCHEMA inner_one CASCADE")
            equal(rows(b, "SELECT count(*) FROM pg_namespace WHERE nspname = 'inner_one'"), [(1,)], "schemas of one name")
            a.execute("DELETE FROM stories WHERE author = 3; DELETE FROM users WHERE id = 3")

    def catalogs(self):
        equal = self.tally.equal
        a, b = self.two()
        with a, b, self.server.connect(dbname="postgres") as first:
            own = "SELECT relname FROM pg_class WHERE oid >= 16384 AND relkind IN ('r', 'v', 'm') ORDER BY 1"
            equal(rows(a, own), [("counted",), ("stories",), ("titles",), ("users",)], "pg_class of a")
            equal(rows(first, own), [], "pg_class of the first")
            equal(rows(a, "SELECT DISTINCT table_catalog FROM information_schema.tables"), [("a",)], "information_schema")
            equal(rows(a, "SELECT count(*) FROM pg_type WHERE typname = 'mood'"), [(1,)], "pg_type")
            equal(rows(a, "SELECT count(*) FROM pg_namespace WHERE nspname = 'public'"), [(1,)], "pg_namespace")
            equal(rows(a, "SELECT obj_description('public'::regnamespace, 'pg_namespace')"), [("standard public schema",)], "its comment")
            equal(rows(a, "SELECT datname FROM pg_stat_activity WHERE pid = %d" % b.info.backend_pid), [("b",)], "pg_stat_activity")
            equal(rows(a, "SELECT d.datname FROM pg_stat_activity s JOIN pg_database d ON d.oid = s.datid WHERE pid = %d" % b.info.backend_pid), [("b",)], "datid")
            found = {row[0] for row in rows(first, "SELECT name FROM dogwood.views WHERE kind = 'materialized'")}
            equal(found, {"a.public.counted", "b.public.counted"}, "dogwood.views is the server's")
            a.execute("CREATE EXTENSION IF NOT EXISTS pgcrypto")
            equal(rows(b, "SELECT count(*) FROM pg_extension WHERE extname = 'pgcrypto'"), [(0,)], "extensions are a database's")
            if shutil.which("psql"):
                listed = subprocess.run(["psql", "-h", "127.0.0.1", "-p", str(self.server.port), "-U", "controller", "-d", "a", "-At",
                                         "-c", "\\l", "-c", "\\dt", "-c", "\\c b", "-c", "SELECT current_database()"], capture_output=True, text=True)
                self.tally.that(listed.returncode == 0 and "b|" in listed.stdout and "public|users|table|" in listed.stdout
                                and listed.stdout.rstrip().endswith("\nb"), "psql", listed.stdout + listed.stderr)

    def views(self):
        """Views and subscriptions of two databases over tables of one name."""
        equal = self.tally.equal
        a, b = self.two()
        with a, b:
            for own in (a, b):
                own.execute("BEGIN")
                own.execute("DECLARE watch CURSOR FOR SUBSCRIBE (SELECT name FROM users) WITH (snapshot = false)")
            with self.server.connect(dbname="b") as writer:
                writer.execute("INSERT INTO users (id, name) VALUES (5, 'b Eve'); INSERT INTO stories (title, author) VALUES ('b five', 5)")
                equal(rows(writer, "SELECT n FROM counted WHERE author = 5"), [(1,)], "the view of b")
            told = rows(b, "FETCH ALL watch WITH (timeout = '5s')")
            self.tally.that(any("b Eve" in map(str, row) for row in told), "b is told", told)
            told = rows(a, "FETCH ALL watch WITH (timeout = '200ms')")
            equal([row for row in told if row[1] is not None], [], "a is not")
            a.execute("ROLLBACK")
            b.execute("ROLLBACK")
            equal(rows(a, "SELECT author, n FROM counted"), [(2, 1)], "the view of a")
            equal(rows(a, "SELECT title, name FROM titles"), [("a two", "a Ben")], "and its plain one")

    def functions(self):
        """A function of a database is called by what the catalog keeps there: it is written with its database, and read with it."""
        equal = self.tally.equal
        with self.server.connect(dbname="postgres") as one:
            one.execute("CREATE DATABASE called")
            one.execute("CREATE FUNCTION big(n INT) RETURNS BOOLEAN LANGUAGE sql IMMUTABLE AS 'SELECT n > 1000'")
        with self.server.connect(dbname="called") as one:
            one.execute("CREATE FUNCTION big(n INT) RETURNS BOOLEAN LANGUAGE sql IMMUTABLE AS 'SELECT n > 1'")
            one.execute("CREATE FUNCTION noted() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (NEW.a); RETURN NULL; END'")
            one.execute("CREATE TABLE log (a INT)")
            one.execute("CREATE TABLE t (a INT CHECK (big(a)), b BOOLEAN DEFAULT public.big(4))")
            one.execute("CREATE FUNCTION larger() RETURNS INT LANGUAGE sql AS 'SELECT max(a) FROM t'")
            one.execute("CREATE TRIGGER noted AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION noted()")
            one.execute("CREATE UNIQUE INDEX ON t (a) WHERE public.big(a - 1)")
            one.execute("CREATE VIEW v AS SELECT a, big(a - 1), larger() FROM t")
            one.execute("CREATE MATERIALIZED VIEW m AS SELECT a FROM t WHERE called.public.big(a - 1)")
            one.execute("CREATE POLICY p ON t USING (big(a))")
            one.execute("INSERT INTO t (a) VALUES (2), (3)")
            equal(state_of(one.execute, "INSERT INTO t VALUES (1)"), "23514", "CHECK")
            equal(state_of(one.execute, "INSERT INTO t VALUES (3)"), "23505", "an index")
            equal(rows(one, "SELECT * FROM t ORDER BY a"), [(2, True), (3, True)], "a default")
            equal(rows(one, "SELECT * FROM v ORDER BY a"), [(2, False, 3), (3, True, 3)], "a view")
            equal(rows(one, "SELECT * FROM m"), [(3,)], "a kept view")
            equal(rows(one, "SELECT a FROM log ORDER BY a"), [(2,), (3,)], "a trigger")
            equal(rows(one, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'c'"), [("CHECK (big(a))",)], "shown without its database")
            equal(state_of(one.execute, "DROP FUNCTION big(INT)"), "2BP01", "it is needed")
        with self.server.connect(dbname="postgres") as one:
            equal(state_of(one.execute, "DROP FUNCTION big(INT)"), "", "another database's is not")
            one.execute("DROP DATABASE called")

    def channels(self):
        a, b = self.two()
        with a, b:
            for own in (a, b):
                own.execute("LISTEN news")
            with self.server.connect(dbname="a") as speaker:
                speaker.execute("NOTIFY news, 'of a'")
            self.tally.equal([note.payload for note in a.notifies(timeout=5, stop_after=1)], ["of a"], "NOTIFY within")
            self.tally.equal(list(b.notifies(timeout=0.2)), [], "and not beyond")
            self.tally.equal(rows(a, "SELECT pg_try_advisory_lock(7)"), [(True,)], "an advisory lock")
            self.tally.equal(rows(b, "SELECT pg_try_advisory_lock(7)"), [(True,)], "and the other's")
            with self.server.connect(dbname="a") as other:
                self.tally.equal(rows(other, "SELECT pg_try_advisory_lock(7)"), [(False,)], "is one in its database")
            held = rows(a, "SELECT d.datname FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE locktype = 'advisory' ORDER BY 1")
            self.tally.equal(held, [("a",), ("b",)], "pg_locks")

    def outlives(self):
        equal = self.tally.equal
        questions = ["SELECT id, name, m::text FROM users ORDER BY 1", "SELECT title, name FROM titles ORDER BY 1", "SELECT author, n FROM counted ORDER BY 1"]
        ask = lambda: [[rows(own, question) for question in questions] for own in self.two()]
        before = ask()
        for end in (self.server.kill, self.server.stop):
            end()
            self.server.start()
            equal(ask(), before, f"after {end.__name__}")
            with self.server.connect(dbname="a") as a:
                equal(rows(a, "INSERT INTO stories (title, author) VALUES ('x', 2) RETURNING id > 3"), [(True,)], "its sequence goes on")
                a.execute("DELETE FROM stories WHERE title = 'x'")

    def renamed(self):
        equal = self.tally.equal
        with self.server.connect(dbname="postgres") as one:
            self.leave("b")
            one.execute("ALTER DATABASE b RENAME TO \"B two\"")
            equal(said(one.execute, "ALTER DATABASE nosuch RENAME TO c")[:2], ("3D000", 'database "nosuch" does not exist'), "not there")
            equal(state_of(one.execute, "ALTER DATABASE a RENAME TO \"B two\""), "42P04", "taken")
            equal(said(one.execute, "ALTER DATABASE postgres RENAME TO x")[:2], ("0A000", "current database cannot be renamed"), "one's own")
            with self.server.connect(dbname="a"):
                found = said(one.execute, "ALTER DATABASE a RENAME TO c")
                equal(found, ("55006", 'database "a" is being accessed by other users', "There is 1 other session using the database."), "in use")
        self.server.kill()
        self.server.start()
        with self.server.connect(dbname="B two") as b:
            equal(rows(b, "SELECT title, name FROM titles WHERE id = 2"), [("b two", "b Ben")], "its views read it")
            equal(rows(b, "SELECT n FROM counted WHERE author = 2"), [(1,)], "maintained ones too")
            equal(rows(b, "INSERT INTO users (id) VALUES (9) RETURNING m::text"), [("ok",)], "its defaults")
            b.execute("DELETE FROM users WHERE id = 9")
        self.leave("B two")
        with self.server.connect(dbname="a") as one:
            one.execute("ALTER DATABASE \"B two\" RENAME TO b")

    def starts(self):
        """What sessions start with: the closer to whom and where, the more it counts, and the client says last."""
        equal = self.tally.equal
        shown = "SELECT setting, source FROM pg_settings WHERE name = 'work_mem'"
        listed = "SELECT setdatabase, setrole = 0, setconfig FROM pg_db_role_setting ORDER BY 1, 2 DESC"

        def starting(dbname, **given):
            with self.server.connect(dbname=dbname, **given) as fresh:
                return rows(fresh, shown)[0]

        with self.server.connect(dbname="a") as a:
            user, number = rows(a, "SELECT current_user, (SELECT oid FROM pg_database WHERE datname = 'a')")[0]
            statements = [("ALTER ROLE ALL SET work_mem = '1MB'", "global"), ("ALTER DATABASE a SET work_mem TO '2MB'", "database"),
                          ("ALTER USER CURRENT_USER SET work_mem TO '3MB'", "user"),
                          (f'ALTER ROLE "{user}" IN DATABASE a SET work_mem = 4096', "database user")]
            for place, (statement, source) in enumerate(statements):
                equal(state_of(a.execute, statement), "", statement)
                equal(starting("a"), (str(1024 * (place + 1)), source), statement)
            equal(starting("b"), ("3072", "user"), "elsewhere the role's")
            equal(starting("a", options="-c work_mem=5MB"), ("5120", "client"), "the client says last")
            equal(rows(a, shown), [("4096", "default")], "a session that was there stays as it was")
            equal(rows(a, listed), [(0, True, ["work_mem=1MB"]), (0, False, ["work_mem=3MB"]), (number, True, ["work_mem=2MB"]),
                                    (number, False, ["work_mem=4096"])], "pg_db_role_setting")
            equal(rows(a, "SELECT rolconfig, useconfig FROM pg_roles JOIN pg_user ON usename = rolname WHERE rolname = current_user"), [(["work_mem=3MB"], ["work_mem=3MB"])], "pg_roles")
            for statement, state in [("ALTER DATABASE a SET nosuch = 1", "42704"), ("ALTER DATABASE a SET work_mem = 'x'", "22023"),
                                     ("ALTER DATABASE nosuch SET work_mem = '1MB'", "3D000"), ("ALTER ROLE nosuch SET work_mem = '1MB'", "42704"),
                                     ("ALTER ROLE nosuch PASSWORD 'x'", "42704"), ("ALTER DATABASE a SET", "42601"),
                                     ("ALTER ROLE ALL IN DATABASE a", "42601"), ("ALTER DATABASE a SET server_version = '1'", "55P02"),
                                     ("ALTER ROLE ALL SET view_memory = '1GB'", "42704"), ("ALTER DATABASE a RESET nosuch", "42704")]:
                equal(state_of(a.execute, statement), state, statement)
            a.execute("SET search_path = one, two")
            a.execute("ALTER DATABASE a SET search_path FROM CURRENT")
            a.execute("BEGIN")
            a.execute("ALTER DATABASE a RESET work_mem")
            a.execute("ROLLBACK")
        self.server.kill()
        self.server.start()
        with self.server.connect(dbname="a") as a:
            equal(rows(a, "SHOW search_path"), [("one, two",)], "after kill -9")
            equal(rows(a, shown), [("4096", "database user")], "what was rolled back holds")
            a.execute("SET work_mem = '9MB'")
            a.execute("RESET work_mem")
            equal(rows(a, shown), [("4096", "database user")], "RESET goes back to it")
            for statement in ("ALTER ROLE ALL RESET ALL", "ALTER DATABASE a RESET ALL", "ALTER ROLE CURRENT_USER SET work_mem TO DEFAULT",
                              "ALTER ROLE CURRENT_USER IN DATABASE a RESET work_mem", "ALTER ROLE CURRENT_USER RESET work_mem"):
                a.execute(statement)
            equal(rows(a, listed), [], "nothing is left")

    def leave(self, name):
        """A session has ended some time after its client has gone: nobody else is asked to wait for it."""
        with self.server.connect(dbname="postgres") as one:
            for _ in range(1000):
                if rows(one, f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'") == [(0,)]:
                    return
        self.tally.that(False, "they leave", name)

    def busy(self):
        equal = self.tally.equal
        with self.server.connect(dbname="a") as a:
            equal(said(a.execute, "DROP DATABASE a")[:2], ("55006", "cannot drop the currently open database"), "one's own")
            equal(said(a.execute, "DROP DATABASE nosuch")[:2], ("3D000", 'database "nosuch" does not exist'), "not there")
            told = []
            a.add_notice_handler(lambda notice: told.append(notice.message_primary))
            a.execute("DROP DATABASE IF EXISTS nosuch")
            equal(told, ['database "nosuch" does not exist, skipping'], "IF EXISTS")
            equal(state_of(a.execute, "DROP DATABASE postgres"), "0A000", "the first stays")
            equal(state_of(a.execute, "DROP DATABASE template1"), "42809", "nor a template")
            others = [self.server.connect(dbname="b") for _ in range(2)]
            found = said(a.execute, "DROP DATABASE b")
            equal(found, ("55006", 'database "b" is being accessed by other users', "There are 2 other sessions using the database."), "in use")
            others[0].close()
            timer = threading.Timer(0.5, others[1].close)
            timer.start()
            a.execute("CREATE DATABASE c")
            inside = self.server.connect(dbname="c")
            threading.Timer(0.5, inside.close).start()
            equal(state_of(a.execute, "DROP DATABASE c"), "", "who leaves is waited for")
            timer.join()

    def dropped(self):
        """WITH (FORCE) beside an open transaction; all of it goes, with people, and the rest stays."""
        equal = self.tally.equal
        size = "SELECT count(*) FROM dogwood.views"
        with self.server.connect(dbname="a") as a:
            b = self.server.connect(dbname="b")
            b.execute("BEGIN")
            b.execute("UPDATE users SET name = 'changed'")
            views = rows(a, size)[0][0]
            a.execute("DROP DATABASE b WITH (FORCE)")
            equal(state_of(b.execute, "SELECT 1"), "57P01", "it was ended")
            equal(rows(a, LISTED), [("a",), ("postgres",)], "not listed")
            self.tally.that(rows(a, size)[0][0] < views, "its view has gone")
            equal(rows(a, "SELECT id FROM users"), [(2,)], "the other stays")
            a.execute("CREATE DATABASE b")
            with self.server.connect(dbname="b") as anew:
                equal(state_of(anew.execute, "SELECT 1 FROM users"), "42P01", "another one of its name")
                anew.execute(APPLICATION.format("b"))
        self.server.kill()
        self.server.start()
        with self.server.connect(dbname="b") as b:
            equal(rows(b, "SELECT count(*) FROM users"), [(2,)], "after kill -9")

    def beside(self):
        """DROP beside a FORGET, and beside those who come in."""
        equal = self.tally.equal
        for number in range(8):
            with self.server.connect(dbname="a") as a:
                a.execute("CREATE DATABASE gone")
                with self.server.connect(dbname="gone") as gone:
                    gone.execute(APPLICATION.format("gone"))
                    gone.execute("INSERT INTO users (id, name) SELECT i, 'p' FROM generate_series(10, 300) i")
                    gone.execute("INSERT INTO stories (title, author) SELECT 't', i FROM generate_series(10, 300) i")
                outcomes = []

                def forgets():
                    try:
                        with self.server.connect(dbname="gone") as inside:
                            for person in range(10, 300):
                                inside.execute(f"GDPR FORGET users {person}")
                    except psycopg.Error as error:
                        outcomes.append(error.sqlstate)

                def comes():
                    for _ in range(50):
                        try:
                            with self.server.connect(dbname="gone") as inside:
                                inside.execute("INSERT INTO users (id) SELECT max(id) + 1 FROM users")
                        except psycopg.Error as error:
                            outcomes.append(error.sqlstate)

                threads = [threading.Thread(target=body) for body in (forgets, comes, comes)]
                [thread.start() for thread in threads]
                a.execute("SELECT pg_sleep(%s)" % (0.01 * number))
                while (state := state_of(a.execute, "DROP DATABASE gone WITH (FORCE)")) == "55006":
                    pass
                equal(state, "", "dropped")
                [thread.join() for thread in threads]
                known = {"57P01", "3D000", "40001", "42P01", "3F000", "23505", None}
                self.tally.that(set(outcomes) <= known, "what the others hear", set(outcomes))
                # Who has closed a connection is there until the server has read it.
                deadline = time.monotonic() + 5
                while rows(a, INSIDE) != [(0,)] and time.monotonic() < deadline:
                    time.sleep(0.01)
                equal(rows(a, INSIDE), [(0,)], "nobody is left in it")
                equal(rows(a, "SELECT count(*) FROM pg_database WHERE datname = 'gone'"), [(0,)], "it is gone")
        # What is stored of people who are nobody's would be found here.
        self.tally.equal(self.server.stop(), 0, "a clean stop")
        self.tally.clean(self.server, "after all those")
        self.server.start()

    def dumped(self):
        """pg_dump of one database restores into another."""
        if shutil.which("pg_dump") is None:
            return
        where = ["-h", "127.0.0.1", "-p", str(self.server.port), "-U", "controller"]
        with self.server.connect(dbname="a") as one:
            one.execute("CREATE DATABASE copy")
        first = subprocess.run(["pg_dump", *where, "-d", "a"], capture_output=True, text=True)
        self.tally.equal((first.returncode, first.stderr), (0, ""), "pg_dump")
        self.tally.that("b two" not in first.stdout and "a two" in first.stdout, "of a alone", first.stdout[:2000])
        with tempfile.NamedTemporaryFile("w") as script:
            script.write(first.stdout)
            script.flush()
            done = subprocess.run(["psql", *where, "-d", "copy", "-qv", "ON_ERROR_STOP=1", "-o", os.devnull, "-c", "SET dogwood.restoring = on",
                                   "-f", script.name, "-c", "SET dogwood.restoring = off"], capture_output=True, text=True)
        self.tally.equal((done.returncode, done.stderr), (0, ""), "it restores")
        second = subprocess.run(["pg_dump", *where, "-d", "copy"], capture_output=True, text=True)
        plain = lambda dump: re.sub(r"(?m)^\\(un)?restrict.*\n", "", dump)
        self.tally.equal(plain(second.stdout), plain(first.stdout), "and is dumped as it was")

    def with_a_password(self):
        """Behind a password the names that lead to a database are those that are known."""
        equal = self.tally.equal
        server = Server()
        try:
            server.start(insecure=False)
            connect = lambda name: psycopg.connect(host="127.0.0.1", port=server.port, user="controller", password=server.password(),
                                                   dbname=name, sslmode="require", autocommit=True)
            for name in ("postgres", "dogwood", "controller"):
                connect(name).close()
            with connect("postgres") as one:
                try:
                    connect("app")
                    self.tally.that(False, "no such database")
                except psycopg.OperationalError as error:
                    self.tally.that('FATAL:  database "app" does not exist' in str(error), "FATAL", str(error))
                one.execute("CREATE DATABASE app")
                with connect("app") as app:
                    equal(rows(app, "SELECT current_database()"), [("app",)], "now there is")
                one.execute("DROP DATABASE app")
            equal(server.stop(), 0, "SIGTERM")
        finally:
            server.remove()


if __name__ == "__main__":
    run_check(Databases())
