"""The evidence of one evaluation, collected step by step, and the verdict from it."""

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec

from evaluator.diagnosis import Verdict, diagnose
from evaluator.judge.context import Task
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.jit_compilers import interpreted, lacks_interpreter, without_blame
from evaluator.results.category import Category, Status
from evaluator.results.evidence import Evidence, ExceptionEvidence, RoundEvidence
from evaluator.sandbox import SandboxUnavailable

P = ParamSpec("P")
_UNDEFINED = re.compile(r"name '(\w{1,200})' is not defined")


def _with_parameters_of(_: Callable[P, Evidence]) -> Callable[[Callable[..., None]], Callable[Concatenate["EvidenceBuilder", P], None]]:
    """Declares that a method takes the fields of the evidence, with their types."""
    return lambda method: method


class EvidenceBuilder:
    """Collects the evidence of one task."""

    def __init__(self, task: Task) -> None:
        self._context, self._problem, self._code, self._times = task.context, task.problem, task.job.code, task.times
        self.evidence = Evidence(
            device_kind=task.context.device.kind,
            sandbox=task.context.zygote.level,
            note=task.job.note,
            untimed=not task.job.is_timed,
        )
        self.rounds: list[RoundEvidence] = []
        """Rounds so far; `collect` adds them to the evidence."""

    @_with_parameters_of(Evidence)
    def note(self, **observed: Any) -> None:
        """Set these fields of the evidence."""
        self.evidence = self.evidence.model_copy(update=observed)

    def collect(self, worker: WorkerClient | None) -> None:
        """Add the candidate's records to the evidence. The candidate is killed first, so that its output is complete."""
        if worker is None:
            return
        with contextlib.suppress(SandboxUnavailable):  # a worker whose supervisor was lost has ended too, which was reported
            worker.end()
        stdout, stderr = worker.confined.output()
        self.note(
            stage=worker.stage,
            builds=tuple(worker.builds),
            launches=worker.launches.read() if worker.launches else (),
            kernel_times=worker.kernel_times,
            rounds=tuple(self.rounds),
            exception=worker.exception,
            reference_name=self._reference_name(worker.exception),
            exit=worker.exit,
            protocol_error=self.evidence.protocol_error or worker.protocol_error,
            stdout=stdout,
            stderr=stderr,
        )
        self.note_times()

    def _reference_name(self, exception: ExceptionEvidence | None) -> str:
        """The undefined name in an exception, if the reference's file defines it; else empty."""
        undefined = _UNDEFINED.match(exception.message) if exception is not None and exception.type == "NameError" else None
        return undefined[1] if undefined is not None and undefined[1] in self._problem.names else ""

    def note_times(self) -> None:
        """Note the time of each stage so far."""
        self.note(stages_s=_rounded(self._times.seconds), held_s=_rounded(self._times.held_seconds))

    def diagnose(self) -> Verdict:
        """The verdict from the evidence so far. A submission that needs a GPU gets NO_DEVICE on the CPU, unless the machine failed."""
        verdict = without_blame(diagnose(self.evidence), self.evidence.exception, self._code)
        if verdict.category.status is Status.CORRECT:
            verdict = self._in_workloads() or verdict
        elif self.evidence.workload:
            verdict = _in(self.evidence.workload, verdict)
        on_cpu = self._context.device.kind == "cpu"
        if on_cpu and verdict.category is Category.NO_TOOLCHAIN and any(build.uses_cuda for build in self.evidence.builds):
            return Verdict(Category.NO_DEVICE, f"it needs a GPU; its CUDA sources were not compiled either: {verdict.message}")
        ran = any(build.ok for build in self.evidence.builds) or interpreted(self.evidence.launches)
        if self._context.stands_in and not ran and not self._holds_without_device(verdict):
            return Verdict(Category.NO_DEVICE, f"it is judged on a GPU only ({verdict.message})")
        return verdict

    def _holds_without_device(self, verdict: Verdict) -> bool:
        """Whether the verdict has nothing to do with the missing GPU: it is about a build, a missing module, the judge or the machine."""
        exception = self.evidence.exception  # other import errors may come from a library without its device
        lacks_tool = verdict.category is Category.NO_TOOLCHAIN and (self.evidence.builds or lacks_interpreter(exception))
        of_build = verdict.category.status is Status.BUILD_FAILED or lacks_tool
        of_module = verdict.category is Category.IMPORT_ERROR and exception is not None and exception.type == "ModuleNotFoundError"
        return bool(of_build) or of_module or verdict.category is Category.INFRASTRUCTURE_ERROR

    def _in_workloads(self) -> Verdict | None:
        """The first verdict against the submission in a workload other than its case's; None if there is none."""
        timing = self.evidence.timing
        for workload in timing.workloads[1:] if timing else ():
            if workload.timing is not None:
                observed = {"timing": workload.timing, "floor": workload.floor, "ablation": workload.ablation, "own_work": None}
                verdict = diagnose(self.evidence.model_copy(update=observed))
                if verdict.category.status is not Status.CORRECT or verdict.category is Category.NO_CUSTOM_KERNEL:
                    return _in(workload.case, verdict)
        return None

    def shorten_workloads(self) -> None:
        """Shorten the stored timing of each workload to the basis of its figures. Call it after the verdict."""
        timing = self.evidence.timing
        if timing is not None and timing.workloads:
            self.note(timing=timing.model_copy(update={"workloads": tuple(each.shortened() for each in timing.workloads)}))


def _in(workload: str, verdict: Verdict) -> Verdict:
    return replace(verdict, message=f"in the workload {workload}: {verdict.message}")


def _rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    return {stage: round(each, 3) for stage, each in seconds.items()}
