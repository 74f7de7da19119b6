"""Histories of lists and registers, looked through for what their isolation level forbids (after Elle: Kingsbury and Alvaro, VLDB 2020).

Threads append to lists, write registers and read both, in READ COMMITTED, REPEATABLE READ and SERIALIZABLE, with savepoints, rollbacks,
conflicts, and a server that is killed in between. Every element is written once, so that what a list holds says in which
order its writers came, and a register counts its versions. From that follow the dependencies between transactions:

    ww  one overwrote what the other wrote      wr  one read what the other wrote      rw  one overwrote what the other read

Forbidden to all: reads of what was rolled back or was not the writer's last, lost writes, circles of ww and wr, reading not one's
own writes, reading less than had been acknowledged before. To REPEATABLE READ besides: two snapshots in one transaction, and
circles with one rw, which is its own (lost update among them; write skew has two). To SERIALIZABLE all circles whose rw are of
such transactions, write skew among them. The checker proves on planted anomalies
that it finds each. HISTORIES_TRANSACTIONS (3000), HISTORIES_KILLS (3), HISTORIES_SEED.
"""
import bisect
import heapq
import os
import random
import threading
import time
from collections import Counter, defaultdict

import psycopg

from harness import Check, run_check

TRANSACTIONS = int(os.environ.get("HISTORIES_TRANSACTIONS", "3000"))
KILLS = int(os.environ.get("HISTORIES_KILLS", "3"))
SEED = int(os.environ.get("HISTORIES_SEED", "20261123"))
THREADS = 6
KEYS = 6
# A list is left for the next one when it is so long.
LENGTH_MAX = 48
SCHEMA = ["CREATE TABLE lists (k INT PRIMARY KEY, v INT[] NOT NULL)",
          "CREATE TABLE registers (k INT PRIMARY KEY, v INT NOT NULL, version INT NOT NULL)"]
COMMITTED, ABORTED, UNKNOWN = "committed", "aborted", "unknown"


class Transaction:
    """What one transaction did, as its client saw it: `operations` are (kind, key, value, statement began)."""

    def __init__(self, repeatable, serializable=False):
        self.repeatable = repeatable or serializable
        self.serializable = serializable
        self.began = None
        self.operations = []
        # Elements of savepoints that were rolled back.
        self.undone = set()
        self.state = ABORTED
        self.acknowledged = None


