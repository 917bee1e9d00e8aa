"""Runs Nsight Compute on a right submission after its verdict, and on the reference. The profile never changes the verdict.

Each has its own worker (`evaluator.nvidia_tools.tool_run`), in its own sandbox. The worker makes two calls, of which the second is
profiled. The reference's profile is kept on the machine, with a key of everything that it depends on.
"""

import logging
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from pydantic import ValidationError

from evaluator.diagnosis import Verdict
from evaluator.diagnosis.words import plain_name
from evaluator.judge.context import Task
from evaluator.judge.correctness.oracle.reference import Oracle
from evaluator.judge.device.memory_need import memory_need
from evaluator.judge.roofline.speed_of_light import find_speed_of_light
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers.client import WorkerClient
from evaluator.nvidia_tools.find import ToolMissingError
from evaluator.nvidia_tools.tool_run import Code, ToolRun, ToolSetting, cut
from evaluator.problem import kept_figures
from evaluator.problem.execute import ProblemError
from evaluator.problem.input_drawing import fresh_seed
from evaluator.problem.problem import ProblemCase
from evaluator.profiler.figures import figures
from evaluator.profiler.report import Report, read
from evaluator.profiler.tool import MAX_KERNELS, METRICS, Profiler, command, find
from evaluator.results.category import Status
from evaluator.results.evidence import Evidence, LaunchRecord, LightEvidence, ProfiledSide, ProfileEvidence
from evaluator.sandbox import SandboxUnavailable

STAGE = "profile"
START_S = 60.0
"""Limit of a cold start under ncu and of loading, without builds. Meanwhile others have the device."""
SIDE_S = 12.0
"""Limit of construction and calls. With `grace_s`, in which ncu writes, the device is held for at most 20 s."""
KERNEL_S = 10.0
"""Additional limit for each launch of the profiled call, within SIDE_S."""
MAX_BYTES = 1 << 30
"""Maximum size of a case's tensors. Between two passes ncu restores the memory that a kernel wrote, which takes seconds for gigabytes."""

log = logging.getLogger(__name__)


def applies(task: Task, verdict: Verdict, _evidence: Evidence) -> bool:
    """Implements `Tool.applies`."""
    return task.job.profile and verdict.category.status is Status.CORRECT


def run(task: Task, worker_set: WorkerSet, evidence: Evidence) -> Evidence:
    """Implements `Tool.run`."""
    try:
        found = profile(task, worker_set, evidence)
    except Exception as error:  # with any error, the verdict stands
        log.info("not profiled: %s", error, exc_info=True)
        found = ProfileEvidence(remark=cut(f"nothing was profiled: {error}"))
    return evidence.model_copy(update={"profile": found})


def profile(task: Task, worker_set: WorkerSet, evidence: Evidence) -> ProfileEvidence:
    """Profile submission and reference. The remark names failures. Raises ProblemError, and torch.OutOfMemoryError."""
    own = [launch for launch in evidence.launches if launch.own]
    if task.context.device.kind != "cuda":
        return ProfileEvidence(remark="nothing was profiled: it needs an NVIDIA GPU, and this was judged on the CPU")
    if not own:
        return ProfileEvidence(remark="nothing was profiled: no launch of an own kernel was recorded")
    try:
        profiler = find()
    except ToolMissingError as error:
        return ProfileEvidence(remark=cut(f"nothing was profiled: it needs {error}"))
    worker_set.make_room()
    case, remark = choose_case(task.case)
    runs = ProfileRuns(task, ToolSetting.of(task, worker_set, STAGE), profiler, case)
    submission = runs.submission(own, launched_by(evidence))
    if any(launch.timed and not launch.own for launch in evidence.launches):
        submission = submission.model_copy(update={"partial": True})
    reference = runs.reference() if submission.kernels else None
    light = evidence.light if case is task.case else runs.light()
    return ProfileEvidence(version=profiler.version, case=case.name, remark=remark, submission=submission, reference=reference, light=light)


def choose_case(case: ProblemCase) -> tuple[ProblemCase, str]:
    """The case, or the largest of the problem's other shapes with tensors of at most MAX_BYTES, with the reason.

    A problem without such shapes is profiled in the case. Raises ProblemError.
    """
    own_bytes = _tensor_bytes(case)
    if own_bytes is None or own_bytes <= MAX_BYTES:
        return case, ""
    others = [case.problem.instance(name) for _, name, _ in case.problem.declaration.shapes() if name != case.name]
    fitting = [(size, other) for other in others if (size := _tensor_bytes(other)) is not None and size <= MAX_BYTES]
    if not fitting:
        return case, ""
    chosen = max(fitting, key=lambda item: item[0])[1]
    return chosen, f"{case.name} has {own_bytes / 1e9:.2g} GB of tensors, and at most {MAX_BYTES / 1e9:.2g} GB are profiled"


def _tensor_bytes(case: ProblemCase) -> int | None:
    need = memory_need(case)
    return need.tensor_bytes if need is not None else None


