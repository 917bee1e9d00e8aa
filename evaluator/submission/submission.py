"""Submissions: found in files and folders, read one at a time, and never run.

What is read: `.py` files; `.txt` and `.md` model responses; `.jsonl` bundles, an object a line with `code` or `response`, and
optionally `problem`, `author` and `sample_id`. In folders, whatever begins with a dot, `__pycache__`, `__init__.py` and files
named README are left out. Everything else of these kinds becomes at least one Submission, be it a rejected one.
"""

import hashlib
import json
import logging
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluator.results.category import Category
from evaluator.submission.attribution import Catalogue, Claims
from evaluator.submission.manifest import Manifest, Name, load_manifest
from evaluator.submission.response import MAX_RESPONSE_BYTES, Candidate, read_response
from evaluator.submission.source import MAX_CODE_BYTES, MAX_FILE_BYTES, InputError, Rejection, clean, decode, examine

__all__ = ["SUFFIXES", "InputError", "Rejection", "Submission", "find", "of_text", "shown"]

BUNDLE_SUFFIX = ".jsonl"
SUFFIXES = (".py", ".txt", ".md", BUNDLE_SUFFIX)
"""Of the files that are read, in any case of letters."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Submission:
    """One thing to judge, or to reject."""

    name: str
    """Path as shown, with forward slashes: relative to the working directory where it lies below it; `file.jsonl:LINE` in a bundle."""
    path: Path
    """Absolute path of the file."""
    block: int | None
    """Number, from 1, among the ModelNew blocks of a response; None for Python that came as such, and where there is no block."""
    code: str
    """Python source with `\\n` line ends; the response itself where no block was found in it; empty where nothing could be read."""
    first_line: int
    """Line, from 1, of the file (in a bundle: of the text in its line) on which `code` begins."""
    author: str | None
    sample_id: int | None
    problem: str | None
    """Name of a known problem; None where it could not be told."""
    rejection: Rejection | None
    """Why it is not to be judged, or None."""
    note: str = ""
    """What a reader of the result should know about how it was read."""
    raw_sha256: str = ""
    """SHA-256 of what was handed in, where that could not become `code`."""

    @property
    def source_sha256(self) -> str:
        """SHA-256 of `code` in UTF-8, in hexadecimal; where nothing could be read, of the bytes as they were handed in."""
        return self.raw_sha256 or hashlib.sha256(self.code.encode()).hexdigest()


@dataclass(frozen=True)
class _Piece:
    """Code, or the lack of it, before anything is known of problem and author."""

    code: str = ""
    block: int | None = None
    first_line: int = 1
    rejection: Rejection | None = None
    note: str = ""
    raw_sha256: str = ""


class _Line(BaseModel):
    """One line of a bundle."""

    model_config = ConfigDict(frozen=True)

    problem: Name | None = None
    author: Name | None = None
    sample_id: int | None = Field(default=None, ge=0, lt=1 << 63)
    code: str | None = None
    response: str | None = None


class Found(Iterator[Submission]):
    """Submissions as they are read, one in memory at a time."""

    def __init__(self, submissions: Iterator[Submission], expected: int | None) -> None:
        self._submissions = submissions
        self.expected = expected
        """How many there will be, as far as that could be told without reading: a response may come to several, and of what a bundle holds
        nothing is known, so that it is None then."""

    def __next__(self) -> Submission:
        return next(self._submissions)


def of_text(name: str, text: str, response: bool, problem: str, author: str, sample_id: int | None) -> Submission:
    """The submission in a text that came without a file: a model's response, of which the final answer counts, or Python.

    problem: a known one. What the text says of its problem and author is not asked.
    """
    piece = _Finder().of_texts(text, response)[1][0]
    return Submission(
        name=name,
        path=Path("/", name),
        block=piece.block,
        code=piece.code,
        first_line=piece.first_line,
        author=author,
        sample_id=sample_id,
        problem=problem,
        rejection=piece.rejection,
        note=piece.note,
        raw_sha256=piece.raw_sha256,
    )


def find(
    paths: Sequence[Path],
    every_block: bool = False,
    problem: str | None = None,
    author: str | None = None,
    known: Collection[str] = (),
) -> Found:
    """Every submission in `paths`, in sorted order within each folder, one in memory at a time.

    every_block: yield each ModelNew block of a response instead of its final one. problem, author: hold for all of them.
    known: names of the problems there are, or a mapping from them to their paths.
    Raises InputError at once, before anything is read, where a path does not exist, is not of a kind that is read, is a folder without
    submissions, or has a manifest that can't be used.
    """
    finder = _Finder(every_block, problem, author, Catalogue(known))
    starts = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 (resolve() would follow symbolic links, absolute() keeps "..")
    for given, start in zip(paths, starts, strict=True):
        finder.survey(given, start)
    return Found(finder.read_all(starts), None if finder.bundles else finder.files)


class _Finder:
    def __init__(
        self, every_block: bool = False, problem: str | None = None, author: str | None = None, catalogue: Catalogue | None = None
    ) -> None:
        self.every_block, self.problem, self.author, self.catalogue = every_block, problem, author, catalogue or Catalogue(())
        self.manifests: dict[Path, Manifest | None] = {}
        self.files = 0
        self.bundles = False

    def survey(self, given: Path, start: Path) -> None:
        if not start.exists():
            raise InputError(f"{given}: does not exist")
        if not start.is_dir() and start.suffix.lower() not in SUFFIXES:
            raise InputError(f"{given}: not one of {', '.join(SUFFIXES)}, nor a folder")
        before = self.files
        for folder, name in _walk(start):
            self.files += 1
            self.bundles = self.bundles or name.lower().endswith(BUNDLE_SUFFIX)
            self.manifest(folder)
        if self.files == before:
            raise InputError(f"{given}: no submissions in this folder ({', '.join(SUFFIXES)})")

    def manifest(self, folder: Path) -> Manifest | None:
        if folder not in self.manifests:
            manifest = self.manifests[folder] = load_manifest(folder)
            for file in manifest.entries if manifest else ():
                if not (folder / file).exists():
                    _log.warning("%s: the manifest names %s, which is not there", folder, file)
        return self.manifests[folder]

    def read_all(self, starts: Sequence[Path]) -> Iterator[Submission]:
        # What several paths lead to is read once; with one path there is nothing to remember.
        seen: set[tuple[Path, str]] = set()
        for start in starts:
            for place in _walk(start):
                if place in seen:
                    continue
                if len(starts) > 1:
                    seen.add(place)
                folder, name = place
                yield from self.read(folder / name)

    def read(self, path: Path) -> Iterator[Submission]:
        suffix = path.suffix.lower()
        limit_bytes = MAX_RESPONSE_BYTES if suffix in (".txt", ".md") else MAX_FILE_BYTES
        try:
            _check_regular(path)
            if suffix == BUNDLE_SUFFIX:
                yield from self.read_bundle(path)
                return
            with path.open("rb") as file:
                data = file.read(limit_bytes + 1)
        except OSError as error:
            yield self.submission(path, "", _Piece(rejection=_unreadable(error.strerror or str(error))))
            return
        if len(data) > limit_bytes:
            yield self.submission(path, "", _oversized(data, None, limit_bytes))
            return
        try:
            text = decode(data)
        except ValueError as error:
            yield self.submission(path, "", _Piece(rejection=_unreadable(str(error)), raw_sha256=_sha256(data)))
            return
        for piece in [_of_code(text)] if suffix == ".py" else self.of_response(text):
            yield self.submission(path, text, piece)

    def read_bundle(self, path: Path) -> Iterator[Submission]:
        empty = True
        with path.open("rb") as file:
            for number, data in _lines(file):
                empty = False
                yield from self.read_line(path, number, data)
        if empty:
            yield self.submission(path, "", _Piece(rejection=_unreadable("the bundle is empty")))

    def read_line(self, path: Path, number: int, data: bytes) -> Iterator[Submission]:
        line = _Line()
        text = ""
        pieces: list[_Piece] = []
        try:
            if len(data) > MAX_FILE_BYTES:
                pieces = [_oversized(data, None, MAX_FILE_BYTES)]
            else:
                line = _Line.model_validate(json.loads(data.decode("utf-8-sig")))
                text, pieces = self.of_line(line)
        except RecursionError:
            pieces = [_Piece(rejection=_unreadable("JSON nested too deeply"), raw_sha256=_sha256(data))]
        except ValidationError as error:
            first = error.errors()[0]
            reason = f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
            pieces = [_Piece(rejection=_unreadable(reason), raw_sha256=_sha256(data))]
        except ValueError as error:
            pieces = [_Piece(rejection=_unreadable(f"not JSON in UTF-8: {error}"), raw_sha256=_sha256(data))]
        for piece in pieces:
            yield self.submission(path, text, piece, number, line)

    def of_line(self, line: _Line) -> tuple[str, list[_Piece]]:
        """The text of a bundle's line, and what is in it."""
        raw = line.code if line.code is not None else line.response
        if raw is None:
            return "", [_Piece(rejection=_unreadable("the line has neither code nor response"))]
        return self.of_texts(raw, line.code is None)

    def of_texts(self, raw: str, response: bool) -> tuple[str, list[_Piece]]:
        """A text as it is read, and what is in it."""
        try:
            text = clean(raw)
        except ValueError as error:
            return "", [_Piece(rejection=_unreadable(str(error)), raw_sha256=_sha256(raw.encode("utf-8", "surrogatepass")))]
        return text, self.of_response(text) if response else [_of_code(text)]

    def of_response(self, text: str) -> list[_Piece]:
        data = text.encode()
        if len(data) > MAX_RESPONSE_BYTES:
            return [_oversized(data, len(data), MAX_RESPONSE_BYTES)]
        response = read_response(text)
        if response.final is None:
            fits = len(data) <= MAX_CODE_BYTES
            return [_Piece(text if fits else "", rejection=response.rejection, raw_sha256="" if fits else _sha256(data))]
        return [_of_candidate(each) for each in (response.candidates if self.every_block else (response.final,))]

    def submission(self, path: Path, text: str, piece: _Piece, number: int | None = None, line: _Line | None = None) -> Submission:
        line = line or _Line()
        manifest = self.manifest(path.parent)
        problem, author = manifest.names(path.name) if manifest else (None, None)
        claims = Claims((self.problem, line.problem, problem), (self.author, line.author, author), path, (piece.code, text))
        found = self.catalogue.attribute(claims)
        return Submission(
            name=shown(path) + (f":{number}" if number else ""),
            path=path,
            block=piece.block,
            code=piece.code,
            first_line=piece.first_line,
            author=found.author,
            sample_id=line.sample_id if line.sample_id is not None else found.sample_id,
            problem=found.problem,
            rejection=piece.rejection or found.rejection,
            note=piece.note,
            raw_sha256=piece.raw_sha256,
        )


