"""Finds a submission's problem and author: from the command line, a manifest, a header comment, its path."""

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evaluator.results.category import Category
from evaluator.results.nearest import nearest
from evaluator.submission.source import Rejection

HEADER_LINES = 20
"""Number of lines in a file or code block in which a header comment may be."""

_HEADER_PROBLEM = re.compile(r"^[ \t]*#+[ \t]*problem:[ \t]*(\S{1,200})[ \t]*$", re.MULTILINE)
_HEADER_AUTHOR = re.compile(r"^[ \t]*#+[ \t]*author:[ \t]*(\S.{0,199}?)[ \t]*$", re.MULTILINE)
_KERNELBENCH = re.compile(r"level_(\d{1,9})_problem_(\d{1,9})_sample_(\d{1,9})")
SOLUTION = re.compile(r"(?:(?:\d{8}_\d{6}_)?(.+)_)?solution(?i:\.py(?:\.txt)?)")
"""A file of KernelBench-Hard: `solution.py`, or with day, time, author and problem before it."""
_NUMBERED = re.compile(r"(?:(?:level_?)?(\d{1,9})(?:/|_problem_))?(\d{1,9})")
"""A problem's number, alone or after that of its level: `23`, `1/23`, `level1/23`, `level_1_problem_23`."""


@dataclass(frozen=True)
class Attribution:
    """A submission's problem and author."""

    problem: str | None
    author: str | None
    sample_id: int | None
    """The sample number in a KernelBench file name."""
    rejection: Rejection | None
    """Set if the problem is unknown."""


@dataclass(frozen=True)
class Claims:
    """Sources of a submission's problem and author, the strongest first."""

    problems: tuple[str | None, ...]
    """Names from the command line, a bundle's line, a manifest."""
    authors: tuple[str | None, ...]
    path: Path
    """Absolute."""
    texts: tuple[str, ...]
    """Texts to search for a header comment, in this order."""


class Catalogue:
    """The names of all problems, as submissions refer to them."""

    def __init__(self, known: Collection[str]) -> None:
        """known: problem names; a mapping from names to paths gives KernelBench levels, from the folders `level1`, `level2`, …"""
        self.names = frozenset(known)
        self._numbered: dict[str, list[tuple[str, str | None]]] = {}
        paths: Mapping[str, object] = known if isinstance(known, Mapping) else {}
        for name in sorted(self.names):
            number, separator, _ = name.partition("_")
            if separator and number.isdecimal():
                path = paths.get(name)
                folder = path.parent.name if isinstance(path, Path) else None
                self._numbered.setdefault(str(int(number)), []).append((name, folder))
        self.nearest = lru_cache(maxsize=4096)(self._nearest)

    def _nearest(self, name: str) -> tuple[str, ...]:
        """Up to three problem names that look like `name`."""
        return nearest(name, self.names)

    def kernelbench(self, level: str, number: str) -> str | None:
        """The problem with this KernelBench level and number, if exactly one is known."""
        name = f"level_{level}_problem_{number}"
        if name in self.names:
            return name
        listed = self._numbered.get(str(int(number)), [])
        levelled = [name for name, folder in listed if folder == f"level{level}"]
        matches = levelled or [name for name, folder in listed if not re.fullmatch(r"level\d+", folder or "")]
        return matches[0] if len(matches) == 1 else None

    def named(self, text: str) -> str | None:
        """The problem meant by `text`: its name, its file, or its number if only one has it."""
        if text in self.names:
            return text
        file = text.rsplit("/", 1)[-1].removesuffix(".py")
        if text.endswith(".py") and file in self.names:
            return file
        number = _NUMBERED.fullmatch(text)
        if number is None:
            return None
        if number[1] is not None:
            return self.kernelbench(number[1], number[2])
        listed = [name for name, _ in self._numbered.get(str(int(number[2])), [])]
        return listed[0] if len(listed) == 1 else None

    def attribute(self, claims: Claims) -> Attribution:
        """Decide between the claims. A given name counts even if no problem has it; a folder's or file's name only if one has."""
        file = _KERNELBENCH.match(claims.path.name)
        folder = claims.path.parent
        author = _first((*claims.authors, _header(_HEADER_AUTHOR, claims.texts)))
        if author is None and file and folder.parent.name == "runs":
            author = os.fsencode(folder.name).decode("utf-8", "replace")
        sample_id = int(file[3]) if file else None
        given = _first((*claims.problems, _header(_HEADER_PROBLEM, claims.texts)))
        if given is not None:
            meant = self.named(given)
            rejection = None if meant else self._unknown(f"no problem is named {given!r}", (given,))
            return Attribution(meant, author, sample_id, rejection)
        solved = self._solved(claims.path.name)
        author = author or (solved[0] if solved else "") or None
        if folder.name in self.names:
            return Attribution(folder.name, author, sample_id, None)
        stem = re.sub(r"(?i)(?:\.py)?\.[^.]+$", "", claims.path.name)
        named = self.kernelbench(file[1], file[2]) if file else None
        if named is None and solved:
            named = solved[1]
        if named is None and stem in self.names:
            named = stem
        rejection = None if named else self._unknown("nothing says which problem it answers", (folder.name, stem))
        return Attribution(named, author, sample_id, rejection)

    def _solved(self, file: str) -> tuple[str, str] | None:
        """The author, which may be empty, and the problem that a solution's file names."""
        solution = SOLUTION.fullmatch(file)
        words = (solution[1] or "").split("_") if solution else []
        splits = (("_".join(words[:number]), "_".join(words[number:])) for number in range(len(words)))
        return next((split for split in splits if split[1][:1].isdecimal() and split[1] in self.names), None)

    def _unknown(self, reason: str, guesses: Iterable[str]) -> Rejection:
        near = dict.fromkeys(name for guess in guesses for name in self.nearest(guess))
        if near:
            return Rejection(Category.UNKNOWN_PROBLEM, f"{reason}; nearest: {', '.join(list(near)[:3])}")
        names = sorted(self.names)
        listed = f"there are {', '.join(names[:12])}{' …' if len(names) > 12 else ''}" if names else "there are none"
        return Rejection(Category.UNKNOWN_PROBLEM, f"{reason}; {listed}")


def _header(pattern: re.Pattern[str], texts: Iterable[str]) -> str | None:
    for text in texts:
        found = pattern.search(_head(text))
        if found:
            return found[1]
    return None


def _head(text: str) -> str:
    end = 0
    for _ in range(HEADER_LINES):
        end = text.find("\n", end) + 1
        if end == 0:
            return text
    return text[:end]


def _first(names: Iterable[str | None]) -> str | None:
    return next((name for name in names if name), None)
