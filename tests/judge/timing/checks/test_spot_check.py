"""Comparing a sample of the timed calls' outputs."""

import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evaluator.judge import limits
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.few_rows import FewChanges
from evaluator.judge.device.synchronize import synchronize
from evaluator.judge.timing.checks.spot_check import SpotCheck
from evaluator.judge.timing.interleave import Answer, Interleaver
from evaluator.judge.timing.timed_worker import TimedWorker
from evaluator.results.category import Category
from evaluator.results.distributions import ROWS, Rule
from tests.corpus import corpus
from tests.judge.conftest import Judge
from tests.judge.sources import SOFTMAX, forward

ATTACKS = Path(__file__).parents[3] / "attacks" / "corpus"
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


HONEST_AFTER_A_LONE_CALL = """
def be_wary():
    handlers = getattr(sys.modules.get("evaluator.worker.server"), "HANDLERS", None)
    if handlers is None:
        return
    from evaluator.worker.handlers import calls, timing
    lazy, seen = handlers["host_block"], []

    def host_block(state, request, descriptors):
        seen.append(request)
        return lazy(state, request, descriptors)

    def time_call(state, request, descriptors):
        if seen:
            handlers["host_block"], handlers["reveal"] = timing.host_block, calls.reveal
        return timing.time_call(state, request, descriptors)

    handlers["host_block"], handlers["time"] = host_block, time_call


be_wary()
"""


@pytest.mark.slow(10)
@pytest.mark.parametrize("more", ["", HONEST_AFTER_A_LONE_CALL])
def test_work_deferred_in_blocks_alone_is_charged_without_reveals(judge: Judge, monkeypatch: pytest.MonkeyPatch, more: str) -> None:
    """The outputs that are revealed in the end come from blocks like the samples. Calls on their own come after them."""
    for name in ("REVEAL_SHARE", "LONE_REVEAL_SHARE", "LONE_CHANGED_SHARE"):
        monkeypatch.setattr(limits, name, 1e-9)
    attack = corpus(ATTACKS)["lazy_hooked_block"].data.decode()
    result = judge(attack + more, "gelu_tanh", timing="full")
    timing = result.evidence.timing
    # Both in CPU time, which other programs do not lengthen.
    assert timing is not None and timing.deferred_ms > timing.candidate.work_ms, (result.message, result.evidence.detail)
    assert len(timing.candidate.reveal_ms) >= limits.MIN_REVEALS


@pytest.mark.slow(8)
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


