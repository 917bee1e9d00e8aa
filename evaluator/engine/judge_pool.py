"""The judge processes of this machine: started on demand, kept while idle, replaced when lost."""

import logging
import threading
import time

from evaluator.build.builder import Elsewhere
from evaluator.engine.engine import Progress, Settle
from evaluator.engine.judge_client import JudgeClient, JudgeLostError
from evaluator.engine.options import EngineOptions, launch_recorder
from evaluator.engine.warm_parents import EarlyStart, launch_zygote
from evaluator.job import Job, result_of
from evaluator.log import waiting
from evaluator.machine.held_folder import remove_left
from evaluator.results.category import Category
from evaluator.results.result import Result
from evaluator.sandbox import Zygote

ATTEMPTS = 2
"""Attempts at a job if the machine fails."""

log = logging.getLogger(__name__)


class JudgePool:
    """Judges, and the sandbox's fork server for their workers. Its methods may be called from several threads."""

    def __init__(self, options: EngineOptions, early: EarlyStart | None, elsewhere: Elsewhere | None) -> None:
        """`early`: fork servers that were started before. `elsewhere` is asked for builds that the cache lacks."""
        self._options, self._early, self._elsewhere = options, early, elsewhere
        self.judges: list[JudgeClient] = []
        self.idle: list[JudgeClient] = []
        """Judges without a job."""
        self.zygote: Zygote | None = None
        self.closed = False
        self._lock = threading.Lock()

    def live_zygote(self) -> Zygote:
        """The sandbox's fork server, restarted if it has ended. Raises SandboxUnavailable, NativeBuildError, JudgeLostError."""
        with self._lock:
            self.require_open()
            if self.zygote is None or not self.zygote.alive:
                if self.zygote is not None:
                    log.info("the sandbox's fork server has ended; another one is started")
                    self.zygote.close()
                self.zygote = None
                fresh = (self._early and self._early.take()) or launch_zygote(self._options.level, launch_recorder(self._options))
                try:
                    with waiting("the sandbox's fork server to import its modules"):
                        fresh.await_ready()
                except BaseException:
                    fresh.close()
                    raise
                self.zygote = fresh
            return self.zygote

    def judge(self, job: Job, progress: Progress, options: EngineOptions, settle: Settle = lambda _: None) -> Result:
        """Judge one job, by an idle judge or a new one. Raises SandboxUnavailable."""
        judge = self._idle_judge(options)
        try:
            result, judge = self._judge_by(judge, job, progress, options, settle)
        finally:
            self._keep(judge)
        return result

    def close(self) -> None:
        """Kill the judges, the sandbox's fork server and so every worker."""
        with self._lock:
            self.closed = True
            for judge in self.judges:
                judge.close()
            self.judges, self.idle = [], []
            if self.zygote is not None:
                self.zygote.close()
        remove_left()

    def require_open(self) -> None:
        """Raises JudgeLostError if the pool is closed."""
        if self.closed:
            raise JudgeLostError("the engine has been closed")

    def _idle_judge(self, options: EngineOptions) -> JudgeClient | None:
        """The judge that became idle last: it has judged on that device before, while others may never have."""
        with self._lock:
            judge = next((idle for idle in reversed(self.idle) if idle.device == options.device), None)
            if judge is not None:
                self.idle.remove(judge)
            return judge

    def _judge_by(
        self, judge: JudgeClient | None, job: Job, progress: Progress, options: EngineOptions, settle: Settle
    ) -> tuple[Result, JudgeClient | None]:
        """Judge one job, and again by another judge if the machine fails. Returns the judge to continue with.

        The failure may be this judge's own, such as a lost CUDA context. Every later job would then fail with it.
        """
        start = time.monotonic()
        result: Result | None = None
        for attempt in range(1, ATTEMPTS + 1):
            try:
                judge = self._live_judge(judge, options)
                result = judge.judge(job, progress, self._elsewhere, settle)
            except JudgeLostError as error:
                log.log(logging.INFO if self.closed else logging.WARNING, "%s: %s", job.submission, error)
                took_s = time.monotonic() - start
                result = result_of(job, Category.INFRASTRUCTURE_ERROR, str(error), device=options.device.spec, duration_s=took_s)
            except BaseException:
                self._discard(judge)  # it stopped in the middle of a job, so it can't take another
                raise
            if result.category is not Category.INFRASTRUCTURE_ERROR:
                break
            self._discard(judge)
            judge = None
            if self.closed:
                break
            if attempt < ATTEMPTS:
                log.info("%s is judged again by another judge: %s", job.submission, result.message)
        assert result is not None
        return result, judge

    def _live_judge(self, judge: JudgeClient | None, options: EngineOptions) -> JudgeClient:
        """`judge`, or a new one if it can't continue. Raises JudgeLostError."""
        zygote = self.live_zygote()
        if judge is not None and judge.zygote is zygote and judge.alive:
            return judge
        self._discard(judge)
        with self._lock:
            self.require_open()
            # Listed before it is ready, so that `close` ends it too.
            fresh = JudgeClient(options, zygote)
            self.judges.append(fresh)
        try:
            fresh.await_ready()
        except BaseException:
            self._discard(fresh)
            raise
        return fresh

    def _keep(self, judge: JudgeClient | None) -> None:
        """Keep a judge for the next job, unless there are enough."""
        with self._lock:
            if judge in self.judges and len(self.idle) < self._options.judges:
                self.idle.append(judge)
                return
        self._discard(judge)

    def _discard(self, judge: JudgeClient | None) -> None:
        with self._lock:
            if judge not in self.judges:
                return
            self.judges.remove(judge)
        judge.close()
        remove_left()
