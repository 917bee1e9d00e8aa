"""A problem's declaration beyond the KernelBench form: one plain dict named ASSAY at its file's top level.

    ASSAY = {
        "description": "Softmax over long rows",
        "cases": {"full": {}, "small": {"batch_size": 16, "dim": 1021}},
        "dtype": "float16",
        "tolerance": 2.0,
        "rows_independent": True,
        "floor": {"reads": "all", "operations": "5 * batch_size * dim"},
    }

A file without it has one case, `full`, and runs unchanged.
"""

import ast
import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, StringConstraints, ValidationError

from evaluator.problem.expression import ExpressionError, names_in, value_of
from evaluator.problem.stored_inputs import StoredInput, StoredInputError, positions_of
from evaluator.problem.workloads import Workload, WorkloadError, read_workloads, same_sizes
from evaluator.results.nearest import nearest
from evaluator.results.result import ALL_CASES

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
"""Usual names of the types to judge a problem in."""
CaseName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Tag = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")]
DistributionName = Literal["signs", "scaled", "wide", "ties", "shifted", "special"]
"""Input distributions besides the problem's own; evaluator.results.distributions describes each."""
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
        raise ValueError(f"{twice[0]!r} occurs more than once")
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
        raise ValueError(f"{unknown[0]!r} is not a type that Assay judges in; use one of: {', '.join(names)}")
    wrong = [each for each in (value.values() if isinstance(value, dict) else [value]) if not _is_factor(each)]
    if wrong:
        raise ValueError(f"has to be a number above 0, or a dict from types to such numbers, not {wrong[0]!r}")
    return value


def _is_factor(value: object) -> bool:
    return type(value) in (int, float) and 0 < value < math.inf  # type: ignore[operator]


def _amount(value: object) -> object:
    text = str(value) if type(value) in (int, float) else value
    if not isinstance(text, str):
        raise ValueError("has to be a string with an expression")
    names_in(text)
    return text


