"""The graph of operators: all that random schemas have stands in it, its arrows are those of the definitions, and it is drawn as DOT.

What each object must read is worked out here, from what was created. Read while rows change, views come and go, and people are
forgotten; then everything is dropped, piece by piece. DATAFLOW_SEED, DATAFLOW_ROUNDS (4).
"""
import json
import os
import random
import threading
import time

from harness import Server, Tally, rows, state_of

SEED = int(os.environ.get("DATAFLOW_SEED", "20261123"))
ROUNDS = int(os.environ.get("DATAFLOW_ROUNDS", "4"))
WORD = "zqcanary"


class Dot:
    """A strict reader of the part of the DOT language that is written: quoted ids, attribute lists, subgraphs, arrows."""

    def __init__(self, text):
        self.text, self.at, self.nodes, self.edges = text, 0, {}, []
        self.word("digraph"), self.token(), self.expect("{")
        self.statements()
        self.space()
        assert self.at == len(text), f"text after the graph: {text[self.at:][:40]!r}"

    def space(self):
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def expect(self, wanted):
        self.space()
        assert self.text.startswith(wanted, self.at), f"{wanted!r} expected at {self.text[self.at:][:40]!r}"
        self.at += len(wanted)

    def follows(self, wanted):
        self.space()
        found = self.text.startswith(wanted, self.at)
        self.at += len(wanted) if found else 0
        return found

    def word(self, wanted):
        assert self.token() == wanted

    def token(self):
        """An id: a word, or a quoted string in which quotes and backslashes are escaped."""
        self.space()
        if self.text[self.at] != '"':
            start = self.at
            while self.text[self.at].isalnum() or self.text[self.at] in "_.":
                self.at += 1
            assert self.at > start, f"an id expected at {self.text[start:][:40]!r}"
            return self.text[start:self.at]
        found, self.at = "", self.at + 1
        while self.text[self.at] != '"':
            assert self.text[self.at] != "\n", "a line ends within a string"
            if self.text[self.at] == "\\":
                self.at += 1
                assert self.text[self.at] in '\\"n', "an escape"
                found += {"n": "\n"}.get(self.text[self.at], self.text[self.at])
            else:
                found += self.text[self.at]
            self.at += 1
        self.at += 1
        return found

    def attributes(self):
        found = {}
        while not self.follows("]"):
            name = self.token()
            self.expect("=")
            found[name] = self.token()
            self.follows(",")
        return found

    def statements(self):
        while not self.follows("}"):
            name = self.token()
            if name == "subgraph":
                self.token(), self.expect("{"), self.statements()
                continue
            if self.follows("="):
                self.token()
            elif self.follows("->"):
                self.edges.append((name, self.token()))
            elif self.follows("["):
                attributes = self.attributes()
                if name != "node":
                    assert name not in self.nodes, f"{name} twice"
                    self.nodes[name] = attributes
            else:
                raise AssertionError(f"after {name!r}: {self.text[self.at:][:40]!r}")
            self.follows(";")


class Graph:
    """What the relation shows."""

    def __init__(self, connection):
        found = rows(connection, "SELECT id, kind, name, relation, inputs, stage, rows, bytes FROM dogwood.dataflow")
        self.rows = found
        self.inputs = {id: inputs for id, _, _, _, inputs, *_ in found}
        self.kinds = {id: kind for id, kind, *_ in found}
        self.names = {}
        for id, kind, name, *_ in found:
            self.names.setdefault((kind, name), []).append(id)

    def id(self, kind, name):
        found = self.names.get((kind, name), [])
        assert len(found) == 1, f"{kind} {name}: {found}"
        return found[0]

    def below(self, id):
        """All that it reads, at first or second hand."""
        found, open_ = set(), [id]
        while open_:
            new = set(self.inputs[open_.pop()]) - found
            found |= new
            open_ += new
        return found

    def tables_below(self, id):
        names = {id: name for (kind, name), ids in self.names.items() if kind == "table" for id in ids}
        return {names[below] for below in self.below(id) if below in names}


