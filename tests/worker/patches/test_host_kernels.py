"""Kernels that Triton's interpreter runs are noted, or left out. Where Triton is not installed, a module of the same form stands for it."""

import importlib.util
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evaluator.dsl import triton
from evaluator.judge.workers.launch_table import CAPACITY, LaunchTable
from evaluator.results.evidence import LaunchRecord
from evaluator.worker.patches.host_kernels import HostKernels
from evaluator.worker.patches.process import WorkerProcess
from evaluator.worker.recorder import INTERPRETED

SCRIPT = """
import os, sys, torch
os.environ["TRITON_INTERPRET"] = "1"
from evaluator.dsl import triton
from evaluator.worker.patches.host_kernels import HostKernels
from evaluator.worker.patches.process import WorkerProcess
sys.path.insert(0, {folder!r})
watcher = HostKernels({descriptor})
watch = triton.install(WorkerProcess(None, None, watcher, False))
watch()
import own
watch()
x = torch.arange(10, dtype=torch.float32)
y = own.double(x)
watcher.leaves_out = True
print(y.tolist() == (2 * x).tolist(), own.double(x).tolist() == [0.0] * 10)
"""
OWN = """
import torch, triton
import triton.language as tl

@triton.jit
def double_each(x, y, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

def double(x):
    y = torch.zeros_like(x)
    double_each[lambda meta: (triton.cdiv(x.numel(), meta["block"]),)](x, y, x.numel(), block=4)
    return y
"""


@pytest.fixture
def table() -> Iterator[LaunchTable]:
    made = LaunchTable()
    yield made
    made.close()


class Executor:
    """Runs a function over a grid, as Triton's does."""

    def __init__(self, fn: Any, grid: tuple[int, ...]) -> None:
        self.fn, self.grid = fn, grid

    def __call__(self, *args: Any) -> None:
        BUILDER.grid_dim = (*self.grid, 1, 1)[:3]
        self.fn(*args)


BUILDER = types.SimpleNamespace(grid_dim=None)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType(triton.INTERPRETING)
    monkeypatch.setattr(Executor, "__call__", Executor.__call__)  # put back afterwards
    module.GridExecutor, module.interpreter_builder = Executor, BUILDER  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, triton.INTERPRETING, module)


def watching(descriptor: int | None) -> tuple[HostKernels, Callable[[], None]]:
    """The kernels of a worker, and Triton's function for it."""
    kernels = HostKernels(descriptor)
    return kernels, triton.install(WorkerProcess(lambda _: (False, "", None), None, kernels, on_device=False))


def kernel(place: str, name: str = "bend") -> Any:
    """A function of that name, defined in a file at `place`."""
    names: dict[str, Any] = {}
    exec(compile(f"def {name}(kept):\n    kept.append(1)\n", place, "exec"), names)
    return names[name]


def read(table: LaunchTable) -> tuple[LaunchRecord, ...]:
    return table.read()


@pytest.mark.usefixtures("stand_in")
def test_what_is_run_is_noted(table: LaunchTable) -> None:
    (_, watch), kept = watching(table.descriptor), list[int]()
    watch()
    watch()
    mine, others = kernel("/tmp/submission.py"), kernel("/opt/site/library.py", "theirs")
    for grid in ((3,), (2, 5)):
        Executor(mine, grid)(kept)
    Executor(others, (1,))(kept)
    first, second = read(table)
    assert (first.api, first.kernel, first.object, first.own) == (INTERPRETED, "bend", "submission.py", True)
    assert (first.count, first.first, first.last, first.grid, first.code) == (2, 0, 1, (2, 5, 1), 0)
    assert (second.kernel, second.own, second.count, len(kept)) == ("theirs", False, 1, 3)


@pytest.mark.usefixtures("stand_in")
def test_what_fails_is_not_noted(table: LaunchTable) -> None:
    watching(table.descriptor)[1]()
    with pytest.raises(AttributeError):
        Executor(kernel("/tmp/submission.py"), (1,))(None)
    assert read(table) == ()


@pytest.mark.usefixtures("stand_in")
def test_what_is_left_out_does_not_run() -> None:
    (kernels, watch), kept = watching(None), list[int]()
    watch()
    kernels.leaves_out = True
    Executor(kernel("/tmp/submission.py"), (1,))(kept)
    assert kept == []


@pytest.mark.usefixtures("stand_in")
def test_kernels_beyond_the_table_are_run_and_not_noted(table: LaunchTable) -> None:
    (_, watch), kept = watching(table.descriptor), list[int]()
    watch()
    for number in range(CAPACITY + 3):
        Executor(kernel("/tmp/submission.py", f"bend{number}"), (1,))(kept)
    assert (len(read(table)), len(kept)) == (CAPACITY, CAPACITY + 3)


def test_without_triton_there_is_nothing_to_watch(table: LaunchTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, triton.INTERPRETING, raising=False)
    watching(table.descriptor)[1]()
    assert read(table) == ()


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_tritons_own_interpreter_is_watched(table: LaunchTable, tmp_path: Any) -> None:
    (tmp_path / "own.py").write_text(OWN)
    script = SCRIPT.format(folder=str(tmp_path), descriptor=table.descriptor)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, pass_fds=[table.descriptor], check=False)
    assert done.stdout.split() == ["True", "True"], done.stderr
    (record,) = read(table)
    assert (record.kernel, record.object, record.count, record.grid) == ("double_each", "own.py", 1, (3, 1, 1))
