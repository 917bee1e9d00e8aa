"""Problems with several workloads: one build and one worker, rounds and a time in each, one score."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from evaluator.problem.problem import ProblemCase
from evaluator.results.category import Category, Status
from evaluator.results.evidence import WorkloadEvidence
from evaluator.results.result import Result
from evaluator.results.score import UNSOLVED_SPEEDUP, speedup_in
from tests.judge.conftest import Judge
from tests.judge.sources import extension, forward

pytestmark = pytest.mark.slow(20)

PROBLEM = """
import torch
from torch import nn

rows = 40
ASSAY = {
    "workloads": [{"rows": 10}, {"rows": 40}, {"rows": 20}],
    "failed_workload": "FAILED",
}

class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 3

def get_inputs():
    return [torch.randn(rows, 30)]

def get_init_inputs():
    return []
"""
RIGHT = "return torch.tanh(x) * 3"
SUBMISSION = extension("for (int64_t i = 0; i < count; i++) y[i] = 3 * std::tanh(x[i]);")
SUBMISSION += "def tanh3(x):\n    return run(torch.empty_like(x), x)\n\n" + forward("return CALL")


@pytest.fixture
def in_all(judge: Judge) -> Judge:
    def in_all(code: str, failed: str = "fails", **more: Any) -> Result:
        return judge(code, problem_text=PROBLEM.replace("FAILED", failed), **more)

    return in_all


def workloads(result: Result) -> tuple[WorkloadEvidence, ...]:
    assert result.evidence.timing is not None
    return result.evidence.timing.workloads


def test_each_workload_has_rounds_and_a_time(in_all: Judge) -> None:
    result = in_all(forward(RIGHT))
    assert (result.category, result.case) == (Category.NO_CUSTOM_KERNEL, "all")
    assert [each.case for each in workloads(result)] == ["40", "10", "20"]
    assert [each.input_bytes for each in workloads(result)] == [4800, 1200, 2400]
    assert all(each.right and each.rounds > 1 and each.timing and each.timing.calls > 3 for each in workloads(result))
    speedups = [speedup_in(each) for each in workloads(result)]
    assert result.speedup == pytest.approx(math.prod(speedups) ** (1 / 3))
    assert result.speedup is not None and result.speedup_interval is not None
    assert result.evidence.stages_s["workloads"] > 0
    low, high = result.speedup_interval
    assert low <= result.speedup <= high


def test_one_workload_can_be_judged_by_itself(in_all: Judge) -> None:
    result = in_all(forward("assert x.size(0) == 10\n" + RIGHT), case="10")
    assert (result.category, result.case) == (Category.NO_CUSTOM_KERNEL, "10")
    assert workloads(result) == ()


@pytest.mark.parametrize(
    ("body", "category", "words"),
    [
        ("return torch.tanh(x) * (3.1 if x.size(0) == 20 else 3)", Category.WRONG_VALUES, "in the workload 20: "),
        (f"assert x.size(0) != 20, 'not mine'\n{RIGHT}", Category.PYTHON_EXCEPTION, "not mine"),
    ],
    ids=["wrong", "raises"],
)
def test_a_failing_workload_fails_the_submission(in_all: Judge, body: str, category: Category, words: str) -> None:
    result = in_all(forward(body))
    assert (result.category, result.evidence.workload) == (category, "20")
    assert result.message.startswith("in the workload 20: ") and words in result.message


@pytest.mark.parametrize("fault", ["return torch.tanh(x) * 4", "os.abort()"])
def test_a_wrong_workload_may_be_unsolved(in_all: Judge, fault: str) -> None:
    result = in_all(forward(f"if x.size(0) == 10:\n    {fault}\n{RIGHT}"), "unsolved")
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    whole, failed, other = workloads(result)
    assert (whole.right, failed.right, other.right) == (True, False, True)
    assert failed.message
    assert result.speedup == pytest.approx((speedup_in(whole) * UNSOLVED_SPEEDUP * speedup_in(other)) ** (1 / 3))


def test_full_can_t_be_unsolved(in_all: Judge) -> None:
    assert in_all(forward("return x * 3"), "unsolved").status is Status.INCORRECT


def test_a_model_may_use_its_modules_memory(judge: Judge) -> None:
    """Which the model of another workload has replaced, if both are kept."""
    problem = PROBLEM.replace("    def forward", "    def __init__(self, rows):\n        super().__init__()\n\n    def forward").replace(
        "[]\n", "[rows]\n"
    )
    code = """
import torch

SPACE = {}

class ModelNew(torch.nn.Module):
    def __init__(self, rows):
        super().__init__()
        SPACE["y"] = torch.empty(rows, 30)

    def forward(self, x):
        return SPACE["y"].copy_(torch.tanh(x)) * 3
