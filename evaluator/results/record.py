"""The types of the JSON record of an evaluation, one line of `--json`."""

from typing import Any

from pydantic import BaseModel, create_model

from evaluator.results.evidence import Record
from evaluator.results.result import Derived, Result


def fields_of(model: type[BaseModel], without: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a model, for another one."""
    return {name: (field.annotation, field) for name, field in model.model_fields.items() if name not in without}


class Told(Record):
    """Further fields of a line of `--json`, besides those of Result and Derived."""

    id: int
    """Number of the evaluation in the database."""
    disturbed: str
    line: int | None
    feedback: str


JudgedRecord = create_model(
    "JudgedRecord",
    __base__=Record,
    __doc__="One evaluation, as `--json` and the service write it.",
    **fields_of(Result, ("evidence", "environment")),
    **fields_of(Derived),
    **fields_of(Told),
)
