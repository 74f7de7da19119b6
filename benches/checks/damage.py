"""What should never happen to a data folder: refused by name, noticed, or harmless; never other rows, and nothing acknowledged lost.

Servers are started over folders with wrong keys, damaged files and no room. DAMAGE_FLIPS (12) flipped bytes in stored files.
"""
import os
import random
import resource
import shutil
import subprocess
import tempfile

import psycopg

from harness import Refused, Server, Tally, rows, state_of

FLIPS = int(os.environ.get("DAMAGE_FLIPS", "12"))
SEED = int(os.environ.get("DAMAGE_SEED", "20261121"))


def refused(tally, data, name, *wanted, before=None):
    """A server over this folder must refuse, saying why."""
    server = Server(data)
    try:
        server.start(timeout=20, before=before)
        tally.that(False, name, "it started")
    except Refused as refusal:
        said = str(refusal)
        tally.that(all(word.lower() in said.lower() for word in wanted) and "panic" not in said and "internal error" not in said, name,
                   f"said {said!r}, wanted {wanted}")
    finally:
        server.kill()


def filled(people=40):
    """A stopped server's folder with data in SST files and in the log."""
    server = Server()
    server.start()
    with server.connect() as connection:
        connection.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)")
        connection.execute("CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT)")
        connection.execute("CREATE INDEX ON notes (body)")
        for person in range(people):
            connection.execute("INSERT INTO people VALUES (%s, %s)", (person, f"name {person}"))
            connection.execute("INSERT INTO notes VALUES (%s, %s, %s)", (person, person, "x" * 500))
        connection.execute("GDPR FORGET people 0")
    server.stop()
    return server


def shown(connection):
    return (sorted(rows(connection, "SELECT * FROM people")), sorted(rows(connection, "SELECT * FROM notes")),
            rows(connection, "SELECT count(*) FROM notes WHERE body = %s", ("x" * 500,)),
            sorted(map(repr, rows(connection, "GDPR GET people 1"))))


def folders(tally, dice):
    server = filled()
    data = server.data
    with tempfile.TemporaryDirectory(prefix="dogwood-bad-") as folder:
        try:
            server.start()
            with server.connect() as connection:
                truth = shown(connection)
            refused(tally, data, "a second server on the same folder", "dogwood.lock", "another")
            status, said = server.check()
            tally.that(status != 0 and "dogwood.lock" in said, "check of a running server's folder", said)
            server.stop()
            tally.clean(server, "a good folder")

            def copied(name):
                target = os.path.join(folder, name)
                shutil.copytree(data, target)
                return target

            def overwrite(path, change):
                with open(path, "r+b") as file:
                    content = bytearray(file.read())
                    change(content)
                    file.seek(0)
                    file.truncate()
                    file.write(content)

            def rubbish(start, end):
                def change(content):
                    content[start:end] = dice.randbytes(len(content[start:end]))
                return change

            target = copied("wrong-root")
            with open(os.path.join(target, "root.key"), "w") as file:
                file.write("ab" * 32 + "\n")
            refused(tally, target, "a wrong root key", "root.key")
            target = copied("short-root")
            with open(os.path.join(target, "root.key"), "w") as file:
                file.write("abc")
            refused(tally, target, "a malformed root key", "root.key")
            target = copied("no-root")
            os.remove(os.path.join(target, "root.key"))
            refused(tally, target, "a missing root key", "root.key")
            tally.that(not os.path.exists(os.path.join(target, "root.key")), "a missing root key is not made anew")
            target = copied("open-root")
            os.chmod(os.path.join(target, "root.key"), 0o640)
            refused(tally, target, "a group-readable root key", "root.key")
            target = copied("no-keyring")
            os.remove(os.path.join(target, "keyring"))
            refused(tally, target, "a missing keyring", "keyring")
            # The header stands twice: one copy may be lost.
            target = copied("header")
            overwrite(os.path.join(target, "keyring"), rubbish(0, 4096))
            halved = Server(target)
            halved.start()
            with halved.connect() as connection:
                tally.equal(shown(connection) == truth, True, "the rows over a half damaged keyring header")
            halved.kill()
            target = copied("headers")
            overwrite(os.path.join(target, "keyring"), rubbish(0, 8192))
            refused(tally, target, "a keyring with a damaged header", "keyring")
            target = copied("slots")
            overwrite(os.path.join(target, "keyring"), rubbish(8192, 1 << 30))
            slots(tally, target, truth)
            target = copied("empty-keyring")
            overwrite(os.path.join(target, "keyring"), lambda content: content.clear())
            refused(tally, target, "an empty keyring", "keyring")
            target = copied("format")
            with open(os.path.join(target, "FORMAT"), "w") as file:
                file.write("dogwood data format 99\n")
            refused(tally, target, "an unknown format version", "FORMAT", "99")
            target = copied("no-format")
            with open(os.path.join(target, "FORMAT"), "wb") as file:
                file.write(b"\xff\xfe\x00")
            refused(tally, target, "a format that is no text", "FORMAT")
            target = copied("current")
            overwrite(os.path.join(target, "rocks", "CURRENT"), rubbish(0, 100))
            refused(tally, target, "a damaged CURRENT")
            foreign = os.path.join(folder, "foreign")
            os.makedirs(foreign)
            with open(os.path.join(foreign, "PG_VERSION"), "w") as file:
                file.write("15\n")
            refused(tally, foreign, "a PostgreSQL folder", "foreign")
            refused(tally, os.path.join(folder, "format", "FORMAT"), "a data folder that is a file", "FORMAT")
            if os.getuid() != 0:
                os.chmod(foreign, 0o500)
                refused(tally, foreign, "a read-only folder", "foreign")

            flips(tally, dice, copied, overwrite, truth, data)
        finally:
            server.remove()


