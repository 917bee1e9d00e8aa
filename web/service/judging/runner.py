"""Claims waiting requests, and gives them to the engine as jobs.

One thread runs the engine, whose own threads draw jobs from `_jobs`. Another renews the leases of the claimed requests. `result_writer`
stores the results. Nothing here decides a verdict.
"""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError

from db.error import StoreError
from db.queue.requests import Claim, Requests
from db.storage.record import Entry
from db.store import Store
from evaluator.engine.local import LocalEngine
from evaluator.job import Job, make_job, rejected
from evaluator.problem.execute import ProblemError
from evaluator.problem.problem import ProblemFacts
from evaluator.sandbox import SandboxUnavailable
from web.service.judging.priority import start
from web.service.judging.reading import Reading, ReadingError, Text
from web.service.judging.result_writer import ATTEMPTS, PAUSE_S, ResultWriter
from web.service.judging.work import PREFIX, job_options, name_of
from web.service.metrics import Metrics
from web.service.models import Options
from web.service.problems import Inline, ServedProblems
from web.service.progress import Progress

IDLE_S = 1.0
"""Seconds between looks of an idle process for requests that other processes have accepted."""
log = logging.getLogger(__name__)


def _told(error: Exception) -> str:
    """The reason that `/healthz` gives. That call needs no token, so the text must hold no address and no path."""
    if isinstance(error, SandboxUnavailable):
        return f"The judges can't be started: {error}"
    return "The judges stopped; the service's log says why."


