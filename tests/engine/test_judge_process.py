"""Which folders of the search path workers may see."""

import sys
from pathlib import Path

import pytest

from evaluator.engine.judge_process import module_folders

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine in small: a home with a working directory and modules in it, modules elsewhere; the search path is empty."""
    for name in ("home/work/libraries", "home/.local/lib/python3/site-packages", "opt/modules"):
        tmp_path.joinpath(name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "home/work")
    monkeypatch.setattr(sys, "path", [])
    return tmp_path


def found_in(*entries: str | Path) -> tuple[str, ...]:
    sys.path[:] = [str(entry) for entry in entries]
    return module_folders()


@pytest.mark.parametrize("name", ["opt/modules", "home/work/libraries", "home/.local/lib/python3/site-packages"])
def test_folders_of_modules_are_shown(place: Path, name: str) -> None:
    assert found_in(place / name) == (str(place / name),)


@pytest.mark.parametrize("name", ["home", "home/work", ".", "home/work/../work"])
def test_home_and_working_directory_and_what_is_above_are_not(place: Path, name: str) -> None:
    assert found_in(place / name) == ()


@pytest.mark.parametrize("entry", ["/", "/tmp", "/tmp/", "/dev", "/dev/shm", "/var", "/etc", "/proc", "/usr", ".", ""])
def test_a_workers_own_places_are_not_covered(place: Path, entry: str) -> None:
    assert found_in(entry) == ()


@pytest.mark.parametrize("entry", [PROJECT, PROJECT.parent, PROJECT / "tests", PROJECT / "reference", PROJECT / "evaluator" / "judge"])
def test_no_part_of_the_project_is_shown(place: Path, entry: Path) -> None:
    assert found_in(entry) == ()


def test_a_link_to_a_place_is_that_place(place: Path) -> None:
    place.joinpath("opt/link").symlink_to(place / "home")
    place.joinpath("opt/other").symlink_to(place / "opt/modules")
    assert found_in(place / "opt/link", place / "opt/other", place / "opt/modules") == (str(place / "opt/modules"),)


def test_pythons_own_folders_and_what_is_no_folder_need_no_mention(place: Path) -> None:
    archive = place / "opt/modules.zip"
    archive.touch()
    assert found_in(sys.prefix, f"{sys.base_prefix}/lib", archive, place / "nothing") == ()


def test_without_a_home_there_is_nothing_to_keep_back_for_it(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "~")
    assert found_in(place / "opt/modules") == (str(place / "opt/modules"),)
