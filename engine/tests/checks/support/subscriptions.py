"""For checks/subscriptions.py: subscribers that write down what they are told, writers that write down what they did, and a model.

The model is a small SQLite database. Every transaction leaves a row in `marks`; a subscription to that table says at which
time it committed. Transactions of one time touch different rows, so that their effects may be applied in any order.
"""
import datetime
import random
import sqlite3
import threading
import time
import traceback

import psycopg

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT, city TEXT)",
    "CREATE TABLE stories (id INT PRIMARY KEY, title TEXT, author INT NOT NULL OWNED_BY users(id), points INT, parent INT)",
    """CREATE TABLE votes (id INT PRIMARY KEY, voter INT NOT NULL OWNED_BY users(id),
        story INT NOT NULL REFERENCES ONLY stories(id) ON DELETE CASCADE, value INT)""",
    "CREATE TABLE tags (id INT PRIMARY KEY, word TEXT, story INT)",
    "CREATE TABLE marks (id INT PRIMARY KEY)",
    "CREATE MATERIALIZED VIEW scores AS SELECT story, count(*) AS n, sum(value) AS s FROM votes GROUP BY story",
    "CREATE MATERIALIZED VIEW authors AS SELECT u.id, u.city, count(s.id) AS n FROM users u LEFT JOIN stories s ON s.author = u.id GROUP BY u.id, u.city",
    "CREATE MATERIALIZED VIEW busy AS SELECT a.city, count(*) AS n, sum(a.n) AS s FROM authors a WHERE a.n > 1 GROUP BY a.city",
]

MODEL = """PRAGMA foreign_keys = ON;
    CREATE TABLE users (id INT PRIMARY KEY, name TEXT, city TEXT);
    CREATE TABLE stories (id INT PRIMARY KEY, title TEXT, author INT NOT NULL REFERENCES users(id) ON DELETE CASCADE, points INT, parent INT);
    CREATE TABLE votes (id INT PRIMARY KEY, voter INT NOT NULL REFERENCES users(id) ON DELETE CASCADE,
        story INT NOT NULL REFERENCES stories(id) ON DELETE CASCADE, value INT);
    CREATE TABLE tags (id INT PRIMARY KEY, word TEXT, story INT);
    CREATE VIEW scores AS SELECT story, count(*) AS n, sum(value) AS s FROM votes GROUP BY story;
    CREATE VIEW authors AS SELECT u.id, u.city, count(s.id) AS n FROM users u LEFT JOIN stories s ON s.author = u.id GROUP BY u.id, u.city;
    CREATE VIEW busy AS SELECT a.city, count(*) AS n, sum(a.n) AS s FROM authors a WHERE a.n > 1 GROUP BY a.city;"""

COLUMNS = {"users": 3, "stories": 5, "votes": 4, "tags": 3}

