"""Other shapes of a problem, to test whether a submission is right beyond its own case.

A problem may declare them. For a problem that does not, such as a KernelBench file, they are made from the whole numbers at the file's top
level. Numbers that decide an input dimension become odd, or three quarters, or the batch size changes, if the reference still runs. Values
that the file computes from such a number are computed again.
"""

import ast
import copy
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from evaluator.problem import kept_figures
from evaluator.problem.execute import ProblemError
from evaluator.problem.problem import Problem, ProblemCase
from evaluator.worker.nested import tensors

MAX_SIZES = 16
"""Maximum count of numbers to try in a file."""
SEARCH_S = 3.0
"""The thread's CPU time for the reference's own shapes, and again for the search. A recurrent reference takes minutes. What is not found by
then stays untested."""

Shapes = list[tuple[int, ...]]


@dataclass(frozen=True)
class Shape:
    """Another set of shapes of a problem."""

    name: str
    constants: dict[str, Any]
    """The file's numbers in these shapes."""
    case: ProblemCase
    declared: bool


@dataclass(frozen=True)
class _Size:
    """A whole number at a file's top level, alone or at a position in a tuple or list."""

    name: str
    position: int | None = None


def other_shapes(problem: Problem, case: str) -> Iterator[Shape]:
    """The shapes that `problem` declares; if it declares none, those made from `case`. Raises ProblemError."""
    declared = problem.declaration.generalisation
    if declared:
        for name, constants in declared.items():
            yield Shape(name, dict(constants), problem.instance(name), declared=True)
        return
    key = kept_figures.case_key("shapes", problem.instance(case))
    known = kept_figures.read(key)
    maker = _Maker(problem, case, known is None)
    if known is not None:
        yield from maker.again(known["shapes"])
        return
    made = list(maker.shapes())
    kept_figures.write(key, {"shapes": [(shape.name, repr(shape.constants)) for shape in made]})
    yield from made


def odd(size: int) -> int:
    """An odd number near this one, which is no power of two."""
    return size - 1 if size % 2 == 0 else size - 2


def three_quarters(size: int) -> int:
    """No power of two, but as divisible as possible."""
    return size * 3 // 4


def another_batch(size: int) -> int:
    """About half, and not a divisor."""
    return size // 2 + 1


class _Deadline(TorchDispatchMode):
    """While it is active, operators raise TimeoutError once the thread has used so much more CPU time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._end = time.thread_time() + seconds

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Spare each judge 3 s, as `OperatorProfile` does."""
        return False

    def __torch_dispatch__(self, function: Any, _types: Any, arguments: Any = (), options: Any = None) -> Any:
        """Call the operator in time."""
        if time.thread_time() > self._end:
            raise TimeoutError
        return function(*arguments, **(options or {}))


