"""Aggregates over rows that come and go: the view, the query computed anew, and PostgreSQL's answer are the same.

Every aggregate alone, by group and over all rows, and random ones together: DISTINCT, FILTER, min and max, lists beside sums; and over
window frames. What is computed anew must equal the view to the last byte; PostgreSQL adds doubles in the order of rows, so its last
digits may differ where a sum is not exact.

    aggregates.py [--seed S] [--count N]       N batches of changes (30)
"""
import math
from decimal import Decimal

from support.compared_views import ComparedViews, run_compared, shown

TABLE = """CREATE TABLE t (id INT PRIMARY KEY, g INT, w TEXT, s SMALLINT, i INT, b BIGINT, m NUMERIC(9,2), n NUMERIC, ns NUMERIC,
    f FLOAT8, x FLOAT8, fs FLOAT8, r REAL, v INTERVAL, p BOOL)"""
COLUMNS = "id g w s i b m n ns f x fs r v p".split()
NUMBERS = ["s", "i", "b", "m", "n", "ns", "f", "x", "fs", "r"]

SPREADS = ["var_pop", "var_samp", "stddev_pop", "stddev"]
PAIRS = ["corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_count", "regr_sxx", "regr_syy", "regr_sxy", "regr_slope",
         "regr_intercept", "regr_r2"]
CALLS = (
    ["count(*)"]
    + [f"{name}({column})" for name in ("sum", "avg") for column in [*NUMBERS, "v"]]
    + [f"count({column})" for column in ("i", "n", "w")]
    + [f"{name}({column})" for name in SPREADS for column in NUMBERS]
    + [f"{name}({y}, {x})" for name in PAIRS for y, x in (("f", "r"), ("x", "i"), ("fs", "f"))]
    + [f"{name}({column})" for name in ("bit_and", "bit_or", "bit_xor") for column in ("s", "i", "b")]
    + ["bool_and(p)", "bool_or(p)", "every(i > 0)"]
    + [f"{name}({column})" for name in ("min", "max") for column in ("i", "m", "w", "v", "fs")]
)
DISTINCT = (
    [f"count(DISTINCT {column})" for column in [*NUMBERS, "v", "w", "p", "(s, p)"]]
    + [f"{name}(DISTINCT {column})" for name in ("sum", "avg") for column in ("s", "i", "m", "n", "ns", "f", "fs", "v")]
    + ["bit_xor(DISTINCT s)", "stddev(DISTINCT m)", "sum(DISTINCT i % 3)", "var_pop(DISTINCT f)", "regr_sxy(DISTINCT f, r)", "max(DISTINCT i)"]
)
LISTS = [
    "mode() WITHIN GROUP (ORDER BY w)", "mode() WITHIN GROUP (ORDER BY s DESC)", "percentile_disc(0.3) WITHIN GROUP (ORDER BY i)",
    "percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY m DESC)", "percentile_cont(0.25) WITHIN GROUP (ORDER BY v)",
    "array_agg(DISTINCT s)", "jsonb_agg(i ORDER BY id)", "json_object_agg(id, w ORDER BY id)", "string_agg(w, ',' ORDER BY id)", "array_agg(i ORDER BY i, id)", "string_agg(DISTINCT w, ',' ORDER BY w)", "percentile_cont(0.5) WITHIN GROUP (ORDER BY f)"]
FRAMES = [
    "sum(n) OVER (PARTITION BY g ORDER BY id)", "sum(f) OVER (PARTITION BY g ORDER BY id ROWS 2 PRECEDING)",
    "avg(m) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING)", "sum(v) OVER (PARTITION BY g ORDER BY s, id)",
    "sum(ns) OVER (ORDER BY id ROWS 3 PRECEDING)", "stddev(m) OVER (PARTITION BY w)",
    "sum(i) OVER (PARTITION BY g ORDER BY s GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING)", "bit_or(i) OVER (PARTITION BY g ORDER BY id)",
    "count(n) FILTER (WHERE p) OVER (PARTITION BY g ORDER BY id ROWS 2 PRECEDING)", "avg(fs) OVER (PARTITION BY g ORDER BY id ROWS 1 PRECEDING)",
]
FLOATS = (700, 701)
NUMERIC = 1700


def definitions(dice):
    """Queries by name."""
    found = {}
    listed = dice.sample([*CALLS, *DISTINCT], len(CALLS) + len(DISTINCT))
    # Alone, where nothing else keeps the group; then several, of which each may hide another's rows.
    for place, call in enumerate(listed[:24]):
        found[f"one_{place}"] = [call], dice.choice(["g", "w", None])
    for place in range(0, len(listed) - 24, 8):
        found[f"all_{place}"] = listed[24 + place:32 + place], dice.choice(["g", "g", "w", None])
    for place in range(16):
        calls = dice.sample(CALLS, 2) + dice.sample(DISTINCT, 2) + dice.sample(LISTS, place % 4 == 0)
        filters = ["", "", " FILTER (WHERE p)", " FILTER (WHERE i > 0)", " FILTER (WHERE 100 / i > 3)"]
        calls = [call + dice.choice(filters[:4] if "/" in call else filters) for call in calls]
        found[f"mixed_{place}"] = dice.sample(calls, len(calls)), dice.choice(["g", "w", None])
    for place, call in enumerate(LISTS):
        found[f"list_{place}"] = [call, *dice.sample(["count(*)", "max(i)", "sum(n)"], place % 3)], dice.choice(["g", "w", None])
        found[f"listed_{place}"] = [call + " FILTER (WHERE p)", "count(DISTINCT s)", dice.choice(LISTS)], dice.choice(["g", "w", None])
    queries = {}
    for name, (calls, key) in found.items():
        shown = ", ".join(f"{call} AS a{place}" for place, call in enumerate(calls))
        # No row is zero there, so that the filter that divides fails for none.
        queries[name] = f"SELECT {key}, {shown} FROM t WHERE i <> 0 GROUP BY {key}" if key else f"SELECT {shown} FROM t WHERE i <> 0"
    for place, frame in enumerate(FRAMES):
        queries[f"frame_{place}"] = f"SELECT id, {frame} AS a0 FROM t"
    return queries


