"""What a category means and which rule gives it: `python pipeline.py --explain CATEGORY`, and the whole of docs/failures.md.

python -m evaluator.diagnosis.explanation > docs/failures.md
"""

import sys
from difflib import get_close_matches

from evaluator.diagnosis.diagnose import RULES
from evaluator.diagnosis.rule import Rule
from evaluator.results.category import CATEGORIES, Category, Status

STATUS_MEANINGS = {
    Status.CORRECT: "Right on the problem's own inputs. Only `ok` is ranked; on request `reduced_precision` is, too.",
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
_HEAD = """# What can go wrong, and what to do about it

Generated from `evaluator/results/category.py` and `evaluator/diagnosis/rules`:
`python -m evaluator.diagnosis.explanation > docs/failures.md`. One category at a time: `python pipeline.py --explain CATEGORY`.
A category is given only where its evidence was observed, and the evidence is stored: `python -m db show ID`.
"""
_ORDER = """## When several apply

One submission has one category. The rules below are tried in this order, and the first that applies decides; where none does, it is `ok`.
The judge gives `no_device`, `interrupted` and the categories of `rejected` without a rule, and for its own failures `infrastructure_error`.

| order | rule | file in `evaluator/diagnosis/rules` | categories that it may give |
| --- | --- | --- | --- |
"""


class UnknownCategoryError(Exception):
    """There is no such category; the message has the nearest names."""


def explain(name: str) -> str:
    """All that is known of one category, in lines. Raises UnknownCategoryError."""
    category = next((category for category in Category if category.value == name.strip().lower()), None)
    if category is None:
        near = get_close_matches(name.lower()[:64], [category.value for category in Category], n=3, cutoff=0.6)
        raise UnknownCategoryError(
            f"there is no category {name!r}; " + (f"nearest: {', '.join(near)}" if near else "docs/failures.md has all")
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
    """The text of docs/failures.md."""
    parts = [_HEAD]
    for status in Status:
        parts.append(f"## `{status.value}`\n\n{STATUS_MEANINGS[status]}\n")
        parts += [_entry(category) for category in Category if category.status is status]
    parts.append(_ORDER + "".join(map(_row, RULES)))
    return "\n".join(parts)


def _entry(category: Category) -> str:
    info = CATEGORIES[category]
    lines = [f"### `{category.value}`", "", info.meaning, "", f"- Rests on: {info.evidence}."]
    return "\n".join([*lines, f"- What to do: {info.hint}" if info.hint else "- Nothing to do."]) + "\n"


def _row(rule: Rule) -> str:
    gives = ", ".join(f"`{category.value}`" for category in rule.gives)
    return f"| {rule.order} | `{rule.name}` | `{rule.file}` | {gives} |\n"


if __name__ == "__main__":
    sys.stdout.write(document())
