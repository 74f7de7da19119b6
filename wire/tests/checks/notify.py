#!/usr/bin/env python3
"""LISTEN, NOTIFY, UNLISTEN: what is told, when, in which order, and to whom.

Where PostgreSQL 15 is installed, the same statements are asked there: answers and notifications must be alike. A listener that does not
read costs the others nothing, and is cut in the end.
"""
import asyncio
import os
import socket
import threading
import time

import psycopg

from harness import Check, rows, run_check, state_of
from harness.compared import left_out, postgres_if_there

LONG = "x" * 7_999
# Two sessions in turn: (which, statement). After each, what either was told is looked at.
SCRIPTS = {
    "itself and others": [
        (0, "LISTEN a"), (1, "LISTEN a"), (0, "NOTIFY a"), (1, "NOTIFY a, 'said'"), (0, "SELECT pg_notify('a', 'by function')"),
        (0, "NOTIFY b"), (0, "UNLISTEN a"), (1, "NOTIFY a"), (0, "SELECT pg_listening_channels()"), (1, "SELECT pg_listening_channels()"),
    ],
    "a transaction": [
        (0, "LISTEN a"), (1, "BEGIN"), (1, "NOTIFY a, '1'"), (1, "NOTIFY a, '2'"), (1, "NOTIFY a, '1'"), (1, "SELECT pg_notify('a', '2')"),
        (1, "NOTIFY other, '1'"), (1, "NOTIFY a"), (1, "COMMIT"), (1, "BEGIN"), (1, "NOTIFY a, 'lost'"), (1, "ROLLBACK"),
        (1, "BEGIN"), (1, "NOTIFY a, 'lost'"), (1, "SELECT 1 / 0"), (1, "COMMIT"), (0, "BEGIN"), (1, "NOTIFY a, 'later'"), (0, "SELECT 1"),
        (0, "COMMIT"), (0, "BEGIN"), (1, "NOTIFY a, 'later too'"), (0, "SELECT 1 / 0"), (0, "ROLLBACK"),
    ],
    "savepoints": [
        (0, "LISTEN a"), (1, "BEGIN"), (1, "NOTIFY a, '1'"), (1, "SAVEPOINT s"), (1, "NOTIFY a, '2'"), (1, "NOTIFY a, '1'"), (1, "ROLLBACK TO s"),
        (1, "NOTIFY a, '3'"), (1, "SAVEPOINT t"), (1, "NOTIFY a, '2'"), (1, "RELEASE t"), (1, "NOTIFY a, '2'"), (1, "COMMIT"),
        (1, "BEGIN"), (1, "SAVEPOINT s"), (1, "LISTEN b"), (1, "ROLLBACK TO s"), (1, "LISTEN c"), (1, "COMMIT"),
        (1, "SELECT * FROM pg_listening_channels()"), (0, "NOTIFY b"), (0, "NOTIFY c"),
    ],
    "listening is transactional": [
        (0, "BEGIN"), (0, "LISTEN a"), (0, "SELECT pg_listening_channels()"), (1, "NOTIFY a, 'early'"), (0, "NOTIFY a, 'own'"), (0, "COMMIT"),
        (0, "SELECT pg_listening_channels()"), (0, "BEGIN"), (0, "LISTEN b"), (0, "UNLISTEN a"), (0, "ROLLBACK"), (1, "NOTIFY b"), (1, "NOTIFY a"),
        (0, "BEGIN"), (0, "UNLISTEN *"), (1, "NOTIFY a, 'at the end not listened to'"), (0, "COMMIT"), (1, "NOTIFY a"),
        (0, "BEGIN"), (0, "UNLISTEN a"), (0, "LISTEN a"), (0, "COMMIT"), (1, "NOTIFY a, 'again'"),
        (0, "LISTEN a; SELECT 1 / 0"), (0, "LISTEN z; LISTEN y; LISTEN z"), (0, "SELECT pg_listening_channels()"), (0, "DISCARD ALL"),
        (0, "SELECT pg_listening_channels()"), (1, "NOTIFY a"), (1, "NOTIFY z"),
    ],
    "names and payloads": [
        (0, 'LISTEN "Quoted"'), (0, "LISTEN Unquoted"), (1, "NOTIFY Quoted"), (1, 'NOTIFY "Quoted", \'é\''), (1, "NOTIFY unquoted, ''"),
        (1, "SELECT pg_notify('Unquoted', 'x')"), (1, f"SELECT pg_notify('unquoted', '{LONG}')"), (1, f"SELECT pg_notify('unquoted', '{LONG}x')"),
        (1, f"NOTIFY unquoted, '{LONG}'"), (1, f"NOTIFY unquoted, '{LONG}x'"), (1, "SELECT pg_notify('', 'x')"), (1, "SELECT pg_notify(NULL, 'x')"),
        (1, "SELECT pg_notify('unquoted', NULL)"), (1, f"SELECT pg_notify('{'c' * 63}', 'x')"), (1, f"SELECT pg_notify('{'c' * 64}', 'x')"),
        (0, f"LISTEN {'c' * 70}"), (1, f"NOTIFY {'c' * 70}"), (0, "SELECT pg_listening_channels()"), (1, "NOTIFY unquoted, 1"), (1, "LISTEN"),
        (1, "NOTIFY a,"), (1, "UNLISTEN"), (0, "SELECT pg_notify('unquoted', g::text) FROM generate_series(1, 5) g"), (0, "UNLISTEN unquoted"),
        (0, "SELECT pg_notification_queue_usage() BETWEEN 0 AND 1"),
    ],
    "with rows": [
        (0, "LISTEN a"), (1, "CREATE TABLE n (id int PRIMARY KEY)"), (1, "BEGIN"), (1, "INSERT INTO n VALUES (1)"), (1, "SELECT pg_notify('a', id::text) FROM n"),
        (1, "COMMIT"), (1, "WITH w AS (SELECT pg_notify('a', 'cte')) SELECT count(*) FROM w"), (1, "INSERT INTO n SELECT 2 RETURNING pg_notify('a', 'new')"),
        (1, "INSERT INTO n SELECT 2 RETURNING pg_notify('a', 'never')"), (1, "BEGIN READ ONLY"), (1, "NOTIFY a, 'read only'"), (1, "COMMIT"),
        (1, "BEGIN"), (1, "NOTIFY a, 'deferred'"), (1, "SAVEPOINT s"), (1, "INSERT INTO n VALUES (1)"), (1, "ROLLBACK TO s"), (1, "COMMIT"), (1, "DROP TABLE n"),
    ],
}


