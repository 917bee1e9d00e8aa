"""Source as HTML with its words marked, line by line.

Pygments goes over texts of strangers with regular expressions that can take for ever; so it does that in a process of its own, which is
ended when it takes too long. The text is then shown unmarked.
"""

import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path

from pygments.formatters import HtmlFormatter

from web.text_process import DEADLINE_S, TextProcess

MAX_CHARACTERS = 300_000
"""Longer texts are not marked."""
LIGHT, DARK = "default", "github-dark"
"""Styles of Pygments."""
CLASS = "source"
COMMAND = (sys.executable, "-I", str(Path(__file__).with_name("highlight_process.py")))


class Highlighter(TextProcess):
    """The process that marks words."""

    def __init__(self, deadline_s: float = DEADLINE_S, command: Sequence[str] = COMMAND) -> None:
        super().__init__(command, deadline_s)

    def lines(self, code: str) -> list[str]:
        """HTML of each line of Python code, nothing in it but text and `span` with a class."""
        if len(code) <= MAX_CHARACTERS:
            found = self.ask(code)
            if isinstance(found, list) and len(found) == code.count("\n") + 1:
                return found
        return [escape(line) for line in code.split("\n")]


def style_sheet() -> str:
    """The colours of both styles, each where the reader's own is light or dark."""
    light, dark = (HtmlFormatter(style=name).get_style_defs(f".{CLASS}") for name in (LIGHT, DARK))
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
