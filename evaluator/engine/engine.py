"""What an engine is: it takes jobs from whoever asks, has them judged somewhere, and gives back one result for each."""

from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import Protocol, Self

from evaluator.engine.run import Arrival
from evaluator.judge.context import Job
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence
from evaluator.results.result import Result, now

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


def unjudged(job: Job, category: Category, message: str, device: str, duration_s: float = 0.0) -> Result:
    """The result of a job that no judge answered."""
    return Result(
        submission=job.submission,
        block=job.block,
        author=job.author,
        sample_id=job.sample_id,
        problem=job.problem,
        case=job.case,
        precision=job.precision,
        device=device,
        status=category.status,
        category=category,
        message=message,
        source_sha256=job.source_sha256,
        started_at=now(),
        duration_s=duration_s,
        evidence=Evidence(),
    )
