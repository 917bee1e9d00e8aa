"""The charts of the pages, each at an address of its own, in `theme` light or dark."""

from collections.abc import Callable, Hashable
from typing import Annotated

from fastapi import APIRouter, Query, Response
from matplotlib.figure import Figure

from db.queries.curves import Speedups, best_speedups
from db.queries.problems import best_time_histories
from web import charts
from web.charts import Theme
from web.filters import MAX_NAME, FiltersOf, ReducedPrecision
from web.pages.evaluations import Number, find
from web.site import NotFoundError, Site, SiteOf

router = APIRouter()


@router.get("/problem/best.svg")
def best(site: SiteOf, name: Annotated[str, Query(max_length=MAX_NAME)], theme: Theme = "light") -> Response:
    found = site.memory.recall(("records", name), lambda: best_time_histories(site.store, name))
    if not found:
        raise NotFoundError(f"Nothing is ok for {name!r}.")
    return _picture(site, ("best", name), theme, lambda: charts.best_times(found))


@router.get("/fast_p.svg")
def fast_p(site: SiteOf, filters: FiltersOf, reduced_precision: ReducedPrecision = False, theme: Theme = "light") -> Response:
    found = _speedups(site, filters, reduced_precision)
    return _picture(site, ("fast_p", filters, reduced_precision), theme, lambda: charts.fast_p(found))


@router.get("/speedups.svg")
def speedups(site: SiteOf, filters: FiltersOf, reduced_precision: ReducedPrecision = False, theme: Theme = "light") -> Response:
    found = _speedups(site, filters, reduced_precision)
    return _picture(site, ("speedups", filters, reduced_precision), theme, lambda: charts.distribution(found))


@router.get("/failures/over_time.svg")
def over_time(site: SiteOf, filters: FiltersOf, theme: Theme = "light") -> Response:
    found = site.memory.recall(("hours", filters), lambda: site.timeline.counts(filters))
    return _picture(site, ("over_time", filters), theme, lambda: charts.over_time(found))


@router.get("/evaluation/{number:int}/samples.svg")
def samples(site: SiteOf, number: Number, theme: Theme = "light") -> Response:
    timing = find(site, number).result.evidence.timing
    if timing is None:
        raise NotFoundError(f"Nothing was timed in evaluation {number}.")
    return _picture(site, ("samples", number), theme, lambda: charts.samples(timing))


@router.get("/evaluation/{number:int}/clock.svg")
def clock(site: SiteOf, number: Number, theme: Theme = "light") -> Response:
    states = find(site, number).result.evidence.device_states
    if not charts.traces(states):
        raise NotFoundError(f"The device's clock was not followed in evaluation {number}.")
    return _picture(site, ("clock", number), theme, lambda: charts.clock(states))


@router.get("/evaluation/{number:int}/error.svg")
def error(site: SiteOf, number: Number, theme: Theme = "light") -> Response:
    result = find(site, number).result
    return _picture(site, ("error", number), theme, lambda: charts.errors(result))


def _speedups(site: Site, filters: FiltersOf, reduced_precision: bool) -> Speedups:
    """Of the board of a case and device. A filter that is left out is that of what has neither."""
    found = best_speedups(site.store, filters, reduced_precision=reduced_precision)
    fitting = [board for board in found if board.case == filters.case and board.device_name == (filters.device or "")]
    if not fitting:
        raise NotFoundError("Nobody was judged there.")
    return fitting[0]


def _picture(site: Site, key: tuple[Hashable, ...], theme: Theme, make: Callable[[], Figure]) -> Response:
    return Response(site.memory.recall(("svg", theme, *key), lambda: charts.svg(theme, make)), media_type=charts.MEDIA_TYPE)