class Floor(BaseModel):
    """The bytes and operations that every right answer needs; they give `evaluator.judge.roofline.minimum_time`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reads: Annotated[
        Literal["all"] | tuple[int | str, ...], _selection((int, str), "positions of forward()'s arguments and names of parameters")
    ] = ()
    """Arguments (positions, from 0) and parameters (names, such as `norm.weight`) that must be read in full; `all`: all of both."""
    writes: Annotated[Literal["all"] | tuple[int, ...], _selection((int,), "positions of the answer's tensors")] = "all"
    """Output tensors that must be written in full; not those that may be a view of an input."""
    bytes: Annotated[str, BeforeValidator(_amount)] = "0"
    """All bytes that a call must read and write, over the case's constants, where they are more than these; at most those of all inputs,
    parameters and buffers count as read."""
    operations: Annotated[str, BeforeValidator(_amount)] = "0"
    """Additions and multiplications of the best known algorithm, over the case's constants: `2 * rows * inner * columns`. Assay divides
    them by the rate of 16-bit matrix products. Leave them out if 8-bit products could give the output."""


class Declaration(BaseModel):
    """The declaration of one problem."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: str = ""
    tags: Annotated[tuple[Tag, ...], BeforeValidator(_once)] = ()
    """Kinds of work, such as `("normalization", "rows")`."""
    level: int | None = Field(default=None, ge=1, le=9, strict=True)
    """Difficulty: 1 one operator, 2 a few in a row, 3 a block of a network, 4 and above whole networks."""
    source: str = ""
    """Origin: a paper, a model, an address."""
    cases: dict[CaseName, dict[str, Any]] = {DEFAULT_CASE: {}}
    """Name → module-level constants to set after the file has been executed. Values that the file computed from them, including default
    arguments, don't change."""
    workloads: dict[CaseName, dict[str, Any]] = Field(default_factory=dict)
    """More such sets of constants; one has the sizes of `full`. The case `all` is timed in each, with the geometric mean as its score. A
    file may declare a list without names, or the name of a file of them (evaluator.problem.workloads)."""
    failed_workload: Literal["fails", "unsolved"] = "fails"
    """A submission that is wrong only in other workloads than `full`: it fails; or it is right, and the wrong ones count as a tenth of the
    reference's speed."""
    generalisation: dict[CaseName, dict[str, Any]] = Field(default_factory=dict)
    """More such sets of constants, to test whether a submission is right beyond its cases."""
    dtype: PrecisionName | None = None
    """Type that floating-point inputs and parameters are cast to; None leaves them as they are."""
    dtypes: Annotated[tuple[PrecisionName, ...], BeforeValidator(_once)] = ()
    """Types that the problem may be judged in on request; empty: any."""
    tolerance: Annotated[float | dict[PrecisionName, float], BeforeValidator(_factors)] = 1.0
    """Factor on the tolerance (`evaluator.judge.correctness.tolerance`); or a dict from the type whose tolerance counts to its factor,
    with 1 for other types."""
    inputs: Literal["drawn", "any"] = "drawn"
    """`drawn`: an answer must be right for inputs from get_inputs(). `any`: for any inputs of these shapes, so every distribution
    decides."""
    without: dict[DistributionName, Annotated[str, StringConstraints(min_length=1)]] = Field(default_factory=dict)
    """Distribution that inputs must not come from → the reason; the problem's own can't be excluded."""
    mode: Literal["eval", "train"] | None = None
    """Mode of the models; in training mode only dropout stays off. None: training if the reference has a batch normalization, which then
    uses the batch's statistics, as in KernelBench's evaluator; evaluation otherwise."""
    in_place: Annotated[tuple[int, ...], BeforeValidator(_positions)] = ()
    """Positions of arguments that a call changes. Their new content is part of the output."""
    backward: bool = False
    """Whether gradients of floating-point inputs and parameters, for random output gradients, are part of the output."""
    rows_independent: bool = False
    """Each row (index of dimension 0) of every output depends on the same row of every input tensor, and on no other row."""
    compute: Literal["fp8"] | None = None
    """The type that products must be computed in. `fp8`: the reference rounds to float8 itself. A submission that does not round is wrong.
    So is one that converts the operands back to bfloat16 (`evaluator.judge.correctness.errors.compute_rule`)."""
    floor: Floor | None = None
    """None: only the output's bytes are known to be needed."""
    _stored: dict[str, dict[int, StoredInput]] = PrivateAttr(default_factory=dict)

    @property
    def stored(self) -> Mapping[str, Mapping[int, StoredInput]]:
        """Case → inputs that a file of workloads gives, by their positions. `full` has those of the first workload with its sizes."""
        return self._stored

    def shapes(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """All sets of constants: each with its key, its name, and the constants."""
        for key, found in (("cases", self.cases), ("workloads", self.workloads), ("generalisation", self.generalisation)):
            for name, constants in found.items():
                yield key, name, constants


def declare(namespace: Mapping[str, Any], tree: ast.Module, folder: Path) -> Declaration:
    """The declaration in an executed module with that namespace and syntax tree, whose file is in `folder`. Raises DeclarationError."""
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
        workloads = read_workloads(value.get("workloads", {}), folder)
        stored = _stored_inputs(workloads, namespace)
        declaration = Declaration.model_validate({**value, "workloads": _constants(workloads)})
    except (WorkloadError, StoredInputError) as error:
        raise DeclarationError(f"{DECLARATION_NAME}: workloads: {error}", lines.of("workloads")) from error
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(part) for part in first["loc"]]
        raise DeclarationError(f"{DECLARATION_NAME}: {'.'.join(keys)}: {first['msg']}", lines.of(*keys)) from error
    if DEFAULT_CASE not in declaration.cases:
        raise DeclarationError(f"no case is named {DEFAULT_CASE!r}; give one of them this name", lines.of("cases"))
    known: set[str] = {ALL_CASES}
    for key, name, _ in declaration.shapes():
        if name in known:
            what = "stands for all workloads" if name == ALL_CASES else "is a case already"
            raise DeclarationError(f"{name!r} {what}; give these shapes another name", lines.of(key, name))
        known.add(name)
    if declaration.backward and declaration.in_place:
        raise DeclarationError("backward and in_place are both declared; keep only one", lines.of("in_place"))
    if declaration.dtypes and declaration.dtype not in (None, *declaration.dtypes):
        raise DeclarationError(f"dtypes lacks {declaration.dtype!r}, the problem's own dtype; add it", lines.of("dtypes"))
    for key, case, constants in declaration.shapes():
        for name, constant in constants.items():
            _check_constant(key, case, name, constant, namespace, lines)
        _check_amounts(declaration.floor, case, {**namespace, **constants}, lines)
    full = {**namespace, **declaration.cases[DEFAULT_CASE]}
    of_full = next((name for name, constants in declaration.workloads.items() if same_sizes(constants, full)), None)
    if declaration.workloads and of_full is None:
        rule = f"no workload has the sizes of {DEFAULT_CASE!r}, in which submissions are checked; set the module's constants to one of them"
        raise DeclarationError(rule, lines.of("workloads"))
    declaration._stored = {**stored, DEFAULT_CASE: stored[of_full]} if of_full in stored else stored
    return declaration


