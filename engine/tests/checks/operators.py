#!/usr/bin/env python3
"""Operators that somebody creates, where state matters: sessions beside each other, rights, erasures, cancelled, killed, in other databases,
over a restart and a dump. What they give is in `planner/tests/checks/corpus/86_operators.sql`.

    operators.py
"""
import time

from harness import beside, rows, run_check, state_of
from support.called_bodies import CalledBodies

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE posts (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY people(id), body TEXT)",
    "CREATE FUNCTION same(INT, INT) RETURNS BOOL LANGUAGE sql IMMUTABLE AS 'SELECT $1 = $2'",
    "CREATE FUNCTION slow(INT, INT) RETURNS INT LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep($2); RETURN $1; END'",
    "CREATE FUNCTION posts_of(INT, INT) RETURNS BIGINT LANGUAGE sql STABLE AS 'SELECT count(*) FROM posts WHERE author = $1 AND id > $2'",
    "CREATE OPERATOR === (LEFTARG = INT, RIGHTARG = INT, FUNCTION = same, COMMUTATOR = ===, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES)",
    "CREATE OPERATOR ~~~> (LEFTARG = INT, RIGHTARG = INT, FUNCTION = slow)",
    "CREATE OPERATOR @@> (LEFTARG = INT, RIGHTARG = INT, FUNCTION = posts_of)",
    "COMMENT ON OPERATOR === (INT, INT) IS 'the same number'",
    "INSERT INTO people VALUES (1, 'ada'), (2, 'bob'), (3, 'cy')",
    "INSERT INTO posts VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, 'c')",
    "CREATE TABLE kept (id INT PRIMARY KEY CHECK (NOT id === 13), three BOOL DEFAULT 3 === 3)",
    "CREATE INDEX kept_four ON kept (id) WHERE id === 4",
    "CREATE VIEW seen AS SELECT id, id === 2 AS two FROM kept",
    "CREATE MATERIALIZED VIEW fours AS SELECT id FROM kept WHERE id === 4",
]
LISTED = """SELECT oprname, oprleft::regtype::text, oprright::regtype::text, oprcode::text, obj_description(oid, 'pg_operator')
    FROM pg_operator WHERE oid >= 16384 ORDER BY 1"""


