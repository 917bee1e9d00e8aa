"""Checks after the rounds of a submission, and its timing if any. The candidate has ended; a check that needs a worker starts another one.

- What is the minimum time of a call?
- Does the problem accept answers that take no work?
- Do the submission's own kernels contribute to its answers, and enough?
- Is it right on inputs of other distributions, and in other shapes?
"""

import contextlib
import functools
import logging
import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from evaluator.diagnosis.notes.kernel_notes import own_share
from evaluator.job import Job
from evaluator.judge import limits
from evaluator.judge.again import Again, Reason
from evaluator.judge.correctness.oracle.reference import Reference, ReferenceFailedError
from evaluator.judge.correctness.output_structure import is_empty
from evaluator.judge.correctness.rounds import Rounds
from evaluator.judge.correctness.trial import Trial
from evaluator.judge.integrity.ablation import ablate
from evaluator.judge.integrity.other_inputs import answers_to_changed_inputs, judge_shape, not_loaded
from evaluator.judge.integrity.own_work import bound_by_time, measure_own_work
from evaluator.judge.integrity.worker_end import ran_late
from evaluator.judge.problem_check.check_lookup import effortless_answers
from evaluator.judge.roofline.peaks import cache_bytes
from evaluator.judge.roofline.speed_of_light import find_speed_of_light
from evaluator.judge.session import Session
from evaluator.judge.workers.build_broker import NeedsDeviceError
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.problem.execute import ProblemError
from evaluator.problem.problem import ProblemCase
from evaluator.problem.shapes import Shape, other_shapes
from evaluator.results.category import Category, Status
from evaluator.results.evidence import OWN_TIME_SHARE, AblationEvidence, ChangedInputsEvidence, ShapeEvidence
from evaluator.worker.protocol import ProtocolError

CHANGED_INPUTS_S = {"cuda": 0.15, "cpu": 5.0}
"""Seconds, by kind of device, after which no further distribution of inputs is tried."""
SHAPES_S = {"cuda": 0.15, "cpu": 30.0}
"""Seconds after which no further shape is tried, unless the verdict depends on shapes. On a GPU others wait meanwhile."""
DEAR_S = {"cuda": 0.3, "cpu": 30.0}
"""If constructing the model and one round took longer than this, neither is tried, unless the verdict depends on it."""

CORRECT = tuple(category for category in Category if category.status is Status.CORRECT)
RANKABLE = (Category.OK, Category.REDUCED_PRECISION, Category.UNTIMED)
"""Categories that are ranked, may be on request, or would be with times."""

log = logging.getLogger(__name__)


