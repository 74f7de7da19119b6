#!/usr/bin/env python3
"""What SQLAlchemy, pandas and polars see of a schema, and what pandas writes, is as with PostgreSQL 15.

Each check runs against both servers and its answers must be equal; PostgreSQL's are recorded (reflection.answers) for where it is not
installed, and `--record` writes them anew. DOGWOOD names the binary.
"""

import difflib
import pathlib
import pprint
import sys
import traceback
import warnings

from harness.compared import Dogwood, postgres_if_there
from harness.packages import need
from harness.recorded import Recording

SCHEMA = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'great');
CREATE TABLE people (id int PRIMARY KEY, name text NOT NULL, email varchar(80) UNIQUE, feels mood DEFAULT 'ok', born date);
CREATE TABLE stories (id serial PRIMARY KEY, title text NOT NULL, author int REFERENCES people(id),
    score numeric(8,2) CHECK (score >= 0), tags text[], at timestamptz DEFAULT now(), raw bytea, twice numeric GENERATED ALWAYS AS (score * 2) STORED);
CREATE TABLE comments (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, story int REFERENCES stories(id) ON DELETE CASCADE ON UPDATE SET NULL,
    body text, more jsonb, at timestamp(3), CONSTRAINT said CHECK (body <> ''));
CREATE TABLE "Odd names" ("Key" int, "select" char(3), PRIMARY KEY ("select", "Key"), UNIQUE ("Key"));
CREATE TABLE odd (id int PRIMARY KEY, word char(3), key int, FOREIGN KEY (word, key) REFERENCES "Odd names" DEFERRABLE INITIALLY DEFERRED);
CREATE INDEX comments_by_story ON comments(story, id);
CREATE SEQUENCE tickets START 100 INCREMENT 5;
CREATE VIEW titles AS SELECT id, title FROM stories WHERE score > 1;
CREATE MATERIALIZED VIEW per_story AS SELECT story, count(*) AS n FROM comments GROUP BY story;
CREATE INDEX per_story_key ON per_story(story);
COMMENT ON TABLE people IS 'those who write';
COMMENT ON COLUMN people.name IS 'their name';
INSERT INTO people VALUES (1, 'Ada', 'a@x', 'great', '1815-12-10'), (2, 'Ben', NULL, 'ok', NULL);
INSERT INTO stories(title, author, score, tags, at, raw) VALUES ('On engines', 1, 2.5, '{a,"b c"}', '2020-02-29 12:30:15.5+00', '\\x00ff'),
    ('On clocks', 2, NULL, NULL, NULL, NULL);
