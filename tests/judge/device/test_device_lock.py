"""The device's lock, between processes."""

import functools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluator.judge.device.device_lock import PLACES, SHARERS, DeviceLock, is_free, lock_any, sharers_on

HOLDER = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from evaluator.judge.device.device_lock import DeviceLock
lock = DeviceLock("gpu-1")
lock.acquire_exclusive()
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()


def can_enter(device_id: str = "gpu-1") -> bool:
    """Whether another judge can share it at once."""
    other = DeviceLock(device_id)
    try:
        return lock_any([other._turn]) is not None and other._can_share()
    finally:
        other.close()


def is_unused(device_id: str = "gpu-1") -> bool:
    """Whether no judge has it or shares it."""
    with (Path(tempfile.gettempdir()) / f"assay-{device_id}.lock").open("rb+") as file:
        return is_free(file.fileno())


def begin(action: Callable[[], None]) -> threading.Thread:
    """A thread that has begun to wait, if the action has to."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(0.15)
    return thread


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_one_process_has_it_until_it_is_killed(holder: subprocess.Popen[str]) -> None:
    assert not can_enter()
    holder.send_signal(signal.SIGKILL)
    lock = DeviceLock("gpu-1")
    lock.acquire_exclusive()
    assert not can_enter()
    lock.release()
    assert can_enter()
    lock.close()


def test_a_few_share_it_and_the_next_waits_for_one_of_them() -> None:
    *sharing, last = (DeviceLock("gpu-1") for _ in range(SHARERS + 1))
    for lock in sharing:
        lock.acquire()
    waiting = begin(last.acquire)
    assert all(lock.held for lock in sharing) and waiting.is_alive()
    sharing[1].release()
    waiting.join(300)
    assert last.held
    for lock in (*sharing, last):
        lock.close()


def test_on_a_cpu_nobody_shares() -> None:
    lock, other = (DeviceLock("cpu-1", sharers=sharers_on("cpu")) for _ in range(2))
    lock.acquire()
    waiting = begin(other.acquire)
    lock.acquire_exclusive()
    assert waiting.is_alive() and lock.is_exclusive
    lock.release()
    waiting.join(300)
    assert other.is_exclusive and other.is_alone
    for each in (lock, other):
        each.close()


def test_a_timing_waits_for_those_that_share_and_lets_nobody_else_in() -> None:
    sharing, timing, begun, new = (DeviceLock("gpu-1") for _ in range(4))
    begun.acquire()
    begun.release()
    for lock in (sharing, timing):
        lock.acquire()
    timed = begin(timing.acquire_exclusive)
    assert timed.is_alive() and not can_enter()
    waiting = [begin(lock.acquire) for lock in (begun, new)]
    sharing.release()
    timed.join(300)
    assert timing.is_exclusive and all(each.is_alive() for each in waiting)
    timing.release()
    for each in waiting:
        each.join(300)
    assert begun.held and new.held
    for lock in (sharing, timing, begun, new):
        lock.close()


def test_who_waits_for_a_timing_goes_before_who_has_not_had_it() -> None:
    *timings, new = (DeviceLock("gpu-1") for _ in range(4))
    order: list[int] = []

    def time_alone(number: int) -> None:
        timings[number].acquire_exclusive()
        order.append(number)
        time.sleep(0.2)  # the next one is in line by then
        timings[number].release()

    for lock in timings:
        lock.acquire()
    first = begin(lambda: timings[0].acquire_exclusive())

    def begin_later() -> None:
        new.acquire()
        order.append(3)

    later = begin(begin_later)
    others = [begin(lambda: time_alone(1)), begin(lambda: time_alone(2))]
    first.join(300)
    assert timings[0].is_exclusive and not new.held
    timings[0].release()
    for each in (*others, later):
        each.join(300)
    assert sorted(order) == [1, 2, 3] and order[-1] == 3
    for lock in (*timings, new):
        lock.close()


def test_timings_follow_each_other_while_a_judge_that_has_begun_waits_to_share() -> None:
    first, second, begun = (DeviceLock("gpu-1") for _ in range(3))
    for lock in (begun, second):
        lock.acquire()
        lock.release()
    first.acquire_exclusive()
    shares = begin(begun.acquire)  # in line first
    times = begin(second.acquire_exclusive)
    assert shares.is_alive() and times.is_alive()
    first.release()
    times.join(300)
    assert second.is_exclusive and shares.is_alive()
    second.release()
    shares.join(300)
    assert begun.held and not begun.is_wanted
    for lock in (first, second, begun):
        lock.close()


def test_after_a_timing_those_that_wait_for_one_go_first() -> None:
    lock, other = DeviceLock("gpu-1"), DeviceLock("gpu-1")
    other.acquire()
    other.release()
    lock.acquire_exclusive()
    waiting = begin(other.acquire_exclusive)
    shares = begin(lock.share)
    waiting.join(300)
    assert other.is_exclusive and shares.is_alive()
    other.release()
    shares.join(300)
    assert lock.held and can_enter()
    for each in (lock, other):
        each.close()


def test_between_calls_a_sharing_judge_lets_a_timing_go_first() -> None:
    sharing, timed = DeviceLock("gpu-1"), DeviceLock("gpu-1")
    sharing.acquire()
    assert sharing.held and not sharing.is_wanted
    order: list[str] = []

    def time() -> None:
        timed.acquire()
        timed.acquire_exclusive()
        order.append("timed")
        timed.release()

    thread = begin(time)
    wait_until(lambda: sharing.is_wanted)
    assert not order
    with sharing.yielded():
        pass
    order.append("went on")
    thread.join()
    assert order == ["timed", "went on"] and sharing.held and not sharing.is_wanted
    for lock in (sharing, timed):
        lock.close()


def test_it_is_known_whether_another_has_shared_it() -> None:
    first, second = DeviceLock("gpu-1"), DeviceLock("gpu-1")
    first.acquire()
    assert first.is_alone
    second.acquire()
    assert not first.is_alone and not second.is_alone
    second.release()
    assert not first.is_alone, "what failed may have failed before the other left"
    third = DeviceLock("gpu-1")
    for lock in (first, second):
        lock.close()
    third.acquire()
    assert third.is_alone
    third.close()


def test_who_is_alone_waits_for_the_end_of_all_others_and_lets_none_begin() -> None:
    lock, other, late = (DeviceLock("gpu-1") for _ in range(3))
    for each in (lock, other):
        each.acquire()
    other.release()  # its workers keep their memory
    waiting = begin(lock.acquire_alone)
    later = begin(late.acquire)
    other.acquire()
    assert other.held and waiting.is_alive()
    other.close()
    waiting.join(300)
    assert lock.is_alone and lock.is_exclusive
    assert later.is_alive()
    lock.close()
    later.join(300)
    assert late.is_alone
    late.close()


def test_who_is_alone_lets_others_in_during_a_build_and_waits_for_their_end() -> None:
    lock, other = DeviceLock("gpu-1"), DeviceLock("gpu-1")
    lock.acquire_alone()
    with lock.yielded():
        other.acquire()
        ends = threading.Timer(0.2, other.close)
        ends.start()
    assert lock.is_alone and lock.is_exclusive and not other.held
    ends.join()
    lock.release()
    with lock.yielded():
        assert can_enter()
    assert not lock.held, "what was not held is not held afterwards"
    lock.close()


def test_other_threads_yield_nothing_and_a_release_waits_until_all_is_settled() -> None:
    settled: list[bool] = []
    lock = DeviceLock("gpu-1", settle=lambda: settled.append(lock.held))
    lock.acquire_exclusive()
    settled.clear()

    def build() -> None:
        with lock.yielded():
            assert lock.held

    begin(build).join(300)
    assert lock.held and settled == []
    lock.release()
    assert settled == [True] and is_unused()
    lock.close()


def test_two_that_want_to_be_alone_are_so_one_after_the_other() -> None:
    locks, alone = [DeviceLock("gpu-1") for _ in range(3)], list[bool]()

    def be_alone(lock: DeviceLock) -> None:
        lock.acquire_alone()
        alone.append(lock.is_alone and sum(each.held for each in locks) == 1)
        lock.close()

    for lock in locks:
        lock.acquire()
    threads = [begin(functools.partial(be_alone, lock)) for lock in locks]
    for thread in threads:
        thread.join(300)
    assert alone == [True] * 3


def test_a_file_that_anybody_has_written_to_lets_everybody_in(folder: Path) -> None:
    lock = DeviceLock("gpu-1")
    (folder / "assay-gpu-1-begun.lock").write_bytes(b"\xff" * 9)
    lock.acquire()
    assert lock.held and lock.is_alone
    lock.close()


def test_a_few_of_those_that_wait_prepare_while_another_has_it(holder: subprocess.Popen[str]) -> None:
    prepared: list[int] = []
    locks = [DeviceLock("gpu-1") for _ in range(PLACES + 2)]

    def wait(number: int) -> None:
        locks[number].take_place()
        prepared.append(number)
        locks[number].acquire()
        locks[number].release()

    threads = [threading.Thread(target=wait, args=(number,)) for number in range(len(locks))]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(prepared) >= PLACES)
    time.sleep(0.2)  # for one more, if it may
    assert len(prepared) == PLACES
    holder.send_signal(signal.SIGKILL)
    for thread in threads:
        thread.join(300)
    assert sorted(prepared) == list(range(len(locks)))
    for lock in locks:
        lock.close()


def test_a_place_that_is_given_up_is_the_next_ones() -> None:
    *locks, other = (DeviceLock("gpu-1") for _ in range(PLACES + 1))
    for lock in locks:
        lock.take_place()
    assert is_unused()
    waiting = begin(other.take_place)
    assert waiting.is_alive()
    for lock in locks:
        lock.release()
    waiting.join(300)
    assert not waiting.is_alive()
    for lock in (*locks, other):
        lock.close()


def test_who_has_begun_needs_no_place_again() -> None:
    begun, *waiting = (DeviceLock("gpu-1") for _ in range(PLACES + 1))
    begun.acquire()
    for lock in waiting:
        lock.take_place()
    with begun.yielded():
        assert is_unused()
    assert begun.held
    for lock in (begun, *waiting):
        lock.close()


def test_places_go_in_the_order_of_arrival(folder: Path) -> None:
    *having, first, second = (DeviceLock("gpu-1") for _ in range(PLACES + 2))
    for lock in having:
        lock.take_place()
    waits = threading.Thread(target=first.take_place, daemon=True)
    waits.start()
    with (folder / "assay-gpu-1-queue.lock").open() as queue:
        wait_until(lambda: not is_free(queue.fileno()))
    comes_later = threading.Thread(target=second.take_place, daemon=True)
    comes_later.start()
    having[0].release()
    waits.join(300)
    comes_later.join(0.2)
    assert not waits.is_alive() and comes_later.is_alive()
    first.release()
    comes_later.join(300)
    assert not comes_later.is_alive()
    for lock in (*having, first, second):
        lock.close()


def test_who_has_it_waits_for_nobody() -> None:
    lock, other = DeviceLock("gpu-1"), DeviceLock("gpu-1")
    lock.acquire_exclusive()
    waiting = begin(other.acquire)
    for again in (begin(lock.acquire), begin(lock.acquire_exclusive)):
        again.join(300)
        assert not again.is_alive() and waiting.is_alive()
    lock.release()
    waiting.join(300)
    assert not waiting.is_alive()
    lock.close()
    other.close()


def test_devices_do_not_wait_for_each_other(holder: subprocess.Popen[str]) -> None:
    lock = DeviceLock("gpu-2")
    lock.acquire_exclusive()
    assert not can_enter("gpu-2")
    lock.close()
    assert can_enter("gpu-2")


def test_the_file_is_anybodys_and_its_name_is_a_name(folder: Path) -> None:
    DeviceLock("GPU-1/../../x y").close()
    assert {path.name for path in folder.iterdir()} == {
        "assay-GPU-1_______x_y.lock",
        "assay-GPU-1_______x_y-turn.lock",
        "assay-GPU-1_______x_y-wanted.lock",
        "assay-GPU-1_______x_y-begun.lock",
        "assay-GPU-1_______x_y-queue.lock",
        *(f"assay-GPU-1_______x_y-next-{number}.lock" for number in range(PLACES)),
        *(f"assay-GPU-1_______x_y-share-{number}.lock" for number in range(SHARERS)),
    }
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o666}


def test_a_link_in_its_place_is_not_followed(folder: Path) -> None:
    (folder / "assay-gpu-1.lock").symlink_to(folder / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        DeviceLock("gpu-1")


@pytest.mark.parametrize("alone", [False, True])
def test_what_was_had_is_had_again_after_a_build(alone: bool) -> None:
    lock, told = DeviceLock("gpu-1"), list[bool]()
    (lock.acquire_exclusive if alone else lock.acquire)()
    lock._tell = told.append
    with lock.yielded():
        assert not lock.held and is_unused()
    assert lock.held and can_enter() is not alone and told == [False, True] * alone
    lock.close()


def test_a_judge_that_dies_while_it_shares_leaves_the_device(folder: Path) -> None:
    if (pid := os.fork()) == 0:
        DeviceLock("gpu-1").acquire()
        os._exit(0)
    os.waitpid(pid, 0)
    assert is_unused()
    lock = DeviceLock("gpu-1")
    lock.acquire()
    assert lock.is_alone
    lock.close()
