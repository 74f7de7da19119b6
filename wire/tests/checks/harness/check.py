"""A whole check: what it begins with, its threads, and its run."""
import argparse
import random
import threading
import traceback

from .server import Server
from .tally import Tally


def options(seed, **numbers):
    """What a seeded check is told: `--seed`, and a number for each of these names."""
    parser = argparse.ArgumentParser()
    for name, default in {"seed": seed, **numbers}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


class Check:
    """A check with a server of its own. What it does is its `run`; what its threads did not expect stands in `unexpected`."""

    def __init__(self, options=None):
        self.options = options
        self.dice = random.Random(options.seed if options else None)
        self.tally = Tally()
        self.server = Server()
        self.unexpected = {}

    def set_up(self, statements):
        with self.server.connect() as connection:
            for statement in statements:
                connection.execute(statement)


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
