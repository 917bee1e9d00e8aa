"""Notes on a submission's text: a table of patterns. They are advice beside the evidence, and decide no verdict."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from evaluator.diagnosis.rules.launch_rules import MAX_THREADS
from evaluator.dsl import dsls

MAX_NOTES = 12
MAX_OF_A_KIND = 3
"""Maximum notes of one pattern: more say nothing new."""
MAX_CODE_CHARS = 256 << 10
"""Maximum length of code that is read."""
LEAST_SIZE = 17
"""Smaller numbers are more often tile widths and the like than sizes of a problem."""

_COMMENT = re.compile(r"//[^\n]*|/\*[^\n]*?(?:\*/|$)|^[ \t]*\*[ \t][^\n]*|#[ \t][^\n]*", re.MULTILINE)
_PARTS = {
    "file": re.compile(r".+", re.DOTALL),
    "kernel": re.compile(r"__global__(?:(?!__global__|\n\}).)*", re.DOTALL),
    "forward": re.compile(r"^class ModelNew\b(?:(?!^\S).)*?^[ \t]+def forward\b((?:(?!^\S).)*)", re.DOTALL | re.MULTILINE),
}
"""The parts of a submission that patterns search: a kernel to the brace that begins a line, and ModelNew from forward() on."""
_ARGUMENT = r"(?:[^,;<>()]|\((?:[^;<>()]|\([^;<>()]*\))*\))+"
"""An argument of a launch, with brackets in brackets."""
_CALLS = "|".join(
    (
        *("softmax", "log_softmax", "matmul", "mm", "bmm", "einsum", "linear", "conv[123]d", "baddbmm", "addmm", "embedding", "where"),
        *("relu", "leaky_relu", "gelu", "silu", "tanh", "sigmoid", "exp", "log", "r?sqrt", "pow", "norm", "dropout", "interpolate"),
        *("sum", "mean", "var", "std", "amax", "amin", "max", "min", "argmax", "topk", "sort", "cumsum", "cross_entropy", "nll_loss"),
        *("(?:layer|rms|batch|group)_norm", "scaled_dot_product_attention", "add", "mul", "div", "sub", "(?:max|avg)_pool2d"),
    )
)
"""Functions of PyTorch that compute."""


@dataclass(frozen=True)
class Note:
    """One remark."""

    line: int | None
    """Line of the submission's file; None for a note on all of it."""
    text: str


@dataclass(frozen=True)
class Row:
    """A pattern and its note, which has the line of the pattern's last group, or of its start."""

    part: Literal["file", "kernel", "forward"]
    pattern: str
    """An empty match stands for the whole file."""
    text: str
    """`{}` stands for the last group."""
    unless: str = r"\Z."
    """No note on a part that has this too. By default, nothing matches."""


