"""The file of a run of repairs: one JSON object per line, each on disk before the run goes on."""

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

VERSION = 1


class JournalError(ValueError):
    """The file can't be continued; the message is for the user."""


@dataclass(frozen=True, order=True)
class Place:
    """The place of an attempt: problem, chain, and answer in the chain (from 0)."""

    problem: str
    chain: int
    attempt: int


@dataclass(frozen=True)
class Attempt:
    """A model's answer, and the verdict, once known."""

    response: str
    cut_off: bool = False
    evaluation: str | None = None
    """Id of the evaluation at the service."""
    category: str | None = None
    """Status and category, such as `incorrect/wrong_values`."""
    feedback: str = ""
    speedup: float | None = None
    solved: bool = False

    @property
    def judged(self) -> bool:
        return self.evaluation is not None


class Journal:
    """Reads an existing file, and appends to it. A context manager."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        """settings: common to all attempts of a run, such as the model. Raises JournalError for another run's file, or an invalid one."""
        self.path = path
        self.attempts: dict[Place, Attempt] = {}
        self.run = uuid.uuid4().hex
        """Identifies this run among others with the same settings."""
        kept = self._read(settings)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("r+b" if path.exists() else "w+b")
            self._file.truncate(kept)  # drop a line that a crash cut short
            self._file.seek(kept)
        except OSError as error:
            raise JournalError(f"{path}: can't be written: {error.strerror or error}") from error
        if not kept:
            self._append({"version": VERSION, "run": self.run, "settings": settings})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()

    def answered(self, place: Place, attempt: Attempt) -> None:
        """Keep the model's answer. Raises JournalError."""
        self.attempts[place] = attempt
        self._append({**_told(place), "response": attempt.response, "cut_off": attempt.cut_off})

    def judged(self, place: Place, attempt: Attempt) -> None:
        """Keep the verdict. Raises JournalError."""
        self.attempts[place] = attempt
        self._append({**_told(place), **{name: getattr(attempt, name) for name in _VERDICT}})

    def _append(self, line: Mapping[str, Any]) -> None:
        """Append a line. Raises JournalError."""
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise JournalError(f"{self.path}: can't be written: {error.strerror or error}") from error

    def _read(self, settings: Mapping[str, Any]) -> int:
        """Read all complete lines; returns their length in bytes."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise JournalError(f"{self.path}: can't be read: {error.strerror or error}") from error
        whole, _, _ = content.rpartition(b"\n")
        if not whole and _BEGINNING.startswith(content[: len(_BEGINNING)]):
            return 0
        try:
            head, *lines = map(json.loads, whole.split(b"\n"))
            self.run = head["run"]
            different = [name for name in {**settings, **head["settings"]} if settings.get(name) != head["settings"].get(name)]
            for line in lines:
                self._take(line)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise JournalError(f"{self.path}: not a file of repairs; name another ({error!r})") from error
        if different:
            told = "; ".join(f"{name}: {head['settings'].get(name)!r}, now {settings.get(name)!r}" for name in different)
            raise JournalError(f"{self.path}: belongs to a run with other settings ({told}); name another file")
        return len(whole) + 1

    def _take(self, line: Mapping[str, Any]) -> None:
        place = Place(line["problem"], line["chain"], line["attempt"])
        if "response" in line:
            self.attempts[place] = Attempt(line["response"], line["cut_off"])
        else:
            self.attempts[place] = replace(self.attempts[place], **{name: line[name] for name in _VERDICT})


_BEGINNING = b'{"version"'
_VERDICT = ("evaluation", "category", "feedback", "speedup", "solved")


def _told(place: Place) -> dict[str, Any]:
    return {"problem": place.problem, "chain": place.chain, "attempt": place.attempt}
