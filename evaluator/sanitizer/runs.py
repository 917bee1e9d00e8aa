"""Runs compute-sanitizer on a submission after its verdict. The findings are further evidence, and never change the verdict.

Each tool has its own worker (`evaluator.nvidia_tools.tool_run`), in its own sandbox, which makes two calls of the `small` case.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from evaluator.build.builder import Builder, BuildOutcome
from evaluator.build.request import BuildRequest
from evaluator.diagnosis import DEVICE_ERRORS, Verdict
from evaluator.job import Job
from evaluator.judge.context import Task
from evaluator.judge.worker_set import WorkerSet
from evaluator.nvidia_tools.tool_run import Code, ToolRun, ToolSetting, cut
from evaluator.problem.declaration import SMALL_CASE
from evaluator.problem.execute import ProblemError
from evaluator.problem.problem import Problem, ProblemCase
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence, LaunchRecord, SanitizerEvidence, SanitizerFinding, SanitizerRun
from evaluator.sandbox import SandboxUnavailable
from evaluator.sanitizer.findings import Sources, findings
from evaluator.sanitizer.log import read
from evaluator.sanitizer.tools import ONE_EACH, Sanitizer, Tool, Wish, command

STAGE = "sanitize"
BUDGET_S = 240.0
"""Limit of all tools on one submission, without builds."""
TOOL_S = 90.0
"""Limit of one tool; a cold start takes about 10 s of it."""
LINE_FLAG = "-lineinfo"
HAVE_LINES = {LINE_FLAG, "--generate-line-info", "-G", "--device-debug"}
MODULE_FILE = "submission.py"
"""The worker's name of the submission's file."""

CRASHES = {*DEVICE_ERRORS.values(), Category.TIMEOUT, Category.PROCESS_CRASH}
UNTOUCHED = {Status.REJECTED, Status.BUILD_FAILED, Status.NOT_EVALUATED}
REFUSED = {Category.OVERSIZED_BLOCK, Category.INVALID_LAUNCH}
"""Categories in which the kernel did not run, so there is nothing to check."""

log = logging.getLogger(__name__)


def applies(task: Task, verdict: Verdict, evidence: Evidence) -> bool:
    """Implements `Tool.applies`."""
    sanitizer = task.context.sanitizer
    return isinstance(sanitizer, Sanitizer) and is_wanted(sanitizer.wish, verdict, evidence.launches)


def run(task: Task, worker_set: WorkerSet, evidence: Evidence) -> Evidence:
    """Implements `Tool.run`."""
    assert isinstance(task.context.sanitizer, Sanitizer)
    worker_set.make_room()
    return evidence.model_copy(update={"sanitizer": SanitizerRuns.of(task, worker_set).run(task.context.sanitizer)})


def is_wanted(wish: Wish, verdict: Verdict, launches: Sequence[LaunchRecord]) -> bool:
    """Whether to run the tools: own kernels were launched, and it was wrong or crashed if only faulty submissions are requested."""
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
    """The request with line numbers for its kernels, which change no code."""
    flags = request.extra_cuda_cflags
    if not any(source.is_cuda for source in request.sources) or HAVE_LINES.intersection(flags):
        return request
    return request.model_copy(update={"extra_cuda_cflags": (*flags, LINE_FLAG)})


@dataclass(frozen=True)
class SanitizerRuns:
    """The runs of all tools on one submission."""

    setting: ToolSetting
    job: Job
    problem: Problem
    case_name: str
    """Case of the evaluation, used if the problem has no `small` case."""

    @classmethod
    def of(cls, task: Task, worker_set: WorkerSet) -> Self:
        """The runs of this evaluation."""
        return cls(ToolSetting.of(task, worker_set, STAGE), task.job, task.problem, task.case.name)

    def run(self, sanitizer: Sanitizer) -> SanitizerEvidence:
        """Run the tools one after another, within BUDGET_S. Raises ProblemError if there is no such case."""
        name = SMALL_CASE if SMALL_CASE in self.problem.case_names else self.case_name
        case = self.problem.instance(name)
        runs: list[SanitizerRun] = []
        found: list[SanitizerFinding] = []
        left_s = BUDGET_S
        for tool in sanitizer.wish.tools:
            if left_s < ToolRun.grace_s:
                runs.append(SanitizerRun(tool=tool, outcome="deadline", remark="earlier tools used all the time"))
                continue
            self.setting.report(f"{STAGE}: {tool}")
            run, findings_ = self.run_tool(command(sanitizer, tool), tool, case, min(TOOL_S, left_s), sanitizer.readonly_paths)
            left_s -= run.duration_s
            runs.append(run)
            found += findings_
        return SanitizerEvidence(version=sanitizer.version, case=name, runs=tuple(runs), findings=tuple(found))

    def tool_run(self, case: ProblemCase, limit_s: float, builds: LineBuilds) -> ToolRun:
        """A run of one tool, with one allocation per tensor."""
        setting = replace(self.setting, environment=ONE_EACH | self.setting.environment)
        return ToolRun(setting, Code(self.job.code, first_line=self.job.first_line), case, limit_s, builds)

    def run_tool(
        self, words: tuple[str, ...], tool: Tool, case: ProblemCase, limit_s: float, readonly: Sequence[str] = ()
    ) -> tuple[SanitizerRun, tuple[SanitizerFinding, ...]]:
        """Run one tool by its command line, to which the worker's is added. A failure is part of the returned value."""
        builds = LineBuilds(self.setting.context.builder)
        tool_run = self.tool_run(case, limit_s, builds)
        try:
            text = tool_run.run(words, readonly)
        except (SandboxUnavailable, ProblemError, OSError, RuntimeError) as error:
            log.info("%s could not be run: %s", tool, error)
            return SanitizerRun(tool=tool, outcome="failed", duration_s=tool_run.duration_s, remark=cut(str(error))), ()
        finally:
            self.setting.lock.release()
        log.debug("%s wrote:\n%s", tool, text)
        written = read(text)
        sources = Sources(builds.requests, self.job.code, self.job.first_line, MODULE_FILE)
        outcome, remark = tool_run.outcome, tool_run.remark
        if outcome == "ended" and written.total is None:
            outcome, remark = "failed", "; ".join(written.remarks) or remark or "it did not report its end"
        run = SanitizerRun(tool=tool, outcome=outcome, reports=written.total, duration_s=tool_run.duration_s, remark=cut(remark))
        return run, findings(tool, written.reports, sources)
