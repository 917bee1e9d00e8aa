"""The judge's own witness to calls on a GPU, with a real worker on the CPU: everything but the gate and the device."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from evaluator.judge.context import JudgeContext
from evaluator.judge.correctness.output_structure import ClaimedTensor
from evaluator.judge.timing.gated_calls import (
    BURST_MS,
    BURSTS,
    HOT_BURSTS,
    LEAST_BURSTS,
    LEAST_HOT_BURSTS,
    LEAST_SINGLES,
    SINGLES,
    GatedCalls,
    Taken,
)
from evaluator.judge.timing.gpu.l2_flush import L2Flush
from evaluator.judge.timing.timed_worker import TimedWorker
from evaluator.judge.workers.input_buffers import Given, InputSet
from evaluator.judge.workers.launcher import START_S
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.worker.protocol import Message, ProtocolError
from tests.judge.timing.test_timed_worker import side_of

HONEST = """
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x + 1
"""
HOOKED = """
import sys
Worker = sys.modules["evaluator.worker.server"].Worker
"""
NO_FLUSH = HOOKED + "Worker._flush = lambda self, order: None\n"
FLUSHED_AHEAD = (
    HOOKED
    + """
def ahead(self, request, descriptors, inputs=Worker._inputs):
    for mapping in self._mappings._mappings.values():
        if len(mapping.bytes) >= 32 << 20: mapping.bytes.fill_(7)
    return inputs(self, request, descriptors)
Worker._inputs, Worker._flush = ahead, lambda self, order: None
"""
)
LAZY = (
    HOOKED
    + """
def queue(self, request, descriptors):
    for flush in request["flushes"]: self._flush(flush)
    return {}
Worker._burst = queue
"""
)


HALF = (
    HOOKED
    + """
def half(self, request, descriptors, burst=Worker._burst):
    if len(request["sets"]) > 1:
        request = {**request, **{name: request[name][::2] for name in ("sets", "outputs", "flushes")}}
    return burst(self, request, descriptors)
Worker._burst = half
"""
)
SLEEPS = (
    HOOKED
    + """
import time
Worker._burst = lambda self, request, descriptors: time.sleep(30)
"""
)
LONG_CLAIMS = (
    HOOKED
    + """
def long(self, request, descriptors, time=Worker._time):
    return {"ms": 60_000.0, **time(self, request, descriptors)}
Worker._time = long
"""
)


class WrongError(Exception):
    """An answer was wrong."""


def everything() -> None:
    """No sample: all rows are compared."""


def check(taken: Taken, inputs: InputSet, arguments: list[Any]) -> None:
    if not torch.equal(taken.values[0], arguments[0] + 1) or not inputs.unchanged(arguments):
        raise WrongError


@contextmanager
def bursts_of(
    context: JudgeContext, source: str, monkeypatch: pytest.MonkeyPatch, sets: int = 3
) -> Iterator[tuple[GatedCalls, TimedWorker]]:
    """Bursts of a worker whose model adds one, and its side; there is no device to be waited for."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda _=None: None)
    with side_of(context, source, [torch.zeros(5)] * sets) as (side, input_sets, memory):
        side.flush = L2Flush(memory, 1 << 30, sets)
        side.claims, side.described = [ClaimedTensor(0, (5,), torch.float32, "float32", "cpu")], 1
        outputs = [memory.allocate(20)]
        bursts = GatedCalls(
            memory, input_sets, outputs, [torch.empty(5, device="meta")], lambda: [torch.rand(5)], everything, side.flush.areas
        )
        side.worker.hand_over([*side.flush.allocations, *bursts.allocations], START_S)
        yield bursts, side


