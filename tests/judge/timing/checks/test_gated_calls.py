"""Calls behind the gate, without gate and device: with a scripted worker, or a real one on the CPU where it does more than it should."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evaluator.judge import limits
from evaluator.judge.context import JudgeContext
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.output_structure import ClaimedTensor
from evaluator.judge.timing.checks.gated_calls import GatedCalls, Landing, Supplies, Taken
from evaluator.judge.timing.effort import FULL
from evaluator.judge.timing.gpu.l2_flush import L2Flush
from evaluator.judge.timing.timed_worker import TimedWorker
from evaluator.judge.workers.input_buffers import Given, InputSet
from evaluator.judge.workers.shared_memory import Allocation, SharedMemory
from evaluator.worker.protocol import Message, ProtocolError
from tests.judge.sources import forward
from tests.judge.timing.test_timed_worker import started

FLUSH_BYTES = 1 << 16
"""What a flush writes here: 32 MiB for each call take most of these tests' time."""
LONG_MS = 60_000.0
"""What a scripted worker claims for a call."""

HONEST = forward("return x + 1")
HOOKED = """
import sys, time
handlers = sys.modules["evaluator.worker.server"].HANDLERS
"""
SLEEPS = HOOKED + "handlers['burst'] = lambda state, request, descriptors: time.sleep(30)\n"


@pytest.fixture(autouse=True)
def _small_flushes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.judge.timing.gpu.l2_flush.LEAST_FLUSH_BYTES", FLUSH_BYTES)


class WrongError(Exception):
    """An answer was wrong."""


def everything() -> None:
    """No sample: all rows are compared."""


def check(taken: Taken, inputs: InputSet, draw: Draw) -> None:
    if not torch.equal(taken.values[0], draw.arguments[0] + 1) or not inputs.unchanged(draw.arguments):
        raise WrongError


def gated_calls_of(memory: SharedMemory, sets: list[InputSet], areas: int) -> GatedCalls:
    shapes = [torch.empty(5, device="meta")]
    return GatedCalls(memory, Supplies(sets, lambda: Draw(1, [torch.rand(5)]), [memory.allocate(20)], shapes, everything, 1 << 30, areas))


@contextmanager
def bursts_of(context: JudgeContext, source: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[GatedCalls, TimedWorker]]:
    """Calls of a worker whose model adds one, and that worker; there is no device to be waited for."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda _=None: None)
    with started(context, source, [torch.zeros(5)] * 3) as (timed, input_sets, memory):
        timed.flush = L2Flush(memory, 1 << 30, 3)
        timed.claims, timed.described = [ClaimedTensor(0, (5,), torch.float32, "float32", "cpu")], 1
        bursts = gated_calls_of(memory, input_sets, timed.flush.areas)
        timed.worker.hand_over([*timed.flush.allocations, *bursts.allocations], limits.START_S)
        yield bursts, timed


class Adder:
    """A scripted worker that adds one to its inputs in the judge's own process, at once."""

    def __init__(self, allocations: Iterable[Allocation]) -> None:
        self.channel, self.launches = SimpleNamespace(peer_pid=None), None
        self._allocations = {each.number: each for each in allocations}
        self._inputs: list[Any] = []

    def request(self, kind: str, _deadline_s: float, **fields: Any) -> Message:
        if kind == "inputs":
            self.take([sets["list"][0]["tensor"] for sets in fields["sets"]])
        elif kind == "burst":
            calls = zip(self._inputs, fields["outputs"], fields["flushes"], strict=True)
            self.make([(given, output if fields["calls"] else None, order) for given, output, order in calls])
        return {"ms": LONG_MS} if kind == "time" else {}

    def take(self, inputs: list[Message]) -> None:
        self._inputs = inputs

    def make(self, calls: Sequence[tuple[Message, Any, Any]]) -> None:
        for given, output, order in calls:
            if order:
                self.flush(order)
            if output:
                self.call(given, output[0])

    def flush(self, order: Message) -> None:
        self._view(order["memory"]).fill_(self._view(order["word"]).item())

    def call(self, given: Message, output: Message) -> None:
        self._view(output).copy_(self._view(given) + 1)

    def _view(self, told: Message) -> torch.Tensor:
        return self._allocations[told["allocation"]].view(told["shape"], getattr(torch, told["dtype"]), told["offset"])


