"""The jobs of a run among hosts that may be lost."""

import threading
from dataclasses import dataclass

from evaluator.engine.ray.job_queue import ALONE_AFTER, MAX_LOSSES, Loss, Piece, Work
from evaluator.engine.run import Run
from evaluator.job import Job, result_of
from evaluator.results.category import Category
from evaluator.results.result import Result, now
from tests.judge.conftest import make_job


@dataclass
class Host:
    name: str
    closed: bool = False


def work_of(names: str) -> Work:
    return Work(Run(iter([make_job("", name=name) for name in names])), "cpu")


def judged(job: Job, category: Category = Category.WRONG_VALUES) -> Result:
    return result_of(job, category, "", device="cpu")


def taken(work: Work, host: Host) -> Piece:
    piece = work.take(host)
    assert piece is not None
    return piece


def delivered(work: Work) -> dict[str, Result]:
    work.run.fail(None)
    return {job.submission: result for job, result in work.run.delivered(1)}


def loss(host: Host) -> Loss:
    return Loss(host.name, now(), "the lights went out")


def test_every_piece_is_taken_once_and_then_nothing_is_left() -> None:
    work, host = work_of("ab"), Host("one")
    work.join(host)
    for name in "ab":
        piece = taken(work, host)
        assert piece.job.submission == name and not work.over
        work.judged(piece, host, judged(piece.job))
    assert work.take(host) is None and work.over
    assert set(delivered(work)) == {"a", "b"}


def test_what_was_lost_with_its_host_is_taken_by_another_that_has_waited_for_it() -> None:
    work, host, other = work_of("a"), Host("one"), Host("other")
    work.join(host)
    work.join(other)
    piece = taken(work, host)
    found: list[Piece | None] = []
    waiting = threading.Thread(target=lambda: found.append(work.take(other)))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()  # the last job is out, and may come back
    work.lost(piece, loss(host))
    waiting.join(10)
    assert found == [piece] and [each.host for each in piece.losses] == ["one"]


def test_the_last_host_has_the_piece_to_itself_and_then_it_is_given_up_with_the_evidence() -> None:
    work = work_of("ab")
    neighbour = taken(work, Host("zero"))
    for number in range(MAX_LOSSES):
        host = Host(f"host {number}")
        piece = taken(work, host)
        assert piece.job.submission == "b" and piece.alone == (number >= ALONE_AFTER)
        work.lost(piece, loss(host))
    work.judged(neighbour, Host("zero"), judged(neighbour.job))
    assert work.take(Host("zero")) is None and work.over
    results = delivered(work)
    assert results["a"].category is Category.WRONG_VALUES
    assert results["b"].category is Category.INFRASTRUCTURE_ERROR and results["b"].hint
    lines = results["b"].evidence.detail.splitlines()
    assert [line.split(",")[0] for line in lines] == ["host 0", "host 1", "host 2"]
    assert all("UTC: the lights went out" in line and line in results["b"].message for line in lines)


def test_what_is_put_back_has_lost_nothing() -> None:
    work, host = work_of("a"), Host("one")
    for _ in range(2 * MAX_LOSSES):
        work.put_back(taken(work, host))
    piece = taken(work, host)
    assert piece.losses == []


def test_a_machines_failure_is_tried_by_another_host_once() -> None:
    work, host, other = work_of("ab"), Host("one"), Host("other")
    work.join(host)
    work.join(other)
    first = taken(work, host)
    work.judged(first, host, judged(first.job, Category.INFRASTRUCTURE_ERROR))
    assert taken(work, host).job.submission == "b"  # not the one that it has failed with
    again = taken(work, other)
    assert again is first
    work.judged(again, other, judged(again.job, Category.INFRASTRUCTURE_ERROR))
    assert work.run.in_flight()[0].submission == "a" and delivered(work)["a"].category is Category.INFRASTRUCTURE_ERROR


def test_a_machines_failure_stands_where_there_is_no_other_host() -> None:
    work, host = work_of("a"), Host("one")
    work.join(host)
    piece = taken(work, host)
    work.judged(piece, host, judged(piece.job, Category.INFRASTRUCTURE_ERROR))
    assert work.take(host) is None
    assert delivered(work)["a"].category is Category.INFRASTRUCTURE_ERROR


def test_where_the_other_host_leaves_the_first_one_tries_again() -> None:
    work, host, other = work_of("a"), Host("one"), Host("other")
    work.join(host)
    work.join(other)
    piece = taken(work, host)
    work.judged(piece, host, judged(piece.job, Category.INFRASTRUCTURE_ERROR))
    found: list[Piece | None] = []
    waiting = threading.Thread(target=lambda: found.append(work.take(host)))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    work.leave(other)
    waiting.join(10)
    assert found == [piece]


def test_a_closed_host_takes_nothing_and_the_end_is_heard_of() -> None:
    work, host, other = work_of("a"), Host("one"), Host("other")
    assert work.take(Host("gone", closed=True)) is None
    taken(work, host)
    found: list[Piece | None] = []
    waiting = threading.Thread(target=lambda: found.append(work.take(other)))
    waiting.start()
    work.end()
    waiting.join(10)
    assert found == [None] and work.over
