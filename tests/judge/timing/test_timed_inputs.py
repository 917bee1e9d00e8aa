"""The choice of inputs that are changed."""

from evaluator.judge.timing.timed_inputs import changed_among


def test_at_least_as_many_inputs_are_changed_as_asked_for() -> None:
    assert changed_among(1, 1) == [True]
    assert all(any(changed_among(4, 1)) for _ in range(200))
    assert not all(any(changed_among(2, 0)) for _ in range(200))


def test_the_first_input_of_a_block_shows_nothing_of_the_others() -> None:
    """Otherwise a submission could do a block's first call right, and estimate the others if nothing is changed in it."""
    plain_first = [rest for first, *rest in (changed_among(4, 1) for _ in range(400)) if not first]
    assert len(plain_first) > 100 and all(any(rest) for rest in plain_first)
    assert {tuple(rest) for rest in plain_first} >= {(True, False, False), (False, False, True), (True, True, True)}
