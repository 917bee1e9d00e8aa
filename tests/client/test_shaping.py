"""Rewards: bounded, made of their parts, and never less for what is better; the documents agree with the client."""

import math
import re
from dataclasses import asdict, fields
from pathlib import Path

import assay_client
import pytest
from assay_client import AssayError, Evaluation, NotEvaluatedError, Parts, Shaping, reward
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.results.category import CATEGORIES, Category, Status
from tests.client.conftest import evaluation
from tests.command_line import PROJECT

pytestmark = pytest.mark.slow(3)

LADDER = ("disqualified", "rejected", "build_failed", "run_failed", "incorrect", "correct")

speedups = st.floats(1e-6, 1e6)

shares = st.none() | st.floats(0, 1.5)

weights = st.floats(0, 10)


@st.composite
def shapings(draw: st.DrawFn) -> Shaping:
    built, ran, correct = draw(weights), draw(weights), draw(weights)
    slowest = draw(st.floats(0.01, 2))
    unranked = draw(st.floats(-1, 1)) * (built + ran)
    return Shaping(
        disqualified=min(0.0, unranked) - draw(st.floats(0.01, 5)),
        unranked=min(unranked, built + ran),
        built=built,
        ran=ran,
        correct=correct,
        speedup=draw(weights),
        speed_of_light=draw(weights),
        slowest=slowest,
        fastest=slowest * draw(st.floats(1.1, 1000)),
        cautious=draw(st.booleans()),
    )


@st.composite
def evaluations(draw: st.DrawFn) -> Evaluation:
    category = draw(st.sampled_from([each for each in Category if each.status is not Status.NOT_EVALUATED]))
    if category.status is not Status.CORRECT:
        return evaluation(category.status, category)
    low, middle, high = sorted(draw(st.lists(speedups, min_size=3, max_size=3)))
    return evaluation(category.status, category, speedup=middle, speedup_interval=[low, high], speed_of_light=draw(shares))


@settings(deadline=None)
@given(evaluations(), shapings())
def test_a_reward_is_bounded_and_the_sum_of_its_parts(judged: Evaluation, shaping: Shaping) -> None:
    made = reward(judged, shaping)
    assert shaping.least <= made.value <= shaping.most
    assert made.value == made.parts.total == float(made)
    assert (made.value == shaping.least) == (judged.result is not None and judged.result.status == "disqualified")


@settings(deadline=None)
@given(speedups, speedups, shares, shapings())
def test_a_greater_speedup_never_gets_less(one: float, other: float, share: float | None, shaping: Shaping) -> None:
    less, more = sorted((one, other))
    values = [reward(evaluation(speedup=each, speedup_interval=[each, each], speed_of_light=share), shaping).value for each in (less, more)]
    assert values[0] <= values[1] + 1e-12


@settings(deadline=None)
@given(shares, shares, speedups, shapings())
def test_a_greater_share_of_the_speed_of_light_never_gets_less(
    one: float | None, other: float | None, speedup: float, shaping: Shaping
) -> None:
    less, more = sorted((one or 0.0, other or 0.0))
    values = [reward(evaluation(speedup=speedup, speed_of_light=each), shaping).value for each in (less, more)]
    assert values[0] <= values[1]


@settings(deadline=None)
@given(shapings(), speedups, shares)
def test_each_further_step_gets_as_much_at_least(shaping: Shaping, speedup: float, share: float | None) -> None:
    of_status = dict(zip(LADDER, ("cached_output", "syntax_error", "link_error", "timeout", "wrong_values", "ok"), strict=True))
    values = [
        reward(evaluation(status, category, speedup=speedup, speed_of_light=share), shaping).value for status, category in of_status.items()
    ]
    assert values == sorted(values) and values[0] < values[1]
    assert shaping.unranked <= values[-1]


@settings(deadline=None)
@given(shapings(), speedups, shares)
def test_a_right_answer_gets_as_much_as_a_wrong_one_unless_it_has_no_kernel(shaping: Shaping, speedup: float, share: float | None) -> None:
    none, wrong, degenerate, reduced, untimed, ok = (
        reward(evaluation(category.status, category, speedup=speedup, speed_of_light=share), shaping).value
        for category in (
            Category.NO_CUSTOM_KERNEL,
            Category.WRONG_VALUES,
            Category.DEGENERATE_PROBLEM,
            Category.REDUCED_PRECISION,
            Category.UNTIMED,
            Category.OK,
        )
    )
    assert wrong <= degenerate <= reduced == untimed <= ok
    assert none <= degenerate


