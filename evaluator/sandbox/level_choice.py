"""Where the level of confinement is chosen: each level is tried by running a program at it."""

import shutil
from dataclasses import dataclass
from functools import cache

from evaluator.sandbox.client import Zygote
from evaluator.sandbox.levels import landlock, seccomp
from evaluator.sandbox.program import Exit, Level, Program, SandboxUnavailable

_STRONGEST_FIRST = (Level.NAMESPACES, Level.BUBBLEWRAP, Level.LANDLOCK)
_TRIAL_WITHIN_S = 20.0


@dataclass(frozen=True)
class LevelTrial:
    """Whether one level can be had."""

    level: Level
    available: bool
    reason: str
    """Why not; empty where it can."""
    memory_limited_by: str = ""
    """cgroup v2, cgroup v1 or watch."""


@dataclass(frozen=True)
class LevelReport:
    """What of the sandbox this machine gives."""

    trials: tuple[LevelTrial, ...]
    """One for each level but NONE, strongest first."""
    landlock_abi: int
    seccomp: bool
    bubblewrap: str | None
    """Path of bwrap."""

    @property
    def best(self) -> Level | None:
        """The strongest level to be had."""
        return next((trial.level for trial in self.trials if trial.available), None)


@cache
def try_level(level: Level) -> LevelTrial:
    """Run a program that does nothing at `level`; the answer is kept for the life of this process."""
    reason, limited_by = "", ""
    try:
        with Zygote.start((), level) as zygote:
            limited_by = zygote.memory_limited_by or ""
            with zygote.start_program(Program(argv=("/bin/sh", "-c", "exit 42"))) as confined:
                ended = confined.wait(_TRIAL_WITHIN_S)
                if ended != Exit(42):
                    reason = f"a trial program ended as {ended}: {confined.output()[1].strip()}"
    except (SandboxUnavailable, OSError) as error:
        reason = str(error)
    return LevelTrial(level, not reason, reason, limited_by)


def best_level() -> Level | None:
    """The strongest level that this machine gives; None where there is none. Never NONE."""
    return next((level for level in _STRONGEST_FIRST if try_level(level).available), None)


def probe() -> LevelReport:
    """Try every level."""
    return LevelReport(tuple(try_level(level) for level in _STRONGEST_FIRST), landlock.abi(), seccomp.supported(), shutil.which("bwrap"))
