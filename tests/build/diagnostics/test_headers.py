from pathlib import Path

import pytest

from evaluator.build.diagnostics.headers import header_finder, is_of_this_machine
from evaluator.build.toolchain import Toolchain

NOWHERE = frozenset[str]()


ABSENT = """
cuda_runtime.h cublas_v2.h cublasLt.h cudnn.h cutlass/gemm/gemm.h cute/tensor.hpp cub/cub.cuh thrust/sort.h nccl.h ATen/cuda/CUDAContext.h
c10/cuda/CUDAStream.h torch/extension.h cuda/std/array cooperative_groups.h libcublas libtorch_cuda
"""


@pytest.mark.parametrize("name", ABSENT.split())
def test_parts_that_are_absent_are_the_machines_lack(name: str) -> None:
    assert is_of_this_machine(name, NOWHERE.__contains__)


@pytest.mark.parametrize("name", ["my_helpers.cuh", "softmax.h", "vector", "opencv2/core.hpp", "libmine", "mycuda.h"])
def test_unknown_names_never_are(name: str) -> None:
    assert not is_of_this_machine(name, NOWHERE.__contains__)


@pytest.mark.parametrize(
    ("name", "witness"), [("torch/fast.h", "torch/extension.h"), ("cuda_helpers.h", "cuda_runtime.h"), ("cublas_v3.h", "cublas_v2.h")]
)
def test_invented_names_of_parts_that_are_here_are_not(name: str, witness: str) -> None:
    assert not is_of_this_machine(name, {witness}.__contains__)


def test_cuda_headers_of_pytorch_need_a_cuda_pytorch() -> None:
    assert is_of_this_machine("ATen/cuda/CUDAContext.h", {"torch/extension.h"}.__contains__)
    assert not is_of_this_machine("ATen/cuda/Invented.h", {"c10/cuda/impl/cuda_cmake_macros.h"}.__contains__)


def test_header_of_a_newer_toolkit_is_never_invented() -> None:
    assert is_of_this_machine("cuda_fp4.h", {"cuda_runtime.h"}.__contains__)


def test_finder_looks_into_cccl(tmp_path: Path) -> None:
    header = tmp_path / "cccl" / "cub" / "cub.cuh"
    header.parent.mkdir(parents=True)
    header.touch()
    exists = header_finder([tmp_path])
    assert exists("cub/cub.cuh")
    assert not exists("thrust/version.h")


def test_finder_finds_pytorch_on_this_machine(machine: Toolchain) -> None:
    assert header_finder(machine.include_dirs(cuda=True))("torch/extension.h")
