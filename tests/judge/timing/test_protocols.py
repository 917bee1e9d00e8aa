"""The table of protocols, and what each asks of a worker: with a real worker on the CPU, where there is no device to be waited for."""

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from evaluator.judge import limits
from evaluator.judge.context import JudgeContext
from evaluator.judge.timing.gpu.l2_flush import L2Flush
from evaluator.judge.timing.gpu.launch_lead import LaunchLead
from evaluator.judge.timing.protocols import PROTOCOLS, UnknownProtocolError, choose, names
from evaluator.judge.timing.timed_worker import TimedWorker, UnrecordableError
from evaluator.judge.workers.client import WorkerError
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.results.protocol_names import DEFAULTS, DESCRIPTIONS
from evaluator.worker.protocol import ProtocolError
from tests.judge.timing.test_timed_worker import started

FLUSH_BYTES = 1 << 16
"""What a flush writes here: 32 MiB for each call take most of these tests' time."""

HOOKED = """
import sys, time, torch
handlers = sys.modules["evaluator.worker.server"].HANDLERS
timing = sys.modules["evaluator.worker.handlers.timing"]

class Event:
    now_ms = 0
    def record(self): self.at_ms = Event.now_ms
    def elapsed_time(self, end): return end.at_ms - self.at_ms

def passes(ms):
    time.sleep(ms * 1e-3)
    Event.now_ms += ms

timing.event = Event
timing.keep_busy = lambda cycles: passes(cycles * 1e-6)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        passes(2)
        return x + 1
"""
"""Events of a clock that passes only where it is said: what a block is, and what is made of it, needs no device and no quiet machine."""


@pytest.fixture(autouse=True)
def _small_flushes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.judge.timing.gpu.l2_flush.LEAST_FLUSH_BYTES", FLUSH_BYTES)


def test_each_kind_of_device_has_a_default_of_its_own_kind() -> None:
    assert {kind: choose(None, kind).name for kind in DEFAULTS} == DEFAULTS == {kind: names(kind)[0] for kind in DEFAULTS}
    assert {"cold", "graph", "throughput"} <= set(names("cuda")), "and none of those that are on record is missing"


def test_protocols_are_chosen_by_name_and_described() -> None:
    assert all(choose(name, protocol.device_kind) is protocol for name, protocol in PROTOCOLS.items())
    assert DESCRIPTIONS.keys() <= PROTOCOLS.keys()


@pytest.mark.parametrize(("name", "kind"), [("graph", "cpu"), ("cpu", "cuda"), ("fast", "cuda"), ("protocol", "cuda")])
def test_a_protocol_that_the_device_does_not_have(name: str, kind: str) -> None:
    with pytest.raises(UnknownProtocolError, match=rf"no protocol '{name}' for a device of kind {kind}; use {names(kind)[0]}"):
        choose(name, kind)


@pytest.mark.parametrize(
    ("call_ms", "room", "calls", "on_cpu"),
    [(0.001, 16, 16, 16), (1.0, 16, 5, 2), (4.0, 16, 1, 1), (80.0, 16, 1, 1), (0.1, 3, 3, 3), (0.1, 1, 1, 1)],
)
def test_a_block_is_of_as_many_calls_as_fit_into_some_milliseconds_and_into_memory(
    call_ms: float, room: int, calls: int, on_cpu: int
) -> None:
    assert choose("cold", "cuda").calls_in_block(call_ms, room) == calls
    assert choose("cpu", "cpu").calls_in_block(call_ms, room) == on_cpu


