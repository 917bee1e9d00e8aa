"""How a model is called: with arguments that it changes, and with a backward pass."""

from typing import Any

import pytest
import torch
from torch import nn

from evaluator.worker.procedure import PLAIN, Procedure, has_batch_statistics


def called(procedure: Procedure, model: nn.Module, *values: Any) -> Any:
    with torch.no_grad():
        return procedure.call(model, dict(model.named_parameters()), values)


@pytest.mark.parametrize(
    "procedure", [PLAIN, Procedure(train=True, in_place=(0, 2)), Procedure(backward=("weight", "bias")), Procedure(backward=())]
)
def test_it_comes_back_as_it_was_sent(procedure: Procedure) -> None:
    assert Procedure.decode(procedure.encode()) == procedure
    assert Procedure.decode(None) == PLAIN


class _Step(nn.Module):
    def forward(self, state: dict[str, torch.Tensor], gradient: torch.Tensor) -> None:
        state["x"] -= gradient


def test_arguments_that_are_changed_are_part_of_the_answer_and_not_copied() -> None:
    state, gradient = {"x": torch.ones(3)}, torch.full((3,), 0.5)
    answer = called(Procedure(in_place=(0,)), _Step(), state, gradient)
    assert answer["output"] is None and answer["changed"][0] is state
    assert torch.equal(state["x"], torch.full((3,), 0.5))


def test_arguments_that_are_changed_can_be_spared() -> None:
    procedure, state, gradient = Procedure(in_place=(0,)), {"x": torch.ones(3)}, torch.full((3,), 0.5)
    spared = procedure.spared([state, gradient])
    assert spared[1] is gradient
    assert torch.equal(called(procedure, _Step(), *spared)["changed"][0]["x"], torch.full((3,), 0.5))
    assert torch.equal(state["x"], torch.ones(3))


def test_gradients_are_those_of_autograd_over_the_directions_given() -> None:
    model, x, direction = nn.Linear(4, 3), torch.randn(5, 4), torch.randn(5, 3)
    answer = called(Procedure(backward=("weight", "bias")), model, x, [direction])
    assert torch.equal(answer["output"], model(x)) and not answer["output"].requires_grad
    assert torch.allclose(answer["inputs"][0], direction @ model.weight)
    assert torch.allclose(answer["parameters"]["weight"], direction.T @ x)
    assert torch.allclose(answer["parameters"]["bias"], direction.sum(0))
    assert model.weight.grad is None and not x.requires_grad


class _Picked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor, rows: torch.Tensor, other: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"picked": x[rows], "rows": rows, "detached": other.detach()}


def test_what_has_no_gradient_counts_as_zeros_and_integers_have_none() -> None:
    x, rows, other = torch.randn(4, 2), torch.tensor([1, 1]), torch.randn(3)
    answer = called(Procedure(backward=("unused", "gone")), _Picked(), x, rows, other, [torch.ones(2, 2), torch.ones(3)])
    of_x, of_other = answer["inputs"]
    assert of_x.tolist() == [[0, 0], [2, 2], [0, 0], [0, 0]] and of_other.tolist() == [0, 0, 0]
    assert answer["parameters"]["unused"].tolist() == [0, 0] and answer["parameters"]["gone"] is None


def test_an_answer_without_gradient_is_told_of() -> None:
    with pytest.raises(ValueError, match=r"needs a torch.autograd.Function"):
        called(Procedure(backward=()), _Detached(), torch.randn(3), [torch.randn(3)])


def test_an_answer_of_another_shape_comes_without_gradients() -> None:
    answer = called(Procedure(backward=()), nn.Flatten(0), torch.randn(2, 2), [torch.randn(2, 2)])
    assert answer["output"].shape == (4,) and answer["inputs"] is None


class _Detached(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.detach() * 2


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (nn.BatchNorm1d(4), True),
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.Sequential(nn.BatchNorm2d(4))), True),
        (nn.SyncBatchNorm(4), True),
        (nn.InstanceNorm2d(4, track_running_stats=True), True),
        (nn.BatchNorm2d(4, track_running_stats=False), False),
        (nn.InstanceNorm2d(4), False),
        (nn.Sequential(nn.LayerNorm(4), nn.GroupNorm(2, 4), nn.Dropout()), False),
    ],
)
def test_models_with_statistics_of_their_own_are_known(model: nn.Module, expected: bool) -> None:
    assert has_batch_statistics(model) is expected


def test_in_training_mode_nothing_is_dropped() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.AlphaDropout(0.5), nn.RReLU())
    prepared = Procedure(train=True).prepare(model)
    assert [module.training for module in model.children()] == [True, True, False, False, False]
    x = torch.randn(16, 8)
    assert torch.equal(prepared(x), prepared(x))
    recurrent = nn.ModuleList([nn.LSTM(4, 4, num_layers=2, dropout=0.5), nn.LSTM(4, 4)])
    Procedure(train=True).prepare(recurrent)
    assert [module.training for module in recurrent] == [False, True]
