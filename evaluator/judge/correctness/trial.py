"""The trial of a worker: inputs in, a call, its output revealed, compared, and decided on. Rounds and checks have no other way.

Before each call, the worker's free memory is filled with a byte, so that unwritten output shows it. Inputs begin at one address, then
twice at another, then twice at the first: results cached by address are wrong already here.
"""

import time
from typing import Any

import torch

from evaluator.chance import chance
from evaluator.judge.correctness.check import decided, judge_values
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.round_inputs import RoundInputs
from evaluator.judge.correctness.oracle.reference import Oracle, ReferenceFailedError
from evaluator.judge.correctness.outcome import Outcome, Right, Wrong
from evaluator.judge.correctness.output_structure import MismatchError, form_of, has_plain_values, match, read_claim
from evaluator.judge.correctness.readback import allocate_outputs, ask_to_reveal, holds, poison, snapshot
from evaluator.judge.correctness.row_sampling import Sampler
from evaluator.judge.device.synchronize import leave_memory, synchronize
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.judge.workers.shared_memory import Allocation, SharedMemory
from evaluator.problem.problem import ProblemCase
from evaluator.results.category import Category
from evaluator.results.distributions import OUTLIERS, RUNS
from evaluator.worker.nested import tensors

BYTES = range(1, 255)
"""Bytes that may fill free memory."""


