"""Which file holds, and what is wrong with one that can't be read."""

import os
from pathlib import Path

import pytest

from configuration.file import VARIABLE, ConfigurationError, find


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def found_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path | None:
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)
    found = find()
    return found.path if found else None


def test_the_nearest_folder_that_has_one_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = write(tmp_path / "assay.toml", "timeout = 1")
    assert found_from(tmp_path / "a/b", monkeypatch) == top
    project = write(tmp_path / "a/pyproject.toml", "[tool.assay]\ntimeout = 2")
    assert found_from(tmp_path / "a/b", monkeypatch) == project
    own = write(tmp_path / "a/assay.toml", "timeout = 3")
    assert found_from(tmp_path / "a/b", monkeypatch) == own
    write(tmp_path / "a/b/pyproject.toml", '[project]\nname = "assay"')
    assert found_from(tmp_path / "a/b", monkeypatch) == own


def test_keys_and_tables_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "pyproject.toml", '[tool.assay]\ndb = "sqlite:///x.db"\n[tool.assay.judge]\ntimeout = 5')
    monkeypatch.chdir(tmp_path)
    found = find()
    assert found is not None and found.common == {"db": "sqlite:///x.db"} and found.tables == {"judge": {"timeout": 5}}


def test_a_variable_names_the_file_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "assay.toml", "")
    other = write(tmp_path / "other.toml", "rerun = true")
    monkeypatch.setenv(VARIABLE, str(other))
    assert found_from(tmp_path, monkeypatch) == other
    monkeypatch.setenv(VARIABLE, "")
    assert found_from(tmp_path, monkeypatch) is None
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing.toml"))
    with pytest.raises(ConfigurationError, match=r"missing\.toml: No such file"):
        find()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("assay.toml", b"timeout = ", "it is not TOML: Invalid value"),
        ("assay.toml", b"\xff = 1", "it is not UTF-8"),
        ("pyproject.toml", b"[tool]\nassay = 3", r"\[tool.assay\] must be a table"),
        ("assay.toml", b"a = " + b"[" * 100_000, "it is not TOML"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=f"{name}: {told}"):
        find()


def test_a_file_that_another_user_put_into_an_open_folder_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "open/assay.toml", "no-sandbox = true")
    path.parent.chmod(0o1777)
    assert found_from(tmp_path / "open/mine", monkeypatch) == path
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert found_from(tmp_path / "open/mine", monkeypatch) is None
    path.parent.chmod(0o755)
    assert found_from(tmp_path / "open/mine", monkeypatch) == path


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link to another user")
def test_a_link_that_another_user_put_into_an_open_folder_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = write(tmp_path / "downloads/assay.toml", "no-sandbox = true")
    link = tmp_path / "open/assay.toml"
    link.parent.mkdir()
    link.parent.chmod(0o1777)
    link.symlink_to(own)
    assert found_from(link.parent, monkeypatch) == link
    os.chown(link, 12345, 12345, follow_symlinks=False)
    assert found_from(link.parent, monkeypatch) is None
