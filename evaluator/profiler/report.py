"""Parses ncu's output with `--csv --page raw` into rows of numbers.

A process that shares its memory with the submission writes the log, so it is a claim. The caller limits its size; this module limits rows,
names and numbers. Lines that begin with `==` are messages. The rest is a table: names of metrics, their units, then one row per profiled
launch. A truncated log counts as far as it goes.
"""

import csv
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_ROWS = 64
MAX_COLUMNS = 1000
"""ncu of CUDA 13.0 has 326: it adds all attributes of the device."""
MAX_NAME_CHARS = 400
MAX_REMARKS = 4
LARGEST = 1e18
"""No time, size or count of one kernel comes near this."""
REFUSED = "ERR_NVGPUCTRPERM"
"""The driver's message if a user may not read performance counters."""
_KERNEL, _GRID, _BLOCK = "Kernel Name", "Grid Size", "Block Size"
_PASSES = "profiler__replayer_passes"
_ERROR = re.compile(r"==(?:ERROR|WARNING)== .")
_EXTENT = re.compile(r"\(?\s*(\d{1,10}),\s*(\d{1,10}),\s*(\d{1,10})\s*\)?")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:,\d{3})*|\d*)(?:\.\d*)?(?:[eE][+-]?\d{1,3})?")
_TIMES = {"ns": 1e-6, "nsecond": 1e-6, "us": 1e-3, "usecond": 1e-3, "ms": 1.0, "msecond": 1.0, "s": 1e3, "second": 1e3}
_SIZES = {"byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9, "Tbyte": 1e12}
FACTORS: Mapping[str, float] = {**_TIMES, **_SIZES, **{f"{unit}/block": factor for unit, factor in _SIZES.items()}, "%": 0.01}
"""Factors to milliseconds, bytes and shares; values with other units are counts and stay unchanged."""


@dataclass(frozen=True)
class Row:
    """One profiled launch."""

    kernel: str
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    values: Mapping[str, float] = field(default_factory=dict)
    """By metric: milliseconds, bytes, shares and counts, finite and not negative. Values that were not measured are missing."""


@dataclass(frozen=True)
class Report:
    """The content of a log."""

    rows: tuple[Row, ...] = ()
    refused: bool = False
    remarks: tuple[str, ...] = ()
    """Its errors and warnings, the errors first."""

    @property
    def passes(self) -> int | None:
        """Maximum per launch."""
        return max((int(row.values[_PASSES]) for row in self.rows if _PASSES in row.values), default=None)


def read(text: str) -> Report:
    """Read a log. Never raises."""
    table: list[str] = []
    said: list[str] = []
    for line in text.splitlines():
        if not line.startswith("=="):
            table.append(line)
        elif _ERROR.match(line):
            said.append(line)
    said.sort(key=lambda line: not line.startswith("==ERROR"))
    remarks = tuple(clean(line.split("== ", 1)[1]) for line in said[:MAX_REMARKS])
    return Report(_rows(table), any(REFUSED in line for line in said), remarks)


def clean(text: str) -> str:
    """A name or message without control characters, limited in length."""
    plain = "".join(character for character in text if character.isprintable())
    return plain if len(plain) <= MAX_NAME_CHARS else plain[: MAX_NAME_CHARS - 1] + "…"


def _rows(lines: list[str]) -> tuple[Row, ...]:
    start = next((number for number, line in enumerate(lines) if line.startswith('"ID",') and f'"{_KERNEL}"' in line), None)
    if start is None:
        return ()
    # Newlines within quotes belong to a kernel's name; strict, so that an incomplete row is detected.
    reader = csv.reader((f"{line}\n" for line in lines[start:]), strict=True)
    found: list[Row] = []
    try:
        header, units = next(reader), next(reader)
        if len(header) > MAX_COLUMNS or len(units) != len(header):
            return ()
        for cells in reader:
            if len(found) == MAX_ROWS:
                break
            if len(cells) == len(header):
                found.append(_row(header, units, cells))
    except (csv.Error, StopIteration):
        pass
    return tuple(found)


def _row(header: list[str], units: list[str], cells: list[str]) -> Row:
    texts = dict(zip(header, cells, strict=True))
    numbers = {name: _value(text, unit) for name, unit, text in zip(header, units, cells, strict=True) if "__" in name}
    values = {name: value for name, value in numbers.items() if value is not None}
    return Row(clean(texts[_KERNEL]), _extent(texts.get(_GRID, "")), _extent(texts.get(_BLOCK, "")), values)


def _value(text: str, unit: str) -> float | None:
    """A number such as `1,234.5`; None for `n/a`, and for anything that can't be a size."""
    words = text.split()
    if not words or len(words[0]) > 40 or not _NUMBER.fullmatch(words[0]):
        return None
    try:
        value = float(words[0].replace(",", "")) * FACTORS.get(unit, 1.0)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value <= LARGEST else None


def _extent(text: str) -> tuple[int, int, int] | None:
    match = _EXTENT.fullmatch(text.strip())
    sizes = tuple(int(size) for size in match.groups()) if match else ()
    return (sizes[0], sizes[1], sizes[2]) if sizes and all(0 < size < 1 << 31 for size in sizes) else None
