"""Checks the DSLs that compile kernels at run time, such as Triton: whether this machine has them, and whether they work.

They run in the worker. The diagnosis handles their errors about a kernel; this module finds what the machine lacks. An installed library
that fails to start is the machine's fault if it fails in the same way for the judge, without the submission.
"""

import ast
import importlib.util
import json
import re
import subprocess
import sys

from evaluator.diagnosis import Verdict
from evaluator.diagnosis.rules.exception_rules import MAX_MESSAGE_CHARS
from evaluator.dsl import Dsl, dsls
from evaluator.dsl.plugin import asked
from evaluator.judge import limits
from evaluator.results.category import Category
from evaluator.results.evidence import ExceptionEvidence, LaunchRecord
from evaluator.worker.recorder import INTERPRETED

TRIAL_FAILED = 8
"""Exit code of a trial with an exception on its last line."""
_REPORTED = f"""
import json, sys
try:
    exec(compile(sys.argv[1], "trial", "exec"), {{"__name__": "trial"}})
except BaseException as error:
    print("\\n" + json.dumps([type(error).__name__, str(error)]))
    sys.exit({TRIAL_FAILED})
"""
_TRIED: dict[str, tuple[str, str] | None] = {}
"""The outcomes of trials in this process."""
_MISSING = re.compile(r"No module named '([\w.]{1,100})'$")


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def failure_of(dsl: Dsl) -> tuple[str, str] | None:
    """Type and text of the exception in the first steps with a DSL, in a process without a submission; None if there is none, or at the
    timeout. Found results are remembered."""
    if dsl.name not in _TRIED:
        command = [sys.executable, "-P", "-c", _REPORTED, dsl.trial]
        try:
            done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=limits.TRIAL_S, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        _TRIED[dsl.name] = _reported(done)
    return _TRIED[dsl.name]


def _reported(done: subprocess.CompletedProcess[bytes]) -> tuple[str, str] | None:
    """The exception that a trial reports, if any."""
    if done.returncode != TRIAL_FAILED:
        return None
    try:
        name, text = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, TypeError, ValueError):  # other output of a library at its end
        return None
    return name, text


def imported(source: str) -> frozenset[str]:
    """The packages that a source imports anywhere; empty if it does not parse."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return frozenset(name.partition(".")[0] for name in names)


def what_is_broken(exception: ExceptionEvidence, source: str) -> str:
    """Message about an imported DSL that fails in the same way without the submission; empty if none does.

    The exception is the worker's claim. The judge accepts it if the library raises the same for the judge. Then no submission that uses the
    library can be judged on this machine.
    """
    named = imported(source)
    for dsl in dsls():
        used = dsl.trial and named & {module.partition(".")[0] for module in dsl.packages}
        if used and all(map(is_installed, used)) and failure_of(dsl) == (exception.type, exception.message):
            return f"{dsl.name} is broken on this machine: {exception.type}: {exception.message}"[:MAX_MESSAGE_CHARS]
    return ""


def what_is_missing(exception: ExceptionEvidence) -> str:
    """Message about a missing part of the machine that prevented compiling a kernel and ended the submission; else empty."""
    module = _missing_module(exception)
    package = next((dsl.packages[module] for dsl in dsls() if module in dsl.packages), None)
    if package and not is_installed(package):
        return f"{package} is not installed on this machine"
    return next(filter(None, (asked(dsl, dsl.lacks, exception) for dsl in dsls())), "")


def lacks_interpreter(exception: ExceptionEvidence | None) -> bool:
    """Whether the exception is the lack of a DSL that runs kernels on the CPU."""
    module = _missing_module(exception) if exception is not None else ""
    return any(dsl.without_device is not None and module in dsl.packages for dsl in dsls())


def _missing_module(exception: ExceptionEvidence) -> str:
    """The module that an import did not find; empty for another exception."""
    missing = _MISSING.match(exception.message) if exception.type == "ModuleNotFoundError" else None
    return missing[1] if missing else ""


def runs_without_device() -> bool:
    """Whether a DSL that runs kernels on the CPU is installed."""
    return any(dsl.without_device is not None and all(map(is_installed, dsl.packages.values())) for dsl in dsls())


def without_blame(verdict: Verdict, exception: ExceptionEvidence | None, source: str = "") -> Verdict:
    """The verdict, unless the submission's compiler is missing or broken on this machine. `source` is the submission's."""
    if exception is None or verdict.category not in (Category.IMPORT_ERROR, Category.PYTHON_EXCEPTION):
        return verdict
    lacking = what_is_missing(exception) or what_is_broken(exception, source)
    return Verdict(Category.NO_TOOLCHAIN, lacking) if lacking else verdict


def interpreted(launches: tuple[LaunchRecord, ...]) -> bool:
    """Whether a DSL has run a kernel of the submission's own on the CPU."""
    return any(launch.own and launch.api == INTERPRETED for launch in launches)
