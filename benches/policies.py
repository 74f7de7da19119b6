"""A controller's statements over whole classes of records, as GDPRbench makes them: 4,000 of 100,000 by purpose, 10 by user.

    policies.py [--records N] [--seconds N] [--clients N] [--only NAME,NAME] [--json FILE]

Beside PostgreSQL 15 with nine indexes, in the same run, in turn; durable in both. Rates are statements a second, over all clients,
beside them the milliseconds of processor time that a statement took. What both hold is compared at the end of each statement's turn.
"""
import argparse
import os
import random
import sys
import threading
import time
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).parent.parent / "engine/tests/checks"))
from harness.compared import Dogwood, Postgres  # noqa: E402
from results_file import ResultsFile  # noqa: E402

PURPOSES = 25
COLUMNS = ("ycsb_key", "pur", "ttl", "usr", "obj", "dec", "acl", "shr", "src", "cat", "data")
ANNOTATED = {"pur": "PURPOSES", "ttl": "", "obj": "OBJECTIONS", "dec": "DECISIONS", "acl": "", "shr": "SHARED_WITH", "src": "ORIGIN", "cat": "CATEGORY"}
INDEXED = ("pur", "ttl", "obj", "dec", "acl", "shr", "src", "cat", "usr")
# What is set, by what is found: by purpose some 4,000 rows, by user ten.
STATEMENTS = {
    "set TTL by purpose": "UPDATE usertable SET ttl = %(value)s WHERE pur = %(purpose)s",
    "set objections by purpose": "UPDATE usertable SET obj = %(value)s WHERE pur = %(purpose)s",
    "set decisions by purpose": "UPDATE usertable SET dec = %(value)s WHERE pur = %(purpose)s",
    "set sharing by purpose": "UPDATE usertable SET shr = %(value)s WHERE pur = %(purpose)s",
    "set category by purpose": "UPDATE usertable SET cat = %(value)s WHERE pur = %(purpose)s",
    "change of owner by purpose": "UPDATE usertable SET usr = %(user)s WHERE pur = %(purpose)s",
    "set objections by user": "UPDATE usertable SET obj = %(value)s WHERE usr = %(other)s",
}


class Bench:
    def __init__(self, options):
        self.options = options
        self.results = ResultsFile(options.json, f"{options.records:,} records, {options.clients} clients")
        self.users = options.records // 10

    def load(self, server, ours):
        subject, owned, annotated = ("DATA_SUBJECT ", "OWNED_BY", ANNOTATED) if ours else ("", "REFERENCES", {})
        columns = ", ".join(f"{name} text {annotated.get(name, '')}" for name in COLUMNS[1:] if name != "usr")
        with psycopg.connect(server.dsn, autocommit=True) as one:
            one.execute("SET statement_timeout = 0")
            one.execute(f"CREATE {subject}TABLE person (id text PRIMARY KEY)")
            one.execute(f"CREATE TABLE usertable (ycsb_key text PRIMARY KEY, usr text NOT NULL {owned} person(id), {columns})")
            for name in INDEXED:
                one.execute(f"CREATE INDEX ON usertable ({name})")
            with one.cursor().copy("COPY person FROM STDIN") as copy:
                for number in range(self.users):
                    copy.write_row((f"user{number}",))
            with one.cursor().copy(f"COPY usertable ({', '.join(COLUMNS)}) FROM STDIN") as copy:
                for number in range(self.options.records):
                    copy.write_row((f"key{number}", f"purpose{number % PURPOSES}", "3600", f"user{number // 10}", "objection0", "decision0", "acl0",
                                    "shared0", "source0", "category0", f"{number:0100d}"))
            one.execute("ANALYZE")

    def processor(self, server):
        """Milliseconds that a server's processes have worked, those that have ended included."""
        main = server.process.pid if isinstance(server, Dogwood) else int((server.folder / "data/postmaster.pid").read_text().split()[0])
        numbers = lambda pid: Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks = sum(map(int, numbers(main)[11:15]))
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and (found := numbers(process.name))[1] == str(main):
                    ticks += int(found[11]) + int(found[12])
            except FileNotFoundError:
                pass
        return 1000 * ticks / os.sysconf("SC_CLK_TCK")

    def rate(self, server, sql):
        """Statements a second, each client over purposes and users of its own; and processor time of each."""
        done, failed = [0] * self.options.clients, []

        def work(client):
            dice = random.Random(client)
            mine = [purpose for purpose in range(PURPOSES) if purpose % self.options.clients == client]
            with psycopg.connect(server.dsn, autocommit=True) as one:
                barrier.wait()
                until = time.perf_counter() + self.options.seconds
                while time.perf_counter() < until:
                    number = done[client]
                    values = {"value": f"value{number}", "purpose": f"purpose{mine[number % len(mine)]}", "user": f"user{dice.randrange(self.users)}",
                              "other": f"user{dice.randrange(self.users) // self.options.clients * self.options.clients + client}"}
                    try:
                        one.execute(sql, values)
                        done[client] += 1
                    except psycopg.Error as error:
                        failed.append(f"{error.sqlstate} {error}")

        barrier = threading.Barrier(self.options.clients + 1)
        threads = [threading.Thread(target=work, args=(client,)) for client in range(self.options.clients)]
        [thread.start() for thread in threads]
        barrier.wait()
        worked, began = self.processor(server), time.perf_counter()
        [thread.join() for thread in threads]
        if failed:
            print(f"  {len(failed)} failed, the first: {failed[0]}", flush=True)
        return sum(done) / (time.perf_counter() - began), (self.processor(server) - worked) / max(1, sum(done))

    def counts(self, server):
        with psycopg.connect(server.dsn, autocommit=True) as one:
            return one.execute("SELECT count(*), count(DISTINCT ycsb_key), min(length(data)) FROM usertable").fetchone()

    def run(self):
        wanted = [name for name in STATEMENTS if not self.options.only or any(part in name for part in self.options.only.split(","))]
        print(f"{self.options.records:,} records of {self.users:,} users, {PURPOSES} purposes, {self.options.clients} clients; load {os.getloadavg()[0]:.1f}")
        print("| statement | Dogwood | PostgreSQL 15 | ratio | processor: Dogwood | PostgreSQL 15 |\n|---|---:|---:|---:|---:|---:|")
        with Dogwood() as ours, Postgres(Postgres.MEASURED) as theirs:
            self.load(ours, True)
            self.load(theirs, False)
            for name in wanted:
                rates, worked = zip(*(self.rate(server, STATEMENTS[name]) for server in (ours, theirs)))
                if self.counts(ours) != self.counts(theirs):
                    sys.exit(f"{name}: {self.counts(ours)} against {self.counts(theirs)}")
                self.results.add(name, "/s", dogwood=rates[0], postgresql=rates[1])
                self.results.add(f"{name}: processor time", "ms", dogwood=worked[0], postgresql=worked[1])
                print(f"| {name} | {rates[0]:,.2f} | {rates[1]:,.2f} | {rates[0] / rates[1]:.2f} | {worked[0]:,.1f} ms | {worked[1]:,.1f} ms |", flush=True)
            print(f"load {os.getloadavg()[0]:.1f} at the end")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    bench = Bench(options)
    bench.run()
    bench.results.write()


if __name__ == "__main__":
    main()
