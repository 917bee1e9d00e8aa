"""Converts a verdict to a reward for training."""

import math
from dataclasses import astuple, dataclass

from assay_client.errors import NotEvaluatedError
from assay_client.models import Evaluation, Verdict

UNBUILT = ("import_error",)
"""Run-time failures before extensions are built, or while they are loaded: nothing is known to have been built."""
RANKED = "ok"
RIGHT = ("reduced_precision", "untimed")
"""Right answers without a place in the ranking."""
DEGENERATE = "degenerate_problem"


@dataclass(frozen=True)
class Parts:
    """The terms of a reward, which is their sum."""

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
    """Value of each step. Raises ValueError if a better submission could get less than a worse one."""

    disqualified: float = -1.0
    """Total for cheating: less than anything else."""
    unranked: float = 0.0
    """Total for a right answer without work of its own kernels."""
    built: float = 0.1
    ran: float = 0.1
    """It returned an output, right or wrong. A right answer to a problem that accepts trivial answers gets no more."""
    correct: float = 0.3
    """It is right, perhaps by reduced precision, or untimed."""
    speedup: float = 0.4
    """Ranked only: all of it for a speedup of `fastest` and more, none for `slowest` and less, by the logarithm between."""
    speed_of_light: float = 0.1
    """Ranked only: multiplied by the share of the speed of light; none if that is not known."""
    slowest: float = 0.125
    fastest: float = 8.0
    cautious: bool = False
    """Use the lower end of the speedup's 95 % interval as the speedup."""

    def __post_init__(self) -> None:
        steps = (self.built, self.ran, self.correct, self.speedup, self.speed_of_light)
        if not all(math.isfinite(number) for number in (*steps, self.disqualified, self.unranked, self.fastest)):
            raise ValueError("all numbers of a shaping must be finite")
        if min(steps) < 0:
            raise ValueError("a step must be at least 0")
        if not 0 < self.slowest < self.fastest:
            raise ValueError("slowest must be above 0 and below fastest")
        if self.disqualified >= min(0.0, self.unranked):
            raise ValueError("disqualified must be below 0 and below unranked")
        if self.unranked > Parts(built=self.built, ran=self.ran).total:
            raise ValueError("unranked must be at most built + ran, the reward on a degenerate problem")

    @property
    def least(self) -> float:
        """The lowest reward."""
        return self.disqualified

    @property
    def most(self) -> float:
        """The highest reward."""
        return Parts(built=self.built, ran=self.ran, correct=self.correct, speedup=self.speedup, speed_of_light=self.speed_of_light).total


@dataclass(frozen=True)
class Reward:
    """A reward, its terms, and its evaluation."""

    value: float
    """NaN without a verdict, unless the caller chose another value; `evaluation.why_not_judged` has the reason."""
    parts: Parts
    evaluation: Evaluation

    def __float__(self) -> float:
        return self.value


def reward(evaluation: Evaluation, shaping: Shaping | None = None) -> Reward:
    """The reward of an evaluation. Raises NotEvaluatedError without a verdict.

    With `Options(timing=False)` a right answer is `untimed`: it gets `built`, `ran` and `correct`, but nothing for its speed.
    """
    if evaluation.result is None or not evaluation.judged:
        raise NotEvaluatedError(evaluation)
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
        case "correct" if verdict.category in RIGHT:
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
    """Position of a speedup between the slowest (0) and the fastest (1), by its logarithm."""
    if speedup is None or not speedup > shaping.slowest:
        return 0.0
    if speedup >= shaping.fastest:
        return 1.0
    return min(1.0, math.log(speedup / shaping.slowest) / math.log(shaping.fastest / shaping.slowest))
