"""Sources with their words marked."""

import html
import re
import sys
import time
from collections.abc import Iterator

import pytest

from tests.command_line import PROJECT
from web.highlight import COMMAND, MAX_CHARACTERS, Highlighter, style_sheet

HOSTILE = "<script>alert(1)</script> \"'&amp; # </span></code>"


@pytest.fixture
def highlighter() -> Iterator[Highlighter]:
    made = Highlighter(deadline_s=30.0)  # a busy machine takes seconds to start it
    yield made
    made.close()


def text_of(lines: list[str]) -> str:
    return "\n".join(html.unescape(re.sub("<[^>]*>", "", line)) for line in lines)


def test_every_line_is_kept_and_balanced(highlighter: Highlighter) -> None:
    for path in sorted((PROJECT / "submissions").rglob("*.py")):
        code = path.read_text(encoding="utf-8")
        lines = highlighter.lines(code)
        assert text_of(lines) == code, path
        assert all(line.count("<span") == line.count("</span>") for line in lines), path
        assert set(re.findall("<[^>]*>", "".join(lines))) <= {"</span>", *re.findall('<span class="[a-z0-9]+">', "".join(lines))}


@pytest.mark.parametrize(
    "code", ["", "\n", "a", "a\n\n", "\n\nx", 'x = """__global__ void f() {\n', HOSTILE, f'"""{HOSTILE}\n#include"""', "'''\n"]
)
def test_odd_texts_come_back_whole(highlighter: Highlighter, code: str) -> None:
    assert text_of(highlighter.lines(code)) == code


def test_a_kernel_in_a_string_is_marked_as_cuda(highlighter: Highlighter) -> None:
    lines = highlighter.lines('SOURCE = r"""\n__global__ void f(float* x) { return; }\n"""\nTEXT = """\nreturn of the text\n"""\n')
    assert re.search(r'<span class="k\w*">__global__</span>', lines[1]) and re.search(r'<span class="k\w*">return</span>', lines[1])
    assert re.fullmatch(r'<span class="s\w*">return of the text</span>', lines[4])


def test_what_takes_too_long_is_shown_unmarked_and_the_next_is_marked_again() -> None:
    hangs = "import sys\nfor line in sys.stdin:\n    while 'endless' in line: pass\n    print('[\"<b></b>\"]', flush=True)\n"
    highlighter = Highlighter(deadline_s=2.0, command=(sys.executable, "-I", "-c", hangs))
    begun = time.monotonic()
    assert highlighter.lines("endless <b>") == ["endless &lt;b&gt;"]
    assert 2.0 <= time.monotonic() - begun < 20
    assert highlighter._process is None
    highlighter._deadline_s = 60.0
    assert highlighter.lines("short") == ["<b></b>"]
    highlighter.close()


def test_a_process_that_ends_is_no_trouble() -> None:
    highlighter = Highlighter(command=(sys.executable, "-I", "-c", "pass"))
    assert highlighter.lines("a\n<b>") == ["a", "&lt;b&gt;"]
    assert highlighter.lines("a") == ["a"]
    highlighter.close()


def test_long_texts_are_not_marked(highlighter: Highlighter) -> None:
    code = "x = 1\n" * (MAX_CHARACTERS // 6 + 1)
    assert highlighter.lines(code) == code.split("\n")
    assert highlighter._process is None


def test_the_process_imports_nothing_of_where_it_is_started(highlighter: Highlighter) -> None:
    assert COMMAND[1] == "-I"


def test_both_styles_colour_the_same_class() -> None:
    light, dark = style_sheet().split("@media (prefers-color-scheme: dark)")
    assert ".source .k" in light and ".source .k" in dark
