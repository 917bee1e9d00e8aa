"""Number types without their conversions mean the same to sources that name none of them."""

import subprocess
from pathlib import Path

import pytest

from evaluator.build.commands import header_flags
from evaluator.build.fast.identifiers import read_identifiers
from evaluator.build.fast.lean_headers import HeaderCutter, SourceHeaders
from evaluator.build.fast.number_types import unnamed, without_conversions
from evaluator.build.fast.omitted_names import OmittedNames
from evaluator.build.toolchain import Toolchain

KERNEL = """#include <torch/extension.h>
__global__ void twice(const float4* x, float4* y) { y[threadIdx.x].x = x[threadIdx.x].x * 2; }
torch::Tensor run(torch::Tensor x) {
    auto y = torch::empty_like(x);
    twice<<<1, x.numel() / 4>>>((const float4*)x.data_ptr<float>(), (float4*)y.data_ptr<float>());
    return y;
}
"""
MACROS = frozenset(("THRUST_VERSION",))


@pytest.fixture(scope="module")
def cutter(machine: Toolchain) -> HeaderCutter:
    return HeaderCutter(machine.torch.root / "include")


def headers_for(text: str, omitted: OmittedNames, cutter: HeaderCutter, *, cuda: bool) -> SourceHeaders:
    headers = omitted.headers_for(read_identifiers([text]), cutter, cuda=cuda)
    assert headers is not None
    return headers


def test_what_is_for_nvcc_goes_and_what_is_for_others_stays() -> None:
    text = """#ifdef __CUDACC__
#if defined(__CUDACC__) || defined(__HIPCC__)
#if (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 530)
#if defined(__aarch64__) && !defined(__CUDACC__)
#if !(defined(__CUDA_ARCH__) || defined(__CUDACC__))
"""

    def read(name: str) -> str:
        if name == "c10/util/Half.h":
            return text
        if name == "c10/util/complex.h":
            return "#pragma once\n"
        raise FileNotFoundError(name)

    assert without_conversions(read) == {
        "c10/util/Half.h": """#include <cfloat>
#if 0
#if 0 || defined(__HIPCC__)
#if (0 && __CUDA_ARCH__ >= 530)
#if defined(__aarch64__) && !defined(__CUDACC__)
#if !(defined(__CUDA_ARCH__) || defined(__CUDACC__))
"""
    }


@pytest.mark.parametrize(
    "text",
    [
        "__half x;",
        "at::BFloat16 x;",
        "c10::complex<float> z;",
        "auto t = torch::kFloat16;",
        "#include <ATen/cuda/CUDAContext.h>",
        "#if THRUST_VERSION > 1\n#endif",
    ],
)
def test_a_source_that_may_have_to_do_with_such_a_type_keeps_them(text: str) -> None:
    assert not unnamed(read_identifiers([text]), (), MACROS)


def test_parts_that_make_types_and_an_unknown_toolkit_keep_them() -> None:
    words = read_identifiers([KERNEL])
    assert unnamed(words, (), MACROS)
    assert not unnamed(words, (0,), MACROS)
    assert not unnamed(words, (), None)


def test_only_cuda_sources_go_without(cutter: HeaderCutter) -> None:
    omitted = OmittedNames(macros={}, functions={}, number_macros=MACROS)
    plain = set(cutter.plain_numbers)
    assert {"torch/headeronly/util/Half.h", "torch/headeronly/util/complex.h"} <= plain
    assert plain <= headers_for(KERNEL, omitted, cutter, cuda=True).files.keys()
    assert not plain & headers_for(KERNEL, omitted, cutter, cuda=False).files.keys()
    assert not plain & headers_for(f"{KERNEL}// \n__half x;", omitted, cutter, cuda=True).files.keys()


@pytest.mark.build
def test_macros_of_the_conversions_are_known(warm: Path, cuda_machine: Toolchain) -> None:
    (path,) = warm.glob("headers/*/omitted_names.json")
    macros = OmittedNames.model_validate_json(path.read_bytes()).number_macros
    assert macros is not None
    assert {"THRUST_VERSION", "CUDART_INF_FP16"} & macros
    assert not {"FLT_MAX", "INT_MAX", "TORCH_CHECK", "assert"} & macros


@pytest.mark.build
def test_device_code_is_the_same(warm: Path, cuda_machine: Toolchain, cutter: HeaderCutter, tmp_path: Path) -> None:
    (path,) = warm.glob("headers/*/omitted_names.json")
    found = OmittedNames.model_validate_json(path.read_bytes())
    assert cuda_machine.nvcc is not None
    (tmp_path / "kernel.cu").write_text(KERNEL)
    made: list[str] = []
    for omitted in (found, found.model_copy(update={"number_macros": None})):
        place = tmp_path / str(len(made))
        for name, text in headers_for(KERNEL, omitted, cutter, cuda=True).files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        flags = ["-isystem", str(place), "-isystem", str(path.parent / "base"), *header_flags(cuda_machine, cuda=True)]
        argv = (*cuda_machine.nvcc.command, f"-std={cuda_machine.torch.standard}", *flags, "-arch=sm_90", "-ptx", "kernel.cu", "-o", "-")
        ptx = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300).stdout
        made.append(ptx[ptx.index(".visible .entry") :])  # before it are variables of Thrust's that nothing uses
    assert (tmp_path / "0" / "torch/headeronly/util/Half.h").exists()
    assert not (tmp_path / "1" / "torch").joinpath("headeronly").exists()
    assert "twice" in made[0]
    assert made[0] == made[1]
