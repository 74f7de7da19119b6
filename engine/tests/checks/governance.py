#!/usr/bin/env python3
"""What columns say of their rows to those who govern data, and what the server does by it: random purposes, objections and roles, asked
by many ways, against a short evaluator; withdrawals that empty live subscriptions; expiry at its instant and afterwards; regions.

    governance.py [--seed N] [--count N]
"""
import datetime
import json
import time

import psycopg

from harness import Check, options, rows, run_check, state_of
from harness.protocol import Raw, startup, state

PURPOSES = ["ads", "billing", "research"]
ROLES = {"nothing": [], "one": ["ads"], "two": ["ads", "billing"]}
SCHEMA = """
CREATE DATA_SUBJECT TABLE person (id int PRIMARY KEY, name text);
CREATE TABLE contact (id int PRIMARY KEY, owner int NOT NULL OWNED_BY person(id), kind text,
    purposes text[] PURPOSES, objections text OBJECTIONS);
CREATE INDEX ON contact (kind);
CREATE VIEW kinds AS SELECT kind, count(*)::int AS n FROM contact GROUP BY kind;
CREATE MATERIALIZED VIEW kept AS SELECT kind, count(*)::int AS n FROM contact GROUP BY kind;
INSERT INTO person SELECT n, 'n' || n FROM generate_series(1, 9) n;
CREATE PURPOSE ads; CREATE PURPOSE billing; CREATE PURPOSE IF NOT EXISTS research;
CREATE ROLE nothing LOGIN IN ROLE dogwood_processor; CREATE ROLE one LOGIN IN ROLE dogwood_processor; CREATE ROLE two LOGIN IN ROLE one;
CREATE ROLE reader LOGIN;
GRANT SELECT, INSERT, UPDATE, DELETE ON contact TO nothing, one, two, reader;
GRANT SELECT ON kinds, kept, person TO nothing, one, two, reader;
GRANT PURPOSE ads TO one; GRANT PURPOSE billing TO two;
"""


def allowed(row, role, purpose):
    """The evaluator: whether a role sees a row for a purpose."""
    _, _, _, purposes, objections = row
    if role in ("controller", "reader"):
        return True
    objects = [word.strip() for word in (objections or "").split(",")]
    return purpose in ROLES[role] and purpose in (purposes or []) and purpose not in objects


