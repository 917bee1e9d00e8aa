"""Submissions of problems in KernelBench's form, which declare nothing, judged on the CPU from end to end."""

import re
from pathlib import Path

import pytest

from evaluator.results.category import Category, Status
from evaluator.results.result import Result
from tests.judge.conftest import Judge

pytestmark = pytest.mark.slow(40)

IMPORTS = "import torch\nfrom torch import nn\n"
SIZES = "rows = 64\ncolumns = 200\n"
ENDS = "\n\ndef get_inputs():\n    return [{drawn}]\n\ndef get_init_inputs():\n    return []\n"


def problem(folder: Path, model: str, drawn: str, declared: str = "") -> Path:
    """A file of this class Model, its own name being X, and what get_inputs() returns."""
    path = folder / "plain.py"
    path.write_text(IMPORTS + SIZES + model.replace("class X", "class Model") + ENDS.format(drawn=drawn) + declared)
    return path


def answer(model: str) -> str:
    return IMPORTS + model.replace("class X", "class ModelNew")


def forward(body: str, parameters: str = "x") -> str:
    return f"class X(nn.Module):\n    def forward(self, {parameters}):\n        {body}\n"


def distributions(result: Result) -> dict[str, bool | None]:
    return {each.distribution: each.right for each in result.evidence.changed_inputs}


LAYERS = """
class X(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(LAYERS)

    def forward(self, x):
        return FORWARD
"""
THREE = LAYERS.replace("LAYERS", "nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 24)").replace(
    "FORWARD", "self.layers(x)"
)
FUSED = LAYERS.replace("LAYERS", "nn.Linear(24, 24), nn.Linear(24, 24), nn.Linear(24, 24)").replace(
    "FORWARD", "self.layers[2](self.layers[1](self.layers[0](x).relu()).relu())"
)


def test_layers_that_have_moved_keep_what_they_drew(judge: Judge, tmp_path: Path) -> None:
    result = judge(answer(FUSED), "plain", problem_path=problem(tmp_path, THREE, "torch.rand(30, 24)"))
    parameters = result.evidence.parameters
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert parameters is not None and parameters.source == "copied"
    assert parameters.kept == ("layers.1.weight (24, 24)", "layers.1.bias (24)", "layers.2.weight (24, 24)", "layers.2.bias (24)")
    assert parameters.unmatched == parameters.missing == ()


PAIR = """
class X(nn.Module):
    def __init__(self):
        super().__init__()
        MADE

    def forward(self, x):
        return FORWARD
"""
FIRST_A = PAIR.replace("MADE", "self.a, self.b = nn.Linear(24, 24), nn.Linear(24, 24)").replace("FORWARD", "self.b(self.a(x).relu())")


def test_a_reference_that_changes_its_input_blames_nobody_else(judge: Judge, tmp_path: Path) -> None:
    reference = "class X(nn.Module):\n    def forward(self, x):\n        x += 1\n        return x.relu_()\n"
    result = judge(answer(forward("return (x + 1).relu()")), "plain", problem_path=problem(tmp_path, reference, "torch.rand(30, 24)"))
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message


def test_lazy_layers_get_the_references_parameters(judge: Judge, tmp_path: Path) -> None:
    lazy = LAYERS.replace("LAYERS", "nn.LazyLinear(24), nn.ReLU(), nn.LazyBatchNorm1d()").replace("FORWARD", "self.layers(x)")
    result = judge(answer(lazy), "plain", problem_path=problem(tmp_path, lazy, "torch.rand(30, 24)"))
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message


@pytest.mark.parametrize(
    "drawn", ["torch.rand(30, 24, generator=torch.Generator().manual_seed(0))", "torch.linspace(0.1, 1, 720).view(30, 24)"]
)
def test_an_answer_that_is_kept_is_wrong_where_draws_are_all_the_same(judge: Judge, tmp_path: Path, drawn: str) -> None:
    kept = "class X(nn.Module):\n    kept = None\n    def forward(self, x):\n        if self.kept is None:\n            "
    kept += "self.kept = x.cumsum(1)\n        return self.kept.clone()\n"
    result = judge(answer(kept), "plain", problem_path=problem(tmp_path, forward("return x.cumsum(1)"), drawn))
    assert result.category is Category.WRONG_VALUES, result.message


