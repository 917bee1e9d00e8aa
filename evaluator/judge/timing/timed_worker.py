"""One side of a timing: a worker, what is asked of it call by call, and what is measured."""

import statistics
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from evaluator.judge.correctness.output_structure import ClaimedTensor
from evaluator.judge.device.synchronize import synchronize
from evaluator.judge.timing.confidence import outliers
from evaluator.judge.timing.cpu_time import CpuTime
from evaluator.judge.timing.gpu.l2_flush import L2Flush
from evaluator.judge.timing.gpu.launch_lead import NONE, LaunchLead
from evaluator.judge.timing.gpu.stream_gate import StreamGate, at_once
from evaluator.judge.workers.client import WorkerClient, claimed_ms
from evaluator.judge.workers.input_buffers import Given, InputSet, fill, filling
from evaluator.results.evidence import TimingSide
from evaluator.worker.memory import reset_persisting
from evaluator.worker.protocol import Message, ProtocolError

SPIN_S = 0.1
"""How long an answer is waited for awake on a GPU machine; on the CPU that would take a processor from the submission."""
MOST_PATIENCE_S = 0.5
"""Calls behind the gate may take so long to be enqueued, or SPIN_S, or twice as long as by the last ones, whatever is in the middle."""
LEAST_MS = 1e-3
"""Below the resolution of the judge's clock nothing is told apart."""
MAX_REASON_CHARS = 500


class UnrecordableError(Exception):
    """Calls of a worker can't be recorded as a graph; the message is the worker's reason."""


