#!/usr/bin/env python3
"""Clients that say nothing, say nonsense, flood, or vanish, in every phase of a connection, while a bystander works.

The bystander asks on an open connection and logs in anew all the time: neither may fail, and no single one may take as long as the
server gives to those who do not log in. What the strangers cost is read from the server's resident set, and stays within what the
phase may hold. Encrypted, with passwords. No bound here is one of speed.
"""

import base64
import contextlib
import hashlib
import hmac
import os
import resource
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import shutil
import threading
import time

import psycopg

from harness import BINARY, Tally, state_of

MB = 1 << 20
# What the server gives to those who have not logged in.
DEADLINE = 10
# A login of the bystander's, on a machine that does much else.
LOGIN_MAX = 8
# What a phase may leave behind: caches, threads that were, what the allocator keeps.
SLACK = 250 * MB


class Server:
    """One server with TLS and passwords, in a folder of its own."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="dogwood-strangers-")
        self.data = os.path.join(self.root, "data")
        self.log = os.path.join(self.root, "log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([BINARY, "serve", "--data", self.data, "--listen", "127.0.0.1:0"],
                                            stdout=subprocess.PIPE, stderr=log)
        said = self.process.stdout.readline()
        self.port = int(said.rsplit(b":", 1)[1])
        self.password = open(os.path.join(self.data, "controller.secret")).read().strip()

    def connect(self, **options):
        options = {"password": self.password, "autocommit": True, "connect_timeout": 30, "user": "controller", **options}
        return psycopg.connect(host="127.0.0.1", port=self.port, dbname="dogwood", sslmode="require", **options)

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))

    def said(self):
        return open(self.log, errors="replace").read()

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()
            shutil.rmtree(self.root, ignore_errors=True)


class Bystander:
    """Asks and logs in until it is told to stop; what it saw."""

    def __init__(self, server):
        self.server, self.stopped = server, threading.Event()
        self.answers, self.logins, self.failed = [], [], []
        self.threads = [threading.Thread(target=self.during, args=(work,), daemon=True) for work in (self.ask, self.login)]

    def during(self, work):
        try:
            work()
        except Exception as error:
            self.failed.append(f"{work.__name__}: {error!r}")

    def ask(self):
        with self.server.connect() as connection:
            while not self.stopped.wait(0.02):
                began = time.monotonic()
                connection.execute("SELECT n FROM bystander WHERE id = 1").fetchone()
                self.answers.append(time.monotonic() - began)

    def login(self):
        while not self.stopped.wait(0.05):
            began = time.monotonic()
            self.server.connect().close()
            self.logins.append(time.monotonic() - began)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def enough(self, logins=3):
        """Waits until it has logged in so often since now, or has failed."""
        goal, until = len(self.logins) + logins, time.monotonic() + 60
        while len(self.logins) < goal and not self.failed and time.monotonic() < until:
            time.sleep(0.01)

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join(60)


# The protocol by hand.

def message(kind, body=b""):
    return kind + struct.pack("!I", len(body) + 4) + body


SSL_REQUEST = struct.pack("!II", 8, 80877103)
STARTUP_BODY = struct.pack("!I", 196608) + b"user\0controller\0database\0dogwood\0\0"
STARTUP = struct.pack("!I", len(STARTUP_BODY) + 4) + STARTUP_BODY


def plain(server, *said, source="127.0.0.1"):
    stranger = socket.create_connection(("127.0.0.1", server.port), timeout=30, source_address=(source, 0))
    for part in said:
        with contextlib.suppress(OSError):
            stranger.sendall(part)
    return stranger


def encrypted(server, *said, source="127.0.0.1"):
    stranger = plain(server, SSL_REQUEST, source=source)
    if stranger.recv(1) != b"S":
        raise OSError("no TLS")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    stranger = context.wrap_socket(stranger)
    for part in said:
        # It may be closed before all is said.
        with contextlib.suppress(OSError):
            stranger.sendall(part)
    return stranger


def scram(password, bare, first):
    """The client's last message of SCRAM-SHA-256."""
    told = dict(part.split("=", 1) for part in first.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(told["s"]), int(told["i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    last = f"c=biws,r={told['r']}"
    signature = hmac.digest(hashlib.sha256(key).digest(), f"{bare},{first},{last}".encode(), "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature))).decode()
    return f"{last},p={proof}".encode()


class Client:
    """A logged-in connection that may send anything."""

    def __init__(self, server, receives=None):
        self.begin(server)
        if receives:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        if refused := self.log_in(server.password):
            raise OSError(refused)
        self.until(b"Z")

    def begin(self, server, source="127.0.0.1"):
        self.socket = encrypted(server, STARTUP, source=source)
        self.held = b""

    def log_in(self, password):
        """The SQLSTATE that it is refused with."""
        bare = "n=,r=" + base64.b64encode(os.urandom(18)).decode()
        said = f"n,,{bare}".encode()
        told = self.receive()
        if told[0] == b"R":
            self.send(message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!I", len(said)) + said))
            told = self.receive()
        if told[0] == b"R":
            self.send(message(b"p", scram(password, bare, told[1][4:].decode())))
            told = self.receive()
        return sqlstate(told[1]) if told[0] == b"E" else ""

    def send(self, *parts):
        self.socket.sendall(b"".join(parts))

    def receive(self):
        """(kind, body) of the next message."""
        while len(self.held) < 5 or len(self.held) < 1 + struct.unpack("!I", self.held[1:5])[0]:
            part = self.socket.recv(65536)
            if not part:
                raise OSError("closed")
            self.held += part
        length = 1 + struct.unpack("!I", self.held[1:5])[0]
        kind, body, self.held = self.held[:1], self.held[5:length], self.held[length:]
        return kind, body

    def until(self, kind):
        """The SQLSTATEs of errors on the way to a message of this kind."""
        states = []
        while True:
            found, body = self.receive()
            if found == b"E":
                states.append(sqlstate(body))
            if found == kind:
                return states

    def run(self, sql):
        self.send(query(sql))
        return self.until(b"Z")

    def close(self):
        self.socket.close()


class Guess(Client):
    """One that tries a wrong password from another address."""

    def __init__(self, server):
        self.begin(server, source="127.0.0.2")
        self.refused = self.log_in("a guess")
        self.close()


def sqlstate(error):
    return next(field[1:].decode() for field in error.split(b"\0") if field[:1] == b"C")


def query(sql):
    return message(b"Q", sql.encode() + b"\0")


def parse(name, sql):
    return message(b"P", name.encode() + b"\0" + sql.encode() + b"\0\0\0")


SYNC = message(b"S")


def closed_in_time(strangers, most):
    """Whether the server closes all of them within so many seconds."""
    until = time.monotonic() + most
    for stranger in strangers:
        try:
            while True:
                stranger.settimeout(max(0.01, until - time.monotonic()))
                if not stranger.recv(65536):
                    break
        except TimeoutError:
            return False
        except OSError:
            pass
    return True


class Check:
    def __init__(self):
        self.tally, self.server = Tally(), Server()

    def phase(self, name, strangers, holds=0, logins=3):
        """Runs a phase beside a bystander. `strangers` gives what is closed at its end."""
        before = self.server.memory()
        with Bystander(self.server) as bystander:
            bystander.enough(1)
            held = strangers() or []
            bystander.enough(logins)
            most = self.server.memory()
            for stranger in held:
                with contextlib.suppress(OSError):
                    stranger.close()
            bystander.enough(1)
        self.tally.equal(bystander.failed, [], f"{name}: nobody else fails")
        self.tally.that(len(bystander.logins) >= logins + 2, f"{name}: others log in", len(bystander.logins))
        self.tally.that(max(bystander.logins, default=0) < LOGIN_MAX, f"{name}: a login in time", bystander.logins)
        self.tally.that(max(bystander.answers, default=0) < LOGIN_MAX, f"{name}: an answer in time", max(bystander.answers, default=0))
        self.tally.that(most - before < holds + SLACK, f"{name}: memory", f"{(most - before) // MB} MB more")
        if not self.tally.that(self.server.alive(), f"{name}: the server lives", self.server.said()[-2000:]):
            raise SystemExit(1)

    def run(self):
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE bystander (id int PRIMARY KEY, n int)")
            connection.execute("INSERT INTO bystander VALUES (1, 1), (2, 2)")
            connection.execute("CREATE TABLE taken (id int PRIMARY KEY, filler text)")
        self.before_the_login()
        self.failed_logins()
        self.messages()
        self.transactions()
        self.guesses()

    def before_the_login(self):
        silent = []

        def sockets(count, *said, make=plain):
            silent[:] = [make(self.server, *said) for _ in range(count)]
            return silent

        self.phase("silent sockets", lambda: sockets(1_200), logins=5)
        self.phase("one byte", lambda: sockets(200, b"\0"))
        self.phase("half a startup packet", lambda: sockets(200, STARTUP[:9]))
        self.phase("a startup packet of 10,000 bytes that does not come", lambda: sockets(200, struct.pack("!I", 10_000)))
        self.phase("a TLS handshake that does not come", lambda: sockets(200, SSL_REQUEST))
        self.phase("half a TLS handshake", lambda: sockets(100, SSL_REQUEST, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 100))
        self.phase("nonsense for TLS", lambda: sockets(100, SSL_REQUEST, os.urandom(4_000)))
        self.phase("nonsense", lambda: sockets(100, b"GET / HTTP/1.1\r\n\r\n", os.urandom(2_000)))
        self.phase("nothing for a password", lambda: sockets(60, STARTUP, make=encrypted))
        late = [encrypted(self.server, STARTUP) for _ in range(5)] + [plain(self.server) for _ in range(20)]
        self.tally.that(closed_in_time(late, 3 * DEADLINE), "who sends no password, or nothing at all, is closed")
        long = message(b"p", b"SCRAM-SHA-256\0" + b"x" * 60_000)
        self.phase("a password of 60,000 bytes", lambda: sockets(20, STARTUP, long, make=encrypted))
        self.phase("a password of a gigabyte", lambda: sockets(20, STARTUP, b"p" + struct.pack("!I", 1 << 30) + b"x" * 100_000, make=encrypted))

        def comes_and_goes():
            for _ in range(500):
                plain(self.server).close()
        self.phase("comes and goes", comes_and_goes)

    def failed_logins(self):
        secret = "a secret that was mistyped"
        refused = []

        def wrong():
            began = time.monotonic()
            for _ in range(7):
                refused.append(state_of(lambda: self.server.connect(password=secret)))
            self.tally.that(time.monotonic() - began > 0.3, "each wrong password waits longer", time.monotonic() - began)
            refused.append(state_of(lambda: self.server.connect(user=secret, password=secret)))
        with self.server.connect() as connection:
            wrong()
            self.tally.equal(connection.execute("SELECT 1").fetchone(), (1,), "who is there is not slowed")
        # libpq tells no SQLSTATE of a login that fails.
        self.tally.equal(set(refused), {"lost"}, "wrong passwords are refused")
        with self.server.connect() as connection:
            self.tally.equal(connection.execute("SELECT 1").fetchone(), (1,), "the right password is taken meanwhile")
        said = self.server.said()
        self.tally.that('failed login from 127.0.0.1 as "controller"' in said, "failed logins are logged", said[-500:])
        self.tally.that("as an unknown role" in said and secret not in said, "and no secret is", said[-500:])

    def messages(self):
        """Logged in, and then: parts of messages, floods, and statements that are hoarded."""
        clients = []

        def logged_in(count, *said):
            clients[:] = [Client(self.server) for _ in range(count)]
            for client in clients:
                client.send(*said)
            return clients

        self.phase("half a message", lambda: logged_in(20, b"Q" + struct.pack("!I", 60 * MB) + b"x" * 1_000))
        self.phase("a message of two gigabytes", lambda: logged_in(20, b"Q\x7f\xff\xff\xff" + b"x" * 1_000))
        self.phase("nonsense in messages", lambda: logged_in(20, message(b"B", b"\xff" * 40), b"\x00" * 4_000))

        # Six times 60 MB are more than all that may be arriving.
        def nearly_whole():
            part = b"x" * MB
            held = [Client(self.server) for _ in range(6)]
            for client in held:
                client.send(b"P" + struct.pack("!I", 60 * MB))
                for _ in range(59):
                    client.send(part)
            refused = 0
            for client in held:
                client.send(part[:-4], SYNC)
                refused += "53200" in client.until(b"Z")
            self.tally.that(0 < refused < len(held), "of too many long messages some are refused", refused)
            return held
        self.phase("long messages all at once", nearly_whole, holds=320 * MB)

        def floods():
            held = []
            for _ in range(8):
                client = Client(self.server, receives=4_096)
                client.socket.settimeout(1)
                with contextlib.suppress(OSError):
                    for _ in range(2_000):
                        client.send(SYNC * 100, query("SELECT repeat('x', 100000)") * 2)
                held.append(client)
            return held
        self.phase("questions whose answers nobody reads", floods)

        def hoards():
            client = Client(self.server)
            text = "SELECT '" + "x" * 2_000_000 + "'"
            for number in range(10_001):
                client.send(parse(f"s{number}", f"SELECT {number}"))
            client.send(SYNC)
            self.tally.equal(client.until(b"Z"), [], "ten thousand statements and one are kept")
            states = []
            for number in range(1_000):
                client.send(parse(f"long{number}", text), SYNC)
                states = client.until(b"Z")
                if states:
                    break
            self.tally.equal(states, ["53200"], "statements are hoarded up to a bound")
            self.tally.equal(client.run("DEALLOCATE ALL"), [], "and let go of")
            client.send(parse("again", text), SYNC)
            self.tally.equal(client.until(b"Z"), [], "so that there is room again")
            return [client]
        self.phase("statements that are hoarded", hoards, holds=640 * MB)

    def transactions(self):
        """Vanished inside a transaction: its locks are free again, and nothing of it is seen."""
        def free(name, within=20):
            with self.server.connect() as connection:
                connection.execute(f"SET lock_timeout = '{within}s'")
                self.tally.equal(state_of(connection.execute, "UPDATE bystander SET n = n + 1 WHERE id = 2"), "", f"{name}: the lock is free")
                self.tally.equal(connection.execute("SELECT count(*) FROM taken").fetchone(), (0,), f"{name}: nothing is left")

        def vanishes_after(*said):
            client = Client(self.server)
            client.run("BEGIN")
            client.run("UPDATE bystander SET n = n + 1 WHERE id = 2")
            client.run("INSERT INTO taken VALUES (1, 'x')")
            client.send(*said)
            client.close()

        half_copy = (query("COPY taken FROM STDIN"), message(b"d", b"2\tx\n3\t"))
        for name, said in (
            ("mid-transaction", ()),
            ("mid-message", (b"Q" + struct.pack("!I", 1_000) + b"SELECT",)),
            ("after Parse", (parse("", "SELECT 1"),)),
            ("mid-COPY", half_copy),
            ("mid-statement", (query("SELECT pg_sleep(600)"),)),
            ("mid-result", (query("SELECT repeat('x', 1000) FROM generate_series(1, 10000000)"),)),
        ):
            self.phase(f"vanishes {name}", lambda said=said: vanishes_after(*said), logins=1)
            free(f"vanishes {name}")

        # One that stays and reads nothing is silent in its transaction.
        def reads_nothing():
            client = Client(self.server, receives=4_096)
            client.run("SET idle_in_transaction_session_timeout = '2s'")
            client.run("BEGIN")
            client.run("UPDATE bystander SET n = n + 1 WHERE id = 2")
            client.run("INSERT INTO taken VALUES (1, 'x')")
            client.send(query("SELECT repeat('x', 1000) FROM generate_series(1, 10000000)"))
            free("reads nothing")
            return [client]
        self.phase("reads nothing in a transaction", reads_nothing)

    def guesses(self):
        """Passwords that are guessed from another address: most are not looked at, and who knows the password comes in."""
        states = []

        def guess_all():
            def several(until=time.monotonic() + 5):
                while time.monotonic() < until:
                    states.append(Guess(self.server).refused)
            threads = [threading.Thread(target=several) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
        self.phase("passwords that are guessed from another address", guess_all)
        self.tally.equal(set(states), {"28P01", "53300"}, "guesses are refused")
        self.tally.that(states.count("28P01") < 80, "and most are not looked at", (states.count("28P01"), len(states)))


if __name__ == "__main__":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    check = Check()
    try:
        check.tally.case(check.run)
        check.tally.equal(check.server.stop(), 0, "SIGTERM at the end")
    finally:
        check.server.process.kill()
    check.tally.end()
