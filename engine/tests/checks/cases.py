#!/usr/bin/env python3
"""What stands around people's requests: their book and its deadlines, erasures that are taken back, holds, restriction, breaches.

    cases.py [--seed N] [--count N]
"""
import datetime
import pathlib
import time

import psycopg

from harness import Check, options, rows, run_check, state_of

SCHEMA = """
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE notes (id INT PRIMARY KEY, author INT NOT NULL OWNED_BY users(id), body TEXT, again INT REFERENCES notes(id) ON DELETE SET NULL);
CREATE TABLE teams (id INT PRIMARY KEY, title TEXT);
CREATE TABLE members (id INT PRIMARY KEY, who INT NOT NULL OWNED_BY users(id), team INT NOT NULL OWNS teams(id));
CREATE TABLE messages (id INT PRIMARY KEY, body TEXT, sender INT OWNED_BY users(id), receiver INT OWNED_BY users(id),
    ON DEL sender ANON (sender), ON DEL receiver ANON (receiver));
CREATE TABLE log (note TEXT, who INT OWNED_BY users(id), amount NUMERIC(8, 2), at TIMESTAMPTZ, tags TEXT[]);
CREATE MATERIALIZED VIEW totals AS SELECT author, count(*)::int AS n FROM notes GROUP BY author;
"""
TABLES = {"users": "id", "notes": "id", "teams": "id", "members": "id", "messages": "id", "log": "note, at", "totals": "author"}


