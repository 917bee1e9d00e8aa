"""The environment for `verifiers`, by its own command and its own scoring, against a real service that judges on the CPU."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import verifiers.v1 as vf
from assay_client.loop_client import loop_client
from assay_verifiers import KernelState
from verifiers.v1.errors import TaskError
from verifiers.v1.utils.loaders import default_harness_id, taskset_class, taskset_config_type

from tests.client.model import BORROWED, WRONG, Model, says
from tests.command_line import PROBLEM, PROJECT
from tests.web.service.process import Process

pytestmark = pytest.mark.slow(20)

RUN_S = 240


@pytest.fixture
def tasks(process: Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, vf.Task]:
    """Tasks of a problem that the service knows and of one that it doesn't, as `verifiers` loads them."""
    monkeypatch.setenv("ASSAY_URL", process.address)
    monkeypatch.setenv("ASSAY_TOKEN", process.token)
    for name, operation in (("double", "* 2"), ("less", "- 7")):
        (tmp_path / f"{name}.py").write_text(PROBLEM.format(operation=operation), encoding="utf-8")
    config = taskset_config_type("assay-verifiers").model_validate({"id": "assay-verifiers", "problems": [str(tmp_path)]})
    return {str(task.data.name): task for task in taskset_class("assay-verifiers")(config)}


def rollout(task: vf.Task, answer: str) -> vf.Trace:
    """A trace as a rollout leaves it: the prompt, and what the model said."""
    asked = vf.MessageNode(message=vf.UserMessage(content=task.data.prompt_text))
    said = vf.MessageNode(parent=0, message=vf.AssistantMessage(content=answer), sampled=True)
    seed = vf.TraceTask(type=type(task).__name__, data=task.data)
    return vf.Trace(task=seed, agent=vf.AgentInfo(config=vf.AgentConfig()), nodes=[asked, said], state=KernelState())


def scored(*rollouts: tuple[vf.Task, str]) -> list[vf.Trace]:
    async def score() -> list[vf.Trace]:
        traces = [rollout(*each) for each in rollouts]
        await asyncio.gather(*(task.score(trace) for (task, _), trace in zip(rollouts, traces, strict=True)))
        await loop_client().close()
        return traces

    return asyncio.run(score())


def test_each_problem_is_a_task(tasks: dict[str, vf.Task]) -> None:
    assert list(tasks) == ["double", "less"] and [task.data.known for task in tasks.values()] == [True, False]
    assert "return x - 7" in tasks["less"].data.prompt_text and tasks["less"].key != tasks["double"].key
    assert default_harness_id("assay-verifiers") == "assay-verifiers", "its own: one answer, without tools or a container"


def test_the_reward_is_the_services(tasks: dict[str, vf.Task]) -> None:
    wrong, borrowed, unknown = scored((tasks["double"], WRONG), (tasks["double"], BORROWED), (tasks["less"], WRONG))
    assert [trace.reward for trace in (wrong, borrowed, unknown)] == pytest.approx([0.2, 0.0, 0.2])
    assert wrong.metrics == {"correct": 0.0, "fast_1": 0.0, "speedup": 0.0} == borrowed.metrics
    assert [trace.info["assay"]["category"] for trace in (wrong, borrowed)] == ["wrong_values", "no_custom_kernel"]
    assert vf.WireTrace.model_validate_json(wrong.model_dump_json()).info["assay"]["feedback"]


def test_without_a_verdict_there_is_no_reward(tasks: dict[str, vf.Task], process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TOKEN", "assay_wrong")
    with pytest.raises(TaskError, match="401 unauthorized"):
        scored((tasks["double"], WRONG))


def test_a_run_of_verifiers_asks_the_model_and_the_service(process: Process, tmp_path: Path) -> None:
    variables = {"ASSAY_URL": process.address, "ASSAY_TOKEN": process.token, "MODEL_KEY": "none", "HOME": str(tmp_path)}
    variables["PYTHONPATH"] = f"{PROJECT}{os.pathsep}{PROJECT / 'client'}"
    command = [sys.executable, "-c", "from verifiers.v1.cli.eval.main import main; main()", "assay-verifiers", "-m", "scripted"]
    command += ["--env.agent.runtime.type", "subprocess"]
    command += ["--env.taskset.problems", str(process.root / "problems" / "double.py")]
    with Model(lambda _: says(WRONG)) as model:
        command += ["--client.base-url", model.url, "--client.api-key-var", "MODEL_KEY"]
        ended = subprocess.run(command, cwd=tmp_path, env=os.environ | variables, capture_output=True, text=True, timeout=RUN_S)
        (call,) = model.calls
    assert ended.returncode == 0, ended.stderr
    assert [message["role"] for message in call["messages"]] == ["user"] and "return x * 2" in str(call["messages"][0]["content"])
    (path,) = tmp_path.rglob("traces.jsonl")
    (episode,) = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    (trace,) = map(vf.WireTrace.model_validate, episode["traces"])
    assert trace.ok and trace.reward == pytest.approx(0.2) and trace.info["assay"]["category"] == "wrong_values"
