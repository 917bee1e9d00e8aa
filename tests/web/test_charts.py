"""Charts: their content, their colours, and unusual data."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from xml.etree import ElementTree

import pytest
from matplotlib import dates
from matplotlib.figure import Figure

from db.queries.curves import Speedups
from db.queries.progress import AuthorProgress, BestSoFar, BoardProgress, Point
from db.queries.steps import StepWorth
from db.queries.timeline import Intervals
from evaluator.results.category import Category
from evaluator.results.evidence import DeviceState
from tests.db.samples import full_evidence, result
from web import charts

pytestmark = pytest.mark.slow(8)

START = datetime(2026, 3, 1, tzinfo=UTC)


def texts(picture: bytes) -> set[str]:
    found = {element.text.strip() for element in ElementTree.fromstring(picture).iter() if element.text}
    return found - {""}


def board(*speedups: float) -> BoardProgress:
    best = tuple(BestSoFar(START + timedelta(hours=n), n, speedup, 1.0, "ada", "a.py") for n, speedup in enumerate(speedups))
    points = tuple(Point(one.started_at, one.speedup / 2) for one in best)
    return BoardProgress("full", "NVIDIA H200", "own", len(best), best, points)


def test_text_is_text_and_the_same_figure_gives_the_same_bytes() -> None:
    speedups = Speedups("full", "NVIDIA H200", 4, {"ada_$\\frac$": (0.5, 2.0), "_bob": (1.0,), None: (3.0,)})
    first, second = (charts.svg("light", lambda: charts.fast_p(speedups)) for _ in range(2))
    assert first == second
    shown = texts(first)
    assert {"ada_$\\frac$", "(no author)", "fast_p: share of tasks", "40%"} <= shown
    assert any(text.endswith("_bob") for text in shown)


def test_each_theme_has_ink_that_its_paper_shows() -> None:
    light, dark = (charts.svg(theme, lambda: charts.problem_progress([board(2.0, 4.0)])).decode() for theme in ("light", "dark"))
    assert "#1f2328" in light and "#d7dde3" not in light
    assert "#d7dde3" in dark and "#1f2328" not in dark


def test_speedups_far_apart_have_a_logarithmic_scale_with_plain_numbers() -> None:
    assert {"1", "2", "5", "10"} <= texts(charts.svg("light", lambda: charts.problem_progress([board(0.9, 12.0)])))
    assert "full · NVIDIA H200" in texts(charts.svg("light", lambda: charts.problem_progress([board(2.0, 3.0)])))


def test_an_author_s_chart_has_a_line_for_each_case_and_device() -> None:
    points = tuple(Point(START + timedelta(hours=n), 1.0 + n) for n in range(3))
    found = [
        AuthorProgress(case, "CPU", 4, 3, tuple((point.started_at, point.speedup / 3) for point in points), points)
        for case in ("full", "small")
    ]
    assert {"full · CPU", "small · CPU"} <= texts(charts.svg("dark", lambda: charts.author_progress(found)))
    alone = AuthorProgress(None, "", 1, 1, ((START, 1.0),), points[:1])
    assert "unknown device" in texts(charts.svg("dark", lambda: charts.author_progress([alone])))


def test_a_chart_says_what_it_shows_to_programs_that_read_it() -> None:
    picture = charts.svg("light", lambda: charts.problem_progress([board(2.0)]), "Speedups of </title><b>\u202e & more", "Up to 2.")
    root = ElementTree.fromstring(picture)
    assert root.get("role") == "img"
    told = {child.tag.rsplit("}")[-1]: child.text for child in list(root)[:2]}
    assert told == {"title": "Speedups of </title><b>\\u202e & more", "desc": "Up to 2."}


def test_a_distribution_of_one_and_of_none() -> None:
    some: tuple[tuple[float, ...], ...] = ((), (1.0,), (1.0, 1.0), (0.01, 1000.0))
    for values in some:
        speedups = Speedups("full", "d", 3, {"ada": values} if values else {})
        picture = charts.svg("dark", partial(charts.distribution, speedups))
        assert "speedup over the baseline" in texts(picture)
    assert "p: times as fast as the baseline" in texts(charts.svg("dark", lambda: charts.fast_p(Speedups("full", "d", 3, {}))))


def drawn(figure: Figure) -> Any:
    """The axes of a figure, after it has been drawn."""
    figure.draw_without_rendering()
    return figure.axes[0]


def test_a_plot_over_time_ends_where_its_evaluations_do() -> None:
    for found in (board(2.0, 4.0), board(2.0)):
        axes = drawn(charts.problem_progress([found]))
        numbers: Any = dates.date2num
        first, last = numbers([found.best[place].started_at for place in (0, -1)])
        low, high = axes.get_xlim()
        margin = max((last - first) / 50, 1.1 / 86400)
        assert first - margin <= low < first <= last < high <= last + margin
        (line,) = [line for line in axes.lines if line.get_label() == "full · NVIDIA H200"]
        assert line.get_xdata()[-1] == found.best[-1].started_at, "no line runs on into the future"


def test_bars_of_failures_leave_room_beside_them() -> None:
    second = timedelta(seconds=1)
    for many in (1, 60):
        counts = {START + number * second: Counter({Category.TIMEOUT: 1}) for number in range(many)}
        axes = drawn(charts.over_time(Intervals(second, counts)))
        low, high = axes.get_xlim()
        assert (high - low) * 86400 == pytest.approx(many + 1, abs=0.01) and axes.get_ylabel() == "failed, in a second"
    for seconds, told in ((10, "10 seconds"), (60, "a minute"), (3600, "an hour"), (6 * 3600, "6 hours"), (24 * 3600, "a day")):
        length = timedelta(seconds=seconds)
        assert f"failed, in {told}" in texts(charts.svg("light", partial(charts.over_time, Intervals(length, {}))))


def test_failures_beyond_the_most_frequent_are_others() -> None:
    categories = [category for category in Category if category is not Category.OK][: charts.MAX_CATEGORIES + 2]
    counts = {START: Counter({category: 100 - number for number, category in enumerate(categories)} | {Category.OK: 500})}
    shown = texts(charts.svg("light", lambda: charts.over_time(Intervals(timedelta(hours=1), counts))))
    assert "others" in shown and categories[0].value in shown and categories[-1].value not in shown and "ok" not in shown
    assert charts.svg("light", lambda: charts.over_time(Intervals(timedelta(hours=1), {}))).startswith(b"<?xml")


@pytest.mark.parametrize("run", [None, "a-run-with-a-name-of-forty-characters-or-more"])
def test_a_narrow_window_shows_the_whole_legend(run: str | None) -> None:
    """It shows 350 of the plot's 544 pixels, from the left."""
    categories = sorted((category for category in Category if category is not Category.OK), key=lambda each: -len(each.value))
    counts: dict[datetime, Counter[Category]] = {START: Counter(dict.fromkeys(categories, 1))}
    worths = [StepWorth(run, step, evaluations=1, right=0.5, faster=0.5, speedup=None) for step in (1, 2)]
    for figure in (charts.over_time(Intervals(timedelta(hours=1), counts)), charts.steps(worths)):
        axes = drawn(figure)
        box = axes.get_legend().get_window_extent()
        assert box.x0 >= 0 and box.x1 <= 350 / 544 * figure.bbox.width and box.y1 <= figure.bbox.height
        assert axes.bbox.height > 0.5 * 3.4 * figure.dpi