class NotFlushing(Adder):
    def flush(self, order: Message) -> None:
        pass


class FlushingAhead(NotFlushing):
    def take(self, inputs: list[Message]) -> None:
        super().take(inputs)
        for each in self._allocations.values():
            if each.nbytes >= FLUSH_BYTES:
                each.bytes.fill_(7)


class Late(Adder):
    def call(self, given: Message, output: Message) -> None:
        pass


class Halving(Adder):
    def make(self, calls: Sequence[tuple[Message, Any, Any]]) -> None:
        super().make(calls[::2])


@contextmanager
def scripted_bursts(monkeypatch: pytest.MonkeyPatch, sets: int = 3, adder: type[Adder] = Adder) -> Iterator[tuple[GatedCalls, TimedWorker]]:
    """Calls of a scripted worker, as `bursts_of` makes them of a real one."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda _=None: None)
    memory = SharedMemory(torch.device("cpu"))
    input_sets = [InputSet(memory, [torch.zeros(5)]) for _ in range(sets)]
    flush = L2Flush(memory, 1 << 30, sets)
    bursts = gated_calls_of(memory, input_sets, flush.areas)
    inputs = (allocation for one in input_sets for allocation in one.allocations)
    timed = TimedWorker(adder([*inputs, *flush.allocations, *bursts.allocations]), limits.START_S, flush)  # type: ignore[arg-type]
    timed.claims, timed.described = [ClaimedTensor(0, (5,), torch.float32, "float32", "cpu")], 1
    yield bursts, timed
    memory.close()


def alone_of(timed: TimedWorker) -> TimedWorker:
    """Return this timed worker without its samples."""
    alone = TimedWorker(timed.worker, limits.START_S, timed.flush, None)
    alone.claims, alone.described = timed.claims, timed.described
    return alone


def test_calls_one_at_a_time_and_back_to_back_and_the_same_without_the_calls(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bursts_of(context, HONEST, monkeypatch) as (bursts, timed):
        bursts.run(timed, check, WrongError)
        samples, alone = timed.samples, alone_of(timed)
        assert FULL.ungated_rows.least <= len(samples.single_ms) <= FULL.ungated_rows.most
        assert FULL.ungated_rows.least <= len(samples.burst_ms) <= FULL.ungated_rows.most
        assert samples.unflushed_bursts == 0
        bursts.run_idle(alone, timed)
        assert len(alone.samples.single_ms) == len(samples.single_ms), "as often as the candidate was asked"
        assert len(alone.samples.burst_ms) == len(samples.burst_ms)
        assert alone.is_flushed()


def test_without_flushes_nothing_is_flushed_and_every_answer_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_bursts(monkeypatch) as (bursts, timed):
        compared: list[Taken] = []

        def note(taken: Taken, inputs: InputSet, draw: Draw) -> None:
            check(taken, inputs, draw)
            compared.append(taken)

        areas = [area.bytes for area in timed.flush.allocations[:-1]] if timed.flush else []
        for area in areas:
            area.fill_(7)
        bursts._run_hot(timed, note)
        hot_ms, alone = timed.samples.hot_ms, alone_of(timed)
        assert FULL.ungated_rows.least <= len(hot_ms) <= FULL.ungated_rows.most and min(hot_ms) > 0
        assert len(compared) == len(hot_ms) * len(bursts.places)
        assert areas and all(bool((area == 7).all()) for area in areas) and timed.samples.unflushed_bursts == 0
        bursts.run_idle(alone, timed)
        assert len(alone.samples.hot_ms) == len(hot_ms) and not alone.samples.burst_ms


REMEMBERS = (
    HONEST
    + """