# Queries that both sides understand.
QUERIES = {
    "users": "SELECT id, name, city FROM users",
    "votes": "SELECT id, voter, story, value FROM votes",
    "view": "SELECT story, n, s FROM scores",
    "view of views": "SELECT city, n, s FROM busy",
    "filter": "SELECT id, title FROM stories WHERE points > 40",
    "join": "SELECT v.id, u.name, s.title FROM votes v JOIN users u ON u.id = v.voter JOIN stories s ON s.id = v.story",
    "left join": "SELECT s.id, t.word FROM stories s LEFT JOIN tags t ON t.story = s.id",
    "groups": "SELECT u.city, count(*), sum(v.value), min(v.value), max(v.value) FROM votes v JOIN users u ON u.id = v.voter GROUP BY u.city",
    "of everything": "SELECT count(*), sum(value), count(DISTINCT voter) FROM votes",
    "distinct": "SELECT DISTINCT u.city, v.value FROM votes v JOIN users u ON u.id = v.voter",
    "copies": "SELECT value FROM votes",
    "top": "SELECT id, points FROM stories ORDER BY points DESC, id LIMIT 5",
    "top per key": "SELECT id, author, r FROM (SELECT id, author, row_number() OVER (PARTITION BY author ORDER BY points, id) AS r FROM stories) x WHERE r <= 2",
    "window": "SELECT id, sum(value) OVER (PARTITION BY story ORDER BY id) FROM votes",
    "union": "SELECT author FROM stories UNION SELECT voter FROM votes",
    "except": "SELECT id FROM users EXCEPT SELECT voter FROM votes",
    "exists": "SELECT id, title FROM stories s WHERE NOT EXISTS (SELECT 1 FROM votes v WHERE v.story = s.id AND v.value > 0)",
    "recursive": """WITH RECURSIVE below(root, id) AS (SELECT id, id FROM stories WHERE parent IS NULL
        UNION SELECT b.root, s.id FROM below b JOIN stories s ON s.parent = b.id) SELECT root, id FROM below""",
    "view and table": "SELECT s.title, c.n FROM stories s JOIN scores c ON c.story = s.id WHERE s.points < 70",
    "one author": "SELECT s.id, s.title, v.value FROM stories s JOIN votes v ON v.story = s.id WHERE s.author = {}",
    "one city": "SELECT count(*) FROM users WHERE city = 'Bern'",
    "some authors": "SELECT author, id, title FROM stories WHERE author IN ({}, {}, {})",
    "one view's key": "SELECT n, s FROM scores WHERE story = {}",
    # Parameters that no column equals, and branches that take different ones.
    "beyond": "SELECT id, points FROM stories WHERE points > {}",
    "the first few": "SELECT id, points FROM stories ORDER BY points DESC, id LIMIT {}",
    "either": "SELECT id, title FROM stories WHERE author = {} UNION ALL SELECT id, city FROM users WHERE city = {}",
    "one and all": "SELECT story, value FROM votes WHERE voter = {} UNION ALL SELECT id, points FROM stories",
    "one and one": "SELECT story FROM votes WHERE voter = {} UNION ALL SELECT id FROM stories WHERE author = {}",
    "either, once": "SELECT author FROM stories WHERE points > {} UNION SELECT voter FROM votes WHERE story = {}",
    "one without others": "SELECT id FROM users WHERE city = {} EXCEPT SELECT voter FROM votes WHERE value = {}",
    "both": "SELECT voter FROM votes WHERE story = {} INTERSECT SELECT author FROM stories WHERE points < {}",
}


def values(name, dice):
    """Parameters of one of the queries."""
    person, story, points = (lambda: dice.randint(1, 40)), (lambda: dice.randint(1, 60)), (lambda: dice.randint(0, 100))
    city = lambda: dice.choice(["Bern", "Lima"])  # noqa: E731
    return {"one author": lambda: [person()], "some authors": lambda: dice.sample(range(1, 41), 3), "one view's key": lambda: [story()],
            "beyond": lambda: [points()], "the first few": lambda: [dice.randint(0, 9)], "either": lambda: [person(), city()],
            "one and all": lambda: [person()], "one and one": lambda: [person(), person()], "either, once": lambda: [points(), story()],
            "one without others": lambda: [city(), dice.randint(-1, 5)], "both": lambda: [story(), points()]}.get(name, list)()


def as_text(row):
    """The values as COPY writes them, intervals included: Python has a comma behind the days, and no zero before the hours."""
    def text(value):
        if isinstance(value, datetime.timedelta):
            hours, rest = str(value - datetime.timedelta(days=value.days)).split(":", 1)
            days = f"{value.days} day{'s' * (value.days != 1)} " if value.days else ""
            return f"{days}{hours:0>2}:{rest.rstrip('0') if '.' in rest else rest}"
        return str(value)

    return tuple(None if value is None else text(value) for value in row)


class Model:
    """What is true after the transactions that were applied."""

    def __init__(self):
        self.base = sqlite3.connect(":memory:", isolation_level=None)
        self.base.executescript(MODEL)

    def apply(self, effects):
        for kind, table, value in effects:
            if kind == "put":
                names = [column[1] for column in self.base.execute(f"PRAGMA table_info({table})")]
                places = ", ".join("?" * len(names))
                changes = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
                self.base.execute(f"INSERT INTO {table} VALUES ({places}) ON CONFLICT (id) DO UPDATE SET {changes}", value)
            elif kind == "delete":
                self.base.execute(f"DELETE FROM {table} WHERE id = ?", (value,))
            else:
                self.base.execute(f"DELETE FROM {table}")

    def rows(self, query):
        found = {}
        for row in self.base.execute(query):
            row = as_text(row)
            found[row] = found.get(row, 0) + 1
        return found


