"""Correctness: fresh inputs, the submission's answer, then the reference's, and the comparison, round by round.

A round draws from the problem's own distribution or from a changed one. Some rounds ask twice for the same input: what the second answer
differs in is nondeterministic, or was never written, for between the two the worker's free memory is filled with a pattern.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.diagnosis.rules.output_rules import WRONG_OUTPUTS
from evaluator.judge.correctness.compare import Comparison, is_exact
from evaluator.judge.correctness.input_distributions import DISTRIBUTIONS, changed
from evaluator.judge.correctness.integer_ties import is_excused
from evaluator.judge.correctness.output_structure import ClaimedTensor, MismatchError, form_of, has_plain_values, match, read_claim
from evaluator.judge.correctness.reference import Oracle, ReferenceFailedError
from evaluator.judge.correctness.row_sampling import Sample, mapped
from evaluator.judge.device.synchronize import synchronize
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.input_buffers import InputSet, fresh_seed, same_bytes
from evaluator.judge.workers.shared_memory import Allocation, SharedMemory, describe
from evaluator.problem.problem import ProblemCase
from evaluator.results.category import Category
from evaluator.results.evidence import ErrorFigures, RoundEvidence
from evaluator.worker.structure import tensors_of

MIN_ROUNDS = 5
KERNELS_S = 5.0
"""Deadline of the call in which the time of kernels is taken."""
MAX_SIZES = 64
"""Kept of the sizes of the inputs' dimensions."""
CHUNK_ELEMENTS = 1 << 26
LARGE_BYTES = 1 << 30
"""Of answers beyond this, no worker keeps memory for the next one: the judge's copies take its place."""


@dataclass(frozen=True)
class RoundPlan:
    """One round: where its inputs come from, and whether the same are given twice."""

    distribution: str
    twice: bool


TYING = ("ties", "shifted", "special")
"""Distributions in which elements become equal: which of them an argmax names, PyTorch leaves open."""


def plan_rounds(case: ProblemCase, arguments: Sequence[Any], expected: Any) -> list[RoundPlan]:
    """The rounds for a problem with inputs and answer like these: first and last its own distribution, between them the others."""
    floating = any(tensor.is_floating_point() for _, tensor in tensors_of(list(arguments)))
    left_out = {"own", *case.problem.declaration.without}
    if any(is_exact(tensor.dtype) for _, tensor in tensors_of(expected)):
        left_out.update(TYING)
    others = [name for name in DISTRIBUTIONS if floating and name not in left_out]
    padding = ["own"] * max(0, MIN_ROUNDS - 2 - len(others))
    return [RoundPlan("own", True), *(RoundPlan(name, False) for name in (*padding, *others)), RoundPlan("own", True)]


@dataclass(frozen=True)
class Judgement:
    """One answer, held against the reference's."""

    category: Category | None
    message: str
    figures: tuple[ErrorFigures, ...] = ()
    informative: bool = True


