"""Two evaluations and two runs side by side, and the list of runs."""

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from db.queries import run_comparison
from db.store import Store
from evaluator.results.category import Category
from evaluator.results.result import Result
from tests.db.samples import environment, failed, sha256, solved, stored_run
from tests.web.conftest import PROBLEM_SOURCE
from tests.web.seen import Seen

pytestmark = pytest.mark.slow(12)

COMMON = "".join(f"line_{number} = {number}\n" for number in range(30))

LEFT = COMMON + "block = 128\n" + COMMON

RIGHT = COMMON + "block = 256\nunroll = 4\n" + COMMON


@pytest.fixture
def pair(store: Store) -> tuple[int, int]:
    left = put(store, solved("first.py", 2.0, author="ada"), LEFT)
    return left, put(store, solved("second.py", 3.0, author="bob"), RIGHT)


def put(store: Store, made: Result, source: str) -> int:
    return store.save(made.model_copy(update={"source_sha256": sha256(source)}), source, PROBLEM_SOURCE)


def shown(client: TestClient, path: str, **parameters: Any) -> Seen:
    answer = client.get(path, params=parameters or None)
    assert answer.status_code == 200, answer.text
    return Seen(answer.text)


def compared(client: TestClient, **parameters: Any) -> Seen:
    return shown(client, "/compare", **parameters)


def test_times_have_a_ratio_with_its_interval(client: TestClient, pair: tuple[int, int]) -> None:
    found = compared(client, left=pair[0], right=pair[1])
    assert "The right evaluation is 1.500 times as fast as the left one (1.474 to 1.526, 95 %)" in " ".join(found.text.split())
    rows = {row[0]: [cell.strip() for cell in row[1:]] for row in found.rows if row}
    assert rows["speedup"] == ["2 (1.976 to 2.024)", "3 (2.963 to 3.037)"] and rows["author"] == ["ada", "bob"]
    assert rows["verdict"] == ["correct/ok", "correct/ok"] and "robust" not in rows
    assert f"/compare?left={pair[1]}&right={pair[0]}" in found.links
    assert "neither is clearly faster" in compared(client, left=pair[0], right=pair[0]).text


def test_sources_are_beside_each_other_with_their_numbers(client: TestClient, pair: tuple[int, int]) -> None:
    text = client.get("/compare", params={"left": pair[0], "right": pair[1]}).text
    (changed,) = re.findall(r'<div class="changed">(.*?)<div class="equal">', text, re.DOTALL)
    cells = [re.sub("<[^>]*>", "", cell).strip() for cell in re.split(r'<div class="(?:left|right)[^>]*>', changed)[1:]]
    assert cells == ["31block = 128", "31block = 256", "", "32unroll = 4"]
    assert text.count("equal lines</summary>") == 2 and "27 equal lines" in text
    told = client.get("/compare.json", params={"left": pair[0], "right": pair[1]}).json()
    assert told["changes"] == [{"equal": False, "left_start": 30, "left_end": 31, "right_start": 30, "right_end": 32}]
    assert told["ratio"]["ratio"] == 1.5 and told["left"]["submission"] == "first.py" and told["why_not"] == ""


def test_what_has_no_ratio_is_said(client: TestClient, store: Store, pair: tuple[int, int]) -> None:
    other = put(store, solved("third.py", 3.0, environment=environment("NVIDIA H100")), RIGHT)
    found = compared(client, left=pair[0], right=other)
    assert "They were timed on different devices: NVIDIA H200 and NVIDIA H100." in found.text and "times as fast" not in found.text
    again = put(store, failed("again.py", message="late"), LEFT)
    found = compared(client, left=pair[0], right=again)
    assert "Both sources are the same." in found.text and "late" in found.text
    assert "Their times can't be compared. The right one was not timed." in found.text


def test_best_and_previous_stand_for_numbers(client: TestClient, store: Store, pair: tuple[int, int]) -> None:
    later = put(store, failed("later.py", author="ada"), "later")
    for words, numbers in (
        ({"left": "best", "right": str(pair[0])}, (pair[1], pair[0])),
        ({"left": "best", "right": str(pair[1])}, pair),
        ({"left": "best", "right": str(later)}, (pair[1], later)),
        ({"left": "previous", "right": str(later)}, (pair[0], later)),
        ({"left": str(later), "right": "previous"}, (later, pair[0])),
    ):
        assert f"Evaluations {numbers[0]} and {numbers[1]}" in compared(client, **words).text, words


