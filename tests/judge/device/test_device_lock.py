"""The device's lock, between processes."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.judge.device.device_lock import PLACES, DeviceLock, lock_any

HOLDER = """
import sys, tempfile, time
tempfile.tempdir = sys.argv[1]
from evaluator.judge.device.device_lock import DeviceLock
lock = DeviceLock("gpu-1")
lock.acquire()
print("held", flush=True)
if sys.argv[2] == "yield":
    with lock.yielded():
        sys.stdin.readline()
    print("held again", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def hold(folder: Path, mode: str = "") -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), mode],
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


@pytest.fixture
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    yield from hold(folder)


@pytest.fixture
def yielder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    yield from hold(folder, "yield")


def is_free(device_id: str = "gpu-1") -> bool:
    """Whether another process can have it at once."""
    program = "import sys, tempfile, fcntl, os; fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    path = Path(tempfile.gettempdir()) / f"assay-{device_id}.lock"
    return subprocess.run([sys.executable, "-c", program, str(path)], stderr=subprocess.DEVNULL, check=False).returncode == 0


def test_one_process_has_it_until_it_is_killed(holder: subprocess.Popen[str]) -> None:
    assert not is_free()
    holder.send_signal(signal.SIGKILL)
    lock = DeviceLock("gpu-1")
    lock.acquire()
    assert not is_free()
    lock.release()
    assert is_free()
    lock.close()


def test_waiting_ends_when_the_holder_lets_go(holder: subprocess.Popen[str]) -> None:
    lock = DeviceLock("gpu-1")
    waiting = threading.Thread(target=lock.acquire, daemon=True)
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    holder.send_signal(signal.SIGKILL)
    waiting.join(300)
    assert not waiting.is_alive() and lock.held
    lock.close()


def test_others_have_it_while_it_is_yielded(yielder: subprocess.Popen[str]) -> None:
    assert yielder.stdin and yielder.stdout
    lock = DeviceLock("gpu-1")
    lock.acquire()
    yielder.stdin.write("\n")
    yielder.stdin.flush()
    time.sleep(0.2)
    lock.release()
    assert yielder.stdout.readline() == "held again\n"
    assert not is_free()
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
    deadline = time.monotonic() + 300
    while len(prepared) < PLACES and time.monotonic() < deadline:
        time.sleep(0.01)
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
    assert is_free()
    waiting = threading.Thread(target=other.take_place, daemon=True)
    waiting.start()
    waiting.join(0.1)
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
        assert is_free()
    assert begun.held and not is_free()
    for lock in (begun, *waiting):
        lock.close()


def test_places_go_in_the_order_of_arrival(folder: Path) -> None:
    *having, first, second = (DeviceLock("gpu-1") for _ in range(PLACES + 2))
    for lock in having:
        lock.take_place()
    waits = threading.Thread(target=first.take_place, daemon=True)
    waits.start()
    with (folder / "assay-gpu-1-queue.lock").open() as queue:
        while _locks(queue.fileno()):
            time.sleep(0.01)
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


def _locks(descriptor: int) -> bool:
    """Whether it can be locked; it is not locked afterwards."""
    locked = lock_any([descriptor]) is not None
    if locked:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    return locked


def test_who_has_it_waits_for_nobody() -> None:
    lock, other = DeviceLock("gpu-1"), DeviceLock("gpu-1")
    lock.acquire()
    waiting = threading.Thread(target=other.acquire, daemon=True)
    waiting.start()
    time.sleep(0.1)
    again = threading.Thread(target=lock.acquire, daemon=True)
    again.start()
    again.join(300)
    assert not again.is_alive() and waiting.is_alive()
    lock.release()
    waiting.join(300)
    assert not waiting.is_alive()
    lock.close()
    other.close()


def test_yielding_what_is_not_held_takes_nothing() -> None:
    lock = DeviceLock("gpu-1")
    with lock.yielded():
        assert is_free()
    assert is_free()
    lock.release()
    lock.close()


def test_devices_do_not_wait_for_each_other(holder: subprocess.Popen[str]) -> None:
    lock = DeviceLock("gpu-2")
    lock.acquire()
    assert not is_free("gpu-2")
    lock.close()
    assert is_free("gpu-2")


def test_the_file_is_anybodys_and_its_name_is_a_name(folder: Path) -> None:
    DeviceLock("GPU-1/../../x y").close()
    assert {path.name for path in folder.iterdir()} == {
        "assay-GPU-1_______x_y.lock",
        "assay-GPU-1_______x_y-alone.lock",
        "assay-GPU-1_______x_y-queue.lock",
        *(f"assay-GPU-1_______x_y-next-{number}.lock" for number in range(PLACES)),
    }
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o666}


def test_a_link_in_its_place_is_not_followed(folder: Path) -> None:
    (folder / "assay-gpu-1.lock").symlink_to(folder / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        DeviceLock("gpu-1")


def test_who_has_timed_lets_the_next_one_in_but_not_beside_a_timing() -> None:
    first, second, third = (DeviceLock("gpu-1") for _ in range(3))
    first.acquire()
    assert first.is_alone
    first.share()
    assert first.held and not first.is_alone and is_free()
    second.acquire()
    assert second.held and not second.is_alone
    second.share()
    assert not is_free(), "only who is alone may share"
    timing = threading.Thread(target=second.acquire_alone, daemon=True)
    timing.start()
    timing.join(0.2)
    assert timing.is_alive() and not second.is_alone
    first.release()
    timing.join(300)
    assert second.is_alone
    waiting = threading.Thread(target=third.acquire, daemon=True)
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()
    second.release()
    waiting.join(300)
    assert third.is_alone
    for lock in (first, second, third):
        lock.close()


def test_two_that_share_and_both_want_it_alone_get_it_one_after_the_other() -> None:
    first, second = DeviceLock("gpu-1"), DeviceLock("gpu-1")
    first.acquire()
    first.share()
    second.acquire()
    order: list[DeviceLock] = []

    def have_alone(lock: DeviceLock) -> None:
        lock.acquire_alone()
        assert lock.is_alone
        order.append(lock)
        lock.release()

    threads = [threading.Thread(target=have_alone, args=(lock,), daemon=True) for lock in (second, first)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert order == [second, first], "who shares it leaves it first"
    for lock in (first, second):
        lock.close()


@pytest.mark.parametrize("shares", [False, True])
def test_what_was_had_is_had_again_after_a_build(shares: bool) -> None:
    lock, told = DeviceLock("gpu-1"), list[bool]()
    lock.acquire()
    if shares:
        lock.share()
    lock._tell = told.append
    with lock.yielded():
        assert not lock.held and is_free() and is_free("gpu-1-alone")
    assert lock.held and lock.is_alone is not shares and told == ([True, False] if shares else [False, True])
    lock.close()


def test_a_judge_that_dies_while_it_shares_leaves_the_device(folder: Path) -> None:
    if (pid := os.fork()) == 0:
        lock = DeviceLock("gpu-1")
        lock.acquire()
        lock.share()
        os._exit(0)
    os.waitpid(pid, 0)
    lock = DeviceLock("gpu-1")
    lock.acquire()
    assert lock.is_alone
    lock.close()