ROWS = (
    Row(
        "file",
        rf"<<<{_ARGUMENT},\s*(102[5-9]|10[3-9]\d|1[1-9]\d\d|[2-9]\d\d\d|\d{{5,12}})\s*(?:,|>>>)",
        f"launched with {{}} threads per block; at most {MAX_THREADS} are allowed",
    ),
    Row(
        "file",
        rf"<<<{_ARGUMENT},{_ARGUMENT},\s*([5-9]\d{{4}}|\d{{6,12}})\s*(?:,|>>>)",
        "this launch requests {} bytes of dynamic shared memory without cudaFuncSetAttribute",
        "FuncSetAttribute",
    ),
    Row(
        "kernel",
        r"\b(?:(?:if|while)\s*\([^{};]{0,120}threadIdx[^{};]{0,120}|for\s*\([^{};]{0,120}threadIdx[^{}()]{0,120}\)\s*)\{[^{}]{0,4000}?(__syncthreads)",
        "a __syncthreads() under a condition on threadIdx: it waits for all threads of the block",
    ),
    Row(
        "kernel",
        r"__global__(?>.*?\b(return)\b)(?>.*__syncthreads)",
        "a return before a __syncthreads(): if only some threads of a block return, the others wait",
    ),
    Row(
        "kernel",
        r"__global__(?>.*?__shared__)",
        "this kernel uses shared memory without a __syncthreads()",
        r"\bsync\b|__sync|barrier|cooperative",
    ),
    Row(
        "kernel",
        r"__global__(?>.*?\bblockIdx\b)(?>.*?\[)",
        "this kernel has no bounds check: the last block may access memory beyond the end",
        r"\b(?:if|for|while|min|return|switch)\b|\?",
    ),
    Row(
        "file",
        r"__global__[^;{}]{0,400}?(?i:softmax)\w*\s*\(",
        "this kernel calls exp() without subtracting the maximum first: large inputs overflow",
        r"(?i:(?<!soft)max)|\A(?!.*\b(?:__)?exp2?f?\()",
    ),
    Row("file", r"\b(__half2?|half2|(?:__)?nv_bfloat16|__nv_bfloat162|Half|BFloat16|kHalf)\b.*", "this line uses half precision"),
    Row("file", r"(?<![\w.])(half)(?=[*&>({]|[ *&]+\w+ *[=;,)\[]).*", "this line uses half precision", r"\A(?!.*cuda_fp16)"),
    Row("file", r"\b(__(?:expf|exp10f|logf|sinf|cosf|tanf|powf|fdividef|frcp_rn|saturatef))\b", "approximate function: {}"),
    Row("forward", rf"\b((?:torch|F|functional)\.(?:{_CALLS}))\(", "forward() computes with PyTorch's `{}`, which is not an own kernel"),
    Row("forward", r"[\w)\]] (@) [\w(]", "forward() computes with PyTorch's `{}`, which is not an own kernel"),
    Row(
        "file",
        r"<<<.*",
        "no launch is checked with cudaGetLastError(): a refused launch goes unnoticed",
        r"cudaGetLastError|cudaPeekAtLastError|KERNEL_LAUNCH_CHECK|C10_CUDA_CHECK|AT_CUDA_CHECK",
    ),
    Row("forward", r"\.(cpu|item|tolist|numpy|synchronize|nonzero)\(", "forward() synchronizes with the device in `{}`"),
    Row("forward", r"\bload_inline\(", "forward() builds its extension: build it once, when the module is loaded"),
)
"""In the order in which their notes are shown."""


def notes(code: str, first_line: int = 1, sizes: Collection[int] = ()) -> tuple[Note, ...]:
    """Notes on `code`, which begins on line `first_line` of its file, for inputs of these sizes. The most important come first."""
    text = uncommented(code)
    rows = (*_kernels_of_dsls(), *ROWS, *_hard_coded(sizes))
    found = dict.fromkeys(note for row in rows for note in _of_row(row, text, first_line))
    return tuple(islice(found, MAX_NOTES))


def uncommented(code: str) -> str:
    """The code with blanks for comments of C++ and Python, as far as one line shows them; empty if it has more than MAX_CODE_CHARS."""
    return _COMMENT.sub(lambda comment: " " * len(comment[0]), code) if len(code) <= MAX_CODE_CHARS else ""


def _kernels_of_dsls() -> Iterator[Row]:
    marks = "|".join(re.escape(mark) for dsl in dsls() for mark in sorted(dsl.marks))
    yield Row(
        "file",
        r"\A",
        "it has no kernel: it neither builds an extension nor defines a kernel in a DSL",
        rf"__global__|(?<!torch\.)\b(?:{marks})\b",
    )


def _hard_coded(sizes: Collection[int]) -> Iterator[Row]:
    if numbers := "|".join(str(size) for size in sorted(sizes) if size >= LEAST_SIZE):
        told = "{} is a size of this case, hard-coded: other cases may be wrong"
        yield Row("kernel", rf"(?<![\w.])({numbers})(?![\w.])", told)
        yield Row("file", rf"\b(?:define\s+\w+|const(?:expr)?\b[^;=\n]{{0,100}}=)\s*({numbers})(?![\w.])", told)


def _of_row(row: Row, text: str, first_line: int) -> Iterator[Note]:
    pattern, unless = re.compile(row.pattern, re.DOTALL), re.compile(row.unless, re.DOTALL)
    parts = (part for part in _PARTS[row.part].finditer(text) if not unless.search(part[0]))
    for match in islice((match for part in parts for match in pattern.finditer(text, *part.span(part.lastindex or 0))), MAX_OF_A_KIND):
        group = match.lastindex or 0
        yield Note(first_line + text.count("\n", 0, match.start(group)) if match[0] else None, row.text.format(match[group]))
