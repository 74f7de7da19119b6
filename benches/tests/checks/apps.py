"""The ten applications of benches/apps: their schemas, their stories, and random data against a walk over all rows.

For each application: EXPLAIN COMPLIANCE says exactly what the story explains; the story's answers are the server's; the server's
graph is the one that the schema's text says; what three of them declare beyond that governs their rows as they say; labels on an ordinary schema with rows in it tell the same story; and over random rows
GDPR GET and FORGET of everybody agree with support/ownership.py, in random order, until nearly nobody is left. APPS=name,name does
some; APPS_SEED=n starts from another seed; APPS_ROUNDS=n makes random rows n times.
"""
import concurrent.futures
import json
import os
import random
import sys
import time

import harness
from harness import ROOT
from support import governed, stories
from support.ownership import Erasure, Walk
from support.schemas import Rows, Schema, labels, ordinary

APPLICATIONS = ROOT / "benches/apps"
SEED = int(os.environ.get("APPS_SEED", "1"))
MOVES = 25  # foreign keys that are pointed elsewhere in each round
ROUNDS = int(os.environ.get("APPS_ROUNDS", "3"))


class Application:
    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        self.schema_text, self.seed_text, story = ((folder / file).read_text() for file in ("schema.sql", "seed.sql", "story.txt"))
        self.schema = Schema(self.schema_text)
        self.story = stories.Story(story)
        rules = folder / "governed.txt"
        self.governed = governed.Governed(rules.read_text()) if rules.exists() else None


class Fresh:
    """A server of its own with a schema: `with Fresh(tally, name, text) as connection`."""

    def __init__(self, tally, name, text):
        self.tally, self.name, self.text = tally, name, text

    def __enter__(self):
        self.server = harness.Server()
        self.server.start()
        try:
            self.connection = self.server.connect()
            self.connection.execute(self.text)
        except Exception:
            self.server.remove()
            raise
        return self.connection

    def __exit__(self, *_):
        try:
            self.connection.close()
            self.server.stop()
            self.tally.clean(self.server, self.name)
        finally:
            self.server.remove()


def report(connection, schema):
    return harness.rows(connection, "EXPLAIN COMPLIANCE")


def check_remarks(tally, application, connection):
    """Every remark is expected once, and every expected one is made."""
    left = list(application.story.remarks)
    for row in report(connection, application.schema):
        fitting = next((remark for remark in left if remark.fits(row)), None)
        if row[0] != "info" and tally.that(fitting is not None, f"{application.name}: a remark that the story does not explain", row[:5]):
            left.remove(fitting)
    tally.that(not left, f"{application.name}: remarks that were expected and not made", left)


def check_graph(tally, application, connection):
    """The graph in the catalog is the graph in the text."""
    graph, schema = json.loads(harness.rows(connection, "EXPLAIN (FORMAT JSON) COMPLIANCE")[0][0]), application.schema
    tables = {table["name"]: table["kind"] for table in graph["tables"]}
    expected = {name: "data subject" if table.subject else "personal" if schema.personal(name) else "impersonal" for name, table in schema.tables.items()}
    tally.equal(tables, expected, f"{application.name}: tables of the graph")
    edges = sorted((edge["table"], edge["columns"], edge["target"], edge["target_columns"], edge["annotation"] or "") for edge in graph["edges"])
    tally.equal(edges, sorted((key.table, key.columns, key.target, key.target_columns, key.word or "") for key in schema.keys()),
                f"{application.name}: edges of the graph")
    rules = sorted((rule["table"], rule["event"].lower(), rule["edge"], sorted(rule["columns"] or [])) for rule in graph["rules"])
    tally.equal(rules, sorted((rule.table, rule.event, repr(rule.key), sorted(rule.columns or [])) for rule in schema.rules),
                f"{application.name}: rules of the graph")


