"""The events of an evaluation as a stream, and how many streams there may be."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from evaluator.results.category import Category
from tests.web.service.conftest import Desk, code_of
from web.service.http import calls
from web.service.http.state import Bounds
from web.service.tokens import Scope


def stream(desk: Desk, public_id: str) -> list[tuple[str, dict[str, Any]]]:
    answer = desk.get(f"/v1/evaluations/{public_id}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [part.split("\n") for part in answer.text.strip().split("\n\n") if part.startswith("event")]
    return [(lines[0].removeprefix("event: "), json.loads(lines[1].removeprefix("data: "))) for lines in events]


def test_the_events_of_what_is_judged_elsewhere(desk: Desk) -> None:
    public_id = desk.submit().json()["id"]
    (claim,) = desk.requests.claim("another", 1, 30.0)

    def go_on() -> None:
        time.sleep(0.3)
        desk.requests.renew("another", 30.0, {public_id: "build"})
        time.sleep(2.5)
        desk.requests.give_back("another", [claim], begun=True)
        desk.judge(Category.WRONG_VALUES)

    thread = threading.Thread(target=go_on)
    thread.start()
    events = stream(desk, public_id)
    thread.join()
    assert events[0] == ("state", {"state": "claimed"})
    assert ("stage", {"stage": "build"}) in events
    assert events[-1][0] == "done" and events[-1][1]["result"]["category"] == "wrong_values"


def test_the_events_of_what_has_ended_are_its_end(desk: Desk) -> None:
    public_id = desk.submit().json()["id"]
    desk.client.delete(f"/v1/evaluations/{public_id}", headers=desk.headers())
    ((name, data),) = stream(desk, public_id)
    assert (name, data["id"]) == ("cancelled", public_id)


def test_the_events_of_what_is_judged_here_have_every_stage(desk: Desk) -> None:
    public_id = desk.submit().json()["id"]
    (claim,) = desk.requests.claim("another", 1, 30.0)
    desk.service.progress.begin(public_id)
    for stage in ("start", "load", "rounds"):
        desk.service.progress.enter(public_id, stage)
    desk.requests.give_back("another", [claim])
    desk.requests.claim("another", 1, 30.0)

    def end() -> None:
        time.sleep(1.0)
        desk.requests.cancel(public_id)
        desk.service.progress.end(public_id)

    threading.Thread(target=end).start()
    assert [name for name, _ in stream(desk, public_id)] == ["state", "stage", "stage", "stage", "cancelled"]


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
def test_too_many_streams_are_refused_and_polls_answer_at_once(desk: Desk) -> None:
    public_id = desk.submit().json()["id"]
    assert code_of(desk.get(f"/v1/evaluations/{public_id}/events")) == (503, "unavailable")
    start = time.monotonic()
    assert desk.get(f"/v1/evaluations/{public_id}?wait=30").json()["state"] == "queued"
    assert time.monotonic() - start < 20


def test_what_is_quiet_says_that_it_lives(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "BEAT_S", 0.1)
    public_id = desk.submit().json()["id"]
    threading.Timer(1.0, lambda: desk.requests.cancel(public_id)).start()
    assert ": nothing new\n\n" in desk.get(f"/v1/evaluations/{public_id}/events").text
