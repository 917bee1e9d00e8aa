"""Suggestions for a mistyped name."""

import pytest

from evaluator.results.nearest import nearest, unknown

NAMES = ("softmax", "log_softmax", "matmul", "NVIDIA H200", "gelu_tanh", "moe")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("softmx", ("softmax", "log_softmax")),
        ("h200", ("NVIDIA H200",)),
        ("SOFTMAX", ("log_softmax", "softmax")),
        ("matmull", ("matmul",)),
        ("zzz", ()),
        ("other", ()),
        ("", ()),
        ("x", ()),
        ("x" * 100_000, ()),
    ],
)
def test_names_that_contain_it_come_before_those_spelled_alike(name: str, found: tuple[str, ...]) -> None:
    assert nearest(name, NAMES) == found


def test_without_a_near_name_it_lists_the_known_ones() -> None:
    assert unknown("case", "zzz", ["small", "full"]) == "no case 'zzz'; known: full, small"
    assert unknown("case", "zzz", []) == "no case 'zzz'; none is known"
    assert unknown("case", "zzz", map(str, range(100))).endswith("15, 16, 17, 18, 19 …")
