"""Functions, procedures and DO where state matters: by whom they run, what the audit log has of their statements, cancelled, killed,
beside an erasure, too deep, over a restart, a backup and a dump.

    routines.py
"""
import threading
import time

from harness import rows, run_check, state_of
from support.called_bodies import CalledBodies

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE posts (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY people(id), body TEXT)",
    "CREATE TABLE plain (id INT PRIMARY KEY, v TEXT)",
    """CREATE FUNCTION name_of(i INT) RETURNS TEXT LANGUAGE plpgsql AS $$
       DECLARE n TEXT; BEGIN SELECT name INTO n FROM people WHERE id = i; RETURN n; END $$""",
    "CREATE FUNCTION inlined_name(i INT) RETURNS TEXT LANGUAGE sql STABLE AS 'SELECT name FROM people WHERE id = i'",
    """CREATE FUNCTION write_plain(i INT, t TEXT) RETURNS INT LANGUAGE plpgsql AS $$
       BEGIN INSERT INTO plain VALUES (i, t); RETURN i; END $$""",
    """CREATE FUNCTION spin(n INT) RETURNS INT LANGUAGE plpgsql AS $$
       DECLARE i INT := 0; BEGIN WHILE i < n LOOP i := i + 1; END LOOP; RETURN i; END $$""",
    """CREATE FUNCTION deep(n INT) RETURNS INT LANGUAGE plpgsql AS $$
       BEGIN IF n = 0 THEN RETURN 0; END IF; RETURN 1 + deep(n - 1); END $$""",
    """CREATE PROCEDURE twofold(i INT, t TEXT) LANGUAGE plpgsql AS $$
       BEGIN INSERT INTO plain VALUES (i, t); INSERT INTO plain VALUES (i, t); END $$""",
    """CREATE FUNCTION all_posts(who INT) RETURNS SETOF posts LANGUAGE plpgsql AS $$
       BEGIN RETURN QUERY SELECT * FROM posts WHERE author = who ORDER BY id; END $$""",
]
CANARY = "routine canary 51c9e2"


