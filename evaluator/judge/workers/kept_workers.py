"""Workers that a judge keeps, with their CUDA contexts, for its next evaluation.

- The baseline's: its code is the problem's, which the judge trusts.
- A spare one, which has started CUDA and received nothing of any submission.

A worker that has loaded a submission is never kept.
"""

from collections.abc import Callable, Sequence

from evaluator.judge.context import JudgeContext
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.stage_times import StageTimes
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.worker.protocol import ProtocolError

BASELINE, SPARE = "baseline", "spare"
RESET_S = 10.0
MOST_EVALUATIONS = 200
"""Maximum evaluations of a kept worker: its CPU time is limited, and leftovers of its problems add up."""


def take(
    context: JudgeContext, kind: str, seen: Sequence[str], lock: DeviceLock, times: StageTimes, report: Callable[[str], None]
) -> WorkerClient | None:
    """Move the kept worker of this kind to an evaluation, given by the last three; None if none lives that has `seen` the same folders."""
    if kind not in context.kept_workers:
        return None
    worker, folders = context.kept_workers.pop(kind)
    assert isinstance(worker, WorkerClient)
    if folders != tuple(seen) or not worker.is_alive:
        worker.close()
        return None
    worker.join(lock, times, report)
    return worker


def keep(context: JudgeContext, kind: str, seen: Sequence[str], worker: WorkerClient) -> None:
    """Keep a worker that sees these folders; the baseline's first drops all state. End it if another one is kept, or if it has failed."""
    try:
        if kind not in context.kept_workers and worker.is_alive and worker.evaluations < MOST_EVALUATIONS:
            if kind == BASELINE:
                worker.request("reset", RESET_S)
            context.kept_workers[kind] = (worker, tuple(seen))
            return
    except (WorkerError, ProtocolError):
        pass  # ended below
    worker.close()
