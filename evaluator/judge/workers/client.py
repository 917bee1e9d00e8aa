"""The judge's end of one worker: requests with deadlines, builds on demand, and every way in which a worker can fail to answer."""

import contextlib
import os
import re
import secrets
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluator.build.builder import BuildOutcome
from evaluator.build.request import BuildRequest
from evaluator.diagnosis.jit_build_errors import failed_build
from evaluator.diagnosis.rules.disqualified_rules import VIOLATION_SIGNAL
from evaluator.diagnosis.source_map import SourceMap, located
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.workers.deadline import Deadline, Once
from evaluator.judge.workers.launch_table import LaunchTable
from evaluator.judge.workers.shared_memory import Allocation
from evaluator.results.category import Category
from evaluator.results.evidence import BuildEvidence, ExceptionEvidence, ExitEvidence, KernelTimes
from evaluator.sandbox import Confined, Limits, Program, Zygote
from evaluator.worker.protocol import MAX_DESCRIPTORS, Channel, ChannelClosedError, Message, ProtocolError

MAX_BUILDS = 32
"""Extensions that one submission may ask for."""
MAX_BUILDING_S = 900.0
"""Time that all of them may take: with this spent, a further one is refused. The last may still take as long as the builder lets it."""
MAX_BUILDS_OUTPUT_CHARS = 256 << 10
"""Kept of what the compilers said in all builds of a submission; beyond it, of each the first KEPT_DIAGNOSTICS errors alone."""
KEPT_DIAGNOSTICS = 5
MAX_REASON_CHARS = 4000
"""Kept of why a build request is not valid; the names of its fields are the worker's."""
GONE_WITHIN_S = 10.0
"""How long a worker that has been killed may take to be gone."""
EXIT_GRACE_S = 5.0
"""How long a worker that closed its channel may take to end."""


class WorkerError(Exception):
    """The worker did not do what was asked; the evidence is in the session."""


class NeedsDeviceError(Exception):
    """The submission got as far as it can get without a GPU: its CUDA sources compile."""


Recorded = Literal["launches", "interpreted"]
"""What is noted in a worker's launch table: launches on a GPU, or the kernels that Triton's interpreter runs on the CPU."""


class Builds(Protocol):
    """What serves a worker's builds: a Builder, or one before it."""

    def holds(self, request: BuildRequest) -> bool:
        """Whether `build` would answer at once."""

    def build(self, request: BuildRequest) -> BuildOutcome:
        """What comes of a request."""


class _Failed(BaseModel):
    """The worker's report of an exception, as far as it is believed."""

    model_config = ConfigDict(extra="ignore")

    type: str = Field(max_length=1000)
    message: str = Field(max_length=100_000)
    traceback: str = Field(max_length=100_000)
    line: int | None = Field(default=None, ge=0, lt=1 << 31)
    cuda_error: int | None = Field(default=None, ge=0, lt=1 << 31)


