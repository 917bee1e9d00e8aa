"""The worker's memory: mapped tensors of the judge, the L2 cache, and the memory of outputs.

The judge allocates, the worker maps. On the CPU a descriptor is a memfd, on a GPU an exported CUDA allocation.
"""

import ctypes
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.worker.structure import SPARSE, UNWRITTEN, named_dtype

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_TRIM_BYTES, _MMAP_BYTES = 1 << 30, 1 << 25
"""Bytes of freed memory to keep; and the size above which each allocation is mapped on its own, at glibc's maximum."""

_SPARSE_LAYOUTS = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


class HostMapping:
    """A memfd, mapped."""

    def __init__(self, descriptor: int, nbytes: int) -> None:
        # With its pages: otherwise the first call that reads one would wait for it.
        self._map = mmap.mmap(descriptor, nbytes, mmap.MAP_SHARED | mmap.MAP_POPULATE)
        os.close(descriptor)
        self.bytes = torch.frombuffer(self._map, dtype=torch.uint8)
        """Shape (nbytes,), uint8."""

    def close(self) -> None:
        """Left to the garbage collector: tensors of the submission may still use this memory."""


class DeviceMapping:
    """An exported device allocation, mapped into this process's address space."""

    def __init__(self, descriptor: int, nbytes: int, device: int) -> None:
        from cuda.bindings import driver

        kind = driver.CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        self._nbytes = nbytes
        self._handle = checked(driver.cuMemImportFromShareableHandle(descriptor, kind))
        os.close(descriptor)
        self._address = map_device(self._handle, nbytes, device)
        self.bytes = device_bytes(self._address, nbytes, device)
        """Shape (nbytes,), uint8."""

    def close(self) -> None:
        from cuda.bindings import driver

        checked(driver.cuMemUnmap(self._address, self._nbytes))
        checked(driver.cuMemAddressFree(self._address, self._nbytes))
        checked(driver.cuMemRelease(self._handle))


@dataclass(frozen=True)
class _AddressRange:
    """The form in which `torch.as_tensor` sees memory that PyTorch did not allocate (the CUDA array interface, version 3)."""

    address: int
    nbytes: int

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": (self.nbytes,), "typestr": "|u1", "data": (self.address, False), "version": 3}


def device_bytes(address: Any, nbytes: int, device: int) -> torch.Tensor:
    """The mapped range as a tensor: shape (nbytes,), uint8, on `cuda:device`."""
    return torch.as_tensor(_AddressRange(int(address), nbytes), device=f"cuda:{device}")


def map_device(handle: Any, nbytes: int, device: int) -> Any:
    """Map a whole physical allocation read-write at an address of its own; return the address."""
    from cuda.bindings import driver

    address = checked(driver.cuMemAddressReserve(nbytes, 0, driver.CUdeviceptr(0), 0))
    checked(driver.cuMemMap(address, nbytes, 0, handle, 0))
    access = driver.CUmemAccessDesc()
    access.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.location.id = device
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    checked(driver.cuMemSetAccess(address, nbytes, [access], 1))
    return address


def checked(result: Any) -> Any:
    """The value of a driver call's result tuple. Raises RuntimeError with the driver's name for the error."""
    if int(result[0]) != 0:
        raise RuntimeError(f"CUDA driver: {result[0].name}")
    return result[1] if len(result) > 1 else None


def keep_freed_memory() -> None:
    """Make the C library keep freed memory (mallopt(3)), if it is glibc, as PyTorch does on a GPU. Otherwise a call would wait for the
    kernel to map and clear its pages, in one process more often than in another."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)


def reset_persisting() -> None:
    """Clear the L2 cache's persisting lines (cuCtxResetPersistingL2Cache), which no flush evicts. A device without them refuses, and has
    nothing to clear."""
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        from cuda.bindings import driver

        driver.cuCtxResetPersistingL2Cache()


def keeps_cache() -> bool:
    """Whether a part of the L2 cache is reserved for persisting lines (CU_LIMIT_PERSISTING_L2_CACHE_SIZE): by default none is."""
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return False
    from cuda.bindings import driver

    status, nbytes = driver.cuCtxGetLimit(driver.CUlimit.CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
    return int(status) == 0 and int(nbytes) > 0


def memory_order(tensor: torch.Tensor) -> list[int] | None:
    """A tensor's dimensions from the widest stride to the narrowest, if its elements are dense in that order but not in their own."""
    if tensor.is_contiguous():
        return None
    strides = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda dimension: -strides[dimension])
    return order if tensor.permute(order).is_contiguous() else None


