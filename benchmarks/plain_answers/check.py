"""Check the answers on the CPU, in small shapes: each against its problem in float64, by the judge's measure of error.

    python -m benchmarks.plain_answers.check PATH/TO/KernelBench/KernelBench [LEVEL/NUMBER ...]

Prints one line per problem: the answer's largest error, the reference's own in float32, and the operators without a formula. Errors
are |value - right| / (|right| + RMS of the right output). At the end: the formulas that no problem used.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from benchmarks.plain_answers.__main__ import problems
from benchmarks.plain_answers.generate import answer
from benchmarks.plain_answers.operators.swaps import PLAIN_SWAPS
from benchmarks.plain_answers.shrink import executed, shrunk

DRAWS = 2
BOUND = 4e-5
"""Tolerance of a float32 answer, before the reference's own error widens it."""
MOVES = """
abs add arange cat chunk clamp clone detach div dropout eq flatten flip floor_divide full gather ge gt is_floating_point le logical_not
lt masked_fill maximum meshgrid minimum mul multiply narrow ne neg numel ones ones_like pad permute rand randn reshape roll select sign
split sqrt squeeze stack sub t tensor transpose tril triu unbind unfold unsqueeze where zeros zeros_like
"""
"""Operators that move values, or round once."""
LIBRARY = frozenset(name for home in (torch, torch.nn.functional, torch._C._nn) for name in dir(home)) - frozenset(MOVES.split())
"""Operators that compute."""


@dataclass
class Calls:
    """The called operators: with a formula, and without one."""

    swapped: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)


class Listener(TorchFunctionMode):
    """Notes the operators that a reference calls."""

    def __init__(self, calls: Calls) -> None:
        super().__init__()
        self.calls = calls

    def __torch_function__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in PLAIN_SWAPS:
            self.calls.swapped[name] += 1
        elif name in LIBRARY:
            self.calls.left[name] += 1
        return func(*args, **(kwargs or {}))


@dataclass(frozen=True)
class Checked:
    """Largest errors of one answer, over all random inputs."""

    error: float
    reference_error: float
    calls: Calls


def check(source: str, seed: int = 0) -> Checked | None:
    """The answer to a problem file compared with its reference, in small shapes; None if it can't be made small."""
    small = shrunk(source)
    if small is None:
        return None
    problem: Any = executed(small, "problem")
    torch.manual_seed(seed)
    arguments = problem.get_init_inputs()
    candidate_class = vars(executed(answer(small), "answer"))["ModelNew"]
    reference, candidate = (_model(each, arguments, seed) for each in (problem.Model, candidate_class))
    # A copy's closures would call the original's layers.
    oracle = _model(problem.Model, arguments, seed).double()
    error = reference_error = 0.0
    calls = Calls()
    for draw in range(DRAWS):
        torch.manual_seed(seed + draw + 1)
        inputs = problem.get_inputs()
        with torch.no_grad():
            right = _in_double(oracle, inputs)
            with Listener(calls):
                own = reference(*_copied(inputs))
            found = candidate(*_copied(inputs))
        error = max(error, largest_error(found, right))
        reference_error = max(reference_error, largest_error(own, right))
    return Checked(error, reference_error, calls)


def _model(kind: type[torch.nn.Module], arguments: Sequence[Any], seed: int) -> torch.nn.Module:
    """A model from this seed, without dropout; in training mode where it has a BatchNorm."""
    torch.manual_seed(seed)
    model = kind(*arguments)
    model.train(any(isinstance(part, torch.nn.modules.batchnorm._BatchNorm) for part in model.modules()))
    for part in model.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    return model


def _in_double(oracle: torch.nn.Module, inputs: Sequence[Any]) -> Any:
    """The output in float64, with tensors that forward() makes in float64 too."""
    torch.set_default_dtype(torch.float64)
    try:
        return oracle(*(_doubled(value) for value in inputs))
    finally:
        torch.set_default_dtype(torch.float32)


def _doubled(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def _copied(values: Sequence[Any]) -> list[Any]:
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in values]


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in _tensors(item)] if isinstance(value, list | tuple) else []


def largest_error(found: Any, oracle: Any) -> float:
    """The largest error of all outputs; for integers the differing share; infinite if a shape differs or a value is NaN."""
    worst = 0.0
    for value, right in zip(_tensors(found), _tensors(oracle), strict=True):
        if value.shape != right.shape:
            return float("inf")
        if not value.is_floating_point():
            worst = max(worst, float((value != right).double().mean()))
            continue
        error = (value.double() - right).abs() / (right.abs() + right.square().mean().sqrt())
        worst = max(worst, float(torch.where(value == right, 0.0, error).nan_to_num(nan=float("inf")).max()))
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plain_answers.check", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("root", type=Path, help="the folder that holds level1, level2, ...")
    parser.add_argument("wanted", nargs="*", help="problems as LEVEL/NUMBER; all if none is named")
    options = parser.parse_args()
    reached: Counter[str] = Counter()
    beyond = checked = 0
    for level, number, path in problems(options.root):
        if options.wanted and f"{level}/{number}" not in options.wanted:
            continue
        start = time.monotonic()
        try:
            result = check(path.read_text(encoding="utf-8"))
        # Whatever an answer raises is a mistake of the formulas, and shown.
        except Exception as error:  # noqa: BLE001
            print(f"{level}/{number} {path.stem}: {type(error).__name__}: {error}", flush=True)
            beyond += 1
            continue
        if result is None:
            print(f"{level}/{number} {path.stem}: can't be made small", flush=True)
            continue
        checked += 1
        reached += result.calls.swapped
        wrong = not result.error <= max(BOUND, 8 * result.reference_error)
        beyond += wrong
        mark = "WRONG" if wrong else "WIDE" if result.error > BOUND else "right"
        left = " ".join(sorted(result.calls.left))
        print(
            f"{level}/{number} {path.stem}: {mark} {result.error:.1e}, reference {result.reference_error:.1e},"
            f" {time.monotonic() - start:.1f} s, {left}",
            flush=True,
        )
    print(f"{checked} checked, {beyond} wrong; never reached: {' '.join(sorted(set(PLAIN_SWAPS) - set(reached)))}")
    return 1 if beyond or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
