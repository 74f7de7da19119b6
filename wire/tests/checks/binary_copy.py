#!/usr/bin/env python3
"""COPY in the binary form: the same bytes as PostgreSQL's out, the same rows in, the same errors for what is damaged.

    binary_copy.py [--seed S] [--count N]       N damaged transfers (400)
"""
import struct

import psycopg

from harness import Check, options, rows, run_check
from harness.compared import left_out, postgres_if_there

OURS = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE notes (id INT PRIMARY KEY, owner INT NOT NULL OWNED_BY people(id), body TEXT)",
]
TABLES = [
    "CREATE TYPE mood AS ENUM ('low', 'high')",
    "CREATE TABLE kinds (id int PRIMARY KEY, b bool, s int2, l int8, r float4, d float8, n numeric, t text, v varchar(5), c char(4), y bytea, da date, ti time, "
    "ts timestamp, tz timestamptz, i interval, u uuid, j json, k jsonb, a int[], w text[], m mood, "
    "bi bit(3), vb varbit, ma macaddr, m8 macaddr8, mo money, bs bit(3)[])",
    "CREATE TABLE bounded (b bit(3), v varbit(4), m macaddr8)",
    "CREATE TABLE fits (a int, v varchar(3), n numeric(6,2), t timestamp(0), w varchar(2)[], x int[])",
    "CREATE TABLE pair (a int, b text)",
]
FILLED = [
    "INSERT INTO kinds (id) VALUES (1)",
    "INSERT INTO kinds VALUES (2, true, -3, 1 << 40, 1.5, 'NaN', 12345678901234567890.000123, 'é\n\t', 'five', 'x', '\\x00ff', '2024-02-29', '23:59:59.5', "
    "'infinity', '-infinity', '1 mon -2 days 03:04:05', '00000000-0000-0000-0000-00000000000f', '{\"a\": 1}', '{\"b\": [1, null]}', '{1,NULL,3}', '{{a,b},{c,NULL}}', 'high', "
    "B'101', X'DEADBEEF1', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', '-92233720368547758.08', '{101,NULL,010}')",
    "INSERT INTO kinds SELECT g, g % 2 = 0, g, g, g, g, -g / 7.0, repeat('x', g), g::text, g::text, decode(lpad(to_hex(g), 4, '0'), 'hex'), DATE '2000-01-01' + g, TIME '00:00' + g * INTERVAL '1 min', "
    "TIMESTAMP '1999-12-31' + g * INTERVAL '1 day', TIMESTAMPTZ '2024-01-01 00:00+00' + g * INTERVAL '1 hour', g * INTERVAL '1 day', NULL, '1', 'null', '{}', NULL, 'low', g::bit(3), "
    "g::bit(70)::varbit << g, ('08:00:2b:01:02:' || lpad(to_hex(g), 2, '0'))::macaddr, ('08:00:2b:01:02:' || lpad(to_hex(g), 2, '0'))::macaddr8, g * '1.01'::money, '{}' FROM generate_series(3, 60) g",
]
HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
END = b"\xff\xff"


def row(*values):
    """A row of values in their binary form; None is NULL."""
    parts = [struct.pack("!h", len(values))]
    for value in values:
        parts.append(struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value)
    return b"".join(parts)


def number(value):
    return struct.pack("!i", value)


