"""Reads C++ and CUDA roughly: tokens with their lines, kernels, launches, and matching brackets."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<string>(?:u8|[uUL])?R"(?P<mark>[^()\s\\]{0,16})\(.*?(?:\)(?P=mark)"|\Z)|(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
      | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<number>\.?\d(?:[eEpP][+-]|['\w.])*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<mark3><<<|>>>)
      | (?P<mark2>::|->|&&|\|\||[-+*/%&|^=!<>]=)
      | (?P<mark1>[^\s\w])
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_SPECIFIERS = frozenset(("__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__", "alignas"))
_CLOSED_BY = {"(": ")", "{": "}", "[": "]"}
MAX_TOKENS = 200_000
MAX_KERNELS = MAX_LAUNCHES = 64
"""Limits of reading one source, since submissions are hostile."""
REACH = 400
"""Maximum tokens between `<<<` and `>>>`, in a launch call, or from `__global__` to the name."""
LAUNCH_CALLS = frozenset(("cudaLaunchKernel", "cudaLaunchKernelEx", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel", "cuLaunchKernel"))


@dataclass(frozen=True)
class Token:
    """One token of a source."""

    kind: str
    """word, number, string, directive or mark."""
    text: str
    line: int


@dataclass(frozen=True)
class Kernel:
    """A function that is marked __global__."""

    name: str
    line: int
    parameters: tuple[Token, ...]
    body: tuple[Token, ...]
    """Empty for a declaration alone."""


@dataclass(frozen=True)
class Launch:
    """A launch by <<< >>>."""

    kernel: str
    line: int
    arguments: tuple[str, ...]
    """Texts of grid, block, shared memory and stream, where given."""


@dataclass(frozen=True)
class Source:
    """One source, with its kernels and launches."""

    tokens: tuple[Token, ...]
    ends: tuple[int, ...]
    """`closings` of the tokens."""
    kernels: tuple[Kernel, ...] = ()
    launches: tuple[Launch, ...] = ()
    words: frozenset[str] = field(default=frozenset())

    def lines_of(self, *words: str) -> list[int]:
        """The lines that have any of these words."""
        return sorted({token.line for token in self.tokens if token.kind == "word" and token.text in words})


def read(text: str, first_line: int = 1, most: int = MAX_TOKENS) -> Source:
    """Read at most `most` tokens of `text`, which begins on line `first_line` of its file. Text that is not C++ raises no error."""
    found = tuple(islice(tokens(text, first_line), min(most, MAX_TOKENS)))
    ends = closings(found)
    words = frozenset(token.text for token in found if token.kind == "word")
    return Source(
        found, ends, tuple(islice(_kernels(found, ends), MAX_KERNELS)), tuple(islice(_launches(found, ends), MAX_LAUNCHES)), words
    )


def tokens(text: str, first_line: int = 1) -> Iterator[Token]:
    """The tokens of a source, without its comments."""
    line, counted = first_line, 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind == "mark":  # the delimiter inside a raw string's pattern
            kind = "string"
        if kind == "comment":
            continue
        line += text.count("\n", counted, match.start())
        counted = match.start()
        yield Token("mark" if kind.startswith("mark") else kind, match.group(), line)


def closings(found: Sequence[Token]) -> tuple[int, ...]:
    """For each opening bracket, the position of its closing one. For all other tokens, the end."""
    ends = [len(found)] * len(found)
    waiting: dict[str, list[int]] = {")": [], "}": [], "]": []}
    for position, token in enumerate(found):
        if token.text in _CLOSED_BY:
            waiting[_CLOSED_BY[token.text]].append(position)
        elif waiting.get(token.text):
            ends[waiting[token.text].pop()] = position
    return tuple(ends)


def _kernels(found: Sequence[Token], ends: Sequence[int]) -> Iterator[Kernel]:
    """A kernel for each `__global__` with a name. Kernels do not overlap, so together they are no longer than the source."""
    starts = [position for position, token in enumerate(found) if token.text == "__global__"]
    for start, following in pairwise([*starts, len(found)]):
        name = _name(found, ends, start + 1, following)
        if name is None:
            continue
        end = ends[name + 1]
        body: Sequence[Token] = ()
        if end + 1 < len(found) and found[end + 1].text == "{":
            body = found[end + 2 : min(ends[end + 1], following)]
        yield Kernel(found[name].text, found[name].line, tuple(found[name + 2 : min(end, following)]), tuple(body))


def _name(found: Sequence[Token], ends: Sequence[int], position: int, following: int) -> int | None:
    """Position, below `following`, of the first name before a `(`, without arguments of specifiers; None if there is none."""
    for _ in range(REACH):
        if position + 1 >= following or found[position].text in ("{", ";", "}"):
            return None
        if found[position].text in _SPECIFIERS and found[position + 1].text == "(":
            position = ends[position + 1] + 1
        elif found[position].kind == "word" and found[position + 1].text == "(":
            return position
        else:
            position += 1
    return None


def _launches(found: Sequence[Token], ends: Sequence[int]) -> Iterator[Launch]:
    for position, token in enumerate(found):
        reach = min(position + REACH, len(found))
        if token.text == "<<<":
            name = _before(found, position)
            end = next((place for place in range(position, reach) if found[place].text == ">>>"), reach)
            yield Launch(name, token.line, tuple(_arguments(found[position + 1 : end])))
        elif token.text in LAUNCH_CALLS and position + 1 < len(found) and found[position + 1].text == "(":
            for word in found[position + 2 : min(ends[position + 1], reach)]:
                if word.kind == "word":
                    yield Launch(word.text, token.line, ())


def _before(found: Sequence[Token], position: int) -> str:
    """The function's name before `<<<`, without template arguments."""
    depth = 0
    for token in reversed(found[max(position - 200, 0) : position]):
        depth += token.text.count(">") if token.kind == "mark" else 0
        depth -= token.text.count("<") if token.kind == "mark" else 0
        if depth <= 0 and token.kind == "word":
            return token.text
    return ""


def _arguments(found: Sequence[Token]) -> Iterator[str]:
    depth, start = 0, 0
    for position, token in enumerate(found):
        depth += token.text in ("(", "{", "[")
        depth -= token.text in (")", "}", "]")
        if token.text == "," and depth == 0:
            yield "".join(part.text for part in found[start:position])
            start = position + 1
    if found:
        yield "".join(part.text for part in found[start:])
