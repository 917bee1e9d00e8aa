"""Asks again for the wrong output of a timed call, to tell a mistake, a race, the output of an earlier call (`cached_output`), and another
answer because the call is timed."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from evaluator.chance import chance
from evaluator.judge import limits
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.correctness.readback import poison
from evaluator.judge.timing.checks.gated_calls import Taken
from evaluator.judge.timing.checks.spot_check import SpotCheck, WrongAnswerError
from evaluator.judge.timing.interleave import Answer, Interleaver
from evaluator.judge.workers.shared_memory import raw_bytes
from evaluator.results.evidence import WrongTimedAnswer
from evaluator.worker.nested import mapped, tensors


def ask_again(error: WrongAnswerError, interleaver: Interleaver, spot_check: SpotCheck, oracle: Oracle) -> WrongTimedAnswer:
    """The error's evidence, completed by what the candidate returns for the same inputs.

    Each call comes after one with other inputs at the same addresses: of these, few values differ where the problem allows that. Free
    memory is filled before, as in the rounds: an output that is written late can't be there already. A slow candidate is asked less often.
    Raises WorkerError, ProtocolError, ProblemError, ReferenceFailedError, Again.
    """
    candidate, draw = interleaver.candidate, error.draw

    def ask(calls: Callable[..., Iterator[Answer]]) -> tuple[bool, bool]:
        """Whether the output is wrong, and whether it is that of the call before."""
        other = _otherwise(interleaver, draw)
        poison(candidate.worker, spot_check.outputs, candidate.deadline_s, chance.choice(range(1, 255)))
        sample, answers = spot_check.sampler.draw(draw.changed_rows), calls(candidate, other, draw)
        try:
            before = spot_check.take(candidate, next(answers), sample)
            answer = next(answers)
            after = spot_check.take(candidate, answer, sample)
        except WrongAnswerError:  # of another form
            return True, False
        try:
            spot_check.check(after, answer)
        except WrongAnswerError:
            return True, _repeats(oracle, before, after, other.arguments, draw.arguments)
        return False, False

    def ask_often(calls: Callable[..., Iterator[Answer]]) -> Iterator[tuple[bool, bool]]:
        yield ask(calls)
        for _ in range(limits.ASKED_AGAIN - 1):
            if time.monotonic() < until:
                yield ask(calls)

    until = time.monotonic() + candidate.deadline_s
    with interleaver.unsampled(candidate):
        in_blocks, repeated = zip(*ask_often(interleaver.blocks_with), strict=True)
        alone, _ = zip(*ask_often(interleaver.calls_alone), strict=True)
        poison(candidate.worker, spot_check.outputs, candidate.deadline_s, None)
    return error.evidence.model_copy(update={"in_blocks": in_blocks, "alone": alone, "repeats": all(repeated)})


def _otherwise(interleaver: Interleaver, draw: Draw) -> Draw:
    """Other inputs: these with a few values changed, or new ones if the problem allows no such change."""
    changes = interleaver.inputs.changes
    if changes is None or not changes.in_place:
        return interleaver.inputs.draw(is_changed=False)
    return changes.changed(changes.in_place, Draw(draw.seed, mapped(draw.arguments, torch.clone)))


def _repeats(oracle: Oracle, before: Taken, after: Taken, other: Sequence[Any], arguments: Sequence[Any]) -> bool:
    """Whether an output equals the one before it in each byte that differs between the right outputs. There have to be such bytes."""
    if oracle.is_sliced(arguments, after.values):  # the reference's outputs don't fit into memory
        return False
    rows = before.sample.of if before.sample else torch.Tensor.detach
    right = [[raw_bytes(tensor) for tensor in tensors(oracle.expected(mapped(list(each), rows)))] for each in (other, arguments)]
    differ = [first != second for first, second in zip(*right, strict=True)]
    given = zip(before.values, after.values, differ, strict=True)
    return any(map(torch.any, differ)) and not any(((raw_bytes(first) != raw_bytes(second)) & at).any() for first, second, at in given)
