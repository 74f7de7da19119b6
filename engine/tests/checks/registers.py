#!/usr/bin/env python3
"""The registers of a data-protection officer: random rows, and each register against a walk over them in Python; whose data is counted
where several own a row; that the data map tells what an erasure then does; who may read them; beside erasures, kill -9, cancels.

    registers.py [--seed N] [--count N]
"""
import collections
import datetime
import threading
import time

import psycopg

from harness import Check, options, rows, run_check, state_of

SCHEMA = """
CREATE DATA_SUBJECT TABLE person (id int PRIMARY KEY, name text, kind text CATEGORY);
CREATE TABLE contact (id int PRIMARY KEY, a int NOT NULL OWNED_BY person(id), b int OWNED_BY person(id), phone text,
    purposes text[] PURPOSES, objections text OBJECTIONS, region text REGION, kind text CATEGORY, basis text BASIS, origin text ORIGIN,
    shared text SHARED_WITH, told text[] RECIPIENT, decisions text DECISIONS, until timestamptz EXPIRES);
CREATE TABLE note (id int PRIMARY KEY, contact int NOT NULL OWNED_BY contact(id), body text);
CREATE TABLE world (id int PRIMARY KEY, name text);
CREATE SCHEMA s;
CREATE TABLE s.session (id int PRIMARY KEY, until date NOT NULL EXPIRES);
CREATE PURPOSE ads; CREATE PURPOSE billing; CREATE PURPOSE idle;
CREATE ROLE agency LOGIN IN ROLE dogwood_processor; CREATE ROLE authority LOGIN IN ROLE dogwood_regulator;
CREATE ROLE keeper LOGIN IN ROLE dogwood_operator; CREATE ROLE officer LOGIN IN ROLE dogwood_controller; CREATE ROLE reader LOGIN;
GRANT SELECT ON contact TO agency; GRANT SELECT (id) ON note TO reader, PUBLIC; GRANT INSERT ON note TO agency;
GRANT PURPOSE ads TO agency; GRANT PURPOSE billing TO PUBLIC;
"""
REGISTERS = ["inventory", "processing_activities", "data_map", "retention_schedule", "impact_assessment"]
LISTS = ["purposes", "objections", "shared_with", "recipient", "decisions"]
Contact = collections.namedtuple("Contact", "id a b phone purposes objections region category basis origin shared_with recipient decisions expires")
SPECIAL = {"health data": "special category", "trade union membership": "special category", "criminal convictions": "criminal record"}


def words(value, is_list):
    """What a column says of its row."""
    if value is None:
        return set()
    if isinstance(value, list):
        return set(value)
    return {word.strip() for word in (value.split(",") if is_list else [value]) if word.strip()}


def counted(some):
    """(rows, people) of these contacts."""
    return len(some), len({person for row in some for person in (row.a, row.b) if person})