@pytest.mark.parametrize(
    ("made", "forward", "source"),
    [
        # The same names in another order: those of the reference are copied.
        ("self.b, self.a = nn.Linear(24, 24), nn.Linear(24, 24)", "self.b(self.a(x).relu())", "copied"),
        # Its b is the reference's a, as it was drawn.
        ("self.b, self.a = nn.Linear(24, 24), nn.Linear(24, 24)", "self.a(self.b(x).relu())", "drawn"),
        # A layer of its own comes first: what it drew then is none of the reference's.
        ("self.c, self.a, self.b = nn.Linear(9, 9), nn.Linear(24, 24), nn.Linear(24, 24)", "self.b(self.a(x).relu())", "copied"),
        # The first layer's weight has been made half as large, and has the reference's name.
        (
            "self.a, self.b = nn.Linear(24, 24), nn.Linear(24, 24)\n        self.a.weight.data *= 0.5",
            "self.b((2 * (self.a(x) - self.a.bias) + self.a.bias).relu())",
            "drawn",
        ),
    ],
)
def test_right_with_the_references_parameters_or_with_its_own_draws_is_right(
    judge: Judge, tmp_path: Path, made: str, forward: str, source: str
) -> None:
    code = answer(PAIR.replace("MADE", made).replace("FORWARD", forward))
    result = judge(code, "plain", problem_path=problem(tmp_path, FIRST_A, "torch.rand(30, 24)"), shapes="others")
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert result.evidence.parameters is not None and result.evidence.parameters.source == source


def test_wrong_either_way_is_told_of_the_first(judge: Judge, tmp_path: Path) -> None:
    made = "self.b, self.a = nn.Linear(24, 24), nn.Linear(24, 24)"
    code = answer(PAIR.replace("MADE", made).replace("FORWARD", "self.b(self.a(x))"))
    result = judge(code, "plain", problem_path=problem(tmp_path, FIRST_A, "torch.rand(30, 24)"))
    assert (result.category, result.message[:8]) == (Category.WRONG_VALUES, "round 1:"), result.message
    assert result.evidence.parameters is not None and result.evidence.parameters.source == "copied"
    assert len(result.evidence.rounds) == 1


def test_a_failure_of_the_second_try_changes_nothing(judge: Judge, tmp_path: Path) -> None:
    made = "self.b, self.a = nn.Linear(24, 24), nn.Linear(24, 24)\n        self.first = self.a.weight.detach().clone()"
    forward = "self.b(self.a(x)) if not torch.equal(self.a.weight, self.first) else __import__('os')._exit(3)"
    code = answer(PAIR.replace("MADE", made).replace("FORWARD", forward))
    result = judge(code, "plain", problem_path=problem(tmp_path, FIRST_A, "torch.rand(30, 24)"))
    assert (result.category, result.message[:8]) == (Category.WRONG_VALUES, "round 1:"), result.message
    assert result.evidence.exit is None and result.evidence.parameters is not None and result.evidence.parameters.source == "copied"


def test_parameters_of_another_drawing_are_named(judge: Judge, tmp_path: Path) -> None:
    made = "self.a, self.weight = nn.Linear(24, 24), nn.Parameter(torch.randn(24, 24))"
    code = answer(PAIR.replace("MADE", made).replace("FORWARD", "self.a(x).relu() @ self.weight.t()"))
    result = judge(code, "plain", problem_path=problem(tmp_path, FIRST_A, "torch.rand(30, 24)"))
    parameters = result.evidence.parameters
    assert result.category is Category.WRONG_VALUES and parameters is not None
    assert (parameters.unmatched, parameters.missing) == (("weight (24, 24)",), ("b.weight (24, 24)", "b.bias (24)"))


