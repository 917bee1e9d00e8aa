"""Whether a problem fits a device is known by its sizes alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.judge.context import JudgeContext
from evaluator.judge.device.memory_need import MemoryNeed, memory_need
from evaluator.judge.evaluate import evaluate
from evaluator.problem.load import load
from evaluator.results.category import Category
from tests.judge.conftest import make_job
from tests.judge.sources import HEAD

LARGE = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 8)

    def forward(self, x):
        return self.linear(x)

def get_inputs():
    return [torch.rand(1 << 36, 4)]

def get_init_inputs():
    return []
"""
GIB = 2**30


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.py"
    path.write_text(LARGE)
    return path


def test_sizes_are_found_without_memory(large: Path) -> None:
    need = memory_need(load(large).instance("full"))
    assert need == MemoryNeed(inputs_bytes=16 << 36, outputs_bytes=32 << 36, parameters_bytes=160)
    assert need.least_bytes == 2 * (16 << 36) + 3 * (32 << 36) + 320


def test_what_does_not_run_without_memory_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "branching.py"
    path.write_text(LARGE.replace("return self.linear(x)", "return x if x.sum() > 0 else -x"))
    assert memory_need(load(path).instance("full")) is None


def test_a_problem_that_does_not_fit_the_machine_is_not_evaluated_at_once(context: JudgeContext, large: Path) -> None:
    job = make_job(HEAD + "    def forward(self, x):\n        return x\n", "large", problem_path=large)
    result = evaluate(context, job, lambda _: None)
    assert (result.category, context.device.kind) == (Category.NO_DEVICE, "cpu") and "inputs of 1.02e+03 GiB" in result.message


def test_a_problem_that_does_not_fit_is_not_evaluated_at_once(context: JudgeContext, large: Path) -> None:
    """No device has this description. The judge compares sizes before it uses one."""
    device = replace(context.device, spec="cuda:0", memory_bytes=80 * GIB)
    job = make_job(HEAD + "    def forward(self, x):\n        return x\n", "large", problem_path=large)
    result = evaluate(replace(context, device=device), job, lambda _: None)
    assert result.category is Category.NO_DEVICE, result.message
    assert "inputs of 1.02e+03 GiB, outputs of 2.05e+03 GiB" in result.message and "the device has 80 GiB" in result.message
