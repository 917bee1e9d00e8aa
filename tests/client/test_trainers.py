"""The documented commands of verifiers, Inspect and Harbor, and a training with TRL, each in its own environment, with the real judge.

Only the models are scripted: they give an answer in C++ that is right.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.client.model import WRONG, Model, says
from tests.clones import copy_project, install, python_from
from tests.command_line import PROJECT
from tests.documents.commands import shown
from tests.web.service.process import Process

pytestmark = pytest.mark.slow(160)

RIGHT = """\
```python
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

SOURCE = '''
#include <cmath>
#include <cstdint>
#include <pybind11/pybind11.h>

void softmax(intptr_t in, intptr_t out, int64_t rows, int64_t columns) {
    for (int64_t row = 0; row < rows; row++) {
        const float* x = (const float*)in + row * columns;
        float* y = (float*)out + row * columns;
        float top = x[0];
        for (int64_t i = 1; i < columns; i++) top = x[i] > top ? x[i] : top;
        double sum = 0;
        for (int64_t i = 0; i < columns; i++) sum += y[i] = std::exp(x[i] - top);
        for (int64_t i = 0; i < columns; i++) y[i] /= sum;
    }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("softmax", softmax); }
'''
extension = load_inline(name="softmax", cpp_sources=SOURCE, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        extension.softmax(x.data_ptr(), out.data_ptr(), *x.shape)
        return out
```
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Judges on the CPU. It has the problem softmax."""
    root = tmp_path_factory.mktemp("service")
    (root / "problems").mkdir()
    shutil.copy(PROJECT / "reference" / "softmax.py", root / "problems")
    with Process(root) as running:
        yield running


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_project(tmp_path_factory.mktemp("project"))


@pytest.fixture
def model() -> Iterator[Model]:
    with Model(lambda _: says(RIGHT)) as running:
        yield running


OFFLINE = {"HARBOR_TELEMETRY": "0", "HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "true"}
"""Keeps the tools from calling other services, and from waiting for them."""


class User:
    """Has the problem softmax in an own folder, the programs of one environment, the model and the service."""

    def __init__(self, folder: Path, programs: Path, service: Process, model: Model) -> None:
        self.folder, self.model = folder, model
        (folder / "reference").mkdir()
        shutil.copy(PROJECT / "reference" / "softmax.py", folder / "reference")
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self.variables = (
            inherited
            | OFFLINE
            | {
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                "HOME": str(folder),
                "ASSAY_URL": service.address,
                "ASSAY_TOKEN": service.token,
                "OPENAI_BASE_URL": model.url,
                "OPENAI_API_KEY": "none",
            }
        )

    def documented(self, beginning: str, *more: str, **words: str) -> None:
        """Run the one command of docs/service.md that begins so, with these words for a reader's own, and more options."""
        (command,) = [each.text for each in shown(PROJECT / "docs" / "service.md") if each.text.startswith(beginning)]
        for placeholder, word in words.items():
            command = command.replace(placeholder, word)
        self.run(" ".join((command.replace("http://127.0.0.1:8000/v1", self.model.url), *more)))

    def run(self, command: str) -> None:
        """Run a command, and say yes to what it asks."""
        words = {"cwd": self.folder, "env": self.variables, "input": "y\n", "capture_output": True, "text": True}
        ended = subprocess.run(["bash", "-c", command], **words)  # type: ignore[call-overload]
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_vf_eval_has_answers_judged(tmp_path: Path, project: Path, service: Process, model: Model) -> None:
    programs = install(tmp_path / "environment", "-c", "constraints.txt", "./client[verifiers]", cwd=project)
    user = User(tmp_path, programs, service, model)
    user.documented("vf-eval", NAME="scripted")
    (call,) = model.calls
    assert "torch.softmax(x, dim=1)" in str(call["messages"]) and call["model"] == "scripted"
    (path,) = tmp_path.rglob("traces.jsonl")
    (trace,) = json.loads(path.read_text(encoding="utf-8"))["traces"]
    assert trace["info"]["assay"]["category"] == "ok" and trace["metrics"]["correct"] == 1.0
    assert trace["rewards"]["kernel_reward"]["score"] >= 0.5


