"""Views follow later, several commits as one, what nobody reads in between; and nobody can tell but by the time that it takes.

Bursts of writes that no reader comes between, and then a reader on another connection, by each way to a view: named, automatic, by the
order of an index, several in one statement, above another, in a transaction of one snapshot. It has to find all that was answered. Also:
that what is not read goes through views together, that what is read or watched does not, erasures and definitions amid a burst, who comes
back to an earlier time of a subscription, kill -9.

    deferral.py [--seed S] [--rounds N]      N bursts for each way (15)
"""
import time

from harness import Check, options, rows, run_check, start_writers, state_of

PEOPLE = 8
SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), shelf INT NOT NULL, weight INT NOT NULL)",
    "CREATE INDEX notes_weight ON notes (weight)",
    "CREATE TABLE marks (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), weight INT NOT NULL)",
    "CREATE INDEX marks_weight ON marks (weight)",
    "CREATE TABLE shelves (id INT PRIMARY KEY, name TEXT)",
    "CREATE MATERIALIZED VIEW by_person AS SELECT person, count(*) AS n, sum(weight) AS weight FROM notes GROUP BY person",
    "CREATE MATERIALIZED VIEW total AS SELECT sum(n)::int AS n FROM by_person",
    "CREATE MATERIALIZED VIEW by_shelf AS SELECT shelves.name, count(*) AS n FROM notes JOIN shelves ON shelves.id = notes.shelf GROUP BY shelves.name",
]
BY_KEY = "SELECT s.name, count(*) FROM notes n JOIN shelves s ON s.id = n.shelf WHERE n.person = %s GROUP BY s.name"
HEAVIEST = "SELECT id FROM notes WHERE weight > 0 ORDER BY weight DESC, id LIMIT 3"
COMMITS = 200
GROUPS = "SELECT groups FROM dogwood.views WHERE name = 'by_person'"


