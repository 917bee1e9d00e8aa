"""Syntax highlighting: source as HTML, line by line.

Pygments applies regular expressions to strangers' texts, which can take for ever. So it runs in a separate process, which is ended when
it takes too long. The text is then shown without highlighting.
"""

import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path

from pygments.formatters import HtmlFormatter

from web.text_process import DEADLINE_S, TextProcess

MAX_CHARACTERS = 300_000
"""Maximum characters of a text that is highlighted."""
LIGHT, DARK = "default", "github-dark"
"""Pygments' styles: light and dark."""
CLASS = "source"
COMMAND = (sys.executable, "-I", str(Path(__file__).with_name("highlight_process.py")))


class Highlighter(TextProcess):
    """The process that highlights source."""

    def __init__(self, deadline_s: float = DEADLINE_S, command: Sequence[str] = COMMAND) -> None:
        super().__init__(command, deadline_s)

    def lines(self, code: str) -> list[str]:
        """HTML of each line of Python code; it holds only text and `span` with a class."""
        if len(code) <= MAX_CHARACTERS:
            found = self.ask(code)
            if isinstance(found, list) and len(found) == code.count("\n") + 1:
                return found
        return [escape(line) for line in code.split("\n")]


def style_sheet() -> str:
    """CSS of both styles; the reader's colour scheme chooses one."""
    light, dark = (HtmlFormatter(style=name).get_style_defs(f".{CLASS}") for name in (LIGHT, DARK))
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
