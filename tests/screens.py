"""Checks that a table fits a screen of some width."""

import re

NOTE = "Not shown for lack of room: "
WIDTHS = (60, 80, 200)


def dropped(text: str) -> list[str]:
    """The columns that the output reports as not shown."""
    notes = [line for line in text.splitlines() if line.startswith(NOTE)]
    assert len(notes) <= 1, "it is said once"
    if not notes:
        return []
    assert notes[0].endswith("; widen the terminal or use --json")
    return notes[0].removeprefix(NOTE).partition(";")[0].split(", ")


def headings(text: str, first: str) -> list[str]:
    """The headers of the table whose first one this is."""
    line = next(line for line in text.splitlines() if re.match(rf" *{re.escape(first)}(  |$)", line))
    return re.split(r" {2,}", line.strip())


def assert_fits(text: str, width: int, columns: list[str], always: list[str]) -> list[str]:
    """A table of these columns: whole headers, each shown, told of or empty, and no line of it wider than the screen; its lines."""
    shown, gone = headings(text, next(name for name in columns if name not in dropped(text))), dropped(text)
    assert set(shown) <= set(columns) and [name for name in columns if name in shown] == shown
    assert set(always) <= set(shown) and not set(shown) & set(gone)
    assert width < 200 or not gone, "there is room for everything"
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if re.split(r" {2,}", line.strip()) == shown)
    rows = []
    for line in lines[start + 1 :]:
        if not line or line.startswith((NOTE, "There are", "fast_p", "* doubtful")) or re.match(r"\d+ (won|checked)", line):
            break
        rows.append(line)
    assert rows and max(map(len, [lines[start], *rows])) <= width
    return rows
