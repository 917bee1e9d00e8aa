"""The time that is subtracted from each call, with a stand-in for the baseline that records its requests."""

import itertools
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.judge import limits
from evaluator.judge.timing.baseline_alone import BLANKS, BaselineAlone, Blank, limit_ms
from evaluator.judge.timing.gpu.launch_lead import NONE, LaunchLead
from evaluator.judge.timing.statistics.samples import Samples
from tests.judge.clock import Clock


def blank(alone: Any, *, on_device: bool, one_core: bool = False, **fields: Any) -> Blank:
    interleaver: Any = SimpleNamespace(on_device=on_device, **fields)
    return BaselineAlone(interleaver, SimpleNamespace(), 1.0, lambda: None).blank(alone, one_core=one_core)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("blanks_ms", "expected_ms"), [((0.004, 0.005, 0.9), 0.005 - limits.EMPTY_KERNEL_MS), ((limits.EMPTY_KERNEL_MS / 2,), 0.0)]
)
def test_on_a_gpu_it_is_the_median_of_empty_kernels_less_what_these_take(blanks_ms: tuple[float, ...], expected_ms: float) -> None:
    asked: list[int] = []

    def empty_kernels(count: int) -> list[float]:
        asked.append(count)
        return [1e3] * count if len(asked) == 1 else list(blanks_ms)

    alone = SimpleNamespace(launch_lead=LaunchLead(1000, 0.5), blank=empty_kernels)
    found = blank(alone, on_device=True, most_in_block=len(blanks_ms))
    assert found.ms == pytest.approx(expected_ms), "the first block is to warm up"
    assert sum(asked[1:]) >= BLANKS


def test_where_the_hosts_time_counts_it_is_nothing() -> None:
    assert blank(SimpleNamespace(launch_lead=NONE), on_device=True).ms == 0.0


def worker(*wall_ms: float, busy_ms: tuple[float, ...] = ()) -> Any:
    return SimpleNamespace(samples=Samples(on_device=False, wall_ms=list(wall_ms), busy_ms=list(busy_ms)))


def on_cpu(candidate: Any, blanks: Iterable[tuple[float, float]], *, length: int = 1, one_core: bool = True) -> Blank:
    """What is subtracted from a call, and whether requests were slow. A request of the baseline waits for at least 0.07 ms."""
    baseline, alone = worker(1.2, 8.0, busy_ms=(1.13, 1.2)), worker(9.0, busy_ms=(1.2,))
    fields: Any = {"timed_workers": [candidate, baseline], "baseline": baseline, "length": length, "host_blanks": lambda _: blanks}
    return blank(alone, on_device=False, one_core=one_core, **fields)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("evaluator.judge.timing.baseline_alone.time", clock)
    return clock


@pytest.mark.parametrize("length", [1, 4])
def test_on_the_cpu_it_is_a_calls_share_of_the_fastest_empty_block(length: int) -> None:
    blanks = [(0.5, 0.06), (0.12, 0.06), *[(0.4, 0.06)] * 100]
    found = on_cpu(worker(1.0), blanks, length=length)
    assert found.ms == pytest.approx(0.12 / length) and not found.is_slow


@pytest.mark.parametrize(
    ("one_core", "candidate", "subtracted_ms"),
    [
        (True, worker(0.4, 8.0), 0.07 + 0.05),  # the baseline's least wait, and the CPU time of an empty block
        (False, worker(0.4, 8.0), 0.3),
        (False, worker(0.2, 8.0), 0.15),  # three quarters of a short block
        (False, worker(2.0, 8.0), 0.3),  # an empty block's usual time
    ],
)
def test_other_load_that_lengthens_every_empty_block_leaves_the_calls_their_time(
    one_core: bool, candidate: Any, subtracted_ms: float
) -> None:
    slow = itertools.repeat((3.6, 0.05))
    found = on_cpu(candidate, slow, one_core=one_core)
    assert found.ms == pytest.approx(subtracted_ms) and found.is_slow


def test_of_a_long_call_a_twentieth_may_be_its_request() -> None:
    assert (limit_ms(100.0), limit_ms(6.0), limit_ms(0.1)) == pytest.approx((5.0, 0.3, 0.075))


@pytest.mark.parametrize(("burst_s", "subtracted_ms"), [(0.9 * limits.SLOW_BLANKS_S, 0.1), (1.1 * limits.SLOW_BLANKS_S, 0.12)])
def test_a_burst_of_other_load_does_not_lengthen_all_empty_blocks(clock: Clock, burst_s: float, subtracted_ms: float) -> None:
    """A call's own time would be gone with it. What lasts longer is not waited for."""

    def blanks() -> Iterator[tuple[float, float]]:
        while True:
            took_ms = 0.1 if clock.now_s > burst_s else 2.0
            clock.now_s += took_ms / 1e3
            yield took_ms, 0.05

    found = on_cpu(worker(0.4), blanks())
    assert found.ms == pytest.approx(subtracted_ms) and found.is_slow is (burst_s > limits.SLOW_BLANKS_S)


def test_one_block_that_is_answered_at_once_does_not_make_requests_slow() -> None:
    found = on_cpu(worker(0.001, *[2.0] * 20), itertools.repeat((0.12, 0.06)))
    assert found.ms == pytest.approx(0.12) and not found.is_slow
