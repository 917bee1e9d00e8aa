"""Copying the reference's parameters to a submission."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from evaluator.worker.parameters import Agreement, agree

Make = Callable[[], nn.Module]
WIDTH = 6


def drawn(make: Make, seed: int = 3) -> nn.Module:
    torch.manual_seed(seed)
    return make()


def agreed(reference: Make, submission: Make, *, copies: bool = True) -> tuple[Agreement, nn.Module, dict[str, torch.Tensor]]:
    """Both drawn from one seed, and how they agree."""
    given = {name: value.clone() for name, value in drawn(reference).state_dict().items()}
    model = drawn(submission)
    return agree(model, given, copies=copies), model, given


def three() -> nn.Module:
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))


class Own(nn.Module):
    """One parameter under a name of its own."""

    def __init__(self, value: torch.Tensor, name: str = "mine") -> None:
        super().__init__()
        self.register_parameter(name, nn.Parameter(value))


def test_the_same_layers_have_drawn_the_same_values() -> None:
    found, _, _ = agreed(three, three)
    assert found == Agreement()


def test_names_that_the_submission_drew_otherwise_are_copied() -> None:
    def other() -> nn.Module:
        torch.rand(1)
        return three()

    found, model, given = agreed(three, other)
    assert found == Agreement(changed=True)
    assert all(torch.equal(value, given[name]) for name, value in model.state_dict().items())


def test_nothing_is_copied_where_the_submission_keeps_what_it_drew() -> None:
    def other() -> nn.Module:
        torch.rand(1)
        return three()

    found, model, given = agreed(three, other, copies=False)
    assert found == Agreement()
    assert not any(torch.equal(value, given[name]) for name, value in model.state_dict().items())


def test_layers_that_have_moved_stay_although_names_collide() -> None:
    def fused() -> nn.Module:
        return nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(3)))

    found, model, given = agreed(three, fused)
    assert (found.changed, found.unmatched, found.missing) == (False, [], [])
    assert found.kept == ["1.weight (6, 6)", "1.bias (6)", "2.weight (6, 6)", "2.bias (6)"]
    assert torch.equal(model.state_dict()["2.weight"], given["4.weight"])


class Pair(nn.Module):
    def __init__(self, *names: str) -> None:
        super().__init__()
        for name in names:
            self.add_module(name, nn.Linear(WIDTH, WIDTH))


@pytest.mark.parametrize("order", ["ba", "bca", "cab", "acb"])
def test_the_same_names_made_in_another_order_are_copied(order: str) -> None:
    found, model, given = agreed(lambda: Pair(*sorted(order)), lambda: Pair(*order))
    assert (found.changed, found.kept, found.missing) == (True, [], [])
    assert all(torch.equal(value, given[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("form", [torch.t, torch.flatten, lambda value: value[None]])
def test_values_count_in_another_form_and_under_another_name(form: Callable[[torch.Tensor], torch.Tensor]) -> None:
    def make(change: Callable[[torch.Tensor], torch.Tensor], name: str) -> nn.Module:
        return Own(change(torch.randn(4, 5)).contiguous(), name)

    found, _, _ = agreed(lambda: make(lambda value: value, "weight"), lambda: make(form, "other"))
    assert (found.changed, len(found.kept), found.unmatched, found.missing) == (False, 1, [], [])


def test_values_of_its_own_are_unmatched_and_the_references_missing() -> None:
    found, model, _ = agreed(lambda: nn.Linear(4, 5, bias=False), lambda: Own(torch.randn(7, 3)))
    assert found == Agreement(unmatched=["mine (7, 3)"], missing=["weight (5, 4)"])
    assert model.state_dict()["mine"].shape == (7, 3)


def test_a_name_with_another_shape_is_not_copied() -> None:
    found, _, _ = agreed(lambda: nn.Linear(4, 5, bias=False), lambda: nn.Linear(3, 5, bias=False))
    assert found == Agreement(unmatched=["weight (5, 3)"], missing=["weight (5, 4)"])


def test_constants_tell_of_no_name() -> None:
    found, model, given = agreed(lambda: nn.LayerNorm(8), lambda: Own(torch.ones(8)))
    assert found == Agreement()
    found, model, given = agreed(lambda: Own(torch.arange(4.0)), lambda: Own(torch.zeros(4)))
    assert found == Agreement(changed=True) and torch.equal(model.state_dict()["mine"], given["mine"])


def test_lazy_layers_get_the_references_values() -> None:
    found, model, given = agreed(lambda: nn.Linear(4, 5), lambda: nn.LazyLinear(5))
    assert found.missing == found.unmatched == []
    assert all(torch.equal(value, given[name]) for name, value in model.state_dict().items())


FLOATS = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2fnuz,
    torch.float8_e8m0fnu,
]


@pytest.mark.parametrize("here", FLOATS)
def test_values_are_converted_to_the_submissions_dtype(here: torch.dtype) -> None:
    for there in FLOATS:
        values = torch.arange(1.0, 9.0).to(there)
        found, model, given = agreed(lambda values=values: Own(values), lambda: Own(torch.zeros(8).to(here)))  # type: ignore[misc]
        told = f"mine (8): {there} to {here}".replace("torch.", "")
        assert found == Agreement(changed=True, converted=[] if here == there else [told])
        assert torch.equal(model.state_dict()["mine"].double(), given["mine"].to(here).double()), there


def test_values_that_the_submission_converted_itself_are_no_others() -> None:
    found, _, _ = agreed(lambda: nn.Linear(4, 5, bias=False), lambda: nn.Linear(4, 5, bias=False).to(torch.float8_e4m3fn))
    assert found == Agreement(converted=["weight (5, 4): float32 to float8_e4m3fn"])


def test_buffers_are_copied_too() -> None:
    def trained() -> nn.Module:
        norm = nn.BatchNorm1d(3)
        norm.running_mean = torch.tensor([1.0, 2.0, 3.0])
        return norm

    found, model, _ = agreed(trained, lambda: nn.BatchNorm1d(3))
    assert found.changed and torch.equal(model.state_dict()["running_mean"], torch.tensor([1.0, 2.0, 3.0]))
