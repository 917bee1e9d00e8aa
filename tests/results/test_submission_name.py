"""Names of submissions."""

from evaluator.results.submission_name import shown_name


def test_a_block_is_shown_from_the_second_one_on() -> None:
    assert [shown_name("a.md", block) for block in (None, 1, 2)] == ["a.md", "a.md", "a.md [2]"]
