#!/usr/bin/env python3
"""How long rows are kept, and what becomes of them then: random tables, moments, holds and ways of writing and reading, against a short
evaluator; the spellings, through pg_dump and back; beside erasures and kills; what is handed over, and to whom.

    retention.py [--seed N] [--count N]
"""
import datetime
import os
import re
import subprocess
import time

from harness import Check, options, rows, run_check, state_of
from harness.compared import NotHere, left_out, postgres_program

UTC = datetime.timezone.utc
SCHEMA = """
CREATE DATA_SUBJECT TABLE person (id int PRIMARY KEY, name text);
CREATE DATA_SUBJECT TABLE shop (id int PRIMARY KEY, name text);
INSERT INTO person SELECT n, 'n' || n FROM generate_series(1, 6) n;
INSERT INTO shop VALUES (1, 'one'), (2, 'two');
"""
# What the three tables of the evaluator have in common; a sale stays with its shop when its buyer is cut off.
COLUMNS = """id int PRIMARY KEY, shop int NOT NULL OWNED_BY shop(id), buyer int OWNED_BY person(id), note text, until timestamptz EXPIRES,
    ON DEL buyer ANON (buyer, note)"""
ENDS = {"gone": "delete", "blank": "anonymize", "given": "hand over"}


class Model:
    """The evaluator: what a table has of which rows at a moment, once it was purged."""

    def __init__(self, then):
        self.then, self.rows, self.holds, self.handed = then, {}, {}, set()

    def put(self, row):
        self.rows[row[0]] = row

    def held(self, row):
        return any(condition(row) for condition in self.holds.values())

    def seen(self, now):
        return sorted(row for row in self.rows.values() if row[4] is None or row[4] > now)

    def purge(self, now):
        for number, row in list(self.rows.items()):
            if row[4] is None or row[4] > now or self.held(row):
                continue
            if self.then == "anonymize":
                self.rows[number] = (number, row[1], None, None, None)
            else:
                del self.rows[number]
            if self.then == "hand over":
                self.handed.add(number)


