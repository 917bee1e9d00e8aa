"""The headers of a build, which come in pieces before it."""

from typing import Any

import pytest

from evaluator.build.builder import BuildOutcome
from evaluator.build.request import BuildRequest
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.stage_times import StageTimes
from evaluator.judge.workers import build_broker
from evaluator.judge.workers.build_broker import BuildBroker
from evaluator.results.category import Category
from evaluator.results.evidence import BuildEvidence
from evaluator.worker.protocol import ProtocolError

REQUEST = {"name": "x", "sources": [{"name": "main.cpp", "text": ""}]}


class _Builds:
    """Keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[BuildRequest] = []

    def holds(self, _: BuildRequest) -> bool:
        return True

    def build(self, request: BuildRequest) -> BuildOutcome:
        self.requests.append(request)
        return BuildOutcome(BuildEvidence(name=request.name, key="", ok=False), None)


@pytest.fixture
def builds() -> _Builds:
    return _Builds()


@pytest.fixture
def broker(builds: _Builds) -> BuildBroker:
    return BuildBroker(builds, DeviceLock("cpu"), StageTimes(), no_device=False, report=lambda _: None, stage=lambda: "load")


def serve(broker: BuildBroker) -> None:
    broker.serve(dict(REQUEST), lambda *_: None)


def test_pieces_of_a_header_are_joined_for_one_build(broker: BuildBroker, builds: _Builds) -> None:
    for name, text in (("a/b.h", "one "), ("a/b.h", "two"), ("c.h", "")):
        broker.take_header(name, text)
    serve(broker)
    serve(broker)
    assert [[(file.name, file.text) for file in request.headers] for request in builds.requests] == [
        [("a/b.h", "one two"), ("c.h", "")],
        [],
    ]


@pytest.mark.parametrize(("limit", "value"), [("MAX_HEADERS", 2), ("MAX_HEADERS_BYTES", 8)])
def test_too_many_headers_are_refused_with_the_way_out(
    limit: str, value: int, broker: BuildBroker, builds: _Builds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_broker, limit, value)
    for name in "abcdefgh":
        broker.take_header(name, "four")
    serve(broker)
    serve(broker)
    assert broker.builds[0].category is Category.LOAD_INLINE_MISUSE and "a folder of their own" in broker.builds[0].output
    assert [request.headers for request in builds.requests] == [()]


@pytest.mark.parametrize(("name", "text"), [(None, ""), ("a.h", 5), ("a" * 5000, "")])
def test_a_header_that_is_none_ends_the_worker(name: Any, text: Any, broker: BuildBroker) -> None:
    with pytest.raises(ProtocolError):
        broker.take_header(name, text)
