"""How many judges and how many compilers a machine can carry."""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluator.machine.devices import Device, cpu_count
from evaluator.machine.memory import machine_bytes

JUDGE_BYTES = 3 << 30
"""Host memory for one judge with its worker: PyTorch, and on a GPU two CUDA contexts, take a third of it, inputs the rest."""
SLOT_BYTES = 1 << 30
"""Least memory for one compiler; a stock nvcc pass takes three such slots."""
CONTEXTS_SHARE = 0.125
"""Share of a GPU's memory for the contexts of judges and workers that wait for their turn there."""
CONTEXTS_BYTES = 3 << 29
"""Device memory of three CUDA contexts: a judge's, and those of its baseline's worker and of its spare worker."""
MAX_JUDGES_PER_GPU = 16
JUDGES_PER_FURTHER_GPU = 4
"""The driver starts five CUDA contexts a second, on any number of GPUs: with 52 judges on four of them, each waited 15 s for its own, and
timing waited for theirs."""
CORES_PER_GPU = 2
"""Judge and worker busy-wait for each other while they time, so compilers don't get their cores."""


@dataclass(frozen=True)
class Capacity:
    """What an engine may run at once."""

    judges: int
    """Judge processes, over all devices. More than there are devices: while one has the device, others start, load and build."""
    build_slots: int
    slot_bytes: int
    """Memory for a compiler with one slot."""


def capacity(devices: Sequence[Device], cores: int, memory_bytes: int, judges: int | None = None) -> Capacity:
    """What fits on `cores` and into `memory_bytes`; `judges`, if given, is used unchanged.

    Half of the memory is for compilers, half for judges.
    """
    gpus = sum(device.kind == "cuda" for device in devices)
    slots = max(1, cores // 2, cores - CORES_PER_GPU * gpus)
    slots = max(1, min(slots, memory_bytes // 2 // SLOT_BYTES))
    room = max(len(devices), memory_bytes // 2 // JUDGE_BYTES)
    # Enough for a build in each slot, while one judge has the GPU and one is next.
    wanted = sum(min(_contexts(device), -(-slots // gpus) + 2) for device in devices) if gpus else cores + 1
    wanted = min(wanted, MAX_JUDGES_PER_GPU + JUDGES_PER_FURTHER_GPU * (gpus - 1)) if gpus else wanted
    return Capacity(judges or max(1, min(wanted, room)), slots, memory_bytes // 2 // slots)


def _contexts(device: Device) -> int:
    """Number of judges that fit on one GPU; at least two, so that one can load while the other computes."""
    if device.memory_bytes is None:
        return MAX_JUDGES_PER_GPU
    return max(2, min(MAX_JUDGES_PER_GPU, int(device.memory_bytes * CONTEXTS_SHARE) // CONTEXTS_BYTES))


def of_this_machine(devices: Sequence[Device], judges: int | None = None) -> Capacity:
    """The capacity with the cores and the memory that this process may use."""
    return capacity(devices, cpu_count(), machine_bytes(), judges)
