"""Submissions of problems in KernelBench's form, which declare nothing, judged on the CPU from end to end."""

import re

import pytest

from evaluator.results.category import Category, Status
from evaluator.results.result import Result
from tests.judge.conftest import Judge
from tests.judge.sources import copied, extension

pytestmark = pytest.mark.slow(30)

IMPORTS = "import torch\nfrom torch import nn\n"
SIZES = "rows = 64\ncolumns = 200\n"
ENDS = "\n\ndef get_inputs():\n    return [{drawn}]\n\ndef get_init_inputs():\n    return []\n"


def problem(model: str, drawn: str, declared: str = "") -> str:
    """A problem of this class Model, its own name being X, and what get_inputs() returns."""
    return IMPORTS + SIZES + model.replace("class X", "class Model") + ENDS.format(drawn=drawn) + declared


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


def test_layers_that_have_moved_keep_what_they_drew(judge: Judge) -> None:
    result = judge(answer(FUSED), problem_text=problem(THREE, "torch.rand(30, 24)"))
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
def test_right_with_the_references_parameters_or_with_its_own_draws_is_right(judge: Judge, made: str, forward: str, source: str) -> None:
    code = answer(PAIR.replace("MADE", made).replace("FORWARD", forward))
    result = judge(code, problem_text=problem(FIRST_A, "torch.rand(30, 24)"), shapes="others")
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert result.evidence.parameters is not None and result.evidence.parameters.source == source


SWAPPED = "self.b, self.a = nn.Linear(24, 24), nn.Linear(24, 24)"


@pytest.mark.parametrize(
    ("made", "forward"),
    [
        (SWAPPED, "self.b(self.a(x))"),
        (
            f"{SWAPPED}\n        self.first = self.a.weight.detach().clone()",
            "self.b(self.a(x)) if not torch.equal(self.a.weight, self.first) else __import__('os')._exit(3)",
        ),
    ],
    ids=["wrong", "ends"],
)
def test_wrong_with_its_own_draws_too_is_told_of_the_references(judge: Judge, made: str, forward: str) -> None:
    code = answer(PAIR.replace("MADE", made).replace("FORWARD", forward))
    result = judge(code, problem_text=problem(FIRST_A, "torch.rand(30, 24)"))
    assert (result.category, result.message[:8]) == (Category.WRONG_VALUES, "round 1:"), result.message
    assert result.evidence.exit is None and len(result.evidence.rounds) == 1
    assert result.evidence.parameters is not None and result.evidence.parameters.source == "copied"


def test_parameters_of_another_drawing_are_named(judge: Judge) -> None:
    made = "self.a, self.weight = nn.Linear(24, 24), nn.Parameter(torch.randn(24, 24))"
    code = answer(PAIR.replace("MADE", made).replace("FORWARD", "self.a(x).relu() @ self.weight.t()"))
    result = judge(code, problem_text=problem(FIRST_A, "torch.rand(30, 24)"))
    parameters = result.evidence.parameters
    assert result.category is Category.WRONG_VALUES and parameters is not None
    assert (parameters.unmatched, parameters.missing) == (("weight (24, 24)",), ("b.weight (24, 24)", "b.bias (24)"))


