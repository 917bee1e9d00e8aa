"""Changes random inputs for the rounds.

`signs` and `scaled` only multiply: zeros, triangles, masks and padding stay, so a submission must be right for these inputs too. The others
may break assumptions of the problem's author. They decide only if the problem declares `"inputs": "any"`: `shifted` finds a kernel that
does not subtract the softmax's maximum, `wide` an accumulator in half precision. Integers are never changed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from evaluator.judge.correctness.inputs.input_structure import FLOAT8, InputStructure, Kind, Relation
from evaluator.results.distributions import SCALED
from evaluator.worker.nested import tensors, with_tensors

Change = Callable[[torch.Tensor, torch.Generator], None]
"""Changes a floating-point tensor in place."""
CHANGED_TYPES = (*FLOAT8, torch.float16, torch.bfloat16, torch.float32, torch.float64)


@contextmanager
def computable(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The tensor, to be changed in place; or its values in float32 if PyTorch does not compute in its type. They are rounded afterwards,
    and what is beyond its largest number becomes that."""
    if tensor.dtype not in FLOAT8:
        yield tensor
        return
    values, largest = tensor.float(), torch.finfo(tensor.dtype).max
    yield values
    tensor.copy_(values.clamp_(-largest, largest))


def _random_signs(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.empty_like(tensor).bernoulli_(0.5, generator=generator).mul_(2).sub_(1)


def _factors(tensor: torch.Tensor, generator: torch.Generator, count: int, octaves: float) -> torch.Tensor:
    return torch.empty(count, dtype=tensor.dtype, device=tensor.device).uniform_(-octaves, octaves, generator=generator).exp2_()


def _signs(tensor: torch.Tensor, generator: torch.Generator) -> None:
    tensor.mul_(_random_signs(tensor, generator))


def _scaled_rows(tensor: torch.Tensor, generator: torch.Generator) -> None:
    """Multiply each index of dimension 0 by 2**U(-2, 2)."""
    tensor.mul_(_factors(tensor, generator, len(tensor), 2.0).view(-1, *[1] * (tensor.dim() - 1)))


def _scaled(tensor: torch.Tensor, generator: torch.Generator) -> None:
    _signs(tensor, generator)
    _scaled_rows(tensor, generator)


def _scaled_lines(tensor: torch.Tensor, generator: torch.Generator) -> None:
    """Multiply each row by one number. A vector counts as one row."""
    if tensor.dim() > 1:
        _scaled_rows(tensor, generator)
    else:
        tensor.mul_(_factors(tensor, generator, 1, 2.0))


def _multiply_from_both_sides(tensor: torch.Tensor, diagonal: torch.Tensor) -> None:
    # The product of the two factors comes first: it is the same for (i, j) and (j, i), to the last bit.
    tensor.mul_(diagonal[..., :, None] * diagonal[..., None, :])


def _diagonal_signs(tensor: torch.Tensor, generator: torch.Generator) -> None:
    _multiply_from_both_sides(tensor, _random_signs(tensor[..., 0], generator))


def _diagonal_factors(tensor: torch.Tensor, generator: torch.Generator) -> None:
    diagonal = _random_signs(tensor[..., 0], generator)
    diagonal.mul_(_factors(tensor, generator, diagonal.shape[-1], 1.0))
    _multiply_from_both_sides(tensor, diagonal)


def _wide(tensor: torch.Tensor, generator: torch.Generator) -> None:
    # Six decades in float32; float16 ends at 65504, and products of two such inputs have to stay below that.
    low, high = (-2.0, 0.5) if tensor.dtype == torch.float16 else (-4.0, 2.0)
    exponent = torch.empty_like(tensor).uniform_(low, high, generator=generator)
    tensor.mul_(torch.pow(10.0, exponent, out=exponent))


def _ties(tensor: torch.Tensor, _generator: torch.Generator) -> None:
    tensor.mul_(4).round_().div_(4)


def _shifted(tensor: torch.Tensor, _generator: torch.Generator) -> None:
    # exp(100) overflows float32, exp(12) float16.
    tensor.add_(12.0 if tensor.dtype == torch.float16 else 100.0)


SPIKE = 64.0


def _special(tensor: torch.Tensor, _generator: torch.Generator) -> None:
    """Make one of every eight rows zero, one constant, one ascending, and give one a single large element."""
    if tensor.dim() < 2 or tensor.numel() == 0:
        return
    rows = tensor.view(len(tensor), -1)
    rows[0::8] = 0.0
    rows[1::8] = 0.5
    rows[2::8] = torch.linspace(0.0, 1.0, rows.shape[1], dtype=tensor.dtype, device=tensor.device)
    rows[3::8, rows.shape[1] // 3] = SPIKE


CHANGES: Mapping[str, Mapping[Kind, Change]] = {
    "signs": {Kind.FREE: _signs, Kind.SYMMETRIC: _diagonal_signs},
    SCALED: {Kind.FREE: _scaled, Kind.POSITIVE: _scaled_rows, Kind.SORTED: _scaled_lines, Kind.SYMMETRIC: _diagonal_factors},
    "wide": {Kind.FREE: _wide, Kind.POSITIVE: _wide},
    "ties": {Kind.FREE: _ties},
    "shifted": {Kind.FREE: _shifted, Kind.POSITIVE: _shifted, Kind.SORTED: _shifted},
    "special": {Kind.FREE: _special},
}
"""The change for each kind of input. Other kinds are not changed. Where sorted inputs may be, inputs that are ordered may be, together."""


def changes_anything(name: str, structure: InputStructure) -> bool:
    """Whether distribution `name` changes any of these inputs."""
    return any(change is not None for change in _changes(name, structure))


def changed(arguments: Sequence[Any], name: str, seed: int, structure: InputStructure | None = None) -> list[Any]:
    """Change arguments to distribution `name`, their tensors in place if possible.

    Without a `structure` every floating-point tensor is changed element by element.
    """
    given = tensors(list(arguments))
    structure = structure or InputStructure((Kind.FREE,) * len(given))
    leaders = {tie.of: tie for tie in structure.ties}
    for number, change in enumerate(_changes(name, structure)):
        if change is None or given[number].dtype not in CHANGED_TYPES:
            continue
        tie = leaders.get(number)
        tensor = given[number] = given[number].contiguous()
        if tie is None or tie.relation is Relation.ORDERED:
            first = number if tie is None else tie.to  # ordered inputs are multiplied by the same numbers
            with computable(tensor) as values:
                change(values, torch.Generator(tensor.device).manual_seed(seed + first))
        else:
            with computable(tensor) as values:
                values.copy_(given[tie.to] if tie.relation is Relation.EQUAL else given[tie.to].mT)
    return list(with_tensors(list(arguments), given))


def _changes(name: str, structure: InputStructure) -> list[Change | None]:
    """The change for each input."""
    changes = CHANGES.get(name, {})
    ordered = {number for tie in structure.ties if tie.relation is Relation.ORDERED for number in (tie.of, tie.to)}
    return [
        changes.get(Kind.SORTED if number in ordered and kind is not Kind.FIXED else kind) for number, kind in enumerate(structure.kinds)
    ]
