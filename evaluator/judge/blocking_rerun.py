"""A second run in which every launch waits for its kernel, to name the kernel that broke the device or never ended.

In the first run launches return before their kernels run, so a fault shows at a later call. The second run changes no verdict: it names a
kernel or none.
"""

from collections.abc import Sequence

from evaluator.diagnosis import DEVICE_ERRORS, Verdict
from evaluator.judge import limits
from evaluator.judge.context import Task
from evaluator.judge.correctness.reference import Oracle
from evaluator.judge.correctness.rounds import Rounds
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.client import WorkerError
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence, ExceptionEvidence, FaultEvidence, LaunchRecord
from evaluator.worker.launch_table import INTERPRETED

ENVIRONMENT = {"CUDA_LAUNCH_BLOCKING": "1"}
"""Read by CUDA and by the launch recorder."""


def deadline_s(evidence: Evidence, timeout_s: float) -> float:
    """Timeout of a call in the second run; at most that of the first."""
    hung_s = (evidence.exit.deadline_s or 0.0) if evidence.exit else 0.0
    took_s = sum(evidence.stages_s.get(stage, 0.0) for stage in ("construct", "rounds"))
    return min(timeout_s, limits.SECOND_S + limits.AGAIN_FACTOR * max(took_s - hung_s, 0.0))


def is_wanted(verdict: Verdict, launches: Sequence[LaunchRecord], stage: str) -> bool:
    """Whether a second run could name a kernel: the device broke or a call did not end, and the submission's own kernels ran."""
    broke = verdict.category in set(DEVICE_ERRORS.values())
    hung = verdict.category is Category.TIMEOUT and stage in ("rounds", "construct")
    return (broke or hung) and any(launch.own and launch.api != INTERPRETED for launch in launches)


def find_fault(task: Task, worker_set: WorkerSet, evidence: Evidence) -> FaultEvidence | None:
    """End all workers, and run the submission again up to where it failed in `evidence`. Returns None if this names no kernel.

    Raises ProtocolError, NeedsDeviceError, ProblemError, ReferenceFailedError, SandboxUnavailable.
    """
    worker_set.make_room()
    call_s = deadline_s(evidence, task.job.timeout_s)
    try:
        worker = worker_set.fresh(environment=ENVIRONMENT)
        arguments, model = task.case.init_inputs(worker_set.launcher.seed), task.case.model(worker_set.launcher.seed, worker_set.device)
        worker_set.launcher.construct(worker, arguments, model, call_s)
        oracle, strict = Oracle(model, task.case.rows_independent), task.job.strict_inputs
        rounds = Rounds(worker, task.case, oracle, worker_set.memory, call_s, strict_inputs=strict)
        rounds.provoke(len(evidence.rounds) + 1)
    except WorkerError:
        pass  # as in the first run; the launch records show the place
    worker = worker_set.newest
    worker.end()
    if worker.launches is None:
        return None
    return culprit(worker.launches.read(), worker.exception, worker.exit is not None and worker.exit.deadline_s is not None)


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