class Rounds:
    """The correctness rounds of one worker on one device."""

    def __init__(self, worker: WorkerClient, case: ProblemCase, oracle: Oracle, memory: SharedMemory, deadline_s: float) -> None:
        self._worker, self._case, self._oracle, self._memory = worker, case, oracle, memory
        self._deadline_s = deadline_s
        self._inputs: InputSet | None = None
        self._outputs: list[Allocation] = []
        self.form: Any = None
        """What an answer looks like."""
        self.sizes: tuple[int, ...] = ()
        """Sizes of the dimensions of the inputs, once a round has been run."""

    def run(self) -> Iterator[RoundEvidence]:
        """Every round up to the first that fails. Raises WorkerError, ProtocolError, ProblemError, ReferenceFailedError."""
        for index, plan in enumerate(self._prepare()):
            evidence = self._round(index, plan)
            if not evidence.passed:
                self._time_kernels()
            yield evidence
            if not evidence.passed:
                return

    def provoke(self, count: int) -> None:
        """The calls of the first `count` rounds, whose answers nobody looks at. Raises WorkerError, ProtocolError, ProblemError,
        ReferenceFailedError."""
        for plan in self._prepare()[:count]:
            seed = fresh_seed()
            arguments = changed(self._case.inputs(seed, self._memory.device), plan.distribution, seed)
            for _ in range(1 + plan.twice):
                self._fill(arguments)
                self._poison(secrets.choice(range(1, 255)))
                self._call()

    def _prepare(self) -> list[RoundPlan]:
        """Memory for answers, and the rounds."""
        example = self._case.inputs(fresh_seed(), self._memory.device)
        self.form = form_of(self._oracle.expected(example))
        self.sizes = tuple(sorted({size for _, tensor in tensors_of(list(example)) for size in tensor.shape}))[:MAX_SIZES]
        self._outputs = allocate_outputs(self._memory, self.form)
        self._worker.hand_over(self._outputs, self._deadline_s)
        return plan_rounds(self._case, example, self.form)

    def _time_kernels(self) -> None:
        """After an answer that was wrong: which kernels it is made of, for the record; the verdict stands."""
        if self._memory.device.type != "cuda" or self._worker.launches is None:
            return
        with self._worker.unjudged():
            self._worker.note_kernels(self._worker.request("call", min(self._deadline_s, KERNELS_S), set=0, kernels=True))

    def close(self) -> None:
        """Take all memory back from the worker, and leave its free memory alone."""
        self._poison(None)
        allocations = [*(self._inputs.allocations if self._inputs else []), *self._outputs]
        self._worker.take_back(allocations, self._deadline_s)
        self._memory.free(allocations)

    def _round(self, index: int, plan: RoundPlan) -> RoundEvidence:
        seed = fresh_seed()
        arguments = changed(self._case.inputs(seed, self._memory.device), plan.distribution, seed)
        self._fill(arguments)
        pattern = secrets.choice(range(1, 255))
        self._poison(pattern)
        claim = self._call()
        if has_plain_values(self.form):
            self.form = form_of(self._oracle.expected(arguments))
        answer, values = self._judge(claim, arguments, pattern)
        answer = self._mutation(answer, arguments)
        if plan.twice and answer.category is not Category.MUTATED_INPUT and (answer.category is None or answer.figures):
            answer = self._mutation(self._again(answer, values, arguments), arguments)
        if not answer.informative and plan.distribution != "own":
            answer = Judgement(None, "left out: here the reference itself is not accurate", answer.figures)
        return RoundEvidence(
            index=index,
            seed=seed,
            distribution=plan.distribution,
            passed=answer.category is None,
            category=answer.category,
            message=answer.message,
            outputs=answer.figures,
        )

    def _mutation(self, answer: Judgement, arguments: Sequence[Any]) -> Judgement:
        """The same answer, unless the call has changed what it was given."""
        if self._inputs is None or self._inputs.unchanged(arguments, self._case.in_place):
            return answer
        return Judgement(Category.MUTATED_INPUT, "forward() changed its input", answer.figures)

    def _again(self, first: Judgement, values: list[torch.Tensor], arguments: Sequence[Any]) -> Judgement:
        """Ask for the same input once more, after the worker's free memory has been filled; the verdict on both answers.

        `values` are those of the first, and given up where the second's are others.
        """
        if self._case.in_place:
            self._fill(arguments)
        pattern = secrets.choice(range(1, 255))
        self._poison(pattern)
        second, _ = self._judge(self._call(), arguments, pattern, (first, values))
        if second.category is Category.UNWRITTEN_OUTPUT:
            return second
        if first.category is None and second.category is not None:
            message = f"the same input was answered rightly, then wrongly: {second.message}"
            return Judgement(Category.NONDETERMINISTIC, message, second.figures)
        if first.category is not None and second.category is None:
            message = f"the same input was answered wrongly, then rightly: {first.message}"
            return Judgement(Category.NONDETERMINISTIC, message, first.figures)
        return first

    def _fill(self, arguments: Sequence[Any]) -> None:
        if self._inputs is None:
            self._inputs = InputSet(self._memory, arguments)
            self._worker.hand_over(self._inputs.allocations, self._deadline_s)
        else:
            self._inputs.fill(arguments)
        self._worker.request("inputs", self._deadline_s, sets=[self._inputs.tree(arguments)])

    def _poison(self, pattern: int | None) -> None:
        sizes = [allocation.requested for allocation in self._outputs]
        self._worker.request("poison", self._deadline_s, pattern=pattern, sizes=sizes)

    def _call(self) -> tuple[Any, int]:
        synchronize(self._memory.device)
        return read_claim(self._worker.request("call", self._deadline_s, set=0))

    def _judge(
        self,
        claim: tuple[Any, int],
        arguments: Sequence[Any],
        pattern: int,
        known: tuple[Judgement, list[torch.Tensor]] | None = None,
    ) -> tuple[Judgement, list[torch.Tensor]]:
        """Have an answer revealed; the verdict on it, and its values. That on the same values, bit for bit, where it is `known`."""
        claimed, count = claim
        try:
            claims = list(match(claimed, self.form, self._memory.device.type))
        except MismatchError as error:
            self._require_form(arguments)
            return Judgement(error.category, str(error)), []
        shapes = [tensor for _, tensor in tensors_of(self.form)]
        ask_to_reveal(self._worker, self._outputs, claims, count, shapes, self._deadline_s, release=True)
        if known is not None:
            if self._is_revealed(known[1], claims):
                return known
            known[1].clear()  # there is no memory for both
        values = snapshot(self._outputs, claims, shapes)
        return judge_values(self._case, self._oracle, arguments, values, self.form, pattern), values

    def _require_form(self, arguments: Sequence[Any]) -> None:
        """Raises ReferenceFailedError where the reference's own answer to these is not like the first one."""
        sizes = [[tensor.shape for _, tensor in tensors_of(value)] for value in (self._oracle.expected(arguments), self.form)]
        if sizes[0] != sizes[1]:
            raise ReferenceFailedError("the shapes of the reference's answer change with the inputs' values")

    def _is_revealed(self, values: Sequence[torch.Tensor], claims: Sequence[ClaimedTensor]) -> bool:
        """Whether just these values have been revealed."""
        return all(
            claim.order is None and same_bytes(allocation.view(value.shape, value.dtype), value)
            for claim, allocation, value in zip(claims, self._outputs, values, strict=True)
        )


