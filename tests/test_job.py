"""Jobs and their results."""

from evaluator.job import result_of
from evaluator.results.category import CATEGORIES, Category, Status
from tests.judge.conftest import make_job


def test_a_result_has_what_its_job_says_unless_something_else_was_observed() -> None:
    job = make_job("class ModelNew: ...")
    result = result_of(job, Category.INTERRUPTED, "interrupted", device="cpu", duration_s=1.5, case="small")
    assert (result.status, result.submission, result.problem) == (Status.NOT_EVALUATED, "test.py", "softmax")
    assert (result.source_sha256, result.case, result.hint) == (job.source_sha256, "small", CATEGORIES[Category.INTERRUPTED].hint)
    assert (result.duration_s, result.speedup, result.evidence.rounds) == (1.5, None, ())
