"""Hints on failures, one per category."""

from collections.abc import Mapping

from rich.text import Text

from evaluator.results.category import CATEGORIES, Category


def advice(counts: Mapping[Category, int], chosen: str = "") -> list[Text]:
    """The hint of each category and the command that lists its evaluations, the most frequent first; empty if none has a hint.

    chosen: further arguments of `assay list`, which filter the evaluations.
    """
    found = sorted((category for category in counts if CATEGORIES[category].hint), key=lambda each: (-counts[each], each))
    lines = [Text("\nWhat to do", style="bold")] if found else []
    for category in found:
        lines.append(Text.assemble((f"{category}", "bold"), f" ({counts[category]}): {CATEGORIES[category].hint}"))
        lines.append(Text(f"    assay list --category {category}{f' {chosen}' if chosen else ''}", style="dim", no_wrap=True))
    return lines
