"""Submissions judged on the CPU from end to end, each in its sandbox."""

import json
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.category import Category, Status
from evaluator.judge.bench import Bench
from evaluator.judge.evaluation import evaluate
from evaluator.judge.rounds import MIN_ROUNDS
from evaluator.result import Result
from evaluator.sandbox import Limits
from tests.judge.conftest import Judge, make_job

HEAD = """\
import os, sys, time
import torch
from torch import nn

class ModelNew(nn.Module):
"""


def forward(body: str, parameters: str = "x") -> str:
    """A submission whose forward() has this body; the body's first line is line 7."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"{HEAD}    def forward(self, {parameters}):\n{lines}    def __init__(self, *arguments):\n        super().__init__()\n"


RIGHT = [
    ("softmax", forward("return torch.softmax(x, 1)")),
    ("softmax", forward("e = (x - x.amax(1, keepdim=True)).exp()\nreturn e / e.sum(1, keepdim=True)")),
    ("gelu_tanh", forward("return nn.functional.gelu(x, approximate='tanh')")),
    ("matmul", forward("return a @ b", "a, b")),
    ("topk", forward("return x.topk(7, dim=1)")),
    ("cross_entropy", forward("return nn.functional.cross_entropy(x, y)", "x, y")),
    ("attention", forward("return (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1) @ v", "q, k, v")),
    (
        "conv2d",
        HEAD + "    def __init__(self, i, o, k):\n        super().__init__()\n        self.conv = nn.Conv2d(i, o, k, padding=k // 2)\n"
        "    def forward(self, x):\n        return nn.functional.conv2d(x, self.conv.weight, self.conv.bias, padding=1)\n",
    ),
    (
        "layer_norm",
        HEAD + "    def __init__(self, dim):\n        super().__init__()\n        self.norm = nn.LayerNorm(dim)\n"
        "    def forward(self, x):\n        return self.norm(x)\n",
    ),
    (
        "embedding",
        HEAD
        + "    def __init__(self, entries, width):\n        super().__init__()\n        self.embedding = nn.Embedding(entries, width)\n"
        "    def forward(self, i):\n        return self.embedding.weight[i]\n",
    ),
]


@pytest.mark.parametrize(("problem", "code"), RIGHT, ids=[f"{problem}-{number}" for number, (problem, _) in enumerate(RIGHT)])
def test_right_answers_of_the_library_are_correct_and_no_kernels(judge: Judge, problem: str, code: str) -> None:
    result = judge(code, problem)
    assert (result.status, result.category) == (Status.CORRECT, Category.NO_CUSTOM_KERNEL), result.message
    rounds = result.evidence.rounds
    assert all(round_.passed for round_ in rounds)
    assert len({round_.seed for round_ in rounds}) == len(rounds) >= MIN_ROUNDS
    assert rounds[0].distribution == rounds[-1].distribution == "own"
    assert result.runtime_ms is not None and result.baseline_ms is not None
    assert result.speedup == pytest.approx(result.baseline_ms / result.runtime_ms)
    assert (result.case, result.device, result.evidence.stage) == ("small", "cpu", "timing")
    assert (result.hint, result.problem_sha256) != ("", None)


WRONG = [
    ("softmax", "return torch.softmax(x, 1)[:, :-1]", Category.WRONG_SHAPE, "(17, 1020)"),
    ("softmax", "return torch.softmax(x, 1).double()", Category.WRONG_DTYPE, "float64"),
    ("softmax", "return torch.softmax(x, 1).half()", Category.WRONG_DTYPE, "float16"),
    ("softmax", "return torch.softmax(x, 1), 1", Category.WRONG_STRUCTURE, "a tuple of 2; the reference returns a tensor"),
    ("softmax", "return None", Category.WRONG_STRUCTURE, "None"),
    ("topk", "return x.topk(7, dim=1).values", Category.WRONG_STRUCTURE, "a tensor; the reference returns a tuple of 2"),
    ("topk", "v, i = x.topk(7, dim=1)\nreturn v, i.int()", Category.WRONG_DTYPE, "[1] has dtype int32"),
    ("topk", "v, i = x.topk(7, dim=1)\nreturn v, i.flip(1)", Category.WRONG_VALUES, "output[1]"),
    ("softmax", "return torch.zeros_like(x)", Category.WRONG_VALUES, "17357 of 17357 elements"),
    ("softmax", "return torch.softmax(x, 0)", Category.WRONG_VALUES, "expected"),
    (
        "softmax",
        "y = torch.softmax(x, 1)\ny[16, 1000:] = 0\nreturn y",
        Category.WRONG_VALUES,
        "21 of 17357 elements of the output are wrong (a tail of 21), all of them are 0; first at (16, 1000)",
    ),
    ("softmax", "return torch.softmax(x.half(), 1).float()", Category.PRECISION_LOSS, "allowed"),
    ("softmax", "return torch.softmax(x, 1) / 0", Category.NAN_OR_INF, "inf"),
    ("softmax", "return torch.full_like(x, float('nan'))", Category.NAN_OR_INF, "nan"),
    ("softmax", "y = torch.softmax(x, 1)\nx.mul_(2)\nreturn y", Category.MUTATED_INPUT, "changed its input"),
    ("softmax", "return torch.empty_like(x)", Category.UNWRITTEN_OUTPUT, "17357 elements were never written"),
    (
        "softmax",
        "y = torch.empty_like(x)\ny[:16] = torch.softmax(x[:16], 1)\nreturn y",
        Category.UNWRITTEN_OUTPUT,
        "1021 elements were never written: 1021 of 17357 elements of the output are wrong (a tail of 1021)",
    ),
    ("leaky_relu", "return torch.relu_(x) + 0.01 * x", Category.MUTATED_INPUT, ""),
    ("softmax", "return torch.softmax(x, 1).to('meta')", Category.WRONG_DEVICE, "is on meta"),
]


@pytest.mark.parametrize(("problem", "body", "category", "words"), WRONG, ids=[case[1][:40] for case in WRONG])
def test_wrong_answers(judge: Judge, problem: str, body: str, category: Category, words: str) -> None:
    result = judge(forward(body), problem)
    assert (result.category, words in result.message) == (category, True), result.message
    assert result.message.startswith("round 1: ")
    assert (result.runtime_ms, result.evidence.timing) == (None, None)


LOAD_INLINE = "from torch.utils.cpp_extension import load_inline\n"
FAILED = [
    (forward("return x.missing"), Category.PYTHON_EXCEPTION, "line 7: AttributeError"),
    (forward("y = x\nraise KeyError('lost')"), Category.PYTHON_EXCEPTION, "line 8: KeyError: 'lost'"),
    (forward("class Mine(BaseException): ...\nraise Mine('\\udcff')"), Category.PYTHON_EXCEPTION, "line 8: Mine: ?"),
    (forward("return 1 / 0"), Category.PYTHON_EXCEPTION, "line 7: ZeroDivisionError: division by zero"),
    (forward("return x", "x, y"), Category.PYTHON_EXCEPTION, "TypeError"),
    ("import torch\nraise ValueError('at import')\nclass ModelNew: ...\n", Category.PYTHON_EXCEPTION, "line 2: ValueError: at import"),
    ("import no_such_module\nclass ModelNew: ...\n", Category.IMPORT_ERROR, "line 1: ModuleNotFoundError"),
    ("from torch import no_such_name\nclass ModelNew: ...\n", Category.IMPORT_ERROR, "line 1: ImportError"),
    (HEAD + "    def __init__(self, dim):\n        super().__init__()\n", Category.INIT_ERROR, "TypeError"),
    (HEAD + "    def __init__(self):\n        super().__init__()\n        self.x = nothing\n", Category.INIT_ERROR, "line 8: NameError"),
    ("import sys\nsys.exit(0)\nclass ModelNew: ...\n", Category.EARLY_EXIT, "line 2: SystemExit: 0"),
    (forward("sys.exit()"), Category.EARLY_EXIT, "SystemExit"),
    (forward("os._exit(0)"), Category.EARLY_EXIT, "forward() ended the process with exit code 0"),
    ("import os\nos._exit(3)\nclass ModelNew: ...\n", Category.EARLY_EXIT, "loading the file ended the process with exit code 3"),
    (forward("import ctypes\nctypes.string_at(0)"), Category.PROCESS_CRASH, "forward() ended by SIGSEGV"),
    (forward("os.abort()"), Category.PROCESS_CRASH, "SIGABRT"),
    (forward("while True: pass"), Category.TIMEOUT, "forward() did not end within 2 s"),
    (forward("time.sleep(600)"), Category.TIMEOUT, "forward() did not end within 2 s"),
    (forward("return [x] * 10_000"), Category.PYTHON_EXCEPTION, "StructureError: more than 4096 values"),
    (forward("return 'x' * 10_000_000"), Category.PYTHON_EXCEPTION, "the limit is 8388608"),
    (
        LOAD_INLINE + "load_inline(name='a', cpp_source='', functionz=['f'])\nclass ModelNew: ...\n",
        Category.LOAD_INLINE_MISUSE,
        "line 2: TypeError: load_inline() got an unexpected keyword argument",
    ),
    (
        LOAD_INLINE + "load_inline(name='a b', cpp_sources='', functions=['f'])\nclass ModelNew: ...\n",
        Category.LOAD_INLINE_MISUSE,
        "identifier",
    ),
]


@pytest.mark.parametrize(("code", "category", "words"), FAILED, ids=[f"{case[1]}-{number}" for number, case in enumerate(FAILED)])
def test_submissions_that_do_not_get_through(judge: Judge, code: str, category: Category, words: str) -> None:
    result = judge(code, timeout_s=2.0)
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


def test_memory_beyond_the_limit_is_out_of_memory(judge: Judge, bench: Bench) -> None:
    small = replace(bench, limits=Limits(memory_bytes=768 << 20))
    result = judge(forward("kept = [torch.ones(1 << 24) for _ in range(64)]\nreturn x"), bench=small)
    assert (result.category, "passed the memory limit of 0.75 GiB" in result.message) == (Category.OUT_OF_MEMORY, True), result.message
    assert judge(RIGHT[0][1], bench=small).category is Category.NO_CUSTOM_KERNEL


def test_an_allocation_that_fails_is_out_of_memory(judge: Judge) -> None:
    result = judge(forward("return torch.empty(1 << 60)"))
    assert result.category is Category.OUT_OF_MEMORY, result.message


def test_wrong_in_the_second_round_is_found(judge: Judge) -> None:
    result = judge(forward("self.calls = getattr(self, 'calls', 0) + 1\nreturn torch.softmax(x, 1) * (1 if self.calls < 3 else 2)"))
    assert (result.category, result.message[:8]) == (Category.WRONG_VALUES, "round 2,")


def test_another_answer_to_the_same_input_is_nondeterministic(judge: Judge) -> None:
    result = judge(forward("self.calls = getattr(self, 'calls', 0) + 1\nreturn torch.softmax(x, 1) * (1 if self.calls != 2 else 2)"))
    assert (result.category, "rightly, then wrongly" in result.message) == (Category.NONDETERMINISTIC, True), result.message


def test_an_answer_remembered_from_an_earlier_call_is_wrong(judge: Judge) -> None:
    result = judge(forward("if not hasattr(self, 'y'): self.y = torch.softmax(x, 1)\nreturn self.y"))
    assert (result.category, result.message[:8]) == (Category.WRONG_VALUES, "round 2,")


def test_parameters_left_out_are_found(judge: Judge) -> None:
    code = (
        HEAD
        + "    def __init__(self, dim):\n        super().__init__()\n"
        + "    def forward(self, x):\n        return nn.functional.layer_norm(x, x.shape[-1:])\n"
    )
    assert judge(code, "layer_norm").category is Category.WRONG_VALUES


@pytest.mark.parametrize("draw", ["torch.rand(8)", "torch.tensor(numpy.random.rand(8))", "torch.tensor([random.random()] * 8)"])
def test_what_constructors_draw_is_the_same_on_both_sides(judge: Judge, tmp_path: Path, draw: str) -> None:
    """What is no parameter is not handed over: only the same draws make it agree."""
    head = "import random, numpy, torch\nclass {name}(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    body = f"        self.scale = 1 + {draw}.float()\n    def forward(self, x):\n        return x * self.scale\n"
    rest = "def get_inputs():\n    return [torch.randn(5, 8)]\ndef get_init_inputs():\n    return []\n"
    path = tmp_path / "drawn.py"
    path.write_text(head.format(name="Model") + body + rest)
    assert judge(head.format(name="ModelNew") + body, "drawn", problem_path=path).category is Category.NO_CUSTOM_KERNEL
    other = head.format(name="ModelNew") + body.replace("1 +", "(1, numpy.random.rand(), random.random(), torch.rand(1))[0] +")
    assert judge(other, "drawn", problem_path=path).status is Status.INCORRECT  # two draws may be close to each other


def test_the_candidate_is_called_for_evaluation_and_without_gradients(judge: Judge) -> None:
    body = "assert not self.training and not torch.is_grad_enabled() and not x.requires_grad\nreturn torch.softmax(x, 1)"
    assert judge(forward(body)).category is Category.NO_CUSTOM_KERNEL


def test_a_reference_whose_answer_changes_its_shape_is_nobodys_fault(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "ragged.py"
    body = "import torch\nclass {name}(torch.nn.Module):\n    def forward(self, x):\n        return x[x > 0]\n"
    rest = "def get_inputs():\n    return [torch.randn(500)]\ndef get_init_inputs():\n    return []\n"
    path.write_text(body.format(name="Model") + rest)
    result = judge(body.format(name="ModelNew"), "ragged", problem_path=path)
    assert (result.category, "change with the inputs' values" in result.message) == (Category.INFRASTRUCTURE_ERROR, True), result.message


def test_a_model_that_is_no_module_is_judged_too(judge: Judge) -> None:
    code = "import torch\nclass ModelNew:\n    def __call__(self, x):\n        return torch.softmax(x, 1)\n"
    assert judge(code).category is Category.NO_CUSTOM_KERNEL


SEARCH = """
import gc, inspect, json
found = {
    "models": [repr(c) for c in gc.get_objects() if isinstance(c, type) and c.__name__ == "Model"],
    "modules": [n for n in sys.modules if n.startswith(("_assay_problem", "reference", "db", "evaluator.judge", "evaluator.problem"))],
    "functions": [f.__name__ for f in gc.get_objects() if inspect.isfunction(f) and f.__name__ in ("get_inputs", "get_init_inputs")],
    "environment": dict(os.environ),
    "first_environment": open("/proc/self/environ").read(),
    "descriptors": [os.readlink("/proc/self/fd/" + n) for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n)],
    "folders": [path for path in PATHS if os.path.exists(path)],
    "softmaxes": sum(
        isinstance(t, torch.Tensor) and t.shape == x.shape and torch.allclose(t, torch.softmax(x, 1)) for t in gc.get_objects()
    ),
}
print(json.dumps(found))
return torch.softmax(x, 1)
"""


def test_reference_and_expected_outputs_are_not_in_the_worker(judge: Judge) -> None:
    project = Path(__file__).parents[2]
    paths = [str(project / name) for name in ("reference", "db", "tests", "submissions", "pipeline.py", "assay.db", ".git")]
    result = judge(forward(SEARCH.strip().replace("PATHS", repr(paths))))
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    found = json.loads(result.evidence.stdout.splitlines()[0])
    assert found["models"] == found["functions"] == found["modules"] == found["folders"] == []
    assert found["softmaxes"] == 0
    assert sum("socket" in target for target in found["descriptors"]) == 1
    assert {target for target in found["descriptors"] if target[:4] not in ("sock", "pipe", "/dev")} == {"/memfd:tensor (deleted)"}
    seeds = {str(round_.seed) for round_ in result.evidence.rounds}
    text = json.dumps(found["environment"]) + found["first_environment"]
    assert not any(seed in text for seed in seeds)
    assert "assay" not in text.lower()


def test_a_reference_that_fails_is_not_the_submissions_fault(judge: Judge, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(
        "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        raise IndexError('out of the table')\n"
        "def get_inputs():\n    return [torch.rand(3)]\ndef get_init_inputs():\n    return []\n"
    )
    result = judge(forward("return x"), "broken", problem_path=path)
    assert (result.status, result.category) == (Status.NOT_EVALUATED, Category.INFRASTRUCTURE_ERROR)
    assert "IndexError: out of the table" in result.message


def test_a_problem_that_is_not_there_is_not_the_submissions_fault(judge: Judge, tmp_path: Path) -> None:
    result = judge(forward("return x"), "gone", problem_path=tmp_path / "gone.py")
    assert result.category is Category.INFRASTRUCTURE_ERROR


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
        (NESTED.replace("2.5", "2.6"), Category.WRONG_STRUCTURE),
        (NESTED.replace("empty(0)", "empty(1)"), Category.WRONG_SHAPE),
        (NESTED.replace(".gt(0)", ".gt(0).int()"), Category.WRONG_DTYPE),
        ("more['bias'] += 1\n" + NESTED.replace('more["bias"]', '(more["bias"] - 1)'), Category.MUTATED_INPUT),
    ],
)
def test_nested_inputs_and_outputs(judge: Judge, tmp_path: Path, body: str, category: Category) -> None:
    path = tmp_path / "nested.py"
    path.write_text(PROBLEM)
    result = judge(forward(body, "x, more"), "nested", problem_path=path)
    assert result.category is category, result.message


def test_where_the_cpu_stands_in_for_a_gpu_library_code_is_not_judged(judge: Judge, bench: Bench) -> None:
    standing_in = replace(bench, stands_in=True)
    for code in (RIGHT[0][1], forward("return x"), forward("return x.missing"), forward("os._exit(1)")):
        result = judge(code, bench=standing_in)
        assert (result.status, result.category) == (Status.NOT_EVALUATED, Category.NO_DEVICE), result.message


def test_a_worker_whose_zygote_is_gone_is_not_the_submissions_fault(judge: Judge, bench: Bench) -> None:
    from evaluator.sandbox import Zygote

    with Zygote.start(modules=(), level=bench.zygote.level) as other:
        gone = replace(bench, zygote=other)
    result = judge(RIGHT[0][1], bench=gone)
    assert (result.status, result.category) == (Status.NOT_EVALUATED, Category.INFRASTRUCTURE_ERROR)


EXTENSION = '''
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = """
#include <torch/extension.h>

