"""The reference: in its own dtype for what is expected, in float64 for what is right.

The float64 pass is the costly one: where the problem declares its rows independent it runs in chunks of rows, so that no more than a
chunk of the oracle exists at a time.
"""

import copy
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from operator import itemgetter
from typing import Any

import torch

from evaluator.judge.answer import tensors_of
from evaluator.judge.compare import CHUNK_ELEMENTS, Piece, has_row_scale

WIDE = (torch.float64, torch.float32)
"""Types in which the oracle is tried, widest first; some operators have no float64 form."""


_random = secrets.SystemRandom()


class ReferenceFailedError(Exception):
    """The reference itself failed: no submission is to blame."""


class Oracle:
    """A reference model on the judge's device, and its twin in a wide type."""

    def __init__(self, model: torch.nn.Module, rows_independent: bool) -> None:
        self._model = model
        self._rows_independent = rows_independent
        self._wide: torch.nn.Module | None = None
        self.dtype: torch.dtype | None = None
        """The type that the oracle runs in; None before its first run."""

    def expected(self, inputs: Sequence[Any]) -> Any:
        """What the reference returns, in its own dtype. Raises ReferenceFailedError."""
        try:
            with torch.no_grad():
                return self._model(*inputs)
        except Exception as error:
            raise ReferenceFailedError(f"the reference raised {type(error).__name__}: {error}") from error

    def pieces(
        self,
        inputs: Sequence[Any],
        candidate: Sequence[torch.Tensor],
        reference: Sequence[torch.Tensor],
        nudge: torch.Generator | None = None,
        only: Collection[int] | None = None,
    ) -> Iterator[tuple[int, Piece]]:
        """Pieces of every output, each with the number of its output; with `nudge`, for inputs moved by less than their dtype's rounding;
        with `only`, those that `sample` named.

        `candidate` and `reference` are the outputs' tensors in order. An output that is judged on its rows' own scale comes in chunks of
        rows; any other comes whole. Raises ReferenceFailedError.
        """
        late: dict[int, list[torch.Tensor]] = {}
        for position, (start, chunk) in enumerate(self._chunks(inputs, reference)):
            if only is not None and position not in only:
                continue
            for number, oracle in enumerate(self._run(chunk, nudge)):
                if has_row_scale(reference[number].shape, self._rows_independent):
                    rows = slice(start, start + len(oracle))
                    yield number, Piece(start, candidate[number][rows], reference[number][rows], oracle)
                else:
                    late.setdefault(number, []).append(oracle)
        for number, oracles in late.items():
            oracle = oracles[0] if len(oracles) == 1 else torch.cat(oracles)
            yield number, Piece(0, candidate[number], reference[number], oracle)

    def sample(self, inputs: Sequence[Any], outputs: Sequence[torch.Tensor], most: int) -> Collection[int] | None:
        """No more than so many chunks of rows, drawn anew, for `pieces`; None, for all, where there are no more, or an output's scale is
        that of all its rows."""
        if not all(has_row_scale(output.shape, self._rows_independent) for output in outputs):
            return None
        count = sum(1 for _ in self._chunks(inputs, outputs))
        return None if count <= most else _random.sample(range(count), most)

    def _chunks(self, inputs: Sequence[Any], outputs: Sequence[torch.Tensor]) -> Iterator[tuple[int, list[Any]]]:
        tensors = [tensor for _, tensor in tensors_of(list(inputs))]
        rows = {len(tensor) if tensor.dim() else -1 for tensor in (*tensors, *outputs)}
        if not self._rows_independent or len(rows) != 1 or min(rows) < 1:
            yield 0, list(inputs)
            return
        count = rows.pop()
        step = max(CHUNK_ELEMENTS * count // max(tensor.numel() for tensor in (*tensors, *outputs)), 1)
        for start in range(0, count, step):
            yield start, [_mapped(value, itemgetter(slice(start, start + step))) for value in inputs]

    def _run(self, inputs: Sequence[Any], nudge: torch.Generator | None = None) -> list[torch.Tensor]:
        failure: Exception | None = None
        for dtype in WIDE if self.dtype is None else (self.dtype,):
            model = self._wide if self._wide is not None else copy.deepcopy(self._model).to(dtype)
            try:
                with torch.no_grad():
                    outputs = [tensor for _, tensor in tensors_of(model(*[widened(value, dtype, nudge) for value in inputs]))]
            except torch.OutOfMemoryError:
                raise  # a RuntimeError, but no lack of an operator: what a submission leaves of the memory must not choose the oracle
            except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
                failure = error
                continue
            self._wide, self.dtype = model, dtype
            return outputs
        raise ReferenceFailedError(f"the reference has no wider form: {failure}")


def widened(value: Any, dtype: torch.dtype, nudge: torch.Generator | None = None) -> Any:
    """Floating-point tensors in a wider type, with `nudge` moved by up to half a unit in the last place; everything else as it is."""

    def widen(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        wide = tensor.to(dtype)
        if nudge is None:
            return wide
        moves = torch.rand(wide.shape, dtype=dtype, device=wide.device, generator=nudge).sub_(0.5)
        return moves.mul_(_units(wide, torch.finfo(tensor.dtype).eps)).add_(wide)

    return _mapped(value, widen)


def _units(wide: torch.Tensor, eps: float) -> torch.Tensor:
    """The unit in the last place of each value, in a type with this eps; of zeros, that of the smallest value beside them."""
    exponents = torch.frexp(wide).exponent
    others = exponents[wide != 0]
    exponents = torch.where(wide == 0, others.min() if len(others) else 1, exponents)
    return torch.exp2(exponents.to(wide.dtype)).mul_(eps / 2)


def _mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The nested value with every tensor in it changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(item, change) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [_mapped(item, change) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value
