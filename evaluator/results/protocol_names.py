"""Names of timing protocols on record. The protocols themselves are evaluator.judge.timing.protocols."""

DEFAULTS = {"cuda": "cold", "cpu": "cpu"}
"""The default protocol of each kind of device."""


def alternative(name: str | None) -> str | None:
    """The name, or None if the protocol is a device's default: all times by a default belong together, whether they name it or not."""
    return None if name in DEFAULTS.values() else name
