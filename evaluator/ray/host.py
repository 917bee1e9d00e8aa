"""A host: the process that judges on one device of the cluster. It is a Ray actor with a local engine, so sandbox, fork servers, device
lock and build cache work as they do without Ray."""

import asyncio
import logging
import os
import platform
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray

from evaluator.build.native import NativeBuildError
from evaluator.engine.capacity import capacity
from evaluator.engine.local import LocalEngine
from evaluator.engine.options import EngineOptions
from evaluator.job import Job
from evaluator.machine import devices
from evaluator.machine.cache_folder import default_root
from evaluator.machine.devices import Device, DeviceError, cpu_count
from evaluator.machine.memory import machine_bytes
from evaluator.problem.catalogue import SHIPPED
from evaluator.ray.builds import BuildsElsewhere
from evaluator.ray.node import Software, SoftwareError
from evaluator.results.calibration import Calibration
from evaluator.results.result import Result
from evaluator.sandbox import Level, SandboxUnavailable
from evaluator.sanitizer.tools import SanitizerMissingError, Wish, find

if TYPE_CHECKING:
    from ray.actor import ActorHandle

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HostOptions:
    """Options for all hosts of a run."""

    device_name: str
    on_gpu: bool
    stands_in: bool
    software: Software
    """What a machine must have."""
    judges: int | None = None
    """Judge processes of each host; None for as many as fit beside the machine's other hosts."""
    level: Level | None = None
    calibrations: tuple[Calibration, ...] = ()
    sanitize: Wish | None = None


@dataclass(frozen=True)
class HostFacts:
    """Facts about a host, once it can judge."""

    node: str
    label: str
    """Name of its machine, for people."""
    device: Device
    judges: int
    level: str
    pid: int


@dataclass(frozen=True)
class Refusal:
    """Why no host can judge on a machine, until it changes."""

    node: str
    label: str
    reason: str


@dataclass(frozen=True)
class Order:
    """A job, as it is sent to a host."""

    job: Job
    problem: bytes | None
    """The problem's file, which the host's machine may lack; None for a shipped one, which every machine has."""


class Host:
    """Starts with `begin`; then `judge` may be called by as many at once as it has judges."""

    def __init__(self, options: HostOptions, machine_gpus: int, artefacts: "ActorHandle[Any] | None") -> None:
        """`machine_gpus`: the number of hosts on a machine with GPUs. Without `artefacts`, this machine builds."""
        # Judges would import the main module, as multiprocessing's children do, and with it all of Ray.
        vars(sys.modules["__main__"]).pop("__file__", None)
        self._options, self._machine_gpus = options, machine_gpus
        self._elsewhere = BuildsElsewhere(artefacts) if artefacts is not None else None
        self._engine: LocalEngine | None = None

    async def begin(self) -> HostFacts | Refusal:
        """Start the fork servers."""
        node = ray.get_runtime_context().get_node_id()
        address: str = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
        label = f"{platform.node()} ({address}, node {node[:12]})"
        try:
            engine, device, judges = await self._begun()
        except (SoftwareError, DeviceError, SandboxUnavailable, NativeBuildError, SanitizerMissingError) as error:
            return Refusal(node, label, str(error))
        self._engine = engine
        return HostFacts(node, label, device, judges, engine.sandbox_level, os.getpid())

    async def _begun(self) -> tuple[LocalEngine, Device, int]:
        if (difference := Software.here().differs_from(self._options.software)) is not None:
            raise SoftwareError(f"its software differs: {difference}")
        device = _own_device(self._options)
        options = self._engine_options(device)
        engine = LocalEngine(options, elsewhere=self._elsewhere)
        self._threads = ThreadPoolExecutor(options.judges, "judging")
        await asyncio.get_running_loop().run_in_executor(self._threads, engine.start)
        return engine, device, options.judges

    async def judge(self, order: Order) -> AsyncIterator[tuple[str, str]]:
        """Yields ("stage", its name) as the job enters each, possibly ("settled", JSON): a result that may gain a profile. Finally yields
        ("result", JSON)."""
        assert self._engine is not None
        engine, job = self._engine, _placed(order)
        told: asyncio.Queue[tuple[str, str] | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def progress(_: Job, stage: str) -> None:
            loop.call_soon_threadsafe(told.put_nowait, ("stage", stage))

        def settle(result: Result) -> None:
            loop.call_soon_threadsafe(told.put_nowait, ("settled", result.model_dump_json()))

        judged = loop.run_in_executor(self._threads, engine.judge, job, progress, settle)
        judged.add_done_callback(lambda _: told.put_nowait(None))
        while (news := await told.get()) is not None:
            yield news
        yield "result", (await judged).model_dump_json()

    def _engine_options(self, device: Device) -> EngineOptions:
        shared_by = self._machine_gpus if self._options.on_gpu else 1
        fits = capacity([device] * shared_by, cpu_count(), machine_bytes())
        return EngineOptions(
            device=device,
            stands_in=self._options.stands_in,
            judges=self._options.judges or max(1, fits.judges // shared_by),
            cache_root=default_root(),
            level=self._options.level,
            build_slots=fits.build_slots,
            slot_bytes=fits.slot_bytes,
            calibrations=self._options.calibrations,
            sanitizer=find(self._options.sanitize) if self._options.sanitize else None,
        )


def _own_device(options: HostOptions) -> Device:
    """The device that Ray gave to this process. Raises DeviceError if its model is not the wanted one."""
    if not options.on_gpu:
        return devices.cpu()
    shown = devices.gpus()
    if len(shown) != 1:
        raise DeviceError(f"Ray has given one GPU to this process, and CUDA shows {len(shown)}")
    number = str(ray.get_gpu_ids()[0])
    device = replace(shown[0], spec=f"cuda:{number}") if number.isdigit() else shown[0]
    if device.name != options.device_name:
        raise DeviceError(f"Ray has given this process a {device.name}; this run needs {options.device_name}")
    return device


def _placed(order: Order) -> Job:
    """The job, with its problem's path on this machine."""
    job = order.job
    if order.problem is None:
        return replace(job, problem_path=SHIPPED / job.problem_path.name)
    folder = default_root() / "problems" / sha256(order.problem).hexdigest()
    path = folder / job.problem_path.name
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = folder / f".{os.getpid()}-{id(order)}"
        fresh.write_bytes(order.problem)
        fresh.rename(path)
    return replace(job, problem_path=path)


def order_for(job: Job) -> Order:
    """The order for a job. Raises OSError if the problem's file is gone."""
    shipped = job.problem_path.resolve().parent == SHIPPED
    return Order(job, None if shipped else Path(job.problem_path).read_bytes())
