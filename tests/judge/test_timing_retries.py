"""A timing on a disturbed device, and its repetition."""

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import pytest

from evaluator.judge.context import JudgeContext
from evaluator.judge.correctness.reference import BaselineFailedError
from evaluator.judge.device.cpu_affinity import judge_core
from evaluator.judge.device.cpu_contention import OWN, CpuContention, waited_s
from evaluator.judge.device.gpu_monitor import GpuMonitor
from evaluator.judge.device.nvml import Nvml
from evaluator.judge.timing.baseline_alone import BaselineAlone
from evaluator.judge.timing.checks.spot_check import WrongAnswerError
from evaluator.judge.timing.host_blank import Blank
from evaluator.judge.timing.run import TimingRun, UnevenError
from evaluator.judge.timing_retries import TimingRetries
from evaluator.machine.devices import Device
from evaluator.results.category import Category
from evaluator.results.evidence import TimingEvidence
from evaluator.worker.protocol import ProtocolError
from tests.judge.conftest import Judge
from tests.judge.device.test_cpu_affinity import LAST
from tests.judge.sources import SOFTMAX
from tests.judge.stand_in_nvml import UUID, StandIn

pytestmark = pytest.mark.slow(40)

HOT, CALM, IDLE = 0x40, 0x4, 0x1
JUDGES = list(judge_core([LAST]))


class EnoughProcessors(CpuContention):
    """Reports that no process waits for a core, whatever else this machine does."""

    def __init__(self, pids: Iterable[int] = ()) -> None:
        (self.baseline,) = pids
        super().__init__([self.baseline])

    def share(self) -> float:
        assert self._before_s[str(self.baseline)] is not None or self._before_s[OWN] is None
        return 0.0


def watching(monkeypatch: pytest.MonkeyPatch, *reasons: int) -> list[GpuMonitor]:
    """Let the device be in these states, one for each timing, the last for all that follow; the watches that were asked for."""
    monkeypatch.setattr("evaluator.judge.device.gpu_monitor.CpuContention", EnoughProcessors)
    states, made = itertools.chain(reasons, itertools.repeat(reasons[-1])), []

    def watch_of(device: Device) -> GpuMonitor:
        mask = next(states)
        made.append(GpuMonitor(Nvml.open(UUID, StandIn(reasons=lambda: mask)), lambda _: 0))
        return made[-1]

    monkeypatch.setattr("evaluator.judge.timing_retries.watch_of", watch_of)
    return made


