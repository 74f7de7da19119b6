"""PostgreSQL's own regress files, which are in Debian's source package: those of the core of SQL, statement by statement.

Each file begins in a new database, with `test_setup` and what else it needs. A statement passes on PostgreSQL if a second run of it
says the same. It passes on Dogwood if Dogwood says the same too: rows, command tags, and the SQLSTATE of an error. Left aside are
messages, which are counted apart, the text of EXPLAIN, and the order of rows where no ORDER BY asks for one.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import script
from harness.compared import postgres_program
from job import sh
from missing import Missing

TITLE, VERSION, LIMIT = "PostgreSQL's regress files, core of SQL", "15.18", 3600
PACKAGE = f"postgresql-15={VERSION}-0+deb12u1"
LEFT_OUT_BECAUSE = None if shutil.which("apt-get") else "this is no Debian"

# The files that are not of the core of SQL, by what they are about.
ASIDE = {
    "functions, procedures, aggregates, operators, casts and base types that a user makes":
        "alter_generic alter_operator create_aggregate create_cast create_function_c create_function_sql create_misc create_operator "
        "create_procedure create_type drop_operator equivclass misc plpgsql polymorphism rangefuncs",
    "triggers and rules": "event_trigger rules triggers",
    "inheritance and partitions":
        "hash_part indexing inherit partition_aggregate partition_info partition_join partition_prune typed_table",
    "geometry": "box circle geometry line lseg path point polygon select_views",
    "text search, XML, large objects": "largeobject tsdicts tsearch tstypes xml xmlmap",
    "foreign data and replication": "foreign_data pg_lsn publication replica_identity subscription",
    "kinds of indexes, and where and how rows are stored":
        "amutils brin brin_bloom brin_multi cluster combocid compression compression_pglz create_am create_index_spgist fast_default gin gist "
        "hash_func hash_index index_including_gist indirect_toast reindex_catalog reloptions spgist tablesample tablespace tid tidrangescan "
        "tidscan vacuum vacuum_parallel",
    "plans": "explain incremental_sort join_hash memoize select_parallel write_parallel",
    "PostgreSQL's own catalogs, statistics and transaction numbers":
        "dbsize dependency infinite_recurse init_privs maintain_every misc_sanity mvcc object_address oidjoins opr_sanity regproc sanity_check "
        "stats stats_ext sysviews txid type_sanity xid",
    "roles and privileges": "create_role password privileges roleattributes rowsecurity security_label",
    "collations of a system, and encodings": "collate.icu.utf8 collate.linux.utf8 conversion encoding euc_kr",
    "psql's display, and what several sessions share": "advisory_lock async lock prepared_xacts psql psql_crosstab",
}
# What a file needs beside `test_setup`, which is run before each.
NEEDS = {
    "aggregates": ["create_aggregate"],
    "alter_table": ["create_index"],
    "horology": ["date", "time", "timetz", "timestamp", "timestamptz", "interval"],
    "join": ["create_misc"],
    "numeric_big": ["numeric"],
    "with": ["create_misc"],
}
OTHER_MESSAGE = "other message"
DEPENDS = "depends on what was not made: "


def install(folder):
    """The source package of the sources that this Debian knows, with lists of its own."""
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "sources").mkdir()
    for path in pathlib.Path("/etc/apt").rglob("*.*"):
        if path.suffix == ".sources":
            text = re.sub(r"^Types:.*$", "Types: deb-src", path.read_text(), flags=re.M)
        elif path.suffix == ".list":
            text = re.sub(r"^deb\s", "deb-src ", path.read_text(), flags=re.M)
        else:
            continue
        if "debian" in text:
            (folder / "sources" / path.name).write_text(text)
    apt = ["apt-get", "-q", "-o", "Dir::Etc::sourcelist=-", "-o", f"Dir::Etc::sourceparts={folder / 'sources'}",
           "-o", f"Dir::State::lists={folder / 'lists'}"]
    sh(*apt, "update", cwd=folder)
    sh(*apt, "source", "--download-only", PACKAGE, cwd=folder)
    archive = next(folder.glob("postgresql-15_*.orig.tar.*"))
    sh("tar", "xf", archive, "--strip-components=4", "--wildcards", "*/src/test/regress/*", cwd=folder)


def core(folder):
    """The files of the core, by name."""
    aside = {name for names in ASIDE.values() for name in names.split()}
    return sorted({path.stem for path in (folder / "sql").glob("*.sql")} - aside - {"test_setup"})


def run(job):
    run_files(job, os.environ.get("REGRESS", "").split() or core(job.folder))


def run_files(job, names):
    kept = job.results.with_name(re.sub(r"\.\w+\.jsonl$", ".answers.json", job.results.name))
    with tempfile.TemporaryDirectory(prefix="regress-") as place:
        # PostgreSQL reads and writes files here, as another user.
        place = pathlib.Path(place)
        place.chmod(0o755)
        shutil.copytree(job.folder / "data", place / "data")
        (place / "results").mkdir()
        (place / "results").chmod(0o777)
        if job.kind == "postgresql":
            kept.write_text(json.dumps({name: reference(job, name, place) for name in names}))
        else:
            reference_answers = json.loads(kept.read_text())
            found = {name: compared_file(job, name, place, reference_answers[name]) for name in names}
            job.results.with_suffix(".differences.json").write_text(json.dumps(found, indent=1))


def environment(job, place):
    """As pg_regress sets it."""
    return {"PGHOST": "127.0.0.1", "PGPORT": str(job.port), "PGUSER": "postgres", "PGTZ": "PST8PDT", "PGDATESTYLE": "Postgres, MDY",
            "PGOPTIONS": "-c intervalstyle=postgres_verbose -c statement_timeout=30s", "PGSSLMODE": "disable", "LC_MESSAGES": "C",
            "PG_ABS_SRCDIR": str(place), "PG_ABS_BUILDDIR": str(place), "PG_LIBDIR": str(place), "PG_DLSUFFIX": ".so"}


def units_of(job, name, place, is_setup=False):
    text = (job.folder / f"sql/{name}.sql").read_text()
    if is_setup:
        # The client brings the data: a server need not read files of this machine.
        text = re.sub(r"\\set filename :abs_srcdir '(.*)'\nCOPY (.*) FROM :'filename'\s*(.*);",
                      lambda found: f"\\copy {found[2]} from '{place}{found[1]}' {found[3]}", text)
    return script.split(text)


def answers(job, name, place):
    """The units of a file and the answers to them, in a new database after its setup. With the setup's, for what it could not make."""
    psql, surroundings = postgres_program("psql"), environment(job, place)
    for statement in ("DROP DATABASE IF EXISTS regression", "CREATE DATABASE regression"):
        done = subprocess.run([psql, "-X", "-q", "-d", "postgres", "-c", statement], env={**os.environ, **surroundings},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            print(f"  {job.kind}: {statement}: {done.stdout.strip()}", flush=True)
    setup = []
    for needed in ["test_setup", *NEEDS.get(name, [])]:
        setup += units_of(job, needed, place, is_setup=True)
    units = units_of(job, name, place)
    # A session each: what a setup sets does not stay.
    return [(some, script.run(some, surroundings, psql, "regression")) for some in (setup, units)]


def reference(job, name, place):
    """PostgreSQL's answers, and which of them a second run repeats."""
    (setup_units, setup), (units, first) = answers(job, name, place)
    _, (_, second) = answers(job, name, place)
    stable, libraries = [], library_names(setup_units, setup) | library_names(units, first)
    for number, unit in enumerate(units):
        usable = first[number] is not None and second[number] is not None and unit.is_statement
        of_library = usable and any(name in message for _, message in first[number].errors for name in libraries)
        stable.append(bool(usable and not of_library and not difference(unit, first[number], second[number])))
        if usable:
            job.tell(f"{name}[{number}]", "skipped" if of_library else "passed" if stable[-1] else "failed", "" if stable[-1] else "changes from run to run")
    return {"setup": [one and vars(one) for one in setup], "answers": [one and vars(one) for one in first], "stable": stable}


def library_names(units, answers):
    """What stands in a library of C functions that no package has."""
    made = [unit for unit, answer in zip(units, answers) if answer and "regress.so" in str(answer.errors)]
    return {"regress.so"} | {found[1] + "(" for unit in made if (found := re.search(r"function\s+(\w+)", unit.plain, re.I))}


def compared_file(job, name, place, wanted):
    """Tells of each statement how Dogwood's answer differs from PostgreSQL's. What differs, for the report."""
    (setup, setup_answers), (units, found) = answers(job, name, place)
    missing, differences = Missing(), []
    for unit, theirs, ours in zip(setup, wanted["setup"], setup_answers):
        theirs = theirs and script.Answer(**theirs)
        missing.note(unit, theirs, ours, theirs and difference(unit, theirs, ours))
    for number, (unit, theirs, ours) in enumerate(zip(units, wanted["answers"], found)):
        theirs = theirs and script.Answer(**theirs)
        why = theirs and difference(unit, theirs, ours)
        if unit.is_statement and wanted["stable"][number]:
            depends = missing.explains(unit, ours) if why else ""
            if why:
                differences.append({"test": f"{name}[{number}]", "why": why, "depends": depends, "statement": unit.text.strip(),
                                    "theirs": vars(theirs), "ours": ours and vars(ours)})
            said = DEPENDS + depends if depends else why or (OTHER_MESSAGE if theirs.errors != ours.errors else "")
            job.tell(f"{name}[{number}]", "failed" if why else "passed", said)
        missing.note(unit, theirs, ours, why)
    equal = sum(wanted["stable"]) - len(differences)
    print(f"    {name}: {equal} of {sum(wanted['stable'])}", flush=True)
    return differences


def difference(unit, theirs, ours):
    """Why an answer is not PostgreSQL's; nothing where it is."""
    if ours is None:
        return "not run"
    if theirs.states() != ours.states():
        if ours.lost:
            return f"{ours.lost}: the server did not answer"
        if not ours.errors:
            return f"no error, PostgreSQL: {theirs.errors[0][0]} {theirs.errors[0][1]}" if theirs.errors else "PostgreSQL was lost"
        return f"{ours.errors[0][0]} {ours.errors[0][1]}"
    if re.match(r"explain\b", unit.plain, re.I):
        return ""
    if theirs.out == ours.out:
        return ""
    left, right = theirs.records(), ours.records()
    if collections.Counter(left) != collections.Counter(right):
        return "other rows" if not theirs.errors else "other rows beside the same error"
    return "other order" if ordered(unit.plain) else ""


def ordered(statement):
    """Whether an ORDER BY stands outside of all parentheses."""
    flat = re.sub(r"'(?:[^']|'')*'", "''", statement)
    while True:
        shorter = re.sub(r"\([^()]*\)", "", flat)
        if shorter == flat:
            return bool(re.search(r"\border\s+by\b", flat, re.I))
        flat = shorter


def note(postgresql, dogwood):
    """What the rate does not say."""
    counted = [dogwood.get(test, ("not run", "")) for test, (outcome, _) in postgresql.items() if outcome == "passed"]
    equal = [message for outcome, message in counted if outcome == "passed"]
    depend = sum(message.startswith(DEPENDS) for _, message in counted)
    rows = sum(message in ("other rows", "other order") for _, message in counted)
    return (f"{depend:,} statements need what an earlier one could not make. Without these {100 * len(equal) / (len(counted) - depend):.1f} % are equal. "
            f"{sum(message == OTHER_MESSAGE for message in equal):,} of those equal have another error message under the same SQLSTATE. "
            f"{rows:,} succeed on both servers with other rows, or with rows in another order.")


def summary(postgresql, dogwood):
    """The rate of each file."""
    counts = collections.Counter()
    for test, (outcome, _) in postgresql.items():
        if outcome == "passed":
            file = test.split("[")[0]
            counts[file, "counted"] += 1
            counts[file, "equal"] += dogwood.get(test, ("not run", ""))[0] == "passed"
    for file in sorted({file for file, _ in counts}):
        yield f"{file}: {counts[file, 'equal']} of {counts[file, 'counted']}"
    yield ""
