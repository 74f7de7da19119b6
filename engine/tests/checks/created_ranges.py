#!/usr/bin/env python3
"""Values of created ranges and multiranges: as text, in binary and by COPY, under keys and views, in people's rows, after kill -9.

What is written comes back, in both formats; views that group and join by ranges are what a model says while rows change at random.
Of a person's rows they are handed out and erased like any column. Who may make a range, and whose it is, is as with other types.

    created_ranges.py [--seed N] [--count N]
"""
import collections
import time

from psycopg.types.multirange import MultirangeInfo, register_multirange
from psycopg.types.range import Range, RangeInfo, register_range

from harness import Check, options, rows, run_check, state_of

SECRET = "a word that nobody else has"

SCHEMA = """
CREATE TYPE wordrange AS RANGE (SUBTYPE = text, COLLATION = "C");
CREATE TYPE steps AS RANGE (SUBTYPE = int4, MULTIRANGE_TYPE_NAME = walks);
CREATE TABLE held (id int PRIMARY KEY, s steps, w walks, UNIQUE (id, s));
CREATE INDEX held_by_s ON held (s);
CREATE DATA_SUBJECT TABLE people (id int PRIMARY KEY, name text);
CREATE TABLE reads (id int PRIMARY KEY, who int NOT NULL OWNED_BY people(id), words wordrange, more wordrange[], sets wordmultirange);
CREATE MATERIALIZED VIEW groups AS SELECT s, count(*)::int AS n FROM held GROUP BY s;
CREATE MATERIALIZED VIEW meeting AS SELECT one.id, other.id AS other FROM held one JOIN held other ON one.s && other.s AND one.id < other.id;
CREATE MATERIALIZED VIEW read AS SELECT id, lower(words) AS first, sets FROM reads;
"""


def meets(one, other):
    """Whether two ranges (lower, upper, bounds) of the model have a point in common: none counts what lies between integers."""
    if one is None or other is None:
        return False
    for (_, end, ends), (start, _, starts) in ((one, other), (other, one)):
        if end < start or (end == start and not (ends[1] == "]" and starts[0] == "[")):
            return False
    return True


