"""The registry of protocols, and what each asks of a worker: with a real worker on the CPU, where there is no device to be waited for."""

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from evaluator.judge.context import JudgeContext
from evaluator.judge.timing.gpu.l2_flush import L2Flush
from evaluator.judge.timing.gpu.launch_lead import LARGE_BYTES, MOST_OF_LARGE_MS, LaunchLead
from evaluator.judge.timing.protocols import DEFAULTS, PROTOCOLS, UnknownProtocolError, alternative, choose
from evaluator.judge.timing.timed_worker import TimedWorker, UnrecordableError, claimed_times_ms
from evaluator.judge.workers.client import WorkerError
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.judge.workers.launcher import START_S
from evaluator.worker.protocol import ProtocolError
from tests.judge.timing.test_timed_worker import side_of

HOOKED = """
import sys, time, torch
main = sys.modules["evaluator.worker.server"]

class Event:
    def record(self): self.at = time.perf_counter()
    def elapsed_time(self, end): return (end.at - self.at) * 1e3
main.event = Event
main._keep_busy = lambda cycles: time.sleep(cycles * 1e-9)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        time.sleep(0.002)
        return x + 1
"""
"""Events of the host's clock: what a block is, and what is made of it, needs no device."""


def test_each_kind_of_device_has_a_default_of_its_own_kind() -> None:
    assert {kind: choose(None, kind).name for kind in DEFAULTS} == {"cuda": "cold", "cpu": "cpu"}
    assert all(choose(name, protocol.device_kind) is protocol for name, protocol in PROTOCOLS.items())
    assert set(PROTOCOLS) == {"cold", "throughput", "graph", "cpu"}


@pytest.mark.parametrize(("name", "kind"), [("graph", "cpu"), ("cpu", "cuda"), ("fast", "cuda")])
def test_a_protocol_that_the_device_does_not_have(name: str, kind: str) -> None:
    with pytest.raises(UnknownProtocolError, match=rf"no protocol '{name}' for a device of kind {kind}; there is "):
        choose(name, kind)


def test_defaults_are_no_alternatives() -> None:
    assert [alternative(name) for name in (None, "cold", "cpu", "graph", "throughput")] == [None, None, None, "graph", "throughput"]


@pytest.mark.parametrize(
    ("call_ms", "room", "calls"), [(0.001, 16, 16), (1.0, 16, 5), (4.0, 16, 1), (80.0, 16, 1), (0.1, 3, 3), (0.1, 1, 1)]
)
def test_a_block_is_of_as_many_calls_as_fit_into_some_milliseconds_and_into_memory(call_ms: float, room: int, calls: int) -> None:
    assert choose("cold", "cuda").calls_in_block(call_ms, room) == calls
    assert choose("cpu", "cpu").calls_in_block(call_ms, room) == 1


@contextmanager
def blocks_of(
    context: JudgeContext, source: str, monkeypatch: pytest.MonkeyPatch, flushed: bool
) -> Iterator[tuple[TimedWorker, list[Any]]]:
    """A side on a pretended device, and inputs for three calls."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda _=None: None)
    with side_of(context, source, [torch.zeros(5)] * 3) as (before, sets, memory):
        flush = L2Flush(memory, 1 << 30, 3) if flushed else None
        if flush:
            before.worker.hand_over(flush.allocations, START_S)
        yield TimedWorker(before.worker, START_S, flush, device=torch.device("cpu")), [(one, [torch.rand(5)]) for one in sets]


def reveal(side: TimedWorker, given: Any, call: int, place: InputSet) -> torch.Tensor:
    """One answer of the last block."""
    side.worker.request("reveal", START_S, outputs=[place.tree(given[call][1])["list"][0]["tensor"]], release=False, call=call)
    return place.allocations[0].view((5,), torch.float32).clone()


def test_cold_calls_are_timed_one_by_one_after_their_flushes(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with blocks_of(context, HOOKED, monkeypatch, flushed=True) as (side, given):
        answers = choose("cold", "cuda").take(side, given)
        assert len(answers) == len(side.claims_ms) == len(side.at_s) == 3 and len(side.wall_ms) == 1
        assert all(2.0 <= claim_ms < 3 * side.wall_ms[0] for claim_ms in side.claims_ms)
        assert sum(side.claims_ms) <= 3 * side.wall_ms[0], "the wall clock is of one call too"
        assert side.is_flushed()


def test_calls_back_to_back_are_one_sample_and_flush_nothing(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with blocks_of(context, HOOKED, monkeypatch, flushed=False) as (side, given):
        answers = choose("throughput", "cuda").take(side, given)
        assert len(answers) == 3 and len(side.claims_ms) == len(side.wall_ms) == len(side.at_s) == 1
        assert 2.0 <= side.claims_ms[0] <= side.wall_ms[0]


def test_any_answer_of_a_block_can_be_revealed(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with blocks_of(context, HOOKED, monkeypatch, flushed=False) as (side, given):
        choose("throughput", "cuda").take(side, given)
        for call in (2, 0, 1, 0):
            place = given[(call + 1) % 3][0]
            assert torch.equal(reveal(side, given, call, place), given[call][1][0] + 1)


ONE_BUFFER = """
class ModelNew(torch.nn.Module):
    kept = torch.empty(5)
    def forward(self, x):
        return torch.add(x, 1, out=self.kept)
