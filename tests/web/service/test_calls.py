"""The calls, each in its good and its bad forms, the list of one's own evaluations, and streams, against a service without judges."""

import asyncio
import itertools
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from unittest import mock

import pytest

from evaluator.results.category import Category
from tests.db.samples import in_workloads
from tests.web.service.conftest import GOOD, Desk, code_of
from web.service.http import limits
from web.service.http.calls import BEAT_S
from web.service.http.state import Bounds
from web.service.models import Options
from web.service.options import parser
from web.service.progress import Listener
from web.service.tokens import Scope

pytestmark = pytest.mark.slow(30)


def test_a_submission_is_accepted_waits_and_has_its_result(desk: Desk) -> None:
    answer = desk.submit(sample_id=7)
    told = answer.json()
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/evaluations/{told['id']}"
    assert (told["state"], told["problem"], told["sample_id"], told["attempts"], told["result"]) == ("queued", "softmax", 7, 0, None)
    number = desk.judge()
    done = desk.get(answer.headers["location"]).json()
    assert (done["state"], done["attempts"], done["id"]) == ("done", 1, told["id"])
    assert done["result"]["id"] == number
    assert (done["result"]["category"], done["result"]["author"], done["result"]["problem"]) == ("ok", "ada", "softmax")
    assert done["result"]["speedup"] > 0 and done["result"]["feedback"].startswith("verdict: correct/ok")
    assert (done["result"]["generalises"], done["result"]["robust"]) == ("untested", "untested")
    assert done["finished_at"] >= done["accepted_at"]


Meanwhile = Callable[[Callable[[], object]], AbstractContextManager[object]]


def test_waiting_ends_with_the_verdict_of_another_process_or_its_time(desk: Desk, meanwhile: Meanwhile) -> None:
    public_id, other = (desk.submit().json()["id"] for _ in range(2))
    assert desk.get(f"/v1/evaluations/{public_id}?wait=0.3").json()["state"] == "queued"
    path, body = f"/v1/evaluations/{public_id}?wait=60", {"ids": [public_id, other], "wait": 60}
    with meanwhile(desk.judge):
        assert desk.get(path).json()["state"] == "done"
    third = desk.submit().json()["id"]
    with meanwhile(desk.judge):
        answer = desk.client.post("/v1/evaluations:poll", json=body | {"ids": [other, third]}, headers=desk.headers()).json()
    assert ([each["id"] for each in answer["ended"]], answer["pending"]) == ([other], 1), "a poll waits for the first"
    for wait in ("-1", "61", "soon", "nan"):
        assert code_of(desk.get(f"/v1/evaluations/{public_id}?wait={wait}")) == (422, "invalid"), wait


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """In the body, does something as soon as a call waits for changes."""
    wait = Listener.wait

    @contextmanager
    def does(act: Callable[[], object]) -> Iterator[None]:
        waits = threading.Event()

        async def told(listener: Listener, within_s: float) -> bool:
            waits.set()
            return await wait(listener, within_s)

        def go_on() -> None:
            waits.wait()
            act()

        monkeypatch.setattr(Listener, "wait", told)
        thread = threading.Thread(target=go_on)
        thread.start()
        yield
        thread.join()

    return does


def test_what_is_not_there_is_not_found_or_no_id(desk: Desk) -> None:
    for public_id in ("0" * 32, "x", "0" * 33, "%00", "é"):
        expected = (404, "not_found") if public_id == "0" * 32 else (422, "invalid")
        path = f"/v1/evaluations/{public_id}"
        for answer in (desk.get(path), desk.client.delete(path, headers=desk.headers()), desk.get(f"{path}/events")):
            assert code_of(answer) == expected, path
    assert code_of(desk.get("/v2/evaluations")) == (404, "not_found")
    assert code_of(desk.client.put("/v1/evaluations", headers=desk.headers())) == (405, "method_not_allowed")
    text = desk.client.post("/v1/evaluations", content=b"problem=softmax", headers=desk.headers())
    assert code_of(text) == (415, "unsupported_media_type"), "only JSON is taken"


