"""The local engine: a thin pool of judge processes on this machine, one job each at a time, results as they come.

Judges and workers are forked from two warm parents that have imported torch: multiprocessing's fork server for the judges, the sandbox's
zygote for the workers. While one judge waits for a compiler another has the device; a lock file keeps the device to one of them.
"""

import contextlib
import logging
import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from types import TracebackType
from typing import Self

from evaluator.category import Category
from evaluator.engine.options import EngineOptions, launch_recorder
from evaluator.judge.bench import Job
from evaluator.result import Evidence, Result, now
from evaluator.sandbox import Zygote

ATTEMPTS = 2
"""How often a job is tried where it is the machine that fails."""
WORKER_MODULE = "evaluator.worker.main"
WARM_ENVIRONMENT = {
    # One thread in a parent that forks, and no CUDA context: a forked child can't use its parent's.
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    # Nor NVML, which importing PyTorch's extension module starts, and whose descriptors don't outlive a fork. Children set their own.
    "CUDA_VISIBLE_DEVICES": "",
}

log = logging.getLogger(__name__)

Progress = Callable[[Job, str], None]
"""Told of each stage that a job enters, from several threads."""


class JudgeLostError(Exception):
    """A judge process ended before it had answered."""


def _serve(pipe: Connection, options: EngineOptions, zygote: Zygote) -> None:
    """A judge process's main function; what it imports is there already, through the fork server."""
    from evaluator.engine.judge_process import serve

    serve(pipe, options, zygote)


class _Judge:
    """One judge process and the pipe to it."""

    def __init__(self, context: ForkServerContext, options: EngineOptions, zygote: Zygote) -> None:
        self.zygote = zygote
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, options, zygote), daemon=True)
        self._process.start()
        theirs.close()
        self._receive()

    def judge(self, job: Job, progress: Progress) -> Result:
        """Raises JudgeLostError."""
        try:
            self._pipe.send(job)
        except OSError as error:
            raise JudgeLostError(str(error)) from error
        while True:
            kind, content = self._receive()
            if kind == "result":
                return Result.model_validate_json(content)
            progress(job, content)

    def close(self) -> None:
        self._process.kill()
        self._process.join(5)
        self._pipe.close()

    def _receive(self) -> tuple[str, str]:
        try:
            message: tuple[str, str] = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join(5)
            raise JudgeLostError(f"the judge process ended with exit code {self._process.exitcode}") from error
        return message


class LocalEngine:
    """Judges jobs on this machine. Use as a context manager; leaving it kills whatever still runs."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._context = multiprocessing.get_context("forkserver")
        self._judges: list[_Judge] = []
        self._zygote: Zygote | None = None
        self._lock = threading.Lock()
        self._closed = False
        self.in_flight: dict[str, Job] = {}
        """Jobs that a judge has, by thread; what is here when a run is interrupted has no result yet."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def sandbox_level(self) -> str:
        """The level that workers are confined at. Raises SandboxUnavailable where the machine gives none."""
        return self._live_zygote().level

    def start(self) -> None:
        """Start the warm parents. Raises SandboxUnavailable, NativeBuildError."""
        with _environment(WARM_ENVIRONMENT):
            self._context.set_forkserver_preload(["evaluator.engine.judge_process"])
            forkserver.ensure_running()
            self._live_zygote()

    def run(self, jobs: Iterator[Job], progress: Progress) -> Iterator[tuple[Job, Result]]:
        """Judge every job; yields each with its result as it comes, in no order. Jobs are drawn as judges become free."""
        results: queue.SimpleQueue[tuple[Job, Result] | BaseException | None] = queue.SimpleQueue()
        source = _Shared(jobs)
        threads = [
            threading.Thread(target=self._work, args=(source, progress, results), name=f"judge-{number}", daemon=True)
            for number in range(self._options.judges)
        ]
        for thread in threads:
            thread.start()
        running = len(threads)
        while running:
            item = results.get()
            if isinstance(item, BaseException):
                raise item
            if item is None:
                running -= 1
            else:
                yield item

    def close(self) -> None:
        """Kill the judges and, with the zygote, every worker."""
        with self._lock:
            self._closed = True
            for judge in self._judges:
                judge.close()
            if self._zygote is not None:
                self._zygote.close()

    def _work(self, jobs: "_Shared", progress: Progress, results: "queue.SimpleQueue[tuple[Job, Result] | BaseException | None]") -> None:
        name = threading.current_thread().name
        judge: _Judge | None = None
        try:
            while (job := jobs.next()) is not None and not self._closed:
                self.in_flight[name] = job
                result, judge = self._judge(judge, job, progress)
                if self._closed:
                    return
                del self.in_flight[name]
                results.put((job, result))
        # Whatever broke this thread has to reach the caller: a missing result would hang it.
        except BaseException as error:  # noqa: BLE001
            results.put(error)
        finally:
            results.put(None)

    def _judge(self, judge: _Judge | None, job: Job, progress: Progress) -> tuple[Result, _Judge | None]:
        """Judge one job, once more where the machine fails. Returns the judge to go on with."""
        start = time.monotonic()
        result: Result | None = None
        for _ in range(ATTEMPTS):
            try:
                judge = self._live_judge(judge)
                result = judge.judge(job, progress)
            except JudgeLostError as error:
                log.warning("%s: %s", job.submission, error)
                self._discard(judge)
                judge, result = (
                    None,
                    unjudged(job, Category.INFRASTRUCTURE_ERROR, str(error), self._options.device.spec, time.monotonic() - start),
                )
            if result.category is not Category.INFRASTRUCTURE_ERROR or self._closed:
                break
        assert result is not None
        return result, judge

    def _live_judge(self, judge: _Judge | None) -> _Judge:
        zygote = self._live_zygote()
        if judge is not None and judge.zygote is zygote:
            return judge
        self._discard(judge)
        fresh = _Judge(self._context, self._options, zygote)
        with self._lock:
            self._judges.append(fresh)
        return fresh

    def _discard(self, judge: _Judge | None) -> None:
        with self._lock:
            if judge in self._judges:
                self._judges.remove(judge)
                judge.close()

    def _live_zygote(self) -> Zygote:
        with self._lock:
            if self._zygote is None or not self._zygote.alive:
                environment = dict(WARM_ENVIRONMENT)
                recorder = launch_recorder(self._options)
                if recorder:
                    environment["LD_PRELOAD"] = recorder
                self._zygote = Zygote.start(modules=(WORKER_MODULE,), level=self._options.level, env=environment)
            return self._zygote


def unjudged(job: Job, category: Category, message: str, device: str, duration_s: float = 0.0) -> Result:
    """The result of a job that no judge answered."""
    return Result(
        submission=job.submission,
        block=job.block,
        author=job.author,
        sample_id=job.sample_id,
        problem=job.problem,
        case=job.case,
        device=device,
        status=category.status,
        category=category,
        message=message,
        source_sha256=job.source_sha256,
        started_at=now(),
        duration_s=duration_s,
        evidence=Evidence(),
    )


class _Shared:
    """An iterator that several threads draw from."""

    def __init__(self, items: Iterator[Job]) -> None:
        self._items, self._lock = items, threading.Lock()

    def next(self) -> Job | None:
        with self._lock:
            return next(self._items, None)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Variables that a process started meanwhile inherits."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
