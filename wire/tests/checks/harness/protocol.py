"""The protocol by hand: messages put together from bytes, and a connection that may send anything."""
import socket
import struct


def message(kind, body=b""):
    return kind + struct.pack("!I", len(body) + 4) + body


def startup(user=b"controller", version=196608, options=b""):
    said = b"options\0" + options + b"\0" if options else b""
    body = struct.pack("!I", version) + b"user\0" + user + b"\0database\0dogwood\0" + said + b"\0"
    return struct.pack("!I", len(body) + 4) + body


class Raw:
    """A connection that may send anything."""

    def __init__(self, server, begin=True):
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        self.held = b""
        if begin:
            self.socket.sendall(startup())
            self.until(b"Z")

    def receive(self):
        """(kind, body) of the next message; None at the end."""
        while len(self.held) < 5 or len(self.held) < 1 + struct.unpack("!I", self.held[1:5])[0]:
            try:
                part = self.socket.recv(65536)
            except OSError:
                part = b""
            if not part:
                return None
            self.held += part
        length = 1 + struct.unpack("!I", self.held[1:5])[0]
        kind, body = self.held[:1], self.held[5:length]
        self.held = self.held[length:]
        return kind, body

    def until(self, kind):
        """All messages up to one of this kind or the end."""
        got = []
        while True:
            one = self.receive()
            if one is None:
                return got
            got.append(one)
            if one[0] == kind:
                return got

    def send(self, *messages):
        self.socket.sendall(b"".join(messages))

    def states(self, *messages):
        """The SQLSTATEs answered until ready or gone."""
        try:
            self.send(*messages)
        except OSError:
            return ["lost"]
        got = self.until(b"Z")
        found = [state(body) for kind, body in got if kind == b"E"]
        return found + ([] if got and got[-1][0] == b"Z" else ["lost"])

    def close(self):
        self.socket.close()


def state(body):
    for field in body.split(b"\0"):
        if field[:1] == b"C":
            return field[1:].decode()
    return "?"


def parse(sql, name=b"", types=()):
    return message(b"P", name + b"\0" + sql + b"\0" + struct.pack("!H", len(types)) + b"".join(struct.pack("!I", t) for t in types))


def bind(values, portal=b"", name=b"", formats=(), results=()):
    body = portal + b"\0" + name + b"\0" + struct.pack("!H", len(formats)) + b"".join(struct.pack("!H", f) for f in formats)
    body += struct.pack("!H", len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!I", len(value)) + value
    return message(b"B", body + struct.pack("!H", len(results)) + b"".join(struct.pack("!H", f) for f in results))


EXECUTE, SYNC = message(b"E", b"\0" + struct.pack("!I", 0)), message(b"S")


def query(sql):
    return message(b"Q", sql + b"\0")