def test_inspect_eval_has_answers_judged(tmp_path: Path, project: Path, service: Process, model: Model) -> None:
    programs = install(tmp_path / "environment", "./client[inspect]", "inspect_ai==0.3.285", "openai==3.57.0", cwd=project)
    user = User(tmp_path, programs, service, model)
    user.documented("inspect eval", "-M responses_api=false --log-format json", NAME="scripted")
    assert len(model.calls) == 1
    (path,) = (tmp_path / "logs").glob("*.json")
    log = json.loads(path.read_text(encoding="utf-8"))
    (sample,) = log["samples"]
    assert (log["status"], sample["id"], sample["scores"]["verdict"]["metadata"]["category"]) == ("success", "softmax", "ok")
    assert sample["scores"]["verdict"]["value"]["reward"] >= 0.5


def test_harbor_run_has_answers_judged(tmp_path: Path, project: Path, service: Process, model: Model) -> None:
    programs = install(tmp_path / "environment", "harbor==0.26.0", "./client", cwd=project, python=python_from(12))
    user = User(tmp_path, programs, service, model)
    shutil.copy(Path(__file__).with_name("harbor_place.py"), tmp_path)
    user.variables["PYTHONPATH"] = str(tmp_path)
    user.documented("python -m assay_client.harbor")

    def trial(agent: str, job: str) -> Path:
        user.documented("harbor run", "-e harbor_place:Place", f"--job-name {job}", AGENT=agent, MODEL="scripted")
        (folder,) = [path.parent for path in (tmp_path / "jobs" / job).glob("*/result.json")]
        return folder

    answered = trial("harbor_place:Agent", "answered")
    (call,) = model.calls
    assert "ModelNew" in str(call["messages"]) and "torch.softmax(x, dim=1)" in str(call["messages"])
    told = json.loads((answered / "result.json").read_text(encoding="utf-8"))
    assert told["exception_info"] is None and told["verifier_result"]["rewards"]["reward"] >= 0.5
    assert json.loads((answered / "verifier" / "verdict.json").read_text(encoding="utf-8"))["category"] == "ok"
    seen = (answered / "agent" / "seen.txt").read_text(encoding="utf-8")
    assert "app" in seen.split() and "tests" not in seen.split() and "ASSAY" not in seen, "neither the judge nor the token"

    silent = json.loads((trial("nop", "silent") / "result.json").read_text(encoding="utf-8"))
    assert silent["exception_info"] is None and silent["verifier_result"]["rewards"] == {"reward": 0.0}
    user.variables["ASSAY_TOKEN"] = "assay_wrong"
    refused = json.loads((trial("harbor_place:Agent", "refused") / "result.json").read_text(encoding="utf-8"))
    assert refused["exception_info"] and not refused["verifier_result"], "without a verdict it is an error, and no reward"


def test_trl_trains_on_the_judges_rewards(tmp_path: Path, project: Path, service: Process, model: Model) -> None:
    programs = install(tmp_path / "environment", "-c", "constraints.txt", "./client", "trl==1.16.0", cwd=project)
    user = User(tmp_path, programs, service, model)
    for path in (Path(__file__).with_name("grpo.py"), PROJECT / "client" / "examples" / "trl_reward.py"):
        shutil.copy(path, tmp_path)
    (tmp_path / "answers.json").write_text(json.dumps([RIGHT, WRONG]), encoding="utf-8")
    user.run("python grpo.py")
    tables = [pyarrow.parquet.read_table(path).to_pylist() for path in (tmp_path / "trained" / "completions").glob("*.parquet")]
    assert [len(rows) for rows in tables] == [16, 16]
    rewards: dict[str, set[float]] = {}
    for row in (row for rows in tables for row in rows):
        rewards.setdefault(row["completion"], set()).add(row["reward_func"])
    ((right,), (wrong,)) = (rewards.pop(answer) for answer in (RIGHT, WRONG))
    assert right >= 0.5 and wrong == pytest.approx(0.2)
    assert all(each == {0.0} for each in rewards.values()), "what is no answer"
    log = json.loads((tmp_path / "log.json").read_text(encoding="utf-8"))
    steps = [step for step in log if "reward" in step]
    assert len(steps) == 2 and all(step["grad_norm"] > 0 for step in steps)
    told = sum(row["reward_func"] for rows in tables for row in rows) / 16
    assert sum(step["reward"] for step in steps) == pytest.approx(told, abs=1e-3)


def test_only_what_pip_cannot_find_is_skipped(tmp_path: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match=r"No matching distribution found for trl==1\.16\.0"):
        install(tmp_path / "environment", "--no-index", "trl==1.16.0", cwd=tmp_path)
    with pytest.raises(AssertionError, match="there-is-none"):
        install(tmp_path / "environment", "./there-is-none", cwd=tmp_path)
