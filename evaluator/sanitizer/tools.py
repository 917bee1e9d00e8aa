"""The tools of compute-sanitizer, which of them are wanted for which submissions, where the program is, and its command line."""

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
"""Reports after which a tool stops to print them."""
PADDING_BYTES = 1024
"""After each allocation: an access that goes past the end of one does not meet the next."""
ONE_EACH = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
"""For the environment of the child: each tensor is an allocation of its own."""
_PORTS = range(20_000, 60_000)
"""Where the sandbox is not alone on the network, the name of the socket between compute-sanitizer and its child is made from one."""
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


_OF_TOOL: dict[Tool, tuple[str, ...]] = {
    # PyTorch asks for functions of the driver that an older one may not have, and goes on without it: that is no fault.
    Tool.MEMCHECK: ("--report-api-errors", "no", "--padding", str(PADDING_BYTES)),
}


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
    """The program of this machine (`evaluator.nvidia_tools.find`). Raises SanitizerMissingError."""
    try:
        program, version = find_tool(PROGRAM, ("bin", PROGRAM))
    except ToolMissingError as error:
        raise SanitizerMissingError(
            f"--sanitize needs {error}: set CUDA_HOME to a CUDA toolkit that has it, or leave --sanitize out"
        ) from error
    return Sanitizer(program, version, wish)


def command(sanitizer: Sanitizer, tool: Tool) -> tuple[str, ...]:
    """compute-sanitizer's part of the command line; what it is to run follows.

    It waits for its child to start CUDA for as long as that takes, follows no process but that one, and after a report ends the kernel
    alone, so that what comes later is seen too. Host backtraces would name paths of this machine.
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
