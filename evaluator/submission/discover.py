"""Finds and reads every submission in files and folders, one at a time, without running it.

It reads `.py` files, also as `.py.txt`; `.txt` and `.md` model responses; `.jsonl` bundles (`evaluator.submission.bundle`). Every file of
these types becomes at least one Submission, possibly a rejected one.

Left out of folders are: names that begin with a dot, `__pycache__`, `__init__.py`, files named README, files with results that a run could
not store in the database (`db.storage.spool`), and the files of earlier runs, `--json` and `--feedback`.
"""

import json
import logging
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from evaluator.results.display.text import natural
from evaluator.results.submission_name import submission_name
from evaluator.submission.attribution import SOLUTION, Catalogue, Claims
from evaluator.submission.bundle import BundleLine, lines_of, read_line
from evaluator.submission.extract import of_code, of_response, of_solution, oversized, sha256, unreadable
from evaluator.submission.manifest import Manifest, load_manifest
from evaluator.submission.model import ExtractedCode, Submission
from evaluator.submission.response import MAX_RESPONSE_BYTES
from evaluator.submission.source import MAX_FILE_BYTES, InputError, decode

BUNDLE_SUFFIX = ".jsonl"
SUFFIXES = (".py", ".txt", ".md", BUNDLE_SUFFIX)
"""Suffixes of the files that are read, in upper or lower case."""
_SPOOL = re.compile(r".*\.spool-[0-9]+-[0-9a-f]{8}\.jsonl")
_RECORD = frozenset(("submission", "status", "category", "source_sha256"))
"""Fields of every result, which no line of a bundle has together."""
_FEEDBACK = re.compile(rb"## \d+: [^\n]*\n\n\*\*verdict:\*\* ")
_HEAD_BYTES = 16 << 10
_RECORD_BYTES = 4 << 20
OUTPUT_SUFFIXES = (BUNDLE_SUFFIX, ".md", ".txt")
"""Types of files that may be submissions, or output of an earlier run."""

log = logging.getLogger(__name__)


class Found(Iterator[Submission]):
    """Submissions as they are read, one in memory at a time."""

    def __init__(self, submissions: Iterator[Submission], expected: int | None) -> None:
        self._submissions = submissions
        self.expected = expected
        """How many there will be, if known without reading: a response may hold several. None with bundles, whose content is unknown."""

    def __next__(self) -> Submission:
        return next(self._submissions)


def find(
    paths: Sequence[Path],
    every_block: bool = False,
    problem: str | None = None,
    author: str | None = None,
    known: Collection[str] = (),
    written: Collection[Path] = (),
    author_folders: bool = False,
) -> Found:
    """Every submission in `paths`, in sorted order within each folder, one in memory at a time.

    every_block: yield each ModelNew block of a response instead of its final one. problem: holds for all of them. author: unless a bundle
    names one. known: names of the existing problems, or a mapping from them to their paths. written: files that this run writes; in a
    folder they are skipped. author_folders: the first folder below a path names the author, before `author`.

    Raises InputError at once, before anything is read, if a path does not exist, has another file type, is a folder without submissions, is
    a file that this run writes, or has an unusable manifest.
    """
    starts = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100 (resolve() would follow symbolic links, absolute() keeps "..")
    finder = _Finder(every_block, problem, author, Catalogue(known), written, starts if author_folders else ())
    for given, start in zip(paths, starts, strict=True):
        finder.survey(given, start)
    return Found(finder.read_all(starts), None if finder.bundles else finder.files)


def _is_output(path: Path) -> bool:
    return path.suffix.lower() in OUTPUT_SUFFIXES and holds_results(path)


