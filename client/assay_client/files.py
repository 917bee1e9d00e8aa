"""Reads the submissions in files, bundles and folders.

A folder holds the files that the judge's own command reads in it, except manifests. The service attributes each submission by its name.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay_client.models import Options, Submission
from assay_client.terminal import UsageError, plain

SOURCES, BUNDLE = (".py", ".py.txt"), ".jsonl"
SUFFIXES = (".py", ".md", ".txt", BUNDLE)
MAX_NAME = 200
"""Maximum of characters of a name: the service's limit."""
MAX_SAMPLE_ID = (1 << 63) - 1
RECORD = frozenset(("submission", "status", "category", "source_sha256"))
"""Fields of a result's record, which no line of a bundle has together."""
_FEEDBACK = re.compile(r"## \d+: [^\n]*\n\n\*\*verdict:\*\* ")
_SPOOL = re.compile(r".*\.spool-[0-9]+-[0-9a-f]{8}\.jsonl")
"""The name of a file with results that a run could not store."""


@dataclass(frozen=True)
class Found:
    """A submission, and its place for messages: a file, or `bundle.jsonl:3` for the third line."""

    place: str
    submission: Submission


def find(paths: Sequence[Path], problem: str | None, options: Options) -> list[Found]:
    """Every submission in files, bundles and folders.

    problem: holds for all, otherwise a bundle's line may name it. Raises UsageError for a path that can't be read or has another type, a
    folder or bundle without submissions, and an invalid line.
    """
    return [found for path in paths for found in _in(path, problem, options)]


def _in(path: Path, problem: str | None, options: Options) -> list[Found]:
    if not path.is_dir():
        if path.suffix.lower() not in SUFFIXES:
            raise UsageError(f"{path}: is neither a folder nor one of {', '.join(SUFFIXES)}")
        return _read(path, _text(path), problem, options)
    texts = ((file, _text(file)) for file in _walk(path))
    found = [each for file, text in texts if not _holds_results(file, text) for each in _read(file, text, problem, options)]
    if not found:
        raise UsageError(f"{path}: no submissions in this folder ({', '.join(SUFFIXES)})")
    return found


def _walk(start: Path) -> Iterator[Path]:
    """The files below a folder that may hold submissions, in sorted order; each folder once, even if links lead to it again."""
    entered = {start.resolve()}
    for name, folders, files in os.walk(start, onerror=_unreadable, followlinks=True):
        folder = Path(name)
        yield from (folder / file for file in sorted(files) if _wanted(file))
        inner = []
        for each in sorted(folders):
            real = (folder / each).resolve()
            if each[0] != "." and each != "__pycache__" and real not in entered:
                entered.add(real)
                inner.append(each)
        folders[:] = inner


def _unreadable(error: OSError) -> None:
    raise UsageError(f"{error.filename}: can't be read: {error.strerror or error}") from error


def _wanted(file: str) -> bool:
    stem, suffix = os.path.splitext(file.lower())  # noqa: PTH122 - a name, not a path
    return suffix in SUFFIXES and file[0] != "." and stem != "readme" and file != "__init__.py" and not _SPOOL.fullmatch(file)


def _text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():  # reading a pipe would wait for a writer
            raise UsageError(f"{path}: is not a regular file")
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: can't be read: {error.strerror or error}") from error


def _holds_results(path: Path, text: str) -> bool:
    """Whether an earlier run has written the file, by `--json` or `--feedback`."""
    if path.suffix.lower() != BUNDLE:
        return path.suffix.lower() != ".py" and _FEEDBACK.match(text) is not None
    try:
        first = json.loads(text.partition("\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and first.keys() >= RECORD


def _read(path: Path, text: str, problem: str | None, options: Options) -> list[Found]:
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - a link is called by its own name
    name = plain("/".join(part for part in (whole.parent.name, whole.name) if part))
    if path.suffix.lower() != BUNDLE:
        source, response = (text, None) if path.name.lower().endswith(SOURCES) else (None, text)
        return [Found(str(path), Submission(response, source, problem, name=name[-MAX_NAME:], options=options))]
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise UsageError(f"{path}: the bundle is empty")
    found = []
    for number, line in lines:
        place = f"{path}:{number}"
        fields = _fields(line, place)
        fields["problem"] = problem or fields["problem"]
        found.append(Found(place, Submission(**fields, name=f"{name}:{number}"[-MAX_NAME:], options=options)))
    return found


def _fields(line: str, place: str) -> dict[str, Any]:
    """The fields of a submission that a bundle's line has. Raises UsageError."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place}: is not JSON: {error}") from error
    if not isinstance(told, dict):
        raise UsageError(f"{place}: is not an object")
    code, response, problem, sample_id = (told.get(name) for name in ("code", "response", "problem", "sample_id"))
    for name, value in (("code", code), ("response", response), ("problem", problem)):
        if not isinstance(value, str | None):
            raise UsageError(f"{place}: {name} is not text")
    if code is None and response is None:
        raise UsageError(f"{place}: the line has neither code nor response")
    if sample_id is not None and (type(sample_id) is not int or not 0 <= sample_id <= MAX_SAMPLE_ID):
        raise UsageError(f"{place}: sample_id is not a number from 0 on")
    return {"source": code, "response": response if code is None else None, "problem": problem, "sample_id": sample_id}
