"""Whether a source declares anything in a scope of the headers, where names mean what the headers declare."""

from collections.abc import Collection, Mapping, Sequence

from evaluator.build.fast.unit import Token, matching_brackets

_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await co_return co_yield
compl concept const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum explicit
export extern false final float for friend goto if import inline int long module mutable namespace new noexcept not not_eq nullptr
operator or or_eq override private protected public register reinterpret_cast requires restrict return short signed sizeof static
static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename typeof union unsigned using
virtual void volatile wchar_t while xor xor_eq
"""
_KEYWORDS = frozenset(_WORDS.split())
"""Keywords of C++ up to C++23, also those that are keywords only in some contexts."""
_CLASS_KEYS = frozenset(("struct", "class", "union", "enum"))
_HEAD_ENDS = frozenset(("{", "}", ";", ")", "]", "=", ",", "<", ">", ":"))
_BEHIND_A_FUNCTION = frozenset(("{", "const", "noexcept", "override", "try"))
"""Tokens that follow the parameters in a definition, but not in a call."""
_MAX_HEAD_TOKENS = 256
"""A longer name or class head is not read to its end."""


def enters_scope(tokens: Sequence[Token], header_words: Collection[str]) -> bool:
    """Whether one of a request's own `tokens` begins a namespace, class or function that may belong to a name of the headers. It may be
    wrongly true, never wrongly false."""
    words = [token.text for token in tokens]
    closing = {opened: closed for closed, opened in matching_brackets(tokens).items()}
    return any(
        (word == "namespace" and _is_of_headers(words, place, header_words))
        or (word in _CLASS_KEYS and _is_member(words, place + 1, closing, header_words))
        or (word == "template" and words[place + 1 : place + 3] == ["<", ">"] and _is_qualified(words, place + 3))
        or (word == "::" and _begins_function(words, place, closing, header_words))
        for place, word in enumerate(words)
    )


def _is_of_headers(words: Sequence[str], place: int, header_words: Collection[str]) -> bool:
    """Whether `namespace` at `place` begins a namespace that isn't certainly the source's own."""
    if (place and words[place - 1] == "using") or place + 1 == len(words):
        return False
    name = words[place + 1]
    return name != "{" and (not name.isidentifier() or name.startswith("_") or name in header_words)


def _is_member(words: Sequence[str], place: int, closing: Mapping[int, int], header_words: Collection[str]) -> bool:
    """Whether the class whose head begins at `place` is a member of something in the headers."""
    for _ in range(_MAX_HEAD_TOKENS):
        if place >= len(words) or words[place] in _HEAD_ENDS:
            return False
        if words[place] == "::":
            begin = _begin(words, place)
            return begin is None or words[begin] in header_words
        place = closing.get(place, place) + 1  # skip the arguments of an attribute
    return True


def _is_qualified(words: Sequence[str], place: int) -> bool:
    """Whether a specialization has a `::` between `place` and its body or value."""
    head = words[place : place + _MAX_HEAD_TOKENS]
    ends = next((number for number, word in enumerate(head) if word in ("{", ";", "=")), None)
    return ends is None or "::" in head[:ends]


def _begins_function(words: Sequence[str], place: int, closing: Mapping[int, int], header_words: Collection[str]) -> bool:
    """Whether the `::` at `place` is in the name of a header's function that is defined here."""
    begin = _begin(words, place)
    if begin is not None and words[begin] not in header_words:
        return False
    opened = place + 2 + (words[place + 1 : place + 2] == ["~"])
    if words[place + 1 : place + 2] == ["operator"]:
        return True
    if opened not in closing or words[opened] != "(":
        return False
    after = words[closing[opened] + 1 :][:1]
    is_constructor = after == [":"] and words[place - 1] in (words[opened - 1], ">")
    returns_behind = after == ["->"] and (begin is None or words[begin - 1 : begin] == ["auto"])
    return is_constructor or returns_behind or not _BEHIND_A_FUNCTION.isdisjoint(after)


def _begin(words: Sequence[str], place: int) -> int | None:
    """The beginning of the name that contains the `::` at `place`; None if uncertain, or in the global namespace."""
    depth, has_name = 0, False
    for number in range(place - 1, max(place - _MAX_HEAD_TOKENS, -1), -1):
        word = words[number]
        if has_name:
            if word != "::":
                return number + 1
            has_name = False
            continue
        depth += (word == ">") - (word == "<")
        is_name = word.isidentifier() and word not in _KEYWORDS
        if depth < 0 or (depth == 0 and word != "<" and not is_name):
            return None
        has_name = depth == 0 and is_name
    return 0 if has_name and place < _MAX_HEAD_TOKENS else None
