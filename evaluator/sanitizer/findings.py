"""Turns a tool's reports into findings: equal reports are merged, and each finding names the lines of the submission."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from evaluator.build.request import BuildRequest, SourceFile
from evaluator.diagnosis.source_map import MAX_EXCERPT_CHARS, SourceMap
from evaluator.diagnosis.words import plain_name
from evaluator.results.evidence import SanitizerFinding, SanitizerPlace
from evaluator.sanitizer.log import CALLED, DevicePlace, ToolReport

MAX_FINDINGS = 20
"""Maximum kept per tool."""
MAX_OTHERS = 6
MAX_LOOKED_AT = 64
"""Maximum number of different reports to locate: the submission may have written the log, and each report is searched in all sources."""
MAX_SOURCES_CHARS = 8 << 20
"""Maximum size of sources to search; those of the first builds."""


@dataclass(frozen=True)
class Located:
    """A place, and the submitted line that it comes from."""

    own: bool
    """Whether it is in the submission's own sources."""
    source_line: int | None = None
    excerpt: str = ""


class Sources:
    """The sources of the submission's kernels."""

    def __init__(self, requests: Sequence[BuildRequest], code: str, first_line: int, module: str) -> None:
        """`requests`: its builds; `code` begins on line `first_line` of the submitted file, and is the file `module` in its worker."""
        self._files: list[SourceFile] = []
        room = MAX_SOURCES_CHARS
        for file in (file for request in requests for file in (*request.sources, *request.headers)):
            room -= len(file.text)
            if room >= 0:
                self._files.append(file)
        self._split: dict[int, list[str]] = {}
        """Lines of files, by their position."""
        self._located: dict[DevicePlace, Located] = {}
        self._lines = code.split("\n")
        self._first = first_line
        self._module = module
        self._map = SourceMap(code, first_line)

    def locate(self, place: DevicePlace) -> Located:
        """The location of `place`; if several extensions have a file of that name, the one that names the kernel."""
        if place not in self._located:
            self._located[place] = self._locate(place)
        return self._located[place]

    def _locate(self, place: DevicePlace) -> Located:
        if place.file == self._module and place.line is not None:
            return self._in_module(place.line)
        name = plain_name(place.kernel) if place.kernel else ""
        naming = {number for number, file in enumerate(self._files) if name and name in file.text}
        if place.line is not None:
            called = (number for number, file in enumerate(self._files) if PurePosixPath(file.name).name == place.file)
            for number in sorted(called, key=lambda number: number not in naming):
                if (located := self._in_file(number, place.line)) is not None:
                    return located
        return Located(own=bool(naming))

    def _in_module(self, line: int) -> Located:
        if not 1 <= line <= len(self._lines):
            return Located(own=False)
        return Located(True, line + self._first - 1, self._lines[line - 1].strip()[:MAX_EXCERPT_CHARS])

    def _in_file(self, number: int, line: int) -> Located | None:
        if number not in self._split:
            self._split[number] = self._files[number].text.split("\n")
        text = self._split[number]
        if not 1 <= line <= len(text):
            return None
        found = self._map.place(text, line)
        return Located(True, found.line if found else None, text[line - 1].strip()[:MAX_EXCERPT_CHARS])


def findings(tool: str, reports: Iterable[ToolReport], sources: Sources) -> tuple[SanitizerFinding, ...]:
    """The reports of one tool in order, those of the submission's own kernels first."""
    alike: dict[tuple[object, ...], list[ToolReport]] = {}
    for report in reports:
        key = (report.severity, report.message, report.place, tuple(place for place in report.others if "Thread" not in place.role))
        alike.setdefault(key, []).append(report)
    found = [_finding(tool, group, sources) for group in itertools.islice(alike.values(), MAX_LOOKED_AT)]
    return tuple(sorted(found, key=lambda finding: not finding.own)[:MAX_FINDINGS])


def _finding(tool: str, group: Sequence[ToolReport], sources: Sources) -> SanitizerFinding:
    first = group[0]
    frames = [first.place, *(place for place in first.others if place.role == CALLED)]
    places = [(place, sources.locate(place)) for place in frames]
    # A barrier, or a header's function, is reported where it is defined: the faulty line is the one that called it.
    place, located = next(((place, located) for place, located in places if located.source_line is not None), places[0])
    others = tuple(_other(other, sources) for other in first.others[:MAX_OTHERS] if other != place)
    return SanitizerFinding(
        tool=tool,
        severity=first.severity,
        message=first.message,
        count=len(group),
        kernel=frames[-1].kernel,
        own=any(found.own for _, found in places) or any(other.source_line for other in others),
        file=place.file,
        line=place.line,
        source_line=located.source_line,
        excerpt=located.excerpt,
        detail="; ".join(first.details),
        others=others,
    )


def _other(place: DevicePlace, sources: Sources) -> SanitizerPlace:
    located = sources.locate(place)
    return SanitizerPlace(
        role=place.role,
        kernel=place.kernel,
        file=place.file,
        line=place.line,
        source_line=located.source_line,
        excerpt=located.excerpt,
    )
