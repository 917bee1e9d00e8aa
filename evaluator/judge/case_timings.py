"""The timings of one submission in its case and in all other workloads, in the same two workers, on a device that is watched meanwhile.

First the judge constructs each workload and runs its rounds. Then it has the device alone, and times each workload in turns with the
baseline; in the end the case, whose rounds are passed already. After the candidate has ended, the baseline is timed alone in each. Workers
keep the models of all workloads, if they fit, so that none is constructed while others wait. Without a timing there are only rounds.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from evaluator.diagnosis.rules.unranked_rules import narrow_round
from evaluator.judge import limits
from evaluator.judge.correctness.inputs.few_rows import FewChanges
from evaluator.judge.correctness.oracle.reference import BaselineFailedError, Reference
from evaluator.judge.correctness.rounds import Rounds, has_overflowed
from evaluator.judge.device.cuda_start_limit import no_cuda_starts
from evaluator.judge.device.gpu_monitor import watch_of
from evaluator.judge.device.memory_need import memory_need
from evaluator.judge.failures import missed_beside_others
from evaluator.judge.session import Session
from evaluator.judge.timing.effort import BRIEF, FULL
from evaluator.judge.timing.extra_baselines import COMPILE, ExtraBaselines, call_once
from evaluator.judge.timing.run import TimingRun
from evaluator.judge.timing.setup import Participants, TimedCase, TimingOptions
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.results.distributions import OUTLIERS, RUNS
from evaluator.results.evidence import ConditionsEvidence, RoundEvidence, TimingEvidence, WorkloadEvidence

log = logging.getLogger(__name__)


@dataclass
class _Judged:
    """A case, and the submission's rounds in it."""

    case: ProblemCase
    reference: Reference
    form: Any
    """The form of the output (evaluator.judge.correctness.output_structure.form_of)."""
    rounds: list[RoundEvidence]


