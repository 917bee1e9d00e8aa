"""The time of each launch of a call, taken by the preloaded recorder (launch_clock.h), and that of the call as a whole."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class KernelClock:
    """For one call; what the recorder measures is in the table that the judge reads."""

    def __init__(self) -> None:
        self._recorder = ctypes.CDLL(None)
        self._start, self._end = event(), event()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Around the call."""
        self._recorder.assay_recorder_clock(1)
        self._start.record()
        try:
            yield
        finally:
            self._end.record()
            self._recorder.assay_recorder_clock(0)

    def read(self) -> float:
        """Note what the launches took, and return what the call did, in ms. The device has to have been waited for."""
        self._recorder.assay_recorder_laps()
        return float(self._start.elapsed_time(self._end))


def event() -> torch.cuda.Event:
    """One that takes the time."""
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
