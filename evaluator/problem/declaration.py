"""What a problem's file declares beyond the KernelBench form: one plain dict named ASSAY at its top level.

    ASSAY = {
        "description": "Softmax over long rows",
        "cases": {"full": {}, "small": {"batch_size": 16, "dim": 1021}},
        "dtype": "float16",
        "tolerance": 2.0,
        "rows_independent": True,
        "floor": {"reads": "all", "operations": "5 * batch_size * dim"},
    }

A file without it has one case, `full`, and runs as it stands.
"""

import ast
import math
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from evaluator.problem.expression import ExpressionError, names_in, value_of

DECLARATION_NAME = "ASSAY"
DEFAULT_CASE = "full"
SMALL_CASE = "small"

PrecisionName = Literal["float16", "bfloat16", "float32", "float64"]
PRECISIONS: dict[str, PrecisionName] = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
}
"""Usual names of the types that a problem can be judged in."""
CaseName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Tag = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
DistributionName = Literal["signs", "scaled", "wide", "ties", "shifted", "special"]
"""Distributions of inputs besides the problem's own; what each is, evaluator.judge.correctness.inputs.input_distributions says."""
Plain = (bool, int, float, str, tuple, list)
"""Types of the module-level constants that a case may set."""


class DeclarationError(Exception):
    """The declaration breaks a rule."""

    def __init__(self, rule: str, line: int) -> None:
        super().__init__(rule)
        self.rule, self.line = rule, line


def _selection(kinds: tuple[type, ...], meaning: str) -> BeforeValidator:
    def fits(value: object) -> bool:
        if not isinstance(value, list | tuple):
            return value == "all"
        known = all(type(each) in kinds and value.count(each) == 1 for each in value)
        return known and not any(type(each) is int and each < 0 for each in value)

    def check(value: object) -> object:
        if not fits(value):
            raise ValueError(f"has to be 'all' or a list of {meaning}, each once")
        return value

    return BeforeValidator(check)


def _once(value: object) -> object:
    if not isinstance(value, list | tuple):
        raise ValueError("has to be a list")
    twice = [each for each in value if value.count(each) > 1]
    if twice:
        raise ValueError(f"{twice[0]!r} is there more than once")
    return tuple(value)


def _positions(value: object) -> object:
    found = _once(value)
    if not isinstance(found, tuple) or any(type(each) is not int or each < 0 for each in found):
        raise ValueError("has to be a list of positions of forward()'s arguments, from 0")
    return found


def _factors(value: object) -> object:
    names = get_args(PrecisionName)
    unknown = [name for name in value if name not in names] if isinstance(value, dict) else []
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no type that a problem is judged in; there are: {', '.join(names)}")
    wrong = [each for each in (value.values() if isinstance(value, dict) else [value]) if not _is_factor(each)]
    if wrong:
        raise ValueError(f"has to be a factor above 0, or a dict of them by type, not {wrong[0]!r}")
    return value


def _is_factor(value: object) -> bool:
    return type(value) in (int, float) and 0 < value < math.inf  # type: ignore[operator]


def _operations(value: object) -> object:
    text = str(value) if type(value) in (int, float) else value
    if not isinstance(text, str):
        raise ValueError("has to be an expression in a string")
    names_in(text)
    return text


