import os
from pathlib import Path

import pytest

from evaluator.machine.cache_folder import default_root


def test_default_root_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.delenv("ASSAY_CACHE", raising=False)
    assert default_root() == Path("/x/assay")
    monkeypatch.setenv("ASSAY_CACHE", "/y")
    assert default_root() == Path("/y")


def test_a_user_without_a_home_has_a_cache_of_his_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASSAY_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "~")  # as expanduser answers for a user whom the system does not know
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = default_root()
    assert made.parent == tmp_path and made.stat().st_mode & 0o777 == 0o700
    assert default_root() == made
    another = os.getuid() + 1
    made.rename(tmp_path / f"assay-cache-{another}")
    monkeypatch.setattr("os.getuid", lambda: another)
    with pytest.raises(PermissionError):
        default_root()


def test_a_relative_cache_folder_is_the_same_in_every_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", "cache")
    assert default_root() == Path.cwd() / "cache"
