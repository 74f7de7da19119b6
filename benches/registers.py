"""How long each register and a question about a breach take, over many people: at first, again, and after some writes.

    registers.py [--people N] [--rounds N] [--at-once] [--json FILE]

Each number is checked against what was loaded. Times are milliseconds until the last row has arrived; of the rounds counts the best,
with the worst beside it, and the processor time that the server took for the best. What the server counts ahead after the load and
after a start is waited for, and how long that took is told; with --at-once the first register is asked for when the load has ended.
"""
import argparse
import os
import random
import sys
import time
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).parent.parent / "engine/tests/checks"))
from harness.server import Server  # noqa: E402
from results_file import ResultsFile  # noqa: E402

SCHEMA = """
CREATE DATA_SUBJECT TABLE person (id int PRIMARY KEY, name text, kind text CATEGORY);
CREATE TABLE contact (id int PRIMARY KEY, person int NOT NULL OWNED_BY person(id), phone text, purposes text[] PURPOSES, objections text OBJECTIONS,
    region text REGION, kind text CATEGORY, basis text BASIS, origin text ORIGIN, shared text SHARED_WITH, until timestamptz EXPIRES);
CREATE TABLE note (id int PRIMARY KEY, person int NOT NULL OWNED_BY person(id), body text);
CREATE PURPOSE p0; CREATE PURPOSE p1; CREATE PURPOSE p2;
"""
FILL = {
    "person": "SELECT n, 'name ' || n, 'kind' || n % 3",
    "contact": """SELECT n, n, '0151' || n, ARRAY['p' || n % 3, 'p' || n % 4], CASE n % 10 WHEN 0 THEN 'p1' END, 'eu', 'kind' || n % 5, 'contract',
                  'shop' || n % 20, 'bank' || n % 7, '2100-01-01'::timestamptz + n % 365 * interval '1 day'""",
    "note": "SELECT n, n, 'body ' || n",
}
REGISTERS = {
    "dogwood.inventory": "SELECT row_count, subject_count FROM dogwood.inventory WHERE table_name = 'contact' AND property IS NULL",
    "dogwood.processing_activities": "SELECT row_count, subject_count FROM dogwood.processing_activities WHERE table_name = 'note'",
    "dogwood.retention_schedule": "SELECT row_count, row_count FROM dogwood.retention_schedule WHERE table_name = 'contact'",
    "dogwood.impact_assessment": "SELECT row_count, subject_count FROM dogwood.impact_assessment WHERE input = 'without basis' AND table_name = 'person'",
    "dogwood.data_map": "SELECT {n}, {n} FROM dogwood.data_map WHERE table_name = 'contact'",
}


class Bench:
    def __init__(self, options):
        self.options = options
        self.results = ResultsFile(options.json, f"{options.people:,} people")

    def line(self, what, times):
        """Of pairs: time, processor time."""
        (best, processor), (worst, _) = min(times), max(times)
        self.results.add(what, "ms", best, worst=worst, processor=processor, goal=1000)
        print(f"| {what} | {best:,.1f} | {worst:,.1f} | {processor:,.0f} | < 1,000 |", flush=True)

    def processor(self):
        """Milliseconds that the server has worked."""
        numbers = Path(f"/proc/{self.server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return 1000 * (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")

    def timed(self, connection, sql, expected=None):
        worked, began = self.processor(), time.perf_counter()
        cursor = connection.execute(sql)
        took = 1000 * (time.perf_counter() - began), self.processor() - worked
        found = cursor.fetchall()
        if expected is not None and found != expected:
            sys.exit(f"{sql}: {found} instead of {expected}")
        return took

    def load(self, connection):
        connection.execute("SET statement_timeout = 0")
        for statement in SCHEMA.strip().split(";\n"):
            connection.execute(statement)
        for table, fill in FILL.items():
            for first in range(1, self.options.people + 1, 100_000):
                last = min(first + 99_999, self.options.people)
                connection.execute(f"INSERT INTO {table} {fill} FROM generate_series({first}, {last}) n")

    def registers(self, connection, when, writes=0):
        dice = random.Random(21)
        for name, sql in REGISTERS.items():
            times = []
            for _ in range(1 if when.startswith("at first") else self.options.rounds):
                for _ in range(writes):
                    connection.execute("UPDATE contact SET phone = phone || '1', origin = %s WHERE id = %s",
                                       (f"shop{dice.randrange(20)}", dice.randrange(1, self.options.people)))
                expected = self.options.people
                times.append(self.timed(connection, sql.format(n=expected), [(expected, expected)]))
            self.line(f"{name}, {when}", times)

    def counted_ahead(self, connection, what):
        """Waits until the server has counted what is at rest: it holds no more from then on."""
        began, last, changed = time.monotonic(), None, time.monotonic()
        worked = at = self.processor()
        while time.monotonic() - changed < 4:
            time.sleep(0.5)
            (held,), = connection.execute("SELECT bytes FROM dogwood.memory WHERE part = 'registers'").fetchall()
            if held != last:
                last, changed, at = held, time.monotonic(), self.processor()
        self.results.add(f"counted ahead, {what}", "s", changed - began, processor=at - worked)
        print(f"| counted ahead, {what} | {1000 * (changed - began):,.0f} | | {at - worked:,.0f} | |", flush=True)

    def breach(self, connection):
        """Statements that read a thousand people each, and some that name no one."""
        start = connection.execute("SELECT clock_timestamp()").fetchone()[0]
        for first in range(1, 200_000, 1000):
            connection.execute("SELECT count(phone) FROM contact WHERE id BETWEEN %s AND %s", (first, first + 999)).fetchall()
        connection.execute("SELECT count(phone) FROM contact").fetchall()
        for name, sql in (("GDPR BREACH", "GDPR BREACH BETWEEN '{}' AND '{}'"), ("GDPR BREACH, with people", "GDPR BREACH BETWEEN '{}' AND '{}' PEOPLE")):
            times = []
            for _ in range(self.options.rounds):
                end = connection.execute("SELECT clock_timestamp()").fetchone()[0]
                times.append(self.timed(connection, sql.format(start, end)))
            self.line(name, times)

    def run(self):
        self.server = server = Server()
        try:
            server.start()
            with server.connect() as connection:
                self.load(connection)
                print(f"{self.options.people:,} people, a contact and a note of each; load {os.getloadavg()[0]:.1f}")
                print("| what is asked | best | worst | processor | goal |\n|---|---:|---:|---:|---|")
                if not self.options.at_once:
                    self.counted_ahead(connection, "after the load")
                self.registers(connection, "at first after the load")
                self.registers(connection, "again")
                self.registers(connection, "after 100 writes", 100)
                self.breach(connection)
            server.stop()
            server.start(timeout=600)
            with server.connect() as connection:
                connection.execute("SET statement_timeout = 0")
                if not self.options.at_once:
                    self.counted_ahead(connection, "after a start")
                self.registers(connection, "at first after a start")
                print(f"load {os.getloadavg()[0]:.1f} at the end")
        finally:
            server.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-once", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    bench = Bench(options)
    bench.run()
    bench.results.write()


if __name__ == "__main__":
    main()
