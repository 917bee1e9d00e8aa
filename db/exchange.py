"""Exports and imports evaluations.

`json` is lossless: one object per line with all data of an evaluation, history included, which `import_lines` reads. `csv` and
`parquet` are tables for other tools: one row per evaluation, without evidence and sources.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any

from db.error import StoreError
from db.queries.disturbances import remark
from db.queries.generality import generality_of
from db.storage.origin import origins_of, origins_text
from db.storage.record import Entry
from db.store import Store, StoredEvaluation
from evaluator.results.display.pace import Tell, untold

_BATCH = 200
TEXT, INTEGER, NUMBER, FLAG, MOMENT = "string", "int64", "double", "bool", "timestamp[us, tz=UTC]"
COLUMNS: dict[str, str] = {
    "id": INTEGER,
    "submission": TEXT,
    "block": INTEGER,
    "author": TEXT,
    "sample_id": INTEGER,
    "problem": TEXT,
    "problem_sha256": TEXT,
    "case": TEXT,
    "precision": TEXT,
    "protocol": TEXT,
    "device": TEXT,
    "device_name": TEXT,
    "status": TEXT,
    "category": TEXT,
    "message": TEXT,
    "hint": TEXT,
    "runtime_ms": NUMBER,
    "baseline_ms": NUMBER,
    "speedup": NUMBER,
    "speedup_low": NUMBER,
    "speedup_high": NUMBER,
    "speed_of_light": NUMBER,
    "baseline_speed_of_light": NUMBER,
    "source_sha256": TEXT,
    "started_at": MOMENT,
    "duration_s": NUMBER,
    "evaluator_version": TEXT,
    "sandbox": TEXT,
    "is_current": FLAG,
    "is_ranked": FLAG,
    "disturbed": TEXT,
    "generalises": TEXT,
    "robust": TEXT,
    "origins": TEXT,
}
"""Columns of a table, with their Arrow types."""
_FURTHER = ("disturbed", "generalises", "robust", "origins")
"""The last columns, which are read from the evidence and another table."""
_STORED = tuple(name for name in COLUMNS if name not in _FURTHER)


def export_json(store: Store, file: IO[bytes], tell: Tell = untold, where: Sequence[Any] = ()) -> int:
    """Write the evaluations that meet the conditions, one JSON object per line; returns their number. Raises StoreError."""
    count = 0
    for stored in store.each(where=where):
        file.write(_line(stored).encode("ascii") + b"\n")
        count += 1
        tell(1)
    return count


def export_csv(store: Store, file: IO[bytes], tell: Tell = untold, where: Sequence[Any] = ()) -> int:
    """Write a header and one row per evaluation. Raises StoreError.

    A text that a spreadsheet would take for a formula gets an apostrophe in front: names come from strangers.
    """
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    count = 0
    for row in rows(store, where):
        writer.writerow([csv_cell(value) for value in row])
        count += 1
        tell(1)
    text.detach()
    return count


def export_parquet(store: Store, file: IO[bytes], tell: Tell = untold, where: Sequence[Any] = ()) -> int:
    """Write a Parquet file. Raises StoreError, also if pyarrow is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise StoreError("Parquet needs pyarrow: pip install -c constraints.txt -e '.[parquet]', or export as csv or json.") from error
    schema = pyarrow.schema([(name, _arrow_type(pyarrow, kind)) for name, kind in COLUMNS.items()])
    count = 0
    with parquet.ParquetWriter(file, schema) as writer:
        found = rows(store, where)
        while batch := list(islice(found, 100 * _BATCH)):
            writer.write_table(pyarrow.Table.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in batch], schema))
            count += len(batch)
            tell(len(batch))
    return count


def import_lines(store: Store, path: Path, name: str | None = None) -> tuple[int, int]:
    """Store the evaluations of a file that `export_json` wrote, without those already stored.

    Returns the numbers of evaluations in the file, and of those added. One unreadable line rejects the whole file. Raises StoreError,
    whose message names the file `name`, if given.
    """
    return count_lines(path, name), store_lines(store, path, name)


def count_lines(path: Path, name: str | None = None, tell: Tell = untold) -> int:
    """Number of evaluations in a file. Raises StoreError for a line that `import_lines` can't read."""
    count = 0
    for _ in _items(path, name):
        count += 1
        tell(1)
    return count


def store_lines(store: Store, path: Path, name: str | None = None, tell: Tell = untold) -> int:
    """Store the evaluations that are not stored yet, and return their number. Raises StoreError."""
    added, items = 0, _items(path, name)
    while batch := list(islice(items, _BATCH)):
        added += store.add_missing(batch)
        tell(len(batch))
    return added


def rows(store: Store, where: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
    """The values of COLUMNS for all evaluations that meet the conditions, oldest first. Raises StoreError."""
    found = store.summaries((*_STORED, "evidence"), where)
    while batch := list(islice(found, _BATCH)):
        with store.read() as connection:
            origins = origins_of(connection, [number for number, *_ in batch])
        for *values, evidence in batch:
            known = dict(zip(_STORED, values, strict=True))
            told = generality_of(known | {"evidence": evidence})
            disturbed = "" if known["speedup"] is None else remark(evidence)
            yield *values, disturbed, told.generalises, told.robust, origins_text(origins.get(values[0], ()))


def _items(path: Path, name: str | None) -> Iterator[Entry]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield Entry.from_line(line, f"{name or path}:{number}")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise StoreError(f"{name or path} can't be read: {cause}.") from error


def _line(stored: StoredEvaluation) -> str:
    line = Entry(stored.result, stored.source, stored.problem_source, stored.command, stored.origins).to_line()
    return f'{{"id": {stored.id}, {line[1:]}'


def csv_cell(value: object) -> object:
    """A value for CSV. A text that a spreadsheet would take for a formula gets an apostrophe in front."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return "'" + value
    return value


def _arrow_type(pyarrow: Any, kind: str) -> Any:
    return pyarrow.timestamp("us", tz="UTC") if kind == MOMENT else pyarrow.type_for_alias(kind)