def is_written_out(tensor: torch.Tensor) -> bool:
    """Whether each element of a strided tensor has its own place in memory, which holds its value.

    It has none in an expanded tensor (a stride of zero), in overlapping windows, or in a lazy tensor of zeros. A lazy negation or
    conjugation is not in memory either. Slices and transposed tensors are written out.
    """
    if tensor.is_neg() or tensor.is_conj() or tensor._is_zerotensor():
        return False
    if tensor.is_contiguous():
        return True
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1:
            if stride <= reach:
                return False
            reach += (size - 1) * stride
    return True


class Densified(torch.Tensor):
    """The values of a sparse tensor, written out. PyTorch gives its copies the same class."""


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself, or all values of a sparse one."""
    if tensor.layout not in _SPARSE_LAYOUTS:
        return tensor
    values = tensor.to_dense()
    return values.as_subclass(Densified) if type(values) is torch.Tensor else values


def foreign_layout(tensor: torch.Tensor) -> str | None:
    """The layout of a tensor that has no dense values: nested, quantized, or of a library such as MKL-DNN; None for any other."""
    if tensor.is_nested or tensor.is_quantized:
        return "nested" if tensor.is_nested else "quantized"
    if tensor.layout in (torch.strided, *_SPARSE_LAYOUTS):
        return None
    return str(tensor.layout).removeprefix("torch.").strip("_")


def layout_of(tensor: torch.Tensor) -> str | None:
    """A foreign layout, UNWRITTEN, or SPARSE for the written-out values of a sparse tensor; None for a plain tensor."""
    if isinstance(tensor, Densified):
        return SPARSE
    return foreign_layout(tensor) or (None if is_written_out(tensor) else UNWRITTEN)


def written_out(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself if it is written out or can't be, otherwise a copy that is written out."""
    tensor = dense(tensor)
    if layout_of(tensor) != UNWRITTEN:
        return tensor
    if tensor._is_zerotensor():  # a copy of it would be another
        return torch.zeros(tensor.shape, dtype=tensor.dtype, device=tensor.device)
    return tensor.clone()


def share_memory(answers: Sequence[Sequence[torch.Tensor]]) -> bool:
    """Whether tensors of different outputs share memory."""
    seen: set[int] = set()
    for answer in answers:
        places = {place for tensor in answer if (place := storage_of(tensor))}
        if places & seen:
            return True
        seen |= places
    return False


def storage_of(tensor: torch.Tensor) -> int:
    """Address of a tensor's memory; 0 if it has none of its own."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):  # sparse tensors and subclasses without memory
        return 0


class Mappings:
    """All allocations from the judge, by the judge's number."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._mappings: dict[int, HostMapping | DeviceMapping] = {}

    def add(self, number: int, nbytes: int, descriptor: int) -> None:
        """Map one descriptor; the descriptor is closed."""
        if self._device.type == "cuda":
            self._mappings[number] = DeviceMapping(descriptor, nbytes, self._device.index or 0)
        else:
            self._mappings[number] = HostMapping(descriptor, nbytes)

    def remove(self, number: int) -> None:
        self._mappings.pop(number).close()

    def clear(self) -> None:
        """Unmap everything."""
        for number in list(self._mappings):
            self.remove(number)

    def tensor(self, view: dict[str, Any]) -> torch.Tensor:
        """The contiguous tensor that a view {allocation, offset, shape, dtype} describes."""
        dtype = named_dtype(view["dtype"])
        shape = [int(size) for size in view["shape"]]
        count = 1
        for size in shape:
            count *= size
        if count == 0:
            return torch.empty(shape, dtype=dtype, device=self._device)
        start = int(view["offset"])
        data = self._mappings[view["allocation"]].bytes[start : start + count * dtype.itemsize]
        return data.view(dtype).view(shape)
