"""The builder turns a request into a shared object or a failure with a reason."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.build.cache import Cache, Entry
from evaluator.build.commands import Plan, plan
from evaluator.build.diagnostics.failure_category import categorise, first_fault
from evaluator.build.diagnostics.headers import header_finder
from evaluator.build.diagnostics.messages import parse
from evaluator.build.diagnostics.short_paths import ShortPaths
from evaluator.build.execution import Execution, Ran
from evaluator.build.fast.compile import FastWay
from evaluator.build.fast.shared_headers import SharedHeaders
from evaluator.build.header_folders import HeaderFolderError, may_include
from evaluator.build.memory_file import sealed_copy
from evaluator.build.processes.runner import CommandResult, PlainRunner, Runner
from evaluator.build.processes.slots import Slots
from evaluator.build.processes.work_folder import read_product, work_folder
from evaluator.build.request import BuildRequest
from evaluator.build.toolchain import Toolchain
from evaluator.results.category import Category
from evaluator.results.evidence import BuildAttempt, BuildEvidence

if TYPE_CHECKING:
    from evaluator.sandbox import Zygote

DEFAULT_TIMEOUT_S = 300.0
PREPARATION_TIMEOUT_S = 300.0
MAX_OUTPUT_CHARS = 128 << 10
NOT_CACHED = (Category.BUILD_TIMEOUT, Category.NO_TOOLCHAIN, Category.INFRASTRUCTURE_ERROR)
"""Failures that depend on the machine or its load rather than on the request."""
NOT_RUN = (126, 127)
"""Exit codes of a shell that could not run a program: this machine's compiler, or one of its parts. No compiler ends with them itself."""
_LOCK_GRACE_S = 1800.0
"""Extra time that a build may hold its key, since its compilers may wait for slots."""

Elsewhere = Callable[[BuildRequest, str], Entry | None]
"""Asks another machine to build a request. That machine must compute the same key. None if no machine can. The evidence has the duration of
the build without waiting."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BuildOutcome:
    """The result of a request."""

    evidence: BuildEvidence
    object_fd: int | None
    """Read-only descriptor of the shared object, a sealed copy in memory, which the caller closes. None if the build failed, or if CUDA
    sources compiled but can't be linked on this machine."""
    waited_s: float = 0.0
    """Seconds spent waiting for a slot, or for the same build in another process. The evidence's duration excludes them."""


