"""The end of a warm-up, and the launch lead of each side. Stand-ins record the requests for leads."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from evaluator.judge.timing.gpu.launch_lead import NONE, LaunchLead
from evaluator.judge.timing.protocols import PROTOCOLS
from evaluator.judge.timing.statistics.samples import Samples
from evaluator.judge.timing.warmup import WARM_UP_CALLS, give_launch_lead, is_steady

GIVEN = LaunchLead(1000, 0.5)


def test_warm_up_ends_when_times_change_no_more() -> None:
    falling = [10.0, 8.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.5]
    assert not is_steady(falling[:WARM_UP_CALLS]) and not is_steady(falling)
    assert is_steady([*falling, *[1.0] * (2 * WARM_UP_CALLS)])
    assert is_steady([1.0, 1.01, 0.99, 1.0, 1.0, 1.01, 0.995, 9.0]), "one that is disturbed is not the clock"


class StandInWorker:
    """Says what launching took it, and counts its blocks."""

    def __init__(self, host_ms: float, *, gate: bool = True, gated: bool = True) -> None:
        self.gate = object() if gate else None
        self.is_gated, self.launch_lead, self.samples = gated, NONE, Samples(on_device=True)
        self.blocks, self._host_ms = 0, host_ms


class StandInTurns:
    """Turns of a candidate, by default one that takes its host long, and a baseline."""

    def __init__(self, protocol: str = "cold", *, gate: bool = True, gated: bool = True, baseline_gated: bool = True) -> None:
        self.candidate = StandInWorker(0.3, gate=gate, gated=gated)
        self.baseline = StandInWorker(0.01, gate=gate, gated=baseline_gated)
        self.timed_workers, self.protocol = [self.candidate, self.baseline], PROTOCOLS[protocol]
        self.device, self.length, self.inputs = None, 4, self

    def forget(self) -> None:
        """Do nothing: a stand-in has no inputs."""

    def block(self, timed: StandInWorker) -> None:
        timed.blocks += 1
        timed.samples.host_ms.append(timed._host_ms)

    @contextmanager
    def sparing(self, _: StandInWorker) -> Iterator[None]:
        yield


LEADS = [
    pytest.param({}, True, ("candidate", "baseline"), ("candidate", "baseline"), [0.3, 0.01], id="both that of the slower"),
    pytest.param({"gated": False}, True, ("baseline",), ("candidate", "baseline"), [0.01], id="a candidate that can't be held has none"),
    pytest.param({}, False, ("baseline",), ("baseline",), [0.01], id="one that turned out uneven is not even probed"),
    pytest.param({"baseline_gated": False}, True, (), ("candidate", "baseline"), None, id="the reference can't be held"),
    pytest.param({"gate": False}, True, (), (), None, id="no gate"),
    pytest.param({"protocol": "throughput"}, True, (), (), None, id="calls are timed together"),
    pytest.param({"protocol": "graph"}, True, (), (), None, id="calls are replayed"),
]


@pytest.mark.parametrize(("turns", "candidate_may", "led", "probed", "hosts_ms"), LEADS)
def test_who_has_a_launch_lead(
    monkeypatch: pytest.MonkeyPatch,
    turns: dict[str, Any],
    candidate_may: bool,
    led: tuple[str, ...],
    probed: tuple[str, ...],
    hosts_ms: list[float] | None,
) -> None:
    interleaver: Any = StandInTurns(**turns)
    made: list[Any] = []
    asked: list[Any] = []

    def make(host_ms: Sequence[float], length: int, _: object, answer_bytes: int) -> LaunchLead:
        made.append((list(host_ms), length, answer_bytes))
        return GIVEN

    monkeypatch.setattr(LaunchLead, "of", make)
    give_launch_lead(interleaver, asked.append, 2 << 20, candidate_may=candidate_may)
    workers = {name: getattr(interleaver, name) for name in ("candidate", "baseline")}
    assert {name: timed.launch_lead for name, timed in workers.items()} == {name: GIVEN if name in led else NONE for name in workers}
    assert asked == [workers[name] for name in probed]
    assert made == ([] if hosts_ms is None else [(hosts_ms, 4, 2 << 20)])
    assert all(timed.samples.host_ms == [] for timed in workers.values()), "nothing of it counts"
    assert {timed.blocks for timed in workers.values()} == {2 if probed else 0}
