"""The list of runs, and two of them side by side."""

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from db.queries import run_comparison
from db.store import Store
from evaluator.results.category import Category
from tests.db.queries.test_run_comparison import failed, solved, stored_run
from tests.db.samples import environment
from tests.web.seen import Seen
from web.pages.runs import RUNS


@pytest.fixture
def two(store: Store, url: str) -> tuple[int, int]:
    """Two runs: one submission broke, one is faster, one is as it was, one is gone and one is new."""
    left = stored_run(url, solved("broke.py", 2.0), solved("faster.py", 2.0), solved("same.py", 2.0), solved("gone.py", 2.0))
    right = stored_run(
        url,
        failed("broke.py", Category.WRONG_VALUES),
        solved("faster.py", 3.0),
        solved("same.py", 2.0),
        solved("new.py", 1.0, problem="gelu"),
    )
    return left, right


def shown(client: TestClient, path: str, **parameters: Any) -> Seen:
    answer = client.get(path, params=parameters or None)
    assert answer.status_code == 200, answer.text
    return Seen(answer.text)


def test_runs_are_listed_with_their_devices_and_counts(client: TestClient, two: tuple[int, int]) -> None:
    found = shown(client, "/runs")
    head = [" ".join(cell.split()) for cell in found.rows[0]]
    newest = dict(zip(head, (cell.split() for cell in found.rows[1]), strict=True))
    assert newest["run"] == [str(two[1])] and newest["device"] == ["NVIDIA", "H200"]
    assert (newest["correct"], newest["incorrect"]) == (["3"], ["1"]) and "rejected" not in head
    told = client.get("/runs.json").json()
    assert [run["id"] for run in told] == [two[1], two[0]] and told[0]["devices"] == ["NVIDIA H200"]


def test_the_two_newest_are_chosen_at_first(client: TestClient, two: tuple[int, int]) -> None:
    text = client.get("/runs").text
    chosen = re.findall(r'name="(left|right)" value="(\d+)"[^>]* checked', text)
    assert dict(chosen) == {"left": str(two[0]), "right": str(two[1])}
    assert '<form method="get" action="/runs/compare"' in text


def test_a_long_list_comes_in_parts(client: TestClient, store: Store, url: str) -> None:
    assert "No run has stored anything yet." in shown(client, "/runs").text
    for _ in range(RUNS + 1):
        stored_run(url)
    first = shown(client, "/runs")
    (older,) = [link for link in first.links if "before=" in link]
    assert len(first.rows) == 1 + RUNS and len(shown(client, older).rows) == 2


def test_a_long_command_is_shown_in_part_until_it_is_opened(client: TestClient, url: str) -> None:
    words = ["pipeline.py", *(f"submissions/softmax/number_{number}.py" for number in range(40))]
    with Store.open(url) as working:
        working.start_run(words)
        run = working._run_id
    short = f"{' '.join(words)[:160]} …"
    for path in (f"/run/{run}", "/runs", f"/runs/compare?left={stored_run(url)}&right={run}"):
        found = shown(client, path)
        assert "details" in found.tags and short in found.text and " ".join(words) in found.text, path
    live = shown(client, "/live")
    assert short in live.text and "number_39.py" not in live.text


def test_who_broke_comes_first_and_what_is_unchanged_is_counted_alone(client: TestClient, two: tuple[int, int]) -> None:
    left, right = two
    found = shown(client, "/runs/compare", left=left, right=right)
    rows = [row for row in found.rows if "broke" in "".join(row) or "faster.py" in "".join(row)]
    assert "broke.py" in rows[0][2] and "correct/ok" in rows[0][4] and "incorrect/wrong_values" in rows[0][4]
    assert "2 → 3" in rows[1][5] and rows[1][6] == "1.500 1.479–1.521"
    for words in ("1 broke", "1 gone", "1 faster", "1 new", "1 unchanged"):
        assert words in found.text, words
    assert "same.py" not in found.text
    assert "same.py" in shown(client, "/runs/compare", left=left, right=right, show="all").text
    only = shown(client, "/runs/compare", left=left, right=right, show="unchanged")
    assert "same.py" in only.text and "broke.py" not in only.text
    assert [link for link in found.links if link.startswith("/compare?left=")]


def test_outcomes_are_chosen_sorted_and_filtered_by_the_address(client: TestClient, two: tuple[int, int]) -> None:
    left, right = two
    by_ratio = shown(client, "/runs/compare", left=left, right=right, sort="ratio", order="desc", show="all")
    names = [row[2].strip() for row in by_ratio.rows if len(row) > 5 and row[2].strip().endswith(".py")]
    assert names[:2] == ["faster.py", "same.py"]
    assert "new.py" in shown(client, "/runs/compare", left=left, right=right, problem="gelu").text
    assert "faster.py" not in shown(client, "/runs/compare", left=left, right=right, problem="gelu").text
    told = client.get("/runs/compare.json", params={"left": left, "right": right}).json()
    assert told["counts"] == {"broke": 1, "gone": 1, "faster": 1, "new": 1, "unchanged": 1} and len(told["rows"]) == 5


def test_the_last_two_runs_are_compared_where_none_is_named(client: TestClient, store: Store, url: str) -> None:
    stored_run(url, solved("a.py", 2.0))
    assert client.get("/runs/compare").status_code == 404
    stored_run(url, solved("a.py", 3.0))
    assert "1 faster" in shown(client, "/runs/compare").text


def test_the_csv_has_a_line_for_each_submission_that_is_shown(client: TestClient, two: tuple[int, int]) -> None:
    left, right = two
    lines = client.get(f"/runs/compare.csv?left={left}&right={right}&show=faster").text.splitlines()
    assert lines[0].startswith("outcome,submission,") and lines[1].startswith("faster,faster.py,") and len(lines) == 2
    assert client.get("/runs.csv").text.splitlines()[1].startswith(f"{right},")


def test_other_devices_are_said(client: TestClient, store: Store, url: str) -> None:
    left = stored_run(url, solved("a.py", 2.0))
    right = stored_run(url, solved("a.py", 2.0, environment=environment("NVIDIA H100")))
    assert "compare verdicts, but not times" in shown(client, "/runs/compare", left=left, right=right, show="all").text


def test_what_can_t_be_compared_is_said_with_the_way_out(client: TestClient, two: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = two
    for query, status, words in (
        (f"left={left}&right={left}", 400, f"Both sides are run {left}. Choose two runs at /runs."),
        (f"left={left}&right=999", 404, "There is no run 999"),
        (f"left={left}", 400, "choose them at /runs."),
        (f"left={left}&right=x", 400, "right"),
    ):
        answer = client.get(f"/runs/compare?{query}")
        assert answer.status_code == status and words in Seen(answer.text).text, query
    monkeypatch.setattr(run_comparison, "MOST_EVALUATIONS", 2)
    answer = client.get(f"/runs/compare?left={left}&right={right}")
    assert answer.status_code == 400 and f"/runs/compare?left={left}&right={right}&problem=NAME" in Seen(answer.text).text
