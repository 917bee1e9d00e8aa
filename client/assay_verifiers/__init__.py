"""An environment for `verifiers`: tasks are problems, rewards come from a judging service.

    vf-eval assay-verifiers --env.taskset.problems reference/softmax.py -m NAME --env.agent.runtime.type subprocess

A rollout is one answer, without tools. The service's address and the token come from ASSAY_URL and ASSAY_TOKEN.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import verifiers.v1 as vf
from assay_client import Client, Reward
from assay_client.loop_client import loop_client
from assay_client.models import Options
from assay_client.shaping import reward
from assay_client.tasks import Task, is_solved, read_tasks
from pydantic import Field

__all__ = ["KernelData", "KernelState", "KernelTask", "KernelTaskset", "KernelTasksetConfig", "OneAnswerHarness"]

INFO = "assay"
"""Key of the verdict in a trace."""


class KernelData(vf.TaskData):
    """One problem."""

    source: str
    """The problem's file."""
    known: bool
    """Whether the service knows its name."""


class KernelTaskConfig(vf.TaskConfig):
    """Judging options; None: the service's default."""

    case: str | None = None
    dtype: str | None = None
    timeout_s: float | None = None


class KernelState(vf.State):
    """State of one rollout."""

    judged: Any = None
    """Its `Reward`, once known."""


class KernelTask(vf.Task[KernelData, KernelState, KernelTaskConfig]):
    """A problem, and the scoring of its answers."""

    @vf.metric
    async def verdict(self, trace: vf.Trace) -> dict[str, float]:
        """Metrics, which are not part of the reward."""
        given = await self._judged(trace)
        speedup = given.evaluation.speedup or 0.0
        right = is_solved(given.evaluation)
        return {"correct": float(right), "fast_1": float(right and speedup > 1.0), "speedup": speedup if right else 0.0}

    @vf.reward
    async def kernel_reward(self, trace: vf.Trace) -> float:
        """The reward. Raises without a verdict, so that no training step uses a made-up number."""
        return (await self._judged(trace)).value

    async def _judged(self, trace: vf.Trace) -> Reward:
        """Calls the service once per rollout: for the metrics, which come before the rewards."""
        if trace.state.judged is None:
            problem = Task(self.data.name or "", self.data.source, self.data.known)
            options = Options(case=self.config.case, dtype=self.config.dtype, timeout_s=self.config.timeout_s)
            (evaluation,) = await loop_client().evaluate([problem.submission(trace.last_reply, options)])
            trace.state.judged = reward(evaluation)
            if evaluation.result is not None:
                trace.info[INFO] = {"evaluation": evaluation.id, **{name: getattr(evaluation.result, name) for name in _TOLD}}
        given: Reward = trace.state.judged
        return given


_TOLD = ("status", "category", "feedback")


class KernelTasksetConfig(vf.TasksetConfig):
    """The choice of problems."""

    problems: list[Path] = Field(default_factory=list)
    """Files and folders of problems, such as KernelBench's."""
    task: KernelTaskConfig = Field(default_factory=KernelTaskConfig)


class KernelTaskset(vf.Taskset[KernelTask, KernelTasksetConfig]):
    """All problems, one task each."""

    def load(self) -> Iterator[KernelTask]:
        """Load the tasks. Raises TaskError for unreadable problems, ServiceError if the service does not answer."""
        with Client() as client:
            known = {each.name for each in client.problems()}
        for task in read_tasks(self.config.problems, known):
            yield KernelTask(KernelData(name=task.name, prompt=task.prompt, source=task.source, known=task.known), self.config.task)


class OneAnswerHarness(vf.Harness[vf.HarnessConfig]):
    """One question, one answer: no tools, and no program to install in the agent's runtime."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,  # noqa: ARG002 - the endpoint writes it
        runtime: vf.Runtime,  # noqa: ARG002
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],  # noqa: ARG002
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Ask the model through the endpoint that records the trace."""
        system, asked = self.resolve_text_prompt(data)
        told = {"system": system, "user": asked}
        messages = [{"role": role, "content": text} for role, text in told.items() if text]
        body = {"model": ctx.model, "messages": messages}
        async with httpx.AsyncClient(timeout=None) as http:  # the run's own timeouts end it
            answer = await http.post(f"{endpoint}/chat/completions", json=body, headers={"Authorization": f"Bearer {secret}"})
        return vf.ProgramResult(int(answer.is_error), "", answer.text if answer.is_error else "")
