"""Measures calls by a profiler, for benchmarks.timing to compare with the judge's times."""

import contextlib
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.ladder import Rung
from evaluator.judge.timing.gpu.l2_flush import L2Flush
from evaluator.judge.timing.setup import room_bytes
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.problem.load import load

TRUTH_CALLS = 30
BESIDE_KERNELS = ("FillFunctor", "spin_kernel")
"""Parts of the names of the flush's and the wait's kernels, but of no kernel of the ladder."""
AHEAD_CYCLES = 20_000_000
"""Cycles that the device waits before a call, about 10 ms, so that the whole call is enqueued when its first kernel starts."""
CALL = "assay_call"


@dataclass(frozen=True)
class Truth:
    """A call's time by the profiler."""

    span_ms: float
    """From the start of its first kernel to the end of its last one; on a CPU, of the call."""
    kernels: int = 1
    delay_ms: float = 0.0
    """Delay of a call by profiling."""

    @property
    def ms(self) -> float:
        """The span without the delays of all kernels except the first, which are within it."""
        return self.span_ms - self.delay_ms * (self.kernels - 1) / self.kernels


class Caller:
    """Calls a rung's submission in this process, each call after a flush if requested."""

    def __init__(self, rung: Rung, folder: Path, device: torch.device, is_cold: bool) -> None:
        path = folder / f"{rung.kind}_{rung.size}_truth.py"
        path.write_text(rung.problem(), encoding="utf-8")
        case = load(path).instance("full")
        names: dict[str, Any] = {}
        exec(compile(rung.submission(), rung.name, "exec"), names)
        self._model, self.device = names["ModelNew"](), device
        self._inputs = case.inputs(7, device)
        self._memory = SharedMemory(device)
        flushed = device.type == "cuda" and is_cold
        self._areas = [area.bytes for area in L2Flush(self._memory, room_bytes(device)).allocations[:1]] if flushed else []

    def __call__(self) -> float:
        """Call once. Returns the time in ms by events around the call; 0 on a CPU."""
        on_gpu = self.device.type == "cuda"
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * on_gpu)]  # type: ignore[no-untyped-call]
        if on_gpu:
            torch.cuda._sleep(AHEAD_CYCLES)  # type: ignore[no-untyped-call]
        for area in self._areas:
            area.fill_(1)
        with torch.no_grad(), torch.profiler.record_function(CALL):
            for event in events[:1]:
                event.record()
            self._model(*self._inputs)
            for event in events[1:]:
                event.record()
        self.synchronize()
        return events[0].elapsed_time(events[1]) if events else 0.0

    def synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def close(self) -> None:
        self._memory.close()


def truth_of(caller: Caller, budget_s: float) -> Truth | None:
    """The median of a call's time by the profiler; None if it saw no call."""
    start = time.monotonic()
    caller()
    calls = max(3, min(TRUTH_CALLS, int(budget_s / 2 / max(time.monotonic() - start, 1e-3))))
    plain_ms = statistics.median(caller() for _ in range(calls))
    kinds = torch.profiler.ProfilerActivity
    activities = [kinds.CPU, kinds.CUDA] if caller.device.type == "cuda" else [kinds.CPU]
    with _without_chatter(), torch.profiler.profile(activities=activities) as profile:
        profiled_ms = statistics.median(caller() for _ in range(calls))
    events = list(profile.events() or ())
    if caller.device.type != "cuda":
        times_ms = [event.cpu_time / 1e3 for event in events if event.name == CALL]
        return Truth(statistics.median(times_ms)) if times_ms else None
    spans = kernel_spans_ms(events)
    if not spans:
        return None
    kernels = round(statistics.median(count for _, count in spans))
    return Truth(statistics.median(span_ms for span_ms, _ in spans), kernels, profiled_ms - plain_ms)


@contextlib.contextmanager
def _without_chatter() -> Iterator[None]:
    """Suppress the lines that the profiler's library writes to standard error when it starts and stops."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def kernel_spans_ms(events: Sequence[Any]) -> list[tuple[float, int]]:
    """Span of each call, from the start of its first kernel to the end of its last, by the host's times of calls; and
    its number of kernels.

    A call's kernels come after its flush, or, without one, together, because the host waits for the device before the next call.
    """
    asked = sorted(event.time_range.start for event in events if event.name == CALL and event.device_type.name == "CPU")
    on_device = [event for event in events if event.device_type.name == "CUDA" and event.name != CALL]
    kernels = [event for event in on_device if not any(name in event.name for name in BESIDE_KERNELS)]
    spans = []
    for number, begin in enumerate(asked):
        end = asked[number + 1] if number + 1 < len(asked) else float("inf")
        mine = [event.time_range for event in kernels if begin <= event.time_range.start < end]
        if mine:
            spans.append(((max(one.end for one in mine) - min(one.start for one in mine)) / 1e3, len(mine)))
    return spans
