"""Transactions against each other: isolation, orphans, erasure amid writers, foreign keys amid deletions.

Every case runs against one server; `dogwood check` afterwards must find every invariant held. CONCURRENCY_ROUNDS (12) repeats the races.
"""
import os
import random
import struct
import threading
import time

from harness import Server, Tally, rows, state_of
from harness.protocol import SYNC, Raw, bind, message, parse, state
from support.single_statements import single_statements

ROUNDS = int(os.environ.get("CONCURRENCY_ROUNDS", "12"))
SEED = int(os.environ.get("CONCURRENCY_SEED", "20261121"))

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE groups (id INT PRIMARY KEY, title TEXT)",
    """CREATE TABLE members (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id),
       circle INT NOT NULL OWNS groups(id))""",
    "CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT)",
    """CREATE TABLE messages (id INT PRIMARY KEY, sender INT OWNED_BY people(id), receiver INT OWNED_BY people(id), body TEXT,
       ON DEL sender ANON (sender), ON DEL receiver ANON (receiver))""",
    "CREATE TABLE replies (id INT PRIMARY KEY, message INT NOT NULL OWNED_BY messages(id), body TEXT)",
    "CREATE TABLE parents (id INT PRIMARY KEY)",
    "CREATE TABLE children (id INT PRIMARY KEY, parent INT NOT NULL REFERENCES parents(id))",
    "CREATE TABLE heirs (id INT PRIMARY KEY, parent INT NOT NULL REFERENCES parents(id) ON DELETE CASCADE)",
    "CREATE TABLE accounts (id INT PRIMARY KEY, balance INT NOT NULL CHECK (balance >= 0))",
    "CREATE TABLE once (id INT PRIMARY KEY, code INT UNIQUE)",
]


def together(*bodies, timeout=40):
    """Runs each on its own thread from one starting line; their results, or the exceptions, in order."""
    gate, results = threading.Barrier(len(bodies)), [None] * len(bodies)

    def body(position):
        try:
            gate.wait()
            results[position] = bodies[position]()
        except Exception as error:
            results[position] = error

    threads = [threading.Thread(target=body, args=(position,), daemon=True) for position in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout)
    return ["stuck" if thread.is_alive() else result for thread, result in zip(threads, results)]


def last_owners(tally, server):
    """Two transactions each take one of a group's last two memberships away: exactly one may."""
    with server.connect() as one, server.connect() as two:
        for number in range(ROUNDS):
            base = 1000 + number * 10
            one.execute("INSERT INTO people VALUES (%s, 'a'), (%s, 'b')", (base, base + 1))
            one.execute("BEGIN")
            one.execute("INSERT INTO groups VALUES (%s, 'g')", (base,))
            one.execute("INSERT INTO members VALUES (%s, %s, %s), (%s, %s, %s)", (base, base, base, base + 1, base + 1, base))
            one.execute("COMMIT")
            one.execute("BEGIN")
            two.execute("BEGIN")
            one.execute("DELETE FROM members WHERE id = %s", (base,))
            two.execute("DELETE FROM members WHERE id = %s", (base + 1,))
            results = together(lambda: state_of(one.execute, "COMMIT"), lambda: state_of(two.execute, "COMMIT"))
            tally.equal(sorted(map(str, results)), ["", "DG001"], "one of two last memberships goes")
            tally.equal(rows(one, "SELECT count(*) FROM members WHERE circle = %s", (base,)), [(1,)], "a membership stays")
            tally.equal(rows(one, "SELECT count(*) FROM groups WHERE id = %s", (base,)), [(1,)], "the group stays")


