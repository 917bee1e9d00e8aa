"""Processes that are forked from the judges' warm parent, a fork server that belongs to Assay alone.

multiprocessing's own fork server does not fit. The caller may need it for processes of its own. And each of its processes imports the
caller's script, so that a script without `if __name__ == "__main__"` would run once more in every judge.
"""

import io
import os
from multiprocessing import forkserver, popen_forkserver, reduction, spawn, util
from multiprocessing.context import ForkServerContext, ForkServerProcess, set_spawning_popen
from multiprocessing.process import BaseProcess
from typing import Any

SERVER = forkserver.ForkServer()
_OF_THE_CALLER = ("init_main_from_name", "init_main_from_path", "sys_path")
"""What multiprocessing would have a process take over: the caller's script, and its search path, which may begin with a folder of
submissions. The server's own search path holds instead."""


class _Popen(popen_forkserver.Popen):
    """One process of SERVER."""

    _fds: list[int]
    """Descriptors that go to the process."""

    def _launch(self, process_obj: BaseProcess) -> None:
        # As in the class above, but for the server and for _OF_THE_CALLER.
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
        # As long as this end is open, the process knows that its parent lives.
        self.finalizer = util.Finalize(self, _close, (os.dup(pipe), self.sentinel))
        with open(pipe, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(content.getbuffer())
        self.pid = forkserver.read_signed(self.sentinel)


def _close(*descriptors: int) -> None:
    for each in descriptors:
        os.close(each)


class Forked(ForkServerProcess):
    """A process of SERVER."""

    @staticmethod
    def _Popen(process_obj: BaseProcess) -> _Popen:  # noqa: N802 - multiprocessing's name
        return _Popen(process_obj)


class JudgesContext(ForkServerContext):
    """multiprocessing's context for processes of SERVER."""

    Process = Forked


CONTEXT = JudgesContext()


def _start_anew() -> None:
    """In a fork of this process: the server is a child of the original, so that the fork needs one of its own."""
    descriptor: int | None = SERVER._forkserver_alive_fd  # type: ignore[attr-defined]
    if descriptor is not None:
        os.close(descriptor)  # else the server would outlive the original
    SERVER.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_start_anew)
