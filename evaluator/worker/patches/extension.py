"""`load_inline` and `load` inside the worker: a build request to the judge instead of a compiler.

PyTorch's own functions still check arguments, write sources and generate bindings; only `_jit_compile`, the step that would run the
compilers, is replaced. So every mistake in a call fails with PyTorch's usual message.
"""

import ctypes
import functools
import importlib.machinery
import importlib.util
import inspect
import logging
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

# Its import warns that no GPU is visible, as is normal in the fork server.
logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)
from torch.utils import cpp_extension  # noqa: E402

from evaluator.worker.patches.ablation import Ablation  # noqa: E402
from evaluator.worker.patches.process import Ask, WorkerProcess  # noqa: E402

HEADER_SUFFIXES = {".h", ".hpp", ".cuh", ".hh", ".inl"}

COMMON_PREFIX = "assay_build_"
"""Prefix of a memory file with an extension that was built once for all names: it is loaded by that name, and then renamed."""

_SIGNATURE = inspect.signature(cpp_extension._jit_compile)


def install(process: WorkerProcess) -> None:
    """Make this worker's `load_inline` and `load` ask the judge."""
    Extensions(process.build, process.ablation).install()


class Extensions:
    """Answers PyTorch's `_jit_compile` by asking the judge for a build."""

    def __init__(self, ask: Ask, ablation: Ablation | None = None) -> None:
        """With an `ablation`, all that is loaded is taken out."""
        self._ask, self._ablation = ask, ablation

    def install(self) -> None:
        """Replace PyTorch's compilation step, for both `load` and `load_inline`."""
        cpp_extension._jit_compile = self._jit_compile  # type: ignore[assignment]
        # Both touch PyTorch's own installation, which is read-only here; the builder decides about precompiled headers.
        cpp_extension._check_and_build_extension_h_precompiler_headers = lambda *_: None
        cpp_extension.remove_extension_h_precompiler_headers = lambda *_: None

    def _jit_compile(self, *args: Any, **kwargs: Any) -> ModuleType | str | None:
        call = _SIGNATURE.bind(*args, **kwargs)
        call.apply_defaults()
        given = call.arguments
        sources = [Path(source) for source in given["sources"]]
        with_cuda = given["with_cuda"]
        ok, output, descriptor = self._ask(
            {
                "name": given["name"],
                "sources": [_source(path) for path in sources],
                "headers": [_source(path) for path in _headers(sources, given.get("extra_include_paths") or [])],
                "extra_cflags": _flags(given.get("extra_cflags")),
                "extra_cuda_cflags": _flags(given.get("extra_cuda_cflags")),
                "extra_ldflags": _flags(given.get("extra_ldflags")),
                "with_cuda": any(path.suffix == ".cu" for path in sources) if with_cuda is None else bool(with_cuda),
            }
        )
        if not ok or descriptor is None:
            raise RuntimeError(f"Error building extension '{given['name']}': {output}")
        load = functools.partial(_load, given["name"], descriptor, given.get("is_python_module", True))
        return self._ablation.around(load) if self._ablation else load()


def _source(path: Path) -> dict[str, str]:
    return {"name": path.name, "text": path.read_text(errors="replace")}


def _headers(sources: Iterable[Path], include_paths: Iterable[str]) -> list[Path]:
    """Headers that the submission wrote, beside its sources or in the include paths that it names; the builder sees no other file."""
    # load_inline's own build directory holds only its sources, and submissions don't write there.
    folders = {source.parent for source in sources} | {Path(path) for path in include_paths}
    private = [folder for folder in folders if folder.resolve().is_relative_to(Path.cwd())]
    return sorted(path for folder in private for path in folder.glob("*") if path.suffix in HEADER_SUFFIXES)


def _flags(value: Any) -> list[str]:
    return [str(flag) for flag in value or []]


def _load(name: str, descriptor: int, is_python_module: bool) -> ModuleType | None:
    path = f"/proc/self/fd/{descriptor}"
    if not is_python_module:
        ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
        return None
    built_as = os.readlink(path).removeprefix("/memfd:").removesuffix(" (deleted)")  # noqa: PTH115 - a descriptor's link names no path
    built_as = built_as if built_as.startswith(COMMON_PREFIX) else name
    loader = importlib.machinery.ExtensionFileLoader(built_as, path)
    spec = importlib.util.spec_from_loader(built_as, loader)
    if spec is None:
        raise ImportError(f"no module specification for {name}")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    module.__name__ = name
    sys.modules.setdefault(name, module)
    return module
