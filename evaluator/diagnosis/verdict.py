"""The verdict of one evaluation: a category and a message."""

from dataclasses import dataclass

from evaluator.results.category import CATEGORIES, Category

STAGES = {"load": "loading the file", "construct": "constructing ModelNew", "rounds": "forward()", "timing": "forward() while timed"}
"""The worker's action in each stage, in words."""


@dataclass(frozen=True)
class Verdict:
    """The category of an evaluation, and a message with the reason."""

    category: Category
    message: str

    @property
    def hint(self) -> str:
        return CATEGORIES[self.category].hint


def doing(stage: str) -> str:
    """The worker's action in a stage, in words."""
    return STAGES.get(stage, stage)
