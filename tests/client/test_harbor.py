"""Tasks for Harbor: what is written, and the verifier's script against a real service that judges on the CPU."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from assay_client.harbor.__main__ import main

from tests.command_line import PROBLEM, submission
from tests.web.service.process import Process

VERIFY_S = 240


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two tasks: of a problem that the service knows, and of one that it does not."""
    (tmp_path / "problems").mkdir()
    for name, operation in (("double", "* 2"), ("23_less", "- 7")):
        (tmp_path / "problems" / f"{name}.py").write_text(PROBLEM.format(operation=operation), encoding="utf-8")
    assert main([str(tmp_path / "problems"), str(tmp_path / "tasks")]) == 0
    return tmp_path


def verify(process: Process, folder: Path, task: str, answer: str | None, token: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the verifier as Harbor does, but in this place."""
    place = folder / "answer.py"
    if answer is not None:
        place.write_text(answer, encoding="utf-8")
    paths = {"TESTS_DIR": folder / "tasks" / task / "tests", "LOGS": folder / "logs", "ANSWER": place, "PYTHON": sys.executable}
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        name: str(path) for name, path in paths.items()
    }
    variables |= {"ASSAY_URL": process.address, "ASSAY_TOKEN": token or process.token}
    script = folder / "tasks" / task / "tests" / "test.sh"
    return subprocess.run(["bash", script], cwd=folder, env=variables, capture_output=True, text=True, timeout=VERIFY_S)


def reward(folder: Path) -> float:
    return float((folder / "logs" / "reward.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize("task", ["double", "23_less"])
def test_the_verifier_writes_the_services_reward(process: Process, folder: Path, task: str) -> None:
    told = verify(process, folder, task, submission("x + 3"))
    assert told.returncode == 0, told.stderr
    assert reward(folder) == pytest.approx(0.2) and told.stdout.startswith("incorrect/wrong_values\n")
    verdict = json.loads((folder / "logs" / "verdict.json").read_text(encoding="utf-8"))
    assert verdict["category"] == "wrong_values" and verdict["author"] == "ada"


def test_an_agent_that_leaves_nothing_gets_nothing(process: Process, folder: Path) -> None:
    told = verify(process, folder, "double", None)
    assert (told.returncode, reward(folder)) == (0, 0.0) and "There is no" in told.stdout


def test_without_a_verdict_there_is_no_reward(process: Process, folder: Path) -> None:
    (folder / "logs").mkdir()
    (folder / "logs" / "reward.txt").write_text("1\n", encoding="utf-8")
    told = verify(process, folder, "double", submission("x + 3"), token="assay_wrong")
    assert told.returncode == 1 and "401 unauthorized" in told.stderr
    assert not (folder / "logs" / "reward.txt").exists(), "what the agent may have written is gone"


def test_the_judge_is_outside_of_the_agents_container(folder: Path) -> None:
    task = folder / "tasks" / "double"
    config = tomllib.loads((task / "task.toml").read_text(encoding="utf-8"))
    assert config["verifier"]["environment_mode"] == "separate" and config["artifacts"] == ["/app/answer.py"]
    assert config["verifier"]["env"]["ASSAY_TOKEN"] == "${ASSAY_TOKEN}" and "env" not in config["environment"]
    assert sorted(path.name for path in (task / "environment").iterdir()) == ["Dockerfile", "problem.py"]
    assert (task / "environment" / "problem.py").read_text(encoding="utf-8") == PROBLEM.format(operation="* 2")


def test_what_can_not_be_written_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(folder / "problems"), str(folder / "tasks")]) == 2
    assert main([str(folder / "none.py"), str(folder / "tasks")]) == 2
    said = capsys.readouterr().err
    assert "File exists" in said and "none.py: can't be read" in said


def test_harbor_reads_the_task(folder: Path) -> None:
    models = pytest.importorskip("harbor.models.task.task", reason="Harbor needs Python 3.12 and half a gigabyte; it is installed by hand")
    for name in ("double", "23_less"):
        task = models.Task(folder / "tasks" / name)
        assert task.name == f"assay/{name}" and "ModelNew" in task.instruction
        assert models.resolve_verifier_environment_definition(task.config, task.paths).bundled_tests
