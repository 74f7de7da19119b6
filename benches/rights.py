"""What rights, policies, a person's own login, erasure, many people and TLS cost: Dogwood against itself, in one run.

    rights.py [--seconds N] [--rounds N] [--people N] [--only NAME,NAME] [--json FILE]

What is compared runs in turn, round by round, the first one changing. Of the rounds counts the best. Rates are a second, times
milliseconds; beside them stands the processor time of the server, which others on the machine change least. --people is for what is
measured over many of them (1,000,000).
"""
import argparse
import os
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing import Pool
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).parent / "tests/checks"))
from harness.compared import Dogwood, postgres_program  # noqa: E402
from harness.server import Server  # noqa: E402
from results_file import ResultsFile  # noqa: E402

PEOPLE, NOTES = 2_000, 20
SSL_REQUEST = struct.pack("!II", 8, 80877103)
SCHEMA = [
    "CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT, team TEXT)",
    *(f"CREATE TABLE notes_{n} (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY users(id), team TEXT, kind INT, body TEXT)" for n in range(5)),
    "CREATE INDEX ON notes_0 (author)",
    "CREATE TABLE plain (id INT PRIMARY KEY, team TEXT, kind INT, n INT)",
    "CREATE TABLE guarded (id INT PRIMARY KEY, team TEXT, kind INT, n INT)",
    f"INSERT INTO users SELECT n, 'name ' || n, 'team' || n % 10 FROM generate_series(1, {PEOPLE}) AS n",
    *(f"INSERT INTO notes_{t} SELECT n, n % {PEOPLE} + 1, 'team' || n % 10, n % 7, 'body ' || n FROM generate_series(1, {PEOPLE * NOTES}) AS n"
      for t in range(5)),
    *(f"INSERT INTO {t} SELECT n, 'team' || n % 10, n % 7, n FROM generate_series(1, 40000) AS n" for t in ("plain", "guarded")),
    "CREATE ROLE granted LOGIN", "CREATE ROLE team3 LOGIN",
    "GRANT SELECT ON users, plain TO granted",
    "GRANT SELECT ON guarded, plain TO team3",
    "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY", "CREATE POLICY own ON guarded USING (team = current_user)",
    "CREATE USER own_login FOR users 1",
    "CREATE TABLE used (id INT PRIMARY KEY, team TEXT, kind INT, n INT, p TEXT[] PURPOSES, o TEXT[] OBJECTIONS)",
    "CREATE TABLE ending (id INT PRIMARY KEY, team TEXT, kind INT, n INT, until TIMESTAMPTZ EXPIRES)",
    "CREATE TABLE listed (id INT PRIMARY KEY, team TEXT, kind INT, n INT, p TEXT[], o TEXT[], until TIMESTAMPTZ)",
    "INSERT INTO used SELECT n, 'team' || n % 10, n % 7, n, '{ads,billing}', CASE WHEN n % 10 = 0 THEN '{billing}'::text[] END FROM generate_series(1, 40000) AS n",
    "INSERT INTO ending SELECT n, 'team' || n % 10, n % 7, n, '2100-01-01' FROM generate_series(1, 40000) AS n",
    "INSERT INTO listed SELECT n, 'team' || n % 10, n % 7, n, '{ads,billing}', CASE WHEN n % 10 = 0 THEN '{billing}'::text[] END, '2100-01-01' FROM generate_series(1, 40000) AS n",
    *(f"CREATE MATERIALIZED VIEW kept_{t} AS SELECT kind, count(*), sum(n) FROM {t} GROUP BY kind" for t in ("used", "listed", "ending")),
    "CREATE PURPOSE ads", "CREATE ROLE agency LOGIN IN ROLE dogwood_processor", "GRANT PURPOSE ads TO agency",
    "GRANT SELECT ON used, listed, ending, kept_used, kept_listed, kept_ending TO agency, granted", "ALTER ROLE agency SET dogwood.purpose = 'ads'", "ANALYZE",
]
TICKS = os.sysconf("SC_CLK_TCK")
POINT = "\\set id random(1, 40000)\nSELECT n FROM plain WHERE id = :id;\n"


