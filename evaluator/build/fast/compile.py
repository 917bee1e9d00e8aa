"""Compiles a source the fast way: cut-down headers, nvcc's passes side by side, precompiled headers for C++.

It may fail where the stock way does not, so that a failure means nothing by itself: what does not succeed here is compiled again the stock
way, unless the failure is of the kind that `proof.py` proves.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evaluator.build.commands import Command, Step
from evaluator.build.fast.identifiers import read_identifiers
from evaluator.build.fast.lean_headers import SourceHeaders, UnknownHeadersError
from evaluator.build.fast.passes import read_dryrun, script
from evaluator.build.fast.preprocess import units
from evaluator.build.fast.proof import Failure, may_be_proved
from evaluator.build.fast.shared_headers import LeanHeaders, RunIn, SharedHeaders
from evaluator.build.request import BuildRequest, SourceFile
from evaluator.build.runner import CommandResult

Run = Callable[[tuple[str, ...]], CommandResult]
"""Runs a command in the folder of the build."""
CPP_SUFFIXES = (".cpp", ".cc", ".cxx")
_BEGINS_WITH_EXTENSION = re.compile(r"\A(?>\s+|//[^\n]*\n|/\*(?>.*?\*/))*+#[^\S\n]*include[^\S\n]*<torch/extension\.h>", re.DOTALL)
_DECLARES_ONLY = re.compile(r"\A(?!.*\basm\b)[^{}]*\bPYBIND11_MODULE\(TORCH_EXTENSION_NAME, m\) \{[^{}]*\}\s*\Z", re.DOTALL)
"""A binding file as PyTorch writes it: declarations, and a module that names them. There is nothing in it that a compiler could object to
after it has understood it."""
MAX_READ_CHARS = 256 << 10
"""Longer sources go without cut-down headers: reading them word by word would take its time, in the builder's own process."""
_TELLING_FLAG = re.compile(
    r"-[DU](?!__CUDA_NO_)|define-macro|-include|-imacros|-isystem|-iquote|-idirafter|-nostdinc|options-file|-optf|^@"
)
"""Flags that may change what PyTorch's headers say, or bring in others."""


@dataclass(frozen=True)
class FastResult:
    """What came of a source that was compiled the fast way."""

    way: str
    """As in "lean+passes": what was fast about it."""
    result: CommandResult
    headers: SourceHeaders | None
    """The cut-down headers that it was compiled with."""
    made: bool = True
    """Whether there is an object if it succeeded; where none is needed, a file may have been read through only."""


class FastWay:
    """Compiles sources of one toolchain the fast way, where there is one."""

    def __init__(self, shared_headers: SharedHeaders, run_in: RunIn) -> None:
        self._shared_headers, self._run_in = shared_headers, run_in

    def compile(
        self, request: BuildRequest, command: Command, key: str, folder: Path, run: Run, *, linked: bool = True
    ) -> FastResult | None:
        """Run `command` of the plan, in other words; `linked`: its object is needed. None where there is no fast way. Raises OSError as the
        runner does."""
        source = _source_of(request, command)
        if command.step is Step.CUDA:
            return self._compile_cuda(request, source, command, key, folder, run)
        if source.suffix not in CPP_SUFFIXES:
            return None
        prepared = self._shared_headers.headers(self._run_in)
        headers = self._headers(prepared, request, source, request.extra_cflags)
        if prepared is None or headers is None:
            return None
        argv = _with_headers(command.argv, prepared, _place(folder, source, headers))
        binding = self._binding(request, source)
        if binding is not None:
            argv = (argv[0], "-include", str(binding), *argv[1:])
        way = "lean" if binding is None else "lean+precompiled"
        if not linked and argv[-4:] == ("-c", source.name, "-o", command.output) and _DECLARES_ONLY.match(source.text):
            return FastResult(f"{way}+read", run((*argv[:-4], "-fsyntax-only", source.name)), headers, made=False)
        return FastResult(way, run(argv), headers)

    def proof(self, request: BuildRequest, command: Command, folder: Path, tried: FastResult, run: Run) -> str | None:
        """What proves that a source which `tried` tells the failure of fails the stock way with the same messages; None where nothing does.
        Raises OSError as the runner does."""
        result, gnu = tried.result, command.step is Step.CPP
        texts = {file.name: file.text for file in request.sources + request.headers}
        prepared = self._shared_headers.headers(self._run_in)
        if tried.headers is None or prepared is None or not result.code or not may_be_proved(result.output, texts, gnu):
            return None
        source = _source_of(request, command)
        found = units(request, source, command, (_place_of(source), str(prepared.base)), folder, run)
        return Failure(result.output, texts, *found, gnu).proof() if found else None

    def doubt(self) -> None:
        """Look at what was prepared again before it is used again: something failed with it."""
        self._shared_headers.doubt()

    def _compile_cuda(
        self, request: BuildRequest, source: SourceFile, command: Command, key: str, folder: Path, run: Run
    ) -> FastResult | None:
        prepared = self._shared_headers.headers(self._run_in)
        headers = self._headers(prepared, request, source, request.extra_cuda_cflags)
        argv = command.argv
        if prepared is not None and headers is not None:
            argv = _with_headers(argv, prepared, _place(folder, source, headers))
        listed = run((argv[0], "--dryrun", *argv[1:]))
        passes = read_dryrun(listed.output, argv) if listed.code == 0 else None
        if passes is not None:
            argv = ("/bin/sh", "-c", script(passes, key, source.name))
        elif headers is None:
            return None
        ways = [*(["lean"] if headers else []), *(["passes"] if passes else [])]
        return FastResult("+".join(ways), run(argv), headers)

    def _headers(
        self, prepared: LeanHeaders | None, request: BuildRequest, source: SourceFile, flags: tuple[str, ...]
    ) -> SourceHeaders | None:
        """Cut-down headers that mean the same to `source`; None where that is not sure."""
        if prepared is None or any(map(_TELLING_FLAG.search, flags)):
            return None
        texts = [source.text, *(header.text for header in request.headers)]
        if sum(map(len, texts)) > MAX_READ_CHARS:
            return None
        try:
            return prepared.omitted.headers_for(read_identifiers(texts), prepared.cutter, cuda=source.is_cuda)
        except (OSError, UnknownHeadersError):
            return None

    def _binding(self, request: BuildRequest, source: SourceFile) -> Path | None:
        if not _BEGINS_WITH_EXTENSION.match(source.text):
            return None
        return self._shared_headers.binding(request.uses_cuda, request.extra_cflags, self._run_in)


def _source_of(request: BuildRequest, command: Command) -> SourceFile:
    return next(source for source in request.sources if command.output == f"{source.name}.o")


def _place_of(source: SourceFile) -> str:
    """The name of the folder for this source's headers. No file of a request is called so: its names begin with no dot."""
    return f".lean-{source.name}"


def _place(folder: Path, source: SourceFile, headers: SourceHeaders) -> str:
    """The name of a folder below `folder` with these headers."""
    place = _place_of(source)
    for name, text in headers.files.items():
        path = folder / place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in (folder / place, *(folder / place).rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return place


def _with_headers(argv: tuple[str, ...], prepared: LeanHeaders, place: str) -> tuple[str, ...]:
    return (argv[0], "-isystem", place, "-isystem", str(prepared.base), *argv[1:])