class Retention(Check):
    def run(self):
        with self.server.connect() as one:
            one.execute(SCHEMA)
            for table, then in ENDS.items():
                one.execute(f"CREATE TABLE {table} ({COLUMNS}) WITH (retain = '1 hour', retain_basis = 'contract', then = '{then}')")
                one.execute(f"CREATE VIEW v_{table} AS SELECT * FROM {table}")
                one.execute(f"CREATE MATERIALIZED VIEW m_{table} AS SELECT shop, count(*)::int AS n, count(note)::int AS notes FROM {table} GROUP BY shop")
        for case in (self.spellings, self.refusals, self.filled, self.existing, self.evaluated, self.told, self.registers, self.handed_over,
                     self.forgotten, self.instant, self.killed, self.dumped):
            self.tally.case(case)

    # What is said, in which words.

    def label(self, one, table):
        return rows(one, f"SELECT label FROM pg_seclabels WHERE objname = '{table}' AND objsubid = 0")

    def spellings(self):
        with self.server.connect() as one:
            one.execute("CREATE TABLE a (id int PRIMARY KEY, until timestamptz EXPIRES) WITH (fillfactor = 70, retain = '90 days', retain_basis = 'tax ''law', then = 'hand over')")
            one.execute("CREATE TABLE b (id int PRIMARY KEY, until timestamptz EXPIRES)")
            one.execute("ALTER TABLE b SET (retain = '90 days', then = 'hand over'); ALTER TABLE b SET (retain_basis = 'tax ''law', autovacuum_enabled = off)")
            one.execute("CREATE TABLE c (id int PRIMARY KEY, until timestamptz)")
            one.execute("SECURITY LABEL FOR dogwood ON TABLE c IS 'RETAIN ''90 days'' BASIS ''tax ''''law'' THEN HAND OVER'")
            self.tally.equal(state_of(one.execute, "INSERT INTO c VALUES (1)"), "DG004", "a label waits for the column")
            one.execute("SECURITY LABEL FOR dogwood ON COLUMN c.until IS 'EXPIRES'")
            one.execute("CREATE TABLE d (id int PRIMARY KEY, until timestamptz EXPIRES)")
            one.execute("COMMENT ON TABLE d IS 'what they bought @retain ''90 days'' basis ''tax ''''law'' then hand over'")
            expected = [("RETAIN '90 days' BASIS 'tax ''law' THEN HAND OVER",)]
            for table in "abcd":
                self.tally.equal(self.label(one, table), expected, f"the label of {table}")
            one.execute("SECURITY LABEL FOR dogwood ON TABLE a IS 'RETAIN ''30 days'''")
            self.tally.equal(self.label(one, "a"), [("RETAIN '30 days' THEN DELETE",)], "a label says all of it")
            one.execute("ALTER TABLE b RESET (then); ALTER TABLE b RESET (retain_basis)")
            self.tally.equal(self.label(one, "b"), [("RETAIN '90 days' THEN DELETE",)], "RESET of a part")
            one.execute("ALTER TABLE b RESET (retain, fillfactor); SECURITY LABEL FOR dogwood ON TABLE c IS NULL")
            self.tally.equal(self.label(one, "b") + self.label(one, "c"), [], "RESET, and no label")
            self.tally.equal(rows(one, "SELECT reloptions FROM pg_class WHERE relname IN ('a', 'b', 'd')"), [(None,)] * 3, "PostgreSQL is told no options")
            one.execute("CREATE TABLE e (id int PRIMARY KEY, note text) WITH (retain = '2 days')")
            found = rows(one, "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'e' ORDER BY ordinal_position")
            self.tally.equal(found[2:], [("expires_at", "timestamp with time zone")], "a table without an EXPIRES column gets one")
            one.execute("DROP TABLE a, b, c, d, e")

    def refusals(self):
        with self.server.connect() as one:
            one.execute("CREATE TABLE message (id int PRIMARY KEY, sender int OWNED_BY person(id), receiver int OWNED_BY person(id), until timestamptz EXPIRES,"
                        " body text, ON DEL sender ANON (sender, body), ON DEL receiver ANON (receiver))")
            one.execute("CREATE TABLE once (id int PRIMARY KEY, owner int NOT NULL OWNED_BY person(id), until timestamptz EXPIRES)")
            with_owner = lambda rule: f"CREATE TABLE x (id int PRIMARY KEY, s int NOT NULL OWNED_BY shop(id), b int OWNED_BY person(id), u date EXPIRES, {rule}) WITH (retain = '1 day', then = 'anonymize')"
            for statement, state in (
                    ("CREATE TABLE x (id int) WITH (retain = 'soon')", "22007"), ("CREATE TABLE x (id int) WITH (retain = '-1 day')", "22023"),
                    ("CREATE TABLE x (id int) WITH (retain = '0 days')", "22023"), ("CREATE TABLE x (id int) WITH (retain = '9999 years')", "22023"),
                    ("CREATE TABLE x (id int) WITH (retain)", "22023"), ("CREATE TABLE x (id int) WITH (retain = '1 day', retain = '2 days')", "22023"),
                    ("CREATE TABLE x (id int) WITH (then = 'delete')", "22023"), ("CREATE TABLE x (id int) WITH (retain = '1 day', then = 'burn')", "22023"),
                    ("CREATE TABLE x (id int, expires_at text) WITH (retain = '1 day')", "42701"),
                    ("CREATE TEMPORARY TABLE x (id int) WITH (retain = '1 day')", "0A000"),
                    ("CREATE TABLE x (id int PRIMARY KEY WITH (retain = '1 day'))", "22023"),
                    ("ALTER TABLE once SET (retain = '1 day', then = 'anonymize')", "42P16"),
                    ("ALTER TABLE message SET (retain = '1 day', then = 'anonymize')", "42P16"),
                    ("ALTER TABLE person SET (retain = '1 day', then = 'anonymize')", "42P16"),
                    ("ALTER TABLE person SET (retain = '1 day', then = 'hand over')", "42P16"),
                    ("ALTER TABLE v_gone SET (retain = '1 day')", "42809"),
                    (with_owner("ON DEL b DELETE_ROW"), "42P16"), (with_owner("CHECK (id > 0)"), "42P16"),
                    (with_owner("ON DEL b ANON (b)").replace("u date", "u date NOT NULL"), "42P16"),
                    ("ALTER TABLE blank ALTER COLUMN shop DROP OWNED_BY", "42P16"), ("ALTER TABLE blank DROP ON DEL buyer", "42P16"),
                    ("ALTER TABLE gone ALTER COLUMN until DROP EXPIRES", "2BP01"),
                    ("SECURITY LABEL FOR dogwood ON TABLE gone IS 'RETAIN'", "22023"),
                    ("SECURITY LABEL FOR dogwood ON COLUMN gone.note IS 'RETAIN ''1 day'''", "42P16"),
                    ("COMMENT ON TABLE gone IS '@retain ''1 day'''", "42P16"),
                    ("GDPR PURGE gone BASIS \"consent\"", "22023"), ("BEGIN; GDPR PURGE given", "25001"), ("ROLLBACK", ""),
                    ("GDPR DISCARD 1", "42704")):
                self.tally.equal(state_of(one.execute, statement), state, statement)
            one.execute("DROP TABLE message, once")
            one.execute(with_owner("ON DEL b ANON (id)").replace("ANON (id)", "ANON (b)"))
            one.execute("DROP TABLE x")
            # An erasure may take the owner that a row would keep.
            one.execute("INSERT INTO shop VALUES (9, 'nine'); INSERT INTO blank VALUES (7001, 9, 1, 'n'), (7002, 1, 1, 'n')")
            one.execute("GDPR FORGET shop 9")
            one.execute("UPDATE blank SET until = now()")
            self.tally.equal(one.execute("GDPR PURGE blank WITHOUT OWNER").rowcount in (0, 1), True, "GDPR PURGE WITHOUT OWNER")
            one.execute("GDPR PURGE blank")
            self.tally.equal(rows(one, "SELECT id, buyer FROM blank"), [(7002, None)], "what has no other owner is deleted")
            one.execute("DELETE FROM blank")
            # Nobody's rows have no owner to keep: what opened them to somebody is cut.
            one.execute("CREATE TABLE shared (id int PRIMARY KEY, seen_by int ACCESSED_BY person(id), ip text, ON DEL seen_by ANON (ip)) WITH (retain = '1 day', then = 'anonymize')")
            one.execute("INSERT INTO shared (id, seen_by, ip) VALUES (1, 1, '::1'); UPDATE shared SET expires_at = now(); GDPR PURGE shared")
            self.tally.equal(rows(one, "SELECT * FROM shared"), [(1, None, None, None)], "an edge of access is cut with its rule")
            one.execute("DROP TABLE shared")

    # Until when.

    def filled(self):
        with self.server.connect() as one:
            one.execute("CREATE TABLE at (id int PRIMARY KEY, until timestamptz EXPIRES) WITH (retain = '90 days')")
            one.execute("CREATE TABLE day (id int PRIMARY KEY, until date EXPIRES) WITH (retain = '36 hours')")
            one.execute("CREATE TABLE clock (id int PRIMARY KEY, until timestamp DEFAULT now() AT TIME ZONE 'UTC' + interval '1 day' EXPIRES) WITH (retain = '1 month')")
            one.execute("CREATE TABLE asked (id int PRIMARY KEY, until timestamptz NOT NULL EXPIRES) WITH (retain = '1 month')")
            one.execute("SET TimeZone = 'Pacific/Kiritimati'")
            with one.transaction():
                one.execute("INSERT INTO at VALUES (2, NULL), (3, '2100-01-01 00:00+00')")
                one.execute("INSERT INTO at VALUES (1)")
                one.execute("INSERT INTO at SELECT n FROM generate_series(4, 5) n")
                one.execute("INSERT INTO at VALUES (%s, %s)", (6, None))
                with one.cursor().copy("COPY at FROM STDIN") as copy:
                    copy.write("7\t\\N\n8\t2100-01-01 00:00+00\n")
                with one.cursor().copy("COPY at (id) FROM STDIN") as copy:
                    copy.write("9\n")
                one.execute("INSERT INTO at VALUES (3) ON CONFLICT (id) DO UPDATE SET until = NULL")
                one.execute("MERGE INTO at USING (VALUES (10)) s(n) ON at.id = s.n WHEN NOT MATCHED THEN INSERT (id) VALUES (n)")
                one.execute("UPDATE at SET until = NULL WHERE id = 8")
                one.execute("INSERT INTO day VALUES (1); INSERT INTO clock VALUES (1); INSERT INTO clock VALUES (2, NULL)")
                found = rows(one, "SELECT id, until - now() FROM at ORDER BY id")
                self.tally.equal(found, [(n, datetime.timedelta(days=90)) for n in range(1, 11)], "each way of writing")
                now = rows(one, "SELECT now()")[0][0].astimezone(UTC).replace(tzinfo=None)
                ends = rows(one, "SELECT until FROM day")[0][0]
                first = datetime.datetime.combine(ends, datetime.time()) - now
                self.tally.that(datetime.timedelta(hours=36) <= first < datetime.timedelta(hours=60), "days are kept whole", first)
                found = rows(one, "SELECT until - now() AT TIME ZONE 'UTC' < interval '2 days' FROM clock ORDER BY id")
                self.tally.equal(found, [(True,), (False,)], "a default is the column's own")
            self.tally.equal(state_of(one.execute, "INSERT INTO asked VALUES (1)"), "23502", "NOT NULL asks for an expiry of each row")
            one.execute("UPDATE at SET id = 100 WHERE id = 1")
            self.tally.equal(rows(one, "SELECT count(*) FROM at WHERE until < now() + interval '91 days'"), [(10,)], "other updates leave it")
            self.tally.equal(state_of(one.execute, "INSERT INTO at VALUES (50, now() - interval '1 s')"), "23514", "what has expired is refused")
            one.execute("DROP TABLE at, day, clock, asked")

    def existing(self):
        """Rows that are there are counted from the declaration on."""
        with self.server.connect() as one:
            one.execute("CREATE TABLE old (id int PRIMARY KEY, owner int NOT NULL OWNED_BY person(id)); INSERT INTO old SELECT n, 1 + n % 5 FROM generate_series(1, 50) n")
            one.execute("CREATE MATERIALIZED VIEW m_old AS SELECT owner, count(*)::int AS n FROM old GROUP BY owner")
            self.tally.equal(state_of(one.execute, "ALTER TABLE old SET (retain = '1 hour')"), "2BP01", "a view holds what it has read")
            one.execute("DROP MATERIALIZED VIEW m_old; ALTER TABLE old SET (retain = '1 hour')")
            found = rows(one, "SELECT count(*), count(DISTINCT expires_at) FROM old WHERE expires_at BETWEEN now() + interval '50 min' AND now() + interval '1 h'")
            self.tally.equal(found, [(50, 1)], "rows of before, in a new column")
            one.execute("UPDATE old SET expires_at = now() WHERE id = 7; GDPR PURGE old")
            self.tally.equal(rows(one, "SELECT count(*) FROM old"), [(49,)], "found by it")
            one.execute("CREATE TABLE older (id int PRIMARY KEY, until timestamptz EXPIRES, more text); INSERT INTO older VALUES (1, NULL), (2, '2100-01-01')")
            one.execute("CREATE MATERIALIZED VIEW m_older AS SELECT count(*)::int AS n, min(until) AS first FROM older")
            one.execute("ALTER TABLE older SET (retain = '1 hour')")
            found = rows(one, "SELECT id, until < now() + interval '2 h' FROM older ORDER BY id")
            self.tally.equal(found, [(1, True), (2, False)], "rows of before, in a column that was there")
            self.tally.equal(rows(one, "SELECT n, first FROM m_older"), rows(one, "SELECT count(*)::int, min(until) FROM older"), "a view follows")
            one.execute("DROP TABLE old; DROP TABLE older CASCADE")

    # The evaluator.

    def evaluated(self):
        models = {table: Model(then) for table, then in ENDS.items()}
        with self.server.connect() as one:
            for number in range(self.options.count):
                for table, model in models.items():
                    self.fill(one, table, model, 1 + number * 40)
                for _ in range(3):
                    table = self.dice.choice(list(models))
                    self.change_holds(one, table, models[table])
                    for table, model in models.items():
                        now = self.purged(one, table)
                        model.purge(now)
                        self.compare(one, table, model, f"round {number}, {table}")
            for table, model in models.items():
                for hold in list(model.holds):
                    one.execute(f"DROP HOLD {hold}")
                    del model.holds[hold]
                model.purge(self.purged(one, table))
                self.compare(one, table, model, f"without holds, {table}")
            handed = {int(row[0]) for row in rows(one, "SELECT row->>'id' FROM dogwood.retained_rows")}
            self.tally.equal(handed, models["given"].handed, "what was handed over")

    def fill(self, one, table, model, first):
        """Some rows of each age; COPY takes those that have expired."""
        dice, (now,) = self.dice, rows(one, "SELECT now()")[0]
        data = []
        for number in range(first, first + dice.randrange(20, 40)):
            age = dice.choice([-3600, -60, -1, 600, 3600, None])
            until = None if age is None else now + datetime.timedelta(seconds=age)
            data.append((number, dice.randrange(1, 3), dice.choice([None, *range(1, 7)]), f"n{number}", until))
        way = dice.randrange(3)
        late = [row for row in data if way == 0 or row[4] and row[4] < now]
        with one.cursor().copy(f"COPY {table} FROM STDIN") as copy:
            for row in late:
                copy.write_row(row)
        rest = [row for row in data if row not in late]
        if way == 1:
            one.cursor().executemany(f"INSERT INTO {table} VALUES (%s, %s, %s, %s, %s)", rest)
        elif rest:
            values = ", ".join("(%s, %s, %s, %s, %s::timestamptz)" for _ in rest)
            one.execute(f"INSERT INTO {table} SELECT * FROM (VALUES {values}) v(a, b, c, d, e)", [value for row in rest for value in row])
        written = {row[0]: row for row in rows(one, f"SELECT * FROM {table}")}
        for row in data:
            # What said nothing is kept for an hour.
            if row[4] is None:
                until = written[row[0]][4]
                self.tally.that(datetime.timedelta(minutes=59) < until - now < datetime.timedelta(minutes=61), f"{table}: an hour from its insertion", until - now)
                row = (*row[:4], until)
            model.put(row)

    def change_holds(self, one, table, model):
        if model.holds and self.dice.random() < 0.4:
            hold = self.dice.choice(list(model.holds))
            one.execute(f"DROP HOLD {hold}")
            del model.holds[hold]
            return
        # What has expired before the hold is the server's to purge, at any moment.
        model.purge(self.purged(one, table))
        name, shop, low = f"h{self.dice.randrange(10**9)}", self.dice.randrange(1, 3), self.dice.randrange(1, 400)
        one.execute(f"CREATE HOLD {name} ON {table} WHERE shop = {shop} AND id > {low}")
        model.holds[name] = lambda row: row[1] == shop and row[0] > low

    def purged(self, one, table):
        """Everything that has expired by then, whoever did it: the server looks by itself, too."""
        (now,), = rows(one, "SELECT clock_timestamp()")
        # A moment that some row ends at is not the question here.
        one.execute(f"GDPR PURGE {table}")
        return now

    def compare(self, one, table, model, name):
        now = rows(one, "SELECT now()")[0][0]
        seen = model.seen(now)
        ids = [row[0] for row in seen]
        self.tally.equal(sorted(rows(one, f"SELECT * FROM {table}"), key=lambda row: row[0]), seen, f"{name}: a scan")
        self.tally.equal([row[0] for row in rows(one, f"SELECT id FROM v_{table} ORDER BY id")], ids, f"{name}: a view")
        for number in self.dice.sample(range(1, 400), 5):
            found = rows(one, f"SELECT id FROM {table} WHERE id = %s", (number,))
            self.tally.equal(found, [(number,)] if number in ids else [], f"{name}: by key")
        buyer = self.dice.randrange(1, 7)
        self.tally.equal([row[0] for row in rows(one, f"SELECT id FROM {table} WHERE buyer = %s ORDER BY id", (buyer,))],
                         [row[0] for row in seen if row[2] == buyer], f"{name}: by owner")
        counted = [(shop, len(mine), sum(row[3] is not None for row in mine)) for shop in (1, 2) if (mine := [row for row in seen if row[1] == shop])]
        self.tally.equal(rows(one, f"SELECT * FROM m_{table} ORDER BY 1"), counted, f"{name}: a materialized view")
        with one.cursor().copy(f"COPY {table} (id) TO STDOUT") as copy:
            self.tally.equal(sorted(int(line) for line in b"".join(copy).split()), ids, f"{name}: COPY")
        theirs = [row for row in rows(one, f"GDPR GET person {buyer}") if row[0] == table]
        # Whoever asks what is kept of them is told of held rows, too.
        self.tally.equal(sorted(row[3]["id"] for row in theirs), sorted(row[0] for row in model.rows.values() if row[2] == buyer), f"{name}: GDPR GET")

    # What is told of it.

    def told(self):
        """The basis is named by the server's own purges: rows that nobody else purges have to go first."""
        with self.server.connect() as one:
            late = datetime.datetime.now(UTC) - datetime.timedelta(seconds=5)
            for table in ENDS:
                with one.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                    copy.write_row((9001, 1, 1, "late", late))
            question = "SELECT statement, operation FROM dogwood.audit WHERE statement LIKE 'GDPR PURGE%' AND row_count > 0"
            said = re.compile(r'GDPR PURGE (?:public\.)?(\w+) BASIS "?contract"?(?: WITHOUT OWNER)?')
            named = lambda found: {match[1] for match in map(said.fullmatch, found) if match}
            found, until = {}, time.monotonic() + 30
            while len(named(found)) < len(ENDS) and time.monotonic() < until:
                time.sleep(0.2)
                found = dict(rows(one, question))
            self.tally.equal(named(found), set(ENDS), f"the audit log has the basis: {found}")
            self.tally.that({"update", "delete"} <= set(found.values()), "and what was done", found)

    def registers(self):
        with self.server.connect() as one:
            found = rows(one, "SELECT table_name, rule, retain, basis, action FROM dogwood.retention_schedule WHERE basis IS NOT NULL ORDER BY 1")
            self.tally.equal(found, [(table, "EXPIRES until", "1 hour", "contract", ENDS[table]) for table in sorted(ENDS)], "dogwood.retention_schedule")
            one.execute("INSERT INTO blank VALUES (8001, 1, 1, 'n'); INSERT INTO given VALUES (8001, 1, 1, 'n')")
            found = dict(rows(one, "SELECT DISTINCT table_name, retention FROM dogwood.processing_activities WHERE table_name IN ('blank', 'given')"))
            self.tally.equal(found, {"blank": 'anonymized at "until", after 1 hour (contract)', "given": 'handed over at "until", after 1 hour (contract)'},
                             "dogwood.processing_activities")
            self.tally.equal(rows(one, "SELECT in_use FROM dogwood.features WHERE feature = 'retention'"), [(True,)], "dogwood.features")

    # What is handed over.

    def give(self, one, number, buyer, shop=1):
        with one.cursor().copy("COPY given FROM STDIN") as copy:
            copy.write_row((number, shop, buyer, f"secret{number}", datetime.datetime.now(UTC) - datetime.timedelta(seconds=5)))
        one.execute("GDPR PURGE given")

    def handed_over(self):
        with self.server.connect() as one:
            for table in ENDS:
                one.execute(f"DELETE FROM {table}")
            for (number,) in rows(one, "SELECT id FROM dogwood.retained"):
                one.execute(f"GDPR DISCARD {number}")
            self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.retained_rows"), [(0,)], "GDPR DISCARD")
            one.execute("CREATE TABLE line (id int PRIMARY KEY, sale int NOT NULL OWNED_BY given(id) ON DELETE CASCADE, what text)")
            one.execute("INSERT INTO given VALUES (1, 1, 2, 'n', now() + interval '10 s'); INSERT INTO line VALUES (10, 1, 'shoe')")
            one.execute("UPDATE given SET until = now() WHERE id = 1; GDPR PURGE given")
            found = rows(one, "SELECT table_name, row FROM dogwood.retained_rows ORDER BY table_name")
            self.tally.equal([(name, row["id"]) for name, row in found], [("given", 1), ("line", 10)], "what goes with a row is handed over with it")
            self.tally.equal(rows(one, "SELECT ground, basis, hold FROM dogwood.retained"), [("hand over", "contract", None)], "a case for the same people")
            # More than memory is to hold of a statement.
            one.execute("INSERT INTO given SELECT n, 1, 2, repeat('n', 8000), now() + interval '10 min' FROM generate_series(1001, 4000) n")
            one.execute("UPDATE given SET until = now() WHERE id > 1000; GDPR PURGE given")
            many = "FROM dogwood.retained_rows WHERE table_name = 'given' AND (row->>'id')::int > 1000"
            self.tally.equal(rows(one, f"SELECT count(*), count(DISTINCT row->>'id'), min(length(row->>'note')) {many}"), [(3_000, 3_000, 8_000)], "however many they are")
            one.execute(f"GDPR DISCARD {rows(one, f'SELECT max(retained) {many}')[0][0]}")
            self.tally.equal(rows(one, f"SELECT count(*) {many}"), [(0,)], "and are discarded so")
            one.execute("CREATE ROLE clerk LOGIN; CREATE ROLE watcher LOGIN IN ROLE dogwood_regulator; CREATE ROLE worker LOGIN IN ROLE dogwood_processor")
            (case,), = rows(one, "SELECT id FROM dogwood.retained")
            for role in ("clerk", "watcher", "worker"):
                with self.server.connect(user=role) as other:
                    for statement in ("SELECT * FROM dogwood.retained_rows", f"GDPR DISCARD {case}", "GDPR PURGE given"):
                        self.tally.equal(state_of(other.execute, statement), "42501", f"{role}: {statement}")
            with one.transaction(force_rollback=True):
                one.execute(f"GDPR DISCARD {case}")
                self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.retained_rows"), [(0,)], "within a block")
            self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.retained_rows"), [(2,)], "which is undone")
            one.execute(f"GDPR DISCARD {case}")
            self.tally.equal(state_of(one.execute, f"GDPR DISCARD {case}"), "42704", "twice")
            one.execute("DROP TABLE line; CREATE HOLD h ON given WHERE id = 2; INSERT INTO given VALUES (2, 1, 2, 'n')")
            one.execute("GDPR FORGET person 2")
            (case,), = rows(one, "SELECT id FROM dogwood.retained")
            self.tally.equal(state_of(one.execute, f"GDPR DISCARD {case}"), "DG006", "what a hold keeps is not discarded")
            one.execute("DROP HOLD h; DELETE FROM given; INSERT INTO person VALUES (2, 'again')")

    def forgotten(self):
        """Whoever is forgotten is forgotten in what was handed over, too, and leaves what is others' alone."""
        with self.server.connect() as one:
            for number, buyer in ((21, 3), (22, 3), (23, 4), (24, None)):
                self.give(one, number, buyer)
            kept = lambda: sorted(int(row[0]) for row in rows(one, "SELECT row->>'id' FROM dogwood.retained_rows WHERE row IS NOT NULL"))
            self.tally.equal(kept(), [21, 22, 23, 24], "four were handed over")
            one.execute("GDPR FORGET person 3")
            self.tally.equal(kept(), [23, 24], "an erasure takes the person's")
            self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.retained WHERE id NOT IN (SELECT retained FROM dogwood.retained_rows)"), [(0,)], "with their cases")
            one.execute("INSERT INTO person VALUES (3, 'again')")
            self.give(one, 25, 3)
            one.execute("GDPR FORGET person 3 GRACE '1 day'")
            self.tally.equal(kept()[:2], [23, 24], "also one with GRACE")
            one.execute("GDPR UNFORGET person 3")
            one.execute("GDPR FORGET shop 1")
            self.tally.equal(kept(), [], "they were the shop's, too")
            one.execute("INSERT INTO shop VALUES (1, 'again')")

    # When.

    def instant(self):
        with self.server.connect() as one:
            for table, then in ENDS.items():
                one.execute(f"CREATE TABLE s_{table} ({COLUMNS}) WITH (retain = '5 s', then = '{then}')")
                one.execute(f"INSERT INTO s_{table} SELECT n, 1 + n % 2, 4, 'n' || n FROM generate_series(1, 60) n")
                one.execute(f"CREATE HOLD keep_{table} ON s_{table} WHERE id > 50")
            (ends,), = rows(one, "SELECT min(until) FROM s_gone")
            while True:
                (now, count), = rows(one, "SELECT now(), count(*) FROM s_gone")
                if not self.tally.equal(count, 60 if now < ends else 0, f"{(now - ends).total_seconds():.3f} s after the instant") or now >= ends:
                    break
            time.sleep(2.5)
            for table, count in (("gone", 0), ("blank", 50), ("given", 0)):
                found = rows(one, f"SELECT count(*), count(buyer), count(note), count(until) FROM s_{table}")
                self.tally.equal(found, [(count, 0, 0, 0)], f"{table}, a second later")
                self.tally.equal(one.execute(f"GDPR PURGE s_{table}").rowcount, 0, f"{table}: it is done already")
            self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.retained_rows"), [(50,)], "what was handed over")
            for table in ENDS:
                one.execute(f"DROP HOLD keep_{table}")
            time.sleep(1)
            self.tally.equal(rows(one, "SELECT count(*), count(buyer) FROM s_blank"), [(60, 0)], "a hold's end wakes it")
            self.tally.equal(rows(one, "SELECT count(*) FROM dogwood.retained_rows"), [(60,)], "of each kind")

    def killed(self):
        with self.server.connect() as one:
            for table in ENDS:
                one.execute(f"INSERT INTO s_{table} SELECT 100 + n, 1 + n % 2, 5, 'n' || n FROM generate_series(1, 300) n")
            before, = rows(one, "SELECT count(*) FROM dogwood.retained_rows")[0]
        for _ in range(3):
            time.sleep(0.5)
            self.server.kill()
            self.server.start()
        time.sleep(7)
        with self.server.connect() as one:
            found = [rows(one, f"SELECT count(*), count(buyer) FROM s_{table} WHERE id > 100")[0] for table in ENDS]
            self.tally.equal(found, [(0, 0), (300, 0), (0, 0)], "after kill -9")
            ids = rows(one, "SELECT row->>'id' FROM dogwood.retained_rows WHERE (row->>'id')::int > 100")
            self.tally.equal((len(ids), len(set(ids))), (300, 300), "each is handed over once")
            for table in ENDS:
                one.execute(f"DROP TABLE s_{table}")

    def dumped(self):
        """pg_dump sees it as labels, and both databases take it."""
        try:
            dump = postgres_program("pg_dump")
        except NotHere as missing:
            return left_out(f"a dump, for want of {missing}")
        with self.server.connect() as one:
            one.execute("DELETE FROM given; INSERT INTO blank VALUES (901, 1, 4, 'n'), (902, 1, 4, 'n'); UPDATE blank SET until = now() WHERE id = 901; GDPR PURGE blank")
            labels = "SELECT objname, label FROM pg_seclabels WHERE provider = 'dogwood' ORDER BY 1"
            expected, kept = rows(one, labels), rows(one, "SELECT id, buyer FROM blank ORDER BY id")
        environment = {**os.environ, "PGPASSWORD": self.server.password(), "PGSSLMODE": "disable"}
        arguments = ["-h", "127.0.0.1", "-p", str(self.server.port), "-U", "controller", "--no-owner", "--no-privileges", "dogwood"]
        made = subprocess.run([dump, *arguments], capture_output=True, text=True, env=environment)
        self.tally.equal((made.returncode, made.stderr), (0, ""), "pg_dump")
        self.tally.that("RETAIN ''1 hour'' BASIS ''contract'' THEN ANONYMIZE" in made.stdout, "its text has the label")
        with self.server.connect() as one:
            one.execute("CREATE DATABASE again")
        again = subprocess.run([postgres_program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", *arguments[:6], "-d", "again", "-c", "SET dogwood.restoring = on",
                                "-f", "-", "-c", "SET dogwood.restoring = off"], input=made.stdout, capture_output=True, text=True,
                               env=environment)
        self.tally.equal((again.returncode, again.stderr), (0, ""), "restored")
        with self.server.connect(dbname="again") as one:
            self.tally.equal(rows(one, labels), expected, "the same labels")
            self.tally.equal(rows(one, "SELECT id, buyer FROM blank ORDER BY id"), kept, "the same rows")
            # A view that was filled before EXPIRES took effect is made anew by it.
            seen = "SELECT count(*)::int FROM blank", "SELECT sum(n)::int FROM m_blank"
            self.tally.equal([rows(one, query) for query in seen], [[(len(kept),)]] * 2, "the view has them")
            one.execute("ALTER TABLE blank RESET (retain); UPDATE blank SET until = now() + interval '300 ms' WHERE id = 902")
            time.sleep(0.5)
            self.tally.equal([rows(one, query) for query in seen], [[(len(kept) - 1,)]] * 2, "and loses what expires")
        with self.server.connect() as one:
            one.execute("DROP DATABASE again")


if __name__ == "__main__":
    run_check(Retention(options(21, count=12)))
