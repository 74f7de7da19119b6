"""What the checks share: a server on a free port over a temporary folder, a count of passes and failures, and small SQL helpers.

Never ends a process that it did not start.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

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

    def start(self, arguments=(), timeout=60, before=None):
        """Starts and returns the seconds until it listened; raises Refused with what it said if it stops instead."""
        began = time.monotonic()
        with open(self.errors, "ab") as errors:
            mark = errors.tell()
            self.process = subprocess.Popen(
                [BINARY, "serve", "--data", self.data, "--listen", "127.0.0.1:0", "--insecure", *arguments],
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
        return psycopg.connect(host="127.0.0.1", port=self.port, password=self.password(),
                               dbname="dogwood", sslmode="disable", **options)

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

    def remove(self):
        self.kill()
        if self.root:
            shutil.rmtree(self.root, ignore_errors=True)


def run(*arguments, timeout=120):
    """Runs the program: (exit status, output)."""
    done = subprocess.run([BINARY, *arguments], capture_output=True, timeout=timeout)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


class Tally:
    """Counts; a failure says what was expected and is printed at once."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def that(self, condition, name, detail=""):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {name}: {detail}" if detail != "" else f"FAILED {name}", flush=True)
        return bool(condition)

    def equal(self, found, expected, name):
        return self.that(found == expected, name, f"found {found!r}, expected {expected!r}")

    def clean(self, server, name):
        status, output = server.check()
        return self.that(status == 0, name + ": dogwood check", output[:2000])

    def case(self, function, *arguments):
        """Runs one case; an exception is a failure, not the end."""
        try:
            function(*arguments)
        except Exception:
            self.that(False, function.__name__, traceback.format_exc(limit=6))

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        sys.exit(1 if self.failed else 0)


def state_of(function, *arguments):
    """The SQLSTATE that it raises: "" if none, "lost" if the connection went."""
    try:
        function(*arguments)
        return ""
    except psycopg.Error as error:
        return error.sqlstate or "lost"


def rows(connection, sql, parameters=None):
    return connection.execute(sql, parameters).fetchall()


def start_writers(check, count, write):
    """Threads that call `write` with a connection of its own and a number each; a failure stands in the check's
    `unexpected`."""
    def body(number):
        try:
            with check.server.connect() as connection:
                connection.execute("SET lock_timeout = '10s'")
                write(connection, number)
        except Exception:
            check.unexpected.setdefault("thread", traceback.format_exc(limit=4))

    threads = [threading.Thread(target=body, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    return threads


def run_check(check):
    """All of a check (its `run`, over its `server`, told to its `tally`), then a clean stop. Ends the process."""
    tally, server = check.tally, check.server
    try:
        server.start()
        tally.case(check.run)
        if tally.that(server.alive(), "the server lives", server.said()[-2000:]):
            tally.equal(server.stop(), 0, "SIGTERM at the end")
            tally.clean(server, "at the end")
        tally.equal(server.said()[:2000], "", "the server's log is empty")
    finally:
        server.remove()
    tally.end()
