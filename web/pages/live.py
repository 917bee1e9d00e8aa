"""Runs and their new evaluations, as server-sent events made from the database.

A run stores each result before it reports it, and its expected number of results as far as it knows. So readers of the database can
follow its progress.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from db.error import StoreError
from db.output.report import dump
from db.queries.evaluations import Choice
from db.queries.runs import EvaluationSummary, Run, arrivals, came_between, newest, run, runs
from evaluator.results.display.text import plain_line
from web.filters import MAX_ID, Name, PageNumber
from web.pages.evaluations import Number
from web.pages.listing import every, listed
from web.site import NotFoundError, PageContent, Site, SiteOf, of_request, page
from web.tables import Table

router = APIRouter()
SHOWN_RUNS = 15
SHOWN_ARRIVALS = 40
LOOK_S = 1.0
"""Seconds between a stream's looks for news."""
BEAT_S = 15.0
"""Seconds between keep-alive messages of a stream without news."""
MAX_STREAMS = 50


@dataclass(frozen=True)
class LivePage(PageContent):
    """The last runs and evaluations."""

    runs: tuple[Run, ...]
    arrivals: tuple[EvaluationSummary, ...]
    newest: int


@dataclass(frozen=True)
class RunPage(PageContent):
    """One run."""

    run: Run
    table: Table[EvaluationSummary]


@page(router, "/live", "live.html")
def live_page(site: SiteOf) -> LivePage:
    last = newest(site.store)
    found, rows = runs(site.store, SHOWN_RUNS), arrivals(site.store, SHOWN_ARRIVALS, before=last + 1)
    rows = site.disturbances.told(rows)
    return LivePage({"newest": last, "runs": found, "evaluations": rows}, found, rows, last)


@page(router, "/run/{number:int}", "run.html", json_path="/run/{number:int}.json")
def run_page(site: SiteOf, number: Number, sort: Name = None, order: Name = None, part: PageNumber = 1) -> RunPage:
    found = run(site.store, number)
    if found is None:
        raise NotFoundError(f"There is no run {number} in this database.")
    choice = Choice(run_id=number)
    shown = listed(site, choice, sort, order, part)
    return RunPage({"run": found, "evaluations": shown.rows}, found, shown, sheet=every(site, choice, sort, order))


@router.get("/live/events")
async def events(
    request: Request,
    after: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Stream what is stored from now on, or after an evaluation: a browser that reconnects names the last one it has seen."""
    state = request.app.state
    if state.streams >= MAX_STREAMS:
        return Response("Too many streams are open.\n", status_code=503, media_type="text/plain", headers={"Retry-After": "30"})
    if last_event_id is not None and last_event_id.isdecimal() and len(last_event_id) < 19:
        after = int(last_event_id)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_stream(request, after), media_type="text/event-stream", headers=headers)


async def _stream(request: Request, after: int | None) -> AsyncIterator[str]:
    site, state = of_request(request), request.app.state
    state.streams += 1
    try:
        follower = await run_in_threadpool(Follower, site, after)
        quiet_s = BEAT_S
        while not state.closing and not await request.is_disconnected():
            news = await run_in_threadpool(follower.news)
            if news is not None:
                yield f"id: {follower.last}\ndata: {news}\n\n"
                quiet_s = 0.0
            elif quiet_s >= BEAT_S:
                yield ": nothing new\n\n"
                quiet_s = 0.0
            await asyncio.sleep(LOOK_S)
            quiet_s += LOOK_S
    except StoreError as error:
        yield f"event: trouble\ndata: {json.dumps(plain_line(str(error)))}\n\n"
    finally:
        state.streams -= 1


class Follower:
    """Finds what is new since it was last asked. Raises StoreError if the database can't be read."""

    def __init__(self, site: Site, after: int | None) -> None:
        self._store = store = site.store
        self._disturbances = site.disturbances
        self.last = newest(store) if after is None else after
        self._counted_up_to = newest(store)
        shown = runs(store, SHOWN_RUNS)
        self._counts: dict[int, Counter[str]] = {found.id: Counter(found.statuses) for found in shown}
        self._known: tuple[Any, ...] | None = None

    def news(self) -> str | None:
        """JSON of the last runs and the new evaluations, newest first; None if nothing has changed."""
        last = newest(self._store)
        if last > self._counted_up_to:
            for number, counts in came_between(self._store, self._counted_up_to, last).items():
                self._counts.setdefault(number, Counter()).update(counts)
            self._counted_up_to = last
        heads = runs(self._store, SHOWN_RUNS, counted=False)
        known = (last, *((head.id, head.finished_at, head.expected, head.skipped) for head in heads))
        if known == self._known and last <= self.last:
            return None
        fresh = arrivals(self._store, SHOWN_ARRIVALS, after=self.last, before=last + 1)
        self._known, self.last = known, max(last, self.last)
        told = [
            {"id": head.id, "command": " ".join(head.words), "started_at": head.started_at, "finished_at": head.finished_at}
            | {"expected": head.expected, "skipped": head.skipped}
            | {"statuses": dict(self._counts.get(head.id, Counter()))}
            for head in heads
        ]
        return json.dumps(json.loads(dump({"newest": last, "runs": told, "evaluations": self._disturbances.told(fresh)})))
