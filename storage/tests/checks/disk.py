"""A disk that fails, under the whole pipeline: each seed is one life of a server, with faults, an end, and what is left of it.

Its calls fail as the seed says (support/faults.c, schedule.py): errors of input and output, no room, half of a write, slowness, once or
until they are lifted. Meanwhile writers, erasures, definitions, a subscription and backups go on. Then it is killed, loses its power
(support/power.py) or is stopped, and starts again over a good disk. What was answered stands, what was refused does not, nothing is half
done, nobody forgotten is back; errors have their SQLSTATE and words; the server goes on or ends with its reason, and never hangs.

    disk.py [--seed S] [--count N] [--workers W] [--seconds T]      N seeds (30) from S on, W at once (4); for T seconds, if that is given

The same seed gives the same faults and statements. Threads meet otherwise each time: what a fault strikes may differ.
"""
import argparse
import concurrent.futures
import errno
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import psycopg

from harness import BINARY, Refused, Tally, rows, run, state_of
from harness.server import Server
from support.clients import ENDING, OF_THE_DISK, Definer, Watcher, Writer, difference, is_refused
from support.faults import FOREVER, SHIM as FAULTS, Faults, Rule
from support.people import SCHEMA, Model
from support.power import SHIM as UNFLUSHED, Power, compiled
from support.schedule import Schedule

WRITERS = 2
PATIENCE_S = 60
# No word of a fault of the program.
BUGS = ("panicked", "internal error", "dogwood::panics", "unflushed:")


class Disk:
    """A server that is to be started over a failing disk, and its backups, all of which lose their power together."""

    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="dogwood-disk-")
        self.disk = os.path.join(self.root, "disk")
        os.mkdir(self.disk, 0o700)
        self.server = Server(os.path.join(self.disk, "data"))
        self.server.errors = os.path.join(self.root, "stderr")
        self.backups_at, self.keys_at = os.path.join(self.disk, "backups"), os.path.join(self.disk, "keys")
        self.power = Power(self.disk)
        self.faults = Faults(self.disk, self.power)

    def remove(self):
        self.server.kill()
        self.power.remove()
        shutil.rmtree(self.root, ignore_errors=True)


