"""Timings that are made again, in whole evaluations."""

import contextlib
import gc
import itertools
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evaluator.judge.again import Again, Reason
from evaluator.judge.attempts import Attempts, Step
from evaluator.judge.context import JudgeContext, Task
from evaluator.judge.device.cpu_contention import CpuContention
from evaluator.judge.device.gpu_monitor import GpuMonitor
from evaluator.judge.device.nvml import Nvml
from evaluator.judge.session import Session
from evaluator.judge.timing.baseline_alone import BaselineAlone, Blank
from evaluator.judge.timing.setup import Participants, TimedCase, TimingOptions
from evaluator.machine.devices import Device
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.load import load
from evaluator.results.category import Category
from evaluator.results.evidence import TimingEvidence, TimingSide
from tests.judge.conftest import Judge, make_job
from tests.judge.sources import SOFTMAX, forward
from tests.judge.stand_in_nvml import UUID, StandIn
from tests.judge.test_workloads import PROBLEM, RIGHT

HOT, CALM, IDLE = 0x40, 0x4, 0x1


class EnoughProcessors(CpuContention):
    """Reports that no process waits for a core, whatever else this machine does."""

    def share(self) -> float:
        return 0.0


class TooFewProcessors(CpuContention):
    def share(self) -> float:
        return 0.5


def watching(monkeypatch: pytest.MonkeyPatch, *reasons: int) -> list[GpuMonitor]:
    """Let the device be in these states, one for each timing, the last for all that follow; the watches that were asked for."""
    monkeypatch.setattr("evaluator.judge.device.gpu_monitor.CpuContention", EnoughProcessors)
    states, made = itertools.chain(reasons, itertools.repeat(reasons[-1])), list[GpuMonitor]()

    def watch_of(device: Device) -> GpuMonitor:
        mask = next(states)
        made.append(GpuMonitor(Nvml.open(UUID, StandIn(reasons=lambda: mask)), lambda _: 0))
        return made[-1]

    monkeypatch.setattr("evaluator.judge.case_timings.watch_of", watch_of)
    return made


BORNE_OUT, CHARGED = 0.0, 50.0
"""Time that the judge's clock adds to the claims, in ms."""
ACCUSED = -1.0
"""A timing whose worker left flushes out."""
Found = float | Exception
SIDE = TimingSide(median_ms=1.0, lower_quartile_ms=1.0, upper_quartile_ms=1.0, samples_ms=(1.0,) * 30)


class Timings:
    """Timings as on a GPU that take no time: what each one finds is said, the last for all that follow."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *found: Found) -> None:
        self._found = itertools.chain(found, itertools.repeat(found[-1]))
        self.options: list[TimingOptions] = []
        """The options of each, one after the other."""
        self.cases: list[str] = []
        self.runtimes_ms: list[float] = []
        monkeypatch.setattr("evaluator.judge.case_timings.TimingRun", self._made)

    def _made(self, _: Participants, timed_case: TimedCase, options: TimingOptions, __: Any) -> Any:
        self.options.append(options)
        self.cases.append(timed_case.case.name)
        found = next(self._found)
        return SimpleNamespace(time_in_turns=partial(self._in_turns, options, found), time_alone=partial(self._alone, found))

    def _in_turns(self, options: TimingOptions, found: Found) -> None:
        options.look()
        if isinstance(found, Exception):
            raise found

    def _alone(self, found: Found) -> TimingEvidence:
        assert isinstance(found, float)
        candidate = SIDE.model_copy(update={"median_ms": float(len(self.options))})
        timing = TimingEvidence(clock="cuda_event", calls=30, gated=True, candidate=candidate, baseline=SIDE, protocol="cpu")
        timing = timing.model_copy(update={"unclaimed_ms": max(found, 0.0), "unflushed": 30 if found == ACCUSED else 0})
        self.runtimes_ms.append(timing.runtime_ms)
        return timing


@pytest.mark.parametrize("ends", [True, False], ids=["the evaluation", "the timing"])
def test_an_error_that_ends_a_step_frees_its_memory(context: JudgeContext, monkeypatch: pytest.MonkeyPatch, ends: bool) -> None:
    """Without the garbage collector, which a device's lack of memory does not call."""
    problem = load(SHIPPED / "softmax.py")
    session = Session(Task(context, make_job("class ModelNew: pass"), problem, problem.instance("small"), lambda _: None))
    held: list[weakref.ref[torch.Tensor]] = []
    found: list[bool] = []

    def time() -> bool:
        found.extend(each() is not None for each in held)
        large = torch.zeros(8)
        held.append(weakref.ref(large))
        raise ValueError("no") if ends else Again(Reason.OVERFLOW)

    monkeypatch.setattr(Attempts, "prepare", lambda *_: None)
    gc.disable()
    try:
        with contextlib.suppress(ValueError, Again):
            Attempts(session, {step: time if step is Step.TIMING else lambda: True for step in Step}).run()
        assert held[-1]() is None and found == ([] if ends else [False])
    finally:
        gc.enable()
        session.worker_set.close()


@pytest.fixture
def repeating(judge: Judge) -> Judge:
    """Judges, and repeats a timing that was disturbed."""
    return partial(judge, SOFTMAX, timing="repeated")


