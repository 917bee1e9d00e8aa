"""Copies of the project's files, and environments whose packages are the tests' own, but not their install of the project."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import ninja

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
