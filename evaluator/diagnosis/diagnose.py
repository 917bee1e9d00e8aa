"""From evidence to verdict: the first rule that applies decides.

The rules are the functions marked `@rule` in the modules of `evaluator/diagnosis/rules`. New modules there are found automatically.
Rules are pure functions of the evidence, so the same version derives every verdict again. They trust a worker's claims
only against itself: an exception, a failed build, a wrong shape. No claim of the worker makes a verdict better.
"""

import pkgutil
from importlib import import_module

from evaluator.diagnosis import rules
from evaluator.diagnosis.rule import REGISTERED, Rule
from evaluator.diagnosis.verdict import Verdict
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence


def diagnose(evidence: Evidence) -> Verdict:
    """The verdict on an evaluation that ran as far as it could; `ok` if no rule applies."""
    for rule in RULES:
        verdict = rule.decide(evidence)
        if verdict is not None:
            return verdict
    return Verdict(Category.OK, "")


def _discovered() -> tuple[Rule, ...]:
    for module in pkgutil.iter_modules(rules.__path__):
        import_module(f"{rules.__name__}.{module.name}")
    if not REGISTERED:
        raise ImportError(f"no rule was found in {list(rules.__path__)}: the installation is incomplete")
    return tuple(REGISTERED[order] for order in sorted(REGISTERED))


RULES = _discovered()
"""All rules, in the order in which they are tried."""
