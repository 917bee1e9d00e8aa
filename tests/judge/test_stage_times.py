"""Where an evaluation's seconds go."""

import threading
import time

from evaluator.judge.stage_times import StageTimes

STEP_S = 0.02


def test_each_moment_belongs_to_the_innermost_stage_and_stages_add_up() -> None:
    times, start = StageTimes(), time.monotonic()
    with times.spending("load"):
        time.sleep(STEP_S)
        with times.spending("build"):
            time.sleep(3 * STEP_S)
        time.sleep(STEP_S)
    whole_s = time.monotonic() - start
    assert list(times.seconds) == ["load", "build"]
    assert 2 * STEP_S <= times.seconds["load"] < times.seconds["build"] < whole_s
    assert abs(sum(times.seconds.values()) - whole_s) < STEP_S / 2
    assert times.held_seconds == {}


def test_time_with_the_device_is_counted_from_the_moment_it_is_had() -> None:
    times = StageTimes()
    with times.spending("wait"):
        time.sleep(3 * STEP_S)
        times.holding(True)
        time.sleep(STEP_S)
    time.sleep(STEP_S)
    with times.spending("rounds"):
        time.sleep(STEP_S)
        times.holding(False)
        time.sleep(STEP_S)
    assert STEP_S <= times.held_seconds["wait"] < 3 * STEP_S <= times.seconds["wait"]
    assert STEP_S <= times.held_seconds["rounds"] < 2 * STEP_S <= times.seconds["rounds"]


def test_time_that_a_build_waited_is_a_stage_of_its_own() -> None:
    times = StageTimes()
    with times.spending("build"):
        time.sleep(2 * STEP_S)
    before_s = sum(times.seconds.values())
    times.move(STEP_S, "build", "queue")
    assert times.seconds["queue"] == STEP_S and sum(times.seconds.values()) == before_s


def test_what_another_thread_does_is_no_stage() -> None:
    times = StageTimes()

    def work() -> None:
        with times.spending("elsewhere"):
            time.sleep(2 * STEP_S)
        times.move(1.0, "elsewhere", "queue")

    with times.spending("prepare"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert list(times.seconds) == ["prepare"] and times.seconds["prepare"] >= 2 * STEP_S
