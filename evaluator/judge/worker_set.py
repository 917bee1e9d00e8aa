"""The workers of one evaluation, the submission's and the baseline's, from start to end, and their device."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, nullcontext

import torch

from evaluator.judge import limits
from evaluator.judge.again import Again, Reason
from evaluator.judge.context import Task
from evaluator.judge.correctness.kernel_warmup import warm
from evaluator.judge.device.memory_need import memory_need
from evaluator.judge.prepared_workers import PreparedWorkers
from evaluator.judge.workers.client import WorkerClient

NEED_FACTOR = 2
"""A submission shares a GPU only if so many times its minimum memory is free."""


class WorkerSet(PreparedWorkers):
    """All workers of one task, with the device's lock and the memory shared with the judge. `close` ends and frees all."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.workers: list[WorkerClient] = []
        """The submission's workers."""
        self.candidate: WorkerClient | None = None
        self.wants_to_be_alone = False
        """Whether this evaluation needs exclusive use of the device from now on."""

    def close(self) -> None:
        """Kill all workers, free all memory, release the device."""
        self.dismiss()
        self.kill_all()
        for worker in self.workers:
            worker.close()
        if self._constructed is not None or self._loaded is None or self._loaded.done():
            self.part_with_baseline()
        self.forget_references()
        try:
            self._leave_device()
        finally:
            self._aside.shutdown()  # a baseline may still be starting; the device is free already
            self.close_baseline()
            self._part_with_spare()
            self.lock.close()

    def make_room(self, *, stays: bool = False, forgets: bool = False) -> None:
        """End all workers of the submission, give up the baseline's, and free all memory. Release the device, unless it `stays`. forgets:
        the references' memory is freed, too."""
        self.end_all()
        self.part_with_baseline()
        if forgets:
            self.forget_references()
        if stays:
            self.memory.close()
            self.empty_cache()
        else:
            self._leave_device()

    def end_all(self) -> None:
        """Kill the submission's workers, and wait until all of their processes have ended. They end concurrently: on a GPU each takes some
        tenths of a second, in which no judge can use the device."""
        self.kill_all()
        for worker in self.workers:
            worker.end()

    def kill_all(self) -> None:
        """Begin to end the submission's workers, and return at once."""
        for worker in self.workers:
            worker.kill()

    def _leave_device(self) -> None:
        """Free all memory and release the device, even if it is lost."""
        try:
            self.memory.close()
            self.empty_cache()
        finally:
            self.lock.release()

    def share_device(self) -> None:
        """Let other submissions have a GPU for their rounds, during the remaining checks of this one, if memory suffices. Not if the
        verdict depends on these checks: another submission's use of time or memory must not influence it."""
        if self.device.type == "cuda" and not self.wants_to_be_alone and self._task.job.shapes != "strict" and self._has_room:
            self.lock.share()

    @property
    def _has_room(self) -> bool:
        """Whether a GPU has so much memory free that others may use it."""
        free_bytes, total_bytes = torch.cuda.mem_get_info(self.device)
        return free_bytes >= limits.FREE_SHARE * total_bytes

    def _fits_beside_others(self) -> bool:
        """Whether a GPU has NEED_FACTOR times the minimum memory for judging free, if that is known."""
        if self.lock.is_alone or self.device.type == "cpu":
            return True
        need = memory_need(self._task.case)
        return need is None or NEED_FACTOR * need.least_bytes <= torch.cuda.mem_get_info(self.device)[0]

    def empty_cache(self) -> None:
        """Return memory that PyTorch keeps for this process's tensors to the driver: workers may need it."""
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def stage(self, worker: WorkerClient, name: str) -> AbstractContextManager[None]:
        """Report a stage, and have the worker enter it."""
        self._task.report(name)
        return worker.entering(name)

    def start(self, check: str = "", environment: Mapping[str, str] | None = None) -> WorkerClient:
        """A worker for the submission that has received nothing of it. A `check` after the verdict gets the spare one, if there is one."""
        if check:
            self._task.report(check)
        worker = self._take_spare() if check else None
        is_new = worker is None
        worker = worker or self.launcher.fork(environment, self._task.report)
        worker.may_yield = lambda: self.device.type == "cuda" and self.is_quiet and self._has_room
        self.workers.append(worker)
        if is_new:
            self.launcher.greet(worker)
        return worker

    def load_candidate(self, meanwhile: Callable[[], None] = lambda: None) -> WorkerClient:
        """The candidate: a worker that has loaded the submission, and has the device. While it loads, others may have the device and all of
        its memory, unless this evaluation needs it alone.

        On a GPU `meanwhile` is called while another submission may have the device.
        """
        if self.wants_to_be_alone:
            with self._task.times.spending("wait"):
                self.lock.acquire_alone()
        self._task.report("start")
        with self._task.times.spending("start"):
            candidate = self.candidate = self.start()
        with self.stage(candidate, "load"):
            self.launcher.load_submission(candidate)
        self.take_device(candidate, meanwhile)
        return candidate

    def fresh(
        self,
        check: str = "",
        load: Callable[[WorkerClient], None] | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        replaces: bool = False,
    ) -> WorkerClient:
        """A fresh worker that has loaded the submission, by `load` if given, and has the device. The time counts as the current stage.

        check: see `start`. replaces: it becomes the candidate. Raises WorkerError, NeedsDeviceError; then `newest` is the worker.
        """
        before = self.candidate if replaces else None
        worker = self.start(check, environment)
        if before is not None:
            self.candidate = worker
        worker.stage = "load"
        (load or self.launcher.load_submission)(worker)
        self.take_device(worker)
        if before is not None:
            worker.stage, worker.builds = before.stage, before.builds  # the new ones came from the cache
        return worker

    @property
    def newest(self) -> WorkerClient:
        """The submission's worker that was started last."""
        return self.workers[-1]

    def take_device(self, worker: WorkerClient, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Wait for the device. A few of the judges that wait for a GPU start CUDA meanwhile, and call `meanwhile`.

        Only a few, since each start takes memory and time of the driver, which all share. If this evaluation has had the device before, the
        time counts as the current stage.
        """
        with self._waiting("place"):
            self.lock.take_place()
        warming: Future[None] | None = None
        if self.device.type == "cuda":
            warming, starting = self._aside.submit(self._warm), self._aside.submit(self._start_cuda, worker)
            worker.stage = "load"  # the loading may cause a failure here
            with self._waiting("prepare"):
                try:
                    meanwhile()
                finally:
                    wait([warming, starting])
                starting.result()
        with self._waiting("wait"):
            begins = not self.lock.has_begun
            (self.lock.acquire_alone if self.wants_to_be_alone else self.lock.acquire)()
            if begins and not self._fits_beside_others():
                raise Again(Reason.CROWDED, "too little memory is free")
        if warming is not None and warming.exception() is not None:
            self._warm()  # before, another submission may have had all of its memory

    def _waiting(self, stage: str) -> AbstractContextManager[None]:
        return nullcontext() if self.lock.has_begun else self._task.times.spending(stage)

    def _warm(self) -> None:
        context = self._task.context
        warm(self._task.problem, context.device, context.warmed)
