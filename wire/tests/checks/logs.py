"""The log: what an operator is to see stands in it, and nothing that anybody has typed or stored does.

One word is planted in every kind of statement, value and name, over both protocols, in logins and in a damaged folder, with everything
logged. The log is then searched for it, in any case, in hexadecimal and in base64. Beside that: both formats, levels, shapes and ways
of slow statements, and the events of a server's life.
"""
import base64
import json
import os
import re
import signal
import socket
import struct
import tempfile
import time

import psycopg

from harness import Refused, Server, Tally, rows, run, state_of

WORD = "zqcanary"
ALL = ("--log-level", "debug", "-c", "log_min_duration_statement=0", "-c", "log_connections=on", "-c", "log_disconnections=on")
JSON = (*ALL, "--log-format", "json")

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id TEXT PRIMARY KEY, name TEXT UNIQUE, born DATE, profile JSONB, tags TEXT[], raw BYTEA)",
    "CREATE TABLE notes (id INT PRIMARY KEY, person TEXT NOT NULL OWNED_BY people(id), body TEXT CHECK (length(body) < 50), number INT)",
    "CREATE TABLE words (id INT PRIMARY KEY, word VARCHAR(40) NOT NULL)",
    "CREATE MATERIALIZED VIEW counted AS SELECT person, count(*) AS notes FROM notes GROUP BY person",
]

# Each with the word in it; those that fail must not tell it either.
STATEMENTS = [
    "SELECT 'W'", "SELECT E'W\\n', $$W$$, $a$W$a$, U&'W', 'it''s W'", "SELECT 1 AS \"W\", 2 AS W", "SELECT /* W */ 1 -- W", "SELECT W", "SELECT \"W\" FROM people",
    "SELECT * FROM W", "SELECT W.id FROM people W", "SELECT W(1)", "SELECT 1::W", "SELECT 'W'::int", "SELECT 'W'::date", "SELECT 'W'::jsonb", "SELECT 'W'::bytea::int",
    "SELECT '{W'::int[]", "SELECT 'W' ~ '(W'", "SELECT to_date('W', 'YYYY')", "SELECT CAST('W' AS uuid)", "SELECT date 'W'", "SELECT interval 'W'", "SELEKT 'W'", "SELECT 'W", "SELECT \"W",
    "SELECT * FROM people WHERE name = 'W' ORDER BY name LIMIT 1", "SELECT name FROM people WHERE id IN ('W', 'x')", "SELECT count(*) FROM people GROUP BY name HAVING max(name) = 'W'",
    "WITH W AS (SELECT 'W' AS w) SELECT * FROM W", "INSERT INTO people VALUES ('W', 'W', NULL, '{\"W\": \"W\"}', '{W}', 'W')",
    "INSERT INTO people VALUES ('W', 'other')", "INSERT INTO people VALUES ('other', 'W')", "INSERT INTO notes VALUES (1, 'W', 'W', 1)", "INSERT INTO notes VALUES (2, 'W no one', 'W', 1)",
    "INSERT INTO notes VALUES (3, 'W', repeat('W', 20), 1)", "INSERT INTO notes VALUES (4, 'W', 'W', 'W')", "INSERT INTO words VALUES (1, repeat('W', 20))", "INSERT INTO words (W) VALUES (1)",
    "INSERT INTO words VALUES (2, 'W') ON CONFLICT (id) DO UPDATE SET word = 'W' RETURNING word", "UPDATE people SET name = 'W' WHERE id = 'W'", "UPDATE people SET profile = '{W' WHERE id = 'W'",
    "DELETE FROM people WHERE name = 'W no one'", "SET application_name TO 'W'", "SET application_name TO W", "SET app.user = 'W'", "SET W.user = 1", "SET statement_timeout TO 'W'", "SET W TO 1", "SHOW W",
    "SET search_path TO W", "SET TIME ZONE 'W'", "RESET W", "SELECT set_config('app.user', 'W', false)", "SELECT current_setting('W')", "PREPARE W AS SELECT 'W', $1::text", "EXECUTE W('W')", "EXECUTE W(1, 2)",
    "DEALLOCATE W", "DEALLOCATE W", "BEGIN; DECLARE W CURSOR FOR SELECT 'W'; FETCH W; CLOSE W; COMMIT", "BEGIN; SAVEPOINT W; ROLLBACK TO W; RELEASE W; COMMIT", "FETCH W", "CLOSE W", "LISTEN W", "NOTIFY W, 'W'",
    "CREATE TABLE drafts (id INT PRIMARY KEY, word TEXT DEFAULT 'W', CHECK (word <> 'W no'))", "COMMENT ON TABLE drafts IS 'W'", "COMMENT ON TABLE W IS 'W'", "ALTER TABLE drafts ALTER word SET DEFAULT 'W W'",
    "ALTER TABLE drafts ADD COLUMN more INT DEFAULT 'W'", "CREATE VIEW seen AS SELECT * FROM people WHERE name <> 'W'", "CREATE TYPE mood AS ENUM ('W', 'ok')", "SELECT 'W no'::mood",
    "CREATE MATERIALIZED VIEW few AS SELECT id FROM people WHERE name = 'W'", "DROP TABLE W", "TRUNCATE W", "GDPR GET people 'W'", "GDPR GET people 'W no one'", "EXPLAIN GDPR FORGET people 'W'", "GDPR FORGET people 'W no one'",
    "COPY (GDPR EXPORT people 'W') TO STDOUT", "EXPLAIN SELECT * FROM people WHERE name = 'W'", "EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM people WHERE name = 'W'", "EXPLAIN (FORMAT W) SELECT 1", "EXPLAIN (W) SELECT 1",
    "COPY people FROM 'W'", "COPY (SELECT 'W') TO STDOUT", "COPY people (W) TO STDOUT", "COPY (SUBSCRIBE (SELECT W FROM people)) TO STDOUT", "GRANT SELECT ON people TO W", "CREATE ROLE W PASSWORD 'W'", "ALTER ROLE W PASSWORD 'W'",
    "CREATE FUNCTION W() RETURNS int LANGUAGE sql AS 'SELECT ''W'''", "DO $$ W $$", "CREATE INDEX ON people (W)", "LOCK TABLE W", "VACUUM W", "SELECT nextval('W')", "SELECT 'W'::regclass", "SELECT 1 / 0, 'W'", "W", "\"W\" 'W'",
    "BEGIN; SELECT 'W'::int; SELECT 'W'; ROLLBACK", "SELECT pg_sleep(0.02), 'W'", "SET statement_timeout = 20; SELECT pg_sleep(1), 'W'", "RESET statement_timeout", "SET lock_timeout TO 'W'", "SELECT dogwood_time('W')",
]


