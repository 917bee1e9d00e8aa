"""A problem, its cases, and what is drawn from them."""

import copy
import hashlib
import random
from pathlib import Path

import numpy
import pytest
import torch

from evaluator.problem.execute import ProblemError
from evaluator.problem.load import load
from evaluator.problem.problem import Problem

PLAIN = """\
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, 3)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x, indices, more):
        return self.dropout(self.linear(x))

batch_size = 6
features = 5

def get_inputs():
    return [torch.rand(batch_size, features), torch.randint(0, 9, (batch_size,)), {"pair": (torch.rand(2), 0.5)}]

def get_init_inputs():
    return [features]
"""
DECLARED = PLAIN + 'ASSAY = dict(cases={"full": {}, "small": {"batch_size": 2}}, dtype="float16", tolerance=2, rows_independent=True)\n'


def problem(folder: Path, source: str = PLAIN, name: str = "plain") -> Problem:
    path = folder / f"{name}.py"
    path.write_text(source)
    return load(path)


def test_its_names_are_those_at_module_level(tmp_path: Path) -> None:
    more = "import os.path, math as m\nfrom re import sub\nPAIR = one, two = 1, 2\ndef helper(a):\n    inner = len(a)\n    return inner\n"
    names = problem(tmp_path, PLAIN + more).names
    assert {"Model", "get_inputs", "torch", "os", "m", "sub", "PAIR", "one", "two", "helper"} <= names
    assert not names & {"inner", "a", "len", "forward", "math", "path"}


def test_a_plain_kernelbench_file_works_unchanged(tmp_path: Path) -> None:
    loaded = problem(tmp_path)
    assert (loaded.name, loaded.case_names, loaded.source) == ("plain", ("full",), PLAIN)
    assert loaded.sha256 == hashlib.sha256(PLAIN.encode()).hexdigest()
    assert loaded.default_case("cpu") == loaded.default_case("cuda") == "full"
    case = loaded.instance("full")
    assert case.init_inputs(1) == [5]
    inputs = case.inputs(1, "cpu")
    assert case.model(1)(*inputs).shape == (6, 3)
    assert (case.dtype, case.dtype_name, case.rows_independent, case.constants) == (None, None, False, {})
    assert loaded.declaration.tolerance == 1.0


def test_a_declared_case_sets_constants_and_dtype(tmp_path: Path) -> None:
    loaded = problem(tmp_path, DECLARED)
    assert (loaded.default_case("cpu"), loaded.default_case("cuda")) == ("small", "full")
    small, full = loaded.instance("small"), loaded.instance("full")
    x, indices, more = small.inputs(1, "cpu")
    assert (x.shape, x.dtype, indices.dtype) == ((2, 5), torch.float16, torch.int64)
    assert (more["pair"][0].dtype, more["pair"][1]) == (torch.float16, 0.5)
    assert {parameter.dtype for parameter in small.model(1).parameters()} == {torch.float16}
    assert full.inputs(1, "cpu")[0].shape == (6, 5)
    assert (small.dtype, small.rows_independent, small.constants) == (torch.float16, True, {"batch_size": 2})
    assert loaded.declaration.tolerance == 2.0
    assert (small.module.batch_size, full.module.batch_size) == (2, 6)


def test_draws_follow_their_seed_alone(tmp_path: Path) -> None:
    case = problem(tmp_path).instance("full")
    torch.manual_seed(1)
    first, parameters = case.inputs(7, "cpu")[0], case.model(7).state_dict()
    torch.manual_seed(2)
    torch.rand(5)
    assert torch.equal(case.inputs(7, "cpu")[0], first)
    assert torch.equal(case.model(7).state_dict()["linear.weight"], parameters["linear.weight"])
    assert not torch.equal(case.inputs(8, "cpu")[0], first)
    assert not torch.equal(case.model(8).state_dict()["linear.weight"], parameters["linear.weight"])
    case.inputs(2**48 - 1, "cpu")


