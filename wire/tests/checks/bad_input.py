"""What should never arrive: the server answers, refuses by name, and lives.

One server takes every statement and every byte. BAD_INPUT_FUZZ (400) connections of random bytes and changed messages.
"""
import errno
import os
import random
import socket
import struct
import threading
import time

import psycopg

from harness import Server, Tally, rows, state_of
from harness.protocol import EXECUTE, SYNC, Raw, bind, message, parse, query, startup, state

FUZZ = int(os.environ.get("BAD_INPUT_FUZZ", "400"))
SEED = int(os.environ.get("BAD_INPUT_SEED", "20261121"))


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n % 1000 + 1 FROM r) SELECT count(*) FROM r"


def answers(tally, server, after):
    """The server lives and answers a new connection correctly."""
    if not tally.that(server.alive(), f"lives after {after}", server.said()[-1500:]):
        server.start()
    try:
        with server.connect() as connection:
            return tally.equal(rows(connection, "SELECT 1 + 1"), [(2,)], f"answers after {after}")
    except psycopg.Error as error:
        return tally.that(False, f"answers after {after}", error)


# Statements.

STATEMENTS = [
    ("10,000 parentheses", "SELECT " + "(" * 10_000 + "1" + ")" * 10_000, {"54001", "42601"}),
    ("10,000 unclosed parentheses", "SELECT " + "(" * 10_000, {"54001", "42601"}),
    ("10,000 NOTs", "SELECT " + "NOT " * 10_000 + "true", {"54001", "42601", ""}),
    ("10,000 minus signs", "SELECT " + "- " * 10_000 + "1", {"54001", "42601", ""}),
    ("5,000 nested subqueries", "SELECT * FROM " + "(SELECT * FROM " * 5_000 + "t" + ") x" * 5_000, {"54001", "42601"}),
    ("5,000 nested CASEs", "SELECT " + "CASE WHEN true THEN " * 5_000 + "1" + " END" * 5_000, {"54001", "42601"}),
    ("5,000 nested arrays", "SELECT " + "ARRAY[" * 5_000 + "1" + "]" * 5_000, {"54001", "42601"}),
    ("20,000 ANDs", "SELECT " + " AND ".join(["true"] * 20_000), {"54001", ""}),
    ("20,000 pluses", "SELECT " + "+".join(["1"] * 20_000), {"54001", ""}),
    ("20,000 concatenations", "SELECT length(" + "||".join(["'a'"] * 20_000) + ")", {"54001", ""}),
    ("5,000 UNION ALLs", " UNION ALL ".join(["SELECT 1"] * 5_000), {"54001", ""}),
    ("5,000 columns", "SELECT " + ",".join(["1"] * 5_000), {"54011", ""}),
    ("a table of 5,000 columns", "CREATE TABLE wide (" + ",".join(f"c{n} INT" for n in range(5_000)) + ")", {"54011"}),
    ("an IN list of 20,000", "SELECT 1 WHERE 1 IN (" + ",".join(map(str, range(20_000))) + ")", {"54001", ""}),
    ("deep JSON", "SELECT '" + "[" * 100_000 + "]" * 100_000 + "'::jsonb", {"54001", "22P02"}),
    ("a deep array text", "SELECT '" + "{" * 10_000 + "}" * 10_000 + "'::int[]", {"54000", "54001", "22P02"}),
    ("a deep casting chain", "SELECT 1" + "::int" * 10_000, {"54001", "42601", ""}),
    ("a long name", "SELECT 1 AS " + "x" * 100_000, {"", "42622"}),
    ("an unknown type", "SELECT '1'::nosuchtype", {"42704"}),
    ("a table of an unknown type", "CREATE TABLE bad (a nosuchtype)", {"42704"}),
    ("an unknown function", "SELECT nosuchfunction(1)", {"42883"}),
    ("an unknown table", "SELECT * FROM nosuchtable", {"42P01"}),
    ("an unknown column", "SELECT nosuchcolumn FROM t", {"42703"}),
    ("garbage", "SELEKT 1", {"42601"}),
    ("an unclosed string", "SELECT 'abc", {"42601"}),
    ("an unclosed identifier", 'SELECT "abc', {"42601"}),
    ("an unclosed comment", "SELECT 1 /* abc", {"42601"}),
    ("an unclosed dollar quote", "SELECT $a$ abc", {"42601"}),
    ("division by zero", "SELECT 1/0", {"22012"}),
    ("division by zero in a row", "SELECT 1/(id - id) FROM t", {"22012"}),
    ("modulo zero", "SELECT 1 % 0", {"22012"}),
    ("numeric division by zero", "SELECT 1.0/0", {"22012"}),
    ("float division by zero", "SELECT 1::float8/0", {"22012"}),
    ("smallest integer divided by -1", "SELECT (-2147483648)::int4 / (-1)", {"22003"}),
    ("smallest bigint divided by -1", "SELECT (-9223372036854775808)::int8 / (-1)", {"22003"}),
    ("smallest bigint modulo -1", "SELECT (-9223372036854775808)::int8 % (-1)", {"", "22003"}),
    ("smallest bigint negated", "SELECT -((-9223372036854775808)::int8)", {"22003"}),
    ("smallest bigint's absolute value", "SELECT abs((-9223372036854775808)::int8)", {"22003"}),
    ("integer overflow", "SELECT 2147483647 + 1", {"22003"}),
    ("bigint overflow", "SELECT 9223372036854775807 * 2", {"22003"}),
    ("smallint out of range", "SELECT 70000::int2", {"22003"}),
    ("integer out of range", "INSERT INTO t VALUES (99999999999, 'x')", {"22003"}),
    ("float overflow", "SELECT 1e308::float8 * 10", {"22003"}),
    ("exp overflow", "SELECT exp(100000::float8)", {"22003"}),
    ("numeric exponent", "SELECT '1e200000'::numeric", {"22003"}),
    ("a huge power", "SELECT 10::numeric ^ 1000000", {"22003"}),
    ("root of a negative", "SELECT sqrt(-1::float8)", {"2201F"}),
    ("logarithm of zero", "SELECT ln(0::float8)", {"2201E"}),
    ("a date out of range", "SELECT '99999999-01-01'::date", {"22008", "22007"}),
    ("no date", "SELECT '2026-02-30'::date", {"22008"}),
    ("no timestamp", "SELECT 'yesterdayish'::timestamp", {"22007"}),
    ("timestamp overflow", "SELECT '294276-12-31'::timestamp + interval '100 years'", {"22008"}),
    ("interval overflow", "SELECT interval '1000000000 years' * 1000000", {"22008", "22003", "22015"}),
    ("no integer", "SELECT 'x'::int", {"22P02"}),
    ("no uuid", "SELECT 'x'::uuid", {"22P02"}),
    ("no json", "SELECT '{'::jsonb", {"22P02"}),
    ("no boolean", "SELECT 'perhaps'::bool", {"22P02"}),
    ("no bytea", "SELECT '\\xabc'::bytea", {"22023", "22P02"}),
    ("too long", "SELECT 'abc'::varchar(2) || repeat('x', 2000000000)", {"54000", "53200", "22023", "22001"}),
    ("repeat overflow", "SELECT repeat('abc', 2147483647)", {"54000", "53200", "22023"}),
    ("lpad overflow", "SELECT lpad('a', 2147483647)", {"54000", "53200", "22023"}),
    ("negative substring", "SELECT substr('abc', 1, -1)", {"22011"}),
    ("a series without end", "SELECT * FROM generate_series(1, 10, 0)", {"22023"}),
    ("a bad regular expression", "SELECT 'a' ~ '('", {"2201B"}),
    ("a greedy regular expression", "SELECT repeat('a', 30) ~ '(a*)*b'", {"", "2201B"}),
    ("a regular expression of size", "SELECT 'a' ~ '((a{1,255}){1,255}){1,255}'", {"", "2201B", "54001"}),
    ("a chr out of range", "SELECT chr(-1)", {"54000", "22023"}),
    ("chr of zero", "SELECT chr(0)", {"54000", "22P05", "22021"}),
    ("negative LIMIT", "SELECT 1 LIMIT -1", {"2201W"}),
    ("negative OFFSET", "SELECT 1 OFFSET -1", {"2201X"}),
    ("ungrouped", "SELECT id, count(*) FROM t", {"42803"}),
    ("two rows for one", "SELECT (SELECT id FROM t)", {"21000"}),
    ("too few values", "INSERT INTO t (id, name) VALUES (1)", {"42601"}),
    ("too many values", "INSERT INTO t (id, name) VALUES (1, 'a', 2)", {"42601"}),
    ("a duplicate", "INSERT INTO t VALUES (1, 'again')", {"23505"}),
    ("no parent", "INSERT INTO notes VALUES (9, 99, 'x')", {"23503"}),
    ("no null", "INSERT INTO notes VALUES (9, NULL, 'x')", {"23502"}),
    ("a missing person", "GDPR GET people 99", {"DG003"}),
    ("no person's table", "GDPR FORGET t 1", {"DG004", "42809"}),
    ("an endless recursion", "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r", {"57014", "53200", "22003", "54001"}),
    ("a huge cross join", "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b", {"57014", "53200", ""}),
    ("a huge sort", "SELECT * FROM generate_series(1, 100000000) a ORDER BY a DESC LIMIT 1", {"57014", "53200", "", "54000"}),
    ("COMMIT of nothing", "COMMIT", {""}),
    ("an unknown savepoint", "ROLLBACK TO nowhere", {"25P01", "3B001"}),
    ("nothing", "", {""}),
    ("semicolons", ";;;", {""}),
]


