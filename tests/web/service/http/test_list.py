"""Names of submissions, and the list of one's own evaluations."""

from collections.abc import Callable
from typing import Any

from tests.web.service.conftest import GOOD, Desk
from web.service.tokens import Scope


def listed(desk: Desk, query: str = "", token: str | None = None) -> list[str | None]:
    """The names, as the list has them."""
    answer = desk.get(f"/v1/evaluations{query}", token)
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["evaluations"]]


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_the_name_or_a_header_tells_the_problem(desk: Desk) -> None:
    for fields, problem in (
        ({"name": "softmax/a.py"}, "softmax"),
        ({"name": "a.py", "source": "# problem: mish\n" + GOOD}, "mish"),
        ({"name": "softmax/a.py", "source": "# problem: mish\n" + GOOD}, "mish"),
        ({"name": "softmax/a.py", "problem": "mish"}, "mish"),
    ):
        answer = desk.submit(**({"problem": None} | fields))
        assert (answer.status_code, answer.json()["problem"]) == (202, problem), fields


def test_without_any_of_these_it_is_refused_with_the_nearest_name(desk: Desk) -> None:
    answer = desk.submit(problem=None, name="sotfmax/a.py")
    assert code_of(answer) == (422, "unknown_problem") and "softmax" in answer.json()["error"]["message"]
    assert code_of(desk.submit(problem=None)) == (422, "invalid")
    for name in ("", "a\nb", "x" * 201, 5):
        assert code_of(desk.submit(name=name)) == (422, "invalid"), name


def test_a_name_is_part_of_what_a_key_stands_for(desk: Desk) -> None:
    first = desk.submit("key", name="a.py")
    assert desk.submit("key", name="a.py").json()["id"] == first.json()["id"]
    assert code_of(desk.submit("key", name="b.py")) == (409, "idempotency_conflict")


def test_the_list_holds_ones_own_newest_first(desk: Desk, tokens: Callable[..., str]) -> None:
    bob, admin = tokens("bob", Scope.READ, Scope.SUBMIT), tokens("root", Scope.READ, Scope.ADMIN)
    for name in ("a", "b", "c"):
        desk.submit(name=name)
    desk.submit(name="d", token=bob)
    assert listed(desk) == ["c", "b", "a"]
    assert listed(desk, token=bob) == ["d"]
    assert listed(desk, token=admin) == ["d", "c", "b", "a"]


def test_the_list_goes_on_where_it_ended(desk: Desk) -> None:
    for name in ("a", "b", "c"):
        desk.submit(name=name)
    first = desk.get("/v1/evaluations?limit=2").json()
    assert [each["name"] for each in first["evaluations"]] == ["c", "b"] and first["next"] == first["evaluations"][1]["id"]
    last = desk.get(f"/v1/evaluations?limit=2&before={first['next']}").json()
    assert [each["name"] for each in last["evaluations"]] == ["a"] and last["next"] is None


def test_the_list_is_of_a_state_and_a_problem(desk: Desk) -> None:
    desk.submit(name="a")
    desk.submit(name="b", problem="mish")
    desk.judge()
    assert listed(desk, "?state=done") == ["a"]
    assert listed(desk, "?state=queued") == ["b"]
    assert listed(desk, "?problem=mish") == ["b"]
    assert listed(desk, "?problem=mish&state=done") == []
    (done,) = desk.get("/v1/evaluations?state=done").json()["evaluations"]
    assert done["result"]["category"] == "ok"


def test_a_list_after_somebody_elses_evaluation_is_refused(desk: Desk, tokens: Callable[..., str]) -> None:
    public_id = desk.submit().json()["id"]
    assert code_of(desk.get(f"/v1/evaluations?before={public_id}", tokens("bob", Scope.READ))) == (404, "not_found")
    for query in ("?limit=0", "?limit=101", "?state=lost", "?before=x"):
        assert code_of(desk.get(f"/v1/evaluations{query}")) == (422, "invalid"), query
    assert desk.get("/v1/evaluations", tokens("bob", Scope.SUBMIT)).status_code == 403
