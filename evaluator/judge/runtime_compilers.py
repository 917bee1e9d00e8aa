"""What a submission may compile kernels with while it runs, and whether this machine has it: the judge looks for itself.

Triton, CuPy and Numba run in the worker, so that only what they lack is told here; what they say of a kernel is the diagnosis's.
"""

import importlib.util
import re
import shutil
import sysconfig
from pathlib import Path

from evaluator.category import Category
from evaluator.diagnosis import Verdict
from evaluator.evidence import ExceptionEvidence, LaunchRecord
from evaluator.worker.launch_table import INTERPRETED

PACKAGES = {"triton": "triton", "cupy": "cupy", "numba": "numba", "numba.cuda": "numba_cuda"}
"""The package that has to be installed, by the module that is imported."""
_MISSING = re.compile(r"No module named '([\w.]{1,100})'$")
_NO_COMPILER = "Failed to find C compiler"
_LAUNCHER = "cuda_utils.c"
"""What Triton compiles with the C compiler of the machine before its first launch."""


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def what_is_missing(exception: ExceptionEvidence | None) -> str:
    """What of the machine kept a kernel from being compiled, where this is what ended the submission; empty where it is not."""
    if exception is None:
        return ""
    missing = _MISSING.match(exception.message) if exception.type == "ModuleNotFoundError" else None
    package = PACKAGES.get(missing[1]) if missing else None
    if package and not is_installed(package):
        return f"{package} is not installed on this machine"
    if _NO_COMPILER in exception.message and not (shutil.which("gcc") or shutil.which("clang")):
        return "Triton needs a C compiler, and this machine has none"
    header = Path(sysconfig.get_paths(scheme="posix_prefix")["include"]) / "Python.h"
    if exception.type == "CalledProcessError" and _LAUNCHER in exception.message and not header.exists():
        return "Triton needs the headers of Python (Python.h), and this machine has none"
    return ""


def without_blame(verdict: Verdict, exception: ExceptionEvidence | None) -> Verdict:
    """The verdict, unless the machine lacks what the submission compiles with."""
    lacking = what_is_missing(exception) if verdict.category in (Category.IMPORT_ERROR, Category.PYTHON_EXCEPTION) else ""
    return Verdict(Category.NO_TOOLCHAIN, lacking) if lacking else verdict


def interpreted(launches: tuple[LaunchRecord, ...]) -> bool:
    """Whether a kernel of the submission's own has been run by Triton's interpreter."""
    return any(launch.own and launch.api == INTERPRETED for launch in launches)
