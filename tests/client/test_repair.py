"""The loop of repairs against a service with made-up verdicts, and a model whose answers are scripted."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from email.utils import formatdate
from pathlib import Path
from types import SimpleNamespace

import pytest
from assay_client import Patience
from assay_client.command import main
from assay_client.repair.endpoint import Asking, Endpoint, EndpointError, Response
from assay_client.repair.journal import Attempt, Journal, JournalError, Place
from assay_client.repair.report import rows
from assay_client.tasks import FOLLOW_UP, TaskError, read_tasks

from db.queries.overall import overall
from db.store import Store
from tests.client.model import DOES_NOT_COMPILE, NOTHING, RIGHT, WRONG, Model, Reply, in_turn, refuses, says
from tests.command_line import PROBLEM, PROJECT
from tests.web.service.in_process import NO_PROFILE, InProcess
from web.service.tokens import Scope

pytestmark = pytest.mark.slow(20)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the service's two problems, and one that it does not know."""
    (tmp_path / "problems").mkdir()
    for name, operation in (("double", "* 2"), ("increment", "+ 1"), ("less", "- 7")):
        (tmp_path / "problems" / f"{name}.py").write_text(PROBLEM.format(operation=operation), encoding="utf-8")
    (tmp_path / "problems" / "notes.py").write_text("x = 1\n", encoding="utf-8")
    return tmp_path


def words(service: InProcess, model: Model, folder: Path, *more: str) -> list[str]:
    place = ["--url", service.address, "--token", service.token, "--out", str(folder / "repair.jsonl")]
    return ["repair", "--endpoint", model.url, "--model", "scripted", *place, *more]


def told(out: str) -> list[tuple[int, int, int]]:
    """Repairs, solved and chains of each row of the table."""
    return [(int(row.split()[0]), int(row.split()[1]), int(row.split()[2])) for row in out.splitlines()[1:]]


