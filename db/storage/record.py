"""An evaluation to be stored, also as one line of JSON for export, import and the spool."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Self

from pydantic import ConfigDict, ValidationError

from db.error import StoreError
from db.storage.origin import ORIGINS, Origin
from db.storage.rows import storable_result
from evaluator.results.result import Result


@dataclass(frozen=True)
class RunCommand:
    """The run that an evaluation came from."""

    words: tuple[str, ...]
    evaluator_version: str
    started_at: datetime
    finished_at: datetime | None = None
    expected: int | None = None
    """Number of the run's submissions, if known."""


@dataclass(frozen=True)
class Run:
    """`RunCommand` in JSON."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    command: tuple[str, ...]
    evaluator_version: str
    started_at: str
    finished_at: str | None
    expected: int | None


@dataclass(frozen=True)
class Stored:
    """Fields of a line besides those of the result."""

    source: str
    problem_source: str | None
    run: Run | None
    origins: tuple[Origin, ...]


@dataclass(frozen=True)
class Entry:
    """An evaluation to be stored."""

    result: Result
    source: str
    problem_source: str | None = None
    command: RunCommand | None = None
    """Its run, if not the store's own."""
    origins: tuple[Origin, ...] = ()

    @classmethod
    def of(cls, result: Result, source: str, first_line: int, problem_source: str | None) -> Self:
        """The record of a result of `source`, which begins on that line of the submitted file."""
        if first_line != 1:
            evidence = result.evidence.model_copy(update={"first_line": first_line})
            result = result.model_copy(update={"evidence": evidence})
        return cls(storable_result(result), source, problem_source)

    def to_line(self) -> str:
        """The fields of the result, and `source`, `problem_source`, `run` and `origins`; without a newline."""
        stored = Stored(self.source, self.problem_source, _run(self.command), self.origins)
        return json.dumps(json.loads(self.result.model_dump_json()) | asdict(stored), allow_nan=False)

    @classmethod
    def from_line(cls, line: str, where: str) -> Self:
        """Parse the output of `to_line`, with or without an `id`. Raises StoreError, which names `where`, for anything else."""
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise TypeError("not a JSON object")
            record.pop("id", None)
            source, problem_source = record.pop("source"), record.pop("problem_source", None)
            command = _command(record.pop("run", None))
            origins = ORIGINS.validate_python(record.pop("origins", ()))
            if not isinstance(source, str) or not isinstance(problem_source, str | None):
                raise TypeError("source and problem_source must be texts")
            return cls(Result.model_validate(record), source, problem_source, command, origins)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "record"
            raise StoreError(f"{where} is no evaluation that this version can read: {place}: {first['msg']}") from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            cause = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise StoreError(f"{where} is no exported evaluation: {cause}") from error


def _run(command: RunCommand | None) -> Run | None:
    if command is None:
        return None
    return Run(
        command=command.words,
        evaluator_version=command.evaluator_version,
        started_at=command.started_at.isoformat(),
        finished_at=None if command.finished_at is None else command.finished_at.isoformat(),
        expected=command.expected,
    )


def _command(run: Mapping[str, Any] | None) -> RunCommand | None:
    if run is None:
        return None
    finished_at, expected = run["finished_at"], run.get("expected")
    if expected is not None and (not isinstance(expected, int) or not 0 <= expected < 1 << 63):
        raise ValueError("what a run expects is a count")
    return RunCommand(
        words=tuple(str(word) for word in run["command"]),
        evaluator_version=str(run["evaluator_version"]),
        started_at=datetime.fromisoformat(run["started_at"]),
        finished_at=None if finished_at is None else datetime.fromisoformat(finished_at),
        expected=expected,
    )
