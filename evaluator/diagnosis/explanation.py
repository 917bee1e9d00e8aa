"""What a category means, in words: `python pipeline.py --explain CATEGORY`, and the whole of docs/failures.md.

    python -m evaluator.diagnosis.explanation > docs/failures.md

Imports nothing but the table, so that asking takes no time.
"""

import sys
from difflib import get_close_matches

from evaluator.results.category import CATEGORIES, SEVERITY, Category, Status

STATUS_MEANINGS = {
    Status.CORRECT: "Right in every round. Only `ok` is ranked.",
    Status.INCORRECT: "It ran, and the answer is wrong.",
    Status.BUILD_FAILED: "It did not become an extension.",
    Status.RUN_FAILED: "It did not come to an answer.",
    Status.REJECTED: "It was not judged, because of what was handed in.",
    Status.DISQUALIFIED: "It was caught claiming what is not so.",
    Status.NOT_EVALUATED: "It was not judged, for no fault of its own. The next run tries again.",
}
_HEAD = """# What can go wrong, and what to do about it

Generated from `evaluator/results/category.py`: `python -m evaluator.diagnosis.explanation > docs/failures.md`. One category at a time: `python pipeline.py
--explain CATEGORY`. A category is given only where its evidence was observed, and the evidence is stored: `python -m db show ID`.
"""
_ORDER = """## When several apply

One submission has one category. Of several that apply it is the first in this order, which explains the others or makes them worthless:
"""


class UnknownCategoryError(Exception):
    """There is no such category; the message has the nearest names."""


def explain(name: str) -> str:
    """Everything that the table says of one category, in lines. Raises UnknownCategoryError."""
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
        "severity": f"{category.severity + 1} of {len(SEVERITY)}, 1 being what wins over all others",
    }
    width = max(map(len, facts))
    return "".join([f"{category.value}\n", *(f"  {fact:{width}}  {text}\n" for fact, text in facts.items())])


def document() -> str:
    """The text of docs/failures.md."""
    parts = [_HEAD]
    for status in Status:
        parts.append(f"## `{status.value}`\n\n{STATUS_MEANINGS[status]}\n")
        rows = [category for category in SEVERITY if category.status is status]
        parts += [_entry(category) for category in sorted(rows, key=lambda category: list(Category).index(category))]
    parts.append(_ORDER)
    parts.append("".join(f"{place}. `{category.value}`\n" for place, category in enumerate(SEVERITY, 1)))
    return "\n".join(parts)


def _entry(category: Category) -> str:
    info = CATEGORIES[category]
    lines = [f"### `{category.value}`", "", info.meaning, "", f"- Rests on: {info.evidence}."]
    return "\n".join([*lines, f"- What to do: {info.hint}" if info.hint else "- Nothing to do."]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
