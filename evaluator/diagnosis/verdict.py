"""What an evaluation comes to."""

from dataclasses import dataclass

from evaluator.results.category import CATEGORIES, Category

STAGES = {"load": "loading the file", "construct": "constructing ModelNew", "rounds": "forward()", "timing": "forward() while timed"}
"""What the worker is doing in a stage, in words."""


@dataclass(frozen=True)
class Verdict:
    """What an evaluation comes to."""

    category: Category
    message: str

    @property
    def hint(self) -> str:
        return CATEGORIES[self.category].hint


def doing(stage: str) -> str:
    """What was being done in a stage."""
    return STAGES.get(stage, stage)
