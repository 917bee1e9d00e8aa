"""The import order that docs/architecture.md lists is the one that import-linter's contracts in pyproject.toml hold the tree to."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.shipped import ROOT


def test_the_contracts_hold() -> None:
    found = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert found.returncode == 0, found.stdout


def test_no_package_imports_the_script() -> None:
    """import-linter takes only packages, and `pipeline.py` is a module beside them."""
    for package in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["root_packages"]:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                assert "pipeline" not in names, path


def test_every_package_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    installed = project["setuptools"]["packages"]["find"]["include"]
    assert {f"{package}*" for package in project["importlinter"]["root_packages"]} | {"reference*"} == set(installed)
    assert project["setuptools"]["py-modules"] == ["pipeline"]


def test_the_documented_order_is_the_one_that_is_held() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for contract in contracts:
        if contract["type"] == "layers":
            assert " > ".join(contract["layers"]) + "\n" in text, contract["name"]


JUDGES = """
import sys
from pathlib import Path

from evaluator.engine.judge_process import make_context
from evaluator.engine.options import EngineOptions
from evaluator.engine.warm_parents import WORKER_MODULE
from evaluator.judge.evaluate import evaluate
from evaluator.sandbox import Zygote, best_level
from tests.judge.conftest import make_job, own_cpu
from tests.judge.sources import SOFTMAX, copied

options = EngineOptions(device=own_cpu(), stands_in=False, judges=1, cache_root=Path(sys.argv[1]))
with Zygote.start(modules=(WORKER_MODULE,), level=best_level()) as zygote:
    result = evaluate(make_context(options, zygote), make_job(copied(SOFTMAX)), lambda _: None)
packages = ("approximations", "nvidia_tools", "profiler", "ray", "sanitizer")
print(result.category, len(result.evidence.builds), [name for name in packages if f"evaluator.{name}" in sys.modules])
"""


@pytest.mark.build
def test_judging_imports_no_optional_package(tmp_path: Path) -> None:
    judged = subprocess.run([sys.executable, "-c", JUDGES, tmp_path], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert judged.stdout.splitlines()[-1:] == ["ok 1 []"], judged.stdout + judged.stderr
