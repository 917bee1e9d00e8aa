"""The procedure: what is done to one submission, in which order, and what ends it.

    load    → a worker loads the submission, which may build extensions; the judge constructs the reference
    rounds  → the worker constructs the model; its outputs are compared with the reference's. The first wrong one ends it
    timing  → candidate and baseline are timed in turns; some outputs are compared. A wrong one ends it
    checks  → its own kernels, the problem, other inputs, other shapes. What disqualifies it ends them
    diagnose once, from the evidence

A step may ask for a rerun (evaluator.judge.attempts). An error ends the procedure (evaluator.judge.failures).
"""

import contextlib
import logging

from evaluator.diagnosis import Verdict
from evaluator.diagnosis.rules.output_rules import OF_VALUES
from evaluator.judge import blocking_rerun
from evaluator.judge.again import Again, Reason
from evaluator.judge.attempts import Attempts, Step
from evaluator.judge.case_timings import CaseTimings
from evaluator.judge.context import Task
from evaluator.judge.correctness.oracle.reference import BaselineFailedError
from evaluator.judge.correctness.rounds import Rounds
from evaluator.judge.failures import require_cpu_submission, require_memory, verdict_on
from evaluator.judge.post_checks import CHECKS, PostChecks
from evaluator.judge.session import Session
from evaluator.judge.timing.checks.spot_check import WrongAnswerError
from evaluator.judge.tool import Tool, tool
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.problem.shapes import other_shapes
from evaluator.results.evidence import Evidence

log = logging.getLogger(__name__)


