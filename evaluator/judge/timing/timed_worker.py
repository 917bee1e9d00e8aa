"""The judge's requests to one worker while it is timed, and how long each takes."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from evaluator.judge import limits
from evaluator.judge.correctness.output_structure import ClaimedTensor
from evaluator.judge.device.synchronize import synchronize
from evaluator.judge.timing.cpu.cpu_time import CpuTime
from evaluator.judge.timing.gpu.l2_flush import L2Flush
from evaluator.judge.timing.gpu.launch_lead import NONE, LaunchLead
from evaluator.judge.timing.gpu.stream_gate import StreamGate
from evaluator.judge.timing.statistics.samples import Samples
from evaluator.judge.workers.client import WorkerClient, claimed_ms
from evaluator.judge.workers.input_buffers import Given, InputSet, fill, filling
from evaluator.results.evidence import TimingSide
from evaluator.worker.memory import reset_persisting
from evaluator.worker.protocol import Message, ProtocolError

MAX_REASON_CHARS = 500


class UnrecordableError(Exception):
    """Calls of a worker can't be recorded as a graph; the message is the worker's reason."""


@dataclass(eq=False)
class TimedWorker:
    """The candidate or a baseline while it is timed."""

    worker: WorkerClient
    deadline_s: float
    """Timeout of every request. Its calls take some milliseconds together."""
    flush: L2Flush | None
    """None on the CPU, and if the protocol does not flush the cache before calls."""
    gate: StreamGate | None = None
    """None on the CPU, and if the device does not support one."""
    held: bool = True
    """Whether calls can be held behind the gate, if there is one."""
    waits: bool = False
    """Whether forward() was observed to wait for the device."""
    device: torch.device | None = None
    """The GPU; None on the CPU. If there is a flush, its device counts."""
    replays: bool = False
    """Whether calls are replays of graphs."""
    launch_lead: LaunchLead = NONE
    """Lead before each call that is timed by itself; NONE if the host's time counts."""
    copies: bool = False
    """Whether the worker copies the outputs of a block: because they share memory, as it says, or because it was told to."""
    since: float = field(default_factory=time.monotonic)
    """The moment that samples are counted from."""
    queued_s: float = 0.0
    """Enqueueing time per call, by the judge's clock, of the last calls behind the gate."""
    claims: list[ClaimedTensor] = field(default_factory=list)
    """The tensors that the reference returns, as the worker describes them."""
    described: int = 0
    """Number of tensors that the worker describes."""

    def __post_init__(self) -> None:
        pid = self.worker.channel.peer_pid
        self.samples = Samples(self._gpu is not None, self.since)
        self._recorded: set[str] = set()
        self._busy_ms = self._answered_at = 0.0
        """The last request on the CPU: the process's CPU time per call in ms, and the time in s of its reply or last reveal."""
        self._calls = 1
        """Calls of the last request for calls."""
        self._cpu_time = CpuTime(pid) if pid and self._gpu is None else None
        """On the CPU only, since a worker on a GPU waits awake."""

    @property
    def _gpu(self) -> torch.device | None:
        return self.flush.device if self.flush is not None else self.device

    def call(self, inputs: InputSet, arguments: Sequence[Any]) -> tuple[float, float, Message]:
        """Make one call. Returns the wall time by the judge's clock and the worker's event time (0 on the CPU), in ms, and the reply."""
        if self._gpu is None:
            wall_ms, answer = self._ask("time", [(inputs, arguments)], set=0)
            return wall_ms, 0.0, answer
        wall_ms, answer = self._ask("time", [(inputs, arguments)], set=0, flush=self._orders(1)[0])
        event_ms = max(claimed_ms(answer), limits.LEAST_MS)
        if event_ms > wall_ms + limits.LEAST_MS:
            raise ProtocolError("a call can't take longer than its request")
        return wall_ms, event_ms, answer

    def call_untimed(self, inputs: InputSet, arguments: Sequence[Any]) -> Message:
        """Make one call by the request of the rounds. Returns the reply."""
        given = [(inputs, arguments)]
        self._describe(given)
        fill(given)
        if self._gpu is not None:
            synchronize(self._gpu)
        return self.worker.request("call", self.deadline_s, set=0)

    def block(self, given: Given, *, apart: bool) -> list[Any]:
        """Make calls that count, in one request on a GPU, timed one by one (`apart`) or together. Returns their outputs."""
        cycles = self.launch_lead.cycles if apart else 0
        fields = {"flushes": self._orders(len(given)), "apart": apart, "launch_lead": cycles, "copies": self.copies and apart}
        return self._take("block", given, len(given) if apart else 1, **fields)

    def host_block(self, given: Given) -> list[Any]:
        """Make calls that count, in one request on the CPU, and take their mean as one sample. Returns their outputs."""
        at_s = self.samples.now_s()
        wall_ms, message = self._ask("host_block", given, sets=list(range(len(given))))
        self.samples.wall_ms.append(wall_ms / len(given))
        self.samples.at_s.append(at_s)
        self.samples.busy_ms.append(self._busy_ms)
        return block_answers(message, len(given))

    def blank(self, count: int) -> list[float]:
        """Event times of a block of `count` empty kernels, each timed by itself, in ms."""
        _, answer = self._ask_now("blank", (), flushes=self._orders(count), launch_lead=self.launch_lead.cycles)
        return claimed_times_ms(answer, count)

    def replay(self, given: Given) -> list[Any]:
        """Replay a graph of these calls once; record it before the first replay. Returns their outputs. Also raises UnrecordableError."""
        self._require_recording(f"block of {len(given)}", given, None, calls=True)
        return self._take("replay", given, 1, name=f"block of {len(given)}")

    def _take(self, kind: str, given: Given, times: int, **fields: Any) -> list[Any]:
        at_s = self.samples.now_s()
        wall_ms, message = self._ask(kind, given, sets=list(range(len(given))), **fields)
        event_ms = [max(took_ms, limits.LEAST_MS) for took_ms in claimed_times_ms(message, times)]
        if sum(event_ms) > wall_ms + limits.LEAST_MS * times:
            raise ProtocolError("calls can't take longer than their request")
        answers = block_answers(message, len(given))
        self.samples.wall_ms.append(wall_ms / len(given))
        self.samples.event_ms += [took_ms * times / len(given) for took_ms in event_ms]
        if kind == "block":
            self.samples.host_ms += claimed_times_ms(message, len(given), "host_ms")
            self.copies = self.copies or message.get("copies") is True
        self.samples.at_s += [at_s] * times
        return answers

    def _require_recording(self, name: str, given: Given, places: Sequence[Any] | None, *, calls: bool) -> None:
        """Have these calls, each with the copy of its output to its place, recorded once as a graph. Raises UnrecordableError."""
        if name in self._recorded:
            return
        self._describe(given, keep=not calls)
        fill(given)
        if self._gpu is not None:
            synchronize(self._gpu)
        positions, outputs = list(range(len(given))), list(places or [None] * len(given))
        answer = self.worker.request("record", self.deadline_s, name=name, sets=positions, outputs=outputs, calls=calls)
        if answer.get("recorded") is not True:
            reason = answer.get("reason")
            raise UnrecordableError(reason[:MAX_REASON_CHARS] if isinstance(reason, str) else "no reason given")
        self._recorded.add(name)

    def check_flush(self, calls: int = 1) -> None:
        """Count the last `calls` as unflushed if a flush is missing. This takes a while, so do it after outputs were revealed."""
        self.samples.unflushed += calls * (not self.is_flushed())

    def is_flushed(self) -> bool:
        """Whether the last call, or each call of a burst, had its flush; True on the CPU, which has none."""
        return self.flush is None or self.flush.done()

    def burst(
        self,
        given: Given,
        places: Sequence[Any],
        land: Callable[[], object] = lambda: None,
        *,
        calls: bool = True,
        kernels: bool = False,
        flushed: bool = True,
    ) -> float:
        """Make calls back to back over these sets, each after a flush unless `flushed` is False. Returns the time per call, in ms.

        Each output is copied to its place; if that is None, the last output is kept. The time ends when the judge has its own copies of
        outputs, which `land` enqueues. Without `calls`, the worker does everything else, and copies its last output, which has not been
        revealed. Behind a gate, this is the device's time and not the host's, unless forward() waits for the device; then a wait replaces
        each omitted call. With `kernels`, the worker times each kernel for the record, which makes the calls slower.
        """
        name = f"{'burst' if calls else 'idle burst'} of {len(given)}" if self.replays and not kernels else None
        if name is not None:
            self._require_recording(name, given, places, calls=calls)
        self._describe(given, keep=not calls)
        fields: dict[str, Any] = {"sets": list(range(len(given))), "outputs": list(places)}
        fields["flushes"] = self._orders(len(given)) if flushed else [None] * len(given)
        fields |= {"calls": calls, "waits": self.waits, "name": name} | ({"kernels": True} if kernels else {})
        if self.gate is not None and self.is_gated:
            took_ms, answer = self._ask_behind(self.gate, given, fields, lambda: self._land(land))
        else:
            took_ms, answer = self._ask_now("burst", given, gate=None, **fields)
            start = time.perf_counter()
            self._land(land)
            if self._gpu is not None:
                synchronize(self._gpu)
            took_ms += (time.perf_counter() - start) * 1e3
        if kernels:
            self.worker.note_kernels(answer)
        return took_ms / len(given)

    def _orders(self, count: int) -> list[dict[str, Any] | None]:
        """The flush orders before each of `count` calls."""
        return [None] * count if self.flush is None else list(self.flush.order(count))

    @property
    def is_gated(self) -> bool:
        """Whether calls are held behind the gate."""
        return self.gate is not None and self.held and not self.waits

    def host_blank(self, given: Given) -> tuple[float, float]:
        """Wall time, and CPU time of the process, of an empty block over these sets, in ms."""
        return self._ask("host_block", given, sets=[])[0], self._busy_ms * self._calls

    @contextmanager
    def revealing(self) -> Iterator[None]:
        """Time a reveal: on a GPU by the clock; on the CPU by the CPU time since the reply or the block's previous reveal, which other load
        does not lengthen."""
        start = time.perf_counter()
        yield
        now = time.perf_counter()
        if self._cpu_time:
            self.samples.arrival_ms.append((now - self._answered_at) * 1e3)
            self.samples.reveal_busy_ms.append(self._busy_ms)
            self.samples.reveal_ms.append(self._cpu_time.since_answer_ms())
            self._cpu_time.answered()
            self._answered_at = time.perf_counter()
        else:
            self.samples.reveal_ms.append((now - start) * 1e3)

    def watch(self, longest_s: float) -> None:
        """Note the CPU time that the worker's processes use after a block, per call, for at most `longest_s` per call. On the CPU only."""
        if self._cpu_time is not None:
            self.samples.background_ms.append(self._cpu_time.after_answer_ms(longest_s * self._calls) / self._calls)
            self.samples.background_busy_ms.append(self._busy_ms)

    def elsewhere_ms(self) -> float:
        """CPU time so far of the worker's processes, except the called one; 0 on a GPU."""
        return self._cpu_time.elsewhere_ms() if self._cpu_time else 0.0

    def strays(self, cores: Collection[int]) -> bool:
        """Whether one of the worker's threads may run outside of these cores, to which it is pinned. Workers on a GPU are not pinned."""
        return bool(cores) and self._cpu_time is not None and not self._cpu_time.cores() <= set(cores)

    def samples_ms(self, blank_ms: float) -> list[float]:
        """Time of each call, minus `blank_ms`, the time of an empty call, unless the host's time counts."""
        return self.samples.call_ms(self._taken_off_ms(blank_ms))

    def summary(self, blank_ms: float) -> TimingSide:
        """All samples for the record."""
        return self.samples.summary(self._taken_off_ms(blank_ms), self.launch_lead.ms)

    def _taken_off_ms(self, blank_ms: float) -> float:
        return blank_ms if self._gpu is None or self.launch_lead.cycles else 0.0

    def _ask(self, kind: str, given: Given, **fields: Any) -> tuple[float, Message]:
        """Make a request whose inputs are copied only when the clock runs. Returns its time in ms, and the reply.

        On the CPU, copying inputs may take as long as a call, and its time varies. There the clock starts after the copy. A thread that
        waits for inputs, to begin early, uses CPU time after replies too.
        """
        if given:
            self._describe(given)
        return self._ask_now(kind, given, **fields)

    def _ask_now(self, kind: str, given: Given, **fields: Any) -> tuple[float, Message]:
        if self._gpu is not None:
            return self._ask_on_device(self._gpu, kind, given, fields)
        fill(given)
        start = time.perf_counter()
        calls = max(len(given), 1)
        called_at_ms = self._cpu_time.main_ms() if self._cpu_time else 0.0
        answer = self.worker.request(kind, self.deadline_s, **fields)
        answered_at = time.perf_counter()
        took_ms = (answered_at - start) * 1e3
        if self._cpu_time and given:
            self._cpu_time.answered(called_at_ms, took_ms)
            self._busy_ms, self._answered_at = (self._cpu_time.main_at_answer_ms() - called_at_ms) / calls, answered_at
            self._calls = calls
        return took_ms, answer

    def _ask_on_device(self, device: torch.device, kind: str, given: Given, fields: dict[str, Any]) -> tuple[float, Message]:
        reset_persisting()
        torch.cuda.synchronize(device)  # so that the judge's own work is not in the worker's time
        start = time.perf_counter()
        fill(given)
        if self.flush is not None:
            self.flush.show()
        torch.cuda.synchronize(device)
        answer = self.worker.request(kind, self.deadline_s, spin_s=limits.SPIN_S, **fields)
        return (time.perf_counter() - start) * 1e3, answer

    def _land(self, land: Callable[[], object]) -> None:
        land()
        if self.flush is not None:
            self.flush.look()

    def _ask_behind(self, gate: StreamGate, given: Given, fields: dict[str, Any], land: Callable[[], object]) -> tuple[float, Message]:
        """Run a burst behind the gate. Returns the device's time for it in ms, and the reply. The gate opens when all is enqueued, or at a
        time limit."""
        copy = filling(given)
        reset_persisting()
        torch.cuda.synchronize(gate.device)
        value = gate.close()
        asked = queued = time.perf_counter()

        def show() -> None:
            copy()
            if self.flush is not None:
                self.flush.show()

        def open_gate() -> None:
            nonlocal queued
            queued = time.perf_counter()
            gate.pass_through(show, land)

        patience_s = min(max(limits.SPIN_S, 2 * len(given) * self.queued_s), limits.MOST_PATIENCE_S)
        try:
            answer = self.worker.request("burst", self.deadline_s, spin_s=patience_s, on_queued=open_gate, gate=value, **fields)
        finally:
            gate.release(self.worker.confined.kill)
        self.waits = queued - asked >= patience_s
        if not self.waits and fields["calls"]:
            self.queued_s = (queued - asked) / len(given)
        return gate.took_ms(), answer

    def _describe(self, given: Given, *, keep: bool = False) -> None:
        """Tell the worker where the inputs will be, and whether to keep its last output."""
        self.worker.request("inputs", self.deadline_s, sets=[inputs.tree(arguments) for inputs, arguments in given], keep=keep)


def block_answers(message: Message, count: int) -> list[Any]:
    """The outputs of a block. Raises ProtocolError if there is not one for each of its calls."""
    answers = message.get("outputs")
    if not isinstance(answers, list) or len(answers) != count:
        raise ProtocolError("a block must have one output for each of its calls")
    return answers


def claimed_times_ms(answer: Message, count: int, field: str = "ms") -> list[float]:
    """The `count` times that a worker claims. Raises ProtocolError if the reply does not hold them."""
    values = answer.get(field)
    if not isinstance(values, list) or len(values) != count:
        raise ProtocolError("a block must have as many times as were requested")
    return [claimed_ms({"ms": value}) for value in values]
