"""Comparing a sample of the timed calls' outputs."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from evaluator.judge.correctness.inputs.few_rows import FewChanges, FewRows
from evaluator.judge.device.synchronize import synchronize
from evaluator.judge.timing.timed_worker import TimedWorker
from evaluator.results.category import Category
from tests.judge.conftest import Judge
from tests.judge.sources import SOFTMAX, forward

DRAWN_SOFTMAX = """\
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1)

def get_inputs():
    return [torch.randn(64, 256)]

def get_init_inputs():
    return []
"""


def test_a_reveals_clock_stops_when_the_judges_own_copy_is_done(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the next worker to be revealed would wait for the copy, in its own time."""
    seen: list[str] = []
    revealing = TimedWorker.revealing

    @contextmanager
    def noted(timed: TimedWorker) -> Iterator[None]:
        with revealing(timed):
            seen.append("starts")
            yield
            seen.append("stops")

    def waited(device: torch.device) -> None:
        synchronize(device)
        seen.append("copied")

    monkeypatch.setattr(TimedWorker, "revealing", noted)
    monkeypatch.setattr("evaluator.judge.timing.checks.spot_check.synchronize", waited)
    assert judge(SOFTMAX).evidence.timing is not None
    assert len(seen) >= 9 and seen == ["starts", "copied", "stops"] * (len(seen) // 3)


@pytest.mark.parametrize(
    ("before", "after", "calls", "category"),
    [
        (4e-5, 7e-5, 8, Category.NO_CUSTOM_KERNEL),
        (4e-5, 7e-5, 1, Category.PRECISION_LOSS),
        (4e-5, 2e-4, 1, Category.CACHED_OUTPUT),
        (0.0, 7e-5, 1, Category.CACHED_OUTPUT),
    ],
    ids=["as before", "always", "far more", "exact before"],
)
def test_a_rounding_error_is_held_against_the_rounds(judge: Judge, before: float, after: float, calls: int, category: Category) -> None:
    """A sum that is nearly out of tolerance in the rounds exceeds it in one of `calls` timed calls. That is no cached output. If it always
    exceeds it, the rounds had other outputs. All errors of this test have either sign, as rounding errors do, and about three quarters of
    the number."""
    late = forward(
        "self.calls = getattr(self, 'calls', 0) + 1\n"
        "y = torch.softmax(x, 1)\n"
        f"error = {before!r} if self.calls <= 20 or self.calls % {calls} else {after!r}\n"
        "return y * (1 + error * (1 - 2 * (torch.arange(y.shape[1]) % 2)))"
    )
    result = judge(late)
    assert result.category is category, result.message
    own = [each.outputs[0].max_error for each in result.evidence.rounds if each.distribution == "own"]
    assert max(own) < 4e-5


@pytest.mark.parametrize(
    ("answer", "value", "category"),
    [
        ("torch.exp(x) / torch.exp(x).sum(1, keepdim=True)", 200.0, Category.NO_CUSTOM_KERNEL),
        ("torch.softmax(x.nan_to_num(), 1)", math.nan, Category.NO_CUSTOM_KERNEL),
        ("torch.softmax(torch.where(x > 100.0, 0.0, x), 1)", 200.0, Category.CACHED_OUTPUT),
    ],
    ids=["a formula that overflows", "no reference", "wrong"],
)
def test_few_values_are_left_out_as_in_the_rounds(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: str, value: float, category: Category
) -> None:
    """Which few values are changed is drawn anew for each call: the round may have met none that has no good answer."""

    def changed(_: FewChanges, arguments: list[Any]) -> list[Any]:
        arguments[0][0, 0] = value
        return FewRows(arguments)

    monkeypatch.setattr(FewChanges, "either", changed)
    path = tmp_path / "drawn_softmax.py"
    path.write_text(DRAWN_SOFTMAX)
    result = judge(forward(f"return {answer}"), problem_path=path)
    assert result.category is category, result.message


def test_a_timed_answer_that_is_not_written_out_is_refused(judge: Judge) -> None:
    """One that the worker can't write out, because its own class says that a copy is itself."""
    late = forward(
        "self.calls = getattr(self, 'calls', 0) + 1\n"
        "y = torch.softmax(x, 1)\n"
        "view = type('View', (torch.Tensor,), {'clone': lambda each: each})\n"
        "return y if self.calls <= 20 else torch._neg_view(-y).as_subclass(view)"
    )
    result = judge(late)
    assert result.category is Category.CACHED_OUTPUT and "is not written out" in result.message, result.message
