"""A baseline's worker that stays, with its context, from one evaluation of a judge to the next.

Its code is the problem's, which is trusted as the judge itself trusts it. A candidate's worker never stays.
"""

from collections.abc import Sequence

from evaluator.judge.context import JudgeContext
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.stage_times import StageTimes
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.worker.protocol import ProtocolError

RESET_S = 10.0


def take(context: JudgeContext, lock: DeviceLock, times: StageTimes, readonly: Sequence[str]) -> WorkerClient | None:
    """The worker that was kept, for an evaluation that has this lock; None where there is none that lives and sees the same folders."""
    if not context.kept_baseline:
        return None
    worker, seen = context.kept_baseline.pop()
    assert isinstance(worker, WorkerClient)
    if seen != tuple(readonly) or not worker.is_alive:
        worker.close()
        return None
    worker.join(lock, times)
    return worker


def keep(context: JudgeContext, worker: WorkerClient, readonly: Sequence[str]) -> None:
    """Have it let go of everything, and keep it for the next evaluation; end it where that fails."""
    try:
        worker.request("reset", RESET_S)
    except (WorkerError, ProtocolError):
        worker.close()
        return
    context.kept_baseline.append((worker, tuple(readonly)))
