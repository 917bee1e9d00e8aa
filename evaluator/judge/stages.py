"""The stages of one evaluation in order, and the verdict if it ends before the last one."""

import contextlib
import logging
import traceback
from typing import Any

import torch

from evaluator.diagnosis import Verdict
from evaluator.diagnosis.rules.build_rules import build_message
from evaluator.diagnosis.rules.output_rules import OF_VALUES
from evaluator.job import Job
from evaluator.judge import blocking_rerun
from evaluator.judge.context import JudgeContext, ReportStage, Task
from evaluator.judge.correctness.reference import BaselineFailedError, Oracle, Reference, ReferenceFailedError
from evaluator.judge.correctness.rounds import Rounds
from evaluator.judge.device.memory_need import memory_bytes_of, memory_need
from evaluator.judge.evidence_builder import EvidenceBuilder
from evaluator.judge.integrity.ablation import AblationFailedError
from evaluator.judge.integrity.worker_end import ran_late
from evaluator.judge.post_checks import PostChecks
from evaluator.judge.timing.protocols import choose
from evaluator.judge.timing.run import NotSlowError
from evaluator.judge.timing_retries import TimingRetries
from evaluator.judge.tool import Tool, tool
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.build_broker import BuilderFailedError, NeedsDeviceError
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.input_buffers import Constructed
from evaluator.judge.workers.jit_compilers import interpreted
from evaluator.judge.workers.out_of_memory import blame, fails_by_machine, is_shortage, ran_short
from evaluator.judge.workload_runs import WorkloadRuns
from evaluator.problem.execute import ProblemError, raised_in_file
from evaluator.problem.problem import Problem, ProblemCase
from evaluator.problem.shapes import other_shapes
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence
from evaluator.sandbox import SandboxUnavailable
from evaluator.worker.protocol import ProtocolError

RANKABLE = (Category.OK, Category.REDUCED_PRECISION, Category.UNTIMED)
"""Categories that are ranked, may be on request, or would be with times."""

NOBODYS_FAULT = (ProblemError, ReferenceFailedError, BaselineFailedError, AblationFailedError, BuilderFailedError, SandboxUnavailable)
"""Errors of the problem, the judge or the machine."""

log = logging.getLogger(__name__)