LAZY = LAYERS.replace("LAYERS", "nn.LazyLinear(24), nn.ReLU(), nn.LazyBatchNorm1d()").replace("FORWARD", "self.layers(x)")
NORM = PAIR.replace("MADE", "self.norm, self.drop = nn.BatchNorm1d(24), nn.Dropout(0.5)")
NORMED = NORM.replace("FORWARD", "self.drop(self.norm(x))")
BATCH = NORM.replace("FORWARD", "nn.functional.batch_norm(x, None, None, self.norm.weight, self.norm.bias, True)")
RUNNING = BATCH.replace("None, None", "self.norm.running_mean, self.norm.running_var").replace(", True)", ")")
CHANGES = forward("x += 1\n        return x.relu_()")
TANH, SUM, PLACES = forward("return torch.tanh(x)"), forward("return x.cumsum(1)"), forward("return x.argmax(2)")
KEPT = """
class X(nn.Module):
    known = None

    def forward(self, x):
        if WHEN:
            self.known, self.address = x.cumsum(1), x.data_ptr()
        return self.known.clone()
"""
ALWAYS_KEPT, KEPT_FOR_ONE = (
    KEPT.replace("WHEN", "self.known is None"),
    KEPT.replace("WHEN", "self.known is None or x.data_ptr() != self.address"),
)
KEPT_FOR_ALL = """
class X(nn.Module):
    known = {}

    def forward(self, x):
        return self.known.setdefault(x.data_ptr(), x.cumsum(1)).clone()
"""
FIRST_OF_ALL = """
class X(nn.Module):
    first = None

    def forward(self, x):
        self.first = x if self.first is None else self.first
        return self.first.cumsum(1)
"""
UNIFORM, NORMAL, FIVE = "torch.rand(40, 30)", "torch.randn(30, 24)", "torch.randint(0, 5, (6, 40, 100)) / 2.0"
EARLY = "^round [234]"
"""Not later: `runs` stays at the address before, and comes when it likes."""
JUDGED = [
    # The reference and its parameters.
    ("torch.rand(30, 24)", CHANGES, forward("return (x + 1).relu()"), ""),
    ("torch.rand(30, 24)", LAZY, LAZY, ""),
    ("torch.rand(30, 24)", NORMED, BATCH, ""),
    ("torch.rand(30, 24)", NORMED, RUNNING, "WRONG_VALUES"),
    (f"{UNIFORM}, torch.rand(())", forward("return x * s", "x, s"), forward("return s * x", "x, s"), ""),
    # Answers that are kept, where draws are all the same too.
    ("torch.rand(30, 24, generator=torch.Generator().manual_seed(0))", SUM, ALWAYS_KEPT, "WRONG_VALUES"),
    ("torch.linspace(0.1, 1, 720).view(30, 24)", SUM, ALWAYS_KEPT, "WRONG_VALUES"),
    (NORMAL, SUM, KEPT_FOR_ALL, f"WRONG_VALUES {EARLY}"),
    (NORMAL, SUM, FIRST_OF_ALL, f"WRONG_VALUES {EARLY}"),
    (NORMAL, SUM, KEPT_FOR_ONE, f"WRONG_VALUES {EARLY}"),
    # What other distributions show.
    ("torch.rand(64, 200)", TANH, forward("return torch.where(x.abs() > 1.5, torch.nan, torch.tanh(x))"), "NAN_OR_INF scaled"),
    (UNIFORM, forward("return x.relu() * 2"), forward("return x * 2"), "WRONG_VALUES '(signs|scaled|rows|runs)'"),
    # Places of many equal elements.
    (FIVE, PLACES, forward("k = torch.arange(100)\n        return torch.where(x == x.amax(2, True), k, 999).amin(2)"), ""),
    (FIVE, PLACES, forward("return x.argmin(2)"), "WRONG_VALUES"),
    (FIVE, PLACES, forward("return (x + 0.6 * torch.arange(100) / 100).argmax(2)"), "WRONG_VALUES"),
    # An answer may count on what the inputs always are.
    ("torch.randn(40, 30).abs() + 0.1", forward("return x.log()"), forward("return x.abs().log()"), ""),
    (f"{UNIFORM}.sort(1).values", forward("return x.amax(1)"), forward("return x[:, -1].clone()"), ""),
    ("(lambda a: a + a.mT)(torch.randn(40, 40))", forward("return x @ x"), forward("return x @ x.mT"), ""),
    (f"{UNIFORM}.softmax(1)", forward("return x / x.sum(1, True)"), forward("return x.clone()"), ""),
    (f"({UNIFORM} < 0.5).float()", forward("return x * x"), forward("return x.clone()"), ""),
    ("torch.randn(40, 40).tril()", forward("return x.tril() @ x.tril()"), forward("return x @ x"), ""),
]


@pytest.mark.parametrize(("drawn", "reference", "submission", "wrong"), JUDGED, ids=map(str, range(len(JUDGED))))
def test_what_is_right_and_what_is_wrong(judge: Judge, drawn: str, reference: str, submission: str, wrong: str) -> None:
    """`wrong` is a category and what the message says; empty if the submission is right."""
    category, _, said = (wrong or "NO_CUSTOM_KERNEL").partition(" ")
    result = judge(answer(submission), problem_text=problem(reference, drawn))
    assert result.category is Category[category] and re.search(said, result.message), result.message


VARIANCE = "v = x.var(1, keepdim=True, unbiased=False)\n        return (x - x.mean(1, keepdim=True)) / (v + 1e-5).sqrt()"
MOMENTS = "m = x.mean(1, keepdim=True)\n        v = (x * x).mean(1, keepdim=True) - m * m\n        return (x - m) / (v + 1e-5).sqrt()"


def kernel(body: str) -> str:
    """A submission whose forward() does `body`, and passes the answer through an extension of its own."""
    return copied(answer(forward(body)))


