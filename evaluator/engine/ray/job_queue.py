"""The jobs of one run among hosts that may be lost: each is judged, judged again elsewhere, or, where hosts go down with it, given up."""

import threading
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from evaluator.engine.run import Run
from evaluator.job import Job, result_of
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence
from evaluator.results.result import Result, now

MAX_LOSSES = 3
"""Hosts that may be lost while they judge a submission, before it is judged no more."""
ALONE_AFTER = 2
"""With so many it is judged with nothing else on its host, so that the last loss is nobody else's."""


class Place(Protocol):
    """A host, as far as this module is concerned."""

    @property
    def name(self) -> str: ...

    @property
    def closed(self) -> bool:
        """Whether it is to have no more jobs: it is lost, or its machine is drained."""
        ...


@dataclass(frozen=True)
class Loss:
    """A host that was lost while it judged."""

    host: str
    at: datetime
    reason: str

    def __str__(self) -> str:
        return f"{self.host}, lost at {self.at:%Y-%m-%d %H:%M:%S} UTC: {self.reason}"


@dataclass
class Piece:
    """One job on its way through the hosts."""

    number: int
    job: Job
    losses: list[Loss] = field(default_factory=list)
    failed_on: set[str] = field(default_factory=set)
    """Names of hosts that could not judge it, and are there still."""

    @property
    def alone(self) -> bool:
        return len(self.losses) >= ALONE_AFTER


class Work:
    """What is to be judged in one run; hosts' threads take from it until nothing is left, of what others have taken either."""

    def __init__(self, run: Run, device: str) -> None:
        """`device` is named by results of jobs that nobody judged."""
        self.run, self._device = run, device
        self._changed = threading.Condition()
        self._back: list[Piece] = []
        """Taken once, and to be taken again."""
        self._out = 0
        """Taken, and neither judged nor back."""
        self._drawn_out = False
        self._places: dict[str, Place] = {}

    @property
    def over(self) -> bool:
        """Whether there is nothing to be done any more."""
        with self._changed:
            return self.run.over or (self._drawn_out and not self._back and not self._out)

    def join(self, place: Place) -> None:
        """It will take pieces."""
        with self._changed:
            self._places[place.name] = place
            self._changed.notify_all()

    def leave(self, place: Place) -> None:
        """It takes no more, or is lost."""
        with self._changed:
            self._places.pop(place.name, None)
            self._changed.notify_all()

    def take(self, place: Place) -> Piece | None:
        """The next piece for that host; None where it is closed, or nothing can come any more. Raises what the jobs' iterator raises."""
        while True:
            with self._changed:
                while self._drawn_out and not self._suiting(place) and (self._out or self._back) and not self.run.over and not place.closed:
                    self._changed.wait()
                if self.run.over or place.closed:
                    return None
                piece = self._suiting(place)
                if piece is None and self._drawn_out:
                    return None
                self._out += 1
                if piece is not None:
                    self._back.remove(piece)
                    return piece
            drawn = None
            try:
                drawn = self.run.draw()
            finally:
                if drawn is None:
                    with self._changed:
                        self._drawn_out = True
                        self._out -= 1
                        self._changed.notify_all()
            if drawn is not None:
                return Piece(*drawn)

    def judged(self, piece: Piece, place: Place, result: Result) -> None:
        """What a host has made of it. Where that is the machine's failure and there is another host, that one is to try."""
        with self._changed:
            others = self._places.keys() - {place.name} - piece.failed_on
        if result.category is Category.INFRASTRUCTURE_ERROR and others and not piece.failed_on:
            piece.failed_on.add(place.name)
            self.put_back(piece)
        else:
            self._finish(piece, result)

    def lost(self, piece: Piece, loss: Loss) -> None:
        """A host was lost while it judged the piece."""
        piece.losses.append(loss)
        if len(piece.losses) < MAX_LOSSES:
            self.put_back(piece)
        else:
            self._finish(piece, given_up(piece, self._device))

    def put_back(self, piece: Piece) -> None:
        """Have it taken again."""
        with self._changed:
            self._back.append(piece)
            self._out -= 1
            self._changed.notify_all()

    def end(self) -> None:
        """Nothing is taken any more."""
        self.run.end()
        self.wake()

    def wake(self) -> None:
        """Have who waits in `take` look again."""
        with self._changed:
            self._changed.notify_all()

    def _suiting(self, place: Place) -> Piece | None:
        for piece in self._back:
            if place.name not in piece.failed_on or not self._places.keys() - piece.failed_on:
                return piece
        return None

    def _finish(self, piece: Piece, result: Result) -> None:
        self.run.finish(piece.number, result)
        with self._changed:
            self._out -= 1
            self._changed.notify_all()


def given_up(piece: Piece, device: str) -> Result:
    """The result of a submission whose hosts were lost each time; what they were is its evidence."""
    losses = [str(loss) for loss in piece.losses]
    return result_of(
        piece.job,
        Category.INFRASTRUCTURE_ERROR,
        f"{len(losses)} hosts were lost while they judged it, and it is judged no more: {'; '.join(losses)}",
        device=device,
        duration_s=(now() - piece.losses[0].at).total_seconds(),
        evidence=Evidence(detail="\n".join(losses)),
    )
