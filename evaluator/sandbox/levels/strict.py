"""The child of a `lax` program gives up that program's extra rights at level `landlock`, before it runs untrusted code.

Namespaces confine both by themselves; there is nothing to give up.
"""

from pathlib import Path

from evaluator.sandbox.levels import landlock, landlock_rules, seccomp
from evaluator.sandbox.program import Level, Program
from evaluator.sandbox.view import compose

_HOME = "/tmp"
"""Stands for the private directory, which is not known yet when the rules are made."""


def remaining(program: Program, level: Level, user: int = 0) -> list[landlock.Rule]:
    """The rights that the child of `program` keeps; empty if there are none to give up. Raises SandboxUnavailable."""
    if level is not Level.LANDLOCK:
        return []
    entries = compose(program, user)
    proc = {path for path, _ in landlock_rules.own_processes()}
    return [(path, access) for path, access in landlock_rules.for_view(entries, _HOME) if path not in (_HOME, *proc)]


def give_up(remains: list[landlock.Rule]) -> None:
    """Keep only `remains`, the working directory and this process's own part of /proc; sockets reach no address from now on.

    Holds for this thread and those that it starts. Raises OSError.
    """
    if not remains:
        return
    everything = landlock.READ | landlock.WRITE
    allowed = [*remains, (str(Path.cwd()), everything), *landlock_rules.own_processes()]
    landlock.restrict(everything | landlock.IOCTL_DEV, allowed)
    if seccomp.supported():
        seccomp.install(reaching_sockets=False, deadly=False)
