r"""Finds code blocks in one passage of a model's response.

The grammar, which is looser than Markdown's because raw responses also hold the markers of a chat template:

- A *marker* is a token such as `<|im_end|>`. It ends a line, as a line break does.
- A *fence* is a run of backticks or tildes with at most a tag behind it on its line. Before it may stand anything.
- A fence with a tag opens a block. A fence without one closes the open block, or else opens one.
- Unfenced text opens with Python if the prompt opened the fence. The first fence, without a tag, then closes the block.
- Code that is whole counts: what parses as Python, from a fence to the next one that stands where Markdown demands, has its fences and
  markers only in strings and comments. They are none.
"""

import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evaluator.submission.source import CLASS_MODEL_NEW, defines, parse

MARKDOWN_TAGS = frozenset({"markdown", "md"})
"""Tags of fences that may contain fences: some models wrap their whole response so."""

MARKER = r"(?:<[|｜][^\s<>|｜]+[|｜]?>|<\w+\|>|</?s>|<[be]os>|<(?:start|end)_of_turn>|\[/INST\])(?:(?:assistant|model)(?![^\s<]))?"
"""A chat template's token, with the role behind it: Llama, Qwen, Kimi, DeepSeek, gpt-oss, Gemma and Mistral write them so."""

_MARKER = re.compile(MARKER)
_FENCED_LINE = re.compile(r"^[^\n]*?(?:```|~~~)[^\n]*\n?", re.MULTILINE)
_FENCE = re.compile(r"(?P<lead>(?:(?!```|~~~).)*)(?P<run>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)\n?")
_CONTAINERS = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*")
_INDENTED_LINE = r"(?: {4}|\t)[ \t]*\S[^\n]*\n?"
_INDENTED = re.compile(rf"(?<![^\n]\n)^{_INDENTED_LINE}(?:(?:[ \t]*\n)*{_INDENTED_LINE})*", re.MULTILINE)
_BEFORE_CODE = re.compile(r"\s*(?:python|py)3?[ \t]*\n|[ \t]+(?=\S)")


@dataclass(frozen=True)
class Block:
    """One code block of a response."""

    code: str
    first_line: int
    """Line of the response, from 1, on which the first line of `code` stands."""
    tag: str
    """First word after the fence, in lower case; empty for an untagged fence and code without an opening fence."""
    closed: bool
    """False if the response, or a passage of reasoning, ends inside the fence."""
    reasoning: bool = False
    """Whether it is in the reasoning rather than in the answer."""


class _Fence(NamedTuple):
    start: int
    """Where code before it ends."""
    end: int
    """Where code behind it begins."""
    run: str
    tag: str
    opens: bool
    """Whether it can't close a block."""
    strict: bool
    """Whether only spaces, quote marks and list markers stand before it, as Markdown demands."""
    indent: int
    quotes: int

    def ends(self, opening: "_Fence", strict: bool) -> bool:
        """Whether the block that `opening` opened ends before this fence; strict: only where Markdown also sees a fence."""
        if strict and not (self.strict and self.indent <= opening.indent + 3):
            return False
        return self.opens or (self.run[0] == opening.run[0] and len(self.run) >= len(opening.run))


class Span(NamedTuple):
    """Where code is in a text."""

    start: int
    end: int
    opening: _Fence | None = None
    """None for code without a fence."""
    closed: bool = True


def read_blocks(text: str, first_line: int = 1) -> list[Block]:
    """Code blocks of `text` in document order; `first_line` is the line of the response on which `text` begins."""
    fences = _fences(text)
    whole = _whole(text, fences)
    openings = {span.opening for span in whole}
    fences = [fence._replace(opens=fence.opens or fence in openings) for fence in fences if not inside(fence.start, whole)]
    blocks: list[Block] = []
    position = 0
    for span in _spans(text, fences, strict=False):
        first_line += text.count("\n", position, span.start)
        position = span.start
        tag = span.opening.tag if span.opening else ""
        blocks.append(Block(_code(text, span), first_line, tag, span.closed))
    return blocks


def whole_code(text: str) -> list[Span]:
    """Code that parses as Python, so that neither a fence nor a marker is in it, in document order."""
    return _whole(text, _fences(text))