SENSELESS: dict[str, list[dict[str, Any]]] = {
    "invalid": [
        {"source": None},
        {"response": "text"},
        {"problem": None},
        {"problem": "soft\nmax"},
        {"options": {"dtype": "int8"}},
        {"options": {"timeout_s": 0}},
        {"options": {"timeout_s": 1e9}},
        {"options": {"tiemout_s": 1}},
        {"options": {"baselines": ["compiled"]}},
        {"options": {"shapes": "all"}},
        {"options": {"strict_inputs": "perhaps"}},
        {"sample_id": -1},
        {"sample_id": 1 << 63},
        {"source": 5},
        {"author": "bob"},
        {"idempotency_key": ""},
        {"idempotency_key": "with space"},
    ],
    "unknown_problem": [{"problem": "sotfmax"}],
    "unknown_case": [{"options": {"case": "medium"}}],
    "bad_option": [{"options": {"protocol": "cold"}}, {"options": {"protocol": "warm"}}],
}


def test_requests_that_make_no_sense_are_refused_and_say_where(desk: Desk) -> None:
    for code, each in SENSELESS.items():
        for fields in each:
            answer = desk.submit(**fields)
            assert code_of(answer) == (422, code), fields
            assert code != "unknown_problem" or "softmax" in answer.json()["error"]["message"]
    assert desk.requests.depth()["queued"] == 0


def test_bodies_that_are_not_what_is_asked_for_are_refused(desk: Desk) -> None:
    odd = [b"", b"{", b"[]", b"null", b'{"problem": "softmax", "source": NaN}', b"\xff\xfe", b"[" * 100_000, b'{"source": "\\ud800"}']
    for body, path in itertools.product(odd, ("/v1/evaluations", "/v1/evaluations:batch", "/v1/evaluations:poll")):
        answer = desk.client.post(path, content=body, headers=desk.headers() | {"Content-Type": "application/json"})
        assert code_of(answer) == (422, "invalid"), (path, body[:50])


def test_what_is_wrong_in_very_many_places_is_counted_and_long_names_are_cut(desk: Desk) -> None:
    many = desk.submit(options={f"option_{number}": 0 for number in range(5000)})
    assert code_of(many) == (422, "invalid") and many.json()["error"]["details"] == ["It has 5,000 errors."]
    long = desk.submit(options={"x" * 100_000: 0})
    assert code_of(long) == (422, "invalid") and len(long.content) < 1000


def test_a_body_that_does_not_come_is_not_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(_: object) -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(60)

    monkeypatch.setattr(limits, "BODY_WITHIN_S", 0.1)
    monkeypatch.setattr("starlette.requests.Request.stream", slow)
    assert code_of(desk.submit()) == (408, "too_slow")


def test_a_body_that_is_too_large_is_refused_whether_or_not_it_says_so(desk: Desk) -> None:
    large = json.dumps({"problem": "softmax", "source": "x" * (1 << 20)}).encode()
    headers = desk.headers() | {"Content-Type": "application/json"}
    assert code_of(desk.client.post("/v1/evaluations", content=large, headers=headers)) == (413, "too_large")
    assert code_of(desk.client.post("/v1/evaluations", content=iter([large[:1000], large[1000:]]), headers=headers)) == (413, "too_large")


def test_an_idempotency_key_is_one_evaluation(desk: Desk) -> None:
    first, again = desk.submit("k"), desk.submit("k")
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["id"] == again.json()["id"]
    assert "idempotency-replayed" not in first.headers and again.headers["idempotency-replayed"] == "true"
    assert desk.submit(idempotency_key="k").json()["id"] == first.json()["id"]
    assert code_of(desk.submit("k", source=GOOD + "\n")) == (409, "idempotency_conflict")
    assert code_of(desk.submit("k", idempotency_key="l")) == (422, "invalid")
    assert desk.submit("k", options={"timeout_s": 60.0, "baselines": ["eager"]}).status_code == 200, "defaults are the same content"
    assert desk.submit("k", options={"timeout_s": 59.0}).status_code == 409
    named = desk.submit("named", name="a.py")
    assert desk.submit("named", name="a.py").json()["id"] == named.json()["id"]
    assert code_of(desk.submit("named", name="b.py")) == (409, "idempotency_conflict")
    assert desk.client.delete(named.headers["location"], headers=desk.headers()).status_code == 200
    desk.judge()
    late = desk.submit("k")
    assert (late.status_code, late.json()["state"], late.json()["result"]["category"]) == (200, "done", "ok")
    assert desk.requests.depth()["queued"] == 0


