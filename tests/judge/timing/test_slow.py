"""Very slow submissions are called a few times only. A submission with one slow call has all its calls."""

from pathlib import Path

import pytest

from evaluator.results.category import Category
from evaluator.results.result import Result
from tests.judge.conftest import Judge

pytestmark = pytest.mark.slow(20)

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
            time.sleep(0.3)
        return torch.tanh(x) + {factor} * x
"""
MOST_CALLS = 12


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "1_Tanh.py"
    path.write_text(PROBLEM, encoding="utf-8")
    return path


def judged(judge: Judge, problem: Path, when: str, factor: float = 0.5) -> Result:
    return judge(SLOW.format(when=when, factor=factor), "1_Tanh", problem_path=problem)


def test_a_slow_submission_answers_every_distribution_and_is_timed_in_twelve_calls_together(judge: Judge, problem: Path) -> None:
    result = judged(judge, problem, "True")
    timing = result.evidence.timing
    assert timing is not None and result.category is Category.NO_CUSTOM_KERNEL
    rounds = [found.distribution for found in result.evidence.rounds]
    assert rounds[0] == "own" and sorted(rounds[1:]) == ["own", "scaled", "signs"]
    assert timing.calls == timing.blocks == 3 and timing.warm_up_calls == 1
    assert timing.candidate.median_ms > 290
    assert result.evidence.stdout.count("called") <= MOST_CALLS


def test_a_slow_submission_that_is_wrong_is_wrong(judge: Judge, problem: Path) -> None:
    assert judged(judge, problem, "True", factor=0.4).category is Category.WRONG_VALUES


@pytest.mark.parametrize("when", ["ModelNew.calls <= 2", "ModelNew.calls <= 5"])
def test_one_that_is_slow_in_its_rounds_alone_is_judged_by_everything(judge: Judge, problem: Path, when: str) -> None:
    result = judged(judge, problem, when)
    timing = result.evidence.timing
    assert timing is not None and timing.calls >= 15
    assert len(result.evidence.rounds) == 9, "those of the worker that was asked anew"


def test_one_that_is_slow_in_one_call_alone_is_not_slow(judge: Judge, problem: Path) -> None:
    """The slow call stands for one that compiles."""
    result = judged(judge, problem, "ModelNew.calls == 1")
    assert len(result.evidence.rounds) == 9
