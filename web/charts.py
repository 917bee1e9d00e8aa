"""Charts as SVG, drawn by matplotlib on the server: no script in the browser, and real text that can be read and scaled.

Each is drawn in the colours of the reader's theme. A page shows them as images, in which a browser runs nothing.
"""

import io
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from html import escape
from typing import Any, Literal

import matplotlib
import matplotlib.dates
import matplotlib.ticker
from cycler import cycler
from matplotlib.figure import Figure

from db.output.plot_error import error_figure
from db.output.plot_times import draw_side, sides
from db.queries.curves import Speedups
from db.queries.progress import AuthorProgress, BoardProgress, Point
from db.queries.steps import StepWorth
from db.queries.timeline import INTERVALS, Intervals
from evaluator.results.category import Category
from evaluator.results.display.text import plain_line
from evaluator.results.evidence import DeviceState, TimingEvidence
from evaluator.results.result import Result

Theme = Literal["light", "dark"]
MEDIA_TYPE = "image/svg+xml"
MAX_AUTHORS = 10
MAX_CATEGORIES = 10
"""Maximum curves in one chart, each with its own colour."""
MAX_LABEL = 40
_SHORT_LABEL = 22
"""Longest label of a legend in two columns, of which a narrow window shows both."""
_MANY_TIMES = 5
"""A scale is logarithmic if its largest value is at least this many times the least."""
_FEW_TICKS = 10
_INK = {"light": "#1f2328", "dark": "#d7dde3"}
_GRID = {"light": "#d8dee4", "dark": "#3a424b"}
# Visible on dark and light backgrounds, and distinct for common kinds of colour blindness (Okabe and Ito, 2008, and variations).
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8f7fe0", "#9a8f00", "#6f7b86", "#b0562e", "#4aa5a0")
# Matplotlib's settings are global to the process, and its fonts are not thread-safe.
_TURN = threading.Lock()


def svg(theme: Theme, make: Callable[[], Figure], title: str = "", description: str = "") -> bytes:
    """Draw a figure in the theme's colours, as SVG. The same figure gives the same bytes.

    title, description: what it shows, for screen readers.
    """
    ink, grid = _INK[theme], _GRID[theme]
    settings: Any = {
        **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), ink),
        "axes.prop_cycle": cycler(color=_COLOURS),
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.facecolor": "none",
        "grid.color": grid,
        "grid.linewidth": 0.6,
        "font.size": 10,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "svg.fonttype": "none",
        "svg.hashsalt": "assay",
        "text.parse_math": False,  # a dollar in a name must not start a formula
    }
    with _TURN, matplotlib.rc_context(settings):
        file = io.BytesIO()
        make().savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _titled(file.getvalue(), title, description) if title else file.getvalue()


def _titled(picture: bytes, title: str, description: str) -> bytes:
    head, start, rest = picture.partition(b"<svg ")
    attributes, end, content = rest.partition(b">")
    told = f"<title>{escape(plain_line(title))}</title><desc>{escape(plain_line(description))}</desc>"
    return b"".join([head, start, b'role="img" ', attributes, end, b"\n ", told.encode(), content])


def problem_progress(boards: Sequence[BoardProgress]) -> Figure:
    """The best speedup so far on each board over time, and the single evaluations."""
    lines = [(_place(board), [(best.started_at, best.speedup) for best in board.best], board.points) for board in boards]
    return _progress(lines, "speedup over the baseline")


def author_progress(settings: Sequence[AuthorProgress]) -> Figure:
    """An author's mean speedup over all tasks over time, and the speedups of single evaluations."""
    lines = [(_place(setting), list(setting.means), setting.points) for setting in settings]
    return _progress(lines, "speedup, and its mean over all tasks")


def steps(worths: Sequence[StepWorth]) -> Figure:
    """The shares of right and of faster evaluations over the steps of each training run."""
    figure = Figure(figsize=(7.5, 3.4), layout="constrained")
    axes: Any = figure.add_subplot()
    runs = list(dict.fromkeys(worth.run for worth in worths))
    for run, colour in zip(runs[-MAX_AUTHORS:], _COLOURS, strict=False):
        own = [worth for worth in worths if worth.run == run]
        name = "" if run is None else f" in {run}"
        places = [worth.step for worth in own]
        axes.plot(places, [worth.right for worth in own], ".-", color=colour, label=_label(f"right{name}"))
        axes.plot(places, [worth.faster for worth in own], ".:", color=colour, label=_label(f"faster{name}"))
    axes.set_xlabel("step")
    axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
    axes.set_ylabel("share of its evaluations")
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0, 0))
    _legend_above(axes)
    return figure