@pytest.mark.parametrize(
    ("reasons", "watches", "disturbed"),
    [
        ((CALM,), 1, ""),
        ((HOT, IDLE), 2, ""),
        ((HOT,), 2, "its clock was lowered (hw_thermal_slowdown), in a second timing too"),
    ],
    ids=["calm", "throttled at first", "throttled"],
)
def test_a_timing_on_a_throttled_device_is_repeated_once_and_the_second_counts(
    repeating: Judge, monkeypatch: pytest.MonkeyPatch, reasons: tuple[int, ...], watches: int, disturbed: str
) -> None:
    watched, timings = watching(monkeypatch, *reasons), Timings(monkeypatch, BORNE_OUT)
    result = repeating()
    evidence, conditions = result.evidence, result.evidence.conditions
    assert result.category is Category.NO_CUSTOM_KERNEL and conditions is not None, result.message
    assert len(watched) == len(timings.runtimes_ms) == watches
    assert (result.runtime_ms, result.summary()["disturbed"]) == (timings.runtimes_ms[-1], disturbed)
    assert (conditions.repeated, conditions.disturbed) == (watches == 2, bool(disturbed))
    assert conditions.first_runtime_ms == (timings.runtimes_ms[0] if watches == 2 else None)
    assert ("second_timing" in evidence.stages_s) is (watches == 2)
    stages = [f"{when} {name}" for name in ("timing", "second timing")[:watches] for when in ("before", "after")]
    assert [state.stage for state in evidence.device_states if state.stage[:6] in ("before", "after ")] == stages
    assert reasons != (CALM,) or {state.throttled for state in evidence.device_states} == {"sw_power_cap"}


@pytest.mark.parametrize(
    ("late", "counts", "category"),
    [
        ((BORNE_OUT,), 0, Category.NO_CUSTOM_KERNEL),
        ((ACCUSED,), 0, Category.TIMING_TAMPERING),
        ((CHARGED, BORNE_OUT), 1, Category.NO_CUSTOM_KERNEL),
    ],
)
def test_a_charged_timing_is_repeated_and_the_one_with_less_against_it_counts(
    repeating: Judge, monkeypatch: pytest.MonkeyPatch, late: tuple[float, ...], counts: int, category: Category
) -> None:
    """One that the judge's clock bears out, or that accuses, is not repeated."""
    watching(monkeypatch, CALM)
    timings = Timings(monkeypatch, *late)
    result = repeating()
    assert result.category is category, result.message
    timing, taken_ms = result.evidence.timing, timings.runtimes_ms
    assert timing is not None and len(taken_ms) == len(late) and timing.runtime_ms == taken_ms[counts]
    if len(late) == 1:
        assert timing.contested is None
    else:
        assert timing.contested is not None and result.evidence.stages_s["second_timing"] > 0
        assert (result.runtime_ms, timing.contested.runtime_ms) == (taken_ms[counts], taken_ms[1 - counts])
        assert timing.contested.late_ms == max(late[1 - counts], 0.0)


@pytest.mark.slow(15)
@pytest.mark.parametrize(
    ("contested", "second", "counts"),
    [({"20"}, (BORNE_OUT,), {"20"}), ({"full"}, (BORNE_OUT,), {"40"}), ({"10", "full"}, (BORNE_OUT, 2 * CHARGED), {"10"})],
)
def test_only_contested_workloads_are_timed_again(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, contested: set[str], second: tuple[float, ...], counts: set[str]
) -> None:
    watching(monkeypatch, CALM)
    order = ["10", "20", "full"]
    timings = Timings(monkeypatch, *(CHARGED if case in contested else BORNE_OUT for case in order), *second)
    result = judge(forward(RIGHT), problem_text=PROBLEM.replace("FAILED", "fails"), timing="repeated")
    assert timings.cases == order + [case for case in order if case in contested]
    assert result.evidence.timing is not None
    found = {each.case: each.timing for each in result.evidence.timing.workloads}
    assert {case for case, timing in found.items() if timing and timing.candidate.median_ms > len(order)} == counts and len(found) == 3


def test_a_candidate_that_can_t_be_held_is_timed_anew_without_a_launch_lead(repeating: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    timings = Timings(monkeypatch, Again(Reason.UNEVEN), BORNE_OUT)
    result = repeating()
    assert [options.launch_lead for options in timings.options] == [True, False]
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert result.evidence.timing is not None


@pytest.mark.parametrize("second", [pytest.param(False, marks=pytest.mark.slow(10)), True])
def test_a_timing_on_a_cpu_with_slow_requests_is_repeated_once(repeating: Judge, monkeypatch: pytest.MonkeyPatch, second: bool) -> None:
    slow = iter([True, second])
    monkeypatch.setattr(BaselineAlone, "blank", lambda *_, **__: Blank(0.0, next(slow)))
    monkeypatch.setattr("evaluator.judge.timing.run.CpuContention", EnoughProcessors)
    result = repeating()
    conditions = result.evidence.conditions
    assert conditions is not None and conditions.repeated and conditions.disturbed is second
    remark = "empty requests took too long beside its calls, in a second timing too"
    assert result.summary()["disturbed"] == (remark if second else "") and next(slow, None) is None


def test_a_crowded_cpu_is_marked(repeating: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.judge.timing.run.CpuContention", TooFewProcessors)
    result = repeating()
    conditions = result.evidence.conditions
    assert conditions is not None and conditions.is_crowded, conditions
    assert "there were too few CPU cores (50% of the time)" in result.summary()["disturbed"]


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
