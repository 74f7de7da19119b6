"""What should never happen to a data folder: refused by name, noticed, or harmless; never other rows, and nothing acknowledged lost.

Servers are started over folders with wrong keys, damaged and missing files and no room, killed with work in their logs. What
each file may suffer is tried one by one in storage/tests/folders.rs. DAMAGE_FLIPS (12) flipped bytes in stored files.
"""
import glob
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import psycopg

from harness import Refused, Server, Tally, rows, run, state_of

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


def contents(data):
    """Every file below a folder with a hash of what is in it."""
    found = {}
    for folder, _, names in os.walk(data):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, data)] = hashlib.sha256(file.read()).hexdigest()
    return found


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
            refused(tally, target, "a damaged CURRENT", "CURRENT")
            target = copied("no-current")
            os.remove(os.path.join(target, "rocks", "CURRENT"))
            gone(tally, target, "CURRENT", truth)
            target = copied("no-rocks")
            shutil.rmtree(os.path.join(target, "rocks"))
            gone(tally, target, "rocks")
            target = copied("no-witness")
            os.remove(os.path.join(target, "witness"))
            gone(tally, target, "witness", truth)
            target = copied("public-key")
            overwrite(os.path.join(target, "public.key"), rubbish(3, 9))
            gone(tally, target, "public.key", truth)
            target = copied("short-keyring")
            overwrite(os.path.join(target, "keyring"), lambda content: content.__delitem__(slice(8192, None)))
            gone(tally, target, "keyring")
            stranger = filled(people=3)
            target = copied("foreign-keyring")
            for name in ("keyring", "root.key"):
                shutil.copy(os.path.join(stranger.data, name), os.path.join(target, name))
            gone(tally, target, "another database")
            target = copied("foreign-rocks")
            shutil.rmtree(os.path.join(target, "rocks"))
            shutil.copytree(os.path.join(stranger.data, "rocks"), os.path.join(target, "rocks"))
            gone(tally, target, "rocks")
            stranger.remove()
            target = copied("slot")
            overwrite(os.path.join(target, "keyring"), rubbish(8192, 8192 + 4096))
            half(tally, target, truth)
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


def gone(tally, data, named, truth=None):
    """Refused by check and by two starts, which change nothing; repaired if that is possible without guessing."""
    before = contents(data)
    for _ in range(2):
        status, said = run("check", "--data", data)
        tally.that(status != 0 and named in said, f"check without a whole {named}", said)
        refused(tally, data, f"no whole {named}", named)
    tally.equal(contents(data), before, f"what a refusal of {named} leaves")
    status, said = run("check", "--repair", "--data", data)
    if truth is None:
        tally.that(status != 0 and named in said, f"{named} cannot be repaired", said)
        tally.equal(contents(data), before, f"what a refused repair of {named} leaves")
        return
    tally.that(status == 0 and named in said, f"repair of {named}", said)
    server = Server(data)
    server.start()
    with server.connect() as connection:
        tally.that(shown(connection) == truth, f"the rows after a repair of {named}")
    server.stop()


def half(tally, data, truth):
    """One copy of many keys is damaged: read from the other, told, and repaired when that is asked for."""
    server = Server(data)
    server.start()
    with server.connect() as connection:
        tally.that(shown(connection) == truth, "the rows over a damaged copy of their keys")
    server.stop()
    tally.that("data key" in server.said(), "the server tells of a damaged copy", server.said())
    status, said = server.check()
    tally.that(status != 0 and "--repair" in said, "check tells of a damaged copy", said)
    status, said = run("check", "--repair", "--data", data)
    tally.that(status == 0 and "repaired" in said, "a copy is repaired", said)
    tally.clean(server, "after a repair")