INSERT INTO comments(story, body, more, at) VALUES (1, 'so', '{"a": [1, null]}', '2020-02-29 12:30:15.123'), (1, 'no', NULL, NULL);
REFRESH MATERIALIZED VIEW per_story;
"""

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def plain(found):
    """Without what the servers may write differently: the text of defaults and checks; types by their SQL."""
    if isinstance(found, dict):
        return {str(key): plain(value) for key, value in found.items() if key not in ("default", "sqltext")}
    if isinstance(found, (list, tuple)):
        return [plain(part) for part in found]
    return found if isinstance(found, (str, int, bool, type(None))) else repr(found)


def shown(found):
    """The same in lines."""
    return pprint.pformat(plain(found), width=160).split("\n")


@check
def names(engine, sa):
    seen = sa.inspect(engine)
    return {
        "tables": sorted(seen.get_table_names()), "views": seen.get_view_names(), "materialized": seen.get_materialized_view_names(),
        "sequences": sorted(seen.get_sequence_names()), "temporary": (seen.get_temp_table_names(), seen.get_temp_view_names()),
        "enums": seen.get_enums(), "domains": seen.get_domains(), "schema": seen.default_schema_name,
        "there": [seen.has_table(name) for name in ("people", "Odd names", "titles", "per_story", "nobody")],
        "sequence": (seen.has_sequence("tickets"), seen.has_sequence("people")), "index": seen.has_index("comments", "comments_by_story"),
    }


def kinds(function):
    @check
    def looked_at(engine, sa):
        found = getattr(sa.inspect(engine), function)(kind=sa.engine.reflection.ObjectKind.ANY)
        return {str(key): sorted(map(str, map(plain, value))) if isinstance(value, list) and function != "get_multi_columns" else plain(value)
                for key, value in sorted(found.items(), key=str)}

    looked_at.__name__ = function


for question in ("columns", "pk_constraint", "foreign_keys", "indexes", "unique_constraints", "check_constraints", "table_comment", "table_options"):
    kinds(f"get_multi_{question}")


@check
def reflected_and_created_again(engine, sa):
    metadata = sa.MetaData()
    metadata.reflect(engine, views=True)
    return {name: [(column.name, str(column.type), column.nullable, column.primary_key) for column in table.columns]
            for name, table in sorted(metadata.tables.items())}


@check
def mapped_without_a_model(engine, sa):
    from sqlalchemy.ext.automap import automap_base
    from sqlalchemy.orm import Session

    base = automap_base()
    base.prepare(autoload_with=engine)
    with Session(engine) as session:
        ada = session.get(base.classes.people, 1)
        return sorted(base.classes.keys()), [story.title for story in ada.stories_collection]


@check
def defaults_and_checks_are_there(engine, sa):
    seen = sa.inspect(engine)
    return ([(column["name"], column["default"] is not None, column["autoincrement"]) for column in seen.get_columns("stories")],
            [(constraint["name"], bool(constraint["sqltext"])) for constraint in seen.get_check_constraints("comments")],
            [bool(seen.get_view_definition(name)) for name in ("titles", "per_story")])


@check
def sequences_are_read(engine, sa):
    with engine.begin() as connection:
        ask = connection.exec_driver_sql
        return ([tuple(row) for row in ask("SELECT last_value, is_called FROM tickets")], ask("SELECT nextval('tickets')").scalar(),
                [tuple(row) for row in ask("SELECT last_value, is_called FROM tickets")],
                ask("SELECT last_value FROM pg_sequences WHERE sequencename = 'tickets'").scalar(), ask("SELECT pg_sequence_last_value('tickets')").scalar())


@check
def pandas_writes_and_reads(engine, sa):
    import pandas as pd

    moment = pd.Timestamp("2020-02-29 12:30:15.5")
    frame = pd.DataFrame({"id": range(5), "name": list("abcdé"), "x": [1.5, None, 3, 4, 5], "at": [moment] * 5,
                          "zoned": [moment.tz_localize("UTC")] * 5, "yes": [True, False, None, False, True], "gone": [None] * 5})
    seen = []
    for how in ("fail", "append", "replace", "delete_rows"):
        frame.to_sql("frame", engine, if_exists=how, index=False)
        seen.append(len(pd.read_sql_table("frame", engine)))
    frame.set_index("id").to_sql("indexed", engine, method="multi", chunksize=2)
    answers = [pd.read_sql_table(name, engine) for name in ("frame", "indexed", "titles", "per_story")]
    answers.append(pd.read_sql("SELECT * FROM stories ORDER BY id", engine))
    answers.append(pd.read_sql(sa.text("SELECT * FROM stories WHERE id = :id"), engine, params={"id": 1}))
    with engine.connect().execution_options(stream_results=True) as connection:
        seen.append([len(part) for part in pd.read_sql("SELECT g FROM generate_series(1, 1000) g", connection, chunksize=300)])
    with engine.begin() as connection:
        for name in ("frame", "indexed"):
            connection.exec_driver_sql(f"DROP TABLE {name}")
    return seen, [(answer.to_csv(), [str(kind) for kind in answer.dtypes]) for answer in answers]


@check
def polars_reads(engine, sa):
    import polars as pl

    answers = [pl.read_database(query, engine) for query in ("SELECT * FROM stories ORDER BY id", "SELECT * FROM people ORDER BY id", "SELECT * FROM titles")]
    with engine.connect() as connection:
        parts = [len(part) for part in pl.read_database("SELECT g FROM generate_series(1, 1000) g", connection, iter_batches=True, batch_size=300)]
    return parts, [(str(answer.schema), answer.rows()) for answer in answers]


def address(dsn):
    parts = dict(part.split("=", 1) for part in dsn.split())
    return (f"postgresql+psycopg://{parts['user']}:{parts.get('password', '')}@{parts['host']}:{parts['port']}/{parts['dbname']}"
            f"?sslmode=disable&options=-ctimezone%3DUTC")


def our_relations(engine, sa):
    """Schema `dogwood` is found like any other."""
    seen = sa.inspect(engine)
    found = {"views", "latency", "receipts", "audit"}
    assert "dogwood" in seen.get_schema_names(), seen.get_schema_names()
    assert found <= set(seen.get_view_names(schema="dogwood")), seen.get_view_names(schema="dogwood")
    assert not found & set(seen.get_view_names(schema="information_schema")) - {"views"}
    assert "stage" in [column["name"] for column in seen.get_columns("latency", schema="dogwood")]
    metadata = sa.MetaData(schema="dogwood")
    metadata.reflect(engine, views=True)
    with engine.connect() as connection:
        for table in metadata.tables.values():
            connection.execute(sa.select(table)).fetchall()


def main():
    need("sqlalchemy", "pandas", "polars")
    warnings.simplefilter("ignore")
    import sqlalchemy as sa

    failed = 0
    with Dogwood() as dogwood, postgres_if_there() as postgres:
        recording = Recording(pathlib.Path(__file__).with_suffix(".answers"), postgres is not None, "--record" in sys.argv)
        engines = [sa.create_engine(address(server.dsn)) for server in (dogwood, postgres) if server]
        for engine in engines:
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                for statement in SCHEMA.strip().split(";\n"):
                    connection.exec_driver_sql(statement.rstrip(";"))
        for function in CHECKS:
            try:
                ours = shown(function(engines[0], sa))
                theirs = recording.lines(function.__name__, lambda: shown(function(engines[1], sa)))
                assert ours == theirs, "\n".join(["", *difflib.unified_diff(ours, theirs or [], "found", "wanted", lineterm="", n=1)])
            except Exception:
                failed += 1
                print(f"FAILED {function.__name__}\n{traceback.format_exc(limit=-3)}", flush=True)
        try:
            our_relations(engines[0], sa)
        except Exception:
            failed += 1
            print(f"FAILED our_relations\n{traceback.format_exc(limit=-3)}", flush=True)
        for engine in engines:
            engine.dispose()
        failed += recording.close()
        for line in dogwood.log.read_text(errors="replace").split("\n"):
            if "internal error" in line:
                failed += 1
                print(line)
    print(f"{len(CHECKS) + 1 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
