#!/usr/bin/env python3
"""Errors of logic, found without another database: a query against itself.

    by partition       the rows of a query are those under p, under NOT p and under p IS NULL together; groups, DISTINCT and aggregates alike
    by its twin        as many rows pass WHERE p as rows for which p, computed in the select list where nothing can be optimised, is true

Over random schemas and predicates (support/random_sql), and by every way that a query can go: computed, with its literals as parameters,
by a cursor, in a transaction that has changed a table, and as a maintained view before and after changes.

    partition.py [--seed N] [--count N] [--seconds N] [--case N]     prints how many cases ran; --case repeats one of them
"""

import argparse
import collections
import sys
import time

from support.random_sql import Random
from harness.compared import Dogwood, Wire

# A row's own error: which rows are evaluated is open, so such a case says nothing.
OF_ROWS = ("22", "21", "54")
CASES_A_SCHEMA = 40


class Skipped(Exception):
    """The case says nothing: a statement is refused, or one of its rows cannot be evaluated."""


class Wrong(Exception):
    """Two answers that must agree do not, or an answer is none."""


class Case:
    """One predicate over one FROM clause."""

    def __init__(self, source, wire):
        self.source, self.wire = source, wire
        self.text, self.scope = source.from_clause()
        self.predicate = source.predicate(self.scope)
        kinds = [source.pick("int", "int", "text", "bool", "numeric") for _ in range(source.random.randint(1, 3))]
        self.selected = ", ".join(f"{source.value(self.scope, kind, 2)} AS c{n}" for n, kind in enumerate(kinds))
        self.number = source.value(self.scope, "int", 2)
        self.statements = []

    def rows(self, sql):
        self.statements.append(sql)
        answer = self.wire.run(sql)
        if answer.error:
            self.wire.run("ROLLBACK")
            if answer.error == "0A000" or answer.error[:2] in OF_ROWS:
                raise Skipped(answer.error)
            raise Wrong(f"{answer.error}: {answer.message}")
        return [tuple(None if value is None else value.decode(errors="replace") for value in row) for row in answer.rows]

    def parts(self):
        return [f"({self.predicate})", f"NOT ({self.predicate})", f"({self.predicate}) IS NULL"]

    def agree(self, found, expected, what):
        found, expected = collections.Counter(found), collections.Counter(expected)
        if found != expected:
            extra, missing = found - expected, expected - found
            raise Wrong(f"{what}: {sum(extra.values())} rows too many {list(extra)[:3]}, {sum(missing.values())} missing {list(missing)[:3]}")

    # Ways to ask.

    def computed(self, sql):
        return self.rows(sql)

    def by_cursor(self, sql):
        self.rows("BEGIN")
        self.rows(f"DECLARE k CURSOR FOR {sql}")
        found = []
        while True:
            some = self.rows(f"FETCH {self.source.pick(1, 7, 100)} FROM k")
            if not some:
                break
            found += some
        self.rows("COMMIT")
        return found

    def prepared(self, sql):
        self.rows(f"PREPARE q AS {sql}")
        found = self.rows("EXECUTE q")
        again = self.rows("EXECUTE q")
        self.rows("DEALLOCATE q")
        self.agree(again, found, "EXECUTE a second time")
        return found

    def in_changed_transaction(self, sql):
        """Nothing is changed in the end, but rows are written that were there."""
        name = self.source.source()[0]
        self.rows("BEGIN")
        self.rows(f"UPDATE {name} SET id = id")
        found = self.rows(sql)
        self.rows("ROLLBACK")
        return found

    # Oracles.

    def partitioned(self):
        way = self.source.pick(self.computed, self.computed, self.by_cursor, self.prepared, self.in_changed_transaction)
        whole = self.rows(f"SELECT {self.selected} FROM {self.text}")
        parts = [row for part in self.parts() for row in way(f"SELECT {self.selected} FROM {self.text} WHERE {part}")]
        self.agree(parts, whole, f"partition, {way.__name__}")

    def partitioned_together(self):
        """The three parts as one statement."""
        whole = self.rows(f"SELECT {self.selected} FROM {self.text}")
        branches = " UNION ALL ".join(f"SELECT {self.selected} FROM {self.text} WHERE {part}" for part in self.parts())
        self.agree(self.rows(branches), whole, "partition by UNION ALL")

    def partitioned_groups(self):
        selected = f"{self.number} AS g, count(*) AS n, sum({self.number}) AS s, min({self.number}) AS a, max({self.number}) AS z"
        whole = self.rows(f"SELECT {selected} FROM {self.text} GROUP BY 1")
        branches = " UNION ALL ".join(f"SELECT {selected} FROM {self.text} WHERE {part} GROUP BY 1" for part in self.parts())
        self.agree(self.rows(f"SELECT g, sum(n), sum(s), min(a), max(z) FROM ({branches}) b GROUP BY g"), whole, "partition of groups")

    def partitioned_distinct(self):
        whole = self.rows(f"SELECT DISTINCT {self.selected} FROM {self.text}")
        branches = " UNION ".join(f"SELECT DISTINCT {self.selected} FROM {self.text} WHERE {part}" for part in self.parts())
        # Numerics that are equal may be shown in two ways.
        if "." not in "".join(str(value) for row in whole for value in row):
            self.agree(self.rows(branches), whole, "partition of DISTINCT")

    def partitioned_having(self):
        condition = self.source.pick("count(*) > 1", f"sum({self.number}) > 3", f"max({self.number}) < 5")
        whole = self.rows(f"SELECT {self.number} AS g, count(*) FROM {self.text} GROUP BY 1")
        parts = [row for part in (condition, f"NOT ({condition})", f"({condition}) IS NULL")
                 for row in self.rows(f"SELECT {self.number} AS g, count(*) FROM {self.text} GROUP BY 1 HAVING {part}")]
        self.agree(parts, whole, "partition of HAVING")

    def twin(self):
        way = self.source.pick(self.computed, self.by_cursor, self.prepared, self.in_changed_transaction)
        optimised = way(f"SELECT count(*) FROM {self.text} WHERE {self.predicate}")
        plain = self.rows(f"SELECT coalesce(sum(CASE WHEN p THEN 1 ELSE 0 END), 0) FROM (SELECT ({self.predicate}) AS p FROM {self.text}) t")
        self.agree(optimised, plain, f"twin, {way.__name__}")

    def maintained(self):
        """Three maintained views, then changes: they are still the whole."""
        made = []
        try:
            for n, part in enumerate(self.parts()):
                self.rows(f"CREATE MATERIALIZED VIEW p{n} AS SELECT {self.selected} FROM {self.text} WHERE {part}")
                made.append(n)
            for _ in range(3):
                for sql in self.source.change():
                    self.statements.append(sql)
                    self.wire.run(sql)
                if self.wire.in_failed_transaction():
                    self.wire.run("ROLLBACK")
                parts = [row for n in made for row in self.rows(f"SELECT * FROM p{n}")]
                self.agree(parts, self.rows(f"SELECT {self.selected} FROM {self.text}"), "partition by maintained views")
        finally:
            for n in made:
                self.wire.run(f"DROP MATERIALIZED VIEW IF EXISTS p{n}")