class Schema:
    """A random schema, and what must be said of it."""

    def __init__(self, dice, connection):
        self.dice, self.connection = dice, connection
        self.tables, self.indexes, self.views, self.edges = {"people": None}, {}, {}, []
        connection.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)")
        for number in range(dice.randint(3, 6)):
            self.table(f"t{number}")
        for number in range(dice.randint(3, 6)):
            self.view(f"v{number}")
        for number in range(dice.randint(1, 3)):
            table = dice.choice(list(self.tables))
            column = "name" if table == "people" else "body"
            connection.execute(f"CREATE INDEX i{number} ON {table} ({column})")
            self.indexes[f"i{number}"] = table

    def table(self, name):
        kind, target = self.dice.choice(["OWNED_BY", "OWNED_BY", "ACCESSED_BY", "", None]), self.dice.choice(list(self.tables))
        personal = target == "people" or self.tables[target] == "OWNED_BY"
        if kind in ("OWNED_BY", "ACCESSED_BY") and not personal:
            target = "people"
        column = "other INT" if kind is None else f"other INT {kind or 'REFERENCES ONLY'} {target}(id)"
        self.connection.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, {column}, body TEXT)")
        self.tables[name] = kind
        if kind:
            self.edges.append((kind, f"{name} (other) {kind} {target}", name, target))

    def view(self, name):
        """Over tables and views, plain or materialized."""
        one, two = self.dice.choice(list(self.tables) + list(self.views)), self.dice.choice(list(self.tables))
        one_key = "id" if one in self.tables else "n"
        query = self.dice.choice([
            f"SELECT a.{one_key} AS n, count(*) AS c FROM {one} AS a WHERE a.{one_key} <> 31337 GROUP BY a.{one_key}",
            f"SELECT a.{one_key} AS n, max(b.id) AS c FROM {one} AS a JOIN {two} AS b ON b.id = a.{one_key} GROUP BY a.{one_key}",
            f"SELECT {one_key} AS n, {one_key} AS c FROM {one} UNION SELECT id, id FROM {two} WHERE '{WORD}' <> 'x'",
        ])
        plain = self.dice.random() < 0.3
        self.connection.execute(f"CREATE {'' if plain else 'MATERIALIZED '}VIEW {name} AS {query}")
        tables = set()
        for source in [one] + ([two] if two in query.split() else []):
            tables |= {source} if source in self.tables else self.views[source][1]
        self.views[name] = ("view" if plain else "materialized view", tables)

    def await_views(self):
        began, wanted = time.monotonic(), {(name,) for name, (kind, _) in self.views.items() if kind == "materialized view"}
        while not wanted <= set(rows(self.connection, "SELECT name FROM dogwood.views WHERE stage = 'ready'")):
            assert time.monotonic() - began < 60, "views are filled"
            time.sleep(0.02)


def holds(tally, schema, connection):
    graph = Graph(connection)
    dangling = {input for inputs in graph.inputs.values() for input in inputs} - set(graph.inputs)
    tally.equal(dangling, set(), "arrows lead somewhere")
    tally.equal(len(graph.inputs), len(graph.rows), "ids are one each")
    tally.that(WORD not in repr(graph.rows) and "31337" not in repr(graph.rows), "no literal")
    tally.equal({name for (kind, name) in graph.names if kind == "table"}, set(schema.tables), "the tables")
    for name, table in schema.indexes.items():
        tally.equal(graph.inputs[graph.id("index", name)], [graph.id("table", table)], "an index")
    for kind, name, near, far in schema.edges:
        operator = graph.id("ownership" if kind == "OWNED_BY" else "access", name)
        tally.equal(graph.tables_below(operator) >= {near, far}, True, name)
        tally.that(graph.id("owners", f"owners of {far}") in graph.inputs[operator], f"{name}: the owners of the other end", graph.inputs[operator])
        if kind == "OWNED_BY":
            tally.equal(graph.inputs[graph.id("owners", f"owners of {near}")], [operator], f"owners of {near}")
    requests = graph.below(graph.id("subject requests", "requests of people"))
    for kind, name, near, _ in schema.edges:
        wanted = graph.id("owners", f"owners of {near}") if kind == "OWNED_BY" else graph.id("access", name)
        tally.that(wanted in requests, f"requests reach {name}", requests)
    for name, (kind, tables) in schema.views.items():
        tally.equal(graph.tables_below(graph.id(kind, name)), tables, f"the tables of {kind} {name}")
    tally.equal({name for (kind, name) in graph.names if kind in ("view", "materialized view")}, set(schema.views), "the views")
    for id, kind, name, relation, inputs, stage, held, size in graph.rows:
        tally.equal(stage, "ready" if kind in ("materialized view", "automatic view", "ordered index") else None, f"the stage of {kind} {name}")
        tally.that((held is None or held >= 0) and (size is None or size >= 0), f"sizes of {id}")
    drawn = Dot(rows(connection, "EXPLAIN (FORMAT DOT) DATAFLOW")[0][0])
    tally.equal((set(drawn.nodes), sorted(drawn.edges)), (set(graph.inputs), sorted((input, id) for id, inputs in graph.inputs.items() for input in inputs)), "as DOT")
    listed = json.loads(rows(connection, "EXPLAIN (FORMAT JSON) DATAFLOW")[0][0])
    tally.equal({operator["id"]: operator["inputs"] for operator in listed}, graph.inputs, "as JSON")
    tally.equal([row[0] for row in rows(connection, "EXPLAIN DATAFLOW")], list(graph.inputs), "as rows")
    return graph