def forget_amid_inserts(tally, server):
    """Others insert for a person while that person is forgotten."""
    for number in range(ROUNDS):
        person = 5000 + number
        connections = [server.connect() for _ in range(4)]
        try:
            connections[0].execute("INSERT INTO people VALUES (%s, 'x')", (person,))
            states, inserted = [], []

            def insert(connection, start, block):
                for key in range(start, start + 40):
                    def body():
                        if block:
                            connection.execute("BEGIN")
                        connection.execute("INSERT INTO notes VALUES (%s, %s, 'n')", (key, person))
                        if block:
                            connection.execute("COMMIT")
                    state = state_of(body)
                    states.append(state)
                    if state == "":
                        inserted.append(key)
                    elif block:
                        state_of(connection.execute, "ROLLBACK")

            def forget():
                time.sleep(0.02)
                for _ in range(50):
                    state = state_of(connections[0].execute, f"GDPR FORGET people {person}")
                    if state != "40001":
                        return state
                return state

            start = person * 1000
            results = together(forget, lambda: insert(connections[1], start, False), lambda: insert(connections[2], start + 100, True),
                               lambda: insert(connections[3], start + 200, False))
            tally.equal(results[0], "", "FORGET amid inserts")
            tally.that(set(states) <= {"", "23503", "DG002", "40001", "40P01"}, "inserts amid FORGET", sorted(set(states)))
            tally.equal(rows(connections[0], "SELECT count(*) FROM notes WHERE person = %s", (person,)), [(0,)], "no note of the forgotten")
            tally.equal(state_of(connections[0].execute, "INSERT INTO notes VALUES (%s, %s, 'late')", (start + 999, person)), "23503",
                        "an insert for the forgotten")
        finally:
            for connection in connections:
                connection.close()


def forget_amid_updates(tally, server):
    """Rows are handed to a person, and changed, while that person is forgotten."""
    for number in range(ROUNDS):
        person, other = 7000 + number * 2, 7001 + number * 2
        with server.connect() as one, server.connect() as two, server.connect() as three:
            one.execute("INSERT INTO people VALUES (%s, 'x'), (%s, 'y')", (person, other))
            for key in range(10):
                one.execute("INSERT INTO notes VALUES (%s, %s, 'n')", (person * 1000 + key, other if key % 2 else person))
            states = []

            def move():
                for key in range(10):
                    states.append(state_of(two.execute, "UPDATE notes SET person = %s WHERE id = %s", (person, person * 1000 + key)))

            def change():
                for _ in range(10):
                    states.append(state_of(three.execute, "UPDATE notes SET body = body || 'z' WHERE person IN (%s, %s)", (person, other)))

            def forget():
                for _ in range(50):
                    state = state_of(one.execute, f"GDPR FORGET people {person}")
                    if state != "40001":
                        return state
                return state

            results = together(forget, move, change)
            tally.equal(results, ["", None, None], "FORGET amid updates")
            tally.that(set(states) <= {"", "23503", "DG002", "40001", "40P01"}, "updates amid FORGET", sorted(set(states)))
            tally.equal(rows(one, "SELECT count(*) FROM notes WHERE person = %s", (person,)), [(0,)], "nothing names the forgotten")


def joint_forgets(tally, server):
    """Both owners of a message are forgotten at once: nothing of it stays, whoever is first."""
    with server.connect() as one, server.connect() as two:
        for number in range(ROUNDS):
            left, right = 9000 + number * 2, 9001 + number * 2
            one.execute("INSERT INTO people VALUES (%s, 'l'), (%s, 'r')", (left, right))
            for key in range(5):
                one.execute("INSERT INTO messages VALUES (%s, %s, %s, 'm')", (left * 100 + key, left, right))
                one.execute("INSERT INTO replies VALUES (%s, %s, 'm')", (left * 100 + key, left * 100 + key))
            def forget(connection, person):
                for _ in range(50):
                    state = state_of(connection.execute, f"GDPR FORGET people {person}")
                    if state != "40001":
                        return state
                return state
            results = together(lambda: forget(one, left), lambda: forget(two, right))
            tally.equal(results, ["", ""], "two FORGETs at once")
            for table in ("messages", "replies"):
                tally.equal(rows(one, f"SELECT count(*) FROM {table} WHERE id BETWEEN %s AND %s", (left * 100, left * 100 + 99)), [(0,)],
                            f"{table} of two forgotten owners")
            tally.equal(rows(one, "SELECT count(*) FROM messages WHERE sender IN (%s, %s) OR receiver IN (%s, %s)", (left, right) * 2),
                        [(0,)], "no message names them")


def last_members_forgotten(tally, server):
    """All members of a group are forgotten at once: the last one takes the group with them."""
    with server.connect() as one, server.connect() as two:
        for number in range(ROUNDS):
            base = 30000 + number * 10
            one.execute("INSERT INTO people VALUES (%s, 'a'), (%s, 'b')", (base, base + 1))
            one.execute("BEGIN")
            one.execute("INSERT INTO groups VALUES (%s, 'g')", (base,))
            one.execute("INSERT INTO members VALUES (%s, %s, %s), (%s, %s, %s)", (base, base, base, base + 1, base + 1, base))
            one.execute("COMMIT")
            results = together(lambda: state_of(one.execute, f"GDPR FORGET people {base}"),
                               lambda: state_of(two.execute, f"GDPR FORGET people {base + 1}"))
            tally.equal(results, ["", ""], "all members forgotten at once")
            tally.equal(rows(one, "SELECT count(*) FROM groups WHERE id = %s", (base,)), [(0,)], "the group goes with its last member")


