"""Mutants: which are chosen, which tests cover their lines, and what a test that fails says about them."""

import ast
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.mutants.__main__ import Run, Verdict, has_fallen, rate
from benchmarks.mutants.covering import Covering
from benchmarks.mutants.sample import Mutant, place, sample
from benchmarks.mutants.tree_copy import Copy
from tests.shipped import ROOT

pytest.importorskip("cosmic_ray")
pytest.importorskip("coverage")

pytestmark = pytest.mark.nightly
SOURCE = '''"""A module of 1 + 1 lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    LIMIT = 7

__all__ = ["doubled"] + []


def doubled(value: int | None, *, more: int | float = 0) -> int | None:
    """Twice 2 | 1."""
    seen: int | None
    seen = value
    return None if seen is None else seen * 2
'''


def chosen(source: str, count: int = 1000) -> dict[Mutant, str]:
    return sample({"evaluator/doubles.py": source}, count)


def test_only_what_runs_is_changed() -> None:
    lines = {(mutant.line, SOURCE.splitlines()[mutant.line - 1]) for mutant in chosen(SOURCE)}
    assert sorted(line for line, _ in lines) == [13, 17], lines
    changed = {text.splitlines()[12] for mutant, text in chosen(SOURCE).items() if mutant.line == 13}
    assert {text.partition("=")[2].strip() for text in changed} == {"1) -> int | None:", "-1) -> int | None:"}


def test_edits_elsewhere_leave_the_sample_the_same() -> None:
    before = chosen(SOURCE, 6)
    after = chosen(SOURCE.replace("    seen = value\n", "    # a longer way\n    given = value\n    seen = given\n"), 6)
    assert [mutant.key for mutant in before] == [mutant.key for mutant in after]
    assert [mutant.line + 2 * (mutant.line > 13) for mutant in before] == [mutant.line for mutant in after]
    assert [*before] == [*chosen(SOURCE, 7)][:6]


@pytest.mark.parametrize(
    ("line", "lines", "in_function"), [(1, range(1, 2), False), (3, range(2, 4), False), (4, range(4, 6), True), (6, range(6, 8), True)]
)
def test_a_line_belongs_to_its_statement_or_its_head(line: int, lines: range, in_function: bool) -> None:
    source = "LIMIT = 3\n@decorated(1)\ndef one():\n    if (\n        two):\n        return (3 +\n            4)\n"
    assert place(ast.parse(source), line) == (lines, in_function)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of one module with two tests, of which one has teeth and one fails without a mutant."""
    root = tmp_path / "project"
    shutil.copytree(ROOT / "benchmarks/mutants", root / "benchmarks/mutants", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "evaluator").mkdir()
    (root / "evaluator/__init__.py").touch()
    (root / "evaluator/doubles.py").write_text(SOURCE, encoding="utf-8")
    (root / "tests").mkdir()
    beginning = "from evaluator.doubles import doubled\n"
    (root / "tests/test_doubles.py").write_text(beginning + "def test_two():\n    assert doubled(3) == 6\n", encoding="utf-8")
    (root / "tests/test_path.py").write_text(beginning + "def test_no():\n    assert doubled(None) and False\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def test_a_mutant_that_a_test_notices_is_killed(tree: Path, tmp_path: Path) -> None:
    from coverage import CoverageData

    tests = {"tests/test_doubles.py::test_two": True, "tests/test_path.py::test_no": False}
    data = CoverageData(basename=str(tmp_path / "coverage"))
    for test in tests:
        data.set_context(f"{test}|run")
        data.add_lines({"/elsewhere/evaluator/doubles.py": [16, 17]})
    data.write()
    durations = tmp_path / "durations"
    durations.write_text("".join(json.dumps([test, "call", 0.1, "passed"]) + "\n" for test in tests), encoding="utf-8")
    covering = Covering(tmp_path / "coverage", durations)
    mutants = chosen(SOURCE)
    doubling = next(one for one in mutants if one.operator == "core/ReplaceBinaryOperator_Mul_Add")
    default = next(one for one in mutants if one.line == 13)
    judging = Run(covering, {"evaluator/doubles.py": SOURCE}, tests)
    (folder := tmp_path / "copy").mkdir()
    copy = Copy(folder, tree)
    try:
        assert judging.judge(copy, doubling, mutants[doubling]).killer == dict.fromkeys(("quick", "all"), "tests/test_doubles.py::test_two")
        survivor = judging.judge(copy, default, mutants[default])
        assert survivor.killer == {"all": "tests/test_path.py::test_no"} and survivor.covered == {"quick": 1, "all": 2}
        assert judging.control(copy, [survivor]) == [default] and judging.failing == {"tests/test_path.py::test_no"}
        assert judging.judge(copy, default, mutants[default]).killer == {}
    finally:
        copy.close()


def test_rates_are_compared_with_earlier_ones(capsys: pytest.CaptureFixture[str]) -> None:
    def report(*killers: dict[str, str]) -> dict[str, object]:
        verdicts = [Verdict(Mutant("a.py", 1, "Add", 0, str(key)), "", {"quick": 1, "all": 1}, one) for key, one in enumerate(killers)]
        mutants = [
            {"mutant": {"key": one.mutant.key, "file": "a.py", "line": 1, "operator": "Add"}, "killer": one.killer} for one in verdicts
        ]
        return {"rates": {name: rate(verdicts, name) for name in ("quick", "all")}, "mutants": mutants}

    before, after = report({"quick": "a", "all": "a"}, {}), report({"all": "timeout"}, {})
    assert has_fallen(after, before) and not has_fallen(before, after) and not has_fallen(before, before)
    assert "quick: survives only now: a.py:1 Add\nquick: 50.0% before, 0.0% now\nall: 50.0% before, 50.0% now\n" in capsys.readouterr().out
