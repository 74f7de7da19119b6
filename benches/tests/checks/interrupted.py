"""A benchmark that is interrupted, or lacks what it needs, says so and leaves nothing running.

It is stopped by SIGINT, SIGTERM and SIGKILL at several moments: no server, no guard and no folder may be left, and what was written
must say that it is partial. Then a missing server, one that does not listen, a peer that is not there, and a small disk.
$BENCH names the program, else it is the one beside $DOGWOOD.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from harness import BINARY, Tally
from harness.compared import left_out, postgres_there

BENCH = os.environ.get("BENCH", str(pathlib.Path(BINARY).with_name("bench")))
CORE = ("core", "--people", "2000", "--rounds", "20")
# With four servers, memcached and certificates.
VOTES = ("votes", "--people", "1000", "--connections", "1", "--seconds", "0.1", "--rounds", "300", "--tls")
# (signal, whether results have to be there first, seconds after that, of which benchmark)
MOMENTS = [
    (signal.SIGTERM, False, 0.1, CORE),
    (signal.SIGINT, False, 0.7, CORE),
    (signal.SIGTERM, True, 0.1, CORE),
    (signal.SIGKILL, True, 2, CORE),
    (signal.SIGINT, True, 4, CORE),
    (signal.SIGINT, True, 8, VOTES),
]
BEGUN_WITHIN_S = 120
GONE_WITHIN_S = 15


class Place:
    """A folder for a benchmark's temporary folder and results."""

    def __enter__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="dogwood-check-"))
        os.chmod(self.root, 0o755)  # PostgreSQL runs as another user.
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    def bench(self, *arguments, binary=BINARY, inside=()):
        environment = dict(os.environ, TMPDIR=str(self.root), BENCH_JSON=str(self.root / "results.json"), DOGWOOD=binary)
        # A shell's background jobs ignore Ctrl-C, and would hand that down.
        listening = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        return subprocess.Popen([*inside, BENCH, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=listening)

    def left(self):
        """What still runs or stands of it."""
        found = [str(path) for path in self.root.glob("dogwood-bench-*")]
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:  # It has ended meanwhile.
                continue
            if any(word.startswith(f"{self.root}/dogwood-bench-") for word in words):
                found.append(f"process {entry.name}: {' '.join(words)[:100]}")
        return found

    def gone(self):
        """The same after as much time as stopping may take."""
        until = time.monotonic() + GONE_WITHIN_S
        while self.left() and time.monotonic() < until:
            time.sleep(0.1)
        return self.left()


def interrupted(tally, number, begun, after, arguments):
    with Place() as place:
        results = place.root / "results.json"
        process = place.bench(*arguments)
        until = time.monotonic() + BEGUN_WITHIN_S
        while begun and not results.exists() and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(after)
        running = process.poll() is None
        process.send_signal(number)
        said = process.stderr.read()
        name = f"{arguments[0]}, {signal.Signals(number).name} {after} s after the {'first results' if begun else 'start'}"
        tally.that(running and process.wait() == -number, f"{name}: it was running, and ended", said[-500:])
        tally.equal(place.gone(), [], f"{name}: nothing is left")
        tally.that("interrupted" in said or not begun, f"{name}: it is said", said[-500:])
        if begun or results.exists():
            tally.equal(json.loads(results.read_text())["partial"], True, f"{name}: the results are partial")
            tally.that(results.with_suffix(".md").read_text().startswith("PARTIAL"), f"{name}: so is the table")


def refused(tally, name, words, binary=BINARY, inside=()):
    with Place() as place:
        process = place.bench("core", "--people", "2000", binary=binary, inside=inside)
        said = process.stderr.read()
        tally.that(process.wait() != 0 and all(word in said for word in words), name, said[-500:])
        tally.equal(place.gone(), [], f"{name}: nothing is left")


def deaf(tally):
    """A server that finds its port taken."""
    with Place() as place:
        program = place.root / "deaf"
        program.write_text('#!/bin/sh\n[ "$1" = serve ] || exit 0\necho "port 5432 is in use" >&2\nexit 1\n')
        program.chmod(0o755)
        refused(tally, "a server that does not listen", ["before it listened", "port 5432 is in use"], str(program))


def main():
    tally = Tally()
    if postgres_there():
        for moment in MOMENTS:
            tally.case(interrupted, tally, *moment)
        tally.case(deaf, tally)
    else:
        left_out("measurements that are interrupted")
    tally.case(refused, tally, "no server", ["there is no server at /nowhere/dogwood", "make"], "/nowhere/dogwood")
    if os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0:
        hidden = ["unshare", "-m", "sh", "-c", '[ ! -e /usr/lib/postgresql ] || mount -t tmpfs tmpfs /usr/lib/postgresql; exec "$@"', "sh"]
        tally.case(refused, tally, "no PostgreSQL", ["the peer is not installed", "apt-get install postgresql"], BINARY, hidden)
        if postgres_there():
            small = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=50m tmpfs "$TMPDIR" && exec "$@"', "sh"]
            tally.case(refused, tally, "a small disk", ["MB free", "set TMPDIR"], BINARY, small)
    tally.end()


if __name__ == "__main__":
    main()
