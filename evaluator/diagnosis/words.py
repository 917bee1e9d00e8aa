"""Wording that messages share: cut long texts, remove paths, name kernels and launches."""

import re

from evaluator.results.evidence import FaultEvidence

_PATH = re.compile(r"(?<![\w.])/(?:[\w.@+-]+/)+(?P<name>[\w.@+-]+)")


def cut_middle(text: str, limit: int) -> str:
    """The head and the tail of a text longer than `limit` characters: either may name the error."""
    if len(text) <= limit:
        return text
    mark = f" [… {len(text) - limit} characters …] "
    kept = max(limit - len(mark), 2)
    return text[: kept - kept // 3] + mark + text[len(text) - kept // 3 :]


def without_paths(text: str) -> str:
    """The text with only the file name of each absolute path, so that it reveals nothing of the judge's machine."""
    return _PATH.sub(lambda match: match["name"], text)


def plain_name(kernel: str) -> str:
    """A kernel's bare name: `softmax` for `void detail::softmax<float, 4>(float const*, float*)`."""
    words = _without_brackets(kernel).split()
    return words[-1].rsplit("::", 1)[-1] if words else kernel


def _without_brackets(text: str) -> str:
    """The text without `<…>` and `(…)`. If two pairs cross, the round one counts. Unmatched brackets stay."""
    kept: list[str] = []
    opened: list[tuple[str, int]] = []
    round_ones = 0
    for character in text:
        kept.append(character)
        if character in "<(":
            opened.append((character, len(kept) - 1))
            round_ones += character == "("
        elif character == ">" and opened and opened[-1][0] == "<":
            del kept[opened.pop()[1] :]
        elif character == ")" and round_ones:
            while opened[-1][0] == "<":
                opened.pop()
            del kept[opened.pop()[1] :]
            round_ones -= 1
    return "".join(kept)


def extent(size: tuple[int, int, int]) -> str:
    """A grid or block size, as in `32×8×1`."""
    return "×".join(map(str, size))


def faulty_launch(fault: FaultEvidence) -> str:
    """The faulty kernel and its launch, as in `` `softmax` (grid 4×1×1, block 256×1×1) ``."""
    whose = "" if fault.own else " (library kernel)"
    return f"`{plain_name(fault.kernel)}`{whose} (grid {extent(fault.grid)}, block {extent(fault.block)})"
