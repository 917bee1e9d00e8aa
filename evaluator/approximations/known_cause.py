"""Finds what a wrong answer equals: the reference with a known approximation, with another constant, or with a common mistake.

The finding is shown beside a verdict and decides nothing.
"""

import logging
import math
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import torch

from evaluator.approximations import activations, ends, products, rounding, statistics
from evaluator.judge.correctness.errors.similarity import FactorFit
from evaluator.judge.correctness.errors.variants.overflows import overflows
from evaluator.judge.correctness.errors.variants.search import Family, Search, chunks, distance_of
from evaluator.worker.nested import tensors

MOST_ELEMENTS = 1 << 26
"""Maximum number of elements of all outputs. For more, nothing is tried."""
MOST_INPUT_ELEMENTS = 1 << 27
LEAST_ELEMENTS = 8
"""Minimum number of elements of an output that is compared with near variants: fewer may equal one by chance."""
SMALL_ERROR = 1e-2
"""Up to this largest error the families of small differences are tried first."""

SMALL: tuple[Family, ...] = (
    *(activations.gelu_forms, statistics.variances, statistics.epsilons),
    *(overflows, rounding.narrow_products, rounding.exponentials, rounding.narrow_inputs, ends.left_out),
)
"""Families whose variants mostly differ little from the right answer."""
LARGE: tuple[Family, ...] = (
    *(statistics.batch_statistics, statistics.sums_and_means, products.attention, statistics.other_dimensions),
    *(activations.left_out, products.without_bias, statistics.without_affine, activations.other_formulas),
    *(products.operands, products.borders, activations.constants_left_out),
)

log = logging.getLogger(__name__)


def known_cause(
    oracle_model: torch.nn.Module, inputs: Sequence[Any], candidate: Sequence[torch.Tensor], number: int, tolerance: float
) -> str:
    """What output `number` of a wrong answer equals, with the largest relative error, such as `the reference with GELU's tanh
    approximation, to 2e-07`; empty if unknown.

    `oracle_model` and floating-point inputs are in float64, or in the oracle's dtype. `candidate` holds the outputs' tensors, and
    `tolerance` is this output's. Neither the model nor the inputs are changed. Never raises: without memory, for example, the result is
    empty.
    """
    try:
        wrong = candidate[number]
        sizes = [sum(tensor.numel() for tensor in tensors(list(values))) for values in (candidate, inputs)]
        if not wrong.is_floating_point() or not wrong.numel() or sizes[0] > MOST_ELEMENTS or sizes[1] > MOST_INPUT_ELEMENTS:
            return ""
        if wrong.numel() > 1 and bool((wrong == wrong.flatten()[0]).all()):
            return ""  # many formulas end in the same constant
        with torch.no_grad():
            search = Search(oracle_model, inputs, wrong, number, tolerance)
            small = SMALL if wrong.numel() >= LEAST_ELEMENTS else ()
            return search.equal((*small, *LARGE) if search.distance.largest <= SMALL_ERROR else (*LARGE, *small)) or _factor(search)
    except Exception as error:  # noqa: BLE001 - such as a reference whose casts fit no variant; the verdict stands without it
        log.info("what a wrong output equals is left empty: %s: %s", type(error).__name__, error)
        return ""
    finally:
        if candidate and candidate[0].is_cuda:
            torch.cuda.empty_cache()  # the worker has more to do


def _factor(search: Search) -> str:
    """A description of the output as the right one times a number that follows from a size; empty if it is not."""
    fit = FactorFit()
    for wrong, oracle in chunks(search.wrong, search.oracle):
        fit.add(wrong.double(), oracle.double())
    factor = fit.factor
    if factor is None or not search.is_equal(distance := distance_of(search.wrong, search.oracle * factor)):
        return ""
    forms = list(dict.fromkeys(_forms(search, factor)))
    if not forms:
        return ""
    return f"the right answer times {factor:.6g}, which is {' or '.join(forms[:2])} (a wrong scale?), {distance}"


def _forms(search: Search, factor: float) -> Iterator[str]:
    """The factor as a size of a tensor, its root, their inverses, and n/(n - 1)."""
    shapes = [tensor.shape for tensor in chain(tensors(search.inputs), search.model.parameters(), [search.wrong])]
    sizes = {size for shape in shapes for size in shape} | {shape[start:].numel() for shape in shapes for start in range(len(shape))}
    window = 1e-5 + 1e-2 * search.tolerance
    for size in sorted(size for size in sizes if size > 2):
        forms = {
            f"{size}": size,
            f"1/{size}": 1 / size,
            f"{size}/{size - 1}": size / (size - 1),
            f"{size - 1}/{size}": (size - 1) / size,
        }
        if size > 8:
            forms |= {f"√{size}": math.sqrt(size), f"1/√{size}": 1 / math.sqrt(size)}
        forms |= {f"√({text})": math.sqrt(value) for text, value in list(forms.items())[2:4]}
        yield from (text for text, value in forms.items() if abs(factor - value) <= min(window * value, 1e-2 * abs(value - 1)))
