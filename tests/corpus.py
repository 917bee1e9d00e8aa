"""Reads the corpora of submissions, and compares the run's verdicts with the files' expected ones.

A file of a corpus is a submission, or a family of them: cells, each of which begins with a line `# %% name`. What is above the first cell
belongs to every cell that uses it: methods (see `compose`), and definitions, imports and constants by their names. A cell's own definition
of a name takes the place of the family's. A submission, and what is above the first cell, has a header of `# key: value` lines. A cell's
own key takes the place of the family's:

    # wants, fault or form: what an attack tries to gain, what is wrong, or what is unusual
    # problem: the problem that it answers, by default the one that the cell defines
    # expect: status/category | ...          the verdicts that are fair; `wrong when timed` stands for WRONG_WHEN_TIMED
    # expect: cpu status/category | ...      those on one kind of device: cpu or cuda; it is judged where it has a verdict
    # base: NAME                             bases/NAME.py completes what has no ModelNew (see `compose`); else bases/module.py does
    # speedup: X                             where it is correct, its speedup is at most X
    # legal: yes                             looks like an attack, and is allowed
    # twin: NAME                             the honest form that does the same work: where it is correct, it is not faster than that
    # says: words                            the message, the hint or the feedback holds them; repeatable
    # needs: nvcc                            its verdict on a CPU needs this program
    # marker: PATH, or process:NAME          must not be there after the run; {root}, {home}, {prefix}, {python} are filled in; repeatable
    # tool, finds, kernel                    what compute-sanitizer has to find, and with which tool

The verdict has to name the line of the complete submission that ends with HERE. If it has none, any line is right.

A cell that begins with a problem (class Model, get_inputs and, where it isn't empty, get_init_inputs) defines a problem of the cell's name,
for all corpora. The rest of the cell, if any, is a submission.

    python -m tests.corpus FOLDER DEVICE TARGET     write the complete submissions for a kind of device (cpu or cuda) into
                                                    TARGET/submissions, and those problems that are not shipped into TARGET/problems
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.cells import Cell, Header, cells, complete

PROJECT = Path(__file__).resolve().parents[1]
CORPORA = Path(__file__).parent
BASES = CORPORA / "bases"
SUMMARIES = ("wants", "fault", "form")
KEYS = {
    *SUMMARIES,
    "author",
    "base",
    "device",
    "expect",
    "finds",
    "kernel",
    "legal",
    "marker",
    "needs",
    "problem",
    "says",
    "speedup",
    "tool",
    "twin",
}
RUN_WITHIN_S = 3600
DATABASE = "corpus.db"
"""In the folder of a run."""
WRONG_WHEN_TIMED = "incorrect/wrong_values", "incorrect/nondeterministic", "disqualified/cached_output", "disqualified/timing_tampering"
"""Verdicts on an output that is wrong in a timed call: what the same inputs give again decides."""
NAMED = {"wrong when timed": WRONG_WHEN_TIMED}

Record = dict[str, Any]
"""A run's record of a submission."""


@dataclass(frozen=True)
class Entry:
    """One submission of a corpus."""

    name: str
    """The name of its written file, with suffix."""
    data: bytes
    """The complete submission."""
    header: Header = field(default_factory=dict)

    @property
    def about(self) -> str:
        return next(self.header[key][0] for key in SUMMARIES if key in self.header)

    @property
    def verdicts(self) -> dict[str, frozenset[str]]:
        """Fair verdicts, `status/category`, by kind of device."""
        return expectations(self.header)

    @property
    def lines(self) -> tuple[int, ...]:
        """Numbers of the lines that end with HERE."""
        text = self.data.decode(errors="replace")
        return tuple(number for number, line in enumerate(text.splitlines(), 1) if line.rstrip().endswith("HERE"))

    @property
    def markers(self) -> tuple[str, ...]:
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        places = {"root": PROJECT, "home": Path.home(), "prefix": sys.prefix, "python": python}
        return tuple(marker.format(**places) for marker in self.header.get("marker", ()))

    def value(self, key: str) -> str | None:
        """The only value of a key."""
        return self.header[key][0] if key in self.header else None


def expectations(header: Header) -> dict[str, frozenset[str]]:
    """The verdicts of the `expect` lines, by kind of device."""
    found = {}
    for line in header.get("expect", ()):
        device, verdicts = match.groups() if (match := re.fullmatch("(cpu|cuda) (.+)", line)) else (None, line)
        for kind in (device,) if device else ("cpu", "cuda"):
            found[kind] = frozenset(each for name in map(str.strip, verdicts.split("|")) for each in NAMED.get(name, (name,)))
    return found


def read(path: Path) -> list[Entry]:
    """The submissions in a file. Raises ValueError if a header lacks a key, or has an unknown one."""
    return [_entry(path, cell) for cell in cells(path) if cell.code.strip() or not cell.problem]


