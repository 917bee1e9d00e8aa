"""Orders the tests, bounds how many may be retried, and gives each the same random numbers in every run."""

import os
import random
import re
import signal
import sys
from functools import cache
from pathlib import Path

import pytest

from evaluator.chance import chance

os.environ.setdefault("ASSAY_SEED", "1")  # of the evaluations, in judges' processes too

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs so. Programs that tests interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

MOST_RETRIED = 5
"""How many tests may have a retry (`flaky`), each with its reason."""


_MARK = re.compile(r"^pytestmark = \[?pytest\.mark\.(\w+)", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files whose own mark the run leaves out, and folders of such files: importing them takes half a minute."""
    files = [*collection_path.rglob("test_*.py")] if collection_path.is_dir() else [collection_path]
    return True if files and all(is_left_out(path, config.option.markexpr) for path in files) else None


@cache
def is_left_out(path: Path, marks: str) -> bool:
    """Whether the mark of a whole file is among those that the expression `marks` leaves out."""
    mark = _MARK.search(path.read_text(encoding="utf-8")) if path.match("test_*.py") else None
    return bool(mark and re.search(rf"\bnot {mark[1]}\b", marks))


def seconds(item: pytest.Item) -> float:
    """What the test's file takes on a quiet core, as its mark `slow` says; 0 without one."""
    mark = item.get_closest_marker("slow")
    return float(mark.args[0]) if mark and mark.args else 0.0


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what compiles or needs a PostgreSQL server. Let the longest files begin first, so that no worker is left with one."""
    retried = set()
    for item in items:
        if item.get_closest_marker("build") or "postgresql" in item.name:
            item.add_marker(pytest.mark.slow)
        if flaky := item.get_closest_marker("flaky"):
            retried.add(item.nodeid.split("[")[0])
            if not flaky.kwargs.get("reason"):
                raise pytest.UsageError(f"{item.nodeid}: a retry needs its reason, flaky(reruns=…, reason=…)")
    if len(retried) > MOST_RETRIED:
        raise pytest.UsageError(f"{len(retried)} tests have a retry, {MOST_RETRIED} may: {', '.join(sorted(retried))}")
    longest: dict[str, float] = {}
    for item in items:
        file = item.nodeid.split("::")[0]
        longest[file] = max(longest.get(file, 0.0), seconds(item))
    items.sort(key=lambda item: -longest[item.nodeid.split("::")[0]])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Draw from a seed of the test's own, so that what fails once fails again. Compute in one thread beside others."""
    name = item.nodeid
    random.seed(name)
    chance.begin(name)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(random.getrandbits(48))
        if "PYTEST_XDIST_WORKER" in os.environ:
            torch.set_num_threads(1)  # as many tests run side by side as there are cores
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(random.getrandbits(32))