@contextmanager
def blocks_of(
    context: JudgeContext, source: str, monkeypatch: pytest.MonkeyPatch, flushed: bool
) -> Iterator[tuple[TimedWorker, list[Any]]]:
    """A worker on a pretended device, and inputs for three calls."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda _=None: None)
    with started(context, source, [torch.zeros(5)] * 3) as (before, sets, memory):
        flush = L2Flush(memory, 1 << 30, 3) if flushed else None
        if flush:
            before.worker.hand_over(flush.allocations, limits.START_S)
        yield TimedWorker(before.worker, limits.START_S, flush, device=torch.device("cpu")), [(one, [torch.rand(5)]) for one in sets]


def reveal(timed: TimedWorker, given: Any, call: int, place: InputSet) -> torch.Tensor:
    """One answer of the last block."""
    timed.worker.request("reveal", limits.START_S, outputs=[place.tree(given[call][1])["list"][0]["tensor"]], release=False, call=call)
    return place.allocations[0].view((5,), torch.float32).clone()


def test_cold_calls_are_timed_one_by_one_after_their_flushes(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with blocks_of(context, HOOKED, monkeypatch, flushed=True) as (timed, given):
        answers = choose("cold", "cuda").take(timed, given)
        assert len(answers) == len(timed.samples.event_ms) == len(timed.samples.at_s) == 3 and len(timed.samples.wall_ms) == 1
        assert timed.samples.event_ms == [2.0] * 3 and timed.samples.wall_ms[0] >= 2.0, "the wall clock is of one call too"
        assert timed.is_flushed()


def test_calls_back_to_back_are_one_sample_and_flush_nothing(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with blocks_of(context, HOOKED, monkeypatch, flushed=False) as (timed, given):
        answers = choose("throughput", "cuda").take(timed, given)
        assert len(answers) == 3 and len(timed.samples.event_ms) == len(timed.samples.wall_ms) == len(timed.samples.at_s) == 1
        assert timed.samples.event_ms == [2.0] and timed.samples.wall_ms[0] >= 2.0


ONE_BUFFER = """
class ModelNew(torch.nn.Module):
    kept = torch.empty(5)
    def forward(self, x):
        return torch.add(x, 1, out=self.kept)
"""


@pytest.mark.parametrize(("protocol", "source"), [("throughput", ""), ("cold", ONE_BUFFER), ("throughput", ONE_BUFFER)])
def test_any_answer_of_a_block_can_be_revealed(context: JudgeContext, monkeypatch: pytest.MonkeyPatch, protocol: str, source: str) -> None:
    """Answers in one buffer are told apart from the second block on; the first one is to warm up."""
    with blocks_of(context, HOOKED + source, monkeypatch, flushed=protocol == "cold") as (timed, given):
        for _ in range(2 if source else 1):
            choose(protocol, "cuda").take(timed, given)
        for call in (2, 0, 1, 0):
            place = given[(call + 1) % 3][0]
            assert torch.equal(reveal(timed, given, call, place), given[call][1][0] + 1)


def test_who_copies_answers_says_so_and_another_copies_them_where_it_is_told_to(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    with blocks_of(context, HOOKED + ONE_BUFFER, monkeypatch, flushed=True) as (reusing, given):
        said = []
        for _ in range(3):
            choose("cold", "cuda").take(reusing, given)
            said.append(reusing.copies)
        assert said == [False, True, True], "that they share memory is known when a block is over"
    source = HOOKED + "timing.copied = lambda value: (passes(30), value + 1)[1]\n"
    with blocks_of(context, source, monkeypatch, flushed=True) as (timed, given):
        choose("cold", "cuda").take(timed, given)
        assert not timed.copies
        timed.copies = True
        choose("cold", "cuda").take(timed, given)
        assert timed.samples.event_ms == [2.0] * 6 and timed.samples.wall_ms[1] >= 30.0, "it is in the requests' time, and in no call's"
        assert torch.equal(reveal(timed, given, 1, given[0][0]), given[1][1][0] + 2)
        choose("throughput", "cuda").take(timed, given)
        assert timed.samples.event_ms[-1] == 2.0, "where it would be in the calls' time, it is not asked for"


def test_a_launch_lead_is_before_each_call_and_in_no_sample(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with blocks_of(context, HOOKED, monkeypatch, flushed=True) as (timed, given):
        choose("cold", "cuda").take(timed, given)
        assert timed.samples_ms(0.5) == timed.samples.event_ms and timed.summary(0.5).blank_ms == 0.0, "without it nothing is taken off"
        timed.samples.forget_calls()
        timed.launch_lead = LaunchLead(30_000_000, 30.0)
        choose("cold", "cuda").take(timed, given)
        assert len(timed.samples.event_ms) == len(timed.samples.host_ms) == 3 and timed.is_flushed()
        assert timed.samples.wall_ms[0] - statistics.fmean(timed.samples.event_ms) >= 30.0, "by a call's share of the request"
        assert timed.samples.wall_ms[0] - statistics.fmean(timed.samples.host_ms) >= 30.0
        assert timed.samples_ms(0.5) == [claim_ms - 0.5 for claim_ms in timed.samples.event_ms]
        told = timed.summary(0.5)
        assert (told.blank_ms, told.launch_lead_ms, told.host_ms) == (0.5, 30.0, min(timed.samples.host_ms))
        assert told.claim_ms == pytest.approx(statistics.median(timed.samples.event_ms))
        assert max(timed.blank(3)) < 2.0 and timed.is_flushed()


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ('{"ms": [60_000.0] * 3, "outputs": result["outputs"]}', "longer than their request"),
        ('{"ms": [0.1], "outputs": result["outputs"]}', "as many times"),
        ('{"ms": result["ms"], "outputs": result["outputs"][:2]}', "one output for each"),
        ('{"ms": result["ms"], "outputs": 3}', "one output for each"),
        ('{"outputs": result["outputs"]}', "as many times"),
        ('{"ms": result["ms"], "outputs": result["outputs"]}', "as many times"),
        ('{"ms": result["ms"], "host_ms": [0.01, 0.01, "0.01"], "outputs": result["outputs"]}', "milliseconds"),
    ],
)
def test_claims_that_no_block_can_have(context: JudgeContext, monkeypatch: pytest.MonkeyPatch, hook: str, words: str) -> None:
    hooked = f"""