def _constants(workloads: Any) -> Any:
    """Name → constants; what is no dict is returned unchanged."""
    if not isinstance(workloads, dict):
        return workloads
    return {name: each.constants if isinstance(each, Workload) else each for name, each in workloads.items()}


def _stored_inputs(workloads: Any, namespace: Mapping[str, Any]) -> dict[str, dict[int, StoredInput]]:
    """Workload → position → input from a file. Raises StoredInputError."""
    found: dict[str, dict[int, StoredInput]] = {}
    for name, each in workloads.items() if isinstance(workloads, dict) else ():
        if isinstance(each, Workload) and each.stored:
            positions = positions_of(list(each.stored), namespace["Model"])
            found[name] = {positions[argument]: stored for argument, stored in each.stored.items()}
    return found


def numbers_in(namespace: Mapping[str, Any]) -> dict[str, float]:
    """A module's constants that an expression may use."""
    return {name: value for name, value in namespace.items() if type(value) in (int, float) and not name.startswith("__")}


def _check_amounts(floor: Floor | None, case: str, namespace: Mapping[str, Any], lines: "_DeclarationLines") -> None:
    if floor is None:
        return
    numbers = numbers_in(namespace)
    for key, text in (("bytes", floor.bytes), ("operations", floor.operations)):
        where = lines.of("floor", key)
        unknown = sorted(names_in(text) - numbers.keys())
        if unknown:
            raise DeclarationError(f"{key}: the module has no number {unknown[0]!r}; {_nearest(unknown[0], numbers)}", where)
        try:
            amount = value_of(text, numbers)
        except ExpressionError as error:
            raise DeclarationError(f"{key} of case {case!r}: {error}", where) from error
        if amount < 0:
            raise DeclarationError(f"{key} of case {case!r} are {amount:g}; give a number of at least 0", where)


def _check_constant(key: str, case: str, name: str, value: object, namespace: Mapping[str, Any], lines: "_DeclarationLines") -> None:
    constants = [each for each, held in namespace.items() if isinstance(held, Plain) and not each.startswith("__")]
    where = lines.of(key, case, name)
    if name not in constants:
        raise DeclarationError(f"case {case!r} sets {name!r}, but the module has no such constant; {_nearest(name, constants)}", where)
    held = namespace[name]
    numbers = type(held) is float and type(value) is int
    if type(value) is not type(held) and not numbers:
        rule = f"case {case!r} sets {name!r} to {value!r}; give a value of type {type(held).__name__}, as the module does"
        raise DeclarationError(rule, where)


def _nearest(name: str, names: Collection[str]) -> str:
    near = nearest(name, names)
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