class Routines(CalledBodies):
    def run(self):
        self.set_up(SCHEMA)
        with self.server.connect() as connection:
            connection.execute("INSERT INTO people SELECT g, 'person ' || g FROM generate_series(1, 20) g")
            connection.execute("INSERT INTO posts SELECT g, 1 + g % 20, 'body ' || g FROM generate_series(1, 100) g")
        for case in (self.of_its_transaction, self.rights, self.policies, self.audited, self.cancelled, self.too_deep, self.too_large,
                     self.replaced, self.kept_views, self.erased, self.erased_beside, self.killed, self.restarted,
                     self.dumped):
            self.tally.case(case)

    def of_its_transaction(self):
        equal = self.tally.equal
        with self.server.connect() as one, self.server.connect() as other:
            equal(rows(one, "SELECT write_plain(1, 'a')"), [(1,)], "a function writes")
            equal(rows(other, "SELECT v FROM plain WHERE id = 1"), [("a",)], "and others see it")
            equal(state_of(one.execute, "CALL twofold(2, 'b')"), "23505", "what fails half-way")
            equal(rows(one, "SELECT count(*) FROM plain WHERE id = 2"), [(0,)], "leaves nothing")
            equal(state_of(one.execute, "SELECT write_plain(g, 'x') FROM generate_series(5, 1, -1) g"), "23505", "in its fifth call")
            equal(rows(one, "SELECT count(*) FROM plain"), [(1,)], "nothing of the four before")
            with one.transaction():
                one.execute("SELECT write_plain(3, 'c')")
                equal(rows(other, "SELECT count(*) FROM plain WHERE id = 3"), [(0,)], "not committed, not seen")
                equal(rows(one, "SELECT v FROM plain WHERE id = 3"), [("c",)], "but by itself")
            equal(rows(other, "SELECT count(*) FROM plain WHERE id = 3"), [(1,)], "committed, seen")
            equal(rows(one, "INSERT INTO plain SELECT write_plain(g, 'd') + 100, 'e' FROM generate_series(10, 12) g RETURNING id"),
                  [(110,), (111,), (112,)], "called for rows that are inserted")
            equal(rows(one, "SELECT count(*) FROM plain WHERE v IN ('d', 'e')"), [(6,)], "once each")
            for turn in range(6):
                one.execute(f"SELECT write_plain({200 + turn}, 'shape')")
            equal(rows(one, "SELECT count(*) FROM plain WHERE v = 'shape'"), [(6,)], "known by its shape it is called as often")
            prepared = "SELECT write_plain(%s, 'prepared')"
            for turn in range(8):
                one.execute(prepared, (300 + turn,))
            equal(rows(one, "SELECT count(*) FROM plain WHERE v = 'prepared'"), [(8,)], "prepared, too")
            equal(state_of(one.execute, "UPDATE plain SET v = 'z' WHERE id = spin(1)"), "0A000", "where it cannot be called it is refused")
            one.execute("BEGIN READ ONLY")
            equal(state_of(one.execute, "SELECT write_plain(4, 'ro')"), "25006", "READ ONLY holds within")
            one.execute("ROLLBACK")
            one.execute("DO $$ BEGIN BEGIN INSERT INTO plain VALUES (400, 'kept'); INSERT INTO plain VALUES (1, 'no'); "
                        "EXCEPTION WHEN unique_violation THEN INSERT INTO plain VALUES (401, 'handled'); END; END $$")
            equal(rows(one, "SELECT id FROM plain WHERE id >= 400"), [(401,)], "a block that fails is taken back, its handler is not")

    def rights(self):
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("CREATE ROLE reader LOGIN PASSWORD 'reader-secret-1'")
            one.execute("CREATE FUNCTION secret() RETURNS INT LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'")
            one.execute("REVOKE EXECUTE ON FUNCTION secret() FROM PUBLIC")
        with self.server.connect(user="reader") as reader:
            equal(state_of(reader.execute, "SELECT secret()"), "42501", "EXECUTE is asked")
            equal(rows(reader, "SELECT has_function_privilege('secret()', 'EXECUTE')"), [(False,)], "and said")
            equal(state_of(reader.execute, "SELECT name_of(1)"), "42501", "within, the caller's rights hold")
            equal(state_of(reader.execute, "SELECT inlined_name(1)"), "42501", "inlined, too")
            equal(state_of(reader.execute, "SELECT * FROM all_posts(1)"), "42501", "and in FROM")
            equal(state_of(reader.execute, "DO $$ BEGIN PERFORM * FROM people; END $$"), "42501", "and in DO")
            equal(state_of(reader.execute, "CREATE FUNCTION mine() RETURNS INT LANGUAGE sql AS 'SELECT 1'"), "42501", "not everybody creates")
            equal(state_of(reader.execute, "DROP FUNCTION spin(int)"), "42501", "nor drops")
        with self.server.connect() as one:
            one.execute("GRANT EXECUTE ON FUNCTION secret() TO reader")
            one.execute("GRANT SELECT ON people TO reader")
            equal(state_of(one.execute, "CREATE FUNCTION d() RETURNS INT LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'"), "0A000",
                  "SECURITY DEFINER is refused")
        with self.server.connect(user="reader") as reader:
            equal(rows(reader, "SELECT secret(), name_of(1), inlined_name(2)"), [(1, "person 1", "person 2")], "granted, it is called")
            equal(state_of(reader.execute, "SELECT write_plain(900, 'x')"), "42501", "what was not granted is not")

    def policies(self):
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("ALTER TABLE plain ENABLE ROW LEVEL SECURITY")
            one.execute("CREATE POLICY first ON plain FOR SELECT TO reader USING (id < 3)")
            one.execute("GRANT SELECT ON plain TO reader")
            one.execute("CREATE FUNCTION count_plain() RETURNS BIGINT LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM plain); END'")
            one.execute("CREATE FUNCTION count_inlined() RETURNS BIGINT LANGUAGE sql AS 'SELECT count(*) FROM plain'")
            mine = rows(one, "SELECT count(*) FROM plain")[0][0]
            equal(rows(one, "SELECT count_plain(), count_inlined()"), [(mine, mine)], "the controller sees all")
        with self.server.connect(user="reader") as reader:
            equal(rows(reader, "SELECT count_plain(), count_inlined()"), [(1, 1)], "policies hold within")
        with self.server.connect() as one:
            one.execute("ALTER TABLE plain DISABLE ROW LEVEL SECURITY")

    def audited(self):
        equal = self.tally.equal
        with self.server.connect() as one:
            read = lambda: rows(one, "SELECT count(*) FROM dogwood.audit WHERE operation = 'select' AND 'people' = ANY (tables)")[0][0]
            for call, name in (("SELECT name_of(3)", "a statement within a function"), ("SELECT inlined_name(3)", "one in the place of a call"),
                               ("DO $$ BEGIN PERFORM name FROM people WHERE id = 4; END $$", "one of DO"),
                               ("SELECT * FROM all_posts(3)", None)):
                before = read()
                one.execute(call)
                time.sleep(0.05)
                if name:
                    self.tally.that(read() > before, f"the audit log has {name}", (before, read()))

    def cancelled(self):
        equal = self.tally.equal
        with self.server.connect() as one, self.server.connect() as other:
            one.execute("SET statement_timeout = '300ms'")
            began = time.monotonic()
            equal(state_of(one.execute, "SELECT spin(2000000000)"), "57014", "a loop ends by statement_timeout")
            equal(state_of(one.execute, "DO $$ BEGIN LOOP NULL; END LOOP; END $$"), "57014", "an endless one")
            equal(state_of(one.execute, "DO $$ BEGIN LOOP BEGIN PERFORM 1; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$"), "57014",
                  "one that catches all")
            self.tally.that(time.monotonic() - began < 15, "soon", time.monotonic() - began)
            one.execute("RESET statement_timeout")
            pid = rows(one, "SELECT pg_backend_pid()")[0][0]
            timer = threading.Timer(0.3, lambda: rows(other, f"SELECT pg_cancel_backend({pid})"))
            timer.start()
            equal(state_of(one.execute, "SELECT write_plain(500, 'no') FROM (SELECT spin(2000000000)) s"), "57014", "by pg_cancel_backend")
            timer.join()
            equal(rows(one, "SELECT count(*) FROM plain WHERE id = 500"), [(0,)], "nothing is left")
            equal(rows(one, "SELECT spin(10)"), [(10,)], "the session goes on")

    def too_deep(self):
        with self.server.connect() as one:
            self.tally.equal(state_of(one.execute, "SELECT deep(1000000)"), "54001", "without an end")
            self.tally.equal(rows(one, "SELECT deep(50)"), [(50,)], "some levels are fine")
            self.tally.that(self.server.alive(), "the server stands")

    def too_large(self):
        with self.server.connect() as one:
            one.execute("SET statement_memory = '64MB'")
            large = "DO $$ DECLARE t TEXT := 'x'; BEGIN LOOP t := t || t; END LOOP; END $$"
            self.tally.equal(state_of(one.execute, large), "53200", "what it holds is bounded")
            self.tally.equal(rows(one, "SELECT spin(3)"), [(3,)], "and given back")

    def replaced(self):
        equal = self.tally.equal
        with self.server.connect() as one, self.server.connect() as other:
            one.execute("CREATE FUNCTION version() RETURNS INT LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'")
            one.execute("CREATE FUNCTION which() RETURNS INT LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'")
            equal(rows(other, "SELECT which()"), [(1,)], "as it was")
            one.execute("CREATE OR REPLACE FUNCTION which() RETURNS INT LANGUAGE plpgsql AS 'BEGIN RETURN 2; END'")
            equal(rows(other, "SELECT which()"), [(2,)], "as it is, in another session too")
            one.execute("BEGIN")
            one.execute("CREATE OR REPLACE FUNCTION which() RETURNS INT LANGUAGE plpgsql AS 'BEGIN RETURN 3; END'")
            equal(rows(one, "SELECT which()"), [(3,)], "within its transaction")
            equal(rows(other, "SELECT which()"), [(2,)], "nobody else's")
            one.execute("ROLLBACK")
            equal(rows(one, "SELECT which()"), [(2,)], "and taken back")
            one.execute("ALTER TABLE plain ADD COLUMN extra INT DEFAULT 7")
            one.execute("CREATE FUNCTION extra_of(i INT) RETURNS SETOF plain LANGUAGE sql AS 'SELECT * FROM plain WHERE id = i'")
            equal(len(rows(one, "SELECT * FROM extra_of(1)")[0]), 3, "a row type as it is")

    def kept_views(self):
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("CREATE FUNCTION twice(i INT) RETURNS INT LANGUAGE sql IMMUTABLE AS 'SELECT i * 2'")
            one.execute("CREATE MATERIALIZED VIEW doubled AS SELECT id, twice(id) AS t, (SELECT count(*) FROM posts WHERE author = people.id) AS n FROM people")
            equal(rows(one, "SELECT t FROM doubled WHERE id = 4"), [(8,)], "an inlined function in a kept view")
            one.execute("INSERT INTO people VALUES (50, 'fifty')")
            equal(rows(one, "SELECT t FROM doubled WHERE id = 50"), [(100,)], "kept up to date")
            equal(state_of(one.execute, "CREATE MATERIALIZED VIEW v AS SELECT spin(id) FROM people"), "0A000", "another is refused there")
            equal(state_of(one.execute, "CREATE OR REPLACE FUNCTION twice(i INT) RETURNS INT LANGUAGE sql IMMUTABLE AS 'SELECT i * 3'"), "0A000",
                  "what is kept by it is not changed under it")
            equal(state_of(one.execute, "DROP FUNCTION twice(INT)"), "2BP01", "nor taken away")
            one.execute("CREATE VIEW shown AS SELECT id, spin(id) AS s FROM people WHERE id < 4")
            equal(rows(one, "SELECT s FROM shown ORDER BY id"), [(1,), (2,), (3,)], "a plain view calls it")
            one.execute("DROP VIEW shown")
            one.execute("DROP MATERIALIZED VIEW doubled")

    def erased(self):
        equal = self.tally.equal
        with self.server.connect() as one, self.server.connect() as other:
            one.execute("INSERT INTO people VALUES (70, %s)", (CANARY,))
            one.execute("CREATE FUNCTION remembers() RETURNS refcursor LANGUAGE plpgsql AS $$ DECLARE c refcursor; "
                        "BEGIN OPEN c FOR SELECT name FROM people WHERE id = 70; RETURN c; END $$")
            equal(rows(one, "SELECT name_of(70)"), [(CANARY,)], "a name is read")
            equal(rows(other, "SELECT name_of(70)"), [(CANARY,)], "by another session")
            one.execute("BEGIN")
            cursor = rows(one, "SELECT remembers()")[0][0]
            other.execute("GDPR FORGET people 70")
            self.tally.that(state_of(one.execute, f'FETCH ALL FROM "{cursor}"') in ("40001", "57P01", "lost"), "a cursor of a function ends with the person")
            state_of(one.execute, "ROLLBACK")
        with self.server.connect() as one, self.server.connect() as other:
            equal(rows(one, "SELECT name_of(70)"), [(None,)], "and is forgotten by the function")
            equal(rows(other, "SELECT name_of(70), inlined_name(70)"), [(None, None)], "wherever it ran")
            equal(rows(one, "SELECT count(*) FROM pg_proc WHERE prosrc LIKE %s", (f"%{CANARY}%",)), [(0,)], "nothing of it in a text")
        self.tally.equal(self.server.files_with(CANARY), [], "nor in a file")

    def erased_beside(self):
        """A function that runs while a person is forgotten gives nothing of them afterwards, whatever it catches."""
        with self.server.connect() as one:
            one.execute("INSERT INTO people VALUES (71, 'seventy-one')")
            one.execute("""CREATE FUNCTION holds(i INT) RETURNS TEXT LANGUAGE plpgsql AS $$
                DECLARE n TEXT; BEGIN SELECT name INTO n FROM people WHERE id = i;
                BEGIN PERFORM pg_sleep(2); EXCEPTION WHEN OTHERS THEN NULL; END;
                PERFORM count(*) FROM people; RETURN n; END $$""")
        self.forgotten_beside(71, "SELECT holds(71)", "it is ended")

    def killed(self):
        with self.server.connect() as one:
            one.execute("CREATE PROCEDURE slow() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO plain VALUES (600, 'half'); PERFORM pg_sleep(30); END $$")
        self.killed_under("CALL slow()")
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT count(*) FROM plain WHERE id = 600"), [(0,)], "killed half-way, nothing is left of it")

    def restarted(self):
        equal = self.tally.equal
        listed = "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prolang > 12 ORDER BY 1, 2"
        with self.server.connect() as one:
            before = rows(one, listed)
            one.execute("COMMENT ON FUNCTION spin(INT) IS 'goes round'")
        self.server.stop()
        self.server.start()
        with self.server.connect() as one:
            equal(rows(one, listed), before, "functions are there after a restart")
            equal(rows(one, "SELECT obj_description('spin'::regproc)"), [("goes round",)], "and what was said of them")
            equal(rows(one, "SELECT spin(4), name_of(2)"), [(4, "person 2")], "and are called")
            for name, text in before[:3]:
                equal(state_of(one.execute, text), "", f"its text makes it again: {name}")

    def dumped(self):
        with self.server.connect() as one:
            one.execute("CREATE TABLE checked (a INT CHECK (twice(a) > 0), b INT DEFAULT twice(4))")
            one.execute("CREATE VIEW by_function AS SELECT id, twice(id) AS t FROM plain")
        text = self.dumped_schema()
        if text is None:
            return
        for wanted in ("CREATE FUNCTION public.name_of(i integer) RETURNS text", "CREATE PROCEDURE public.twofold(IN i integer, IN t text)",
                       "REVOKE ALL ON FUNCTION public.secret() FROM PUBLIC", "COMMENT ON FUNCTION public.spin(n integer)"):
            self.tally.that(wanted in text, f"the dump has {wanted}", text[:2000])


if __name__ == "__main__":
    run_check(Routines())
