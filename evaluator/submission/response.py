"""Parses model responses: separates reasoning from answer, and chooses the code block that is the submission.

Markers of reasoning divide a response into passages, and `block` reads each alone, so that an open fence in the reasoning can't swallow the
answer. What stands before the last closing marker is reasoning. What stands behind it is the answer, up to an opening marker that is never
closed: the rest is a thought that led to no answer. With only a closing marker it is the same: the prompt opened the reasoning.
"""

import re
from dataclasses import dataclass, replace

from evaluator.results.category import Category
from evaluator.submission.block import MARKER, Block, inside, is_model_new, parses, read_blocks, whole_code
from evaluator.submission.source import CLASS_MODEL_NEW, Rejection, examine

PYTHON_TAGS = frozenset({"", "python", "python3", "py", "py3", "pytorch"})
"""Tags of fences that count as Python even if the content does not parse."""

MAX_RESPONSE_BYTES = 4 << 20
"""Maximum size of one response: half a million words, and Markdown made to be slow still parses within a minute."""

_TAG = r"(?i:(?:seed:)?(?:think|thinking|thought|reasoning))"
# In prose, "the <think> tag" opens nothing: a tag that is made of a word opens reasoning only where a line begins.
_REASONING = re.compile(
    rf"(?P<closing></{_TAG}>|◁/think▷|\[/THINK\]|<channel\|>|<\|channel\|>final|<\|(?:END_THINKING|end_of_thought)\|>)"
    rf"|(?:^|{MARKER})[ \t]*(?:<{_TAG}>|◁think▷|\[THINK\])"
    r"|<\|channel>thought|<\|channel\|>(?:analysis|commentary)|<\|(?:START_THINKING|begin_of_thought)\|>",
    re.MULTILINE,
)


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
    the response breaks off in before ModelNew is the final answer too, and a syntax error. Reasoning that never ends holds no submission.
    """
    start, end = _answer(text)
    reasoning = [replace(block, reasoning=True) for block in read_blocks(text[:start])]
    answer = read_blocks(text[start:end], 1 + text.count("\n", 0, start))
    blocks = [block for block in reasoning + answer if _is_candidate(block)]
    if not any(not block.reasoning for block in blocks) and answer and _broken_off(answer[-1]):
        blocks.append(answer[-1])
    candidates = tuple(Candidate(block, number, examine(block.code, block.first_line)) for number, block in enumerate(blocks, 1))
    if not candidates:
        return Response((), None, _nothing_found(reasoning + answer, end < len(text)))
    final = candidates[-1]
    if final.block.reasoning:
        final = replace(final, note="the answer has no ModelNew block; this is the last one in the reasoning")
    return Response(candidates, final, None)


def _answer(text: str) -> tuple[int, int]:
    """Where the answer begins and ends. A marker in a string or comment of Python code is none."""
    markers = list(_REASONING.finditer(text))
    whole = whole_code(text) if markers else []
    start, end = 0, len(text)
    for marker in markers:
        if inside(marker.start(), whole):
            continue
        if marker["closing"]:
            start, end = marker.end(), len(text)
        else:
            end = min(end, marker.start())
    return start, end


def _is_candidate(block: Block) -> bool:
    """Whether it defines ModelNew under any tag, or is tagged Python and fails to."""
    meant = block.tag in PYTHON_TAGS and CLASS_MODEL_NEW.search(block.code) is not None
    return is_model_new(block.code) or (meant and not parses(block.code))


def _broken_off(block: Block) -> bool:
    return not block.closed and block.tag in PYTHON_TAGS and not parses(block.code)


def _nothing_found(blocks: list[Block], thinking: bool) -> Rejection:
    if thinking:
        return Rejection(Category.NO_CODE_BLOCK, "the response ends within its reasoning: code there is only a thought, not an answer")
    python = [block for block in blocks if block.tag in PYTHON_TAGS]
    if python:
        count = "its code block does not define" if len(python) == 1 else f"none of its {len(python)} code blocks defines"
        return Rejection(Category.MISSING_MODEL_NEW, f"{count} class ModelNew at the top level")
    if blocks:
        tags = ", ".join(sorted({block.tag for block in blocks}))
        return Rejection(Category.NO_CODE_BLOCK, f"no Python code block, only {tags}")
    return Rejection(Category.NO_CODE_BLOCK, "no code block, and the text as a whole is not Python that defines ModelNew")
