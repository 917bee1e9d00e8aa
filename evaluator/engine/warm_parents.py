"""The two fork servers, which have imported PyTorch: one forks the judges, the sandbox's forks the workers.

Importing PyTorch is most of a run's start, so both start first. This module imports nothing heavy.
"""

import contextlib
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from evaluator.dsl import dsls
from evaluator.engine.fork_server import SERVER
from evaluator.machine.devices import DeviceError, choose_all
from evaluator.sandbox import Level, SandboxUnavailable, Zygote, best_level
from evaluator.sandbox.program import preloading

WORKER_MODULE = "evaluator.worker.server"
JUDGE_MODULE = "evaluator.engine.judge_process"
WARM_UP_MODULE = "evaluator.worker.vector_math"
PROJECT_ROOT = Path(__file__).parents[2]
RECORDER = Path(__file__).parents[1] / "worker" / "launch_recorder.c"
WARM_ENVIRONMENT = {
    # One thread in a parent that forks, and no CUDA context: a forked child can't use its parent's.
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    # No NVML, which importing PyTorch's extension module starts: its descriptors don't survive a fork. Children set their own.
    "CUDA_VISIBLE_DEVICES": "",
}

HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""For workers timed on a CPU: with small pages, a matrix product's speed differs between processes, by where its memory lies."""

log = logging.getLogger(__name__)
_STARTING = threading.Lock()
"""Held while the environment is that of the judges' fork server."""


def start_judges_parent() -> None:
    """Start the judges' fork server, unless it runs; returns at once, while it imports.

    Raises PluginError here, before all other processes load the faulty plug-in.
    """
    dsls()
    with _STARTING, _environment(WARM_ENVIRONMENT | _own_modules_first()):
        SERVER.set_forkserver_preload([WARM_UP_MODULE, JUDGE_MODULE])
        SERVER.ensure_running()


def _own_modules_first() -> dict[str, str]:
    """Variables that keep Python from importing modules of the working folder, which may hold submissions."""
    search = dict.fromkeys([str(PROJECT_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(search)}


def recorder_for(device_kind: str, cache_root: Path) -> str | None:
    """Path of the library that records kernel launches, compiled on first use; None on the CPU. Raises NativeBuildError."""
    if device_kind != "cuda":
        return None
    from evaluator.build.native import compile_native

    return str(compile_native(RECORDER, cache_root))


def launch_zygote(level: Level | None, recorder: str | None) -> Zygote:
    """Start the sandbox's fork server; returns while it imports. `level` None is the best. Raises SandboxUnavailable."""
    own = preloading(recorder, os.environ.get("LD_LIBRARY_PATH")) if recorder else HUGE_PAGES
    return Zygote.launch((WARM_UP_MODULE, WORKER_MODULE), level or best_level(), WARM_ENVIRONMENT | own)


class EarlyStart:
    """Starts both fork servers in the background before the command line is checked; if that fails, they end unused."""

    def __init__(self, device: str, level: Level | None) -> None:
        """`device` as on the command line."""
        self._device, self._level = device, level
        self._zygote: Zygote | None = None
        self._thread = threading.Thread(target=self._launch, name="early start", daemon=True)

    def __enter__(self) -> Self:
        start_judges_parent()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if (zygote := self.take()) is not None:
            zygote.close()

    def take(self) -> Zygote | None:
        """The sandbox's fork server, which now belongs to the caller and may still be importing; None if it can't be started, or was
        taken."""
        self._thread.join()
        taken, self._zygote = self._zygote, None
        return taken

    def _launch(self) -> None:
        try:
            devices, _ = choose_all(self._device)
            self._zygote = launch_zygote(self._level, _own_recorder() if devices[0].kind == "cuda" else None)
        # The start that the caller waits for raises the same error again.
        except (DeviceError, SandboxUnavailable, RuntimeError, OSError) as error:
            log.info("no early start: %s", error)


def _own_recorder() -> str | None:
    from evaluator.machine.cache_folder import default_root

    return recorder_for("cuda", default_root())


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Environment variables for processes that start inside the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
