"""Workers that stay, with their contexts, from one evaluation of a judge to the next.

- The baseline's: its code is the problem's, which is trusted as the judge itself trusts it.
- A spare one, which has started CUDA and has been told nothing of any submission.

A worker that a submission was loaded in never stays.
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
"""Of the baseline's worker: its processor time is limited, and what its problems leave behind adds up."""


def take(
    context: JudgeContext, kind: str, seen: Sequence[str], lock: DeviceLock, times: StageTimes, report: Callable[[str], None]
) -> WorkerClient | None:
    """The worker of this kind, for the evaluation that the last three are of; None where none lives that has `seen` the same folders."""
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
    """Keep a worker that sees these folders; the baseline's lets go of everything first. Where there is one, or this one is not well, it
    is ended."""
    try:
        if kind not in context.kept_workers and worker.is_alive and worker.evaluations < MOST_EVALUATIONS:
            if kind == BASELINE:
                worker.request("reset", RESET_S)
            context.kept_workers[kind] = (worker, tuple(seen))
            return
    except (WorkerError, ProtocolError):
        pass  # ended below
    worker.close()
