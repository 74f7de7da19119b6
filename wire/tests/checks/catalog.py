#!/usr/bin/env python3
"""The catalog shows what was declared: a wide schema, made in Dogwood and in PostgreSQL 15, is described alike by both.

    defaults    every literal over every type that it fits, keywords, casts, functions, sequences
    checks      expressions of every kind, in the form of dumps and the pretty one of `\\d`
    indexes     orders, NULLS, operator classes, collations, INCLUDE, hash, of keys too
    commands    psql's \\d family, of functions, operators, casts, operator classes, extensions

Compared: `\\d` of each table, information_schema.columns, pg_attrdef, pg_constraint, pg_index, pg_indexes, pg_get_expr and its
like. Then Dogwood's own words are given to a second Dogwood, which must say the same. DOGWOOD names the binary.

    catalog.py [--record]      writes PostgreSQL's answers anew, into catalog.answers, which is for where it is not installed
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

from harness.compared import Dogwood, Wire, left_out, postgres_if_there, postgres_program
from harness.recorded import Recorded, Recording

TYPES = ["text", "varchar", "varchar(10)", "char(4)", "int", "smallint", "bigint", "numeric", "numeric(6,2)", "real",
         "double precision", "boolean", "date", "time", "timestamp", "timestamp(3)", "timestamptz", "interval", "uuid", "json",
         "jsonb", "bytea", "text[]", "int[]", "varchar(5)[]", "numeric(4,1)[]", "mood"]
LITERALS = ["''", "'a b'", "'it''s'", "E'back\\\\slash'", "'x'::text", "'x'::varchar(3)", "NULL", "NULL::text", "0", "-1", "7", "1.5",
            "-2.25", "1e3", "5000000000", "'5'", "'-5'", "0::bigint", "1.5::numeric(6,2)", "1::smallint", "TRUE", "false", "'t'", "'no'",
            "'2020-02-03'", "'2020-02-03 04:05:06'", "'04:05'", "'1 day 2 hours'", "date '2020-02-03'", "interval '90 minutes'",
            "timestamp '2020-02-03 04:05'", "'{}'", "'{1,2}'", "'{\"a\": 1}'", "ARRAY[]::text[]", "ARRAY['a','b']", "ARRAY[1,2]",
            "ARRAY[1,2]::numeric(4,1)[]", "'happy'", "'sad'::mood", "'\\x0102'", "'5a1b7c3e-0000-4000-8000-000000000001'",
            "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP(3)", "now()", "CURRENT_DATE", "LOCALTIMESTAMP", "LOCALTIME", "CURRENT_USER", "USER",
            "CURRENT_ROLE", "SESSION_USER", "CURRENT_CATALOG", "current_schema", "current_schema()", "current_database()",
            "clock_timestamp()", "statement_timestamp()", "timezone('utc', now())", "(now() AT TIME ZONE 'utc')", "gen_random_uuid()",
            "nextval('counter')", "nextval('counter'::regclass)", "1 + 2 * 3", "(1 + 2) * 3", "-(3)", "'a' || 'b'", "upper('x')",
            "lower('A') || 'b'", "length('abc')", "now() + interval '1 day'", "coalesce(NULL, 'x')", "nullif('a', 'b')",
            "CASE WHEN true THEN 'a' ELSE 'b' END", "greatest(1, 2)", "extract(year FROM now())", "date_trunc('day', now())",
            "substring('abc' from 2 for 1)", "substring('abc', 2)", "trim('  x ')", "btrim('x')", "trim(leading 'a' from 'ab')",
            "position('b' in 'abc')", "overlay('abc' placing 'x' from 2)", "('abc' LIKE 'a%')", "(NOT true)", "(1 = 1)", "(ARRAY[1,2])[1]",
            "to_char(now(), 'YYYY')", "random()", "md5('x')", "concat('a'::text, 1)", "left('abc', 1)", "(1)::text", "'1'::int", "cast(1.5 as int)"]
CHECKS = ["i > 0", "i>0 AND j<10", "i > 0 OR j > 0 AND n > 1", "(i > 0 OR j > 0) AND n > 1", "NOT (i = 3)", "NOT i = 3 AND j = 1", "b", "NOT b",
          "b IS TRUE", "b IS NOT FALSE", "b = true", "b IS UNKNOWN", "i IS NULL OR j IS NOT NULL", "v <> ''", "v = 'x'", "t <> ''", "c = 'ab'",
          "v IN ('a', 'b')", "t IN ('a', 'b')", "i IN (1, 2, 3)", "i IN (1)", "i NOT IN (1, 2)", "n IN (1, 2.5)", "i IN (1, j)",
          "i = ANY (ARRAY[1,2])", "v = ANY (ARRAY['a','b'])", "v::text = ANY (ARRAY['a'::character varying, 'b'::character varying]::text[])",
          "t LIKE 'a%'", "v LIKE 'a%'", "t NOT LIKE '%x'", "t ILIKE 'a%'", "t ~ '^a'", "v ~* '^[a-z]+$'", "t !~ 'x'", "t SIMILAR TO 'a|b'",
          "i BETWEEN 1 AND 10", "i NOT BETWEEN 1 AND 10", "n >= 0", "n > 0.5", "f > 0", "f < 1.5", "s = 1", "l > 5", "l = 5000000000", "i > l",
          "n > i", "d > '2020-01-01'", "d > date '2020-01-01'", "ts < now()", "ts > '2020-01-01 10:00'", "tz > '2020-01-01 10:00+02'",
          "length(t) > 3", "char_length(v) <= 10", "upper(v) = v", "lower(t) = 'x'", "t = upper(v)", "t || v <> 'xy'", "t || i <> ''",
          "coalesce(i, 0) > 0", "coalesce(v, 'x') = 'x'", "nullif(i, 3) > 1", "greatest(i, j) < 10", "least(i, 5, j) > 0", "i + j * 2 > 10",
          "(i + j) * 2 > 10", "i - (j - 1) > 0", "i - j - 1 > 0", "-i < 0", "i % 2 = 0", "i / 2 > j", "abs(i) > 1", "i::bigint > 1", "i::text <> ''",
          "(i::numeric / 2) > 1", "n::int = 3", "CASE WHEN i > 0 THEN b ELSE false END", "CASE WHEN b THEN i END > 0",
          "extract(year from d) > 2000", "date_part('year', d) > 2000", "extract(dow from ts) IN (1, 2)", "js ->> 'a' = 'b'", "js -> 'a' ? 'x'",
          "js @> '{\"a\": 1}'", "jsonb_typeof(js) = 'object'", "a[1] > 0", "a @> ARRAY[1]", "array_length(a, 1) = 2", "cardinality(a) > 0",
          "1 = ANY (a)", "3 <> ALL (a)", "i IS DISTINCT FROM j", "v IS DISTINCT FROM 'x'", "i IS NOT DISTINCT FROM 3", "m = 'happy'",
          "m IN ('happy', 'sad')", "ts AT TIME ZONE 'UTC' > now()", "iv > '1 hour'", "iv > interval '1 hour'", "(i > 0) = b", "i > 0 IS TRUE",
          "substring(t from 1 for 2) = 'ab'", "trim(t) = t", "position('a' in t) > 0", "u <> '5a1b7c3e-0000-4000-8000-000000000001'",
          "by <> ''", "round(n, 2) = n", "(i, j) = (1, 2)", "t > 'a' AND t < 'b' AND i > 0 AND (j > 0 OR j < -5)", "num_nonnulls(i, j) = 1",
          "date_trunc('day', ts) = ts", "i <> -1", "n <> -1.5", "v::varchar(3) = v", "(i > 0 AND j > 0) IS NOT NULL",
          "((((i)))) > ((1))", "b AND (b OR NOT b)", "NOT (b AND i > 0)", "NOT (i IS NULL)", "(i IS NULL) = (j IS NULL)", "lower(v) LIKE 'x%'"]
COLUMNS = ("i int, j int, s smallint, l bigint, n numeric, f double precision, b boolean, t text, v varchar(20), c char(4), d date, "
           "ts timestamp, tz timestamptz, iv interval, js jsonb, a int[], m mood, u uuid, by bytea")
INDEXES = ["i DESC", "i DESC NULLS LAST", "i NULLS FIRST", "i ASC NULLS LAST", "i DESC NULLS FIRST, j", "i, j DESC, t NULLS FIRST",
           "t text_pattern_ops", "v varchar_pattern_ops DESC", "t text_ops", "v varchar_ops", "v text_ops", "c bpchar_pattern_ops", "i int4_ops DESC",
           't COLLATE "C"', 't COLLATE "C" text_pattern_ops DESC NULLS LAST', 't COLLATE "default"', "i) INCLUDE (j", "i DESC) INCLUDE (j, t",
           "a", "m", "d", "u", "js", "by", "iv"]
REFUSED = ["CREATE INDEX ON ix (i text_ops)", "CREATE INDEX ON ix (i nonsense_ops)", "CREATE INDEX ON ix USING hash (i, j)",
           "CREATE UNIQUE INDEX ON ix USING hash (i)", "CREATE INDEX ON ix USING hash (i DESC)", "CREATE INDEX ON ix USING hash (i) INCLUDE (j)",
           'CREATE INDEX ON ix (i COLLATE "C")', "CREATE INDEX ON ix (i) INCLUDE (nowhere)", "CREATE INDEX ON ix (i int4_ops (x = 1))"]

ASKED = {
    "information_schema.columns": "SELECT table_name, column_name, column_default, is_generated, generation_expression "
                                  "FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, ordinal_position",
    "pg_attrdef": "SELECT c.relname, a.attname, a.atthasdef, pg_get_expr(d.adbin, d.adrelid), pg_get_expr(d.adbin, d.adrelid, true) "
                  "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
                  "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 ORDER BY 1, a.attnum",
    "pg_constraint": "SELECT conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) "
                     "FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
    "pg_index": "SELECT indrelid::regclass::text, indexrelid::regclass::text, indnatts, indnkeyatts, indisunique, indkey::text, indoption::text, "
                "indclass::text, pg_get_indexdef(indexrelid), pg_get_indexdef(indexrelid, 0, true), pg_get_indexdef(indexrelid, 1, true), "
                "pg_get_indexdef(indexrelid, 2, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
                "WHERE c.relnamespace = 'public'::regnamespace ORDER BY 1, 2",
    "pg_indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2",
    "check_constraints": "SELECT constraint_name, check_clause FROM information_schema.check_constraints "
                         "WHERE constraint_schema = 'public' AND check_clause NOT LIKE '%IS NOT NULL' ORDER BY 1",
}

# Of what both have: patterns that name nothing of ranges, full text and the other types that are not here.
COMMANDS = ["\\df initcap", "\\df abs", "\\df+ now", "\\df jsonb_each*", "\\df percentile_*", "\\da bool_*", "\\da string_agg", "\\sf now", "\\sf pg_catalog.lower(text)",
            "\\sf abs", "\\sf nowhere", "\\do !~", "\\do ^", "\\do+ %", "\\dC date", "\\dC uuid", "\\dA btree", "\\dAc btree int*", "\\dAf btree uuid", "\\dAo btree uuid_ops", "\\dAp hash uuid_ops",
            "\\dx plpgsql", "\\dx pgcrypto", "\\dT uuid", "\\dT+ jsonb", "\\dF nowhere", "\\dFd nowhere", "\\dFp nowhere", "\\dFt nowhere", "\\dc", "\\dy", "\\dX", "\\dRp", "\\dRs", "\\des",
            "\\dew", "\\det", "\\deu", "\\dP", "\\ddp", "\\dD", "\\dE", "\\dm", "\\dv", "\\drds"]


class Check:
    def __init__(self, ours, theirs):
        self.ours, self.theirs, self.recording, self.passed, self.failed = ours, theirs, theirs.recording, 0, 0

    def say(self, same, what, ours, theirs):
        self.passed += same
        self.failed += not same
        if not same:
            print(f"DIFFERS {what}\n    dogwood  {ours}\n    postgres {theirs}", flush=True)

    def both(self, sql):
        """Whether both take a definition; that only one does is a failure."""
        ours, theirs = self.ours.run(sql), self.theirs.run(sql)
        if ours.error == "0A000" and theirs.error is None:
            self.theirs.run("DROP TABLE IF EXISTS " + sql.split()[2])
            return False
        self.say(ours.error == theirs.error, sql, ours, theirs)
        return ours.error is None and theirs.error is None

    def asked(self):
        for name, sql in ASKED.items():
            ours, theirs = self.ours.run(sql), self.theirs.run(sql)
            if ours.error or theirs.error or len(ours.rows) != len(theirs.rows):
                self.say(False, name, (ours.error, ours.message, len(ours.rows)), (theirs.error, theirs.message, len(theirs.rows)))
                continue
            for mine, its in zip(ours.rows, theirs.rows):
                self.say(mine == its, name, mine, its)


def takes(check, column_type, literal):
    """Whether PostgreSQL does."""
    answer = check.theirs.wire.run(f"CREATE TEMP TABLE probe (x {column_type} DEFAULT {literal})")
    check.theirs.wire.run("DROP TABLE IF EXISTS probe")
    return answer.error is None


def make(check):
    """The schema; gives the names of its tables."""
    for sql in ("CREATE TYPE mood AS ENUM ('sad', 'happy')", "CREATE SEQUENCE counter"):
        check.both(sql)
    tables = []
    for number, column_type in enumerate(TYPES):
        # A column for each default that PostgreSQL takes of this type.
        taken = check.recording.lines(f"defaults of {column_type}", lambda: [str(n) for n, literal in enumerate(LITERALS) if takes(check, column_type, literal)])
        columns = [f"c{place} {column_type} DEFAULT {LITERALS[int(n)]}" for place, n in enumerate(taken or [])]
        table = f"defaults_{number:02}"
        if check.both(f"CREATE TABLE {table} ({', '.join(columns)})"):
            tables.append(table)
    for number, condition in enumerate(CHECKS):
        table = f"check_{number:03}"
        if check.both(f"CREATE TABLE {table} ({COLUMNS}, CONSTRAINT k{number:03} CHECK ({condition}))"):
            tables.append(table)
    check.both(f"CREATE TABLE ix ({COLUMNS})")
    for number, columns in enumerate(INDEXES):
        check.both(f"CREATE INDEX ix_{number:02} ON ix ({columns})")
    check.both("CREATE INDEX ix_hash ON ix USING hash (t)")
    check.both("CREATE UNIQUE INDEX ix_unique ON ix (i DESC, j) INCLUDE (s)")
    for sql in REFUSED:
        ours, theirs = check.ours.run(sql), check.theirs.run(sql)
        check.say(ours.error == theirs.error and ours.error is not None, sql, ours, theirs)
    more = ["keyed (id int, a int, b text, PRIMARY KEY (id) INCLUDE (b), UNIQUE (a) INCLUDE (b), g int GENERATED ALWAYS AS (a * 2 + 1) STORED, "
            "h text GENERATED ALWAYS AS (upper(b) || '!') STORED)",
            "numbered (id serial PRIMARY KEY, big bigserial, ident int GENERATED ALWAYS AS IDENTITY, \"Mixed\" text DEFAULT 'x' CHECK (\"Mixed\" <> ''), "
            "\"order\" int CHECK (\"order\" > 0))"]
    for table in more:
        if check.both(f"CREATE TABLE {table}"):
            tables.append(table.split()[0])
    check.both("CREATE INDEX ON keyed (b, a)")
    check.both("ALTER TABLE keyed ALTER a SET DEFAULT NULL, ALTER b SET DEFAULT ''")
    check.both("ALTER TABLE numbered RENAME COLUMN \"order\" TO \"group\"")
    return [*tables, "ix"]


def psql(dsn, *arguments, **more):
    done = subprocess.run([postgres_program("psql"), "-X", "-q", dsn, *arguments], capture_output=True, text=True, env={**os.environ, "PGCLIENTENCODING": "UTF8"}, **more)
    return done.stdout + done.stderr


def described(dsn, tables):
    """psql's `\\d` of each table."""
    parts = psql(dsn, input="".join(f"\\echo ### {table}\n\\d {table}\n" for table in tables)).split("### ")[1:]
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in parts}