"""
    result = judge(code, problem_text=problem.replace("FAILED", "fails"))
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert len(workloads(result)) == 3


def test_an_answer_that_is_wrong_only_when_timed_fails_the_submission(in_all: Judge) -> None:
    body = """
    kept = self.__dict__.setdefault("kept", [])
    kept.append(x.size(0))
    return torch.tanh(x) * (3 if x.size(0) != 20 or kept.count(20) < 12 else 5)
    """
    result = in_all(forward("\n".join(line[4:] for line in body.strip("\n").splitlines())), "unsolved")
    assert result.category is Category.WRONG_VALUES, result.message
    assert result.message.startswith("in the workload 20: ")


def test_a_submission_is_built_and_loaded_once_and_its_kernels_are_left_out_in_each_workload(
    in_all: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, constructed = ProblemCase.model, list[str]()

    def noted(case: ProblemCase, seed: int, device: torch.device | str = "cpu", **more: Any) -> torch.nn.Module:
        if str(device) != "meta":
            constructed.append(case.name)
        return model(case, seed, device, **more)

    monkeypatch.setattr(ProblemCase, "model", noted)
    tells = "import functools\ntell = functools.cache(lambda what: print(what, flush=True))\ntell('loaded')\n"
    result = in_all(tells + SUBMISSION.replace("CALL", "tell(x.size(0)) or tanh3(x)"))
    assert result.category is Category.OK, result.message
    assert len(result.evidence.builds) == 1
    assert sorted(result.evidence.stdout.split()) == ["10", "20", "40", "loaded"], "one load has served all sizes"
    assert all(each.ablation is not None and not each.ablation.still_right for each in workloads(result)[1:])
    assert [constructed.count(name) for name in ("10", "20")] == [1, 1], "the ablation uses the references of the rounds"


def test_own_kernels_have_to_be_used_in_each_workload(in_all: Judge) -> None:
    result = in_all(SUBMISSION.replace("CALL", "torch.tanh(x) * 3 if x.size(0) == 20 else tanh3(x)"))
    assert result.category is Category.NO_CUSTOM_KERNEL
    assert result.message.startswith("in the workload 20: ")


def test_a_kernel_without_which_a_call_fails_is_used(in_all: Judge) -> None:
    call = "tanh3(x) if x.size(0) != 20 or (tanh3(x) != 0).any() or 1 / 0 else None"
    result = in_all(SUBMISSION.replace("CALL", call))
    assert result.category is Category.OK, result.message


def problem_of_a_file(folder: Path) -> Path:
    """A problem with two workloads of equal sizes; in the second, a file says where each row comes from."""
    text = PROBLEM.replace('[{"rows": 10}, {"rows": 40}, {"rows": 20}]', '"tanh3.jsonl"').replace("FAILED", "fails")
    text = text.replace("(self, x)", "(self, x, places)").replace("torch.tanh(x)", "torch.tanh(x)[places]")
    path = folder / "tanh3.py"
    path.write_text(text.replace("30)]", "30), torch.randperm(rows)]"))
    save_file({"places": torch.arange(20) // 2}, folder / "pairs.safetensors")
    stored = {"type": "safetensors", "path": "pairs.safetensors", "tensor_key": "places"}
    rows = [("a1", 40, {"type": "random"}), ("b2", 20, {"type": "random"}), ("c3", 20, stored)]
    told = [{"workload": {"uuid": name, "axes": {"rows": size}, "inputs": {"places": given}}} for name, size, given in rows]
    (folder / "tanh3.jsonl").write_text("\n".join(map(json.dumps, told)))
    return path


def test_a_workload_may_have_inputs_from_a_file(judge: Judge, tmp_path: Path) -> None:
    code = SUBMISSION.replace("CALL", "tanh3(x[places])").replace("forward(self, x)", "forward(self, x, places)")
    result = judge(code, "tanh3", problem_path=problem_of_a_file(tmp_path))
    assert result.category is Category.OK, result.message
    assert [each.case for each in workloads(result)] == ["40", "20-b2", "20-c3"]


@pytest.mark.parametrize(
    "body",
    [
        "return torch.tanh(x)[places] * (3 if len(places.unique()) == len(places) else 3.1)",
        "if len(places.unique()) < len(places): self.kept = places.clone()\nreturn torch.tanh(x)[getattr(self, 'kept', places)] * 3",
    ],
)
def test_a_submission_that_is_wrong_for_inputs_from_a_file_fails_there(judge: Judge, tmp_path: Path, body: str) -> None:
    result = judge(forward(body, "x, places"), "tanh3", problem_path=problem_of_a_file(tmp_path))
    assert result.category is Category.WRONG_VALUES, result.message
    assert result.message.startswith("in the workload 20-c3: ")


def test_a_plan_for_inputs_from_a_file_is_wrong_where_the_problem_varies_them(judge: Judge, tmp_path: Path) -> None:
    path = problem_of_a_file(tmp_path)
    path.write_text(path.read_text() + "\ndef vary_inputs(x, places):\n    return [x, places[torch.randperm(len(places))]]\n")
    body = """
    kept = self.__dict__.setdefault("kept", [])
    if len(places.unique()) < len(places):
        kept.append(places.clone())
        places = kept[min(len(kept) - 1, 12)]
    return torch.tanh(x)[places] * 3
    """
    lines = (line[4:] for line in body.strip("\n").splitlines())
    result = judge(forward("\n".join(lines), "x, places"), "tanh3", problem_path=path)
    assert result.category in (Category.CACHED_OUTPUT, Category.WRONG_VALUES), result.message
    assert result.message.startswith("in the workload 20-c3: ")
