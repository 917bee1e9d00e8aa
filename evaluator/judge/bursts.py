"""Calls behind the gate, the judge's own witness to what calls on a GPU take.

One at a time, with nothing but the flush before it: the answer stays with the worker, and some are revealed later. And several back to
back, which tell small kernels more precisely, each with its own inputs and flush and its answer copied to a place of its own. What is in
the time beside the calls is learned from the baseline alone, which does the same without them.
"""

import logging
import secrets
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from evaluator.judge.claims import lower_quartile, single_slack_ms
from evaluator.judge.inputs import InputSet
from evaluator.judge.memory import Allocation, Memory
from evaluator.judge.rounds import snapshot, views_into
from evaluator.judge.side import Side

SINGLES = 15
LEAST_SINGLES = 3
SINGLES_S = 0.5
"""With LEAST_SINGLES done, slow calls are repeated no longer than this."""
REVEALED_SHARE = 0.25
"""Of the answers to single calls: how many are compared."""
BURSTS = 7
PLACES_BYTES = 1 << 30
"""Memory for answers beyond the first's."""

_random = secrets.SystemRandom()

log = logging.getLogger(__name__)

Check = Callable[[list[torch.Tensor], InputSet, list[Any]], None]
"""Compares the answer to these inputs with the reference's, and raises where it is wrong."""


class Bursts:
    """The calls behind the gate, of the candidate and then of the baseline alone."""

    def __init__(
        self,
        memory: Memory,
        sets: Sequence[InputSet],
        outputs: Sequence[Allocation],
        shapes: Sequence[torch.Tensor],
        draw: Callable[[], list[Any]],
    ) -> None:
        """`outputs` are memory for one answer, of these shapes; `draw` makes new inputs."""
        self._sets, self._shapes, self._draw = sets, shapes, draw
        length = max(1, min(len(sets), PLACES_BYTES // max(sum(allocation.nbytes for allocation in outputs), 1)))
        more = [[memory.allocate(allocation.requested) for allocation in outputs] for _ in range(length - 1)]
        self.places: list[list[Allocation]] = [list(outputs), *more]

    @property
    def allocations(self) -> list[Allocation]:
        """All memory for answers."""
        return [allocation for place in self.places for allocation in place]

    def run(self, side: Side, beside: Side, check: Check, wrong: type[Exception]) -> None:
        """Time calls of the candidate, and compare some of the answers; `beside` is the baseline that lives beside it.

        What is wrong behind the gate may come of a stream that did not wait there; what is late may be, where streams wait for each other,
        for the device's change between processes. Then all is done again without a gate. Raises `wrong`, and what `check` does.
        """
        if side.gate is not None and not side.waits:
            try:
                self._run_singles(side, check)
                if not side.waits and not self._is_late(side, beside):
                    self._run_in_rows(side, check)
                    return
            except wrong:
                log.debug("an answer was wrong behind the gate")
            side.waits = True
            side.single_ms.clear()
            side.burst_ms.clear()
        self._run_singles(side, check)
        self._run_in_rows(side, check)

    def _is_late(self, side: Side, beside: Side) -> bool:
        """Whether calls seem to take longer than they claim. A baseline that was slowed down can but hide that, and this decides nothing
        else than how the time is taken."""
        beside.waits = False
        idle_ms = [beside.burst(self._given(1), [None], calls=False) for _ in range(LEAST_SINGLES)]
        claim_ms = statistics.median(side.claims_ms)
        return lower_quartile(side.single_ms) - lower_quartile(idle_ms) - claim_ms > single_slack_ms(claim_ms, gated=True)

    def run_idle(self, alone: Side) -> None:
        """Time the same without the calls, of a worker whose last answer has not been revealed."""
        for _ in range(SINGLES):
            alone.single_ms.append(alone.burst(self._given(1), [None], calls=False))
        for _ in range(self._rows):
            places = [self._views(alone, place) for place in self.places]
            alone.burst_ms.append(alone.burst(self._given(len(places)), places, calls=False))

    @property
    def _rows(self) -> int:
        """How many bursts of several calls there are: none where there is memory for one call."""
        return BURSTS if len(self.places) > 1 else 0

    def _run_singles(self, side: Side, check: Check) -> None:
        start = time.monotonic()
        for number in range(SINGLES):
            if number >= LEAST_SINGLES and time.monotonic() - start > SINGLES_S:
                return
            given = self._given(1)
            side.single_ms.append(side.burst(given, [None]))
            side.check_flush()
            if number == 0 or _random.random() < REVEALED_SHARE:
                side.worker.request("reveal", side.deadline_s, outputs=self._views(side, self.places[0]))
                check(snapshot(self.places[0], self._shapes), *given[0])

    def _run_in_rows(self, side: Side, check: Check) -> None:
        for _ in range(self._rows):
            given = self._given(len(self.places))
            side.burst_ms.append(side.burst(given, [self._views(side, place) for place in self.places]))
            side.check_flush()
            number = _random.randrange(len(given))
            check(snapshot(self.places[number], self._shapes), *given[number])

    def _given(self, count: int) -> list[tuple[InputSet, list[Any]]]:
        return [(inputs, self._draw()) for inputs in _random.sample(list(self._sets), count)]

    def _views(self, side: Side, place: Sequence[Allocation]) -> list[dict[str, Any] | None]:
        return views_into(place, side.numbers, side.described, self._shapes)
