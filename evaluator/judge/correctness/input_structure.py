"""What is special about a problem's inputs, as three draws and the text of get_inputs() show: so that a change can leave it as it is."""

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

import torch

from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.worker.structure import tensors_of

DRAWS = 3
SAMPLE_ELEMENTS = 1 << 20
"""Elements of an input that are looked at."""
SQUARE = 512
"""Rows and columns of a square matrix that are looked at."""
MAX_LEVELS = 16
"""An input with no more different values holds marks, such as a mask or targets."""
CLOSE = 1e-3
"""How far sums and norms of float32 may be from one, and of narrower types eight of their roundings."""
MIN_LINE = 2
"""Elements of the shortest line whose sum, norm or order means something."""
MIN_SORTED = 8
MAKING_CALLS = {
    "rand",
    "randn",
    "randint",
    "empty",
    "zeros",
    "ones",
    "full",
    "arange",
    "linspace",
    "uniform_",
    "normal_",
    "normal",
    "tensor",
}
"""Functions that make a tensor of numbers: what is in their arguments changes no sign."""
POSITIVE_CALLS = {
    *(
        "abs",
        "absolute",
        "exp",
        "exp2",
        "square",
        "pow",
        "softplus",
        "sigmoid",
        "relu",
        "clamp",
        "clamp_min",
        "clip",
        "maximum",
        "sqrt",
        "var",
    ),
    *("cosh", "norm", "sum", "mean", "cumsum", "abs_", "exp_", "square_", "clamp_", "clamp_min_", "relu_", "sigmoid_", "expm1", "log1p"),
}
"""Functions that make an input positive on purpose."""

_KNOWN: dict[tuple[object, ...], "InputStructure"] = {}


class Kind(Enum):
    """What a change may do to an input."""

    FREE = "its elements may change one by one"
    POSITIVE = "it may be multiplied by positive numbers"
    SORTED = "its rows may be multiplied by positive numbers, a row by one"
    SYMMETRIC = "it may be multiplied from both sides by the same diagonal matrix"
    FIXED = "it stays as it is"


class Relation(Enum):
    """What an input is to an earlier one."""

    EQUAL = "equal to it"
    TRANSPOSED = "its transpose"
    ORDERED = "nowhere below it, or nowhere above it"


@dataclass(frozen=True)
class Tie:
    """Input number `of` depends on number `to`, an earlier one."""

    of: int
    to: int
    relation: Relation


@dataclass(frozen=True)
class InputStructure:
    """The kind of each tensor among the arguments, in their order, and how some depend on others."""

    kinds: tuple[Kind, ...]
    ties: tuple[Tie, ...] = ()

    @property
    def is_fixed(self) -> bool:
        """Whether no input may change."""
        return all(kind is Kind.FIXED for kind in self.kinds)


def structure_of(case: ProblemCase, device: torch.device) -> InputStructure:
    """The structure of the case's inputs; found once in a process. Raises ProblemError."""
    key = (case.problem.sha256, case.name, tuple(map(repr, sorted(case.constants.items()))), case.dtype_name, str(device))
    if key not in _KNOWN:
        _KNOWN[key] = _found(case, device)
    return _KNOWN[key]


@dataclass(frozen=True)
class _Sample:
    """Parts of one input."""

    rows: torch.Tensor
    """Whole rows, the first of them."""
    corner: torch.Tensor
    """The first rows and columns of its matrices."""
    shape: torch.Size

    @classmethod
    def of(cls, tensor: torch.Tensor) -> "_Sample":
        return cls(
            _first_rows(tensor).clone(),
            _first_rows(tensor[..., :SQUARE, :SQUARE]).clone() if tensor.dim() > 1 else tensor[:0],
            tensor.shape,
        )


