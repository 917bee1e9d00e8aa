"""Whether a right submission is right on inputs of other distributions too. That changes no verdict: a kernel may count on its inputs.

A worker that has loaded the submission constructs its model and answers once for each distribution, until one of them ends it.
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
    """The answers, one after another; none is asked for after so many seconds. `construct` makes the worker construct its model.

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
        return
    except WorkerError:
        protocol_error = worker.protocol_error
    except ProtocolError as error:
        protocol_error = str(error)[:2000]
    if rounds.distribution:
        yield ChangedInputsEvidence(distribution=rounds.distribution, **answer_at_end(worker, protocol_error))


def _evidence_of(found: RoundEvidence) -> ChangedInputsEvidence:
    is_left_out = found.passed and bool(found.message)
    wrong = next((figures for figures in found.outputs if figures.wrong), None)
    return ChangedInputsEvidence(
        distribution=found.distribution,
        right=None if is_left_out else found.passed,
        category=found.category,
        message=found.message,
        max_error=wrong.max_error if wrong else None,
    )
