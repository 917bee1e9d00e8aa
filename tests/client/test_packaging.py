"""The client's wheel is complete, and needs no other package of Assay."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.command_line import PROJECT

pytestmark = pytest.mark.slow(10)

FOLDER = PROJECT / "client"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def run(*words: str | Path, cwd: Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    command = [str(word) for word in words]
    return subprocess.run(command, cwd=cwd, env=environment, check=True, capture_output=True, text=True).stdout


def test_its_wheel_is_installed_and_imported_alone(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "client", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, tmp_path / "client", cwd=tmp_path)
    (wheel,) = tmp_path.glob("assay_client-*.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = {name for name in opened.namelist() if name.startswith("assay_") and ".dist-info/" not in name}
        (metadata,) = [opened.read(name).decode() for name in opened.namelist() if name.endswith("/METADATA")]
    files = [path for path in FOLDER.glob("assay_*/**/*") if path.is_file() and path.suffix != ".pyc"]
    assert names == {path.relative_to(FOLDER).as_posix() for path in files}
    assert "assay_client/py.typed" in names
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert needed == ["Requires-Dist: httpx>=0.27"]

    run(*PIP, "install", "--no-deps", "--no-index", "--target", tmp_path / "installed", wheel, cwd=tmp_path)
    code = """
import sys
import assay_client
assert {"torch", "numpy", "pydantic", "evaluator", "web", "db"}.isdisjoint(sys.modules), sys.modules.keys()
assert assay_client.Shaping().most > 0
print(assay_client.__file__)
"""
    told = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(tmp_path / "installed"))
    assert Path(told.strip()).is_relative_to(tmp_path / "installed")


def test_it_imports_nothing_of_ours() -> None:
    for path in FOLDER.rglob("*.py"):
        assert not re.search(r"\b(import|from) (evaluator|db|web|command|torch)\b", path.read_text(encoding="utf-8")), path
