#!/usr/bin/env python3
"""Other people's tests, from registries, against PostgreSQL 15 and against Dogwood: `make compat`.

    compat.py [SUITE …] [--write] [--last] [--keep FOLDER]

A suite is what a module of `suites/` says. What counts is what passes on PostgreSQL here, in this configuration: of these, how many
pass on Dogwood. `--write` writes the figures into the page of the documents and what does not pass into `results/`. `--last` runs
nothing, and reads what the last run left. An application (a module of `applications/`) is run and compared as a suite is, and has a
table of its own; `applications` stands for all of them.
"""
import argparse
import collections
import importlib
import json
import pathlib
import re
import shutil
import sys
import time

import harness
import overheard
from applications import ORDER as APPLICATIONS
from harness.compared import Dogwood, Postgres
from job import Job, plain

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE / "results"
FIGURES = RESULTS / "figures.json"
PAGE = harness.ROOT / "docs/src/guides/suites.md"
INSTALLED = pathlib.Path.home() / ".cache/dogwood/compat"
APPLICATIONS_INSTALLED = pathlib.Path.home() / ".cache/dogwood/apps"
ORDER = ["sqlalchemy", "sqlalchemy_postgresql", "psycopg", "django", "django_postgres", "asyncpg", "pgx", "node_postgres", "pgjdbc", "regress", "sqllogictest", "sqlsmith", "migrators"]


