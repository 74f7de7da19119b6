#!/usr/bin/env python3
"""Other people's tests, from registries, against PostgreSQL 15 and against Dogwood: `make compat`.

    compat.py [SUITE …] [--write] [--last] [--keep FOLDER]

A suite is what a module of `suites/` says. What counts is what passes on PostgreSQL here, in this configuration: of these, how many
pass on Dogwood. `--write` writes the figures into the page of the documents and what does not pass into `results/`. `--last` runs
nothing, and reads what the last run left.
"""
import argparse
import collections
import importlib
import json
import pathlib
import re
import time

import harness
from harness.compared import Dogwood, Postgres
from job import Job, plain

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE / "results"
FIGURES = RESULTS / "figures.json"
PAGE = harness.ROOT / "docs/src/guides/suites.md"
INSTALLED = pathlib.Path.home() / ".cache/dogwood/compat"
ORDER = ["sqlalchemy", "sqlalchemy_postgresql", "psycopg", "django", "asyncpg", "node_postgres", "pgx"]
NOT_RUN = ("not run", "the suite did not come to it")


def installed(name):
    """The suite's module and its folder, in which it is installed unless a run before has done so."""
    suite = importlib.import_module(f"suites.{name}")
    if getattr(suite, "LEFT_OUT_BECAUSE", None):
        return suite, None
    folder = INSTALLED / f"{getattr(suite, 'FOLDER', name)}-{suite.VERSION}"
    done = folder / "installed"
    if not done.exists():
        print(f"{name}: is being installed", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        suite.install(folder)
        done.touch()
    return suite, folder


def results_on(suite, folder, name, kind, kept, quick=False):
    """What each test came to on a new server of that kind, and whether the server lived."""
    results = kept / f"{name}.{kind}.jsonl"
    with (Dogwood() if kind == "dogwood" else Postgres()) as server:
        job = Job(folder, server, kind, results, suite.LIMIT, quick)
        began = time.monotonic()
        suite.run(job)
        if kind == "dogwood":
            if not server.alive():
                print("  dogwood: THE SERVER DIED", flush=True)
            (kept / f"{name}.server.log").write_bytes(server.log.read_bytes())
    found = job.read(getattr(suite, "name", lambda test: test))
    counts = collections.Counter(outcome for outcome, _ in found.values())
    print(f"  {kind}: {dict(counts)} in {time.monotonic() - began:.0f} s", flush=True)
    return found


def compared(postgresql, dogwood):
    """How many pass on PostgreSQL, and of these those that do not pass on Dogwood: {test: (outcome, message)}."""
    passing = [test for test, (outcome, _) in postgresql.items() if outcome == "passed"]
    return len(passing), {test: dogwood.get(test, NOT_RUN) for test in passing if dogwood.get(test, NOT_RUN)[0] != "passed"}


def grouped(missing):
    """The lines of a report: messages, those of most tests first, with the tests of each, parameters left out."""
    groups = collections.defaultdict(list)
    for test, (outcome, message) in missing.items():
        groups[plain(message) or outcome].append(test)
    for message, tests in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        yield f"{len(tests)} × {message}"
        names = collections.Counter(re.sub(r"\[.*", "", test) for test in tests)
        for test, count in sorted(names.items()):
            yield f"      {test}" + (f" × {count}" if count > 1 else "")


def table(figures):
    """The table of the documents."""
    yield "| suite | version | pass on PostgreSQL 15 | of these on Dogwood | rate |"
    yield "|---|---|---:|---:|---:|"
    for name in ORDER:
        if name in figures:
            one = figures[name]
            # Rounded down: 100 % is all of them.
            rate = int(1000 * one["dogwood"] / one["postgresql"]) / 10
            yield f"| {one['title']} | {one['version']} | {one['postgresql']:,} | {one['dogwood']:,} | {rate:.1f} % |"


def write(name, figures, report):
    """The report of one suite, and the figures of all in the page."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.txt").write_text("\n".join(report) + "\n")
    FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
    page = PAGE.read_text()
    begin, end = "<!-- make compat -->\n", "<!-- end -->"
    before, _, rest = page.partition(begin)
    PAGE.write_text(before + begin + "\n".join(table(figures)) + "\n" + end + rest.partition(end)[2])


def last(suite, name, kind, kept):
    """What the last run came to."""
    job = Job(None, None, kind, kept / f"{name}.{kind}.jsonl", suite.LIMIT)
    return job.read(getattr(suite, "name", lambda test: test))


def run(name, kept, writes, reads_last):
    suite, folder = installed(name)
    if not folder:
        print(f"LEFT OUT, {name}: {suite.LEFT_OUT_BECAUSE}", flush=True)
        return None
    print(f"{name}: {suite.TITLE} {suite.VERSION}", flush=True)
    if reads_last:
        postgresql, dogwood = (last(suite, name, kind, kept) for kind in ("postgresql", "dogwood"))
    else:
        postgresql, dogwood = (results_on(suite, folder, name, kind, kept) for kind in ("postgresql", "dogwood"))
    passing, missing = compared(postgresql, dogwood)
    if not passing:
        raise SystemExit(f"{name}: nothing passed on PostgreSQL: see {kept / name}.postgresql.log")
    report = [f"{suite.TITLE} {suite.VERSION}: {passing} pass on PostgreSQL 15, {passing - len(missing)} of these on Dogwood", ""]
    report += grouped(missing)
    print("\n".join(report), flush=True)
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    figures[name] = {"title": suite.TITLE, "version": suite.VERSION, "postgresql": passing, "dogwood": passing - len(missing)}
    if writes:
        write(name, figures, report)
    return figures[name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("suites", nargs="*", help=", ".join(ORDER))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--last", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, default=INSTALLED / "runs", help="where the logs of the runs stay")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    figures = {}
    for name in options.suites or ORDER:
        if name not in ORDER:
            parser.error(f"there is no suite {name}")
        one = run(name, options.keep, options.write, options.last)
        if one:
            figures[name] = one
    print("\n".join(table(figures)))


if __name__ == "__main__":
    main()
