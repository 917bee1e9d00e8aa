"""Where an evaluation's seconds go, by a clock that stands still unless it is moved."""

import threading
from types import SimpleNamespace

import pytest

from evaluator.judge import stage_times
from evaluator.judge.stage_times import StageTimes


class Clock:
    """Seconds that pass as a test says."""

    now_s = 100.0

    def passes(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(stage_times, "time", SimpleNamespace(monotonic=lambda: clock.now_s))
    return clock


def test_each_moment_belongs_to_the_innermost_stage(clock: Clock) -> None:
    times = StageTimes()
    with times.spending("load"):
        clock.passes(1)
        with times.spending("build"):
            clock.passes(3)
        clock.passes(1)
    clock.passes(7)
    assert (times.seconds, times.held_seconds) == ({"load": 2, "build": 3}, {})
    times.move(1, "build", "queue")
    assert times.seconds == {"load": 2, "build": 2, "queue": 1}


def test_time_with_the_device_counts_from_the_moment_it_is_had(clock: Clock) -> None:
    times = StageTimes()
    with times.spending("wait"):
        clock.passes(3)
        times.holding(True)
        clock.passes(1)
    clock.passes(1)
    with times.spending("rounds"):
        clock.passes(1)
        times.holding(False)
        clock.passes(1)
    assert times.seconds == {"wait": 4, "rounds": 2}
    assert times.held_seconds == {"wait": 1, "rounds": 1}


def test_work_in_another_thread_is_no_stage(clock: Clock) -> None:
    times = StageTimes()

    def work() -> None:
        with times.spending("elsewhere"):
            clock.passes(2)
        times.move(1, "elsewhere", "queue")

    with times.spending("prepare"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert times.seconds == {"prepare": 2}
