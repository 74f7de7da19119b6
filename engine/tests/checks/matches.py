"""What depends on whether rows match, while they come and go: the view, the query computed anew, and PostgreSQL's answer are the same.

EXISTS, NOT EXISTS, IN, NOT IN and outer joins over few keys with many rows each, by an index and without one, with conditions on either
side, on both, and such as fail for some rows; whole and below groups, first rows and DISTINCT. Rows come, go, and change in columns that
the condition reads; people take theirs along; the server is killed on the way.

    matches.py [--seed S] [--count N]       N batches of changes (24)
"""
from support.compared_views import ComparedViews, of_postgres, run_compared

PEOPLE = 12
OURS = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY)",
    "CREATE TABLE a (id INT PRIMARY KEY, k INT, v INT, owner INT NOT NULL OWNED_BY people(id))",
    "CREATE TABLE b (id INT PRIMARY KEY, k INT, v INT, w TEXT, owner INT NOT NULL OWNED_BY people(id))",
]
THEIRS = of_postgres(OURS)
INDEXES = ["CREATE INDEX a_k ON a (k)", "CREATE INDEX b_k ON b (k)"]
CONDITIONS = {
    "": "none", " AND b.v < 3": "right", " AND b.v > a.v": "both", " AND a.v > 2": "left", " AND b.w IS NULL": "null", " AND b.id <> a.id AND b.v = a.v": "beside",
    " AND b.v < a.v AND b.w = 'x'": "rare", " AND 12 / b.v > 2": "fails", " AND 12 / (b.v - a.v) > 2": "fails_both",
}


def views():
    found = {}
    # An index finds the rows of k; nothing finds those of a sum.
    for how, key in (("looked_up", "b.k = a.k"), ("hashed", "b.k + 0 = a.k + 0")):
        for condition, name in CONDITIONS.items():
            exists = f"EXISTS (SELECT FROM b WHERE {key}{condition})"
            found[f"{how}_exists_{name}"] = f"SELECT a.id, a.v FROM a WHERE {exists}"
            found[f"{how}_not_exists_{name}"] = f"SELECT a.id FROM a WHERE NOT {exists}"
            found[f"{how}_left_{name}"] = f"SELECT a.id, b.id AS other, b.v FROM a LEFT JOIN b ON {key}{condition}"
            found[f"{how}_groups_{name}"] = f"SELECT a.k, a.n FROM (SELECT k, count(*) AS n, max(v) AS v, min(id) AS id FROM a GROUP BY k) a WHERE {exists}"
        found[f"{how}_alone"] = f"SELECT a.id FROM a LEFT JOIN b ON {key} WHERE b.id IS NULL"
        found[f"{how}_counts"] = f"SELECT a.k, count(b.id) AS n, sum(b.v) AS v FROM a LEFT JOIN b ON {key} GROUP BY a.k"
        found[f"{how}_full"] = f"SELECT a.id, b.id AS other FROM a FULL JOIN b ON {key}"
        found[f"{how}_right"] = f"SELECT a.id, b.id AS other FROM a RIGHT JOIN b ON {key} AND a.v > 2"
        found[f"{how}_first"] = f"SELECT a.id FROM (SELECT * FROM a ORDER BY v DESC, id LIMIT 5) a WHERE NOT EXISTS (SELECT FROM b WHERE {key} AND b.v > 4)"
        found[f"{how}_distinct"] = f"SELECT DISTINCT a.k FROM a WHERE EXISTS (SELECT FROM b WHERE {key} AND b.v = 1)"
        found[f"{how}_chain"] = f"SELECT a.id, c.id AS other FROM a JOIN b c ON c.id = a.id WHERE NOT EXISTS (SELECT FROM b WHERE {key} AND b.v > c.v)"
        found[f"{how}_twice"] = f"SELECT a.id FROM a WHERE EXISTS (SELECT FROM b WHERE {key} AND b.v = 2) AND NOT EXISTS (SELECT FROM b WHERE {key} AND b.v = 3)"
    found["in"] = "SELECT id FROM a WHERE k IN (SELECT k FROM b WHERE v > 2)"
    found["not_in"] = "SELECT id FROM a WHERE k NOT IN (SELECT k FROM b WHERE v > 4 AND k IS NOT NULL)"
    found["not_in_null"] = "SELECT id FROM a WHERE k NOT IN (SELECT k FROM b WHERE v > 5)"
    found["own"] = "SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM a b WHERE b.k = a.k AND b.v > a.v)"
    # Whether there is a match is the key's alone: rows that ask come and go, and so do those that answer.
    found["own_alone"] = "SELECT a.id FROM a WHERE EXISTS (SELECT FROM a b WHERE b.k = a.k AND b.v = 1)"
    found["own_none"] = "SELECT a.id FROM a WHERE NOT EXISTS (SELECT FROM a b WHERE b.k = a.k AND b.v = -1)"
    found["own_fails"] = "SELECT a.id FROM a WHERE EXISTS (SELECT FROM a b WHERE b.k = a.k AND 12 / b.v > 2)"
    found["alone_beside"] = "SELECT a.id, c.id AS other FROM a JOIN b c ON c.k = a.k WHERE NOT EXISTS (SELECT FROM b WHERE b.k = a.k AND b.v = 2)"
    found["scalar"] = "SELECT a.id, EXISTS (SELECT FROM b WHERE b.k = a.k AND b.v = 1) AS there FROM a"
    return found


