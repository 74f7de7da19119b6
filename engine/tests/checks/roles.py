"""Roles, rights and policies as logins meet them: passwords, kinds of roles, people's own logins, what a REVOKE does to those who
are listening, what a view or a cursor lets through; and that all of it outlives kill -9.
"""
import time

import psycopg
from psycopg import pq

from harness import Check, rows, run_check, state_of
from harness.server import Server
from support.listening import Listener

SCHEMA = """
CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT, email TEXT UNIQUE);
CREATE TABLE posts (id INT PRIMARY KEY, body TEXT, secret TEXT, author INT NOT NULL OWNED_BY users(id));
CREATE TABLE chats (id INT PRIMARY KEY, body TEXT,
    sender INT NOT NULL OWNED_BY users(id), receiver INT NOT NULL OWNED_BY users(id),
    ON GET receiver ANON (sender));
CREATE TABLE prices (id INT PRIMARY KEY, price INT);
CREATE MATERIALIZED VIEW counted AS SELECT author, count(*) AS n FROM posts GROUP BY author;
CREATE VIEW shown AS SELECT p.id, p.body, u.name FROM posts p JOIN users u ON u.id = p.author;
INSERT INTO users VALUES (1, 'Ada', 'ada@x'), (2, 'Ben', 'ben@x'), (3, 'Cy', 'cy@x');
INSERT INTO posts VALUES (10, 'a one', 's10', 1), (11, 'a two', 's11', 1), (20, 'b one', 's20', 2);
INSERT INTO chats VALUES (1, 'to Ben', 1, 2), (2, 'to Ada', 2, 1), (3, 'not hers', 2, 3);
INSERT INTO prices VALUES (1, 5);
"""


def error_of(function, *arguments):
    try:
        function(*arguments)
        return None
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary


