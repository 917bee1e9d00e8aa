"""The judge's side of the sandbox's fork server (zygote): starts one, shares it between processes, has it run programs."""

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from evaluator.sandbox import log
from evaluator.sandbox.confined import Confined
from evaluator.sandbox.program import Level, Program, SandboxUnavailable
from evaluator.sandbox.view import PROJECT_ROOT

_START_WITHIN_S = 120.0
_END_WITHIN_S = 5.0
_TO_START = ("LANG", "TZ", "LD_LIBRARY_PATH")
"""Variables that an interpreter needs when it starts."""
_AFTERWARDS = ("PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
"""Variables that the fork server gets over its socket."""
_SET = {
    # One thread, so that forking is safe; and no CUDA call in the parent, after which CUDA would not start in its children.
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # OpenMP threads that busy-wait take cores from the other worker, whose turn it is.
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_START = (
    "import json, os, socket, sys; channel = socket.socket(fileno={descriptor}); sent = json.loads(channel.recv({bytes})); "
    "os.environ.update(sent.pop('environment')); sys.path[:0] = sent.pop('path'); "
    "from evaluator.sandbox.zygote import serve; serve(channel, **sent)"
)
"""The fork server's program. Each process that it forks shows its command line and first environment, so these hold no path of the project
or the user, except what the loader reads: the rest comes over the socket. Such a path is no secret, since a worker's modules name theirs;
what lies there is not in a worker's view. But what a worker sees should not depend on the place of a clone."""
_START_BYTES = 1 << 16


class Zygote:
    """A connection to a fork server. `start` makes one; copies with the same socket, in this process or another, use it too.

    Can be pickled by multiprocessing; closing such a copy ends the fork server only if it is the last.
    """

    def __init__(self, channel: socket.socket, level: Level) -> None:
        """Take over a socket to a fork server that was started elsewhere, at sandbox `level`."""
        self.socket = channel
        self.level = level
        self.threads: int | None = None
        """Threads of the fork server; more than one is a risk in every fork. None in a copy."""
        self.memory_limited_by: str | None = None
        """What enforces the memory limit: cgroup v2, cgroup v1 or watch. None in a copy."""
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()

    @classmethod
    def start(cls, modules: Iterable[str], level: Level | None, env: Mapping[str, str] | None = None) -> Self:
        """Start a fork server that imports `modules`, with `env` added to a small clean environment; returns when it is ready.

        `level` usually comes from `level_choice.best_level`, which is None if no level works here. A library for warm entries goes into
        `env` as LD_PRELOAD. Raises SandboxUnavailable if there is no level, or the start fails.
        """
        zygote = cls.launch(modules, level, env)
        zygote.await_ready()
        return zygote

    @classmethod
    def launch(cls, modules: Iterable[str], level: Level | None, env: Mapping[str, str] | None = None) -> Self:
        """Like `start`, but returns while it imports: call `await_ready` before anything but `close`."""
        if level is None:
            raise SandboxUnavailable("no sandbox level works on this machine; `python -m evaluator.sandbox check` says why")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = start_command(theirs.fileno())
        zygote = cls(ours, level)
        with theirs:
            ours.send(start_message(modules, level, without=env or ()))
            zygote._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=_environment(env or {}),
                cwd="/",
                start_new_session=True,
            )
        assert zygote._process.stderr is not None
        log.relay(zygote._process.stderr)
        return zygote

    def await_ready(self) -> None:
        """Wait until it has imported its modules. Raises SandboxUnavailable if that fails."""
        ready, _, _ = select.select([self.socket], [], [], _START_WITHIN_S)
        message = self.socket.recv(4096) if ready else b""
        answer: dict[str, Any] = json.loads(message) if message else {"error": "the sandbox's fork server did not start"}
        if "error" in answer:
            self.close()
            raise SandboxUnavailable(answer["error"])
        self.threads, self.memory_limited_by = answer["threads"], answer["memory_limited_by"]

    @property
    def pid(self) -> int | None:
        """Process id of the fork server; None in a copy."""
        return self._process.pid if self._process else None

    @property
    def alive(self) -> bool:
        """Whether the fork server still runs. Raises ValueError in a copy, which can't tell."""
        if self._process is None:
            raise ValueError("only the process that started the fork server can tell")
        hangup = select.poll()
        hangup.register(self.socket, 0)  # POLLHUP is always reported: a killed process closes its end before it can be waited for
        return self._process.poll() is None and not hangup.poll(0)

    def start_program(self, program: Program, fds: Mapping[str, int] | None = None) -> Confined:
        """Start `program`; returns at once, and `Confined.wait` raises later failures.

        `fds` become open descriptors in it, numbered from 3 in order; an entry gets the numbers by name. The caller's own stay open. Raises
        SandboxUnavailable if the fork server is gone.
        """
        fds = dict(fds or {})
        control, control_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        (stdout, stdout_end), (stderr, stderr_end) = os.pipe(), os.pipe()
        specification = os.memfd_create("assay-request")
        with control_end:
            os.write(specification, json.dumps({"program": program.to_json(), "names": list(fds)}).encode())
            confined = Confined(self.level, control, stdout, stderr, program.limits.output_bytes)
            try:
                sent = [specification, control_end.fileno(), stdout_end, stderr_end, *fds.values()]
                socket.send_fds(self.socket, [b"run"], sent)
            except (BrokenPipeError, ConnectionResetError) as error:
                raise SandboxUnavailable("the sandbox's fork server has ended") from error
            finally:
                for descriptor in (specification, stdout_end, stderr_end):
                    os.close(descriptor)
        return confined

    def close(self) -> None:
        """Close this copy. In the process that started it, this also ends the fork server and every program that still runs."""
        self.socket.close()
        if self._process is None or self._owner != os.getpid():
            return
        self._process.terminate()
        try:
            self._process.wait(_END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[Self], tuple[socket.socket, Level]]:
        return type(self), (self.socket, self.level)


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Only what Python and CUDA need to start: a program can read the memory that it inherits."""
    return {**_of_this_process(_TO_START), **_SET, "HOME": "/tmp", **extra}


def start_command(descriptor: int) -> list[str]:
    """The command of a fork server whose socket is `descriptor`; it waits for `start_message`."""
    return [sys.executable, "-P", "-c", _START.format(descriptor=descriptor, bytes=_START_BYTES)]


def start_message(modules: Iterable[str], level: Level, without: Iterable[str] = ()) -> bytes:
    """What a fork server reads first; `without` these variables. Raises SandboxUnavailable if it is too long."""
    search = dict.fromkeys([str(PROJECT_ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
    environment = _of_this_process(name for name in _AFTERWARDS if name not in without)
    message = json.dumps({"environment": environment, "path": list(search), "level": level, "modules": list(modules)}).encode()
    if len(message) > _START_BYTES:
        raise SandboxUnavailable(f"PATH and PYTHONPATH together are longer than {_START_BYTES >> 10} KiB")
    return message


def _of_this_process(names: Iterable[str]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}
