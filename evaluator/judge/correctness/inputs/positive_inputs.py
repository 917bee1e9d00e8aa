"""Finds the inputs that a problem's get_inputs() makes positive on purpose, from its text."""

import ast
import re
from collections.abc import Container, Iterator, Mapping, Sequence

MAKING_CALLS = re.compile("rand|randn|randint|empty|zeros|ones|full|arange|linspace|uniform_|normal_|normal|tensor")
"""Functions that make a tensor of numbers: their arguments change no sign."""
POSITIVE_CALLS = re.compile(
    "(?:abs|exp|square|clamp|clamp_min|relu|sigmoid)_?|absolute|exp2|pow|softplus|clip|maximum|sqrt|var|cosh|norm|sum|mean|cumsum|expm1|log1p"
)
"""Functions that make an input positive on purpose."""
_EVERYTHING = range(1 << 16)


def positive_positions(source: str) -> Container[int]:
    """Positions of the arguments that get_inputs() makes positive on purpose: by a function or by adding, not by rand() alone.

    If it does not return them one by one, one positive argument makes all count as positive.
    """
    tree = ast.parse(source)
    function = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "get_inputs"), None)
    if function is None:
        return ()
    known = _expressions(function)
    for other in tree.body:
        if isinstance(other, ast.FunctionDef) and other is not function:
            known.setdefault(other.name, []).append(other)
    returned: ast.AST | None = next((node.value for node in ast.walk(function) if isinstance(node, ast.Return)), None)
    if isinstance(returned, ast.Name) and len(known.get(returned.id, ())) == 1:
        returned = known[returned.id][0]
    if isinstance(returned, ast.List | ast.Tuple):
        return {position for position, item in enumerate(returned.elts) if _is_made_positive(item, known)}
    return _EVERYTHING if returned is not None and _is_made_positive(returned, known) else ()


def _expressions(function: ast.FunctionDef) -> dict[str, list[ast.AST]]:
    """The expressions that each local name is assigned, or changed by in a statement, such as `x += 1` and `x.abs_()`."""
    found: dict[str, list[ast.AST]] = {}
    for node in ast.walk(function):
        targets: Sequence[ast.AST] = ()
        value: ast.AST | None = None
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets, value = node.targets if isinstance(node, ast.Assign) else [node.target], node.value
        elif isinstance(node, ast.AugAssign):
            targets, value = [node.target], ast.BinOp(node.target, node.op, node.value)
        elif isinstance(node, ast.Expr):
            targets, value = [node.value], node.value
        for name in {inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)}:
            if value is not None:
                found.setdefault(name, []).append(value)
    return found


def _reached(expression: ast.AST, known: Mapping[str, Sequence[ast.AST]]) -> Iterator[ast.AST]:
    """All nodes of an expression, and of the expressions behind its names."""
    waiting: list[ast.AST] = [expression]
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            waiting += known.get(node.id, ())
        is_making = isinstance(node, ast.Call) and MAKING_CALLS.fullmatch(_called(node)) is not None
        waiting += [node.func] if is_making and isinstance(node, ast.Call) else ast.iter_child_nodes(node)


def _is_made_positive(expression: ast.AST, known: Mapping[str, Sequence[ast.AST]]) -> bool:
    return any(_makes_positive(node, known) for node in _reached(expression, known))


def _makes_positive(node: ast.AST, local: Container[str]) -> bool:
    if isinstance(node, ast.BinOp):
        # Arithmetic of numbers and of the module's constants makes sizes, as in view(rows, columns + 1).
        has_tensors = any(isinstance(inner, ast.Call) or (isinstance(inner, ast.Name) and inner.id in local) for inner in ast.walk(node))
        return has_tensors and isinstance(node.op, ast.Add | ast.Pow)
    return isinstance(node, ast.Call) and POSITIVE_CALLS.fullmatch(_called(node)) is not None


def _called(call: ast.Call) -> str:
    """The last name of the called function."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
