"""What is asked of a worker while it is timed, with a real worker on the CPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from evaluator.judge.context import JudgeContext
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.timing.gpu.l2_flush import L2Flush
from evaluator.judge.timing.timed_worker import TimedWorker, quartiles
from evaluator.judge.workers.client import WorkerClient
from evaluator.judge.workers.input_buffers import InputSet
from evaluator.judge.workers.launcher import START_S, WORKER_ENTRY
from evaluator.judge.workers.shared_memory import SharedMemory, describe
from evaluator.sandbox import Program

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
def side_of(context: JudgeContext, source: str, inputs: list[torch.Tensor]) -> Iterator[tuple[TimedWorker, list[InputSet], SharedMemory]]:
    """A worker that has loaded `source` and sees memory for each of `inputs`."""
    memory = SharedMemory(torch.device("cpu"))
    lock = DeviceLock(context.device.unique_id)
    program = Program(entry=WORKER_ENTRY, readonly=context.readonly)
    worker = WorkerClient.start(context.zygote, program, context.builder, lock, no_device=True, record=None)
    try:
        worker.request("ping", START_S)
        worker.load(source, START_S, **{"class": "ModelNew"}, device="cpu", threads=1, constants={}, ablate=False)
        worker.request("construct", START_S, seed=1, arguments={"list": []}, parameters=[], dtype=None)
        sets = [InputSet(memory, [tensor]) for tensor in inputs]
        worker.hand_over([allocation for one in sets for allocation in one.allocations], START_S)
        yield TimedWorker(worker, START_S, None), sets, memory
    finally:
        worker.close()
        memory.close()
        lock.close()


def test_a_burst_copies_every_answer_to_its_place(context: JudgeContext) -> None:
    inputs = [torch.full((size,), float(size)) for size in (2, 3, 4)]
    with side_of(context, ADDS_ONE_AND_LEAVES_WORK.format(work_s=0), inputs) as (side, sets, memory):
        fresh = [tensor * 10 for tensor in inputs]
        places = [memory.allocate(tensor.nbytes) for tensor in fresh]
        side.worker.hand_over(places, START_S)
        given = [(one, [tensor]) for one, tensor in zip(sets, fresh, strict=True)]
        wall_ms = side.burst(given, [[describe(place, 0, tensor)] for place, tensor in zip(places, fresh, strict=True)])
        assert wall_ms > 0
        for place, tensor in zip(places, fresh, strict=True):
            assert torch.equal(place.view(tensor.shape, torch.float32), tensor + 1)


@pytest.mark.parametrize(("work_s", "least_ms", "most_ms"), [(0.0, 0.0, 5.0), (0.05, 5.0, 100.0)])
def test_work_after_the_answer_is_seen(context: JudgeContext, work_s: float, least_ms: float, most_ms: float) -> None:
    with side_of(context, ADDS_ONE_AND_LEAVES_WORK.format(work_s=work_s), [torch.zeros(2)]) as (side, sets, _):
        for _ in range(5):
            side.call(sets[0], [torch.zeros(2)])
            side.watch(1.0)
        _, median_ms, _ = quartiles(side.background_ms)
        assert least_ms <= median_ms <= most_ms


def test_a_flush_is_done_when_every_byte_is_written() -> None:
    memory = SharedMemory(torch.device("cpu"))
    flush = L2Flush(memory, 1 << 30, areas=3)
    assert flush.areas == 3
    orders = flush.order(2)
    areas, words = ([memory_of(flush, order[name]) for order in orders] for name in ("memory", "word"))
    assert not any(bool(word.any()) for word in words), "what to write is not seen before the inputs are"
    flush.show()
    for area, word in zip(areas, words, strict=True):
        assert not flush.done()
        area.copy_(word)
    assert flush.done()
    areas[1][-1] += 1
    assert not flush.done()
    memory.close()


def memory_of(flush: L2Flush, view: dict[str, Any]) -> torch.Tensor:
    """What a worker sees of it."""
    (allocation,) = (each for each in flush.allocations if each.number == view["allocation"])
    count = torch.Size(view["shape"]).numel()
    return allocation.bytes[view["offset"] : view["offset"] + 8 * count].view(torch.int64).view(view["shape"])


@pytest.mark.parametrize(("room_bytes", "areas"), [(0, 1), (100 << 20, 3), (1 << 30, 5)])
def test_flushes_take_no_more_memory_than_there_is_room_for(room_bytes: int, areas: int) -> None:
    memory = SharedMemory(torch.device("cpu"))
    assert L2Flush(memory, room_bytes, areas=5).areas == areas
    memory.close()


def test_quartiles_of_one_sample() -> None:
    assert quartiles([3.0]) == (3.0, 3.0, 3.0)
    assert quartiles([1.0, 2.0, 3.0]) == (1.0, 2.0, 3.0)
