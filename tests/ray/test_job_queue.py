"""The jobs of a run among hosts that may be lost."""

import threading
from dataclasses import dataclass

import pytest

from evaluator.engine.run import Run
from evaluator.job import Job, result_of
from evaluator.ray.job_queue import ALONE_AFTER, MAX_LOSSES, JobQueue, Loss, QueuedJob
from evaluator.results.category import Category
from evaluator.results.result import Result, now
from tests.engine.contract import delivered
from tests.judge.conftest import make_job

pytestmark = pytest.mark.slow(3)


@dataclass
class Host:
    name: str
    closed: bool = False


def queue_of(names: str) -> JobQueue:
    return JobQueue(Run(iter([make_job("", name=name) for name in names])), "cpu")


def judged(job: Job, category: Category = Category.WRONG_VALUES) -> Result:
    return result_of(job, category, "", device="cpu")


def taken(queue: JobQueue, host: Host) -> QueuedJob:
    queued = queue.take(host)
    assert queued is not None
    return queued


def results_of(queue: JobQueue) -> dict[str, Result]:
    queue.run.fail(None)
    return {job.submission: result for job, result in delivered(queue.run)}


def taking(queue: JobQueue, host: Host) -> tuple[threading.Thread, list[QueuedJob | None]]:
    """A thread that takes the host's next job, and what it took."""
    found: list[QueuedJob | None] = []
    thread = threading.Thread(target=lambda: found.append(queue.take(host)))
    thread.start()
    return thread, found


def loss(host: Host) -> Loss:
    return Loss(host.name, now(), "the lights went out")


def test_every_piece_is_taken_once_and_then_nothing_is_left() -> None:
    queue, host = queue_of("ab"), Host("one")
    queue.join(host)
    for name in "ab":
        queued = taken(queue, host)
        assert queued.job.submission == name and not queue.over
        queue.judged(queued, host, judged(queued.job))
    assert queue.take(host) is None and queue.over
    assert set(results_of(queue)) == {"a", "b"}


def test_what_was_lost_with_its_host_is_taken_by_another_that_has_waited_for_it() -> None:
    queue, host, other = queue_of("a"), Host("one"), Host("other")
    queue.join(host)
    queue.join(other)
    queued = taken(queue, host)
    waiting, found = taking(queue, other)
    waiting.join(0.2)
    assert waiting.is_alive()  # the last job is out, and may come back
    queue.lost(queued, loss(host))
    waiting.join(300)
    assert found == [queued] and [each.host for each in queued.losses] == ["one"]


def test_the_last_host_has_the_piece_to_itself_and_then_it_is_given_up_with_the_evidence() -> None:
    queue = queue_of("ab")
    neighbour = taken(queue, Host("zero"))
    for number in range(MAX_LOSSES):
        host = Host(f"host {number}")
        queued = taken(queue, host)
        assert queued.job.submission == "b" and queued.alone == (number >= ALONE_AFTER)
        queue.lost(queued, loss(host))
    queue.judged(neighbour, Host("zero"), judged(neighbour.job))
    assert queue.take(Host("zero")) is None and queue.over
    results = results_of(queue)
    assert results["a"].category is Category.WRONG_VALUES
    assert results["b"].category is Category.INFRASTRUCTURE_ERROR and results["b"].hint
    lines = results["b"].evidence.detail.splitlines()
    assert [line.split(",")[0] for line in lines] == ["host 0", "host 1", "host 2"]
    assert all("UTC: the lights went out" in line and line in results["b"].message for line in lines)


def test_what_is_put_back_has_lost_nothing() -> None:
    queue, host = queue_of("a"), Host("one")
    for _ in range(2 * MAX_LOSSES):
        queue.put_back(taken(queue, host))
    queued = taken(queue, host)
    assert queued.losses == []


def test_a_machines_failure_is_tried_by_another_host_once() -> None:
    queue, host, other = queue_of("ab"), Host("one"), Host("other")
    queue.join(host)
    queue.join(other)
    first = taken(queue, host)
    queue.judged(first, host, judged(first.job, Category.INFRASTRUCTURE_ERROR))
    assert taken(queue, host).job.submission == "b"  # not the one that it has failed with
    again = taken(queue, other)
    assert again is first
    queue.judged(again, other, judged(again.job, Category.INFRASTRUCTURE_ERROR))
    assert queue.run.in_flight()[0].submission == "a" and results_of(queue)["a"].category is Category.INFRASTRUCTURE_ERROR


def test_a_machines_failure_stands_where_there_is_no_other_host() -> None:
    queue, host = queue_of("a"), Host("one")
    queue.join(host)
    queued = taken(queue, host)
    queue.judged(queued, host, judged(queued.job, Category.INFRASTRUCTURE_ERROR))
    assert queue.take(host) is None
    assert results_of(queue)["a"].category is Category.INFRASTRUCTURE_ERROR


def test_where_the_other_host_leaves_the_first_one_tries_again() -> None:
    queue, host, other = queue_of("a"), Host("one"), Host("other")
    queue.join(host)
    queue.join(other)
    queued = taken(queue, host)
    queue.judged(queued, host, judged(queued.job, Category.INFRASTRUCTURE_ERROR))
    waiting, found = taking(queue, host)
    waiting.join(0.2)
    assert waiting.is_alive()
    queue.leave(other)
    waiting.join(300)
    assert found == [queued]


def test_a_closed_host_takes_nothing_and_the_end_is_heard_of() -> None:
    queue, host, other = queue_of("a"), Host("one"), Host("other")
    assert queue.take(Host("gone", closed=True)) is None
    taken(queue, host)
    waiting, found = taking(queue, other)
    queue.end()
    waiting.join(300)
    assert found == [None] and queue.over