class Life(Disk):
    """One seed."""

    def __init__(self, seed, template):
        super().__init__()
        self.seed, self.dice = seed, random.Random(seed)
        self.failures, self.errors, self.outcomes = [], {}, []
        self.backs_up, self.publishes = self.dice.random() < 0.5, self.dice.random() < 0.3
        self.schedule = Schedule(self.dice, self.backs_up, self.publishes)
        self.arguments = self.draw_arguments()
        if not self.schedule.fresh:
            shutil.copytree(template, self.server.data)
        self.over, self.ends = threading.Event(), threading.Event()
        self.taken, self.backing = [], threading.Thread(target=self.back_up, daemon=True)

    def draw_arguments(self):
        audit = self.dice.choice(["strict", "batched", "batched"])
        arguments = ["-c", f"dogwood.audit={audit}"]
        arguments += ["--keep-free-mb", "0"] if self.dice.random() < 0.3 else []
        arguments += ["--publish-head", os.path.join(self.disk, "heads"), "--publish-every", "1"] if self.publishes else []
        return arguments

    def that(self, condition, name, detail=""):
        if not condition:
            self.failures.append(f"{name}: {detail}" if detail != "" else name)
        return bool(condition)

    def equal(self, found, expected, name):
        return self.that(found == expected, name, f"found {found!r}, expected {expected!r}")

    # What clients ask.

    def connected(self, **options):
        """A connection to the server, once it takes one; None if it has ended, or all is over."""
        until = time.monotonic() + PATIENCE_S
        while not self.ends.is_set() and self.server.alive() and time.monotonic() < until:
            try:
                connection = self.server.connect(connect_timeout=5, **options)
                connection.execute("SET statement_timeout = '30s'")
                if not connection.autocommit:
                    connection.commit()
                return connection
            except psycopg.Error as error:
                if error.sqlstate not in ENDING and not is_refused(error):
                    self.that(False, "connecting", f"{error.sqlstate} {error}")
                    return None
                time.sleep(0.05)
        return None

    def hear(self, error):
        """A client was refused: it is told why."""
        state, said = error.sqlstate, str(error)
        self.errors[state] = self.errors.get(state, 0) + 1
        if state in OF_THE_DISK:
            self.that(re.search("could not|full|open for reading", said) is not None, f"{state} says what happened", said)

    # The life.

    def live(self):
        try:
            if self.begin():
                self.work()
                self.end()
            self.start_again()
            self.afterwards()
        except Exception:
            self.failures.append("the check itself: " + " ".join(traceback.format_exc(limit=-5).split("\n")))
        finally:
            self.over.set()
            self.ends.set()
            self.server.kill()
        said = self.server.said()
        for bug in BUGS:
            self.that(bug not in said, "the log", "".join(line + "\n" for line in said.splitlines() if bug in line)[:600])

    def begin(self):
        """The server over its disk, with the schema. Whether it came so far."""
        schedule, numbers = self.schedule, range(WRITERS)
        self.writers = [Writer(self, number + 1, self.dice.random()) for number in numbers]
        self.definer, self.watcher = Definer(self, self.dice.random()), Watcher(self)
        self.clients = [*self.writers, self.definer]
        self.has_schema = not schedule.fresh
        if schedule.fresh:
            self.faults.arm(schedule.rules)
        if not self.start("a first start"):
            return False
        if schedule.fresh and not self.define():
            self.end()
            return False
        self.faults.arm(schedule.rules)
        return True

    def start(self, name, healthy=False):
        """Whether the server started; if not, it has said why."""
        mark = os.path.getsize(self.server.errors) if os.path.exists(self.server.errors) else 0
        try:
            self.server.start(self.arguments, timeout=PATIENCE_S, before=None if healthy else self.faults.before())
            return True
        except Refused as refusal:
            self.reasoned(f"{name}, refused", str(refusal))
            self.that(not healthy, f"{name} over a good disk", str(refusal)[-800:])
            self.that("did not listen in time" not in str(refusal), f"{name} hangs", self.server.said(mark)[-800:] + where())
            self.server.kill()
            return False

    def define(self):
        """The schema, as one. Whether that was answered."""
        try:
            with self.server.connect() as connection, connection.transaction():
                for statement in SCHEMA:
                    connection.execute(statement)
            self.has_schema = True
            return True
        except psycopg.Error as error:
            self.that(error.sqlstate in (*ENDING, *OF_THE_DISK), "the schema", f"{error.sqlstate} {error}")
            self.has_schema = None
            return False

    def reasoned(self, name, said):
        """A server that ends by itself says why."""
        lines = [line for line in said.splitlines() if line.strip()]
        self.that(any(re.search("stopping at once|could not|full|acknowledged|missing|damaged", line) for line in lines), f"{name}: its reason", said[-800:])

    def work(self):
        schedule, threads = self.schedule, [*self.clients, self.watcher]
        for thread in threads:
            thread.start()
        if self.backs_up:
            self.backing.start()
        if schedule.lifted_after:
            time.sleep(schedule.lifted_after)
            self.faults.lift()
            self.goes_on()
        until = time.monotonic() + schedule.works
        while time.monotonic() < until and self.server.alive():
            time.sleep(0.02)

    def goes_on(self):
        """The disk works again: a server that is there takes writes again, by itself."""
        until, state = time.monotonic() + PATIENCE_S, "none"
        while self.server.alive() and time.monotonic() < until:
            state = state_of(self.write_one)
            if state == "":
                self.outcomes.append("went on")
                return
            time.sleep(0.1)
        if self.server.alive():
            self.that(False, "writes go on when the disk works again", f"{state}; {self.server.said()[-800:]}")

    def write_one(self):
        with self.server.connect(connect_timeout=5) as connection:
            connection.execute("SET statement_timeout = '30s'")
            connection.execute("INSERT INTO people VALUES (900000, 'room') ON CONFLICT (id) DO UPDATE SET name = 'again'")

    def back_up(self):
        """Backups while there is something to back up; each may hold what was so from its beginning to its end."""
        incremental = False
        while not self.over.is_set() and self.server.alive():
            low = [len(client.states) - 1 for client in self.clients]
            status, said = self.ask_backup(incremental)
            high = [len(client.states) for client in self.clients]
            self.outcomes.append("backups" if status == 0 else "failed backups")
            if status == 0:
                commit = next(line.split()[1] for line in said.splitlines() if line.startswith("commit"))
                self.taken.append((commit, low, high))
                incremental = self.dice.random() < 0.7
            else:
                self.that(status == 1 and len(said.strip()) > 20, "a backup that fails says why", f"{status} {said}")
            time.sleep(0.05)

    def ask_backup(self, incremental):
        command = [BINARY, "backup", "--data", self.server.data, "--to", self.backups_at, "--keys-to", self.keys_at, *(["--incremental"] if incremental else [])]
        # Where there is no server any more the command itself works on the folder.
        environment = {**os.environ, **self.faults.environment()}
        try:
            done = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, env=environment)
        except subprocess.TimeoutExpired:
            return -1, "it hangs for longer than is waited"
        said = (done.stdout + done.stderr).decode(errors="replace")
        for bug in BUGS:
            self.that(bug not in said, "a backup's words", said)
        return done.returncode, said

    def end(self):
        """As the seed says, if it has not ended by itself."""
        server, ends = self.server, self.schedule.ends
        status = server.process.poll()
        if status is not None:
            self.outcomes.append("ended itself")
            self.that(status != 0, "it ended by itself with a status", status)
            self.reasoned("it ended by itself", server.said())
        elif ends == "stop":
            self.over.set()
            server.process.send_signal(signal.SIGTERM)
            try:
                status = server.process.wait(PATIENCE_S)
                if status != 0:
                    self.reasoned(f"it stopped with {status}", server.said())
            except subprocess.TimeoutExpired:
                self.that(False, "SIGTERM: it hangs", server.said()[-800:] + where(server.process.pid))
        self.over.set()
        if ends != "stop" and server.alive() and self.dice.random() < 0.3:
            self.quiet()
        self.ends.set()
        if server.process.poll() is None:
            server.process.kill()
        self.join()
        server.kill()
        self.outcomes.append("struck" if any(self.faults.struck()) else "not struck")
        if ends == "power":
            self.power.fails(self.dice)

    def join(self):
        # It may be at the folder by itself, where there is no server any more.
        if self.backing.ident is not None:
            self.backing.join(2 * PATIENCE_S)
        for thread in [*self.clients, self.watcher]:
            if thread.ident is not None:
                thread.join(PATIENCE_S)
                self.that(not thread.is_alive(), f"{thread.name} waits for ever")
                self.that(thread.surprise is None, thread.name, thread.surprise)

    def quiet(self):
        """Nobody writes any more: the subscription has told all that there is."""
        for client in self.clients:
            client.join(PATIENCE_S)
        if any(client.may or client.surprise for client in self.clients) or not self.server.alive():
            return
        if self.server.process.poll() is None and not any(self.faults.struck()):
            expected = sorted(row for writer in self.writers for row in writer.model.busy())
            self.that(self.watcher.agrees(expected), "what a subscription was told", f"{self.watcher.told}, expected {expected}")

    def start_again(self):
        """Some next starts fail as well, or are cut short; what they show is right."""
        if self.schedule.again is None:
            return
        self.faults.arm(self.schedule.again)
        self.ends.clear()
        if self.start("a start over a failing disk") and self.has_schema:
            try:
                with self.server.connect(connect_timeout=5) as connection:
                    self.settle_all(connection)
            except psycopg.Error as error:
                self.that(error.sqlstate in (*ENDING, *OF_THE_DISK), "reading over a failing disk", f"{error.sqlstate} {error}")
        if self.dice.random() < 0.7:
            self.server.kill()
            if self.dice.random() < 0.6:
                self.power.fails(self.dice)
        elif self.server.process:
            self.server.stop(PATIENCE_S)
        self.faults.lift()

    def settle_all(self, connection):
        for client in self.clients:
            client.settle(connection)
            client.verify(connection)

    # What is left.

    def afterwards(self):
        self.faults.lift()
        if not self.start("the last start", healthy=True):
            return
        with self.server.connect() as connection:
            if self.has_schema is None:
                self.has_schema = bool(rows(connection, "SELECT 1 FROM pg_class WHERE relname = 'people'"))
            if not self.has_schema:
                self.equal(rows(connection, "SELECT count(*) FROM pg_class WHERE relname LIKE 'busy' OR relname LIKE 'shelves'")[0][0], 0, "no half of a schema")
                self.define()
            self.settle_all(connection)
            self.look_over(connection)
            for writer in self.writers:
                writer.step(connection)
            if self.taken:
                status, said = run("backup", "--data", self.server.data, "--to", self.backups_at, "--keys-to", self.keys_at, "--incremental")
                self.that(status == 0, "a backup afterwards", said)
        self.equal(self.server.stop(PATIENCE_S), 0, "SIGTERM")
        self.proofs()
        if self.taken and not self.failures:
            self.restored(self.dice.choice(self.taken))

    def look_over(self, connection):
        """Views, indexes, erasures, receipts."""
        expected = sorted(row for writer in self.writers for row in writer.model.busy())
        self.equal(sorted(rows(connection, "SELECT author, notes FROM busy")), expected, "the view")
        received = {}
        for row in (row for writer in self.writers for row in writer.model.tables["messages"].values()):
            received[row[1]] = received.get(row[1], 0) + 1
        for name in self.definer.model.names:
            if name.startswith("extra_v"):
                self.equal(dict(rows(connection, f"SELECT * FROM {name}")), received, f"view {name}")
        for writer in self.writers:
            for letter in "abcdefghij":
                found = sorted(key for key, in rows(connection, "SELECT id FROM messages WHERE subject = %s", (letter,)) if key in writer.numbers)
                self.equal(found, sorted(key for key, row in writer.model.tables["messages"].items() if row[3] == letter), "by the index")
            for number in {number for _, number, _ in writer.forgotten} - writer.model.tables["people"].keys():
                self.equal(state_of(connection.execute, f"GDPR GET people {number}"), "DG003", "the forgotten are not found")
            if writer.model.tables["people"]:
                writer.request(connection)
        receipts = rows(connection, "SELECT receipt FROM dogwood.receipts ORDER BY number")
        self.equal(len(receipts), sum(len(writer.forgotten) for writer in self.writers), "a receipt of each erasure")
        if receipts:
            with open(os.path.join(self.root, "receipt"), "w") as file:
                file.write(self.dice.choice(receipts)[0] + "\n")
            status, said = run("verify", "--key", os.path.join(self.server.data, "public.key"), file.name)
            self.that(status == 0 and "genuine receipt" in said, "a receipt", said)

    def proofs(self):
        """The folder and its audit log are whole."""
        data, capsule = self.server.data, os.path.join(self.root, "capsule")
        status, said = run("check", "--data", data)
        # One of two copies that a power failure tore is told, and mended.
        if status and all("--repair" in line for line in said.splitlines()) and "power" == self.schedule.ends:
            self.outcomes.append("repaired")
            status, said = run("check", "--data", data, "--repair")
        self.that(status == 0 and "no findings" in said, "dogwood check", said[:1500])
        status, said = run("export-capsule", "--data", data, capsule)
        if self.that(status == 0 or "is empty" in said, "export-capsule", said) and status == 0:
            heads = os.path.join(self.disk, "heads")
            against = ["--head", heads] if os.path.exists(heads) and os.path.getsize(heads) else []
            status, said = run("verify", "--key", os.path.join(data, "public.key"), *against, capsule)
            self.that(status == 0 and "genuine audit log" in said, "the audit log", said)

    def restored(self, taken):
        """A backup that was answered is whole, and its restore is what was so then, without those who were forgotten since."""
        commit, low, high = taken
        public, folder = os.path.join(self.server.data, "public.key"), os.path.join(self.root, "restored")
        status, said = run("verify-backup", "--key", public, "--from", self.backups_at)
        self.that(status == 0, "verify-backup", said)
        key = os.path.join(self.server.data, "root.key")
        status, said = run("restore", "--from", self.backups_at, "--keys", self.keys_at, "--data", folder, "--to", f"commit:{commit}", "--root-key-file", key)
        if not self.that(status == 0, "restore", said):
            return
        self.outcomes.append("restored")
        again = Server(folder)
        again.errors = os.path.join(self.root, "restored.stderr")
        try:
            again.start(["--root-key-file", key])
            with again.connect() as connection:
                for client, least, most in zip(self.clients, low, high):
                    found = client.read(connection)
                    allowed = [without_forgotten(client, number) for number in range(least, min(most + 1, len(client.states)))]
                    self.that(found in allowed, f"what {client.name} had, restored", " | ".join(difference(found, one) for one in allowed[:4]))
                busy = sorted(rows(connection, "SELECT author, notes FROM busy"))
                counted = sorted(rows(connection, "SELECT author, count(*) FROM notes GROUP BY author HAVING count(*) > 0"))
                self.equal(busy, counted, "the view, restored")
            self.equal(again.stop(PATIENCE_S), 0, "SIGTERM of what was restored")
        finally:
            again.kill()

    def told(self):
        return f"seed {self.seed} ({self.schedule}; {' '.join(self.arguments)})"


