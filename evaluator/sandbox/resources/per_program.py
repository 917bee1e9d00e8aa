"""Resources that one program gets before it starts, and loses after its end: a user, control groups, directories."""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from evaluator.sandbox.program import Level, Program, SandboxUnavailable
from evaluator.sandbox.resources.cgroup import Group, Parents

_FIRST_USER, _USERS = 61000, 4000
WRITERS = 60999
"""Group of the writable directories, and of their programs: programs of different users may write to one directory."""


@dataclass
class ProgramResources:
    """The resources made for a program."""

    user: int | None
    """Host user to become; None to stay."""
    group: Group
    home: str = "/tmp"
    """Its private directory, as the program sees it."""

    @property
    def on_shared_disk(self) -> bool:
        """Whether the private directory is in the host's /tmp, where only the supervisor's looks limit its size."""
        return self.home != "/tmp"


@contextmanager
def claimed_user(level: Level) -> Iterator[int | None]:
    """As root, a host user id that no other running child of this machine has; an abstract socket's name claims it."""
    if os.getuid() != 0 or level is Level.NONE:
        yield None
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as claim:
        yield _claim_user(claim)


def _claim_user(claim: socket.socket) -> int:
    for index in range(_USERS):
        user = _FIRST_USER + (os.getpid() + index) % _USERS
        with suppress(OSError):
            claim.bind(f"\0assay-sandbox-user-{user}")
            return user
    raise SandboxUnavailable("all user ids of the sandbox are in use")


@contextmanager
def prepared(program: Program, level: Level, parents: Parents, user: int | None) -> Iterator[ProgramResources]:
    """Make the resources of `program`, and remove them afterwards; by then everything that it started must be dead."""
    resources = ProgramResources(user, Group.make(parents, f"assay-{os.getppid()}-{os.getpid()}", program.limits))
    try:
        if level in (Level.LANDLOCK, Level.NONE):
            resources.home = tempfile.mkdtemp(prefix=f"assay-{os.getppid()}-", dir="/tmp")
            if user is not None:
                os.chown(resources.home, user, user)
        for path in program.writable if user is not None else ():
            os.chown(path, -1, WRITERS)
            Path(path).chmod(Path(path).stat().st_mode | 0o070)
        yield resources
    finally:
        if resources.on_shared_disk:
            _remove_tree(resources.home)
        resources.group.remove()


def _remove_tree(path: str) -> None:
    """Remove a directory and all in it; the program that filled it is dead, but may have made directories inaccessible."""
    if os.getuid() != 0:
        for folder, names, _ in os.walk(path):
            for inner in (Path(folder, name) for name in names):
                if not inner.is_symlink():
                    inner.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)
