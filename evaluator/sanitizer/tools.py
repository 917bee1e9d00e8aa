"""compute-sanitizer's tools: which run for which submissions, where the program is, and its command line."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from evaluator.nvidia_tools.find import ToolMissingError, find_tool
from evaluator.nvidia_tools.program import LOG_PATH

PROGRAM = "compute-sanitizer"
ALL, AUTO = "all", "auto"
PRINT_LIMIT = 200
"""Reports after which a tool stops printing."""
PADDING_BYTES = 1024
"""Padding after each allocation, so that an access past its end does not reach the next."""
ONE_EACH = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
"""For the child's environment: each tensor gets its own allocation."""
_PORTS = range(20_000, 60_000)
"""If the sandbox shares the network, the socket between compute-sanitizer and its child is named after one of these ports."""
_LIBRARY = "libsanitizer-collection.so"
"""Lies beside the actual program; `bin` of the toolkit may hold only a script that starts it."""


class Tool(StrEnum):
    """A tool of compute-sanitizer, in the order in which they run."""

    MEMCHECK = "memcheck"
    """Accesses out of bounds and misaligned ones."""
    RACECHECK = "racecheck"
    """Accesses of several threads to the same shared memory without a barrier between them."""
    INITCHECK = "initcheck"
    """Reads of global memory that nothing has written."""
    SYNCCHECK = "synccheck"
    """Barriers that some of the required threads don't reach."""


_OF_TOOL: dict[Tool, tuple[str, ...]] = {
    # PyTorch asks for driver functions that an older driver may lack, and continues without them: no fault.
    Tool.MEMCHECK: ("--report-api-errors", "no", "--padding", str(PADDING_BYTES)),
}


class SanitizerMissingError(Exception):
    """No compute-sanitizer works here; the message says how to fix it."""


@dataclass(frozen=True)
class Wish:
    """The user's choice of tools."""

    tools: tuple[Tool, ...]
    only_faulty: bool = False
    """Whether only for submissions that were wrong, or crashed."""


@dataclass(frozen=True)
class Sanitizer:
    """A compute-sanitizer that reported its version."""

    program: str
    """Absolute path."""
    version: str
    wish: Wish

    @property
    def readonly_paths(self) -> tuple[str, ...]:
        """Paths that a confined program needs to run it."""
        return tuple(dict.fromkeys(str(path) for path in _parts(Path(self.program))))


def read_wish(text: str) -> Wish:
    """Parse `auto`, `all`, or names of tools with commas between them. Raises ValueError."""
    if text in (ALL, AUTO):
        return Wish(tuple(Tool), only_faulty=text == AUTO)
    names = [name.strip() for name in text.split(",")]
    unknown = next((name for name in names if name not in list(Tool)), None)
    if unknown is not None:
        raise ValueError(f"{unknown!r} is not {AUTO}, {ALL} or one of {', '.join(Tool)}")
    return Wish(tuple(tool for tool in Tool if tool in names))


def find(wish: Wish) -> Sanitizer:
    """The program of this machine (`evaluator.nvidia_tools.find`). Raises SanitizerMissingError."""
    try:
        program, version = find_tool(PROGRAM, ("bin", PROGRAM))
    except ToolMissingError as error:
        raise SanitizerMissingError(f"--sanitize needs {error}: set CUDA_HOME to a CUDA toolkit that has it, or omit --sanitize") from error
    return Sanitizer(program, version, wish)


def command(sanitizer: Sanitizer, tool: Tool) -> tuple[str, ...]:
    """compute-sanitizer's part of the command line; the program to run follows.

    It waits without limit for its child to start CUDA, follows only that process, and after a report ends only the kernel, so that later
    errors are seen too. Host backtraces are off: they would name paths of this machine.
    """
    return (
        sanitizer.program,
        *("--tool", tool, "--log-file", LOG_PATH, "--target-processes", "application-only", "--launch-timeout", "0"),
        *("--destroy-on-device-error", "kernel", "--show-backtrace", "device", "--print-limit", str(PRINT_LIMIT)),
        *("--check-exit-code", "no", "--port", str(secrets.choice(_PORTS)), *_OF_TOOL.get(tool, ())),
    )


def _parts(program: Path) -> Iterator[Path]:
    for path in (program, program.resolve()):
        yield path
        for folder in (path.parent, path.parent.parent / PROGRAM, path.parent.parent / "lib"):
            if (folder / _LIBRARY).is_file():
                yield folder
