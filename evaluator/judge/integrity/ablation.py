"""The ablation check: the judge calls a worker that skips the submission's own kernels.

If the output is still right, the kernels contribute nothing. Every other outcome favours the submission, so the judge need not trust this
worker's own reports.
"""

from collections.abc import Callable

from evaluator.judge.correctness.inputs.round_inputs import RoundPlan
from evaluator.judge.correctness.outcome import Outcome, Right, Wrong
from evaluator.judge.correctness.trial import Trial
from evaluator.judge.integrity.worker_end import end_of
from evaluator.judge.workers.build_broker import NeedsDeviceError
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.results.category import Category
from evaluator.results.distributions import OWN
from evaluator.results.evidence import AblationEvidence
from evaluator.worker.protocol import ProtocolError

MEDIUM = range(0x38, 0x48)
"""Bytes that fill free memory. Repeated, they form a finite number of medium size in every floating-point type."""


class AblationFailedError(Exception):
    """The worker failed because of the machine, not the submission."""


def ablate(worker: WorkerClient, construct: Callable[[], object], trial: Callable[[], Trial]) -> AblationEvidence:
    """Have `worker`, which skips the submission's own kernels, construct its model, and judge its answers in a trial.

    Raises AblationFailedError, ProblemError, ReferenceFailedError, SandboxUnavailable.
    """
    try:
        with worker.entering("construct", "ablation"):
            construct()
        with worker.entering("rounds", "ablation"):
            outcome = _answer_without(trial())
        if isinstance(outcome, Wrong):
            return AblationEvidence(still_right=False, category=outcome.category, message=outcome.message)
        return AblationEvidence(still_right=True)
    except NeedsDeviceError as error:
        return AblationEvidence(still_right=False, category=Category.NO_DEVICE, message=str(error))
    except (WorkerError, ProtocolError) as error:
        end = end_of(worker, error)
    if end.category is Category.INFRASTRUCTURE_ERROR:
        raise AblationFailedError(f"without its own kernels: {end.message}")
    return AblationEvidence(still_right=False, category=end.category, message=end.message)


def _answer_without(trial: Trial) -> Outcome:
    """The first wrong answer, or a right one, of a worker with a constructed model.

    The calls are those of the rounds, since a kernel may matter only for some inputs. One ignored call comes before: a first call may try
    several methods, which leave right values in memory. Raises WorkerError, ProtocolError, ProblemError, ReferenceFailedError.
    """
    trial.fill(trial.round_inputs.draw(RoundPlan(OWN)))
    trial.call(MEDIUM)
    for plan in trial.round_inputs.plans:
        draw = trial.round_inputs.draw(plan)
        if draw.left_out:
            continue
        trial.fill(draw)
        outcome = trial.judged(draw, among=MEDIUM, brief=True)[0]
        if isinstance(outcome, Wrong):
            return outcome
        del draw  # memory may not suffice for the next one's beside it
    return Right()
