"""Triggers where state matters: by whom they run, COPY, notifications, many rows, cancelled, killed, too deep, beside an erasure, over a
restart and a dump. What they give is in `planner/tests/checks/corpus/82_triggers.sql`.

    triggers.py
"""
import threading

from harness import rows, run_check, state_of
from support.called_bodies import CalledBodies

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE posts (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY people(id), body TEXT)",
    "CREATE TABLE jobs (id INT PRIMARY KEY, queue TEXT)",
    "CREATE TABLE seen (id INT, so_far BIGINT)",
    """CREATE FUNCTION tell() RETURNS TRIGGER LANGUAGE plpgsql AS $$
       DECLARE payload JSON;
       BEGIN payload = json_build_object('queue', NEW.queue); PERFORM pg_notify('jobs', payload::TEXT); RETURN NULL; END $$""",
    "CREATE FUNCTION note() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen SELECT NEW.id, count(*) FROM jobs; RETURN NULL; END'",
    "CREATE TRIGGER telling AFTER INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION tell()",
]
CANARY = "trigger canary 7b20fe"


class Triggers(CalledBodies):
    def run(self):
        self.set_up(SCHEMA)
        for case in (self.notified, self.copied, self.many, self.explained, self.rights, self.cancelled, self.too_deep, self.of_its_transaction,
                     self.replaced, self.erased, self.erased_beside, self.refused, self.killed, self.restarted, self.dumped):
            self.tally.case(case)

    def notified(self):
        with self.server.connect() as one, self.server.connect() as other:
            one.execute("LISTEN jobs")
            other.execute("BEGIN")
            other.execute("INSERT INTO jobs VALUES (1, 'a'), (2, 'a'), (3, 'b')")
            self.tally.equal([told.payload for told in one.notifies(timeout=0.2)], [], "nothing is told before the commit")
            other.execute("COMMIT")
            self.tally.equal([told.payload for told in one.notifies(timeout=5, stop_after=2)], ['{"queue" : "a"}', '{"queue" : "b"}'],
                             "each once, in their order")

    def copied(self):
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("CREATE TRIGGER noting AFTER INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION note()")
            with one.cursor() as cursor, cursor.copy("COPY jobs FROM STDIN") as copy:
                for number in range(100, 2600):
                    copy.write_row((number, "c"))
            equal(rows(one, "SELECT count(*), min(so_far), max(so_far) FROM seen"), [(2500, 2503, 2503)], "COPY calls them once all rows are there")
            one.execute("ALTER TABLE jobs DISABLE TRIGGER noting")

    def many(self):
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("DELETE FROM seen")
            one.execute("CREATE FUNCTION plain_note() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN INSERT INTO seen VALUES (NEW.id, 0); RETURN NULL; END'")
            one.execute("CREATE TABLE wide (id INT, filling TEXT)")
            one.execute("CREATE TRIGGER noting AFTER INSERT ON wide FOR EACH ROW EXECUTE FUNCTION plain_note()")
            one.execute("INSERT INTO wide SELECT g, repeat('x', 1000) FROM generate_series(1, 20000) g")
            equal(rows(one, "SELECT count(*), count(DISTINCT id), sum(id) FROM seen"), [(20000, 20000, 200010000)], "of more rows than memory holds each once")

    def explained(self):
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("DELETE FROM seen")
            one.execute("EXPLAIN INSERT INTO wide VALUES (1, 'x')")
            equal(rows(one, "SELECT count(*) FROM seen"), [(0,)], "EXPLAIN calls none")
            one.execute("EXPLAIN ANALYZE INSERT INTO wide VALUES (1, 'x')")
            equal(rows(one, "SELECT count(*) FROM seen"), [(1,)], "with ANALYZE it does")
            for turn in range(8):
                one.execute("INSERT INTO wide VALUES (%s, 'prepared')", (turn,))
            equal(rows(one, "SELECT count(*) FROM seen"), [(9,)], "prepared statements do")
            one.execute("INSERT INTO wide VALUES (30, 'a'); INSERT INTO wide VALUES (31, 'b')")
            equal(rows(one, "SELECT count(*) FROM seen"), [(11,)], "several in one message do")

    def rights(self):
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("CREATE ROLE writer LOGIN PASSWORD 'writer-secret-1'")
            one.execute("GRANT INSERT, SELECT ON wide TO writer")
        create = "CREATE TRIGGER mine AFTER INSERT ON wide FOR EACH ROW EXECUTE FUNCTION plain_note()"
        with self.server.connect(user="writer") as writer:
            equal(state_of(writer.execute, create), "42501", "TRIGGER is asked")
            equal(state_of(writer.execute, "DROP TRIGGER noting ON wide"), "42501", "only the owner drops")
            equal(state_of(writer.execute, "ALTER TABLE wide DISABLE TRIGGER noting"), "42501", "and disables")
            equal(state_of(writer.execute, "INSERT INTO wide VALUES (40, 'w')"), "42501", "it runs as the role that inserts")
            equal(rows(writer, "SELECT count(*) FROM wide WHERE filling = 'w'"), [(0,)], "and what it may not leaves nothing")
        with self.server.connect() as one:
            one.execute("GRANT INSERT ON seen TO writer")
            one.execute("GRANT TRIGGER ON wide TO writer")
            one.execute("REVOKE EXECUTE ON FUNCTION plain_note() FROM PUBLIC")
        with self.server.connect(user="writer") as writer:
            equal(state_of(writer.execute, "INSERT INTO wide VALUES (40, 'w')"), "", "with the rights it does, EXECUTE is not asked")
            equal(state_of(writer.execute, create), "42501", "but when it is created")
        with self.server.connect() as one:
            one.execute("GRANT EXECUTE ON FUNCTION plain_note() TO writer")
        with self.server.connect(user="writer") as writer:
            equal(state_of(writer.execute, create), "", "with both rights it is")
        with self.server.connect() as one:
            equal(state_of(one.execute, "DROP TRIGGER mine ON wide"), "", "and goes")

    def cancelled(self):
        equal = self.tally.equal
        with self.server.connect() as one, self.server.connect() as other:
            one.execute("CREATE TABLE slow (id INT)")
            one.execute("CREATE FUNCTION round() RETURNS TRIGGER LANGUAGE plpgsql AS "
                        "'BEGIN LOOP BEGIN PERFORM 1; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END'")
            one.execute("CREATE TRIGGER going AFTER INSERT ON slow FOR EACH ROW EXECUTE FUNCTION round()")
            one.execute("SET statement_timeout = '300ms'")
            equal(state_of(one.execute, "INSERT INTO slow VALUES (1)"), "57014", "one without an end ends by statement_timeout")
            one.execute("RESET statement_timeout")
            pid = rows(one, "SELECT pg_backend_pid()")[0][0]
            timer = threading.Timer(0.3, lambda: rows(other, f"SELECT pg_cancel_backend({pid})"))
            timer.start()

            def copy():
                with one.cursor() as cursor, cursor.copy("COPY slow FROM STDIN") as copied:
                    copied.write_row((1,))
            equal(state_of(copy), "57014", "by pg_cancel_backend, of COPY too")
            timer.join()
            equal(rows(one, "SELECT count(*) FROM slow"), [(0,)], "nothing is left")

    def too_deep(self):
        with self.server.connect() as one:
            one.execute("CREATE TABLE deep (id INT)")
            one.execute("CREATE FUNCTION again() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN INSERT INTO deep VALUES (NEW.id + 1); RETURN NULL; END'")
            one.execute("CREATE TRIGGER again AFTER INSERT ON deep FOR EACH ROW EXECUTE FUNCTION again()")
            self.tally.equal(state_of(one.execute, "INSERT INTO deep VALUES (1)"), "54001", "one that calls itself without an end")
            self.tally.equal(rows(one, "SELECT count(*) FROM deep"), [(0,)], "leaves nothing")
            self.tally.that(self.server.alive(), "the server stands")

    def of_its_transaction(self):
        equal = self.tally.equal
        with self.server.connect() as one, self.server.connect() as other:
            one.execute("DELETE FROM seen")
            one.execute("BEGIN")
            one.execute("SAVEPOINT s")
            one.execute("INSERT INTO wide VALUES (50, 'x')")
            one.execute("ROLLBACK TO s")
            one.execute("INSERT INTO wide VALUES (51, 'x')")
            equal(rows(other, "SELECT count(*) FROM seen"), [(0,)], "not committed, not seen")
            one.execute("COMMIT")
            equal(rows(other, "SELECT id FROM seen"), [(51,)], "what was rolled back to a savepoint is not there")
            one.execute("BEGIN READ ONLY")
            equal(state_of(one.execute, "INSERT INTO wide VALUES (52, 'x')"), "25006", "READ ONLY holds")
            one.execute("ROLLBACK")
            one.execute("BEGIN")
            one.execute("CREATE TRIGGER early AFTER INSERT ON wide FOR EACH ROW EXECUTE FUNCTION plain_note()")
            one.execute("INSERT INTO wide VALUES (53, 'x')")
            equal(rows(one, "SELECT count(*) FROM seen WHERE id = 53"), [(2,)], "one of its own transaction is called")
            one.execute("ROLLBACK")
            one.execute("INSERT INTO wide VALUES (54, 'x')")
            equal(rows(one, "SELECT count(*) FROM seen WHERE id IN (53, 54)"), [(1,)], "and goes with it")

    def replaced(self):
        equal = self.tally.equal
        with self.server.connect() as one, self.server.connect() as other:
            insert = "INSERT INTO wide VALUES (60, 'x')"
            for _ in range(7):
                other.execute(insert, prepare=True)
            one.execute("ALTER TABLE wide DISABLE TRIGGER noting")
            one.execute("DELETE FROM seen")
            other.execute(insert, prepare=True)
            equal(rows(one, "SELECT count(*) FROM seen"), [(0,)], "a prepared statement of another session knows that it is disabled")
            one.execute("ALTER TABLE wide ENABLE TRIGGER noting")
            other.execute(insert, prepare=True)
            equal(rows(one, "SELECT count(*) FROM seen"), [(1,)], "and enabled")
            one.execute("CREATE OR REPLACE FUNCTION plain_note() RETURNS TRIGGER LANGUAGE plpgsql AS "
                        "'BEGIN INSERT INTO seen VALUES (NEW.id, 1); INSERT INTO seen VALUES (NEW.id, 2); RETURN NULL; END'")
            other.execute(insert, prepare=True)
            equal(rows(one, "SELECT count(*) FROM seen"), [(3,)], "and does what its function does now")

    def erased(self):
        equal = self.tally.equal
        with self.server.connect() as one:
            one.execute("CREATE FUNCTION post() RETURNS TRIGGER LANGUAGE plpgsql AS "
                        "'BEGIN INSERT INTO posts VALUES (NEW.id, NEW.id, NEW.name); RETURN NULL; END'")
            one.execute("CREATE TRIGGER posting AFTER INSERT ON people FOR EACH ROW EXECUTE FUNCTION post()")
            one.execute("INSERT INTO people SELECT g, %s || repeat('y', 1000) FROM generate_series(1, 12000) g", (CANARY,))
            equal(rows(one, "SELECT count(*) FROM posts WHERE body LIKE %s", (CANARY + "%",)), [(12000,)], "rows of people, more than memory holds")
            one.execute("GDPR FORGET people 1")
            equal(rows(one, "SELECT count(*) FROM posts WHERE author = 1"), [(0,)], "what a trigger wrote of a person goes with them")
            one.execute("INSERT INTO people VALUES (20001, %s)", (CANARY,))
        self.tally.equal(self.server.files_with(CANARY), [], "no file has what triggers were called for")

    def erased_beside(self):
        with self.server.connect() as one:
            one.execute("CREATE FUNCTION hold() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN PERFORM name FROM people WHERE id = 2; "
                        "BEGIN PERFORM pg_sleep(2); EXCEPTION WHEN OTHERS THEN NULL; END; PERFORM count(*) FROM people; RETURN NULL; END $$")
            one.execute("CREATE TRIGGER holding AFTER INSERT ON slow FOR EACH ROW EXECUTE FUNCTION hold()")
            one.execute("DROP TRIGGER going ON slow")
        self.forgotten_beside(2, "INSERT INTO slow VALUES (2)", "one that has read somebody who is forgotten meanwhile is ended")

    def refused(self):
        """What would be called elsewhere, or at another time, is not taken."""
        with self.server.connect() as one:
            one.execute("CREATE TEMP TABLE own (id INT)")
            one.execute("CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM wide")
            call = "EXECUTE FUNCTION note()"
            for written, state in (
                (f"CREATE TRIGGER t BEFORE INSERT ON jobs FOR EACH ROW {call}", "0A000"),
                (f"CREATE TRIGGER t INSTEAD OF INSERT ON jobs FOR EACH ROW {call}", "0A000"),
                (f"CREATE TRIGGER t AFTER UPDATE ON jobs FOR EACH ROW {call}", "0A000"),
                (f"CREATE TRIGGER t AFTER INSERT OR UPDATE ON jobs FOR EACH ROW {call}", "0A000"),
                (f"CREATE TRIGGER t AFTER DELETE ON jobs FOR EACH ROW {call}", "0A000"),
                (f"CREATE TRIGGER t AFTER TRUNCATE ON jobs {call}", "0A000"),
                (f"CREATE TRIGGER t AFTER INSERT ON jobs {call}", "0A000"),
                (f"CREATE TRIGGER t AFTER INSERT ON jobs FOR EACH STATEMENT {call}", "0A000"),
                (f"CREATE TRIGGER t AFTER INSERT ON jobs REFERENCING NEW TABLE AS n FOR EACH STATEMENT {call}", "0A000"),
                (f"CREATE TRIGGER t AFTER INSERT ON jobs FOR EACH ROW WHEN (NEW.id > 1) {call}", "0A000"),
                (f"CREATE CONSTRAINT TRIGGER t AFTER INSERT ON jobs FOR EACH ROW {call}", "0A000"),
                (f"CREATE TRIGGER t AFTER INSERT ON own FOR EACH ROW {call}", "0A000"),
                (f"CREATE TRIGGER t AFTER INSERT ON counted FOR EACH ROW {call}", "42809"),
                ("ALTER TABLE jobs DISABLE TRIGGER ALL", "0A000"),
                ("ALTER TABLE jobs ENABLE REPLICA TRIGGER telling", "0A000"),
                ("ALTER TRIGGER telling ON jobs RENAME TO other", "0A000"),
                ("DROP OWNED BY writer", ""),
            ):
                self.tally.equal(state_of(one.execute, written), state, written)

    def killed(self):
        self.killed_under("INSERT INTO slow VALUES (3)")
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT count(*) FROM slow"), [(0,)], "killed half-way, nothing is left of the statement")

    def restarted(self):
        equal = self.tally.equal
        listed = "SELECT tgrelid::regclass::text, pg_get_triggerdef(oid), tgenabled FROM pg_trigger ORDER BY 1, 2"
        with self.server.connect() as one:
            before = rows(one, listed)
            self.tally.that(len(before) >= 5, "there are triggers", before)
        self.server.stop()
        self.server.start()
        with self.server.connect() as one:
            equal(rows(one, listed), before, "they are there after a restart")
            one.execute("DELETE FROM seen")
            one.execute("INSERT INTO wide VALUES (70, 'x')")
            equal(rows(one, "SELECT count(*) FROM seen"), [(2,)], "and called")

    def dumped(self):
        text = self.dumped_schema()
        if text is None:
            return
        for wanted in ("CREATE TRIGGER telling AFTER INSERT ON public.jobs FOR EACH ROW EXECUTE FUNCTION public.tell();",
                       "ALTER TABLE public.jobs DISABLE TRIGGER noting;"):
            self.tally.that(wanted in text, f"the dump has {wanted}", text[-2000:])


if __name__ == "__main__":
    run_check(Triggers())
