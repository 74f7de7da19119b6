"""Window calls while rows come and go: the view, the query computed anew, and PostgreSQL's answer are the same.

Calls that see few neighbours, all before them, or the whole partition, alone and together, over ties, NULLs, values written in several
ways and rows that are there twice; calls that fail for some rows. Partitions empty and come back; people take their rows along; the server
is killed on the way.

    windows.py [--seed S] [--count N]       N batches of changes (24)
"""
from support.compared_views import ComparedViews, of_postgres, run_compared

PEOPLE = 9
OURS = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY)",
    "CREATE TABLE t (id INT PRIMARY KEY, g INT, s INT, n NUMERIC, f FLOAT8, w TEXT, owner INT NOT NULL OWNED_BY people(id))",
]
THEIRS = of_postgres(OURS)
# Of any order: those of peers that see each other's order are left to orders without peers.
WITH_TIES = [
    "rank() OVER ({})", "dense_rank() OVER ({})", "sum(s) OVER ({})", "count(*) OVER ({})", "max(s) OVER ({})", "avg(n) OVER ({})", "percent_rank() OVER ({})", "cume_dist() OVER ({})",
    "count(s) OVER ({} RANGE BETWEEN CURRENT ROW AND CURRENT ROW)", "sum(s) OVER ({} GROUPS 1 PRECEDING)", "count(*) OVER ({} RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "sum(n) OVER ({} GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING)", "min(f) OVER ({})", "count(*) FILTER (WHERE s > 3) OVER ({})", "bool_or(s > 6) OVER ({})",
    "sum(s) OVER ({} RANGE UNBOUNDED PRECEDING EXCLUDE CURRENT ROW)", "count(*) OVER ({} GROUPS 1 PRECEDING EXCLUDE GROUP)", "sum(n) OVER ({} RANGE UNBOUNDED PRECEDING EXCLUDE TIES)",
    "max(s) OVER ({} GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP)",
]
BY_ROWS = [
    "row_number() OVER ({})", "lag(s) OVER ({})", "lead(s) OVER ({})", "lag(w, 3, 'none') OVER ({})", "lead(n, 2) OVER ({})", "lag(s, 0) OVER ({})", "lag(s, -2) OVER ({})", "lag(s, s) OVER ({})",
    "first_value(id) OVER ({})", "last_value(s) OVER ({})", "last_value(id) OVER ({} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)", "nth_value(id, 2) OVER ({})", "ntile(3) OVER ({})",
    "sum(s) OVER ({} ROWS 2 PRECEDING)", "sum(n) OVER ({} ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING)", "avg(f) OVER ({} ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING)",
    "count(*) OVER ({} ROWS BETWEEN 2 FOLLOWING AND 3 FOLLOWING)", "max(s) OVER ({} ROWS UNBOUNDED PRECEDING)", "string_agg(w, '') OVER ({} ROWS 3 PRECEDING)", "array_agg(id) OVER ({} ROWS UNBOUNDED PRECEDING)",
    "sum(f) OVER ({} ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)", "first_value(w) OVER ({} ROWS 1 PRECEDING)",
    "sum(s) OVER ({} ROWS BETWEEN 2000 PRECEDING AND CURRENT ROW)", "nth_value(s, 3) OVER ({} ROWS 4 PRECEDING)",
    "sum(s) OVER ({} ROWS 2 PRECEDING EXCLUDE CURRENT ROW)", "first_value(id) OVER ({} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW)", "max(s) OVER ({} ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW)",
    "array_agg(id) OVER ({} ROWS 2 PRECEDING EXCLUDE GROUP)", "sum(n) OVER ({} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES)",
]
FAILING = ["lag(12 / s) OVER ({})", "sum(12 / s) OVER ({} ROWS 2 PRECEDING)", "sum(12 / s) OVER ({})", "lead(12 / (s - 1), 2) OVER ({})", "first_value(12 / s) OVER ({})", "count(*) FILTER (WHERE 12 / s > 2) OVER ({} ROWS 1 PRECEDING)"]
RANGES = ["sum(s) OVER ({}s RANGE 2 PRECEDING)", "count(*) OVER ({}s RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)", "count(*) OVER ({}s DESC RANGE BETWEEN 3 PRECEDING AND 1 PRECEDING)", "sum(n) OVER ({}n RANGE 1.5 PRECEDING)"]


