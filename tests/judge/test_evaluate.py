"""Submissions judged on the CPU from end to end, each in its sandbox: right ones, and what they are judged with."""

import re
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.build.builder import Builder
from evaluator.build.cache import Cache
from evaluator.build.toolchain import Compiler, Toolchain
from evaluator.dsl import triton
from evaluator.judge import limits
from evaluator.judge.context import JudgeContext
from evaluator.judge.worker_set import WorkerSet
from evaluator.judge.workers import jit_compilers
from evaluator.results.category import Category, Status
from evaluator.results.result import Result
from tests.judge.conftest import Judge
from tests.judge.sources import SOFTMAX, extension, forward

slow = pytest.mark.slow(20)
RIGHT = forward("assert not self.training and not torch.is_grad_enabled() and not x.requires_grad\nreturn torch.softmax(x, 1)")


def test_a_right_answer_of_the_library_is_correct_and_no_kernel(judge: Judge) -> None:
    result = judge(RIGHT)
    assert (result.status, result.category) == (Status.CORRECT, Category.NO_CUSTOM_KERNEL), result.message
    rounds = result.evidence.rounds
    assert all(round_.passed for round_ in rounds)
    assert len({round_.seed for round_ in rounds}) == len(rounds) >= limits.ROUNDS
    assert rounds[0].distribution == rounds[-1].distribution == "own"
    assert result.runtime_ms is not None and result.baseline_ms is not None
    assert result.speedup == pytest.approx(result.baseline_ms / result.runtime_ms)
    assert (result.case, result.device, result.evidence.stage) == ("small", "cpu", "timing")
    assert (result.hint, result.problem_sha256) != ("", None)


def test_what_constructors_draw_is_the_same_on_both_sides(judge: Judge) -> None:
    """Plain attributes are not copied. Only equal seeds make them agree."""
    head = "import random, numpy, torch\nclass {name}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    drawn = "torch.rand(8) + torch.tensor(numpy.random.rand(8)).float() + random.random()"
    body = f"        self.scale = 1 + {drawn}\n    def forward(self, x):\n        return x * self.scale\n"
    rest = "def get_inputs():\n    return [torch.randn(5, 8)]\ndef get_init_inputs():\n    return []\n"
    text = head.format(name="Model") + body + rest
    assert judge(head.format(name="ModelNew") + body, problem_text=text).category is Category.NO_CUSTOM_KERNEL
    other = head.format(name="ModelNew") + body.replace("1 +", "(1, numpy.random.rand(), random.random(), torch.rand(1))[0] +")
    assert judge(other, problem_text=text).status is Status.INCORRECT  # two draws may be close to each other


def test_a_candidate_need_not_be_a_module(judge: Judge) -> None:
    result = judge("import torch\nclass ModelNew:\n    def __call__(self, x):\n        return torch.softmax(x, 1)\n")
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message


TOLD = 'print(dict(os.environ), open("/proc/self/environ").read(), open("/proc/self/cmdline").read().split("\\0")[1:])\n'


def test_a_worker_is_told_no_place_of_the_project(judge: Judge, context: JudgeContext) -> None:
    result = judge(forward(TOLD + "return torch.softmax(x, 1)"))
    assert result.category is Category.NO_CUSTOM_KERNEL and "PATH" in result.evidence.stdout, result.message
    places = {str(place) for place in (Path(__file__).parents[2], Path.cwd(), Path.home(), context.builder._cache.root)} - {"/", "/tmp"}
    assert not [place for place in places if place in result.evidence.stdout]


PROBLEM = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x, more):
        return {"sum": x.sum(1), "parts": [x + more["bias"], (x > 0, x.shape[0], 2.5, None)], "none": torch.empty(0)}

def get_inputs():
    return [torch.randn(6, 40), {"bias": torch.randn(40), "name": "b"}]

def get_init_inputs():
    return []
"""
NESTED = 'return {"none": torch.empty(0), "parts": [more["bias"] + x, (x.gt(0), 6, 2.5, None)], "sum": x.sum(-1)}'


@pytest.mark.parametrize(
    ("body", "category"),
    [
        (NESTED, Category.NO_CUSTOM_KERNEL),
        (NESTED.replace("gt", "lt"), Category.WRONG_VALUES),
        ("more['bias'] += 1\n" + NESTED.replace('more["bias"]', '(more["bias"] - 1)'), Category.MUTATED_INPUT),
    ],
)
def test_nested_inputs_and_outputs(judge: Judge, body: str, category: Category) -> None:
    result = judge(forward(body, "x, more"), problem_text=PROBLEM)
    assert result.category is category, result.message


@pytest.mark.parametrize("returned", ["x[:0] * 2.5", *(pytest.param(each, marks=slow) for each in ("(x[:0], [x[:, :0]])", "None"))])
def test_an_output_without_elements_is_degenerate(judge: Judge, returned: str) -> None:
    text = re.sub(r"return \{.*\}", f"return {returned}", PROBLEM)
    result = judge(forward(f"return {returned}", "x, more"), problem_text=text)
    assert (result.category, result.message) == (Category.DEGENERATE_PROBLEM, "right, but this problem also accepts: any answer")


SPARSE = """
import torch

