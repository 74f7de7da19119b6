#!/usr/bin/env python3
"""Same protocol messages to Dogwood and to PostgreSQL 15: same answers, message by message.

    messages.py [--only NAME] [--verbose] [--record]

A script is lines, each one message of one connection (`2>` at its beginning: of a second one):

    Q sql                       a query string
    P statement | sql [| oid …] Parse
    B portal statement [| value …]   Bind; `-` is the unnamed one, all in text
    D S name, D P name          Describe
    E portal [rows]             Execute
    C S name, C P name          Close
    S                           Sync

What Q and S are answered is compared up to ReadyForQuery: kinds, columns, rows, tags, SQLSTATEs with their messages and, of what
drivers tell by it, the routine. PostgreSQL's answers are recorded (messages.answers) for where it is not installed. DOGWOOD names the
binary.
"""

import argparse
import pathlib
import socket
import struct
import sys

from harness.compared import Dogwood, postgres_if_there
from harness.recorded import Recording, escape

ROUTINES = ("RevalidateCachedQuery", "exec_stmt_raise")
# Created types have others on each server.
FIRST_OWN_OID = 16384
LISTED = ("SELECT name, statement, parameter_types, from_sql, generic_plans + custom_plans AS plans "
          "FROM pg_prepared_statements ORDER BY name")

