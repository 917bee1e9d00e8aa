"""Parses model responses: separates reasoning from answer, and finds the code block that is the submission."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from markdown_it import MarkdownIt

from evaluator.results.category import Category
from evaluator.submission.source import CLASS_MODEL_NEW, Rejection, defines_model_new, examine, parse

PYTHON_TAGS = frozenset({"", "python", "python3", "py", "py3", "pytorch"})
"""Tags of fences that count as Python even if the content does not parse."""
MARKDOWN_TAGS = frozenset({"markdown", "md"})
"""Tags of fences that may contain fences: some models wrap their whole response so."""

MAX_RESPONSE_BYTES = 4 << 20
"""Maximum size of one response: half a million words, and Markdown made to be slow still parses within a minute."""

_CLOSING_TAG = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_OPENING_TAG = re.compile(r"\s*<(?:think|thinking|reasoning)>", re.IGNORECASE)


@dataclass(frozen=True)
class Block:
    """One code block of a response."""

    code: str
    first_line: int
    """Line of the response, from 1, on which the first line of `code` stands."""
    tag: str
    """First word after the fence, in lower case; empty for an untagged fence, indented code and a response without fences."""
    fenced: bool
    closed: bool
    """False if the response, or a passage of reasoning, ends inside the fence."""
    reasoning: bool = False
    """Whether it is in the reasoning rather than in the answer."""


@dataclass(frozen=True)
class Candidate:
    """A block that holds, or should hold, a submission."""

    block: Block
    number: int
    """From 1, in document order, among the response's candidates."""
    rejection: Rejection | None
    note: str = ""


@dataclass(frozen=True)
class Response:
    """The content found in one response."""

    candidates: tuple[Candidate, ...]
    """All ModelNew blocks in document order, including the reasoning's."""
    final: Candidate | None
    """The block of the final answer."""
    rejection: Rejection | None
    """Why there is no final block; None where there is one."""


def read_response(text: str) -> Response:
    """Find the submissions in `text`, whose line ends are `\n`.

    The final answer is the last ModelNew block of the answer; if the answer has none, the last of the reasoning, with a note. A fence that
    the response breaks off in before ModelNew is the final answer too, and a syntax error.
    """
    split = _split(text)
    reasoning = [replace(block, reasoning=True) for block in _blocks(text[:split], 1)]
    answer = list(_blocks(text[split:], 1 + text.count("\n", 0, split)))
    found = [_candidate_block(block) for block in reasoning + answer]
    blocks = [block for block in found if block is not None]
    if not any(block.fenced for block in answer) and not any(not block.reasoning for block in blocks):
        blocks += _unfenced(text, split)
    if not any(not block.reasoning for block in blocks) and answer and _broken_off(answer[-1]):
        blocks.append(answer[-1])
    candidates = tuple(Candidate(block, number, examine(block.code, block.first_line)) for number, block in enumerate(blocks, 1))
    if not candidates:
        return Response((), None, _nothing_found(reasoning + answer))
    final = candidates[-1]
    if final.block.reasoning and split:
        final = replace(final, note="the answer has no ModelNew block; this is the last one in the reasoning")
    return Response(candidates, final, None)


def _split(text: str) -> int:
    """Where the answer begins: after the last closing tag of reasoning, unless that tag is in a string or comment of Python code.

    The parts are parsed separately, so that an open fence in the reasoning can't swallow the answer. A response that opens its reasoning
    and never closes it has no answer.
    """
    tags = list(_CLOSING_TAG.finditer(text))
    if not tags:
        return len(text) if _OPENING_TAG.match(text) else 0
    code = [range(block.first_line, block.first_line + block.code.count("\n")) for block in _blocks(text, 1) if _parses(block.code)]
    starts = [lines.start for lines in code]
    line, counted = 1 + text.count("\n"), len(text)
    for tag in reversed(tags):
        line, counted = line - text.count("\n", tag.start(), counted), tag.start()
        index = bisect_right(starts, line) - 1
        if index < 0 or line not in code[index]:
            return tag.end()
    return 0


@cache
def _markdown() -> MarkdownIt:
    """CommonMark's block structure alone, without raw HTML, which would hide a fence under a line such as `<answer>`."""
    parser = MarkdownIt("commonmark").disable(["html_block", "reference"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _blocks(text: str, first_line: int, nested: bool = False) -> Iterator[Block]:
    """Code blocks of `text` in document order; `first_line` is the line of the response on which `text` begins."""
    for token in _markdown().parse(text):
        if token.type not in ("fence", "code_block") or token.map is None:
            continue
        begin, end = token.map
        fenced = token.type == "fence"
        words = token.info.split(maxsplit=1)
        tag = words[0].strip("{}.").lower() if words else ""
        content = token.content
        lines = content.count("\n") + (content != "" and not content.endswith("\n"))
        closed = not fenced or end - begin - lines >= 2
        if fenced and tag in MARKDOWN_TAGS and not nested:
            yield from _blocks(content, first_line + begin + 1, nested=True)
        else:
            yield Block(content, first_line + begin + fenced, tag, fenced, closed)


def _candidate_block(block: Block) -> Block | None:
    """The block, if it defines ModelNew under any tag, or is tagged Python and fails to."""
    if "ModelNew" not in block.code:
        return None
    try:
        tree = parse(block.code)
    except SyntaxError:
        meant = block.fenced and block.tag in PYTHON_TAGS and CLASS_MODEL_NEW.search(block.code)
        return block if meant else None
    return block if defines_model_new(tree) else None


def _unfenced(text: str, split: int) -> list[Block]:
    """The answer as one block, if all of it is Python."""
    code = text[split:]
    block = Block(code, 1 + text.count("\n", 0, split), "", fenced=False, closed=True)
    return [block] if _candidate_block(block) else []


def _parses(code: str) -> bool:
    try:
        parse(code)
    except SyntaxError:
        return False
    return True


def _broken_off(block: Block) -> bool:
    return block.fenced and not block.closed and block.tag in PYTHON_TAGS and not _parses(block.code)


def _nothing_found(blocks: list[Block]) -> Rejection:
    fences = [block for block in blocks if block.fenced]
    python = [block for block in fences if block.tag in PYTHON_TAGS]
    if python:
        count = "its code block does not define" if len(python) == 1 else f"none of its {len(python)} code blocks defines"
        return Rejection(Category.MISSING_MODEL_NEW, f"{count} class ModelNew at the top level")
    if fences:
        tags = ", ".join(sorted({block.tag for block in fences}))
        return Rejection(Category.NO_CODE_BLOCK, f"no Python code block, only {tags}")
    return Rejection(Category.NO_CODE_BLOCK, "no code block, and the text as a whole is not Python that defines ModelNew")