def test_the_cautious_look_at_the_lower_end() -> None:
    judged = evaluation(speedup=8.0, speedup_interval=[1.0, 9.0])
    assert reward(judged, Shaping(cautious=True)).parts.speedup == pytest.approx(0.2)
    assert reward(judged).parts.speedup == pytest.approx(0.4)


def test_the_parts_of_rewards_without_a_speed() -> None:
    for category, parts in (
        ("no_custom_kernel", Parts(unranked=0.05)),
        ("degenerate_problem", Parts(built=0.1, ran=0.1)),
        ("reduced_precision", Parts(built=0.1, ran=0.1, correct=0.3)),
    ):
        judged = evaluation("correct", category, speedup=100.0, speed_of_light=1.0)
        assert reward(judged, Shaping(unranked=0.05)).parts == parts
    assert reward(evaluation("run_failed", "import_error")).parts == Parts(), "what could not be imported was not built"
    assert reward(evaluation("run_failed", "process_crash")).parts == Parts(built=0.1)


def test_without_a_verdict_there_is_no_reward() -> None:
    for category in (name for name, info in CATEGORIES.items() if info.status is Status.NOT_EVALUATED):
        with pytest.raises(NotEvaluatedError, match=f"{category}: no luck"):
            reward(evaluation("not_evaluated", category, message="no luck"))
    with pytest.raises(ValueError, match="newer"):
        reward(evaluation("splendid"))


def test_a_shaping_that_would_reward_the_worse_is_refused() -> None:
    wrong = {"built": -0.1, "correct": math.nan, "speedup": math.inf, "slowest": 0.0, "disqualified": 0.0, "unranked": -1.0}
    for name, value in [*wrong.items(), ("slowest", 8.0), ("unranked", 0.3)]:
        with pytest.raises(ValueError, match=r"0|finite|unranked|disqualified"):
            Shaping(**{name: value})  # type: ignore[arg-type]


SERVICE = (PROJECT / "docs" / "service.md").read_text(encoding="utf-8")

TEXT = SERVICE.split("## The reward client")[1].split("\n## ")[0]

ERRORS = SERVICE.split("\n### Errors")[1].split("\n## ")[0]

SHAPING = TEXT.split("### The shaping")[1].split("\n### ")[0]


def test_the_table_of_the_shaping_has_its_parts_and_numbers() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (-?[\d.]+) \|", SHAPING, re.MULTILINE)
    assert [name for name, _ in rows] == [part.name for part in fields(Parts)]
    assert {name: float(number) for name, number in rows}.items() <= asdict(Shaping()).items()
    assert (Shaping().slowest, Shaping().fastest) == (0.125, 8.0) and "`slowest` is 0.125 and `fastest` is 8" in SHAPING


def test_better_outcomes_have_higher_rewards() -> None:
    outcomes = [
        evaluation("disqualified", "cached_output"),
        evaluation("build_failed", "link_error"),
        evaluation("run_failed", "timeout"),
        evaluation("incorrect", "wrong_values"),
        evaluation("correct", "reduced_precision", speedup=8.0, speed_of_light=1.0),
        *(evaluation(speedup=speedup) for speedup in (0.125, 1.0, 8.0)),
        evaluation(speedup=8.0, speed_of_light=1.0),
    ]
    assert [reward(each).value for each in outcomes] == pytest.approx([-1.0, 0.0, 0.1, 0.2, 0.5, 0.5, 0.7, 0.9, 1.0])
    assert reward(evaluation("correct", "degenerate_problem")).value == reward(evaluation("incorrect", "wrong_values")).value
    assert reward(evaluation("correct", "no_custom_kernel")).value == reward(evaluation("build_failed", "link_error")).value


def test_every_error_is_told() -> None:
    exported = {name: getattr(assay_client, name) for name in assay_client.__all__}
    kinds = {name for name, each in exported.items() if isinstance(each, type) and issubclass(each, AssayError)}
    assert kinds - {"ServiceError", "RefusedError"} == set(re.findall(r"`(\w+Error)`", ERRORS + TEXT))


def test_the_examples_of_the_documents_parse() -> None:
    for path in (PROJECT / "docs" / "service.md", PROJECT / "client" / "README.md"):
        (example,) = re.findall(r"^```python\n(.*?)^```$", Path(path).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        compile(example, str(path), "exec")
