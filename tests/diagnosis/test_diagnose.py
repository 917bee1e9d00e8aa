"""From evidence to verdict: each rule, and which one wins."""

from typing import Any

import pytest

from evaluator.diagnosis import diagnose
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, ExitEvidence, ShapeEvidence
from tests.diagnosis.evidence import (
    CPU,
    GPU,
    NEEDED,
    NOT_NEEDED,
    REFUSED,
    TO_EXTENSION,
    UNDECLARED,
    WRONG,
    Rule,
    build,
    check,
    exception,
    failed,
    floor,
    launch,
    passed,
    timing,
)
from tests.diagnosis.rules import test_disqualified_rules, test_exception_rules


def elsewhere(category: Category | None) -> ShapeEvidence:
    return ShapeEvidence(case="odd", declared=False, right=category is None, category=category)


RULES: dict[str, Rule] = {
    "all well on a GPU": ({**GPU, "launches": (launch(),)}, Category.OK, ""),
    "all well on the CPU": (CPU, Category.OK, ""),
    "all well, and wrong without its own kernels": ({**GPU, "launches": (launch(),), "ablation": NEEDED}, Category.OK, ""),
    "still right without its own kernels": (
        {**GPU, "launches": (launch(),), "ablation": NOT_NEEDED},
        Category.NO_CUSTOM_KERNEL,
        "still right with its own kernels left out",
    ),
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
    "still right without its extension": ({**CPU, "ablation": NOT_NEEDED}, Category.NO_CUSTOM_KERNEL, "still right"),
    "no launch of its own": ({**GPU, "launches": (launch(own=False),)}, Category.NO_CUSTOM_KERNEL, "no kernel of the submission's own"),
    "no launch at all": (GPU, Category.NO_CUSTOM_KERNEL, "no kernel"),
    "only a refused launch of its own": ({**GPU, "launches": (launch(code=1),)}, Category.NO_CUSTOM_KERNEL, "no kernel"),
    "no extension on the CPU": ({**CPU, "builds": ()}, Category.NO_CUSTOM_KERNEL, "built no extension"),
    "a failed extension, survived, on the CPU": ({**CPU, "builds": (UNDECLARED,)}, Category.NO_CUSTOM_KERNEL, "built no extension"),
    "a failed build, then one that worked": ({**CPU, "builds": (UNDECLARED, build())}, Category.OK, ""),
    "a bad frame": ({"protocol_error": "no JSON"}, Category.FORGED_RESULT, "invalid frame on the result channel: no JSON"),
    "a build that failed": ({"builds": (UNDECLARED,), "exception": TO_EXTENSION}, Category.UNDECLARED_IDENTIFIER, '"foo" is undefined'),
    "a build that failed without diagnostics": (
        {"builds": (build(Category.LINK_ERROR, "one\ntwo\n"),), "exception": TO_EXTENSION},
        Category.LINK_ERROR,
        "two",
    ),
    "a build that failed silently": (
        {"builds": (build(Category.BUILD_TIMEOUT),), "exception": TO_EXTENSION},
        Category.BUILD_TIMEOUT,
        "'x'",
    ),
    "a failed build, caught, then a missing name": (
        {"builds": (UNDECLARED,), "exception": exception("NameError", "name 'mod' is not defined")},
        Category.PYTHON_EXCEPTION,
        "NameError",
    ),
    "no toolchain, caught, then a missing name": (
        {"builds": (build(Category.NO_TOOLCHAIN, "no nvcc"),), "exception": exception("NameError", "name 'mod' is not defined")},
        Category.NO_TOOLCHAIN,
        "no nvcc",
    ),
    "a failed build, then an exit": (
        {"builds": (UNDECLARED,), "exit": ExitEvidence(stage="load", code=1)},
        Category.UNDECLARED_IDENTIFIER,
        "",
    ),
    "a failed build, then a forbidden system call": (
        {"builds": (UNDECLARED,), "exit": ExitEvidence(stage="load", signal="SIGSYS")},
        Category.SANDBOX_VIOLATION,
        "loading the file",
    ),
    "too many threads": (
        {"launches": (REFUSED,), "exception": exception(message="CUDA error: invalid argument")},
        Category.OVERSIZED_BLOCK,
        "block 4096×1×1, the device allows 1024 threads",
    ),
    "too many threads in three dimensions": (
        {"launches": (launch((32, 32, 2), code=1),), "rounds": (failed(Category.WRONG_VALUES),)},
        Category.OVERSIZED_BLOCK,
        "block 32×32×2",
    ),
    "a block too deep": (
        {"launches": (launch((1, 1, 128), code=9),), "rounds": (failed(Category.WRONG_VALUES),)},
        Category.OVERSIZED_BLOCK,
        "the device allows 1024×1024×64",
    ),
    "too much shared memory": (
        {"launches": (launch(code=1),), "rounds": (failed(Category.NAN_OR_INF),)},
        Category.INVALID_LAUNCH,
        "60000 bytes of dynamic shared memory, 49152 are allowed; more has to be asked for: cudaFuncSetAttribute(k, ",
    ),
    "a refused launch of the library's": (
        {"launches": (launch(code=1, own=False),), "rounds": (failed(Category.WRONG_VALUES),)},
        Category.WRONG_VALUES,
        "round 1: so",
    ),
    "a refused launch that did no harm": ({**GPU, "launches": (REFUSED, launch())}, Category.OK, ""),
    "a refused launch, then a broken context": (
        {"launches": (REFUSED,), "exception": exception(cuda_error=700)},
        Category.ILLEGAL_MEMORY_ACCESS,
        "RuntimeError",
    ),
    "a round of another distribution": (
        {"rounds": (passed(0), failed(Category.WRONG_VALUES, 2).model_copy(update={"distribution": "signs"}))},
        Category.WRONG_VALUES,
        "round 3, distribution 'signs': so",
    ),
    "the first failed round": (
        {"rounds": (passed(0), failed(Category.NAN_OR_INF, 1), failed(Category.WRONG_VALUES, 2))},
        Category.NAN_OR_INF,
        "round 2: so",
    ),
    "a stream of its own that is waited for": ({**GPU, "launches": (launch(side_stream=True),)}, Category.OK, ""),
}