def statements(tally, server):
    for name, sql, expected in STATEMENTS:
        raw = Raw(server)
        began = time.monotonic()
        raw.states(query(b"SET statement_timeout = '3s'"))
        found = raw.states(query(sql.encode()))
        tally.that((found[0] if found else "") in expected and "lost" not in found, name, f"{found} instead of {sorted(expected)}")
        took = time.monotonic() - began
        tally.that(took < 12, f"{name}: in time", f"{took:.1f} s")
        raw.close()
        if not server.alive():
            answers(tally, server, name)
    answers(tally, server, "bad statements")


def protocol(tally, server):
    raw = Raw(server)
    cases = [
        ("invalid UTF-8 in a query", [query(b"SELECT '\xff\xfe'")], {"22021"}),
        ("invalid UTF-8 in Parse", [parse(b"SELECT '\xc3\x28'"), SYNC], {"22021"}),
        ("invalid UTF-8 in a parameter", [parse(b"SELECT $1::text"), bind([b"\xff"]), EXECUTE, SYNC], {"22021"}),
        ("zero byte in a parameter", [parse(b"SELECT $1::text"), bind([b"a\0b"]), EXECUTE, SYNC], {"22021"}),
        ("too few parameters", [parse(b"SELECT $1::int + $2::int"), bind([b"1"]), EXECUTE, SYNC], {"08P01"}),
        ("too many parameters", [parse(b"SELECT $1::int"), bind([b"1", b"2"]), EXECUTE, SYNC], {"08P01"}),
        ("parameter 65536", [parse(b"SELECT $65536"), SYNC], {"42P02", "54000", "54023", "42601", "42P18"}),
        ("parameter 99999999999", [parse(b"SELECT $99999999999"), SYNC], {"42P02", "54000", "42601", "22003"}),
        ("parameter 0", [parse(b"SELECT $0"), SYNC], {"42P02", "42601"}),
        ("an unknown parameter type", [parse(b"SELECT $1", types=(424242,)), SYNC], {"42704", "0A000"}),
        ("a parameter that is no integer", [parse(b"SELECT $1::int"), bind([b"x"]), EXECUTE, SYNC], {"22P02"}),
        ("a binary integer of three bytes", [parse(b"SELECT $1::int"), bind([b"abc"], formats=(1,)), EXECUTE, SYNC], {"22P03", "08P01"}),
        ("a binary numeric of rubbish", [parse(b"SELECT $1::numeric"), bind([b"\xff" * 9], formats=(1,)), EXECUTE, SYNC], {"22P03", "08P01"}),
        ("a binary array of rubbish", [parse(b"SELECT $1::int[]"), bind([struct.pack("!iiiii", 1, 0, 23, 2**31 - 1, 1)], formats=(1,)), EXECUTE, SYNC],
         {"22P03", "08P01", "54000", "22003"}),
        ("a binary jsonb of no version", [parse(b"SELECT $1::jsonb"), bind([b"\x09{}"], formats=(1,)), EXECUTE, SYNC], {"22P03", "08P01", "XX000"}),
        ("format code 7", [parse(b"SELECT $1::int"), bind([b"1"], formats=(7,)), EXECUTE, SYNC], {"08P01", "22023"}),
        ("result format code 7", [parse(b"SELECT 1"), bind([], results=(7,)), EXECUTE, SYNC], {"08P01", "22023"}),
        ("an unknown statement", [bind([], name=b"nosuch"), SYNC], {"26000"}),
        ("an unknown portal", [message(b"E", b"nosuch\0" + struct.pack("!I", 0)), SYNC], {"34000"}),
        ("a statement twice", [parse(b"SELECT 1", name=b"twice"), parse(b"SELECT 1", name=b"twice"), SYNC], {"42P05"}),
        ("two statements in Parse", [parse(b"SELECT 1; SELECT 2"), SYNC], {"42601"}),
        ("Describe of nothing", [message(b"D", b"X\0"), SYNC], {"08P01"}),
        ("Close of nothing known", [message(b"C", b"Snosuch\0"), SYNC], {""}),
        ("CopyData out of place", [message(b"d", b"abc"), SYNC], {"", "08P01"}),
    ]
    for name, messages, expected in cases:
        found = raw.states(*messages)
        tally.that((found[0] if found else "") in expected, name, f"{found} instead of {sorted(expected)}")
        if "lost" in found:
            raw.close()
            raw = Raw(server)
    raw.states(query(b"SELECT 1"))
    tally.equal(raw.states(query(b"SELECT 1")), [], "the connection still answers")
    # COMMIT and ROLLBACK without a block end what has been done since the last Sync.
    steps = [b"INSERT INTO t VALUES (7300, 'kept')", b"COMMIT", b"INSERT INTO t VALUES (7301, 'undone')", b"ROLLBACK", b"INSERT INTO t VALUES (7302, 'undone')", b"SELECT 1 / 0"]
    tally.equal(raw.states(*[parse(sql) + bind([]) + EXECUTE for sql in steps], SYNC), ["22012"], "COMMIT without a block")
    with server.connect() as connection:
        kept = connection.execute("SELECT id FROM t WHERE id BETWEEN 7300 AND 7302").fetchall()
        tally.equal(kept, [(7300,)], "what COMMIT without a block has acknowledged")
        connection.execute("DELETE FROM t WHERE id = 7300")
    raw.close()
    # These end their connection.
    for name, data in [
        ("a length of zero", b"Q\0\0\0\0"), ("a length of three", b"Q\0\0\0\x03"), ("a negative length", b"Q\xff\xff\xff\xff"),
        ("a length of 2 GiB", b"Q\x7f\xff\xff\xff" + b"x" * 1000), ("an unknown message", b"!\0\0\0\x04"), ("a second startup", startup()),
        ("a query without its end", message(b"Q", b"SELECT 1")), ("a Bind cut short", message(b"B", b"\0\0\0\x05")),
        ("a Bind of 65535 missing values", message(b"B", b"\0\0\0\0\xff\xff\0\0")), ("a password out of place", message(b"p", b"secret\0")),
    ]:
        raw = Raw(server)
        try:
            raw.send(data, SYNC)
            raw.socket.shutdown(socket.SHUT_WR)
            raw.socket.settimeout(10)
            while raw.receive() is not None:
                pass
            tally.that(True, name)
        except (OSError, socket.timeout) as error:
            tally.that(not isinstance(error, socket.timeout), name, error)
        raw.close()
    for name, data in [
        ("protocol 2.0", startup(version=2 << 16)), ("protocol 9.9", startup(version=(9 << 16) + 9)), ("an empty user", startup(user=b"")),
        ("a startup of 4 bytes", b"\0\0\0\x04"), ("a startup of 1 GiB", b"\x40\0\0\0"), ("a startup without its end", struct.pack("!II", 12, 196608) + b"user"),
        ("an unknown user", startup(user=b"nobody")), ("SSL then rubbish", struct.pack("!II", 8, 80877103) + b"\x16\x03\x01" + b"\xff" * 200),
        ("a cancel of nobody", struct.pack("!IIII", 16, 80877102, 1, 1)), ("a cancel cut short", struct.pack("!II", 8, 80877102)),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    ]:
        raw = Raw(server, begin=False)
        try:
            raw.send(data)
            raw.socket.shutdown(socket.SHUT_WR)
            while raw.receive() is not None:
                pass
            tally.that(True, name)
        except OSError:
            tally.that(True, name)
        raw.close()
    answers(tally, server, "broken protocol")


