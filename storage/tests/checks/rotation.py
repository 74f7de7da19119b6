"""Rotation of the key-encryption key and of the root key: what lives is read, what was erased stays erased, wherever it is cut off.

    rotation.py [--seed S] [--people N] [--kills K]      N data subjects (2000), K kills of each kind of rotation (12)
"""
import os
import shutil
import subprocess
import tempfile
import threading
import time

from harness import BINARY, Check, options, rows, run, run_check, state_of

SCHEMA = ("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",)


class Rotation(Check):
    def run(self):
        self.set_up(SCHEMA)
        with self.server.connect() as connection:
            connection.execute("INSERT INTO people SELECT i, 'name of ' || i FROM generate_series(1, %s) AS i", (self.options.people,))
            for number in range(1, 11):
                connection.execute(f"GDPR FORGET people {number}")
        self.tally.equal(self.server.stop(), 0, "SIGTERM")
        for case in (old_keys, killed, root_keys, served):
            self.tally.case(case, self)
        self.server.start()

    def path(self, name):
        return os.path.join(self.server.data, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def whole(self, name, arguments=()):
        """The server starts, and everybody who lives is there."""
        self.server.start(arguments)
        with self.server.connect() as connection:
            found = rows(connection, "SELECT count(*), count(name), min(id) FROM people")
            self.tally.equal(found, [(self.options.people - 10,) * 2 + (11,)], f"{name}: the living are read")
            self.tally.equal(state_of(connection.execute, "GDPR GET people 3"), "DG003", f"{name}: the forgotten are not")
        self.tally.equal(self.server.stop(), 0, f"{name}: SIGTERM")
        left = [file for file in ("keyring.new", "keyring.old", "root.key.new") if os.path.exists(self.path(file))]
        self.tally.equal(left, [], f"{name}: nothing is left beside")


def old_keys(check):
    """After a rotation nothing of the old file is in the new one, and the old slots open with nothing."""
    for command in ("rotate", "shred"):
        before = check.read("keyring")
        held = os.open(check.path("keyring"), os.O_RDONLY)
        began = time.monotonic()
        check.tally.equal(run(command, "--data", check.server.data)[0], 0, command)
        print(f"{command}: {check.options.people} keys in {time.monotonic() - began:.2f} s, with the folder's opening", flush=True)
        after, left = check.read("keyring"), os.pread(held, len(before), 0)
        os.close(held)
        check.tally.that(len(after) >= len(before) and not any(after[at:at + 64] == before[at:at + 64] for at in range(8192, len(before), 64)), f"{command}: every slot is another")
        end = 8192 if command == "rotate" else len(before)
        check.tally.that(not any(left[at:at + 32] == before[at:at + 32] for at in range(0, end, 4096)), f"{command}: the old file is overwritten")
        check.whole(command)
        # The old slots under the new header.
        shutil.copy(check.path("keyring"), check.path("kept"))
        with open(check.path("keyring"), "r+b") as file:
            file.seek(8192)
            file.write(before[8192:])
        check.tally.equal(check.server.check()[0], 1, f"{command}: old slots do not open")
        os.replace(check.path("kept"), check.path("keyring"))
        check.tally.clean(check.server, command)


def killed(check):
    """Killed anywhere, the folder opens."""
    for command in (["rotate"], ["shred"], ["rotate", "--root"]):
        began = time.monotonic()
        check.tally.equal(run(*command, "--data", check.server.data)[0], 0, " ".join(command))
        lasts = time.monotonic() - began
        for _ in range(check.options.kills):
            process = subprocess.Popen([BINARY, *command, "--data", check.server.data], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(check.dice.random() * lasts * 1.1)
            process.kill()
            process.wait()
            check.whole(f"{' '.join(command)}, killed")
        check.tally.clean(check.server, " ".join(command))


def root_keys(check):
    """From a file to a passphrase, to a variable, and back."""
    folder = tempfile.mkdtemp(prefix="dogwood-root-")
    try:
        passphrase, elsewhere = os.path.join(folder, "passphrase"), os.path.join(folder, "elsewhere.key")
        with open(os.open(passphrase, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("correct horse battery staple\n")
        os.environ["DOGWOOD_TEST_ROOT"] = "ab" * 32
        os.environ["DOGWOOD_TEST_PASSPHRASE"] = "another passphrase"
        ways = [[], ["passphrase-file", passphrase], ["root-key-env", "DOGWOOD_TEST_ROOT"], ["passphrase-env", "DOGWOOD_TEST_PASSPHRASE"],
                ["root-key-file", elsewhere]]
        for before, after in zip(ways, ways[1:]):
            old = ["--" + before[0], before[1]] if before else []
            new = ["--" + after[0], after[1]]
            status, said = run("rotate", "--data", check.server.data, "--root", "--new-" + after[0], after[1], *old)
            check.tally.equal(status, 0, f"to {after[0]}: {said}")
            check.whole(after[0], new)
            check.tally.equal(run("check", "--data", check.server.data, *new)[0], 0, f"{after[0]}: dogwood check")
            status, said = run("check", "--data", check.server.data, *old)
            check.tally.that(status == 1 and "does not open this database's keyring" in said, f"the root key before {after[0]} is refused by name", said)
        os.chmod(elsewhere, 0o644)
        check.tally.that("may be read by others" in run("check", "--data", check.server.data, *new)[1], "an exposed root key is refused")
        os.chmod(elsewhere, 0o600)
        # Back into the folder, for what comes after this.
        os.rename(check.path("root.key"), os.path.join(folder, "first.key"))
        check.tally.equal(run("rotate", "--data", check.server.data, "--root", "--new-root-key-file", check.path("root.key"), *new)[0], 0, "back")
        check.whole("back")
    finally:
        shutil.rmtree(folder)


def served(check):
    """A new root key while the server serves, beside who writes and other rotations; killed meanwhile, the folder opens."""
    check.server.start()
    with check.server.connect() as one:
        one.execute("CREATE ROLE clerk LOGIN")
        with check.server.connect(user="clerk") as clerk:
            for function in ("rotate_keys", "rotate_root_key"):
                check.tally.equal(state_of(clerk.execute, f"SELECT {function}()"), "42501", f"{function} by a clerk")
        before = check.read("root.key")
        held = os.open(check.path("root.key"), os.O_RDONLY)
        check.tally.equal(rows(one, "SELECT rotate_root_key() >= %s" % (check.options.people - 10)), [(True,)], "under how many keys")
        check.tally.that(check.read("root.key") != before and os.pread(held, len(before), 0) != before, "another root key, and the old one is overwritten")
        os.close(held)
        check.tally.equal(rows(one, "SELECT count(name) FROM people"), [(check.options.people - 10,)], "the living are read")
        # What an attempt has left that failed before the keyring went over to it.
        with open(os.open(check.path("root.key.new"), os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("cd" * 32 + "\n")
        check.tally.equal(state_of(one.execute, "SELECT rotate_keys()"), "", "beside a new root key that was not gone over to")
        check.tally.that(not os.path.exists(check.path("root.key.new")), "which goes")
    check.tally.equal(check.server.stop(), 0, "SIGTERM")
    check.whole("a new root key while serving")
    for _ in range(check.options.kills):
        check.server.start()

        def rotates(number):
            with check.server.connect() as other:
                while not state_of(other.execute, "SELECT rotate_root_key()" if number else "SELECT rotate_keys()"):
                    pass

        def writes(number):
            with check.server.connect() as other:
                while not state_of(other.execute, f"INSERT INTO people SELECT 1000000 + {number}, 'x'; DELETE FROM people WHERE id = 1000000 + {number}"):
                    pass

        threads = [threading.Thread(target=work, args=(number,)) for number, work in enumerate((rotates, rotates, writes))]
        [thread.start() for thread in threads]
        time.sleep(0.1 + check.dice.random() * 0.4)
        check.server.kill()
        [thread.join() for thread in threads]
        check.server.start()
        with check.server.connect() as one:
            one.execute("DELETE FROM people WHERE id >= 1000000")
        check.tally.equal(check.server.stop(), 0, "SIGTERM")
        check.whole("root keys replaced while serving, killed")
    check.tally.clean(check.server, "root keys replaced while serving")


if __name__ == "__main__":
    run_check(Rotation(options(20261127, people=2000, kills=12)))
