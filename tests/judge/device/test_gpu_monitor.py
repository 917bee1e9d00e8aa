"""The device's state during a timing: when it is read, and the disturbances that follow."""

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluator.judge.device import cpu_contention as crowding_module
from evaluator.judge.device import gpu_monitor
from evaluator.judge.device.cpu_contention import OWN, CpuContention, waited_s
from evaluator.judge.device.gpu_monitor import LOOK_EVERY_S, MOST_LOOKS, GpuMonitor, watch_of
from evaluator.judge.device.nvml import Nvml
from evaluator.machine.devices import choose, cpu
from evaluator.results.evidence import ConditionsEvidence
from evaluator.results.evidence.device import CROWDED_SHARE
from tests.judge.clock import Clock
from tests.judge.stand_in_nvml import UUID, StandIn


def watching(library: StandIn, count_others: Callable[[list[int] | None], int | None] = lambda _: 0) -> GpuMonitor:
    return GpuMonitor(Nvml.open(UUID, library), count_others)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(gpu_monitor, "time", clock)
    return clock


def in_turn(*values: int) -> Callable[[], int]:
    """A function that returns these, then the last for ever."""
    following = itertools.chain(values, itertools.repeat(values[-1]))
    return lambda: next(following)


def test_a_timing_has_a_state_before_during_and_after_it(clock: Clock) -> None:
    watch = watching(StandIn())
    with watch.timing("timing"):
        watch.look()
        clock.sleep(LOOK_EVERY_S * 1.5)
        watch.look()
        watch.look()
        clock.sleep(LOOK_EVERY_S)
    states = [(state.stage, state.at_s) for state in watch.states]
    assert states == [("before timing", 0), ("timing", round(LOOK_EVERY_S * 1.5, 6)), ("after timing", round(LOOK_EVERY_S * 2.5, 6))]


def test_looking_takes_no_more_than_its_share_of_the_time(clock: Clock) -> None:
    def slow() -> int:
        clock.sleep(0.02)
        return 0

    watch = watching(StandIn(reasons=slow))
    looks = []
    with watch.timing("timing"):
        for _ in range(2):
            clock.sleep(0.39)
            watch.look()
            looks.append(len(watch.states))
            clock.sleep(0.02)
            watch.look()
            looks.append(len(watch.states))
    assert looks == [1, 2, 2, 3], "the next look is due after 20 times what the last has taken"


def test_there_is_an_end_to_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluator.judge.device.gpu_monitor.LOOK_EVERY_S", 0.0)
    monkeypatch.setattr("evaluator.judge.device.gpu_monitor.LOOK_SHARE", 1e9)
    watch = watching(StandIn())
    with watch.timing("timing"):
        for _ in range(3 * MOST_LOOKS):
            watch.look()
    assert len(watch.states) == MOST_LOOKS + 2


@pytest.mark.parametrize(
    ("reasons", "throttled"),
    [
        ((0,), ""),
        ((0x1, 0x4, 0x2 | 0x10 | 0x100), ""),
        ((0x4, 0x20, 0x4), "sw_thermal_slowdown"),
        ((0x80, 0x8), "hw_slowdown, hw_power_brake_slowdown"),
    ],
)
def test_only_what_is_wrong_counts_as_throttled(reasons: tuple[int, ...], throttled: str, clock: Clock) -> None:
    watch = watching(StandIn(reasons=in_turn(*reasons)))
    with watch.timing("timing"):
        clock.sleep(LOOK_EVERY_S)
        watch.look()
    conditions = watch.conditions()
    assert (conditions.shared, conditions.throttled) == (False, throttled)
    assert conditions.disturbed is bool(throttled)


def test_a_clock_lowered_between_two_readings_is_counted_and_a_moment_of_it_is_not(clock: Clock) -> None:
    for lowered_ns, throttled in ((50_000_000, "hw_thermal_slowdown"), (100_000, "")):
        counts = in_turn(1_000_000_000, 1_000_000_000 + lowered_ns)
        watch = watching(StandIn(lowered_ns=lambda counts=counts: {270: counts()}))  # type: ignore[misc]
        with watch.timing("timing"):
            clock.sleep(0.1)
        assert watch.conditions().throttled == throttled


def test_company_is_seen_where_one_reading_shows_it(clock: Clock) -> None:
    company = in_turn(0, 2, 0)
    watch = watching(StandIn(), lambda _: company())
    with watch.timing("timing"):
        clock.sleep(LOOK_EVERY_S)
        watch.look()
    assert watch.conditions().shared is True and watch.conditions().disturbed