def forget_waits_for_a_gift(tally, server):
    """A FORGET that waits for rows that are given away meanwhile leaves them to their new owner."""
    with server.connect() as one, server.connect() as two:
        # On a machine that is busy the gift may take its time.
        two.execute("SET dogwood.forget_wait = '30s'")
        for number in range(3):
            person, heir = 40000 + number * 2, 40001 + number * 2
            one.execute("INSERT INTO people VALUES (%s, 'a'), (%s, 'b')", (person, heir))
            one.execute("INSERT INTO notes VALUES (%s, %s, 'gift'), (%s, %s, 'own')", (person * 1000, person, person * 1000 + 1, person))
            one.execute("INSERT INTO messages VALUES (%s, %s, %s, 'm')", (person, person, heir))
            one.execute("BEGIN")
            one.execute("UPDATE notes SET person = %s WHERE id = %s", (heir, person * 1000))
            one.execute("UPDATE messages SET sender = receiver WHERE id = %s", (person,))

            def commit():
                time.sleep(0.15)
                one.execute("COMMIT")

            results = together(commit, lambda: state_of(two.execute, f"GDPR FORGET people {person}"))
            tally.equal(results, [None, ""], "a FORGET that waits for a gift")
            tally.equal(rows(one, "SELECT person FROM notes WHERE id IN (%s, %s)", (person * 1000, person * 1000 + 1)), [(heir,)], "the given row stays")
            tally.equal(rows(one, "SELECT sender, receiver FROM messages WHERE id = %s", (person,)), [(heir, heir)], "the given message stays as it is")


def same_person_twice(tally, server):
    with server.connect() as one, server.connect() as two:
        for number in range(ROUNDS):
            person = 11000 + number
            one.execute("INSERT INTO people VALUES (%s, 'x')", (person,))
            results = together(lambda: state_of(one.execute, f"GDPR FORGET people {person}"),
                               lambda: state_of(two.execute, f"GDPR FORGET people {person}"))
            tally.that(sorted(map(str, results)) in (["", "DG003"], ["", "40001"], ["", "DG002"]), "one person forgotten twice at once", results)


def parent_and_child(tally, server):
    """A parent goes while a child comes: never a child without a parent."""
    with server.connect() as one, server.connect() as two:
        for table, expected in (("children", "23503"), ("heirs", "")):
            for number in range(ROUNDS * 2):
                key = 100 + number + (500 if table == "heirs" else 0)
                one.execute("INSERT INTO parents VALUES (%s)", (key,))
                results = together(lambda: state_of(one.execute, "DELETE FROM parents WHERE id = %s", (key,)),
                                   lambda: state_of(two.execute, f"INSERT INTO {table} VALUES (%s, %s)", (key, key)))
                parents = rows(one, "SELECT count(*) FROM parents WHERE id = %s", (key,))[0][0]
                children = rows(one, f"SELECT count(*) FROM {table} WHERE parent = %s", (key,))[0][0]
                tally.that(children <= parents, f"{table}: a child without a parent", (results, parents, children))
                tally.that(results in ([expected, ""], ["", "23503"]), f"{table}: delete and insert", results)