def where(pid=None):
    """What a machine is busy with, and what a process that hangs waits for, where gdb is to be had: a load is told from a fault."""
    said = f"\nload {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors"
    if pid is None or shutil.which("gdb") is None:
        return said
    done = subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 30"], capture_output=True, timeout=PATIENCE_S)
    threads = re.split(r"\n(?=Thread )", done.stdout.decode(errors="replace"))
    own = re.compile(r"^#\d+ .* in (?:<?(?:engine|storage|transactions|views|wire|dogwood|rocksdb)::[^ ]*).*$", re.M)
    return said + "".join(f"\n{thread.splitlines()[0]}\n" + "\n".join(own.findall(thread)[:8]) for thread in threads[1:])[:12000]


def without_forgotten(client, number):
    """What a client's rows were then, without those who were forgotten since."""
    model = client.states[number]
    if not isinstance(model, Model):
        return model.found()
    model = model.copy()
    for when, person, somebody in client.forgotten:
        if when > number and model.somebody.get(person) == somebody:
            model.forget(person)
    return model.found()


def live(seed, template, keep):
    """One seed, in a process of its own: what went wrong, and what is to be counted."""
    life = Life(seed, template)
    began = time.monotonic()
    life.live()
    counts = {"acknowledged": sum(client.acknowledged for client in life.clients), "refused": sum(client.refused for client in life.clients)}
    counts.update({outcome: life.outcomes.count(outcome) for outcome in life.outcomes})
    counts.update({f"answered {state}": number for state, number in life.errors.items()})
    failures = life.failures
    if failures:
        failures = [life.told(), *failures, "struck: " + life.faults.said().replace("\n", "; ")[:1500]]
    if failures and keep:
        failures.append(f"kept: {life.root}")
        life.power.remove()
    else:
        life.remove()
    return seed, failures, counts, time.monotonic() - began


