"""The command line's end of one host: requests a host from Ray, gives it jobs, and requests another if it is lost."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import RayActorError, RayError

from evaluator.engine.engine import Progress, Settle
from evaluator.job import Job, result_of
from evaluator.ray.host import HostFacts, Refusal, order_for
from evaluator.results.category import Category
from evaluator.results.result import Result

if TYPE_CHECKING:
    from ray.actor import ActorHandle

MAX_STARTS = 3
"""Hosts of one client that may be lost in a row before any of them could judge."""
_POLL_S = 0.5

log = logging.getLogger(__name__)


class HostLostError(Exception):
    """A host ended, or can't be reached any more."""

    def __init__(self, reason: str, blames: bool) -> None:
        """`blames`: whether its jobs may have caused the loss."""
        super().__init__(reason)
        self.blames = blames


class HostStartError(Exception):
    """No host can be started; the cause is the last one's error."""


class LiveHost:
    """A host that can judge."""

    def __init__(self, handle: "ActorHandle[Any]", facts: HostFacts) -> None:
        self.facts, self.lost, self.leaving = facts, False, False
        self._handle = handle
        self._changed = threading.Condition()
        self._judging, self._alone, self._waiting = 0, False, 0

    @property
    def name(self) -> str:
        """Unique in the run."""
        return f"{self.facts.label}, process {self.facts.pid}"

    @property
    def closed(self) -> bool:
        """Whether it gets no more jobs."""
        return self.lost or self.leaving

    def retire(self) -> None:
        """Take no more jobs, and end after the last current one."""
        with self._changed:
            self.leaving = True
            idle = not self._judging
            self._changed.notify_all()
        if idle:
            self.end()

    @contextlib.contextmanager
    def room(self, alone: bool) -> Iterator[None]:
        """Wait for room to judge beside others, or `alone` on the host, which has priority. Check `closed` afterwards."""
        with self._changed:
            self._waiting += alone
            self._changed.wait_for(lambda: self.closed or (not self._alone and not (self._judging if alone else self._waiting)))
            self._waiting -= alone
            self._judging += 1
            self._alone = alone
        try:
            yield
        finally:
            with self._changed:
                self._judging -= 1
                self._alone = False
                done = self.leaving and not self._judging
                self._changed.notify_all()
            if done:
                self.end()

    def judge(self, job: Job, progress: Progress, settle: Settle = lambda _: None) -> Result:
        """Raises HostLostError."""
        try:
            order = order_for(job)
        except OSError as error:
            reason = f"its problem's file can't be read: {error.strerror}"
            return result_of(job, Category.INFRASTRUCTURE_ERROR, reason, device=self.facts.device.spec)
        begun = False
        try:
            answers: Any = self._handle.judge.options(num_returns="streaming").remote(order)
            for answer in answers:
                kind, content = ray.get(answer)
                begun = True
                if kind == "result":
                    return Result.model_validate_json(content)
                if kind == "settled":
                    settle(Result.model_validate_json(content))
                else:
                    progress(job, content)
        except RayError as error:
            self.end()
            preempted = isinstance(error, RayActorError) and error.preempted
            raise HostLostError(_first_line(error), blames=begun and not preempted) from error
        self.end()
        raise HostLostError("it ended its answer without a result", blames=begun)

    def end(self) -> None:
        """Kill the process. Threads that wait for room in it learn that it is lost."""
        with self._changed:
            self.lost = True
            self._changed.notify_all()
        kill(self._handle)


class HostClient:
    """Has one host at a time, from the first request on."""

    def __init__(self, number: int, request: Callable[[], "ActorHandle[Any]"], refused: Callable[[Refusal], None]) -> None:
        """`request` requests a host from Ray; `refused` gets machines that should have no further one."""
        self.number, self._request, self._refused = number, request, refused
        self._lock = threading.Lock()
        self._handle: ActorHandle[Any] | None = None
        self._beginning: Any = None
        self._host: LiveHost | None = None
        self._starts = 0
        self.error: HostStartError | None = None

    @property
    def host(self) -> LiveHost | None:
        """Its host, if that can judge."""
        return self._host if self._host is not None and not self._host.closed else None

    def poll(self, timeout_s: float = 0.0) -> LiveHost | None:
        """The host, once it can judge; requests one if there is none. Raises HostStartError if none will come."""
        with self._lock:
            if self.error is not None:
                raise self.error
            if self.host is not None:
                return self.host
            if self._beginning is None:
                self._handle = self._request()
                self._beginning = self._handle.begin.remote()
            ready, _ = ray.wait([self._beginning], timeout=timeout_s)
            if ready:
                self._begun()
            return self.host

    def await_host(self, stop: Callable[[], bool]) -> LiveHost | None:
        """Like `poll`, but waits; None once `stop` returns true."""
        while not stop():
            if (host := self.poll(_POLL_S)) is not None:
                return host
        return None

    def close(self) -> None:
        """End the host, even while it starts."""
        if self._host is not None:
            self._host.end()
        if self._handle is not None:
            kill(self._handle)

    def _begun(self) -> None:
        handle, beginning, self._beginning = self._handle, self._beginning, None
        assert handle is not None
        self._handle = self._host = None
        try:
            answer: HostFacts | Refusal = ray.get(beginning)
        except RayError as error:
            kill(handle)
            self._starts += 1
            log.warning("a host could not be started: %s", _last_line(error))
            if not isinstance(error, RayActorError) or self._starts >= MAX_STARTS:
                self.error = HostStartError(_last_line(error))
                raise self.error from error
            return
        if isinstance(answer, Refusal):
            kill(handle)
            self._refused(answer)
        else:
            self._host, self._starts = LiveHost(handle, answer), 0


def kill(handle: "ActorHandle[Any]") -> None:
    """End an actor's process, if it still runs."""
    with contextlib.suppress(RayError, ValueError, RuntimeError):  # it is gone, or this process has left the cluster
        ray.kill(handle)


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:500]


def _last_line(error: Exception) -> str:
    """The last line of an error: it holds what a host raised."""
    return str(error).strip().split("\n")[-1][:500]
