"""What worker and judge know of the preloaded recorder (launch_recorder.c): the layout of its table of launches, which they share, and its
clock (launch_clock.h)."""

import ctypes
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import torch

TABLE = struct.Struct("=QQ")
"""Total launches, and used records."""
RECORD = struct.Struct("=QQQQ9IiI5i8IQQQQ32s256s256s")
"""record_t of launch_recorder.c."""
INTERPRETED = "triton interpreter"
"""The `api` of a kernel that Triton's interpreter ran on the CPU."""


class KernelClock:
    """Measures each launch of one call, and the call as a whole. The recorder writes its times to the table."""

    def __init__(self) -> None:
        self._recorder = ctypes.CDLL(None)
        self._start, self._end = event(), event()

    @contextmanager
    def running(self) -> Iterator[None]:
        """A context manager around the call."""
        self._recorder.assay_recorder_clock(1)
        self._start.record()
        try:
            yield
        finally:
            self._end.record()
            self._recorder.assay_recorder_clock(0)

    def read(self) -> float:
        """Store the times of the launches, and return that of the call, in ms. Wait for the device first."""
        self._recorder.assay_recorder_laps()
        return float(self._start.elapsed_time(self._end))


def event() -> torch.cuda.Event:
    """An event with timing."""
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
