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

pytestmark = pytest.mark.slow(8)

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
def test_what_can_not_be_judged_here_is_tried_again_and_then_given_up(desk: Desk, runner: Runner, attempts: int, state: str) -> None:
    wrong: dict[str, dict[str, Any]] = {
        "no longer has this problem": {"problem": "gone"},
        "old": {"body": '{"source": "x", "options": {"old": 1}}'},
    }
    for why, changes in wrong.items():
        claim = claimed(desk, attempts)
        assert runner._job(replace(claim, **changes)) is None
        found = end_of(desk, claim)
        assert (found["state"], found["attempts"]) == (state, attempts)
        assert claim.public_id not in desk.service.progress.present()
        if state == "done":
            assert found["result"]["category"] == "infrastructure_error" and why in found["result"]["message"]


def test_options_come_to_the_judge(desk: Desk, tokens: Callable[..., str], runner: Runner) -> None:
    for wanted in (False, True):
        options = {"profile": wanted, "strict_inputs": wanted, "timing": wanted}
        desk.submit(options=options, token=tokens("ada", Scope.SUBMIT, Scope.PROFILE))
        (claim,) = desk.requests.claim(OWNER, 1, 30.0)
        job = runner._job(claim)
        assert job is not None and (job.profile, job.strict_inputs, job.is_timed, job.shapes) == (wanted, wanted, wanted, "others")


def test_what_is_rejected_has_its_result_without_an_engine(desk: Desk, runner: Runner) -> None:
    desk.submit(source="VALUE = 1\n")
    (claim,) = desk.requests.claim(OWNER, 1, 30.0)
    assert runner._job(claim) is None
    assert end_of(desk, claim)["result"]["category"] == "missing_model_new"


def broken() -> LocalEngine:
    raise StoreError("postgresql://ada@database/assay can't be read")


@pytest.mark.parametrize(("engine", "told"), [(no_engine, "no sandbox"), (broken, "log says why")])
def test_judges_that_can_not_be_started_are_told_of_and_keep_no_claim(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, engine: Callable[[], LocalEngine], told: str
) -> None:
    monkeypatch.setattr("web.service.judging.runner.PAUSE_S", 0.01)
    monkeypatch.setattr("web.service.judging.result_writer.PAUSE_S", 0.01)
    claim = claimed(desk)
    made = Runner(desk.store, engine, desk.service.problems, desk.service.progress, Metrics(Requests(desk.store)), OWNER, 30.0)
    desk.service.runner = made
    made.start()
    while desk.client.get("/healthz").status_code != 503:
        time.sleep(0.02)
    for path in ("/healthz", "/readyz"):
        text = desk.client.get(path).text
        assert told in text and "postgresql" not in text
    assert end_of(desk, claim)["state"] == "queued"
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
    monkeypatch.setattr("web.service.judging.reading.READ_WITHIN_S", 600.0)
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
    pairs = [("ada", "x/y.py"), ("ada/x", "y.py"), ("ada%2Fx", "y.py")]
    assert len({stored_name(replace(claim, author=author, name=name)) for author, name in pairs}) == 3, "two authors never have one name"
