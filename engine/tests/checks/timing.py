"""How long an answer takes does not tell whether somebody, or a row, is there that whoever asks may not see.

What is absent and what is forbidden are asked for in turn, by random order, and their times compared by ranks: of two answers, one
of each, either is the longer one as often as the other. Noise of the machine makes both alike, and so hides nothing but a leak.

    timing.py [--seed S] [--rounds N]      N of each (400)
"""
import time

import psycopg

from harness import Check, options, run_check

# How far from one half the share may be. Of 400 rounds chance alone gives 0.02.
SHARE_MAX = 0.12

SCHEMA = [
    "CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT, mail TEXT UNIQUE)",
    "CREATE TABLE notes (id INT PRIMARY KEY, body TEXT, team TEXT, author INT NOT NULL OWNED_BY users(id))",
    "CREATE INDEX ON notes (team)",
    "CREATE TABLE closed (id INT PRIMARY KEY, body TEXT)",
    "INSERT INTO users SELECT n, 'name' || n, 'mail' || n FROM generate_series(1, 200) n",
    "INSERT INTO notes SELECT n, 'body' || n, 'team' || n % 50, 1 + n % 200 FROM generate_series(1, 2000) n",
    "INSERT INTO closed SELECT n, 'body' || n FROM generate_series(1, 200) n",
    "CREATE USER ada FOR users 1",
    "CREATE USER ben FOR users 2",
    "GRANT UPDATE (name) ON users TO dogwood_subject",
    "GRANT UPDATE (body) ON notes TO dogwood_subject",
    "CREATE ROLE desk LOGIN",
    "GRANT SELECT, UPDATE, DELETE ON notes TO desk",
    "CREATE POLICY own ON notes USING (team = 'team7')",
    "ALTER TABLE notes ENABLE ROW LEVEL SECURITY",
]

# By whom, and what: of something that is not there, and of something that is not for them.
PAIRS = [
    ("ada", "GDPR GET users {}", 937, 137),
    ("ada", "EXPLAIN GDPR FORGET users {}", 937, 137),
    ("ada", "COPY (GDPR EXPORT users {}) TO STDOUT", 937, 137),
    ("ada", "GDPR FORGET users {}", 937, 137),
    ("ada", "SELECT count(*) FROM audit_about('users', '{}')", 937, 137),
    ("ada", "SELECT name FROM users WHERE id = {}", 937, 137),
    ("ada", "SELECT name FROM users WHERE mail = 'mail{}'", 937, 137),
    ("ada", "SELECT body FROM notes WHERE id = {}", 9937, 137),
    ("ada", "UPDATE notes SET body = 'x' WHERE id = {}", 9937, 137),
    ("ada", "SET ROLE {}", "bex", "ben"),
    ("ada", "SELECT pg_has_role('{}', 'USAGE')", "bex", "ben"),
    ("desk", "SELECT body FROM closed WHERE id = {}", 937, 137),
    ("desk", "SELECT body FROM notes WHERE id = {}", 9937, 137),
    ("desk", "SELECT body FROM notes WHERE team = 'team{}'", 937, 137),
    ("desk", "UPDATE notes SET body = 'x' WHERE id = {}", 9937, 137),
    ("desk", "DELETE FROM notes WHERE id = {}", 9937, 137),
]


def share(first, second):
    """Of how many of all pairs the second takes longer: half of them where nothing is to be told."""
    ranked = sorted([(took, 0) for took in first] + [(took, 1) for took in second])
    ranks = sum(rank for rank, (_, which) in enumerate(ranked) if which)
    count = len(second)
    return (ranks - count * (count - 1) / 2) / (len(first) * count)


class Timing(Check):
    def run(self):
        self.set_up(SCHEMA)
        self.tally.case(self.pairs)
        self.tally.case(self.plans)

    def pairs(self):
        for user, statement, absent, forbidden in PAIRS:
            with self.server.connect(user=user) as connection:
                found = self.compared(connection, statement, absent, forbidden)
                self.tally.that(abs(found - 0.5) < SHARE_MAX, f"{user}: {statement}", f"{found:.2f} of {forbidden} take longer than {absent}")

    def compared(self, connection, statement, absent, forbidden):
        """The share, and that both say the same."""
        times, said = {absent: [], forbidden: []}, {absent: set(), forbidden: set()}
        for round_ in range(-30, self.options.rounds):
            order = [absent, forbidden]
            self.dice.shuffle(order)
            for asked in order:
                text = statement.format(asked)
                began = time.perf_counter()
                answer = self.answer(connection, text)
                took = time.perf_counter() - began
                said[asked].add(answer.replace(str(asked), "…"))
                if round_ >= 0:
                    times[asked].append(took)
        self.tally.equal(said[forbidden], said[absent], f"what {statement} says")
        return share(times[absent], times[forbidden])

    def answer(self, connection, text):
        try:
            if text.startswith("COPY"):
                with connection.cursor() as cursor, cursor.copy(text) as copy:
                    return str(list(copy))
            cursor = connection.execute(text)
            return str(cursor.fetchall()) if cursor.description else cursor.statusmessage
        except psycopg.Error as error:
            return f"{error.sqlstate} {error.diag.message_primary}"

    def plans(self):
        """EXPLAIN ANALYZE has no times where rows are hidden from whoever asks."""
        for user, timed in (("desk", False), ("controller", True)):
            with self.server.connect(user=user) as connection:
                lines = [line for (line,) in connection.execute("EXPLAIN ANALYZE SELECT body FROM notes WHERE id = 3")]
                self.tally.equal(any("actual time" in line for line in lines), timed, f"{user}: times of operators")
                self.tally.equal(any("Execution Time" in line for line in lines), timed, f"{user}: the whole time")


if __name__ == "__main__":
    run_check(Timing(options(20261129, rounds=400)))
