"""Charts: their content, their colours, and unusual data."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from xml.etree import ElementTree

import pytest

from db.queries.curves import Speedups
from db.queries.progress import AuthorProgress, BestSoFar, BoardProgress, Point
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


def test_hours_become_longer_stretches_and_no_evaluation_is_lost() -> None:
    for days, length in (
        (1, timedelta(hours=1)),
        (10, timedelta(hours=6)),
        (50, timedelta(days=1)),
        (400, timedelta(days=7)),
        (9000, timedelta(days=364)),
    ):
        moments = {START + timedelta(hours=days * 24 * number // 100) for number in range(101)}
        counts = {moment: Counter({Category.TIMEOUT: 1, Category.OK: 2}) for moment in moments}
        stretches, step = charts.in_stretches(counts)
        assert step == length, days
        assert sum(sum(found.values()) for found in stretches.values()) == 3 * len(counts)
        assert list(stretches) == sorted(stretches) and len(stretches) <= charts.BUCKETS + 2
    assert charts.in_stretches({}) == ({}, timedelta(hours=1))


def test_failures_beyond_the_most_frequent_are_others() -> None:
    categories = [category for category in Category if category is not Category.OK][: charts.MAX_CATEGORIES + 2]
    counts = {START: Counter({category: 100 - number for number, category in enumerate(categories)} | {Category.OK: 500})}
    shown = texts(charts.svg("light", lambda: charts.over_time(counts)))
    assert "others" in shown and categories[0].value in shown and categories[-1].value not in shown and "ok" not in shown
    assert charts.svg("light", lambda: charts.over_time({})).startswith(b"<?xml")


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
