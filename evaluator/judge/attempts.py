"""The reruns of one evaluation: a table of reasons, with what each changes and which result counts, and the loop that obeys it.

Each reason can come once. The reruns of a check after the verdict are that check's (evaluator.judge.post_checks).
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from evaluator.judge.again import Again, Reason
from evaluator.judge.failures import missed_beside_others
from evaluator.judge.session import Attempt, Session
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.results.evidence import Evidence, RoundEvidence, TimingEvidence
from evaluator.worker.protocol import ProtocolError

log = logging.getLogger(__name__)


class Step(IntEnum):
    """A step of the procedure. A submission that does not pass one gets no further."""

    LOAD, ROUNDS, TIMING, CHECKS = range(4)


Found = bool | Exception
"""Whether a submission passed a step, or the error that ended it."""


@dataclass(frozen=True)
class First:
    """What was known before a rerun."""

    attempt: Attempt
    evidence: Evidence
    rounds: list[RoundEvidence]
    candidate: WorkerClient | None

    @property
    def timing(self) -> TimingEvidence:
        """The timing to repeat."""
        assert self.evidence.timing is not None
        return self.evidence.timing


def second_counts(_session: Session, _first: First, found: Found) -> Found:
    """The second result counts, and its failure like one of the first."""
    return found


def second_counts_if_right(session: Session, first: First, found: Found) -> Found:
    """The second result counts if it is right, or if its worker broke out. If not, the first one's answers count."""
    worker_set, evidence_builder = session.worker_set, session.evidence_builder
    if isinstance(found, Exception) and missed_beside_others(worker_set, found):
        return found
    failed = isinstance(found, WorkerError | ProtocolError) and not worker_set.newest.broke_out
    if not (found is False or failed):
        return found
    worker_set.newest.end()
    session.use(first.attempt)
    worker_set.candidate, evidence_builder.rounds = first.candidate, first.rounds
    evidence_builder.note(parameters=first.evidence.parameters)
    return False


def second_timing_counts(session: Session, first: First, found: Found) -> Found:
    """The second timing counts, even if it is disturbed too. If it fails, the first one stands."""
    conditions = session.evidence_builder.evidence.conditions
    if found is True and conditions is not None:
        told = {"repeated": True, "first_runtime_ms": first.timing.runtime_ms, "first_baseline_ms": first.timing.baseline_ms}
        session.evidence_builder.note(conditions=conditions.model_copy(update=told))
    return _after_timings(session, first, found)


def lesser_timings_count(session: Session, first: First, found: Found) -> Found:
    """For each workload, the timing counts that adds less to the claims. If the second is disturbed, disqualifies or fails, the first one
    stands. The conditions are those of the case's own timing that counts."""
    evidence_builder = session.evidence_builder
    if found is True and (session.is_disturbed or session.is_accused):
        evidence_builder.note(timing=first.timing)
    timing = evidence_builder.evidence.timing
    if timing is None or timing.candidate is first.timing.candidate:
        evidence_builder.note(conditions=first.evidence.conditions)
    return _after_timings(session, first, found)


def _after_timings(session: Session, first: First, found: Found) -> bool:
    """Whether the submission was right in both timings. A failure of the second is noted only: the first one stands."""
    worker_set, evidence_builder = session.worker_set, session.evidence_builder
    if found is False:
        evidence_builder.note(timing=None)
    elif isinstance(found, Exception):
        log.info("the second timing failed: %s", found, exc_info=found)
        evidence_builder.note(timing=first.timing, conditions=first.evidence.conditions, workload="")
        if isinstance(found, ProtocolError):  # a break of the protocol or out of the sandbox counts in both timings
            worker_set.newest.protocol_error = worker_set.newest.protocol_error or str(found)[:2000]
        if worker_set.newest.broke_out:
            worker_set.candidate = worker_set.newest
            evidence_builder.note(timing=None)
    with session.task.times.spending("second_timing"):
        worker_set.end_all()
        worker_set.lock.acquire_exclusive()
    return evidence_builder.evidence.timing is not None


@dataclass(frozen=True)
class Rerun:
    """A row of the table."""

    step: Step
    """The step to which it goes back, with a fresh worker."""
    words: str
    """Its line of the log, with a place for the remark."""
    change: Mapping[str, bool | str]
    """Fields of the Attempt that change; "{}" is the remark."""
    counts: Callable[[Session, First, Found], Found] = second_counts
    """Decides which result of the step counts."""
    report: str = "timing again"
    """The name of a timing."""


REPEATED: dict[str, bool | str] = {"is_repeated": True}


