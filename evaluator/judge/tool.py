"""Tools that examine a submission after its verdict. Most are packages outside of the core, imported when they are asked for."""

from importlib import import_module
from typing import Literal, Protocol, cast

from evaluator.diagnosis import Verdict
from evaluator.judge.context import Task
from evaluator.judge.worker_set import WorkerSet
from evaluator.results.evidence import Evidence


class Tool(Protocol):
    """The module `runs` of such a package, or a module of the judge."""

    @property
    def STAGE(self) -> str:  # noqa: N802
        """Name of its stage in reports."""
        ...

    def applies(self, task: Task, verdict: Verdict, evidence: Evidence) -> bool:
        """Whether it is to run."""
        ...

    def run(self, task: Task, worker_set: WorkerSet, evidence: Evidence) -> Evidence:
        """The evidence with its findings. After any error, the verdict stands."""
        ...


def tool(name: Literal["profiler", "sanitizer"]) -> Tool:
    """The tool of the package `evaluator.NAME`."""
    return cast(Tool, import_module(f"evaluator.{name}.runs"))