import sys, time
server = sys.modules["evaluator.worker.server"]
Recording = sys.modules["evaluator.worker.state"].Recording

class Graph:
    def replay(self):
        for inputs, known, output, place in self.calls:
            if not torch.equal(inputs, known): time.sleep(0.03)
            output.copy_(inputs + 1)
            if place is not None: place.copy_(output)

def record(state, request, _):
    graph, outputs = Graph(), []
    graph.calls = []
    for position, views in zip(request["sets"], request["outputs"]):
        inputs = state.sets[position][0]
        outputs.append([torch.empty_like(inputs)])
        graph.calls.append((inputs, inputs.clone(), outputs[-1][0], views and state.mappings.tensor(views[0])))
    state.graphs[request["name"]] = Recording(graph, outputs, [])
    return {"recorded": True}
server.HANDLERS["record"] = record
"""
)
"""Has the answer ready to the inputs that it was recorded over."""


def test_a_graph_is_not_timed_over_the_inputs_that_it_was_recorded_over(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with bursts_of(context, REMEMBERS, monkeypatch) as (bursts, timed):
        timed.flush, timed.replays, bursts._replayed = None, True, True
        bursts.run(timed, check, WrongError)
        assert min(timed.samples.single_ms) >= 30 and min(timed.samples.burst_ms) >= 30


def test_nobody_has_the_device_for_long_by_not_answering_what_nothing_is_judged_by(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluator.judge.timing.checks.gated_calls.KERNELS_S", 0.3)
    with bursts_of(context, HONEST + SLEEPS, monkeypatch) as (bursts, timed):
        monkeypatch.setattr(timed.worker, "launches", timed.worker.launches or object())
        start = time.monotonic()
        bursts.time_kernels(timed)
        assert time.monotonic() - start >= 0.3
        assert timed.deadline_s == limits.START_S and timed.worker.exit is None
        monkeypatch.setattr(timed.worker, "launches", None)


@pytest.mark.parametrize(
    ("sets", "claim_ms", "in_a_row"),
    [(3, 0.01, 3), (3, limits.BURST_MS / 2, 2), (3, limits.BURST_MS, 1), (3, 10 * limits.BURST_MS, 1), (1, 0.01, 1)],
)
def test_slow_calls_and_little_memory_make_short_bursts(monkeypatch: pytest.MonkeyPatch, sets: int, claim_ms: float, in_a_row: int) -> None:
    with scripted_bursts(monkeypatch, sets) as (bursts, timed):
        timed.samples.event_ms = [0.01, claim_ms, claim_ms, claim_ms, 1e6]
        bursts.run(timed, check, WrongError)
        assert len(bursts.places) == in_a_row
        assert timed.samples.single_ms and bool(timed.samples.burst_ms) == (in_a_row > 1)


@contextmanager
def held(timed: TimedWorker, monkeypatch: pytest.MonkeyPatch, most: int, held_up: Iterable[bool] = ()) -> Iterator[None]:
    """Behind a stand-in gate that holds so many calls, and lets in a worker that asks for more, or one that is held up."""
    left = iter(held_up)

    def ask(_gate: object, given: Given, fields: dict[str, Any], land: Callable[[], object]) -> tuple[float, Message]:
        found = timed._ask_now("burst", given, gate=None, **fields)
        land()
        timed.waits = next(left, False) or len(given) > most
        return found

    monkeypatch.setattr(timed, "gate", object())
    monkeypatch.setattr(timed, "_ask_behind", ask)
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
    monkeypatch: pytest.MonkeyPatch, most: int, claim_ms: float, in_a_row: int, gated: bool
) -> None:
    with scripted_bursts(monkeypatch, sets=8) as (bursts, timed), held(timed, monkeypatch, most):
        timed.samples.event_ms = [claim_ms]
        bursts.run(timed, check, WrongError)
        assert (len(bursts.places), timed.is_gated) == (in_a_row, gated)
        assert timed.samples.single_ms and bool(timed.samples.burst_ms) == (in_a_row > 1)
        assert bool(timed.samples.hot_ms) == (gated and in_a_row > 1), "only behind the gate"


@pytest.mark.parametrize(
    ("most", "held_up", "gated"), [(1, [], True), (0, [], False), (1, [True], True)], ids=["held", "waits", "held up once"]
)
def test_whether_forward_waits_is_told_by_a_call(monkeypatch: pytest.MonkeyPatch, most: int, held_up: list[bool], gated: bool) -> None:
    with scripted_bursts(monkeypatch) as (bursts, timed), held(timed, monkeypatch, most, held_up):
        bursts.probe(timed)
        assert timed.is_gated is gated and timed.samples.single_ms == []


@pytest.mark.parametrize(("times", "gated"), [(1, True), (2, False)])
def test_a_row_that_is_held_up_is_asked_for_once_more(monkeypatch: pytest.MonkeyPatch, times: int, gated: bool) -> None:
    held_up = [False] * FULL.rows.least + [True] * times
    with scripted_bursts(monkeypatch) as (bursts, timed), held(timed, monkeypatch, 8, held_up):
        timed.samples.event_ms = [0.001]
        bursts.run(timed, check, WrongError)
        assert timed.is_gated is gated and bool(timed.samples.hot_ms) is gated


def test_the_copy_of_the_output_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker may report too early that it is done: then that copy waits for the rest of its work."""
    late_s = 0.02

    def late_landing(self: Landing) -> None:
        time.sleep(late_s)
        land(self)

    land = Landing.__call__
    with scripted_bursts(monkeypatch) as (bursts, timed):
        monkeypatch.setattr(Landing, "__call__", late_landing)
        bursts.run(timed, check, WrongError)
        assert min(timed.samples.single_ms) > late_s * 1e3 < min(timed.samples.burst_ms) * len(bursts.places)