def inside(position: int, spans: Sequence[Span]) -> bool:
    """Whether `position` is in one of the ascending `spans`, before its end."""
    index = bisect_right(spans, position, key=lambda span: span.start) - 1
    return index >= 0 and position < spans[index].end


def parses(code: str) -> bool:
    """Whether `code` is Python."""
    try:
        parse(code)
    except SyntaxError:
        return False
    return True


def is_model_new(code: str) -> bool:
    """Whether `code` is Python that defines ModelNew."""
    return "ModelNew" in code and parses(code) and defines(parse(code), "ModelNew")


def _whole(text: str, fences: Sequence[_Fence]) -> list[Span]:
    alone = list(_unfenced(text, 0, len(text)))
    spans = _spans(text, [fence for fence in fences if not inside(fence.start, alone)], strict=True)
    return sorted({*alone, *(span for span in spans if parses(_code(text, span)))}, key=lambda span: span.start)


def _fences(text: str) -> list[_Fence]:
    found = []
    for line in _FENCED_LINE.finditer(text):
        for start, end in _pieces(text, line.start(), line.end()):
            match = _FENCE.fullmatch(text, start, end)
            if match is None:
                continue
            lead, run, info = match["lead"], match["run"], match["info"].split()
            strict = start == line.start() and _CONTAINERS.fullmatch(lead) is not None
            if not strict and (run[0] == "~" or len(info) > 1):
                continue
            indent = len(lead if strict else lead[: -len(lead.lstrip())])
            tag = info[0].strip("{}.").lower() if info else ""
            begin = start if strict else match.start("run")
            found.append(_Fence(begin, end, run, tag, bool(info), strict, indent, lead.count(">") if strict else 0))
    return found


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of text[start:end] between markers."""
    for marker in _MARKER.finditer(text, start, end):
        yield start, marker.start()
        start = marker.end()
    yield start, end


def _spans(text: str, fences: Sequence[_Fence], strict: bool) -> Iterator[Span]:
    """Pair the fences; strict: end blocks only where Markdown does."""
    position = index = 0
    wrappers: list[str] = []
    while index < len(fences):
        fence = fences[index]
        unfenced = list(_unfenced(text, position, fence.start))
        yield from unfenced
        index, before, position = index + 1, position, fence.end
        if not fence.opens and unfenced and unfenced[-1].end == fence.start:
            continue  # The prompt opened the block that it closes.
        if fence.tag in MARKDOWN_TAGS:
            wrappers.append(fence.run)
            continue
        if not fence.opens and wrappers and wrappers[-1] == fence.run:
            wrappers.pop()
            continue
        last = next((i for i in range(index, len(fences)) if fences[i].ends(fence, strict)), None)
        closed = last is not None and not fences[last].opens
        if not strict and not fence.opens and not closed and CLASS_MODEL_NEW.search(text, before, fence.start):
            yield Span(before, fence.start)  # Broken code behind a fence in the prompt.
            continue
        yield Span(fence.end, len(text) if last is None else fences[last].start, fence, closed)
        if last is None:
            return
        index, position = (last + 1, fences[last].end) if closed else (last, fences[last].start)
    yield from _unfenced(text, position, len(text))


def _unfenced(text: str, start: int, end: int) -> Iterator[Span]:
    """Code that defines ModelNew in text without fences: all of it between two markers, or what is indented in it."""
    if text.find("ModelNew", start, end) < 0:
        return
    for first, last in [(start, end)] if parses(text[start:end]) else _pieces(text, start, end):
        before = _BEFORE_CODE.match(text, first, last)
        code = before.end() if before else first
        if is_model_new(text[code:last]):
            yield Span(code, last)
            continue
        for match in _INDENTED.finditer(text, first, last):
            if is_model_new(textwrap.dedent(match.group())):
                yield Span(*match.span())


def _code(text: str, span: Span) -> str:
    """The code of `span` without the Markdown around it: quote marks, a list's indentation, markers behind it."""
    code = text[span.start : span.end]
    first, *others = _MARKER.split(code)
    if others and not "".join(others).strip() and not parses(code):
        code = first
    if span.opening and span.opening.quotes:
        code = re.sub(rf"^(?:[ \t]*>){{1,{span.opening.quotes}}} ?", "", code, flags=re.MULTILINE)
    return textwrap.dedent(code) if code.lstrip("\n")[:1].isspace() else code
