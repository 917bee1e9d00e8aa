"""Stored submissions get another author."""

from pathlib import Path

import pytest

from db.authorship import AuthorChange, Former, set_author
from db.exchange import export_json, store_lines
from db.queries.evaluations import Choice
from db.queries.filters import Filters
from db.queries.leaderboard import failures, leaderboard
from db.queries.names import known_names
from db.queries.overall import overall
from db.queries.timeline import Timeline
from db.store import Store, StoreError
from db.upkeep import check
from evaluator.results.category import Category
from tests.db.conftest import BOTH
from tests.db.samples import failed, result, solved, stored_run

pytestmark = pytest.mark.slow(10)


def places(store: Store) -> list[tuple[str | None, str]]:
    return [(row.author, row.submission) for row in leaderboard(store)]


def save(store: Store, name: str, author: str | None, speedup: float = 2.0, source: str | None = None) -> int:
    text = source or f"source of {name}"
    return store.save(solved(name, speedup, author=author, source=text), text)


@BOTH
def test_a_run_moves_to_another_author_with_boards_and_counts(store: Store, url: str, tmp_path: Path) -> None:
    known = save(store, "known.py", None)
    stored_run(url, solved("fast.py", 4.0, author=None), failed("slow.py", author=None), skipped=[known])
    other = save(store, "other.py", "bob", 3.0)
    timeline = Timeline(store)
    assert timeline.page(Choice(Filters(author="bob")), 9)[1] == [other]
    assert set_author(store, "ada", "last", []) == AuthorChange("ada", 3, 3, (Former(None, 3),), 0)
    assert places(store) == [("ada", "fast.py"), ("bob", "other.py")], "only the author's best counts now"
    assert [(row.author, row.solved) for row in overall(store)[0].rows] == [("ada", 1), ("bob", 1)]
    assert failures(store, Filters(author="ada")).evaluations == 3
    assert timeline.page(Choice(Filters(author="ada")), 9)[0] == 3
    assert known_names(store, "author") == {"ada", "bob"}
    assert check(store, deep=True) == []
    assert set_author(store, "ada", "last", []) == AuthorChange("ada", 0, 0, (), 3)
    with (tmp_path / "all.jsonl").open("wb") as file:
        export_json(store, file)
    assert store_lines(store, tmp_path / "all.jsonl") == 0, "a changed evaluation is known as what it is now"


@BOTH
def test_copies_of_a_source_count_once_for_their_new_author_and_again_for_the_former(store: Store) -> None:
    first, second = save(store, "a.py", "ada", 4.0, source="same"), save(store, "b.py", "ada", 3.0, source="same")
    assert places(store) == [("ada", "b.py")], "the latest copy counts"
    set_author(store, "bob", None, ["b.py"])
    assert places(store) == [("ada", "a.py"), ("bob", "b.py")]
    assert {row.speedup for row in leaderboard(store)} == {3.0} and check(store) == []
    set_author(store, "bob", None, ["a.py"])
    assert places(store) == [("bob", "b.py")] and known_names(store, "author") == {"bob"}
    assert check(store, deep=True) == [] and [store.get(each).result.author for each in (first, second)] == ["bob"] * 2  # type: ignore[union-attr]


@BOTH
def test_a_submission_that_both_authors_have_becomes_one_and_its_history_stays(store: Store) -> None:
    old, new = save(store, "a.py", None, 9.0, source="old"), save(store, "a.py", "ada", source="new")
    assert set_author(store, "ada", None, ["a.py"]) == AuthorChange("ada", 1, 1, (Former(None, 1),), 1)
    with store.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM submissions").scalar() == 1
    assert places(store) == [("ada", "a.py")] and [row.evaluation_id for row in leaderboard(store)] == [new]
    assert store.get(old).result.author == "ada"  # type: ignore[union-attr]
    assert save(store, "a.py", "ada", source="newer") > new and check(store, deep=True) == []


@BOTH
def test_a_path_is_a_name_a_bundle_or_a_folder(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("in/a.py", "in/b/c.py", "In/a.py", "in%/a.py", "inner.py", "b.jsonl:1", "b.jsonl:12", "b.jsonl", "service/eve/é\0.py", "x.md")
    for name in names:
        save(store, name, None)
    store.save(result(submission="x.md", author=None, block=2), "class ModelNew: ...\n")

    def taken(path: str) -> set[str]:
        set_author(store, path, None, [path])
        return {stored.result.submission for stored in store.each() if stored.result.author == path}

    assert taken("in/") == {"in/a.py", "in/b/c.py"}
    assert taken("./in") == {"in/a.py", "in/b/c.py"}
    assert taken(str(tmp_path / "in/b/../b")) == {"in/b/c.py"}
    assert taken("in%") == {"in%/a.py"}
    assert taken("b.jsonl") == {"b.jsonl", "b.jsonl:1", "b.jsonl:12"}, "a rejected bundle has the name alone"
    assert taken("b.jsonl:1") == {"b.jsonl:1"}
    assert taken("service/eve") == {"service/eve/é\0.py"}
    assert set_author(store, " zoe ", None, ["x.md", "x.md", "in"]).submissions == 4, "all blocks; each submission once"
    save(store, "/elsewhere/a.py", None)
    assert taken(".") == {*names, "x.md"}, "those with a relative name"
    assert check(store, deep=True) == []


def test_lines_of_a_bundle_go_with_it(store: Store) -> None:
    for name in ("b.jsonl:1", "b.jsonl:12", "b.jsonl.md"):
        save(store, name, None)
    assert set_author(store, "ada", None, ["b.jsonl"]).submissions == 2


def test_many_submissions_go_together(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("db.authorship.LOOKUP", 2)
    for number in range(5):
        save(store, f"in/{number}.py", "ada", 1.0 + number, source="same" if number % 2 else None)
    assert set_author(store, "bob", None, ["in"]) == AuthorChange("bob", 5, 5, (Former("ada", 5),), 0)
    assert places(store) == [("bob", "in/4.py")] and check(store, deep=True) == []


def test_what_is_not_there_is_refused_whole(store: Store) -> None:
    save(store, "soft.py", "ada")
    store.save(failed("late.py", Category.TIMEOUT, author=None), "class ModelNew: ...\n")
    for run, paths, told in (
        ("7", [], "no run '7'; there is none"),
        (None, ["soft.py", "sofd.py"], "no submission 'sofd.py'; nearest: soft.py; `assay list` lists them"),
        (None, ["%"], "no submission '%'"),
    ):
        with pytest.raises(StoreError, match=told):
            set_author(store, "bob", run, paths)
    with pytest.raises(StoreError, match="can't be empty"):
        set_author(store, " ", None, ["soft.py"])
    assert known_names(store, "author") == {"ada"}, "nothing was changed"
