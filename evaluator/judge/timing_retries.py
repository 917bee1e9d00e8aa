"""The timings of one submission: when one is repeated, and which of two counts. One timing is evaluator.judge.timing.run.

- If the protocol does not fit, the device's default is used instead.
- If the device's state disturbed a timing, it is repeated with fresh workers.
- If the judge's clock adds to a GPU's claims, the timing is repeated too. That clock also sees the device change between processes,
  which may take longer throughout a timing and must not be charged. An accusation stands: a worker can tell that it is timed again.
- If a candidate had a launch lead and can't be held behind the gate after all, only a timing without a lead counts.
"""

import logging
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from evaluator.judge.context import Task
from evaluator.judge.correctness.check import KnownErrors
from evaluator.judge.correctness.inputs.few_rows import FewChanges
from evaluator.judge.correctness.inputs.round_inputs import OWN
from evaluator.judge.correctness.reference import BaselineFailedError, Reference
from evaluator.judge.device.cuda_start_limit import no_cuda_starts
from evaluator.judge.device.gpu_monitor import watch_of
from evaluator.judge.evidence_builder import EvidenceBuilder
from evaluator.judge.timing.extra_baselines import COMPILE, ExtraBaselines, call_once
from evaluator.judge.timing.protocols import TimingProtocol, choose
from evaluator.judge.timing.run import TimingRun, UnevenError, UnfitProtocolError
from evaluator.judge.timing.setup import Participants, TimedCase, TimingOptions
from evaluator.judge.timing.spot_check import WrongAnswerError
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.problem.input_drawing import fresh_seed
from evaluator.results.category import Status
from evaluator.results.evidence import TimingEvidence
from evaluator.worker.protocol import ProtocolError

COMPILE_S = 300.0
"""Deadline of the first call of what torch.compile has wrapped."""

log = logging.getLogger(__name__)


