"""How to call a model beyond forward(): in training mode, with arguments that it changes, or with a backward pass.

Both sides use it: the judge for the reference, a worker for the submission.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from evaluator.worker.memory import dense, foreign_layout, written_out
from evaluator.worker.nested import mapped, tensors

Json = Any


@dataclass(frozen=True)
class Procedure:
    """A problem's declaration of its calls."""

    train: bool = False
    """Training mode; random operations such as dropout stay in evaluation mode, since they have no single right output."""
    in_place: tuple[int, ...] = ()
    """Positions of the arguments that a call changes, and that are part of the output."""
    backward: tuple[str, ...] | None = None
    """Names of the parameters whose gradients are part of the output, as are those of all floating-point inputs; None without a backward
    pass."""

    def encode(self) -> Json:
        """The JSON form for a worker."""
        return {"train": self.train, "in_place": list(self.in_place), "backward": None if self.backward is None else list(self.backward)}

    @classmethod
    def decode(cls, value: Json) -> "Procedure":
        """The reverse; for None, the procedure of a plain call."""
        if value is None:
            return cls()
        names = value["backward"]
        return cls(bool(value["train"]), tuple(value["in_place"]), None if names is None else tuple(names))

    def prepare(self, model: torch.nn.Module) -> torch.nn.Module:
        """The model in the mode of its calls."""
        model.train(self.train)
        for module in model.modules():
            if isinstance(module, _DropoutNd | nn.RReLU) or (isinstance(module, nn.RNNBase | nn.MultiheadAttention) and module.dropout > 0):
                module.eval()
        return model

    def call(self, forward: Callable[..., Any], parameters: Mapping[str, torch.Tensor], values: Sequence[Any]) -> Any:
        """The output for `values`: what forward() returns, or a dict with that and the arguments that it changed, or the gradients.

        With a backward pass, the last of `values` is a list of output gradients, one for each floating-point tensor of forward()'s output.
        Raises ValueError if the output has no gradient. An output of another form comes without gradients.
        """
        if self.backward is not None:
            return self._with_gradients(forward, parameters, values)
        if self.in_place:
            return {"output": forward(*values), "changed": [values[position] for position in self.in_place]}
        return forward(*values)

    def spared(self, values: Sequence[Any]) -> list[Any]:
        """The arguments, with copies of those that a call changes."""
        return [copied(value) if position in self.in_place else value for position, value in enumerate(values)]

    def _with_gradients(self, forward: Callable[..., Any], parameters: Mapping[str, torch.Tensor], values: Sequence[Any]) -> Any:
        *arguments, directions = values
        with torch.enable_grad():
            leaves: list[torch.Tensor] = []
            output = mapped(forward(*[_leaf(value, leaves) for value in arguments]), dense)
            floating = [tensor for tensor in tensors(output) if tensor.is_floating_point() and not foreign_layout(tensor)]
            plain = mapped(output, torch.Tensor.detach)
            if [tensor.shape for tensor in floating] != [direction.shape for direction in directions]:
                return {"output": plain, "inputs": None, "parameters": None}
            pairs = [(tensor, direction) for tensor, direction in zip(floating, directions, strict=True) if tensor.requires_grad]
            if not pairs:
                raise ValueError("the output has no gradient: forward() needs a torch.autograd.Function with a backward()")
            named = {name: parameters[name] for name in self.backward or () if name in parameters}
            wanted = [*leaves, *named.values()]
            found = torch.autograd.grad([tensor for tensor, _ in pairs], wanted, [one for _, one in pairs], allow_unused=True)
        gradients = [torch.zeros_like(each) if gradient is None else gradient for each, gradient in zip(wanted, found, strict=True)]
        of_parameters = dict(zip(named, gradients[len(leaves) :], strict=True))
        return {
            "output": plain,
            "inputs": gradients[: len(leaves)],
            "parameters": {name: of_parameters.get(name) for name in self.backward or ()},
        }


PLAIN = Procedure()


def has_batch_statistics(model: nn.Module) -> bool:
    """Whether the model has a normalization that uses the batch's statistics in training mode, and others in evaluation."""
    return any(isinstance(module, _NormBase) and module.track_running_stats for module in model.modules())


def copied(value: Any) -> Any:
    """The nested value with a copy of every tensor in it."""
    return mapped(value, torch.Tensor.clone)


def written(value: Any) -> Any:
    """The nested value with every tensor written out (`evaluator.worker.memory.written_out`)."""
    return mapped(value, written_out)


def _leaf(value: Any, leaves: list[torch.Tensor]) -> Any:
    """The value with every floating-point tensor replaced by a leaf that requires a gradient; each leaf is added to `leaves`."""

    def leaf(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        leaves.append(tensor.detach().requires_grad_())
        return leaves[-1]

    return mapped(value, leaf)