def timeout_kept(desk: Desk) -> float:
    """The job of the oldest request."""
    (claim,) = desk.requests.claim("one", 1, 30.0)
    return Options.model_validate(json.loads(claim.body).get("options", {})).timeout_s


def test_nobody_asks_for_more_time_than_the_default(desk: Desk) -> None:
    refused = desk.submit(options={"timeout_s": 60.5})
    assert code_of(refused) == (422, "bad_option")
    assert "timeout_s: at most 60 seconds" in refused.json()["error"]["message"]
    good = {"problem": "softmax", "source": GOOD}
    items = batch(desk, good, good | {"options": {"timeout_s": 61}}).json()["items"]
    assert [(item["status"], item["error"] and item["error"]["code"]) for item in items] == [(202, None), (422, "bad_option")]
    assert timeout_kept(desk) == 60.0


@pytest.mark.parametrize("bounds", [Bounds(timeout_s=240.0)])
def test_an_operator_may_grant_more_time(desk: Desk) -> None:
    assert code_of(desk.submit(options={"timeout_s": 240.1})) == (422, "bad_option")
    assert desk.submit(options={"timeout_s": 240.0}).status_code == 202
    assert timeout_kept(desk) == 240.0
    desk.submit()
    assert timeout_kept(desk) == 60.0


def test_a_limit_of_time_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("0", "-1", "3601", "inf", "nan", "soon"):
        with pytest.raises(SystemExit):
            parser().parse_args([f"--max-timeout={words}"])
        assert "--max-timeout" in capsys.readouterr().err
    assert parser().parse_args(["--max-timeout=3600"]).max_timeout == 3600.0 and parser().parse_args([]).max_timeout == 60.0


@pytest.mark.parametrize("bounds", [Bounds(timeout_s=7.5)])
def test_an_operator_may_grant_less_time_than_the_default_and_that_is_all_there_is(desk: Desk) -> None:
    first = desk.submit("k", options={"shapes": "own"})
    assert first.status_code == 202
    assert code_of(desk.submit(options={"timeout_s": 60.0})) == (422, "bad_option")
    desk.service.intake._longest_s = 60.0  # as after another start, with another limit
    assert desk.submit("k", options={"shapes": "own"}).json()["id"] == first.json()["id"]
    assert timeout_kept(desk) == 7.5
    field = desk.client.get("/openapi.json").json()["components"]["schemas"]["Options"]["properties"]["timeout_s"]
    assert (field["maximum"], field["default"]) == (7.5, 7.5)


def batch(desk: Desk, *items: Any, token: str | None = None) -> Any:
    return desk.client.post("/v1/evaluations:batch", json={"items": items}, headers=desk.headers(token))


def test_a_batch_is_answered_item_by_item(desk: Desk) -> None:
    good = {"problem": "softmax", "source": GOOD}
    answer = batch(
        desk,
        good,
        {"problem": "nothing", "source": GOOD},
        good | {"idempotency_key": "k"},
        5,
        good | {"idempotency_key": "k"},
        good | {"sample_id": 1, "idempotency_key": "k"},
    )
    items = answer.json()["items"]
    assert answer.status_code == 202
    assert [item["status"] for item in items] == [202, 422, 202, 422, 200, 409]
    assert items[2]["evaluation"]["id"] == items[4]["evaluation"]["id"]
    assert [item["error"] and item["error"]["code"] for item in items] == [
        *(None, "unknown_problem", None, "invalid", None, "idempotency_conflict")
    ]
    assert desk.requests.depth()["queued"] == 2


def test_a_batch_that_does_not_fit_is_refused_whole(desk: Desk, tokens: Callable[..., str]) -> None:
    good = {"problem": "softmax", "source": GOOD}
    limited = tokens("eve", Scope.SUBMIT, per_day=3)
    refused = batch(desk, *[good] * 4, token=limited)
    assert code_of(refused) == (429, "quota_exceeded")
    assert 0 < int(refused.headers["retry-after"]) <= 86400
    assert batch(desk, *[good] * 3, token=limited).status_code == 202
    full = batch(desk, *[good] * 48)
    assert code_of(full) == (429, "queue_full") and int(full.headers["retry-after"]) > 0
    assert desk.requests.depth()["queued"] == 3
    assert [code_of(batch(desk, *[1] * count)) for count in (0, 1001)] == [(422, "invalid")] * 2


