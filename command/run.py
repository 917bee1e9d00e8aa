"""One run of the command line: submissions go to the engine, results to the database and to the output files."""

import argparse
import contextlib
import itertools
import shlex
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from command import exits
from evaluator.results.category import Status

if TYPE_CHECKING:
    from command.engine_choice import MachineChoice
    from command.outputs import Outputs
    from db.queries.runs import EvaluationSummary
    from db.store import Store
    from evaluator.engine.engine import Engine
    from evaluator.engine.problem_loader import ProblemReader
    from evaluator.job import Job
    from evaluator.results.result import Result
    from evaluator.submission.discover import Found
    from evaluator.submission.model import Submission


@dataclass
class Session:
    """One run of the command line."""

    options: argparse.Namespace
    store: "Store"
    outputs: "Outputs"
    place: "MachineChoice"
    problems: "ProblemReader"
    counts: Counter[str] = field(default_factory=Counter)
    """Number of submissions judged in this run, by status."""

    def __post_init__(self) -> None:
        from command.display import Display
        from command.interrupts import Interrupts
        from command.jobs import JobMaker
        from command.resume import Resume
        from command.time_use import TimeUse

        self.device = self.place.devices[0]
        self.display = Display(to_stderr=self.outputs.take_standard_output)
        self._time_use = TimeUse(self.place.devices)
        self._interrupts = Interrupts()
        self._maker = JobMaker(self.options, self.device, self.problems)
        self._resume = Resume(self.options, self.store, self._maker, self._skip)
        self._keeping = threading.Lock()
        """Reading threads store rejected submissions and skip judged ones, the main thread stores results."""

    def judge(self, submissions: "Found") -> int:
        """Judge all submissions that are not judged yet. Returns the exit code."""
        from command.checks import why_no_profile
        from evaluator.problem.catalogue import described

        if self.store.recovered:
            self.display.say(f"Imported {self.store.recovered} results that an earlier run could not store.")
        if self.options.from_file:
            self.display.say(self.options.from_file)
        for given in self.options.reference:
            self.display.say(f"--reference {given}: {described(given)}")
        if self.place.stands_in:
            self.display.say("No GPU here: C++ and interpreted Triton run on the CPU. CUDA is only compiled, if there is an nvcc.")
        if self.options.profile and self.options.engine == "local" and (reason := why_no_profile(self.device)):
            self.display.say(f"Nothing will be profiled: {reason}.")
        with self.place.engine(self.store) as engine, self._interrupts:
            try:
                interrupted = self._judge_with(engine, submissions)
            except KeyboardInterrupt:
                interrupted = True  # before anything was judged
            finally:
                with contextlib.suppress(KeyboardInterrupt), self._interrupts.held():
                    self.outputs.finish(self.store)
        if self._resume.kept_authors:
            self.display.say(self._resume.kept_authors)
        self.display.summary(self._resume.skipped, self.store.name, self._listed_by(), self._time_use.lines())
        if interrupted:
            self._resume.note()
            return exits.INTERRUPTED
        if failing := self._failing():
            self.display.say(f"--fail-on {self.options.fail_on}: {failing}")
            return exits.FAILED_ON
        return exits.SOME_NOT_EVALUATED if self.counts["not_evaluated"] else exits.ALL_EVALUATED

    def _judge_with(self, engine: "Engine", submissions: "Found") -> bool:
        """Judge with this engine, started when the first submission has to be judged. Return whether it was interrupted."""
        from command.read_ahead import emptied, longest_first, read_ahead

        head = longest_first(read_ahead(submissions), self.options.headers)
        # Check options first, so that their errors are raised before anything is judged or shown.
        for name in dict.fromkeys(submission.problem for submission in head if submission.problem):
            self._maker.check(name)
        with self.display.progress(submissions.expected):
            jobs = self._jobs(itertools.chain(emptied(head), submissions))
            first = next(jobs, None)
            return first is not None and self._run_engine(engine, itertools.chain([first], jobs))

    def _run_engine(self, engine: "Engine", jobs: Iterator["Job"]) -> bool:
        """Judge the jobs. Return whether the run was interrupted."""
        from evaluator.job import result_of
        from evaluator.results.category import Category

        self.display.say("Starting the judges …")
        try:
            engine.start()
            self.display.say(f"{self.place.names}, sandbox: {engine.sandbox_level}")
            with self._time_use.watched():
                for arrival in engine.run_together(jobs, self.display.stage):
                    # Once taken, jobs are not in flight any longer: the run must not end before their rows are stored.
                    with self._interrupts.held():
                        self._keep([(result, job.code, job.first_line) for job, result in arrival.take()])
        except KeyboardInterrupt:
            # A second Ctrl-C while judges end must not prevent the rows of jobs in flight.
            with contextlib.suppress(KeyboardInterrupt), self._interrupts.held():
                engine.close()
                self._keep(
                    [
                        (
                            engine.settled(job)
                            or result_of(job, Category.INTERRUPTED, "interrupted before it had a verdict", device=self.device.spec),
                            job.code,
                            job.first_line,
                        )
                        for job in engine.in_flight
                    ]
                )
            return True
        return False

    def _jobs(self, submissions: Iterable["Submission"]) -> Iterator["Job"]:
        """Yield the jobs to be judged. Rejected and already judged submissions are handled on the way."""
        from command.read_ahead import batches

        count = 0
        for batch in batches(submissions):
            count += len(batch)
            due = self._resume.due(batch)
            unfit = [(submission, result) for submission in due if (result := self._maker.unjudged(submission)) is not None]
            self.display.read(len(batch), due=len(due) - len(unfit))
            self._keep([(result, submission.code, submission.first_line) for submission, result in unfit])
            kept = {id(submission) for submission, _ in unfit}
            yield from (self._maker.job(submission) for submission in due if id(submission) not in kept)
        self.display.read_all()
        self.store.expect(count)
        self._resume.note()

    def _failing(self) -> str:
        """Counts of the failures that `--fail-on` finds, among those judged now or before. Empty if none."""
        allowed = {"incorrect": ("correct", "not_evaluated"), "any": ("correct",)}.get(self.options.fail_on, tuple(Status))
        counts = self.counts + self._resume.known
        return ", ".join(f"{count} {status}" for status, count in counts.most_common() if status not in allowed)

    def _listed_by(self) -> str:
        """Arguments of `assay list` that list this run's evaluations."""
        from db import DEFAULT_DATABASE
        from db.address import without_password

        database = [] if self.options.db == DEFAULT_DATABASE else ["--db", without_password(self.options.db)]
        return shlex.join(["--run", str(self.store.run_id), *database])

    def _skip(self, judged: Sequence[tuple[int, "Submission"]], found: "Sequence[EvaluationSummary]") -> None:
        """Show and output the evaluations of skipped submissions."""
        with self._keeping:
            self.display.skip(found)
            for number, submission in judged:
                if self.outputs.take_results and (stored := self.store.get(number)) is not None:
                    self.outputs.tell(number, stored.result, submission.code, submission.first_line)
                else:
                    self.outputs.known(number)

    def _keep(self, found: Sequence[tuple["Result", str, int]]) -> None:
        """Store results with their sources, in one transaction, then output each. The number is the first line of the source."""
        from db.storage.record import Entry

        entries = []
        for result, source, first_line in found:
            entries.append(Entry.of(result, source, first_line, self._maker.source(result.problem)))
        with self._keeping:
            for number, entry, (_, source, first_line) in zip(self.store.save_all(entries), entries, found, strict=True):
                self.counts[entry.result.status] += 1
                self._time_use.add(entry.result)
                self.outputs.tell(number, entry.result, source, first_line)
                self.display.result(number, entry.result)
