"""Parses compute-sanitizer's log line by line.

A process that shares its memory with the submission writes the log, so it is a claim. It is cut and cleaned, and never obeyed. A truncated
log counts as far as it goes. The form is that of versions 2021 to 2025, whose places read `kernel(int *)+0x90 in file.cu:41`, or `0x90 in
file.cu:41:kernel(int *)`, or `0x90 in kernel(int *)`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_REPORTS = 2000
"""Maximum read from one log; the tool itself is told to stop much earlier."""
MAX_LINE_CHARS = 2000
MAX_TEXT_CHARS = 400
MAX_DETAILS = 4
MAX_OTHERS = 16
"""Places kept of one report besides the first."""
PREFIX = "========="
CALLED = "called"
"""Role of a place that the one before it was called from."""

_PLACES = (
    re.compile(r"(?P<kernel>\S.*?)\+(?P<offset>0x[0-9a-f]{1,16}|\d{1,9})(?: in (?P<file>\S.*?):(?P<line>\d{1,9}))?"),
    re.compile(r"0x[0-9a-f]{1,16} in (?P<file>\S[^:]*):(?P<line>\d{1,9}):(?P<kernel>\S.*)"),
    re.compile(r"0x[0-9a-f]{1,16} in (?P<kernel>\S.*)"),
    re.compile(r"0x[0-9a-f]{1,16}"),
)
_RACE = re.compile(r"^(?P<message>Race reported between (?P<role>\w+) access) at (?P<place>.+)$")
_RACING = re.compile(r"^and (?P<role>\w+ access) at (?P<place>.+?)(?: \[(?P<hazards>[\d,]{1,20} hazards?)\])?$")
_HAZARD_THREAD = re.compile(r"^(?P<role>(?:Read|Write) Thread \(\d+,\s?\d+,\s?\d+\)) at (?P<place>.+)$")
_FRAME = re.compile(r"^Device Frame:\s*(?P<place>.+)$")
_SEVERITY = re.compile(r"^(?P<severity>Error|Warning|ERROR|WARNING|Info|INFO)\s?: (?P<message>.+)$")
_SUMMARY = re.compile(r"^(?:ERROR|RACECHECK) SUMMARY: (?P<count>[\d,]{1,20}) (?:error|hazard)")
_OF_A_KERNEL = re.compile(
    r"^(?:Invalid |Uninitialized |Barrier error|Warpgroup MMA|Potential |Race reported|Deadlock detected|Malloc/Free error|Unused )"
)
"""The first line of a report about a kernel; other reports are recognised by their place."""
_API = re.compile(r"^Program hit ")
_BACKTRACE = re.compile(r"^(?:Saved host backtrace|Host Frame:|in /)")


@dataclass(frozen=True)
class DevicePlace:
    """Where in device code something is."""

    role: str
    """Empty for the report's main place."""
    kernel: str = ""
    file: str = ""
    line: int | None = None


@dataclass(frozen=True)
class ToolReport:
    """One report of a tool."""

    severity: str
    """error, warning or info."""
    message: str
    place: DevicePlace
    others: tuple[DevicePlace, ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Log:
    """The content of a log."""

    reports: tuple[ToolReport, ...] = ()
    total: int | None = None
    """Number of reports, from its summary; None if the log was cut off before."""
    remarks: tuple[str, ...] = ()
    """The tool's messages about its own run."""


@dataclass
class _Block:
    """An unindented line, and the indented ones below it."""

    first: str
    more: list[str] = field(default_factory=list)


def read(text: str) -> Log:
    """Parse a log; unknown lines become remarks, or are skipped. Never raises."""
    reports: list[ToolReport] = []
    remarks: list[str] = []
    total = None
    for block in _blocks(text):
        if summary := _SUMMARY.match(block.first):
            total = int(summary["count"].replace(",", ""))
        elif (report := _report(block)) is not None:
            if len(reports) < MAX_REPORTS:
                reports.append(report)
        elif block.first != "COMPUTE-SANITIZER" and len(remarks) < MAX_DETAILS:
            remarks.append(_clean(block.first))
    return Log(tuple(reports), total, tuple(remarks))


def _blocks(text: str) -> Iterator[_Block]:
    block: _Block | None = None
    for line in text.splitlines():
        if not line.startswith(PREFIX):
            continue
        words = line[len(PREFIX) : MAX_LINE_CHARS]
        if not words.strip():
            if block is not None:
                yield block
            block = None
        elif block is not None and words.startswith("   "):
            block.more.append(words.strip())
        else:
            if block is not None:
                yield block
            block = _Block(words.strip())
    if block is not None:
        yield block


def _report(block: _Block) -> ToolReport | None:
    severity, message = "error", block.first
    if graded := _SEVERITY.match(message):
        severity, message = graded["severity"].lower(), graded["message"]
    message = message.removeprefix("(Warp Level Programming) ")
    if _API.match(message):
        return None
    place, others, details = _read_more(block.more)
    if race := _RACE.match(message):
        message = f"{race['role']} access that races"
        place = _place("", race["place"])
    elif place is None and not _OF_A_KERNEL.match(message):
        return None
    if place is None and others:
        place, others = DevicePlace("", others[0].kernel, others[0].file, others[0].line), others
    return ToolReport(severity, _clean(message).rstrip(" :."), place or DevicePlace(""), tuple(others), tuple(details))


def _read_more(lines: list[str]) -> tuple[DevicePlace | None, list[DevicePlace], list[str]]:
    place, others, details = None, [], []
    for line in lines:
        if line.startswith("at ") and place is None:
            place = _place("", line[3:])
        elif racing := _RACING.match(line):
            others.append(_place(racing["role"], racing["place"]))
            if racing["hazards"]:
                details.append(racing["hazards"])
        elif thread := _HAZARD_THREAD.match(line):
            others.append(_place(_clean(thread["role"]), thread["place"]))
        elif frame := _FRAME.match(line):
            others.append(_place(CALLED, frame["place"]))
        elif not _BACKTRACE.match(line):
            details.append(_clean(line))
    return place, others[:MAX_OTHERS], details[:MAX_DETAILS]


def _place(role: str, text: str) -> DevicePlace:
    for form in _PLACES:
        if match := form.fullmatch(text.strip()):
            found = match.groupdict()
            line = found.get("line")
            return DevicePlace(role, _clean(found.get("kernel") or ""), _clean(_base(found.get("file") or "")), int(line) if line else None)
    return DevicePlace(role, _clean(text.split(" [")[0]))


def _base(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _clean(text: str) -> str:
    plain = "".join(character for character in text if character.isprintable())
    return plain if len(plain) <= MAX_TEXT_CHARS else plain[: MAX_TEXT_CHARS - 1] + "…"
