"""Submissions in the form of model responses: what replaces the operators, and what is wrong with those that are."""

import ast
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch.nn import functional
from torch.utils import cpp_extension

from benchmarks.plain_answers.generate import executed
from benchmarks.real_answers.__main__ import PLAN, CannotWriteError, main, text_of, write
from benchmarks.real_answers.defects import DEFECTS
from benchmarks.real_answers.generate import NothingToReplaceError
from evaluator.problem.catalogue import discover
from evaluator.submission.discover import find

pytestmark = pytest.mark.nightly

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\nclass Model(nn.Module):\n"
TAIL = "\ndef get_inputs():\n    return [torch.rand({shape})]\n\ndef get_init_inputs():\n    return [{arguments}]\n"


def problem(init: str, forward: str, shape: str, parameters: str = "", arguments: str = "") -> str:
    signature = ", ".join(["self", *filter(None, [parameters])])
    constructor = f"    def __init__({signature}):\n        super(Model, self).__init__()\n        {init or 'pass'}\n\n"
    body = f"{constructor}    def forward(self, x):\n        {forward}\n"
    return HEAD + body + TAIL.format(shape=shape, arguments=arguments)


TANH = problem("", "return torch.tanh(x)", "3, 5")
MATMUL = problem("", "return torch.matmul(x.T, x)", "7, 5")
CUMSUM = problem("self.dim = dim", "return torch.cumsum(x.flip(self.dim), dim=self.dim)", "4, 4", "dim", "1")
REDUCTION = problem(
    "self.dim = dim", "return torch.sum(x, dim=self.dim, keepdim=True) + torch.max(x, dim=1)[0].mean()", "4, 3, 5", "dim", "1"
)
POOL = problem("self.pool = nn.AvgPool1d(kernel_size=size, stride=2, padding=1)", "return self.pool(x)", "2, 3, 9", "size", "3")
GROUPS = problem(
    "self.norm, self.act = nn.GroupNorm(groups, 6), nn.Hardtanh(max_val=0.5)",
    "return F.softmax(self.act(self.norm(x)), dim=1)",
    "2, 6, 4, 4",
    "groups: int",
    "3",
)
RELU = problem("self.act = nn.ReLU(inplace=True)", "return self.act(F.layer_norm(x, (5,)))", "3, 5")