def spellings(word):
    """How the word could stand in a log, in lower case."""
    yield word
    yield word.encode().hex()
    # Three places in a group of three bytes, without what depends on its neighbours.
    for lead in range(3):
        yield base64.b64encode(b"x" * lead + word.encode()).decode()[4:-4].lower()


def silent(tally, server, name):
    said = server.said()
    lower = said.lower()
    for form in spellings(WORD):
        place = lower.find(form)
        tally.that(place < 0, f"{name}: nothing of what was typed or stored", said[max(0, place - 300):place + 100])
    return tally.that("internal error" not in said and "panicked" not in said, f"{name}: no panic", said[-2000:])


def events(server, mark=0):
    found = []
    for line in server.said(mark).splitlines():
        found.append(json.loads(line))
    return found


def said_of(found, target, message):
    return [event for event in found if event["target"] == target and event["message"] == message]


def ignoring(function, *arguments, **named):
    try:
        return function(*arguments, **named)
    except (psycopg.Error, OSError):
        return None


def plant(server):
    """The word, everywhere."""
    with server.connect(application_name=WORD) as connection:
        connection.prepare_threshold = None
        for statement in SCHEMA:
            connection.execute(statement)
        for statement in STATEMENTS:
            ignoring(connection.pgconn.exec_, statement.replace("W", WORD).encode())
            ignoring(connection.pgconn.exec_, b"ROLLBACK")
        # One of them is a search path that leads nowhere.
        connection.execute("RESET search_path")
        # The extended protocol: as parameters, in text and in binary, right and wrong ones, and as the names of statements.
        for statement, value in [
            ("SELECT * FROM people WHERE name = %s", WORD), ("SELECT %s::int", WORD), ("SELECT %s::text", WORD), ("INSERT INTO people (id, name) VALUES (%s, 'x')", WORD),
            ("UPDATE people SET name = %s WHERE id = 'y'", WORD), ("SELECT %b::text", WORD), ("SELECT length(%b::bytea)", WORD.encode()), ("SELECT %s::jsonb", "{" + WORD),
            ("GDPR GET people %s", WORD), ("GDPR FORGET people %s", WORD + " no one"), (f"SELECT '{WORD}', %s::date", WORD),
        ]:
            for _ in range(2):
                ignoring(connection.execute, statement, (value,))
        plain = connection.pgconn
        ignoring(plain.prepare, WORD.encode(), f"SELECT '{WORD}', $1".encode())
        ignoring(plain.exec_prepared, WORD.encode(), [WORD.encode()])
        ignoring(plain.exec_prepared, WORD.encode(), [WORD.encode(), b"1"])
        ignoring(plain.describe_portal, WORD.encode())
        # Often enough for a view of its own, and for a shape that is known.
        for number in range(12):
            rows(connection, "SELECT count(*), max(body) FROM notes WHERE person = %s GROUP BY number", (WORD,))
            plain.exec_(f"SELECT count(*), min(body) FROM notes WHERE person = '{WORD}{number}' GROUP BY number".encode())
        for text in (f"{WORD}\t1\n", f"5\t{WORD}\t{WORD}\tx{WORD}\n", f"6\tno {WORD}\t{WORD}\t1\n"):
            for table in ("notes", "words"):
                try:
                    with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                        copy.write(text)
                except psycopg.Error:
                    pass
        try:
            with connection.cursor().copy("COPY words FROM STDIN") as copy:
                raise ValueError(WORD)
        except (ValueError, psycopg.Error):
            pass
        # A view that fails by a value, and the value that mends it.
        connection.execute("CREATE MATERIALIZED VIEW numbers AS SELECT id, word::int FROM words")
        ignoring(connection.execute, "INSERT INTO words VALUES (20, %s)", (WORD,))
        ignoring(rows, connection, "SELECT * FROM numbers")
        connection.execute("DROP MATERIALIZED VIEW numbers")
    subscription(server)
    with server.connect() as connection:
        connection.execute("INSERT INTO people (id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING", (WORD, WORD))
        connection.execute(f"GDPR FORGET people '{WORD}'")
        ignoring(connection.execute, f"GDPR FORGET people '{WORD}'")
    strangers(server)


