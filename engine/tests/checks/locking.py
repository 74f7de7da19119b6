"""Row locks: queues, strengths, subqueries that lock, failed transactions, and every way to wait.

The table of conflicts is the one of PostgreSQL's manual, 13.3.2, written down here. Waits are looked at by NOWAIT or a short
lock_timeout, never by the clock.
"""
import itertools
import threading

import psycopg

from harness import Check, rows, run_check, start_writers, state_of, waiting

SCHEMA = [
    "CREATE TABLE jobs (id INT PRIMARY KEY, state TEXT NOT NULL DEFAULT 'new', worker INT, n INT)",
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT, code INT UNIQUE)",
    "CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT)",
    "CREATE TABLE a (id INT PRIMARY KEY, u INT UNIQUE, x INT)",
    "CREATE TABLE b (id INT PRIMARY KEY, a INT REFERENCES a(id), x INT)",
    "CREATE TABLE d (id INT PRIMARY KEY, a INT REFERENCES a(id) DEFERRABLE INITIALLY DEFERRED)",
]
STRENGTHS = ["KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"]
# How a worker takes the next job, by the place in which the lock stands. Each gives the job's id.
TAKE = {
    "a query of its own": None,
    "a scalar subquery": """UPDATE jobs SET state = 'done', worker = %(me)s WHERE id = (SELECT id FROM jobs WHERE state = 'new'
        ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id""",
    "IN": """UPDATE jobs SET state = 'done', worker = %(me)s WHERE id IN (SELECT id FROM jobs WHERE state = 'new'
        ORDER BY id LIMIT 2 FOR NO KEY UPDATE SKIP LOCKED) RETURNING id""",
    "WITH": """WITH next AS (SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
        UPDATE jobs SET state = 'done', worker = %(me)s FROM next WHERE jobs.id = next.id RETURNING jobs.id""",
    "WITH, and a write in it": """WITH next AS (SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED),
        taken AS (UPDATE jobs SET state = 'done', worker = %(me)s FROM next WHERE jobs.id = next.id RETURNING jobs.id)
        SELECT id FROM taken""",
    "USING": """DELETE FROM jobs USING (SELECT id FROM jobs WHERE state = 'new' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) next
        WHERE jobs.id = next.id RETURNING jobs.id""",
    "= ANY (ARRAY)": """UPDATE jobs SET state = 'done', worker = %(me)s WHERE id = ANY (ARRAY(SELECT id FROM jobs
        WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)) RETURNING id""",
}