def test_a_poll_tells_of_those_that_have_ended(desk: Desk) -> None:
    first, second, third = (desk.submit().json()["id"] for _ in range(3))
    desk.judge()
    desk.client.delete(f"/v1/evaluations/{second}", headers=desk.headers())
    body = {"ids": [first, second, third, "f" * 32, first]}
    answer = desk.client.post("/v1/evaluations:poll", json=body, headers=desk.headers()).json()
    assert {each["id"]: each["state"] for each in answer["ended"]} == {first: "done", second: "cancelled"}
    assert (answer["pending"], answer["unknown"]) == (1, ["f" * 32])


def test_cancelling(desk: Desk) -> None:
    queued, done = desk.submit().json()["id"], None
    cancelled = desk.client.delete(f"/v1/evaluations/{queued}", headers=desk.headers())
    assert (cancelled.status_code, cancelled.json()["state"], cancelled.json()["result"]) == (200, "cancelled", None)
    assert desk.client.delete(f"/v1/evaluations/{queued}", headers=desk.headers()).status_code == 200
    done = desk.submit().json()["id"]
    desk.judge()
    assert code_of(desk.client.delete(f"/v1/evaluations/{done}", headers=desk.headers())) == (409, "already_done")
    assert desk.requests.claim("one", 5, 30.0) == []


def test_problems_and_leaderboard(desk: Desk) -> None:
    desk.submit()
    desk.judge()
    names = {each["name"]: each for each in desk.get("/v1/problems").json()["problems"]}
    assert "softmax" in names and names["softmax"]["default_case"] == "small"
    rows = desk.get("/v1/leaderboard?problem=softmax").json()["rows"]
    assert [(row["rank"], row["author"], row["problem"]) for row in rows] == [(1, "ada", "softmax")]
    with mock.patch("db.queries.disturbances.remark", side_effect=AssertionError("it was read before")):
        assert desk.get("/v1/leaderboard?problem=softmax").json()["rows"] == rows
    desk.store.save(in_workloads("ada", small=2.0, large=8.0), "of ada")
    desk.store.save(in_workloads("bob", Category.REDUCED_PRECISION, small=5.0, large=4.0), "of bob")
    for query, found in (
        ("author=nobody", []),
        ("case=full&robust=untested&generalises=untested", [("ada", "full", 2.0)]),
        ("robust=yes", []),
        ("generalises=no", []),
        ("case=small&problem=softmax", [("ada", "small", 2.0)]),
        ("case=small&reduced_precision=true", [("bob", "small", 5.0), ("ada", "small", 2.0)]),
        ("case=large&reduced_precision=true&top=1", [("ada", "large", 8.0)]),
        ("case=huge", []),
    ):
        rows = desk.get(f"/v1/leaderboard?{query}").json()["rows"]
        assert [(row["author"], row["case"], row["speedup"]) for row in rows] == found, query
    for query in ("top=0", "robust=perhaps"):
        assert code_of(desk.get(f"/v1/leaderboard?{query}")) == (422, "invalid"), query


def test_health_and_figures(desk: Desk, tokens: Callable[..., str]) -> None:
    desk.submit()
    assert desk.client.get("/healthz").json() == {"status": "ok"}
    assert desk.client.get("/readyz").json() == {"status": "ok"}
    assert code_of(desk.get("/metrics")) == (403, "forbidden")
    text = desk.get("/metrics", tokens("monitor", Scope.METRICS)).text
    assert 'assay_queue_requests{state="queued"} 1.0' in text
    assert "assay_accepted_total 1.0" in text
    assert 'assay_call_seconds_count{call="submit",status="202"} 1.0' in text


def test_a_stopping_service_takes_nothing_and_still_answers(desk: Desk, tokens: Callable[..., str]) -> None:
    public_id = desk.submit().json()["id"]
    desk.service.stopping = True
    refused = desk.submit()
    assert code_of(refused) == (503, "shutting_down") and int(refused.headers["retry-after"]) > 0
    assert code_of(desk.client.get("/readyz")) == (503, "shutting_down")
    assert desk.client.get("/healthz").status_code == 200
    assert desk.get(f"/v1/evaluations/{public_id}").json()["state"] == "queued"
    told = desk.client.delete("/drain", headers=desk.headers(tokens("operator", Scope.OPERATE))).json()
    assert told["state"] == "drained", "it is not told to serve again"
    assert code_of(desk.submit()) == (503, "shutting_down")


