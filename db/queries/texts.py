"""Searches what was evaluated and what came of it: sources, messages, and names of kernels."""

from sqlalchemy import select

from db.error import StoreError
from db.queries.ranking import chunks
from db.schema.evidence_models import TextRow
from db.schema.models import EvaluationRow, SourceRow
from db.storage.rows import storable_text
from db.storage.text_index import latest
from db.store import Store

MOST_FOUND = 10_000
"""Maximum evaluations found, the latest ones: very many contain `torch`."""
MAX_CHARS = 200
"""Maximum length of the words together."""


def matching(store: Store, words: str) -> frozenset[int]:
    """Ids of evaluations whose source contains all words, or whose message and names of kernels do.

    Raises StoreError for too many words, and if the database can't be read.
    """
    if len(words) > MAX_CHARS:
        raise StoreError(f"A search has at most {MAX_CHARS} characters.")
    # SQLite reads a pattern, and a text too, only up to a NUL.
    wanted = storable_text(words).replace("\0", " ").split()
    if not wanted:
        return frozenset()
    with store.read() as connection:
        found = latest(connection, TextRow.evaluation_id, TextRow.text, wanted, MOST_FOUND)
        for some in chunks(latest(connection, SourceRow.id, SourceRow.text, wanted, MOST_FOUND)):
            found += connection.execute(select(EvaluationRow.id).where(EvaluationRow.source_id.in_(some))).scalars()
    return frozenset(sorted(set(found))[-MOST_FOUND:])
