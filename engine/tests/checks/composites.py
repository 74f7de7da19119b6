#!/usr/bin/env python3
"""Values of composite types in tables, views, indexes and people's rows, held against a model while the type changes.

A random history writes composites, arrays of them and parts of both, as text and in binary, and gives the type attributes and takes
them away; views that group, join and filter by them are what the model says, after kill -9 too. Of a person's rows they are handed
out, blanked and erased like any column.

    composites.py [--seed N] [--count N]
"""
import collections
import time

import psycopg

from harness import Check, options, rows, run_check, state_of
from support.listening import Listener

SECRET = "a street that nobody else lives in"
VIEWS = {
    "whole": "SELECT c, count(*)::int FROM held GROUP BY c",
    "by_word": "SELECT (c).word, sum((c).n)::int FROM held GROUP BY 1",
    "pairs": "SELECT a.id, b.id AS other FROM held a JOIN held b ON a.c = b.c AND a.id < b.id",
    "firsts": "SELECT id, (list[1]).word, list[2] AS list FROM held WHERE (list[1]).n > 2",
}


class Model:
    """What the table holds: id → (c, list); a composite is a dictionary, or None."""

    def __init__(self):
        self.held, self.attributes = {}, ["n", "word"]

    def text(self, value):
        """As the server writes it: words need no quotes here."""
        if value is None:
            return None
        return "(" + ",".join("" if value.get(name) is None else str(value[name]) for name in self.attributes) + ")"

    def part(self, value, name):
        return None if value is None else value.get(name)

    def views(self):
        part, text = self.part, self.text
        whole = collections.Counter(text(c) for c, _ in self.held.values())
        words = collections.defaultdict(list)
        for c, _ in self.held.values():
            words[part(c, "word")].append(part(c, "n"))
        total = lambda numbers: sum(known) if (known := [n for n in numbers if n is not None]) else None
        item = lambda values, place: values[place] if values and len(values) > place else None
        lists = [(key, values) for key, (_, values) in self.held.items()]
        return {
            "whole": [(text, count) for text, count in whole.items()],
            "by_word": [(word, total(numbers)) for word, numbers in words.items()],
            "pairs": [(a, b) for a, (one, _) in self.held.items() for b, (other, _) in self.held.items()
                      if a < b and one is not None and text(one) == text(other)],
            "firsts": [(key, part(item(values, 0), "word"), text(item(values, 1))) for key, values in lists
                       if (part(item(values, 0), "n") or 0) > 2],
        }