def test_a_draining_service_takes_nothing_until_it_is_told_to(desk: Desk, tokens: Callable[..., str]) -> None:
    operator = desk.headers(tokens("operator", Scope.OPERATE))
    everything_else = desk.headers(tokens("root", *(scope for scope in Scope if scope is not Scope.OPERATE)))
    for ask in (desk.client.get, desk.client.post, desk.client.delete):
        assert code_of(ask("/drain", headers=everything_else)) == (403, "forbidden")
    public_id = desk.submit("k").json()["id"]
    serving = desk.client.get("/drain", headers=operator).json()
    assert serving == {"state": "serving", "queue": None, "under_way": 0, "queued": 1}
    # Nothing is judged here, so that nothing is left to do but the queue.
    assert desk.client.post("/drain", headers=operator).json() == serving | {"state": "drained", "queue": "leave"}
    for refused in (desk.submit(), desk.submit("k"), batch(desk, {"problem": "softmax", "source": GOOD}), desk.client.get("/readyz")):
        assert code_of(refused) == (503, "draining") and int(refused.headers["retry-after"]) > 0
    assert desk.client.get("/healthz").status_code == 200
    assert "assay_draining 1.0" in desk.get("/metrics", tokens("monitor", Scope.METRICS)).text
    finishing = desk.client.post("/drain?queue=finish", headers=operator).json()
    assert finishing == serving | {"state": "draining", "queue": "finish"}
    (claim,) = desk.requests.claim("another", 1, 30.0)
    assert desk.client.get("/drain", headers=operator).json() == finishing | {"queued": 0}  # it may come back
    desk.requests.give_back("another", [claim])
    desk.judge()
    assert desk.get(f"/v1/evaluations/{public_id}").json()["state"] == "done"
    assert desk.client.get("/drain", headers=operator).json() == finishing | {"state": "drained", "queued": 0}
    assert code_of(desk.client.post("/drain?queue=forget", headers=operator)) == (422, "invalid")
    assert desk.client.delete("/drain", headers=operator).json() == serving | {"queued": 0}
    assert (desk.submit("k").status_code, desk.submit().status_code, desk.client.get("/readyz").status_code) == (200, 202, 200)


def test_a_database_that_is_gone_is_told_without_its_address(desk: Desk) -> None:
    public_id = desk.submit().json()["id"]
    with desk.store.change() as connection:
        connection.exec_driver_sql("ALTER TABLE requests RENAME TO elsewhere")
    for answer in (desk.submit(), desk.get(f"/v1/evaluations/{public_id}"), desk.client.get("/readyz")):
        assert code_of(answer) == (503, "unavailable")
        assert int(answer.headers["retry-after"]) > 0
        assert "assay.db" not in answer.text and "requests" not in answer.text


def listed(desk: Desk, query: str = "", token: str | None = None) -> list[str | None]:
    """The names, as the list has them."""
    answer = desk.get(f"/v1/evaluations{query}", token)
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["evaluations"]]


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


def test_the_list_holds_ones_own_newest_first_and_goes_on_where_it_ended(desk: Desk, tokens: Callable[..., str]) -> None:
    bob, admin = tokens("bob", Scope.READ, Scope.SUBMIT), tokens("root", Scope.READ, Scope.ADMIN)
    for name, problem in (("a", "softmax"), ("b", "mish"), ("c", "softmax")):
        desk.submit(name=name, problem=problem)
    desk.submit(name="d", token=bob)
    assert listed(desk) == ["c", "b", "a"]
    assert listed(desk, token=bob) == ["d"]
    assert listed(desk, token=admin) == ["d", "c", "b", "a"]
    first = desk.get("/v1/evaluations?limit=2").json()
    assert [each["name"] for each in first["evaluations"]] == ["c", "b"] and first["next"] == first["evaluations"][1]["id"]
    last = desk.get(f"/v1/evaluations?limit=2&before={first['next']}").json()
    assert [each["name"] for each in last["evaluations"]] == ["a"] and last["next"] is None
    desk.judge()
    for query, names in (("state=done", ["a"]), ("state=queued", ["c", "b"]), ("problem=mish", ["b"]), ("problem=mish&state=done", [])):
        assert listed(desk, f"?{query}") == names, query
    (done,) = desk.get("/v1/evaluations?state=done").json()["evaluations"]
    assert done["result"]["category"] == "ok"
    assert code_of(desk.get(f"/v1/evaluations?before={first['next']}", bob)) == (404, "not_found"), "somebody else's"
    for query in ("?limit=0", "?limit=101", "?state=lost", "?before=x"):
        assert code_of(desk.get(f"/v1/evaluations{query}")) == (422, "invalid"), query


