"""Arithmetic over named numbers, written as text: `2 * rows * inner * columns`.

Numbers, names, + - * / // ** and parentheses, nothing else. All of it is computed in floating point.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


class ExpressionError(ValueError):
    """The text is not a valid expression, or has no value."""


def names_in(text: str) -> frozenset[str]:
    """The names in an expression. Raises ExpressionError if the text is not one."""
    body = _parsed(text)
    _check(body, text)
    return frozenset(node.id for node in ast.walk(body) if isinstance(node, ast.Name))


def value_of(text: str, numbers: Mapping[str, float]) -> float:
    """The value of an expression. Raises ExpressionError if a name has no number, or the value is not finite."""
    missing = sorted(names_in(text) - numbers.keys())
    if missing:
        raise ExpressionError(f"{missing[0]!r} in {text!r} is not a number")
    try:
        value = _value(_parsed(text), numbers)
    # A negative number to a fractional power is complex, and can't be rounded down.
    except (OverflowError, ZeroDivisionError, TypeError) as error:
        raise ExpressionError(f"{text!r} has no value: {error}") from error
    if not isinstance(value, float) or not math.isfinite(value):
        raise ExpressionError(f"{text!r} is {value}, which is not finite")
    return value


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The expression with these names replaced. Raises ExpressionError if the text is not one."""
    body = _parsed(text)
    _check(body, text)
    for node in ast.walk(body):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return ast.unparse(body)


def _parsed(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{text!r} does not parse") from error


def _check(node: ast.expr, text: str) -> None:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        _check(node.left, text)
        _check(node.right, text)
    elif not isinstance(node, ast.Name) and not (isinstance(node, ast.Constant) and type(node.value) in (int, float)):
        raise ExpressionError(f"{text!r} may have only numbers, names and + - * / // **")


def _value(node: ast.expr, numbers: Mapping[str, float]) -> float:
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_value(node.left, numbers), _value(node.right, numbers))
    if isinstance(node, ast.Name):
        return float(numbers[node.id])
    assert isinstance(node, ast.Constant)
    return float(node.value)  # type: ignore[arg-type]
