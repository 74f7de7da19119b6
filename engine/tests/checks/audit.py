"""The audit log of statements: each that touches personal rows leaves one entry, with who, what and whose; the rest leave none. Who
may read it; what is rolled back, refused, cut off by kill -9 in each mode; that numbers have no gaps and times go on.
"""
import threading
import time

import psycopg

from harness import Check, rows, run_check, state_of

SCHEMA = """
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT);
CREATE TABLE posts (id INT PRIMARY KEY, body TEXT, author INT NOT NULL OWNED_BY users(id));
CREATE INDEX ON posts (body);
CREATE TABLE chats (id INT PRIMARY KEY, body TEXT,
    sender INT NOT NULL OWNED_BY users(id), receiver INT NOT NULL OWNED_BY users(id));
CREATE TABLE prices (id INT PRIMARY KEY, price INT);
CREATE MATERIALIZED VIEW counted AS SELECT author, count(*) AS n FROM posts GROUP BY author;
INSERT INTO users SELECT n, 'n' || n FROM generate_series(1, 20) n;
INSERT INTO posts SELECT n, 'p' || n, n FROM generate_series(1, 20) n;
INSERT INTO chats VALUES (1, 'to 2', 1, 2);
"""
COLUMNS = "operation, tables, subjects, subject_count, row_count, may_be_more, undone"


