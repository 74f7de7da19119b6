"""A hundred thousand subscriptions of one server: how long a change is on its way to the one that it concerns.

    subscribers.py [--connections N] [--cursors N] [--changes N] [--json FILE]

Each connection declares so many cursors, each over the rows of a key of its own. So a process whose descriptors are few has as many
subscriptions as one wants. Steps of tenfold; at each, changes of single rows are timed from where the UPDATE is sent to where a FETCH
of that cursor, which waits, has both rows. All the other connections are silent meanwhile.
"""
import argparse
import random
import resource
import socket
import statistics
import struct
import sys
import time
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).parent / "tests/checks"))
from harness.compared import Dogwood  # noqa: E402
from results_file import ResultsFile  # noqa: E402

# Connections of one address: each has a port of its own there.
OF_ONE_ADDRESS = 20_000
OTHERS = 50


class Subscriber:
    """PostgreSQL's protocol by hand: of psycopg's connections ten thousand would not fit."""

    def __init__(self, port, number, keys):
        self.socket = socket.socket()
        self.socket.bind((f"127.0.0.{2 + number // OF_ONE_ADDRESS}", 0))
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        startup = struct.pack("!I", 196_608) + b"user\0controller\0database\0dogwood\0\0"
        self.socket.sendall(struct.pack("!I", len(startup) + 4) + startup)
        self.answer()
        declared = (f"DECLARE c{key} CURSOR FOR SUBSCRIBE (SELECT id, body, headline FROM posts_shown WHERE id = {key})" for key in keys)
        self.ask("SET idle_in_transaction_session_timeout = 0; BEGIN;" + ";".join(declared))
        self.answer()
        for key in keys:
            # The row as it is, and the mark behind it.
            self.ask(f"FETCH 2 c{key} WITH (timeout = '60s')")
            self.answer()

    def ask(self, sql):
        body = sql.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!I", len(body) + 4) + body)

    def answer(self):
        """The rows up to ReadyForQuery."""
        got, rows = b"", []
        while True:
            while len(got) >= 5 and len(got) > (length := struct.unpack("!I", got[1:5])[0]):
                kind, body, got = got[:1], got[5:length + 1], got[length + 1:]
                if kind == b"E":
                    sys.exit(f"the server refused: {body}")
                if kind == b"D":
                    rows.append(body)
                if kind == b"Z":
                    return rows
            part = self.socket.recv(1 << 16)
            if not part:
                sys.exit("the server has closed a subscription")
            got += part


def fill(connection, keys):
    for sql in ("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT NOT NULL)",
                "CREATE TABLE channels (id INT PRIMARY KEY, headline TEXT NOT NULL)",
                """CREATE TABLE posts (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY people(id),
                                       channel INT NOT NULL REFERENCES ONLY channels(id), body TEXT NOT NULL)""",
                "INSERT INTO channels VALUES (1, 'news')",
                f"INSERT INTO people SELECT n, 'name' || n FROM generate_series(0, {keys - 1}) AS n",
                f"INSERT INTO posts SELECT n, n, 1, 'as it was' FROM generate_series(0, {keys - 1}) AS n",
                """CREATE MATERIALIZED VIEW posts_shown AS
                       SELECT p.id, p.body, c.headline FROM posts p JOIN channels c ON c.id = p.channel""",
                "CREATE INDEX ON posts_shown (id)"):
        connection.execute(sql)


def timed(connection, subscribers, cursors, changes, dice):
    """Microseconds from the UPDATE to its change at the client, and to its acknowledgement."""
    arrived, acknowledged = [], []
    for change in range(changes):
        key = dice.randrange(len(subscribers) * cursors)
        subscriber, body = subscribers[key // cursors], f"changed {change}"
        subscriber.ask(f"FETCH 2 c{key} WITH (timeout = '60s')")
        # By now it waits.
        time.sleep(0.002)
        began = time.perf_counter()
        connection.execute("UPDATE posts SET body = %s WHERE id = %s", (body, key), prepare=True)
        acknowledged.append(1e6 * (time.perf_counter() - began))
        rows = subscriber.answer()
        arrived.append(1e6 * (time.perf_counter() - began))
        if len(rows) != 2 or not any(body.encode() in row for row in rows):
            sys.exit(f"the subscription of key {key} got {rows}")
    return arrived, acknowledged


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--cursors", type=int, default=10)
    parser.add_argument("--changes", type=int, default=300)
    parser.add_argument("--json")
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    connections = min(options.connections, most - 1_000)
    results = ResultsFile(options.json, f"{options.cursors} cursors a connection")
    dice, subscribers = random.Random(20261129), []
    resident = lambda: next(int(line.split()[1]) for line in open(f"/proc/{server.process.pid}/status") if line.startswith("VmRSS")) / 1e3
    print("| subscriptions | opened, ms each | kB each | UPDATE to its change: p50, p95 µs | to its acknowledgement: p50, p95 µs |\n|---|---|---|---|---|")
    with Dogwood("--connections", str(connections + OTHERS)) as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("SET statement_timeout = 0")
        fill(connection, connections * options.cursors)
        step = max(1, 1_000 // options.cursors)
        while len(subscribers) < connections:
            wanted = min(connections, step)
            began, before, had = time.perf_counter(), resident(), len(subscribers)
            for number in range(had, wanted):
                keys = range(number * options.cursors, (number + 1) * options.cursors)
                subscribers.append(Subscriber(server.port, number, keys))
            new = (len(subscribers) - had) * options.cursors
            opened, grown = 1e3 * (time.perf_counter() - began) / new, 1e3 * (resident() - before) / new
            time.sleep(1)
            columns = [statistics.quantiles(times, n=20) for times in timed(connection, subscribers, options.cursors, options.changes, dice)]
            (p50, p95), (own, own95) = ((cuts[9], cuts[18]) for cuts in columns)
            count = len(subscribers) * options.cursors
            print(f"| {count:,} | {opened:.2f} | {grown:.1f} | {p50:.0f}, {p95:.0f} | {own:.0f}, {own95:.0f} |", flush=True)
            results.add(f"UPDATE to its change at its subscriber, {count} subscriptions", "µs", p50, p95=p95, acknowledged=own, kilobytes=grown)
            step *= 10
    results.write()


if __name__ == "__main__":
    main()
