"""Clones in folders of any name, with an environment of their own, judge a C++ submission, and leave their own files alone.

The cache, the temporary folder, the problems and the database are in a folder of the same kind. The sandbox shows a part of the paths only,
and compilers, ninja, shells and sockets each have their own rules for names.
"""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clones import copy_project, make_environment
from tests.command_line import RUN_S, TILED, Bench, Finished, header_folder

pytestmark = pytest.mark.slow(35)

READONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && ! touch "$0/probe" 2>/dev/null && exec "$@"'
"""Root writes everywhere, except on a file system that is read-only: here the clone, for this command."""


@dataclass(frozen=True)
class Place:
    """A clone, and a folder for all else."""

    clone: Path
    """As the user names it."""
    bench: Bench
    before: tuple[str, ...] = ()
    """Words before the command."""

    def judge(self) -> Finished:
        """Judge the submission with a cold cache, so that it is compiled."""
        words = (*self.before, str(self.clone / ".venv" / "bin" / "python"), str(self.clone / "pipeline.py"))
        temporary = self.bench.root / "tmp"
        temporary.mkdir()
        temporary.chmod(0o1777)
        variables = {"ASSAY_CACHE": str(self.bench.root / "cache"), "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [*words, *self.bench.command("--headers", header_folder(self.bench.root), "--json", "-", "tiled.py")[2:]]
        done = subprocess.run(
            command,
            cwd=self.bench.root,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=RUN_S,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)


def clone(folder: Path) -> Path:
    """A copy of the project's files, with an environment of its own."""
    make_environment(copy_project(folder) / ".venv")
    return folder


def bench(folder: Path) -> Bench:
    made = Bench(folder)
    made.write("tiled.py", f"# problem: double\n{TILED}")
    return made


def named(folder: Path) -> Place:
    """A clone whose path is long, with spaces and letters of other scripts, as are the paths of all else."""
    place = folder / "a b" / "größe_日本" / "/".join(["far"] * 30)
    return Place(clone(place / "assay"), bench(place / "else"))


def linked(folder: Path) -> Place:
    """A clone that can't be written. Its path goes through two links, one of them relative, as do the paths of all else."""
    real = folder / "disk" / "home"
    made = clone(real / "assay")
    (folder / "disk" / "link").symlink_to(real)
    (folder / "home").symlink_to("disk/link")
    named = folder / "home" / "assay"
    if os.getuid() != 0:
        for path in (made, *made.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & ~0o222)
        return Place(named, bench(folder / "home" / "else"))
    before = ("unshare", "--mount", "sh", "-c", READONLY, str(made))
    trial = subprocess.run([*before, "true"], capture_output=True, text=True, check=False)
    if trial.returncode:
        pytest.skip(f"root can't make a folder read-only here: {trial.stderr.strip()}")
    return Place(named, bench(folder / "home" / "else"), before)


def state(folder: Path) -> dict[Path, tuple[int, int]]:
    """Every file below a folder, with its size and time."""
    return {path: (path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.resolve().rglob("*")}


@pytest.mark.parametrize("make", [named, linked])
def test_a_submission_is_compiled_and_judged_in_any_place(make: Callable[[Path], Place], tmp_path: Path) -> None:
    place = make(tmp_path)
    before = state(place.clone)
    finished = place.judge()
    after = state(place.clone)
    assert finished.code == 0, finished.stdout + finished.stderr
    (record,) = finished.records
    assert (record["status"], record["category"]) == ("correct", "ok"), record["message"]
    assert before == after
