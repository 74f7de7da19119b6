"""How fast a backup is beside the disk it goes to, what others wait for meanwhile, and how fast it is restored.

    backup.py [--gigabytes N] [--rate N] [--rounds N] [--json FILE]

A table of so many gigabytes is filled. Others read and write single rows at a steady rate, beside a full backup and as long alone, by
turns. The disk's own speed is that of a file of the same size, written and flushed by pieces beside nobody.
"""
import argparse
import mmap
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).parent / "tests/checks"))
from harness.compared import Dogwood, postgres_program  # noqa: E402
from results_file import ResultsFile  # noqa: E402

ACCOUNTS = 20_000
BODY_BYTES = 4_000
PIECE = 8 << 20
SCRIPT = f"""\\set aid random(1, {ACCOUNTS})
SELECT balance FROM accounts WHERE aid = :aid;
UPDATE accounts SET balance = balance + 1 WHERE aid = :aid;
"""


def fill(server, gigabytes):
    # Words that no file system makes short.
    body = os.urandom(BODY_BYTES // 2).hex().encode()
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for sql in ("CREATE DATA_SUBJECT TABLE holders (hid INT PRIMARY KEY)", "INSERT INTO holders SELECT generate_series(1, 1000)",
                    "CREATE TABLE documents (id INT PRIMARY KEY, holder INT NOT NULL OWNED_BY holders(hid), body TEXT)",
                    "CREATE TABLE accounts (aid INT PRIMARY KEY, holder INT NOT NULL OWNED_BY holders(hid), balance INT)",
                    f"INSERT INTO accounts SELECT n, 1 + n % 1000, 0 FROM generate_series(1, {ACCOUNTS}) AS n"):
            connection.execute(sql)
        rows, at_once = int(gigabytes * 1e9) // BODY_BYTES, 10_000
        for first in range(0, rows, at_once):
            with connection.cursor().copy("COPY documents FROM STDIN") as copy:
                for key in range(first, min(rows, first + at_once)):
                    copy.write(b"%d\t%d\t%s\n" % (key, 1 + key % 1000, body))


def folder_bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def disk_speed(folder, size):
    """Bytes a second of a file that is written as a backup writes: past the system's memory, from memory that begins with a page."""
    path, piece = folder / "plain", mmap.mmap(-1, PIECE)
    piece.write(os.urandom(PIECE))
    began = time.perf_counter()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_DIRECT, 0o600)
    for _ in range(max(1, size // PIECE)):
        os.write(file, piece)
    os.fsync(file)
    os.close(file)
    took = time.perf_counter() - began
    path.unlink()
    return max(1, size // PIECE) * PIECE / took


class Others:
    """Who reads and writes meanwhile."""

    def __init__(self, server, rate, seconds, name):
        folder = server.folder / name
        folder.mkdir()
        (folder / "script.sql").write_text(SCRIPT)
        self.folder = folder
        self.process = subprocess.Popen([postgres_program("pgbench"), "-h", "127.0.0.1", "-p", str(server.port), "-U", "controller", "-M", "prepared", "-n", "-l",
                                         "-c", "8", "-j", "1", "-R", str(rate), "-T", str(seconds), "-f", "script.sql", "postgres"],
                                        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "PGPASSWORD": server.password})

    def latencies(self):
        """When each ended, and how long it took, in milliseconds."""
        self.process.wait()
        found = []
        for log in self.folder.glob("pgbench_log*"):
            for line in log.read_text().splitlines():
                fields = line.split()
                # The last line of one that was ended may be a part of one.
                if len(fields) >= 6:
                    found.append((int(fields[4]) + int(fields[5]) / 1e6, int(fields[2]) / 1e3))
        return found


def percentiles(latencies):
    if len(latencies) < 20:
        return None
    cuts = statistics.quantiles(latencies, n=100)
    return {"transactions": len(latencies), "p50_ms": cuts[49], "p99_ms": cuts[98], "most_ms": max(latencies)}


def backed_up(server, name):
    began = time.time()
    done = subprocess.run([server.binary, "backup", "--data", server.folder / "data", "--to", server.folder / name, "--keys-to", server.folder / f"{name}.keys"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return began, time.time()


def restored(server, name, how):
    """Seconds that a restore takes, with `dogwood check` at its end or without."""
    folder = server.folder / "restored"
    began = time.perf_counter()
    done = subprocess.run([server.binary, "restore", "--from", server.folder / name, "--keys", server.folder / f"{name}.keys", "--data", folder,
                           "--root-key-file", server.folder / "data/root.key", *how], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    took = time.perf_counter() - began
    shutil.rmtree(folder)
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--rate", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    results = ResultsFile(options.json, f"{options.gigabytes:g} GB, {options.rate} transactions a second offered meanwhile")
    with Dogwood() as server:
        fill(server, options.gigabytes)
        time.sleep(5)
        print(f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors", flush=True)
        others = Others(server, options.rate, 3600, "others")
        time.sleep(3)
        backups, pauses, speeds = [], [], []
        for number in range(options.rounds):
            backups.append(backed_up(server, f"backup-{number}"))
            size = folder_bytes(server.folder / f"backup-{number}")
            shutil.rmtree(server.folder / f"backup-{number}")
            # What a backup has left in caches and queues is not what others wait for alone.
            time.sleep(2)
            began, ended = backups[-1]
            pauses.append((time.time(), time.time() + ended - began))
            time.sleep(ended - began)
        others.process.terminate()
        latencies = others.latencies()
        for _ in range(options.rounds):
            speeds.append(disk_speed(server.folder, size))
        began_quiet, ended_quiet = backed_up(server, "last")
        restored_s = [restored(server, "last", how) for how in ([], ["--unchecked"])]
        print(f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors", flush=True)
    speed = statistics.median(speeds)
    beside_rate = statistics.median(size / (ended - began) for began, ended in backups)
    rates = {"disk": speed, "backup beside others": beside_rate, "backup alone": size / (ended_quiet - began_quiet)}
    for name, rate in rates.items():
        print(f"| {name} | {size / 1e9:.2f} GB | {rate / 1e6:,.0f} MB/s | {rate / speed:.2f} of the disk's |")
        results.add(name, "MB/s", rate / 1e6, bytes=size)
    for name, took in zip(("restore", "restore, unchecked"), restored_s):
        print(f"| {name} | {size / 1e9:.2f} GB | {size / took / 1e6:,.0f} MB/s | 10 GB in {1e10 / size * took:.0f} s |")
        results.add(name, "MB/s", size / took / 1e6, bytes=size)
    within = lambda span: percentiles([took for ended, took in latencies if span[0] <= ended <= span[1]])
    rounds = [(within(pause), within(backup)) for pause, backup in zip(pauses, backups)]
    rounds = [one for one in rounds if all(one)]
    for which in ("p50_ms", "p99_ms", "most_ms"):
        alone, beside = (statistics.median(one[place][which] for one in rounds) for place in (0, 1))
        more = sorted(one[1][which] - one[0][which] for one in rounds)
        print(f"| others' {which.removesuffix('_ms')} | alone {alone:.1f} ms | beside {beside:.1f} ms | by {statistics.median(more):.1f} ms more ({more[0]:.1f} to {more[-1]:.1f}) |")
        results.add(f"others beside, {which.removesuffix('_ms')}", "ms", beside, alone=alone, more=more)
    results.write()


if __name__ == "__main__":
    main()
