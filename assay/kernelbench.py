"""KernelBench's `eval_kernel_against_ref`, judged by Assay: only the import changes in a training loop.

The arguments have KernelBench's names, order and defaults (commit 423217d). Results have its fields.
"""
# ruff: noqa: ARG001 - some of its arguments have no meaning here

import atexit
import os
from typing import TYPE_CHECKING

from command.from_python import Judge, JudgeError, feedback
from evaluator.results.category import Status
from evaluator.results.kernelbench import KernelExecResult, executed

if TYPE_CHECKING:
    import torch

__all__ = ["JudgeError", "KernelExecResult", "eval_kernel_against_ref"]

_JUDGES: dict[tuple[str, str, bool], Judge] = {}
"""Judges that keep their processes from one call to the next, by device, precision, and whether they take times."""


def eval_kernel_against_ref(
    original_model_src: str,
    custom_model_src: str,
    seed_num: int = 42,
    num_correct_trials: int = 1,
    num_perf_trials: int = 10,
    measure_performance: bool = False,
    timing_method: str = "cuda_event",
    verbose: bool = False,
    build_dir: str | os.PathLike[str] | None = None,
    device: "torch.device | str | int | None" = None,
    backend: str = "cuda",
    precision: "torch.dtype | str" = "float32",
    check_for_excessive_speedup: bool = True,
    excessive_speedup_threshold: float = 10,
) -> KernelExecResult:
    """Judge one submission (`custom_model_src`, a class `ModelNew`) against its reference, which is trusted.

    measure_performance: whether to take times. device: a GPU's number, a device of PyTorch or its name; None for a GPU if there is one,
    else the CPU. precision: a type of PyTorch or its name. If the speedup exceeds `excessive_speedup_threshold`,
    `metadata["excessive_speedup"]` is true. `metadata["feedback"]` says how to fix a failure.

    The other arguments have no effect. Assay draws its own inputs (`seed_num`), chooses the numbers of rounds and calls
    (`num_correct_trials`, `num_perf_trials`), and the clock (`timing_method`). It compiles into its own cache (`build_dir`), and finds the
    kernel language itself (`backend`). `verbose` prints nothing.

    Threads may call it at once. Raises JudgeError if the submission can't be judged: it says nothing about the submission.
    """
    key = (_device(device), str(precision).removeprefix("torch."), measure_performance)
    judging = _JUDGES.setdefault(key, Judge(device=key[0], dtype=key[1], timing=measure_performance))
    given = {"code": custom_model_src, "reference": original_model_src}
    result = judging(given)
    if result.status is Status.NOT_EVALUATED:
        raise JudgeError(f"{result.category}: {result.message}")
    told = executed(result)
    if not told.correctness:
        told.metadata["feedback"] = feedback(given, result)
    if check_for_excessive_speedup and result.speedup is not None and result.speedup > excessive_speedup_threshold:
        told.metadata["excessive_speedup"] = True
    return told


def _device(given: "torch.device | str | int | None") -> str:
    if given is None:
        return "auto"
    return f"cuda:{given}" if isinstance(given, int) else str(given)


@atexit.register
def _close() -> None:
    """End the judges' processes with the caller's."""
    for judging in _JUDGES.values():
        judging.close()
