"""The environments for `verifiers` and `inspect_ai`, by their own scoring, with scripted answers and made-up verdicts; tasks for Harbor."""

import asyncio
import json
import math
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from assay_client.harbor.__main__ import main
from assay_client.loop_client import loop_client

from tests.client.model import BORROWED, NOTHING, RIGHT, WRONG
from tests.clones import copy_project, make_environment
from tests.command_line import PROBLEM, submission

if TYPE_CHECKING:
    import verifiers.v1 as vf

# Both packages take seconds to import, which the tests of other files need not wait for.
pytestmark = [pytest.mark.slow(60), pytest.mark.usefixtures("environment")]


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    """The service's problems, and one that it doesn't know."""
    folder = tmp_path / "problems"
    folder.mkdir()
    for name, operation in (("double", "* 2"), ("increment", "+ 1"), ("23_less", "- 7")):
        (folder / f"{name}.py").write_text(PROBLEM.format(operation=operation), encoding="utf-8")
    return folder


@pytest.fixture
def tasks(problems: Path) -> "dict[str, vf.Task]":
    """As `verifiers` loads them."""
    from verifiers.v1.utils.loaders import taskset_class, taskset_config_type

    config = taskset_config_type("assay-verifiers").model_validate({"id": "assay-verifiers", "problems": [str(problems)]})
    return {str(task.data.name): task for task in taskset_class("assay-verifiers")(config)}


def rollout(task: "vf.Task", answer: str) -> "vf.Trace":
    """A trace as a rollout leaves it: the prompt, and what the model said."""
    import verifiers.v1 as vf
    from assay_verifiers import KernelState

    asked = vf.MessageNode(message=vf.UserMessage(content=task.data.prompt_text))
    said = vf.MessageNode(parent=0, message=vf.AssistantMessage(content=answer), sampled=True)
    seed = vf.TraceTask(type=type(task).__name__, data=task.data)
    return vf.Trace(task=seed, agent=vf.AgentInfo(config=vf.AgentConfig()), nodes=[asked, said], state=KernelState())


def scored(*rollouts: "tuple[vf.Task, str]") -> "list[vf.Trace]":
    async def score() -> "list[vf.Trace]":
        traces = [rollout(*each) for each in rollouts]
        await asyncio.gather(*(task.score(trace) for (task, _), trace in zip(rollouts, traces, strict=True)))
        await loop_client().close()
        return traces

    return asyncio.run(score())


def test_verifiers_has_a_task_for_each_problem_and_the_services_reward(
    tasks: "dict[str, vf.Task]", monkeypatch: pytest.MonkeyPatch
) -> None:
    import verifiers.v1 as vf
    from verifiers.v1.errors import TaskError
    from verifiers.v1.utils.loaders import default_harness_id

    assert {name: task.data.known for name, task in tasks.items()} == {"double": True, "increment": True, "23_less": False}
    assert "return x - 7" in tasks["23_less"].data.prompt_text and tasks["23_less"].key != tasks["double"].key
    assert default_harness_id("assay-verifiers") == "assay-verifiers", "its own: one answer, without tools or a container"
    wrong, borrowed, unknown = scored((tasks["double"], WRONG), (tasks["double"], BORROWED), (tasks["23_less"], WRONG))
    assert [trace.reward for trace in (wrong, borrowed, unknown)] == pytest.approx([0.2, 0.0, 0.2])
    assert wrong.metrics == {"correct": 0.0, "fast_1": 0.0, "speedup": 0.0} == borrowed.metrics
    assert [trace.info["assay"]["category"] for trace in (wrong, borrowed)] == ["wrong_values", "no_custom_kernel"]
    assert vf.WireTrace.model_validate_json(wrong.model_dump_json()).info["assay"]["feedback"]
    monkeypatch.setenv("ASSAY_TOKEN", "assay_wrong")
    with pytest.raises(TaskError, match="401 unauthorized"):
        scored((tasks["double"], WRONG))


def evaluated(task: Any, folder: Path, answer: Callable[[str], str]) -> Any:
    """The log of Inspect's own `eval` with a model whose answers a function makes from the question."""
    from inspect_ai import eval as run_eval
    from inspect_ai.model import ChatMessage, ModelAPI, ModelOutput, get_model, modelapi

    @modelapi("scripted")
    class Scripted(ModelAPI):
        async def generate(self, input: list[ChatMessage], *_: object, **__: object) -> ModelOutput:  # noqa: A002 - Inspect's word
            return ModelOutput.from_content(self.model_name, answer(input[-1].text))

        async def count_text_tokens(self, text: str) -> int:
            """Inspect's own way downloads a vocabulary."""
            return len(text.split())

    (log,) = run_eval(task, model=get_model("scripted/scripted", memoize=False), log_dir=str(folder / "logs"), display="none")
    return log


