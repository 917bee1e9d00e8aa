"""Wrong answers judged on the CPU from end to end."""

import pytest

from evaluator.results.category import CATEGORIES, Category
from tests.judge.conftest import Judge
from tests.judge.sources import forward

WRONG = [
    ("return torch.softmax(x, 1)[:, :-1]", Category.WRONG_SHAPE, "(17, 1020)"),
    (
        "y = torch.softmax(x, 1)\ny[16, 1000:] = 0\nreturn y",
        Category.WRONG_VALUES,
        "21 of 17357 elements of the output are wrong (a tail of 21), all of them are 0; first at (16, 1000)",
    ),
    ("return torch.softmax(x.half(), 1).float()", Category.PRECISION_LOSS, "allowed"),
    ("return torch.softmax(x, 1) / 0", Category.NAN_OR_INF, "inf"),
    (
        "y = torch.empty_like(x)\ny[:16] = torch.softmax(x[:16], 1)\nreturn y",
        Category.UNWRITTEN_OUTPUT,
        " elements were never written",  # all 1021, unless the byte in them makes a number that is near some right ones
    ),
    ("x.add_(1)\nreturn x[:, 1:]", Category.MUTATED_INPUT, "changed its input"),
]


@pytest.mark.parametrize(("body", "category", "words"), WRONG, ids=[case[0][:40] for case in WRONG])
def test_wrong_answers(judge: Judge, body: str, category: Category, words: str) -> None:
    result = judge(forward(body))
    assert (result.category, words in result.message) == (category, True), result.message
    assert result.message.startswith("round 1: ")
    assert (result.runtime_ms, result.evidence.timing) == (None, None)


@pytest.mark.parametrize(
    ("wrong", "varies"),
    [
        ("torch.nn.functional.dropout(x, 0.2)", True),
        pytest.param("x * 2 + torch.rand_like(x) * 1e-7", False, marks=pytest.mark.slow),
    ],
)
def test_two_wrong_answers_to_one_input_are_told_apart(judge: Judge, wrong: str, varies: bool) -> None:
    result = judge(forward(f"return torch.softmax({wrong}, 1)"))
    assert (result.category, "a second call with the same input" in result.message) == (Category.WRONG_VALUES, varies), result.message


def test_an_answer_remembered_from_an_earlier_call_is_wrong(judge: Judge) -> None:
    result = judge(forward("if not hasattr(self, 'y'): self.y = torch.softmax(x, 1)\nreturn self.y"))
    assert (result.category, result.message[:8]) == (Category.WRONG_VALUES, "round 2,")
    assert "it equals the previous round's output, although the inputs differ; " in result.message
    assert result.hint == CATEGORIES[Category.CACHED_OUTPUT].hint


def test_a_stale_one_of_two_outputs_is_named_and_a_fresh_one_is_not(judge: Judge) -> None:
    kept = judge(forward("v, i = x.topk(7, dim=1)\nif not hasattr(self, 'i'): self.i = i\nreturn v, self.i"), "topk")
    assert "it equals the previous round's output, although the inputs differ; " in kept.message and "output[1]" in kept.message
    fresh = judge(forward("self.calls = getattr(self, 'calls', 0) + 1\nreturn torch.softmax(x, 1) * (1 if self.calls < 3 else 2)"))
    assert fresh.message[:8] == "round 2," and "previous" not in fresh.message and fresh.hint == CATEGORIES[Category.WRONG_VALUES].hint
