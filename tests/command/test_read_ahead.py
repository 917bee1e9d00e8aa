"""Reading ahead and in batches: bounded, whatever there is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from command import read_ahead as module
from command.read_ahead import BATCH, BATCH_CHARS, READ_AHEAD, READ_AHEAD_CHARS, batches, emptied, longest_first, read_ahead
from evaluator.submission.model import Submission


def some(count: int, chars: int = 10, drawn: list[int] | None = None) -> Iterator[Submission]:
    for number in range(count):
        if drawn is not None:
            drawn.append(number)
        yield Submission(f"{number}.py", Path(f"/{number}.py"), None, "x" * chars, 1, None, None, "softmax", None)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine reads less in half a second."""
    monkeypatch.setattr(module, "READ_AHEAD_S", 60.0)


def test_what_is_short_is_read_whole_and_what_is_long_to_the_bound() -> None:
    assert len(read_ahead(some(7))) == 7
    source = some(READ_AHEAD + 5)
    assert len(read_ahead(source)) == READ_AHEAD
    assert [left.name for left in source] == [f"{READ_AHEAD + number}.py" for number in range(5)]


def test_few_large_ones_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(read_ahead(some(100, READ_AHEAD_CHARS // 2))) == 2
    monkeypatch.setattr(module, "READ_AHEAD_S", 0.0)
    assert len(read_ahead(some(100))) == 1


def test_where_there_is_nothing_nothing_is_read() -> None:
    assert not read_ahead(some(0))


def test_what_was_handed_on_is_not_kept() -> None:
    head = read_ahead(some(3))
    taken = emptied(head)
    assert (next(taken).name, len(head)) == ("0.py", 2)


def test_batches_hold_all_in_order_and_grow_to_their_bound() -> None:
    found = list(batches(some(300)))
    assert [item.name for batch in found for item in batch] == [f"{number}.py" for number in range(300)]
    assert [len(batch) for batch in found][:8] == [1, 2, 4, 8, 16, 32, BATCH, BATCH]


def test_batches_of_large_ones_are_small_and_nothing_is_drawn_before_it_is_asked_for() -> None:
    drawn: list[int] = []
    source = batches(some(100, BATCH_CHARS // 2, drawn))
    sizes = [len(next(source)) for _ in range(4)]
    assert sizes == [1, 2, 2, 2]
    assert len(drawn) == 7


def test_long_builds_begin_first(tmp_path: Path) -> None:
    (tmp_path / "tiles").mkdir()
    (tmp_path / "tiles" / "gemm.hpp").touch()

    def named(name: str, code: str) -> Submission:
        return Submission(name, Path(f"/{name}"), None, code, 1, None, None, "softmax", None)

    own, other = '#include "tiles/gemm.hpp"', '#include "gone/gemm.hpp"  // and so on'
    given = [named("short", "x"), named("long", "x" * 1000), named("own", own), named("other", other), named("same", "y")]
    assert [each.name for each in longest_first(given, [tmp_path])] == ["own", "long", "other", "short", "same"]
    assert [each.name for each in longest_first(given, [])] == ["long", "other", "own", "short", "same"]
