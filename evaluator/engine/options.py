"""How an engine runs its judges; light enough to be imported before anything heavy starts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluator.build.cache import default_root
from evaluator.engine import capacity
from evaluator.engine.warm_parents import recorder_for
from evaluator.machine.devices import Device
from evaluator.results.calibration import Calibration
from evaluator.sandbox import Level
from evaluator.sanitizer.tools import Sanitizer


@dataclass(frozen=True)
class EngineOptions:
    """The same for all evaluations of one run."""

    device: Device
    stands_in: bool
    """The CPU stands in for a GPU that is not there."""
    judges: int
    """Judge processes, over all devices, which build and judge side by side."""
    cache_root: Path
    level: Level | None = None
    """The sandbox's level; None for the best that the machine gives."""
    build_timeout_s: float = 300.0
    more_devices: tuple[Device, ...] = ()
    """Further devices of the same model; judges are shared out among all."""
    build_slots: int | None = None
    """Compilers that run at once; None for as many as judges ask for."""
    slot_bytes: int = 1 << 30
    """Memory that a compiler may use with one slot."""
    calibrations: tuple[Calibration, ...] = ()
    """All that is known of the devices, newest first."""
    cores: tuple[int, ...] = ()
    """Where the device is the processor: those that calls are timed on, and compilers are kept off; empty for one thread of each core."""
    sanitizer: Sanitizer | None = None
    """What submissions are to be sanitized with; None where that was not asked for."""

    headers: tuple[Path, ...] = ()
    """Folders of C++ headers that submissions may include from; whole paths."""
    asks_elsewhere: bool = False
    """Judges ask the engine for builds that the cache lacks, before they build them here."""

    @property
    def devices(self) -> tuple[Device, ...]:
        return (self.device, *self.more_devices)

    def of_judge(self, number: int) -> "EngineOptions":
        """What the judge of that number, from 0, needs to know: it has one device only."""
        return replace(self, device=self.devices[number % len(self.devices)], more_devices=())


def of_this_machine(
    devices: Sequence[Device],
    stands_in: bool,
    judges: int | None,
    level: Level | None,
    calibrations: tuple[Calibration, ...],
) -> EngineOptions:
    """What an engine may use of the machine, with the user's own cache; judges: None for as many as it carries."""
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
    """Path of the library that records kernel launches, compiled at its first use; None on the CPU. Raises NativeBuildError."""
    return recorder_for(options.device.kind, options.cache_root)
