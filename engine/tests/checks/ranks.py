"""Rows up to a rank while rows come and go: the view, the query computed anew, and PostgreSQL's answer are the same.

row_number(), rank() and dense_rank() under bounds of every form, alone and beside other calls of the same window; as materialized views,
and as queries that ask by parameters how far: those have to earn a view, wider ones for greater ranks, and are asked for NULL, for
ranks below 1 and above what any view holds.

    ranks.py [--seed S] [--count N]       N batches of changes (20)
"""
import time

from support.compared_views import FILLED_WITHIN_S, ComparedViews, run_compared

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, g INT, s INT, w TEXT)"
RANKS = {"row_number": "s{direction}, id", "rank": "s{direction}", "dense_rank": "s{direction}"}
BOUNDS = ["n <= 3", "n < 3", "n = 1", "1 = n", "4 >= n", "n BETWEEN 1 AND 2", "n BETWEEN 2 AND 4", "n IN (1, 3)", "n <= 0", "n = 1 OR n <= 2", "n <= 2 AND s > 3"]
BESIDE = ["lag(id) OVER v", "sum(s) OVER v", "count(*) OVER (v ROWS 2 PRECEDING)", "lead(id) OVER v", "first_value(id) OVER v", "ntile(2) OVER v"]
WINDOW = "WINDOW v AS (PARTITION BY g ORDER BY s, id)"
PREPARED = {
    "up_to": ("SELECT g, id, n FROM (SELECT *, {rank} AS n FROM t) r WHERE n <= $1", 1),
    "below": ("SELECT id, w FROM (SELECT *, {rank} AS n FROM t) r WHERE n < $1", 1),
    "one": ("SELECT g, id FROM (SELECT *, {rank} AS n FROM t) r WHERE n = $1", 1),
    "page": ("WITH r AS (SELECT *, {rank} AS n FROM t) SELECT id, n FROM r WHERE n BETWEEN $1 AND $2", 2),
    "of_group": ("SELECT id, n FROM (SELECT *, {rank} AS n FROM t) r WHERE n <= $1 AND g = $2", 2),
    "joined": ("SELECT r.id, o.id FROM (SELECT *, {rank} AS n FROM t) r JOIN t o ON o.id = r.id + 1 WHERE r.n <= $1", 1),
}


def over(name, direction):
    return f"{name}() OVER (PARTITION BY g ORDER BY {RANKS[name].format(direction=direction)})"


def views(dice):
    found = {}
    for name in RANKS:
        for place, bound in enumerate(BOUNDS):
            rank = over(name, dice.choice(["", " DESC", " NULLS FIRST"]))
            columns = dice.choice(["g, id", "id, n", "w", "*"])
            found[f"{name}_{place}"] = f"SELECT {columns} FROM (SELECT *, {rank} AS n FROM t) r WHERE {bound}"
    for place, call in enumerate(BESIDE):
        # Peers and rows behind the bound are seen by some of them.
        found[f"beside_{place}"] = f"SELECT id, n, c FROM (SELECT *, row_number() OVER v AS n, {call} AS c FROM t {WINDOW}) r WHERE n <= 2"
    found["all"] = "SELECT id FROM (SELECT id, rank() OVER (ORDER BY s DESC) AS n FROM t) r WHERE n <= 5"
    found["ties"] = "SELECT id FROM t ORDER BY s FETCH FIRST 4 ROWS WITH TIES"
    found["several"] = f"SELECT id FROM (SELECT id, {over('row_number', '')} AS n, {over('rank', ' DESC')} AS m FROM t) r WHERE n <= 3 AND m <= 4"
    return found


class Ranks(ComparedViews):
    def run(self):
        self.connect()
        self.asking = self.wire()
        self.both(TABLE)
        self.define(views(self.dice))
        self.prepared = {}
        for name, (query, count) in PREPARED.items():
            for kind in RANKS:
                sql = query.format(rank=over(kind, self.dice.choice(["", " DESC"])))
                self.prepared[f"{name}_{kind}"] = count
                for wire in (self.asking, self.ours, self.theirs):
                    if wire:
                        answer = wire.run(f"PREPARE {name}_{kind} ({', '.join(['int'] * count)}) AS {sql}")
                        self.tally.that(not answer.error, sql, answer)
        for batch in range(self.options.count):
            for _ in range(self.dice.randint(1, 10)):
                self.both(self.change())
            if batch == 1:
                self.earned()
            if batch == self.options.count // 2:
                self.both("DELETE FROM t WHERE g = 1")
            self.compare_all(batch)
            for name, count in self.prepared.items():
                self.ask(name, count, batch)
        ready = self.ours.run("SELECT name FROM dogwood.views WHERE kind = 'automatic' AND stage = 'ready'").rows
        self.tally.that(len(ready) > 12, "queries by rank have views", ready)

    def ask(self, name, count, batch):
        far = self.dice.choice([1, 2, 3, 5, 16, 17, 100, 5000, 0, -1, "NULL"])
        values = [far] if count == 1 else [self.dice.randint(0, 3), far] if name.startswith("page") else [far, self.dice.randint(1, 4)]
        sql = f"EXECUTE {name} ({', '.join(map(str, values))})"
        self.agree(sql, self.asking.run(sql), f"batch {batch}, {name} {values}")

    def earned(self):
        """Every prepared query earns its view."""
        for far in (3, 20):
            for name, count in self.prepared.items():
                for _ in range(6):
                    self.asking.run(f"EXECUTE {name} ({', '.join([str(far)] * count)})")
        self.filled(self.asking)
        for name, count in self.prepared.items():
            # One that was just asked for is not listed yet.
            until = time.monotonic() + FILLED_WITHIN_S
            shown = ""
            while "automatic view" not in shown and time.monotonic() < until:
                lines = self.asking.run(f"EXPLAIN EXECUTE {name} ({', '.join(['3'] * count)})").rows
                shown = b" ".join(line for (line,) in lines).decode()
                time.sleep(0.01)
            self.tally.that("automatic view" in shown and "TopK" in shown, f"{name} reads a view of first rows", shown)

    def change(self):
        kind, key = self.dice.random(), self.dice.randint(1, 120)
        values = lambda key: f"({key}, {self.dice.randint(1, 4)}, {self.dice.choice(['NULL', *range(8)])}, '{self.dice.choice('abc')}')"  # noqa: E731
        if kind < 0.55:
            listed = ", ".join(values(key + place) for place in range(self.dice.choice([1, 1, 3, 12])))
            return f"INSERT INTO t VALUES {listed} ON CONFLICT (id) DO NOTHING"
        which = self.dice.choice([f"id = {key}", f"id BETWEEN {key} AND {key + 6}", f"s = {self.dice.randint(0, 7)} AND g = {self.dice.randint(1, 4)}"])
        if kind < 0.75:
            return f"DELETE FROM t WHERE {which}"
        changed = self.dice.choice([f"s = {self.dice.randint(0, 7)}", "s = s + 1", f"g = {self.dice.randint(1, 4)}", "w = w || 'x'"])
        return f"UPDATE t SET {changed} WHERE {which}"


if __name__ == "__main__":
    run_compared(Ranks, 20)
