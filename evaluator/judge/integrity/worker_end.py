"""What a worker's end says of its submission, in a check after the verdict."""

from typing import Any

from evaluator.diagnosis import Verdict, diagnose
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.out_of_memory import ran_short
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence


def end_of(worker: WorkerClient, protocol_error: str) -> Verdict:
    """The verdict on a worker that has ended, by its own record."""
    return diagnose(Evidence(builds=tuple(worker.builds), exception=worker.exception, exit=worker.exit, protocol_error=protocol_error))


def answer_at_end(worker: WorkerClient, protocol_error: str) -> dict[str, Any]:
    """The fields `right`, `category` and `message` of the evidence of a worker that has ended instead of answering.

    It is not blamed where other processes may hold the device's memory.
    """
    end = end_of(worker, protocol_error)
    short = ran_short(worker) and not worker.lock.is_alone
    right = None if short or end.category is Category.INFRASTRUCTURE_ERROR else False
    return {"right": right, "category": end.category, "message": end.message}
