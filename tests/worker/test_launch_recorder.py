"""The launch recorder skips the submission's own launches, and no others. A small library stands in for CUDA's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.build.native import compile_native
from evaluator.engine.warm_parents import RECORDER
from evaluator.judge.workers.launch_table import LaunchTable
from evaluator.results.evidence import KernelLimits, LaunchRecord

SCRIPT = """
import ctypes, sys
runtime, caller = (ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in sys.argv[1:3])
counts = []
for _ in range(2):
    codes = [caller.launch_all() for _ in range(3)]
    counts.append((codes, runtime.launches()))
    ctypes.CDLL(None).assay_recorder_ablate()
print(counts)
"""
APIS = 6
LAPS = 1024
"""The constants APIS and LAPS of launch_clock.h."""


SOURCES = Path(__file__).parent / "recorder"
WAITING = {"CUDA_LAUNCH_BLOCKING": "1"}


def compiled(folder: Path, name: str, sources: tuple[str, ...], *options: str) -> Path:
    """A shared object of these files of SOURCES."""
    command = ["cc", "-shared", "-fPIC", "-O2", "-w", *(str(SOURCES / each) for each in sources), *options, "-o", name, "-ldl"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / name


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_native(RECORDER, tmp_path_factory.mktemp("recorder"))


@pytest.fixture(scope="module")
def runtime(recorder: Path) -> Path:
    return compiled(recorder.parent, "runtime.so", ("runtime.c",))


@pytest.fixture(scope="module")
def caller(runtime: Path) -> Path:
    return compiled(runtime.parent, "caller.so", ("launch_all.c",), str(runtime))


def run_preloaded(recorder: Path, script: str, *arguments: str, cwd: str | None = None) -> str:
    """What a script prints in a Python that has the recorder preloaded."""
    command = [sys.executable, "-c", script, *arguments]
    environment = {**os.environ, "LD_PRELOAD": str(recorder)}
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=True).stdout.strip()


def test_launches_of_the_submissions_own_are_left_out(recorder: Path, runtime: Path, caller: Path) -> None:
    assert run_preloaded(recorder, SCRIPT, str(runtime), str(caller)) == f"[([42, 42, 42], {3 * APIS}), ([0, 0, 0], {3 * APIS})]"


def test_launches_of_others_take_place(recorder: Path, runtime: Path, caller: Path) -> None:
    elsewhere = f"./{os.path.relpath(caller, '/')}"  # no path of the kind that a submission's objects have
    said = run_preloaded(recorder, SCRIPT, str(runtime), elsewhere, cwd="/")
    assert said == f"[([42, 42, 42], {3 * APIS}), ([42, 42, 42], {6 * APIS})]"


def test_the_drivers_launches_are_seen_by_whatever_way_they_are_found(recorder: Path, runtime: Path, caller: Path) -> None:
    hidden = runtime.with_name("hidden.so")  # which nothing has linked
    hidden.write_bytes(runtime.read_bytes())
    script = f"""
import ctypes, os, sys
recorder, caller = ctypes.CDLL(None), ctypes.CDLL({str(caller)!r})
table = os.memfd_create("table")
os.ftruncate(table, 1 << 20)
recorder.assay_recorder_attach(table, ctypes.c_size_t(1 << 20))
codes = [caller.launch_found({str(hidden)!r}.encode())]
recorder.assay_recorder_ablate()
codes.append(caller.launch_found({str(hidden)!r}.encode()))
print(*codes, ctypes.CDLL({str(hidden)!r}).launches(), int.from_bytes(os.pread(table, 8, 0), "little"))
"""
    assert run_preloaded(recorder, script).split() == ["14", "0", "2", "2"]


def test_every_launch_that_is_recorded_can_be_left_out() -> None:
    text = RECORDER.read_text(encoding="utf-8")
    launches = re.findall(r"= \(launch_t\)next\(", text)
    assert len(launches) == len(re.findall(r"if \(left_out\(__builtin_return_address\(0\), kernel, [01]\)\)", text)) == 5


class Recorded:
    """Compiles a runtime and a launcher, and runs them with the recorder."""

    def __init__(self, folder: Path, recorder: Path) -> None:
        self._folder, self._recorder = folder, recorder

    def __call__(self, runtime: tuple[str, ...], launcher: str, *defines: str, **environment: str) -> tuple[int, str, list[LaunchRecord]]:
        """Exit code, output, and records by position of the first launch."""
        options = [f"-D{each}" for each in defines]
        library = compiled(self._folder, "runtime.so", runtime, *options)
        launching = compiled(self._folder, "launcher.so", (launcher,), *options, str(library))
        table = LaunchTable()
        script = f"""
