"""Warm-up of CUDA in the judge's process before it takes the device lock: the context, and the kernels that judging needs.

CUDA loads a kernel at its first launch. Without the warm-up, a new judge would do this under the lock, while others wait.
"""

import logging
from contextlib import nullcontext

import torch

from evaluator.judge.correctness import compare_cuda
from evaluator.judge.correctness.check import judge_values
from evaluator.judge.correctness.inputs.round_inputs import RoundInputs
from evaluator.judge.correctness.oracle.reference import Oracle, ReferenceFailedError
from evaluator.judge.correctness.output_structure import form_of
from evaluator.judge.device.cuda_start_limit import cuda_start_turn
from evaluator.judge.device.synchronize import synchronize
from evaluator.machine.devices import Device
from evaluator.problem.catalogue import SHIPPED
from evaluator.problem.declaration import SMALL_CASE
from evaluator.problem.execute import ProblemError
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.load import load
from evaluator.problem.problem import Problem, ProblemCase
from evaluator.worker.nested import tensors

LIBRARIES = ("matmul", "conv2d", "batch_norm_training", "softmax")
"""Shipped problems whose references use cuBLAS, cuDNN and reductions."""

log = logging.getLogger(__name__)


def warm(problem: Problem, on: Device, warmed: set[str]) -> None:
    """Make this process's context on the device, and judge the reference's own outputs in the problem's `small` case, if it has one.

    The first time, do the same for a few shipped problems, to load PyTorch's libraries and the kernels that all problems need.
    `warmed` holds the hashes of problems that are done. Raises RuntimeError if no context can be made.
    """
    device = torch.device(on.torch_device)
    is_first = device.type == "cuda" and not torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    with cuda_start_turn(on.unique_id) if is_first else nullcontext():
        torch.zeros(1, device=device)
    for each in ([load(SHIPPED / f"{name}.py") for name in LIBRARIES] if is_first else []) + [problem]:
        if each.sha256 not in warmed and SMALL_CASE in each.case_names:
            _warm_one(each, device, warmed)


def _warm_one(problem: Problem, device: torch.device, warmed: set[str]) -> None:
    try:
        _judge_itself(problem.instance(SMALL_CASE), device)
    except torch.OutOfMemoryError:
        return  # another process holds the memory
    except (ProblemError, ReferenceFailedError, RuntimeError) as error:  # the rounds will report it
        log.info("%s could not be warmed up: %s", problem.name, error)
    warmed.add(problem.sha256)


def _judge_itself(case: ProblemCase, device: torch.device) -> None:
    """Judge each kind of round, with the reference as the candidate."""
    oracle = Oracle(case.model(fresh_seed(), device), case.rows_independent)
    round_inputs = RoundInputs(case, device, oracle)
    form = form_of(round_inputs.expected)
    for plan in round_inputs.plans:
        draw = round_inputs.draw(plan)
        if not draw.left_out:
            answer = [tensor.clone() for tensor in tensors(oracle.expected(draw.arguments))]
            judge_values(case, oracle, draw.arguments, answer, form, rule=draw.rule)
    for tensor in answer:
        compare_cuda.prepare(tensor)  # outputs of the `small` case are too small for these kernels
    synchronize(device)
