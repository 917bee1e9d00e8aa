"""Both clients, the example and the commands against a service on a socket."""

import asyncio
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import httpx
import pytest
import trl_reward
from assay_client import (
    AssayError,
    AsyncClient,
    Client,
    Options,
    Patience,
    Settings,
    Shaping,
    Submission,
    UnauthorizedError,
    UnknownProblemError,
    UnreachableError,
)
from assay_client.command import main

from db.queries.steps import steps
from db.storage.origin import Origin
from tests.client.model import BORROWED, NOTHING, WRONG
from tests.command_line import PROBLEM, PROJECT, submission
from tests.web.service.in_process import NO_PROFILE, InProcess
from web.service.tokens import Scope

pytestmark = pytest.mark.slow(15)

RAISES = f"```python\n{submission('x', before='raise ValueError(3)')}```\n"
HELD = f"```python\n{submission('x + 3', before='time.sleep(1)')}```\n"
"""The service holds it until it is told to go on."""
HASTY = Settings(Patience(total_s=0.0))
BRIEF = Settings(Patience(total_s=1.0, first_s=0.2))


@pytest.fixture
def client(service: InProcess) -> Iterator[Client]:
    with Client(service.address, service.token) as opened:
        yield opened


@pytest.fixture
def held(service: InProcess) -> Iterator[InProcess]:
    """Judges no submission that sleeps before `go` is set."""
    service.go.clear()
    yield service
    service.go.set()


def test_responses_are_scored_in_order_by_both_clients(service: InProcess, client: Client) -> None:
    responses = [WRONG, NOTHING, BORROWED, RAISES, WRONG]
    rewards = client.score(responses, "double", shaping=Shaping(unranked=0.05))
    results = [each.evaluation.result for each in rewards]
    assert [result.category for result in results if result] == [
        *("wrong_values", "no_code_block", "no_custom_kernel", "python_exception", "wrong_values")
    ]
    assert [each.value for each in rewards] == pytest.approx([0.2, 0.0, 0.05, 0.1, 0.2])
    assert rewards[0].evaluation.id == rewards[4].evaluation.id
    assert rewards[2].evaluation.speedup == 2.0 and rewards[2].parts.speedup == 0

    async def score() -> list[float]:
        async with AsyncClient(service.address, service.token) as opened:
            assert (await opened.get((await opened.submit(Submission(response=WRONG, problem="double"))).id, 30.0)).ended
            assert {each.name for each in await opened.problems()} == {"double", "increment"}
            assert await opened.leaderboard(problem="double") == client.leaderboard(problem="double")
            parts = await asyncio.gather(*(opened.score([each], "double") for each in responses))
            return [each.value for part in parts for each in part]

    assert asyncio.run(score()) == [each.value for each in client.score(responses, "double")]


def test_each_response_may_have_its_own_problem_options_and_key(client: Client) -> None:
    options = Options(shapes="own", strict_inputs=True, timeout_s=20.0)
    keys = ["one", "other"]
    first = client.score([WRONG, WRONG], ["double", "increment"], options=options, keys=keys)
    assert [each.evaluation.problem for each in first] == ["double", "increment"]
    assert first == client.score([WRONG, WRONG], ["double", "increment"], options=options, keys=keys)
    with pytest.raises(ValueError, match="shorter"):
        client.score([WRONG, WRONG], ["double"])
    (found,) = client.evaluate([Submission(source=submission("x - 5"), reference=PROBLEM.format(operation="- 7"))])
    assert found.result is not None and found.result.category == "wrong_values", "a problem can come along"


def test_what_is_cancelled_meanwhile_has_no_reward_but_the_others_have(held: InProcess, client: Client) -> None:
    public_id = client.submit(Submission(response=HELD, problem="double", key="held")).id

    def cancel() -> None:
        with Client(held.address, held.token) as other:
            while other.get(public_id).state != "claimed":
                time.sleep(0.02)
            other.cancel(public_id)
        held.go.set()

    cancelling = threading.Thread(target=cancel)
    cancelling.start()
    lost, found = client.score([HELD, NOTHING], "double", keys=["held", "nothing"])
    cancelling.join()
    assert (math.isnan(lost.value), lost.evaluation.id, lost.evaluation.why_not_judged) == (True, public_id, "cancelled")
    assert (found.value, found.evaluation.why_not_judged) == (0.0, "")


