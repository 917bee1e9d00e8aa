"""Draws where an output was wrong: `assay show ID --plot-error FILE.png`. Needs the extra `[plot]` (matplotlib)."""

from pathlib import Path
from typing import Any

from db.error import StoreError
from evaluator.results.display.text import plain_line
from evaluator.results.evidence import ErrorFigures, ErrorMap, RoundEvidence
from evaluator.results.result import Result

MAX_TITLE = 80
LEVELS = 10
"""Levels of wrong patches: `1` to `9`, and not finite."""


def plot_error(result: Result, path: Path) -> str:
    """Write a heat map of each wrong output of the first failed round; returns a message. Raises StoreError if there is none, matplotlib is
    missing, or the file can't be written."""
    figure = error_figure(result)
    count = len(figure.get_axes()) // 2  # each map has its own colour bar
    try:
        figure.savefig(path, format="png")
    except OSError as error:
        raise StoreError(f"{path} can't be written: {error.strerror}.") from error
    return f"the error of {count} {'output' if count == 1 else 'outputs'} drawn in {path}\n"


def error_figure(result: Result) -> Any:
    """The heat maps as a matplotlib figure. Raises StoreError as `plot_error` does."""
    round_, wrong = _failed(result)
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise StoreError("Plotting needs matplotlib: pip install -c constraints.txt -e '.[plot]'.") from error
    figure = Figure(figsize=(6.4 * len(wrong), 5.6), layout="constrained")
    for number, (figures, picture) in enumerate(wrong, 1):
        _draw(figure.add_subplot(1, len(wrong), number), figures, picture)
    figure.suptitle(f"round {round_.number}, distribution '{round_.distribution}'", parse_math=False)
    return figure


def _failed(result: Result) -> tuple[RoundEvidence, list[tuple[ErrorFigures, ErrorMap]]]:
    for round_ in result.evidence.rounds:
        pictures = [(figures, figures.error_map) for figures in round_.outputs if figures.error_map is not None]
        if not round_.passed and pictures:
            return round_, pictures
    raise StoreError("This evaluation has no wrong values to plot.")


def levels(picture: ErrorMap) -> list[list[int]]:
    """Level of each patch: 0 if right, 1 to 9 in half decades above the tolerance, LEVELS if not finite."""
    return [[0 if mark == "." else LEVELS if mark == "#" else int(mark) for mark in row] for row in picture.rows]


def _draw(axes: Any, figures: ErrorFigures, picture: ErrorMap) -> None:
    from matplotlib.colors import BoundaryNorm, ListedColormap

    shades = ["#f4f4f2", "#fde8c8", "#fcd39c", "#fbb86a", "#f79a4b", "#ee7a37", "#dd5a2b", "#c23a22", "#9d1f1d", "#6f0f1a", "#1f1f6f"]
    axes.grid(False)
    height, width = len(picture.rows), len(picture.rows[0])
    image = axes.imshow(
        levels(picture),
        cmap=ListedColormap(shades),
        norm=BoundaryNorm([level - 0.5 for level in range(LEVELS + 2)], len(shades)),
        aspect="auto",
        interpolation="nearest",
        extent=(0, width * picture.columns_per_cell, height * picture.rows_per_cell, 0),
    )
    name = plain_line(f"output{figures.output}: {figures.wrong} of {figures.elements} wrong")[:MAX_TITLE]
    axes.set_title(f"{name}\n{plain_line(figures.pattern)[:MAX_TITLE]}", parse_math=False)
    axes.locator_params(axis="x", nbins=4)  # columns may have numbers of nine digits
    axes.set_xlabel("column (last dimension)")
    axes.set_ylabel("row (all others)")
    bar = axes.figure.colorbar(image, ax=axes, ticks=range(LEVELS + 1))
    decades = [f"{10 ** ((level - 1) / 2):.3g}×" for level in range(1, LEVELS)]
    bar.ax.set_yticklabels(["right", *decades, "NaN, inf"])
    bar.set_label(f"largest error, in multiples of the {figures.tolerance:.3g} allowed")