class Runner:
    """Judges for one service process, in its own threads, from `start` to `drain`."""

    def __init__(
        self,
        store: Store,
        engine: Callable[[], LocalEngine],
        problems: ServedProblems,
        progress: Progress,
        metrics: Metrics,
        owner: str,
        lease_s: float,
    ) -> None:
        """engine: makes an engine that is not started. owner: a name that no other process ever has."""
        self._requests, self._make_engine, self._problems = Requests(store), engine, problems
        self._progress, self._metrics, self._owner, self._lease_s = progress, metrics, owner, lease_s
        self._reading = Reading()
        self._wake, self._stopping, self._ended = threading.Event(), threading.Event(), threading.Event()
        self._ended.set()  # until it is started
        self._paused = threading.Event()
        self._writer = ResultWriter(store, self._requests, progress, metrics, owner, self._stopping)
        self._claiming = threading.Lock()
        """Held from before a request is claimed until it is registered as a job."""
        self._engine: LocalEngine | None = None
        self.trouble = "The judges are starting."
        """Why nothing is judged; empty if all is well."""
        self.failures = 0
        """Failures of the engine in a row."""
        self._threads = [
            threading.Thread(target=self._run, name="runner", daemon=True),
            threading.Thread(target=self._renew, name="leases", daemon=True),
        ]

    def start(self) -> None:
        """Begin to judge."""
        self._ended.clear()
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Tell the runner that a request waits."""
        self._wake.set()

    @property
    def idle(self) -> bool:
        """Whether nothing is under way, and nothing more will be claimed."""
        return self._ended.is_set()

    def pause(self, paused: bool) -> None:
        """Claim nothing more until told otherwise. Claimed work goes on, and the judges stay warm. Returns at once."""
        if paused:
            self._paused.set()
        else:
            self._paused.clear()
            self._wake.set()

    @property
    def under_way(self) -> int:
        """Number of requests claimed here. One that is just being claimed is waited for briefly, or counted."""
        known = self._claiming.acquire(timeout=IDLE_S)
        try:
            return max(len(self._progress.present()), 0 if known else 1)
        finally:
            if known:
                self._claiming.release()

    def drain(self) -> None:
        """Claim nothing more. Claimed work goes on. Returns at once."""
        self._stopping.set()
        self._wake.set()

    def close(self, within_s: float) -> None:
        """Drain, wait up to that many seconds, then end the judges and give back unfinished requests."""
        self.drain()
        self._ended.wait(within_s)
        if (engine := self._engine) is not None:
            engine.close()
        self._ended.wait(PAUSE_S)
        self._reading.close()
        try:
            self._requests.give_back(self._owner)
        except StoreError as error:
            log.warning("unfinished requests are claimed again when their leases have run out: %s", error)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                over = threading.Event()
                try:
                    with self._make_engine() as engine:
                        self._engine = engine
                        start(engine)
                        self._metrics.sandbox(engine.sandbox_level)
                        self.trouble = ""
                        for arrival in engine.run_together(self._jobs(over), self._at_stage):
                            self._writer.take(arrival.take())
                            self.failures = 0
                # After any error the thread logs it and starts again: waiting requests must not wait for ever.
                except Exception as error:
                    self.trouble, self.failures = _told(error), self.failures + 1
                    log.exception("the judges stopped")
                    over.set()
                    with self._claiming:  # a thread of that engine may be about to claim one more
                        self._abandon()
                    self._stopping.wait(PAUSE_S)
        finally:
            self._ended.set()

    def _abandon(self) -> None:
        """Give back all claimed requests after the engine has failed."""
        self._writer.forget()
        for public_id in self._progress.present():
            self._progress.end(public_id)  # so that their leases are not renewed, even if the next step fails
        try:
            self._requests.give_back(self._owner, begun=True, pause_s=PAUSE_S)
        except StoreError as error:
            log.warning("unfinished requests are claimed again when their leases have run out: %s", error)

    def _renew(self) -> None:
        while not self._ended.wait(self._lease_s / 3):
            try:
                self._requests.renew(self._owner, self._lease_s, self._progress.present())
            except StoreError as error:
                log.warning("leases could not be renewed: %s", error)

    def _jobs(self, over: threading.Event) -> Iterator[Job]:
        """Yield jobs as requests are claimed; waits while there is none. Ends with the service, or with the engine that asks."""
        while not (self._stopping.is_set() or over.is_set()):
            self._wake.clear()
            if self._paused.is_set():
                self._wake.wait(IDLE_S)
                continue
            try:
                claim, job = self._next(over)
            except StoreError as error:
                log.warning("nothing could be claimed: %s", error)
                self._stopping.wait(PAUSE_S)
                continue
            if claim is None:
                self._wake.wait(IDLE_S)
            if job is not None:
                yield job

    def _next(self, over: threading.Event) -> tuple[Claim | None, Job | None]:
        """Claim a request, if one waits: the claim, and its job if it needs judging. Raises StoreError."""
        with self._claiming:
            none = over.is_set() or self._paused.is_set()
            claims = [] if none else self._requests.claim(self._owner, 1, self._lease_s, self._progress.present())
            if not claims:
                return None, None
            (claim,) = claims
            self._progress.begin(claim.public_id)
            return claim, self._job(claim)

    def _job(self, claim: Claim) -> Job | None:
        """The job of a claim; None if it needs no judging, or can't be judged yet."""
        content: dict[str, Any] = json.loads(claim.body)
        response = "response" in content
        text: str = content["response" if response else "source"]
        if claim.attempts > ATTEMPTS:
            self._writer.fail(claim, text, f"judging was started {ATTEMPTS} times, and each time the service ended before the verdict")
            return None
        try:
            options = Options.model_validate(content.get("options", {}))
            submission = self._reading.read(Text(name_of(claim), text, response, claim.problem, claim.author, claim.sample_id))
            problem = self._facts(claim, options)
        except (ReadingError, ProblemError, StoreError, ValidationError) as error:
            if claim.attempts < ATTEMPTS:
                log.warning("%s: %s", name_of(claim), error)
                self._writer.judge_again([claim])
            else:
                self._writer.fail(claim, text, str(error))
            return None
        if submission.rejection is not None:
            self._writer.store([(claim, Entry.of(rejected(submission), submission.code, submission.first_line, None))])
            return None
        self._writer.begun(submission.name, claim, problem)
        return make_job(submission, problem, self._problems.case(problem, options), job_options(options))

    def _facts(self, claim: Claim, options: Options) -> ProblemFacts:
        """Raises ProblemError, StoreError."""
        if claim.reference_sha256 is None:
            return self._problems.facts(claim.problem, options.precision)
        inline = Inline(claim.reference_sha256, self._requests.reference(claim.reference_sha256))
        return self._problems.inline_facts(inline, options.precision, options.case)

    def _at_stage(self, job: Job, stage: str) -> None:
        self._progress.enter(job.submission.removeprefix(PREFIX), stage)