class Cases(Check):
    def run(self):
        with self.server.connect() as one:
            one.execute(SCHEMA)
        for case in (self.book, self.own_tables, self.taken_back, self.grace_ends, self.not_taken_back, self.others_forgotten,
                     self.killed, self.suppressed, self.holds, self.holds_of_nothing, self.holds_elsewhere, self.hold_and_erasure, self.hold_and_expiry, self.restriction, self.breach, self.bytes):
            self.tally.case(case)

    def fill(self, one, people=5):
        dice = self.dice
        one.execute("BEGIN; DELETE FROM log; DELETE FROM messages; DELETE FROM members; DELETE FROM teams; DELETE FROM notes; DELETE FROM users; COMMIT")
        number = lambda: dice.randrange(1, people + 1)
        with one.transaction():
            one.execute("INSERT INTO users SELECT n, 'n' || n FROM generate_series(1, %s) n", (people,))
            for note in range(1, 20):
                one.execute("INSERT INTO notes VALUES (%s, %s, %s, %s)",
                            (note, number(), f"b{note}", dice.choice([None, *range(1, note)]) if note > 1 else None))
                one.execute("INSERT INTO messages VALUES (%s, %s, %s, %s)", (note, f"m{note}", number(), dice.choice([None, number()])))
                one.execute("INSERT INTO log VALUES (%s, %s, %s, %s, %s)",
                            (f"l{note}", number(), dice.randrange(99999) / 100, datetime.datetime(2026, 1, note, tzinfo=datetime.timezone.utc),
                             dice.choice([None, ["a", None, 'q"']])))
            for team in range(1, 5):
                one.execute("INSERT INTO teams VALUES (%s, %s)", (team, f"t{team}"))
                for member in dice.sample(range(1, people + 1), dice.randrange(1, 4)):
                    one.execute("INSERT INTO members VALUES (%s, %s, %s)", (team * 10 + member, member, team))

    def state(self, one):
        return {table: rows(one, f"SELECT * FROM {table} ORDER BY {key}") for table, key in TABLES.items()}

    def book(self):
        with self.server.connect() as one:
            one.execute("INSERT INTO users VALUES (1, 'n1'), (2, 'n2')")
            asked = "SELECT kind, answered_at IS NOT NULL, answered_by, answer FROM dogwood.requests ORDER BY id"
            one.execute("GDPR GET users 1")
            self.until(lambda: rows(one, asked))
            self.tally.equal(rows(one, asked), [("access", True, "controller", "done")], "GET is entered as answered")
            ask = lambda kind, person, more="": rows(one, f"GDPR REQUEST {kind} users {person} {more}")[0]
            number, due = ask("access", 1, "RECEIVED '2026-01-31 12:00+00'")
            self.tally.equal(str(due.astimezone(datetime.timezone.utc)), "2026-02-28 12:00:00+00:00", "due a month later")
            late = "SELECT id, kind FROM dogwood.overdue_requests"
            self.tally.equal(rows(one, late), [(number, "access")], "it is overdue")
            self.tally.equal(state_of(one.execute, f"GDPR EXTEND {number} FOR 'many'"), "DG006", "an overdue one is extended no more")
            with self.server.connect() as watcher:
                watching = watcher.cursor()
                watching.execute("BEGIN; DECLARE late CURSOR FOR SUBSCRIBE (SELECT * FROM dogwood.overdue_requests)")
                first = watching.execute("FETCH ALL late").fetchall()
                self.tally.that(any(number in row for row in first), "the overdue one is in a subscription")
                with one.cursor().copy("COPY (GDPR EXPORT users 1) TO STDOUT") as document:
                    self.tally.that(len(list(document)) > 1, "EXPORT")
                self.tally.equal(rows(one, late), [], "EXPORT answers it")
                told = self.until(lambda: watching.execute("FETCH ALL late").fetchall())
                self.tally.that(any(number in row for row in told), "and the subscription hears of it")
            number, due = ask("rectification", 2)
            longer = rows(one, f"GDPR EXTEND {number} FOR 'the file is long'")[0][1]
            self.tally.that(longer > due, "it may take longer")
            self.tally.equal(state_of(one.execute, f"GDPR EXTEND {number} FOR 'again'"), "DG006", "once")
            one.execute(f"GDPR ANSWER {number} 'corrected'")
            self.tally.equal(rows(one, asked)[-1], ("rectification", True, "controller", "corrected"), "answered by hand")
            for statement, state in ((f"GDPR ANSWER {number}", "DG006"), ("GDPR ANSWER 999999", "42704"), ("GDPR REQUEST access users 99", "DG003"),
                                     ("GDPR REQUEST access users 1 RECEIVED '2126-01-01'", "22008"), ("GDPR REQUEST nix users 1", "42601"),
                                     ("GDPR REQUEST access notes 1", "42809"), ("GDPR REQUEST access users 1 RECEIVED 'soon'", "22007")):
                self.tally.equal(state_of(one.execute, statement), state, statement)
            ask("objection", 2), ask("erasure", 2)
            one.execute("GDPR FORGET users 2")
            self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.requests WHERE answered_at IS NULL"), [(0,)], "FORGET answers all")
            time.sleep(0.6)
            count = lambda: rows(one, "SELECT count(*) FROM dogwood.requests")[0][0]
            before = count()
            self.tally.equal(state_of(one.execute, "GDPR FORGET users 2"), "DG003", "twice")
            with one.transaction(force_rollback=True):
                one.execute("INSERT INTO users VALUES (3, 'n3')")
                self.tally.equal(len(rows(one, "GDPR GET users 3")), 1, "somebody whom the transaction made")
            time.sleep(0.6)
            self.tally.equal(count(), before, "what failed leaves none, and nobody has none")
            with one.transaction(force_rollback=True):
                one.execute("GDPR GET users 1")
            one.execute("SET default_transaction_read_only = on")
            one.execute("GDPR GET users 1")
            one.execute("RESET default_transaction_read_only")
            self.until(lambda: count() == before + 2)
            self.tally.equal(count(), before + 2, "whoever was given the data is in the book, undone or read only")
            number, _ = ask("access", 1)
            with one.transaction(force_rollback=True):
                one.execute("GDPR GET users 1")
            self.tally.equal(rows(one, f"SELECT answered_at FROM dogwood.requests WHERE id = {number}"), [(None,)], "what is undone answers no letter")
            one.execute("GDPR GET users 1")
            self.tally.equal(rows(one, f"SELECT answer FROM dogwood.requests WHERE id = {number}"), [("done",)], "and the next one does")
            self.who_waits_for_nothing(one, ask)
            one.execute("DELETE FROM users")

    def who_waits_for_nothing(self, one, ask):
        """That a person waits for nothing is known from one GET to the next: a letter that comes between is answered all the same."""
        answered = lambda number: rows(one, f"SELECT answered_at IS NOT NULL FROM dogwood.requests WHERE id = {number}")[0][0]
        with self.server.connect() as other:
            other.execute("INSERT INTO users VALUES (4, 'n4')")
            for who in (one, other):
                who.execute("GDPR GET users 1"), who.execute("GDPR GET users 4")
                number = ask("access", 4)[0]
                who.execute("GDPR GET users 1")
                self.tally.that(not answered(number), "of somebody else")
                who.execute("GDPR GET users 4")
                self.tally.that(answered(number), "a letter that came after a GET")
            number = ask("rectification", 4)[0]
            for _ in range(2):
                other.execute("GDPR GET users 4")
                self.tally.that(not answered(number), "GET does not answer what asks for something else")
            letter = ask("access", 4)[0]
            other.execute("GDPR GET users 4")
            self.tally.equal((answered(letter), answered(number)), (True, False), "beside it a letter is answered")
            one.execute(f"GDPR ANSWER {number}")
            with one.transaction(force_rollback=True):
                one.execute("GDPR GET users 4")
                number = ask("access", 4)[0]
                one.execute("GDPR GET users 4")
                self.tally.that(answered(number), "within a transaction, its own letter")
            with one.transaction():
                number = ask("access", 4)[0]
                other.execute("GDPR GET users 4")
            self.tally.that(not answered(number), "what nobody could see")
            other.execute("GDPR GET users 4")
            self.tally.that(answered(number), "and then could")

    def until(self, look, seconds=5):
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            found = look()
            if found:
                return found
            time.sleep(0.02)
        return look()

    def own_tables(self):
        with self.server.connect() as one:
            one.execute("CREATE ROLE clerk LOGIN; CREATE ROLE inspector LOGIN IN ROLE dogwood_regulator")
            tables = ("requests", "retained", "retained_rows", "retained_people")
            for table in tables:
                for statement in (f"INSERT INTO dogwood.{table} (id) VALUES (1)", f"UPDATE dogwood.{table} SET id = 2", f"DELETE FROM dogwood.{table}",
                                  f"TRUNCATE dogwood.{table} CASCADE", f"DROP TABLE dogwood.{table} CASCADE", f"ALTER TABLE dogwood.{table} ADD COLUMN x int",
                                  f"CREATE INDEX ON dogwood.{table} (id)",
                                  f"COMMENT ON TABLE dogwood.{table} IS 'x'", f"COPY dogwood.{table} FROM STDIN",
                                  f"CREATE TABLE x (a bigint REFERENCES dogwood.{table})", f"ALTER TABLE dogwood.{table} RENAME TO y",
                                  f"ALTER TABLE dogwood.{table} ENABLE ROW LEVEL SECURITY"):
                    self.tally.equal(state_of(one.execute, statement), "42501", statement)
            self.tally.equal(state_of(one.execute, "GDPR GET dogwood.retained 1"), "42809", "a case is nobody's data")
            self.tally.that(not any("dogwood." in str(row) for row in rows(one, "EXPLAIN COMPLIANCE")), "nor part of what people declared")
            for role, readable in (("clerk", ()), ("inspector", ("requests",))):
                with self.server.connect(user=role) as other:
                    for table in tables:
                        expected = "" if table in readable else "42501"
                        self.tally.equal(state_of(other.execute, f"SELECT * FROM dogwood.{table}"), expected, f"{role} reads {table}")
                    for statement in ("GDPR UNFORGET users 1", "GDPR REQUEST access users 1", "GDPR ANSWER 1", "CREATE HOLD h ON notes", "DROP HOLD h",
                                      "GDPR RESTRICT users 1"):
                        self.tally.equal(state_of(other.execute, statement), "42501", f"{statement}, by {role}")
            self.tally.equal(state_of(one.execute, "SELECT * FROM dogwood.retained"), "", "a controller reads")

    def taken_back(self):
        with self.server.connect() as one:
            for _ in range(self.options.count):
                self.fill(one)
                before = self.state(one)
                person = self.dice.randrange(1, 6)
                one.execute(f"GDPR FORGET users {person} GRACE '1 day'")
                self.tally.equal([row for row in self.state(one)["users"] if row[0] == person], [], "the person is gone")
                gone = rows(one, f"GDPR UNFORGET users {person}")[0]
                after = self.state(one)
                for table in TABLES:
                    self.tally.equal(after[table], before[table], f"{table} as before, {gone}")
                self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.retained_rows"), [(0,)], "nothing is kept any more")
                self.tally.equal(len(rows(one, f"GDPR GET users {person}")) > 0, True, "and the person's again")
            self.tally.equal(state_of(one.execute, f"GDPR UNFORGET users {person}"), "DG003", "once")

    def grace_ends(self):
        with self.server.connect() as one:
            self.fill(one)
            for statement, state in (("GDPR FORGET users 1 GRACE '-1 day'", "22023"), ("GDPR FORGET users 1 GRACE '0'", "22023"),
                                     ("GDPR FORGET users 1 GRACE 'x'", "22007"), ("GDPR FORGET users 1 GRACE '1 year'", "22023")):
                self.tally.equal(state_of(one.execute, statement), state, statement)
            one.execute("GDPR FORGET users 1 GRACE '1 second'")
            self.tally.that(bool(self.until(lambda: rows(one, "SELECT 1 WHERE NOT EXISTS (SELECT FROM dogwood.retained)"), 10)), "its end destroys what was kept")
            self.tally.equal(state_of(one.execute, "GDPR UNFORGET users 1"), "DG003", "too late")
            try:
                one.execute("GDPR UNFORGET users 1")
            except psycopg.Error as error:
                self.tally.that("its time is over: receipt" in (error.diag.message_detail or ""), "and by which receipt", error)
            one.execute("INSERT INTO users VALUES (1, 'another')")
            self.tally.equal(state_of(one.execute, "GDPR UNFORGET users 1"), "DG003", "too late, and another person took the id")
            self.tally.equal(rows(one, "SELECT name FROM users WHERE id = 1"), [("another",)], "who stays")

    def not_taken_back(self):
        with self.server.connect() as one:
            self.fill(one)
            one.execute("INSERT INTO messages VALUES (100, 'x', 1, 2)")
            one.execute("GDPR FORGET users 1 GRACE '1 day'")
            one.execute("INSERT INTO users VALUES (1, 'another')")
            self.tally.equal(state_of(one.execute, "GDPR UNFORGET users 1"), "DG006", "another person took the id")
            one.execute("DELETE FROM users WHERE id = 1")
            one.execute("UPDATE messages SET sender = 2 WHERE id = 100")
            before = self.state(one)
            self.tally.equal(state_of(one.execute, "GDPR UNFORGET users 1"), "DG006", "what was blanked has another value")
            self.tally.equal(self.state(one), before, "and nothing is changed")
            one.execute("DELETE FROM messages WHERE id = 100")
            one.execute("ALTER TABLE notes ADD COLUMN more int DEFAULT 7")
            found = rows(one, "GDPR UNFORGET users 1")[0]
            self.tally.equal(found[2], 1, "what others have deleted stays so")
            self.tally.equal(rows(one, "SELECT count(*) FROM notes WHERE author = 1 AND more IS DISTINCT FROM 7"), [(0,)], "new columns have their defaults")
            one.execute("GDPR FORGET users 1 GRACE '1 day'")
            one.execute("DROP MATERIALIZED VIEW totals; ALTER TABLE notes ALTER COLUMN body TYPE varchar(50)")
            kept = rows(one, "SELECT count(*) FROM dogwood.retained_rows WHERE table_name = 'notes'")[0][0]
            self.tally.equal(state_of(one.execute, "GDPR UNFORGET users 1"), "DG006" if kept else "", "a column has another type")
            one.execute("CREATE MATERIALIZED VIEW totals AS SELECT author, count(*)::int AS n FROM notes GROUP BY author")
            for person in range(2, 6):
                one.execute(f"GDPR FORGET users {person}")
            self.fill(one)

    def others_forgotten(self):
        """What another person had a part in is no longer put back once that person is forgotten, too."""
        with self.server.connect() as one:
            self.fill(one)
            one.execute("BEGIN; DELETE FROM messages; DELETE FROM members; DELETE FROM teams; COMMIT")
            one.execute("INSERT INTO messages VALUES (1, 'both', 1, 2), (2, 'alone', 1, NULL)")
            one.execute("UPDATE notes SET author = 1 WHERE id IN (1, 3); UPDATE notes SET author = 2 WHERE id = 2; UPDATE notes SET again = 2 WHERE id = 3")
            kept = "SELECT count(*) FROM dogwood.retained_rows WHERE table_name = 'messages'"
            before = rows(one, kept)[0][0]
            one.execute("GDPR FORGET users 1 GRACE '1 day'")
            self.tally.equal(rows(one, kept)[0][0] - before, 2, "both messages are kept")
            one.execute("GDPR FORGET users 2")
            self.tally.equal(rows(one, kept)[0][0] - before, 1, "the joint message is kept no more")
            one.execute("GDPR UNFORGET users 1")
            self.tally.equal(rows(one, "SELECT id, sender, receiver FROM messages"), [(2, 1, None)], "what was the person's alone is back")
            self.tally.equal(rows(one, "SELECT again FROM notes WHERE id = 3"), [(None,)], "and names nobody's row")

    def killed(self):
        with self.server.connect() as one:
            self.fill(one)
            before = self.state(one)
            one.execute("CREATE HOLD stays ON log WHERE who = 3 REASON 'matter'")
            one.execute("GDPR FORGET users 1 GRACE '1 day'")
            number = rows(one, "GDPR REQUEST access users 2")[0][0]
        self.server.kill()
        self.server.start()
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT id FROM dogwood.requests WHERE answered_at IS NULL"), [(number,)], "the book is there after kill -9")
            one.execute("GDPR UNFORGET users 1")
            self.tally.equal(self.state(one), before, "and what was kept")
            self.tally.equal(rows(one, "SELECT hold, table_name FROM dogwood.holds"), [("stays", "log")], "and the hold")
            one.execute("DROP HOLD stays")

    def suppressed(self):
        with self.server.connect() as one:
            self.fill(one)
            one.execute("GDPR FORGET users 1 GRACE '1 day'")
            receipt = rows(one, "SELECT receipt_id FROM dogwood.receipts ORDER BY number DESC LIMIT 1")[0][0]
            found = rows(one, f"GDPR VERIFY DELETION '{receipt}'")
            self.tally.that(len(found) == 1 and found[0][0] == receipt and found[0][3] == (found[0][4] is None), f"of a receipt: {found}")
            self.tally.equal(rows(one, "GDPR VERIFY DELETION 'nix'"), [], "a receipt that was never given")
            one.execute("SET dogwood.suppress_forgotten = on")
            self.tally.equal(state_of(one.execute, "INSERT INTO users VALUES (77, 'new'), (1, 'again')"), "DG006", "who was forgotten comes not back")
            self.tally.equal(rows(one, "SELECT id FROM users WHERE id IN (1, 77)"), [], "nor anybody with them")
            with one.cursor() as cursor:
                def copied():
                    with cursor.copy("COPY users FROM STDIN") as copy:
                        copy.write("1\tagain\n")
                self.tally.equal(state_of(copied), "DG006", "by COPY")
            self.tally.equal(state_of(one.execute, "INSERT INTO users VALUES (77, 'new')"), "", "others do")
            self.tally.equal(state_of(one.execute, "UPDATE users SET id = 1 WHERE id = 77"), "DG006", "nor by another's key")
            merged = "MERGE INTO users u USING (VALUES (1)) v(id) ON u.id = v.id WHEN NOT MATCHED THEN INSERT VALUES (v.id, 'again')"
            self.tally.equal(state_of(one.execute, merged), "DG006", "nor by MERGE")
            one.execute("GDPR UNFORGET users 1")
            self.tally.equal(rows(one, "SELECT id FROM users WHERE id = 1"), [(1,)], "whoever is brought back by name is")
            one.execute("GDPR FORGET users 1")
            one.execute("RESET dogwood.suppress_forgotten")
            self.tally.equal(state_of(one.execute, "INSERT INTO users VALUES (1, 'somebody')"), "", "a key is free for somebody new")

    def holds(self):
        with self.server.connect() as one:
            self.fill(one)
            one.execute("DELETE FROM notes; INSERT INTO notes VALUES (1, 1, 'a'), (2, 2, 'b')")
            one.execute("CREATE HOLD matter ON notes WHERE author = 1 REASON 'litigation'; CREATE HOLD matter ON messages")
            self.tally.equal(rows(one, "SELECT hold, table_name, condition, reason FROM dogwood.holds ORDER BY 2"),
                             [("matter", "messages", None, None), ("matter", "notes", "author = 1", "litigation")], "dogwood.holds")
            for statement, state in (("DELETE FROM notes WHERE id = 1", "DG006"), ("DELETE FROM notes", "DG006"), ("TRUNCATE notes", "DG006"),
                                     ("DROP TABLE notes CASCADE", "DG006"), ("DELETE FROM users WHERE id = 1", "23503"),
                                     ("UPDATE notes SET author = 2 WHERE id = 1", "DG006"), ("ALTER TABLE notes DROP COLUMN body", "DG006"),
                                     ("ALTER TABLE notes RENAME COLUMN body TO text", "DG006"), ("MERGE INTO notes USING users u ON notes.author = u.id WHEN MATCHED THEN DELETE", "DG006"),
                                     ("CREATE HOLD matter ON notes", "42710"), ("CREATE HOLD other ON nix", "42P01"), ("CREATE HOLD other ON totals", "42809"),
                                     ("CREATE HOLD other ON notes WHERE nix = 1", "42703"), ("CREATE HOLD other ON notes WHERE (SELECT true)", "0A000"),
                                     ("CREATE HOLD other ON dogwood.requests", "42501"), ("DROP HOLD nix", "42704"),
                                     ("UPDATE notes SET body = 'c' WHERE id = 1", ""), ("DELETE FROM notes WHERE id = 2", ""),
                                     ("DROP HOLD IF EXISTS nix", ""), ("DROP HOLD matter", ""), ("DELETE FROM notes", "")):
                self.tally.equal(state_of(one.execute, statement), state, statement)

    def holds_of_nothing(self):
        """Who holds what is not there is told so, and keeps what comes."""
        with self.server.connect() as one:
            self.fill(one)
            told = []
            one.add_notice_handler(lambda said: told.append((said.severity, said.sqlstate, said.message_primary, bool(said.message_hint))))

            def of(statement):
                told.clear()
                return state_of(one.execute, statement), [*told]

            nothing = lambda hold, table: ("", [("WARNING", "02000", f'hold "{hold}" keeps no row of table "{table}" yet', True)])
            self.tally.equal(of("CREATE HOLD early ON notes WHERE body = 'later'"), nothing("early", "notes"), "a hold that matches nothing")
            self.tally.equal(of("CREATE HOLD early ON messages WHERE false"), nothing("early", "messages"), "of each table")
            self.tally.equal(of("CREATE HOLD early ON log"), ("", []), "but not where it keeps some")
            one.execute("CREATE TABLE blank (id int PRIMARY KEY)")
            self.tally.equal(of("CREATE HOLD all_of ON blank"), nothing("all_of", "blank"), "an empty table")
            with one.transaction(force_rollback=True):
                one.execute("INSERT INTO blank VALUES (1)")
                self.tally.equal(of("CREATE HOLD mine ON blank WHERE id = 1"), ("", []), "one's own rows count")
                one.execute("DELETE FROM notes")
                self.tally.equal(of("CREATE HOLD mine ON notes"), nothing("mine", "notes"), "and those that one has deleted do not")
            one.execute("INSERT INTO notes VALUES (100, 1, 'later')")
            self.tally.equal(state_of(one.execute, "DELETE FROM notes WHERE id = 100"), "DG006", "what comes is kept")
            for condition, state in (("id = 1 / 0", "22012"), ("random() < 0.5", "42P17"), ("body = clock_timestamp()::text", "42P17"), ("body", "42804"), ("count(*) > 1", "42803")):
                self.tally.equal(state_of(one.execute, f"CREATE HOLD odd ON notes WHERE {condition}"), state, f"WHERE {condition}")
            self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.holds WHERE hold IN ('odd', 'mine')"), [(0,)], "and then there is none")
            one.execute("CREATE HOLD odd ON notes WHERE 1 / (id - 500) > 5; INSERT INTO notes VALUES (500, 2, 'x')")
            for statement in ("DELETE FROM notes WHERE id = 500", "GDPR FORGET users 2"):
                try:
                    one.execute(statement)
                    self.tally.that(False, f"{statement}: a condition that cannot be computed keeps what it may keep")
                except psycopg.Error as error:
                    self.tally.equal((error.sqlstate, error.diag.message_detail), ("22012", 'In the condition of hold "odd" of table "notes".'), statement)
            self.tally.equal(rows(one, "SELECT count(*) FROM notes WHERE id = 500"), [(1,)], "and nothing is gone")
            one.execute("DROP HOLD odd; DELETE FROM notes WHERE id = 500")
            one.execute("DROP HOLD early, all_of; DROP TABLE blank")

    def holds_elsewhere(self):
        """A hold of the same name in another database ends nothing of this one."""
        with self.server.connect() as one:
            self.fill(one)
            one.execute("DELETE FROM notes; INSERT INTO notes VALUES (1, 1, 'kept'); CREATE HOLD matter ON notes")
            one.execute("GDPR FORGET users 1")
            one.execute("CREATE DATABASE elsewhere")
            kept = lambda: rows(one, "SELECT r.row->>'body' FROM dogwood.retained c JOIN dogwood.retained_rows r ON r.retained = c.id WHERE hold = 'matter'")
            with self.server.connect(dbname="elsewhere") as other:
                for statement in ("DROP HOLD IF EXISTS matter", "CREATE TABLE things (id int); INSERT INTO things VALUES (1)", "CREATE HOLD matter ON things", "DROP HOLD matter"):
                    other.execute(statement)
                    self.tally.equal(kept(), [("kept",)], f"{statement}, elsewhere")
            one.execute("DROP HOLD matter")
            one.execute("DROP DATABASE elsewhere")
            self.tally.equal(kept(), [], "its own end")

    def hold_and_erasure(self):
        with self.server.connect() as one:
            self.fill(one)
            one.execute("DELETE FROM notes; INSERT INTO notes VALUES (1, 1, 'kept'), (2, 1, 'not')")
            one.execute("CREATE HOLD one ON notes WHERE id = 1; CREATE HOLD two ON notes WHERE body = 'kept'; CREATE HOLD three ON notes WHERE id = 9")
            one.execute("GDPR FORGET users 1")
            self.tally.equal(rows(one, "SELECT * FROM notes"), [], "the rows are erased")
            kept = rows(one, "SELECT c.hold, r.table_name, r.row->>'body' FROM dogwood.retained c JOIN dogwood.retained_rows r ON r.retained = c.id WHERE hold IS NOT NULL ORDER BY 1")
            self.tally.equal(kept, [("one", "notes", "kept"), ("two", "notes", "kept")], "and withheld by each of their holds")
            one.execute("BEGIN; DROP HOLD one; ROLLBACK")
            self.tally.equal(len(rows(one, "SELECT * FROM dogwood.retained WHERE ground = 'hold'")), 2, "a rolled back end is none")
            one.execute("DROP HOLD one")
            self.tally.equal(rows(one, "SELECT hold FROM dogwood.retained WHERE hold IS NOT NULL"), [("two",)], "the end of one")
            one.execute("DROP HOLD two, three")
            self.tally.equal(rows(one, "SELECT * FROM dogwood.retained WHERE hold IS NOT NULL"), [], "and of all")

    def hold_and_expiry(self):
        with self.server.connect() as one:
            self.fill(one)
            one.execute("CREATE TABLE shortly (id int PRIMARY KEY, who int NOT NULL OWNED_BY users(id), until timestamptz EXPIRES)")
            one.execute("CREATE HOLD wait ON shortly WHERE id <= 2")
            one.execute("INSERT INTO shortly SELECT n, 1, now() + interval '300 ms' FROM generate_series(1, 4) n")
            time.sleep(1.5)
            self.tally.equal(rows(one, "SELECT count(*) FROM shortly"), [(0,)], "nobody sees what has expired, held or not")
            seen = rows(one, "EXPLAIN GDPR FORGET users 1")
            self.tally.equal([row[1] for row in seen if row[0] == "shortly"], [2], "held rows are there all the same")
            one.execute("DROP HOLD wait")
            gone = self.until(lambda: not [row for row in rows(one, "EXPLAIN GDPR FORGET users 1") if row[0] == "shortly"])
            self.tally.that(gone, "the end of the hold wakes the expiry")
            one.execute("DROP TABLE shortly")

    def restriction(self):
        with self.server.connect() as one:
            self.fill(one)
            self.tally.equal(state_of(one.execute, "GDPR RESTRICT users 1"), "55000", "no table has a column for it")
            one.execute("ALTER TABLE messages ADD COLUMN kept_only boolean RESTRICTED")
            one.execute("DELETE FROM messages; INSERT INTO messages VALUES (1, 'a', 1, NULL), (2, 'b', 2, NULL), (3, 'c', 1, 2)")
            one.execute("CREATE ROLE app LOGIN; GRANT SELECT, UPDATE, DELETE, INSERT ON messages TO app")
            one.execute("CREATE MATERIALIZED VIEW sent AS SELECT id FROM messages; GRANT SELECT ON sent TO app")
            with self.server.connect(user="app") as app:
                told = app.cursor()
                told.execute("BEGIN; DECLARE seen CURSOR FOR SUBSCRIBE (SELECT id FROM messages)")
                told.execute("FETCH ALL seen").fetchall()
                self.tally.equal(rows(one, "GDPR RESTRICT users 1"), [("messages", 2)], "rows that the person owns")
                with self.server.connect(user="app") as other:
                    for question in ("SELECT id FROM messages ORDER BY id", "SELECT id FROM sent ORDER BY id", "SELECT id FROM messages WHERE id IN (1, 2, 3)"):
                        self.tally.equal(rows(other, question), [(2,)], f"{question}, by others")
                    self.tally.equal(other.execute("UPDATE messages SET body = 'x'").rowcount, 1, "changed")
                    self.tally.equal(other.execute("DELETE FROM messages WHERE id = 1").rowcount, 0, "deleted")
                    self.tally.equal(state_of(other.execute, "INSERT INTO messages VALUES (9, 'x', 2, NULL, true)"), "42501", "made")
                    one.execute("GRANT TRUNCATE ON messages TO app")
                    self.tally.equal(state_of(other.execute, "TRUNCATE messages"), "42501", "emptied")
                changes = self.until(lambda: told.execute("FETCH ALL seen").fetchall())
                self.tally.that({row[-1] for row in changes} >= {1, 3}, f"a live query hears of it: {changes}")
            self.tally.equal(rows(one, "SELECT id FROM messages ORDER BY id"), [(1,), (2,), (3,)], "a controller has them")
            self.tally.equal(rows(one, "SELECT kind, answer FROM dogwood.requests ORDER BY id DESC LIMIT 1"), [("restriction", "done")], "it is in the book")
            self.tally.equal(rows(one, "GDPR UNRESTRICT users 1"), [("messages", 2)], "and ended")
            with self.server.connect(user="app") as other:
                self.tally.equal(rows(other, "SELECT count(*) FROM messages"), [(3,)], "all is seen again")
            one.execute("DROP MATERIALIZED VIEW sent; ALTER TABLE messages DROP COLUMN kept_only")

    def breach(self):
        with self.server.connect() as one:
            self.fill(one)
            one.execute("CREATE ROLE thief LOGIN; GRANT SELECT ON notes, users TO thief; ALTER TABLE notes ALTER COLUMN body SET CATEGORY")
            from_when = rows(one, "SELECT clock_timestamp()::text")[0][0]
            time.sleep(0.05)
            with self.server.connect(user="thief") as thief:
                authors = {row[0] for row in rows(thief, "SELECT DISTINCT author FROM notes")}
                rows(thief, "SELECT * FROM users WHERE id = 3")
            time.sleep(0.05)
            to_when = rows(one, "SELECT clock_timestamp()::text")[0][0]
            rows(one, "SELECT * FROM notes")
            found = rows(one, f"GDPR BREACH BETWEEN '{from_when}' AND '{to_when}' ROLE thief")
            self.tally.equal([(row[0], row[1], row[2], row[3], row[5]) for row in found],
                             [("notes", "thief", "select", ["category body"], len(authors)), ("users", "thief", "select", None, 1)], "what was touched")
            people = rows(one, f"GDPR BREACH BETWEEN '{from_when}' AND '{to_when}' ROLE thief PEOPLE")
            self.tally.equal(len(people), len(authors | {3}), "and whose")
            self.tally.equal(state_of(one.execute, f"GDPR BREACH BETWEEN '{to_when}' AND '{from_when}'"), "22023", "no answer is no answer")
            self.tally.equal(state_of(one.execute, "GDPR BREACH BETWEEN 'x' AND 'y'"), "22007", "no time")
            self.tally.equal(state_of(one.execute, "GDPR BREACH BETWEEN '2026-01-01' AND '2027-01-01' ROLE nix"), "42704", "no role")
            with self.server.connect(user="thief") as thief:
                self.tally.equal(state_of(thief.execute, "GDPR BREACH BETWEEN '2026-01-01' AND '2027-01-01'"), "42501", "not for everybody")
            one.execute("ALTER TABLE notes ALTER COLUMN body DROP CATEGORY")

    def bytes(self):
        """A held row is there for the controller, sealed; the end of its hold takes it from the files."""
        with self.server.connect() as one:
            self.fill(one)
            one.execute("CREATE HOLD deep ON notes WHERE body LIKE 'canary%'")
            one.execute("INSERT INTO notes VALUES (500, 1, 'canary-of-held-rows-1')")
            one.execute("GDPR FORGET users 1 GRACE '1 day'")
            files = [path for path in pathlib.Path(self.server.data).rglob("*") if path.is_file()]
            self.tally.that(files, "there are files")
            found = [path.name for path in files if b"canary-of-held-rows-1" in path.read_bytes()]
            self.tally.equal(found, [], "sealed while it is kept")
            one.execute("DROP HOLD deep")
            self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.retained WHERE hold = 'deep'"), [(0,)], "gone")


if __name__ == "__main__":
    run_check(Cases(options(22, count=6)))
