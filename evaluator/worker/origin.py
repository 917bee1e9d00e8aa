"""The origin of machine code: the submission's own, or installed."""

import re
import sys
from pathlib import Path

from evaluator.dsl import dsls

OWN_PREFIXES = ("/proc/self/fd/", "/memfd:", "/tmp/", "/dev/shm/")
"""Possible paths of the submission's shared objects: the builder's arrive as descriptors (memfds), and only its private directories are
writable. Libraries of the system, of CUDA and of PyTorch are on read-only mounts, most of them elsewhere."""


def installed_folders() -> tuple[str, ...]:
    """Folders below OWN_PREFIXES with Python and its packages, each with a slash at its end.

    Call it before a submission is loaded, which could change the search path.
    """
    given = {Path(entry).resolve() for entry in (sys.prefix, sys.base_prefix, *sys.path) if entry}
    return tuple(sorted(f"{folder}/" for folder in given if f"{folder}/".startswith(OWN_PREFIXES) and f"{folder}/" not in OWN_PREFIXES))


def is_own(path: str, installed: tuple[str, ...]) -> bool:
    """Whether the shared object of this path is the submission's; `installed` are the `installed_folders`."""
    return path.startswith(OWN_PREFIXES) and not path.startswith(installed)


LIBRARIES = re.compile(r"libtorch_cuda|libcu(?!te_dsl_runtime)|libnccl")
"""Beginnings of the names of libraries that launch their own kernels through the driver; a submission's text can contain their names. CuTe
DSL's runtime launches the submission's."""
_GENERATED = re.compile(r"triton_[^_]{3}_fused_|triton_$")
"""Names that torch.compile gives to its kernels. Those that it only tries begin with `triton_`, too."""
_VENDORS = re.compile(r"(?<![A-Za-z0-9_])(?:cub|thrust|cutlass)::")
"""A namespace of a header library. Such a library can be wrapped in another namespace, so it need not come first."""
_WRAPPER = re.compile(r"(?:[^(<\[$]|\(anonymous namespace\)::)*(?<![A-Za-z0-9_])cutlass::(?:Kernel2?|device_kernel)<")
"""CUTLASS's wrapper kernels, which do no work: they construct their template argument and call it."""
_BASE_NAME = re.compile(r"(?:[^(<\[$]|\(anonymous namespace\)::)*")


def kernel_names(source: str) -> tuple[str, ...]:
    """The recorder's names of DSL kernels: those of the DSLs' libraries, and the patterns (whose_kernel.h) of the DSLs that the submission
    imports."""
    return tuple(name for dsl in dsls() for name in (*dsl.library_kernels, *(dsl.kernel_names if dsl.is_imported_by(source) else ())))


def is_own_kernel(name: str, path: str, source: str, installed: tuple[str, ...], *, by_driver: bool) -> bool:
    """Whether a kernel of this name, launched from the shared object of this path, belongs to the submission with this source.

    Triton and other DSLs launch through the driver, from objects that don't show whose the kernel is. Such a kernel is the
    submission's if the source contains its name, or the function that a DSL names it after. Kernels that torch.compile generates are not,
    nor are those of the DSLs' libraries. whose_kernel.h has the same rules for the launch recorder.
    """
    if not by_driver:
        return is_own(path, installed)
    if _GENERATED.match(name) or _is_of_library(name):
        return False
    if source and is_named(name, source) and not LIBRARIES.match(path.rsplit("/", 1)[-1]):
        return True
    return is_own(path, installed) and not (source and name.startswith("triton_"))


def is_vendors(kernel: str) -> bool:
    """Whether a kernel's function is in a namespace of CUB, Thrust or CUTLASS, at any depth. Its template arguments don't count; but for
    CUTLASS's wrapper kernels, only the argument does.

    The submission may launch such a kernel, but it is not its own work: it is not left out, and earns no rank. whose_kernel.h says the
    same.
    """
    wrapper = _WRAPPER.match(kernel)
    whole = _BASE_NAME.match(kernel, wrapper.end() if wrapper else 0)
    return whole is not None and _VENDORS.search(whole[0]) is not None


def is_named(kernel: str, source: str) -> bool:
    """Whether a kernel's name, without return type, namespaces, parameters and compilers' additions, is a word of the source, or made by a
    DSL from the name of a function in it."""
    whole = _BASE_NAME.match(kernel)
    base = re.split(r"[: ]", whole[0])[-1] if whole else ""
    if not base:
        return False
    found = re.search(rf"(?<![A-Za-z0-9_]){re.escape(base)}(?![A-Za-z0-9_])", source)
    return found is not None or any(dsl.names_function(base, source) for dsl in dsls())


def _is_of_library(kernel: str) -> bool:
    """Whether a kernel comes with a DSL."""
    patterns = (pattern for dsl in dsls() for pattern in dsl.library_kernels)
    return any(kernel.startswith(pattern[:-1]) if pattern.endswith("*") else kernel == pattern for pattern in patterns)
