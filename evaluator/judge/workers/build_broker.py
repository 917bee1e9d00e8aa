"""Builds for one worker, while it waits for the reply to its build request."""

import contextlib
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from pydantic import ValidationError

from evaluator.build.builder import BuildOutcome
from evaluator.build.request import BuildRequest
from evaluator.diagnosis.source_map import SourceMap, located
from evaluator.judge import limits
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.stage_times import StageTimes
from evaluator.results.category import Category
from evaluator.results.evidence import BuildEvidence
from evaluator.worker.protocol import MAX_HEADERS, MAX_HEADERS_BYTES, Message, ProtocolError

MAX_BUILDS_OUTPUT_CHARS = 256 << 10
"""Maximum stored compiler output of a submission's builds. Beyond it, only the first KEPT_DIAGNOSTICS errors of each build are kept."""
KEPT_DIAGNOSTICS = 5
MAX_ASIDE_S = 120.0
"""After this total time, with waiting after each, a worker keeps the device although it needs none."""
MAX_ANSWER_CHARS = 50_000
"""Maximum compiler output that is sent to the worker."""
PIECE_BYTES = 64
"""Memory that a piece of a header takes beside its text."""
MAX_NAME_CHARS = 4096
"""Maximum length of a header's name, until the builder checks it."""
TOO_MANY_HEADERS = (
    f"beside its sources and in extra_include_paths are more than {MAX_HEADERS} files or {MAX_HEADERS_BYTES >> 20} MiB, with all folders "
    "below: write sources and headers to a folder of their own"
)
MAX_REASON_CHARS = 4000
"""Maximum length of the reason why a build request is invalid, since the worker chooses the names of its fields."""


class NeedsDeviceError(Exception):
    """The submission can't go on without a GPU. Its CUDA sources compile."""


class BuilderFailedError(Exception):
    """A build failed for a reason of the machine, and the submission went on without it."""


class Builds(Protocol):
    """Makes a worker's builds: a Builder, or a wrapper of one."""

    def holds(self, request: BuildRequest) -> bool:
        """Whether `build` would return at once."""

    def build(self, request: BuildRequest) -> BuildOutcome:
        """The outcome of a request."""