def told(connection):
    """What a connection was told that has come by now."""
    pgconn = connection.pgconn
    pgconn.consume_input()
    notifies = []
    while (notify := pgconn.notifies()) is not None:
        notifies.append((notify.relname.decode(), notify.extra.decode(), notify.be_pid))
    return notifies


def answer(connection, statement):
    result = connection.pgconn.exec_(statement.encode())
    state = result.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
    if state:
        return (state.decode(), result.error_field(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY).decode())
    return ((result.command_status or b"").decode(), [result.get_value(row, 0) for row in range(result.ntuples)])


class Notify(Check):
    def run(self):
        with postgres_if_there() as postgres:
            if postgres is None:
                left_out("the same statements to both")
            else:
                for name, script in SCRIPTS.items():
                    self.tally.case(self.compared, name, script, postgres.dsn)
        for case in (self.at_once, self.order, self.async_notifies, self.many, self.unread, self.too_many, self.encrypted_or_not,
                     self.between, self.nothing_stays):
            self.tally.case(case)
        self.tally.equal(self.unexpected, {}, "nothing unexpected in threads")

    def compared(self, name, script, dsn):
        def run(connect):
            pair, said = [connect(), connect()], []
            pids = {connection.info.backend_pid: which for which, connection in enumerate(pair)}
            for which, statement in script:
                said.append((which, statement[:60], answer(pair[which], statement)))
                # What was sent before an answer that came later has arrived.
                time.sleep(0.02)
                for reader, connection in enumerate(pair):
                    said += [(reader, "is told", channel, payload, pids[pid]) for channel, payload, pid in told(connection)]
            for connection in pair:
                connection.close()
            return said
        ours, theirs = run(self.server.connect), run(lambda: psycopg.connect(dsn, autocommit=True))
        for step, (our, their) in enumerate(zip(ours, theirs)):
            self.tally.equal(our, their, f"{name}, {step}")
        self.tally.equal(len(ours), len(theirs), f"{name}: as much is told")

    def wait_for(self, connection, count, seconds=20):
        """So many notifications."""
        notifies, end = [], time.monotonic() + seconds
        while len(notifies) < count and time.monotonic() < end:
            notifies += [(notify.channel, notify.payload) for notify in connection.notifies(timeout=0.2, stop_after=count - len(notifies))]
        return notifies

    def at_once(self):
        """An idle listener is told at once, however long it has been idle, and still answers."""
        with self.server.connect() as listener, self.server.connect() as sender:
            listener.execute("LISTEN a")
            for idle in (0, 0.0005, 0.002, 0.1, 0.5):
                time.sleep(idle)
                sender.execute("NOTIFY a, 'now'")
                self.tally.equal(self.wait_for(listener, 1), [("a", "now")], f"after {idle} s")
                self.tally.equal(rows(listener, "SELECT 1"), [(1,)], "it goes on")

    def order(self):
        """Many senders: each transaction's together, in the order of commits, the same for everyone."""
        listeners, senders, each = [self.server.connect() for _ in range(3)], 6, 40
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE log (n BIGINT GENERATED ALWAYS AS IDENTITY, sender INT, turn INT)")
        for listener in listeners:
            listener.execute("LISTEN a")

        def send(number):
            try:
                with self.server.connect() as connection:
                    for turn in range(each):
                        connection.execute("BEGIN")
                        if turn % 2:
                            connection.execute("INSERT INTO log (sender, turn) VALUES (%s, %s)", (number, turn))
                        connection.execute("SELECT pg_notify('a', %s)", (f"{number} {turn} first",))
                        connection.execute("SELECT pg_notify('a', %s)", (f"{number} {turn} second",))
                        connection.execute("COMMIT")
            except Exception as error:
                self.unexpected.setdefault("send", repr(error))

        threads = [threading.Thread(target=send, args=(number,), daemon=True) for number in range(senders)]
        for thread in threads:
            thread.start()
        heard = [self.wait_for(listener, senders * each * 2) for listener in listeners]
        for thread in threads:
            thread.join(30)
        self.tally.that(heard[0] == heard[1] == heard[2], "everyone hears the same")
        said = [payload.split() for _, payload in heard[0]]
        self.tally.equal(len(said), senders * each * 2, "all of it")
        pairs = list(zip(said[::2], said[1::2]))
        self.tally.that(all(one[:2] == two[:2] and one[2] == "first" for one, two in pairs), "a transaction's stand together")
        for number in range(senders):
            turns = [int(one[1]) for one, _ in pairs if one[0] == str(number)]
            self.tally.equal(turns, list(range(each)), "a sender's in its order")
        for listener in listeners:
            listener.close()

    def async_notifies(self):
        """psycopg's asyncio: a listener as applications write it."""
        async def listen():
            options = dict(host="127.0.0.1", port=self.server.port, user="controller", password=self.server.password(), dbname="dogwood",
                           sslmode="disable", autocommit=True)
            listener, sender = await psycopg.AsyncConnection.connect(**options), await psycopg.AsyncConnection.connect(**options)
            await listener.execute("LISTEN jobs")
            got = []

            async def hear():
                async for notify in listener.notifies(timeout=20, stop_after=10):
                    got.append((notify.channel, notify.payload, notify.pid == sender.info.backend_pid))
            hearing = asyncio.create_task(hear())
            for number in range(10):
                await sender.execute("SELECT pg_notify('jobs', %s)", (str(number),))
            await hearing
            await listener.close()
            await sender.close()
            return got
        self.tally.equal(asyncio.run(listen()), [("jobs", str(number), True) for number in range(10)], "asyncio")

    def many(self):
        """Five hundred who listen, parked: all are told, and what is told to one channel only goes to who listens to it."""
        listeners = [self.server.connect() for _ in range(500)]
        for number, listener in enumerate(listeners):
            listener.execute(f"LISTEN everyone; LISTEN only{number}")
        time.sleep(0.1)
        with self.server.connect() as sender:
            sender.execute("NOTIFY everyone, 'all'")
            sender.execute("NOTIFY only7, 'seven'")
        heard = [self.wait_for(listener, 2 if number == 7 else 1) for number, listener in enumerate(listeners)]
        expected = [[("everyone", "all")] + ([("only7", "seven")] if number == 7 else []) for number in range(len(listeners))]
        self.tally.equal(heard, expected, "who is told what")
        for listener in listeners:
            listener.close()

    def unread(self):
        """A listener that reads nothing: the sender goes on, others hear all, and it is cut at last."""
        deaf = self.server.connect()
        os.set_blocking(deaf.fileno(), False)
        socket.socket(fileno=os.dup(deaf.fileno())).setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.execute("LISTEN a")
        with self.server.connect() as sender, self.server.connect() as hears:
            hears.execute("LISTEN last")
            usage, sent, closed = 0.0, 0, False
            for batch in range(40):
                sender.execute("SELECT pg_notify('a', %s || g || repeat('x', 7900)) FROM generate_series(1, 500) g", (f"{batch} ",))
                sent += 500
                usage = max(usage, rows(sender, "SELECT pg_notification_queue_usage()")[0][0])
                gone = rows(sender, "SELECT count(*) FROM pg_stat_activity WHERE pid = %s" % deaf.info.backend_pid)
                if gone == [(0,)]:
                    closed = True
                    break
            self.tally.that(usage > 0.3, f"it waits: {usage}")
            self.tally.that(closed, f"it is cut after {sent}")
            self.tally.equal(rows(sender, "SELECT pg_notification_queue_usage()"), [(0.0,)], "nothing waits any more")
            sender.execute("NOTIFY last, 'heard'")
            self.tally.equal(self.wait_for(hears, 1), [("last", "heard")], "others hear")
        self.tally.that(state_of(deaf.execute, "SELECT 1") != "", "it is closed")

    def too_many(self):
        """What one transaction may say is bounded."""
        with self.server.connect() as one, self.server.connect() as two:
            two.execute("LISTEN a")
            self.tally.equal(state_of(one.execute, "SELECT pg_notify('a', g || repeat('x', 7900)) FROM generate_series(1, 10000) g"), "54000", "too many")
            one.execute("NOTIFY a, 'after'")
            self.tally.equal(self.wait_for(two, 1), [("a", "after")], "nothing of it is said")

    def encrypted_or_not(self):
        """Extended protocol, pipelines: told at Sync."""
        with self.server.connect() as one, self.server.connect() as two:
            one.execute("LISTEN a", prepare=True)
            with two.pipeline():
                two.execute("SELECT pg_notify('a', %s)", ("in a pipeline",))
                two.execute("SELECT 1")
            self.tally.equal(self.wait_for(one, 1), [("a", "in a pipeline")], "a pipeline")

    def between(self):
        """A listener that works: told between its statements, never within a transaction."""
        with self.server.connect() as one, self.server.connect() as two:
            one.execute("LISTEN a")
            one.execute("BEGIN")
            two.execute("NOTIFY a, '1'")
            time.sleep(0.05)
            one.execute("SELECT 1")
            self.tally.equal(told(one), [], "not within")
            one.execute("COMMIT")
            self.tally.equal([notify[:2] for notify in told(one)] or self.wait_for(one, 1), [("a", "1")], "with the commit")
            stop = threading.Event()

            def send():
                with self.server.connect() as sender:
                    number = 0
                    while not stop.is_set():
                        sender.execute("SELECT pg_notify('a', %s)", (str(number),))
                        number += 1
            thread = threading.Thread(target=send, daemon=True)
            thread.start()
            heard = []
            one.add_notify_handler(lambda notify: heard.append(int(notify.payload)))
            for _ in range(300):
                self.tally.equal(rows(one, "SELECT 1"), [(1,)], "it answers")
            stop.set()
            thread.join(10)
            one.execute("SELECT 1")
            time.sleep(0.05)
            one.execute("SELECT 1")
            self.tally.equal(heard, list(range(len(heard))), "in order, none twice, none missing")
            self.tally.that(len(heard) > 0, "something was heard")

    def nothing_stays(self):
        """No payload on disk, none in the log."""
        canary = "canary-of-a-payload-0451"
        with self.server.connect() as one, self.server.connect() as two:
            one.execute("LISTEN a")
            two.execute("SET log_min_duration_statement = 0")
            two.execute("CREATE TABLE beside (id INT PRIMARY KEY)")
            two.execute("BEGIN")
            two.execute("INSERT INTO beside VALUES (1)")
            two.execute(f"NOTIFY a, '{canary}'")
            two.execute(f"SELECT pg_notify('a', '{canary} again')")
            two.execute("COMMIT")
            self.tally.equal(len(self.wait_for(one, 2)), 2, "told")
            one.execute("CHECKPOINT")
        self.tally.equal(self.server.files_with(canary), [], "no file has it")
        self.tally.that(canary not in self.server.said(), "nor the log")


if __name__ == "__main__":
    run_check(Notify())
