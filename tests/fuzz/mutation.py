"""A hostile worker's changes of an honest answer before it sends it.

A mutator is given a turn (the honest answer, what went before) and a mutation's parameters, and makes steps of them: bytes to send,
pauses, ways to stop. A new one is a function with `@mutator` over it.
"""

import json
from collections.abc import Callable

from tests.fuzz.json_nodes import extended, replaced, without
from tests.fuzz.plan import HEADER, LIMIT_BYTES, REQUESTS, Mutation, Step, Turn, encoded, frame

BUILD = {
    "name": "extension",
    "sources": [{"name": "main.cpp", "text": "int extension_answer() { return 42; }\n"}],
    "headers": [{"name": "extension.h", "text": ""}],
    "extra_cflags": ["-O1"],
    "extra_cuda_cflags": [],
    "extra_ldflags": [],
    "with_cuda": False,
}
"""A request that the builder can fulfil."""
FAILURE = {"type": "ValueError", "message": "no", "traceback": "line 1", "line": 1, "cuda_error": None}


Mutator = Callable[[Turn, Mutation], list[Step]]
MUTATORS: dict[str, Mutator] = {}


def mutator(change: Mutator) -> Mutator:
    MUTATORS[change.__name__] = change
    return change


def steps(turn: Turn, mutation: Mutation) -> list[Step]:
    """What the mutation makes of a turn."""
    return MUTATORS[mutation.name](turn, mutation)


def _token(turn: Turn, mutation: Mutation, token: str) -> list[Step]:
    """Text that json.dumps would not write, in the place of a node."""
    mark = "@token@"
    text = json.dumps(replaced(turn.honest, mutation.number, mark)).replace(json.dumps(mark), token)
    return [Step(frame(text.encode()))]


ENDINGS = ("", "silence", "hang_up", "half_close", "exit")
STATUSES = (0, 3 << 8, 9, 11, 255 << 8)


def _ending(mutation: Mutation) -> Step:
    return Step(then=ENDINGS[mutation.other % len(ENDINGS)], status=STATUSES[mutation.other % len(STATUSES)])


@mutator
def truncated(turn: Turn, mutation: Mutation) -> list[Step]:
    whole = encoded(turn.honest)
    return [Step(whole[: mutation.number % len(whole)]), _ending(mutation)]


@mutator
def announced_too_long(_: Turn, mutation: Mutation) -> list[Step]:
    return [Step(HEADER.pack(LIMIT_BYTES + 1 + mutation.number * 65_000) + b"{}")]


@mutator
def announced_longer(turn: Turn, mutation: Mutation) -> list[Step]:
    payload = json.dumps(turn.honest).encode()
    return [Step(HEADER.pack(len(payload) + 1 + mutation.number) + payload), _ending(mutation)]


@mutator
def announced_shorter(turn: Turn, mutation: Mutation) -> list[Step]:
    payload = json.dumps(turn.honest).encode()
    return [Step(HEADER.pack(mutation.number % len(payload)) + payload)]


@mutator
def oversized(turn: Turn, mutation: Mutation) -> list[Step]:
    """Really as long as announced: just within the limit, or beyond."""
    payload = json.dumps(turn.honest).encode()
    size = (1 << 16, 1 << 20, LIMIT_BYTES, LIMIT_BYTES + 1)[mutation.number % 4]
    return [Step(frame(payload.ljust(size)))]


@mutator
def invalid_utf8(turn: Turn, mutation: Mutation) -> list[Step]:
    payload = bytearray(json.dumps(turn.honest).encode())
    payload[mutation.number % len(payload)] = 0x80 | mutation.other & 0x7F
    return [Step(frame(bytes(payload)))]


@mutator
def flipped_bit(turn: Turn, mutation: Mutation) -> list[Step]:
    whole = bytearray(encoded(turn.honest))
    whole[mutation.number % len(whole)] ^= 1 << mutation.other % 8
    return [Step(bytes(whole))]


