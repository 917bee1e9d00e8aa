"""Bursts behind the judge's gate, on a GPU."""

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from evaluator.diagnosis.notes.speed_notes import speed_notes
from evaluator.judge.context import JudgeContext
from evaluator.judge.timing.checks.cross_check import SINGLE, Sides
from evaluator.judge.timing.gpu.stream_gate import StreamGate
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.results.category import Category
from evaluator.results.result import Result
from evaluator.worker.gate import MappedGate
from tests.judge.conftest import Judge
from tests.judge.timing.gelu import gelu

pytestmark = pytest.mark.gpu

HOST_S = 0.004
MADV_REMOVE = 9
"""Linux: gives the pages of a file back."""
CYCLES, LEAST_SLEEP_MS = 1_000_000, 0.4
"""A wait of the device, and its least time at 2.5 GHz."""


@contextmanager
def gate_of(context: JudgeContext) -> Iterator[tuple[StreamGate, MappedGate, torch.cuda.Stream]]:
    """A gate, its page as a worker sees it, and the worker's stream."""
    device = torch.device(context.device.torch_device)
    with torch.cuda.device(device):
        torch.zeros(1, device=device).fill_(1)  # a kernel that is loaded behind the gate would wait for it
        torch.cuda._sleep(1)  # type: ignore[no-untyped-call]
        memory = SharedMemory(device)
        gate = StreamGate(memory)
        mapped, stream = MappedGate(os.dup(gate.descriptor)), torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        try:
            assert gate.works()
            yield gate, mapped, stream
        finally:
            gate.release(nothing)
            torch.cuda.synchronize()
            mapped.close()
            memory.close()


def nothing() -> None:
    pass


def test_what_is_enqueued_behind_a_gate_waits_until_it_opens(gpu_context: JudgeContext) -> None:
    with gate_of(gpu_context) as (gate, mapped, stream):
        given, output, landed = (torch.zeros(1, device="cuda") for _ in "123")
        torch.cuda.synchronize()
        value = gate.close()
        with torch.cuda.stream(stream):
            mapped.wait_for(value)
            torch.cuda._sleep(CYCLES)  # type: ignore[no-untyped-call]
            output.copy_(given)
            mapped.write(value)
        time.sleep(HOST_S)
        assert not stream.query()
        gate.pass_through(lambda: given.fill_(1), lambda: landed.copy_(output))
        stream.synchronize()
        gate.release(nothing)
        assert landed.item() == 1
        assert LEAST_SLEEP_MS < gate.took_ms() < 100 * LEAST_SLEEP_MS


def test_the_clock_does_not_see_the_host(gpu_context: JudgeContext) -> None:
    with gate_of(gpu_context) as (gate, mapped, stream):
        place = torch.zeros(1, device="cuda")

        def slowly() -> None:
            place.fill_(1)
            time.sleep(HOST_S)
            assert not torch.cuda.current_stream().query(), "nothing begins before all is enqueued"

        with torch.cuda.stream(stream):
            mapped.write(gate.close())
        gate.pass_through(slowly, slowly)
        gate.release(nothing)
        assert gate.took_ms() < HOST_S * 1e3 / 4


