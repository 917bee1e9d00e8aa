"""Evaluations on the CPU that don't get through: for the submission, for the reference or for the machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.judge.context import JudgeContext
from evaluator.results.category import Category, Status
from evaluator.sandbox import Limits, Zygote
from tests.judge.conftest import Judge
from tests.judge.sources import SOFTMAX, forward

FAILED = [
    (forward("class Mine(BaseException): ...\nraise Mine('\\udcff')"), Category.PYTHON_EXCEPTION, "line 8: Mine: ?"),
    (
        "class ModelNew(Model): ...\n",
        Category.PYTHON_EXCEPTION,
        "line 1: NameError: name 'Model' is not defined; the reference's file defines this name",
    ),
    ("import os\nos._exit(3)\nclass ModelNew: ...\n", Category.EARLY_EXIT, "loading the file ended the process with exit code 3"),
    (forward("return [x] * 10_000"), Category.PYTHON_EXCEPTION, "StructureError: more than 4096 values"),
    (forward("return 'x' * 10_000_000"), Category.PYTHON_EXCEPTION, "the limit is 8388608"),
    (
        "from torch.utils.cpp_extension import load_inline\n"
        "load_inline(name='a b', cpp_sources='', functions=['f'])\nclass ModelNew: ...\n",
        Category.LOAD_INLINE_MISUSE,
        "identifier",
    ),
]


@pytest.mark.parametrize(("code", "category", "words"), FAILED, ids=[f"{case[1]}-{number}" for number, case in enumerate(FAILED)])
def test_submissions_that_do_not_get_through(judge: Judge, code: str, category: Category, words: str) -> None:
    result = judge(code)
    assert (result.category, words in result.message) == (category, True), result.message
    assert result.category.status in (Status.RUN_FAILED, Status.BUILD_FAILED)
    assert result.evidence.timing is None


def test_an_exception_keeps_its_traceback_and_what_was_printed(judge: Judge) -> None:
    result = judge(
        forward("print('so far')\nprint('so bad', file=sys.stderr)\nreturn self.help(x)\n")
        + "    def help(self, x):\n        return x[99]\n"
    )
    exception = result.evidence.exception
    assert exception is not None
    assert (exception.type, exception.line, exception.stage) == ("IndexError", 13, "rounds")
    assert "line 9, in forward" in exception.traceback and "line 13, in help" in exception.traceback
    assert "evaluator" not in exception.traceback
    assert (result.evidence.stdout, result.evidence.stderr) == ("so far\n", "so bad\n")


@pytest.mark.slow
def test_memory_beyond_the_limit_is_out_of_memory(judge: Judge, context: JudgeContext) -> None:
    small = replace(context, limits=Limits(memory_bytes=768 << 20))
    result = judge(forward("kept = [torch.ones(1 << 24) for _ in range(64)]\nreturn x"), context=small)
    assert (result.category, "exceeded the memory limit of 0.75 GiB" in result.message) == (Category.OUT_OF_MEMORY, True), result.message
    assert judge(SOFTMAX, context=small).category is Category.NO_CUSTOM_KERNEL
    assert judge(forward("return torch.empty(1 << 60)")).category is Category.OUT_OF_MEMORY, "it asks for too much at once"


PROBLEM = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        BODY

def get_inputs():
    return [torch.randn(500)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("body", "answer", "words"),
    [
        ("return x[x > 0]", "return x[x > 0]", "change with the inputs' values"),
        ("raise IndexError('out of the table')", "return x", ".py:6: the reference's forward() raised IndexError: out of the table"),
    ],
)
def test_a_reference_that_fails_is_not_the_submissions_fault(judge: Judge, body: str, answer: str, words: str) -> None:
    result = judge(forward(answer), problem_text=PROBLEM.replace("BODY", body))
    assert (result.status, result.category) == (Status.NOT_EVALUATED, Category.PROBLEM_ERROR)
    assert words in result.message


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ("torch.randn(500)", ":8: get_inputs() returned a Tensor; return a list of arguments"),
        ("[torch.randn(500), {'act': torch.nn.ReLU()}]", "get_inputs(): argument 1['act'] is of type ReLU, which is no data; pass tensors"),
        ("[torch.eye(50).to_sparse()]", "argument 0 is a sparse tensor; pass dense tensors"),
        ("[torch.zeros(5).to(torch.float16).to_mkldnn()]", "a mkldnn tensor"),
        pytest.param("[list(range(100_001))]", "more than 100000 values", marks=pytest.mark.slow),
    ],
)
def test_arguments_that_no_submission_can_receive_are_the_problems_fault(judge: Judge, inputs: str, words: str) -> None:
    text = PROBLEM.replace("BODY", "return x").replace("[torch.randn(500)]", inputs)
    result = judge(forward("return x"), problem_text=text)
    assert (result.category, result.runtime_ms) == (Category.PROBLEM_ERROR, None)
    assert words in result.message


def test_memory_that_a_reference_lacks_is_the_machines_fault(judge: Judge) -> None:
    result = judge(forward("return x"), problem_text=PROBLEM.replace("BODY", "raise MemoryError"))
    assert result.category is Category.INFRASTRUCTURE_ERROR


RECORDS = """
import dataclasses, enum
from typing import NamedTuple

