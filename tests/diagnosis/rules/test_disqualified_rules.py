"""Attempts to break out or to forge, and what the timing shows."""

import math

import pytest

from evaluator.diagnosis import diagnose
from evaluator.results.category import Category
from evaluator.results.evidence import ConditionsEvidence, Evidence, ShapeEvidence, TimingEvidence
from tests.diagnosis.evidence import BACK_TO_BACK, CPU, GPU, KERNEL, NEEDED, WRONG, Rule, check, floor, launch, timing, witnessed


def on_cpu(changes: dict[str, float]) -> TimingEvidence:
    return timing(unexplained_ms=None).model_copy(update=changes)


def elsewhere(category: Category | None) -> ShapeEvidence:
    return ShapeEvidence(case="odd", declared=False, right=category is None, category=category)


RULES: dict[str, Rule] = {
    "a bad frame": ({"protocol_error": "no JSON"}, Category.FORGED_RESULT, "invalid frame on the result channel: no JSON"),
    "out of the sandbox in other shapes": (
        {**CPU, "ablation": NEEDED, "shapes": (elsewhere(None), elsewhere(Category.SANDBOX_VIOLATION))},
        Category.SANDBOX_VIOLATION,
        "in the shapes 'odd'",
    ),
    "to the reference in other shapes": ({**CPU, "shapes": (elsewhere(Category.REFERENCE_ACCESS),)}, Category.REFERENCE_ACCESS, "odd"),
    "out of the sandbox without its own kernels": (
        {**CPU, "ablation": NEEDED.model_copy(update={"category": Category.SANDBOX_VIOLATION})},
        Category.SANDBOX_VIOLATION,
        "left out",
    ),
    "anything sent without its own kernels": (
        {**CPU, "ablation": NEEDED.model_copy(update={"category": Category.FORGED_RESULT})},
        Category.OK,
        "",
    ),
    "processes that compute after the answer": (
        {**CPU, "timing": on_cpu({"background_ms": 3.4})},
        Category.DEFERRED_WORK,
        "then compute for 3.4 ms more",
    ),
    "processes that compute while inputs arrive": (
        {**CPU, "timing": on_cpu({"ahead_ms": 3.4})},
        Category.TIMING_TAMPERING,
        "compute for 3.4 ms before the call starts",
    ),
    "processes that are late to fall asleep": ({**CPU, "timing": on_cpu({"ahead_ms": 0.2})}, Category.OK, ""),
    "a flush that was spoilt once": ({**KERNEL, "timing": timing().model_copy(update={"unflushed": 1, "calls": 30})}, Category.OK, ""),
    "processes that tidy up after the answer": ({**CPU, "timing": on_cpu({"background_ms": 0.2})}, Category.OK, ""),
    "a flush that was left out": (
        {**KERNEL, "timing": timing().model_copy(update={"unflushed": 2})},
        Category.TIMING_TAMPERING,
        "skipped the required flush of the L2 cache before 2 calls",
    ),
    "single calls and bursts without their flush": (
        {**KERNEL, "timing": witnessed(bursts_ms=(1.0,) * 8, unflushed_bursts=1)},
        Category.TIMING_TAMPERING,
        "skipped the required flush of the L2 cache before 1 calls",
    ),
    "a burst of many whose flush was spoilt": ({**KERNEL, "timing": witnessed(bursts_ms=(1.0,) * 9, unflushed_bursts=1)}, Category.OK, ""),
    "less than the talk varies by, without the gate as with it": (
        {**KERNEL, "timing": timing(0.01, 0.29).model_copy(update={"gated": False})},
        Category.OK,
        "",
    ),
    "more than the talk varies by": ({**KERNEL, "timing": timing(0.01, 0.31)}, Category.TIMING_TAMPERING, ""),
    "as much on a device on which others were": (
        {**KERNEL, "timing": timing(1.0, 0.6), "conditions": ConditionsEvidence(shared=True)},
        Category.OK,
        "",
    ),
    "as much on a device on which nobody was, as far as can be told": (
        {**KERNEL, "timing": timing(1.0, 0.6), "conditions": ConditionsEvidence(shared=None)},
        Category.TIMING_TAMPERING,
        "",
    ),
    "answers that are late on a device on which others were": (
        {**KERNEL, "timing": timing(0.005, late_ms=7.0), "conditions": ConditionsEvidence(shared=True)},
        Category.OK,
        "",
    ),
    "as much where others had the processors": (
        {**KERNEL, "timing": timing(1.0, 0.6), "conditions": ConditionsEvidence(shared=False, crowded=0.3)},
        Category.OK,
        "",
    ),
    "as much where others had them now and then": (
        {**KERNEL, "timing": timing(1.0, 0.6), "conditions": ConditionsEvidence(shared=False, crowded=0.05)},
        Category.TIMING_TAMPERING,
        "",
    ),
    "answers that are late where others had the processors": (
        {**KERNEL, "timing": timing(0.005, late_ms=7.0), "conditions": ConditionsEvidence(crowded=0.5)},
        Category.OK,
        "",
    ),
    "answers that are late by CPU time, whoever had the processors": (
        {**CPU, "timing": timing(0.005, None, late_ms=7.0), "conditions": ConditionsEvidence(crowded=0.5)},
        Category.DEFERRED_WORK,
        "",
    ),
    "a flush that was left out on a device on which others were": (
        {**GPU, "timing": timing().model_copy(update={"unflushed": 2}), "conditions": ConditionsEvidence(shared=True)},
        Category.TIMING_TAMPERING,
        "skipped the required flush of the L2 cache before 2 calls",
    ),
    "a fifth of a long call": ({**KERNEL, "timing": timing(1.0, 0.2)}, Category.OK, ""),
    "less time than claimed": ({**KERNEL, "timing": timing(1.0, -3.0)}, Category.OK, ""),
    "microseconds that the clock can't tell": ({**KERNEL, "timing": timing(0.01, 0.02)}, Category.OK, ""),
    "claims of nothing": ({**KERNEL, "timing": timing(1e-4, 0.9)}, Category.TIMING_TAMPERING, "claim 0.0001 ms"),
    "time beyond the events, and a stream of its own": (
        {**GPU, "launches": (launch(), launch(side_stream=True)), "timing": timing(1.0, 0.6)},
        Category.ESCAPED_STREAM,
        "claim 1 ms",
    ),
    "time beyond the events, and a stream of the library's": (
        {**GPU, "launches": (launch(), launch(own=False, side_stream=True)), "timing": timing(1.0, 0.6)},
        Category.TIMING_TAMPERING,
        "",
    ),
    "a timed answer that was wrong": ({**KERNEL, "wrong_timed_answer": WRONG}, Category.CACHED_OUTPUT, "timed call 7: so"),
    "an answer that was wrong before the timed ones": (
        {**KERNEL, "wrong_timed_answer": WRONG.model_copy(update={"call": 0})},
        Category.CACHED_OUTPUT,
        "wrong in a call before the timed ones: so",
    ),
    "calls back to back that were wrong, on a stream of its own": (
        {**GPU, "launches": (launch(side_stream=True),), "wrong_timed_answer": BACK_TO_BACK},
        Category.ESCAPED_STREAM,
        "kernels ran on side streams: so",
    ),
    "calls back to back that were wrong": ({**KERNEL, "wrong_timed_answer": BACK_TO_BACK}, Category.CACHED_OUTPUT, "timed call 7: so"),
    "an answer that comes late": (
        {**KERNEL, "timing": timing(late_ms=8.0)},
        Category.DEFERRED_WORK,
        "a call takes 1 ms; its output then takes 8 ms longer to arrive",
    ),
    "an answer that comes late on the CPU": ({**CPU, "timing": timing(1.0, None, 8.0)}, Category.DEFERRED_WORK, ""),
    "an answer that is slow to copy": ({**KERNEL, "timing": timing(late_ms=1.5)}, Category.OK, ""),
    "an answer that now and then comes late": ({**KERNEL, "timing": timing(others_late_ms=(9.0, 9.0))}, Category.OK, ""),
    "faster than the bytes can move": (
        {**KERNEL, "floor": floor(1.1)},
        Category.IMPLAUSIBLE_SPEED,
        "a call takes 1 ms, but this device needs at least 1.1 ms: 5 GB at 4 TB/s, even at 1.3 times this measured rate",
    ),
    "faster than the operations can be done": (
        {**KERNEL, "floor": floor(1.1, operations=1.2e12)},
        Category.IMPLAUSIBLE_SPEED,
        "1200 GFLOP at 800 TFLOP/s",
    ),
    "faster than the answer can be written": ({**KERNEL, "floor": floor(1.1, declared=False)}, Category.IMPLAUSIBLE_SPEED, ""),
    "what may be a view of the input": ({**GPU, "floor": floor(1.1, declared=False)}, Category.NO_CUSTOM_KERNEL, ""),
    "as fast as the device": ({**KERNEL, "floor": floor(1.0)}, Category.OK, ""),
    "a floor too low to tell": ({**KERNEL, "timing": timing(1e-3), "floor": floor(1.9e-3)}, Category.OK, ""),
    "work put off counts towards the floor": ({**KERNEL, "timing": timing(1.0, late_ms=1.5), "floor": floor(2.4)}, Category.OK, ""),
}


@pytest.mark.parametrize("name", RULES)
def test_evidence_gives_its_verdict(name: str) -> None:
    check(RULES[name])


@pytest.mark.parametrize("unexplained_ms", [math.inf, math.nan, -math.inf])
def test_figures_that_are_not_finite_do_no_harm(unexplained_ms: float) -> None:
    found = diagnose(Evidence(**{**KERNEL, "timing": timing(unexplained_ms=unexplained_ms)}))
    assert found.category is (Category.TIMING_TAMPERING if not unexplained_ms < 0 else Category.OK)
