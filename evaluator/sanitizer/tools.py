"""The tools of compute-sanitizer, which of them are wanted for which submissions, and where the program is."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

PROGRAM = "compute-sanitizer"
ALL, AUTO = "all", "auto"
TOOLKIT = "/usr/local/cuda"
"""Where it is looked for last."""
_VERSION_WITHIN_S = 60.0
_VERSION = re.compile(r"^Version (\S+)", re.MULTILINE)
_LIBRARY = "libsanitizer-collection.so"
"""Lies beside the program proper; what the toolkit has in `bin` may be a script that starts it."""


class Tool(StrEnum):
    """One of its tools, in the order in which they are run."""

    MEMCHECK = "memcheck"
    """Accesses out of bounds and misaligned ones."""
    RACECHECK = "racecheck"
    """Accesses of several threads to the same shared memory without a barrier between them."""
    INITCHECK = "initcheck"
    """Reads of global memory that nothing has written."""
    SYNCCHECK = "synccheck"
    """Barriers that not all threads reach that have to."""


class SanitizerMissingError(Exception):
    """There is no compute-sanitizer that runs; the message says what to do."""


@dataclass(frozen=True)
class Wish:
    """What was asked for."""

    tools: tuple[Tool, ...]
    only_faulty: bool = False
    """Whether only for submissions that were wrong, or crashed."""


@dataclass(frozen=True)
class Sanitizer:
    """A compute-sanitizer that answered when it was asked for its version."""

    program: str
    """Absolute path."""
    version: str
    wish: Wish

    @property
    def readonly_paths(self) -> tuple[str, ...]:
        """What a confined program has to see to run it."""
        return tuple(dict.fromkeys(str(path) for path in _parts(Path(self.program))))


def read_wish(text: str) -> Wish:
    """The wish in `auto`, `all`, or names of tools with commas between them. Raises ValueError."""
    if text in (ALL, AUTO):
        return Wish(tuple(Tool), only_faulty=text == AUTO)
    names = [name.strip() for name in text.split(",")]
    unknown = next((name for name in names if name not in list(Tool)), None)
    if unknown is not None:
        raise ValueError(f"{unknown!r} is neither {AUTO} nor {ALL} nor one of {', '.join(Tool)}")
    return Wish(tuple(tool for tool in Tool if tool in names))


def find(wish: Wish) -> Sanitizer:
    """The program on the PATH, else that of the CUDA toolkit ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda). Raises SanitizerMissingError."""
    program = next(_candidates(), None)
    if program is None:
        raise SanitizerMissingError(
            f"--sanitize needs {PROGRAM}, which is neither on the PATH nor in the bin folder of CUDA_HOME or {TOOLKIT}: "
            "set CUDA_HOME to a CUDA toolkit that has it, or leave --sanitize out"
        )
    try:
        done = subprocess.run((program, "--version"), capture_output=True, timeout=_VERSION_WITHIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SanitizerMissingError(f"--sanitize needs {PROGRAM}, and {program} does not run: {error}") from error
    found = _VERSION.search(done.stdout.decode(errors="replace"))
    if done.returncode != 0 or found is None:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise SanitizerMissingError(f"--sanitize needs {PROGRAM}, and {program} does not run: {said[-1] if said else 'it says nothing'}")
    return Sanitizer(program, found[1], wish)


def _candidates() -> Iterator[str]:
    if on_path := shutil.which(PROGRAM):
        yield str(Path(on_path).absolute())
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), TOOLKIT]
    for home in filter(None, homes):
        for folder in ("bin", PROGRAM):
            if found := shutil.which(PROGRAM, path=str(Path(home).absolute() / folder)):
                yield found


def _parts(program: Path) -> Iterator[Path]:
    for path in (program, program.resolve()):
        yield path
        for folder in (path.parent, path.parent.parent / PROGRAM, path.parent.parent / "lib"):
            if (folder / _LIBRARY).is_file():
                yield folder
