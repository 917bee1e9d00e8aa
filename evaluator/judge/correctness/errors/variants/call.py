"""Records or replaces the PyTorch functions that a model calls."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from evaluator.worker.nested import mapped

MOST_CALLS = 2000
"""Maximum number of recorded calls. A loop repeats the same ones."""


@dataclass(frozen=True)
class Call:
    """One call of a function."""

    name: str
    """The function's name, such as `gelu`; its in-place form has the same."""
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]

    def value(self, position: int, name: str, default: Any = None) -> Any:
        """An argument, positional or by name."""
        if name in self.options:
            return self.options[name]
        return self.arguments[position] if position < len(self.arguments) else default

    def changed(self, position: int, name: str, value: Any) -> "Call":
        """The call with another value for an argument."""
        if name not in self.options and position < len(self.arguments):
            return replace(self, arguments=(*self.arguments[:position], value, *self.arguments[position + 1 :]))
        return replace(self, options={**self.options, name: value})

    @property
    def first(self) -> Any:
        """The first argument, named `input` in most functions."""
        return self.value(0, "input")

    def run(self) -> Any:
        return self.function(*self.arguments, **self.options)


Swap = Callable[[Call], Any]
"""The replacement of a call."""


class Recorder(TorchFunctionMode):
    """Records calls. Tensors in their arguments are stored without values, on the device `meta`."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_function__(
        self, function: Callable[..., Any], types: Iterable[type], arguments: tuple[Any, ...] = (), options: Mapping[str, Any] | None = None
    ) -> Any:
        call = _call(function, arguments, options)
        if len(self.calls) < MOST_CALLS and not call.name.startswith("__"):
            self.calls.append(replace(call, arguments=mapped(call.arguments, _shape), options=mapped(dict(call.options), _shape)))
        return call.run()


class Substitution(TorchFunctionMode):
    """Replaces the calls of some functions, by their names."""

    def __init__(self, swaps: Mapping[str, Swap]) -> None:
        super().__init__()
        self._swaps = swaps

    def __torch_function__(
        self, function: Callable[..., Any], types: Iterable[type], arguments: tuple[Any, ...] = (), options: Mapping[str, Any] | None = None
    ) -> Any:
        call = _call(function, arguments, options)
        return self._swaps.get(call.name, Call.run)(call)


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], options: Mapping[str, Any] | None) -> Call:
    name = getattr(function, "__name__", "")
    return Call(name if name.startswith("__") else name.rstrip("_"), function, tuple(arguments), dict(options or {}))


def _shape(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")