def large(tally, server):
    """Statements and values up to and past the limit of a message."""
    with server.connect() as connection:
        value = "v" * (8 << 20)
        tally.equal(state_of(connection.execute, "INSERT INTO t VALUES (500, %s)", (value,)), "", "a value of 8 MiB")
        tally.that(rows(connection, "SELECT name = %s FROM t WHERE id = 500", (value,)) == [(True,)], "a value of 8 MiB is read again")
        tally.equal(state_of(connection.execute, "DELETE FROM t WHERE id = 500"), "", "a value of 8 MiB goes")
        tally.equal(rows(connection, f"SELECT length('{value}')"), [(8 << 20,)], "a literal of 8 MiB")
    with server.connect() as connection:
        for number in range(2):
            state = state_of(connection.execute, "SELECT length(%s::text)", ("v" * (70 << 20),))
            tally.equal(state, "54000", f"message {number} of 70 MiB on one connection")

        def copy(data):
            with connection.cursor().copy("COPY t FROM STDIN") as copying:
                copying.write(data)

        tally.equal(state_of(copy, b"501\t" + b"v" * (70 << 20) + b"\n"), "54000", "a line of 70 MiB in COPY")
        connection.pgconn.exec_(b"COPY t FROM STDIN")
        connection.pgconn.put_copy_data(b"501\t" + b"v" * (70 << 20) + b"\n")
        connection.pgconn.put_copy_end()
        tally.equal(connection.pgconn.get_result().error_field(psycopg.pq.DiagnosticField.SQLSTATE), b"54000", "a message of 70 MiB in COPY")
        while connection.pgconn.get_result():
            pass
        tally.equal(rows(connection, "SELECT count(*) FROM t WHERE id = 501"), [(0,)], "nothing of them is there")
    answers(tally, server, "a message of 70 MiB")


