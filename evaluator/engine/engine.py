"""The interface of an engine: it takes jobs, has them judged somewhere, and returns one result for each."""

from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import Protocol, Self

from evaluator.engine.run import Arrival
from evaluator.job import Job
from evaluator.results.result import Result

Progress = Callable[[Job, str], None]
"""Told of each stage that a job enters, from several threads."""


class EngineError(Exception):
    """An engine can't judge, or can't go on; the message says what to do."""


class Engine(Protocol):
    """Used as a context manager; leaving it ends whatever still runs, wherever it runs."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None: ...

    @property
    def sandbox_level(self) -> str:
        """The level that workers are confined at; where places differ in it, all of their levels."""
        ...

    @property
    def in_flight(self) -> list[Job]:
        """Jobs that were drawn and whose result has not been taken; after a run that was broken off, those that it leaves without one."""
        ...

    def start(self) -> None:
        """Have something that can judge, or raise what speaks against it."""
        ...

    def run(self, jobs: Iterator[Job], progress: Progress) -> Generator[tuple[Job, Result], None, None]:
        """Judge every job; yields each with its result as it comes, in no order. Jobs are drawn as they can be judged.

        Where it is broken off, no more are drawn, and what is being judged is brought to an end unheard.
        """
        ...

    def run_together(self, jobs: Iterator[Job], progress: Progress) -> Generator[Arrival, None, None]:
        """As `run`, but yields what has come since the last time together."""
        ...

    def close(self) -> None:
        """End all that was started."""
        ...
