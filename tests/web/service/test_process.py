"""A real service: real judges, real crashes."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from db.queue.requests import Requests
from db.storage.record import Entry
from db.store import Store
from evaluator.results.category import Category
from tests.command_line import PROBLEM, TILED, submission
from tests.db.samples import result
from tests.web.service.process import Process

pytestmark = pytest.mark.slow(60)

RIGHT = submission("x + x")
WRONG = submission("x + 3")
SLOW = submission("x + 3", before="time.sleep(1.5)")


def test_verdicts_are_those_of_the_command_line(process: Process) -> None:
    response = f"<think>\n```python\n{RIGHT}```\n</think>\nHere:\n\n```python\n{WRONG}```\n"
    ids = {
        "no_custom_kernel": process.submit(RIGHT),
        "wrong_values": process.hand_in(response=response),
        "syntax_error": process.submit("class ModelNew: def"),
        "ok": process.submit(TILED),
        "early_exit": process.submit(submission("x", before="import os; os._exit(0)")),
    }
    found = {name: process.verdict(public_id) for name, public_id in ids.items()}
    assert {name: result["category"] for name, result in found.items()} == {name: name for name in ids}
    told = found["wrong_values"]
    assert (told["author"], told["problem"], told["block"], told["submission"]) == ("ada", "double", 2, f"service/{ids['wrong_values']}")
    assert found["no_custom_kernel"]["speedup"] > 0
    with Store.open(process.db, read_only=True) as store:
        stored = store.get(told["id"])
        assert stored is not None and stored.source == WRONG and stored.command is not None
        assert stored.command.words == ("python", "-m", "web.service")


def test_stages_come_as_events(process: Process) -> None:
    public_id = process.submit(SLOW)
    names: list[str] = []
    with process.client.stream("GET", f"/v1/evaluations/{public_id}/events") as answer:
        for line in answer.iter_lines():
            if line.startswith("data:") and names and names[-1] == "stage":
                names[-1] = json.loads(line.removeprefix("data: "))["stage"]
            elif line.startswith("event: "):
                names.append(line.removeprefix("event: "))
    assert [name for name in names if name != "wait"][-5:] == ["start", "load", "construct", "rounds", "done"]


def test_a_problem_can_come_along_and_one_that_is_broken_is_refused(process: Process) -> None:
    reference = {"source": PROBLEM.format(operation="- 7")}
    public_id = process.hand_in(problem=None, reference=reference, source=submission("x - 7"))
    found = process.verdict(public_id)
    assert found["category"] == "no_custom_kernel" and found["problem"].startswith("inline_")
    body: dict[str, Any] = {"source": RIGHT, "reference": {"source": "import torch\n1 / 0\n"}}
    refused = process.client.post("/v1/evaluations", json=body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad_reference")
    assert "line 2" in refused.json()["error"]["message"]
    refused = process.client.post("/v1/evaluations", json=body | {"reference": reference, "options": {"case": "large"}})
    assert refused.status_code == 422


def test_figures_tell_of_verdicts_and_of_the_sandbox(process: Process) -> None:
    process.verdict(process.submit(WRONG))
    text = process.client.get("/metrics").text
    assert 'assay_verdicts_total{category="wrong_values",status="incorrect"}' in text
    assert "assay_sandbox_level{" in text and 'assay_device_busy_seconds_total{device="cpu"}' in text
    assert 'assay_stage_seconds_count{stage="rounds"}' in text


@pytest.fixture
def own(tmp_path: Path) -> Any:
    with Process(tmp_path, None, "--jobs", "1") as running:
        yield running


def test_a_service_that_is_killed_loses_nothing_and_repeats_nothing(own: Process) -> None:
    body = {"problem": "double", "source": SLOW}
    first = own.client.post("/v1/evaluations", json=body, headers={"Idempotency-Key": "k"}).json()["id"]
    ids = [first, *(own.submit(WRONG.replace("3", str(number))) for number in range(3, 5))]
    while states(own, ids)[0] == "queued":
        time.sleep(0.05)
    parents = psutil.Process(own.pid).children(recursive=True)
    own.kill()
    own.start()
    again = own.client.post("/v1/evaluations", json=body, headers={"Idempotency-Key": "k"})
    assert (again.status_code, again.json()["id"]) == (200, first)
    assert [own.verdict(public_id)["category"] for public_id in ids] == ["wrong_values"] * 3
    with Store.open(own.db, read_only=True) as store:
        assert store.count() == 3
    _, alive = psutil.wait_procs(parents, timeout=600)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []

    # Stopped in good order, it finishes what it has begun, gives back the rest, and leaves no claim behind.
    slow = [own.submit(SLOW.replace("3", str(number))) for number in range(8, 11)]
    while states(own, slow)[0] == "queued":
        time.sleep(0.05)
    os.kill(own.pid, signal.SIGTERM)
    while own.client.get("/readyz").status_code != 503:
        time.sleep(0.02)
    refused = own.client.post("/v1/evaluations", json=body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "shutting_down")
    assert own.wait() == 0
    with Store.open(own.db, read_only=True) as store, store.read() as connection:
        ended = connection.exec_driver_sql("SELECT state, attempts FROM requests ORDER BY id DESC LIMIT 3").all()
        assert {state for state, _ in ended} <= {"done", "queued"}
        assert all(attempts == (state == "done") for state, attempts in ended)
        assert ("done", 1) in [tuple(row) for row in ended]


def states(service: Process, ids: list[str]) -> list[str]:
    return [service.client.get(f"/v1/evaluations/{public_id}").json()["state"] for public_id in ids]


def until_drained(service: Process, operator: dict[str, str]) -> dict[str, Any]:
    while (told := service.client.get("/drain", headers=operator).json())["state"] != "drained":
        assert told["state"] == "draining", told
        time.sleep(0.1)
    return dict(told)


def test_a_drained_service_has_ended_what_it_had_begun_and_goes_on_with_the_rest_when_told(process: Process) -> None:
    operator = {"Authorization": f"Bearer {process.make_token('--author', 'ops', '--scope', 'operate')}"}
    refused = process.client.post("/v1/evaluations", json={"problem": "double", "source": SLOW, "options": {"timeout_s": 21}})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad_option")
    assert "at most 20 seconds" in refused.json()["error"]["message"]
    ids = [process.submit(SLOW.replace("3", str(number))) for number in range(3, 6)]
    while states(process, ids)[0] == "queued":
        time.sleep(0.05)
    told = process.client.post("/drain", headers=operator).json()
    assert (told["state"], told["queue"], told["under_way"], told["queued"]) == ("draining", "leave", 1, 2)
    refused = process.client.post("/v1/evaluations", json={"problem": "double", "source": WRONG})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "draining")
    assert process.client.get("/readyz").status_code == 503 and process.client.get("/healthz").status_code == 200
    assert process.verdict(ids[0])["category"] == "wrong_values"
    assert until_drained(process, operator) == told | {"state": "drained", "under_way": 0}
    time.sleep(2)
    assert states(process, ids) == ["done", "queued", "queued"]

    assert process.client.delete("/drain", headers=operator).json()["state"] == "serving"
    ids.append(process.submit(WRONG))
    told = process.client.post("/drain", params={"queue": "finish"}, headers=operator).json()
    assert told["state"] == "draining" and told["under_way"] + told["queued"] >= 1
    assert process.client.get("/readyz").status_code == 503
    assert until_drained(process, operator) == {"state": "drained", "queue": "finish", "under_way": 0, "queued": 0}
    assert states(process, ids) == ["done"] * 4


def test_two_processes_share_a_postgresql_queue(postgresql_url: str, tmp_path: Path) -> None:
    with Process(tmp_path, postgresql_url, "--jobs", "1") as service, Store.open(postgresql_url) as store:
        ids = [service.submit(SLOW.replace("3", str(number))) for number in range(3, 7)]
        other = Requests(store)
        claims = other.claim("another process", 2, 600.0)
        assert len(claims) == 2
        theirs = {claim.public_id for claim in claims}
        assert [service.verdict(name)["category"] for name in ids if name not in theirs] == ["wrong_values"] * 2
        assert {state for name, state in zip(ids, states(service, ids), strict=True) if name in theirs} == {"claimed"}
        made = [result(Category.WRONG_SHAPE, submission=f"service/{claim.public_id}", problem=claim.problem) for claim in claims]
        store.save_all([Entry.of(each, SLOW, 1, None) for each in made], also=other.settle("another process", claims))
        assert {service.verdict(name)["category"] for name in theirs} == {"wrong_shape"}
        assert store.count() == 4