def bank(tally, server):
    """Transfers under READ COMMITTED with FOR UPDATE keep the sum."""
    with server.connect() as connection:
        for account in range(8):
            connection.execute("INSERT INTO accounts VALUES (%s, 1000)", (account,))
    surprises, done = [], []

    def work(seed):
        dice = random.Random(seed)
        with server.connect() as connection:
            for _ in range(10 * ROUNDS):
                source, target = dice.sample(range(8), 2)
                amount = dice.randrange(1, 50)

                def transfer():
                    connection.execute("BEGIN")
                    balance = rows(connection, "SELECT balance FROM accounts WHERE id = %s FOR UPDATE", (source,))[0][0]
                    other = rows(connection, "SELECT balance FROM accounts WHERE id = %s FOR UPDATE", (target,))[0][0]
                    if balance >= amount:
                        connection.execute("UPDATE accounts SET balance = %s WHERE id = %s", (balance - amount, source))
                        connection.execute("UPDATE accounts SET balance = %s WHERE id = %s", (other + amount, target))
                    connection.execute("COMMIT")

                state = state_of(transfer)
                if state == "":
                    done.append(1)
                else:
                    connection.execute("ROLLBACK")
                    if state != "40P01":
                        surprises.append(state)

    def look():
        sums = set()
        with server.connect() as connection:
            for _ in range(60):
                sums.add(rows(connection, "SELECT sum(balance) FROM accounts")[0][0])
        return sums

    results = together(*[lambda seed=seed: work(seed) for seed in range(4)], look)
    tally.equal(surprises, [], "bank: errors other than deadlocks")
    tally.equal(results[:4], [None] * 4, "bank: all ended")
    tally.equal({int(value) for value in results[4]}, {8000}, "bank: every reader sees the sum")
    with server.connect() as connection:
        tally.equal(int(rows(connection, "SELECT sum(balance) FROM accounts")[0][0]), 8000, "bank: the sum")
    tally.that(len(done) > 20, "bank: transfers were made", len(done))


def increments(tally, server):
    """READ COMMITTED updates without a lock clause: none is lost."""
    with server.connect() as connection:
        connection.execute("INSERT INTO accounts VALUES (100, 0)")

    def work():
        with server.connect() as connection:
            for _ in range(40):
                connection.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 100")

    tally.equal(together(work, work, work, work), [None] * 4, "increments: all ended")
    with server.connect() as connection:
        tally.equal(rows(connection, "SELECT balance FROM accounts WHERE id = 100"), [(160,)], "increments: none lost")


def repeatable_read(tally, server):
    with server.connect() as one, server.connect() as two:
        one.execute("INSERT INTO accounts VALUES (200, 10), (201, 10)")
        for connection in (one, two):
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            tally.equal(rows(connection, "SELECT balance FROM accounts WHERE id = 200"), [(10,)], "repeatable read: first look")
        one.execute("UPDATE accounts SET balance = 20 WHERE id = 200")
        one.execute("COMMIT")
        tally.equal(rows(two, "SELECT balance FROM accounts WHERE id = 200"), [(10,)], "repeatable read: the same look again")
        tally.equal(state_of(two.execute, "UPDATE accounts SET balance = 30 WHERE id = 200"), "40001", "repeatable read: the second committer")
        tally.equal(state_of(two.execute, "SELECT 1"), "25P02", "repeatable read: the block has failed")
        two.execute("ROLLBACK")
        # The second waits for the first's lock and then fails.
        one.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        two.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        rows(one, "SELECT * FROM accounts WHERE id = 201")
        rows(two, "SELECT * FROM accounts WHERE id = 201")
        one.execute("UPDATE accounts SET balance = 11 WHERE id = 201")

        def later():
            time.sleep(0.2)
            return state_of(one.execute, "COMMIT")

        results = together(later, lambda: state_of(two.execute, "DELETE FROM accounts WHERE id = 201"))
        tally.equal(results, ["", "40001"], "repeatable read: a waiting deleter")
        two.execute("ROLLBACK")
        # Phantoms do not appear; DELETE of what is gone already is 40001.
        two.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        before = rows(two, "SELECT count(*) FROM accounts")
        one.execute("INSERT INTO accounts VALUES (202, 1)")
        one.execute("DELETE FROM accounts WHERE id = 201")
        tally.equal(rows(two, "SELECT count(*) FROM accounts"), before, "repeatable read: no phantom")
        tally.equal(state_of(two.execute, "UPDATE accounts SET balance = 1 WHERE id = 201"), "40001", "repeatable read: a row that went")
        two.execute("ROLLBACK")


def forget_ends_snapshots(tally, server):
    with server.connect() as one, server.connect() as two:
        one.execute("INSERT INTO people VALUES (400, 'x'), (401, 'y')")
        one.execute("INSERT INTO notes VALUES (400, 400, 'n')")
        two.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        rows(two, "SELECT * FROM people WHERE id = 401")
        state, took = forget_while(one, 400, lambda: state_of(two.execute, "SELECT * FROM notes"))
        tally.equal(state, "40001", "an older snapshot ends with FORGET")
        tally.that(took < 0.9, "a FORGET answers once older snapshots are gone", took)
        tally.equal(state_of(two.execute, "ROLLBACK"), "", "its session goes on")
        tally.equal(state_of(lambda: (one.execute("BEGIN"), one.execute("GDPR FORGET people 401"))), "25001", "FORGET in a block")
        one.execute("ROLLBACK")


