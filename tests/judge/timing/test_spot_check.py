"""How answers of timed calls are looked at."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from evaluator.judge.device.synchronize import synchronize
from evaluator.judge.timing.timed_worker import TimedWorker
from tests.judge.conftest import Judge
from tests.judge.sources import SOFTMAX


def test_a_reveals_clock_stops_when_the_judges_own_copy_is_done(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is revealed next would wait for it otherwise, in its own time."""
    seen: list[str] = []
    revealing = TimedWorker.revealing

    @contextmanager
    def noted(timed: TimedWorker) -> Iterator[None]:
        with revealing(timed):
            seen.append("starts")
            yield
            seen.append("stops")

    def waited(device: torch.device) -> None:
        synchronize(device)
        seen.append("copied")

    monkeypatch.setattr(TimedWorker, "revealing", noted)
    monkeypatch.setattr("evaluator.judge.timing.spot_check.synchronize", waited)
    assert judge(SOFTMAX).evidence.timing is not None
    assert len(seen) >= 9 and seen == ["starts", "copied", "stops"] * (len(seen) // 3)