SCRIPTS = {
    "one namespace": f"""
        P s | SELECT 1 AS one
        S
        Q EXECUTE s
        Q PREPARE q(int) AS SELECT $1 + 1 AS more
        B - q | 41
        D P -
        E -
        S
        Q {LISTED}
        P q | SELECT 2
        S
        Q PREPARE s AS SELECT 3
        C S q
        S
        Q EXECUTE q(1)
        Q DEALLOCATE s
        B - s
        S
        D S s
        S
        Q DEALLOCATE s
        Q {LISTED}
    """,
    "texts are kept as they were sent": f"""
        Q /* one */ PREPARE a AS SELECT 1 ; -- done
        Q SELECT 5; PREPARE b AS SELECT 1; SELECT 2
        P c | SELECT 3 ; -- c
        P - | PREPARE d AS SELECT 4 ;
        B - -
        E -
        S
        Q {LISTED}
        Q BEGIN; DECLARE x CURSOR FOR SELECT 1 ; -- x
        Q DECLARE y CURSOR FOR SELECT 2;
        Q SELECT name, statement FROM pg_cursors ORDER BY name
        Q ROLLBACK
    """,
    "deallocate all": f"""
        P a | SELECT 1
        P - | SELECT 2 AS two
        S
        P b | SELECT 4
        P - | DEALLOCATE ALL
        B - -
        E -
        S
        B - a
        S
        P - | SELECT 2 AS two
        S
        P c | SELECT $1::text | 25
        S
        Q {LISTED}
        Q DISCARD ALL
        Q {LISTED}
        B - c | x
        S
        P c | SELECT 5
        S
        Q EXECUTE c
        Q DEALLOCATE PREPARE c
        Q EXECUTE c
    """,
    "the unnamed one is outlived by no query string": """
        P - | SELECT 1
        S
        B - -
        E -
        S
        Q SELECT 2
        B - -
        S
        P - | SELECT nothing_there
        S
        B - -
        S
    """,
    "what is bound outlives its statement": """
        Q BEGIN
        P s | SELECT n FROM generate_series(1, 3) n
        B p s
        E p 1
        S
        Q DEALLOCATE s
        E p 1
        S
        C S s
        E p 5
        S
        Q ROLLBACK
    """,
    "EXECUTE of what the protocol prepared": f"""
        P add | SELECT $1::int4 + $2 AS sum
        S
        Q EXECUTE add(1, 2)
        Q EXECUTE add(1)
        Q EXECUTE add('x', 2)
        Q EXECUTE add(1, 2, 3)
        Q EXECUTE nothing_there
        P show | SHOW standard_conforming_strings
        S
        Q EXECUTE show
        P - | EXECUTE add(3, 4)
        D S -
        B - -
        D P -
        E -
        S
        Q {LISTED}
    """,
    "transactions do not take it back": """
        Q BEGIN
        P s | SELECT 1
        S
        Q ROLLBACK
        Q EXECUTE s
        Q BEGIN
        Q PREPARE t AS SELECT 2
        Q DEALLOCATE s
        Q ROLLBACK
        Q EXECUTE t
        Q EXECUTE s
    """,
    "databases": """
        Q CREATE DATABASE made WITH OWNER DEFAULT ENCODING 'UTF8' LC_COLLATE 'C' TEMPLATE template0 CONNECTION LIMIT -1
        Q CREATE DATABASE made
        Q CREATE DATABASE template1
        Q CREATE DATABASE other TEMPLATE nosuch
        Q CREATE DATABASE other SPEED 7
        Q CREATE DATABASE other ENCODING 'UTF8' ENCODING 'UTF8'
        Q CREATE DATABASE other CONNECTION LIMIT -2
        Q CREATE DATABASE other TABLESPACE nosuch
        Q CREATE DATABASE other STRATEGY quickly
        Q CREATE DATABASE other; SELECT 1
        P - | CREATE DATABASE "An other"
        B - -
        E -
        S
        Q BEGIN
        Q CREATE DATABASE within
        Q ROLLBACK
        Q BEGIN
        Q DROP DATABASE made
        Q ROLLBACK
        Q BEGIN
        Q ALTER DATABASE made RENAME TO renamed
        Q COMMIT
        Q ALTER DATABASE renamed RENAME TO made
        Q ALTER DATABASE made RENAME TO "An other"
        Q ALTER DATABASE nosuch RENAME TO made
        Q ALTER DATABASE nosuch RENAME TO another
        Q ALTER DATABASE nosuch OWNER TO CURRENT_USER
        Q SELECT datname FROM pg_database WHERE datname IN ('made', 'An other', 'other', 'within', 'renamed') ORDER BY 1
        Q SELECT 1 FROM made.public.nosuch
        Q CREATE TABLE made.public.nosuch (i int)
        Q DROP DATABASE nosuch
        Q DROP DATABASE IF EXISTS nosuch
        Q DROP DATABASE IF EXISTS nosuch WITH (FORCE)
        Q DROP DATABASE template0
        Q DROP DATABASE made WITH (SPEED)
        Q DROP DATABASE made WITH FORCE
        Q DROP DATABASE made, "An other"
        Q DROP DATABASE made (FORCE)
        Q DROP DATABASE "An other"
        Q SELECT datname FROM pg_database WHERE datname IN ('made', 'An other', 'other', 'within', 'renamed') ORDER BY 1
    """,
    "a failed block": """
        P s | SELECT 1
        P r | ROLLBACK
        P n | SET application_name = 'x'
        S
        Q BEGIN
        Q SELECT nothing_there
        B - s
        S
        D S s
        S
        D S n
        S
        B - n
        S
        P - | SELECT 2
        S
        Q EXECUTE s
        C S s
        S
        B - r
        E -
        S
        B - s
        S
    """,
    "DISCARD": """
        Q CREATE SEQUENCE counted
        Q SELECT nextval('counted')
        Q DISCARD SEQUENCES
        Q SELECT currval('counted')
        Q SELECT nextval('counted')
        Q DISCARD ALL
        Q SELECT lastval()
        Q BEGIN
        Q DISCARD ALL
        Q ROLLBACK
        Q DROP SEQUENCE counted
    """,
    "FETCH of a cursor that is made anew": """
        Q BEGIN
        Q DECLARE k CURSOR FOR SELECT 1 AS a
        P f | FETCH ALL FROM k
        D S f
        B - f
        D P -
        E -
        S
        Q CLOSE k
        Q DECLARE k CURSOR FOR SELECT 'x'::text AS b, 2 AS c
        B - f
        D P -
        E -
        S
        Q CLOSE k
        B - f
        D P -
        E -
        S
        Q ROLLBACK
    """,
    "rows that nobody has described": """
        Q BEGIN
        Q DECLARE k CURSOR FOR SELECT 1 AS a
        P f | FETCH ALL FROM k
        D S f
        B - f
        E -
        S
        Q CLOSE k
        Q DECLARE k CURSOR FOR SELECT 'x'::text AS b, 2 AS c
        B - f
        E -
        S
        Q ROLLBACK
        Q PREPARE q AS SELECT 1 AS a
        P e | EXECUTE q
        B - e
        D P -
        E -
        S
        Q DEALLOCATE q
        Q PREPARE q AS SELECT 'x'::text AS b, 2 AS c
        B - e
        E -
        S
    """,
    "statements that execute each other": """
        P a | EXECUTE b
        P b | EXECUTE a
        S
        B - a
        E -
        S
        Q EXECUTE b
        Q SELECT 1
    """,
    "FETCH that is prepared before its cursor": """
        P f | FETCH ALL FROM k
        S
        Q BEGIN
        Q DECLARE k CURSOR FOR SELECT 1 AS a
        B - f
        D P -
        E -
        S
        Q ROLLBACK
    """,
    "EXECUTE of a statement that is made anew": """
        Q PREPARE q AS SELECT 1 AS a
        P e | EXECUTE q
        D S e
        B - e
        D P -
        E -
        S
        Q DEALLOCATE q
        Q PREPARE q AS SELECT 'x'::text AS b, 2 AS c
        B - e
        D P -
        E -
        S
        Q DEALLOCATE q
        B - e
        D P -
        E -
        S
    """,
    "a table that changed": """
        Q CREATE TABLE changed (id int PRIMARY KEY, name text)
        Q INSERT INTO changed VALUES (1, 'a')
        P every | SELECT * FROM changed
        P one | SELECT name FROM changed WHERE id = $1
        P write | UPDATE changed SET name = $2 WHERE id = $1
        P back | UPDATE changed SET name = 'b' WHERE id = 1 RETURNING *
        S
        2> Q ALTER TABLE changed ADD COLUMN more int
        B - every
        E -
        S
        D S every
        S
        Q EXECUTE every
        B - one | 1
        D P -
        E -
        S
        B - write | 1 | c
        E -
        S
        B - back
        S
        Q SELECT * FROM changed
        2> Q ALTER TABLE changed DROP COLUMN more
        B - every
        D P -
        E -
        S
        2> Q ALTER TABLE changed RENAME COLUMN name TO label
        B - one | 1
        S
        B - every
        S
        2> Q ALTER TABLE changed RENAME COLUMN label TO name
        B - every
        E -
        S
        2> Q ALTER TABLE changed ALTER COLUMN name TYPE varchar(20)
        B - one | 1
        S
        Q EXECUTE every
        2> Q DROP TABLE changed
        B - write | 1 | c
        S
        2> Q CREATE TABLE changed (id int PRIMARY KEY, name text)
        B - write | 1 | c
        E -
        S
        B - every
        E -
        S
        2> Q DROP TABLE changed
    """,
    "names that are cut": """
        Q CREATE TABLE aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB" int); SELECT 1 AS "ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
        Q SELECT * FROM aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB -- aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB
        Q SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB', 1 AS aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB
        P cut | SELECT 1 AS aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB
        S
        Q SELECT 1 AS aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB
        Q SELECT 2 AS aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB
        Q SELECT 3 AS aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB
        Q DROP TABLE aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB
    """,
    "types of parameters that changed": """
        Q CREATE TABLE keyed (id int, v int)
        Q INSERT INTO keyed VALUES (1, 2)
        P s | SELECT v FROM keyed WHERE id = $1
        D S s
        S
        2> Q ALTER TABLE keyed ALTER COLUMN id TYPE text
        B - s | 1
        S
        D S s
        S
        2> Q ALTER TABLE keyed ALTER COLUMN id TYPE bigint USING id::bigint
        B - s | 1
        E -
        S
        D S s
        S
        Q DROP TABLE keyed
    """,
    "SQL's own PREPARE": """
        Q CREATE TABLE sq (a int)
        Q PREPARE s AS SELECT * FROM sq
        Q PREPARE n AS SELECT a FROM sq
        Q ALTER TABLE sq ADD COLUMN b int
        Q EXECUTE s
        Q EXECUTE n
        Q BEGIN
        Q EXECUTE s
        Q EXECUTE n
        Q ROLLBACK
        Q DROP TABLE sq
        Q EXECUTE n
    """,
    "a view that changed": """
        Q CREATE TABLE base (a int, b text)
        Q CREATE VIEW seen AS SELECT a FROM base
        P s | SELECT * FROM seen
        P c | SELECT count(*) FROM seen
        S
        2> Q CREATE OR REPLACE VIEW seen AS SELECT a, b FROM base
        B - s
        S
        B - c
        E -
        S
        2> Q DROP VIEW seen
        B - c
        S
        Q DROP TABLE base
    """,
    "inside a transaction": """
        Q CREATE TABLE inner_change (a int)
        P s | SELECT * FROM inner_change
        S
        Q BEGIN
        B - s
        E -
        S
        Q ALTER TABLE inner_change ADD COLUMN b int
        B - s
        E -
        S
        B - s
        S
        Q ROLLBACK
        B - s
        D P -
        E -
        S
        Q DROP TABLE inner_change
    """,
    "a query string has no result to keep": """
        Q CREATE TABLE script (a int)
        Q SELECT * FROM script
        Q SELECT * FROM script
        Q SELECT * FROM script
        2> Q ALTER TABLE script ADD COLUMN b int
        Q SELECT * FROM script
        Q SELECT * FROM script
        Q DROP TABLE script
    """,
    "parameters of domains": """
        Q CREATE DOMAIN whole AS int CHECK (VALUE >= 0)
        Q CREATE TABLE of_domain (a whole, b whole[], c text)
        P s | SELECT $1::whole, $2::whole + 1, $3::int, $4::whole[]::text, coalesce($5, 1::whole), $3::whole
        D S s
        S
        P i | INSERT INTO of_domain VALUES ($1, $2, $3)
        D S i
        S
        P u | UPDATE of_domain SET a = $1 WHERE a = $2
        D S u
        S
        B - i | 1 | {2} | x
        E -
        S
        B - i | -1 | {2} | x
        E -
        S
        Q SELECT a, c FROM of_domain
        Q DROP TABLE of_domain; DROP DOMAIN whole
    """,
    "where RAISE says that it is": """
        Q DO $$ BEGIN RAISE NOTICE 'told'; END $$
        Q DO $$ BEGIN RAISE 'failed'; END $$
    """,
    "closing a cursor as a portal": """
        Q BEGIN
        Q DECLARE k CURSOR FOR SELECT 1
        C P k
        S
        Q FETCH k
        Q ROLLBACK
    """,
}

