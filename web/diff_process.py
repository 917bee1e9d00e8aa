"""The process behind `web.diff`: two lists of lines as JSON on each line of standard input, the steps from one to the other on standard
output."""

import difflib
import json
import sys
from collections.abc import Sequence

SMALL = 4_000_000
"""Up to this product of the lengths, frequent lines are compared too: the result is better, but takes longer."""


def steps(left: list[str], right: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """Steps in the form of `difflib.SequenceMatcher.get_opcodes`."""
    return difflib.SequenceMatcher(None, left, right, autojunk=len(left) * len(right) > SMALL).get_opcodes()


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(steps(*json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
