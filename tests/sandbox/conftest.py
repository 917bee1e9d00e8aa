"""One fork server per sandbox level; a level that this machine lacks is skipped with the probe's reason."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest

from evaluator.sandbox import Exit, Level, Limits, Program, Zygote, best_level
from evaluator.sandbox.level_choice import try_level

ENTRIES = "tests.sandbox.entries"
SYSTEM_ENTRIES = "tests.sandbox.system_entries"
CONFINED = (Level.NAMESPACES, Level.BUBBLEWRAP, Level.LANDLOCK)
BEST_SOON = [level if level is best_level() else pytest.param(level, marks=pytest.mark.slow) for level in CONFINED]
"""The quick tests have this machine's best level alone."""

Runner = Callable[..., tuple[Exit, Any]]
"""(entry, argument, program fields) → how it ended, and its answer: JSON where it parses, else text.

An entry is a function of ENTRIES, or is named with its module."""


@pytest.fixture(scope="session")
def zygotes() -> Iterator[Callable[[Level], Zygote]]:
    """The fork server of a level, started once for all tests; skips if the machine lacks the level."""
    with ExitStack() as stack:

        @cache
        def of_level(level: Level) -> Zygote:
            return stack.enter_context(Zygote.start((ENTRIES, SYSTEM_ENTRIES), level))

        def find(level: Level) -> Zygote:
            trial = try_level(level) if level is not Level.NONE else None
            if trial and not trial.available:
                pytest.skip(f"{level}: {trial.reason}")
            return of_level(level)

        yield find


@pytest.fixture(scope="session", params=[*BEST_SOON, Level.NONE])
def any_zygote(request: pytest.FixtureRequest, zygotes: Callable[[Level], Zygote]) -> Zygote:
    """Every level, NONE too."""
    return zygotes(request.param)


@pytest.fixture(scope="session", params=BEST_SOON)
def zygote(request: pytest.FixtureRequest, zygotes: Callable[[Level], Zygote]) -> Zygote:
    """Every level that confines."""
    return zygotes(request.param)


@pytest.fixture
def run(any_zygote: Zygote) -> Runner:
    return runner(any_zygote)


@pytest.fixture
def confined_run(zygote: Zygote) -> Runner:
    return runner(zygote)


def runner(zygote: Zygote) -> Runner:
    def run(entry: str, argument: object = None, *, limits: Limits | None = None, **fields: Any) -> tuple[Exit, Any]:
        env = {"ARG": json.dumps(argument), **fields.pop("env", {})}
        program = Program(entry=entry if ":" in entry else f"{ENTRIES}:{entry}", env=env, limits=limits or Limits(), **fields)
        with zygote.start_program(program) as confined:
            ended = confined.wait(300)
            stdout, stderr = confined.output()
            assert ended is not None, f"{entry} did not end: {stderr}"
        try:
            return ended, json.loads(stdout)
        except json.JSONDecodeError:
            return ended, stdout + stderr

    return run
