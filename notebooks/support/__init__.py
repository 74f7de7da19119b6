"""What the notebooks share: the server that they talk to, data to measure with, and how figures look."""

import os

# JupySQL reports each use of it to its makers unless told not to. It is told before it is loaded.
os.environ.setdefault("PLOOMBER_STATS_ENABLED", "false")
