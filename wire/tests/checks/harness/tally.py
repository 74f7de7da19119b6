"""A count of what passed and failed, and small helpers for a check's SQL."""
import os
import sys
import threading
import time
import traceback

import psycopg


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
        """Runs one case; an exception is a failure, not the end. CHECKS_VERBOSE=1 tells how long it took."""
        began = time.monotonic()
        try:
            function(*arguments)
        except Exception:
            self.that(False, function.__name__, traceback.format_exc(limit=6))
        if os.environ.get("CHECKS_VERBOSE"):
            print(f"{function.__name__}: {time.monotonic() - began:.1f} s, {self.passed} passed", flush=True)

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


def beside(function, *arguments):
    """Calls it on a thread of its own; gives a function that waits for its SQLSTATE, "stuck" if it goes on."""
    states = []
    thread = threading.Thread(target=lambda: states.append(state_of(function, *arguments)), daemon=True)
    thread.start()

    def outcome(seconds=30):
        thread.join(seconds)
        return states[0] if states else "stuck"
    return outcome


def rows(connection, sql, parameters=None):
    return connection.execute(sql, parameters).fetchall()


def waiting(waits, meanwhile):
    """What one session's call gives that may wait until the other has done something; None if it goes on waiting."""
    result = []

    def call():
        try:
            result.append(waits())
        except psycopg.Error as error:
            result.append(error.sqlstate)

    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.1)
    meanwhile()
    thread.join(20)
    return result[0] if result else None
