"""The confined program: compute-sanitizer, and as its child a fresh Python that becomes a worker.

The child's code travels as an archive in memory: nothing of the project has to be visible in the sandbox. Descriptors have fixed numbers,
and compute-sanitizer hands them on.
"""

import io
import json
import os
import secrets
import sys
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluator.build.memory_file import sealed_copy
from evaluator.sandbox import Level, Limits, Program
from evaluator.sandbox.levels.child import FIRST_DESCRIPTOR
from evaluator.sandbox.levels.strict import remaining
from evaluator.sandbox.view import PROJECT_ROOT
from evaluator.sanitizer.tools import Sanitizer, Tool

CHANNEL, LOG, CODE, REMAINS = range(FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + 4)
"""Numbers of the descriptors, in the order in which they are given."""
MAX_LOG_BYTES = 4 << 20
"""Read of a log."""
PRINT_LIMIT = 200
"""Reports after which a tool stops to print them."""
PADDING_BYTES = 1024
"""After each allocation: an access that goes past the end of one does not meet the next."""
_PORTS = range(20_000, 60_000)
"""Where the sandbox is not alone on the network, the name of the socket between compute-sanitizer and its child is made from one."""
_PACKAGES = ("evaluator/sandbox", "evaluator/worker", "evaluator/sanitizer/inside.py", "evaluator/sanitizer/__init__.py")
_INSIDE = (
    "import sys; sys.path.insert(0, '/proc/self/fd/{code}'); from evaluator.sanitizer.inside import main; "
    "sys.exit(main({channel}, {remains}, {log}))"
)
_OF_TOOL: dict[Tool, tuple[str, ...]] = {
    # PyTorch asks for functions of the driver that an older one may not have, and goes on without it: that is no fault.
    Tool.MEMCHECK: ("--report-api-errors", "no", "--padding", str(PADDING_BYTES)),
}


@dataclass
class Given:
    """The descriptors of one run, besides the channel; to be closed."""

    log: int
    """A memory file that compute-sanitizer writes to."""
    code: int
    remains: int

    @classmethod
    def make(cls, remains: list[tuple[str, int]]) -> "Given":
        return cls(
            os.memfd_create("log", os.MFD_CLOEXEC), sealed_copy(archive(), "code"), sealed_copy(json.dumps(remains).encode(), "remains")
        )

    @property
    def by_name(self) -> Mapping[str, int]:
        """In the order of their numbers in the program."""
        return {"log": self.log, "code": self.code, "remains": self.remains}

    def written(self) -> str:
        """The log as far as it has been written, and will be read."""
        return os.pread(self.log, MAX_LOG_BYTES, 0).decode(errors="replace")

    def close(self) -> None:
        for descriptor in self.by_name.values():
            os.close(descriptor)


def archive() -> bytes:
    """The modules that the child imports, as a zip file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("evaluator/__init__.py", "")
        for package in _PACKAGES:
            path = PROJECT_ROOT / package
            for module in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
                file.write(module, str(module.relative_to(PROJECT_ROOT)))
    return packed.getvalue()


def command(sanitizer: Sanitizer, tool: Tool) -> tuple[str, ...]:
    """compute-sanitizer's part of the command line; what it is to run follows.

    It waits for its child to start CUDA for as long as that takes, follows no process but that one, and after a report ends the kernel
    alone, so that what comes later is seen too. Host backtraces would name paths of this machine.
    """
    return (
        sanitizer.program,
        *("--tool", tool, "--log-file", f"/proc/self/fd/{LOG}", "--target-processes", "application-only", "--launch-timeout", "0"),
        *("--destroy-on-device-error", "kernel", "--show-backtrace", "device", "--print-limit", str(PRINT_LIMIT)),
        *("--check-exit-code", "no", "--port", str(secrets.choice(_PORTS)), *_OF_TOOL.get(tool, ())),
    )


def program(
    words: tuple[str, ...],
    environment: Mapping[str, str],
    readonly: Iterable[str],
    *,
    gpu: bool,
    limits: Limits,
    level: Level,
    gpu_minor: int | None = None,
) -> tuple[Program, list[tuple[str, int]]]:
    """The program that `words`, as of `command`, begin, and what its child may do at `level`. Raises SandboxUnavailable."""
    inside = _INSIDE.format(channel=CHANNEL, log=LOG, code=CODE, remains=REMAINS)
    made = Program(
        argv=(*words, sys.executable, "-B", "-c", inside),
        env={**_environment(), **environment},
        readonly=tuple(readonly),
        gpu=gpu,
        gpu_minor=gpu_minor,
        limits=limits,
        lax=True,
    )
    return made, remaining(made, level)


def _environment() -> dict[str, str]:
    """What a cold Python needs, and PyTorch, so that each tensor is an allocation of its own."""
    search = [path for path in sys.path if path and not Path(path).is_relative_to(PROJECT_ROOT)]
    passed = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if os.environ.get(name)}
    return {
        **passed,
        "PYTHONPATH": os.pathsep.join(search),
        "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
