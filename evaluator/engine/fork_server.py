"""Forks judge processes from the judges' fork server, which belongs to Assay alone.

multiprocessing's own fork server does not fit. The caller may need it for its own processes. And each of its processes imports the caller's
script, so a script without `if __name__ == "__main__"` would run again in every judge.
"""

import ctypes
import functools
import io
import os
import shutil
import signal
import tempfile
from multiprocessing import forkserver, popen_forkserver, process, reduction, spawn, util
from multiprocessing.context import ForkServerContext, ForkServerProcess, set_spawning_popen
from multiprocessing.process import BaseProcess
from typing import Any

from evaluator.machine.held_folder import PREFIX, SHORT_PLACE, make_held

PR_SET_PDEATHSIG = 1
LONGEST_SOCKET_BYTES = 107
"""Bytes of the path of a Unix socket on Linux."""


class _Server(forkserver.ForkServer):
    """Starts with any temporary folder: the path of multiprocessing's own socket there may be too long. After a kill, nothing would remove
    multiprocessing's own folder."""

    def ensure_running(self) -> None:
        """Start the server, unless it runs."""
        ours: dict[str, Any] = process.current_process()._config  # type: ignore[attr-defined]
        before: str | None = ours.get("tempdir")
        ours["tempdir"] = _own_folder(os.getpid())
        try:
            super().ensure_running()
        finally:
            ours["tempdir"] = before


@functools.cache
def _own_folder(_process: int) -> str:
    """A temporary folder of this process alone, for the server's socket."""
    socket = f"{tempfile.gettempdir()}/{PREFIX}server-01234567/listener-01234567"
    folder, _ = make_held("server", SHORT_PLACE if len(os.fsencode(socket)) > LONGEST_SOCKET_BYTES else None)
    util.Finalize(None, shutil.rmtree, (folder, True), exitpriority=-100)
    return str(folder)


SERVER = _Server()
_OF_THE_CALLER = ("init_main_from_name", "init_main_from_path", "sys_path")
"""What multiprocessing would pass on to a process: the caller's script, and its search path, which may begin with a folder of submissions.
The server's own search path is used instead."""


class _Popen(popen_forkserver.Popen):
    """One process of SERVER."""

    _fds: list[int]
    """Descriptors that the process receives."""

    def _launch(self, process_obj: BaseProcess) -> None:
        # As in the base class, but with SERVER and without _OF_THE_CALLER.
        told: dict[str, Any] = spawn.get_preparation_data(process_obj.name)
        for name in _OF_THE_CALLER:
            told.pop(name, None)
        content = io.BytesIO()
        set_spawning_popen(self)
        try:
            reduction.dump(told, content)
            reduction.dump(process_obj, content)
        finally:
            set_spawning_popen(None)
        self.sentinel, pipe = SERVER.connect_to_new_process(self._fds)
        # While this end is open, the process knows that its parent lives.
        self.finalizer = util.Finalize(self, _close, (os.dup(pipe), self.sentinel))
        with open(pipe, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(content.getbuffer())
        self.pid = forkserver.read_signed(self.sentinel)


def _close(*descriptors: int) -> None:
    for each in descriptors:
        os.close(each)


class Forked(ForkServerProcess):
    """A process of SERVER. It ends when the caller ends, for any reason: the server ends with the caller, and its processes with it."""

    _popen: _Popen | None

    def start(self) -> None:
        """As in the base class, but for daemonic callers too, such as a worker of `multiprocessing.Pool`.

        multiprocessing forbids these to have child processes, as nothing would end them.
        """
        self._check_closed()  # type: ignore[attr-defined]
        assert self._popen is None, "a process is started once"
        self._popen = self._Popen(self)
        self._sentinel = self._popen.sentinel
        del self._target, self._args, self._kwargs  # type: ignore[attr-defined]
        process._children.add(self)  # type: ignore[attr-defined]

    def run(self) -> None:
        """Runs in the new process."""
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # The server lives while any process holds this end of its pipe. multiprocessing gives each process one.
        os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
        forkserver._forkserver._forkserver_alive_fd = None  # type: ignore[attr-defined]
        super().run()

    @staticmethod
    def _Popen(process_obj: BaseProcess) -> _Popen:  # noqa: N802 - multiprocessing's name
        return _Popen(process_obj)


class JudgesContext(ForkServerContext):
    """multiprocessing's context for processes of SERVER."""

    Process = Forked


CONTEXT = JudgesContext()


def _start_anew() -> None:
    """In a fork of this process: the server is a child of the original, so the fork needs another one."""
    descriptor: int | None = SERVER._forkserver_alive_fd  # type: ignore[attr-defined]
    if descriptor is not None:
        os.close(descriptor)  # otherwise the server would outlive the original
    SERVER.__init__()  # type: ignore[misc]
    # At exit, multiprocessing would wait for processes that are not the fork's.
    process._children.difference_update([each for each in process._children if isinstance(each, Forked)])  # type: ignore[attr-defined]


os.register_at_fork(after_in_child=_start_anew)
