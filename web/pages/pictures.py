"""The pages' charts. Each has its own address, and a light and a dark `theme`."""

from collections.abc import Callable, Hashable
from typing import Annotated

from fastapi import APIRouter, Query, Response
from matplotlib.figure import Figure

from db.output.plot_roofline import roofline, roofline_figure
from db.output.plot_workloads import workloads_figure
from db.queries.curves import Speedups, best_speedups
from db.queries.progress import author_progress, problem_progress
from db.queries.steps import steps
from web import charts
from web.charts import Theme
from web.filters import MAX_NAME, FiltersOf, ReducedPrecision
from web.pages.evaluations import Number, find
from web.site import NotFoundError, Site, SiteOf

router = APIRouter()


@router.get("/problem/progress.svg")
def progress_of_problem(site: SiteOf, name: Annotated[str, Query(max_length=MAX_NAME)], theme: Theme = "light") -> Response:
    found = site.memory.recall(("progress of a problem", name), lambda: problem_progress(site.store, name))
    if not found:
        raise NotFoundError(f"{name!r} has no correct results.")
    told = "; ".join(f"{board.case or 'no case'} on {board.device_name}: up to {board.best[-1].speedup:.3g}" for board in found)
    title = f"Speedups of {name} over time"
    return _picture(site, ("problem", name), theme, lambda: charts.problem_progress(found), title, f"The best so far, by board. {told}.")


@router.get("/author/progress.svg")
def progress_of_author(site: SiteOf, name: Annotated[str, Query(max_length=MAX_NAME)], theme: Theme = "light") -> Response:
    found = site.memory.recall(("progress of an author", name), lambda: author_progress(site.store, name))
    if not found:
        raise NotFoundError(f"{name!r} has no correct results.")
    told = "; ".join(f"{setting.case or 'no case'} on {setting.device_name}: up to {setting.means[-1][1]:.3g}" for setting in found)
    title = f"Speedups of {name} over time"
    return _picture(site, ("author", name), theme, lambda: charts.author_progress(found), title, f"The mean of the best so far. {told}.")


@router.get("/author/steps.svg")
def steps_of_author(site: SiteOf, name: Annotated[str, Query(max_length=MAX_NAME)], theme: Theme = "light") -> Response:
    found = site.memory.recall(("steps", name), lambda: steps(site.store, name))
    if not found:
        raise NotFoundError(f"{name!r} has no training steps.")
    last = found[-1]
    told = f"{last.right:.0%} right at step {last.step}" + (f" in {last.run}" if last.run else "")
    return _picture(site, ("steps", name), theme, lambda: charts.steps(found), f"Training steps of {name}", f"The last: {told}.")


@router.get("/fast_p.svg")
def fast_p(site: SiteOf, filters: FiltersOf, reduced_precision: ReducedPrecision = False, theme: Theme = "light") -> Response:
    found = _speedups(site, filters, reduced_precision)
    return _picture(
        site, ("fast_p", filters, reduced_precision), theme, lambda: charts.fast_p(found), "fast_p by p, a curve for each author"
    )


@router.get("/speedups.svg")
def speedups(site: SiteOf, filters: FiltersOf, reduced_precision: ReducedPrecision = False, theme: Theme = "light") -> Response:
    found = _speedups(site, filters, reduced_precision)
    return _picture(
        site, ("speedups", filters, reduced_precision), theme, lambda: charts.distribution(found), "Distribution of the best speedups"
    )


@router.get("/failures/over_time.svg")
def over_time(site: SiteOf, filters: FiltersOf, theme: Theme = "light") -> Response:
    found = site.memory.recall(("intervals", filters), lambda: site.timeline.counts(filters))
    return _picture(site, ("over_time", filters), theme, lambda: charts.over_time(found), "Failures by category over time")


@router.get("/evaluation/{number:int}/samples.svg")
def samples(site: SiteOf, number: Number, theme: Theme = "light") -> Response:
    timing = find(site, number).result.evidence.timing
    if timing is None:
        raise NotFoundError(f"Nothing was timed in evaluation {number}.")
    return _picture(site, ("samples", number), theme, lambda: charts.samples(timing), f"Timed calls of evaluation {number}")


@router.get("/evaluation/{number:int}/clock.svg")
def clock(site: SiteOf, number: Number, theme: Theme = "light") -> Response:
    states = find(site, number).result.evidence.device_states
    if not charts.traces(states):
        raise NotFoundError(f"The device's clock was not recorded in evaluation {number}.")
    return _picture(
        site, ("clock", number), theme, lambda: charts.clock(states), f"Clock and power of the device during evaluation {number}"
    )


@router.get("/evaluation/{number:int}/error.svg")
def error(site: SiteOf, number: Number, theme: Theme = "light") -> Response:
    result = find(site, number).result
    return _picture(site, ("error", number), theme, lambda: charts.errors(result), f"Where the outputs of evaluation {number} are wrong")


@router.get("/evaluation/{number:int}/roofline.svg")
def roofline_of(site: SiteOf, number: Number, theme: Theme = "light") -> Response:
    profile = find(site, number).result.evidence.profile
    found = roofline(profile) if profile is not None else None
    if found is None:
        raise NotFoundError(f"Evaluation {number} has no roofline.")
    return _picture(site, ("roofline", number), theme, lambda: roofline_figure(found), f"Roofline of evaluation {number} and its reference")


@router.get("/evaluation/{number:int}/workloads.svg")
def workloads(site: SiteOf, number: Number, theme: Theme = "light") -> Response:
    timing = find(site, number).result.evidence.timing
    if timing is None or not timing.workloads:
        raise NotFoundError(f"Evaluation {number} has only one case.")
    return _picture(
        site, ("workloads", number), theme, lambda: workloads_figure(timing), f"Speedup of evaluation {number} over the size of its inputs"
    )


def _speedups(site: Site, filters: FiltersOf, reduced_precision: bool) -> Speedups:
    """Best speedups on the board of a case and device. An omitted filter selects the board without a case or device."""
    found = best_speedups(site.store, filters, reduced_precision=reduced_precision)
    fitting = [board for board in found if board.case == filters.case and board.device_name == (filters.device or "")]
    if not fitting:
        raise NotFoundError("No evaluations match.")
    return fitting[0]


def _picture(
    site: Site, key: tuple[Hashable, ...], theme: Theme, make: Callable[[], Figure], title: str, description: str = ""
) -> Response:
    picture = site.memory.recall(("svg", theme, *key), lambda: charts.svg(theme, make, title, description))
    return Response(picture, media_type=charts.MEDIA_TYPE)
