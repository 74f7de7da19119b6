#!/usr/bin/env python3
"""A quick part of other people's tests (`make compat` runs all): what passed when the results were written passes still.

Installed from registries at first need; where none is reached, it is said by name what is left out.
"""
import pathlib
import re
import sys
import tempfile

import harness

COMPAT = harness.ROOT / "wire/tests/compat"
sys.path.insert(0, str(COMPAT))
import compat  # noqa: E402

SUITES = ["sqlalchemy"]


def known(name):
    """The tests that the results list, without their parameters."""
    return set(re.findall(r"^ {6}(\S+)", (compat.RESULTS / f"{name}.txt").read_text(), re.M))


def check(tally, name, kept):
    try:
        suite, folder = compat.installed(name)
    except RuntimeError as error:
        print(f"LEFT OUT, {name} could not be installed: {str(error).splitlines()[-1]}", flush=True)
        return
    found = compat.results_on(suite, folder, name, "dogwood", kept, quick=True)
    tally.that(any(outcome == "passed" for outcome, _ in found.values()), f"{name} ran")
    expected = known(name)
    for test, (outcome, message) in found.items():
        if outcome == "passed" or re.sub(r"\[.*", "", test) not in expected:
            tally.that(outcome != "failed", f"{name}: {test}", message)


def main():
    tally = harness.Tally()
    with tempfile.TemporaryDirectory() as kept:
        for name in SUITES:
            check(tally, name, pathlib.Path(kept))
    tally.end()


if __name__ == "__main__":
    main()
