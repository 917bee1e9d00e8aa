"""The local engine: a thin pool of judge processes on this machine, one job each at a time, results as they come.

Judges and workers are forked from two warm parents that have imported torch: multiprocessing's fork server for the judges, the sandbox's
zygote for the workers. There are more judges than devices: while one has the device, others start, load and wait for compilers. A lock
file keeps the device to one of them, and build slots keep the compilers to as many as the machine carries.
"""

import contextlib
import logging
import multiprocessing
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from types import TracebackType
from typing import Any, Self

from evaluator.build.builder import Elsewhere
from evaluator.engine.admission_limit import UNDER_WAY, Admitted, Turnstile
from evaluator.engine.engine import Progress
from evaluator.engine.options import EngineOptions, launch_recorder
from evaluator.engine.run import MAX_TOGETHER, Arrival, Run
from evaluator.engine.warm_parents import EarlyStart, launch_zygote, start_judges_parent
from evaluator.job import Job, result_of
from evaluator.judge.device.judging_processes import announce
from evaluator.machine.devices import Device
from evaluator.results.category import Category
from evaluator.results.result import Result
from evaluator.sandbox import Zygote

IN_FLIGHT_PER_JUDGE = 4
"""Jobs with one judge or with their result waiting to be fetched, on average, before no more are drawn."""
ATTEMPTS = 2
"""How often a job is tried where it is the machine that fails."""
log = logging.getLogger(__name__)


class JudgeLostError(Exception):
    """A judge process ended before it had answered."""


def _serve(pipe: Connection, options: EngineOptions, zygote: Zygote) -> None:
    """A judge process's main function; what it imports is there already, through the fork server."""
    from evaluator.engine.judge_process import serve

    serve(pipe, options, zygote)


class _Judge:
    """One judge process and the pipe to it."""

    def __init__(self, context: ForkServerContext, options: EngineOptions, zygote: Zygote) -> None:
        self.zygote, self.device = zygote, options.device
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, options, zygote), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def await_ready(self) -> None:
        """Wait until it can take a job. Raises JudgeLostError."""
        self._receive()

    def judge(self, job: Job, progress: Progress, elsewhere: Elsewhere | None) -> Result:
        """Raises JudgeLostError."""
        self._send(job)
        while True:
            kind, content = self._receive()
            if kind == "result":
                return Result.model_validate_json(content)
            if kind == "build":
                self._send(elsewhere(*content) if elsewhere else None)
            else:
                progress(job, content)

    def close(self) -> None:
        self._process.kill()
        self._process.join(5)
        self._pipe.close()

    def _send(self, what: Any) -> None:
        try:
            self._pipe.send(what)
        except OSError as error:
            raise JudgeLostError(str(error)) from error

    def _receive(self) -> tuple[str, Any]:
        try:
            message: tuple[str, Any] = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join(5)
            raise JudgeLostError(f"the judge process ended with exit code {self._process.exitcode}") from error
        return message


