"""Django's own runner, the `runtests.py` of the working directory. Each test's result is told at once, in the file that TELL_RESULTS names."""
import json
import os
import runpy
import sys
import unittest

import django.test.runner

FILE = open(os.environ["TELL_RESULTS"], "a")


def tell(test, outcome, error=None):
    message = ""
    if error is not None:
        lines = [line.strip() for line in str(error[1]).splitlines() if line.strip()]
        message = f"{error[0].__name__}: {lines[0] if lines else ''}"
    name = test.id()
    FILE.write(json.dumps({"test": name, "outcome": outcome, "message": message[:400]}) + "\n")
    FILE.flush()


class Told(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        self.bad = False

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None and not self.bad:
            self.bad = True
            tell(test, "failed", error)

    def addError(self, test, error):
        super().addError(test, error)
        self.bad = True
        tell(test, "failed", error)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.bad = True
        tell(test, "failed", error)

    def addSuccess(self, test):
        super().addSuccess(test)
        if not self.bad:
            tell(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        tell(test, "skipped")

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        tell(test, "passed")


django.test.runner.DiscoverRunner.get_resultclass = lambda self: Told
sys.argv[0] = os.path.abspath("runtests.py")
runpy.run_path(sys.argv[0], run_name="__main__")
