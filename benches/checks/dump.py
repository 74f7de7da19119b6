#!/usr/bin/env python3
"""pg_dump of a Dogwood server: the dump restores into Dogwood, owners included, and into PostgreSQL 15 without them.

Each check is a function; what it raises is a failure. DOGWOOD names the binary.
"""

import difflib
import os
import pathlib
import subprocess
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from support.servers import POSTGRES_BIN, Dogwood, Postgres, need  # noqa: E402

SCHEMA = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'great');
CREATE DATA_SUBJECT TABLE users (id int PRIMARY KEY, name text NOT NULL, email varchar(80) UNIQUE, feels mood DEFAULT 'ok', born date);
CREATE TABLE stories (id serial PRIMARY KEY, title text NOT NULL DEFAULT 'x', author int OWNED_BY users(id),
    score numeric(8,2) CHECK (score >= 0), tags text[], at timestamptz, twice numeric GENERATED ALWAYS AS (score * 2) STORED);
CREATE TABLE comments (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, story int OWNED_BY stories(id) ON DELETE CASCADE,
    writer int ACCESSED_BY users(id), body text, more jsonb, ON GET writer ANON (body), ON DEL story DELETE_ROW);
CREATE TABLE "Odd names" ("Key" int PRIMARY KEY, "select" text DEFAULT 'a''b');
CREATE TABLE story_topics (story int NOT NULL OWNED_BY stories(id), topic int REFERENCES "Odd names"("Key"), PRIMARY KEY (story, topic));
CREATE TABLE rooms (house int, number int, "order" text, PRIMARY KEY (house, number));
CREATE TABLE guests (id int PRIMARY KEY, person int OWNED_BY users(id), house int, number int, invited_by int REFERENCES ONLY users(id),
    FOREIGN KEY (house, number) OWNS rooms(house, number));
