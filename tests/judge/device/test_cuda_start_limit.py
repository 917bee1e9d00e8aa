"""Turns at starting CUDA, between threads that stand in for processes."""

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.judge.device import cuda_start_limit
from evaluator.judge.device.cuda_start_limit import STARTS, cuda_start_turn, no_cuda_starts

WITHIN_S = 300.0
"""For what happens at once on a quiet machine."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the locks are. No limit of time ends a test's wait, except for those that the test sets."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for limit in ("TURN_S", "PATIENCE_S", "QUIET_WITHIN_S"):
        monkeypatch.setattr(cuda_start_limit, limit, 2 * WITHIN_S)
    return tmp_path


def start_many(count: int, together: int) -> list[int]:
    """For each turn that began, the number of turns under way. None ends before that many have been under way together."""
    now: list[int] = []
    seen: list[int] = []
    met = threading.Event()

    def start(number: int) -> None:
        with cuda_start_turn(f"GPU-{number % 2}"):
            now.append(number)
            seen.append(len(now))
            if len(now) >= together:
                met.set()
            met.wait(WITHIN_S)
            time.sleep(0.1)  # for one more, if it may
            now.remove(number)

    join(*(started(start, number) for number in range(count)))
    return seen


def started(action: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=action, args=arguments, daemon=True)
    thread.start()
    return thread


def join(*threads: threading.Thread) -> None:
    for thread in threads:
        thread.join(2 * WITHIN_S)
        assert not thread.is_alive()


def test_a_few_start_at_a_time_on_all_devices_together() -> None:
    seen = start_many(2 * STARTS + 1, STARTS)
    assert len(seen) == 2 * STARTS + 1
    assert max(seen) == STARTS


@pytest.mark.parametrize("limit", ["TURN_S", "PATIENCE_S"])
def test_a_start_that_does_not_end_is_waited_for_no_longer_than_that(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(cuda_start_limit, limit, 0.2)
    assert max(start_many(STARTS + 1, STARTS + 1)) == STARTS + 1


def test_nobody_waits_for_a_turn_that_can_t_be_had(folder: Path) -> None:
    (folder / f"assay-start-{STARTS - 1}.lock").symlink_to(folder / "elsewhere")
    assert max(start_many(STARTS + 1, STARTS + 1)) == STARTS + 1
    assert not (folder / "elsewhere").exists()


def test_a_timing_and_a_start_on_its_device_wait_for_each_other() -> None:
    begun, over, done = threading.Event(), threading.Event(), list[str]()

    def start(device_id: str) -> None:
        with cuda_start_turn(device_id):
            begun.set()
            over.wait(WITHIN_S)
            done.append(device_id)

    before = started(start, "GPU-1")
    assert begun.wait(WITHIN_S)
    threading.Timer(0.1, over.set).start()
    with no_cuda_starts("GPU-1"):
        assert done == ["GPU-1"], "it had begun"
        same, other = started(start, "GPU-1"), started(start, "GPU-2")
        join(other)
        time.sleep(0.1)
        assert done == ["GPU-1", "GPU-2"], "another device's timing is none of its business"
    join(before, same)
    assert done == ["GPU-1", "GPU-2", "GPU-1"]


def test_a_timing_does_not_wait_long_for_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_start_limit, "QUIET_WITHIN_S", 0.2)
    start = time.monotonic()
    with cuda_start_turn("GPU-1"), no_cuda_starts("GPU-1"):
        assert 0.2 <= time.monotonic() - start < WITHIN_S


def test_who_waits_for_a_turn_keeps_no_timing_waiting() -> None:
    begun, over = threading.Semaphore(0), threading.Event()

    def start(device_id: str) -> None:
        with cuda_start_turn(device_id):
            begun.release()
            over.wait(2 * WITHIN_S)

    holders = [started(start, f"GPU-{number}") for number in range(STARTS)]
    for _ in holders:
        assert begun.acquire(timeout=WITHIN_S)
    waiting = started(start, "GPU-9")
    time.sleep(0.1)
    start_s = time.monotonic()
    with no_cuda_starts("GPU-9"):
        assert time.monotonic() - start_s < WITHIN_S
    over.set()
    join(*holders, waiting)
