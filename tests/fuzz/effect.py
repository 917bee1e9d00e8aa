"""Decides, without the judge's code, whether a hostile worker's frames still amount to the honest answer."""

import json
import math
import sys
from dataclasses import dataclass

from tests.fuzz.plan import HEADER, LIMIT_BYTES, Json, Turn

DEEPEST = 20_000
"""Python's limit of nested calls. Mutations nest some six thousand deep."""


@dataclass(frozen=True)
class Effect:
    """What the sent bytes mean to the judge."""

    answers: bool
    """The first answer in it has the kind and the number that were asked for."""
    same_output: bool
    """It describes the output that the honest one does, or none where that has none."""
    trailing: bool
    """Something comes behind it."""


def effect(turn: Turn, sent: bytes) -> Effect:
    """Read the sent bytes without the judge's code. Build requests before the answer are allowed, and so are fields without a meaning in
    the protocol."""
    while len(sent) >= HEADER.size:
        (length,) = HEADER.unpack_from(sent)
        payload, rest = sent[HEADER.size : HEADER.size + length], sent[HEADER.size + length :]
        if length > LIMIT_BYTES or len(payload) < length:
            break
        try:
            message = _parsed(payload.decode())
        except (ValueError, RecursionError):
            break
        if isinstance(message, dict) and message.get("kind") == "build":
            sent = rest
            continue
        answers = isinstance(message, dict) and all(message.get(name) == turn.honest[name] for name in ("kind", "seq"))
        same = "output" not in turn.honest or (answers and _same_tree(turn.honest["output"], message.get("output")))
        if "outputs" in turn.honest:
            claimed = message.get("outputs") if answers else None
            same = (
                isinstance(claimed, list)
                and len(claimed) == len(turn.honest["outputs"])
                and all(map(_same_tree, turn.honest["outputs"], claimed))
            )
        return Effect(answers, same, bool(rest))
    return Effect(answers=False, same_output=False, trailing=True)


def _parsed(text: str) -> Json:
    """Parse JSON of any depth that mutations make. The judge's own limit depends on its call depth."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEPEST)
    try:
        return json.loads(text, parse_constant=float)
    finally:
        sys.setrecursionlimit(before)


def _same_tree(honest: Json, claim: Json) -> bool:
    if not isinstance(claim, dict) or len(claim) != 1:
        return False
    ((kind, content),) = honest.items()
    ((claimed_kind, other),) = claim.items()
    if kind == "tensor":
        return claimed_kind == kind and isinstance(other, dict) and all(other.get(name) == content[name] for name in content)
    if kind == "dict":
        content, other = ([part for pair in pairs for part in pair] if _is_pairs(pairs) else None for pairs in (content, other))
    if isinstance(content, list):
        same_kind = claimed_kind == kind and isinstance(other, list) and len(other) == len(content)
        return same_kind and all(map(_same_tree, content, other))
    mine, theirs = _leaf(kind, content), _leaf(claimed_kind, other)
    if isinstance(mine, float) and isinstance(theirs, float):
        return math.isclose(mine, theirs, rel_tol=1e-5)
    return type(mine) is type(theirs) and bool(mine == theirs)


def _is_pairs(content: Json) -> bool:
    return isinstance(content, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in content)


def _leaf(kind: str, content: Json) -> Json:
    if kind == "int" and isinstance(content, str):
        try:
            return int(content)
        except ValueError:
            return None
    return content