# (script, answer): why Dogwood answers otherwise there.
INTENDED = {
    ("rows that nobody has described", 5): "PostgreSQL sends rows of other columns than it has described; here that is a changed result",
    ("rows that nobody has described", 11): "the same",
    ("parameters of domains", 6): "a value passes its domain where it is used, not as it is bound",
}


class Peer:
    """A connection made of bytes."""

    def __init__(self, port, user, database):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.stream = self.socket.makefile("rb")
        parameters = b"".join(f"{k}\0{v}\0".encode() for k, v in {"user": user, "database": database}.items())
        body = struct.pack("!I", 196608) + parameters + b"\0"
        self.socket.sendall(struct.pack("!I", len(body) + 4) + body)
        self.answer()

    def send(self, kind, body):
        self.socket.sendall(kind + struct.pack("!I", len(body) + 4) + body)

    def answer(self):
        """What comes up to ReadyForQuery, each message as text."""
        told = []
        while True:
            head = self.stream.read(5)
            if len(head) < 5:
                return told + ["gone"]
            body = self.stream.read(struct.unpack("!I", head[1:])[0] - 4)
            line = describe(head[:1], body)
            if line:
                told.append(line)
            if head[:1] == b"Z":
                return told


def strings(body):
    return [part.decode(errors="replace") for part in body.split(b"\0")]