def test_what_is_not_told_is_not_known_and_disturbs_nothing() -> None:
    silent = StandIn(
        refused=frozenset({"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetFieldValues", "nvmlDeviceGetViolationStatus"})
    )
    for watch in (watching(silent, lambda _: None), GpuMonitor(None)):
        with watch.timing("timing"):
            watch.look()
        conditions = watch.conditions()
        assert conditions.shared is None and conditions.throttled is None
        assert not conditions.disturbed and conditions.remark == ""


def test_a_timing_that_fails_has_its_states_all_the_same() -> None:
    watch = watching(StandIn())
    with pytest.raises(ZeroDivisionError), watch.timing("timing"):
        raise ZeroDivisionError
    assert [state.stage for state in watch.states] == ["before timing", "after timing"]


def test_the_processor_has_no_such_state() -> None:
    assert watch_of(cpu()) is None


@pytest.mark.parametrize(
    ("conditions", "remark"),
    [
        (ConditionsEvidence(shared=False, throttled="", repeated=True), ""),
        (ConditionsEvidence(shared=True, throttled=""), "others' processes were on the device"),
        (ConditionsEvidence(crowded=CROWDED_SHARE), ""),
        (ConditionsEvidence(slow_requests=True), "empty requests took too long beside its calls"),
        (ConditionsEvidence(crowded=0.434), "there were too few CPU cores (43% of the time)"),
        (
            ConditionsEvidence(shared=True, throttled="hw_slowdown", repeated=True),
            "others' processes were on the device and its clock was lowered (hw_slowdown), in a second timing too",
        ),
    ],
)
def test_what_is_said_of_disturbed_times(conditions: ConditionsEvidence, remark: str) -> None:
    assert conditions.remark == remark


def spin(until_s: float) -> None:
    while time.monotonic() < until_s:
        pass


@pytest.fixture
def crowd() -> Iterator[None]:
    """Eight processes that want the processor which this thread is kept to."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    command = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(8)]
    try:
        for other in others:
            assert other.stdout is not None
            other.stdout.readline()
        yield
    finally:
        for other in others:
            other.kill()
            other.communicate()
        os.sched_setaffinity(0, before)


@pytest.mark.slow(15)
@pytest.mark.usefixtures("crowd")
@pytest.mark.skipif(waited_s(OWN) is None, reason="this kernel does not say how long a thread waits for a processor")
def test_processors_that_others_have_are_counted() -> None:
    watch = watching(StandIn())
    with watch.timing("timing"):
        spin(time.monotonic() + 4.0)  # a pause of the machine is no wait for a processor
    conditions = watch.conditions()
    assert conditions.crowded is not None and conditions.crowded > 0.5
    assert conditions.is_crowded and not conditions.disturbed


@pytest.mark.slow(15)
@pytest.mark.usefixtures("crowd")
@pytest.mark.skipif(waited_s(OWN) is None, reason="this kernel does not say how long a thread waits for a processor")
def test_a_worker_that_waits_for_a_processor_is_counted_and_one_that_sleeps_is_not() -> None:
    with subprocess.Popen([sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        shares = []
        for workers in ([worker.pid], [], [2**22 + 1]):
            crowding = CpuContention(workers)
            time.sleep(4)  # of which even a busy machine keeps it waiting for little
            shares.append(crowding.share())
        worker.kill()
    assert shares[0] is not None and shares[0] > 0.5
    assert all(share is not None and share < 0.2 for share in shares[1:])


def test_of_a_moment_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowding_module, "LEAST_S", 600.0)
    assert CpuContention().share() is None


def test_where_the_kernel_does_not_tell_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowding_module, "PROC", tmp_path)
    crowding = CpuContention([1])
    time.sleep(2 * crowding_module.LEAST_S)
    assert crowding.share() is None
    for name, text in ((OWN, "0 0 0\n"), ("1", "5000000000 x 3\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "schedstat").write_text(text)
        assert waited_s(name) is None
    assert not ConditionsEvidence(shared=False, crowded=None).is_crowded


@pytest.mark.gpu
def test_reading_a_gpu_takes_little() -> None:
    device, _ = choose("cuda")
    watch = watch_of(device)
    assert watch is not None
    with watch.timing("timing"):
        watch.look()
    start = time.perf_counter()
    with watch.timing("timing"):
        pass
    took_ms = (time.perf_counter() - start) * 1e3 / 2
    print(f"one reading takes {took_ms:.2f} ms", watch.states[-1], watch.conditions())
    assert took_ms < 50