def commands(check, ours, theirs):
    """psql's other commands. An owner is who is logged in, and makes a column as wide as the name."""
    check.both("CREATE EXTENSION pgcrypto")
    owner = lambda dsn: re.search(r"user=(\S+)", dsn)[1]  # noqa: E731
    shown = lambda dsn, command: re.sub(r"\s+|-{3,}", " ", psql(dsn, "-c", command).replace(owner(dsn), "owner"))  # noqa: E731
    for command in COMMANDS:
        mine, its = shown(ours, command), shown(theirs, command)
        check.say(mine == its, command, mine, its)


def said_again(check):
    """Dogwood's own words make the same schema once more."""
    words = [row[0].decode() for row in check.ours.run(
        "SELECT 'CREATE TABLE ' || c.relname || ' (' || string_agg(quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod) || "
        "coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), ''), ', ' ORDER BY a.attnum) || ')' FROM pg_class c JOIN pg_attribute a "
        "ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
        "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND a.attgenerated = '' AND a.attidentity = '' "
        "AND c.relname NOT IN ('keyed', 'numbered') GROUP BY c.relname ORDER BY 1").rows]
    words += [row[0].decode() for row in check.ours.run(
        "SELECT 'ALTER TABLE ' || conrelid::regclass || ' ADD CONSTRAINT ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE contype = 'c' AND connamespace = 'public'::regnamespace AND conrelid::regclass::text NOT IN ('keyed', 'numbered') ORDER BY 1").rows]
    words += [row[0].decode() for row in check.ours.run("SELECT indexdef FROM pg_indexes WHERE tablename = 'ix' ORDER BY 1").rows]
    with Dogwood() as second:
        wire = Wire(second.dsn)
        for sql in ["CREATE TYPE mood AS ENUM ('sad', 'happy')", "CREATE SEQUENCE counter", *words]:
            answer = wire.run(sql)
            check.say(answer.error is None, f"again: {sql}", answer, "")
        for name in ("pg_indexes", "check_constraints", "information_schema.columns"):
            sql = ASKED[name]
            if name == "information_schema.columns":
                sql = sql.replace(" ORDER BY", " AND table_name NOT IN ('keyed', 'numbered') ORDER BY")
            keyed = lambda rows: [row for row in rows if row[0] not in (b"keyed", b"numbered") and not row[0].startswith(b"numbered_")]
            mine, again = keyed(check.ours.run(sql).rows), keyed(wire.run(sql).rows)
            for first, then in zip(mine, again):
                # PostgreSQL, too, casts each element when it reads this once more.
                check.say(first == then or any(b"])::text[]" in (value or b"") for value in first), f"said again, {name}", then, first)
            check.say(len(mine) == len(again), f"said again, {name}", len(again), len(mine))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--record", action="store_true")
    options = arguments.parse_args()
    with Dogwood() as dogwood, postgres_if_there() as postgres:
        recording = Recording(pathlib.Path(__file__).with_suffix(".answers"), postgres is not None, options.record)
        check = Check(Wire(dogwood.dsn), Recorded(recording, Wire(postgres.dsn) if postgres else None))
        tables = make(check)
        check.asked()
        check.failed += recording.close()
        if postgres:
            ours, theirs = described(dogwood.dsn, tables), described(postgres.dsn, tables)
            for table in tables:
                if ours.get(table) != theirs.get(table):
                    lines = [(a, b) for a, b in zip(ours.get(table, "").split("\n"), theirs.get(table, "").split("\n")) if a != b]
                    check.say(False, f"\\d {table}", *(lines[0] if lines else (len(ours.get(table, "")), len(theirs.get(table, "")))))
                else:
                    check.passed += 1
            commands(check, dogwood.dsn, postgres.dsn)
        else:
            left_out("psql's \\d of each table and its other commands")
        said_again(check)
        print(f"{check.passed} passed, {check.failed} failed")
        return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