def describe(kind, body):
    if kind in (b"E", b"N"):
        fields = {field[0]: field[1:] for field in strings(body) if field}
        routine = None
        if fields.get("R") in ROUTINES:
            # The line is that of another minor version.
            routine = f"{fields['R']} {fields.get('F')} {'line' if fields.get('L', '').isdigit() else 'nowhere'}"
        return " ".join(filter(None, [kind.decode(), fields["V"], fields["C"], fields["M"], routine]))
    if kind == b"T":
        columns, at = [], 2
        for _ in range(struct.unpack("!H", body[:2])[0]):
            end = body.index(b"\0", at)
            _, _, oid, _, modifier, form = struct.unpack("!IhIhih", body[end + 1:end + 19])
            columns.append(f"{body[at:end].decode()}:{oid}:{modifier}:{form}")
            at = end + 19
        return "T " + " ".join(columns)
    if kind == b"t":
        oids = struct.unpack(f"!{(len(body) - 2) // 4}I", body[2:])
        return "t " + " ".join(str(oid) if oid < FIRST_OWN_OID else "own" for oid in oids)
    if kind == b"D":
        values, at = [], 2
        while at < len(body):
            length = struct.unpack("!i", body[at:at + 4])[0]
            at += 4
            values.append("NULL" if length < 0 else body[at:at + length].decode(errors="replace"))
            at += max(length, 0)
        return "D " + "|".join(values)
    if kind == b"C":
        return "C " + body[:-1].decode()
    if kind == b"Z":
        return "Z " + body.decode()
    if kind == b"S":
        return ""
    return kind.decode()