def test_a_batch_norm_takes_the_batchs_statistics(judge: Judge, tmp_path: Path) -> None:
    norm = PAIR.replace("MADE", "self.norm, self.drop = nn.BatchNorm1d(24), nn.Dropout(0.5)")
    path = problem(tmp_path, norm.replace("FORWARD", "self.drop(self.norm(x))"), "torch.rand(30, 24)")
    batch = "nn.functional.batch_norm(x, None, None, self.norm.weight, self.norm.bias, True)"
    running = "nn.functional.batch_norm(x, self.norm.running_mean, self.norm.running_var, self.norm.weight, self.norm.bias)"
    assert judge(answer(norm.replace("FORWARD", batch)), "plain", problem_path=path).category is Category.NO_CUSTOM_KERNEL
    assert judge(answer(norm.replace("FORWARD", running)), "plain", problem_path=path).category is Category.WRONG_VALUES


TANH = forward("return torch.tanh(x)")
BY_ADDRESS = """
class X(nn.Module):
    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, x):
        if x.data_ptr() not in self.known:
            self.known[x.data_ptr()] = torch.tanh(x)
        return self.known[x.data_ptr()].clone()
"""
BY_NEW_ADDRESS = """
class X(nn.Module):
    address = 0

    def forward(self, x):
        if x.data_ptr() != self.address:
            self.address, self.result = x.data_ptr(), torch.tanh(x)
        return self.result.clone()
"""
FIRST_ADDRESS = """
class X(nn.Module):
    first = None

    def forward(self, x):
        if self.first is None:
            self.first = x
        return torch.tanh(self.first)
"""


def test_state_that_is_kept_for_an_address_is_found_in_the_rounds(judge: Judge, tmp_path: Path) -> None:
    path = problem(tmp_path, TANH, "torch.randn(30, 24)")
    early = ("round 2", "round 3", "round 4")  # `runs` stays at the address before, and comes when it likes
    by_address = judge(answer(BY_ADDRESS), "plain", problem_path=path)
    assert by_address.category is Category.WRONG_VALUES and by_address.message[:7] in early, by_address.message
    first = judge(answer(FIRST_ADDRESS), "plain", problem_path=path)
    assert first.category is Category.WRONG_VALUES and first.message[:7] in early, first.message
    last = judge(answer(BY_NEW_ADDRESS), "plain", problem_path=path)
    assert last.category is Category.WRONG_VALUES and last.message[:7] in early, last.message


VARIANCE = "v = x.var(1, keepdim=True, unbiased=False)\n        return (x - x.mean(1, keepdim=True)) / (v + 1e-5).sqrt()"
MOMENTS = "m = x.mean(1, keepdim=True)\n        v = (x * x).mean(1, keepdim=True) - m * m\n        return (x - m) / (v + 1e-5).sqrt()"


def kernel(body: str, name: str) -> str:
    """A submission whose forward() does `body`, and passes the answer through an extension of its own."""
    source = "torch::Tensor run(torch::Tensor x) { return x.clone(); }"
    head = f"from torch.utils.cpp_extension import load_inline\nops = load_inline('{name}', '{source}', functions=['run'])\n"
    return answer(head + forward(re.sub(r"return (.*)$", r"return ops.run(\1)", body)))


@pytest.mark.build
def test_robust_says_whether_other_inputs_are_answered_rightly(judge: Judge, tmp_path: Path) -> None:
    path = problem(tmp_path, forward(VARIANCE), "torch.randn(rows, columns)")
    stable = judge(kernel(VARIANCE, "stable"), "plain", problem_path=path, shapes="others")
    assert (stable.category, stable.evidence.robust) == (Category.OK, "yes"), stable.message
    moments = judge(kernel(MOMENTS, "moments"), "plain", problem_path=path, shapes="others")
    assert (moments.category, moments.evidence.robust) == (Category.OK, "no"), moments.message
    found = distributions(moments)
    assert found["shifted"] is False and found["wide"] is True
    assert list(found) == ["wide", "ties", "shifted", "special"]
    shifted = next(each for each in moments.evidence.changed_inputs if each.distribution == "shifted")
    assert shifted.category in (Category.WRONG_VALUES, Category.PRECISION_LOSS) and (shifted.max_error or 0) > 1e-4
    assert moments.evidence.generalises == "yes"


