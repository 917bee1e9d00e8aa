"""The reference in float64, with its roundings: each tensor keeps the dtype that it has in the reference, and its values are float64.

A cast to a narrower type rounds these values; other operators don't. So the reference's operands may be of several types, as always, and
what it rounds on purpose, such as the integers of a quantisation, is rounded here too. An operator that does not take float64 runs in the
reference's own types.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing

from evaluator.worker.nested import mapped, tensors, values_in

CASTS = ("_to_copy", "copy_", "copy")
"""Operators that convert values, and do no arithmetic."""
MISSING = (RuntimeError, NotImplementedError, TypeError, ValueError)
"""What operators raise that do not take a type."""


@dataclass
class Origin:
    """What is known of the values in one piece of memory, however it is viewed."""

    rounded_to: torch.dtype | None = None
    """The narrowest type to which a value on the way here was rounded; None if none was."""


class WideTensor(torch.Tensor):
    """A tensor of some dtype, whose values are held in float64 (complex128)."""

    wide: torch.Tensor
    origin: Origin

    @staticmethod
    def __new__(cls, wide: torch.Tensor, dtype: torch.dtype, origin: Origin | None = None) -> "WideTensor":
        """`wide` as the values of a tensor of this dtype."""
        made: WideTensor = torch.Tensor._make_wrapper_subclass(
            cls, wide.shape, strides=wide.stride(), storage_offset=wide.storage_offset(), dtype=dtype, device=wide.device
        )
        made.wide, made.origin = wide, origin or Origin()
        return made

    @staticmethod
    def of(tensor: torch.Tensor) -> torch.Tensor:
        """A copy of a tensor that is wide if its values may be rounded."""
        if not may_round(tensor.dtype):
            return tensor.clone()
        wide = tensor.detach().to(widest(tensor.dtype))
        return WideTensor(wide.clone() if wide.data_ptr() == tensor.data_ptr() else wide, tensor.dtype)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        """Outside of the mode, too, operators compute wide values."""
        with Wide():
            return func(*args, **(kwargs or {}))


class Wide(TorchDispatchMode):
    """While it is active, operators compute wide values, and wrap what they make."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Spare each judge 3 s, as `OperatorProfile` does."""
        return False

    def __torch_dispatch__(self, function: Any, _types: Any, arguments: Sequence[Any] = (), options: Any = None) -> Any:
        """Call the operator on wide values."""
        call = OperatorCall(function, tuple(arguments), dict(options or {}))
        if torch.Tag.inplace_view in function.tags:  # the wrapper's shape changes with that of its values
            call.run(wide)
            return return_and_correct_aliasing(function, call.arguments, call.options, call.arguments[0])  # type: ignore[no-untyped-call]
        if call.reinterprets or not call.given:
            made = call.run(narrow).made
            return changed(made, lambda value: _wrapped(value, value.dtype, Origin(), call) if is_inexact(value) else value)
        dtypes = iter(call.dtypes())
        results = _run(call)
        rounded_to = narrowest(tensor.origin.rounded_to for tensor in call.given if isinstance(tensor, WideTensor))
        for tensor, value in zip(call.written, results.written, strict=True):
            holds = tensor.wide if isinstance(tensor, WideTensor) else tensor
            if value is not holds:
                holds.copy_(value)
            if isinstance(tensor, WideTensor):
                _settle(tensor.wide, tensor.dtype, tensor.origin, call)
                tensor.origin.rounded_to = narrowest((tensor.origin.rounded_to, rounded_to))
        if call.written:
            return call.returned(results)

        def wrapped(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            dtype = next(dtypes)
            return _wrapped(value, dtype, Origin(rounded_to), call) if may_round(value.dtype) else value

        return changed(results.made, wrapped)


class OperatorCall:
    """One call of an operator, which may be run with its tensors converted."""

    def __init__(self, function: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.function, self.arguments, self.options = function, arguments, options
        self.name: str = function.overloadpacket.__name__
        self.given = [value for value in values_in((arguments, options)) if is_inexact(value)]
        """Its tensors of values that may be rounded."""
        self._written = [self._argument(number, name) for number, name in _written(function)]
        self.written = [value for value in values_in(self._written) if is_inexact(value)]
        """Those that it changes in place."""

    def _argument(self, number: int, name: str) -> Any:
        return self.arguments[number] if number < len(self.arguments) else self.options.get(name)

    @property
    def reinterprets(self) -> bool:
        """Whether it reads the bits of its values as another type."""
        return self.name == "view" and any(isinstance(value, torch.dtype) for value in self.arguments)

    @property
    def is_view(self) -> bool:
        """Whether its results share memory with its arguments."""
        return any(each.alias_info is not None and not each.alias_info.is_write for each in self.function._schema.returns)

    def run(self, convert: Callable[[Any], Any]) -> "Results":
        """Run with its tensors and dtypes converted."""
        converted: dict[int, Any] = {}

        def once(value: Any) -> Any:
            if not isinstance(value, torch.Tensor | torch.dtype):
                return value
            if id(value) not in converted:
                converted[id(value)] = convert(value)
            return converted[id(value)]

        made = self.function(*changed(self.arguments, once), **changed(self.options, once))
        return Results(made, [converted[id(tensor)] for tensor in self.written])

    def returned(self, results: "Results") -> Any:
        """What the call returns that wrote into its arguments: these."""
        if not self.function._schema.returns:
            return results.made
        return self._written[0] if len(self.function._schema.returns) == 1 else tuple(self._written)

    def dtypes(self) -> Iterable[torch.dtype]:
        """The dtypes of its results, in order."""
        given = {tensor.dtype for tensor in self.given}
        asks = [value for value in values_in((self.arguments, self.options)) if isinstance(value, torch.dtype)]
        if len(given) == 1 and not asks:
            (dtype,) = given
            if dtype in (torch.float32, torch.float64):
                return repeat(dtype)
        try:
            made = self.function(*changed(self.arguments, _shape), **changed(self.options, _shape))
        except torch.OutOfMemoryError:
            raise
        except MISSING:
            common = asks[0] if asks else torch.float32
            for number, dtype in enumerate(sorted(given, key=str) if not asks else ()):
                common = torch.promote_types(common, dtype) if number else dtype
            return repeat(common)
        return [value.dtype for value in values_in(made) if isinstance(value, torch.Tensor)]


@dataclass(frozen=True)
class Results:
    """What a call of an operator made of converted tensors."""

    made: Any
    """The returned value."""
    written: list[torch.Tensor]
    """The converted tensors that it changed in place."""


@cache
def _written(function: Any) -> list[tuple[int, str]]:
    """The arguments that an operator changes in place: their numbers and names."""
    arguments = function._schema.arguments
    return [(number, each.name) for number, each in enumerate(arguments) if each.alias_info is not None and each.alias_info.is_write]


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Nested tuples, lists and dicts with all that is in them changed."""
    if isinstance(value, tuple | list):
        return type(value)([changed(each, change) for each in value])
    if isinstance(value, dict):
        return {key: changed(each, change) for key, each in value.items()}
    return change(value)


def may_round(dtype: torch.dtype) -> bool:
    """Whether values of this type may be rounded."""
    return dtype.is_floating_point or dtype.is_complex


def widest(dtype: torch.dtype) -> torch.dtype:
    """The type that holds all values of this one, if they may be rounded."""
    return torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else dtype


def narrowest(dtypes: Iterable[torch.dtype | None]) -> torch.dtype | None:
    """The type with the fewest digits. None stands for no rounding."""
    return max((dtype for dtype in dtypes if dtype is not None), key=lambda dtype: torch.finfo(dtype).eps, default=None)


def wide(value: Any) -> Any:
    """A tensor's values in the widest type, or that type of a dtype."""
    if isinstance(value, WideTensor):
        return value.wide
    if isinstance(value, torch.dtype):
        return widest(value)
    return value.to(widest(value.dtype)) if is_inexact(value) else value


def narrow(value: Any) -> Any:
    """A tensor with its values rounded to its own type."""
    return value.wide.to(value.dtype) if isinstance(value, WideTensor) else value


def _run(call: OperatorCall) -> Results:
    """Run in float64, or in the given types where the operator does not take it."""
    try:
        return call.run(wide)
    except torch.OutOfMemoryError:
        raise  # a RuntimeError, but no missing operator
    except MISSING:
        return call.run(narrow)


def _shape(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return torch.device("meta") if isinstance(value, torch.device) else value


def is_inexact(value: Any) -> bool:
    """Whether it is a tensor of values that may be rounded."""
    return isinstance(value, torch.Tensor) and may_round(value.dtype)


def _wrapped(value: torch.Tensor, dtype: torch.dtype, origin: Origin, call: OperatorCall) -> WideTensor:
    """A result of an operator as a wide tensor of this dtype. A view keeps its base's origin."""
    value = value.to(widest(value.dtype))
    if not may_round(dtype):
        dtype = value.dtype
    if value.is_complex() != dtype.is_complex:
        dtype = dtype.to_complex() if value.is_complex() else dtype.to_real()
    storage = value.untyped_storage().data_ptr()
    for base in call.given:
        if isinstance(base, WideTensor) and storage and base.wide.untyped_storage().data_ptr() == storage:
            return WideTensor(value, dtype, base.origin)
    return WideTensor(_settle(value, dtype, origin, call), dtype, origin)


def _settle(value: torch.Tensor, dtype: torch.dtype, origin: Origin, call: OperatorCall) -> torch.Tensor:
    """Note whether an operator rounds to this narrow type; if it is a cast, round the values."""
    if dtype not in (torch.float32, torch.float64) and dtype.is_floating_point:
        rounded = value.to(dtype).to(value.dtype)
        if not torch.equal(rounded, value):
            origin.rounded_to = narrowest((origin.rounded_to, dtype))
            if call.name in CASTS:
                value.copy_(rounded)
    return value


@dataclass(frozen=True)
class WideOutput:
    """One tensor of a model's output."""

    values: torch.Tensor
    """In float64 or complex128; integers as they are."""
    rounded_to: torch.dtype | None = None
    """The narrowest type to which a value on the way here was rounded."""


class WideModel:
    """A copy of a model that computes wide values."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = copy.deepcopy(model, {id(tensor): WideTensor.of(tensor) for tensor in _held(model)})

    def __call__(self, inputs: Sequence[Any]) -> list[WideOutput]:
        """The output's tensors. The inputs are not changed."""
        given = [mapped(value, WideTensor.of) for value in inputs]
        with sdpa_kernel(SDPBackend.MATH), torch.no_grad(), Wide():
            outputs = tensors(self.model(*given))
        return [WideOutput(wide(each), each.origin.rounded_to if isinstance(each, WideTensor) else None) for each in outputs]


def _held(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    """All tensors that a model holds: parameters, buffers, and plain attributes."""
    for module in model.modules():
        yield from (value for value in values_in(list(vars(module).values())) if isinstance(value, torch.Tensor))
