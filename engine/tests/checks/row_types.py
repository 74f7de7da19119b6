#!/usr/bin/env python3
"""Values of tables' row types, keys of MATCH FULL, attributes and elements of domains, beside erasures, definitions and kill -9.

A row that is kept in another row is that row's: it goes with its owner, and stays with another. What an erasure blanks of a key of
MATCH FULL is not refused, and the row can be written afterwards. What is of a row type is held against changes of its table.

    row_types.py [--seed N] [--count N]
"""
import time

from harness import Check, options, rows, run_check, state_of

SECRET = "a street that nobody lives in twice"

SCHEMA = """
CREATE DATA_SUBJECT TABLE people (id int PRIMARY KEY, name text, street text);
CREATE TABLE cards (id int PRIMARY KEY, who int NOT NULL OWNED_BY people(id), shown people, before people[]);
CREATE TABLE rooms (a int, b int, holder int OWNED_BY people(id), PRIMARY KEY (a, b));
CREATE TABLE seats (id int PRIMARY KEY, who int NOT NULL OWNED_BY people(id), a int, b int,
                    FOREIGN KEY (a, b) REFERENCES rooms MATCH FULL);
CREATE TABLE fixed (a int, n int, who int NOT NULL OWNED_BY people(id), b int, PRIMARY KEY (a, n),
                    FOREIGN KEY (a, b) REFERENCES rooms MATCH FULL);
CREATE MATERIALIZED VIEW shown AS SELECT id, (shown).street, before[1] AS first FROM cards;
"""


