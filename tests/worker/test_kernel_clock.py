"""The clock around a call, with the real recorder; a library stands for CUDA's, and its time passes by launches alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.build.native import compile_native
from evaluator.engine.warm_parents import RECORDER
from evaluator.judge.workers.launch_table import LaunchTable
from tests.worker.test_launch_recorder import compiled

SCRIPT = """
import ctypes, os, sys
import torch

table, runtime, launcher = int(sys.argv[1]), ctypes.CDLL(sys.argv[2], ctypes.RTLD_GLOBAL), ctypes.CDLL(sys.argv[3])
ctypes.CDLL(None).assay_recorder_attach(table, ctypes.c_size_t(os.fstat(table).st_size))
passed_ms = ctypes.c_float.in_dll(runtime, "now_ms")

class Event:
    def __init__(self, enable_timing): assert enable_timing
    def record(self): self.at_ms = passed_ms.value
    def elapsed_time(self, later): return later.at_ms - self.at_ms

torch.cuda.Event = Event
from evaluator.worker.recorder import KernelClock

for raises in (False, True):
    clock = KernelClock()
    launcher.launch()
    try:
        with clock.running():
            passed_ms.value += 1.0
            launcher.launch()
            launcher.launch()
            if raises:
                raise KeyError
    except KeyError:
        pass
    launcher.launch()
    print(clock.read())
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A runtime, and what launches with it."""
    folder = tmp_path_factory.mktemp("clock")
    runtime = compiled(folder, "runtime.so", ("events.c",))
    return [str(runtime), str(compiled(folder, "launcher.so", ("launch_three.c",), str(runtime)))]


@pytest.mark.slow
def test_the_launches_of_a_call_that_returns_or_raises_are_timed_and_the_call_itself(libraries: list[str], tmp_path: Path) -> None:
    table = LaunchTable()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(table.descriptor), *libraries],
        env={**os.environ, "LD_PRELOAD": str(compile_native(RECORDER, tmp_path))},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        pass_fds=[table.descriptor],
    )
    launches = table.read()
    table.close()
    assert done.stdout.split() == ["7.0"] * 2, done.stderr
    (launch,) = launches
    assert (launch.count, launch.timed, launch.device_ms, launch.each_ms) == (8, 4, 12.0, 3.0)
