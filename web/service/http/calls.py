"""The calls that submit evaluations, query, follow and cancel them."""

import json
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ValidationError

from db.error import StoreError
from db.queue.acceptance import Accepted, Offer, Outcome, RefusalReason
from web.service.answers import BatchAnswer, BatchItem, Error, Evaluation, EvaluationList, PollAnswer
from web.service.errors import RefusedError, invalid, retry_after
from web.service.http.limits import read_body
from web.service.http.state import Reader, Service, ServiceOf, Submitter
from web.service.http.views import evaluation, found, shown, visible, wait_for_any
from web.service.intake import accepted
from web.service.models import MAX_LISTED, MAX_WAIT_S, Batch, Id, Name, Poll, State, Submit
from web.service.tokens import Grant, Scope

router = APIRouter()
BEAT_S = 15.0
"""Seconds between keep-alive messages of a stream without news."""
STREAMS_PAUSE_S = 10

IdOf = Annotated[Id, Path(description="The id from the answer that accepted it.")]


def answers(*statuses: int, also: dict[int | str, dict[str, Any]] | None = None) -> dict[int | str, dict[str, Any]]:
    """The other answers of a call, for the OpenAPI document: errors, and those in `also`."""
    errors: dict[int | str, dict[str, Any]] = {
        status: {"model": Error, "description": HTTPStatus(status).phrase} for status in (401, 403, 429, 503, *statuses)
    }
    return (also or {}) | errors


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """The body's part of the OpenAPI document. The framework does not read bodies: they are read after the token is checked."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
    return {"requestBody": {"required": True, "content": content}}


async def _read(request: Request, service: Service, model: type[BaseModel]) -> Any:
    """The body as that model. Raises RefusedError."""
    data = await read_body(request, service.bounds.body_bytes)
    try:
        return await to_thread.run_sync(model.model_validate_json, data) if len(data) > 1 << 16 else model.model_validate_json(data)
    except ValidationError as error:
        raise invalid(error) from error


@router.post(
    "/v1/evaluations",
    status_code=202,
    response_model=Evaluation,
    summary="Submit one submission",
    responses=answers(
        *(408, 409, 413, 415, 422), also={200: {"model": Evaluation, "description": "The evaluation of this known idempotency key"}}
    ),
    openapi_extra=body_of(Submit),
)
async def submit(
    request: Request,
    service: ServiceOf,
    grant: Submitter,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200, pattern=r"^[!-~]+$")] = None,
) -> Response:
    """Accepts a submission to be judged. An accepted one is on disk, and gets exactly one result unless it is cancelled."""
    asked: Submit = await _read(request, service, Submit)
    if idempotency_key is not None:
        if asked.idempotency_key not in (None, idempotency_key):
            raise RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", "The header and the body have different idempotency keys.")
        asked = asked.model_copy(update={"idempotency_key": idempotency_key})
    offer = await service.intake.offer(grant, asked)
    service.require_taking()  # the body may have taken a while to arrive
    outcomes = await service.intake.accept(grant, [offer])
    service.metrics.accepted(accepted(outcomes))
    item = await _item(service, grant, outcomes[0])
    if isinstance(outcomes[0], RefusalReason):
        raise service.intake.refusal(grant, outcomes[0])
    assert item.evaluation is not None
    headers = {"Location": f"/v1/evaluations/{item.evaluation.id}"}
    if item.status == HTTPStatus.OK:
        headers["Idempotency-Replayed"] = "true"
    return Response(item.evaluation.model_dump_json(), status_code=item.status, headers=headers, media_type="application/json")


@router.post(
    "/v1/evaluations:batch",
    status_code=202,
    response_model=BatchAnswer,
    summary="Submit up to 1,000 submissions",
    responses=answers(408, 413, 415, 422),
    openapi_extra=body_of(Batch),
)
async def submit_batch(request: Request, service: ServiceOf, grant: Submitter) -> Response:
    """Accepts each valid item; each has its own status. If the quota or the queue has no room for all, all are refused."""
    asked: Batch = await _read(request, service, Batch)
    items: list[Offer | RefusedError] = []
    for item in asked.items:
        try:
            items.append(await service.intake.offer(grant, item))
        except RefusedError as error:
            items.append(error)
    service.require_taking()
    offers = [item for item in items if isinstance(item, Offer)]
    outcomes = await service.intake.accept(grant, offers) if offers else []
    for outcome in outcomes:
        if outcome in (RefusalReason.FULL, RefusalReason.QUOTA):
            raise service.intake.refusal(grant, RefusalReason(outcome))
    service.metrics.accepted(accepted(outcomes))
    coming = iter(outcomes)
    told = [
        BatchItem(status=item.status, error=item.body) if isinstance(item, RefusedError) else await _item(service, grant, next(coming))
        for item in items
    ]
    return Response(BatchAnswer(items=told).model_dump_json(), status_code=202, media_type="application/json")


async def _item(service: Service, grant: Grant, outcome: Outcome) -> BatchItem:
    if isinstance(outcome, Accepted):
        status = HTTPStatus.OK if outcome.replayed else HTTPStatus.ACCEPTED
        return BatchItem(status=status, evaluation=await shown(service, outcome.request))
    refusal = service.intake.refusal(grant, outcome)
    return BatchItem(status=refusal.status, error=refusal.body)


@router.post(
    "/v1/evaluations:poll",
    response_model=PollAnswer,
    summary="Get many evaluations",
    responses=answers(408, 413, 415, 422),
    openapi_extra=body_of(Poll),
)
async def poll(request: Request, service: ServiceOf, grant: Reader) -> Response:
    """Answers when the first of them has ended, or after `wait` seconds."""
    asked: Poll = await _read(request, service, Poll)
    ids = list(dict.fromkeys(asked.ids))
    requests = await wait_for_any(service, grant, ids, asked.wait)

    def told() -> str:
        ended = [evaluation(service, each) for each in requests.values() if each.ended]
        unknown = [public_id for public_id in ids if public_id not in requests]
        return PollAnswer(ended=ended, pending=len(requests) - len(ended), unknown=unknown).model_dump_json()

    return Response(await to_thread.run_sync(told), media_type="application/json")


@router.get("/v1/evaluations", response_model=EvaluationList, summary="List your evaluations", responses=answers(404, 422))
async def own(
    service: ServiceOf,
    grant: Reader,
    state: Annotated[State | None, Query(description="Only those in this state.")] = None,
    problem: Annotated[Name | None, Query(description="Only those on this problem.")] = None,
    before: Annotated[Id | None, Query(description="Only those accepted before this id.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 20,
) -> EvaluationList:
    """Newest first. With the scope `admin`, lists all authors' evaluations."""
    if before is not None:
        await found(service, grant, before)
    equal = {name: value for name, value in (("state", state), ("problem", problem)) if value is not None}

    def listed() -> EvaluationList:
        author = None if Scope.ADMIN in grant.scopes else grant.author
        requests = service.requests.newest(author, limit + 1, before, **equal)
        shown = [evaluation(service, each) for each in requests[:limit]]
        return EvaluationList(evaluations=shown, next=shown[-1].id if len(requests) > limit else None)

    return await to_thread.run_sync(listed)