def _progress(lines: Sequence[tuple[str, Sequence[tuple[datetime, float]], Sequence[Point]]], what: str) -> Figure:
    figure = Figure(figsize=(7.5, 3.4), layout="constrained")
    axes: Any = figure.add_subplot()
    shown = lines[:MAX_AUTHORS]
    moments = [moment for _, steps, points in shown for moment in (steps[0][0], steps[-1][0], *(point.started_at for point in points))]
    values = [value for _, steps, points in shown for value in (steps[0][1], steps[-1][1], *(point.speedup for point in points))]
    first, last = min(moments), max(moments)
    margin = max((last - first) / 50, timedelta(seconds=1))
    for (label, steps, points), colour in zip(shown, _COLOURS, strict=False):
        axes.plot([point.started_at for point in points], [point.speedup for point in points], ".", color=colour, alpha=0.45, markersize=4)
        # The last best value continues to the last evaluation.
        moved = [*steps, (last, steps[-1][1])]
        marked = {"marker": "o", "markersize": 4, "markevery": slice(0, -1)} if len(steps) <= INTERVALS else {}
        axes.step(*zip(*moved, strict=True), where="post", color=colour, label=_label(label), **marked)
    axes.axhline(1.0, color=matplotlib.rcParams["text.color"], linewidth=0.8, linestyle=":")
    axes.set_xlim(first - margin, last + margin)
    axes.set_ylabel(what)
    span = max(*values, 1.0) / min(*values, 1.0)
    if span > _MANY_TIMES:
        axes.set_yscale("log")
        _plain_ticks(axes.yaxis, span)
    else:
        axes.set_ylim(0, max(values) * 1.1)
    _dates(axes)
    _legend(axes)
    return figure


def fast_p(speedups: Speedups) -> Figure:
    """The share of tasks solved and faster than p times the baseline, by p, for each author."""
    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    axes: Any = figure.add_subplot()
    highest = max((values[-1] for values in speedups.authors.values() if values), default=1.0)
    for author in list(speedups.authors)[:MAX_AUTHORS]:
        points = [*speedups.curve(author), (highest * 1.05, 0.0)]
        axes.step(*zip(*points, strict=True), where="post", label=_label(author or "(no author)"))
    axes.set_xlim(0, max(2.0, highest * 1.05))
    axes.set_ylim(0, 1.02)
    axes.axvline(1.0, color=matplotlib.rcParams["text.color"], linewidth=0.8, linestyle=":")
    axes.set_xlabel("p: times as fast as the baseline")
    axes.set_ylabel("fast_p: share of tasks")
    axes.yaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0, 0))
    _legend(axes)
    return figure


def distribution(speedups: Speedups) -> Figure:
    """Histogram of the best speedups of all authors."""
    figure = Figure(figsize=(7.5, 2.8), layout="constrained")
    axes: Any = figure.add_subplot()
    values = [value for found in speedups.authors.values() for value in found]
    low, high = (min(values), max(values)) if values else (0.5, 2.0)
    low, high = (low / 1.2, high * 1.2) if low < high * 0.999 else (low / 2, high * 2)
    count = 30
    axes.hist(values, bins=[low * (high / low) ** (number / count) for number in range(count + 1)])
    axes.set_xscale("log")
    axes.axvline(1.0, color=matplotlib.rcParams["text.color"], linewidth=0.8, linestyle=":")
    _plain_ticks(axes.xaxis, high / low)
    axes.set_xlabel("speedup over the baseline")
    axes.set_ylabel("authors × tasks")
    axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
    return figure


def over_time(intervals: Intervals) -> Figure:
    """Failures by category, in intervals of time."""
    figure = Figure(figsize=(7.5, 3.4), layout="constrained")
    axes: Any = figure.add_subplot()
    counts, width = intervals.counts, intervals.length
    total: Counter[Category] = Counter()
    for found in counts.values():
        total.update(found)
    shown = [category for category, _ in total.most_common() if category is not Category.OK][:MAX_CATEGORIES]
    moments = list(counts)
    bottom = [0] * len(moments)
    for category in [*shown, None]:
        heights = [found[category] if category else _rest(found, shown) for found in counts.values()]
        if any(heights):
            axes.bar(moments, heights, width, bottom, align="edge", label=category.value if category else "others")
            bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    if moments:
        axes.set_xlim(moments[0] - width / 2, moments[-1] + width * 1.5)
    axes.set_ylabel(f"failed, in {_duration(width)}")
    axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True))
    _dates(axes)
    _legend_above(axes)
    return figure


