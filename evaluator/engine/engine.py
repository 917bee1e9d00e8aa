"""The interface of an engine: it takes jobs, has them judged somewhere, and returns one result for each."""

from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import Protocol, Self

from evaluator.engine.run import Arrival
from evaluator.job import Job
from evaluator.results.result import Result

Progress = Callable[[Job, str], None]
"""Told of each stage that a job enters, from several threads."""


Settle = Callable[[Result], None]
"""Told of a result that stands, and to which nothing but a profile is still to be added."""


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

    def settled(self, job: Job) -> Result | None:
        """The result of a job in flight that only a profile was still to be added to; None where there is none."""
        ...

    def start(self) -> None:
        """Have something that can judge, or raise what speaks against it."""
        ...

    def run_together(self, jobs: Iterator[Job], progress: Progress) -> Generator[Arrival, None, None]:
        """Judge every job; yields the results that have come since the last time together, in no order.

        Jobs are drawn as they can be judged. Where the generator is closed, no more are drawn, and results of those under way are dropped.
        """
        ...

    def close(self) -> None:
        """End all that was started."""
        ...
