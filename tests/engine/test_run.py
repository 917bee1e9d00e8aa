"""Jobs on their way to judges: each is in flight from the moment it is drawn until its result has been delivered."""

import itertools

import pytest

from evaluator.category import Category
from evaluator.engine.local import unjudged
from evaluator.engine.run import Run
from evaluator.judge.bench import Job
from evaluator.result import Result
from tests.judge.conftest import make_job

JOBS = [make_job("", name=name) for name in "abc"]


def result_of(job: Job) -> Result:
    return unjudged(job, Category.INTERRUPTED, "", "cpu")


def names(run: Run) -> list[str]:
    return [job.submission for job in run.in_flight()]


def test_every_job_is_drawn_once_and_delivered_once() -> None:
    run = Run(iter(JOBS))
    drawn = [run.draw() for _ in range(4)]
    assert drawn[3] is None
    assert names(run) == ["a", "b", "c"]
    for each in reversed(drawn[:3]):
        assert each is not None
        run.finish(each[0], result_of(each[1]))
    run.fail(None)
    left = []
    for job, result in run.delivered(1):
        assert result.submission == job.submission
        left.append((job.submission, names(run)))
    assert left == [("c", ["a", "b"]), ("b", ["a"]), ("a", [])]


def test_a_result_that_was_not_delivered_leaves_its_job_in_flight() -> None:
    run = Run(iter(JOBS))
    for _ in range(2):
        drawn = run.draw()
        assert drawn is not None
        run.finish(drawn[0], result_of(drawn[1]))
    delivered = run.delivered(1)
    assert next(delivered)[0].submission == "a"
    run.end()
    assert names(run) == ["b"]


def test_what_ends_after_the_run_is_forgotten() -> None:
    run = Run(iter(JOBS))
    drawn = run.draw()
    assert drawn is not None
    run.end()
    assert names(run) == ["a"]
    run.finish(drawn[0], result_of(drawn[1]))
    assert names(run) == []
    assert run.draw() is None


def test_a_job_that_comes_after_the_end_is_not_taken() -> None:
    def jobs() -> itertools.chain[Job]:
        run.end()
        return itertools.chain(JOBS)

    run = Run(job for several in [jobs] for job in several())
    assert run.draw() is None
    assert names(run) == []


def test_an_error_is_raised_before_what_comes_after_it() -> None:
    run = Run(iter(JOBS))
    run.fail(OSError("gone"))
    run.fail(None)
    with pytest.raises(OSError, match="gone"):
        list(run.delivered(1))