def test_seeds_that_get_inputs_sets_have_no_effect(tmp_path: Path) -> None:
    path = tmp_path / "seeded.py"
    drawn = "torch.manual_seed(0), numpy.random.seed(0), random.seed(0), torch.cuda.manual_seed_all(0)"
    path.write_text(
        "import random\nimport numpy\nimport torch\nfrom torch import nn\n\n"
        "class Model(nn.Module):\n    def forward(self, *x):\n        return x[0]\n\n"
        f"def get_inputs():\n    {drawn}\n    return [torch.rand(9), torch.from_numpy(numpy.random.rand(9)), random.random()]\n\n"
        "def get_init_inputs():\n    return []\n"
    )
    case = load(path).instance("full")
    first, again, other = case.inputs(1, "cpu"), case.inputs(1, "cpu"), case.inputs(2, "cpu")
    assert all(torch.equal(torch.as_tensor(one), torch.as_tensor(two)) for one, two in zip(first, again, strict=True))
    assert not any(torch.equal(torch.as_tensor(one), torch.as_tensor(two)) for one, two in zip(first, other, strict=True))
    torch.manual_seed(3)
    assert torch.initial_seed() == 3


def test_draws_leave_every_generator_as_it_was(tmp_path: Path) -> None:
    source = PLAIN.replace("batch_size = 6", "import random, numpy\nbatch_size = 6").replace(
        "def get_inputs():", "def get_inputs():\n    random.random(), numpy.random.rand()"
    )
    states = torch.get_rng_state(), random.getstate(), numpy.random.get_state(legacy=False)["state"]["key"].tobytes()
    case = problem(tmp_path, source).instance("full")
    case.inputs(3, "cpu")
    case.model(3)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (random.getstate(), numpy.random.get_state(legacy=False)["state"]["key"].tobytes()) == states[1:]


def test_inputs_are_drawn_on_the_device(tmp_path: Path) -> None:
    case = problem(tmp_path).instance("full")
    assert [tensor.device.type for tensor in case.inputs(1, "meta")[:2]] == ["meta", "meta"]
    assert {parameter.device.type for parameter in case.model(1, "meta").parameters()} == {"meta"}


@pytest.mark.gpu
def test_a_gpu_draws_its_own_inputs_and_keeps_its_generator(tmp_path: Path) -> None:
    case = problem(tmp_path).instance("full")
    state = torch.cuda.get_rng_state(0)
    first, again = case.inputs(1, "cuda:0")[0], case.inputs(1, torch.device("cuda", 0))[0]
    assert first.device == torch.device("cuda", 0)
    assert torch.equal(first, again)
    assert not torch.equal(first, case.inputs(2, "cuda:0")[0])
    assert torch.equal(torch.cuda.get_rng_state(0), state)
    on_gpu, on_cpu = (case.model(1, device).state_dict()["linear.weight"] for device in ("cuda:0", "cpu"))
    assert torch.equal(on_gpu.cpu(), on_cpu)


def test_a_case_has_all_constants_that_any_case_sets(tmp_path: Path) -> None:
    declared = PLAIN + 'ASSAY = dict(cases={"full": {}, "small": {"batch_size": 2}}, workloads={"one": {}, "two": {"features": 7}})\n'
    loaded = problem(tmp_path, declared)
    assert [loaded.instance(name).settings for name in ("full", "small", "two")] == [
        {"batch_size": 6, "features": 5},
        {"batch_size": 2, "features": 5},
        {"batch_size": 6, "features": 7},
    ]


@pytest.mark.parametrize(
    ("line", "anywhere"),
    [
        ("self.register_buffer('kept', torch.rand(2))", True),
        ("self.start = torch.rand(2)", False),
        ("self.parts = {'start': [torch.rand(2)]}", False),
        ("self.register_buffer('mask', torch.rand(2), persistent=False)", False),
        ("self.shift = torch.randint(9, (1,)).item()", False),
    ],
)
def test_another_device_draws_what_a_submission_is_given(tmp_path: Path, line: str, anywhere: bool) -> None:
    source = PLAIN.replace("        self.dropout", f"        {line}\n        self.dropout")
    assert problem(tmp_path, source).instance("full").is_drawn_anywhere is anywhere


