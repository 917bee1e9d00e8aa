"""A judge process: takes jobs from the engine over a pipe, one at a time, and replies with stages and a result."""

import logging
import os
import resource
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from evaluator.build.builder import Builder, Elsewhere
from evaluator.build.cache import Cache, Entry
from evaluator.build.processes.slots import Slots
from evaluator.build.request import BuildRequest
from evaluator.build.toolchain import Toolchain
from evaluator.engine.options import EngineOptions, launch_recorder
from evaluator.job import Job
from evaluator.judge.context import JudgeContext
from evaluator.judge.device.cpu_affinity import remaining, timing_cores
from evaluator.judge.device.environment import apply_settings, describe_environment
from evaluator.judge.evaluate import evaluate
from evaluator.log import send_to, waiting
from evaluator.machine.devices import cpu_count
from evaluator.sandbox import Level, Zygote

PRIVATE_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/proc", "/sys", "/etc", "/run", "/usr")
"""Places that a worker has to itself, wholly or in part; it has /usr anyway."""

log = logging.getLogger(__name__)


def serve(pipe: Connection, options: EngineOptions, zygote: Zygote) -> None:
    """Serve jobs until the engine closes the pipe. Sends ("stage", name) while a job runs, and ("build", (request, key)), whose reply it
    awaits. May send ("settled", JSON): a result that may gain a profile. Then sends ("result", JSON). Sends ("log", line) at any time."""
    sending = threading.Lock()

    def send(kind: str, content: Any) -> None:
        with sending:
            pipe.send((kind, content))

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine handles Ctrl-C
    _allow_descriptors()
    send_to(partial(send, "log"), options.log_level)
    torch.set_num_threads(cpu_count())
    apply_settings()
    os.environ["CUDA_VISIBLE_DEVICES"] = options.device.visible
    context = make_context(options, zygote, partial(_ask, send, pipe) if options.asks_elsewhere else None)
    send("ready", "")
    while True:
        try:
            job: Job = pipe.recv()
        except (EOFError, ConnectionError):
            return
        result = evaluate(context, job, partial(send, "stage"), lambda settled: send("settled", settled.model_dump_json()))
        send("result", result.model_dump_json())


def _ask(send: Callable[[str, Any], None], pipe: Connection, request: BuildRequest, key: str) -> Entry | None:
    send("build", (request, key))
    with waiting("a build on another machine"):
        answer: Entry | None = pipe.recv()
    return answer


def _allow_descriptors() -> None:
    """Each tensor that a worker maps is a descriptor here: many outputs in many sets exceed a process's default limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def make_context(options: EngineOptions, zygote: Zygote, elsewhere: Elsewhere | None = None) -> JudgeContext:
    """The context of one judge on this machine."""
    toolchain = Toolchain.find(options.device.capability, options.headers)
    slots = Slots(options.cache_root / "slots", options.build_slots, options.slot_bytes) if options.build_slots else None
    cores = (options.cores or timing_cores()) if options.device.kind == "cpu" else ()
    builder = Builder(
        Cache(options.cache_root),
        toolchain,
        None if zygote.level is Level.NONE else zygote,
        options.build_timeout_s,
        slots=slots,
        elsewhere=elsewhere,
        cores=remaining(options.cores),
    )
    environment = describe_environment(options.device, toolchain, max(len(cores), 1))
    identity = (options.device.unique_id, options.device.name, environment.gpu_driver, environment.torch)
    return JudgeContext(
        device=options.device,
        stands_in=options.stands_in,
        zygote=zygote,
        builder=builder,
        environment=environment,
        recorder=launch_recorder(options),
        readonly=module_folders(),
        cores=cores,
        calibration=next((each for each in options.calibrations if each.fits(*identity)), None),
        sanitizer=options.sanitizer,
    )


def module_folders() -> tuple[str, ...]:
    """Folders of importable packages that are neither Python's own nor the project's, as in PYTHONPATH.

    Left out is a folder that is, or contains, a place that workers must not see or have to themselves; they can't use loose modules there.
    """
    project = Path(__file__).resolve().parents[2]
    prefixes = (Path(sys.prefix), Path(sys.base_prefix))
    kept_back = (project, Path.cwd(), *(_real(place) for place in ("~", tempfile.gettempdir(), *PRIVATE_PLACES)))
    found = []
    for folder in dict.fromkeys(_real(entry) for entry in sys.path if entry and Path(entry).is_dir()):
        if any(folder.is_relative_to(prefix) for prefix in prefixes):
            continue
        if folder.is_relative_to(project) or any(place.is_relative_to(folder) for place in kept_back):
            log.debug("workers don't see %s, which is on the search path: it holds more than modules", folder)
            continue
        found.append(str(folder))
    return tuple(found)


def _real(path: str) -> Path:
    return Path(os.path.expanduser(path)).resolve()  # noqa: PTH111 - pathlib's raises for a user without a home
