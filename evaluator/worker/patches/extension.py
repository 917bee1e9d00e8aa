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
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

# Its import warns that no GPU is visible, as is normal in the fork server.
logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)
from torch.utils import cpp_extension  # noqa: E402

from evaluator.worker.patches.ablation import Ablation  # noqa: E402
from evaluator.worker.patches.process import Ask, WorkerProcess  # noqa: E402
from evaluator.worker.protocol import COMMON_PREFIX, MAX_HEADERS, MAX_HEADERS_BYTES, is_path  # noqa: E402

NO_HEADERS = (".py", ".pyc", ".o", ".so")
"""Endings of files that no source includes, and that a build may make."""
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
        sources = [Path(source).absolute() for source in given["sources"]]
        include_paths = [Path(path).absolute() for path in given.get("extra_include_paths") or []]
        places = _places([*(source.parent for source in sources), *include_paths])
        files = [{"name": str(places.get(path.parent, PurePosixPath()) / path.name), "text": _text(path)} for path in sources]
        with_cuda = given["with_cuda"]
        ok, output, descriptor = self._ask(
            {
                "name": given["name"],
                "sources": files,
                "headers": _headers(places, {file["name"] for file in files}),
                "include_paths": [str(places[path]) for path in include_paths if path in places],
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


def _text(path: Path) -> str:
    return path.read_text(errors="replace")


def _places(folders: Iterable[Path]) -> dict[Path, PurePosixPath]:
    """Where the builder has the submission's own folders. Those below one child of the working folder keep their distance. No name above
    them counts: that of a temporary folder is random, and would change the build."""
    here = Path.cwd().resolve()
    real = {folder: path for folder in folders if (path := folder.resolve()).is_relative_to(here)}
    trees: dict[Path, list[Path]] = {}
    for path in real.values():
        tree = here if here in real.values() else here / path.relative_to(here).parts[0]
        trees.setdefault(tree, []).append(path)
    roots = [
        (Path(os.path.commonpath(paths)), PurePosixPath(f"include-{number}" if number else ""))
        for number, paths in enumerate(trees.values())
    ]
    return {folder: place / path.relative_to(root) for folder, path in real.items() for root, place in roots if path.is_relative_to(root)}


def _headers(places: Mapping[Path, PurePosixPath], sources: Collection[str]) -> list[dict[str, str]]:
    """All texts below these folders that are neither hidden nor sources: the builder sees no other file of the submission. The last is the
    first that is too much for the judge, which refuses them."""
    found: list[dict[str, str]] = []
    taken, room = set(sources), MAX_HEADERS_BYTES
    for folder, place in places.items():
        for path in sorted(folder.rglob("[!.]*")):
            name = str(place / path.relative_to(folder))
            if name in taken or path.suffix in NO_HEADERS or not is_path(name) or not path.is_file():
                continue
            try:
                text = _text(path)
            except OSError:
                continue  # no compiler could read it either
            if "\0" in text:
                continue  # a library or a picture
            taken.add(name)
            found.append({"name": name, "text": text})
            room -= len(text.encode())
            if room < 0 or len(found) > MAX_HEADERS:
                return found
    return found


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