def test_where_blocks_are_single_calls_those_with_changed_values_are_revealed_more_often(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are few. A copy in timed calls, where no drawn input is negative, is wrong in a quarter of them."""
    monkeypatch.setattr(limits, "SLOW_CALL_S", 600.0)  # a pause of the machine is no slow call
    changed: list[bool] = []
    revealed: list[bool] = []
    inspect, reveal_some = SpotCheck.inspect, SpotCheck._reveal_some

    def inspected(check: SpotCheck, timed: TimedWorker, answers: list[Answer]) -> None:
        if timed is check._interleaver.candidate:
            changed.append(answers[0].draw.is_few)
            before = len(revealed)
            inspect(check, timed, answers)
            assert (len(revealed) > before) is changed[-1]
        else:
            inspect(check, timed, answers)

    def noted(check: SpotCheck, answers: list[Answer], **options: Any) -> None:
        revealed.append(True)
        reveal_some(check, answers, **options)

    monkeypatch.setattr(SpotCheck, "inspect", inspected)
    monkeypatch.setattr(SpotCheck, "_reveal_some", noted)
    monkeypatch.setattr(Interleaver, "most_in_block", 1)
    between = SimpleNamespace(random=lambda: (limits.LONE_REVEAL_SHARE + limits.LONE_CHANGED_SHARE) / 2, sample=random.sample)
    monkeypatch.setattr("evaluator.judge.timing.checks.spot_check.chance", between)
    result = judge(SOFTMAX, problem_text=DRAWN_SOFTMAX)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert any(changed) and not all(changed)


IN_PAIRS = "self.calls % 4 < 2"
"""Calls of which those that are asked again, two apart, are right and wrong in turns."""


@pytest.mark.parametrize(
    ("after", "when", "category"),
    [
        pytest.param(6e-5, IN_PAIRS, Category.NONDETERMINISTIC, id="in half of the calls"),
        pytest.param(6e-5, "True", Category.PRECISION_LOSS, id="in all calls", marks=pytest.mark.slow),
        pytest.param(0.5, IN_PAIRS, Category.NONDETERMINISTIC, id="far off in half of them", marks=pytest.mark.slow),
    ],
)
def test_a_timed_call_is_held_to_the_rounds_and_accuses_nobody(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, after: float, when: str, category: Category
) -> None:
    """A sum that is nearly out of tolerance in the rounds exceeds it in some timed calls. All errors of this test have either
    sign, as rounding errors do, and 0.85 to 0.97 times the number: each 6e-5 is beyond the tolerance."""
    every = {"LONE_REVEAL_SHARE": 1.0, "LONE_CHANGED_SHARE": 1.0, "REVEAL_SHARE": 1.0, "PICKED": 1_000_000, "CPU_CHECKS": 1_000_000}
    for name, value in (every | {"FEW_CHANGED_SHARE": 0.0}).items():  # where a few values changed, so small an error is right
        monkeypatch.setattr(limits, name, value)
    late = forward(
        "self.calls = getattr(self, 'calls', 0) + 1\n"
        "y = torch.softmax(x, 1)\n"
        f"error = 4e-5 if self.calls <= 20 or not {when} else {after!r}\n"
        "return y * (1 + error * (1 - 2 * (torch.arange(y.shape[1]) % 2)))"
    )
    result = judge(late, problem_text=DRAWN_SOFTMAX, timing="full")  # no value is nearly 1, and no row alone
    assert result.category is category, result.message
    own = [each.outputs[0].max_error for each in result.evidence.rounds if each.distribution == "own"]
    assert max(own) < 4e-5


@pytest.mark.slow(15)
@pytest.mark.parametrize(
    ("answer", "value", "category"),
    [
        ("torch.exp(x) / torch.exp(x).sum(1, keepdim=True)", 200.0, Category.NO_CUSTOM_KERNEL),
        ("torch.softmax(x.nan_to_num(), 1)", math.nan, Category.NO_CUSTOM_KERNEL),
        ("torch.softmax(torch.where(x > 1000.0, 0.0, x), 1)", 2000.0, Category.WRONG_VALUES),
    ],
    ids=["a formula that overflows", "no reference", "wrong"],
)
def test_few_values_are_left_out_as_in_the_rounds(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, answer: str, value: float, category: Category
) -> None:
    """Which few values are changed is drawn anew for each call: the round may have met none that has no good answer."""

    def changed(_: FewChanges, draw: Draw) -> Draw:
        draw.arguments[0][0, 0] = value
        return replace(draw, distribution=ROWS, rule=Rule.GROSS)

    monkeypatch.setattr(FewChanges, "either", changed)
    result = judge(forward(f"return {answer}"), problem_text=DRAWN_SOFTMAX)
    assert result.category is category, result.message


LARGE = "self.calls = getattr(self, 'calls', 0) + 1\nlarge = self.calls > 20 and x.abs().max() > 9.0\n"
"""Begins a method: `large` is whether a few values are large in a timed call."""


def test_where_an_answer_overflows_only_when_it_is_timed_a_timing_without_outliers_counts(
    judge: Judge, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise the calls with outliers would need no work."""
    caplog.set_level("INFO", "evaluator.judge.attempts")
    result = judge(forward(f"{LARGE}return torch.softmax(x, 1) * (float('nan') if large else 1.0)"), problem_text=DRAWN_SOFTMAX)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert "timed again without outliers: an output overflows because of them" in caplog.messages


@pytest.mark.slow(8)
@pytest.mark.parametrize(
    ("always", "category"), [(False, Category.PRECISION_LOSS), (True, Category.NO_CUSTOM_KERNEL)], ids=["when timed", "in the rounds too"]
)
def test_arithmetic_is_not_narrower_where_only_gross_errors_are_wrong(judge: Judge, always: bool, category: Category) -> None:
    narrow = "x.abs().max() > 9.0" if always else "large"
    rounding = "(1 + 0.002 * (1 - 2 * (torch.arange(x.shape[1]) % 2)))"  # an error that no draw makes gross, or too small to be seen
    result = judge(forward(f"{LARGE}return torch.softmax(x, 1) * ({rounding} if {narrow} else 1.0)"), problem_text=DRAWN_SOFTMAX)
    assert result.category is category, result.message


@pytest.mark.slow(8)
@pytest.mark.parametrize("honest", [False, True])
def test_a_submission_that_overflows_meets_outliers_in_calls_that_are_no_samples(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, honest: bool
) -> None:
    monkeypatch.setattr(limits, "OUTLIER_BLOCKS", 4 * limits.OUTLIER_BLOCKS)  # in a quarter of them no such outlier is positive
    answer = "torch.softmax(x, 1) * (float('nan') if (x.abs() / x.square().mean(1, keepdim=True).sqrt()).max() > 6.5 else 1.0)"
    hides = f"torch.softmax(x.clamp(-4.0, 4.0), 1) if large else {answer}"
    result = judge(forward(f"{LARGE}return {answer if honest else hides}"), problem_text=DRAWN_SOFTMAX)
    assert result.category is (Category.NO_CUSTOM_KERNEL if honest else Category.WRONG_VALUES), result.message
    assert result.evidence.timing is None or all(map(math.isfinite, result.evidence.timing.candidate.samples_ms))


def test_a_timed_answer_that_is_not_written_out_is_refused(judge: Judge) -> None:
    """One that the worker can't write out, because its own class says that a copy is itself."""
    late = forward(
        "self.calls = getattr(self, 'calls', 0) + 1\n"
        "y = torch.softmax(x, 1)\n"
        "view = type('View', (torch.Tensor,), {'clone': lambda each: each})\n"
        "return y if self.calls <= 20 else torch._neg_view(-y).as_subclass(view)"
    )
    result = judge(late, problem_text=DRAWN_SOFTMAX, timing="full")  # no value is nearly 1, and no row alone
    assert result.category is Category.WRONG_STRUCTURE and "is not written out" in result.message, result.message
