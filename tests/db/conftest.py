"""A store in a file of its own for every test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from db.store import Store


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'assay.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as opened:
        yield opened