@pytest.mark.gpu
def test_a_gpu_draws_parameters_if_any_device_may(tmp_path: Path) -> None:
    case = problem(tmp_path).instance("full")
    on_gpu, on_cpu = (case.model(1, "cuda:0", anywhere=anywhere).state_dict()["linear.weight"] for anywhere in (True, False))
    assert on_gpu.device.type == "cuda" and not torch.equal(on_gpu, on_cpu)


@pytest.mark.parametrize(
    ("old", "new", "line", "rule"),
    [
        ("return [torch.rand(batch_size,", "return [torch.rand('x',", 17, "get_inputs() raised TypeError: "),
        ("return [torch.rand(batch_size, features)", "return torch.rand(batch_size, features) #", 16, "returned a Tensor; return a list"),
        ("return [features]", "return [features, 1, 2]", None, "Model() raised TypeError: "),
    ],
)
def test_a_failure_in_a_draw_is_named_with_line_and_rule(tmp_path: Path, old: str, new: str, line: int | None, rule: str) -> None:
    case = problem(tmp_path, PLAIN.replace(old, new)).instance("full")
    with pytest.raises(ProblemError) as caught:
        case.model(1)(*case.inputs(1, "cpu"))
    assert (caught.value.line, rule in caught.value.rule) == (line, True), str(caught.value)


def test_an_unknown_case_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="nearest: small"):
        problem(tmp_path, DECLARED).instance("smal")


PROCEDURE = """
import torch
from torch import nn

rows = 4

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.frozen = nn.Parameter(torch.ones(2), requires_grad=False)

    def forward(self, x, places):
        if IN_PLACE:
            x[0] = 0
        return self.linear(x), places

def get_inputs():
    return [torch.randn(rows, 3), torch.arange(rows)]

def get_init_inputs():
    return []

IN_PLACE = False
"""


def test_a_backward_pass_has_directions_among_its_inputs_and_gradients_in_its_answer(tmp_path: Path) -> None:
    assay = "ASSAY = {'backward': True, 'dtype': 'bfloat16', 'generalisation': {'odd': {'rows': 7}}}"
    loaded = problem(tmp_path, PROCEDURE + assay)
    case = loaded.instance("odd")
    assert loaded.case_names == ("full",) and case.procedure_of(case.model(0)).backward == ("linear.weight", "linear.bias")
    x, places, (direction,) = case.inputs(1, "cpu")
    assert (direction.shape, direction.dtype, places.shape) == ((7, 2), torch.bfloat16, (7,))
    again, other = case.inputs(1, "cpu")[2][0], case.inputs(2, "cpu")[2][0]
    assert torch.equal(direction, again) and not torch.equal(direction, other)
    for model in (case.model(1), copy.deepcopy(case.model(1))):
        with torch.no_grad():
            answer = model(x, places, [direction])
        assert torch.equal(answer["parameters"]["linear.bias"], direction.sum(0))
        assert [name for name, _ in model.named_parameters()] == ["frozen", "linear.weight", "linear.bias"]
    assert case.inputs(1, "meta")[2][0].device.type == "meta"


def test_arguments_that_are_changed_are_in_the_answer(tmp_path: Path) -> None:
    case = problem(tmp_path, PROCEDURE.replace("IN_PLACE = False", "IN_PLACE = True") + "ASSAY = {'in_place': [0]}").instance("full")
    x, places = case.inputs(1, "cpu")
    before = x.clone()
    with torch.no_grad():
        answer = case.model(1)(x, places)
    assert torch.equal(x, before) and (answer["changed"][0][0] == 0).all() and torch.equal(answer["changed"][0][1:], x[1:])


def test_a_forward_that_raises_is_named_with_its_line_where_its_answer_has_to_be_known(tmp_path: Path) -> None:
    source = PROCEDURE.replace("return self.linear(x), places", "return self.linear(x) + 'x'") + "ASSAY = {'backward': True}"
    with pytest.raises(ProblemError, match=r"plain.py:16: forward\(\) raised TypeError"):
        problem(tmp_path, source).instance("full").inputs(1, "cpu")


