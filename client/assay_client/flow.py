"""Conversations with the service, without the network.

A flow is a generator: it yields what is to be done next, a call or a pause, is sent what came of it, and returns what it was for. The
blocking and the asynchronous client differ only in who does the calls and pauses.
"""

import logging
import random
from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assay_client.errors import ServiceError, UnexpectedAnswerError, UnreachableError, refusal

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """A call to be made."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    """How long the service was asked to hold the answer back."""


@dataclass(frozen=True)
class Pause:
    """Time to let pass."""

    seconds: float


@dataclass(frozen=True)
class Answer:
    """What was answered."""

    status: int
    body: Any
    """Its JSON; None where it is not JSON."""
    retry_after: str | None = None


@dataclass(frozen=True)
class Lost:
    """There was no answer."""

    why: str
    final: bool = False
    """Whether it is no use to try again."""


Flow = Generator[Call | Pause, Answer | Lost | None, T]


@dataclass(frozen=True)
class Patience:
    """How long to try again what may succeed later."""

    total_s: float = 300.0
    """Most seconds of pauses for one call. A `Retry-After` beyond it is not waited for at all."""
    first_s: float = 0.5
    """The first pause where the service names none; each further one is twice as long."""
    longest_s: float = 30.0

    def pause_s(self, retry_after_s: float | None, tries: int) -> float:
        """How long to wait after so many failures: at least what was asked for, and not all clients equally long."""
        grown_s = min(self.longest_s, self.first_s * 2.0 ** min(tries, 30))
        if retry_after_s is None:
            return grown_s * random.uniform(0.5, 1.0)
        return retry_after_s + min(grown_s, 1.0 + retry_after_s) * random.uniform(0.0, 0.5)


def exchange(call: Call, patience: Patience, at_once: Collection[str] = ()) -> Flow[Mapping[str, Any]]:
    """Make a call until it succeeds; returns the object answered. Only for calls that may be repeated, as all here may: what is
    handed in has its key. at_once: codes that are the caller's to deal with. Raises ServiceError."""
    waited_s, tries = 0.0, 0
    while True:
        reply = yield call
        if isinstance(reply, Answer) and 200 <= reply.status < 300 and isinstance(reply.body, dict):
            return reply.body
        error = failure(call, reply)
        pause_s = patience.pause_s(error.retry_after_s, tries)
        if not error.passing or error.code in at_once or waited_s + pause_s > patience.total_s:
            raise error
        log.warning("%s; again in %.1f s", error, pause_s)
        yield Pause(pause_s)
        waited_s, tries = waited_s + pause_s, tries + 1


def failure(call: Call, reply: Answer | Lost | None) -> ServiceError:
    """Why a call did not come to what it was for."""
    place = f"{call.method} {call.path}"
    if not isinstance(reply, Answer):
        lost = UnreachableError(f"{place}: {reply.why if reply else 'no answer'}")
        lost.passing = reply is None or not reply.final
        return lost
    if reply.status < 400:
        return UnexpectedAnswerError(f"{place}: answered with {reply.status} and not as a judging service does. Is the address right?")
    retry_after_s = float(reply.retry_after) if reply.retry_after and reply.retry_after.isdecimal() else None
    told = reply.body.get("error") if isinstance(reply.body, dict) else None
    if not isinstance(told, dict):
        return refusal(reply.status, "", "The answer has no reason; a proxy's, perhaps.", (), retry_after_s, place)
    return refusal(reply.status, told.get("code", ""), told.get("message", ""), told.get("details", ()), retry_after_s, place)
