"""Two evaluations side by side."""

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from db.store import Store
from evaluator.results.category import Category
from evaluator.results.result import Result
from tests.db.queries.test_run_comparison import failed, solved
from tests.db.samples import environment, sha256
from tests.web.conftest import PROBLEM_SOURCE
from tests.web.seen import Seen

COMMON = "".join(f"line_{number} = {number}\n" for number in range(30))
LEFT = COMMON + "block = 128\n" + COMMON
RIGHT = COMMON + "block = 256\nunroll = 4\n" + COMMON


@pytest.fixture
def pair(store: Store) -> tuple[int, int]:
    left = put(store, solved("first.py", 2.0, author="ada"), LEFT)
    return left, put(store, solved("second.py", 3.0, author="bob"), RIGHT)


def put(store: Store, made: Result, source: str) -> int:
    return store.save(made.model_copy(update={"source_sha256": sha256(source)}), source, PROBLEM_SOURCE)


def shown(client: TestClient, **parameters: Any) -> Seen:
    answer = client.get("/compare", params=parameters or None)
    assert answer.status_code == 200, answer.text
    return Seen(answer.text)


def test_times_have_a_ratio_with_its_interval(client: TestClient, pair: tuple[int, int]) -> None:
    found = shown(client, left=pair[0], right=pair[1])
    assert "The right evaluation is 1.500 times as fast as the left one (1.479 to 1.521, 95 %)" in " ".join(found.text.split())
    rows = {row[0]: [cell.strip() for cell in row[1:]] for row in found.rows if row}
    assert rows["speedup"] == ["2 (1.98 to 2.02)", "3 (2.97 to 3.03)"] and rows["author"] == ["ada", "bob"]
    assert rows["verdict"] == ["correct/ok", "correct/ok"] and "robust" not in rows
    assert f"/compare?left={pair[1]}&right={pair[0]}" in found.links
    assert "neither is clearly faster" in shown(client, left=pair[0], right=pair[0]).text


def test_sources_are_beside_each_other_with_their_numbers(client: TestClient, pair: tuple[int, int]) -> None:
    text = client.get("/compare", params={"left": pair[0], "right": pair[1]}).text
    (changed,) = re.findall(r'<div class="changed">(.*?)<div class="equal">', text, re.DOTALL)
    cells = [re.sub("<[^>]*>", "", cell).strip() for cell in re.split(r'<div class="(?:left|right)[^>]*>', changed)[1:]]
    assert cells == ["31block = 128", "31block = 256", "", "32unroll = 4"]
    assert text.count("equal lines</summary>") == 2 and "27 equal lines" in text
    told = client.get("/compare.json", params={"left": pair[0], "right": pair[1]}).json()
    assert told["changes"] == [{"equal": False, "left_start": 30, "left_end": 31, "right_start": 30, "right_end": 32}]
    assert told["ratio"]["ratio"] == 1.5 and told["left"]["submission"] == "first.py" and told["why_not"] == ""


def test_the_same_source_is_said(client: TestClient, store: Store, pair: tuple[int, int]) -> None:
    again = put(store, failed("again.py", message="late"), LEFT)
    found = shown(client, left=pair[0], right=again)
    assert "Both sources are the same." in found.text and "late" in found.text
    assert "Their times can't be compared. The right one was not timed." in found.text


def test_times_of_other_devices_have_no_ratio(client: TestClient, store: Store, pair: tuple[int, int]) -> None:
    other = put(store, solved("third.py", 3.0, environment=environment("NVIDIA H100")), RIGHT)
    found = shown(client, left=pair[0], right=other)
    assert "They were timed on different devices: NVIDIA H200 and NVIDIA H100." in found.text and "times as fast" not in found.text


def test_best_and_previous_stand_for_numbers(client: TestClient, store: Store, pair: tuple[int, int]) -> None:
    later = put(store, failed("later.py", author="ada"), "later")
    for words, numbers in (
        ({"left": "best", "right": str(pair[0])}, (pair[1], pair[0])),
        ({"left": "best", "right": str(pair[1])}, pair),
        ({"left": "best", "right": str(later)}, (pair[1], later)),
        ({"left": "previous", "right": str(later)}, (pair[0], later)),
        ({"left": str(later), "right": "previous"}, (later, pair[0])),
    ):
        assert f"Evaluations {numbers[0]} and {numbers[1]}" in shown(client, **words).text, words


def test_where_there_is_no_counterpart_that_is_said(client: TestClient, store: Store) -> None:
    number = put(store, solved("a.py", 2.0), "a")
    stray = put(store, failed("b.py", Category.UNKNOWN_PROBLEM, problem=None, author=None), "b")
    for other in (number, stray):
        assert f"No other evaluation is ranked on the board of evaluation {other} yet." in shown(client, left="best", right=other).text
        found = client.get("/compare", params={"left": "previous", "right": other}).text
        assert f"no evaluation before {other}" in found and f'name="right" value="{other}"' in found
    assert "Compare two evaluations" in shown(client).text
    again = put(store, failed("b.py", Category.SYNTAX_ERROR, problem=None, author=None), "c")
    assert f"Evaluations {stray} and {again}" in shown(client, left="previous", right=again).text


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
    assert "202 more lines were not compared." in shown(client, left=numbers[0], right=numbers[1]).text
