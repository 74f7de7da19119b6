"""A count of what passed and failed, the run of a whole check, and small helpers for its SQL."""
import sys
import threading
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
