"""Triton in a worker on a GPU, by a stand-in for its compiler."""

import math
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

    watch = triton.install(WorkerProcess(lambda _: (False, "", None), None, HostKernels(None), True, compiling=compiling))
    watch()  # before it is imported
    module = ModuleType("triton.runtime.jit")
    module.JITFunction = JITFunction  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton.runtime.jit", module)
    watch()
    watch()
    assert JITFunction()._do_compile("key", warmup=False) == "kernel"
    assert said == ["begins", "key False", "ends"]


def test_without_its_kernels_the_autotuner_takes_the_first_configuration_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    class Autotuner:
        nargs: dict[str, int]

        def do_bench(self, _kernel: object, **_: object) -> list[float]:
            raise AssertionError("it times kernels that are left out")

        def _bench(self, *, config: str) -> list[float]:
            def kernel() -> None:
                if config == "too large":
                    raise MemoryError
                ran.append(config)

            try:
                return self.do_bench(kernel, quantiles=(0.5,))
            except MemoryError:
                return [math.inf] * 3

        def tune(self, size: int) -> dict[str, list[float]]:
            self.nargs = {"x": size}
            return {config: self._bench(config=config) for config in ("too large", "small", "large")}

    module = ModuleType("triton.runtime.autotuner")
    module.Autotuner = Autotuner  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton.runtime.autotuner", module)
    compiler = ModuleType("triton.runtime.jit")
    compiler.JITFunction = type("JITFunction", (), {"_do_compile": lambda _: None})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton.runtime.jit", compiler)
    watch = triton.install(WorkerProcess(lambda _: (False, "", None), None, HostKernels(None), True, leaves_out=True))
    watch()
    tuner = Autotuner()
    nothing = [math.inf] * 3
    assert [tuner.tune(size) for size in (1, 2)] == [{"too large": nothing, "small": [0.0] * 3, "large": nothing}] * 2
    assert ran == ["small", "small"]
