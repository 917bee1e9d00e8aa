"""Submissions from a caller in Python: paths, and texts in the form of a bundle's line."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from pydantic import ValidationError

from evaluator.results.nearest import unknown
from evaluator.submission.attribution import Catalogue, Claims
from evaluator.submission.bundle import BundleLine
from evaluator.submission.discover import find
from evaluator.submission.extract import extract, sha256
from evaluator.submission.model import Submission
from evaluator.submission.source import InputError

Given = str | os.PathLike[str] | Mapping[str, object]
"""A path, or a text: a mapping with `code` or `response`, and perhaps `problem`, `author` and `sample_id`."""


class Reader:
    """Reads what is given."""

    def __init__(self, every_block: bool, author: str | None, known: Mapping[str, Path], written: Collection[Path]) -> None:
        """The arguments are those of `find`."""
        self._every_block, self._author, self._known, self._written = every_block, author, known, written
        self._catalogue = Catalogue(known)

    def read(self, given: Given, problem: str | None) -> list[Submission]:
        """Return the submissions in it. `problem`, if given, holds for all of them. Raises InputError."""
        if isinstance(given, Mapping):
            return self._of_text(given, problem)
        path = os.fspath(given)
        if "\n" in path:
            raise InputError('a path is expected, but this is a text; write {"code": TEXT} or {"response": TEXT}')
        return list(find([Path(path)], self._every_block, problem, self._author, self._known, self._written))

    def _of_text(self, given: Mapping[str, object], problem: str | None) -> list[Submission]:
        for key in given:
            if key not in BundleLine.model_fields:
                raise InputError(unknown("key", str(key), BundleLine.model_fields))
        try:
            line = BundleLine.model_validate(dict(given))
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
        raw = line.code if line.code is not None else line.response
        if raw is None:
            raise InputError("a text needs the key code, for Python, or response, for a model's response")
        name = f"text-{sha256(raw.encode('utf-8', 'surrogatepass'))[:12]}"
        text, codes = extract(raw, line.code is None, self._every_block)
        found = []
        for code in codes:
            claims = Claims((problem, line.problem), (self._author, line.author), Path("/", name), (code.code, text))
            whose = self._catalogue.attribute(claims)
            found.append(code.submission(name, Path("/", name), whose.problem, whose.author, line.sample_id, whose.rejection))
        return found
