"""The command that advice names."""

import sys
from pathlib import Path

import pytest

from evaluator.results.advice import advice, assay_command, runnable
from evaluator.results.category import Category


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a Python with `assay` beside it, neither of them on the shell's path."""
    folder = tmp_path / ".venv/bin"
    folder.mkdir(parents=True)
    (folder / "assay").write_text("#!/bin/sh\n")
    (folder / "assay").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    return folder


def test_advice_names_a_command_that_the_shell_finds(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert assay_command() == ".venv/bin/assay"
    lines = [str(line) for line in advice({Category.WRONG_VALUES: 1}, "--run 3")]
    assert "    .venv/bin/assay list --category wrong_values --run 3" in lines
    assert runnable("None. `assay list` lists ids; the assay says so.") == "None. `.venv/bin/assay list` lists ids; the assay says so."
    monkeypatch.setenv("PATH", str(installed))
    assert assay_command() == "assay"


def test_elsewhere_it_is_the_whole_path(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert assay_command() == str(installed / "assay").removeprefix("/")
    monkeypatch.chdir(installed)
    assert assay_command() == "./assay"
    monkeypatch.chdir("/usr")
    assert assay_command() == str(installed / "assay")


def test_without_the_command_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setenv("PATH", "/nowhere")
    assert assay_command() == "assay"
