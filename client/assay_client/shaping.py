"""From a verdict to a number to train on."""

import math
from dataclasses import astuple, dataclass

from assay_client.errors import NotEvaluatedError
from assay_client.models import Evaluation, Verdict

UNBUILT = ("import_error",)
"""Failures at run time that come before extensions are built, or while they are loaded: no ground to say that something was built."""
RANKED = "ok"
REDUCED = "reduced_precision"
DEGENERATE = "degenerate_problem"


@dataclass(frozen=True)
class Parts:
    """What a reward is the sum of."""

    disqualified: float = 0.0
    unranked: float = 0.0
    built: float = 0.0
    ran: float = 0.0
    correct: float = 0.0
    speedup: float = 0.0
    speed_of_light: float = 0.0

    @property
    def total(self) -> float:
        worth: tuple[float, ...] = astuple(self)
        return sum(worth)


@dataclass(frozen=True)
class Shaping:
    """What each step is worth. Raises ValueError where a better submission could get less than a worse one."""

    disqualified: float = -1.0
    """All that cheating gets: less than anything else."""
    unranked: float = 0.0
    """All that a right answer gets that owes nothing to a kernel of its own."""
    built: float = 0.1
    ran: float = 0.1
    """It came to an answer, though perhaps not the right one. An answer to a problem that accepts those which take no work gets no more."""
    correct: float = 0.3
    """It is right, though perhaps by reduced precision."""
    speedup: float = 0.4
    """Of what is ranked: for a speedup of `fastest` and more; none for `slowest` and less; by the logarithm between."""
    speed_of_light: float = 0.1
    """Of what is ranked: times the share of the speed of light; none where it is not known."""
    slowest: float = 0.125
    fastest: float = 8.0
    cautious: bool = False
    """Take the lower end of the speedup's 95 % interval for the speedup."""

    def __post_init__(self) -> None:
        steps = (self.built, self.ran, self.correct, self.speedup, self.speed_of_light)
        if not all(math.isfinite(number) for number in (*steps, self.disqualified, self.unranked, self.fastest)):
            raise ValueError("all numbers of a shaping are finite")
        if min(steps) < 0:
            raise ValueError("a step is worth 0 at least")
        if not 0 < self.slowest < self.fastest:
            raise ValueError("0 < slowest < fastest")
        if self.disqualified >= min(0.0, self.unranked):
            raise ValueError("disqualified is less than 0 and than unranked")
        if self.unranked > Parts(built=self.built, ran=self.ran).total:
            raise ValueError("unranked is at most built and ran, which an answer to a degenerate problem gets")

    @property
    def least(self) -> float:
        """What no reward is below."""
        return self.disqualified

    @property
    def most(self) -> float:
        """What no reward is above."""
        return Parts(built=self.built, ran=self.ran, correct=self.correct, speedup=self.speedup, speed_of_light=self.speed_of_light).total


@dataclass(frozen=True)
class Reward:
    """A number to train on, what it is made of, and what it rests on."""

    value: float
    parts: Parts
    evaluation: Evaluation

    def __float__(self) -> float:
        return self.value


def reward(evaluation: Evaluation, shaping: Shaping | None = None) -> Reward:
    """What an evaluation is worth. Raises NotEvaluatedError where there is no verdict."""
    if evaluation.result is None or not evaluation.judged:
        raise NotEvaluatedError([evaluation])
    parts = _parts(evaluation.result, shaping or Shaping())
    return Reward(parts.total, parts, evaluation)


def _parts(verdict: Verdict, shaping: Shaping) -> Parts:
    match verdict.status:
        case "disqualified":
            return Parts(disqualified=shaping.disqualified)
        case "rejected" | "build_failed":
            return Parts()
        case "run_failed":
            return Parts() if verdict.category in UNBUILT else Parts(built=shaping.built)
        case "incorrect":
            return Parts(built=shaping.built, ran=shaping.ran)
        case "correct" if verdict.category == RANKED:
            return Parts(
                built=shaping.built,
                ran=shaping.ran,
                correct=shaping.correct,
                speedup=shaping.speedup * _place(_speedup(verdict, shaping), shaping),
                speed_of_light=shaping.speed_of_light * min(1.0, max(0.0, verdict.speed_of_light or 0.0)),
            )
        case "correct" if verdict.category == REDUCED:
            return Parts(built=shaping.built, ran=shaping.ran, correct=shaping.correct)
        case "correct" if verdict.category == DEGENERATE:
            return Parts(built=shaping.built, ran=shaping.ran)
        case "correct":
            return Parts(unranked=shaping.unranked)
        case unknown:
            raise ValueError(f"no reward is defined for the status {unknown!r}: the service is newer than this client")


def _speedup(verdict: Verdict, shaping: Shaping) -> float | None:
    return verdict.speedup_interval[0] if shaping.cautious and verdict.speedup_interval else verdict.speedup


def _place(speedup: float | None, shaping: Shaping) -> float:
    """Where a speedup is between the slowest (0) and the fastest (1), by its logarithm."""
    if speedup is None or not speedup > shaping.slowest:
        return 0.0
    if speedup >= shaping.fastest:
        return 1.0
    return min(1.0, math.log(speedup / shaping.slowest) / math.log(shaping.fastest / shaping.slowest))
