"""The judge's side of one worker: requests with timeouts, their replies, and all failures of a worker."""

import contextlib
import logging
import os
import secrets
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from pydantic import ValidationError

from evaluator.diagnosis.jit_build_errors import failed_build
from evaluator.diagnosis.rules.disqualified_rules import VIOLATION_SIGNAL
from evaluator.diagnosis.source_map import SourceMap
from evaluator.judge.device.device_lock import DeviceLock
from evaluator.judge.stage_times import StageTimes
from evaluator.judge.workers.build_broker import BuildBroker, Builds
from evaluator.judge.workers.deadline import Deadline, QueuedCallback
from evaluator.judge.workers.exception_report import read_exception, without_output
from evaluator.judge.workers.launch_table import LaunchTable
from evaluator.judge.workers.shared_memory import Allocation
from evaluator.results.evidence import BuildEvidence, ExceptionEvidence, ExitEvidence, KernelTimes
from evaluator.sandbox import Confined, Limits, Program, Zygote
from evaluator.worker.protocol import MAX_DESCRIPTORS, Channel, ChannelClosedError, Message, ProtocolError

GONE_WITHIN_S = 10.0
"""Maximum time for a killed worker to end."""
EXIT_GRACE_S = 5.0
"""Maximum time for a worker that closed its channel to end."""

log = logging.getLogger(__name__)


class WorkerError(Exception):
    """The worker failed a request. The evidence is in its client."""


Recorded = Literal["launches", "interpreted"]
"""Kind of entries in a worker's launch table: launches on a GPU, or kernels that a DSL runs on the CPU, such as Triton's interpreter."""


