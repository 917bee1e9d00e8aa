"""The list of problems, the pages of one problem and one author, and their plots over time."""

import re
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient

from db.store import Store
from evaluator.results.category import Category
from evaluator.results.result import now
from tests.db.samples import environment, result, sha256, solved
from tests.web.seen import seen

pytestmark = pytest.mark.slow(8)

START = now() - timedelta(days=9)
TEXTS = {
    "softmax": '"""Softmax over long rows. And more."""\nASSAY = {"level": 1, "tags": ["rows"]}\nclass Model: ...\n',
    "gelu": 'class Model:\n    """A gate for each element."""\n',
    "matmul": "class Model: ...\n",
}


def put(store: Store, problem: str, author: str, speedup: float | None, day: int = 0, **changes: Any) -> int:
    """An evaluation of the author's own submission: solved with a speedup, or timed out without."""
    text = TEXTS[problem]
    common: dict[str, Any] = {"submission": f"{author}/{problem}.py", "author": author, "problem": problem, "source": f"{author} {problem}"}
    common |= {"problem_sha256": sha256(text), "started_at": START + timedelta(days=day)} | changes
    made = result(Category.TIMEOUT, **common) if speedup is None else result(speedup=speedup, **common)
    return store.save(made, common["source"], text)


@pytest.fixture
def numbers(store: Store) -> dict[str, int]:
    return {
        "slow": put(store, "softmax", "ada", 1.5),
        "fast": put(store, "softmax", "bob", 3.0, day=2),
        "again": put(store, "softmax", "ada", 2.0, day=4, source="tuned"),
        "gelu": put(store, "gelu", "ada", 0.5, day=5, environment=environment("CPU")),
        "late": put(store, "matmul", "cyd", None, day=6),
    }


def test_each_problem_has_its_description_and_who_solved_it(client: TestClient, numbers: dict[str, int]) -> None:
    found = seen(client, "/problems")
    titles = [title.split(" ▲")[0].strip() for title in found.rows[0]]
    rows = {row[0].split()[0]: dict(zip(titles, (" ".join(cell.split()) for cell in row), strict=True)) for row in found.rows[1:]}
    assert rows["softmax"]["problem"] == "softmax Softmax over long rows." and rows["gelu"]["problem"].endswith("A gate for each element.")
    told = ("level", "submissions", "solved", "authors", "best speedup", "by", "devices")
    assert [rows["softmax"][name] for name in told] == ["1", "2", "2", "2", "3.000", "bob", "NVIDIA H200"]
    assert [rows["matmul"][name] for name in told] == ["", "1", "0", "0", "", "", "NVIDIA H200"]
    assert f"/evaluation/{numbers['fast']}" in found.links
    assert client.get("/problems.json").json()[2]["best_author"] == "bob"


def test_problems_are_sorted_by_the_address(client: TestClient, numbers: dict[str, int]) -> None:
    for query, names in (
        ("sort=best", ["softmax", "gelu", "matmul"]),
        ("sort=best&order=asc", ["gelu", "softmax", "matmul"]),
        ("sort=name&order=desc", ["softmax", "matmul", "gelu"]),
        ("sort=level", ["softmax", "gelu", "matmul"]),
    ):
        assert [row[0].split()[0] for row in seen(client, f"/problems?{query}").rows[1:]] == names, query


def test_a_problem_shows_its_best_and_lets_two_submissions_be_chosen(client: TestClient, numbers: dict[str, int]) -> None:
    path = "/problem?name=softmax"
    found, text = seen(client, path), client.get(path).text
    assert "3× by bob on NVIDIA H200" in " ".join(found.text.split()) and "2 of 2 submissions, by 2 authors" in found.text
    assert "Softmax over long rows." in found.text and "rows" in found.text
    chosen = dict(re.findall(r'name="(left|right)" value="(\d+)"[^>]* checked', text))
    assert chosen == {"left": str(numbers["again"]), "right": str(numbers["fast"])} and 'action="/compare"' in text
    assert client.get("/compare", params=chosen).status_code == 200
    assert 'action="/compare"' not in client.get("/problem?name=gelu").text, "there is nothing to choose from"
    assert "Nothing is ranked here yet." in seen(client, "/problem?name=matmul").text


def test_a_problem_s_best_so_far_is_in_a_table_and_a_plot(client: TestClient, numbers: dict[str, int]) -> None:
    told = client.get("/problem.json?name=softmax").json()
    (board,) = told["progress"]
    assert [best["evaluation_id"] for best in board["best"]] == [numbers["slow"], numbers["fast"]] and len(board["points"]) == 3
    assert told["description"] == "Softmax over long rows." and told["solved"] == 2
    rows = [row for row in seen(client, "/problem?name=softmax").rows if row[-1].strip() == str(numbers["slow"])]
    assert [row[0] for row in rows] == ["ada/softmax.py"]
    for theme in ("light", "dark"):
        picture = client.get(f"/problem/progress.svg?name=softmax&theme={theme}")
        title, description = list(ElementTree.fromstring(picture.content))[:2]
        assert title.text == "Speedups of softmax over time" and "full on NVIDIA H200: up to 3" in (description.text or "")
    assert client.get("/problem/progress.svg?name=matmul").status_code == 404


def test_an_author_has_a_best_and_a_mean_over_time(client: TestClient, numbers: dict[str, int]) -> None:
    found = seen(client, "/author?name=ada")
    words = " ".join(found.text.split())
    assert "solved2 problems" in words and "2× on softmax, NVIDIA H200" in words
    (link,) = {link for link in found.links if "progress.svg" in link and "light" in link}
    title = next(iter(ElementTree.fromstring(client.get(link).content)))
    assert title.text == "Speedups of ada over time"
    told = {setting["device_name"]: setting for setting in client.get("/author.json?name=ada").json()["progress"]}
    assert told["NVIDIA H200"]["tasks"] == 2 and len(told["NVIDIA H200"]["means"]) == 2 and len(told["CPU"]["means"]) == 1
    nobody = seen(client, "/author?name=cyd")
    assert "solved0 problems" in " ".join(nobody.text.split()) and not any("progress.svg" in link for link in nobody.links)
    assert client.get("/author/progress.svg?name=cyd").status_code == 404


def test_a_ranking_has_a_column_of_intervals_where_one_is_known(client: TestClient, store: Store) -> None:
    path = "/problem?name=softmax"
    store.save(result(submission="bare.py"), "", TEXTS["softmax"])
    assert ["95 % interval" in row for row in seen(client, path).rows if "rank" in row] == [False]
    store.save(solved("timed.py", 2.0, author="ada"), "", TEXTS["softmax"])
    assert ["95 % interval" in row for row in seen(client, path).rows if "rank" in row] == [True]
