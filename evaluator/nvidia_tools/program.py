"""The confined program: one of NVIDIA's tools, with a fresh Python as its child, which becomes a worker.

The child's code is an archive in memory, so nothing of the project has to be visible in the sandbox. Descriptors have fixed numbers, and
the tool passes them on.
"""

import io
import json
import os
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

CHANNEL, LOG, CODE, REMAINS = range(FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + 4)
"""Numbers of the descriptors, in the order in which they are given."""
MAX_LOG_BYTES = 4 << 20
"""Maximum size of a log that is read."""
LOG_PATH = f"/proc/self/fd/{LOG}"
"""The tool's output file."""
_PACKAGES = (
    "evaluator/sandbox",
    "evaluator/worker",
    "evaluator/dsl",
    "evaluator/nvidia_tools/copying.py",
    "evaluator/nvidia_tools/inside.py",
    "evaluator/nvidia_tools/__init__.py",
)
_INSIDE = (
    "import sys; sys.path.insert(0, '/proc/self/fd/{code}'); from evaluator.nvidia_tools.inside import main; "
    "sys.exit(main({channel}, {remains}, {log}))"
)


@dataclass
class Given:
    """The descriptors of one run, besides the channel; close it after use."""

    log: int
    """A memory file that the tool writes to."""
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
        """The log so far, up to MAX_LOG_BYTES."""
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
    """The program that the tool's `words` begin, and the rights of its child at sandbox `level`. Raises SandboxUnavailable."""
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
    """Variables for a cold Python and PyTorch."""
    search = [path for path in sys.path if path and not Path(path).is_relative_to(PROJECT_ROOT)]
    passed = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if os.environ.get(name)}
    return {
        **passed,
        "PYTHONPATH": os.pathsep.join(search),
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