def subscription(server):
    """A word that is told, over a cursor, and what an erasure does to it."""
    with server.connect(autocommit=False) as watching, server.connect() as writing:
        watching.execute(f"DECLARE {WORD} CURSOR FOR SUBSCRIBE (SELECT id, name FROM people WHERE name >= '{WORD}')")
        watching.execute(f"FETCH 10 {WORD}").fetchall()
        writing.execute("INSERT INTO people (id, name) VALUES (%s, %s) ON CONFLICT DO NOTHING", (WORD + "2", WORD + "2"))
        writing.execute("GDPR FORGET people %s", (WORD + "2",))
        ignoring(lambda: watching.execute(f"FETCH 10 {WORD}").fetchall())


def strangers(server):
    """Whoever logs in, or says something that is no message."""
    for options in ({"user": WORD, "dbname": WORD}, {"user": WORD, "options": f"-c {WORD}=1"}, {"user": WORD, "options": f"-c TimeZone={WORD}"}):
        ignoring(lambda: psycopg.connect(host="127.0.0.1", port=server.port, connect_timeout=5, sslmode="prefer", password=WORD, **options).close())
    word = WORD.encode()
    startup = struct.pack("!i", 196608) + b"user\0" + word + b"\0database\0" + word + b"\0\0"
    for said in (word * 10, struct.pack("!i", 8) + word, struct.pack("!i", 4 + len(startup)) + startup + b"Z" + struct.pack("!i", 4 + len(word)) + word,
                 struct.pack("!i", 4 + len(startup)) + startup + b"Q" + struct.pack("!i", 4 + len(word)) + word, b"GET /" + word + b" HTTP/1.1\r\n\r\n"):
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=2) as line:
                line.sendall(said)
                line.settimeout(0.5)
                line.recv(4096)
        except OSError:
            pass