def launched_by(evidence: Evidence) -> int:
    """Number of launches of own kernels per call, as far as known."""
    own = [launch for launch in evidence.launches if launch.own]
    times = evidence.kernel_times
    timed = sum(launch.timed for launch in own)
    return max(math.ceil(timed / times.calls) if times and times.calls and timed else len(own), 1)


class ProfileRun(ToolRun):
    """One worker under ncu."""

    grace_s = 8.0
    alone = True

    def __init__(self, runs: "ProfileRuns", code: Code, launches: int) -> None:
        """`launches`: expected number in the profiled call."""
        super().__init__(runs.setting, code, runs.case, START_S, runs.setting.context.builder)
        self._launches = min(launches, MAX_KERNELS)

    def on_device(self) -> None:
        self.limit(SIDE_S)

    def calls(self, worker: WorkerClient) -> None:
        """Make both calls. The first includes one-time work, such as tuning a kernel; the second is profiled."""
        self.call(worker)
        self.limit(min(self.left_s, KERNEL_S * self._launches))
        self.call(worker, profile=True)


@dataclass(frozen=True)
class ProfileRuns:
    """The runs of both sides of one evaluation."""

    task: Task
    setting: ToolSetting
    profiler: Profiler
    case: ProblemCase

    def submission(self, own: Sequence[LaunchRecord], launches: int) -> ProfiledSide:
        """Profile its own kernels, from the recorded launches."""
        job = self.task.job
        names = {plain_name(launch.kernel) for launch in own}
        return self.side(Code(job.code, first_line=job.first_line), launches, names)

    def reference(self) -> ProfiledSide:
        """The profile of all kernels of the reference, stored earlier or made now."""
        key = self._key()
        try:
            return ProfiledSide.model_validate(kept_figures.read(key))
        except ValidationError:  # nothing is stored, or by another version
            pass
        problem = self.task.problem
        found = self.side(Code(problem.source, class_name="Model", constants=self.case.constants), MAX_KERNELS)
        if found.kernels:  # also if time ran out, since it would again
            kept_figures.write(key, found.model_dump(mode="json"))
        return found

    def side(self, code: Code, launches: int, own: Collection[str] = ()) -> ProfiledSide:
        """Profile one call of this code: kernels with the bare names `own`, or all. A failure is part of the returned value."""
        return self.side_by(command(self.profiler, own), code, launches, own)

    def side_by(self, words: tuple[str, ...], code: Code, launches: int, own: Collection[str]) -> ProfiledSide:
        """Profile by ncu's command line, to which the worker's is added."""
        self.setting.report(STAGE)
        run = ProfileRun(self, code, launches)
        try:
            text = run.run(words, self.profiler.readonly_paths)
        except (SandboxUnavailable, ProblemError, OSError, RuntimeError) as error:
            log.info("%s could not be profiled: %s", code.class_name, error)
            return ProfiledSide(outcome="failed", duration_s=run.duration_s, remark=cut(str(error)))
        finally:
            self.setting.lock.release()
        log.debug("ncu wrote:\n%s", text)
        return side_of(read(text), run, own)

    def light(self) -> LightEvidence | None:
        """The speed-of-light time of the profiled case; None if unknown."""
        device = torch.device(self.setting.context.device.torch_device)
        self.setting.lock.acquire_exclusive()
        try:
            model = self.case.model(fresh_seed(), device)
            oracle = Oracle(model, self.case.rows_independent)
            return find_speed_of_light(self.case, model, oracle, device, self.setting.context.calibration)
        # Only a scale depends on it, so any error of the reference is ignored.
        except Exception as error:  # noqa: BLE001
            log.info("the speed-of-light time of %s is not known: %s", self.case.name, error)
            return None
        finally:
            self.setting.lock.release()

    def _key(self) -> list[Any]:
        """The key of the reference's profile: everything that it depends on."""
        context = self.setting.context
        driver = context.environment.gpu_driver
        return [*kept_figures.case_key(STAGE, self.case), context.device.name, driver, self.profiler.version, *METRICS]


def side_of(report: Report, run: ToolRun, own: Collection[str]) -> ProfiledSide:
    """The result of a run and of ncu's report."""
    kernels = tuple(figures(row, own) for row in report.rows[:MAX_KERNELS])
    outcome, remark = run.outcome, run.remark
    if report.refused:
        outcome, remark = "refused", next((text for text in report.remarks if "PERM" in text), remark)
    elif outcome == "deadline":
        remark = f"time ran out, {remark}; kernels with figures: {len(kernels)}"
    elif not kernels:
        outcome, remark = "failed", "; ".join(report.remarks) or remark or "ncu reported no kernel"
    return ProfiledSide.model_validate(
        {
            "outcome": outcome,
            "kernels": kernels,
            "partial": outcome != "ended" or len(report.rows) >= MAX_KERNELS,
            "passes": report.passes,
            "duration_s": run.duration_s,
            "remark": cut(remark),
        }
    )