@pytest.mark.parametrize("adder", [NotFlushing, FlushingAhead])
def test_calls_without_their_flush_are_no_samples(monkeypatch: pytest.MonkeyPatch, adder: type[Adder]) -> None:
    with scripted_bursts(monkeypatch, adder=adder) as (bursts, timed):
        bursts.run(timed, check, WrongError)
        assert timed.samples.single_ms == timed.samples.burst_ms == []
        assert 2 * FULL.ungated_rows.least <= timed.samples.unflushed_bursts <= 2 * FULL.ungated_rows.most


@pytest.mark.parametrize(("adder", "sets"), [(Late, 3), (Halving, 8)])
def test_calls_that_are_not_all_made_are_wrong(monkeypatch: pytest.MonkeyPatch, adder: type[Adder], sets: int) -> None:
    with scripted_bursts(monkeypatch, sets, adder) as (bursts, timed):
        with pytest.raises(WrongError):
            bursts.run(timed, check, WrongError)
        with pytest.raises(WrongError):
            bursts._run_hot(timed, check)


def test_a_claim_longer_than_its_request_is_no_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_bursts(monkeypatch) as (bursts, timed), pytest.raises(ProtocolError, match="longer"):
        timed.call(bursts._given(1)[0][0], [torch.rand(5)])


def test_how_many_calls_are_in_a_row_is_no_matter_of_the_memory_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = SharedMemory(torch.device("cpu"))
    sets = [InputSet(memory, [torch.zeros(5)]) for _ in range(4)]
    assert len(gated_calls_of(memory, sets, areas=3).places) == 3
    made, left = memory.allocate, iter([True, True])

    def allocate(nbytes: int) -> Any:
        if not next(left, False):
            raise RuntimeError("out of memory")
        return made(nbytes)

    monkeypatch.setattr(memory, "allocate", allocate)
    with pytest.raises(RuntimeError):
        gated_calls_of(memory, sets, areas=4)
    memory.close()