def test_inspect_scores_answers_by_the_service(problems: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import assay_inspect
    from inspect_ai.scorer import SampleScore, Score

    def answer(asked: str) -> str:
        return RIGHT if "x * 2" in asked else WRONG if "x - 7" in asked else NOTHING

    log = evaluated(assay_inspect.kernels(str(problems)), problems.parent, answer)
    assert log.status == "success"
    told = {each.name: {name: metric.value for name, metric in each.metrics.items()} for each in log.results.scores}
    assert list(told) == ["correct", "fast_1", "fast_2", "speedup", "reward"]
    assert told["correct"]["accuracy"] == pytest.approx(1 / 3) and told["speedup"]["geometric_mean"] > 0
    scores = {str(sample.id): sample.scores["verdict"] for sample in log.samples}
    found = {name: score.metadata["category"] for name, score in scores.items()}
    assert found == {"double": "ok", "increment": "no_code_block", "23_less": "wrong_values"}
    assert "code block" in scores["increment"].explanation
    values = {name: score.value["reward"] for name, score in scores.items()}
    assert values["double"] > 0.5 and (values["increment"], values["23_less"]) == pytest.approx((0.0, 0.2))
    made = assay_inspect.kernels(str(problems / "double.py"))
    monkeypatch.setenv("ASSAY_TOKEN", "assay_wrong")
    log = evaluated(made, problems.parent, lambda _: WRONG)
    assert log.status == "error" and "a valid token of this service" in log.error.message, "no verdict is no score"
    compute: Any = assay_inspect.geometric_mean()
    right = [SampleScore(score=Score(value=value)) for value in (0.0, 0.5, 8.0)]
    assert compute(right) == pytest.approx(2.0), "the mean speedup is that of right answers"
    assert math.isnan(compute(right[:1]))


SOLVER = """\
from inspect_ai.model import ModelOutput
from inspect_ai.solver import solver

@solver
def scripted():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("scripted", {answer!r})
        return state
    return solve
"""


def test_inspects_own_command_finds_the_task_of_an_editable_install(problems: Path, tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project")
    make_environment(tmp_path / "environment")
    python = tmp_path / "environment" / "bin" / "python"
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words: object) -> None:
        ended = subprocess.run([str(word) for word in words], cwd=tmp_path, env=variables, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout + ended.stderr

    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-build-isolation", "--no-index")
    run(*pip, "--editable", project)
    inspect = (python, "-m", "inspect_ai", "eval", "assay_inspect/kernels", "--log-format", "json", "--log-dir", tmp_path / "logs")
    (tmp_path / "solver.py").write_text(SOLVER.format(answer=WRONG), encoding="utf-8")
    run(*inspect, "-T", f"problems={problems / 'double.py'}", "--solver", "solver.py", "--model", "none/none", "--display", "none")
    (path,) = (tmp_path / "logs").glob("*.json")
    log = json.loads(path.read_text(encoding="utf-8"))
    assert (log["status"], log["eval"]["task"]) == ("success", "assay_inspect/kernels")
    (sample,) = log["samples"]
    assert sample["scores"]["verdict"]["metadata"]["category"] == "wrong_values"


@pytest.fixture
def folder(problems: Path) -> Path:
    """With a task for each problem."""
    assert main([str(problems), str(problems.parent / "tasks")]) == 0
    return problems.parent


def verify(folder: Path, task: str, answer: str | None) -> subprocess.CompletedProcess[str]:
    """Run the verifier as Harbor does, but in this place."""
    place = folder / "answer.py"
    if answer is not None:
        place.write_text(answer, encoding="utf-8")
    tests = folder / "tasks" / task / "tests"
    paths = {"TESTS_DIR": tests, "LOGS": folder / "logs", "ANSWER": place, "PYTHON": sys.executable}
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables |= {name: str(path) for name, path in paths.items()}
    return subprocess.run(["bash", tests / "test.sh"], cwd=folder, env=variables, capture_output=True, text=True)


def test_harbors_verifier_writes_the_services_reward(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reward = folder / "logs" / "reward.txt"
    told = verify(folder, "double", None)
    assert (told.returncode, float(reward.read_text())) == (0, 0.0) and "There is no" in told.stdout, "an agent that leaves nothing"
    for task in ("double", "23_less"):
        told = verify(folder, task, submission("x + 3"))
        assert told.returncode == 0, told.stderr
        assert float(reward.read_text()) == pytest.approx(0.2) and told.stdout.startswith("incorrect/wrong_values\n")
        verdict = json.loads((folder / "logs" / "verdict.json").read_text(encoding="utf-8"))
        assert verdict["category"] == "wrong_values" and verdict["author"] == "ada"
    reward.write_text("1\n", encoding="utf-8")
    monkeypatch.setenv("ASSAY_TOKEN", "assay_wrong")
    told = verify(folder, "double", submission("x + 3"))
    assert told.returncode == 1 and "401 unauthorized" in told.stderr
    assert not reward.exists(), "what the agent may have written is gone"


def test_harbors_judge_is_outside_of_the_agents_container(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = folder / "tasks" / "double"
    config = tomllib.loads((task / "task.toml").read_text(encoding="utf-8"))
    assert config["verifier"]["environment_mode"] == "separate" and config["artifacts"] == ["/app/answer.py"]
    assert config["verifier"]["env"]["ASSAY_TOKEN"] == "${ASSAY_TOKEN}" and "env" not in config["environment"]
    assert sorted(path.name for path in (task / "environment").iterdir()) == ["Dockerfile", "problem.py"]
    assert (task / "environment" / "problem.py").read_text(encoding="utf-8") == PROBLEM.format(operation="* 2")
    assert main([str(folder / "problems"), str(folder / "tasks")]) == 2
    assert main([str(folder / "none.py"), str(folder / "tasks")]) == 2
    said = capsys.readouterr().err
    assert "File exists" in said and "none.py: can't be read" in said