class Governance(Check):
    def run(self):
        with self.server.connect() as one:
            one.execute(SCHEMA)
        for case in (self.spellings, self.refusals, self.started, self.random_questions, self.withdrawals, self.writes, self.told, self.expiry,
                     self.expiry_beside, self.expiry_of_types, self.expired_after_crash, self.regions, self.kept_for_a_purpose, self.plans,
                     self.consents, self.consent_in_subscriptions, self.consent_by_owns, self.consent_without_book, self.consent_refusals):
            self.tally.case(case)

    def session(self, role, purpose=None):
        connection = self.server.connect(user=role) if role != "controller" else self.server.connect()
        if purpose:
            connection.execute(f"SET dogwood.purpose = '{purpose}'")
        return connection

    def spellings(self):
        with self.server.connect() as one:
            one.execute("CREATE TABLE a (id int PRIMARY KEY, p varchar[] PURPOSES, o text ORIGIN NOT NULL, d text DEFAULT 'x' DECISIONS)")
            one.execute("CREATE TABLE b (id int PRIMARY KEY, p varchar[], o text NOT NULL, d text DEFAULT 'x')")
            one.execute("SECURITY LABEL FOR dogwood ON COLUMN b.p IS 'PURPOSES'; SECURITY LABEL FOR dogwood ON COLUMN b.o IS 'ORIGIN'")
            one.execute("COMMENT ON COLUMN b.d IS 'what is decided by it @decisions'")
            one.execute("CREATE TABLE c (id int PRIMARY KEY, p varchar[], o text NOT NULL, d text DEFAULT 'x')")
            for column, word in (("p", "PURPOSES"), ("o", "ORIGIN"), ("d", "DECISIONS")):
                one.execute(f"ALTER TABLE c ALTER COLUMN {column} SET {word}")
            labels = lambda table: rows(one, f"SELECT split_part(objname, '.', 2), label FROM pg_seclabels WHERE objname LIKE '{table}.%' ORDER BY 1")
            expected = [("d", "DECISIONS"), ("o", "ORIGIN"), ("p", "PURPOSES")]
            for table in "abc":
                self.tally.equal(labels(table), expected, f"labels of {table}")
            found = rows(one, "SELECT table_name, column_name, property FROM dogwood.properties WHERE table_name IN ('a', 'b', 'c') ORDER BY 1, 2")
            self.tally.equal(found, [(table, column, word.lower()) for table in "abc" for column, word in expected], "dogwood.properties")
            one.execute("ALTER TABLE a DROP COLUMN p; ALTER TABLE b ALTER COLUMN p DROP PURPOSES; SECURITY LABEL FOR dogwood ON COLUMN c.p IS NULL")
            for table in "abc":
                self.tally.equal(labels(table), expected[:2], f"labels of {table} without one")
            one.execute("ALTER TABLE a ADD COLUMN p text PURPOSES; ALTER TABLE a RENAME COLUMN p TO q")
            self.tally.equal(labels("a")[-1], ("q", "PURPOSES"), "a new one, renamed")
            one.execute("DROP TABLE a, b, c")

    def refusals(self):
        with self.server.connect() as one:
            for statement, state in (
                    ("CREATE TABLE x (id int PURPOSES)", "42804"), ("CREATE TABLE x (id int, at text EXPIRES)", "42804"),
                    ("CREATE TABLE x (a text[] PURPOSES, b text[] PURPOSES)", "42710"),
                    ("CREATE TABLE x (a text[] PURPOSES OBJECTIONS)", "42710"), ("CREATE TABLE x (a text[] REGION)", "42804"),
                    ("SECURITY LABEL FOR dogwood ON TABLE contact IS 'PURPOSES'", "42P16"),
                    ("SECURITY LABEL FOR dogwood ON COLUMN contact.kind IS 'PURPOSE'", "22023"),
                    ("ALTER TABLE contact ALTER COLUMN kind DROP PURPOSES", "42704"),
                    ("ALTER TABLE contact ALTER COLUMN objections TYPE int USING 1", "42804"),
                    ("COMMENT ON COLUMN contact.purposes IS '@objections'", "42P16"),
                    ("CREATE PURPOSE ads", "42710"), ("CREATE PURPOSE \"a,b\"", "42602"), ("DROP PURPOSE nix", "42704"),
                    ("GRANT PURPOSE nix TO one", "42704"), ("GRANT PURPOSE ads TO nix", "42704"), ("REVOKE PURPOSE nix FROM one", "42704"),
                    ("SET dogwood.purpose = 'nix'", "22023"), ("GDPR PURGE contact", "55000"), ("GDPR PURGE nix", "42P01")):
                self.tally.equal(state_of(one.execute, statement), state, statement)
            one.execute("DROP PURPOSE IF EXISTS nix")
        with self.session("one") as one:
            for statement, state in (("SET dogwood.purpose = 'billing'", "42501"), ("CREATE PURPOSE mine", "42501"),
                                     ("GRANT PURPOSE billing TO one", "42501"), ("DROP PURPOSE ads", "42501"),
                                     ("SELECT set_config('dogwood.purpose', 'billing', false)", "42501"),
                                     ("SET dogwood.regions = 'us'", "42501")):
                self.tally.equal(state_of(one.execute, statement), state, f"{statement}, by a processor")

    def opened(self, user, options=b""):
        """The SQLSTATEs that a client is told while it connects, warnings and refusals, and for which purpose its session is then."""
        raw = Raw(self.server, begin=False)
        raw.send(startup(user.encode(), options=options))
        got = raw.until(b"Z")
        told = [(kind.decode(), state(body)) for kind, body in got if kind in (b"N", b"E")]
        raw.close()
        return told

    def started(self):
        """A purpose that a session starts with is no other than one that is SET: what the client says is refused, what the role was
        given is left and told."""
        with self.server.connect() as one:
            one.execute("DELETE FROM contact; INSERT INTO contact VALUES (1, 1, 'x', '{ads}'), (2, 2, 'x', '{billing}')")
            for user, purpose, told in (("one", "ads", []), ("one", "nix", [("E", "22023")]), ("one", "billing", [("E", "42501")]), ("nothing", "ads", [("E", "42501")]),
                                        ("reader", "nix", [("E", "22023")]), ("controller", "nix", [("E", "22023")]), ("controller", "ads", []), ("one", "", [])):
                self.tally.equal(self.opened(user, f"-c dogwood.purpose={purpose}".encode()), told, f"connecting as {user} for {purpose!r}")
            with self.server.connect(user="one", options="-c dogwood.purpose=ads") as own:
                self.tally.equal(rows(own, "SELECT id FROM contact"), [(1,)], "what it was granted it sees")
            for scope in ("ROLE one", "ROLE one IN DATABASE dogwood", "ROLE ALL", "DATABASE dogwood"):
                self.tally.equal(state_of(one.execute, f"ALTER {scope} SET dogwood.purpose = 'nix'"), "22023", f"ALTER {scope}")
            one.execute("CREATE PURPOSE brief; ALTER ROLE one SET dogwood.purpose = 'brief'")
            left = lambda: (self.opened("one"), self.seen_by_one())
            self.tally.equal(left(), ([("N", "42501")], ("", 0)), "a role's purpose that was not granted")
            self.tally.equal(self.opened("one", b"-c dogwood.purpose=ads"), [], "but for who says another")
            one.execute("GRANT PURPOSE brief TO one")
            self.tally.equal(left(), ([], ("brief", 0)), "granted")
            with self.server.connect(user="one") as own:
                one.execute("UPDATE contact SET purposes = '{brief}' WHERE id = 1")
                self.tally.equal(rows(own, "SELECT count(*) FROM contact"), [(1,)], "and in use")
                one.execute("REVOKE PURPOSE brief FROM one")
                for statement in ("SELECT 1", "RESET dogwood.purpose", "RESET ALL", "DISCARD ALL"):
                    own.execute(statement)
                    self.tally.equal(rows(own, "SELECT count(*) FROM contact"), [(0,)], f"revoked while a session has it: {statement}")
                self.tally.equal(state_of(own.execute, "SET dogwood.purpose = 'brief'"), "42501", "and not SET again")
                self.tally.equal(state_of(own.execute, "INSERT INTO contact VALUES (9, 1, 'x', '{brief}')"), "42501", "nor written for")
                one.execute("DROP PURPOSE brief")
                self.tally.equal(rows(own, "SELECT count(*) FROM contact"), [(0,)], "nor dropped")
                self.tally.equal(state_of(own.execute, "BEGIN; SET LOCAL dogwood.purpose = 'brief'"), "22023", "SET LOCAL")
                own.execute("ROLLBACK")
            self.tally.equal(left(), ([("N", "22023")], ("", 0)), "a role's purpose that was dropped")
            one.execute("ALTER ROLE one RESET dogwood.purpose; DELETE FROM contact")

    def seen_by_one(self):
        with self.server.connect(user="one") as own:
            return rows(own, "SELECT current_setting('dogwood.purpose'), count(*) FROM contact")[0]

    def fill(self, connection, count=40):
        connection.execute("DELETE FROM contact")
        data = []
        for number in range(1, count + 1):
            some = lambda: self.dice.sample(PURPOSES, self.dice.randrange(3))
            purposes = None if self.dice.random() < 0.15 else some()
            objections = None if self.dice.random() < 0.5 else self.dice.choice([",", " , ", ", "]).join(some())
            data.append((number, self.dice.randrange(1, 9), self.dice.choice("xyz"), purposes, objections))
        connection.cursor().executemany("INSERT INTO contact VALUES (%s, %s, %s, %s, %s)", data)
        return data

    def random_questions(self):
        with self.server.connect() as controller:
            for _ in range(self.options.count):
                data = self.fill(controller)
                for role in ("controller", "reader", *ROLES):
                    for purpose in (None, *PURPOSES):
                        if role in ROLES and purpose and purpose not in ROLES[role]:
                            continue
                        with self.session(role, purpose if role != "reader" else None) as one:
                            self.ask(one, role, [row for row in data if allowed(row, role, purpose)], f"{role} for {purpose}")

    def ask(self, one, role, seen, name):
        one.prepare_threshold = 0
        ids = [row[0] for row in seen]
        kind, owner, number = self.dice.choice("xyz"), self.dice.randrange(1, 9), self.dice.randrange(1, 41)
        count = {letter: sum(row[2] == letter for row in seen) for letter in "xyz"}
        counted = sorted((letter, n) for letter, n in count.items() if n)
        first = lambda sql, *parameters: [row[0] for row in rows(one, sql, parameters or None)]
        equal = lambda found, expected, what: self.tally.equal(found, expected, f"{name}: {what}")
        equal(first("SELECT id FROM contact ORDER BY id"), ids, "a scan")
        equal(first("SELECT id FROM contact WHERE id = %s", number), [number] if number in ids else [], "by key")
        equal(first("SELECT id FROM contact WHERE kind = %s ORDER BY id", kind), [row[0] for row in seen if row[2] == kind], "by index")
        equal(first("SELECT id FROM contact WHERE owner = %s ORDER BY id", owner), [row[0] for row in seen if row[1] == owner], "by owner")
        equal(first("SELECT count(*) FROM contact"), [len(ids)], "count")
        equal(rows(one, "SELECT * FROM kinds ORDER BY 1"), counted, "a view")
        equal(rows(one, "SELECT * FROM kept ORDER BY 1"), counted, "a materialized view")
        equal(first("SELECT p.id FROM person p WHERE EXISTS (SELECT FROM contact c WHERE c.owner = p.id) ORDER BY 1"),
              sorted({row[1] for row in seen}), "EXISTS")
        equal(first("SELECT c.id FROM person p LEFT JOIN contact c ON c.owner = p.id WHERE c.id IS NOT NULL ORDER BY 1"), ids, "a join")
        with one.cursor().copy("COPY contact (id) TO STDOUT") as copy:
            equal(sorted(int(line) for line in b"".join(copy).split()), ids, "COPY")
        with one.transaction():
            one.execute("DECLARE c CURSOR FOR SELECT id FROM contact ORDER BY id")
            equal(first("FETCH ALL FROM c"), ids, "a cursor")
        with one.transaction(force_rollback=True):
            equal(one.execute("UPDATE contact SET kind = 'w'").rowcount, len(ids), "UPDATE")
            equal(first("SELECT id FROM contact WHERE kind = 'w' ORDER BY id"), ids, "its own changes")
            equal(one.execute("DELETE FROM contact").rowcount, len(ids), "DELETE")

    def changes(self, one, count, patience=5):
        """So many changes of cursor s."""
        found, until = [], time.monotonic() + patience
        while len(found) < count and time.monotonic() < until:
            found += [row[1:] for row in rows(one, "FETCH ALL FROM s") if row[1] is not None]
        return found

    def withdrawals(self):
        with self.server.connect() as controller, self.session("one", "ads") as one:
            self.fill(controller)
            controller.execute("DELETE FROM contact; INSERT INTO contact VALUES (1, 1, 'x', '{ads}'), (2, 2, 'x', '{ads,billing}'), (3, 3, 'x', '{billing}')")
            one.execute("BEGIN; DECLARE s CURSOR FOR SUBSCRIBE (SELECT id FROM contact)")
            self.tally.equal(sorted(self.changes(one, 2)), [(1, 1), (1, 2)], "what is allowed at first")
            controller.execute("UPDATE contact SET objections = 'ads' WHERE id = 1")
            self.tally.equal(self.changes(one, 1), [(-1, 1)], "an objection retracts")
            controller.execute("UPDATE contact SET purposes = '{billing}' WHERE id = 2")
            self.tally.equal(self.changes(one, 1), [(-1, 2)], "a withdrawal retracts")
            controller.execute("UPDATE contact SET purposes = array_append(purposes, 'ads') WHERE id = 3")
            self.tally.equal(self.changes(one, 1), [(1, 3)], "a consent is there")
            controller.execute("REVOKE PURPOSE ads FROM one")
            controller.execute("INSERT INTO contact VALUES (4, 4, 'x', '{ads}')")
            self.tally.equal(state_of(self.changes, one, 1), "42501", "without the purpose it ends")
            one.rollback()
            self.tally.equal(rows(one, "SELECT id FROM contact"), [], "and nothing is seen")
            self.tally.equal(state_of(one.execute, "SET dogwood.purpose = 'ads'"), "42501", "nor declared again")
            controller.execute("GRANT PURPOSE ads TO one")
            self.tally.equal(rows(one, "SELECT id FROM contact ORDER BY id"), [(3,), (4,)], "granted again, it counts at once")
            controller.execute("GRANT PURPOSE research TO PUBLIC")
            one.execute("SET dogwood.purpose = 'research'; RESET dogwood.purpose")
            self.tally.equal(rows(one, "SELECT count(*) FROM contact"), [(0,)], "RESET")
            controller.execute("REVOKE PURPOSE research FROM PUBLIC")

    def writes(self):
        with self.server.connect() as controller, self.session("one", "ads") as one:
            controller.execute("DELETE FROM contact; INSERT INTO contact VALUES (1, 1, 'x', '{ads}'), (2, 2, 'x', '{billing}')")
            for statement, state in (
                    ("INSERT INTO contact VALUES (7, 1, 'x', '{billing}')", "42501"), ("INSERT INTO contact VALUES (7, 1, 'x')", "42501"),
                    ("INSERT INTO contact VALUES (7, 1, 'x', '{ads}', 'ads')", "42501"), ("INSERT INTO contact VALUES (7, 1, 'x', '{ads}')", ""),
                    ("UPDATE contact SET purposes = '{billing}' WHERE id = 7", "42501"), ("UPDATE contact SET objections = 'ads' WHERE id = 7", "42501"),
                    ("UPDATE contact SET kind = 'y' WHERE id = 7", ""),
                    ("INSERT INTO contact VALUES (2, 1, 'x', '{ads}') ON CONFLICT (id) DO UPDATE SET kind = 'z'", "0A000"),
                    ("MERGE INTO contact c USING (SELECT 2 AS id) s ON c.id = s.id WHEN MATCHED THEN DELETE", "0A000")):
                self.tally.equal(state_of(one.execute, statement), state, statement)
            # As tools give it, with the rights to empty the table and to answer requests.
            controller.execute("GRANT ALL ON contact, person TO one")
            for statement in ("TRUNCATE contact", "TRUNCATE person, contact", "TRUNCATE person CASCADE", "GDPR GET person 2", "GDPR FORGET person 2",
                              "COPY (GDPR EXPORT person 2) TO STDOUT", "COPY (GDPR GET person 2) TO STDOUT", "EXPLAIN GDPR FORGET person 2",
                              "EXPLAIN ANALYZE GDPR GET person 2", "EXPLAIN ANALYZE GDPR FORGET person 2", "GDPR FORGET person 2 IN (contact)",
                              "GDPR RESTRICT person 2", "GDPR UNFORGET person 2"):
                self.tally.equal(state_of(one.execute, statement), "42501", f"{statement}, by a processor who was granted all")
            with self.session("two") as other:
                self.tally.equal(state_of(other.execute, "GDPR GET person 2"), "42501", "and by who is a processor by another role")
            with controller.transaction(force_rollback=True):
                controller.execute("SET ROLE one")
                self.tally.equal(state_of(controller.execute, "GDPR GET person 2"), "42501", "and by a controller who acts as one")
            self.tally.equal(len(rows(controller, "GDPR GET person 2")), 2, "and by the controller itself")
            controller.execute("REVOKE ALL ON contact, person FROM one; GRANT SELECT, INSERT, UPDATE, DELETE ON contact TO one; GRANT SELECT ON person TO one")
            self.tally.equal(one.execute("DELETE FROM contact WHERE id = 2").rowcount, 0, "what is for others is not deleted")
            self.tally.equal(one.execute("UPDATE contact SET kind = 'w'").rowcount, 2, "what is for the purpose is changed")
            self.tally.equal(rows(controller, "SELECT id, kind FROM contact ORDER BY id"), [(1, "w"), (2, "x"), (7, "w")], "and that alone")

    def told(self):
        with self.server.connect() as controller, self.session("two", "billing") as two:
            rows(two, "SELECT * FROM contact")
            time.sleep(1.2)
            found = rows(controller, "SELECT purpose FROM dogwood.audit WHERE login = 'two' AND operation = 'select' ORDER BY number DESC LIMIT 1")
            self.tally.equal(found, [("billing",)], "the audit log has the purpose")
            self.tally.equal(rows(controller, "SELECT purpose, granted_to FROM dogwood.purposes ORDER BY 1"),
                             [("ads", ["one"]), ("billing", ["two"]), ("research", [])], "dogwood.purposes")
            found = dict(rows(controller, "SELECT feature, in_use FROM dogwood.features"))
            with controller.cursor().copy("COPY (GDPR EXPORT person 1) TO STDOUT") as copy:
                document = json.loads(b"".join(copy))
            columns = {column["column"]: column.get("property") for table in document["schema"] for column in table["columns"]}
            self.tally.equal((columns["purposes"], columns["kind"]), ("purposes", None), "GDPR EXPORT says what columns hold")
            with controller.cursor().copy("COPY (GDPR EXPORT person 1 FORMAT CSV) TO STDOUT") as copy:
                self.tally.that(b'# property,"contact","objections",objections' in b"".join(copy), "as CSV, too")
            self.tally.that(found["purposes"] and found["erasure"] and not found["location"], "dogwood.features", found)

    def expiry(self):
        with self.server.connect() as one:
            one.execute("""CREATE TABLE token (id int PRIMARY KEY, owner int NOT NULL OWNED_BY person(id), until timestamptz EXPIRES);
                CREATE MATERIALIZED VIEW tokens AS SELECT owner, count(*)::int AS n FROM token GROUP BY owner""")
            one.execute("INSERT INTO token SELECT n, 1 + n %% 4, CASE WHEN n %% 2 = 0 THEN now() + interval '1.5 s' END FROM generate_series(1, 40) n"
                        .replace("%%", "%"))
            with self.server.connect() as other:
                other.execute("BEGIN; DECLARE s CURSOR FOR SUBSCRIBE (SELECT id FROM token WHERE owner = 1)")
                self.tally.equal(len(self.changes(other, 10)), 10, "all are there at first")
                (began,), = rows(one, "SELECT max(until) FROM token")
                self.tally.equal(rows(one, "SELECT sum(n)::int FROM tokens"), [(40,)], "in the view, too")
                # The instant: whoever asks sees both halves before, and one after it.
                while True:
                    (now, count), = rows(one, "SELECT now(), count(*) FROM token")
                    if not self.tally.equal(count, 40 if now < began else 20, f"{(now - began).total_seconds():.3f} s after the instant") or now >= began:
                        break
                found = self.changes(other, 10, patience=3)
                self.tally.equal(sorted({row[0] for row in found}), [-1], "the subscription retracts")
                other.rollback()
            for sql, expected in (("SELECT sum(n)::int FROM tokens", 20), ("SELECT count(*) FROM token WHERE owner = 1", 0),
                                  ("SELECT count(*) FROM token WHERE id = 4", 0), ("SELECT count(*) FROM token WHERE until IS NOT NULL", 0)):
                self.tally.equal(rows(one, sql), [(expected,)], sql)
            self.tally.equal(one.execute("UPDATE token SET owner = 9 WHERE id = 4").rowcount, 0, "UPDATE finds none")
            time.sleep(1)
            self.tally.equal(one.execute("GDPR PURGE token").rowcount, 0, "they are deleted already")
            self.tally.equal([row for row in rows(one, "GDPR GET person 1") if row[0] == "token"], [], "and of no one any more")
            time.sleep(0.6)
            found = rows(one, "SELECT row_count FROM dogwood.audit WHERE operation = 'delete' AND tables = '{token}'")
            self.tally.equal(sum(count for count, in found), 20, "the audit log has them deleted")
            self.tally.that(len(found) < 4, "and not each look", found)

    def expiry_beside(self):
        with self.server.connect() as one:
            for statement, state in (("INSERT INTO token VALUES (100, 1, now() - interval '1 s')", "23514"),
                                     ("ALTER TABLE token ALTER COLUMN until DROP EXPIRES", "2BP01"), ("ALTER TABLE token DROP COLUMN until", "2BP01"),
                                     ("ALTER TABLE token ALTER COLUMN until TYPE text", "42804")):
                self.tally.equal(state_of(one.execute, statement), state, statement)
            one.execute("CREATE TABLE uses (id int PRIMARY KEY, token int REFERENCES token(id)); INSERT INTO uses VALUES (1, 1)")
            one.execute("UPDATE token SET until = now() WHERE id IN (1, 3)")
            self.tally.equal(rows(one, "SELECT id FROM token WHERE id IN (1, 3)"), [], "what is set to now has expired")
            self.tally.equal(state_of(one.execute, "INSERT INTO uses VALUES (2, 4)"), "23503", "what is deleted is no target")
            time.sleep(1)
            self.tally.equal(rows(one, "SELECT count(*) FROM token WHERE id IN (1, 3)"), [(0,)], "nor is what a reference keeps")
            self.tally.equal(state_of(one.execute, "GDPR PURGE token"), "23503", "a reference keeps it")
            one.execute("DROP TABLE uses")
            self.tally.that(one.execute("GDPR PURGE token").rowcount in (0, 2), "without it, it goes")
            one.execute("INSERT INTO token SELECT 1000 + n, 1 + n % 4, now() + interval '300 ms' FROM generate_series(1, 500) n")
            one.execute("GDPR FORGET person 2")
            time.sleep(1.5)
            self.tally.equal(rows(one, "SELECT count(*) FROM token WHERE id > 1000"), [(0,)], "beside an erasure")
            one.execute("INSERT INTO person VALUES (2, 'again')")

    def expiry_of_types(self):
        with self.server.connect() as one:
            one.execute("CREATE SCHEMA s; CREATE TABLE s.\"By Day\" (id int PRIMARY KEY, \"Day\" date EXPIRES); CREATE TABLE by_clock (id int, at timestamp EXPIRES)")
            today = datetime.datetime.now(datetime.timezone.utc).date()
            one.execute("SET TimeZone = 'Pacific/Kiritimati'")
            one.execute('INSERT INTO s."By Day" VALUES (1, NULL), (2, %s), (3, %s)', (today + datetime.timedelta(1), today + datetime.timedelta(30)))
            self.tally.equal(state_of(one.execute, 'INSERT INTO s."By Day" VALUES (4, %s)', (today,)), "23514", "today is over")
            one.execute("INSERT INTO by_clock VALUES (1, now() AT TIME ZONE 'UTC' + interval '1 h'), (2, NULL)")
            self.tally.equal(rows(one, 'SELECT count(*)::int FROM s."By Day" UNION ALL SELECT count(*)::int FROM by_clock'), [(3,), (2,)], "days and clocks are UTC's")
            one.execute("UPDATE by_clock SET at = now() AT TIME ZONE 'UTC' WHERE id = 1")
            self.tally.equal(rows(one, "SELECT id FROM by_clock"), [(2,)], "by a clock without a zone")
            one.execute("CREATE DATABASE elsewhere")
        with self.server.connect(dbname="elsewhere") as one:
            one.execute("CREATE TABLE t (id int PRIMARY KEY, until timestamptz EXPIRES); INSERT INTO t VALUES (1, now() + interval '200 ms')")
            time.sleep(1)
            self.tally.equal(one.execute("GDPR PURGE t").rowcount, 0, "in another database, too")
        with self.server.connect() as one:
            one.execute("DROP DATABASE elsewhere")
            one.execute("DROP TABLE by_clock; DROP SCHEMA s CASCADE")

    def expired_after_crash(self):
        with self.server.connect() as one:
            one.execute("INSERT INTO token SELECT 5000 + n, 1 + n % 4, now() + interval '600 ms' FROM generate_series(1, 400) n")
        self.server.kill()
        time.sleep(0.7)
        self.server.start()
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT count(*) FROM token WHERE id > 5000"), [(0,)], "expired while nobody was there")
            time.sleep(1)
            self.tally.equal(one.execute("GDPR PURGE token").rowcount, 0, "and deleted after the start")

    def regions(self):
        with self.server.connect() as one:
            one.execute("CREATE TABLE placed (id int PRIMARY KEY, region text REGION); INSERT INTO placed VALUES (1, 'us')")
            one.execute("ALTER DATABASE dogwood SET dogwood.regions = 'eu, CH'")
        with self.server.connect() as one:
            for statement, state in (("INSERT INTO placed VALUES (2, 'us')", "23514"), ("INSERT INTO placed VALUES (2, 'EU'), (3, ' ch'), (4, NULL)", ""),
                                     ("UPDATE placed SET region = 'cn' WHERE id = 2", "23514"), ("UPDATE placed SET region = 'ch' WHERE id = 2", "")):
                self.tally.equal(state_of(one.execute, statement), state, statement)
            def copied():
                with one.cursor().copy("COPY placed FROM STDIN") as copy:
                    copy.write("9\tus\n")
            self.tally.equal(state_of(copied), "23514", "COPY")
            self.tally.equal(rows(one, "SELECT id FROM placed ORDER BY 1"), [(1,), (2,), (3,), (4,)], "what was there stays")
            one.execute("ALTER DATABASE dogwood RESET dogwood.regions; DROP TABLE placed")

    def kept_for_a_purpose(self):
        """A processor's part of a materialized view is kept, too, and follows what is committed."""
        with self.server.connect() as controller, self.session("two", "ads") as two, self.session("two", "billing") as other:
            data = self.fill(controller, 60)
            controller.execute("CREATE MATERIALIZED VIEW owners AS SELECT c.owner, count(*)::int AS n FROM contact c JOIN person p ON p.id = c.owner GROUP BY c.owner")
            controller.execute("GRANT SELECT ON owners TO two")
            counts = lambda row, role, purpose: sum(allowed(each, role, purpose) and each[1] == row for each in data)
            expected = lambda purpose: [(owner, n) for owner in range(1, 10) if (n := counts(owner, "two", purpose))]
            sql = "SELECT * FROM owners ORDER BY owner"
            path = lambda: [line for (line,) in rows(two, f"EXPLAIN {sql}") if line.startswith("Path")]
            for _ in range(200):
                self.tally.equal(rows(two, sql), expected("ads"), "what a purpose sees of a view")
                if path() and "automatic view" in path()[0]:
                    break
                time.sleep(0.02)
            self.tally.that("automatic view" in path()[0], f"it is kept: {path()}")
            self.tally.equal(rows(other, sql), expected("billing"), "for another purpose it is another")
            joined = "SELECT * FROM owners o, contact c WHERE c.owner = o.owner"
            for _ in range(40):
                rows(two, joined)
            self.tally.that("automatic view" not in str(rows(two, f"EXPLAIN {joined}")).split("Path")[1].split("Why")[0], "beside others it is not")
            for _ in range(20):
                number = self.dice.randrange(len(data))
                objections = self.dice.choice([None, "ads", "billing"])
                data[number] = (*data[number][:4], objections)
                controller.execute("UPDATE contact SET objections = %s WHERE id = %s", (objections, data[number][0]))
                self.tally.equal(rows(two, sql), expected("ads"), "an objection is there at once")
            controller.execute("GDPR FORGET person 3")
            data[:] = [row for row in data if row[1] != 3]
            self.tally.equal(rows(two, sql), expected("ads"), "and an erasure")
            controller.execute("REVOKE PURPOSE ads FROM one")
            self.tally.equal(rows(two, sql), [], "and a purpose that is taken away")
            controller.execute("GRANT PURPOSE ads TO one; DROP MATERIALIZED VIEW owners; INSERT INTO person VALUES (3, 'n3')")
            self.tally.equal(state_of(two.execute, sql), "42P01", "and the view's end")

    def plans(self):
        """A plan that was made for one purpose is not another's."""
        with self.server.connect() as controller, self.session("two") as two:
            controller.execute("DELETE FROM contact; INSERT INTO contact VALUES (1, 1, 'x', '{ads}'), (2, 2, 'x', '{billing}'), (3, 3, 'x', '{ads,billing}')")
            two.prepare_threshold = 0
            for _ in range(8):
                for purpose, expected in (("ads", [1, 3]), ("billing", [2, 3]), ("", [])):
                    two.execute(f"SET dogwood.purpose = '{purpose}'")
                    for sql in ("SELECT id FROM contact ORDER BY id", "SELECT id FROM contact WHERE kind = 'x' ORDER BY id"):
                        self.tally.equal([row[0] for row in rows(two, sql)], expected, f"{sql} for {purpose}")
            two.execute("SET dogwood.purpose = 'ads'")
            with two.transaction():
                two.execute("SET LOCAL dogwood.purpose = 'billing'")
                self.tally.equal(rows(two, "SELECT count(*) FROM contact"), [(2,)], "SET LOCAL")
            controller.execute("DROP PURPOSE ads")
            self.tally.equal(rows(two, "SELECT count(*) FROM contact"), [(0,)], "a purpose that is gone")
            controller.execute("CREATE PURPOSE ads; GRANT PURPOSE ads TO one; DROP OWNED BY one")
            self.tally.equal(state_of(controller.execute, "DROP ROLE reader"), "2BP01", "a role with rights stays")

    # Consent: rows with evidence and time, by which a purpose is allowed.

    BOOKS = """
    CREATE DATA_SUBJECT TABLE patient (id int PRIMARY KEY, code text UNIQUE, allowed text[] PURPOSES);
    CREATE TABLE visit (id int PRIMARY KEY, patient int NOT NULL OWNED_BY patient(id), allowed text[] PURPOSES);
    CREATE TABLE note (id int PRIMARY KEY, visit int NOT NULL OWNED_BY visit(id), allowed text[] PURPOSES);
    CREATE TABLE talk (id int PRIMARY KEY, one int OWNED_BY patient(id), other text OWNED_BY patient(code), allowed text PURPOSES);
    CREATE TABLE room (id int PRIMARY KEY, allowed text[] PURPOSES);
    CREATE TABLE stay (id int PRIMARY KEY, patient int NOT NULL OWNED_BY patient(id), room int NOT NULL OWNS room(id));
    CREATE TABLE consent (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, patient int NOT NULL OWNED_BY patient(id), study text NOT NULL CONSENTS,
        given_at timestamptz NOT NULL DEFAULT now(), evidence text NOT NULL, withdrawn_at timestamptz WITHDRAWN, until timestamptz EXPIRES);
    CREATE PURPOSE trial BY CONSENT; CREATE PURPOSE care;
    CREATE VIEW visits AS SELECT patient, count(*)::int AS n FROM visit GROUP BY patient;
    CREATE MATERIALIZED VIEW kept_visits AS SELECT patient, count(*)::int AS n FROM visit GROUP BY patient;
    CREATE ROLE lab LOGIN IN ROLE dogwood_processor;
    GRANT SELECT, INSERT, UPDATE, DELETE ON patient, visit, note, talk, room TO lab; GRANT SELECT ON visits, kept_visits TO lab;
    GRANT PURPOSE trial, care TO lab;
    INSERT INTO patient SELECT n, 'c' || n, '{trial,care}' FROM generate_series(1, 5) n;
    """

    def consents(self):
        with self.server.connect() as one:
            one.execute(self.BOOKS)
            visits = {n: self.dice.randint(1, 5) for n in range(1, 13)}
            notes = {n: self.dice.randint(1, 12) for n in range(1, 13)}
            talks = {n: self.dice.choice([(1, None), (2, 3), (None, 4), (5, 5), (3, 1)]) for n in range(1, 13)}
            allows = {n: self.dice.random() < 0.8 for n in range(1, 13)}
            allowed = lambda n: ["trial", "care"] if allows[n] else ["care"]
            write = one.cursor().executemany
            write("INSERT INTO visit VALUES (%s, %s, %s)", [(n, patient, allowed(n)) for n, patient in visits.items()])
            write("INSERT INTO note VALUES (%s, %s, %s)", [(n, visit, allowed(n)) for n, visit in notes.items()])
            write("INSERT INTO talk VALUES (%s, %s, %s, %s)", [(n, a, b and f"c{b}", ",".join(allowed(n))) for n, (a, b) in talks.items()])
            stays = {n: (self.dice.randint(1, 5), 1 + n % 6) for n in range(1, 13)}
            one.execute("BEGIN; INSERT INTO room SELECT n, '{trial,care}' FROM generate_series(1, 6) n")
            write("INSERT INTO stay VALUES (%s, %s, %s)", [(n, *stay) for n, stay in stays.items()])
            one.execute("COMMIT")
            entries, number = {}, 0
            with self.session("lab", "trial") as trial, self.session("lab", "care") as care:
                for _ in range(25):
                    patient = self.dice.randint(1, 5)
                    change = self.dice.choice(["gives", "gives", "withdraws", "other", "ends", "deletes", "joins", "leaves"])
                    if change == "joins":
                        number = max(stays) + 1
                        stays[number] = (patient, self.dice.randint(1, 6))
                        one.execute("INSERT INTO stay VALUES (%s, %s, %s)", (number, *stays[number]))
                    elif change == "leaves":
                        number = self.dice.choice(list(stays))
                        if sum(stays[number][1] == room for _, room in stays.values()) > 1:
                            one.execute("DELETE FROM stay WHERE id = %s", (number,))
                            del stays[number]
                    elif change in ("gives", "other"):
                        (number,), = rows(one, "INSERT INTO consent (patient, study, evidence) VALUES (%s, %s, 'form') RETURNING id", (patient, "trial" if change == "gives" else "else"))
                        entries[number] = (patient, change == "gives")
                    elif entries:
                        number = self.dice.choice(list(entries))
                        one.execute({"withdraws": "UPDATE consent SET withdrawn_at = now() WHERE id = %s", "ends": "UPDATE consent SET until = now() WHERE id = %s",
                                     "deletes": "DELETE FROM consent WHERE id = %s"}[change], (number,))
                        del entries[number]
                    who = {patient for patient, stands in entries.values() if stands}
                    seen = {
                        "patient": sorted(who),
                        "visit": [n for n in visits if visits[n] in who and allows[n]],
                        "note": [n for n in notes if visits[notes[n]] in who and allows[n]],
                        "talk": [n for n in talks if {*talks[n]} - {None} <= who and allows[n]],
                        "room": [n for n in range(1, 7) if all(patient in who for patient, room in stays.values() if room == n)],
                    }
                    self.ask_consent(trial, care, seen, visits, change)

    def ask_consent(self, trial, care, seen, visits, change):
        first = lambda one, sql, *parameters: [row[0] for row in rows(one, sql, parameters or None)]
        for table, ids in seen.items():
            self.tally.equal(first(trial, f"SELECT id FROM {table} ORDER BY id"), ids, f"{change}: {table}")
            number = self.dice.randint(1, 12)
            self.tally.equal(first(trial, f"SELECT id FROM {table} WHERE id = %s", number), [number] if number in ids else [], f"{change}: {table} by key")
        counted = [(patient, sum(visits[n] == patient for n in seen["visit"])) for patient in seen["patient"]]
        counted = [(patient, n) for patient, n in counted if n]
        for view in ("visits", "kept_visits"):
            self.tally.equal(rows(trial, f"SELECT * FROM {view} ORDER BY 1"), counted, f"{change}: {view}")
        with trial.cursor().copy("COPY visit (id) TO STDOUT") as copy:
            self.tally.equal(sorted(int(line) for line in b"".join(copy).split()), seen["visit"], f"{change}: COPY")
        with trial.transaction(force_rollback=True):
            self.tally.equal(trial.execute("UPDATE visit SET id = id").rowcount, len(seen["visit"]), f"{change}: UPDATE")
            self.tally.equal(trial.execute("DELETE FROM talk").rowcount, len(seen["talk"]), f"{change}: DELETE")
        self.tally.equal(first(care, "SELECT count(*) FROM visit"), [12], "what needs no consent asks for none")

    def consent_in_subscriptions(self):
        with self.server.connect() as one, self.session("lab", "trial") as lab:
            one.execute("DELETE FROM consent; DELETE FROM talk; DELETE FROM note; DELETE FROM visit; INSERT INTO visit VALUES (1, 1, '{trial}'), (2, 2, '{trial}'); INSERT INTO consent (patient, study, evidence) VALUES (1, 'trial', 'form')")
            lab.execute("BEGIN; DECLARE s CURSOR FOR SUBSCRIBE (SELECT id FROM visit)")
            self.tally.equal(self.changes(lab, 1), [(1, 1)], "what is consented to")
            one.execute("UPDATE consent SET withdrawn_at = now()")
            self.tally.equal(self.changes(lab, 1), [(-1, 1)], "a withdrawal retracts")
            one.execute("INSERT INTO consent (patient, study, evidence) VALUES (1, 'trial', 'call'), (2, 'trial', 'call')")
            self.tally.equal(sorted(self.changes(lab, 2)), [(1, 1), (1, 2)], "a consent brings them")
            one.execute("INSERT INTO consent (patient, study, evidence, until) VALUES (1, 'trial', 'again', now() + interval '1 day')")
            one.execute("DELETE FROM consent WHERE patient = 1 AND evidence = 'call'")
            one.execute("DELETE FROM consent WHERE patient = 2")
            self.tally.equal(self.changes(lab, 1), [(-1, 2)], "one of two consents is enough")
            one.execute("UPDATE consent SET until = now() + interval '300 ms' WHERE evidence = 'again'")
            self.tally.equal(self.changes(lab, 1), [(-1, 1)], "a consent ends by itself")
            one.execute("ALTER TABLE consent ALTER COLUMN study DROP CONSENTS")
            self.tally.equal(state_of(self.changes, lab, 1, 3), "55000", "without a book it ends")
            lab.rollback()
            self.tally.equal(rows(lab, "SELECT count(*) FROM visit"), [(0,)], "and nobody has consented")
            one.execute("ALTER TABLE consent ALTER COLUMN study SET CONSENTS")

    def consent_by_owns(self):
        """Of what is owned by OWNS each owner has to consent."""
        with self.server.connect() as one, self.session("lab", "trial") as lab:
            one.execute("DELETE FROM consent; INSERT INTO consent (patient, study, evidence) VALUES (1, 'trial', 'form'), (2, 'trial', 'form')")
            one.execute("BEGIN; DELETE FROM stay; DELETE FROM room; INSERT INTO room VALUES (1, '{trial}'), (2, '{trial}'); "
                        "INSERT INTO stay VALUES (1, 1, 1), (2, 2, 1), (3, 3, 2); COMMIT")
            lab.execute("BEGIN; DECLARE s CURSOR FOR SUBSCRIBE (SELECT id FROM room)")
            self.tally.equal(self.changes(lab, 1), [(1, 1)], "all of its owners consent")
            for statement, change in (("UPDATE consent SET withdrawn_at = now() WHERE patient = 2", -1), ("DELETE FROM stay WHERE id = 2", 1),
                                      ("INSERT INTO stay VALUES (4, 3, 1)", -1), ("INSERT INTO consent (patient, study, evidence) VALUES (3, 'trial', 'form')", None)):
                one.execute(statement)
                found = sorted(self.changes(lab, 1 if change else 2))
                self.tally.equal(found, [(change, 1)] if change else [(1, 1), (1, 2)], f"{statement}, in a subscription")
            one.execute("CREATE TABLE visit_of (id int PRIMARY KEY, patient int NOT NULL OWNED_BY patient(id), room int NOT NULL OWNS room(id))")
            one.execute("INSERT INTO stay VALUES (9, 4, 1)")
            self.tally.equal(state_of(self.changes, lab, 1, 3), "42501", "whose rows are is declared otherwise")
            lab.rollback()
            one.execute("DELETE FROM stay WHERE id = 9; INSERT INTO visit_of VALUES (1, 4, 2)")
            self.tally.equal(rows(lab, "SELECT id FROM room"), [(1,)], "by two tables")
            one.execute("DELETE FROM visit_of; ALTER TABLE visit_of ADD COLUMN until timestamptz EXPIRES")
            self.tally.equal(rows(lab, "SELECT id FROM room"), [], "owners that expire, but own until they are deleted")
            one.execute("DROP TABLE visit_of")
            self.tally.equal(rows(lab, "SELECT id FROM room ORDER BY 1"), [(1,), (2,)], "no more")
            one.execute("GDPR FORGET patient 3")
            self.tally.equal(rows(lab, "SELECT id FROM room ORDER BY 1"), [(1,)], "after an erasure")
            one.execute("INSERT INTO patient VALUES (3, 'c3', '{trial,care}')")

    def consent_without_book(self):
        """EXPLAIN COMPLIANCE says of purposes by consent where nobody can have consented."""
        with self.server.connect() as one:
            remarks = lambda: sorted((row[1], row[2]) for row in rows(one, "EXPLAIN COMPLIANCE") if "ask for consent" in row[4])
            self.tally.equal(remarks(), [("contact", "person")], "people without a book")
            one.execute("CREATE TABLE agreed (id int PRIMARY KEY, person int NOT NULL OWNED_BY person(id), t text CONSENTS)")
            self.tally.equal(remarks(), [], "with one")
            one.execute("DROP TABLE agreed; ALTER TABLE consent ALTER COLUMN study DROP CONSENTS")
            found = remarks()
            self.tally.equal(found, [(table, {"contact": "person"}.get(table, "patient")) for table in ("contact", "note", "patient", "room", "talk", "visit")], "without any")
            one.execute("ALTER TABLE consent ALTER COLUMN study SET CONSENTS")

    def consent_refusals(self):
        with self.server.connect() as one, self.session("lab", "trial") as lab:
            one.execute("DELETE FROM consent; INSERT INTO consent (patient, study, evidence) VALUES (1, 'trial', 'form')")
            for statement, state in (
                    ("INSERT INTO visit VALUES (20, 1, '{trial}')", ""), ("INSERT INTO visit VALUES (21, 3, '{trial}')", "42501"),
                    ("UPDATE visit SET patient = 3 WHERE id = 20", "42501"), ("INSERT INTO room VALUES (9, '{trial}')", "42501"),
                    ("SELECT * FROM consent", "42501"), ("INSERT INTO consent (patient, study, evidence) VALUES (3, 'trial', 'x')", "42501")):
                self.tally.equal(state_of(lab.execute, statement), state, f"{statement}, by a processor")
            for statement, state in (
                    ("CREATE TABLE x (id int, a int CONSENTS)", "42804"), ("CREATE TABLE x (id int, a text WITHDRAWN)", "42804"),
                    ("CREATE TABLE x (a text CONSENTS, b text CONSENTS)", "42710"), ("CREATE PURPOSE x BY", "42601"), ("CREATE PURPOSE trial BY CONSENT", "42710")):
                self.tally.equal(state_of(one.execute, statement), state, statement)
            self.tally.equal(rows(one, "SELECT purpose, by_consent FROM dogwood.purposes WHERE purpose IN ('care', 'trial') ORDER BY 1"), [("care", False), ("trial", True)], "dogwood.purposes")
            self.tally.equal(rows(one, "SELECT in_use FROM dogwood.features WHERE feature = 'consent'"), [(True,)], "dogwood.features")
            one.execute("CREATE TABLE y (id int PRIMARY KEY, patient int NOT NULL OWNED_BY patient(id), s text, w date); SECURITY LABEL FOR dogwood ON COLUMN y.s IS 'CONSENTS'; COMMENT ON COLUMN y.w IS '@withdrawn'")
            one.execute("INSERT INTO y VALUES (1, 3, 'trial', NULL)")
            self.tally.equal(state_of(lab.execute, "INSERT INTO visit VALUES (22, 3, '{trial}')"), "", "a second book counts, too")
            one.execute("DROP TABLE y")
        self.server.kill()
        self.server.start()
        with self.session("lab", "trial") as lab:
            self.tally.equal(rows(lab, "SELECT id FROM patient"), [(1,)], "after kill -9")


if __name__ == "__main__":
    run_check(Governance(options(21, count=2)))
