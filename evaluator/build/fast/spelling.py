"""Whether g++ may suggest a name in place of one that it doesn't know ("did you mean ...?")."""

from collections import defaultdict
from collections.abc import Iterable


def resembles(word: str, names: Iterable[str]) -> bool:
    """Whether g++ may suggest one of `names` for `word`. It uses GCC's limit on edits and ignores case,
    which GCC counts as half an edit."""
    goal = word.lower()
    places: dict[str, int] = defaultdict(int)
    for place, character in enumerate(goal):
        places[character] |= 1 << place
    letters = frozenset(goal)
    for name in names:
        most = _bound(len(goal), len(name))
        if abs(len(name) - len(goal)) > most:
            continue
        candidate = name.lower()
        # Each letter that only one of them has is an edit.
        missed, added = letters.difference(candidate), frozenset(candidate).difference(letters)
        if len(missed) <= most and len(added) <= most and _distance(len(goal), places, candidate) <= most:
            return True
    return False


def _bound(goal: int, candidate: int) -> float:
    """GCC's get_edit_distance_cutoff, in edits, for names of these lengths."""
    longer = max(goal, candidate)
    if longer <= 1:
        return 0
    return max(longer // 3, 1) if abs(goal - candidate) <= 1 else 2 * (longer + 2) // 3 / 2


def _distance(length: int, places: dict[str, int], candidate: str) -> int:
    """Edits, including transpositions, between a goal of this length, given by the positions of its letters as bits, and `candidate`: by
    Hyyrö's bit vectors, one column of the usual table at a time."""
    if length == 0:
        return len(candidate)
    full, last = (1 << length) - 1, 1 << (length - 1)
    higher, lower, diagonal, before, distance = full, 0, 0, 0, length
    for character in candidate:
        match = places.get(character, 0)
        swapped = ((~diagonal & match) << 1) & before
        diagonal = ((((match & higher) + higher) ^ higher) | match | lower | swapped) & full
        more, less = (lower | ~(diagonal | higher)) & full, diagonal & higher
        distance += (more & last > 0) - (less & last > 0)
        more, less = (more << 1 | 1) & full, (less << 1) & full
        higher, lower, before = (less | ~(diagonal | more)) & full, more & diagonal, match
    return distance