def test_a_clock_is_followed_through_each_timing_of_its_own() -> None:
    def state(at_s: float | None, mhz: float | None = 1980.0, stage: str = "timing") -> DeviceState:
        return DeviceState(stage=stage, sm_clock_mhz=mhz, at_s=at_s, power_w=500.0, throttled="sw_power_cap")

    first, second = [state(0.0, stage="before timing"), state(0.1), state(0.2)], [state(0.0, stage="before second timing"), state(0.1)]
    unknown = [state(None), state(0.05, mhz=None)]
    assert charts.traces([*first, *unknown, *second]) == [first, second]
    assert charts.traces([*unknown, state(0.5)]) == []
    shown = texts(charts.svg("dark", lambda: charts.clock([*first, *second])))
    assert {"timing", "second timing", "SM MHz", "W", "s since the timing began"} <= shown


def test_samples_and_errors_are_drawn() -> None:
    evidence = full_evidence("$\\frac \x00")
    assert evidence.timing is not None
    timing = evidence.timing
    shown = texts(charts.svg("light", lambda: charts.samples(timing)))
    assert {"submission: 1.25 ms, 3 samples", "baseline compile: 1.25 ms, 3 samples, 1 far off", "s since the timing began"} <= shown
    older = timing.model_copy(update={"others": {}})
    assert {"submission: 1.25 ms, 3 samples", "call"} <= texts(charts.svg("light", lambda: charts.samples(older)))
    wrong = charts.svg("dark", lambda: charts.errors(result(Category.WRONG_VALUES, evidence=evidence)))
    assert re.search(rb"data:image/png;base64,", wrong) and "NaN, inf" in texts(wrong)