def test_a_model_repairs_its_answer_by_the_feedback(service: InProcess, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Model(in_turn(says(DOES_NOT_COMPILE), says(WRONG), says(RIGHT))) as model:
        command = words(service, model, folder, str(folder / "problems" / "double.py"), "--temperature", "0.5")
        assert main(command) == 0
        shown = capsys.readouterr()
        assert told(shown.out) == [(0, 0, 1), (1, 0, 1), (2, 1, 1), (3, 1, 1)] and shown.out.splitlines()[3].endswith("100%")
        assert "attempt 0: build_failed/undeclared_identifier" in shown.err and "attempt 2: correct/ok" in shown.err
        first, second, third = model.calls
        assert first["temperature"] == 0.5 and "return x * 2" in first["messages"][0]["content"]
        assert [each["role"] for each in third["messages"]] == ["user", "assistant", "user", "assistant", "user"]
        assert second["messages"][1]["content"] == DOES_NOT_COMPILE and "factor" in second["messages"][2]["content"]
        assert main(command) == 0
        assert len(model.calls) == 3, "what is solved is not asked again"
    assert capsys.readouterr().out == shown.out


def test_with_a_profile_a_model_is_asked_for_a_faster_answer(service: InProcess, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Model(lambda _: says(RIGHT)) as model:
        command = words(service, model, folder, str(folder / "problems" / "double.py"), "--attempts", "2", "--profile")
        command[command.index(service.token)] = service.make_token("profiled", Scope.READ, Scope.SUBMIT, Scope.PROFILE)
        assert main(command) == 0
        (_, second) = model.calls
    assert told(capsys.readouterr().out) == [(0, 1, 1), (1, 1, 1)]
    told_model = second["messages"][2]["content"]
    assert "verdict: correct/ok" in told_model and NO_PROFILE in told_model
    assert "the whole faster file" in told_model


def test_each_attempt_is_a_submission_with_its_author_and_number(service: InProcess, folder: Path) -> None:
    with Model(lambda _: says(WRONG)) as model:
        command = words(service, model, folder, str(folder / "problems"), "--attempts", "2", "--chains", "2")
        command[command.index(service.token)] = service.make_token("scripted-model", Scope.READ, Scope.SUBMIT, Scope.REFERENCE)
        assert main(command) == 0
    with Store.open(service.db, read_only=True) as store, store.read() as connection:
        query = """SELECT s.name, s.sample_id FROM submissions s JOIN authors a ON a.id = s.author_id
                   WHERE a.name = 'scripted-model' ORDER BY s.name"""
        stored = [tuple(row) for row in connection.exec_driver_sql(query)]
        ranked = [row for board in overall(store) for row in board.rows if row.author == "scripted-model"]
    numbers = {"0.0": 0, "0.1": 1, "1.0": 100, "1.1": 101}
    names = [f"service/scripted-model/repair/{problem}" for problem in ("double", "increment", "less")]
    assert stored == [(f"{name}/{place}", number) for name in names for place, number in numbers.items()]
    assert [(row.samples, row.pass_at[1]) for row in ranked] == [(12, 0.0)]


def test_a_run_that_is_killed_goes_on_where_it_was(service: InProcess, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def script(messages: Sequence[Mapping[str, str]]) -> Reply:
        return says(NOTHING) if len(messages) == 1 else Reply(says(WRONG).body, held=held)

    held = True
    with Model(script) as model:
        command = words(service, model, folder, str(folder / "problems" / "double.py"), "--attempts", "2")
        environment = os.environ | {"PYTHONPATH": f"{PROJECT}{os.pathsep}{PROJECT / 'client'}"}
        for sent, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
            asked = len(model.calls) + (2 if sent is signal.SIGKILL else 1)
            with subprocess.Popen([sys.executable, "-m", "assay", *command], env=environment, stderr=subprocess.PIPE, text=True) as running:
                while len(model.calls) < asked:
                    assert running.poll() is None, running.stderr.read() if running.stderr else ""
                    time.sleep(0.05)
                running.send_signal(sent)
                last = running.communicate()[1]
            assert running.returncode == code, last
        assert "the same command continues, from" in last
        with (folder / "repair.jsonl").open("ab") as journal:
            journal.write(b'{"problem": "dou')  # as a power cut leaves it
        held = False
        assert main(command) == 0
        assert [len(each["messages"]) for each in model.calls] == [1, 3, 3, 3], "the first answer was paid for once"
    assert told(capsys.readouterr().out) == [(0, 0, 1), (1, 0, 1)]
    lines = [json.loads(line) for line in (folder / "repair.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line.get("category") for line in lines[1:]] == [None, "rejected/no_code_block", None, "incorrect/wrong_values"]


def test_an_answer_without_code_is_told_so(service: InProcess, folder: Path) -> None:
    with Model(in_turn(says(None), says(NOTHING, finish="length"), says(WRONG))) as model:
        assert main(words(service, model, folder, str(folder / "problems" / "increment.py"), "--attempts", "3")) == 0
        asked = [each["messages"][-1]["content"] for each in model.calls]
    assert "code block" in asked[1] and asked[2].startswith("Your answer was cut off")


def test_a_chain_that_can_not_go_on_keeps_no_other_from_it(service: InProcess, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def script(messages: Sequence[Mapping[str, str]]) -> Reply:
        return refuses(400, "too many tokens") if "x + 1" in messages[0]["content"] else says(WRONG)

    problems = [str(folder / "problems" / f"{name}.py") for name in ("increment", "double")]
    with Model(script) as model:
        assert main(words(service, model, folder, *problems, "--attempts", "1", "--json")) == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out) == [{"repairs": 0, "solved": 0, "chains": 1, "share": 0.0}]
    assert "increment, chain 0: http" in shown.err and "400 too many tokens" in shown.err and "1 of 2 chains stopped" in shown.err


def test_a_refused_key_ends_the_run(
    service: InProcess, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", "sk-1")
    more = ("--key-variable", "MODEL_KEY", "--concurrency", "1", "--chains", "5")
    with Model(lambda _: refuses(401, "bad key")) as model:
        assert main(words(service, model, folder, str(folder / "problems"), *more)) == 1
        assert model.keys == ["Bearer sk-1"]
    said = capsys.readouterr().err
    assert "the key in MODEL_KEY is not accepted" in said and "15 of 15 chains stopped" in said and "sk-1" not in said


def test_what_makes_no_sense_is_told(service: InProcess, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "repair.jsonl").touch()
    with Model(lambda _: says(NOTHING)) as model:
        command = words(service, model, folder, str(folder / "problems" / "double.py"), "--attempts", "1")
        assert main(command) == 0
        for changed, said in (
            (("--model", "another"), "other settings (model: 'scripted', now 'another')"),
            (("--endpoint", "127.0.0.1:1"), "must begin with http://"),
            (("--attempts", "101"), "at most 100"),
            (("--prompt", "none.txt"), "none.txt: can't be read"),
        ):
            try:
                assert main([*command, *changed]) == 2
            except SystemExit as usage:
                assert usage.code == 2
            assert said in capsys.readouterr().err


def ask(model: Model, total_s: float = 5.0, timeout_s: float = 600.0) -> Response:
    async def once() -> Response:
        patience = Patience(total_s=total_s, first_s=0.05)
        async with Endpoint(Asking(model.url, "scripted", timeout_s=timeout_s, patience=patience)) as endpoint:
            return await endpoint.ask([{"role": "user", "content": "?"}])

    return asyncio.run(once())


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of each pause, none of which is waited for."""
    found: list[float] = []

    async def pause(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr("assay_client.repair.endpoint.asyncio", SimpleNamespace(sleep=pause))
    return found


PASSING = {
    "500": refuses(500, "it broke"),
    "503": refuses(503, "loading"),
    "proxy": Reply(b"<html>gateway</html>", 502),
    "torn": Reply(b'{"choices": [{"message": {"cont'),
    "empty": Reply(b'{"choices": []}'),
    "number": Reply(b'{"choices": [{"message": {"content": 3}}]}'),
    "list": Reply(b"[]"),
    "late": Reply(says("too late").body, held=True),
    "cut": Reply(b"", headers={"Content-Length": "100"}),
}


def test_what_passes_is_asked_again(pauses: list[float]) -> None:
    for name, passing in PASSING.items():
        with Model(in_turn(passing, says("yes"))) as model:
            # On a busy machine more than one answer is late.
            assert ask(model, 1e6, timeout_s=1.0 if name == "late" else 600.0) == Response("yes", cut_off=False), name
            assert len(model.calls) == 2 or name == "late", name


def test_retry_after_is_obeyed_as_a_number_and_as_a_date(pauses: list[float]) -> None:
    for wait in ("1000", formatdate(time.time() + 1000, usegmt=True)):
        with Model(in_turn(refuses(429, "slow down", Retry_After=wait), says("yes"))) as model:
            assert ask(model, 2000.0).text == "yes"
    assert [pause for pause in pauses if 900 < pause < 1200] == pauses and len(pauses) == 2


def test_what_does_not_pass_is_told(pauses: list[float]) -> None:
    for reply, said, hopeless in (
        (refuses(429, "slow down", Retry_After="60"), r"429 slow down; given up after 1 tries", False),
        (Reply(b"{"), r"the answer is no JSON: '\{' \(3 such answers\)", False),
        (refuses(400, "context length exceeded"), "400 context length exceeded", False),
        (refuses(401, "no key"), "The endpoint wants a key: set a key in", True),
        (refuses(404, "no such model"), "and the model's name", True),
    ):
        with Model(in_turn(reply)) as model, pytest.raises(EndpointError, match=said) as caught:
            ask(model)
        assert caught.value.hopeless is hopeless, said
    # Where no model listens, that is told at once.
    for address, said in ((model.url, r"no answer \(ConnectError.*Does the model's server run"), ("http://[::1/v1", "invalid address")):
        model.url = address
        asked = len(pauses)
        with pytest.raises(EndpointError, match=said):
            ask(model)
        assert len(pauses) == asked


def test_half_of_a_surrogate_pair_is_no_character() -> None:
    with Model(lambda _: Reply(says("a").body.replace(b'"a"', b'"a\\ud800"'))) as model:
        assert ask(model).text == "a?"


def test_the_table_counts_chains_that_got_so_far() -> None:
    judged = Attempt("", evaluation="1")
    solved = Attempt("", evaluation="1", solved=True)
    chains = {("a", 0): [solved], ("a", 1): [judged, solved], ("b", 0): [judged], ("b", 1): [judged, judged, Attempt("not yet")]}
    attempts = {Place(*name, number): each for name, chain in chains.items() for number, each in enumerate(chain)}
    assert [(row.solved, row.chains) for row in rows(attempts, 3)] == [(1, 4), (2, 3), (2, 2)]
    assert [row.share for row in rows({}, 1)] == [0.0]
    went_on = {Place("a", 0, 0): solved, Place("a", 0, 1): judged}  # for a faster answer, with a profile
    assert [(row.solved, row.chains) for row in rows(went_on, 3)] == [(1, 1)] * 3


def test_another_file_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    for content in ("# notes\n", "{}\n", '{"version": 1}\n{"problem": 3}\n', "notes"):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(JournalError, match="not a file of repairs"):
            Journal(path, {})
        assert path.read_text(encoding="utf-8") == content


def test_problems_are_read_once_each(folder: Path) -> None:
    problems = folder / "problems"
    tasks = read_tasks([problems / "less.py", problems], known={"double"})
    assert [(task.name, task.known) for task in tasks] == [("less", False), ("double", True), ("increment", False)]
    assert tasks[0].submission(NOTHING).reference == tasks[0].source and tasks[1].submission(NOTHING).problem == "double"
    assert read_tasks([problems / "less.py"], template="Do: {problem}!")[0].prompt.startswith("Do: import torch")
    for paths, said in (
        ([problems / "notes.py"], "a problem needs"),
        ([folder / "none"], "can't be read"),
        ([PROJECT / "tests" / "client"], "holds no problem"),
    ):
        with pytest.raises(TaskError, match=said):
            read_tasks(paths)
    (folder / "less.py").write_text(PROBLEM, encoding="utf-8")
    with pytest.raises(TaskError, match="have the same problem name"):
        read_tasks([problems, folder / "less.py"])
    with pytest.raises(TaskError, match=r"no \{problem\}"):
        read_tasks([problems], template="Do it!")
    assert "{feedback}" in FOLLOW_UP