class Procedure:
    """Judges one submission: call `run` once, then read `evidence`, then `close`."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._session = Session(task)
        self._worker_set = self._session.worker_set
        self._verdict: Verdict | None = None

    @property
    def evidence(self) -> Evidence:
        """The evidence so far."""
        return self._session.evidence_builder.evidence

    def run(self) -> Verdict:
        """Judge as far as the submission gets, and return its verdict."""
        steps = {Step.LOAD: self._load, Step.ROUNDS: self._pass_rounds, Step.TIMING: self._time, Step.CHECKS: self._check}
        verdict = None
        try:
            Attempts(self._session, steps).run()
        except Exception as error:  # noqa: BLE001 - any error ends the evaluation, not the judge
            verdict = verdict_on(self._session, error)
        self._worker_set.dismiss()
        evidence_builder = self._session.evidence_builder
        evidence_builder.collect(self._worker_set.candidate)
        verdict = verdict or evidence_builder.diagnose()
        if blocking_rerun.applies(self._task, verdict, self.evidence):
            self._examine(blocking_rerun)
            verdict = evidence_builder.diagnose()
        if self._task.context.sanitizer is not None and (sanitizer := tool("sanitizer")).applies(self._task, verdict, self.evidence):
            self._examine(sanitizer)
        self._verdict = verdict
        evidence_builder.shorten_workloads()
        return verdict

    def _load(self) -> bool:
        """Have a worker load the submission and get the device. Construct the reference."""
        task, worker_set = self._task, self._worker_set
        require_memory(task)

        def prepare() -> None:
            worker_set.prepare_baseline()
            worker_set.draw_model()
            if task.job.shapes != "own":
                with contextlib.suppress(Exception):  # no verdict depends on them here
                    list(other_shapes(task.problem, task.case.name))  # found once per process

        worker_set.load_candidate(prepare)
        worker_set.prepare_baseline()
        worker_set.prepare_spare()
        with task.times.spending("construct"):
            worker_set.reference = worker_set.reference_in(task.case)
        if worker_set.device.type == "cuda":
            worker_set.ready_baseline()  # during the candidate's construction and rounds; on the CPU it would take their CPU time
        return True

    def _pass_rounds(self) -> bool:
        """Have the candidate construct its model. Returns whether its answers are right."""
        session, worker_set, candidate = self._session, self._worker_set, self._worker_set.newest
        with worker_set.stage(candidate, "construct"):
            constructed = worker_set.launcher.construct(candidate, session.reference.arguments, session.reference.model)
        session.evidence_builder.note(parameters=constructed.parameters)
        with worker_set.stage(candidate, "rounds"):
            is_right = self._run_rounds(candidate)
        may_be_right = session.evidence_builder.rounds[-1].category in OF_VALUES and constructed.changed
        if may_be_right and session.attempt.source == "copied":
            raise Again(Reason.OWN_PARAMETERS)
        return is_right

    def _run_rounds(self, candidate: WorkerClient) -> bool:
        """Run the rounds, up to a wrong output. Returns whether there was none."""
        session, job, memory = self._session, self._task.job, self._worker_set.memory
        hurries = job.is_timed and session.attempt.hurries
        oracle, strict = session.reference.oracle, job.strict_inputs
        rounds = Rounds(candidate, self._task.case, oracle, memory, job.timeout_s, strict_inputs=strict, hurries=hurries)
        for evidence in rounds.run():
            session.evidence_builder.rounds.append(evidence)
            session.evidence_builder.note(sizes=rounds.sizes)
            require_cpu_submission(self._task, candidate)
            if not evidence.passed:
                return False
            self._worker_set.ready_baseline()
        session.form, session.is_slow = rounds.form, rounds.is_slow
        rounds.close()
        self._worker_set.empty_cache()
        return True

    def _time(self) -> bool:
        """Time a right submission. Returns whether its outputs were right meanwhile. One that is not timed only has rounds in workloads."""
        session, worker_set, timings = self._session, self._worker_set, CaseTimings(self._session, self._worker_set.newest)
        spent = "second_timing" if session.attempt.is_repeated else ""
        with timings.candidate.entering("rounds", spent or ("workloads" if self._task.workloads else "rounds")):
            if not timings.pass_rounds():
                return False
        if not self._task.job.is_timed:
            return True
        with timings.candidate.entering("baseline", spent):
            baseline = worker_set.take_baseline()
        if not session.attempt.is_second:
            self._task.report("timing")
        try:
            with timings.candidate.entering("timing", spent):
                session.evidence_builder.note(timing=timings.run(baseline))
        except (WrongAnswerError, WorkerError) as error:
            failure = (worker_set.baseline or baseline).failure
            if timings.kept_models and not timings.candidate.broke_out and not failure:
                raise Again(Reason.KEPT_MODELS, str(error)) from error
            if isinstance(error, WrongAnswerError):
                session.evidence_builder.note(wrong_timed_answer=error.evidence)
                return False
            if failure:
                raise BaselineFailedError(f"the baseline's worker failed: {failure}") from error
            raise
        if (doubt := session.doubt) is not None:
            raise doubt
        return self.evidence.timing is not None

    def _check(self) -> bool:
        """Run the checks after rounds and timing. Without a timing, only those that may change the verdict."""
        session, job, evidence_builder = self._session, self._task.job, self._session.evidence_builder
        post_checks = PostChecks(session)
        if job.is_timed:
            with self._task.times.spending("limits"):
                post_checks.note_limits()
        evidence_builder.collect(self._worker_set.candidate)
        self._worker_set.share_device()
        for check in CHECKS:
            if check.is_wanted(job) and evidence_builder.diagnose().category in check.categories:
                check.observe(post_checks)
        return True

    @property
    def profile_is_due(self) -> bool:
        """Whether `profile` is to follow; known after `run`."""
        return self._task.job.profile and self._verdict is not None and tool("profiler").applies(self._task, self._verdict, self.evidence)

    def profile(self) -> None:
        """Profile the submission and the reference."""
        self._examine(tool("profiler"))

    def _examine(self, by: Tool) -> None:
        """Have a tool examine the submission. It never changes the verdict."""
        try:
            with self._task.times.spending(by.STAGE):
                self._session.evidence_builder.evidence = by.run(self._task, self._worker_set, self.evidence)
        except Exception as error:  # with any error, the verdict stands
            log.info("no %s: %s", by.STAGE, error, exc_info=True)

    def close(self) -> None:
        """Kill all workers, free all memory, release the device."""
        try:
            with self._task.times.spending("end"):
                self._worker_set.close()
        finally:
            self._session.evidence_builder.note_times()
