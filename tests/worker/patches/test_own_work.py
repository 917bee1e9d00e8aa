"""Bytes that own functions write, and their time, however they get their memory."""

import ctypes
import gc
import mmap
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import torch

from evaluator.worker.patches import own_work
from evaluator.worker.patches.ablation import Ablation
from evaluator.worker.patches.own_work import OwnWork

SAMPLE = 1 << 19
PATTERN = 0x39
ENOUGH = 1 << 30


@pytest.fixture(scope="module", autouse=True)
def _without_the_tests_own_objects() -> Iterator[None]:
    """Only objects of these tests are looked through, as there are many others in this process."""
    gc.freeze()
    yield
    gc.unfreeze()


def counted(work: OwnWork, body: Callable[[], Any], enough: int = ENOUGH) -> int | None:
    work.begin(PATTERN, enough)
    body()
    written: int | None = work.end()["written"]
    return written


def write(address: int, nbytes: int) -> None:
    ctypes.memset(address, 1, nbytes)


def filled() -> torch.Tensor:
    """1000 bytes with the pattern of unwritten memory."""
    return torch.full((1000,), PATTERN, dtype=torch.uint8)


def test_bytes_that_an_argument_has_changed_count() -> None:
    work, x = OwnWork(), torch.zeros(100)
    assert counted(work, lambda: work.run(lambda y: y[:3].fill_(1.5), (x,), {})) == 3 * 2, "1.5 differs from 0 in two of its four bytes"
    assert x[:4].tolist() == [1.5, 1.5, 1.5, 0.0], "nothing is left out"


def test_bytes_at_an_address_count() -> None:
    work, x = OwnWork(), torch.zeros(100, dtype=torch.uint8)
    assert counted(work, lambda: work.run(write, (x.data_ptr() + 10, 50), {})) == 50


def test_bytes_at_an_address_of_an_earlier_call_count() -> None:
    work, x = OwnWork(), torch.zeros(100, dtype=torch.uint8)
    address = x.data_ptr()
    assert counted(work, lambda: work.run(lambda: write(address, 70), (), {})) == 70


def test_a_tensor_over_memory_that_is_gone_is_passed_over() -> None:
    memory = mmap.mmap(-1, mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    gone = torch.from_numpy(numpy.ctypeslib.as_array((ctypes.c_uint8 * mmap.PAGESIZE).from_address(address)))
    memory.close()
    work, x = OwnWork(), torch.zeros(100)
    assert counted(work, lambda: work.run(lambda y: y[:3].fill_(1.5), (x,), {})) == 3 * 2
    assert gone.data_ptr() == address


def test_bytes_of_an_array_count() -> None:
    work, array = OwnWork(), numpy.zeros(100, dtype=numpy.uint8)
    assert counted(work, lambda: work.run(lambda y: y.fill(1), (array,), {})) == 100


def test_of_a_new_tensor_what_was_written_counts() -> None:
    work = OwnWork()

    def make() -> list[torch.Tensor]:
        x = filled()
        x[:20] = 0
        return [x]

    assert counted(work, lambda: work.run(make, (), {})) == 20
    assert counted(work, lambda: work.run(filled, (), {})) == 0


def test_of_large_memory_a_sample_is_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_work, "SAMPLE", SAMPLE)
    work, x = OwnWork(), torch.zeros(5 * SAMPLE, dtype=torch.uint8)
    before = torch.random.get_rng_state()
    written = counted(work, lambda: work.run(lambda y: y[: len(y) // 10].fill_(1), (x,), {}))
    assert written == pytest.approx(len(x) / 10, rel=0.02)
    assert torch.equal(torch.random.get_rng_state(), before)

    def make() -> torch.Tensor:
        y = torch.full((5 * SAMPLE,), PATTERN, dtype=torch.uint8)
        y[SAMPLE:] = 0
        return y

    assert counted(work, lambda: work.run(make, (), {})) == pytest.approx(4 * SAMPLE, rel=0.02)


def test_what_others_write_counts_for_nothing() -> None:
    work, x = OwnWork(), torch.zeros(100)
    assert counted(work, lambda: (x.fill_(2.0), work.run(lambda y: y, (x,), {}))) == 0


def test_counting_ends_where_there_is_enough() -> None:
    work, x = OwnWork(), torch.zeros(100, dtype=torch.uint8)

    def body() -> None:
        for value in (1, 2, 3):
            work.run(x.fill_, (value,), {})

    assert counted(work, body) == 300
    assert counted(work, body, enough=150) == 200


UNSEEN: dict[str, tuple[Any, ...]] = {"an address of no tensor's": (1 << 40,), "an object of its own": (object(),)}


@pytest.mark.parametrize("what", UNSEEN)
def test_what_may_lead_to_other_memory_is_not_counted(what: str) -> None:
    work = OwnWork()
    assert counted(work, lambda: work.run(lambda _: None, UNSEEN[what], {})) is None
    assert counted(work, lambda: work.run(lambda *_: None, (7, "text", 1.5, None, [torch.ones(1)]), {})) == 0


def test_a_function_beside_another_is_not_counted() -> None:
    work = OwnWork()

    def beside() -> None:
        thread = threading.Thread(target=lambda: work.run(int, (), {}))
        thread.start()
        thread.join()

    assert counted(work, lambda: work.run(beside, (), {})) is None


def test_a_function_that_another_calls_belongs_to_that_one() -> None:
    work, x = OwnWork(), torch.zeros(100, dtype=torch.uint8)
    assert counted(work, lambda: work.run(lambda: work.run(x.fill_, (1,), {}), (), {})) == 100


def test_time_is_that_of_own_functions_and_of_all() -> None:
    work = OwnWork()
    work.begin(None, 0)
    time.sleep(0.05)
    work.run(time.sleep, (0.1,), {})
    found = work.end()
    assert 0.1 <= found["own_s"] < found["all_s"] and found["all_s"] >= 0.15
    assert found["written"] == 0


def test_an_exception_comes_through() -> None:
    work = OwnWork()
    work.begin(PATTERN, ENOUGH)
    with pytest.raises(ZeroDivisionError):
        work.run(lambda: 1 // 0, (), {})
    assert work.run(lambda: 5, (), {}) == 5


def test_a_function_that_is_watched_is_not_taken_out() -> None:
    work, x = OwnWork(), torch.zeros(10)
    taken = Ablation(work).taken_out(lambda y: y.fill_(1.0))
    assert counted(work, lambda: taken(x)) == 10 * 2
    assert x.tolist() == [1.0] * 10
