"""Evaluations as a DataFrame of pandas."""

import argparse
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from db import DEFAULT_DATABASE
from db.error import StoreError
from db.exchange import COLUMNS, FLAG, INTEGER, MOMENT, NUMBER, rows
from db.list_options import category_of, moment_of, status_of, tag_of
from db.queries.evaluations import Choice, chosen
from db.queries.filters import Filters
from db.queries.names import require_known, run_number
from db.queries.texts import matching
from db.store import Store

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")
CATEGORICAL = frozenset({"author", "problem", "case", "precision", "protocol", "device", "device_name", "status", "category"})
CATEGORICAL |= {"evaluator_version", "sandbox", "generalises", "robust"}
"""Columns with few different values."""
_TYPES = {INTEGER: "Int64", NUMBER: "float64", FLAG: "bool", MOMENT: "datetime64[us, UTC]"}


def read(
    url: str = DEFAULT_DATABASE,
    *,
    problem: str | None = None,
    author: str | None = None,
    device: str | None = None,
    case: str | None = None,
    precision: str | None = None,
    status: str | None = None,
    category: str | None = None,
    run: int | str | None = None,
    since: str | datetime | None = None,
    step: int | None = None,
    tag: str | None = None,
    search: str | None = None,
    limit: int | None = None,
) -> "pandas.DataFrame":
    """The evaluations of a database, history included, one row each, in the order in which they were stored.

    Columns and types are those of `export --format parquet`; columns with few values are categories. The keywords are the filters of
    the command `list`; `since` may be a datetime, and `limit` keeps the newest.

    Raises StoreError for a missing database or unknown name, and ImportError if pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("db.read needs pandas: pip install -c constraints.txt -e '.[pandas]'") from error
    with Store.open(url, read_only=True) as store:
        filters = Filters(problem=problem, author=author, device=device, case=case, precision=precision)
        require_known(store, filters)
        choice = Choice(
            filters,
            None if status is None else _checked(status_of, status),
            None if category is None else _checked(category_of, category),
            None if run is None else run_number(store, str(run)),
            _moment(since),
            step,
            None if tag is None else _checked(tag_of, tag),
            None if search is None else matching(store, search),
        )
        found = list(rows(store, chosen(store, choice, limit)))
    values = zip(*found, strict=True) if found else ([] for _ in COLUMNS)
    return pandas.DataFrame(
        {name: pandas.Series(list(column), dtype=_dtype(name)) for name, column in zip(COLUMNS, values, strict=True)}, columns=list(COLUMNS)
    )


def _dtype(name: str) -> str:
    if name == "id":
        return "int64"
    return "category" if name in CATEGORICAL else _TYPES.get(COLUMNS[name], "string")


def _moment(since: str | datetime | None) -> datetime | None:
    if isinstance(since, datetime):
        return since if since.tzinfo is not None else since.replace(tzinfo=UTC)
    return None if since is None else _checked(moment_of, since)


def _checked(convert: Callable[[str], T], text: str) -> T:
    try:
        return convert(text)
    except (argparse.ArgumentTypeError, ValueError) as error:
        raise StoreError(str(error)) from error
