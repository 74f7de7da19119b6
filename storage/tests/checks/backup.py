"""Backup and restore: random histories of writes, FORGET, definitions, kill -9, backups and restores to random ones of them, against a
model. Nobody who was forgotten comes back, everything else is as it was; what is not whole is refused by name, and leaves nothing.

    backup.py [--seed S] [--histories H] [--steps N]      H histories (4) of N steps each (60)
"""
import datetime
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

from harness import BINARY, Check, options, rows, run, run_check, state_of
from harness.packages import need
from harness.server import Server
from support.people import Model, SCHEMA, Steps, held

# Their store for the buckets.
need("moto", "boto3", "flask", "flask_cors")

# What may be lost of the log in a crash: it was not shipped yet.
SHIPPED_WITHIN = 5


class History:
    """One database, its targets, and what was true when."""

    def __init__(self, check, ships):
        self.check, self.dice, self.tally, self.ships = check, check.dice, check.tally, ships
        self.server = Server()
        self.data, self.keys = (os.path.join(self.server.root, name) for name in ("backups", "keys"))
        self.model, self.forgotten = Model(), []
        self.steps = Steps(self.dice)
        # (what to ask for, the model then, how many were forgotten by then)
        self.moments = []
        self.extra = 0

    def arguments(self):
        return ["--ship-to", self.data, "--ship-keys-to", self.keys] if self.ships else []

    def step(self, connection):
        """One step, or a definition."""
        if self.model.born >= 3 and self.dice.random() < 0.08:
            return self.define(connection)
        step = self.steps.next(self.model)
        step.run(connection)
        self.model = step.after
        self.forgotten += [step.forgotten] if step.forgotten else []

    def define(self, connection):
        self.extra += 1
        tables, word = self.model.tables, self.steps.word()
        connection.execute(f"CREATE TABLE extra_{self.extra} (id INT PRIMARY KEY, word TEXT)")
        connection.execute(f"INSERT INTO extra_{self.extra} VALUES (1, %s)", (word,))
        tables[f"extra_{self.extra}"] = {1: [word]}
        old = self.dice.choice([name for name in tables if name.startswith("extra")])
        if self.dice.random() < 0.3:
            connection.execute(f"DROP TABLE {old}")
            del tables[old]

    def remember(self, ask):
        self.moments.append((time.time(), ask, self.model.copy(), len(self.forgotten)))

    def back_up(self, incremental):
        status, said = run("backup", "--data", self.server.data, "--to", self.data, "--keys-to", self.keys, *(["--incremental"] if incremental else []))
        if self.tally.equal(status, 0, f"backup: {said}"):
            commit = next(line.split()[1] for line in said.splitlines() if line.startswith("commit"))
            self.remember(f"commit:{commit}")

    def backups(self):
        """How many stand at the target."""
        said = run("verify-backup", "--key", os.path.join(self.server.data, "public.key"), "--from", self.data)[1]
        return sum(line.startswith("backup ") for line in said.splitlines())

    def start(self):
        """The server; one that ships has taken the backup that its log follows on."""
        before = self.backups() if self.ships else 0
        self.server.start(self.arguments())
        until = time.monotonic() + 30
        while self.ships and self.backups() <= before and time.monotonic() < until:
            time.sleep(0.1)
        return self.server.connect()

    def run(self, steps):
        connection = self.start()
        for statement in SCHEMA:
            connection.execute(statement)
        for number in range(steps):
            self.step(connection)
            if self.ships:
                self.remember(datetime.datetime.now(datetime.timezone.utc).isoformat())
                time.sleep(0.01)
            chance = self.dice.random()
            if chance < 0.08 and not self.ships:
                self.back_up(incremental=bool(self.moments) and self.dice.random() < 0.7)
            elif chance < 0.11 or number == steps // 2:
                connection.close()
                self.server.kill() if self.dice.random() < 0.7 else self.server.stop()
                if self.ships:
                    self.moments = [moment for moment in self.moments if moment[0] < time.time() - SHIPPED_WITHIN]
                elif self.dice.random() < 0.3:
                    self.back_up(incremental=False)
                connection = self.start()
            if self.ships and number % 20 == 10:
                time.sleep(1.5)
        if not self.ships:
            self.back_up(incremental=bool(self.moments))
        self.tally.equal(held(connection, self.model.tables), self.model.found(), "the model is right")
        connection.close()
        if self.ships:
            time.sleep(SHIPPED_WITHIN)
            self.remember(datetime.datetime.now(datetime.timezone.utc).isoformat())
        status, said = run("verify-backup", "--key", os.path.join(self.server.data, "public.key"), "--from", self.data)
        self.tally.equal(status, 0, f"verify-backup: {said}")
        self.dice.random() < 0.5 and self.server.kill()

    def expected(self, model, forgotten):
        model = model.copy()
        for number, somebody in self.forgotten[forgotten:]:
            if model.somebody.get(number) == somebody:
                model.forget(number)
        return model

    def restore(self, moment):
        _, ask, model, forgotten = moment
        folder = os.path.join(self.server.root, "restored")
        shutil.rmtree(folder, ignore_errors=True)
        key = os.path.join(self.server.data, "root.key")
        to = [] if ask is None else ["--to", ask]
        status, said = run("restore", "--from", self.data, "--keys", self.keys, "--data", folder, *to, "--root-key-file", key)
        if not self.tally.equal(status, 0, f"restore to {ask}: {said}"):
            return
        expected = self.expected(model, forgotten)
        restored = Server(data=folder)
        try:
            restored.start(["--root-key-file", key])
            with restored.connect() as connection:
                self.tally.equal(held(connection, expected.tables), expected.found(), f"restored to {ask}")
                self.tally.equal(sorted(rows(connection, "SELECT author, notes FROM busy")), expected.busy(), "its view")
                for number, _ in self.forgotten:
                    if number not in expected.somebody:
                        self.tally.equal(state_of(connection.execute, f"GDPR GET people {number}"), "DG003", "the forgotten are not found")
                self.tally.equal(rows(connection, "SELECT count(*) FROM dogwood.receipts")[0][0], len(self.forgotten), "every receipt is there")
                # It goes on: somebody new, and an erasure.
                connection.execute("INSERT INTO people VALUES (1000, 'new')")
                connection.execute("INSERT INTO notes VALUES (1000, 1000, 'new')")
                connection.execute("GDPR FORGET people 1000")
            self.tally.equal(restored.stop(), 0, "SIGTERM")
            self.tally.equal(run("check", "--data", folder, "--root-key-file", key), (0, "no findings\n"), "check")
        finally:
            restored.kill()