class Bench:
    def __init__(self, options):
        self.options = options
        self.results = ResultsFile(options.json, "rights, purposes and expiry, each against the same without")

    def line(self, title, unit, one, other, goal):
        ratio = one / other
        self.results.add(title, "/s" if unit == "a second" else unit, one, against=other, ratio=ratio, goal=goal)
        print(f"| {title} | {unit} | {one:,.3f} | {other:,.3f} | {ratio:.3f} | {goal} |", flush=True)

    def single(self, title, unit, value, goal):
        self.results.add(title, "/s" if unit == "a second" else unit, value, goal=goal)
        print(f"| {title} | {unit} | {value:,.3f} | | | {goal} |", flush=True)

    def in_turn(self, one, other, best=min):
        taken = ([], [])
        for turn in range(self.options.rounds):
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                taken[which].append((one, other)[which]())
        return best(taken[0]), best(taken[1])

    def ratio_of_rates(self, title, goal, one, other):
        """Rates of two ways, each with the server's processor time of a statement: of the rounds the best of each."""
        rounds = self.in_turn(one, other, list)
        rates, costs = ([max(rate for rate, _ in turn) for turn in rounds], [min(cost for _, cost in turn) for turn in rounds])
        self.line(title, "a second", *rates, goal)
        self.line(f"{title}: processor time", "µs", *costs, "")

    def pgbench(self, server, user, script, clients=1):
        """Statements a second."""
        return self.rate_and_cost(server, user, script, clients)[0]

    def rate_and_cost(self, server, user, script, clients=1):
        """Statements a second, and the server's microseconds of processor time of each."""
        worked = processor_seconds(server)
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
            file.write(script)
            file.flush()
            done = subprocess.run([postgres_program("pgbench"), "-h", "127.0.0.1", "-p", str(server.port), "-U", user, "-M", "prepared", "-n",
                                   "-c", str(clients), "-j", "1", "-T", str(self.options.seconds), "-f", file.name, "postgres"],
                                  capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        made = int(re.search(r"actually processed: (\d+)", done.stdout)[1])
        return float(re.search(r"tps = ([\d.]+)", done.stdout)[1]), 1e6 * (processor_seconds(server) - worked) / made

    def rights(self, server):
        """A role with a grant against a role of which nothing is asked: the first one. Milliseconds, as pgbench's rates."""
        for clients in (1, 8):
            self.ratio_of_rates(f"point SELECT by a role with a grant, {clients} conn., against a controller's", ">= 0.97",
                                lambda: self.rate_and_cost(server, "granted", POINT, clients), lambda: self.rate_and_cost(server, "controller", POINT, clients))

    def purposes(self, server):
        """A processor for its purpose, against a role with the same grant; a table whose rows expire, against one with the same columns."""
        point = "\\set id random(1, 40000)\nSELECT n FROM {} WHERE id = :id;\n"
        for clients in (1, 8):
            for what, table, user in (("for a purpose", "used", "agency"), ("where rows expire", "ending", "granted")):
                self.ratio_of_rates(f"point SELECT {what}, {clients} conn., against one without", ">= 0.91",
                                    lambda: self.rate_and_cost(server, user, point.format(table), clients),
                                    lambda: self.rate_and_cost(server, "granted", point.format("listed"), clients))
        # By a view of the table, as it stands, and by a query of the same text, which is no view's.
        self.groups(server, "SELECT * FROM kept_{}")
        self.groups(server, "SELECT kind, count(*), sum(n) FROM {} GROUP BY kind")

    def groups(self, server, text):
        for what, table, user in (("for a purpose", "used", "agency"), ("where rows expire", "ending", "granted")):
            for name, sql in ((user, text.format(table)), ("granted", text.format("listed"))):
                with psycopg.connect(f"host=127.0.0.1 port={server.port} user={name} dbname=postgres", autocommit=True) as connection:
                    for _ in range(30):
                        connection.execute(sql).fetchall()
                        time.sleep(0.02)
                    shown = [row[0] for row in connection.execute("EXPLAIN " + sql) if row[0].startswith("Path")]
                    what += ", " + " ".join(shown[0].split()[1:3])
            one, other = self.in_turn(lambda: 1000 / self.pgbench(server, user, text.format(table) + ";\n"),
                                      lambda: 1000 / self.pgbench(server, "granted", text.format("listed") + ";\n"))
            self.line(f"groups {what}, against without", "ms", one, other, "<= 1.3")

    def views(self, server):
        text = "SELECT kind, count(*), sum(n) FROM {} {} GROUP BY kind"
        by_policy, by_hand = text.format("guarded", ""), text.format("plain", "WHERE team = 'team3'")
        with psycopg.connect(f"host=127.0.0.1 port={server.port} user=team3 dbname=postgres", autocommit=True) as connection:
            for sql in (by_policy, by_hand):
                for _ in range(30):
                    connection.execute(sql).fetchall()
                    time.sleep(0.02)
            ways = ["".join(row[0] for row in connection.execute("EXPLAIN " + sql)) for sql in (by_policy, by_hand)]
        shared = ["view" in way.lower() for way in ways]
        one, other = self.in_turn(*(lambda sql=sql: 1000 / self.pgbench(server, "team3", sql + ";\n") for sql in (by_policy, by_hand)))
        self.line(f"a view under team = current_user, against the same by hand (views: {shared})", "ms", one, other, "<= 1.2")

    def own(self, server):
        with psycopg.connect(f"host=127.0.0.1 port={server.port} user=own_login dbname=postgres", autocommit=True) as own, \
                psycopg.connect(f"host=127.0.0.1 port={server.port} user=controller dbname=postgres", autocommit=True) as controller:
            rows = own.execute("SELECT count(*) FROM notes_0").fetchone()[0]
            got = len(controller.execute("GDPR GET users 1").fetchall())

            def median(connection, sql):
                times = []
                until = time.perf_counter() + self.options.seconds
                while time.perf_counter() < until:
                    began = time.perf_counter()
                    connection.execute(sql).fetchall()
                    times.append(time.perf_counter() - began)
                return 1000 * sorted(times)[len(times) // 2]

            one, other = self.in_turn(lambda: median(own, "SELECT * FROM notes_0"), lambda: median(controller, "GDPR GET users 1"))
            self.line(f"a person's SELECT * of {rows} rows, against GET of {got}", "ms", one, other, "<= 1.5")

    def erasure(self, _):
        """Others' statements before and beside a pass of erasure."""
        people = min(100_000, self.options.people)
        with Dogwood() as server:
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                for sql in ("CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT, email TEXT UNIQUE)",
                            "CREATE TABLE notes (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY users(id), body TEXT)", "CREATE INDEX ON notes (body)"):
                    connection.execute(sql)
                for first in range(1, people, 10_000):
                    connection.execute(f"INSERT INTO users SELECT n, 'name ' || n, 'mail' || n FROM generate_series({first}, {first + 9_999}) AS n")
                    connection.execute(f"""INSERT INTO notes SELECT n * 4 + k, n, repeat('word' || n, 20)
                                           FROM generate_series({first}, {first + 9_999}) AS n, generate_series(0, 3) AS k""")
                quiet = self.others(server, people, 10, 1)
                for person in range(1, 400):
                    connection.execute(f"GDPR FORGET users {person}")
                # Ten seconds of erasures are put together; then comes the pass.
                until, beside = time.monotonic() + 90, []
                while time.monotonic() < until and connection.execute("SELECT count(*) FROM dogwood.erasures WHERE pending <> ''").fetchone()[0]:
                    beside.append(self.others(server, people, 5, 1_000_000_000 + len(beside) * 10_000_000))
                if not beside:
                    sys.exit("there was no pass")
                for kind in ("read", "write"):
                    worst = max(latencies[kind] for latencies in beside)
                    self.line(f"p99 of others' {kind}s beside a pass over {people:,} people, against before", "ms", worst, quiet[kind], "<= +20 ms")

    def others(self, server, people, seconds, first):
        times, until = {"read": [], "write": []}, time.monotonic() + seconds

        def work(number):
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                made = 2_000_000 + first * 4 % 1_000_000_000 + number * 1_000_000
                while time.monotonic() < until:
                    person = 1000 + (made * 7919) % (people - 1000)
                    made += 1
                    for kind, sql, values in (("read", "SELECT name FROM users WHERE id = %s", (person,)),
                                              ("write", "INSERT INTO notes VALUES (%s, %s, 'new') ON CONFLICT DO NOTHING", (made, person))):
                        began = time.perf_counter()
                        connection.execute(sql, values)
                        times[kind].append(time.perf_counter() - began)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        return {kind: 1000 * sorted(all_of)[int(len(all_of) * 0.99)] for kind, all_of in times.items()}

    def many(self, _):
        """A folder of many people: opened, and its keys rotated."""
        server = Server()
        try:
            server.start()
            with server.connect() as connection:
                connection.execute("CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT)")
                for first in range(0, self.options.people, 10_000):
                    connection.execute(f"INSERT INTO users SELECT n, 'name ' || n FROM generate_series({first}, {first + 9_999}) AS n")
            server.stop(120)
            opened = min(self.opened(server) for _ in range(self.options.rounds))
            self.single(f"opening a folder of {self.options.people:,} people", "s", opened, "< 2")
            server.start()
            with server.connect() as connection:
                taken, worked = [], []
                for _ in range(self.options.rounds):
                    began, before = time.perf_counter(), processor_seconds(server)
                    keys = connection.execute("SELECT rotate_keys()").fetchone()[0]
                    taken.append(time.perf_counter() - began)
                    worked.append(processor_seconds(server) - before)
            self.single(f"rotation of {keys:,} keys", "s", min(taken), "<= 2")
            self.single(f"rotation of {keys:,} keys: processor time, on all processors together", "s", min(worked), "")
        finally:
            server.remove()

    def opened(self, server):
        took = server.start()
        server.stop(120)
        return took

    def handshakes(self, _):
        server = Server()
        try:
            server.start(insecure=False)
            with Pool(2) as pool:
                best = 0
                for _ in range(self.options.rounds):
                    began = time.perf_counter()
                    made = sum(pool.map(shake, [(server.port, self.options.seconds)] * 2))
                    best = max(best, made / (time.perf_counter() - began))
            self.single("TLS handshakes, clients on the same two cores", "a second", best, ">= 500")
        finally:
            server.remove()


def processor_seconds(server):
    """What the server's process has worked so far."""
    numbers = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(numbers[11]) + int(numbers[12])) / TICKS


def shake(told):
    """Handshakes, one after another; how many."""
    port, seconds = told
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    made, until = 0, time.monotonic() + seconds
    while time.monotonic() < until:
        with socket.create_connection(("127.0.0.1", port)) as one:
            # As libpq does: else the client's own Nagle is measured.
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            one.sendall(SSL_REQUEST)
            if one.recv(1) != b"S":
                raise ConnectionError("no TLS")
            with context.wrap_socket(one):
                made += 1
    return made


CASES = ("rights", "purposes", "views", "own", "erasure", "many", "handshakes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    bench = Bench(options)
    wanted = [case for case in CASES if not options.only or case in options.only.split(",")]
    print("| what is measured | | measured | against | ratio | goal |\n|---|---|---:|---:|---:|---|")
    with Dogwood() as server:
        if {"rights", "purposes", "views", "own"} & set(wanted):
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                for sql in SCHEMA:
                    connection.execute(sql)
        for case in wanted:
            getattr(bench, case)(server)
    bench.results.write()


if __name__ == "__main__":
    main()
