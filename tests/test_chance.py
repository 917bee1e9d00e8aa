"""The judge's random choices: unpredictable, or repeated from a seed."""

import pytest

from evaluator.chance import Chance

CHOICES = range(1 << 48)


def drawn(judged: str) -> list[int]:
    """What an evaluation of `judged` draws in a new process."""
    chance = Chance()
    chance.begin(judged)
    return [chance.choice(CHOICES), *chance.sample(CHOICES, 3), chance.getrandbits(48), int(chance.random() * (1 << 48))]


@pytest.mark.parametrize("seed", [None, ""])
def test_nobody_can_predict_what_no_seed_gives(seed: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed is None:
        monkeypatch.delenv("ASSAY_SEED")
    else:
        monkeypatch.setenv("ASSAY_SEED", seed)
    assert len({*drawn("x"), *drawn("x")}) == 12


def test_a_seed_gives_the_same_choices_for_the_same_submission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_SEED", "7")
    before = drawn("x")
    assert drawn("x") == before != drawn("y")
    monkeypatch.setenv("ASSAY_SEED", "8")
    assert len({*before, *drawn("x")}) == 12
