"""Gives stored submissions another author.

The evaluations move to a new row of `submissions`: they must always refer to one with their author, and a reader that remembers authors
finds the changed ones by its number.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, bindparam, delete, exists, func, insert, or_, select, update

from db.error import StoreError
from db.queries.names import run_number
from db.schema.column_types import AnyText
from db.schema.models import AuthorRow, EvaluationRow, SkipRow, SubmissionRow
from db.storage.dimensions import Dimensions
from db.storage.reading import everything, summary_columns
from db.storage.rows import digest_of, storable_text
from db.storage.standing import reassign
from db.store import LOOKUP, Store
from evaluator.results.nearest import unknown
from evaluator.results.submission_name import submission_name

_MOST_NAMES = 20_000
"""Maximum names compared with a mistyped one."""
_S: Any = SubmissionRow.__table__


@dataclass(frozen=True, slots=True)
class Former:
    """An author, and how many of the submissions were theirs."""

    author: str | None
    submissions: int


@dataclass(frozen=True, slots=True)
class AuthorChange:
    """The result of `set_author`."""

    author: str
    submissions: int
    """Number of submissions that had another author."""
    evaluations: int
    """Number of their evaluations."""
    before: tuple[Former, ...]
    unchanged: int
    """Number of submissions that already had this author."""


def set_author(store: Store, author: str, run: str | None, paths: Sequence[str]) -> AuthorChange:
    """Change the author of a run's submissions, skipped ones included, or of submissions by name, path, bundle or folder.

    Raises StoreError, so that nothing is changed, for an unknown run or path, and for an empty name.
    """
    if not author.strip():
        raise StoreError("An author's name can't be empty.")
    author = storable_text(author.strip())
    number = None if run is None else run_number(store, run)
    with store.change() as connection:
        chosen = _of_paths(store, connection, paths) if number is None else _of_run(connection, number)
        if not chosen:
            raise StoreError(f"Run {number} has no submissions. The page /runs of `assay serve` lists all runs.")
        (author_id,) = Dimensions().authors(connection, [author])
        others = [item for item in chosen if item.author_id != author_id]
        evaluations = _move(connection, others, author, author_id)
        former = {item.author_id for item in others}
        connection.execute(delete(AuthorRow).where(AuthorRow.id.in_(former), ~exists().where(_S.c.author_id == AuthorRow.id)))
    before = Counter(item.author for item in others).most_common()
    return AuthorChange(author, len(others), evaluations, tuple(Former(*item) for item in before), len(chosen) - len(others))


def _of_run(connection: Connection, number: int) -> list[Any]:
    row = EvaluationRow
    judged = select(row.submission_id).where(row.run_id == number)
    skipped = select(row.submission_id).join(SkipRow, SkipRow.evaluation_id == row.id).where(SkipRow.run_id == number)
    return _rows(connection, _S.c.id.in_(judged.union(skipped)))


def _of_paths(store: Store, connection: Connection, paths: Sequence[str]) -> list[Any]:
    found = {item.id: item for path in paths for item in _of_path(store, connection, path)}
    return list(found.values())


def _of_path(store: Store, connection: Connection, path: str) -> list[Any]:
    """The submissions of that name, or those in this bundle or folder. Raises StoreError if there is none."""
    names = {storable_text(path).rstrip("/"), submission_name(Path(os.path.abspath(path)))}  # noqa: PTH100 (resolve() follows links)
    found, is_bundle = _rows(connection, _S.c.name.in_(names)), path.lower().endswith(".jsonl")
    if is_bundle or not found:
        begins = [name + (":" if is_bundle else "/") for name in names]
        within = [func.substr(_S.c.name, 1, len(begin), type_=AnyText) == begin for begin in begins]
        if "." in names:  # names below the working folder are relative
            within.append(func.substr(_S.c.name, 1, 1, type_=AnyText) != "/")
        found += _rows(connection, or_(*within))
    if found:
        return found
    known = connection.execute(select(_S.c.name).distinct().limit(_MOST_NAMES)).scalars()
    raise StoreError(f"{store.name}: {unknown('submission', path, known)}; `assay list` lists them")


def _rows(connection: Connection, *conditions: Any) -> list[Any]:
    columns = (_S.c.id, _S.c.name, _S.c.block, _S.c.sample_id, _S.c.author_id, AuthorRow.name.label("author"))
    query = select(*columns).join(AuthorRow, AuthorRow.id == _S.c.author_id).where(*conditions)
    return list(connection.execute(query.order_by(_S.c.id)))


def _move(connection: Connection, submissions: Sequence[Any], author: str, author_id: int) -> int:
    """Move the evaluations of submissions to new ones of this author. Returns their number."""
    keys = list(dict.fromkeys(map(_key, submissions)))
    if not keys:
        return 0
    values = [{"name": name, "block": block, "sample_id": sample_id, "author_id": author_id} for name, block, sample_id in keys]
    numbers = connection.execute(insert(_S).returning(_S.c.id, sort_by_parameter_order=True), values).scalars().all()
    new = dict(zip(keys, numbers, strict=True))
    moved = 0
    for start in range(0, len(submissions), LOOKUP):
        some = submissions[start : start + LOOKUP]
        # Submissions that the author already has under the same key become one with the new ones.
        own = _rows(connection, _S.c.author_id == author_id, _S.c.name.in_({item.name for item in some}), _S.c.id < numbers[0])
        places = {item.id: new[_key(item)] for item in (*some, *own) if _key(item) in new}
        moved += _move_evaluations(connection, places, author, author_id)
        connection.execute(delete(_S).where(_S.c.id.in_(places)))
    return moved


def _move_evaluations(connection: Connection, places: Mapping[int, int], author: str, author_id: int) -> int:
    """Move the evaluations of submissions. places: the new submission's id by the old one's. Returns the number that had another author."""
    row = EvaluationRow
    columns = (row.submission_id, row.author_id, row.board_id, row.source_id)
    named = (column.label(name) for name, column in summary_columns().items() if name not in ("author", "evidence"))
    query = everything().with_only_columns(*columns, *named, maintain_column_froms=True).where(row.submission_id.in_(places))
    moved = connection.execute(query).all()
    if not moved:
        return 0
    values = [
        {
            "number": item.id,
            "new_submission": places[item.submission_id],
            "new_digest": digest_of({**item._mapping, "author": author}, item.device_name),
        }
        for item in moved
    ]
    change = update(row).where(row.id == bindparam("number"))
    change = change.values(submission_id=bindparam("new_submission"), author_id=author_id, digest=bindparam("new_digest"))
    connection.execute(change, values)
    reassign(connection, moved, author_id)
    return sum(item.author_id != author_id for item in moved)


def _key(item: Any) -> tuple[str, int | None, int | None]:
    """What tells an author's submissions apart."""
    return item.name, item.block, item.sample_id