def new_folders(tally, disk):
    """A power failure takes neither a folder in which a database was just made nor its first backup."""
    server = disk.server
    server.start(before=disk.faults.before())
    with server.connect() as connection:
        connection.execute("CREATE TABLE kept (id INT PRIMARY KEY)")
        connection.execute("INSERT INTO kept VALUES (1)")
    tally.equal(run("backup", "--data", server.data, "--to", disk.backups_at, "--keys-to", disk.keys_at)[0], 0, "a first backup")
    server.kill()
    disk.power.fails(random.Random(1))
    server.start()
    with server.connect() as connection:
        tally.equal(rows(connection, "SELECT id FROM kept"), [(1,)], "a new folder after a power failure")
    status, said = run("verify-backup", "--key", os.path.join(server.data, "public.key"), "--from", disk.backups_at)
    tally.that(status == 0 and "\nbackup " in said and os.listdir(disk.keys_at), "a first backup after a power failure", said)


def rotations(tally, disk, call, kind, power):
    """Of a rotation that fails when the new keyring is put in place, either keyring is the one: no key is made in the other."""
    server, name = disk.server, f"{call} of {kind} fails in a rotation"
    server.start(before=disk.faults.before())
    with server.connect() as connection:
        connection.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)")
        connection.execute("INSERT INTO people VALUES (1, 'kept'), (2, 'gone')")
        disk.faults.arm([Rule([kind], [call], error=errno.EIO)])
        tally.equal(state_of(connection.execute, "SELECT rotate_keys()"), "58030", name)
        disk.faults.lift()
        # More than there are keys for.
        connection.execute("INSERT INTO people SELECT i, 'new' FROM generate_series(100, 500) AS i")
        connection.execute("GDPR FORGET people 2")
    server.kill()
    if power:
        disk.power.fails(random.Random(2))
    server.start()
    with server.connect() as connection:
        found = rows(connection, "SELECT name, count(*) FROM people GROUP BY name ORDER BY name")
        tally.equal(found, [("kept", 1), ("new", 401)], f"{name}: everybody has their key")
    tally.equal(server.stop(PATIENCE_S), 0, f"{name}: SIGTERM")
    tally.clean(server, name)


