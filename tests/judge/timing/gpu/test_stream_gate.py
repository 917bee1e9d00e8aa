"""Bursts behind the judge's gate, on a GPU."""

import os
import statistics
import time

import pytest
import torch

from evaluator.diagnosis.notes.speed_notes import speed_notes
from evaluator.judge.context import JudgeContext
from evaluator.judge.timing.checks.cross_check import SINGLE, Sides
from evaluator.judge.timing.gpu.stream_gate import MOST_AT_ONCE, StreamGate, at_once
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.results.category import Category
from evaluator.results.result import Result
from evaluator.worker.gate import MappedGate
from tests.judge.conftest import Judge
from tests.judge.timing.gelu import gelu

pytestmark = pytest.mark.gpu

HOST_S = 0.004


def test_what_is_enqueued_behind_a_gate_waits_until_it_opens(gpu_context: JudgeContext) -> None:
    device = torch.device(gpu_context.device.torch_device)
    memory = SharedMemory(device)
    gate = StreamGate(memory)
    assert gate.works()
    mapped = MappedGate(os.dup(gate.descriptor))
    done = torch.zeros(1, device=device)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    with torch.cuda.stream(stream):
        mapped.wait_for(gate.close())
        done.fill_(1)
    assert not stream.query()
    gate.open()
    torch.cuda.synchronize()
    assert done.item() == 1
    mapped.close()
    memory.close()


def test_copies_begin_when_all_have_been_asked_for(gpu_context: JudgeContext) -> None:
    device = torch.device(gpu_context.device.torch_device)
    with torch.cuda.device(device):
        place = torch.zeros(1, device=device)
        torch.cuda.synchronize()
        asked: list[float] = []

        def enqueue() -> None:
            place.fill_(1)
            time.sleep(HOST_S)
            asked.append(time.perf_counter())
            assert not torch.cuda.current_stream().query()

        for copies in (1, MOST_AT_ONCE):
            assert at_once(device, copies, enqueue) >= asked[-1]
            torch.cuda.synchronize()
            assert place.item() == 1
            place.zero_()
            torch.cuda.synchronize()
        with pytest.raises(AssertionError):
            at_once(device, MOST_AT_ONCE + 1, enqueue)
        with pytest.raises(ZeroDivisionError):
            at_once(device, 1, lambda: print(1 // 0))
        torch.cuda.synchronize()


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
