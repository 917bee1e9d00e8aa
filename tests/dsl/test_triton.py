"""Triton in a worker on a GPU, by a stand-in for its compiler."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from evaluator.dsl import triton
from evaluator.worker.patches.host_kernels import HostKernels
from evaluator.worker.patches.process import WorkerProcess


def test_the_judge_hears_when_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    @contextmanager
    def compiling() -> Iterator[None]:
        said.append("begins")
        yield
        said.append("ends")

    class JITFunction:
        def _do_compile(self, key: str, *, warmup: bool) -> str:
            said.append(f"{key} {warmup}")
            return "kernel"

    watch = triton.install(WorkerProcess(lambda _: (False, "", None), None, HostKernels(None), True, compiling))
    watch()  # before it is imported
    module = ModuleType("triton.runtime.jit")
    module.JITFunction = JITFunction  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton.runtime.jit", module)
    watch()
    watch()
    assert JITFunction()._do_compile("key", warmup=False) == "kernel"
    assert said == ["begins", "key False", "ends"]