@mutator
def lone_surrogate(turn: Turn, mutation: Mutation) -> list[Step]:
    return _token(turn, mutation, ('"\\ud800"', '"\\uDFFF"', '{"\\ud83d": 1}', '"\\ude00\\ud83d"')[mutation.other % 4])


@mutator
def empty(_: Turn, mutation: Mutation) -> list[Step]:
    return [Step((frame(b""), frame(b"{}"), frame(b" "), b"\0")[mutation.number % 4])]


@mutator
def other_json(_: Turn, mutation: Mutation) -> list[Step]:
    return [Step(encoded(mutation.value))]


@mutator
def deep_json(turn: Turn, mutation: Mutation) -> list[Step]:
    depth = mutation.other * 7 % 3000
    if mutation.value:
        return _token(turn, mutation, '{"list":[' * depth + '{"value":1}' + "]}" * depth)
    return _token(turn, mutation, "[" * depth + "]" * depth)


@mutator
def huge_integer(turn: Turn, mutation: Mutation) -> list[Step]:
    digits = (10, 20, 310, 4300, 4301, 100_000)[mutation.other % 6]
    return _token(turn, mutation, ("-" if mutation.value else "") + "9" * digits)


@mutator
def not_finite(turn: Turn, mutation: Mutation) -> list[Step]:
    tokens = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", '"nan"', '{"float": "nan"}', '{"float": "inf"}')
    return _token(turn, mutation, tokens[mutation.other % len(tokens)])


@mutator
def long_text(turn: Turn, mutation: Mutation) -> list[Step]:
    return _token(turn, mutation, json.dumps(("x", "é", "\0", '"')[mutation.other % 4] * (mutation.other * 20)))


@mutator
def wrong_type(turn: Turn, mutation: Mutation) -> list[Step]:
    return [Step(encoded(replaced(turn.honest, mutation.number, mutation.value)))]


@mutator
def missing_field(turn: Turn, mutation: Mutation) -> list[Step]:
    return [Step(encoded(without(turn.honest, mutation.number)))]


@mutator
def extra_field(turn: Turn, mutation: Mutation) -> list[Step]:
    return [Step(encoded(extended(turn.honest, mutation.number, mutation.value)))]


@mutator
def repeated_key(turn: Turn, mutation: Mutation) -> list[Step]:
    key = list(turn.honest)[mutation.number % len(turn.honest)]
    pair = f"{json.dumps(key)}: {json.dumps(mutation.value)}"
    text = json.dumps(turn.honest)
    return [Step(frame((f"{{{pair}, {text[1:]}" if mutation.other % 2 else f"{text[:-1]}, {pair}}}").encode()))]


@mutator
def wrong_seq(turn: Turn, mutation: Mutation) -> list[Step]:
    seq = turn.honest["seq"]
    choices = (0, -1, seq + 1, seq - 1, -seq, float(seq), str(seq), [seq], {"seq": seq}, True, None, seq << 64, mutation.value)
    return [Step(encoded({**turn.honest, "seq": choices[mutation.number % len(choices)]}))]


@mutator
def stale_seq(turn: Turn, mutation: Mutation) -> list[Step]:
    """The answer under the number of an earlier request."""
    numbers = turn.numbers or (0,)
    return [Step(encoded({**turn.honest, "seq": numbers[mutation.number % len(numbers)]}))]


@mutator
def wrong_kind(turn: Turn, mutation: Mutation) -> list[Step]:
    choices = (*REQUESTS, "failed", "build", "", "loaded", mutation.value)
    return [Step(encoded({**turn.honest, "kind": choices[mutation.number % len(choices)]}))]


@mutator
def repeated(turn: Turn, mutation: Mutation) -> list[Step]:
    return [Step(encoded(turn.honest) * (2 + mutation.number % 50))]


@mutator
def reordered(turn: Turn, mutation: Mutation) -> list[Step]:
    """An earlier frame before this one, or after it."""
    old = turn.earlier[mutation.number % len(turn.earlier)] if turn.earlier else encoded({})
    new = encoded(turn.honest)
    return [Step(old + new if mutation.other % 2 else new + old)]


