"""Errors that end an evaluation: whose fault each is, and the verdict if it is not the submission's."""

import contextlib
import logging
import traceback

from evaluator.diagnosis import Verdict
from evaluator.diagnosis.rules.build_rules import build_message
from evaluator.judge.context import Task
from evaluator.judge.correctness.oracle.reference import BaselineFailedError, ReferenceFailedError
from evaluator.judge.device.memory_need import memory_bytes_of, memory_need
from evaluator.judge.integrity.ablation import AblationFailedError
from evaluator.judge.integrity.worker_end import ran_late
from evaluator.judge.session import Session
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.build_broker import BuilderFailedError, NeedsDeviceError
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.jit_compilers import interpreted
from evaluator.judge.workers.out_of_memory import blame, fails_by_machine, is_shortage, ran_short
from evaluator.problem.execute import ProblemError, raised_in_file
from evaluator.results.category import Category
from evaluator.sandbox import SandboxUnavailable
from evaluator.worker.protocol import ProtocolError

NOBODYS_FAULT = (ProblemError, ReferenceFailedError, BaselineFailedError, AblationFailedError, BuilderFailedError, SandboxUnavailable)
"""Errors of the problem, the judge or the machine."""

log = logging.getLogger(__name__)


def verdict_on(session: Session, error: Exception) -> Verdict | None:
    """The verdict on an evaluation that this error ended; None if the evidence decides it."""
    evidence_builder = session.evidence_builder
    match error:
        case WorkerError():
            return None  # the worker's own record has the failure
        case ProtocolError():
            evidence_builder.note(protocol_error=str(error)[:2000])
            return None
        case NeedsDeviceError():
            return Verdict(Category.NO_DEVICE, str(error))
    if isinstance(error, NOBODYS_FAULT):
        return without_blame(session, error, str(error))
    # The judge's own device, memory or code failed. Any such error becomes evidence, and must not end the judge's process.
    log.error("the judge failed", exc_info=error)
    evidence_builder.note(detail="".join(traceback.format_exception(error))[-20_000:])
    return without_blame(session, error, f"{type(error).__name__}: {error}"[:1000])


def without_blame(session: Session, error: Exception, message: str) -> Verdict | None:
    """The verdict if the judge or the machine failed; None if the submission caused it, by using the device's memory."""
    worker_set = session.worker_set
    # A lost supervisor or device is not the submission's fault. Nor is a failure while others may have memory of the device.
    with contextlib.suppress(SandboxUnavailable, RuntimeError):
        if worker_set.lock.is_alone and (starving := blame(error, worker_set.workers, worker_set.device)) is not None:
            session.evidence_builder.note(starving=starving)
            return None
    if isinstance(error, ProblemError | ReferenceFailedError) and not fails_by_machine(error):
        return Verdict(Category.PROBLEM_ERROR, str(_named(session.task, error)))
    with contextlib.suppress(ProblemError):
        message += _memory_shortage(session.task, error)
    return Verdict(Category.INFRASTRUCTURE_ERROR, message)


def _named(task: Task, error: ProblemError | ReferenceFailedError) -> ProblemError:
    """The error with the problem's file and line."""
    if isinstance(error, ProblemError):
        return error
    path, raised = task.problem.path, error.__cause__
    return raised_in_file(path, "the reference's forward()", raised) if raised else ProblemError(path, None, str(error))


def _memory_shortage(task: Task, error: Exception) -> str:
    """The sizes of a problem for which memory ran out; empty for another error."""
    need = memory_need(task.case) if is_shortage(error) or isinstance(error, MemoryError) else None
    return f"; {need.describe(memory_bytes_of(task.context.device))}" if need is not None else ""


def missed_beside_others(worker_set: WorkerSet, error: Exception) -> str:
    """What ran out while another evaluation may have used the device, memory or time; empty if neither did. While it loads, a submission
    has no device, but may need memory of it."""
    lock, candidate = worker_set.lock, worker_set.candidate
    if not lock.is_alone and (is_shortage(error) or (candidate is not None and ran_short(candidate))):
        return "out of memory"
    return "timeout" if lock.held and not lock.is_exclusive and candidate is not None and ran_late(candidate) else ""


def require_memory(task: Task) -> None:
    """Raises NeedsDeviceError if the device's memory is too small for the problem."""
    memory_bytes = memory_bytes_of(task.context.device)
    with contextlib.suppress(ProblemError):  # it is reported when it occurs on the device
        need = memory_need(task.case)
        if need is not None and need.least_bytes > memory_bytes:
            raise NeedsDeviceError(need.describe(memory_bytes))


def require_cpu_submission(task: Task, candidate: WorkerClient) -> None:
    """Raises NeedsDeviceError if the CPU stands in for a GPU and the submission has neither a C++ extension nor a Triton kernel, and
    BuilderFailedError if it would have one on another machine."""
    ran = any(build.ok for build in candidate.builds) or (candidate.launches and interpreted(candidate.launches.read()))
    if task.context.stands_in and not ran:
        if lost := next((build for build in candidate.builds if build.category is Category.INFRASTRUCTURE_ERROR), None):
            raise BuilderFailedError(build_message(lost))
        raise NeedsDeviceError("no C++ extension of its own: it is judged on a GPU only")
