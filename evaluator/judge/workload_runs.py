"""Runs the further workloads of a problem, besides the one with all checks: each has rounds and a time, in the same two workers.

While the candidate lives, the judge constructs each workload, runs its rounds, and times it in turns with the baseline. After the candidate
has ended, the baseline is timed alone in each. So no workload needs another worker or start of CUDA.

Without a timing there are only rounds.
"""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from evaluator.diagnosis.rules.unranked_rules import narrow_round
from evaluator.judge.context import Task
from evaluator.judge.correctness.inputs.few_rows import FewChanges
from evaluator.judge.correctness.reference import BaselineFailedError, Oracle, Reference
from evaluator.judge.correctness.rounds import Rounds, has_overflowed
from evaluator.judge.device.memory_need import memory_need
from evaluator.judge.evidence_builder import EvidenceBuilder
from evaluator.judge.roofline.minimum_time import find_minimum_time
from evaluator.judge.timing.effort import BRIEF
from evaluator.judge.timing.run import TimingRun
from evaluator.judge.timing.setup import Participants, TimedCase, TimingOptions
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.problem.problem import ProblemCase
from evaluator.results.evidence import FloorEvidence, RoundEvidence, TimingEvidence, WorkloadEvidence

log = logging.getLogger(__name__)


class WrongWorkloadError(Exception):
    """The submission is wrong in a workload. The evidence has the round."""


@dataclass
class _Timed:
    """A workload in which the submission is right."""

    case: ProblemCase
    reference: Reference
    rounds: int
    run: TimingRun


