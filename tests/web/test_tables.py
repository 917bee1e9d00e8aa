"""Sorting and pages."""

from web.tables import Column, table

COLUMNS: list[Column[tuple[str, float | None]]] = [
    Column("name", "the name", lambda row: row[0]),
    Column("value", "the value", lambda row: row[1], numeric=True, best_first=True),
]
ROWS: list[tuple[str, float | None]] = [("b", 1.0), ("a", None), ("d", 3.0), ("c", 2.0)]


def names(sort: str | None, order: str | None) -> str:
    return "".join(row[0] for row in table(COLUMNS, ROWS, sort, order).rows)


def test_rows_are_sorted_both_ways_and_what_has_no_value_comes_last() -> None:
    assert names("name", None) == "abcd" and names("name", "desc") == "dcba"
    assert names("value", None) == "dcba" and names("value", "asc") == "bcda"


def test_an_unknown_column_leaves_the_order() -> None:
    assert names(None, None) == names("nothing", "desc") == "badc"


def test_headings_say_how_it_is_sorted_and_what_comes_next() -> None:
    by_value = table(COLUMNS, ROWS, "value", None).headings
    assert [(heading.sorted, heading.next_order) for heading in by_value] == [("none", "asc"), ("descending", "asc")]
    by_name = table(COLUMNS, ROWS, "name", "asc").headings
    assert [(heading.sorted, heading.next_order) for heading in by_name] == [("ascending", "desc"), ("none", "desc")]


def test_pages() -> None:
    second = table(COLUMNS, ROWS, None, None, number=2, size=3)
    assert (second.rows, second.number, second.pages, second.total) == ((("c", 2.0),), 2, 2, 4)
    assert table(COLUMNS, ROWS, None, None, number=9, size=3).number == 2
    nothing = table(COLUMNS, [], None, None)
    assert (nothing.rows, nothing.number, nothing.pages) == ((), 1, 1)
