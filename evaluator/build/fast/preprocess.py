"""The preprocessed text of a source that failed the fast way, for both ways: only the preprocessor runs, for a second or two."""

import re
import shlex
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from evaluator.build.commands import Command, Step
from evaluator.build.fast.passes import read_dryrun
from evaluator.build.fast.unit import Unit, read_unit
from evaluator.build.processes.runner import CommandResult
from evaluator.build.processes.work_folder import read_product
from evaluator.build.request import BuildRequest, SourceFile

MAX_UNIT_BYTES = 64 << 20
"""PyTorch's headers are 17 MB."""
_KNOWN_FLAG = re.compile(
    r"""-O[0-3sg]? | -Ofast | -w | -g\d? | -G | -W(?!error|p,|a,|l,)[\w=+-]* | -I.+ | -m(?:arch|tune|cpu)=[\w.-]+ | -m[\w.-]+ | -pthread
      | -std=c\+\+(?:17|2a|20|2b|23)
      | -f(?:no-)?(?:openmp|openmp-simd|fast-math|math-errno|trapping-math|finite-math-only|associative-math|unsafe-math-optimizations
          |unroll-loops|unroll-all-loops|tree-vectorize|strict-aliasing|omit-frame-pointer|inline-functions|lto|PIC|pic)
      | -fvisibility=\w+ | -ffp-contract=\w+
      | --?(?:use_fast_math|lineinfo|generate-line-info|extended-lambda|expt-extended-lambda|expt-relaxed-constexpr)
      | --?(?:fmad|ftz|prec-div|prec-sqrt|maxrregcount|threads|t)=\w+ | --?(?:ptxas-options|Xptxas)=[\w.,=-]+
      | --?(?:gencode|generate-code|arch|gpu-architecture|code|gpu-code)=[\w,=.-]+ | -[DU]__CUDA_NO_\w+
    """,
    re.VERBOSE,
)
"""Flags with a known effect on the preprocessor and the language: none, or the same both ways."""
_WITH_VALUE = frozenset(("-Xptxas", "--ptxas-options", "-gencode", "--generate-code", "-arch", "-maxrregcount", "--maxrregcount"))
_FOR_HOST = frozenset(("-Xcompiler", "--compiler-options"))
_OUTPUT = re.compile(r' -o "[^"$`\\]+"\s*$')
_SCRIPT = """
{variables}
{fast} > {log} 2>&1 & fast=$!
{stock} || exit
wait $fast
"""

Run = Callable[[tuple[str, ...]], CommandResult]


def units(
    request: BuildRequest, source: SourceFile, command: Command, before: Sequence[str], folder: Path, run: Run
) -> tuple[Unit, Unit] | None:
    """The units of the stock way and the fast way; the fast one searches the folders `before` first. None if the preprocessor fails, or may
    differ from the compiler. Raises OSError as `run` does."""
    flags = request.extra_cuda_cflags if source.is_cuda else request.extra_cflags
    if not all_known(flags):
        return None
    names = tuple(f".unit-{way}-{source.name}" for way in ("stock", "fast"))
    script = _cuda_script(command, before, names, run) if command.step is Step.CUDA else _cpp_script(command, source, before, names)
    if script is None or run(("/bin/sh", "-c", script)).code != 0:
        return None
    own_files = {file.name for file in request.sources + request.headers}
    stock, fast = (_read(folder / name, own_files) for name in names)
    return None if stock is None or fast is None else (stock, fast)


def all_known(flags: Sequence[str]) -> bool:
    """Whether these flags of a request mean the same to the preprocessor alone and to the compiler."""
    rest = list(flags)
    while rest:
        flag = rest.pop(0)
        if flag in _FOR_HOST and rest:
            rest = rest.pop(0).split(",") + rest
        elif flag in _WITH_VALUE and rest:
            rest.pop(0)
        elif not _KNOWN_FLAG.fullmatch(flag):
            return False
    return True


def _cpp_script(command: Command, source: SourceFile, before: Sequence[str], names: Sequence[str]) -> str | None:
    tail = ("-c", source.name, "-o", command.output)
    if command.argv[-len(tail) :] != tail:
        return None
    program, *flags = command.argv[: -len(tail)]
    places = [word for folder in before for word in ("-isystem", folder)]
    stock, fast = (
        shlex.join([program, *more, *flags, "-E", "-dN", source.name, "-o", name]) for more, name in zip(([], places), names, strict=True)
    )
    return _SCRIPT.format(variables="", stock=stock, fast=fast, log=shlex.quote(f"{names[1]}.log"))


def _cuda_script(command: Command, before: Sequence[str], names: Sequence[str], run: Run) -> str | None:
    """Like the C++ script, with the preprocessor of nvcc's host half, which reads a source first."""
    listed = run((command.argv[0], "--dryrun", *command.argv[1:]))
    passes = read_dryrun(listed.output, command.argv) if listed.code == 0 else None
    if passes is None or not _OUTPUT.search(passes.host[0]):
        return None
    program, _, flags = _OUTPUT.sub("", passes.host[0]).partition(" ")
    places = " ".join(f"-isystem {shlex.quote(folder)}" for folder in before)
    return _SCRIPT.format(
        variables="\n".join(f"export {variable}={shlex.quote(value)}" for variable, value in passes.variables),
        stock=f"{program} {flags} -o {shlex.quote(names[0])}",
        fast=f"{program} {places} {flags} -o {shlex.quote(names[1])}",
        log=shlex.quote(f"{names[1]}.log"),
    )


def _read(path: Path, own_files: Collection[str]) -> Unit | None:
    """None if it is too long. Raises OSError for anything but a plain file."""
    text = read_product(path, MAX_UNIT_BYTES + 1)
    return read_unit(text.decode("utf-8", "replace"), own_files) if len(text) <= MAX_UNIT_BYTES else None
