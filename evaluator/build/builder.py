"""The builder: one request in, one shared object or one reasoned failure out."""

import logging
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.build.cache import Cache, Entry
from evaluator.build.commands import Command, Plan, plan
from evaluator.build.diagnostics import categorise, first_fault, parse
from evaluator.build.headers import header_finder
from evaluator.build.memory_file import sealed_copy
from evaluator.build.request import BuildRequest
from evaluator.build.runner import CommandResult, Runner, plain_runner
from evaluator.build.toolchain import Toolchain
from evaluator.category import Category
from evaluator.result import BuildEvidence

if TYPE_CHECKING:
    from evaluator.sandbox import Zygote

DEFAULT_TIMEOUT_S = 300.0
MAX_OBJECT_BYTES = 512 << 20
MAX_OUTPUT_CHARS = 128 << 10
NOT_CACHED = (Category.BUILD_TIMEOUT, Category.NO_TOOLCHAIN, Category.INFRASTRUCTURE_ERROR)
"""Failures that say more about the machine, or its load, than about the request."""
_LOCK_GRACE_S = 30.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class BuildOutcome:
    """What came of a request."""

    evidence: BuildEvidence
    object_fd: int | None
    """Read-only descriptor of the shared object, a sealed copy in memory, which the caller closes. None where the build failed, and where
    CUDA sources compiled but can't be linked on this machine."""