ALTER TABLE rooms ADD ON DEL guests(house, number) ANON ("order");
CREATE INDEX comments_by_story ON comments(story);
CREATE UNIQUE INDEX odd_select ON "Odd names"("select");
CREATE SEQUENCE tickets START 100 INCREMENT 5;
CREATE SEQUENCE fresh START 7;
CREATE VIEW titles AS SELECT id, title FROM stories WHERE score > 1;
CREATE VIEW over_titles AS WITH t AS (SELECT * FROM titles) SELECT t.title, u.name FROM t JOIN stories s USING (id) JOIN users u ON u.id = s.author;
CREATE MATERIALIZED VIEW per_story AS SELECT story, count(*) AS n FROM comments GROUP BY story;
CREATE INDEX per_story_key ON per_story(story);
COMMENT ON TABLE users IS 'people';
COMMENT ON COLUMN users.name IS 'their name';
INSERT INTO users VALUES (1, 'Ada', 'a@x', 'great', '1815-12-10'), (2, 'Ben', NULL, 'ok', NULL);
INSERT INTO stories(title, author, score, tags, at) VALUES ('On engines', 1, 2.5, '{a,"b c"}', '2020-02-29 12:30:15.123456+00'), ('On clocks', 2, NULL, NULL, NULL);
INSERT INTO comments(story, writer, body, more) VALUES (1, 2, E'tab\\there', '{"a": 1}'), (1, 1, E'new\\nline \\\\ and backslash', NULL), (2, 1, NULL, '[]');
INSERT INTO "Odd names" VALUES (1, 'Maths'), (2, 'Time');
BEGIN;
INSERT INTO rooms VALUES (1, 2, 'tea');
INSERT INTO guests VALUES (1, 1, 1, 2, 2), (2, 2, 1, 2, 1);
COMMIT;
INSERT INTO story_topics VALUES (1, 1), (2, 2);
SELECT nextval('tickets'), nextval('tickets');
"""

QUESTIONS = [
    "SELECT * FROM users ORDER BY id",
    "SELECT * FROM stories ORDER BY id",
    "SELECT * FROM comments ORDER BY id",
    'SELECT * FROM "Odd names" ORDER BY 1',
    "SELECT * FROM story_topics ORDER BY 1",
    "SELECT * FROM titles ORDER BY 1",
    "SELECT * FROM over_titles ORDER BY 1",
    "SELECT * FROM per_story ORDER BY 1",
    "SELECT last_value, is_called FROM tickets",
    "SELECT last_value, is_called FROM fresh",
    "SELECT last_value, is_called FROM stories_id_seq",
    "SELECT obj_description('users'::regclass), col_description('users'::regclass, 2)",
    "SELECT relname, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind <> 'i' ORDER BY relname",
    "SELECT indexname, tablename, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname",
    "SELECT conname, contype, conrelid::regclass::text, confdeltype FROM pg_constraint WHERE conrelid >= 16384 ORDER BY conname",
]

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def environment(server, user):
    return {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": user, "PGSSLMODE": "disable",
            "PGPASSWORD": getattr(server, "password", ""), "PGDATABASE": "dogwood" if user == "controller" else "postgres"}


def program(server, user, name, *arguments, text=None):
    done = subprocess.run([str(POSTGRES_BIN / name), *arguments], env=environment(server, user), input=text, text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == 0, f"{name} {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr[:3000]}"
    return done.stdout


def restore(server, user, script):
    program(server, user, "psql", "-v", "ON_ERROR_STOP=1", "-qX", text=script)


def answers(dsn, questions=tuple(QUESTIONS)):
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        return {question: connection.execute(question).fetchall() for question in questions}


def equal(found, wanted):
    for question in wanted:
        assert found[question] == wanted[question], f"{question}\n found {found[question]!r}\nwanted {wanted[question]!r}"


@check
def a_dump_restores_into_dogwood_with_its_owners(source, _):
    dump = program(source, "controller", "pg_dump")
    owned = ("SELECT objname, label FROM pg_seclabels ORDER BY 1, 2", "EXPLAIN COMPLIANCE", "GDPR GET users 1", "GDPR GET users 2")
    with Dogwood() as target:
        restore(target, "controller", f"SET dogwood.restoring = on;\n{dump}\nSET dogwood.restoring = off;\n")
        equal(answers(target.dsn), answers(source.dsn))
        for question in owned:
            # Their rows have no order.
            found, wanted = (sorted(map(str, answers(server.dsn, [question])[question])) for server in (target, source))
            assert found == wanted, f"{question}\n found {found}\nwanted {wanted}"
        again = program(target, "controller", "pg_dump")
        differing = "\n".join(difflib.unified_diff(meaning(dump), meaning(again), "dumped", "restored and dumped", lineterm="", n=0))
        assert not differing, differing


@check
def a_dump_restores_into_postgres(source, postgres):
    # PostgreSQL knows no label provider called dogwood.
    dump = program(source, "controller", "pg_dump", "--no-owner", "--no-security-labels")
    restore(postgres, "postgres", dump)
    equal(answers(postgres.dsn), answers(source.dsn))


@check
def the_archive_format_restores(source, postgres):
    archive = source.folder / "dump"
    program(source, "controller", "pg_dump", "-Fc", "-f", str(archive))
    listed = program(source, "controller", "pg_restore", "--list", str(archive))
    assert "MATERIALIZED VIEW public per_story" in listed, listed
    program(postgres, "postgres", "psql", "-qXc", "CREATE DATABASE archive")
    program(postgres, "postgres", "pg_restore", "--no-owner", "--no-security-labels", "--exit-on-error", "-d", "archive", str(archive))
    equal(answers(postgres.dsn.replace("dbname=postgres", "dbname=archive")), answers(source.dsn))


@check
def parts_of_a_database_are_dumped(source, _):
    schema = program(source, "controller", "pg_dump", "--schema-only")
    assert "CREATE TABLE public.users" in schema and "COPY" not in schema, schema
    data = program(source, "controller", "pg_dump", "--data-only", "--inserts", "-t", "users")
    assert "INSERT INTO public.users VALUES (1, 'Ada'" in data and "stories" not in data, data


def meaning(dump):
    """The lines of a dump, without what differs from run to run: comments, and the order of rows."""
    return sorted(line for line in dump.split("\n") if line and not line.startswith(("--", "\\restrict", "\\unrestrict")))


def main():
    need("psycopg")
    failed = 0
    with Dogwood() as source, Postgres() as postgres:
        restore(source, "controller", SCHEMA)
        for function in CHECKS:
            try:
                function(source, postgres)
            except Exception:
                failed += 1
                print(f"FAILED {function.__name__}\n{traceback.format_exc(limit=-2)}", flush=True)
        for line in source.log.read_text(errors="replace").split("\n"):
            if "internal error" in line:
                failed += 1
                print(line)
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
