"""kill -9 within definitions: each has happened or has not, with all that belongs to it, and can be done then, or undone.

Each kind of definition is done and undone in turn over tables with some thousand rows, personal ones and others, and the server is
killed at a random instant of it. What then stands (catalog, rows, whatever reads by an index, views, sequences, whose rows they are)
must be what stood before it, or what stands after it when nothing is killed; and what was acknowledged has happened. Then the other
of the two is done, and found. Some of the kills are power failures (support/power.py).

    killed_definitions.py [--seed S] [--kills N] [--only KIND]       N kills (3) of each kind and of what undoes it
"""
import argparse
import threading
import time

import psycopg

from harness import Check, rows, run_check
from support.power import Power

PEOPLE, NOTES, PLAIN = 40, 3_000, 4_000
SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT, version INT, other INT)",
    "CREATE TABLE plain (id INT PRIMARY KEY, n INT, s TEXT, person INT)",
    "CREATE TABLE kinds (id SERIAL PRIMARY KEY, name TEXT UNIQUE)",
    f"INSERT INTO people SELECT g, 'name ' || g FROM generate_series(0, {PEOPLE - 1}) g",
    f"INSERT INTO notes SELECT g, g % {PEOPLE}, 'note ' || g, g % 100, (g * 7) % {PEOPLE} FROM generate_series(1, {NOTES}) g",
    f"INSERT INTO plain SELECT g, 1 + g % 50, 'row ' || g, g % {PEOPLE} FROM generate_series(1, {PLAIN}) g",
    "INSERT INTO kinds (name) SELECT 'kind ' || g FROM generate_series(1, 100) g",
    "CREATE TYPE mood AS ENUM ('low', 'high')",
    "CREATE DOMAIN score AS INT",
    "CREATE TABLE moods (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), mood mood DEFAULT 'low', score score, CHECK (mood <> 'low' OR id > 0))",
    "CREATE INDEX moods_mood ON moods (mood)",
    f"INSERT INTO moods SELECT g, g % {PEOPLE}, CASE WHEN g % 3 = 0 THEN 'low' ELSE 'high' END::mood, g % 90 FROM generate_series(1, {NOTES}) g",
    "CREATE MATERIALIZED VIEW by_version AS SELECT version, count(*) AS n FROM notes GROUP BY version",
]
# Kind → what does it, what undoes it.
KINDS = {
    "an index of a personal table": (["CREATE INDEX made ON notes (version)"], ["DROP INDEX made"]),
    "a unique index": (["CREATE UNIQUE INDEX made ON plain (s)"], ["DROP INDEX made"]),
    "an index on an expression": (["CREATE INDEX made ON notes (upper(body), (version + 1))"], ["DROP INDEX made"]),
    "a partial index": (["CREATE INDEX made ON plain (n) WHERE n > 10"], ["DROP INDEX made"]),
    "a column with a default": (["ALTER TABLE notes ADD COLUMN made INT NOT NULL DEFAULT 7"], ["ALTER TABLE notes DROP COLUMN made"]),
    "a serial column": (["ALTER TABLE plain ADD COLUMN made SERIAL"], ["ALTER TABLE plain DROP COLUMN made"]),
    "a type": (["ALTER TABLE plain ALTER COLUMN n TYPE TEXT"], ["ALTER TABLE plain ALTER COLUMN n TYPE INT USING n::int"]),
    "a constraint": (["ALTER TABLE notes ADD CONSTRAINT made UNIQUE (body)"], ["ALTER TABLE notes DROP CONSTRAINT made"]),
    "a check": (["ALTER TABLE plain ADD CONSTRAINT made CHECK (n >= 0)"], ["ALTER TABLE plain DROP CONSTRAINT made"]),
    "a foreign key": (["ALTER TABLE plain ADD CONSTRAINT made FOREIGN KEY (n) REFERENCES kinds (id)"], ["ALTER TABLE plain DROP CONSTRAINT made"]),
    "a table with rows": (["CREATE TABLE made AS SELECT * FROM plain WHERE n < 25"], ["DROP TABLE made"]),
    "a materialized view": (["CREATE MATERIALIZED VIEW made AS SELECT person, max(version) AS m FROM notes GROUP BY person"], ["DROP MATERIALIZED VIEW made"]),
    "names": (["ALTER TABLE plain RENAME TO plainer", "ALTER TABLE plainer RENAME s TO t"], ["ALTER TABLE plainer RENAME t TO s", "ALTER TABLE plainer RENAME TO plain"]),
    "an owner more": (["ALTER TABLE notes ALTER COLUMN other SET OWNED_BY people(id)"], ["ALTER TABLE notes ALTER COLUMN other DROP OWNED_BY"]),
    "a sequence": (["ALTER SEQUENCE kinds_id_seq RESTART WITH 5000"], ["ALTER SEQUENCE kinds_id_seq RESTART WITH 101"]),
    "a label's name": (["ALTER TYPE mood RENAME VALUE 'low' TO 'it''s down'"], ["ALTER TYPE mood RENAME VALUE 'it''s down' TO 'low'"]),
    "a domain's condition": (["ALTER DOMAIN score ADD CONSTRAINT made CHECK (VALUE < 100)"], ["ALTER DOMAIN score DROP CONSTRAINT made"]),
    "nothing left": (["TRUNCATE kinds RESTART IDENTITY"], ["INSERT INTO kinds SELECT g, 'kind ' || g FROM generate_series(1, 100) g"]),
    "several at once": (
        ["CREATE TABLE made (id INT PRIMARY KEY, person INT OWNED_BY people(id))", "INSERT INTO made SELECT id, person FROM notes WHERE id <= 500",
         "CREATE INDEX made_person ON made (person)", "ALTER TABLE plain ADD COLUMN also INT DEFAULT 3", "UPDATE kinds SET name = name || '!'"],
        ["UPDATE kinds SET name = rtrim(name, '!')", "ALTER TABLE plain DROP COLUMN also", "DROP TABLE made"]),
}
CATALOG = {
    "columns": """SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped""",
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
    "views": "SELECT matviewname, definition FROM pg_matviews",
    "annotations": "SELECT objname, label FROM pg_seclabels",
}


