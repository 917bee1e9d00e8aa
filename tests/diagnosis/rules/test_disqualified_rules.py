"""Attempts to break out or to forge, and what the timing shows."""

from typing import Any

import pytest

from evaluator.diagnosis import diagnose
from evaluator.results.category import CATEGORIES, Category
from evaluator.results.evidence import ConditionsEvidence, Evidence, ShapeEvidence, TimingEvidence
from tests.diagnosis.evidence import CPU, GPU, KERNEL, NEEDED, WRONG, Rule, check, floor, launch, timing, witnessed


def on_cpu(changes: dict[str, float]) -> TimingEvidence:
    return timing(on_gpu=False).model_copy(update=changes)


def wrong_again(in_blocks: tuple[bool, ...], alone: tuple[bool, ...], **changes: Any) -> dict[str, Any]:
    """Wrong values in a timed call, and with the same inputs again."""
    told = {"category": Category.WRONG_VALUES, "in_blocks": in_blocks, "alone": alone, **changes}
    return {**KERNEL, "wrong_timed_answer": WRONG.model_copy(update=told)}


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
    "processes that compute after the answer are charged": ({**CPU, "timing": on_cpu({"background_ms": 3.4})}, Category.OK, ""),
    "a flush that was spoilt once": ({**KERNEL, "timing": timing().model_copy(update={"unflushed": 1, "calls": 30})}, Category.OK, ""),
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
    "time beyond the events is charged": ({**KERNEL, "timing": timing(unclaimed_ms=7.0)}, Category.OK, ""),
    "answers that are late are charged": ({**KERNEL, "timing": timing(late_ms=8.0)}, Category.OK, ""),
    "a flush that was left out on a device on which others were": (
        {**GPU, "timing": timing().model_copy(update={"unflushed": 2}), "conditions": ConditionsEvidence(shared=True)},
        Category.TIMING_TAMPERING,
        "skipped the required flush of the L2 cache before 2 calls",
    ),
    "a timed answer that an older version called so": ({**KERNEL, "wrong_timed_answer": WRONG}, Category.CACHED_OUTPUT, "timed call 7: so"),
    "an answer that was wrong before the timed ones": (
        wrong_again((True, True, True), (True, True, True), call=0),
        Category.WRONG_VALUES,
        "wrong in a call before the timed ones: so",
    ),
    "what the call before returned": (
        wrong_again((True,) * 3, (False,) * 3, repeats=True),
        Category.CACHED_OUTPUT,
        "what the call before returned for other inputs",
    ),
    "wrong only when it is timed": (
        wrong_again((True,) * 3, (False,) * 3),
        Category.TIMING_TAMPERING,
        "wrong in 3 of 3 timed calls and 0 of 3 alone: it answers otherwise when it is timed",
    ),
    "a race in two of six": (wrong_again((True, False, True), (False,) * 3), Category.NONDETERMINISTIC, "in 2 of 3 timed calls and 0 of 3"),
    "a race that is mostly lost": (wrong_again((True,) * 3, (True, False, True)), Category.NONDETERMINISTIC, "2 of 3 alone"),
    "a race that did not come again": (wrong_again((False,) * 3, (False,) * 3), Category.NONDETERMINISTIC, "0 of 3"),
    "in all blocks, on a stream of its own": (
        {**wrong_again((True,) * 3, (False,) * 3, repeats=True), "launches": (launch(side_stream=True),)},
        Category.NONDETERMINISTIC,
        "join them before forward() returns",
    ),
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


def test_an_output_that_is_kept_alone_too_is_a_mistake_and_its_hint_says_so() -> None:
    found = diagnose(Evidence(**wrong_again((True,) * 3, (True,) * 3, repeats=True)))
    assert found.category is Category.WRONG_VALUES and found.hint == CATEGORIES[Category.CACHED_OUTPUT].hint
    assert "and 3 of 3 alone; it returns what the call before returned" in found.message
