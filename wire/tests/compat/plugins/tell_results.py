"""A plugin of pytest's that writes each test's result as a line of JSON at once, so that a run that is cut off has said what it did.

TELL_RESULTS names the file.
"""
import json
import os

_worst = {}


def _message(report):
    """The first line of what went wrong."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    return next((line.strip() for line in text.split("\n") if line.strip()), "")


def pytest_runtest_logreport(report):
    """A test has up to three reports. What failed in any of them has failed."""
    test, outcome, message = report.nodeid, report.outcome, ""
    if outcome == "failed":
        message = _message(report)
    elif outcome == "skipped" and hasattr(report, "wasxfail"):
        outcome = "skipped"
    before = _worst.get(test)
    if before is None or outcome == "failed" or (outcome == "skipped" and before[0] == "passed"):
        if before is None or before[0] != "failed":
            _worst[test] = (outcome, message)
    if report.when == "teardown":
        outcome, message = _worst.pop(test)
        with open(os.environ["TELL_RESULTS"], "a") as file:
            file.write(json.dumps({"test": test, "outcome": outcome, "message": message[:400]}) + "\n")