def forget_while(connection, person, meanwhile):
    """Forgets a person; what `meanwhile` gave 0.3 s after the start of that, and how long the FORGET took."""

    def forget():
        began = time.monotonic()
        connection.execute(f"GDPR FORGET people {person}")
        return time.monotonic() - began

    def later():
        time.sleep(0.3)
        return meanwhile()

    took, result = together(forget, later)
    return result, took


def forget_closes_the_idle(tally, server):
    """A FORGET's answer waits a second for older snapshots; whoever still holds one then loses the connection, and nobody else."""
    with server.connect() as one, server.connect() as fresh, server.connect() as weak, server.connect() as busy:
        for person in range(430, 434):
            one.execute("INSERT INTO people VALUES (%s, 'x')", (person,))
        one.execute("INSERT INTO accounts VALUES (430, 1)")
        # READ COMMITTED holds no snapshot between its statements, and a transaction without a statement none at all.
        weak.execute("BEGIN")
        weak.execute("UPDATE accounts SET balance = 2 WHERE id = 430")
        busy.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        idle = server.connect()
        idle.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        rows(idle, "SELECT * FROM people WHERE id = 431")
        _, took = forget_while(one, 430, lambda: fresh.execute("SELECT 1"))
        tally.that(0.9 < took < 3, "a FORGET waits a second for an idle snapshot", took)
        found = state_of(idle.execute, "SELECT 1")
        tally.that(found in ("40001", "lost") and idle.closed, "an idle older snapshot's connection is closed", found)
        tally.equal(state_of(fresh.execute, "SELECT 1"), "", "a connection without snapshot is left alone")
        tally.equal(state_of(weak.execute, "UPDATE accounts SET balance = 3 WHERE id = 430"), "", "READ COMMITTED is left alone")
        weak.execute("COMMIT")
        tally.equal(rows(busy, "SELECT count(*) FROM people WHERE id = 430"), [(0,)], "a block without statement has no snapshot yet")
        busy.execute("ROLLBACK")
        # A client that does not read its rows, and one that leaves a portal half read.
        one.execute("INSERT INTO accounts SELECT g, g FROM generate_series(1000000, 1300000) AS g")
        deaf, raw = Raw(server), Raw(server)
        deaf.send(message(b"Q", b"SELECT * FROM accounts, people WHERE people.id > 0\0"))
        raw.send(parse(b"SELECT * FROM people"), bind([]), message(b"E", b"\0" + struct.pack("!I", 1)) + message(b"H"))
        raw.until(b"s")
        time.sleep(0.5)
        _, took = forget_while(one, 431, lambda: fresh.execute("SELECT 1"))
        tally.that(0.9 < took < 3, "a FORGET waits a second for those that do not read", took)
        got = raw.until(None)
        tally.equal([state(body) for kind, body in got if kind == b"E"], ["40001"], "a half read portal's connection is closed")
        raw.close()
        deaf.close()
        # A long query notices by itself.
        busy_states = []
        sum_all = "SELECT count(*) FROM accounts AS a, accounts AS b WHERE a.balance + b.balance < 0"
        busy.execute("BEGIN")

        def query():
            busy_states.append(state_of(busy.execute, sum_all))

        thread = threading.Thread(target=query, daemon=True)
        thread.start()
        time.sleep(0.5)
        _, took = forget_while(one, 432, lambda: fresh.execute("SELECT 1"))
        thread.join(20)
        tally.equal(busy_states, ["40001"], "a running query ends with FORGET")
        tally.that(took < 0.9, "a FORGET answers once running queries have ended", took)
        tally.equal(state_of(busy.execute, "ROLLBACK"), "", "its session goes on")
        one.execute("DELETE FROM accounts WHERE id >= 1000000")


