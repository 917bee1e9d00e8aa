"""What an evaluation under way does where its parts fail."""

from concurrent.futures import Future

import pytest

from evaluator.judge.attempt import Attempt
from evaluator.judge.bench import Bench
from evaluator.judge.session import Worker
from evaluator.judge.timing import BaselineFailedError
from evaluator.problem import SHIPPED, load
from tests.judge.conftest import make_job


@pytest.mark.parametrize("early", [True, False])
def test_a_baseline_that_failed_beside_another_submission_is_started_again(bench: Bench, early: bool) -> None:
    problem = load(SHIPPED / "softmax.py")
    attempt = Attempt(bench, make_job("class ModelNew: pass"), problem, problem.instance("small"), lambda _: None)
    attempt._ready, attempt._prepared_early = Future[Worker](), early
    attempt._ready.set_exception(BaselineFailedError("CUDA out of memory"))
    try:
        if early:
            assert attempt._take_baseline().failure == ""
        else:
            with pytest.raises(BaselineFailedError):
                attempt._take_baseline()
    finally:
        attempt.close()
