"""The folders that a run writes to are tried before it."""

import os
import tempfile
from pathlib import Path

import pytest

from command.exits import UsageError
from command.folders import usable_folders
from evaluator.machine.cache_folder import default_root

pytestmark = pytest.mark.slow(1)

NOT_USABLE = {"file": "a file is in its place", "file/below": "a file is in its place", "/proc/none": "No such file", "/proc": ""}


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "file").touch()


@pytest.mark.parametrize("name", NOT_USABLE)
def test_a_temporary_folder_that_can_t_be_used_is_named_with_the_way_out(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / name))
    with (
        pytest.raises(UsageError, match=rf"temporary folder {tmp_path / name} can't be used \(.*{NOT_USABLE[name]}.*TMPDIR"),
        usable_folders(),
    ):
        pass


def test_a_temporary_folder_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "a/b"))
    with usable_folders():
        assert tempfile.gettempdir() == str(tmp_path / "a/b")


@pytest.mark.parametrize("name", NOT_USABLE)
def test_builds_run_without_a_cache_that_can_t_be_used(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / name))
    with usable_folders():
        instead = default_root()
        assert instead.parent == tmp_path and not list(instead.iterdir())
        [warning] = caplog.messages
        assert f"{tmp_path / name} can't be used" in warning and "ASSAY_CACHE" in warning
    assert not instead.exists() and default_root() == tmp_path / name


def test_a_full_disk_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(UsageError, match="No space left"), usable_folders():
        pass


def test_folders_that_can_be_used_stay(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with usable_folders():
        assert default_root() == tmp_path / "cache" and not caplog.messages
