"""Verdicts of other harnesses: kept beside the evaluations as history, and never ranked or counted.

KernelBench's `eval_results.json` is in the folder of a run, `runs/NAME/`, beside the kernels that it judges. Its entries are stored
unchanged. An entry that equals a stored row is not stored again.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select

from db.error import StoreError
from db.kernelbench_results import KERNEL_FILE, ForeignVerdict, verdicts
from db.schema.models import ForeignRow
from db.storage.rows import storable_text
from db.store import Store
from evaluator.results.submission_name import submission_name

KERNELBENCH = "kernelbench"
_LOOKUP = 500


@dataclass(frozen=True, slots=True)
class ForeignHistoryRow:
    """One verdict of another harness."""

    harness: str
    imported_at: datetime
    submission: str
    author: str | None
    level: int
    problem_number: int
    sample_id: int
    compiled: bool
    correct: bool
    runtime_ms: float | None
    source_sha256: str | None
    details: Any


def import_kernelbench(store: Store, file: Path, level: int | None = None, author: str | None = None) -> tuple[int, int]:
    """Store the verdicts of an `eval_results.json`; returns the numbers of verdicts in it, and of those added.

    Default level: that of the kernels beside it; default author: the folder's name. Raises StoreError.
    """
    try:
        said = verdicts(file)
        level = _level_beside(file.parent) if level is None else level
        rows = [_row(file, level, author, verdict) for verdict in said]
    except OSError as error:
        raise StoreError(f"{file} can't be read: {error.strerror}.") from error
    fresh = {row["digest"]: row for row in rows}
    with store.change() as connection:
        digests = list(fresh)
        for start in range(0, len(digests), _LOOKUP):
            query = select(ForeignRow.digest).where(ForeignRow.digest.in_(digests[start : start + _LOOKUP]))
            for known in connection.execute(query).scalars():
                del fresh[bytes(known)]
        if fresh:
            connection.execute(insert(ForeignRow), list(fresh.values()))
    return len(said), len(fresh)


def foreign_history(store: Store, submission: str) -> tuple[ForeignHistoryRow, ...]:
    """Other harnesses' verdicts on a submission, in the order of import. Raises StoreError."""
    row = ForeignRow
    names = ForeignHistoryRow.__slots__
    with store.read() as connection:
        query = select(*(getattr(row, name) for name in names)).where(row.submission == storable_text(submission))
        found = [dict(zip(names, item, strict=True)) for item in connection.execute(query.order_by(row.id))]
    for values in found:
        values.update(compiled=bool(values["compiled"]), correct=bool(values["correct"]), details=json.loads(values["details"]))
    return tuple(ForeignHistoryRow(**values) for values in found)


def _level_beside(folder: Path) -> int:
    levels = {int(level) for level, _, _ in _kernels(folder)}
    if len(levels) != 1:
        told = f"of levels {', '.join(map(str, sorted(levels)))}" if levels else "missing"
        raise StoreError(f"{folder}: kernels beside the file are {told}; give the file's level with --level")
    return levels.pop()


def _kernels(folder: Path) -> Iterator[tuple[str, str, str]]:
    for path in folder.iterdir():
        match = KERNEL_FILE.fullmatch(path.name)
        if match:
            yield match[1], match[2], match[3]


def _row(file: Path, level: int, author: str | None, said: ForeignVerdict) -> dict[str, Any]:
    kernel = file.parent.absolute() / f"level_{level}_problem_{said.problem_id}_sample_{said.sample_id}_kernel.py"
    row = {
        "harness": KERNELBENCH,
        "submission": storable_text(submission_name(kernel)),
        "author": storable_text(author or file.parent.absolute().name),
        "level": level,
        "problem_number": said.problem_id,
        "sample_id": said.sample_id,
        "compiled": int(said.compiled),
        "correct": int(said.correct),
        "runtime_ms": said.runtime_ms,
        "source_sha256": hashlib.sha256(kernel.read_bytes()).hexdigest() if kernel.is_file() else None,
        "details": storable_text(json.dumps(said.details, ensure_ascii=False)),
    }
    digest = hashlib.sha256(json.dumps(row, ensure_ascii=False).encode()).digest()[:16]
    return row | {"digest": digest, "imported_at": datetime.now(UTC)}
