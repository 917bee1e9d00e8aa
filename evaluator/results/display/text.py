"""Makes untrusted text safe to print: names, messages and output of submissions.

Control, invisible and direction-changing characters become escapes. Rich gets `Text` objects, in which it does not parse markup.
"""

import re

from rich.text import Text

MAX_CELL_CHARACTERS = 2000
"""Maximum length of a table cell; JSON has the full text."""

# C0 except tab and newline, DEL and C1, invisible and direction-changing characters, lone surrogates, tags.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def plain_block(text: str) -> str:
    """The text with an escape such as `\\x1b` for every unsafe character; newlines and tabs are kept."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def plain_line(text: str) -> str:
    """`plain_block` on one line."""
    return plain_block(text).replace("\n", "\\n").replace("\t", " ")


def natural(text: str) -> str:
    """A key that sorts texts as people do: `10_add` after `9_add`. Numbers of more than 20 digits are sorted as texts."""
    return re.sub("[0-9]+", lambda number: number[0].zfill(20), text)


def cell(value: object) -> Text:
    """A value for a table, on one line and cut at `MAX_CELL_CHARACTERS`; empty for None."""
    text = "" if value is None else str(value)
    shown = text if len(text) <= MAX_CELL_CHARACTERS else text[:MAX_CELL_CHARACTERS] + "…"
    return Text(plain_line(shown), overflow="fold")


def block(text: str, indent: str = "  ") -> str:
    """The text, made safe and indented."""
    return "\n".join(indent + line for line in plain_block(text).rstrip("\n").split("\n"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
