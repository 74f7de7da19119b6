#!/usr/bin/env python3
"""`dogwood mask`: a dump with pseudonyms restores into Dogwood and into PostgreSQL 15; foreign keys hold, unique keys and NULLs stay, and no
original word is in it.

    mask.py [--seed N] [--count N]
"""
import collections
import datetime
import ipaddress
import json
import os
import pathlib
import re
import subprocess
import tempfile

import psycopg

from harness import BINARY, Check, options, rows, run_check
from harness.compared import NotHere, left_out, postgres_if_there, postgres_program

SCHEMA = """
CREATE TYPE mood AS ENUM ('sad', 'great');
CREATE DATA_SUBJECT TABLE person (login varchar(40) PRIMARY KEY, id serial UNIQUE, email text UNIQUE, name text NOT NULL, born date, height numeric(8, 2),
    salary int, feels mood, active boolean, at inet, net cidr, code uuid, face bytea, more jsonb, plain json, nicks text[], days date[], seen timestamptz, "Odd Name" char(6),
    state text CHECK (state IN ('open', 'closed')), rank real, big bigint);
CREATE TABLE letter (id bigserial PRIMARY KEY, sender varchar(40) NOT NULL OWNED_BY person(login), receiver varchar(40) OWNED_BY person(login), body text,
    purposes text[] PURPOSES, sent timestamp(3), until timestamptz EXPIRES, answers bigint REFERENCES letter(id), ON DEL sender ANON (body))
    WITH (retain = '90 days', retain_basis = 'contract');
CREATE TABLE topic (id int PRIMARY KEY, title text NOT NULL);
CREATE TABLE visit (id int PRIMARY KEY, who text REFERENCES person(email), topic int REFERENCES topic(id), ip inet);
CREATE UNIQUE INDEX person_lower ON person (lower(email));
CREATE VIEW titles AS SELECT title FROM topic;
"""
TABLES = {"person": "login", "letter": "id", "topic": "id", "visit": "id"}
KEPT = {"person": ["id", "feels", "active", "state"], "letter": ["id", "purposes", "until", "answers"], "topic": ["id", "title"], "visit": ["id", "topic"]}


