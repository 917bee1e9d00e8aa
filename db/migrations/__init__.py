"""The Alembic migrations, and the list of revisions that this version knows.

The list is written out so that opening a database that is up to date need not import Alembic; a test holds it against the files.
"""

REVISIONS: tuple[str, ...] = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011", "0012")
"""Oldest first; a new revision is appended here."""
