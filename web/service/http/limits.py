"""Limits for callers: bytes of a body, and calls per minute."""

import asyncio
import time
from http import HTTPStatus

from fastapi import Request
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from web.service.errors import RefusedError, retry_after
from web.service.tokens import Grant

BODY_WITHIN_S = 120.0
"""Seconds within which a body must arrive: until then its parts are kept in memory."""


class Rates:
    """Counts the calls of each token in this process over the last minute."""

    def __init__(self) -> None:
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def count(self, grant: Grant) -> None:
        """Count a call. Raises RefusedError if it exceeds the limit."""
        if grant.per_minute is None:
            return
        rate = RateLimitItemPerMinute(grant.per_minute)
        if not self._limiter.hit(rate, grant.public_id):
            wait_s = self._limiter.get_window_stats(rate, grant.public_id).reset_time - time.time()
            message = f"This token may make {grant.per_minute} calls per minute."
            raise RefusedError(HTTPStatus.TOO_MANY_REQUESTS, "rate_limited", message, headers=retry_after(wait_s))


async def read_body(request: Request, limit: int) -> bytes:
    """Read the body: at most `limit` bytes, of the type application/json. Raises RefusedError."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "The Content-Type must be application/json.")
    too_large = RefusedError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", f"The body has more than {limit:,} bytes.", headers={"Connection": "close"}
    )
    told = request.headers.get("content-length", "0")
    if told.isdecimal() and int(told) > limit:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            async for part in request.stream():
                size += len(part)
                if size > limit:
                    raise too_large
                parts.append(part)
    except TimeoutError as error:
        text = f"The body did not arrive within {BODY_WITHIN_S:g} s."
        raise RefusedError(HTTPStatus.REQUEST_TIMEOUT, "too_slow", text, headers={"Connection": "close"}) from error
    return b"".join(parts)
