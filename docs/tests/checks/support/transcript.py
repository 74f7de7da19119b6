"""Runs what a document shows: SQL through psql, shell lines, Python, each page over a server and a folder of its own."""
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

import harness

MARK = "---- end of the statement ----"
SECONDS_MAX = 30
SERVE = re.compile(r"^dogwood serve --data (\S+)((?: --[-a-z]+(?: [^-&]\S*)?)*)(?: &)?$")
PORT_SHOWN = "127.0.0.1:5432"


class Failure(Exception):
    """A block cannot be run as it stands."""


class Psql:
    """One session of psql, fed through its standard input; what it prints to both of its outputs comes in order."""

    def __init__(self, stage):
        self.process = subprocess.Popen(
            ["stdbuf", "-o0", "psql", "-X", "-q", "-h", "127.0.0.1", "-U", "controller", "postgres"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=stage.environment, cwd=stage.folder)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.said = b""

    def send(self, text):
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()

    def read(self, seconds):
        """Whether anything came within the time."""
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return False
        came = self.process.stdout.read()
        if came == b"":
            raise Failure("psql ended: " + self.said.decode(errors="replace")[-500:])
        self.said += came or b""
        return bool(came)

    def run(self, statement):
        """What psql prints for it."""
        self.send(statement + f"\n\\echo '{MARK}'")
        end, mark = time.monotonic() + SECONDS_MAX, (MARK + "\n").encode()
        while not self.said.endswith(mark):
            if time.monotonic() > end:
                raise Failure(f"no end after {SECONDS_MAX} s; so far: " + self.said.decode(errors="replace")[-500:])
            self.read(1)
        said, self.said = self.said[:-len(mark)], b""
        return said.decode()

    def watched(self, lines_wanted):
        """What came without being asked for: so many lines, or as many as came when it fell silent."""
        end = time.monotonic() + 10
        while time.monotonic() < end and (lines_wanted is None or self.said.count(b"\n") < lines_wanted):
            if not self.read(2) and lines_wanted is None:
                break
        said, self.said = self.said, b""
        return said.decode()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Stage:
    """Where a page is played: a folder, one server over `dogwood-data` in it, and the sessions that the page names."""

    def __init__(self, python):
        self.folder = tempfile.mkdtemp(prefix="dogwood-docs-")
        self.python = python
        self.data = os.path.join(self.folder, "dogwood-data")
        self.sessions = {}
        self.server = None
        self.log = os.path.join(self.folder, "server.log")
        programs = os.path.join(self.folder, ".bin")
        os.mkdir(programs)
        os.symlink(harness.BINARY, os.path.join(programs, "dogwood"))
        self.environment = dict(os.environ, PATH=programs + ":" + os.environ["PATH"], LC_ALL="C.UTF-8", PSQLRC="/dev/null",
                                HOME=self.folder, PGAPPNAME="psql", PGTZ="UTC")
        for name in ("PGPASSWORD", "PGDATABASE", "PGUSER", "PGHOST", "PGPORT", "DOGWOOD_URL"):
            self.environment.pop(name, None)

    def start(self, data="dogwood-data", options=("--insecure",)):
        """Starts the server and returns what it prints when it is ready, as on its usual port."""
        self.stop()
        with open(self.log, "ab") as log:
            self.server = subprocess.Popen([harness.BINARY, "serve", "--data", data, *options, "--listen", "127.0.0.1:0"],
                                           cwd=self.folder, stdout=subprocess.PIPE, stderr=log)
        said, end = b"", time.monotonic() + SECONDS_MAX
        while not (b"listening on" in said and said.endswith(b"\n")):
            if self.server.poll() is not None or time.monotonic() > end:
                said += pathlib.Path(self.log).read_bytes()
                raise Failure("the server did not start: " + said.decode(errors="replace"))
            if select.select([self.server.stdout], [], [], 1)[0]:
                said += os.read(self.server.stdout.fileno(), 65536)
        address = re.search(rb"listening on (\S+?:(\d+))", said)
        self.environment["PGPORT"] = address.group(2).decode()
        secret = pathlib.Path(self.folder, data, "controller.secret")
        if secret.exists():
            self.environment["PGPASSWORD"] = secret.read_text().strip()
        return said.decode().replace(address.group(1).decode(), PORT_SHOWN)

    def stop(self):
        """SIGTERM to the server."""
        for session in self.sessions.values():
            session.close()
        self.sessions = {}
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait(30)
            self.server.stdout.close()
            self.server = None

    def session(self, name):
        if self.server is None:
            self.start()
        if name not in self.sessions:
            self.sessions[name] = Psql(self)
        return self.sessions[name]

    def sql(self, name, statement):
        return self.session(name).run(statement)

    def shell(self, line):
        """What a line of the shell prints."""
        serve = SERVE.match(line)
        if serve:
            return self.start(serve.group(1), serve.group(2).split())
        if line == "kill %1":
            self.stop()
            return ""
        if "psql" in line and self.server is None:
            self.start()
        return self.program(["bash", "-c", line])

    def script(self, source):
        """What a Python script prints."""
        if self.server is None:
            self.start()
        return self.program([self.python, "-c", source])

    def program(self, arguments):
        try:
            done = subprocess.run(arguments, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS_MAX)
        except subprocess.TimeoutExpired as timeout:
            raise Failure(f"no end after {SECONDS_MAX} s") from timeout
        said, port = done.stdout.decode(errors="replace"), self.environment.get("PGPORT")
        return said.replace(f" port {port}", " port 5432") if port else said

    def close(self):
        try:
            self.stop()
        finally:
            if self.server is not None:
                self.server.kill()
                self.server.wait()
            shutil.rmtree(self.folder, ignore_errors=True)


def statements(block):
    """(line, text) of each statement of an `sql` block: it ends with a semicolon, or is a line of psql's own. The data of a
    COPY belongs to it, and so does a function's body."""
    found, begun, data = [], None, False
    for offset, line in enumerate(block.lines, 1):
        if begun is None:
            if not line.strip() or line.strip().startswith("--"):
                continue
            begun = (block.line + offset, [])
        begun[1].append(line)
        code = re.sub(r"--.*$", "", line).rstrip()
        # A body between dollars has semicolons of its own.
        if "\n".join(begun[1]).count("$$") % 2:
            continue
        if data:
            ends = line == "\\."
        else:
            own = re.match(r"^\s*\\", line) or re.search(r"\\(?:gx|gset|watch)\b.*$", code)
            ends = bool(own) or code.endswith(";")
            if ends and re.search(r"\bFROM STDIN\b", "\n".join(begun[1]), re.IGNORECASE):
                data, ends = True, False
        if ends:
            found.append((begun[0], "\n".join(begun[1])))
            begun, data = None, False
    if begun is not None:
        raise Failure("this statement does not end with a semicolon: " + begun[1][0])
    return found
