"""What rankings and counts can be filtered by: one definition for the command line, the pages and the service.

Nothing heavy is imported here, so that the command line can list its options at once.
"""

from dataclasses import dataclass, field, fields
from typing import Any


def _filter(metavar: str, text: str, column: str | None) -> Any:
    return field(default=None, metadata={"metavar": metavar, "help": text, "column": column})


@dataclass(frozen=True, slots=True)
class Filters:
    """Exact names; None lets everything pass, except for the protocol: times by different ones are never mixed."""

    problem: str | None = _filter("P", "only this problem", "problem")
    author: str | None = _filter("A", "only this author, ranked among all", None)
    device: str | None = _filter("D", 'only this device model, as in "NVIDIA H200"', "device_name")
    case: str | None = _filter("C", "only this case, as in full", "case")
    precision: str | None = _filter("T", "only this precision, as in float16", "precision")
    protocol: str | None = _filter("NAME", "of this protocol, as in graph (default: the device's)", None)
    """None, and the name of a default, for the device's default. Counts of failures leave it out."""

    def columns(self) -> dict[str, str]:
        """The names that were given, by the column of a board that has to be equal. The author and the protocol are no such columns."""
        given = {column: getattr(self, name) for name, column in COLUMNS.items()}
        return {column: value for column, value in given.items() if value is not None}


HELP: dict[str, tuple[str, str]] = {each.name: (each.metadata["metavar"], each.metadata["help"]) for each in fields(Filters)}
"""What a filter's value is called, and what the filter does, by its name."""
ANSWERS = ("yes", "no", "untested")
"""What places of boards can be chosen by besides: the answers to the questions in ANSWER_HELP."""
ANSWER_HELP: dict[str, str] = {
    "generalises": "only right (yes), wrong (no) or untested in other shapes, ranked among all",
    "robust": "the same for inputs of other distributions",
}
"""What choosing by an answer does, by the question's name (`db.queries.generality`)."""
COLUMNS: dict[str, str] = {each.name: each.metadata["column"] for each in fields(Filters) if each.metadata["column"]}
"""Columns of `boards`, by the filter's name."""
