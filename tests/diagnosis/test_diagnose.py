"""From evidence to verdict: which rule wins, and that the rules say truly what they may give."""

import pkgutil
import re
from importlib import import_module
from itertools import combinations
from typing import Any

import pytest

from evaluator.diagnosis import diagnose
from evaluator.diagnosis.diagnose import RULES
from evaluator.diagnosis.explanation import GIVEN_WITHOUT_RULE
from evaluator.diagnosis.rule import rule
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, ExitEvidence, ShapeEvidence, WrongTimedAnswer
from tests.command_line import PROJECT
from tests.diagnosis import rules as test_rules
from tests.diagnosis.evidence import NEEDED, REFUSED, TO_EXTENSION, WRONG, Rule, build, exception, failed, floor, timing

TABLES: list[dict[str, Rule]] = [
    import_module(f"{test_rules.__name__}.{module.name}").RULES for module in pkgutil.iter_modules(test_rules.__path__)
]
"""Each module beside the rules' tests has one."""
PRECEDENCE: list[tuple[dict[str, Any], Category]] = [
    ({"protocol_error": "no"}, Category.FORGED_RESULT),
    ({"exit": ExitEvidence(stage="rounds", signal="SIGSYS")}, Category.SANDBOX_VIOLATION),
    ({"builds": (build(Category.CONST_POINTER),), "exception": TO_EXTENSION}, Category.CONST_POINTER),
    ({"exit": ExitEvidence(stage="rounds", signal="SIGSEGV")}, Category.PROCESS_CRASH),
    ({"launches": (REFUSED,), "rounds": (failed(Category.WRONG_VALUES),)}, Category.OVERSIZED_BLOCK),
    ({"exception": exception("KeyError")}, Category.PYTHON_EXCEPTION),
    ({"rounds": (failed(Category.WRONG_VALUES),)}, Category.WRONG_VALUES),
    ({"wrong_timed_answer": WRONG}, Category.CACHED_OUTPUT),
    ({"timing": timing().model_copy(update={"unflushed": 2})}, Category.TIMING_TAMPERING),
    ({"timing": timing(), "floor": floor(9.0)}, Category.IMPLAUSIBLE_SPEED),
    ({"timing": timing()}, Category.NO_CUSTOM_KERNEL),
]
PAIRS = [pair for pair in combinations(range(len(PRECEDENCE)), 2) if pair != (2, 5)]
"""All but the one whose exceptions exclude each other: test_build_rules has it."""


def test_the_earlier_rule_wins() -> None:
    for first, second in PAIRS:
        (earlier, category), (later, _) = PRECEDENCE[first], PRECEDENCE[second]
        assert diagnose(Evidence(**later | earlier)).category is category, (earlier, later)


def samples() -> list[Evidence]:
    """All evidence that the tests of the rules have, and one of each category that evidence brings along."""
    given = [evidence for table in TABLES for evidence, *_ in table.values()] + [evidence for evidence, _ in PRECEDENCE]
    for category in Category:
        given += [
            {"builds": (build(category),), "exception": TO_EXTENSION},
            {"rounds": (failed(category),)},
            {"wrong_timed_answer": WrongTimedAnswer(call=1, message="so", category=category)},
            {"shapes": (ShapeEvidence(case="odd", declared=False, right=False, category=category),)},
            {"ablation": NEEDED.model_copy(update={"category": category})},
        ]
    return [Evidence(**evidence) for evidence in given]


def carried(*places: str) -> set[Category]:
    """Every category that the modules in these places name: what their evidence may bring along."""
    files = [path for place in places for path in (PROJECT / "evaluator").glob(place)]
    assert len(files) >= len(places)
    names = {name for path in files for name in re.findall(r"\bCategory\.([A-Z_]+)\b", path.read_text(encoding="utf-8"))}
    return {Category[name] for name in names}


CARRIED = {
    "failed_build": carried("build/**/*.py", "diagnosis/jit_build_errors.py"),
    "failed_round": carried("judge/correctness/**/*.py"),
    "wrong_timed_answer": carried("judge/timing/checks/spot_check.py", "results/evidence/timing.py"),
}
"""Rules that give the category of the evidence, and those that it can have."""


@pytest.mark.parametrize("of", RULES, ids=lambda of: of.name)
def test_a_rule_gives_what_it_declares_and_nothing_else(of: Any) -> None:
    given = {verdict.category for evidence in samples() if (verdict := of.decide(evidence))}
    assert set(of.gives) <= given
    assert CARRIED.get(of.name, given) <= set(of.gives)


def test_every_category_is_given_by_a_rule_or_without_one() -> None:
    declared = {category for of in RULES for category in of.gives}
    assert declared | set(GIVEN_WITHOUT_RULE) == set(Category)
    assert not declared & set(GIVEN_WITHOUT_RULE)


def test_no_two_rules_have_one_place() -> None:
    assert [of.order for of in RULES] == sorted({of.order for of in RULES})
    with pytest.raises(ValueError, match=f"{RULES[0].name} and .* both have the order {RULES[0].order}"):
        rule(RULES[0].order, [Category.OK])(lambda _: None)


def test_a_verdict_is_the_same_after_the_evidence_was_stored() -> None:
    for evidence, category, _ in (case for table in TABLES for case in table.values()):
        stored = Evidence.model_validate_json(Evidence(**evidence).model_dump_json())
        assert diagnose(stored).category is category


def test_messages_have_an_end() -> None:
    long = "x" * 50_000
    for evidence in (
        Evidence(exception=exception(long[:1000], long)),
        Evidence(exception=TO_EXTENSION, builds=(build(Category.LINK_ERROR, long),)),
    ):
        assert len(diagnose(evidence).message) <= 1000
