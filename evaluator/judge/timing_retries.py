"""The timings of one submission: when to repeat one, and which of two counts. One timing is evaluator.judge.timing.run.

- If the protocol does not fit, the device's default is used instead.
- If the device's state, or load on a CPU, disturbed a timing, it is repeated with fresh workers.
- If the judge's clock adds to a GPU's claims, the timing is repeated too. That clock includes switches of the device between processes,
  which may be slower throughout a timing and must not be charged. Flushes that were left out stand: a worker can detect a second timing.
- If that clock adds to the claims only in workloads, these are timed again. For each, the timing with the smaller addition counts.
- If a candidate had a launch lead, but can't be held behind the gate, only a timing without a lead counts.
- If an output of a timed call overflows because of outliers, only a timing without them counts.
"""

import logging
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from evaluator.diagnosis.rules.unranked_rules import narrow_round
from evaluator.judge import limits
from evaluator.judge.context import Task
from evaluator.judge.correctness.inputs.few_rows import FewChanges
from evaluator.judge.correctness.reference import BaselineFailedError, Reference
from evaluator.judge.correctness.rounds import has_overflowed
from evaluator.judge.device.cuda_start_limit import no_cuda_starts
from evaluator.judge.device.gpu_monitor import watch_of
from evaluator.judge.evidence_builder import EvidenceBuilder
from evaluator.judge.timing.checks.spot_check import OverflowedError, WrongAnswerError
from evaluator.judge.timing.extra_baselines import COMPILE, ExtraBaselines, call_once
from evaluator.judge.timing.protocols import TimingProtocol, choose
from evaluator.judge.timing.run import TimingRun, UnevenError, UnfitProtocolError
from evaluator.judge.timing.setup import Participants, TimedCase, TimingOptions
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workload_runs import WorkloadRuns, WrongWorkloadError
from evaluator.problem.input_drawing import fresh_seed
from evaluator.results.category import Status
from evaluator.results.distributions import OUTLIERS, RUNS
from evaluator.results.evidence import ConditionsEvidence, TimingEvidence
from evaluator.worker.protocol import ProtocolError

REASONS = {"a launch lead": "the submission can't be held behind the gate", "outliers": "an output overflows because of them"}
"""Why a timing is done again without something."""

log = logging.getLogger(__name__)


