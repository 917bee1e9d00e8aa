"""Rules: functions of the evidence, registered by `@rule` with their order and the categories that they may give."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from evaluator.diagnosis.verdict import Verdict
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence

Decide = Callable[[Evidence], Verdict | None]


@dataclass(frozen=True)
class Rule:
    """One rule of the folder `rules`."""

    order: int
    """Rules are tried from the lowest number up. Gaps leave room for new rules."""
    gives: tuple[Category, ...]
    """The only categories that `decide` may give."""
    decide: Decide
    """Returns the verdict; None if the rule does not apply."""

    @property
    def name(self) -> str:
        return self.decide.__name__

    @property
    def file(self) -> str:
        """The name of its file in the folder `rules`."""
        return f"{self.decide.__module__.rpartition('.')[2]}.py"


REGISTERED: dict[int, Rule] = {}
"""Rules registered so far, by order. `evaluator.diagnosis.diagnose.RULES` is complete."""


def rule(order: int, gives: Iterable[Category]) -> Callable[[Decide], Decide]:
    """Register the decorated function as a rule. Raises ValueError if another rule has this order."""

    def register(decide: Decide) -> Decide:
        if order in REGISTERED:
            raise ValueError(f"the rules {REGISTERED[order].name} and {decide.__name__} both have the order {order}")
        REGISTERED[order] = Rule(order, tuple(gives), decide)
        return decide

    return register
