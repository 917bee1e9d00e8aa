"""Submissions of problems in KernelBench's form, which declare nothing, judged on the CPU from end to end."""

import re

import pytest

from evaluator.results.category import Category, Status
from evaluator.results.result import Result
from tests.judge.conftest import Judge
from tests.judge.sources import copied

pytestmark = pytest.mark.slow(30)

IMPORTS = "import torch\nfrom torch import nn\n"
SIZES = "rows = 64\ncolumns = 200\n"
ENDS = "\n\ndef get_inputs():\n    return [{drawn}]\n\ndef get_init_inputs():\n    return []\n"


def problem(model: str, drawn: str) -> str:
    """A problem of this class Model, its own name being X, and what get_inputs() returns."""
    return IMPORTS + SIZES + model.replace("class X", "class Model") + ENDS.format(drawn=drawn)


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
PAIR = """
class X(nn.Module):
    def __init__(self):
        super().__init__()
        MADE

    def forward(self, x):
        return FORWARD
"""
SWAPPED = "self.b, self.a = nn.Linear(24, 24), nn.Linear(24, 24)"
FIRST_A = PAIR.replace("MADE", "self.a, self.b = nn.Linear(24, 24), nn.Linear(24, 24)").replace("FORWARD", "self.b(self.a(x).relu())")


@pytest.mark.parametrize(
    ("made", "forward", "source"),
    [
        # The same names in another order: those of the reference are copied.
        (SWAPPED, "self.b(self.a(x).relu())", "copied"),
        # Its b is the reference's a, as it was drawn.
        (SWAPPED, "self.a(self.b(x).relu())", "drawn"),
    ],
)
def test_right_with_the_references_parameters_or_with_its_own_draws_is_right(judge: Judge, made: str, forward: str, source: str) -> None:
    code = answer(PAIR.replace("MADE", made).replace("FORWARD", forward))
    result = judge(code, problem_text=problem(FIRST_A, "torch.rand(30, 24)"), shapes="others")
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    assert result.evidence.parameters is not None and result.evidence.parameters.source == source


def test_wrong_with_its_own_draws_too_is_told_of_the_references(judge: Judge) -> None:
    code = answer(PAIR.replace("MADE", SWAPPED).replace("FORWARD", "self.b(self.a(x))"))
    result = judge(code, problem_text=problem(FIRST_A, "torch.rand(30, 24)"))
    assert (result.category, result.message[:8]) == (Category.WRONG_VALUES, "round 1:"), result.message
    assert len(result.evidence.rounds) == 1
    assert result.evidence.parameters is not None and result.evidence.parameters.source == "copied"


LAZY = LAYERS.replace("LAYERS", "nn.LazyLinear(24), nn.ReLU(), nn.LazyBatchNorm1d()").replace("FORWARD", "self.layers(x)")
NORM = PAIR.replace("MADE", "self.norm, self.drop = nn.BatchNorm1d(24), nn.Dropout(0.5)")
NORMED = NORM.replace("FORWARD", "self.drop(self.norm(x))")
OF_RUNNING = "x, self.norm.running_mean, self.norm.running_var, self.norm.weight, self.norm.bias"
RUNNING = NORM.replace("FORWARD", f"nn.functional.batch_norm({OF_RUNNING})")
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
    # Places of many equal elements.
    (FIVE, PLACES, forward("return x.argmin(2)"), "WRONG_VALUES"),
    (FIVE, PLACES, forward("return (x + 0.6 * torch.arange(100) / 100).argmax(2)"), "WRONG_VALUES"),
    # An answer may count on what the inputs always are.
    ("torch.randn(40, 30).abs() + 0.1", forward("return x.log()"), forward("return x.abs().log()"), ""),
    (f"{UNIFORM}.softmax(1)", forward("return x / x.sum(1, True)"), forward("return x.clone()"), ""),
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


@pytest.mark.parametrize("ending", ["__import__('os')._exit(3)", "__import__('time').sleep(600)", "exec('raise ValueError(1)')"])
def test_no_verdict_changes_by_how_a_worker_ends_on_other_inputs(judge: Judge, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    monkeypatch.setattr("evaluator.judge.limits.ABLATED_S", 60.0 if "sleep" not in ending else 6.0)
    text = problem(TANH, "torch.randn(rows, columns)")
    body = f"(x.abs().median() < 0.1) and {ending}\n        return x.tanh()"
    result = judge(kernel(body), problem_text=text, shapes="others")
    assert (result.category, result.evidence.robust, distributions(result)) == (Category.OK, "no", {"wide": False}), result.message
    assert result.evidence.exit is None and result.evidence.exception is None
    assert result.evidence.generalises == "yes"


def test_what_rounds_leave_out_is_not_asked_in_timed_calls(judge: Judge) -> None:
    """The reference's root of a negative number is NaN, so `signs` does not decide."""
    text = problem(forward("return x.sqrt()"), "torch.rand(40, 300)")
    result = judge(answer(forward("return x.clamp_min(0).sqrt()")), problem_text=text)
    assert result.category is Category.NO_CUSTOM_KERNEL, result.message
    left_out = {found.distribution for found in result.evidence.rounds if found.message.startswith("left out")}
    assert left_out == {"signs"}