def forget_during_lock_waits(tally, server):
    """Statements that wait for a row while somebody is forgotten are computed over a later snapshot, and do not hold the FORGET up."""
    with server.connect() as one, server.connect() as holder, server.connect() as waiter, server.connect() as strict:
        one.execute("INSERT INTO accounts VALUES (440, 1)")
        one.execute("INSERT INTO people VALUES (440, 'x'), (441, 'y'), (442, 'z'), (443, 'w')")
        for person, statement in ((440, "UPDATE accounts SET balance = balance + 1 WHERE id = 440"),
                                  (441, "SELECT * FROM accounts WHERE id = 440 FOR UPDATE"),
                                  (442, "DELETE FROM accounts WHERE id = 440")):
            holder.execute("BEGIN")
            holder.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 440")

            def forget():
                time.sleep(0.3)
                began = time.monotonic()
                one.execute(f"GDPR FORGET people {person}")
                took = time.monotonic() - began
                holder.execute("COMMIT")
                return took

            took, state = together(forget, lambda: state_of(waiter.execute, statement))
            tally.equal(state, "", f"waiting across a FORGET: {statement}")
            tally.that(not isinstance(took, Exception) and took < 0.9, "a FORGET does not wait for one that waits", took)
        # REPEATABLE READ has nothing left to wait for.
        one.execute("INSERT INTO accounts VALUES (441, 1)")
        holder.execute("BEGIN")
        holder.execute("UPDATE accounts SET balance = 5 WHERE id = 441")
        strict.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        rows(strict, "SELECT 1 FROM accounts")
        results = together(lambda: (time.sleep(0.3), state_of(one.execute, "GDPR FORGET people 443"))[1],
                           lambda: state_of(strict.execute, "UPDATE accounts SET balance = 6 WHERE id = 441"))
        tally.equal(results, ["", "40001"], "an older transaction that waits ends with FORGET")
        tally.equal(state_of(strict.execute, "ROLLBACK"), "", "its session goes on")
        holder.execute("COMMIT")
        # What an older transaction has written is not committed either.
        one.execute("INSERT INTO people VALUES (444, 'v')")
        strict.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        strict.execute("INSERT INTO once SELECT id FROM people WHERE id = 444")
        state, _ = forget_while(one, 444, lambda: state_of(strict.execute, "COMMIT"))
        tally.equal(state, "40001", "COMMIT of an older transaction")


def forget_ends_cursors(tally, server):
    """Rows that were found before a FORGET are not handed out after it."""
    with server.connect() as one, server.connect() as two:
        for person in range(420, 424):
            one.execute("INSERT INTO people VALUES (%s, %s)", (person, f"secret{person}"))
        select = "SELECT * FROM people WHERE id BETWEEN 420 AND 423 ORDER BY id"
        two.execute("BEGIN")
        two.execute("DECLARE held CURSOR WITH HOLD FOR " + select)
        rows(two, "FETCH 1 FROM held")
        two.execute("COMMIT")
        one.execute("GDPR FORGET people 422")
        tally.equal(state_of(two.execute, "FETCH ALL FROM held"), "40001", "a held cursor ends with FORGET")
        two.execute("BEGIN")
        two.execute("DECLARE plain CURSOR FOR " + select)
        rows(two, "FETCH 1 FROM plain")
        found, took = forget_while(one, 421, lambda: state_of(two.execute, "SELECT 1"))
        tally.equal(found, "", "a block with a cursor goes on")
        tally.that(took < 0.9, "a FORGET answers once the cursor is let go", took)
        tally.equal(state_of(two.execute, "FETCH ALL FROM plain"), "40001", "a cursor in a block ends with FORGET")
        two.execute("ROLLBACK")
        # A portal that is read in parts.
        raw = Raw(server)
        part = message(b"E", b"\0" + struct.pack("!I", 1)) + message(b"H")
        raw.send(parse(select.encode()), bind([]), part)
        raw.until(b"s")

        def go_on():
            raw.send(message(b"E", b"\0" + struct.pack("!I", 0)), SYNC)
            return raw.until(b"Z")

        got, _ = forget_while(one, 423, go_on)
        tally.that(not any(b"secret423" in body for _, body in got), "a portal does not show who was forgotten", got)
        tally.equal([state(body) for kind, body in got if kind == b"E"], ["40001"], "a portal ends with FORGET")
        raw.close()


