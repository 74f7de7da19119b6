"""WHERE CURRENT OF under others: their changes, an erasure, a savepoint, kill -9. So, too, what NOT VALID and NULLS NOT DISTINCT keep.

What one session alone sees is held to PostgreSQL by corpora; here is what others do to it meanwhile.
"""

from harness import Check, rows, run_check, state_of, waiting

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT, marks INT[], told JSONB)",
    "CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT, UNIQUE NULLS NOT DISTINCT (person, body))",
    "CREATE TABLE plain (id INT PRIMARY KEY, n INT)",
]


class Positioned(Check):
    def run(self):
        self.set_up(SCHEMA)
        for case in (self.others_change, self.one_snapshot, self.locked, self.erased, self.erased_parts, self.killed, self.constraints):
            self.tally.case(case)

    def fill(self, connection):
        for statement in ("DELETE FROM plain", "INSERT INTO plain SELECT i, i FROM generate_series(1, 3) i"):
            connection.execute(statement)

    def on_row(self, connection, query, isolation="READ COMMITTED"):
        connection.execute(f"BEGIN ISOLATION LEVEL {isolation}")
        connection.execute(f"DECLARE c CURSOR FOR {query}")
        return rows(connection, "FETCH c")

    def others_change(self):
        """READ COMMITTED writes what the row is now; one that is gone is none."""
        with self.server.connect() as one, self.server.connect() as two:
            self.fill(two)
            self.on_row(one, "SELECT * FROM plain WHERE id = 2")
            two.execute("UPDATE plain SET n = 100 WHERE id = 2")
            self.tally.equal(rows(one, "UPDATE plain SET n = n + 1 WHERE CURRENT OF c RETURNING n"), [(101,)], "what it is now")
            one.execute("COMMIT")
            self.on_row(one, "SELECT * FROM plain WHERE id = 2")
            two.execute("DELETE FROM plain WHERE id = 2")
            self.tally.equal(one.execute("DELETE FROM plain WHERE CURRENT OF c").rowcount, 0, "gone")
            one.execute("ROLLBACK")
            self.fill(two)
            # It waits for who has the row.
            two.execute("BEGIN")
            two.execute("UPDATE plain SET n = 7 WHERE id = 3")
            self.on_row(one, "SELECT * FROM plain WHERE id = 3")
            found = waiting(lambda: rows(one, "UPDATE plain SET n = n + 1 WHERE CURRENT OF c RETURNING n"), lambda: two.execute("COMMIT"))
            self.tally.equal(found, [(8,)], "waited for")
            one.execute("ROLLBACK")

    def one_snapshot(self):
        """REPEATABLE READ and SERIALIZABLE write no row that somebody has changed since."""
        for isolation in ("REPEATABLE READ", "SERIALIZABLE"):
            for change in ("UPDATE plain SET n = 100 WHERE id = 2", "DELETE FROM plain WHERE id = 2"):
                with self.server.connect() as one, self.server.connect() as two:
                    self.fill(two)
                    self.on_row(one, "SELECT * FROM plain WHERE id = 2", isolation)
                    two.execute(change)
                    state = state_of(one.execute, "UPDATE plain SET n = 0 WHERE CURRENT OF c")
                    self.tally.equal(state, "40001", f"{isolation}: {change}")
                    one.execute("ROLLBACK")

    def locked(self):
        """A cursor that locks its rows keeps others off, and a savepoint that is rolled back takes the change back."""
        with self.server.connect() as one, self.server.connect() as two:
            self.fill(two)
            self.on_row(one, "SELECT id FROM plain ORDER BY id DESC FOR UPDATE")
            two.execute("SET lock_timeout = '50ms'")
            self.tally.equal(state_of(two.execute, "UPDATE plain SET n = 0 WHERE id = 3"), "55P03", "others wait")
            one.execute("SAVEPOINT s")
            one.execute("UPDATE plain SET id = 33 WHERE CURRENT OF c")
            one.execute("ROLLBACK TO s")
            self.tally.equal(rows(one, "UPDATE plain SET n = 9 WHERE CURRENT OF c RETURNING id"), [(3,)], "back under its key")
            one.execute("COMMIT")
            self.tally.equal(rows(two, "SELECT n FROM plain WHERE id = 3"), [(9,)], "committed")

    def person(self, connection, key):
        connection.execute("INSERT INTO people (id, name, marks[3], told['a'][1]) VALUES (%s, 'erased', 7, '\"erased\"')", (key,))
        connection.execute("INSERT INTO notes VALUES (%s, %s, NULL)", (key, key))

    def erased(self):
        """An erasure ends the cursors that may stand on what is gone: they write nothing, and nothing comes back."""
        for lock in ("", " FOR UPDATE"):
            with self.server.connect() as one, self.server.connect() as two:
                self.person(two, 1)
                self.on_row(one, "SELECT * FROM notes WHERE id = 1" + lock)
                if lock:
                    # The row is locked: the erasure waits for the transaction.
                    found = waiting(lambda: two.execute("GDPR FORGET people 1").statusmessage, lambda: one.execute("ROLLBACK"))
                    self.tally.that(found, "forgotten once the lock is gone", found)
                    state = state_of(one.execute, "UPDATE notes SET body = 'x' WHERE CURRENT OF c")
                    self.tally.equal(state, "34000", "the cursor went with its transaction")
                else:
                    two.execute("GDPR FORGET people 1")
                    state = state_of(one.execute, "UPDATE notes SET body = 'x' WHERE CURRENT OF c")
                    # Whoever holds an old snapshot and says nothing is not waited for long: the session ends.
                    self.tally.equal(state, "40001", "the cursor has ended")
                    one.close()
                self.tally.equal(rows(two, "SELECT count(*) FROM notes"), [(0,)], "nothing comes back")

    def erased_parts(self):
        """A person who is forgotten while another session assigns to a part of the row."""
        with self.server.connect() as one, self.server.connect() as two:
            self.person(two, 2)
            one.execute("BEGIN")
            one.execute("UPDATE people SET marks[1] = 1, told['b'] = '\"erased\"' WHERE id = 2")
            found = waiting(lambda: two.execute("GDPR FORGET people 2").statusmessage, lambda: one.execute("ROLLBACK"))
            self.tally.that(found, "forgotten", found)
            self.tally.equal(one.execute("UPDATE people SET marks[1] = 1 WHERE id = 2").rowcount, 0, "no part of nobody")
            self.tally.equal(rows(two, "SELECT count(*) FROM people"), [(0,)], "nobody is there")

    def killed(self):
        """What was committed is there after kill -9, what was not is not."""
        one = self.server.connect()
        self.fill(one)
        self.person(one, 3)
        one.execute("UPDATE people SET marks[1:2] = '{5,6}', told['a'][0] = '1' WHERE id = 3")
        self.on_row(one, "SELECT * FROM plain WHERE id = 2")
        one.execute("UPDATE plain SET id = 22 WHERE CURRENT OF c")
        one.execute("COMMIT")
        one.execute("BEGIN")
        one.execute("UPDATE people SET marks[1] = 0 WHERE id = 3")
        self.server.kill()
        self.server.start()
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT marks, told::text FROM people WHERE id = 3"), [([5, 6, 7], '{"a": [1, "erased"]}')], "parts")
            self.tally.equal(rows(one, "SELECT id FROM plain ORDER BY id"), [(1,), (3,), (22,)], "the row that was moved")
            state = state_of(one.execute, "INSERT INTO notes VALUES (99, 3, NULL)")
            self.tally.equal(state, "23505", "NULLs are not distinct after a start")

    def constraints(self):
        """NOT VALID stays so over a start, and is refused where it says whose rows are whose."""
        with self.server.connect() as one:
            one.execute("ALTER TABLE plain ADD CONSTRAINT small CHECK (id < 10) NOT VALID")
            for statement in ("ALTER TABLE plain ADD CONSTRAINT own FOREIGN KEY (n) OWNED_BY people(id) NOT VALID",
                              "ALTER TABLE plain ADD CONSTRAINT own FOREIGN KEY (n) ACCESSED_BY people(id) NOT VALID"):
                self.tally.equal(state_of(one.execute, statement), "0A000", statement)
            one.execute("ALTER TABLE plain ADD CONSTRAINT fk FOREIGN KEY (n) REFERENCES people(id) NOT VALID")
            self.tally.equal(state_of(one.execute, "ALTER TABLE plain ALTER n SET OWNED_BY people(id)"), "55000", "annotated before it is valid")
        self.tally.equal(self.server.stop(), 0, "stops")
        self.tally.clean(self.server, "rows that break what is not valid")
        self.server.start()
        with self.server.connect() as one:
            found = rows(one, "SELECT conname, convalidated FROM pg_constraint WHERE conname IN ('small', 'fk') ORDER BY 1")
            self.tally.equal(found, [("fk", False), ("small", False)], "not valid yet")
            self.tally.equal(state_of(one.execute, "INSERT INTO plain VALUES (50, 3)"), "23514", "new rows are checked")
            self.tally.equal(state_of(one.execute, "ALTER TABLE plain VALIDATE CONSTRAINT small"), "23514", "all rows are")
            self.tally.equal(state_of(one.execute, "ALTER TABLE plain VALIDATE CONSTRAINT fk"), "23503", "and references")
            one.execute("UPDATE plain SET id = 9, n = 3 WHERE id = 22")
            one.execute("UPDATE plain SET n = 3")
            one.execute("ALTER TABLE plain VALIDATE CONSTRAINT small, VALIDATE CONSTRAINT fk")
            one.execute("ALTER TABLE plain ALTER n SET OWNED_BY people(id)")
            self.person(one, 4)
            one.execute("GDPR FORGET people 3")
            self.tally.equal(rows(one, "SELECT count(*) FROM plain"), [(0,)], "an erasure finds what is valid now")


if __name__ == "__main__":
    run_check(Positioned())
