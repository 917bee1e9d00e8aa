"""Stores results and ends their requests in one transaction, or returns a request to be judged again."""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy.exc import SQLAlchemyError

from db.connection import is_outage
from db.error import StoreError
from db.queue.requests import Claim, LostClaimsError, Requests
from db.storage.record import Entry
from db.store import Store
from evaluator.job import Job
from evaluator.problem.problem import ProblemFacts
from evaluator.results.category import Category
from evaluator.results.result import Result
from web.service.judging.work import failed, stored_name
from web.service.metrics import Metrics
from web.service.progress import Progress

ATTEMPTS = 3
"""Maximum attempts of a request whose judging ends by the machine's fault or with its process."""
PAUSE_S = 5.0
"""Seconds before another attempt: of a request that failed by the machine's fault, a database, or an engine."""
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Work:
    """A claimed request that can be judged."""

    claim: Claim
    problem: ProblemFacts


class ResultWriter:
    """Writes the results of one service process."""

    def __init__(
        self, store: Store, requests: Requests, progress: Progress, metrics: Metrics, owner: str, stopping: threading.Event
    ) -> None:
        """owner: name under which requests are claimed. stopping: set when the service ends, so that nothing waits for the database."""
        self._store, self._requests, self._progress, self._metrics = store, requests, progress, metrics
        self._owner, self._stopping = owner, stopping
        self._work: dict[str, _Work] = {}

    def begun(self, submission: str, claim: Claim, problem: ProblemFacts) -> None:
        """The engine gets this submission's job; `take` gets its result."""
        self._work[submission] = _Work(claim, problem)

    def forget(self) -> None:
        """Forget begun work: the engine has failed, and sends no result for it."""
        self._work.clear()

    def take(self, found: Sequence[tuple[Job, Result]]) -> None:
        """Store results, or return requests that failed by the machine's fault to be judged again."""
        entries, again = [], []
        for job, result in found:
            work = self._work.pop(job.submission)
            if result.category is Category.INFRASTRUCTURE_ERROR and work.claim.attempts < ATTEMPTS:
                log.warning("%s is judged again: %s", job.submission, result.message)
                again.append(work.claim)
            else:
                entries.append((work.claim, Entry.of(result, job.code, job.first_line, work.problem.source)))
        if again:
            self.judge_again(again)
        self.store(entries)

    def store(self, entries: Sequence[tuple[Claim, Entry]]) -> None:
        """Store results and end their requests. Results of claims that are lost, such as cancelled ones, are dropped."""
        entries = [(claim, _named(entry, stored_name(claim))) for claim, entry in entries]
        while entries:
            try:
                numbers = self._store.save_all(
                    [entry for _, entry in entries], also=self._requests.settle(self._owner, [claim for claim, _ in entries])
                )
            except LostClaimsError as error:
                for claim, _ in entries:
                    if claim.id in error.ids:
                        self._progress.end(claim.public_id)
                entries = [pair for pair in entries if pair[0].id not in error.ids]
            except StoreError as error:
                entries = self._instead(entries, error)
            else:
                for (claim, entry), _ in zip(entries, numbers, strict=True):
                    self._metrics.judged(entry.result)
                    self._progress.end(claim.public_id)
                return

    def _instead(self, entries: Sequence[tuple[Claim, Entry]], error: StoreError) -> Sequence[tuple[Claim, Entry]]:
        """The entries to store after a failure. If a lease runs out meanwhile, another process judges the request."""
        log.error("%s", error)
        if isinstance(error.__cause__, SQLAlchemyError) and is_outage(error.__cause__):
            if self._stopping.is_set():
                return []
            self._stopping.wait(PAUSE_S)
            return entries
        if len(entries) > 1:
            # One of them is at fault: store the others.
            for pair in entries:
                self.store([pair])
            return []
        ((claim, entry),) = entries
        if entry.result.category is Category.INFRASTRUCTURE_ERROR:
            self.judge_again([claim])  # even a result without a verdict can't be stored now: perhaps later
            return []
        bare = failed(claim, entry.source, f"its result could not be stored: {error}")
        return [(claim, Entry.of(bare, entry.source, 1, None))]

    def judge_again(self, claims: Sequence[Claim]) -> None:
        """Give claims back, to be judged once more after a pause."""
        for claim in claims:
            self._progress.end(claim.public_id)
        try:
            self._requests.give_back(self._owner, claims, begun=True, pause_s=PAUSE_S)
        except StoreError as error:
            log.warning("the failed requests are claimed again when their leases have run out: %s", error)

    def fail(self, claim: Claim, source: str, why: str) -> None:
        """End a claim without a verdict, by the machine's fault."""
        self.store([(claim, Entry.of(failed(claim, source, why), source, 1, None))])


def _named(entry: Entry, name: str) -> Entry:
    return replace(entry, result=entry.result.model_copy(update={"submission": name}))
