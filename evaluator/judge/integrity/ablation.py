"""The ablation check: the judge calls a worker that skips the submission's own kernels.

If the output is still right, the kernels contribute nothing. Every other outcome favours the submission, so the judge need not trust this
worker's own reports.
"""

import secrets
from collections.abc import Callable
from typing import Any

from evaluator.judge.correctness.check import Judgement, judge_values
from evaluator.judge.correctness.inputs.round_inputs import RoundInputs
from evaluator.judge.correctness.output_structure import MismatchError, form_of, has_plain_values, match, read_claim
from evaluator.judge.correctness.readback import allocate_outputs, ask_to_reveal, poison, snapshot
from evaluator.judge.correctness.reference import Oracle
from evaluator.judge.correctness.row_sampling import Sampler
from evaluator.judge.device.synchronize import leave_memory, synchronize
from evaluator.judge.integrity.worker_end import end_of
from evaluator.judge.workers.build_broker import NeedsDeviceError
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.judge.workers.shared_memory import Allocation, SharedMemory
from evaluator.problem.problem import ProblemCase
from evaluator.results.category import Category
from evaluator.results.distributions import OWN, Rule
from evaluator.results.evidence import AblationEvidence
from evaluator.worker.nested import tensors_of
from evaluator.worker.protocol import ProtocolError

PATTERNS = range(0x38, 0x48)
"""Bytes that fill free memory. Repeated, they form a finite number of medium size in every floating-point type."""


class AblationFailedError(Exception):
    """The worker failed because of the machine, not the submission."""


def ablate(worker: WorkerClient, prepare: Callable[[], object], answer: Callable[[], Judgement]) -> AblationEvidence:
    """Have `worker` load the submission and construct its model (`prepare`), and judge its `answer`.

    Raises AblationFailedError, ProblemError, ReferenceFailedError, SandboxUnavailable.
    """
    protocol_error = ""
    try:
        prepare()
        judged = answer()
        return AblationEvidence(still_right=judged.category is None, category=judged.category, message=judged.message)
    except NeedsDeviceError as error:
        return AblationEvidence(still_right=False, category=Category.NO_DEVICE, message=str(error))
    except WorkerError:
        protocol_error = worker.protocol_error
    except ProtocolError as error:
        protocol_error = str(error)[:2000]
    end = end_of(worker, protocol_error)
    if end.category is Category.INFRASTRUCTURE_ERROR:
        raise AblationFailedError(f"without its own kernels: {end.message}")
    return AblationEvidence(still_right=False, category=end.category, message=end.message)


def answer_without(
    worker: WorkerClient, case: ProblemCase, oracle: Oracle, memory: SharedMemory, deadline_s: float, *, strict_inputs: bool = False
) -> Judgement:
    """The judgement on the first wrong answer, or the last one, of a worker with a constructed model.

    The calls are those of the rounds, since a kernel may matter only for some inputs. One ignored call comes before: a first call may try
    several methods, which leave right values in memory. Raises WorkerError, ProtocolError, ProblemError, ReferenceFailedError."""
    round_inputs = RoundInputs(case, memory.device, oracle, strict=strict_inputs)
    first, form = round_inputs.example, form_of(round_inputs.expected)
    round_inputs.forget()
    inputs, outputs = InputSet(memory, first), allocate_outputs(memory, form)
    worker.hand_over([*inputs.allocations, *outputs], deadline_s)
    worker.request("inputs", deadline_s, sets=[inputs.tree(first)])
    synchronize(memory.device)
    worker.request("call", deadline_s, set=0)
    del first
    for plan in round_inputs.plans:
        draw = round_inputs.draw(plan)
        if draw.left_out:
            continue
        arguments = draw.arguments
        inputs.fill(arguments)
        worker.request("inputs", deadline_s, sets=[inputs.tree(arguments)])
        if has_plain_values(form):
            form = form_of(oracle.expected(arguments))
        answer = _asked(worker, case, oracle, arguments, form, outputs, memory, deadline_s, rule=draw.rule)
        del arguments, draw
        if answer.category is not None and (answer.informative or plan.distribution == OWN):
            return answer
    return Judgement(None, "")


def _asked(
    worker: WorkerClient,
    case: ProblemCase,
    oracle: Oracle,
    arguments: list[Any],
    form: Any,
    outputs: list[Allocation],
    memory: SharedMemory,
    deadline_s: float,
    *,
    rule: Rule,
) -> Judgement:
    """Fill the worker's free memory, and judge its answer to these arguments, which are already in its inputs."""
    poison(worker, outputs, deadline_s, secrets.choice(PATTERNS))
    synchronize(memory.device)
    leave_memory(memory.device)
    claimed, count = read_claim(worker.request("call", deadline_s, set=0))
    try:
        claims = list(match(claimed, form, memory.device.type))
    except MismatchError as error:
        return Judgement(error.category, str(error))
    shapes = [tensor for _, tensor in tensors_of(form)]
    ask_to_reveal(worker, outputs, claims, count, shapes, deadline_s, release=True)
    candidate = snapshot(outputs, claims, shapes)
    if sample := Sampler(arguments, shapes, case.rows_independent).draw():  # most are wrong everywhere
        some = judge_values(
            case, oracle, arguments, [sample.of(tensor) for tensor in candidate], form, sample=sample, rule=rule, brief=True
        )
        if some.category is not None:
            return some
    return judge_values(case, oracle, arguments, candidate, form, rule=rule, brief=True)