def test_calls_one_at_a_time_and_back_to_back(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with bursts_of(context, HONEST, monkeypatch) as (bursts, side):
        bursts.run(side, check, WrongError)
        assert LEAST_SINGLES <= len(side.single_ms) == len(side.landed_ms) <= SINGLES
        assert LEAST_BURSTS <= len(side.burst_ms) <= BURSTS
        assert side.unflushed_bursts == 0
        assert all(landed_ms > single_ms for landed_ms, single_ms in zip(side.landed_ms, side.single_ms, strict=True))


def test_the_same_without_the_calls(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with bursts_of(context, HONEST, monkeypatch) as (bursts, side):
        bursts.run(side, check, WrongError)
        alone = TimedWorker(side.worker, START_S, side.flush, None)
        alone.claims, alone.described = side.claims, side.described
        bursts.run_idle(alone, side)
        assert len(alone.single_ms) == len(alone.landed_ms) == len(side.single_ms), "as often as the candidate was asked"
        assert len(alone.burst_ms) == len(side.burst_ms)
        assert alone.is_flushed()


def test_without_flushes_nothing_is_flushed_and_every_answer_is_compared(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with bursts_of(context, HONEST, monkeypatch) as (bursts, side):
        compared: list[Taken] = []

        def note(taken: Taken, inputs: InputSet, arguments: list[Any]) -> None:
            check(taken, inputs, arguments)
            compared.append(taken)

        areas = [area.bytes for area in side.flush.allocations[:-1]] if side.flush else []
        for area in areas:
            area.fill_(7)
        bursts._run_hot(side, note)
        assert LEAST_HOT_BURSTS <= len(side.hot_ms) <= HOT_BURSTS and min(side.hot_ms) > 0
        assert len(compared) == len(side.hot_ms) * len(bursts.places)
        assert areas and all(bool((area == 7).all()) for area in areas) and side.unflushed_bursts == 0
        alone = TimedWorker(side.worker, START_S, side.flush, None)
        alone.claims, alone.described = side.claims, side.described
        bursts.run_idle(alone, side)
        assert len(alone.hot_ms) == len(side.hot_ms) and not alone.burst_ms


def test_without_flushes_a_wrong_answer_is_wrong_too(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with bursts_of(context, HONEST + HALF, monkeypatch, sets=8) as (bursts, side), pytest.raises(WrongError):
        bursts._run_hot(side, check)


REMEMBERS = (
    HONEST
    + """
import sys, time
main = sys.modules["evaluator.worker.server"]

class Graph:
    def replay(self):
        for inputs, known, output, place in self.calls:
            if not torch.equal(inputs, known): time.sleep(0.03)
            output.copy_(inputs + 1)
            if place is not None: place.copy_(output)

def record(self, request, _):
    graph, outputs = Graph(), []
    graph.calls = []
    for position, views in zip(request["sets"], request["outputs"]):
        inputs = self._sets[position][0]
        outputs.append([torch.empty_like(inputs)])
        graph.calls.append((inputs, inputs.clone(), outputs[-1][0], views and self._mappings.tensor(views[0])))
    self._graphs[request["name"]] = main.Recording(graph, outputs, [])
    return {"recorded": True}
main.Worker._record = record
"""
)
"""Has the answer ready to the inputs that it was recorded over."""


def test_a_graph_is_not_timed_over_the_inputs_that_it_was_recorded_over(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with bursts_of(context, REMEMBERS, monkeypatch) as (bursts, side):
        side.flush, side.replays, bursts._replayed = None, True, True
        bursts.run(side, check, WrongError)
        assert min(side.single_ms) >= 30 and min(side.burst_ms) >= 30


def test_where_there_is_memory_for_one_call_there_are_no_bursts(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with bursts_of(context, HONEST, monkeypatch, sets=1) as (bursts, side):
        bursts.run(side, check, WrongError)
        assert side.single_ms and side.landed_ms and not side.burst_ms


def test_nobody_has_the_device_for_long_by_not_answering_what_nothing_is_judged_by(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluator.judge.timing.gated_calls.KERNELS_DEADLINE_S", 0.3)
    with bursts_of(context, HONEST + SLEEPS, monkeypatch) as (bursts, side):
        monkeypatch.setattr(side.worker, "launches", side.worker.launches or object())
        start = time.monotonic()
        bursts.time_kernels(side)
        assert 0.3 <= time.monotonic() - start < 5
        assert side.deadline_s == START_S and side.worker.exit is None
        monkeypatch.setattr(side.worker, "launches", None)


@pytest.mark.parametrize(("claim_ms", "in_a_row"), [(0.01, 3), (BURST_MS / 2, 2), (BURST_MS, 1), (10 * BURST_MS, 1)])
def test_slow_calls_make_short_bursts(context: JudgeContext, monkeypatch: pytest.MonkeyPatch, claim_ms: float, in_a_row: int) -> None:
    with bursts_of(context, HONEST, monkeypatch) as (bursts, side):
        side.claims_ms = [0.01, claim_ms, claim_ms, claim_ms, 1e6]
        bursts.run(side, check, WrongError)
        assert len(bursts.places) == in_a_row
        assert side.single_ms and bool(side.burst_ms) == (in_a_row > 1)


class StandInGate:
    """Holds so many calls, and lets in whoever asks for more; nothing waits at it."""

    def __init__(self, most: int) -> None:
        self._most = most

    def ask(self, side: TimedWorker, given: Given, fields: dict[str, Any]) -> tuple[float, Message]:
        took_ms, answer = side._ask_now("burst", given, gate=None, **fields)
        side.waits = len(given) > self._most
        return took_ms, answer


@contextmanager
def held(side: TimedWorker, monkeypatch: pytest.MonkeyPatch, most: int) -> Iterator[None]:
    """Behind a gate that holds so many calls."""
    gate = StandInGate(most)
    monkeypatch.setattr(side, "gate", gate)
    monkeypatch.setattr(side, "_ask_behind", lambda _, given, fields: gate.ask(side, given, fields))
    monkeypatch.setattr(GatedCalls, "_is_late", lambda _, side: side.waits)
    yield


@pytest.mark.parametrize(
    ("most", "claim_ms", "in_a_row", "gated"),
    [
        (8, 0.5, 8, True),
        (7, 0.5, 4, True),
        (3, 0.5, 2, True),
        (1, 0.5, 1, True),
        (7, 0.01, 8, False),  # eight calls of 10 µs are no thousand launches
        (3, 0.2, 8, False),  # nor are four of 200
        (0, 0.5, 8, False),
    ],
)
def test_bursts_are_as_short_as_the_devices_queue(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch, most: int, claim_ms: float, in_a_row: int, gated: bool
) -> None:
    with bursts_of(context, HONEST, monkeypatch, sets=8) as (bursts, side), held(side, monkeypatch, most):
        side.claims_ms = [claim_ms]
        bursts.run(side, check, WrongError)
        assert (len(bursts.places), side.is_gated) == (in_a_row, gated)
        assert side.single_ms and bool(side.burst_ms) == (in_a_row > 1)
        assert bool(side.hot_ms) == (gated and in_a_row > 1), "only behind the gate"


@pytest.mark.parametrize(("most", "gated"), [(1, True), (0, False)])
def test_who_waits_is_told_by_a_call(context: JudgeContext, monkeypatch: pytest.MonkeyPatch, most: int, gated: bool) -> None:
    with bursts_of(context, HONEST, monkeypatch) as (bursts, side), held(side, monkeypatch, most):
        bursts.probe(side)
        assert side.is_gated is gated and side.single_ms == []


def test_who_is_held_up_once_may_still_not_wait(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with bursts_of(context, HONEST, monkeypatch) as (bursts, side), held(side, monkeypatch, 1):
        ask, left = side._ask_behind, iter([True])

        def hold_up(*arguments: Any) -> tuple[float, Message]:
            found = ask(*arguments)
            side.waits = next(left, False)
            return found

        monkeypatch.setattr(side, "_ask_behind", hold_up)
        bursts.probe(side)
        assert side.is_gated


@pytest.mark.parametrize(("times", "gated"), [(1, True), (2, False)])
def test_a_row_that_is_held_up_is_asked_for_once_more(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch, times: int, gated: bool
) -> None:
    with bursts_of(context, HONEST, monkeypatch) as (bursts, side), held(side, monkeypatch, 8):
        ask, left = side._ask_behind, iter([False] * SINGLES + [True] * times)

        def hold_up(*arguments: Any) -> tuple[float, Message]:
            found = ask(*arguments)
            side.waits = next(left, False)
            return found

        monkeypatch.setattr(side, "_ask_behind", hold_up)
        monkeypatch.setattr("evaluator.judge.timing.gated_calls.SINGLES_S", 60.0)
        side.claims_ms = [0.001]
        bursts.run(side, check, WrongError)
        assert side.is_gated is gated and bool(side.hot_ms) is gated


@pytest.mark.parametrize("hook", [NO_FLUSH, FLUSHED_AHEAD])
def test_calls_without_their_flush_are_no_samples(context: JudgeContext, monkeypatch: pytest.MonkeyPatch, hook: str) -> None:
    with bursts_of(context, HONEST + hook, monkeypatch) as (bursts, side):
        bursts.run(side, check, WrongError)
        assert side.single_ms == side.landed_ms == side.burst_ms == []
        assert LEAST_SINGLES + LEAST_BURSTS <= side.unflushed_bursts <= SINGLES + BURSTS


def test_an_answer_that_is_not_there_when_the_worker_says_so_is_wrong(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with bursts_of(context, HONEST + LAZY, monkeypatch) as (bursts, side), pytest.raises(WrongError):
        bursts.run(side, check, WrongError)


def test_half_of_the_calls_of_a_burst_are_not_enough(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with bursts_of(context, HONEST + HALF, monkeypatch, sets=8) as (bursts, side), pytest.raises(WrongError):
        bursts.run(side, check, WrongError)


def test_a_claim_longer_than_its_request_is_no_claim(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with bursts_of(context, HONEST + LONG_CLAIMS, monkeypatch) as (bursts, side), pytest.raises(ProtocolError, match="longer"):
        side.call(*bursts._given(1)[0])


def test_how_many_calls_are_in_a_row_is_no_matter_of_the_memory_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = SharedMemory(torch.device("cpu"))
    sets = [InputSet(memory, [torch.zeros(5)]) for _ in range(4)]
    outputs, made = [memory.allocate(20)], memory.allocate
    assert len(GatedCalls(memory, sets, outputs, [torch.empty(5)], list, everything, areas=3).places) == 3
    left = iter([True])

    def allocate(nbytes: int) -> Any:
        if not next(left, False):
            raise RuntimeError("out of memory")
        return made(nbytes)

    monkeypatch.setattr(memory, "allocate", allocate)
    with pytest.raises(RuntimeError):
        GatedCalls(memory, sets, outputs, [torch.empty(5)], list, everything, areas=4)
    memory.close()
