"""`assay.kernelbench` in place of KernelBench's function."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from assay import kernelbench
from assay.kernelbench import JudgeError, KernelExecResult, eval_kernel_against_ref
from tests import warm
from tests.command_line import PROBLEM, submission

THEIRS = {
    "original_model_src": inspect.Parameter.empty,
    "custom_model_src": inspect.Parameter.empty,
    "seed_num": 42,
    "num_correct_trials": 1,
    "num_perf_trials": 10,
    "measure_performance": False,
    "timing_method": "cuda_event",
    "verbose": False,
    "build_dir": None,
    "device": None,  # without a GPU
    "backend": "cuda",
    "precision": "float32",
    "check_for_excessive_speedup": True,
    "excessive_speedup_threshold": 10,
}
"""Names and defaults in `src/kernelbench/eval.py` at commit 423217d, in their order. There the precision is `torch.float32`."""
REFERENCE = PROBLEM.format(operation="* 2")


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(kernelbench, "_JUDGES", {})
    with warm.servers():
        yield
        kernelbench._close()


def test_arguments_are_kernelbenchs() -> None:
    given = inspect.signature(eval_kernel_against_ref).parameters
    assert {name: each.default for name, each in given.items()} == THEIRS and list(given) == list(THEIRS)


@pytest.mark.parametrize(
    ("device", "meant"),
    [(None, "auto"), (1, "cuda:1"), ("cpu", "cpu"), (torch.device("cuda:0"), "cuda:0"), (torch.device("cpu"), "cpu")],
)
def test_a_device_may_be_a_number_a_name_or_pytorchs(device: Any, meant: str) -> None:
    assert kernelbench._device(device) == meant


@pytest.mark.slow(20)
@pytest.mark.usefixtures("_here")
def test_submissions_are_judged_as_by_kernelbench() -> None:
    def judged(answer: str, **options: Any) -> KernelExecResult:
        device = torch.device("cpu")
        return eval_kernel_against_ref(REFERENCE, submission(answer), device=device, precision=torch.float32, **options)

    right = judged("x + x", measure_performance=True, num_correct_trials=5, num_perf_trials=100, excessive_speedup_threshold=1e-9)
    assert (right.compiled, right.correctness, right.metadata["excessive_speedup"]) == (True, True, True)
    assert right.runtime == right.runtime_stats["mean"] > 0 < right.ref_runtime
    assert right.metadata["category"] == "no_custom_kernel" and "feedback" not in right.metadata
    wrong = judged("x * 3")
    assert (wrong.compiled, wrong.correctness, wrong.runtime) == (True, False, -1.0)
    assert wrong.metadata["correctness_issue_name"] == "wrong_values" and "1.5 times" in wrong.metadata["feedback"]
    raising = judged("y")
    assert (raising.compiled, raising.correctness, raising.metadata["runtime_error_name"]) == (True, False, "NameError")
    assert judged("x +").metadata["compilation_error_name"] == "syntax_error"
    assert len(kernelbench._JUDGES) == 2, "one set of processes with times, one without"
    with pytest.raises(JudgeError, match=r"problem_error: .*no class Model"):
        eval_kernel_against_ref("x = 1", submission("x"), device="cpu")
