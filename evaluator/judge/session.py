"""One evaluation under way: how the submission is judged, its evidence, collected step by step, and the verdict from that."""

import contextlib
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Concatenate, ParamSpec

from evaluator.diagnosis import Verdict, diagnose
from evaluator.judge.again import Again, Reason
from evaluator.judge.context import Task
from evaluator.judge.correctness.oracle.reference import Reference
from evaluator.judge.roofline.minimum_time import find_minimum_time
from evaluator.judge.timing.protocols import TimingProtocol, choose
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.input_buffers import ParameterSource
from evaluator.judge.workers.jit_compilers import interpreted, lacks_interpreter, without_blame
from evaluator.problem.problem import ProblemCase
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence, ExceptionEvidence, FloorEvidence, RoundEvidence
from evaluator.sandbox import SandboxUnavailable

P = ParamSpec("P")
_UNDEFINED = re.compile(r"name '(\w{1,200})' is not defined")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Attempt:
    """How a submission is judged. Each rerun changes a field."""

    alone: bool = False
    """Whether no other evaluation may use the device."""
    source: ParameterSource = "copied"
    """Origin of the submission's parameters."""
    hurries: bool = True
    """Whether a very slow submission gets few calls. Only a timing finds that it was slow on purpose."""
    fallback: str = ""
    """Why the device's default protocol is used instead of the requested one; empty if it is not."""
    launch_lead: bool = True
    """Whether the candidate may have a launch lead."""
    outliers: bool = True
    """Whether a few values of timed calls may be outliers."""
    is_repeated: bool = False
    """Whether this repeats a timing that may still count. Then the candidate's worker stays the first timing's."""
    is_second: bool = False
    """Whether this is not the first timing."""
    keeps_models: bool = True
    """Whether workers may keep the models of all workloads."""
    only_contested: bool = False
    """Whether only workloads are timed in which the judge's clock adds to the claims."""


def _with_parameters_of(_: Callable[P, Evidence]) -> Callable[[Callable[..., None]], Callable[Concatenate["EvidenceBuilder", P], None]]:
    """Declares that a method takes the fields of the evidence, with their types."""
    return lambda method: method


class EvidenceBuilder:
    """Collects the evidence of one task."""

    def __init__(self, task: Task) -> None:
        self._context, self._problem, self._code, self._times = task.context, task.problem, task.job.code, task.times
        self.evidence = Evidence(
            device_kind=task.context.device.kind,
            sandbox=task.context.zygote.level,
            note=task.job.note,
            untimed=not task.job.is_timed,
        )
        self.rounds: list[RoundEvidence] = []
        """Rounds so far; `collect` adds them to the evidence."""

    @_with_parameters_of(Evidence)
    def note(self, **observed: Any) -> None:
        """Set these fields of the evidence."""
        self.evidence = self.evidence.model_copy(update=observed)

    def collect(self, worker: WorkerClient | None) -> None:
        """Add the candidate's records to the evidence. The candidate is killed first, so that its output is complete."""
        if worker is None:
            return
        with contextlib.suppress(SandboxUnavailable):  # a worker whose supervisor was lost has ended too, which was reported
            worker.end()
        stdout, stderr = worker.confined.output()
        self.note(
            stage=worker.stage,
            builds=tuple(worker.builds),
            launches=worker.launches.read() if worker.launches else (),
            kernel_times=worker.kernel_times,
            rounds=tuple(self.rounds),
            exception=worker.exception,
            reference_name=self._reference_name(worker.exception),
            exit=worker.exit,
            protocol_error=self.evidence.protocol_error or worker.protocol_error,
            stdout=stdout,
            stderr=stderr,
        )
        self.note_times()

    def _reference_name(self, exception: ExceptionEvidence | None) -> str:
        """The undefined name in an exception, if the reference's file defines it; else empty."""
        undefined = _UNDEFINED.match(exception.message) if exception is not None and exception.type == "NameError" else None
        return undefined[1] if undefined is not None and undefined[1] in self._problem.names else ""

    def note_times(self) -> None:
        """Note the time of each stage so far."""
        self.note(stages_s=_rounded(self._times.seconds), held_s=_rounded(self._times.held_seconds))

    def diagnose(self) -> Verdict:
        """The verdict from the evidence so far. A submission that needs a GPU gets NO_DEVICE on the CPU, unless the machine failed."""
        verdict = without_blame(diagnose(self.evidence), self.evidence.exception, self._code)
        if verdict.category.status is Status.CORRECT:
            verdict = self._in_workloads() or verdict
        elif self.evidence.workload:
            verdict = _in(self.evidence.workload, verdict)
        on_cpu = self._context.device.kind == "cpu"
        if on_cpu and verdict.category is Category.NO_TOOLCHAIN and any(build.uses_cuda for build in self.evidence.builds):
            return Verdict(Category.NO_DEVICE, f"it needs a GPU; its CUDA sources were not compiled either: {verdict.message}")
        ran = any(build.ok for build in self.evidence.builds) or interpreted(self.evidence.launches)
        if self._context.stands_in and not ran and not self._holds_without_device(verdict):
            return Verdict(Category.NO_DEVICE, f"it is judged on a GPU only ({verdict.message})")
        return verdict

    def _holds_without_device(self, verdict: Verdict) -> bool:
        """Whether the verdict has nothing to do with the missing GPU: it is about a build, a missing module, the judge or the machine."""
        exception = self.evidence.exception  # other import errors may come from a library without its device
        lacks_tool = verdict.category is Category.NO_TOOLCHAIN and (self.evidence.builds or lacks_interpreter(exception))
        of_build = verdict.category.status is Status.BUILD_FAILED or lacks_tool
        of_module = verdict.category is Category.IMPORT_ERROR and exception is not None and exception.type == "ModuleNotFoundError"
        return bool(of_build) or of_module or verdict.category is Category.INFRASTRUCTURE_ERROR

    def _in_workloads(self) -> Verdict | None:
        """The first verdict against the submission in a workload other than its case's; None if there is none."""
        timing = self.evidence.timing
        for workload in timing.workloads[1:] if timing else ():
            if workload.timing is not None:
                observed = {"timing": workload.timing, "floor": workload.floor, "ablation": workload.ablation, "own_work": None}
                verdict = diagnose(self.evidence.model_copy(update=observed))
                if verdict.category.status is not Status.CORRECT or verdict.category is Category.NO_CUSTOM_KERNEL:
                    return _in(workload.case, verdict)
        return None

    def shorten_workloads(self) -> None:
        """Shorten the stored timing of each workload to the basis of its figures. Call it after the verdict."""
        timing = self.evidence.timing
        if timing is not None and timing.workloads:
            self.note(timing=timing.model_copy(update={"workloads": tuple(each.shortened() for each in timing.workloads)}))


