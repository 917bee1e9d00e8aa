"""The sandbox's fork server: imports modules once and forks a supervisor for every request. `client.py` starts it.

It is trusted, stays single threaded, never touches CUDA, and ends when the other end of its socket is closed everywhere; supervisors and
their programs end with it.
"""

import contextlib
import gc
import importlib
import json
import logging
import os
import signal
import socket
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from evaluator.sandbox import log
from evaluator.sandbox.program import Level, Program
from evaluator.sandbox.resources import cgroup
from evaluator.sandbox.supervisor import Request, supervise

_LOG = logging.getLogger(__name__)
_MESSAGE_BYTES = 64
_DESCRIPTORS = 64


def serve(channel: socket.socket, level: str, modules: Sequence[str]) -> None:
    """Import `modules`, then serve until the socket is closed."""
    log.write_lines()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the supervisors
    warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError as error:
        _tell(channel, error=f"{type(error).__name__}: {error}")
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    parents = cgroup.find_parents()
    cgroup.remove_stale(parents)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    _tell(channel, threads=sum(1 for _ in Path("/proc/self/task").iterdir()), memory_limited_by=_limiter(parents))
    with contextlib.suppress(ConnectionResetError):  # the process that asked ended before it could read that the fork server is ready
        while True:
            message, descriptors, _, _ = socket.recv_fds(channel, _MESSAGE_BYTES, _DESCRIPTORS)
            if not message and not descriptors:
                return
            _fork_supervisor(channel, descriptors, Level(level), parents)


def _tell(channel: socket.socket, **answer: Any) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the process that asked has ended meanwhile
        channel.send(json.dumps(answer).encode())


def _limiter(parents: cgroup.Parents) -> str:
    if parents.memory is None:
        return "watch"
    return "cgroup v2" if parents.memory_v2 else "cgroup v1"


def _fork_supervisor(channel: socket.socket, descriptors: list[int], level: Level, parents: cgroup.Parents) -> None:
    zygote = os.getpid()
    try:
        if not os.fork():
            _serve_one(channel, descriptors, level, parents, zygote)
    except OSError:
        _LOG.warning("a request is dropped: no process could be forked", exc_info=True)
    for descriptor in descriptors:
        os.close(descriptor)


def _serve_one(channel: socket.socket, descriptors: list[int], level: Level, parents: cgroup.Parents, zygote: int) -> NoReturn:
    try:
        channel.close()
        specification, control, stdout, stderr, *given = descriptors
        with os.fdopen(specification, encoding="utf-8") as file:
            file.seek(0)
            data = json.load(file)
        request = Request(Program.from_json(data["program"]), tuple(data["names"]), socket.socket(fileno=control), stdout, stderr, given)
        supervise(request, level, parents, zygote)
    finally:
        if sys.exc_info()[0] is not None:
            _LOG.error("a request could not be served", exc_info=True)
        os._exit(70)
