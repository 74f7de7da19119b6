"""A server of a check's own, on a free port over a temporary folder. Never ends a process that it did not start."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

import psycopg

BINARY = os.environ.get("DOGWOOD", os.path.expanduser("~/.cache/dogwood/target/release/dogwood"))


class Refused(Exception):
    """The server did not start; the message is what it said."""


class Server:
    """One server over one folder. `start` and `kill` may alternate."""

    def __init__(self, data=None):
        self.root = None if data else tempfile.mkdtemp(prefix="dogwood-check-")
        self.data = data or os.path.join(self.root, "data")
        self.process = None
        self.port = None
        self.errors = self.data + ".stderr"

    def start(self, arguments=(), timeout=60, before=None, insecure=True):
        """Starts and returns the seconds until it listened; raises Refused with what it said if it stops instead."""
        # What it logs of an ordinary life is only for who asks: clients that are slow, or ask for too much, are the checks' own.
        quiet = [] if any(word.startswith("--log") for word in arguments) else ["--log-level", "warning,connections=error,subscriptions=error,statements=error,views=error,expiry=error"]
        open_door = ["--insecure"] if insecure else []
        began = time.monotonic()
        with open(self.errors, "ab") as errors:
            mark = errors.tell()
            self.process = subprocess.Popen(
                [BINARY, "serve", "--data", self.data, "--listen", "127.0.0.1:0", *open_door, *quiet, *arguments],
                stdout=subprocess.PIPE, stderr=errors, preexec_fn=before)
        os.set_blocking(self.process.stdout.fileno(), False)
        said = b""
        while time.monotonic() - began < timeout:
            said += self.process.stdout.read() or b""
            if b"listening on" in said and said.endswith(b"\n"):
                self.port = int(said.split(b"listening on", 1)[1].split()[0].rsplit(b":", 1)[1])
                return time.monotonic() - began
            if self.process.poll() is not None:
                raise Refused(self.said(mark))
            time.sleep(0.002)
        self.kill()
        raise Refused("did not listen in time: " + self.said(mark))

    def said(self, mark=0):
        """What it wrote to its standard error."""
        with open(self.errors, "rb") as errors:
            errors.seek(mark)
            return errors.read().decode(errors="replace")

    def password(self):
        try:
            with open(os.path.join(self.data, "controller.secret")) as file:
                return file.read().strip()
        except OSError:
            return "none"

    def connect(self, **options):
        options.setdefault("autocommit", True)
        options.setdefault("connect_timeout", 20)
        options.setdefault("user", "controller")
        options.setdefault("dbname", "dogwood")
        return psycopg.connect(host="127.0.0.1", port=self.port, password=self.password(),
                               sslmode="disable", **options)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def stop(self, timeout=30):
        """SIGTERM; returns the exit status."""
        if self.process is None:
            return None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        finally:
            self.kill()

    def check(self):
        """`dogwood check`: (exit status, output)."""
        return run("check", "--data", self.data)

    def side_files(self):
        """The names of the files beside the store by which large statements write, sorted."""
        try:
            return sorted(os.listdir(os.path.join(self.data, "ingest")))
        except FileNotFoundError:
            return []

    def side_files_left(self, seconds=10):
        """The same once they have gone, or do not go: they go with the last who reads a statement's rows, which may be a view that nobody
        asks."""
        until = time.monotonic() + seconds
        while self.side_files() and time.monotonic() < until:
            time.sleep(0.05)
        return self.side_files()

    def files_with(self, word):
        """Files below the data folder with this word in clear; some go while they are looked at."""
        found = []
        for folder, _, names in os.walk(self.data):
            for name in names:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        if word.encode() in file.read():
                            found.append(name)
                except FileNotFoundError:
                    pass
        return found

    def remove(self):
        self.kill()
        if self.root:
            shutil.rmtree(self.root, ignore_errors=True)


def run(*arguments, timeout=120):
    """Runs the program: (exit status, output)."""
    done = subprocess.run([BINARY, *arguments], capture_output=True, timeout=timeout)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")
