import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.build.toolchain import Compiler, Toolchain, choose_arch, find_cuda_home, ninja_program, stock_standard

NINJA = str(ninja_program())
KNOWN = frozenset({(7, 5), (8, 0), (8, 6), (9, 0), (10, 0), (12, 0)})


@pytest.mark.parametrize(
    ("capability", "known", "arch"),
    [
        ((9, 0), KNOWN, "9.0a"),
        ((8, 6), KNOWN, "8.6"),
        ((10, 3), KNOWN, "10.0+PTX"),
        ((13, 0), KNOWN, "12.0+PTX"),
        ((9, 0), frozenset[tuple[int, int]](), "9.0a"),
    ],
)
def test_choose_arch(capability: tuple[int, int], known: frozenset[tuple[int, int]], arch: str) -> None:
    assert choose_arch(capability, known) == (arch,)


def test_stock_standard_is_what_is_passed_most_often() -> None:
    assert stock_standard("'-std=c++17'\n'-std=c++20' '-std=c++20'") == "c++20"
    assert stock_standard("nothing") == "c++17"


@pytest.mark.slow
def test_agrees_with_pytorch_about_folders_and_standard(machine: Toolchain) -> None:
    # Another process: the import may touch CUDA, and warns.
    code = "import torch.utils.cpp_extension as e; print(*e.include_paths('cpu'), e.TORCH_LIB_PATH, sep='\\n')"
    stock = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout.split()
    assert [str(path) for path in machine.include_dirs(cuda=False)] == [*stock[:-1], str(machine.python_include)]
    assert str(machine.library_dirs(cuda=False)[0]) == stock[-1]
    assert machine.torch.standard in ("c++17", "c++20")


def test_identity_survives_pickling_and_names_the_compiler(machine: Toolchain) -> None:
    assert machine.cxx is not None
    assert pickle.loads(pickle.dumps(machine)).identity == machine.identity
    assert any(machine.cxx.version in fact for fact in machine.identity)


def test_cuda_home_is_a_whole_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper, whole = tmp_path / "wrapper", tmp_path / "whole"
    for home in (wrapper, whole):
        (home / "bin").mkdir(parents=True)
        (home / "bin" / "nvcc").touch()
    (whole / "include").mkdir()
    (whole / "include" / "cuda_runtime.h").touch()
    monkeypatch.setenv("CUDA_HOME", str(wrapper))
    monkeypatch.setenv("CUDA_PATH", str(whole))
    assert find_cuda_home() == whole


def test_system_include_folder_is_not_passed(toolchain: Toolchain) -> None:
    assert Path("/usr/include") not in replace(toolchain, cuda_home=Path("/usr")).include_dirs(cuda=True)


def test_readonly_paths_leave_out_the_system_and_home(toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "g++"
    program.parent.mkdir()
    program.touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert replace(toolchain, cxx=Compiler((str(program),), "1")).readonly_paths == tuple(sorted((str(program.parent), NINJA)))
    monkeypatch.setenv("HOME", "/nowhere")
    assert replace(toolchain, cxx=Compiler((str(program),), "1")).readonly_paths == tuple(sorted((str(tmp_path), NINJA)))
