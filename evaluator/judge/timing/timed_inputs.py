"""Draws the inputs of timed calls: new ones for each, a few values of some changed at random."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from evaluator.chance import chance
from evaluator.judge import limits
from evaluator.judge.correctness.inputs.draw import Draw
from evaluator.judge.correctness.inputs.few_rows import FewChanges
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.problem.stored_inputs import are_all_stored

DRAWN_SHARE = 0.5
"""Share of inputs that are drawn although files give them, if they give all."""


class TimedInputs:
    """Draws inputs of one case, and keeps the last ones."""

    def __init__(self, case: ProblemCase, device: torch.device, changes: FewChanges | None) -> None:
        """Raises ProblemError."""
        self._case, self._device = case, device
        self.changes = changes
        """Changes a few values; None if none are changed."""
        self._fewest_changed = 0
        """The fewest inputs of a block that have changes."""
        self.last = [self.draw()]
        """The candidate's last inputs. The baselines get the same afterwards, so shared memory shows the candidate nothing new."""

    @property
    def example(self) -> list[Any]:
        """Example arguments of a call."""
        return self.last[0].arguments

    def draw(self, *, is_changed: bool | None = None) -> Draw:
        """New inputs. A few values of them are changed at random, or as `is_changed` says. If files give all tensors, some are drawn: a
        kept output is wrong. Raises ProblemError."""
        seed = fresh_seed()
        draw = Draw(seed, self._case.inputs(seed, self._device))
        if are_all_stored(draw.arguments, self._case.stored) and chance.random() < DRAWN_SHARE:
            draw = Draw(seed, self._case.inputs(seed, self._device, with_files=False))
        is_changed = chance.random() < limits.FEW_CHANGED_SHARE if is_changed is None else is_changed
        return self.changes.either(draw) if self.changes is not None and is_changed else draw

    def for_calls(self, count: int, *, again: bool) -> list[Draw]:
        """Inputs for `count` calls; `again`: the last ones, if they are as many."""
        if not again or len(self.last) != count:
            self.last = []
            self.last = [self.draw(is_changed=each) for each in changed_among(count, self._fewest_changed)]
        return self.last

    def forget(self) -> None:
        """Drop the last inputs: there may be no memory for more."""
        self.last = []

    @contextmanager
    def surely_changed(self, changes: FewChanges | None) -> Iterator[None]:
        """In the body of `with`, at least one input of a block has these changes; None: as before."""
        usual, fewest = self.changes, self._fewest_changed
        if changes is not None:
            self.changes, self._fewest_changed = changes, 1
        try:
            yield
        finally:
            self.changes, self._fewest_changed = usual, fewest


def changed_among(count: int, fewest: int) -> list[bool]:
    """Which of `count` inputs are changed, `fewest` at the least. The first shows nothing of the others, unless it is the only one."""
    changed = [chance.random() < limits.FEW_CHANGED_SHARE for _ in range(count)]
    for place in chance.sample(range(count), count):
        if sum(changed) < fewest:
            changed[place] = True
    return changed
