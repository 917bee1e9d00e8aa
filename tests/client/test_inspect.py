"""The task for `inspect_ai`, by its own `eval`, against a real service that judges on the CPU, and a model whose answers are scripted."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import assay_inspect
import pytest
from inspect_ai import Task
from inspect_ai import eval as run_eval
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessage, ModelAPI, ModelOutput, get_model, modelapi
from inspect_ai.scorer import SampleScore, Score

from tests.client.model import NOTHING, RIGHT, WRONG
from tests.command_line import PROBLEM
from tests.web.service.process import Process

pytestmark = pytest.mark.slow(30)


@pytest.fixture
def problems(process: Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_URL", process.address)
    monkeypatch.setenv("ASSAY_TOKEN", process.token)
    folder = tmp_path / "problems"
    folder.mkdir()
    for name, operation in (("double", "* 2"), ("increment", "+ 1"), ("less", "- 7")):
        (folder / f"{name}.py").write_text(PROBLEM.format(operation=operation), encoding="utf-8")
    return folder


@modelapi("scripted")
class Scripted(ModelAPI):
    """A model whose answers a function makes from the question."""

    def __init__(self, model_name: str, answer: Callable[[str], str], **_: object) -> None:
        super().__init__(model_name)
        self._answer = answer

    async def generate(self, input: list[ChatMessage], *_: object, **__: object) -> ModelOutput:  # noqa: A002 - Inspect's word
        return ModelOutput.from_content(self.model_name, self._answer(input[-1].text))

    async def count_text_tokens(self, text: str) -> int:
        """Inspect's own way downloads a vocabulary."""
        return len(text.split())


def evaluated(task: Task, folder: Path, answer: Callable[[str], str]) -> EvalLog:
    model = get_model("scripted/scripted", memoize=False, answer=answer)
    (log,) = run_eval(task, model=model, log_dir=str(folder / "logs"), display="none")
    return log


def test_answers_are_scored_by_the_service(problems: Path) -> None:
    def answer(asked: str) -> str:
        return RIGHT if "x * 2" in asked else WRONG if "x - 7" in asked else NOTHING

    log = evaluated(assay_inspect.kernels(str(problems)), problems.parent, answer)
    assert log.status == "success" and log.results is not None and log.samples is not None
    told = {each.name: {name: metric.value for name, metric in each.metrics.items()} for each in log.results.scores}
    assert list(told) == ["correct", "fast_1", "fast_2", "speedup", "reward"]
    assert told["correct"]["accuracy"] == pytest.approx(1 / 3) and told["speedup"]["geometric_mean"] > 0
    scores = {str(sample.id): (sample.scores or {})["verdict"] for sample in log.samples}
    found = {name: (score.metadata or {})["category"] for name, score in scores.items()}
    assert found == {"double": "ok", "increment": "no_code_block", "less": "wrong_values"}
    assert "code block" in str(scores["increment"].explanation)
    values = {name: score.value["reward"] for name, score in scores.items() if isinstance(score.value, dict)}
    assert values["double"] > 0.5 and (values["increment"], values["less"]) == pytest.approx((0.0, 0.2))


def test_without_a_verdict_a_sample_has_an_error_and_no_score(problems: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = assay_inspect.kernels(str(problems / "double.py"))
    monkeypatch.setenv("ASSAY_TOKEN", "assay_wrong")
    log = evaluated(made, problems.parent, lambda _: WRONG)
    assert log.status == "error" and log.error is not None and "a valid token of this service" in log.error.message


def test_the_mean_speedup_is_that_of_right_answers() -> None:
    scores = [SampleScore(score=Score(value=value)) for value in (0.0, 0.5, 8.0)]
    compute: Any = assay_inspect.geometric_mean()
    assert compute(scores) == pytest.approx(2.0)
    assert math.isnan(compute(scores[:1]))
