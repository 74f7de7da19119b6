#!/usr/bin/env python3
"""Every notebook runs from its first cell to its last at small scale; a cell that fails fails the run; nothing is left running.

DOGWOOD names the binary.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from harness import BINARY, ROOT, Tally

FOLDER = ROOT / "notebooks"
DEMO = FOLDER / "support/demo.py"
SCALE = os.environ.get("DOGWOOD_NOTEBOOK_SCALE", "0.05")
COMMITTED_BYTES_MAX = 1_000_000

# What the notebooks do not do with JupySQL themselves.
MAGICS = [
    "from support import server\nengine = server.engine()",
    "%load_ext sql",
    "%sql engine",
    "tables = %sqlcmd tables\nassert 'users' in str(tables) and 'stories' in str(tables), str(tables)",
    "columns = %sqlcmd columns --table stories\nassert 'title' in str(columns) and 'TEXT' in str(columns), str(columns)",
    "columns = %sqlcmd columns --table views --schema dogwood\nassert 'dataflow_bytes' in str(columns), str(columns)",
    "tables = %sqlcmd tables --schema dogwood",
    "%sqlcmd explore --table stories",
    "%sqlcmd profile --table stories",
    "%sqlcmd test --table stories --column id --greater-or-equal 0",
    "%%sql --save long_ones --no-execute\nSELECT * FROM stories WHERE length(title) > 3",
    "%%sql --with long_ones counted <<\nSELECT count(*) FROM long_ones",
    "assert int(counted[0][0]) > 0, counted",
    "%config SqlMagic.named_parameters = 'enabled'",
    "story = 1\nfound = %sql SELECT id FROM stories WHERE id = :story\nassert [tuple(row) for row in found] == [(1,)], found",
    "%sqlplot histogram --table stories --column id",
    "%sqlplot boxplot --table stories --column id",
    "%sqlplot bar --table stories --column author",
    "import pandas\nframe = pandas.DataFrame({'a': [1, 2], 'b': ['x', None]})",
    "%sql --persist frame",
    "%sql --append frame",
    "%%sql made <<\nCREATE TABLE made(a int);\nINSERT INTO made SELECT a FROM frame;\nSELECT count(*) FROM made",
    "assert [tuple(row) for row in made] == [(4,)], made",
    "%config SqlMagic.autocommit = False",
    "inside = %sql BEGIN; INSERT INTO made VALUES (9); ROLLBACK; SELECT count(*) FROM made",
    "assert [tuple(row) for row in inside] == [(4,)], inside",
]


def execute(*arguments, **options):
    """demo.py execute: (exit status, what it said)."""
    done = subprocess.run([sys.executable, str(DEMO), "execute", "--scale", SCALE, *map(str, arguments)], text=True, timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "DOGWOOD": BINARY}, **options)
    return done.returncode, done.stdout


def notebook(path, cells):
    made = [{"cell_type": "code", "id": f"cell-{n}", "metadata": {}, "execution_count": None, "outputs": [], "source": cell}
            for n, cell in enumerate(cells)]
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    path.write_text(json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}))
    return path


def gone(process):
    end = time.monotonic() + 10
    while pathlib.Path(f"/proc/{process}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    return not pathlib.Path(f"/proc/{process}").exists()


def every_notebook_runs(tally):
    status, said = execute()
    tally.equal(status, 0, f"the notebooks run: {said}")
    tally.that(f"{len(list(FOLDER.glob('*.ipynb')))} notebooks executed" in said, "all of them", said)


def the_magics_work(tally, scratch):
    status, said = execute(notebook(scratch / "magics.ipynb", MAGICS))
    tally.equal(status, 0, f"JupySQL: {said}")


def a_failing_cell_fails_the_run(tally, scratch):
    note = scratch / "server"
    cells = ["import os, pathlib", f"pathlib.Path({str(note)!r}).write_text(os.environ['DOGWOOD_PID'])", "raise ValueError('as it should')"]
    status, said = execute(notebook(scratch / "failing.ipynb", cells))
    tally.equal(status, 1, "a failing cell fails the run")
    tally.that("as it should" in said and "failed: failing" in said, "it is said which and why", said)
    tally.that(gone(note.read_text()), "its server is stopped")


def an_ended_run_leaves_nothing(tally, scratch):
    note = scratch / "started"
    cells = ["import os, pathlib, time", f"pathlib.Path({str(note)!r}).write_text(f\"{{os.environ['DOGWOOD_PID']}} {{os.getpid()}}\")", "time.sleep(60)"]
    path = notebook(scratch / "sleeping.ipynb", cells)
    run = subprocess.Popen([sys.executable, str(DEMO), "execute", str(path)], env={**os.environ, "DOGWOOD": BINARY},
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while not (note.exists() and note.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    run.send_signal(signal.SIGTERM)
    tally.that(run.wait(30) != 0, "an ended run is no success")
    for process in note.read_text().split():
        tally.that(gone(process), "server and kernel are gone")


def the_committed_ones_show_their_figures(tally):
    paths = sorted(FOLDER.glob("*.ipynb"))
    tally.that(sum(path.stat().st_size for path in paths) < COMMITTED_BYTES_MAX, "they stay small")
    for path in paths:
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        outputs = [output for cell in cells for output in cell["outputs"]]
        tally.that(any("image/png" in output.get("data", {}) for output in outputs), f"{path.name} has figures")
        tally.that(all(output["output_type"] != "error" for output in outputs), f"{path.name} has no error")


def main():
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="dogwood-check-") as folder:
        scratch = pathlib.Path(folder)
        tally.case(every_notebook_runs, tally)
        tally.case(the_magics_work, tally, scratch)
        tally.case(a_failing_cell_fails_the_run, tally, scratch)
        tally.case(an_ended_run_leaves_nothing, tally, scratch)
        tally.case(the_committed_ones_show_their_figures, tally)
    tally.end()


if __name__ == "__main__":
    main()
