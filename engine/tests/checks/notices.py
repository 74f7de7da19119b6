#!/usr/bin/env python3
"""Whom to tell that rows which were shared were corrected, erased or restricted; and what a person is told of who read theirs.

Random changes by random ways against a count in Python: one transaction has one notice for each recipient, table, person and happening.

    notices.py [--seed N] [--count N]
"""
import collections
import json
import threading
import time

import psycopg

from harness import Check, options, rows, run_check, state_of
from support.listening import Listener

RECIPIENTS = ["acme", "bank", "court"]
SCHEMA = """
CREATE DATA_SUBJECT TABLE person (id int PRIMARY KEY, name text);
CREATE TABLE given (id int PRIMARY KEY, owner int OWNED_BY person(id), other int OWNED_BY person(id), body text, note text,
    shared text[] SHARED_WITH, seen_by text RECIPIENT, held boolean RESTRICTED, allowed text[] PURPOSES, until timestamptz EXPIRES,
    ON DEL owner ANON (owner, body));
CREATE TABLE kept (id int PRIMARY KEY, owner int NOT NULL OWNED_BY person(id), body text);
INSERT INTO person SELECT n, 'n' || n FROM generate_series(1, 5) n;
"""
COLUMNS = ("id", "owner", "other", "body", "note", "shared", "seen_by", "held")


