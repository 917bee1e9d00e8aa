"""Where compilers that run in the worker keep what they make: in its private folder, which ends with it."""

import os
from collections.abc import Mapping
from pathlib import Path

INDUCTOR = "inductor"
_FOLDERS = {
    "TORCH_EXTENSIONS_DIR": "torch_extensions",
    "TORCHINDUCTOR_CACHE_DIR": INDUCTOR,
    "TRITON_CACHE_DIR": "triton",
    "CUPY_CACHE_DIR": "cupy",
    "NUMBA_CACHE_DIR": "numba",
    "CUDA_CACHE_PATH": "nv",
    "PYTORCH_KERNEL_CACHE_PATH": "torch_kernels",
}
_SETTINGS = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
"""torch.compile starts no processes of its own."""


def cache_environment(folder: Path) -> Mapping[str, str]:
    """Environment variables that keep caches below this folder."""
    return _SETTINGS | {name: str(folder / part) for name, part in _FOLDERS.items()}


def generated_folder() -> str:
    """Where the code lies that torch.compile makes for the CPU, with a slash at its end; below the current folder, as a worker's is."""
    return f"{os.path.join(os.getcwd(), INDUCTOR)}/"  # noqa: PTH109, PTH118 - as the process's map of its memory spells it
