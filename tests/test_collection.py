"""pytest collects every test. A skipped folder would look like a passed one."""

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def passed_over(folder: Path, pattern: str) -> bool:
    """Whether pytest does not look into `folder`; a pattern with a slash is one for the end of the path."""
    return fnmatch(str(folder), f"*/{pattern}") if "/" in pattern else fnmatch(folder.name, pattern)


def test_every_folder_with_tests_is_looked_into(pytestconfig: pytest.Config) -> None:
    folders = {folder for path in TESTS.rglob("test_*.py") for folder in path.parents if folder.is_relative_to(TESTS)}
    assert TESTS / "build" in folders
    assert [folder for folder in folders for pattern in pytestconfig.getini("norecursedirs") if passed_over(folder, pattern)] == []