class Builder:
    """Compiles requests with one toolchain, through one cache. Safe to use from several threads; other processes may share the cache."""

    def __init__(
        self,
        cache: Cache,
        toolchain: Toolchain,
        zygote: "Zygote | None" = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        *,
        stock_only: bool = False,
        slots: Slots | None = None,
        elsewhere: Elsewhere | None = None,
        cores: tuple[int, ...] = (),
    ) -> None:
        """Compilers run confined by `zygote`, or plainly without one. `timeout_s` limits all stock compiles of a build, and separately all
        fast ones; `stock_only` forbids the fast way. Compilers wait for `slots` if given; confined ones run on `cores` if given.
        `elsewhere` is asked first for builds that the cache lacks."""
        self._cache = cache
        self._slots = slots
        self._elsewhere = elsewhere
        self._toolchain = toolchain
        self._timeout_s = timeout_s
        self._runner: Runner = PlainRunner()
        if zygote is not None:
            from evaluator.build.processes.confined import ConfinedRunner

            shared = () if stock_only else self._shared_folders()
            self._runner = ConfinedRunner(zygote, (*toolchain.readonly_paths, *shared), cores)
        self._shared_headers = SharedHeaders(cache, toolchain, work_folder)
        self._short_paths = ShortPaths(toolchain.short_names, cache.headers)
        self._fast = None if stock_only else FastWay(self._shared_headers, self._run_in)

    def build(self, request: BuildRequest) -> BuildOutcome:
        """Never raises for a bad request or a failing machine: the evidence then says `infrastructure_error`."""
        started, waited_s = time.monotonic(), 0.0
        common, key = request.under_common_name(), ""
        try:
            key = common.key(self._toolchain)
            entry = self._cache.load(key)
            cached = entry is not None
            if entry is None:
                # Without the lock: another process on this machine, with the same cache, may build it.
                entry, waited_s = self._ask_elsewhere(common, key)
            if entry is None:
                asked = time.monotonic() - waited_s
                with self._cache.lock(key, 2 * self._timeout_s + _LOCK_GRACE_S):
                    waited_s = time.monotonic() - asked
                    entry = self._cache.load(key)
                    cached = entry is not None
                    if entry is None:
                        entry, for_slots_s = self._compile(common, key)
                        waited_s += for_slots_s
                        self._keep(key, entry)
            descriptor = None if entry.shared_object is None else sealed_copy(entry.shared_object, common.name)
        except (OSError, HeaderFolderError) as error:
            log.exception("build %s of %s failed on the builder's own account", key, request.name)
            cached, descriptor = False, None
            entry = Entry(self._evidence(request, key, Category.INFRASTRUCTURE_ERROR, str(error)), None)
        own = {file.name for file in (*request.sources, *request.headers)}
        evidence = self._short_paths.evidence(_renamed(entry.evidence, common.name, request.name), own)
        duration_s = round(max(time.monotonic() - started - waited_s, 0.0), 3)
        return BuildOutcome(evidence.model_copy(update={"cached": cached, "duration_s": duration_s}), descriptor, waited_s)

    def prepare(self, cuda: bool, flags: tuple[str, ...] = ()) -> bool:
        """Prepare what builds share, for C++ sources with these `flags`; otherwise the first build that needs it does. Returns whether it
        is ready."""
        return self._shared_headers.binding(cuda, flags, self._run_in, at_once=True) is not None

    def _shared_folders(self) -> tuple[str, ...]:
        try:
            self._cache.headers.mkdir(mode=0o755, parents=True, exist_ok=True)
        except OSError:
            log.warning("%s can't be made: builds use the stock way", self._cache.headers)
            return ()
        return (str(self._cache.headers),)

    def holds(self, request: BuildRequest) -> bool:
        """Whether the cache already has the result of `build`."""
        try:
            return self._cache.load(request.under_common_name().key(self._toolchain)) is not None
        except (OSError, HeaderFolderError):
            return False

    def _keep(self, key: str, entry: Entry) -> None:
        if entry.evidence.category in NOT_CACHED:
            return
        try:
            self._cache.store(key, entry)
        except OSError:
            log.warning("build %s could not be cached", key, exc_info=True)

    def _ask_elsewhere(self, request: BuildRequest, key: str) -> tuple[Entry | None, float]:
        """The entry from another machine, which is also cached here, or None; and the seconds spent waiting."""
        if self._elsewhere is None:
            return None, 0.0
        asked = time.monotonic()
        entry = self._elsewhere(request, key)
        asking_s = time.monotonic() - asked
        if entry is None or entry.evidence.key != key:
            return None, asking_s
        if self._cache.load(key) is None:
            self._keep(key, entry)
        return entry, max(asking_s - entry.evidence.duration_s, 0.0)

    def _compile(self, request: BuildRequest, key: str) -> tuple[Entry, float]:
        """The entry to cache, and the seconds spent waiting for slots."""
        todo = plan(request, self._toolchain)
        with work_folder() as folder:
            for file in request.sources + request.headers:
                path = folder / file.name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(file.text, encoding="utf-8", newline="")
            execution = Execution(
                request,
                key,
                folder,
                self._env(folder),
                self._runner,
                self._fast_way(request),
                self._timeout_s,
                self._slots,
                gnu=self._fast is not None and self._shared_headers.possible,
            )
            results = execution.carry_out(todo)
            shared_object: bytes | None = None
            category = self._category(request, todo, results)
            output = "\n".join(text for _, result in results if (text := result.output.replace(f"{folder}/", "").strip()))
            if category is None and todo.link is not None:
                shared_object = read_product(folder / todo.link.output)
        if category is Category.NO_TOOLCHAIN and todo.lacking:
            output = f"this machine lacks {todo.lacking}\n{output}"
        return Entry(self._evidence(request, key, category, output, tuple(execution.attempts)), shared_object), execution.waited_s

    def _fast_way(self, request: BuildRequest) -> FastWay | None:
        """None if a source may include the user's headers: these may need PyTorch names that the cut-down headers lack. None also if files
        are in folders: the proof knows files of the request by plain names."""
        if request.has_folders:
            return None
        texts = (file.text for file in request.sources + request.headers)
        return None if any(may_include(text, self._toolchain.headers) for text in texts) else self._fast

    def _run_in(self, argv: tuple[str, ...], folder: Path) -> CommandResult:
        return self._runner.run(argv, folder, self._env(folder), PREPARATION_TIMEOUT_S)

    def _env(self, folder: Path) -> dict[str, str]:
        return {"PATH": self._toolchain.search_path, "LC_ALL": "C", "HOME": "/tmp", "TMPDIR": str(folder)}

    def _category(self, request: BuildRequest, todo: Plan, results: Sequence[Ran]) -> Category | None:
        """Why the build failed; None if it did not."""
        exists = header_finder(self._toolchain.include_dirs(cuda=True))
        failures = [
            Category.BUILD_TIMEOUT
            if result.timed_out
            else Category.INFRASTRUCTURE_ERROR
            if result.code is None or result.code in NOT_RUN
            else categorise(request, command.step, result.output, exists)
            for command, result in results
            if result.timed_out or result.code != 0
        ]
        if todo.lacking:
            failures.append(Category.NO_TOOLCHAIN)
        return first_fault(failures) if failures else None

    def _evidence(
        self, request: BuildRequest, key: str, category: Category | None, output: str, attempts: tuple[BuildAttempt, ...] = ()
    ) -> BuildEvidence:
        return BuildEvidence(
            name=request.name,
            key=key,
            ok=category is None,
            category=category,
            uses_cuda=request.uses_cuda,
            output=_cap(output),
            diagnostics=parse(output),
            attempts=attempts,
        )


def _renamed(evidence: BuildEvidence, old: str, new: str) -> BuildEvidence:
    """The evidence of a build with the name `old` replaced by `new`."""
    diagnostics = tuple(item.model_copy(update={"message": item.message.replace(old, new)}) for item in evidence.diagnostics)
    return evidence.model_copy(update={"name": new, "output": evidence.output.replace(old, new), "diagnostics": diagnostics})


def _cap(text: str) -> str:
    """The head and tail of a text that is too long: the first error is in the head, the error count in the tail."""
    if len(text) <= MAX_OUTPUT_CHARS:
        return text
    tail = MAX_OUTPUT_CHARS // 8
    head = MAX_OUTPUT_CHARS - tail
    return f"{text[:head]}\n[... {len(text) - head - tail} characters cut ...]\n{text[-tail:]}"
