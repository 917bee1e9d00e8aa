"""A database with an example of everything, and its pages."""

import os
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser

from db.store import Store
from evaluator.results.category import Category
from evaluator.results.result import Result, now
from tests.db.conftest import _state_of_its_own, ready_file, sqlite_url, url  # noqa: F401 - fixtures
from tests.db.samples import environment, full_evidence, result
from tests.web import windows
from web.app import create_app

ADDRESS = "http://127.0.0.1:8300"
SOURCE = "".join(f"value_{number} = {number}\n" for number in range(1, 40))
PROBLEM_SOURCE = "import torch\n\n\nclass Model(torch.nn.Module):\n    pass\n"


@pytest.fixture(scope="session")
def filled(ready_file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:  # noqa: F811
    """A database filled by `fill`, and the ids that it returns."""
    folder = tmp_path_factory.mktemp("filled")
    shutil.copy(ready_file, folder / "under_way.db")
    with Store.open(f"sqlite:///{folder / 'under_way.db'}") as opened:
        ids = fill(opened)
        opened.compact()
        shutil.copy(opened.path, folder / "assay.db")
    return folder / "assay.db", ids


@pytest.fixture
def store(request: pytest.FixtureRequest, url: str) -> Iterator[Store]:  # noqa: F811
    """The test's own database: a filled one if it uses `ids`, else an empty one."""
    path = request.getfixturevalue("filled")[0] if "ids" in request.fixturenames else request.getfixturevalue("ready_file")
    shutil.copy(path, url.removeprefix("sqlite:///"))
    with Store.open(url) as opened:
        yield opened


def put(store: Store, made: Result, source: str = SOURCE) -> int:
    return store.save(made, source, PROBLEM_SOURCE)


def fill(store: Store) -> dict[str, int]:
    """Two authors, three problems, two devices, a run; the ids of some evaluations by name."""
    store.start_run(["pipeline.py", "submissions", "--db", "sqlite:///results.db"], 12)
    start = now() - timedelta(days=3)
    ids = {}
    for number, (problem, author, speedup) in enumerate(
        [("softmax", "ada", 3.25), ("softmax", "bob", 1.5), ("gelu", "ada", 0.5), ("gelu", "bob", 2.0), ("matmul", "bob", 1.0)]
    ):
        name = f"submissions/{problem}/{author}.py"
        times: dict[str, Any] = {"runtime_ms": 8.0 / speedup, "baseline_ms": 8.0, "started_at": start + timedelta(hours=9 * number)}
        made = result(source=name, speedup=speedup, submission=name, problem=problem, author=author, **times)
        ids[f"{problem} {author}"] = put(store, made, name)
    put(store, result(submission="elsewhere.py", author="ada", environment=environment("CPU"), case="small"))
    ids["failed"] = put(store, result(Category.WRONG_VALUES, submission="wrong.py", author="bob", evidence=full_evidence(), block=2))
    ids["timed"] = put(store, result(submission="timed.py", author="cyd", evidence=full_evidence(), speedup=1.25, source="timed"), "timed")
    put(store, result(Category.SYNTAX_ERROR, submission="broken.py", author="bob", started_at=start))
    put(store, result(Category.NO_DEVICE, submission="unlucky.py", author=None))
    return ids


@pytest.fixture
def ids(filled: tuple[Path, dict[str, int]]) -> dict[str, int]:
    return filled[1]


@pytest.fixture
def client(store: Store) -> Iterator[TestClient]:
    with TestClient(create_app(store, ["127.0.0.1"]), base_url=ADDRESS) as opened:
        yield opened


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if windows.program() is None:
        if windows.REQUIRED in os.environ:
            pytest.fail(f"{windows.REQUIRED} is set, and there is no Chromium on this machine")
        pytest.skip("no Chromium on this machine")
    with windows.running() as started:
        yield started
