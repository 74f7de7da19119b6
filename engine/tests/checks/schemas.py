"""Schemas where state matters: people of two schemas under one table name, plans that follow the search path, definitions
that outlive ROLLBACK, restarts and kill -9, and a dump of several schemas that restores.
"""
import os
import shutil
import subprocess
import tempfile

from harness import Check, rows, run_check, state_of
from harness.server import Server

# Two applications with tables of the same names, each with people of its own.
APPLICATION = """
CREATE DATA_SUBJECT TABLE {0}.users (id INT PRIMARY KEY, name TEXT);
CREATE TABLE {0}.stories (id INT PRIMARY KEY, title TEXT, author INT NOT NULL OWNED_BY {0}.users(id));
INSERT INTO {0}.users VALUES (1, '{0} Ada'), (2, '{0} Ben');
INSERT INTO {0}.stories VALUES (10, '{0} ten', 1), (11, '{0} eleven', 2);
"""
OIDS = """SELECT n.nspname, c.relname, c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE c.oid >= 16384 ORDER BY 1, 2"""


class Schemas(Check):
    def run(self):
        with self.server.connect() as one:
            for schema in ("a", "b"):
                one.execute(f"CREATE SCHEMA {schema}")
                one.execute(APPLICATION.format(schema))
            self.people_of_two_schemas(one)
            self.plans_follow_the_path(one)
            self.taken_back(one)
        self.outlives()
        self.moved_people()
        self.dumped()
        self.public_anew()

    def people_of_two_schemas(self, one):
        equal = self.tally.equal
        equal(state_of(one.execute, "GDPR GET users 1"), "42P01", "nobody is found by a bare name")
        equal(state_of(one.execute, "GDPR FORGET nosuch.users 1"), "3F000", "nor in a schema that is not there")
        got = rows(one, "GDPR GET a.users 1")
        equal([row[:3] for row in got], [
            ("a.users", "owner", ""),
            ("a.stories", "owner", "a.stories.author OWNED_BY a.users(id)"),
        ], "GET names schemas")
        equal({row[3]["id"] for row in got}, {1, 10}, "GET of a alone")
        equal(rows(one, "EXPLAIN GDPR FORGET b.users 1") and rows(one, "SELECT count(*) FROM b.users"), [(2,)], "EXPLAIN changes nothing")
        gone = rows(one, "GDPR FORGET a.users 1")
        equal([row[0] for row in gone], ["a.stories", "a.users"], "FORGET names schemas")
        equal(rows(one, "SELECT id FROM a.users UNION ALL SELECT id FROM b.users ORDER BY 1"), [(1,), (2,), (2,)], "b keeps its own")
        equal(rows(one, "SELECT id FROM a.stories"), [(11,)], "a's story has gone")
        equal(rows(one, "SELECT id FROM b.stories ORDER BY 1"), [(10,), (11,)], "b's have not")
        receipt = rows(one, "SELECT receipt FROM dogwood.receipts")[0][0]
        self.tally.that('"a.users"' in receipt and '"b.' not in receipt, "the receipt says which schema", receipt)
        one.execute("SET search_path = b")
        equal({row[3]["id"] for row in rows(one, "GDPR GET users 1")}, {1, 10}, "a bare name along the search path")
        one.execute("RESET search_path")
        report = rows(one, "EXPLAIN COMPLIANCE")
        equal({row[1] for row in report} >= {"a.users", "b.users", "a.stories", "b.stories"}, True, "EXPLAIN COMPLIANCE names schemas")
        one.execute("COMMENT ON COLUMN b.stories.title IS 'what it says'")
        one.execute("CREATE TABLE b.notes (id INT PRIMARY KEY, whose INT)")
        one.execute("SECURITY LABEL FOR dogwood ON COLUMN b.notes.whose IS 'OWNED_BY users(id)'")
        labels = rows(one, "SELECT objname, label FROM pg_seclabels WHERE objname LIKE 'b.notes%'")
        equal(labels, [("b.notes.whose", "OWNED_BY b.users(id)")], "a label's bare name is looked for beside its table")

    def plans_follow_the_path(self, one):
        """Prepared by the protocol, by PREPARE, and known by shape: each means what its names mean now."""
        query = "SELECT name FROM users WHERE id = %s"
        for number in range(12):
            schema = "ab"[number % 2]
            one.execute(f"SET search_path = {schema}")
            for prepare in (True, False):
                found = one.execute(query, (2,), prepare=prepare).fetchall()
                self.tally.equal(found, [(f"{schema} Ben",)], f"{schema}, prepare={prepare}")
            self.tally.equal(one.execute("SELECT name FROM users WHERE id = 2").fetchall(), [(f"{schema} Ben",)], "by its shape")
            if number == 0:
                one.execute("PREPARE p AS SELECT name FROM users WHERE id = 2")
            self.tally.equal(rows(one, "EXECUTE p"), [(f"{schema} Ben",)], "EXECUTE")
        one.execute("RESET search_path")
        with self.server.connect(options="-c search_path=b") as two:
            self.tally.equal(rows(two, "SELECT current_schema(), count(*) FROM users"), [("b", 2)], "options=-c search_path")
            self.tally.equal(state_of(two.execute, "SELECT 1 FROM other.public.users"), "0A000", "another database")

    def taken_back(self, one):
        equal = self.tally.equal
        before = rows(one, OIDS)
        one.execute("BEGIN")
        one.execute("CREATE SCHEMA c")
        one.execute("CREATE TABLE c.t (i INT PRIMARY KEY)")
        one.execute("SAVEPOINT s")
        one.execute("ALTER SCHEMA c RENAME TO d")
        one.execute("DROP SCHEMA b CASCADE")
        equal(state_of(one.execute, "SELECT 1 FROM b.users"), "42P01", "dropped within")
        one.execute("ROLLBACK TO s")
        equal(rows(one, "SELECT count(*) FROM b.users, c.t"), [(0,)], "as at the savepoint")
        one.execute("SET search_path = c")
        one.execute("ROLLBACK")
        equal(rows(one, "SHOW search_path"), [('"$user", public',)], "SET is taken back")
        equal(rows(one, OIDS), before, "nothing is left")

    def outlives(self):
        """kill -9 and a clean stop keep schemas, names and OIDs; what was not committed is not there."""
        with self.server.connect() as one:
            one.execute("CREATE SCHEMA kept CREATE TABLE t (i INT PRIMARY KEY) CREATE VIEW v AS SELECT * FROM t")
            one.execute("CREATE TYPE kept.mood AS ENUM ('sad')")
            one.execute("CREATE TABLE kept.moods (m kept.mood DEFAULT 'sad', n SERIAL)")
            before = rows(one, OIDS)
        lost = self.server.connect()
        lost.execute("BEGIN")
        lost.execute("CREATE SCHEMA lost CREATE TABLE t (i INT)")
        self.server.kill()
        self.server.start()
        with self.server.connect() as one:
            self.tally.equal(rows(one, OIDS), before, "OIDs after kill -9")
            one.execute("INSERT INTO kept.moods DEFAULT VALUES")
            self.tally.equal(rows(one, "SELECT m::text, n FROM kept.moods"), [("sad", 1)], "defaults after kill -9")
            self.tally.equal(state_of(one.execute, "CREATE SCHEMA kept"), "42P06", "the schema is there")
            self.tally.equal(state_of(one.execute, "SELECT 1 FROM lost.t"), "42P01", "the other is not")
            self.tally.equal(rows(one, "SELECT count(*) FROM kept.v"), [(0,)], "the view reads its own table")
        self.server.stop()
        self.server.start()
        with self.server.connect() as one:
            self.tally.equal(rows(one, OIDS), before, "OIDs after a restart")
            one.execute("DROP SCHEMA kept CASCADE")
            one.execute("CREATE SCHEMA kept")
            self.tally.equal(rows(one, "SELECT 1 FROM pg_class WHERE relnamespace = 'kept'::regnamespace"), [], "an empty one")

    def moved_people(self):
        """A personal table that moves, or whose schema is renamed, keeps its people; erasure finds them by the new name."""
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("CREATE MATERIALIZED VIEW b.titles AS SELECT author, count(*) AS n FROM b.stories GROUP BY author")
            one.execute("ALTER SCHEMA b RENAME TO moved")
            one.execute("ALTER TABLE moved.users SET SCHEMA public")
            equal(rows(one, "SELECT author, n FROM moved.titles ORDER BY 1"), [(1, 1), (2, 1)], "the view follows")
            equal(state_of(one.execute, "GDPR GET moved.users 1"), "42P01", "not by the old name")
            equal([row[0] for row in rows(one, "GDPR FORGET users 1")], ["moved.stories", "users"], "by the new one")
            equal(rows(one, "SELECT author FROM moved.titles"), [(2,)], "it has left the view")
            equal(state_of(one.execute, "GDPR FORGET public.users 1"), "DG003", "once")

    def public_anew(self):
        """What test runners do: `public` is dropped and made again. It is another schema then, and its texts say so."""
        equal = self.tally.equal
        with self.server.connect() as one:
            refused = state_of(one.execute, "DROP SCHEMA public CASCADE")
            equal(refused, "DG001", "people elsewhere would be left without an owner")
            one.execute("DROP SCHEMA moved, public CASCADE")
            equal(state_of(one.execute, "CREATE TABLE t (i INT)"), "3F000", "nowhere to create in")
            one.execute("CREATE SCHEMA public")
            one.execute("CREATE TABLE t (i INT); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT * FROM t")
            one.execute("CREATE TYPE mood AS ENUM ('sad')")
            one.execute("CREATE TABLE moods (m mood DEFAULT 'sad' CHECK (m = 'sad'::mood))")
        self.server.kill()
        self.server.start()
        with self.server.connect() as one:
            one.execute("SET search_path = ''")
            equal(rows(one, "SELECT * FROM public.v"), [(1,)], "the view of the new public")
            equal(rows(one, "INSERT INTO public.moods DEFAULT VALUES RETURNING m::text"), [("sad",)], "its types")
            equal(rows(one, "SELECT pg_get_viewdef('public.v')"), [(" SELECT t.i\n   FROM public.t;",)], "shown where it is")
            one.execute("RESET search_path")
            one.execute("ALTER SCHEMA public RENAME TO old")
            equal(rows(one, "SELECT * FROM old.v"), [(1,)], "under its new name")

    def dumped(self):
        """Debian's pg_dump of several schemas, restored into a fresh folder, is the same dump."""
        if shutil.which("pg_dump") is None:
            return
        with tempfile.TemporaryDirectory() as folder:
            first = self.dump(self.server)
            script = os.path.join(folder, "dump.sql")
            with open(script, "w") as file:
                file.write(first)
            other = Server()
            try:
                other.start()
                restored = self.tool(
                    other, "psql", "-v", "ON_ERROR_STOP=1", "-q", "-c", "SET dogwood.restoring = on", "-f", script,
                    "-c", "SET dogwood.restoring = off",
                )
                self.tally.equal((restored.returncode, restored.stderr), (0, ""), "the dump restores")
                self.tally.equal(self.dump(other), first, "and is dumped as it was")
                with other.connect() as one:
                    self.tally.equal(len(rows(one, "GDPR GET users 2")), 2, "with its people")
                self.tally.equal(other.stop(), 0, "SIGTERM")
            finally:
                other.remove()

    def dump(self, server):
        made = self.tool(server, "pg_dump")
        self.tally.equal((made.returncode, made.stderr), (0, ""), "pg_dump")
        return "".join(line for line in made.stdout.splitlines(True) if not line.startswith(("\\restrict", "\\unrestrict")))

    def tool(self, server, name, *arguments):
        with server.connect() as one:
            info = one.info
            where = ["-h", info.host, "-p", str(info.port), "-U", info.user, "-d", info.dbname]
        return subprocess.run([name, *where, *arguments], capture_output=True, text=True, timeout=120)


if __name__ == "__main__":
    run_check(Schemas())
