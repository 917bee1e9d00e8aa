"""What to do about failures: each category once, however many evaluations ended in it."""

from collections.abc import Mapping

from rich.text import Text

from evaluator.results.category import CATEGORIES, Category


def advice(counts: Mapping[Category, int], chosen: str = "") -> list[Text]:
    """The hint of each category and the command that lists its evaluations, the most frequent first; nothing where none has a hint.

    chosen: further words of `assay list`, which choose among all evaluations.
    """
    found = sorted((category for category in counts if CATEGORIES[category].hint), key=lambda each: (-counts[each], each))
    lines = [Text("\nWhat to do", style="bold")] if found else []
    for category in found:
        lines.append(Text.assemble((f"{category}", "bold"), f" ({counts[category]}): {CATEGORIES[category].hint}"))
        lines.append(Text(f"    assay list --category {category}{f' {chosen}' if chosen else ''}", style="dim", no_wrap=True))
    return lines