def group_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, n: int, groups: int, *rest: Any) -> torch.Tensor:
    assert n == x[0].numel() // groups
    assert rest[:2] == (x.shape[1] // groups, x[0, 0].numel())
    return functional.group_norm(x, groups, weight, bias, rest[2])


def reduced(operator: Any) -> Any:
    return lambda x, outer, n, inner: operator(x.view(outer, n, inner)).flatten()


def averaged(x: torch.Tensor, size: list[int], stride: list[int], padding: list[int], _: list[int]) -> torch.Tensor:
    return functional.avg_pool3d(x[:, None], size, stride, padding)[:, 0]


KERNELS: dict[str, Any] = {
    "tanh": torch.tanh,
    "matmul": torch.matmul,
    "cumsum": lambda x: x.cumsum(-1),
    "sum": reduced(lambda x: x.sum(1)),
    "max": reduced(lambda x: x.amax(1)),
    "avgpool1d": averaged,
    "group_norm": group_norm,
    "hardtanh": functional.hardtanh,
    "softmax": lambda x: x.softmax(-1),
    "relu": torch.relu,
}
"""What the CUDA kernels compute, by their operator."""


def loaded(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, dict[str, Any]]:
    """The submission as a module, its kernels computed by PyTorch, and what it gives load_inline."""
    given: dict[str, Any] = {}

    def load_inline(**arguments: Any) -> SimpleNamespace:
        given.update(arguments)
        return SimpleNamespace(**{name: KERNELS[name.rsplit("_", 2)[0]] for name in arguments["functions"]})

    monkeypatch.setattr(cpp_extension, "load_inline", load_inline)
    return executed(text, "submission"), given


@pytest.mark.parametrize(
    ("source", "level", "own"),
    [
        (TANH, 1, {"tanh"}),
        (MATMUL, 1, {"matmul"}),
        (CUMSUM, 1, {"cumsum"}),
        (REDUCTION, 1, {"sum", "max"}),
        (POOL, 1, {"avgpool1d"}),
        (GROUPS, 2, {"group_norm", "hardtanh", "softmax"}),
        (GROUPS, 3, {"hardtanh"}),
        (RELU, 3, {"relu"}),
    ],
)
def test_a_right_submission_calls_its_kernels_as_the_problem_calls_the_operators(
    source: str, level: int, own: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Any = executed(source, "problem")
    text = text_of(source, level, 9, "right")
    answer, given = loaded(text, monkeypatch)
    assert set(given["functions"]) == {f"{name}_{level}_9" for name in own}
    for name in given["functions"]:
        assert f"torch::Tensor {name}(torch::Tensor x" in given["cpp_sources"]
        assert f"{name}_kernel<<<" in given["cuda_sources"]
    placeholders = {"NAME", "VALUE", "START", "NEXT", "THREADS", "PASSED", "HOST_PARAMETERS", "KERNEL_PARAMETERS"}
    assert not placeholders & set(text.replace("(", " ").split())
    assert not {"get_inputs", "Model"} & set(vars(answer))
    arguments, inputs = asked.get_init_inputs(), asked.get_inputs()
    model, own_model = asked.Model(*arguments), vars(answer)["ModelNew"](*arguments)
    own_model.load_state_dict(model.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(own_model(*inputs), model(*inputs))


@pytest.mark.parametrize(
    ("kind", "source", "level", "words"),
    [
        ("slow", MATMUL, 1, "sum += x[row * k + i] * w[i * n + column]"),
        ("tail left out", MATMUL, 1, "t < k / TILE;"),
        ("capped grid", TANH, 1, "std::min<int64_t>(blocks, 65535), threads>>>"),
        ("wrong epsilon", GROUPS, 2, "1e-3f"),
        ("wrong divisor", POOL, 1, "result / count"),
        ("wrong constant", RELU, 3, "0.01f * v"),
        ("last left out", REDUCTION, 1, "j < n - 1;"),
        ("launch check without its header", TANH, 1, "C10_CUDA_KERNEL_LAUNCH_CHECK();"),
        ("stream without its header", TANH, 1, "threads, 0, at::cuda::getCurrentCUDAStream()>>>"),
        ("syntax error", TANH, 1, "return y\n"),
        ("missing argument", TANH, 1, ">>>(y.data_ptr<float>(), n)"),
        ("two types of a minimum", TANH, 1, "std::min(blocks, 1 << 30)"),
        ("const pointer", TANH, 1, "x.const_data_ptr<float>()"),
        ("another declaration", TANH, 1, "torch::Tensor tanh_1_9(const torch::Tensor& x);"),
    ],
)
def test_a_defect_is_one_change_of_a_right_submission(kind: str, source: str, level: int, words: str) -> None:
    text = text_of(source, level, 9, kind)
    ast.parse(text)
    assert words in text
    assert words not in text_of(source, level, 9, "right")


def test_a_missing_declaration_and_a_wrong_dimension_are_told_by_what_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loaded(text_of(TANH, 1, 9, "no declaration"), monkeypatch)[1]["cpp_sources"].strip() == ""
    assert "threads = " not in text_of(TANH, 1, 9, "undeclared name")
    answer, _ = loaded(text_of(CUMSUM, 1, 9, "wrong dimension"), monkeypatch)
    x = torch.rand(4, 4)
    torch.testing.assert_close(vars(answer)["ModelNew"](1)(x), x.flip(1).cumsum(0))


def test_a_problem_without_an_operator_or_a_place_for_the_defect_is_refused() -> None:
    with pytest.raises(NothingToReplaceError, match="no operator"):
        text_of(problem("", "return x + 1", "3"), 1, 9, "right")
    with pytest.raises(NothingToReplaceError, match="wrong epsilon"):
        text_of(TANH, 1, 9, "wrong epsilon")


def test_what_is_written_names_its_problem_and_its_fair_verdicts(tmp_path: Path) -> None:
    root, target = tmp_path / "problems", tmp_path / "answers"
    for level, name, source in ((1, "1_Matmul", MATMUL), (1, "22_Tanh", TANH), (2, "30_Groups", GROUPS), (2, "31_Other", GROUPS)):
        (root / f"level{level}").mkdir(parents=True, exist_ok=True)
        (root / f"level{level}" / f"{name}.py").write_text(source)
    assert [kind for _, kind in write(root, target)] == ["slow", "capped grid", "wrong epsilon"]
    found = {item.problem: Path(item.name).name for item in find([target], True, None, None, discover([root]))}
    assert found == {
        "1_Matmul": "level_1_problem_1_sample_0_kernel.py",
        "22_Tanh": "level_1_problem_22_sample_0_kernel.py",
        "30_Groups": "level_2_problem_30_sample_0_kernel.py",
    }
    entries = tomllib.loads((target / "manifest.toml").read_text())["submission"]
    assert {entry["file"]: entry["expect"] for entry in entries} == {
        file: list(DEFECTS[kind].verdicts) for file, kind in zip(found.values(), ("slow", "capped grid", "wrong epsilon"), strict=True)
    }
    (root / "level1" / "22_Tanh.py").write_text(problem("", "return x + 1", "3"))
    with pytest.raises(CannotWriteError, match="22_Tanh"):
        list(write(root, target))


def test_the_command_says_how_many_problems_of_the_plan_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "KB" / "level1").mkdir(parents=True)
    (tmp_path / "KB" / "level1" / "22_Tanh.py").write_text(TANH)
    monkeypatch.setattr(sys, "argv", ["benchmarks.real_answers", str(tmp_path / "KB"), str(tmp_path / "ANSWERS")])
    assert main() == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ["   1  capped grid", f"   1  submissions in {tmp_path / 'ANSWERS'}"]
    assert "67 of the 68 problems are not below" in printed.err
    assert (tmp_path / "ANSWERS" / "manifest.toml").exists()


def test_the_plan_is_half_right_and_a_third_does_not_build() -> None:
    planned = [(level, number, kind) for kind, levels in PLAN.items() for level, numbers in levels.items() for number in numbers]
    assert len({place[:2] for place in planned}) == len(planned) >= 60
    statuses = [DEFECTS[kind].verdicts[0].split("/")[0] for _, _, kind in planned]
    assert statuses.count("correct") / len(planned) == pytest.approx(1 / 2, abs=0.05)
    assert statuses.count("build_failed") / len(planned) == pytest.approx(1 / 3, abs=0.05)
    assert {level for level, _, _ in planned} == {1, 2, 3}
