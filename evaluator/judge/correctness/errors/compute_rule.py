"""Problems that must be computed in FP8: the disguises of wider arithmetic, and which of them a wrong answer equals.

The reference of such a problem rounds to float8. So the values of an answer show whether it rounds too: without the rounding it is nearer
to the reference without it. Products of FP8 numbers are exact in wider types, so the values don't reveal a kernel that multiplies the FP8
numbers in bfloat16 and scales their sums. A kernel that first converts FP8 numbers and scales to bfloat16 rounds once more.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.judge import limits
from evaluator.judge.correctness.errors.variants.call import Call, Recorder, Substitution, Swap
from evaluator.judge.correctness.errors.variants.swaps import PRODUCTS, of_rounded, to_type
from evaluator.judge.correctness.output_scale import rms
from evaluator.worker.nested import tensors

FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)


def _is_rounding(call: Call) -> bool:
    return any(value in FLOAT8 for value in (*call.arguments, *call.options.values()) if isinstance(value, torch.dtype))


def _unrounded(call: Call) -> Any:
    return call.first if _is_rounding(call) else call.run()


@dataclass(frozen=True)
class Disguise:
    """A way to compute the answer without FP8."""

    what: str
    """It follows `the reference with`."""
    swaps: Mapping[str, Swap]


DISGUISES = (
    Disguise("its numbers left as they are, not rounded to FP8", {"to": _unrounded}),
    Disguise("its operands turned back into bfloat16", dict.fromkeys(PRODUCTS, of_rounded(to_type(torch.bfloat16)))),
)


def rounds_to_float8(model: torch.nn.Module, inputs: Sequence[Any]) -> bool:
    """Whether a reference rounds anything to float8."""
    with torch.no_grad(), Recorder() as recorder:
        model(*inputs)
    return any(call.name == "to" and _is_rounding(call) for call in recorder.calls)


def disguised(model: torch.nn.Module, inputs: Sequence[Any]) -> Iterator[tuple[Disguise, list[torch.Tensor]]]:
    """Each disguise, with its output tensors. `model` and floating-point inputs are in the oracle's type; neither is changed."""
    for disguise in DISGUISES:
        with torch.no_grad(), Substitution(disguise.swaps):
            answer = copy.deepcopy(model)(*inputs)
        yield disguise, tensors(answer)


def broken_rule(model: torch.nn.Module, inputs: Sequence[Any], candidate: torch.Tensor, number: int, widened: Callable[[Any], Any]) -> str:
    """The disguise that output `number` of a wrong answer equals, in words; empty if none.

    `model` is the oracle, and `widened` converts an argument to its type.
    """
    wide = [widened(value) for value in inputs]
    with torch.no_grad():
        right = tensors(model(*wide))[number]
    error = rms((candidate.double() - right).reshape(-1))
    for disguise, answers in disguised(model, wide):
        # Rounded as the answer was, so that this is no part of the distance.
        distance = rms((candidate.double() - answers[number].to(candidate.dtype)).reshape(-1))
        if distance * limits.NEARER <= error:
            return f"the reference with {disguise.what}, and this problem has to be computed in FP8"
    return ""