RERUNS = {
    Reason.CROWDED: Rerun(Step.LOAD, "judged again, alone on the device: {} beside another submission", {"alone": True}),
    Reason.OWN_PARAMETERS: Rerun(
        Step.ROUNDS, "judged again with its own random parameters: wrong with the reference's", {"source": "drawn"}, second_counts_if_right
    ),
    Reason.NOT_SLOW: Rerun(
        Step.ROUNDS, "judged again with all calls: it was slow in its first round, but is not any more", {"hurries": False}
    ),
    Reason.UNFIT_PROTOCOL: Rerun(Step.TIMING, "timed again by the default protocol: {}", {"fallback": "{}"}, report="timing by default"),
    # With a lead, only the judge's clock includes its host's time.
    Reason.UNEVEN: Rerun(
        Step.TIMING, "timed again without a launch lead: the submission can't be held behind the gate", {"launch_lead": False}
    ),
    # Such a call may have done no work.
    Reason.OVERFLOW: Rerun(Step.TIMING, "timed again without outliers: an output overflows because of them", {"outliers": False}),
    # A model may use memory of its module, which another workload's model has changed.
    Reason.KEPT_MODELS: Rerun(Step.TIMING, "timed again, one workload's model at a time: {}", {"keeps_models": False}),
    Reason.DISTURBED: Rerun(Step.TIMING, "timed again: {}", REPEATED, second_timing_counts, "second timing"),
    # The judge's clock includes switches of the device between processes, which must not be charged.
    Reason.CONTESTED: Rerun(Step.TIMING, "timed again: {}", REPEATED | {"only_contested": True}, lesser_timings_count, "second timing"),
}


class Attempts:
    """Judges one submission, and again where a step asks for it."""

    def __init__(self, session: Session, steps: Mapping[Step, Callable[[], bool]]) -> None:
        """Each step returns whether the submission passed it. It raises Again if the submission has to be judged again."""
        self._session, self._steps = session, steps
        self._made: set[Reason] = set()

    def run(self) -> None:
        """Take all steps, as far as the submission passes. Raises the error of a step for which there is no rerun."""
        step, rerun, first = Step.LOAD, None, self._first()
        while True:
            found = self._take(step, rerun)
            if rerun is not None:
                found = rerun.counts(self._session, first, found)
            if isinstance(found, Exception):
                again = self._again(found)
                if again is None:
                    try:
                        raise found
                    finally:
                        del found  # its traceback holds this frame: together they would keep all of the evaluation's memory
                rerun, first = RERUNS[again.reason], self._first()
                self._change(rerun, again)
                step = rerun.step
                del found, again  # and with them the frames of the step, before a rerun needs their memory
            elif not found or step is Step.CHECKS:
                return
            else:
                step, rerun = Step(step + 1), None

    def _take(self, step: Step, rerun: Rerun | None) -> Found:
        try:
            if rerun is not None:
                self.prepare(rerun)
            return self._steps[step]()
        except Exception as error:  # noqa: BLE001 - the table decides on it
            return error

    def _again(self, error: Exception) -> Again | None:
        """The rerun that an error asks for; None if it asks for none, or for one that was made."""
        again = error
        if not isinstance(error, Again) and (missed := missed_beside_others(self._session.worker_set, error)):
            again = Again(Reason.CROWDED, missed)
        if not isinstance(again, Again) or again.reason in self._made:
            return None
        self._made.add(again.reason)
        return again

    def _first(self) -> First:
        session = self._session
        return First(session.attempt, session.evidence_builder.evidence, session.evidence_builder.rounds, session.worker_set.candidate)

    def _change(self, rerun: Rerun, again: Again) -> None:
        """Change the attempt, or begin another one."""
        session, remark = self._session, str(again)
        log.info(rerun.words.format(remark))
        change = {name: value.format(remark) if isinstance(value, str) else value for name, value in rerun.change.items()}
        if rerun.step is Step.LOAD:
            self._made = {again.reason}
        before = Attempt() if rerun.step is Step.LOAD else session.attempt
        session.use(replace(before, is_second=rerun.step is Step.TIMING, **change))  # type: ignore[arg-type]

    def prepare(self, rerun: Rerun) -> None:
        """Have a fresh worker ready for the step. While it starts and loads for a timing, others may have the device."""
        session, worker_set = self._session, self._session.worker_set
        if rerun.step is Step.TIMING:
            session.task.report(rerun.report)
        with session.task.times.spending("second_timing" if session.attempt.is_repeated else "reload"):
            if rerun.step is Step.TIMING:
                worker_set.close_baseline()  # its process may be why the first timing is doubtful
            worker_set.make_room(stays=rerun.step is Step.ROUNDS, forgets=rerun.step is Step.LOAD)
            if rerun.step is Step.LOAD:
                session.begin()
                return
            if rerun.step is Step.ROUNDS:
                session.evidence_builder.rounds = []
            worker = worker_set.fresh(replaces=not session.attempt.is_repeated)
            if rerun.step is Step.TIMING:
                worker_set.launcher.construct(worker, session.reference.arguments, session.reference.model)