def test_a_calm_device_is_timed_on_once(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    watches = watching(monkeypatch, CALM)
    evidence = judge(SOFTMAX).evidence
    assert len(watches) == 1
    stages = [stage for stage, _ in itertools.groupby(state.stage for state in evidence.device_states)]
    assert stages == ["before timing", "timing", "after timing"]
    assert evidence.conditions is not None and not evidence.conditions.repeated and evidence.conditions.throttled == ""
    assert {state.throttled for state in evidence.device_states} == {"sw_power_cap"}
    assert "second_timing" not in evidence.stages_s


def test_a_timing_on_a_throttled_device_is_repeated_and_the_second_counts(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    watches = watching(monkeypatch, HOT, IDLE)
    result = judge(SOFTMAX)
    evidence = result.evidence
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert len(watches) == 2 and evidence.stages_s["second_timing"] > 0
    conditions, timing = evidence.conditions, evidence.timing
    assert conditions is not None and timing is not None
    assert conditions.repeated and not conditions.disturbed and conditions.remark == ""
    assert conditions.first_runtime_ms is not None and conditions.first_runtime_ms != timing.runtime_ms
    assert result.runtime_ms == timing.runtime_ms
    assert "after second timing" in {state.stage for state in evidence.device_states}


def test_where_it_stays_throttled_the_times_are_marked_and_not_taken_a_third_time(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    watches = watching(monkeypatch, HOT)
    result = judge(SOFTMAX)
    conditions = result.evidence.conditions
    assert len(watches) == 2 and conditions is not None
    assert conditions.repeated and conditions.disturbed
    assert result.summary()["disturbed"] == "its clock was lowered (hw_thermal_slowdown), in a second timing too"


@pytest.mark.parametrize("error", [BaselineFailedError("CUDA out of memory"), RuntimeError("CUDA error")])
@pytest.mark.parametrize("hot", [True, False])
def test_where_a_second_timing_comes_to_nothing_the_first_one_stands(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, error: Exception, hot: bool
) -> None:
    watching(monkeypatch, HOT if hot else CALM)
    taken = contradicted(monkeypatch, BORNE_OUT if hot else CHARGED)
    monkeypatch.setattr(TimingRetries, "_second_timing", failing(error))
    result = judge(SOFTMAX)
    conditions, timing = result.evidence.conditions, result.evidence.timing
    assert result.category is Category.NO_CUSTOM_KERNEL and result.runtime_ms == taken[0], result.message
    assert timing is not None and timing.contested is None
    assert conditions is not None and conditions.disturbed is hot and not conditions.repeated


def test_an_answer_that_is_wrong_in_the_second_timing_is_as_wrong_as_in_the_first(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    watching(monkeypatch, HOT)
    monkeypatch.setattr(TimingRetries, "_second_timing", failing(WrongAnswerError(3, "far off")))
    result = judge(SOFTMAX)
    assert result.category is Category.CACHED_OUTPUT and "far off" in result.message
    assert result.evidence.timing is None and result.speedup is None


TRACING = "import ctypes\nctypes.CDLL(None).ptrace(0, 0, 0, 0)\n" + SOFTMAX


@pytest.mark.parametrize(("error", "category"), [(ProtocolError("nonsense"), Category.FORGED_RESULT), (None, Category.SANDBOX_VIOLATION)])
def test_what_breaks_out_in_the_second_timing_is_disqualified(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, error: Exception | None, category: Category
) -> None:
    def second_timing(timing_retries: TimingRetries) -> None:
        worker_set = timing_retries._worker_set
        worker = worker_set.fork()
        worker_set.launcher.greet(worker)
        if error:
            raise error
        worker_set.launcher._load(worker, TRACING, "ModelNew", threads=1)

    watching(monkeypatch, HOT)
    monkeypatch.setattr(TimingRetries, "_second_timing", second_timing)
    result = judge(SOFTMAX)
    assert result.category is category, result.message
    assert result.runtime_ms is None and result.evidence.timing is None
    assert result.evidence.rounds


Late = tuple[float, float]
"""What the judge's clock holds against claims, in ms: by any witness, which is added to the time, and by single calls, which accuses."""


def contradicted(monkeypatch: pytest.MonkeyPatch, *late: Late) -> list[float]:
    """Let the judge's clock hold so much against each timing, one after the other, as on a GPU; the times of those that were taken."""
    run, left = TimingRun.run, iter(late)
    taken: list[float] = []

    def contradicting(timing: TimingRun) -> TimingEvidence:
        unclaimed_ms, unexplained_ms = next(left)
        told = {"clock": "cuda_event", "gated": True, "unclaimed_ms": unclaimed_ms, "unexplained_ms": unexplained_ms}
        found = run(timing).model_copy(update=told)
        taken.append(found.runtime_ms)
        return found

    monkeypatch.setattr(TimingRun, "run", contradicting)
    monkeypatch.setattr("evaluator.judge.timing.run.CpuContention", EnoughProcessors)
    return taken


BORNE_OUT, CHARGED, CHARGED_MORE, ACCUSED = (0.0, 0.0), (50.0, 0.0), (70.0, 0.0), (40.0, 40.0)


@pytest.mark.parametrize(("late", "category"), [(BORNE_OUT, Category.NO_CUSTOM_KERNEL), (ACCUSED, Category.TIMING_TAMPERING)])
def test_what_the_judges_clock_bears_out_or_accuses_is_timed_once(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, late: Late, category: Category
) -> None:
    taken = contradicted(monkeypatch, late)
    result = judge(SOFTMAX)
    assert result.category is category, result.message
    assert len(taken) == 1 and result.evidence.timing is not None and result.evidence.timing.contested is None


@pytest.mark.parametrize(("second", "counts"), [(BORNE_OUT, 1), (CHARGED_MORE, 0), (ACCUSED, 0)])
def test_of_two_timings_the_one_with_less_against_it_counts(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, second: Late, counts: int
) -> None:
    taken = contradicted(monkeypatch, CHARGED, second)
    result = judge(SOFTMAX)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    timing = result.evidence.timing
    assert timing is not None and timing.contested is not None
    assert (result.runtime_ms, timing.runtime_ms, timing.contested.runtime_ms) == (taken[counts], taken[counts], taken[1 - counts])
    assert timing.contested.late_ms == (CHARGED, second)[1 - counts][0]
    assert (timing.runtime_ms < 50.0) is bool(counts) and result.evidence.stages_s["second_timing"] > 0


@pytest.mark.parametrize("second", ["right", "wrong", "dead"])
def test_a_candidate_that_can_t_be_held_is_timed_anew_without_a_launch_lead(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    run, leads = TimingRun.run, []

    def uneven(timing: TimingRun) -> TimingEvidence:
        leads.append(timing._options.launch_lead)
        if timing._options.launch_lead:
            raise UnevenError
        if second == "wrong":
            raise WrongAnswerError(3, "far off")
        if second == "dead":
            timing._interleaver.candidate.worker.confined.kill()
        return run(timing)

    monkeypatch.setattr(TimingRun, "run", uneven)
    result = judge(SOFTMAX)
    assert leads == [True, False]
    evidence = result.evidence
    if second == "right":
        assert result.category is Category.NO_CUSTOM_KERNEL and evidence.timing is not None, result.message
    else:
        expected = Category.CACHED_OUTPUT if second == "wrong" else Category.PROCESS_CRASH
        assert result.category is expected and evidence.timing is None, result.message


def test_a_disturbed_timing_does_not_take_the_place_of_an_undisturbed_one(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    watching(monkeypatch, CALM, HOT)
    taken = contradicted(monkeypatch, CHARGED, BORNE_OUT)
    result = judge(SOFTMAX)
    assert len(taken) == 2 and result.runtime_ms == taken[0]
    assert result.evidence.conditions is not None and not result.evidence.conditions.disturbed
    assert result.summary()["disturbed"] == ""


@pytest.mark.parametrize("second", [False, True])
def test_a_timing_on_a_cpu_with_slow_requests_is_repeated_once(judge: Judge, monkeypatch: pytest.MonkeyPatch, second: bool) -> None:
    slow = iter([True, second])
    monkeypatch.setattr(BaselineAlone, "blank", lambda *_, **__: Blank(0.0, next(slow)))
    monkeypatch.setattr("evaluator.judge.timing.run.CpuContention", EnoughProcessors)
    result = judge(SOFTMAX)
    conditions = result.evidence.conditions
    assert conditions is not None and conditions.repeated and conditions.disturbed is second
    remark = "empty requests took too long beside its calls, in a second timing too"
    assert result.summary()["disturbed"] == (remark if second else "") and next(slow, None) is None


@pytest.mark.skipif(waited_s(OWN) is None, reason="this kernel does not count how long a thread waits for a core")
def test_a_crowded_cpu_is_marked(judge: Judge, context: JudgeContext) -> None:
    spin = f"import os\nos.sched_setaffinity(0, {JUDGES})\nwhile True: pass"
    crowd = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(4)]
    try:
        result = judge(SOFTMAX, context=replace(context, cores=(LAST,)))
    finally:
        for process in crowd:
            process.kill()
            process.wait()
    conditions = result.evidence.conditions
    assert conditions is not None and conditions.is_crowded, conditions
    assert "there were too few CPU cores" in result.summary()["disturbed"]


def failing(error: Exception) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail


@pytest.mark.gpu
@pytest.mark.parametrize("busy", [False, True])
def test_a_strangers_process_on_the_gpu_is_seen_and_has_the_timing_repeated(judge: Judge, gpu_context: JudgeContext, busy: bool) -> None:
    with stranger() if busy else nullcontext():
        result = judge(SOFTMAX, context=gpu_context, case="full")
    conditions, states = result.evidence.conditions, result.evidence.device_states
    assert conditions is not None and result.speedup is not None
    assert states[0].sm_clock_mhz is not None and len(states) >= 3
    if conditions.shared is None:
        return  # a machine on which the driver does not name this process: nothing is known, and nothing is repeated for it
    assert conditions.shared is busy
    assert conditions.repeated is (busy or bool(conditions.throttled))


@contextmanager
def stranger() -> Iterator[None]:
    """A process with a context on the GPU that has no judge above it, as another user's would be."""
    code = "import torch, time; torch.zeros(1, device='cuda'); print('here', flush=True); time.sleep(600)"
    launcher = "import os, subprocess, sys; child = subprocess.Popen([sys.executable, '-c', sys.argv[1]]); print(child.pid, flush=True)"
    with subprocess.Popen([sys.executable, "-c", launcher, code], stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        told = {shell.stdout.readline().strip(), shell.stdout.readline().strip()}
    (pid,) = (int(line) for line in told - {b"here"})
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
