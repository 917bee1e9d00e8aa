"""Makes a problem small: halves integers at the top of its file while it is large and the reference still runs."""

import ast
import copy
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

MOST_ELEMENTS = 1 << 18
"""Maximum elements of small inputs."""
MOST_WORK = 1 << 29
"""Maximum multiplications and additions of a small forward()."""
LIMIT = 1 << 36
"""Maximum multiplications and additions of a problem that is run at all."""
LEAST, LEAST_BATCH = 16, 2
"""Minimum of a number; of a batch, if no other number can be halved."""

Place = tuple[str, int | None]
"""Name of a number, and its position in a tuple or list, if any."""


def executed(source: str | ast.Module, name: str) -> ModuleType:
    """The text run as a module of this name."""
    module = ModuleType(name)
    exec(compile(source, name, "exec", dont_inherit=True), vars(module))
    return module


def shrunk(source: str) -> str | None:
    """The problem in small shapes, or as small as possible; None if that is too large. It is unchanged if its size can't be counted."""
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
    """The problem with one number halved, or with all equal ones; None if none can be halved.

    The batch comes first, so that normalised dimensions stay large, then the largest number; last a small batch.
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
    """Elements of the inputs and parameters, and the work of a forward(), found without computing; None if the reference fails."""
    try:
        with torch.device("meta"), torch.no_grad():
            module: Any = executed(tree, "problem")
            inputs = module.get_inputs()
            model = module.Model(*module.get_init_inputs())
            with FlopCounterMode(display=False) as counter:
                model(*inputs)
    # Any exception of the reference means that it does not support these shapes.
    except Exception:  # noqa: BLE001
        return None
    return sum(value.numel() for value in inputs if isinstance(value, torch.Tensor)), counter.get_total_flops()


def _numbers(tree: ast.Module) -> dict[Place, int]:
    """Integers assigned at the top level."""
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
    """The integer written here, possibly as a product."""
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
