"""The compliance story of an application, and its telling: benches/apps/README.md says how a story is written.

A story states every answer in full. What it does not name must not be there.
"""
import json

from support.ownership import Walk

NO_SUCH_PERSON = "DG003"


class Remark:
    """A remark of EXPLAIN COMPLIANCE that is expected, and why it stands."""

    def __init__(self, text):
        text, _, self.path = (part.strip() for part in text.partition(" @ "))
        head, self.phrase = (part.strip() for part in text.split(":", 1))
        self.severity, self.table = head.split()
        self.because = None

    def fits(self, row):
        severity, table, _, path, message, _ = row
        return severity == self.severity and table == self.table and self.phrase in message and self.path in (path or "")

    def __repr__(self):
        return f"{self.severity} {self.table}: {self.phrase}" + (f" @ {self.path}" if self.path else "")


class Story:
    """`remarks`; `mistakes`, as (file of a schema, remarks that it must get); `scenes`, for a fresh database each, as lists of (verb, words, details)."""

    def __init__(self, text):
        self.remarks, self.mistakes, self.scenes = [], [], [[]]
        unexplained = []
        for number, line in enumerate(text.splitlines(), 1):
            verb, _, rest = line.strip().partition(" ")
            if not verb or verb.startswith("#"):
                continue
            rest = rest.strip()
            if line.startswith(" "):
                self.detail(number, verb, rest)
            elif verb == "remark":
                severity, tables = rest.split(":", 1)[0].split(maxsplit=1)
                for table in tables.split(","):
                    unexplained.append(Remark(f"{severity} {table.strip()}:{rest.split(':', 1)[1]}"))
            elif verb == "because":
                for remark in unexplained:
                    remark.because = rest
                self.remarks += unexplained
                unexplained = []
            elif verb == "again":
                self.scenes.append([])
            elif verb == "mistake":
                self.mistakes.append((rest, []))
            elif verb in ("get", "forget", "remains", "do", "refused"):
                self.scenes[-1].append((verb, rest, []))
            else:
                raise ValueError(f"line {number}: {verb}?")
        if unexplained:
            raise ValueError(f"remarks without because: {unexplained}")

    def detail(self, number, verb, rest):
        if verb in ("owner", "accessor", "hidden", "erased", "blanked", "holds"):
            self.scenes[-1][-1][2].append((verb, rest))
        elif verb == "remark":
            self.mistakes[-1][1].append(Remark(rest))
        else:
            raise ValueError(f"line {number}: {verb}?")


def key(text):
    """A primary key as it is compared: its parts as text."""
    return tuple(part.strip() for part in text.split("/"))


def keys(details, *verbs):
    """`stories 1, 2; votes 3/4` as {(table, key)}."""
    found = set()
    for verb, text in details:
        for entry in text.split(";") if verb in verbs else ():
            table, _, listed = entry.strip().partition(" ")
            for one in listed.split(","):
                if (table, key(one)) in found:
                    raise ValueError(f"named twice: {table} {one}")
                found.add((table, key(one)))
    return found


def columns(details, verb):
    """`messages 1, 2: author, body` as {(table, key): {column}}."""
    found = {}
    for entry in (entry for kind, text in details if kind == verb for entry in text.split(";")):
        rows, listed = entry.split(":")
        table, _, numbers = rows.strip().partition(" ")
        for number in numbers.split(","):
            found.setdefault((table, key(number)), set()).update(column.strip() for column in listed.split(","))
    return found


def literal(schema, table, primary):
    """The key as GDPR GET and FORGET want it."""
    column = schema.tables[table].primary[0]
    return primary if schema.tables[table].columns[column] in ("serial", "int") else f"'{primary}'"


def quoted(table):
    return f'"{table}"'


def primary_of(schema, table, row):
    return tuple(str(row[column]) for column in schema.tables[table].primary)


def state(connection, schema):
    """All rows: {table: {key: row}}."""
    found = {}
    for table in schema.tables:
        rows = [row for row, in connection.execute(f"SELECT to_jsonb(the_row) FROM {quoted(table)} the_row").fetchall()]
        found[table] = {primary_of(schema, table, row): row for row in rows}
        assert len(found[table]) == len(rows), f"keys of {table} repeat"
    return found


def get(connection, schema, person):
    """GDPR GET as {(table, key): (relation, path, row, hidden columns)}."""
    table, primary = person
    found = {}
    for name, relation, path, row, redacted in connection.execute(f"GDPR GET {quoted(table)} {literal(schema, table, primary)}").fetchall():
        place = (name, primary_of(schema, name, row))
        assert place not in found, f"{place} came twice"
        found[place] = (relation, path, row, sorted(redacted))
    return found


