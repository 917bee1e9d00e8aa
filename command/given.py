"""Submissions from a caller in Python: paths, and texts in the form of a bundle's line."""

import os
from collections.abc import Collection, Mapping, MutableMapping
from pathlib import Path

from pydantic import ValidationError

from evaluator.machine.cache_folder import default_root
from evaluator.problem.kernelbench import written
from evaluator.results.nearest import unknown
from evaluator.submission.attribution import Catalogue, Claims
from evaluator.submission.bundle import BundleLine
from evaluator.submission.discover import find
from evaluator.submission.extract import extract, sha256
from evaluator.submission.model import Submission
from evaluator.submission.source import InputError, clean

Given = str | os.PathLike[str] | Mapping[str, object]
"""A path, or a text: a mapping with `code` or `response`, and perhaps `problem` or `reference`, `author` and `sample_id`."""


class _Text(BundleLine):
    """A text from a caller in Python."""

    reference: str | None = None
    """Source of its problem, which is trusted. So a bundle, which may come from a stranger, holds none."""


class Reader:
    """Reads what is given."""

    def __init__(self, every_block: bool, author: str | None, known: MutableMapping[str, Path], own_files: Collection[Path]) -> None:
        """The arguments are those of `find`. `known` gets the problems that come as texts."""
        self._every_block, self._author, self._known, self._own_files = every_block, author, known, own_files
        self._catalogue = Catalogue(known)

    def read(self, given: Given, problem: str | None) -> list[Submission]:
        """Return the submissions in it. `problem`, if given, holds for all of them. Raises InputError."""
        if isinstance(given, Mapping):
            return self._of_text(given, problem)
        path = os.fspath(given)
        if "\n" in path:
            raise InputError('a path is expected, but this is a text; write {"code": TEXT} or {"response": TEXT}')
        return list(find([Path(path)], self._every_block, problem, self._author, self._known, self._own_files))

    def _of_text(self, given: Mapping[str, object], problem: str | None) -> list[Submission]:
        for key in given:
            if key not in _Text.model_fields:
                raise InputError(unknown("key", str(key), _Text.model_fields))
        try:
            line = _Text.model_validate(dict(given))
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
        raw = line.code if line.code is not None else line.response
        if raw is None:
            raise InputError("a text needs the key code, for Python, or response, for a model's response")
        problem, catalogue = self._problem(line, problem)
        name = f"text-{sha256(raw.encode('utf-8', 'surrogatepass'))[:12]}"
        text, codes = extract(raw, line.code is None, self._every_block)
        found = []
        for code in codes:
            claims = Claims((problem,), (line.author, self._author), Path("/", name), (code.code, text))
            whose = catalogue.attribute(claims)
            found.append(code.submission(name, Path("/", name), whose.problem, whose.author, line.sample_id, whose.rejection))
        return found

    def _problem(self, line: _Text, problem: str | None) -> tuple[str | None, Catalogue]:
        """The problem that a text names, and the problems that it may mean. `problem` holds for all texts."""
        if line.reference is None:
            return problem or line.problem, self._catalogue
        if problem or line.problem:
            raise InputError("problem and reference exclude each other")
        try:
            path = written(clean(line.reference), default_root())
        except (ValueError, OSError) as error:
            raise InputError(f"reference: {error}") from error
        self._known[path.stem] = path
        return path.stem, Catalogue({path.stem: path})
