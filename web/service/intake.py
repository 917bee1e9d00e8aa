"""Checks submissions and accepts them into the queue, in batches.

Most of the cost of accepting is the write to disk, which costs the same for one request as for a hundred. So requests that arrive while
one transaction is under way share the next.
"""

import asyncio
import hashlib
import json
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any

from anyio import CapacityLimiter, to_thread
from pydantic import ValidationError

from db.queue.acceptance import Accepted, Offer, OfferGroup, Outcome, RefusalReason
from db.queue.requests import Requests
from web.service.errors import RefusedError, invalid, retry_after
from web.service.models import Options, Submit
from web.service.problems import Inline, ServedProblems
from web.service.tokens import Grant, Scope

MAX_TOGETHER = 64
"""Maximum groups in one transaction."""
MAX_TOGETHER_CHARS = 64 << 20
MAX_LOADING = 4
"""Maximum threads that wait for problems to load; the others serve requests that need no loading."""


@dataclass(frozen=True)
class _Waiting:
    group: OfferGroup
    future: "asyncio.Future[list[Outcome]]"


class Intake:
    """Accepts submissions. Used from the event loop only."""

    def __init__(
        self,
        requests: Requests,
        problems: ServedProblems,
        limit: int,
        longest_s: float,
        pause_s: Callable[[], float],
        wake: Callable[[], None],
    ) -> None:
        """limit: maximum requests that wait. longest_s: maximum timeout_s of a request. pause_s: seconds that refused callers are told to
        wait when the limit is reached. wake: called after each transaction that may have added work."""
        self._requests, self._problems, self._limit, self._pause_s, self._wake = requests, problems, limit, pause_s, wake
        self._longest_s = longest_s
        self._loading = CapacityLimiter(MAX_LOADING)
        self._waiting: deque[_Waiting] = deque()
        self._writer: asyncio.Task[None] | None = None

    async def offer(self, grant: Grant, asked: Any) -> Offer:
        """The offer for a submission that came as JSON. Raises RefusedError."""
        try:
            submit = asked if isinstance(asked, Submit) else Submit.model_validate(asked)
        except ValidationError as error:
            raise invalid(error) from error
        timeout_s = self._timeout_s(submit.options)
        inline = await self._check(grant, submit)
        content = submit.model_dump(mode="json", include={"source", "response", "options"}, exclude_defaults=True)
        options = content.get("options", {}) | ({} if timeout_s == submit.options.timeout_s else {"timeout_s": timeout_s})
        name = inline.name if inline else self._problems.answered(submit)
        identity = [name, inline.sha256 if inline else None, submit.sample_id, content, *([submit.name] if submit.name else ())]
        return Offer(
            public_id=uuid.uuid4().hex,
            idempotency_key=submit.idempotency_key,
            fingerprint=hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest(),
            problem=name,
            reference=(inline.sha256, inline.source) if inline else None,
            sample_id=submit.sample_id,
            name=submit.name,
            body=json.dumps(content | {"options": options} if options else content),
            origin=submit.origin,
        )

    def _timeout_s(self, options: Options) -> float:
        """Seconds for one call of forward(): the requested number, or the default capped at the limit. Raises RefusedError."""
        if options.timeout_s <= self._longest_s:
            return options.timeout_s
        if "timeout_s" not in options.model_fields_set:
            return self._longest_s
        text = f"timeout_s: at most {self._longest_s:g} seconds may be asked for here, not {options.timeout_s:g}."
        raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "bad_option", text)

    async def _check(self, grant: Grant, submit: Submit) -> Inline | None:
        """Raises RefusedError."""
        if submit.options.profile and Scope.PROFILE not in grant.scopes:
            text = "A profile holds the device longer than a verdict: it needs the scope profile."
            raise RefusedError(HTTPStatus.FORBIDDEN, "forbidden", text)
        if submit.reference is not None:
            if Scope.REFERENCE not in grant.scopes:
                text = "A problem that comes with its submission runs as trusted code: it needs the scope reference."
                raise RefusedError(HTTPStatus.FORBIDDEN, "forbidden", text)
            inline = Inline.of(submit.reference.source)
            await to_thread.run_sync(self._problems.check_inline, inline, submit.options, limiter=self._loading)
            return inline
        name = self._problems.answered(submit)
        check = partial(self._problems.check, name, submit.options)
        if self._problems.is_ready(name, submit.options):
            check()
        else:
            await to_thread.run_sync(check, limiter=self._loading)
        return None

    async def accept(self, grant: Grant, offers: Sequence[Offer]) -> list[Outcome]:
        """Accept or refuse each offer. Accepted ones are on disk when this returns. Raises StoreError."""
        future: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(OfferGroup(grant.author, grant.per_day, tuple(offers)), future))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        return await future

    async def _write(self) -> None:
        while self._waiting:
            batch, size = [self._waiting.popleft()], 0
            while self._waiting and len(batch) < MAX_TOGETHER and size < MAX_TOGETHER_CHARS:
                batch.append(self._waiting.popleft())
                size += sum(len(offer.body) for offer in batch[-1].group.offers)
            try:
                found = await to_thread.run_sync(self._requests.accept, [each.group for each in batch], self._limit)
            # Report any error to the waiting callers.
            except BaseException as error:
                for each in batch:
                    if not each.future.done():
                        each.future.set_exception(error)
                if not isinstance(error, Exception):
                    raise
                continue
            for each, outcomes in zip(batch, found, strict=True):
                if not each.future.done():
                    each.future.set_result(outcomes)
            self._wake()

    def refusal(self, grant: Grant, why: RefusalReason) -> RefusedError:
        """The error for a refused group."""
        if why is RefusalReason.CONFLICT:
            return RefusedError(HTTPStatus.CONFLICT, why, "This idempotency key was already used for another request.")
        if why is RefusalReason.QUOTA:
            text = f"This exceeds the quota of {grant.per_day} submissions a day."
            return RefusedError(HTTPStatus.TOO_MANY_REQUESTS, why, text, headers=retry_after(_until_tomorrow_s()))
        text = f"The queue is full: at most {self._limit} requests may wait."
        return RefusedError(HTTPStatus.TOO_MANY_REQUESTS, why, text, headers=retry_after(self._pause_s()))


def accepted(outcomes: Sequence[Outcome]) -> int:
    """Number of new requests."""
    return sum(isinstance(outcome, Accepted) and not outcome.replayed for outcome in outcomes)


def _until_tomorrow_s() -> float:
    now = datetime.now(UTC)
    return ((now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0) - now).total_seconds()
