"""The requests of an L2 flush, and the check that it was done, on CPU memory."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from evaluator.judge.timing.gpu.l2_flush import L2Flush
from evaluator.judge.workers.shared_memory import SharedMemory


@pytest.fixture
def memory() -> Iterator[SharedMemory]:
    memory = SharedMemory(torch.device("cpu"))
    yield memory
    memory.close()


def test_a_flush_is_done_when_every_byte_is_written(memory: SharedMemory) -> None:
    flush = L2Flush(memory, 1 << 30, areas=3)
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


def test_what_is_written_after_the_look_is_no_flush(memory: SharedMemory) -> None:
    flush = L2Flush(memory, 1 << 30, areas=3)
    (order,) = flush.order(1)
    area = memory_of(flush, order["memory"])
    flush.show()
    area[: -len(area) // 20] = word = memory_of(flush, order["word"])
    flush.look()
    area.copy_(word)
    assert not flush.done()
    flush.look()
    assert flush.done()


def memory_of(flush: L2Flush, view: dict[str, Any]) -> torch.Tensor:
    """The flush's memory as a worker sees it."""
    (allocation,) = (each for each in flush.allocations if each.number == view["allocation"])
    count = torch.Size(view["shape"]).numel()
    return allocation.bytes[view["offset"] : view["offset"] + 8 * count].view(torch.int64).view(view["shape"])


@pytest.mark.parametrize(("room_bytes", "areas"), [(0, 1), (100 << 20, 3), (1 << 30, 5)])
def test_flushes_take_no_more_memory_than_there_is_room_for(memory: SharedMemory, room_bytes: int, areas: int) -> None:
    assert L2Flush(memory, room_bytes, areas=5).areas == areas
