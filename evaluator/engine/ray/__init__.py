"""Evaluations on the machines of a Ray cluster: each has its judges as on a machine of its own, and Ray says what runs where."""

import os

# Threads that end a little later than the connection would have Ray start a cluster of its own. Ray reads it when it is imported.
os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
