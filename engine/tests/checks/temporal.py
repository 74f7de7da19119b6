"""Temporal filters: views that the clock changes hold what their queries give, for whoever reads them whenever.

Several write rows that come and go within a second or two, and people are forgotten, some of them with rows that are still to
come. Meanwhile each view is compared with its query in one statement, and in transactions that began a while before. What
subscribers add up must have been true at each of their times for some moment of the clock, which never goes back; in the end
it is what the query gives. Then kill -9, views of queries, transactions of one snapshot, and a clock that has nothing to do.

    temporal.py [--seed S] [--seconds N] [--views N]      N seconds of writing (8), N random views beside those written here (8)

No time is measured: whatever has to come is waited for.
"""
import random
import re
import time

import psycopg

from harness import Check, options, rows, run_check, start_writers, state_of
from support.subscriptions import Subscriber, as_text, erasure_times, replay, waits_for_erasure

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE kinds (kind INT PRIMARY KEY, name TEXT, keep INTERVAL)",
    """CREATE TABLE events (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), kind INT, n INT,
        starts TIMESTAMPTZ, ends TIMESTAMPTZ, local TIMESTAMP, day DATE, epoch_ms BIGINT)""",
    "CREATE INDEX events_kind ON events (kind)",
]
VIEWS = {
    "v_open": "SELECT id, person, n FROM events WHERE starts <= now() AND (ends IS NULL OR ends > now())",
    "v_recent": "SELECT id FROM events WHERE starts > now() - interval '1 second'",
    "v_within": "SELECT id, kind FROM events WHERE now() BETWEEN starts AND ends",
    "v_counted": "SELECT kind, count(*) AS c, sum(n) AS n, min(starts) - '2000-01-01 00:00:00Z'::timestamptz AS f FROM events WHERE now() < ends GROUP BY kind",
    "v_named": "SELECT e.id, k.name FROM events e JOIN kinds k ON k.kind = e.kind WHERE e.starts + interval '300 ms' <= now()",
    "v_kept": "SELECT e.id, k.name FROM events e JOIN kinds k ON k.kind = e.kind AND e.starts + k.keep > now()",
    "v_padded": "SELECT p.id, e.id AS event FROM people p LEFT JOIN events e ON e.person = p.id AND e.ends > now()",
    "v_idle": "SELECT p.id FROM people p WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.person = p.id AND e.starts <= now() AND e.ends > now())",
    "v_first": "SELECT kind, id FROM (SELECT kind, id, row_number() OVER (PARTITION BY kind ORDER BY n, id) AS r FROM events WHERE ends > now()) x WHERE r <= 2",
    "v_limited": "SELECT id, n FROM events WHERE starts <= now() ORDER BY n DESC, id LIMIT 5",
    "v_total": "SELECT count(*) AS c, sum(n) AS n FROM events WHERE local > localtimestamp",
    "v_running": "SELECT id, sum(n) OVER (PARTITION BY person ORDER BY id) AS n FROM events WHERE ends > now()",
    "v_either": "SELECT person FROM events WHERE starts > now() UNION SELECT person FROM events WHERE ends < now() - interval '500 ms'",
    "v_epochs": "SELECT id FROM events WHERE extract(epoch FROM now()) * 1000 < epoch_ms",
    "v_days": "SELECT id, day FROM events WHERE day BETWEEN current_date - 3 AND current_date",
    "v_passed": "SELECT id FROM events WHERE now() - starts > interval '700 ms' AND NOT ends <= current_timestamp",
    "v_latest": "SELECT person, max(starts) - '2000-01-01 00:00:00Z'::timestamptz AS l FROM events WHERE starts < now() GROUP BY person HAVING max(starts) > now() - interval '2 seconds'",
}
# Over another view.
ABOVE = {"v_above": "SELECT kind % 2 AS odd, count(*) AS c, sum(c) AS n FROM v_counted GROUP BY kind % 2",
         "v_both": "SELECT o.id, w.kind FROM v_open o JOIN v_within w ON w.id = o.id WHERE o.n > 10"}
