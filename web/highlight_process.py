"""The process behind `web.highlight`: a JSON string on each line of standard input, a JSON array of HTML lines for each on standard output.

It highlights Python, and the CUDA and C++ in its strings.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CudaLexer, PythonLexer
from pygments.token import String

_KERNEL = re.compile(r"__global__|#include\b|\btorch::Tensor\b")
_QUOTES = ('"""', "'''")
Token = tuple[int, Any, str]


class SubmissionLexer(PythonLexer):  # type: ignore[misc]
    """Python whose long strings may be kernels."""

    def get_tokens_unprocessed(self, text: str, stack: Iterable[str] = ("root",)) -> Iterator[Token]:
        held: list[Token] = []
        for token in super().get_tokens_unprocessed(text, stack):
            _, kind, value = token
            if held:
                held.append(token)
                if value in _QUOTES or kind not in String:
                    yield from _string(held)
                    held = []
            elif value in _QUOTES and kind in String:
                held = [token]
            else:
                yield token
        yield from held


def _string(tokens: list[Token]) -> Iterator[Token]:
    """The tokens of one string, with its quotes."""
    content = "".join(value for _, _, value in tokens[1:-1])
    if not _KERNEL.search(content):
        yield from tokens
        return
    first = tokens[0]
    start = first[0] + len(first[2])
    yield first
    yield from ((start + index, kind, value) for index, kind, value in CudaLexer().get_tokens_unprocessed(content))
    yield tokens[-1]


def html_lines(code: str) -> list[str]:
    """HTML for each line of `code`."""
    text: str = highlight(code, SubmissionLexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True))
    lines = text.removesuffix("\n").split("\n")
    # The formatter leaves out an empty last line.
    return lines + [""] * (code.count("\n") + 1 - len(lines))


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(html_lines(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
