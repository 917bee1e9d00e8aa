"""The operator's calls: drain this process (it accepts no more submissions), see when it is drained, and serve again."""

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
        backlog = service.draining  # before counting: whatever begins until then is counted
        depth = service.requests.depth()
        under_way = service.runner.under_way if service.runner else 0
        left = under_way
        if backlog is Backlog.FINISH:
            left += depth["queued"] + depth["claimed"]  # other processes' requests may return to the queue
        taking = backlog is None and not service.stopping
        state: Literal["serving", "draining", "drained"] = "serving" if taking else "draining" if left else "drained"
        return Drain(state=state, queue=backlog, under_way=under_way, queued=depth["queued"])

    return await to_thread.run_sync(look)


@router.get("/drain", summary="Whether this process accepts submissions", responses=answers())
async def look(service: ServiceOf, grant: AnyGrant) -> Drain:
    """Also tells how many accepted submissions are left."""
    needs(grant, Scope.OPERATE)
    return await _told(service)


@router.post("/drain", summary="Accept no more submissions", responses=answers(422))
async def drain(
    service: ServiceOf,
    grant: AnyGrant,
    queue: Annotated[Backlog, Query(description="`leave` the queue to others or the next start, or `finish` it here.")] = Backlog.LEAVE,
) -> Drain:
    """Drains this process only, until it ends or is told to serve again. It finishes what it has begun, however long that takes."""
    needs(grant, Scope.OPERATE)
    service.drain(queue)
    return await _told(service)


@router.delete("/drain", summary="Accept submissions again", responses=answers())
async def serve(service: ServiceOf, grant: AnyGrant) -> Drain:
    """Ends draining. A process that is stopping still stops."""
    needs(grant, Scope.OPERATE)
    service.drain(None)
    return await _told(service)
