"""Temporary folders go with the process that made them."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evaluator.machine import held_folder as module
from evaluator.machine.held_folder import PREFIX, held_folder, remove_left

HOLDS = """
import sys, tempfile
from evaluator.machine.held_folder import held_folder
tempfile.tempdir = sys.argv[1]
with held_folder("test") as folder:
    (folder / "closed").mkdir(0)
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(module, "SHORT_PLACE", str(tmp_path))


@contextmanager
def holder(place: Path) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """Another process, and the folder that it holds."""
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())


def test_a_folder_stays_while_its_maker_lives_and_goes_after_it_is_killed(tmp_path: Path) -> None:
    with holder(tmp_path) as (process, folder), held_folder("test") as own:
        remove_left()
        assert folder.is_dir() and own.is_dir()
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert folder.is_dir()
        remove_left()
        assert list(tmp_path.iterdir()) == [own]
    assert not list(tmp_path.iterdir())


def test_a_folder_is_closed_to_others_and_goes_with_its_files() -> None:
    with held_folder("test") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
    assert not folder.exists()


def test_what_is_no_folder_of_ours_stays(tmp_path: Path) -> None:
    (tmp_path / "kept" / "inner").mkdir(parents=True)
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "kept")
    (tmp_path / f"{PREFIX}file").touch()
    remove_left()
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted(["kept", "inner", f"{PREFIX}link", f"{PREFIX}file"])


def test_a_folder_that_is_taken_for_a_left_one_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, early = module._opened, [True]

    def open_after_removal(path: Path) -> int:
        if early and early.pop():
            remove_left()
            assert not path.exists()
        return opened(path)

    monkeypatch.setattr(module, "_opened", open_after_removal)
    with held_folder("test") as folder:
        assert folder.is_dir()
    assert not early and not list(folder.parent.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a folder of another user")
def test_another_users_folder_stays(tmp_path: Path) -> None:
    other = tmp_path / f"{PREFIX}test-other"
    other.mkdir()
    os.chown(other, 12345, 12345)
    remove_left()
    assert other.is_dir()