class Builder:
    """Compiles requests with one toolchain, through one cache. Safe to use from several threads; other processes may share the cache."""

    def __init__(self, cache: Cache, toolchain: Toolchain, zygote: "Zygote | None" = None, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        """Compilers run confined by `zygote`; without one they run plainly. `timeout_s` is for a whole build."""
        self._cache = cache
        self._toolchain = toolchain
        self._timeout_s = timeout_s
        self._runner: Runner = plain_runner
        if zygote is not None:
            from evaluator.build.confined import confined_runner

            self._runner = confined_runner(zygote, toolchain.readonly_paths)

    def build(self, request: BuildRequest) -> BuildOutcome:
        """Never raises for what a request holds, nor for a machine that fails: the evidence says `infrastructure_error` then."""
        started = time.monotonic()
        key = request.key(self._toolchain)
        try:
            with self._cache.lock(key, self._timeout_s + _LOCK_GRACE_S):
                entry = self._cache.load(key)
                cached = entry is not None
                if entry is None:
                    entry = self._compile(request, key)
                    self._keep(key, entry)
            descriptor = None if entry.shared_object is None else sealed_copy(entry.shared_object, request.name)
        except OSError as error:
            log.exception("build %s of %s failed on the builder's own account", key, request.name)
            cached, descriptor = False, None
            entry = Entry(self._evidence(request, key, Category.INFRASTRUCTURE_ERROR, str(error)), None)
        duration_s = round(time.monotonic() - started, 3)
        return BuildOutcome(entry.evidence.model_copy(update={"cached": cached, "duration_s": duration_s}), descriptor)

    def holds(self, request: BuildRequest) -> bool:
        """Whether `build` would answer at once, from the cache."""
        try:
            return self._cache.load(request.key(self._toolchain)) is not None
        except OSError:
            return False

    def _keep(self, key: str, entry: Entry) -> None:
        if entry.evidence.category in NOT_CACHED:
            return
        try:
            self._cache.store(key, entry)
        except OSError:
            log.warning("build %s could not be cached", key, exc_info=True)

    def _compile(self, request: BuildRequest, key: str) -> Entry:
        todo = plan(request, self._toolchain)
        with _work_folder() as folder:
            for file in request.sources + request.headers:
                (folder / file.name).write_text(file.text, encoding="utf-8", newline="")
            results = self._run_plan(todo, folder)
            shared_object: bytes | None = None
            category = self._category(request, todo, results)
            output = "\n".join(text for _, result in results if (text := result.output.replace(f"{folder}/", "").strip()))
            if category is None and todo.link is not None:
                shared_object = _read_object(folder / todo.link.output)
        if category is Category.NO_TOOLCHAIN and todo.lacking:
            output = f"this machine lacks {todo.lacking}\n{output}"
        return Entry(self._evidence(request, key, category, output), shared_object)

    def _run_plan(self, todo: Plan, folder: Path) -> list[tuple[Command, CommandResult]]:
        """Run the compiles side by side, then the link if all went well; in the order of the plan."""
        deadline = time.monotonic() + self._timeout_s
        env = {"PATH": self._toolchain.search_path, "LC_ALL": "C", "HOME": "/tmp", "TMPDIR": str(folder)}

        def run(command: Command) -> tuple[Command, CommandResult]:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return command, CommandResult(None, timed_out=True, output="")
            result = self._runner(command.argv, folder, env, left_s)
            if result.code == 0 and (fault := _fault_of(folder / command.output)):
                result = CommandResult(1, timed_out=False, output=f"{result.output}\n{command.output} {fault}\n")
            return command, result

        with ThreadPoolExecutor(max(1, min(len(todo.compiles), os.cpu_count() or 1))) as pool:
            results = list(pool.map(run, todo.compiles))
        if todo.link is not None and all(result.code == 0 for _, result in results):
            results.append(run(todo.link))
        return results

    def _category(self, request: BuildRequest, todo: Plan, results: Sequence[tuple[Command, CommandResult]]) -> Category | None:
        """Why the build failed; None where it did not."""
        exists = header_finder(self._toolchain.include_dirs(cuda=True))
        failures = [
            Category.BUILD_TIMEOUT
            if result.timed_out
            else Category.INFRASTRUCTURE_ERROR
            if result.code is None
            else categorise(request, command.step, result.output, exists)
            for command, result in results
            if result.timed_out or result.code != 0
        ]
        if todo.lacking:
            failures.append(Category.NO_TOOLCHAIN)
        return first_fault(failures) if failures else None

    def _evidence(self, request: BuildRequest, key: str, category: Category | None, output: str) -> BuildEvidence:
        return BuildEvidence(
            name=request.name,
            key=key,
            ok=category is None,
            category=category,
            uses_cuda=request.uses_cuda,
            output=_cap(output),
            diagnostics=parse(output),
        )


@contextmanager
def _work_folder() -> Iterator[Path]:
    """A fresh folder which a confined compiler, who may be another user, can write in, and nobody else can find."""
    parent = Path(tempfile.mkdtemp(prefix="assay-build-"))
    try:
        parent.chmod(0o711)
        folder = parent / os.urandom(8).hex()
        folder.mkdir()
        folder.chmod(0o777)
        yield folder
    finally:
        shutil.rmtree(parent, ignore_errors=True)
        if parent.exists():
            log.warning("%s could not be removed", parent)


def _fault_of(path: Path) -> str | None:
    """What keeps a command's product from being used, which is the doing of the request's flags; None where nothing does."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return "was not made"
    if not stat.S_ISREG(status.st_mode):
        return "is not a plain file"
    return f"is larger than {MAX_OBJECT_BYTES} bytes" if status.st_size > MAX_OBJECT_BYTES else None


def _read_object(path: Path) -> bytes:
    """The linker's product, whatever happened to it since it was looked at. Raises OSError for all but a plain file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path.name} is not a plain file")
        return file.read(MAX_OBJECT_BYTES)


def _cap(text: str) -> str:
    """Head and tail of a text that is too long: the first error is in the head, the count of errors in the tail."""
    if len(text) <= MAX_OUTPUT_CHARS:
        return text
    tail = MAX_OUTPUT_CHARS // 8
    head = MAX_OUTPUT_CHARS - tail
    return f"{text[:head]}\n[... {len(text) - head - tail} characters cut ...]\n{text[-tail:]}"
