"""A second run in which every launch waits for its kernel, to name the kernel that broke the device or never ended.

In the first run launches return before their kernels run, so a fault shows at a later call. The second run changes no verdict: it names a
kernel or none.
"""

import logging
from collections.abc import Sequence

from evaluator.diagnosis import DEVICE_ERRORS, Verdict
from evaluator.judge import limits
from evaluator.judge.context import Task
from evaluator.judge.correctness.rounds import Rounds
from evaluator.judge.integrity.worker_end import ran_late
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.client import WorkerError
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, ExceptionEvidence, FaultEvidence, LaunchRecord
from evaluator.worker.recorder import INTERPRETED

STAGE = "second_run"
ENVIRONMENT = {"CUDA_LAUNCH_BLOCKING": "1"}
"""Read by CUDA and by the launch recorder."""

log = logging.getLogger(__name__)


def deadline_s(evidence: Evidence, timeout_s: float) -> float:
    """Timeout of a call in the second run; at most that of the first."""
    hung_s = (evidence.exit.deadline_s or 0.0) if evidence.exit else 0.0
    took_s = sum(evidence.stages_s.get(stage, 0.0) for stage in ("construct", "rounds"))
    return min(timeout_s, limits.SECOND_S + limits.AGAIN_FACTOR * max(took_s - hung_s, 0.0))


def applies(_: object, verdict: Verdict, evidence: Evidence) -> bool:
    """Implements `Tool.applies`. A kernel can be named if the device broke or a call did not end, and the submission's own kernels ran."""
    broke = verdict.category in set(DEVICE_ERRORS.values())
    hung = verdict.category is Category.TIMEOUT and evidence.stage in ("rounds", "construct") and not evidence.workload
    return (broke or hung) and any(launch.own and launch.api != INTERPRETED for launch in evidence.launches)


def run(task: Task, worker_set: WorkerSet, evidence: Evidence) -> Evidence:
    """Implements `Tool.run`: run the submission again, up to where it failed in `evidence`.

    Raises ProtocolError, NeedsDeviceError, ProblemError, ReferenceFailedError, SandboxUnavailable.
    """
    log.info("run again, to name the kernel that broke the device or did not end")
    task.report("second run")
    worker_set.make_room()
    call_s = deadline_s(evidence, task.job.timeout_s)
    try:
        worker = worker_set.fresh(environment=ENVIRONMENT)
        reference, strict = worker_set.reference_in(task.case), task.job.strict_inputs
        worker_set.launcher.construct(worker, reference.arguments, reference.model, deadline_s=call_s)
        rounds = Rounds(worker, task.case, reference.oracle, worker_set.memory, call_s, strict_inputs=strict)
        rounds.provoke(len(evidence.rounds) + 1)
    except WorkerError:
        pass  # as in the first run; the launch records show the place
    worker = worker_set.newest
    worker.end()
    fault = culprit(worker.launches.read(), worker.exception, ran_late(worker)) if worker.launches is not None else None
    return evidence.model_copy(update={"fault": fault})


def culprit(launches: Sequence[LaunchRecord], exception: ExceptionEvidence | None, timed_out: bool) -> FaultEvidence | None:
    """The kernel at fault, from the records of the second run; None if that ended well, or differently from the first."""
    pending = [launch for launch in launches if launch.pending]
    refused = [launch for launch in launches if launch.code in DEVICE_ERRORS]
    if timed_out:
        found = pending
    elif exception is not None and exception.cuda_error in DEVICE_ERRORS:
        found = refused or pending or sorted(launches, key=lambda launch: launch.last)[-1:]
    else:
        found = []
    if not found:
        return None
    launch = min(found, key=lambda launch: launch.first)
    return FaultEvidence(
        kernel=launch.kernel, own=launch.own, grid=launch.grid, block=launch.block, shared_bytes=launch.shared_bytes, position=launch.first
    )
