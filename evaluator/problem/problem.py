"""A reference problem and its cases: the constants, inputs and model of each.

Importing this module does not import torch; using a problem does.
"""

import ast
import contextlib
import symtable
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import CodeType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from evaluator.problem.declaration import DEFAULT_CASE, SMALL_CASE, Declaration, PrecisionName
from evaluator.problem.execute import OptionError, ProblemError, execute, raised_in_file
from evaluator.problem.input_drawing import apart_from, owners_of, seeded, without_reseeding
from evaluator.problem.stored_inputs import StoredInputError, StoredTensor, same_form, with_stored
from evaluator.problem.workloads import same_sizes
from evaluator.results.nearest import unknown
from evaluator.results.result import ALL_CASES, OWN_PRECISION

if TYPE_CHECKING:
    import torch

    from evaluator.worker.procedure import Procedure


VARYING = "vary_inputs"
"""Optional function of a file: it changes stored inputs in each draw, as by another order, so that a plan kept for them is wrong."""


@dataclass(frozen=True)
class ProblemFacts:
    """Facts about a problem that are known without PyTorch, which its file imports."""

    name: str
    path: Path
    source: str
    sha256: str
    """SHA-256 of the file's bytes, and of those of its files of workloads and inputs, in hexadecimal."""
    case_names: tuple[str, ...]
    """In the order of the declaration, with workloads, without generalisation cases; `all` comes last if there are workloads."""
    precision: str
    """The type that it is judged in, or OWN_PRECISION if its file decides."""

    def default_case(self, device_kind: str) -> str:
        """`small` on the CPU if declared, else `all` if there are workloads, else `full`. device_kind: cuda or cpu."""
        if device_kind == "cpu" and SMALL_CASE in self.case_names:
            return SMALL_CASE
        return ALL_CASES if ALL_CASES in self.case_names else DEFAULT_CASE


@dataclass(frozen=True)
class Problem:
    """One problem, loaded and checked."""

    name: str
    path: Path
    source: str
    sha256: str
    """SHA-256 of the file's bytes, and of those of its files of workloads and inputs, in hexadecimal."""
    declaration: Declaration
    code: CodeType = field(repr=False, compare=False)

    @property
    def case_names(self) -> tuple[str, ...]:
        """As in `ProblemFacts`, without `all`."""
        return (*self.declaration.cases, *self.declaration.workloads)

    @property
    def names(self) -> frozenset[str]:
        """The names that the file defines or imports at module level."""
        symbols = symtable.symtable(self.source, self.path.name, "exec").get_symbols()
        return frozenset(each.get_name() for each in symbols if each.is_assigned() or each.is_imported())

    @property
    def precision(self) -> str:
        """As in `ProblemFacts`."""
        return self.declaration.dtype or OWN_PRECISION

    def in_precision(self, name: "PrecisionName | None") -> "Problem":
        """The problem with floating-point inputs and parameters of this type; unchanged for None.

        The float64 reference is the same function, of inputs that were rounded to the type. Raises OptionError if the file allows only
        others.
        """
        declared = self.declaration
        if name is None or name == declared.dtype:
            return self
        if declared.dtypes and name not in declared.dtypes:
            raise OptionError(self.path, None, f"the problem allows {', '.join(declared.dtypes)}, not {name}")
        return replace(self, declaration=declared.model_copy(update={"dtype": name}))

    @property
    def facts(self) -> ProblemFacts:
        """Its facts, for a process without PyTorch."""
        names = (*self.case_names, *([ALL_CASES] if self.declaration.workloads else []))
        return ProblemFacts(self.name, self.path, self.source, self.sha256, names, self.precision)

    def default_case(self, device_kind: str) -> str:
        """As in `ProblemFacts`."""
        return self.facts.default_case(device_kind)

    def instance(self, case: str) -> "ProblemCase":
        """The problem with that case's constants, in its own module. For `all` this is `full`, in which everything is checked.

        Raises OptionError if there is no such case, and ProblemError if a file of its inputs can't be read.
        """
        shapes = {name: constants for _, name, constants in self.declaration.shapes()}
        if case == ALL_CASES and self.declaration.workloads:
            case = DEFAULT_CASE
        if case not in shapes:
            raise OptionError(self.path, None, unknown("case", case, shapes))
        constants = shapes[case]
        module = execute(self.path, self.code, f"_assay_problem_{self.name}_{case}")
        for name, value in constants.items():
            setattr(module, name, value)
        try:
            stored = {position: each.read() for position, each in self.declaration.stored.get(case, {}).items()}
        except StoredInputError as error:
            raise ProblemError(self.path, None, f"workload {case!r}: {error}") from error
        return ProblemCase(self, case, dict(constants), module, stored)

    def workloads(self) -> "tuple[ProblemCase, ...]":
        """All workloads, that of `full` first, under its own name. Raises ProblemError."""
        held = vars(self.instance(DEFAULT_CASE).module)
        names = sorted(self.declaration.workloads, key=lambda name: not same_sizes(self.declaration.workloads[name], held))
        return tuple(self.instance(name) for name in names)

    def executed(self, tree: ast.Module, name: str) -> ModuleType:
        """A module that executes `tree`, which keeps the file's lines. Raises ProblemError."""
        return execute(self.path, compile(tree, str(self.path), "exec", dont_inherit=True), f"_assay_problem_{self.name}_{name}")


