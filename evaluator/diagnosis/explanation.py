"""What a category means and which rule gives it: `python pipeline.py --explain CATEGORY`, and the whole of docs/verdicts.md.

python -m evaluator.diagnosis.explanation > docs/verdicts.md
"""

import sys
from difflib import get_close_matches

from evaluator.diagnosis.diagnose import RULES
from evaluator.diagnosis.rule import Rule
from evaluator.results.category import CATEGORIES, Category, Status

STATUS_MEANINGS = {
    Status.CORRECT: "Right on the problem's own inputs. Only `ok` is ranked.",
    Status.INCORRECT: "It ran, and the answer is wrong.",
    Status.BUILD_FAILED: "It did not become an extension.",
    Status.RUN_FAILED: "It did not come to an answer.",
    Status.REJECTED: "It was not judged, because of what was handed in.",
    Status.DISQUALIFIED: "It was caught claiming what is not so.",
    Status.NOT_EVALUATED: "It was not judged, for no fault of its own. The next run tries again.",
}
GIVEN_WITHOUT_RULE = {
    Category.OK: "where no rule applies",
    **dict.fromkeys((category for category in Category if category.status is Status.REJECTED), "before anything runs"),
    Category.NO_DEVICE: "where the device is missing",
    Category.INTERRUPTED: "where the run ends first",
}
"""When a category is given that no rule gives."""
_HEAD = """# Verdicts

<!-- python -m evaluator.diagnosis.explanation > docs/verdicts.md -->

Every evaluation has one status and one category. `assay judge --explain CATEGORY` also says what it rests on, and which rules may give it.
The evidence is stored: `assay show ID`.
"""
_COLUMNS = "| category | meaning | what to do |\n| --- | --- | --- |\n"
_REDUCED_PRECISION = """Leaderboards leave `reduced_precision` out, unless you ask for it: `assay leaderboard --allow-reduced-precision`,
or "reduced precision too" on the [pages](pages.md). There it is marked.
"""
_BEYOND = """## Beyond the verdict

Two more answers come with a right submission. They decide nothing, unless you ask for that.

| field | question | makes it a verdict |
| --- | --- | --- |
| `generalises` | Is it right in [other shapes](problems.md#generalisation)? | `--strict-shapes` |
| `robust` | Is it right on inputs of [other distributions](architecture.md#the-rounds)? | `--strict-inputs` |

Each is `yes`, `no` (at least one shape or distribution gave a wrong answer) or `untested`.
`assay show ID`, the pages and the feedback name the distributions that break it.
"""
_ORDER = """## When several apply

The first rule that applies decides. If none does, it is `ok`. The judge gives `no_device`, `interrupted`,
`rejected` and `infrastructure_error` without a rule. The rules are in `evaluator/diagnosis/rules`.

| order | rule |
| --- | --- |
"""


class UnknownCategoryError(Exception):
    """There is no such category; the message has the nearest names."""


def explain(name: str) -> str:
    """All that is known of one category, in lines. Raises UnknownCategoryError."""
    category = next((category for category in Category if category.value == name.strip().lower()), None)
    if category is None:
        near = get_close_matches(name.lower()[:64], [category.value for category in Category], n=3, cutoff=0.6)
        raise UnknownCategoryError(
            f"there is no category {name!r}; " + (f"nearest: {', '.join(near)}" if near else "docs/verdicts.md has all")
        )
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
    """The rules that may give it, with their places: the lower the place, the more other categories it wins over."""
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
    return f"| {rule.order} | `{rule.name}` |\n"


if __name__ == "__main__":
    sys.stdout.write(document())
