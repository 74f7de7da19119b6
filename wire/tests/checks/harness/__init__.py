"""What the checks of all rooms share. It stands here once; beside each room's checks a link of this name leads to it.

    server.py     a server of a check's own          tally.py     what passed and failed
    check.py      what a check begins with, and how it runs
    compared.py   Dogwood and PostgreSQL, asked the same          recorded.py   what PostgreSQL answered, in files
    protocol.py   the protocol by hand               packages.py  the Python packages that a check needs
    corpus.py     statements written by hand
"""
import pathlib

from .packages import need

need("psycopg")

from .check import Check, options, run_check, start_writers  # noqa: E402
from .server import BINARY, Refused, Server, run  # noqa: E402
from .tally import Tally, beside, rows, state_of, waiting  # noqa: E402

# The project.
ROOT = pathlib.Path(__file__).resolve().parents[4]