class Masking(Check):
    def run(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dogwood-mask-"))
        with self.server.connect() as one:
            one.execute(SCHEMA)
            self.fill(one)
        try:
            self.dump()
        except NotHere as missing:
            return left_out(f"masked dumps, for want of {missing}")
        for case in (self.command_line, self.masked, self.keys, self.postgres, self.refused, self.decided):
            self.tally.case(case)

    def word(self, length=8, letters="abcdefghijklmnopqrstuvwxyz"):
        return "".join(self.dice.choice(letters) for _ in range(length))

    def fill(self, one):
        dice, self.words = self.dice, set()
        def word():
            found = self.word(dice.randrange(7, 12))
            self.words.add(found)
            return found
        people = []
        for number in range(self.options.count):
            login, maybe = word(), lambda value: value if dice.random() < 0.8 else None
            people.append((login, f"{login.capitalize()}.{word()}@{word()}.org"))
            one.execute("INSERT INTO person (login, email, name, born, height, salary, feels, active, at, net, code, face, more, plain, nicks, days, seen, \"Odd Name\", state, rank, big)"
                        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, gen_random_uuid(), %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
                        (*people[-1], f"{word()} Åsa Ελένη 李 {word()}\t\\n\"'", maybe(datetime.date(1930 + number % 70, 1 + number % 12, 1 + number % 28)),
                         dice.choice([None, "0.05", "-12.50", "100000.01", 0]), dice.choice([None, 0, 7, 2147483647, 31000]), dice.choice([None, "sad", "great"]), maybe(True),
                         maybe(f"10.{number % 256}.3.4"), dice.choice([None, "10.1.0.0/16", "2001:db8::/32"]), word().encode(),
                         json.dumps({"said": word(), "n": [1, 22.5, None, True]}), json.dumps([word()]), [word(), None, 'a "b", c\\' + word()],
                         [datetime.date(2000, 2, 29), None], maybe(datetime.datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=datetime.timezone.utc)),
                         self.word(dice.randrange(1, 6)), dice.choice(["open", "closed"]), dice.choice([None, 1.5e10, "NaN", "-Infinity", 0.25]), dice.choice([None, 9223372036854775807, -123456789012])))
        one.execute("INSERT INTO topic VALUES (1, 'Gardening'), (2, 'Engines')")
        for number in range(1, 3 * self.options.count):
            sender, receiver = dice.choice(people), dice.choice([None, dice.choice(people)])
            one.execute("INSERT INTO letter (sender, receiver, body, purposes, sent, answers) VALUES (%s, %s, %s, '{ads}', '2024-03-01 10:00:00.125', %s)",
                        (sender[0], receiver and receiver[0], f"Dear {word()},\n{word()}", dice.choice([None, *range(1, number)]) if number > 1 else None))
            one.execute("INSERT INTO visit VALUES (%s, %s, %s, %s)", (number, dice.choice([None, sender[1]]), dice.choice([None, 1, 2]), dice.choice([None, "2001:db8::1:2", "192.168.7.9/24"])))

    def dump(self, *arguments, name="dump.sql"):
        environment = {**os.environ, "PGPASSWORD": self.server.password(), "PGSSLMODE": "disable"}
        done = subprocess.run([postgres_program("pg_dump"), "-h", "127.0.0.1", "-p", str(self.server.port), "-U", "controller", "--no-owner", "--no-privileges", "-f",
                               str(self.folder / name), *arguments, "dogwood"], capture_output=True, text=True, env=environment)
        self.tally.equal((done.returncode, done.stderr), (0, ""), "pg_dump")

    def mask(self, *arguments, source="dump.sql", to="masked.sql", status=0):
        done = subprocess.run([BINARY, "mask", *arguments, str(self.folder / source), str(self.folder / to)], capture_output=True, text=True)
        self.tally.equal(done.returncode, status, f"mask {' '.join(arguments)}: {done.stderr[:300]}")
        return done.stdout + done.stderr

    def command_line(self):
        for arguments, part in ((["-", "x"], "twice"), (["/nowhere", "x"], "could not read"), (["--nix", "x", "y"], "unknown option"), (["x"], "TO is needed")):
            done = subprocess.run([BINARY, "mask", *arguments], capture_output=True, text=True)
            self.tally.that(done.returncode != 0 and part in done.stderr, f"mask {arguments}", done.stderr)
        (self.folder / "short").write_bytes(b"123")
        self.mask("--key", str(self.folder / "short"), to="none.sql", status=1)
        self.tally.that(not list(self.folder.glob("none*")), "what is refused leaves no file")
        done = subprocess.run([BINARY, "mask", str(self.folder / "dump.sql"), "-"], capture_output=True, text=True)
        self.tally.that("COPY public.person" in done.stdout and "masked:" in done.stderr and "masked:" not in done.stdout, "to standard output")

    def content(self, one):
        return {table: [dict(zip(columns, row)) for row in rows(one, f'SELECT * FROM {table} ORDER BY {"id"}')]
                for table in TABLES for columns in [[row[0] for row in rows(one, f"SELECT attname FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum")]]}

    def restore(self, text, environment, database):
        done = subprocess.run([postgres_program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-d", database, "-c", "SET client_min_messages = warning", "-f", "-"],
                              input=text, capture_output=True, text=True, env={**os.environ, "PGSSLMODE": "disable", **environment})
        self.tally.equal((done.returncode, done.stderr), (0, ""), f"restored into {database}")

    def masked(self):
        said = self.mask("--key", self.key("one"))
        self.tally.that("as it is: person.state: a CHECK" in said and "masked: " in said, "it says what stays", said)
        text = (self.folder / "masked.sql").read_text()
        self.nothing_original(text)
        with self.server.connect() as one:
            original = self.content(one)
            one.execute("CREATE DATABASE masked")
        self.restore("SET dogwood.restoring = on;\n" + text + "\nSET dogwood.restoring = off;", {"PGPORT": str(self.server.port), "PGUSER": "controller", "PGPASSWORD": self.server.password()}, "masked")
        with self.server.connect(dbname="masked") as one:
            self.compare(original, self.content(one), "Dogwood")
            labels = "SELECT objname, label FROM pg_seclabels ORDER BY 1"
            with self.server.connect() as other:
                self.tally.equal(rows(one, labels), rows(other, labels), "the same annotations")
            (login,) = rows(one, "SELECT login FROM person LIMIT 1")[0]
            self.tally.that(rows(one, f"GDPR GET person '{login}'"), "it is a person's")
        with self.server.connect() as one:
            one.execute("DROP DATABASE masked")

    def nothing_original(self, text):
        low = text.lower()
        found = [word for word in self.words if word in low]
        self.tally.equal(found[:3], [], "no original word is in it")
        for word in self.words:
            if word.encode().hex() in low:
                return self.tally.that(False, "no original bytes are in it", word)
        for value in ("2000-02-29", "2024-02-29", "10.1.0.0", "2001:db8", "åsa", "ελένη", "李"):
            self.tally.that(value not in low, f"{value} is not in it")

    def compare(self, original, masked, name):
        equal = lambda found, expected, what: self.tally.equal(found, expected, f"{name}: {what}")
        for table in TABLES:
            equal(len(masked[table]), len(original[table]), f"rows of {table}")
            for column in original[table][0]:
                before, after = ([row[column] for row in sorted(content[table], key=lambda row: row["id"])] for content in (original, masked))
                if column in KEPT[table]:
                    equal(after, before, f"{table}.{column} is as it was")
                    continue
                equal([value is None for value in after], [value is None for value in before], f"NULLs of {table}.{column}")
                # The same value, the same pseudonym; another value, another one.
                plain = [[json.dumps(value, default=str, sort_keys=True) for value in values] for values in (before, after)]
                equal(len(set(zip(*plain))), len(set(plain[0])), f"{table}.{column}: the same for the same")
                equal(len(set(plain[1])), len(set(plain[0])), f"{table}.{column}: never one for two")
                self.shapes(table, column, before, after, name)
        person = {row["id"]: (old, row) for old, row in zip(*(sorted(content["person"], key=lambda row: row["id"]) for content in (original, masked)))}
        logins = {old["login"]: new["login"] for old, new in person.values()}
        letters = zip(*(sorted(content["letter"], key=lambda row: row["id"]) for content in (original, masked)))
        for old, new in letters:
            equal((new["sender"], new["receiver"]), (logins[old["sender"]], old["receiver"] and logins[old["receiver"]]), "foreign keys lead to the same person")

    def shapes(self, table, column, before, after, name):
        shape = lambda value: re.sub(r"\d", "0", re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", value)))
        pairs = [(old, new) for old, new in zip(before, after) if old is not None]
        for old, new in pairs:
            if isinstance(old, str) and column not in ("plain",):
                self.tally.equal((shape(new).encode("ascii", "replace"), len(new.encode())), (shape(old).encode("ascii", "replace"), len(old.encode())), f"{name}: the shape of {table}.{column}")
        if isinstance(pairs[0][0], datetime.date):
            moved = {new - old for old, new in pairs}
            self.tally.that(len(moved) == 1 and moved.pop() % datetime.timedelta(days=7) == datetime.timedelta(0), f"{name}: {table}.{column} is moved by whole weeks")
        if column == "ip":
            self.tally.that(all(ipaddress.ip_interface(str(old)).network.prefixlen == ipaddress.ip_interface(str(new)).network.prefixlen for old, new in pairs), f"{name}: prefixes")

    def key(self, name):
        file = self.folder / f"{name}.key"
        file.write_bytes(f"{name} is a key of many bytes".encode())
        return str(file)

    def keys(self):
        self.mask("--key", self.key("one"), to="again.sql")
        self.mask("--key", self.key("two"), to="other.sql")
        self.mask(to="thrown.sql")
        texts = {name: (self.folder / f"{name}.sql").read_text() for name in ("masked", "again", "other", "thrown")}
        self.tally.that(texts["masked"] == texts["again"], "the same key, the same dump")
        self.tally.that(len(set(texts.values())) == 3, "another key, another dump")
        self.dump("-Fc", name="dump.archive")
        self.mask("--key", self.key("one"), source="dump.archive", to="archive.sql")
        rows_of = lambda text: collections.Counter(line for line in text.splitlines() if "\t" in line)
        self.tally.equal(rows_of((self.folder / "archive.sql").read_text()), rows_of(texts["masked"]), "an archive")

    def postgres(self):
        self.mask("--key", self.key("one"), "--no-security-labels", to="plain.sql")
        text = (self.folder / "plain.sql").read_text()
        self.tally.that("SECURITY LABEL" not in text, "without labels")
        self.nothing_original(text)
        with self.server.connect() as one:
            original = self.content(one)
        with postgres_if_there() as postgres:
            if postgres is None:
                return left_out("a masked dump in PostgreSQL")
            self.restore(text, {"PGPORT": str(postgres.port), "PGUSER": "postgres"}, "postgres")
            with psycopg.connect(postgres.dsn, autocommit=True) as one:
                self.compare(original, self.content(one), "PostgreSQL")

    def refused(self):
        self.dump("--inserts", name="inserts.sql")
        self.tally.that("--inserts" in self.mask(source="inserts.sql", to="none.sql", status=1), "rows in INSERT")
        for text, part in (("CREATE TABLE t (id int PRIMARY KEY, email text, place geometry); COMMENT ON TABLE t IS '@data_subject';\n", "t.place"),
                           ("COPY nowhere (a) FROM stdin;\n1\n\\.\n", "nowhere"), ("CREATE TABLE t (id int) PARTITION BY RANGE (id);\n", "CREATE TABLE"),
                           ("CREATE TABLE t (id int, email text);\nCOPY t (id, mail) FROM stdin;\n1\tx\n\\.\n", "mail"),
                           ("CREATE TABLE t (id int, email text);\nCOPY t (id, email) FROM stdin;\n1\n\\.\n", "1 values for 2"),
                           ("CREATE TABLE t (id int, email jsonb);\nCOPY t (id, email) FROM stdin;\n1\tsecretword\n\\.\n", "not of its type")):
            (self.folder / "odd.sql").write_text(text)
            said = self.mask(source="odd.sql", to="none.sql", status=1)
            self.tally.that(part in said and "secretword" not in said, f"refused: {text[:50]}", said)
        self.tally.that(not list(self.folder.glob("none*")), "and nothing is written")

    def decided(self):
        (self.folder / "odd.sql").write_text("CREATE TABLE t (id int PRIMARY KEY, email text, place geometry, note text, n int); COMMENT ON TABLE t IS '@data_subject';\n"
                                             "CREATE TABLE u (id int, code text);\nCOPY t FROM stdin;\n1\tsome@where\t0101\thello\t5\n2\t\\N\t\\N\t\\N\t\\N\n\\.\nCOPY u FROM stdin;\n1\tsecret\n\\.\n")
        self.mask("--null", "t.place", "--keep", "t.note", "--keep", "t.n", "--mask", "u.code", source="odd.sql", to="odd.out")
        lines = (self.folder / "odd.out").read_text().splitlines()
        found = [line.split("\t") for line in lines if "\t" in line]
        self.tally.equal([row[2:] for row in found[:2]], [["\\N", "hello", "5"], ["\\N"] * 3], "--null, --keep")
        self.tally.that(found[0][1] != "some@where" and found[2][1] != "secret" and len(found[2][1]) == 6, "--mask")
        self.tally.that("there is no column" in self.mask("--keep", "t.nix", source="odd.sql", to="odd.out", status=1), "a column that is not there")


if __name__ == "__main__":
    run_check(Masking(options(21, count=40)))
