"""The command lines that build a stock PyTorch extension, as plain data.

One compile per source and one link, with the flags that torch.utils.cpp_extension writes into its ninja file (PyTorch 2.9 to 2.13). All
paths of the request are relative to its folder, so neither objects nor messages depend on where it was built.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from evaluator.build.request import BuildRequest, SourceFile
from evaluator.build.toolchain import Compiler, Toolchain

NVCC_FLAGS = (
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr",
)
"""PyTorch's COMMON_NVCC_FLAGS."""


class Step(StrEnum):
    """What a command does; the name of its failure depends on it."""

    CPP = "cpp"
    CUDA = "cuda"
    LINK = "link"


@dataclass(frozen=True)
class Command:
    """One compiler call."""

    step: Step
    argv: tuple[str, ...]
    output: str
    """The file that it makes, relative to the build's folder."""


@dataclass(frozen=True)
class Plan:
    """All commands of one request."""

    compiles: tuple[Command, ...]
    """Independent of each other."""
    link: Command | None
    """None if nothing can be linked here: then the build only checks that sources compile."""
    lacking: str | None = None
    """What this machine lacks to build the whole request."""


def plan(request: BuildRequest, toolchain: Toolchain) -> Plan:
    """The stock build of `request`. Sources whose compiler this machine lacks are left out, and `lacking` says so."""
    compiles: list[Command] = []
    lacking: str | None = None
    for source in request.sources:
        compiler = toolchain.nvcc if source.is_cuda else toolchain.cxx
        if compiler is None:
            lacking = "nvcc with its CUDA toolkit" if source.is_cuda else "a C++ compiler"
        else:
            compiles.append((_compile_cuda if source.is_cuda else _compile_cpp)(request, source, compiler, toolchain))
    linkable = lacking is None and toolchain.cxx is not None and (toolchain.links_cuda or not request.uses_cuda)
    link = _link(request, toolchain, compiles) if linkable else None
    return Plan(tuple(compiles), link, lacking)


def header_flags(toolchain: Toolchain, cuda: bool) -> list[str]:
    """The flags that change the content of PyTorch's headers, for the C++ compiler and nvcc alike."""
    flags = ["-DTORCH_API_INCLUDE_EXTENSION_H", *toolchain.torch.abi_flags]
    for path in toolchain.include_dirs(cuda):
        flags += ["-isystem", str(path)]
    return flags


def cpp_flags(toolchain: Toolchain, cuda: bool) -> list[str]:
    """Flags of every C++ source, before the request's own."""
    return [*header_flags(toolchain, cuda), "-fPIC", f"-std={toolchain.torch.standard}"]


def _include_flags(folders: Iterable[str | Path]) -> list[str]:
    return [flag for folder in folders for flag in ("-I", str(folder))]


def _name_flag(request: BuildRequest) -> str:
    return f"-DTORCH_EXTENSION_NAME={request.name}"


def _compile_cpp(request: BuildRequest, source: SourceFile, compiler: Compiler, toolchain: Toolchain) -> Command:
    flags = [_name_flag(request), *_include_flags(request.include_paths), *cpp_flags(toolchain, request.uses_cuda)]
    flags += [*request.extra_cflags, *_include_flags(toolchain.headers)]
    return Command(Step.CPP, (*compiler.command, *flags, "-c", source.name, "-o", source.output), source.output)


def _compile_cuda(request: BuildRequest, source: SourceFile, compiler: Compiler, toolchain: Toolchain) -> Command:
    flags = ["-ccbin", toolchain.host_compiler] if toolchain.host_compiler else []
    flags += [
        _name_flag(request),
        *_include_flags(request.include_paths),
        *header_flags(toolchain, request.uses_cuda),
        *NVCC_FLAGS,
        *_arch_flags(request.extra_cuda_cflags, toolchain.arch),
    ]
    flags += ["--compiler-options", "-fPIC", *_without_native(request.extra_cuda_cflags), *_include_flags(toolchain.headers)]
    if not any(flag.startswith(("-std=", "--std")) for flag in request.extra_cuda_cflags):
        flags.append(f"-std={toolchain.torch.standard}")
    return Command(Step.CUDA, (*compiler.command, *flags, "-c", source.name, "-o", source.output), source.output)


def _arch_flags(extra: tuple[str, ...], arch: tuple[str, ...]) -> list[str]:
    """`-gencode` flags for `arch`.

    PyTorch leaves its own out as soon as any flag contains "arch", even `-Xcompiler -march=native`. Here they are left out only if the
    submission names the device's architecture. So a submission written for another GPU still gets code that can be loaded.
    """
    named = set(re.findall(r"(?:sm|compute)_(\d+)", " ".join(extra)))
    flags: list[str] = []
    for item in arch:
        number = item.removesuffix("+PTX").replace(".", "")
        if number.rstrip("a") in named:
            continue
        flags.append(f"-gencode=arch=compute_{number},code=sm_{number}")
        if item.endswith("+PTX"):
            flags.append(f"-gencode=arch=compute_{number},code=compute_{number}")
    return flags


def _without_native(extra: tuple[str, ...]) -> list[str]:
    """The flags without `-arch=native`: the builder sees no GPU, so nvcc would use its oldest architecture."""
    text = "\0".join(extra)
    text = re.sub(r"(?:(?<=\0)|^)(?:-arch|--gpu-architecture)[=\0]native(?=\0|$)", "", text)
    return [flag for flag in text.split("\0") if flag]


def _link(request: BuildRequest, toolchain: Toolchain, compiles: list[Command]) -> Command:
    assert toolchain.cxx is not None
    cuda = request.uses_cuda
    torch_lib, *cuda_libs = toolchain.library_dirs(cuda)
    libraries = [
        "-lc10",
        *(["-lc10_cuda"] if cuda else []),
        "-ltorch_cpu",
        *(["-ltorch_cuda"] if cuda else []),
        "-ltorch",
        "-ltorch_python",
    ]
    output = f"{request.name}.so"
    argv = [
        *toolchain.cxx.command,
        *(command.output for command in compiles),
        "-shared",
        *request.extra_ldflags,
        f"-L{torch_lib}",
        *libraries,
    ]
    if cuda:
        argv += [*(f"-L{path}" for path in cuda_libs), "-lcudart"]
    return Command(Step.LINK, (*argv, "-o", output), output)
