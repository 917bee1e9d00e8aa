import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.build.commands import Command, Step, plan
from evaluator.build.fast.compile import MAX_READ_CHARS, FastAttempt, FastWay
from evaluator.build.fast.lean_headers import HeaderCutter
from evaluator.build.fast.omitted_names import OmittedNames
from evaluator.build.fast.shared_headers import LeanHeaders, RunIn
from evaluator.build.processes.runner import CommandResult
from evaluator.build.request import BuildRequest
from evaluator.build.toolchain import Toolchain
from tests.build.conftest import DATA

EXTENSION = "#include <torch/extension.h>\n"


class Shelf:
    """Headers that are there already, and a precompiled one that goes with every set of flags."""

    def __init__(self, machine: Toolchain, base: Path) -> None:
        self.prepared = LeanHeaders(base, OmittedNames(macros={}, functions={}), HeaderCutter(machine.torch.root / "include"))
        self.asked: list[tuple[bool, tuple[str, ...]]] = []

    def headers(self, _run: RunIn) -> LeanHeaders:
        return self.prepared

    def binding(self, cuda: bool, flags: tuple[str, ...], _run: RunIn) -> Path:
        self.asked.append((cuda, flags))
        return self.prepared.base / "binding.h"

    def doubt(self) -> None:
        raise AssertionError("nothing has failed")


def attempt(machine: Toolchain, folder: Path, file: str, text: str, **changes: Any) -> FastAttempt | None:
    """How the file would be compiled; nvcc lists its passes."""
    request = BuildRequest.model_validate({"name": "x", "sources": [{"name": file, "text": text}], **changes})

    def nowhere(argv: tuple[str, ...], where: Path) -> CommandResult:
        raise AssertionError("nothing has to be prepared")

    (command,) = _compiles(request, machine)
    way = FastWay(Shelf(machine, folder / "base"), nowhere)  # type: ignore[arg-type]
    found = way.attempt(request, command, folder)
    if found and command.step is Step.CUDA:
        return found.with_passes(CommandResult(0, timed_out=False, output=(DATA / "dryrun" / "one.txt").read_text()))
    return found


def _compiles(request: BuildRequest, machine: Toolchain) -> tuple[Command, ...]:
    return plan(request, machine).compiles


def test_binding_file_gets_the_precompiled_header_first(machine: Toolchain, tmp_path: Path) -> None:
    found = attempt(machine, tmp_path, "main.cpp", f"// a comment\n/* another */\n{EXTENSION}")
    assert found is not None
    assert found.way == "lean+precompiled"
    assert found.argv[1:7] == (
        "-include",
        str(tmp_path / "base" / "binding.h"),
        "-isystem",
        ".lean-main.cpp",
        "-isystem",
        str(tmp_path / "base"),
    )
    assert (tmp_path / ".lean-main.cpp" / "torch" / "extension.h").is_file()


@pytest.mark.parametrize("text", ["#include <vector>\n" + EXTENSION, "int x;\n" + EXTENSION, "/* " + EXTENSION + " */"])
def test_other_files_do_not(text: str, machine: Toolchain, tmp_path: Path) -> None:
    found = attempt(machine, tmp_path, "main.cpp", text)
    assert found is not None
    assert found.way == "lean"
    assert "-include" not in found.argv


@pytest.mark.parametrize(
    "changes",
    [
        {"extra_cflags": ["-DNDEBUG"]},
        {"extra_cflags": ["-include", "x.h"]},
        {"extra_cflags": ["-isystem", "."]},
        {"headers": [{"name": "x.h", "text": "using namespace torch;"}]},
        {"headers": [{"name": "x.h", "text": " " * MAX_READ_CHARS}]},
    ],
)
def test_where_the_meaning_is_not_sure_cpp_has_no_fast_way(changes: dict[str, Any], machine: Toolchain, tmp_path: Path) -> None:
    assert attempt(machine, tmp_path, "main.cpp", EXTENSION, **changes) is None


@pytest.mark.parametrize(("file", "text"), [("main.c", EXTENSION), ("main.cpp", "#include <pybind11/pybind11.h>\n")])
def test_c_sources_and_those_without_pytorchs_headers_have_no_fast_way(machine: Toolchain, tmp_path: Path, file: str, text: str) -> None:
    assert attempt(machine, tmp_path, file, text) is None


@pytest.mark.parametrize(
    ("flags", "way"),
    [
        (["-O3", "--use_fast_math"], "lean+passes"),
        (["-U__CUDA_NO_HALF_OPERATORS__"], "lean+passes"),
        (["-DN=4"], "passes"),
        (["-dc"], "lean"),
    ],
)
def test_cuda_sources_get_what_is_sure(flags: list[str], way: str, toolchain: Toolchain, machine: Toolchain, tmp_path: Path) -> None:
    found = attempt(replace(machine, nvcc=toolchain.nvcc), tmp_path, "cuda.cu", EXTENSION, extra_cuda_cflags=flags)
    assert found is not None
    assert found.way == way
    assert found.listing[:2] == (found.argv[0], "--dryrun")
    assert (len(found.edges("cuda.cu.o", "key", "cuda.cu", tmp_path)) > 1) == ("passes" in way)
    assert any(".lean-cuda.cu" in word for word in found.argv) == ("lean" in way)


def test_cuda_sources_of_which_nothing_is_known_are_left_to_nvcc(toolchain: Toolchain, machine: Toolchain, tmp_path: Path) -> None:
    found = attempt(replace(machine, nvcc=toolchain.nvcc), tmp_path, "cuda.cu", EXTENSION, extra_cuda_cflags=["-dc", "-DN=4"])
    assert found is None


@pytest.mark.parametrize("text", [" " * 50_000 + "x", "/**/" * 20_000 + "x", "/*" * 20_000, '"' * 50_001, "\\\n" * 50_000])
def test_hostile_texts_take_no_time_to_read(text: str, machine: Toolchain, tmp_path: Path) -> None:
    start = time.process_time()  # other programs do not count
    attempt(machine, tmp_path, "main.cpp", text)
    assert time.process_time() - start < 5