def check_page(tally, application):
    """The row of benches/apps/README.md counts what is in the files."""
    schema, cells = application.schema, None
    for line in (APPLICATIONS / "README.md").read_text().splitlines():
        if line.startswith(f"| {application.name} |"):
            cells = [int(cell) for cell in line.split("|")[2:13]]
    words, events, severities = ([kind(thing) for thing in things] for kind, things in (
        (lambda key: key.word, schema.edges()), (lambda rule: rule.event, schema.rules), (lambda remark: remark.severity, application.story.remarks)))
    counts = [len(schema.tables), len(schema.subjects()), *(words.count(word) for word in ("OWNED_BY", "OWNS", "ACCESSED_BY", "ACCESSES")),
              *(events.count(event) for event in ("get", "del")), *(severities.count(severity) for severity in ("severe", "warning", "notice"))]
    tally.equal(cells, counts, f"{application.name}: its row in README.md")


def check_story(tally, application):
    for number, scene in enumerate(application.story.scenes):
        name = f"{application.name}, scene {number + 1}"
        with Fresh(tally, name, application.schema_text) as connection:
            if number == 0:
                check_remarks(tally, application, connection)
                check_graph(tally, application, connection)
            connection.execute(application.seed_text)
            stories.Telling(tally, name, connection, application.schema).play(scene)


def check_labels(tally, application):
    """An ordinary schema that has its rows already, labelled in one transaction: the same graph, and the same story."""
    name = f"{application.name}, labelled"
    with Fresh(tally, name, ordinary(application.schema_text)) as connection:
        connection.execute(application.seed_text)
        with connection.transaction():
            for label in labels(application.schema):
                connection.execute(label)
        check_graph(tally, application, connection)
        stories.Telling(tally, name, connection, application.schema).play(application.story.scenes[0])


def check_governed(tally, application):
    """Purposes, retention, holds and what else is declared on top of the schema, step by step."""
    name = f"{application.name}, governed"
    fresh = Fresh(tally, name, application.schema_text)
    with fresh as connection:
        connection.execute(application.seed_text)
        governed.play(tally, name, fresh.server, application.governed)


def check_mistakes(tally, application):
    """A schema that is wrong in a plausible way is told so, and the right one is not."""
    said = {}
    for file in [*(file for file, _ in application.story.mistakes), "schema.sql"] if application.story.mistakes else ():
        text = (application.folder / file).read_text()
        with Fresh(tally, f"{application.name}/{file}", text) as connection:
            said[file] = report(connection, Schema(text))
    for file, remarks in application.story.mistakes:
        for remark in remarks:
            about = [row[:5] for row in said[file] if row[1] == remark.table]
            tally.that(any(remark.fits(row) for row in said[file]), f"{application.name}/{file}: not caught: {remark}", about)
            tally.that(not any(remark.fits(row) for row in said["schema.sql"]), f"{application.name}/schema.sql gets the remark of {file}: {remark}")


def check_random(tally, application, seed):
    """Rows that change hands, everybody's GET, then erasures in random order, each against the walk; GETs of some who are left in between."""
    name, schema, chance = f"{application.name}, random {seed}", application.schema, random.Random(f"{application.name} {seed}")
    with Fresh(tally, name, application.schema_text) as connection:
        state = insert(tally, name, connection, schema, Rows(schema, chance))
        move(tally, name, connection, schema, state, chance)
        walk = Walk(schema, state)
        people = walk.people()
        for person in people:
            compare(tally, f"{name}: GET {person}", stories.get(connection, schema, (person[0], person[1][0])), walk.get(person))
        chance.shuffle(people)
        while len(people) > 2:
            person = people.pop()
            erasure = Erasure(schema, state, person)
            planned, result = stories.forget(connection, schema, (person[0], person[1][0]))
            compare(tally, f"{name}: FORGET {person}", result, erasure.result)
            compare(tally, f"{name}: EXPLAIN FORGET {person}", planned, erasure.result)
            state, found = erasure.state, stories.state(connection, schema)
            for table in schema.tables:
                compare(tally, f"{name}: {table} after FORGET {person}", found[table], state[table])
            state, walk = found, Walk(schema, found)
            for other in chance.sample(people, min(3, len(people))):
                compare(tally, f"{name}: GET {other} after FORGET {person}", stories.get(connection, schema, (other[0], other[1][0])), walk.get(other))


