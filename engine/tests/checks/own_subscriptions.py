"""What a person's own login is told by SUBSCRIBE: random histories of several people, each told of what GDPR GET gives, by SELECT
of the same login, after each step; what is erased is retracted; nobody is told of who takes their number later.

    own_subscriptions.py [--seed S] [--steps N]      N steps of the history (60)
"""
import collections
import random
import threading
import time

import psycopg

from harness import Check, options, rows, run_check, state_of
from support.listening import Listener

PEOPLE = (1, 2, 3, 4)

SCHEMA = """
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT, until TIMESTAMPTZ EXPIRES);
CREATE TABLE posts (id INT PRIMARY KEY, body TEXT, author INT NOT NULL OWNED_BY users(id));
CREATE TABLE comments (id INT PRIMARY KEY, body TEXT, post INT NOT NULL ACCESSED_BY posts(id), author INT NOT NULL OWNED_BY users(id),
    ON GET post ANON (author));
CREATE TABLE chats (id INT PRIMARY KEY, body TEXT, doc JSON, sender INT OWNED_BY users(id), receiver INT OWNED_BY users(id),
    ON GET receiver ANON (sender, doc), ON GET sender ANON (receiver));
CREATE TABLE pages (id INT PRIMARY KEY, body TEXT);
CREATE TABLE editors (id INT PRIMARY KEY, page INT NOT NULL OWNS pages(id), editor INT NOT NULL OWNED_BY users(id));
CREATE TABLE hints (id INT PRIMARY KEY, body TEXT, who INT NOT NULL OWNED_BY users(id), ON GET who DELETE_ROW);
CREATE TABLE tree (id INT PRIMARY KEY, up INT OWNED_BY tree(id), who INT OWNED_BY users(id));
CREATE TABLE prices (id INT PRIMARY KEY, price INT);
CREATE TABLE plain (body TEXT, author INT NOT NULL OWNED_BY users(id));
"""

QUERIES = {
    "users": "SELECT id, name FROM users",
    "posts": "SELECT id, body, author FROM posts",
    "comments": "SELECT id, body, post, author FROM comments",
    "chats": "SELECT id, body, doc::text, sender, receiver FROM chats",
    "pages": "SELECT id, body FROM pages",
    "editors": "SELECT id, page, editor FROM editors",
    "hints": "SELECT id, body FROM hints",
    "prices": "SELECT * FROM prices",
    "plain": "SELECT body, author FROM plain",
    "join": "SELECT u.name, p.body, c.body FROM users u JOIN posts p ON p.author = u.id LEFT JOIN comments c ON c.post = p.id",
    "count": "SELECT author, count(*) FROM comments GROUP BY author",
    "outer": "SELECT p.id, c.id FROM posts p FULL JOIN chats c ON c.id = p.id",
    "literal": "SELECT id FROM comments WHERE post = 3 OR body LIKE '%7%'",
}


class Told:
    """A subscription, and the rows that it has told of."""

    def __init__(self, server, login, query, parameter=None):
        self.connection = server.connect(user=login)
        self.connection.autocommit = True
        self.rows = collections.Counter()
        self.connection.execute("BEGIN")
        self.connection.execute(f"DECLARE told CURSOR FOR SUBSCRIBE ({query}) WITH (progress)", parameter)

    def take(self, milliseconds):
        for _, diff, *row in self.connection.execute(f"FETCH 100000 told WITH (timeout = '{milliseconds}ms')").fetchall():
            if diff is not None:
                self.rows[tuple(row)] += diff
        self.rows = collections.Counter({row: count for row, count in self.rows.items() if count})

    def until(self, expected, deadline=8.0):
        """Whether what was told comes to be what is expected."""
        end = time.monotonic() + deadline
        while True:
            self.take(50)
            if self.rows == expected or time.monotonic() > end:
                return self.rows == expected


