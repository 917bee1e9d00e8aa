"""Whether rounding explains the elements that a comparison calls wrong: if its operators round otherwise, the reference takes their values,
or in floating point smaller and larger ones.

Such elements are few: a value falls to the other side of a whole number, of an edge, or of an equal value. Where most floats are wrong,
the answer is another function of its inputs. Where only gross errors decide, and few runs are possible, as many wrong elements as
the reference's with other roundings are no error. If a row has one index, all rows may have that of an equal value.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from evaluator.judge import limits
from evaluator.judge.correctness.compare import Comparison, Doubts
from evaluator.judge.correctness.oracle.reference import Oracle, ReferenceFailedError
from evaluator.judge.correctness.tolerance import is_exact
from evaluator.problem.input_drawing import fresh_seed
from evaluator.worker.nested import tensors

MOST = 1 << 22
"""Elements that may be in doubt however large the output is."""
SAMPLE = 64
"""Elements in doubt that are looked for first, since few rows take little time. In a wrong answer some of them stay."""

log = logging.getLogger(__name__)


def explained_by_rounding(
    oracle: Oracle, arguments: Sequence[Any], candidate: Sequence[torch.Tensor], comparisons: Sequence[Comparison]
) -> set[int]:
    """The numbers of the outputs that were called wrong, and whose wrong elements rounding explains: all of them or none.

    Raises torch.OutOfMemoryError: an answer is not wrong because the judge has too little memory.
    """
    left = {number: MOST if comparison.needs_location else -1 for number, comparison in enumerate(comparisons)}
    doubts: dict[int, list[Doubts]] = {}
    for number, piece in oracle.pieces(arguments, candidate):
        if left[number] < 0:
            continue
        is_lone_index = is_exact(candidate[number].dtype) and row_elements(candidate[number]) == 1
        share = 1.0 if is_lone_index else limits.DOUBT_SHARE
        most = min(left[number], int(max(share * comparisons[number].elements, limits.DOUBT_ELEMENTS)))
        found = comparisons[number].doubts(piece, most)
        if found is None:
            return set()
        left[number] = most - len(found.positions)
        doubts.setdefault(number, []).append(found)
    in_doubt = {number: each for number, parts in doubts.items() if len((each := Doubts.joined(parts)).positions)}
    if not in_doubt:  # they exceed the tolerance, but none is a gross error
        return set()
    try:
        generator = torch.Generator(candidate[0].device).manual_seed(fresh_seed())
        is_gross = all(comparisons[number].is_gross for number in in_doubt)
        if is_gross and most_runs(oracle) < limits.MOST_RUNS and errs_likewise(oracle, arguments, comparisons, in_doubt):
            return set(in_doubt)
        many = any(len(each.positions) > SAMPLE for each in in_doubt.values())
        asked = [sample_of(in_doubt, generator), in_doubt] if many else [in_doubt]
        return set(in_doubt) if all(_all_taken(oracle, arguments, candidate, some, generator) for some in asked) else set()
    except ReferenceFailedError as error:
        log.info("rounding could not be looked at: %s", error)
        return set()


def errs_likewise(oracle: Oracle, arguments: Sequence[Any], comparisons: Sequence[Comparison], doubts: Mapping[int, Doubts]) -> bool:
    """Whether the reference, in a run with other roundings, is wrong in about as many elements of each output in doubt. Inputs that were
    changed may enlarge roundings: random signs let the state of a recurrence grow. NaN and infinities are no roundings.

    For references with so many operators that few runs find too few of the possible values. Raises ReferenceFailedError,
    torch.OutOfMemoryError.
    """
    if not all(bool(each.values.isfinite().all()) for each in doubts.values()):
        return False
    expected = tensors(oracle.expected(arguments))
    outputs = otherwise_rounded(oracle, arguments, expected)
    if [tensor.shape for tensor in outputs] != [tensor.shape for tensor in expected]:
        return False
    others = {number: comparisons[number].begun_again() for number in doubts}
    for number, piece in oracle.pieces(arguments, outputs):
        if number in others:
            others[number].measure(piece)
    wrong = dict.fromkeys(doubts, 0)
    for number, piece in oracle.pieces(arguments, outputs):
        if number in others:
            found = others[number].doubts(piece, len(doubts[number].positions))
            wrong[number] += len(doubts[number].positions) if found is None else int(found.values.isfinite().sum())
    return all(len(each.positions) <= limits.REFERENCE_FACTOR * wrong[number] for number, each in doubts.items())


def otherwise_rounded(oracle: Oracle, arguments: Sequence[Any], outputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """What the reference answers in a run with other roundings; `outputs`, its own answer, if there can be no such run.

    Raises torch.OutOfMemoryError.
    """
    rows = torch.arange(len(outputs[0]) if outputs[0].dim() else 1, device=outputs[0].device)
    try:
        return oracle.possible(arguments, outputs, rows, torch.Generator(outputs[0].device).manual_seed(fresh_seed()))[0]
    except ReferenceFailedError as error:
        log.info("rounding could not be looked at: %s", error)
        return outputs


def sample_of(doubts: Mapping[int, Doubts], generator: torch.Generator) -> dict[int, Doubts]:
    """At most `SAMPLE` elements of each output, drawn at random."""
    sampled = {}
    for number, each in doubts.items():
        sampled[number] = each.where(torch.randperm(len(each.positions), generator=generator, device=each.positions.device)[:SAMPLE])
    return sampled


def _all_taken(
    oracle: Oracle,
    arguments: Sequence[Any],
    candidate: Sequence[torch.Tensor],
    doubts: dict[int, Doubts],
    generator: torch.Generator,
) -> bool:
    """Whether the reference takes the values of all elements in doubt in some run with other roundings, or would in more runs."""
    left = dict(doubts)
    fruitless = 0
    runs = most_runs(oracle)
    for _ in range(runs):
        if not left:
            return True
        rows, count = sorted_rows(left, candidate), elements(left)
        outputs, selected = oracle.possible(arguments, candidate, rows, generator)
        left = {number: remaining(each, outputs[number], candidate[number], selected) for number, each in left.items()}
        left = {number: each for number, each in left.items() if len(each.positions)}
        fruitless = 0 if elements(left) < count else fruitless + 1
        if fruitless * len(rows) >= limits.FRUITLESS_TRIES:
            return False
    if elements(left) > 2 / (runs + 1) * elements(doubts) + limits.DOUBT_ELEMENTS:
        return False  # more than chance leaves beyond the range of so many runs
    return not any(len(beyond(each, limits.UNSEEN_RANGE / runs).positions) for each in left.values())


def most_runs(oracle: Oracle) -> int:
    """How often the reference may run with other roundings."""
    return min(limits.MOST_RUNS, max(limits.MOST_OPERATORS // max(oracle.operators, 1), limits.LEAST_RUNS))


def elements(doubts: Mapping[int, Doubts]) -> int:
    """The number of elements in doubt."""
    return sum(len(each.positions) for each in doubts.values())


def sorted_rows(doubts: Mapping[int, Doubts], candidate: Sequence[torch.Tensor]) -> torch.Tensor:
    """The numbers of the rows with elements in doubt."""
    rows = [each.positions // row_elements(candidate[number]) for number, each in doubts.items()]
    return torch.unique(torch.cat(rows))  # type: ignore[no-any-return]


def row_elements(tensor: torch.Tensor) -> int:
    """Real numbers in one row of an output."""
    return max(tensor[:1].numel() if tensor.dim() else 1, 1) * (1 + tensor.is_complex())


def remaining(doubts: Doubts, output: torch.Tensor, whole: torch.Tensor, rows: torch.Tensor | None) -> Doubts:
    """The elements that are not right by this output, of `whole` or of these rows of it, nor by those before."""
    values = (torch.view_as_real(output) if output.is_complex() else output).to(doubts.values.dtype)
    positions = doubts.positions
    if rows is not None:
        size = row_elements(whole)
        positions = torch.searchsorted(rows, positions // size) * size + positions % size
    if values.numel() <= int(positions.max()):
        return doubts  # its shape depends on rounding, too
    taken = values.reshape(-1)[positions]
    is_right = (taken == doubts.values) | (taken.isnan() & doubts.values.isnan())
    if not is_exact(output.dtype):
        doubts = replace(doubts, lowest=doubts.lowest.fmin(taken), highest=doubts.highest.fmax(taken))
    doubts = doubts.where(~is_right)
    return doubts if is_exact(output.dtype) else beyond(doubts)


def beyond(doubts: Doubts, share: float = 0.0) -> Doubts:
    """The elements outside of the range of the runs' values, widened by this share of itself on both sides."""
    allowed = doubts.allowed + share * (doubts.highest - doubts.lowest).nan_to_num(0.0, 0.0, 0.0)
    return doubts.where(~((doubts.lowest - allowed <= doubts.values) & (doubts.values <= doubts.highest + allowed)))
