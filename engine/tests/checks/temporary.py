"""Temporary tables where state matters: two sessions with tables of one name, nobody waits and nobody plans anew, what is filled
from personal rows is emptied by a FORGET, and nothing of it is in a file, in the shared catalog, or there after its session.

    temporary.py
"""
import threading
import time
from pathlib import Path

from harness import Check, rows, run_check, state_of

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
    "CREATE TABLE posts (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY people(id), body TEXT)",
    "CREATE TABLE plain (id INT PRIMARY KEY, v TEXT)",
    "CREATE VIEW named AS SELECT p.id, q.name, p.body FROM posts p JOIN people q ON q.id = p.author",
    "CREATE MATERIALIZED VIEW counted AS SELECT author, count(*) AS n FROM posts GROUP BY author",
]
CANARY = "temporary canary 7f3a91"


class Temporary(Check):
    def run(self):
        self.set_up(SCHEMA)
        with self.server.connect() as connection:
            connection.execute("INSERT INTO people SELECT g, 'person ' || g FROM generate_series(1, 20) g")
            connection.execute("INSERT INTO posts SELECT g, 1 + g % 20, 'body ' || g FROM generate_series(1, 200) g")
            connection.execute("INSERT INTO plain SELECT g, 'plain ' || g FROM generate_series(1, 100) g")
        for case in (self.apart, self.nobody_waits, self.beside_definitions, self.emptied, self.emptied_in_transaction,
                     self.refused, self.in_no_file, self.many):
            self.tally.case(case)

    def apart(self):
        equal = self.tally.equal
        with self.server.connect() as one, self.server.connect() as other:
            one.execute("CREATE TEMP TABLE t (id SERIAL PRIMARY KEY, v TEXT)")
            other.execute("CREATE TEMP TABLE t (a INT, b INT)")
            one.execute("INSERT INTO t (v) VALUES ('one')")
            other.execute("INSERT INTO t VALUES (1, 2)")
            equal(rows(one, "SELECT * FROM t"), [(1, "one")], "one sees its own")
            equal(rows(other, "SELECT * FROM t"), [(1, 2)], "the other its own")
            equal(rows(one, "SELECT count(*) FROM pg_class WHERE relname = 't'"), [(1,)], "each lists its own")
            equal(state_of(other.execute, "SELECT nextval('t_id_seq')"), "42P01", "and nobody else's sequence")
            # A table of everybody is hidden for one only.
            one.execute("CREATE TEMP TABLE plain (id INT, mine BOOL)")
            one.execute("INSERT INTO plain VALUES (1, true)")
            equal(rows(one, "SELECT * FROM plain"), [(1, True)], "it hides what all share")
            equal(rows(other, "SELECT count(*) FROM plain"), [(100,)], "from nobody else")
            for _ in range(5):
                equal(rows(one, "SELECT * FROM plain WHERE id = 1"), [(1, True)], "whatever is remembered of a statement's shape")
                equal(rows(other, "SELECT * FROM plain WHERE id = 1"), [(1, "plain 1")], "either way round")
            one.execute("DROP TABLE plain")
            equal(rows(one, "SELECT count(*) FROM plain"), [(100,)], "and then it does not")
        with self.server.connect() as later:
            equal(state_of(later.execute, "SELECT * FROM t"), "42P01", "with its session it is gone")

    def nobody_waits(self):
        equal = self.tally.equal
        with self.server.connect(autocommit=False) as holder, self.server.connect() as one:
            holder.execute("CREATE TABLE held (id INT)")
            one.execute("SET statement_timeout = '5s'")
            equal(state_of(one.execute, "CREATE TEMP TABLE beside (id INT PRIMARY KEY)"), "", "beside a definition that is not committed")
            equal(state_of(one.execute, "CREATE INDEX ON beside (id)"), "", "and its index")
            equal(state_of(one.execute, "DROP TABLE beside"), "", "and its end")
            holder.rollback()
        version = "SELECT count(*) FROM pg_class"
        with self.server.connect() as one, self.server.connect() as other:
            before = rows(other, version)
            prepared = "SELECT v FROM plain WHERE id = %s"
            for _ in range(8):
                other.execute(prepared, (1,))
            one.execute("CREATE TEMP TABLE unseen (id INT)")
            equal(rows(other, version), before, "nobody else's catalog is another")
            other.execute(prepared, (1,))

    def beside_definitions(self):
        """What all share changes under a session that has tables of its own."""
        equal = self.tally.equal
        with self.server.connect() as one, self.server.connect() as other:
            one.execute("CREATE TEMP TABLE mine AS SELECT * FROM plain WHERE id <= 3")
            one.execute("CREATE TEMP VIEW over_both AS SELECT m.id, p.v FROM mine m JOIN plain p USING (id)")
            other.execute("CREATE TABLE fresh (id INT PRIMARY KEY)")
            other.execute("INSERT INTO fresh VALUES (2), (3)")
            equal(rows(one, "SELECT mine.id FROM mine JOIN fresh USING (id) ORDER BY 1"), [(2,), (3,)], "new tables are seen")
            other.execute("ALTER TABLE plain ADD COLUMN w INT DEFAULT 4")
            equal(rows(one, "SELECT w FROM plain WHERE id = 1"), [(4,)], "and new columns")
            equal(len(rows(one, "SELECT * FROM over_both")), 3, "its view goes on")
            one.execute("ALTER TABLE plain DROP COLUMN w")
            equal(state_of(other.execute, "SELECT w FROM plain"), "42703", "it defines what all share as before")
            equal(rows(one, "SELECT count(*) FROM mine"), [(3,)], "and keeps its own")
            with one.transaction():
                one.execute("CREATE TABLE shared_too (id INT PRIMARY KEY)")
                one.execute("CREATE TEMP TABLE own_too (id INT PRIMARY KEY)")
                one.execute("INSERT INTO shared_too VALUES (1)")
                one.execute("INSERT INTO own_too SELECT id FROM shared_too")
            equal(rows(other, "SELECT * FROM shared_too"), [(1,)], "of a transaction with both, what is shared is")
            equal(state_of(other.execute, "SELECT * FROM own_too"), "42P01", "and what is not is not")
            equal(rows(one, "SELECT * FROM own_too"), [(1,)], "but its own")
            other.execute("DROP TABLE fresh, shared_too")
            equal(rows(one, "SELECT * FROM own_too"), [(1,)], "when others drop theirs")
        self.server.kill()
        self.server.start()
        with self.server.connect() as one:
            equal(state_of(one.execute, "SELECT * FROM own_too"), "42P01", "nothing is kept over a restart")
            equal(rows(one, "SELECT count(*) FROM plain"), [(100,)], "of what is shared all is")

    def emptied(self):
        equal = self.tally.equal
        heard = []
        with self.server.connect() as one, self.server.connect() as other:
            one.add_notice_handler(lambda notice: heard.append(notice.message_primary))
            for name, query in (("copied", "SELECT * FROM posts WHERE author = 3"), ("by_view", "SELECT * FROM named"),
                                ("by_materialized", "SELECT * FROM counted"), ("by_subquery", "SELECT id, (SELECT count(*) FROM posts) FROM plain")):
                one.execute(f"CREATE TEMP TABLE {name} AS {query}")
            one.execute("CREATE TEMP TABLE second AS SELECT * FROM copied")
            one.execute("CREATE TEMP TABLE updated (id INT PRIMARY KEY, v TEXT)")
            one.execute("INSERT INTO updated VALUES (1, 'x')")
            one.execute("UPDATE updated SET v = name FROM people WHERE people.id = updated.id")
            one.execute("CREATE TEMP TABLE harmless AS SELECT * FROM plain")
            one.execute("CREATE TEMP TABLE typed (v TEXT)")
            one.execute("INSERT INTO typed VALUES ('by hand')")
            other.execute("GDPR FORGET people 20")
            for name in ("copied", "by_view", "by_materialized", "by_subquery", "second", "updated"):
                equal(rows(one, f"SELECT count(*) FROM {name}"), [(0,)], f"{name} is emptied, whoever was forgotten")
            equal(rows(one, "SELECT count(*) FROM harmless"), [(100,)], "what nobody owns stays")
            equal(rows(one, "SELECT * FROM typed"), [("by hand",)], "what the client brought itself stays")
            self.tally.that(any("copied" in message for message in heard), "the client is told", heard)
            one.execute("INSERT INTO copied SELECT * FROM posts WHERE author = 3")
            self.tally.that(rows(one, "SELECT count(*) > 0 FROM copied")[0][0], "it can be filled again")
            one.execute("GDPR FORGET people 19")
            equal(rows(one, "SELECT count(*) FROM copied"), [(0,)], "its own FORGET empties it, too")

    def emptied_in_transaction(self):
        equal = self.tally.equal
        with self.server.connect(autocommit=False) as one, self.server.connect() as other:
            one.execute("CREATE TEMP TABLE w AS SELECT * FROM posts")
            one.execute("CREATE TEMP TABLE v AS SELECT 1 AS a")
            other.execute("GDPR FORGET people 18")
            state = state_of(one.execute, "SELECT count(*) FROM w")
            if state == "":
                equal(one.execute("SELECT count(*) FROM w").fetchall(), [(0,)], "what is not committed yet is emptied")
                equal(one.execute("SELECT * FROM v").fetchall(), [(1,)], "and all else is not")
                one.commit()
                equal(one.execute("SELECT count(*) FROM w").fetchall(), [(0,)], "and committed so")
            else:
                equal(state, "40001", "or its transaction has ended")
            one.rollback()
        with self.server.connect(autocommit=False) as one, self.server.connect() as other:
            one.execute("CREATE TEMP TABLE w AS SELECT * FROM posts")
            other.execute("GDPR FORGET people 17")
            state = state_of(one.commit)
            self.tally.that(state in ("", "40001"), "COMMIT behind it", state)
            one.rollback()
            if state == "":
                equal(one.execute("SELECT count(*) FROM w").fetchall(), [(0,)], "nothing comes in by COMMIT")
            one.rollback()

    def refused(self):
        with self.server.connect() as one:
            state = lambda sql: state_of(one.execute, sql)
            equal = self.tally.equal
            equal(state("CREATE TEMP DATA_SUBJECT TABLE s (id INT PRIMARY KEY)"), "0A000", "a person who is temporary")
            equal(state("CREATE TEMP TABLE o (id INT, a INT OWNED_BY people(id))"), "42P16", "an owner of what is temporary")
            one.execute("CREATE TEMP TABLE t (id INT PRIMARY KEY, v TEXT)")
            equal(state("SUBSCRIBE TO (SELECT * FROM t)"), "0A000", "SUBSCRIBE to it")
            equal(state("CREATE MATERIALIZED VIEW m AS SELECT * FROM t"), "0A000", "a view of all over it")
            equal(state("INSERT INTO t VALUES (1, 'a'), (1, 'b')"), "23505", "its keys hold")
            equal(rows(one, "SELECT count(*) FROM t"), [(0,)], "and nothing is left of that")

    def in_no_file(self):
        with self.server.connect() as one:
            one.execute("CREATE TEMP TABLE secret_name_5c1d (id INT, v TEXT)")
            one.execute("INSERT INTO secret_name_5c1d SELECT g, %s FROM generate_series(1, 5000) g", (CANARY,))
            one.execute("CREATE INDEX ON secret_name_5c1d (v)")
            one.execute("CHECKPOINT")
            found = [path.name for path in Path(self.server.data).rglob("*") if path.is_file()
                     and any(word in path.read_bytes() for word in (CANARY.encode(), b"secret_name_5c1d"))]
            self.tally.equal(found, [], "neither rows nor names are in a file")

    def many(self):
        """As a test runner does: thousands of them, in many sessions; nothing grows."""
        def work():
            with self.server.connect() as one:
                for turn in range(100):
                    one.execute("CREATE TEMP TABLE m (id SERIAL PRIMARY KEY, v TEXT UNIQUE)")
                    one.execute("INSERT INTO m (v) SELECT 'v' || g FROM generate_series(1, 50) g")
                    if rows(one, "SELECT max(id) FROM m") != [(50,)]:
                        raise AssertionError("counted on")
                    one.execute("DROP TABLE m")
        began = time.monotonic()
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        took = time.monotonic() - began
        print(f"400 temporary tables made, filled and dropped in 4 sessions: {took:.1f} s")
        self.tally.that(took < 60, "they are made quickly", took)


if __name__ == "__main__":
    run_check(Temporary())
