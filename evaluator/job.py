"""A judge's job: one submission, its problem, the case and the options. And the result of a job or submission.

Importing this module does not import torch.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evaluator.problem.declaration import PrecisionName
from evaluator.problem.problem import ProblemFacts
from evaluator.results.category import Category
from evaluator.results.protocol_names import UNTIMED
from evaluator.results.result import Result
from evaluator.submission.model import Submission


@dataclass(frozen=True)
class JobOptions:
    """How to judge submissions; the fields are as in Job."""

    timeout_s: float
    precision: PrecisionName | None = None
    shapes: Literal["own", "others", "strict"] = "others"
    strict_inputs: bool = False
    protocol: str | None = None
    baselines: tuple[str, ...] = ("eager",)
    profile: bool = False


@dataclass(frozen=True)
class Job:
    """One submission to judge once; sent from the engine to a judge."""

    submission: str
    block: int | None
    author: str | None
    sample_id: int | None
    code: str
    source_sha256: str
    problem: str
    problem_path: Path
    case: str | None
    """None for the device's default."""
    note: str
    """Remark for readers of the result, on how the submission was read."""
    timeout_s: float
    """Deadline of each stage that runs the submission's forward()."""
    precision: PrecisionName | None = None
    """None for the problem's own."""
    shapes: Literal["own", "others", "strict"] = "own"
    """`own`: only the case's shapes. `others`: a correct submission is run in other shapes too. `strict`: it must be correct in them."""
    strict_inputs: bool = False
    """Inputs of every distribution decide, not only the problem's own and those that follow soundly from them."""
    first_line: int = 1
    """Line of the submitted file, from 1, at which `code` begins."""
    protocol: str | None = None
    """Timing protocol (evaluator.judge.timing.protocols), or `UNTIMED`; None for the device's default."""
    baselines: tuple[str, ...] = ("eager",)
    """Baselines to time beside it: `eager` is the unchanged reference, over which the speedup is; `compile` is torch.compile of it."""
    profile: bool = False
    """Whether to profile the kernels of a right submission after its verdict, if the machine can."""

    @property
    def is_timed(self) -> bool:
        return self.protocol != UNTIMED


def make_job(submission: Submission, problem: ProblemFacts, case: str | None, options: JobOptions) -> Job:
    """The job of a submission that is not rejected, for one case of a problem."""
    assert submission.problem is not None and submission.rejection is None
    return Job(
        submission=submission.name,
        block=submission.block,
        author=submission.author,
        sample_id=submission.sample_id,
        code=submission.code,
        source_sha256=submission.source_sha256,
        problem=submission.problem,
        problem_path=problem.path,
        case=case,
        note=submission.note,
        timeout_s=options.timeout_s,
        precision=options.precision,
        shapes=options.shapes,
        strict_inputs=options.strict_inputs,
        first_line=submission.first_line,
        protocol=options.protocol,
        baselines=options.baselines,
        profile=options.profile,
    )


def result_of(job: Job, category: Category, message: str, **observed: Any) -> Result:
    """The result of a job. `observed` are further fields of Result, or override those that the job gives."""
    fields = {
        "submission": job.submission,
        "block": job.block,
        "author": job.author,
        "sample_id": job.sample_id,
        "problem": job.problem,
        "case": job.case,
        "precision": job.precision,
        "source_sha256": job.source_sha256,
    }
    return Result.of_category(category, message, **fields | observed)


def rejected(submission: Submission) -> Result:
    """The result of a submission that is rejected."""
    rejection = submission.rejection
    assert rejection is not None
    return _unjudged(submission, rejection.category, rejection.message)


def with_bad_problem(submission: Submission, message: str, device: str) -> Result:
    """The result of a submission whose problem's file is at fault."""
    return _unjudged(submission, Category.PROBLEM_ERROR, message, device=device)


def _unjudged(submission: Submission, category: Category, message: str, **observed: Any) -> Result:
    return Result.of_category(
        category,
        message,
        submission=submission.name,
        block=submission.block,
        author=submission.author,
        sample_id=submission.sample_id,
        problem=submission.problem,
        source_sha256=submission.source_sha256,
        **observed,
    )