class Audit(Check):
    def run(self):
        with self.server.connect() as one:
            one.execute(SCHEMA)
        self.people = {}
        for case in (self.reads, self.joint, self.writes, self.transactions, self.views, self.many, self.cursors, self.copies,
                     self.requests, self.subscriptions, self.definitions, self.refusals, self.who_reads, self.asked, self.modes, self.crash,
                     self.beside_erasures, self.order):
            self.tally.case(case)

    def last(self, connection):
        (number,), = rows(connection, "SELECT coalesce(max(number), 0) FROM dogwood.audit")
        return number

    def settled(self, connection):
        """The number of the last entry once nothing waits for the log."""
        time.sleep(0.8)
        return self.last(connection)

    def since(self, connection, mark, patience=3.0, least=1):
        """Entries after a mark, but for connections."""
        until = time.monotonic() + patience
        while True:
            found = [row for row in rows(connection, f"SELECT {COLUMNS} FROM dogwood.audit WHERE number > {mark} ORDER BY number")
                     if row[0] != "connect"]
            if len(found) >= least or time.monotonic() > until:
                return found
            time.sleep(0.05)

    def person(self, connection, number):
        """A person's pseudonym, from what reading their row says."""
        if number not in self.people:
            mark = self.settled(connection)
            connection.execute("SELECT name FROM users WHERE id = %s", (number,))
            (_, _, subjects, *_), = self.since(connection, mark)
            self.people[number], = subjects
        return self.people[number]

    def one(self, connection, statement, expected, name=None, parameters=None):
        """A statement leaves this one entry."""
        mark = self.settled(connection)
        found = connection.execute(statement, parameters)
        if found.description:
            found.fetchall()
        self.tally.equal(self.since(connection, mark), [expected], name or statement)

    def none(self, connection, statement):
        mark = self.settled(connection)
        connection.execute(statement)
        self.tally.equal(self.since(connection, mark, patience=1.2), [], statement)

    def reads(self):
        with self.server.connect() as one:
            ada, ben = self.person(one, 1), self.person(one, 2)
            self.tally.that(ada != ben, "people have names of their own")
            read = ["select", ["posts"], [ada], 1, 1, False, False]
            for statement in ("SELECT * FROM posts WHERE id = 1", "SELECT body FROM posts WHERE body = 'p1'",
                              "SELECT author FROM posts WHERE author = 1", "SELECT p.id FROM posts p WHERE p.id = 1 ORDER BY 1 LIMIT 5"):
                self.one(one, statement, tuple(read))
            self.one(one, "SELECT body FROM posts WHERE id = %s", tuple(read), "with a parameter", (1,))
            self.one(one, "SELECT u.name, p.body FROM users u JOIN posts p ON p.author = u.id WHERE u.id = 1",
                     ("select", ["users", "posts"], [ada], 1, 1, False, False), "a join")
            self.one(one, "SELECT count(*) FROM posts WHERE id IN (1, 2)",
                     ("select", ["posts"], sorted([ada, ben]), 2, 1, False, False), "an aggregate")
            self.one(one, "SELECT * FROM posts WHERE id = 999", ("select", ["posts"], [], 0, 0, False, False), "nobody's")
            for statement in ("SELECT 1", "SELECT * FROM prices", "SHOW TimeZone", "SELECT relname FROM pg_class", "BEGIN", "COMMIT",
                              "SET TimeZone = 'UTC'", "SELECT receipt FROM dogwood.receipts"):
                self.none(one, statement)
            mark = self.settled(one)
            one.execute("SELECT body FROM posts WHERE id = 1 AND body <> 'a secret of 77'")
            self.since(one, mark)
            (text, login), = rows(one, f"SELECT statement, login FROM dogwood.audit WHERE number > {mark} AND operation = 'select'")
            self.tally.that("secret" not in text and "posts" in text, "its text without literals", text)
            self.tally.equal(login, "controller", "who")

    def joint(self):
        with self.server.connect() as one:
            both = sorted([self.person(one, 1), self.person(one, 2)])
            self.one(one, "SELECT body FROM chats WHERE id = 1", ("select", ["chats"], both, 2, 1, False, False), "of two owners")

    def writes(self):
        with self.server.connect() as one:
            three = self.person(one, 3)
            done = lambda operation, count=1: (operation, ["posts"], [three], 1, count, False, False)
            self.one(one, "INSERT INTO posts VALUES (100, 'x', 3)", done("insert"))
            self.one(one, "UPDATE posts SET body = 'y' WHERE id = 100", done("update"))
            self.one(one, "UPDATE posts SET body = 'z' WHERE id = 100 RETURNING body", done("update"))
            four = self.person(one, 4)
            self.one(one, "UPDATE posts SET author = 4 WHERE id = 100",
                     ("update", ["posts"], sorted([three, four]), 2, 1, False, False), "from one to another")
            self.one(one, "DELETE FROM posts WHERE id = 100", ("delete", ["posts"], [four], 1, 1, False, False))
            self.none(one, "INSERT INTO prices VALUES (1, 1)")
            self.one(one, "INSERT INTO prices SELECT id + 1000, 1 FROM posts WHERE id = 3",
                     ("insert", ["posts"], [three], 1, 1, False, False), "what is written elsewhere is read")

    def transactions(self):
        with self.server.connect(autocommit=False) as one, self.server.connect() as other:
            three, four = self.person(other, 3), self.person(other, 4)
            mark = self.settled(other)
            one.execute("INSERT INTO posts VALUES (101, 'x', 3)")
            one.execute("INSERT INTO chats VALUES (101, 'x', 4, 4)")
            one.rollback()
            expected = [("insert", ["posts"], [], 0, 1, False, True), ("insert", ["chats"], [], 0, 1, False, True)]
            self.tally.equal(self.since(other, mark, least=2), expected, "rolled back")
            mark = self.settled(other)
            one.execute("INSERT INTO posts VALUES (101, 'x', 3)")
            one.execute("SAVEPOINT s")
            one.execute("INSERT INTO chats VALUES (101, 'x', 4, 4)")
            one.execute("ROLLBACK TO s")
            one.execute("SELECT * FROM posts WHERE id = 101").fetchall()
            one.commit()
            found = self.since(other, mark, least=3)
            self.tally.equal(sorted(row[0] + str(row[-1]) for row in found), ["insertFalse", "insertTrue", "selectFalse"], "a savepoint")
            one.execute("DELETE FROM posts WHERE id = 101")
            one.commit()
            self.tally.that(four != three, "two people")

    def views(self):
        with self.server.connect() as one:
            mark = self.settled(one)
            one.execute("SELECT n FROM counted WHERE author = 1").fetchall()
            (operation, tables, subjects, count, number, may_be_more, _), = self.since(one, mark)
            self.tally.equal((operation, sorted(tables), subjects, count, number, may_be_more),
                             ("select", ["counted", "posts"], [], 0, 1, True), "a view says by which tables")
            by_key = []
            for which in ("author = 1", "author = 1", "author = 2", "author IN (1, 2)", "author > 0", "true", "n > 0 AND author = 1"):
                mark = self.settled(one)
                one.execute(f"SELECT n FROM counted WHERE {which}").fetchall()
                self.since(one, mark)
                by_key += [key for key, in rows(one, f"SELECT view_key FROM dogwood.audit WHERE number > {mark} AND 'counted' = ANY (tables)")]
            same, again, other, *several, last = by_key
            self.tally.that(same and other, "a view of the catalog is read by its key", by_key)
            self.tally.equal((again, last, same == other, several), (same, same, False, [None] * 3), "one key is one name, several have none")
            query = "SELECT count(*) FROM posts WHERE author = %s"
            for _ in range(40):
                one.execute(query, (1,)).fetchall()
                time.sleep(0.01)
            mark = self.settled(one)
            one.execute(query, (1,)).fetchall()
            (operation, tables, _, _, _, may_be_more, _), = self.since(one, mark)
            self.tally.that("posts" in tables, "a query's own view", (operation, tables))
            keys = rows(one, f"SELECT view_key FROM dogwood.audit WHERE number > {mark} AND operation = 'select'")
            self.tally.that(not may_be_more or keys[0][0], "by its key", keys)

    def many(self):
        with self.server.connect() as one:
            one.execute("INSERT INTO users SELECT n, 'm' FROM generate_series(1001, 2500) n")
            mark = self.settled(one)
            one.execute("SELECT * FROM users WHERE name <> 'q'").fetchall()
            (operation, tables, subjects, _, number, may_be_more, _), = self.since(one, mark)
            self.tally.equal((operation, tables, subjects, number, may_be_more), ("select", ["users"], [], 1520, True), "of too many")
            mark = self.settled(one)
            one.execute("DELETE FROM users WHERE id > 1000")
            found = self.since(one, mark, least=2)
            self.tally.that(any(row[0] == "delete" and row[5] for row in found), "a delete of too many", found[:3])

    def cursors(self):
        with self.server.connect(autocommit=False) as one, self.server.connect() as other:
            mark = self.settled(other)
            one.execute("DECLARE c CURSOR FOR SELECT * FROM posts ORDER BY id")
            one.execute("FETCH 3 FROM c").fetchall()
            one.execute("CLOSE c")
            one.commit()
            found = self.since(other, mark)
            self.tally.that(found and found[0][0] == "select" and found[0][1] == ["posts"], "a cursor", found)

    def copies(self):
        with self.server.connect() as one:
            five = self.person(one, 5)
            mark = self.settled(one)
            with one.cursor() as cursor, cursor.copy("COPY posts FROM STDIN") as copy:
                copy.write("201\tx\t5\n202\ty\t5\n")
            self.tally.equal(self.since(one, mark), [("copy", ["posts"], [five], 1, 2, False, False)], "COPY FROM")
            mark = self.settled(one)
            with one.cursor() as cursor, cursor.copy("COPY (SELECT body FROM posts WHERE id = 201) TO STDOUT") as copy:
                list(copy)
            self.tally.equal(self.since(one, mark), [("select", ["posts"], [five], 1, 1, False, False)], "COPY TO")

    def requests(self):
        with self.server.connect() as one:
            one.execute("INSERT INTO users VALUES (60, 's')")
            one.execute("INSERT INTO posts VALUES (600, 's', 60)")
            one.execute("INSERT INTO chats VALUES (600, 's', 60, 1)")
            sixty = self.person(one, 60)
            mark = self.settled(one)
            one.execute("GDPR GET users 60").fetchall()
            (operation, tables, subjects, *_), = self.since(one, mark)
            self.tally.equal((operation, sorted(tables), subjects), ("get", ["chats", "posts", "users"], [sixty]), "GET")
            mark = self.settled(one)
            with one.cursor() as cursor, cursor.copy("COPY (GDPR EXPORT users 60) TO STDOUT") as copy:
                list(copy)
            (operation, _, subjects, *_), = self.since(one, mark)
            self.tally.equal((operation, subjects), ("export", [sixty]), "EXPORT")
            mark = self.settled(one)
            one.execute("GDPR FORGET users 60").fetchall()
            (operation, _, subjects, *_), = self.since(one, mark)
            self.tally.equal((operation, subjects), ("forget", [sixty]), "FORGET")
            mark = self.settled(one)
            self.tally.equal(state_of(one.execute, "GDPR FORGET users 60"), "DG003", "twice")
            (operation, _, subjects, *_), = self.since(one, mark)
            self.tally.equal((operation, subjects), ("forget", [sixty]), "and that it was asked for again")
            (login,), = rows(one, f"SELECT login FROM dogwood.audit WHERE number > {mark}")
            self.tally.equal(login, "controller", "by whom")

    def subscriptions(self):
        with self.server.connect() as one, self.server.connect() as other:
            mark = self.settled(other)
            one.execute("BEGIN; DECLARE s CURSOR FOR SUBSCRIBE (SELECT id, body FROM posts WHERE author = 6)")
            one.execute("FETCH ALL s").fetchall()
            other.execute("UPDATE posts SET body = 'seen' WHERE author = 6")
            one.execute("FETCH ALL s WITH (timeout = '1s')").fetchall()
            one.execute("COMMIT")
            found = self.since(other, mark, least=3)
            kinds = sorted(row[0] for row in found)
            self.tally.that(kinds.count("subscribe") == 1 and "deliver" in kinds, "begun, and what it gave", found)
            self.tally.that(all(row[1:2] and "posts" in row[1] for row in found), "of which tables", found)

    def definitions(self):
        with self.server.connect() as one:
            for statement, operation in (("CREATE TABLE made (id INT)", "define"), ("ALTER TABLE made ADD COLUMN b INT", "define"),
                                         ("CREATE ROLE someone", "grant"), ("GRANT SELECT ON made TO someone", "grant"),
                                         ("TRUNCATE made", "truncate"), ("DROP TABLE made", "define"), ("DROP ROLE someone", "grant")):
                mark = self.settled(one)
                one.execute(statement)
                found = self.since(one, mark)
                self.tally.equal([row[0] for row in found], [operation], statement)

            one.execute("CREATE TABLE kept (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY users(id))")
            for statement, operation in (("TRUNCATE kept", "truncate"), ("DROP TABLE kept", "define")):
                mark = self.settled(one)
                one.execute(statement)
                found = rows(one, f"SELECT operation, array_length(tables, 1), may_be_more FROM dogwood.audit WHERE number > {mark} AND operation = '{operation}'")
                self.tally.equal(found, [(operation, 1, True)], f"whose rows went is not known of {statement}")

    def refusals(self):
        with self.server.connect() as one:
            one.execute("CREATE ROLE outsider LOGIN")
            with self.server.connect(user="outsider") as out:
                mark = self.settled(one)
                self.tally.equal(state_of(out.execute, "SELECT * FROM posts"), "42501", "denied")
                found = self.since(one, mark)
                self.tally.equal([row[0] for row in found], ["refuse"], "a refusal")
                who = rows(one, f"SELECT login, role FROM dogwood.audit WHERE number > {mark} AND operation = 'refuse'")
                self.tally.equal(who, [("outsider", "outsider")], "by whom")

    def who_reads(self):
        with self.server.connect() as one:
            one.execute("CREATE ROLE clerk LOGIN; GRANT SELECT ON posts TO clerk")
            one.execute("CREATE ROLE watch LOGIN; GRANT dogwood_regulator TO watch")
            one.execute("CREATE USER seven FOR users 7")
            seven = self.person(one, 7)
            one.execute("SELECT * FROM posts WHERE id = 7").fetchall()
            self.settled(one)
            with self.server.connect(user="clerk") as clerk:
                self.tally.equal(state_of(clerk.execute, "SELECT * FROM dogwood.audit"), "42501", "a clerk does not")
            with self.server.connect(user="watch") as watch:
                self.tally.that(len(rows(watch, "SELECT * FROM dogwood.audit")) > 10, "a regulator does")
                self.tally.that(state_of(watch.execute, "SELECT * FROM posts") in ("42501", "0LP01"), "and sees no row")
            with self.server.connect(user="seven") as own:
                found = rows(own, f"SELECT {COLUMNS} FROM dogwood.audit WHERE operation = 'select' ORDER BY number")
                self.tally.that(("select", ["posts"], [seven], 1, 1, False, False) in found, "one's own reads", found[-5:])
                self.tally.that(all(row[2] in ([], [seven]) and (row[2] or row[5]) for row in found), "and of nobody else")

    def asked(self):
        """Questions of a person, a role and a time find what all entries have."""
        with self.server.connect() as one:
            eight = self.person(one, 8)
            for _ in range(600):
                one.execute("SELECT body FROM posts WHERE id = 8")
                one.execute("UPDATE posts SET body = 'q' WHERE id = 9")
            time.sleep(1.5)
            listed = rows(one, "SELECT * FROM dogwood.audit WHERE %s = ANY (subjects) OR may_be_more ORDER BY number", (eight,))
            self.tally.that(len(listed) > 600, "there are some", len(listed))
            self.tally.equal(rows(one, "SELECT * FROM audit_about('users', '8') ORDER BY number"), listed, "by a person")
            self.tally.equal(rows(one, "SELECT * FROM audit_about(%s) ORDER BY number", (eight,)), listed, "by their name in the log")
            self.tally.equal(state_of(one.execute, "SELECT * FROM audit_about('users', '4711')"), "DG003", "nobody")
            self.tally.equal(state_of(one.execute, "SELECT * FROM audit_about('posts', '1')"), "42809", "no data subjects")
            self.tally.equal(state_of(one.execute, "SELECT * FROM audit_about('x')"), "22023", "no name")
            (first, last), = rows(one, "SELECT min(recorded_at), max(recorded_at) FROM dogwood.audit WHERE number BETWEEN 20 AND 50")
            listed = rows(one, "SELECT * FROM dogwood.audit WHERE recorded_at BETWEEN %s AND %s ORDER BY number", (first, last))
            self.tally.equal(rows(one, "SELECT * FROM audit_between(%s, %s) ORDER BY number", (first, last)), listed, "by time")
            listed = rows(one, "SELECT * FROM dogwood.audit WHERE 'outsider' IN (login, role) ORDER BY number")
            found = rows(one, "SELECT * FROM audit_by('outsider', '-infinity', 'infinity') ORDER BY number")
            self.tally.that(listed and found == listed, "by role", (len(found), len(listed)))
            self.tally.equal(state_of(one.execute, "SELECT * FROM audit_by('nobody', now(), now())"), "42704", "no role")
            for from_time, to_time in (("-infinity", "infinity"), (first, last)):
                listed = rows(one, "SELECT * FROM dogwood.audit WHERE 'posts' = ANY (tables) AND recorded_at BETWEEN %s AND %s ORDER BY number", (from_time, to_time))
                found = rows(one, "SELECT * FROM audit_of('posts', %s, %s) ORDER BY number", (from_time, to_time))
                self.tally.that(listed and found == listed, "by table", (len(found), len(listed)))
            self.tally.equal(state_of(one.execute, "SELECT * FROM audit_of('nowhere', now(), now())"), "42P01", "no table")
        with self.server.connect(user="clerk") as clerk:
            self.tally.equal(state_of(clerk.execute, "SELECT * FROM audit_between('-infinity', 'infinity')"), "42501", "a clerk does not ask")
        with self.server.connect(user="seven") as own:
            seven = self.people[7]
            found = rows(own, "SELECT subjects, may_be_more FROM audit_between('-infinity', 'infinity')")
            self.tally.that(found and all(row[0] in ([], [seven]) for row in found), "a person asks of themself")

    def modes(self):
        with self.server.connect() as one:
            for statement in ("SET dogwood.audit = off", "SET dogwood.audit TO DEFAULT"):
                self.tally.equal(state_of(one.execute, statement), "42501", statement)
            try:
                self.server.connect(options="-c dogwood.audit=off").close()
                self.tally.that(False, "a client sets it as it connects")
            except psycopg.OperationalError as error:
                self.tally.that("permission denied to set parameter" in str(error), "by the client", error)
            one.execute("CREATE ROLE quiet LOGIN; GRANT SELECT ON posts TO quiet; ALTER ROLE quiet SET dogwood.audit = off")
            with self.server.connect(user="quiet") as quiet:
                mark = self.settled(one)
                quiet.execute("SELECT * FROM posts WHERE id = 1").fetchall()
                self.tally.equal(self.since(one, mark, patience=1.2), [], "off")
                self.tally.equal(state_of(quiet.execute, "ALTER ROLE quiet SET dogwood.audit = batched"), "42501", "of itself")
                self.tally.equal(state_of(quiet.execute, "ALTER ROLE quiet RESET ALL"), "42501", "of itself")

    def answered_later(self):
        """Answers that follow their records come whole and in order, however messages are put together, and are recorded each."""
        with self.server.connect() as one:
            mark = self.settled(one)
            low, = one.execute("SELECT min(id) FROM posts").fetchone()
            newest, = one.execute("SELECT max(id) FROM posts").fetchone()
            person, = one.execute("SELECT author FROM posts WHERE id = %s", (low,)).fetchone()
        read = "SELECT id FROM posts WHERE id <= %s ORDER BY id"

        def reads(number):
            with self.server.connect(user="sure") as sure:
                for turn in range(20):
                    limit = low + (number + turn) % 7
                    self.tally.equal(sure.execute(read, (limit,)).fetchall(), [(key,) for key in range(low, limit + 1)], "one by one")
                with sure.pipeline():
                    cursors = [sure.execute(read, (low + turn % 5,)) for turn in range(20)]
                    self.tally.that(all(len(cursor.fetchall()) == turn % 5 + 1 for turn, cursor in enumerate(cursors)), "in a pipeline")
                with sure.transaction():
                    self.tally.equal(len(sure.execute(read, (low + 2,)).fetchall()), 3, "in a block")

        threads = [threading.Thread(target=reads, args=(number,)) for number in range(8)]
        [thread.start() for thread in threads], [thread.join() for thread in threads]
        with self.server.connect(user="sure") as sure:
            with sure.pipeline() as pipeline:
                first = sure.execute(read, (low,))
                sure.execute("INSERT INTO posts (id, author) VALUES (%s, %s)", (newest + 1, person))
                wrong = sure.execute("SELECT 1 / (id - id) FROM posts WHERE id = %s", (low,))
                try:
                    pipeline.sync()
                    wrong.fetchall()
                    state = ""
                except psycopg.Error as error:
                    state = error.sqlstate
            self.tally.equal((first.fetchall(), state), ([(low,)], "22012"), "an error behind it")
            self.tally.equal(sure.execute("SELECT count(*) FROM posts WHERE id = %s", (newest + 1,)).fetchone(), (0,), "what stood before it is undone")
        with self.server.connect() as one:
            counted = one.execute("SELECT count(*) FROM dogwood.audit WHERE number > %s AND operation = 'select' AND role = 'sure'", (mark,)).fetchone()
            self.tally.that(counted[0] >= 8 * 41, "each stands in the log", counted)

    def crash(self):
        with self.server.connect() as one:
            one.execute("CREATE ROLE sure LOGIN; GRANT SELECT, INSERT ON posts TO sure; ALTER ROLE sure SET dogwood.audit = strict")
        self.answered_later()
        for round in range(3):
            with self.server.connect() as one:
                mark = self.settled(one)
            with self.server.connect(user="sure") as sure:
                # As a query string, and by messages of their own: there the answer is sent by whoever makes the record durable.
                asked = ("SELECT id FROM posts WHERE id <= 20 ORDER BY id", ("SELECT id FROM posts WHERE id <= %s ORDER BY id", (20,)))[round % 2]
                found = rows(sure, asked) if isinstance(asked, str) else sure.execute(*asked).fetchall()
                self.tally.equal(len(found), 20, "its rows")
                self.server.kill()
            self.server.start()
            with self.server.connect() as one:
                found = rows(one, f"SELECT operation, row_count FROM dogwood.audit WHERE number > {mark} AND operation = 'select'")
                self.tally.that(("select", 20) in found, f"strict: on the disk before it is answered, {round}", found)
                mark = self.settled(one)
                one.execute("SELECT * FROM posts WHERE id = 1").fetchall()
                time.sleep(1.2)
                self.server.kill()
            self.server.start()
            with self.server.connect() as one:
                found = rows(one, f"SELECT operation FROM dogwood.audit WHERE number > {mark} AND operation = 'select'")
                self.tally.that(found, "batched: within a second")

    def beside_erasures(self):
        """Readers, writers and erasures at once: each statement that was answered has its entry."""
        with self.server.connect() as one:
            one.execute("INSERT INTO users SELECT n, 'e' FROM generate_series(5000, 5060) n")
            one.execute("INSERT INTO posts SELECT n, 'e', n FROM generate_series(5000, 5060) n")
            mark = self.settled(one)
        counts = {"select": 0, "update": 0, "forget": 0}
        lock = threading.Lock()

        def work(kind, statements):
            with self.server.connect() as connection:
                for statement in statements:
                    if state_of(connection.execute, statement) == "":
                        with lock:
                            counts[kind] += 1

        threads = [threading.Thread(target=work, args=arguments) for arguments in (
            ("select", [f"SELECT body FROM posts WHERE id = {5000 + n % 60}" for n in range(400)]),
            ("select", [f"SELECT name FROM users WHERE id = {5000 + n % 60}" for n in range(400)]),
            ("update", [f"UPDATE posts SET body = 'f{n}' WHERE id = {5030 + n % 30}" for n in range(200)]),
            ("forget", [f"GDPR FORGET users {5000 + n}" for n in range(25)]))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with self.server.connect() as one:
            self.settled(one)
            for kind, count in counts.items():
                (found,), = rows(one, f"""SELECT count(*) FROM dogwood.audit WHERE number > {mark} AND operation = '{kind}'
                    AND NOT undone AND statement IS DISTINCT FROM 'x'""")
                self.tally.that(found >= count, f"each {kind}", (found, count))

    def order(self):
        with self.server.connect() as one:
            (count, last, ordered), = rows(one, """SELECT count(*), max(number), bool_and(later) FROM (
                SELECT number, recorded_at >= lag(recorded_at, 1, recorded_at) OVER (ORDER BY number) AS later
                FROM dogwood.audit) a""")
            self.tally.equal(count, last, "numbers without gaps")
            self.tally.that(ordered, "times go on")


if __name__ == "__main__":
    run_check(Audit())
