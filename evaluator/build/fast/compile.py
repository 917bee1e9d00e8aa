"""Compiles a source the fast way: cut-down headers, nvcc's passes in parallel, precompiled headers for C++.

It may fail where the stock way succeeds, so a failure alone means nothing: the source is compiled again the stock way, unless `proof.py`
proves the failure.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from evaluator.build.commands import Command, Step
from evaluator.build.fast.identifiers import read_identifiers
from evaluator.build.fast.lean_headers import SourceHeaders, UnknownHeadersError
from evaluator.build.fast.passes import Passes, edges, read_dryrun
from evaluator.build.fast.preprocess import Run, units
from evaluator.build.fast.proof import Failure, may_be_proved
from evaluator.build.fast.shared_headers import LeanHeaders, RunIn, SharedHeaders
from evaluator.build.processes.graph import Edge, shell_command
from evaluator.build.processes.runner import CommandResult
from evaluator.build.request import BuildRequest, SourceFile

CPP_SUFFIXES = (".cpp", ".cc", ".cxx")
_BEGINS_WITH_EXTENSION = re.compile(r"\A(?>\s+|//[^\n]*\n|/\*(?>.*?\*/))*+#[^\S\n]*include[^\S\n]*<torch/extension\.h>", re.DOTALL)
_DECLARES_ONLY = re.compile(r"\A(?!.*\basm\b)[^{}]*\bPYBIND11_MODULE\(TORCH_EXTENSION_NAME, m\) \{[^{}]*\}\s*\Z", re.DOTALL)
"""A binding file as PyTorch writes it: declarations, and a module that names them. Nothing in it can fail after it has been parsed."""
MAX_READ_CHARS = 256 << 10
"""Longer sources don't get cut-down headers: reading them token by token takes too long in the builder's own process."""
_INCLUDES_PYTORCH = re.compile(r"#[^\S\n]*include[^\S\n]*[<\"](?:torch|ATen|c10)/")
_TELLING_FLAG = re.compile(
    r"-[DU](?!__CUDA_NO_)|define-macro|-include|-imacros|-isystem|-iquote|-idirafter|-nostdinc|options-file|-optf|^@"
)
"""Flags that may change the content of PyTorch's headers, or include others."""


@dataclass(frozen=True)
class FastAttempt:
    """How to compile one source the fast way."""

    argv: tuple[str, ...]
    ways: tuple[str, ...]
    """The fast techniques that apply; empty while there are none."""
    headers: SourceHeaders | None
    """The cut-down headers that it is compiled with."""
    made: bool = True
    """Whether success makes an object. If no object is needed, the compiler may only check the file."""
    passes: Passes | None = None
    """nvcc's passes, if known."""

    @property
    def way(self) -> str:
        """The techniques in one word, such as "lean+passes"."""
        return "+".join(self.ways)

    @property
    def listing(self) -> tuple[str, ...]:
        """The command by which nvcc lists its passes."""
        return (self.argv[0], "--dryrun", *self.argv[1:])

    def with_passes(self, listed: CommandResult) -> "FastAttempt | None":
        """This attempt with the passes that `listing` printed. None if nothing is fast then."""
        passes = read_dryrun(listed.output, self.argv) if listed.code == 0 else None
        if passes is None:
            return self if self.ways else None
        return replace(self, ways=(*self.ways, "passes"), passes=passes)

    def edges(self, job: str, key: str, source: str, scratch: Path) -> tuple[Edge, ...]:
        """The graph edges that compile the file `source`. `job` begins their names; `scratch` is for temporary files."""
        if self.passes is None:
            return (Edge(job, shell_command(self.argv, {"TMPDIR": str(scratch)})),)
        return edges(self.passes, key, source, job, scratch)


class FastWay:
    """Compiles sources of one toolchain the fast way, where there is one."""

    def __init__(self, shared_headers: SharedHeaders, run_in: RunIn) -> None:
        self._shared_headers, self._run_in = shared_headers, run_in

    def attempt(self, request: BuildRequest, command: Command, folder: Path, *, linked: bool = True) -> FastAttempt | None:
        """The fast form of `command`, with its headers in `folder`; `linked`: its object is needed. None if there is no fast way. For CUDA,
        `with_passes` tells whether anything is fast. Raises OSError as the runner does."""
        source = request.source_of(command.output)
        if command.step is Step.CUDA:
            return self._cuda_attempt(request, source, command, folder)
        if source.suffix not in CPP_SUFFIXES:
            return None
        if not any(_INCLUDES_PYTORCH.search(file.text) for file in (source, *request.headers)):
            return None  # the stock way takes a second, and preparing the headers twenty
        prepared = self._shared_headers.headers(self._run_in)
        headers = self._headers(prepared, request, source, request.extra_cflags)
        if prepared is None or headers is None:
            return None
        argv = _with_headers(command.argv, prepared, _place(folder, source, headers))
        binding = self._binding(request, source)
        if binding is not None:
            argv = (argv[0], "-include", str(binding), *argv[1:])
        ways = ("lean",) if binding is None else ("lean", "precompiled")
        if not linked and argv[-4:] == ("-c", source.name, "-o", command.output) and _DECLARES_ONLY.match(source.text):
            return FastAttempt((*argv[:-4], "-fsyntax-only", source.name), (*ways, "read"), headers, made=False)
        return FastAttempt(argv, ways, headers)

    def proof(
        self, request: BuildRequest, command: Command, folder: Path, attempt: FastAttempt, result: CommandResult, run: Run
    ) -> str | None:
        """What proves that a source which failed in `attempt` fails the stock way with the same messages; None if nothing does. Raises
        OSError as `run` does."""
        gnu = command.step is Step.CPP
        texts = {file.name: file.text for file in request.sources + request.headers}
        prepared = self._shared_headers.headers(self._run_in)
        if attempt.headers is None or prepared is None or not result.code or not may_be_proved(result.output, texts, gnu):
            return None
        source = request.source_of(command.output)
        found = units(request, source, command, (_place_of(source), str(prepared.base)), folder, run)
        return Failure(result.output, texts, *found, gnu).proof() if found else None

    def doubt(self) -> None:
        """Check the prepared files again before their next use: a compile with them failed."""
        self._shared_headers.doubt()

    def _cuda_attempt(self, request: BuildRequest, source: SourceFile, command: Command, folder: Path) -> FastAttempt:
        prepared = self._shared_headers.headers(self._run_in)
        headers = self._headers(prepared, request, source, request.extra_cuda_cflags)
        if prepared is None or headers is None:
            return FastAttempt(command.argv, (), None)
        return FastAttempt(_with_headers(command.argv, prepared, _place(folder, source, headers)), ("lean",), headers)

    def _headers(
        self, prepared: LeanHeaders | None, request: BuildRequest, source: SourceFile, flags: tuple[str, ...]
    ) -> SourceHeaders | None:
        """Cut-down headers that mean the same to `source`; None if that is not certain."""
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


def _place_of(source: SourceFile) -> str:
    """Name of the folder for this source's headers. It begins with a dot, as no file of a request does."""
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
