"""Heads of the audit log: published to a file and to a witness over HTTP, also where that fails; what is cut off, replaced or changed
is found by them; one record is proved offline, from the present head and from a published one.
"""
import http.server
import json
import os
import re
import subprocess
import threading
import time

import psycopg

from harness import BINARY, Check, run_check


def dogwood(*arguments):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class Witness(http.server.BaseHTTPRequestHandler):
    """Keeps what it is sent, unless it is told to refuse or to dawdle."""
    kept, status, pause = [], 200, 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])) if "Content-Length" in self.headers else self.chunks()
        time.sleep(Witness.pause)
        if Witness.status == 200:
            Witness.kept.append(body.decode())
        self.send_response(Witness.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def chunks(self):
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, *_):
        pass


class Heads(Check):
    def run(self):
        self.heads = os.path.join(self.server.root, "heads")
        self.key = os.path.join(self.server.data, "public.key")
        for case in (self.published, self.witnessed, self.truncated, self.replaced, self.proved, self.refused, self.kept):
            self.tally.case(case)
        self.server.start()

    def lines(self):
        with open(self.heads) as file:
            return [json.loads(line) for line in file]

    def restart(self, *arguments):
        self.server.stop()
        self.server.start(arguments)

    def work(self, count=60):
        with self.server.connect() as one:
            for number in range(count):
                one.execute("UPDATE users SET name = %s WHERE id = %s", (f"n{number}", 1 + number % 20))

    def await_heads(self, least, patience=10):
        until = time.monotonic() + patience
        while time.monotonic() < until:
            if os.path.exists(self.heads) and len(self.lines()) >= least:
                return True
            time.sleep(0.1)
        return False

    def published(self):
        self.restart("--publish-head", self.heads, "--publish-every", "1")
        with self.server.connect() as one:
            one.execute("CREATE DATA_SUBJECT TABLE users (id INT PRIMARY KEY, name TEXT)")
            one.execute("INSERT INTO users SELECT n, 'n' FROM generate_series(1, 20) n")
        self.began = time.monotonic()
        self.work(600)
        self.tally.that(self.await_heads(1), "a head is published")
        self.work()
        self.tally.that(self.await_heads(2), "another, once the log has gone on")
        time.sleep(2.5)
        quiet = len(self.lines())
        time.sleep(2.5)
        self.tally.equal(len(self.lines()), quiet, "none while nothing happens")
        self.work()
        self.server.kill()
        records = [line["records"] for line in self.lines()]
        self.tally.equal(records, sorted(set(records)), "they go on")
        self.server.start(("--publish-head", self.heads, "--publish-every", "1"))
        self.work()
        before = len(self.lines())
        self.server.stop()
        self.tally.that(len(self.lines()) > before, "the last one as the server stops")
        self.capsule = os.path.join(self.server.root, "capsule")
        self.tally.equal(dogwood("export-capsule", "--data", self.server.data, self.capsule)[0], 0, "exported")
        code, said = dogwood("verify", "--key", self.key, "--head", self.heads, self.capsule)
        self.tally.that(code == 0 and f"compared with {len(self.lines())} published heads" in said, "genuine, kill -9 or not", said)
        last = self.lines()[-1]
        self.tally.equal(dogwood("verify", "--key", self.key, "--head", f"{last['records']}:{last['hash']}", self.capsule)[0], 0, "by one")

    def witnessed(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Witness)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/heads"
        self.server.start(("--publish-head", url, "--publish-every", "1", "--log-level", "info"))
        self.work()
        until = time.monotonic() + 10
        while not Witness.kept and time.monotonic() < until:
            time.sleep(0.1)
        self.tally.that(Witness.kept and json.loads(Witness.kept[-1])["records"] > 0, "the witness has a head", Witness.kept)
        Witness.status, count = 503, len(Witness.kept)
        self.work()
        time.sleep(2.5)
        self.tally.equal(len(Witness.kept), count, "it refuses")
        self.tally.that("is not published" in self.server.said(), "the log says so")
        Witness.status, Witness.pause = 200, 4
        began = time.monotonic()
        self.work(200)
        self.tally.that(time.monotonic() - began < 4, "a slow witness holds up nobody", time.monotonic() - began)
        Witness.pause = 0
        time.sleep(6)
        self.tally.that(len(Witness.kept) > count, "it has the newest again")
        self.tally.that("are published again" in self.server.said(), "the log says that, too")
        self.server.stop()
        kept = os.path.join(self.server.root, "kept")
        with open(kept, "w") as file:
            file.write("".join(Witness.kept))
        now = os.path.join(self.server.root, "capsule-2")
        dogwood("export-capsule", "--data", self.server.data, now)
        code, said = dogwood("verify", "--key", self.key, "--head", kept, now)
        self.tally.that(code == 0 and "compared with" in said, "by what the witness has", said)
        server.shutdown()
        # What it logged of the witness is as it should be.
        with open(self.server.errors, "w"):
            pass

    def truncated(self):
        self.server.start(("--publish-head", self.heads))
        self.work()
        self.server.stop()
        code, said = dogwood("verify", "--key", self.key, "--head", self.heads, self.capsule)
        self.tally.that(code == 1 and "ends before the published head" in said, "an older log is not all", said)
        code, said = dogwood("verify", "--key", self.key, self.capsule)
        self.tally.that(code == 0 and "not compared" in said, "which nobody sees without a head", said)

    def replaced(self):
        """A folder that was copied, and went on in two ways: both are signed, and one of them is not what was published."""
        twin = os.path.join(self.server.root, "twin")
        subprocess.run(["cp", "-r", self.server.data, twin], check=True)
        self.work_on(twin, "twin")
        self.server.start(("--publish-head", self.heads))
        self.work(10)
        self.server.stop()
        forked = os.path.join(self.server.root, "forked")
        dogwood("export-capsule", "--data", twin, forked)
        code, said = dogwood("verify", "--key", self.key, "--head", self.heads, forked)
        self.tally.that(code == 1 and re.search(r"record \d+ is not the one whose head was published", said), "another log", said)

    def work_on(self, folder, name):
        from harness.server import Server
        twin = Server(folder)
        twin.start()
        with twin.connect() as one:
            for number in range(40):
                one.execute("UPDATE users SET name = %s WHERE id = 3", (f"{name}{number}",))
        twin.stop()

    def proved(self):
        self.server.start(("--publish-head", self.heads))
        with self.server.connect() as one:
            one.execute("UPDATE users SET name = 'proved' WHERE id = 7")
            self.work(10)
            time.sleep(1)
            (entry, person), = one.execute(
                "SELECT number, subjects[1] FROM dogwood.audit WHERE operation = 'update' ORDER BY number DESC OFFSET 10 LIMIT 1").fetchall()
        self.server.stop()
        last = self.lines()[-1]["records"]
        proof = os.path.join(self.server.root, "proof")
        code, said = dogwood("prove", "--data", self.server.data, "--entry", entry, proof)
        self.tally.equal(code, 0, f"an entry is proved: {said}")
        code, said = dogwood("verify", "--key", self.key, "--head", self.heads, proof)
        self.tally.that(code == 0 and f"entry {entry}:" in said and str(person).removeprefix("\\x") in said, "offline", said)
        for record in (1, 2, last // 2, last - 1, last):
            path = f"{proof}-{record}"
            self.tally.equal(dogwood("prove", "--data", self.server.data, "--record", record, "--head", self.heads, path)[0], 0, f"record {record}")
            code, said = dogwood("verify", "--key", self.key, "--head", self.heads, path)
            steps = int(re.search(r"(\d+) steps away", said)[1]) if code == 0 else None
            self.tally.that(steps is not None and steps <= 2 * last.bit_length(), f"record {record} of {last} in few steps", said)
        self.tally.that(os.path.getsize(f"{proof}-1") < 20_000, "small", os.path.getsize(f"{proof}-1"))
        with open(f"{proof}-{last // 2}", "rb") as file:
            whole = file.read()
        for place in range(0, len(whole), 7):
            with open(proof, "wb") as file:
                file.write(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:])
            code, said = dogwood("verify", "--key", self.key, proof)
            if code != 1 or "dogwood: " not in said:
                self.tally.that(False, f"byte {place} changed", (code, said))
                break
        else:
            self.tally.that(True, "any byte changed is found")
        with open(proof, "wb") as file:
            file.write(whole[:-1])
        self.tally.equal(dogwood("verify", "--key", self.key, proof)[0], 1, "cut off")

    def refused(self):
        root = self.server.root
        for arguments, words in (
                (("prove", "--data", self.server.data, "--entry", 10 ** 9, os.path.join(root, "x")), "no such entry"),
                (("prove", "--data", self.server.data, "--record", 10 ** 9, os.path.join(root, "x")), "no such record"),
                (("prove", "--data", self.server.data, "--record", 0, os.path.join(root, "x")), "no such record"),
                (("verify", "--key", self.key, "--head", os.path.join(root, "none"), self.capsule), "could not read"),
                (("verify", "--key", self.key, "--head", self.key, self.capsule), "a published head was changed")):
            code, said = dogwood(*arguments)
            self.tally.that(code == 1 and words in said, " ".join(map(str, arguments[:2])), said)
        self.tally.that(not os.path.exists(os.path.join(root, "x")), "nothing half-done is left")
        changed = os.path.join(root, "changed")
        lines = self.lines()
        lines[0]["records"] += 1
        with open(changed, "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        code, said = dogwood("verify", "--key", self.key, "--head", changed, self.capsule)
        self.tally.that(code == 1 and "a published head was changed" in said, "a head that was changed", said)
        with open(changed, "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in self.lines())
            file.write('{"head":"dogwood lo')
        now = os.path.join(root, "capsule-3")
        dogwood("export-capsule", "--data", self.server.data, now)
        self.tally.equal(dogwood("verify", "--key", self.key, "--head", changed, now)[0], 0, "a line that a crash cut is none")


    def kept(self):
        """Entries that are older than a minute go; the chain, heads and proofs of before hold."""
        self.server.start(("-c", "dogwood.audit_retention=1min"))
        with self.server.connect() as one:
            (before,), = one.execute("SELECT min(number) FROM dogwood.audit").fetchall()
            until = self.began + 90
            while (first := one.execute("SELECT min(number) FROM dogwood.audit").fetchall()[0][0]) == before and time.monotonic() < until:
                time.sleep(0.5)
            self.tally.that(first > before, "old entries are gone", (before, first))
            state = [row for row in one.execute("SHOW dogwood.audit_retention").fetchall()]
            self.tally.equal(state, [("1min",)], "the setting")
            try:
                one.execute("SET dogwood.audit_retention = 1")
                self.tally.that(False, "a session sets it")
            except psycopg.errors.InsufficientPrivilege:
                self.tally.that(True, "no session sets it")
        self.server.stop()
        now = os.path.join(self.server.root, "capsule-4")
        dogwood("export-capsule", "--data", self.server.data, now)
        code, said = dogwood("verify", "--key", self.key, "--head", self.heads, now)
        self.tally.that(code == 0 and "only hashes are left" in said and "compared with" in said, "the chain holds", said)
        proof = os.path.join(self.server.root, "proof-old")
        dogwood("prove", "--data", self.server.data, "--record", 2, proof)
        code, said = dogwood("verify", "--key", self.key, proof)
        self.tally.that(code == 0 and "older than what is kept" in said, "a record of before is proved, without its entries", said)
        self.tally.equal(dogwood("check", "--data", self.server.data)[0], 0, "the folder is whole")


if __name__ == "__main__":
    run_check(Heads())
