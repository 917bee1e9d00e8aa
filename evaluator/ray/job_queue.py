"""The jobs of one run, for hosts that may be lost: each is judged, judged again on another host, or given up after MAX_LOSSES."""

import logging
import threading
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from evaluator.engine.run import Run
from evaluator.job import Job, result_of
from evaluator.results.category import Category
from evaluator.results.evidence import Evidence
from evaluator.results.result import Result, now

MAX_LOSSES = 3
"""Hosts that may be lost while judging a submission, before the run gives it up."""
ALONE_AFTER = 2
"""After this many losses it is judged alone on its host, so that no other submission can cause the last loss."""

log = logging.getLogger(__name__)


class JudgingHost(Protocol):
    """The part of a host that this module uses."""

    @property
    def name(self) -> str: ...

    @property
    def closed(self) -> bool:
        """Whether it gets no more jobs: it is lost, or its machine is drained."""
        ...


@dataclass(frozen=True)
class Loss:
    """The loss of a host while it judged."""

    host: str
    at: datetime
    reason: str

    def __str__(self) -> str:
        return f"{self.host}, lost at {self.at:%Y-%m-%d %H:%M:%S} UTC: {self.reason}"


@dataclass
class QueuedJob:
    """One job, as the hosts see it."""

    number: int
    job: Job
    losses: list[Loss] = field(default_factory=list)
    failed_on: set[str] = field(default_factory=set)
    """Names of current hosts that could not judge it."""

    @property
    def alone(self) -> bool:
        return len(self.losses) >= ALONE_AFTER


class JobQueue:
    """The jobs of one run. Hosts' threads take from it until nothing is left, including jobs that others may put back."""

    def __init__(self, run: Run, device: str) -> None:
        """`device` is named in the results of jobs that were given up."""
        self.run, self._device = run, device
        self._changed = threading.Condition()
        self._back: list[QueuedJob] = []
        """Jobs that were taken once, and must be taken again."""
        self._out = 0
        """Number of jobs that are taken, and neither judged nor back."""
        self._drawn_out = False
        self._hosts: dict[str, JudgingHost] = {}

    @property
    def over(self) -> bool:
        """Whether no job is left."""
        with self._changed:
            return self.run.over or (self._drawn_out and not self._back and not self._out)

    def join(self, host: JudgingHost) -> None:
        """The host begins to take jobs."""
        with self._changed:
            self._hosts[host.name] = host
            self._changed.notify_all()

    def leave(self, host: JudgingHost) -> None:
        """The host takes no more jobs, or is lost."""
        with self._changed:
            self._hosts.pop(host.name, None)
            self._changed.notify_all()

    def take(self, host: JudgingHost) -> QueuedJob | None:
        """The next job for that host; None if the host is closed, or no more can come. Raises what the jobs' iterator raises."""
        while True:
            with self._changed:
                while self._drawn_out and not self._suiting(host) and (self._out or self._back) and not self.run.over and not host.closed:
                    self._changed.wait()
                if self.run.over or host.closed:
                    return None
                queued = self._suiting(host)
                if queued is None and self._drawn_out:
                    return None
                self._out += 1
                if queued is not None:
                    self._back.remove(queued)
                    return queued
            drawn = None
            try:
                drawn = self.run.draw()
            finally:
                if drawn is None:
                    with self._changed:
                        self._drawn_out = True
                        self._out -= 1
                        self._changed.notify_all()
            if drawn is not None:
                return QueuedJob(*drawn)

    def judged(self, queued: QueuedJob, host: JudgingHost, result: Result) -> None:
        """A host has judged the job. If its machine failed and there is another host, that one tries again."""
        with self._changed:
            others = self._hosts.keys() - {host.name} - queued.failed_on
        if result.category is Category.INFRASTRUCTURE_ERROR and others and not queued.failed_on:
            log.info("%s is judged again on another host: %s", queued.job.submission, result.message)
            queued.failed_on.add(host.name)
            self.put_back(queued)
        else:
            self._finish(queued, result)

    def lost(self, queued: QueuedJob, loss: Loss) -> None:
        """A host was lost while it judged the job."""
        queued.losses.append(loss)
        if len(queued.losses) < MAX_LOSSES:
            self.put_back(queued)
        else:
            self._finish(queued, given_up(queued, self._device))

    def put_back(self, queued: QueuedJob) -> None:
        """Let it be taken again."""
        with self._changed:
            self._back.append(queued)
            self._out -= 1
            self._changed.notify_all()

    def end(self) -> None:
        """Give out no more jobs."""
        self.run.end()
        self.wake()

    def wake(self) -> None:
        """Make threads that wait in `take` check again."""
        with self._changed:
            self._changed.notify_all()

    def _suiting(self, host: JudgingHost) -> QueuedJob | None:
        for queued in self._back:
            if host.name not in queued.failed_on or not self._hosts.keys() - queued.failed_on:
                return queued
        return None

    def _finish(self, queued: QueuedJob, result: Result) -> None:
        self.run.finish(queued.number, result)
        with self._changed:
            self._out -= 1
            self._changed.notify_all()


def given_up(queued: QueuedJob, device: str) -> Result:
    """The result of a submission whose host was lost each time; the losses are its evidence."""
    losses = [str(loss) for loss in queued.losses]
    return result_of(
        queued.job,
        Category.INFRASTRUCTURE_ERROR,
        f"{len(losses)} hosts were lost while judging it, so the run gave up: {'; '.join(losses)}",
        device=device,
        duration_s=(now() - queued.losses[0].at).total_seconds(),
        evidence=Evidence(detail="\n".join(losses)),
    )