def slots(tally, data, truth):
    """Every person's key is damaged: reads fail, nothing wrong is shown, and check says so."""
    server = Server(data)
    try:
        server.start()
    except Refused as refusal:
        tally.that("keyring" in str(refusal), "a keyring with damaged slots", refusal)
        return
    with server.connect() as connection:
        state = state_of(connection.execute, "SELECT * FROM people")
        tally.that(state.startswith("58") or state in ("XX001", "lost"), "reading under damaged keys", state)
        tally.equal(rows(connection, "SELECT 1"), [(1,)], "the server lives over damaged keys")
    server.kill()
    status, said = server.check()
    tally.that(status != 0 and "internal error" not in said, "check finds damaged keys", said[:500])


def flips(tally, dice, copied, overwrite, truth, data):
    """A flipped byte in any stored file: refused, an error, or harmless; never other rows."""
    files = [name for name in os.listdir(os.path.join(data, "rocks")) if name.endswith((".sst", ".log")) and os.path.getsize(os.path.join(data, "rocks", name))]
    files += ["MANIFEST"]
    wrong = noticed = harmless = 0
    for number in range(FLIPS):
        target = copied(f"flip{number}")
        name = files[number % len(files)] if number < FLIPS - 3 else "../keyring"
        if name == "MANIFEST":
            name = next(entry for entry in os.listdir(os.path.join(target, "rocks")) if entry.startswith("MANIFEST"))
        size = os.path.getsize(os.path.join(target, "rocks", name))
        position = dice.randrange(size)

        def flip(content):
            content[position] ^= 1 << dice.randrange(8)

        overwrite(os.path.join(target, "rocks", name), flip)
        server = Server(target)
        outcome = "harmless"
        try:
            server.start(timeout=20)
            try:
                with server.connect() as connection:
                    found = shown(connection)
                if found != truth:
                    outcome = "wrong"
            except psycopg.Error as error:
                outcome = f"noticed: {error.sqlstate}"
                if error.sqlstate == "XX000":
                    outcome = "wrong: XX000 " + str(error)
        except Refused as refusal:
            outcome = "noticed at start" if "internal error" not in str(refusal) else f"wrong: {refusal}"
        server.kill()
        if outcome.startswith("wrong"):
            status, said = server.check()
            tally.that(False, f"a flipped byte at {position} of {name}", f"{outcome}; check says {said[:300]}")
        else:
            tally.that(True, "flip")
        wrong += outcome.startswith("wrong")
        noticed += outcome.startswith("noticed")
        harmless += outcome == "harmless"
        shutil.rmtree(target, ignore_errors=True)
    print(f"{FLIPS} flipped bytes: {noticed} noticed, {harmless} harmless, {wrong} wrong")


def disk_full(tally):
    """No room left: writes fail, the server says so or stops, and all that was acknowledged is there afterwards."""
    place = tempfile.mkdtemp(prefix="dogwood-full-")
    mounted = os.getuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", place], capture_output=True).returncode == 0
    server = Server(os.path.join(place, "data"))
    if not mounted:
        print("no tmpfs could be mounted: the file size limit stands for the full disk")
    server.errors = place + ".stderr"
    limit = None if mounted else (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20)))
    try:
        server.start(before=limit)
        acknowledged, state = [], ""
        try:
            connection = server.connect()
            connection.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)")
            connection.execute("CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT)")
            connection.execute("INSERT INTO people VALUES (1, 'one')")
            for key in range(4000):
                connection.execute("INSERT INTO notes VALUES (%s, 1, repeat('z', 50000))", (key,))
                acknowledged.append(key)
        except psycopg.Error as error:
            state = error.sqlstate or "lost"
        tally.that(0 < len(acknowledged) < 4000, "the disk became full", (len(acknowledged), state))
        tally.that(state in ("53100", "58030", "lost", "57P01"), "a full disk's error", state)
        if server.alive():
            try:
                with server.connect() as connection:
                    found = [row[0] for row in rows(connection, "SELECT id FROM notes ORDER BY id")]
                    tally.equal(found, acknowledged, "reads go on while the disk is full")
            except psycopg.Error as error:
                tally.that(False, "reads go on while the disk is full", error)
        server.kill()
        if mounted:
            subprocess.run(["mount", "-o", "remount,size=200m", place], check=True, capture_output=True)
        server.start()
        with server.connect() as connection:
            found = [row[0] for row in rows(connection, "SELECT id FROM notes ORDER BY id")]
            missing = sorted(set(acknowledged) - set(found))
            tally.equal(missing, [], "acknowledged writes after a full disk")
            tally.that(len(found) - len(acknowledged) in (0, 1), "no other writes after a full disk", len(found) - len(acknowledged))
            tally.equal(state_of(connection.execute, "INSERT INTO notes VALUES (5000, 1, 'room again')"), "", "a write with room again")
        server.stop()
        tally.clean(server, "after a full disk")
    finally:
        server.kill()
        if mounted:
            subprocess.run(["umount", "-l", place], capture_output=True)
        shutil.rmtree(place, ignore_errors=True)
        if os.path.exists(server.errors):
            os.remove(server.errors)


def main():
    tally, dice = Tally(), random.Random(SEED)
    tally.case(folders, tally, dice)
    tally.case(disk_full, tally)
    tally.end()


if __name__ == "__main__":
    main()
