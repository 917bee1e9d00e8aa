"""Folders of headers that the user names: they are part of the build's key, and only compilers read them."""

import ctypes
import os
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.build import header_folders
from evaluator.build.builder import Builder, BuildOutcome
from evaluator.build.cache import Cache
from evaluator.build.header_folders import HeaderFolderError, checked, digest, may_include
from evaluator.build.processes.confined import ConfinedRunner
from evaluator.build.request import BuildRequest
from evaluator.build.toolchain import Toolchain
from evaluator.results.category import Category
from evaluator.sandbox import Zygote, best_level
from tests.command_line import open_to_compilers

HEADER = "#pragma once\nnamespace kittens { template <int N> struct tile { static constexpr int area = N * N; }; }\n"
SOURCE = '#include "kittens/tile.hpp"\nextern "C" int answer() { return kittens::tile<6>::area; }\n'
KERNEL = """#include "kittens/tile.hpp"
__global__ void fill(int* to) { *to = kittens::tile<6>::area; }
extern "C" int answer() {
    int *there, here = 0;
    if (cudaMalloc(&there, sizeof(int)) != cudaSuccess) return -1;
    fill<<<1, 1>>>(there);
    return cudaMemcpy(&here, there, sizeof(int), cudaMemcpyDeviceToHost) == cudaSuccess ? here : -2;
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "include/kittens").mkdir(parents=True)
    (tmp_path / "include/kittens/tile.hpp").write_text(HEADER)
    open_to_compilers(tmp_path)
    return tmp_path / "include"


def request(text: str = SOURCE, suffix: str = "cpp") -> BuildRequest:
    return BuildRequest.model_validate({"name": "x", "sources": [{"name": f"main.{suffix}", "text": text}]})


def answer(outcome: BuildOutcome) -> int:
    assert outcome.object_fd is not None, outcome.evidence.output
    try:
        return int(ctypes.CDLL(f"/proc/self/fd/{outcome.object_fd}").answer())
    finally:
        os.close(outcome.object_fd)


def test_a_file_that_changes_is_another_key(toolchain: Toolchain, folder: Path) -> None:
    with_headers = replace(toolchain, headers=(folder,))
    keys = [request().key(toolchain), request().key(with_headers)]
    (folder / "kittens/tile.hpp").write_text(HEADER.replace("N * N", "N + N"))
    keys.append(request().key(with_headers))
    (folder / "kittens/tile.hpp").rename(folder / "kittens/tiles.hpp")
    keys.append(request().key(with_headers))
    assert len(set(keys)) == 4
    assert request().key(with_headers) == keys[-1]


def test_a_folder_that_can_t_be_used_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked(folder) == folder.resolve()
    for wrong in (folder / "nothing", folder / "kittens/tile.hpp"):
        with pytest.raises(HeaderFolderError, match="no folder"):
            checked(wrong)
    monkeypatch.setattr(header_folders, "MAX_BYTES", 8)
    with pytest.raises(HeaderFolderError, match="headers alone"):
        digest(folder)
    monkeypatch.setattr(header_folders, "MAX_FILES", 0)
    with pytest.raises(HeaderFolderError, match="more than 0 files"):
        digest(folder)


@pytest.mark.parametrize(
    ("text", "may"),
    [
        (SOURCE, True),
        ("  #  include <kittens/tile.hpp> // tiles", True),
        ("#include KITTENS", True),
        ("#include <torch/extension.h>", False),
        ("// kittens/tile.hpp", False),
    ],
)
def test_who_includes_them_is_told_by_their_text(text: str, may: bool, folder: Path) -> None:
    assert may_include(text, [folder]) is may
    assert not may_include(text, [])


@pytest.mark.build
@pytest.mark.skipif(best_level() is None, reason="no sandbox level works on this machine: python -m evaluator.sandbox check")
def test_compilers_read_them_and_do_not_write_them(machine: Toolchain, folder: Path, tmp_path: Path) -> None:
    with_headers = replace(machine, headers=(folder,))
    with Zygote.start((), best_level()) as zygote:
        without = Builder(Cache(tmp_path / "cache"), machine, zygote).build(request())
        assert without.evidence.category is Category.MISSING_HEADER
        builder = Builder(Cache(tmp_path / "cache"), with_headers, zygote)
        first = builder.build(request())
        (folder / "kittens/tile.hpp").write_text(HEADER.replace("N * N", "N + N"))
        second = builder.build(request())
        assert (answer(first), answer(second)) == (36, 12)
        assert {attempt.way for attempt in first.evidence.attempts} == {"stock"}

        work = tmp_path / "work"
        work.mkdir()
        work.chmod(0o777)
        script = ("/bin/sh", "-c", f"cat {folder}/kittens/tile.hpp && echo '#error' >> {folder}/kittens/tile.hpp && echo written")
        seen = ConfinedRunner(zygote, with_headers.readonly_paths).run(script, work, {"PATH": "/usr/bin:/bin"}, 30)
        assert "namespace kittens" in seen.output and "written" not in seen.output
        unseen = ConfinedRunner(zygote, machine.readonly_paths).run(script, work, {"PATH": "/usr/bin:/bin"}, 30)
        assert "namespace kittens" not in unseen.output


@pytest.mark.gpu
@pytest.mark.build
def test_nvcc_reads_them_too(cuda_machine: Toolchain, folder: Path, tmp_path: Path) -> None:
    with Zygote.start((), best_level()) as zygote:
        built = Builder(Cache(tmp_path / "cache"), replace(cuda_machine, headers=(folder,)), zygote).build(request(KERNEL, "cu"))
        assert answer(built) == 36


def test_a_name_that_can_be_no_file_is_no_file(tmp_path: Path) -> None:
    assert not may_include(f'#include "{"a" * 300}"', [tmp_path])
