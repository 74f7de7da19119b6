"""Every statement ends when told, within its memory: a table of hostile ones, each within 64 MB, each cancelled at random instants.

A statement ends rightly or with 53200 (or what PostgreSQL refuses it with), and what the server holds afterwards is what it held before.
Cancelled, it answers 57014, or had ended; how long that took is printed. Meanwhile another session goes on, and is answered.

    account.py [--seed S] [--cancels N] [--only NAME]       N instants (2) for each statement
"""
import argparse
import threading
import time

import psycopg

from harness import Check, rows, run_check
from harness.protocol import SYNC, Raw, bind, message, parse, query, state

MEMORY = 64 << 20
# Beside the statement's own: caches, what threads keep, a look's worth of large values.
SLACK = 192 << 20
# A busy machine keeps this; quiet, 100 ms are (the slowest is printed).
ENDS_WITHIN_S = 5
ROWS = 20_000

SCHEMA = [
    "CREATE TABLE t (id INT PRIMARY KEY, n INT, s TEXT)",
    f"INSERT INTO t SELECT g, g % 1000, 'row number ' || g FROM generate_series(1, {ROWS}) g",
    "CREATE INDEX t_n ON t (n)",
    "CREATE TABLE e (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE k (n INT)",
]


def joined(count):
    tables = ", ".join(f"e t{number}" for number in range(count))
    links = " AND ".join(f"t{number}.id = t{number + 1}.id" for number in range(count - 1))
    return f"SELECT count(*) FROM {tables} WHERE {links}"


def listed(count):
    return ", ".join(str(number) for number in range(count))


# Name → statement; those that end by themselves soon are not cancelled.
ENDLESS = {
    "cross join": "SELECT count(*) FROM t a, t b, t c WHERE a.n + b.n + c.n < 0",
    "cross join by a condition": "SELECT count(*) FROM t a JOIN t b ON a.n < b.n JOIN t c ON b.n < c.n",
    "series": "SELECT count(*) FROM generate_series(1, 10000000000)",
    "series, filtered": "SELECT g FROM generate_series(1, 10000000000) g WHERE g < 0",
    "series, sorted": "SELECT g FROM generate_series(1, 10000000000) g ORDER BY g DESC",
    "series, grouped": "SELECT g % 10000000, count(*) FROM generate_series(1, 10000000000) g GROUP BY 1",
    "series, distinct": "SELECT count(DISTINCT g) FROM generate_series(1, 10000000000) g",
    "series in an array": "SELECT array_agg(g) FROM generate_series(1, 10000000000) g",
    "ARRAY of a series": "SELECT array_length(ARRAY(SELECT generate_series(1, 10000000000)), 1)",
    "window over many rows": "SELECT sum(length(x)) FROM (SELECT string_agg(s, ',') OVER (ORDER BY id) x FROM t) y",
    "window over a series": "SELECT max(r) FROM (SELECT rank() OVER (ORDER BY -g) r FROM generate_series(1, 10000000000) g) x",
    "recursion": "WITH RECURSIVE r AS (SELECT 1::bigint n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
    "recursion, distinct": "WITH RECURSIVE r AS (SELECT 1::bigint n UNION SELECT n + 1 FROM r) SELECT count(*) FROM r",
    "INSERT of a series": "INSERT INTO k SELECT g FROM generate_series(1, 2000000000) g",
    "CREATE TABLE AS": "CREATE TABLE made AS SELECT g FROM generate_series(1, 10000000000) g",
    "EXPLAIN ANALYZE": "EXPLAIN ANALYZE SELECT count(*) FROM generate_series(1, 10000000000)",
    "COPY out": "COPY (SELECT g, repeat('x', 100) FROM generate_series(1, 10000000000) g) TO STDOUT",
    "sleep": "SELECT pg_sleep(1000)",
    "catalog": "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c",
    "EXISTS": "SELECT count(*) FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b, t c WHERE b.n + c.n = a.n - 5000000)",
    "regular expression": "SELECT count(*) FROM t a, t b WHERE a.s || b.s ~ '^(row|number|[0-9 ])*x$'",
    "LIKE": "SELECT count(*) FROM t a, t b WHERE a.s || b.s LIKE '%9%8%7%6%x'",
    "UNION": "SELECT count(*) FROM (SELECT g FROM generate_series(1, 10000000000) g UNION SELECT 1) x",
    "except": "SELECT count(*) FROM (SELECT g FROM generate_series(1, 10000000000) g EXCEPT SELECT 1) x",
    "update from": "UPDATE t SET n = 1 FROM t b, t c WHERE t.id + b.id + c.id < 0",
    "delete using": "DELETE FROM t USING t b, t c WHERE t.id + b.id + c.id < 0",
    "repeat of a column": "SELECT sum(length(repeat(s, 1000000))) FROM t",
    "numeric": "SELECT count(*) FROM generate_series(1, 10000000) g WHERE exp(ln(g::numeric + 0.123)) < 0",
    "text of large numbers": "SELECT sum(length((power(3.0, 50000 + g % 100))::text)) FROM generate_series(1, 1000000) g",
}

