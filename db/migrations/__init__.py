"""The Alembic migrations, and the list of revisions that this version knows.

The list is written out so that opening an up-to-date database does not import Alembic; a test compares it with the files.
"""

REVISIONS: tuple[str, ...] = (
    "0001",
    "0002",
    "0003",
    "0004",
    "0005",
    "0006",
    "0007",
    "0008",
    "0009",
    "0010",
    "0011",
    "0012",
    "0013",
    "0014",
    "0015",
    "0016",
)
"""Oldest first; a new revision is appended here."""
