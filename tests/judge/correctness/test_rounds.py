"""Digests of outputs, by which the rounds notice one that was kept."""

import pytest
import torch

from evaluator.judge.correctness import rounds
from evaluator.judge.correctness.rounds import digest

LONG = torch.randn(301, 7, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("output", [LONG, LONG.T, LONG.bfloat16(), LONG > 0, LONG[0, 0], LONG[1:2, 3:4], LONG.to(torch.complex64)])
def test_equal_values_have_one_digest_and_others_another(output: torch.Tensor) -> None:
    assert digest(output) == digest(output.clone())
    for index in range(0, output.numel(), 50):
        changed = output.contiguous().clone()
        changed.view(-1)[index] = ~changed.view(-1)[index] if output.dtype is torch.bool else changed.view(-1)[index] + 1
        assert digest(changed) != digest(output)


def test_the_order_counts() -> None:
    words = torch.arange(64)
    assert len({digest(words), digest(words.flip(0)), digest(words.roll(16)), digest(words.roll(1))}) == 4


def test_of_a_large_output_a_sample_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "SAMPLE_BYTES", 64)
    assert digest(LONG) == digest(LONG.clone()) != digest(LONG + 1)