def stream(desk: Desk, public_id: str) -> list[tuple[str, dict[str, Any]]]:
    answer = desk.get(f"/v1/evaluations/{public_id}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [part.split("\n") for part in answer.text.strip().split("\n\n") if part.startswith("event")]
    return [(lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))) for lines in events]


def test_the_events_of_what_is_judged_elsewhere(desk: Desk, meanwhile: Meanwhile) -> None:
    public_id = desk.submit().json()["id"]
    (claim,) = desk.requests.claim("another", 1, 30.0)
    desk.requests.renew("another", 30.0, {public_id: "build"})

    def go_on() -> None:
        desk.requests.give_back("another", [claim], begun=True)
        desk.judge(Category.WRONG_VALUES)

    with meanwhile(go_on):
        events = stream(desk, public_id)
    assert events[0] == ("state", {"state": "claimed"})
    assert ("stage", {"stage": "build"}) in events
    assert events[-1][0] == "done" and events[-1][1]["result"]["category"] == "wrong_values"


def test_the_events_of_what_is_judged_here_have_every_stage(desk: Desk, meanwhile: Meanwhile) -> None:
    public_id = desk.submit().json()["id"]
    (claim,) = desk.requests.claim("another", 1, 30.0)
    desk.service.progress.begin(public_id)
    for stage in ("start", "load", "rounds"):
        desk.service.progress.enter(public_id, stage)
    desk.requests.give_back("another", [claim])
    desk.requests.claim("another", 1, 30.0)

    def end() -> None:
        desk.requests.cancel(public_id)
        desk.service.progress.end(public_id)

    with meanwhile(end):
        assert [name for name, _ in stream(desk, public_id)] == ["state", "stage", "stage", "stage", "cancelled"]
    ((name, data),) = stream(desk, public_id)
    assert (name, data["id"]) == ("cancelled", public_id), "the events of what has ended are its end"


@pytest.mark.parametrize("bounds", [Bounds(streams=4)])
def test_one_author_leaves_room_for_the_streams_of_others(desk: Desk, tokens: Callable[..., str]) -> None:
    public_id = desk.submit().json()["id"]
    bob = tokens("bob", Scope.READ, Scope.SUBMIT)
    others = desk.submit(token=bob).json()["id"]
    desk.requests.cancel(others)
    with desk.service.wait_of("ada"), desk.service.wait_of("ada"):
        assert code_of(desk.get(f"/v1/evaluations/{public_id}/events")) == (503, "unavailable")
        assert desk.get(f"/v1/evaluations/{others}/events", bob).status_code == 200
    assert not desk.service.waiting


@pytest.mark.parametrize("bounds", [Bounds(streams=0)])
def test_too_many_streams_are_refused_and_polls_answer_at_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    public_id = desk.submit().json()["id"]
    assert code_of(desk.get(f"/v1/evaluations/{public_id}/events")) == (503, "unavailable")
    monkeypatch.setattr(desk.service.watch, "listen", pytest.fail)
    assert desk.get(f"/v1/evaluations/{public_id}?wait=30").json()["state"] == "queued"


def test_what_is_quiet_says_that_it_lives(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def beats(listener: Listener, within_s: float) -> bool:
        """Nothing comes in this time; then somebody cancels it."""
        assert within_s == BEAT_S
        desk.requests.cancel(public_id)
        return False

    monkeypatch.setattr(Listener, "wait", beats)
    public_id = desk.submit().json()["id"]
    assert ": nothing new\n\n" in desk.get(f"/v1/evaluations/{public_id}/events").text
