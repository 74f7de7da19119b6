#!/usr/bin/env python3
"""GDPR FORGET … IN: the person stays, and of what they own in the named tables becomes what a whole erasure would make of it.

Random schemas' rows are held twice. One person is forgotten whole in one, in part in the other: all tables named are the same as all
forgotten, and some tables are never more than that. Beside it: holds, subscriptions, a person's own login, writers, kill -9, receipts
without the server, bytes.

    partial_erasure.py [--seed N] [--count N]
"""
import threading
import time

import psycopg

from harness import Check, options, rows, run_check, state_of
from harness.server import run
from support.listening import Listener

# Joint and transitive ownership, ownership from afar, rows that lead to rows of their own table, plain keys of each kind.
TABLES = {
    "posts": "id int PRIMARY KEY, body text, author int NOT NULL OWNED_BY users(id)",
    "parts": "id int PRIMARY KEY, body text, post int NOT NULL OWNED_BY posts(id)",
    "messages": """id int PRIMARY KEY, body text, sender int OWNED_BY users(id), receiver int OWNED_BY users(id),
        ON DEL sender ANON (sender, body)""",
    "files": "id int PRIMARY KEY, body text, message int OWNED_BY messages(id), uploader int OWNED_BY users(id)",
    "clubs": "id int PRIMARY KEY, body text",
    "members": "id int PRIMARY KEY, who int NOT NULL OWNED_BY users(id), club int NOT NULL OWNS clubs(id)",
    "answers": "id int PRIMARY KEY, body text, author int OWNED_BY users(id), parent int OWNED_BY answers(id), ON DEL parent DELETE_ROW",
    "marks": "id int PRIMARY KEY, post int REFERENCES posts(id) ON DELETE CASCADE, part int REFERENCES parts(id) ON DELETE SET NULL",
}
PERSONAL = [name for name in TABLES if name != "marks"]
PEOPLE = 4