class _Maker:
    def __init__(self, problem: Problem, case: str, searches: bool) -> None:
        self._problem, self._deadline = problem, _Deadline(SEARCH_S)
        self._tree = ast.parse(problem.source)
        self._given = dict(problem.instance(case).constants)
        own = self._made("own", {})
        self._own_shapes = self._run(own) if own and searches else None
        self._deadline = _Deadline(SEARCH_S)
        self._namespace = {} if own is None else dict(vars(own.module))
        self._values = _sizes(self._tree, self._namespace)

    def shapes(self) -> Iterator[Shape]:
        if self._own_shapes is None:
            return  # a reference that does not run on the meta device is not tried
        leading = next(([size] for size in self._values if self._decides_batch(size)), [])
        wishes: tuple[tuple[str, Callable[[int], int], list[_Size]], ...] = (
            ("batch", another_batch, leading),
            ("odd", odd, list(self._values)),
            ("three-quarters", three_quarters, list(self._values)),
        )
        seen = [self._own_shapes]
        for name, change, sizes in wishes:
            chosen: dict[_Size, int] = {}
            shapes = self._own_shapes
            for size in sizes:
                changed = change(self._values[size])
                if changed < 1 or changed == self._values[size]:
                    continue
                made = self._made(name, {**chosen, size: changed})
                found = self._run(made) if made else None
                if found is not None and found != shapes:
                    chosen[size], shapes = changed, found
            if chosen and shapes not in seen:
                seen.append(shapes)
                made = self._made(name, chosen)
                if made is not None:
                    yield Shape(name, dict(made.constants), made, declared=False)

    def again(self, known: list[tuple[str, str]]) -> Iterator[Shape]:
        """The shapes that were made before."""
        for name, written in known:
            constants = ast.literal_eval(written)
            try:
                module = self._problem.executed(_replaced(self._tree, constants), f"{name}_shapes")
            except ProblemError:
                continue
            yield Shape(name, constants, ProblemCase(self._problem, name, constants, module), declared=False)

    def _decides_batch(self, size: _Size) -> bool:
        """Whether it is the first dimension of the first input, and no other dimension there."""
        made = self._made("batch", {size: another_batch(self._values[size])})
        found = self._run(made) if made else None
        if not found or not self._own_shapes or not found[0] or not self._own_shapes[0]:
            return False
        return found[0][0] != self._own_shapes[0][0] and found[0][1:] == self._own_shapes[0][1:]

    def _made(self, name: str, chosen: Mapping[_Size, int]) -> ProblemCase | None:
        """The problem with these numbers instead of its own; None if its file does not run with them."""
        constants = dict(self._given)
        for size, value in chosen.items():
            constants[size.name] = self._with(size, value, constants.get(size.name))
        try:
            module = self._problem.executed(_replaced(self._tree, constants), f"{name}_shapes")
        except ProblemError:
            return None
        return ProblemCase(self._problem, name, constants, module)

    def _with(self, size: _Size, value: int, held: Any) -> Any:
        if size.position is None:
            return value
        items = list(held if held is not None else self._namespace[size.name])
        items[size.position] = value
        return type(self._namespace[size.name])(items)

    def _run(self, case: ProblemCase) -> Shapes | None:
        """Shapes of the inputs if the reference runs on them in time; nothing is computed."""
        try:
            with torch.no_grad(), self._deadline:
                inputs = case.inputs(0, "meta")
                case.model(0, "meta")(*inputs)
        # If the reference raises anything, these shapes don't fit it.
        except Exception:  # noqa: BLE001
            return None
        return [tuple(tensor.shape) for tensor in tensors(inputs)]


def _sizes(tree: ast.Module, namespace: Mapping[str, Any]) -> dict[_Size, int]:
    """The numbers written at the top level, and their current values."""
    found: dict[_Size, int] = {}
    for name in _assigned(tree):
        held = namespace.get(name)
        if type(held) is int and held >= 2:
            found[_Size(name)] = held
        elif isinstance(held, tuple | list) and held and all(type(item) is int for item in held):
            found.update({_Size(name, position): item for position, item in enumerate(held) if item >= 2})
    return dict(list(found.items())[:MAX_SIZES])


def _assigned(tree: ast.Module) -> Iterator[str]:
    """Names that are assigned once, by an expression without names."""
    targets = [
        (node.targets[0] if isinstance(node, ast.Assign) else node.target, node.value)
        for node in tree.body
        if (isinstance(node, ast.Assign) and len(node.targets) == 1) or (isinstance(node, ast.AnnAssign) and node.value is not None)
    ]
    names = [target.id for target, _ in targets if isinstance(target, ast.Name)]
    for target, value in targets:
        plain = value is not None and not any(isinstance(inner, ast.Name | ast.Call | ast.Attribute) for inner in ast.walk(value))
        if isinstance(target, ast.Name) and plain and names.count(target.id) == 1:
            yield target.id


def _replaced(tree: ast.Module, constants: Mapping[str, Any]) -> ast.Module:
    """The file with other values of these names, at every top-level assignment."""
    changed = copy.deepcopy(tree)
    for node in changed.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id in constants and node.value is not None:
                literal = ast.parse(repr(constants[target.id]), mode="eval").body
                for inner in ast.walk(literal):
                    ast.copy_location(inner, node.value)
                node.value = literal
    return changed