class KilledDefinitions(Check):
    def run(self):
        self.power, self.power_fails = Power(self.server.data), False
        try:
            self.set_up(SCHEMA)
            for kind, (do, undo) in KINDS.items():
                if self.options.only in (None, kind):
                    self.tally.case(self.kind, kind, do, undo)
            self.server.kill()
            self.server.start()
        finally:
            self.power.remove()

    def kind(self, kind, do, undo):
        before, (after, took) = self.state(), self.done(do)
        again, undone_in = self.done(undo)
        self.tally.equal(again, before, f"{kind}: undone")
        happened = 0
        for statements, lasts, stood, will_stand in [(do, took, before, after), (undo, undone_in, after, before)]:
            for _ in range(self.options.kills):
                acknowledged = self.killed(statements, self.dice.random() * lasts * 1.3)
                found = self.state()
                self.tally.that(found in ([will_stand] if acknowledged else [stood, will_stand]), f"{kind}: all or nothing of {statements}",
                                [(name, found[name], stood[name], will_stand[name]) for name in found if found[name] not in (stood.get(name), will_stand.get(name))])
                happened += found == will_stand
                if found != will_stand:
                    self.tally.equal(self.done(statements)[0], will_stand, f"{kind}: it can be done then: {statements}")
                self.done(undo if statements is do else do)
            # On to what it begins with.
            self.done(statements)
        self.tally.equal(self.state(), before, f"{kind}: in the end")
        self.server.kill()
        self.tally.clean(self.server, f"after {kind}")
        self.start()
        print(f"{kind}: {happened} of {2 * self.options.kills} had happened ({took * 1000:.0f} and {undone_in * 1000:.0f} ms)", flush=True)

    def done(self, statements):
        """Without a kill: what stands then, and how long it took."""
        with self.server.connect() as connection:
            began = time.monotonic()
            self.execute(connection, statements)
            took = time.monotonic() - began
        return self.state(), took

    def execute(self, connection, statements):
        wrapped = len(statements) > 1
        for statement in [*["BEGIN"] * wrapped, *statements, *["COMMIT"] * wrapped]:
            connection.execute(statement)

    def killed(self, statements, after_s):
        """Whether it was acknowledged before the server was killed."""
        acknowledged = []

        def define():
            try:
                with self.server.connect() as connection:
                    begun.set()
                    self.execute(connection, statements)
                    acknowledged.append(True)
            except psycopg.Error:
                begun.set()

        begun = threading.Event()
        thread = threading.Thread(target=define)
        thread.start()
        begun.wait(20)
        time.sleep(after_s)
        self.server.kill()
        thread.join(20)
        if self.power_fails:
            self.power.fails(self.dice)
        self.start()
        return bool(acknowledged)

    def start(self):
        """For a life that ends with a kill, or with a power failure."""
        self.power_fails = self.dice.random() < 0.3
        self.server.start(before=self.power.before() if self.power_fails else None)

    def state(self):
        """All that can be seen of it, by name."""
        with self.server.connect() as connection:
            connection.execute("SET dogwood.auto_views = off")
            found = {name: sorted(map(str, rows(connection, query))) for name, query in CATALOG.items()}
            for table, in rows(connection, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
                found[table] = rows(connection, f"SELECT count(*), md5(string_agg(x::text, ',' ORDER BY x::text)) FROM {table} x")
            for view, in rows(connection, "SELECT matviewname FROM pg_matviews"):
                found[view] = rows(connection, f"SELECT md5(string_agg(x::text, ',' ORDER BY x::text)) FROM {view} x")
            # By an index where there is one.
            found["by version"] = [rows(connection, f"SELECT count(*) FROM notes WHERE version = {n}") for n in (3, 77)]
            plain = "plain" if "plain" in found else "plainer"
            found["by number"] = [rows(connection, f"SELECT count(*) FROM {plain} WHERE n::text = '{n}'") for n in (11, 12)]
            # A kill may leave out some of a sequence's values.
            found["sequences"] = rows(connection, "SELECT sequencename, data_type, increment_by, coalesce(last_value, 0) >= 5000 FROM pg_sequences WHERE sequencename <> 'plain_made_seq' ORDER BY 1")
            found["of a person"] = sorted(map(str, rows(connection, "GDPR GET people 7")))
            return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=20261126)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--only")
    run_check(KilledDefinitions(parser.parse_args()))


if __name__ == "__main__":
    main()