class CreatedRanges(Check):
    def run(self):
        with self.server.connect() as one:
            one.execute(SCHEMA)
        for case in (self.formats, self.copied, self.history, self.erased, self.rights, self.killed):
            self.tally.case(case)

    def registered(self, one):
        for name in ("steps", "wordrange"):
            register_range(RangeInfo.fetch(one, name), one)
        for name in ("walks", "wordmultirange"):
            register_multirange(MultirangeInfo.fetch(one, name), one)

    def formats(self):
        """What psycopg writes and reads, as text and in binary."""
        with self.server.connect() as one:
            self.registered(one)
            values = [Range(1, 2, "[]"), Range(1, 2, "()"), Range(None, 5, "(]"), Range(None, None, "()"), Range(empty=True)]
            words = [Range("a,b", 'c"d', "[]"), Range("", "\\x", "(]"), Range("é", None, "[)"), Range(empty=True)]
            for binary in (False, True):
                for kind, several in (("steps", values), ("wordrange", words)):
                    for value in several:
                        found = one.execute(f"SELECT %{'b' if binary else 't'}::{kind}", [value], binary=binary).fetchone()[0]
                        self.tally.equal(found, value, f"{kind} {value} {binary}")
                    found = one.execute(f"SELECT array_agg(r ORDER BY n) FROM unnest(%s::{kind}[]) WITH ORDINALITY AS u(r, n)", [several], binary=binary).fetchone()[0]
                    self.tally.equal(found, several, f"an array of {kind} {binary}")
                found = one.execute("SELECT '{[1,2],[4,5)}'::walks, '{}'::walks, walks(steps(1, 2), steps(2, 3))", binary=binary).fetchone()
                shown = [[(r.lower, r.upper, r.bounds) for r in value] for value in found]
                self.tally.equal(shown, [[(1, 2, "[]"), (4, 5, "[)")], [], [(1, 3, "[)")]], "multiranges")
            self.tally.equal(state_of(one.execute, "SELECT %b::steps", [b"\x02\x00\x00\x00\x01"]), "42846", "no bytes are a range")

    def copied(self):
        """COPY in both formats."""
        with self.server.connect() as one:
            one.execute("INSERT INTO held VALUES (1, '[1,2]', '{[1,2],[5,6]}'), (2, 'empty', '{}'), (3, NULL, NULL), (4, '(,3]', '{(,)}')")
            before = rows(one, "SELECT id, s::text, w::text FROM held ORDER BY id")
            for form in ("text", "csv", "binary"):
                with one.cursor().copy(f"COPY (SELECT * FROM held ORDER BY id) TO STDOUT (FORMAT {form})") as copy:
                    data = b"".join(bytes(part) for part in copy)
                one.execute("DELETE FROM held")
                with one.cursor().copy(f"COPY held FROM STDIN (FORMAT {form})") as copy:
                    copy.write(data)
                self.tally.equal(rows(one, "SELECT id, s::text, w::text FROM held ORDER BY id"), before, f"as {form}")

            def wrong():
                with one.cursor().copy("COPY held FROM STDIN") as copy:
                    copy.write("9\t[2,1]\t\\N\n")
            self.tally.equal(state_of(wrong), "22000", "bounds the wrong way round")

    def history(self):
        """Views over random ranges are what a model says."""
        with self.server.connect() as one:
            one.execute("DELETE FROM held")
            model = {}
            for _ in range(self.options.count):
                key = self.dice.randrange(20)
                low = self.dice.randrange(6)
                value = (low, low + 1 + self.dice.randrange(4), self.dice.choice(["[)", "[]", "(]", "()"]))
                if self.dice.random() < 0.2:
                    one.execute("DELETE FROM held WHERE id = %s", [key])
                    model.pop(key, None)
                else:
                    text = f"{value[2][0]}{value[0]},{value[1]}{value[2][1]}"
                    one.execute("INSERT INTO held VALUES (%s, %s, walks(%s::steps)) ON CONFLICT (id) DO UPDATE SET s = excluded.s, w = excluded.w", [key, text, text])
                    model[key] = value
            counted = collections.Counter(f"{value[2][0]}{value[0]},{value[1]}{value[2][1]}" for value in model.values())
            self.tally.equal(dict(rows(one, "SELECT s::text, n FROM groups")), dict(counted), "groups by range: none is another's writing")
            wanted = sorted((a, b) for a in model for b in model if a < b and meets(model[a], model[b]))
            self.tally.equal(sorted(rows(one, "SELECT * FROM meeting")), wanted, "a join by &&")
            self.tally.equal(sorted(rows(one, "SELECT one.id, other.id FROM held one JOIN held other ON one.s && other.s AND one.id < other.id")), wanted, "and asked at once")
            for key, value in sorted(model.items())[:5]:
                text = f"{value[2][0]}{value[0]},{value[1]}{value[2][1]}"
                found = rows(one, "SELECT id FROM held WHERE s = %s::steps ORDER BY id", [text])
                self.tally.equal(found, [(other,) for other in sorted(model) if model[other] == value], "found by an index")

    def erased(self):
        """A person's ranges are handed out, and go."""
        with self.server.connect() as one:
            one.execute("INSERT INTO people VALUES (1, 'ann'), (2, 'bob')")
            one.execute("INSERT INTO reads VALUES (1, 1, wordrange(%s, NULL), ARRAY[wordrange(%s, NULL)], wordmultirange(wordrange(%s, NULL))), (2, 2, '[a,b]', NULL, '{[a,b]}')", [SECRET] * 3)
            self.tally.equal(rows(one, "SELECT id, first FROM read ORDER BY id"), [(1, SECRET), (2, "a")], "a view reads them")
            given = rows(one, "GDPR GET people 1")
            self.tally.that(any(table == "reads" and SECRET in str(row["words"]) and SECRET in str(row["sets"]) for table, _, _, row, *_ in given), "a person is given them", given)
            one.execute("GDPR FORGET people 1")
            self.tally.equal(rows(one, "SELECT id, words::text, sets::text FROM reads"), [(2, "[a,b]", "{[a,b]}")], "they go with their owner")
            self.tally.equal(rows(one, "SELECT id, first FROM read"), [(2, "a")], "and from the view")
            end = time.monotonic() + 90
            while time.monotonic() < end and rows(one, "SELECT FROM dogwood.erasures WHERE pending IS NOT NULL"):
                time.sleep(0.5)
        self.server.stop()
        self.tally.equal(self.server.files_with(SECRET), [], "no file has them")
        self.server.start()

    def rights(self):
        """A type is its maker's, with its multirange."""
        with self.server.connect() as one:
            one.execute("CREATE ROLE maker LOGIN; CREATE ROLE other LOGIN; CREATE SCHEMA made AUTHORIZATION maker")
            with self.server.connect(user="maker") as maker:
                self.tally.equal(state_of(maker.execute, "CREATE TYPE made.own AS RANGE (SUBTYPE = int8)"), "", "whoever may create there")
                self.tally.equal(state_of(maker.execute, "CREATE TYPE made.two AS RANGE (SUBTYPE = int8, MULTIRANGE_TYPE_NAME = public.twos)"), "42501", "the multirange's schema is asked too")
            with self.server.connect(user="other") as other:
                self.tally.equal(state_of(other.execute, "CREATE TYPE made.more AS RANGE (SUBTYPE = int8)"), "42501", "a stranger may not")
                for change in ("DROP TYPE made.own", "ALTER TYPE made.own RENAME TO theirs", "ALTER TYPE made.own_multirange RENAME TO theirs"):
                    self.tally.equal(state_of(other.execute, change), "42501", change)
            one.execute("ALTER TYPE made.own OWNER TO other")
            self.tally.equal(rows(one, "SELECT DISTINCT typowner::regrole::text FROM pg_type WHERE typname LIKE '%own%' AND typnamespace = 'made'::regnamespace"), [("other",)], "given away with its multirange and arrays")
            self.tally.equal(state_of(one.execute, "DROP OWNED BY other"), "", "what somebody owns is dropped")
            self.tally.equal(rows(one, "SELECT to_regtype('made.own'), to_regtype('made.own_multirange')"), [(None, None)], "a multirange with its range")

    def killed(self):
        """Types and values are there after kill -9, and the rolled back one is not."""
        with self.server.connect() as one:
            one.execute("BEGIN; CREATE TYPE gone AS RANGE (SUBTYPE = int4); ROLLBACK")
            one.execute("INSERT INTO held VALUES (90, '(1,2)', '{(1,2),(5,6]}')")
            before = rows(one, "SELECT id, s::text, w::text FROM held ORDER BY id")
        self.server.kill()
        self.server.start()
        with self.server.connect() as one:
            self.tally.equal(rows(one, "SELECT id, s::text, w::text FROM held ORDER BY id"), before, "they are there")
            self.tally.equal(rows(one, "SELECT to_regtype('gone')"), [(None,)], "what was rolled back is not")
            self.tally.equal(rows(one, "SELECT id FROM held WHERE s = steps(1, 2, '()') AND id = 90"), [(90,)], "found by its index")
            self.tally.equal(state_of(one.execute, "DROP TYPE steps"), "2BP01", "held by its columns")
            one.execute("DROP TYPE steps CASCADE")
            self.tally.equal(rows(one, "SELECT attname FROM pg_attribute WHERE attrelid = 'held'::regclass AND attnum > 0 AND NOT attisdropped"), [("id",)], "which go with it")


if __name__ == "__main__":
    run_check(CreatedRanges(options(11, count=300)))
