"""Puts the caches of compilers that run in the worker into its private folder, which is removed with it."""

import os
from collections.abc import Mapping
from pathlib import Path

from evaluator.dsl import dsls

INDUCTOR = "inductor"
_FOLDERS = {"TORCHINDUCTOR_CACHE_DIR": INDUCTOR, "CUDA_CACHE_PATH": "nv"}
_SETTINGS = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
"""torch.compile starts no processes of its own."""


def cache_environment(folder: Path) -> Mapping[str, str]:
    """Environment variables that keep caches below this folder, and those of the DSLs."""
    settings, folders = dict(_SETTINGS), dict(_FOLDERS)
    for dsl in dsls():
        settings |= dsl.settings
        folders |= dsl.caches
    return settings | {name: str(folder / part) for name, part in folders.items()}


def generated_folder() -> str:
    """Folder of torch.compile's generated CPU code, with a slash at its end; below the current folder, like a worker's."""
    return f"{os.path.join(os.getcwd(), INDUCTOR)}/"  # noqa: PTH109, PTH118 - as the process's map of its memory spells it
