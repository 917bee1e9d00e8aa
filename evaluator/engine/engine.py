"""The interface of an engine, which takes jobs, judges them and returns one result for each."""

from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import Protocol, Self

from evaluator.engine.run import Arrival
from evaluator.job import Job
from evaluator.results.result import Result

Progress = Callable[[Job, str], None]
"""Called with each stage that a job enters, from several threads."""


Settle = Callable[[Result], None]
"""Called with a final result that may still gain a profile."""


class EngineError(Exception):
    """An engine can't judge, or can't continue; the message says how to fix it."""


class Engine(Protocol):
    """A context manager; leaving it ends everything that still runs, on any machine."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None: ...

    @property
    def sandbox_level(self) -> str:
        """The sandbox level of the workers; several if machines differ."""
        ...

    @property
    def in_flight(self) -> list[Job]:
        """Jobs that were taken and whose result has not been fetched; after an interrupted run, those without a result."""
        ...

    def settled(self, job: Job) -> Result | None:
        """The result of a job in flight that may still gain a profile; None if there is none."""
        ...

    def start(self) -> None:
        """Return when something can judge, or raise the reason why nothing can."""
        ...

    def run_together(self, jobs: Iterator[Job], progress: Progress) -> Generator[Arrival, None, None]:
        """Judge every job; yields the results that came since the last time together, in any order.

        Jobs are taken from `jobs` as they can be judged. Closing the generator stops that, and drops the results of jobs under way.
        """
        ...

    def close(self) -> None:
        """End everything that was started."""
        ...
