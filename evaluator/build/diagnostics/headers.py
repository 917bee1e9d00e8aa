"""Which headers and libraries belong to CUDA, its libraries, PyTorch or Python, and whether this machine has that part.

A submission that includes `cublas_v2.h` where cuBLAS is not installed is not at fault; one that includes `torch/fast_softmax.h`, which no
PyTorch has, is. The table names one header per part that every installation of it has. If this witness exists, the part is installed, and
any other missing header of the part was invented.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """A part that is either installed or not."""

    names: re.Pattern[str]
    """Its headers, and libraries as libNAME."""
    witness: str


_CUDA_TORCH = "c10/cuda/impl/cuda_cmake_macros.h"
"""Generated when PyTorch is built for CUDA; a CPU-only PyTorch ships its neighbours but not this one."""

PARTS = tuple(
    Part(re.compile(names), witness)
    for names, witness in (
        (r"cublas|libcublas", "cublas_v2.h"),
        (r"curand|libcurand", "curand_kernel.h"),
        (r"cusparse|libcusparse", "cusparse.h"),
        (r"cusolver|libcusolver", "cusolverDn.h"),
        (r"cufft|libcufft", "cufft.h"),
        (r"cudnn|libcudnn", "cudnn.h"),
        (r"cutensor|libcutensor", "cutensor.h"),
        (r"nvrtc|libnvrtc", "nvrtc.h"),
        (r"nvml|libnvidia-ml", "nvml.h"),
        (r"nccl|libnccl", "nccl.h"),
        (r"nvshmem|libnvshmem", "nvshmem.h"),
        (r"(cutlass|cute)/", "cutlass/cutlass.h"),
        (r"cub/", "cub/cub.cuh"),
        (r"thrust/", "thrust/version.h"),
        (r"(cuda|nv)/", "cuda/std/version"),
        (r"nvtx3/|nvToolsExt", "nvtx3/nvToolsExt.h"),
        (r"(ATen|c10|torch/csrc(?:/\w+)*)/cuda/|lib(torch|c10)_cuda$", _CUDA_TORCH),
        (r"(ATen|c10|torch|caffe2|pybind11)/|libtorch|libc10", "torch/extension.h"),
        (
            r"cuda|cooperative_groups|mma\.h|device_launch_parameters|vector_types|math_constants|libcudart|libcuda$|libcudadevrt",
            "cuda_runtime.h",
        ),
        (r"Python\.h", "Python.h"),
    )
)
NEWER = re.compile(
    r"cuda_(bf16|fp4|fp6|fp8|awbarrier|pipeline|pipeline_primitives)\.h(pp)?|cooperative_groups/(reduce|scan|memcpy_async|async)\.h|mma\.h"
)
"""Headers of the toolkit itself that older releases lack: never invented, so the machine lacks them."""


def is_of_this_machine(name: str, header_exists: Callable[[str], bool]) -> bool:
    """Whether the machine lacks this header or library (`libNAME`), rather than the submission having invented it."""
    if NEWER.fullmatch(name):
        return True
    part = next((part for part in PARTS if part.names.match(name)), None)
    return part is not None and not header_exists(part.witness)


def header_finder(include_dirs: Iterable[Path]) -> Callable[[str], bool]:
    """A function that looks up a header in these folders, and in the `cccl` folder where CUDA 13 keeps CUB, Thrust and libcu++."""
    places = [place for folder in include_dirs for place in (folder, folder / "cccl")]
    return lambda name: any((place / name).is_file() for place in places)
