"""Problem files that are loaded, and those that break a rule."""

from pathlib import Path

import pytest

from evaluator.problem.execute import ProblemError
from evaluator.problem.load import load
from tests.problem.test_problem import PLAIN, problem


@pytest.mark.parametrize(
    ("old", "new", "line", "rule"),
    [
        ("class Model(", "class Modell(", 1, "the file defines no class Model; write the reference as class Model(nn.Module)"),
        ("class Model(nn.Module)", "class Model(object)", 4, "Model is not a class derived from nn.Module; write"),
        ("def get_inputs", "def inputs", 1, "defines no function get_inputs(); define get_inputs() so that it returns a list"),
        ("def get_init_inputs", "def init_inputs", 1, "defines no function get_init_inputs(); define"),
        ("return [features]", "return [features]\nget_inputs = 3", 16, "get_inputs is not a function; define get_inputs()"),
        ("batch_size = 6", "batch_size = 6 / 0", 13, "importing the file raised ZeroDivisionError: "),
        ("batch_size = 6", "raise SystemExit(3)", 13, "SystemExit"),
        ("batch_size = 6", "import nothing_of_this_name", 13, "ModuleNotFoundError"),
        ("batch_size = 6", "batch_size = (", 13, "the file is not valid Python: "),
        ("features = 5", "features = 5\nASSAY = {'toleranse': 1}", 15, "tolerance"),
    ],
)
def test_a_file_that_breaks_a_rule_is_named_with_line_and_rule(tmp_path: Path, old: str, new: str, line: int, rule: str) -> None:
    assert old in PLAIN
    with pytest.raises(ProblemError) as caught:
        problem(tmp_path, PLAIN.replace(old, new))
    assert str(caught.value).startswith(f"{tmp_path / 'plain.py'}:{line}: ")
    assert rule in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unreadable_files(tmp_path: Path) -> None:
    (tmp_path / "nul.py").write_bytes(b"\0")
    for name in ("missing.py", "nul.py"):
        with pytest.raises(ProblemError, match=name):
            load(tmp_path / name)


def test_a_problem_file_may_define_dataclasses(tmp_path: Path) -> None:
    source = "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass Sizes:\n    n: int = 3\n" + PLAIN
    assert problem(tmp_path, source).instance("full").module.Sizes().n == 3
