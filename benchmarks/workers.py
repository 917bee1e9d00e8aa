"""How long a worker takes from the request to its first operation: forked from the warm parent, against a fresh interpreter.

    python -m benchmarks.workers [--repetitions N] [--device auto|cuda|cpu] [--json FILE]

Both are what judging starts: the same sandbox, the same worker, asked over its socket to load a submission. The submission's first
line of its own runs one operation on the device (the GPU where there is one, else the processor) and waits for it. `forked` comes from the
zygote, which has imported torch; `fresh` is a new interpreter in the same sandbox, which imports it there. They take turns, and
the first of each, which reads files from the disk, does not count.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from evaluator.build import Builder, Cache, Toolchain
from evaluator.build.cache import default_root
from evaluator.engine.judge_process import module_folders
from evaluator.engine.options import EngineOptions, launch_recorder
from evaluator.engine.warm_parents import WARM_ENVIRONMENT, WORKER_MODULE
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.workers.client import Recorded, WorkerClient
from evaluator.judge.workers.launcher import WORKER_ENTRY
from evaluator.machine import devices
from evaluator.machine.devices import Device
from evaluator.sandbox import Program, Zygote, best_level
from evaluator.sandbox.levels.child import FIRST_DESCRIPTOR
from evaluator.sandbox.view import PROJECT_ROOT

TARGET_S = 0.5
"""Meant for a forked worker on a GPU."""
DEADLINE_S = 120.0
SUBMISSION = """\
import torch

first = (torch.ones(1024, device={device!r}) + 1).sum().item()
if first != 2048:
    raise ValueError(first)


class ModelNew(torch.nn.Module):
    pass
"""
FRESH = """\
import sys
sys.path += {folders!r}
sys.path.append({root!r})
from evaluator.worker.server import main
sys.path.remove({root!r})
sys.exit(main({descriptors!r}))
"""
FRESH_READS = (str(PROJECT_ROOT / "evaluator" / "__init__.py"), str(PROJECT_ROOT / "evaluator" / "worker"))
"""What a fresh worker imports; the forked one has it in memory."""


@dataclass
class Way:
    """One way to start a worker, and how long it took each time."""

    name: str
    ready_s: list[float] = field(default_factory=list)
    """Until the worker answered that it is there."""
    first_s: list[float] = field(default_factory=list)
    """Until the first operation was done: the figure that counts."""


@dataclass(frozen=True)
class Starter:
    """Starts workers as a judge does."""

    device: Device
    zygote: Zygote
    builder: Builder
    recorder: str | None

    def forked(self) -> Program:
        """The program that judging starts."""
        return self._program(entry=WORKER_ENTRY)

    def fresh(self) -> Program:
        """The same worker, as a program that Python is started for."""
        names = ["channel", "launches"] if self.recorder else ["channel"]
        descriptors = {name: FIRST_DESCRIPTOR + index for index, name in enumerate(names)}
        code = FRESH.format(folders=list(module_folders()), root=str(PROJECT_ROOT), descriptors=descriptors)
        return self._program(argv=(sys.executable, "-c", code), visible=FRESH_READS)

    def _program(self, visible: Sequence[str] = (), **what: Any) -> Program:
        on_gpu = self.device.kind == "cuda"
        recorder = [self.recorder] if self.recorder else []
        environment = {"CUDA_VISIBLE_DEVICES": self.device.visible}
        if "argv" in what:
            environment |= {name: value for name, value in WARM_ENVIRONMENT.items() if name != "CUDA_VISIBLE_DEVICES"}
        readonly = (*module_folders(), *recorder, *visible)
        return Program(**what, env=environment, readonly=readonly, gpu=on_gpu, preload=self.recorder)

    def time(self, program: Program, way: Way) -> None:
        """Start a worker, wait for its first operation, end it, and add the figures to `way`. Raises WorkerError, SandboxUnavailable."""
        lock = DeviceLock(f"{self.device.unique_id}-start-{os.getpid()}")
        source = SUBMISSION.format(device=self.device.torch_device)
        start = time.perf_counter()
        record: Recorded | None = "launches" if self.recorder else None
        worker = WorkerClient.start(self.zygote, program, self.builder, lock, no_device=self.device.kind == "cpu", record=record)
        try:
            worker.request("ping", DEADLINE_S)
            way.ready_s.append(time.perf_counter() - start)
            worker.load(source, DEADLINE_S, **{"class": "ModelNew"}, device=self.device.torch_device, threads=1, constants={}, ablate=False)
            way.first_s.append(time.perf_counter() - start)
        finally:
            worker.close()
            lock.close()


@contextmanager
def launcher(device: Device) -> Iterator[Starter]:
    """With a warm parent like the engine's."""
    toolchain = Toolchain.find(device.capability)
    options = EngineOptions(device=device, stands_in=False, judges=1, cache_root=default_root())
    recorder = launch_recorder(options)
    environment = WARM_ENVIRONMENT | ({"LD_PRELOAD": recorder} if recorder else {})
    with Zygote.start(modules=(WORKER_MODULE,), level=best_level(), env=environment) as zygote:
        yield Starter(device, zygote, Builder(Cache(default_root()), toolchain, zygote), recorder)


def measure(starting: Starter, repetitions: int, tell: Callable[[Way], None]) -> tuple[Way, Way]:
    """Forked and fresh, in turns, after one of each that does not count."""
    ways = Way("forked"), Way("fresh")
    programs = starting.forked(), starting.fresh()
    for way, program in zip(ways, programs, strict=True):
        starting.time(program, Way(way.name))
    for number in range(repetitions):
        both = list(zip(ways, programs, strict=True))
        for way, program in both if number % 2 == 0 else reversed(both):
            starting.time(program, way)
            tell(way)
    return ways


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0; 1 where the target is missed on a GPU."""
    options = _parser().parse_args(arguments)
    console = Console(stderr=True)
    device, _ = devices.choose(options.device)
    with launcher(device) as starting:
        level = str(starting.zygote.level)
        ways = measure(starting, options.repetitions, lambda way: console.print(f"{way.name}: {way.first_s[-1]:.3f} s", highlight=False))
    forked, fresh = (statistics.median(way.first_s) for way in ways)
    report = {
        "device": device.name,
        "cores": devices.cpu_count(),
        "sandbox": level,
        "torch": Toolchain.find(device.capability).torch.version,
        "ratio": fresh / forked,
        "target_s": TARGET_S,
        "ways": [asdict(way) for way in ways],
    }
    Console(width=None if sys.stdout.isatty() else 120).print(_table(ways, f"From request to first operation on {device.name}, {level}"))
    print(f"forked is {fresh / forked:.1f} times faster" + (f"; target {TARGET_S} s" if device.kind == "cuda" else ""))
    if options.json:
        Path(options.json).write_text(json.dumps(report, indent=1), encoding="utf-8")
    return 1 if device.kind == "cuda" and forked >= TARGET_S else 0


def _table(ways: Sequence[Way], title: str) -> Table:
    table = Table(title=title)
    for column in ("worker", "until", "median s", "quartiles", "least", "most"):
        table.add_column(column, justify="left" if column in ("worker", "until") else "right")
    for way in ways:
        for until, values in (("it answers", way.ready_s), ("first operation", way.first_s)):
            lower, _, upper = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
            table.add_row(
                way.name,
                until,
                *(f"{statistics.median(values):.3f}", f"{lower:.3f} – {upper:.3f}", f"{min(values):.3f}", f"{max(values):.3f}"),
            )
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=10, metavar="N", help="of each way (default %(default)s)")
    parser.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto", help="default: %(default)s")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