def allocate_outputs(memory: SharedMemory, expected: Any) -> list[Allocation]:
    """Memory of the judge's own for each tensor of an answer."""
    return [memory.allocate(tensor.nbytes) for _, tensor in tensors_of(expected)]


def ask_to_reveal(
    worker: WorkerClient,
    outputs: Sequence[Allocation],
    claims: Sequence[ClaimedTensor],
    count: int,
    shapes: Sequence[torch.Tensor],
    deadline_s: float,
    spin_s: float = 0.0,
    release: bool = False,
    call: int | None = None,
) -> None:
    """Have the worker copy its last answer into `outputs`, and wait until it says that it has; for the first spin_s seconds awake.
    Of a block of calls it is the answer of one `call`.

    With `release` it gives memory for large answers back.
    """
    views = views_into(outputs, claims, count, shapes)
    if outputs:
        synchronize(outputs[0].bytes.device)
    release = release and sum(allocation.nbytes for allocation in outputs) > LARGE_BYTES
    worker.request("reveal", deadline_s, spin_s=spin_s, outputs=views, release=release, call=call)


def views_into(
    outputs: Sequence[Allocation], claims: Sequence[ClaimedTensor], count: int, shapes: Sequence[torch.Tensor]
) -> list[dict[str, Any] | None]:
    """Where each of the `count` tensors that a worker describes goes, and how it is to lie there: those of `claims`, which are of these
    shapes. `outputs` are filled with NaN."""
    views: list[dict[str, Any] | None] = [None] * count
    for claim, allocation, tensor in zip(claims, outputs, shapes, strict=True):
        allocation.bytes.fill_(0xFF)  # NaN of every floating-point type
        order = {"order": claim.order} if claim.order else {}
        views[claim.number] = {**describe(allocation, 0, claim.laid_out(tensor)), **order}
    return views


def snapshot(
    outputs: Sequence[Allocation], claims: Sequence[ClaimedTensor], shapes: Sequence[torch.Tensor], sample: Sample | None = None
) -> list[torch.Tensor]:
    """What is in `outputs` now, or in a sample of their rows, as tensors of these shapes and dtypes: the worker can go on writing there."""
    return copying(outputs, claims, shapes, sample)()