@dataclass(frozen=True)
class ProblemCase:
    """A problem in one set of shapes. Draws depend on their seed alone, and leave every generator unchanged."""

    problem: Problem
    name: str
    constants: dict[str, Any]
    """Module-level constants that the case sets after the file has been executed."""
    module: ModuleType = field(repr=False, compare=False)
    stored: Mapping[int, StoredTensor] = field(default_factory=dict, repr=False, compare=False)
    """Arguments that files give, by their positions."""

    @property
    def settings(self) -> dict[str, Any]:
        """All constants that any case sets, as they are in this one."""
        names = dict.fromkeys(name for _, _, constants in self._declared.shapes() for name in constants)
        return {name: getattr(self.module, name) for name in names}

    @property
    def rows_independent(self) -> bool:
        """Whether row i of every output depends only on row i of every input tensor."""
        return self.problem.declaration.rows_independent

    @property
    def any_inputs(self) -> bool:
        """Whether the problem declares that an answer must be right for any inputs."""
        return self.problem.declaration.inputs == "any"

    @property
    def varies_stored(self) -> bool:
        """Whether the problem changes the arguments that files give, in each draw."""
        return bool(self.stored) and hasattr(self.module, VARYING)

    @property
    def in_place(self) -> tuple[int, ...]:
        """Positions of the arguments that a call changes."""
        return self._declared.in_place

    @property
    def dtype_name(self) -> str | None:
        """Type that floating-point inputs and parameters are cast to, such as `float16`; None if they are not cast."""
        return self.problem.declaration.dtype

    @cached_property
    def dtype(self) -> "torch.dtype | None":
        """The type of that name."""
        import torch

        found = getattr(torch, self.dtype_name) if self.dtype_name else None
        return found if isinstance(found, torch.dtype) else None

    def init_inputs(self, seed: int) -> list[Any]:
        """Arguments of Model and ModelNew, on the CPU. Raises ProblemError."""
        with seeded(seed, "cpu"):
            return self._arguments("get_init_inputs", "cpu")

    def inputs(self, seed: int, device: "torch.device | str", *, with_files: bool = True) -> list[Any]:
        """Arguments of forward, drawn on `device` itself, floating-point tensors in the declared dtype.

        Those that files give are the same for every seed, unless the problem varies them; without files, they are drawn like others. For a
        problem with a backward pass, the last is a list of output gradients. Raises ProblemError, and torch's error if the device's memory
        runs out.
        """
        import torch

        answers = self._answers if self._declared.backward else None
        with seeded(seed, device):
            with without_reseeding():
                arguments = self._arguments("get_inputs", device, self.stored if with_files else {})
            if answers is None:
                return arguments
            return [*arguments, [torch.randn(shape, dtype=dtype, device=device) for shape, dtype in answers]]

    def drawn_model(self, seed: int) -> "torch.nn.Module | None":
        """The result of `model` before it moves to a device; None if a first call draws parameters, which is better done there."""
        model = self._constructed(seed, "cpu")
        if _is_lazy(model):
            return None
        return _following(model.to(self.dtype) if self.dtype else model, self.procedure_of(model))

    def _constructed(self, seed: int, device: "torch.device | str") -> "torch.nn.Module":
        arguments = self.init_inputs(seed)
        with seeded(seed, device):
            model: torch.nn.Module = self._call("Model", *arguments)
        return model

    @cached_property
    def on_meta(self) -> "torch.nn.Module | None":
        """The reference on the device `meta`, without values; None if it can't be constructed there."""
        try:
            return self.model(0, "meta")
        except Exception:  # noqa: BLE001 - it may be constructed elsewhere
            return None

    @cached_property
    def is_drawn_anywhere(self) -> bool:
        """Whether any device may draw the reference: a submission is given all of its tensors. Others it draws by the seed, on the CPU."""
        return self.on_meta is not None and not any(map(_keeps_others, self.on_meta.modules()))

    def model(self, seed: int, device: "torch.device | str" = "cpu", *, anywhere: bool = False) -> "torch.nn.Module":
        """The reference, with parameters drawn from `seed`, in the declared mode and dtype, on `device`; its call follows the problem's
        procedure. anywhere: if `is_drawn_anywhere`, the device draws it: a CPU takes seconds for a billion parameters.

        Raises ProblemError, and torch's error if the device's memory runs out.
        """
        import torch

        target = torch.device(device)
        # Drawn on the CPU, so that a seed gives the same parameters everywhere; a meta device draws none.
        model = None
        if target.type == "meta":
            model = self._constructed(seed, "meta")
        elif anywhere and target.type != "cpu" and self.is_drawn_anywhere:
            with contextlib.suppress(ProblemError, torch.OutOfMemoryError):  # its file may mix devices, or draw wider values first
                model = self._constructed(seed, target)
        if model is None:
            model = self._constructed(seed, "cpu")
        placed = model.to(target, self.dtype) if self.dtype else model.to(target)
        if _is_lazy(placed):
            with seeded(seed, target), torch.no_grad():
                placed.eval()(*self._arguments("get_inputs", target))  # a first call draws the parameters that had no shape until now
        return _following(placed, self.procedure_of(placed))

    def procedure_of(self, model: "torch.nn.Module") -> "Procedure":
        """How to call the reference, `model`, and a submission."""
        from evaluator.worker.procedure import Procedure, has_batch_statistics

        mode, names = self._declared.mode, None
        if self._declared.backward:
            names = tuple(name for name, parameter in model.named_parameters() if parameter.requires_grad)
        return Procedure(mode == "train" or (mode is None and has_batch_statistics(model)), self._declared.in_place, names)

    @property
    def _declared(self) -> Declaration:
        return self.problem.declaration

    @cached_property
    def _answers(self) -> "list[tuple[torch.Size, torch.dtype]]":
        """Shape and type of each floating-point tensor that forward() returns."""
        import torch

        from evaluator.worker.nested import tensors

        for device in ("meta", "cpu"):  # if a form needs memory, compute it once
            with seeded(0, device):
                model, arguments = self.model(0, device), self._arguments("get_inputs", device)
            try:
                with torch.no_grad():
                    output = type(model).forward(model, *arguments)
            # Any exception of the file's own code is reported as the file's, with its line.
            except Exception as error:
                if device == "cpu":
                    raise raised_in_file(self.problem.path, "forward()", error) from error
                continue
            break
        return [(each.shape, each.dtype) for each in tensors(output) if each.is_floating_point()]

    def _arguments(self, function: str, device: "torch.device | str", stored: Mapping[int, StoredTensor] | None = None) -> list[Any]:
        drawn = self._listed(function)
        if stored:
            try:
                drawn = self._with_files(drawn, stored, varies=self.varies_stored and str(device) != "meta")
            except StoredInputError as error:
                raise ProblemError(self.problem.path, None, f"workload {self.name!r}: {error}") from error
        self._require_data(function, drawn)
        owners = owners_of(drawn)
        arguments = [self._placed(value, device) for value in drawn]
        del drawn
        return apart_from(owners, arguments)

    def _with_files(self, drawn: Sequence[Any], stored: Mapping[int, StoredTensor], *, varies: bool) -> Sequence[Any]:
        arguments = with_stored(drawn, stored, self.dtype)
        if not varies:
            return arguments
        own = [each.to(drawn[position].device, copy=True) if position in stored else each for position, each in enumerate(arguments)]
        return same_form(self._listed(VARYING, *own), arguments, VARYING)

    def _listed(self, function: str, *arguments: Any) -> Sequence[Any]:
        returned = self._call(function, *arguments)
        if not isinstance(returned, list | tuple):
            rule = f"{function}() returned a {type(returned).__name__}; return a list of arguments"
            raise ProblemError(self.problem.path, self._line(function), rule)
        return returned

    def _require_data(self, function: str, arguments: Sequence[Any]) -> None:
        """Raises ProblemError for an argument that a submission, in another process, would not receive as it is."""
        from evaluator.worker.arguments import unfit

        for position, value in enumerate(arguments):
            if found := unfit(value):
                path, reason = found
                raise ProblemError(self.problem.path, self._line(function), f"{function}(): argument {position}{path} is {reason}")

    def _placed(self, value: Any, device: "torch.device | str") -> Any:
        from evaluator.worker.nested import mapped

        def placed(tensor: "torch.Tensor") -> "torch.Tensor":
            is_cast = tensor.is_floating_point() and tensor.itemsize > 1  # eight-bit codes are not cast
            return tensor.detach().to(device, self.dtype if self.dtype and is_cast else tensor.dtype)

        return mapped(value, placed)

    def _call(self, function: str, *arguments: Any) -> Any:
        import torch

        called: Callable[..., Any] = getattr(self.module, function)
        try:
            return called(*arguments)
        except (torch.OutOfMemoryError, MemoryError):
            raise
        # Any exception of the file's own code is reported as the file's, with its line.
        except Exception as error:
            raise raised_in_file(self.problem.path, f"{function}()", error) from error

    def _line(self, function: str) -> int | None:
        code = getattr(getattr(self.module, function), "__code__", None)
        return code.co_firstlineno if isinstance(code, CodeType) else None