def name(word):
    return (b"" if word == "-" else word.encode()) + b"\0"


def play(script, connect):
    """(line, what it was answered) of each Q and S."""
    peers, told = {}, []
    for line in filter(None, map(str.strip, script.strip().split("\n"))):
        number, text = ("2", line[2:].strip()) if line.startswith("2>") else ("1", line)
        peer = peers.get(number) or peers.setdefault(number, connect())
        kind, _, rest = text.partition(" ")
        parts = [part.strip() for part in rest.split(" | ")]
        if kind == "Q":
            peer.send(b"Q", rest.encode() + b"\0")
        elif kind == "P":
            oids = [int(oid) for oid in parts[2].split()] if len(parts) > 2 else []
            peer.send(b"P", name(parts[0]) + parts[1].encode() + b"\0" + struct.pack(f"!H{len(oids)}I", len(oids), *oids))
        elif kind == "B":
            portal, statement = parts[0].split()
            values = b"".join(struct.pack("!I", len(value.encode())) + value.encode() for value in parts[1:])
            peer.send(b"B", name(portal) + name(statement) + struct.pack("!HH", 0, len(parts) - 1) + values + struct.pack("!H", 0))
        elif kind == "E":
            portal, _, rows = rest.partition(" ")
            peer.send(b"E", name(portal) + struct.pack("!I", int(rows or 0)))
        elif kind in ("D", "C"):
            target, named = rest.split()
            peer.send(kind.encode(), target.encode() + name(named))
        else:
            peer.send(b"S", b"")
        if kind in ("Q", "S"):
            told.append((line, peer.answer()))
    for peer in peers.values():
        peer.socket.close()
    return told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    passed = failed = 0
    with Dogwood() as dogwood, postgres_if_there() as postgres:
        recording = Recording(pathlib.Path(__file__).with_suffix(".answers"), postgres is not None, options.record)
        for title, script in SCRIPTS.items():
            if options.only and options.only not in title:
                recording.pass_over(title)
                continue
            ours = play(script, lambda: Peer(dogwood.port, "controller", "dogwood"))
            theirs = play(script, lambda: Peer(postgres.port, "postgres", "postgres")) if postgres else []
            for place, (line, found) in enumerate(ours):
                found = [escape(message) for message in found]
                wanted = recording.lines(f"{title}, {place}: {line}", lambda: [escape(message) for message in theirs[place][1]])
                intended = (title, place) in INTENDED
                if options.verbose:
                    print(f"{title}: {line}\n    {wanted}")
                if (found == wanted) != intended:
                    passed += 1
                    continue
                failed += 1
                print(f"FAILED {title}, answer {place}: {line}\n    found  {found}\n    wanted {wanted}", flush=True)
        if not dogwood.alive() or "internal error" in dogwood.log.read_text(errors="replace"):
            failed += 1
            print(dogwood.log.read_text(errors="replace"))
        failed += recording.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