def canary(tally, server, arguments, name):
    server.start(arguments)
    plant(server)
    tally.equal(server.stop(), 0, f"{name}: SIGTERM")
    silent(tally, server, name)


def secure(tally):
    """Failed logins: names of those that are not there are what people type, passwords too."""
    server = Server()
    try:
        server.start([*JSON], insecure=False)
        password = server.password()
        connect = lambda user, password, name=WORD: psycopg.connect(host="127.0.0.1", port=server.port, user=user, password=password, dbname=name, sslmode="require", connect_timeout=10).close()
        for _ in range(4):
            ignoring(connect, WORD, "x")
            ignoring(connect, "controller", WORD)
        # A database that is not there: its name is what somebody typed, too.
        ignoring(connect, "controller", password)
        connect("controller", password, "postgres")
        strangers(server)
        found = events(server)
        tally.equal(server.stop(), 0, "secure: SIGTERM")
        silent(tally, server, "secure")
        tally.that(password not in server.said(), "the password is not logged")
        failed = [event for event in found if event["target"] == "dogwood::logins" and event["message"] != "refused a session"]
        tally.that(len(failed) >= 8 and all(event["level"] == "WARN" for event in failed), "failed logins are warnings", failed)
        tally.that(any(event["message"] == 'failed login from 127.0.0.1 as "controller"' for event in failed), "as a role that there is", failed)
        tally.that(any(event["message"] == "failed login from 127.0.0.1 as an unknown role" for event in failed), "as one that there is not", failed)
        tally.that(any(event["waited_ms"] > 0 for event in failed), "they were slowed", failed)
        connected = said_of(found, "dogwood::connections", "connected")
        tally.that(any(event["role"] == "controller" for event in connected), "who logs in is logged", connected)
    finally:
        server.remove()


def life(tally):
    """What an operator is to see of a server's life."""
    server = Server()
    try:
        server.start(JSON)
        with server.connect() as connection:
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute("INSERT INTO people (id) VALUES ('one'), ('two')")
            connection.execute("INSERT INTO notes VALUES (1, 'one', 'x', 1), (2, 'one', 'y', 1)")
            connection.execute("CREATE MATERIALIZED VIEW seen AS SELECT * FROM notes")
            connection.execute("GDPR FORGET people 'one'")
            (receipt,), = rows(connection, "SELECT receipt_id FROM dogwood.receipts")
        time.sleep(0.2)
        found = events(server)
        for target, message in [("dogwood::server", "starting"), ("dogwood::storage", "the folder is new: an empty database is made in it"), ("dogwood::server", "listening"),
                                ("dogwood::connections", "connected"), ("dogwood::connections", "disconnected"), ("dogwood::views", "a view is filled"), ("dogwood::erasures", "data keys are destroyed")]:
            tally.that(said_of(found, target, message), f"{target}: {message}", found)
        forgotten = said_of(found, "dogwood::erasures", "a data subject is forgotten")
        tally.equal([(event["receipt"], event["deleted"]) for event in forgotten], [(receipt, 3)], "an erasure, by its receipt")
        for event in found:
            tally.that({"timestamp", "level", "target", "message"} <= set(event), "every event has what it must have", event)
        server.kill()
        mark = len(server.said().encode())
        server.start(JSON)
        opened = said_of(events(server, mark), "dogwood::storage", "the folder is open")
        tally.that(len(opened) == 1 and opened[0]["receipts"] == 1 and opened[0]["commit"] > 0, "the folder after kill -9", opened)
        server.stop()
        stopped = events(server, mark)[-1]
        tally.equal((stopped["target"], stopped["message"]), ("dogwood::server", "stopped"), "the last word")
    finally:
        server.remove()