@dataclass
class TimedWorker:
    """The candidate or the baseline while it is timed."""

    worker: WorkerClient
    deadline_s: float
    """Of any request: however many calls it is of, they are few enough to take some milliseconds together."""
    flush: L2Flush | None
    """None on the CPU, and where nothing is to be emptied before calls."""
    gate: StreamGate | None = None
    """None on the CPU, and where the device knows no such thing."""
    held: bool = True
    """Whether calls can be held behind the gate, where there is one."""
    waits: bool = False
    """Whether forward() has been seen to wait for the device."""
    device: torch.device | None = None
    """None on the CPU; where there is a flush, that one's."""
    replays: bool = False
    """Whether calls are replays of graphs."""
    head_start: LaunchLead = NONE
    """Of the host, before each call of a block that is timed for itself; none where the host is in the clock."""
    copies: bool = False
    """Whether answers of a block are copied: as its worker says, which has to where they share memory, or because it is to."""
    since: float = field(default_factory=time.monotonic)
    """The moment that samples are counted from."""
    wall_ms: list[float] = field(default_factory=list)
    claims_ms: list[float] = field(default_factory=list)
    at_s: list[float] = field(default_factory=list)
    busy_ms: list[float] = field(default_factory=list)
    ahead_ms: list[float] = field(default_factory=list)
    host_ms: list[float] = field(default_factory=list)
    """What the worker says that launching took, of each call of a block."""
    reveal_ms: list[float] = field(default_factory=list)
    reveal_busy_ms: list[float] = field(default_factory=list)
    arrival_ms: list[float] = field(default_factory=list)
    queued_s: float = 0.0
    """How long the last calls that were held behind the gate took to be enqueued, each, by the judge's clock."""
    single_ms: list[float] = field(default_factory=list)
    landed_ms: list[float] = field(default_factory=list)
    burst_ms: list[float] = field(default_factory=list)
    hot_ms: list[float] = field(default_factory=list)
    background_ms: list[float] = field(default_factory=list)
    background_busy_ms: list[float] = field(default_factory=list)
    unflushed: int = 0
    """Timed calls in which the flush was left out."""
    unflushed_bursts: int = 0
    """The same of single calls and bursts for the judge's clock; they are no samples."""
    claims: list[ClaimedTensor] = field(default_factory=list)
    """The tensors that the reference returns, as the worker describes them."""
    described: int = 0
    """How many tensors it describes."""

    def __post_init__(self) -> None:
        pid = self.worker.channel.peer_pid
        self._recorded: set[str] = set()
        self._busy_ms = self._answered_at = 0.0
        """On the CPU, of the last call: the processor time of the process, and when its answer came."""
        self._activity = CpuTime(pid) if pid and self._where is None else None
        """On the CPU only: a worker on a GPU waits awake."""

    @property
    def _where(self) -> torch.device | None:
        """The GPU; None on the CPU."""
        return self.flush.device if self.flush is not None else self.device

    def call(self, inputs: InputSet, arguments: Sequence[Any]) -> tuple[float, float, Message]:
        """One call: wall time by the judge's clock and the worker's claim (0 on the CPU), both in ms, and the answer."""
        if self._where is None:
            wall_ms, answer = self._ask("time", [(inputs, arguments)], set=0)
            return wall_ms, 0.0, answer
        wall_ms, answer = self._ask("time", [(inputs, arguments)], set=0, flush=self._orders(1)[0])
        claim_ms = max(claimed_ms(answer), LEAST_MS)
        if claim_ms > wall_ms + LEAST_MS:
            raise ProtocolError("a call does not take longer than the request for it")
        return wall_ms, claim_ms, answer

    def sample(self, inputs: InputSet, arguments: Sequence[Any]) -> Message:
        """One call that counts, and its answer."""
        self.at_s.append(time.monotonic() - self.since)
        wall_ms, claim_ms, answer = self.call(inputs, arguments)
        if self._activity:
            self.busy_ms.append(self._busy_ms)
        self.wall_ms.append(wall_ms)
        self.claims_ms.append(claim_ms)
        return answer

    def forget(self) -> None:
        """Let go of all samples: what came before was to warm up."""
        for times in (self.wall_ms, self.claims_ms, self.at_s, self.busy_ms, self.ahead_ms, self.host_ms):
            times.clear()

    def block(self, given: Given, *, apart: bool) -> list[Any]:
        """Calls that count, in one request on a GPU: each timed for itself (`apart`), or all together; their answers."""
        cycles = self.head_start.cycles if apart else 0
        fields = {"flushes": self._orders(len(given)), "apart": apart, "head_start": cycles, "copies": self.copies and apart}
        return self._take("block", given, len(given) if apart else 1, **fields)

    def blank(self, count: int) -> list[float]:
        """What so many calls of a block, each timed for itself, take by their events if each is an empty kernel, in ms."""
        _, answer = self._ask_now("blank", (), flushes=self._orders(count), head_start=self.head_start.cycles)
        return claimed_times_ms(answer, count)

    def replay(self, given: Given) -> list[Any]:
        """The same of a graph of these calls, recorded before the first. Raises UnrecordableError too."""
        self._require_recording(f"block of {len(given)}", given, None, calls=True)
        return self._take("replay", given, 1, name=f"block of {len(given)}")

    def _take(self, kind: str, given: Given, times: int, **fields: Any) -> list[Any]:
        at_s = time.monotonic() - self.since
        wall_ms, message = self._ask(kind, given, sets=list(range(len(given))), **fields)
        claims_ms = [max(claim_ms, LEAST_MS) for claim_ms in claimed_times_ms(message, times)]
        if sum(claims_ms) > wall_ms + LEAST_MS * times:
            raise ProtocolError("calls do not take longer than the request for them")
        answers = message.get("outputs")
        if not isinstance(answers, list) or len(answers) != len(given):
            raise ProtocolError("a block has one answer for each of its calls")
        self.wall_ms.append(wall_ms / len(given))
        self.claims_ms += [claim_ms * times / len(given) for claim_ms in claims_ms]
        if kind == "block":
            self.host_ms += claimed_times_ms(message, len(given), "host_ms")
            self.copies = self.copies or message.get("copies") is True
        self.at_s += [at_s] * times
        return answers

    def _require_recording(self, name: str, given: Given, places: Sequence[Any] | None, *, calls: bool) -> None:
        """Have calls over these sets recorded as a graph, once, each followed by the copying of its answer where there are places for them.
        No clock runs. Raises UnrecordableError."""
        if name in self._recorded:
            return
        self._describe(given, keep=not calls)
        fill(given)
        if self._where is not None:
            synchronize(self._where)
        positions = list(range(len(given)))
        outputs = list(places) if places is not None else [None] * len(given)
        answer = self.worker.request("record", self.deadline_s, name=name, sets=positions, outputs=outputs, calls=calls)
        if answer.get("recorded") is not True:
            reason = answer.get("reason")
            raise UnrecordableError(reason[:MAX_REASON_CHARS] if isinstance(reason, str) else "no reason given")
        self._recorded.add(name)

    def check_flush(self, calls: int = 1) -> None:
        """See whether so many last calls were preceded by their flushes. Looking takes a while: not before answers have been revealed."""
        self.unflushed += calls * (not self.is_flushed())

    def is_flushed(self) -> bool:
        """Whether the last call, or each of a burst, was preceded by its flush; on the CPU there is none."""
        return self.flush is None or self.flush.done()

    def burst(self, given: Given, places: Sequence[Any], *, calls: bool = True, kernels: bool = False, flushed: bool = True) -> float:
        """Calls back to back over these sets, each after a flush unless they are not to be `flushed`: the wall time of one of them, in ms.

        Each answer is copied to its place; where that is None, the last answer is kept. Without `calls`, the same with these left out, of
        a worker whose last answer has not been revealed. Behind the gate, where there is one, it is the device's time and not the host's,
        except where forward() waits for the device; where it does, a wait takes the place of a call that is left out. The time of `kernels`
        is taken for the worker's record, and makes the calls slower.
        """
        name = f"{'burst' if calls else 'idle burst'} of {len(given)}" if self.replays and not kernels else None
        if name is not None:
            self._require_recording(name, given, places, calls=calls)
        self._describe(given, keep=not calls)
        fields: dict[str, Any] = {"sets": list(range(len(given))), "outputs": list(places)}
        fields["flushes"] = self._orders(len(given)) if flushed else [None] * len(given)
        fields |= {"calls": calls, "waits": self.waits, "name": name} | ({"kernels": True} if kernels else {})
        if self.gate is not None and self.is_gated:
            took_ms, answer = self._ask_behind(self.gate, given, fields)
        else:
            took_ms, answer = self._ask_now("burst", given, gate=None, **fields)
        if kernels:
            self.worker.note_kernels(answer)
        return took_ms / len(given)

    def _orders(self, count: int) -> list[dict[str, Any] | None]:
        """What to flush with before each of so many calls."""
        return [None] * count if self.flush is None else list(self.flush.order(count))

    @property
    def is_gated(self) -> bool:
        """Whether calls are held behind the gate."""
        return self.gate is not None and self.held and not self.waits

    def ping(self) -> float:
        """What it costs to ask for nothing, in ms."""
        return self._ask("ping", [])[0]

    @contextmanager
    def revealing(self) -> Iterator[None]:
        """Time a reveal: by the clock on a GPU, on the CPU by the processor time since the answer, to which no other load adds."""
        start = time.perf_counter()
        yield
        now = time.perf_counter()
        if self._activity:
            self.arrival_ms.append((now - self._answered_at) * 1e3)
            self.reveal_busy_ms.append(self._busy_ms)
        self.reveal_ms.append(self._activity.since_answer_ms() if self._activity else (now - start) * 1e3)

    def forget_reveals(self) -> None:
        """Let go of what reveals took: they were to warm up."""
        for times in (self.reveal_ms, self.reveal_busy_ms, self.arrival_ms):
            times.clear()

    def watch(self, longest_s: float) -> None:
        """Note what the worker's processes still do of their own accord."""
        if self._activity is not None:
            self.background_ms.append(self._activity.after_answer_ms(longest_s))
            self.background_busy_ms.append(self._busy_ms)

    def strays(self, cores: Collection[int]) -> bool:
        """Whether a thread of the worker's may run on others than these cores, to which it is kept; on a GPU it is kept to none."""
        return bool(cores) and self._activity is not None and not self._activity.cores() <= set(cores)

    def samples_ms(self, blank_ms: float) -> list[float]:
        """What each call took: by its claim on a GPU, and otherwise by the judge's clock, less what one takes that does nothing, where the
        host is not in the clock."""
        times_ms = self.wall_ms if self._where is None else self.claims_ms
        return [max(took_ms - self._taken_off_ms(blank_ms), LEAST_MS) for took_ms in times_ms]

    def _taken_off_ms(self, blank_ms: float) -> float:
        return blank_ms if self._where is None or self.head_start.cycles else 0.0

    def summary(self, blank_ms: float) -> TimingSide:
        """All samples, with the quartiles of the calls."""
        samples_ms = self.samples_ms(blank_ms)
        lower, median, upper = quartiles(samples_ms)
        return TimingSide(
            median_ms=median,
            lower_quartile_ms=lower,
            upper_quartile_ms=upper,
            samples_ms=tuple(samples_ms),
            wall_ms=tuple(self.wall_ms),
            busy_ms=tuple(self.busy_ms),
            ahead_ms=tuple(self.ahead_ms),
            reveal_ms=tuple(self.reveal_ms),
            reveal_busy_ms=tuple(self.reveal_busy_ms),
            arrival_ms=tuple(self.arrival_ms),
            single_ms=tuple(self.single_ms),
            landed_ms=tuple(self.landed_ms),
            burst_ms=tuple(self.burst_ms),
            hot_ms=tuple(self.hot_ms),
            background_ms=tuple(self.background_ms),
            background_busy_ms=tuple(self.background_busy_ms),
            at_s=tuple(self.at_s),
            blank_ms=self._taken_off_ms(blank_ms),
            head_start_ms=self.head_start.ms,
            host_ms=sorted(self.host_ms)[len(self.host_ms) // 10] if self.host_ms else None,
            outliers=outliers(samples_ms),
        )

    def _ask(self, kind: str, given: Given, **fields: Any) -> tuple[float, Message]:
        """Ask for something to be done with inputs, which come into their memory no sooner than the clock runs; its time in ms, the answer.

        On the CPU, where copying them takes about as long as a call may, and never the same, the clock runs from then on; what the worker
        does meanwhile is counted by the kernel.
        """
        if given:
            self._describe(given)
        return self._ask_now(kind, given, **fields)

    def _ask_now(self, kind: str, given: Given, **fields: Any) -> tuple[float, Message]:
        if self._where is not None:
            return self._ask_on_device(self._where, kind, given, fields)
        with self._activity.arriving() if self._activity and given else nullcontext() as used_ms:
            fill(given)
            start = time.perf_counter()
        self.ahead_ms += used_ms or []
        called_at_ms = self._activity.main_ms() if self._activity else 0.0
        answer = self.worker.request(kind, self.deadline_s, **fields)
        answered_at = time.perf_counter()
        took_ms = (answered_at - start) * 1e3
        if self._activity and given:
            self._activity.answered(called_at_ms, took_ms)
            self._busy_ms, self._answered_at = self._activity.main_at_answer_ms() - called_at_ms, answered_at
        return took_ms, answer

    def _fill(self, given: Given) -> None:
        """Let the worker see the inputs, and then what to flush with."""
        fill(given)
        if self.flush is not None:
            self.flush.show()

    def _ask_on_device(self, device: torch.device, kind: str, given: Given, fields: dict[str, Any]) -> tuple[float, Message]:
        reset_persisting()
        torch.cuda.synchronize(device)  # nothing else of the judge's own runs into the worker's time
        start = time.perf_counter()
        self._fill(given)
        torch.cuda.synchronize(device)
        answer = self.worker.request(kind, self.deadline_s, spin_s=SPIN_S, **fields)
        return (time.perf_counter() - start) * 1e3, answer

    def _ask_behind(self, gate: StreamGate, given: Given, fields: dict[str, Any]) -> tuple[float, Message]:
        """A burst, in ms from when all of it is enqueued; or should be, of a forward() that waits for the device. And the answer."""
        copy, copies = filling(given), sum(len(inputs.allocations) for inputs, _ in given)
        reset_persisting()
        torch.cuda.synchronize(gate.device)
        value = gate.close()
        asked = queued = opened = time.perf_counter()

        def show() -> None:
            copy()
            if self.flush is not None:
                self.flush.show()

        def open_gate() -> None:
            nonlocal queued, opened
            queued = time.perf_counter()
            opened = at_once(gate.device, copies, show)
            torch.cuda.synchronize(gate.device)
            gate.open()

        patience_s = min(max(SPIN_S, 2 * len(given) * self.queued_s), MOST_PATIENCE_S)
        answer = self.worker.request("burst", self.deadline_s, spin_s=patience_s, on_queued=open_gate, gate=value, **fields)
        took_ms = (time.perf_counter() - opened) * 1e3
        self.waits = queued - asked >= patience_s
        if not self.waits:
            self.queued_s = (queued - asked) / len(given)
        return took_ms, answer

    def _describe(self, given: Given, *, keep: bool = False) -> None:
        """Tell the worker where the inputs are going to be, and whether to keep its last answer."""
        sets = [inputs.tree(arguments) for inputs, arguments in given]
        self.worker.request("inputs", self.deadline_s, sets=sets, keep=keep)


def quartiles(samples: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile of at least one sample."""
    lower, median, upper = statistics.quantiles(samples, n=4) if len(samples) > 1 else list(samples) * 3
    return lower, median, upper


def claimed_times_ms(answer: Message, count: int, field: str = "ms") -> list[float]:
    """The times that a worker says calls took, so many. Raises ProtocolError where it says nothing of the kind."""
    values = answer.get(field)
    if not isinstance(values, list) or len(values) != count:
        raise ProtocolError("a block has as many times as were asked for")
    return [claimed_ms({"ms": value}) for value in values]
