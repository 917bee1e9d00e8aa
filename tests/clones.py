"""Copies of the project's files, and environments: of the tests' packages without their install of the project, or of other packages."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import ninja
import pytest

from tests.command_line import PROJECT


def copy_project(folder: Path) -> Path:
    """Copy the files that git knows; returns the folder."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=PROJECT, capture_output=True, check=True).stdout
    for name in os.fsdecode(listed).split("\0"):
        if name and (PROJECT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, folder / name)
    return folder


def make_environment(folder: Path) -> Path:
    """Make a virtual environment without pip; returns its folder of packages."""
    venv.create(folder, symlinks=True)
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (packages / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    shutil.copy2(Path(ninja.BIN_DIR) / "ninja", folder / "bin")  # the builder runs the environment's own
    return packages


def install(folder: Path, *packages: str, cwd: Path, python: str = sys.executable) -> Path:
    """Install packages as `pip install` does, into a new environment without any other; returns the folder of its programs.

    The test is skipped if no such package can be had.
    """
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", folder / "bin" / "python")
    ended = subprocess.run([*pip, "install", "--no-compile", *packages], cwd=cwd, capture_output=True, text=True)
    for line in ended.stderr.splitlines():
        if "No matching distribution found" in line:
            pytest.skip(line)
    assert ended.returncode == 0, ended.stderr
    return folder / "bin"


def python_from(minor: int) -> str:
    """A Python 3 of at least this minor version: the tests' own, or one on the path or beside it. The test is skipped if there is none."""
    if sys.version_info.minor >= minor:
        return sys.executable
    names = [f"python3.{each}" for each in range(minor, minor + 3)]
    beside = [str(path) for name in names for path in Path(sys.base_prefix).parent.glob(f"*/bin/{name}")]
    for each in (*names, *beside):
        if shutil.which(each) and subprocess.run([each, "-c", ""], capture_output=True).returncode == 0:
            return each
    pytest.skip(f"there is no Python 3.{minor} or newer")