def copying(
    outputs: Sequence[Allocation], claims: Sequence[ClaimedTensor], shapes: Sequence[torch.Tensor], sample: Sample | None = None
) -> Callable[[], list[torch.Tensor]]:
    """What takes such a snapshot, once, with all done beforehand that takes the host longer than to ask for the copies: there is memory for
    them, too."""
    views = [
        claim.restored(allocation.view(claim.laid_out(tensor).shape, tensor.dtype))
        for claim, allocation, tensor in zip(claims, outputs, shapes, strict=True)
    ]
    if sample is None:
        copies = [torch.empty_like(view) for view in views]
        return lambda: [copy.copy_(view) for copy, view in zip(copies, views, strict=True)]
    parts = [sample.parts(view) for view in views]
    gathered = [view.new_empty((len(sample), *view.shape[1:])) for view in views]
    return lambda: [torch.cat(part, out=whole) for part, whole in zip(parts, gathered, strict=True)]


def judge_values(
    case: ProblemCase,
    oracle: Oracle,
    arguments: Sequence[Any],
    candidate: list[torch.Tensor],
    form: Any,
    pattern: int | None = None,
    sample: Sample | None = None,
) -> Judgement:
    """Compare an answer, which is of this form, with the oracle; or a sample of its rows, where `candidate` holds no others.

    `pattern` is the byte that the worker's free memory was filled with.
    """
    if sample is not None:
        arguments = mapped(list(arguments), sample.of)
    for position in range(len(candidate)):
        candidate[position] = candidate[position].contiguous()  # in its place: there is no memory for both of each
    comparisons = [
        Comparison(name, tensor.shape, tensor.dtype, case.rows_independent, case.tolerance)
        for (name, _), tensor in zip(tensors_of(form), candidate, strict=True)
    ]
    for number, piece in oracle.pieces(arguments, candidate):
        comparisons[number].measure(piece)
    for number, comparison in enumerate(comparisons):
        exact = is_exact(candidate[number].dtype)
        if exact and not comparison.passed and is_excused(oracle, arguments, candidate, number, fresh_seed()):
            comparison.excuse()
    failed = {number for number, comparison in enumerate(comparisons) if not comparison.passed}
    if failed:
        for number, piece in oracle.pieces(arguments, candidate):
            if number in failed:
                comparisons[number].locate(piece)
    figures = tuple(comparison.figures() for comparison in comparisons)
    informative = all(comparison.informative for comparison in comparisons)
    if not failed:
        return Judgement(None, "", figures, informative)
    number = min(failed, key=lambda number: (WRONG_OUTPUTS.index(comparisons[number].category), number))
    category, message = comparisons[number].category, describe_error(figures[number], sample)
    unwritten = 0 if pattern is None else count_pattern(candidate[number], pattern)
    if unwritten and unwritten * 2 >= figures[number].wrong:
        category = Category.UNWRITTEN_OUTPUT
        message = f"{unwritten} elements were never written: {message}"
    return Judgement(category, message, figures, informative)


def count_pattern(tensor: torch.Tensor, pattern: int) -> int:
    """How many elements consist of the byte `pattern` alone."""
    size = tensor.element_size()
    data = tensor.contiguous().view(-1)
    if size == 16:
        data, size = torch.view_as_real(data).view(-1), 8
    integer = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
    wanted = int.from_bytes(bytes([pattern]) * size, "little", signed=integer.is_signed)
    return sum(int((chunk == wanted).sum()) for chunk in torch.split(data.view(integer), CHUNK_ELEMENTS))


def describe_error(figures: ErrorFigures, sample: Sample | None = None) -> str:
    """The error figures of one wrong output, or of a sample of its rows, in a sentence."""
    where = f"output{figures.output}" if figures.output else "the output"
    rows = f"{len(sample)} rows of " if sample else ""
    text = f"{figures.wrong} of {figures.elements} elements of {rows}{where} are wrong"
    if figures.pattern:
        text += f" ({figures.pattern})"
    if figures.likeness:
        text += f", {figures.likeness}"
    if figures.first_index is not None:
        index = ", ".join(map(str, sample.original(figures.first_index) if sample else figures.first_index))
        text += f"; first at ({index}): {figures.first_value:.6g}, expected {figures.first_expected:.6g}"
    return f"{text}; largest relative error {figures.max_error:.3g}, allowed {figures.tolerance:.3g}"
