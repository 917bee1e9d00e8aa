"""A profile as a roofline: work per byte of device memory, the rate of the work, and the limit of that rate.

Work is the problem's operations, if the problem has any and all kernels of the submission's call were profiled. The peaks are then the
judge's own measurements. Otherwise work is the warp instructions of each kernel ("An Instruction Roofline Model for GPUs", Ding and
Williams, 2019).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from evaluator.results.display.figures import rate_text
from evaluator.results.display.text import plain_line
from evaluator.results.evidence import KernelProfile, ProfiledSide, ProfileEvidence

MAX_KERNELS = 4
"""Maximum points of one side: its longest kernels."""
MAX_LABEL = 40
LEAST_ISSUE_SHARE = 1e-3
"""Minimum share from which the peak can be computed."""
_COLOURS = {"submission": "#c2571a", "reference": "#35618f"}
_MARKERS = "osD^"


@dataclass(frozen=True)
class Point:
    """A kernel or a whole call."""

    side: Literal["submission", "reference"]
    name: str
    per_byte: float
    """Work per byte of device memory moved."""
    per_s: float


@dataclass(frozen=True)
class Roofline:
    """The points and their two limits."""

    work: Literal["operations", "instructions"]
    bytes_per_s: float
    peak_per_s: float
    points: tuple[Point, ...]
    needed_per_byte: float | None = None
    """Work per byte of a call that moves only the bytes that the problem needs; None for instructions."""
    missing: tuple[str, ...] = ()
    """Sides without a point, with the reason."""

    @property
    def ridge_per_byte(self) -> float:
        """Work per byte at the ridge: below it memory is the limit, above it arithmetic."""
        return self.peak_per_s / self.bytes_per_s

    def limit_per_s(self, per_byte: float) -> float:
        """Maximum work per second at this work per byte."""
        return min(self.bytes_per_s * per_byte, self.peak_per_s)


def roofline(profile: ProfileEvidence) -> Roofline | None:
    """The roofline of a profile; None if too little was measured."""
    return _of_operations(profile) or _of_instructions(profile)


def _sides(profile: ProfileEvidence) -> Iterator[tuple[Literal["submission", "reference"], ProfiledSide]]:
    if profile.submission is not None:
        yield "submission", profile.submission
    if profile.reference is not None:
        yield "reference", profile.reference


def _of_operations(profile: ProfileEvidence) -> Roofline | None:
    light = profile.light
    if light is None or not light.operations or not light.operations_per_s or not light.bytes_per_s:
        return None
    if profile.submission is None or profile.submission.partial:
        return None
    points = tuple(
        Point(name, name, light.operations / side.moved_bytes, light.operations / side.duration_ms * 1e3)
        for name, side in _sides(profile)
        if side.moved_bytes and side.duration_ms and not side.partial
    )
    needed_bytes = light.read_bytes + light.written_bytes
    needed = light.operations / needed_bytes if needed_bytes else None
    missing = _missing(profile, points, needs_whole_call=True)
    return Roofline("operations", light.bytes_per_s, light.operations_per_s, points, needed, missing) if points else None


def _of_instructions(profile: ProfileEvidence) -> Roofline | None:
    kernels = [(name, kernel) for name, side in _sides(profile) for kernel in _longest(side)]
    points = tuple(point for name, kernel in kernels if (point := _point(name, kernel)) is not None)
    peaks = [peak for _, kernel in kernels if (peak := _issue_peak(kernel)) is not None]
    bandwidths = [peak for _, kernel in kernels if (peak := _bandwidth(kernel)) is not None]
    bytes_per_s = profile.light.bytes_per_s if profile.light and profile.light.bytes_per_s else max(bandwidths, default=None)
    if not points or not peaks or bytes_per_s is None:
        return None
    return Roofline("instructions", bytes_per_s, max(peaks), points, missing=_missing(profile, points, needs_whole_call=False))


def _missing(profile: ProfileEvidence, points: tuple[Point, ...], needs_whole_call: bool) -> tuple[str, ...]:
    """The sides without a point, with the reason. The operations of a part of a call are unknown, so it has no place in the picture."""
    drawn = {point.side for point in points}
    return tuple(f"{name}: no point, {_why_missing(side, needs_whole_call)}" for name, side in _sides(profile) if name not in drawn)


def _why_missing(side: ProfiledSide, needs_whole_call: bool) -> str:
    if needs_whole_call and side.partial and side.kernels:
        return "only part of its call was profiled"
    return "its bytes or times are unknown"


def _longest(side: ProfiledSide) -> list[KernelProfile]:
    return sorted(side.kernels, key=lambda kernel: -(kernel.duration_ms or 0.0))[:MAX_KERNELS]


def _point(side: Literal["submission", "reference"], kernel: KernelProfile) -> Point | None:
    moved_bytes = _moved_bytes(kernel)
    if not moved_bytes or not kernel.instructions or not kernel.duration_ms:
        return None
    return Point(side, kernel.kernel, kernel.instructions / moved_bytes, kernel.instructions / kernel.duration_ms * 1e3)


def _moved_bytes(kernel: KernelProfile) -> int | None:
    return None if kernel.read_bytes is None or kernel.written_bytes is None else kernel.read_bytes + kernel.written_bytes


def _issue_peak(kernel: KernelProfile) -> float | None:
    """Instructions that the device can issue per second at this kernel's clock."""
    if not kernel.instructions or not kernel.duration_ms or kernel.issue_share is None or kernel.issue_share < LEAST_ISSUE_SHARE:
        return None
    return kernel.instructions / kernel.duration_ms * 1e3 / kernel.issue_share