class PostChecks:
    """Runs the checks on one submission, and notes their evidence."""

    def __init__(self, session: Session) -> None:
        self._session, self._task, self._worker_set = session, session.task, session.worker_set
        self._evidence_builder, self._reference = session.evidence_builder, session.reference
        self._restored: WorkerClient | None = None
        """The worker of the ablation check, which launches the submission's own kernels again."""

    def note_limits(self) -> None:
        """Note the minimum time and the speed-of-light time of a call. The candidate has ended, so it slows no measurement."""
        timing = self._evidence_builder.evidence.timing
        if timing is None:
            return
        asked = (self._task.case, self._reference.model, self._reference.oracle, self._worker_set.device, self._task.context.calibration)
        try:
            self._evidence_builder.note(light=find_speed_of_light(*asked))
        except (ProblemError, ReferenceFailedError, RuntimeError, MemoryError) as error:  # no verdict depends on it
            log.warning("the speed-of-light time of %s is not known: %s", self._task.job.problem, error)
        self._evidence_builder.note(floor=self._session.floor(self._task.case, self._reference, timing.runtime_ms))

    def check_problem(self) -> None:
        """Note whether the problem accepts answers that take no work: any, if its output has no values."""
        if is_empty(self._session.form):
            self._evidence_builder.note(trivial=("any answer",))
            return
        try:
            with self._task.times.spending("problem check"):
                self._evidence_builder.note(trivial=effortless_answers(self._task.case, self._task.context.device, self._reference.oracle))
        except Exception as error:  # with any error, nothing contradicts the problem
            log.warning("the problem %s could not be checked: %s", self._task.job.problem, error, exc_info=True)

    def run_ablation(self) -> None:
        """End all workers, and call a new one that skips the submission's own kernels.

        While it starts and loads, other submissions may have the device, unless both are fast. Raises AblationFailedError, ProblemError,
        ReferenceFailedError, SandboxUnavailable.
        """
        worker, failure = self._load_without_kernels()
        found = self._ablate(worker, failure, self._task.case, self._reference)
        self._evidence_builder.note(ablation=found)
        if self._task.workloads and not found.still_right:
            worker = self._ablate_in_workloads(worker)
        if self._worker_set.device.type == "cuda" and not (worker.failure or worker.ended):
            self._restored = worker

    def _ablate(self, worker: WorkerClient, failure: Exception | None, case: ProblemCase, reference: Reference) -> AblationEvidence:
        """What a worker without own kernels answers in a case; failure: the error of its load, if any. Raises as `ablate` does."""

        def construct() -> None:
            if failure is not None:
                raise failure
            self._worker_set.launcher.construct(worker, reference.arguments, reference.model, case)

        return ablate(worker, construct, lambda: self._trial(worker, case, reference))

    def _ablate_in_workloads(self, worker: WorkerClient) -> WorkerClient:
        """Run the ablation check in each solved workload, until one does not need its own kernels. A worker that ended without its kernels
        is replaced. Returns the last one."""
        timing, unsolved = self._evidence_builder.evidence.timing, self._evidence_builder.evidence.unsolved
        observed = list(timing.workloads) if timing is not None else []
        for number, case in enumerate(self._task.workloads):
            if number == 0 or case.name in unsolved or (observed and observed[number].timing is None):
                continue
            if worker.failure or worker.ended:
                worker, failure = self._load_without_kernels()
                if failure is not None:
                    break
            with self._task.times.spending("ablation"):
                reference = self._worker_set.reference_in(case)
            found = self._ablate(worker, None, case, reference)
            if observed:
                observed[number] = observed[number].model_copy(update={"ablation": found})
            elif found.still_right:
                self._evidence_builder.note(ablation=found)
            if found.still_right:
                break
        if timing is not None:
            self._evidence_builder.note(timing=timing.model_copy(update={"workloads": tuple(observed)}))
        return worker

    def _trial(self, worker: WorkerClient, case: ProblemCase, reference: Reference) -> Trial:
        memory, strict = self._worker_set.memory, self._task.job.strict_inputs
        return Trial(worker, case, reference.oracle, memory, self._call_s, strict_inputs=strict)

    def measure_own_work(self) -> None:
        """Note the contribution of own kernels to a call, if the answer is wrong without them. A failed measurement decides nothing.

        On a GPU this is measured only if they take little of the time, which does not decide alone, and are all launched from an extension.
        """
        task, worker_set, reference = self._task, self._worker_set, self._reference
        share = None
        if worker_set.device.type == "cuda":
            evidence = self._evidence_builder.evidence
            share = own_share(evidence)
            seen = all(launch.object == "extension" for launch in evidence.launches if launch.own)
            if share is None or share >= OWN_TIME_SHARE:
                return
            if bound := bound_by_time(evidence, share, cache_bytes(worker_set.device)):
                self._evidence_builder.note(own_work=bound)
                return
            if not seen:
                return
        self._restored = None
        try:
            with task.times.spending("reload"):
                worker_set.make_room()
                worker = worker_set.fresh("ablation", functools.partial(worker_set.launcher.load_submission, watch=True))
            with worker.entering("construct", "ablation"):
                worker_set.launcher.construct(worker, reference.arguments, reference.model)
            with worker.entering("rounds", "ablation"):
                found = measure_own_work(worker, self._trial(worker, task.case, reference), self._call_s, share)
            self._evidence_builder.note(own_work=found)
        except Exception as error:  # with any error, the verdict stands
            log.info("what its kernels do is not known: %s", error, exc_info=True)

    def _load_without_kernels(self) -> tuple[WorkerClient, Exception | None]:
        """A worker that has loaded the submission without its kernels, and has the device; and the error if it has not.

        If the first load was fast, this one has a timeout from RELOAD_S and AGAIN_FACTOR, while the device is held. If it needs longer,
        another worker loads.
        """
        worker_set, load_s = self._worker_set, self._task.times.seconds["load"]
        stays = worker_set.has_spare and load_s <= limits.SHORT_LOAD_S
        while True:
            deadline_s = max(limits.RELOAD_S, limits.AGAIN_FACTOR * load_s) if stays else limits.LOAD_S
            load = functools.partial(worker_set.launcher.load_submission, deadline_s=deadline_s, ablate=True)
            try:
                with self._task.times.spending("reload"):
                    worker_set.make_room(stays=stays)
                    worker_set.share_device()
                    return worker_set.fresh("ablation", load), None
            except (WorkerError, ProtocolError, NeedsDeviceError) as error:
                if not (stays and ran_late(worker_set.newest)):
                    return worker_set.newest, error
                log.info("loaded again without its kernels: loading was slower than the first time")
                stays = False

    @property
    def _round_s(self) -> float:
        """Time of constructing the model and of one round."""
        evidence = self._evidence_builder.evidence
        return evidence.stages_s["construct"] + evidence.stages_s["rounds"] / max(len(evidence.rounds), 1)

    @property
    def _call_s(self) -> float:
        """Timeout of a call in another worker, from the time of the rounds."""
        return min(self._task.job.timeout_s, limits.ABLATED_S + limits.AGAIN_FACTOR * self._evidence_builder.evidence.stages_s["rounds"])

    def run_changed_inputs_and_shapes(self) -> None:
        """Try inputs of other distributions, then other shapes. Those that are not tried decide nothing."""
        is_strict = self._task.job.shapes == "strict"
        self._evidence_builder.note(strict_shapes=is_strict)
        if self._round_s > DEAR_S[self._task.context.device.kind] and not is_strict:
            return
        try:
            with self._task.times.spending("shapes"):
                worker = self._restore()
                if not (self._task.case.any_inputs or self._task.job.strict_inputs):  # then the rounds have tried them
                    worker = self._ask_for_changed_inputs(worker)
                self._ask_in_shapes(worker)
        except Again:
            raise
        except Exception as error:  # with any error, the verdict stands
            log.info("not tried on all other inputs and shapes: %s", error, exc_info=True)

    def _restore(self) -> WorkerClient | None:
        """The worker of the ablation check, with the submission's own kernels enabled again; None if there is none."""
        worker, self._restored = self._restored, None
        if worker is None:
            self._worker_set.make_room()
            return None
        self._worker_set.memory.close()
        with contextlib.suppress(WorkerError):
            worker.request("restore", self._call_s)
            return worker
        return None

    def _ask_for_changed_inputs(self, worker: WorkerClient | None) -> WorkerClient:
        """Make a call for each distribution that decides nothing, as long as the worker lives and time is left. Returns the worker.

        A used worker may be wrong because of its earlier calls: then a fresh one repeats all calls.
        """
        found = self._answers_to_changed_inputs(worker) if worker else []
        if worker is None or any(each.right is False for each in found):
            if worker is not None:
                log.info("changed inputs are tried again in a fresh worker: wrong in a used one")
            self._worker_set.make_room()
            worker = self._start_for_shapes()
            found = self._answers_to_changed_inputs(worker)
        self._evidence_builder.note(changed_inputs=tuple(found))
        return worker

    def _answers_to_changed_inputs(self, worker: WorkerClient) -> list[ChangedInputsEvidence]:
        launcher, memory, reference = self._worker_set.launcher, self._worker_set.memory, self._reference
        rounds = Rounds(worker, self._task.case, reference.oracle, memory, self._call_s)
        with worker.entering("shapes"):
            construct = functools.partial(launcher.construct, worker, reference.arguments, reference.model)
            return list(answers_to_changed_inputs(worker, rounds, construct, CHANGED_INPUTS_S[self._task.context.device.kind]))

    def _ask_in_shapes(self, worker: WorkerClient | None) -> None:
        """Try shape after shape, until a worker fails at its first one. While a worker starts and loads, others may have the device.

        A failure after another shape is tried again in a fresh worker: state of the earlier shape, or an operator that can be registered
        only once, is not an error.
        """
        most_s = math.inf if self._task.job.shapes == "strict" else SHAPES_S[self._task.context.device.kind]
        until = time.monotonic() + most_s
        if worker is not None and (worker.failure or worker.ended):
            worker = None
        for shape in other_shapes(self._task.problem, self._task.case.name):
            if self._evidence_builder.evidence.shapes and time.monotonic() > until:
                return
            before, worker = worker, worker or self._start_for_shapes()
            found = self._ask_in(worker, shape)
            if found.right is False and before is not None and not before.broke_out:
                log.info("a shape is tried again in a fresh worker: wrong after another shape")
                before.end()
                worker = self._start_for_shapes()
                found = self._ask_in(worker, shape)
            self._evidence_builder.note(shapes=(*self._evidence_builder.evidence.shapes, found))
            if worker.failure and found.right is None and self._task.job.shapes == "strict" and not worker.lock.is_alone:
                raise Again(Reason.CROWDED, "an other shape failed")
            if worker.failure or worker.ended:
                return

    def _start_for_shapes(self) -> WorkerClient:
        """A worker that has loaded the submission, or failed to."""
        with contextlib.suppress(WorkerError):
            self._worker_set.fresh("shapes")
        return self._worker_set.newest

    def _ask_in(self, worker: WorkerClient, shape: Shape) -> ShapeEvidence:
        if worker.failure:
            return not_loaded(worker, shape)
        with worker.entering("shapes"):
            return judge_shape(worker, shape, self._worker_set.launcher.construct_shape, self._worker_set.memory, self._call_s)


@dataclass(frozen=True)
class Check:
    """A check of a submission that is right so far. It notes evidence, on which the rules of diagnosis decide."""

    observe: Callable[[PostChecks], None]
    categories: Collection[Category] = RANKABLE
    """The categories, by the evidence so far, for which it is made."""
    is_wanted: Callable[[Job], bool] = lambda _: True
    """Whether the user asked for it."""


CHECKS = (
    Check(PostChecks.check_problem, CORRECT),
    Check(PostChecks.run_ablation),
    Check(PostChecks.measure_own_work),
    Check(
        PostChecks.run_changed_inputs_and_shapes,
        is_wanted=lambda job: job.shapes == "strict" or (job.shapes == "others" and job.is_timed),
    ),
)
"""The checks, in their order."""