@pytest.mark.build
def test_strict_inputs_decide(judge: Judge, tmp_path: Path) -> None:
    path = problem(tmp_path, forward(VARIANCE), "torch.randn(rows, columns)")
    result = judge(kernel(MOMENTS, "strict"), "plain", problem_path=path, strict_inputs=True)
    assert (result.status, "shifted" in result.message) == (Status.INCORRECT, True), result.message
    assert result.evidence.rounds[-1].distribution == "shifted"
    stable = judge(kernel(VARIANCE, "strictly_stable"), "plain", problem_path=path, strict_inputs=True, shapes="others")
    assert (stable.category, stable.evidence.robust) == (Category.OK, "untested"), stable.message


@pytest.mark.build
def test_where_any_inputs_are_declared_all_decide(judge: Judge, tmp_path: Path) -> None:
    path = problem(tmp_path, forward(VARIANCE), "torch.randn(rows, columns)", "\nASSAY = {'inputs': 'any'}\n")
    result = judge(kernel(MOMENTS, "any_inputs"), "plain", problem_path=path)
    assert (result.status, "shifted" in result.message) == (Status.INCORRECT, True), result.message


@pytest.mark.build
@pytest.mark.parametrize(
    ("ending", "right"),
    [
        ("__import__('os')._exit(3)", {"wide": False}),
        ("__import__('os').abort()", {"wide": False}),
        ("__import__('time').sleep(60)", {"wide": False}),
        ("exec('raise ValueError(1)')", {"wide": False}),
    ],
)
def test_no_verdict_changes_by_how_a_worker_ends_on_other_inputs(
    judge: Judge, tmp_path: Path, ending: str, right: dict[str, bool | None]
) -> None:
    path = problem(tmp_path, TANH, "torch.randn(rows, columns)")
    body = f"(x.abs().median() < 0.1) and {ending}\n        return x.tanh()"
    result = judge(kernel(body, "ending"), "plain", problem_path=path, shapes="others")
    assert (result.category, result.evidence.robust, distributions(result)) == (Category.OK, "no", right), result.message
    assert result.evidence.exit is None and result.evidence.exception is None
    assert result.evidence.generalises == "yes"


NARROW = r'''
from torch.utils.cpp_extension import load_inline

source = """
#include <cstring>

static float narrowed(float value) {  // to ten bits of mantissa, the nearest
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    bits = (bits + 0xFFFu + ((bits >> 13) & 1u)) & ~0x1FFFu;
    std::memcpy(&value, &bits, 4);
    return value;
}

torch::Tensor run(torch::Tensor a, torch::Tensor b) {
    auto rows = a.size(0), inner = a.size(1), columns = b.size(1);
    auto out = torch::zeros({rows, columns}, a.options());
    auto from = a.contiguous(), other = b.t().contiguous();
    const float *x = from.data_ptr<float>(), *y = other.data_ptr<float>();
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
            float sums[16] = {};
            for (int64_t k = 0; k < inner; ++k) sums[k % 16] += NARROWED(x[i * inner + k]) * NARROWED(y[j * inner + k]);
            float sum = 0;
            for (float part : sums) sum += part;
            out.data_ptr<float>()[i * columns + j] = sum;
        }
    return out;
}
"""
ops = load_inline(name="NAME", cpp_sources=source, functions=["run"], extra_cflags=["-O2"])


class X(nn.Module):
    def forward(self, a, b):
        return ops.run(a, b)
'''
PRODUCT = forward("return a @ b", "a, b")


@pytest.mark.build
@pytest.mark.parametrize(
    ("narrowed", "drawn", "category"),
    [
        ("narrowed", "torch.rand(24, 4096), torch.rand(4096, 20)", Category.REDUCED_PRECISION),
        ("", "torch.rand(24, 4096), torch.rand(4096, 20)", Category.OK),
        ("narrowed", "torch.randn(24, 4096), torch.randn(4096, 20)", Category.PRECISION_LOSS),
        ("", "torch.randn(24, 4096), torch.randn(4096, 20)", Category.OK),
    ],
)
def test_ten_bits_of_mantissa_are_reduced_precision_where_they_pass(
    judge: Judge, tmp_path: Path, narrowed: str, drawn: str, category: Category
) -> None:
    path = problem(tmp_path, PRODUCT, drawn)
    code = answer(NARROW.replace("NARROWED", narrowed).replace("NAME", f"product_{narrowed or 'full'}"))
    result = judge(code, "plain", problem_path=path)
    assert result.category is category, result.message


