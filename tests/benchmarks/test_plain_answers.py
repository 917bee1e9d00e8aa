"""Answers by plain formulas: right on small problems of each kind, complete in themselves, with no operator left to the library."""

import copy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

from benchmarks.plain_answers.generate import AnswerError, answer, executed
from benchmarks.plain_answers.operators.swaps import PLAIN_SWAPS
from evaluator.worker.nested import tensors
from tests.command_line import PROJECT, Bench

pytestmark = pytest.mark.nightly

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
TAIL = "\ndef get_init_inputs():\n    return []\n"

CONVOLUTIONS = """
class Model(nn.Module):
    def __init__(self):
        super(Model, self).__init__()
        self.conv = nn.Conv2d(6, 8, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2)
        self.norm = nn.BatchNorm2d(8)
        self.grow = nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1, groups=4)
        self.depthwise = nn.Conv2d(4, 8, 3, padding="same", groups=4)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True)

    def forward(self, x):
        x = self.pool(F.relu(self.norm(self.conv(x))))
        x = F.avg_pool2d(self.depthwise(self.grow(x)), 3, stride=2, padding=1, ceil_mode=True)
        return F.adaptive_avg_pool2d(F.group_norm(F.hardswish(x), 2), (3, 2)), torch.max(x, dim=1)[0]

def get_inputs():
    return [torch.rand(3, 6, 17, 14)]
"""
SEQUENCES = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 12, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(24, 16, 1)
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0)

    def forward(self, x, h, c):
        x, (h, c) = self.lstm(x, (h, c))
        x, last = self.gru(x)
        causal = F.scaled_dot_product_attention(x, x, x, is_causal=True)
        return self.layer(causal), h, c, last

def get_inputs():
    return [torch.rand(5, 7, 8), torch.rand(4, 5, 12), torch.rand(4, 5, 12)]
"""
SUMS = """
class Model(nn.Module):
    def forward(self, x, y, classes):
        scores = torch.einsum("abc,bdc,ad->bac", x, x, y) @ x.transpose(1, 2)
        rows = F.normalize(F.gelu(scores, approximate="tanh")) + torch.softmax(scores, dim=1).cumsum(1) ** 3
        losses = F.cross_entropy(y, classes) + F.smooth_l1_loss(y, y.flip(0))
        losses = losses + F.kl_div(F.log_softmax(y, 1), F.softmax(y.flip(0), 1), reduction="sum")
        return rows.mean(dim=(0, 2)), rows.norm(dim=1), losses, torch.logsumexp(rows, (1, 2)), F.layer_norm(y, (4,)), x.argmax(2)

def get_inputs():
    return [torch.rand(4, 4, 37), torch.rand(4, 4), torch.randint(0, 4, (4,))]
"""
BOUND = 4e-5
"""Tolerance of a float32 answer."""
MOVES = {"add", "div", "dropout", "flip", "mul", "transpose", "zeros"}
"""Operators of these problems that move values, or round once."""
LIBRARY = {name for home in (torch, torch.nn.functional, torch._C._nn) for name in dir(home)}


class Listener(TorchFunctionMode):
    """Notes the operators that a reference calls."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None) -> Any:
        self.names.add(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


def models(source: str) -> tuple[Any, Any, list[torch.Tensor]]:
    """The reference, the answer with equal parameters, and inputs."""
    problem: Any = executed(source, "problem")
    made = []
    for kind in (problem.Model, vars(executed(answer(source), "answer"))["ModelNew"]):
        torch.manual_seed(1)
        made.append(kind().train("BatchNorm" in source))
    return made[0], made[1], problem.get_inputs()


def largest_error(found: Any, right: Any) -> float:
    """The largest |value - right| / (|right| + RMS of the right output)."""
    worst = 0.0
    for value, exact in zip(tensors(found), tensors(right), strict=True):
        assert value.shape == exact.shape
        wide = exact.double()
        worst = max(worst, float(((value.double() - wide).abs() / (wide.abs() + wide.square().mean().sqrt())).max()))
    return worst


@pytest.mark.parametrize("source", [CONVOLUTIONS, SEQUENCES, SUMS], ids=["convolutions", "sequences", "sums"])
def test_an_answer_is_right_and_leaves_no_operator_to_the_library(source: str) -> None:
    reference, candidate, inputs = models(HEAD + source + TAIL)
    with torch.no_grad():
        exact = copy.deepcopy(reference).double()(*(each.double() if each.is_floating_point() else each for each in inputs))
        with Listener() as heard:
            reference(*inputs)
        assert largest_error(candidate(*inputs), exact) <= BOUND
    called = heard.names & LIBRARY
    assert called & set(PLAIN_SWAPS)
    assert called - set(PLAIN_SWAPS) <= MOVES


def test_an_answer_has_another_arithmetic_than_the_reference() -> None:
    reference, candidate, inputs = models(HEAD + SUMS + TAIL)
    with torch.no_grad():
        assert largest_error(candidate(*inputs), reference(*inputs)) > 0.0


def test_an_answer_needs_nothing_of_this_project(tmp_path: Path) -> None:
    file = tmp_path / "answer.py"
    file.write_text(answer(HEAD + CONVOLUTIONS + TAIL) + "\nModelNew()\nassert 'get_inputs' not in globals()\n", encoding="utf-8")
    found = subprocess.run([sys.executable, "-I", file], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert found.returncode == 0, found.stderr


def test_half_precision_is_computed_in_float32_and_returned_in_its_own_type() -> None:
    source = HEAD + CONVOLUTIONS + TAIL
    torch.manual_seed(1)
    model = vars(executed(answer(source), "answer"))["ModelNew"]().eval()
    inputs = torch.rand(3, 6, 17, 14).bfloat16()
    wide = model(inputs.float())
    narrow = model.bfloat16()(inputs)
    assert [each.dtype for each in narrow] == [torch.bfloat16] * 2
    assert largest_error(narrow, wide) < 0.1


def test_every_global_name_of_the_formulas_is_marked() -> None:
    own = set(vars(executed(answer(HEAD + "class Model(nn.Module):\n    pass\n"), "answer")))
    modules = {"torch", "nn", "F", "functools", "itertools", "math"}
    types = {"Any", "Callable", "Iterator", "Sequence", "TorchFunctionMode"}
    assert not [name for name in own - modules - types - {"ModelNew"} if not name.lower().startswith(("plain", "__"))]


def test_a_problem_with_such_a_name_of_its_own_is_refused() -> None:
    with pytest.raises(AnswerError, match="plain_size"):
        answer(HEAD + "plain_size = 3\nclass Model(nn.Module):\n    pass\n")
    with pytest.raises(AnswerError, match="no class Model"):
        answer(HEAD)


def test_all_problems_of_a_folder_are_answered_and_judged(tmp_path: Path) -> None:
    folder = tmp_path / "KernelBench" / "level1"
    folder.mkdir(parents=True)
    (folder / "7_Sums.py").write_text(HEAD + SUMS + TAIL, encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks.plain_answers", str(tmp_path / "KernelBench"), str(tmp_path / "answers")]
    subprocess.run(command, check=True, capture_output=True, timeout=120, cwd=PROJECT)
    written = tmp_path / "answers" / "level1" / "level_1_problem_7_sample_0_kernel.py"
    assert written.read_text(encoding="utf-8").count("class ModelNew(") == 1
    done = Bench(tmp_path).run(written.parent, "--reference", tmp_path / "KernelBench", "--no-timing", "--json", "-")
    assert [record["category"] for record in done.records] == ["no_custom_kernel"], done.stderr
