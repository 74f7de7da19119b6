"""Materialized views while rows come and go, compared: what a view holds, its query computed anew, and PostgreSQL's answer are the same."""
import time

from harness import Check, options, run_check
from harness.compared import Wire, left_out, postgres_if_there

FILLED_WITHIN_S = 60


def of_postgres(statements):
    """Tables of personal data as PostgreSQL has them: rows go with their person."""
    return [line.replace("DATA_SUBJECT ", "").replace("OWNED_BY people(id)", "REFERENCES people(id) ON DELETE CASCADE") for line in statements]


def shown(answer):
    return answer.error or sorted(answer.rows, key=repr)


class ComparedViews(Check):
    """Its `run` makes tables and views, and changes rows; `agree` and `compare` say what is to be the same."""

    def __init__(self, options, postgres):
        super().__init__(options)
        self.theirs = postgres and Wire(postgres.dsn)
        self.wrong = set()

    def wire(self):
        return Wire(f"host=127.0.0.1 port={self.server.port} user=controller password={self.server.password()} dbname=dogwood sslmode=disable")

    def connect(self):
        """A connection on which queries are computed."""
        self.ours = self.wire()
        self.ours.run("SET dogwood.auto_views = off")

    def both(self, sql, theirs=None):
        answers = [self.ours.run(sql)] + ([self.theirs.run(theirs or sql)] if self.theirs else [])
        self.tally.that(not any(answer.error for answer in answers), sql, answers)

    def define(self, views):
        """Views by their names."""
        self.views = views
        for name, query in views.items():
            answer = self.ours.run(f"CREATE MATERIALIZED VIEW m_{name} AS {query}")
            self.tally.that(not answer.error, f"CREATE MATERIALIZED VIEW m_{name}", f"{answer}: {query}")

    def forget_one(self, people):
        """One of so many people goes with their rows, and comes back without any."""
        person = self.dice.randint(1, people)
        self.both(f"GDPR FORGET people {person}", f"DELETE FROM people WHERE id = {person}")
        self.both(f"INSERT INTO people VALUES ({person})")

    def kill(self):
        self.server.kill()
        self.server.start()
        self.connect()
        self.filled(self.ours)

    def filled(self, wire):
        until = time.monotonic() + FILLED_WITHIN_S
        while time.monotonic() < until and wire.run("SELECT 1 FROM dogwood.views WHERE stage <> 'ready'").rows:
            time.sleep(0.05)

    def compare_all(self, batch):
        """Every view; one that was wrong once is not looked at again."""
        for name, query in self.views.items():
            if name not in self.wrong and not self.agree(query, self.ours.run(f"SELECT * FROM m_{name}"), f"batch {batch}, view {name}", name):
                self.wrong.add(name)

    def agree(self, query, kept, what, name=""):
        """Whether an answer that was kept is the one that is computed, and that PostgreSQL's."""
        anew = self.ours.run(query)
        agreed = self.tally.that(self.is_kept(name, kept, anew), what, f"{kept} but computed {anew}: {query}")
        if self.theirs and self.is_for_postgres(name):
            theirs = self.theirs.run(query)
            agreed &= self.tally.that(self.is_theirs(query, anew, theirs), f"{what}, PostgreSQL's", f"{anew} but PostgreSQL {theirs}: {query}")
        return agreed

    def is_kept(self, name, kept, anew):
        return shown(kept) == shown(anew)

    def is_for_postgres(self, name):
        return True

    def is_theirs(self, query, anew, theirs):
        return shown(anew) == shown(theirs)


def run_compared(check, count):
    """All of such a check: `--seed S` (1) and `--count N`, how many batches of changes."""
    told = options(seed=1, count=count)
    with postgres_if_there() as postgres:
        if not postgres:
            left_out("whether PostgreSQL's answers are the same")
        run_check(check(told, postgres))