class BuildBroker:
    """Passes one worker's build requests to the builder, and keeps their evidence in `builds`."""

    def __init__(
        self,
        builder: Builds,
        lock: DeviceLock,
        times: StageTimes,
        no_device: bool,
        report: Callable[[str], None],
        stage: Callable[[], str],
    ) -> None:
        """The device's lock is released while a compiler runs. no_device: CUDA sources may be compiled but not run. `report` is called when
        compilers begin, and with the worker's `stage` when they have ended."""
        self._stage = stage
        self._builder, self._lock, self._times, self._no_device, self._report = builder, lock, times, no_device, report
        self._aside_s = 0.0
        """Total time in which the worker needed no device, with waiting for it after each."""
        self._building_s = 0.0
        """Total time of its builds, without waiting."""
        self._headers: dict[str, list[str]] = defaultdict(list)
        """Pieces of the next build's headers, by name."""
        self._headers_bytes = 0
        self.builds: list[BuildEvidence] = []
        self.source = SourceMap("")
        """Maps to the submission's lines, which the evidence names."""

    def join(self, lock: DeviceLock, times: StageTimes, report: Callable[[str], None]) -> None:
        """Build for another evaluation from now on."""
        self._lock, self._times, self._report, self.builds = lock, times, report, []

    def take_header(self, name: Any, text: Any) -> None:
        """Keep a piece of a header for the next build, until there are too many. Raises ProtocolError."""
        if not (isinstance(name, str) and isinstance(text, str) and len(name) <= MAX_NAME_CHARS):
            raise ProtocolError("a header needs a name and a text")
        if not self._too_many_headers:
            self._headers[name].append(text)
            self._headers_bytes += len(text.encode(errors="replace")) + PIECE_BYTES

    @property
    def _too_many_headers(self) -> bool:
        return len(self._headers) > MAX_HEADERS or self._headers_bytes > MAX_HEADERS_BYTES

    def serve(self, request: Any, send: Callable[[Message, Sequence[int]], None]) -> None:
        """Make the requested build, and send the reply with the descriptor of the shared object.

        Raises ProtocolError, NeedsDeviceError, and the errors of `send`.
        """
        if len(self.builds) >= limits.MAX_BUILDS:
            raise ProtocolError(f"more than {limits.MAX_BUILDS} builds")
        with self._times.spending("build"):
            outcome = self._outcome(request)
        if outcome.waited_s:
            self._times.move(outcome.waited_s, "build", "queue")
        self.note(outcome.evidence)
        try:
            if outcome.evidence.ok and outcome.evidence.uses_cuda and self._no_device:
                raise NeedsDeviceError("its CUDA sources compile; running them needs a GPU")
            answer = {"ok": outcome.object_fd is not None, "output": outcome.evidence.output[-MAX_ANSWER_CHARS:]}
            send(answer, [] if outcome.object_fd is None else [outcome.object_fd])
        finally:
            if outcome.object_fd is not None:
                os.close(outcome.object_fd)

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Let others have the device while the worker needs none, as while a compiler runs in it; no longer than MAX_ASIDE_S in total."""
        start = time.monotonic()
        with self._yielded() if self._aside_s < MAX_ASIDE_S else contextlib.nullcontext():
            yield
        self._aside_s += time.monotonic() - start

    @contextlib.contextmanager
    def _yielded(self) -> Iterator[None]:
        """Let others have the device meanwhile. The wait for it afterwards is a stage of its own."""
        with contextlib.ExitStack() as yielded:
            yielded.enter_context(self._lock.yielded())
            try:
                yield
            finally:
                with self._times.spending("wait"):
                    yielded.close()

    def note(self, evidence: BuildEvidence) -> None:
        """Add a build to the evidence, and shorten the compilers' output to the limit."""
        room = max(MAX_BUILDS_OUTPUT_CHARS - sum(len(build.output) for build in self.builds), 0)
        if len(evidence.output) > room:
            evidence = evidence.model_copy(
                update={"output": evidence.output[:room], "diagnostics": evidence.diagnostics[:KEPT_DIAGNOSTICS]}
            )
        self.builds.append(evidence)

    def _outcome(self, request: Any) -> BuildOutcome:
        headers, too_many = self._headers, self._too_many_headers
        self._headers, self._headers_bytes = defaultdict(list), 0
        if too_many:
            return _refused("", Category.LOAD_INLINE_MISUSE, TOO_MANY_HEADERS)
        if isinstance(request, dict):
            request["headers"] = [{"name": name, "text": "".join(pieces)} for name, pieces in headers.items()]
        try:
            valid = BuildRequest.model_validate(request)
        except ValidationError as error:
            reasons = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:5])
            return _refused("", Category.LOAD_INLINE_MISUSE, reasons[:MAX_REASON_CHARS])
        if self._building_s > limits.MAX_BUILDING_S:
            spent = f"the builds of this submission have taken more than {limits.MAX_BUILDING_S:g} s"
            return _refused(valid.name, Category.BUILD_TIMEOUT, spent)
        with contextlib.nullcontext() if self._builder.holds(valid) else self._compiling():
            start = time.monotonic()
            outcome = self._builder.build(valid)
            self._building_s += time.monotonic() - start - outcome.waited_s
        return replace(outcome, evidence=located(outcome.evidence, valid, self.source))

    @contextlib.contextmanager
    def _compiling(self) -> Iterator[None]:
        """Report the build, and let others have the device meanwhile."""
        self._report("build")
        with self._yielded():
            yield
            self._report(self._stage())


def _refused(name: str, category: Category, why: str) -> BuildOutcome:
    return BuildOutcome(evidence=BuildEvidence(name=name, key="", ok=False, category=category, output=why), object_fd=None)