def views(dice):
    found = {}
    partition = lambda: dice.choice(["PARTITION BY g ", "PARTITION BY g ", "PARTITION BY w ", ""])  # noqa: E731
    tied = lambda: f"{partition()}ORDER BY {dice.choice(['s', 's DESC', 'n', 'w, s', 's NULLS FIRST'])}"  # noqa: E731
    unique = lambda: f"{partition()}ORDER BY {dice.choice(['id', 's, id', 'n DESC, id DESC', 'w, f, id'])}"  # noqa: E731
    for place, call in enumerate(WITH_TIES):
        found[f"tied_{place}"] = f"SELECT id, {call.format(tied())} AS c FROM t"
    for place, call in enumerate(BY_ROWS):
        found[f"rows_{place}"] = f"SELECT id, w, {call.format(unique())} AS c FROM t"
    for place, call in enumerate(RANGES):
        found[f"range_{place}"] = f"SELECT id, {call.format(partition() + 'ORDER BY ')} AS c FROM t"
    for place in range(16):
        window = unique()
        calls = dice.sample(BY_ROWS + WITH_TIES, dice.randint(2, 4))
        shown = ", ".join(f"{call.format(window)} AS c{number}" for number, call in enumerate(calls))
        found[f"several_{place}"] = f"SELECT id, {shown} FROM t"
    for place, call in enumerate(FAILING):
        found[f"fails_{place}"] = f"SELECT id, {call.format(unique())} AS c FROM t"
    # Rows that are equal, and one that only the numbers of rows tell apart.
    for place, call in enumerate(["row_number() OVER (PARTITION BY g ORDER BY s)", "count(*) OVER (PARTITION BY g ORDER BY s ROWS 1 PRECEDING)", "lag(s) OVER (PARTITION BY g ORDER BY s)", "sum(s) OVER (ORDER BY s, g)"]):
        found[f"copies_{place}"] = f"SELECT g, s, {call} AS c FROM (SELECT g, s FROM t) r"
    found["constant"] = "SELECT id, count(*) OVER () AS c FROM t"
    found["above"] = "SELECT g, sum(rise) AS risen FROM (SELECT g, s - lag(s) OVER (PARTITION BY g ORDER BY id) AS rise FROM t) r GROUP BY g"
    return found


class Windows(ComparedViews):
    def run(self):
        self.connect()
        for ours, theirs in zip(OURS, THEIRS):
            self.both(ours, theirs)
        self.both(f"INSERT INTO people SELECT generate_series(1, {PEOPLE})")
        self.define(views(self.dice))
        for batch in range(self.options.count):
            for _ in range(self.dice.randint(1, 8)):
                self.both(self.change())
            if batch % 6 == 4:
                self.forget_one(PEOPLE)
            if batch == self.options.count // 3:
                self.both("DELETE FROM t WHERE g = 1")
            if batch == self.options.count * 2 // 3:
                self.both("DELETE FROM t")
            if batch == self.options.count // 2:
                self.kill()
            self.compare_all(batch)

    def change(self):
        kind, key = self.dice.random(), self.dice.randint(1, 120)
        number = lambda: self.dice.choice(["NULL", 0, *range(1, 9)] if self.dice.random() < 0.15 else range(1, 9))  # noqa: E731
        group = lambda: self.dice.choice(["NULL", 1, 1, 1, 2, 3])  # noqa: E731
        decimal = lambda: self.dice.choice(["NULL", "1.0", "1.00", "1", "-2.5", "7.25", "0", "'NaN'"])  # noqa: E731
        double = lambda: self.dice.choice(["NULL", "0", "0.5", "2.25", "-3"])  # noqa: E731
        text = lambda: self.dice.choice(["NULL", "'x'", "'y'", "'z'"])  # noqa: E731
        row = lambda id: f"({id}, {group()}, {number()}, {decimal()}, {double()}, {text()}, {self.dice.randint(1, PEOPLE)})"  # noqa: E731
        if kind < 0.5:
            listed = ", ".join(row(key + place) for place in range(self.dice.choice([1, 1, 1, 3, 15])))
            return f"INSERT INTO t VALUES {listed} ON CONFLICT (id) DO NOTHING"
        which = self.dice.choice([f"id = {key}", f"id = {key}", f"id BETWEEN {key} AND {key + 6}", f"s = {self.dice.randint(0, 8)} AND g = {self.dice.randint(1, 3)}"])
        if kind < 0.7:
            return f"DELETE FROM t WHERE {which}"
        changed = self.dice.choice([f"s = {number()}", "s = s + 1", f"g = {group()}", f"n = {decimal()}", f"w = {text()}", f"f = {double()}", "s = 9 - s"])
        return f"UPDATE t SET {changed} WHERE {which}"


if __name__ == "__main__":
    run_compared(Windows, 24)
