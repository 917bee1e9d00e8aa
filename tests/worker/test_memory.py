"""The judge's memory as a worker sees it."""

import fcntl
import os

import pytest
import torch

from evaluator.judge.workers.shared_memory import SharedMemory, describe
from evaluator.worker.memory import Mappings, is_written_out, keeps_cache, share_memory, written_out

CPU = torch.device("cpu")


def test_what_the_judge_wrote_is_what_the_worker_reads_and_back() -> None:
    memory, mappings = SharedMemory(CPU), Mappings(CPU)
    allocation = memory.allocate(24)
    values = allocation.view((2, 3), torch.float32)
    values.copy_(torch.arange(6.0).view(2, 3))
    mappings.add(allocation.number, allocation.nbytes, os.dup(allocation.descriptor))
    seen = mappings.tensor(describe(allocation, 0, values))
    assert torch.equal(seen, torch.arange(6.0).view(2, 3))
    seen[1, 2] = -1
    assert values[1, 2] == -1
    memory.close()


def test_views_at_an_offset_and_views_of_nothing() -> None:
    memory, mappings = SharedMemory(CPU), Mappings(CPU)
    allocation = memory.allocate(32)
    allocation.bytes.copy_(torch.arange(32, dtype=torch.uint8))
    mappings.add(allocation.number, allocation.nbytes, os.dup(allocation.descriptor))
    view = {"allocation": allocation.number, "offset": 16, "shape": [4], "dtype": "uint8"}
    assert mappings.tensor(view).tolist() == [16, 17, 18, 19]
    assert mappings.tensor({**view, "shape": [0, 3]}).shape == (0, 3)
    assert mappings.tensor({**view, "shape": []}).item() == 16
    memory.close()


@pytest.mark.parametrize(("offset", "shape"), [(0, [9]), (32, [1]), (28, [2]), (10**6, [1])])
def test_a_view_beyond_an_allocation_is_refused(offset: int, shape: list[int]) -> None:
    memory, mappings = SharedMemory(CPU), Mappings(CPU)
    allocation = memory.allocate(32)
    mappings.add(allocation.number, allocation.nbytes, os.dup(allocation.descriptor))
    with pytest.raises(RuntimeError):
        mappings.tensor({"allocation": allocation.number, "offset": offset, "shape": shape, "dtype": "float32"})
    memory.close()


def test_a_mapped_descriptor_is_closed_and_a_removed_one_is_gone() -> None:
    memory, mappings = SharedMemory(CPU), Mappings(CPU)
    allocation = memory.allocate(8)
    descriptor = os.dup(allocation.descriptor)
    mappings.add(allocation.number, allocation.nbytes, descriptor)
    with pytest.raises(OSError, match="Bad file descriptor"):
        fcntl.fcntl(descriptor, fcntl.F_GETFD)
    mappings.remove(allocation.number)
    with pytest.raises(KeyError):
        mappings.tensor({"allocation": allocation.number, "offset": 0, "shape": [1], "dtype": "uint8"})
    memory.close()


def test_answers_share_memory_where_one_would_be_written_over_the_other() -> None:
    one, other = torch.zeros(3), torch.zeros(3)
    assert not share_memory([[one], [other]]) and not share_memory([[one, one], [other]])
    assert share_memory([[one], [other, one[1:]]])


@pytest.mark.parametrize("answer", [torch.empty(0), torch.eye(3).to_sparse(), torch.empty(3, device="meta")])
def test_what_has_no_memory_shares_none(answer: torch.Tensor) -> None:
    assert not share_memory([[answer], [answer]])


def test_without_a_device_nothing_stays_in_its_cache() -> None:
    assert not keeps_cache()


ROW, COMPLEX = torch.arange(1.0, 5.0), torch.arange(1.0, 5.0) * 1j


@pytest.mark.parametrize(
    "answer",
    [
        ROW.expand(3, 4),
        ROW[:, None].expand(4, 3),
        ROW.as_strided((3, 2), (1, 1)),
        torch._neg_view(ROW),
        torch._neg_view(ROW).expand(3, 4),
        COMPLEX.conj(),
        COMPLEX.expand(3, 4).t().conj(),
        COMPLEX.conj().imag,
        torch._efficientzerotensor((3, 4)),
    ],
    ids=["rows", "columns", "windows", "negative", "negative rows", "conjugate", "conjugate columns", "imaginary part", "zeros"],
)
def test_what_a_view_leaves_to_do_is_done(answer: torch.Tensor) -> None:
    assert not is_written_out(answer)
    written = written_out(answer)
    assert is_written_out(written) and torch.equal(written, torch.zeros(answer.shape) + answer)
    assert written.untyped_storage().nbytes() == answer.numel() * answer.itemsize


@pytest.mark.parametrize(
    "answer",
    [
        ROW,
        torch.empty(0, 3).expand(2, 0, 3),
        torch.tensor(2.0),
        torch.rand(3, 4).t(),
        torch.rand(3, 8)[:, ::2],
        torch.rand(2, 3, 4).permute(2, 0, 1)[1:, :, ::2],
        torch.rand(3, 1).expand(1, 3, 1),
        torch.rand(3, 5).cumsum(1).narrow(1, 4, 1),
        torch.eye(3).to_mkldnn(),
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    ],
)
def test_what_is_written_out_or_has_no_dense_values_stays_as_it_is(answer: torch.Tensor) -> None:
    assert written_out(answer) is answer
