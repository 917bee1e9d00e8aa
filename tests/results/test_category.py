"""The table of categories."""

import pytest

from evaluator.results.category import CATEGORIES, Category, Status

NOTHING_TO_MEND = {Category.OK}


def test_the_table_has_every_category_once() -> None:
    assert set(CATEGORIES) == set(Category)
    assert all(member.value == member.name.lower() for group in (Category, Status) for member in group)
    assert len({info.meaning for info in CATEGORIES.values()}) == len(Category)
    assert {info.status for info in CATEGORIES.values()} == set(Status)


@pytest.mark.parametrize("category", Category)
def test_what_is_said_of_a_category(category: Category) -> None:
    info = CATEGORIES[category]
    assert category.status is info.status
    for text in (info.meaning, info.evidence):
        assert text.strip() == text
        assert len(text) > 3
        assert "\n" not in text
    assert info.meaning.endswith(".")
    assert bool(info.hint) == (category not in NOTHING_TO_MEND)
