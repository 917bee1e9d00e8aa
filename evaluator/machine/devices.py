"""Which devices the machine has, told without importing torch: the command line asks before anything heavy starts."""

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
    """A device was asked for that is not there."""


@dataclass(frozen=True)
class Device:
    """A device that submissions can be judged on."""

    spec: str
    """cpu, cuda:0, …"""
    name: str
    """As the driver or the kernel names it: NVIDIA H200, or the processor's model."""
    unique_id: str
    """The same for every process of the machine, whatever CUDA_VISIBLE_DEVICES says: GPU-8-4-4-4-12 hexadecimal digits, or cpu."""
    capability: tuple[int, int] | None = None
    memory_bytes: int | None = None
    """Of a GPU, all there is."""
    minor: int | None = None
    """Of a GPU, the number in the name of its node, as in /dev/nvidia3; None where the driver does not tell it."""

    @property
    def kind(self) -> Literal["cpu", "cuda"]:
        """What it is."""
        return "cpu" if self.spec == "cpu" else "cuda"

    @property
    def torch_device(self) -> str:
        """What PyTorch calls it in a process that is shown no other GPU, as judges and workers are."""
        return "cuda:0" if self.kind == "cuda" else "cpu"

    @property
    def visible(self) -> str:
        """What CUDA_VISIBLE_DEVICES has to be in such a process."""
        return self.unique_id if self.kind == "cuda" else ""


def cpu() -> Device:
    """The processor."""
    return Device("cpu", cpu_name(), "cpu")


def gpus() -> list[Device]:
    """The NVIDIA GPUs that CUDA shows this process; none where there is no driver."""
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
    """The GPU's place on the PCI bus, as in 0000:65:00.0; empty where the driver fails to say it."""
    text = ctypes.create_string_buffer(_BUS_ID_BYTES)
    return text.value.decode() if driver.cuDeviceGetPCIBusId(text, _BUS_ID_BYTES, handle) == 0 else ""


def node_minor(bus_id: str, proc: Path = Path("/proc"), dev: Path = Path("/dev")) -> int | None:
    """The number of the node of the GPU at this place on the PCI bus; None where the driver does not tell it, or the node is not there."""
    try:
        text = (proc / "driver/nvidia/gpus" / bus_id.lower() / "information").read_text()
    except OSError:
        return None
    match = re.search(r"^Device Minor:\s*(\d+)\s*$", text, re.MULTILINE)
    return int(match[1]) if match and (dev / f"nvidia{match[1]}").exists() else None


def choose(wanted: str) -> tuple[Device, bool]:
    """The device for `auto`, `cuda`, `cuda:N` or `cpu`, and whether the CPU stands in for a GPU that is not there.

    Raises DeviceError.
    """
    if wanted == "cpu":
        return cpu(), False
    if not re.fullmatch(r"auto|cuda(:\d+)?", wanted):
        raise DeviceError(f"no device {wanted!r}: auto, cuda, cuda:N or cpu")
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
    """As `choose`, but `auto` and `cuda` are all GPUs of the first one's model: verdicts of one run are then verdicts on one model.

    Raises DeviceError.
    """
    first, stands_in = choose(wanted)
    if first.kind == "cpu" or wanted not in ("auto", "cuda"):
        return (first,), stands_in
    return tuple(device for device in gpus() if device.name == first.name), False


def cpu_name() -> str:
    """The processor's model, or its architecture where the kernel does not name it."""
    cpuinfo = Path("/proc/cpuinfo")
    match = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else None
    return match[1].strip() if match else platform.machine()


def cpu_count() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))