def block(state, request, descriptors, block=handlers["block"]):
    result = block(state, request, descriptors)
    return {hook}
handlers["block"] = block
"""
    with blocks_of(context, HOOKED + hooked, monkeypatch, flushed=True) as (timed, given), pytest.raises(ProtocolError, match=words):
        choose("cold", "cuda").take(timed, given)


@pytest.mark.parametrize("protocol", ["throughput", "graph"])
def test_a_block_that_never_ends_has_the_deadline_of_one_call(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    endless = "handlers['block'] = handlers['record'] = lambda state, request, descriptors: time.sleep(60)\n"
    with blocks_of(context, HOOKED + endless, monkeypatch, flushed=False) as (timed, given):
        timed.deadline_s, timed.replays = 0.5, protocol == "graph"
        with pytest.raises(WorkerError):
            choose(protocol, "cuda").take(timed, given)
        assert timed.worker.exit is not None and timed.worker.exit.deadline_s == 0.5


def test_a_block_without_its_flushes_is_seen(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with blocks_of(context, HOOKED + "timing.flush = lambda state, order: None\n", monkeypatch, flushed=True) as (timed, given):
        choose("cold", "cuda").take(timed, given)
        timed.check_flush(3)
        assert timed.samples.unflushed == 3


def test_what_can_not_be_recorded_says_why(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no device here that could."""
    with blocks_of(context, HOOKED, monkeypatch, flushed=False) as (timed, given), pytest.raises(UnrecordableError) as error:
        choose("graph", "cuda").take(timed, given)
    assert str(error.value)


RECORDED = """
class Graph:
    def __init__(self): self.calls = []
    def replay(self):
        for call in self.calls: call()

def record(state, request, _):
    graph, outputs, descriptions = Graph(), [], []
    for position in request["sets"]:
        inputs = state.sets[position]
        output = torch.empty_like(inputs[0])
        graph.calls.append(lambda inputs=inputs, output=output: output.copy_(state.model(*inputs)))
        outputs.append([output])
        state.output = []
        descriptions.append(timing.structure.encode(output, state.describe))
    state.graphs[request["name"]] = timing.Recording(graph, outputs, descriptions)
    return {"recorded": True}
handlers["record"] = record
"""
"""In the place of a CUDA graph: the calls, over the same memory."""


def test_a_recorded_block_is_replayed_over_new_inputs(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with blocks_of(context, HOOKED + RECORDED, monkeypatch, flushed=False) as (timed, given):
        for _ in range(2):
            fresh = [(inputs, [torch.rand(5)]) for inputs, _ in given]
            assert len(choose("graph", "cuda").take(timed, fresh)) == 3
            place = fresh[0][0]
            assert torch.equal(reveal(timed, fresh, 1, place), fresh[1][1][0] + 1)
        assert timed.samples.event_ms == [2.0] * 2 and min(timed.samples.wall_ms) >= 2.0
