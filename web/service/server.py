"""A service process from its start to its end."""

import argparse
import os
import secrets
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import FrameType

import uvicorn

from db.calibrations import newest
from db.queue.requests import Requests
from db.store import Store
from evaluator.engine.local import LocalEngine
from evaluator.engine.options import of_this_machine
from evaluator.machine.cache_folder import default_root
from evaluator.machine.devices import choose_all
from evaluator.problem.catalogue import discover
from web.service.http.app import create_app
from web.service.http.state import Bounds, Service
from web.service.judging.priority import yielding
from web.service.judging.runner import Runner
from web.service.metrics import Metrics
from web.service.options import level_of
from web.service.problems import ServedProblems
from web.service.progress import Progress

CLOSE_WITHIN_S = 5


def serve(options: argparse.Namespace, headers: tuple[Path, ...], store: Store, listener: socket.socket) -> None:
    """Serve until a signal ends it. `headers`: folders that submissions may include, checked. Raises DeviceError, ProblemError."""
    devices, stands_in = choose_all(options.device)
    problems = ServedProblems(discover(options.reference), default_root() / "references", devices[0])
    progress = Progress()
    bounds = Bounds(options.max_body << 20, options.queue, timeout_s=options.max_timeout)
    service = Service(store, problems, progress, Metrics(Requests(store)), None, bounds)

    def engine() -> LocalEngine:
        calibrations = newest(store, [device.unique_id for device in devices])
        found = of_this_machine(devices, stands_in, options.jobs, level_of(options), calibrations)
        return LocalEngine(replace(found, headers=headers))

    if not options.accept_only:
        owner = f"{socket.gethostname()[:40]}:{os.getpid()}:{secrets.token_hex(8)}"
        service.runner = Runner(store, engine, problems, progress, service.metrics, owner, options.lease)
        service.runner.start()
    threading.Thread(target=yielding, args=(problems.load_all,), name="problems", daemon=True).start()
    config = uvicorn.Config(
        create_app(service), log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=CLOSE_WITHIN_S
    )
    try:
        _Server(config, service, options.grace).run(sockets=[listener])
    finally:
        if service.runner is not None:
            service.runner.close(0.0)
        problems.close()


class _Server(uvicorn.Server):
    """At the first signal it accepts nothing new, and finishes claimed work while it still answers. At the second it ends."""

    def __init__(self, config: uvicorn.Config, service: Service, grace_s: float) -> None:
        super().__init__(config)
        self._service, self._grace_s = service, grace_s
        self._end_at: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called for SIGINT and SIGTERM."""
        if self._service.stopping:
            super().handle_exit(sig, frame)
            return
        self._service.stopping = True
        if self._service.runner is not None:
            self._service.runner.drain()

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; called ten times a second."""
        if self._service.stopping and self._is_finished():
            self._service.watch.close()
            return True
        return await super().on_tick(counter)

    def _is_finished(self) -> bool:
        """Whether all claimed work is finished, or the granted time is over."""
        now = time.monotonic()
        if self._end_at is None:
            self._end_at = now + self._grace_s
        runner = self._service.runner
        return runner is None or runner.idle or now >= self._end_at