def earned(tally, server, connection):
    """Views that queries earn, an order in memory, and a subscription: they stand there while they are there."""
    query = "SELECT count(*), max(name) FROM people WHERE name = %s GROUP BY mod(id, 7)"
    began = time.monotonic()
    while "automatic view" not in Graph(connection).kinds.values() and time.monotonic() - began < 30:
        rows(connection, query, ("x",))
        rows(connection, "SELECT name FROM people WHERE id > 5 ORDER BY id LIMIT 3")
        time.sleep(0.02)
    graph = Graph(connection)
    automatic = [id for id, kind in graph.kinds.items() if kind == "automatic view"]
    if tally.that(automatic, "a view that a query has earned"):
        tally.equal(graph.tables_below(automatic[0]), {"people"}, "its table")
    with server.connect(autocommit=False) as watching:
        watching.execute("DECLARE told CURSOR FOR SUBSCRIBE (SELECT id, name FROM people WHERE name = 'zq')")
        watching.execute("FETCH 1 told").fetchall()
        graph = Graph(connection)
        ids = [id for id, kind in graph.kinds.items() if kind == "subscription"]
        if tally.equal(len(ids), 1, "a subscription"):
            tally.equal(graph.tables_below(ids[0]), {"people"}, "what it watches")
        watching.rollback()
    began = time.monotonic()
    while "subscription" in Graph(connection).kinds.values() and time.monotonic() - began < 30:
        time.sleep(0.02)
    tally.that("subscription" not in Graph(connection).kinds.values(), "it goes with its transaction")


def amid(tally, server):
    """Read while others write, define and forget: every answer is whole, and commits go on."""
    over, written, wrong = threading.Event(), [0], []

    def write():
        with server.connect() as connection:
            number = 100_000
            while not over.is_set():
                number += 1
                connection.execute("INSERT INTO people VALUES (%s, %s)", (number, WORD))
                if number % 7 == 0:
                    connection.execute(f"GDPR FORGET people {number}")
                written[0] += 1

    def define():
        with server.connect() as connection:
            number = 0
            while not over.is_set():
                number += 1
                for statement in (f"CREATE MATERIALIZED VIEW passing{number} AS SELECT name, count(*) FROM people GROUP BY name", f"DROP MATERIALIZED VIEW passing{number}"):
                    state = state_of(connection.execute, statement)
                    if state:
                        wrong.append((statement, state))

    threads = [threading.Thread(target=write), threading.Thread(target=define)]
    for thread in threads:
        thread.start()
    with server.connect() as connection:
        for _ in range(60):
            graph = Graph(connection)
            dangling = {input for inputs in graph.inputs.values() for input in inputs} - set(graph.inputs)
            tally.equal((dangling, len(graph.inputs)), (set(), len(graph.rows)), "whole while others write")
            tally.that(WORD not in repr(graph.rows), "no value while others write")
            Dot(rows(connection, "EXPLAIN (FORMAT DOT) DATAFLOW")[0][0])
    over.set()
    for thread in threads:
        thread.join(60)
    tally.that(written[0] > 0 and not any(thread.is_alive() for thread in threads), "commits went on", written)
    tally.equal(wrong, [], "definitions while it is read")


def dropped(tally, schema, connection):
    """Piece by piece, in an order that leaves nothing hanging."""
    for name in reversed(list(schema.views)):
        kind, _ = schema.views.pop(name)
        connection.execute(f"DROP {kind.upper()} {name}")
        graph = Graph(connection)
        tally.that((kind, name) not in graph.names, f"{name} is gone")
    for name in list(schema.indexes):
        del schema.indexes[name]
        connection.execute(f"DROP INDEX {name}")
        tally.that(("index", name) not in Graph(connection).names, f"{name} is gone")
    for name in reversed(list(schema.tables)):
        connection.execute(f"DROP TABLE {name}")
        tally.that(not any(name in part.split() for _, part in Graph(connection).names if part), f"{name} is gone", Graph(connection).names)
    tally.equal(Graph(connection).rows, [], "nothing is left")


def one(tally, seed):
    dice, server = random.Random(seed), Server()
    try:
        server.start()
        with server.connect() as connection:
            tally.equal(Graph(connection).rows, [], "an empty database")
            schema = Schema(dice, connection)
            connection.execute("INSERT INTO people SELECT i, 'n' || i FROM generate_series(1, 50) AS i")
            connection.execute(f"INSERT INTO people VALUES (51, '{WORD}')")
            schema.await_views()
            holds(tally, schema, connection)
            amid(tally, server)
            schema.await_views()
            holds(tally, schema, connection)
            earned(tally, server, connection)
        server.stop()
        server.start()
        with server.connect() as connection:
            schema.connection = connection
            schema.await_views()
            holds(tally, schema, connection)
            dropped(tally, schema, connection)
    finally:
        server.remove()


def main():
    tally = Tally()
    for round_ in range(ROUNDS):
        print(f"seed {SEED + round_}", flush=True)
        tally.case(one, tally, SEED + round_)
    tally.end()


if __name__ == "__main__":
    main()
