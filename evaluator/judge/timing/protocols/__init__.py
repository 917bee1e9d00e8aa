"""How calls are timed: one file each, and one of them the default of each kind of device.

What all of them share is in evaluator.judge.timing.run: two workers in turns, new inputs for every call, answers that are compared unannounced.
They differ in what a time is of. A claim is held against the judge's own clock over the same calls, whichever it is.

Light enough to be imported for its names alone.
"""

from evaluator.judge.timing.protocols.cold import Cold
from evaluator.judge.timing.protocols.cpu import Cpu
from evaluator.judge.timing.protocols.graph import Graph
from evaluator.judge.timing.protocols.protocol import Protocol
from evaluator.judge.timing.protocols.throughput import Throughput

__all__ = ["DEFAULTS", "PROTOCOLS", "Protocol", "UnknownProtocolError", "alternative", "choose"]

PROTOCOLS: dict[str, Protocol] = {protocol.name: protocol for protocol in (Cold(), Throughput(), Graph(), Cpu())}
DEFAULTS = {"cuda": "cold", "cpu": "cpu"}
"""By kind of device."""


class UnknownProtocolError(Exception):
    """No such protocol for this kind of device; the message is for the person who asked."""


def alternative(name: str | None) -> str | None:
    """The name where it is no device's default; what was timed by a default belongs together, whether its record names that or not."""
    return None if name in DEFAULTS.values() else name


def choose(name: str | None, device_kind: str) -> Protocol:
    """The protocol of that name; without one, the device's default. Raises UnknownProtocolError."""
    protocol = PROTOCOLS.get(name or DEFAULTS[device_kind])
    if protocol is None or protocol.device_kind != device_kind:
        known = ", ".join(each.name for each in PROTOCOLS.values() if each.device_kind == device_kind)
        raise UnknownProtocolError(f"there is no protocol {name!r} for a device of kind {device_kind}; there is {known}")
    return protocol
