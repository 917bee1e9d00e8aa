"""Starts workers: forks them into their sandbox, waits for them, and has them load code and construct the model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from evaluator.judge import limits
from evaluator.judge.context import ReportStage, Task
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.stage_times import StageTimes
from evaluator.judge.workers.client import Recorded, WorkerClient, WorkerError
from evaluator.judge.workers.input_buffers import Constructed, ParameterSource, construct
from evaluator.judge.workers.jit_compilers import runs_without_device
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.machine.devices import Device, cpu_count
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.problem.shapes import Shape
from evaluator.sandbox import Program, SandboxUnavailable

WORKER_ENTRY = "evaluator.worker.server:main"


class Launcher:
    """Starts workers for one task. WorkerSet keeps track of them."""

    def __init__(self, task: Task, memory: SharedMemory, lock: DeviceLock) -> None:
        self._task, self._memory, self._lock = task, memory, lock
        self.seed = fresh_seed()
        """Seed of the models' construction. Inputs have seeds of their own."""
        self.source: ParameterSource = "copied"
        """Origin of the submission's parameters, in every worker of the task."""
        self._on_host = False
        """Whether its model was last made without the device. Then others may have the device while the next one is made."""

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of every worker of the task."""
        return _worker_environment(self._task.context.device)

    @property
    def readonly(self) -> list[str]:
        """The folders that every worker of the task sees."""
        return _without(self._task.context.readonly, self._task.job.problem_path)

    def fork(
        self, environment: Mapping[str, str] | None = None, report: ReportStage = lambda _: None, times: StageTimes | None = None
    ) -> WorkerClient:
        """Fork a worker, without waiting for it. `report` is called for its builds. Their time counts in `times`, or in the evaluation's.

        Raises SandboxUnavailable.
        """
        context = self._task.context
        program = Program(
            entry=WORKER_ENTRY,
            env=self.environment | dict(environment or {}),
            readonly=(*self.readonly, *([context.recorder] if context.recorder else [])),
            gpu=context.device.kind == "cuda",
            gpu_minor=context.device.minor,
            limits=context.limits,
            cores=context.cores,
            preload=context.recorder,
        )
        no_device = context.device.kind == "cpu"
        record: Recorded | None = "launches" if context.recorder is not None else None
        if no_device and runs_without_device():
            record = "interpreted"
        return WorkerClient.start(
            context.zygote,
            program,
            context.builder,
            self._lock,
            times=times or self._task.times,
            no_device=no_device,
            record=record,
            report=report,
        )

    def greet(self, worker: WorkerClient) -> None:
        """Wait for a worker that has received nothing of the submission: a failure is the judge's. Raises SandboxUnavailable."""
        try:
            worker.request("ping", limits.START_S)
        except WorkerError as error:
            stderr = worker.confined.output()[1].strip().splitlines()
            raise SandboxUnavailable(f"the worker did not start: {stderr[-1] if stderr else worker.failure}"[:1000]) from error

    def start_cuda(self, worker: WorkerClient) -> None:
        """Have it start CUDA. Raises WorkerError."""
        worker.request("start", limits.START_S, device=self._task.context.device.torch_device)

    def load_submission(self, worker: WorkerClient, deadline_s: float | None = None, *, ablate: bool = False, watch: bool = False) -> None:
        """Have it load the submission. Raises WorkerError, NeedsDeviceError.

        ablate: its own kernels are skipped. watch: their contribution can be measured.
        """
        job = self._task.job
        # One thread also on the CPU: such a worker calls extensions in a fork, and a fork has only one of several threads.
        first_line, threads = job.first_line, 1 if ablate or watch else self._threads
        self._load(worker, job.code, "ModelNew", first_line=first_line, threads=threads, ablate=ablate, watch=watch, deadline_s=deadline_s)

    def load_reference(self, worker: WorkerClient) -> None:
        """Have it load the problem's own model. Raises WorkerError."""
        self._load(worker, self._task.problem.source, "Model", threads=self._threads)

    def construct(
        self,
        worker: WorkerClient,
        arguments: list[Any],
        model: torch.nn.Module,
        case: ProblemCase | None = None,
        deadline_s: float | None = None,
        *,
        keeps: bool = False,
    ) -> Constructed:
        """Have it construct its model with these arguments in `case`, by default the task's, its parameters from `source`. keeps: besides
        its models of other cases. Raises WorkerError, ProtocolError."""
        case, deadline_s = case or self._task.case, deadline_s or limits.LOAD_S
        told: dict[str, Any] = {"source": self.source, "keeps": keeps, "aside": self._on_host}
        constructed = construct(worker, self._memory, arguments, model, self.seed, case, deadline_s, **told)
        self._on_host = constructed.on_host
        return constructed

    def construct_baseline(
        self,
        worker: WorkerClient,
        arguments: list[Any],
        model: torch.nn.Module,
        case: ProblemCase | None = None,
        *,
        compiled: bool = False,
        keeps: bool = False,
    ) -> None:
        """Have the baseline's worker construct its model, with the parameters of `model`. Raises WorkerError, ProtocolError."""
        case = case or self._task.case
        on_device = self._memory.device.type == "cuda" and case.is_drawn_anywhere
        told: dict[str, Any] = {"constants": case.settings, "compiled": compiled, "keeps": keeps, "on_device": on_device}
        construct(worker, self._memory, arguments, model, self.seed, case, limits.LOAD_S, **told)

    def construct_shape(self, worker: WorkerClient, shape: Shape, model: torch.nn.Module, arguments: list[Any], seed: int) -> None:
        """Have it construct its model for another shape. Raises WorkerError."""
        construct(worker, self._memory, arguments, model, seed, shape.case, limits.LOAD_S, source=self.source)

    @property
    def _threads(self) -> int:
        return (len(self._task.context.cores) or cpu_count()) if self._memory.device.type == "cpu" else 1

    def _load(
        self,
        worker: WorkerClient,
        source: str,
        class_name: str,
        *,
        first_line: int = 1,
        threads: int,
        ablate: bool = False,
        watch: bool = False,
        deadline_s: float | None = None,
    ) -> None:
        worker.first_line = first_line
        worker.load(
            source,
            deadline_s or limits.LOAD_S,
            **{"class": class_name},
            device=self._task.context.device.torch_device,
            threads=threads,
            ablate=ablate,
            watch=watch,
        )


def _without(folders: Sequence[str], problem: Path) -> list[str]:
    """The folders without those that contain the problem's file, which could be read there."""
    return [folder for folder in folders if not problem.resolve().is_relative_to(folder)]


def _worker_environment(device: Device) -> dict[str, str]:
    """Environment variables of a worker, which PyTorch's OpenMP reads at import. Spinning threads would take CPU time from the other worker
    during its turn, and look like deferred work."""
    return {"CUDA_VISIBLE_DEVICES": device.visible, "OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
