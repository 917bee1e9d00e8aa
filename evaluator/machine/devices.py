"""Lists the machine's devices without importing torch: the command line needs them before anything heavy starts."""

import ctypes
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import UUID

_NAME_BYTES = 256
_BUS_ID_BYTES = 32
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76
"""CUdevice_attribute numbers of the compute capability (cuda.h)."""


class DeviceError(ValueError):
    """A requested device does not exist."""


@dataclass(frozen=True)
class Device:
    """A device that submissions can be judged on."""

    spec: str
    """cpu, cuda:0, …"""
    name: str
    """Name from the driver or kernel: NVIDIA H200, or the CPU's model."""
    unique_id: str
    """GPU- and a UUID in hexadecimal, or cpu; equal in every process of the machine, under any CUDA_VISIBLE_DEVICES."""
    capability: tuple[int, int] | None = None
    memory_bytes: int | None = None
    """Total memory of a GPU."""
    minor: int | None = None
    """Number in a GPU's node name, such as /dev/nvidia3; None if the driver does not report it."""

    @property
    def kind(self) -> Literal["cpu", "cuda"]:
        """Kind of the device."""
        return "cpu" if self.spec == "cpu" else "cuda"

    @property
    def torch_device(self) -> str:
        """PyTorch's name for it in a process that sees no other GPU, as judges and workers do."""
        return "cuda:0" if self.kind == "cuda" else "cpu"

    @property
    def visible(self) -> str:
        """CUDA_VISIBLE_DEVICES in such a process."""
        return self.unique_id if self.kind == "cuda" else ""


def cpu() -> Device:
    """The CPU."""
    return Device("cpu", cpu_name(), "cpu")


def gpus() -> list[Device]:
    """The NVIDIA GPUs that CUDA shows this process; none without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    return [_gpu(driver, index) for index in range(count.value)]


def _gpu(driver: ctypes.CDLL, index: int) -> Device:
    handle = ctypes.c_int()
    driver.cuDeviceGet(ctypes.byref(handle), index)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    driver.cuDeviceGetName(name, _NAME_BYTES, handle)
    uuid = (ctypes.c_ubyte * 16)()
    driver.cuDeviceGetUuid_v2(uuid, handle)
    capability = [ctypes.c_int(), ctypes.c_int()]
    for value, attribute in zip(capability, (_CAPABILITY_MAJOR, _CAPABILITY_MINOR), strict=True):
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle)
    memory_bytes = ctypes.c_size_t()
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory_bytes), handle)
    return Device(
        spec=f"cuda:{index}",
        name=name.value.decode(),
        unique_id=f"GPU-{UUID(bytes=bytes(uuid))}",
        capability=(capability[0].value, capability[1].value),
        memory_bytes=memory_bytes.value or None,
        minor=node_minor(_bus_id(driver, handle)),
    )


def _bus_id(driver: ctypes.CDLL, handle: ctypes.c_int) -> str:
    """The GPU's place on the PCI bus, such as 0000:65:00.0; empty if the driver fails to report it."""
    text = ctypes.create_string_buffer(_BUS_ID_BYTES)
    return text.value.decode() if driver.cuDeviceGetPCIBusId(text, _BUS_ID_BYTES, handle) == 0 else ""


def node_minor(bus_id: str, proc: Path = Path("/proc"), dev: Path = Path("/dev")) -> int | None:
    """The node number of the GPU at this place on the PCI bus; None if the driver does not report it, or the node does not exist."""
    try:
        text = (proc / "driver/nvidia/gpus" / bus_id.lower() / "information").read_text()
    except OSError:
        return None
    match = re.search(r"^Device Minor:\s*(\d+)\s*$", text, re.MULTILINE)
    return int(match[1]) if match and (dev / f"nvidia{match[1]}").exists() else None


def choose(wanted: str) -> tuple[Device, bool]:
    """The device for `auto`, `cuda`, `cuda:N` or `cpu`, and whether the CPU stands in for a missing GPU.

    Raises DeviceError.
    """
    if wanted == "cpu":
        return cpu(), False
    if not re.fullmatch(r"auto|cuda(:\d+)?", wanted):
        raise DeviceError(f"no device {wanted!r}; use auto, cuda, cuda:N or cpu")
    found = gpus()
    if wanted == "auto" and not found:
        return cpu(), True
    index = int(wanted.partition(":")[2] or 0)
    if index >= len(found):
        raise DeviceError(
            f"no device {wanted}: this machine shows {len(found)} GPU{'' if len(found) == 1 else 's'}; use --device cpu or auto"
        )
    return found[index], False


def choose_all(wanted: str) -> tuple[tuple[Device, ...], bool]:
    """Like `choose`, but `auto` and `cuda` are all GPUs of the same model as the first, so that one run judges on one model.

    Raises DeviceError.
    """
    first, stands_in = choose(wanted)
    if first.kind == "cpu" or wanted not in ("auto", "cuda"):
        return (first,), stands_in
    return tuple(device for device in gpus() if device.name == first.name), False


def cpu_name() -> str:
    """The CPU's model, or its architecture if the kernel does not name the model."""
    cpuinfo = Path("/proc/cpuinfo")
    match = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else None
    return match[1].strip() if match else platform.machine()


def cpu_count() -> int:
    """CPU cores (hardware threads) that this process may use."""
    return len(os.sched_getaffinity(0))