def duplicates(tally, server):
    """The same key, and the same unique value, from several at once: exactly one stands."""
    connections = [server.connect() for _ in range(4)]
    try:
        for number in range(ROUNDS):
            results = together(*[lambda c=connection: state_of(c.execute, "INSERT INTO once VALUES (%s, NULL)", (number,))
                                 for connection in connections])
            tally.equal(sorted(map(str, results)), ["", "23505", "23505", "23505"], "one primary key from four")
            results = together(*[lambda c=connection, k=key: state_of(c.execute, "INSERT INTO once VALUES (%s, %s)", (1000 + number * 10 + k, number))
                                 for key, connection in enumerate(connections)])
            tally.equal(sorted(map(str, results)), ["", "23505", "23505", "23505"], "one unique value from four")
            results = together(*[lambda c=connection: state_of(c.execute, "INSERT INTO once VALUES (%s, NULL) ON CONFLICT DO NOTHING", (500 + number,))
                                 for connection in connections])
            tally.equal(results, [""] * 4, "ON CONFLICT DO NOTHING from four")
    finally:
        for connection in connections:
            connection.close()


def deadlock(tally, server):
    with server.connect() as one, server.connect() as two:
        one.execute("INSERT INTO accounts VALUES (300, 1), (301, 1)")
        one.execute("BEGIN")
        two.execute("BEGIN")
        one.execute("UPDATE accounts SET balance = 2 WHERE id = 300")
        two.execute("UPDATE accounts SET balance = 2 WHERE id = 301")

        def go(connection, key):
            state = state_of(connection.execute, "UPDATE accounts SET balance = 3 WHERE id = %s", (key,))
            state_of(connection.execute, "COMMIT" if state == "" else "ROLLBACK")
            return state

        results = together(lambda: go(one, 301), lambda: go(two, 300))
        tally.equal(sorted(map(str, results)), ["", "40P01"], "a deadlock ends one of the two")
        # A writer that is gone frees its locks.
        two.execute("BEGIN")
        two.execute("UPDATE accounts SET balance = 9 WHERE id = 300")
        two.close()
        one.execute("SET lock_timeout = '5s'")
        tally.equal(state_of(one.execute, "UPDATE accounts SET balance = 4 WHERE id = 300"), "", "a vanished writer's lock is free")


def schema_amid_writes(tally, server):
    """Tables come, change and go while others write."""
    with server.connect() as one:
        one.execute("CREATE TABLE shifting (id INT PRIMARY KEY, a INT)")
    states, stop = [], threading.Event()

    def write(start):
        with server.connect() as connection:
            key = start
            while not stop.is_set():
                key += 1
                states.append(state_of(connection.execute, "INSERT INTO shifting (id, a) VALUES (%s, 1)", (key,)))

    def change():
        with server.connect() as connection:
            said = []
            try:
                for number in range(6):
                    said.append(state_of(connection.execute, f"ALTER TABLE shifting ADD COLUMN b{number} INT"))
                    said.append(state_of(connection.execute, f"CREATE TABLE extra{number} (id INT PRIMARY KEY)"))
                    said.append(state_of(connection.execute, f"CREATE INDEX ON shifting (b{number})"))
                    said.append(state_of(connection.execute, f"DROP TABLE extra{number}"))
            finally:
                stop.set()
            return said

    results = together(lambda: write(0), lambda: write(100_000), change)
    tally.equal(set(results[2] if isinstance(results[2], list) else [str(results[2])]), {""}, "schema changes amid writes")
    # The plan of a statement under way may be out of date.
    tally.that(set(states) <= {"", "0A000"} and states.count("") > 0, "writes amid schema changes", {state: states.count(state) for state in set(states)})
    with server.connect() as one:
        tally.equal(rows(one, "SELECT count(*) FROM shifting"), [(states.count(""),)], "rows amid schema changes")


def main():
    tally, server = Tally(), Server()
    try:
        server.start()
        with server.connect() as connection:
            for statement in SCHEMA:
                connection.execute(statement)
        for case in (last_owners, forget_amid_inserts, forget_amid_updates, joint_forgets, last_members_forgotten,
                     forget_waits_for_a_gift, same_person_twice, parent_and_child, bank,
                     increments, repeatable_read, forget_ends_snapshots, forget_closes_the_idle,
                     forget_during_lock_waits, forget_ends_cursors, single_statements, duplicates, deadlock, schema_amid_writes):
            tally.case(case, tally, server)
        tally.that(server.alive(), "the server lives", server.said()[-1000:])
        tally.equal(server.stop(), 0, "SIGTERM")
        tally.clean(server, "at the end")
        tally.equal(server.said(), "", "the server's log is empty")
    finally:
        server.remove()
    tally.end()


if __name__ == "__main__":
    main()
