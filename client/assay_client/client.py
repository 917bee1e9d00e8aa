"""The clients: a blocking one, and one for asyncio. Their logic is in the flows."""

import asyncio
import json
import logging
import math
import os
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from assay_client import flows
from assay_client.errors import AssayError
from assay_client.flow import Answer, Call, Flow, Lost, Pause
from assay_client.flows import Settings
from assay_client.models import Evaluation, Options, Problem, Submission
from assay_client.shaping import Parts, Reward, Shaping, reward

log = logging.getLogger(__name__)
T = TypeVar("T")
DEFAULT_URL = "http://127.0.0.1:8400"
WAY_IN = "Start a service there (assay service), or give the address of one: url=, ASSAY_URL, --url"
ANSWER_S = 60.0
"""Timeout in seconds of an answer, without the requested wait."""


class _Base:
    """The common base of both clients: address, token, and conversion of calls and answers for httpx."""

    def __init__(self, url: str | None = None, token: str | None = None, settings: Settings | None = None) -> None:
        """url, token: by default from the environment variables ASSAY_URL and ASSAY_TOKEN. Raises AssayError without a token, or for
        an invalid address."""
        self.url = (url or os.environ.get("ASSAY_URL") or DEFAULT_URL).rstrip("/")
        self.settings = settings or Settings()
        token = token or os.environ.get("ASSAY_TOKEN")
        if not token:
            raise AssayError("give a token, or set ASSAY_TOKEN; the service's operator makes one: assay service token new")
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise AssayError("the token has invalid characters")
        if not self.url.startswith(("http://", "https://")):
            raise AssayError(f"the address must begin with http:// or https://: {self.url!r}")
        try:
            httpx.URL(self.url)
        except httpx.InvalidURL as error:
            raise AssayError(f"invalid address {self.url!r}: {error}") from error
        self._answered = False
        """Whether the service has answered yet: until then a refused connection means that none runs."""
        self._headers = {"Authorization": f"Bearer {token}", "User-Agent": "assay-client"}

    def _kwargs(self, call: Call) -> dict[str, Any]:
        headers = {**call.headers, **({"Content-Type": "application/json"} if call.body is not None else {})}
        return {
            "method": call.method,
            "url": call.path,
            "content": None if call.body is None else json.dumps(call.body).encode(),
            "params": dict(call.query) or None,
            "headers": headers,
            "timeout": httpx.Timeout(ANSWER_S + call.wait_s, connect=10.0),
        }

    def _lost(self, error: httpx.TransportError) -> Lost:
        if not self._answered and isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return Lost(f"no service listens at {self.url} ({error}). {WAY_IN}", final=True)
        return Lost(f"no answer from {self.url} ({type(error).__name__}: {error})")

    def _answer(self, response: httpx.Response) -> Answer:
        self._answered = True
        return _answer(response)


def _answer(response: httpx.Response) -> Answer:
    try:
        body = response.json()
    except ValueError:
        body = None
    return Answer(response.status_code, body, response.headers.get("Retry-After"))


def _submissions(
    responses: Sequence[str],
    problem: str | Sequence[str],
    prompt: str | Sequence[str] | None,
    keys: Sequence[str] | None,
    **common: Any,
) -> list[Submission]:
    """The submissions. Raises ValueError unless there are as many problems, prompts and keys as responses, and for an invalid field."""
    given = [[each] * len(responses) if each is None or isinstance(each, str) else each for each in (problem, prompt, keys)]
    rows = zip(responses, *given, strict=True)
    return [Submission(response=response, problem=name, prompt=asked, key=key, **common) for response, name, asked, key in rows]


def _rewards(evaluations: Sequence[Evaluation], shaping: Shaping | None, missing: float) -> list[Reward]:
    """The rewards, `missing` for those without a verdict."""
    for number, each in enumerate(evaluations):
        if not each.judged:
            log.warning("submission %d has no reward: %s", number, each.why_not_judged)
    return [reward(each, shaping) if each.judged else Reward(missing, Parts(), each) for each in evaluations]


