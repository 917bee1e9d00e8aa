"""Names and descriptions of the timing protocols. evaluator.judge.timing.protocols implements them, except `UNTIMED`."""

DEFAULTS = {"cuda": "cold", "cpu": "cpu"}
"""The default protocol of each kind of device."""
UNTIMED = "untimed"
"""The protocol of an evaluation that takes no times. It has boards of its own, so that it replaces no timed evaluation."""
DESCRIPTIONS = {
    "cold": "device time of a call, with its inputs in no cache",
    "throughput": "device time of a call among others, back to back",
    "graph": "device time of a call in the replay of a CUDA graph",
    "cpu": "wall time of a call, by the judge's clock",
}
"""The meaning of a time, for readers of a result."""


def alternative(name: str | None) -> str | None:
    """The name, or None for a device's default: times by a default belong together, whether they name it or not."""
    return None if name in DEFAULTS.values() else name
