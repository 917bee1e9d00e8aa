"""The local engine: a pool of judge processes on this machine, each with one job at a time; results come as they are ready.

Judges and workers are forked from two fork servers that have imported torch: one for the judges, and the sandbox's for the workers. There
are more judges than devices: while one has the device, others start, load and wait for compilers. A lock file keeps the device to one of
them, and build slots limit the compilers to what the machine carries.
"""

import contextlib
import threading
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self

from evaluator.build.builder import Elsewhere
from evaluator.engine.admission_limit import UNDER_WAY, AdmissionLimit, Admitted
from evaluator.engine.engine import Progress, Settle
from evaluator.engine.judge_pool import JudgePool
from evaluator.engine.options import EngineOptions
from evaluator.engine.run import IN_FLIGHT_PER_JUDGE, Arrival, Run
from evaluator.engine.warm_parents import EarlyStart, start_judges_parent
from evaluator.job import Job
from evaluator.judge.device.judging_processes import announce
from evaluator.machine.devices import Device
from evaluator.machine.held_folder import remove_left
from evaluator.results.result import Result


class LocalEngine:
    """Judges jobs on this machine. A context manager; leaving it kills everything that still runs.

    Judges are kept from one run to the next. Runs may overlap; each has as many judges as the options say.
    """

    def __init__(self, options: EngineOptions, early: EarlyStart | None = None, elsewhere: Elsewhere | None = None) -> None:
        """`early`: fork servers that were started before, for the same device, cache and sandbox level. `elsewhere` is asked for builds
        that the cache lacks, from several threads."""
        self._options = replace(options, asks_elsewhere=elsewhere is not None)
        self.pool = JudgePool(self._options, early, elsewhere)
        self._admission = self._admission_limit(options.device)
        """For all single jobs, which the first device's judges take."""
        self._lock = threading.Lock()
        self._runs: list[Run] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def sandbox_level(self) -> str:
        """The sandbox level of the workers. Raises SandboxUnavailable if none works here."""
        return self.pool.live_zygote().level

    @property
    def in_flight(self) -> list[Job]:
        """Jobs that were taken and whose result has not been yielded; after an interrupted run, those without a result."""
        with self._lock:
            return [job for run in self._runs for job in run.in_flight()]

    def settled(self, job: Job) -> Result | None:
        """See `Engine`."""
        with self._lock:
            return next((found for run in self._runs if (found := run.settled(job)) is not None), None)

    def start(self) -> None:
        """Start the fork servers, unless they run. Several threads may call it at once.

        Raises SandboxUnavailable, NativeBuildError, PluginError.
        """
        with contextlib.suppress(OSError):  # without it, only a GPU's neighbours can't be told from strangers
            announce()
        remove_left()  # of a run that was killed with its judges
        start_judges_parent()
        self.pool.live_zygote()

    def judge(self, job: Job, progress: Progress, settle: Settle = lambda _: None) -> Result:
        """Judge one job in the caller's thread, on the first device. The caller limits how many run at once.

        Raises SandboxUnavailable, and JudgeLostError if the engine is closed.
        """
        with self._admission.admitted() as admitted:
            result = self.pool.judge(job, _telling(progress, admitted), self._options.of_judge(0), settle)
        self.pool.require_open()
        return result

    def close(self) -> None:
        """Kill the judges, the sandbox's fork server and so every worker."""
        self.pool.close()

    def run_together(self, jobs: Iterator[Job], progress: Progress) -> Generator[Arrival, None, None]:
        """See `Engine`."""
        run = Run(jobs, IN_FLIGHT_PER_JUDGE * self._options.judges)
        with self._lock:
            self._runs = [*(each for each in self._runs if not each.over), run]
        # Only for this run: a thread that waits for a job to draw must not delay other runs.
        limits = {device.unique_id: self._admission_limit(device) for device in self._options.devices}
        threads = []
        for number in range(self._options.judges):
            options = self._options.of_judge(number)
            working = (run, progress, options, limits[options.device.unique_id])
            threads.append(threading.Thread(target=self._work, args=working, name=f"judge-{number}", daemon=True))
        try:
            for thread in threads:
                thread.start()
            yield from run.arrivals(len(threads))
        finally:
            run.end()

    @staticmethod
    def _admission_limit(device: Device) -> AdmissionLimit:
        return AdmissionLimit(UNDER_WAY if device.kind == "cuda" else None)

    def _work(self, run: Run, progress: Progress, options: EngineOptions, limit: AdmissionLimit) -> None:
        try:
            while not self.pool.closed:
                with limit.admitted() as admitted:
                    if self.pool.closed or (drawn := run.draw()) is None:
                        return
                    number, job = drawn
                    result = self.pool.judge(job, _telling(progress, admitted), options, partial(run.settle, number))
                if self.pool.closed:
                    return
                run.finish(number, result)
        # The caller must see any error of this thread: it would wait forever for a missing result.
        except BaseException as error:  # noqa: BLE001
            run.fail(error)
        finally:
            run.fail(None)


def _telling(progress: Progress, admitted: Admitted) -> Progress:
    """`progress`, which also informs the admission limit."""

    def tell(job: Job, stage: str) -> None:
        admitted.enter(stage)
        progress(job, stage)

    return tell
