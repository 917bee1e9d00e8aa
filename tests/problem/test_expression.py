"""Arithmetic expressions: what they may contain, and their values."""

import pytest

from evaluator.problem.expression import ExpressionError, names_in, value_of

NUMBERS = {"rows": 3, "columns": 5, "scale": 0.5}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7.0),
        ("2 * rows * columns", 30.0),
        (" rows + columns * scale ", 5.5),
        ("(rows + columns) * scale", 4.0),
        ("columns // 2 - rows / 2", 0.5),
        ("2 ** rows ** 2", 512.0),
        ("10 ** 18 + 1", 1e18),
    ],
)
def test_values(text: str, value: float) -> None:
    assert value_of(text, NUMBERS) == value


def test_names_are_told() -> None:
    assert names_in("2 * rows * (columns + rows)") == {"rows", "columns"}
    assert names_in("2") == set()


REFUSED = ("", "rows +", "-rows", "f(rows)", "rows.real", "rows[0]", "rows if rows else 1", "'rows'", "True", "2j", "rows % 2", "x := 1")


@pytest.mark.parametrize("text", [*REFUSED, "\0", "(" * 500])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        names_in(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rows / (columns - 5)", "no value"),
        ("9 ** 9 ** 9 ** 9", "no value"),
        ("10 ** 400", "no value"),
        ("(0 - rows) ** 0.5 // 1", "no value"),
        ("(0 - rows) ** 0.5", "not finite"),
        ("1e308 * 10 ** 10", "not finite"),
        ("height * rows", "'height'"),
    ],
)
def test_what_has_no_value_is_refused(text: str, said: str) -> None:
    with pytest.raises(ExpressionError, match=said):
        value_of(text, NUMBERS)
