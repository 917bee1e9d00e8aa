"""Matches a submission's parameters and buffers with the reference's, which were drawn from the same seed.

A submission that makes the same layers in the same order has drawn the same values, under any names. Any other needs the reference's
values, which are copied by name and shape, and converted if its dtype is another. A value equal to a reference tensor of another name is
kept: the submission has renamed its layers. If values are only permuted among the same names, it made the same layers in another order,
and names count.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch.nn.parameter import UninitializedTensorMixin  # type: ignore[attr-defined]


@dataclass
class Agreement:
    """The result of matching. Displayed names are followed by the shape."""

    changed: bool = False
    """Whether a value that differed was overwritten."""
    kept: list[str] = field(default_factory=list)
    """Tensors that equal one of another name, and were kept."""
    converted: list[str] = field(default_factory=list)
    """Tensors with the reference's values in another dtype, followed by both dtypes."""
    unmatched: list[str] = field(default_factory=list)
    """The submission's parameters without a counterpart by name or values."""
    missing: list[str] = field(default_factory=list)
    """The reference's tensors without a counterpart by name or values."""


def agree(model: torch.nn.Module, given: Mapping[str, torch.Tensor], *, copies: bool) -> Agreement:
    """Match the model's tensors with the reference's, `given`; with `copies`, overwrite those that differ."""
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
            if fits and there is not None and _equal(value, there):
                held.add(name)
                _note_dtype(found, name, value, there)
            elif name in moved and not (fits and _in_circle(name, moved)):
                held.add(moved[name])
                found.kept.append(_shown(name, value))
            elif fits and there is not None:
                held.add(name)
                if copies:
                    value.copy_(there)
                    found.changed = True
                    _note_dtype(found, name, value, there)
            elif name in parameters and not _is_constant(value):
                found.unmatched.append(_shown(name, value))
        found.missing = [_shown(name, value) for name, value in given.items() if name not in held and not _is_constant(value)]
    return found


def _moved_from(name: str, value: torch.Tensor, given: Mapping[str, torch.Tensor]) -> str | None:
    """The reference tensor of another name with these values; None if that of the same name has them."""
    if isinstance(value, UninitializedTensorMixin):
        return None
    there = given.get(name)
    return None if there is not None and _equal(value, there) else _equal_to(value, given)


def _equal(value: torch.Tensor, there: torch.Tensor) -> bool:
    """Whether `value` is what `copy_` would make of `there`. PyTorch compares no FP8 with another dtype."""
    return torch.equal(value, there.to(value.dtype))


def _note_dtype(found: Agreement, name: str, value: torch.Tensor, there: torch.Tensor) -> None:
    if value.dtype != there.dtype:
        dtypes = f"{there.dtype} to {value.dtype}".replace("torch.", "")
        found.converted.append(f"{_shown(name, value)}: {dtypes}")


def _in_circle(name: str, moved: Mapping[str, str]) -> bool:
    """Whether following the names of equal values leads back to this name."""
    passed, at = {name}, moved[name]
    while at in moved and at not in passed:
        passed.add(at)
        at = moved[at]
    return at == name


def _equal_to(value: torch.Tensor, given: Mapping[str, torch.Tensor]) -> str | None:
    """The reference tensor with these values, perhaps reshaped or transposed. Constants don't count."""
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
