"""From what was read to what an engine is asked to do, and the result of what it is never asked."""

from dataclasses import dataclass
from typing import Literal

from evaluator.judge.context import Job
from evaluator.problem.declaration import PrecisionName
from evaluator.problem.problem import ProblemFacts
from evaluator.results.category import CATEGORIES
from evaluator.results.result import Result, now
from evaluator.submission.model import Submission


@dataclass(frozen=True)
class Wishes:
    """How submissions are to be judged; fields are as in Job."""

    timeout_s: float
    precision: PrecisionName | None = None
    shapes: Literal["own", "others", "strict"] = "others"
    protocol: str | None = None
    baselines: tuple[str, ...] = ("eager",)


def make_job(submission: Submission, problem: ProblemFacts, case: str | None, wishes: Wishes) -> Job:
    """The job of a submission that is not rejected, to a problem in one of its cases."""
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
        timeout_s=wishes.timeout_s,
        precision=wishes.precision,
        shapes=wishes.shapes,
        first_line=submission.first_line,
        protocol=wishes.protocol,
        baselines=wishes.baselines,
    )


def rejected(submission: Submission) -> Result:
    """The result of a submission that is rejected."""
    rejection = submission.rejection
    assert rejection is not None
    return Result(
        submission=submission.name,
        block=submission.block,
        author=submission.author,
        sample_id=submission.sample_id,
        problem=submission.problem,
        status=rejection.category.status,
        category=rejection.category,
        message=rejection.message,
        hint=CATEGORIES[rejection.category].hint,
        source_sha256=submission.source_sha256,
        started_at=now(),
        duration_s=0.0,
    )