def vanished(tally, server):
    """Clients that go amid a large SELECT, amid COPY in and out, and amid a transaction."""
    for number in range(6):
        raw = Raw(server)
        raw.send(query(b"SELECT repeat('x', 1000) FROM generate_series(1, 2000000)"))
        raw.receive()
        raw.close()
        raw = Raw(server)
        raw.send(query(b"COPY t FROM STDIN"))
        raw.until(b"G")
        raw.send(message(b"d", b"%d\tgone\n" % (7000 + number)))
        raw.close()
        raw = Raw(server)
        raw.states(query(b"BEGIN"), )
        raw.states(query(b"INSERT INTO t VALUES (%d, 'gone')" % (7100 + number)))
        if number % 2:
            raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()
        raw = Raw(server)
        raw.send(query(b"COPY (SELECT repeat('x', 1000) FROM generate_series(1, 2000000)) TO STDOUT"))
        raw.until(b"H")
        raw.close()
    raw = Raw(server)
    raw.send(query(b"COPY t FROM STDIN"))
    raw.until(b"G")
    tally.equal(raw.states(message(b"d", b"7200\tfailed\n"), message(b"f", b"enough\0")), ["57014"], "CopyFail")
    raw.send(query(b"COPY t FROM STDIN"))
    raw.until(b"G")
    found = raw.states(message(b"d", b"7201\tok\nbad line without number\tx\n"), message(b"c"))
    tally.that(found and found[0] in ("22P02", "22P04"), "a bad line of COPY", found)
    raw.send(query(b"COPY t FROM STDIN"))
    raw.until(b"G")
    found = raw.states(message(b"d", b"7202\t\xff\xfe\n"), message(b"c"))
    tally.equal(found, ["22021"], "invalid UTF-8 in COPY")
    raw.close()
    with server.connect() as connection:
        tally.equal(rows(connection, "SELECT count(*) FROM t WHERE id >= 7000"), [(0,)], "nothing of a vanished client is stored")
        connection.execute("SET lock_timeout = '10s'")
        tally.equal(state_of(connection.execute, "INSERT INTO t VALUES (7100, 'mine')"), "", "a vanished client's locks are free")
        connection.execute("DELETE FROM t WHERE id = 7100")
    answers(tally, server, "vanished clients")


