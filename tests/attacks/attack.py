"""What the attacks of the corpus say of themselves, and what they must not leave behind.

The header of each file in corpus/:

    # wants: what it tries to gain
    # problem: the problem that it poses as an answer to
    # expect: cpu status/category | ...        the verdicts that are fair; a device without such a line is not attacked
    # expect: cuda status/category | ...
    # marker: PATH, or process:NAME            must not be there after the run; {root}, {home}, {prefix}, {python} are filled in; repeatable
    # legal                                    looks like an attack and is none: it must be correct
    # speedup: X                               may be correct, for its answer is, but must gain nothing: speedup at most X
"""

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"

_FIELD = re.compile(r"^# (wants|problem|expect|marker|legal|speedup)(?:: (.+))?$")


@dataclass(frozen=True)
class Attack:
    """One file of the corpus."""

    name: str
    """As the pipeline calls it: its path below the project."""
    wants: str
    problem: str
    verdicts: dict[str, frozenset[str]]
    """`status/category` that are fair, by device kind."""
    markers: tuple[str, ...]
    legal: bool
    speedup: float | None
    """The most that it may gain where it is correct."""


def read(path: Path) -> Attack:
    """The attack in a file. Raises ValueError where its header is not of the form above."""
    fields: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        match = _FIELD.match(line)
        if not match:
            break
        fields.setdefault(match[1], []).append(match[2] or "")
    if len(fields.get("wants", [])) != 1 or len(fields.get("problem", [])) != 1 or "expect" not in fields:
        raise ValueError(f"{path.name}: the header needs wants, problem and expect")
    expected = dict(line.split(" ", 1) for line in fields["expect"])
    return Attack(
        name=path.relative_to(ROOT).as_posix(),
        wants=fields["wants"][0],
        problem=fields["problem"][0],
        verdicts={kind: frozenset(verdict.strip() for verdict in text.split("|")) for kind, text in expected.items()},
        markers=tuple(_filled_in(marker) for marker in fields.get("marker", [])),
        legal="legal" in fields,
        speedup=float(fields["speedup"][0]) if "speedup" in fields else None,
    )


def corpus() -> dict[str, Attack]:
    """Every attack, by the name of its file without suffix."""
    return {path.stem: read(path) for path in sorted(CORPUS.glob("*.py"))}


def _filled_in(marker: str) -> str:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return marker.format(root=ROOT, home=Path.home(), prefix=sys.prefix, python=python)


def is_there(marker: str) -> bool:
    """Whether the file, or a process of the name, exists on this machine."""
    kind, _, name = marker.partition(":")
    return name in _process_names() if kind == "process" else os.path.lexists(marker)


def remove(marker: str) -> None:
    """Remove the file that an earlier run left; a process is left alone."""
    if not marker.startswith("process:"):
        Path(marker).unlink(missing_ok=True)


def _process_names() -> set[str]:
    names = set()
    for place in Path("/proc").glob("[0-9]*/comm"):
        try:
            names.add(place.read_text(encoding="utf-8", errors="replace").strip())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return names
