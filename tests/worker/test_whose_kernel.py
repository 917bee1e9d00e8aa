"""The recorder's answer to whose kernel the driver launches. A library stands in for the driver, and kernels are names."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.build.native import compile_native
from evaluator.dsl import triton
from evaluator.engine.warm_parents import RECORDER
from evaluator.judge.workers.launch_table import LaunchTable
from evaluator.worker.origin import is_own_kernel, is_vendors, kernel_names
from tests.worker.test_launch_recorder import compiled
from tests.worker.test_origin import SOURCE, VENDORS

SCRIPT = """
import ctypes, json, sys
driver, caller = sys.argv[1].encode(), ctypes.CDLL(sys.argv[2])
asked = json.loads(sys.argv[3])
recorder, known = ctypes.CDLL(None), ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
recorder.assay_recorder_attach(asked["table"], ctypes.c_size_t(asked["bytes"]))
recorder.assay_recorder_source(asked["source"].encode(), asked["installed"].encode())
launch, found = getattr(caller, asked["launch"]), []
names = [name.encode() for name in asked["names"]]  # whose addresses tell them apart
for ablating in (False, True):
    if ablating:
        recorder.assay_recorder_ablate()
    for name in names:
        before = known.launches()
        assert launch(driver, name) == 0
        found.append(known.launches() - before)
print(json.dumps([found, caller.finds_nothing(driver)]))
"""
NAMES = [
    *("bend", "void own::bend<float, 4>(float const*, (anonymous namespace)::tag)", "(anonymous namespace)::bend(float*)"),
    *("submission::bend[abi:v1](Array<float, 1, C>)", "bender", "unbend", "written_at_run_time", "triton_mine", "triton_mm_3"),
    *("bend_kernel", "bend_kernel_1", "bent_kernel", "bend_kernels", "_kernel", "void own::bend_kernel<4>(int)"),
    *("kernel_cutlass_bend_tensorptrf32generico1_0", "kernel_cutlass_bent_tensorptrf32generico1_0"),
    *("triton_", "triton_poi_fused_add_0", "cupy_add__float32", *triton.DSL.library_kernels[:2]),
    *(name for name in VENDORS if name not in ("", "?")),
]


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The recorder, and a folder with a driver, and callers in the places of the submission's and others'."""
    folder = tmp_path_factory.mktemp("whose")
    (folder / "cuda" / "bindings").mkdir(parents=True)
    compiled(folder, "driver.so", ("naming_driver.c",), "-Wl,-Bsymbolic")  # its own functions, as the driver finds them
    for caller in ("own.so", "cuda/bindings/cydriver.so", "libcute_dsl_runtime.so", "libtorch_cuda.so"):
        compiled(folder, caller, ("launch_by_driver.c",))
    return compile_native(RECORDER, folder), folder


def launch(parts: tuple[Path, Path], caller: Path, function: str) -> tuple[list[int], list[int], LaunchTable]:
    """Launches of each of NAMES, the same without the submission's own, and the recorder's table."""
    recorder, folder = parts
    table = LaunchTable()
    table.source = SOURCE
    asked = {"table": table.descriptor, "bytes": os.fstat(table.descriptor).st_size, "source": SOURCE, "names": NAMES, "launch": function}
    asked["installed"] = " ".join(kernel_names(SOURCE))
    elsewhere = f"./{os.path.relpath(caller, '/')}"  # no path of the kind that a submission's objects have
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder / "driver.so"), str(caller) if caller.name == "own.so" else elsewhere, json.dumps(asked)],
        env={**os.environ, "LD_PRELOAD": str(recorder)},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
        pass_fds=[table.descriptor],
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts, nothing = json.loads(done.stdout)
    assert nothing == 500
    return counts[: len(NAMES)], counts[len(NAMES) :], table


@pytest.mark.parametrize(
    ("caller", "function"),
    [
        *(("own.so", function) for function in ("launch", "launch_together", "launch_asked")),
        *(("cuda/bindings/cydriver.so", function) for function in ("launch", "launch_together", "launch_asked")),
        *(("libcute_dsl_runtime.so", function) for function in ("launch", "launch_asked", "launch_asked_twice")),
        *(("libtorch_cuda.so", function) for function in ("launch", "launch_together")),
    ],
)
def test_what_is_recorded_as_own_is_left_out_unless_it_is_a_vendors(parts: tuple[Path, Path], caller: str, function: str) -> None:
    path = parts[1] / caller
    launched, ablated, table = launch(parts, path, function)
    try:
        own = {record.kernel: record.own for record in table.read()}
    finally:
        table.close()
    assert launched == [1] * len(NAMES)
    assert [own[name] and not is_vendors(name) for name in NAMES] == [left == 0 for left in ablated]
    seen_as = str(path) if caller == "own.so" else f"./{path.name}"
    assert own == {name: is_own_kernel(name, seen_as, SOURCE, (), by_driver=True) for name in NAMES}
