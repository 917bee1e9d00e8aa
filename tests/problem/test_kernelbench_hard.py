"""KernelBench-Hard: folders of one problem, and files of its solutions. Those here are made for the tests."""

from pathlib import Path

import pytest

from command import judge as judge_command
from db.store import Store
from evaluator.problem.catalogue import described, discover
from evaluator.problem.execute import ProblemError
from evaluator.problem.load import load
from evaluator.problem.problem import Problem

REFERENCE = '''"""Sums of rows."""
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, rows: int, columns: int):
        super().__init__()
        self.register_buffer("weight", torch.full((columns,), float(rows)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * self.weight).sum(1)


ROWS: int = 8
COLUMNS = 24


def get_inputs():
    torch.manual_seed(0)
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return [ROWS, COLUMNS]
'''
SHAPES = 'SHAPES = [\n    {"rows": 4, "columns": 16},  # few\n    {"rows": 8, "columns": 24},\n]\n'
FACTS = """name: 05_row_sums
display_name: "Sums of rows"
precision: fp32
flops_formula: "rows * columns * 2"
bytes_formula: "rows * columns * 4 + (columns / 2) * 4"
tolerance:
  float32: 1.0e-4
forbidden: ["torch.sum"]
"""
SOLUTION = """import torch
from torch.utils.cpp_extension import load_inline

ops = load_inline("row_sums", '''
#include <torch/extension.h>
at::Tensor run(at::Tensor x, at::Tensor w) {
    auto out = at::zeros({x.size(0)}, x.options());
    for (int64_t row = 0; row < x.size(0); ++row) {
        double sum = 0;
        for (int64_t i = 0; i < x.size(1); ++i) sum += x.data_ptr<float>()[row * x.size(1) + i] * w.data_ptr<float>()[i];
        out.data_ptr<float>()[row] = sum;
    }
    return out;
}
''', functions=["run"])


class Model(torch.nn.Module):
    def __init__(self, rows, columns):
        super().__init__()
        self.register_buffer("weight", torch.zeros(columns))

    def forward(self, x):
        return ops.run(x, self.weight)
"""
FILE = "20260618_041709_claude_claude-opus-4-8_05_row_sums_solution.py.txt"


@pytest.fixture(autouse=True)
def cache_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


def tree(folder: Path, reference: str = REFERENCE, shapes: str = SHAPES, facts: str | None = FACTS) -> Path:
    """A folder of problems with one, and the runner that stands in its folder."""
    problem = folder / "problems-h100" / "05_row_sums"
    problem.mkdir(parents=True)
    for name, text in (("reference.py", reference), ("shapes.py", shapes), ("problem.yaml", facts), ("check.py", "import shapes\n")):
        if text is not None:
            (problem / name).write_text(text, encoding="utf-8")
    return problem.parent


def loaded(folder: Path) -> Problem:
    return load(discover([folder])["05_row_sums"])


def test_a_folder_is_a_problem_whose_shapes_are_workloads(tmp_path: Path) -> None:
    root = tree(tmp_path)
    problem = loaded(root)
    assert described(root) == "1 problem in problems-h100" and loaded(root / "05_row_sums") == problem
    assert (problem.name, problem.declaration.description) == ("05_row_sums", "Sums of rows")
    assert problem.facts.case_names == ("full", "4x16", "8x24", "all") and problem.default_case("cuda") == "all"
    first, second = problem.workloads()
    assert (first.constants, second.constants) == ({"ROWS": 4, "COLUMNS": 16}, {"ROWS": 8, "COLUMNS": 24})
    (x,), (again,) = first.inputs(1, "cpu"), first.inputs(2, "cpu")
    assert x.shape == (4, 16) and not x.equal(again), "a seed in get_inputs() does not make inputs repeat"
    floor = problem.declaration.floor
    assert floor is not None and floor.operations == "ROWS * COLUMNS * 2" and floor.bytes == "ROWS * COLUMNS * 4 + COLUMNS / 2 * 4"


def test_the_facts_may_be_missing(tmp_path: Path) -> None:
    declared = loaded(tree(tmp_path, facts=None)).declaration
    assert (declared.description, declared.floor) == ("05_row_sums", None)


