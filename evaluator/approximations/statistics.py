"""Variants of reductions and normalizations: variances, means and sums, eps, running statistics, dimensions."""

from collections.abc import Iterator
from typing import Any

import torch

from evaluator.judge.correctness.errors.variants.call import Call, Swap
from evaluator.judge.correctness.errors.variants.search import Subject, Variant

SPREADS = ("var", "std", "var_mean", "std_mean")
NORMS = ("layer_norm", "batch_norm", "group_norm", "instance_norm", "rms_norm")
EPSILONS = (1e-5, 1e-6, 1e-3, 0.0, 1e-8, 1e-12)
LARGEST_EPS = 1e-2
LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cross_entropy", "nll_loss", "kl_div", "binary_cross_entropy")


def variances(subject: Subject) -> Iterator[Variant]:
    """Variances and standard deviations divided by n instead of n - 1, and the reverse."""
    found = {_correction(call) for call in subject.of(*SPREADS)}
    if subject.called("layer_norm", "group_norm", "instance_norm") or any(map(_by_batch, subject.of("batch_norm"))):
        found.add(0)
    if 0 in found:
        swaps: dict[str, Swap] = dict.fromkeys(SPREADS, _corrected(1))
        swaps |= dict.fromkeys(("layer_norm", "group_norm", "instance_norm", "batch_norm"), _unbiased_norm)
        yield Variant("the variance divided by n - 1 in place of n", swaps)
    if 1 in found:
        yield Variant("the variance divided by n in place of n - 1", dict.fromkeys(SPREADS, _corrected(0)))


def batch_statistics(subject: Subject) -> Iterator[Variant]:
    """Running statistics instead of the batch's in a batch normalization, and the reverse."""
    calls = subject.of("batch_norm")
    if any(map(_by_batch, calls)):
        if any(call.value(1, "running_mean") is not None for call in calls):
            yield Variant("running statistics in place of the batch's in batch_norm", {"batch_norm": _by_running})
        yield Variant("mean 0 and variance 1 in place of the batch's in batch_norm", {"batch_norm": _unnormalized})
    if not all(map(_by_batch, calls)):
        yield Variant("the batch's statistics in place of running ones in batch_norm", {"batch_norm": lambda call: _batch_norm(call, True)})


def epsilons(subject: Subject) -> Iterator[Variant]:
    """Another eps, in all functions and modules at once."""
    known = set(subject.epsilons)
    known |= {call.options["eps"] for call in subject.calls if isinstance(call.options.get("eps"), float)}
    known |= {eps for call in subject.of("add", "clamp_min") if (eps := _literal_eps(call)) is not None}
    if not known:
        return
    old = ", ".join(f"{eps:g}" for eps in sorted(known))
    names = {call.name for call in subject.calls if isinstance(call.options.get("eps"), float)} | {"add", "clamp_min"}
    for eps in EPSILONS:
        if known != {eps}:
            yield Variant(f"eps {eps:g} in place of {old}", dict.fromkeys(names, _with_eps(eps)), eps=eps)


def sums_and_means(subject: Subject) -> Iterator[Variant]:
    """A mean instead of a sum and the reverse, in reductions and in losses."""
    for old, new in (("mean", "sum"), ("sum", "mean")):
        losses = subject.called(*LOSSES)
        if subject.called(old):
            yield Variant(f"a {new} in place of a {old}", {old: _renamed(new)})
        if any(call.options.get("reduction") == old for call in subject.of(*losses)):
            yield Variant(f"a loss reduced by {new} in place of {old}", dict.fromkeys(losses, _reduced(new)))
    if any(call.options.get("reduction") in ("mean", "batchmean") for call in subject.of("kl_div")):
        other = "mean" if any(call.options.get("reduction") == "batchmean" for call in subject.of("kl_div")) else "batchmean"
        yield Variant(f"a loss reduced by {other}", {"kl_div": _reduced(other)})


def without_affine(subject: Subject) -> Iterator[Variant]:
    """Normalizations without their weight and bias."""
    for name in subject.called(*NORMS):
        if any(call.options.get("weight") is not None for call in subject.of(name)):
            yield Variant(f"{name}'s weight and bias left out", {name: _without_affine})


def other_dimensions(subject: Subject) -> Iterator[Variant]:
    """A softmax over the dimension before or after."""
    names = subject.called("softmax", "log_softmax", "softmin", "logsumexp")
    calls = subject.of(*(name for name in names if name != "logsumexp"))
    dimensions = max((call.first.dim() for call in calls), default=0)
    for step in (-1, 1)[: dimensions - 1]:
        which = "before" if step < 0 else "after"
        yield Variant(f"softmax over the dimension {which}", dict.fromkeys(names, _over(step)))


