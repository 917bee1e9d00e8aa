"""Known names similar to a mistyped one."""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST_CHARACTERS = 200
"""Characters of a name that are compared: the time is quadratic in the length."""
_LEAST_CHARACTERS = 3
"""Minimum length to search names for: shorter text is in too many of them."""


def nearest(name: str, known: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """Up to `count` of the known names: those that contain `name`, then those spelled alike. Case doesn't matter."""
    by_text = {each.lower()[:_MOST_CHARACTERS]: each for each in known}
    text = name.lower()[:_MOST_CHARACTERS]
    containing = sorted(each for each in by_text if len(text) >= _LEAST_CHARACTERS and text in each)
    alike = get_close_matches(text, by_text, n=count)
    return tuple(by_text[each] for each in dict.fromkeys((*containing, *alike)))[:count]


def unknown(kind: str, name: str, known: Iterable[str], count: int = 3) -> str:
    """The message on an unknown name: "no problem 'softmx'; nearest: softmax", or a list of the known ones."""
    names = sorted(set(known))
    if near := nearest(name, names, count):
        return f"no {kind} {name!r}; nearest: {', '.join(near)}"
    if not names:
        return f"no {kind} {name!r}; none is known"
    return f"no {kind} {name!r}; known: {', '.join(names[:12])}{' …' if len(names) > 12 else ''}"
