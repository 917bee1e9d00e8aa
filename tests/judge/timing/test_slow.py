"""Very slow submissions are called a few times only. A submission with one slow call has all its calls."""

import pytest

from evaluator.results.category import Category
from evaluator.results.result import Result
from tests.judge.conftest import Judge

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x) + 0.5 * x

def get_inputs():
    return [torch.rand(64, 64)]

def get_init_inputs():
    return []
"""
SLOW = """
import time
import torch

class ModelNew(torch.nn.Module):
    calls = 0
    def forward(self, x):
        print("called")
        ModelNew.calls += 1
        if {when}:
            time.sleep(0.2)
        return torch.tanh(x) + {factor} * x
"""
MOST_CALLS = 12


@pytest.fixture(autouse=True)
def fast_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other load does not lengthen the reference's calls."""
    monkeypatch.setattr("evaluator.judge.correctness.rounds.Rounds._reference_s", lambda *_: 1e-3)


def judged(judge: Judge, when: str, factor: float = 0.5) -> Result:
    return judge(SLOW.format(when=when, factor=factor), problem_text=PROBLEM)


def test_a_slow_submission_answers_every_distribution_and_is_timed_in_twelve_calls_together(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evaluator.judge.limits.STILL_SLOW_FACTOR", 0)
    result = judged(judge, "True")
    timing = result.evidence.timing
    assert timing is not None and result.category is Category.NO_CUSTOM_KERNEL
    rounds = [found.distribution for found in result.evidence.rounds]
    assert rounds[0] == "own" and sorted(rounds[1:]) == ["own", "scaled", "signs"]
    assert timing.calls == timing.blocks == 3 and timing.warm_up_calls == 1
    assert timing.candidate.median_ms > 190
    assert result.evidence.stdout.count("called") <= MOST_CALLS


def test_a_slow_submission_that_is_wrong_is_wrong(judge: Judge) -> None:
    assert judged(judge, "True", factor=0.4).category is Category.WRONG_VALUES


@pytest.mark.parametrize(
    "when", ["ModelNew.calls == 1", *(pytest.param(f"ModelNew.calls <= {calls}", marks=pytest.mark.slow(8)) for calls in (2, 5))]
)
def test_one_that_is_slow_in_its_first_calls_alone_is_judged_by_everything(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """A single slow call stands for one that compiles. After more of them, the rounds are those of a worker that was asked anew."""
    monkeypatch.setattr("evaluator.judge.limits.BUDGET_S", 600.0)  # a pause of the machine is no slow kernel
    result = judged(judge, when)
    timing = result.evidence.timing
    assert timing is not None and timing.calls >= 15
    assert len(result.evidence.rounds) == 9