class Client(_Base):
    """Calls a judging service, and blocks. A context manager; safe for several threads."""

    def __init__(self, url: str | None = None, token: str | None = None, settings: Settings | None = None) -> None:
        super().__init__(url, token, settings)
        self._http = httpx.Client(base_url=self.url, headers=self._headers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def score(
        self,
        responses: Sequence[str],
        problem: str | Sequence[str],
        *,
        options: Options | None = None,
        shaping: Shaping | None = None,
        keys: Sequence[str] | None = None,
        missing: float = math.nan,
        step: int | None = None,
        prompt: str | Sequence[str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> list[Reward]:
        """The reward of each response, in the given order.

        problem: one for all, or one for each. keys: idempotency keys, one for each; by default derived from the content, so that
        the same response to the same problem is judged only once. missing: the value for a response without a verdict.
        step, prompt, tags: the step of the training run, an id or short text of the prompt (one for all, or one for each), and texts by
        name. The service stores them with the evaluations, and draws the steps of each run, which the tag `run` names. Raises
        NotFinishedError; ValueError; ServiceError, also if all responses are refused.
        """
        asked = _submissions(responses, problem, prompt, keys, options=options or Options(), step=step, tags=tags)
        return _rewards(self.evaluate(asked), shaping, missing)

    def evaluate(self, submissions: Sequence[Submission]) -> list[Evaluation]:
        """The evaluation of each, in the given order, also without a verdict. Raises NotFinishedError; ServiceError, also if all
        submissions are refused."""
        return self._run(flows.settle(submissions, self.settings))

    def submit(self, submission: Submission) -> Evaluation:
        """Submit one, without waiting for its end. Raises ServiceError."""
        return self._run(flows.submit(submission, self.settings))

    def get(self, public_id: str, wait_s: float = 0.0) -> Evaluation:
        """Get one evaluation; wait up to so long (60 s at most) for its end. Raises ServiceError."""
        return self._run(flows.get(public_id, wait_s, self.settings))

    def cancel(self, public_id: str) -> Evaluation:
        """Cancel one. Raises ServiceError; ConflictError if it is done."""
        return self._run(flows.cancel(public_id, self.settings))

    def evaluations(self, *, state: str | None = None, problem: str | None = None, limit: int = 20) -> list[Evaluation]:
        """At most `limit` of your evaluations, newest first. state: queued, claimed, done or cancelled. Raises ServiceError."""
        return self._run(flows.evaluations(state, problem, limit, self.settings))

    def problems(self) -> list[Problem]:
        """The service's problems. Raises ServiceError."""
        return self._run(flows.problems(self.settings))

    def leaderboard(self, **filters: str) -> list[Mapping[str, Any]]:
        """Rows of the leaderboard. Raises ServiceError."""
        return self._run(flows.leaderboard(filters, self.settings))

    def _run(self, flow: Flow[T]) -> T:
        reply: Answer | Lost | None = None
        while True:
            try:
                step = flow.send(reply)
            except StopIteration as end:
                value: T = end.value
                return value
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                reply = None
            else:
                reply = self._send(step)

    def _send(self, call: Call) -> Answer | Lost:
        try:
            return self._answer(self._http.request(**self._kwargs(call)))
        except httpx.TransportError as error:
            return self._lost(error)


class AsyncClient(_Base):
    """As Client, for asyncio; use one per event loop."""

    def __init__(self, url: str | None = None, token: str | None = None, settings: Settings | None = None) -> None:
        super().__init__(url, token, settings)
        self._http = httpx.AsyncClient(base_url=self.url, headers=self._headers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def score(
        self,
        responses: Sequence[str],
        problem: str | Sequence[str],
        *,
        options: Options | None = None,
        shaping: Shaping | None = None,
        keys: Sequence[str] | None = None,
        missing: float = math.nan,
        step: int | None = None,
        prompt: str | Sequence[str] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> list[Reward]:
        """As Client.score."""
        asked = _submissions(responses, problem, prompt, keys, options=options or Options(), step=step, tags=tags)
        return _rewards(await self.evaluate(asked), shaping, missing)

    async def evaluate(self, submissions: Sequence[Submission]) -> list[Evaluation]:
        """As Client.evaluate."""
        return await self._run(flows.settle(submissions, self.settings))

    async def submit(self, submission: Submission) -> Evaluation:
        """As Client.submit."""
        return await self._run(flows.submit(submission, self.settings))

    async def get(self, public_id: str, wait_s: float = 0.0) -> Evaluation:
        """As Client.get."""
        return await self._run(flows.get(public_id, wait_s, self.settings))

    async def cancel(self, public_id: str) -> Evaluation:
        """As Client.cancel."""
        return await self._run(flows.cancel(public_id, self.settings))

    async def evaluations(self, *, state: str | None = None, problem: str | None = None, limit: int = 20) -> list[Evaluation]:
        """As Client.evaluations."""
        return await self._run(flows.evaluations(state, problem, limit, self.settings))

    async def problems(self) -> list[Problem]:
        """As Client.problems."""
        return await self._run(flows.problems(self.settings))

    async def leaderboard(self, **filters: str) -> list[Mapping[str, Any]]:
        """As Client.leaderboard."""
        return await self._run(flows.leaderboard(filters, self.settings))

    async def _run(self, flow: Flow[T]) -> T:
        reply: Answer | Lost | None = None
        while True:
            try:
                step = flow.send(reply)
            except StopIteration as end:
                value: T = end.value
                return value
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                reply = None
            else:
                reply = await self._send(step)

    async def _send(self, call: Call) -> Answer | Lost:
        try:
            return self._answer(await self._http.request(**self._kwargs(call)))
        except httpx.TransportError as error:
            return self._lost(error)
