"""Timing protocols on record: names and descriptions. The protocols themselves are evaluator.judge.timing.protocols."""

DEFAULTS = {"cuda": "cold", "cpu": "cpu"}
"""The default protocol of each kind of device."""
DESCRIPTIONS = {
    "cold": "device time of a call, with its inputs in no cache",
    "throughput": "device time of a call among others, back to back",
    "graph": "device time of a call in the replay of a CUDA graph",
    "cpu": "wall time of a call, by the judge's clock",
}
"""What a time measures, in a few words, for readers of a record."""


def alternative(name: str | None) -> str | None:
    """The name, or None if the protocol is a device's default: all times by a default belong together, whether they name it or not."""
    return None if name in DEFAULTS.values() else name
