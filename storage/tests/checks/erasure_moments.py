"""`dogwood.erasures` says when what was clean, and nothing before it is: beside a reader from before, beside backups, over a start.

    erasure_moments.py
"""
import datetime
import os
import time

from harness import Check, rows, run, run_check

COLUMNS = "erased_at, keys_at, arrangements_at, readers_at, log_at, indexes_at, rows_at, caches_at, memory_at, checkpoints_at, backups_at, backup_keys_until"
SCHEMA = ("CREATE DATA_SUBJECT TABLE people (id INT PRIMARY KEY, name TEXT)",
          "CREATE TABLE notes (id INT PRIMARY KEY, person INT OWNED_BY people(id), text TEXT)",
          "CREATE MATERIALIZED VIEW of_people AS SELECT person, count(*) AS notes FROM notes GROUP BY person",
          "INSERT INTO people SELECT i, 'name ' || i FROM generate_series(1, 30) AS i",
          "INSERT INTO notes SELECT i, 1 + i % 30, 'note ' || i FROM generate_series(1, 3000) AS i")


class ErasureMoments(Check):
    def run(self):
        self.set_up(SCHEMA)
        for case in (by_itself, beside_a_reader, beside_backups, without_receipt):
            self.tally.case(case, self)

    def told(self, connection, where="true"):
        """The last erasure, by the names of its columns."""
        found = rows(connection, f"SELECT {COLUMNS}, pending FROM dogwood.erasures WHERE {where} ORDER BY number DESC LIMIT 1")
        return dict(zip([*COLUMNS.split(", "), "pending"], found[0]))

    def cleaned(self, connection, where="true"):
        until = time.monotonic() + 60
        while time.monotonic() < until and self.told(connection, where)["pending"] is not None:
            time.sleep(0.3)
        return self.told(connection, where)


def by_itself(check):
    """One step after the other; where there is no backup, none holds anything."""
    with check.server.connect() as one:
        one.execute("GDPR FORGET people 1")
        told = check.told(one)
        check.tally.equal([told[name] for name in ("readers_at", "rows_at", "caches_at", "memory_at", "checkpoints_at")], [None] * 5, "nothing is said before a pass")
        check.tally.that(told["backups_at"] == told["erased_at"] and told["backup_keys_until"] is None, "there was never a backup", told)
        told = check.cleaned(one)
    steps = [told[name] for name in ("erased_at", "keys_at", "readers_at", "log_at", "indexes_at", "rows_at")]
    check.tally.that(None not in steps and steps == sorted(steps), "one step after the other", steps)
    check.tally.equal(told["memory_at"], max(told["arrangements_at"], told["readers_at"], told["caches_at"]), "memory is clean with the last that held it")
    check.tally.that(told["caches_at"] >= told["readers_at"] and told["checkpoints_at"] >= told["rows_at"], "caches behind readers, copies behind files", told)
    check.tally.equal(check.server.stop(), 0, "SIGTERM")
    check.server.start()
    with check.server.connect() as one:
        check.tally.equal(check.told(one), told, "the same after a start")


def beside_a_reader(check):
    """While somebody reads from before, neither readers nor caches nor memory are said to be clean."""
    with check.server.connect() as one, check.server.connect(autocommit=False) as reader:
        one.execute("SET dogwood.forget_wait = '30s'")
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM notes")
        for sql in ("DROP TABLE IF EXISTS gone", "CREATE TABLE gone (id INT)", "INSERT INTO gone VALUES (1)", "DROP TABLE gone"):
            # Each by itself: of what one transaction makes and takes away nothing is ever written.
            one.execute(sql)
        time.sleep(12)
        told = check.told(one, "receipt_id IS NULL")
        check.tally.equal([told[name] for name in ("readers_at", "caches_at", "memory_at", "rows_at")], [None] * 4, "while a reader is there")
        reader.commit()
        told = check.cleaned(one, "receipt_id IS NULL")
        check.tally.that(told["readers_at"] and told["memory_at"] and told["memory_at"] >= told["readers_at"], "when it has let go", told)


def beside_backups(check):
    """A backup from before is told of until it has gone, and how long its keys may be kept."""
    root = check.server.root
    data, keys = os.path.join(root, "backups"), os.path.join(root, "keys")

    def back_up(*more):
        status, said = run("backup", "--data", check.server.data, "--to", data, "--keys-to", keys, *more)
        check.tally.equal(status, 0, f"backup: {said}")

    back_up("--keep-keys", "3")
    with check.server.connect() as one:
        one.execute("GDPR FORGET people 2")
        told = check.told(one)
        check.tally.equal((told["backups_at"], told["backup_keys_until"]), (None, told["erased_at"] + datetime.timedelta(days=3)), "a backup is from before")
        one.execute("GDPR FORGET people 3 IN (notes)")
        told = check.told(one)
        check.tally.equal((told["backups_at"], told["backup_keys_until"]), (None, None), "of an erasure in part the key lives on")
        back_up("--keep-keys", "3")
        told = check.told(one)
        check.tally.equal(told["backups_at"], None, "another beside it changes nothing")
        # Older than no day at all: all but the newest go.
        back_up("--keep-backups", "0", "--keep-keys", "0")
        for person in ("2", "3"):
            told = check.told(one)
            check.tally.that(told["backups_at"] is not None and told["backups_at"] >= told["erased_at"] and told["backup_keys_until"] is None, f"person {person}: all are from after", told)
        check.cleaned(one)
    check.tally.equal(check.server.stop(), 0, "SIGTERM")
    check.tally.clean(check.server, "beside backups")
    check.server.start()
    with check.server.connect() as one:
        check.tally.that(check.told(one)["backups_at"] is not None, "the same after a start")


def without_receipt(check):
    """What a definition took away has no key of its own, and is not looked for in backups."""
    with check.server.connect() as one:
        for sql in ("CREATE TABLE empty (id INT)", "INSERT INTO empty VALUES (1)", "TRUNCATE empty"):
            one.execute(sql)
        told = check.cleaned(one, "receipt_id IS NULL")
        check.tally.equal([told[name] for name in ("keys_at", "backups_at", "backup_keys_until")], [None] * 3, "a definition")
        check.tally.that(told["checkpoints_at"] is not None, "and its bytes are gone")


if __name__ == "__main__":
    run_check(ErasureMoments())
