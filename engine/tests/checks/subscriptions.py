"""Subscriptions: what a subscriber adds up is what was true, at every time; and what ends one.

Subscribers of every form follow views and queries while several connections write and people are forgotten. A model says what
was true after each commit; each subscription must have had just that at each time that it was told of, never half a
transaction, never a time again. Then, one by one: errors, slow and vanished consumers, failing rows, changes of the schema, restarts.

    subscriptions.py [--seed S] [--transactions N]      N transactions for each of four writers (100)
"""
import os
import random
import socket
import threading
import time

import psycopg

from harness import Check, options, rows, run_check, state_of
from support.subscriptions import QUERIES, SCHEMA, Model, Subscriber, Writer, erasure_times, replay, values, waits_for_erasure

def difference(contents, expected):
    """Some rows too many and some missing."""
    extra = [(row, count) for row, count in contents.items() if count != expected.get(row)]
    missing = [(row, count) for row, count in expected.items() if count != contents.get(row)]
    return f"too many or otherwise {extra[:3]}, missing or otherwise {missing[:3]}"


def told_within(changes):
    """Only the changes, without their times."""
    return [(difference, row) for _, difference, row in changes if difference is not None]


class Subscriptions(Check):
    def __init__(self, options):
        super().__init__(options)
        random.seed(options.seed)

    def run(self):
        self.set_up(SCHEMA)
        for case in (self.replayed, self.refused, self.forms, self.enveloped, self.hurried, self.large_commits, self.failing, self.dropped, self.schema_changes,
                     self.truncated, self.resumed, self.slow, self.vanished, self.restarted):
            self.tally.case(case)

    def subscribe(self, query, form="cursor", **options):
        return Subscriber(self.server, query, query, form, **options).begin()

    # What is replayed equals what was true.

    def replayed(self):
        dice, ledger, model = self.dice, {}, Model()
        with self.server.connect() as connection:
            seed = Writer(self.server, f"{self.options.seed} seed", 0, ledger)
            for key in range(1, 41):
                connection.execute("BEGIN")
                connection.execute("INSERT INTO users VALUES (%s, %s, 'Bern')", (key, f"n{key}"))
                connection.execute("INSERT INTO marks VALUES (%s)", (-key,))
                connection.execute("COMMIT")
                ledger[-key] = [("put", "users", (key, f"n{key}", "Bern"))]
            for _ in range(60):
                seed.transaction(connection)
        marks = Subscriber(self.server, "marks", "SELECT id FROM marks", "copy").begin()
        subscribers = []
        for name, query in QUERIES.items():
            # Only a cursor's parameters are sent as such.
            both = "{}" in query or dice.random() < 0.4
            for form in ("copy", "cursor") if both else (dice.choice(["copy", "cursor"]),):
                subscribers.append(Subscriber(self.server, f"{name}, {form}", query, form, snapshot=dice.random() < 0.7,
                                              progress=dice.random() < 0.7, parameters=values(name, dice)))
        early = subscribers[::2]
        for subscriber in early:
            subscriber.begin()
        writers = [Writer(self.server, f"{self.options.seed} {number}", self.options.transactions, ledger) for number in range(4)]
        for writer in writers:
            writer.start()
        # Half of them begin amid the writers.
        for subscriber in subscribers[1::2]:
            subscriber.begin()
        forgotten = []
        with self.server.connect() as connection:
            # On a machine that is busy subscribers may take their time.
            connection.execute("SET dogwood.forget_wait = '60s'")
            tries = 0
            while any(writer.is_alive() for writer in writers) or (len(forgotten) <= 3 and tries < 200):
                tries += 1
                time.sleep(0.1)
                person = dice.randint(1, 40)
                state = state_of(connection.execute, f"GDPR FORGET users {person}")
                self.tally.that(state in ("", "DG003", "40001"), f"GDPR FORGET users {person}", state)
                forgotten += [person] if state == "" else []
            for writer in writers:
                writer.join(120)
                self.tally.equal(writer.unexpected[:3], [], "changes are refused for known reasons")
            seed.transaction(connection)
            seed.transaction(connection)
            last = number = max(ledger)
            self.tally.that(marks.wait_for(lambda told: any(row == (str(number),) for _, _, row in told)), "the last transaction is heard of")
            erased = erasure_times(connection)
            self.tally.equal(len(erased), len(forgotten), "each erasure is in the audit log")
            last = max((when for when, _, row in marks.told if row == (str(number),)), default=0)
        for subscriber in subscribers:
            if subscriber.progress:
                self.tally.that(subscriber.wait_for(lambda told: subscriber.closed() >= last), f"{subscriber.name}: the last time is closed", subscriber.error)
        time.sleep(0.3)
        for subscriber in (marks, *subscribers):
            self.tally.that(subscriber.state is None, f"{subscriber.name}: goes on", subscriber.error)
            subscriber.end()
            self.tally.that(subscriber.state in (None, "57014"), f"{subscriber.name}: ends when it is cancelled", subscriber.error)
        self.tally.that(len(forgotten) > 3, "people are forgotten", forgotten)
        self.compare(marks, dict(zip(erased, forgotten)), subscribers, ledger, model, last)

    def compare(self, marks, gone, subscribers, ledger, model, last):
        """Every subscription against the model, time by time; `gone` says who was forgotten when."""
        committed = {}
        for when, difference, row in marks.told:
            if difference is not None:
                committed.setdefault(when, []).append(int(row[0]))
        first = min(committed)
        self.tally.equal(sorted(number for numbers in committed.values() for number in numbers), sorted(ledger), "every commit is heard of once, and no other")
        filled = {subscriber: subscriber.query.format(*(repr(value) for value in subscriber.parameters)) for subscriber in subscribers}
        truth = {query: [] for query in filled.values()}
        for when in sorted({*committed, *gone}):
            for number in sorted(committed.get(when, ())):
                model.apply(ledger[number])
            if when in gone:
                model.apply([("delete", "users", gone[when])])
            for query, known in truth.items():
                known.append((when, model.rows(query)))
        times = len({*committed, *gone})
        self.tally.that(times > 60 and first > 0, "there are many times", times)
        for subscriber, query in filled.items():
            self.compare_one(subscriber, truth[query], last, set(gone))

    def compare_one(self, subscriber, truth, last, erasures):
        true_at = lambda time: next((found for when, found in reversed(truth) if when <= time), {})  # noqa: E731
        begun = next((when for when, change, _ in subscriber.told if change is None), 0)
        try:
            steps = replay(subscriber.told, {} if subscriber.snapshot else true_at(begun))
        except ValueError as error:
            self.tally.that(False, subscriber.name, error)
            return
        if not self.tally.that(steps, f"{subscriber.name}: it is told something", subscriber.error):
            return
        # Between what it was told nothing has changed, but for what an erasure found waiting: that is told at its time, added up.
        wrong = []
        for number, (when, closed, contents) in enumerate(steps):
            until = steps[number + 1][0] if number + 1 < len(steps) else when + 1
            # A time of which a FETCH has taken a part, and no marker has said that it was all, ends in the erasure too.
            parted = not closed and waits_for_erasure(when, until, erasures)
            expected = [] if parted else [true_at(when)]
            expected += [found for time, found in truth if when < time < until and not waits_for_erasure(time, until, erasures)]
            wrong += [(when, closed, difference(contents, found)) for found in expected if found != contents]
        self.tally.that(not wrong, f"{subscriber.name}: what is added up is what was true", f"{len(wrong)} times wrong of {len(steps)}, first {wrong[:1]}")
        if subscriber.progress:
            self.tally.that(steps[-1][0] >= last, f"{subscriber.name}: reaches the end", f"{steps[-1][0]} of {last}")

    # What is refused.

    def refused(self):
        tally = self.tally
        with self.server.connect() as connection:
            def refusal(query, parameters=None):
                try:
                    with connection.transaction():
                        connection.execute(f"DECLARE c CURSOR FOR SUBSCRIBE ({query})", parameters)
                    return "", ""
                except psycopg.Error as error:
                    return error.sqlstate or "lost", str(error)

            for query, parameters, state, words in [
                ("SELECT id FROM stories WHERE points > %s AND points > random() * 3", (3,), "0A000", "chance"),
                ("SELECT id FROM stories ORDER BY id LIMIT %s", (-1,), "2201W", "must not be negative"),
                ("SELECT id FROM stories WHERE author = 'x'", None, "22P02", "invalid input syntax"),
                ("SELECT id FROM stories WHERE author = %s", ("x",), "22P02", "invalid input syntax"),
                ("SELECT id FROM stories WHERE author = true", None, "42883", "operator does not exist"),
                ("SELECT now()", None, "0A000", "clock"),
                ("SELECT id FROM stories WHERE points > random() * 3", None, "0A000", "chance"),
                ("SELECT oid FROM pg_class", None, "0A000", "catalog relation"),
                ("SELECT id FROM stories FOR UPDATE", None, "0A000", "locks"),
                ("SELECT nothing FROM stories", None, "42703", "does not exist"),
                ("SELECT id FROM nowhere", None, "42P01", "does not exist"),
                ("DELETE FROM stories", None, "0A000", "inside a query"),
            ]:
                found, message = refusal(query, parameters)
                tally.that(found == state and words in message, f"SUBSCRIBE ({query}) {parameters or ''}", f"{found} {message}")
            one = connection.execute
            tally.equal(state_of(one, "DECLARE c CURSOR FOR SUBSCRIBE (SELECT id FROM tags)"), "25P01", "a cursor outside a transaction")
            for options, state in (("WITH (snapshot = 7)", "42601"), ("WITH (speed)", "42601"), ("WITH ()", "42601"), ("UP TO now", "42601"),
                                   ("AS OF AT LEAST 1", "0A000"), ("ENVELOPE NONE", "0A000"), ("ENVELOPE UPSERT (id)", "42601"),
                                   ("ENVELOPE UPSERT (KEY (name))", "42703"), ("ENVELOPE DEBEZIUM (KEY (id, id))", "42701"),
                                   ("WITHIN TIMESTAMP ORDER BY name", "42703")):
                tally.equal(state_of(one, f"COPY (SUBSCRIBE (SELECT id FROM tags) {options}) TO STDOUT"), state, options)
            one("BEGIN")
            one("DECLARE c CURSOR FOR SUBSCRIBE (SELECT id FROM tags)")
            one("SAVEPOINT s")
            for statement, state in (("FETCH BACKWARD 1 FROM c", "55000"), ("FETCH 0 FROM c", "55000"), ("FETCH ALL c WITH (timeout = 'x')", "22023"),
                                     ("FETCH ALL c WITH (timeout = '-1s')", "22023"), ("DECLARE c CURSOR FOR SELECT 1", "42P03"), ("FETCH ALL d", "34000"),
                                     ("DECLARE d SCROLL CURSOR FOR SUBSCRIBE (SELECT 1 AS x)", "0A000")):
                tally.equal(state_of(one, statement), state, statement)
                one("ROLLBACK TO SAVEPOINT s")
            one("CLOSE c")
            tally.equal(state_of(one, "FETCH ALL c"), "34000", "a closed cursor")
            one("ROLLBACK")
            tally.that(self.falls(connection, 0), "refused subscriptions leave nothing behind", self.subscribers(connection))

    # Other ways to tell the same.

    def enveloped(self):
        """By key, in order, as rows of a result, up to a time: what is told adds up to what is there."""
        tally, dice, commits, told = self.tally, self.dice, 300, {}
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE keyed (id INT PRIMARY KEY, v INT)")
            connection.execute("INSERT INTO keyed SELECT g, g FROM generate_series(1, 1200) g")
            connection.execute("CREATE TABLE ticks (id INT)")
            now = self.time(connection)
            up_to = now + commits + 1
            forms = {"upsert": "ENVELOPE UPSERT (KEY (id))", "debezium": "ENVELOPE DEBEZIUM (KEY (id)) WITH (progress)",
                     "order": "WITHIN TIMESTAMP ORDER BY dogwood_diff DESC, id", "plain": ""}

            def follow(name, form):
                with self.server.connect() as other:
                    told[name] = list(other.cursor().stream(f"SUBSCRIBE TO keyed {form} UP TO {up_to}"))

            followers = [threading.Thread(target=follow, args=item) for item in forms.items()]
            for follower in followers:
                follower.start()
            tally.that(self.falls(connection, len(forms)), "all follow")
            states = {now: dict(rows(connection, "SELECT * FROM keyed"))}
            for time_of in range(now + 1, up_to):
                known = dict(states[time_of - 1])
                connection.execute("BEGIN")
                # A commit there is, though nothing changes.
                connection.execute("INSERT INTO ticks VALUES (%s)", (time_of,))
                for key in dice.sample(range(1, 1300), dice.choice((1, 1, 3, 600))):
                    if key in known and dice.random() < 0.3:
                        connection.execute("DELETE FROM keyed WHERE id = %s", (key,))
                        del known[key]
                    else:
                        known[key] = dice.randint(0, 9)
                        connection.execute("INSERT INTO keyed VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET v = excluded.v", (key, known[key]))
                connection.execute("COMMIT")
                states[time_of] = known
            for follower in followers:
                follower.join(30)
            tally.that(not any(follower.is_alive() for follower in followers), "UP TO ends it")
            last = states[up_to - 1]
            tally.that(dict(rows(connection, "SELECT * FROM keyed")) == last, "what was written is there")
            for name in ("plain", "order"):
                sums = {}
                for _, diff, *row in told.get(name, ()):
                    if diff is not None:
                        sums[tuple(row)] = sums.get(tuple(row), 0) + diff
                tally.that({row for row, count in sums.items() if count} == set(last.items()), f"{name}: differences add up", len(sums))
            ordered = [(when, -diff, key) for when, diff, key, _ in told.get("order", ()) if diff is not None]
            tally.that(len(ordered) > 1000 and ordered == sorted(ordered), "within a time it is ordered", len(ordered))
            found, wrong = {}, []
            for when, state, key, value in told.get("upsert", ()):
                if state == "upsert":
                    found[key] = value
                elif state == "delete":
                    wrong += [] if found.pop(key, None) is not None else [(when, key)]
                else:
                    wrong += [] if state is None else [(when, state, key)]
            tally.that(found == last and not wrong, "upserts add up", (wrong[:3], len(found), len(last)))
            found, wrong = {}, []
            for when, state, key, before, after in told.get("debezium", ()):
                if state is None:
                    wrong += [] if found == states[when] else [(when, "closed")]
                    continue
                wrong += [] if found.get(key) == before and state == {(True, False): "insert", (False, False): "upsert", (False, True): "delete"}.get(
                    (before is None, after is None)) else [(when, state, key)]
                if after is None:
                    found.pop(key, None)
                else:
                    found[key] = after
            tally.that(found == last and not wrong, "what a key had and has adds up", (wrong[:3], len(found), len(last)))
            up_to = self.time(connection) + 2
            ticking = threading.Thread(target=self.tick, args=(3,))
            ticking.start()
            query = f"SUBSCRIBE (SELECT v % 2 AS odd, v FROM keyed WHERE v < 4) ENVELOPE UPSERT (KEY (odd)) UP TO {up_to}"
            violated = [row[1:] for row in connection.cursor().stream(query) if row[1] is not None]
            tally.equal(violated, [("key_violation", 0, None), ("key_violation", 1, None)], "several rows of a key")
            ticking.join()
            connection.execute("DROP TABLE keyed, ticks")

    def tick(self, commits):
        """Commits, soon, of which no view hears."""
        with self.server.connect() as connection:
            for number in range(commits):
                time.sleep(0.3)
                connection.execute("INSERT INTO ticks VALUES (%s)", (-number,))

    def time(self, connection):
        """That of the last commit."""
        connection.execute("BEGIN")
        connection.execute("DECLARE now CURSOR FOR SUBSCRIBE (SELECT 1 AS x)")
        now = rows(connection, "FETCH ALL now")[0][0]
        connection.execute("ROLLBACK")
        return now

    def subscribers(self, connection):
        return int(rows(connection, "SELECT coalesce(sum(subscriptions), 0) FROM dogwood.views")[0][0])

    def falls(self, connection, count, within=10):
        until = time.monotonic() + within
        while self.subscribers(connection) != count and time.monotonic() < until:
            time.sleep(0.02)
        return self.subscribers(connection) == count

    def forms(self):
        """Snapshot, marker, heartbeat; shared views; a query of nothing; own changes are not seen before they are committed."""
        tally = self.tally
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE small (id INT PRIMARY KEY, g INT, v TEXT)")
            connection.execute("INSERT INTO small VALUES (1, 1, 'a'), (2, 1, NULL), (3, 2, E'tab\\there')")
            whole = self.subscribe("SELECT id, g, v FROM small", "copy", options="progress = true")
            tally.equal(told_within(whole.told), [(1, ("1", "1", "a")), (1, ("2", "1", None)), (1, ("3", "2", "tab\there"))], "the snapshot")
            bare = self.subscribe("SELECT id, g, v FROM small", snapshot=False, progress=False)
            tally.equal(bare.told[:1], [(bare.told[0][0], None, (None, None, None))], "without a snapshot there is the marker")
            keyed = [self.subscribe("SELECT id FROM small WHERE g = {}", parameters=[group], progress=False) for group in (1, 1, 2, 7)]
            views = rows(connection, "SELECT subscriptions FROM dogwood.views WHERE subscriptions > 0 ORDER BY subscriptions")
            tally.equal(views, [(2,), (4,)], "subscriptions of one shape share a view")
            heartbeats = len(whole.told)
            connection.execute("BEGIN")
            connection.execute("UPDATE small SET g = 2 WHERE id = 1")
            connection.execute("INSERT INTO small VALUES (4, 7, 'd')")
            time.sleep(1)
            tally.that(whole.wait_for(lambda told: len(told) > heartbeats), "a quiet subscription says so")
            tally.that(all(difference is None for _, difference, _ in whole.told[heartbeats:]), "nothing before the commit", whole.told[heartbeats:])
            connection.execute("COMMIT")
            for subscriber, expected in ((whole, [(-1, ("1", "1", "a")), (1, ("1", "2", "a")), (1, ("4", "7", "d"))]), (bare, [(-1, ("1", "1", "a")), (1, ("1", "2", "a")), (1, ("4", "7", "d"))]),
                                         (keyed[0], [(-1, ("1",))]), (keyed[1], [(-1, ("1",))]), (keyed[2], [(1, ("1",))]), (keyed[3], [(1, ("4",))])):
                tally.that(subscriber.wait_for(lambda told: sorted(told_within(told)[-len(expected):]) == sorted(expected)), f"the change: {subscriber.query} {subscriber.parameters}", subscriber.told)
            times = {told[-1][0] for told in ([change for change in subscriber.told if change[1] is not None] for subscriber in (whole, bare, *keyed))}
            tally.equal(len(times), 1, "one commit is one time for all")
            none = self.subscribe("SELECT id FROM small WHERE false", "copy")
            constant = self.subscribe("SELECT 1 AS one, 'x' AS two")
            tally.equal((told_within(none.told), told_within(constant.told)), ([], [(1, ("1", "x"))]), "queries of nothing and of constants")
            for subscriber in (whole, bare, none, constant, *keyed):
                subscriber.end()
            tally.that(self.falls(connection, 0), "who leaves is not counted", self.subscribers(connection))
            # A session's own uncommitted changes are nobody's, not even its own subscription's.
            connection.execute("BEGIN")
            connection.execute("INSERT INTO small VALUES (5, 7, 'e')")
            connection.execute("DECLARE c CURSOR FOR SUBSCRIBE (SELECT id FROM small WHERE g = 7)")
            found = [row[1:] for row in rows(connection, "FETCH ALL c WITH (timeout = '1s')")]
            tally.equal(found, [(1, 4), (None, None)], "a subscription sees what is committed")
            connection.execute("ROLLBACK")
            tally.that(self.falls(connection, 0), "the end of a transaction closes its subscriptions", self.subscribers(connection))

    def hurried(self):
        """A FETCH that waits ends with the statement's time or by a cancel; what comes meanwhile and after is for the next."""
        tally = self.tally
        with self.server.connect() as connection, self.server.connect() as other:
            def take(told):
                return sorted(row[2] for row in rows(connection, "FETCH ALL c WITH (timeout = '2s')") if row[1] is not None and row[2] in told)

            connection.execute("BEGIN")
            connection.execute("DECLARE c CURSOR FOR SUBSCRIBE (SELECT id FROM tags WHERE id > 90000)")
            rows(connection, "FETCH ALL c WITH (timeout = '1s')")
            connection.execute("SAVEPOINT s")
            for number, (fetch, timeout, end) in enumerate((
                ("FETCH ALL c", "300ms", None),
                ("FETCH 1 c WITH (timeout = '1min')", "300ms", None),
                ("FETCH ALL c", "0", lambda: connection.cancel()),
                ("FETCH ALL c WITH (timeout = '1min')", "0", lambda: connection.cancel()),
            )):
                connection.execute(f"SET LOCAL statement_timeout = '{timeout}'")
                ends = threading.Timer(0.4, end) if end else None
                if ends:
                    ends.start()
                began = time.monotonic()
                state = state_of(connection.execute, fetch)
                took = time.monotonic() - began
                tally.that(state == "57014" and 0.2 < took < 10, f"{fetch} with {timeout}", (state, took))
                if ends:
                    ends.join()
                key = 91_000 + number
                other.execute("INSERT INTO tags VALUES (%s, 'late', 1)", [key])
                connection.execute("ROLLBACK TO SAVEPOINT s")
                connection.execute("SET LOCAL statement_timeout = 0")
                tally.equal(take({key}), [key], "what comes later is told to the next FETCH")
            connection.execute("SET LOCAL statement_timeout = '300ms'")
            tally.equal(rows(connection, "FETCH ALL c WITH (timeout = '50ms')"), [], "no rows within the statement's time")
            connection.execute("ROLLBACK")

    def large_commits(self):
        """A commit of many rows has one time, in whatever pieces it is fetched."""
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE many (id INT PRIMARY KEY, n INT)")
            subscribers = [self.subscribe("SELECT id, n FROM many", form) for form in ("copy", "cursor")] + [self.subscribe("SELECT n, count(*) FROM many GROUP BY n")]
            connection.execute("INSERT INTO many SELECT i, i % 10 FROM generate_series(1, 3000) AS i")
            connection.execute("UPDATE many SET n = n + 1")
            connection.execute("DELETE FROM many WHERE id % 2 = 0")
            for subscriber, expected in zip(subscribers, ([3000, 6000, 1500], [3000, 6000, 1500], [10, 2, 5])):
                self.tally.that(subscriber.wait_for(lambda told: len({when for when, difference, _ in told if difference is not None}) == 3 and told[-1][1] is None),
                                f"three times: {subscriber.query}", subscriber.error)
                sizes = {}
                for when, difference, _ in subscriber.told:
                    if difference is not None:
                        sizes[when] = sizes.get(when, 0) + 1
                self.tally.equal(list(sizes.values()), expected, f"each whole: {subscriber.query}")
                steps = replay(subscriber.told)
                self.tally.equal(len(steps[-1][2]), 1500 if "id" in subscriber.query else 5, f"what is left: {subscriber.query}")
                subscriber.end()
            connection.execute("DROP TABLE many")

    # What ends a subscription, and what does not.

    def ended(self, subscriber, state, name, words=""):
        found = subscriber.wait_for_end()
        self.tally.that(found == state and words in str(subscriber.error), name, f"{found} {subscriber.error}")
        subscriber.end()

    def failing(self):
        """A row that cannot be evaluated ends the subscriptions to it; once it is gone, one may subscribe again."""
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE shares (id INT PRIMARY KEY, whole INT, parts INT)")
            connection.execute("INSERT INTO shares VALUES (1, 10, 2), (2, 9, 3)")
            connection.execute("CREATE MATERIALIZED VIEW parted AS SELECT id, whole / parts AS part FROM shares")
            connection.execute("CREATE MATERIALIZED VIEW over_parted AS SELECT part, count(*) AS n FROM parted GROUP BY part")
            queries = ["SELECT id, whole / parts FROM shares", "SELECT id, part FROM parted", "SELECT sum(part) FROM parted", "SELECT n FROM over_parted", "SELECT id FROM shares"]
            subscribers = [self.subscribe(query, form) for query in queries for form in ("copy", "cursor")]
            keyed = "SELECT id, whole / parts FROM shares WHERE id = %d"
            concerned = [self.subscribe(keyed % 3, form) for form in ("copy", "cursor")]
            others = [self.subscribe(keyed % 1, form) for form in ("copy", "cursor")]
            # Of a view below, too, only those of the row's key; and whoever joins it, once that row is asked for.
            keyed_below = "SELECT id, part FROM parted WHERE id = %d"
            concerned.append(self.subscribe(keyed_below % 3))
            below = [self.subscribe(keyed_below % 1, form) for form in ("copy", "cursor")]
            connection.execute("CREATE TABLE links (id INT PRIMARY KEY, k INT, share INT)")
            connection.execute("INSERT INTO links VALUES (1, 1, 1)")
            linking = "SELECT links.id, parted.part FROM links JOIN parted ON parted.id = links.share WHERE links.k = 1"
            linked = self.subscribe(linking)
            connection.execute("INSERT INTO shares VALUES (3, 7, 0), (4, 8, 2)")
            for subscriber in concerned:
                self.ended(subscriber, "22012", f"its row fails: {subscriber.query}", "division by zero")
            connection.execute("UPDATE shares SET whole = 20 WHERE id = 1")
            for subscriber in others:
                self.tally.that(subscriber.wait_for(lambda told: (1, ("1", "10")) in told_within(told)), "a row of another key fails", subscriber.error)
            below.append(self.subscribe(keyed_below % 1))
            for subscriber in below:
                self.tally.that(subscriber.wait_for(lambda told: (1, ("1", "10")) in told_within(told)), "a row of another key fails in a view below", subscriber.error)
            if self.tally.that(linked.wait_for(lambda told: (1, ("1", "10")) in told_within(told)), "a row fails that is not joined", linked.error):
                connection.execute("INSERT INTO links VALUES (2, 1, 3)")
                self.ended(linked, "22012", "the row that fails is joined", "division by zero")
            for query in (keyed % 3, keyed_below % 3, linking):
                self.ended(self.subscribe(query), "22012", f"one that begins while its row fails: {query}", "division by zero")
            others.append(self.subscribe(keyed % 2))
            connection.execute("UPDATE shares SET parts = 0 WHERE id = 2")
            self.ended(others.pop(), "22012", "one row more fails", "division by zero")
            for subscriber in others + below:
                self.tally.equal(subscriber.error, None, "rows of other keys fail")
                subscriber.end()
            connection.execute("DROP TABLE links")
            connection.execute("UPDATE shares SET whole = 10 WHERE id = 1")
            connection.execute("UPDATE shares SET parts = 3 WHERE id = 2")
            for subscriber in subscribers[:-2]:
                self.ended(subscriber, "22012", f"a row fails: {subscriber.query}", "division by zero")
                self.tally.that(not any("4" in row for _, _, row in subscriber.told if row[0] == "4"), "nothing of the commit is told", subscriber.told)
            for subscriber in subscribers[-2:]:
                self.tally.that(subscriber.wait_for(lambda told: len(told_within(told)) == 4), "others go on", subscriber.error)
                subscriber.end()
            for query in queries[:-1]:
                again = self.subscribe(query)
                self.ended(again, "22012", f"one that begins while a row fails: {query}", "division by zero")
            connection.execute("UPDATE shares SET parts = 1 WHERE id = 3")
            for query, expected in zip(queries, ({("1", "5"), ("2", "3"), ("3", "7"), ("4", "4")}, {("1", "5"), ("2", "3"), ("3", "7"), ("4", "4")}, {("19",)}, {("1",)}, {("1",), ("2",), ("3",), ("4",)})):
                again = self.subscribe(query)
                self.tally.equal({row for change, row in told_within(again.told) if change}, expected, f"once it is mended: {query}")
                again.end()
            connection.execute("DROP TABLE shares CASCADE")

    def dropped(self):
        """Dropping what is subscribed to works, and says so to the subscribers."""
        with self.server.connect() as connection:
            connection.execute("CREATE TABLE base (id INT PRIMARY KEY, g INT)")
            connection.execute("INSERT INTO base VALUES (1, 1), (2, 1)")
            connection.execute("CREATE MATERIALIZED VIEW counted AS SELECT g, count(*) AS n FROM base GROUP BY g")
            subscribers = [self.subscribe(query, form) for query in ("SELECT g, n FROM counted", "SELECT n FROM counted WHERE g = 1") for form in ("copy", "cursor")]
            direct = self.subscribe("SELECT g, count(*) FROM base GROUP BY g", "copy")
            connection.execute("DROP MATERIALIZED VIEW counted")
            for subscriber in subscribers:
                self.ended(subscriber, "55000", f"its view is dropped: {subscriber.query}", "dropped")
            connection.execute("INSERT INTO base VALUES (3, 1)")
            self.tally.that(direct.wait_for(lambda told: (1, ("1", "3")) in told_within(told)), "who reads the table goes on", direct.error)
            connection.execute("CREATE MATERIALIZED VIEW counted AS SELECT g, sum(id) AS n FROM base GROUP BY g")
            again = self.subscribe("SELECT g, n FROM counted")
            self.tally.equal(told_within(again.told)[:1], [(1, ("1", "6"))], "another view of the name")
            connection.execute("DROP TABLE base CASCADE")
            self.ended(again, "55000", "its table is dropped")
            self.ended(direct, "55000", "a table is dropped", "dropped")
            self.tally.equal(state_of(connection.execute, "COPY (SUBSCRIBE (SELECT g, n FROM counted)) TO STDOUT"), "42P01", "what is no more")
            self.tally.that(self.falls(connection, 0), "none is left", self.subscribers(connection))

    def schema_changes(self):
        """DDL elsewhere, and DDL that changes no row and no column, ends nothing; other DDL below ends, and a new subscription works."""
        with self.server.connect() as connection:
            one = connection.execute
            one("CREATE TABLE base (id INT PRIMARY KEY, g INT, v INT)")
            one("CREATE TABLE other (id INT PRIMARY KEY, g INT)")
            one("INSERT INTO base SELECT i, i % 3, i FROM generate_series(1, 9) AS i")
            one("INSERT INTO other SELECT i, i % 3 FROM generate_series(1, 6) AS i")
            one("CREATE MATERIALIZED VIEW summed AS SELECT g, sum(v) AS s FROM base GROUP BY g")
            queries = ["SELECT g, count(*) FROM base GROUP BY g", "SELECT b.id, o.id FROM base b JOIN other o ON o.g = b.g", "SELECT g, s FROM summed", "SELECT s FROM summed WHERE g = 1"]
            subscribers = [self.subscribe(query, form) for query in queries for form in ("copy", "cursor")]
            for statement in ("CREATE TABLE unrelated (id INT PRIMARY KEY, x INT)", "ALTER TABLE unrelated ADD COLUMN y INT", "CREATE INDEX ON unrelated (x)",
                              "CREATE MATERIALIZED VIEW elsewhere AS SELECT x FROM unrelated", "TRUNCATE unrelated", "CREATE VIEW plain AS SELECT id FROM base",
                              "DROP TABLE unrelated CASCADE", "CREATE INDEX base_g ON base (g)", "CREATE INDEX ON other (g)", "COMMENT ON TABLE base IS 'rows'",
                              "CREATE MATERIALIZED VIEW more AS SELECT max(v) AS v FROM base", "DROP VIEW plain", "DROP MATERIALIZED VIEW more"):
                self.tally.equal(state_of(one, statement), "", statement)
                one("UPDATE base SET v = v + 1 WHERE id = 4")
                self.tally.that(all(subscriber.state is None for subscriber in subscribers), f"goes on: {statement}", [(subscriber.query, str(subscriber.error)) for subscriber in subscribers if subscriber.state])
            one("INSERT INTO base VALUES (10, 1, 100)")
            for subscriber in subscribers:
                expected = {as_row(row): 1 for row in rows(connection, subscriber.query)}
                self.tally.that(subscriber.wait_for(lambda told: replay(told)[-1:] and replay(told)[-1][2] == expected), f"after DDL: {subscriber.query}",
                                f"{subscriber.error} {subscriber.told[-4:]}, expected {expected}")
            one("ALTER TABLE base ADD COLUMN w INT DEFAULT 5")
            for subscriber in subscribers:
                self.ended(subscriber, "55000", f"ADD COLUMN: {subscriber.query}", "Subscribe again")
            # What held the old view is there still: a new subscription must not wait for it.
            for query in queries:
                again = self.subscribe(query, progress=False)
                self.tally.that({row: 1 for _, row in told_within(again.told)} == {as_row(row): 1 for row in rows(connection, query)}, f"again after ADD COLUMN: {query}", again.error or again.told)
                again.end()
            one("DROP INDEX base_g")
            again = self.subscribe(queries[1])
            self.tally.that(again.state is None, "after DROP INDEX", again.error)
            again.end()
            one("DROP TABLE base CASCADE")
            one("DROP TABLE other CASCADE")

    def truncated(self):
        """TRUNCATE is a commit like any other."""
        with self.server.connect() as connection:
            one = connection.execute
            one("CREATE TABLE base (id INT PRIMARY KEY, g INT, v INT)")
            one("INSERT INTO base SELECT i, i % 3, i FROM generate_series(1, 2000) AS i")
            one("CREATE MATERIALIZED VIEW summed AS SELECT g, sum(v) AS s FROM base GROUP BY g")
            queries = ["SELECT id FROM base", "SELECT g, count(*) FROM base GROUP BY g", "SELECT count(*) FROM base", "SELECT a.id FROM base a JOIN base b ON b.id = a.v + 1",
                       "SELECT g, s FROM summed", "SELECT s FROM summed WHERE g = 1", "SELECT b.id FROM base b LEFT JOIN summed s ON s.g = b.id"]
            subscribers = [self.subscribe(query, form) for query in queries for form in ("copy", "cursor")]
            one("TRUNCATE base")
            one("INSERT INTO base VALUES (1, 1, 5)")
            one("BEGIN")
            one("INSERT INTO base VALUES (2, 1, 5)")
            one("TRUNCATE base")
            one("INSERT INTO base VALUES (3, 1, 7), (6, 0, 4)")
            one("COMMIT")
            one("BEGIN")
            one("TRUNCATE base")
            one("ROLLBACK")
            for subscriber in subscribers:
                expected = {as_row(row): 1 for row in rows(connection, subscriber.query)}
                self.tally.that(subscriber.wait_for(lambda told: replay(told)[-1:] and replay(told)[-1][2] == expected), f"TRUNCATE: {subscriber.query}", f"{subscriber.error} {subscriber.told[-4:]}")
                self.tally.equal(len({when for when, change, _ in subscriber.told if change is not None}) in (2, 3, 4), True, f"each commit one time: {subscriber.query}")
                subscriber.end()
            one("DROP TABLE base CASCADE")

    def resumed(self):
        """A subscription may go on from a time that is still held."""
        tally, query = self.tally, "SELECT id, v FROM base"
        with self.server.connect() as connection:
            one = connection.execute
            one("CREATE TABLE base (id INT PRIMARY KEY, g INT, v INT)")
            one("INSERT INTO base VALUES (1, 1, 1)")
            first = self.subscribe(query, "copy")
            keyed = self.subscribe("SELECT id, v FROM base WHERE g = 2", "copy")
            one("INSERT INTO base VALUES (2, 2, 2)")
            first.wait_for(lambda told: len(told_within(told)) == 2)
            keyed.wait_for(lambda told: len(told_within(told)) == 1)
            first.end()
            keyed.end()
            one("UPDATE base SET v = 7")
            one("DELETE FROM base WHERE id = 1")
            one("INSERT INTO base VALUES (3, 3, 3)")
            for key, form in ((4, "copy"), (5, "cursor")):
                again = self.subscribe(query, form, options=f"as_of = {first.closed()}")
                one("INSERT INTO base VALUES (%s, 3, 4)", (key,))
                again.wait_for(lambda told: any(row == (str(key), "4") for _, _, row in told))
                steps = replay(first.told + again.told)
                expected = {("2", "7"): 1, ("3", "3"): 1, (str(key), "4"): 1}
                tally.that(steps[-1][2] == expected, f"resumed by {form}", f"{again.error} {again.told}")
                tally.that(all(when > first.closed() for when, change, _ in again.told), "only what came later", again.told)
                again.end()
                one("DELETE FROM base WHERE id = %s", (key,))
            other = self.subscribe("SELECT id, v FROM base WHERE g = {}", parameters=[2], options=f"as_of = {keyed.closed()}")
            tally.equal(sorted(told_within(other.told)[:2]), [(-1, ("2", "2")), (1, ("2", "7"))], "resumed by key")
            other.end()
            now = first.closed()
            for options, state, words in ((f"as_of = {now + 1000}", "22023", "future"), ("as_of = 1", "72000", "no longer held"), (f"as_of = {now}, snapshot", "0A000", "snapshot"),
                                          ("as_of = 'x'", "42601", ""), ("as_of = -1", "42601", "")):
                refused = state_of(one, f"COPY (SUBSCRIBE ({query}) WITH ({options})) TO STDOUT")
                tally.equal(refused, state, f"WITH ({options})")
            tally.equal(state_of(one, f"COPY (SUBSCRIBE (SELECT v FROM base WHERE v > 1) WITH (as_of = {now})) TO STDOUT"), "72000", "what nobody has followed")
            # What is erased is held for nobody.
            one("INSERT INTO users VALUES (90, 'late', 'Bern') ON CONFLICT DO NOTHING")
            person = self.subscribe("SELECT id, name FROM users", "copy")
            one("INSERT INTO users VALUES (91, 'later', 'Bern') ON CONFLICT DO NOTHING")
            person.wait_for(lambda told: any(row[0] == "91" for _, _, row in told))
            person.end()
            one("GDPR FORGET users 90")
            tally.equal(state_of(one, f"COPY (SUBSCRIBE (SELECT id, name FROM users) WITH (as_of = {person.closed()})) TO STDOUT"), "72000", "not from before an erasure")
            one("DROP TABLE base CASCADE")

    def slow(self):
        """Who does not read is cut; no writer waits, and nobody else is concerned."""
        with self.server.connect() as connection, self.server.connect() as lazy:
            connection.execute("CREATE TABLE big (id INT PRIMARY KEY, n INT, v TEXT)")
            connection.execute("INSERT INTO big VALUES (1, 0, repeat('x', 1000000))")
            quick = self.subscribe("SELECT id, n FROM big", "copy")
            lazy.execute("BEGIN")
            lazy.execute("DECLARE c CURSOR FOR SUBSCRIBE (SELECT id, n, v FROM big)")
            self.tally.equal(len(lazy.execute("FETCH ALL c").fetchall()), 2, "the snapshot")
            silent = self.server.connect()
            try:
                # Asks, and reads nothing.
                silent.pgconn.send_query(b"COPY (SUBSCRIBE (SELECT n, v FROM big)) TO STDOUT")
                longest = 0
                for number in range(50):
                    began = time.monotonic()
                    connection.execute("UPDATE big SET n = %s", (number + 1,))
                    longest = max(longest, time.monotonic() - began)
                # It would wait for good.
                self.tally.that(longest < 15, "no writer waits", longest)
                self.tally.equal(state_of(lazy.execute, "FETCH ALL c"), "53400", "a cursor that is not fetched is cut")
                lazy.execute("ROLLBACK")
                self.tally.that(quick.wait_for(lambda told: any(row == ("1", "50") for _, _, row in told)), "others go on", quick.error)
                said, until = b"", time.monotonic() + 20
                silent.pgconn.nonblocking = 1
                while b"53400" not in said and time.monotonic() < until:
                    try:
                        said = read_some(silent, said)
                    except (OSError, psycopg.Error) as error:
                        said += str(error).encode()
                        break
                self.tally.that(b"not taken in time" in said, "a COPY that is not read is cut", said[-300:])
            finally:
                silent.close()
            quick.end()
            self.tally.that(self.falls(connection, 0), "none is left", self.subscribers(connection))
            connection.execute("DROP TABLE big")

    def vanished(self):
        """A client that is gone without a word is noticed, in a quiet subscription too."""
        with self.server.connect() as connection:
            lost = [self.server.connect() for _ in range(4)]
            for number, gone in enumerate(lost):
                if number % 2:
                    gone.execute("BEGIN")
                    gone.execute("DECLARE c CURSOR FOR SUBSCRIBE (SELECT id FROM tags)")
                    gone.pgconn.send_query(b"FETCH ALL c WITH (timeout = '60s')" if number == 1 else b"SELECT 1")
                else:
                    gone.pgconn.send_query(b"COPY (SUBSCRIBE (SELECT id FROM tags)) TO STDOUT")
            self.tally.that(self.falls(connection, 4), "four subscribe", self.subscribers(connection))
            for gone in lost:
                with socket.socket(fileno=os.dup(gone.pgconn.socket)) as wire:
                    wire.shutdown(socket.SHUT_RDWR)
            self.tally.that(self.falls(connection, 0, within=5), "vanished clients are noticed", self.subscribers(connection))

    def restarted(self):
        for how in ("stop", "kill"):
            subscribers = [self.subscribe("SELECT city, n, s FROM busy", form) for form in ("copy", "cursor")]
            last = max(subscriber.closed() for subscriber in subscribers)
            if how == "stop":
                self.tally.equal(self.server.stop(), 0, "SIGTERM with subscribers")
            else:
                self.server.kill()
            for subscriber in subscribers:
                ended = subscriber.wait_for_end()
                self.tally.that(ended in ("lost", "57P01", "57014"), f"the server ends, {subscriber.form}", f"{ended} {subscriber.error}")
            self.server.start()
            again = self.subscribe("SELECT city, n, s FROM busy")
            with self.server.connect() as connection:
                expected = {as_row(row): 1 for row in rows(connection, "SELECT city, n, s FROM busy")}
                self.tally.equal(replay(again.told)[0][2], expected, f"after {how}")
                self.tally.that(again.told[0][0] >= last, "times go on", (again.told[0], last))
                connection.execute("INSERT INTO tags VALUES (7777, 'x', 1) ON CONFLICT (id) DO UPDATE SET word = 'again'")
            again.end()


def as_row(row):
    return tuple(None if value is None else str(value) for value in row)


def read_some(connection, said):
    """Some of what waits at a connection's socket, beside the library."""
    with socket.socket(fileno=os.dup(connection.pgconn.socket)) as wire:
        wire.settimeout(5)
        return (said + wire.recv(1 << 20))[-4096:]


if __name__ == "__main__":
    run_check(Subscriptions(options(seed=20261121, transactions=100)))
