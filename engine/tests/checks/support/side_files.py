"""Statements that write more rows than memory is to hold: the files beside the store by which they do, and a server killed amid that."""
import threading
import time

import psycopg

from harness import Check, rows


class SideFilesCheck(Check):
    """Tables with an index on `v`, views of them, and kills."""

    def index_agrees(self, connection, table, name):
        """That the index on `v` tells what all rows do. What that is, value by value."""
        by_index = [rows(connection, f"SELECT count(*), sum(id) FROM {table} WHERE v = {v}")[0] for v in range(12)]
        by_scan = [rows(connection, f"SELECT count(*), sum(id) FROM {table} WHERE v + 0 = {v}")[0] for v in range(12)]
        self.tally.equal(by_index, by_scan, f"{name}: the index of {table}")
        return by_scan

    def view_agrees(self, connection, view, query, name):
        """That a view holds what its query gives, computed from all rows."""
        self.tally.equal(sorted(rows(connection, f"SELECT * FROM {view}"), key=str), sorted(rows(connection, query), key=str), f"{name}: the view {view}")

    def no_files(self, name):
        self.tally.equal(self.server.side_files_left(), [], f"{name}: files are left")

    def kill_amid(self, write, is_time, name, seconds=60):
        """Writes on a connection of its own; the server is killed when `is_time` says so of the side files, or that has ended, and started
        again. Whether it was acknowledged."""
        acknowledged = []

        def begin():
            try:
                with self.server.connect() as connection:
                    write(connection)
                acknowledged.append(True)
            except psycopg.Error:
                pass

        thread = threading.Thread(target=begin)
        thread.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until and thread.is_alive() and not is_time(self.server.side_files()):
            pass
        self.server.kill()
        thread.join()
        status, said = self.server.check()
        self.tally.that(status == 0 or "start the server once" in said, f"{name}: dogwood check", said)
        self.server.start()
        return bool(acknowledged)
