"""The service's state, which all calls share."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from db.queries.disturbances import Disturbances
from db.queue.requests import Requests
from db.store import Store
from web.service.errors import RefusedError, retry_after
from web.service.http.limits import Rates
from web.service.intake import Intake
from web.service.judging.runner import Runner
from web.service.metrics import Metrics
from web.service.models import DEFAULT_MAX_TIMEOUT_S, Backlog
from web.service.problems import ServedProblems
from web.service.progress import Progress, ProgressWatch
from web.service.tokens import Grant, Scope, Tokens

MIN_PAUSE_S, MAX_PAUSE_S = 2.0, 120.0
"""Range of seconds to wait, as told to callers, while the queue is full."""
STOPPING_PAUSE_S, DRAINING_PAUSE_S = 5, 30
"""Seconds to wait, as told to callers, while the process stops or drains."""


@dataclass(frozen=True)
class Bounds:
    """The service's limits."""

    body_bytes: int = 32 << 20
    queued: int = 20_000
    """Maximum requests that wait."""
    streams: int = 1000
    """Maximum event streams and waiting polls at once."""
    timeout_s: float = DEFAULT_MAX_TIMEOUT_S
    """Maximum `timeout_s` of a request: seconds for one call of forward()."""

    @property
    def streams_each(self) -> int:
        """Maximum streams of one author, so that none takes all of them."""
        return max(1, self.streams // 2)


@dataclass
class Service:
    """One service process."""

    store: Store
    problems: ServedProblems
    progress: Progress
    metrics: Metrics
    runner: Runner | None
    """None for a process that only accepts submissions."""
    bounds: Bounds = field(default_factory=Bounds)
    stopping: bool = False
    draining: Backlog | None = None
    """What the process does with the queue while it drains; None while it accepts submissions."""
    waiting: Counter[str] = field(default_factory=Counter)
    """Number of streams and waiting polls of each author."""

    def __post_init__(self) -> None:
        self.requests, self.tokens, self.rates = Requests(self.store), Tokens(self.store), Rates()
        self.disturbances = Disturbances(self.store)
        self._accepting: Intake | None = None
        self._watch: ProgressWatch | None = None

    @property
    def intake(self) -> Intake:
        assert self._accepting is not None, "the service has not been opened"
        return self._accepting

    @property
    def watch(self) -> ProgressWatch:
        assert self._watch is not None, "the service has not been opened"
        return self._watch

    def open(self) -> None:
        """Open the service. Called from the event loop, before the first call."""
        self._watch = ProgressWatch(self.requests)
        self.progress.tell(self._watch)
        wake = self.runner.wake if self.runner else (lambda: None)
        self._accepting = Intake(self.requests, self.problems, self.bounds.queued, self.bounds.timeout_s, self.pause_s, wake)

    def drain(self, backlog: Backlog | None) -> None:
        """Accept no submissions until called with None. Claimed requests are finished; `backlog` says what happens to the queue."""
        self.draining = backlog
        self.metrics.draining(backlog is not None)
        if self.runner is not None:
            self.runner.pause(backlog is Backlog.LEAVE)

    def require_taking(self) -> None:
        """Raises RefusedError while the process accepts no submissions."""
        if self.stopping:
            text = "The service is stopping. Try again: another process, or this one after its restart, accepts it."
            code, pause_s = "shutting_down", STOPPING_PAUSE_S
        elif self.draining is not None:
            text = "This service process accepts no submissions for now."
            code, pause_s = "draining", DRAINING_PAUSE_S
        else:
            return
        raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, code, text, headers=retry_after(pause_s))

    def close(self) -> None:
        """End all waiting. Called from the event loop."""
        self.stopping = True
        self.progress.tell(None)
        self.watch.close()

    def may_wait(self, author: str) -> bool:
        """Whether there is room for one more stream or waiting poll."""
        return self.waiting.total() < self.bounds.streams and self.waiting[author] < self.bounds.streams_each

    @contextmanager
    def wait_of(self, author: str) -> Iterator[None]:
        """Count one more stream or waiting poll while entered."""
        self.waiting[author] += 1
        try:
            yield
        finally:
            self.waiting[author] -= 1
            self.waiting += Counter()  # drop authors without any

    def pause_s(self) -> float:
        """Seconds that a twentieth of the queue takes, at this process's recent rate."""
        rate = self.metrics.rate()
        return MAX_PAUSE_S if rate == 0 else min(MAX_PAUSE_S, max(MIN_PAUSE_S, self.bounds.queued / 20 / rate))


def of_request(request: Request) -> Service:
    """The service that a request was sent to."""
    found: Service = request.app.state.service
    return found


ServiceOf = Annotated[Service, Depends(of_request)]
_BEARER = HTTPBearer(auto_error=False, description="A token as `assay service token new` prints it.")


async def grant_of(request: Request, service: ServiceOf, _: Annotated[object, Depends(_BEARER)]) -> Grant:
    """The caller's grant, checked before the body is read. Raises RefusedError, StoreError."""
    authorization = request.headers.get("authorization", "")
    grant = service.tokens.remembered(authorization) or await to_thread.run_sync(service.tokens.grant, authorization)
    if grant is None:
        text = "Send `Authorization: Bearer TOKEN` with a valid token of this service."
        raise RefusedError(HTTPStatus.UNAUTHORIZED, "unauthorized", text, headers={"WWW-Authenticate": "Bearer"})
    service.rates.count(grant)
    return grant


def needs(grant: Grant, scope: Scope) -> None:
    """Require a scope of the token. Raises RefusedError."""
    if scope not in grant.scopes:
        raise RefusedError(HTTPStatus.FORBIDDEN, "forbidden", f"This token lacks the scope {scope}.")


async def _reader(grant: Annotated[Grant, Depends(grant_of)]) -> Grant:
    needs(grant, Scope.READ)
    return grant


async def _submitter(request: Request, grant: Annotated[Grant, Depends(grant_of)]) -> Grant:
    needs(grant, Scope.SUBMIT)
    if request.method == "POST":
        of_request(request).require_taking()
    return grant


Reader = Annotated[Grant, Depends(_reader)]
Submitter = Annotated[Grant, Depends(_submitter)]
AnyGrant = Annotated[Grant, Depends(grant_of)]