@pytest.mark.usefixtures("environment")
def test_a_response_that_can_not_be_judged_costs_the_batch_no_reward(client: Client) -> None:
    long = "x" * (5 << 20)
    lost, found = client.score([long, WRONG], "double", missing=-2.0)
    assert [lost.value, found.value] == pytest.approx([-2.0, 0.2])
    assert "submission 0: 422" in lost.evaluation.why_not_judged
    trl_reward.client.cache_clear()
    assert trl_reward.reward_func([long, WRONG], ["double", "double"]) == [None, pytest.approx(0.2)]
    scores = trl_reward.compute_score_batch([long, WRONG], ["double", "double"])
    assert [(each["score"], each["judged"]) for each in scores] == [(0.0, 0.0), (pytest.approx(0.2), 1.0)]
    trl_reward.client().close()
    trl_reward.client.cache_clear()


def test_a_repeated_response_is_judged_once_and_keeps_the_step_of_each_request(service: InProcess, client: Client) -> None:
    responses = [RAISES, WRONG, WRONG]
    tags = {"run": "first", "temperature": "0.7"}
    first = client.score(responses, "double", step=12, prompt=["p0", "p1", "p2"], tags=tags)
    again = client.score(responses[1:], "double", step=13, prompt="p1", tags=tags)
    assert client.score([WRONG], "double")[0].evaluation == first[1].evaluation, "it was judged before, without a step"
    assert [each.evaluation.id for each in again] == [first[1].evaluation.id] * 2 == [first[2].evaluation.id] * 2

    async def score() -> str:
        async with AsyncClient(service.address, service.token) as opened:
            return (await opened.score([WRONG], "double", step=0))[0].evaluation.id

    assert asyncio.run(score()) == first[1].evaluation.id
    result = first[1].evaluation.result
    stored = service.store.get(result.number) if result else None
    assert stored is not None and stored.origins == (
        *(Origin(12, prompt, tags) for prompt in ("p1", "p2")),
        *(Origin(13, "p1", tags), Origin(0)),
    )
    told = {worth.step: worth for worth in steps(service.store, "ada") if worth.run == "first"}
    assert {step: (worth.evaluations, worth.right) for step, worth in told.items()} == {12: (2, 0.0), 13: (1, 0.0)}


BAD_ORIGINS: list[tuple[dict[str, Any], str, str]] = [
    ({"step": -1}, "a step is a whole number from 0: -1", "step: Input should be greater than or equal to 0"),
    ({"step": 1 << 63}, "a step is", "step: Input should be less than"),
    ({"step": 1.5}, "a step is a whole number from 0: 1.5", "step: Input should be a valid integer"),
    ({"prompt": "x" * 501}, "1 to 500 characters without NUL: 501 characters", "prompt: String should have at most 500"),
    ({"prompt": ""}, "0 characters", "prompt: String should have at least 1"),
    ({"tags": {"run": "x" * 201}}, "the tag 'run' needs a text of 1 to 200 characters on one line: 201", "tags.run: String should have at"),
    ({"tags": {"run": 7}}, "the tag 'run' needs a text of 1 to 200 characters on one line: 7", "tags.run: Input should be a valid string"),
    ({"tags": {"a b": "x"}}, "a tag's name has 1 to 64 of the characters A-Z", "tags.a b"),
    ({"tags": {f"t{number}": "x" for number in range(17)}}, "at most 16 tags: 17", "tags: Dictionary should have at most 16 items"),
]


def test_a_bad_step_prompt_or_tag_is_told_by_the_client_and_by_the_service(service: InProcess, client: Client) -> None:
    headers = {"Authorization": f"Bearer {service.token}"}
    body = {"problem": "double", "response": "a response that is never judged"}
    for fields, by_client, by_service in BAD_ORIGINS:
        with pytest.raises(ValueError, match=re.escape(by_client)):
            client.score([WRONG], "double", **fields)
        answer = httpx.post(f"{service.address}/v1/evaluations", json=body | fields, headers=headers)
        assert answer.status_code == 422 and any(by_service in line for line in answer.json()["error"]["details"]), answer.text
    with pytest.raises(ValueError, match="shorter"):
        client.score([WRONG, WRONG], "double", prompt=["p0"])