class Subscriber(threading.Thread):
    """Writes down every row of one subscription: (time, difference, columns)."""

    def __init__(self, server, name, query, form, snapshot=True, progress=True, parameters=(), options=""):
        super().__init__(daemon=True)
        self.name, self.query, self.form = name, query, form
        self.server, self.snapshot, self.progress, self.parameters = server, snapshot, progress, parameters
        said = [f"snapshot = {str(snapshot).lower()}"] if not snapshot or not options and random.random() < 0.5 else []
        said += ["progress"] if progress else []
        said += [options] if options else []
        self.options = f" WITH ({', '.join(said)})" if said else ""
        self.told = []
        self.error = self.state = None
        self.marked = threading.Event()
        self.stopping = threading.Event()
        self.connection = None

    def statement(self):
        filled = self.query.format(*(repr(value) for value in self.parameters))
        return f"SUBSCRIBE ({filled}){self.options}"

    def tell(self, row):
        when, difference, *columns = row
        self.told.append((int(when), None if difference is None else int(difference), as_text(columns)))
        if difference is None:
            self.marked.set()

    def run(self):
        try:
            self.connection = self.server.connect()
            with self.connection.cursor() as cursor:
                if self.form == "copy":
                    with cursor.copy(f"COPY ({self.statement()}) TO STDOUT") as copy:
                        for row in copy.rows():
                            self.tell(row)
                            if self.stopping.is_set():
                                self.connection.cancel()
                else:
                    self.fetch(cursor)
        except psycopg.Error as error:
            self.error, self.state = error, error.sqlstate or "lost"
        except Exception:
            self.error, self.state = traceback.format_exc(limit=4), "broken"
        self.marked.set()

    def fetch(self, cursor):
        cursor.execute("BEGIN")
        if self.parameters:
            query = self.query.format(*["%s"] * len(self.parameters))
            cursor.execute(f"DECLARE c CURSOR FOR SUBSCRIBE ({query}){self.options}", self.parameters)
        else:
            cursor.execute(f"DECLARE c CURSOR FOR {self.statement()}")
        while not self.stopping.is_set():
            count = random.choice(["ALL", "1", "7", "100"])
            for row in cursor.execute(f"FETCH {count} c WITH (timeout = '150ms')").fetchall():
                self.tell(row)
        cursor.execute("COMMIT")

    def begin(self, within=20):
        """Starts, and waits until the first marker has come."""
        self.start()
        self.marked.wait(within)
        return self

    def closed(self):
        """The last time that was said to be closed."""
        return max((when for when, difference, _ in self.told if difference is None), default=0)

    def wait_for(self, condition, within=15):
        until = time.monotonic() + within
        while time.monotonic() < until:
            if condition(self.told) or self.state is not None:
                break
            time.sleep(0.01)
        return condition(self.told)

    def wait_for_end(self, within=15):
        self.join(within)
        return None if self.is_alive() else self.state

    def end(self):
        self.stopping.set()
        if self.form == "copy" and self.connection is not None and self.is_alive():
            try:
                self.connection.cancel()
            except psycopg.Error:
                pass
        self.join(20)
        if self.connection is not None:
            self.connection.close()


def replay(told, begin=None):
    """What the rows add up to after each of their times: [(time, closed, contents)]. Raises ValueError where the contract is broken."""
    contents, steps, last, closed = dict(begin or {}), [], None, -1
    for when, difference, row in told:
        if last is not None and when < last:
            raise ValueError(f"time {when} after {last}")
        if last is not None and closed < last < when:
            steps.append((last, False, dict(contents)))
        if difference is None:
            steps.append((when, True, dict(contents)))
            closed = when
        else:
            if when <= closed:
                raise ValueError(f"a change at {when}, which was closed")
            contents[row] = contents.get(row, 0) + difference
            if contents[row] == 0:
                del contents[row]
        last = when
    if last is not None and last > closed:
        steps.append((last, False, dict(contents)))
    for when, _, contents in steps:
        wrong = {row: count for row, count in contents.items() if count < 0}
        if wrong:
            raise ValueError(f"rows less than none at {when}: {list(wrong.items())[:3]}")
    return steps


def erasure_times(connection):
    """When people were forgotten, in order, as the audit log has it: a subscriber that is slow is told of several erasures at the time of the
    last."""
    return [time for time, in connection.execute("SELECT dogwood_time FROM dogwood.audit WHERE operation = 'forget' AND row_count > 0 ORDER BY number")]


def waits_for_erasure(when, until, erasures):
    """Whether a change of a time, or the rest of it, may have been told with an erasure's, as what waits then is added up: the next time
    that was told is `until`."""
    return any(when < erasure <= until for erasure in erasures)


