"""The pages about several workloads: of an evaluation and of the ranking by one of them."""

import re

from fastapi.testclient import TestClient

from db.store import Store
from tests.db.queries.test_workload_boards import in_workloads
from tests.db.samples import result
from tests.web.conftest import put
from tests.web.seen import Seen


def test_workloads_are_listed_drawn_and_lead_to_their_boards(store: Store, client: TestClient) -> None:
    number = put(store, in_workloads("ada", small=2.0, large=8.0, huge=None), "of ada")
    found = Seen(client.get(f"/evaluation/{number}").text)
    assert "Workloads" in found.text
    (board,) = [link for link in found.links if link.endswith("case=large")]
    assert "8.000" in Seen(client.get(board).text).text
    picture = client.get(f"/evaluation/{number}/workloads.svg")
    assert picture.status_code == 200
    assert all(name in picture.text for name in ("small", "large", "huge"))


def test_the_leaderboard_ranks_by_a_workload_without_a_problem(store: Store, client: TestClient) -> None:
    put(store, in_workloads("ada", small=2.0, large=8.0), "of ada")
    put(store, in_workloads("bob", small=5.0, large=4.0), "of bob")
    put(store, result(problem="gelu", case="small", speedup=3.0), "class ModelNew: ...\n")

    def ranked(query: str) -> list[tuple[str, int, str, float]]:
        rows = client.get(f"/leaderboard.json?{query}").json()
        return [(row["problem"], row["rank"], row["author"], row["speedup"]) for row in rows]

    assert ranked("case=small") == [("gelu", 1, "ada", 3.0), ("softmax", 1, "bob", 5.0), ("softmax", 2, "ada", 2.0)]
    assert ranked("case=large&author=bob") == [("softmax", 2, "bob", 4.0)]
    assert ranked("case=large&device=CPU") == []
    assert "Nothing is ranked" not in Seen(client.get("/leaderboard?case=large").text).text


def test_only_the_leaderboard_proposes_workloads(store: Store, client: TestClient) -> None:
    put(store, in_workloads("ada", small=2.0, large=8.0), "of ada")
    for path in ("/", "/leaderboard", "/evaluations", "/failures"):
        choices = re.findall(r'<option value="(all|small|large)">', client.get(path).text)
        assert choices == (["all", "large", "small"] if path == "/leaderboard" else ["all"]), path


def test_one_case_has_no_such_picture(store: Store, client: TestClient) -> None:
    number = put(store, result(), "class ModelNew: ...\n")
    assert "workloads.svg" not in client.get(f"/evaluation/{number}").text
    assert client.get(f"/evaluation/{number}/workloads.svg").status_code == 404
