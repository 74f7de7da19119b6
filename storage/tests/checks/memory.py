"""Canaries in the process's memory: what held a person's rows in clear is overwritten when it is freed, so that a while after FORGET
nothing of theirs is found in any page of the server.

People are written, read in every way, and forgotten. --people (2000) of whom three in four go, --wait seconds later (60) all of
/proc/PID/mem is searched. Those who stay are in caches and found, which shows that the search finds what is there.
"""
import collections
import re
import sys
import time

from harness.check import Check, options, run_check

MARK = b"qZx"
WORD = re.compile(MARK + rb"(\d{6})([a-z]{4})[0-9a-f]{8}")
PLACES = ("name", "mail", "body", "topi", "docu", "tagg")
CHUNK, OVERLAP = 16 << 20, 64
SCHEMA = [
    "CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT, email TEXT UNIQUE, tags TEXT[], profile JSONB)",
    "CREATE TABLE letters (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT, topic TEXT)",
    "CREATE INDEX letters_topic ON letters (topic)",
    "CREATE MATERIALIZED VIEW by_topic AS SELECT topic, count(*) AS n, max(body) AS last FROM letters GROUP BY topic",
    "CREATE MATERIALIZED VIEW written AS SELECT p.name, l.body FROM letters l JOIN people p ON l.person = p.id",
    "CREATE MATERIALIZED VIEW lists AS SELECT topic, string_agg(body, ',') AS bodies, count(DISTINCT body) AS n FROM letters GROUP BY topic",
    "CREATE MATERIALIZED VIEW ranked AS SELECT topic, body, rank() OVER (PARTITION BY topic ORDER BY body) AS place FROM letters",
    "CREATE MATERIALIZED VIEW silent AS SELECT name FROM people p WHERE NOT EXISTS (SELECT 1 FROM letters l WHERE l.topic = p.name)",
]
VIEWS = ("by_topic", "written", "lists", "ranked", "silent")
# In a view of which nothing changes any more stands what its operators took in last: a retraction. The next row takes its place.
LAST_MAX = 8 * len(VIEWS)
READS = [
    "SELECT * FROM people", "SELECT * FROM letters ORDER BY body", "SELECT topic, count(*) FROM letters GROUP BY topic ORDER BY topic",
    "SELECT p.name, l.body FROM people p JOIN letters l ON l.person = p.id", *(f"SELECT * FROM {view}" for view in VIEWS),
    "SELECT name || email FROM people ORDER BY name DESC LIMIT 100", "SELECT string_agg(name, ',') FROM people",
]


def regions(pid):
    """The readable pages of a process, as (first, last, name)."""
    with open(f"/proc/{pid}/maps") as maps:
        for line in maps:
            span, rights, *rest = line.split()
            if "r" in rights and rest[-1] not in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
                first, last = (int(part, 16) for part in span.split("-"))
                yield first, last, rest[3] if len(rest) > 3 else "anonymous"


def canaries(pid):
    """Each canary in memory: (person, place, region, address). And how many bytes were read."""
    found, read = [], 0
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for first, last, name in regions(pid):
            at = first
            while at < last:
                try:
                    memory.seek(at)
                    data = memory.read(min(CHUNK + OVERLAP, last - at))
                except OSError:
                    break
                if not data:
                    break
                read += len(data)
                found += [(int(hit[1]), hit[2].decode(), name, at + hit.start()) for hit in WORD.finditer(data) if hit.start() < CHUNK]
                at += CHUNK
    return found, read


class Memory(Check):
    def word(self, person, place):
        return f"{MARK.decode()}{person:06d}{place}{self.dice.getrandbits(32):08x}"

    def write(self, connection):
        for person in range(self.options.people):
            name, mail, body, topic, document, tag = (self.word(person, place) for place in PLACES)
            with connection.transaction():
                connection.execute("INSERT INTO people VALUES (%s, %s, %s, %s, %s)",
                                   (person, name, mail, [tag], '{"a": "%s"}' % document))
                if person % 2:
                    connection.execute("INSERT INTO letters VALUES (%s, %s, %s, %s)", (person, person, body, topic))
                else:
                    connection.execute(f"INSERT INTO letters VALUES ({person}, {person}, '{body}', '{topic}')")
        connection.execute("UPDATE letters SET body = body || '+', topic = topic || '-'")

    def read(self, connection):
        for sql in READS:
            connection.execute(sql).fetchall()
        for person in range(0, self.options.people, 7):
            name = connection.execute("SELECT name FROM people WHERE id = %s", (person,)).fetchone()[0]
            connection.execute(f"SELECT * FROM letters WHERE topic > '{name}' ORDER BY topic LIMIT 5").fetchall()
            connection.execute(f"GDPR GET people {person}").fetchall()
        with connection.cursor().copy("COPY letters TO STDOUT") as out:
            b"".join(bytes(part) for part in out)

    def run(self):
        self.set_up(SCHEMA)
        going = [person for person in range(self.options.people) if person % 4]
        staying = self.server.connect()
        with self.server.connect() as connection:
            self.write(connection)
            self.read(connection)
            self.read(staying)
        found, seen = canaries(self.server.process.pid)
        print(f"while all are there: {len(found)} canaries in {seen >> 20} MB", flush=True)
        self.tally.that(len(found) > self.options.people, "the search finds what is there", len(found))
        with self.server.connect() as connection:
            for person in going:
                connection.execute(f"GDPR FORGET people {person}")
        time.sleep(self.options.wait)
        self.tally.that(staying.execute("SELECT pending FROM dogwood.erasures ORDER BY number DESC LIMIT 1").fetchone() is not None, "it answers")
        last = [hit for hit in canaries(self.server.process.pid)[0] if hit[0] == going[-1]]
        self.tally.that(len(last) <= LAST_MAX, "of who went last, in views that are as they left them", len(last))
        # Somebody who is no canary comes and goes.
        with self.server.connect() as connection:
            for statement in ("INSERT INTO people (id, name, email) VALUES (-1, 'nobody', 'nobody')", "INSERT INTO letters VALUES (-1, -1, 'b', 't')",
                              "GDPR FORGET people -1"):
                connection.execute(statement)
        time.sleep(1)
        gone = set(going)
        found, seen = canaries(self.server.process.pid)
        left = [hit for hit in found if hit[0] in gone]
        print(f"{self.options.wait} s after FORGET of {len(going)}: {len(left)} of theirs ({len(last)} before the next write), {len(found) - len(left)} of others, in {seen >> 20} MB", flush=True)
        for (name, place), count in collections.Counter((hit[2], hit[1]) for hit in left).most_common(20):
            print(f"  {count} of {place} in {name}")
        self.tally.equal(len(left), 0, "canaries of who was forgotten")
        if self.options.dump and left:
            self.dump(left)

    def dump(self, left):
        """What stands around some of them, for who looks for their holder."""
        with open(f"/proc/{self.server.process.pid}/mem", "rb", buffering=0) as memory:
            for hit in left[:: max(1, len(left) // self.options.dump)]:
                memory.seek(hit[3] - 160)
                print(hit, memory.read(360), "\n")


if __name__ == "__main__":
    if not sys.platform.startswith("linux"):
        sys.exit("it reads /proc")
    run_check(Memory(options(20261127, people=2000, wait=60, dump=0)))