def cancelled(tally, server):
    with server.connect() as connection:
        for name, sql in [("a cross join", "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b"),
                          ("a recursion", ENDLESS),
                          ("a series", "SELECT sum(a) FROM generate_series(1, 1000000000) a")]:
            timer = threading.Timer(0.3, connection.cancel)
            timer.start()
            began = time.monotonic()
            tally.equal(state_of(connection.execute, sql), "57014", f"{name} is cancelled")
            tally.that(time.monotonic() - began < 8, f"{name} is cancelled soon", time.monotonic() - began)
            timer.join()
            tally.equal(rows(connection, "SELECT 1"), [(1,)], f"the connection answers after cancelling {name}")
        with server.connect() as holder:
            holder.execute("BEGIN")
            holder.execute("UPDATE t SET name = 'held' WHERE id = 1")
            timer = threading.Timer(0.3, connection.cancel)
            timer.start()
            tally.equal(state_of(connection.execute, "UPDATE t SET name = 'other' WHERE id = 1"), "57014", "a wait for a lock is cancelled")
            timer.join()
            connection.execute("SET lock_timeout = '200ms'")
            tally.equal(state_of(connection.execute, "UPDATE t SET name = 'other' WHERE id = 1"), "55P03", "lock_timeout")
            holder.execute("ROLLBACK")
        connection.execute("SET statement_timeout = '300ms'")
        tally.equal(state_of(connection.execute, ENDLESS), "57014", "statement_timeout")
    answers(tally, server, "cancelling")


