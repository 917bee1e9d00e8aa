"""Variants of attention, matrix products, convolutions and pooling: scales, masks, biases, transposed operands."""

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional

from evaluator.judge.correctness.errors.variants.call import Call
from evaluator.judge.correctness.errors.variants.search import Subject, Variant
from evaluator.judge.correctness.errors.variants.swaps import ATTENTION, CONVOLUTIONS

MAX_POOLS = ("max_pool1d", "max_pool2d", "max_pool3d")
AVERAGE_POOLS = ("avg_pool1d", "avg_pool2d", "avg_pool3d")
INTERPOLATIONS = ("linear", "bilinear", "bicubic", "trilinear")
"""Modes of `interpolate` that have `align_corners`."""


def attention(subject: Subject) -> Iterator[Variant]:
    calls = subject.of(ATTENTION)
    if not calls:
        return
    yield Variant("attention without its scale", {ATTENTION: lambda call: _scaled(call, 1.0)})
    yield Variant("attention scaled by 1/d in place of 1/√d", {ATTENTION: lambda call: _scaled(call, 1.0 / call.first.shape[-1])})
    if any(call.value(5, "is_causal", False) for call in calls):
        yield Variant("attention without its causal mask", {ATTENTION: lambda call: call.changed(5, "is_causal", False).run()})
    if any(call.value(3, "attn_mask") is not None for call in calls):
        yield Variant("attention without its mask", {ATTENTION: lambda call: call.changed(3, "attn_mask", None).run()})
    if any(call.value(3, "attn_mask") is None and not call.value(5, "is_causal", False) for call in calls):
        yield Variant("a causal mask that the reference lacks", {ATTENTION: _causal})


def without_bias(subject: Subject) -> Iterator[Variant]:
    for name in subject.called("linear", *CONVOLUTIONS):
        if any(call.value(2, "bias") is not None for call in subject.of(name)):
            yield Variant(f"the bias of {name} left out", {name: lambda call: call.changed(2, "bias", None).run()})


def operands(subject: Subject) -> Iterator[Variant]:
    """Square operands transposed, or kernels flipped."""
    for name in subject.called("linear", "matmul", "mm", "bmm"):
        if any(_is_square(_second(call)) for call in subject.of(name)):
            yield Variant(f"the second operand of {name} transposed", {name: _transposed_second})
        if name != "linear" and any(_is_square(call.first) for call in subject.of(name)):
            yield Variant(f"the first operand of {name} transposed", {name: _transposed_first})
    for name in subject.called(*CONVOLUTIONS):
        yield Variant(f"the kernel of {name} flipped", {name: _flipped})


def borders(subject: Subject) -> Iterator[Variant]:
    """Pooling with other padding, and interpolation that aligns other points."""
    for name in subject.called(*MAX_POOLS):
        if any(_is_padded(call) for call in subject.of(name)):
            yield Variant(f"{name} padded with 0", {name: _zero_padded})
    for name in subject.called(*AVERAGE_POOLS):
        if any(_is_padded(call) for call in subject.of(name)):
            yield Variant(f"padding counted otherwise in {name}", {name: _counted_otherwise})
    if any(call.options.get("mode") in INTERPOLATIONS for call in subject.of("interpolate")):
        yield Variant("the other align_corners in interpolate", {"interpolate": _realigned})


def _second(call: Call) -> Any:
    return call.value(1, _second_name(call))


def _second_name(call: Call) -> str:
    return "weight" if call.name == "linear" else "mat2" if call.name in ("mm", "bmm") else "other"


def _is_square(tensor: Any) -> bool:
    return isinstance(tensor, torch.Tensor) and tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2] > 1


def _transposed_second(call: Call) -> Any:
    second = _second(call)
    return call.changed(1, _second_name(call), second.mT).run() if _is_square(second) else call.run()


def _transposed_first(call: Call) -> Any:
    return call.changed(0, "input", call.first.mT).run() if _is_square(call.first) else call.run()


def _scaled(call: Call, scale: float) -> Any:
    return call.changed(7, "scale", scale).run()


def _causal(call: Call) -> Any:
    if call.value(3, "attn_mask") is not None:
        return call.run()
    return call.changed(5, "is_causal", True).run()


def _flipped(call: Call) -> Any:
    weight = call.value(1, "weight")
    return call.changed(1, "weight", weight.flip(tuple(range(2, weight.dim())))).run()


def _is_padded(call: Call) -> bool:
    padding = call.value(3, "padding", 0)
    return any(padding) if isinstance(padding, tuple | list) else bool(padding)


def _zero_padded(call: Call) -> Any:
    padding, dimensions = call.value(3, "padding", 0), int(call.name[-2])
    sizes = list(padding) if isinstance(padding, tuple | list) else [padding] * dimensions
    padded = functional.pad(call.first, [size for each in reversed(sizes) for size in (each, each)])
    return call.changed(0, "input", padded).changed(3, "padding", 0).run()


def _counted_otherwise(call: Call) -> Any:
    return call.changed(5, "count_include_pad", not call.value(5, "count_include_pad", True)).run()


def _realigned(call: Call) -> Any:
    if call.options.get("mode") not in INTERPOLATIONS:
        return call.run()
    return call.changed(len(call.arguments), "align_corners", not call.options.get("align_corners")).run()
