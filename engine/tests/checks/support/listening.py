"""Somebody who listens to a subscription until it ends, on a thread of their own."""
import threading
import time

import psycopg


class Listener:
    def __init__(self, connection, query):
        self.connection, self.query = connection, query
        # What was told, line by line, and with which SQLSTATE it ended.
        self.told, self.ended = [], []
        self.thread = threading.Thread(target=self._listen)
        self.thread.start()

    def _listen(self):
        try:
            with self.connection.cursor().copy(f"COPY (SUBSCRIBE ({self.query})) TO STDOUT") as copy:
                for row in copy:
                    self.told.append(bytes(row).decode())
        except psycopg.Error as error:
            self.ended.append(error.sqlstate)

    def has_heard(self, text):
        return any(text in row for row in self.told)

    def hears(self, text, seconds=20):
        """Whether it is told of this before the time is over."""
        end = time.monotonic() + seconds
        while not self.has_heard(text) and time.monotonic() < end:
            time.sleep(0.01)
        return self.has_heard(text)

    def ends(self, seconds=20):
        """With which SQLSTATE it ends; None if it goes on."""
        self.thread.join(seconds)
        return self.ended[0] if self.ended and not self.thread.is_alive() else None
