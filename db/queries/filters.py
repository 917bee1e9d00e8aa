"""Filters of rankings and counts, defined once for the command line, the pages and the service.

Nothing heavy is imported here, so that the command line lists its options at once.
"""

from dataclasses import dataclass, field, fields
from typing import Any


def _filter(metavar: str, text: str, column: str | None) -> Any:
    return field(default=None, metadata={"metavar": metavar, "help": text, "column": column})


@dataclass(frozen=True, slots=True)
class Filters:
    """Exact names; None lets everything pass, except for the protocol: times of different protocols are never mixed."""

    problem: str | None = _filter("P", "only this problem", "problem")
    author: str | None = _filter("A", "only this author", None)
    device: str | None = _filter("D", 'only this device model, as in "NVIDIA H200"', "device_name")
    case: str | None = _filter("C", "only this case, as in full", "case")
    precision: str | None = _filter("T", "only this precision, as in float16", "precision")
    protocol: str | None = _filter("NAME", "only this protocol, as in graph (default: the device's)", None)
    """None, and the name of a default, for the device's default. Counts of failures leave it out."""

    def columns(self) -> dict[str, str]:
        """The given names, by the column of a board that has to be equal. The author and the protocol are no such columns."""
        given = {column: getattr(self, name) for name, column in COLUMNS.items()}
        return {column: value for column, value in given.items() if value is not None}


HELP: dict[str, tuple[str, str]] = {each.name: (each.metadata["metavar"], each.metadata["help"]) for each in fields(Filters)}
"""Metavariable and help text of each filter, by its name."""
ANSWERS = ("yes", "no", "untested")
"""Answers to the questions in ANSWER_HELP, which also filter the places of boards."""
ANSWER_HELP: dict[str, str] = {
    "generalises": "only right (yes), wrong (no) or untested in other shapes",
    "robust": "the same for other input distributions",
}
"""Help text of each filter by an answer, by the question's name (`db.queries.generality`)."""
COLUMNS: dict[str, str] = {each.name: each.metadata["column"] for each in fields(Filters) if each.metadata["column"]}
"""Columns of `boards`, by the filter's name."""