@router.get("/v1/evaluations/{public_id}", response_model=Evaluation, summary="Get one evaluation", responses=answers(404, 422))
async def ask(
    public_id: IdOf,
    service: ServiceOf,
    grant: Reader,
    wait: Annotated[float, Query(ge=0, le=MAX_WAIT_S, description="Seconds to wait for its end.")] = 0.0,
) -> Evaluation:
    """Answers at once, or, with `wait`, when it has ended or the time is over."""
    requests = await wait_for_any(service, grant, [public_id], wait)
    return await shown(service, requests[public_id] if public_id in requests else await found(service, grant, public_id))


@router.delete("/v1/evaluations/{public_id}", response_model=Evaluation, summary="Cancel one evaluation", responses=answers(404, 409, 422))
async def cancel(public_id: IdOf, service: ServiceOf, grant: Submitter) -> Evaluation:
    """Ends it without a result. A judgement under way is not stopped, but its result is dropped."""
    await found(service, grant, public_id)
    if not await to_thread.run_sync(service.requests.cancel, public_id):
        raise RefusedError(HTTPStatus.CONFLICT, "already_done", "The evaluation is done; a result can't be cancelled.")
    service.watch.notify(public_id)
    return await shown(service, await found(service, grant, public_id))


@router.get(
    "/v1/evaluations/{public_id}/events",
    summary="Follow one evaluation",
    response_class=StreamingResponse,
    responses=answers(
        *(404, 422), also={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "Server-sent events"}}
    ),
)
async def events(public_id: IdOf, service: ServiceOf, grant: Reader) -> Response:
    """Sends `state` and `stage` at each change. The last event is `done` or `cancelled`, with the whole evaluation."""
    await found(service, grant, public_id)
    if not service.may_wait(grant.author):
        text = "Too many streams are open."
        raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", text, headers=retry_after(STREAMS_PAUSE_S))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_stream(service, grant, public_id), media_type="text/event-stream", headers=headers)


async def _stream(service: Service, grant: Grant, public_id: str) -> AsyncIterator[str]:
    state, told = "", 0
    last = ""
    try:
        with service.wait_of(grant.author), service.watch.listen([public_id]) as listener:
            while True:
                request = (await visible(service, grant, [public_id]))[public_id]
                if request.ended:
                    whole = await shown(service, request)
                    yield f"event: {request.state}\ndata: {whole.model_dump_json()}\n\n"
                    return
                if request.state != state:
                    state, told = request.state, 0
                    yield _event("state", state=state)
                stages = service.progress.stages(public_id) if state == State.CLAIMED else ()
                for stage in stages[told:] or ([request.stage] if request.stage and not stages and request.stage != last else []):
                    last = stage
                    yield _event("stage", stage=stage)
                told = len(stages)
                if not await listener.wait(BEAT_S):
                    if service.watch.closed:
                        return
                    yield ": nothing new\n\n"
    except StoreError:
        yield _event("trouble", message="The database can't be used at the moment.")


def _event(name: str, **data: str) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"
