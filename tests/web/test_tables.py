"""Sorting, pages, empty columns and CSV."""

import csv
import io
from dataclasses import dataclass
from datetime import UTC, datetime

from web.tables import Column, csv_lines, is_descending, ordered_table, table

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
    assert [row[0] for row in table(COLUMNS, ROWS, "name", None, number=2, size=3).every] == ["a", "b", "c", "d"]


def test_a_column_without_a_value_is_left_out() -> None:
    empty: list[Column[tuple[str, float | None]]] = [
        *COLUMNS,
        Column("blank", "blank", lambda _: ""),
        Column("asked", "asked", lambda _: None, text=lambda _: "untested", sortable=False),
        Column("told", "told", None, text=lambda row: f"of {row[0]}"),
    ]
    assert [heading.key for heading in table(empty, ROWS, None, None).headings] == ["name", "value", "told"]
    assert [heading.key for heading in table(empty, ROWS[1:2], None, None).headings] == ["name", "told"], "of the rows that are shown"
    assert [heading.key for heading in table(empty, ROWS, "blank", None).headings] == ["name", "value", "blank", "told"], "sorted by it"
    assert len(table(empty, [], None, None).headings) == 5, "of no rows all are shown"
    by_asked = table(empty, [("x", 1.0)], "asked", None)
    assert all(heading.sorted == "none" for heading in by_asked.headings)


def test_rows_are_known_before_columns_are_asked() -> None:
    told: dict[str, str] = {}
    late: Column[tuple[str, float | None]] = Column("told", "told", lambda row: told[row[0]], sortable=False)
    columns = [*COLUMNS, late]
    shown = table(columns, ROWS, "name", None, size=2, prepare=lambda rows: told.update({row[0]: "known" for row in rows}))
    assert told == {"a": "known", "b": "known"} and [column.key for column in shown.columns][-1] == "told"


def test_what_comes_sorted_is_not_sorted_again() -> None:
    shown = ordered_table(COLUMNS, ROWS, "value", None, 3, 250)
    assert (shown.rows, shown.number, shown.pages, shown.total) == (tuple(ROWS), 3, 3, 250)
    assert [heading.sorted for heading in shown.headings] == ["none", "descending"]
    assert is_descending(COLUMNS, "value", None) and not is_descending(COLUMNS, "value", "asc") and not is_descending(COLUMNS, "name", None)


def test_csv_has_a_head_and_no_formulas() -> None:
    @dataclass(frozen=True)
    class Item:
        name: str
        value: float | None
        at: datetime
        parts: tuple[int, ...]

    at = datetime(2026, 5, 1, tzinfo=UTC)
    names = ["=1+1", "+x", "-x", "@x", "\tx", 'a "b", c', "two\nlines", "plain"]
    lines = "".join(csv_lines(Item(name, None if name == "plain" else -1.5, at, (1, 2)) for name in names))
    rows = list(csv.reader(io.StringIO(lines)))
    assert rows[0] == ["name", "value", "at", "parts"]
    assert [row[0] for row in rows[1:]] == ["'=1+1", "'+x", "'-x", "'@x", "'\tx", 'a "b", c', "two\nlines", "plain"]
    assert rows[1][1:] == ["-1.5", "2026-05-01T00:00:00+00:00", "1 2"] and rows[-1][1] == ""
    many = list(csv_lines({"a": number} for number in range(1200)))
    assert len(many) == 3 and "".join(many).count("\n") == 1201
    assert "".join(csv_lines([])) == ""