class TimingRetries:
    """Times the candidate of a worker_set, once it has passed the rounds, and notes the evidence."""

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
        """`form` is what an answer looks like (evaluator.judge.correctness.output_structure.form_of). A candidate that `is_slow` by far is
        asked for few calls."""
        self._task, self._worker_set, self._evidence_builder = task, worker_set, evidence_builder
        self._reference, self._form, self._protocol = reference, form, protocol
        self._is_slow, self._leads = is_slow, True
        """Whether the candidate may have a launch lead."""
        self._fallback = ""
        """Why that is not the protocol that was asked for, where it is not."""

    def run(self, candidate: WorkerClient, baseline: WorkerClient) -> None:
        """Raises NotSlowError, BaselineFailedError, WorkerError, ProtocolError, ProblemError, ReferenceFailedError, SandboxUnavailable."""
        try:
            self._evidence_builder.note(timing=self._first_timing(candidate, baseline))
        except WrongAnswerError as error:
            self._evidence_builder.note(wrong_timed_answer=error.evidence)
        except WorkerError as error:
            failure = self._worker_set.baseline.failure if self._worker_set.baseline else baseline.failure
            if failure:
                raise BaselineFailedError(f"the baseline's worker failed: {failure}") from error
            raise

    @property
    def is_doubtful(self) -> bool:
        """Whether the timing should be repeated."""
        timing = self._evidence_builder.evidence.timing
        return timing is not None and (self._is_disturbed or (timing.is_contested and not self._is_accused))

    @property
    def _is_disturbed(self) -> bool:
        conditions = self._evidence_builder.evidence.conditions
        return conditions is not None and conditions.disturbed

    @property
    def _is_accused(self) -> bool:
        return self._evidence_builder.diagnose().category.status is Status.DISQUALIFIED

    def repeat(self) -> None:
        """Time once more, with fresh workers, and choose which timing counts.

        If the device was shared or throttled, the second timing counts, even if it is disturbed too. Otherwise it counts if it is
        undisturbed, accuses nobody, and less is added to its claims. If it fails, the first one stands; but an answer that is wrong in it
        is as wrong as one in the first.
        """
        self._task.report("second timing")
        before, first = self._evidence_builder.evidence.conditions, self._evidence_builder.evidence.timing
        assert first is not None
        was_disturbed = self._is_disturbed
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
        except WrongAnswerError as error:
            self._evidence_builder.note(timing=None, wrong_timed_answer=error.evidence)
        except Exception as error:  # whatever else it is: the first timing stands
            log.info("the second timing of %s comes to nothing: %s", self._task.job.submission, error, exc_info=True)
            self._evidence_builder.note(timing=first, conditions=before)
            self._hold_against(error)
        finally:
            self._worker_set.end_all()
            self._worker_set.lock.acquire_alone()

    def _first_timing(self, candidate: WorkerClient, baseline: WorkerClient) -> TimingEvidence:
        try:
            try:
                return self._time("timing", candidate, baseline)
            except UnfitProtocolError as error:
                return self._time_by_default(error)
        except UnevenError:
            log.info("%s is timed anew without a launch lead", self._task.job.submission)
            self._task.report("timing anew")
            self._leads = False
            return self._second_timing(takes_over=True)

    def _time(self, name: str, candidate: WorkerClient, baseline: WorkerClient) -> TimingEvidence:
        """One timing; the states of the device meanwhile are noted."""
        own = [found.outputs for found in self._evidence_builder.rounds if found.distribution == OWN and found.outputs]
        memory, deadline_s = self._worker_set.memory, self._task.job.timeout_s
        shown = {found.distribution for found in self._evidence_builder.rounds if found.passed and not found.message}
        few_changes = FewChanges(self._task.case, memory.device).only(shown)
        timed_case = TimedCase(
            self._task.case, self._reference.oracle, self._form, memory, deadline_s, KnownErrors.of(own), few_changes=few_changes
        )
        options = TimingOptions(self._protocol, launch_lead=self._leads, is_slow=self._is_slow)
        with self._task.times.spending("wait"):
            self._worker_set.lock.acquire_alone()
        quiet = no_cuda_starts(self._task.context.device.unique_id) if timed_case.on_device else nullcontext()
        with ExtraBaselines(self._task.job.baselines) as further, quiet:
            further.start(self._start_further)
            participants = Participants(candidate, baseline, further.workers)
            watch = watch_of(self._task.context.device)
            if watch is None:
                timing = TimingRun(participants, timed_case, replace(options, cores=self._task.context.cores)).run()
            else:
                try:
                    pid = baseline.channel.peer_pid
                    with watch.timing(name, [] if pid is None else [pid]):
                        timing = TimingRun(participants, timed_case, replace(options, look=watch.look)).run()
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
            call_once(worker, memory, self._task.case.inputs(fresh_seed(), memory.device), COMPILE_S)
        except BaseException as error:
            worker.close()
            if isinstance(error, WorkerError):
                raise WorkerError(worker.failure) from error
            raise
        return worker

    def _time_by_default(self, error: UnfitProtocolError) -> TimingEvidence:
        """Time by the device's default protocol, with fresh workers: the protocol that was asked for does not fit."""
        log.info("%s can't be timed by the protocol %s: %s", self._task.job.submission, self._protocol.name, error)
        self._task.report("timing by default")
        self._fallback = f"{self._protocol.name}: {error}"
        self._protocol = choose(None, self._task.context.device.kind)
        return self._second_timing(takes_over=True)

    def _second_timing(self, *, takes_over: bool = False) -> TimingEvidence:
        """Time with fresh workers. While these start and load, others may have the device.

        If the new worker `takes_over`, what it does counts as the candidate's.
        """
        worker_set = self._worker_set
        worker_set.close_baseline()  # a process of its own may be why the first one is doubtful
        worker_set.make_room()
        worker = worker_set.fork()
        before = worker_set.candidate if takes_over else None
        if before is not None:
            worker_set.candidate = worker
            worker.stage = before.stage
        worker_set.launcher.greet(worker)
        worker_set.launcher.load_submission(worker)
        worker_set.take_device(worker)
        if before is not None:
            worker.stage, worker.builds = before.stage, before.builds  # its own came from the cache
        worker_set.launcher.construct(worker, self._reference.arguments, self._reference.model)
        return self._time("second timing", worker, worker_set.start_baseline())

    def _hold_against(self, error: Exception) -> None:
        """Note a break of the protocol or out of the sandbox: it counts in the second timing as in the first."""
        first, second = self._worker_set.candidate, self._worker_set.workers[-1]
        if first is None or second is first:
            return  # there was none
        if isinstance(error, ProtocolError):
            second.protocol_error = second.protocol_error or str(error)[:2000]
        if second.broke_out:
            self._worker_set.candidate = second
            self._evidence_builder.note(timing=None)