ONE = row(number(7), b"seven")
DAMAGED = [
    b"", b"P", HEAD[:10], HEAD[:11], HEAD[:13], HEAD[:15], HEAD[:18], HEAD, b"x" + HEAD[1:], HEAD + END, HEAD + ONE, HEAD + ONE + END, HEAD + ONE + END + b"x", HEAD + END + ONE,
    HEAD[:11] + b"\0\1\0\0" + bytes(4), HEAD[:11] + b"\0\2\0\0" + bytes(4), HEAD[:11] + b"\0\0\0\1" + bytes(4) + ONE, HEAD[:15] + b"\xff\xff\xff\xff", HEAD[:15] + number(3) + b"abc" + ONE + END,
    HEAD[:15] + number(3) + b"ab", HEAD + b"\0", HEAD + b"\0\2", HEAD + ONE[:5], HEAD + ONE[:-1], HEAD + ONE + ONE[:-1], HEAD + row(number(1)) + END, HEAD + row(number(1), b"x", b"y"), HEAD + row() + END,
    HEAD + b"\xff\xfe", HEAD + row(b"\0\0\1", b"x"), HEAD + row(b"\0\0\0\0\1", b"x"), HEAD + row(number(1), b"\xff"), HEAD + row(number(1), b"a\0b"), HEAD + row(None, None) + END,
    HEAD + b"\0\2" + number(-2) + number(-1), HEAD + ONE + b"\0\2" + number(4) + number(1) + number(-7), HEAD + b"\0\2" + number(2**31 - 1) + b"x", HEAD + row(number(1), b"") + END, b"1\tplain\n",
]
FITTING = [
    row(number(1), b"abc", struct.pack("!hhHhh", 1, 0, 0, 2, 5), struct.pack("!q", 1_499_999), None, None),
    row(number(1), b"abc  ", None, struct.pack("!q", 1_500_000), None, None), row(number(1), b"abcd", None, None, None, None),
    row(None, None, struct.pack("!hhHhhhh", 3, 1, 0, 3, 99, 1, 2340), None, None, None), row(None, None, struct.pack("!hhHhh", 1, 1, 0x4000, 0, 7), None, None, None),
    row(None, None, struct.pack("!hhHhh", 1, 1, 0, 0, 9999), None, None, None), row(None, None, None, struct.pack("!q", 2**62 * 2 - 2), None, None),
    row(None, None, None, None, struct.pack("!iiiii", 1, 0, 1043, 1, 1) + number(3) + b"abc", None), row(None, None, None, None, struct.pack("!iiiii", 1, 0, 1043, 1, 1) + number(2) + b"ab", None),
    row(None, None, None, None, None, struct.pack("!iiiii", 1, 0, 25, 1, 1) + number(1) + b"a"), row(None, None, None, None, None, struct.pack("!iii", 7, 0, 23)),
    row(None, None, None, None, None, struct.pack("!iii", 0, 5, 23)), row(None, None, None, None, None, struct.pack("!iiiii", 1, 0, 23, 2, 1) + number(4) + number(9)),
]


BOUNDING = [
    row(number(3) + b"\xa0", number(4) + b"\xf0", bytes(6)), row(number(3) + b"\xbf", number(0), bytes(range(8))), row(number(2) + b"\x80", None, None), row(None, number(5) + b"\x80", None),
    row(number(-1), None, None), row(None, number(2**31 - 1) + b"\x80", None), row(None, number(9) + b"\x80\0", None), row(None, number(1) + b"\x80\0", None), row(None, None, bytes(7)), row(None, b"\0\0", None),
]


def copied_out(connection, statement):
    with connection.cursor().copy(statement) as copy:
        return [bytes(part) for part in copy]


def copied_in(connection, statement, data, size=None):
    """What a transfer of these bytes comes to, sent in pieces."""
    try:
        with connection.cursor() as cursor:
            with cursor.copy(statement) as copy:
                for start in range(0, len(data), size or max(len(data), 1)):
                    copy.write(data[start:start + (size or max(len(data), 1))])
            return cursor.statusmessage
    except psycopg.Error as error:
        return (error.sqlstate, error.diag.message_primary, error.diag.context)