def row(dice, key):
    some = lambda value, chance=0.1: "NULL" if dice.random() < chance else str(value)  # noqa: E731
    decimal = lambda: dice.choice(["0", "1.0", "1.00", "-2.5", "7", "0.125", "12345678901234567890.5", "-1e30", f"{dice.randint(-99, 99)}.{dice.randint(0, 999)}"])  # noqa: E731
    special = dice.random() < 0.15
    return [
        key, dice.randint(1, 4), some(f"'{dice.choice('abcd')}'"), some(dice.randint(-9, 9)), dice.choice([-3, -1, 1, 2, 5, dice.randint(-2**31, 2**31 - 1)]),
        some(dice.choice([0, 1, -1, dice.randint(-2**63, 2**63 - 1)])), some(dice.randint(-10**5, 10**5) / 100), some(decimal()),
        some(f"'{dice.choice(['NaN', 'Infinity', '-Infinity'])}'" if special else decimal()), some(dice.randint(-999, 999) / 4),
        some(dice.choice([dice.random(), dice.gauss(0, 1e6), dice.random() * 1e-9])),
        some(f"'{dice.choice(['NaN', 'Infinity', '-Infinity'])}'" if special else dice.choice([0, dice.randint(-9, 9) / 2])), some(dice.randint(-99, 99) / 8),
        some(f"'{dice.randint(-20, 20)} months {dice.randint(-40, 40)} days {dice.randint(-10**6, 10**6)} seconds'"), some(dice.choice(["true", "false"])),
    ]


def change(dice):
    """One statement."""
    kind, key = dice.random(), dice.randint(1, 90)
    if kind < 0.5:
        listed = ", ".join("(" + ", ".join(map(str, row(dice, key + place))) + ")" for place in range(dice.choice([1, 1, 2, 6])))
        return f"INSERT INTO t VALUES {listed} ON CONFLICT (id) DO NOTHING"
    which = dice.choice([f"id = {key}", f"id BETWEEN {key} AND {key + 5}", f"g = {dice.randint(1, 4)} AND id % 3 = 0"])
    if kind < 0.75:
        return f"DELETE FROM t WHERE {which}"
    column, value = dice.choice(list(zip(COLUMNS, row(dice, key)))[1:])
    return f"UPDATE t SET {column} = {value} WHERE {which}"


def near(ours, theirs, kind, distinct):
    """Whether PostgreSQL's value is this one, but for what the order of rows decides there: digits of floats, and which of equal
    numerics a DISTINCT keeps, whose scale the answer has."""
    if ours == theirs:
        return True
    if ours is None or theirs is None:
        return False
    if kind in FLOATS:
        ours, theirs = float(ours), float(theirs)
        return math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-6) or math.isnan(ours) and math.isnan(theirs)
    if kind == NUMERIC and distinct:
        ours, theirs = Decimal(ours.decode()), Decimal(theirs.decode())
        return ours.is_finite() and theirs.is_finite() and abs(ours - theirs) <= abs(theirs) * Decimal("1e-15")
    return False


class Aggregates(ComparedViews):
    def both(self, sql):
        answers = [wire.run(sql) for wire in (self.ours, self.theirs) if wire]
        if len({answer.error for answer in answers}) != 1:
            self.tally.that(False, sql, f"{answers}")
        return answers[0]

    def run(self):
        self.connect()
        self.both(TABLE)
        self.define(definitions(self.dice))
        for batch in range(self.options.count):
            for _ in range(self.dice.randint(1, 12)):
                sql = change(self.dice)
                answer = self.both(sql)
                self.tally.that(not answer.error, sql, answer)
            if batch == self.options.count // 2:
                self.both("DELETE FROM t")
            if batch == self.options.count // 2 + 3:
                self.kill()
            self.compare_all(batch)

    def is_theirs(self, query, anew, theirs):
        if anew.error or theirs.error or anew.types != theirs.types or len(anew.rows) != len(theirs.rows):
            return False
        # Sorted by the group, which stands first.
        ours, rows = (sorted(shown(answer), key=lambda row: repr(row[0])) for answer in (anew, theirs))
        return all(near(*values, "DISTINCT" in query) for pair in zip(ours, rows) for values in zip(*pair, anew.types))


if __name__ == "__main__":
    run_compared(Aggregates, 30)