class Registers(Check):
    def run(self):
        with self.server.connect() as one:
            one.execute(SCHEMA)
            one.execute("INSERT INTO person SELECT n, 'n' || n, CASE WHEN n % 3 = 0 THEN 'staff' END FROM generate_series(1, 12) n")
        for _ in range(self.options.count):
            self.tally.case(self.random_rows)
        for case in (self.whose, self.what_is_mapped, self.committed, self.other_databases, self.many_values, self.erased, self.cancelled, self.kept, self.loaded, self.killed):
            self.tally.case(case)

    def fill(self, one):
        pick = lambda *several: self.dice.choice(several)
        some = lambda: pick(None, "", "ads", "ads,billing", " billing , ads ", "old", ",")
        one.execute("DELETE FROM contact")
        data = []
        for number in range(1, 41):
            until = pick(None, datetime.datetime(2100, self.dice.randrange(1, 12), 1, tzinfo=datetime.timezone.utc))
            data.append(Contact(number, self.dice.randrange(1, 9), pick(None, self.dice.randrange(1, 9)), "0151",
                                pick(None, [], ["ads"], ["ads", "billing"], ["billing", "billing"]), some(), pick(None, "eu", "us", " eu"),
                                pick(None, "contact", *SPECIAL), pick(None, "consent", "contract"), pick(None, "shop", " "), some(),
                                pick(None, ["bank"], ["bank", "post"]), pick(None, "scoring"), until))
        one.cursor().executemany(f"INSERT INTO contact VALUES ({', '.join(['%s'] * 14)})", data)
        return data

    def random_rows(self):
        with self.server.connect() as one:
            data = self.fill(one)
            self.inventory(one, data)
            self.activities(one, data)
            self.schedule(one, data)
            self.impact(one, data)

    def by_value(self, data):
        """By property and value, the contacts that say it."""
        found = {}
        for name in Contact._fields[4:13]:
            for row in data:
                for word in words(getattr(row, name), name in LISTS) or [None]:
                    found.setdefault((name, word), []).append(row)
        return found

    def inventory(self, one, data):
        expected = {(name, word): counted(some) for (name, word), some in self.by_value(data).items()}
        expected[(None, None)] = counted(data)
        found = {(name, word): (count, people) for name, word, count, people in
                 rows(one, "SELECT property, value, row_count, subject_count FROM dogwood.inventory WHERE table_name = 'contact'")}
        self.tally.equal(found, expected, "the inventory")
        self.tally.equal(rows(one, "SELECT property, value, row_count, subject_count FROM dogwood.inventory WHERE table_name = 'person' ORDER BY 1, 2"),
                         [("category", "staff", 4, 4), ("category", None, 8, 8), (None, None, 12, 12)], "the inventory of people")
        self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.inventory WHERE table_name IN ('world', 'session')"), [(0,)], "what is nobody's is not in it")

    def activities(self, one, data):
        expected = {}
        for row in data:
            used = words(row.purposes, True) - words(row.objections, True)
            for purpose in used or [None]:
                expected.setdefault(purpose, []).append(row)
        said = lambda some, name: sorted(set().union(*(words(getattr(row, name), name in LISTS) for row in some)))
        expected = {purpose: (*(said(some, name) for name in ("category", "basis", "origin")),
                              sorted({*said(some, "shared_with"), *said(some, "recipient")}), said(some, "decisions"), said(some, "region"), *counted(some))
                    for purpose, some in expected.items()}
        found = {purpose: rest for purpose, *rest in rows(
            one, """SELECT purpose, categories, bases, origins, recipients, decisions, regions, row_count, subject_count
                    FROM dogwood.processing_activities WHERE table_name = 'contact'""")}
        self.tally.equal({purpose: tuple(rest) for purpose, rest in found.items()}, expected, "processing activities")
        found = rows(one, """SELECT DISTINCT ON (purpose, table_name) purpose, declared, table_name, data_subjects, retention, granted_to, readers
                             FROM dogwood.processing_activities WHERE purpose = 'idle' OR table_name = 'note' ORDER BY purpose, table_name""")
        self.tally.equal(found, [("idle", True, None, [], None, [], []), (None, False, "note", ["person"], "until erasure", [], ["public", "reader"])],
                         "a purpose without rows, and a table without purposes")
        found = rows(one, """SELECT declared, columns, retention, granted_to, readers FROM dogwood.processing_activities
                             WHERE table_name = 'contact' AND purpose = 'ads'""")
        self.tally.equal(found, [(True, ["id", "a", "b", "phone"], 'deleted at "until"', ["agency"], ["agency"])] if found else [], "of one purpose")

    def schedule(self, one, data):
        ends = [row.expires for row in data if row.expires]
        found = rows(one, "SELECT table_schema, table_name, rule, action, demanded, row_count, without_end, ended, first_end, last_end FROM dogwood.retention_schedule")
        expected = [("public", "contact", "EXPIRES until", "delete", False, 40, 40 - len(ends), 0, min(ends), max(ends)),
                    ("public", "note", None, None, False, 0, 0, 0, None, None), ("public", "person", None, None, False, 12, 12, 0, None, None),
                    ("s", "session", "EXPIRES until", "delete", True, 0, 0, 0, None, None)]
        self.tally.equal(found, expected, "the retention schedule")

    def impact(self, one, data):
        expected = {("personal data", "person"): counted(data)}
        for (name, word), some in self.by_value(data).items():
            inputs = {"category": ["category", *([SPECIAL[word]] if word in SPECIAL else [])], "decisions": ["automated decision"],
                      "shared_with": ["sharing"], "recipient": ["sharing"], "region": ["region"], "objections": ["objection"]}.get(name, [])
            if word is None:
                inputs = {"purposes": ["without purpose"], "basis": ["without basis"]}.get(name, [])
            for what in inputs:
                expected[(what, word)] = counted(some)
        regions = sorted({word for name, word in self.by_value(data) if name == "region" and word})
        if len(regions) > 1:
            expected[("several regions", ", ".join(regions))] = counted(data)
        found = {(what, detail): (count, people) for what, detail, count, people in rows(
            one, "SELECT input, detail, row_count, subject_count FROM dogwood.impact_assessment WHERE table_name = 'contact'")}
        self.tally.equal(found, expected, "the impact assessment")

    def whose(self):
        for role, reads in (("authority", True), ("officer", True), ("agency", False), ("keeper", False), ("reader", False)):
            with self.server.connect(user=role) as one:
                for register in REGISTERS:
                    self.tally.equal(state_of(one.execute, f"SELECT * FROM dogwood.{register}"), "" if reads else "42501", f"{register}, by {role}")
        with self.server.connect() as one:
            one.execute("CREATE VIEW mine AS SELECT * FROM dogwood.inventory; GRANT SELECT ON mine TO reader")
            found = rows(one, "SELECT has_table_privilege(role, 'dogwood.inventory', 'SELECT') FROM unnest('{authority,officer,agency,reader}'::text[]) role")
            self.tally.equal([row[0] for row in found], [True, True, False, False], "has_table_privilege")
            one.execute("CREATE USER own FOR person 1")
        with self.server.connect(user="own") as one:
            for register in REGISTERS:
                self.tally.equal(state_of(one.execute, f"SELECT * FROM dogwood.{register}"), "42501", f"{register}, by a person")
        with self.server.connect(user="reader") as one:
            self.tally.equal(state_of(one.execute, "SELECT * FROM mine"), "42501", "by a view of a controller's")
        with self.server.connect() as one:
            one.execute("DROP VIEW mine; DROP ROLE own")

    def what_is_mapped(self):
        """The map of a schema with each kind of edge, and what one erasure does."""
        with self.server.connect() as one:
            one.execute("""CREATE DATA_SUBJECT TABLE u (id int PRIMARY KEY, name text);
                CREATE TABLE m (id int PRIMARY KEY, f int OWNED_BY u(id), t int OWNED_BY u(id), body text, ON DEL f ANON (f, body));
                CREATE TABLE p (id int PRIMARY KEY, a int NOT NULL OWNED_BY u(id), seen int ACCESSED_BY u(id));
                CREATE TABLE c (id int PRIMARY KEY, p int NOT NULL OWNED_BY p(id));
                CREATE TABLE l (u int OWNED_BY u(id), o int OWNED_BY u(id), PRIMARY KEY (u, o));
                CREATE TABLE r (id int PRIMARY KEY, u int REFERENCES ONLY u(id) ON DELETE SET NULL, p int REFERENCES ONLY p(id) ON DELETE CASCADE);
                CREATE TABLE i (id int PRIMARY KEY)""")
            found = rows(one, "SELECT table_name, tie, leads_to, path, on_erasure FROM dogwood.data_map WHERE length(table_name) = 1")
            expected = [
                ("c", "owner", "u", "c.p OWNED_BY p(id) → p.a OWNED_BY u(id)", "deleted with the row that it leads to"),
                ("c", "access", "u", "c.p OWNED_BY p(id) → p.seen ACCESSED_BY u(id)", "kept, unless the row that it leads to goes"),
                ("i", "nobody", None, None, "kept"),
                ("l", "owner", "u", "l.u OWNED_BY u(id)", "deleted"), ("l", "owner", "u", "l.o OWNED_BY u(id)", "deleted"),
                ("m", "owner", "u", "m.f OWNED_BY u(id)", "deleted with its last owner, until then blanked: f, body"),
                ("m", "owner", "u", "m.t OWNED_BY u(id)", "deleted with its last owner, until then blanked: t"),
                ("p", "owner", "u", "p.a OWNED_BY u(id)", "deleted"),
                ("p", "access", "u", "p.seen ACCESSED_BY u(id)", "blanked: seen"),
                ("r", "reference", "u", "r.u REFERENCES u(id)", "blanked: u"),
                ("r", "reference", "p", "r.p REFERENCES p(id)", "deleted with the row that it leads to"),
                ("u", "data subject", "u", None, "deleted")]
            self.tally.equal(found, expected, "the data map")
            one.execute("""INSERT INTO u SELECT n, 'n' FROM generate_series(1, 3) n; INSERT INTO m VALUES (1, 1, 2, 'x'), (2, 2, 1, 'y'), (3, 1, NULL, 'z');
                INSERT INTO p VALUES (1, 1, 2), (2, 2, 1); INSERT INTO c VALUES (1, 1), (2, 2); INSERT INTO l VALUES (1, 2), (2, 3), (3, 1);
                INSERT INTO r VALUES (1, 1, NULL), (2, NULL, 1), (3, 2, 2); INSERT INTO i VALUES (1)""")
            one.execute("GDPR FORGET u 1")
            for table, expected in (("m", [(1, None, 2, None), (2, 2, None, "y")]), ("p", [(2, 2, None)]), ("c", [(2, 2)]), ("l", [(2, 3)]),
                                    ("r", [(1, None, None), (3, 2, 2)]), ("i", [(1,)]), ("u", [(2, "n"), (3, "n")])):
                self.tally.equal(rows(one, f"SELECT * FROM {table} ORDER BY 1"), expected, f"what becomes of {table}")
            one.execute("DROP TABLE i, r, l, c, p, m, u")

    def committed(self):
        total = "SELECT row_count, subject_count FROM dogwood.inventory WHERE table_name = 'contact' AND property IS NULL"
        with self.server.connect() as one, self.server.connect() as other:
            one.execute("DELETE FROM contact; INSERT INTO contact (id, a, b) VALUES (1, 1, 2), (2, 2, 1), (3, 2, NULL)")
            self.tally.equal(rows(one, total), [(3, 2)], "a row of two people is one row")
            with one.transaction(force_rollback=True):
                one.execute("INSERT INTO contact (id, a) VALUES (4, 3); CREATE TABLE later (id int PRIMARY KEY, p int NOT NULL OWNED_BY person(id))")
                one.execute("INSERT INTO later VALUES (1, 1)")
                self.tally.equal(rows(one, total), [(3, 2)], "what is not committed is not counted")
                self.tally.equal(rows(one, "SELECT row_count FROM dogwood.inventory WHERE table_name = 'later'"), [(0,)], "nor is a table that is not there yet")
                self.tally.equal(rows(other, total), [(3, 2)], "for another neither")
            one.execute("CREATE TEMPORARY TABLE mine (id int PRIMARY KEY, until timestamptz)")
            self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.data_map WHERE table_name = 'mine'"), [(0,)], "what is temporary is in no register")

    def other_databases(self):
        with self.server.connect() as one:
            one.execute("CREATE DATABASE elsewhere")
        with self.server.connect(dbname="elsewhere") as one:
            one.execute("CREATE DATA_SUBJECT TABLE citizen (id int PRIMARY KEY); INSERT INTO citizen VALUES (1)")
            self.tally.equal(rows(one, "SELECT table_name, row_count FROM dogwood.inventory"), [("citizen", 1)], "a register is its database's")
            self.tally.equal(rows(one, "SELECT table_name, leads_to FROM dogwood.data_map"), [("citizen", "citizen")], "and so is the map")
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.inventory WHERE table_name = 'citizen'"), [(0,)], "not another's")
            one.execute("DROP DATABASE elsewhere")

    def many_values(self):
        with self.server.connect() as one:
            one.execute("DELETE FROM contact; INSERT INTO contact (id, a, origin, purposes) SELECT n, 1, 'o' || n, ARRAY['p' || n] FROM generate_series(1, 1500) n")
            for name in ("origin", "purposes"):
                found = rows(one, f"SELECT count(*), sum(row_count)::int, max(row_count) FROM dogwood.inventory WHERE property = '{name}' AND value IS NOT NULL")
                self.tally.equal(found, [(1001, 1500, 500)], f"what is too many of {name} is counted together")
            found = rows(one, "SELECT count(*), sum(row_count)::int FROM dogwood.processing_activities WHERE table_name = 'contact'")
            self.tally.equal(found, [(1001, 1500)], "of purposes, too")

    def erased(self):
        with self.server.connect() as one:
            data = self.fill(one)
            one.execute("GDPR FORGET person 3")
            left = [row._replace(a=None if row.a == 3 else row.a, b=None if row.b == 3 else row.b) for row in data if {row.a, row.b} - {3, None}]
            found = rows(one, "SELECT row_count, subject_count FROM dogwood.inventory WHERE table_name = 'contact' AND property IS NULL")
            self.tally.equal(found, [counted(left)], "after an erasure")
            one.execute("INSERT INTO person VALUES (3, 'again')")

    def cancelled(self):
        with self.server.connect() as one:
            one.execute("INSERT INTO contact (id, a) SELECT n, 1 + n % 2 FROM generate_series(10000, 60000) n")
            for register in ("inventory", "processing_activities", "retention_schedule", "impact_assessment"):
                one.execute("SET statement_timeout = '3ms'")
                self.tally.equal(state_of(one.execute, f"SELECT * FROM dogwood.{register}"), "57014", f"{register} is cancelled")
                one.execute("SET statement_timeout = 0")
            one.execute("DELETE FROM contact WHERE id >= 10000")

    # Counts of a large table are kept: what is written since is counted anew, and nothing else.

    def truth(self, one):
        """What the register of a large table must say, by queries over its rows."""
        owners = "(SELECT region, until, a AS p FROM large UNION ALL SELECT region, until, b FROM large WHERE b IS NOT NULL) o"
        total = rows(one, f"SELECT (SELECT count(*) FROM large), count(DISTINCT p) FROM {owners}")
        regions = dict((region, (count, people)) for region, count, people in rows(
            one, f"""SELECT r.region, r.n, o.people FROM (SELECT region, count(*) n FROM large GROUP BY region) r
                     JOIN (SELECT region, count(DISTINCT p) people FROM {owners} GROUP BY region) o ON o.region IS NOT DISTINCT FROM r.region"""))
        ends = rows(one, "SELECT count(*), count(*) - count(until), min(until), max(until) FROM large")
        return total, regions, ends

    def told(self, one):
        found = {(name, value): (count, people) for name, value, count, people in rows(
            one, "SELECT property, value, row_count, subject_count FROM dogwood.inventory WHERE table_name = 'large'")}
        ends = rows(one, "SELECT row_count, without_end, first_end, last_end FROM dogwood.retention_schedule WHERE table_name = 'large'")
        total = [found.pop((None, None))]
        return total, {value: counts for (name, value), counts in found.items() if name == "region"}, ends

    def kept(self):
        with self.server.connect() as one:
            one.execute("""CREATE DATA_SUBJECT TABLE human (id int PRIMARY KEY);
                CREATE TABLE large (id int PRIMARY KEY, a int NOT NULL OWNED_BY human(id), b int OWNED_BY human(id), region text REGION,
                    kind text, until timestamptz EXPIRES);
                INSERT INTO human SELECT n FROM generate_series(1, 3000) n""")
            fill = """INSERT INTO large SELECT n, 1 + n % 3000, CASE WHEN n % 5 = 0 THEN 1 + n % 7 END, 'r' || n % 4, 'k' || n % 3,
                      CASE WHEN n % 3 = 0 THEN '2100-01-01'::timestamptz + n * interval '1 hour' END FROM generate_series(1, 12000) n"""
            one.execute(fill)
            some = lambda: self.dice.randrange(1, 12001)
            for step in range(24):
                what = self.dice.choice(["nothing", "nothing", "changes", "owner", "goes", "comes", "ends", "forgotten", "rolls back", "property", "column", "all", "empty"])
                first = some()
                match what:
                    case "changes": one.execute("UPDATE large SET region = 'r' || %s WHERE id BETWEEN %s AND %s", (self.dice.randrange(6), first, first + 20))
                    case "owner": one.execute("UPDATE large SET a = (SELECT min(id) + %s %% 2 * (max(id) - min(id)) FROM human) WHERE id BETWEEN %s AND %s", (step, first, first + 9))
                    case "goes": one.execute("DELETE FROM large WHERE id BETWEEN %s AND %s", (first, first + 5))
                    case "comes": one.execute("INSERT INTO large SELECT %s, min(id), max(id), NULL, 'k', NULL FROM human ON CONFLICT DO NOTHING", (first + 20000,))
                    case "ends": one.execute("UPDATE large SET until = now() WHERE id = %s", (first,))
                    case "forgotten":
                        (person,), = rows(one, "SELECT id FROM human ORDER BY random() LIMIT 1")
                        one.execute(f"GDPR FORGET human {person}")
                    case "rolls back":
                        with one.transaction(force_rollback=True):
                            one.execute("UPDATE large SET region = 'none' WHERE id < 3000")
                            self.told(one)
                    case "property":
                        one.execute("ALTER TABLE large ALTER COLUMN region DROP REGION; ALTER TABLE large ALTER COLUMN kind SET REGION")
                        found = {value: count for _, value, count, _ in rows(one, "SELECT property, value, row_count, subject_count FROM dogwood.inventory WHERE table_name = 'large' AND property = 'region'")}
                        self.tally.equal(found, dict(rows(one, "SELECT kind, count(*) FROM large GROUP BY kind")), "another column says it now")
                        one.execute("ALTER TABLE large ALTER COLUMN kind DROP REGION; ALTER TABLE large ALTER COLUMN region SET REGION")
                    case "column": one.execute(f"ALTER TABLE large ADD COLUMN c{step} text DEFAULT 'x' ORIGIN; ALTER TABLE large DROP COLUMN c{step}")
                    case "all": one.execute("UPDATE large SET kind = kind || 'k', region = CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END")
                    case "empty":
                        one.execute("TRUNCATE large")
                        self.tally.equal(self.told(one), ([(0, 0)], {}, [(0, 0, None, None)]), "nothing is left")
                        one.execute("INSERT INTO human SELECT n FROM generate_series(1, 3000) n ON CONFLICT DO NOTHING")
                        one.execute(fill)
                # What has expired is there until it is deleted, for the registers alone.
                until = time.monotonic() + 20
                while rows(one, "SELECT sum(ended) FROM dogwood.retention_schedule WHERE table_name = 'large'") != [(0,)] and time.monotonic() < until:
                    time.sleep(0.05)
                self.tally.equal(self.told(one), self.truth(one), f"large, after: {what}")
            held = lambda: rows(one, "SELECT bytes > 0, bytes <= bytes_max FROM dogwood.memory WHERE part = 'registers'")
            self.tally.equal(held(), [(True, True)], "what is kept")
            self.beside_writers()
            self.touched(one)
            one.execute("DROP TABLE large, human")

    # What comes into an empty table is counted by what was noted of it as it came, until the table rests.

    LARGE = """CREATE DATA_SUBJECT TABLE human (id int PRIMARY KEY);
        CREATE TABLE large (id int PRIMARY KEY, a int NOT NULL OWNED_BY human(id), b int OWNED_BY human(id), region text REGION,
            kind text, until timestamptz EXPIRES, body text);
        INSERT INTO human SELECT n FROM generate_series(1, 3000) n"""
    LOAD = """SELECT n, 1 + n % 3000, CASE WHEN n % 5 = 0 THEN 1 + n % 7 END, 'r' || n % {regions}, 'k' || n % 3,
              CASE WHEN n % 3 = 0 THEN '2100-01-01'::timestamptz + n * interval '1 hour' END, repeat('x', {bytes})
              FROM generate_series({first}, {last}) n"""

    def loaded(self):
        for round_ in range(2):
            with self.server.connect() as one:
                one.execute(self.LARGE)
                first = 1
                for step in range(12):
                    what = self.dice.choice(["load", "load", "large load", "few", "one", "copy", "rolls back", "fails", "to savepoint", "in one", "changes",
                                             "goes", "owner", "forgotten", "cancelled", "empty", "property", "rests", "ends", "beside"])
                    first = self.load_some(one, what, first)
                    until = time.monotonic() + 20
                    while rows(one, "SELECT sum(ended) FROM dogwood.retention_schedule WHERE table_name = 'large'") != [(0,)] and time.monotonic() < until:
                        time.sleep(0.05)
                    self.tally.equal(self.told(one), self.truth(one), f"loaded, round {round_}, step {step}: {what}")
                    self.tally.equal(rows(one, "SELECT row_count, subject_count FROM dogwood.inventory WHERE table_name = 'human'"),
                                     rows(one, "SELECT count(*), count(*) FROM human"), "and who they are")
                one.execute("DROP TABLE large, human")
                if round_ == 1:
                    self.killed_in_load(one)

    def load_some(self, one, what, first):
        """One step of a load; where the next begins."""
        rows_, bytes_ = self.dice.choice([1200, 3000, 9000]), 0
        match what:
            case "large load": rows_, bytes_ = 15_000, 1500
            case "few": rows_ = self.dice.randrange(2, 40)
            case "one": rows_ = 1
        last, regions = first + rows_ - 1, self.dice.choice([3, 7])
        load = self.LOAD.format(first=first, last=last, bytes=bytes_, regions=regions)
        some = self.dice.randrange(1, first + 1)
        match what:
            case "load" | "large load" | "few" | "one": one.execute(f"INSERT INTO large {load}")
            case "copy":
                data = rows(one, load)
                with one.cursor().copy("COPY large FROM STDIN") as copy:
                    [copy.write_row(row) for row in data]
            case "rolls back":
                with one.transaction(force_rollback=True):
                    one.execute(f"INSERT INTO large {load}")
                    self.told(one)
            case "fails": self.tally.equal(state_of(one.execute, f"INSERT INTO large {load} UNION ALL SELECT {last}, 1, NULL, 'r', 'k', NULL, ''"), "23505", "twice")
            case "to savepoint":
                middle = (first + last) // 2
                with one.transaction():
                    one.execute(f"INSERT INTO large SELECT * FROM ({load}) l WHERE n <= {middle}")
                    with one.transaction(force_rollback=True):
                        one.execute(f"INSERT INTO large SELECT * FROM ({load}) l WHERE n > {middle}")
            case "in one":
                with one.transaction():
                    one.execute(f"INSERT INTO large {load}")
                    one.execute("UPDATE large SET region = 'u', until = NULL WHERE id % 50 = 0 AND id >= %s", (first,))
                    one.execute("DELETE FROM large WHERE id % 70 = 0 AND id >= %s", (first - 100,))
                    one.execute("INSERT INTO large SELECT * FROM large WHERE false")
            case "changes": one.execute("UPDATE large SET region = 'c' WHERE id BETWEEN %s AND %s", (some, some + self.dice.choice([3, 4000])))
            case "goes": one.execute("DELETE FROM large WHERE id BETWEEN %s AND %s", (some, some + self.dice.choice([3, 4000])))
            case "owner": one.execute("UPDATE large SET a = (SELECT max(id) FROM human) WHERE id BETWEEN %s AND %s", (some, some + 30))
            case "forgotten":
                (person,), = rows(one, "SELECT id FROM human ORDER BY random() LIMIT 1")
                one.execute(f"GDPR FORGET human {person}")
                one.execute("INSERT INTO human SELECT n FROM generate_series(1, 3000) n ON CONFLICT DO NOTHING")
            case "cancelled":
                one.execute(f"SET statement_timeout = {self.dice.choice([20, 60, 200])}")
                state_of(one.execute, f"INSERT INTO large {load}")
                one.execute("SET statement_timeout = 0")
            case "empty":
                one.execute("TRUNCATE large")
                self.tally.equal(self.told(one), ([(0, 0)], {}, [(0, 0, None, None)]), "nothing is left")
            case "property":
                one.execute(f"INSERT INTO large {load}; ALTER TABLE large ALTER COLUMN region DROP REGION; ALTER TABLE large ALTER COLUMN kind SET REGION")
                found = {value: count for _, value, count, _ in rows(one, "SELECT property, value, row_count, subject_count FROM dogwood.inventory WHERE table_name = 'large' AND property = 'region'")}
                self.tally.equal(found, dict(rows(one, "SELECT kind, count(*) FROM large GROUP BY kind")), "another column says it now")
                one.execute("ALTER TABLE large ALTER COLUMN kind DROP REGION; ALTER TABLE large ALTER COLUMN region SET REGION")
            case "rests": time.sleep(4)
            case "ends": one.execute("UPDATE large SET until = now() WHERE id = %s", (some,))
            case "beside":
                threads = [threading.Thread(target=self.load_part, args=(self.LOAD.format(first=first + 4000 * n, last=first + 4000 * n + 3999, bytes=0, regions=3),))
                           for n in range(3)]
                [thread.start() for thread in threads]
                while any(thread.is_alive() for thread in threads):
                    count, = rows(one, "SELECT row_count FROM dogwood.inventory WHERE table_name = 'large' AND property IS NULL")
                    told = rows(one, "SELECT coalesce(sum(row_count), 0) FROM dogwood.inventory WHERE table_name = 'large' AND property = 'region'")
                    self.tally.that(count[0] <= first + 12_000 and told, "beside loads")
                [thread.join() for thread in threads]
                last = first + 11_999
        return last + 1

    def load_part(self, load):
        with self.server.connect() as one:
            one.execute(f"INSERT INTO large {load}")

    def killed_in_load(self, one):
        one.execute(self.LARGE)
        one.execute("INSERT INTO large " + self.LOAD.format(first=1, last=5000, bytes=0, regions=3))
        thread = threading.Thread(target=lambda: state_of(self.load_part, self.LOAD.format(first=5001, last=60_000, bytes=500, regions=3)))
        thread.start()
        time.sleep(self.dice.random())
        self.server.kill()
        thread.join()
        self.server.start()
        with self.server.connect() as two:
            self.tally.equal(self.told(two), self.truth(two), "killed amid a load")
            two.execute("INSERT INTO large " + self.LOAD.format(first=70_001, last=75_000, bytes=0, regions=3))
            self.tally.equal(self.told(two), self.truth(two), "and loaded on")
            two.execute("DROP TABLE large, human")

    def beside_writers(self):
        """Each reading is of one commit: a person's two rows are always of one region, and every row has one."""
        ended, failed = threading.Event(), []

        def write(number):
            dice = self.options.seed * 10 + number
            with self.server.connect() as writer:
                while not ended.is_set():
                    dice = (dice * 1103515245 + 12345) % (1 << 31)
                    try:
                        writer.execute("UPDATE large SET region = 'w' || %s WHERE id IN (%s, %s)", (dice % 3, dice % 12000, (dice + 3000) % 12000))
                    except psycopg.Error as error:
                        failed.append(error)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
        [thread.start() for thread in threads]
        with self.server.connect() as one:
            for _ in range(30):
                totals = rows(one, """SELECT sum(row_count) FILTER (WHERE property IS NULL), sum(row_count) FILTER (WHERE property = 'region')
                                      FROM dogwood.inventory WHERE table_name = 'large'""")
                self.tally.equal(totals[0][0], totals[0][1], "every row has one region, beside writers")
            ended.set()
            [thread.join() for thread in threads]
            self.tally.equal(self.told(one), self.truth(one), "when the writers are done")
        self.tally.equal(failed, [], "writers are not disturbed")

    def touched(self, one):
        """GDPR BREACH of a statement that touched more people than the log names, and of one that it names all of."""
        (number,), = rows(one, "SELECT max(id) FROM large")
        one.execute("CREATE ROLE clerk LOGIN; GRANT SELECT ON large TO clerk")
        start = rows(one, "SELECT clock_timestamp()::text")[0][0]
        with self.server.connect(user="clerk") as clerk:
            people = {person for row in rows(clerk, "SELECT a, b FROM large") for person in row if person}
            rows(clerk, "SELECT a FROM large WHERE id = %s", (number,))
        end = rows(one, "SELECT (clock_timestamp() + interval '1 s')::text")[0][0]
        time.sleep(1.1)
        count, least, more = rows(one, f"GDPR BREACH BETWEEN '{start}' AND '{end}' ROLE clerk")[0][4:7]
        self.tally.equal((count, more, 1 <= least <= len(people)), (2, True, True), "it is the least that was touched")
        named = rows(one, f"GDPR BREACH BETWEEN '{start}' AND '{end}' ROLE clerk PEOPLE")
        self.tally.equal((len({row[0] for row in named}) == len(named), len(named) <= least, [row[1:4] for row in named[:1]]),
                         (True, True, [(["large"], ["clerk"], ["select"])]), "whom it names")
        one.execute("DROP OWNED BY clerk; DROP ROLE clerk")

    def killed(self):
        with self.server.connect() as one:
            before = [sorted(rows(one, f"SELECT r::text FROM dogwood.{register} r")) for register in REGISTERS]
        self.server.kill()
        self.server.start()
        with self.server.connect() as one:
            after = [sorted(rows(one, f"SELECT r::text FROM dogwood.{register} r")) for register in REGISTERS]
        self.tally.equal(after, before, "kill -9 changes no register")


if __name__ == "__main__":
    run_check(Registers(options(seed=21, count=6)))