EXPANDED = {"v_above": ABOVE["v_above"].replace("FROM v_counted", f"FROM ({VIEWS['v_counted']}) counted"),
            "v_both": ABOVE["v_both"].replace("v_open o", f"({VIEWS['v_open']}) o").replace("v_within w", f"({VIEWS['v_within']}) w")}
PEOPLE, KINDS = 24, 6
PATIENCE_S = 60
BASE = "'2000-01-01 00:00:00Z'::timestamptz"
EVENTS = f"SELECT id, starts - {BASE} AS starts, CASE WHEN isfinite(ends) THEN ends - {BASE} END AS ends, ends > {BASE} AS later, isfinite(ends) AS finite FROM events"


def random_definition(dice):
    """Conditions of the clock, several of them together, over rows or groups."""
    ms = lambda: f"interval '{dice.randint(0, 2000)} ms'"  # noqa: E731
    begins = [lambda: f"starts <= now() + {ms()}", lambda: f"now() - {ms()} >= starts", lambda: f"NOT (now() < starts + {ms()})",
              lambda: f"now() - starts >= {ms()}", lambda: "day <= current_date", lambda: "ends - interval '2 seconds' < current_timestamp"]
    ends = [lambda: f"ends > now() - {ms()}", lambda: f"starts + {ms()} > now()", lambda: f"(ends IS NULL OR ends + {ms()} >= now())",
            lambda: f"coalesce(ends, 'infinity') > transaction_timestamp() + {ms()}", lambda: f"local > localtimestamp - {ms()}",
            lambda: f"(kind = {dice.randrange(KINDS)} OR now() <= starts + {ms()})", lambda: "epoch_ms > extract(epoch FROM now()) * 1000",
            lambda: "day > current_date - interval '1 month'"]
    conditions = [dice.choice(dice.choice([begins, ends]))() for _ in range(dice.randint(1, 3))]
    conditions += dice.sample(["n > 20", "kind IN (1, 2, 3)", "person % 2 = 0"], dice.randint(0, 1))
    dice.shuffle(conditions)
    source = dice.choice(["events", "events JOIN kinds USING (kind)", "people JOIN events ON person = people.id"])
    what = dice.choice(["events.id AS id, n", "kind, count(*) AS c, sum(n) AS n", "person, max(n) AS n, count(DISTINCT kind) AS kinds", "DISTINCT person"])
    group = f" GROUP BY {what.split(',')[0]}" if "(" in what else ""
    return f"SELECT {what} FROM {source} WHERE {' AND '.join(conditions)}{group}"


def seconds(told):
    """Of an interval's text."""
    days, hours, minutes, rest = re.fullmatch(r"(?:(-?\d+) days? )?(\d+):(\d+):([\d.]+)", told).groups()
    return int(days or 0) * 86_400 + int(hours) * 3_600 + int(minutes) * 60 + float(rest)


def life(key, starts, ends, later, finite):
    """A row of EVENTS: its key, when it starts and ends; None where that is NULL."""
    if finite == "False":
        ends = float("inf") if later == "True" else float("-inf")
    else:
        ends = None if ends is None else seconds(ends)
    return key, None if starts is None else seconds(starts), ends


def is_told(steps, at, when, erased):
    """Whether the step says what was so at a time. What waits at an erasure is told at its time, added up: with it what came since the
    last step, and the rest of one that was told in part. So may the last one be."""
    told, closed, _ = steps[at]
    if closed and told == when:
        return True
    is_last = at + 1 == len(steps)
    until = float("inf") if is_last else steps[at + 1][0]
    return not (is_last and not closed) and not waits_for_erasure(when, until, erased)


