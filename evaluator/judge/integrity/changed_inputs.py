"""Checks whether a right submission is right on inputs of other distributions. This decides no verdict: a kernel may rely on its inputs.

A worker with the loaded submission constructs its model and makes one call per distribution, until one of them ends the worker.
"""

import time
from collections.abc import Callable, Iterator

from evaluator.judge.correctness.rounds import Rounds
from evaluator.judge.integrity.worker_end import answer_at_end
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.results.evidence import ChangedInputsEvidence, RoundEvidence
from evaluator.worker.protocol import ProtocolError


def answers_to_changed_inputs(
    worker: WorkerClient, rounds: Rounds, construct: Callable[[], object], seconds: float
) -> Iterator[ChangedInputsEvidence]:
    """Yield the evidence of each distribution. No call begins after the given seconds. `construct` makes the worker construct its model.

    Raises ProblemError, ReferenceFailedError.
    """
    until = time.monotonic() + seconds
    try:
        construct()
        for found in rounds.report():
            yield _evidence_of(found)
            if time.monotonic() > until:
                break
        rounds.close()
    except (WorkerError, ProtocolError) as error:
        if rounds.distribution:
            yield ChangedInputsEvidence(distribution=rounds.distribution, **answer_at_end(worker, error))


def _evidence_of(found: RoundEvidence) -> ChangedInputsEvidence:
    wrong = next((figures for figures in found.outputs if figures.wrong), None)
    return ChangedInputsEvidence(
        distribution=found.distribution,
        right=None if found.is_left_out else found.passed,
        category=found.category,
        message=found.message,
        max_error=wrong.max_error if wrong else None,
    )
