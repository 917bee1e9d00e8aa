"""Judges for a caller in Python: the engine, the problems and, if requested, the database."""

import argparse
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from command.checks import check_options, check_protocol, problem_meant
from command.engine_choice import find_place
from command.exits import UsageError
from command.folders import usable_folders
from command.given import Given, Reader
from command.jobs import JobMaker
from command.options import level_of
from db.address import Address
from db.storage.record import Entry
from db.store import Store
from evaluator.engine.problem_loader import ProblemReader
from evaluator.engine.warm_parents import EarlyStart
from evaluator.problem.catalogue import discover
from evaluator.results.result import Result
from evaluator.submission.model import Submission

RUN = ("pipeline.judge",)
"""The command line that the database records for the run."""


class PythonRun:
    """Everything that is open while a `Judge` is open. Several threads may use it at once."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Starts the fork servers, which import PyTorch meanwhile. Raises the errors that `exits.expected` lists."""
        self._options = options
        check_options(options)
        self._known = discover(options.reference)
        self._keeping = threading.Lock()
        self._count = 0
        with contextlib.ExitStack() as stack:
            stack.enter_context(usable_folders())
            early = stack.enter_context(EarlyStart(options.device, level_of(options))) if options.engine == "local" else None
            place = find_place(options, early)
            check_protocol(options.protocol, place.devices[0])
            self._store = stack.enter_context(Store.open(options.db)) if options.db else None
            if self._store is not None:
                self._store.start_run(RUN)
            problems = stack.enter_context(ProblemReader(self._known, options.dtype, network=options.reference_network))
            self._engine = stack.enter_context(place.engine(self._store))
            self._maker = JobMaker(options, place.devices[0], problems)
            self._stack = stack.pop_all()
        written = [path for path in (Address.parse(options.db).path if options.db else None,) if path]
        self._reader = Reader(options.every_block, options.author, self._known, written)

    def close(self) -> None:
        """End all processes and the run."""
        self._stack.close()

    def read(self, given: Iterable[Given], problem: str | None) -> list[Submission]:
        """Return the submissions in `given`, in order. Raises UsageError, InputError."""
        named = problem or self._options.problem
        meant = problem_meant(named, self._known) if named else None
        return [submission for each in given for submission in self._reader.read(each, meant)]

    def judge(self, submissions: Sequence[Submission], on_result: Callable[[Result], None] | None) -> list[Result]:
        """Return one result per submission, in order. `on_result` is called with each as it comes. Raises the errors of the start.

        Raises UsageError if another thread closes this meanwhile.
        """
        results: dict[int, Result] = {}
        for number, result in self._arriving(submissions):
            results[number] = result
            if on_result is not None:
                on_result(result)
        if len(results) < len(submissions):
            raise UsageError("the Judge was closed while it judged")
        return [results[number] for number in range(len(submissions))]

    def _arriving(self, submissions: Sequence[Submission]) -> Iterator[tuple[int, Result]]:
        """Results with the numbers of their submissions. Those that need no judge come first."""
        self._expect(len(submissions))
        before = dict(self._judged_before(submissions))
        yield from before.items()
        due = {number: each for number, each in enumerate(submissions) if number not in before}
        unjudged = {number: result for number, each in due.items() if (result := self._maker.unjudged(each)) is not None}
        yield from self._kept([*unjudged.items()], submissions)
        jobs = {number: self._maker.job(each) for number, each in due.items() if number not in unjudged}
        if not jobs:
            return
        numbers = {id(job): number for number, job in jobs.items()}
        self._engine.start()
        with contextlib.closing(self._engine.run_together(iter(jobs.values()), lambda _job, _stage: None)) as arrivals:
            for arrival in arrivals:
                yield from self._kept([(numbers[id(job)], result) for job, result in arrival.take()], submissions)

    def _judged_before(self, submissions: Sequence[Submission]) -> Iterator[tuple[int, Result]]:
        """Results that are in the database already."""
        if self._store is None or self._options.rerun:
            return
        keys = [self._maker.key(submission) for submission in submissions]
        judged = self._store.judged_among(keys)
        self._store.skip([judged[key] for key in keys if key in judged])
        for number, key in enumerate(keys):
            stored = self._store.get(judged[key]) if key in judged else None
            if stored is not None:
                yield number, stored.result

    def _kept(self, found: Sequence[tuple[int, Result]], submissions: Sequence[Submission]) -> Sequence[tuple[int, Result]]:
        """Store the results, and return them."""
        if self._store is not None and found:
            self._store.save_all([self._entry(result, submissions[number]) for number, result in found])
        return found

    def _entry(self, result: Result, submission: Submission) -> Entry:
        return Entry.of(result, submission.code, submission.first_line, self._maker.source(result.problem))

    def _expect(self, more: int) -> None:
        if self._store is not None:
            with self._keeping:
                self._count += more
                self._store.expect(self._count)
