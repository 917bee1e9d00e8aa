"""The other calls: problems, leaderboard, health, metrics."""

from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Response

from db.error import StoreError
from db.queries.filters import Filters
from db.queries.generality import only
from db.queries.leaderboard import leaderboard
from web.filters import filters_of
from web.service.answers import Health, Leaderboard, Problem, Problems, Ranked
from web.service.errors import RefusedError, retry_after
from web.service.http.calls import answers
from web.service.http.state import STOPPING_PAUSE_S, AnyGrant, Reader, ServiceOf, needs
from web.service.models import Answer, Name
from web.service.tokens import Scope

router = APIRouter()
FAILURES = 3
"""Failed starts of the judges in a row, after which `/healthz` asks for a restart."""


@router.get("/v1/problems", summary="List the problems", responses=answers(422))
async def problems(service: ServiceOf, grant: Reader) -> Problems:  # noqa: ARG001 - the call needs a grant
    """The problems that submissions can name. Their files describe them."""
    found = []
    for name in service.problems.known:
        facts = service.problems.loaded(name)
        if facts is None:
            found.append(Problem(name=name, sha256=None, cases=[], precision=None, default_case=None))
        else:
            default = service.problems.default_case(facts)
            cases = list(facts.case_names)
            found.append(Problem(name=name, sha256=facts.sha256, cases=cases, precision=facts.precision, default_case=default))
    return Problems(problems=found)


@router.get("/v1/leaderboard", summary="The ranking by speedup", responses=answers(422))
async def ranking(
    service: ServiceOf,
    grant: Reader,  # noqa: ARG001 - the call needs a grant
    filters: Annotated[Filters, Depends(filters_of(Annotated[Name | None, Query()]))],
    top: Annotated[int, Query(ge=1, le=1000, description="Ranks up to this number on each board.")] = 100,
    reduced_precision: Annotated[bool, Query(description="Also rank results that are right by reduced precision.")] = False,
    generalises: Annotated[Answer | None, Query(description="Only places with this answer; ranks are still among all.")] = None,
    robust: Annotated[Answer | None, Query(description="Only places with this answer; ranks are still among all.")] = None,
) -> Leaderboard:
    """Each author's best for each problem, case, device and precision."""

    def rows() -> list[Ranked]:
        found = leaderboard(service.store, filters, top=top, reduced_precision=reduced_precision)
        found = only(service.store, found, generalises, robust)
        return [Ranked.model_validate(asdict(row)) for row in service.disturbances.told(found, "result_id")]

    return Leaderboard(rows=await to_thread.run_sync(rows))


@router.get("/healthz", summary="Whether the process is healthy", responses={503: answers()[503]})
async def health(service: ServiceOf) -> Health:
    """503 if it should be restarted."""
    if service.runner is not None and service.runner.failures >= FAILURES:
        raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", service.runner.trouble)
    return Health(status="ok")


@router.get("/readyz", summary="Whether it accepts submissions", responses={503: answers()[503]})
async def ready(service: ServiceOf) -> Health:
    """503 while it starts, drains or stops, and if it can't use its database: send it nothing then."""
    service.require_taking()
    if service.runner is not None and service.runner.trouble:
        raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", service.runner.trouble, headers=retry_after(STOPPING_PAUSE_S))
    if not service.problems.all_loaded:
        text = "The problems are being loaded."
        raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", text, headers=retry_after(STOPPING_PAUSE_S))
    await to_thread.run_sync(service.requests.find, ["0" * 32])
    return Health(status="ok")


@router.get("/metrics", summary="Metrics for a monitoring system", response_class=Response, responses=answers())
async def metrics(service: ServiceOf, grant: AnyGrant) -> Response:
    """In Prometheus' text format."""
    needs(grant, Scope.METRICS)
    try:
        text = await to_thread.run_sync(service.metrics.text)
    except StoreError as error:
        raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "The queue can't be counted.") from error
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