class Session:
    """The state of one evaluation. Its steps (evaluator.judge.procedure) change it."""

    def __init__(self, task: Task) -> None:
        self.task, self.worker_set, self.attempt = task, WorkerSet(task), Attempt()
        self.begin()

    def begin(self) -> None:
        """Forget all observations."""
        self.evidence_builder = EvidenceBuilder(self.task)
        self.form: Any = None
        """The form of the output (evaluator.judge.correctness.output_structure.form_of), after the rounds were passed."""
        self.is_slow = False
        """Whether the submission is very slow, and got few calls."""

    def use(self, attempt: Attempt) -> None:
        """Judge like this from now on."""
        self.attempt = attempt
        self.worker_set.launcher.source, self.worker_set.wants_to_be_alone = attempt.source, attempt.alone

    @property
    def reference(self) -> Reference:
        """The reference, after it was constructed."""
        assert self.worker_set.reference is not None
        return self.worker_set.reference

    @property
    def protocol(self) -> TimingProtocol:
        """The timing protocol."""
        job = self.task.job
        return choose(job.protocol if job.is_timed and not self.attempt.fallback else None, self.task.context.device.kind)

    def floor(self, case: ProblemCase, reference: Reference, runtime_ms: float) -> FloorEvidence | None:
        """The minimum time of a call in a case; None if it is not known."""
        device, calibration = self.worker_set.device, self.task.context.calibration
        try:
            return find_minimum_time(case, reference.model, reference.oracle, device, calibration, runtime_ms)
        except RuntimeError as error:  # no memory, or a failed measurement: then nothing contradicts the time
            log.warning("could not find the floor of %s in %s: %s", self.task.job.problem, case.name, error)
            return None

    @property
    def is_disturbed(self) -> bool:
        """Whether the device's state, or load on a CPU, disturbed the last timing."""
        conditions = self.evidence_builder.evidence.conditions
        return conditions is not None and conditions.disturbed

    @property
    def is_accused(self) -> bool:
        """Whether the evidence disqualifies the submission."""
        return self.evidence_builder.diagnose().category.status is Status.DISQUALIFIED

    @property
    def doubt(self) -> Again | None:
        """Why the timing has to be repeated; None if it has not. Flushes that were left out stand: a worker can detect a second timing."""
        evidence = self.evidence_builder.evidence
        if evidence.timing is None or self.attempt.is_repeated:
            return None
        if self.is_disturbed and evidence.conditions is not None:
            return Again(Reason.DISTURBED, evidence.conditions.remark)
        contested = [self.task.case.name] * evidence.timing.is_contested + sorted(evidence.timing.contested_workloads)
        if not contested or self.is_accused:
            return None
        return Again(Reason.CONTESTED, f"the judge's clock adds to the claimed times in {', '.join(contested)}")


def _in(workload: str, verdict: Verdict) -> Verdict:
    return replace(verdict, message=f"in the workload {workload}: {verdict.message}")


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    return {stage: round(each, 3) for stage, each in seconds.items()}