def samples(timing: TimingEvidence) -> Figure:
    """Every timed call of each side over its time, or over its number in older records. Crosses are far off."""
    found = sides(timing)
    figure = Figure(figsize=(7.5, 3.2 + 0.2 * len(found)), layout="constrained")
    axes: Any = figure.add_subplot()
    for (name, side), colour in zip(found, _COLOURS, strict=False):
        draw_side(axes, _label(name), side, colour, timing)
    in_time = any(side.at_s for _, side in found)
    axes.set_xlabel("s since the timing began" if in_time else "call")
    axes.set_ylabel("ms")
    axes.set_yscale("log")
    values = [sample for _, side in found for sample in side.samples_ms]
    _plain_ticks(axes.yaxis, max(values) / min(values))
    # At the left, since a narrow window shows only that part of a plot.
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=8, borderaxespad=0.2)
    return figure


def traces(states: Sequence[DeviceState]) -> list[list[DeviceState]]:
    """Readings with a time and a clock, for each timing, in order; only if there are several."""
    found: list[list[DeviceState]] = []
    for state in states:
        if state.at_s is None or state.sm_clock_mhz is None:
            continue
        # Each timing counts seconds from its own start.
        if not found or state.at_s < (found[-1][-1].at_s or 0.0):
            found.append([])
        found[-1].append(state)
    return [trace for trace in found if len(trace) > 1]


def clock(states: Sequence[DeviceState]) -> Figure:
    """The device's clock and power during the timing; crosses where the clock was held down."""
    figure = Figure(figsize=(7.5, 3.8), layout="constrained")
    upper: Any
    lower: Any
    upper, lower = figure.subplots(2, 1, sharex=True)
    for number, trace in enumerate(traces(states)):
        name = trace[0].stage.removeprefix("before ")
        colour = _COLOURS[number % len(_COLOURS)]
        upper.plot([s.at_s for s in trace], [s.sm_clock_mhz for s in trace], ".-", color=colour, label=_label(name), linewidth=0.8)
        held = [state for state in trace if state.throttled]
        upper.plot([s.at_s for s in held], [s.sm_clock_mhz for s in held], "x", color=_COLOURS[5], markersize=7)
        powered = [state for state in trace if state.power_w is not None]
        lower.plot([s.at_s for s in powered], [s.power_w for s in powered], ".-", color=colour, linewidth=0.8)
    upper.set_ylabel("SM MHz")
    highest = max((state.sm_clock_mhz or 0.0 for trace in traces(states) for state in trace), default=0.0)
    upper.set_ylim(0, 1.15 * highest or 1.0)
    lower.set_ylabel("W")
    lower.set_ylim(bottom=0)
    lower.set_xlabel("s since the timing began")
    _legend(upper)
    return figure


def errors(result: Result) -> Figure:
    """Where the outputs of the first failed round were wrong. Raises StoreError if there is nothing to draw."""
    figure: Figure = error_figure(result)
    return figure


def _rest(found: Counter[Category], shown: Sequence[Category]) -> int:
    return sum(count for category, count in found.items() if category is not Category.OK and category not in shown)


def _place(line: BoardProgress | AuthorProgress) -> str:
    precision = line.precision if isinstance(line, BoardProgress) else None
    parts = [line.case, line.device_name or "unknown device", precision if precision != "own" else None]
    return " · ".join(part for part in parts if part)


def _label(text: str) -> str:
    line = plain_line(text)
    # Matplotlib leaves a label that begins with an underscore out of the legend.
    return ("\u200a" if line.startswith("_") else "") + (line if len(line) <= MAX_LABEL else line[:MAX_LABEL] + "…")


def _legend(axes: Any) -> None:
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        axes.legend()


def _legend_above(axes: Any) -> None:
    """The legend above the axes, from the left: a narrow window shows only that part of a plot. The figure grows by its lines."""
    _, labels = axes.get_legend_handles_labels()
    if labels:
        columns = 1 if max(map(len, labels)) > _SHORT_LABEL else 2
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, borderaxespad=0.2)
        axes.figure.set_figheight(axes.figure.get_figheight() + 0.2 * -(-len(labels) // columns))


def _dates(axes: Any) -> None:
    dates: Any = matplotlib.dates
    locator = dates.AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))


def _plain_ticks(axis: Any, span: float) -> None:
    """Label ticks 0.5 and 2 instead of powers of ten. span: the axis' largest value over its least."""
    steps = (1.0, 2.0, 5.0) if span > _FEW_TICKS else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
    axis.set_major_locator(matplotlib.ticker.LogLocator(subs=steps))
    axis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())


def _duration(length: timedelta) -> str:
    units = {"day": timedelta(days=1), "hour": timedelta(hours=1), "minute": timedelta(minutes=1), "second": timedelta(seconds=1)}
    unit, one = next((unit, one) for unit, one in units.items() if length >= one)
    count = length // one
    return f"{count} {unit}s" if count > 1 else f"an {unit}" if unit == "hour" else f"a {unit}"