def _entry(path: Path, cell: Cell) -> Entry:
    header, where = cell.header, f"{path.name}, {cell.name}"
    if "problem" not in header or len(set(SUMMARIES) & header.keys()) != 1:
        raise ValueError(f"{where}: the header needs a problem and one of {', '.join(SUMMARIES)}")
    if unknown := header.keys() - KEYS:
        raise ValueError(f"{where}: the header has no {', '.join(sorted(unknown))}; known: {', '.join(sorted(KEYS))}")
    lines = [f"# {key}: {value}\n" for key, values in header.items() if key != "base" for value in values]
    base = (BASES / f"{header.get('base', ('module',))[0]}.py").read_text(encoding="utf-8")
    return Entry(f"{cell.name}.py", ("".join(lines) + complete(cell, base)).encode(), header)


def corpus(folder: Path) -> dict[str, Entry]:
    """Every submission of a folder, by its name without suffix. Raises ValueError if two have one name."""
    entries = [entry for path in sorted(folder.glob("*.py")) for entry in read(path)]
    found = {entry.name.removesuffix(".py"): entry for entry in entries}
    if len(found) < len(entries):
        raise ValueError(f"{folder}: two submissions have the same name")
    return found


@cache
def problems() -> dict[str, str]:
    """The problems that cells of all corpora define, by name. Raises ValueError if two have one name."""
    found: dict[str, str] = {}
    for path in sorted(CORPORA.glob("*/corpus/*.py")):
        for cell in cells(path):
            if cell.problem and found.setdefault(cell.name, cell.problem) is not cell.problem:
                raise ValueError(f"{path.name}: there are two problems {cell.name}")
    return found


def write(entries: Iterable[Entry], folder: Path) -> None:
    """The complete submissions as files in folder/submissions, and those of their problems that are not shipped in folder/problems."""
    entries = list(entries)
    names = {entry.value("problem") for entry in entries}
    texts = {f"submissions/{entry.name}": entry.data for entry in entries}
    texts |= {f"problems/{name}.py": text.encode() for name, text in problems().items() if name in names}
    for part in ("submissions", "problems"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for name, data in texts.items():
        (folder / name).write_bytes(data)


def judge(entries: Iterable[Entry], folder: Path, *options: str, **environment: str) -> dict[str, Record]:
    """Judge these in one run; exactly one record for each, by the name of its file."""
    entries = list(entries)
    for path in (marker for entry in entries for marker in entry.markers if not marker.startswith("process:")):
        Path(path).unlink(missing_ok=True)
    write(entries, folder)
    paths = ("submissions", "--reference", "problems") if any((folder / "problems").iterdir()) else ("submissions",)
    command = [sys.executable, str(PROJECT / "pipeline.py"), *paths, "--db", f"sqlite:///{DATABASE}", "--json", "results.jsonl", *options]
    variables = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=RUN_WITHIN_S, check=False, env=variables)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    records = [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    found = {record["submission"].split("/")[-1].removesuffix(":1"): record for record in records}
    assert sorted(found) == sorted(entry.name for entry in entries) and len(records) == len(found)
    return found


def is_expected(entry: Entry, record: Record, kind: str) -> bool:
    """Whether the record's verdict, and the speedup of a correct one, are as the header expects for this kind of device."""
    if f"{record['status']}/{record['category']}" not in entry.verdicts[kind]:
        return False
    return "speedup" not in entry.header or record["status"] != "correct" or record["speedup"] <= float(entry.header["speedup"][0])


def unexpected(entry: Entry, record: Record, kind: str) -> str:
    """What differs from the header's expectations for this kind of device; empty if nothing does."""
    said = f"{entry.about}; {record['status']}/{record['category']}: {record['message']}\n{record['feedback']}"
    if not is_expected(entry, record, kind):
        return said
    for words in entry.header.get("says", ()):
        if not any(words in record[part] for part in ("message", "hint", "feedback")):
            return f"{words!r} is not in {said}"
    left = [marker for marker in entry.markers if is_there(marker)]
    return f"it left {left}; {said}" if left else ""


def check(entry: Entry, record: Record, kind: str) -> None:
    """Assert that the record meets the header's expectations for this kind of device."""
    difference = unexpected(entry, record, kind)
    assert not difference, difference


def has_its_line(entry: Entry, record: Record) -> bool:
    """Whether the record names the line that is to blame, if one is marked."""
    return not entry.lines or record["line"] == entry.lines[0]


def is_there(marker: str) -> bool:
    """Whether the file, or a process of the name, exists on this machine."""
    kind, _, name = marker.partition(":")
    return name in _process_names() if kind == "process" else os.path.lexists(marker)


def _process_names() -> set[str]:
    names = set()
    for place in Path("/proc").glob("[0-9]*/comm"):
        try:
            names.add(place.read_text(encoding="utf-8", errors="replace").strip())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return names


if __name__ == "__main__":
    _folder, _device, _target = sys.argv[1:]
    write((entry for entry in corpus(Path(_folder)).values() if _device in entry.verdicts), Path(_target))
