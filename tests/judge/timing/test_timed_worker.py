"""The requests of a timing, with a real worker on the CPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from evaluator.judge import limits
from evaluator.judge.context import JudgeContext
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.stage_times import StageTimes
from evaluator.judge.timing.statistics.samples import quartiles
from evaluator.judge.timing.timed_worker import TimedWorker, claimed_times_ms
from evaluator.judge.workers.client import WorkerClient, claimed_ms
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.judge.workers.launcher import WORKER_ENTRY
from evaluator.judge.workers.shared_memory import SharedMemory, describe
from evaluator.sandbox import Program
from evaluator.worker.protocol import ProtocolError

ADDS_ONE_AND_LEAVES_WORK = """
import threading, time, torch

def work():
    end = time.thread_time() + {work_s}
    while time.thread_time() < end: pass

class ModelNew(torch.nn.Module):
    def forward(self, x):
        if {work_s}: threading.Thread(target=work).start()
        return x + 1
"""


@contextmanager
def started(context: JudgeContext, source: str, inputs: list[torch.Tensor]) -> Iterator[tuple[TimedWorker, list[InputSet], SharedMemory]]:
    """A worker that has loaded `source` and sees memory for each of `inputs`."""
    memory = SharedMemory(torch.device("cpu"))
    lock = DeviceLock(context.device.unique_id)
    program = Program(entry=WORKER_ENTRY, readonly=context.readonly)
    worker = WorkerClient.start(context.zygote, program, context.builder, lock, times=StageTimes(), no_device=True, record=None)
    try:
        worker.request("ping", limits.START_S)
        worker.load(source, limits.START_S, **{"class": "ModelNew"}, device="cpu", threads=1, ablate=False)
        told: dict[str, Any] = {"case": "full", "dtype": None, "constants": {}, "keeps": False, "on_device": False}
        worker.request("construct", limits.START_S, seed=1, arguments={"list": []}, parameters=[], **told)
        sets = [InputSet(memory, [tensor]) for tensor in inputs]
        worker.hand_over([allocation for one in sets for allocation in one.allocations], limits.START_S)
        yield TimedWorker(worker, limits.START_S, None), sets, memory
    finally:
        worker.close()
        memory.close()
        lock.close()


def test_a_burst_copies_every_answer_to_its_place(context: JudgeContext) -> None:
    inputs = [torch.full((size,), float(size)) for size in (2, 3, 4)]
    with started(context, ADDS_ONE_AND_LEAVES_WORK.format(work_s=0), inputs) as (timed, sets, memory):
        fresh = [tensor * 10 for tensor in inputs]
        places = [memory.allocate(tensor.nbytes) for tensor in fresh]
        timed.worker.hand_over(places, limits.START_S)
        given = [(one, [tensor]) for one, tensor in zip(sets, fresh, strict=True)]
        wall_ms = timed.burst(given, [[describe(place, 0, tensor)] for place, tensor in zip(places, fresh, strict=True)])
        assert wall_ms > 0
        for place, tensor in zip(places, fresh, strict=True):
            assert torch.equal(place.view(tensor.shape, torch.float32), tensor + 1)


@pytest.mark.parametrize(("work_s", "least_ms", "most_ms"), [(0.0, 0.0, 5.0), (0.05, 5.0, 100.0)])
def test_work_after_the_answer_is_seen(context: JudgeContext, work_s: float, least_ms: float, most_ms: float) -> None:
    with started(context, ADDS_ONE_AND_LEAVES_WORK.format(work_s=work_s), [torch.zeros(2)]) as (timed, sets, _):
        for _ in range(5):
            timed.call(sets[0], [torch.zeros(2)])
            timed.watch(1.0)
        _, median_ms, _ = quartiles(timed.samples.background_ms)
        assert least_ms <= median_ms <= most_ms


def test_claimed_times_are_times() -> None:
    assert claimed_times_ms({"ms": [1, 0.5]}, 2) == [1.0, 0.5]
    assert claimed_times_ms({"host_ms": [0, 5e5, 0.002]}, 3, "host_ms") == [0.0, 5e5, 0.002]


@pytest.mark.parametrize("times", [None, 1.0, [], [1.0, 2.0], {"0": 1.0}])
def test_claims_that_are_not_one_time(times: Any) -> None:
    with pytest.raises(ProtocolError, match="as many times"):
        claimed_times_ms({"ms": times} if times is not None else {}, 1)


@pytest.mark.parametrize("value", [None, "1.0", True, -1.0, float("nan"), float("inf"), 1e9, 10**400, [1.0], {"ms": 1.0}])
def test_claims_that_are_no_time(value: Any) -> None:
    with pytest.raises(ProtocolError, match="milliseconds"):
        claimed_times_ms({"ms": [value]}, 1)


def test_a_call_without_a_claim() -> None:
    with pytest.raises(ProtocolError, match="milliseconds"):
        claimed_ms({})