def _walk(start: Path) -> Iterator[tuple[Path, str]]:
    """The files below `start` by folder and name, sorted, each folder entered once however many links lead to it; or `start` itself.

    A folder that can't be listed is given as if it were a file, so that reading it says why.
    """
    entered: set[tuple[int, int]] = set()
    pending: list[tuple[Path, Iterator[tuple[str, bool]]]] = [(start.parent, iter([(start.name, start.is_dir())]))]
    while pending:
        folder, entries = pending[-1]
        entry = next(entries, None)
        if entry is None:
            pending.pop()
            continue
        name, is_folder = entry
        if not is_folder:
            yield folder, name
        else:
            inner = folder / name
            try:
                status = inner.stat()
                if (status.st_dev, status.st_ino) in entered:
                    continue
                entered.add((status.st_dev, status.st_ino))
                pending.append((inner, iter(_listed(inner))))
            except OSError:
                yield folder, name


def _listed(folder: Path) -> list[tuple[str, bool]]:
    """The entries that are wanted, sorted by name, and whether each is a folder. Raises OSError."""
    with os.scandir(folder) as entries:
        return sorted((entry.name, entry.is_dir()) for entry in entries if _wanted(entry))


def _wanted(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith(".") or entry.name in ("__pycache__", "__init__.py"):
        return False
    stem, suffix = os.path.splitext(entry.name)  # noqa: PTH122 (a Path for each entry of a large folder is slow)
    return (suffix.lower() in SUFFIXES and stem.lower() != "readme") or entry.is_dir()


def _check_regular(path: Path) -> None:
    """Opening a FIFO would wait for a writer, and reading a device might not end."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        os.listdir(path)  # noqa: PTH208 (for the error that listing it raises)
    if not stat.S_ISREG(mode):
        raise OSError("not a regular file")


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that are not blank; of a line that is too long, its first MAX_FILE_BYTES + 1 bytes."""
    number = 0
    while data := file.readline(MAX_FILE_BYTES + 1):
        number += 1
        rest = data
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(MAX_FILE_BYTES)
        if data.strip():
            yield number, data


def _of_code(text: str) -> _Piece:
    rejection = examine(text)
    if rejection is not None and rejection.category is Category.TOO_LARGE:
        return _Piece(rejection=rejection, raw_sha256=_sha256(text.encode()))
    return _Piece(text, rejection=rejection)


def _of_candidate(candidate: Candidate) -> _Piece:
    block, rejection = candidate.block, candidate.rejection
    large = rejection is not None and rejection.category is Category.TOO_LARGE
    code, digest = ("", _sha256(block.code.encode())) if large else (block.code, "")
    return _Piece(code, candidate.number, block.first_line, rejection, candidate.note, digest)


def _oversized(data: bytes, size_bytes: int | None, limit_bytes: int) -> _Piece:
    size = "more" if size_bytes is None else f"{size_bytes:,} bytes"
    message = f"at most {limit_bytes:,} bytes are read; it has {size}"
    return _Piece(rejection=Rejection(Category.TOO_LARGE, message), raw_sha256=_sha256(data))


def _unreadable(reason: str) -> Rejection:
    return Rejection(Category.UNREADABLE_FILE, reason)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def shown(path: Path) -> str:
    """A path as submissions are named: with forward slashes, relative to the working directory where it lies below it."""
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return os.fsencode(shown.as_posix()).decode("utf-8", "replace")
