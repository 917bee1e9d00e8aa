"""A submission's parameters and buffers beside the reference's, which were drawn from the same seed.

A submission that makes the same layers in the same order has drawn the same values, whatever it calls them. One that makes them otherwise
needs the reference's, which are copied by name and shape. A value that it drew equal to a tensor of another name stays as it is: it has
moved its layers. Where values have only changed places among the same names, it has made the same layers in another order, and names count.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]


@dataclass
class Agreement:
    """How a submission's tensors and the reference's agreed. Names that are shown have the shape behind them."""

    changed: bool = False
    """Whether a value that had been drawn otherwise was overwritten."""
    kept: list[str] = field(default_factory=list)
    """Drawn equal to a tensor of another name, and left so."""
    unmatched: list[str] = field(default_factory=list)
    """Parameters of the submission that have neither name nor values of one of the reference's."""
    missing: list[str] = field(default_factory=list)
    """The reference's that the submission has neither by name nor by values."""


def agree(model: torch.nn.Module, given: Mapping[str, torch.Tensor], *, copies: bool) -> Agreement:
    """Hold the model's tensors against those of the reference, `given`, and copy them where `copies` and they don't agree otherwise."""
    own = {name: value for name, value in model.state_dict().items() if isinstance(value, torch.Tensor)}
    found, held = Agreement(), set[str]()
    parameters = {name for name, _ in model.named_parameters()}
    with torch.no_grad():
        moved = {name: other for name, value in own.items() if (other := _moved_from(name, value, given)) is not None}
        for name, value in own.items():
            there = given.get(name)
            if isinstance(value, UninitializedTensorMixin):
                if there is None or not copies:
                    continue
                value.materialize(there.shape)
            fits = there is not None and there.shape == value.shape
            if fits and there is not None and torch.equal(value, there):
                held.add(name)
            elif name in moved and not (fits and _in_circle(name, moved)):
                held.add(moved[name])
                found.kept.append(_shown(name, value))
            elif fits and there is not None:
                held.add(name)
                if copies:
                    value.copy_(there)
                    found.changed = True
            elif name in parameters and not _is_constant(value):
                found.unmatched.append(_shown(name, value))
        found.missing = [_shown(name, value) for name, value in given.items() if name not in held and not _is_constant(value)]
    return found


def _moved_from(name: str, value: torch.Tensor, given: Mapping[str, torch.Tensor]) -> str | None:
    """The tensor of another name that has these values; None where that of the same name has them."""
    if isinstance(value, UninitializedTensorMixin):
        return None
    there = given.get(name)
    return None if there is not None and torch.equal(value, there) else _equal_to(value, given)


def _in_circle(name: str, moved: Mapping[str, str]) -> bool:
    """Whether it has the values of a name that has those of another, and so on up to this one."""
    passed, at = {name}, moved[name]
    while at in moved and at not in passed:
        passed.add(at)
        at = moved[at]
    return at == name


def _equal_to(value: torch.Tensor, given: Mapping[str, torch.Tensor]) -> str | None:
    """The tensor of the reference that has these values, perhaps in another shape or transposed. Constants say nothing."""
    if _is_constant(value):
        return None
    for name, other in given.items():
        if other.numel() != value.numel() or other.dtype != value.dtype:
            continue
        if torch.equal(other.reshape(-1), value.reshape(-1)) or (
            other.dim() == 2 and torch.equal(other.t().reshape(-1), value.reshape(-1))
        ):
            return name
    return None


def _is_constant(value: torch.Tensor) -> bool:
    return value.numel() < 2 or bool((value == value.reshape(-1)[0]).all())


def _shown(name: str, value: torch.Tensor) -> str:
    return f"{name} ({', '.join(map(str, value.shape))})"