class Roles(Check):
    def run(self):
        with self.server.connect(user="postgres") as one:
            one.execute(SCHEMA)
        for case in (self.every_path, self.subject, self.subject_corrects, self.subject_forgets, self.kinds, self.revoked_while_listening,
                     self.transactions, self.shared_plans, self.views_by_policy, self.signals, self.details, self.escalation,
                     self.people_apart, self.kept_texts, self.watchers, self.renamed, self.all_requests, self.logins, self.outlives):
            self.tally.case(case)

    def one(self):
        return self.server.connect(user="postgres")

    def role(self, name, *grants):
        with self.one() as one:
            one.execute(f"CREATE ROLE {name} LOGIN")
            for grant in grants:
                one.execute(grant)
        return self.server.connect(user=name)

    def every_path(self):
        """What is forbidden is forbidden whichever way it is asked."""
        equal = self.tally.equal
        with self.role("outsider") as out:
            denied = ("42501", "permission denied for table posts")
            ways = [
                "SELECT * FROM posts", "SELECT body FROM posts WHERE id = 10", "SELECT count(*) FROM posts", "TABLE posts",
                "SELECT (SELECT max(body) FROM posts)", "SELECT 1 WHERE EXISTS (SELECT 1 FROM posts)",
                "WITH x AS (SELECT * FROM posts) SELECT 1", "INSERT INTO prices SELECT id, 1 FROM posts",
                "SELECT * FROM prices p, LATERAL (SELECT 1 FROM posts) q", "VALUES ((SELECT body FROM posts LIMIT 1))",
                "EXPLAIN SELECT * FROM posts", "EXPLAIN ANALYZE SELECT * FROM posts", "UPDATE posts SET body = ''",
                "DELETE FROM posts", "INSERT INTO posts VALUES (99, '', '', 1)", "TRUNCATE posts", "LOCK TABLE posts",
                "COPY posts TO STDOUT", "COPY (SELECT body FROM posts) TO STDOUT", "COPY posts FROM STDIN",
                "COPY (SUBSCRIBE (SELECT body FROM posts)) TO STDOUT", "CREATE TEMP TABLE t AS SELECT * FROM posts",
                "SELECT body FROM posts FOR UPDATE", "SELECT id FROM posts UNION SELECT 1", "SELECT * FROM posts TABLESAMPLE SYSTEM (100)",
                "MERGE INTO posts USING (VALUES (1)) v (i) ON posts.id = v.i WHEN MATCHED THEN DELETE",
            ]
            out.execute("BEGIN")
            for way in ways:
                out.execute("SAVEPOINT s")
                # As it stands: of COPY a driver would wait for more.
                found = out.pgconn.exec_(way.encode())
                self.tally.equal(found.error_field(pq.DiagnosticField.SQLSTATE), b"42501", way)
                out.execute("ROLLBACK TO s")
            out.execute("ROLLBACK; BEGIN")
            equal(error_of(out.execute, "DECLARE c CURSOR FOR SELECT * FROM posts"), denied, "cursor")
            out.execute("ROLLBACK")
            out.execute("BEGIN")
            equal(error_of(out.execute, "DECLARE c CURSOR FOR SUBSCRIBE (SELECT * FROM posts)"), denied, "subscribed cursor")
            out.execute("ROLLBACK")
            out.execute("PREPARE p AS SELECT body FROM posts")
            equal(error_of(out.execute, "EXECUTE p"), denied, "EXECUTE")
            equal(error_of(out.execute, "EXPLAIN ANALYZE EXECUTE p"), denied, "EXPLAIN EXECUTE")
            cursor = out.cursor()
            equal(error_of(lambda: cursor.execute("SELECT body FROM posts WHERE id = %s", (10,), prepare=True)), denied, "bound")
            for request in ("GDPR GET users 1", "GDPR FORGET users 1", "EXPLAIN GDPR FORGET users 1", "COPY (GDPR EXPORT users 1) TO STDOUT"):
                equal(error_of(out.execute, request), ("42501", "permission denied for table users"), request)
            for relation in ("pg_authid", "pg_shadow"):
                equal(state_of(out.execute, f"SELECT * FROM {relation}"), "42501", relation)
            equal(error_of(out.execute, "SELECT * FROM counted"), ("42501", "permission denied for materialized view counted"), "maintained view")
            equal(error_of(out.execute, "SELECT * FROM shown"), ("42501", "permission denied for view shown"), "view")
            # A view of one's own lets nobody see what its owner may not.
            out.execute("CREATE TEMP VIEW peek AS SELECT body FROM posts")
            equal(error_of(out.execute, "SELECT * FROM peek"), denied, "temporary view")
            equal(error_of(out.execute, "CREATE MATERIALIZED VIEW kept AS SELECT body FROM posts")[0], "42501", "materialized view")
            equal(error_of(out.execute, "SET ROLE controller")[0], "42501", "SET ROLE")
            equal(error_of(out.execute, "SET SESSION AUTHORIZATION controller")[0], "42501", "SET SESSION AUTHORIZATION")
            equal(error_of(out.execute, "SELECT set_config('role', 'controller', false)")[0], "42501", "set_config")
            equal(error_of(out.execute, "COMMENT ON ROLE outsider IS 'x'"), ("42501", "must have CREATEROLE privilege"), "COMMENT ON ROLE")
            equal(error_of(out.execute, "COMMENT ON DATABASE postgres IS 'x'"), ("42501", "must be owner of database postgres"), "COMMENT ON DATABASE")
            equal(error_of(out.execute, "ALTER ROLE outsider CREATEROLE")[0], "42501", "ALTER ROLE")
            equal(error_of(out.execute, "GRANT dogwood_controller TO outsider")[0], "42501", "GRANT")
            equal(error_of(out.execute, "SECURITY LABEL FOR dogwood ON TABLE users IS NULL")[0], "42501", "label")
            equal(error_of(out.execute, "CREATE POLICY p ON posts USING (true)")[0], "42501", "policy")
            out.execute("CREATE TEMP TABLE posts (body text)")
            equal(rows(out, "SELECT count(*) FROM posts"), [(0,)], "one's own table of that name")

    def subject(self):
        equal = self.tally.equal
        with self.one() as one:
            equal(state_of(one.execute, "CREATE USER nobody FOR users 99"), "DG003", "no such person")
            equal(state_of(one.execute, "CREATE USER nobody FOR posts 10"), "42809", "no people")
            one.execute("CREATE USER ada FOR users 1")
            one.execute("CREATE USER ben FOR users 2")
        with self.server.connect(user="ada") as ada, self.server.connect(user="ben") as ben, self.one() as one:
            equal(rows(ada, "SELECT current_user"), [("ada",)], "who")
            equal(rows(ada, "SELECT id, name, email FROM users"), [(1, "Ada", "ada@x")], "herself")
            equal(rows(ada, "SELECT id FROM posts ORDER BY 1"), [(10,), (11,)], "her posts")
            equal(rows(ben, "SELECT id FROM posts ORDER BY 1"), [(20,)], "his posts")
            # What GET hides is NULL, and what it leaves out is not there.
            for login, person in ((ada, 1), (ben, 2)):
                got = {(row[0], row[3]["id"]): row[3] for row in rows(one, f"GDPR GET users {person}")}
                for table in ("users", "posts", "chats", "prices"):
                    expected = sorted(value["id"] for (of, _), value in got.items() if of == table)
                    equal([row[0] for row in rows(login, f"SELECT id FROM {table} ORDER BY 1")], expected, f"{table} of {person}")
                hidden = {row[0]: row[1] for row in rows(login, "SELECT id, sender FROM chats")}
                equal(hidden, {value["id"]: value["sender"] for (of, _), value in got.items() if of == "chats"}, f"hidden of {person}")
            equal(rows(ada, "SELECT u.name, count(*) FROM users u JOIN posts p ON p.author = u.id GROUP BY 1"), [("Ada", 2)], "joins")
            equal(rows(ada, "SELECT n FROM counted"), [(2,)], "a maintained view is of her rows")
            equal(rows(ada, "SELECT name, body FROM shown ORDER BY id"), [("Ada", "a one"), ("Ada", "a two")], "a view too")
            equal(rows(ada, "SELECT count(*) FROM prices"), [(0,)], "what is nobody's")
            equal(rows(ada, "SELECT id FROM posts WHERE author = 2"), [], "nobody else's")
            cursor = ada.cursor()
            for _ in range(20):
                equal(cursor.execute("SELECT body FROM posts WHERE id = %s", (20,), prepare=True).fetchall(), [], "whatever is asked often")
                equal(ben.execute("SELECT body FROM posts WHERE id = 20").fetchall(), [("b one",)], "and he his")
                equal(ada.execute("SELECT body FROM posts WHERE id = 20").fetchall(), [], "by shape")
            for refused in ("INSERT INTO posts VALUES (12, '', '', 1)", "DELETE FROM posts WHERE id = 10", "TRUNCATE posts", "UPDATE posts SET body = 'x'",
                            "CREATE TABLE mine (x int)", "SELECT nextval('dogwood.nothing')", "SELECT * FROM dogwood.erasures", "COPY posts FROM STDIN"):
                self.tally.that(state_of(ada.execute, refused) in ("42501", "42P01"), refused, error_of(ada.execute, refused))
            equal(state_of(ada.execute, "SELECT id FROM posts FOR UPDATE"), "0A000", "row locks")
            equal(sorted(row[0] for row in rows(ada, "GDPR GET users 1")), sorted(row[0] for row in rows(one, "GDPR GET users 1")), "GET")
            equal(state_of(ada.execute, "SET ROLE ben"), "22023", "another person is no role to her")
            for other in ("dogwood_subject", "controller"):
                equal(state_of(ada.execute, f"SET ROLE {other}"), "42501", f"SET ROLE {other}")
            equal(state_of(one.execute, "GRANT dogwood_subject TO ben"), "0LP01", "a person is made by CREATE USER alone")
            one.execute("CREATE ROLE ward_staff; CREATE ROLE patients; GRANT patients TO ben")
            for other in ("GRANT dogwood_controller TO ben", "GRANT pg_monitor TO ben", "GRANT pg_read_all_data TO patients", "ALTER ROLE ben CREATEROLE",
                          "CREATE USER cy FOR users 3 CREATEDB", "CREATE USER cy FOR users 3 IN ROLE dogwood_processor", "CREATE ROLE x IN ROLE dogwood_operator ROLE ben"):
                equal(state_of(one.execute, other), "0LP01", f"nor is one of another kind: {other}")
            one.execute("DROP ROLE ward_staff, patients")
            absent = error_of(ada.execute, "GDPR GET users 99")
            equal(error_of(ada.execute, "GDPR GET users 2"), absent, "others are as if absent")
            equal(error_of(ada.execute, "GDPR FORGET users 2"), absent, "to FORGET too")
            equal(state_of(ada.execute, "COPY (GDPR EXPORT users 2) TO STDOUT"), "DG003", "and EXPORT")
            with ada.cursor().copy("COPY (GDPR EXPORT users 1) TO STDOUT") as copy:
                self.tally.that("a one" in "".join(bytes(part).decode() for part in copy), "EXPORT of her own")
            # A transaction sees what it is over.
            ada.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            equal(len(rows(ada, "SELECT * FROM posts")), 2, "before")
            one.execute("INSERT INTO posts VALUES (13, 'a three', 's', 1)")
            equal(len(rows(ada, "SELECT * FROM posts")), 2, "its snapshot")
            ada.execute("COMMIT")
            equal(len(rows(ada, "SELECT * FROM posts")), 3, "after")
            one.execute("DELETE FROM posts WHERE id = 13")

    def subject_corrects(self):
        equal = self.tally.equal
        with self.one() as one, self.server.connect(user="ada") as ada:
            one.execute("GRANT UPDATE (id, name, email) ON users TO dogwood_subject; GRANT UPDATE ON chats, posts TO ada")
            equal(ada.execute("UPDATE users SET name = 'Ada L.' WHERE name = 'Ada'").rowcount, 1, "her name")
            equal(ada.execute("UPDATE users SET name = 'nobody' WHERE id = 2").rowcount, 0, "nobody else's")
            equal(state_of(ada.execute, "UPDATE users SET id = 7"), "42501", "no key")
            equal(state_of(ada.execute, "UPDATE posts SET author = 2"), "42501", "no reference")
            equal(ada.execute("UPDATE posts SET body = body || '!' WHERE id >= 10").rowcount, 2, "her posts")
            # Of the chat that she received a column is hidden from her: it is not hers to change.
            equal(ada.execute("UPDATE chats SET body = 'changed'").rowcount, 1, "what she sees whole")
            equal(rows(one, "SELECT id, name FROM users ORDER BY id"), [(1, "Ada L."), (2, "Ben"), (3, "Cy")], "as it is now")
            equal(rows(one, "SELECT id, body, sender FROM chats ORDER BY id"), [(1, "changed", 1), (2, "to Ada", 2), (3, "not hers", 2)], "chats")
            equal(rows(one, "SELECT body, secret FROM posts ORDER BY id"), [("a one!", "s10"), ("a two!", "s11"), ("b one", "s20")], "posts")
            equal(error_of(ada.execute, "UPDATE users SET email = 'ben@x'")[0], "23505", "unique")

    def subject_forgets(self):
        equal = self.tally.equal
        with self.one() as one:
            one.execute("INSERT INTO users VALUES (5, 'Eve', 'eve@x'); INSERT INTO posts VALUES (50, 'e', 's', 5)")
            one.execute("CREATE USER eve FOR users 5; GRANT UPDATE (name) ON users TO eve")
        eve, other = self.server.connect(user="eve"), self.server.connect(user="eve")
        equal({row[0] for row in rows(eve, "EXPLAIN GDPR FORGET users 5")}, {"users", "posts"}, "what it would do")
        equal({row[0] for row in rows(eve, "GDPR FORGET users 5")}, {"users", "posts"}, "herself")
        for _ in range(100):
            if state_of(other.execute, "SELECT 1"):
                break
            time.sleep(0.02)
        self.tally.that(state_of(other.execute, "SELECT 1") in ("57P01", "lost"), "her sessions end")
        with self.one() as one:
            equal(rows(one, "SELECT count(*) FROM pg_roles WHERE rolname = 'eve'"), [(0,)], "her login has gone")
            one.execute("INSERT INTO users VALUES (5, 'another', 'x@x')")
            one.execute("CREATE USER eve FOR users 5")
        with self.server.connect(user="eve") as later:
            equal(rows(later, "SELECT name FROM users"), [("another",)], "a new person's login is a new one")
        with self.one() as one:
            # Plain SQL erases too: the login opens nothing from then on.
            one.execute("DELETE FROM users WHERE id = 5")
        equal(error_of(lambda: self.server.connect(user="eve")) is not None, True, "a login of nobody")
        with self.one() as one:
            one.execute("DROP ROLE eve")

    def kinds(self):
        equal = self.tally.equal
        with self.one() as one:
            one.execute("CREATE ROLE office LOGIN IN ROLE dogwood_regulator; CREATE ROLE ops LOGIN IN ROLE dogwood_operator")
            equal(state_of(one.execute, "GRANT SELECT ON prices TO office"), "0LP01", "no rows to a regulator")
            equal(state_of(one.execute, "GRANT SELECT (id) ON prices TO ops"), "0LP01", "nor an operator")
            one.execute("GRANT SELECT ON prices TO PUBLIC; CREATE ROLE reader IN ROLE dogwood_processor; GRANT SELECT ON posts TO reader")
            equal(state_of(one.execute, "GRANT dogwood_regulator TO reader"), "0LP01", "who reads is no regulator")
            equal(state_of(one.execute, "ALTER TABLE prices OWNER TO office"), "0LP01", "nor an owner")
            one.execute("GRANT reader TO office")
            one.execute("CREATE ROLE chief LOGIN; GRANT dogwood_controller TO chief")
        with self.server.connect(user="office") as office, self.server.connect(user="ops") as ops, self.server.connect(user="chief") as chief:
            with self.one() as one:
                one.execute("CREATE ROLE sees; GRANT SELECT ON posts TO sees; GRANT sees TO office, ops")
            for login in (office, ops):
                for way in ("SET ROLE sees", "SET LOCAL ROLE sees", "SET SESSION AUTHORIZATION sees", "SELECT set_config('role', 'sees', false)", "SET ROLE reader"):
                    self.tally.that(state_of(login.execute, way) == "42501", f"nor acts as somebody who sees: {way}")
                equal(state_of(login.execute, "SELECT * FROM posts"), "42501", "by way of another")
                for table in ("prices", "posts", "users"):
                    equal(state_of(login.execute, f"SELECT * FROM {table}"), "42501", f"no {table}")
                equal(state_of(login.execute, "CREATE TABLE theirs (x int)"), "0LP01", "no table of their own")
                self.tally.that(rows(login, "SELECT count(*) FROM pg_class")[0][0] > 100, "the catalog")
            self.tally.that(rows(office, "SELECT count(*) FROM dogwood.receipts")[0][0] >= 0, "receipts")
            self.tally.that(len(rows(office, "EXPLAIN COMPLIANCE")) >= 0, "EXPLAIN COMPLIANCE")
            ops.execute("CREATE ROLE made_by_ops")
            ops.execute("CREATE DATABASE made_by_ops")
            ops.execute("CHECKPOINT")
            equal(state_of(ops.execute, "GRANT dogwood_controller TO made_by_ops"), "42501", "nobody is made more than its maker")
            equal(state_of(ops.execute, "ALTER ROLE chief PASSWORD 'x'"), "42501", "nor a controller's password changed")
            equal(state_of(ops.execute, "GRANT chief TO ops"), "42501", "nor joined")
            for statement in ("GRANT reader TO made_by_ops", "ALTER ROLE reader LOGIN PASSWORD 'x'", "ALTER ROLE ada PASSWORD 'x'",
                              "GRANT pg_read_all_data TO made_by_ops"):
                equal(state_of(ops.execute, statement), "42501", f"nor gets at rows by way of another: {statement}")
            equal(state_of(office.execute, "CREATE ROLE x"), "42501", "a regulator makes no roles")
            with self.server.connect(user="ada") as ada:
                for login in (office, ada):
                    for setting in ("dogwood.view_memory", "dogwood.erasure_rate", "Dogwood.Key_Rotation", "server_memory"):
                        for statement in (f"SET {setting} = 1000", f"SET {setting} TO DEFAULT", f"RESET {setting}", f"SELECT set_config('{setting}', '1000', false)"):
                            equal(state_of(login.execute, statement), "42501", f"what is set for all: {statement}")
            for login in (ops, chief):
                login.execute("SET dogwood.erasure_rate = '64MB'")
                login.execute("RESET dogwood.erasure_rate")
            equal(rows(chief, "SELECT count(*) FROM users"), [(3,)], "a controller sees")
            chief.execute("CREATE TABLE chiefs (x int)")
            with self.one() as one:
                for statement in ("DROP OWNED BY sees", "DROP ROLE sees", "DROP TABLE chiefs", "DROP DATABASE made_by_ops", "DROP ROLE made_by_ops", "REVOKE SELECT ON prices FROM PUBLIC"):
                    one.execute(statement)

    def revoked_while_listening(self):
        with self.role("listener", "GRANT SELECT ON prices TO listener") as listener, self.one() as one:
            listener = Listener(listener, "SELECT id, price FROM prices")
            listener.hears("\t5\n")
            one.execute("REVOKE SELECT ON prices FROM listener")
            one.execute("UPDATE prices SET price = 777")
            listener.ends()
            self.tally.equal(listener.ended, ["42501"], "a subscription ends with its right")
            self.tally.that(not listener.has_heard("777"), "and tells nothing of what came after", listener.told)

    def transactions(self):
        """Rights are those of the moment, to each statement."""
        equal = self.tally.equal
        with self.role("moment", "GRANT SELECT ON prices TO moment") as moment, self.one() as one:
            moment.execute("PREPARE q AS SELECT count(*) FROM prices")
            moment.execute("EXECUTE q")
            moment.execute("BEGIN")
            moment.execute("SELECT * FROM prices")
            one.execute("REVOKE SELECT ON prices FROM moment")
            equal(state_of(moment.execute, "SELECT * FROM prices"), "42501", "within a transaction")
            moment.execute("ROLLBACK")
            equal(state_of(moment.execute, "EXECUTE q"), "42501", "a prepared statement")
            one.execute("BEGIN; GRANT SELECT ON prices TO moment; ROLLBACK")
            equal(state_of(moment.execute, "EXECUTE q"), "42501", "what was rolled back was not granted")
            one.execute("GRANT SELECT ON prices TO moment")
            equal(state_of(moment.execute, "EXECUTE q"), "", "granted again")
            one.execute("DROP OWNED BY moment; DROP ROLE moment")
            equal(state_of(moment.execute, "EXECUTE q"), "42501", "a role that has gone has no rights")

    def shared_plans(self):
        """Sessions share plans and views by a statement's shape, and not what they may."""
        equal = self.tally.equal
        with self.one() as one:
            one.execute("CREATE TABLE diary (id int PRIMARY KEY, who text, body text)")
            one.execute("INSERT INTO diary SELECT g, CASE WHEN g % 2 = 0 THEN 'pa' ELSE 'pb' END, 'x' FROM generate_series(1, 200) g")
            one.execute("CREATE POLICY own ON diary USING (who = current_user); ALTER TABLE diary ENABLE ROW LEVEL SECURITY")
        with self.role("pa", "GRANT SELECT ON diary TO pa") as a, self.role("pb", "GRANT SELECT ON diary TO pb") as b, self.one() as one:
            for round in range(30):
                for login, own in ((a, 0), (b, 1), (one, None)):
                    id = 1 + (round * 7) % 190
                    expected = 1 if own is None or id % 2 == own else 0
                    equal(login.execute(f"SELECT count(*) FROM diary WHERE id = {id}").fetchone()[0], expected, f"simple {id}")
                    found = login.execute("SELECT count(*) FROM diary WHERE id = %s", (id,)).fetchone()[0]
                    equal(found, expected, f"bound {id}")
                    equal(login.execute("SELECT count(*) FROM diary").fetchone()[0], 200 if own is None else 100, "all")
                    equal(login.execute("SELECT body, count(*) FROM diary WHERE body = 'x' GROUP BY body").fetchall(), [("x", 200 if own is None else 100)], "by a view")

    def views_by_policy(self):
        equal = self.tally.equal
        with self.one() as one:
            one.execute("CREATE TABLE logbook (id int PRIMARY KEY, body text); INSERT INTO logbook VALUES (1, 'a'), (2, 'b'); ALTER TABLE logbook ENABLE ROW LEVEL SECURITY")
            one.execute("CREATE POLICY reads ON logbook FOR SELECT USING (true)")
        with self.role("sailor", "GRANT SELECT, UPDATE ON logbook TO sailor") as sailor, self.one() as one:
            sailor.execute("BEGIN; DECLARE c CURSOR FOR SELECT id FROM logbook ORDER BY id; DECLARE u CURSOR FOR SELECT id FROM logbook FOR UPDATE")
            equal(rows(sailor, "FETCH ALL c"), [(1,), (2,)], "a cursor reads what SELECT reads")
            equal(rows(sailor, "FETCH ALL u"), [], "FOR UPDATE it has what may be changed")
            sailor.execute("ROLLBACK; BEGIN; DECLARE c CURSOR FOR SELECT id FROM logbook; FETCH c")
            equal(sailor.execute("UPDATE logbook SET body = 'x' WHERE CURRENT OF c").rowcount, 0, "who writes by it is asked then")
            sailor.execute("ROLLBACK")
            one.execute("DROP TABLE logbook")
        with self.one() as one, self.server.connect(user="pa") as a:
            one.execute("CREATE MATERIALIZED VIEW pages AS SELECT who, count(*) AS n FROM diary GROUP BY who; GRANT SELECT ON pages TO pa")
            equal(rows(one, "SELECT * FROM pages ORDER BY 1"), [("pa", 100), ("pb", 100)], "to its owner")
            equal(rows(a, "SELECT * FROM pages ORDER BY 1"), [("pa", 100)], "to whom a policy below it binds")
            one.execute("ALTER TABLE diary FORCE ROW LEVEL SECURITY")
            equal(rows(one, "SELECT count(*) FROM diary"), [(0,)], "forced, it binds controllers")
            equal(rows(one, "SELECT * FROM pages"), [], "below views too")
            one.execute("ALTER TABLE diary NO FORCE ROW LEVEL SECURITY")
            a.execute("BEGIN")
            equal(rows(a, "SELECT count(*) FROM diary"), [(100,)], "in a transaction")
            one.execute("CREATE POLICY more ON diary USING (id <= 10)")
            equal(rows(a, "SELECT count(*) FROM diary"), [(105,)], "the policies of the moment")
            a.execute("COMMIT")
            one.execute("DROP TABLE diary CASCADE")

    def signals(self):
        with self.role("weak") as weak, self.one() as one:
            pid = one.info.backend_pid
            for function in ("pg_cancel_backend", "pg_terminate_backend"):
                self.tally.equal(state_of(weak.execute, f"SELECT {function}({pid})"), "42501", function)

    def details(self):
        """What an error says of rows is for those who may read them."""
        with self.role("blind", "GRANT INSERT ON users TO blind") as blind:
            try:
                blind.execute("INSERT INTO users VALUES (77, 'x', 'ben@x')")
                self.tally.that(False, "a unique violation")
            except psycopg.Error as error:
                self.tally.equal((error.sqlstate, "ben@x" in str(error)), ("23505", False), "no value")

        with self.one() as one:
            one.execute("CREATE TABLE clubs (id INT PRIMARY KEY, name TEXT)")
            one.execute("CREATE TABLE seats (id INT PRIMARY KEY, club INT NOT NULL OWNS clubs(id), who INT NOT NULL OWNED_BY users(id))")
            one.execute("BEGIN; INSERT INTO clubs VALUES (777, 'x'); INSERT INTO seats VALUES (1, 777, 3); COMMIT")
        with self.role("usher", "GRANT DELETE, SELECT (id) ON seats TO usher") as usher:
            try:
                usher.execute("DELETE FROM seats WHERE id = 1")
                self.tally.that(False, "a row without an owner")
            except psycopg.Error as error:
                self.tally.equal((error.sqlstate, "777" in str(error)), ("DG001", False), "no key of a row that is not to be read")

    def escalation(self):
        """Whoever makes roles gets nothing by it that the maker has not."""
        equal = self.tally.equal
        with self.one() as one:
            one.execute("CREATE ROLE clerk LOGIN; GRANT SELECT ON posts TO clerk; CREATE ROLE idle")
            one.execute("CREATE ROLE makes LOGIN CREATEROLE; CREATE ROLE hand LOGIN IN ROLE dogwood_operator")
        for maker in ("makes", "hand"):
            with self.server.connect(user=maker) as login:
                for group in ("dogwood_controller", "controller", "dogwood_regulator", "pg_read_all_data", "pg_monitor", "clerk", "ada"):
                    for statement in ("CREATE ROLE made LOGIN IN ROLE {}", "CREATE ROLE made LOGIN IN GROUP {}", "GRANT {} TO idle", "GRANT {} TO CURRENT_USER"):
                        equal(state_of(login.execute, statement.replace("{}", group)), "42501", f"{maker}: {statement} {group}")
                for role in ("controller", "clerk", "ada"):
                    for statement in ("ALTER ROLE {} PASSWORD 'x'", "ALTER ROLE {} VALID UNTIL '2000-01-01'", "ALTER ROLE {} RENAME TO other",
                                      "ALTER ROLE {} SET search_path = elsewhere", "ALTER ROLE {} CONNECTION LIMIT 0"):
                        self.tally.that(state_of(login.execute, statement.format(role)) == "42501", f"{maker}: {statement} {role}")
                for role in ("clerk", "ada"):
                    equal(state_of(login.execute, f"DROP ROLE {role}"), "42501", f"{maker}: DROP ROLE {role}")
                equal(state_of(login.execute, "CREATE USER made FOR users 1"), "42501", "a person's login is for who may ask for that person")
                equal(state_of(login.execute, "CREATE ROLE made LOGIN IN ROLE idle"), "", "what has nothing it gives")
                equal(state_of(login.execute, "ALTER ROLE made PASSWORD 'x'; GRANT idle TO made; DROP ROLE made"), "", "and takes")
        with self.server.connect(user="clerk") as clerk:
            equal(state_of(clerk.execute, "ALTER ROLE clerk PASSWORD 'own'"), "", "one's own password")

    def people_apart(self):
        """To a person's own login other people are not there: not as roles, in sessions, counts, the audit log, or on channels."""
        equal = self.tally.equal
        with self.one() as one:
            one.execute("CREATE USER ada_two FOR users 1; GRANT UPDATE (body) ON chats TO ben; ANALYZE")
        with self.server.connect(user="ben") as ben, self.server.connect(user="ada_two") as ada, self.one() as one:
            ben.execute("UPDATE chats SET body = body || '.'")
            own = "SELECT rolname FROM pg_roles WHERE rolname IN ('ada', 'ada_two', 'ben', 'eve')"
            equal(rows(ada, own), [("ada_two",)], "roles")
            equal(rows(ada, own.replace("pg_roles", "pg_user").replace("rolname", "usename")), [("ada_two",)], "users")
            equal(rows(ada, "SELECT DISTINCT usename FROM pg_stat_activity"), [("ada_two",)], "sessions")
            equal(rows(ada, "SELECT count(*) FROM pg_class WHERE relacl::text ~ 'ben' OR reltuples > 0"), [(0,)], "access lists and counts")
            equal(rows(ada, "SELECT count(*) FROM pg_attribute WHERE attacl::text ~ 'ben'"), [(0,)], "access lists of columns")
            equal(rows(ada, "SELECT count(*) FROM pg_stats"), [(0,)], "statistics")
            self.tally.that(rows(one, "SELECT count(*) FROM pg_attribute WHERE attacl::text ~ 'ben'")[0][0] > 0, "which there are")
            for absent in ("SET ROLE {}", "SELECT '{}'::regrole", "SELECT pg_has_role('{}', 'USAGE')", "ALTER ROLE {} PASSWORD 'x'"):
                equal(error_of(ada.execute, absent.format("ben")), tuple(part.replace("noone", "ben") for part in error_of(ada.execute, absent.format("noone"))), absent)
            about = "SELECT count(*) FROM audit_about('users', '{}')"
            equal(error_of(ada.execute, about.format(2)), error_of(ada.execute, about.format(99)), "entries about another")
            self.tally.that(rows(ada, about.format(1))[0][0] > 0, "and about her")
            other = rows(one, "SELECT subjects[1] FROM audit_about('users', '2') WHERE subject_count = 1 LIMIT 1")[0][0]
            equal(rows(ada, f"SELECT * FROM audit_about('{other}')"), [], "by the name in the log")
            told = rows(ada, "SELECT login, role, row_count, address FROM dogwood.audit WHERE operation = 'update' AND 'chats' = ANY (tables) ORDER BY number")
            equal(told[-1], (None, None, None, None), "what another person did to her rows")
            equal([row for row in rows(ada, "SELECT * FROM audit_touched(now() - interval '1 day', now())") if "ben" in str(row)], [], "put together")
            for refused in ("LISTEN talk", "NOTIFY talk, 'x'", "SELECT pg_notify('talk', 'x')", "EXPLAIN DATAFLOW", "EXPLAIN (FORMAT DOT) DATAFLOW"):
                equal(state_of(ada.execute, refused), "42501", refused)
            one.execute("CREATE TABLE scraps (id int PRIMARY KEY, author int NOT NULL OWNED_BY users(id)); INSERT INTO scraps VALUES (1, 1), (2, 2), (3, 1)")
            for person in (1, 2, 1):
                one.execute(f"GDPR FORGET users {person} IN (scraps)")
                one.execute(f"INSERT INTO scraps VALUES ({10 + person}, {person}) ON CONFLICT DO NOTHING")
            issued = rows(one, "SELECT number, receipt_id FROM dogwood.receipts ORDER BY number DESC LIMIT 3")
            equal(rows(ada, "SELECT number, receipt_id FROM dogwood.receipts ORDER BY number DESC"), issued[::2], "her receipts, and no other")
            equal(rows(ada, f"SELECT count(*) FROM dogwood.receipts WHERE number = {issued[1][0]}"), [(0,)], "by number")
            one.execute("DROP TABLE scraps; DROP ROLE ada_two")

    def kept_texts(self):
        """What is kept is shown as it can be read again, and no parameter of a statement gets into it."""
        equal = self.tally.equal
        with self.one() as one:
            one.execute("CREATE SCHEMA apart; CREATE TABLE apart.lists (who name PRIMARY KEY, upto int); CREATE TABLE shelf (id int PRIMARY KEY, level int, who name)")
            one.execute("ALTER TABLE shelf ENABLE ROW LEVEL SECURITY")
            for refused in ("CREATE POLICY p ON shelf USING (id = $1)", "CREATE POLICY p ON shelf USING (EXISTS (SELECT 1 FROM apart.lists WHERE upto = $1))",
                            "CREATE TABLE checked (a int CHECK (a = $1))", "CREATE TABLE made (a int DEFAULT $1)", "CREATE DOMAIN d AS int CHECK (value > $1)"):
                equal(state_of(one.execute, refused), "42P02", refused)
            one.execute("CREATE POLICY by_list ON shelf USING (level <= 1 OR EXISTS (SELECT 1 FROM apart.lists l WHERE l.who = current_user AND l.upto >= level))")
            one.execute("CREATE POLICY by_name ON shelf USING (who IN (SELECT lists.who FROM apart.lists)) WITH CHECK (level = (SELECT max(upto) FROM apart.lists))")
            shown = dict(rows(one, "SELECT policyname, qual FROM pg_policies WHERE tablename = 'shelf'"))
            equal(shown["by_name"], "(who IN ( SELECT lists.who\n   FROM apart.lists))", "as PostgreSQL writes it")
            one.execute("CREATE TABLE again (LIKE shelf)")
            for name, using, check in rows(one, "SELECT policyname, qual, with_check FROM pg_policies WHERE tablename = 'shelf'"):
                using = using.replace("shelf.", "again.")
                one.execute(f"CREATE POLICY {name} ON again USING {using}" + (f" WITH CHECK {check}" if check else ""))
            same = "SELECT policyname, replace(qual, 'again.', 'shelf.'), with_check FROM pg_policies WHERE tablename = '{}' ORDER BY 1"
            equal(rows(one, same.format("again")), rows(one, same.format("shelf")), "read again it is the same")
            one.execute("DROP TABLE shelf, again; DROP SCHEMA apart CASCADE")

    def watchers(self):
        """What the server tells of itself has no value of a statement, and no statistics of whom a policy binds."""
        equal = self.tally.equal
        with self.one() as one:
            one.execute("CREATE TABLE wards (id int PRIMARY KEY, name text, who name)")
            one.execute("INSERT INTO wards SELECT n, 'ward' || n % 20, CASE WHEN n % 4 = 0 THEN 'nurse' ELSE 'other' END FROM generate_series(1, 400) n; ANALYZE wards")
            one.execute("CREATE POLICY own ON wards USING (who = current_user); ALTER TABLE wards ENABLE ROW LEVEL SECURITY")
            one.execute("CREATE MATERIALIZED VIEW oncology AS SELECT count(*) FROM wards WHERE name = 'ward13canary'")
            for _ in range(12):
                one.execute("SELECT id FROM wards WHERE name = 'ward7canary' AND id < 424242")
        with self.role("nurse", "GRANT SELECT ON wards TO nurse") as nurse, self.role("passerby") as passerby, self.one() as one:
            equal(rows(nurse, "SELECT count(*) FROM pg_stats WHERE tablename = 'wards'"), [(0,)], "whom a policy binds")
            self.tally.that(rows(one, "SELECT count(*) FROM pg_stats WHERE tablename = 'wards'")[0][0] > 0, "which there are")
            self.tally.that(rows(one, "SELECT count(*) FROM dogwood.operators")[0][0] > 0, "operators")
            for relation in ("operators", "arrangements", "dataflow", "subscriptions", "snapshots", "latency", "memory", "features"):
                told = str(rows(passerby, f"SELECT * FROM dogwood.{relation}"))
                self.tally.that("7canary" not in told and "13canary" not in told and "424242" not in told, f"no value in dogwood.{relation}", told)
            told = str(rows(passerby, "SELECT * FROM dogwood.views WHERE kind <> 'materialized'"))
            self.tally.that("7canary" not in told and "424242" not in told, "nor in dogwood.views", told)
            one.execute("DROP TABLE wards CASCADE")

    def renamed(self):
        """A login that is renamed while it is connected is the same role: what another makes of its old name is not its own."""
        equal = self.tally.equal
        with self.one() as one, self.role("before", "CREATE TABLE desks (id INT PRIMARY KEY, who TEXT)", "GRANT SELECT ON desks TO before") as session:
            one.execute("INSERT INTO desks VALUES (1, 'before'), (2, 'after'); ALTER TABLE desks ENABLE ROW LEVEL SECURITY")
            one.execute("CREATE POLICY own ON desks USING (who = current_user)")
            equal(rows(session, "SELECT id FROM desks"), [(1,)], "under its name")
            one.execute("ALTER ROLE before RENAME TO after; CREATE ROLE before LOGIN")
            equal(rows(session, "SELECT current_user, session_user, user"), [("after", "after", "after")], "as in PostgreSQL")
            equal(rows(session, "SELECT id FROM desks"), [(2,)], "under the new one, and not under the other's")
            equal(rows(one, "SELECT usename, usesysid::regrole::text FROM pg_stat_activity WHERE pid = %s" % session.info.backend_pid), [("after", "after")], "to others")
            with self.server.connect(user="before") as other:
                equal(rows(other, "SELECT query FROM pg_stat_activity WHERE pid = %s" % session.info.backend_pid), [("<insufficient privilege>",)], "its statements are not the other's")
                equal(state_of(other.execute, "SELECT pg_cancel_backend(%s)" % session.info.backend_pid), "42501", "nor to be cancelled")
            one.execute("ALTER ROLE after CONNECTION LIMIT 1")
            self.tally.that("too many connections" in str(self.refused_login("after")), "its limit counts it by either name")
            one.execute("DROP OWNED BY after; DROP ROLE after")
            equal(state_of(session.execute, "SELECT id FROM desks"), "42501", "dropped, it has no rights")
            self.tally.that(rows(session, "SELECT current_user")[0][0].startswith("unknown (OID="), "and no name")
            one.execute("CREATE USER hers FOR users 3")
            with self.server.connect(user="hers") as person:
                equal(rows(person, "SELECT id FROM users"), [(3,)], "a person's own login")
                one.execute("ALTER ROLE hers RENAME TO still_hers")
                equal(rows(person, "SELECT current_user::text, id FROM users"), [("still_hers", 3)], "renamed")
                one.execute("BEGIN; INSERT INTO users VALUES (40, 'Di', 'di@x'); COMMIT; CREATE USER another FOR users 40")
            with self.server.connect(user="another") as person:
                person.execute("SELECT 1")
                one.execute("ALTER ROLE another RENAME TO gone_soon")
                one.execute("GDPR FORGET users 40")
                time.sleep(0.5)
                self.tally.that(error_of(person.execute, "SELECT 1") is not None, "FORGET ends the session of a login that was renamed")
            equal(rows(one, "SELECT count(*) FROM pg_roles WHERE rolname IN ('another', 'gone_soon')"), [(0,)], "and the login")
            one.execute("DROP ROLE before, still_hers; DROP TABLE desks")

    def refused_login(self, user):
        try:
            self.server.connect(user=user).close()
            return None
        except psycopg.OperationalError as error:
            return error

    def all_requests(self):
        """GDPR ALL is GET, EXPORT and FORGET; what keeps rows from a role says so where they are given."""
        equal = self.tally.equal
        held = "SELECT has_table_privilege('desk', 'users', 'GDPR GET'), has_table_privilege('desk', 'users', 'GDPR EXPORT'), has_table_privilege('desk', 'users', 'GDPR FORGET'), has_table_privilege('desk', 'users', 'SELECT')"
        with self.one() as one:
            one.execute("CREATE ROLE desk; GRANT GDPR ALL ON users TO desk")
            equal(rows(one, held), [(True, True, True, False)], "GRANT")
            one.execute("REVOKE GDPR ALL PRIVILEGES ON TABLE users FROM desk")
            equal(rows(one, held), [(False, False, False, False)], "REVOKE")
            one.execute("GRANT SELECT, GDPR ALL ON users TO desk WITH GRANT OPTION; REVOKE GRANT OPTION FOR GDPR ALL ON users FROM desk")
            equal(rows(one, held), [(True, True, True, True)], "beside others")
            equal(rows(one, "SELECT has_table_privilege('desk', 'users', 'GDPR GET WITH GRANT OPTION'), has_table_privilege('desk', 'users', 'SELECT WITH GRANT OPTION')"), [(False, True)], "its option alone")
            equal(state_of(one.execute, "GRANT GDPR ALL ON prices TO desk"), "0LP01", "of a table that is nobody's own")
            equal(state_of(one.execute, "GRANT GDPR NOTHING ON users TO desk"), "42601", "no such request")
            said = []
            one.add_notice_handler(lambda notice: said.append((notice.sqlstate, notice.message_primary)))
            one.execute("CREATE ROLE watcher IN ROLE dogwood_regulator")
            equal(said, [], "a regulator is made")
            one.execute("GRANT desk TO watcher")
            self.tally.that(said and said[0][0] == "01007" and "stay kept from it" in said[0][1], "told that rows stay kept from it", said)
            equal(rows(one, "SELECT has_table_privilege('watcher', 'users', 'SELECT')"), [(False,)], "and so it is")
            said.clear()
            one.execute("COMMENT ON DATABASE nowhere IS 'as a dump has it'")
            equal(said, [("3D000", "database \"nowhere\" does not exist")], "a comment on a database that is not there, as in PostgreSQL")
            one.execute("DROP ROLE watcher; DROP OWNED BY desk; DROP ROLE desk")

    def logins(self):
        """By password, over TLS."""
        equal = self.tally.equal
        server = Server()
        try:
            server.start(insecure=False)
            connect = lambda user, password, **more: psycopg.connect(
                host="127.0.0.1", port=server.port, user=user, password=password, dbname="postgres", sslmode="require", autocommit=True, **more)
            refused = lambda user, password: str(error_text(lambda: connect(user, password)))

            def error_text(function):
                try:
                    function().close()
                    return ""
                except psycopg.OperationalError as error:
                    return error
            first = server.password()
            with connect("controller", first) as one:
                one.execute("CREATE ROLE app LOGIN PASSWORD 'first one'; CREATE ROLE off PASSWORD 'x'; CREATE ROLE bare LOGIN")
                one.execute("CREATE ROLE late LOGIN PASSWORD 'x' VALID UNTIL '2020-01-01'; CREATE ROLE few LOGIN PASSWORD 'x' CONNECTION LIMIT 1")
                with connect("app", "first one") as app:
                    equal(rows(app, "SELECT session_user, current_user"), [("app", "app")], "who")
                    app.execute("ALTER ROLE app PASSWORD 'second one'")
                failed = "password authentication failed"
                self.tally.that(failed in refused("app", "first one"), "the old password")
                connect("app", "second one").close()
                for user, password in (("bare", ""), ("bare", "x"), ("late", "x"), ("off", "x"), ("nobody", "x"), ("dogwood_controller", "x")):
                    text = refused(user, password)
                    self.tally.that(failed in text or "fe_sendauth" in text or "not permitted" in text, f"{user} with {password!r}", text)
                with connect("few", "x"):
                    self.tally.that("too many connections for role" in refused("few", "x"), "its limit")
                one.execute("REVOKE CONNECT ON DATABASE postgres FROM PUBLIC")
                self.tally.that("permission denied for database" in refused("app", "second one"), "CONNECT")
                one.execute("GRANT CONNECT ON DATABASE postgres TO app")
                connect("app", "second one").close()
                one.execute("ALTER ROLE controller PASSWORD 'mine from now on'")
                stored = rows(one, "SELECT rolpassword FROM pg_authid WHERE rolname = 'app'")[0][0]
                self.tally.that(stored.startswith("SCRAM-SHA-256$4096:") and "second" not in stored, "what is kept", stored)
                one.execute("ALTER ROLE app PASSWORD %s" % ("'" + stored + "'"))
                connect("app", "second one").close()
                equal(state_of(one.execute, "ALTER ROLE app PASSWORD 'md5d41d8cd98f00b204e9800998ecf8427e'"), "0A000", "MD5")
            self.tally.that(failed in refused("controller", first), "first start's password")
            server.kill()
            server.start(insecure=False)
            connect("controller", "mine from now on").close()
            connect("app", "second one").close()
            self.tally.that(failed in refused("controller", first), "after kill -9 too")
            self.tally.that("second one" not in server.said() and "mine from" not in server.said(), "no password in the log")
        finally:
            server.remove()

    def outlives(self):
        equal = self.tally.equal
        with self.one() as one:
            one.execute("CREATE ROLE lasting LOGIN; GRANT SELECT (id) ON prices TO lasting; ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO lasting")
            one.execute("CREATE POLICY few ON prices TO lasting USING (id = 1); ALTER TABLE prices ENABLE ROW LEVEL SECURITY")
        self.server.kill()
        self.server.start()
        with self.one() as one, self.server.connect(user="lasting") as lasting, self.server.connect(user="ada") as ada:
            one.execute("INSERT INTO prices VALUES (2, 2); CREATE TABLE later (x int)")
            equal(rows(lasting, "SELECT id FROM prices"), [(1,)], "granted, and bound")
            equal(state_of(lasting.execute, "SELECT price FROM prices"), "42501", "no more than that")
            equal(rows(lasting, "SELECT count(*) FROM later"), [(0,)], "by default")
            equal(rows(ada, "SELECT name FROM users"), [("Ada L.",)], "her own")
            equal(state_of(one.execute, "DROP ROLE lasting"), "2BP01", "something depends on it")
            one.execute("ALTER DEFAULT PRIVILEGES REVOKE SELECT ON TABLES FROM lasting; DROP OWNED BY lasting")
        with self.one() as one:
            one.execute("DROP ROLE lasting")


if __name__ == "__main__":
    run_check(Roles())
