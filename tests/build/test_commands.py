from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.build.commands import NVCC_FLAGS, Step, plan
from evaluator.build.request import BuildRequest
from evaluator.build.toolchain import Toolchain

BOTH = [{"name": "main.cpp", "text": ""}, {"name": "cuda.cu", "text": ""}]


def request(**changes: Any) -> BuildRequest:
    return BuildRequest.model_validate({"name": "softmax", "sources": BOTH, **changes})


def cuda_argv(toolchain: Toolchain, *flags: str) -> tuple[str, ...]:
    return plan(request(extra_cuda_cflags=list(flags)), toolchain).compiles[1].argv


def arch_flags(argv: tuple[str, ...]) -> list[str]:
    return [flag for flag in argv if "arch" in flag]


def test_nvcc_flags_are_pytorchs() -> None:
    import ast

    import torch

    source = (Path(torch.__file__).parent / "utils" / "cpp_extension.py").read_text()
    values = [
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "COMMON_NVCC_FLAGS"
    ]
    assert tuple(ast.literal_eval(values[0])) == NVCC_FLAGS


def test_cpp_only_extension_gets_no_cuda(toolchain: Toolchain) -> None:
    made = plan(request(sources=BOTH[:1], extra_cflags=["-O3"], extra_ldflags=["-lm"]), toolchain)
    assert [command.step for command in made.compiles] == [Step.CPP]
    assert made.link is not None
    argv = made.compiles[0].argv
    assert argv[0] == "/usr/bin/c++"
    assert argv[-6:] == ("-std=c++20", "-O3", "-c", "main.cpp", "-o", "main.cpp.o")
    assert not any("cuda" in word for word in argv + made.link.argv)
    assert made.link.argv[1:4] == ("main.cpp.o", "-shared", "-lm")


def test_cuda_extension_links_pytorchs_cuda_libraries_in_order(toolchain: Toolchain) -> None:
    made = plan(request(), toolchain)
    assert made.link is not None
    assert [word for word in made.link.argv if word.startswith("-l")] == [
        "-lc10", "-lc10_cuda", "-ltorch_cpu", "-ltorch_cuda", "-ltorch", "-ltorch_python", "-lcudart",
    ]  # fmt: skip
    assert made.link.output == "softmax.so"
    assert made.lacking is None


def test_cuda_sources_see_the_architecture_and_their_own_flags_only(toolchain: Toolchain) -> None:
    argv = plan(request(extra_cflags=["-Wcpp"], extra_cuda_cflags=["-lineinfo"]), toolchain).compiles[1].argv
    assert "-lineinfo" in argv
    assert "-Wcpp" not in argv
    assert "-gencode=arch=compute_90a,code=sm_90a" in argv
    assert argv[-5:] == ("-std=c++20", "-c", "cuda.cu", "-o", "cuda.cu.o")


def test_submissions_own_standard_replaces_the_stock_one(toolchain: Toolchain) -> None:
    assert [flag for flag in cuda_argv(toolchain, "-std=c++17") if "std" in flag] == ["-std=c++17"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("-Xcompiler", "-march=native"), ["-gencode=arch=compute_90a,code=sm_90a", "-march=native"]),
        (("-arch=sm_80",), ["-gencode=arch=compute_90a,code=sm_90a", "-arch=sm_80"]),
        (("-gencode=arch=compute_90,code=sm_90",), ["-gencode=arch=compute_90,code=sm_90"]),
        (("-arch=sm_90a",), ["-arch=sm_90a"]),
        (("-arch=native",), ["-gencode=arch=compute_90a,code=sm_90a"]),
        (("-arch", "native"), ["-gencode=arch=compute_90a,code=sm_90a"]),
        (("--gpu-architecture=native", "-O3"), ["-gencode=arch=compute_90a,code=sm_90a"]),
    ],
)
def test_device_always_gets_code(toolchain: Toolchain, flags: tuple[str, ...], expected: list[str]) -> None:
    assert arch_flags(cuda_argv(toolchain, *flags)) == expected


def test_ptx_is_added_where_nvcc_is_older_than_the_device(toolchain: Toolchain) -> None:
    argv = cuda_argv(replace(toolchain, arch=("12.0+PTX",)))
    assert arch_flags(argv) == ["-gencode=arch=compute_120,code=sm_120", "-gencode=arch=compute_120,code=compute_120"]


def test_host_compiler_is_handed_to_nvcc(toolchain: Toolchain) -> None:
    argv = cuda_argv(replace(toolchain, host_compiler="gcc-11"))
    assert argv[1:3] == ("-ccbin", "gcc-11")


def test_without_nvcc_the_rest_is_compiled_and_the_lack_named(toolchain: Toolchain) -> None:
    made = plan(request(), replace(toolchain, nvcc=None))
    assert [command.step for command in made.compiles] == [Step.CPP]
    assert made.link is None
    assert made.lacking is not None
    assert "nvcc" in made.lacking


def test_cpu_only_pytorch_compiles_cuda_but_does_not_link_it(toolchain: Toolchain) -> None:
    cpu_only = replace(toolchain, torch=replace(toolchain.torch, cuda=None))
    made = plan(request(), cpu_only)
    assert len(made.compiles) == 2
    assert made.link is None
    assert made.lacking is None
    assert plan(request(sources=BOTH[:1]), cpu_only).link is not None
