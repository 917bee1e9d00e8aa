"""The report of benchmarks.throughput as tables."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

Plain = Mapping[str, Any]
Targets = Mapping[tuple[str, str], str]

TARGETS = {
    ("seeds", "ours cold"): "8 times, under 60 s",
    ("seeds", "ours warm"): "25 times",
    ("variants", "ours cold"): "15 times",
    ("devices", "ratio"): "1.9",
}
"""Targets for the H200, shown if there is a GPU."""


def of_report(report: Plain) -> Iterator[Table]:
    """A table of the measurements per part."""
    targets = TARGETS if report["machine"]["kind"] == "cuda" else {}
    for name, part in report["parts"].items():
        if name == "devices":
            yield _devices(part, targets)
        elif "ours cold" in part or "stock cold" in part:
            yield _walls(name, part, targets)
            yield _verdicts(name, part)


def ratio(part: Plain, way: str) -> float | None:
    """Speedup of ours, `way` (cold or warm), over the yardstick; None unless both are complete."""
    ours, stock = part.get(f"ours {way}"), part.get("stock cold scaled")
    return stock["total_s"] / ours["wall_s"] if ours and stock and ours["complete"] else None


def _walls(name: str, part: Plain, targets: Targets) -> Table:
    columns = ("", "wall s", "s each", "an hour", "times as fast", "target")
    table = _table(f"{name}: {part['submissions']} submissions", *columns)
    if stock := part.get("stock cold scaled"):
        label = "yardstick cold" + (f", {stock['measured']} of {stock['of']} measured" if stock["measured"] < stock["of"] else "")
        error = f" ±{stock['error_s']:.0f}" if stock["error_s"] else ""
        table.add_row(label, f"{stock['total_s']:.1f}{error}", *_pace(stock["total_s"], stock["of"]), "", "")
    for way in ("cold", "warm"):
        if ours := part.get(f"ours {way}"):
            label = f"ours {way}" + ("" if ours["complete"] else f", {ours['judged']} at the time limit")
            times = "" if (found := ratio(part, way)) is None else f"{found:.2f}"
            target = targets.get((name, f"ours {way}"), "")
            table.add_row(label, f"{ours['wall_s']:.1f}", *_pace(ours["wall_s"], ours["judged"]), times, target)
    return table


def _pace(wall_s: float, count: int) -> tuple[str, str]:
    return (f"{wall_s / count:.2f}", f"{3600 * count / wall_s:.0f}") if count else ("", "")


def _devices(part: Plain, targets: Targets) -> Table:
    table = _table(f"devices: {part['submissions']} submissions, builds warm", "", "wall s", "GPUs")
    for label, run in part.items():
        if isinstance(run, dict):
            table.add_row(label, f"{run['wall_s']:.1f}", str(len(run["devices"])))
    if "ratio" in part:
        table.add_row("one / all", f"{part['ratio']:.2f}", f"target {targets['devices', 'ratio']}")
    if "differing" in part:
        table.add_row("verdicts that differ", ", ".join(part["differing"]) or "none")
    return table


def _verdicts(name: str, part: Plain) -> Table:
    table = _table(f"{name}: verdicts and seconds", "submission", "ours", "cold", "warm", "yardstick", "cold")
    cold, warm, stock = ({_label(run): run for run in _evaluations(part, key)} for key in ("ours cold", "ours warm", "stock cold"))
    for label in dict.fromkeys([*cold, *warm, *stock]):
        known, by_stock = cold.get(label) or warm.get(label), stock.get(label)
        cells = [known["verdict"] if known else ""]
        cells += [f"{ours[label]['duration_s']:.1f}" if label in ours else "" for ours in (cold, warm)]
        cells += [by_stock["verdict"], f"{by_stock['wall_s']:.1f}"] if by_stock else ["", ""]
        table.add_row(label, *cells)
    return table


def _evaluations(part: Plain, key: str) -> list[Plain]:
    found = part.get(key, [])
    return list(found["evaluations"] if isinstance(found, dict) else found)


def _label(run: Plain) -> str:
    if "label" in run:
        return str(run["label"])
    return str(run["submission"]) + (f" [{run['block']}]" if run["block"] else "")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 or column in ("ours", "yardstick", "target") else "right", overflow="fold")
    return table