LARGE = {
    "repeat": "SELECT length(repeat('x', 900000000))",
    "repeat, folded": "SELECT repeat('abc', 300000000)",
    "lpad": "SELECT length(lpad('x', 200000000, 'ab'))",
    "rpad": "SELECT length(rpad('x', 200000000))",
    "format": "SELECT length(format('%900000000s', 'x'))",
    "replace": "SELECT length(replace(repeat('a', 1000000), 'a', repeat('b', 500)))",
    "regexp_replace": "SELECT length(regexp_replace(repeat('a', 1000000), 'a', repeat('b', 500), 'g'))",
    "array_fill": "SELECT array_length(array_fill(1, ARRAY[100000000]), 1)",
    "array_fill of texts": "SELECT array_length(array_fill('x'::text, ARRAY[1000, 1000, 100]), 1)",
    "string_to_array": "SELECT array_length(string_to_array(repeat('a,', 10000000), ','), 1)",
    "string_to_array of characters": "SELECT array_length(string_to_array(repeat('a', 30000000), NULL), 1)",
    "array concatenation": "SELECT array_length(a || a || a || a || a || a || a || a, 1) FROM (SELECT array_fill(1, ARRAY[1000000]) a) x",
    "text concatenation": "SELECT length(x || x || x || x || x || x || x || x) FROM (SELECT repeat('x', 30000000) x) y",
    "encode": "SELECT length(encode(decode(repeat('00', 20000000), 'hex'), 'escape'))",
    "cast of a large text": "SELECT array_length(('{' || repeat('1,', 9000000) || '1}')::int[], 1)",
    "cast to text": "SELECT length(array_fill(1234567, ARRAY[2000000])::text)",
    "jsonb": "SELECT jsonb_array_length(('[' || repeat('1,', 9000000) || '1]')::jsonb)",
    "json_agg": "SELECT length(json_agg(s)::text) FROM t, generate_series(1, 1000)",
    "jsonb_agg": "SELECT jsonb_array_length(jsonb_agg(s)) FROM t, generate_series(1, 1000)",
    "json_object_agg": "SELECT length(json_object_agg(id, s)::text) FROM t, generate_series(1, 1000)",
    "string_agg": "SELECT length(string_agg(s, ',')) FROM t, generate_series(1, 1000)",
    "array_agg": "SELECT array_length(array_agg(s), 1) FROM t, generate_series(1, 1000)",
    "power": "SELECT length((9.99::numeric ^ 130000)::text)",
    "factorial": "SELECT length(factorial(32000)::text)",
    "divisor of long numbers": "SELECT gcd(('1' || repeat('3', 100000))::numeric, ('7' || repeat('9', 90000))::numeric)",
    "INSERT of many": f"INSERT INTO k VALUES {', '.join(f'({n})' for n in range(200_000))}",
    "sort": "SELECT s FROM t, generate_series(1, 1000) g ORDER BY s || g",
    "hash join": "SELECT count(*) FROM (SELECT s || g x FROM t, generate_series(1, 200) g) a JOIN (SELECT s || g x FROM t, generate_series(1, 200) g) b USING (x)",
    "materialised": "WITH m AS MATERIALIZED (SELECT s || g x FROM t, generate_series(1, 1000) g) SELECT count(*) FROM m a, m b WHERE a.x = b.x",
    "join of many tables": joined(300),
    "union of many": " UNION ALL ".join(["SELECT 1"] * 2000),
    "expression of many terms": "SELECT " + " + ".join(["1"] * 3500),
    "nesting": "SELECT " + "(" * 10_000 + "1" + ")" * 10_000,
    "nested arrays": "SELECT '" + "{" * 10_000 + "}" * 10_000 + "'::int[]",
    "nested json": "SELECT '" + "[" * 100_000 + "]" * 100_000 + "'::jsonb",
    "nested calls": "SELECT " + "abs(" * 5_000 + "1" + ")" * 5_000,
    "nested subqueries": "SELECT * FROM " + "(SELECT * FROM " * 1_000 + "t" + ") x" * 1_000,
    "nested CASE": "SELECT " + "CASE WHEN true THEN " * 3_000 + "1" + " END" * 3_000,
    "NOT": "SELECT " + "NOT " * 10_000 + "true",
}
# Long lists of literals: they are answered, with room to spare.
LISTS = {
    "IN of many": f"SELECT count(*) FROM t WHERE id IN ({listed(400_000)})",
    "NOT IN of many": f"SELECT count(*) FROM t WHERE n NOT IN ({listed(400_000)})",
    "IN of many texts": "SELECT count(*) FROM t WHERE s IN ('" + listed(250_000).replace(", ", "', '") + "')",
    "IN of many as a value": f"SELECT count(*) FROM (SELECT id IN ({listed(400_000)}) m FROM t) x WHERE m",
    "IN of many casts": "SELECT count(*) FROM t WHERE id IN (" + listed(300_000).replace(",", "::int,") + "::int)",
    "IN of many rows": f"SELECT count(*) FROM t WHERE (id, n) IN ({', '.join(f'({n}, {n})' for n in range(200_000))})",
    "IN of many rows as a value": f"SELECT count(*) FROM (SELECT (id, n) NOT IN ({', '.join(f'({n}, {n})' for n in range(200_000))}) m FROM t) x WHERE m",
    "VALUES of many casts": f"SELECT count(*) FROM (VALUES {', '.join(f'({n}::bigint, {n}::text)' for n in range(100_000))}) v",
    "ANY of many": f"SELECT count(*) FROM t WHERE id = ANY (ARRAY[{listed(400_000)}])",
    "VALUES of many": f"SELECT count(*) FROM (VALUES {', '.join(f'({n}, {n})' for n in range(200_000))}) v",
    "VALUES of many in WITH": f"WITH v (a, b) AS (VALUES {', '.join(f'({n}, {n})' for n in range(100_000))}) SELECT count(*) FROM t JOIN v ON v.a = t.id",
    "UPDATE of many": f"UPDATE t SET n = n WHERE id IN ({listed(400_000)})",
}
# What is made of each literal of these is a tree.
TREES = {
    "IN of many sums": "SELECT count(*) FROM t WHERE id IN (" + listed(300_000).replace(",", " + 1,") + ")",
    "VALUES of many calls": "SELECT count(*) FROM (VALUES " + ", ".join(f"(abs({n}))" for n in range(300_000)) + ") v",
}
# Ends that are answers: out of memory, or a limit of PostgreSQL's or ours.
ENDS = {"", "53200", "54000", "54001", "22003", "22P02"}
# Their rows go to the disk as they come: time ends them, or the disk's room.
TO_THE_DISK = ("INSERT of a series", "CREATE TABLE AS")