def statements(tally):
    """Shapes, ways, rows and times."""
    server = Server()
    try:
        server.start(("--log-format", "json", "-c", "log_min_duration_statement=0"))
        with server.connect() as connection:
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute("INSERT INTO people (id, name) SELECT 'p' || i, 'n' || i FROM generate_series(1, 200) AS i")
            connection.execute("INSERT INTO notes SELECT i, 'p' || i, 'b', i FROM generate_series(1, 200) AS i")
            deadline = time.monotonic() + 20
            while rows(connection, "SELECT stage FROM dogwood.views WHERE name = 'counted'") != [("ready",)] and time.monotonic() < deadline:
                time.sleep(0.05)
            cases = [
                ("SELECT name FROM people WHERE id = 'p1'", "lookup", 1, "SELECT name FROM people WHERE id = $1"),
                ("SELECT count(*) FROM notes WHERE number > 7 AND body <> 'x'", "one-shot", 1, "SELECT count(*) FROM notes WHERE number > $1 AND body <> $2"),
                ("SELECT person, notes FROM counted", "maintained view", 200, "SELECT person, notes FROM counted"),
                ("INSERT INTO words VALUES (1, 'a'), (2, 'b')", "write", 2, "INSERT INTO words VALUES ($1, $2), ($3, $4)"),
                ("UPDATE words SET word = 'c'", "write", 2, "UPDATE words SET word = $1"),
                ("COPY words TO STDOUT", "copy", 2, "COPY words TO STDOUT"),
                ("GDPR GET people 'p2'", "traversal", 2, "GDPR GET people $1"),
                ("SET statement_timeout TO '10s'", "other", 0, "SET statement_timeout TO $1"),
                ("SELECT n.id AS \"secret\" FROM notes AS n WHERE n.id = 3", "lookup", 1, "SELECT n1.id AS n2 FROM notes AS n1 WHERE n1.id = $1"),
            ]
            for sql, path, count, shape in cases:
                mark = len(server.said().encode())
                if sql.startswith("COPY"):
                    with connection.cursor().copy(sql) as copy:
                        list(copy)
                else:
                    connection.pgconn.exec_(sql.encode())
                told = said_of(events(server, mark), "dogwood::statements", "a statement took long")
                last = told[-1] if told else {}
                tally.equal((last.get("path"), last.get("rows"), last.get("shape")), (path, count, shape), sql)
                tally.that(last.get("took_ms", -1) >= 0 and last.get("level") == "INFO", "it says how long", last)
            for _ in range(20):
                connection.pgconn.exec_(b"SELECT number, count(*) FROM notes WHERE person = 'p3' GROUP BY number")
                time.sleep(0.02)
            paths = {event["path"] for event in events(server) if "number, count" in event.get("shape", "")}
            tally.that("automatic view" in paths, "a view that a query has earned", paths)
            mark = len(server.said().encode())
            connection.execute("INSERT INTO words VALUES (%s, %s)", (7, "seven"))
            steps = [(event["step"], event["shape"]) for event in said_of(events(server, mark), "dogwood::statements", "a statement took long")]
            shape = "INSERT INTO words VALUES ($1, $2)"
            tally.equal(steps, [("parse", shape), ("bind", shape), ("execute", shape), ("commit", shape)], "the extended protocol, step by step")
            mark = len(server.said().encode())
            connection.execute("SET log_min_duration_statement = 40")
            connection.execute("SELECT 1")
            tally.equal(events(server, mark + 0)[1:], [], "what is fast is not logged") if len(events(server, mark)) else None
            mark = len(server.said().encode())
            rows(connection, "SELECT pg_sleep(0.06)")
            slow = events(server, mark)
            tally.that([event["shape"] for event in slow] == ["SELECT pg_sleep($1)"] and slow[0]["took_ms"] >= 55, "what is slow is", slow)
            connection.execute("SET statement_timeout = 50")
            mark = len(server.said().encode())
            state_of(connection.execute, "SELECT pg_sleep(3)")
            failed = said_of(events(server, mark), "dogwood::statements", "a statement took long and failed")
            tally.equal([event["sqlstate"] for event in failed], ["57014"], "what is slow and fails")
            connection.execute("SET log_min_duration_statement = -1")
            mark = len(server.said().encode())
            connection.execute("SET statement_timeout = 0")
            rows(connection, "SELECT pg_sleep(0.06)")
            tally.equal(events(server, mark), [], "-1 turns it off")
            tally.equal(state_of(connection.execute, "SET log_min_duration_statement = -2"), "22023", "below -1")
            tally.equal(state_of(connection.execute, "SET log_connections = on"), "55P02", "log_connections is of the start")
            listed = rows(connection, "SELECT setting, unit, source, reset_val FROM pg_settings WHERE name = 'log_min_duration_statement'")
            tally.equal(listed, [("-1", "ms", "session", "0")], "as pg_settings has it")
        with server.connect(options="-c log_min_duration_statement=10s -c log_disconnections=on") as connection:
            mark = len(server.said().encode())
            tally.equal(rows(connection, "SHOW log_min_duration_statement"), [("10s",)], "of the startup packet")
        time.sleep(0.2)
        tally.equal([event["message"] for event in events(server, mark)], ["disconnected"], "a session that wants its end logged")
    finally:
        server.remove()