import ctypes, os
recorder = ctypes.CDLL(None)
recorder.assay_recorder_attach({table.descriptor}, ctypes.c_size_t(os.fstat({table.descriptor}).st_size))
ctypes.CDLL("{library}", ctypes.RTLD_GLOBAL)
print(ctypes.CDLL("{launching}").launch_limited())
"""
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "LD_PRELOAD": str(self._recorder), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            pass_fds=[table.descriptor],
        )
        records = list(table.read())
        table.close()
        return done.returncode, done.stdout.strip() or done.stderr, records


@pytest.fixture
def recorded(tmp_path: Path, recorder: Path) -> Recorded:
    return Recorded(tmp_path, recorder)


def test_a_vendors_kernel_in_an_object_of_its_own_is_recorded_and_not_left_out(tmp_path: Path, recorder: Path, recorded: Recorded) -> None:
    code, said, records = recorded(("runtime.c", "names.c"), "launch_vendors.c")
    assert (code, said) == (0, "707"), said
    assert [record.own for record in records] == [True, True]
    script = """
import ctypes, sys
runtime, launcher = (ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in sys.argv[1:])
ctypes.CDLL(None).assay_recorder_ablate(1)
print(launcher.launch_limited())
"""
    assert run_preloaded(recorder, script, str(tmp_path / "runtime.so"), str(tmp_path / "launcher.so")) == "700"


def test_limits_clusters_and_the_last_launch_are_recorded(recorded: Recorded) -> None:
    code, said, (known, unknown, clustered) = recorded(("runtime.c", "limits.c"), "launch_limited.c")
    assert (code, said) == (0, "28"), said  # four refusals with 7, and no error of the recorder's own
    assert known.limits == KernelLimits(
        registers=90, static_shared_bytes=1024, local_bytes=48, max_threads=640, max_dynamic_shared_bytes=49152
    )
    assert (known.count, known.first, known.last, known.cluster) == (2, 0, 1, None)
    assert unknown.limits is None
    assert (clustered.cluster, clustered.grid, clustered.shared_bytes) == ((8, 1, 1), (16, 1, 1), 2048)


def test_a_launch_that_does_not_come_back_is_pending_where_launches_wait(recorded: Recorded) -> None:
    code, _, records = recorded(("hanging.c", "limits.c"), "launch_limited.c", **WAITING)
    assert code == 3
    assert [(item.kernel, item.count, item.block) for item in records if item.pending] == [("?", 0, (128, 1, 1))]
    code, _, records = recorded(("hanging.c", "limits.c"), "launch_limited.c")
    assert (code, {item.pending for item in records}) == (3, {False})


def test_a_kernel_that_hangs_after_it_ran_is_told_of_by_its_last_launch(recorded: Recorded) -> None:
    code, _, (other, hanging) = recorded(("hanging.c",), "launch_often.c", "HANGS_AT=3", **WAITING)
    assert code == 3
    assert (other.pending, other.first, other.grid) == (False, 0, (9, 9, 9))
    assert (hanging.pending, hanging.count, hanging.first, hanging.last) == (True, 2, 3, 2)
    assert (hanging.grid, hanging.block, hanging.shared_bytes) == ((3, 1, 1), (96, 1, 1), 192)


def test_launches_that_came_back_are_told_of_by_the_first(recorded: Recorded) -> None:
    code, _, (_, returned) = recorded(("hanging.c",), "launch_often.c", "HANGS_AT=99", **WAITING)
    assert (code, returned.pending, returned.count, returned.first, returned.last) == (0, False, 4, 1, 4)
    assert (returned.grid, returned.block, returned.shared_bytes) == ((1, 1, 1), (32, 1, 1), 64)


@pytest.mark.parametrize("environment", [{}, WAITING], ids=["launches return", "launches wait"])
def test_cuda_may_launch_while_it_is_asked_for_a_name(environment: dict[str, str], recorded: Recorded) -> None:
    code, said, records = recorded(("loading.c",), "launch_often.c", **environment)
    assert code == 0, said
    assert {item.kernel: item.count for item in records} == {"other": 1, "k": 4, "initialises": 1}


@pytest.mark.parametrize(
    "get",
    [
        'cuLibraryGetKernel(found, "library", "one")',
        'cuLibraryEnumerateKernels(found, 4, "library")',
        '((int (*)(void **, void *, const char *))dlsym(RTLD_DEFAULT, "cuLibraryGetKernel"))(found, "library", "one")',
    ],
    ids=["linked", "enumerated", "by name"],
)
def test_a_kernel_of_a_library_is_not_taken_for_a_function(get: str, recorded: Recorded) -> None:
    code, said, (kernel, function) = recorded(("driver.c",), "launch_library.c", f"GET={get}")
    assert (code, said) == (0, "0"), said
    assert (kernel.kernel, function.kernel) == ("of_a_library", "Ftwo")
    limits = KernelLimits(registers=41, static_shared_bytes=11, local_bytes=31, max_threads=1, max_dynamic_shared_bytes=81)
    assert kernel.limits == function.limits == limits


def test_the_clock_times_launches_while_it_runs(recorded: Recorded) -> None:
    code, said, records = recorded(("events.c",), "launch_clocked.c", "MANY=7")
    assert (code, said) == (0, str(2 * LAPS)), said  # no error is left behind, and no event is made twice
    assert [(item.count, item.timed, item.device_ms) for item in records] == [(21, 7, 21.0), (3, 0, 0.0), (3, 0, 0.0), (3, 0, 0.0)]


def test_launches_beyond_the_clocks_laps_go_untimed(recorded: Recorded) -> None:
    code, _, records = recorded(("events.c",), "launch_clocked.c", f"MANY={LAPS + 1}")
    assert (code, records[0].count, records[0].timed, records[0].device_ms) == (0, 3 * (LAPS + 1), LAPS, 3.0 * LAPS)


@pytest.mark.parametrize("version", [12040, 13000])
def test_kernels_of_graphs_are_counted_by_launches_of_the_graph(version: int, recorded: Recorded) -> None:
    code, said, records = recorded(("graphs.c",), "launch_graphs.c", f"RUNTIME={version}")
    assert (code, said) == (0, "118"), said  # one refused node
    captured_too = {"one": 2, "any": 3, "driven": 3, "asked": 3, "captured": 4, "below": 3, "late": 1, "refused": 1}
    assert {item.kernel: item.count for item in records} == captured_too
    grids = {item.kernel: (item.grid[0], item.code, item.side_stream) for item in records}
    assert grids["below"] == (4, 0, True) and grids["late"] == (5, 0, False) and grids["refused"] == (0, 1, False)
    assert all(item.own and item.block[0] in (32, 64) for item in records)


def test_own_kernels_of_graphs_are_left_out(tmp_path: Path, recorder: Path, recorded: Recorded) -> None:
    recorded(("graphs.c",), "launch_graphs.c", "RUNTIME=13000")
    script = """
import ctypes, sys
runtime, launcher = (ctypes.CDLL(path, ctypes.RTLD_GLOBAL) for path in sys.argv[1:])
ctypes.CDLL(None).assay_recorder_ablate(1)
print(launcher.launch_limited())
"""
    assert run_preloaded(recorder, script, str(tmp_path / "runtime.so"), str(tmp_path / "launcher.so")) == "0"


def test_a_process_without_events_is_not_timed(recorded: Recorded) -> None:
    code, said, records = recorded(("events.c",), "launch_clocked.c", "MANY=7", "cudaEventElapsedTime=nothing")
    assert (code, said, records[0].count, records[0].timed) == (0, "0", 21, 0)
