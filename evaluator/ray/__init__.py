"""Evaluations on the machines of a Ray cluster. Each machine has judges as it would alone; Ray decides what runs where."""

import os

# Threads that outlive the connection would make Ray start a cluster of its own. Ray reads this on import.
os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
