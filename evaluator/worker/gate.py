"""The judge's gate, as streams of a process use it."""

import ctypes
import mmap
import os

import torch

from evaluator.worker.memory import checked

OPEN, DONE = 0, 1
"""Positions of a gate's words in its page: the judge's stream writes the first one, and a worker's the second."""
WORD_BYTES = 4


class MappedGate:
    """A page of the judge's host memory, mapped and registered with CUDA. Its words are int32."""

    def __init__(self, descriptor: int) -> None:
        """Takes the descriptor of a one-page memfd, and closes it. Raises RuntimeError if CUDA can't register such memory."""
        from cuda.bindings import driver

        self._map = mmap.mmap(descriptor, mmap.PAGESIZE)
        os.close(descriptor)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        flags = driver.CU_MEMHOSTREGISTER_DEVICEMAP | driver.CU_MEMHOSTREGISTER_PORTABLE
        checked(driver.cuMemHostRegister(self._address, mmap.PAGESIZE, flags))
        try:
            self._pointer = checked(driver.cuMemHostGetDevicePointer(self._address, 0))
        except RuntimeError:
            self.close()
            raise

    def wait_for(self, value: int, word: int = OPEN) -> None:
        """Work enqueued on the current stream from now on waits until the word has this value. Raises RuntimeError."""
        from cuda.bindings import driver

        equal = int(driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ)
        checked(driver.cuStreamWaitValue32(torch.cuda.current_stream().cuda_stream, self._address_of(word), value, equal))

    def write(self, value: int, word: int = DONE) -> None:
        """Have the current stream write the word when all work enqueued before is done. Raises RuntimeError."""
        from cuda.bindings import driver

        default = int(driver.CUstreamWriteValue_flags.CU_STREAM_WRITE_VALUE_DEFAULT)
        checked(driver.cuStreamWriteValue32(torch.cuda.current_stream().cuda_stream, self._address_of(word), value, default))

    def close(self) -> None:
        """Call it when no stream waits any more."""
        from cuda.bindings import driver

        checked(driver.cuMemHostUnregister(self._address))

    def _address_of(self, word: int) -> int:
        return int(self._pointer) + WORD_BYTES * word