class Temporal(Check):
    def __init__(self, options):
        super().__init__(options)
        self.views = dict(VIEWS) | {f"v_random_{number}": random_definition(self.dice) for number in range(options.views)}
        self.queries = self.views | EXPANDED
        self.read = {}
        self.next_key = iter(range(1, 1 << 31))

    def run(self):
        self.set_up(SCHEMA)
        with self.server.connect() as connection:
            for key in range(PEOPLE):
                connection.execute("INSERT INTO people VALUES (%s, %s)", (key, f"n{key}"))
            for key in range(KINDS):
                connection.execute("INSERT INTO kinds VALUES (%s, %s, %s::interval)", (key, f"k{key}", f"{200 * key} ms"))
            for _ in range(60):
                self.write(connection, self.dice)
            for name, query in (self.views | ABOVE).items():
                connection.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
            for _ in range(60):
                self.write(connection, self.dice)
        for case in (self.written, self.earned, self.erased_before_they_come, self.one_snapshot, self.quiet, self.killed):
            self.tally.case(case)
        never = sorted(name for name in self.queries if not self.read.get(name))
        self.tally.equal(never, [], "each view is read, and not only computed")

    def ready(self, connection):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if rows(connection, "SELECT count(*) FROM dogwood.views WHERE stage IN ('waiting', 'hydrating')") == [(0,)]:
                break
            time.sleep(0.02)
        self.tally.equal(rows(connection, "SELECT name FROM dogwood.views WHERE stage = 'failed'"), [], "no view fails")

    def write(self, connection, dice):
        """A row that comes or goes soon, or is there, or is over; or one that becomes so; or goes."""
        key = next(self.next_key)
        rare = ["NULL::timestamptz", "now() + interval '1 hour'"]
        moment = lambda more=(): f"now() + interval '{dice.randint(-2500, 1500)} ms'" if dice.random() < 0.9 else dice.choice(rare + list(more))  # noqa: E731
        endless = ["'infinity'::timestamptz", "'-infinity'::timestamptz"]
        values = (f"{moment()}, {moment(endless)}, ({moment(endless)}) AT TIME ZONE 'UTC', current_date + {dice.randint(-4, 2)}, "
                  f"(extract(epoch FROM now()) * 1000)::bigint + {dice.randint(-500, 1500)}")
        if dice.random() < 0.7:
            return state_of(connection.execute, f"INSERT INTO events VALUES ({key}, {dice.randrange(PEOPLE)}, {dice.randrange(KINDS)}, {dice.randint(0, 99)}, {values})")
        which = f"id IN (SELECT id FROM events ORDER BY id DESC LIMIT {dice.randint(1, 5)} OFFSET {dice.randrange(20)})"
        change = dice.choice([f"UPDATE events SET (starts, ends, local, day, epoch_ms) = ({values})", "UPDATE events SET n = n + 1, kind = 0", "DELETE FROM events"])
        return state_of(connection.execute, f"{change} WHERE {which}")

    def compare(self, connection, name, when):
        """The view and its query, in one statement."""
        query = self.queries[name]
        difference = f"""SELECT 'view', x::text, now()::text FROM (SELECT * FROM {name} EXCEPT ALL ({query})) x
            UNION ALL SELECT 'query', x::text, now()::text FROM (({query}) EXCEPT ALL SELECT * FROM {name}) x"""
        self.tally.equal(rows(connection, difference), [], f"{name}, {when}")

    def count_reads(self, connection, name):
        plan = "\n".join(line for line, in rows(connection, f"EXPLAIN (COSTS off) SELECT * FROM {name}"))
        self.read[name] = self.read.get(name, 0) + ("Why not" not in plan and re.search(rf"\b{name}\b", plan) is not None and "Temporal" not in plan and "now()" not in plan)

    # Beside writers.

    def written(self):
        names = list(self.queries)
        watched = [Subscriber(self.server, "events", EVENTS, "cursor"), Subscriber(self.server, "v_open", VIEWS["v_open"], "cursor"),
                   Subscriber(self.server, "open by name", "SELECT * FROM v_open", "copy")]
        watched += [Subscriber(self.server, name, f"SELECT * FROM {name}" if name in ABOVE or self.dice.random() < 0.5 else self.views[name],
                               self.dice.choice(["copy", "cursor"])) for name in names if name != "v_limited"]
        for subscriber in watched:
            subscriber.begin()
        stop = time.monotonic() + self.options.seconds

        def writing(connection, number):
            dice = random.Random(f"{self.options.seed} {number}")
            while time.monotonic() < stop:
                state = self.write(connection, dice)
                if state not in ("", "40001", "DG002", "23503"):
                    raise AssertionError(f"a change is refused: {state}")
                time.sleep(dice.random() * 0.02)

        writers = start_writers(self, 2, writing)
        with self.server.connect() as connection, self.server.connect() as earlier, self.server.connect() as eraser:
            self.ready(connection)
            connection.execute("SET dogwood.auto_views = off")
            earlier.execute("SET dogwood.auto_views = off")
            eraser.execute("SET dogwood.forget_wait = '60s'")
            erased = time.monotonic()
            while time.monotonic() < stop:
                name = self.dice.choice(names)
                self.compare(connection, name, "beside writers")
                self.count_reads(connection, name)
                if self.dice.random() < 0.15:
                    earlier.execute("BEGIN" if self.dice.random() < 0.5 else "BEGIN ISOLATION LEVEL REPEATABLE READ")
                    for _ in range(3):
                        time.sleep(self.dice.random() * 0.2)
                        self.compare(earlier, self.dice.choice(names), "in a transaction that began before")
                    earlier.execute("COMMIT")
                if time.monotonic() > erased + 0.7:
                    erased = time.monotonic()
                    person = self.dice.randrange(PEOPLE)
                    state = state_of(eraser.execute, f"GDPR FORGET people {person}")
                    self.tally.that(state in ("", "DG003", "40001"), "GDPR FORGET", state)
                    state_of(eraser.execute, f"INSERT INTO people VALUES ({person}, 'again')")
            for writer in writers:
                writer.join(PATIENCE_S)
            self.tally.equal(self.unexpected, {}, "changes are refused for known reasons")
            for name in names:
                self.compare(connection, name, "after the writers")
            watched = [self.adds_up(connection, subscriber) for subscriber in watched]
            erased = erasure_times(connection)
        for subscriber in watched:
            subscriber.end()
        self.moments(watched[0], watched[1], erased)
        self.moments(watched[0], watched[2], erased)

    def adds_up(self, connection, subscriber):
        """In the end it is what the query gives: rows come and go until nothing is due for an hour. Who was cut subscribes again."""
        name = subscriber.name
        query = {"events": EVENTS, "open by name": VIEWS["v_open"]}.get(name) or self.queries[name]
        until, found, expected = time.monotonic() + PATIENCE_S, None, None
        while time.monotonic() < until:
            if subscriber.state is not None:
                # An erasure waits a second for a view, no longer: on a machine that is busy it is filled anew.
                self.tally.equal(subscriber.state, "55000", f"{name}: {subscriber.error}")
                subscriber = Subscriber(self.server, name, subscriber.query, subscriber.form).begin()
            expected = sorted(as_text(row) for row in rows(connection, query))
            contents = {}
            for _, change, row in list(subscriber.told):
                if change is not None:
                    contents[row] = contents.get(row, 0) + change
            found = sorted(row for row, count in contents.items() for _ in range(count))
            if found == expected:
                break
            time.sleep(0.05)
        self.tally.equal(found, expected, f"{name}: what a subscriber adds up")
        return subscriber

    def moments(self, events, subscriber, erased):
        """At each time there is a moment of the clock at which just those rows are in, and none before an earlier time's."""
        table, steps = replay(events.told), replay(subscriber.told)
        clock, at, seen = float("-inf"), 0, 0
        for step, (when, _, contents) in enumerate(steps):
            while at + 1 < len(table) and table[at + 1][0] <= when:
                at += 1
            if table[at][0] > when or not is_told(table, at, when, erased) or not is_told(steps, step, when, erased):
                continue
            here = {row[0] for row in contents}
            lives = [life(*row) for row in table[at][2]]
            self.tally.that(here <= {key for key, _, _ in lives}, f"{subscriber.name}: rows of the table at {when}")
            # The earliest moment that is not before, at which those that are in are in, …
            clock = max([clock] + [starts for key, starts, _ in lives if key in here])
            out = [(starts, float("inf") if ends is None else ends) for key, starts, ends in lives if key not in here and starts is not None]
            # … and those that are not are not yet, or no more.
            while pushed := [ends for starts, ends in out if starts <= clock < ends and ends < float("inf")]:
                clock = max(pushed)
            wrong = [key for key, starts, ends in lives if key in here and ends is not None and ends <= clock]
            wrong += [starts for starts, ends in out if starts <= clock < ends]
            self.tally.that(not wrong, f"{subscriber.name}: one moment at {when}", (clock, wrong[:3]))
            seen += 1
        self.tally.that(seen > 0, f"{subscriber.name}: there are times", seen)

    # What else there is.

    def earned(self):
        """A query that is asked often has a view of its own, and reads it at its own moment."""
        query = "SELECT count(*), sum(n) FROM events WHERE kind = %s AND ends > now()"
        with self.server.connect() as connection, self.server.connect() as computing:
            computing.execute("SET dogwood.auto_views = off")
            for _ in range(12):
                self.write(connection, self.dice)
            shown = "SELECT count(*), sum(n) FROM events WHERE kind = 2 AND ends > now()"
            is_read = lambda: any("automatic view" in line for line, in rows(connection, f"EXPLAIN (COSTS off) {shown}"))  # noqa: E731
            until = time.monotonic() + PATIENCE_S
            while not is_read() and time.monotonic() < until:
                for kind in range(KINDS):
                    rows(connection, query, (kind,))
            self.tally.that(is_read(), "it is read")
            for turn in range(60):
                if turn % 3 == 0:
                    self.write(connection, self.dice)
                for session in (connection, computing):
                    session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ" if turn % 2 else "BEGIN")
                found = [rows(connection, query, (kind,)) for kind in range(KINDS)]
                connection.execute("SET LOCAL dogwood.auto_views = off")
                # Nobody else writes, and now() is when the transaction began.
                expected = [rows(connection, query, (kind,)) for kind in range(KINDS)]
                self.tally.equal(found, expected, "as it is computed")
                for session in (connection, computing):
                    session.execute("COMMIT")
                time.sleep(0.02)
            day = "SELECT count(*) FROM events WHERE kind = 3 AND day > current_date - 2"
            for _ in range(8):
                rows(connection, day)
            why = rows(connection, f"EXPLAIN (COSTS off) {day}")
            self.tally.that(any("Why not a view: it depends on the session" in line for line, in why), "what depends on a time zone is computed", why)

    def erased_before_they_come(self):
        """Who is forgotten does not come in when the clock gets there."""
        with self.server.connect() as connection:
            subscriber = Subscriber(self.server, "v_open", VIEWS["v_open"], "cursor").begin()
            for lead_s in (1.5, 6, 24, 96):
                keys = [next(self.next_key) for _ in range(20)]
                connection.execute("INSERT INTO people VALUES (1000, 'soon gone')")
                ((due,),) = rows(connection, f"SELECT now() + interval '{lead_s} s'")
                for key in keys:
                    connection.execute("INSERT INTO events (id, person, kind, n, starts) VALUES (%s, 1000, 1, 1, %s)", (key, due))
                connection.execute("GDPR FORGET people 1000")
                # A machine that is busy may have come to their moment first.
                if rows(connection, "SELECT now()")[0][0] < due:
                    break
            key = next(self.next_key)
            connection.execute(f"INSERT INTO events (id, person, kind, n, starts) VALUES ({key}, 1, 1, 1, '{due}'::timestamptz + interval '100 ms')")
            self.tally.that(subscriber.wait_for(lambda told: any(row[0] == str(key) for _, change, row in told if change), PATIENCE_S), "somebody else's comes")
            come = [row for _, change, row in subscriber.told if change and row[0] in {str(key) for key in keys}]
            self.tally.equal(come, [], "nothing of who was forgotten")
            self.tally.equal(rows(connection, "SELECT id FROM v_open WHERE person = 1000"), [], "nor in the view")
            last = max(when for when, _, _ in subscriber.told)
            subscriber.end()
            # What came since a time that was told.
            connection.execute("BEGIN")
            connection.execute(f"DECLARE later CURSOR FOR SUBSCRIBE ({VIEWS['v_open']}) WITH (as_of = {last}, progress)")
            later = next(next_key for next_key in self.next_key)
            with self.server.connect() as writer:
                writer.execute(f"INSERT INTO events (id, person, kind, n, starts) VALUES ({later}, 1, 1, 1, now() + interval '100 ms')")
            told, until = [], time.monotonic() + PATIENCE_S
            while time.monotonic() < until and not any(row[1] == 1 and row[2] == later for row in told):
                told += rows(connection, "FETCH ALL later WITH (timeout = '200ms')")
            self.tally.that(any(row[1] == 1 and row[2] == later for row in told), "it comes", told[-3:])
            self.tally.that(all(row[0] > last for row in told if row[1] is not None), "after that time only", told[:3])
            connection.execute("ROLLBACK")

    def one_snapshot(self):
        """now() is when a transaction began, and what it has changed is computed with it."""
        with self.server.connect() as connection, self.server.connect() as other:
            key, mine = next(self.next_key), next(self.next_key)
            other.execute(f"INSERT INTO events (id, person, kind, n, starts, ends) VALUES ({key}, 1, 1, 1, now(), now() + interval '300 ms')")
            there = f"SELECT count(*) FROM v_open WHERE id IN ({key}, {mine})"
            connection.execute("BEGIN")
            self.tally.equal(rows(connection, there), [(1,)], "it is there")
            until = time.monotonic() + PATIENCE_S
            while rows(other, there) != [(0,)] and time.monotonic() < until:
                time.sleep(0.02)
            self.tally.equal(rows(other, there), [(0,)], "for others it has gone")
            self.tally.equal(rows(connection, there), [(1,)], "for whoever began before it has not")
            connection.execute(f"INSERT INTO events (id, person, kind, n, starts, ends) VALUES ({mine}, 1, 1, 1, now(), now() + interval '1 hour')")
            self.tally.equal(rows(connection, there), [(2,)], "with a row of its own")
            connection.execute("ROLLBACK")
            for bad, code in [("SELECT id FROM events WHERE starts > now() - interval '1 month'", "0A000"), ("SELECT now() FROM events", "0A000"),
                              ("SELECT id FROM events WHERE starts <> now()", "0A000"), ("SELECT id FROM events WHERE starts > statement_timestamp()", "0A000")]:
                self.tally.equal(state_of(other.execute, f"CREATE MATERIALIZED VIEW bad AS {bad}"), code, bad)
                self.tally.equal(state_of(other.execute, f"COPY (SUBSCRIBE ({bad})) TO STDOUT"), code, f"SUBSCRIBE, {bad}")

    def quiet(self):
        """The clock has nothing to do: there is no commit while no row is due."""
        with self.server.connect() as connection, self.server.connect() as reader:
            connection.execute("DELETE FROM events WHERE ends IS NULL OR ends > now() - interval '10 seconds' OR starts > now() - interval '10 seconds' OR local > localtimestamp - interval '10 seconds'")
            connection.execute("DELETE FROM events")
            key = next(self.next_key)
            connection.execute(f"INSERT INTO events (id, person, kind, n, starts) VALUES ({key}, 1, 1, 1, now() + interval '1 hour')")
            subscriber = Subscriber(self.server, "v_open", VIEWS["v_open"], "cursor", options="progress").begin()
            markers = lambda told: [when for when, change, _ in told if change is None]  # noqa: E731
            self.tally.that(subscriber.wait_for(lambda told: len(markers(told)) >= 4, PATIENCE_S), "markers come", subscriber.error)
            self.tally.equal(len(set(markers(subscriber.told)[1:])), 1, "of one time")
            self.tally.equal(rows(reader, "SELECT id FROM v_open"), [], "it is not there yet")
            subscriber.end()

    def killed(self):
        """After kill -9 and a restart views are filled for the clock as it is."""
        with self.server.connect() as connection:
            for _ in range(150):
                self.write(connection, self.dice)
        for _ in range(2):
            self.server.kill()
            self.server.start()
            with self.server.connect() as connection:
                connection.execute("SET dogwood.auto_views = off")
                for name in self.queries:
                    self.compare(connection, name, "right after a restart")
                self.ready(connection)
                for _ in range(3):
                    for name in self.queries:
                        self.compare(connection, name, "after a restart")
                        self.count_reads(connection, name)
                    self.write(connection, self.dice)


if __name__ == "__main__":
    run_check(Temporal(options(7, seconds=8, views=8)))
