import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.build.builder import Builder
from evaluator.build.cache import Cache
from evaluator.build.processes.confined import LIMITS, ConfinedRunner
from evaluator.build.processes.graph import Edge, GraphRun, Job
from evaluator.build.processes.runner import CommandResult, Runner
from evaluator.build.request import BuildRequest
from evaluator.build.toolchain import Toolchain
from evaluator.results.category import Category
from evaluator.sandbox import Zygote, best_level
from tests.build.conftest import FLAGS

pytestmark = pytest.mark.skipif(best_level() is None, reason="no sandbox level works on this machine: python -m evaluator.sandbox check")

ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote.start((), best_level()) as started:
        yield started


@pytest.fixture
def runner(zygote: Zygote) -> Runner:
    return ConfinedRunner(zygote, ())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for parent in (tmp_path, *tmp_path.parents):
        if os.access(parent, os.W_OK) and parent.stat().st_uid == os.getuid() and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o011)
    work = tmp_path / "work"
    work.mkdir()
    work.chmod(0o777)
    return work


def sh(runner: Runner, script: str, folder: Path, timeout_s: float = 30.0) -> CommandResult:
    return runner.run(("/bin/sh", "-c", script), folder, ENV, timeout_s)


def test_runs_in_its_folder_and_leaves_its_product_there(runner: Runner, folder: Path) -> None:
    result = sh(runner, "pwd; echo made > product; exit 3", folder)
    assert (result.code, result.timed_out, result.output.strip()) == (3, False, str(folder))
    assert (folder / "product").read_text() == "made\n"


def test_compilers_run_on_the_cores_that_they_are_given(zygote: Zygote, folder: Path) -> None:
    last = max(os.sched_getaffinity(0))
    result = sh(ConfinedRunner(zygote, (), (last,)), "grep Cpus_allowed_list /proc/self/status", folder)
    assert (result.code, result.output.split()[-1]) == (0, str(last))


def test_later_command_reads_what_an_earlier_one_wrote(runner: Runner, folder: Path) -> None:
    assert sh(runner, "umask 077; exec /bin/sh -c 'umask 022; echo object > a.o'", folder).code == 0
    assert sh(runner, "cat a.o && echo linked > a.so", folder).output.strip() == "object"


def graph(runner: Runner, folder: Path, *scripts: str, timeout_s: float = 60.0, at_once: int = 2) -> list[CommandResult]:
    """Results of scripts that are edges of one graph, in their order."""
    jobs = [Job(f"job{number}", (Edge(f"job{number}", script),)) for number, script in enumerate(scripts)]
    run = GraphRun(runner, folder, ENV, jobs, at_once)
    try:
        ended = run.wait(timeout_s)
        ended += run.stop() if run.left else []
    finally:
        run.close()
    return [end.result for end in sorted(ended, key=lambda end: end.output)]


def test_ninja_runs_a_graph_in_the_sandbox(runner: Runner, folder: Path) -> None:
    made, failed = graph(runner, folder, "pwd; echo made > product; umask", "echo wrong >&2; exit 2")
    assert made == CommandResult(0, timed_out=False, output=f"{folder}\n0022\n")
    assert failed == CommandResult(2, timed_out=False, output="wrong\n")
    assert (folder / "product").read_text() == "made\n"


def test_a_graph_sees_no_secret_and_writes_nowhere_else(runner: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1")
    neighbour = folder.parent / "neighbour"
    neighbour.write_text("0xfeedface")
    (said,) = graph(runner, folder, f"env; cat {neighbour}; echo > {neighbour}")
    assert said.code != 0
    assert "SECRET" not in said.output
    assert neighbour.read_text() == "0xfeedface"
    assert "0xfeedface" not in said.output


@pytest.mark.slow(15)
def test_the_deadline_of_a_graph_leaves_nothing_behind(runner: Runner, folder: Path) -> None:
    mark = f"30.{os.getpid()}"
    quick, slow = graph(runner, folder, "echo done", f"echo begun; setsid sleep {mark} & sleep {mark}", timeout_s=10.0)
    assert (quick.code, quick.timed_out) == (0, False)
    assert (slow.code, slow.timed_out, slow.output) == (None, True, "begun\n")
    alive = [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _read(path)]
    assert not alive


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_memory_that_a_graph_needs_too_much_of_is_told(runner: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.build.processes.confined.LIMITS", replace(LIMITS, memory_bytes=128 << 20))
    hungry = "exec python3 -c 'x = bytearray(1 << 30); print(sum(x[::4096]))'"
    fed, killed = graph(runner, folder, "echo fed", f"sleep 1; {hungry}", at_once=1)
    assert (fed.code, fed.output) == (0, "fed\n")
    assert killed.code is None
    assert "the compiler needed more than 0 GiB" in killed.output


@pytest.mark.build
def test_failure_in_the_sandbox_is_the_sources_own(zygote: Zygote, machine: Toolchain, warm: Path) -> None:
    text = """#include <torch/extension.h>
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
m.def("thrice", thrice, "thrice");
}
"""
    request = BuildRequest.model_validate({"name": "adder", "sources": [{"name": "main.cpp", "text": text}], "extra_cflags": FLAGS})
    outcome = Builder(Cache(warm), machine, zygote).build(request)
    assert (outcome.evidence.category, outcome.object_fd) == (Category.MISSING_BINDING, None), outcome.evidence.output
    assert [(attempt.way, attempt.ok) for attempt in outcome.evidence.attempts] == [("lean+precompiled, proof: undeclared name", False)]


@pytest.mark.build
@pytest.mark.parametrize("text", ["__global__ void k(const float* x) { float* y = x; }", '#include "nowhere.h"'])
def test_second_attempt_is_not_in_the_way_of_the_first(
    text: str, zygote: Zygote, cuda_machine: Toolchain, warm: Path, tmp_path: Path
) -> None:
    request = BuildRequest.model_validate({"name": "x", "sources": [{"name": "cuda.cu", "text": text}]})
    cpu_only = replace(cuda_machine, torch=replace(cuda_machine.torch, cuda=None))
    fast = Builder(Cache(warm), cpu_only, zygote).build(request).evidence
    stock = Builder(Cache(tmp_path / "stock"), cpu_only, zygote, stock_only=True).build(request).evidence
    assert (fast.category, fast.output) == (stock.category, stock.output)
    assert "Permission denied" not in fast.output
    assert len(fast.attempts) == 2
