"""The speedup in each workload over the size of its inputs, as a picture."""

from typing import Any

from evaluator.results.evidence import TimingEvidence
from evaluator.results.score import interval_in, speedup_in

COLOURS = ("#c2571a", "#777777")
MAX_NAMES = 24
"""Maximum workloads whose names are drawn: more would overlap."""


def workloads_figure(timing: TimingEvidence) -> Any:
    """A matplotlib figure: speedups with intervals, unsolved workloads as crosses, and the reference's line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.8), layout="constrained")
    axes = figure.subplots()
    known = [(each, each.input_bytes) for each in timing.workloads if each.input_bytes]
    for each, size in known:
        speedup, held = speedup_in(each), interval_in(each)
        low, high = held or (speedup, speedup)
        marker = "o" if each.right else "x"
        axes.errorbar(size, speedup, [[speedup - low], [high - speedup]], fmt=marker, color=COLOURS[0], markersize=5, capsize=2)
        if len(known) <= MAX_NAMES:
            axes.annotate(each.case, (size, speedup), xytext=(4, 4), textcoords="offset points", fontsize="x-small")
    axes.axhline(1.0, color=COLOURS[1], linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("bytes of a call's inputs")
    axes.set_ylabel("speedup")
    return figure
