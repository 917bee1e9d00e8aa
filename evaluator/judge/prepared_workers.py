"""The workers of one evaluation that start while its candidate runs: the baseline's, and a spare one."""

import logging
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import Any

import torch

from evaluator.judge import limits
from evaluator.judge.context import ReportStage, Task
from evaluator.judge.correctness.oracle.reference import BaselineFailedError, Oracle, Reference
from evaluator.judge.device.cuda_start_limit import cuda_start_turn
from evaluator.judge.device.device_lock import DeviceLock, sharers_on
from evaluator.judge.device.memory_need import memory_bytes_of
from evaluator.judge.stage_times import StageTimes
from evaluator.judge.workers import kept_workers
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.launcher import Launcher
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.log import waiting
from evaluator.problem.problem import ProblemCase
from evaluator.sandbox import SandboxUnavailable
from evaluator.worker.nested import tensors

COPIES = 4
"""Models of a workload: the judge's, the baseline's and the submission's, which may have its parameters in another order, too."""
SPARE_S = 2.0
"""Maximum wait for a spare worker's start, and for the baseline's construction, before the device is released: both take some tenths of a
second."""

log = logging.getLogger(__name__)


class PreparedWorkers:
    """Starts workers in threads. On a GPU the judge keeps the baseline's worker after the evaluation, and an unused spare one."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.device = torch.device(task.context.device.torch_device)
        self.memory = SharedMemory(self.device)
        self.lock = DeviceLock(task.context.device.unique_id, task.times.holding, sharers_on(self.device.type), self._settle)
        self.launcher = Launcher(task, self.memory, self.lock)
        self.baseline: WorkerClient | None = None
        self._drawn: torch.nn.Module | None = None
        """The reference's model, before it was asked for."""
        self._references: dict[str, Reference] = {}
        """Kept references, by their cases' names."""
        self.reference: Reference | None = None
        """The model that the baseline's worker constructs; None until it is set."""
        self._aside = ThreadPoolExecutor(max_workers=4, thread_name_prefix="aside")
        self._loaded: Future[WorkerClient] | None = None
        """The loaded baseline's worker; None before it was requested."""
        self._constructed: Future[WorkerClient] | None = None
        """The baseline's worker with its model; None before it was requested."""
        self._spare: Future[WorkerClient] | None = None
        """A worker that has started CUDA, and received nothing of the submission."""
        self._is_dismissed = False

    @property
    def is_quiet(self) -> bool:
        """Whether no other worker of this evaluation starts or constructs."""
        return all(begun is None or begun.done() for begun in (self._loaded, self._constructed, self._spare))

    def _settle(self) -> None:
        """Wait until no thread computes on the device: others may be timed there after the judge has released it."""
        wait([begun for begun in (self._constructed, self._spare) if begun is not None])

    def draw_model(self) -> None:
        """Draw the reference's model in the task's case on the CPU, which may take seconds. Raises ProblemError."""
        self._drawn = self._task.case.drawn_model(self.launcher.seed)

    def reference_in(self, case: ProblemCase, *, anywhere: bool = False) -> Reference:
        """The reference in a case. It is kept if memory suffices for all workloads' models. anywhere: the device may draw it.

        Raises ProblemError.
        """
        if (known := self._references.get(case.name)) is not None:
            return known
        drawn, self._drawn = self._drawn, None
        if drawn is not None and case is self._task.case:
            model = drawn.to(self.device)
        else:
            model = case.model(self.launcher.seed, self.device, anywhere=anywhere)
        reference = Reference(model, case.init_inputs(self.launcher.seed), Oracle(model, case.rows_independent))
        if self._task.workloads and self.keeps_models:
            self._references[case.name] = reference
        return reference

    def forget_references(self) -> None:
        """Drop the references, so that others can have their memory. They are made anew if the evaluation begins again."""
        self._drawn = self.reference = None
        self._references.clear()

    def dismiss(self) -> None:
        """Begin to end workers that are not needed, even while they start: the baseline's if it still loads or is not kept."""
        self._is_dismissed = True
        is_loading = self._loaded is not None and not self._loaded.done()
        if self.baseline is not None and (is_loading or self.device.type == "cpu"):
            self.baseline.kill()

    def close_baseline(self) -> None:
        """Kill the baseline's worker, if there is one, and free all of its resources."""
        if self.baseline:
            self.baseline.close()
            self.baseline = None

    def part_with_baseline(self) -> None:
        """Keep the baseline's worker for the judge's next evaluation, on a GPU and if it has not failed; otherwise end it. A thread may
        still load it, or write to memory shared with it: wait for that, for at most SPARE_S."""
        begun = self._constructed or self._loaded
        if begun is not None and wait([begun], SPARE_S).not_done:
            if self.baseline is not None:
                self.baseline.kill()
            wait([begun])
        worker, self.baseline = self.baseline, None
        self._loaded = self._constructed = None
        if worker is None:
            return
        if self.device.type == "cuda":
            kept_workers.keep(self._task.context, kept_workers.BASELINE, self.launcher.readonly, worker)
        else:
            worker.close()

    def prepare_baseline(self) -> None:
        """Begin to start the baseline's worker, once, if there is a timing. On a GPU this happens while another submission has the device.
        On the CPU it would take CPU time from that submission."""
        if self._task.job.is_timed:
            self._loaded = self._loaded or self._aside.submit(self._load_baseline)

    def ready_baseline(self) -> None:
        """Have the baseline's worker construct its model, if there is a timing. It starts CUDA only now, since the driver starts few
        contexts per second."""
        self.prepare_baseline()
        if self._loaded is not None:
            self._constructed = self._constructed or self._aside.submit(self._construct_loaded)

    def construct_also(self, case: ProblemCase, reference: Reference) -> None:
        """Have the baseline's worker construct its model of another workload besides its others; in a thread, if there is a timing."""
        self.ready_baseline()
        if (begun := self._constructed) is not None:
            self._constructed = self._aside.submit(self._construct_besides, begun, case, reference)

    def _construct_besides(self, begun: Future[WorkerClient], case: ProblemCase, reference: Reference) -> WorkerClient:
        baseline = begun.result()
        with _baseline_failing(baseline), _current(self.memory.device):
            self.launcher.construct_baseline(baseline, reference.arguments, reference.model, case, keeps=True)
        return baseline

    @cached_property
    def keeps_models(self) -> bool:
        """Whether memory suffices for the models of all workloads in each worker."""
        models = [case.on_meta for case in self._task.workloads]
        nbytes = sum(tensor.nbytes for model in models if model is not None for tensor in tensors(dict(model.state_dict())))
        return None not in models and COPIES * nbytes <= limits.FREE_SHARE * memory_bytes_of(self._task.context.device)

    def prepare_spare(self) -> None:
        """Have a worker start CUDA on a GPU while this judge has it, for the checks after the timing."""
        if self.device.type == "cuda":
            self._spare = self._spare or self._aside.submit(self._start_spare)

    def take_baseline(self) -> WorkerClient:
        """The baseline's worker, with its model. If it failed while another submission or the rounds had the GPU, and perhaps all of its
        memory, it is started again. After this, no worker is still starting."""
        self.ready_baseline()
        assert self._constructed is not None
        try:
            with waiting("the baseline's worker"):
                return self._constructed.result()
        except (BaselineFailedError, SandboxUnavailable, RuntimeError) as error:
            if self.device.type == "cpu":
                raise
            log.info("the baseline's worker is started again: %s", error)
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
        times = StageTimes()  # not the evaluation's: work in a thread is no stage
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
        """Whether a worker that has started CUDA is available at once."""
        return self._spare is not None and self._spare.done() and self._spare.exception() is None

    def _take_spare(self) -> WorkerClient | None:
        """The spare worker, once; None if there is none, or if it did not start."""
        future, self._spare = self._spare, None
        if future is None or future.exception() is not None:
            return None
        return future.result()

    def _part_with_spare(self) -> None:
        """Keep an unused worker for the next evaluation."""
        worker = self._take_spare()
        if worker is not None:
            kept_workers.keep(self._task.context, kept_workers.SPARE, self.launcher.readonly, worker)

    def _kept(self, kind: str, times: StageTimes, report: ReportStage = lambda _: None) -> WorkerClient | None:
        return kept_workers.take(self._task.context, kind, self.launcher.readonly, self.lock, times, report)

    def _start_cuda(self, worker: WorkerClient) -> None:
        with nullcontext() if self.lock.held else cuda_start_turn(self._task.context.device.unique_id):
            self.launcher.start_cuda(worker)


def _current(device: torch.device) -> AbstractContextManager[Any]:
    """Makes a GPU's context current in this thread."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


@contextmanager
def _baseline_failing(worker: WorkerClient) -> Iterator[None]:
    """Turn a failure in this context into the baseline's."""
    try:
        yield
    except WorkerError as error:
        raise BaselineFailedError(f"the baseline's worker failed: {worker.failure}") from error