"""


@pytest.mark.parametrize("protocol", ["cold", "throughput"])
def test_answers_in_one_buffer_are_told_apart_from_the_second_block_on(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    """The first one is to warm up."""
    with blocks_of(context, HOOKED + ONE_BUFFER, monkeypatch, flushed=protocol == "cold") as (side, given):
        for _ in range(2):
            choose(protocol, "cuda").take(side, given)
        for call in (2, 0, 1):
            place = given[(call + 1) % 3][0]
            assert torch.equal(reveal(side, given, call, place), given[call][1][0] + 1)


def test_who_copies_answers_says_so_and_another_copies_them_where_it_is_told_to(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    with blocks_of(context, HOOKED + ONE_BUFFER, monkeypatch, flushed=True) as (reusing, given):
        said = []
        for _ in range(3):
            choose("cold", "cuda").take(reusing, given)
            said.append(reusing.copies)
        assert said == [False, True, True], "that they share memory is known when a block is over"
    source = HOOKED + "main.copied = lambda value: (time.sleep(0.03), value + 1)[1]\n"
    with blocks_of(context, source, monkeypatch, flushed=True) as (side, given):
        choose("cold", "cuda").take(side, given)
        assert not side.copies
        side.copies = True
        choose("cold", "cuda").take(side, given)
        assert max(side.claims_ms) < 30.0 <= side.wall_ms[1], "it is in the requests' time, and in no call's"
        assert torch.equal(reveal(side, given, 1, given[0][0]), given[1][1][0] + 2)
        choose("throughput", "cuda").take(side, given)
        assert side.claims_ms[-1] < 30.0, "where it would be in the calls' time, it is not asked for"


def test_a_head_start_is_before_each_call_and_in_no_sample(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with blocks_of(context, HOOKED, monkeypatch, flushed=True) as (side, given):
        side.head_start = LaunchLead(30_000_000, 30.0)
        choose("cold", "cuda").take(side, given)
        assert len(side.claims_ms) == len(side.host_ms) == 3 and side.is_flushed()
        assert side.wall_ms[0] - statistics.fmean(side.claims_ms) >= 30.0, "by a call's share of the request"
        assert side.wall_ms[0] - statistics.fmean(side.host_ms) >= 30.0
        assert side.samples_ms(0.5) == [claim_ms - 0.5 for claim_ms in side.claims_ms]
        told = side.summary(0.5)
        assert (told.blank_ms, told.head_start_ms, told.host_ms) == (0.5, 30.0, min(side.host_ms))
        assert told.claim_ms == pytest.approx(statistics.median(side.claims_ms))
        assert min(side.blank(3)) < 30.0 and side.is_flushed()


def test_without_a_head_start_nothing_is_taken_off(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with blocks_of(context, HOOKED, monkeypatch, flushed=True) as (side, given):
        choose("cold", "cuda").take(side, given)
        assert side.samples_ms(0.5) == side.claims_ms and side.summary(0.5).blank_ms == 0.0


@pytest.mark.parametrize(
    ("host_ms", "length", "ms"),
    [((0.01, 0.04), 16, 0.09), ((3.0, 0.04), 2, 4.53), ((3.0, 0.04), 16, 1.25), ((60.0,), 1, 10.0)],
)
def test_a_head_start_is_longer_than_launching_takes_the_slower_side(
    monkeypatch: pytest.MonkeyPatch, host_ms: tuple[float, ...], length: int, ms: float
) -> None:
    monkeypatch.setattr("evaluator.judge.timing.gpu.launch_lead._cycles_per_ms", lambda _: 1.5e6)
    found = LaunchLead.of(host_ms, length, torch.device("cuda"))
    assert found.ms == pytest.approx(ms) and found.cycles == pytest.approx(1.5e6 * ms)
    assert LaunchLead.of(host_ms, length, torch.device("cuda"), LARGE_BYTES).ms == found.ms
    of_large = LaunchLead.of(host_ms, length, torch.device("cuda"), LARGE_BYTES + 1)
    assert of_large.ms == pytest.approx(min(ms, MOST_OF_LARGE_MS)), "no place to hide in"


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ('{"ms": [60_000.0] * 3, "outputs": result["outputs"]}', "longer than the request"),
        ('{"ms": [0.1], "outputs": result["outputs"]}', "as many times"),
        ('{"ms": result["ms"], "outputs": result["outputs"][:2]}', "one answer for each"),
        ('{"ms": result["ms"], "outputs": 3}', "one answer for each"),
        ('{"outputs": result["outputs"]}', "as many times"),
        ('{"ms": result["ms"], "outputs": result["outputs"]}', "as many times"),
        ('{"ms": result["ms"], "host_ms": [0.01, 0.01, "0.01"], "outputs": result["outputs"]}', "milliseconds"),
    ],
)
def test_claims_that_no_block_can_have(context: JudgeContext, monkeypatch: pytest.MonkeyPatch, hook: str, words: str) -> None:
    hooked = f"""