def fuzz(tally, server, dice):
    """Random bytes at startup and after it, and good conversations with a few changed bytes."""
    good = [
        query(b"SELECT * FROM t WHERE id = 1"), query(b"INSERT INTO t VALUES (1, 'x')"), query(b"BEGIN") + query(b"COMMIT"),
        parse(b"SELECT id, name FROM t WHERE id = $1 AND name <> $2") + message(b"D", b"S\0") + bind([b"1", b"x"]) + EXECUTE + SYNC,
        parse(b"SELECT $1::int4, $2::numeric, $3::timestamptz, $4::jsonb, $5::int4[]")
        + bind([struct.pack("!i", 5), struct.pack("!hhHhh", 1, 0, 0, 0, 7), struct.pack("!q", 0), b"\x01{}", struct.pack("!iiiiiii", 1, 0, 23, 1, 1, 4, 9)],
               formats=(1,)) + EXECUTE + SYNC,
        query(b"COPY t FROM STDIN") + message(b"d", b"1\tx\n") + message(b"c"), message(b"F", struct.pack("!IHHH", 0, 0, 0, 0)),
        query(b"GDPR GET people 1"), query(b"CREATE DATA_SUBJECT TABLE z (id INT PRIMARY KEY)"), query(b"GDPR FORGET people 77"),
        query(b"EXPLAIN SELECT * FROM t"), query(b"SELECT '{1,2}'::int[], interval '1 day', '{\"a\": [1]}'::jsonb -> 'a'"),
    ]
    lived = 0
    for number in range(FUZZ):
        kind = number % 4
        try:
            raw = Raw(server, begin=kind != 0)
            if kind == 0:
                data = dice.randbytes(dice.randrange(1, 300)) if dice.random() < 0.5 else mutate(startup(), dice)
            elif kind == 1:
                data = dice.randbytes(dice.randrange(1, 2000))
            else:
                data = b"".join(mutate(dice.choice(good), dice) for _ in range(dice.randrange(1, 4)))
            raw.send(data)
            raw.socket.shutdown(socket.SHUT_WR)
            raw.socket.settimeout(10)
            while raw.socket.recv(65536):
                pass
        except socket.timeout:
            tally.that(False, f"fuzz {number} ends", data[:100])
        except OSError as error:
            if error.errno == errno.ECONNREFUSED:
                tally.that(False, f"fuzz {number}: the server is gone", server.said()[-1500:])
                return
        finally:
            raw.close()
        lived += 1
    tally.equal(lived, FUZZ, "fuzzed conversations")
    answers(tally, server, "fuzzing")


def mutate(data, dice):
    data = bytearray(data)
    for _ in range(dice.randrange(1, 6)):
        choice = dice.randrange(4)
        position = dice.randrange(len(data)) if data else 0
        if choice == 0 and data:
            data[position] = dice.randrange(256)
        elif choice == 1 and data:
            del data[position:position + dice.randrange(1, 5)]
        elif choice == 2:
            data[position:position] = dice.randbytes(dice.randrange(1, 5))
        elif data:
            data[position] ^= 1 << dice.randrange(8)
    return bytes(data)


