#!/usr/bin/env python3
"""Clients whose encoding is not UTF-8: the same bytes as PostgreSQL's out and in, in queries, parameters, COPY and errors.

Texts go through every encoding both ways; what an encoding has not is refused in the same words. Multi-byte encodings whose second
bytes are backslashes and bars are cut into pieces anywhere.

    encodings.py
"""
import psycopg

from harness import Check, options, rows, run_check
from harness.compared import left_out, postgres_if_there

SETUP = ["CREATE TABLE words (id int PRIMARY KEY, t text, v varchar(20), j jsonb, l text[])"]
TEXTS = {
    "LATIN1": ["café", "ÿ\u0080", "naïve \\ | \t"], "LATIN2": ["łódź"], "LATIN5": ["ğış"], "LATIN9": ["5 €", "œuvre"], "WIN1252": ["“5 €”"], "WIN1251": ["Привет"],
    "KOI8R": ["Привет"], "WIN1250": ["žluťoučký"], "ISO_8859_7": ["λόγος"], "SJIS": ["日本語", "表ソ十能"], "EUC_JP": ["日本語", "表ソ"], "BIG5": ["功許蓋"], "GBK": ["汉字"], "EUC_KR": ["한국어"],
    "UHC": ["똠방각하"], "GB18030": ["汉字"], "UTF8": ["日本語 €"],
}
MISSING = ["日", "Ж", "€", "🦊"]
# The tables have them elsewhere than PostgreSQL's, which writes a zero behind GBK's euro sign.
ELSEWHERE = {("BIG5", "Ж"), ("BIG5", "€"), ("GBK", "€")}


def tried(connection, statement, parameters=None, binary=False):
    """Rows as bytes, or the error's code and message as this client reads them."""
    try:
        cursor = connection.cursor(binary=binary)
        cursor.execute(statement, parameters)
        result = cursor.pgresult
        if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
            return cursor.statusmessage
        names = [result.fname(column) for column in range(result.nfields)]
        return names, [[result.get_value(row, column) for column in range(result.nfields)] for row in range(result.ntuples)]
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary


def copied(connection, statement, data=None, size=1):
    try:
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            if data is None:
                return b"".join(bytes(part) for part in copy)
            for start in range(0, len(data), size):
                copy.write(data[start:start + size])
        return cursor.statusmessage
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary


class Encodings(Check):
    def run(self):
        with self.server.connect() as ours, postgres_if_there() as postgres:
            for statement in SETUP:
                ours.execute(statement)
            self.tally.case(self.alone, ours)
            if postgres is None:
                return left_out("the same bytes to both")
            with psycopg.connect(postgres.dsn, autocommit=True) as theirs:
                for statement in SETUP:
                    theirs.execute(statement)
                for name, texts in TEXTS.items():
                    self.tally.case(self.encoding, name, texts, ours, theirs)

    def alone(self, ours):
        ours.execute("SET client_encoding = 'LATIN1'")
        self.tally.equal(tried(ours, "SELECT 'é'"), ([b"?column?"], [[b"\xe9"]]), "one byte")
        self.tally.equal(ours.execute("SELECT %s", ["ü"]).fetchone(), ("ü",), "a parameter")
        self.tally.equal(rows(ours, "SELECT length('é')"), [(1,)], "a literal is one character")
        ours.execute("RESET client_encoding")
        self.tally.equal(rows(ours, "SELECT 'é€'"), [("é€",)], "as before")

    def encoding(self, name, texts, ours, theirs):
        def same(what, act):
            found = [act(connection) for connection in (ours, theirs)]
            self.tally.equal(found[0], found[1], f"{name}: {what}")
            return found[1]

        same("SET", lambda connection: tried(connection, f"SET client_encoding = '{name}'"))
        same("SHOW", lambda connection: tried(connection, "SHOW client_encoding"))
        for text in texts:
            quoted = text.replace("'", "''")
            same(f"literal {text}", lambda connection: tried(connection, f"SELECT '{quoted}' AS \"{quoted[:8]}\", length('{quoted}'), convert_to('{quoted}', 'UTF8')"))
            for binary in (False, True):
                same(f"parameter {text}, {binary}", lambda connection: tried(connection, "SELECT %s::text, length(%s::text), ARRAY[%s]::text[], to_jsonb(%s::text)", [text] * 4, binary))
                same(f"binary parameter {text}, {binary}", lambda connection: tried(connection, "SELECT %b::text, %b::varchar", [text] * 2, binary))
            same("TRUNCATE", lambda connection: tried(connection, "TRUNCATE words"))
            same(f"INSERT {text}", lambda connection: tried(connection, "INSERT INTO words VALUES (1, %s, %s, to_jsonb(%s::text), ARRAY[%s])", [text, text[:5], text, text]))
            for form in ("text", "csv", "csv, HEADER, FORCE_QUOTE *", "binary"):
                data = same(f"COPY TO {form} of {text}", lambda connection: copied(connection, f"COPY words TO STDOUT (FORMAT {form})"))
                same("TRUNCATE", lambda connection: tried(connection, "TRUNCATE words"))
                into = form.replace(", FORCE_QUOTE *", "")
                same(f"COPY FROM {form} of {text}", lambda connection: copied(connection, f"COPY words FROM STDIN (FORMAT {into})", data))
                same(f"what came of {text} as {form}", lambda connection: tried(connection, "SELECT * FROM words"))
            same(f"error with {text}", lambda connection: tried(connection, f"SELECT \"{quoted[:5]}\""))
            same(f"unknown {text}", lambda connection: tried(connection, "SELECT %s::int", [text]))
        for character in MISSING:
            if (name, character) in ELSEWHERE:
                continue
            same(f"chr of {character}", lambda connection: tried(connection, f"SELECT chr({ord(character)})"))
            same(f"COPY of {character}", lambda connection: copied(connection, f"COPY (SELECT chr({ord(character)})) TO STDOUT"))
        same("RESET", lambda connection: tried(connection, "RESET client_encoding"))
        for text in texts:
            data = copied(theirs, f"COPY (SELECT 9, '{text}', NULL, NULL, NULL) TO STDOUT (ENCODING '{name}')")
            same(f"COPY TO as {name}", lambda connection: copied(connection, f"COPY (SELECT 9, '{text}', NULL, NULL, NULL) TO STDOUT (ENCODING '{name}')"))
            if isinstance(data, bytes):
                same("TRUNCATE", lambda connection: tried(connection, "TRUNCATE words"))
                same(f"COPY FROM as {name}", lambda connection: copied(connection, f"COPY words FROM STDIN (ENCODING '{name}')", data, 3))
                same(f"what came as {name}", lambda connection: tried(connection, "SELECT * FROM words"))


if __name__ == "__main__":
    run_check(Encodings(options(15)))
