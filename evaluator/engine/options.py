"""How an engine runs its judges; quick to import, before anything heavy starts."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluator.engine import capacity
from evaluator.engine.warm_parents import recorder_for
from evaluator.log import level_in_force
from evaluator.machine.cache_folder import default_root
from evaluator.machine.devices import Device
from evaluator.results.calibration import Calibration
from evaluator.sandbox import Level


@dataclass(frozen=True)
class EngineOptions:
    """Options for all evaluations of a run."""

    device: Device
    stands_in: bool
    """Whether the CPU stands in for a missing GPU."""
    judges: int
    """Judge processes, over all devices, which build and judge in parallel."""
    cache_root: Path
    level: Level | None = None
    """Sandbox level; None for the best that works here."""
    build_timeout_s: float = 300.0
    more_devices: tuple[Device, ...] = ()
    """Further devices of the same model; the judges are divided among all."""
    build_slots: int | None = None
    """Maximum number of compilers at once; None for as many as judges ask for."""
    slot_bytes: int = 1 << 30
    """Memory for a compiler with one slot."""
    calibrations: tuple[Calibration, ...] = ()
    """All known calibrations of the devices, newest first."""
    cores: tuple[int, ...] = ()
    """On a CPU: the cores that calls are timed on, which compilers avoid; empty for one thread of each core."""
    sanitizer: object | None = None
    """As in `JudgeContext`."""
    headers: tuple[Path, ...] = ()
    """Folders of C++ headers that submissions may include; absolute paths."""
    asks_elsewhere: bool = False
    """Whether judges ask the engine for builds that the cache lacks, before they build them here."""
    log_level: int = field(default_factory=level_in_force)
    """Level of the judges' log: by default, that of the process that makes these options."""

    @property
    def devices(self) -> tuple[Device, ...]:
        return (self.device, *self.more_devices)

    def of_judge(self, number: int) -> "EngineOptions":
        """The options of the judge with that number, from 0: it has only one device."""
        return replace(self, device=self.devices[number % len(self.devices)], more_devices=())


def of_this_machine(
    devices: Sequence[Device],
    stands_in: bool,
    judges: int | None,
    level: Level | None,
    calibrations: tuple[Calibration, ...],
) -> EngineOptions:
    """What an engine may use of the machine, with the user's own cache; judges: None for as many as fit."""
    fits = capacity.of_this_machine(devices, judges)
    return EngineOptions(
        device=devices[0],
        more_devices=tuple(devices[1:]),
        stands_in=stands_in,
        judges=fits.judges,
        cache_root=default_root(),
        level=level,
        build_slots=fits.build_slots,
        slot_bytes=fits.slot_bytes,
        calibrations=calibrations,
    )


def launch_recorder(options: EngineOptions) -> str | None:
    """Path of the library that records kernel launches, compiled on first use; None on the CPU. Raises NativeBuildError."""
    return recorder_for(options.device.kind, options.cache_root)
