"""Interprets the end of a worker in a check after the verdict."""

from typing import Any

from evaluator.diagnosis import Verdict, diagnose
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.out_of_memory import ran_short
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence
from evaluator.worker.protocol import ProtocolError


def end_of(worker: WorkerClient, error: WorkerError | ProtocolError | None) -> Verdict:
    """The verdict on a worker that has ended, from its own record and the error of its last request, if that is at hand."""
    protocol_error = str(error)[:2000] if isinstance(error, ProtocolError) else worker.protocol_error
    return diagnose(Evidence(builds=tuple(worker.builds), exception=worker.exception, exit=worker.exit, protocol_error=protocol_error))


def ran_late(worker: WorkerClient) -> bool:
    """Whether the worker was killed because of a timeout."""
    return worker.exit is not None and worker.exit.deadline_s is not None


def answer_at_end(worker: WorkerClient, error: WorkerError | ProtocolError | None) -> dict[str, Any]:
    """The evidence fields `right`, `category` and `message` of a worker that ended during a call.

    It is not blamed if other processes may hold the device's memory, or if time ran out while another submission computed there.
    """
    end = end_of(worker, error)
    lock = worker.lock
    is_excused = (ran_short(worker) and not lock.is_alone) or (ran_late(worker) and lock.held and not lock.is_exclusive)
    right = None if is_excused or end.category is Category.INFRASTRUCTURE_ERROR else False
    return {"right": right, "category": end.category, "message": end.message}
