"""One run of an engine: jobs on their way to judges, and results on their way back."""

import itertools
import queue
import threading
from collections.abc import Iterator

from evaluator.judge.bench import Job
from evaluator.result import Result


class Run:
    """The jobs of one run, which several threads draw from, and their results."""

    def __init__(self, jobs: Iterator[Job], limit: int | None = None) -> None:
        """At most `limit` jobs are in flight: where results are fetched more slowly than judges bring them, judges wait."""
        self.over = False
        self._limit = limit
        self._jobs, self._drawing = jobs, threading.Lock()
        self._drawn: dict[int, Job] = {}
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._results: queue.SimpleQueue[tuple[int, Result] | BaseException | None] = queue.SimpleQueue()

    def in_flight(self) -> list[Job]:
        """Drawn, and not delivered."""
        with self._lock:
            return list(self._drawn.values())

    def draw(self) -> tuple[int, Job] | None:
        """The next job with its number; None where there is no more. May wait for as long as the iterator does, and for room."""
        with self._drawing:
            with self._room:
                self._room.wait_for(lambda: self.over or self._limit is None or len(self._drawn) < self._limit)
            job = None if self.over else next(self._jobs, None)
            with self._lock:
                if job is None or self.over:
                    return None
                number = next(self._numbers)
                self._drawn[number] = job
                return number, job

    def finish(self, number: int, result: Result) -> None:
        """Have a result delivered, or dropped where nobody waits for it."""
        with self._lock:
            if self.over:
                del self._drawn[number]
            else:
                self._results.put((number, result))

    def fail(self, error: BaseException | None) -> None:
        """Have an error raised; None: a thread has ended."""
        self._results.put(error)

    def delivered(self, threads: int) -> Iterator[tuple[Job, Result]]:
        """What so many threads come to."""
        while threads:
            item = self._results.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                threads -= 1
            else:
                number, result = item
                with self._room:
                    job = self._drawn.pop(number)
                    self._room.notify()
                yield job, result

    def end(self) -> None:
        """Draw no more."""
        with self._room:
            self.over = True
            self._room.notify_all()
