"""Jobs on their way to judges: each is in flight from the moment it is drawn until its result has been delivered."""

import itertools
import threading

import pytest

from evaluator.engine.run import Run
from evaluator.job import Job, result_of
from evaluator.results.category import Category
from evaluator.results.result import Result
from tests.engine.contract import delivered
from tests.judge.conftest import make_job

JOBS = [make_job("", name=name) for name in "abc"]


def judged(job: Job) -> Result:
    return result_of(job, Category.INTERRUPTED, "", device="cpu")


def finish_next(run: Run) -> None:
    """Draw a job and have its result delivered."""
    drawn = run.draw()
    assert drawn is not None
    run.finish(drawn[0], judged(drawn[1]))


def names(run: Run) -> list[str]:
    return [job.submission for job in run.in_flight()]


def test_every_job_is_drawn_once_and_delivered_once() -> None:
    run = Run(iter(JOBS))
    drawn = [run.draw() for _ in range(4)]
    assert drawn[3] is None
    assert names(run) == ["a", "b", "c"]
    for each in reversed(drawn[:3]):
        assert each is not None
        run.finish(each[0], judged(each[1]))
    run.fail(None)
    left = []
    for job, result in delivered(run):
        assert result.submission == job.submission
        left.append((job.submission, names(run)))
    assert left == [("c", ["a", "b"]), ("b", ["a"]), ("a", [])]


def test_a_result_that_was_not_delivered_leaves_its_job_in_flight() -> None:
    run = Run(iter(JOBS))
    for _ in range(2):
        finish_next(run)
    results = delivered(run)
    assert next(results)[0].submission == "a"
    run.end()
    assert names(run) == ["b"]


def test_what_ends_after_the_run_is_forgotten() -> None:
    run = Run(iter(JOBS))
    drawn = run.draw()
    assert drawn is not None
    run.end()
    assert names(run) == ["a"]
    run.finish(drawn[0], judged(drawn[1]))
    assert names(run) == []
    assert run.draw() is None


def test_a_job_that_comes_after_the_end_is_not_taken() -> None:
    def jobs() -> itertools.chain[Job]:
        run.end()
        return itertools.chain(JOBS)

    run = Run(job for several in [jobs] for job in several())
    assert run.draw() is None
    assert names(run) == []


def test_no_more_are_drawn_than_may_be_in_flight() -> None:
    run = Run(iter(JOBS), limit=2)
    drawn = [run.draw(), run.draw()]
    third: list[object] = []
    thread = threading.Thread(target=lambda: third.append(run.draw()))
    thread.start()
    thread.join(0.2)
    assert third == [] and names(run) == ["a", "b"]
    assert drawn[0] is not None
    run.finish(drawn[0][0], judged(drawn[0][1]))
    assert next(delivered(run))[0].submission == "a"
    thread.join(300)
    assert len(third) == 1 and names(run) == ["b", "c"]


def test_the_end_is_heard_of_by_who_waits_for_room() -> None:
    run = Run(iter(JOBS), limit=1)
    run.draw()
    drawn: list[object] = []
    thread = threading.Thread(target=lambda: drawn.append(run.draw()))
    thread.start()
    run.end()
    thread.join(300)
    assert drawn == [None]


def test_what_has_come_arrives_together_and_is_in_flight_until_it_is_taken() -> None:
    run = Run(iter(JOBS))
    for _ in range(3):
        finish_next(run)
    run.fail(None)
    arrivals = run.arrivals(1, most=2)
    first = next(arrivals)
    assert names(run) == ["a", "b", "c"]
    assert [(job.submission, result.submission) for job, result in first.take()] == [("a", "a"), ("b", "b")]
    assert names(run) == ["c"]
    assert [job.submission for arrival in arrivals for job, _ in arrival.take()] == ["c"]


def test_what_came_before_an_error_arrives_before_it() -> None:
    run = Run(iter(JOBS))
    finish_next(run)
    run.fail(OSError("gone"))
    arrivals = run.arrivals(1)
    assert len(next(arrivals).results) == 1
    run.fail(None)
    with pytest.raises(OSError, match="gone"):
        next(arrivals)


def test_a_settled_result_is_known_as_long_as_its_job_is_in_flight() -> None:
    run = Run(iter(JOBS))
    first, second = run.draw(), run.draw()
    assert first is not None and second is not None
    result = judged(first[1])
    run.settle(first[0], result)
    assert run.settled(first[1]) == result and run.settled(second[1]) is None
    run.end()
    assert run.settled(first[1]) is not None
    assert run.land(first[0]) is first[1] and run.settled(first[1]) is None
