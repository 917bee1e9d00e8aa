"""The timing protocols: each is a row of `PROTOCOLS`. To add a protocol, add a row.

A record names its protocol; `DESCRIPTIONS` in evaluator.results.protocol_names may describe it to the reader of a record.

All protocols share what evaluator.judge.timing.run does: workers called in turns, new inputs for every call, unannounced comparison of
answers, and the judge's own clock as a check of each claim. They differ in what a time measures.

Importing this module is cheap, so that anything may ask for names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluator.results.protocol_names import DEFAULTS

if TYPE_CHECKING:
    from evaluator.judge.timing.timed_worker import TimedWorker
    from evaluator.judge.workers.input_buffers import Given


@dataclass(frozen=True, kw_only=True)
class TimingProtocol:
    """One way of timing calls."""

    name: str
    device_kind: str
    take: Callable[["TimedWorker", "Given"], list[Any]]
    """Has a worker make one block of calls, and notes their times. Returns its descriptions of the outputs, one for each call. Raises
    WorkerError, ProtocolError, and UnrecordableError if it replays."""
    is_cold: bool = False
    """Whether the L2 cache is flushed before each call, and before the judge's own measurements of single calls and bursts."""
    times_each_call: bool = False
    """Whether each call is between its own two events. Then calls have a launch lead, and the time of the events is subtracted."""
    block_ms: float = 5.0
    """Approximate limit of the total time of one request's calls: so short that candidate and baseline see the same GPU clock."""
    replays: bool = False
    """Whether calls are recorded once as CUDA graphs, and replayed."""

    def calls_in_block(self, call_ms: float, room: int) -> int:
        """Number of calls per request, if a call takes `call_ms` and memory suffices for `room` calls."""
        return max(1, min(room, int(self.block_ms / call_ms)))


_ROWS = (
    # Device time of each single call between two events, after a flush of the L2 cache.
    TimingProtocol(
        name="cold", device_kind="cuda", is_cold=True, times_each_call=True, take=lambda timed, given: timed.block(given, apart=True)
    ),
    # The judge's monotonic clock over the request for a block of calls, divided by their number; in the end minus the time of an empty
    # block. Short calls share a request, since waking a worker for one takes 0.05 to 0.2 ms, and differs between processes. Longer
    # requests are interrupted more often.
    TimingProtocol(name="cpu", device_kind="cpu", block_ms=2.0, take=lambda timed, given: timed.host_block(given)),
    # One replay of a graph of all calls of a block between two events, for kernels that take less time than their launch. The host's work
    # in forward() is done once, when the graph is recorded. A submission that waits for the device, or launches on the legacy default
    # stream, can't be recorded. It is timed by the default protocol instead, and its record says why.
    TimingProtocol(name="graph", device_kind="cuda", replays=True, take=lambda timed, given: timed.replay(given)),
    # All calls of a block, back to back, between two events, with the caches as the previous calls left them. Each call has inputs of its
    # own, so that no result can be reused.
    TimingProtocol(name="throughput", device_kind="cuda", take=lambda timed, given: timed.block(given, apart=False)),
)
PROTOCOLS: dict[str, TimingProtocol] = {protocol.name: protocol for protocol in _ROWS}
"""The protocols by name, in alphabetical order."""


class UnknownProtocolError(Exception):
    """No such protocol for this kind of device. The message is for the user."""


def names(device_kind: str) -> list[str]:
    """The protocols for this kind of device, its default first."""
    known = [protocol.name for protocol in PROTOCOLS.values() if protocol.device_kind == device_kind]
    return sorted(known, key=lambda name: name != DEFAULTS[device_kind])


def choose(name: str | None, device_kind: str) -> TimingProtocol:
    """The protocol of that name; without one, the device's default. Raises UnknownProtocolError."""
    protocol = PROTOCOLS.get(name or DEFAULTS[device_kind])
    if protocol is None or protocol.device_kind != device_kind:
        known = ", ".join(names(device_kind))
        raise UnknownProtocolError(f"there is no protocol {name!r} for a device of kind {device_kind}; use {known}")
    return protocol
