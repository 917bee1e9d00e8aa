"""Where an evaluation's seconds go."""

import threading
from types import SimpleNamespace

import pytest

from evaluator.judge import stage_times
from evaluator.judge.stage_times import StageTimes


class Clock:
    """Seconds that pass when a test says so."""

    now_s = 0.0

    def spend(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(stage_times, "time", SimpleNamespace(monotonic=lambda: clock.now_s))
    return clock


def test_each_moment_belongs_to_the_innermost_stage_and_stages_add_up(clock: Clock) -> None:
    times = StageTimes()
    with times.spending("load"):
        clock.spend(1)
        with times.spending("build"):
            clock.spend(4)
        clock.spend(2)
    assert list(times.seconds.items()) == [("load", 3), ("build", 4)]
    assert times.held_seconds == {}


def test_time_with_the_device_is_counted_from_the_moment_it_is_had(clock: Clock) -> None:
    times = StageTimes()
    with times.spending("wait"):
        clock.spend(4)
        times.holding(True)
        clock.spend(1)
    clock.spend(8)
    with times.spending("rounds"):
        clock.spend(2)
        times.holding(False)
        clock.spend(16)
    assert times.held_seconds == {"wait": 1, "rounds": 2}
    assert times.seconds == {"wait": 5, "rounds": 18}


def test_time_that_a_build_waited_is_a_stage_of_its_own(clock: Clock) -> None:
    times = StageTimes()
    with times.spending("build"):
        clock.spend(3)
    times.move(1, "build", "queue")
    assert times.seconds == {"build": 2, "queue": 1}


def test_what_another_thread_does_is_no_stage(clock: Clock) -> None:
    times = StageTimes()

    def work() -> None:
        with times.spending("elsewhere"):
            clock.spend(2)
        times.move(1.0, "elsewhere", "queue")

    with times.spending("prepare"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert times.seconds == {"prepare": 2}
