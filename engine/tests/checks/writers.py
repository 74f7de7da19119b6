"""Several databases: each log refers to the others' heads, and their capsules in one file hold each other. What is changed, cut off, replaced,
left out, doubled or moved in it is found with its place; so is what the command is not to merge.

    writers.py [--seed S] [--count N]      N random changes of the file (400)
"""
import os
import re
import shutil
import struct
import subprocess
import time

from harness import BINARY, Check, options, rows, run_check
from harness.server import Server


def dogwood(*arguments):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def parts(merged):
    """The capsules of a merged file."""
    found, place = [], 8
    while place < len(merged):
        length, shift = 0, 0
        while True:
            byte = merged[place]
            length |= (byte & 0x7f) << shift
            place, shift = place + 1, shift + 7
            if byte < 0x80:
                break
        found.append(merged[place:place + length])
        place += length
    return found


def together(capsules):
    written = b"DOGWMRG1"
    for capsule in capsules:
        length = len(capsule)
        while length >= 0x80:
            written, length = written + bytes([length & 0x7f | 0x80]), length >> 7
        written += bytes([length]) + capsule
    return written


class Writers(Check):
    def run(self):
        self.root = self.server.root
        self.servers = [Server(os.path.join(self.root, name)) for name in "abc"]
        try:
            for case in (self.referring, self.quiet, self.merged, self.damaged, self.replaced, self.refused, self.proved):
                self.tally.case(case)
        finally:
            for server in self.servers:
                server.kill()

    def at(self, *names):
        return os.path.join(self.root, *names)

    def keys(self, names="abc"):
        return [word for name in names for word in ("--key", self.at(name, "public.key"))]

    def arguments(self, name):
        others = [other for other in "abc" if other != name]
        return ["--publish-head", self.at(f"{name}.heads"), "--publish-every", "1",
                *(word for other in others for word in ("--refer-to", self.at(f"{other}.heads"), "--refer-key", self.at(other, "public.key")))]

    def work(self, server, count=20):
        with server.connect() as one:
            for number in range(count):
                one.execute("UPDATE users SET name = %s WHERE id = 1", (f"n{number}",))

    def references(self, server):
        with server.connect() as one:
            return rows(one, "SELECT count(*) FROM dogwood.audit WHERE operation = 'refer'")[0][0]

    def referring(self):
        for server in self.servers:
            server.start()
            with server.connect() as one:
                one.execute("CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT)")
                one.execute("INSERT INTO users VALUES (1, 'n')")
            server.stop()
        for name, server in zip("abc", self.servers):
            server.start(self.arguments(name))
            self.work(server)
        until = time.monotonic() + 20
        while min(map(self.references, self.servers)) < 2 and time.monotonic() < until:
            for server in self.servers:
                self.work(server)
            time.sleep(0.5)
        found = [self.references(server) for server in self.servers]
        self.tally.that(min(found) >= 2, "each refers to the two others", found)

    def lines(self):
        return [sum(1 for _ in open(self.at(f"{name}.heads"))) for name in "abc"]

    def quiet(self):
        """Three that refer to each other and do nothing else fall silent."""
        time.sleep(5)
        before = self.lines()
        time.sleep(4)
        self.tally.equal(self.lines(), before, "nothing is referred to while nothing happens")

    def merged(self):
        # One of them goes on after the others have stopped; one was killed.
        self.servers[1].kill()
        self.servers[1].start(self.arguments("b"))
        self.work(self.servers[1])
        time.sleep(2)
        for server in self.servers:
            self.tally.equal(server.stop(), 0, "SIGTERM")
        for name in "abc":
            self.tally.equal(dogwood("export-capsule", "--data", self.at(name), self.at(f"{name}.capsule"))[0], 0, "exported")
        self.capsules = [self.at(f"{name}.capsule") for name in "abc"]
        self.file = self.at("merged")
        code, said = dogwood("merge-capsules", *self.keys(), self.file, *self.capsules)
        self.tally.equal((code, said), (0, ""), "merged")
        code, said = dogwood("verify", *self.keys(), self.file)
        count = re.search(r"references from one to another that hold: (\d+)", said)
        self.tally.that(code == 0 and "genuine audit logs of 3 databases" in said and count and int(count[1]) >= 6, "genuine", said)
        heads = [word for name in "abc" for word in ("--head", self.at(f"{name}.heads"))]
        code, said = dogwood("verify", *self.keys(), *heads, self.file)
        self.tally.that(code == 0 and len(re.findall(r"compared with \d+ published heads", said)) == 3, "against the heads of all", said)
        with open(self.at("all.heads"), "wb") as file:
            file.write(b"".join(open(self.at(f"{name}.heads"), "rb").read() for name in "abc"))
        code, said = dogwood("verify", *self.keys(), "--head", self.at("all.heads"), self.file)
        self.tally.that(code == 0 and len(re.findall(r"compared with \d+ published heads", said)) == 3, "of one file of a witness", said)
        # In another order, and with one that is merged already.
        for name, given in (("order", self.capsules[::-1]), ("again", [self.file])):
            self.tally.equal(dogwood("merge-capsules", *self.keys(), self.at(name), *given)[0], 0, name)
            self.tally.that(open(self.at(name), "rb").read() == open(self.file, "rb").read(), f"{name}: the same file")
        self.tally.that(all(dogwood("check", "--data", self.at(name))[0] == 0 for name in "abc"), "check")

    def verify(self, content, keys=None):
        with open(self.at("changed"), "wb") as file:
            file.write(content)
        return dogwood("verify", *(keys or self.keys()), self.at("changed"))

    def damaged(self):
        whole = open(self.file, "rb").read()
        capsules = parts(whole)
        self.tally.equal(together(capsules), whole, "the form is as it is described")
        databases = [capsule[8:24].hex() for capsule in capsules]

        def found(content, words, name):
            code, said = self.verify(content)
            self.tally.that(code == 1 and re.search(words, said), name, said)

        keys = {open(self.at(name, "public.key")).read().strip(): name for name in "abc"}
        names = [keys[capsule[24:56].hex()] for capsule in capsules]
        code, said = self.verify(together(capsules[:2]), self.keys(names[:2]))
        left_out = r"record \d+ of database [0-9a-f]{32} refers to record \d+ of log [0-9a-f]{64}, whose capsule is missing"
        self.tally.that(code == 1 and re.search(left_out, said), "one that others refer to is left out", said)
        found(together(capsules[:2]), f"no capsule is of public key {capsules[2][24:56].hex()}: it is missing", "one whose key is given is left out")
        found(together([capsules[0], capsules[0], *capsules[1:]]), f"database {databases[0]} stands twice, or was moved", "one stands twice")
        found(together([capsules[1], capsules[0], capsules[2]]), f"database {databases[0]} stands twice, or was moved", "two are swapped")
        found(whole[:-5], "part 3 of the file is no capsule", "cut off")
        found(whole + b"\x05", "part 4 of the file is no capsule", "something behind it")
        found(b"DOGWMRG1", "these are no merged capsules", "none")
        found(together([capsules[0], b"DOGWCAP1", capsules[2]]), "part 2 of the file is no capsule", "one that is none")
        for place, capsule in enumerate(capsules):
            # In its last record.
            changed = bytearray(capsule)
            changed[-3] ^= 1
            last = f"database {databases[place]}: a record after number \\d+ was changed|database {databases[place]}: this is no receipt or capsule"
            found(together([*capsules[:place], bytes(changed), *capsules[place + 1:]]), last, f"a byte of capsule {place}")
            cut = capsule[:len(capsule) // 2]
            found(together([*capsules[:place], cut, *capsules[place + 1:]]), f"database {databases[place]}: ", f"capsule {place} is cut off")
        code, said = self.verify(whole, self.keys("ab"))
        self.tally.that(code == 1 and re.search("none of the public keys is that of database [0-9a-f]{32}", said), "a key is not given", said)
        for number in range(self.options.count):
            changed, place = bytearray(whole), self.dice.randrange(len(whole))
            how = self.dice.randrange(4)
            if how == 0:
                changed[place] ^= 1 << self.dice.randrange(8)
            elif how == 1:
                del changed[place:place + self.dice.randrange(1, 50)]
            elif how == 2:
                changed[place:place] = self.dice.randbytes(self.dice.randrange(1, 50))
            else:
                other = self.dice.randrange(len(whole))
                changed[place:place + 20] = whole[other:other + 20]
            if bytes(changed) == whole:
                continue
            code, said = self.verify(bytes(changed))
            if code != 1 or not said.startswith("dogwood: ") or "internal error" in said:
                self.tally.that(False, f"change {number} ({how} at {place})", (code, said))
                return
        self.tally.that(True, "random changes are found")

    def replaced(self):
        """Older capsules, and a folder that went on in two ways: nobody signed the file, and still it is found."""
        older = self.at("older")
        shutil.copytree(self.at("b"), older)
        for name, server in zip("abc", self.servers):
            server.start(self.arguments(name))
        for _ in range(3):
            for server in self.servers:
                self.work(server)
            time.sleep(1.5)
        for server in self.servers:
            server.stop()
        for name in "abc":
            os.remove(self.at(f"{name}.capsule"))
            dogwood("export-capsule", "--data", self.at(name), self.at(f"{name}.capsule"))
        dogwood("export-capsule", "--data", older, self.at("older.capsule"))
        merge = lambda *capsules: dogwood("merge-capsules", *self.keys(), self.at("late"), *map(self.at, capsules))
        code, said = merge("a.capsule", "older.capsule", "c.capsule")
        self.tally.that(code == 1 and re.search(r"the capsule of database [0-9a-f]{32} ends before record \d+, to which record \d+ of database [0-9a-f]{32} refers", said), "cut off at its end", said)
        twin = Server(older)
        twin.start()
        self.work(twin, 400)
        twin.stop()
        os.remove(self.at("older.capsule"))
        dogwood("export-capsule", "--data", older, self.at("older.capsule"))
        code, said = merge("a.capsule", "older.capsule", "c.capsule")
        self.tally.that(code == 1 and re.search(r"record \d+ of database [0-9a-f]{32} is not the one to which record \d+ of database [0-9a-f]{32} refers", said), "another in its place", said)
        self.tally.that(not os.path.exists(self.at("late")), "nothing half-done is left")
        code, said = merge("a.capsule", "b.capsule", "c.capsule")
        self.tally.equal((code, said), (0, ""), "the right ones")

    def refused(self):
        merge = lambda *words: dogwood("merge-capsules", *map(str, words))
        new = self.at("new")
        for name, answer, words in (
                ("a key too few", merge(*self.keys("a"), new, *self.capsules), "none of the public keys is that of database"),
                ("one twice", merge(*self.keys(), new, self.capsules[0], *self.capsules), "stands twice"),
                ("no capsule", merge(*self.keys(), new, self.at("a.heads")), "part 1 of the file is no capsule"),
                ("no file", merge(*self.keys(), new, self.at("none")), "could not read"),
                ("a file that is there", merge(*self.keys(), self.file, *self.capsules), "could not write"),
                ("a number without a database", dogwood("verify", *self.keys(), "--head", "5:" + "0" * 64, self.file), "does not say whose it is")):
            self.tally.that(answer[0] == 1 and words in answer[1], name, answer)
        self.tally.that(not os.path.exists(new), "nothing half-done is left")
        # A record of another log within a capsule.
        whole = [open(capsule, "rb").read() for capsule in self.capsules]
        other = whole[0][:168] + whole[1][168:]
        with open(self.at("mixed"), "wb") as file:
            file.write(other)
        code, said = merge(*self.keys("ac"), new, self.at("mixed"), self.capsules[2])
        self.tally.that(code == 1 and "was changed, removed, added or moved" in said, "records of another log", said)
        # A server that is to refer to what is not there, or to itself, says so and goes on.
        server = self.servers[0]
        server.start(["--publish-head", self.at("a.heads"), "--publish-every", "1", "--refer-to", self.at("none"), "--refer-to", self.at("a.heads"),
                      "--refer-to", self.at("mixed"), "--refer-key", self.at("a", "public.key")])
        self.work(server)
        time.sleep(2.5)
        said = server.said()
        for words in ("the file cannot be read", "it is this database's own", "a published head was changed, or is of another"):
            self.tally.that(words in said, words, said[-2000:])
        server.stop()
        with open(server.errors, "w"):
            pass

    def proved(self):
        """One reference, proved alone: where another log ended, signed by this one."""
        server = self.servers[0]
        server.start()
        with server.connect() as one:
            number = rows(one, "SELECT max(number) FROM dogwood.audit WHERE operation = 'refer'")[0][0]
        server.stop()
        code, said = dogwood("prove", "--data", server.data, "--entry", number, self.at("proof"))
        self.tally.equal(code, 0, f"proved: {said}")
        code, said = dogwood("verify", *self.keys("ba"), self.at("proof"))
        self.tally.that(code == 0 and re.search(r"refers to record \d+:[0-9a-f]{64} of log [0-9a-f]{64}", said), "offline", said)


if __name__ == "__main__":
    run_check(Writers(options(20261129, count=400)))