class Account(Check):
    def __init__(self, options):
        super().__init__(options)
        self.slowest = (0, "")

    def run(self):
        self.set_up(SCHEMA)
        self.bystander = threading.Thread(target=self.stand_by)
        self.done = threading.Event()
        self.bystander.start()
        try:
            for case in (self.settings, self.within_memory, self.cancelled, self.cancelled_late, self.cancelled_writes, self.timed_out, self.hoards, self.hoarded, self.cursors):
                self.tally.case(case)
        finally:
            self.done.set()
            self.bystander.join(60)
        print(f"the slowest to end took {self.slowest[0] * 1000:.0f} ms: {self.slowest[1]}")

    def chosen(self, table):
        return [(name, sql) for name, sql in table.items() if not self.options.only or self.options.only == name]

    def stand_by(self):
        """Another session, which nothing of this may hurt."""
        with self.server.connect() as connection:
            while not self.done.is_set():
                found = rows(connection, "SELECT count(*), min(id) FROM t WHERE n = 7")
                if found != [(ROWS // 1000, 7)]:
                    self.tally.that(False, "the bystander", found)
                    return
                time.sleep(0.02)

    def resident(self):
        """Of all memory that is resident, the most there ever was."""
        with open(f"/proc/{self.server.process.pid}/status") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))

    def outcome(self, connection, sql):
        try:
            if sql.startswith("COPY"):
                with connection.cursor().copy(sql) as copy:
                    for _ in copy:
                        pass
            else:
                connection.execute(sql)
            return ""
        except psycopg.Error as error:
            return error.sqlstate or "lost"

    def settings(self):
        with self.server.connect() as connection:
            self.tally.equal(rows(connection, "SHOW statement_memory"), [("1GB",)], "the default")
            connection.execute("SET statement_memory = '64MB'")
            self.tally.equal(rows(connection, "SHOW statement_memory"), [("64MB",)], "set")
            for wrong in ("'64 apples'", "'-1'", "0"):
                self.tally.equal(self.outcome(connection, f"SET statement_memory = {wrong}"), "22023", f"statement_memory = {wrong}")
            connection.execute("SET server_memory = '3GB'")
            with self.server.connect() as other:
                self.tally.equal(rows(other, "SHOW server_memory"), [("3GB",)], "of all sessions")
            connection.execute("RESET server_memory")

    def within_memory(self):
        # What the machine keeps for itself at the first time: caches, threads.
        with self.server.connect() as connection:
            connection.execute("SELECT count(*), count(s) FROM t")
        most = self.resident() + MEMORY + SLACK
        for name, sql in [*self.chosen(LARGE), *self.chosen(LISTS), *self.chosen(TREES), *self.chosen(ENDLESS)]:
            if name in ("sleep", "series", "series, filtered", "EXPLAIN ANALYZE", "COPY out") or name in TAKES_LONG:
                continue
            with self.server.connect() as connection:
                connection.execute(f"SET statement_memory = '{MEMORY >> 20}MB'")
                connection.execute("SET statement_timeout = '20s'")
                connection.execute("SET dogwood.auto_views = off")
                began = time.monotonic()
                state = self.outcome(connection, sql)
                took = time.monotonic() - began
                if self.options.verbose:
                    print(f"{name}: {state or 'answered'} after {took:.2f} s, at most {self.resident() >> 20} MB", flush=True)
                expected = {"53200"} if name in ENDLESS else {""} if name in LISTS else ENDS
                expected = expected | {"57014", "53100"} if name in TO_THE_DISK else expected
                self.tally.that(state in expected, f"{name} ends within its memory", f"{state} after {took:.1f} s")
                if not self.tally.that(self.resident() <= most, f"{name}: what is resident is bounded", f"{self.resident() >> 20} MB, at most {most >> 20}"):
                    most = self.resident() + MEMORY
                self.tally.equal(rows(connection, "SELECT 1"), [(1,)], f"after {name}")

    def cancelled(self):
        for name, sql in [*self.chosen(ENDLESS), *self.chosen(LARGE), *self.chosen(LISTS), *self.chosen(TREES)]:
            for _ in range(self.options.cancels):
                with self.server.connect() as connection:
                    connection.execute("SET statement_timeout = 0")
                    connection.execute("SET dogwood.auto_views = off")
                    at = self.dice.choice([0.001, 0.02, 0.1, 0.4]) * self.dice.random()
                    asked, over = [], threading.Event()

                    def cancel():
                        time.sleep(at)
                        # One that comes before the statement cancels nothing: again, then.
                        while not over.is_set():
                            asked.append(time.monotonic())
                            connection.cancel()
                            over.wait(1)

                    thread = threading.Thread(target=cancel)
                    thread.start()
                    state = self.outcome(connection, sql)
                    ended = time.monotonic()
                    over.set()
                    thread.join()
                    took = ended - asked[-1] if asked else 0
                    if took > self.slowest[0] and state == "57014":
                        self.slowest = (took, name)
                    if self.options.verbose and took > 0.1:
                        print(f"{name}: {state or 'answered'} {took * 1000:.0f} ms after its cancel at {at * 1000:.0f} ms", flush=True)
                    expected = {"57014"} if name in ENDLESS else ENDS | {"57014"}
                    self.tally.that(state in expected, f"{name} cancelled after {at * 1000:.0f} ms", state)
                    self.tally.that(len(asked) <= ENDS_WITHIN_S, f"{name} ends soon", f"{ended - (asked or [ended])[0]:.1f} s after its cancel")
                    time.sleep(0.01)
                    self.outcome(connection, "SELECT 1")
                    self.tally.equal(rows(connection, "SELECT 1"), [(1,)], f"after {name}")
        with self.server.connect() as connection:
            self.tally.equal(rows(connection, "SELECT count(*), sum(n) FROM t"), [(ROWS, sum(n % 1000 for n in range(1, ROWS + 1)))], "nothing has changed")

    def cancelled_late(self):
        """What a statement has written is not taken apart before its cancel is answered."""
        if self.options.only:
            return
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE late (id INT PRIMARY KEY, n INT, s TEXT)")
        begin = ("BEGIN", "INSERT INTO late VALUES (0, 0, '')")
        rows_made = "SELECT g AS id, g AS n, 'row number ' || g AS s FROM generate_series(1, 50000000) g"
        insert, create = f"INSERT INTO late {rows_made}", f"CREATE TABLE late_made AS {rows_made}"
        for before, sql, back in (((), insert, "ROLLBACK"), (begin, insert, "ROLLBACK"), ((*begin, "SAVEPOINT a"), create, "ROLLBACK TO a")):
            took, went_back, name = [], [], f"{sql.partition(' SELECT')[0]} cancelled late {before}"
            for _ in range(3):
                with self.server.connect() as connection:
                    connection.execute("SET statement_memory = '4GB'")
                    for statement in before:
                        connection.execute(statement)
                    asked = []
                    thread = threading.Timer(2, lambda: (asked.append(time.monotonic()), connection.cancel()))
                    thread.start()
                    state = self.outcome(connection, sql)
                    took.append(time.monotonic() - asked[0])
                    thread.join()
                    self.tally.equal(state, "57014", name)
                    began = time.monotonic()
                    self.tally.equal(self.outcome(connection, back), "", back)
                    went_back.append(time.monotonic() - began)
                    self.outcome(connection, "ROLLBACK")
                    self.tally.equal(rows(connection, "SELECT count(*) FROM late"), [(0,)], "nothing was inserted")
            # Going back to a savepoint, what stood there is put together.
            self.tally.that(min(took) < (0.5 if "SAVEPOINT a" in before else 0.25), f"{name} ends soon", f"{min(took) * 1000:.0f} ms")
            self.tally.that(min(went_back) < 0.25, f"{back} soon: {name}", f"{min(went_back) * 1000:.0f} ms")

    def cancelled_writes(self):
        """Changes of many rows end soon, in whichever of their phases they are cancelled, and so does going back to a savepoint."""
        if self.options.only:
            return
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE many (id INT PRIMARY KEY, n INT, s TEXT)")
            connection.execute("INSERT INTO many SELECT g, g, 'row number ' || g FROM generate_series(1, 150000) g")
        before, after = ("BEGIN", "INSERT INTO many VALUES (0, 0, '')", "SAVEPOINT a"), "ROLLBACK TO a"
        for sql in ("UPDATE many SET n = n + 1", "UPDATE many SET id = id + 1000000", "DELETE FROM many", "CREATE INDEX many_s ON many (s)"):
            slowest = 0
            for share in (0.2, 0.4, 0.6, 0.8):
                took = []
                for _ in range(2):
                    with self.server.connect() as connection:
                        connection.execute("SET statement_memory = '4GB'")
                        for statement in before:
                            connection.execute(statement)
                        asked = []
                        thread = threading.Timer(share * 0.6, lambda: (asked.append(time.monotonic()), connection.cancel()))
                        thread.start()
                        state = self.outcome(connection, sql)
                        ended = time.monotonic()
                        thread.join()
                        took.append(ended - asked[0])
                        self.tally.that(state in ("", "57014"), f"{sql} cancelled", state)
                        time.sleep(0.05)
                        began = time.monotonic()
                        if self.outcome(connection, after):
                            # The cancel came late, and was this one's.
                            self.outcome(connection, after)
                        took[-1] = max(took[-1], time.monotonic() - began)
                        self.tally.equal(rows(connection, "SELECT count(*) FROM many"), [(150_001,)], f"{after} behind {sql}")
                        connection.execute("ROLLBACK")
                slowest = max(slowest, min(took))
            self.tally.that(slowest < 0.25, f"{sql} ends soon", f"{slowest * 1000:.0f} ms")

    def timed_out(self):
        for name in ("cross join", "recursion", "series", "window over a series", "regular expression", "INSERT of a series"):
            if self.options.only and self.options.only != name:
                continue
            with self.server.connect() as connection:
                connection.execute("SET statement_timeout = '100ms'")
                began = time.monotonic()
                self.tally.equal(self.outcome(connection, ENDLESS[name]), "57014", f"{name} with a timeout")
                self.tally.that(time.monotonic() - began < ENDS_WITHIN_S, f"{name} ends at its timeout")

    def hoards(self):
        """What a client keeps counts for the server: more than that is refused, and given back it is there again."""
        if self.options.only:
            return
        with self.server.connect() as connection, self.server.connect() as other:
            held = rows(connection, "SELECT bytes FROM dogwood.memory WHERE part = 'everything else'")[0][0]
            connection.execute(f"SET server_memory = '{(held >> 20) + 96}MB'")
            try:
                text = "SELECT " + ", ".join(f"n + {number}" for number in range(1_000)) + " FROM t WHERE id = $1"
                kept, state = 0, ""
                while not state and kept < 500:
                    state = self.outcome(connection, f"PREPARE kept{kept} (int) AS {text} + {kept}")
                    kept += 1
                self.tally.equal(state, "53200", "prepared statements that a client hoards")
                self.tally.equal(rows(other, "SELECT count(*) FROM t WHERE n = 1"), [(ROWS // 1000,)], "others go on")
                connection.execute("DEALLOCATE ALL")
                time.sleep(0.05)
                self.tally.equal(self.outcome(connection, "PREPARE again AS SELECT 1"), "", "given back")
            finally:
                other.execute("RESET server_memory")

    def hoarded(self):
        """The same of all else that a session may keep, by SQL and by the protocol; with the session it goes."""
        if self.options.only:
            return
        rows_of_a_kilobyte = "SELECT g, repeat('x', 1000) FROM generate_series(1, 2000) g"
        kinds = {
            "cursors WITH HOLD": (None, lambda turn: f"DECLARE c{turn} CURSOR WITH HOLD FOR {rows_of_a_kilobyte}"),
            "settings": (None, lambda turn: f"SELECT set_config('my.v{turn}', repeat('x', 1000000), false)"),
            "sorted cursors": ("BEGIN", lambda turn: f"DECLARE c{turn} CURSOR FOR {rows_of_a_kilobyte} ORDER BY g DESC; FETCH 1 FROM c{turn}"),
            "savepoints": ("BEGIN", lambda turn: ";".join(f"SAVEPOINT s{turn}_{number}; INSERT INTO k VALUES (1)" for number in range(500))),
            "temporary tables": ("CREATE TEMP TABLE mine (g int, x text)", lambda turn: f"INSERT INTO mine {rows_of_a_kilobyte}"),
            "advisory locks": (None, lambda turn: f"SELECT count(*) FROM (SELECT pg_advisory_lock(g) FROM generate_series({turn * 5_000}, {turn * 5_000 + 4_999}) g OFFSET 0) x"),
        }
        with self.server.connect() as other:
            held = rows(other, "SELECT bytes FROM dogwood.memory WHERE part = 'everything else'")[0][0]
            other.execute(f"SET server_memory = '{(held >> 20) + 96}MB'")
            most = self.resident() + (96 << 20) + SLACK
            try:
                for name, (begin, statement) in kinds.items():
                    with self.server.connect() as connection:
                        connection.execute(begin or "SELECT 1")
                        self.hoard(name, other, lambda turn: self.outcome(connection, statement(turn)))
                for name, send in (("portals", self.bind_much), ("statements of the protocol", self.parse_much)):
                    raw = Raw(self.server)
                    raw.states(parse(b"SELECT $1::text", b"s"), SYNC)
                    raw.states(query(b"BEGIN"))
                    self.hoard(name, other, lambda turn: send(raw, turn))
                    raw.close()
            finally:
                other.execute("RESET server_memory")
            self.tally.that(self.resident() <= most, "what all sessions keep is bounded", f"{self.resident() >> 20} MB, at most {most >> 20}")

    def hoard(self, name, other, keep):
        """Until it is refused, which it is soon."""
        state = next(filter(None, map(keep, range(5_000))), "")
        self.tally.equal(state, "53200", f"{name} that a client hoards")
        self.tally.equal(rows(other, "SELECT count(*) FROM t WHERE n = 1"), [(ROWS // 1000,)], f"others go on beside {name}")

    def bind_much(self, raw, turn):
        raw.send(bind([b"x" * 1_000_000], portal=b"p%d" % turn, name=b"s"), message(b"H"))
        return self.refusal(raw)

    def parse_much(self, raw, turn):
        raw.send(parse(b"SELECT '" + b"x" * 1_000_000 + b"'", b"s%d" % turn), message(b"H"))
        return self.refusal(raw)

    def refusal(self, raw):
        kind, body = raw.receive()
        return state(body) if kind == b"E" else ""

    def cursors(self):
        """A cursor is bounded by the statement that fetches from it."""
        if self.options.only:
            return
        with self.server.connect(autocommit=False) as connection:
            connection.execute("SET statement_memory = '16MB'")
            connection.execute("SET statement_timeout = '1s'")
            connection.execute("DECLARE c CURSOR FOR SELECT g, repeat('x', 1000) FROM generate_series(1, 1000000) g")
            self.tally.equal(len(connection.execute("FETCH 1000 FROM c").fetchall()), 1_000, "some rows")
            time.sleep(1.2)
            self.tally.equal(len(connection.execute("FETCH 1000 FROM c").fetchall()), 1_000, "the timeout is each FETCH's own")
            self.tally.equal(self.outcome(connection, "FETCH ALL FROM c"), "53200", "all rows at once")
            connection.rollback()


# They hold little: only a cancel or a timeout ends them.
TAKES_LONG = {
    "cross join", "cross join by a condition", "series, grouped", "catalog", "EXISTS", "regular expression", "LIKE", "update from", "delete using",
    "numeric", "text of large numbers", "repeat of a column", "recursion",
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--cancels", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--verbose", action="store_true")
    run_check(Account(parser.parse_args()))


if __name__ == "__main__":
    main()
