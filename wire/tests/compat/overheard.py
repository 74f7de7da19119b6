"""Stands between an application and a server, hands on every byte, and writes down each statement that the server refused.

Must never change what is said: only the offer of TLS is declined in the server's name, so that the rest can be read.
"""
import collections
import json
import re
import socket
import struct
import threading

CANCEL, TLS, GSS = 80877102, 80877103, 80877104
# Which messages of the client's one of the server's answers (the protocol's one-letter names).
ANSWERS = {b"1": b"P", b"2": b"B", b"3": b"C", b"T": b"D", b"n": b"D", b"C": b"E", b"I": b"E", b"s": b"E"}


class Overheard:
    """A listener on a port of its own: `with Overheard(port, file) as heard: heard.port`."""

    def __init__(self, server_port, file):
        self.server_port, self.file, self.lock = server_port, file, threading.Lock()
        self.statements = 0

    def __enter__(self):
        self.file.write_text("")
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        try:
            first = startup(client)
            server = socket.create_connection(("127.0.0.1", self.server_port))
        except (OSError, EOFError):
            return client.close()
        server.sendall(first)
        talk = Talk(self)
        threading.Thread(target=pump, args=(server, client, talk.answered), daemon=True).start()
        pump(client, server, talk.asked)

    def refused(self, state, message, statement):
        with self.lock, self.file.open("a") as file:
            file.write(json.dumps({"state": state, "message": message, "statement": statement}) + "\n")


class Talk:
    """One connection: what was asked and is not answered yet, in order."""

    def __init__(self, heard):
        self.heard, self.waiting, self.prepared, self.portals = heard, collections.deque(), {}, {}

    def asked(self, kind, body):
        texts = body.split(b"\0")
        if kind == b"P":
            self.prepared[texts[0]] = texts[1]
        elif kind == b"B":
            self.portals[texts[0]] = self.prepared.get(texts[1], b"")
        if kind in (b"Q", b"P"):
            statement = texts[kind == b"P"]
            self.heard.statements += 1
        elif kind in (b"D", b"C"):
            statement = (self.prepared if body[:1] == b"S" else self.portals).get(texts[0][1:], b"")
        else:
            statement = self.portals.get(texts[0], b"")
        if kind in b"QPBDECSF":
            self.waiting.append((kind, statement))

    def answered(self, kind, body):
        if kind == b"Z":
            while self.waiting and self.waiting.popleft()[0] not in (b"S", b"Q", b"F"):
                pass
        elif kind == b"E":
            said = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
            statement = self.waiting[0][1] if self.waiting else b""
            self.heard.refused(said.get(b"C", ""), said.get(b"M", ""), statement.decode(errors="replace"))
        elif self.waiting and ANSWERS.get(kind) == self.waiting[0][0]:
            self.waiting.popleft()


def exactly(stream, size):
    data = b""
    while len(data) < size:
        part = stream.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def startup(client):
    """The client's first packet, after what it asked of encryption."""
    while True:
        head = exactly(client, 4)
        rest = exactly(client, struct.unpack("!i", head)[0] - 4)
        if struct.unpack("!i", rest[:4])[0] not in (TLS, GSS):
            return head + rest
        client.sendall(b"N")


def pump(source, target, tell):
    """Hands on what comes, and tells each whole message; ends both sides with the source."""
    held = b""
    try:
        while data := source.recv(1 << 16):
            held += data
            at = 0
            while len(held) >= at + 5:
                size = struct.unpack_from("!i", held, at + 1)[0] + 1
                if len(held) < at + size:
                    break
                tell(held[at:at + 1], held[at + 5:at + size])
                at += size
            held = held[at:]
            target.sendall(data)
    except OSError:
        pass
    for side in (source, target):
        try:
            side.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def read(file):
    """What was refused, in order: {state, message, statement}."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def shape(one):
    """A refusal without what differs from run to run: values, and numbers in names."""
    return one["state"], re.sub(r"'(?:[^']|'')*'|\d+", "…", one["statement"])


def only_second(first, second):
    """The refusals of the second list whose like is not in the first, each once."""
    known, found = {shape(one) for one in first}, []
    for one in second:
        if shape(one) not in known:
            known.add(shape(one))
            found.append(one)
    return found
