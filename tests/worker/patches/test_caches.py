"""Compilers that run in the worker keep what they make in its private folder."""

import os
from pathlib import Path

import pytest

from evaluator.worker.patches.caches import cache_environment, generated_folder


def test_every_folder_is_a_private_one_of_its_own() -> None:
    environment = cache_environment(Path("/tmp/private"))
    folders = [value for value in environment.values() if value.startswith("/")]
    assert {"TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "CUPY_CACHE_DIR", "NUMBA_CACHE_DIR"} <= set(environment)
    assert all(Path(folder).parent == Path("/tmp/private") for folder in folders)
    assert len(set(folders)) == len(folders) == len(environment) - 2


def test_what_torch_compile_makes_lies_where_it_is_told_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert generated_folder() == f"{os.fspath(tmp_path)}/inductor/"
    assert cache_environment(tmp_path)["TORCHINDUCTOR_CACHE_DIR"] == f"{os.fspath(tmp_path)}/inductor"
