"""Names that look like one that was mistyped."""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST_CHARACTERS = 200
"""What is compared of a name: the comparison takes time by the square of the length."""
_LEAST_CHARACTERS = 3
"""Less than that is in too many names to point at one."""


def nearest(name: str, known: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """Up to `count` of the known names: those that contain `name`, then those spelled alike. Case doesn't matter."""
    by_text = {each.lower()[:_MOST_CHARACTERS]: each for each in known}
    text = name.lower()[:_MOST_CHARACTERS]
    containing = sorted(each for each in by_text if len(text) >= _LEAST_CHARACTERS and text in each)
    alike = get_close_matches(text, by_text, n=count, cutoff=0.5)
    return tuple(by_text[each] for each in dict.fromkeys((*containing, *alike)))[:count]


def unknown(kind: str, name: str, known: Iterable[str], count: int = 3) -> str:
    """What to say of a name that doesn't exist: "no problem 'softmx'; nearest: softmax", or which there are."""
    names = sorted(set(known))
    if near := nearest(name, names, count):
        return f"no {kind} {name!r}; nearest: {', '.join(near)}"
    if not names:
        return f"no {kind} {name!r}; there is none"
    return f"no {kind} {name!r}; there are: {', '.join(names[:12])}{' …' if len(names) > 12 else ''}"