def block(self, request, descriptors, block=main.Worker._block):
    result = block(self, request, descriptors)
    return {hook}
main.Worker._block = block
"""
    with blocks_of(context, HOOKED + hooked, monkeypatch, flushed=True) as (side, given), pytest.raises(ProtocolError, match=words):
        choose("cold", "cuda").take(side, given)


@pytest.mark.parametrize("protocol", ["throughput", "graph"])
def test_a_block_that_never_ends_has_the_deadline_of_one_call(
    context: JudgeContext, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    endless = "main.Worker._block = main.Worker._record = lambda self, request, descriptors: time.sleep(60)\n"
    with blocks_of(context, HOOKED + endless, monkeypatch, flushed=False) as (side, given):
        side.deadline_s, side.replays = 0.5, protocol == "graph"
        with pytest.raises(WorkerError):
            choose(protocol, "cuda").take(side, given)
        assert side.worker.exit is not None and side.worker.exit.deadline_s == 0.5


def test_a_block_without_its_flushes_is_seen(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with blocks_of(context, HOOKED + "main.Worker._flush = lambda self, order: None\n", monkeypatch, flushed=True) as (side, given):
        choose("cold", "cuda").take(side, given)
        side.check_flush(3)
        assert side.unflushed == 3


def test_what_can_not_be_recorded_says_why(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no device here that could."""
    with blocks_of(context, HOOKED, monkeypatch, flushed=False) as (side, given), pytest.raises(UnrecordableError) as error:
        choose("graph", "cuda").take(side, given)
    assert str(error.value)


RECORDED = """
class Graph:
    def __init__(self): self.calls = []
    def replay(self):
        for call in self.calls: call()

def record(self, request, _):
    graph, outputs, descriptions = Graph(), [], []
    for position in request["sets"]:
        inputs = self._sets[position]
        output = torch.empty_like(inputs[0])
        graph.calls.append(lambda inputs=inputs, output=output: output.copy_(self._model(*inputs)))
        outputs.append([output])
        self._output = []
        descriptions.append(main.structure.encode(output, self._describe))
    self._graphs[request["name"]] = main.Recording(graph, outputs, descriptions)
    return {"recorded": True}
main.Worker._record = record
"""
"""In the place of a CUDA graph: the calls, over the same memory."""


def test_a_recorded_block_is_replayed_over_new_inputs(context: JudgeContext, monkeypatch: pytest.MonkeyPatch) -> None:
    with blocks_of(context, HOOKED + RECORDED, monkeypatch, flushed=False) as (side, given):
        for _ in range(2):
            fresh = [(inputs, [torch.rand(5)]) for inputs, _ in given]
            assert len(choose("graph", "cuda").take(side, fresh)) == 3
            place = fresh[0][0]
            assert torch.equal(reveal(side, fresh, 1, place), fresh[1][1][0] + 1)
        assert len(side.claims_ms) == 2 and all(
            2.0 <= claim_ms <= wall for claim_ms, wall in zip(side.claims_ms, side.wall_ms, strict=True)
        )


@pytest.mark.parametrize("times", [None, 1.0, [1.0], [1.0, "2"], [1.0, float("nan")], [1.0, -1.0], [True, 1.0]])
def test_claims_of_two_calls_that_are_no_times(times: Any) -> None:
    with pytest.raises(ProtocolError):
        claimed_times_ms({"ms": times}, 2)


def test_claims_of_two_calls() -> None:
    assert claimed_times_ms({"ms": [1, 0.5]}, 2) == [1.0, 0.5]
