"""Shared memory for arguments, and what a worker says of its parameters."""

from typing import Any

import pytest
import torch

from evaluator.judge.workers.input_buffers import ALIGNMENT_BYTES, MAX_NAME_CHARS, MAX_NAMES, SHIFT_BYTES, InputSet, construct
from evaluator.judge.workers.shared_memory import SharedMemory
from evaluator.worker.protocol import ProtocolError
from tests.judge.correctness.plain_problems import plain_case

ARGUMENTS: list[Any] = [torch.randn(7, 5), {"half": torch.randn(3).half(), "flags": torch.tensor([True, False, True])}, 3, torch.randn(())]


def places(inputs: InputSet) -> list[int]:
    return [target.data_ptr() for target, _ in inputs.targets(ARGUMENTS)]


@pytest.fixture
def memory() -> SharedMemory:
    return SharedMemory(torch.device("cpu"))


def test_a_movable_set_has_two_addresses_that_take_turns(memory: SharedMemory) -> None:
    inputs = InputSet(memory, ARGUMENTS, movable=True)
    first = places(inputs)
    assert inputs.unchanged(ARGUMENTS)
    seen = []
    for _ in range(3):
        inputs.move()
        inputs.fill(ARGUMENTS)
        seen.append(places(inputs))
        assert inputs.unchanged(ARGUMENTS)
    assert seen == [[place + SHIFT_BYTES for place in first], first, [place + SHIFT_BYTES for place in first]]
    assert SHIFT_BYTES % ALIGNMENT_BYTES == 0


def test_the_worker_is_told_of_the_address_in_use(memory: SharedMemory) -> None:
    inputs = InputSet(memory, ARGUMENTS, movable=True)
    one = inputs.tree(ARGUMENTS)
    inputs.move()
    other = inputs.tree(ARGUMENTS)
    assert one != other
    inputs.move()
    assert inputs.tree(ARGUMENTS) == one


def test_other_sets_stay_where_they_are(memory: SharedMemory) -> None:
    inputs = InputSet(memory, ARGUMENTS)
    before = places(inputs)
    inputs.move()
    assert places(inputs) == before


def test_a_change_at_either_address_is_seen(memory: SharedMemory) -> None:
    inputs = InputSet(memory, ARGUMENTS, movable=True)
    for _ in range(2):
        target, _ = next(iter(inputs.targets(ARGUMENTS)))
        target[6, 4] += 1
        assert not inputs.unchanged(ARGUMENTS) and inputs.unchanged(ARGUMENTS, but=(0,))
        inputs.move()
        inputs.fill(ARGUMENTS)


class _Worker:
    """Replies to `construct` with given fields."""

    def __init__(self, **reply: Any) -> None:
        self.reply = reply

    def hand_over(self, *_: Any) -> None:
        pass

    take_back = hand_over

    def request(self, *_: Any, **__: Any) -> dict[str, Any]:
        return self.reply


def constructed(memory: SharedMemory, tmp_path: Any, **reply: Any) -> Any:
    case = plain_case(tmp_path, "torch.randn(4)")
    return construct(_Worker(**reply), memory, [], torch.nn.Linear(2, 3), 1, case, 1.0)  # type: ignore[arg-type]


def test_what_a_worker_says_of_its_parameters_is_cut_and_printable(memory: SharedMemory, tmp_path: Any) -> None:
    names = ["a\x1b[31m\n" + "b" * 500] * 50
    found = constructed(memory, tmp_path, kept=names, converted=[], unmatched=[], missing=["weight (3, 2)", "mask (4, 4)"], changed="yes")
    assert found.parameters.kept == (("a[31m" + "b" * 500)[:MAX_NAME_CHARS],) * MAX_NAMES
    assert found.parameters.missing == ("weight (3, 2)",), "a buffer, or a name that the reference has not, is no parameter"
    assert not found.changed


@pytest.mark.parametrize("kept", [None, "a", [1], [["a"]], {"a": 1}])
def test_what_is_no_list_of_names_is_no_answer(memory: SharedMemory, tmp_path: Any, kept: Any) -> None:
    with pytest.raises(ProtocolError, match="lacks names"):
        constructed(memory, tmp_path, kept=kept, converted=[], unmatched=[], missing=[])