class _Finder:
    def __init__(
        self,
        every_block: bool,
        problem: str | None,
        author: str | None,
        catalogue: Catalogue,
        written: Collection[Path],
        above_authors: Sequence[Path],
    ) -> None:
        self.every_block, self.problem, self.author, self.catalogue = every_block, problem, author, catalogue
        self.above_authors = above_authors
        """Folders in which each folder is an author's."""
        self.written = {path.resolve() for path in written}
        self.written_names = {path.name for path in self.written}
        self.manifests: dict[Path, Manifest | None] = {}
        self.outputs: set[tuple[Path, str]] = set()
        """Files of earlier runs."""
        self.files = 0
        self.bundles = False

    def survey(self, given: Path, start: Path) -> None:
        if not start.exists():
            raise InputError(f"{given}: does not exist")
        if not start.is_dir() and start.suffix.lower() not in SUFFIXES:
            raise InputError(f"{given}: neither a folder nor one of {', '.join(SUFFIXES)}")
        if self.is_written(start.parent, start.name):
            raise InputError(f"{given}: this run writes this file; give the output another name")
        if not start.is_dir() and _is_output(start):
            raise InputError(f"{given}: holds the results of a run, not submissions")
        before = self.files
        for folder, name in self.walk(start):
            if _is_output(folder / name):
                log.warning("%s holds the results of a run, so it is not read as a submission", folder / name)
                self.outputs.add((folder, name))
                continue
            self.files += 1
            self.bundles = self.bundles or name.lower().endswith(BUNDLE_SUFFIX)
            self.manifest(folder)
        if self.files == before:
            raise InputError(f"{given}: no submissions in this folder ({', '.join(SUFFIXES)})")

    def walk(self, start: Path) -> Iterator[tuple[Path, str]]:
        for folder, name in walk(start):
            if not self.is_written(folder, name) and (folder, name) not in self.outputs:
                yield folder, name

    def is_written(self, folder: Path, name: str) -> bool:
        return name in self.written_names and (folder / name).resolve() in self.written

    def manifest(self, folder: Path) -> Manifest | None:
        if folder not in self.manifests:
            manifest = self.manifests[folder] = load_manifest(folder)
            for file in manifest.entries if manifest else ():
                if not (folder / file).exists():
                    log.warning("%s: the manifest names %s, which does not exist", folder, file)
        return self.manifests[folder]

    def read_all(self, starts: Sequence[Path]) -> Iterator[Submission]:
        # Files that several paths lead to are read once; with one path there is nothing to remember.
        seen: set[tuple[Path, str]] = set()
        for start in starts:
            for place in self.walk(start):
                if place in seen:
                    continue
                if len(starts) > 1:
                    seen.add(place)
                folder, name = place
                yield from self.read(folder / name)

    def read(self, path: Path) -> Iterator[Submission]:
        suffix = ".py" if path.name.lower().endswith(".py.txt") else path.suffix.lower()
        limit_bytes = MAX_RESPONSE_BYTES if suffix in (".txt", ".md") else MAX_FILE_BYTES
        try:
            check_regular(path)
            if suffix == BUNDLE_SUFFIX:
                yield from self.read_bundle(path)
                return
            with path.open("rb") as file:
                data = file.read(limit_bytes + 1)
        except OSError as error:
            yield self.submission(path, "", ExtractedCode(rejection=unreadable(error.strerror or str(error))))
            return
        if len(data) > limit_bytes:
            yield self.submission(path, "", oversized(data, None, limit_bytes))
            return
        try:
            text = decode(data)
        except ValueError as error:
            yield self.submission(path, "", ExtractedCode(rejection=unreadable(str(error)), raw_sha256=sha256(data)))
            return
        of_file = of_solution if SOLUTION.fullmatch(path.name) else of_code
        for code in [of_file(text)] if suffix == ".py" else of_response(text, self.every_block):
            yield self.submission(path, text, code)

    def read_bundle(self, path: Path) -> Iterator[Submission]:
        empty = True
        with path.open("rb") as file:
            for number, data in lines_of(file):
                empty = False
                line, text, codes = read_line(data, self.every_block)
                for code in codes:
                    yield self.submission(path, text, code, number, line)
        if empty:
            yield self.submission(path, "", ExtractedCode(rejection=unreadable("the bundle is empty")))

    def submission(
        self, path: Path, text: str, code: ExtractedCode, number: int | None = None, line: BundleLine | None = None
    ) -> Submission:
        line = line or BundleLine()
        manifest = self.manifest(path.parent)
        problem, author = manifest.names(path.name) if manifest else (None, None)
        claims = Claims((self.problem, line.problem, problem), (line.author, self.author_of(path), author), path, (code.code, text))
        found = self.catalogue.attribute(claims)
        return code.submission(
            submission_name(path) + (f":{number}" if number else ""),
            path,
            found.problem,
            found.author,
            line.sample_id if line.sample_id is not None else found.sample_id,
            found.rejection,
        )

    def author_of(self, path: Path) -> str | None:
        """The author that the command line gives to a file."""
        start = next((start for start in self.above_authors if path.is_relative_to(start)), path)
        folders = path.relative_to(start).parts[:-1]
        return os.fsencode(folders[0]).decode("utf-8", "replace") if folders else self.author


def holds_results(path: Path) -> bool:
    """Whether a file begins like one that a run has written; False for an unreadable file."""
    try:
        if not path.is_file():  # reading a pipe would wait for a writer
            return False
        with path.open("rb") as file:
            if path.suffix.lower() == ".jsonl":
                return _is_record(file.readline(_RECORD_BYTES))
            return _FEEDBACK.match(file.read(_HEAD_BYTES)) is not None
    except OSError:
        return False


def _is_record(line: bytes) -> bool:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.keys() >= _RECORD


def walk(start: Path) -> Iterator[tuple[Path, str]]:
    """The files below `start` as people order names, each folder once even if several links lead to it; or `start` itself.

    A folder that can't be listed is returned like a file, so that reading it reports the error.
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
    """The wanted entries, as people order their names, and whether each is a folder. Raises OSError."""
    with os.scandir(folder) as entries:
        wanted = [(entry.name, entry.is_dir()) for entry in entries if _wanted(entry)]
    return sorted(wanted, key=lambda entry: (natural(entry[0]), entry[0]))


def _wanted(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith(".") or entry.name in ("__pycache__", "__init__.py") or _SPOOL.fullmatch(entry.name):
        return False
    stem, suffix = os.path.splitext(entry.name)  # noqa: PTH122 (a Path for each entry of a large folder is slow)
    return (suffix.lower() in SUFFIXES and stem.lower() != "readme") or entry.is_dir()


def check_regular(path: Path) -> None:
    """Raises OSError for anything but a file: opening a FIFO would wait for a writer, and reading a device might not end."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        os.listdir(path)  # noqa: PTH208 (for the error that listing it raises)
    if not stat.S_ISREG(mode):
        raise OSError("not a regular file")
