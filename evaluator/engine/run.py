"""One run of an engine: jobs on the way to judges, and results on the way back."""

import contextlib
import itertools
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from evaluator.job import Job
from evaluator.log import waiting
from evaluator.results.result import Result

IN_FLIGHT_PER_JUDGE = 4
"""Maximum average of jobs in flight per judge, including results that wait to be fetched."""
MAX_TOGETHER = 64
"""Maximum number of results per batch."""


class Run:
    """The jobs of one run, which several threads take, and their results."""

    def __init__(self, jobs: Iterator[Job], limit: int | None = None) -> None:
        """At most `limit` jobs are in flight: if results are fetched too slowly, judges wait."""
        self.over = False
        self._limit = limit
        self._jobs, self._drawing = jobs, threading.Lock()
        self._drawn: dict[int, Job] = {}
        self._settled: dict[int, Result] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._results: queue.SimpleQueue[tuple[int, Result] | BaseException | None] = queue.SimpleQueue()

    def in_flight(self) -> list[Job]:
        """Jobs that were taken but not delivered."""
        with self._lock:
            return list(self._drawn.values())

    def settle(self, number: int, result: Result) -> None:
        """Store a result that may still gain a profile."""
        with self._lock:
            self._settled[number] = result

    def settled(self, job: Job) -> Result | None:
        """The stored result of a job in flight; None if there is none."""
        with self._lock:
            return next((self._settled.get(number) for number, drawn in self._drawn.items() if drawn is job), None)

    def draw(self) -> tuple[int, Job] | None:
        """The next job and its number; None if there are no more. May wait for the iterator, or for room."""
        with self._drawing:
            with self._room, waiting("results to be stored"):
                self._room.wait_for(lambda: self.over or self._limit is None or len(self._drawn) < self._limit)
            job = None if self.over else next(self._jobs, None)
            with self._lock:
                if job is None or self.over:
                    return None
                number = next(self._numbers)
                self._drawn[number] = job
                return number, job

    def finish(self, number: int, result: Result) -> None:
        """Deliver a result, or drop it if the run is over."""
        with self._lock:
            if self.over:
                del self._drawn[number]
                self._settled.pop(number, None)
            else:
                self._results.put((number, result))

    def fail(self, error: BaseException | None) -> None:
        """Raise `error` in the run; None means that a thread has ended."""
        self._results.put(error)

    def arrivals(self, threads: int, most: int = MAX_TOGETHER) -> Iterator["Arrival"]:
        """The results of `threads` threads, in batches of those that are ready, at most `most`."""
        while threads:
            items = [self._results.get()]
            with contextlib.suppress(queue.Empty):
                while len(items) < most:
                    items.append(self._results.get_nowait())
            arrived: list[tuple[int, Result]] = []
            for item in items:
                if isinstance(item, BaseException):
                    if arrived:
                        yield Arrival(self, arrived)
                    raise item
                if item is None:
                    threads -= 1
                else:
                    arrived.append(item)
            if arrived:
                yield Arrival(self, arrived)

    def land(self, number: int) -> Job:
        """The job of that number, which is then no longer in flight."""
        with self._room:
            self._room.notify()
            self._settled.pop(number, None)
            return self._drawn.pop(number)

    def end(self) -> None:
        """Draw no more."""
        with self._room:
            self.over = True
            self._room.notify_all()


@dataclass(frozen=True)
class Arrival:
    """Results that have come; their jobs stay in flight until these are taken."""

    run: Run
    results: list[tuple[int, Result]]

    def take(self) -> list[tuple[Job, Result]]:
        """Each job with its result. From now on the caller keeps them."""
        return [(self.run.land(number), result) for number, result in self.results]
