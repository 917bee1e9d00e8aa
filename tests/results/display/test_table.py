"""Tables that fit: which columns go first, and how names stay apart."""

import pytest
from rich.cells import cell_len

from evaluator.results.display.screen import Screen
from evaluator.results.display.table import Column, Table, layout, shortened, told_apart, wrapped

PATH = "runs/a_model_with_a_long_name/bias_residual_relu/sample_{}/kernel.py"


def table(*rows: tuple[object, ...]) -> Table:
    made = Table((Column("rank", right=True), Column("speedup", 80, right=True), Column("note", 10, "text"), Column("name", kind="path")))
    for row in rows:
        made.add(*row)
    return made


def shown(made: Table, width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    return Screen().text(made).splitlines()


def test_the_least_important_columns_go_first_and_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    made = table((1, "2.00×", "a note that takes some room", PATH.format(1)))
    assert shown(made, 200, monkeypatch) == [
        f"rank  speedup  {'note':<27}  name",
        f"   1    2.00×  a note that takes some room  {PATH.format(1)}",
    ]
    assert shown(made, 40, monkeypatch)[0].split() == ["rank", "speedup", "name"]
    assert shown(made, 40, monkeypatch)[-1] == "Not shown for lack of room: note; widen the terminal or use --json"
    assert shown(made, 22, monkeypatch)[-1] == "Not shown for lack of room: speedup, note; widen the terminal or use --json"


def test_empty_columns_go_before_all_others_and_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(table((1, None, None, PATH.format(1)), (2, "", None, PATH.format(2))), 80, monkeypatch)
    assert lines[0].split() == ["rank", "name"] and len(lines) == 3


def test_a_pipe_gets_every_column_and_every_value_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    name = PATH.format("1" * 1000)
    heading, line = Screen().text(table((1, None, "note " * 200, name))).splitlines()
    assert heading.split() == ["rank", "speedup", "note", "name"]
    assert line.endswith(f"  {name}") and line.count("note") == 200


def test_texts_are_wrapped_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(table((1, None, "several words that make a longer line", "a.py")), 40, monkeypatch)
    assert lines[1:] == ["   1  several words that make a     a.py", "      longer line"]


def test_tables_of_the_same_columns_are_laid_out_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = Screen().text(table((1, "2.00×", None, "a.py")), "between", table((10_000_000, "10.00×", "text", "b.py"))).splitlines()
    assert lines[0] == lines[3] and lines.index("between") == 2


@pytest.mark.parametrize("width", [12, 16, 24, 40])
def test_names_stay_apart_however_narrow(width: int) -> None:
    paths = {PATH.format(number) for number in range(40)} | {"x.py", PATH.format(7).replace("bias", "scale")}
    told = told_apart(paths, width)
    assert len(set(told.values())) == len(paths)
    assert all(cell_len(line) <= width for name in told.values() for line in name.split("\n"))
    assert told["x.py"] == "x.py"


def test_what_differs_is_what_is_kept() -> None:
    told = told_apart({PATH.format(1), PATH.format(2)}, 16)
    assert "sample_1" in told[PATH.format(1)] and "sample_2" in told[PATH.format(2)]


@pytest.mark.parametrize(("name", "width"), [("a" * 50, 12), ("核" * 30, 12), ("核" * 30, 13), ("/" * 30, 7), ("é́" * 20, 9)])
def test_a_name_is_never_wider_than_its_column(name: str, width: int) -> None:
    assert cell_len(shortened(name, width)) <= width and "…" in shortened(name, width)
    lines = wrapped(name, width).split("\n")
    assert max(map(cell_len, lines)) <= width and "".join(lines) == name


def test_a_name_is_wrapped_behind_slashes_and_underscores() -> None:
    assert wrapped("runs/some_model/kernel_one.py", 12) == "runs/some_\nmodel/\nkernel_\none.py"


def test_headers_are_never_cut() -> None:
    made = Table((Column("a header", kind="name"), Column("another one", kind="path")))
    made.add("x", "y")
    assert layout([made], 5).widths == {0: 8, 1: 11}
