"""The sandbox's data types: levels, the program to run, and how it ended."""

import signal
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

from evaluator.sandbox.limits import Limits


class Level(StrEnum):
    """Sandbox level, strongest first."""

    NAMESPACES = "namespaces"
    """Forked warm into its own mount, PID, IPC, network and UTS (as an ordinary user: also user) namespaces and its own root."""
    BUBBLEWRAP = "bubblewrap"
    """NAMESPACES' view of the machine, by bubblewrap with a cold start."""
    LANDLOCK = "landlock"
    """The host's namespaces; Landlock restricts files, and other processes are protected by user id or Landlock's scopes."""
    NONE = "none"
    """Only resource limits and an own session; used only if asked for by name."""


class SandboxUnavailable(RuntimeError):  # noqa: N818 - it names a state of the machine, and is part of the public interface
    """A sandbox level does not work here, or a program's confinement failed or was lost: never the program's own fault."""


def preloading(library: str, search: str | None) -> dict[str, str]:
    """The variables that have the loader preload a library, given LD_LIBRARY_PATH. Blanks separate names in LD_PRELOAD, so a library in a
    folder with a blank is searched for by name. Raises SandboxUnavailable for a path that the loader can't read at all."""
    if not set(library) & set(" :;"):
        return {"LD_PRELOAD": library}
    folder, _, name = library.rpartition("/")
    if set(folder) & set(":;"):
        raise SandboxUnavailable(f"the loader can't preload {library}: set ASSAY_CACHE to a folder without colon and semicolon in its path")
    return {"LD_PRELOAD": name, "LD_LIBRARY_PATH": f"{folder}:{search}" if search else folder}


@dataclass(frozen=True)
class Program:
    """A program to run and its view. Give either `entry` or `argv`."""

    entry: str | None = None
    """`module:function` of a module that the fork server imported; called as `function(fds)`, its int or None is the exit code."""
    argv: tuple[str, ...] = ()
    """A command, with its absolute path or found on the PATH of `env`."""
    env: dict[str, str] = field(default_factory=dict)
    """The whole environment, in addition to PATH, HOME, TMPDIR and LANG."""
    readonly: tuple[str, ...] = ()
    """Host paths visible read-only at the same path, besides the system's and Python's. If the fork server is root, the program is another
    user, so everybody must be able to read these files (not their parents)."""
    writable: tuple[str, ...] = ()
    """Host directories visible read-write at the same path; several programs may share one. If the fork server is root, they become
    writable for a group of the sandbox's own, and files that a program leaves there belong to its user id."""
    hidden: tuple[str, ...] = ()
    """Host paths to hide that the above would show."""
    gpu: bool = False
    """Whether it gets NVIDIA's device nodes."""
    gpu_minor: int | None = None
    """Number of the only GPU whose node it gets; None: it gets those of all."""
    limits: Limits = field(default_factory=Limits)
    lax: bool = False
    """At level `landlock`: whether its sockets may reach an address, and all of /proc be read, as a tool needs that talks to its own child.
    If a tool runs untrusted code, that code's process gives up both first (`evaluator.sandbox.levels.strict`)."""
    cores: tuple[int, ...] = ()
    """The cores that all its threads run on; a system call filter, if any, keeps it from changing them. Empty for the fork server's."""
    preload: str | None = None
    """A library in LD_PRELOAD for `argv` and for cold starts; a warm entry has the fork server's."""

    def __post_init__(self) -> None:
        if (self.entry is None) == (not self.argv):
            raise ValueError("give a program either an entry or a command")

    def to_json(self) -> dict[str, Any]:
        """The program as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The inverse of `to_json`."""
        sequences = {name: tuple(data[name]) for name in ("argv", "readonly", "writable", "hidden", "cores")}
        return cls(**{**data, **sequences, "limits": Limits(**data["limits"])})


@dataclass(frozen=True)
class Exit:
    """How a confined program ended."""

    code: int | None
    """Exit code; None where a signal ended it."""
    signal: str | None = None
    """Name of the signal that ended it, as in SIGSEGV."""
    memory_exceeded: bool = False
    """Whether it, or one of its processes, was killed for exceeding `Limits.memory_bytes`."""
    disk_exceeded: bool = False
    """Whether it was killed because its private directory exceeded `Limits.tmp_bytes`; if that is a file system, writing fails instead."""

    @classmethod
    def from_wait_status(cls, status: int, *, memory_exceeded: bool = False, disk_exceeded: bool = False) -> Self:
        """Converts the status from waitpid(2)."""
        number = status & 0x7F
        if not number:
            return cls(status >> 8 & 0xFF, None, memory_exceeded, disk_exceeded)
        known = {member.value: member.name for member in signal.Signals}
        return cls(None, known.get(number, f"SIG{number}"), memory_exceeded, disk_exceeded)