torch::Tensor twice_the_exponential(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) out[i] = in[i] > 0.0f ? in[i] : in[i] * 0.01f;
    return y;
}
"""
extension = load_inline(name="tiny", cpp_sources=CPP, functions=["twice_the_exponential"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.twice_the_exponential(x)
'''.replace("twice_the_exponential", "leaky_relu_loop")


def check_ok(result: Result) -> None:
    assert (result.status, result.category, result.message) == (Status.CORRECT, Category.OK, "")
    timing = result.evidence.timing
    assert timing is not None
    assert (timing.clock, timing.unexplained_ms) == ("judge_wall", None)
    assert timing.calls >= 3
    for side in (timing.candidate, timing.baseline):
        assert len(side.samples_ms) == len(side.wall_ms) == timing.calls
        assert len(side.reveal_ms) <= timing.calls
        assert side.median_ms == pytest.approx(statistics.median(side.samples_ms))
        assert 0 < side.lower_quartile_ms <= side.median_ms <= side.upper_quartile_ms
    assert result.runtime_ms == pytest.approx(timing.candidate.median_ms + timing.deferred_ms + timing.background_ms)
    assert result.baseline_ms == timing.baseline_ms


@pytest.mark.build
def test_a_cpp_extension_from_source_to_times(judge: Judge, bench: Bench) -> None:
    first = judge(EXTENSION, "leaky_relu")
    check_ok(first)
    (build,) = first.evidence.builds
    assert (build.name, build.ok, build.cached, build.uses_cuda) == ("tiny", True, False, False)
    assert first.evidence.stages_s["build"] >= 1 > first.evidence.stages_s["load"]

    again = judge(EXTENSION, "leaky_relu", bench=replace(bench, stands_in=True))
    check_ok(again)
    assert again.evidence.builds[0].cached


@pytest.mark.parametrize(
    ("message", "category", "loads"),
    [("CUDA error: out of memory", Category.OUT_OF_MEMORY, 2), ("something else", Category.PYTHON_EXCEPTION, 1)],
)
def test_who_finds_no_device_memory_while_loading_is_asked_again_when_nobody_has_the_device(
    bench: Bench, message: str, category: Category, loads: int
) -> None:
    stages: list[str] = []
    result = evaluate(bench, make_job(f"raise RuntimeError({message!r})"), stages.append)
    assert (result.category, result.evidence.stage) == (category, "load")
    assert stages == ["start", "load"] * loads


@pytest.mark.parametrize(
    ("body", "category"),
    [
        ("return torch.softmax(x, 1)", Category.NO_CUSTOM_KERNEL),
        ("return torch.softmax(x.float(), 1).to(x.dtype)", Category.NO_CUSTOM_KERNEL),
        ("return torch.softmax(x.float(), 1)", Category.WRONG_DTYPE),
        ("return torch.softmax(x.to(torch.float8_e4m3fn).to(x.dtype), 1)", Category.WRONG_VALUES),
    ],
)
def test_another_precision_is_judged_by_its_own_bound(judge: Judge, body: str, category: Category) -> None:
    result = judge(forward(body), precision="bfloat16")
    assert (result.category, result.precision) == (category, "bfloat16"), result.message
    tolerances = {figures.tolerance for evidence in result.evidence.rounds for figures in evidence.outputs}
    assert not tolerances or min(tolerances) >= 1.6e-2