ASSAY = {"backward": True}

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x).to_sparse(), torch.sin(x).to_sparse_csr()

def get_inputs():
    return [torch.randn(6, 40)]

def get_init_inputs():
    return []
"""
MORE = "torch.sparse_coo_tensor(torch.cat([torch.relu(x).to_sparse().indices()] * 2, 1), torch.cat([x[x > 0] / 2] * 2), x.shape)"


@pytest.mark.parametrize(
    ("body", "backward", "category", "words"),
    [
        ("return torch.relu(x), torch.sin(x)", False, Category.NO_CUSTOM_KERNEL, ""),
        pytest.param(f"return {MORE}, torch.sin(x).to_sparse_bsr((2, 2))", True, Category.NO_CUSTOM_KERNEL, "", marks=slow),
        (f"return {MORE} * 1.1, torch.sin(x).to_sparse_csc()", False, Category.WRONG_VALUES, "[0] are wrong"),
        (
            "return torch.relu(x), torch.sin(x).to_mkldnn()",
            False,
            Category.WRONG_STRUCTURE,
            "[1] has the layout mkldnn; return a dense or a",
        ),
        pytest.param(
            "return torch.nested.nested_tensor([x, x[:2]]), x", True, Category.WRONG_STRUCTURE, "[0] has the layout nested", marks=slow
        ),
    ],
)
def test_outputs_are_compared_densely_where_the_reference_is_sparse(
    judge: Judge, body: str, backward: bool, category: Category, words: str
) -> None:
    result = judge(forward(body), problem_text=SPARSE if backward else SPARSE.replace("True", "False"))
    assert (result.category, words in result.message) == (category, True), result.message


def test_a_reference_with_an_output_of_another_layout_is_named(judge: Judge) -> None:
    text = SPARSE.replace("True", "False").replace("torch.relu(x).to_sparse(), torch.sin(x).to_sparse_csr()", "x.to_mkldnn()")
    result = judge(forward("return x.to_mkldnn()"), problem_text=text)
    assert result.status is Status.NOT_EVALUATED
    assert result.message.endswith("forward() returns a tensor of the layout mkldnn; return a dense or a sparse one"), result.message


def test_where_the_cpu_stands_in_for_a_gpu_library_code_is_not_judged(judge: Judge, context: JudgeContext) -> None:
    standing_in = replace(context, stands_in=True)
    needs_cuda = "from torch._C import _cuda_no_such_name\n" + SOFTMAX
    for code in (SOFTMAX, forward("return x"), forward("return x.missing"), forward("os._exit(1)"), needs_cuda):
        result = judge(code, context=standing_in)
        assert (result.status, result.category) == (Status.NOT_EVALUATED, Category.NO_DEVICE), result.message


def test_where_the_cpu_stands_in_for_a_gpu_a_missing_module_is_still_an_import_error(judge: Judge, context: JudgeContext) -> None:
    code = "import no_such_module\n" + extension("return torch.softmax(x, 1)")
    result = judge(code, context=replace(context, stands_in=True))
    assert (result.category, result.evidence.builds) == (Category.IMPORT_ERROR, ()), result.message
    assert "line 1: ModuleNotFoundError: No module named 'no_such_module'" in result.message


@pytest.mark.parametrize(("runs", "category"), [({"TRITON_INTERPRET": "1"}, Category.NO_TOOLCHAIN), (None, Category.NO_DEVICE)])
def test_where_the_cpu_stands_in_for_a_gpu_only_an_interpreter_is_worth_installing(
    judge: Judge, context: JudgeContext, monkeypatch: pytest.MonkeyPatch, runs: dict[str, str] | None, category: Category
) -> None:
    dsl = replace(triton.DSL, packages={"no_such_dsl": "no_such_dsl"}, without_device=runs)
    monkeypatch.setattr(jit_compilers, "dsls", lambda: (dsl,))
    result = judge("import no_such_dsl\n" + SOFTMAX, context=replace(context, stands_in=True))
    assert (result.category, "no_such_dsl is not installed on this machine" in result.message) == (category, True), result.message


@pytest.mark.parametrize(("body", "readied"), [("return torch.softmax(x, 0)", False), ("return torch.softmax(x, 1)", True)])
def test_the_baseline_is_readied_when_a_round_has_been_passed(
    judge: Judge, monkeypatch: pytest.MonkeyPatch, body: str, readied: bool
) -> None:
    called: list[str] = []
    ready = WorkerSet.ready_baseline

    def noted(worker_set: WorkerSet) -> None:
        called.append("")
        ready(worker_set)

    monkeypatch.setattr(WorkerSet, "ready_baseline", noted)
    assert bool(judge(forward(body)).evidence.timing) is readied
    assert bool(called) is readied


LEAKY = extension("for (int64_t i = 0; i < count; i++) y[i] = x[i] > 0 ? x[i] : x[i] * 0.01f;")
LEAKY += forward("return run(torch.empty_like(x), x)")
CAUGHT = re.sub("^(extension = .*)$", r"try:\n    \1\nexcept RuntimeError:\n    pass", LEAKY, flags=re.MULTILINE)
CAUGHT = CAUGHT.replace("return run(torch.empty_like(x), x)", "return torch.nn.functional.leaky_relu(x)")
"""It goes on without its extension."""


@pytest.mark.parametrize("code", [LEAKY, CAUGHT], ids=["raised", "caught"])
def test_where_the_cpu_stands_in_a_failing_machine_is_named(judge: Judge, context: JudgeContext, tmp_path: Path, code: str) -> None:
    broken = replace(Toolchain.find(None), cxx=Compiler(("/no/such/compiler",), "1"))
    builder = Builder(Cache(tmp_path), broken, context.zygote, stock_only=True)
    result = judge(code, "leaky_relu", context=replace(context, stands_in=True, builder=builder))
    assert result.category is Category.INFRASTRUCTURE_ERROR
    assert "/no/such/compiler" in result.message


def check_ok(result: Result) -> None:
    assert (result.status, result.category, result.message) == (Status.CORRECT, Category.OK, "")
    timing = result.evidence.timing
    assert timing is not None
    assert timing.clock == "judge_wall"
    assert timing.calls >= 3
    for side in (timing.candidate, timing.baseline):
        assert len(side.samples_ms) == len(side.wall_ms) == timing.blocks
        assert len(side.reveal_ms) <= timing.calls + limits.SETTLED_REVEALS
        assert side.median_ms == pytest.approx(statistics.median(side.samples_ms))
        assert 0 < side.lower_quartile_ms <= side.median_ms <= side.upper_quartile_ms
    own_ms = timing.candidate.figure_ms(timing.statistic)
    assert result.runtime_ms == pytest.approx(own_ms + timing.late_ms + timing.ahead_ms + timing.background_ms)
    assert result.baseline_ms == timing.baseline_ms


BENT = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.leaky_relu(x)

def get_inputs():
    return [torch.randn(31, 67)]

def get_init_inputs():
    return []
"""


