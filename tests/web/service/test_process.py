"""A real service: real judges, real crashes."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from db.store import Store
from tests.command_line import PROBLEM, TILED, submission
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


def test_what_is_cancelled_while_it_is_judged_has_no_result(process: Process) -> None:
    public_id = process.submit(submission("x + 3", before="time.sleep(3)"))
    while states(process, [public_id]) != ["claimed"]:
        time.sleep(0.02)
    assert process.client.delete(f"/v1/evaluations/{public_id}").json()["state"] == "cancelled"
    assert process.verdict(process.submit(WRONG))["category"] == "wrong_values"
    told = process.client.get(f"/v1/evaluations/{public_id}").json()
    assert (told["state"], told["result"]) == ("cancelled", None)
    with Store.open(process.db, read_only=True) as store, store.read() as connection:
        count = connection.exec_driver_sql("SELECT count(*) FROM submissions WHERE name = ?", (f"service/{public_id}",)).scalar_one()
        assert count == 0


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


def test_a_drained_service_has_ended_what_it_had_begun_and_goes_on_with_the_rest_when_told(tmp_path: Path) -> None:
    # With no time to finish anything in once it is told to stop: what a drain lets end does not end by that.
    with Process(tmp_path, None, "--jobs", "1", "--grace", "0", "--max-timeout", "20") as own:
        operator = {"Authorization": f"Bearer {own.make_token('--author', 'ops', '--scope', 'operate')}"}
        refused = own.client.post("/v1/evaluations", json={"problem": "double", "source": SLOW, "options": {"timeout_s": 21}})
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad_option")
        assert "at most 20 seconds" in refused.json()["error"]["message"]
        ids = [own.submit(SLOW.replace("3", str(number))) for number in range(3, 6)]
        while states(own, ids)[0] == "queued":
            time.sleep(0.05)
        told = own.client.post("/drain", headers=operator).json()
        assert (told["state"], told["queue"], told["under_way"], told["queued"]) == ("draining", "leave", 1, 2)
        refused = own.client.post("/v1/evaluations", json={"problem": "double", "source": WRONG})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "draining")
        assert own.client.get("/readyz").status_code == 503 and own.client.get("/healthz").status_code == 200
        assert own.verdict(ids[0])["category"] == "wrong_values"
        assert until_drained(own, operator) == told | {"state": "drained", "under_way": 0}
        time.sleep(2)
        assert states(own, ids) == ["done", "queued", "queued"]

        assert own.client.delete("/drain", headers=operator).json()["state"] == "serving"
        ids.append(own.submit(WRONG))
        told = own.client.post("/drain", params={"queue": "finish"}, headers=operator).json()
        assert told["state"] == "draining" and told["under_way"] + told["queued"] >= 1
        assert own.client.get("/readyz").status_code == 503
        assert until_drained(own, operator) == {"state": "drained", "queue": "finish", "under_way": 0, "queued": 0}
        assert states(own, ids) == ["done"] * 4
        assert own.terminate() == 0
        with Store.open(own.db, read_only=True) as store:
            assert store.count() == 4


def test_two_processes_share_a_postgresql_queue(postgresql_url: str, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with Process(tmp_path / "one", postgresql_url, "--jobs", "1") as one, Process(tmp_path / "two", postgresql_url, "--jobs", "1") as two:
        ids = [one.submit(SLOW.replace("3", str(number))) for number in range(3, 9)]
        assert [two.verdict(public_id)["category"] for public_id in ids] == ["wrong_values"] * 6
    with Store.open(postgresql_url, read_only=True) as store, store.read() as connection:
        assert store.count() == 6
        runs = connection.exec_driver_sql("SELECT run_id, count(*) FROM evaluations GROUP BY run_id").all()
        assert len(runs) == 2, runs
