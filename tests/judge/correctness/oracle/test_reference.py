"""The reference in its own dtype and in a wide one, whole or in chunks of rows."""

from typing import Any

import pytest
import torch
from torch import nn

from evaluator.judge.correctness.oracle import reference as module
from evaluator.judge.correctness.oracle.reference import Oracle, ReferenceFailedError


class Model(nn.Module):
    """Two outputs with rows of their own, one without."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(24, 17)
        self.rows_seen: list[int] = []

    def forward(self, x: torch.Tensor, more: dict[str, torch.Tensor], factor: float) -> tuple[torch.Tensor, torch.Tensor]:
        self.rows_seen.append(len(x))
        value = self.linear(x) * factor + more["bias"]
        return value, value.sum(1)


def collected(oracle: Oracle, inputs: list[Any], reference: list[torch.Tensor]) -> list[torch.Tensor]:
    """The oracle's outputs, put together from its pieces."""
    outputs = [torch.full(tensor.shape, torch.nan, dtype=torch.float64) for tensor in reference]
    for number, piece in oracle.pieces(inputs, reference, reference):
        rows = slice(piece.start, piece.start + len(piece.oracle))
        assert piece.candidate.shape == piece.reference.shape == piece.oracle.shape
        outputs[number][rows] = piece.oracle
    return outputs