class RowTypes(Check):
    def run(self):
        for case in (self.erased, self.match_full, self.held, self.killed, self.domains):
            self.tally.case(case)

    def erased(self):
        """Rows within rows are handed out and erased with the row that has them."""
        with self.server.connect() as one:
            one.execute(SCHEMA)
            one.execute("INSERT INTO people VALUES (1, 'ann', %s), (2, 'bob', 'other')", [SECRET])
            one.execute("INSERT INTO cards SELECT id, id, p, ARRAY[p, NULL] FROM people p")
            self.tally.equal(rows(one, "SELECT id, (shown).name, pg_typeof(shown)::text FROM cards ORDER BY id"), [(1, "ann", "people"), (2, "bob", "people")], "they are of the table's type")
            self.tally.equal(rows(one, "SELECT id, street FROM shown ORDER BY id"), [(1, SECRET), (2, "other")], "a view reads their fields")
            given = rows(one, "GDPR GET people 1")
            self.tally.that(any(table == "cards" and row["shown"]["street"] == SECRET for table, _, _, row, *_ in given), "a person is given them", given)
            one.execute("GDPR FORGET people 1")
            self.tally.equal(rows(one, "SELECT id FROM cards"), [(2,)], "they go with their owner")
            self.tally.equal(rows(one, "SELECT id, street, (first).name FROM shown"), [(2, "other", "bob")], "and from the view")
            end = time.monotonic() + 90
            while time.monotonic() < end and rows(one, "SELECT FROM dogwood.erasures WHERE pending IS NOT NULL"):
                time.sleep(0.5)
        self.server.stop()
        self.tally.equal(self.server.files_with(SECRET), [], "no file has them")
        self.server.start()
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT (shown).name, (before[1]).street FROM cards"), [("bob", "other")], "the others' are there")

    def match_full(self):
        """What an erasure blanks may mix, and nobody else may."""
        with self.server.connect() as one:
            one.execute("INSERT INTO people VALUES (3, 'eve', 'x'), (4, 'dan', 'y')")
            one.execute("INSERT INTO rooms VALUES (1, 1, 3), (2, 2, 4)")
            one.execute("INSERT INTO seats VALUES (1, 4, 1, 1), (2, 4, NULL, NULL), (3, 4, 2, 2)")
            one.execute("INSERT INTO fixed VALUES (1, 1, 4, 1), (2, 2, 4, 2)")
            self.tally.equal(state_of(one.execute, "UPDATE seats SET b = NULL WHERE id = 1"), "23503", "a key that mixes is refused")
            self.tally.equal(state_of(one.execute, "INSERT INTO fixed VALUES (2, 3, 4, NULL)"), "23503", "of a primary key's column too")
            one.execute("GDPR FORGET people 3")
            self.tally.equal(rows(one, "SELECT * FROM seats ORDER BY id"), [(1, 4, None, None), (2, 4, None, None), (3, 4, 2, 2)], "an erasure blanks all of it")
            self.tally.equal(rows(one, "SELECT * FROM fixed ORDER BY n"), [(1, 1, 4, None), (2, 2, 4, 2)], "or what is in no key")
            self.tally.equal(state_of(one.execute, "UPDATE fixed SET n = 9 WHERE n = 1"), "", "what is left of it can be written")
            self.tally.equal(state_of(one.execute, "UPDATE fixed SET b = NULL WHERE n = 2"), "23503", "and no other is let through")
            self.tally.equal(rows(one, "SELECT a, n, b FROM fixed ORDER BY n"), [(2, 2, 2), (1, 9, None)], "nothing else has changed")

    def held(self):
        """A table keeps its columns while something is of its rows."""
        with self.server.connect() as one:
            for change in ("ADD COLUMN more int", "DROP COLUMN name", "RENAME COLUMN name TO called", "ALTER COLUMN name TYPE varchar(9)"):
                self.tally.equal(state_of(one.execute, f"ALTER TABLE people {change}"), "0A000", change)
            for kept in ("ALTER TABLE cards ADD CHECK ((shown).id > 0)", "CREATE INDEX ON cards ((((shown).name)))"):
                self.tally.equal(state_of(one.execute, kept), "", kept)
            for kept in ("ALTER TABLE cards ADD CHECK (shown <> '(1,a,b)'::people)", "CREATE VIEW v AS SELECT NULL::people AS p", "ALTER TABLE cards ALTER COLUMN shown SET DEFAULT '(1,a,b)'::people"):
                self.tally.equal(state_of(one.execute, kept), "0A000", kept)
            self.tally.equal(state_of(one.execute, "ALTER TABLE cards ADD COLUMN own cards"), "42P16", "no table is made of itself")
            self.tally.equal(state_of(one.execute, "DROP TABLE people"), "2BP01", "nor goes while it is used")

    def killed(self):
        with self.server.connect() as one:
            one.execute("INSERT INTO cards VALUES (7, 2, '(2,bob,there)', '{\"(1,a,b)\"}')")
            before = rows(one, "SELECT * FROM cards ORDER BY id")
        self.server.kill()
        self.server.start()
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT * FROM cards ORDER BY id"), before, "they are there after kill -9")
            self.tally.equal(rows(one, "SELECT id FROM cards WHERE (shown).name = 'bob' ORDER BY 1"), [(2,), (7,)], "and found by an index over a field")
            with one.cursor().copy("COPY (SELECT * FROM cards ORDER BY id) TO STDOUT") as copy:
                copied = b"".join(bytes(part) for part in copy)
            one.execute("DELETE FROM cards")
            with one.cursor().copy("COPY cards FROM STDIN") as copy:
                copy.write(copied)
            self.tally.equal(rows(one, "SELECT * FROM cards ORDER BY id"), before, "and come in again by COPY")

    def domains(self):
        """COPY asks what domains ask of fields."""
        with self.server.connect() as one:
            one.execute("CREATE DOMAIN positive AS int CHECK (VALUE > 0); CREATE TYPE pair AS (n positive, t text); CREATE TABLE pairs (id int, p pair, l pair[])")
            for line, state in (("1\t(1,a)\t{\"(2,b)\"}\n", ""), ("2\t(-1,a)\t\\N\n", "23514"), ("3\t\\N\t{\"(1,a)\",\"(0,b)\"}\n", "23514")):
                def come_in(line=line):
                    with one.cursor().copy("COPY pairs FROM STDIN") as copy:
                        copy.write(line)
                self.tally.equal(state_of(come_in), state, line)
            one.execute("CREATE TABLE lists (id int, l positive[])")
            for line, state in (("1\t{1,2,NULL}\n", ""), ("2\t{1,0}\n", "23514"), ("3\t\\N\n", "")):
                def of_arrays(line=line):
                    with one.cursor().copy("COPY lists FROM STDIN") as copy:
                        copy.write(line)
                self.tally.equal(state_of(of_arrays), state, f"elements of {line}")
            for binary in (False, True):
                self.tally.equal(state_of(lambda binary=binary: one.execute("INSERT INTO lists VALUES (4, %s)", [[5, -5]], binary=binary)), "23514", "of parameters")
                self.tally.equal(state_of(lambda binary=binary: one.execute("INSERT INTO lists VALUES (4, %s)", [[5, 6]], binary=binary)), "", "of parameters that pass")
            self.tally.equal(state_of(one.execute, "UPDATE lists SET l[1] = 0 WHERE id = 1"), "23514", "and of a part")
            for binary in (False, True):
                with one.cursor(binary=binary) as cursor:
                    cursor.execute("SELECT (p).n FROM pairs WHERE p = %s::text::pair", ["(1,a)"], binary=binary)
                    self.tally.equal(cursor.fetchall(), [(1,)], "and values are compared")


if __name__ == "__main__":
    run_check(RowTypes(options(7, count=1)))