class Deferral(Check):
    def run(self):
        self.set_up(SCHEMA)
        self.held, self.next_key = {}, 1
        with self.server.connect() as self.writer, self.server.connect() as self.reader:
            for key in range(PEOPLE):
                self.writer.execute("INSERT INTO people VALUES (%s, %s)", (key, f"n{key}"))
                self.writer.execute("INSERT INTO shelves VALUES (%s, %s)", (key, f"s{key}"))
            for _ in range(40):
                self.write()
            for _ in range(12):
                rows(self.reader, BY_KEY, (1,))
                rows(self.reader, HEAVIEST)
            for case in (self.seen, self.together, self.order_alone, self.one_snapshot, self.resumed, self.erased, self.defined, self.killed):
                began = time.monotonic()
                self.tally.case(case)
                print(f"{case.__name__}: {time.monotonic() - began:.1f} s", flush=True)

    def write(self):
        """A row comes, changes or goes; each is answered."""
        dice = self.dice.random()
        if dice < 0.6 or not self.held:
            row = (self.next_key, self.dice.randrange(PEOPLE), self.dice.randrange(PEOPLE), self.dice.randrange(1, 50))
            self.next_key += 1
            self.writer.execute("INSERT INTO notes VALUES (%s, %s, %s, %s)", row)
            self.held[row[0]] = row
        else:
            key = self.dice.choice(list(self.held))
            if dice < 0.85:
                weight = self.dice.randrange(1, 50)
                self.writer.execute("UPDATE notes SET weight = %s WHERE id = %s", (weight, key))
                self.held[key] = (*self.held[key][:3], weight)
            else:
                self.writer.execute("DELETE FROM notes WHERE id = %s", (key,))
                del self.held[key]

    def burst(self, most=12):
        for _ in range(self.dice.randrange(1, most)):
            self.write()

    def by(self, column, value=lambda row: 1):
        found = {}
        for row in self.held.values():
            found[row[column]] = found.get(row[column], 0) + value(row)
        return found

    def ways(self):
        """How a reader comes to what views hold, and what it has to find there."""
        person = self.dice.randrange(PEOPLE)
        counts, weights = self.by(1), self.by(1, lambda row: row[3])
        shelves = {f"s{shelf}": count for shelf, count in self.by(2).items()}
        own = {}
        for row in self.held.values():
            if row[1] == person:
                own[f"s{row[2]}"] = own.get(f"s{row[2]}", 0) + 1
        heaviest = sorted(self.held.values(), key=lambda row: (-row[3], row[0]))[:3]
        return [
            ("a view", "SELECT n, weight FROM by_person WHERE person = %s" % person, [(counts[person], weights[person])] if person in counts else []),
            ("a view above", "SELECT n FROM total", [(len(self.held),)]),
            ("a join", "SELECT name, n FROM by_shelf ORDER BY name", sorted(shelves.items())),
            ("several views", "SELECT (SELECT n FROM total), (SELECT sum(n) FROM by_shelf)::int, (SELECT count(*) FROM notes)", [(len(self.held),) * 3]),
            ("an automatic view", BY_KEY % person + " ORDER BY 1", sorted(own.items())),
            ("an ordered index", HEAVIEST, [(row[0],) for row in heaviest]),
        ]

    def seen(self):
        """Whoever was told of a commit finds it, whichever way it goes."""
        for way in range(len(self.ways())):
            for _ in range(self.options.rounds):
                self.burst()
                name, sql, expected = self.ways()[way]
                self.tally.equal(rows(self.reader, sql), expected, name)
        for _ in range(self.options.rounds):
            self.burst(30)
            for name, sql, expected in self.ways():
                self.tally.equal(rows(self.reader, sql), expected, f"{name}, one after the other")

    def groups(self, between=""):
        """A view goes through so many groups while a row is changed so often, each time by a transaction of its own, in one message.
        With how long one took."""
        self.change(1)
        key, person, shelf, _ = next(row for row in self.held.values() if row[1] == 1)
        (before,), = rows(self.reader, GROUPS)
        began = time.monotonic()
        self.writer.execute("".join(f"BEGIN; UPDATE notes SET weight = {weight % 49 + 1} WHERE id = {key}; COMMIT; {between}" for weight in range(COMMITS)))
        self.held[key] = (key, person, shelf, (COMMITS - 1) % 49 + 1)
        took = (time.monotonic() - began) / COMMITS
        (after,), = rows(self.reader, GROUPS)
        return after - before, took

    def together(self):
        """What nobody reads goes through a view together; what somebody reads or watches goes by itself."""
        (unread, took), (read, _) = self.groups(), self.groups("SELECT n FROM by_person WHERE person = 1;")
        # Where a commit takes longer than a view worker rests, each goes by itself.
        self.tally.that(unread < COMMITS * 0.7 or took > 0.001, "what nobody reads goes through together", (unread, took))
        # Who has waited for long computes, and does not wait for the rest.
        self.tally.that(COMMITS * 0.8 < read <= COMMITS + 2, "what is read goes by itself", read)
        with self.server.connect() as watcher:
            watcher.execute("BEGIN")
            watcher.execute("DECLARE c CURSOR FOR SUBSCRIBE (SELECT person, weight FROM by_person)")
            watcher.execute("FETCH ALL c WITH (timeout = '1s')")
            watched, _ = self.groups()
            self.tally.that(watched == COMMITS, "what is watched goes by itself", watched)
            told = {row[0] for row in watcher.execute("FETCH ALL c WITH (timeout = '1s')").fetchall() if row[1] is not None}
            self.tally.equal(len(told), COMMITS + 1, "each commit is told with its own time")
            watcher.execute("ROLLBACK")
        print(f"    {COMMITS} commits in {unread} groups unread, {read} read, {watched} watched", flush=True)

    def order_alone(self):
        """An order in memory that nobody reads takes together what comes while its worker rests, also where no view is concerned."""
        self.writer.execute("INSERT INTO marks SELECT i, i % 8, i FROM generate_series(1, 100) i")
        stage = "SELECT stage, lag_us FROM dogwood.views WHERE definition = 'ordered index on marks (weight)'"
        until = time.monotonic() + 20
        while [row[0] for row in rows(self.reader, stage)] != ["ready"] and time.monotonic() < until:
            rows(self.reader, "SELECT id FROM marks WHERE weight < 10")
        # After an erasure its worker knows of nobody who has read it.
        self.writer.execute("INSERT INTO people VALUES (900, 'n900')")
        self.writer.execute("GDPR FORGET people 900")
        lags = []
        for attempt in range(3):
            for key in range(COMMITS * 3):
                self.writer.execute("INSERT INTO marks VALUES (%s, 1, %s)", (1_000 * (attempt + 1) + key, key))
            lags.append(max(row[1] for row in rows(self.reader, stage)))
        # If each commit cost it a rest, the last would be behind by as many, until writers wait.
        self.tally.that(min(lags) < 100_000, "an order in memory is not far behind", lags)
        print(f"    {COMMITS * 3} commits, an order in memory {min(lags) / 1_000:.1f} ms behind", flush=True)

    def change(self, person):
        """A row of a person becomes another, surely."""
        key = next((key for key, row in self.held.items() if row[1] == person), None)
        if key is None:
            key = self.next_key
            self.next_key += 1
            self.writer.execute("INSERT INTO notes VALUES (%s, %s, 1, 1)", (key, person))
            self.held[key] = (key, person, 1, 1)
        self.held[key] = (*self.held[key][:3], self.held[key][3] % 49 + 1)
        self.writer.execute("UPDATE notes SET weight = %s WHERE id = %s", (self.held[key][3], key))

    def one_snapshot(self):
        """All statements of a transaction find what was answered before its first, and nothing later."""
        for _ in range(self.options.rounds):
            self.burst()
            ways = self.ways()
            self.reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            rows(self.reader, "SELECT count(*) FROM people")
            self.burst()
            for name, sql, expected in ways:
                self.tally.equal(rows(self.reader, sql), expected, f"{name}, in one snapshot")
            self.reader.execute("COMMIT")

    def resumed(self):
        """Who comes back to a subscription is told of each commit since."""
        query = "SUBSCRIBE (SELECT person, weight FROM by_person WHERE person = 2)"
        self.change(2)
        with self.server.connect() as watcher:
            watcher.execute("BEGIN")
            watcher.execute(f"DECLARE c CURSOR FOR {query} WITH (progress)")
            told = watcher.execute("FETCH ALL c WITH (timeout = '2s')").fetchall()
            watcher.execute("ROLLBACK")
            last = max(int(row[0]) for row in told)
            for _ in range(20):
                self.change(2)
            watcher.execute("BEGIN")
            watcher.execute(f"DECLARE c CURSOR FOR {query} AS OF {last}")
            told = watcher.execute("FETCH ALL c WITH (timeout = '2s')").fetchall()
            watcher.execute("ROLLBACK")
            self.tally.equal(len({row[0] for row in told}), 20, "each is told to who comes back")

    def erased(self):
        """An erasure amid a burst is through when it is answered, and takes nothing along."""
        for person in (3, 4):
            self.burst(30)
            self.reader.execute(f"GDPR FORGET people {person}")
            self.held = {key: row for key, row in self.held.items() if row[1] != person}
            for name, sql, expected in self.ways():
                self.tally.equal(rows(self.reader, sql), expected, f"{name}, after an erasure")
            self.tally.equal(rows(self.reader, f"SELECT * FROM by_person WHERE person = {person}"), [], "who was forgotten")
            self.writer.execute("INSERT INTO people VALUES (%s, 'again')", (person,))

    def defined(self):
        """Definitions amid bursts, and TRUNCATE."""
        for number in range(4):
            self.burst(20)
            self.reader.execute(f"CREATE MATERIALIZED VIEW more_{number} AS SELECT shelf, max(weight) AS most FROM notes GROUP BY shelf")
            self.burst(20)
            most = {}
            for row in self.held.values():
                most[row[2]] = max(most.get(row[2], 0), row[3])
            self.tally.equal(rows(self.reader, f"SELECT shelf, most FROM more_{number} ORDER BY 1"), sorted(most.items()), "a view that has just been made")
            self.burst(20)
            self.reader.execute(f"DROP MATERIALIZED VIEW more_{number}")
            for name, sql, expected in self.ways():
                self.tally.equal(rows(self.reader, sql), expected, f"{name}, after definitions")
        self.burst(20)
        self.reader.execute("TRUNCATE notes")
        self.held = {}
        self.burst(20)
        for name, sql, expected in self.ways():
            self.tally.equal(rows(self.reader, sql), expected, f"{name}, after TRUNCATE")

    def killed(self):
        """Writers and readers at once, and a crash: views are as of what was answered, before it and after it."""
        answered = [0] * 4

        def write(connection, number):
            for key in range(1_000_000 * (number + 1), 1_000_000 * (number + 2)):
                if state_of(connection.execute, f"INSERT INTO notes VALUES ({key}, 1, 1, 1)"):
                    return
                answered[number] += 1
        base = len(self.held)
        threads = start_writers(self, len(answered), write)
        until = time.monotonic() + 3
        while time.monotonic() < until:
            least = base + sum(answered)
            (seen, whole), = rows(self.reader, "SELECT (SELECT n FROM total), (SELECT count(*) FROM notes)")
            self.tally.that(seen == whole >= least, "beside writers", (seen, whole, least))
        self.server.kill()
        for thread in threads:
            thread.join()
        self.unexpected.clear()
        self.server.start()
        with self.server.connect() as reader:
            (seen, whole), = rows(reader, "SELECT (SELECT n FROM total), (SELECT count(*) FROM notes)")
            self.tally.that(seen == whole >= base + sum(answered), "after a crash", (seen, whole, base, answered))


if __name__ == "__main__":
    run_check(Deferral(options(20_261_130, rounds=15)))
