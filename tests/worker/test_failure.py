"""What a worker reports of an exception."""

import pytest
import torch

from evaluator.worker.state import MAX_MESSAGE_CHARS, describe_failure

LONG = torch.linspace(0.0, 1.0, 900)


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        (LONG, "tensor([…])"),
        (LONG.view(30, 30).requires_grad_(), "tensor([…], requires_grad=True)"),
        (LONG.view(30, 30).to_sparse(), "tensor(indices=tensor([…]), values=tensor([…]), size=(30, 30), nnz=899, layout=torch.sparse_coo)"),
        (LONG.numpy(), "array([…], dtype=float32)"),
        (torch.tensor([3, 4]), "tensor([3, 4])"),
        ([1.0] * 20, str([1.0] * 20)),
    ],
    ids=["vector", "matrix", "sparse", "array", "few", "list"],
)
def test_values_of_tensors_leave_room_for_the_rest_of_a_message(values: object, kept: str) -> None:
    told = describe_failure(TypeError(f"f(): 1. (a: int)\nInvoked with: {values!r}, {values!r}; kwargs: n=2"), "", on_device=False)
    assert " ".join(told["message"].split()) == f"f(): 1. (a: int) Invoked with: {kept}, {kept}; kwargs: n=2"


def test_values_are_cut_before_the_middle_of_a_long_message_is() -> None:
    told = describe_failure(TypeError(f"wants (a: int), given {', '.join([repr(LONG)] * 9)}"), "", on_device=False)
    assert len(repr(LONG)) * 9 > MAX_MESSAGE_CHARS and told["message"] == f"wants (a: int), given {', '.join(['tensor([…])'] * 9)}"
