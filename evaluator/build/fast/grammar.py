"""Syntax that no C++ program has, whatever its names mean: unmatched brackets, and tokens that never follow each other.

The text is read after the preprocessor, so nothing is a macro any more. An entry may list only what every C++ up to C++23, with the
extensions of g++ and nvcc, forbids. The list need not find every error.
"""

from collections.abc import Iterable, Sequence

from evaluator.build.fast.unit import Token, Unit, matching_brackets

_STATEMENTS = frozenset(("return", "if", "for", "while", "switch", "break", "continue", "else", "case"))
"""Words that begin a statement or a part of one. Not `do`, `goto` and `try`, which have other uses."""
_TYPES = frozenset(("int", "float", "double", "void", "bool", "char"))
"""Not `long` and the like, which combine with others in any order."""
_OTHERS = """
alignas alignof and and_eq asm auto bitand bitor catch char16_t char32_t char8_t class co_await co_return co_yield compl concept const
const_cast consteval constexpr constinit decltype default delete do dynamic_cast enum explicit export extern false friend goto inline long
mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires short signed
sizeof static static_assert static_cast struct template this thread_local throw true try typedef typeid typename typeof union unsigned using
virtual volatile wchar_t xor xor_eq final override import module restrict
"""
KEYWORDS = _STATEMENTS | _TYPES | frozenset(_OTHERS.split())
"""Includes words that are keywords only in some contexts."""
_AFTER_NUMBER = frozenset(("and", "or", "xor", "bitand", "bitor", "not_eq", "and_eq", "or_eq", "xor_eq", "final", "override"))
_BINARY = frozenset(("=", "+", "-", "/", "%", "==", "!=", "<=", "+=", "-=", "*=", "/=", "%=", "||"))
_DIGRAPHS = frozenset(("<:", ":>", "<%", "%>", "%:"))
_RAW = frozenset(("R", "u8R", "uR", "UR", "LR"))
_PLAIN_ATTRIBUTES = frozenset(("nodiscard", "maybe_unused", "likely", "unlikely", "fallthrough", "noreturn"))
_STRAY = frozenset("`@#\"'")
"""Characters that are no token by themselves. Not `$` and letters beyond ASCII, which may be parts of names."""


def stray_or_pair(unit: Unit, file: str, line: int) -> str | None:
    """A stray character or an impossible pair in a request's own tokens, where a message at `file`, `line` may be about it. None if nothing
    is certain."""
    tokens = unit.own
    if _has_riddles(unit):
        return None
    if any(token.file == file and token.line == line and token.text in _STRAY for token in tokens):
        return "stray character"
    opening, _ = matching_brackets(tokens)
    inside = _arguments_of_extensions(tokens, opening)
    for place in range(1, len(tokens)):
        before, after = tokens[place - 1], tokens[place]
        here = before.file == after.file == file and before.line <= line <= after.line
        if here and place not in inside and _never(tokens, place, opening):
            return "impossible pair"
    return None


def has_unmatched_bracket(unit: Unit, file: str = "", line: int | None = None) -> bool:
    """Whether the request's own brackets certainly don't match, so that a message at `file`, `line` may be about that. Without a line: a
    message about the end of the source."""
    begin = matching_brackets(unit.own)[1]
    if begin is None or not unit.headers_are_balanced or _has_riddles(unit):
        return False
    return line is None or any((token.file, token.line) == (file, line) for token in unit.own[begin:])


def _has_riddles(unit: Unit) -> bool:
    """Whether the text has parts with another grammar, or parts that this module reads differently from a compiler."""
    tokens = unit.own
    return (
        any(token.text == "requires" or (token.kind == "other" and token.text not in _STRAY) for token in tokens)
        or any(map(_hides, tokens, tokens[1:], tokens[2:]))
        or not all(_is_plain_attribute(tokens, place) for place in range(len(tokens) - 1))
        or _is_interrupted(unit)
    )


