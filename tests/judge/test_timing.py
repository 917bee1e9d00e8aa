"""What a worker may claim of its times. How candidates are timed is tested in whole evaluations."""

import statistics
from typing import Any

import pytest

from evaluator.category import Category
from evaluator.judge.session import claimed_ms
from evaluator.result import TimingSide
from evaluator.worker.protocol import ProtocolError
from tests.judge.conftest import Judge


@pytest.mark.parametrize("value", [None, "1.0", True, False, -1.0, float("nan"), float("inf"), 1e9, 10**400, [1.0], {"ms": 1.0}])
def test_claims_that_are_no_time(value: Any) -> None:
    with pytest.raises(ProtocolError, match="milliseconds"):
        claimed_ms({"ms": value})


def test_an_answer_without_a_claim() -> None:
    with pytest.raises(ProtocolError):
        claimed_ms({})


@pytest.mark.parametrize("value", [0, 1, 0.002, 5e5])
def test_claims_that_are_a_time(value: float) -> None:
    assert claimed_ms({"ms": value}) == float(value)


SLEEPING = """
import time, torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        time.sleep(0.02)
        return torch.softmax(x, 1)
"""


def check(side: TimingSide, calls: int) -> None:
    assert len(side.samples_ms) == len(side.wall_ms) == calls
    assert side.median_ms == pytest.approx(statistics.median(side.samples_ms))
    assert 0 < side.lower_quartile_ms <= side.median_ms <= side.upper_quartile_ms


def test_a_call_that_sleeps_takes_as_long_as_it_sleeps(judge: Judge) -> None:
    result = judge(SLEEPING)
    timing = result.evidence.timing
    assert timing is not None
    for side in (timing.candidate, timing.baseline):
        check(side, timing.calls)
    # The machine may be busy with others: both wait for it alike, and sleep comes on top.
    assert timing.candidate.median_ms > 19
    assert min(timing.baseline.samples_ms) < 10
    assert result.speedup is not None and result.speedup < 1


TURNS_WHEN_TIMED = """
import torch

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        y = torch.softmax(x, 1)
        if self.calls > {honest}:
            {body}
        return y
"""


@pytest.mark.parametrize(
    ("body", "category", "words"),
    [
        ("y = self.last if hasattr(self, 'last') else y; self.last = y", Category.CACHED_OUTPUT, "elements of the output are wrong"),
        ("x.mul_(1.0000001)", Category.MUTATED_INPUT, "changed its input"),
        ("y = y[:, 1:]", Category.CACHED_OUTPUT, "the output has shape (17, 1020)"),
    ],
)
def test_who_turns_when_timed_is_found_out(judge: Judge, body: str, category: Category, words: str) -> None:
    result = judge(TURNS_WHEN_TIMED.format(honest=16, body=body))
    assert (result.category, words in result.message) == (category, True), result.message
    assert result.message.startswith("right in every round, wrong in timed call ")
