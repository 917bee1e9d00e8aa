"""Claimed requests that this machine can't judge."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from db.error import StoreError
from db.queue.requests import Claim, Requests
from db.schema.queue_models import RequestRow
from evaluator.engine.local import LocalEngine
from evaluator.sandbox import SandboxUnavailable
from tests.web.service.conftest import GOOD, Desk
from web.service.judging.reading import Reading, ReadingError, Text
from web.service.judging.result_writer import ATTEMPTS
from web.service.judging.runner import Runner
from web.service.judging.work import stored_name
from web.service.metrics import Metrics
from web.service.tokens import Scope

OWNER = "one"


def no_engine() -> LocalEngine:
    raise SandboxUnavailable("this machine gives no sandbox")


@pytest.fixture
def runner(desk: Desk) -> Iterator[Runner]:
    made = Runner(desk.store, no_engine, desk.service.problems, desk.service.progress, Metrics(Requests(desk.store)), OWNER, 30.0)
    yield made
    made.close(0.0)


def claimed(desk: Desk, attempts: int = 1) -> Claim:
    """A request that has been claimed so often."""
    desk.submit()
    with desk.store.change() as connection:
        connection.execute(update(RequestRow).where(RequestRow.state == "queued").values(attempts=attempts - 1))
    (claim,) = desk.requests.claim(OWNER, 1, 30.0)
    desk.service.progress.begin(claim.public_id)
    return claim


def end_of(desk: Desk, claim: Claim) -> dict[str, Any]:
    answer: dict[str, Any] = desk.get(f"/v1/evaluations/{claim.public_id}").json()
    return answer


def test_what_ended_its_service_too_often_is_given_up_with_the_reason(desk: Desk, runner: Runner) -> None:
    claim = claimed(desk, ATTEMPTS + 1)
    assert runner._job(claim) is None
    result = end_of(desk, claim)["result"]
    assert (result["status"], result["category"]) == ("not_evaluated", "infrastructure_error")
    assert f"started {ATTEMPTS} times" in result["message"]


@pytest.mark.parametrize(("attempts", "state"), [(1, "queued"), (ATTEMPTS, "done")])
def test_a_problem_that_is_no_longer_there_is_tried_again_and_then_given_up(desk: Desk, runner: Runner, attempts: int, state: str) -> None:
    claim = claimed(desk, attempts)
    gone = replace(claim, problem="gone")
    assert runner._job(gone) is None
    found = end_of(desk, claim)
    assert (found["state"], found["attempts"]) == (state, attempts)
    assert claim.public_id not in desk.service.progress.present()
    if state == "done":
        assert "no longer has this problem" in found["result"]["message"]


def test_options_of_another_version_cost_no_more_than_their_request(desk: Desk, runner: Runner) -> None:
    claim = claimed(desk, ATTEMPTS)
    odd = replace(claim, body='{"source": "x", "options": {"old": 1}}')
    assert runner._job(odd) is None
    assert end_of(desk, claim)["result"]["category"] == "infrastructure_error"


@pytest.mark.parametrize("strict", [False, True])
def test_other_inputs_decide_where_that_is_asked_for(desk: Desk, runner: Runner, strict: bool) -> None:
    desk.submit(options={"strict_inputs": strict})
    (claim,) = desk.requests.claim(OWNER, 1, 30.0)
    job = runner._job(claim)
    assert job is not None and (job.strict_inputs, job.shapes) == (strict, "others")


@pytest.mark.parametrize("profile", [False, True])
def test_what_asks_for_a_profile_is_profiled(desk: Desk, tokens: Callable[..., str], runner: Runner, profile: bool) -> None:
    desk.submit(options={"profile": profile}, token=tokens("ada", Scope.SUBMIT, Scope.PROFILE))
    (claim,) = desk.requests.claim(OWNER, 1, 30.0)
    job = runner._job(claim)
    assert job is not None and job.profile is profile


def test_what_is_rejected_has_its_result_without_an_engine(desk: Desk, runner: Runner) -> None:
    desk.submit(source="VALUE = 1\n")
    (claim,) = desk.requests.claim(OWNER, 1, 30.0)
    assert runner._job(claim) is None
    assert end_of(desk, claim)["result"]["category"] == "missing_model_new"


def test_judges_that_can_not_be_started_are_told_of_and_keep_no_claim(desk: Desk, runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.service.judging.runner.PAUSE_S", 0.01)
    monkeypatch.setattr("web.service.judging.result_writer.PAUSE_S", 0.01)
    claim = claimed(desk)
    desk.service.runner = runner
    runner.start()
    deadline = time.monotonic() + 30
    while desk.client.get("/healthz").status_code != 503:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert "no sandbox" in desk.client.get("/readyz").json()["error"]["message"]
    assert end_of(desk, claim)["state"] == "queued"


def test_what_else_keeps_the_judges_from_going_on_is_in_the_log_alone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> LocalEngine:
        raise StoreError("postgresql://ada@database/assay can't be read")

    monkeypatch.setattr("web.service.judging.runner.PAUSE_S", 0.01)
    monkeypatch.setattr("web.service.judging.result_writer.PAUSE_S", 0.01)
    made = Runner(desk.store, broken, desk.service.problems, desk.service.progress, Metrics(Requests(desk.store)), OWNER, 30.0)
    desk.service.runner = made
    made.start()
    deadline = time.monotonic() + 30
    while desk.client.get("/healthz").status_code != 503:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for path in ("/healthz", "/readyz"):
        text = desk.client.get(path).text
        assert "log says why" in text and "postgresql" not in text
    made.close(0.0)


def test_a_lease_that_ran_out_does_not_have_its_owner_judge_twice(desk: Desk, runner: Runner) -> None:
    desk.submit()
    jobs = runner._jobs(threading.Event())
    assert next(jobs).problem == "softmax"
    with desk.store.change() as connection:
        connection.execute(update(RequestRow).values(due_at=datetime.now(UTC) - timedelta(seconds=60)))
    assert runner._next(threading.Event()) == (None, None)
    other = desk.submit().json()["id"]
    assert next(jobs).submission == f"service/{other}"


def test_a_thread_of_an_engine_that_is_over_claims_nothing(desk: Desk, runner: Runner) -> None:
    over = threading.Event()
    jobs = runner._jobs(over)
    desk.submit()
    desk.submit()
    assert next(jobs).problem == "softmax"
    over.set()
    assert runner._next(over) == (None, None)
    assert next(jobs, None) is None
    assert desk.requests.depth() == {"queued": 1, "claimed": 1}


def test_the_process_that_reads_is_replaced_when_it_dies_and_given_up_when_it_is_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, text = Reading(), Text("x", "class ModelNew: ...", False, "softmax", "ada", None)
    assert reading.read(text).rejection is None
    assert reading._process is not None
    reading._process.kill()
    reading._process.join(10)
    assert reading.read(text).rejection is None
    monkeypatch.setattr("web.service.judging.reading.READ_WITHIN_S", 0.25)
    os.kill(reading._process.pid or 0, signal.SIGSTOP)
    with pytest.raises(ReadingError, match=r"more than 0\.25 s"):
        reading.read(text)
    assert reading._process is None
    reading.close()


def test_a_named_submission_is_stored_by_its_name_below_its_author(desk: Desk, runner: Runner) -> None:
    public_id = desk.submit(name="softmax/fused.py", problem=None).json()["id"]
    (claim,) = desk.requests.claim(OWNER, 1, 30.0)
    runner._writer.fail(claim, GOOD, "nothing came of it")
    told = desk.get(f"/v1/evaluations/{public_id}").json()
    assert (told["name"], told["problem"], told["result"]["submission"]) == ("softmax/fused.py", "softmax", "service/ada/softmax/fused.py")


def test_two_authors_submissions_never_have_one_name(desk: Desk, runner: Runner) -> None:
    desk.submit(name="x/y.py")
    (claim,) = desk.requests.claim(OWNER, 1, 30.0)
    pairs = [("ada", "x/y.py"), ("ada/x", "y.py"), ("ada%2Fx", "y.py")]
    assert len({stored_name(replace(claim, author=author, name=name)) for author, name in pairs}) == 3
