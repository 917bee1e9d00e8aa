"""Finds one of NVIDIA's tools on this machine, with its version."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

TOOLKIT = "/usr/local/cuda"
"""The last place to look for a tool."""
_VERSION_WITHIN_S = 60.0
_VERSION = re.compile(r"^Version (\S{1,40})", re.MULTILINE)


class ToolMissingError(Exception):
    """No such tool works here; the message begins with its name."""


def find_tool(name: str, folders: tuple[str, ...] = ("bin",)) -> tuple[str, str]:
    """Absolute path and version of the program on the PATH, else of that in one of the `folders` of a toolkit ($CUDA_HOME, $CUDA_PATH,
    /usr/local/cuda). Raises ToolMissingError."""
    program = next(_candidates(name, folders), None)
    if program is None:
        raise ToolMissingError(f"{name}, which is neither on the PATH nor in the bin folder of CUDA_HOME or {TOOLKIT}")
    try:
        done = subprocess.run((program, "--version"), capture_output=True, timeout=_VERSION_WITHIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolMissingError(f"{name}, and {program} does not run: {error}") from error
    found = _VERSION.search(done.stdout.decode(errors="replace"))
    if done.returncode != 0 or found is None:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise ToolMissingError(f"{name}, and {program} does not run: {said[-1] if said else 'it prints nothing'}")
    return program, found[1]


def _candidates(name: str, folders: tuple[str, ...]) -> Iterator[str]:
    if on_path := shutil.which(name):
        yield str(Path(on_path).absolute())
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), TOOLKIT]
    for home in filter(None, homes):
        for folder in folders:
            if found := shutil.which(name, path=str(Path(home).absolute() / folder)):
                yield found
