"""Who has a head start on a GPU, and what is taken off for events: the rules, over sides that only say what they were asked for."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.judge.timing.gpu.launch_lead import NONE, LaunchLead
from evaluator.judge.timing.protocols import PROTOCOLS
from evaluator.judge.timing.run import BLANKS, EMPTY_KERNEL_MS, TimingRun

GIVEN = LaunchLead(1000, 0.5)


class StandInSide:
    """Says what launching took it, and counts what was asked of it."""

    def __init__(self, host_ms: float, *, gate: bool = True, gated: bool = True) -> None:
        self.gate = object() if gate else None
        self.is_gated, self.head_start = gated, NONE
        self.samples: list[LaunchLead] = []
        self.asked = 0
        self._host_ms = host_ms

    @property
    def host_ms(self) -> list[float]:
        return [self._host_ms for _ in self.samples]

    def forget(self) -> None:
        self.samples.clear()

    def block(self) -> None:
        self.asked += 1
        self.samples.append(self.head_start)


class StandInTurns:
    def __init__(self, candidate: StandInSide, baseline: StandInSide) -> None:
        self.candidate, self.baseline, self.sides, self.length = candidate, baseline, [candidate, baseline], 4
        self.forgotten = 0

    def forget_arguments(self) -> None:
        self.forgotten += 1


def warmed(
    monkeypatch: pytest.MonkeyPatch, candidate: StandInSide, *, protocol: str = "cold", leads: bool = True, baseline_gated: bool = True
) -> tuple[StandInSide, list[Any], list[Any]]:
    """The baseline, what was probed, and of what head starts were made."""
    timing, baseline = TimingRun.__new__(TimingRun), StandInSide(0.01, gate=candidate.gate is not None, gated=baseline_gated)
    turns = StandInTurns(candidate, baseline)
    timing._turns, timing._protocol, timing._candidate_leads = turns, PROTOCOLS[protocol], leads  # type: ignore[assignment]
    timing._memory = SimpleNamespace(device=None)  # type: ignore[assignment]
    timing._inspection = SimpleNamespace(outputs=[SimpleNamespace(nbytes=1 << 20)] * 2)  # type: ignore[assignment]
    made: list[Any] = []
    probed: list[Any] = []

    def run_blocks() -> None:
        for side in turns.sides:
            side.block()

    def make(host_ms: Sequence[float], length: int, _: object, answer_bytes: int) -> LaunchLead:
        made.append((list(host_ms), length, answer_bytes))
        return GIVEN

    monkeypatch.setattr(timing, "_run_block_of_each", run_blocks)
    monkeypatch.setattr(LaunchLead, "of", make)
    timing._warm_blocks(probed.append)
    return baseline, probed, made


def test_both_sides_have_the_head_start_of_the_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = StandInSide(0.3)
    baseline, probed, made = warmed(monkeypatch, candidate)
    assert candidate.head_start == baseline.head_start == GIVEN
    assert (probed, made) == ([candidate, baseline], [([0.3, 0.01], 4, 2 << 20)])
    assert (candidate.asked, baseline.asked, candidate.samples) == (3, 3, []), "nothing of it counts"


def test_who_can_not_be_held_has_none_and_the_baseline_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = StandInSide(0.3, gated=False)
    baseline, probed, made = warmed(monkeypatch, candidate)
    assert (candidate.head_start, baseline.head_start) == (NONE, GIVEN)
    assert (probed, made) == ([candidate, baseline], [([0.01], 4, 2 << 20)])


def test_who_turned_out_uneven_is_not_even_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = StandInSide(0.3)
    baseline, probed, _ = warmed(monkeypatch, candidate, leads=False)
    assert (candidate.head_start, baseline.head_start, probed) == (NONE, GIVEN, [baseline])


def test_where_the_reference_can_not_be_held_nobody_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = StandInSide(0.3)
    baseline, probed, made = warmed(monkeypatch, candidate, baseline_gated=False)
    assert (candidate.head_start, baseline.head_start, made) == (NONE, NONE, [])
    assert probed == [candidate, baseline]


@pytest.mark.parametrize(("protocol", "gate"), [("cold", False), ("throughput", True), ("graph", True)])
def test_without_a_gate_or_calls_that_are_apart_nobody_has_one(monkeypatch: pytest.MonkeyPatch, protocol: str, gate: bool) -> None:
    candidate = StandInSide(0.3, gate=gate)
    baseline, probed, made = warmed(monkeypatch, candidate, protocol=protocol)
    assert (candidate.head_start, baseline.head_start, probed, made) == (NONE, NONE, [], [])
    assert (candidate.asked, candidate.samples) == (1, [])


@pytest.mark.parametrize(("blanks_ms", "blank_ms"), [((0.004, 0.005, 0.9), 0.005 - EMPTY_KERNEL_MS), ((EMPTY_KERNEL_MS / 2,), 0.0)])
def test_what_events_take_is_the_median_of_empty_kernels_less_what_these_take(blanks_ms: tuple[float, ...], blank_ms: float) -> None:
    timing, asked = TimingRun.__new__(TimingRun), []
    timing._on_device, timing._turns = True, SimpleNamespace(most_in_block=len(blanks_ms))  # type: ignore[assignment]

    def blank(count: int) -> list[float]:
        asked.append(count)
        return [1e3] * count if len(asked) == 1 else list(blanks_ms)

    alone: Any = SimpleNamespace(head_start=GIVEN, blank=blank)
    assert timing._blank_ms(alone) == pytest.approx(blank_ms), "the first block is to warm up"
    assert sum(asked[1:]) >= BLANKS
    assert timing._blank_ms(SimpleNamespace(head_start=NONE)) == 0.0  # type: ignore[arg-type]
