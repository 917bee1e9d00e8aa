"""Filters in the query of an address, for the pages and the service."""

import inspect
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from pydantic import BeforeValidator, Field, PlainValidator

from db.list_options import moment_of, tag_of
from db.queries.filters import HELP, Filters
from evaluator.results.category import Category, Status
from evaluator.results.protocol_names import alternative

MAX_NAME = 4096
Name = Annotated[str | None, Query(max_length=MAX_NAME)]
Answer = Annotated[Literal["", "yes", "no", "untested"] | None, Query()]
"""Filter of places by `generalises` or `robust`. Forms also send the empty value."""
ReducedPrecision = Annotated[bool, Query()]
"""Whether results of reduced precision are also ranked."""


def _given(value: Any) -> Any:
    """None for the empty fields of a form."""
    return value or None


def _moment(text: str | None) -> datetime | None:
    return moment_of(text) if text else None


def _tag(text: str | None) -> str | None:
    return tag_of(text) if text else None


def _step(value: Any) -> Any:
    """None for an empty field; the step 0 is a value."""
    return None if value == "" else value


MAX_ID = 2**63 - 1
"""Largest integer of a database column."""
ChosenStatus = Annotated[Status | None, BeforeValidator(_given), Query()]
ChosenCategory = Annotated[Category | None, BeforeValidator(_given), Query()]
ChosenRun = Annotated[Annotated[int, Field(ge=1, le=MAX_ID)] | None, BeforeValidator(_given), Query()]
Since = Annotated[Annotated[datetime | None, PlainValidator(_moment)], Query()]
"""Earliest start of an evaluation: a duration ago (`12h`, `7d`) or a date."""
Step = Annotated[Annotated[int, Field(ge=0, le=MAX_ID)] | None, BeforeValidator(_step), Query()]
"""The step of a training run."""
Tag = Annotated[Annotated[str | None, PlainValidator(_tag)], Query()]
"""A tag of a training run: `name=value`."""
PageNumber = Annotated[int, Query(alias="page", ge=1, le=1_000_000)]


def filters_of(kind: Any) -> Callable[..., Filters]:
    """A dependency of FastAPI that reads each filter from the query, as a parameter of this kind."""

    def read(**given: str | None) -> Filters:
        # Forms also send empty fields.
        names = {name: value or None for name, value in given.items()}
        return Filters(**names | {"protocol": alternative(names["protocol"])})

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name in HELP]
    read.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return read


FiltersOf = Annotated[Filters, Depends(filters_of(Name))]
