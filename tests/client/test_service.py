"""Both clients and the example against a real service that judges on the CPU."""

import asyncio
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
import trl_reward
from assay_client import (
    AssayError,
    AsyncClient,
    Client,
    NotEvaluatedError,
    NotFinishedError,
    Options,
    Patience,
    Settings,
    Shaping,
    Submission,
    UnauthorizedError,
    UnknownProblemError,
    UnreachableError,
)

from tests.command_line import PROBLEM, submission
from tests.web.service.process import Process

pytestmark = pytest.mark.slow(20)

BORROWED = f"```python\n{submission('x + x')}```\n"
WRONG = f"Here it is:\n\n```python\n{submission('x + 3')}```\n"
RAISES = f"```python\n{submission('x', before='raise ValueError(3)')}```\n"
NOTHING = "I can't do that."
HASTY = Settings(Patience(total_s=0.0))
BRIEF = Settings(Patience(total_s=1.0, first_s=0.2))


@pytest.fixture
def client(process: Process) -> Iterator[Client]:
    with Client(process.address, process.token) as opened:
        yield opened


@pytest.fixture
def environment(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_URL", process.address)
    monkeypatch.setenv("ASSAY_TOKEN", process.token)


def test_responses_are_scored_in_order(client: Client) -> None:
    rewards = client.score([WRONG, NOTHING, BORROWED, RAISES, WRONG], "double", shaping=Shaping(unranked=0.05))
    results = [each.evaluation.result for each in rewards]
    assert [result.category for result in results if result] == [
        *("wrong_values", "no_code_block", "no_custom_kernel", "python_exception", "wrong_values")
    ]
    assert [each.value for each in rewards] == pytest.approx([0.2, 0.0, 0.05, 0.1, 0.2])
    assert rewards[0].evaluation.id == rewards[4].evaluation.id
    assert rewards[2].evaluation.speedup is not None and rewards[2].parts.speedup == 0


def test_both_clients_come_to_the_same(process: Process, client: Client) -> None:
    async def score() -> list[float]:
        async with AsyncClient(process.address, process.token) as opened:
            assert (await opened.get((await opened.submit(Submission(response=WRONG, problem="double"))).id, 30.0)).ended
            assert {each.name for each in await opened.problems()} >= {"double", "increment"}
            assert await opened.leaderboard(problem="double") == []
            parts = await asyncio.gather(*(opened.score([each], "double") for each in (WRONG, NOTHING)))
            return [each.value for part in parts for each in part]

    assert asyncio.run(score()) == [each.value for each in client.score([WRONG, NOTHING], "double")]


def test_each_response_may_have_its_own_problem_options_and_key(client: Client) -> None:
    options = Options(shapes="own", strict_inputs=True, timeout_s=20.0)
    keys = ["one", "other"]
    first = client.score([WRONG, WRONG], ["double", "increment"], options=options, keys=keys)
    assert [each.evaluation.problem for each in first] == ["double", "increment"]
    assert first == client.score([WRONG, WRONG], ["double", "increment"], options=options, keys=keys)
    with pytest.raises(ValueError, match="shorter"):
        client.score([WRONG, WRONG], ["double"])


def test_a_problem_can_come_along(client: Client) -> None:
    (found,) = client.evaluate([Submission(source=submission("x - 5"), reference=PROBLEM.format(operation="- 7"))])
    assert found.result is not None and found.result.category == "wrong_values"


def test_what_is_cancelled_meanwhile_has_no_reward_but_the_others_have(process: Process) -> None:
    slow = f"```python\n{submission('x + 3', before='time.sleep(3)')}```\n"
    with Client(process.address, process.token) as opened:
        public_id = opened.submit(Submission(response=slow, problem="double", key="slow")).id
        cancelling = threading.Timer(1.0, opened.cancel, [public_id])
        cancelling.start()
        with pytest.raises(NotEvaluatedError, match=f"{public_id}: cancelled") as caught:
            opened.score([slow, NOTHING], "double", keys=["slow", "nothing"])
        cancelling.join()
        assert [None if each is None else each.value for each in caught.value.rewards] == [None, 0.0]
        again = opened.score([slow, NOTHING], "double", keys=["slow", "nothing"], missing=0.25)
        assert [(each.value, each.evaluation.judged) for each in again][1:] == [(0.0, True)]


def test_waiting_has_an_end(process: Process) -> None:
    slow = submission("x + 4", before="time.sleep(1)")
    start = time.monotonic()
    with Client(process.address, process.token, Settings(within_s=0.3)) as opened, pytest.raises(NotFinishedError):
        opened.evaluate([Submission(source=slow, problem="double")])
    assert time.monotonic() - start < 20


def test_errors_say_what_is_wrong(process: Process) -> None:
    with Client(process.address, "assay_wrong", HASTY) as opened, pytest.raises(UnauthorizedError, match="401 unauthorized"):
        opened.problems()
    with Client(process.address, process.token, HASTY) as opened, pytest.raises(UnknownProblemError, match="sofmax"):
        opened.score([WRONG], "sofmax")
    nobody = r"no service listens at http://127\.0\.0\.1:1 "
    start = time.monotonic()
    with Client("http://127.0.0.1:1", "assay_any") as opened, pytest.raises(UnreachableError, match=nobody):
        opened.problems()
    assert time.monotonic() - start < 5


def test_who_has_answered_once_is_waited_for() -> None:
    class Once(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b'{"problems": []}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with HTTPServer(("127.0.0.1", 0), Once) as server, Client(f"http://127.0.0.1:{server.server_port}", "assay_any", BRIEF) as opened:
        answering = threading.Thread(target=server.handle_request)
        answering.start()
        assert opened.problems() == []
        answering.join()
        server.server_close()
        with pytest.raises(UnreachableError, match="no answer from"):
            opened.problems()


def test_a_client_without_token_or_address_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASSAY_TOKEN", raising=False)
    with pytest.raises(AssayError, match="ASSAY_TOKEN"):
        Client("http://127.0.0.1:1")
    with pytest.raises(AssayError, match="https://"):
        Client("127.0.0.1:1", "assay_any")
    with pytest.raises(AssayError, match="invalid characters"):
        Client("http://127.0.0.1:1", "assay_any\n")


@pytest.mark.usefixtures("environment")
def test_the_example_for_trl_and_verl() -> None:
    trl_reward.client.cache_clear()
    conversation = [{"role": "assistant", "content": WRONG}]
    columns: dict[str, Any] = {"prompts": ["p", "p"], "problem": ["double", "double"], "trainer_state": None}
    assert trl_reward.reward_func(completions=[NOTHING, conversation], **columns) == pytest.approx([0.0, 0.2])
    scores = trl_reward.compute_score_batch(
        data_sources=["assay", "assay"], solution_strs=[BORROWED, WRONG], ground_truths=["double", "double"], extra_infos=[{}, {}]
    )
    assert [each["score"] for each in scores] == pytest.approx([0.0, 0.2])
    assert scores[0]["speedup"] > 0 and scores[0]["correct"] == 0
    trl_reward.client().close()
    trl_reward.client.cache_clear()


def test_the_clients_list_ones_own_evaluations(process: Process, client: Client) -> None:
    taken = [client.submit(Submission(response=NOTHING, problem="double", name=f"n{number}")) for number in range(3)]
    assert [each.name for each in client.evaluations(limit=2)] == ["n2", "n1"]
    assert {each.id for each in taken} <= {each.id for each in client.evaluations(problem="double", limit=1000)}
    assert client.evaluations(problem="nothing") == []

    async def listed() -> list[str | None]:
        async with AsyncClient(process.address, process.token) as opened:
            return [each.name for each in await opened.evaluations(limit=2)]

    assert asyncio.run(listed()) == ["n2", "n1"]
