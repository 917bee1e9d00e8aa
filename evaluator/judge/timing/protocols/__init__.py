"""The timing protocols: each module of this folder is one, and defines PROTOCOL. To add a protocol, add a file.

A record names its protocol; `DESCRIPTIONS` in evaluator.results.protocol_names may describe it to the reader of a record.

All protocols share what evaluator.judge.timing.run does: workers called in turns, new inputs for every call, unannounced comparison of
answers, and the judge's own clock as a check of each claim. They differ in what a time measures.

Importing this package is cheap, so that anything may ask for names.
"""

import pkgutil
from importlib import import_module

from evaluator.judge.timing.protocols.protocol import BlockTimer, TimingProtocol
from evaluator.results.protocol_names import DEFAULTS

__all__ = ["PROTOCOLS", "BlockTimer", "TimingProtocol", "UnknownProtocolError", "choose", "names"]

_FILES = sorted({found.name for found in pkgutil.iter_modules(__path__)} - {"protocol"})
PROTOCOLS: dict[str, TimingProtocol] = {
    protocol.name: protocol for protocol in (import_module(f"{__name__}.{name}").PROTOCOL for name in _FILES)
}
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