class PartialErasure(Check):
    def run(self):
        with self.server.connect() as one:
            for twin in ("whole", "part"):
                one.execute(f"CREATE SCHEMA {twin}; SET search_path = {twin}; CREATE DATA_SUBJECT TABLE users (id int PRIMARY KEY, name text, phone text)")
                for name, columns in TABLES.items():
                    one.execute(f"CREATE TABLE {name} ({columns})")
                    one.execute(f"CREATE MATERIALIZED VIEW n_{name} AS SELECT count(*)::int AS n FROM {name}")
        for case in (self.twins, self.columns, self.refusals, self.holds, self.told, self.own_login, self.beside, self.beside_erasures, self.cancelled, self.killed, self.verified):
            self.tally.case(case)

    # Against a whole erasure.

    def people(self, one, *statements):
        """Nothing but people in both; then these statements in the one that is forgotten in part."""
        for twin in ("whole", "part"):
            one.execute(f"SET search_path = {twin}; DELETE FROM marks")
            for person, in rows(one, "SELECT id FROM users"):
                one.execute(f"GDPR FORGET users {person}")
            one.cursor().executemany("INSERT INTO users VALUES (%s, %s, %s)", [(n, f"n{n}", f"0{n}") for n in range(1, PEOPLE + 1)])
        for statement in statements:
            one.execute(statement)

    def fill(self, one):
        """The same rows in both, anew."""
        some = lambda numbers: self.dice.choice([None, *numbers])
        person = lambda: self.dice.randint(1, PEOPLE)
        ids = range(1, 9)
        data = {
            "posts": [(n, f"p{n}", person()) for n in ids],
            "parts": [(n, f"q{n}", self.dice.choice(ids)) for n in ids],
            "messages": [(n, f"m{n}", *self.dice.choice([(person(), person()), (person(), None), (None, person())])) for n in ids],
            "files": [(n, f"f{n}", self.dice.choice(ids), some(range(1, PEOPLE + 1))) for n in ids],
            "clubs": [(n, f"c{n}") for n in (1, 2, 3)],
            "members": [(n, person(), (n - 1) % 3 + 1) for n in ids],
            "answers": [(n, f"a{n}", person(), some(range(1, n)) if n > 1 else None) for n in ids],
            "marks": [(n, some(ids), some(ids)) for n in ids],
        }
        self.people(one)
        for twin in ("whole", "part"):
            one.execute(f"SET search_path = {twin}")
            with one.transaction():
                for name, lines in data.items():
                    one.cursor().executemany(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(lines[0]))})", lines)

    def content(self, one, twin):
        return {name: {row[0]: row for row in rows(one, f"SELECT * FROM {twin}.{name} ORDER BY id")} for name in TABLES}

    def owned(self, one, person):
        """What the person owns of each table: ids."""
        found = rows(one, f"GDPR GET part.users {person}")
        return {name: {row["id"] for table, relation, _, row, _ in found if relation == "owner" and table == f"part.{name}"} for name in PERSONAL}

    def twins(self):
        with self.server.connect() as one:
            for _ in range(self.options.count):
                self.fill(one)
                person = self.dice.randint(1, PEOPLE)
                named = self.dice.choice([PERSONAL, self.dice.sample(PERSONAL, self.dice.randint(1, 5))])
                before, owned = self.content(one, "part"), self.owned(one, person)
                statement = f"GDPR FORGET part.users {person} IN ({', '.join(f'part.{name}' for name in named)})"
                one.execute(f"GDPR FORGET whole.users {person}")
                foretold = state_of(one.execute, f"EXPLAIN {statement}")
                state = state_of(one.execute, statement)
                self.tally.equal(state, foretold, f"{statement}: as EXPLAIN said")
                whole, part = self.content(one, "whole"), self.content(one, "part")
                self.tally.equal(rows(one, f"SELECT * FROM part.users WHERE id = {person}"), [(person, f"n{person}", f"0{person}")], "the person stays")
                for name in TABLES:
                    self.tally.equal(rows(one, f"SELECT n FROM part.n_{name}"), [(len(part[name]),)], f"the view of {name}")
                if state:
                    self.tally.equal((state, part), ("DG006", before), f"{statement}: refused, and nothing happened")
                elif len(named) == len(PERSONAL):
                    self.tally.equal(part, whole, f"{statement}: as forgotten whole")
                else:
                    self.within(one, (statement, person, named), (before, whole, part), owned)

    def within(self, one, what, contents, owned):
        """Some tables: their rows are as forgotten, and nothing goes that would not have gone."""
        (statement, person, named), (before, whole, part) = what, contents
        left = self.owned(one, person)
        for name in TABLES:
            gone, would = set(before[name]) - set(part[name]), set(before[name]) - set(whole[name])
            self.tally.that(gone <= would, f"{statement}: no more goes of {name} than would", (gone, would))
            if name in named:
                self.tally.equal(left[name], set(), f"{statement}: nothing of {name} is the person's")
                self.tally.equal(gone & owned[name], would & owned[name], f"{statement}: what was owned of {name}")

    # Columns, refusals.

    def columns(self):
        with self.server.connect() as one:
            self.people(one, "INSERT INTO messages VALUES (1, 'alone', 1, 1), (2, 'to', 1, 2), (3, 'from', 2, 1)")
            self.tally.equal(rows(one, "GDPR FORGET users 1 IN (users (phone, name), messages (body))"), [("part.messages", 0, 2, 0), ("part.users", 0, 1, 0)], "what it says")
            self.tally.equal(rows(one, "SELECT * FROM users WHERE id = 1"), [(1, None, None)], "the person's own columns")
            self.tally.equal(rows(one, "SELECT id, body, sender FROM messages ORDER BY id"), [(1, None, 1), (2, None, 1), (3, "from", 2)],
                             "in shared rows what a rule blanks, and nothing else")
            one.execute("ALTER TABLE messages ADD CHECK (id <> 1 OR body IS NOT NULL) NOT VALID")
            one.execute("UPDATE messages SET body = 'x' WHERE id = 1")
            self.tally.equal(state_of(one.execute, "GDPR FORGET users 1 IN (messages (body))"), "23514", "a row that stays meets its CHECK")
            one.execute("ALTER TABLE messages DROP CONSTRAINT messages_check")

    def refusals(self):
        with self.server.connect() as one:
            one.execute("SET search_path = part; CREATE TABLE plain (id int PRIMARY KEY); CREATE VIEW seen AS SELECT * FROM posts")
            for parts, state in (("users", "42809"), ("plain", "42809"), ("seen", "42809"), ("nix", "42P01"), ("users (nix)", "42703"),
                                 ("users (phone, phone)", "42701"), ("posts, posts", "42712"), ("users (id)", "42P16"), ("posts (author)", "42P16"),
                                 ("members", ""), ("dogwood.retained", "42501"), ("", "42601")):
                if state:
                    self.tally.equal(state_of(one.execute, f"GDPR FORGET users 1 IN ({parts})"), state, f"IN ({parts})")
            self.tally.equal(state_of(one.execute, "GDPR FORGET users 1 IN (posts) GRACE '1 day'"), "0A000", "GRACE")
            self.tally.equal(state_of(one.execute, "GDPR FORGET users 99 IN (posts)"), "DG003", "an unknown person")
            with one.transaction(force_rollback=True):
                self.tally.equal(state_of(one.execute, "GDPR FORGET users 1 IN (posts)"), "25001", "in a block")
            one.execute("SET default_transaction_read_only = on")
            self.tally.equal(state_of(one.execute, "GDPR FORGET users 1 IN (posts)"), "25006", "where nothing may be written")
            one.execute("SET default_transaction_read_only = off; CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA part TO clerk; GRANT SELECT, DELETE ON ALL TABLES IN SCHEMA part TO clerk")
        with self.server.connect(user="clerk") as clerk:
            self.tally.equal(state_of(clerk.execute, "GDPR FORGET part.users 1 IN (part.posts)"), "42501", "without the right to FORGET")

    # What stands around an erasure.

    def holds(self):
        with self.server.connect() as one:
            self.people(one, "INSERT INTO posts VALUES (1, 'held', 1), (2, 'free', 1), (3, 'other', 2)")
            one.execute("CREATE HOLD matter ON posts WHERE body = 'held'")
            one.execute("GDPR FORGET users 1 IN (posts)")
            self.tally.equal(rows(one, "SELECT id FROM posts"), [(3,)], "a hold keeps no row in its table")
            kept = lambda: rows(one, "SELECT table_name, row->>'body' FROM dogwood.retained_rows")
            self.tally.equal(kept(), [("part.posts", "held")], "but for the controller alone")
            one.execute("DROP HOLD matter")
            self.tally.equal(kept(), [], "until it ends")
            self.tally.equal(rows(one, "SELECT id FROM users WHERE id = 1"), [(1,)], "the person stays")
            # What was handed over of the person goes with its table, and of no other.
            for name in ("one", "two"):
                one.execute(f"CREATE TABLE kept_{name} (id int PRIMARY KEY, who int NOT NULL OWNED_BY users(id), until timestamptz EXPIRES) WITH (retain = '1 day', then = 'hand over')")
                for statement in ("INSERT INTO kept_{} VALUES (1, 1)", "UPDATE kept_{} SET until = now()", "GDPR PURGE kept_{}"):
                    one.execute(statement.format(name))
            self.tally.equal(len(kept()), 2, "two were handed over")
            one.execute("GDPR FORGET users 1 IN (kept_one)")
            self.tally.equal([name for name, _ in kept()], ["part.kept_two"], "one of them is gone")
            one.execute("GDPR FORGET users 1 IN (kept_two)")
            self.tally.equal((kept(), rows(one, "SELECT count(*) FROM dogwood.retained")), ([], [(0,)]), "the other, and its case")
            one.execute("DROP TABLE kept_one, kept_two")

    def told(self):
        """Subscriptions, the book of requests, the audit log; and again, when nothing is left."""
        with self.server.connect() as one, self.server.connect() as other:
            self.people(one, "INSERT INTO posts VALUES (1, 'mine', 1), (2, 'theirs', 2)")
            one.execute("GDPR REQUEST erasure users 1")
            listener = Listener(other, "SELECT id, body FROM part.posts")
            self.tally.that(listener.hears("mine"), "a subscriber hears of the row")
            one.execute("GDPR FORGET users 1 IN (posts)")
            self.tally.that(listener.hears("\t-1\t1\tmine"), "and that it is gone", listener.told)
            book = rows(one, "SELECT answer FROM dogwood.requests WHERE kind = 'erasure' ORDER BY id DESC LIMIT 2")
            self.tally.equal(book, [("in part: part.posts",), (None,)], "entered, and the request for all of it is open")
            self.tally.equal(rows(one, "GDPR FORGET users 1 IN (posts)"), [], "again, it does nothing")
            receipts = rows(one, "SELECT receipt::jsonb->>'kind', receipt::jsonb->'parts', receipt::jsonb ? 'key_destroyed' FROM dogwood.receipts ORDER BY number DESC LIMIT 2")
            self.tally.equal(receipts, [("dogwood erasure in part 1", ["part.posts"], False)] * 2, "each with a receipt of a part")
            logged = rows(one, "SELECT operation, tables FROM dogwood.audit WHERE operation = 'forget' ORDER BY number DESC LIMIT 2")
            self.tally.equal(logged, [("forget", []), ("forget", ["part.posts"])], "and logged")
            one.execute("INSERT INTO posts VALUES (7, 'new', 1)")
            self.tally.that(listener.hears("new"), "the subscription goes on, and so does the person")
            one.execute("GDPR FORGET users 1; INSERT INTO users VALUES (1, 'n1', '01')")
            self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.requests WHERE kind = 'erasure' AND answered_at IS NULL"), [(0,)], "the whole one answers all")
            other.cancel()

    def own_login(self):
        with self.server.connect() as one:
            self.people(one, "INSERT INTO posts VALUES (1, 'mine', 1), (2, 'theirs', 2)", "CREATE USER ada FOR users 1", "GRANT USAGE ON SCHEMA part TO ada")
        with self.server.connect(user="ada") as ada:
            self.tally.equal(state_of(ada.execute, "GDPR FORGET part.users 2 IN (part.posts)"), "DG003", "others are not there")
            self.tally.equal(rows(ada, "GDPR FORGET part.users 1 IN (part.posts, part.users (phone))"), [("part.posts", 1, 0, 0), ("part.users", 0, 1, 0)], "of themself")
            self.tally.equal(rows(ada, "SELECT id, phone FROM part.users"), [(1, None)], "the login stays")
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT id FROM part.posts"), [(2,)], "and what is others'")
            one.execute("REVOKE USAGE ON SCHEMA part FROM ada; DROP ROLE ada")

    # Others meanwhile.

    def beside(self):
        """Writers give the person new rows all the time: each stands behind or before an erasure, none in between."""
        stop, failed = threading.Event(), []

        def write(first):
            with self.server.connect() as one:
                number = first
                while not stop.is_set():
                    number += 10
                    try:
                        one.execute("INSERT INTO part.posts VALUES (%s, 'w', 1)", (number,))
                        one.execute("INSERT INTO part.parts VALUES (%s, 'w', %s)", (number, number))
                    except psycopg.Error as error:
                        # The post went in between; or somebody waited too long.
                        if error.sqlstate not in ("23503", "40001", "40P01", "DG001"):
                            failed.append((error.sqlstate, str(error)))

        with self.server.connect() as one:
            self.people(one)
            threads = [threading.Thread(target=write, args=(1000 + number,)) for number in range(2)]
            [thread.start() for thread in threads]
            for _ in range(15):
                self.tally.equal(state_of(one.execute, "GDPR FORGET users 1 IN (posts)"), "", "beside writers")
                lost = rows(one, "SELECT count(*) FROM parts WHERE NOT EXISTS (SELECT FROM posts WHERE posts.id = parts.post)")
                self.tally.equal(lost, [(0,)], "no part without its post")
            stop.set()
            [thread.join() for thread in threads]
            self.tally.equal(failed, [], "writers")
            one.execute("GDPR FORGET users 1 IN (posts)")
            self.tally.equal(rows(one, "SELECT (SELECT count(*) FROM posts WHERE author = 1), (SELECT count(*) FROM parts WHERE body = 'w')"), [(0, 0)], "all of it, at last")

    def beside_erasures(self):
        """The two who share rows are forgotten at once, one whole, one in part and twice: nobody is left in a row, and no row without anybody."""
        statements = ("GDPR FORGET part.users 2", "GDPR FORGET part.users 1 IN (part.messages)", "GDPR FORGET part.users 1 IN (part.posts, part.messages, part.files)")
        with self.server.connect() as one:
            for number in range(12):
                self.people(one, "INSERT INTO messages SELECT n, 'm', 1 + n % 2, 2 - n % 2 FROM generate_series(1, 40) n", "INSERT INTO messages VALUES (41, 'm', 3, 1), (42, 'm', 2, 3)",
                            "INSERT INTO files SELECT n, 'f', n, 1 + n % 2 FROM generate_series(1, 42) n")
                answers = {}

                def forget(statement):
                    with self.server.connect() as other:
                        answers[statement] = state_of(other.execute, statement)

                threads = [threading.Thread(target=forget, args=(statement,)) for statement in statements]
                [thread.start() for thread in threads]
                [thread.join() for thread in threads]
                # A file is a person's by its uploader and by its message: its message may have gone before, or be named alone.
                self.tally.that(set(answers.values()) <= {"", "DG006"} and answers[statements[2]] == "", f"at once {number}", answers)
                one.execute("GDPR FORGET users 1 IN (messages, files)")
                self.tally.equal(rows(one, "SELECT id, sender, receiver FROM messages ORDER BY id"), [(41, 3, None), (42, None, 3)], f"at once {number}: messages")
                self.tally.equal(rows(one, "SELECT id, uploader FROM files ORDER BY id"), [(41, None), (42, None)], f"at once {number}: files")

    def cancelled(self):
        with self.server.connect() as one:
            for number in range(8):
                self.people(one, "INSERT INTO posts SELECT n, 'mine', 1 FROM generate_series(1, 2000) n", "INSERT INTO parts SELECT n, 'q', n FROM generate_series(1, 2000) n")
                one.execute(f"SET statement_timeout = {self.dice.randint(1, 120)}")
                state = state_of(one.execute, "GDPR FORGET users %s IN (posts, users (phone))", (1,))
                one.execute("SET statement_timeout = 0")
                found = rows(one, "SELECT (SELECT count(*) FROM posts), (SELECT count(*) FROM parts), (SELECT count(phone) FROM users)")[0]
                self.tally.equal(found, {"": (0, 0, PEOPLE - 1), "57014": (2000, 2000, PEOPLE)}.get(state), f"out of time {number}: {state or 'in time'}")

    def killed(self):
        for round in range(4):
            with self.server.connect() as one:
                self.people(one, "INSERT INTO posts SELECT n, 'mine', 1 FROM generate_series(1, 400) n", "INSERT INTO parts SELECT n, 'q', n FROM generate_series(1, 400) n")
            thread = threading.Thread(target=self.forget_until_killed)
            thread.start()
            time.sleep(self.dice.random() * 0.25)
            self.server.kill()
            thread.join()
            self.server.start()
            with self.server.connect() as one:
                found = rows(one, "SELECT (SELECT count(*) FROM part.posts), (SELECT count(*) FROM part.parts), (SELECT count(*) FROM part.users WHERE name = 'n1')")
                self.tally.that(found in ([(400, 400, 1)], [(0, 0, 1)]), f"round {round}: all or nothing, and the person stays", found)
                one.execute("UPDATE part.users SET phone = 'again' WHERE id = 1")
                self.tally.equal(rows(one, "SELECT phone FROM part.users WHERE id = 1"), [("again",)], "under a key that lives")
        with self.server.connect() as one:
            one.execute("GDPR FORGET part.users 1 IN (part.posts)")
        self.server.kill()
        self.server.start()
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT name FROM part.users WHERE id = 1"), [("n1",)], "a receipt of a part destroys no key at the next start")

    def forget_until_killed(self):
        try:
            with self.server.connect() as one:
                one.execute("GDPR FORGET part.users 1 IN (part.posts)")
        except psycopg.Error:
            pass

    def verified(self):
        """A receipt is checked without the server, and the bytes leave the files as after a whole erasure."""
        with self.server.connect() as one:
            self.fill(one)
            one.execute("GDPR FORGET part.users 2 IN (part.posts, part.users (phone))")
            (receipt, number), = rows(one, "SELECT receipt, receipt_id FROM dogwood.receipts ORDER BY number DESC LIMIT 1")
            path = f"{self.server.root}/receipt.json"
            with open(path, "w") as file:
                file.write(receipt)
            status, said = run("verify", "--key", f"{self.server.data}/public.key", path)
            self.tally.that(status == 0 and "in part       part.posts, part.users (phone)" in said, "dogwood verify", (status, said))
            end = time.monotonic() + 90
            while time.monotonic() < end and not rows(one, f"SELECT FROM dogwood.erasures WHERE receipt_id = '{number}' AND pending IS NULL"):
                time.sleep(0.5)
            found = rows(one, f"SELECT keys_at, pending FROM dogwood.erasures WHERE receipt_id = '{number}'")
            self.tally.equal(found, [(None, None)], "its bytes are gone, and no key")


if __name__ == "__main__":
    run_check(PartialErasure(options(5, count=25)))
