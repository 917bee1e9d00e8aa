"""A GPU for tests that measure."""

from collections.abc import Iterator

import pytest
import torch

from evaluator.judge.device.device_lock import DeviceLock
from evaluator.machine.devices import choose


@pytest.fixture(scope="module")
def gpu() -> Iterator[torch.device]:
    """A GPU that no other process is judging on."""
    device, _ = choose("cuda")
    lock = DeviceLock(device.unique_id)
    lock.acquire()
    yield torch.device(device.spec)
    lock.close()
