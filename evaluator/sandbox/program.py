"""The vocabulary of the sandbox: levels, what is to be run, and how it ended."""

import signal
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

from evaluator.sandbox.limits import Limits


class Level(StrEnum):
    """How well a program is confined, strongest first."""

    NAMESPACES = "namespaces"
    """Forked warm into its own mount, PID, IPC, network and UTS (as an ordinary user: also user) namespaces and a root of its own."""
    BUBBLEWRAP = "bubblewrap"
    """The same view of the machine, built by bubblewrap around a cold start."""
    LANDLOCK = "landlock"
    """The host's namespaces; files by Landlock, other processes out of reach by user id or Landlock's scopes."""
    NONE = "none"
    """Resource limits and a session of its own, nothing else; only where it is asked for by name."""


class SandboxUnavailable(RuntimeError):  # noqa: N818 - it names a state of the machine, and is part of the public interface
    """A level that this machine does not give, or a program whose confinement failed or was lost: never the program's own fault."""


@dataclass(frozen=True)
class Program:
    """What to run and what it may see. Either `entry` or `argv` is given."""

    entry: str | None = None
    """`module:function` of a module that the zygote imported; called as `function(fds)`, its int or None is the exit code."""
    argv: tuple[str, ...] = ()
    """A command, with its absolute path or found on the PATH of `env`."""
    env: dict[str, str] = field(default_factory=dict)
    """The whole environment, on top of PATH, HOME, TMPDIR and LANG."""
    readonly: tuple[str, ...] = ()
    """Host paths visible read-only at the same path, besides the system's and Python's. When the zygote is root the program is another
    user, so what lies there must be readable by everybody (their parents need not be)."""
    writable: tuple[str, ...] = ()
    """Host directories visible read-write at the same path; several programs may share one. When the zygote is root they become writable
    for a group of the sandbox's own, and the files that a program leaves there belong to its user id."""
    hidden: tuple[str, ...] = ()
    """Host paths that are covered, where they would be visible by the above."""
    gpu: bool = False
    """Whether it gets NVIDIA's device nodes."""
    gpu_minor: int | None = None
    """Number of the only GPU whose node it gets; None: it gets those of all."""
    limits: Limits = field(default_factory=Limits)
    lax: bool = False
    """At level `landlock`: whether its sockets may reach an address, and all of /proc be read, as a tool needs that talks to its own child.
    A tool that runs untrusted code has that code's process give both up first (`evaluator.sandbox.levels.strict`)."""
    cores: tuple[int, ...] = ()
    """The cores that all its threads run on, which it can't change where there is a system call filter; empty for those of the zygote."""
    preload: str | None = None
    """A library in LD_PRELOAD for `argv` and for cold starts; a warm entry has what the zygote was started with."""

    def __post_init__(self) -> None:
        if (self.entry is None) == (not self.argv):
            raise ValueError("a program has an entry or a command, and not both")

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
    """Whether it was killed, or one of its processes was, for passing `Limits.memory_bytes`."""
    disk_exceeded: bool = False
    """Whether it was killed because its private directory passed `Limits.tmp_bytes`; where that is a file system, writing fails instead."""

    @classmethod
    def from_wait_status(cls, status: int, *, memory_exceeded: bool = False, disk_exceeded: bool = False) -> Self:
        """From the status that waitpid(2) gives."""
        number = status & 0x7F
        if not number:
            return cls(status >> 8 & 0xFF, None, memory_exceeded, disk_exceeded)
        known = {member.value: member.name for member in signal.Signals}
        return cls(None, known.get(number, f"SIG{number}"), memory_exceeded, disk_exceeded)
