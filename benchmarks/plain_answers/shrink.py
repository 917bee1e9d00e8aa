"""A problem in small shapes: whole numbers at the top of its file, halved while it is large and the reference still runs."""

import ast
import copy
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

MOST_ELEMENTS = 1 << 18
"""Elements of the inputs that are small enough."""
MOST_WORK = 1 << 29
"""Multiplications and additions of one forward() that are few enough."""
LIMIT = 1 << 36
"""Multiplications and additions beyond which a problem is not run at all."""
LEAST, LEAST_BATCH = 16, 2
"""How small a number is made; a batch where nothing else can be."""

Place = tuple[str, int | None]
"""Name of a number, and its position where it is in a tuple or list."""


def executed(source: str | ast.Module, name: str) -> ModuleType:
    """The text run as a module of this name."""
    module = ModuleType(name)
    exec(compile(source, name, "exec", dont_inherit=True), vars(module))
    return module


def shrunk(source: str) -> str | None:
    """The problem in small shapes, or as small as it can be; None where that is too large. What can't be counted is left as it is."""
    tree = ast.parse(source)
    cost = _cost(tree)
    while cost is not None and not _is_small(cost):
        found = _smaller(tree, cost)
        if found is None:
            break
        tree, cost = found
    if cost is not None and cost[1] > LIMIT:
        return None
    return ast.unparse(tree)


def _is_small(cost: tuple[int, int]) -> bool:
    return cost[0] <= MOST_ELEMENTS and cost[1] <= MOST_WORK


def _smaller(tree: ast.Module, cost: tuple[int, int]) -> tuple[ast.Module, tuple[int, int]] | None:
    """The problem with one number halved, or with all that are equal to it; None where none can be.

    The batch comes first, so that what is normalised stays as large as it is, then the largest; at last a batch of few.
    """
    numbers = _numbers(tree)
    batches = [place for place in numbers if "batch" in place[0].lower()]
    others = sorted(set(numbers) - set(batches), key=lambda place: (-numbers[place], place[0]))
    for tried, least in ((batches, LEAST), (others, LEAST), (batches, LEAST_BATCH)):
        for place in tried:
            if numbers[place] // 2 < least:
                continue
            for places in ([place], [other for other in numbers if numbers[other] == numbers[place]]):
                changed = _with(tree, places, numbers[place] // 2)
                less = _cost(changed)
                if less is not None and less < cost and less[0] > 0:
                    return changed, less
    return None


def _cost(tree: ast.Module) -> tuple[int, int] | None:
    """Elements of the inputs and parameters, and the work of a forward(), found without computing; None where the reference fails."""
    try:
        with torch.device("meta"), torch.no_grad():
            module: Any = executed(tree, "problem")
            inputs = module.get_inputs()
            model = module.Model(*module.get_init_inputs())
            with FlopCounterMode(display=False) as counter:
                model(*inputs)
    # Whatever the reference raises, such shapes are none of its.
    except Exception:  # noqa: BLE001
        return None
    return sum(value.numel() for value in inputs if isinstance(value, torch.Tensor)), counter.get_total_flops()


def _numbers(tree: ast.Module) -> dict[Place, int]:
    """Whole numbers that are assigned at the top level."""
    found: dict[Place, int] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
            continue
        name, value = node.targets[0].id, node.value
        items = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        for position, item in enumerate(items):
            number = _evaluated(item)
            if number is not None:
                found[name, None if item is value else position] = number
    return found


def _evaluated(node: ast.expr) -> int | None:
    """The whole number that is written here, as a product too."""
    if any(not isinstance(inner, ast.Constant | ast.BinOp | ast.operator | ast.expr_context) for inner in ast.walk(node)):
        return None
    value = eval(compile(ast.Expression(node), "number", "eval"))
    return value if type(value) is int else None


def _with(tree: ast.Module, places: Sequence[Place], value: int) -> ast.Module:
    """The problem with this value in these places."""
    changed = copy.deepcopy(tree)
    for node in changed.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        for name, position in places:
            if node.targets[0].id != name:
                continue
            if position is None:
                node.value = ast.Constant(value)
            elif isinstance(node.value, ast.Tuple | ast.List):
                node.value.elts[position] = ast.Constant(value)
    return ast.fix_missing_locations(changed)