def rotations_in_vain(tally, disk):
    """The keyring of before is not destroyed as long as the new one's name is not durable, however often a rotation is tried."""
    server, name = disk.server, "no name is durable in two rotations"
    server.start(before=disk.faults.before())
    with server.connect() as connection:
        connection.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)")
        connection.execute("INSERT INTO people VALUES (1, 'kept')")
        disk.faults.arm([Rule(["other"], ["sync"], many=FOREVER, error=errno.EIO)])
        for _ in range(2):
            tally.equal(state_of(connection.execute, "SELECT rotate_keys()"), "58030", name)
    server.kill()
    disk.power.fails(random.Random(3))
    disk.faults.lift()
    server.start()
    with server.connect() as connection:
        tally.equal(rows(connection, "SELECT id, name FROM people"), [(1, "kept")], f"{name}: everybody has their key")
    tally.equal(server.stop(PATIENCE_S), 0, f"{name}: SIGTERM")
    tally.clean(server, name)


def without_a_log(tally, disk):
    """Where there was no room to begin another log, writes go on once there is."""
    server, name, answered = disk.server, "no room for another log", []
    server.start(before=disk.faults.before())
    with server.connect() as connection:
        connection.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY)")
        connection.execute("INSERT INTO people VALUES (1), (2)")
        disk.faults.arm([Rule(["wal", "other"], ["create"], many=FOREVER, error=errno.ENOSPC)])
        # Its bytes leave the log, which is left for another.
        connection.execute("GDPR FORGET people 1")

    def write():
        with server.connect(connect_timeout=5) as connection:
            connection.execute("INSERT INTO people SELECT max(id) + 1 FROM people")

    def until(state):
        end, found = time.monotonic() + PATIENCE_S, None
        while found != state and time.monotonic() < end and server.alive():
            found = state_of(write)
            answered.extend([found] if found == "" else [])
            time.sleep(0.2)
        return found

    tally.equal(until("53100"), "53100", name)
    disk.faults.lift()
    tally.equal(until(""), "", f"{name}: writes go on")
    with server.connect() as connection:
        found = [key for key, in rows(connection, "SELECT id FROM people ORDER BY id")]
        tally.equal(found, list(range(2, 3 + len(answered))), f"{name}: the rows")
    tally.equal(server.stop(PATIENCE_S), 0, f"{name}: SIGTERM")
    tally.clean(server, name)


