"""The judge's gate, as used by a process whose streams wait at it."""

import ctypes
import mmap
import os

import torch

from evaluator.worker.memory import checked


class MappedGate:
    """A page of the judge's host memory, mapped and registered with CUDA."""

    def __init__(self, descriptor: int) -> None:
        """Takes the descriptor of a one-page memfd, and closes it. Raises RuntimeError if CUDA can't register such memory."""
        from cuda.bindings import driver

        self._map = mmap.mmap(descriptor, mmap.PAGESIZE)
        os.close(descriptor)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        flags = driver.CU_MEMHOSTREGISTER_DEVICEMAP | driver.CU_MEMHOSTREGISTER_PORTABLE
        checked(driver.cuMemHostRegister(self._address, mmap.PAGESIZE, flags))
        self._pointer = checked(driver.cuMemHostGetDevicePointer(self._address, 0))

    def wait_for(self, value: int) -> None:
        """Work enqueued on the current stream from now on waits until the page's first int32 is `value`. Raises RuntimeError."""
        from cuda.bindings import driver

        equal = int(driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ)
        checked(driver.cuStreamWaitValue32(torch.cuda.current_stream().cuda_stream, self._pointer, value, equal))

    def close(self) -> None:
        """Call it when no stream waits any more."""
        from cuda.bindings import driver

        checked(driver.cuMemHostUnregister(self._address))