def move(tally, name, connection, schema, state, chance):
    """Points foreign keys at other rows, one statement each; what would leave a row without owner is refused. Changes `state` alike."""
    keys = [key for key in schema.keys() if state[key.table] and key.columns[0] not in schema.tables[key.table].primary]
    for _ in range(MOVES if keys else 0):
        key = chance.choice(keys)
        table, column = schema.tables[key.table], key.columns[0]
        primary, row = chance.choice(list(state[key.table].items()))
        old, new = row[column], chance.choice([None, *(target[key.target_columns[0]] for target in state[key.target].values())])
        row[column] = new
        alike = [columns for columns in table.unique if column in columns and new is not None
                 and any(other is not row and all(other[c] == row[c] is not None for c in columns) for other in state[key.table].values())]
        expected = "23502" if new is None and column in table.not_null else "23505" if alike else "DG001" if Walk(schema, state).orphans() else ""
        if expected:
            row[column] = old
        values = [new, *(row[c] for c in table.primary)]
        where = " AND ".join(f'"{c}" = %s' for c in table.primary)
        found = harness.state_of(connection.execute, f'UPDATE "{key.table}" SET "{column}" = %s WHERE {where}', values)
        tally.equal(found, expected, f"{name}: {key} of {primary} from {old} to {new}")
    for table, listed in stories.state(connection, schema).items():
        compare(tally, f"{name}: {table} after it was changed", listed, state[table])


def insert(tally, name, connection, schema, rows):
    """Inserts those rows that have an owner, with what they need; the state that results, which has what was inserted."""
    while True:
        state = {table: {stories.primary_of(schema, table, row): row for row in listed} for table, listed in rows.data.items()}
        orphans = Walk(schema, state).orphans()
        if not orphans:
            break
        for table, primary in orphans:
            rows.data[table].remove(state[table][primary])
        drop_dangling(schema, rows.data)
    with connection.transaction():
        for statement, values in rows.statements():
            connection.execute(statement, values)
    found = stories.state(connection, schema)
    for table, listed in state.items():
        kept = {primary: {column: found[table].get(primary, {}).get(column) for column in row} for primary, row in listed.items()}
        compare(tally, f"{name}: {table} as inserted", kept, listed)
    return found


def drop_dangling(schema, data):
    changed = True
    while changed:
        changed = False
        for key in schema.keys():
            column, present = key.columns[0], {row[key.target_columns[0]] for row in data[key.target]}
            for row in [row for row in data[key.table] if row[column] is not None and row[column] not in present]:
                changed = True
                if column in schema.tables[key.table].not_null:
                    data[key.table].remove(row)
                else:
                    row[column] = None


def compare(tally, name, found, expected):
    tally.that(found == expected, name, stories.difference(found, expected))


def check(folder):
    """Everything about one application, counted apart: (tally, what to say)."""
    tally, began = harness.Tally(), time.monotonic()
    try:
        application = Application(folder)
    except Exception as error:
        tally.that(False, f"{folder.name}: its files are understood", error)
        return tally, f"{folder.name}: not read"
    tally.case(check_page, tally, application)
    tally.case(check_story, tally, application)
    tally.case(check_labels, tally, application)
    tally.case(check_mistakes, tally, application)
    if application.governed:
        tally.case(check_governed, tally, application)
    for number in range(ROUNDS):
        tally.case(check_random, tally, application, SEED + number)
    return tally, (f"{application.name}: {len(application.schema.tables)} tables, {len(application.story.scenes)} scenes, {ROUNDS} rounds of random rows, "
                   f"{tally.passed} passed, {tally.failed} failed, {time.monotonic() - began:.1f} s")


def main():
    chosen = [name for name in os.environ.get("APPS", "").split(",") if name]
    folders = sorted(folder for folder in APPLICATIONS.iterdir() if folder.is_dir())
    unknown = set(chosen) - {folder.name for folder in folders}
    if unknown or not folders:
        sys.exit(f"no such application: {', '.join(sorted(unknown)) or 'none there at all'}")
    whole = harness.Tally()
    # Each waits for the disk most of the time, so several go at once.
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as several:
        for tally, said in several.map(check, [folder for folder in folders if not chosen or folder.name in chosen]):
            print(said, flush=True)
            whole.passed += tally.passed
            whole.failed += tally.failed
    whole.end()


if __name__ == "__main__":
    main()
