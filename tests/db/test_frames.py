"""Evaluations as a DataFrame."""

import inspect
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import db
import db.__main__
from configuration.values import name_of, options_of
from db.error import StoreError
from db.exchange import COLUMNS
from db.storage.origin import Origin
from db.storage.record import Entry
from db.store import Store
from evaluator.results.category import Category, Status
from tests.db.samples import result

pytestmark = pytest.mark.slow(5)

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    url = f"sqlite:///{tmp_path}/results.db"
    for run in range(2):
        with Store.open(url) as store:
            store.start_run(["a command"])
            store.save(result(submission=f"{run}.py", started_at=NOON + timedelta(days=run), speedup=2.0 + run), "class ModelNew: ...\n")
            wrong = result(Category.WRONG_VALUES, submission=f"w{run}.py", author=None, problem="gelu", sample_id=run)
            store.save_all([Entry(wrong, "", origins=(Origin(run), Origin(7, None, {"run": "é"})))])
    yield url


def test_every_evaluation_is_a_row_with_typed_columns(url: str) -> None:
    frame = db.read(url)
    assert list(frame.columns) == list(COLUMNS) and list(frame["id"]) == [1, 2, 3, 4]
    kinds = frame.dtypes.astype(str)
    assert dict(kinds[["id", "block", "speedup", "is_ranked", "status", "problem"]]) == {
        "id": "int64",
        "block": "Int64",
        "speedup": "float64",
        "is_ranked": "bool",
        "status": "category",
        "problem": "category",
    }
    assert kinds["message"].startswith("string") and kinds["started_at"] == "datetime64[us, UTC]"
    assert frame["started_at"][0] == NOON and frame["sample_id"].tolist()[1] == 0 and frame["sample_id"].isna()[0]
    assert frame["author"].tolist()[0] == "ada" and frame["author"].isna()[1]
    assert [each["step"] for each in json.loads(frame["origins"][3])] == [1, 7] and frame["origins"].isna().tolist()[0]
    assert frame.groupby("problem", observed=True)["speedup"].count().to_dict() == {"gelu": 0, "softmax": 2}


FILTERS: list[tuple[dict[str, Any], list[int]]] = [
    ({"author": "ada", "limit": 1}, [3]),
    ({"status": Status.CORRECT, "category": Category.OK}, [1, 3]),
    ({"status": "incorrect", "run": "last"}, [4]),
    ({"since": datetime(2026, 5, 2), "problem": "softmax"}, [3]),
    ({"category": "timeout"}, []),
    ({"step": 0}, [2]),
    ({"tag": "run=é"}, [2, 4]),
    ({"search": "class modelnew", "author": "ada"}, [1, 3]),
    ({"search": "no such words"}, []),
]
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"problem": "sofmax"}, "no problem 'sofmax'; nearest: softmax"),
    ({"tag": "run"}, "use NAME=VALUE"),
    ({"since": "soon"}, "invalid time 'soon'"),
]


def test_filters_are_those_of_the_command_list(url: str) -> None:
    options = {name_of(action) for action in options_of(db.__main__.parsers()[1]["list"])}
    assert set(inspect.signature(db.read).parameters) == options - {"json", "db", "sort"} | {"url"}, "a frame sorts itself"
    for filters, ids in FILTERS:
        frame = db.read(url, **filters)
        assert frame["id"].tolist() == ids, filters
        assert (list(frame.columns), str(frame["started_at"].dtype)) == (list(COLUMNS), "datetime64[us, UTC]")
    for filters, told in WRONG:
        with pytest.raises(StoreError, match=told):
            db.read(url, **filters)
    with pytest.raises(StoreError, match="There is no database"):
        db.read(url + "x")


def test_without_pandas_it_says_how_to_install_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install .*\[pandas\]"):
        db.read(url)