def fuzzed_sql(tally, server, dice):
    """Good statements with tokens dropped, doubled and exchanged: an answer each, never XX000."""
    seeds = [sql for _, sql, _ in STATEMENTS if 0 < len(sql) < 200 and "100000" not in sql and "RECURSIVE" not in sql and "generate" not in sql and "repeat" not in sql and "lpad" not in sql] + [
        "SELECT a.id, count(*) FILTER (WHERE b.body LIKE 'x%') FROM people a LEFT JOIN notes b ON b.person = a.id GROUP BY a.id HAVING count(*) > 0 ORDER BY 2 DESC NULLS LAST LIMIT 5",
        "WITH w AS (SELECT id, row_number() OVER (PARTITION BY name ORDER BY id) AS n FROM t) SELECT * FROM w WHERE n = 1 UNION SELECT 1, 2",
        "INSERT INTO t (id, name) SELECT id + 100, name FROM t ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name RETURNING *",
        "UPDATE notes SET body = p.name FROM people p WHERE p.id = notes.person AND p.id IN (SELECT id FROM t WHERE name IS NOT NULL)",
        "CREATE TABLE fuzzed (id SERIAL PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), a NUMERIC(5,2) CHECK (a > 0) DEFAULT 1.5)",
        "ALTER TABLE notes ADD COLUMN extra TEXT DEFAULT 'a' NOT NULL", "DROP TABLE IF EXISTS fuzzed CASCADE",
        "SELECT CASE WHEN id > 0 THEN 'a' ELSE NULL END, coalesce(name, 'b'), extract(year FROM now()), date_trunc('day', now()), ARRAY[1,2][1] FROM t",
    ]
    vocabulary = " ".join(seeds).replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
    raw, internal = Raw(server), []
    raw.states(query(b"SET statement_timeout = '2s'"))
    for number in range(FUZZ * 2):
        words = dice.choice(seeds).replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
        for _ in range(dice.randrange(1, 5)):
            position = dice.randrange(len(words))
            choice = dice.randrange(4)
            if choice == 0 and len(words) > 1:
                del words[position]
            elif choice == 1:
                words.insert(position, words[dice.randrange(len(words))])
            elif choice == 2:
                words[position] = dice.choice(vocabulary)
            else:
                other = dice.randrange(len(words))
                words[position], words[other] = words[other], words[position]
        sql = " ".join(words)
        if "copy" in sql.lower():
            continue
        found = raw.states(query(sql.encode()))
        if "XX000" in found or "lost" in found:
            internal.append((found, sql))
        if "lost" in found:
            if not server.alive():
                break
            raw = Raw(server)
            raw.states(query(b"SET statement_timeout = '2s'"))
        elif number % 20 == 0:
            raw.states(query(b"ROLLBACK"))
    raw.close()
    for found, sql in internal[:10]:
        tally.that(False, "fuzzed SQL", f"{found} {sql}")
    tally.that(not internal, "fuzzed SQL has no internal error", f"{len(internal)} of {FUZZ * 2}")
    answers(tally, server, "fuzzed SQL")


def connections(tally, server):
    """More connections than allowed: refused with 53300, and free again later."""
    held, refused = [], set()
    try:
        for _ in range(230):
            raw = Raw(server, begin=False)
            held.append(raw)
            raw.send(startup())
            got = raw.until(b"Z")
            refused |= {state(body) for kind, body in got if kind == b"E"}
    except OSError as error:
        refused.add(str(error))
    finally:
        for raw in held:
            raw.close()
    tally.equal(refused, {"53300"}, "too many connections")
    time.sleep(0.5)
    # Clients that say nothing do not keep others out.
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]
    answers(tally, server, "too many connections and silent ones")
    for one in silent:
        one.close()


def main():
    tally, dice, server = Tally(), random.Random(SEED), Server()
    try:
        server.start(["--connections", "200"])
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (id INT PRIMARY KEY, name TEXT)")
            connection.execute("INSERT INTO t VALUES (1, 'one'), (2, 'two')")
            connection.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)")
            connection.execute("CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT)")
            connection.execute("INSERT INTO people VALUES (1, 'Ann')")
        cases = [(statements, server), (protocol, server), (large, server), (vanished, server), (cancelled, server), (connections, server),
                 (fuzz, server, dice), (fuzzed_sql, server, dice)]
        only = os.environ.get("BAD_INPUT_ONLY")
        for case, *arguments in cases:
            if only and case.__name__ not in only.split(","):
                continue
            tally.case(case, tally, *arguments)
        tally.that(server.alive(), "the server lives at the end", server.said()[-1500:])
        tally.that("internal error" not in server.said(), "no internal error was logged", server.said()[-1500:])
        tally.equal(server.stop(), 0, "SIGTERM")
        tally.clean(server, "at the end")
    finally:
        server.remove()
    tally.end()


if __name__ == "__main__":
    main()