class Locking(Check):
    def run(self):
        self.set_up(SCHEMA)
        for place in TAKE:
            self.tally.case(self.queue, place)
        for case in (self.limits, self.conflicts, self.writers, self.several_tables, self.subqueries, self.refusals,
                     self.rechecks, self.conflicts_in_a_snapshot, self.failures, self.savepoints, self.deadlock_victim, self.owners_of_a_parent, self.waits,
                     self.unique_and_foreign_keys, self.definitions, self.timeouts):
            self.tally.case(case)
        self.tally.equal(self.unexpected, {}, "nothing unexpected in threads")

    def three(self):
        return self.server.connect(), self.server.connect(), self.server.connect()

    def queue(self, place):
        """Many workers empty a queue: every job once, nobody is told that it is empty while it is not."""
        take, jobs, workers = TAKE[place], 120, 6
        with self.server.connect() as connection:
            connection.execute("TRUNCATE jobs")
            connection.execute("INSERT INTO jobs (id) SELECT generate_series(1, %s)", (jobs,))
        taken, lock = [], threading.Lock()

        def work(connection, me):
            connection.autocommit = False
            while True:
                if take is None:
                    found = rows(connection, "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
                    for (job,) in found:
                        connection.execute("UPDATE jobs SET state = 'done', worker = %s WHERE id = %s", (me, job))
                else:
                    found = connection.execute(take, {"me": me}).fetchall()
                connection.commit()
                with lock:
                    taken.extend(job for (job,) in found)
                if not found:
                    return

        for thread in start_writers(self, workers, work):
            thread.join(60)
            self.tally.that(not thread.is_alive(), f"queue by {place}: a worker is stuck")
        self.tally.equal(sorted(taken), list(range(1, jobs + 1)), f"queue by {place}: every job once")

    def limits(self):
        """A limit counts what is locked; OFFSET's rows are locked, too."""
        one, two, three = self.three()
        with one, two, three:
            one.execute("TRUNCATE jobs")
            one.execute("INSERT INTO jobs (id) SELECT generate_series(1, 40)")
            one.execute("BEGIN")
            self.tally.equal(rows(one, "SELECT id FROM jobs ORDER BY id LIMIT 7 FOR UPDATE"), [(n,) for n in range(1, 8)], "the first seven")
            two.execute("BEGIN")
            found = rows(two, "SELECT id FROM jobs ORDER BY id LIMIT 2 OFFSET 1 FOR UPDATE SKIP LOCKED")
            self.tally.equal(found, [(9,), (10,)], "LIMIT and OFFSET behind what is locked")
            found = rows(three, "SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
            self.tally.equal(found, [(11,)], "OFFSET's rows are locked")
            self.tally.equal(rows(three, "SELECT id FROM jobs ORDER BY id LIMIT 0 FOR UPDATE"), [], "LIMIT 0 waits for nobody")
            found = rows(three, "SELECT id FROM jobs WHERE id < 20 ORDER BY id DESC LIMIT 100 FOR UPDATE SKIP LOCKED")
            self.tally.equal(found, [(n,) for n in range(19, 10, -1)], "fewer than the limit")
            self.tally.equal(rows(three, "SELECT count(*) FROM (SELECT id FROM jobs FOR UPDATE SKIP LOCKED) free"), [(30,)], "those that are free")
            self.tally.equal(state_of(three.execute, "SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE NOWAIT"), "55P03", "NOWAIT")

    def conflicts(self):
        """Each strength against each, as PostgreSQL has them."""
        compatible = {("KEY SHARE", "KEY SHARE"), ("KEY SHARE", "SHARE"), ("KEY SHARE", "NO KEY UPDATE"), ("SHARE", "KEY SHARE"),
                      ("SHARE", "SHARE"), ("NO KEY UPDATE", "KEY SHARE")}
        with self.server.connect() as one, self.server.connect() as two:
            one.execute("INSERT INTO people VALUES (1, 'a', 1)")
            for held, wanted in itertools.product(STRENGTHS, STRENGTHS):
                one.execute("BEGIN")
                one.execute(f"SELECT 1 FROM people WHERE id = 1 FOR {held}")
                state = state_of(two.execute, f"SELECT 1 FROM people WHERE id = 1 FOR {wanted} NOWAIT")
                self.tally.equal(state, "" if (held, wanted) in compatible else "55P03", f"{wanted} against {held}")
                found = rows(two, f"SELECT id FROM people FOR {wanted} SKIP LOCKED")
                self.tally.equal(found, [(1,)] if (held, wanted) in compatible else [], f"{wanted} skips {held}")
                one.execute("ROLLBACK")
            one.execute("GDPR FORGET people 1")

    def writers(self):
        """What writes take: a key that goes or changes FOR UPDATE, all else NO KEY UPDATE, foreign keys KEY SHARE."""
        with self.server.connect() as one, self.server.connect() as two:
            one.execute("INSERT INTO a VALUES (1, 10, 0), (2, 20, 0)")
            for write, strongest in [
                ("UPDATE a SET x = x + 1 WHERE id = 1", "KEY SHARE"),
                ("UPDATE a SET id = id, u = 10, x = 3 WHERE id = 1", "KEY SHARE"),
                ("UPDATE a SET u = 11 WHERE id = 1", None),
                ("DELETE FROM a WHERE id = 1", None),
                ("INSERT INTO b VALUES (1, 1, 0)", "NO KEY UPDATE"),
                ("INSERT INTO a VALUES (1, 1, 1) ON CONFLICT (id) DO UPDATE SET x = 5", "KEY SHARE"),
                ("INSERT INTO a VALUES (1, 1, 1) ON CONFLICT (id) DO NOTHING", "NO KEY UPDATE"),
            ]:
                one.execute("BEGIN")
                one.execute(write)
                free = [strength for strength in STRENGTHS
                        if state_of(two.execute, f"SELECT 1 FROM a WHERE id = 1 FOR {strength} NOWAIT") == ""]
                expected = STRENGTHS[:STRENGTHS.index(strongest) + 1] if strongest else []
                self.tally.equal(free, expected, f"beside {write}")
                one.execute("ROLLBACK")
            # Children come while their parent changes, and the other way round.
            one.execute("BEGIN")
            one.execute("UPDATE a SET x = 7 WHERE id = 1")
            two.execute("SET lock_timeout = '2s'")
            self.tally.equal(state_of(two.execute, "INSERT INTO b VALUES (1, 1, 0)"), "", "a child beside a change of its parent")
            one.execute("COMMIT")
            two.execute("BEGIN")
            two.execute("INSERT INTO b VALUES (2, 1, 0)")
            one.execute("SET lock_timeout = '100ms'")
            self.tally.equal(state_of(one.execute, "UPDATE a SET x = 8 WHERE id = 1"), "", "a parent changes beside a new child")
            self.tally.equal(state_of(one.execute, "UPDATE a SET id = 9 WHERE id = 1"), "55P03", "its key does not")
            two.execute("ROLLBACK")
            one.execute("DELETE FROM b")
            one.execute("DELETE FROM a")

    def several_tables(self):
        with self.server.connect() as one, self.server.connect() as two:
            one.execute("INSERT INTO a VALUES (1, 1, 0)")
            one.execute("INSERT INTO b VALUES (1, 1, 0), (2, NULL, 0)")

            def held(query):
                one.execute("BEGIN")
                one.execute(query)
                free = tuple(state_of(two.execute, f"SELECT 1 FROM {table} WHERE id = 1 FOR UPDATE NOWAIT") == "" for table in "ab")
                one.execute("ROLLBACK")
                return free

            join = "SELECT 1 FROM a, b WHERE a.id = b.a"
            for clause, expected in [
                ("FOR UPDATE", (False, False)), ("FOR UPDATE OF a", (True, False)[::-1]), ("FOR UPDATE OF b", (True, False)),
                ("FOR UPDATE OF a, b", (False, False)), ("FOR SHARE OF a FOR UPDATE OF b NOWAIT", (False, False)),
            ]:
                self.tally.equal(held(f"{join} {clause}"), expected, clause)
            self.tally.equal(held("SELECT 1 FROM b LEFT JOIN a ON a.id = b.a WHERE b.id = 2 FOR UPDATE OF b"), (True, True), "another row")
            self.tally.equal(held("SELECT 1 FROM (SELECT id FROM a WHERE x = 0) s, b FOR UPDATE OF s"), (False, True), "a subquery's table")
            self.tally.equal(held("SELECT 1 FROM (SELECT a.id FROM a JOIN b ON a.id = b.a) s WHERE s.id = 1 FOR UPDATE"), (False, False),
                             "all tables of a subquery")
            self.tally.equal(held("SELECT 1 FROM (SELECT id FROM a) s WHERE s.id = 77 FOR UPDATE"), (True, True), "a subquery's rows that are wanted")
            self.tally.equal(held("SELECT 1 FROM (SELECT id FROM a FOR SHARE) s"), (False, True), "a subquery that locks")
            one.execute("DELETE FROM b")
            one.execute("DELETE FROM a")

    def subqueries(self):
        """Subqueries that lock stand wherever subqueries do, and are run once."""
        with self.server.connect() as one, self.server.connect() as two:
            one.execute("TRUNCATE jobs")
            one.execute("INSERT INTO jobs (id, n) SELECT i, 10 - i FROM generate_series(1, 8) i")
            one.execute("CREATE VIEW late AS SELECT id, n FROM jobs WHERE id > 1")
            two.execute("BEGIN")
            two.execute("SELECT id FROM jobs WHERE id IN (1, 2) FOR UPDATE")
            cases = {
                "SELECT (SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)": [(3,)],
                "SELECT s.n, s.id FROM (SELECT id, n FROM jobs ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED) s ORDER BY 2 DESC": [(6, 4), (7, 3)],
                "SELECT id FROM jobs WHERE EXISTS (SELECT 1 FROM jobs WHERE id = 1 FOR UPDATE SKIP LOCKED)": [],
                "WITH c AS (SELECT id FROM jobs WHERE id > 6 FOR UPDATE) SELECT x.id, y.id FROM c x, c y WHERE x.id < y.id": [(7, 8)],
                "WITH c AS (SELECT id FROM jobs WHERE id = 1 FOR UPDATE NOWAIT) SELECT 5": [(5,)],
                "WITH few AS (SELECT 5 AS id) SELECT s.id FROM (SELECT id FROM jobs WHERE id IN (SELECT id FROM few) FOR UPDATE) s": [(5,)],
                "SELECT sum(s.id) FROM (SELECT id FROM jobs FOR UPDATE SKIP LOCKED) s": [(33,)],
                "SELECT 2 FOR UPDATE": [(2,)],
                "SELECT (SELECT 3 FOR SHARE NOWAIT), n FROM jobs WHERE id = 4 FOR KEY SHARE": [(3, 6)],
                "SELECT id FROM late ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED": [(3,)],
                "SELECT j.id FROM late AS j WHERE id < 5 FOR UPDATE OF j SKIP LOCKED": [(3,), (4,)],
                "SELECT b.id FROM jobs b LEFT JOIN late l ON l.id = b.n WHERE l.id = 6 FOR UPDATE SKIP LOCKED": [(4,)],
                "SELECT id FROM (jobs JOIN late USING (id)) AS j WHERE id < 4 FOR UPDATE OF late SKIP LOCKED": [(3,)],
                "SELECT id FROM jobs ORDER BY id LIMIT (SELECT 1)": [(1,)],
                "SELECT 1, NULL UNION ALL SELECT (SELECT id FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED), 'x'": [(1, None), (3, "x")],
                "SELECT id FROM (SELECT id FROM jobs WHERE id = (SELECT max(s.id) FROM (SELECT id FROM jobs FOR SHARE SKIP LOCKED) s) FOR UPDATE) t": [(8,)],
            }
            for query, expected in cases.items():
                self.tally.equal(rows(one, query), expected, query)
            self.tally.equal(rows(one, "SELECT s.id FROM (SELECT id FROM jobs WHERE id > %s ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED) s", (3, 2)),
                             [(4,), (5,)], "parameters")
            one.execute("INSERT INTO a (id) SELECT id FROM jobs ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED")
            self.tally.equal(rows(one, "SELECT id FROM a ORDER BY 1"), [(3,), (4,), (5,)], "INSERT … SELECT … FOR UPDATE")
            one.execute("CREATE TABLE copied AS SELECT id FROM jobs ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1")
            self.tally.equal(rows(one, "SELECT id FROM copied"), [(3,)], "CREATE TABLE AS … FOR UPDATE")
            one.execute("DROP TABLE copied")
            one.execute("DROP VIEW late")
            one.execute("DELETE FROM a")
            one.execute("PREPARE next AS SELECT id FROM jobs WHERE id = (SELECT id FROM jobs WHERE id > $1 LIMIT 1 FOR UPDATE)")
            self.tally.equal(rows(one, "EXECUTE next (7)"), [(8,)], "EXECUTE")
            one.execute("BEGIN")
            one.execute("DECLARE c CURSOR FOR SELECT id FROM jobs ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED")
            self.tally.equal(rows(one, "FETCH ALL c"), [(3,), (4,)], "a cursor")
            one.execute("COMMIT")
            plan = "\n".join(line for (line,) in rows(one, "EXPLAIN UPDATE jobs SET n = 0 WHERE id = (SELECT id FROM jobs LIMIT 1 FOR UPDATE)"))
            self.tally.that("locked_rows" in plan and "for update" in plan, "EXPLAIN shows the lock", plan)
            rows(one, "EXPLAIN ANALYZE SELECT * FROM jobs WHERE id IN (SELECT id FROM jobs LIMIT 1 FOR UPDATE SKIP LOCKED)")

    def refusals(self):
        with self.server.connect() as connection:
            for query, expected in {
                "SELECT count(*) FROM a FOR UPDATE": "0A000", "SELECT DISTINCT x FROM a FOR SHARE": "0A000",
                "SELECT x FROM a GROUP BY x FOR NO KEY UPDATE": "0A000", "SELECT 1 UNION SELECT id FROM a FOR UPDATE": "0A000",
                "(SELECT id FROM a FOR UPDATE) UNION SELECT 1": "0A000", "VALUES (1) FOR UPDATE": "0A000",
                "SELECT 1 FROM a FOR UPDATE OF b": "42P01", "SELECT 1 FROM a FOR UPDATE OF public.a": "42601",
                "SELECT 1 FROM generate_series(1, 2) g FOR UPDATE OF g": "0A000",
                "WITH c AS (SELECT 1) SELECT 1 FROM c FOR UPDATE OF c": "0A000",
                "SELECT (SELECT x FROM b WHERE b.a = a.id FOR UPDATE) FROM a": "0A000",
                "SELECT * FROM (SELECT count(*) FROM a) s FOR UPDATE": "0A000",
                "SELECT * FROM a LEFT JOIN b ON b.a = a.id FOR UPDATE": "0A000",
                "SELECT * FROM a FULL JOIN b ON b.a = a.id FOR UPDATE OF a": "0A000",
                "SELECT * FROM a LEFT JOIN b ON b.a = a.id FOR UPDATE OF a": "",
                "SELECT * FROM (a JOIN b ON b.a = a.id) AS j (p) FOR UPDATE OF j": "0A000",
                "SELECT id FROM a LIMIT (SELECT 1) FOR UPDATE": "0A000",
                "CREATE VIEW v AS SELECT id FROM a WHERE id IN (SELECT id FROM a FOR UPDATE)": "0A000",
            }.items():
                self.tally.equal(state_of(connection.execute, query), expected, query)
            for words in ("c CURSOR WITH HOLD", "c SCROLL CURSOR"):
                connection.execute("BEGIN")
                self.tally.equal(state_of(connection.execute, f"DECLARE {words} FOR SELECT id FROM a FOR SHARE"), "0A000", words)
                connection.execute("ROLLBACK")
            connection.execute("BEGIN READ ONLY")
            self.tally.equal(state_of(connection.execute, "SELECT 1 FROM a FOR KEY SHARE"), "25006", "read only")
            connection.execute("ROLLBACK")

    def rechecks(self):
        """A row that was waited for is looked at again; REPEATABLE READ says 40001."""
        one, two, three = self.three()
        with one, two, three:
            one.execute("TRUNCATE jobs")
            one.execute("INSERT INTO jobs (id, n) VALUES (1, 0), (2, 0), (3, 0)")
            cases = {
                "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE": [(2,)],
                "SELECT n FROM jobs WHERE id = 1 FOR SHARE": [(5,)],
                "SELECT s.n FROM (SELECT n FROM jobs WHERE id = 1 FOR UPDATE) s": [(5,)],
                "UPDATE jobs SET n = n + 1 WHERE id = (SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE) RETURNING id": [(2,)],
                "WITH c AS (SELECT id FROM jobs WHERE n = 0 FOR UPDATE) DELETE FROM jobs USING c WHERE c.id = jobs.id RETURNING jobs.id": [(2,), (3,)],
            }
            for query, expected in cases.items():
                for isolation in ("READ COMMITTED", "REPEATABLE READ"):
                    one.execute("BEGIN")
                    one.execute("UPDATE jobs SET state = 'done', n = 5 WHERE id = 1")
                    two.execute(f"BEGIN ISOLATION LEVEL {isolation}")
                    two.execute("SELECT 1 FROM jobs LIMIT 1")
                    # Once it waits, a NOWAIT for the row that it would have taken first shows nothing: it is one's.
                    result = waiting(lambda: attempt(two, query), lambda: one.execute("COMMIT"))
                    expects = expected if isolation == "READ COMMITTED" else "40001"
                    self.tally.equal(result and sorted_rows(result), expects, f"{query} in {isolation}")
                    two.execute("ROLLBACK")
                    one.execute("UPDATE jobs SET state = 'new', n = 0 WHERE id = 1")

    def conflicts_in_a_snapshot(self):
        """ON CONFLICT in REPEATABLE READ goes by rows that the snapshot shows, or not at all."""
        with self.server.connect() as one, self.server.connect() as two:
            for before, meanwhile, action, expected in [
                (None, "INSERT INTO a VALUES (1, 1, 5)", "UPDATE SET x = a.x + 1", "40001"),
                (None, "INSERT INTO a VALUES (1, 1, 5)", "NOTHING", "40001"),
                ("INSERT INTO a VALUES (1, 1, 0)", "UPDATE a SET x = 5", "UPDATE SET x = a.x + 1", "40001"),
                ("INSERT INTO a VALUES (1, 1, 0)", "UPDATE a SET x = 5", "NOTHING", ""),
                ("INSERT INTO a VALUES (1, 1, 0)", "INSERT INTO a VALUES (2, 2, 0)", "UPDATE SET x = a.x + 1", ""),
            ]:
                one.execute("DELETE FROM a")
                if before:
                    one.execute(before)
                two.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                two.execute("SELECT * FROM a")
                one.execute(meanwhile)
                for target in ("(id)", "(u)"):
                    two.execute("SAVEPOINT s")
                    self.tally.equal(state_of(two.execute, f"INSERT INTO a VALUES (1, 1, 9) ON CONFLICT {target} DO {action}"), expected,
                                     f"ON CONFLICT {target} DO {action} after {before} and {meanwhile}")
                    two.execute("ROLLBACK TO s")
                two.execute("ROLLBACK")
            one.execute("DELETE FROM a")

    def failures(self):
        """A failed transaction gives its locks back at once."""
        with self.server.connect() as one, self.server.connect() as two:
            one.execute("INSERT INTO a VALUES (1, 1, 0), (2, 2, 0)")
            two.execute("SET lock_timeout = '100ms'")
            for lock, want in [
                ("UPDATE a SET x = 1 WHERE id = 1", "UPDATE a SET x = 2 WHERE id = 1"),
                ("SELECT 1 FROM a WHERE id = 1 FOR UPDATE", "DELETE FROM a WHERE id = 77 OR id = 1"),
                ("INSERT INTO a VALUES (5, 5, 0)", "INSERT INTO a VALUES (6, 5, 0)"),
                ("INSERT INTO b VALUES (1, 1, 0)", "SELECT 1 FROM a WHERE id = 1 FOR UPDATE"),
                ("LOCK TABLE a", "INSERT INTO a VALUES (7, 7, 0)"),
                ("ALTER TABLE a ADD COLUMN more INT", "ALTER TABLE a ADD COLUMN less INT"),
            ]:
                one.execute("BEGIN")
                one.execute(lock)
                two.execute("BEGIN")
                self.tally.equal(state_of(two.execute, want), "55P03", f"{want} while another has it")
                two.execute("ROLLBACK")
                self.tally.equal(state_of(one.execute, "SELECT 1/0"), "22012", "it fails")
                two.execute("BEGIN")
                self.tally.equal(state_of(two.execute, want), "", f"{want} once the other has failed")
                two.execute("ROLLBACK")
                self.tally.equal(state_of(one.execute, "SELECT 1"), "25P02", "it has failed")
                self.tally.equal(one.execute("COMMIT").statusmessage, "ROLLBACK", "COMMIT of a failed transaction")
            self.tally.equal(rows(one, "SELECT id, x FROM a ORDER BY id"), [(1, 0), (2, 0)], "nothing has happened")

    def savepoints(self):
        """Those taken since the savepoint are given back, at the failure or by ROLLBACK TO; the others stay, as strong as they were."""
        with self.server.connect() as one, self.server.connect() as two:
            free = lambda row, strength="UPDATE": state_of(two.execute, f"SELECT 1 FROM a WHERE id = {row} FOR {strength} NOWAIT") == ""
            for fails in (True, False):
                one.execute("BEGIN")
                one.execute("SELECT 1 FROM a WHERE id = 1 FOR SHARE")
                one.execute("SAVEPOINT s")
                one.execute("UPDATE a SET x = x + 1")
                self.tally.equal((free(1, "SHARE"), free(2)), (False, False), "locked in the savepoint")
                if fails:
                    self.tally.equal(state_of(one.execute, "SELECT 1/0"), "22012", "it fails")
                else:
                    one.execute("ROLLBACK TO s")
                self.tally.equal((free(1, "SHARE"), free(1), free(2)), (True, False, True), f"since the savepoint, failed: {fails}")
                one.execute("ROLLBACK TO s")
                one.execute("UPDATE a SET x = x + 10 WHERE id = 2")
                one.execute("RELEASE s")
                self.tally.equal((free(1), free(2)), (False, False), "RELEASE keeps them")
                one.execute("COMMIT")
                self.tally.equal((free(1), free(2)), (True, True), "COMMIT frees them")
            # What a foreign key found under a lock that is given back is looked for again.
            one.execute("BEGIN")
            one.execute("SAVEPOINT s")
            one.execute("INSERT INTO b VALUES (1, 2, 0)")
            one.execute("ROLLBACK TO s")
            two.execute("DELETE FROM a WHERE id = 2")
            self.tally.equal(state_of(one.execute, "INSERT INTO b VALUES (1, 2, 0)"), "23503", "the parent is gone meanwhile")
            one.execute("ROLLBACK")
            one.execute("INSERT INTO a VALUES (2, 2, 0)")

    def deadlock_victim(self):
        one, two, three = self.three()
        with one, two, three:
            one.execute("BEGIN")
            two.execute("BEGIN")
            one.execute("UPDATE a SET x = 100 WHERE id = 1")
            two.execute("UPDATE a SET x = 200 WHERE id = 2")
            states = []
            # The victim does not answer yet, and the other goes on all the same.
            first = waiting(lambda: state_of(one.execute, "UPDATE a SET x = 100 WHERE id = 2"),
                            lambda: states.append(state_of(two.execute, "UPDATE a SET x = 200 WHERE id = 1")))
            self.tally.that(first is not None, "the other one of a deadlock waits for the victim's ROLLBACK")
            self.tally.equal(sorted(map(str, [first, *states])), ["", "40P01"], "a deadlock has one victim")
            one.execute("ROLLBACK")
            two.execute("ROLLBACK")

    def owners_of_a_parent(self):
        """A child that comes while its parent changes hands belongs to whoever has the parent in the end."""
        with self.server.connect() as one, self.server.connect() as two:
            one.execute("CREATE TABLE leaves (id INT PRIMARY KEY, note INT NOT NULL OWNED_BY notes(id))")
            one.execute("INSERT INTO people VALUES (10, 'p', 10), (11, 'q', 11)")
            for number in range(10):
                one.execute("INSERT INTO notes VALUES (%s, 10, 'x')", (number,))
                two.execute("BEGIN")
                two.execute("INSERT INTO leaves VALUES (%s, %s)", (number, number))
                one.execute("BEGIN")
                one.execute("UPDATE notes SET person = 11 WHERE id = %s", (number,))
                for connection in (one, two) if number % 2 else (two, one):
                    connection.execute("COMMIT")
            owned = [rows(one, f"SELECT count(*) FROM leaves"), len([1 for row in rows(one, "GDPR GET people 11") if row[0] == "leaves"]),
                     len([1 for row in rows(one, "GDPR GET people 10") if row[0] == "leaves"])]
            self.tally.equal(owned, [[(10,)], 10, 0], "leaves follow their note")
            one.execute("DROP TABLE leaves")
            one.execute("GDPR FORGET people 10")
            one.execute("GDPR FORGET people 11")

    def waits(self):
        """lock_timeout and statement_timeout end every wait for a lock."""
        one, two, three = self.three()
        with one, two, three:
            one.execute("INSERT INTO people VALUES (20, 'x', 20)")
            one.execute("INSERT INTO notes VALUES (20, 20, 'n')")
            held = {
                "UPDATE a SET id = 50, u = 50 WHERE id = 1": [
                    "UPDATE a SET x = 0 WHERE id = 1", "DELETE FROM a WHERE id = 1", "INSERT INTO b VALUES (9, 1, 0)",
                    "SELECT 1 FROM a WHERE id = 1 FOR KEY SHARE", "UPDATE b SET x = 1 WHERE a = (SELECT id FROM a WHERE id = 1 FOR UPDATE)",
                    "INSERT INTO a VALUES (50, 8, 0)", "INSERT INTO a VALUES (8, 50, 0)", "INSERT INTO a VALUES (51, 1, 0)",
                    "INSERT INTO a VALUES (50, 9, 9) ON CONFLICT (id) DO UPDATE SET x = 1", "INSERT INTO a VALUES (8, 50, 0) ON CONFLICT (u) DO NOTHING",
                    "UPDATE a SET u = 50 WHERE id = 2", "ALTER TABLE a ADD COLUMN y INT", "DROP TABLE b, d, a", "TRUNCATE a CASCADE", "LOCK TABLE a",
                    "CREATE INDEX ON a (x)", "DECLARE c CURSOR FOR SELECT 1 FROM a WHERE id = 1 FOR UPDATE",
                    "CREATE TABLE t AS SELECT id FROM a WHERE id = 1 FOR UPDATE", "COPY (SELECT id FROM a WHERE id = 1 FOR SHARE) TO STDOUT",
                    "WITH c AS (SELECT id FROM a WHERE id = 1 FOR UPDATE) SELECT id FROM c",
                ],
                "DELETE FROM b WHERE id = 1": ["DELETE FROM a WHERE id = 1", "DELETE FROM b"],
                "UPDATE notes SET body = 'y' WHERE id = 20": ["GDPR FORGET people 20", "DELETE FROM notes"],
                "LOCK TABLE b": ["INSERT INTO b VALUES (9, NULL, 0)", "SELECT 1 FROM b FOR KEY SHARE", "DELETE FROM b"],
            }
            for hold, wants in held.items():
                if " b " in hold:
                    one.execute("INSERT INTO b VALUES (1, 1, 0)")
                one.execute("BEGIN")
                one.execute(hold)
                for want in wants:
                    for setting, expected in (("lock_timeout", "55P03"), ("statement_timeout", "57014")):
                        alone = want.startswith("GDPR")
                        two.execute(f"SET {setting} = '60ms'")
                        if not alone:
                            two.execute("BEGIN")
                        self.tally.equal(state_of(consume, two, want), expected, f"{setting}: {want} beside {hold}")
                        if not alone:
                            two.execute("ROLLBACK")
                        two.execute(f"SET {setting} = '20s'")
                one.execute("ROLLBACK")
            # COPY FROM, and what is checked at COMMIT.
            one.execute("DELETE FROM b")
            one.execute("BEGIN")
            one.execute("UPDATE a SET id = 50 WHERE id = 1")
            two.execute("SET lock_timeout = '60ms'")

            def copy():
                with two.cursor().copy("COPY b (id, a, x) FROM STDIN") as data:
                    data.write("77\t1\t0\n")

            self.tally.equal(state_of(copy), "55P03", "lock_timeout: COPY FROM and its foreign keys")
            two.execute("BEGIN")
            two.execute("INSERT INTO d VALUES (1, 1)")
            self.tally.equal(state_of(two.execute, "COMMIT"), "55P03", "lock_timeout: a deferred foreign key at COMMIT")
            one.execute("ROLLBACK")
            one.execute("DELETE FROM b")
            one.execute("GDPR FORGET people 20")

    def unique_and_foreign_keys(self):
        """Who is about to take a key or a child away is waited for, and decides."""
        with self.server.connect() as one, self.server.connect() as two:
            for commit, hold, want, expected in [
                (True, "DELETE FROM a WHERE id = 1", "INSERT INTO a VALUES (3, 1, 0)", ""),
                (False, "DELETE FROM a WHERE id = 1", "INSERT INTO a VALUES (3, 1, 0)", "23505"),
                (True, "UPDATE a SET u = 9 WHERE id = 1", "UPDATE a SET u = 1 WHERE id = 2", ""),
                (False, "UPDATE a SET u = 9 WHERE id = 1", "UPDATE a SET u = 1 WHERE id = 2", "23505"),
                (True, "DELETE FROM b WHERE id = 1", "DELETE FROM a WHERE id = 2", ""),
                (False, "DELETE FROM b WHERE id = 1", "DELETE FROM a WHERE id = 2", "23503"),
            ]:
                one.execute("DELETE FROM b")
                one.execute("DELETE FROM a")
                one.execute("INSERT INTO a VALUES (1, 1, 0), (2, 2, 0)")
                one.execute("INSERT INTO b VALUES (1, 2, 0)")
                one.execute("BEGIN")
                one.execute(hold)
                result = waiting(lambda: state_of(two.execute, want), lambda: one.execute("COMMIT" if commit else "ROLLBACK"))
                self.tally.equal(result, expected, f"{want} after {hold}, committed: {commit}")
            one.execute("DELETE FROM b")
            one.execute("DELETE FROM a")

    def definitions(self):
        """Statements that waited for a definition are planned anew; rows that are locked hold definitions up."""
        one, two, three = self.three()
        with one, two, three:
            for change, write, look, expected in [
                ("ALTER TABLE t ADD COLUMN z INT DEFAULT 7", "INSERT INTO t (id) VALUES (1)", "SELECT id, x, z FROM t", [(1, None, 7)]),
                ("ALTER TABLE t ALTER COLUMN x TYPE TEXT", "INSERT INTO t (id, x) VALUES (1, 5)", "SELECT id, x FROM t", [(1, "5")]),
                ("ALTER TABLE t ALTER COLUMN x SET DEFAULT 3", "INSERT INTO t (id) VALUES (1)", "SELECT id, x FROM t", [(1, 3)]),
                ("ALTER TABLE t ADD CONSTRAINT c CHECK (id > 1)", "INSERT INTO t (id) VALUES (1)", "SELECT id FROM t", []),
            ]:
                one.execute("CREATE TABLE t (id INT PRIMARY KEY, x INT)")
                one.execute("BEGIN")
                one.execute(change)
                waiting(lambda: state_of(two.execute, write), lambda: one.execute("COMMIT"))
                self.tally.equal(rows(three, look), expected, f"{write} after {change}")
                one.execute("DROP TABLE t")
            one.execute("INSERT INTO a VALUES (1, 1, 0)")
            one.execute("BEGIN")
            one.execute("SELECT 1 FROM a WHERE id = 1 FOR KEY SHARE")
            two.execute("SET lock_timeout = '60ms'")
            for want in ("TRUNCATE a CASCADE", "DROP TABLE b, d, a", "ALTER TABLE a DROP COLUMN x"):
                self.tally.equal(state_of(two.execute, want), "55P03", f"{want} beside a locked row")
            one.execute("ROLLBACK")
            one.execute("DELETE FROM a")

    def timeouts(self):
        """Sessions that stay in a transaction are ended, and their locks freed."""
        with self.server.connect() as three:
            three.execute("INSERT INTO a VALUES (1, 1, 0)")
            for setting, then, expected in [
                ("idle_in_transaction_session_timeout", None, "25P03"),
                ("transaction_timeout", None, "25P04"),
                ("transaction_timeout", "SELECT pg_sleep(30)", "25P04"),
                ("transaction_timeout", "UPDATE a SET x = 5 WHERE id = 2", "25P04"),
            ]:
                with self.server.connect() as holder:
                    three.execute("INSERT INTO a VALUES (2, 2, 0) ON CONFLICT DO NOTHING")
                    holder.execute("BEGIN")
                    holder.execute("SELECT 1 FROM a WHERE id = 2 FOR UPDATE")
                    one = self.server.connect()
                    one.execute(f"SET {setting} = '1s'")
                    one.execute("BEGIN")
                    one.execute("UPDATE a SET x = 1 WHERE id = 1")
                    if then:
                        self.tally.equal(state_of(one.execute, then), expected, f"{setting}: {then}")
                    three.execute("SET lock_timeout = '20s'")
                    self.tally.equal(state_of(three.execute, "UPDATE a SET x = 2 WHERE id = 1"), "", f"{setting}: its locks are free")
                    if not then:
                        self.tally.equal(state_of(one.execute, "SELECT 1"), expected, f"{setting}: the session has ended")
                    self.tally.that(one.closed or state_of(one.execute, "SELECT 1") != "", f"{setting}: the connection is closed")
            for alone in ("SELECT pg_sleep(30)", "SELECT count(*) FROM generate_series(1, 1000000000)", "UPDATE a SET x = 5 WHERE id = 1"):
                with self.server.connect() as holder:
                    holder.execute("BEGIN")
                    holder.execute("SELECT 1 FROM a WHERE id = 1 FOR UPDATE")
                    one = self.server.connect()
                    one.execute("SET transaction_timeout = '300ms'")
                    self.tally.equal(state_of(one.execute, alone), "25P04", f"a transaction of its own: {alone}")
                    self.tally.that(one.closed, f"the connection is closed: {alone}")
                    one = self.server.connect()
                    one.execute("SET transaction_timeout = '30s'")
                    one.execute("SET statement_timeout = '200ms'")
                    self.tally.equal(state_of(one.execute, alone), "57014", f"statement_timeout comes first: {alone}")
                    one.close()
            with self.server.connect() as one:
                one.execute("SET transaction_timeout = '5s'")
                one.execute("BEGIN")
                one.execute("SELECT 1")
                one.execute("COMMIT")
                self.tally.equal(rows(one, "SHOW transaction_timeout"), [("5s",)], "transaction_timeout is shown")
            three.execute("DELETE FROM a")


def attempt(connection, query):
    try:
        return rows(connection, query)
    except psycopg.Error as error:
        return error.sqlstate


def sorted_rows(found):
    return sorted(found) if isinstance(found, list) else found


def consume(connection, statement):
    if statement.startswith("COPY"):
        with connection.cursor().copy(statement) as data:
            for _ in data:
                pass
    else:
        connection.execute(statement)


if __name__ == "__main__":
    run_check(Locking())