@mutator
def answered_ahead(turn: Turn, mutation: Mutation) -> list[Step]:
    """Answers to questions that have not been asked come along."""
    seq = turn.honest["seq"]
    ahead = [{**turn.honest, "kind": kind, "seq": seq + mutation.number} for kind in REQUESTS]
    return [Step(encoded(turn.honest) + b"".join(map(encoded, ahead)))]


@mutator
def partial(turn: Turn, mutation: Mutation) -> list[Step]:
    """In two pieces, with a pause between them."""
    whole = encoded(turn.honest)
    cut = mutation.number % len(whole)
    return [Step(whole[:cut]), Step(whole[cut:], pause_s=0.01)]


@mutator
def dripping(turn: Turn, mutation: Mutation) -> list[Step]:
    """A byte at a time, faster or slower than the deadline allows."""
    return [Step(bytes([byte]), pause_s=(0.0, 0.0001, 0.02)[mutation.number % 3]) for byte in encoded(turn.honest)]


@mutator
def stopped(turn: Turn, mutation: Mutation) -> list[Step]:
    """Nothing, or the whole answer, and then one of the endings."""
    return [Step(encoded(turn.honest) if mutation.number % 2 else b""), _ending(mutation)]


@mutator
def flooded(turn: Turn, mutation: Mutation) -> list[Step]:
    """Never reads, and sends the same for ever."""
    floods = (
        encoded(turn.honest),
        encoded({"kind": "build", "request": None}),
        encoded({"kind": "build", "request": {**BUILD, "name": "1"}}),
        encoded({**turn.honest, "seq": 0}),
        b" ",
        b"\0" * 4,
        HEADER.pack(LIMIT_BYTES) + b" " * 1000,
    )
    return [Step(floods[mutation.number % len(floods)], then="flood")]


@mutator
def descriptors(turn: Turn, mutation: Mutation) -> list[Step]:
    """Descriptors travel with the answer, or with a piece of it."""
    whole = encoded(turn.honest)
    cut = mutation.other % (len(whole) - 1) + 1
    return [Step(whole[:cut], descriptors=1 + mutation.number % 250), Step(whole[cut:], descriptors=mutation.number % 3)]


@mutator
def failed(turn: Turn, mutation: Mutation) -> list[Step]:
    """The report of an exception, with something wrong in it."""
    report = {"kind": "failed", "seq": turn.honest["seq"], **FAILURE}
    field_ = [*FAILURE, "extra"][mutation.number % (len(FAILURE) + 1)]
    texts = ("x" * 1001, "x" * 100_001, "é" * 99_999, -1, 1 << 31, 1.5)
    value = mutation.value if mutation.other % 2 else texts[mutation.other // 2 % len(texts)]
    return [Step(encoded({**report, field_: value}))]


@mutator
def claimed(turn: Turn, mutation: Mutation) -> list[Step]:
    """Another answer altogether: a tree drawn at will."""
    return [Step(encoded({**turn.honest, "output": mutation.value, "ms": mutation.number}))]


@mutator
def build(turn: Turn, mutation: Mutation) -> list[Step]:
    """Requests for builds, some of them sound, their answers read or not, before the honest answer."""
    wanted = BUILD if mutation.value is None else replaced(BUILD, mutation.number, mutation.value)
    ask = encoded({"kind": "build", "request": wanted})
    count = (1, 2, 32, 33)[mutation.other % 4] if wanted is not BUILD else 1 + mutation.other % 3
    if mutation.other // 4 % 2:
        return [*[Step(ask, then="read")] * count, Step(encoded(turn.honest))]
    return [Step(ask * count + encoded(turn.honest))]


@mutator
def build_missing_field(turn: Turn, mutation: Mutation) -> list[Step]:
    ask = encoded({"kind": "build", "request": without(BUILD, mutation.number)})
    return [Step(ask, then="read"), Step(encoded(turn.honest))]
