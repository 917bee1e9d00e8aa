"""compute-sanitizer over a submission that has its verdict. What the tools find is further evidence; the verdict stays as it is.

Each tool is one more worker, in a sandbox of its own, which starts cold as compute-sanitizer's child and answers two calls of the `small`
case. Its answers are not read, so that there is nothing to forge.
"""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from evaluator.build.builder import Builder, BuildOutcome
from evaluator.build.request import BuildRequest
from evaluator.diagnosis import DEVICE_ERRORS, Verdict
from evaluator.job import Job
from evaluator.judge.context import JudgeContext
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.stage_times import StageTimes
from evaluator.judge.workers.build_broker import NeedsDeviceError
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.judge.workers.input_buffers import InputSet, construct
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.problem.declaration import SMALL_CASE
from evaluator.problem.execute import ProblemError
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import Problem, ProblemCase
from evaluator.results.category import Category, Status
from evaluator.results.evidence import LaunchRecord, SanitizerEvidence, SanitizerFinding, SanitizerRun
from evaluator.sandbox import Exit, Program, SandboxUnavailable
from evaluator.sanitizer.findings import Sources, findings
from evaluator.sanitizer.log import read
from evaluator.sanitizer.program import Given, command, program
from evaluator.sanitizer.tools import Sanitizer, Tool, Wish
from evaluator.worker.protocol import ProtocolError

BUDGET_S = 240.0
"""For all tools over one submission; builds aside."""
TOOL_S = 90.0
"""For one of them, of which a cold start takes some ten."""
GRACE_S = 15.0
"""How long compute-sanitizer may take to say what it has seen, once its child has ended."""
LEAST_S = 0.1
"""The least limit of a call: 0 would mean no limit."""
CALLS = 2
"""The second call meets the state that the first one left behind."""
LINE_FLAG = "-lineinfo"
HAVE_LINES = {LINE_FLAG, "--generate-line-info", "-G", "--device-debug"}
MODULE_FILE = "submission.py"
"""What the worker calls the submission's file."""
MAX_REMARK_CHARS = 400

CRASHES = {*DEVICE_ERRORS.values(), Category.TIMEOUT, Category.PROCESS_CRASH}
UNTOUCHED = {Status.REJECTED, Status.BUILD_FAILED, Status.NOT_EVALUATED}
REFUSED = {Category.OVERSIZED_BLOCK, Category.INVALID_LAUNCH}
"""Such a kernel has not run, so that there is nothing to watch."""

log = logging.getLogger(__name__)


def is_wanted(wish: Wish, verdict: Verdict, launches: Sequence[LaunchRecord]) -> bool:
    """Whether to sanitize: its own kernels were launched, and it was wrong or crashed where the wish is for faulty submissions only."""
    status = verdict.category.status
    if status in UNTOUCHED or verdict.category in REFUSED or not any(launch.own for launch in launches):
        return False
    return not wish.only_faulty or status is Status.INCORRECT or verdict.category in CRASHES


class LineBuilds:
    """Builds with line numbers for device code, and remembers the requests."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self.requests: list[BuildRequest] = []

    def holds(self, request: BuildRequest) -> bool:
        return self._builder.holds(with_lines(request))

    def build(self, request: BuildRequest) -> BuildOutcome:
        self.requests.append(request)
        return self._builder.build(with_lines(request))


def with_lines(request: BuildRequest) -> BuildRequest:
    """The same request with line numbers for its kernels; that changes no code."""
    flags = request.extra_cuda_cflags
    if not any(source.is_cuda for source in request.sources) or HAVE_LINES.intersection(flags):
        return request
    return request.model_copy(update={"extra_cuda_cflags": (*flags, LINE_FLAG)})


@dataclass(frozen=True)
class SanitizerRuns:
    """The runs of all tools over one submission. No other worker of the submission runs, and the device is free."""

    context: JudgeContext
    job: Job
    problem: Problem
    case_name: str
    """Of the evaluation; used where the problem has no `small` case."""
    lock: DeviceLock
    environment: dict[str, str]
    """Of a worker."""
    readonly: tuple[str, ...]
    """Folders that a worker sees."""
    report: Callable[[str], None]

    def run(self, sanitizer: Sanitizer) -> SanitizerEvidence:
        """Run the tools one after another, within BUDGET_S. Raises ProblemError where there is no such case."""
        name = SMALL_CASE if SMALL_CASE in self.problem.case_names else self.case_name
        case = self.problem.instance(name)
        runs: list[SanitizerRun] = []
        found: list[SanitizerFinding] = []
        left_s = BUDGET_S
        for tool in sanitizer.wish.tools:
            if left_s < GRACE_S:
                runs.append(SanitizerRun(tool=tool, outcome="deadline", remark="the tools before it took all the time there was"))
                continue
            self.report(f"sanitize: {tool}")
            run, findings_ = self.run_tool(command(sanitizer, tool), tool, case, min(TOOL_S, left_s), sanitizer.readonly_paths)
            left_s -= run.duration_s
            runs.append(run)
            found += findings_
        return SanitizerEvidence(version=sanitizer.version, case=name, runs=tuple(runs), findings=tuple(found))

    def run_tool(
        self, words: tuple[str, ...], tool: Tool, case: ProblemCase, limit_s: float, readonly: Sequence[str] = ()
    ) -> tuple[SanitizerRun, tuple[SanitizerFinding, ...]]:
        """Run one tool by its command line, to which the worker's is added. A failure is part of what is returned."""
        start = time.monotonic()
        builds = LineBuilds(self.context.builder)
        try:
            tool_run = ToolRun(self, case, limit_s, builds)
            text = tool_run.run(words, readonly)
        except (SandboxUnavailable, ProblemError, OSError, RuntimeError) as error:
            log.info("%s could not be run over %s: %s", tool, self.job.submission, error)
            return SanitizerRun(tool=tool, outcome="failed", duration_s=_since(start), remark=_cut(str(error))), ()
        finally:
            self.lock.release()
        log.debug("%s wrote of %s:\n%s", tool, self.job.submission, text)
        written = read(text)
        sources = Sources(builds.requests, self.job.code, self.job.first_line, MODULE_FILE)
        outcome, remark = tool_run.outcome, tool_run.remark
        if outcome == "ended" and written.total is None:
            outcome, remark = "failed", "; ".join(written.remarks) or remark or "it did not say that it came to an end"
        run = SanitizerRun(
            tool=tool,
            outcome=outcome,
            reports=written.total,
            duration_s=round(max(_since(start) - tool_run.built_s, 0.0), 3),
            remark=_cut(remark),
        )
        return run, findings(tool, written.reports, sources)