def installed(name, reads_last=False):
    """The suite's module and its folder, in which it is installed unless a run before has done so; no folder where it is left out."""
    is_application = name in APPLICATIONS
    suite = importlib.import_module(f"{'applications' if is_application else 'suites'}.{name}")
    if getattr(suite, "LEFT_OUT_BECAUSE", None):
        return suite, None
    if reads_last:
        return suite, INSTALLED
    folder = (APPLICATIONS_INSTALLED if is_application else INSTALLED) / f"{getattr(suite, 'FOLDER', name)}-{suite.VERSION}"
    # As its module says today: what was installed otherwise goes.
    done, wanted = folder / "installed", pathlib.Path(suite.install.__code__.co_filename).read_text()
    if not done.exists() or done.read_text() != wanted:
        print(f"{name}: is being installed", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        suite.install(folder)
        done.write_text(wanted)
    return suite, folder


def results_on(suite, folder, name, kind, kept, quick=False):
    """What each test came to on a new server of that kind, and whether the server lived."""
    results = kept / f"{name}.{kind}.jsonl"
    # PostgreSQL trusts whom it knows: so does the other, where a suite asks for those that are not there.
    arguments = ["--known-names"] if getattr(suite, "KNOWN_NAMES", False) else []
    with (Dogwood(*arguments) if kind == "dogwood" else Postgres()) as server:
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
    missing = {test: dogwood.get(test) or not_run(test, dogwood) for test in passing}
    return len(passing), {test: result for test, result in missing.items() if result[0] != "passed"}


def not_run(test, results):
    """Why a test has no result: the module in which it stands may have told one."""
    parts = test.split(".")
    for end in range(len(parts) - 1, 0, -1):
        whole = results.get(".".join(parts[:end]))
        if whole:
            return "not run", "not run: " + whole[1]
    return "not run", "not run: the suite did not come to it"


def grouped(missing):
    """The lines of a report: messages, those of most tests first, with the tests of each; their parameters are left out."""
    groups = collections.defaultdict(list)
    for test, (outcome, message) in missing.items():
        groups[plain(message) or outcome].append(test)
    for message, tests in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        yield f"{len(tests)} × {message}"
        # Of what was not run the class says enough.
        pattern = r"(\[.*|\.[^.\[]*(\[.*)?)$" if message.startswith("not run: ") else r"\[.*"
        names = collections.Counter(re.sub(pattern, "", test) for test in tests)
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
    for name in ORDER:
        if figures.get(name, {}).get("note"):
            yield ""
            yield f"{figures[name]['title']}: {figures[name]['note']}"


def table_of_applications(figures):
    """The same for applications, whose steps are few."""
    yield "| application | version | steps done on PostgreSQL 15 | of these on Dogwood | what was refused first |"
    yield "|---|---|---:|---:|---|"
    for name in APPLICATIONS:
        if name in figures:
            one = figures[name]
            yield f"| {one['title']} | {one['version']} | {one['postgresql']} | {one['dogwood']} | {one['first']} |"


# What somebody else had or changed just then, on either server: the application tries again.
BY_CHANCE = ("40001", "40P01", "55P03")


def refused(name, kept):
    """The statements that Dogwood refused of an application and PostgreSQL did not."""
    found = overheard.only_second(*(overheard.read(kept / f"{name}.{kind}.refused.jsonl") for kind in ("postgresql", "dogwood")))
    return [one for one in found if one["state"] not in BY_CHANCE]


def write(name, figures, report):
    """The report of one suite, and the figures of all in the page."""
    RESULTS.mkdir(exist_ok=True)
    if name not in APPLICATIONS:
        (RESULTS / f"{name}.txt").write_text("\n".join(report) + "\n")
    FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
    page, end = PAGE.read_text(), "<!-- end -->"
    for begin, lines in (("<!-- make compat -->\n", table(figures)), ("<!-- make compat SUITES=applications -->\n", table_of_applications(figures))):
        before, _, rest = page.partition(begin)
        page = before + begin + "\n".join(lines) + "\n" + end + rest.partition(end)[2]
    PAGE.write_text(page)


def last(suite, name, kind, kept):
    """What the last run came to."""
    job = Job(None, None, kind, kept / f"{name}.{kind}.jsonl", suite.LIMIT)
    return job.read(getattr(suite, "name", lambda test: test))


def run(suite, folder, name, options):
    """A suite on both servers, and its report. None where nothing passed on PostgreSQL: then the suite is not set up."""
    kept = options.keep
    print(f"{name}: {suite.TITLE} {suite.VERSION}", flush=True)
    if options.last:
        postgresql, dogwood = (last(suite, name, kind, kept) for kind in ("postgresql", "dogwood"))
    else:
        postgresql, dogwood = (results_on(suite, folder, name, kind, kept) for kind in ("postgresql", "dogwood"))
    passing, missing = compared(postgresql, dogwood)
    if not passing:
        print(f"FAILED {name}: nothing passed on PostgreSQL: see {kept / name}.postgresql.log", flush=True)
        return None
    report = [f"{suite.TITLE} {suite.VERSION}: {passing} pass on PostgreSQL 15, {passing - len(missing)} of these on Dogwood", ""]
    report += getattr(suite, "summary", lambda *_: [])(postgresql, dogwood)
    report += grouped(missing)
    print("\n".join(report), flush=True)
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    figures[name] = {"title": suite.TITLE, "version": suite.VERSION, "postgresql": passing, "dogwood": passing - len(missing)}
    if hasattr(suite, "note"):
        figures[name]["note"] = suite.note(postgresql, dogwood)
    if name in APPLICATIONS:
        found = refused(name, kept)
        figures[name]["first"] = f"{found[0]['state']} {found[0]['message']}".replace("|", "\\|") if found else ""
        print(*(f"{one['state']} {one['message']}\n      {one['statement'][:400]}" for one in found), sep="\n", flush=True)
    if options.write:
        write(name, figures, report)
    return figures[name]


def names(asked):
    """The suites and applications that were asked for."""
    for name in asked:
        yield from APPLICATIONS if name == "applications" else [name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("suites", nargs="*", help=", ".join([*ORDER, "applications", *APPLICATIONS]))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--last", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, default=INSTALLED / "runs", help="where the logs of the runs stay")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    figures, failed = {}, False
    for name in names(options.suites or [*ORDER, "applications"]):
        if name not in [*ORDER, *APPLICATIONS]:
            parser.error(f"there is no suite {name}")
        suite, folder = installed(name, options.last)
        if not folder:
            print(f"LEFT OUT, {name}: {suite.LEFT_OUT_BECAUSE}", flush=True)
            continue
        figures[name] = run(suite, folder, name, options)
        failed |= figures[name] is None
    figures = {name: one for name, one in figures.items() if one}
    print("\n".join([*table(figures), *table_of_applications(figures)]))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
