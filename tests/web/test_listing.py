"""The list of evaluations, the search, and the tables for other programs."""

import csv
import io
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient

from db.store import Store
from evaluator.results.category import Category
from tests.db.samples import result
from tests.web.conftest import put
from tests.web.seen import Seen


def listed(client: TestClient, **parameters: object) -> list[dict[str, Any]]:
    told = client.get(f"/evaluations.json?{urlencode(parameters)}")
    assert told.status_code == 200, told.text
    found: list[dict[str, Any]] = told.json()["evaluations"]
    return found


def table(client: TestClient, path: str) -> list[dict[str, str]]:
    answer = client.get(path)
    assert answer.status_code == 200 and answer.headers["content-type"] == "text/csv; charset=utf-8", path
    assert answer.headers["content-disposition"].startswith("attachment")
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_all_evaluations_are_listed_history_and_those_that_were_not_evaluated_too(client: TestClient, ids: dict[str, int]) -> None:
    assert client.get("/evaluations.json").json()["total"] == len(listed(client)) == 10
    assert [row["evaluation_id"] for row in listed(client)] == list(range(10, 0, -1))
    assert "no_device" in {row["category"] for row in listed(client)}


@pytest.mark.parametrize(
    ("parameters", "count"),
    [
        ({"status": "incorrect"}, 1),
        ({"status": "not_evaluated"}, 1),
        ({"category": "wrong_values"}, 1),
        ({"category": "wrong_values", "status": "correct"}, 0),
        ({"author": "bob"}, 5),
        ({"author": "nobody"}, 0),
        ({"problem": "gelu"}, 2),
        ({"device": "CPU"}, 2),
        ({"run": 1}, 10),
        ({"run": 2}, 0),
        ({"since": "1h"}, 4),
        ({"since": "2020-01-01", "author": "ada", "problem": "gelu"}, 1),
        ({"status": "", "category": "", "run": "", "since": "", "author": ""}, 10),
    ],
)
def test_filters_choose(client: TestClient, ids: dict[str, int], parameters: dict[str, object], count: int) -> None:
    assert len(listed(client, **parameters)) == count
    query = urlencode(parameters)
    page = Seen(client.get(f"/evaluations?{query}").text)
    assert max(0, len(page.rows) - 1) == count == len(table(client, f"/evaluations.csv?{query}"))
    assert ("No evaluation matches." in page.text) is (count == 0)


def test_a_filter_that_can_t_be_is_refused_and_says_what_can(client: TestClient) -> None:
    for query, words in (("status=wrong", "incorrect"), ("since=soon", "7d"), ("run=x", "run"), ("category=x", "category")):
        answer = client.get(f"/evaluations?{query}")
        assert answer.status_code == 400 and words in Seen(answer.text).text, query


def test_a_name_that_is_not_there_is_said_with_the_nearest(client: TestClient, ids: dict[str, int]) -> None:
    for path in ("/evaluations", "/leaderboard", "/failures"):
        assert "No problem 'softmx'; nearest: softmax." in Seen(client.get(f"{path}?problem=softmx").text).text, path
        assert "nearest" not in Seen(client.get(f"{path}?problem=softmax").text).text, path
    for path in ("/problem?name=softmx", "/author?name=boob"):
        answer = client.get(path)
        assert answer.status_code == 404 and "; nearest: " in answer.text, path
    assert "No run '99'; the last one is " in Seen(client.get("/evaluations?run=99").text).text
    assert "; nearest" not in Seen(client.get("/evaluations?problem=softmax&run=99").text).text, "it is the run that nothing fits"


def test_each_head_sorts_and_keeps_the_filters(client: TestClient, ids: dict[str, int]) -> None:
    start = "/evaluations?author=bob"
    heads = [link for link in Seen(client.get(start).text).links if "sort=" in link]
    assert len(heads) == 11
    for link in heads:
        assert link.startswith("/evaluations?author=bob&sort=") and "order=" in link
        page = client.get(link).text
        assert page.count('aria-sort="ascending"') + page.count('aria-sort="descending"') == 1, link
        (back,) = [again for again in Seen(page).links if again.partition("&order")[0] == link.partition("&order")[0] and again != link]
        rows, turned = (client.get(each.replace("/evaluations?", "/evaluations.json?")).json()["evaluations"] for each in (link, back))
        assert len(rows) == len(turned) == 5
    falling = [row["speedup"] for row in listed(client, sort="speedup", order="desc")]
    known = [speedup for speedup in falling if speedup is not None]
    assert known == sorted(known, reverse=True) and falling[len(known) :] == [None] * (10 - len(known))


def test_a_long_list_comes_in_pages_and_whole_as_csv(client: TestClient, store: Store) -> None:
    for number in range(205):
        put(store, result(Category.TIMEOUT if number % 2 else Category.OK, submission=f"{number:03}.py", source=f"{number}"))
    assert [len(listed(client, page=number)) for number in (1, 2, 3, 9)] == [100, 100, 5, 5]
    text = client.get("/evaluations?sort=submission&order=asc&page=2").text
    assert "2 of 3" in text and "100.py" in text and "099.py" not in text
    rows = table(client, "/evaluations.csv?sort=submission&order=asc&status=run_failed")
    assert [row["submission"] for row in rows] == [f"{number:03}.py" for number in range(1, 205, 2)]


def test_each_main_table_is_there_as_csv_with_the_same_filters_and_order(client: TestClient, ids: dict[str, int]) -> None:
    places = table(client, "/leaderboard.csv?device=NVIDIA+H200&sort=speedup")
    assert len(places) == 6 and [float(row["speedup"]) for row in places] == sorted((float(row["speedup"]) for row in places), reverse=True)
    assert {row["author"] for row in table(client, "/index.csv")} >= {"ada", "bob"}
    assert {row["category"] for row in table(client, "/failures.csv?author=bob")} == {"wrong_values", "syntax_error"}
    assert len(table(client, "/run/1.csv")) == 10 and len(table(client, "/submission.csv?name=wrong.py")) == 1
    for path in ("/", "/leaderboard", "/failures", "/evaluations", "/run/1", "/submission?name=wrong.py"):
        (link,) = {link for link in Seen(client.get(path).text).links if ".csv" in link}
        assert table(client, link)
    answer = client.get("/live.csv")
    assert answer.status_code == 404 and "no table" in answer.text


def test_the_search_groups_what_it_finds(client: TestClient, ids: dict[str, int]) -> None:
    found = Seen(client.get("/search?q=soft").text)
    assert {"/problem?name=softmax", "/submission?name=submissions%2Fsoftmax%2Fada.py"} <= set(found.links)
    assert f"/evaluation/{ids['failed']}" in Seen(client.get(f"/search?q=%23{ids['failed']}").text).links
    assert {"/evaluation/1", "/run/1"} <= set(Seen(client.get("/search?q=1").text).links)
    assert "/evaluations?category=wrong_values" in Seen(client.get("/search?q=wrong+values").text).links
    assert "/search?q=softmax" in Seen(client.get("/search?q=softmx").text).links
    assert "Nothing has this name." in Seen(client.get("/search?q=softmx").text).text
    assert "Type a part of the name" in Seen(client.get("/search").text).text
    assert client.get("/search?q=" + "x" * 5000).status_code == 400
