"""The calls, each in its good and its bad forms, against a service without judges."""

import asyncio
import itertools
import json
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from evaluator.results.category import Category
from tests.db.queries.test_workload_boards import in_workloads
from tests.web.service.conftest import GOOD, Desk, code_of
from web.service.http import limits
from web.service.http.state import Bounds
from web.service.models import Options
from web.service.options import parser
from web.service.tokens import Scope


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


def test_waiting_ends_with_the_verdict_of_another_process(desk: Desk) -> None:
    public_id = desk.submit().json()["id"]
    judging = threading.Timer(0.5, desk.judge)
    judging.start()
    start = time.monotonic()
    answer = desk.get(f"/v1/evaluations/{public_id}?wait=30").json()
    assert answer["state"] == "done"
    assert time.monotonic() - start < 20


def test_waiting_ends_when_its_time_is_over(desk: Desk) -> None:
    public_id = desk.submit().json()["id"]
    start = time.monotonic()
    assert desk.get(f"/v1/evaluations/{public_id}?wait=0.3").json()["state"] == "queued"
    assert 0.25 < time.monotonic() - start < 20


def test_an_impossible_wait_is_refused(desk: Desk) -> None:
    public_id = desk.submit().json()["id"]
    for wait in ("-1", "61", "soon", "nan"):
        assert code_of(desk.get(f"/v1/evaluations/{public_id}?wait={wait}")) == (422, "invalid"), wait


def test_what_is_not_there_is_not_found_or_no_id(desk: Desk) -> None:
    for public_id in ("0" * 32, "x", "0" * 33, "%00", "é"):
        expected = (404, "not_found") if public_id == "0" * 32 else (422, "invalid")
        path = f"/v1/evaluations/{public_id}"
        for answer in (desk.get(path), desk.client.delete(path, headers=desk.headers()), desk.get(f"{path}/events")):
            assert code_of(answer) == expected, path


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


def test_only_json_is_taken(desk: Desk) -> None:
    answer = desk.client.post("/v1/evaluations", content=b"problem=softmax", headers=desk.headers())
    assert code_of(answer) == (415, "unsupported_media_type")


def test_a_body_that_is_too_large_is_refused_whether_or_not_it_says_so(desk: Desk) -> None:
    large = json.dumps({"problem": "softmax", "source": "x" * (1 << 20)}).encode()
    headers = desk.headers() | {"Content-Type": "application/json"}
    assert code_of(desk.client.post("/v1/evaluations", content=large, headers=headers)) == (413, "too_large")
    assert code_of(desk.client.post("/v1/evaluations", content=iter([large[:1000], large[1000:]]), headers=headers)) == (413, "too_large")


def test_addresses_and_methods_that_are_not_there(desk: Desk) -> None:
    assert code_of(desk.get("/v2/evaluations")) == (404, "not_found")
    assert code_of(desk.client.put("/v1/evaluations", headers=desk.headers())) == (405, "method_not_allowed")


def test_an_idempotency_key_is_one_evaluation(desk: Desk) -> None:
    first, again = desk.submit("k"), desk.submit("k")
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["id"] == again.json()["id"]
    assert "idempotency-replayed" not in first.headers and again.headers["idempotency-replayed"] == "true"
    assert desk.submit(idempotency_key="k").json()["id"] == first.json()["id"]
    assert code_of(desk.submit("k", source=GOOD + "\n")) == (409, "idempotency_conflict")
    assert code_of(desk.submit("k", idempotency_key="l")) == (422, "invalid")
    desk.judge()
    late = desk.submit("k")
    assert (late.status_code, late.json()["state"], late.json()["result"]["category"]) == (200, "done", "ok")
    assert desk.requests.depth()["queued"] == 0


def test_defaults_written_out_are_the_same_content(desk: Desk) -> None:
    first = desk.submit("k")
    assert desk.submit("k", options={"timeout_s": 60.0, "baselines": ["eager"]}).json()["id"] == first.json()["id"]
    assert desk.submit("k", options={"timeout_s": 59.0}).status_code == 409


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


@pytest.mark.parametrize("words", ["0", "-1", "3601", "inf", "nan", "soon"])
def test_a_limit_of_time_that_is_none_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
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
        *(None, "unknown_problem", None, "invalid", None, "idempotency_conflict"),
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


def test_a_batch_has_something_in_it_and_not_too_much(desk: Desk) -> None:
    assert [code_of(batch(desk, *[1] * count)) for count in (0, 1001)] == [(422, "invalid")] * 2