class OwnSubscriptions(Check):
    def run(self):
        with self.server.connect(user="postgres") as one:
            one.execute(SCHEMA)
            one.execute("INSERT INTO prices VALUES (1, 5)")
            for person in PEOPLE:
                one.execute(f"INSERT INTO users VALUES ({person}, 'n{person}', 'infinity')")
                one.execute(f"CREATE USER p{person} FOR users {person}")
        for case in (self.refused, self.histories, self.parameters, self.another_takes_the_number, self.declared_otherwise, self.many):
            self.tally.case(case)

    def one(self):
        return self.server.connect(user="postgres")

    def refused(self):
        with self.server.connect(user="p1") as login:
            login.autocommit = True
            equal = self.tally.equal
            equal(state_of(login.execute, "COPY (SUBSCRIBE (SELECT id FROM tree)) TO STDOUT"), "0A000", "a table that leads to itself")
            equal(state_of(login.execute, "COPY (SUBSCRIBE (SELECT * FROM dogwood.erasures)) TO STDOUT"), "42501", "what is not theirs")
            equal(state_of(login.execute, "COPY (SUBSCRIBE (SELECT now() FROM posts)) TO STDOUT"), "0A000", "as anybody")

    def step(self, one, chance):
        """A change of something, as an application makes it. What cannot be is refused, and changes nothing."""
        number, who, other = chance.randrange(1, 9), chance.choice(PEOPLE), chance.choice(PEOPLE)
        maybe = lambda person: chance.choice((str(person), "NULL"))
        statement = chance.choice((
            f"INSERT INTO posts VALUES ({number}, 'b{chance.randrange(9)}', {who})",
            f"INSERT INTO comments VALUES ({chance.randrange(20)}, 'c{chance.randrange(9)}', {number}, {who})",
            f"INSERT INTO chats VALUES ({chance.randrange(20)}, 'm', '{{}}', {maybe(who)}, {maybe(other)})",
            f"INSERT INTO pages VALUES ({number}, 'p'); INSERT INTO editors VALUES ({number * 10}, {number}, {who})",
            f"INSERT INTO editors VALUES ({chance.randrange(100)}, {number}, {who})",
            f"INSERT INTO hints VALUES ({number}, 'h', {who})",
            f"INSERT INTO plain VALUES ('x', {who})",
            f"UPDATE posts SET author = {who} WHERE id = {number}",
            f"UPDATE posts SET body = body || 'x' WHERE author = {who}",
            f"UPDATE comments SET post = {number}, author = {who} WHERE id < 10",
            f"UPDATE chats SET sender = {maybe(who)}, receiver = {maybe(other)} WHERE id = {chance.randrange(20)}",
            f"UPDATE editors SET page = {number} WHERE id < {chance.randrange(100)}",
            f"UPDATE users SET name = name || 'y' WHERE id = {who}",
            f"UPDATE pages SET body = 'q{chance.randrange(9)}'",
            f"DELETE FROM posts WHERE id = {number}",
            f"DELETE FROM comments WHERE author = {who} AND id > {chance.randrange(20)}",
            f"DELETE FROM editors WHERE editor = {who}",
            f"DELETE FROM chats WHERE id = {chance.randrange(20)}",
        ))
        state_of(one.execute, f"BEGIN; {statement}; COMMIT")
        if one.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            one.execute("ROLLBACK")

    def histories(self):
        chance = random.Random(self.options.seed)
        with self.one() as one:
            one.autocommit = True
            for _ in range(30):
                self.step(one, chance)
            told = {(person, name): Told(self.server, f"p{person}", query) for person in PEOPLE[:3] for name, query in QUERIES.items()}
            logins = {person: self.server.connect(user=f"p{person}") for person in PEOPLE}

            def compare(what, deadline=8.0):
                for (person, name), subscription in told.items():
                    expected = collections.Counter(tuple(row) for row in rows(logins[person], QUERIES[name]))
                    right = subscription.until(expected, deadline)
                    self.tally.that(right, f"{what}: {name} of {person}", (subscription.rows - expected, expected - subscription.rows))

            compare("as it begins", 30.0)
            for number in range(self.options.steps):
                for _ in range(chance.randrange(1, 4)):
                    self.step(one, chance)
                if number % 6 == 0:
                    compare(f"step {number}")
            # Another's erasure takes with it what they may not see any more.
            compare("before an erasure")
            forget = threading.Thread(target=one.execute, args=("GDPR FORGET users 4",))
            forget.start()
            # It waits for what was told and not taken: everybody goes on to take.
            while forget.is_alive():
                for subscription in told.values():
                    subscription.take(0)
            compare("after an erasure")
            one.execute("INSERT INTO users VALUES (4, 'again', 'infinity'); CREATE USER p4 FOR users 4")
            compare("after the number was taken")
            for subscription in told.values():
                subscription.connection.close()

    def parameters(self):
        """The person's key stands behind the statement's own parameters."""
        with self.one() as one:
            state_of(one.execute, "INSERT INTO posts VALUES (90, 'ninety', 1), (91, 'ninety', 2)")
            for query, parameter in (("body = 'ninety'", None), ("body = %s", ("ninety",)), ("id = %s AND body = %s", (90, "ninety")), ("id >= %s AND id < 92", (90,))):
                told = Told(self.server, "p1", f"SELECT id, body FROM posts WHERE {query}", parameter)
                self.tally.that(told.until(collections.Counter({(90, "ninety"): 1})), query, told.rows)
                told.connection.close()

    def another_takes_the_number(self):
        with self.one() as one:
            one.autocommit = True
            one.execute("INSERT INTO users VALUES (7, 'first', 'infinity'); CREATE USER p7 FOR users 7; INSERT INTO posts VALUES (70, 'hers', 7)")
            listener = Listener(self.server.connect(user="p7"), "SELECT id, body FROM posts")
            self.tally.that(listener.hears("hers"), "it comes")
            one.execute("DELETE FROM posts WHERE id = 70")
            one.execute("DELETE FROM users WHERE id = 7")
            one.execute("INSERT INTO users VALUES (7, 'second', 'infinity'); INSERT INTO posts VALUES (71, 'secret of the second', 7)")
            self.tally.that(listener.ends(), "it ends", listener.ended)
            self.tally.that(not listener.has_heard("secret"), "and tells nothing of who came after", listener.told)
            one.execute("INSERT INTO users VALUES (8, 'eighth', 'infinity'); CREATE USER p8 FOR users 8; INSERT INTO posts VALUES (80, 'eight', 8)")
            listener = Listener(self.server.connect(user="p8"), "SELECT id, body FROM posts")
            self.tally.that(listener.hears("eight"), "it comes")
            one.execute("GDPR FORGET users 8")
            self.tally.that(listener.ends(), "FORGET ends it", listener.ended)

    def declared_otherwise(self):
        """Who owns what is declared otherwise, or something is hidden from now on: the subscription does not go on."""
        with self.one() as one:
            one.autocommit = True
            listener = Listener(self.server.connect(user="p2"), "SELECT id, body FROM posts")
            self.tally.that(listener.hears("ninety"), "it comes")
            one.execute("CREATE TABLE unrelated (x int)")
            one.execute("UPDATE posts SET body = 'goes on' WHERE id = 91")
            self.tally.that(listener.hears("goes on"), "it comes")
            self.tally.equal(listener.ended, [], "other definitions are nothing to it")
            one.execute("CREATE TABLE likes (id INT PRIMARY KEY, post INT ACCESSES posts(id), who INT NOT NULL OWNED_BY users(id))")
            one.execute("UPDATE posts SET body = 'after' WHERE id = 91")
            listener.ends()
            self.tally.equal(listener.ended, ["42501"], "an edge more")
            one.execute("DROP TABLE likes")

    def many(self):
        """One view serves all who ask the same."""
        with self.one() as one:
            one.autocommit = True
            before = rows(one, "SELECT count(*) FROM dogwood.views")[0][0]
            for person in range(100, 140):
                one.execute(f"INSERT INTO users VALUES ({person}, 'm', 'infinity'); CREATE USER p{person} FOR users {person}")
                one.execute(f"INSERT INTO posts VALUES ({person}, 'of {person}', {person})")
            told = [Told(self.server, f"p{person}", "SELECT id, body FROM posts WHERE id > 0") for person in range(100, 140)]
            for person, subscription in zip(range(100, 140), told):
                self.tally.that(subscription.until(collections.Counter({(person, f"of {person}"): 1})), f"of {person}", subscription.rows)
            views = rows(one, "SELECT count(*) FROM dogwood.views")[0][0]
            self.tally.that(views - before <= 3, "shared", (before, views))
            for subscription in told:
                subscription.connection.close()


if __name__ == "__main__":
    run_check(OwnSubscriptions(options(seed=20261128, steps=60)))
