"""A model behind an OpenAI-compatible endpoint: one question, one answer, with retries."""

import asyncio
import email.utils
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx

from assay_client.flow import Patience

log = logging.getLogger(__name__)
PASSING = (408, 409, 425, 429, 500, 502, 503, 504, 529)
"""Statuses that are retried."""
MALFORMED_TRIES = 3
"""Invalid answers before it gives up."""
EXCERPT = 200
Message = Mapping[str, str]


class EndpointError(Exception):
    """The model gave no answer; the message says why, and how to fix it."""

    def __init__(self, told: str, hopeless: bool = False) -> None:
        """hopeless: whether other questions would fail too."""
        super().__init__(told)
        self.hopeless = hopeless


@dataclass(frozen=True)
class Asking:
    """The model and its settings."""

    url: str
    """The API's address, before `/chat/completions`."""
    model: str
    temperature: float | None = None
    """None: the endpoint's default; also for max_tokens."""
    max_tokens: int | None = None
    key: str | None = field(default=None, repr=False)
    key_from: str = ""
    """The key's origin, for messages."""
    timeout_s: float = 600.0
    """Timeout of one answer."""
    patience: Patience = field(default_factory=lambda: Patience(total_s=900.0, longest_s=60.0))


@dataclass(frozen=True)
class Response:
    """A model's answer."""

    text: str
    """Empty if it said nothing."""
    cut_off: bool
    """Whether the token limit ended it."""


class Endpoint:
    """Asks one model. An asynchronous context manager."""

    def __init__(self, asking: Asking) -> None:
        self.asking = asking
        headers = {"Authorization": f"Bearer {asking.key}"} if asking.key else {}
        self._url = asking.url.rstrip("/") + "/chat/completions"
        self._answered = False
        """Whether the endpoint has answered yet: until then a refused connection means that none runs."""
        timeout = httpx.Timeout(asking.timeout_s, connect=10.0)
        self._http = httpx.AsyncClient(headers=headers, timeout=timeout, limits=httpx.Limits(max_connections=None))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        await self._http.aclose()

    async def ask(self, messages: Sequence[Message]) -> Response:
        """The model's answer. Raises EndpointError."""
        waited_s, tries, malformed = 0.0, 0, 0
        while True:
            retry_after_s = None
            try:
                answer = await self._http.post(self._url, json=self._body(messages))
            except httpx.TimeoutException:
                why = f"{self._url}: no answer within {self.asking.timeout_s:g} s"
            except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
                raise EndpointError(f"invalid address {self._url}: {error}", hopeless=True) from error
            except httpx.RequestError as error:
                why = f"{self._url}: no answer ({type(error).__name__}: {error})"
                if isinstance(error, httpx.ConnectError) and not self._answered:
                    raise EndpointError(f"{why}. Does the model's server run?", hopeless=True) from error
            else:
                self._answered = True
                if answer.status_code == httpx.codes.OK:
                    try:
                        return _read(answer)
                    except ValueError as error:
                        why = f"{self._url}: {error}"
                        malformed += 1
                else:
                    why = f"{self._url}: {answer.status_code} {_told(answer)}"
                    if answer.status_code not in PASSING:
                        raise self._refused(answer.status_code, why)
                    retry_after_s = _retry_after_s(answer.headers.get("Retry-After"))
            if malformed >= MALFORMED_TRIES:
                raise EndpointError(f"{why} ({malformed} such answers)")
            pause_s = self.asking.patience.pause_s(retry_after_s, tries)
            if waited_s + pause_s > self.asking.patience.total_s:
                raise EndpointError(f"{why}; given up after {tries + 1} tries and {waited_s:.0f} s of pauses")
            log.warning("%s; again in %.1f s", why, pause_s)
            await asyncio.sleep(pause_s)
            waited_s, tries = waited_s + pause_s, tries + 1

    def _body(self, messages: Sequence[Message]) -> dict[str, Any]:
        chosen = {"temperature": self.asking.temperature, "max_tokens": self.asking.max_tokens}
        return {"model": self.asking.model, "messages": list(messages), **{k: v for k, v in chosen.items() if v is not None}}

    def _refused(self, status: int, why: str) -> EndpointError:
        match status:
            case 401 | 403:
                source = f"the key in {self.asking.key_from} is not accepted" if self.asking.key else f"set a key in {self.asking.key_from}"
                return EndpointError(f"{why}. The endpoint wants a key: {source}.", hopeless=True)
            case 404:
                return EndpointError(f"{why}. Is the address right, up to /v1, and the model's name?", hopeless=True)
            case _:
                return EndpointError(why)


def _read(answer: httpx.Response) -> Response:
    """The answer in a chat completion. Raises ValueError for anything else."""
    try:
        told = answer.json()
    except ValueError:
        raise ValueError(f"the answer is no JSON: {answer.text[:EXCERPT]!r}") from None
    try:
        choice = told["choices"][0]
        text = choice["message"].get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError(f"the answer is no chat completion: {answer.text[:EXCERPT]!r}") from None
    if text is not None and not isinstance(text, str):
        raise ValueError(f"the answer's content is no text: {answer.text[:EXCERPT]!r}")
    whole = (text or "").encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair can't be sent back
    return Response(whole, choice.get("finish_reason") == "length")


def _told(answer: httpx.Response) -> str:
    """An error's reason, in one line."""
    try:
        error = answer.json()["error"]
        told = error["message"] if isinstance(error, dict) else error
    except (ValueError, KeyError, TypeError):
        told = answer.text
    return " ".join(str(told).split())[:EXCERPT] or answer.reason_phrase


def _retry_after_s(told: str | None) -> float | None:
    """Seconds from a `Retry-After`, which has a number or a date; None for anything else."""
    if told is None:
        return None
    try:
        return max(0.0, float(told))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(told).timestamp() - time.time())
    except ValueError:
        return None
