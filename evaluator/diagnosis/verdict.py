"""The verdict of one evaluation: a category and a message."""

from dataclasses import dataclass

from evaluator.results.category import CATEGORIES, Category

STAGES = {"load": "loading the file", "construct": "constructing ModelNew", "rounds": "forward()", "timing": "forward() while timed"}
"""What the worker does in each stage, in words."""


@dataclass(frozen=True)
class Verdict:
    """The category of an evaluation, and why."""

    category: Category
    message: str

    @property
    def hint(self) -> str:
        return CATEGORIES[self.category].hint


def doing(stage: str) -> str:
    """What the worker did in a stage, in words."""
    return STAGES.get(stage, stage)
