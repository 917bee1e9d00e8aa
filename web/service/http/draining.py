"""The calls by which an operator has this process take no more submissions, sees when nothing is left of them, and has it serve again."""

from typing import Annotated, Literal

from anyio import to_thread
from fastapi import APIRouter, Query

from web.service.answers import Drain
from web.service.http.calls import answers
from web.service.http.state import AnyGrant, Service, ServiceOf, needs
from web.service.models import Backlog
from web.service.tokens import Scope

router = APIRouter()


async def _told(service: Service) -> Drain:
    def look() -> Drain:
        backlog = service.draining  # before anything is counted: what is begun until then is in the count
        depth = service.requests.depth()
        under_way = service.runner.under_way if service.runner else 0
        left = under_way
        if backlog is Backlog.FINISH:
            left += depth["queued"] + depth["claimed"]  # what others have may come back
        taking = backlog is None and not service.stopping
        state: Literal["serving", "draining", "drained"] = "serving" if taking else "draining" if left else "drained"
        return Drain(state=state, queue=backlog, under_way=under_way, queued=depth["queued"])

    return await to_thread.run_sync(look)


@router.get("/drain", summary="Whether this process takes submissions", responses=answers())
async def look(service: ServiceOf, grant: AnyGrant) -> Drain:
    """And what is left of those that it has taken."""
    needs(grant, Scope.OPERATE)
    return await _told(service)


@router.post("/drain", summary="Take no more submissions", responses=answers(422))
async def drain(
    service: ServiceOf,
    grant: AnyGrant,
    queue: Annotated[Backlog, Query(description="`leave` it to others, or to the next start, or `finish` it here.")] = Backlog.LEAVE,
) -> Drain:
    """Of this process alone, until it ends or is told to serve again. What it has begun it judges to the end, however long that takes."""
    needs(grant, Scope.OPERATE)
    service.drain(queue)
    return await _told(service)


@router.delete("/drain", summary="Take submissions again", responses=answers())
async def serve(service: ServiceOf, grant: AnyGrant) -> Drain:
    """The opposite; a process that is stopping goes on to stop."""
    needs(grant, Scope.OPERATE)
    service.drain(None)
    return await _told(service)