def options(tally):
    """What is given, and what is refused."""
    folder = tempfile.mkdtemp(prefix="dogwood-logs-")
    for arguments, wanted in [(("--log-format", "xml"), "is not a format of the log"), (("--log-level", "loud"), "is not a level of the log"), (("-c", "log_connections"), "is not the name of a setting"),
                              (("-c", "no_such=1"), "unrecognized configuration parameter"), (("-c", "log_min_duration_statement=soon"), "invalid value for parameter"), (("-c", "server_version=16"), "cannot be changed")]:
        status, said = run("serve", "--data", os.path.join(folder, "x"), "--listen", "127.0.0.1:0", "--insecure", *arguments)
        tally.that(status in (1, 2) and wanted in said, " ".join(arguments), said)
    for levels, expected in [("off", set()), ("error", set()), ("warning,server=info", {"dogwood::server"}), ("info,server=off,dogwood::storage=off", {"dogwood::connections"})]:
        server = Server()
        try:
            server.start(("--log-level", levels, "--log-format", "json", "-c", "log_connections=on"))
            server.connect().close()
            server.stop()
            tally.equal({event["target"] for event in events(server)}, expected, f"--log-level {levels}")
        finally:
            server.remove()


def damaged(tally):
    """A folder that is not whole says what is wrong with it, and no value."""
    server = Server()
    try:
        server.start(JSON)
        with server.connect() as connection:
            connection.execute(SCHEMA[0])
            for number in range(300):
                connection.execute("INSERT INTO people (id, name) VALUES (%s, %s)", (f"{WORD}{number}", f"{WORD}{number}"))
        server.kill()
        logs = sorted(path for path in os.listdir(os.path.join(server.data, "rocks")) if path.endswith(".log"))
        path = max((os.path.join(server.data, "rocks", name) for name in logs), key=os.path.getsize)
        with open(path, "r+b") as file:
            whole = len(file.read().rstrip(b"\0"))
            file.seek(whole // 2)
            file.write(b"damage")
        mark = len(server.said().encode())
        try:
            server.start(JSON)
            tally.that(False, "a damaged log is noticed")
        except Refused:
            last = events(server, mark)[-1]
            tally.that(last["level"] == "ERROR" and "leads to less than was acknowledged" in last["message"] and "people" in last["message"], "what is missing is said", last)
        mark = len(server.said().encode())
        server.start([*JSON, "--salvage"])
        with server.connect() as connection:
            rows(connection, "SELECT count(*) FROM people")
            state_of(connection.execute, f"INSERT INTO people VALUES ('{WORD}')")
        server.stop()
        tally.that(any(event["level"] == "WARN" for event in events(server, mark)), "salvaging says what is missing", events(server, mark))
        silent(tally, server, "a damaged folder")
    finally:
        server.remove()


def unwritable(tally):
    """A log that cannot be written, as on a full disk, is lost, and nothing else."""
    server = Server()
    try:
        server.errors = "/dev/full"
        server.start(ALL)
        with server.connect() as connection:
            connection.execute(SCHEMA[0])
            connection.execute("INSERT INTO people (id) VALUES ('one')")
            state_of(connection.execute, "SELECT 'x'::int")
            tally.equal(rows(connection, "GDPR FORGET people 'one'")[0][:2], ("people", 1), "an erasure without a log")
            tally.equal(rows(connection, "SELECT count(*) FROM people"), [(0,)], "statements without a log")
        tally.equal(server.stop(), 0, "a stop without a log")
    finally:
        server.remove()


def main():
    tally = Tally()
    for name, arguments in [("text", ALL), ("JSON", JSON)]:
        server = Server()
        try:
            tally.case(canary, tally, server, arguments, name)
        finally:
            server.remove()
    for case in (secure, life, statements, options, damaged, unwritable):
        tally.case(case, tally)
    tally.end()


if __name__ == "__main__":
    main()
