"""Chooses the sandbox level: each is tried by running a program at it."""

import shutil
from dataclasses import dataclass
from functools import cache

from evaluator.sandbox.client import Zygote
from evaluator.sandbox.levels import landlock, seccomp
from evaluator.sandbox.program import Exit, Level, Program, SandboxUnavailable

_STRONGEST_FIRST = (Level.NAMESPACES, Level.BUBBLEWRAP, Level.LANDLOCK)
_TRIAL_WITHIN_S = 120.0
"""A busy machine may take long, and must not get a weaker level for that."""


@dataclass(frozen=True)
class LevelTrial:
    """Whether one level works here."""

    level: Level
    available: bool
    reason: str
    """Why it does not; empty if it does."""
    memory_limited_by: str = ""
    """cgroup v2, cgroup v1 or watch."""


@dataclass(frozen=True)
class LevelReport:
    """Results of all sandbox trials on this machine."""

    trials: tuple[LevelTrial, ...]
    """One for each level except NONE, strongest first."""
    landlock_abi: int
    seccomp: bool
    bubblewrap: str | None
    """Path of bwrap."""

    @property
    def best(self) -> Level | None:
        """The strongest level that works."""
        return next((trial.level for trial in self.trials if trial.available), None)


@cache
def try_level(level: Level) -> LevelTrial:
    """Run a program that does nothing at `level`; the result is kept while this process lives."""
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
    """The strongest level that works on this machine; None if there is none. Never NONE."""
    return next((level for level in _STRONGEST_FIRST if try_level(level).available), None)


def probe() -> LevelReport:
    """Try every level."""
    return LevelReport(tuple(try_level(level) for level in _STRONGEST_FIRST), landlock.abi(), seccomp.supported(), shutil.which("bwrap"))