@pytest.mark.parametrize("chunk", [1, 24, 100, 10_000])
def test_chunks_of_rows_give_the_whole(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", chunk)
    model = Model().eval()
    x, bias = torch.randn(13, 24), torch.randn(13, 17)
    inputs: list[Any] = [x, {"bias": bias}, 0.5]
    oracle = Oracle(model, rows_independent=True)
    reference = list(oracle.expected(inputs))
    found = collected(oracle, inputs, reference)
    with torch.no_grad():
        whole = Model.forward(model.double(), x.double(), {"bias": bias.double()}, 0.5)
    for one, other in zip(found, whole, strict=True):
        assert torch.allclose(one, other, rtol=1e-14, atol=1e-14)
    assert oracle._wide is not None
    wide = oracle._wide.model
    assert isinstance(wide, Model)
    assert max(wide.rows_seen[1:] or wide.rows_seen) == max(min(chunk // 24, 13), 1)


def test_the_reference_is_run_with_each_chunk_where_it_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", 100)
    model = Model().eval()
    inputs: list[Any] = [torch.randn(13, 24), {"bias": torch.randn(13, 17)}, 0.5]
    oracle = Oracle(model, rows_independent=True)
    reference = list(oracle.expected(inputs))
    del model.rows_seen[:]
    found = [torch.zeros_like(tensor) for tensor in reference]
    for number, piece in oracle.pieces(inputs, reference):
        found[number][piece.start : piece.start + len(piece.reference)] = piece.reference
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(found, reference, strict=True))
    assert max(model.rows_seen) == 4


def test_rows_that_depend_on_each_other_come_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", 1)
    oracle = Oracle(nn.Softmax(dim=0), rows_independent=False)
    inputs = [torch.randn(9, 20)]
    reference = [oracle.expected(inputs)]
    (number, piece), *rest = oracle.pieces(inputs, reference, reference)
    assert (number, piece.start, rest) == (0, 0, [])
    assert torch.equal(piece.oracle, inputs[0].double().softmax(0))


def test_inputs_of_different_lengths_come_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", 1)

    class Lookup(nn.Module):
        def forward(self, indices: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
            return table[indices]

    oracle = Oracle(Lookup(), rows_independent=True)
    inputs = [torch.tensor([2, 0, 1, 2]), torch.randn(3, 20)]
    reference = [oracle.expected(inputs)]
    assert torch.equal(collected(oracle, inputs, reference)[0], inputs[1].double()[inputs[0]])


def test_the_oracle_is_float64_and_leaves_the_reference_alone() -> None:
    model = nn.Linear(8, 8).eval()
    oracle = Oracle(model, rows_independent=False)
    inputs = [torch.randn(4, 8)]
    reference = [oracle.expected(inputs)]
    assert reference[0].dtype is torch.float32
    (_, piece), *_ = oracle.pieces(inputs, reference, reference)
    assert (piece.oracle.dtype, oracle.dtype, model.weight.dtype) == (torch.float64, torch.float64, torch.float32)
    assert oracle.expected(inputs).dtype is torch.float32


def test_integers_and_plain_values_are_not_widened() -> None:
    value = module.widened(
        [torch.ones(1), (torch.ones(1, dtype=torch.int32), {"a": torch.ones(1, dtype=torch.float16)}), 3, "x"], torch.float64
    )
    assert value[0].dtype is value[1][1]["a"].dtype is torch.float64
    assert (value[1][0].dtype, value[2:], type(value[1])) == (torch.int32, [3, "x"], tuple)


class ThroughNumpy(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.numpy() + 1)


def test_where_the_reference_does_not_run_with_float64_values_its_own_serve() -> None:
    oracle = Oracle(ThroughNumpy(), rows_independent=False)
    inputs = [torch.randn(3)]
    reference = [oracle.expected(inputs)]
    for _ in range(2):
        (_, piece), *_ = oracle.pieces(inputs, reference, reference)
        assert oracle.dtype is torch.float32
        assert torch.equal(piece.oracle, reference[0].double())


class Broken(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise IndexError(f"out of the table of {len(x)}")


def test_a_reference_that_raises_has_failed() -> None:
    x = torch.randn(1, dtype=torch.float16)
    with pytest.raises(ReferenceFailedError, match="IndexError: out of the table of 1"):
        Oracle(Broken(), rows_independent=False).expected([x])


class ByLength(nn.Module):
    """Its sum has as many terms as its input has columns."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sum(1)


def test_a_call_that_is_observed_gives_the_answer_and_the_terms() -> None:
    oracle = Oracle(ByLength(), rows_independent=True)
    assert torch.equal(oracle.observe([torch.ones(4, 900)]), torch.full((4,), 900.0))
    assert oracle.terms == 900
    with pytest.raises(ReferenceFailedError, match="IndexError"):
        Oracle(Broken(), rows_independent=False).observe([torch.ones(1)])


def test_an_oracle_that_comes_in_slices_is_weighed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "needs_slices", lambda *_: True)
    monkeypatch.setattr(module, "CHUNK_ELEMENTS", 60)
    oracle, inputs = Oracle(nn.Tanh(), rows_independent=False), [torch.randn(40, 20)]
    reference = [oracle.expected(inputs)]
    assert oracle.is_sliced(inputs, reference)
    parts = [part for _, part in oracle.wide_pieces(inputs, reference)]
    assert len(parts) == 14 and torch.equal(torch.cat(parts), inputs[0].double().tanh())
    pieces = list(oracle.pieces(inputs, reference))
    assert [piece.start for _, piece in pieces] == list(range(0, 40, 3))


def test_rows_that_are_declared_independent_need_no_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "needs_slices", lambda *_: True)
    assert not Oracle(nn.Tanh(), rows_independent=True).is_sliced([torch.randn(40, 20)], [torch.randn(40, 20)])


class Incrementing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.add_(1)


def test_a_reference_that_was_seen_to_change_its_inputs_gets_copies() -> None:
    oracle = Oracle(Incrementing(), rows_independent=False)
    oracle.observe([torch.zeros(3)])
    given = [torch.zeros(3, dtype=torch.float64)]
    (_, piece), *_ = oracle.pieces(given, [torch.ones(3, dtype=torch.float64)])
    assert torch.equal(piece.oracle, torch.ones(3, dtype=torch.float64)) and torch.equal(piece.reference, piece.oracle)
    assert torch.equal(given[0], torch.zeros(3, dtype=torch.float64))


def test_inputs_that_were_made_in_inference_mode_can_be_observed() -> None:
    with torch.inference_mode():
        drawn = torch.zeros(3)
    assert torch.equal(Oracle(nn.ReLU(), rows_independent=False).observe([drawn]), torch.zeros(3))