def _bandwidth(kernel: KernelProfile) -> float | None:
    """Bytes that the device memory can move per second."""
    moved_bytes = _moved_bytes(kernel)
    if not moved_bytes or not kernel.duration_ms or not kernel.memory_share:
        return None
    return moved_bytes / kernel.duration_ms * 1e3 / kernel.memory_share


def roofline_figure(found: Roofline) -> Any:
    """The picture as a matplotlib figure. Needs matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = figure.add_subplot()
    places = [found.ridge_per_byte, *(point.per_byte for point in found.points)]
    if found.needed_per_byte is not None:
        places.append(found.needed_per_byte)
    low, high = min(places) / 4, max(places) * 4
    xs = [low, found.ridge_per_byte, high]
    unit = "FLOP" if found.work == "operations" else "inst"
    roof = f"limit: {rate_text(found.bytes_per_s, 'B')}, {rate_text(found.peak_per_s, unit)}"
    axes.plot(xs, [found.limit_per_s(x) for x in xs], color="#777777", linewidth=1.4, label=roof)
    if found.needed_per_byte is not None:
        axes.axvline(found.needed_per_byte, color="#777777", linewidth=0.8, linestyle=":", label="bytes that the problem needs")
    drawn: dict[str, int] = {}
    for point in found.points:
        place = drawn[point.side] = drawn.get(point.side, -1) + 1
        share = point.per_s / found.limit_per_s(point.per_byte)
        label = f"{_label(point)}: {rate_text(point.per_s, unit)}, {share:.0%} of the limit"
        axes.plot([point.per_byte], [point.per_s], _MARKERS[place], color=_COLOURS[point.side], markersize=8, label=label)
    for reason in found.missing:
        axes.plot([], [], linestyle="none", label=reason)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"{found.work} per byte of device memory")
    axes.set_ylabel(f"{found.work} per second")
    axes.legend(loc="lower right", fontsize="small")
    return figure


def _label(point: Point) -> str:
    name = plain_line(point.name)
    short = name if len(name) <= MAX_LABEL else name[: MAX_LABEL - 1] + "…"
    return short if point.name == point.side else f"{point.side}, {short}"