class TimingRetries:
    """Times the candidate of a worker_set after it has passed the rounds, and notes the evidence."""

    def __init__(
        self,
        task: Task,
        worker_set: WorkerSet,
        evidence_builder: EvidenceBuilder,
        reference: Reference,
        form: Any,
        protocol: TimingProtocol,
        *,
        is_slow: bool = False,
    ) -> None:
        """form: the form of the output (evaluator.judge.correctness.output_structure.form_of). is_slow: the candidate is very slow, and
        gets few calls."""
        self._task, self._worker_set, self._evidence_builder = task, worker_set, evidence_builder
        self._reference, self._form, self._protocol = reference, form, protocol
        self._is_slow, self._leads = is_slow, True
        """Whether the candidate may have a launch lead."""
        self._overflows = False
        """Whether an output of a timed call overflowed because of outliers."""
        self._only: frozenset[str] = frozenset()
        """The workloads that are timed again; empty if everything is."""
        self._fallback = ""
        """Why the requested protocol is not used; empty if it is."""

    def run(self, candidate: WorkerClient, baseline: WorkerClient) -> None:
        """Raises NotSlowError, BaselineFailedError, WorkerError, ProtocolError, ProblemError, ReferenceFailedError, SandboxUnavailable."""
        try:
            self._evidence_builder.note(timing=self._first_timing(candidate, baseline))
        except WrongAnswerError as error:
            self._evidence_builder.note(wrong_timed_answer=error.evidence)
        except WrongWorkloadError:
            pass  # the evidence has the round
        except WorkerError as error:
            failure = self._worker_set.baseline.failure if self._worker_set.baseline else baseline.failure
            if failure:
                raise BaselineFailedError(f"the baseline's worker failed: {failure}") from error
            raise

    @property
    def is_doubtful(self) -> bool:
        """Whether the timing should be repeated."""
        timing = self._evidence_builder.evidence.timing
        if timing is None:
            return False
        return self._is_disturbed or ((timing.is_contested or bool(timing.contested_workloads)) and not self._is_accused)

    @property
    def _doubt(self) -> str:
        """Why the timing is doubtful."""
        conditions, timing = self._evidence_builder.evidence.conditions, self._evidence_builder.evidence.timing
        if conditions is not None and conditions.disturbed:
            return conditions.remark
        assert timing is not None
        where = f" in {', '.join(sorted(timing.contested_workloads))}" if not timing.is_contested else ""
        return f"the judge's clock adds to the claimed times{where}"

    @property
    def _is_disturbed(self) -> bool:
        conditions = self._evidence_builder.evidence.conditions
        return conditions is not None and conditions.disturbed

    @property
    def _is_accused(self) -> bool:
        return self._evidence_builder.diagnose().category.status is Status.DISQUALIFIED

    def repeat(self) -> None:
        """Time again, with fresh workers, and choose which timing counts.

        If the first was disturbed, the second timing counts, even if it is disturbed too. Otherwise it counts if it is
        undisturbed, does not disqualify, and adds less to the claims. If it fails, the first one stands. A wrong answer in it counts like
        one in the first.
        """
        log.info("timed again: %s", self._doubt)
        self._task.report("second timing")
        before, first = self._evidence_builder.evidence.conditions, self._evidence_builder.evidence.timing
        assert first is not None
        was_disturbed = self._is_disturbed
        if not was_disturbed and not first.is_contested:
            self._repeat_workloads(first)
            return
        try:
            second = self._second_timing()
            self._evidence_builder.note(timing=second)
            if was_disturbed:
                after = self._evidence_builder.evidence.conditions
                assert after is not None
                told = {"repeated": True, "first_runtime_ms": first.runtime_ms, "first_baseline_ms": first.baseline_ms}
                self._evidence_builder.note(conditions=after.model_copy(update=told))
            elif self._is_disturbed or self._is_accused or second.late_ms >= first.late_ms:
                self._evidence_builder.note(timing=first.rather_than(second), conditions=before)
            else:
                self._evidence_builder.note(timing=second.rather_than(first))
        except Exception as error:  # noqa: BLE001 - any error is noted
            self._note_failed(error, first, before)
        finally:
            self._worker_set.end_all()
            self._worker_set.lock.acquire_alone()

    def _repeat_workloads(self, first: TimingEvidence) -> None:
        """Time the workloads again in which the clock adds to the claims. If that disqualifies or fails, the first timing stands."""
        before = self._evidence_builder.evidence.conditions
        try:
            self._only = first.contested_workloads
            second = self._second_timing()
            self._evidence_builder.note(timing=second)
            if self._is_accused:
                self._evidence_builder.note(timing=first)
        except Exception as error:  # noqa: BLE001 - any error is noted
            self._note_failed(error, first, before)
        finally:
            self._evidence_builder.note(conditions=before)
            self._worker_set.end_all()
            self._worker_set.lock.acquire_alone()

    def _note_failed(self, error: Exception, first: TimingEvidence, conditions: ConditionsEvidence | None) -> None:
        """Note that a second timing failed. The first one stands, but a wrong answer in the second counts too."""
        if isinstance(error, WrongAnswerError):
            self._evidence_builder.note(timing=None, wrong_timed_answer=error.evidence)
        elif isinstance(error, WrongWorkloadError):
            self._evidence_builder.note(timing=None)
        else:
            log.info("the second timing failed: %s", error, exc_info=error)
            self._evidence_builder.note(timing=first, conditions=conditions, workload="")
            self._hold_against(error)

    def _first_timing(self, candidate: WorkerClient, baseline: WorkerClient) -> TimingEvidence:
        take: Callable[[], TimingEvidence] = partial(self._time, "timing", candidate, baseline)
        while True:  # each exception can come once
            try:
                return take()
            except UnfitProtocolError as error:
                take = partial(self._time_by_default, error)
            except UnevenError:
                self._leads, take = False, partial(self._time_again, "a launch lead")
            except OverflowedError:
                self._overflows, take = True, partial(self._time_again, "outliers")

    def _time_again(self, without: str) -> TimingEvidence:
        log.info("timed again without %s: %s", without, REASONS[without])
        self._task.report("timing again")
        return self._second_timing(takes_over=True)

    @property
    def _first(self) -> TimingEvidence:
        """The timing to repeat."""
        timing = self._evidence_builder.evidence.timing
        assert timing is not None
        return timing

    def _time(self, name: str, candidate: WorkerClient, baseline: WorkerClient) -> TimingEvidence:
        """Make one timing, and note the states of the device meanwhile."""
        memory, deadline_s = self._worker_set.memory, self._task.job.timeout_s
        shown = {found.distribution for found in self._evidence_builder.rounds if found.passed and not found.message}
        if self._overflows:
            shown = shown - {OUTLIERS} | {RUNS}
        overflows = self._overflows or has_overflowed(self._evidence_builder.rounds)
        changes = FewChanges(self._task.case, memory.device)
        timed_case = TimedCase(
            self._task.case,
            self._reference.oracle,
            self._form,
            memory,
            deadline_s,
            few_changes=changes.only(shown),
            outliers=changes.outliers if overflows else None,
            is_narrow=narrow_round(self._evidence_builder.rounds) is not None,
        )
        options = TimingOptions(self._protocol, launch_lead=self._leads, is_slow=self._is_slow)
        with self._task.times.spending("wait"):
            self._worker_set.lock.acquire_alone()
        quiet = no_cuda_starts(self._task.context.device.unique_id) if timed_case.on_device else nullcontext()
        with ExtraBaselines(self._task.job.baselines) as further, quiet:
            further.start(self._start_further)
            workloads = (
                WorkloadRuns(self._task, self._worker_set, self._evidence_builder, shown, overflows) if self._task.workloads else None
            )

            def take_time(options: TimingOptions) -> TimingEvidence:
                if workloads is None:
                    return TimingRun(Participants(candidate, baseline, further.workers), timed_case, options).run()
                own = workloads.time_in_turns(candidate, baseline, options, self._reference, self._only)
                if self._only:
                    own.end()
                    return workloads.time_alone(baseline, self._first)
                timing = TimingRun(Participants(own, baseline, further.workers), timed_case, options, workloads.earlier).run()
                return workloads.time_alone(baseline, timing)

            watch = watch_of(self._task.context.device)
            if watch is None:
                timing = take_time(replace(options, cores=self._task.context.cores))
                conditions = ConditionsEvidence(slow_requests=timing.has_slow_requests, crowded=timing.longest_wait)
                self._evidence_builder.note(conditions=conditions)
            else:
                try:
                    pid = baseline.channel.peer_pid
                    with watch.timing(name, [] if pid is None else [pid]):
                        timing = take_time(replace(options, look=watch.look))
                finally:
                    self._evidence_builder.note(device_states=(*self._evidence_builder.evidence.device_states, *watch.states))
                self._evidence_builder.note(conditions=watch.conditions())
        return timing.model_copy(update={"fallback": self._fallback, "failed_baselines": further.failures | timing.failed_baselines})

    def _start_further(self, kind: str) -> WorkerClient:
        """A worker of the reference under torch.compile that has been called once. Raises WorkerError with the reason."""
        launcher, memory = self._worker_set.launcher, self._worker_set.memory
        worker = launcher.fork()
        try:
            launcher.greet(worker)
            launcher.load_reference(worker)
            launcher.construct_baseline(worker, self._reference.arguments, self._reference.model, compiled=kind == COMPILE)
            call_once(worker, memory, self._task.case.inputs(fresh_seed(), memory.device), limits.COMPILE_S)
        except BaseException as error:
            worker.close()
            if isinstance(error, WorkerError):
                raise WorkerError(worker.failure) from error
            raise
        return worker

    def _time_by_default(self, error: UnfitProtocolError) -> TimingEvidence:
        """Time by the device's default protocol, with fresh workers, since the requested protocol does not fit."""
        log.info("timed again by the default protocol: %s: %s", self._protocol.name, error)
        self._task.report("timing by default")
        self._fallback = f"{self._protocol.name}: {error}"
        self._protocol = choose(None, self._task.context.device.kind)
        return self._second_timing(takes_over=True)

    def _second_timing(self, *, takes_over: bool = False) -> TimingEvidence:
        """Time with fresh workers. While these start and load, others may have the device.

        takes_over: the new worker replaces the candidate.
        """
        worker_set = self._worker_set
        worker_set.close_baseline()  # its process may be why the first timing is doubtful
        worker_set.make_room()
        worker = worker_set.fresh(replaces=takes_over)
        worker_set.launcher.construct(worker, self._reference.arguments, self._reference.model)
        return self._time("second timing", worker, worker_set.start_baseline())

    def _hold_against(self, error: Exception) -> None:
        """Note a break of the protocol or out of the sandbox: it counts in both timings."""
        first, second = self._worker_set.candidate, self._worker_set.newest
        if first is None or second is first:
            return  # there was none
        if isinstance(error, ProtocolError):
            second.protocol_error = second.protocol_error or str(error)[:2000]
        if second.broke_out:
            self._worker_set.candidate = second
            self._evidence_builder.note(timing=None)