class Composites(Check):
    def run(self):
        for case in (self.history, self.texts, self.of_people, self.rights):
            self.tally.case(case)

    # A history against the model.

    def history(self):
        self.model = Model()
        with self.server.connect() as one:
            one.execute("CREATE TYPE thing AS (n int, word text); CREATE TABLE held (id int PRIMARY KEY, c thing, list thing[])")
            one.execute("CREATE INDEX ON held (c); CREATE INDEX ON held (((c).word))")
            for name, query in VIEWS.items():
                one.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        for turn in range(self.options.count):
            with self.server.connect() as one:
                for _ in range(12):
                    self.step(one)
                self.compare(one)
                if turn % 3 == 2:
                    self.change_type(one)
                    self.compare(one)
            if turn % 8 == 7:
                self.server.kill()
                self.server.start()

    def some(self):
        if self.dice.random() < 0.15:
            return None
        made = {"n": self.dice.choice([None, *range(5)]), "word": self.dice.choice([None, "a", "b", "c"])}
        return {name: made.get(name, self.dice.choice([None, 7])) for name in self.model.attributes}

    def step(self, one):
        """One statement, to the server and to the model."""
        held, text, key = self.model.held, self.model.text, self.dice.randint(1, 20)
        kind = self.dice.choice(["insert", "insert", "part", "element", "whole", "delete"])
        if kind == "insert" and key not in held:
            c, values = self.some(), self.dice.choice([None, [self.some() for _ in range(self.dice.randint(1, 3))]])
            written = None if values is None else [text(value) for value in values]
            one.execute("INSERT INTO held VALUES (%s, %s::thing, %s::text[]::thing[])", (key, text(c), written))
            held[key] = (c, values)
        elif kind == "part" and key in held:
            c, values = held[key]
            name, value = self.dice.choice([("n", self.dice.randint(0, 4)), ("word", self.dice.choice("abc"))])
            one.execute(f"UPDATE held SET c.{name} = %s WHERE id = %s", (value, key))
            held[key] = ({**(c or dict.fromkeys(self.model.attributes)), name: value}, values)
        elif kind == "element" and key in held and held[key][1]:
            c, values = held[key]
            place = self.dice.randrange(len(values))
            one.execute("UPDATE held SET list[%s].word = 'z' WHERE id = %s", (place + 1, key))
            values = [{**(value or dict.fromkeys(self.model.attributes)), "word": "z"} if at == place else value
                      for at, value in enumerate(values)]
            held[key] = (c, values)
        elif kind == "whole" and key in held:
            c = self.some()
            row = "NULL" if c is None else f"ROW({', '.join(['%s'] * len(c))})"
            values = [] if c is None else [c[name] for name in self.model.attributes]
            one.execute(f"UPDATE held SET c = {row} WHERE id = %s", (*values, key))
            held[key] = (c, held[key][1])
        elif kind == "delete" and len(held) > 8:
            one.execute("DELETE FROM held WHERE id = %s", (key,))
            held.pop(key, None)

    def change_type(self, one):
        """An attribute comes or goes, in every stored value."""
        extra = [name for name in self.model.attributes if name.startswith("x")]
        if extra and self.dice.random() < 0.5:
            name = self.dice.choice(extra)
            one.execute(f"ALTER TYPE thing DROP ATTRIBUTE {name}")
            self.model.attributes.remove(name)
        else:
            name = f"x{self.dice.randint(1, 10_000)}"
            one.execute(f"ALTER TYPE thing ADD ATTRIBUTE {name} int")
            self.model.attributes.append(name)

    def compare(self, one):
        order = lambda found: sorted(found, key=repr)
        for name, expected in self.model.views().items():
            shown = "SELECT c::text, count FROM whole" if name == "whole" else f"SELECT * FROM {name}"
            shown = "SELECT id, word, list::text FROM firsts" if name == "firsts" else shown
            self.tally.equal(order(rows(one, shown)), order(expected), f"the view {name}")
        text = self.model.text
        self.tally.equal(rows(one, "SELECT id, c::text FROM held ORDER BY id"), [(key, text(c)) for key, (c, _) in sorted(self.model.held.items())], "the table")
        c = self.some()
        expected = sorted(key for key, (own, _) in self.model.held.items() if own is not None and text(own) == text(c))
        self.tally.equal([key for key, in rows(one, "SELECT id FROM held WHERE c = %s::thing ORDER BY id", (text(c),))], expected, "found by its value")
        expected = sorted(key for key, (own, _) in self.model.held.items() if self.model.part(own, "word") == "a")
        self.tally.equal([key for key, in rows(one, "SELECT id FROM held WHERE (c).word = 'a' ORDER BY id")], expected, "found by a field")

    # What the catalog keeps as text.

    def texts(self):
        """An attribute that a text names stays, under its name."""
        with self.server.connect() as one:
            for place, keeps in enumerate((
                "CREATE TABLE {0} (id int, c {1} CHECK ((c).a > 0))", "CREATE TABLE {0} (id int, c {1}, g int GENERATED ALWAYS AS ((c).a) STORED)",
                "CREATE TABLE {0} (id int, c {1}); CREATE INDEX ON {0} (((c).a))", "CREATE TABLE {0} (id int, c {1}); CREATE INDEX ON {0} (id) WHERE (c).a > 0",
                "CREATE TABLE {0} (id int, c {1}, d int DEFAULT ('(1,x)'::{1}).a)", "CREATE TABLE {0} (id int, c {1}); CREATE VIEW {0}_v AS SELECT (c).a FROM {0}",
                "CREATE TABLE {0} (id int, c {1}); CREATE POLICY p ON {0} USING ((c).a > 0)", "CREATE DOMAIN {0}_d AS {1} CHECK ((VALUE).a > 0); CREATE TABLE {0} (id int, c {0}_d)",
            )):
                table, kind = f"kept{place}", f"kind{place}"
                one.execute(f"CREATE TYPE {kind} AS (a int, b text)")
                one.execute(keeps.format(table, kind))
                for change in ("DROP ATTRIBUTE a", "RENAME ATTRIBUTE a TO z"):
                    self.tally.that(state_of(one.execute, f"ALTER TYPE {kind} {change}") in ("2BP01", "0A000"), f"{change}: {keeps}")
                self.tally.equal(state_of(one.execute, f"INSERT INTO {table} (id, c) VALUES (1, ROW(1, 'x'))"), "", f"it is written to: {keeps}")
                self.tally.equal(rows(one, f"SELECT (c).a FROM {table}"), [(1,)], f"and read: {keeps}")
                self.tally.equal(state_of(one.execute, f"ALTER TYPE {kind} RENAME ATTRIBUTE b TO c"), "", f"another has another name: {keeps}")
                self.tally.equal(state_of(one.execute, f"INSERT INTO {table} (id, c) VALUES (2, ROW(2, 'x'))"), "", f"it is written to after that: {keeps}")

    # Of people.

    def of_people(self):
        with self.server.connect() as one:
            one.execute("CREATE TYPE address AS (street text, number int)")
            one.execute("CREATE DATA_SUBJECT TABLE people (id int PRIMARY KEY, home address)")
            one.execute("CREATE TABLE letters (id int PRIMARY KEY, sender int NOT NULL OWNED_BY people(id), receiver int ACCESSED_BY people(id), to_whom address, ON GET receiver ANON (to_whom))")
            one.execute("CREATE MATERIALIZED VIEW addressed AS SELECT to_whom, count(*) FROM letters GROUP BY 1")
            one.execute("INSERT INTO people SELECT n, ROW('way', n) FROM generate_series(1, 3) n")
            one.execute("INSERT INTO letters VALUES (1, 1, 2, ROW(%s, 7)), (2, 2, 1, '(other,8)')", (SECRET,))
            got = {(table, relation): row for table, relation, _, row, _ in rows(one, "GDPR GET people 2")}
            self.tally.equal(got["people", "owner"]["home"], {"street": "way", "number": 2}, "GET hands it out")
            self.tally.equal(got["letters", "accessor"]["to_whom"], None, "and blanks it like any column")
            listener = Listener(self.server.connect(), "SELECT to_whom FROM letters")
            self.tally.that(listener.hears(SECRET), "a subscription tells of it")
            one.execute("GDPR FORGET people 1")
            self.tally.that(listener.hears("-1"), "and of its end", listener.told)
            self.tally.equal(rows(one, "SELECT to_whom::text FROM addressed"), [("(other,8)",)], "no view has it any more")
            end = time.monotonic() + 90
            while time.monotonic() < end and rows(one, "SELECT FROM dogwood.erasures WHERE pending IS NOT NULL"):
                time.sleep(0.5)
        self.server.stop()
        listener.ends()
        self.tally.equal(self.server.files_with(SECRET), [], "nor any file")
        self.server.start()
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT (to_whom).street, pg_typeof(to_whom)::text FROM letters"), [("other", "address")], "the others' are there")

    # Who may do what.

    def rights(self):
        with self.server.connect() as one:
            one.execute("CREATE ROLE stranger LOGIN; CREATE ROLE maker LOGIN; GRANT CREATE ON SCHEMA public TO maker")
        with self.server.connect(user="maker") as other:
            other.execute("CREATE TYPE own AS (a int)")
            self.tally.equal(state_of(other.execute, "ALTER TYPE own ADD ATTRIBUTE b int"), "", "its owner may change it")
        with self.server.connect(user="stranger") as other:
            for statement in ("ALTER TYPE own ADD ATTRIBUTE c int", "ALTER TYPE own RENAME ATTRIBUTE a TO d", "DROP TYPE own", "ALTER TYPE own RENAME TO mine",
                              "CREATE TYPE another AS (a int)"):
                self.tally.equal(state_of(other.execute, statement), "42501", statement)
            self.tally.equal(state_of(other.execute, "SELECT (c).word FROM held"), "42501", "a field is as far as its column")
            self.tally.equal(state_of(other.execute, "UPDATE held SET c.word = 'x'"), "42501", "and cannot be written")
        with self.server.connect() as one:
            one.execute("GRANT SELECT (id), UPDATE (c) ON held TO stranger")
        with self.server.connect(user="stranger") as other:
            # What is left of the value is read.
            self.tally.equal(state_of(other.execute, "UPDATE held SET c.word = 'x' WHERE id = 1"), "", "with a right to the column it is")
            try:
                other.execute("UPDATE held SET c.word = 'x' WHERE id = 1 RETURNING c")
                self.tally.that(False, "and not read")
            except psycopg.Error as error:
                self.tally.equal(error.sqlstate, "42501", "and not read")


if __name__ == "__main__":
    run_check(Composites(options(51, count=24)))