def test_robust_says_whether_other_inputs_are_answered_rightly(judge: Judge) -> None:
    text = problem(forward(VARIANCE), "torch.randn(rows, columns)")
    stable = judge(kernel(VARIANCE), problem_text=text, shapes="others")
    assert (stable.category, stable.evidence.robust) == (Category.OK, "yes"), stable.message
    moments = judge(kernel(MOMENTS), problem_text=text, shapes="others")
    assert (moments.category, moments.evidence.robust) == (Category.OK, "no"), moments.message
    found = distributions(moments)
    assert found["shifted"] is False and found["wide"] is True
    assert list(found) == ["wide", "ties", "shifted", "special"]
    shifted = next(each for each in moments.evidence.changed_inputs if each.distribution == "shifted")
    assert shifted.category in (Category.WRONG_VALUES, Category.PRECISION_LOSS) and (shifted.max_error or 0) > 1e-4
    assert moments.evidence.generalises == "yes"


def test_strict_inputs_decide(judge: Judge) -> None:
    text = problem(forward(VARIANCE), "torch.randn(rows, columns)")
    result = judge(kernel(MOMENTS), problem_text=text, strict_inputs=True)
    assert (result.status, "shifted" in result.message) == (Status.INCORRECT, True), result.message
    assert result.evidence.rounds[-1].distribution == "shifted"
    stable = judge(kernel(VARIANCE), problem_text=text, strict_inputs=True, shapes="others")
    assert (stable.category, stable.evidence.robust) == (Category.OK, "untested"), stable.message


def test_where_any_inputs_are_declared_all_decide(judge: Judge) -> None:
    text = problem(forward(VARIANCE), "torch.randn(rows, columns)", "\nASSAY = {'inputs': 'any'}\n")
    result = judge(kernel(MOMENTS), problem_text=text)
    assert (result.status, "shifted" in result.message) == (Status.INCORRECT, True), result.message


@pytest.mark.parametrize("ending", ["__import__('os')._exit(3)", "__import__('time').sleep(600)", "exec('raise ValueError(1)')"])
def test_no_verdict_changes_by_how_a_worker_ends_on_other_inputs(judge: Judge, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr("evaluator.judge.limits.ABLATED_S", 60.0 if "sleep" not in ending else 6.0)
    text = problem(TANH, "torch.randn(rows, columns)")
    body = f"(x.abs().median() < 0.1) and {ending}\n        return x.tanh()"
    result = judge(kernel(body), problem_text=text, shapes="others")
    assert (result.category, result.evidence.robust, distributions(result)) == (Category.OK, "no", {"wide": False}), result.message
    assert result.evidence.exit is None and result.evidence.exception is None
    assert result.evidence.generalises == "yes"


ROUNDED = """
static float narrowed(float value) {  // to ten bits of mantissa, the nearest
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    bits = (bits + 0xFFFu + ((bits >> 13) & 1u)) & ~0x1FFFu;
    std::memcpy(&value, &bits, 4);
    return value;
}
"""
PRODUCTS = """
    for (int64_t i = 0, inner = 4096; i < count / inner * 7; ++i) {
        float sums[16] = {};
        for (int64_t k = 0; k < inner; ++k) sums[k % 16] += NARROWED(a[i / 7 * inner + k]) * NARROWED(b[i % 7 * inner + k]);
        y[i] = 0;
        for (float part : sums) y[i] += part;
    }
"""
PRODUCT = forward("return a @ b", "a, b")


@pytest.mark.parametrize(
    ("narrowed", "drawn", "category"),
    [
        ("narrowed", "torch.rand(6, 4096), torch.rand(4096, 7)", Category.REDUCED_PRECISION),
        ("", "torch.rand(6, 4096), torch.rand(4096, 7)", Category.OK),
        ("narrowed", "torch.randn(6, 4096), torch.randn(4096, 7)", Category.PRECISION_LOSS),
        ("", "torch.randn(6, 4096), torch.randn(4096, 7)", Category.OK),
    ],
)
def test_ten_bits_of_mantissa_are_reduced_precision_where_they_pass(judge: Judge, narrowed: str, drawn: str, category: Category) -> None:
    text = problem(PRODUCT, drawn)
    code = extension(PRODUCTS.replace("NARROWED", narrowed), "a b", ROUNDED)
    code += answer(forward("return run(torch.empty(a.size(0), b.size(1)), a, b.t())", "a, b"))
    result = judge(code, problem_text=text)
    assert result.category is category, result.message


def test_what_rounds_leave_out_is_not_asked_in_timed_calls(judge: Judge) -> None:
    """The reference's root of a negative number is NaN, so `signs` does not decide."""
    text = problem(forward("return x.sqrt()"), "torch.rand(40, 300)")
    result = judge(answer(forward("return x.clamp_min(0).sqrt()")), problem_text=text)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    left_out = {found.distribution for found in result.evidence.rounds if found.message.startswith("left out")}
    assert left_out == {"signs"}