class Clients:
    """Makes a history."""

    def __init__(self, server, transactions):
        self.server = server
        self.history = []
        self.left = transactions
        self.lock = threading.Lock()
        self.next_element = 1
        self.counts = Counter()
        self.up = threading.Event()
        self.up.set()
        self.surprises = []

    def element(self):
        with self.lock:
            self.next_element += 1
            return self.next_element

    def key(self, dice):
        """One of the lists that are in use now."""
        with self.lock:
            place = dice.randrange(KEYS)
            return place + KEYS * (self.counts[place] // LENGTH_MAX)

    def appended(self, key):
        with self.lock:
            self.counts[key % KEYS] += 1

    def work(self, seed):
        dice, connection = random.Random(seed), None
        while True:
            with self.lock:
                if self.left <= 0:
                    break
                self.left -= 1
            if connection is None or connection.closed:
                self.up.wait()
                try:
                    connection = self.server.connect(connect_timeout=5)
                    connection.execute("SET lock_timeout = '5s'")
                except psycopg.Error:
                    connection = None
                    time.sleep(0.02)
                    continue
            transaction = Transaction(dice.random() < 0.5, dice.random() < 0.35)
            try:
                self.transact(connection, transaction, dice)
            except psycopg.Error as error:
                if error.sqlstate is None or error.sqlstate.startswith("57P"):
                    connection.close()
                elif error.sqlstate not in ("40001", "40P01", "55P03", "22012"):
                    self.surprises.append((error.sqlstate, str(error)))
                if not connection.closed:
                    try:
                        connection.execute("ROLLBACK")
                    except psycopg.Error:
                        connection.close()
            with self.lock:
                self.history.append(transaction)
        if connection is not None:
            connection.close()

    def transact(self, connection, transaction, dice):
        level = "SERIALIZABLE" if transaction.serializable else "REPEATABLE READ" if transaction.repeatable else "READ COMMITTED"
        transaction.began = time.monotonic()
        connection.execute(f"BEGIN ISOLATION LEVEL {level}")
        for _ in range(dice.randint(1, 5)):
            if dice.random() < 0.08:
                self.savepoint(connection, transaction, dice)
            else:
                self.operate(connection, transaction, dice)
        chance = dice.random()
        if chance < 0.05:
            connection.execute("ROLLBACK" if chance < 0.03 else "SELECT 1/0")
            return
        transaction.state = UNKNOWN
        try:
            connection.execute("COMMIT")
        except psycopg.Error as error:
            if error.sqlstate is not None and not error.sqlstate.startswith("57P"):
                transaction.state = ABORTED
            raise
        transaction.acknowledged = time.monotonic()
        transaction.state = COMMITTED

    def savepoint(self, connection, transaction, dice):
        connection.execute("SAVEPOINT s")
        before = len(transaction.operations)
        self.operate(connection, transaction, dice)
        if dice.random() < 0.5:
            if dice.random() < 0.5:
                try:
                    connection.execute("SELECT 1/0")
                except psycopg.errors.DivisionByZero:
                    pass
            connection.execute("ROLLBACK TO s")
            transaction.undone.update(value for kind, _, value, _ in transaction.operations[before:] if kind != "read")
            transaction.operations[before:] = [step for step in transaction.operations[before:] if step[0] == "read"]
        else:
            connection.execute("RELEASE s")

    def operate(self, connection, transaction, dice):
        chance, began = dice.random(), time.monotonic()
        if chance < 0.35:
            key, element = self.key(dice), self.element()
            # Written down first: what fails may have been done.
            transaction.operations.append(("append", key, element, began))
            done = connection.execute("UPDATE lists SET v = v || %s::int WHERE k = %s", (element, key))
            if done.rowcount == 0:
                connection.execute("INSERT INTO lists VALUES (%s, ARRAY[%s::int]) ON CONFLICT (k) DO UPDATE SET v = lists.v || excluded.v", (key, element))
            self.appended(key)
        elif chance < 0.5:
            # With a lock first, as those do who compute by themselves.
            key, element = self.key(dice), self.element()
            lock = dice.choice(["FOR UPDATE", "FOR NO KEY UPDATE"])
            found = connection.execute(f"SELECT v FROM lists WHERE k = %s {lock}", (key,)).fetchone()
            transaction.operations.append(("read", key, tuple(found[0]) if found else (), began))
            if found:
                transaction.operations.append(("append", key, element, time.monotonic()))
                connection.execute("UPDATE lists SET v = %s WHERE k = %s", (found[0] + [element], key))
                self.appended(key)
        elif chance < 0.62:
            key, element = -1 - dice.randrange(KEYS), self.element()
            transaction.operations.append(("write", key, element, began))
            version = connection.execute("UPDATE registers SET v = %s, version = version + 1 WHERE k = %s RETURNING version", (element, key)).fetchone()[0]
            transaction.operations[-1] = ("write", key, (version, element), began)
        elif chance < 0.74:
            key = -1 - dice.randrange(KEYS)
            value, version = connection.execute("SELECT v, version FROM registers WHERE k = %s", (key,)).fetchone()
            transaction.operations.append(("look", key, (version, value), began))
        else:
            key = self.key(dice)
            found = connection.execute("SELECT v FROM lists WHERE k = %s", (key,)).fetchone()
            transaction.operations.append(("read", key, tuple(found[0]) if found else (), began))


class Checker:
    """Looks through a history: `anomalies` says what it found. `lists` and `registers` are how they ended."""

    def __init__(self, history, lists, registers):
        self.anomalies = []
        self.history = history
        self.lists = lists
        self.writers = {}
        for number, transaction in enumerate(history):
            for kind, key, value, _ in transaction.operations:
                if kind in ("append", "write"):
                    self.writers[value if kind == "append" else value if isinstance(value, int) else value[1]] = number
        self.undone = {element: number for number, transaction in enumerate(history) for element in transaction.undone}
        self.registers = registers
        self.edges = defaultdict(set)
        self.against = defaultdict(set)

    def says(self, name, number, *detail):
        self.anomalies.append((name, number, *detail))

    def check(self):
        self.resolve()
        orders = {key: list(value) for key, value in self.lists.items()}
        orders.update(self.register_orders())
        self.final(orders)
        for number, transaction in enumerate(self.history):
            if transaction.state == COMMITTED:
                self.reads(number, transaction, orders)
        self.depend(orders)
        self.circles()
        return self.anomalies

    def resolve(self):
        """Transactions of which their client heard nothing stand if one of their elements is there, and then all must be."""
        there = {element for value in self.lists.values() for element in value}
        there |= {value for value, _ in self.registers.values()}
        seen = set(there)
        for number, transaction in enumerate(self.history):
            for kind, _, value, _ in transaction.operations:
                # Its own writes each transaction sees, whether it commits or not.
                if kind == "look" and self.writers.get(value[1]) != number:
                    seen.add(value[1])
        for transaction in self.history:
            if transaction.state == UNKNOWN:
                own = [value if kind == "append" else value[1] for kind, _, value, _ in transaction.operations
                       if kind == "append" or kind == "write" and not isinstance(value, int)]
                transaction.state = COMMITTED if any(element in seen for element in own) else ABORTED

    def register_orders(self):
        """Versions in their order, as the writers that committed were told them: each once, none left out but those of unknown writers."""
        orders = {}
        for number, transaction in enumerate(self.history):
            if transaction.state != COMMITTED:
                continue
            for kind, key, value, _ in transaction.operations:
                if kind == "write":
                    version, element = value
                    other = orders.setdefault(key, {}).setdefault(version, element)
                    if other != element:
                        self.says("lost write", number, key, version, element, other)
        return {key: [versions[version] for version in sorted(versions)] for key, versions in orders.items()}

    def final(self, orders):
        """What stands in the end: each element of a committed transaction once, no other."""
        for key, value in self.lists.items():
            if len(set(value)) != len(value):
                self.says("written twice", None, key)
            for element in value:
                writer = self.writers.get(element)
                if writer is None or self.history[writer].state == ABORTED or element in self.undone:
                    self.says("aborted write stands", writer, key, element)
        for number, transaction in enumerate(self.history):
            if transaction.state == COMMITTED:
                for kind, key, value, _ in transaction.operations:
                    if kind == "append" and value not in self.lists.get(key, ()):
                        self.says("lost write", number, key, value)
        for key, (value, version) in self.registers.items():
            order = orders.get(key)
            if order and order[-1] != value:
                self.says("lost write", self.writers.get(order[-1]), key, order[-1], value)

    def reads(self, number, transaction, orders):
        own, before = defaultdict(list), {}
        for kind, key, value, began in transaction.operations:
            if kind == "append":
                own[key].append(value)
            elif kind == "write":
                own[key] = [value[1]]
            elif kind == "look":
                version, element = value
                if own[key] and own[key][-1] != element:
                    self.says("own write unread", number, key, element)
                self.foreign(number, key, element)
                if transaction.repeatable and not own[key] and before.setdefault(key, element) != element:
                    self.says("two snapshots", number, key)
            else:
                mine = len(own[key])
                foreign, tail = value[:len(value) - mine], value[len(value) - mine:]
                if list(tail) != own[key]:
                    self.says("own write unread", number, key, value)
                if list(foreign) != orders.get(key, [])[:len(foreign)]:
                    self.says("read of what never was", number, key, value)
                for element in foreign:
                    self.foreign(number, key, element)
                if foreign:
                    self.intermediate(number, key, foreign[-1])
                if transaction.repeatable and before.setdefault(key, foreign) != foreign:
                    self.says("two snapshots", number, key)
                since = transaction.began if transaction.repeatable else began
                # The snapshot of REPEATABLE READ is its first statement's: no earlier than its BEGIN.
                acknowledged = self.acknowledged_before(key, since)
                if len(foreign) < acknowledged:
                    self.says("stale read", number, key, value)

    def foreign(self, number, key, element):
        writer = self.writers.get(element, self.undone.get(element))
        if element in self.undone or writer is not None and self.history[writer].state == ABORTED:
            self.says("aborted read", number, key, element)

    def intermediate(self, number, key, element):
        """The last element that was read is the last that its writer wrote."""
        writer = self.writers.get(element)
        if writer is not None and writer != number:
            last = [value for kind, other, value, _ in self.history[writer].operations if kind == "append" and other == key][-1]
            if last != element:
                self.says("intermediate read", number, key, element)

    def acknowledged_before(self, key, moment):
        """How many elements of a list had been acknowledged then."""
        table = self.__dict__.setdefault("acknowledgements", {})
        if key not in table:
            pairs = []
            for place, element in enumerate(self.lists.get(key, ())):
                writer = self.writers.get(element)
                at = writer is not None and self.history[writer].acknowledged
                if at:
                    pairs.append((at, place + 1))
            pairs.sort()
            longest, lengths = 0, []
            for _, length in pairs:
                longest = max(longest, length)
                lengths.append(longest)
            table[key] = ([at for at, _ in pairs], lengths)
        times, lengths = table[key]
        place = bisect.bisect_left(times, moment)
        return lengths[place - 1] if place else 0

    def depend(self, orders):
        """The edges. `against` are those from a reader to who overwrote what it read."""
        for key, order in orders.items():
            writers = [self.writers.get(element) for element in order]
            for one, other in zip(writers, writers[1:]):
                if one is not None and other is not None and one != other and self.stand(one, other):
                    self.edges[one].add(other)
        places = {key: {element: place for place, element in enumerate(order)} for key, order in orders.items()}
        for number, transaction in enumerate(self.history):
            if transaction.state != COMMITTED:
                continue
            own = set()
            for kind, key, value, _ in transaction.operations:
                if kind in ("append", "write"):
                    own.add(value if kind == "append" else value[1])
                    continue
                if kind == "look":
                    seen = value[1]
                else:
                    foreign = [element for element in value if element not in own]
                    seen = foreign[-1] if foreign else None
                if seen in own:
                    continue
                order = orders.get(key, [])
                place = places.get(key, {}).get(seen, -1)
                if place >= 0:
                    writer = self.writers.get(seen)
                    if writer is not None and writer != number and self.stand(writer):
                        self.edges[writer].add(number)
                if place + 1 < len(order):
                    follower = self.writers.get(order[place + 1])
                    if follower is not None and follower != number and self.stand(follower):
                        self.against[number].add(follower)

    def stand(self, *numbers):
        return all(self.history[number].state == COMMITTED for number in numbers)

    def circles(self):
        """Circles of ww and wr; for REPEATABLE READ those that one rw of its own closes, for SERIALIZABLE all with rw of theirs."""
        rank = self.ranked(self.edges, "circle of ww and wr")
        if len(rank) == sum(transaction.state == COMMITTED for transaction in self.history):
            both = defaultdict(set, {number: set(followers) for number, followers in self.edges.items()})
            for number, followers in self.against.items():
                if self.history[number].serializable:
                    both[number] |= followers
            self.ranked(both, "circle with rw of SERIALIZABLE")
        for number, followers in self.against.items():
            if not self.history[number].repeatable or rank.get(number) is None:
                continue
            for follower in followers:
                if rank.get(follower) is not None and self.leads(follower, number, rank):
                    self.says("circle with one rw", number, follower)

    def ranked(self, edges, name):
        """A place for each transaction behind those that it follows; those that follow each other have none."""
        degree = Counter(follower for followers in edges.values() for follower in followers)
        ready = [number for number, transaction in enumerate(self.history) if transaction.state == COMMITTED and not degree[number]]
        heapq.heapify(ready)
        rank = {}
        while ready:
            number = heapq.heappop(ready)
            rank[number] = len(rank)
            for follower in edges.get(number, ()):
                degree[follower] -= 1
                if not degree[follower]:
                    heapq.heappush(ready, follower)
        stuck = [number for number, transaction in enumerate(self.history) if transaction.state == COMMITTED and number not in rank]
        if stuck:
            self.says(name, stuck[0], len(stuck))
        return rank

    def leads(self, start, goal, rank):
        """Whether ww and wr lead from one to the other."""
        open_, seen = [start], {start}
        while open_:
            number = open_.pop()
            if number == goal:
                return True
            for follower in self.edges.get(number, ()):
                if follower not in seen and rank.get(follower, rank[goal] + 1) <= rank[goal]:
                    seen.add(follower)
                    open_.append(follower)
        return False


def planted():
    """Histories with one anomaly each, and what the checker must call it."""
    def transaction(*operations, repeatable=True, serializable=False, state=COMMITTED, began=0.0, acknowledged=None, undone=()):
        made = Transaction(repeatable, serializable)
        made.began, made.state, made.acknowledged = began, state, acknowledged
        made.operations = [(kind, key, value, began) for kind, key, value in operations]
        made.undone = set(undone)
        return made

    append, read = (lambda key, value: ("append", key, value)), (lambda key, *value: ("read", key, value))
    write, look = (lambda key, *value: ("write", key, value)), (lambda key, *value: ("look", key, value))
    return [
        ("aborted read", [transaction(append(1, 1), state=ABORTED), transaction(read(1, 1))], {1: [1]}, {}),
        ("aborted write stands", [transaction(append(1, 1), state=ABORTED)], {1: [1]}, {}),
        ("aborted write stands", [transaction(undone=[1])], {1: [1]}, {}),
        ("lost write", [transaction(append(1, 1))], {1: []}, {}),
        ("lost write", [transaction(write(-1, 1, 5)), transaction(write(-1, 1, 6))], {}, {-1: (6, 1)}),
        ("intermediate read", [transaction(append(1, 1), append(1, 2)), transaction(read(1, 1))], {1: [1, 2]}, {}),
        ("read of what never was", [transaction(append(1, 1)), transaction(append(1, 2)), transaction(read(1, 2))], {1: [1, 2]}, {}),
        ("own write unread", [transaction(append(1, 1), read(1))], {1: [1]}, {}),
        ("own write unread", [transaction(write(-1, 1, 5), look(-1, 0, 0))], {}, {-1: (5, 1)}),
        ("two snapshots", [transaction(append(1, 1)), transaction(read(1), read(1, 1))], {1: [1]}, {}),
        ("two snapshots", [transaction(write(-1, 1, 5)), transaction(look(-1, 0, 0), look(-1, 1, 5))], {}, {-1: (5, 1)}),
        ("stale read", [transaction(append(1, 1), acknowledged=1.0), transaction(read(1), repeatable=False, began=2.0)], {1: [1]}, {}),
        ("circle of ww and wr", [transaction(append(1, 1), append(2, 2)), transaction(append(1, 3), append(2, 4))], {1: [1, 3], 2: [4, 2]}, {}),
        ("circle of ww and wr", [transaction(append(1, 1), read(2, 2)), transaction(append(2, 2), read(1, 1))], {1: [1], 2: [2]}, {}),
        # Both read nothing of the list and append: an update is lost, though both elements stand.
        ("circle with one rw", [transaction(read(1), append(1, 1)), transaction(read(1), append(1, 2))], {1: [1, 2]}, {}),
        ("circle with one rw", [transaction(append(1, 1), append(2, 2)), transaction(read(1), read(2, 2))], {1: [1], 2: [2]}, {}),
        ("circle with one rw", [transaction(look(-1, 0, 0), write(-1, 1, 5)), transaction(look(-1, 0, 0), write(-1, 2, 6))], {}, {-1: (6, 2)}),
        # Allowed: write skew in REPEATABLE READ, the rest in READ COMMITTED.
        (None, [transaction(read(1), append(2, 2)), transaction(read(2), append(1, 1))], {1: [1], 2: [2]}, {}),
        (None, [transaction(read(1), append(2, 2), serializable=True), transaction(read(2), append(1, 1))], {1: [1], 2: [2]}, {}),
        ("circle with rw of SERIALIZABLE",
         [transaction(read(1), append(2, 2), serializable=True), transaction(read(2), append(1, 1), serializable=True)], {1: [1], 2: [2]}, {}),
        (None, [transaction(append(1, 1)), transaction(read(1), read(1, 1), repeatable=False)], {1: [1]}, {}),
        (None, [transaction(read(1), append(1, 1), repeatable=False), transaction(read(1), append(1, 2), repeatable=False)], {1: [1, 2]}, {}),
        (None, [transaction(append(1, 1), state=UNKNOWN), transaction(append(1, 2), state=UNKNOWN)], {1: [1]}, {}),
        # Killed with its commit, having looked at its own write; another is told the same version.
        (None, [transaction(write(-1, 1, 5), look(-1, 1, 5), state=UNKNOWN), transaction(write(-1, 1, 6))], {}, {-1: (6, 1)}),
        ("lost write", [transaction(write(-1, 1, 5), state=UNKNOWN), transaction(look(-1, 1, 5)), transaction(write(-1, 1, 6))], {}, {-1: (6, 1)}),
    ]


class Histories(Check):
    def run(self):
        for expected, history, lists, registers in planted():
            found = {name for name, *_ in Checker(history, lists, registers).check()}
            self.tally.that(expected in found if expected else not found, f"planted: {expected} in {[step.operations for step in history]}", found)
        self.tally.case(self.random)

    def random(self):
        with self.server.connect() as connection:
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute("INSERT INTO registers SELECT -k, 0, 0 FROM generate_series(1, %s) k", (KEYS,))
        clients = Clients(self.server, TRANSACTIONS)
        began = time.monotonic()
        threads = [threading.Thread(target=clients.work, args=(SEED + number,), daemon=True) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for kill in range(KILLS):
            while clients.left > TRANSACTIONS * (KILLS - kill) // (KILLS + 1) and any(thread.is_alive() for thread in threads):
                time.sleep(0.01)
            clients.up.clear()
            self.server.kill()
            self.server.start()
            clients.up.set()
        for thread in threads:
            thread.join(3600)
            self.tally.that(not thread.is_alive(), "a client is stuck")
        took = time.monotonic() - began
        with self.server.connect() as connection:
            lists = dict(connection.execute("SELECT k, v FROM lists").fetchall())
            registers = {key: (value, version) for key, value, version in connection.execute("SELECT k, v, version FROM registers").fetchall()}
        states = Counter((step.repeatable, step.state) for step in clients.history)
        serializable = sum(step.serializable and step.state == COMMITTED for step in clients.history)
        checker = Checker(clients.history, lists, registers)
        anomalies = checker.check()
        self.tally.equal(anomalies[:5], [], f"anomalies ({len(anomalies)}) with HISTORIES_SEED={SEED}")
        self.tally.equal(clients.surprises[:3], [], "errors that are none of a conflict")
        committed = sum(count for (_, state), count in states.items() if state == COMMITTED)
        self.tally.that(committed > TRANSACTIONS // 2, "most transactions commit", states)
        edges = sum(map(len, checker.edges.values())), sum(map(len, checker.against.values()))
        self.tally.that(min(edges) > TRANSACTIONS // 10, "transactions depend on each other", edges)
        print(f"{len(clients.history)} transactions in {took:.0f} s with {KILLS} kills and seed {SEED}: {committed} committed, "
              f"{states[True, COMMITTED] - serializable} of them REPEATABLE READ, {serializable} SERIALIZABLE; {edges[0]} ww and wr, {edges[1]} rw, {len(anomalies)} anomalies", flush=True)


if __name__ == "__main__":
    run_check(Histories())
