"""Figures as people read them."""

import pytest

from evaluator.results.display.figures import light_text, percent, rank_text, rate_text


@pytest.mark.parametrize(
    ("share", "told"),
    [(0.71234, "71.2 %"), (1.0, "100 %"), (1.25, "125 %"), (0.000412, "0.0412 %"), (0.05, "5.00 %"), (12.345, "1234 %"), (0.0, "0.00 %")],
)
def test_shares(share: float, told: str) -> None:
    assert percent(share) == told


def test_a_share_that_is_not_known_is_not_told() -> None:
    assert light_text(0.5, 0.25) == "50.0 % (25.0 %)"
    assert light_text(None, 0.25) == light_text(0.5, None) == ""


def test_a_rank_that_another_has_too_is_marked() -> None:
    assert (rank_text(1, True), rank_text(3, False)) == ("1=", "3")


@pytest.mark.parametrize(
    ("per_s", "told"), [(4.28e12, "4.28 TB/s"), (61.2e9, "61.2 GB/s"), (5e6, "5 MB/s"), (12.0, "12 B/s"), (7.9e14, "790 TB/s")]
)
def test_rates(per_s: float, told: str) -> None:
    assert rate_text(per_s, "B") == told