class CaseTimings:
    """Rounds and timings in all cases of one task, by its session's attempt."""

    def __init__(self, session: Session, candidate: WorkerClient) -> None:
        self._session, self._attempt = session, session.attempt
        self._task, self._worker_set, self._evidence_builder = session.task, session.worker_set, session.evidence_builder
        self._memory, self._launcher = self._worker_set.memory, self._worker_set.launcher
        self.candidate = candidate
        """The candidate's worker: another one after it ended in a workload that may be unsolved."""
        shown = {found.distribution for found in self._evidence_builder.rounds if found.passed and not found.is_left_out}
        self._shown = shown if self._attempt.outliers else shown - {OUTLIERS} | {RUNS}
        """Distributions for which the rounds had a right answer."""
        self._first = self._evidence_builder.evidence.timing if self._attempt.only_contested else None
        """The timing of which only contested workloads are timed again."""
        self._judged: list[_Judged] = []
        """Workloads whose rounds were passed."""
        self._timed: list[tuple[_Judged, TimingRun]] = []
        self._unsolved: dict[str, WorkloadEvidence] = {}
        self._keeps_models = self._attempt.keeps_models and self._worker_set.keeps_models
        self._may_fail = self._task.problem.declaration.failed_workload == "unsolved"

    @property
    def _times_own(self) -> bool:
        """Whether the case itself is timed, not only workloads besides it."""
        return self._first is None or self._first.is_contested

    @property
    def kept_models(self) -> bool:
        """Whether workers keep models of several workloads."""
        return self._keeps_models and bool(self._judged)

    def pass_rounds(self) -> bool:
        """Run the rounds of each workload besides the first. Returns whether the submission may go on. Raises as Rounds.run does."""
        first = self._first
        cases = [case for case in self._task.workloads[1:] if first is None or case.name in first.contested_workloads]
        for number, case in enumerate(cases, 2):
            self._task.report(f"workload {number} of {len(cases) + 1}")
            with self._workload(case):
                judged = self._rounds_in(case)
                last = judged.rounds[-1]
                if last.passed:
                    self._judged.append(judged)
                elif self._may_fail:
                    self._unsolved[case.name] = self._evidence(case, right=False, message=last.message)
                else:
                    self._evidence_builder.rounds.append(last)
                    return False
        self._evidence_builder.note(workload="", unsolved=() if self._task.job.is_timed else tuple(self._unsolved))
        return True

    @contextmanager
    def _workload(self, case: ProblemCase) -> Iterator[None]:
        """Note what the body of `with` is about. If the candidate fails there, and a workload may be unsolved, another worker goes on."""
        self._evidence_builder.note(workload=case.name)
        try:
            yield
        except WorkerError as error:
            may_go_on = self._may_fail and self.candidate.failure and not self.candidate.broke_out
            if not may_go_on or missed_beside_others(self._worker_set, error):
                raise
            self._unsolved[case.name] = self._evidence(case, right=False, message=self.candidate.failure)
            log.info("loaded again for the next workload: %s", self.candidate.failure)
            self.candidate.end()
            self.candidate = self._worker_set.fresh(replaces=True)

    def run(self, baseline: WorkerClient) -> TimingEvidence:
        """Time the candidate, and note the states of the device meanwhile.

        Raises Again, WrongAnswerError, BaselineFailedError, WorkerError, ProtocolError, ProblemError, ReferenceFailedError,
        SandboxUnavailable.
        """
        device = self._task.context.device
        options = TimingOptions(self._session.protocol, launch_lead=self._attempt.launch_lead, is_slow=self._session.is_slow)
        with self._task.times.spending("wait"):
            self._worker_set.lock.acquire_exclusive()
        quiet = no_cuda_starts(device.unique_id) if self._worker_set.device.type == "cuda" else nullcontext()
        with ExtraBaselines(self._task.job.baselines) as further, quiet:
            if self._times_own:
                further.start(self._start_further)
            watch = watch_of(device)
            if watch is None:
                timing = self._time(baseline, further.workers, replace(options, cores=self._task.context.cores))
                conditions = ConditionsEvidence(slow_requests=timing.has_slow_requests, crowded=timing.longest_wait)
            else:
                try:
                    pid = baseline.channel.peer_pid
                    with watch.timing("second timing" if self._attempt.is_second else "timing", [] if pid is None else [pid]):
                        timing = self._time(baseline, further.workers, replace(options, look=watch.look))
                finally:
                    self._evidence_builder.note(device_states=(*self._evidence_builder.evidence.device_states, *watch.states))
                conditions = watch.conditions()
        self._evidence_builder.note(conditions=conditions)
        failures = {kind: told for kind, told in (further.failures | timing.failed_baselines).items() if kind not in timing.others}
        return timing.model_copy(update={"fallback": self._attempt.fallback, "failed_baselines": failures})

    def _start_further(self, kind: str) -> WorkerClient:
        """A worker of the reference under torch.compile that has been called once. Raises WorkerError with the reason."""
        launcher, memory, reference = self._launcher, self._memory, self._session.reference
        worker = launcher.fork()
        try:
            launcher.greet(worker)
            launcher.load_reference(worker)
            launcher.construct_baseline(worker, reference.arguments, reference.model, compiled=kind == COMPILE)
            call_once(worker, memory, self._task.case.inputs(fresh_seed(), memory.device), limits.COMPILE_S)
        except BaseException as error:
            worker.close()
            if isinstance(error, WorkerError):
                raise WorkerError(worker.failure) from error
            raise
        return worker

    def _time(self, baseline: WorkerClient, others: Mapping[str, WorkerClient], options: TimingOptions) -> TimingEvidence:
        """The timing in each workload, and then in the case itself; only where it is contested, if there is a first timing."""
        if self._task.workloads:
            options = replace(options, effort=BRIEF)
        for judged in self._judged:
            with self._workload(judged.case):
                self._time_in_turns(judged, baseline, {}, options)
        self._evidence_builder.note(workload="")
        if self._times_own:
            own = _Judged(self._task.case, self._session.reference, self._session.form, [])
            # Of several workloads, the kernels are timed in the case alone.
            self._time_in_turns(own, baseline, others, replace(options, effort=replace(options.effort, kernels=FULL.kernels)))
        with self._task.times.spending("end of candidate"):
            self.candidate.end()
        return self._time_alone(baseline)

    def _rounds_in(self, case: ProblemCase) -> _Judged:
        """The submission's rounds in a workload, up to a wrong one."""
        job, candidate, keeps = self._task.job, self.candidate, self._keeps_models
        given = self._evidence_builder.evidence.parameters
        by_name = given is None or not (given.source == "drawn" or given.kept or given.unmatched)
        reference = self._worker_set.reference_in(case, anywhere=by_name)  # other submissions draw their own, by the seed, on the CPU
        self._launcher.construct(candidate, reference.arguments, reference.model, case, keeps=keeps)
        if keeps:
            self._worker_set.construct_also(case, reference)
        strict = job.strict_inputs
        rounds = Rounds(candidate, case, reference.oracle, self._memory, job.timeout_s, strict_inputs=strict, is_brief=True)
        judged = list(rounds.run())
        rounds.close()
        return _Judged(case, reference, rounds.form, judged)

    def _time_in_turns(self, judged: _Judged, baseline: WorkerClient, others: Mapping[str, WorkerClient], options: TimingOptions) -> None:
        case, reference, participants = judged.case, judged.reference, Participants(self.candidate, baseline, others)
        if not self.candidate.choose(case.name, limits.LOAD_S):
            self._launcher.construct(self.candidate, reference.arguments, reference.model, case)
        self._choose_baseline(baseline, judged)
        changes = FewChanges(judged.case, self._memory.device)
        rounds = [*self._evidence_builder.rounds, *judged.rounds]
        timed_case = TimedCase(
            judged.case,
            judged.reference.oracle,
            judged.form,
            self._memory,
            self._task.job.timeout_s,
            few_changes=changes.only(self._shown),
            outliers=changes.outliers if not self._attempt.outliers or has_overflowed(rounds) else None,
            is_narrow=narrow_round(rounds) is not None,
            sharers=max(len(self._task.workloads), 1),
        )
        run = TimingRun(participants, timed_case, options, self._timed[0][1] if self._timed else None)
        run.time_in_turns()
        self._timed.append((judged, run))

    def _time_alone(self, baseline: WorkerClient) -> TimingEvidence:
        """The case's timing with those in all workloads. Of two timings of a workload, the one with the smaller addition counts.

        Raises as TimingRun.time_alone does.
        """
        timing = first = self._first
        earlier = first.workloads[1:] if first is not None else ()
        found = {each.case: each for each in earlier} | self._unsolved
        while self._timed:
            judged, run = self._timed.pop()  # with the memory of its inputs, once it has been timed
            self._choose_baseline(baseline, judged)
            if judged.case is self._task.case:
                timing = run.time_alone().or_lesser(first)
                continue
            own, known = run.time_alone(), found.get(judged.case.name)
            if known is None or known.timing is None or own.late_ms < known.timing.late_ms:
                floor, rounds = self._session.floor(judged.case, judged.reference, own.runtime_ms), len(judged.rounds)
                found[judged.case.name] = self._evidence(judged.case, right=True, timing=own, floor=floor, rounds=rounds)
        assert timing is not None
        if not self._task.workloads:
            return timing
        whole = self._evidence(self._task.workloads[0], right=True, timing=timing, rounds=len(self._evidence_builder.rounds))
        return timing.model_copy(update={"workloads": (whole, *(found[case.name] for case in self._task.workloads[1:]))})

    def _choose_baseline(self, baseline: WorkerClient, judged: _Judged) -> None:
        case, reference = judged.case, judged.reference
        try:
            if not baseline.choose(case.name, limits.LOAD_S):
                self._launcher.construct_baseline(baseline, reference.arguments, reference.model, case)
        except WorkerError as error:
            raise BaselineFailedError(f"the baseline's worker failed in {case.name!r}: {baseline.failure}") from error

    def _evidence(self, case: ProblemCase, **told: object) -> WorkloadEvidence:
        need = memory_need(case)
        nbytes = need.inputs_bytes if need is not None else None
        return WorkloadEvidence.model_validate({"case": case.name, "constants": case.constants, "input_bytes": nbytes, **told})
