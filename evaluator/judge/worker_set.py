"""The workers of one evaluation: the submission's and the baseline's, from their start to their end, and the device that they take."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

from evaluator.judge.context import Task
from evaluator.judge.correctness.kernel_warmup import warm
from evaluator.judge.correctness.reference import BaselineFailedError
from evaluator.judge.device.cuda_start_limit import cuda_start_turn
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.launcher import Launcher
from evaluator.judge.workers.out_of_memory import tells_of_shortage
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.sandbox import SandboxUnavailable


class WorkerSet:
    """All workers of one task, with the device's lock and the memory that they share with the judge; `close` ends and frees all."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.device = torch.device(task.context.device.torch_device)
        self.memory = SharedMemory(self.device)
        self.lock = DeviceLock(task.context.device.unique_id)
        self.launcher = Launcher(task, self.memory, self.lock)
        self.workers: list[WorkerClient] = []
        """Those that the submission runs in."""
        self.candidate: WorkerClient | None = None
        self.baseline: WorkerClient | None = None
        self._aside = ThreadPoolExecutor(max_workers=2, thread_name_prefix="aside")
        self._loaded: Future[WorkerClient] | None = None
        """The baseline's worker, once it has been asked for."""
        self._is_dismissed = False
        self._ready: Future[WorkerClient] | None = None
        """The same, which has started CUDA too, once it is needed."""

    def close(self) -> None:
        """Kill what runs, free what was allocated, let others have the device."""
        self.kill_all()
        for worker in self.workers:
            worker.close()
        if all(future is None or future.done() for future in (self._loaded, self._ready)):
            self.close_baseline()
        try:
            self._leave_device()
        finally:
            self._aside.shutdown()  # a baseline may still be starting; the device is free already
            self.close_baseline()
            self.lock.close()

    def close_baseline(self) -> None:
        """Kill the baseline's worker, if there is one, and give back all that it held."""
        if self.baseline:
            self.baseline.close()
            self.baseline = None

    def make_room(self) -> None:
        """End all workers, and leave the device to others."""
        self.end_all()
        self._leave_device()

    def end_all(self) -> None:
        """Kill what runs of the submission and of the baseline, and wait until nothing of it is left. They end side by side: on a GPU that
        takes each some tenths of a second, in which the device is of no use to anybody."""
        self.kill_all()
        for worker in self._all_workers:
            worker.end()

    def kill_all(self) -> None:
        """Begin to end them, and return at once."""
        for worker in self._all_workers:
            worker.kill()

    def dismiss_baseline(self) -> None:
        """Begin to end the baseline's worker, which is needed no more, even if it still starts."""
        self._is_dismissed = True
        if self.baseline is not None:
            self.baseline.kill()

    @property
    def _all_workers(self) -> list[WorkerClient]:
        return [*self.workers, *([self.baseline] if self.baseline else [])]

    def _leave_device(self) -> None:
        """Free what was allocated, and let others have the device, also where it is lost."""
        try:
            self.memory.close()
            self.empty_cache()
        finally:
            self.lock.release()

    def empty_cache(self) -> None:
        """Give the driver back what PyTorch keeps of this process's tensors: workers may need it."""
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def stage(self, worker: WorkerClient, name: str) -> AbstractContextManager[None]:
        """Report a stage, and have the worker enter it."""
        self._task.report(name)
        return worker.entering(name)

    def start(self, stage: str) -> WorkerClient:
        """A worker for the submission."""
        self._task.report(stage)
        worker = self.fork()
        with worker.entering(stage):
            self.launcher.greet(worker)
        return worker

    def fork(self, environment: Mapping[str, str] | None = None) -> WorkerClient:
        """A worker for the submission, without waiting for it."""
        worker = self.launcher.fork(environment, self._task.report)
        self.workers.append(worker)
        return worker

    def load_candidate(self) -> WorkerClient:
        """A worker that has loaded the submission. Others may have the device meanwhile, and all of its memory."""
        candidate = self._start_candidate()
        try:
            self._load_submission(candidate)
        except WorkerError:
            if not _found_no_memory(candidate):
                raise
            return self._load_alone(candidate)
        return candidate

    def reach_device(self, candidate: WorkerClient) -> WorkerClient:
        """The worker that has the device: this one, or a new one where this one found no memory on it."""
        try:
            self.take_device(candidate, early=self.prepare_baseline)
        except WorkerError:
            if not _found_no_memory(candidate):
                raise
            candidate = self._load_alone(candidate)
            self.take_device(candidate)
        return candidate

    def take_device(self, worker: WorkerClient, early: Callable[[], None] = lambda: None) -> None:
        """Wait for the device. A few of the judges that wait for a GPU start CUDA meanwhile, and call `early`.

        Only a few: each start takes memory there and the driver's time, which all share.
        """
        with worker.entering("place"):
            self.lock.take_place()
        warming: Future[None] | None = None
        if self.device.type == "cuda":
            early()
            warming = self._aside.submit(self._warm)
            worker.stage = "load"  # what fails here, the loading may be at fault for
            with worker.spending("prepare"):
                try:
                    with nullcontext() if self.lock.held else cuda_start_turn():
                        self.launcher.start_cuda(worker)
                finally:
                    wait([warming])
        with worker.entering("wait"):
            self.lock.acquire()
        if warming is not None and warming.exception() is not None:
            self._warm()  # another submission may have had all of its memory

    def _warm(self) -> None:
        warm(self._task.problem, self.device, self._task.context.warmed)

    def _load_alone(self, failed: WorkerClient) -> WorkerClient:
        """Replace a worker that found no memory by another one, which loads the submission while this judge has the device."""
        failed.end()
        candidate = self._start_candidate()
        candidate.stages_s = failed.stages_s
        with candidate.entering("wait"):
            self.lock.acquire()
        self._load_submission(candidate)
        return candidate

    def _start_candidate(self) -> WorkerClient:
        self.candidate = self.start("start")
        return self.candidate

    def _load_submission(self, candidate: WorkerClient) -> None:
        with self.stage(candidate, "load"):
            self.launcher.load_submission(candidate)

    def prepare_baseline(self) -> None:
        """Begin to start the baseline's worker, once. On a GPU that is while another submission still has the device; on the CPU it would
        take the processor from that submission."""
        self._loaded = self._loaded or self._aside.submit(self._load_baseline)

    def ready_baseline(self) -> None:
        """Have the baseline's worker start CUDA, once a round has been passed: the driver starts few contexts a second."""
        self.prepare_baseline()
        self._ready = self._ready or self._aside.submit(self._start_loaded)

    def take_baseline(self) -> WorkerClient:
        """The baseline's worker. One that failed while another had the GPU, and perhaps all of its memory, is started again."""
        self.ready_baseline()
        assert self._ready is not None
        try:
            return self._ready.result()
        except (BaselineFailedError, SandboxUnavailable):
            if self.device.type == "cpu":
                raise
        self.close_baseline()
        return self.start_baseline()

    def start_baseline(self) -> WorkerClient:
        """A worker for the baseline that is ready."""
        return self._start_cuda_in(self._load_baseline())

    def _start_loaded(self) -> WorkerClient:
        assert self._loaded is not None
        return self._start_cuda_in(self._loaded.result())

    def _load_baseline(self) -> WorkerClient:
        """The baseline's worker, with its model's code loaded; in a thread."""
        worker = self.baseline = self.launcher.fork()
        if self._is_dismissed:
            worker.kill()
        self.launcher.greet(worker)
        with _baseline_failing(worker):
            self.launcher.load_reference(worker)
        return worker

    def _start_cuda_in(self, baseline: WorkerClient) -> WorkerClient:
        if self.device.type == "cuda":
            with _baseline_failing(baseline), nullcontext() if self.lock.held else cuda_start_turn():
                self.launcher.start_cuda(baseline)
        return baseline


@contextmanager
def _baseline_failing(worker: WorkerClient) -> Iterator[None]:
    """A failure here is the baseline's."""
    try:
        yield
    except WorkerError as error:
        raise BaselineFailedError(f"the baseline's worker failed: {worker.failure}") from error


def _found_no_memory(worker: WorkerClient) -> bool:
    """Whether the worker failed for lack of device memory."""
    return worker.exception is not None and tells_of_shortage(worker.exception.message)