@pytest.mark.parametrize("name", RULES)
def test_evidence_gives_its_verdict(name: str) -> None:
    check(RULES[name])


PRECEDENCE: list[tuple[dict[str, Any], Category]] = [
    ({"protocol_error": "no"}, Category.FORGED_RESULT),
    ({"exit": ExitEvidence(stage="rounds", signal="SIGSYS")}, Category.SANDBOX_VIOLATION),
    ({"builds": (build(Category.CONST_POINTER),), "exception": TO_EXTENSION}, Category.CONST_POINTER),
    ({"exit": ExitEvidence(stage="rounds", signal="SIGSEGV")}, Category.PROCESS_CRASH),
    ({"launches": (REFUSED,), "rounds": (failed(Category.WRONG_VALUES),)}, Category.OVERSIZED_BLOCK),
    ({"exception": exception("KeyError")}, Category.PYTHON_EXCEPTION),
    ({"rounds": (failed(Category.WRONG_VALUES),)}, Category.WRONG_VALUES),
    ({"wrong_timed_answer": WRONG}, Category.CACHED_OUTPUT),
    ({"timing": timing(late_ms=9.0)}, Category.DEFERRED_WORK),
    ({"timing": timing(unexplained_ms=0.9)}, Category.TIMING_TAMPERING),
    ({"timing": timing(), "floor": floor(9.0)}, Category.IMPLAUSIBLE_SPEED),
    ({"timing": timing()}, Category.NO_CUSTOM_KERNEL),
]


@pytest.mark.parametrize("first", range(len(PRECEDENCE)))
@pytest.mark.parametrize("second", range(len(PRECEDENCE)))
def test_the_earlier_rule_wins(first: int, second: int) -> None:
    if first >= second or {first, second} == {2, 5}:
        # An exception other than a build's own is told apart from the build; that has a rule of its own above.
        return
    earlier, later = PRECEDENCE[first][0], PRECEDENCE[second][0]
    merged = later | earlier
    if "timing" in earlier and "timing" in later:
        unexplained_ms = max(earlier["timing"].unexplained_ms, later["timing"].unexplained_ms)
        merged["timing"] = earlier["timing"].model_copy(update={"unexplained_ms": unexplained_ms})
    assert diagnose(Evidence(**merged)).category is PRECEDENCE[first][1]


def test_a_verdict_is_the_same_after_the_evidence_was_stored() -> None:
    for evidence, category, _ in (*RULES.values(), *test_disqualified_rules.RULES.values(), *test_exception_rules.RULES.values()):
        stored = Evidence.model_validate_json(Evidence(**evidence).model_dump_json())
        assert diagnose(stored).category is category


def test_messages_have_an_end() -> None:
    long = "x" * 50_000
    for evidence in (
        Evidence(exception=exception(long[:1000], long)),
        Evidence(exception=TO_EXTENSION, builds=(build(Category.LINK_ERROR, long),)),
    ):
        assert len(diagnose(evidence).message) <= 1000