class ToolRun:
    """One worker under a tool, from its start to what the tool wrote."""

    def __init__(self, runs: SanitizerRuns, case: ProblemCase, limit_s: float, builds: LineBuilds) -> None:
        self._runs, self._case, self._builds, self._limit_s = runs, case, builds, limit_s
        self._start = time.monotonic()
        self._memory = SharedMemory(torch.device("cpu"))
        self._worker: WorkerClient | None = None
        self._times = StageTimes()
        self.outcome = "ended"
        self.remark = ""

    @property
    def built_s(self) -> float:
        """Time spent on builds and on waiting for the device."""
        return sum(self._times.seconds.get(name, 0.0) for name in ("build", "queue", "wait"))

    def run(self, words: tuple[str, ...], readonly: Sequence[str]) -> str:
        """Run all of it; what the tool wrote. Raises SandboxUnavailable, ProblemError, OSError, RuntimeError."""
        made, remains = self._program(words, readonly)
        with contextlib.ExitStack() as stack:
            stack.callback(self._memory.close)
            given = Given.make(remains)
            stack.callback(given.close)
            worker = WorkerClient.start(
                self._runs.context.zygote,
                made,
                self._builds,
                self._runs.lock,
                times=self._times,
                no_device=False,
                record=None,
                given=given.by_name,
                report=lambda stage: self._runs.report(stage if stage == "build" else "sanitize"),
            )
            stack.callback(worker.close)
            worker.exit_grace_s = GRACE_S
            self._worker = worker
            self._ask(worker)
            self._end(worker)
            return given.written()

    def _program(self, words: tuple[str, ...], readonly: Sequence[str]) -> tuple[Program, list[tuple[str, int]]]:
        context = self._runs.context
        return program(
            words,
            self._runs.environment,
            (*self._runs.readonly, *readonly),
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
        if self._left_s <= 0 or (worker.exit is not None and worker.exit.deadline_s is not None):
            self.outcome, self.remark = "deadline", f"stopped after {self._limit_s:.0f} s"

    def _run(self, worker: WorkerClient) -> None:
        job, device = self._runs.job, self._runs.context.device
        worker.request("ping", self._left_s)
        worker.first_line = job.first_line
        with worker.entering("load"):
            fields: dict[str, Any] = {"class": "ModelNew", "device": device.torch_device, "threads": 1, "constants": {}, "ablate": False}
            worker.load(job.code, self._left_s, **fields)
        with worker.entering("wait"):
            self._runs.lock.take_place()
        if device.kind == "cuda":
            with worker.entering("load"):
                worker.request("start", self._left_s, device=device.torch_device)
        with worker.entering("wait"):
            self._runs.lock.acquire()
        seed = fresh_seed()
        arguments, model = self._case.init_inputs(seed), self._case.model(seed)
        with worker.entering("construct"):
            construct(worker, self._memory, arguments, model, seed, self._case, self._left_s)
        with worker.entering("rounds"):
            for given in self._inputs():
                worker.hand_over(given.allocations, self._left_s)
                worker.request("inputs", self._left_s, sets=[given.tree(self._arguments)])
                worker.request("call", self._left_s + GRACE_S, set=0, limit_s=max(self._left_s, LEAST_S))

    def _inputs(self) -> Iterator[InputSet]:
        for _ in range(CALLS):
            self._arguments = self._case.inputs(fresh_seed(), self._memory.device)
            yield InputSet(self._memory, self._arguments)

    def _end(self, worker: WorkerClient) -> None:
        """Hang up, so that the worker ends and the tool writes its summary; kill what does not."""
        worker.channel.close()
        if worker.confined.wait(GRACE_S) is None:
            worker.end()
        said = worker.confined.output()[1].strip().splitlines()
        if said and (worker.stage == "start" or not self.remark) and worker.confined.exit != Exit(0):
            self.remark = said[-1]

    @property
    def _left_s(self) -> float:
        """Of the tool's time, of which builds and the wait for the device take nothing."""
        return max(self._limit_s - (_since(self._start) - self.built_s), 0.0)


def _since(start: float) -> float:
    return time.monotonic() - start


def _cut(text: str) -> str:
    plain = "".join(character for character in " ".join(text.split()) if character.isprintable())
    return plain[:MAX_REMARK_CHARS]
