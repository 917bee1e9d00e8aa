"""Workers under ncu. A program stands in for ncu: it runs its child, and writes what ncu would write.

The levels of the sandbox are in test_sanitizer_runs.py: tools start workers in the same way.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.diagnosis import Verdict
from evaluator.judge.context import JudgeContext, Task
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.nvidia_tools.tool_run import Code, ToolSetting
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.profiler import runs as profile_runs
from evaluator.profiler.runs import ProfileRuns, choose_case, launched_by
from evaluator.profiler.tool import Profiler
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, KernelTimes, LaunchRecord, ProfiledSide
from evaluator.results.result import Result
from tests.diagnosis.evidence import launch
from tests.judge.conftest import Judge, make_job

cold = pytest.mark.slow(20)
"""For tests that start Python and PyTorch anew, under a tool."""
LOGS = Path(__file__).parents[1] / "profiler/logs"
RIGHT = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.softmax(x, 1)\n"
SECOND_HANGS = RIGHT.replace(
    "        return", "        self.calls = getattr(self, 'calls', 0) + 1\n        while self.calls > 1: pass\n        return"
)


def stand_in(folder: Path, log: str = "two_kernels", after: str = '"$@"') -> Profiler:
    """An ncu that runs its child, and then writes this log."""
    told = folder / "told.txt"
    told.write_bytes((LOGS / f"{log}.txt").read_bytes())
    program = folder / "ncu"
    program.write_text(f"#!/bin/sh\n{after}\ncat {told} > /proc/self/fd/4\n", encoding="utf-8")
    program.chmod(0o755)
    told.chmod(0o644)
    return Profiler(str(program), "2025.3")


def runs_of(context: JudgeContext, profiler: Profiler, code: str = RIGHT, problem: str = "softmax") -> ProfileRuns:
    loaded = load(SHIPPED / f"{problem}.py")
    case = loaded.instance("small")
    task = Task(context, make_job(code, problem), loaded, case, lambda _: None)
    setting = ToolSetting(context, "profile", DeviceLock(context.device.unique_id), {}, context.readonly, lambda _: None)
    return ProfileRuns(task, setting, profiler, case)


def profiled(context: JudgeContext, profiler: Profiler, code: str = RIGHT) -> ProfiledSide:
    """The stand-in takes no options: its words are its name, and what it is to run."""
    runs = runs_of(context, profiler, code)
    folder = Path(profiler.program).parent
    runs = replace(runs, setting=replace(runs.setting, readonly=(*runs.setting.readonly, str(folder))))
    try:
        return runs.side_by((profiler.program,), Code(code), 1, {"softmax_kernel"})
    finally:
        runs.setting.lock.close()


@cold
def test_what_ncu_writes_becomes_figures(context: JudgeContext, open_folder: Path) -> None:
    found = profiled(context, stand_in(open_folder))
    assert (found.outcome, found.remark, found.passes) == ("ended", "", 8)
    assert [(kernel.own, kernel.registers) for kernel in found.kernels] == [(True, 168), (False, 32)]
    assert found.duration_ms == pytest.approx(0.212576) and found.duration_s > 0
    assert found.moved_bytes is None  # of one kernel it is not known


@cold
def test_refused_counters_are_told(context: JudgeContext, open_folder: Path) -> None:
    found = profiled(context, stand_in(open_folder, "refused"))
    assert found.outcome == "refused" and found.kernels == () and found.remark.startswith("ERR_NVGPUCTRPERM")


@cold
def test_a_program_that_is_not_ncu_comes_to_nothing(context: JudgeContext, open_folder: Path) -> None:
    found = profiled(context, stand_in(open_folder, after="exec head -c 6000000 /dev/urandom > /proc/self/fd/4"))
    assert (found.outcome, found.kernels) == ("failed", ())


@cold
def test_a_call_that_does_not_end_leaves_what_was_measured(
    context: JudgeContext, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_runs, "KERNEL_S", 2.0)
    found = profiled(context, stand_in(open_folder, "ended_by_its_limit"), SECOND_HANGS)
    assert (found.outcome, len(found.kernels)) == ("deadline", 1)
    assert found.remark == "time ran out, stopped after 2 s; kernels with figures: 1"


@cold
def test_the_references_profile_is_kept(context: JudgeContext, open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(open_folder / "cache"))
    # As ncu, it leaves its own options behind until the program that it is to run.
    profiler = stand_in(open_folder, after='while [ "$1" != "-B" ]; do last=$1; shift; done; "$last" "$@"')
    monkeypatch.setattr(Profiler, "readonly_paths", (str(open_folder),))
    runs = runs_of(context, profiler)
    first = runs.reference()
    assert first.outcome == "ended" and [kernel.own for kernel in first.kernels] == [False, False]
    Path(profiler.program).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert runs.reference() == first
    newer = replace(runs, profiler=replace(profiler, version="2026.1"))
    assert newer.reference().outcome == "failed"
    runs.setting.lock.close()


@pytest.mark.slow
def test_without_a_gpu_it_says_so_and_the_verdict_is_as_ever(judge: Judge) -> None:
    result = judge(RIGHT, profile=True)
    assert result.category is Category.NO_CUSTOM_KERNEL
    assert result.evidence.profile is not None and "needs an NVIDIA GPU" in result.evidence.profile.remark


def test_what_is_wrong_is_not_profiled(judge: Judge) -> None:
    assert judge(RIGHT.replace("torch.softmax(x, 1)", "x"), profile=True).evidence.profile is None


def test_the_verdict_is_told_before_the_profile(judge: Judge) -> None:
    settled: list[Result] = []
    result = judge(RIGHT, profile=True, settle=settled.append)
    (before,) = settled
    assert (before.category, before.runtime_ms, before.speedup) == (result.category, result.runtime_ms, result.speedup)
    assert before.evidence.profile is not None and before.evidence.profile.remark == "it was interrupted"


def test_a_profile_that_raises_leaves_the_verdict(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("CUDA is gone")

    monkeypatch.setattr(profile_runs, "profile", fail)
    result = judge(RIGHT, profile=True)
    assert result.category is Category.NO_CUSTOM_KERNEL
    assert result.evidence.profile is not None and result.evidence.profile.remark == "nothing was profiled: CUDA is gone"


@pytest.mark.parametrize(("category", "wanted"), [(Category.OK, True), (Category.REDUCED_PRECISION, True), (Category.WRONG_VALUES, False)])
def test_right_submissions_are_profiled_where_it_was_asked_for(context: JudgeContext, category: Category, wanted: bool) -> None:
    task = runs_of(context, Profiler("ncu", "1")).task
    assert not profile_runs.applies(task, Verdict(category, ""), Evidence())
    asked = replace(task, job=replace(task.job, profile=True))
    assert profile_runs.applies(asked, Verdict(category, ""), Evidence()) is wanted


def test_gigabytes_are_profiled_in_a_smaller_case() -> None:
    softmax = load(SHIPPED / "softmax.py")
    chosen, remark = choose_case(softmax.instance("full"))
    assert chosen.name == "small" and remark == "full has 13 GB of tensors, and at most 1.1 GB are profiled"
    gelu = load(SHIPPED / "gelu_tanh.py").instance("full")
    assert choose_case(gelu) == (gelu, "")


def test_the_kernels_of_a_call_are_counted_by_those_that_were_timed() -> None:
    def evidence(*launches: LaunchRecord, calls: int = 0) -> Evidence:
        return Evidence(launches=launches, kernel_times=KernelTimes(calls=calls, call_ms=1.0) if calls else None)

    assert launched_by(evidence(launch())) == 1
    assert launched_by(evidence(launch(timed=9), launch(timed=3), launch(own=False, timed=30), calls=3)) == 4
    assert launched_by(evidence(launch(), launch(own=False))) == 1
    assert launched_by(evidence()) == 1