class Floor(BaseModel):
    """The bytes and operations that no answer can do without: `evaluator.judge.roofline.minimum_time` follows from them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reads: Annotated[
        Literal["all"] | tuple[int | str, ...], _selection((int, str), "positions of forward()'s arguments and names of parameters")
    ] = ()
    """Arguments (positions, from 0) and parameters (names, as in `norm.weight`) that have to be read to the last byte; `all`: all of
    both."""
    writes: Annotated[Literal["all"] | tuple[int, ...], _selection((int,), "positions of the answer's tensors")] = "all"
    """Tensors of the answer that have to be written to the last element; not those that may be a view of an input."""
    operations: Annotated[str, BeforeValidator(_operations)] = "0"
    """Additions and multiplications that the best known algorithm needs, over the case's constants, as in `2 * rows * inner * columns`.
    They are compared with the rate of 16-bit matrix products. Leave them out where 8-bit products could give the answer."""


class Declaration(BaseModel):
    """The declaration of one problem."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str = ""
    tags: Annotated[tuple[Tag, ...], BeforeValidator(_once)] = ()
    """What kind of work it is, as in `("normalization", "rows")`."""
    level: int | None = Field(default=None, ge=1, le=9, strict=True)
    """How much is asked for: 1 one operator, 2 a few in a row, 3 a block of a network, 4 and above whole networks."""
    source: str = ""
    """Where it comes from: a paper, a model, an address."""
    cases: dict[CaseName, dict[str, Any]] = {DEFAULT_CASE: {}}
    """Name → module-level constants to set after the file has been executed. What the file computes from them while it is executed,
    default arguments too, is not computed again."""
    generalisation: dict[CaseName, dict[str, Any]] = Field(default_factory=dict)
    """More such sets of constants, to test whether a submission is right beyond the cases that it is judged on."""
    dtype: PrecisionName | None = None
    """Type that floating-point inputs and parameters are cast to; None leaves them as they are."""
    dtypes: Annotated[tuple[PrecisionName, ...], BeforeValidator(_once)] = ()
    """Types that the problem may be judged in on request; empty: any."""
    tolerance: Annotated[float | dict[PrecisionName, float], BeforeValidator(_factors)] = 1.0
    """Factor on the tolerance (`evaluator.judge.correctness.tolerance`); or type that the problem is judged in → factor, 1 in other
    types."""
    inputs: Literal["drawn", "any"] = "drawn"
    """`drawn`: what get_inputs() draws is what an answer has to be right for. `any`: any inputs of these shapes, so that every distribution
    decides."""
    without: dict[DistributionName, Annotated[str, StringConstraints(min_length=1)]] = Field(default_factory=dict)
    """Distribution that inputs must not be drawn from → the reason; the problem's own can't be left out."""
    mode: Literal["eval", "train"] | None = None
    """Of the models; in training mode dropout alone stays as in evaluation. None: training where the reference has a batch normalization,
    whose statistics are then the batch's, as in KernelBench's evaluator; evaluation where it has none."""
    in_place: Annotated[tuple[int, ...], BeforeValidator(_positions)] = ()
    """Arguments that a call changes. What is in them afterwards is part of the answer."""
    backward: bool = False
    """The gradients of floating-point inputs and of parameters, for directions that are drawn, are part of the answer."""
    rows_independent: bool = False
    """Each row (index of dimension 0) of every output depends on the same row of every input tensor, and on nothing else of them."""
    compute: Literal["fp8"] | None = None
    """The type that products have to be computed in. `fp8`: the reference rounds to float8 itself. An answer without that is wrong. So is
    one of operands that were turned back into bfloat16 (`evaluator.judge.correctness.errors.compute_rule`)."""
    floor: Floor | None = None
    """None: nothing but the bytes of the answer is known to be needed."""

    @property
    def factor(self) -> float:
        """The tolerance in the declared dtype; that of a file which declares none is PyTorch's own, float32."""
        return self.tolerance.get(self.dtype or "float32", 1.0) if isinstance(self.tolerance, dict) else self.tolerance

    def shapes(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """All sets of constants: the key that each is under, its name, and the constants."""
        for key, found in (("cases", self.cases), ("generalisation", self.generalisation)):
            for name, constants in found.items():
                yield key, name, constants


def declare(namespace: Mapping[str, Any], tree: ast.Module) -> Declaration:
    """The declaration in an executed module with that namespace and syntax tree. Raises DeclarationError."""
    if DECLARATION_NAME not in namespace:
        return Declaration()
    lines = _DeclarationLines(tree)
    value = namespace[DECLARATION_NAME]
    if type(value) is not dict:
        raise DeclarationError(f"{DECLARATION_NAME} is of type {type(value).__name__}; make it a plain dict", lines.of())
    unknown = [key for key in value if key not in Declaration.model_fields]
    if unknown:
        rule = f"{DECLARATION_NAME} has no key {unknown[0]!r}; {_nearest(str(unknown[0]), Declaration.model_fields)}"
        raise DeclarationError(rule, lines.of(str(unknown[0])))
    try:
        declaration = Declaration.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(part) for part in first["loc"]]
        raise DeclarationError(f"{DECLARATION_NAME}: {'.'.join(keys)}: {first['msg']}", lines.of(*keys)) from error
    if DEFAULT_CASE not in declaration.cases:
        raise DeclarationError(f"no case is named {DEFAULT_CASE!r}; give one of them this name", lines.of("cases"))
    twice = sorted(declaration.cases.keys() & declaration.generalisation.keys())
    if twice:
        raise DeclarationError(f"{twice[0]!r} is a case already; give these shapes another name", lines.of("generalisation", twice[0]))
    if declaration.backward and declaration.in_place:
        raise DeclarationError("backward and in_place are both declared; a problem can have one of them only", lines.of("in_place"))
    if declaration.dtypes and declaration.dtype not in (None, *declaration.dtypes):
        raise DeclarationError(f"dtypes lacks {declaration.dtype!r}, the problem's own dtype; add it", lines.of("dtypes"))
    for key, case, constants in declaration.shapes():
        for name, constant in constants.items():
            _check_constant(key, case, name, constant, namespace, lines)
        _check_operations(declaration.floor, case, {**namespace, **constants}, lines)
    return declaration


