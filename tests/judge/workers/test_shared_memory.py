"""Memory that the judge shares with a worker it does not trust."""

import fcntl
import mmap
import os
from collections.abc import Iterator

import pytest
import torch

from evaluator.judge.workers.input_buffers import InputSet, fill
from evaluator.judge.workers.shared_memory import SharedMemory, raw_bytes
from evaluator.problem.input_drawing import fresh_seed
from evaluator.worker import structure
from evaluator.worker.memory import Mappings

CPU = torch.device("cpu")


@pytest.fixture
def memory() -> Iterator[SharedMemory]:
    made = SharedMemory(CPU)
    yield made
    made.close()


@pytest.mark.parametrize("size", [0, 10, 1 << 20])
def test_a_holder_of_the_descriptor_can_not_resize_it(memory: SharedMemory, size: int) -> None:
    allocation = memory.allocate(4096)
    held = os.dup(allocation.descriptor)
    with pytest.raises(PermissionError):
        os.ftruncate(held, size)
    with pytest.raises(PermissionError):
        fcntl.fcntl(held, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    allocation.bytes.fill_(1)
    assert int(allocation.bytes.sum()) == 4096
    os.close(held)


def test_what_is_written_through_one_descriptor_reaches_no_other_allocation(memory: SharedMemory) -> None:
    allocations = [memory.allocate(nbytes) for nbytes in (100, 4096, 100)]
    for allocation in allocations:
        allocation.bytes.zero_()
    with mmap.mmap(allocations[1].descriptor, 0) as held:
        assert len(held) == 4096
        held[:] = b"\xff" * len(held)
    os.pwrite(allocations[1].descriptor, b"\xff" * 4096, 0)
    with pytest.raises(PermissionError):
        os.pwrite(allocations[1].descriptor, b"\xff", 4096)
    assert [int(allocation.bytes.max()) for allocation in allocations] == [0, 255, 0]


def test_descriptors_are_not_inherited_and_are_closed_with_the_memory(memory: SharedMemory) -> None:
    allocations = [memory.allocate(8) for _ in range(3)]
    assert not any(os.get_inheritable(allocation.descriptor) for allocation in allocations)
    memory.free(allocations[:1])
    memory.close()
    for allocation in allocations:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(allocation.descriptor)


def test_views_of_nothing_and_of_one_number(memory: SharedMemory) -> None:
    allocation = memory.allocate(0)
    assert allocation.view((3, 0), torch.float32).shape == (3, 0)
    single = memory.allocate(4)
    single.view((), torch.float32).fill_(2.5)
    assert single.view((1,), torch.float32).tolist() == [2.5]


def test_numbers_of_allocations_are_never_used_again(memory: SharedMemory) -> None:
    first = memory.allocate(1)
    memory.free([first])
    assert memory.allocate(1).number != first.number


def arguments() -> list[object]:
    return [torch.arange(6.0).view(2, 3).t(), {"n": (torch.tensor([True, False]), 4)}, torch.tensor(1.5), torch.empty(0, 2), "mode"]


def test_a_set_of_inputs_reaches_the_worker_as_it_is(memory: SharedMemory) -> None:
    mappings = Mappings(CPU)
    inputs = InputSet(memory, arguments())
    for allocation in inputs.allocations:
        mappings.add(allocation.number, allocation.nbytes, os.dup(allocation.descriptor))
    seen = structure.decode(inputs.tree(arguments()), mappings.tensor)
    expected = arguments()
    assert torch.equal(seen[0], torch.arange(6.0).view(2, 3).t())
    assert (seen[1]["n"][0].tolist(), seen[1]["n"][1]) == ([True, False], 4)
    assert (seen[2].item(), seen[3].shape, seen[4]) == (1.5, (0, 2), expected[4])


def test_many_sets_are_filled_together(memory: SharedMemory) -> None:
    values = [[torch.full((3,), float(n)), torch.full((2, 2), n).t(), 7, torch.empty(0), torch.tensor(n > 1)] for n in range(4)]
    sets = [InputSet(memory, values[0]) for _ in values]
    fill(list(zip(sets, values, strict=True)))
    assert all(inputs.unchanged(arguments) for inputs, arguments in zip(sets, values, strict=True))
    assert not sets[0].unchanged(values[1])


def test_a_changed_input_is_seen_bit_by_bit(memory: SharedMemory) -> None:
    values = [torch.tensor([0.0, float("nan"), 1.0]), torch.tensor([1, 2])]
    inputs = InputSet(memory, values)
    assert inputs.unchanged(values)
    shared = inputs.allocations[0].view((3,), torch.float32)
    shared[0] = -0.0
    assert not inputs.unchanged(values)
    inputs.fill(values)
    assert inputs.unchanged(values)
    inputs.allocations[1].view((2,), torch.int64)[1] = 3
    assert not inputs.unchanged(values)
    assert inputs.unchanged(values, (1,)) and not inputs.unchanged(values, (0,))


def test_seeds_are_drawn_anew() -> None:
    seeds = {fresh_seed() for _ in range(1000)}
    assert len(seeds) == 1000
    assert all(0 <= seed < 1 << 48 for seed in seeds)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 4096, 4099])
@pytest.mark.parametrize("offset", [0, 1, 8])
def test_every_byte_of_an_input_counts(memory: SharedMemory, size: int, offset: int) -> None:
    values = torch.arange(offset + size, dtype=torch.int64).to(torch.uint8)[offset:]
    inputs = InputSet(memory, [values])
    assert inputs.unchanged([values])
    for position in {0, size // 2, size - 1}:
        held = inputs.allocations[0].bytes
        held[position] ^= 1
        assert not inputs.unchanged([values])
        held[position] ^= 1


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(20.0).view(2, 10)[1:, 3:4].select(1, 0),
        torch.arange(6.0).view(2, 3).t(),
        torch.tensor([1 + 2j, 3j]).conj(),
        torch.empty(0),
        torch.tensor(7, dtype=torch.int16),
    ],
)
def test_bytes_are_those_of_the_elements_in_order(tensor: torch.Tensor) -> None:
    assert bytes(raw_bytes(tensor).tolist()) == tensor.resolve_conj().numpy().tobytes()