def test_a_poll_tells_of_those_that_have_ended(desk: Desk) -> None:
    first, second, third = (desk.submit().json()["id"] for _ in range(3))
    desk.judge()
    desk.client.delete(f"/v1/evaluations/{second}", headers=desk.headers())
    body = {"ids": [first, second, third, "f" * 32, first]}
    answer = desk.client.post("/v1/evaluations:poll", json=body, headers=desk.headers()).json()
    assert {each["id"]: each["state"] for each in answer["ended"]} == {first: "done", second: "cancelled"}
    assert (answer["pending"], answer["unknown"]) == (1, ["f" * 32])


def test_a_poll_waits_for_the_first(desk: Desk) -> None:
    ids = [desk.submit().json()["id"] for _ in range(2)]
    threading.Timer(0.5, desk.judge).start()
    answer = desk.client.post("/v1/evaluations:poll", json={"ids": ids, "wait": 30}, headers=desk.headers()).json()
    assert [each["id"] for each in answer["ended"]] == [ids[0]]
    assert answer["pending"] == 1


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
    assert desk.get("/v1/leaderboard?author=nobody").json() == {"rows": []}
    assert code_of(desk.get("/v1/leaderboard?top=0")) == (422, "invalid")
    assert desk.get("/v1/leaderboard?robust=untested&generalises=untested").json() == {"rows": rows}
    assert desk.get("/v1/leaderboard?robust=yes").json() == desk.get("/v1/leaderboard?generalises=no").json() == {"rows": []}
    assert code_of(desk.get("/v1/leaderboard?robust=perhaps")) == (422, "invalid")


def test_the_leaderboard_ranks_by_a_workload(desk: Desk) -> None:
    desk.store.save(in_workloads("ada", small=2.0, large=8.0), "of ada")
    desk.store.save(in_workloads("bob", small=5.0, large=4.0), "of bob")
    for query in ("case=small", "case=small&problem=softmax"):
        rows = desk.get(f"/v1/leaderboard?{query}").json()["rows"]
        assert [(row["rank"], row["author"], row["case"], row["speedup"]) for row in rows] == [
            (1, "bob", "small", 5.0),
            (2, "ada", "small", 2.0),
        ]
    assert [row["author"] for row in desk.get("/v1/leaderboard?case=large&top=1").json()["rows"]] == ["ada"]
    assert desk.get("/v1/leaderboard?case=huge").json() == {"rows": []}


def test_reduced_precision_is_ranked_on_request(desk: Desk) -> None:
    desk.submit()
    desk.judge(Category.REDUCED_PRECISION)
    assert desk.get("/v1/leaderboard").json() == {"rows": []}
    (row,) = desk.get("/v1/leaderboard?reduced_precision=true").json()["rows"]
    assert (row["rank"], row["category"]) == (1, "reduced_precision")


def test_health_and_figures(desk: Desk, tokens: Callable[..., str]) -> None:
    desk.submit()
    assert desk.client.get("/healthz").json() == {"status": "ok"}
    assert desk.client.get("/readyz").json() == {"status": "ok"}
    assert code_of(desk.get("/metrics")) == (403, "forbidden")
    text = desk.get("/metrics", tokens("monitor", Scope.METRICS)).text
    assert 'assay_queue_requests{state="queued"} 1.0' in text
    assert "assay_accepted_total 1.0" in text
    assert 'assay_call_seconds_count{call="submit",status="202"} 1.0' in text


def test_a_stopping_service_takes_nothing_and_still_answers(desk: Desk) -> None:
    public_id = desk.submit().json()["id"]
    desk.service.stopping = True
    refused = desk.submit()
    assert code_of(refused) == (503, "shutting_down") and int(refused.headers["retry-after"]) > 0
    assert code_of(desk.client.get("/readyz")) == (503, "shutting_down")
    assert desk.client.get("/healthz").status_code == 200
    assert desk.get(f"/v1/evaluations/{public_id}").json()["state"] == "queued"


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


def test_a_service_that_stops_is_not_told_to_serve_again(desk: Desk, tokens: Callable[..., str]) -> None:
    desk.service.stopping = True
    told = desk.client.delete("/drain", headers=desk.headers(tokens("operator", Scope.OPERATE))).json()
    assert told["state"] == "drained"
    assert code_of(desk.submit()) == (503, "shutting_down")


def test_a_database_that_is_gone_is_told_without_its_address(desk: Desk) -> None:
    public_id = desk.submit().json()["id"]
    with desk.store.change() as connection:
        connection.exec_driver_sql("ALTER TABLE requests RENAME TO elsewhere")
    for answer in (desk.submit(), desk.get(f"/v1/evaluations/{public_id}"), desk.client.get("/readyz")):
        assert code_of(answer) == (503, "unavailable")
        assert int(answer.headers["retry-after"]) > 0
        assert "assay.db" not in answer.text and "requests" not in answer.text
