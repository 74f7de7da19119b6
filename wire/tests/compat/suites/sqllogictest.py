"""SQLite's sqllogictest: millions of small queries, with the answers on which several databases agree.

No registry has the corpus: SQLLOGICTEST_SOURCE names a clone of its repository as DoltHub keeps it, without which the suite is left
out. All of it takes hours, so a sample of the files is run: `FILES_PER_FOLDER` of each folder of random or index tests, drawn with
`SEED`, and all of the rest. `SQLLOGICTEST_FILES` names files instead, or says `all`.
"""
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import time

from harness.compared import Wire

TITLE, VERSION, LIMIT = "SQLite's sqllogictest, a sample", "04b0d198", 1800
SOURCE = os.environ.get("SQLLOGICTEST_SOURCE")
LEFT_OUT_BECAUSE = None if SOURCE else "SQLLOGICTEST_SOURCE names no clone of the corpus, which no registry has"
SEED, FILES_PER_FOLDER = 15, 2
# Larger files are not in every copy of the repository.
FILE_BYTES_MAX = 4 << 20


def install(folder):
    git = ["git", "-C", SOURCE]
    listed = subprocess.run([*git, "ls-tree", "-r", "-l", VERSION, "test"], check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in listed.splitlines():
        (_, _, _, size), path = line.split("\t")[0].split(), line.split("\t")[1]
        if path.endswith(".test") and size.isdigit() and int(size) < FILE_BYTES_MAX:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(subprocess.run([*git, "show", f"{VERSION}:{path}"], check=True, stdout=subprocess.PIPE).stdout)


def chosen(folder):
    """The files of a run."""
    files = sorted(str(path.relative_to(folder / "test")) for path in (folder / "test").rglob("*.test"))
    wanted = os.environ.get("SQLLOGICTEST_FILES", "").split()
    if wanted:
        return files if wanted == ["all"] else wanted
    folders = {}
    for file in files:
        parts = file.split("/")
        folders.setdefault("/".join(parts[:2]) if parts[0] in ("index", "random") else "", []).append(file)
    picked = folders.pop("")
    for name in sorted(folders):
        picked += random.Random(f"{SEED} {name}").sample(folders[name], FILES_PER_FOLDER)
    return sorted(picked)


class Record:
    """A statement or a query, with what is expected of it."""

    def __init__(self, number, kind, head, sql, expected):
        self.number, self.kind, self.sql, self.expected = number, kind, sql, expected
        self.fails = kind == "statement" and head[1:2] == ["error"]
        self.types = head[1] if kind == "query" else ""
        self.sort = head[2] if kind == "query" and len(head) > 2 else "nosort"


def records(text):
    """The records of a file that PostgreSQL is to run, to the first `halt`."""
    for number, block in enumerate(re.split(r"\n[ \t]*\n+", text.replace("\r\n", "\n"))):
        lines = [line for line in block.split("\n") if not line.startswith("#")]
        while lines and not lines[0].strip():
            lines.pop(0)
        skipped = False
        while lines and lines[0].split()[0] in ("skipif", "onlyif"):
            word, database = lines.pop(0).split()[:2]
            skipped |= (database == "postgresql") == (word == "skipif")
        if not lines or skipped:
            continue
        head = lines[0].split("#")[0].split()
        if head[0] == "halt":
            return
        if head[0] in ("statement", "query"):
            end = lines.index("----") if "----" in lines else len(lines)
            yield Record(number, head[0], head, "\n".join(lines[1:end]).strip(), [line for line in lines[end + 1:] if line])


def shown(value, kind):
    """A value as the files write it. What is no number raises."""
    if value is None:
        return "NULL"
    text = value.decode(errors="replace")
    if kind == "I":
        text = {"t": "1", "f": "0"}.get(text, text)
        return text if re.fullmatch(r"-?\d+", text) else str(int(float(text)))
    if kind == "R":
        return f"{float(text):.3f}"
    return re.sub(r"[^ -~]", "@", text) or "(empty)"


def values(answer, record):
    rows = [[shown(value, kind) for value, kind in zip(row, record.types)] for row in answer.rows]
    if record.sort == "rowsort":
        rows.sort()
    flat = [value for row in rows for value in row]
    return sorted(flat) if record.sort == "valuesort" else flat


def outcome(record, answer):
    """Nothing where the answer is what the file expects, or else why not."""
    if answer.error in ("lost", "hang"):
        return f"{answer.error}: {answer.message}"
    if record.kind == "statement":
        return "" if bool(answer.error) == record.fails else f"{answer.error} {answer.said[0]}" if answer.error else "no error"
    if answer.error:
        return f"{answer.error} {answer.said[0]}"
    if answer.rows and len(answer.rows[0]) != len(record.types):
        return "other columns"
    try:
        found = values(answer, record)
    except ValueError:
        return "other types"
    hashed = re.fullmatch(r"(\d+) values hashing to ([0-9a-f]+)", record.expected[0]) if len(record.expected) == 1 else None
    if hashed:
        same = len(found) == int(hashed[1]) and hashlib.md5("".join(value + "\n" for value in found).encode()).hexdigest() == hashed[2]
    else:
        same = found == record.expected
    return "" if same else "other rows"


def run(job):
    job.statements("CREATE DATABASE logictest")
    end = time.monotonic() + LIMIT
    with job.results.open("w") as results, job.log.open("w") as log:
        for file in chosen(job.folder):
            if time.monotonic() > end:
                print(f"  {job.kind}: not done after {LIMIT} s, stopped before {file}", flush=True)
                break
            began, count = time.monotonic(), 0
            for record, why, seconds in run_file(job, (job.folder / "test" / file).read_text(errors="replace")):
                results.write(json.dumps({"test": f"{file}[{record.number}]", "outcome": "failed" if why else "passed", "message": why[:400]}) + "\n")
                count += 1
                if why or seconds > 5:
                    log.write(f"{file}[{record.number}] {seconds:.1f} s {why}\n{record.sql}\n\n")
            print(f"    {file}: {count} records in {time.monotonic() - began:.0f} s", flush=True)


def run_file(job, text):
    """Each record with why it did not pass, and its seconds; in a new schema, which goes afterwards."""
    wire = Wire(f"host=127.0.0.1 port={job.port} user=postgres dbname=logictest sslmode=disable")
    try:
        for record in records(text):
            began = time.monotonic()
            why = outcome(record, wire.run(record.sql))
            yield record, why, time.monotonic() - began
    finally:
        # What a file leaves would be in the way of the next.
        for kind, catalog in (("VIEW", "views"), ("TABLE", "tables")):
            for (name,) in wire.run(f"SELECT table_name FROM information_schema.{catalog} WHERE table_schema = 'public'").rows:
                wire.run(f'DROP {kind} IF EXISTS "{name.decode()}" CASCADE')
        wire.close()


def note(postgresql, dogwood):
    """What the rate does not say."""
    rows = sum(dogwood.get(test, ("", ""))[1] == "other rows" for test, (outcome, _) in postgresql.items() if outcome == "passed")
    return f"{rows:,} queries of the {len(postgresql):,} records have other rows on Dogwood than the files expect and PostgreSQL has."
