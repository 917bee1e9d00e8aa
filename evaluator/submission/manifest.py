"""`manifest.toml`: the problem and author of the files beside it.

    problem = "softmax"            # of every file here that has no entry of its own; optional, like author
    [[submission]]                 # or [[response]]: the two are read alike
    file = "fast.py"
    problem = "softmax"
    author = "someone"

Other keys are ignored: you may use them for notes.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from evaluator.submission.source import InputError, decode

MANIFEST_NAME = "manifest.toml"

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
"""A problem's or an author's name."""


class ManifestEntry(BaseModel):
    """The entry of one file."""

    model_config = ConfigDict(frozen=True)

    file: Name
    """Name of a file in the manifest's folder."""
    problem: Name | None = None
    author: Name | None = None


class _Document(BaseModel):
    problem: Name | None = None
    author: Name | None = None
    response: tuple[ManifestEntry, ...] = ()
    submission: tuple[ManifestEntry, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """A folder's manifest."""

    problem: str | None
    author: str | None
    entries: dict[str, ManifestEntry]

    def names(self, file: str) -> tuple[str | None, str | None]:
        """Problem and author of the file of that name."""
        entry = self.entries.get(file)
        if entry is None:
            return self.problem, self.author
        return entry.problem or self.problem, entry.author or self.author


def load_manifest(folder: Path) -> Manifest | None:
    """The manifest in `folder`, or None if there is none. Raises InputError, with the line, if it is not usable."""
    path = folder / MANIFEST_NAME
    if not path.is_file():
        return None
    try:
        text = decode(path.read_bytes())
        document = _Document.model_validate(tomllib.loads(text))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}, line {_line(text, first['loc'])}: {where}: {first['msg']}") from error
    except ValueError as error:  # errors of TOML, which name the line, and of bytes that are not text
        raise InputError(f"{path}: {error}") from error
    entries: dict[str, ManifestEntry] = {}
    for kind, listed in (("response", document.response), ("submission", document.submission)):
        for index, entry in enumerate(listed):
            if entry.file in entries:
                raise InputError(f"{path}, line {_line(text, (kind, index, 'file'))}: {entry.file} has two entries")
            entries[entry.file] = entry
    return Manifest(document.problem, document.author, entries)


def _line(text: str, location: Sequence[int | str]) -> int:
    """The line, from 1, of a place in the document: that of its key, or of its table's header if the key is missing."""
    lines = text.split("\n")
    begin, end = 0, len(lines)
    keys = list(location)
    if len(keys) > 1 and isinstance(keys[1], int):
        header = re.compile(rf"\s*\[\[\s*{keys[0]}\s*\]\]")
        starts = [number for number, line in enumerate(lines) if header.match(line)]
        if keys[1] < len(starts):
            begin = starts[keys[1]]
            end = next((n for n in range(begin + 1, len(lines)) if lines[n].lstrip().startswith("[")), end)
    key = re.compile(rf"\s*{re.escape(str(keys[-1]))}\s*=")
    return 1 + next((number for number in range(begin, end) if key.match(lines[number])), begin)