def test_nan_under_scaled_alone_is_wrong(judge: Judge, tmp_path: Path) -> None:
    path = problem(tmp_path, TANH, "torch.rand(64, 200)")
    body = "y = torch.tanh(x)\n        return torch.where(x.abs() > 1.5, torch.nan, y)"
    result = judge(answer(forward(body)), "plain", problem_path=path)
    assert (result.category, "scaled" in result.message) == (Category.NAN_OR_INF, True), result.message


@pytest.mark.parametrize(
    ("body", "category"),
    [
        ("k = torch.arange(x.shape[2])\n        return torch.where(x == x.amax(2, True), k, 999).amin(2)", Category.NO_CUSTOM_KERNEL),
        ("return x.argmin(2)", Category.WRONG_VALUES),
        ("return (x + 0.6 * torch.arange(x.shape[2]) / x.shape[2]).argmax(2)", Category.WRONG_VALUES),
    ],
)
def test_places_of_many_equal_elements(judge: Judge, tmp_path: Path, body: str, category: Category) -> None:
    path = problem(tmp_path, forward("return x.argmax(2)"), "torch.randint(0, 5, (6, 40, 100)) / 2.0")
    result = judge(answer(forward(body)), "plain", problem_path=path)
    assert result.category is category, result.message


@pytest.mark.parametrize(
    ("drawn", "model", "other"),
    [
        ("torch.randn(40, 30).abs() + 0.1", "return x.log()", "return x.abs().log()"),
        ("torch.rand(40, 30).sort(1).values", "return x.amax(1)", "return x[:, -1].clone()"),
        ("(lambda a: a + a.mT)(torch.randn(40, 40))", "return x @ x", "return x @ x.mT"),
        ("torch.rand(40, 30).softmax(1)", "return x / x.sum(1, True)", "return x.clone()"),
        ("(torch.rand(40, 30) < 0.5).float()", "return x * x", "return x.clone()"),
        ("torch.randn(40, 40).tril()", "return x.tril() @ x.tril()", "return x @ x"),
    ],
)
def test_an_answer_may_count_on_what_the_inputs_always_are(judge: Judge, tmp_path: Path, drawn: str, model: str, other: str) -> None:
    result = judge(answer(forward(other)), "plain", problem_path=problem(tmp_path, forward(model), drawn))
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message


def test_what_rounds_leave_out_is_not_asked_in_timed_calls(judge: Judge, tmp_path: Path) -> None:
    """The reference's root of a negative number is NaN, so `signs` does not decide."""
    path = problem(tmp_path, forward("return x.sqrt()"), "torch.rand(40, 300)")
    result = judge(answer(forward("return x.clamp_min(0).sqrt()")), "plain", problem_path=path)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    left_out = {found.distribution for found in result.evidence.rounds if found.message.startswith("left out")}
    assert left_out == {"signs"}


def test_an_answer_may_not_count_on_positive_draws_alone(judge: Judge, tmp_path: Path) -> None:
    path = problem(tmp_path, forward("return x.relu() * 2"), "torch.rand(40, 30)")
    result = judge(answer(forward("return x * 2")), "plain", problem_path=path)
    assert result.category is Category.WRONG_VALUES and re.search("'(signs|scaled|rows|runs)'", result.message), result.message


def test_a_scalar_tensor_among_the_inputs_is_no_trouble(judge: Judge, tmp_path: Path) -> None:
    path = problem(tmp_path, forward("return x * s", "x, s"), "torch.rand(40, 30), torch.rand(())")
    result = judge(answer(forward("return s * x", "x, s")), "plain", problem_path=path)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
