"""Decides whether the submission caused a lack of device memory, because its processes used too much."""

import re
from collections.abc import Iterable, Iterator

import torch

from evaluator.judge import limits
from evaluator.judge.workers.client import WorkerClient
from evaluator.results.evidence import StarvingEvidence

_SHORTAGE = re.compile(
    r"\bout of memory\b|CUDA_ERROR_OUT_OF_MEMORY|CUDACachingAllocator|CU(?:BLAS|DNN|FFT|SOLVER|SPARSE)_\w*(?:ALLOC|INITIALIZED)"
)
_OF_MACHINE = re.compile(r"[Cc]an(?:'t|not) allocate memory|CU(?:BLAS|DNN|FFT|SOLVER|SPARSE)_\w*(?:INTERNAL|EXECUTION)")
_ASKED = re.compile(r"Tried to allocate (?P<count>[\d.]+) (?P<unit>bytes|KiB|MiB|GiB)")
_UNIT_BYTES = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def is_shortage(error: BaseException) -> bool:
    """Whether the device's memory ran out: PyTorch's error or the driver's, or one raised from these."""
    return any(isinstance(each, torch.OutOfMemoryError) or tells_of_shortage(str(each)) for each in _chain(error))


def fails_by_machine(error: BaseException) -> bool:
    """Whether memory ran out, or the device failed: code that raised this may be sound."""
    told = any(isinstance(each, MemoryError | torch.AcceleratorError) or _OF_MACHINE.search(str(each)) for each in _chain(error))
    return told or is_shortage(error)


def tells_of_shortage(message: str) -> bool:
    """Whether this message of a worker reports that the device's memory ran out."""
    return _SHORTAGE.search(message) is not None


def ran_short(worker: WorkerClient) -> bool:
    """Whether the worker failed for lack of device memory."""
    return worker.exception is not None and tells_of_shortage(worker.exception.message)


def asked_bytes(error: BaseException) -> int:
    """Size of the failed allocation; 0 if the error does not name it."""
    found = next((match for each in _chain(error) if (match := _ASKED.search(str(each)))), None)
    return int(float(found["count"]) * _UNIT_BYTES[found["unit"]]) if found else 0


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__


def blame(error: BaseException, submission: Iterable[WorkerClient], device: torch.device) -> StarvingEvidence | None:
    """The memory that the submission's workers used, if this caused `error`; None if not, or if unknown.

    It kills the workers: memory that becomes free was theirs. Raises SandboxUnavailable.
    """
    if device.type != "cuda" or not is_shortage(error):
        return None
    free_before, total_bytes = torch.cuda.mem_get_info(device)
    for worker in submission:
        worker.end()
    free_bytes, _ = torch.cuda.mem_get_info(device)
    return judged(StarvingEvidence(held_bytes=max(free_bytes - free_before, 0), total_bytes=total_bytes), asked_bytes(error), free_bytes)


def judged(held: StarvingEvidence, asked: int, free_bytes: int) -> StarvingEvidence | None:
    """The evidence, if it exceeds FAIR_SHARE and the judge would have enough without it (`free_bytes` for `asked`); else None."""
    return held if held.held_bytes > limits.FAIR_SHARE * held.total_bytes and asked <= free_bytes else None