@pytest.mark.parametrize("freed", [False, True], ids=["never written", "page given back"])
def test_the_judge_does_not_wait_for_ever(gpu_context: JudgeContext, freed: bool) -> None:
    with gate_of(gpu_context) as (gate, mapped, stream):
        gate.close()
        with torch.cuda.stream(stream):
            mapped.wait_for(gate._value)
        gate.pass_through(nothing, nothing)
        if freed:
            mapped._map.madvise(MADV_REMOVE)
        stream.synchronize()
        assert not torch.cuda.current_stream().query()
        gate.release(nothing)
        assert torch.cuda.current_stream().query()
        with pytest.raises(ZeroDivisionError):
            gate.pass_through(lambda: print(1 // 0), nothing)


def timed(judge: Judge, context: JudgeContext, *lines: str, case: str = "small") -> Result:
    result = judge(gelu(*lines), "gelu_tanh", context=context, case=case)
    assert result.status == "correct", result.message
    return result


def test_the_gate_shows_the_devices_time_and_not_the_hosts(judge: Judge, gpu_context: JudgeContext) -> None:
    result = timed(judge, gpu_context, "y = extension.gelu(x)", f"time.sleep({HOST_S})", "return y")
    timing = result.evidence.timing
    assert timing is not None
    assert max(statistics.median(timing.candidate.single_ms), statistics.median(timing.candidate.burst_ms)) < HOST_S * 1e3 / 2
    assert timing.unclaimed_ms < HOST_S * 1e3 / 100
    assert timing.runtime_ms < HOST_S * 1e3 / 10, "nor do the worker's events"
    assert timing.candidate.host_ms is not None and timing.baseline.host_ms is not None
    assert timing.baseline.host_ms < HOST_S * 1e3 / 2 < timing.candidate.host_ms
    assert timing.candidate.launch_lead_ms == timing.baseline.launch_lead_ms > 0
    assert any("on the host" in note for note in speed_notes(result))


def test_a_forward_that_waits_for_the_device_is_let_in(judge: Judge, gpu_context: JudgeContext) -> None:
    result = timed(judge, gpu_context, "y = extension.gelu(x)", "torch.cuda.synchronize()", "return y")
    timing = result.evidence.timing
    assert timing is not None
    assert timing.candidate.single_ms and timing.candidate.burst_ms
    assert timing.runtime_ms < 1.0
    assert timing.candidate.launch_lead_ms == timing.candidate.blank_ms == 0.0
    assert timing.baseline.launch_lead_ms > 0 and timing.baseline.blank_ms > 0, "who can have one has one"


def test_a_stream_that_waits_for_nobody_has_no_launch_lead(judge: Judge, gpu_context: JudgeContext) -> None:
    """It works wherever inputs are there before a call is asked for, as everywhere but behind a gate."""
    lines = (
        "self.side = getattr(self, 'side', None) or torch.cuda.Stream()",
        "with torch.cuda.stream(self.side):",
        "    y = extension.gelu(x)",
        "torch.cuda.current_stream().wait_stream(self.side)",
        "y.record_stream(torch.cuda.current_stream())",
        "return y",
    )
    result = judge(gelu(*lines), "gelu_tanh", context=gpu_context, case="full")
    assert result.category in (Category.OK, Category.NONDETERMINISTIC), result.message
    timing = result.evidence.timing
    assert timing is not None and timing.candidate.launch_lead_ms == 0.0 < timing.baseline.launch_lead_ms


QUEUE = 1024
"""Launches that a stream takes before the host has to wait."""


@pytest.mark.parametrize("launches", [100, 600])
def test_calls_of_many_launches_are_witnessed_in_shorter_bursts(judge: Judge, gpu_context: JudgeContext, launches: int) -> None:
    lines = ("y = extension.gelu(x)", f"for _ in range({launches - 1}):", "    y = extension.gelu(x)", "return y")
    result = timed(judge, gpu_context, *lines)
    timing = result.evidence.timing
    assert timing is not None and timing.gated and timing.candidate.launch_lead_ms > 0
    assert timing.in_a_row * launches < QUEUE and timing.unclaimed_ms < 0.2 * timing.runtime_ms
    few = timed(judge, gpu_context, "return extension.gelu(x)").evidence.timing
    assert few is not None
    assert 0.3 * launches < timing.runtime_ms / few.runtime_ms < 3 * launches


def test_what_two_events_take_is_taken_off(judge: Judge, gpu_context: JudgeContext) -> None:
    timing = timed(judge, gpu_context, "return extension.gelu(x)").evidence.timing
    assert timing is not None and timing.alone is not None
    assert 0.0005 < timing.candidate.blank_ms < 0.01
    assert timing.runtime_ms < 0.01, "of a kernel of a few microseconds"


JOINED = (
    "side, current = torch.cuda.Stream(), torch.cuda.current_stream()",
    "side.wait_stream(current)",
    "with torch.cuda.stream(side):",
    "    y = extension.gelu(x)",
    "current.wait_stream(side)",
    "y.record_stream(current)",
    "return y",
)


def test_a_stream_that_is_joined_is_charged_nothing(judge: Judge, gpu_context: JudgeContext) -> None:
    timing = timed(judge, gpu_context, *JOINED, case="full").evidence.timing
    assert timing is not None and timing.alone is not None
    assert SINGLE.excess_ms(Sides(timing.candidate, timing.baseline, timing.alone))[0] < 0.1
    assert timing.unclaimed_ms == 0.0
