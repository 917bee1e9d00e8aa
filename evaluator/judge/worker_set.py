"""The workers of one evaluation, the submission's and the baseline's, from start to end, and their device."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, nullcontext

import torch

from evaluator.judge import limits
from evaluator.judge.context import Task
from evaluator.judge.correctness.kernel_warmup import warm
from evaluator.judge.device.memory_need import memory_need
from evaluator.judge.prepared_workers import PreparedWorkers
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.out_of_memory import ran_short

log = logging.getLogger(__name__)


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
        self._await_spare()
        try:
            self._leave_device()
        finally:
            self._aside.shutdown()  # a baseline may still be starting; the device is free already
            self.close_baseline()
            self._part_with_spare()
            self.lock.close()

    def make_room(self, *, stays: bool = False) -> None:
        """End all workers of the submission, give up the baseline's, and free all memory. Release the device, unless it `stays`."""
        self.end_all()
        self.part_with_baseline()
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
        """Let the next submission have a GPU for its rounds, during the remaining checks of this one, if memory suffices for both. Not if
        the verdict depends on these checks: another submission's use of time or memory must not influence it."""
        if self.device.type == "cuda" and not self.wants_to_be_alone and self._task.job.shapes != "strict":
            free_bytes, total_bytes = torch.cuda.mem_get_info(self.device)
            if free_bytes >= limits.FREE_SHARE * total_bytes:
                self.lock.share()

    def _fits_beside_others(self) -> bool:
        """Whether a GPU has NEED_FACTOR times the minimum memory for judging free."""
        if self.lock.is_alone or self.device.type == "cpu":
            return True
        need = memory_need(self._task.case)
        return need is not None and limits.NEED_FACTOR * need.least_bytes <= torch.cuda.mem_get_info(self.device)[0]

    def empty_cache(self) -> None:
        """Return memory that PyTorch keeps for this process's tensors to the driver: workers may need it."""
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def stage(self, worker: WorkerClient, name: str) -> AbstractContextManager[None]:
        """Report a stage, and have the worker enter it."""
        self._task.report(name)
        return worker.entering(name)

    def start(self, stage: str, spent: str = "") -> WorkerClient:
        """A worker for the submission: the spare one, if there is one. Its time counts as `stage`, or as `spent`."""
        self._task.report(stage)
        worker = self._take_spare() if stage != "start" else None
        if worker is not None:
            worker.stage = stage
            self.workers.append(worker)
            return worker
        worker = self.fork()
        with worker.entering(stage, spent):
            self.launcher.greet(worker)
        return worker

    def fork(self, environment: Mapping[str, str] | None = None) -> WorkerClient:
        """Fork a worker for the submission, without waiting for it."""
        worker = self.launcher.fork(environment, self._task.report)
        self.workers.append(worker)
        return worker

    def load_candidate(self) -> WorkerClient:
        """A worker that has loaded the submission. Meanwhile others may have the device, and all of its memory."""
        candidate = self._start_candidate()
        try:
            self._load_submission(candidate)
        except WorkerError:
            if not ran_short(candidate):
                raise
            return self._load_alone(candidate)
        return candidate

    def reach_device(self, candidate: WorkerClient, meanwhile: Callable[[], None]) -> WorkerClient:
        """The worker that has the device: this one, or a new one if this one found no memory on it.

        On a GPU `meanwhile` is called while another submission may have the device.
        """

        def prepare() -> None:
            self.prepare_baseline()
            meanwhile()

        try:
            self.take_device(candidate, prepare)
        except WorkerError:
            if not ran_short(candidate):
                raise
            candidate = self._load_alone(candidate)
            self.take_device(candidate)
        return candidate

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
            if not self.lock.held:
                self.lock.acquire()
                if self.wants_to_be_alone or not self._fits_beside_others():
                    self.lock.acquire_alone()
        if warming is not None and warming.exception() is not None:
            self._warm()  # before, another submission may have had all of its memory

    def _waiting(self, stage: str) -> AbstractContextManager[None]:
        return nullcontext() if self.lock.was_held else self._task.times.spending(stage)

    def _warm(self) -> None:
        context = self._task.context
        warm(self._task.problem, context.device, context.warmed)

    def _load_alone(self, failed: WorkerClient) -> WorkerClient:
        """Replace a worker that found no memory by another one, which loads the submission with exclusive use of the device."""
        log.info("loaded again with exclusive use of the device: %s", failed.failure)
        failed.end()
        candidate = self._start_candidate()
        with candidate.entering("wait"):
            self.lock.acquire_alone()
        self._load_submission(candidate)
        return candidate

    def _start_candidate(self) -> WorkerClient:
        self.candidate = self.start("start")
        return self.candidate

    def _load_submission(self, candidate: WorkerClient) -> None:
        with self.stage(candidate, "load"):
            self.launcher.load_submission(candidate)