def _is_interrupted(unit: Unit) -> bool:
    """Whether a header is included inside brackets, or after an incomplete declaration."""
    depth, before = 0, ";"
    for place, token in enumerate((*unit.own, None)):
        if place in unit.gaps and (depth or before not in (";", "}")):
            return True
        if token is not None:
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            before = token.text
    return False


def _hides(first: Token, second: Token, third: Token) -> bool:
    """Whether `first` begins something that this module reads differently from a compiler: a digraph, or a raw string."""
    if first.text in _RAW and second.kind == "string":
        return True
    # `<::name` does not begin with a digraph; it is split into `<` and `::` here.
    return first.text + second.text in _DIGRAPHS or (first.text + second.text == "<::" and third.text in (":", ">"))


def _is_plain_attribute(tokens: Sequence[Token], place: int) -> bool:
    """False for `[[` with an attribute that may hold any tokens."""
    if tokens[place].text != "[" or tokens[place + 1].text != "[":
        return True
    inner = [token.text for token in tokens[place + 2 : place + 4]]
    return len(inner) == 2 and inner[0] in _PLAIN_ATTRIBUTES and inner[1] == "]"


def _arguments_of_extensions(tokens: Sequence[Token], opening: dict[int, int]) -> frozenset[int]:
    """Positions in the arguments of `__attribute__` and the like, which have another grammar."""

    def found() -> Iterable[int]:
        for closing, opened in opening.items():
            if opened > 0 and tokens[opened].text == "(" and (tokens[opened - 1].text.startswith("_") or tokens[opened - 1].text == "asm"):
                yield from range(opened, closing + 1)

    return frozenset(found())


def _never(tokens: Sequence[Token], place: int, opening: dict[int, int]) -> bool:
    """Whether the token at `place` can never follow the one before it."""
    before, after = tokens[place - 1], tokens[place]
    earlier = tokens[place - 2] if place > 1 else None
    if before.kind == "number":
        return after.kind in ("number", "string", "character") or _is_word_alone(after)
    if before.text in _BINARY:
        return after.text == ";" and _is_operand(earlier)
    if before.text == ",":
        return after.text == ")" and _is_call(tokens, opening.get(place))
    ends = after.kind == "number" or after.text in _STATEMENTS or after.text in _TYPES
    if _is_name(before):
        return ends or after.kind == "string" or (_is_name(after) and (_is_name(earlier) or _is_operator(earlier)))
    if before.text in (")", "]") and not (earlier and before.text == earlier.text == "]"):
        opened = opening.get(place - 1)
        if _is_call(tokens, opened):
            return ends or _is_name(after)
        return before.text == ")" and after.text in _STATEMENTS and _is_operand_in_brackets(tokens, opened)
    return False


def _is_word_alone(token: Token) -> bool:
    """False for an operator, and for a word that may follow the width of a bit-field."""
    return token.kind == "word" and token.text not in _AFTER_NUMBER and not token.text.startswith("_")


def _is_name(token: Token | None) -> bool:
    """Whether it is an identifier without a special meaning in the language or a compiler."""
    return token is not None and token.kind == "word" and token.text not in KEYWORDS and not token.text.startswith("_")


def _is_operator(token: Token | None) -> bool:
    """Whether an operand must follow; after `*`, it may also be a name that ends a declarator."""
    return token is not None and (token.text in _BINARY or token.text in ("*", "?"))


def _is_operand_in_brackets(tokens: Sequence[Token], opened: int | None) -> bool:
    return opened is not None and opened > 0 and _is_operator(tokens[opened - 1])


def _is_operand(token: Token | None) -> bool:
    return token is not None and (_is_name(token) or token.kind == "number" or token.text in (")", "]"))


def _is_call(tokens: Sequence[Token], opened: int | None) -> bool:
    """Whether a name precedes this bracket, as in `name(` and `name[`."""
    return opened is not None and opened > 0 and _is_name(tokens[opened - 1])
