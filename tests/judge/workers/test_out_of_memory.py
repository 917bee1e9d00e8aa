"""Whether judge or submission causes a lack of device memory."""

import pytest
import torch

from evaluator.diagnosis import diagnose
from evaluator.judge.correctness.oracle.reference import Oracle, ReferenceFailedError
from evaluator.judge.correctness.oracle.wide import WideTensor
from evaluator.judge.workers.out_of_memory import asked_bytes, blame, is_shortage, judged
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, ExceptionEvidence, StarvingEvidence

GIB = 1 << 30
TORCH = torch.OutOfMemoryError(
    "CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 139.80 GiB of which 1 MiB is free."
)
DRIVER = RuntimeError("CUDA driver: CUDA_ERROR_OUT_OF_MEMORY")


def raised_from(cause: BaseException) -> BaseException:
    error = ReferenceFailedError("the reference raised")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "short", "asked"),
    [
        (TORCH, True, 3 * GIB // 2),
        (DRIVER, True, 0),
        (RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be reported later"), True, 0),
        (torch.OutOfMemoryError("Tried to allocate 512 bytes"), True, 512),
        (raised_from(TORCH), True, 3 * GIB // 2),
        (raised_from(raised_from(DRIVER)), True, 0),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True, 0),
        (RuntimeError("cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"), True, 0),
        (RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED"), False, 0),
        (raised_from(ValueError("no")), False, 0),
        (RuntimeError("CUDA driver: CUDA_ERROR_INVALID_VALUE"), False, 0),
        (RuntimeError("out of memoryless chains"), False, 0),
    ],
)
def test_what_is_a_shortage_and_of_how_much(error: BaseException, short: bool, asked: int) -> None:
    assert (is_shortage(error), asked_bytes(error)) == (short, asked)


@pytest.mark.parametrize(
    ("held_gib", "asked_gib", "free_gib", "blamed"),
    [(120, 2, 130, True), (71, 0, 80, True), (69, 2, 80, False), (120, 135, 130, False), (0, 2, 1, False)],
)
def test_more_than_half_of_the_device_and_enough_for_the_judge_without_it(
    held_gib: int, asked_gib: int, free_gib: int, blamed: bool
) -> None:
    held = StarvingEvidence(held_bytes=held_gib * GIB, total_bytes=140 * GIB)
    assert judged(held, asked_gib * GIB, free_gib * GIB) == (held if blamed else None)


def test_on_the_cpu_nobody_is_blamed() -> None:
    assert blame(TORCH, [], torch.device("cpu")) is None


def test_what_the_worker_says_of_itself_does_not_make_it_better() -> None:
    exception = ExceptionEvidence(stage="rounds", type="ValueError", message="no")
    evidence = Evidence(starving=StarvingEvidence(held_bytes=120 * GIB, total_bytes=140 * GIB), exception=exception)
    assert diagnose(evidence).category is Category.OUT_OF_MEMORY


def test_a_shortage_does_not_choose_the_oracles_type() -> None:
    class Hungry(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if isinstance(x, WideTensor):
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
            return x

    x = torch.ones(3, 4)
    with pytest.raises(torch.OutOfMemoryError):
        list(Oracle(Hungry(), rows_independent=False).pieces([x], [x], [x]))