def _correction(call: Call) -> int | None:
    """n minus the divisor; None if unknown."""
    if "correction" in call.options:
        return 1 if call.options["correction"] is None else int(call.options["correction"])
    flags = [value for value in call.arguments[1:3] if isinstance(value, bool)]
    return int(call.options.get("unbiased", flags[0] if flags else True))


def _corrected(correction: int) -> Swap:
    def swapped(call: Call) -> Any:
        if "axis" in call.options or call.first.dim() == 0:
            return call.run()
        values = [value for value in call.arguments[1:] if not isinstance(value, bool)]
        dimensions = call.options.get("dim", values[0] if values else None)
        keep = call.options.get("keepdim", len(call.arguments) > 3 and call.arguments[3])
        return getattr(torch, call.name)(call.first, dim=dimensions, correction=correction, keepdim=keep)

    return swapped


def _by_batch(call: Call) -> bool:
    return bool(call.value(5, "training", False)) or call.value(1, "running_mean") is None


def _by_running(call: Call) -> Any:
    return call.run() if call.value(1, "running_mean") is None else _batch_norm(call, False)


def _unnormalized(call: Call) -> Any:
    x = call.first
    known = call.changed(1, "running_mean", x.new_zeros(x.shape[1])).changed(2, "running_var", x.new_ones(x.shape[1]))
    return _batch_norm(known, False)


def _batch_norm(call: Call, training: bool) -> Any:
    return call.changed(5, "training", training).run()


def _unbiased_norm(call: Call) -> Any:
    """Normalization with the variance divided by n - 1."""
    x = call.first
    eps = call.options.get("eps", 1e-5)
    if call.name == "batch_norm" and not _by_batch(call):
        return call.run()
    if call.name == "layer_norm":
        count = torch.Size(call.value(1, "normalized_shape")).numel()
    elif call.name == "group_norm":
        count = x[0].numel() // int(call.value(1, "num_groups"))
    else:
        count = x.numel() // (x.shape[1] if call.name == "batch_norm" else x.shape[0] * x.shape[1])
    if count < 2:
        return call.run()
    # With eps' = eps·(n - 1)/n, 1/√(var·n/(n - 1) + eps) is √((n - 1)/n) / √(var + eps').
    ratio = (count - 1) / count
    plain = _without_affine(call.changed(len(call.arguments), "eps", eps * ratio)) * ratio**0.5
    return _affine(plain, call)


def _affine(plain: torch.Tensor, call: Call) -> torch.Tensor:
    """Apply the weight and the bias of a normalization."""
    for name, operation in (("weight", torch.mul), ("bias", torch.add)):
        values = call.options.get(name)
        if values is not None:
            plain = operation(plain, values if call.name == "layer_norm" else values.view(-1, *[1] * (plain.dim() - 2)))
    return plain


def _without_affine(call: Call) -> Any:
    options = {name: None if name in ("weight", "bias") else value for name, value in call.options.items()}
    return Call(call.name, call.function, call.arguments, options).run()


def _literal_eps(call: Call) -> float | None:
    """A small number that is added, or that is a lower limit of the values."""
    value = call.value(1, "other" if call.name == "add" else "min")
    return value if isinstance(value, float) and 0 < value <= LARGEST_EPS else None


def _with_eps(eps: float) -> Swap:
    def swapped(call: Call) -> Any:
        if isinstance(call.options.get("eps"), float):
            return call.changed(len(call.arguments), "eps", eps).run()
        if call.name in ("add", "clamp_min") and _literal_eps(call) is not None:
            return call.changed(1, "other" if call.name == "add" else "min", eps).run()
        return call.run()

    return swapped


def _renamed(name: str) -> Swap:
    return lambda call: getattr(torch, name)(*call.arguments, **call.options)


def _reduced(reduction: str) -> Swap:
    return lambda call: call.changed(len(call.arguments), "reduction", reduction).run() if "reduction" in call.options else call.run()


def _over(step: int) -> Swap:
    def swapped(call: Call) -> Any:
        dimension, dimensions = call.value(1, "dim"), call.first.dim()
        if not isinstance(dimension, int) or dimensions == 0:
            return call.run()
        return call.changed(1, "dim", (dimension + step) % dimensions).run()

    return swapped
