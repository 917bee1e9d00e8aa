"""Conversations with the service, without the network.

A flow is a generator: it yields the next call or pause, is sent the outcome, and returns its result. The blocking and the asynchronous
client differ only in how they do calls and pauses.
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
    """A call to make."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_s: float = 0.0
    """Seconds that the service may hold the answer back."""


@dataclass(frozen=True)
class Pause:
    """A pause."""

    seconds: float


@dataclass(frozen=True)
class Answer:
    """The service's answer."""

    status: int
    body: Any
    """Its JSON; None if it is not JSON."""
    retry_after: str | None = None


@dataclass(frozen=True)
class Lost:
    """There was no answer."""

    why: str
    final: bool = False
    """Whether a retry is useless."""


Flow = Generator[Call | Pause, Answer | Lost | None, T]


@dataclass(frozen=True)
class Patience:
    """How long to retry calls that may succeed later."""

    total_s: float = 300.0
    """Maximum seconds of pauses per call. A longer `Retry-After` is not waited for."""
    first_s: float = 0.5
    """The first pause if the service names none; each further one is twice as long."""
    longest_s: float = 30.0

    def pause_s(self, retry_after_s: float | None, tries: int) -> float:
        """Seconds to wait after so many failures: at least `retry_after_s`, randomized so that clients spread out."""
        grown_s = min(self.longest_s, self.first_s * 2.0 ** min(tries, 30))
        if retry_after_s is None:
            return grown_s * random.uniform(0.5, 1.0)
        return retry_after_s + min(grown_s, 1.0 + retry_after_s) * random.uniform(0.0, 0.5)


def exchange(call: Call, patience: Patience, at_once: Collection[str] = ()) -> Flow[Mapping[str, Any]]:
    """Make a call until it succeeds; returns the answered object. Only for repeatable calls; all here are, because
    submissions have keys. at_once: error codes that are not retried. Raises ServiceError."""
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
    """The error for a call that failed."""
    place = f"{call.method} {call.path}"
    if not isinstance(reply, Answer):
        lost = UnreachableError(f"{place}: {reply.why if reply else 'no answer'}")
        lost.passing = reply is None or not reply.final
        return lost
    if reply.status < 400:
        return UnexpectedAnswerError(f"{place}: status {reply.status}, but not a judging service's answer. Is the address right?")
    retry_after_s = float(reply.retry_after) if reply.retry_after and reply.retry_after.isdecimal() else None
    told = reply.body.get("error") if isinstance(reply.body, dict) else None
    if not isinstance(told, dict):
        return refusal(reply.status, "", "No reason given; perhaps a proxy answered.", (), retry_after_s, place)
    return refusal(reply.status, told.get("code", ""), told.get("message", ""), told.get("details", ()), retry_after_s, place)
