"""The file that a benchmark in Python leaves: of the same shape as the Rust ones', so that the notebook of results reads both.

Each result has a name, a unit and either one `value` or one of each, `dogwood` and `postgresql`; what else it says stands beside them.
"""
import json
import os
import shlex
import sys
import time
from pathlib import Path


class ResultsFile:
    """`path` may be None: then nothing is written. To be made before anything is measured: it says the load that it met."""

    def __init__(self, path, what):
        self.path, self.results = path and Path(path), []
        command = shlex.join([f"benches/{Path(sys.argv[0]).name}", *sys.argv[1:]])
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1_000_000
        self.about = (f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC; `{command}`; {os.cpu_count()} cores, {memory} MB; "
                      f"load {os.getloadavg()[0]:.2f} at the start; {what}.")
        self.write(partial=True)

    def add(self, name, unit, value=None, **beside):
        if (value is None) == ("dogwood" not in beside):
            raise ValueError(f"{name}: either one value, or Dogwood's")
        self.results.append({"name": name, "unit": unit, **({} if value is None else {"value": value}), **beside})
        self.write(partial=True)

    def write(self, partial=False):
        if self.path:
            self.path.write_text(json.dumps({"about": self.about, "partial": partial, "results": self.results}, indent=1) + "\n")
