"""The workers of one evaluation: the submission's and the baseline's, from their start to their end, and the device that they take."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch

from evaluator.judge.context import ReportStage, Task
from evaluator.judge.correctness.kernel_warmup import warm
from evaluator.judge.correctness.reference import BaselineFailedError, Reference
from evaluator.judge.device.cuda_start_limit import cuda_start_turn
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.stage_times import StageTimes
from evaluator.judge.workers import kept_workers
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.launcher import Launcher
from evaluator.judge.workers.out_of_memory import tells_of_shortage
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.sandbox import SandboxUnavailable


class WorkerSet:
    """All workers of one task, with the device's lock and the memory that they share with the judge; `close` ends and frees all.

    On a GPU the baseline's worker is the judge's, and stays when the evaluation ends.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self.device = torch.device(task.context.device.torch_device)
        self.memory = SharedMemory(self.device)
        self.lock = DeviceLock(task.context.device.unique_id, task.times.holding)
        self.launcher = Launcher(task, self.memory, self.lock)
        self.workers: list[WorkerClient] = []
        """Those that the submission runs in."""
        self.candidate: WorkerClient | None = None
        self.baseline: WorkerClient | None = None
        self.reference: Reference | None = None
        """What the baseline's worker constructs, once there is one."""
        self._aside = ThreadPoolExecutor(max_workers=4, thread_name_prefix="aside")
        self._loaded: Future[WorkerClient] | None = None
        """The baseline's worker, once it has been asked for."""
        self._constructed: Future[WorkerClient] | None = None
        """The same, with its model, once it is needed."""
        self._spare: Future[WorkerClient] | None = None
        """A worker that has started CUDA, and has seen nothing of the submission."""
        self._is_dismissed = False

    def close(self) -> None:
        """Kill what runs, free what was allocated, let others have the device."""
        self.dismiss()
        self.kill_all()
        for worker in self.workers:
            worker.close()
        if all(future is None or future.done() for future in (self._loaded, self._constructed)):
            self.part_with_baseline()
        try:
            self._leave_device()
        finally:
            self._aside.shutdown()  # a baseline or a spare worker may still be starting; the device is free already
            self.close_baseline()
            self._part_with_spare()
            self.lock.close()

    def close_baseline(self) -> None:
        """Kill the baseline's worker, if there is one, and give back all that it held."""
        if self.baseline:
            self.baseline.close()
            self.baseline = None

    def part_with_baseline(self) -> None:
        """Keep the baseline's worker for the next evaluation of this judge, on a GPU and if it is well; otherwise end it."""
        worker, self.baseline = self.baseline, None
        self._loaded = self._constructed = None
        if worker is None:
            return
        if self.device.type == "cuda":
            kept_workers.keep(self._task.context, kept_workers.BASELINE, self.launcher.readonly, worker)
        else:
            worker.close()

    def make_room(self, *, stays: bool = False) -> None:
        """End all workers of the submission, part with the baseline's, and free all memory. Leave the device, unless it `stays`."""
        self.end_all()
        self.part_with_baseline()
        if stays:
            self.memory.close()
            self.empty_cache()
        else:
            self._leave_device()

    def end_all(self) -> None:
        """Kill what runs of the submission, and wait until nothing of it is left. They end side by side: on a GPU that
        takes each some tenths of a second, in which the device is of no use to anybody."""
        self.kill_all()
        for worker in self.workers:
            worker.end()

    def kill_all(self) -> None:
        """Begin to end them, and return at once."""
        for worker in self.workers:
            worker.kill()

    def dismiss(self) -> None:
        """Begin to end what is needed no more even if it still starts: the baseline's worker where it has not got its model, and the spare
        one."""
        self._is_dismissed = True
        is_busy = any(future is not None and not future.done() for future in (self._loaded, self._constructed))
        if self.baseline is not None and (is_busy or self.device.type == "cpu"):
            self.baseline.kill()

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

    def start(self, stage: str, spent: str = "") -> WorkerClient:
        """A worker for the submission, its time that of `stage`, or `spent`'s. The spare one, where there is one."""
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

    def reach_device(self, candidate: WorkerClient, meanwhile: Callable[[], None]) -> WorkerClient:
        """The worker that has the device: this one, or a new one where this one found no memory on it.

        `meanwhile` is called on a GPU while another submission may still have it.
        """

        def prepare() -> None:
            self.prepare_baseline()
            meanwhile()

        try:
            self.take_device(candidate, prepare)
        except WorkerError:
            if not _found_no_memory(candidate):
                raise
            candidate = self._load_alone(candidate)
            self.take_device(candidate)
        return candidate

    def take_device(self, worker: WorkerClient, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Wait for the device. A few of the judges that wait for a GPU start CUDA meanwhile, and call `meanwhile`.

        Only a few: each start takes memory there and the driver's time, which all share. If this evaluation has had the device before, the
        time is the stage's that is being spent in.
        """
        with self._waiting("place"):
            self.lock.take_place()
        warming: Future[None] | None = None
        if self.device.type == "cuda":
            warming, starting = self._aside.submit(self._warm), self._aside.submit(self._start_cuda, worker)
            worker.stage = "load"  # what fails here, the loading may be at fault for
            with self._waiting("prepare"):
                try:
                    meanwhile()
                finally:
                    wait([warming, starting])
                starting.result()
        with self._waiting("wait"):
            self.lock.acquire()
        if warming is not None and warming.exception() is not None:
            self._warm()  # another submission may have had all of its memory

    def _waiting(self, stage: str) -> AbstractContextManager[None]:
        return nullcontext() if self.lock.was_held else self._task.times.spending(stage)

    def _start_cuda(self, worker: WorkerClient) -> None:
        with nullcontext() if self.lock.held else cuda_start_turn(self._task.context.device.unique_id):
            self.launcher.start_cuda(worker)

    def _warm(self) -> None:
        context = self._task.context
        warm(self._task.problem, context.device, context.warmed)

    def _load_alone(self, failed: WorkerClient) -> WorkerClient:
        """Replace a worker that found no memory by another one, which loads the submission while this judge has the device."""
        failed.end()
        candidate = self._start_candidate()
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
        """Have the baseline's worker construct its model, once a round has been passed. It starts CUDA no earlier, if it has not yet: the
        driver starts few contexts a second."""
        self.prepare_baseline()
        self._constructed = self._constructed or self._aside.submit(self._construct_loaded)

    def prepare_spare(self) -> None:
        """Have a worker start CUDA on a GPU, while this judge has it, for what is asked after the timing."""
        if self.device.type == "cuda":
            self._spare = self._spare or self._aside.submit(self._start_spare)

    def take_baseline(self) -> WorkerClient:
        """The baseline's worker, with its model. One that failed while another had the GPU, and perhaps all of its memory, or while the
        rounds had it, is started again. No worker is starting any more when this ends."""
        self.ready_baseline()
        assert self._constructed is not None
        try:
            return self._constructed.result()
        except (BaselineFailedError, SandboxUnavailable, RuntimeError):
            if self.device.type == "cpu":
                raise
        finally:
            if self._spare is not None:
                wait([self._spare])
        self.close_baseline()
        return self.start_baseline()

    def start_baseline(self) -> WorkerClient:
        """A worker for the baseline that has constructed its model."""
        return self._construct_in(self._load_baseline())

    def _construct_loaded(self) -> WorkerClient:
        assert self._loaded is not None
        return self._construct_in(self._loaded.result())

    def _load_baseline(self) -> WorkerClient:
        """The baseline's worker, with its model's code loaded; in a thread."""
        times = StageTimes()  # not the evaluation's: what happens in a thread is no stage
        worker = self._kept(kept_workers.BASELINE, times)
        is_new = worker is None
        worker = self.baseline = worker or self.launcher.fork(times=times)
        if self._is_dismissed:
            worker.kill()
        if is_new:
            self.launcher.greet(worker)
        with _baseline_failing(worker):
            self.launcher.load_reference(worker)
        return worker

    def _construct_in(self, baseline: WorkerClient) -> WorkerClient:
        assert self.reference is not None
        with _baseline_failing(baseline), _current(self.memory.device):
            if self.device.type == "cuda":
                self._start_cuda(baseline)
            self.launcher.construct_baseline(baseline, self.reference.arguments, self.reference.model)
        return baseline

    def _start_spare(self) -> WorkerClient:
        """A worker that has started CUDA; in a thread."""
        worker = self._kept(kept_workers.SPARE, self._task.times, self._task.report)
        if worker is not None:
            return worker
        worker = self.launcher.fork(report=self._task.report)
        try:
            self.launcher.greet(worker)
            self.launcher.start_cuda(worker)
        except BaseException:
            worker.close()
            raise
        return worker

    @property
    def has_spare(self) -> bool:
        """Whether a worker that has started CUDA can be had at once."""
        return self._spare is not None and self._spare.done() and self._spare.exception() is None

    def _take_spare(self) -> WorkerClient | None:
        """The spare worker, once; None where there is none, or where it did not start."""
        future, self._spare = self._spare, None
        if future is None or future.exception() is not None:
            return None
        return future.result()

    def _part_with_spare(self) -> None:
        """Keep a worker that was not needed for the next evaluation."""
        worker = self._take_spare()
        if worker is not None:
            kept_workers.keep(self._task.context, kept_workers.SPARE, self.launcher.readonly, worker)

    def _kept(self, kind: str, times: StageTimes, report: ReportStage = lambda _: None) -> WorkerClient | None:
        return kept_workers.take(self._task.context, kind, self.launcher.readonly, self.lock, times, report)


def _current(device: torch.device) -> AbstractContextManager[Any]:
    """Makes a GPU's context that of this thread."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


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
