"""Where an evaluation's seconds go, by a clock that stands still unless it is moved."""

import threading

import pytest

from evaluator.judge import stage_times
from evaluator.judge.stage_times import StageTimes
from tests.judge.clock import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(stage_times, "time", clock)
    return clock


def test_each_moment_belongs_to_the_innermost_stage(clock: Clock) -> None:
    times = StageTimes()
    with times.spending("load"):
        clock.sleep(1)
        with times.spending("build"):
            clock.sleep(3)
        clock.sleep(1)
    clock.sleep(7)
    assert (times.seconds, times.held_seconds) == ({"load": 2, "build": 3}, {})
    times.move(1, "build", "queue")
    assert times.seconds == {"load": 2, "build": 2, "queue": 1}


def test_time_with_the_device_counts_from_the_moment_it_is_had(clock: Clock) -> None:
    times = StageTimes()
    with times.spending("wait"):
        clock.sleep(3)
        times.holding(True)
        clock.sleep(1)
    clock.sleep(1)
    with times.spending("rounds"):
        clock.sleep(1)
        times.holding(False)
        clock.sleep(1)
    assert times.seconds == {"wait": 4, "rounds": 2}
    assert times.held_seconds == {"wait": 1, "rounds": 1}


def test_work_in_another_thread_is_no_stage(clock: Clock) -> None:
    times = StageTimes()

    def work() -> None:
        with times.spending("elsewhere"):
            clock.sleep(2)
        times.move(1, "elsewhere", "queue")

    with times.spending("prepare"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert times.seconds == {"prepare": 2}