class Trial:
    """Asks one worker for answers in one case, and judges them."""

    def __init__(
        self,
        worker: WorkerClient,
        case: ProblemCase,
        oracle: Oracle,
        memory: SharedMemory,
        deadline_s: float,
        *,
        strict_inputs: bool = False,
        asks_rounding: bool = False,
    ) -> None:
        """Allocate memory for outputs, and hand it over. strict_inputs: see `RoundInputs`. asks_rounding: see `decided`.

        Raises WorkerError, ProtocolError, ProblemError, ReferenceFailedError.
        """
        self._asks_rounding = asks_rounding
        self._worker, self._case, self._oracle, self._memory, self._deadline_s = worker, case, oracle, memory, deadline_s
        self.round_inputs = RoundInputs(case, memory.device, oracle, strict=strict_inputs)
        example = self.round_inputs.example
        self.form = form_of(self.round_inputs.expected)
        """Structure, shapes and dtypes of the output (`output_structure.form_of`)."""
        self.sizes = sorted({size for tensor in tensors(example) for size in tensor.shape})
        """Sizes of the inputs' dimensions."""
        self._sampler = Sampler(example, self._shapes, case.rows_independent)
        self.round_inputs.forget()
        self._inputs: InputSet | None = None
        self._fills = 0
        """Number of times that inputs got new values: every second time at the other address."""
        self.call_s = 0.0
        """Duration of the last call, in seconds."""
        self._outputs: list[Allocation] = allocate_outputs(memory, self.form)
        worker.hand_over(self._outputs, deadline_s)

    @property
    def _shapes(self) -> list[torch.Tensor]:
        return tensors(self.form)

    def fill(self, draw: Draw) -> None:
        """Give the worker these inputs."""
        if self._inputs is None:
            self._inputs = InputSet(self._memory, draw.arguments, movable=True)
            self._worker.hand_over(self._inputs.allocations, self._deadline_s)
        else:
            if draw.distribution not in (OUTLIERS, RUNS):  # these change values at the same address
                self._fills += 1
                if self._fills % 2:
                    self._inputs.move()
            self._inputs.fill(draw.arguments)
        self._worker.request("inputs", self._deadline_s, sets=[self._inputs.tree(draw.arguments)])
        synchronize(self._memory.device)

    def judged(
        self, draw: Draw, known: tuple[Outcome, list[torch.Tensor]] | None = None, *, among: range = BYTES, brief: bool = False
    ) -> tuple[Outcome, list[torch.Tensor]]:
        """Make a call with the given inputs, which are in place. Returns the outcome, and the answer's values.

        `known` holds those of the previous answer. It is returned if the new values are the same, bit for bit. Otherwise its values are
        dropped, since memory may not suffice for both. among: the bytes of which one fills free memory. brief: the outcome is not
        described, and a sample of rows suffices for a wrong one. Raises WorkerError, ProtocolError, ReferenceFailedError.
        """
        byte, (claimed, count) = self.call(among)
        if has_plain_values(self.form):
            self.form = self._form_for(draw)
        values: list[torch.Tensor] = []
        try:
            claims = list(match(claimed, self.form, self._memory.device.type))
        except MismatchError as error:
            self._form_for(draw)  # whose fault it is
            compared: Right | Wrong = Wrong(error.category, str(error))
        else:
            ask_to_reveal(self._worker, self._outputs, claims, count, self._shapes, self._deadline_s, release=True)
            if known is not None and holds(self._outputs, claims, known[1]):
                return self._mutation(draw, known[0]) or known[0], known[1]
            if known is not None:
                known[1].clear()
            values = snapshot(self._outputs, claims, self._shapes)
            compared = self._compare(draw, values, byte, brief=brief)
        mutation = self._mutation(draw, compared)
        return mutation or decided(self._case, self._oracle, compared, values, draw, asks_rounding=self._asks_rounding), values

    def _mutation(self, draw: Draw, outcome: Outcome) -> Wrong | None:
        """The outcome of a call that changed its input; None if it did not."""
        if self._inputs is None or self._inputs.unchanged(draw.arguments, self._case.in_place):
            return None
        return Wrong(Category.MUTATED_INPUT, "forward() changed its input", figures=outcome.figures)

    def call(self, among: range = BYTES) -> tuple[int, tuple[Any, int]]:
        """Fill the worker's free memory with one of these bytes, and make a call. Returns the byte, and what the worker says of its
        output."""
        self._worker.give_way()
        byte = chance.choice(among)
        poison(self._worker, self._outputs, self._deadline_s, byte)
        synchronize(self._memory.device)  # the judge's own work must not slow the call
        leave_memory(self._memory.device)
        start = time.monotonic()
        answer = self._worker.request("call", self._deadline_s, set=0)
        self.call_s = time.monotonic() - start
        return byte, read_claim(answer)

    def close(self) -> None:
        """Take all memory back from the worker, and stop filling its free memory."""
        poison(self._worker, self._outputs, self._deadline_s, None)
        allocations = [*(self._inputs.allocations if self._inputs else []), *self._outputs]
        self._worker.take_back(allocations, self._deadline_s)
        self._memory.free(allocations)

    def _compare(self, draw: Draw, values: list[torch.Tensor], byte: int, *, brief: bool) -> Right | Wrong:
        """The verdict on an answer: by a sample of its rows, where that suffices."""
        judged = self._judged_rows(draw, values, brief=brief)
        return judged or judge_values(self._case, self._oracle, draw.arguments, values, self.form, byte, rule=draw.rule, brief=brief)

    def _judged_rows(self, draw: Draw, values: list[torch.Tensor], *, brief: bool) -> Right | Wrong | None:
        """The verdict on the changed rows and some others if they are right; brief: on random rows if they are wrong, as most are then
        everywhere. None if all rows have to be compared."""
        sample = self._sampler.draw() if brief else self._sampler.holding(draw.changed_rows)
        if sample is None:
            return None
        some = [sample.of(value) for value in values]
        try:
            judged = judge_values(self._case, self._oracle, draw.arguments, some, self.form, sample=sample, rule=draw.rule, brief=brief)
        except ReferenceFailedError:  # it may not take this number of rows
            return None
        return judged if isinstance(judged, Wrong) == brief else None

    def _form_for(self, draw: Draw) -> Any:
        """The form of the output for these inputs. Raises ReferenceFailedError if its shapes are not those of the first one."""
        form = form_of(self._oracle.expected(draw.arguments))
        if [tensor.shape for tensor in tensors(form)] != [tensor.shape for tensor in self._shapes]:
            raise ReferenceFailedError("the shapes of the reference's output change with the inputs' values")
        return form