class BinaryCopy(Check):
    def run(self):
        with self.server.connect() as ours:
            for statement in OURS + TABLES + FILLED:
                ours.execute(statement)
            with postgres_if_there() as postgres:
                if postgres is None:
                    left_out("the same bytes to both")
                else:
                    with psycopg.connect(postgres.dsn, autocommit=True) as theirs:
                        for statement in TABLES + FILLED:
                            theirs.execute(statement)
                        for case in (self.out, self.into, self.damaged, self.flipped, self.fitted):
                            self.tally.case(case, ours, theirs)
            for case in (self.owned, self.owned_kinds, self.within_transactions, self.many, self.watched):
                self.tally.case(case, ours)

    def out(self, ours, theirs):
        for statement in ("SELECT * FROM kinds ORDER BY id", "SELECT * FROM kinds WHERE false", "SELECT", "SELECT a, b FROM pair", "VALUES (1, NULL), (2, 'x')", "SELECT ROW(1, 'x'::text)"):
            if statement == "SELECT":
                continue
            copy = f"COPY ({statement}) TO STDOUT (FORMAT binary)"
            self.tally.equal(copied_out(ours, copy), copied_out(theirs, copy), statement)
        for copy in ("COPY BINARY pair TO STDOUT", "COPY pair (b) TO STDOUT WITH BINARY"):
            self.tally.equal(copied_out(ours, copy), copied_out(theirs, copy), copy)

    def into(self, ours, theirs):
        data = b"".join(copied_out(theirs, "COPY kinds TO STDOUT (FORMAT binary)"))
        shown = rows(ours, "SELECT kinds::text FROM kinds ORDER BY id")
        for size in (1, 7, 1000, None):
            ours.execute("DELETE FROM kinds")
            self.tally.equal(copied_in(ours, "COPY kinds FROM STDIN (FORMAT binary)", data, size), "COPY 60", f"in pieces of {size}")
            self.tally.equal(rows(ours, "SELECT kinds::text FROM kinds ORDER BY id"), shown, f"the rows, in pieces of {size}")

    def both(self, ours, theirs, table, data, what):
        found = []
        size = self.dice.choice([None, 1, 3, 50])
        for connection in (ours, theirs):
            connection.execute(f"TRUNCATE {table}")
            told = copied_in(connection, f"COPY {table} FROM STDIN (FORMAT binary)", data, size)
            found.append((told, sorted(map(str, rows(connection, f"SELECT * FROM {table}")))))
        self.tally.equal(found[0], found[1], f"{what}: {data!r}")

    def damaged(self, ours, theirs):
        for data in DAMAGED:
            self.both(ours, theirs, "pair", data, "damaged")

    def flipped(self, ours, theirs):
        whole = HEAD + ONE + row(None, "é".encode()) + row(number(-1), b"") + END
        for _ in range(self.options.count):
            data = bytearray(whole[:self.dice.randint(11, len(whole))] if self.dice.random() < 0.3 else whole)
            if self.dice.random() < 0.8:
                data[self.dice.randrange(11, len(data)) if len(data) > 11 else 0] ^= 1 << self.dice.randrange(8)
            self.both(ours, theirs, "pair", bytes(data), "flipped")

    def fitted(self, ours, theirs):
        for data in FITTING:
            self.both(ours, theirs, "fits", HEAD + data + END, "fits")
        for data in BOUNDING:
            self.both(ours, theirs, "bounded", HEAD + data + END, "bounded")

    def owned(self, ours):
        """Rows that come in belong to people, and an erasure takes them."""
        people = HEAD + b"".join(row(number(person), b"p") for person in (1, 2)) + END
        self.tally.equal(copied_in(ours, "COPY people FROM STDIN (FORMAT binary)", people), "COPY 2", "people")
        notes = HEAD + b"".join(row(number(note), number(1 + note % 2), b"canary") for note in range(3000)) + END
        self.tally.equal(copied_in(ours, "COPY notes FROM STDIN (FORMAT binary)", notes, 1000), "COPY 3000", "notes")
        nobody = HEAD + row(number(9000), number(9), b"x") + END
        self.tally.equal(copied_in(ours, "COPY notes FROM STDIN (FORMAT binary)", nobody)[0], "23503", "of nobody")
        ours.execute("GDPR FORGET people 1")
        data = b"".join(copied_out(ours, "COPY notes TO STDOUT (FORMAT binary)"))
        self.tally.equal(rows(ours, "SELECT count(*), min(owner) FROM notes"), [(1500, 2)], "half of them are left")
        self.tally.equal(data.count(b"canary"), 1500, "and go out")

    def owned_kinds(self, ours):
        """Values that few tables have, in sealed rows: found, kept in views, handed over and erased."""
        ours.execute("CREATE TABLE devices (id INT PRIMARY KEY, owner INT NOT NULL OWNED_BY people(id), mac MACADDR, wide MACADDR8, flags BIT(4), few BIT VARYING, paid MONEY, many VARBIT[])")
        ours.execute("CREATE INDEX ON devices (mac)")
        ours.execute("CREATE INDEX ON devices (flags, paid)")
        ours.execute("CREATE MATERIALIZED VIEW used AS SELECT flags, sum(paid) AS paid, max(paid) AS most, bit_or(flags) AS any_of, count(DISTINCT mac) AS macs FROM devices GROUP BY flags")
        ours.execute("INSERT INTO people VALUES (7, 'g'), (8, 'h')")
        made = "('08:00:2b:01:02:' || lpad(to_hex(g), 2, '0'))::macaddr"
        ours.execute(f"INSERT INTO devices SELECT g, 7 + g % 2, {made}, {made}, (g % 3)::bit(4), g::bit(9), g * '1.25'::money, ARRAY[g::bit(2)]::varbit[] FROM generate_series(1, 200) g")
        self.tally.equal(rows(ours, "SELECT id, wide::text, few::text, paid::text, many::text FROM devices WHERE mac = '08:00:2b:01:02:07'"), [(7, "08:00:2b:ff:fe:01:02:07", "000000111", "$8.75", "{11}")], "found by its address")
        self.tally.equal(rows(ours, "SELECT count(*) FROM devices WHERE flags = B'0001' AND paid > '$100.00'"), [(40,)], "found by two")
        whole = "SELECT flags, sum(paid), max(paid), bit_or(flags), count(DISTINCT mac) FROM devices GROUP BY flags ORDER BY 1"
        kept = "SELECT * FROM used ORDER BY flags"
        self.tally.equal(rows(ours, kept), rows(ours, whole), "the view")
        ours.execute("UPDATE devices SET flags = ~flags, paid = paid / 2 WHERE id % 5 = 0")
        ours.execute("DELETE FROM devices WHERE mac > '08:00:2b:01:02:c0'")
        self.tally.equal(rows(ours, kept), rows(ours, whole), "the view behind changes")
        handed = str(rows(ours, "GDPR GET people 7"))
        self.tally.that(all(part in handed for part in ("08:00:2b:01:02:02", "08:00:2b:ff:fe:01:02:02", "$2.50", "000000010")), "what is handed over")
        ours.execute("GDPR FORGET people 7")
        self.tally.equal(rows(ours, "SELECT count(*), min(owner) FROM devices"), [(96, 8)], "half of them are left")
        self.tally.equal(rows(ours, kept), rows(ours, whole), "the view behind an erasure")

    def within_transactions(self, ours):
        ours.execute("TRUNCATE pair")
        with ours.transaction(force_rollback=True):
            copied_in(ours, "COPY pair FROM STDIN (FORMAT binary)", HEAD + ONE + END)
            ours.execute("SAVEPOINT s")
            self.tally.equal(copied_in(ours, "COPY pair FROM STDIN (FORMAT binary)", HEAD + ONE + ONE[:-1])[0], "22P04", "damaged")
            ours.execute("ROLLBACK TO s")
            self.tally.equal(rows(ours, "SELECT count(*) FROM pair WHERE a = 7"), [(1,)], "as at the savepoint")
        ours.execute("TRUNCATE pair")

    def many(self, ours):
        """A hundred thousand rows there and back."""
        count = 100_000
        data = HEAD + b"".join(row(number(each), b"x" * 20) for each in range(count)) + END
        self.tally.equal(copied_in(ours, "COPY pair FROM STDIN (FORMAT binary)", data, 60_000), f"COPY {count}", "in")
        back = b"".join(copied_out(ours, "COPY (SELECT * FROM pair ORDER BY a) TO STDOUT (FORMAT binary)"))
        self.tally.that(back == data, "and back")

    def watched(self, ours):
        """A subscription in the binary form: each subscriber's bytes are a transfer of their own."""
        ours.execute("CREATE TABLE seen (a INT PRIMARY KEY)")
        ours.execute("INSERT INTO seen VALUES (1)")
        watchers = [self.server.connect() for _ in range(2)]
        copies = [watcher.cursor().copy("COPY (SUBSCRIBE (SELECT a FROM seen)) TO STDOUT (FORMAT binary)") for watcher in watchers]
        entered = [copy.__enter__() for copy in copies]
        first = [bytes(copy.read()) for copy in entered]
        # The mark behind the rows that were there.
        marks = [bytes(copy.read()) for copy in entered]
        ours.execute("INSERT INTO seen VALUES (2)")
        second = [bytes(copy.read()) for copy in entered]
        self.tally.that(all(part.startswith(HEAD) for part in first), "the first message begins with the header")
        self.tally.that(all(not part.startswith(HEAD) and part.endswith(number(4) + number(2)) for part in second), "the next is a row")
        self.tally.equal(marks[0], marks[1], "the mark")
        for watcher in watchers:
            watcher.close()


if __name__ == "__main__":
    run_check(BinaryCopy(options(18, count=400)))