def test_where_there_is_no_counterpart_that_is_said(client: TestClient, store: Store) -> None:
    number = put(store, solved("a.py", 2.0), "a")
    stray = put(store, failed("b.py", Category.UNKNOWN_PROBLEM, problem=None, author=None), "b")
    for other in (number, stray):
        assert f"No other evaluation is ranked on the board of evaluation {other} yet." in compared(client, left="best", right=other).text
        found = client.get("/compare", params={"left": "previous", "right": other}).text
        assert f"no evaluation before {other}" in found and f'name="right" value="{other}"' in found
    assert "Compare two evaluations" in compared(client).text
    again = put(store, failed("b.py", Category.SYNTAX_ERROR, problem=None, author=None), "c")
    assert f"Evaluations {stray} and {again}" in compared(client, left="previous", right=again).text


def test_what_makes_no_sense_is_refused_with_the_way_out(client: TestClient, store: Store, pair: tuple[int, int]) -> None:
    other = put(store, solved("gelu.py", 3.0, problem="gelu"), RIGHT)
    refused = {
        f"left={pair[0]}&right={other}": (400, f"{pair[0]} is of softmax and {other} is of gelu. A problem's page lists its submissions."),
        f"left={pair[0]}&right=999": (404, "There is no evaluation 999"),
        f"left={pair[0]}&right=x": (400, "right: 'x' is not an evaluation's number, nor best or previous."),
        f"left={pair[0]}&right={'9' * 30}": (400, "is not an evaluation's number"),
        "left=best&right=previous": (400, "At least one side must be an evaluation's number"),
        f"left={pair[0]}": (400, "right: '' is not an evaluation's number"),
    }
    for query, (status, words) in refused.items():
        answer = client.get(f"/compare?{query}")
        assert answer.status_code == status and words in Seen(answer.text).text, (query, Seen(answer.text).text)


def test_long_sources_are_compared_as_far_as_they_are_shown(client: TestClient, store: Store) -> None:
    numbers = [put(store, solved(f"{end}.py", 2.0), "x = 1\n" * 5100 + end) for end in ("a", "b")]
    assert "202 more lines were not compared." in compared(client, left=numbers[0], right=numbers[1]).text


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


def test_runs_are_listed_with_their_devices_and_counts_and_the_two_newest_chosen(client: TestClient, two: tuple[int, int]) -> None:
    found = shown(client, "/runs")
    head = [" ".join(cell.split()) for cell in found.rows[0]]
    newest = dict(zip(head, (cell.split() for cell in found.rows[1]), strict=True))
    assert newest["run"] == [str(two[1])] and newest["device"] == ["NVIDIA", "H200"]
    assert (newest["correct"], newest["incorrect"]) == (["3"], ["1"]) and "rejected" not in head
    told = client.get("/runs.json").json()
    assert [run["id"] for run in told] == [two[1], two[0]] and told[0]["devices"] == ["NVIDIA H200"]
    text = client.get("/runs").text
    chosen = dict(re.findall(r'name="(left|right)" value="(\d+)"[^>]* checked', text))
    assert chosen == {"left": str(two[0]), "right": str(two[1])} and '<form method="get" action="/runs/compare"' in text


def test_a_long_list_comes_in_parts(client: TestClient, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No run has stored anything yet." in shown(client, "/runs").text
    monkeypatch.setattr("web.pages.runs.RUNS", 3)
    for _ in range(4):
        stored_run(url)
    first = shown(client, "/runs")
    (older,) = [link for link in first.links if "before=" in link]
    assert len(first.rows) == 4 and len(shown(client, older).rows) == 2


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
    assert "2 → 3" in rows[1][5] and rows[1][6] == "1.500 1.474–1.526"
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
    stored_run(url, solved("a.py", 2.0, environment=environment("NVIDIA H100")))
    assert "compare verdicts, but not times" in shown(client, "/runs/compare", show="all").text


def test_the_csv_has_a_line_for_each_submission_that_is_shown(client: TestClient, two: tuple[int, int]) -> None:
    left, right = two
    lines = client.get(f"/runs/compare.csv?left={left}&right={right}&show=faster").text.splitlines()
    assert lines[0].startswith("outcome,submission,") and lines[1].startswith("faster,faster.py,") and len(lines) == 2
    assert client.get("/runs.csv").text.splitlines()[1].startswith(f"{right},")


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
