"""The difference of two texts: found in time, complete, and folded in unchanged parts."""

import random
import sys
import time
from collections.abc import Iterator, Sequence

import pytest
from markupsafe import Markup

from web.diff import CONTEXT, FEWEST_FOLDED, Differ, Line, Part, Step, parts


@pytest.fixture
def differ() -> Iterator[Differ]:
    made = Differ(deadline_s=30.0)  # a busy machine takes seconds to start it
    yield made
    made.close()


def assert_complete(steps: Sequence[Step], left: Sequence[str], right: Sequence[str]) -> None:
    """The steps lead through both texts, and what they call equal is."""
    ends = [(0, 0)]
    for step in steps:
        assert (step.left_start, step.right_start) == ends[-1]
        ends.append((step.left_end, step.right_end))
        equal = left[step.left_start : step.left_end] == right[step.right_start : step.right_end]
        assert equal if step.equal else not equal or step.left_start == step.left_end
    assert ends[-1] == (len(left), len(right))


def test_steps_lead_from_one_text_to_the_other(differ: Differ) -> None:
    draw = random.Random(1)
    texts = [[f"{draw.randrange(9)}\n<b>" for _ in range(draw.randrange(30))] for _ in range(20)]
    for left, right in zip(texts, [*texts[1:], []], strict=True):
        steps, exact = differ.steps(left, right)
        assert exact
        assert_complete(steps, left, right)
    assert differ.steps(["a", "b", "c"], ["a", "x", "c"])[0] == (
        *(Step(True, 0, 1, 0, 1), Step(False, 1, 2, 1, 2), Step(True, 2, 3, 2, 3)),
    )


def test_what_takes_too_long_is_changed_between_its_first_and_last_difference() -> None:
    hangs = (sys.executable, "-I", "-c", "import sys\nfor line in sys.stdin:\n    while True: pass\n")
    differ = Differ(deadline_s=1.0, command=hangs)
    begun = time.monotonic()
    for left, right in ((list("abcde"), list("abxyde")), (list("aaa"), list("aa")), ([], ["a"]), (["a"], ["a"])):
        steps, exact = differ.steps(left, right)
        assert not exact
        assert_complete(steps, left, right)
    assert time.monotonic() - begun < 30
    assert [step.equal for step in differ.steps(list("abcde"), list("abxyde"))[0]] == [True, False, True]
    assert differ._process is None


def lines(count: int) -> list[Line]:
    return [Line(number, Markup(str(number))) for number in range(1, count + 1)]


def shown(*steps: Step, left: int, right: int) -> list[Part]:
    return list(parts(steps, lines(left), lines(right)))


def test_long_equal_parts_are_folded_but_for_the_lines_beside_a_change() -> None:
    found = shown(Step(True, 0, 20, 0, 20), Step(False, 20, 21, 20, 22), Step(True, 21, 40, 22, 41), left=40, right=41)
    assert [(part.equal, part.folded, len(part.rows)) for part in found] == [
        *((True, True, 20 - CONTEXT), (True, False, CONTEXT), (False, False, 2), (True, False, CONTEXT), (True, True, 19 - CONTEXT)),
    ]
    assert found[2].rows[1][0] is None and found[2].rows[1][1] == Line(22, Markup("22"))
    between = shown(Step(False, 0, 1, 0, 1), Step(True, 1, 21, 1, 21), Step(False, 21, 22, 21, 22), left=22, right=22)
    assert [len(part.rows) for part in between] == [1, CONTEXT, 20 - 2 * CONTEXT, CONTEXT, 1]


def test_few_equal_lines_are_not_folded_and_equal_texts_are() -> None:
    few = CONTEXT + FEWEST_FOLDED - 1
    found = shown(Step(True, 0, few, 0, few), Step(False, few, few + 1, few, few), left=few + 1, right=few)
    assert [(part.equal, part.folded) for part in found] == [(True, False), (False, False)]
    (same,) = shown(Step(True, 0, 9, 0, 9), left=9, right=9)
    assert same.folded and len(same.rows) == 9
    assert shown(left=0, right=0) == [] and shown(Step(True, 0, 0, 0, 0), left=0, right=0) == []