def lost(tally, dice):
    """A killed server's log loses what was acknowledged: refused with what is lost, and what is left can be read and dumped."""
    server = filled()
    try:
        server.start()
        with server.connect() as connection:
            for key in range(100, 160):
                connection.execute("INSERT INTO notes VALUES (%s, %s, %s)", (key, 1 + key % 39, "y" * 3000))
            connection.execute("GDPR FORGET people 39")
            truth = shown(connection)
            kept = sorted(set(row[0] for row in rows(connection, "SELECT id FROM notes")))
        server.kill()
        before = contents(server.data)
        tally.clean(server, "a killed server's folder")
        tally.equal(contents(server.data), before, "what a check leaves of a log to replay")
        log = max(glob.glob(os.path.join(server.data, "rocks", "*.log")), key=os.path.getsize)
        with open(log, "rb") as file:
            sound = file.read()
        end = len(sound.rstrip(b"\0"))
        flipped = bytearray(sound)
        flipped[end // 3] ^= 1 << dice.randrange(8)
        for name, content in (("flipped", bytes(flipped)), ("short", sound[: end // 2]), ("missing", None)):
            if content is None:
                os.remove(log)
            else:
                with open(log, "wb") as file:
                    file.write(content)
            before = contents(server.data)
            for _ in range(2):
                refused(tally, server.data, f"a log that is {name}", "acknowledged", "commit", "receipt")
                status, said = server.check()
                tally.that(status != 0 and "acknowledged" in said, f"check of a log that is {name}", said)
            tally.equal(contents(server.data), before, f"what refusals leave of a log that is {name}")
            if name == "flipped":
                tally.that('"notes"' in said and os.path.basename(log) in said, "what can be read behind the damage", said)
            server.start(arguments=["--salvage"])
            with server.connect() as connection:
                left = sorted(row[0] for row in rows(connection, "SELECT id FROM notes"))
                tally.that(set(left) <= set(kept) and len(left) >= 38, f"what is left of a log that is {name}", len(left))
                with connection.cursor() as cursor, cursor.copy("COPY people TO STDOUT") as copy:
                    people = len(list(copy.rows()))
                tally.equal(people, 38, "the forgotten stay so, though the receipt is lost")
                tally.equal(state_of(connection.execute, "INSERT INTO people VALUES (1000, 'x')"), "25006", "a write when salvaging")
                tally.equal(state_of(connection.execute, "CREATE TABLE more (id INT PRIMARY KEY)"), "25006", "DDL when salvaging")
            server.stop()
            tally.equal(contents(server.data), before, f"what salvaging leaves of a log that is {name}")
            with open(log, "wb") as file:
                file.write(sound)
        server.start()
        with server.connect() as connection:
            tally.that(shown(connection) == truth, "the rows when the log is back")
        server.stop()
        tally.clean(server, "when the log is back")
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


def disk_full(tally, arguments=()):
    """No room left: reads go on, writes are refused and go on when there is room again, without a new start. With room kept,
    erasures go on too; with none kept RocksDB itself fails at a write."""
    place = tempfile.mkdtemp(prefix="dogwood-full-")
    mounted = os.getuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", place], capture_output=True).returncode == 0
    server = Server(os.path.join(place, "data"))
    if not mounted:
        print("no tmpfs could be mounted: no full disk was tried")
        shutil.rmtree(place)
        return
    server.errors = place + ".stderr"
    name = "a full disk " + " ".join(arguments)
    try:
        server.start(arguments)
        acknowledged, state = [], ""
        connection = server.connect()
        connection.execute("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)")
        connection.execute("CREATE TABLE notes (id INT PRIMARY KEY, person INT NOT NULL OWNED_BY people(id), body TEXT)")
        connection.execute("INSERT INTO people VALUES (1, 'one'), (2, 'two')")
        connection.execute("CREATE ROLE sure LOGIN; GRANT SELECT ON notes TO sure; ALTER ROLE sure SET dogwood.audit = strict")
        sure, read = server.connect(user="sure"), ("SELECT id FROM notes WHERE id = %s", (5,))
        try:
            for key in range(4000):
                connection.execute("INSERT INTO notes VALUES (%s, 1, repeat('z', 50000))", (key,))
                acknowledged.append(key)
        except psycopg.Error as error:
            state = error.sqlstate or "lost"
        tally.that(0 < len(acknowledged) < 4000, f"{name}: became full", (len(acknowledged), state))
        tally.that(state == "53100", f"{name}: the error", (state, server.said()[-500:]))
        tally.that(server.alive(), f"{name}: the server lives", server.said()[-500:])
        found = [row[0] for row in rows(connection, "SELECT id FROM notes ORDER BY id")]
        tally.equal(found, acknowledged, f"{name}: reads go on")
        # There is room for records where some is kept for erasures.
        tally.equal(state_of(sure.execute, *read), "53100" if arguments else "", f"{name}: what cannot be recorded is not told")
        if not arguments:
            tally.equal(state_of(connection.execute, "GDPR FORGET people 2"), "", f"{name}: an erasure")
            tally.equal(state_of(connection.execute, "DELETE FROM notes WHERE id < 3"), "", f"{name}: a deletion")
            acknowledged = acknowledged[3:]
        subprocess.run(["mount", "-o", "remount,size=200m", place], check=True, capture_output=True)
        again, until = "", time.monotonic() + 60
        while (again := state_of(connection.execute, "INSERT INTO notes VALUES (4999, 1, 'room again')")) and time.monotonic() < until:
            time.sleep(0.2)
        if tally.equal(again, "", f"{name}: a write with room again, without a new start"):
            acknowledged.append(4999)
        tally.equal(sure.execute(*read).fetchall(), [(5,)], f"{name}: and is told when there is room")
        for key in range(5000, 5040):
            connection.execute("INSERT INTO notes VALUES (%s, 1, repeat('z', 50000))", (key,))
            acknowledged.append(key)
        server.kill()
        server.start()
        with server.connect() as connection:
            found = [row[0] for row in rows(connection, "SELECT id FROM notes ORDER BY id")]
            tally.equal(sorted(set(acknowledged) - set(found)), [], f"{name}: acknowledged writes")
            tally.that(len(found) - len(acknowledged) in (0, 1), f"{name}: no other writes", len(found) - len(acknowledged))
            tally.equal(state_of(connection.execute, "INSERT INTO notes VALUES (6000, 1, 'after a new start')"), "", f"{name}: a write after")
        server.stop()
        tally.clean(server, name)
    finally:
        server.kill()
        subprocess.run(["umount", "-l", place], capture_output=True)
        shutil.rmtree(place, ignore_errors=True)
        if os.path.exists(server.errors):
            os.remove(server.errors)


def stuck(tally):
    """The system refuses a write for another reason than room: reads go on, writes answer 58030, and go on when the folder can be
    written again, as the server opens it anew by itself."""
    server = Server()

    def limit_size():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, resource.RLIM_INFINITY))

    try:
        server.start(before=limit_size)
        connection, acknowledged, state = server.connect(), [], ""
        connection.execute("CREATE TABLE notes (id INT PRIMARY KEY, body TEXT)")
        try:
            for key in range(400):
                connection.execute("INSERT INTO notes VALUES (%s, repeat('z', 50000))", (key,))
                acknowledged.append(key)
        except psycopg.Error as error:
            state = error.sqlstate or "lost"
        tally.equal(state, "58030", "a write that the system refuses")
        for _ in range(3):
            tally.equal([row[0] for row in rows(connection, "SELECT id FROM notes ORDER BY id")], acknowledged, "reads go on")
            tally.equal(state_of(connection.execute, "INSERT INTO notes VALUES (1000, 'refused')"), "58030", "so long")
            time.sleep(2.5)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

        def write():
            with server.connect() as again:
                again.execute("INSERT INTO notes VALUES (2000, 'written')")

        until = time.monotonic() + 60
        while (state := state_of(write)) and time.monotonic() < until:
            time.sleep(0.2)
        tally.equal(state, "", "a write when the system takes it again, without a new start")
        tally.that(server.alive() and "opening the data folder anew" in server.said(), "the server has opened its folder anew", server.said())
        with server.connect() as connection:
            found = [row[0] for row in rows(connection, "SELECT id FROM notes ORDER BY id")]
        tally.that(found in (acknowledged + [2000], acknowledged + [len(acknowledged), 2000]), "what was acknowledged is there", found)
        server.stop()
        tally.clean(server, "after it was opened anew")
    finally:
        server.remove()


def main():
    tally, dice = Tally(), random.Random(SEED)
    tally.case(folders, tally, dice)
    tally.case(lost, tally, dice)
    tally.case(disk_full, tally)
    tally.case(disk_full, tally, ["--keep-free-mb", "0"])
    tally.case(stuck, tally)
    tally.end()


if __name__ == "__main__":
    main()
