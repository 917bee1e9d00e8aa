"""The judge's end of a request that is queued first, with a worker that answers by a script."""

import threading
import time
from collections.abc import Iterator

import pytest

from evaluator.judge.context import JudgeContext
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.stage_times import StageTimes
from evaluator.judge.workers.client import WorkerClient, WorkerError
from evaluator.sandbox import Program
from tests.judge import scripted_worker

DEADLINE_S = 60.0
OVERDUE_S = 0.2
LOCK = "a-device-of-this-test"


@pytest.fixture
def worker(context: JudgeContext) -> Iterator[WorkerClient]:
    lock = DeviceLock(LOCK)
    program = Program(entry=scripted_worker.ENTRY, readonly=context.readonly)
    worker = WorkerClient.start(context.zygote, program, context.builder, lock, times=StageTimes(), no_device=True, record=None)
    worker.request("ready", DEADLINE_S, script=["ready"])
    yield worker
    worker.close()
    lock.close()


def ask(worker: WorkerClient, *script: str | float, overdue_s: float = OVERDUE_S) -> list[float]:
    """When the judge was told, or thought it time, after asking, in seconds."""
    start = time.monotonic()
    called: list[float] = []
    worker.request("burst", DEADLINE_S, spin_s=overdue_s, on_queued=lambda: called.append(time.monotonic() - start), script=script)
    return called


def test_what_waits_for_the_queue_is_called_once_when_it_stands(worker: WorkerClient) -> None:
    (called_s,) = ask(worker, "queued", OVERDUE_S, "burst", overdue_s=30.0)
    assert called_s < 30.0


@pytest.mark.slow(15)
def test_what_waits_for_the_queue_does_not_wait_for_ever(worker: WorkerClient) -> None:
    (called_s,) = ask(worker, 40 * OVERDUE_S, "queued", "burst")
    assert OVERDUE_S <= called_s < 40 * OVERDUE_S


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (["burst"], "a reply to burst that was never queued"),
        ([2 * OVERDUE_S, "burst"], "a reply to burst that was never queued"),
        (["queued", "queued", "burst"], "a reply of kind 'queued' instead of burst"),
    ],
)
def test_another_order_is_no_answer(worker: WorkerClient, script: list[str | float], words: str) -> None:
    with pytest.raises(WorkerError):
        ask(worker, *script)
    assert worker.protocol_error == words


def test_nothing_is_queued_unless_it_was_asked_for(worker: WorkerClient) -> None:
    with pytest.raises(WorkerError):
        worker.request("ping", DEADLINE_S, script=["queued", "ping"])
    assert worker.protocol_error == "a reply of kind 'queued' instead of ping"


def test_an_exception_needs_no_queue(worker: WorkerClient) -> None:
    with pytest.raises(WorkerError):
        ask(worker, "failed")
    assert "validation error" in worker.protocol_error  # it was taken for a report, and is none


@pytest.mark.parametrize(("stage", "yields"), [("rounds", True), ("timing", False)])
def test_others_have_the_device_while_a_worker_compiles(worker: WorkerClient, stage: str, yields: bool) -> None:
    other, had = DeviceLock(LOCK), list[bool]()
    worker.stage, worker.may_yield = stage, lambda: True
    worker.lock.acquire_exclusive()

    def take() -> None:
        other.acquire_exclusive()
        had.append(True)
        other.release()

    waiting = threading.Thread(target=take, daemon=True)
    waiting.start()
    worker.request("call", DEADLINE_S, script=["aside", 0.5, "back", "hear", "call"])
    assert had == [True] * yields and worker.lock.is_exclusive
    worker.lock.release()
    waiting.join(DEADLINE_S)
    other.close()
    assert had == [True]


def test_a_worker_that_fails_while_it_compiles_gives_the_device_back(worker: WorkerClient) -> None:
    worker.stage, worker.may_yield = "rounds", lambda: True
    worker.lock.acquire()
    with pytest.raises(WorkerError):
        worker.request("call", 0.5, script=["aside", 30.0, "back", "call"])
    assert worker.lock.held and worker.exit is not None and worker.exit.deadline_s == 0.5
    worker.lock.release()
