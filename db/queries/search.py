"""Searches for a few letters in names of problems, authors and submissions, commands of runs, categories, and numbers.

Names are searched in the tables that hold each once. Of submissions, which may be a million, the last MOST_SUBMISSIONS are searched,
which takes a fraction of a second if few match.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, func, or_, select

from db.queries.runs import EvaluationSummary, of_ids
from db.schema.models import AuthorRow, BoardRow, RunRow, SubmissionRow
from db.storage.rows import storable_text
from db.store import Store
from evaluator.results.category import CATEGORIES, Category
from evaluator.results.nearest import nearest

MOST_SUBMISSIONS = 1_000_000
"""Maximum submissions searched, the latest ones."""
_MAX_ID = 2**63 - 1
_MOST_NAMES = 20_000
"""Maximum names compared with letters that match nothing."""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run whose number or command matches."""

    id: int
    command: str


@dataclass(frozen=True, slots=True)
class Found:
    """Matches, by kind: names that begin with the letters first, short ones before long ones."""

    evaluations: tuple[EvaluationSummary, ...]
    problems: tuple[str, ...]
    authors: tuple[str, ...]
    submissions: tuple[str, ...]
    runs: tuple[FoundRun, ...]
    categories: tuple[Category, ...]
    nearest: tuple[str, ...]
    """Similar names of problems and authors, if nothing matches."""

    @property
    def count(self) -> int:
        kinds: tuple[Collection[Any], ...] = (self.evaluations, self.problems, self.authors, self.submissions, self.runs, self.categories)
        return sum(map(len, kinds))


def search(store: Store, text: str, limit: int) -> Found:
    """Up to `limit` of each kind, ignoring case. `#12` and `12` find an evaluation and a run, `run 12` only the run.

    Raises StoreError if the database can't be read.
    """
    text = storable_text(text.strip())
    if not text:
        return Found((), (), (), (), (), (), ())
    number = re.fullmatch(r"(#|run\s*)?(\d{1,19})", text, re.IGNORECASE)
    wanted = int(number[2]) if number and int(number[2]) <= _MAX_ID else None
    kind = (number[1] or "").lower() if number else ""
    evaluations = of_ids(store, [wanted]) if wanted is not None and kind in ("", "#") else ()
    with store.read() as connection:
        found = Found(
            evaluations=evaluations,
            problems=_names(connection, BoardRow.problem, text, limit),
            authors=_names(connection, AuthorRow.name, text, limit),
            submissions=_submissions(connection, text, limit),
            runs=() if kind == "#" else _runs(connection, text, wanted, limit),
            categories=_categories(text)[:limit],
            nearest=(),
        )
        if found.count:
            return found
        known = [name for column in (BoardRow.problem, AuthorRow.name) for name in _known(connection, column)]
    return Found((), (), (), (), (), (), nearest(text, known))


def _names(connection: Connection, column: Any, text: str, limit: int) -> tuple[str, ...]:
    begins = column.istartswith(text, autoescape=True)
    query = select(column).where(column.icontains(text, autoescape=True)).group_by(column)
    return tuple(connection.execute(query.order_by(begins.desc(), func.length(column), column).limit(limit)).scalars())


def _submissions(connection: Connection, text: str, limit: int) -> tuple[str, ...]:
    """An exact match first, by its index; then names that contain the letters, latest first."""
    row = SubmissionRow
    exact = connection.execute(select(row.name).where(row.name == text).limit(1)).scalars().all()
    last = connection.execute(select(func.max(row.id))).scalar() or 0
    # SQLite's LIKE ignores case by itself, in less than half of the time.
    contains = row.name.contains if connection.dialect.name == "sqlite" else row.name.icontains
    query = select(row.name).where(row.id > last - MOST_SUBMISSIONS, contains(text, autoescape=True))
    # A name may have several code blocks; so many of one name in a row are rare.
    latest = connection.execute(query.order_by(row.id.desc()).limit(4 * limit)).scalars()
    return tuple(dict.fromkeys((*exact, *latest)))[:limit]


def _runs(connection: Connection, text: str, number: int | None, limit: int) -> tuple[FoundRun, ...]:
    # The command is stored as a JSON list of words, in which some characters are escaped.
    words = (json.dumps(word, ensure_ascii=False)[1:-1] for word in text.split())
    fits = and_(*(RunRow.command.icontains(word, autoescape=True) for word in words))
    fits = or_(fits, RunRow.id == number) if number is not None else fits
    query = select(RunRow.id, RunRow.command).where(fits).order_by(RunRow.id.desc()).limit(limit)
    return tuple(FoundRun(found, " ".join(json.loads(command))) for found, command in connection.execute(query))


def _categories(text: str) -> tuple[Category, ...]:
    words = text.lower().replace(" ", "_")
    named = [category for category in Category if words in category.value or words in category.status.value]
    meant = [category for category, info in CATEGORIES.items() if len(text) > 2 and text.lower() in info.meaning.lower()]
    return tuple(dict.fromkeys((*named, *meant)))


def _known(connection: Connection, column: Any) -> list[str]:
    return list(connection.execute(select(column).where(column.is_not(None)).distinct().limit(_MOST_NAMES)).scalars())