ORACLES = [Case.partitioned, Case.partitioned, Case.partitioned_together, Case.partitioned_groups, Case.partitioned_distinct,
           Case.partitioned_having, Case.twin, Case.twin, Case.maintained]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seed", type=int, default=15)
    arguments.add_argument("--count", type=int, default=400)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--case", type=int)
    options = arguments.parse_args()
    passed, failed, skipped, began = 0, 0, 0, time.monotonic()
    with Dogwood() as server:
        wire = Wire(server.dsn)
        # A case stands on what those before it have left in its tables.
        first, last = 0, options.count
        if options.case is not None:
            first, last = options.case - options.case % CASES_A_SCHEMA, options.case + 1
        for number in range(first, last):
            if failed > 20 or time.monotonic() - began > options.seconds:
                break
            schema = number - number % CASES_A_SCHEMA
            if number % CASES_A_SCHEMA == 0:
                tables = Random(f"{options.seed} {schema}")
                drop = [f"DROP TABLE IF EXISTS r{n} CASCADE" for n in range(4)]
                for sql in [*drop, *tables.build()]:
                    wire.run(sql)
            source = Random(f"{options.seed} {number}")
            source.tables = tables.tables
            case = Case(source, wire)
            try:
                source.random.choice(ORACLES)(case)
                passed += 1
            except Skipped:
                skipped += 1
            except Wrong as wrong:
                failed += 1
                print(f"WRONG {wrong}\n    --seed {options.seed} --case {number}\n    " + ";\n    ".join(case.statements), flush=True)
            if not server.alive():
                print("dogwood ended:\n" + server.log.read_text(errors="replace")[-4000:])
                return 1
        log = server.log.read_text(errors="replace")
        panics = log.count("internal error")
    print(f"{passed} passed, {failed + panics} failed, {skipped} say nothing ({passed + failed + skipped} cases, seed {options.seed})")
    return 1 if failed + panics else 0


if __name__ == "__main__":
    sys.exit(main())
