"""Turns at starting CUDA, between threads that stand in for processes."""

import tempfile
import threading
import time
from pathlib import Path

import pytest

from evaluator.judge.device import cuda_start_limit
from evaluator.judge.device.cuda_start_limit import STARTS, cuda_start_turn, no_cuda_starts


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def start_many(count: int, hold_s: float) -> list[int]:
    """For each turn that began, the number of turns under way."""
    now: list[int] = []
    seen: list[int] = []

    def start(number: int) -> None:
        with cuda_start_turn(f"GPU-{number % 2}"):
            now.append(number)
            seen.append(len(now))
            time.sleep(hold_s)
            now.remove(number)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    return seen


def test_a_few_start_at_a_time_on_all_devices_together() -> None:
    seen = start_many(2 * STARTS + 1, 0.1)
    assert len(seen) == 2 * STARTS + 1
    assert max(seen) == STARTS


@pytest.mark.parametrize("limit", ["TURN_S", "PATIENCE_S"])
def test_a_start_that_does_not_end_is_waited_for_no_longer_than_that(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(cuda_start_limit, limit, 0.2)
    start = time.monotonic()
    assert max(start_many(STARTS + 1, 1.0)) == STARTS + 1
    assert time.monotonic() - start < 1.5


def test_nobody_waits_for_a_turn_that_can_t_be_had(folder: Path) -> None:
    (folder / f"assay-start-{STARTS - 1}.lock").symlink_to(folder / "elsewhere")
    assert max(start_many(STARTS + 1, 0.3)) == STARTS + 1
    assert not (folder / "elsewhere").exists()


def test_a_timing_and_a_start_on_its_device_wait_for_each_other() -> None:
    done: list[str] = []

    def start(device_id: str) -> None:
        with cuda_start_turn(device_id):
            time.sleep(0.1)
            done.append(device_id)

    before = threading.Thread(target=start, args=("GPU-1",))
    before.start()
    time.sleep(0.05)
    with no_cuda_starts("GPU-1"):
        assert done == ["GPU-1"], "it had begun"
        threads = [threading.Thread(target=start, args=(device_id,)) for device_id in ("GPU-1", "GPU-2")]
        for thread in threads:
            thread.start()
        threads[1].join(5)
        time.sleep(0.1)
        assert done == ["GPU-1", "GPU-2"], "another device's timing is none of its business"
    threads[0].join(5)
    assert done == ["GPU-1", "GPU-2", "GPU-1"]


def test_a_timing_does_not_wait_long_for_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_start_limit, "QUIET_WITHIN_S", 0.2)
    start = time.monotonic()
    with cuda_start_turn("GPU-1"), no_cuda_starts("GPU-1"):
        assert 0.2 <= time.monotonic() - start < 1.0


def test_who_waits_for_a_turn_keeps_no_timing_waiting() -> None:
    over = threading.Event()

    def start(device_id: str) -> None:
        with cuda_start_turn(device_id):
            over.wait(5)

    threads = [threading.Thread(target=start, args=(device_id,)) for device_id in [*(f"GPU-{number}" for number in range(STARTS)), "GPU-9"]]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    start_s = time.monotonic()
    with no_cuda_starts("GPU-9"):
        assert time.monotonic() - start_s < 0.5
    over.set()
    for thread in threads:
        thread.join(5)