def test_errors_say_what_is_wrong(service: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    with Client(service.address, "assay_wrong", HASTY) as opened, pytest.raises(UnauthorizedError, match="401 unauthorized"):
        opened.problems()
    with Client(service.address, service.token, HASTY) as opened, pytest.raises(UnknownProblemError, match="sofmax"):
        opened.score([WRONG], "sofmax")
    monkeypatch.setattr(time, "sleep", pytest.fail)  # what is refused for good is not tried again
    with Client("http://127.0.0.1:1", "assay_any") as opened, pytest.raises(UnreachableError, match=r"listens at http://127\.0\.0\.1:1 "):
        opened.problems()
    monkeypatch.delenv("ASSAY_TOKEN", raising=False)
    for words, told in (
        (("http://127.0.0.1:1",), "ASSAY_TOKEN"),
        (("127.0.0.1:1", "x"), "https://"),
        (("http://a", "\n"), "invalid"),
    ):
        with pytest.raises(AssayError, match=told):
            Client(*words)


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


@pytest.mark.usefixtures("environment")
def test_the_example_for_trl_and_verl(service: InProcess) -> None:
    trl_reward.client.cache_clear()
    conversation = [{"role": "assistant", "content": WRONG}]
    columns: dict[str, Any] = {"prompts": ["p", "p"], "problem": ["double", "double"], "trainer_state": SimpleNamespace(global_step=77)}
    assert trl_reward.reward_func(completions=[NOTHING, conversation], **columns) == pytest.approx([0.0, 0.2])
    assert [(each.run, each.evaluations) for each in steps(service.store, "ada") if each.step == 77] == [(None, 2)]
    scores = trl_reward.compute_score_batch(
        data_sources=["assay", "assay"], solution_strs=[BORROWED, WRONG], ground_truths=["double", "double"], extra_infos=[{}, {}]
    )
    assert [each["score"] for each in scores] == pytest.approx([0.0, 0.2])
    assert scores[0]["speedup"] > 0 and scores[0]["correct"] == 0
    trl_reward.client().close()
    trl_reward.client.cache_clear()


def test_the_clients_list_ones_own_evaluations(service: InProcess, client: Client) -> None:
    taken = [client.submit(Submission(response=NOTHING, problem="double", name=f"n{number}")) for number in range(3)]
    assert [each.name for each in client.evaluations(limit=2)] == ["n2", "n1"]
    assert {each.id for each in taken} <= {each.id for each in client.evaluations(problem="double", limit=1000)}
    assert client.evaluations(problem="nothing") == []

    async def listed() -> list[str | None]:
        async with AsyncClient(service.address, service.token) as opened:
            return [each.name for each in await opened.evaluations(limit=2)]

    assert asyncio.run(listed()) == ["n2", "n1"]


@pytest.fixture
def folder(tmp_path: Path, environment: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: submissions to the problem double, which their folder names."""
    (tmp_path / "double").mkdir()
    (tmp_path / "double" / "wrong.py").write_text(submission("x + 3"), encoding="utf-8")
    (tmp_path / "double" / "answer.md").write_text(f"Here it is:\n\n```python\n{submission('x + x')}```\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def process(*words: object, stdout: IO[bytes] | int = subprocess.PIPE, stderr: int = subprocess.PIPE, **variables: str) -> Any:
    """`assay` in a process of its own, begun."""
    variables["PYTHONPATH"] = f"{PROJECT}{os.pathsep}{PROJECT / 'client'}"
    command = [sys.executable, "-m", "assay", *map(str, words)]
    return subprocess.Popen(command, env=os.environ | variables, stdout=stdout, stderr=stderr, text=True)


def test_files_are_handed_in_followed_and_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["submit", "double/wrong.py", "double/answer.md"]) == 0
    told = capsys.readouterr()
    rows = told.out.splitlines()
    assert "incorrect/wrong_values  double  double/wrong.py" in rows[0] and rows[1].startswith("    ")
    assert any("correct/no_custom_kernel" in row and row.endswith("double/answer.md") for row in rows)
    assert main(["submitted", "--top", "2"]) == 0
    assert [row.rsplit("  ", 1)[1] for row in capsys.readouterr().out.splitlines()] == ["double/answer.md", "double/wrong.py"]
    assert main(["submitted", "--json", "--state", "done"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"service/ada/double/wrong.py", "service/ada/double/answer.md"} <= {each["result"]["submission"] for each in records}
    for option, speedup in (("--timing", 2.0), ("--no-timing", None)):
        assert main(["submit", "double/answer.md", "--json", option]) == 0
        assert json.loads(capsys.readouterr().out)["result"]["speedup"] == speedup
    ids = []
    for words in ((), (), ("--again",)):
        assert main(["submit", "double/wrong.py", "--no-wait", *words]) == 0
        ids.append(capsys.readouterr().out.strip())
    assert ids[0] == ids[1] != ids[2] and len(ids[2]) == 32, "what has a verdict is judged again when that is asked for"


def test_folders_and_bundles_are_split_into_their_submissions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [{"code": submission("x + 5"), "sample_id": 7}, {"response": NOTHING, "problem": "none"}]
    (folder / "double" / "samples.jsonl").write_text("\n\n".join(map(json.dumps, lines)), encoding="utf-8")
    (folder / "double" / "README.md").write_text("no submission", encoding="utf-8")
    assert main(["submit", ".", "--json"]) == 1
    told = capsys.readouterr()
    assert told.err.splitlines()[0].startswith("double/samples.jsonl:3: There is no problem 'none'")
    records = {each["name"]: each["result"] for each in map(json.loads, told.out.splitlines())}
    assert list(records) == ["double/answer.md", "double/samples.jsonl:1", "double/wrong.py"]
    assert records["double/samples.jsonl:1"]["category"] == "wrong_values" and records["double/samples.jsonl:1"]["sample_id"] == 7
    assert main(["submit", "double/samples.jsonl", "--problem", "double", "--no-wait"]) == 0, "the problem holds for all lines"
    assert len(capsys.readouterr().out.split()) == 2


def test_evaluations_are_waited_for_and_cancelled_by_id(
    held: InProcess, client: Client, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = client.evaluate([Submission(response=WRONG, problem="double")])[0]
    waiting = client.submit(Submission(response=HELD, problem="double", name="double/held.md"))
    unknown = "0" * 32
    assert main(["cancel", waiting.id, judged.id, unknown]) == 1
    told = capsys.readouterr()
    assert told.out.count("\n") == 1 and waiting.id in told.out and "cancelled" in told.out
    assert f"{judged.id}: " in told.err and f"{unknown}: " in told.err and client.get(waiting.id).state == "cancelled"
    assert main(["cancel", waiting.id, "--json"]) == 0, "it stays cancelled"
    assert json.loads(capsys.readouterr().out)["state"] == "cancelled"
    assert main(["wait", judged.id, judged.id]) == 0
    assert capsys.readouterr().out.count("incorrect/wrong_values") == 2
    assert main(["wait", unknown, judged.id, "--json"]) == 1
    told = capsys.readouterr()
    assert f"{unknown}: " in told.err and json.loads(told.out)["result"]["category"] == "wrong_values"
    assert main(["wait", waiting.id]) == 1 and "cancelled" in capsys.readouterr().out, "there is no verdict"
    for words in (["wait"], ["cancel", "../drain"], ["wait", f"{judged.id}/events"], ["cancel", ""]):
        with pytest.raises(SystemExit, match="2"):
            main(words)
    assert "is no evaluation's id; `submitted` lists yours" in capsys.readouterr().err


def test_waiting_shows_the_stage_and_ends_with_the_verdict(held: InProcess, client: Client, folder: Path) -> None:
    waiting = client.submit(Submission(response=HELD, problem="double", name="double/slow.md"))
    with process("wait", waiting.id) as running:
        assert "1 of 1  double/slow.md" in running.stderr.readline()
        held.go.set()
        out, _ = running.communicate(timeout=60)
    assert running.returncode == 0 and waiting.id in out and "incorrect/wrong_values" in out


def test_a_profile_that_can_not_be_made_is_told_beside_the_verdict(
    service: InProcess, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = service.make_token("profiler", Scope.READ, Scope.SUBMIT, Scope.PROFILE)
    assert main(["submit", "double/answer.md", "double/wrong.py", "--profile", "--token", token]) == 0
    right, wrong = capsys.readouterr().out.split("incorrect/wrong_values")
    assert "correct/no_custom_kernel" in right and "profile" not in wrong
    assert f"    profile by Nsight Compute: {NO_PROFILE}" in right


REFUSED: dict[tuple[str, ...], tuple[int, str]] = {
    ("submit", "none.py"): (2, "none.py: can't be read"),
    ("submit", "empty"): (2, "empty: no submissions in this folder"),
    ("submit", "empty/kernel.cu"): (2, "kernel.cu: is neither a folder nor one of .py, .md, .txt, .jsonl"),
    ("submit", "double/wrong.py", "blank.jsonl"): (2, "blank.jsonl: the bundle is empty"),
    ("submit", "double/wrong.py", "bad.jsonl"): (2, "bad.jsonl:3: the line has neither code nor response"),
    ("submit", "double/wrong.py", "--problem", "duoble"): (1, "nearest: double"),
    ("submit", "double/wrong.py", "--token", "assay_nonsense"): (1, "401 unauthorized"),
    ("submit", "double/wrong.py", "--timeout", "0"): (1, "timeout_s"),
    ("submit", "double/wrong.py", "--profile"): (1, "it needs the scope profile"),
    ("submit", "double/wrong.py", "--url", "http://[::1"): (2, "invalid address"),
    ("submit", "double/wrong.py", "--url", "http://127.0.0.1:1"): (1, "no service listens at http://127.0.0.1:1"),
    ("submit", "no\x1b[31mne.py"): (2, "no [31mne.py: can't be read"),
    ("submitted", "--problem", "duoble"): (2, "there is no problem 'duoble'; known: double"),
    ("submitted", "--top", "0"): (2, "at least 1"),
    ("submitted", "--url", "http://127.0.0.1:1"): (1, "assay service"),
}


def test_what_can_not_be_handed_in_is_told(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", pytest.fail)  # all of it is told at once
    (folder / "empty").mkdir()
    (folder / "empty" / "kernel.cu").touch()
    (folder / "blank.jsonl").write_text("\n", encoding="utf-8")
    (folder / "bad.jsonl").write_text('{"code": "x = 1", "problem": "double"}\n\n{}\n', encoding="utf-8")
    assert main(["submitted"]) == 0
    before = capsys.readouterr().out
    for words, (code, said) in REFUSED.items():
        try:
            found = main(words)
        except SystemExit as usage:
            found = int(usage.code or 0)
        told = capsys.readouterr()
        assert (found, told.out) == (code, "") and said in told.err, (words, told.err)
    assert main(["submitted"]) == 0 and capsys.readouterr().out == before, "nothing was submitted"


def test_a_file_that_is_refused_keeps_no_other_from_being_judged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "x.py").write_text(submission("x + 3"), encoding="utf-8")
    (folder / "double" / "linked.py").symlink_to("../elsewhere/x.py")
    assert main(["submit", "elsewhere/x.py", "double/linked.py"]) == 1
    told = capsys.readouterr()
    assert told.err.startswith("elsewhere/x.py: nothing says which problem it answers")
    assert "incorrect/wrong_values  double  double/linked.py" in told.out
    assert main(["submit", "elsewhere/x.py", "double/linked.py", "--no-wait"]) == 1
    assert capsys.readouterr().out == told.out[:32] + "\n"


def test_a_terminal_that_lacks_a_letter_and_a_reader_that_leaves_are_no_failure(folder: Path) -> None:
    (folder / "double" / "é日.py").write_text("x = 1\n", encoding="utf-8")
    with process("submit", "double/é日.py", PYTHONIOENCODING="ascii") as submitting:
        out, errors = submitting.communicate()
    assert submitting.returncode == 0 and r"double/\xe9\u65e5.py" in out, errors
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb") as gone, process("submitted", stdout=gone) as listing:  # noqa: PTH123 - a descriptor
        _, errors = listing.communicate()
    assert (listing.returncode, errors) == (1, "")


def test_ctrl_c_says_what_becomes_of_what_was_handed_in(held: InProcess, folder: Path) -> None:
    (folder / "double" / "slow.py").write_text(submission("x + 4", before="time.sleep(2)"), encoding="utf-8")
    with process("submit", "double/slow.py", stdout=subprocess.DEVNULL) as waiting:
        assert waiting.stderr.readline().startswith("1 of 1  double/slow.py  ")
        waiting.send_signal(signal.SIGINT)
        last = waiting.stderr.read().splitlines()[-1]
    assert (waiting.returncode, last) == (130, "assay submit: Submitted files are still judged; `submitted` lists them.")


def test_a_file_of_options_holds_here_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "assay.toml").write_text('[submitted]\nurl = "http://127.0.0.1:1"\ntoken = "x"\n', encoding="utf-8")
    for name in [name for name in os.environ if name.startswith("ASSAY_")]:
        monkeypatch.delenv(name)
    with process("submitted") as listing:
        _, errors = listing.communicate()
    assert listing.returncode == 1 and "no service listens at http://127.0.0.1:1" in errors, errors