def _keeps_others(module: "torch.nn.Module") -> bool:
    """Whether it has tensors that are neither parameters nor buffers in its state."""
    from evaluator.worker.nested import tensors

    own = {name: value for name, value in vars(module).items() if name not in ("_parameters", "_buffers", "_modules")}
    return bool(module._non_persistent_buffers_set) or _is_lazy(module) or any(True for _ in tensors(own))


def _is_lazy(model: "torch.nn.Module") -> bool:
    """Whether it has parameters or buffers that get their shape in a first call."""
    from torch.nn.parameter import is_lazy

    return any(map(is_lazy, (*model.parameters(), *model.buffers())))


def _following(model: "torch.nn.Module", procedure: "Procedure") -> "torch.nn.Module":
    """The model with the procedure's mode and call, and with its sparse outputs written out."""
    from evaluator.worker.nested import mapped

    procedure.prepare(model)
    model.register_forward_hook(lambda _model, _arguments, output: mapped(output, _readable))
    if procedure.in_place or procedure.backward is not None:
        # Bound to the instance, so that a copy's is bound to the copy, and parameter names don't change.
        model.forward = MethodType(_Followed(procedure), model)
    return model


def _readable(tensor: "torch.Tensor") -> "torch.Tensor":
    """A tensor of the reference's output; all values of a sparse one. Raises TypeError for a layout that the judge does not compare."""
    from evaluator.worker.memory import dense, foreign_layout

    if layout := foreign_layout(tensor):
        raise TypeError(f"forward() returns a tensor of the layout {layout}; return a dense or a sparse one")
    return dense(tensor)


@dataclass(frozen=True)
class _Followed:
    """forward() of a model that a procedure calls; its inputs don't change."""

    procedure: "Procedure"

    def __call__(self, model: "torch.nn.Module", *values: Any) -> Any:
        forward = MethodType(type(model).forward, model)
        return self.procedure.call(forward, dict(model.named_parameters()), self.procedure.spared(values))