class Stages:
    """Judges one submission: call `run` once, then read `evidence`, then `close`."""

    def __init__(
        self,
        context: JudgeContext,
        job: Job,
        problem: Problem,
        case: ProblemCase,
        report: ReportStage,
        workloads: tuple[ProblemCase, ...] = (),
    ) -> None:
        """`workloads`: all workloads to time, if any; the first is the case itself, under its own name."""
        self._task = Task(context, job, problem, case, report, workloads)
        self._worker_set = WorkerSet(self._task)
        self._protocol = choose(job.protocol if job.is_timed else None, context.device.kind)
        self._evidence_builder = EvidenceBuilder(self._task)
        self._constructed: Constructed | None = None
        """The candidate's report on its model, after construction."""
        self._form: Any = None
        """The form of the output, after the rounds were passed."""
        self._hurries = job.is_timed
        """Whether a very slow submission gets few calls. Only a timing finds that it was slow on purpose."""
        self._is_slow = False
        """Whether the submission is very slow, and got few calls."""
        self._verdict: Verdict | None = None

    @property
    def evidence(self) -> Evidence:
        """The evidence so far."""
        return self._evidence_builder.evidence

    def run(self) -> Verdict:
        """Judge as far as the submission gets, and return its verdict."""
        verdict = self._attempt()
        evidence_builder = self._evidence_builder
        self._worker_set.dismiss()
        evidence_builder.collect(self._worker_set.candidate)
        verdict = verdict or evidence_builder.diagnose()
        if blocking_rerun.is_wanted(verdict, self.evidence.launches, self.evidence.stage):
            self._run_again()
            verdict = evidence_builder.diagnose()
        if self._task.context.sanitizer is not None and (sanitizer := tool("sanitizer")).applies(self._task, verdict, self.evidence):
            self._examine(sanitizer)
        self._verdict = verdict
        evidence_builder.shorten_workloads()
        return verdict

    def _attempt(self) -> Verdict | None:
        """Judge as far as the submission gets. Returns a verdict only if the evidence does not decide it."""
        try:
            try:
                self._judge()
            except Exception as error:
                if not (missed := self._missed_beside_others(error)):
                    raise
                log.info("judged again, alone on the device: %s beside another submission", missed)
                self._judge_alone()
        except WorkerError:
            pass  # the worker's own record has the failure
        except ProtocolError as error:
            self._evidence_builder.note(protocol_error=str(error)[:2000])
        except NeedsDeviceError as error:
            return Verdict(Category.NO_DEVICE, str(error))
        except NOBODYS_FAULT as error:
            return self._without_blame(error, str(error))
        # The judge's own device, memory or code failed. Any such error becomes evidence, and must not end the judge's process.
        except Exception as error:
            log.exception("the judge failed")
            self._evidence_builder.note(detail=traceback.format_exc()[-20_000:])
            return self._without_blame(error, f"{type(error).__name__}: {error}"[:1000])
        return None

    def _missed_beside_others(self, error: Exception) -> str:
        """What ran out while another evaluation may have used the device, memory or time; empty if neither did."""
        lock, candidate = self._worker_set.lock, self._worker_set.candidate
        if lock.is_alone or not lock.held:
            return ""
        if is_shortage(error) or (candidate is not None and ran_short(candidate)):
            return "out of memory"
        return "timeout" if candidate is not None and ran_late(candidate) else ""

    def _judge_alone(self) -> None:
        """Judge again from the beginning, alone on the device."""
        self._worker_set.make_room()
        self._worker_set.wants_to_be_alone = True
        self._worker_set.launcher.source = "copied"
        self._evidence_builder = EvidenceBuilder(self._task)
        self._hurries, self._is_slow = self._task.job.is_timed, False
        self._judge()

    def close(self) -> None:
        """Kill all workers, free all memory, release the device."""
        try:
            with self._task.times.spending("end"):
                self._worker_set.close()
        finally:
            self._evidence_builder.note_times()

    def _judge(self) -> None:
        """Load, construct and check the answers. If they are right, time the submission, and run the checks after that."""
        task, worker_set = self._task, self._worker_set
        self._require_memory()
        drawn: list[torch.nn.Module | None] = []
        """The reference's model, on the CPU: random parameters of a large one take seconds."""

        def prepare() -> None:
            worker_set.prepare_baseline()
            drawn.append(task.case.drawn_model(worker_set.launcher.seed))
            if task.job.shapes != "own":
                with contextlib.suppress(Exception):  # no verdict depends on them here
                    list(other_shapes(task.problem, task.case.name))  # found once per process

        candidate = worker_set.load_candidate(prepare)
        worker_set.prepare_baseline()
        worker_set.prepare_spare()
        with task.times.spending("construct"):
            arguments = task.case.init_inputs(worker_set.launcher.seed)
            early = drawn.pop() if drawn else None
            model = early.to(worker_set.device) if early is not None else task.case.model(worker_set.launcher.seed, worker_set.device)
            reference = worker_set.reference = Reference(model, arguments, Oracle(model, task.case.rows_independent))
        if worker_set.device.type == "cuda":
            worker_set.ready_baseline()  # during the candidate's construction and rounds; on the CPU it would take their CPU time
        passed = self._pass_rounds(candidate, reference)
        if not passed and self._may_have_drawn_right():
            candidate, passed = self._try_drawn(candidate, reference)
        if passed:
            post_checks = PostChecks(task, worker_set, self._evidence_builder, reference)
            passed = self._pass_timing(candidate, reference, post_checks) if task.job.is_timed else self._pass_workloads(candidate)
        if passed:
            self._check_right(post_checks)

    def _pass_workloads(self, candidate: WorkerClient) -> bool:
        """Return whether a submission that is not timed is right in the further workloads."""
        with self._worker_set.stage(candidate, "rounds"):
            return WorkloadRuns(self._task, self._worker_set, self._evidence_builder).pass_rounds(candidate)

    def _pass_timing(self, candidate: WorkerClient, reference: Reference, post_checks: PostChecks) -> bool:
        """Time a right submission, again if the timing is doubtful. Return whether it was right in all of its rounds."""
        try:
            timing_retries = self._time(candidate, reference)
        except NotSlowError:
            candidate = self._start_again()
            if not self._pass_rounds(candidate, reference):
                return False
            timing_retries = self._time(candidate, reference)
        if timing_retries.is_doubtful:
            with self._task.times.spending("second_timing"):
                timing_retries.repeat()
        with self._task.times.spending("limits"):
            post_checks.note_limits()
        return True

    def _time(self, candidate: WorkerClient, reference: Reference) -> TimingRetries:
        """Time a right submission once. Raises NotSlowError if it was slow only in the rounds."""
        task, worker_set, evidence_builder = self._task, self._worker_set, self._evidence_builder
        retries = TimingRetries(task, worker_set, evidence_builder, reference, self._form, self._protocol, is_slow=self._is_slow)
        with candidate.entering("baseline"):
            baseline = worker_set.take_baseline()
        with worker_set.stage(candidate, "timing"):
            retries.run(candidate, baseline)
        return retries

    def _start_again(self) -> WorkerClient:
        """A fresh worker in place of the candidate's, which gets all calls even if it is slow."""
        worker_set = self._worker_set
        log.info("judged again with all calls: it was slow in its first round, but is not any more")
        self._hurries = self._is_slow = False
        self._evidence_builder.rounds = []
        worker_set.make_room(stays=True)
        return worker_set.fresh(replaces=True)

    def _check_right(self, post_checks: PostChecks) -> None:
        """Run the checks after rounds and timing. Without a timing, only those that may change the verdict."""
        evidence_builder, job = self._evidence_builder, self._task.job
        evidence_builder.collect(self._worker_set.candidate)
        self._worker_set.share_device()
        if evidence_builder.diagnose().category.status is Status.CORRECT:
            post_checks.check_problem(self._form)
        if evidence_builder.diagnose().category in RANKABLE:
            post_checks.run_ablation()
        if evidence_builder.diagnose().category in RANKABLE:
            post_checks.measure_own_work()
        tries_others = job.shapes == "strict" or (job.shapes == "others" and job.is_timed)
        if tries_others and evidence_builder.diagnose().category in RANKABLE:
            post_checks.run_changed_inputs_and_shapes()

    def _pass_rounds(self, candidate: WorkerClient, reference: Reference) -> bool:
        """Have the candidate construct its model. Returns whether its answers are right."""
        worker_set = self._worker_set
        with worker_set.stage(candidate, "construct"):
            self._constructed = worker_set.launcher.construct(candidate, reference.arguments, reference.model)
        self._evidence_builder.note(parameters=self._constructed.parameters)
        with worker_set.stage(candidate, "rounds"):
            return self._run_rounds(candidate, reference.oracle)

    def _may_have_drawn_right(self) -> bool:
        """Whether the submission is wrong with the reference's parameters, and may be right with its own random ones."""
        failed = self._evidence_builder.rounds[-1]
        return failed.category in OF_VALUES and self._constructed is not None and self._constructed.changed

    def _try_drawn(self, failed: WorkerClient, reference: Reference) -> tuple[WorkerClient, bool]:
        """Judge a fresh worker that keeps its own random parameters. If it is wrong too, the first one's answers count."""
        worker_set, evidence_builder = self._worker_set, self._evidence_builder
        before, rounds = evidence_builder.evidence, evidence_builder.rounds
        log.info("judged again with its own random parameters: wrong with the reference's")
        failed.end()
        worker_set.lock.acquire_alone()
        worker_set.launcher.source, evidence_builder.rounds = "drawn", []
        try:
            worker = worker_set.fresh(replaces=True)
            if self._pass_rounds(worker, reference):
                return worker, True
        except (WorkerError, ProtocolError):
            if worker_set.newest.broke_out:
                raise
        worker_set.newest.end()
        worker_set.launcher.source, worker_set.candidate, evidence_builder.rounds = "copied", failed, rounds
        evidence_builder.note(parameters=before.parameters)
        return failed, False

    def _run_rounds(self, candidate: WorkerClient, oracle: Oracle) -> bool:
        """Run the rounds. Returns whether the candidate's answers are right."""
        job = self._task.job
        rounds = Rounds(
            candidate,
            self._task.case,
            oracle,
            self._worker_set.memory,
            job.timeout_s,
            strict_inputs=job.strict_inputs,
            hurries=self._hurries,
        )
        for evidence in rounds.run():
            self._evidence_builder.rounds.append(evidence)
            self._evidence_builder.note(sizes=rounds.sizes)
            self._require_cpu_submission(candidate)
            if evidence.passed:
                self._worker_set.ready_baseline()
        if not self._evidence_builder.rounds[-1].passed:
            return False
        self._form, self._is_slow = rounds.form, rounds.is_slow
        rounds.close()
        self._worker_set.empty_cache()
        return True

    def _require_memory(self) -> None:
        """Raises NeedsDeviceError if the device's memory is too small for the problem."""
        memory_bytes = memory_bytes_of(self._task.context.device)
        with contextlib.suppress(ProblemError):  # it is reported when it occurs on the device
            need = memory_need(self._task.case)
            if need is not None and need.least_bytes > memory_bytes:
                raise NeedsDeviceError(need.describe(memory_bytes))

    def _memory_shortage(self, error: Exception) -> str:
        """The sizes of a problem for which memory ran out; empty for another error."""
        need = memory_need(self._task.case) if is_shortage(error) or isinstance(error, MemoryError) else None
        return f"; {need.describe(memory_bytes_of(self._task.context.device))}" if need is not None else ""

    def _require_cpu_submission(self, candidate: WorkerClient) -> None:
        """Raises NeedsDeviceError if the CPU stands in for a GPU and the submission has neither a C++ extension nor a Triton kernel, and
        BuilderFailedError if it would have one on another machine."""
        ran = any(build.ok for build in candidate.builds) or (candidate.launches and interpreted(candidate.launches.read()))
        if self._task.context.stands_in and not ran:
            if lost := next((build for build in candidate.builds if build.category is Category.INFRASTRUCTURE_ERROR), None):
                raise BuilderFailedError(build_message(lost))
            raise NeedsDeviceError("no C++ extension of its own: it is judged on a GPU only")

    def _without_blame(self, error: Exception, message: str) -> Verdict | None:
        """The verdict if the judge or the machine failed; None if the submission caused it, by using the device's memory."""
        # A lost supervisor or device is not the submission's fault. Nor is a failure while others may have the device.
        with contextlib.suppress(SandboxUnavailable, RuntimeError):
            if self._worker_set.lock.is_alone and (starving := blame(error, self._worker_set.workers, self._worker_set.device)) is not None:
                self._evidence_builder.note(starving=starving)
                return None
        if isinstance(error, ProblemError | ReferenceFailedError) and not fails_by_machine(error):
            return Verdict(Category.PROBLEM_ERROR, str(self._named(error)))
        with contextlib.suppress(ProblemError):
            message += self._memory_shortage(error)
        return Verdict(Category.INFRASTRUCTURE_ERROR, message)

    def _named(self, error: ProblemError | ReferenceFailedError) -> ProblemError:
        """The error with the problem's file and line."""
        if isinstance(error, ProblemError):
            return error
        path, raised = self._task.problem.path, error.__cause__
        return raised_in_file(path, "the reference's forward()", raised) if raised else ProblemError(path, None, str(error))

    def _run_again(self) -> None:
        """Find the kernel that broke the device, in a second run. A failure of that run does not change the verdict."""
        log.info("run again, to name the kernel that broke the device or did not end")
        self._task.report("second run")
        try:
            with self._task.times.spending("second_run"):
                self._evidence_builder.note(fault=blocking_rerun.find_fault(self._task, self._worker_set, self.evidence))
        except Exception as error:  # with any error, the verdict stands
            log.info("the second run failed: %s", error, exc_info=True)

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
                self._evidence_builder.evidence = by.run(self._task, self._worker_set, self.evidence)
        except Exception as error:  # with any error, the verdict stands
            log.info("no %s: %s", by.STAGE, error, exc_info=True)
