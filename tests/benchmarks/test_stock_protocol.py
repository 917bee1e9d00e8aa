"""The yardstick: it judges right and wrong submissions correctly, and takes no longer than KernelBench's evaluator."""

import sys
import time
from pathlib import Path

import pytest

from benchmarks.stock_protocol import CALLS, ROUNDS, StockRun, Subject, run_group, run_stock
from tests.command_line import submission

pytestmark = pytest.mark.nightly

PROBLEM = """\
import torch
from torch import nn

rows = 4


class Model(nn.Module):
    def forward(self, x):
        return x * 2


def get_inputs():
    with open({drawn!r}, "a") as file:
        print(rows, file=file)
    return [torch.rand(rows, 16)]


def get_init_inputs():
    return []
"""
CPP = """\
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = "#include <torch/extension.h>\\ntorch::Tensor doubled(torch::Tensor x) {{ return x * 2; }}"
extension = load_inline(name="doubled", cpp_sources=CPP, functions=["doubled"])


class ModelNew(nn.Module):
    def forward(self, x):
        return {answer}
"""


def judged(folder: Path, code: str, constants: dict[str, int] | None = None, timeout_s: float = 300.0, calls: int = CALLS) -> StockRun:
    problem = folder / "double.py"
    problem.write_text(PROBLEM.format(drawn=str(folder / "drawn")))
    return run_stock(Subject("it", code, problem, constants or {}), "cpu", folder / "extensions", calls, timeout_s)


@pytest.mark.build
def test_a_right_extension_is_correct_and_a_wrong_one_is_not(tmp_path: Path) -> None:
    right = judged(tmp_path, CPP.format(answer="extension.doubled(x)"))
    assert right.verdict == "correct", right.message
    assert right.runtime_ms
    assert right.baseline_ms
    assert list(tmp_path.glob("extensions/doubled/*.so"))
    wrong = judged(tmp_path, CPP.format(answer="extension.doubled(x) + 0.01"))
    assert (wrong.verdict, wrong.runtime_ms, wrong.baseline_ms) == ("incorrect", None, None)
    # What was built in that folder is not built again.
    assert wrong.stages_s["load"] < right.stages_s["load"] / 2


@pytest.mark.build
def test_what_the_compiler_refuses_is_compile_failed(tmp_path: Path) -> None:
    bare = "no_implicit_headers=True, functions"
    code = CPP.format(answer="x").replace("functions", bare).replace("#include <torch/extension.h>", "#error refused")
    found = judged(tmp_path, code)
    assert found.verdict == "compile_failed"
    assert "Error building extension 'doubled'" in found.message


def test_inputs_are_drawn_once_a_round_and_once_for_the_timing(tmp_path: Path) -> None:
    found = judged(tmp_path, submission("x + x"), {"rows": 9})
    assert found.verdict == "correct", found.message
    assert (tmp_path / "drawn").read_text().split() == ["9"] * (ROUNDS + 1)


def test_wrong_values_do_not_end_the_rounds_and_a_wrong_shape_does(tmp_path: Path) -> None:
    assert judged(tmp_path, submission("x + 1")).verdict == "incorrect"
    assert len((tmp_path / "drawn").read_text().split()) == ROUNDS
    (tmp_path / "drawn").unlink()
    found = judged(tmp_path, submission("x[:, 1:]"))
    assert (found.verdict, found.message) == ("incorrect", "shape (4, 15) instead of (4, 16)")
    assert len((tmp_path / "drawn").read_text().split()) == 1


def test_each_model_is_called_as_often_as_asked(tmp_path: Path) -> None:
    called = tmp_path / "called"
    assert judged(tmp_path, submission(before=f"print(1, file=open({str(called)!r}, 'a'))"), calls=7).verdict == "correct"
    assert len(called.read_text().split()) == ROUNDS + 3 + 7


def test_each_way_of_failing_has_its_word(tmp_path: Path) -> None:
    assert judged(tmp_path, "import no_such_module").verdict == "compile_failed"
    raising = judged(tmp_path, submission(before="raise KeyError('lost')"))
    assert (raising.verdict, raising.message) == ("run_failed", "KeyError: 'lost'")
    crashed = judged(tmp_path, submission(before="print('last words', flush=True); import os; os._exit(0)"))
    assert (crashed.verdict, crashed.message.strip()) == ("crashed", "last words")


def test_who_does_not_end_is_killed_with_what_it_started(tmp_path: Path) -> None:
    assert judged(tmp_path, submission(before="time.sleep(300)"), timeout_s=1.0).verdict == "timed_out"
    child = tmp_path / "child"
    code = "import pathlib, subprocess, sys, time; child = subprocess.Popen(['sleep', '300'])\n"
    code += "pathlib.Path(sys.argv[1]).write_text(str(child.pid)); time.sleep(300)"
    with (tmp_path / "log").open("wb") as log:
        assert not run_group([sys.executable, "-c", code, str(child)], {}, log.fileno(), 5.0)
    assert _gone(int(child.read_text()))


def _gone(pid: int) -> bool:
    """Whether a process has ended, be it not yet reaped."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False
