"""What every call of the service works with."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated

from anyio import to_thread
from fastapi import Depends, Request
from fastapi.security import HTTPBearer

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
"""What is told to wait where the queue is full."""
STOPPING_PAUSE_S, DRAINING_PAUSE_S = 5, 30
"""What is told to wait where the process is about to end, and where it takes nothing for as long as its operator says."""


@dataclass(frozen=True)
class Bounds:
    """What the service takes."""

    body_bytes: int = 32 << 20
    queued: int = 20_000
    """Requests that may wait."""
    streams: int = 1000
    """Event streams, and polls that wait, at once."""
    timeout_s: float = DEFAULT_MAX_TIMEOUT_S
    """Most that a request may ask for one call of forward()."""

    @property
    def streams_each(self) -> int:
        """Of one author, so that none keeps all others from waiting."""
        return max(1, self.streams // 2)


@dataclass
class Service:
    """One service process."""

    store: Store
    problems: ServedProblems
    progress: Progress
    metrics: Metrics
    runner: Runner | None
    """None for a process that only accepts."""
    bounds: Bounds = field(default_factory=Bounds)
    stopping: bool = False
    draining: Backlog | None = None
    """What is to become of the queue, while this process takes no submissions; None where it takes them."""
    waiting: Counter[str] = field(default_factory=Counter)
    """Streams, and polls that wait, of each author."""

    def __post_init__(self) -> None:
        self.requests, self.tokens, self.rates = Requests(self.store), Tokens(self.store), Rates()
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
        """Called from the event loop, before the first call."""
        self._watch = ProgressWatch(self.requests)
        self.progress.tell(self._watch)
        wake = self.runner.wake if self.runner else (lambda: None)
        self._accepting = Intake(self.requests, self.problems, self.bounds.queued, self.bounds.timeout_s, self.pause_s, wake)

    def drain(self, backlog: Backlog | None) -> None:
        """Take no submissions until it is called with None; what has been claimed is judged to its end, and of the queue what is asked."""
        self.draining = backlog
        self.metrics.draining(backlog is not None)
        if self.runner is not None:
            self.runner.pause(backlog is Backlog.LEAVE)

    def require_taking(self) -> None:
        """Raises RefusedError where no submissions are taken."""
        if self.stopping:
            text = "The service is stopping; another process, or this one in a moment, takes it."
            code, pause_s = "shutting_down", STOPPING_PAUSE_S
        elif self.draining is not None:
            text = "This service process takes no submissions for now."
            code, pause_s = "draining", DRAINING_PAUSE_S
        else:
            return
        raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, code, text, headers=retry_after(pause_s))

    def close(self) -> None:
        """Called from the event loop: nobody is to wait any longer."""
        self.stopping = True
        self.progress.tell(None)
        self.watch.close()

    def may_wait(self, author: str) -> bool:
        """Whether there is room for one more stream, or poll that waits."""
        return self.waiting.total() < self.bounds.streams and self.waiting[author] < self.bounds.streams_each

    @contextmanager
    def wait_of(self, author: str) -> Iterator[None]:
        """One more, meanwhile."""
        self.waiting[author] += 1
        try:
            yield
        finally:
            self.waiting[author] -= 1
            self.waiting += Counter()  # forgets those who have none

    def pause_s(self) -> float:
        """How long a twentieth of the queue takes, by what has been judged in this process of late."""
        rate = self.metrics.rate()
        return MAX_PAUSE_S if rate == 0 else min(MAX_PAUSE_S, max(MIN_PAUSE_S, self.bounds.queued / 20 / rate))


def of_request(request: Request) -> Service:
    """The service that a request is to."""
    found: Service = request.app.state.service
    return found


ServiceOf = Annotated[Service, Depends(of_request)]
_BEARER = HTTPBearer(auto_error=False, description="A token as `python -m web.service token new` prints it.")


async def grant_of(request: Request, service: ServiceOf, _: Annotated[object, Depends(_BEARER)]) -> Grant:
    """Who calls, before anything of the body has been read. Raises RefusedError, StoreError."""
    authorization = request.headers.get("authorization", "")
    grant = service.tokens.remembered(authorization) or await to_thread.run_sync(service.tokens.grant, authorization)
    if grant is None:
        text = "Send `Authorization: Bearer TOKEN` with a token that is known here."
        raise RefusedError(HTTPStatus.UNAUTHORIZED, "unauthorized", text, headers={"WWW-Authenticate": "Bearer"})
    service.rates.count(grant)
    return grant


def needs(grant: Grant, scope: Scope) -> None:
    """Raises RefusedError."""
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