@dataclass
class WorkerClient:
    """One confined worker. `stage` names what is being asked, for the evidence.

    After a WorkerError, `exception`, `exit` or `protocol_error` says what happened.
    """

    confined: Confined
    channel: Channel
    launches: LaunchTable | None
    builder: Builds
    lock: DeviceLock
    """Given up while a compiler runs."""
    limits: Limits
    no_device: bool
    """CUDA sources may be compiled but not run."""
    exit_grace_s: float = EXIT_GRACE_S
    report: Callable[[str], None] = lambda _: None
    """Is told when compilers run, and when they have."""

    def __post_init__(self) -> None:
        self.stage = "start"
        self.ended = False
        """Whether the judge has ended it."""
        self.builds: list[BuildEvidence] = []
        self.exception: ExceptionEvidence | None = None
        self.exit: ExitEvidence | None = None
        self.protocol_error = ""
        self.kernel_times: KernelTimes | None = None
        self.stages_s: dict[str, float] = {}
        self._sequence = 0
        self.first_line = 1
        """Line, from 1, of the file handed in on which the source to be loaded begins: the evidence names lines of that file."""
        self._source = SourceMap("")

    @classmethod
    def start(
        cls,
        zygote: Zygote,
        program: Program,
        builder: Builds,
        lock: DeviceLock,
        *,
        no_device: bool,
        record: Recorded | None,
        given: Mapping[str, int] | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> "WorkerClient":
        """Fork a worker into its sandbox and join it by a socket pair; `record` its launches, or what Triton's interpreter runs. It
        is also `given` these descriptors, and builds are the judge's to `report`.

        Raises SandboxUnavailable.
        """
        ours, theirs = socket.socketpair()
        table = LaunchTable() if record else None
        descriptors = {"channel": theirs.fileno()} | ({record: table.descriptor} if record and table else {}) | dict(given or {})
        try:
            confined = zygote.start_program(program, descriptors)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(confined, Channel(ours, learn_peer=True), table, builder, lock, program.limits, no_device, report=report)

    @property
    def failure(self) -> str:
        """What went wrong with this worker, in a few words; empty where nothing did."""
        if self.exception:
            return f"{self.exception.type}: {self.exception.message}"[:500]
        if self.exit:
            return f"ended in {self.exit.stage}: {self.exit.signal or self.exit.code}"
        return self.protocol_error

    def kill(self) -> None:
        """Begin to `end`, and return at once."""
        self.ended = True
        self.confined.kill()

    def end(self) -> None:
        """Kill the worker and wait until nothing of it is left; its record and its output stay. Raises SandboxUnavailable."""
        self.kill()
        self.confined.wait(GONE_WITHIN_S)

    def close(self) -> None:
        """Kill the worker and give back all that it held."""
        self.channel.close()
        self.confined.close()
        if self.launches:
            self.launches.close()

    @contextlib.contextmanager
    def entering(self, stage: str) -> Iterator[None]:
        """Name the stage, and add the time spent in it, builds aside, to `stages_s`."""
        self.stage = stage
        built_s = self._building_s
        try:
            with self.spending(stage):
                yield
        finally:
            self._spend(stage, built_s - self._building_s)

    @contextlib.contextmanager
    def spending(self, stage: str) -> Iterator[None]:
        """Add the time spent here to `stages_s`, whoever spends it."""
        start = time.monotonic()
        try:
            yield
        finally:
            self._spend(stage, time.monotonic() - start)

    @contextlib.contextmanager
    def unjudged(self) -> Iterator[None]:
        """What the worker fails at here, after all that its verdict rests on, is not held against it, unless it breaks the protocol or
        out of the sandbox."""
        try:
            yield
        except WorkerError:
            if self.broke_out:
                raise
            self.exception = self.exit = None

    @property
    def broke_out(self) -> bool:
        """Whether it has broken the protocol, or been caught on its way out of the sandbox."""
        return bool(self.protocol_error) or (self.exit is not None and self.exit.signal == VIOLATION_SIGNAL)

    def note_kernels(self, answer: Message) -> None:
        """Add a call in which the time of each launch was taken. Raises ProtocolError."""
        before = self.kernel_times or KernelTimes(calls=0, call_ms=0.0)
        self.kernel_times = KernelTimes(calls=before.calls + 1, call_ms=before.call_ms + claimed_ms(answer))

    @property
    def _building_s(self) -> float:
        return self.stages_s.get("build", 0.0) + self.stages_s.get("queue", 0.0)

    def _spend(self, stage: str, seconds: float) -> None:
        self.stages_s[stage] = self.stages_s.get(stage, 0.0) + seconds

    def request(
        self,
        kind: str,
        deadline_s: float,
        descriptors: Sequence[int] = (),
        spin_s: float = 0.0,
        on_queued: Callable[[], None] | None = None,
        **fields: Any,
    ) -> Message:
        """Ask, serve the builds that are asked for meanwhile, whose time does not count, and return the answer.

        It is waited for awake for the first spin_s seconds. With `on_queued` the worker first says that what was asked for is queued; then
        that is called, or when spin_s are over.

        Raises WorkerError where there is no answer, NeedsDeviceError where going on needs a GPU.
        """
        # Drawn, so that no answer can be on its way before its question, with the clock not yet running.
        self._sequence = secrets.randbits(48)
        budget = Deadline(deadline_s)
        queued = Once(on_queued)
        try:
            with budget.running():
                self.channel.send({"kind": kind, "seq": self._sequence, **fields}, descriptors, timeout_s=budget.left_s)
            while True:
                with budget.running():
                    message = self._receive(budget.left_s, spin_s, queued)
                if message.get("kind") == "build":
                    self._build(message, budget)
                elif message.get("kind") == "queued" and queued.expected:
                    self._accept("queued", message)
                    queued.hear()
                elif message.get("kind") == kind and queued.expected:
                    raise ProtocolError(f"an answer to {kind} that was never queued")
                else:
                    return self._accept(kind, message)
        except TimeoutError:
            self._end(ExitEvidence(stage=self.stage, deadline_s=deadline_s))
        except ChannelClosedError:
            self._exited()
        except (ProtocolError, ValidationError) as error:
            self.protocol_error = str(error)[:2000]
            self.confined.kill()
        raise WorkerError(self.stage)

    def load(self, source: str, deadline_s: float, **options: Any) -> None:
        """Have the worker load a source file, which travels as a descriptor."""
        self._source = SourceMap(source, self.first_line)
        if self.launches:
            self.launches.source = source
        descriptor = os.memfd_create("source", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.write(source.encode())
            file.seek(0)
            self.request("load", deadline_s, [descriptor], **options)

    def hand_over(self, allocations: Sequence[Allocation], deadline_s: float) -> None:
        """Let the worker map allocations."""
        for start in range(0, len(allocations), MAX_DESCRIPTORS):
            part = allocations[start : start + MAX_DESCRIPTORS]
            pairs = [[allocation.number, allocation.nbytes] for allocation in part]
            self.request("map", deadline_s, [allocation.descriptor for allocation in part], allocations=pairs)

    def take_back(self, allocations: Sequence[Allocation], deadline_s: float) -> None:
        """Have the worker unmap allocations."""
        self.request("unmap", deadline_s, allocations=[allocation.number for allocation in allocations])

    def _receive(self, timeout_s: float, spin_s: float, queued: Once) -> Message:
        """The next message; a worker that dies while others keep its socket open counts as gone."""
        deadline = time.monotonic() + timeout_s
        while True:
            with contextlib.suppress(TimeoutError):
                return self.channel.receive(min(spin_s, timeout_s), spin_s)[0]
            queued.call()
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            speaks, ends = self.channel.fileno(), self.confined.fileno()
            ready, _, _ = select.select([speaks, ends], [], [], left_s)
            if ends in ready and speaks not in ready:
                raise ChannelClosedError("the worker ended")

    def _accept(self, kind: str, message: Message) -> Message:
        if message.get("seq") != self._sequence:
            raise ProtocolError(f"an answer to request {message.get('seq')!r:.40} where {self._sequence} was asked")
        if message.get("kind") == "failed":
            report = _Failed.model_validate(message)
            self.exception = _shifted(ExceptionEvidence(stage=self.stage, **report.model_dump()), self.first_line - 1)
            if failed := failed_build(self.exception, self._source):
                self.builds.append(self._shortened(failed))
            raise WorkerError(self.stage)
        if message.get("kind") != kind:
            raise ProtocolError(f"an answer of kind {message.get('kind')!r:.40} where {kind} was asked")
        return message

    def _build(self, message: Message, budget: Deadline) -> None:
        """Serve a request for a build. The compiling is not the request's time; waiting until the worker takes the answer is."""
        if len(self.builds) >= MAX_BUILDS:
            raise ProtocolError(f"more than {MAX_BUILDS} builds")
        start = time.monotonic()
        outcome = self._outcome(message.get("request"))
        if outcome.waited_s:
            self._spend("queue", outcome.waited_s)
        self._spend("build", time.monotonic() - start - outcome.waited_s)
        self.builds.append(self._shortened(outcome.evidence))
        try:
            if outcome.evidence.ok and outcome.evidence.uses_cuda and self.no_device:
                raise NeedsDeviceError("its CUDA sources compile; running them needs a GPU")
            answer = {"ok": outcome.object_fd is not None, "output": outcome.evidence.output[-50_000:]}
            with budget.running():
                self.channel.send(answer, [] if outcome.object_fd is None else [outcome.object_fd], timeout_s=budget.left_s)
        finally:
            if outcome.object_fd is not None:
                os.close(outcome.object_fd)

    def _shortened(self, evidence: BuildEvidence) -> BuildEvidence:
        """The evidence with no more of the compilers' output than there is room for."""
        room = max(MAX_BUILDS_OUTPUT_CHARS - sum(len(build.output) for build in self.builds), 0)
        if len(evidence.output) <= room:
            return evidence
        return evidence.model_copy(update={"output": evidence.output[:room], "diagnostics": evidence.diagnostics[:KEPT_DIAGNOSTICS]})

    def _outcome(self, request: Any) -> BuildOutcome:
        try:
            valid = BuildRequest.model_validate(request)
        except ValidationError as error:
            reasons = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:5])
            evidence = BuildEvidence(name="", key="", ok=False, category=Category.LOAD_INLINE_MISUSE, output=reasons[:MAX_REASON_CHARS])
            return BuildOutcome(evidence=evidence, object_fd=None)
        if self.stages_s.get("build", 0.0) > MAX_BUILDING_S:
            spent = f"the builds of this submission have taken more than {MAX_BUILDING_S:g} s"
            return BuildOutcome(BuildEvidence(name=valid.name, key="", ok=False, category=Category.BUILD_TIMEOUT, output=spent), None)
        with contextlib.nullcontext() if self.builder.holds(valid) else self._compiling():
            outcome = self.builder.build(valid)
        return replace(outcome, evidence=located(outcome.evidence, valid, self._source))

    @contextlib.contextmanager
    def _compiling(self) -> Iterator[None]:
        """Let others have the device meanwhile."""
        self.report("build")
        with self.lock.yielded():
            yield
            self.report(self.stage)

    def _exited(self) -> None:
        exit_ = self.confined.wait(self.exit_grace_s)
        if exit_ is None:
            self.protocol_error = "the worker closed its channel and went on"
            self.confined.kill()
            return
        memory = self.limits.memory_bytes if exit_.memory_exceeded else None
        disk = self.limits.tmp_bytes if exit_.disk_exceeded else None
        self.exit = ExitEvidence(stage=self.stage, code=exit_.code, signal=exit_.signal, memory_limit_bytes=memory, disk_limit_bytes=disk)

    def _end(self, evidence: ExitEvidence) -> None:
        self.exit = evidence
        self.confined.kill()


def claimed_ms(answer: Message) -> float:
    """The time that a worker says a call took. Raises ProtocolError where it says nothing of the kind."""
    value = answer.get("ms")
    if not isinstance(value, float | int) or isinstance(value, bool) or not 0 <= value < 1e9:
        raise ProtocolError("a time is a number of milliseconds, and not negative")
    return float(value)


def _shifted(exception: ExceptionEvidence, lines: int) -> ExceptionEvidence:
    """The same exception, in lines of the file that the code is part of."""
    if not lines:
        return exception
    traceback = re.sub(r"(?m)^line (\d{1,9}),", lambda match: f"line {int(match[1]) + lines},", exception.traceback)
    return exception.model_copy(update={"line": exception.line and exception.line + lines, "traceback": traceback})