def test_a_problem_in_another_precision_is_the_same_function_of_rounded_inputs(tmp_path: Path) -> None:
    plain = problem(tmp_path)
    assert plain.in_precision(None) is plain and plain.precision == "own"
    other = plain.in_precision("bfloat16")
    assert (other.precision, other.sha256, other.case_names) == ("bfloat16", plain.sha256, plain.case_names)
    (x, indices, _), (own, _, _) = other.instance("full").inputs(1, "cpu"), plain.instance("full").inputs(1, "cpu")
    assert x.dtype is torch.bfloat16 and torch.equal(x, own.to(torch.bfloat16)) and indices.dtype is torch.int64
    assert {parameter.dtype for parameter in other.instance("full").model(1).parameters()} == {torch.bfloat16}
    declared = problem(tmp_path, DECLARED)
    assert declared.in_precision("float16") is declared


def test_a_precision_that_the_file_leaves_out_is_refused(tmp_path: Path) -> None:
    declared = problem(tmp_path, PLAIN + "ASSAY = {'dtypes': ['float32', 'float64']}")
    assert declared.in_precision("float64").precision == "float64"
    with pytest.raises(ProblemError, match="allows float32, float64, not float16"):
        declared.in_precision("float16")


NORM = PLAIN.replace("nn.Linear(features, 3)", "nn.Sequential(nn.Linear(features, 3), nn.BatchNorm1d(3))")


@pytest.mark.parametrize(
    ("source", "trains"),
    [
        (PLAIN, False),
        (NORM, True),
        (NORM + "ASSAY = dict(mode='eval')\n", False),
        (NORM + "ASSAY = dict(mode='train')\n", True),
        (PLAIN + "ASSAY = dict(mode='train')\n", True),
    ],
    ids=["nothing declared", "a batch norm", "a batch norm in evaluation", "a batch norm in training", "training"],
)
def test_a_batch_norm_takes_the_batchs_statistics_unless_evaluation_is_declared(tmp_path: Path, source: str, trains: bool) -> None:
    case = problem(tmp_path, source).instance("full")
    model = case.model(1)
    assert model.training is case.procedure_of(model).train is trains
    assert not model.get_submodule("dropout").training
    if source.startswith(NORM):
        inputs = case.inputs(1, "cpu")
        means = model(*inputs).mean(0)
        assert bool((means.abs() < 1e-5).all()) is trains


@pytest.mark.parametrize(
    ("declared", "expected"), [("", False), ("ASSAY = dict(inputs='any')", True), ("ASSAY = dict(inputs='drawn')", False)]
)
def test_inputs_are_the_drawn_ones_unless_any_are_declared(tmp_path: Path, declared: str, expected: bool) -> None:
    assert problem(tmp_path, PLAIN + declared).instance("full").any_inputs is expected


KEEPING = """\
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x, y):
        return x + y

X = torch.arange(12.0).view(3, 4)

def get_inputs():
    return [X, {"turned": X.t(), "drawn": torch.rand(4)}]

def get_init_inputs():
    return []
"""


def test_a_tensor_that_the_file_keeps_is_copied_and_a_drawn_one_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judging changes draws in their place: the tensor of the file would change with each of them."""
    case = problem(tmp_path, KEEPING).instance("full")
    for _ in range(2):
        x, more = case.inputs(1, "cpu")
        assert torch.equal(x, torch.arange(12.0).view(3, 4)) and torch.equal(more["turned"], x.t())
        x.zero_(), more["turned"].zero_()
    clone, cloned = torch.Tensor.clone, list[torch.Size]()

    def noted(tensor: torch.Tensor) -> torch.Tensor:
        cloned.append(tensor.shape)
        return clone(tensor)

    monkeypatch.setattr(torch.Tensor, "clone", noted)
    case.inputs(1, "cpu")
    assert set(cloned) == {(3, 4), (4, 3)}