def _first_rows(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() == 0 or tensor.numel() <= SAMPLE_ELEMENTS:
        return tensor
    return tensor[: max(SAMPLE_ELEMENTS * len(tensor) // tensor.numel(), 1)]


def _found(case: ProblemCase, device: torch.device) -> InputStructure:
    draws: list[list[_Sample]] = []
    positions: list[int] = []
    for _ in range(DRAWS):
        arguments = case.inputs(fresh_seed(), device)
        draws.append([_Sample.of(tensor) for _, tensor in tensors_of(arguments)])
        positions = [position for position, argument in enumerate(arguments) for _ in tensors_of(argument)]
    positive = _positive_positions(case.problem.source)
    columns = list(zip(*draws, strict=True))
    kinds = [_kind(samples, is_made_positive=position in positive) for samples, position in zip(columns, positions, strict=True)]
    return InputStructure(tuple(kinds), tuple(_ties(columns, kinds)))


def _kind(samples: Sequence[_Sample], *, is_made_positive: bool) -> Kind:
    first = samples[0].rows
    if not first.is_floating_point() or first.numel() < MIN_LINE or all(torch.equal(first, other.rows) for other in samples[1:]):
        return Kind.FIXED
    wide = [sample.rows.double() for sample in samples]
    if any(_holds_marks(sample) for sample in wide):
        return Kind.FIXED
    close = max(CLOSE, 8 * torch.finfo(first.dtype).eps)
    if all(_is_normalized(sample, close) for sample in wide):
        return Kind.FIXED
    if all(_is_symmetric(sample) for sample in samples):
        return Kind.SYMMETRIC
    if all(_is_sorted(sample) for sample in wide):
        return Kind.SORTED
    return Kind.POSITIVE if is_made_positive and all(bool((sample >= 0).all()) for sample in wide) else Kind.FREE


def _holds_marks(values: torch.Tensor) -> bool:
    """Few levels, or whole numbers alone: zeros beside others are a mask over them, and say nothing."""
    others = values[values != 0]
    if not len(others) or not bool(others.isfinite().all()):
        return True
    return bool((others == others.round()).all()) or len(torch.unique(others)) <= min(MAX_LEVELS, len(others) // 2)


def _is_normalized(values: torch.Tensor, close: float) -> bool:
    """Whether sums, sums of exponentials or norms along a dimension are one."""

    def is_one(numbers: torch.Tensor) -> bool:
        return bool(((numbers - 1).abs() <= close).all())

    checks: list[Callable[[torch.Tensor, int], torch.Tensor]] = [lambda value, dim: value.norm(dim=dim)]
    if bool((values >= 0).all()):
        checks.append(lambda value, dim: value.sum(dim))
    if bool((values <= 0).all()):
        checks.append(lambda value, dim: value.exp().sum(dim))
    dims = [dim for dim in range(values.dim()) if values.shape[dim] >= MIN_LINE and (dim or values.dim() == 1)]
    return any(is_one(check(values, dim)) for dim in dims for check in checks)


def _is_symmetric(sample: _Sample) -> bool:
    """Symmetric, and not merely diagonal."""
    if len(sample.shape) < 2 or sample.shape[-1] != sample.shape[-2] or sample.shape[-1] < MIN_LINE:
        return False
    square = sample.corner.double()
    return bool(torch.allclose(square, square.mT, rtol=1e-5, atol=1e-7)) and bool(square.triu(1).any())


def _is_sorted(values: torch.Tensor) -> bool:
    if not values.dim() or values.shape[-1] < MIN_SORTED:
        return False
    steps = values.diff(dim=-1)
    return bool((steps >= 0).all()) or bool((steps <= 0).all())


def _ties(columns: Sequence[Sequence[_Sample]], kinds: Sequence[Kind]) -> Iterator[Tie]:
    """The inputs that depend on an earlier one, each once."""
    tied: set[int] = set()
    for to, of in combinations(range(len(kinds)), 2):
        if tied & {of, to} or Kind.FIXED in (kinds[of], kinds[to]):
            continue
        relation = _relation(list(zip(columns[to], columns[of], strict=True)))
        if relation is not None:
            tied.add(of)
            yield Tie(of, to, relation)


def _relation(pairs: Sequence[tuple[_Sample, _Sample]]) -> Relation | None:
    one, other = pairs[0]
    may_be_transposed = len(one.shape) > 1 and one.shape[:-2] == other.shape[:-2] and one.shape[-2:] == other.shape[-2:][::-1]
    if may_be_transposed and all(torch.equal(left.corner.mT, right.corner) for left, right in pairs):
        return Relation.TRANSPOSED
    if one.shape != other.shape:
        return None
    if all(torch.equal(left.rows, right.rows) for left, right in pairs):
        return Relation.EQUAL
    below = all(bool((left.rows <= right.rows).all()) for left, right in pairs)
    above = all(bool((left.rows >= right.rows).all()) for left, right in pairs)
    return Relation.ORDERED if one.rows.numel() >= MIN_SORTED and (below or above) else None


def _positive_positions(source: str) -> set[int]:
    """Positions of the arguments that get_inputs() makes positive on purpose: by a function or by adding, not by rand() alone."""
    function = next(
        (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == "get_inputs"),
        None,
    )
    if function is None:
        return set()
    assigned: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)):
                assigned.setdefault(name, []).append(node.value)
    returned = next((node.value for node in ast.walk(function) if isinstance(node, ast.Return)), None)
    items = returned.elts if isinstance(returned, ast.List | ast.Tuple) else []
    return {position for position, item in enumerate(items) if any(map(_makes_positive, _reached(item, assigned)))}


def _reached(expression: ast.expr, assigned: dict[str, list[ast.expr]]) -> Iterator[ast.AST]:
    """Everything in an expression, and in what its names were assigned."""
    waiting: list[ast.AST] = [expression]
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            waiting += assigned.get(node.id, [])
        is_making = isinstance(node, ast.Call) and _called(node) in MAKING_CALLS
        waiting += [node.func] if is_making and isinstance(node, ast.Call) else ast.iter_child_nodes(node)


def _makes_positive(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Pow)
    return isinstance(node, ast.Call) and _called(node) in POSITIVE_CALLS


def _called(call: ast.Call) -> str:
    """The last name of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
