"""The meaning of a category and the rules that give it: `python pipeline.py --explain CATEGORY`, and docs/verdicts.md.

python -m evaluator.diagnosis.explanation > docs/verdicts.md
"""

import sys

from evaluator.diagnosis.diagnose import RULES
from evaluator.diagnosis.rule import Rule
from evaluator.results.category import CATEGORIES, Category, Status
from evaluator.results.nearest import unknown

STATUS_MEANINGS = {
    Status.CORRECT: "Right on the inputs that the problem generates. Only `ok` is ranked.",
    Status.INCORRECT: "It ran, and the output is wrong.",
    Status.BUILD_FAILED: "It did not compile or link.",
    Status.RUN_FAILED: "It raised, crashed or hung.",
    Status.REJECTED: "The file has no usable submission.",
    Status.DISQUALIFIED: "It cheated: in time, output or access.",
    Status.NOT_EVALUATED: "The judge or the machine could not judge it. The next run tries again.",
}
GIVEN_WITHOUT_RULE = {
    Category.OK: "if no rule applies",
    **dict.fromkeys((category for category in Category if category.status is Status.REJECTED), "before anything runs"),
    Category.NO_DEVICE: "if the device is missing",
    **dict.fromkeys((Category.DEFERRED_WORK, Category.ESCAPED_STREAM), "in records of versions before 0.19, which accused for time"),
    Category.PROBLEM_ERROR: "if the problem's file is at fault",
    Category.INTERRUPTED: "if the run ended first",
}
"""When the judge gives a category that no rule gives."""
_HEAD = """# Verdicts

<!-- python -m evaluator.diagnosis.explanation > docs/verdicts.md -->

Every evaluation has one status and one category. `assay judge --explain CATEGORY` also shows the evidence that it needs
and the rules that give it. `assay show ID` shows the evidence of an evaluation.
"""
_COLUMNS = "| category | meaning | what to do |\n| --- | --- | --- |\n"
_REDUCED_PRECISION = """Leaderboards leave `reduced_precision` out, unless you ask for it: `assay leaderboard --allow-reduced-precision`,
or "reduced precision too" on the [pages](pages.md). There it is marked.
"""
_BEYOND = """## Beyond the verdict

A right submission has two more fields. They change the verdict only with the option.

| field | question | option that makes it decide |
| --- | --- | --- |
| `generalises` | Is it right in [other shapes](problems.md#generalisation)? | `--strict-shapes` |
| `robust` | Is it right on inputs of [other distributions](architecture.md#the-rounds)? | `--strict-inputs` |

Each is `yes`, `no` (at least one shape or distribution gave a wrong answer) or `untested`.
`assay show ID`, the pages and the feedback name the distributions on which it is wrong.
"""
_ORDER = """## When several apply

The first rule that applies decides. If none does, it is `ok`. The judge gives `no_device`, `interrupted` and
`rejected` without a rule. It also gives `problem_error`, `infrastructure_error` and `no_toolchain` itself.

| order | rule | gives |
| --- | --- | --- |
"""


class UnknownCategoryError(Exception):
    """There is no such category; the message has the nearest names."""


def explain(name: str) -> str:
    """All facts about one category, in lines. Raises UnknownCategoryError."""
    category = next((category for category in Category if category.value == name.strip().lower()), None)
    if category is None:
        raise UnknownCategoryError(unknown("category", name, Category))
    info = CATEGORIES[category]
    facts = {
        "status": f"{info.status.value}: {STATUS_MEANINGS[info.status]}",
        "meaning": info.meaning,
        "rests on": info.evidence,
        "what to do": info.hint or "nothing",
        "given by": _given_by(category),
    }
    width = max(map(len, facts))
    return "".join([f"{category.value}\n", *(f"  {fact:{width}}  {text}\n" for fact, text in facts.items())])


def _given_by(category: Category) -> str:
    """The rules that may give it, with their places. The rule with the lower place decides first."""
    found = [(place, rule) for place, rule in enumerate(RULES, 1) if category in rule.gives]
    places = (f"rule {place} of {len(RULES)}, {rule.name} in {rule.file}" for place, rule in found)
    return "; ".join(places) or f"no rule: {GIVEN_WITHOUT_RULE[category]}"


def document() -> str:
    """The text of docs/verdicts.md."""
    parts = [_HEAD]
    for status in Status:
        rows = "".join(_entry(category) for category in Category if category.status is status)
        parts.append(f"## `{status.value}`\n\n{STATUS_MEANINGS[status]}\n\n{_COLUMNS}{rows}")
        if status is Status.CORRECT:
            parts.append(_REDUCED_PRECISION)
    return "\n".join([*parts, _BEYOND, _ORDER + "".join(map(_row, RULES))])


def _entry(category: Category) -> str:
    info = CATEGORIES[category]
    return f"| `{category.value}` | {info.meaning} | {info.hint or 'Nothing.'} |\n"


def _row(rule: Rule) -> str:
    whole = [status for status in Status if {category for category in Category if category.status is status} <= set(rule.gives)]
    gives = [f"all `{status.value}`" for status in whole]
    gives += [f"`{category.value}`" for category in rule.gives if category.status not in whole]
    return f"| {rule.order} | `{rule.name}` | {', '.join(gives)} |\n"


if __name__ == "__main__":
    sys.stdout.write(document())