def numbers_in(namespace: Mapping[str, Any]) -> dict[str, float]:
    """The constants of a module that an expression may name."""
    return {name: value for name, value in namespace.items() if type(value) in (int, float) and not name.startswith("__")}


def _check_operations(floor: Floor | None, case: str, namespace: Mapping[str, Any], lines: "_DeclarationLines") -> None:
    if floor is None:
        return
    numbers, where = numbers_in(namespace), lines.of("floor", "operations")
    unknown = sorted(names_in(floor.operations) - numbers.keys())
    if unknown:
        raise DeclarationError(f"operations: {unknown[0]!r} is no number of the module; {_nearest(unknown[0], numbers)}", where)
    try:
        operations = value_of(floor.operations, numbers)
    except ExpressionError as error:
        raise DeclarationError(f"operations of case {case!r}: {error}", where) from error
    if operations < 0:
        raise DeclarationError(f"operations of case {case!r} are {operations:g}; give a number from 0", where)


def _check_constant(key: str, case: str, name: str, value: object, namespace: Mapping[str, Any], lines: "_DeclarationLines") -> None:
    constants = [each for each, held in namespace.items() if isinstance(held, Plain) and not each.startswith("__")]
    where = lines.of(key, case, name)
    if name not in constants:
        raise DeclarationError(f"case {case!r} sets {name!r}, which is no constant of the module; {_nearest(name, constants)}", where)
    held = namespace[name]
    numbers = type(held) is float and type(value) is int
    if type(value) is not type(held) and not numbers:
        rule = f"case {case!r} sets {name!r} to {value!r}; give a value of type {type(held).__name__}, as the module does"
        raise DeclarationError(rule, where)


def _nearest(name: str, names: Collection[str]) -> str:
    near = get_close_matches(name, names, n=3, cutoff=0.5)
    return f"nearest: {', '.join(near)}" if near else f"there are: {', '.join(sorted(names)) or 'none'}"


class _DeclarationLines:
    """Lines of the declaration's parts in the file."""

    def __init__(self, tree: ast.Module) -> None:
        self._node: ast.AST | None = None
        for statement in tree.body:
            targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            if any(isinstance(target, ast.Name) and target.id == DECLARATION_NAME for target in targets):
                self._node = statement

    def of(self, *keys: str) -> int:
        """Line of the innermost of these nested keys that is written out; else of the declaration, else 1."""
        node = self._node
        line = int(getattr(node, "lineno", 1))
        for key in keys:
            found = next((pair for pair in _pairs(node) if pair[0] == key), None) if node else None
            if found is None:
                break
            _, line, node = found
        return line


def _pairs(node: ast.AST) -> list[tuple[str, int, ast.AST]]:
    """Keys of the dicts and calls in `node`, outermost first, each with its line and value."""
    pairs: list[tuple[str, int, ast.AST]] = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.keyword) and inner.arg:
            pairs.append((inner.arg, inner.lineno, inner.value))
        elif isinstance(inner, ast.Dict):
            for key, value in zip(inner.keys, inner.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    pairs.append((key.value, key.lineno, value))
    return pairs
