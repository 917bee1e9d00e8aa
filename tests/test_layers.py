"""The import order that docs/architecture.md lists is the one that import-linter's contracts in pyproject.toml hold the tree to."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.shipped import ROOT


def test_the_contracts_hold() -> None:
    found = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120
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
            assert "    " + " > ".join(contract["layers"]) + "\n" in text, contract["name"]