def export(connection, schema, person):
    """The rows of GDPR EXPORT in the same form."""
    table, primary = person
    with connection.cursor().copy(f"COPY (GDPR EXPORT {quoted(table)} {literal(schema, table, primary)}) TO STDOUT") as copy:
        document = json.loads(b"".join(bytes(part) for part in copy))
    return {(entry["table"], primary_of(schema, entry["table"], entry["row"])): (entry["relation"], entry["path"], entry["row"], sorted(entry["redacted"]))
            for entry in document["rows"]}


def forget(connection, schema, person):
    """EXPLAIN GDPR FORGET and GDPR FORGET, each as {table: [deleted, anonymized, disowned]}."""
    table, primary = person
    statement = f"GDPR FORGET {quoted(table)} {literal(schema, table, primary)}"
    planned, done = ({name: counts for name, *counts in connection.execute(words + statement).fetchall()} for words in ("EXPLAIN ", ""))
    return planned, done


def difference(found, expected):
    """What two sets or dictionaries do not share, in words."""
    if isinstance(found, dict):
        return {place: (found.get(place), expected.get(place)) for place in sorted(found.keys() | expected.keys(), key=str)
                if found.get(place) != expected.get(place)}
    return f"not expected {sorted(found - expected)}, missing {sorted(expected - found)}"


class Telling:
    """One scene on a fresh database."""

    def __init__(self, tally, name, connection, schema):
        self.tally, self.name, self.connection, self.schema = tally, name, connection, schema

    def same(self, found, expected, what):
        self.tally.that(found == expected, f"{self.name}: {what}", difference(found, expected))

    def play(self, scene):
        for verb, words, details in scene:
            getattr(self, verb)(words, details)

    def person(self, words):
        table, primary = words.split()
        return table, key(primary)

    def get(self, words, details):
        table, primary = self.person(words)
        answer = get(self.connection, self.schema, (table, primary[0]))
        for relation in ("owner", "accessor"):
            self.same({place for place, entry in answer.items() if entry[0] == relation}, keys(details, relation), f"get {words}: {relation}")
        self.same({place: set(entry[3]) for place, entry in answer.items() if entry[3]}, columns(details, "hidden"), f"get {words}: hidden")
        for place, entry in answer.items():
            shown = [column for column in entry[3] if entry[2][column] is not None]
            self.tally.that(not shown, f"{self.name}: get {words}: {place} hides", shown)
        self.same(export(self.connection, self.schema, (table, primary[0])), answer, f"the download of {words} is what it gets")

    def forget(self, words, details):
        table, primary = self.person(words)
        before = state(self.connection, self.schema)
        owned = {place for place, is_owned in Walk(self.schema, before).reached((table, primary)).items() if is_owned}
        receipts = self.receipts()
        planned, result = forget(self.connection, self.schema, (table, primary[0]))
        after = state(self.connection, self.schema)
        erased, blanked = changes(before, after)
        expected, expected_blanks = keys(details, "erased"), columns(details, "blanked")
        self.same(erased, expected, f"forget {words}: erased")
        self.same(blanked, expected_blanks, f"forget {words}: blanked")
        counts = {}
        for number, places in enumerate((expected, expected_blanks, owned - expected)):
            for name, _ in places:
                counts.setdefault(name, [0, 0, 0])[number] += 1
        self.same(result, counts, f"forget {words}: counts")
        self.same(planned, counts, f"forget {words}: counts of EXPLAIN")
        self.tally.equal(self.receipts(), receipts + 1, f"{self.name}: forget {words}: receipts")
        for statement in ("GDPR GET", "GDPR FORGET"):
            refused = refusal(self.connection, f"{statement} {quoted(table)} {literal(self.schema, table, primary[0])}")
            self.tally.equal(refused, NO_SUCH_PERSON, f"{self.name}: {statement} {words} afterwards")

    def receipts(self):
        return self.connection.execute("SELECT count(*) FROM dogwood.receipts").fetchone()[0]

    def do(self, words, _):
        self.connection.execute(words)

    def refused(self, words, _):
        code, statement = words.split(maxsplit=1)
        before = state(self.connection, self.schema)
        self.tally.equal(refusal(self.connection, statement), code, f"{self.name}: {statement}")
        self.same(state(self.connection, self.schema), before, f"nothing is left of {statement}")

    def remains(self, words, details):
        left = {(table, primary) for table, rows in state(self.connection, self.schema).items() for primary in rows}
        self.same(left, keys(details, "holds"), "what remains")


def changes(before, after):
    """(rows gone, {row: columns that became NULL}); any other change, and any new row, is a row with the column "changed"."""
    erased = {(table, primary) for table, rows in before.items() for primary in rows if primary not in after[table]}
    blanked = {}
    for table, rows in after.items():
        for primary, row in rows.items():
            old = before[table].get(primary, {})
            changed = {column if value is None else f"{column} changed" for column, value in row.items() if old.get(column) != value or column not in old}
            if changed:
                blanked[table, primary] = changed
    return erased, blanked


def refusal(connection, statement):
    import psycopg

    try:
        connection.execute(statement)
    except psycopg.Error as error:
        return error.sqlstate
    return ""