class Operators(CalledBodies):
    def run(self):
        self.set_up(SCHEMA)
        for case in (self.views, self.beside, self.rights, self.policies, self.stored, self.databases, self.erased, self.cancelled, self.killed,
                     self.restarted, self.dumped):
            self.tally.case(case)

    def views(self):
        """What is kept up to date follows."""
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("INSERT INTO kept (id) VALUES (1), (2), (4)")
            equal(rows(one, "SELECT * FROM seen ORDER BY 1"), [(1, False), (2, True), (4, False)], "a view")
            equal(rows(one, "SELECT * FROM fours"), [(4,)], "a maintained one")
            one.execute("DELETE FROM kept WHERE id === 4")
            equal(rows(one, "SELECT * FROM fours"), [], "after its row has gone")
            equal(state_of(one.execute, "INSERT INTO kept (id) VALUES (13)"), "23514", "CHECK")
            equal(rows(one, "SELECT DISTINCT three FROM kept"), [(True,)], "the default")

    def beside(self):
        """Another session sees it once it is committed, and plans anew."""
        equal = self.tally.equal
        with self.server.connect() as one, self.server.connect() as other:
            other.execute("PREPARE p AS SELECT 5 === 5")
            one.execute("BEGIN")
            one.execute("CREATE OPERATOR ##> (LEFTARG = INT, RIGHTARG = INT, FUNCTION = int4mi)")
            equal(rows(one, "SELECT 5 ##> 3"), [(2,)], "its own")
            equal(state_of(other.execute, "SELECT 5 ##> 3"), "42883", "nobody else's yet")
            one.execute("COMMIT")
            equal(rows(other, "SELECT 5 ##> 3"), [(2,)], "everybody's")
            equal(rows(other, "EXECUTE p"), [(True,)], "a plan from before")
            one.execute("DROP OPERATOR ##> (INT, INT)")
            equal(state_of(other.execute, "SELECT 5 ##> 3"), "42883", "gone for all")
            one.execute("BEGIN")
            one.execute("CREATE OPERATOR ##> (LEFTARG = INT, RIGHTARG = INT, FUNCTION = int4mi)")
            one.execute("ROLLBACK")
            equal(rows(one, LISTED)[0][0], "===", "and a rollback leaves nothing")

    def rights(self):
        """It is called by the rights of whoever uses it."""
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("CREATE ROLE clerk")
            one.execute("SET ROLE clerk")
            equal(rows(one, "SELECT 1 === 1"), [(True,)], "everybody may execute")
            equal(state_of(one.execute, "SELECT 1 @@> 0"), "42501", "its function reads by the caller's rights")
            equal(state_of(one.execute, "DROP OPERATOR === (INT, INT)"), "42501", "only its owner drops it")
            equal(state_of(one.execute, "CREATE OPERATOR ##> (LEFTARG = INT, RIGHTARG = INT, FUNCTION = same)"), "42501", "nor makes one in a schema of others")
            one.execute("RESET ROLE")
            one.execute("REVOKE EXECUTE ON FUNCTION same FROM PUBLIC")
            one.execute("SET ROLE clerk")
            equal(state_of(one.execute, "SELECT 1 === 1"), "42501", "without EXECUTE")
            one.execute("RESET ROLE")
            one.execute("GRANT EXECUTE ON FUNCTION same TO PUBLIC")

    def policies(self):
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("CREATE TABLE ruled (id INT PRIMARY KEY)")
            one.execute("INSERT INTO ruled VALUES (1), (2)")
            one.execute("GRANT SELECT ON ruled TO clerk")
            one.execute("ALTER TABLE ruled ENABLE ROW LEVEL SECURITY")
            one.execute("CREATE POLICY two ON ruled USING (id === 2)")
            one.execute("SET ROLE clerk")
            equal(rows(one, "SELECT * FROM ruled"), [(2,)], "a policy")
            one.execute("RESET ROLE")
            equal(state_of(one.execute, "DROP OPERATOR === (INT, INT) CASCADE"), "2BP01", "which keeps it")
            one.execute("DROP TABLE ruled")

    def stored(self):
        """What is kept by an operator stays what it is: neither it nor its function changes."""
        equal = self.tally.equal
        with self.server.connect() as one:
            replaced = "CREATE OR REPLACE FUNCTION same(INT, INT) RETURNS BOOL LANGUAGE sql IMMUTABLE AS 'SELECT $1 <> $2'"
            equal(state_of(one.execute, replaced), "0A000", "its function is not replaced")
            equal(state_of(one.execute, "DROP FUNCTION same"), "2BP01", "nor dropped")
            equal(state_of(one.execute, "DROP OPERATOR === (INT, INT)"), "2BP01", "nor is it dropped")
            one.execute("CREATE SCHEMA apart")
            equal(state_of(one.execute, "ALTER OPERATOR === (INT, INT) SET SCHEMA apart"), "0A000", "nor moved")
            taken = "CREATE VIEW small AS SELECT 1::SMALLINT + 1::BIGINT AS v"
            one.execute(taken)
            one.execute("CREATE FUNCTION odd(SMALLINT, INT) RETURNS INT LANGUAGE sql IMMUTABLE AS 'SELECT 7'")
            one.execute("CREATE TABLE shorts (a SMALLINT)")
            one.execute("CREATE VIEW mixed AS SELECT a << 1 AS v FROM shorts")
            one.execute("CREATE OPERATOR apart.<< (LEFTARG = SMALLINT, RIGHTARG = INT, FUNCTION = odd)")
            equal(rows(one, "SELECT pg_get_viewdef('mixed'::regclass) LIKE '%<<%'"), [(True,)], "a view means PostgreSQL's")
            one.execute("INSERT INTO shorts VALUES (2)")
            equal(rows(one, "SELECT * FROM mixed"), [(4,)], "whatever is made elsewhere")

    def databases(self):
        """Each has its own."""
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("CREATE DATABASE second")
        with self.server.connect(dbname="second") as other:
            equal(state_of(other.execute, "SELECT 1 === 1"), "42883", "nothing of the first")
            other.execute("CREATE FUNCTION other(INT, INT) RETURNS BOOL LANGUAGE sql IMMUTABLE AS 'SELECT $1 > $2'")
            other.execute("CREATE OPERATOR === (LEFTARG = INT, RIGHTARG = INT, FUNCTION = other)")
            other.execute("CREATE VIEW v AS SELECT 2 === 1 AS more")
            equal(rows(other, "SELECT 1 === 1, more FROM v"), [(False, True)], "its own")
        with self.server.connect() as one:
            equal(rows(one, "SELECT 1 === 1"), [(True,)], "and the first its own")

    def erased(self):
        equal = self.tally.equal
        with self.server.connect() as one:
            equal(rows(one, "SELECT id, id @@> 0 FROM people ORDER BY 1"), [(1, 2), (2, 1), (3, 0)], "it reads")
            one.execute("GDPR FORGET people 1")
            equal(rows(one, "SELECT 1 @@> 0"), [(0,)], "and finds nothing of who was forgotten")

    def cancelled(self):
        with self.server.connect() as one, self.server.connect() as other:
            pid = one.info.backend_pid
            outcome = beside(one.execute, "SELECT 1 ~~~> 60")
            time.sleep(0.5)
            other.execute("SELECT pg_cancel_backend(%s)", (pid,))
            self.tally.equal(outcome(), "57014", "a cancel ends what it calls")
            self.tally.equal(rows(one, "SELECT 1 ~~~> 0"), [(1,)], "and the session goes on")

    def killed(self):
        """`kill -9` after a definition was answered."""
        with self.server.connect() as one:
            one.execute("CREATE OPERATOR #+# (LEFTARG = INT, RIGHTARG = INT, FUNCTION = int4pl)")
        self.killed_under("SELECT 1 ~~~> 60")
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT 1 #+# 2"), [(3,)], "what was answered is there")
            one.execute("DROP OPERATOR #+# (INT, INT)")

    def restarted(self):
        equal = self.tally.equal
        with self.server.connect() as one:
            before = rows(one, LISTED)
            equal(len(before), 4, "there are operators")
        self.server.stop()
        self.server.start()
        with self.server.connect() as one:
            equal(rows(one, LISTED), before, "they are there after a restart")
            one.execute("INSERT INTO kept (id) VALUES (4)")
            equal(rows(one, "SELECT id, two FROM seen WHERE id === 4"), [(4, False)], "and mean the same")
            equal(rows(one, "SELECT * FROM fours"), [(4,)], "in what is kept, too")

    def dumped(self):
        text = self.dumped_schema()
        if text is None:
            return
        for wanted in ("CREATE OPERATOR public.=== (\n    FUNCTION = public.same,\n    LEFTARG = integer,\n    RIGHTARG = integer,\n    COMMUTATOR = OPERATOR(public.===),\n"
                       "    MERGES,\n    HASHES,\n    RESTRICT = eqsel,\n    JOIN = eqjoinsel\n);",
                       "COMMENT ON OPERATOR public.=== (integer, integer) IS 'the same number';",
                       "CONSTRAINT kept_id_check CHECK ((NOT (id OPERATOR(public.===) 13)))"):
            self.tally.that(wanted in text, f"the dump has {wanted}", text[-4000:])
        # And comes back.
        with self.server.connect() as one:
            one.execute("CREATE DATABASE again")
        with self.server.connect(dbname="again") as other:
            other.execute("\n".join(line for line in text.splitlines() if not line.startswith("\\")))
            other.execute("RESET ALL")
            self.tally.equal(rows(other, "SELECT 1 === 1, 1 === 2"), [(True, False)], "and comes back")


if __name__ == "__main__":
    run_check(Operators())
