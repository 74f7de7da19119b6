"""Writing by views over people's rows: owners, policies and rights are the table's, beside others, an erasure, a cancel, kill -9.

What one session alone sees of such views is held to PostgreSQL by corpora 42 and 43.
"""

from harness import Check, rows, run_check, state_of, waiting

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT, level INT DEFAULT 1)",
    "CREATE TABLE allowed (level INT PRIMARY KEY)",
    "INSERT INTO allowed VALUES (1), (2)",
    "CREATE VIEW low AS SELECT body AS words, id, person AS whose, level FROM notes n WHERE level IN (SELECT a.level FROM allowed a) "
    "WITH CHECK OPTION",
    "CREATE VIEW short AS SELECT whose, words, id, upper(words) AS loud FROM low WHERE length(words) < 10 WITH LOCAL CHECK OPTION",
    "CREATE VIEW plainly AS SELECT id, body FROM notes",
    "CREATE VIEW persons AS SELECT name AS called, id AS number FROM people",
]


class WritingViews(Check):
    def run(self):
        self.set_up(SCHEMA)
        for case in (self.owned, self.erased, self.others, self.cancelled, self.policies, self.logins, self.killed):
            self.tally.case(case)

    def fill(self, connection):
        for table in ("notes", "people"):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("INSERT INTO persons VALUES ('ada', 1), ('ben', 2)")
        connection.execute("INSERT INTO short (id, whose, words) VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, 'c')")

    def owned(self):
        """Whose rows are whose is found as if the table had been named."""
        equal = self.tally.equal
        with self.server.connect() as one:
            self.fill(one)
            equal(state_of(one.execute, "INSERT INTO short (id, whose, words) VALUES (4, 9, 'x')"), "23503", "of nobody")
            equal(state_of(one.execute, "INSERT INTO short (id, words) VALUES (4, 'x')"), "23502", "without an owner")
            equal(state_of(one.execute, "UPDATE short SET whose = NULL"), "23502", "an owner taken away")
            equal(rows(one, "UPDATE short SET whose = 2 WHERE id = 2 RETURNING loud"), [("B",)], "given to another")
            found = rows(one, "SELECT id FROM notes WHERE person = 2 ORDER BY id")
            equal(found, [(2,), (3,)], "whose they are now")
            for twice in range(2):
                equal(one.execute("UPDATE short SET words = words || 'x' WHERE id = 1").rowcount, 1, f"once {twice}")
            equal(rows(one, "SELECT body FROM notes WHERE id = 1"), [("axx",)], "each done once")
            equal(state_of(one.execute, "UPDATE low SET level = 3"), "44000", "out of sight")
            equal(state_of(one.execute, "UPDATE short SET words = repeat('x', 20) WHERE id = 1"), "44000", "too long")
            equal(rows(one, "SELECT count(*) FROM notes WHERE level = 1"), [(3,)], "and nothing was written")
            equal(rows(one, "SELECT column1 FROM (VALUES (1)) v WHERE EXISTS (SELECT 1 FROM short WHERE id = 1)"), [(1,)], "there")

    def erased(self):
        """What was written by a view goes with its person, and a receipt says so; the other's rows stay."""
        equal = self.tally.equal
        with self.server.connect() as one, self.server.connect() as two:
            self.fill(one)
            two.execute("BEGIN")
            two.execute("UPDATE short SET words = 'late' WHERE whose = 1")
            found = waiting(lambda: one.execute("GDPR FORGET people 1").statusmessage, lambda: two.execute("ROLLBACK"))
            self.tally.that(found and found.startswith("GDPR FORGET"), "forgotten once the writer is gone", found)
            equal(rows(one, "SELECT id, whose FROM short"), [(3, 2)], "the other's are there")
            equal(two.execute("UPDATE short SET words = 'x' WHERE whose = 1").rowcount, 0, "nothing to write")
            equal(state_of(two.execute, "INSERT INTO short (id, whose, words) VALUES (5, 1, 'x')"), "23503", "of nobody")

    def others(self):
        """A row that another has changed meanwhile is looked at again: by the view's condition, too."""
        equal = self.tally.equal
        with self.server.connect() as one, self.server.connect() as two:
            self.fill(one)
            two.execute("BEGIN")
            two.execute("UPDATE notes SET body = 'much too long' WHERE id = 1")
            found = waiting(lambda: one.execute("UPDATE short SET words = 'y' WHERE id = 1").rowcount, lambda: two.execute("COMMIT"))
            equal(found, 0, "it is not in the view any more")
            one.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            rows(one, "SELECT count(*) FROM short")
            two.execute("UPDATE notes SET body = 'z' WHERE id = 2")
            equal(state_of(one.execute, "UPDATE short SET words = 'q' WHERE id = 2"), "40001", "one snapshot")
            one.execute("ROLLBACK")
            one.execute("BEGIN")
            one.execute("SAVEPOINT s")
            one.execute("DELETE FROM short")
            one.execute("ROLLBACK TO s")
            one.execute("COMMIT")
            equal(rows(one, "SELECT count(*) FROM notes"), [(3,)], "taken back")
            # What the condition reads of other tables is what the statement sees.
            two.execute("DELETE FROM allowed WHERE level = 2")
            equal(state_of(one.execute, "UPDATE low SET level = 2"), "44000", "no more allowed")
            two.execute("INSERT INTO allowed VALUES (2)")
            equal(one.execute("UPDATE low SET level = 2").rowcount, 3, "allowed again")

    def cancelled(self):
        """A cancel in the middle leaves nothing."""
        with self.server.connect() as one:
            self.fill(one)
            one.execute("SET statement_timeout = '200ms'")
            slow = "INSERT INTO short (id, whose, words) SELECT 100 + i, 1, 'n' FROM generate_series(1, 1000) i, LATERAL (SELECT pg_sleep(0.01 + i * 0)) s"
            self.tally.equal(state_of(one.execute, slow), "57014", "cancelled")
            one.execute("SET statement_timeout = 0")
            self.tally.equal(rows(one, "SELECT count(*) FROM notes"), [(3,)], "nothing was written")

    def policies(self):
        """Policies of the table bind who asks, whoever the view is of; rights are asked on the view and on the table."""
        equal = self.tally.equal
        with self.server.connect(user="postgres") as one:
            self.fill(one)
            for statement in (
                    "CREATE ROLE clerk", "CREATE ROLE guest", "GRANT SELECT, INSERT, UPDATE, DELETE ON short, low TO clerk, guest",
                    "GRANT SELECT ON allowed TO clerk", "GRANT SELECT, INSERT, UPDATE, DELETE ON notes TO clerk",
                    "CREATE POLICY mine ON notes TO clerk USING (person = 1)", "ALTER TABLE notes ENABLE ROW LEVEL SECURITY"):
                one.execute(statement)
            one.execute("SET ROLE clerk")
            equal(sorted(rows(one, "UPDATE short SET words = 'k' RETURNING id")), [(1,), (2,)], "those that are there for the role")
            equal(one.execute("DELETE FROM short WHERE id = 3").rowcount, 0, "not those of others")
            equal(state_of(one.execute, "INSERT INTO short (id, whose, words) VALUES (7, 2, 'x')"), "42501", "nor for them")
            equal(one.execute("INSERT INTO short (id, whose, words) VALUES (7, 1, 'x')").rowcount, 1, "its own")
            equal(state_of(one.execute, "UPDATE short SET whose = 2"), "42501", "none is given away")
            equal(state_of(one.execute, "UPDATE short SET words = 'x' WHERE 1 / (id - 3) > 0"), "", "an error tells nothing of a row that is not there")
            one.execute("RESET ROLE; SET ROLE guest")
            for statement in ("UPDATE short SET words = 'g'", "DELETE FROM short", "INSERT INTO short (id, whose, words) VALUES (8, 1, 'x')"):
                equal(state_of(one.execute, statement), "42501", f"no right on the table: {statement}")
            one.execute("RESET ROLE; ALTER TABLE notes DISABLE ROW LEVEL SECURITY; DROP POLICY mine ON notes")

    def logins(self):
        """A person's own login names the table."""
        equal = self.tally.equal
        with self.server.connect(user="postgres") as one:
            self.fill(one)
            one.execute("CREATE USER ada FOR people 1; GRANT UPDATE ON notes, plainly TO ada")
        with self.server.connect(user="ada") as ada:
            equal(rows(ada, "SELECT id FROM plainly ORDER BY id"), [(1,), (2,)], "its own rows")
            equal(state_of(ada.execute, "UPDATE plainly SET body = 'x'"), "0A000", "not by a view")
            equal(ada.execute("UPDATE notes SET body = 'x'").rowcount, 2, "the table itself")

    def killed(self):
        """What was committed is there after kill -9, what was not is not; the options are kept."""
        one = self.server.connect(user="postgres")
        self.fill(one)
        one.execute("UPDATE short SET words = 'kept' WHERE id = 1")
        one.execute("BEGIN")
        one.execute("UPDATE short SET words = 'lost' WHERE id = 2")
        one.execute("INSERT INTO short (id, whose, words) VALUES (50, 2, 'lost')")
        self.server.kill()
        self.server.start()
        with self.server.connect(user="postgres") as one:
            self.tally.equal(rows(one, "SELECT id, words FROM short ORDER BY id"), [(1, "kept"), (2, "b"), (3, "c")], "after a start")
            self.tally.equal(state_of(one.execute, "UPDATE low SET level = 3"), "44000", "still checked")
            found = rows(one, "SELECT table_name, check_option FROM information_schema.views WHERE table_schema = 'public' ORDER BY 1")
            self.tally.equal(found, [("low", "CASCADED"), ("persons", "NONE"), ("plainly", "NONE"), ("short", "LOCAL")], "options")


if __name__ == "__main__":
    run_check(WritingViews())
