"""A task and a scorer for `inspect_ai`: samples are problems, verdicts come from a judging service.

    inspect eval assay_inspect/kernels -T problems=reference --model openai/NAME

The service's address and the token come from ASSAY_URL and ASSAY_TOKEN.
"""

import math
from pathlib import Path
from statistics import fmean
from typing import Any

from assay_client import Client
from assay_client.errors import NotEvaluatedError
from assay_client.loop_client import loop_client
from assay_client.models import Options
from assay_client.shaping import reward
from assay_client.tasks import Task as Problem
from assay_client.tasks import is_solved, read_tasks
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, accuracy, mean, metric, scorer, stderr
from inspect_ai.solver import Solver, TaskState, generate

__all__ = ["geometric_mean", "kernels", "verdict"]

FAST = (1, 2)
"""Values of p for fast_p: the share of samples that are right, and more than p times as fast as the reference."""

INSTALLED = Path(__file__).parents[1].name in ("site-packages", "dist-packages")


# Inspect puts the package before a task's name, but in an editable install only if the distribution has the package's name.
@task(name="kernels" if INSTALLED else "assay_inspect/kernels")
def kernels(problems: str = "reference", case: str | None = None, dtype: str | None = None, solver: Solver | None = None) -> Task:
    """Answer problems with kernels.

    problems: files and folders of problems, separated by commas. case, dtype: judging options; by default the service's.
    solver: any solver whose answer is the completion. Raises TaskError, ServiceError.
    """
    with Client() as client:
        known = {each.name for each in client.problems()}
    found = read_tasks([Path(each) for each in problems.split(",")], known)
    samples = [Sample(id=each.name, input=each.prompt, metadata={"source": each.source, "known": each.known}) for each in found]
    return Task(dataset=MemoryDataset(samples, name="kernels"), solver=solver or generate(), scorer=verdict(case, dtype))


@metric
def geometric_mean() -> Metric:
    """Geometric mean over the samples above 0, as only right answers have a speedup; NaN if there is none."""

    def compute(scores: list[SampleScore]) -> float:
        logarithms = [math.log(value) for each in scores if (value := each.score.as_float()) > 0]
        return math.exp(fmean(logarithms)) if logarithms else math.nan

    return compute


@scorer(
    metrics={
        "correct": [accuracy(), stderr()],
        **{f"fast_{p}": [mean()] for p in FAST},
        "speedup": [geometric_mean()],
        "reward": [mean(), stderr()],
    }
)
def verdict(case: str | None = None, dtype: str | None = None) -> Scorer:
    """The judge's verdict on the completion. Raises NotEvaluatedError without a verdict, since the answer need not be wrong."""
    options = Options(case=case, dtype=dtype)

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - the problem itself is the target
        problem = Problem(str(state.sample_id), state.metadata["source"], state.metadata["known"])
        (evaluation,) = await loop_client().evaluate([problem.submission(state.output.completion, options)])
        result = evaluation.result
        if result is None or not evaluation.judged:
            raise NotEvaluatedError(evaluation)
        right = is_solved(evaluation)
        speedup = (result.speedup or 0.0) if right else 0.0
        value: dict[str, Any] = {"correct": float(right), **{f"fast_{p}": float(speedup > p) for p in FAST}}
        told = {"evaluation": evaluation.id, "status": result.status, "category": result.category}
        return Score(value=value | {"speedup": speedup, "reward": reward(evaluation).value}, explanation=result.feedback, metadata=told)

    return score