class WorkloadRuns:
    """Rounds and timings in the workloads of one task, besides one timing of its case."""

    def __init__(
        self, task: Task, worker_set: WorkerSet, evidence_builder: EvidenceBuilder, shown: Collection[str] = (), overflows: bool = False
    ) -> None:
        """`shown`: distributions for which the rounds had a right answer. overflows: outputs overflow from outliers."""
        self._task, self._worker_set, self._evidence_builder = task, worker_set, evidence_builder
        self._shown, self._overflows = set(shown), overflows
        self._timed: list[_Timed] = []
        self._unsolved: dict[str, WorkloadEvidence] = {}

    def pass_rounds(self, candidate: WorkerClient) -> bool:
        """Check the submission in each workload, and don't time it. Returns whether it is right. Raises as Rounds.run does."""
        try:
            self._in_each(candidate, lambda case, worker: self._rounds_in(case, worker)[1][-1])
        except WrongWorkloadError:
            return False
        self._evidence_builder.note(unsolved=tuple(self._unsolved))
        return True

    def time_in_turns(
        self, candidate: WorkerClient, baseline: WorkerClient, options: TimingOptions, reference: Reference, only: Collection[str] = ()
    ) -> WorkerClient:
        """Check and time the submission in each workload, or in those of `only`. Then construct the case's own models again, for their
        `reference`.

        Returns the candidate's worker: a fresh one if it ended in a workload that may be unsolved. Raises WrongWorkloadError, and the
        errors of TimingRun.time_in_turns.
        """
        launcher = self._worker_set.launcher
        brief = replace(options, effort=BRIEF)
        candidate = self._in_each(candidate, lambda case, worker: self._time_in(case, Participants(worker, baseline), brief), only)
        launcher.construct(candidate, reference.arguments, reference.model)
        launcher.load_reference(baseline)
        launcher.construct_baseline(baseline, reference.arguments, reference.model)
        return candidate

    def _in_each(
        self, candidate: WorkerClient, judge: Callable[[ProblemCase, WorkerClient], RoundEvidence], only: Collection[str] = ()
    ) -> WorkerClient:
        """Call `judge` for each workload besides the first, or those of `only`; it returns the last round. Returns the candidate's worker.

        Raises WrongWorkloadError, and the errors of `judge`.
        """
        task = self._task
        may_fail = task.problem.declaration.failed_workload == "unsolved"
        cases = [case for case in task.workloads[1:] if not only or case.name in only]
        for number, case in enumerate(cases, 2):
            task.report(f"workload {number} of {len(cases) + 1}")
            self._evidence_builder.note(workload=case.name)
            try:
                last = judge(case, candidate)
            except WorkerError:
                if not may_fail or candidate.broke_out or not candidate.failure:
                    raise
                self._unsolved[case.name] = self._evidence(case, right=False, message=candidate.failure)
                log.info("loaded again for the next workload: %s", candidate.failure)
                candidate.end()
                candidate = self._worker_set.fresh(replaces=True)
                continue
            if not last.passed and not may_fail:
                self._evidence_builder.rounds.append(last)
                raise WrongWorkloadError(case.name)
            if not last.passed:
                self._unsolved[case.name] = self._evidence(case, right=False, message=last.message)
        self._evidence_builder.note(workload="")
        return candidate

    @property
    def earlier(self) -> TimingRun | None:
        """A timing whose gates and flush later ones of the same workers must use; None if there was none."""
        return self._timed[0].run if self._timed else None

    def time_alone(self, baseline: WorkerClient, timing: TimingEvidence) -> TimingEvidence:
        """The case's timing with those in all workloads. For workloads timed before, the timing with the smaller addition counts.

        Raises as TimingRun.time_alone does.
        """
        found = {each.case: each for each in timing.workloads[1:]} | self._unsolved
        for timed in self._timed:
            self._load_baseline(baseline, timed.case, timed.reference)
            own = timed.run.time_alone()
            known = found.get(timed.case.name)
            if known is None or known.timing is None or own.late_ms < known.timing.late_ms:
                floor = self._floor(timed, own.runtime_ms)
                found[timed.case.name] = self._evidence(timed.case, right=True, timing=own, floor=floor, rounds=timed.rounds)
        first = self._evidence(self._task.workloads[0], right=True, timing=timing, rounds=len(self._evidence_builder.rounds))
        others = (found[case.name] for case in self._task.workloads[1:])
        return timing.model_copy(update={"workloads": (first, *others)})

    def _rounds_in(self, case: ProblemCase, candidate: WorkerClient) -> tuple[Reference, list[RoundEvidence], Any]:
        """The reference in a workload, the submission's rounds up to a wrong one, and the form of its output."""
        launcher, memory, deadline_s = self._worker_set.launcher, self._worker_set.memory, self._task.job.timeout_s
        with self._task.times.spending("workloads"):
            model = case.model(launcher.seed, memory.device)
            reference = Reference(model, case.init_inputs(launcher.seed), Oracle(model, case.rows_independent))
            launcher.construct_workload(candidate, case, reference.arguments, reference.model)
        with self._task.times.spending("workloads"):
            rounds = Rounds(
                candidate, case, reference.oracle, memory, deadline_s, strict_inputs=self._task.job.strict_inputs, is_brief=True
            )
            judged = list(rounds.run())
            rounds.close()
        return reference, judged, rounds.form

    def _time_in(self, case: ProblemCase, participants: Participants, options: TimingOptions) -> RoundEvidence:
        """The submission's last round in a workload. If it is right, it was timed."""
        memory, deadline_s = self._worker_set.memory, self._task.job.timeout_s
        reference, judged, form = self._rounds_in(case, participants.candidate)
        if not judged[-1].passed:
            return judged[-1]
        changes = FewChanges(case, memory.device)
        timed_case = TimedCase(
            case,
            reference.oracle,
            form,
            memory,
            deadline_s,
            few_changes=changes.only(self._shown),
            outliers=changes.outliers if self._overflows or has_overflowed(judged) else None,
            is_narrow=narrow_round([*self._evidence_builder.rounds, *judged]) is not None,
            sharers=len(self._task.workloads),
        )
        with self._task.times.spending("workloads"):
            self._load_baseline(participants.baseline, case, reference)
        run = TimingRun(participants, timed_case, options, self.earlier)
        run.time_in_turns()
        self._timed.append(_Timed(case, reference, len(judged), run))
        return judged[-1]

    def _load_baseline(self, baseline: WorkerClient, case: ProblemCase, reference: Reference) -> None:
        try:
            self._worker_set.launcher.load_reference(baseline, case)
            self._worker_set.launcher.construct_workload(baseline, case, reference.arguments, reference.model, is_baseline=True)
        except WorkerError as error:
            raise BaselineFailedError(f"the baseline's worker failed in {case.name!r}: {baseline.failure}") from error

    def _floor(self, timed: _Timed, runtime_ms: float) -> FloorEvidence | None:
        worker_set, context = self._worker_set, self._task.context
        try:
            asked = (timed.case, timed.reference.model, timed.reference.oracle, worker_set.device, context.calibration)
            return find_minimum_time(*asked, runtime_ms)
        except RuntimeError as error:  # no memory: then nothing contradicts the time
            log.warning("could not find the floor of %s in %s: %s", self._task.job.problem, timed.case.name, error)
            return None

    def _evidence(self, case: ProblemCase, **told: object) -> WorkloadEvidence:
        need = memory_need(case)
        nbytes = need.inputs_bytes if need is not None else None
        return WorkloadEvidence.model_validate({"case": case.name, "constants": case.constants, "input_bytes": nbytes, **told})