class Backups(Check):
    def run(self):
        for number in range(self.options.histories):
            history = History(self, ships=number % 2 == 1)
            try:
                self.tally.case(history.run, self.options.steps)
                chosen = history.moments[-1:] + self.dice.sample(history.moments, min(3, len(history.moments)))
                for moment in chosen:
                    self.tally.case(history.restore, moment)
            finally:
                history.server.remove()
        self.tally.case(buckets, self)
        self.tally.case(refusals, self)
        self.tally.case(beside_erasures, self)
        self.tally.case(in_part, self)


BUCKET = """
import boto3, json, sys
options = dict(endpoint_url=sys.argv[1], region_name="us-east-1", aws_access_key_id="first", aws_secret_access_key="first")
people = boto3.client("iam", **options)
people.create_user(UserName="operator")
key = people.create_access_key(UserName="operator")["AccessKey"]
policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
people.put_user_policy(UserName="operator", PolicyName="all", PolicyDocument=json.dumps(policy))
boto3.client("s3", **options).create_bucket(Bucket="dogwood")
print(key["AccessKeyId"], key["SecretAccessKey"])
"""


def buckets(check):
    """To a bucket and back: a server of moto's, which checks signatures."""
    python = sys.executable
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Whoever makes the bucket needs no signature; after that everybody does.
    environment = dict(os.environ, INITIAL_NO_AUTH_ACTION_COUNT="4")
    moto = subprocess.Popen([python, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL")
    try:
        endpoint = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", port)) and time.monotonic() < until:
            time.sleep(0.1)
        made = subprocess.run([python, "-c", BUCKET, endpoint], capture_output=True, text=True, check=True)
        os.environ.update(zip(names, (*made.stdout.split(), endpoint)))
        for ships in (False, True):
            history = History(check, ships)
            history.data, history.keys = f"s3://dogwood/data-{ships}", f"s3://dogwood/keys of {ships}"
            try:
                check.tally.case(history.run, 20)
                for moment in history.moments[-1:] + check.dice.sample(history.moments, 1):
                    check.tally.case(history.restore, moment)
            finally:
                history.server.remove()
        backup = lambda target: run("backup", "--data", check.server.data, "--to", target, "--keys-to", f"{target}-keys")
        check.tally.that("NoSuchBucket" in backup("s3://another/x")[1], "a bucket that is not there")
        os.environ["AWS_SECRET_ACCESS_KEY"] = "wrong"
        status, said = backup("s3://dogwood/y")
        check.tally.that(status == 1 and "403" in said, "a wrong secret", said)
        moto.kill()
        moto.wait()
        status, said = backup("s3://dogwood/x")
        check.tally.that(status == 1 and "could not" in said, "a store that is not there", said)
        del os.environ["AWS_ACCESS_KEY_ID"]
        check.tally.that("AWS_ACCESS_KEY_ID is not set" in backup("s3://dogwood/x")[1], "no key")
    finally:
        moto.kill()
        moto.wait()
        [os.environ.pop(name, None) for name in names]


def refusals(check):
    """What is not whole, or another's, is refused by its name, and nothing is left."""
    tally, server = check.tally, check.server
    check.set_up(SCHEMA[:2])
    root = os.path.dirname(server.data)
    at = lambda name: os.path.join(root, name)
    key, public = at("data/root.key"), at("data/public.key")
    backup = lambda *words, data="b", keys="k": run("backup", "--data", server.data, "--to", at(data), "--keys-to", at(keys), *words)
    restore = lambda *words, data="b", keys="k", to="r": run("restore", "--from", at(data), "--keys", at(keys), "--data", at(to), "--root-key-file", key, *words)

    def refused(answer, words, name):
        tally.that(answer[0] == 1 and words in answer[1], name, answer)
        tally.equal([found for found in os.listdir(root) if found.startswith("r")], [], f"{name}: nothing is left")

    with server.connect() as connection:
        connection.execute("INSERT INTO people SELECT i, 'n' FROM generate_series(1, 20) AS i")
        refused(backup("--incremental"), "holds no backup that an incremental one could add to", "no base")
        for data, keys in (("b", "b"), ("b", "b/keys"), ("k/data", "k")):
            os.makedirs(at(f"{data}/files"), exist_ok=True)
            refused(backup(data=data, keys=keys), "do not stand apart from the data", f"keys in {keys}, data in {data}")
            [shutil.rmtree(at(name), ignore_errors=True) for name in "bk"]
        refused(backup(data="data/root.key"), "could not make the backup target", "a file in the target's place")
        refused(backup(keys="no/such"), "could not make the backup target", "no place for the keys")
        tally.equal([name for name in "bk" if os.path.exists(at(name))], [], "no folder that was made for it is left")
        tally.equal(backup()[0], 0, "a full backup")
        connection.execute("GDPR FORGET people 1")
        shutil.copytree(at("b"), at("before"))
        connection.execute("INSERT INTO notes SELECT i, 2, 'x' FROM generate_series(1, 100) AS i")
        status, said = backup("--incremental")
        tally.that(status == 0 and "adds" not in said, "an incremental one", said)
        verified = run("verify-backup", "--key", public, "--from", at("b"))
        tally.that(verified[0] == 0 and ", adds to " in verified[1], "both are verified", verified)
    # A ledger from before, and none.
    refused(restore(data="before"), "the ledger of erasures is from before: it ends with erasure 0", "a ledger from before")
    shutil.copytree(at("b"), at("b2"))
    shutil.rmtree(at("b2/ledger"))
    refused(restore(data="b2"), "the ledger of erasures is missing", "no ledger")
    ledger = os.path.join(at("b/ledger"), os.listdir(at("b/ledger"))[0])
    tally.equal(restore("--ledger", ledger, data="b2")[0], 0, "a ledger that is kept elsewhere")
    # A filled folder, and the word that says so.
    shutil.copy(key, at("r/root.key"))
    status, said = restore()
    tally.that(status == 1 and "is not empty" in said, "a filled folder", said)
    tally.equal(restore("--overwrite")[0], 0, "with the word")
    tally.that(os.path.exists(at("r/root.key")) and not os.path.exists(at("r.replaced")), "the root key stays, nothing else")
    shutil.rmtree(at("r"))
    refused(restore(keys="b"), "holds no key backup", "no keys")
    status, said = run("restore", "--from", at("b"), "--keys", at("k"), "--data", server.data, "--overwrite")
    tally.that(status == 1 and "another server has the data folder open" in said, "an open folder", said)
    # What is missing, changed, or by another key.
    files = sorted(os.listdir(at("b/files")), key=lambda name: -os.path.getsize(at("b/files/" + name)))
    for name, words, how in (("missing", "is missing", os.remove), ("changed", "is damaged", flip)):
        shutil.rmtree(at("b2"))
        shutil.copytree(at("b"), at("b2"))
        shutil.copy(ledger, at("l"))
        how(at("b2/files/" + next(file for file in files if ".sst" in file)))
        refused(run("verify-backup", "--key", public, "--from", at("b2")), words, f"a file that is {name}")
        answers = [restore("--to", f"commit:{commit}", data="b2", to=f"r{commit}") for commit in commits(verified[1])]
        tally.that(any(status == 1 and words in said for status, said in answers), f"restoring with a file that is {name}", answers)
        for commit in commits(verified[1]):
            shutil.rmtree(at(f"r{commit}"), ignore_errors=True)
    manifest = sorted(os.listdir(at("b/backups")))[-1]
    flip(at("b2/backups/" + manifest), b'"receipts":1', b'"receipts":0')
    refused(restore(data="b2"), "is not signed by this database's key", "a changed manifest")
    other = Server()
    try:
        other.start()
        refused(run("backup", "--data", other.data, "--to", at("b"), "--keys-to", at("k2")), "holds backups of another database", "another database's")
        tally.that(not os.path.exists(at("k2")) , "no folder that was made for it is left")
        refused(run("backup", "--data", other.data, "--to", at("b3"), "--keys-to", at("k")), "holds backups of another database", "another database's keys")
        refused(run("restore", "--from", at("b"), "--keys", at("k"), "--data", at("r"), "--root-key-file", os.path.join(other.data, "root.key")), "does not open this database's keyring", "another root key")
        tally.equal(run("backup", "--data", other.data, "--to", at("b3"), "--keys-to", at("k3"))[0], 0, "to a target of its own")
        foreign = at("b3/ledger/" + os.listdir(at("b3/ledger"))[0])
        refused(restore("--ledger", foreign), "is not signed by this database's key", "another database's ledger")
        refused(restore(keys="k3"), "does not open this database's keyring", "another database's keys")
        # Its manifest among these.
        shutil.copytree(at("b"), at("b4"))
        shutil.copy(at("b3/backups/" + os.listdir(at("b3/backups"))[0]), at("b4/backups"))
        refused(restore(data="b4"), "holds backups of another database", "another database's manifest")
        refused(run("verify-backup", "--key", public, "--from", at("b4")), "is not signed by this database's key", "a manifest of another key")
        tally.equal(other.stop(), 0, "SIGTERM")
        refused(run("verify-backup", "--key", os.path.join(other.data, "public.key"), "--from", at("b")), "is not signed by this database's key", "another public key")
    finally:
        other.remove()
    log_with_gap(check, at, refused)
    full_disk(check, at)
    gone(check, at)


def log_with_gap(check, at, refused):
    """A piece of the log that is missing, changed, or stands in another's place."""
    server, tally = check.server, check.tally
    server.stop()
    server.start(["--ship-to", at("s"), "--ship-keys-to", at("sk"), "--publish-head", at("heads"), "--publish-every", "1"])
    with server.connect() as connection:
        until = time.monotonic() + 60
        pieces = []
        while len(pieces) < 4 and time.monotonic() < until:
            connection.execute("INSERT INTO people SELECT i, 'n' FROM generate_series((SELECT max(id) FROM people) + 1, (SELECT max(id) FROM people) + 20) AS i")
            time.sleep(0.3)
            pieces = sorted(os.path.join(folder, name) for folder, _, names in os.walk(at("s/log")) for name in names)
    server.stop()
    server.start()
    for name, words, how in (("missing", "has a gap after write", lambda path, _: os.remove(path)),
                             ("changed", "is not signed by this database's key", lambda path, _: flip(path)),
                             ("another", "has a gap after write", lambda path, other: shutil.copy(other, path))):
        folder = at(f"s-{name}")
        shutil.copytree(at("s"), folder)
        how(pieces[1].replace(at("s/"), folder + "/"), pieces[2])
        refused(run("verify-backup", "--key", at("data/public.key"), "--from", folder), words, f"a piece of the log that is {name}")
        refused(run("restore", "--from", folder, "--keys", at("sk"), "--data", at("r"), "--root-key-file", at("data/root.key")), words, f"restoring over a piece that is {name}")
    log_cut_off(check, at, refused)


def log_cut_off(check, at, refused):
    """Pieces that are missing at the end of the log leave no gap: a head that was published tells of them."""
    key, folder = at("data/public.key"), at("s-short")
    shutil.copytree(at("s"), folder)
    pieces = sorted(os.path.join(base, name) for base, _, names in os.walk(os.path.join(folder, "log")) for name in names)
    with open(at("heads")) as file:
        published = [json.loads(line)["records"] for line in file]
    status, said = run("verify-backup", "--key", key, "--from", folder, "--head", at("heads"))
    check.tally.equal(status, 0, f"it reaches every head: {said}")
    check.tally.that(max(published) <= max(int(record) for record in re.findall(r"record (\d+)", said)), "the report says how far it reaches", said)
    for piece in reversed(pieces):
        os.remove(piece)
        status, said = run("verify-backup", "--key", key, "--from", folder)
        check.tally.equal(status, 0, f"it is whole as far as it goes: {said}")
        if max(published) > max(int(record) for record in re.findall(r"record (\d+)", said)):
            break
    refused(run("verify-backup", "--key", key, "--from", folder, "--head", at("heads")), "was published: the end of the log is missing", "a log that is cut off")
    refused(run("verify-backup", "--key", key, "--from", folder, "--head", f"{max(published)}:{'0' * 64}"), "was published", "by number and hash")


def commits(verified):
    return [line.split("commit ")[1].split(",")[0] for line in verified.splitlines() if line.startswith("backup")]


def flip(path, before=None, after=None):
    with open(path, "rb") as file:
        content = file.read()
    middle = len(content) // 2
    changed = content.replace(before, after) if before else content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]
    with open(path, "wb") as file:
        file.write(changed)


def full_disk(check, at):
    """A target that fills up: refused by name, and what was brought is gone."""
    small = at("small")
    os.mkdir(small)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", small], capture_output=True).returncode:
        print("left out: a target that fills up (no right to mount)", flush=True)
        return
    try:
        status, said = run("backup", "--data", check.server.data, "--to", small, "--keys-to", at("k"))
        check.tally.that(status == 1 and "No space left on device" in said, "a target that fills up", said)
        left = [os.path.join(folder, name) for folder, _, names in os.walk(small) for name in names]
        check.tally.equal([name for name in left if "/ledger/" not in name], [], "nothing half-done is left")
        left = lambda: sorted(os.path.join(folder, name) for folder, folders, names in os.walk(small) for name in folders + names)
        [shutil.rmtree(path) if os.path.isdir(path) else os.remove(path) for path in map(lambda name: os.path.join(small, name), os.listdir(small))]
        status, said = run("backup", "--data", check.server.data, "--to", os.path.join(small, "new"), "--keys-to", at("k-new"))
        check.tally.that(status == 1 and "No space left on device" in said, "a new folder of one", said)
        check.tally.equal([path for path in left() if os.path.isfile(path) and "/ledger/" not in path], [], "nothing half-done is left there")
        check.tally.that(not os.path.exists(at("k-new")), "no folder for keys")
    finally:
        subprocess.run(["umount", small], check=True)


def gone(check, at):
    """A target that is not there, and one that goes while it is written to."""
    status, said = run("backup", "--data", check.server.data, "--to", at("no/such"), "--keys-to", at("k"))
    check.tally.that(status == 1 and "could not make" in said, "a target that is not there", said)
    target, moved = at("going"), at("gone")
    for brought in range(6):
        for folder in (target, moved):
            shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(target)
        process = subprocess.Popen([BINARY, "backup", "--data", check.server.data, "--to", target, "--keys-to", at("k")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        files = os.path.join(target, "files")
        while process.poll() is None and not (os.path.isdir(files) and len(os.listdir(files)) >= brought):
            time.sleep(0.0005)
        os.rename(target, moved)
        said = process.communicate()[0].decode()
        check.tally.that(process.returncode == 0 or "the folder is gone" in said or "could not" in said, "a target that goes", said)
        check.tally.that(not os.path.exists(target), "it is not made anew")


def beside_erasures(check):
    """A backup to a target that stands still holds up no erasure for long."""
    root = os.path.dirname(check.server.data)
    data, keys = os.path.join(root, "slow"), os.path.join(root, "slow-keys")
    with check.server.connect() as connection:
        connection.execute("INSERT INTO people SELECT i, repeat('n', 500) FROM generate_series(1000, 21000) AS i")
        backups = []
        for number in range(3):
            backups.append(subprocess.Popen([BINARY, "backup", "--data", check.server.data, "--to", data, "--keys-to", keys], stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
            connection.execute(f"GDPR FORGET people {1000 + number}")
            said = backups[-1].communicate()[0].decode()
            check.tally.equal(backups[-1].returncode, 0, f"beside an erasure: {said}")
        until = time.monotonic() + 60
        while rows(connection, "SELECT count(*) FROM dogwood.erasures WHERE rows_at IS NULL")[0][0] and time.monotonic() < until:
            time.sleep(0.2)
        check.tally.equal(rows(connection, "SELECT count(*) FROM dogwood.erasures WHERE rows_at IS NULL")[0][0], 0, "every erasure has left all files")
    check.tally.that(not os.path.exists(os.path.join(check.server.data, "pinned")), "nothing is pinned any more")


def in_part(check):
    """What was forgotten in part since is not there after a restore; whoever had its key before keeps what is theirs."""
    root, tally = os.path.dirname(check.server.data), check.tally
    data, keys, folder = (os.path.join(root, name) for name in ("part", "part-keys", "part-restored"))
    key = os.path.join(check.server.data, "root.key")
    with check.server.connect() as one:
        one.execute("CREATE DATA_SUBJECT TABLE persons (id INT PRIMARY KEY, name TEXT, phone TEXT)")
        one.execute("CREATE TABLE words (id INT PRIMARY KEY, body TEXT, sender INT OWNED_BY persons(id), receiver INT OWNED_BY persons(id), ON DEL sender ANON (sender, body))")
        one.execute("CREATE TABLE parts (id INT PRIMARY KEY, word INT NOT NULL OWNED_BY words(id))")
        one.execute("INSERT INTO persons VALUES (1, 'one', '01'), (2, 'two', '02'); INSERT INTO words VALUES (1, 'mine', 1, 1), (2, 'to two', 1, 2), (3, 'of two', 2, 2), (4, 'also mine', 1, 1); INSERT INTO parts VALUES (1, 1), (3, 3)")
        commits = []
        for _ in range(2):
            status, said = run("backup", "--data", check.server.data, "--to", data, "--keys-to", keys)
            tally.equal(status, 0, f"backup: {said}")
            commits.append(next(line.split()[1] for line in said.splitlines() if line.startswith("commit")))
            if len(commits) == 1:
                # The key of a row is another's by the time that it is forgotten.
                one.execute("DELETE FROM parts WHERE id = 3; DELETE FROM words WHERE id = 3; INSERT INTO words VALUES (3, 'mine now', 1, 1)")
        one.execute("GDPR FORGET persons 1 IN (words, persons (phone))")
        expected = [rows(one, query) for query in ("SELECT * FROM persons ORDER BY id", "SELECT * FROM words ORDER BY id", "SELECT * FROM parts ORDER BY id")]
        tally.equal(expected[1], [(2, None, None, 2)], "one row is left")
        tally.equal(run("backup", "--data", check.server.data, "--to", data, "--keys-to", keys)[0], 0, "a backup with its ledger")
    before = [expected[0], [(2, None, None, 2), (3, "of two", 2, 2)], [(3, 3)]]
    for commit, found in zip(commits, (before, expected)):
        shutil.rmtree(folder, ignore_errors=True)
        status, said = run("restore", "--from", data, "--keys", keys, "--data", folder, "--to", f"commit:{commit}", "--root-key-file", key)
        tally.equal(status, 0, f"restore: {said}")
        restored = Server(data=folder)
        try:
            restored.start(["--root-key-file", key])
            with restored.connect() as one:
                tally.equal([rows(one, query) for query in ("SELECT * FROM persons ORDER BY id", "SELECT * FROM words ORDER BY id", "SELECT * FROM parts ORDER BY id")], found, f"restored to {commit}")
                tally.equal(rows(one, "SELECT receipt::jsonb->>'kind' FROM dogwood.receipts ORDER BY number DESC LIMIT 1"), [("dogwood erasure in part 1",)], "its receipt is there")
                one.execute("UPDATE persons SET phone = 'new' WHERE id = 1")
                one.execute("GDPR FORGET persons 1")
            tally.equal(restored.stop(), 0, "SIGTERM")
            tally.equal(run("check", "--data", folder, "--root-key-file", key), (0, "no findings\n"), "check")
        finally:
            restored.kill()


if __name__ == "__main__":
    run_check(Backups(options(20261127, histories=4, steps=60)))
