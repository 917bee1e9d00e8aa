"""Runs a worker that starts cold as the child of one of NVIDIA's tools. The judge does not read its outputs, so only the tool's output
could be forged."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import torch

from evaluator.judge.context import JudgeContext, Task
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.stage_times import StageTimes
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.build_broker import Builds, NeedsDeviceError
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.input_buffers import InputSet, ParameterSource, construct
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.nvidia_tools.program import Given, program
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.sandbox import Exit, Program
from evaluator.worker.protocol import ProtocolError

LEAST_S = 0.1
"""Minimum timeout of a call: 0 would mean none."""
CALLS = 2
"""Calls; the second meets the state that the first one left."""
MAX_REMARK_CHARS = 400


@dataclass(frozen=True)
class Code:
    """The code that the worker loads."""

    source: str
    class_name: str = "ModelNew"
    first_line: int = 1
    constants: Mapping[str, Any] = field(default_factory=dict)
    parameters: ParameterSource = "copied"


@dataclass(frozen=True)
class ToolSetting:
    """Data shared by all tool runs of one evaluation. No other worker of the submission runs, and the device is free."""

    context: JudgeContext
    name: str
    """Name of the stage in reports."""
    lock: DeviceLock
    environment: dict[str, str]
    """Environment variables of a worker."""
    readonly: tuple[str, ...]
    """Folders that a worker can read."""
    report: Callable[[str], None]

    @classmethod
    def of(cls, task: Task, worker_set: WorkerSet, name: str) -> Self:
        """The setting of this evaluation."""
        launcher = worker_set.launcher
        return cls(task.context, name, worker_set.lock, launcher.environment, tuple(launcher.readonly), task.report)


class ToolRun:
    """One worker under a tool, from its start to the tool's output."""

    grace_s = 15.0
    """Maximum time for the tool to write its output after its child has ended."""
    alone = False
    """Whether the run needs exclusive use of the device."""

    def __init__(self, setting: ToolSetting, code: Code, case: ProblemCase, limit_s: float, builds: Builds) -> None:
        """It has `limit_s` seconds, without builds and the wait for the device."""
        self._setting, self._code, self._case, self._builds = setting, code, case, builds
        self._memory = SharedMemory(torch.device("cpu"))
        self._worker: WorkerClient | None = None
        self._times = StageTimes()
        self._drawn: list[list[Any]] = []
        """Inputs of the remaining calls."""
        self._started = time.monotonic()
        self._limit_s, self._since, self._built_before_s = limit_s, self._started, 0.0
        self.outcome = "ended"
        self.remark = ""

    @property
    def built_s(self) -> float:
        """Time spent on builds and on waiting for the device."""
        return sum(self._times.seconds.get(name, 0.0) for name in ("build", "queue", "wait"))

    @property
    def duration_s(self) -> float:
        """Time since the start, without builds and waiting."""
        return round(max(time.monotonic() - self._started - self.built_s, 0.0), 3)

    def run(self, words: tuple[str, ...], readonly: Sequence[str]) -> str:
        """Run everything, and return the tool's output. Raises SandboxUnavailable, ProblemError, OSError, RuntimeError."""
        made, remains = self._program(words, readonly)
        with contextlib.ExitStack() as stack:
            stack.callback(self._memory.close)
            given = Given.make(remains)
            stack.callback(given.close)
            worker = WorkerClient.start(
                self._setting.context.zygote,
                made,
                self._builds,
                self._setting.lock,
                times=self._times,
                no_device=False,
                record=None,
                given=given.by_name,
                report=lambda stage: self._setting.report(stage if stage == "build" else self._setting.name),
            )
            stack.callback(worker.close)
            worker.exit_grace_s = self.grace_s
            self._worker = worker
            self._ask(worker)
            self._end(worker)
            return given.written()

    def limit(self, seconds: float) -> None:
        """Limit the remaining time to this many seconds."""
        self._limit_s, self._since, self._built_before_s = seconds, time.monotonic(), self.built_s

    def on_device(self) -> None:
        """Called when the run has the device."""

    def calls(self, worker: WorkerClient) -> None:
        """Have the worker make all calls. Raises WorkerError, ProtocolError, ProblemError."""
        for _ in range(CALLS):
            self.call(worker)

    def call(self, worker: WorkerClient, **fields: Any) -> None:
        """Have the worker make the next call, with new inputs. `fields` are added to the request."""
        drawn = self._drawn.pop()
        inputs = InputSet(self._memory, drawn)
        worker.hand_over(inputs.allocations, self.left_s)
        worker.request("inputs", self.left_s, sets=[inputs.tree(drawn)])
        worker.request("call", self.left_s + self.grace_s, set=0, limit_s=max(self.left_s, LEAST_S), **fields)

    @property
    def left_s(self) -> float:
        """Remaining seconds."""
        return max(self._limit_s - (time.monotonic() - self._since - (self.built_s - self._built_before_s)), 0.0)

    def _program(self, words: tuple[str, ...], readonly: Sequence[str]) -> tuple[Program, list[tuple[str, int]]]:
        context = self._setting.context
        return program(
            words,
            self._setting.environment,
            (*self._setting.readonly, *readonly),
            gpu=context.device.kind == "cuda",
            gpu_minor=context.device.minor,
            limits=context.limits,
            level=context.zygote.level,
        )

    def _ask(self, worker: WorkerClient) -> None:
        try:
            self._run(worker)
        except WorkerError:
            self.remark = worker.failure
        except (ProtocolError, NeedsDeviceError) as error:
            self.remark = str(error)
        if self.left_s <= 0 or (worker.exit is not None and worker.exit.deadline_s is not None):
            self.outcome, self.remark = "deadline", f"stopped after {self._limit_s:.0f} s"

    def _run(self, worker: WorkerClient) -> None:
        code, device = self._code, self._setting.context.device
        worker.request("ping", self.left_s)
        worker.first_line = code.first_line
        with worker.entering("load"):
            fields: dict[str, Any] = {"device": device.torch_device, "threads": 1, "ablate": False}
            worker.load(code.source, self.left_s, **{"class": code.class_name}, **fields)
        seed = fresh_seed()
        arguments, model = self._case.init_inputs(seed), self._case.model(seed)
        self._drawn = [self._case.inputs(fresh_seed(), self._memory.device) for _ in range(CALLS)]  # while others have the device
        with worker.entering("wait"):
            self._setting.lock.take_place()
        if device.kind == "cuda":
            with worker.entering("load"):
                worker.request("start", self.left_s, device=device.torch_device)
        with worker.entering("wait"):
            if self.alone:
                self._setting.lock.acquire_exclusive()
            else:
                self._setting.lock.acquire()
        self.on_device()
        with worker.entering("construct"):
            told: dict[str, Any] = {"source": code.parameters, "constants": code.constants}
            construct(worker, self._memory, arguments, model, seed, self._case, self.left_s, **told)
        with worker.entering("rounds"):
            self.calls(worker)

    def _end(self, worker: WorkerClient) -> None:
        """Close the channel, so that the worker ends and the tool writes its output. Kill them if they don't end."""
        worker.channel.close()
        if worker.confined.wait(self.grace_s) is None:
            worker.end()
        said = worker.confined.output()[1].strip().splitlines()
        if said and (worker.stage == "start" or not self.remark) and worker.confined.exit != Exit(0):
            self.remark = said[-1]


def cut(text: str) -> str:
    """A remark of limited length, on one line."""
    plain = "".join(character for character in " ".join(text.split()) if character.isprintable())
    return plain[:MAX_REMARK_CHARS]
