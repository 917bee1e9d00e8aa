"""Plans of a hostile worker: plain data that can be drawn, printed and sent to another process."""

import json
import struct
from dataclasses import dataclass, field
from typing import Any

HEADER = struct.Struct("!I")
LIMIT_BYTES = 8 << 20
"""The largest frame, as docs/protocol.md says."""
REQUESTS = ("ping", "load", "map", "construct", "inputs", "call", "reveal", "poison", "time", "host_block", "unmap")

Json = Any


@dataclass(frozen=True)
class Mutation:
    """One mutation; each has its own meaning of the parameters."""

    name: str
    number: int = 0
    other: int = 0
    value: Json = None


@dataclass(frozen=True)
class Turn:
    """One request to be answered: the honest answer, and what went before."""

    honest: dict[str, Json]
    earlier: tuple[bytes, ...] = ()
    """What was sent, as it was sent."""
    numbers: tuple[int, ...] = ()
    """The numbers of earlier requests."""


@dataclass(frozen=True)
class Step:
    """One thing to do: pause, then send, with descriptors, and `then` go on, or stop in one of several ways."""

    data: bytes = b""
    pause_s: float = 0.0
    descriptors: int = 0
    then: str = ""
    """read (one frame of the judge's), silence, hang_up, half_close, exit, or flood (send `data` for ever)."""
    status: int = 0
    """Wait status, for exit."""


@dataclass(frozen=True)
class Plan:
    """A conversation: honest up to a request of one kind, then one mutation a request as long as there are any, then honest again."""

    kind: str
    skip: int = 0
    """Requests of that kind that are answered honestly first."""
    mutations: tuple[Mutation, ...] = field(default=())

    def to_json(self) -> str:
        """One line."""
        return json.dumps([self.kind, self.skip, [[each.name, each.number, each.other, each.value] for each in self.mutations]])

    @classmethod
    def from_json(cls, text: str) -> "Plan":
        """The inverse of to_json."""
        kind, skip, mutations = json.loads(text)
        return cls(kind, skip, tuple(Mutation(*each) for each in mutations))


def frame(payload: bytes) -> bytes:
    return HEADER.pack(len(payload)) + payload


def encoded(message: Json) -> bytes:
    return frame(json.dumps(message).encode())
