"""One evaluation under way: how the submission is judged, and what is known so far."""

import logging
from dataclasses import dataclass
from typing import Any

from evaluator.judge.again import Again, Reason
from evaluator.judge.context import Task
from evaluator.judge.correctness.oracle.reference import Reference
from evaluator.judge.evidence_builder import EvidenceBuilder
from evaluator.judge.roofline.minimum_time import find_minimum_time
from evaluator.judge.timing.protocols import TimingProtocol, choose
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.input_buffers import ParameterSource
from evaluator.problem.problem import ProblemCase
from evaluator.results.category import Status
from evaluator.results.evidence import FloorEvidence

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