def test_another_content_is_another_problem(tmp_path: Path) -> None:
    before, after = loaded(tree(tmp_path / "a")), loaded(tree(tmp_path / "b", shapes=SHAPES.replace("24", "32")))
    assert before.sha256 != after.sha256 and after.case_names == ("full", "4x16", "8x32")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "file", "said"),
    [
        ({"shapes": "SHAPES = [dict(rows=n) for n in (1, 2)]\n"}, "shapes.py:1", "SHAPES is computed; write it out"),
        ({"shapes": "SHAPES = [1" + " + 1" * 20000 + "]\n"}, "shapes.py", ""),
        ({"shapes": "\nSHAPES = []\n"}, "shapes.py:2", "no list of dicts"),
        ({"shapes": "SHAPES = [{'lines': 3}]\n"}, "shapes.py:1", "assigns no constant 'lines'"),
        ({"shapes": "SHAPES = [{'rows': 3, 'ROWS': 4}]\n"}, "shapes.py:1", "no constant 'ROWS' of its own"),
        ({"shapes": "SHAPES = [\n"}, "shapes.py:1", "not valid Python"),
        ({"reference": REFERENCE + "ASSAY = {'tolerance': 3.0}\n"}, "reference.py", "it has ASSAY"),
        ({"facts": "name: [1\n"}, "problem.yaml", "not YAML"),
        ({"facts": "day: 2024-13-45\n"}, "problem.yaml", "not YAML"),
        ({"facts": "- name\n"}, "problem.yaml", "not a mapping"),
        ({"facts": "bytes_formula: max(rows, 2)\n"}, "problem.yaml", "only numbers, names and"),
    ],
)
def test_a_faulty_folder_harms_no_other_problem(changed: dict[str, str], file: str, said: str, tmp_path: Path) -> None:
    root = tree(tmp_path, **changed)
    (root / "well.py").write_text(REFERENCE, encoding="utf-8")
    found = discover([root])
    assert load(found["well"]).name == "well"
    with pytest.raises(ProblemError) as raised:
        load(found["05_row_sums"])
    assert str(root / "05_row_sums" / file) in str(raised.value) and said in str(raised.value)


def test_another_folder_is_no_problem(tmp_path: Path) -> None:
    root = tree(tmp_path)
    tree(tmp_path / "plain", shapes="COUNT = 3\n").rename(root / "plain")
    (root / "plain" / "05_row_sums").rename(root / "06_other")
    assert discover([root]).keys().isdisjoint({"plain", "06_other"})


def test_what_a_reader_changes_is_not_judged_in_the_cache(tmp_path: Path) -> None:
    path = discover([tree(tmp_path)])["05_row_sums"]
    assert not path.stat().st_mode & 0o222 and "05_row_sums': change them there" in path.read_text()


@pytest.mark.parametrize(
    ("precision", "counts"), [("bf16", True), ("int4_bf16", True), ("FP8_e4m3", False), ("nvfp4", False), ("w8a8", False)]
)
def test_operations_count_if_they_need_sixteen_bits(precision: str, counts: bool, tmp_path: Path) -> None:
    floor = loaded(tree(tmp_path, facts=FACTS.replace("fp32", precision))).declaration.floor
    assert floor is not None and (floor.operations != "0") is counts and floor.bytes != "0"


@pytest.mark.build
def test_a_solution_is_judged_as_it_is(tmp_path: Path) -> None:
    solutions = tmp_path / "runs"
    solutions.mkdir()
    (solutions / FILE).write_text(SOLUTION, encoding="utf-8")
    (solutions / "20260618_050350_cursor_composer_05_row_sums_solution.py.txt").write_text(SOLUTION.replace("= 0; i", "= 1; i"))
    url = f"sqlite:///{tmp_path}/assay.db"
    judge_command.main([str(solutions), "--reference", str(tree(tmp_path)), "--db", url, "--device", "cpu"])
    with Store.open(url) as store:
        found = {result.author: (str(result.category), result.problem, result.case) for result in (each.result for each in store.each())}
    assert found == {
        "claude_claude-opus-4-8": ("ok", "05_row_sums", "all"),
        "cursor_composer": ("wrong_values", "05_row_sums", "all"),
    }