def cases():
    """What seeds have found, each by itself. How many failed."""
    tally = Tally()
    for case, *arguments in ((new_folders,), (rotations_in_vain,), (without_a_log,), *((rotations, call, kind, power) for call, kind in (("sync", "other"), ("rename", "keyring")) for power in (False, True))):
        disk = Disk()
        try:
            tally.case(case, tally, disk, *arguments)
        finally:
            disk.remove()
    return tally.failed


def template(folder):
    """A folder with the schema, to begin with."""
    server = Server(os.path.join(folder, "data"))
    server.start()
    with server.connect() as connection:
        for statement in SCHEMA:
            connection.execute(statement)
    if server.stop() != 0:
        sys.exit("the first server did not stop: " + server.said())
    return server.data


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("seed", 20261128), ("count", 30), ("workers", 4), ("seconds", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    began, totals, failing = time.monotonic(), {}, []
    # Once, for all.
    compiled(FAULTS), compiled(UNFLUSHED)
    failed_cases = cases()
    with tempfile.TemporaryDirectory(prefix="dogwood-disk-first-") as folder, concurrent.futures.ProcessPoolExecutor(options.workers) as workers:
        data, seed, running, done = template(folder), options.seed, set(), 0
        more = lambda: time.monotonic() - began < options.seconds if options.seconds else seed < options.seed + options.count
        while running or more():
            while len(running) < options.workers and more():
                running.add(workers.submit(live, seed, data, len(failing) < 3))
                seed += 1
            ended, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in ended:
                number, failures, counts, took = future.result()
                done += 1
                for name, count in counts.items():
                    totals[name] = totals.get(name, 0) + count
                if os.environ.get("CHECKS_VERBOSE"):
                    print(f"seed {number}: {took:.1f} s, {counts}", flush=True)
                if failures:
                    failing.append(number)
                    print("FAILED " + "\n    ".join(failures) + f"\n    again: disk.py --seed {number} --count 1", flush=True)
    took = time.monotonic() - began
    print(f"{done} seeds in {took:.0f} s, {done / took * 3600:.0f} an hour: " + ", ".join(f"{count} {name}" for name, count in sorted(totals.items())))
    print(f"{done - len(failing)} passed, {len(failing)} failed, {failed_cases} of what was found before" + (": " + ", ".join(map(str, sorted(failing))) if failing else ""), flush=True)
    sys.exit(1 if failing or failed_cases else 0)


if __name__ == "__main__":
    main()