import numpy

class Kind(enum.Enum):
    SUM = ("a", 1)

class Pair(NamedTuple):
    left: torch.Tensor
    right: int

@dataclasses.dataclass(frozen=True)
class Setting:
    width: int
    shift: torch.Tensor
    kind: Kind = Kind.SUM

    @property
    def doubled(self):
        return 2 * self.width
"""
GIVEN = """
def get_inputs():
    return [Pair(torch.randn(500), 3), numpy.arange(4.0), slice(1, None)]

def get_init_inputs():
    return [Setting(5, torch.ones(500)), torch.device("cpu"), torch.Size([2]), {"dtype": torch.float32, "kind": Kind.SUM}]
"""
ANSWER = """
class NAME(torch.nn.Module):
    def __init__(self, setting, device, size, more):
        super().__init__()
        self.setting, self.device, self.size, self.more = setting, device, size, more

    def forward(self, pair, array, part):
        assert isinstance(self.device, torch.device) and isinstance(self.size, torch.Size)
        assert self.more["kind"].name == "SUM" and self.more["kind"].value == self.setting.kind.value == ("a", 1)
        shift = self.setting.shift.to(self.more["dtype"]) * WIDTH
        return (pair.left + pair.right * float(array.sum()) + shift)[part]
"""


@pytest.mark.parametrize(
    ("own_classes", "width"), [(RECORDS, "self.setting.doubled"), ("", "(2 * self.setting.width)")], ids=["own", "none"]
)
def test_arguments_arrive_with_their_types(judge: Judge, own_classes: str, width: str) -> None:
    text = "import torch\n" + RECORDS + ANSWER.replace("NAME", "Model").replace("WIDTH", "self.setting.doubled") + GIVEN
    result = judge("import torch\n" + own_classes + ANSWER.replace("NAME", "ModelNew").replace("WIDTH", width), problem_text=text)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message


def test_a_problem_that_is_not_there_is_not_the_submissions_fault(judge: Judge, tmp_path: Path) -> None:
    assert judge(forward("return x"), "gone", problem_path=tmp_path / "gone.py").category is Category.PROBLEM_ERROR


def test_a_worker_whose_zygote_is_gone_is_not_the_submissions_fault(judge: Judge, context: JudgeContext) -> None:
    with Zygote.start(modules=(), level=context.zygote.level) as other:
        gone = replace(context, zygote=other)
    result = judge(SOFTMAX, context=gone)
    assert (result.status, result.category) == (Status.NOT_EVALUATED, Category.INFRASTRUCTURE_ERROR)


@pytest.mark.parametrize(
    ("message", "category", "loads"),
    [("CUDA error: out of memory", Category.OUT_OF_MEMORY, 2), ("something else", Category.PYTHON_EXCEPTION, 1)],
)
def test_who_finds_no_device_memory_while_loading_is_asked_again_when_nobody_has_the_device(
    judge: Judge, message: str, category: Category, loads: int
) -> None:
    stages: list[str] = []
    result = judge(f"raise RuntimeError({message!r})", report=stages.append)
    assert (result.category, result.evidence.stage) == (category, "load")
    assert stages == ["start", "load"] * loads
