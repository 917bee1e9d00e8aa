"""Which problems there are."""

from pathlib import Path

import pytest

from evaluator.problem.catalogue import SHIPPED, discover
from evaluator.problem.execute import ProblemError
from tests.problem.test_problem import PLAIN


def test_discovery_lets_given_folders_win_over_the_shipped_one(tmp_path: Path) -> None:
    for name in ("softmax", "mine", "_helper", ".hidden"):
        (tmp_path / f"{name}.py").write_text(PLAIN)
    found = discover([tmp_path, tmp_path])
    assert found["softmax"] == tmp_path / "softmax.py"
    assert found["matmul"] == SHIPPED / "matmul.py"
    assert "mine" in found
    assert not {"_helper", ".hidden", "__init__"} & set(found)
    assert list(found) == sorted(found)


def test_discovery_refuses_two_of_a_name_and_folders_without_problems(tmp_path: Path) -> None:
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
    for folder in ("a", "b"):
        (tmp_path / folder / "same.py").write_text(PLAIN)
    with pytest.raises(ProblemError, match="'same'"):
        discover([tmp_path / "a", tmp_path / "b"])
    with pytest.raises(ProblemError, match="no problem"):
        discover([tmp_path / "c"])
    with pytest.raises(ProblemError, match="listed"):
        discover([tmp_path / "d"])