class Writer(threading.Thread):
    """Random transactions; each that commits is written down as its effects."""

    numbers = iter(range(1, 1_000_000))
    lock = threading.Lock()

    def __init__(self, server, seed, transactions, ledger, people=40):
        super().__init__(daemon=True)
        self.server, self.dice, self.transactions, self.ledger, self.people = server, random.Random(seed), transactions, ledger, people
        self.unexpected = []

    def row(self, table):
        dice = self.dice
        maybe = lambda value: None if dice.random() < 0.1 else value  # noqa: E731
        person, story = dice.randint(1, self.people), dice.randint(1, 60)
        return {
            "users": (dice.randint(1, self.people), f"n{dice.randint(0, 99)}", maybe(dice.choice(["Bern", "Oslo", "Lima"]))),
            "stories": (story, f"t{dice.randint(0, 9)}", person, dice.randint(0, 100), maybe(dice.randint(1, 60)) if dice.random() < 0.6 else None),
            "votes": (dice.randint(1, 250), person, story, maybe(dice.randint(-2, 2))),
            "tags": (dice.randint(1, 60), maybe(f"w{dice.randint(0, 5)}"), story),
        }[table]

    def statement(self, connection):
        """Runs one; its effects."""
        dice = self.dice
        table = dice.choices(["users", "stories", "votes", "tags"], [2, 5, 7, 4])[0]
        width, kind = COLUMNS[table], dice.random()
        columns = {"users": "id, name, city", "stories": "id, title, author, points, parent", "votes": "id, voter, story, value", "tags": "id, word, story"}[table]
        if kind < 0.5:
            several = [self.row(table) for _ in range(dice.choice([1, 1, 1, 3]))]
            places = ", ".join("(" + ", ".join(["%s"] * width) + ")" for _ in several)
            put = connection.execute(f"INSERT INTO {table} VALUES {places} ON CONFLICT DO NOTHING RETURNING {columns}", [value for row in several for value in row])
            return [("put", table, row) for row in put.fetchall()]
        key = dice.randint(1, 60)
        which = dice.choice([f"id = {key}", f"id BETWEEN {key} AND {key + 3}", f"id % 9 = {key % 9}"])
        if kind < 0.8:
            change = dice.choice({
                "users": ["city = 'Lima'", "name = name || 'x'", "city = NULL", "name = 'same'"],
                "stories": ["points = points + 7", "points = 50", f"author = {dice.randint(1, self.people)}", f"parent = {dice.randint(1, 60)}", "parent = NULL", "title = 'same'"],
                "votes": ["value = value + 1", "value = NULL", f"story = {dice.randint(1, 60)}", f"voter = {dice.randint(1, self.people)}", "value = value"],
                "tags": ["word = 'w1'", "story = story + 1", "word = word || 'y'"],
            }[table])
            return [("put", table, row) for row in connection.execute(f"UPDATE {table} SET {change} WHERE {which} RETURNING {columns}").fetchall()]
        if table == "users":
            return []
        return [("delete", table, row[0]) for row in connection.execute(f"DELETE FROM {table} WHERE {which} RETURNING id").fetchall()]

    def transaction(self, connection):
        with Writer.lock:
            number = next(Writer.numbers)
        effects = []
        try:
            connection.execute("BEGIN")
            for _ in range(self.dice.choice([1, 1, 2, 4])):
                if self.dice.random() < 0.2:
                    connection.execute("SAVEPOINT here")
                    try:
                        found = self.statement(connection)
                        if self.dice.random() < 0.5:
                            connection.execute("ROLLBACK TO SAVEPOINT here")
                        else:
                            effects += found
                    except psycopg.Error as error:
                        if error.sqlstate not in REFUSED:
                            raise
                        connection.execute("ROLLBACK TO SAVEPOINT here")
                else:
                    effects += self.statement(connection)
            connection.execute("INSERT INTO marks VALUES (%s)", (number,))
            # Before it is answered: the subscribers may hear of it first.
            self.ledger[number] = effects
            if self.dice.random() < 0.15:
                self.ledger.pop(number)
                connection.execute("ROLLBACK")
            else:
                connection.execute("COMMIT")
        except psycopg.Error as error:
            self.ledger.pop(number, None)
            if not connection.closed:
                connection.execute("ROLLBACK")
            if error.sqlstate not in REFUSED:
                self.unexpected.append(f"{error.sqlstate} {error}")

    def run(self):
        try:
            with self.server.connect() as connection:
                connection.execute("SET lock_timeout = '10s'")
                for _ in range(self.transactions):
                    self.transaction(connection)
        except Exception:
            self.unexpected.append(traceback.format_exc(limit=4))


# What a random change may be refused for: keys, owners, a person being forgotten, other writers.
REFUSED = {"23503", "23505", "DG001", "DG002", "DG003", "40001", "40P01"}