class Matches(ComparedViews):
    def run(self):
        self.connect()
        for ours, theirs in [*zip(OURS, THEIRS), *zip(INDEXES, INDEXES)]:
            self.both(ours, theirs)
        self.both(f"INSERT INTO people SELECT generate_series(1, {PEOPLE})")
        self.define(views())
        for batch in range(self.options.count):
            for _ in range(self.dice.randint(1, 8)):
                sql = self.change()
                if sql.startswith("BEGIN"):
                    for line in sql.split("; "):
                        self.both(line)
                else:
                    self.both(sql)
            if batch % 6 == 4:
                self.forget_one(PEOPLE)
            if batch == self.options.count // 3:
                self.both(f"DELETE FROM {self.dice.choice('ab')} WHERE k = 1")
            if batch == self.options.count * 2 // 3:
                self.both("DELETE FROM b")
            if batch == self.options.count // 2:
                self.kill()
            self.compare_all(batch)

    def is_kept(self, name, kept, anew):
        # A way that reads all of b meets rows that fail beyond those whose key is asked for.
        return super().is_kept(name, kept, anew) or name.endswith("_fails") and bool(kept.error or anew.error)

    def is_for_postgres(self, name):
        # Which pairs are looked at before one decides is PostgreSQL's own affair: whether there is an error then is, too.
        return "fails" not in name

    def change(self):
        kind, key, table = self.dice.random(), self.dice.randint(1, 150), self.dice.choice("abbb")
        value = lambda: self.dice.choice(["NULL", 0, 1, 2, 3, 4, 5, 6, 7] if self.dice.random() < 0.2 else [1, 2, 3, 4, 5, 6, 7])  # noqa: E731
        group = lambda: self.dice.choice(["NULL", 1, 1, 1, 1, 2, 2, 3, 4])  # noqa: E731
        owner = lambda: self.dice.randint(1, PEOPLE)  # noqa: E731
        text = lambda: self.dice.choice(["NULL", "'x'", "'y'", "'z'"])  # noqa: E731
        row = lambda id: f"({id}, {group()}, {value()}, {owner()})" if table == "a" else f"({id}, {group()}, {value()}, {text()}, {owner()})"  # noqa: E731
        if kind < 0.45:
            listed = ", ".join(row(key + place) for place in range(self.dice.choice([1, 1, 3, 20])))
            return f"INSERT INTO {table} VALUES {listed} ON CONFLICT (id) DO NOTHING"
        which = self.dice.choice([f"id = {key}", f"id BETWEEN {key} AND {key + 9}", f"v = {self.dice.randint(0, 7)} AND k = {self.dice.randint(1, 4)}"])
        if kind < 0.65:
            return f"DELETE FROM {table} WHERE {which}"
        if kind < 0.75:
            # Comes and goes in one commit, on both sides.
            return f"BEGIN; UPDATE a SET v = {value()} WHERE {which}; UPDATE b SET v = {value()} WHERE id = {key}; DELETE FROM b WHERE id = {key + 1}; COMMIT"
        changed = self.dice.choice([f"v = {value()}", "v = v + 1", f"k = {group()}", "v = 8 - v"])
        return f"UPDATE {table} SET {changed} WHERE {which}"


if __name__ == "__main__":
    run_compared(Matches, 24)
