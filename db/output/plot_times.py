"""Draws the times of one evaluation: `assay show ID --plot FILE.png|svg`. Needs the extra `[plot]` (matplotlib)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from db.error import StoreError
from evaluator.results.display.text import plain_line
from evaluator.results.evidence import DeviceState, TimingEvidence, TimingSide
from evaluator.results.result import Result

FORMATS = (".png", ".svg")
COLOURS = ("#c2571a", "#35618f", "#5b8c5a", "#8a5a9e", "#777777")
MAX_TITLE = 90


def plot_times(result: Result, path: Path) -> str:
    """Draw every sample over its time, the device's clocks below; returns a message. Raises StoreError if there are no times, matplotlib is
    missing, or the file can't be written."""
    if path.suffix not in FORMATS:
        raise StoreError(f"{path} can't be drawn: the file's name must end in {' or '.join(FORMATS)}.")
    figure = times_figure(result)
    try:
        figure.savefig(path, format=path.suffix[1:])
    except OSError as error:
        raise StoreError(f"{path} can't be written: {error.strerror}.") from error
    timing = result.evidence.timing
    return f"{sum(len(side.samples_ms) for _, side in sides(timing))} samples drawn in {path}\n" if timing else ""


def times_figure(result: Result) -> Any:
    """The picture as a matplotlib figure. Raises StoreError as `plot_times` does."""
    timing = result.evidence.timing
    if timing is None:
        raise StoreError("This evaluation has no times to plot.")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise StoreError("Plotting needs matplotlib: pip install -c constraints.txt -e '.[plot]'.") from error
    states = clock_trace(result.evidence.device_states)
    figure = Figure(figsize=(9.6, 6.4 if states else 4.8), layout="constrained")
    rows = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1)) if states else [figure.subplots()]
    for (name, side), colour in zip(sides(timing), COLOURS, strict=False):
        draw_side(rows[0], name, side, colour, timing)
    rows[0].set_ylabel("time of a call in ms")
    rows[0].set_yscale("log")
    rows[0].legend(loc="best", fontsize="small")
    rows[0].set_title(plain_line(_title(result, timing))[:MAX_TITLE], parse_math=False)
    if states:
        _draw_clocks(rows[1], states)
    rows[-1].set_xlabel("seconds since the timing began")
    return figure


def sides(timing: TimingEvidence) -> list[tuple[str, TimingSide]]:
    """All timed sides, by their names for people."""
    alone = [("baseline, alone", timing.alone)] if timing.alone is not None else []
    others = [(f"baseline {kind}", side) for kind, side in timing.others.items()]
    return [("submission", timing.candidate), ("baseline", timing.baseline), *others, *alone]


def draw_side(axes: Any, name: str, side: TimingSide, colour: str, timing: TimingEvidence) -> None:
    """Draw samples as dots, those far off as crosses, and the side's time as a line. Without recorded times, over their order."""
    time_ms = side.figure_ms(timing.statistic if side is timing.candidate else timing.of_baselines)
    at_s = side.at_s if len(side.at_s) == len(side.samples_ms) else tuple(float(number) for number in range(len(side.samples_ms)))
    far = set(side.outliers)
    usual = [number for number in range(len(at_s)) if number not in far]
    label = f"{name}: {time_ms:.4g} ms, {len(at_s)} samples" + (f", {len(far)} far off" if far else "")
    axes.plot(
        [at_s[number] for number in usual], [side.samples_ms[number] for number in usual], ".", color=colour, label=label, markersize=4
    )
    axes.plot([at_s[number] for number in far], [side.samples_ms[number] for number in far], "x", color=colour, markersize=6)
    if at_s:
        axes.hlines(time_ms, min(at_s), max(at_s), colors=colour, linewidth=0.8)


def clock_trace(states: Sequence[DeviceState]) -> list[DeviceState]:
    """The readings of the last timing, which counts, that have a time and a clock."""
    last = next((state.stage.removeprefix("after ") for state in reversed(states)), "")
    names = (last, f"before {last}", f"after {last}")
    return [state for state in states if state.stage in names and state.at_s is not None and state.sm_clock_mhz is not None]


def _draw_clocks(axes: Any, states: Sequence[DeviceState]) -> None:
    at_s = [state.at_s for state in states]
    axes.plot(at_s, [state.sm_clock_mhz for state in states], ".-", color="#333333", linewidth=0.8, label="SM clock")
    memory = [(state.at_s, state.memory_clock_mhz) for state in states if state.memory_clock_mhz is not None]
    if memory:
        axes.plot(
            [moment for moment, _ in memory], [clock for _, clock in memory], ".--", color="#999999", linewidth=0.8, label="memory clock"
        )
    lowered = [state for state in states if state.throttled]
    axes.plot(
        [state.at_s for state in lowered],
        [state.sm_clock_mhz for state in lowered],
        "o",
        mfc="none",
        color="#b02020",
        label="clock limited",
    )
    axes.set_ylabel("MHz")
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower right", fontsize="small")


def _title(result: Result, timing: TimingEvidence) -> str:
    speedup = "" if result.speedup is None else f"speedup {result.speedup:.4g}"
    if result.speedup_interval is not None:
        speedup += " ({:.4g} to {:.4g})".format(*result.speedup_interval)
    return " · ".join(part for part in (result.submission, result.problem, timing.protocol, speedup) if part)
