"""That every test is found: a folder that pytest passes over looks like one whose tests pass."""

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(str(path.relative_to(TESTS)) for path in TESTS.rglob("*.py") if path.name.startswith("test") or path.stem.endswith("_test"))


def passed_over(folder: Path, pattern: str) -> bool:
    """Whether pytest does not look into `folder`; a pattern with a slash is one for the end of the path."""
    return fnmatch(str(folder), f"*/{pattern}") if "/" in pattern else fnmatch(folder.name, pattern)


@pytest.mark.parametrize("name", FILES)
def test_file_is_collected(name: str, pytestconfig: pytest.Config) -> None:
    path = TESTS / name
    folders = [folder for folder in path.parents if folder.is_relative_to(TESTS)]
    patterns = pytestconfig.getini("norecursedirs")
    assert not [(str(folder), pattern) for folder in folders for pattern in patterns if passed_over(folder, pattern)]
    assert any(fnmatch(path.name, pattern) for pattern in pytestconfig.getini("python_files"))


def test_files_of_folders_are_looked_for() -> None:
    assert {"test_collection.py", "build/test_builder.py"} <= set(FILES)
