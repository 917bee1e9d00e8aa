"""Chooses where a run's submissions are judged: on this machine or on a Ray cluster."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from command.checks import check_cores, check_headers, find_sanitizer, require_gpu_for_sanitizer
from command.exits import UsageError
from command.options import level_of

if TYPE_CHECKING:
    from db.store import Store
    from evaluator.engine.engine import Engine
    from evaluator.engine.warm_parents import EarlyStart
    from evaluator.machine.devices import Device
    from evaluator.ray.cluster import Choice


class MachineChoice(Protocol):
    """A place where submissions are judged."""

    @property
    def devices(self) -> "tuple[Device, ...]":
        """GPUs of one model, or only CPUs."""
        ...

    @property
    def stands_in(self) -> bool:
        """Whether CPUs replace missing GPUs."""
        ...

    @property
    def names(self) -> str:
        """Names of the devices, for display."""
        ...

    def engine(self, store: "Store | None") -> "Engine":
        """The engine that judges there. `store`, if given, has the calibrations of the devices."""
        ...


def find_place(options: argparse.Namespace, early: "EarlyStart | None") -> MachineChoice:
    """The place that the options name. Raises UsageError, DeviceError, SanitizerMissingError and EngineError."""
    return Cluster(options) if options.engine == "ray" else ThisMachine(options, early)


class ThisMachine:
    """Its GPUs of one model, or its CPU."""

    def __init__(self, options: argparse.Namespace, early: "EarlyStart | None") -> None:
        """Raises UsageError, DeviceError, SanitizerMissingError. `early`: the fork servers, if they have been started."""
        from evaluator.machine.devices import choose_all

        self._options, self._early = options, early
        self.devices, self.stands_in = choose_all(options.device)
        check_cores(options.cores, self.devices[0])
        self._headers = check_headers(options.headers)
        self._sanitizer = find_sanitizer(options.sanitize, self.devices[0]) if options.sanitize else None

    @property
    def names(self) -> str:
        """Implements `MachineChoice.names`."""
        return f"{', '.join(device.spec for device in self.devices)} ({self.devices[0].name})"

    def engine(self, store: "Store | None") -> "Engine":
        """Implements `MachineChoice.engine`."""
        from db.calibrations import newest
        from evaluator.engine.local import LocalEngine
        from evaluator.engine.options import of_this_machine

        calibrations = newest(store, [device.unique_id for device in self.devices]) if store else ()
        found = of_this_machine(self.devices, self.stands_in, self._options.jobs, level_of(self._options), calibrations)
        return LocalEngine(replace(found, sanitizer=self._sanitizer, cores=self._options.cores, headers=self._headers), self._early)


class Cluster:
    """A Ray cluster's devices of one model. This process joins the cluster; the engine leaves it."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Raises UsageError, DeviceError, and EngineError if the cluster can't run the request."""
        try:
            from evaluator.ray import cluster
        except ImportError as error:
            raise UsageError(f"--engine ray needs Ray ({error}): pip install -c constraints.txt -e '.[ray]'") from error

        self._options = options
        if options.headers:
            raise UsageError("--headers is for this machine: a cluster's nodes don't have its folders; omit --engine ray")
        cluster.join(options.ray_address)
        self._choice: Choice = cluster.choose(cluster.nodes(), options.device, options.device_kind)
        self.devices, self.stands_in = self._choice.devices, self._choice.stands_in
        if options.sanitize:
            require_gpu_for_sanitizer(self.devices[0])

    @property
    def names(self) -> str:
        """Implements `MachineChoice.names`."""
        count, machines = len(self.devices), len(self._choice.nodes)
        return f"{count} × {self.devices[0].name} on {machines} machine{'' if machines == 1 else 's'}"

    def engine(self, store: "Store | None") -> "Engine":
        """Implements `MachineChoice.engine`."""
        from db.calibrations import newest
        from evaluator.ray.engine import RayEngine
        from evaluator.ray.host import HostOptions

        host_options = HostOptions(
            device_name=self.devices[0].name,
            on_gpu=self.devices[0].kind == "cuda",
            stands_in=self.stands_in,
            software=self._choice.software,
            judges=self._options.jobs,
            level=level_of(self._options),
            calibrations=newest(store, [device.unique_id for device in self.devices]) if store else (),
            sanitize=self._options.sanitize,
        )
        return RayEngine(self._choice, host_options)