def test_a_cpp_extension_from_source_to_times(judge: Judge, context: JudgeContext) -> None:
    stages: list[str] = []
    first = judge(LEAKY, problem_text=BENT, report=stages.append)
    check_ok(first)
    assert stages[:5] == ["start", "load", "build", "load", "construct"]
    (build,) = first.evidence.builds
    assert (build.name, build.ok, build.cached, build.uses_cuda) == ("own", True, False, False)
    assert first.evidence.stages_s["build"] > 0

    stages.clear()
    again = judge(LEAKY, problem_text=BENT, context=replace(context, stands_in=True), report=stages.append)
    check_ok(again)
    assert again.evidence.builds[0].cached
    assert stages[:3] == ["start", "load", "construct"] and "build" not in stages


@pytest.mark.parametrize(
    ("body", "category"),
    [
        ("return torch.softmax(x, 1)", Category.NO_CUSTOM_KERNEL),
        ("return torch.softmax(x.float(), 1)", Category.WRONG_DTYPE),
    ],
)
def test_another_precision_is_judged_by_its_own_bound(judge: Judge, body: str, category: Category) -> None:
    result = judge(forward(body), precision="bfloat16")
    assert (result.category, result.precision) == (category, "bfloat16"), result.message
    tolerances = {figures.tolerance for evidence in result.evidence.rounds for figures in evidence.outputs}
    assert not tolerances or min(tolerances) >= 1.6e-2