class WorkerClient:
    """One sandboxed worker. `stage` names the current step, for the evidence.

    After a WorkerError, `exception`, `exit` or `protocol_error` says what happened.
    """

    exit_grace_s = EXIT_GRACE_S

    def __init__(
        self,
        confined: Confined,
        channel: Channel,
        launches: LaunchTable | None,
        limits: Limits,
        builder: Builds,
        lock: DeviceLock,
        times: StageTimes,
        no_device: bool,
        report: Callable[[str], None],
    ) -> None:
        """`limits` are those of its sandbox. The last five parameters are the BuildBroker's."""
        self.stage, self.times = "start", times
        self.confined, self.channel, self.launches, self.lock, self._limits = confined, channel, launches, lock, limits
        self.ended = False
        """Whether the judge has ended it."""
        self.evaluations = 1
        """Number of evaluations that it has belonged to."""
        self.exception: ExceptionEvidence | None = None
        self.exit: ExitEvidence | None = None
        self.protocol_error = ""
        self.kernel_times: KernelTimes | None = None
        self.may_yield: Callable[[], bool] = lambda: False
        """Whether others may have the device while the worker needs none."""
        self.cases: set[str] = set()
        """The cases whose models it has."""
        self.first_line = 1
        """Line, from 1, of the submitted file on which the loaded source begins: the evidence names lines of that file."""
        self._broker = BuildBroker(builder, lock, times, no_device, report, lambda: self.stage)
        self._sequence = 0

    @classmethod
    def start(
        cls,
        zygote: Zygote,
        program: Program,
        builder: Builds,
        lock: DeviceLock,
        *,
        times: StageTimes,
        no_device: bool,
        record: Recorded | None,
        given: Mapping[str, int] | None = None,
        report: Callable[[str], None] = lambda _: None,
    ) -> "WorkerClient":
        """Fork a worker into its sandbox, with a socket pair and the `given` further descriptors. `record` its launches.

        no_device: CUDA sources may be compiled but not run. `report` is called when compilers begin, and when they have ended.

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
        return cls(confined, Channel(ours, learn_peer=True), table, program.limits, builder, lock, times, no_device, report)

    @contextlib.contextmanager
    def entering(self, stage: str, spent: str = "") -> Iterator[None]:
        """Enter a stage, for the evidence. The time counts as this stage of the evaluation, or as `spent`. Builds are a separate stage."""
        self.stage = stage
        with self.times.spending(spent or stage):
            yield

    @property
    def builds(self) -> list[BuildEvidence]:
        """The evidence of the builds so far."""
        return self._broker.builds

    @builds.setter
    def builds(self, builds: list[BuildEvidence]) -> None:
        self._broker.builds = builds

    @property
    def failure(self) -> str:
        """The failure of this worker in a few words; empty if there is none."""
        if self.exception:
            return f"{self.exception.type}: {self.exception.message}"[:500]
        if self.exit:
            return f"ended in {self.exit.stage}: {self.exit.signal or self.exit.code}"
        return self.protocol_error

    @property
    def is_alive(self) -> bool:
        """Whether it still runs, without a failure."""
        return not (self.ended or self.failure) and not select.select([self.confined.fileno()], [], [], 0)[0]

    def join(self, lock: DeviceLock, times: StageTimes, report: Callable[[str], None]) -> None:
        """Move to another evaluation."""
        self.lock, self.times = lock, times
        self.evaluations += 1
        self.cases = set()
        self._broker.join(lock, times, report)

    def kill(self) -> None:
        """Begin to `end`, and return at once."""
        self.ended = True
        self.confined.kill()

    def end(self) -> None:
        """Kill the worker, and wait until all of its processes have ended. Its record and its output stay. Raises SandboxUnavailable."""
        self.kill()
        self.confined.wait(GONE_WITHIN_S)

    def close(self) -> None:
        """Kill the worker, and free all of its resources."""
        self.channel.close()
        self.confined.close()
        if self.launches:
            self.launches.close()

    @contextlib.contextmanager
    def unjudged(self) -> Iterator[None]:
        """A failure in this context does not count, since earlier evidence decides the verdict. It counts if the worker breaks the
        protocol, or out of the sandbox."""
        try:
            yield
        except WorkerError:
            if self.broke_out:
                raise
            self.exception = self.exit = None

    @property
    def broke_out(self) -> bool:
        """Whether it has broken the protocol, or tried to break out of the sandbox."""
        return bool(self.protocol_error) or (self.exit is not None and self.exit.signal == VIOLATION_SIGNAL)

    def note_kernels(self, answer: Message) -> None:
        """Add a call with the time of each launch. Raises ProtocolError."""
        before = self.kernel_times or KernelTimes(calls=0, call_ms=0.0)
        self.kernel_times = KernelTimes(calls=before.calls + 1, call_ms=before.call_ms + claimed_ms(answer))

    def give_way(self) -> None:
        """Let a judge that waits for a timing go before the next call, as long as a compiler would let it."""
        if self.lock.is_wanted and self.may_yield():
            with self.times.spending("wait"), self.lock.yielded():
                pass

    def request(
        self,
        kind: str,
        deadline_s: float,
        descriptors: Sequence[int] = (),
        spin_s: float = 0.0,
        on_queued: Callable[[], None] | None = None,
        **fields: Any,
    ) -> Message:
        """Send a request, serve the worker's builds meanwhile, and return the reply. The time of builds does not count; that of compilers
        in the worker does.

        The judge busy-waits for the first spin_s seconds. With `on_queued`, the worker first reports that it has queued the work. Then, or
        after spin_s seconds, `on_queued` is called.

        Raises WorkerError if there is no reply, NeedsDeviceError if the submission can't go on without a GPU.
        """
        # Random, so that the worker can't send the reply before the request, while the clock does not run.
        self._sequence = secrets.randbits(48)
        request = {"kind": kind, "seq": self._sequence, **fields}
        with contextlib.ExitStack() as aside:  # a failed worker ends before the judge waits for the device
            try:
                return self._exchange(request, descriptors, Deadline(deadline_s), spin_s, QueuedCallback(on_queued), aside)
            except TimeoutError:
                self.exit = ExitEvidence(stage=self.stage, deadline_s=deadline_s)
                self.confined.kill()
            except ChannelClosedError:
                self._exited()
            except (ProtocolError, ValidationError) as error:
                self.protocol_error = str(error)[:2000]
                self.confined.kill()
        log.debug("a worker failed the request %s: %s", kind, self.failure)
        raise WorkerError(self.stage)

    def _exchange(
        self,
        request: Message,
        descriptors: Sequence[int],
        budget: Deadline,
        spin_s: float,
        queued: QueuedCallback,
        aside: contextlib.ExitStack,
    ) -> Message:
        """Send a request, and return its reply. In `aside` the judge has yielded the device while the worker needs none."""
        kind: str = request["kind"]
        with budget.running():
            self.channel.send(request, descriptors, timeout_s=budget.left_s)
        while True:
            with budget.running():
                message = self._receive(budget.left_s, spin_s, queued)
            if message.get("kind") == "build":
                self._broker.serve(message.get("request"), partial(self._send_within, budget))
            elif message.get("kind") == "header":
                self._broker.take_header(message.get("name"), message.get("text"))
            elif message.get("kind") == "aside":
                aside.close()
                if self.stage != "timing" and self.may_yield():
                    aside.enter_context(self._broker.aside())
            elif message.get("kind") == "back":
                aside.close()
                self._send_within(budget, {}, [])
            elif message.get("kind") == "queued" and queued.expected:
                self._accept("queued", message)
                queued.hear()
            elif message.get("kind") == kind and queued.expected:
                raise ProtocolError(f"a reply to {kind} that was never queued")
            else:
                return self._accept(kind, message)

    def load(self, source: str, deadline_s: float, **options: Any) -> None:
        """Have the worker load a source file, which is sent as a descriptor."""
        self._broker.source = SourceMap(source, self.first_line)
        if self.launches:
            self.launches.source = source
        descriptor = os.memfd_create("source", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            file.write(source.encode())
            file.seek(0)
            self.request("load", deadline_s, [descriptor], **options)

    def choose(self, case: str, deadline_s: float) -> bool:
        """Have it call its model of this case from now on. False if it has none."""
        if case not in self.cases:
            return False
        self.request("choose", deadline_s, case=case)
        return True

    def hand_over(self, allocations: Sequence[Allocation], deadline_s: float) -> None:
        """Let the worker map allocations."""
        for start in range(0, len(allocations), MAX_DESCRIPTORS):
            part = allocations[start : start + MAX_DESCRIPTORS]
            pairs = [[allocation.number, allocation.nbytes] for allocation in part]
            self.request("map", deadline_s, [allocation.descriptor for allocation in part], allocations=pairs)

    def take_back(self, allocations: Sequence[Allocation], deadline_s: float) -> None:
        """Have the worker unmap allocations."""
        self.request("unmap", deadline_s, allocations=[allocation.number for allocation in allocations])

    def _receive(self, timeout_s: float, spin_s: float, queued: QueuedCallback) -> Message:
        """The next message. A worker counts as ended if it dies, even if other processes keep its socket open."""
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
            raise ProtocolError(f"a reply to request {message.get('seq')!r:.40} instead of {self._sequence}")
        if message.get("kind") == "failed":
            self.exception = read_exception(message, self.stage, self.first_line)
            log.debug("a worker failed the request %s: %s", kind, self.failure)
            if failed := failed_build(self.exception, self._broker.source):
                self._broker.note(failed)
            else:
                self.exception = without_output(self.exception, self._broker.builds)
            raise WorkerError(self.stage)
        if message.get("kind") != kind:
            raise ProtocolError(f"a reply of kind {message.get('kind')!r:.40} instead of {kind}")
        return message

    def _send_within(self, budget: Deadline, message: Message, descriptors: Sequence[int]) -> None:
        """Send the reply to a build request. Compiling does not count as the request's time, but waiting until the worker reads does."""
        with budget.running():
            self.channel.send(message, descriptors, timeout_s=budget.left_s)

    def _exited(self) -> None:
        exit_ = self.confined.wait(self.exit_grace_s)
        if exit_ is None:
            self.protocol_error = "the worker closed its channel and went on"
            self.confined.kill()
            return
        memory = self._limits.memory_bytes if exit_.memory_exceeded else None
        disk = self._limits.tmp_bytes if exit_.disk_exceeded else None
        self.exit = ExitEvidence(stage=self.stage, code=exit_.code, signal=exit_.signal, memory_limit_bytes=memory, disk_limit_bytes=disk)


def claimed_ms(answer: Message) -> float:
    """The time that the worker reports for a call. Raises ProtocolError if the reply has none."""
    value = answer.get("ms")
    if not isinstance(value, float | int) or isinstance(value, bool) or not 0 <= value < 1e9:
        raise ProtocolError("a time must be a number of milliseconds, at least 0")
    return float(value)