class LocalEngine:
    """Judges jobs on this machine. Use as a context manager; leaving it kills whatever still runs.

    Judges are kept from one `run` to the next. Runs may overlap; each has as many judges as the options say.
    """

    def __init__(self, options: EngineOptions, early: EarlyStart | None = None, elsewhere: Elsewhere | None = None) -> None:
        """`early`: where the warm parents have been started before, for the same device, cache and level. `elsewhere` is asked for builds
        that the cache lacks, from several threads."""
        self._options, self._early, self._elsewhere = replace(options, asks_elsewhere=elsewhere is not None), early, elsewhere
        self._context = multiprocessing.get_context("forkserver")
        self._judges: list[_Judge] = []
        self._idle: list[_Judge] = []
        """Those of them that no run has."""
        self._zygote: Zygote | None = None
        self._turnstile = self._make_turnstile(options.device)
        """Of all jobs that come one by one, which the first device's judges have."""
        self._lock = threading.Lock()
        self._closed = False
        self._runs: list[Run] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def sandbox_level(self) -> str:
        """The level that workers are confined at. Raises SandboxUnavailable where the machine gives none."""
        return self._live_zygote().level

    @property
    def in_flight(self) -> list[Job]:
        """Jobs that were drawn and whose result has not been yielded; after a run that was broken off, those that it leaves without one."""
        with self._lock:
            return [job for run in self._runs for job in run.in_flight()]

    def start(self) -> None:
        """Start the warm parents, unless they run. Several threads may ask for it at once. Raises SandboxUnavailable, NativeBuildError."""
        with contextlib.suppress(OSError):  # without it, neighbours on a GPU can't be told from strangers, and nothing worse
            announce()
        start_judges_parent()
        self._live_zygote()

    def run(self, jobs: Iterator[Job], progress: Progress) -> Generator[tuple[Job, Result], None, None]:
        """Judge every job; yields each with its result as it comes, in no order. Jobs are drawn as judges become free.

        Where it is broken off, no more are drawn, and what is being judged is brought to an end unheard.
        """
        for arrival in self._arrivals(jobs, progress, 1):
            yield from arrival.take()

    def run_together(self, jobs: Iterator[Job], progress: Progress) -> Generator[Arrival, None, None]:
        """As `run`, but yields what has come since the last time together."""
        yield from self._arrivals(jobs, progress, MAX_TOGETHER)

    def judge(self, job: Job, progress: Progress) -> Result:
        """Judge one job in the caller's thread, by an idle judge of the first device or a new one. How many judge at once is theirs to say.

        Raises SandboxUnavailable, and JudgeLostError where the engine is closed.
        """
        options = self._options.of_judge(0)
        with self._turnstile.admitted() as admitted:
            result = self._judge(job, _telling(progress, admitted), options)
        self._require_open()
        return result

    def _arrivals(self, jobs: Iterator[Job], progress: Progress, most: int) -> Generator[Arrival, None, None]:
        run = Run(jobs, IN_FLIGHT_PER_JUDGE * self._options.judges)
        with self._lock:
            self._runs = [*(each for each in self._runs if not each.over), run]
        # A run's own: who waits in it for a job to draw keeps nobody else's waiting.
        turnstiles = {device.unique_id: self._make_turnstile(device) for device in self._options.devices}
        threads = []
        for number in range(self._options.judges):
            options = self._options.of_judge(number)
            working = (run, progress, options, turnstiles[options.device.unique_id])
            threads.append(threading.Thread(target=self._work, args=working, name=f"judge-{number}", daemon=True))
        try:
            for thread in threads:
                thread.start()
            yield from run.arrivals(len(threads), most)
        finally:
            run.end()

    def close(self) -> None:
        """Kill the judges and, with the zygote, every worker."""
        with self._lock:
            self._closed = True
            for judge in self._judges:
                judge.close()
            self._judges, self._idle = [], []
            if self._zygote is not None:
                self._zygote.close()

    @staticmethod
    def _make_turnstile(device: Device) -> Turnstile:
        return Turnstile(UNDER_WAY if device.kind == "cuda" else None)

    def _work(self, run: Run, progress: Progress, options: EngineOptions, turnstile: Turnstile) -> None:
        try:
            while not self._closed:
                with turnstile.admitted() as admitted:
                    if self._closed or (drawn := run.draw()) is None:
                        return
                    number, job = drawn
                    result = self._judge(job, _telling(progress, admitted), options)
                if self._closed:
                    return
                run.finish(number, result)
        # Whatever broke this thread has to reach the caller: a missing result would hang it.
        except BaseException as error:  # noqa: BLE001
            run.fail(error)
        finally:
            run.fail(None)

    def _idle_judge(self, options: EngineOptions) -> _Judge | None:
        """The one that has rested for the shortest time: it has judged on that device before, others perhaps never."""
        with self._lock:
            judge = next((idle for idle in reversed(self._idle) if idle.device == options.device), None)
            if judge is not None:
                self._idle.remove(judge)
            return judge

    def _judge(self, job: Job, progress: Progress, options: EngineOptions) -> Result:
        """Judge one job, by an idle judge or a new one."""
        judge = self._idle_judge(options)
        try:
            result, judge = self._judge_by(judge, job, progress, options)
        finally:
            self._rest(judge)
        return result

    def _judge_by(self, judge: _Judge | None, job: Job, progress: Progress, options: EngineOptions) -> tuple[Result, _Judge | None]:
        """Judge one job, once more where the machine fails, by another judge: the failure may be this one's, as when its CUDA context is
        lost, and would then be that of every job to come. Returns the judge to go on with."""
        start = time.monotonic()
        result: Result | None = None
        for _ in range(ATTEMPTS):
            try:
                judge = self._live_judge(judge, options)
                result = judge.judge(job, progress, self._elsewhere)
            except JudgeLostError as error:
                log.log(logging.INFO if self._closed else logging.WARNING, "%s: %s", job.submission, error)
                took_s = time.monotonic() - start
                result = result_of(job, Category.INFRASTRUCTURE_ERROR, str(error), device=options.device.spec, duration_s=took_s)
            except BaseException:
                self._discard(judge)  # in the middle of a job, it is of no use for the next
                raise
            if result.category is not Category.INFRASTRUCTURE_ERROR:
                break
            self._discard(judge)
            judge = None
            if self._closed:
                break
        assert result is not None
        return result, judge

    def _live_judge(self, judge: _Judge | None, options: EngineOptions) -> _Judge:
        """`judge`, or a new one where it can't go on. Raises JudgeLostError."""
        zygote = self._live_zygote()
        if judge is not None and judge.zygote is zygote and judge.alive:
            return judge
        self._discard(judge)
        with self._lock:
            self._require_open()
            # Listed before it is ready, so that whoever closes the engine meanwhile closes it too.
            fresh = _Judge(self._context, options, zygote)
            self._judges.append(fresh)
        try:
            fresh.await_ready()
        except BaseException:
            self._discard(fresh)
            raise
        return fresh

    def _rest(self, judge: _Judge | None) -> None:
        """Keep a judge for the next run, if that may need it."""
        with self._lock:
            if judge in self._judges and len(self._idle) < self._options.judges:
                self._idle.append(judge)
                return
        self._discard(judge)

    def _discard(self, judge: _Judge | None) -> None:
        with self._lock:
            if judge not in self._judges:
                return
            self._judges.remove(judge)
        judge.close()

    def _live_zygote(self) -> Zygote:
        with self._lock:
            self._require_open()
            if self._zygote is None or not self._zygote.alive:
                if self._zygote is not None:
                    self._zygote.close()
                self._zygote = None
                fresh = (self._early and self._early.take()) or launch_zygote(self._options.level, launch_recorder(self._options))
                try:
                    fresh.await_ready()
                except BaseException:
                    fresh.close()
                    raise
                self._zygote = fresh
            return self._zygote

    def _require_open(self) -> None:
        if self._closed:
            raise JudgeLostError("the engine has been closed")


def _telling(progress: Progress, admitted: Admitted) -> Progress:
    """Progress that the turnstile hears of too."""

    def tell(job: Job, stage: str) -> None:
        admitted.enter(stage)
        progress(job, stage)

    return tell
