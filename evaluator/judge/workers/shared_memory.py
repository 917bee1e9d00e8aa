"""Memory that the judge owns and a worker may map: one allocation per tensor, with its own mapping.

On the CPU an allocation is a sealed memfd, on a GPU physical memory of `cuMemCreate`, exported as a file descriptor. So it opens in a
worker of another user and in other namespaces, and a kernel that writes past its end meets no neighbour.
"""

import fcntl
import itertools
import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch

from evaluator.worker.memory import checked, device_bytes, map_device
from evaluator.worker.structure import dtype_name


class Allocation(ABC):
    """Memory that a worker may map. Its `descriptor` is sent to the worker."""

    number: int
    requested: int
    """Requested bytes."""
    nbytes: int
    """Actual bytes: at least one, and on a GPU a multiple of its granularity."""
    descriptor: int
    bytes: torch.Tensor
    """Shape (nbytes,), uint8."""

    def view(self, shape: Sequence[int], dtype: torch.dtype, offset: int = 0) -> torch.Tensor:
        """A contiguous tensor of this shape that begins at `offset` bytes."""
        count = torch.Size(shape).numel()
        if count == 0:
            return torch.empty(tuple(shape), dtype=dtype, device=self.bytes.device)
        return self.bytes[offset : offset + count * dtype.itemsize].view(dtype).view(tuple(shape))

    @abstractmethod
    def free(self) -> None:
        """Free the memory. Tensors over it become invalid."""


class HostAllocation(Allocation):
    """A memfd whose size is sealed: a worker that truncated it could otherwise kill the judge with SIGBUS."""

    def __init__(self, number: int, nbytes: int) -> None:
        self.number, self.requested, self.nbytes = number, nbytes, max(nbytes, 1)
        self.descriptor = os.memfd_create("tensor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, self.nbytes)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self._map = mmap.mmap(self.descriptor, self.nbytes)
        self.bytes = torch.frombuffer(self._map, dtype=torch.uint8)

    def free(self) -> None:
        # The mapping ends with the last tensor over it.
        self.bytes = torch.empty(0, dtype=torch.uint8)
        os.close(self.descriptor)


class DeviceAllocation(Allocation):
    """Exported device memory; the size is rounded up to the device's granularity (2 MiB)."""

    def __init__(self, number: int, nbytes: int, device: int) -> None:
        from cuda.bindings import driver

        kind = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        properties = driver.CUmemAllocationProp()
        properties.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = device
        properties.requestedHandleTypes = kind
        minimum = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        granularity = int(checked(driver.cuMemGetAllocationGranularity(properties, minimum)))
        self.number, self.requested = number, nbytes
        self.nbytes = max(-(-nbytes // granularity), 1) * granularity
        self._handle = checked(driver.cuMemCreate(self.nbytes, properties, 0))
        try:
            self.descriptor = int(checked(driver.cuMemExportToShareableHandle(self._handle, kind, 0)))
            self._address = map_device(self._handle, self.nbytes, device)
        except RuntimeError:
            driver.cuMemRelease(self._handle)  # free it here too: a judge serves for days, and a leak would add up
            if hasattr(self, "descriptor"):
                os.close(self.descriptor)
            raise
        self.bytes = device_bytes(self._address, self.nbytes, device)

    def free(self) -> None:
        from cuda.bindings import driver

        torch.cuda.synchronize(self.bytes.device)
        self.bytes = torch.empty(0, dtype=torch.uint8)
        os.close(self.descriptor)
        checked(driver.cuMemUnmap(self._address, self.nbytes))
        checked(driver.cuMemAddressFree(self._address, self.nbytes))
        checked(driver.cuMemRelease(self._handle))


class SharedMemory:
    """All allocations of one evaluation on one device. Several threads may use it."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._numbers = itertools.count(1)
        self._live: dict[int, Allocation] = {}

    def allocate(self, nbytes: int) -> Allocation:
        """Allocate at least nbytes bytes. Raises RuntimeError (CUDA) or OSError if memory runs out."""
        number = next(self._numbers)
        allocation = self._on_device(number, nbytes) if self.device.type == "cuda" else HostAllocation(number, nbytes)
        self._live[allocation.number] = allocation
        return allocation

    def keep(self, allocation: Allocation) -> None:
        """Number an allocation that was made elsewhere, and free it together with all others."""
        allocation.number = next(self._numbers)
        self._live[allocation.number] = allocation

    def _on_device(self, number: int, nbytes: int) -> Allocation:
        try:
            return DeviceAllocation(number, nbytes, self.device.index or 0)
        except RuntimeError:
            torch.cuda.empty_cache()  # the driver can't use the memory that PyTorch keeps for the judge's own tensors
            return DeviceAllocation(number, nbytes, self.device.index or 0)

    def free(self, allocations: Sequence[Allocation]) -> None:
        for allocation in allocations:
            self._live.pop(allocation.number).free()

    def close(self) -> None:
        self.free(list(self._live.values()))


def describe(allocation: Allocation, offset: int, tensor: torch.Tensor) -> dict[str, Any]:
    """The message that tells a worker to map a tensor like `tensor` at `offset` bytes in an allocation."""
    return {"allocation": allocation.number, "offset": offset, "shape": list(tensor.shape), "dtype": dtype_name(tensor.dtype)}


def raw_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor's elements in order, as bytes: shape (nbytes,), uint8; a copy if it is not contiguous."""
    flat = tensor.resolve_conj().resolve_neg().contiguous().view(-1)
    # A single element may have any stride and be contiguous, but its bytes may not.
    return torch.as_strided(flat, (flat.numel(),), (1,)).view(torch.uint8)
