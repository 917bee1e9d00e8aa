"""Requests and results, as the service answers them."""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from anyio import to_thread

from db.queue.acceptance import QueuedRequest
from db.store import Store
from evaluator.diagnosis.feedback import feedback, record
from web.service.answers import Evaluation, Verdict
from web.service.errors import RefusedError
from web.service.http.state import Service
from web.service.models import State
from web.service.tokens import Grant, Scope


def verdict(store: Store, evaluation_id: int) -> Verdict:
    """The record of a stored evaluation. Raises StoreError."""
    stored = store.get(evaluation_id)
    assert stored is not None, "an evaluation with a request is never removed"
    told = feedback(stored.result, stored.source, stored.result.evidence.first_line)
    fields: dict[str, Any] = record(stored.id, stored.result, told)
    return Verdict.model_validate(fields)


def evaluation(service: Service, request: QueuedRequest) -> Evaluation:
    """A request with its result, if it has one. Raises StoreError."""
    stages = service.progress.stages(request.public_id) if request.state == State.CLAIMED else ()
    return Evaluation(
        id=request.public_id,
        state=State(request.state),
        problem=request.problem,
        sample_id=request.sample_id,
        name=request.name,
        accepted_at=request.accepted_at,
        finished_at=request.finished_at,
        attempts=request.attempts,
        stage=stages[-1] if stages else request.stage,
        result=None if request.evaluation_id is None else verdict(service.store, request.evaluation_id),
    )


async def shown(service: Service, request: QueuedRequest) -> Evaluation:
    """Same as `evaluation`, for the event loop."""
    if request.evaluation_id is None:
        return evaluation(service, request)
    return await to_thread.run_sync(evaluation, service, request)


async def found(service: Service, grant: Grant, public_id: str) -> QueuedRequest:
    """The request with that id, if the caller may see it. Raises RefusedError, StoreError."""
    requests = await visible(service, grant, [public_id])
    if public_id not in requests:
        raise RefusedError(HTTPStatus.NOT_FOUND, "not_found", "There is no such evaluation.")
    return requests[public_id]


async def visible(service: Service, grant: Grant, public_ids: Sequence[str]) -> dict[str, QueuedRequest]:
    """The requests that the caller may see, by id. Raises StoreError."""
    requests = await to_thread.run_sync(service.requests.find, public_ids)
    everybodys = Scope.ADMIN in grant.scopes
    return {public_id: request for public_id, request in requests.items() if everybodys or request.author == grant.author}


async def wait_for_any(service: Service, grant: Grant, public_ids: Sequence[str], wait_s: float) -> dict[str, QueuedRequest]:
    """Same as `visible`, when one of them has ended or the time is over. Raises StoreError."""
    if wait_s <= 0 or not service.may_wait(grant.author):
        return await visible(service, grant, public_ids)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_s
    with service.wait_of(grant.author), service.watch.listen(public_ids) as listener:
        while True:
            requests = await visible(service, grant, public_ids)
            left_s = deadline - loop.time()
            if not requests or any(request.ended for request in requests.values()) or left_s <= 0 or service.watch.closed:
                return requests
            await listener.wait(left_s)
