"""The verdict of one evaluation: a category and a message."""

from dataclasses import dataclass

from evaluator.diagnosis.compiler_advice import advice_on
from evaluator.results.category import CATEGORIES, Category, Status

STAGES = {
    "load": "loading the file",
    "construct": "constructing ModelNew",
    "rounds": "forward()",
    "timing": "forward() while timed",
    "shapes": "forward()",
}
"""The worker's action in each stage, in words."""


@dataclass(frozen=True)
class Verdict:
    """The category of an evaluation, a message with the reason, and a hint for the repair."""

    category: Category
    message: str
    hint: str = ""
    """By default the advice on a compiler's message, or else its category's."""

    def __post_init__(self) -> None:
        advice = advice_on(self.message) if self.category.status is Status.BUILD_FAILED else ""
        object.__setattr__(self, "hint", self.hint or advice or CATEGORIES[self.category].hint)


def doing(stage: str) -> str:
    """The worker's action in a stage, in words."""
    return STAGES.get(stage, stage)
