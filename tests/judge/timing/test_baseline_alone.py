"""The time that is subtracted from each call, with a stand-in for the baseline that records its requests."""

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.judge.timing.baseline_alone import BLANKS, EMPTY_KERNEL_MS, BaselineAlone
from evaluator.judge.timing.gpu.launch_lead import NONE, LaunchLead


def blank_ms(alone: Any, *, on_device: bool, **fields: Any) -> float:
    interleaver: Any = SimpleNamespace(on_device=on_device, **fields)
    return BaselineAlone(interleaver, SimpleNamespace(), 1.0, lambda: None).blank_ms(alone)  # type: ignore[arg-type]


@pytest.mark.parametrize(("blanks_ms", "expected_ms"), [((0.004, 0.005, 0.9), 0.005 - EMPTY_KERNEL_MS), ((EMPTY_KERNEL_MS / 2,), 0.0)])
def test_on_a_gpu_it_is_the_median_of_empty_kernels_less_what_these_take(blanks_ms: tuple[float, ...], expected_ms: float) -> None:
    asked: list[int] = []

    def blank(count: int) -> list[float]:
        asked.append(count)
        return [1e3] * count if len(asked) == 1 else list(blanks_ms)

    alone = SimpleNamespace(launch_lead=LaunchLead(1000, 0.5), blank=blank)
    found_ms = blank_ms(alone, on_device=True, most_in_block=len(blanks_ms))
    assert found_ms == pytest.approx(expected_ms), "the first block is to warm up"
    assert sum(asked[1:]) >= BLANKS


def test_where_the_hosts_time_counts_it_is_nothing() -> None:
    assert blank_ms(SimpleNamespace(launch_lead=NONE), on_device=True) == 0.0


@pytest.mark.parametrize(("length", "expected_ms"), [(1, 0.2), (4, 0.05)])
def test_on_the_cpu_it_is_a_calls_share_of_the_fastest_empty_block(length: int, expected_ms: float) -> None:
    times_ms = iter([0.5, 0.2, *[0.4] * 100])
    found_ms = blank_ms(SimpleNamespace(), on_device=False, length=length, host_blanks=lambda _: times_ms)
    assert found_ms == pytest.approx(expected_ms)


def test_a_burst_of_other_load_does_not_lengthen_all_empty_blocks() -> None:
    """A call's own time would be gone with it."""
    until = time.monotonic() + 0.02

    def blanks(_: Any) -> Iterator[float]:
        while True:
            yield 0.1 if time.monotonic() > until else 2.0

    assert blank_ms(SimpleNamespace(), on_device=False, length=1, host_blanks=blanks) == pytest.approx(0.1)
