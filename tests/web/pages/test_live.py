"""Runs under way, as a stream tells of them."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import pytest
from fastapi.testclient import TestClient

from db.store import Store
from evaluator.results.category import Category
from tests.db.samples import result
from tests.web.serving import served
from web.pages import live
from web.pages.live import MAX_STREAMS, SHOWN_ARRIVALS, Follower
from web.site import Site

pytestmark = pytest.mark.slow(8)

DEADLINE_S = 600


@contextmanager
def stream(address: str, query: str = "", **headers: str) -> Iterator[IO[bytes]]:
    request = urllib.request.Request(f"{address}/live/events{query}", headers=headers)
    with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield answer


def event(lines: IO[bytes]) -> dict[str, str]:
    """The next event's fields; comments are passed over."""
    found: dict[str, str] = {}
    for line in lines:
        text = line.decode().rstrip("\n")
        if not text and found:
            return found
        name, _, value = text.partition(": ")
        if name:
            found[name] = value
    raise AssertionError("the stream has ended")


def told(follower: Follower) -> dict[str, Any]:
    news = follower.news()
    assert news is not None
    found: dict[str, Any] = json.loads(news)
    return found


def test_a_run_is_told_from_its_first_result_to_its_end(store: Store, url: str) -> None:
    follower = Follower(Site(store), None)
    assert told(follower)["runs"] == []
    assert follower.news() is None
    with Store.open(url) as working:
        working.start_run(["pipeline.py", "a"])
        (run,) = told(follower)["runs"]
        assert run["command"] == "pipeline.py a" and run["statuses"] == {} and run["finished_at"] is None
        assert run["expected"] is None
        working.expect(2)
        assert told(follower)["runs"][0]["expected"] == 2
        number = working.save(result(submission="a.py"), "")
        news = told(follower)
        assert news["newest"] == number and [item["evaluation_id"] for item in news["evaluations"]] == [number]
        assert news["runs"][0]["statuses"] == {"correct": 1}
        working.save_all([])
        assert follower.news() is None
        working.save(result(Category.TIMEOUT, submission="b.py"), "")
        assert told(follower)["runs"][0]["statuses"] == {"correct": 1, "run_failed": 1}
    end = told(follower)
    assert end["runs"][0]["finished_at"] is not None and end["evaluations"] == []


def test_what_a_run_skips_and_loses_to_a_later_one_stays_counted(store: Store, url: str) -> None:
    with Store.open(url) as first:
        first.start_run(["first"], 1)
        judged = first.save(result(Category.NO_DEVICE, submission="a.py"), "")
    watching = Follower(Site(store), None)
    with Store.open(url) as second:
        second.start_run(["second"], 2)
        second.skip([judged])
        second.save(result(submission="a.py"), "")
    for follower in (watching, Follower(Site(store), None)):
        counts = [(run["expected"], sum(run["statuses"].values()) + run["skipped"]) for run in told(follower)["runs"]]
        assert counts == [(2, 2), (1, 1)]


def test_of_many_at_once_the_last_are_told_and_all_are_counted(store: Store) -> None:
    store.start_run(["many"])
    follower = Follower(Site(store), None)
    follower.news()
    for number in range(SHOWN_ARRIVALS + 3):
        store.save(result(submission=f"{number}.py"), "")
    news = told(follower)
    assert len(news["evaluations"]) == SHOWN_ARRIVALS and news["evaluations"][0]["submission"] == f"{SHOWN_ARRIVALS + 2}.py"
    assert news["runs"][0]["statuses"] == {"correct": SHOWN_ARRIVALS + 3}


def test_a_stream_tells_what_is_stored_and_goes_on_where_it_was(store: Store, url: str) -> None:
    hostile = "<b>&\n\ndata: forged\n\u2028\u202e"
    first = store.save(result(submission="before.py"), "")
    with served(store) as address:
        with stream(address, f"?after={first}") as lines:
            assert json.loads(event(lines)["data"])["evaluations"] == []
            with Store.open(url) as working:
                second = working.save(result(submission=hostile), "")
            found = event(lines)
            assert found["id"] == str(second)
            (item,) = json.loads(found["data"])["evaluations"]
            assert item["submission"] == hostile and item["evaluation_id"] == second
        third = store.save(result(submission="meanwhile.py"), "")
        with stream(address, f"?after={first}", **{"Last-Event-ID": str(second)}) as lines:
            assert [item["evaluation_id"] for item in json.loads(event(lines)["data"])["evaluations"]] == [third]


def test_streams_are_limited_and_given_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MAX_STREAMS", 3)
    assert MAX_STREAMS > 3
    with served(store) as address:
        with ExitStack() as opened:
            for _ in range(3):
                event(opened.enter_context(stream(address)))
            with pytest.raises(urllib.error.HTTPError) as refused, stream(address):
                pass
            assert refused.value.code == 503
        while True:  # until the places are given back
            try:
                with stream(address) as lines:
                    event(lines)
                break
            except urllib.error.HTTPError:
                time.sleep(0.1)


def test_an_impossible_place_to_begin_is_refused(client: TestClient) -> None:
    for query in ("?after=-1", "?after=x", "?after=99999999999999999999"):
        assert client.get(f"/live/events{query}").status_code == 400, query