class Notices(Check):
    def run(self):
        with self.server.connect() as one:
            one.execute(SCHEMA)
            self.names = {n: self.pseudonym(one, n) for n in range(1, 6)}
        for case in (self.counted, self.forgotten, self.by_other_ways, self.definitions, self.marked, self.listened, self.killed, self.rights, self.who_read):
            self.tally.case(case)

    def pseudonym(self, one, person):
        one.execute(f"GDPR REQUEST access person {person}")
        (found,), = rows(one, "SELECT subject FROM dogwood.requests ORDER BY id DESC LIMIT 1")
        return found

    def new(self, one, after=0):
        """Notices after a number: how many rows of what, for whom; and the last number."""
        found = rows(one, "SELECT id, recipient, happened, table_name, subject, rows FROM dogwood.notices WHERE id > %s", (after,))
        people = {name: person for person, name in self.names.items()}
        counted = {(recipient, happened, table, people[subject]): count for _, recipient, happened, table, subject, count in found}
        self.tally.equal(len(counted), len(found), "one of each kind in a transaction")
        return counted, max((row[0] for row in found), default=after)

    # By random changes.

    def fill(self, one):
        one.execute("DELETE FROM given")
        data = {}
        for n in range(1, 31):
            some = lambda: self.dice.sample(RECIPIENTS, self.dice.randrange(3))
            owner, other = self.dice.choice([(self.dice.randint(1, 5), None), (self.dice.randint(1, 5), self.dice.randint(1, 5)), (None, self.dice.randint(1, 5))])
            shared, seen = self.dice.choice([None, some()]), self.dice.choice([None, " , ".join(some())])
            data[n] = dict(zip(COLUMNS, (n, owner, other, f"b{n}", self.dice.choice([None, "x"]), shared, seen, self.dice.choice([None, False]))))
        one.cursor().executemany(f"INSERT INTO given ({', '.join(COLUMNS)}) VALUES ({', '.join(['%s'] * len(COLUMNS))})", [tuple(row.values()) for row in data.values()])
        return data

    def expected(self, counted, row, happened):
        recipients = {*(row["shared"] or []), *(word.strip() for word in (row["seen_by"] or "").split(",") if word.strip())}
        for person in {row["owner"], row["other"]} - {None}:
            for recipient in recipients:
                counted[recipient, happened, "given", person] += 1

    def counted(self):
        changes = (
            ("body = 'new'", "corrected"), ("note = 'x', body = NULL", None), ("body = NULL", "erased"), ("body = NULL, note = NULL", "erased"),
            ("held = true", "restricted"), ("allowed = '{ads}'", ""), ("shared = '{nobody}'", ""), ("body = body", ""), (None, "erased"))
        with self.server.connect() as one:
            for _ in range(self.options.count):
                data = self.fill(one)
                (after,), = rows(one, "SELECT coalesce(max(id), 0) FROM dogwood.notices")
                low, width = self.dice.randint(1, 30), self.dice.randint(1, 15)
                change, happened = self.dice.choice(changes)
                counted = collections.Counter()
                for n in range(low, min(low + width, 31)):
                    row = data[n]
                    if happened is None:
                        # A value comes where there was none, or something goes and nothing comes.
                        self.expected(counted, row, "corrected" if row["note"] != "x" else "erased")
                    elif happened:
                        if change != "body = NULL, note = NULL" or row["body"] is not None:
                            self.expected(counted, row, happened)
                where = f"WHERE id >= {low} AND id < {low + width}"
                statement = f"UPDATE given SET {change} {where}" if change else f"DELETE FROM given {where}"
                if self.dice.random() < 0.3:
                    with one.transaction(force_rollback=True):
                        one.execute(statement)
                    self.tally.equal(self.new(one, after)[0], {}, "rolled back")
                one.execute(statement)
                self.tally.equal(self.new(one, after)[0], dict(counted), statement)

    def forgotten(self):
        with self.server.connect() as one:
            for part in (False, True):
                one.execute("DELETE FROM given; INSERT INTO given (id, owner, other, body, shared) VALUES (1, 1, 1, 'alone', '{acme}'), (2, 1, 2, 'both', '{acme, bank}'), (3, 2, 3, 'theirs', '{court}'), (4, 1, NULL, 'none', NULL)")
                (after,), = rows(one, "SELECT max(id) FROM dogwood.notices")
                one.execute("GDPR FORGET person 1" + (" IN (given)" if part else ""))
                found, _ = self.new(one, after)
                self.tally.equal(found, {("acme", "erased", "given", 1): 2, ("bank", "erased", "given", 1): 1}, f"erased {'in part' if part else 'whole'}: of that person alone")
                if not part:
                    one.execute("INSERT INTO person VALUES (1, 'again')")
                    self.names[1] = self.pseudonym(one, 1)
            everything = rows(one, "SELECT n::text FROM dogwood.notices n")
            self.tally.that(not any("alone" in row[0] or "both" in row[0] for row in everything), "no notice has anything of a row")

    def by_other_ways(self):
        with self.server.connect() as one:
            def happens(statements, expected, name):
                one.execute("DELETE FROM given; INSERT INTO given (id, owner, body, shared) VALUES (1, 2, 'a', '{acme}'), (2, 3, 'b', '{acme}')")
                (after,), = rows(one, "SELECT max(id) FROM dogwood.notices")
                for statement in statements:
                    one.execute(statement)
                self.tally.equal(self.new(one, after)[0], expected, name)

            happens(["GDPR RESTRICT person 2"], {("acme", "restricted", "given", 2): 1}, "GDPR RESTRICT")
            happens(["GDPR RESTRICT person 2", "GDPR UNRESTRICT person 2"], {("acme", "restricted", "given", 2): 1, ("acme", "released", "given", 2): 1}, "and its end")
            happens(["TRUNCATE given"], {("acme", "erased", "given", 2): 1, ("acme", "erased", "given", 3): 1}, "TRUNCATE")
            happens(["UPDATE given SET until = now() WHERE id = 1", "GDPR PURGE given"], {("acme", "erased", "given", 2): 1}, "expiry")
            happens(["INSERT INTO given VALUES (1) ON CONFLICT (id) DO UPDATE SET body = 'c'"], {("acme", "corrected", "given", 2): 1}, "ON CONFLICT")
            happens(["MERGE INTO given g USING (SELECT 1 AS id) s ON g.id = s.id WHEN MATCHED THEN DELETE"], {("acme", "erased", "given", 2): 1}, "MERGE")
            happens(["INSERT INTO given (id, owner, shared) VALUES (9, 2, '{bank}')"], {}, "a new row obliges nobody")
            happens(["BEGIN", "UPDATE given SET body = 'x' WHERE id = 1", "UPDATE given SET body = 'a' WHERE id = 1", "COMMIT"], {}, "there and back")
            happens(["BEGIN", "UPDATE given SET body = 'x'", "SAVEPOINT s", "DELETE FROM given WHERE id = 2", "ROLLBACK TO s", "COMMIT"],
                    {("acme", "corrected", "given", 2): 1, ("acme", "corrected", "given", 3): 1}, "a savepoint")
            (before,), = rows(one, "SELECT count(*) FROM dogwood.notices")
            one.execute("INSERT INTO kept VALUES (1, 2, 'a'); UPDATE kept SET body = 'b'; DELETE FROM kept")
            self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.notices"), [(before,)], "a table without recipients")

    def definitions(self):
        """A definition that writes rows anew corrects nothing; one that takes them away does."""
        with self.server.connect() as one:
            one.execute("CREATE TABLE old (id int PRIMARY KEY, owner int OWNED_BY person(id), n int, shared text SHARED_WITH); INSERT INTO old VALUES (1, 4, 1, 'acme,bank')")
            (after,), = rows(one, "SELECT max(id) FROM dogwood.notices")
            one.execute("ALTER TABLE old ALTER COLUMN n TYPE bigint; ALTER TABLE old ADD COLUMN m int DEFAULT 7; ALTER TABLE old DROP COLUMN m")
            self.tally.equal(self.new(one, after)[0], {}, "ALTER TABLE")
            one.execute("DROP TABLE old")
            self.tally.equal(self.new(one, after)[0], {(one_, "erased", "old", 4): 1 for one_ in ("acme", "bank")}, "DROP TABLE")

    # What is done about them.

    def marked(self):
        with self.server.connect() as one:
            one.execute("DELETE FROM given; INSERT INTO given (id, owner, body, shared) VALUES (1, 2, 'a', '{acme}'); UPDATE given SET body = 'b'")
            (number,), = rows(one, "SELECT max(id) FROM dogwood.notices")
            one.execute(f"GDPR NOTIFIED {number} 'by letter'")
            self.tally.equal(rows(one, f"SELECT told_at IS NOT NULL, told_by, told_how FROM dogwood.notices WHERE id = {number}"), [(True, "controller", "by letter")], "told")
            for statement, state in ((f"GDPR NOTIFIED {number}", "DG006"), ("GDPR NOTIFIED 1", "42704"), ("GDPR NOTIFIED 'x'", "42601"),
                                     ("DELETE FROM dogwood.notices", "42501"), ("UPDATE dogwood.notices SET rows = 0", "42501"), ("TRUNCATE dogwood.notices", "42501")):
                self.tally.equal(state_of(one.execute, statement), state, statement)

    def listened(self):
        with self.server.connect() as one, self.server.connect() as other:
            listener = Listener(other, "SELECT recipient, happened FROM dogwood.notices WHERE told_at IS NULL AND recipient = 'heard'")
            one.execute("DELETE FROM given; INSERT INTO given (id, owner, body, shared) VALUES (1, 2, 'a', '{heard}')")
            one.execute("UPDATE given SET body = 'b'")
            self.tally.that(listener.hears("\t1\theard\tcorrected"), "a subscriber hears of it", listener.told)
            (number,), = rows(one, "SELECT max(id) FROM dogwood.notices")
            one.execute(f"GDPR NOTIFIED {number}")
            self.tally.that(listener.hears("\t-1\theard\tcorrected"), "and that it is done", listener.told)
            other.cancel()

    def killed(self):
        """A change and its notice stand together, or neither does."""
        for round in range(4):
            with self.server.connect() as one:
                one.execute("DELETE FROM given")
                one.execute("INSERT INTO given (id, owner, body, shared) SELECT n, 1 + n % 5, 'a', '{acme}' FROM generate_series(1, 300) n")
                (after,), = rows(one, "SELECT max(id) FROM dogwood.notices")

            def change():
                try:
                    with self.server.connect() as one:
                        for n in range(1, 301):
                            one.execute(f"UPDATE given SET body = 'b' WHERE id = {n}")
                except psycopg.Error:
                    pass

            thread = threading.Thread(target=change)
            thread.start()
            time.sleep(0.05 + self.dice.random() * 0.2)
            self.server.kill()
            thread.join()
            self.server.start()
            with self.server.connect() as one:
                changed, noted = rows(one, f"SELECT (SELECT count(*) FROM given WHERE body = 'b'), (SELECT coalesce(sum(rows), 0) FROM dogwood.notices WHERE id > {after})")[0]
                self.tally.equal(noted, changed, f"round {round}: as many notices as changes")

    def rights(self):
        with self.server.connect() as one:
            one.execute("CREATE ROLE clerk LOGIN; CREATE ROLE office LOGIN IN ROLE dogwood_regulator; GRANT SELECT, UPDATE ON given TO clerk")
        with self.server.connect(user="clerk") as clerk:
            self.tally.equal(state_of(clerk.execute, "SELECT * FROM dogwood.notices"), "42501", "who may not read it")
            self.tally.equal(state_of(clerk.execute, "GDPR NOTIFIED 1"), "42501", "nor say that anybody was told")
            self.tally.equal(state_of(clerk.execute, "UPDATE given SET body = 'c' WHERE id = 1"), "", "but whose change obliges, all the same")
        with self.server.connect(user="office") as office:
            self.tally.that(rows(office, "SELECT count(*) FROM dogwood.notices")[0][0] > 0, "a regulator reads it")
            self.tally.equal(state_of(office.execute, "GDPR NOTIFIED 1"), "42501", "and changes nothing")

    # Who read it.

    def who_read(self):
        with self.server.connect() as one:
            one.execute("INSERT INTO kept VALUES (1, 4, 'four'), (2, 5, 'five'); CREATE PURPOSE ads; CREATE ROLE agency LOGIN IN ROLE dogwood_processor; GRANT SELECT ON kept TO agency; GRANT PURPOSE ads TO agency; CREATE USER five FOR person 5; CREATE USER four FOR person 4")
        with self.server.connect(user="agency") as agency:
            agency.execute("SET dogwood.purpose = 'ads'; SELECT body FROM kept WHERE id = 1")
        with self.server.connect(user="five") as five:
            rows(five, "SELECT * FROM kept")
        with self.server.connect(user="four") as four:
            told = [row for row in rows(four, "GDPR GET person 4 WITH AUDIT") if row[1] == "audit"]
            own = rows(four, "SELECT operation, tables FROM dogwood.audit ORDER BY number")
            self.tally.equal([(row[3]["operation"], row[3]["tables"]) for row in told], own[:len(told)], "what the own login sees of the log")
            self.tally.that(any(row[3]["role"] == "agency" and row[3]["purpose"] == "ads" and row[3]["tables"] == ["kept"] for row in told), "who, for what", told)
            self.tally.that(not any(row[3]["role"] == "five" for row in told), "no other person by name")
            self.tally.equal([row for row in rows(four, "GDPR GET person 4") if row[1] == "audit"], [], "without WITH AUDIT nothing")
            with four.cursor().copy("COPY (GDPR EXPORT person 4 WITH AUDIT) TO STDOUT") as copy:
                document = json.loads(b"".join(copy))
            self.tally.equal(document["audit"][:len(told)], [row[3] for row in told], "EXPORT has the same")
            with four.cursor().copy("COPY (GDPR EXPORT person 4 FORMAT csv WITH AUDIT) TO STDOUT") as copy:
                lines = b"".join(copy).decode().splitlines()
            self.tally.equal(sum(line.startswith("# audit,") for line in lines) >= len(told), True, "and CSV")
            self.tally.equal(state_of(four.execute, "GDPR GET person 5 WITH AUDIT"), "DG003", "of themself alone")
        with self.server.connect() as one:
            self.tally.equal(state_of(one.execute, "GDPR GET person 99 WITH AUDIT"), "DG003", "an unknown person")


if __name__ == "__main__":
    run_check(Notices(options(9, count=60)))
