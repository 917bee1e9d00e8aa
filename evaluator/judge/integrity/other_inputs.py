"""Checks whether a right submission is right on inputs of other distributions, and in shapes other than the judged ones.

It may rely on its inputs, and support only its own shapes: neither changes a verdict, unless shapes are requested. A worker with the loaded
submission makes one call per distribution. A fresh one constructs its model for each of the other shapes. The first call that ends a worker
is its last.
"""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from evaluator.judge.correctness.oracle.reference import Oracle, ReferenceFailedError
from evaluator.judge.correctness.output_structure import described
from evaluator.judge.correctness.rounds import MAX_SIZES, Rounds
from evaluator.judge.integrity.worker_end import answer_at_end
from evaluator.judge.workers.build_broker import NeedsDeviceError
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.out_of_memory import blame
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.problem.execute import ProblemError
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.shapes import Shape
from evaluator.results.category import Category
from evaluator.results.evidence import ChangedInputsEvidence, RoundEvidence, ShapeEvidence
from evaluator.worker.nested import tensors
from evaluator.worker.protocol import ProtocolError

log = logging.getLogger(__name__)

Construct = Callable[[WorkerClient, Shape, torch.nn.Module, list[Any], int], None]
"""Makes a worker construct its model for a shape, with the reference, its arguments and the seed of both."""


def judge_shape(worker: WorkerClient, shape: Shape, construct: Construct, memory: SharedMemory, deadline_s: float) -> ShapeEvidence:
    """Run one round with the problem's own inputs in another shape. The worker has loaded the submission.

    `right` is None if the reference failed or memory ran out. If memory ran out, the worker may have been ended.
    """
    told: dict[str, Any] = {"case": shape.name, "constants": shape.constants, "declared": shape.declared}
    try:
        seed = fresh_seed()
        arguments, model = shape.case.init_inputs(seed), shape.case.model(seed, memory.device)
        example = shape.case.inputs(fresh_seed(), memory.device)
        told["inputs"] = tuple(described(tensor) for tensor in tensors(list(example)))[:MAX_SIZES]
        del example
        construct(worker, shape, model, arguments, seed)
        found = _first_round(worker, shape, model, memory, deadline_s)
        right = None if found.is_own_left_out else found.passed
        return ShapeEvidence(**told, right=right, category=found.category, message=found.message)
    except NeedsDeviceError as error:
        return ShapeEvidence(**told, right=False, category=Category.NO_DEVICE, message=str(error))
    except (WorkerError, ProtocolError) as error:
        return ShapeEvidence(**told | answer_at_end(worker, error))
    except (ProblemError, ReferenceFailedError, RuntimeError, MemoryError) as error:
        starving = blame(error, [worker], memory.device) if worker.lock.is_alone else None
        if starving is not None:
            message = f"it used {starving.held_bytes / 2**30:.3g} GiB of the device's memory; the judge had too little"
            return ShapeEvidence(**told, right=False, category=Category.OUT_OF_MEMORY, message=message)
        return ShapeEvidence(**told, right=None, message=str(error)[:1000])


def not_loaded(worker: WorkerClient, shape: Shape) -> ShapeEvidence:
    """The evidence of a worker that failed to load a submission which an earlier worker had loaded."""
    return ShapeEvidence(case=shape.name, constants=shape.constants, declared=shape.declared, **answer_at_end(worker, None))


def _first_round(worker: WorkerClient, shape: Shape, model: torch.nn.Module, memory: SharedMemory, deadline_s: float) -> RoundEvidence:
    rounds = Rounds(worker, shape.case, Oracle(model, shape.case.rows_independent), memory, deadline_s)
    for evidence in rounds.run():
        rounds.close()
        return evidence
    raise AssertionError("there is always a first round")


def answers_to_changed_inputs(
    worker: WorkerClient, rounds: Rounds, construct: Callable[[], object], seconds: float
) -> Iterator[ChangedInputsEvidence]:
    """Yield the evidence of each distribution. No call begins after the given seconds. `construct` makes the worker construct its model.

    Raises ProblemError, ReferenceFailedError.
    """
    until = time.monotonic() + seconds
    try:
        construct()
        for found in rounds.report():
            yield _evidence_of(found)
            if time.monotonic() > until:
                break
        rounds.close()
    except (WorkerError, ProtocolError) as error:
        if rounds.distribution:
            yield ChangedInputsEvidence(distribution=rounds.distribution, **answer_at_end(worker, error))


def _evidence_of(found: RoundEvidence) -> ChangedInputsEvidence:
    wrong = next((figures for figures in found.outputs if figures.wrong), None)
    return ChangedInputsEvidence(
        distribution=found.distribution,
        right=None if found.is_left_out else found.passed,
        category=found.category,
        message=found.message,
        max_error=wrong.max_error if wrong else None,
    )
